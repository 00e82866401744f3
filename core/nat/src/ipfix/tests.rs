//! Messages made here by the figures of RFC 7011 section 3, and RFC 3954 section 5.

use super::*;

fn set(id: u16, content: &[u8]) -> Vec<u8> {
    let len = content.len() as u16 + 4;
    [&id.to_be_bytes()[..], &len.to_be_bytes(), content].concat()
}

fn template(id: u16, columns: &[(u16, u16)]) -> Vec<u8> {
    let mut out = [id.to_be_bytes(), (columns.len() as u16).to_be_bytes()].concat();
    for (element, len) in columns {
        out.extend([element.to_be_bytes(), len.to_be_bytes()].concat());
        if element & 0x8000 != 0 {
            out.extend([0, 0, 1, 2]);
        }
    }
    out
}

fn ipfix(domain: u32, sets: &[Vec<u8>]) -> Vec<u8> {
    let sets = sets.concat();
    let len = (sets.len() + 16) as u16;
    [&[0, 10][..], &len.to_be_bytes(), &[0; 8], &domain.to_be_bytes(), &sets].concat()
}

fn netflow(domain: u32, sets: &[Vec<u8>]) -> Vec<u8> {
    [&[0, 9, 0, 1][..], &[0; 12], &domain.to_be_bytes(), &sets.concat()].concat()
}

/// Records of messages of one exporter.
fn read(messages: &[Vec<u8>]) -> (Vec<Record>, Exports) {
    let (mut exports, mut out) = (Exports::default(), Vec::new());
    for message in messages {
        assert_eq!(exports.learn(None, message), Ok(message.len()));
    }
    for message in messages {
        assert_eq!(exports.read(None, message, &mut out), Ok(message.len()));
    }
    (out, exports)
}

/// Columns of a NAT44 session (RFC 8158 section 5.6.3), and a record of it.
const NAT44: [(u16, u16); 9] =
    [(323, 8), (230, 1), (8, 4), (225, 4), (4, 1), (7, 2), (227, 2), (12, 4), (11, 2)];

fn session(event: u8, port: u16) -> Vec<u8> {
    let time = 1_764_403_200_123_u64.to_be_bytes();
    let [inside, outside] = [port, port + 10_000].map(u16::to_be_bytes);
    [&time[..], &[event], &[10, 0, 0, 2], &[192, 0, 2, 1], &[17], &inside, &outside, &[10, 0, 1, 2], &[0, 9]]
        .concat()
}

#[test]
fn sessions_of_nat44_are_read() {
    let data = [session(4, 1_024), session(5, 1_024), session(4, 1_025), vec![0; 3]].concat();
    let (records, exports) = read(&[ipfix(7, &[set(2, &template(256, &NAT44)), set(256, &data)])]);
    assert_eq!((records.len(), exports.records, exports.without_template), (2, 3, 0));
    let [first, second] = &records[..] else { panic!() };
    assert_eq!((first.inside, first.line), (Endpoint::new([10, 0, 0, 2], 1_024), 1));
    assert_eq!((second.inside.port, second.line), (1_025, 3), "padding is no record");
    assert_eq!(
        (first.outside, first.to),
        (Endpoint::new([192, 0, 2, 1], 11_024), Some(Endpoint::new([10, 0, 1, 2], 9)))
    );
    assert_eq!((first.protocol, first.at_ns), (Some(Protocol::Udp), Some(1_764_403_200_123_000_000)));
}

#[test]
fn netflow_9_has_the_same_numbers() {
    let messages = [netflow(7, &[set(0, &template(256, &NAT44)), set(256, &session(1, 1_024))])];
    assert_eq!(read(&messages).0[0].outside.port, 11_024);
}

#[test]
fn a_template_may_come_later_and_change() {
    let data = |port| ipfix(7, &[set(256, &session(4, port))]);
    let swapped: Vec<(u16, u16)> = NAT44
        .iter()
        .map(|(element, len)| {
            (
                match element {
                    7 => 227,
                    227 => 7,
                    other => *other,
                },
                *len,
            )
        })
        .collect();
    let late = [
        data(1_024),
        ipfix(7, &[set(2, &template(256, &NAT44))]),
        data(1_025),
        ipfix(7, &[set(2, &template(256, &swapped))]),
        data(1_026),
        ipfix(8, &[set(256, &session(4, 1))]),
    ];
    let (records, exports) = read(&late);
    let ports: Vec<u16> = records.iter().map(|record| record.inside.port).collect();
    assert_eq!((ports, exports.without_template), (vec![1_024, 1_025, 11_026], 1), "another domain has none");
}

#[test]
fn nat64_bindings_enterprises_and_long_fields() {
    let inside: Ipv6Addr = "2001:db8::2".parse().unwrap();
    let columns =
        [(0x8001, 4), (325, 8), (230, 1), (82, VARIABLE), (27, 16), (225, 4), (4, 1), (7, 2), (227, 2)];
    // Half a second after 1970 began; the name of an interface has its length before it.
    let time = ((NTP_TO_UNIX << 32) + (1 << 31)).to_be_bytes();
    let begin = [&[9; 4][..], &time, &[10]].concat();
    let end = [&inside.octets()[..], &[192, 0, 2, 1], &[6], &[4, 0], &[200, 0]].concat();
    let long = [&[255, 1, 0][..], &[b'x'; 256]].concat();
    let data = [&begin[..], &[4], b"eth0", &end, &begin, &long, &end].concat();
    let (records, _) = read(&[ipfix(0, &[set(2, &template(300, &columns)), set(300, &data)])]);
    assert_eq!(records.len(), 2);
    for record in records {
        assert_eq!(record.inside, Endpoint { address: inside.into(), port: 1_024 });
        assert_eq!(
            (record.protocol, record.to, record.at_ns),
            (Some(Protocol::Tcp), None, Some(500_000_000))
        );
        assert_eq!(record.outside.port, 51_200);
    }
}

#[test]
fn blocks_of_ports_have_an_end_or_a_number() {
    let read_block = |columns: &[(u16, u16)], numbers: &[u16]| {
        let common = [(230, 1), (8, 4), (225, 4), (361, 2)];
        let numbers: Vec<u8> = numbers.iter().flat_map(|number| number.to_be_bytes()).collect();
        let data = [&[16][..], &[10, 0, 0, 2], &[192, 0, 2, 1], &[4, 0], &numbers].concat();
        read(&[ipfix(0, &[set(2, &template(256, &[&common[..], columns].concat())), set(256, &data)])])
    };
    for (columns, numbers) in
        [(&[(362, 2)][..], &[1_535][..]), (&[(364, 2)], &[512]), (&[(363, 2), (364, 2)], &[1, 512])]
    {
        let (records, _) = read_block(columns, numbers);
        assert_eq!(
            (records[0].outside.port, records[0].last_port, records[0].inside.port),
            (1_024, Some(1_535), 0)
        );
    }
    let (records, exports) = read_block(&[(363, 2), (364, 2)], &[4, 512]);
    assert_eq!((records.len(), exports.scattered), (0, 1));
}

#[test]
fn a_block_of_more_ports_than_there_are_is_none() {
    let columns = [(8, 4), (225, 4), (361, 2), (364, 8)];
    for ports in [0, 65_000, u64::MAX] {
        let data =
            [&[10, 0, 0, 2][..], &[192, 0, 2, 1], &1_024_u16.to_be_bytes(), &ports.to_be_bytes()].concat();
        let (records, _) = read(&[ipfix(7, &[set(2, &template(256, &columns)), set(256, &data)])]);
        assert!(records.is_empty(), "{ports}");
    }
}

#[test]
fn options_and_withdrawn_templates_have_no_records() {
    let options =
        [&template(257, &[(149, 4), (41, 8)])[..4], &[0, 1], &template(257, &[(149, 4), (41, 8)])[4..]]
            .concat();
    let messages = [
        ipfix(0, &[set(3, &options), set(257, &[0; 12]), set(2, &template(256, &NAT44))]),
        ipfix(0, &[set(2, &template(256, &[])), set(256, &session(4, 1))]),
    ];
    let (records, exports) = read(&messages);
    assert_eq!((records.len(), exports.records, exports.without_template), (0, 0, 0));
    // NetFlow: bytes of scopes and of options in place of numbers.
    let options = [&[1, 1, 0, 4, 0, 8][..], &[0, 1, 0, 4], &[0, 41, 0, 8], &[0, 34, 0, 4]].concat();
    let messages = [netflow(
        0,
        &[set(1, &options), set(257, &[0; 16]), set(0, &template(256, &NAT44)), set(256, &session(4, 1))],
    )];
    assert_eq!(read(&messages).0.len(), 1);
}

#[test]
fn whatever_is_cut_or_foreign_is_refused_and_nothing_panics() {
    let whole = ipfix(7, &[set(2, &template(256, &NAT44)), set(256, &session(4, 1_024))]);
    for (bytes, why) in [
        (&b"\0"[..], "first two bytes"),
        (&b"\0\x05\0\x01"[..], "version 5"),
        (&whole[..12], "within its header"),
        (&whole[..40], "40 bytes are there"),
    ] {
        let error = Exports::default().learn(None, bytes).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let mut bad = whole.clone();
    bad[18..20].copy_from_slice(&[0, 2]);
    assert!(Exports::default().learn(None, &bad).unwrap_err().to_string().contains("set 2 is 2"));
    // Each byte changed, and each length.
    for at in 0..whole.len() {
        for value in [0, 1, 255] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            let (mut exports, mut out) = (Exports::default(), Vec::new());
            let _ = exports.learn(None, &bytes).and_then(|_| exports.read(None, &bytes, &mut out));
        }
    }
}
