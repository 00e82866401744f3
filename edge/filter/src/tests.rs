use super::*;

/// UDP from 10.0.0.1:1024 to 10.0.0.2:53, 60 bytes, in a VLAN if there is a tag.
fn frame(tag: Option<u16>) -> Vec<u8> {
    let mut bytes = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1];
    if let Some(tag) = tag {
        bytes.extend([0x81, 0]);
        bytes.extend(tag.to_be_bytes());
    }
    bytes.extend([8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    bytes.extend([4, 0, 0, 53, 0, 26, 0, 0]);
    bytes.resize(60, 0);
    bytes
}

fn matches(filter: &str, frame: &[u8], original_len: u32) -> bool {
    Filter::compile(filter, 262_144).unwrap().matches(frame, original_len)
}

#[test]
fn matches_what_its_words_say() {
    for (filter, plain, tagged) in [
        ("", true, true),
        ("udp", true, false),
        ("udp port 53", true, false),
        ("tcp or icmp", false, false),
        ("net 10.0.0.0/24 and dst port 53", true, false),
        ("vlan", false, true),
        ("vlan 7 and udp", false, true),
        ("vlan 8", false, false),
        ("ether src 02:00:00:00:00:01", true, true),
        ("ether[0] & 1 != 0", false, false),
        ("greater 61", false, false),
        ("less 60", true, true),
    ] {
        assert_eq!(matches(filter, &frame(None), 60), plain, "{filter}");
        assert_eq!(matches(filter, &frame(Some(7)), 60), tagged, "{filter} in a VLAN");
    }
}

#[test]
fn knows_the_length_on_the_link_and_the_bytes_there_are() {
    let frame = frame(None);
    assert!(matches("greater 1500", &frame, 1514));
    assert!(!matches("ether[100] = 0", &frame, 1514));
    assert!(!matches("udp port 53", &frame[..36], 60));
    assert!(matches("udp", &frame[..36], 60));
    assert!(!matches("udp", &[], 60));
    assert!(Filter::compile("udp", 0).unwrap().matches(&frame, 60));
}

#[test]
fn says_in_libpcaps_words_what_is_wrong() {
    // The words differ from version to version.
    for (filter, part) in [
        ("udp prot 53", "syntax error"),
        ("host 10.0.0.300", "10.0.0.300"),
        ("ip broadcast", "netmask not known"),
        ("udp\0", "zero byte"),
    ] {
        let error = Filter::compile(filter, 64).unwrap_err();
        assert!(error.to_string().starts_with(&format!("filter '{filter}': ")), "{error}");
        assert!(error.reason.contains(part), "{error}");
    }
}

#[test]
fn threads_compile_and_run_filters_at_once() {
    let shared = Filter::compile("udp", 64).unwrap();
    std::thread::scope(|scope| {
        for port in 0..8 {
            let shared = &shared;
            scope.spawn(move || {
                for _ in 0..50 {
                    assert_eq!(matches(&format!("dst port {}", 50 + port), &frame(None), 60), port == 3);
                    assert!(shared.matches(&frame(None), 60));
                }
            });
        }
    });
    let owned = std::thread::spawn(move || shared.matches(&frame(None), 60));
    assert!(owned.join().unwrap());
}
