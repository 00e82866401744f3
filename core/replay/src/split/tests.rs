use super::*;
use crate::testing::*;
use wire::{PacketSpec, read};

/// First bytes of the payload are not significant; the source port is.
fn ports(trace: &Trace) -> Vec<u128> {
    trace
        .packets
        .iter()
        .map(|packet| {
            let (headers, _) = read(&packet.bytes);
            headers.iter().find(|h| h.protocol.name == "udp").map_or(0, |udp| udp.value("src").unwrap())
        })
        .collect()
}

const CLIENT: u8 = 1;
const SERVER: u8 = 2;

fn conversations() -> Vec<Vec<u8>> {
    vec![
        udp([CLIENT, SERVER], "10.0.0.1:1001", "10.9.0.1:53"),
        udp([SERVER, CLIENT], "10.9.0.1:53", "10.0.0.1:1001"),
        // The server begins one too.
        udp([SERVER, CLIENT], "10.9.0.1:2001", "10.0.0.1:162"),
        udp([CLIENT, SERVER], "10.0.0.1:162", "10.9.0.1:2001"),
        udp([CLIENT, SERVER], "10.0.0.1:1001", "10.9.0.1:53"),
    ]
}

fn network(text: &str) -> Network {
    text.parse().unwrap()
}

#[test]
fn who_comes_first_is_the_client() {
    let [a, b] = split(framed(&capture(conversations())), &SplitBy::FirstSource).unwrap();
    assert_eq!((ports(&a), ports(&b)), (vec![1001, 2001, 1001], vec![53, 162]));
    // One zero for both.
    assert_eq!((times(&a), times(&b)), (vec![0, 20, 40], vec![10, 30]));
    assert_eq!((a.span.0, b.span.0), (40, 40));
    assert_eq!((a.guessed, b.guessed), (0, 0));
}

#[test]
fn clients_are_known_by_address_or_interface() {
    let mut capture = capture(conversations());
    capture.interfaces.push(interface(1));
    for index in [1, 2] {
        capture.records[index].interface = 1;
    }
    for by in [
        SplitBy::Mac(vec![[2, 0, 0, 0, 0, CLIENT]]),
        SplitBy::Network(vec![network("192.168.0.0/16"), network("10.0.0.77/24")]),
        SplitBy::Interface(0),
    ] {
        let [a, b] = split(framed(&capture), &by).unwrap();
        assert_eq!((ports(&a), ports(&b)), (vec![1001, 162, 1001], vec![53, 2001]), "{by:?}");
    }
}

#[test]
fn says_that_there_is_no_client() {
    let capture = capture(conversations());
    for (by, clients) in [
        (SplitBy::Mac(vec![[2, 0, 0, 0, 0, 9], [3; 6]]), "02:00:00:00:00:09, 03:03:03:03:03:03"),
        (SplitBy::Network(vec![network("172.16.0.0/12"), network("::1")]), "172.16.0.0/12, ::1/128"),
        (SplitBy::Interface(1), "interface 1"),
    ] {
        let error = split(framed(&capture), &by).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("no packet is from {clients}, so there is nothing for the first port to send")
        );
    }
}

fn fragment(macs: [u8; 2], [src, dst]: [&str; 2], offset: &str, flags: &str) -> Vec<u8> {
    let [src_mac, dst_mac] = macs.map(|last| format!("02:00:00:00:00:{last:02x}"));
    let ip = [("src", src), ("dst", dst), ("id", "77"), ("fragment_offset", offset), ("flags", flags)];
    let mut headers = vec![header("ethernet", &[("src", &src_mac), ("dst", &dst_mac)])];
    if offset == "0" {
        headers.extend([header("ipv4", &ip), header("udp", &[("src", "53"), ("dst", "1001")])]);
    } else {
        headers.push(header("ipv4", &[&ip[..], &[("protocol", "17")]].concat()));
    }
    frame(headers)
}

#[test]
fn later_fragments_go_with_the_first() {
    let ends = ["10.9.0.1", "10.0.0.1"];
    let capture = capture([
        udp([CLIENT, SERVER], "10.0.0.1:1001", "10.9.0.1:53"),
        fragment([SERVER, CLIENT], ends, "0", "1"),
        fragment([SERVER, CLIENT], ends, "100", "0"),
    ]);
    let [a, b] = split(framed(&capture), &SplitBy::FirstSource).unwrap();
    assert_eq!((a.packets.len(), b.packets.len()), (1, 2));
}

fn arp(sender: u8, to_all: bool, [from, to]: [&str; 2]) -> Vec<u8> {
    let src = format!("02:00:00:00:00:{sender:02x}");
    let dst = if to_all { "ff:ff:ff:ff:ff:ff" } else { "02:00:00:00:00:01" };
    frame(vec![
        header("ethernet", &[("src", &src), ("dst", dst)]),
        header("arp", &[("sender_ip", from), ("target_ip", to)]),
    ])
}

#[test]
fn arp_is_a_conversation_of_its_addresses() {
    let capture =
        capture([arp(CLIENT, true, ["10.0.0.1", "10.0.0.9"]), arp(SERVER, false, ["10.0.0.9", "10.0.0.1"])]);
    let [a, b] = split(framed(&capture), &SplitBy::FirstSource).unwrap();
    assert_eq!((a.packets.len(), b.packets.len()), (1, 1));
}

#[test]
fn what_nothing_tells_goes_with_its_sender() {
    let lldp = |last| {
        let src = format!("02:00:00:00:00:{last:02x}");
        frame(vec![header("ethernet", &[("src", &src), ("dst", "01:80:c2:00:00:0e"), ("type", "0x88cc")])])
    };
    let frames = [&[lldp(9)], &conversations()[..2], &[lldp(SERVER), lldp(CLIENT)]].concat();
    let [a, b] = split(framed(&capture(frames.clone())), &SplitBy::FirstSource).unwrap();
    assert_eq!((a.packets.len(), a.guessed, b.packets.len(), b.guessed), (3, 1, 2, 1));
    let by = SplitBy::Network(vec![network("10.0.0.0/16")]);
    let [a, b] = split(framed(&capture(frames)), &by).unwrap();
    assert_eq!((a.packets.len(), a.guessed, b.packets.len(), b.guessed), (3, 2, 2, 1));
}

#[test]
fn networks_are_read_and_compared() {
    for (text, inside, outside) in [
        ("10.0.0.0/8", "10.255.0.1", "11.0.0.1"),
        ("10.0.0.1", "10.0.0.1", "10.0.0.2"),
        ("2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::1"),
        ("0.0.0.0/0", "255.1.2.3", "::ffff:1.2.3.4"),
        ("::/0", "ff::1", "1.2.3.4"),
    ] {
        assert!(network(text).contains(inside.parse().unwrap()), "{text}");
        assert!(!network(text).contains(outside.parse().unwrap()), "{text}");
    }
    for text in ["", "10.0.0.0/33", "::/129", "10.0.0/8", "10.0.0.0/", "10.0.0.0/-1", "a.b.c.d"] {
        assert!(text.parse::<Network>().is_err(), "{text}");
    }
}

fn syn(side: u8, flags: &str) -> Vec<u8> {
    let [a, b] = ["10.0.0.1", "10.9.0.1"];
    let [c, d] = ["4000", "80"];
    let (from, to, sport, dport) = if side == CLIENT { (a, b, c, d) } else { (b, a, d, c) };
    let macs = [side, 3 - side].map(|last| format!("02:00:00:00:00:{last:02x}"));
    frame(vec![
        header("ethernet", &[("src", &macs[0]), ("dst", &macs[1])]),
        header("ipv4", &[("src", from), ("dst", to)]),
        header("tcp", &[("src", sport), ("dst", dport), ("flags", flags)]),
    ])
}

#[test]
fn who_answers_a_syn_is_the_server() {
    // The SYN is not in the capture.
    let [a, b] =
        split(framed(&capture([syn(SERVER, "0x12"), syn(CLIENT, "0x10")])), &SplitBy::FirstSource).unwrap();
    assert_eq!((a.packets.len(), b.packets.len(), a.guessed + b.guessed), (1, 1, 0));
    // Neither is: what is known of the hardware address counts, and is a guess.
    let frames =
        [udp([SERVER, CLIENT], "10.9.0.1:53", "10.0.0.1:7"), syn(CLIENT, "0x10"), syn(SERVER, "0x10")];
    let [a, b] = split(framed(&capture(frames)), &SplitBy::FirstSource).unwrap();
    assert_eq!((a.packets.len(), b.packets.len(), a.guessed + b.guessed), (2, 1, 1));
}

#[test]
fn fragments_before_their_first_go_with_it() {
    let ends = ["10.9.0.1", "10.0.0.1"];
    let capture = capture([
        udp([CLIENT, SERVER], "10.0.0.1:1001", "10.9.0.1:53"),
        fragment([SERVER, CLIENT], ends, "100", "0"),
        fragment([SERVER, CLIENT], ends, "0", "1"),
    ]);
    let [a, b] = split(framed(&capture), &SplitBy::FirstSource).unwrap();
    assert_eq!((a.packets.len(), b.packets.len(), b.guessed), (1, 2, 0));
}

#[test]
fn an_icmp_error_goes_with_answers_to_what_it_quotes() {
    let asked = udp([CLIENT, SERVER], "10.0.0.1:1001", "10.9.0.1:53");
    let router = ["02:00:00:00:00:09", "02:00:00:00:00:01"];
    let headers = vec![
        header("ethernet", &[("src", router[0]), ("dst", router[1])]),
        header("ipv4", &[("src", "10.5.0.9"), ("dst", "10.0.0.1")]),
        header("icmp_unreachable", &[("code", "3")]),
    ];
    let error = PacketSpec { headers, payload: asked[14..].to_vec(), ..PacketSpec::default() };
    let error = error.build_unpadded().unwrap().bytes;
    let [a, b] = split(framed(&capture([asked, error])), &SplitBy::FirstSource).unwrap();
    assert_eq!((a.packets.len(), b.packets.len()), (1, 1));
}
