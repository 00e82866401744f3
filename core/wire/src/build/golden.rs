//! Headers as the RFCs draw them, written out by hand; what is not set comes from the catalogue.

use super::*;
use crate::testing::headers;

/// Builds the headers, with some fields set, and compares the bytes from header `from` on with `golden`, in
/// hexadecimal; `..` is any byte.
fn assert_bytes(names: &[&str], set: &[(usize, &str, u128)], from: usize, golden: &str) {
    let mut headers = headers(names);
    for (index, name, value) in set {
        headers[*index] = headers[*index].clone().with(name, *value);
    }
    assert_headers(headers, from, golden);
}

fn assert_headers(headers: Vec<Header>, from: usize, golden: &str) {
    let names: Vec<_> = headers.iter().map(|header| header.protocol.name).collect();
    let spec = PacketSpec { headers, payload: b"\xff".to_vec(), ..PacketSpec::default() };
    let packet = spec.build_unpadded().unwrap();
    let built: Vec<String> =
        packet.bytes[packet.offsets[from]..].iter().map(|b| format!("{b:02x}")).collect();
    let golden: String = golden.split_whitespace().collect();
    let golden: Vec<&str> = (0..golden.len() / 2).map(|n| &golden[n * 2..n * 2 + 2]).collect();
    let same = |(wanted, byte): (&&str, &String)| *wanted == ".." || *wanted == byte;
    assert!(
        golden.iter().zip(&built).all(same),
        "{names:?}\n  golden {}\n  built  {}",
        golden.join(""),
        built.join("")
    );
    assert_eq!(golden.len(), built.len(), "{names:?}");
}

#[test]
fn link_layer() {
    // IEEE 802.3: the length of all behind the addresses and itself; LLC and SNAP (RFC 1042).
    assert_bytes(
        &["ethernet", "llc", "snap", "ipv4"],
        &[],
        0,
        "020000000002 020000000001 001d aaaa03 000000 0800 4500 0015 0000 0000 40fd .... c6120001 c6130001 ff",
    );
    // RFC 3032: label 20 bits, class 3, bottom 1, TTL 8.
    assert_bytes(
        &["ethernet", "mpls", "mpls", "ipv6"],
        &[(1, "label", 0x12345), (1, "traffic_class", 5), (2, "label", 3), (2, "ttl", 1)],
        0,
        "020000000002 020000000001 8847 12345a40 00003101
         6000 0000 0001 fd40 20010002000000000000000000000001 20010002000000010000000000000001 ff",
    );
    // RFC 4448: control word, then a frame.
    assert_bytes(
        &["ethernet", "mpls", "mpls_control_word", "ethernet"],
        &[(2, "sequence", 7)],
        1,
        "00010140 00000007 020000000002 020000000001 88b5 ff",
    );
    // RFC 2516 section 6: version and type 1, code 0, session, length; PPP protocol 0x21.
    assert_bytes(
        &["ethernet", "pppoe", "ppp", "ipv4"],
        &[(1, "session", 0x1234)],
        0,
        "020000000002 020000000001 8864 11 00 1234 0017 0021 4500 0015 0000 0000 40fd .... c6120001 c6130001 ff",
    );
    // IEEE 802.3 annex 31D.
    assert_bytes(
        &["ethernet", "pfc"],
        &[(1, "classes", 0x08), (1, "quanta3", 0x100)],
        0,
        "0180c2000001 020000000001 8808 0101 0008 ffff ffff ffff 0100 ffff ffff ffff ffff ff",
    );
    // IEEE 802.1AB: type 7 bits, length 9 bits.
    let mut lldp = headers(&["ethernet", "lldp", "lldp_port_id", "lldp_ttl", "lldp_system_name", "lldp_end"]);
    lldp[4] = lldp[4].clone().with_bytes("text", b"tide");
    assert_headers(
        lldp,
        0,
        "0180c200000e 020000000001 88cc 0207 04 020000000001 0405 05 706f7274 0602 0078 0a04 74696465 0000 ff",
    );
}

#[test]
fn options() {
    // RFC 9293 section 3.2, RFC 7323, RFC 2018: as connection requests have them; 17 bytes are padded to 20.
    assert_bytes(
        &["ethernet", "ipv4", "tcp", "tcp_mss", "tcp_sack_permitted", "tcp_timestamps", "tcp_nop"],
        &[(3, "mss", 1400), (5, "value", 0x0102_0304)],
        2,
        "c000 0050 00000000 00000000 a002 ffff .... 0000
         0204 0578 0402 080a 01020304 00000000 01 000000 ff",
    );
    // Two blocks count to the option before them.
    assert_bytes(
        &["ethernet", "ipv4", "tcp", "tcp_nop", "tcp_nop", "tcp_sack", "tcp_sack_block", "tcp_sack_block"],
        &[(7, "left", 9), (7, "right", 10)],
        2,
        "c000 0050 00000000 00000000 a002 ffff .... 0000
         01 01 0512 00000001 00000002 00000009 0000000a ff",
    );
    // RFC 2113 behind the IPv4 header.
    assert_bytes(
        &["ethernet", "ipv4", "ipv4_router_alert", "igmp"],
        &[],
        1,
        "4600 0021 0000 0000 0102 .... c6120001 c6130001 9404 0000 1600 .... ef010101 ff",
    );
    // RFC 8200 section 4.3 and RFC 2711: six bytes, and two of Pad1.
    assert_bytes(
        &["ethernet", "ipv6", "ipv6_hop_by_hop", "ipv6_router_alert", "icmpv6"],
        &[],
        1,
        "6000 0000 0011 0040 20010002000000000000000000000001 20010002000000010000000000000001
         3a00 0502 0000 0000 8000 .... 0000 0000 ff",
    );
    // RFC 8754 section 2: the first segment is the last one visited.
    assert_bytes(
        &["ethernet", "ipv6", "srh", "srh_segment", "srh_segment", "udp"],
        &[(3, "address", 0xa), (4, "address", 0xb)],
        2,
        "1104 0401 0100 0000 0000000000000000000000000000000a 0000000000000000000000000000000b
         c000 0009 0009 .... ff",
    );
    // RFC 8200 section 4.5.
    assert_bytes(
        &["ethernet", "ipv6", "ipv6_fragment", "udp"],
        &[(2, "fragment_offset", 185), (2, "more_fragments", 1), (2, "id", 0xcafe)],
        2,
        "1100 05c9 0000cafe c000 0009 0009 .... ff",
    );
}

#[test]
fn tunnels() {
    // RFC 7348 figure 1.
    assert_bytes(
        &["ethernet", "ipv4", "udp", "vxlan", "ethernet", "arp"],
        &[(3, "vni", 0x123456)],
        2,
        "c000 12b5 003b .... 08000000 12345600 ffffffffffff 020000000001 0806
         0001 0800 0604 0001 020000000001 c6120001 000000000000 c6130001 ff",
    );
    // RFC 8926 section 3.4: the length of the options alone, in units of four bytes.
    let mut geneve =
        headers(&["ethernet", "ipv4", "udp", "geneve", "geneve_option", "geneve_option", "ethernet"]);
    geneve[3] = geneve[3].clone().with("vni", 0xabcdef);
    geneve[4] =
        geneve[4].clone().with("class", 0x0102).with("type", 0x83).with_bytes("data", &[1, 2, 3, 4, 5]);
    assert_headers(
        geneve,
        2,
        "c000 17c1 0033 .... 05006558 abcdef00 0102 83 02 0102030405000000 ff00 01 01 00000000
         020000000002 020000000001 88b5 ff",
    );
    // 3GPP TS 29.281 section 5.1 and TS 38.415 section 5.5.2.1: the length is of all behind the first eight bytes.
    assert_bytes(
        &["ethernet", "ipv4", "udp", "gtpu", "gtpu_options", "gtpu_pdu_session", "ipv4"],
        &[(3, "teid", 0xdead_beef), (5, "qfi", 9)],
        2,
        "c000 0868 002d .... 36 ff 001d deadbeef 0000 00 85 01 00 09 00
         4500 0015 0000 0000 40fd .... c6120001 c6130001 ff",
    );
    // RFC 2784 and RFC 2890: checksum, key, sequence number.
    assert_bytes(
        &["ethernet", "ipv4", "gre", "gre_checksum", "gre_key", "gre_sequence", "ipv6"],
        &[(4, "key", 0x0a0b_0c0d), (5, "sequence", 5)],
        2,
        "b000 86dd .... 0000 0a0b0c0d 00000005
         6000 0000 0001 fd40 20010002000000000000000000000001 20010002000000010000000000000001 ff",
    );
    // RFC 7637 section 3.2.
    assert_bytes(
        &["ethernet", "ipv4", "gre", "nvgre", "ethernet"],
        &[(3, "vsid", 0xface), (3, "flow", 0x11)],
        2,
        "2000 6558 00face11 020000000002 020000000001 88b5 ff",
    );
    // RFC 2003.
    assert_bytes(
        &["ethernet", "ipv4", "ipv4"],
        &[],
        1,
        "4500 0029 0000 0000 4004 .... c6120001 c6130001 4500 0015 0000 0000 40fd .... c6120001 c6130001 ff",
    );
}

#[test]
fn others() {
    // RFC 9260 section 3: the chunk's length is of the chunk.
    assert_bytes(
        &["ethernet", "ipv4", "sctp", "sctp_data"],
        &[(2, "tag", 0x0102_0304), (3, "tsn", 7), (3, "stream", 2)],
        2,
        "c000 0009 01020304 ........ 0003 0011 00000007 0002 0000 00000000 ff",
    );
    // RFC 1035 section 4.1.
    let mut dns = headers(&["ethernet", "ipv4", "udp", "dns", "dns_question", "dns_a"]);
    dns[3] = dns[3].clone().with("id", 0xbeef).with("response", 1);
    dns[4] = dns[4].clone().with("type", 255).with_bytes("name", b"\x01a\x02bc\x00");
    assert_headers(
        dns,
        2,
        "c000 0035 002f .... beef 8100 0001 0001 0000 0000 01 61 02 6263 00 00ff 0001
         c00c 0001 0001 0000003c 0004 c6120001 ff",
    );
    // RFC 5880 section 4.1.
    assert_bytes(
        &["ethernet", "ipv4", "udp", "bfd"],
        &[(3, "state", 3), (3, "poll", 1), (3, "my_discriminator", 0xa)],
        2,
        "c000 0ec8 0021 .... 20 e0 03 18 0000000a 00000000 000f4240 000f4240 00000000 ff",
    );
    // IEEE 1588 clause 13.3.
    assert_bytes(
        &["ethernet", "ptp"],
        &[(1, "type", 8), (1, "sequence", 0x1234), (1, "seconds", 1), (1, "nanoseconds", 2)],
        1,
        "08 02 002c 00 00 0000 0000000000000000 00000000 020000fffe000001 0001 1234 00 00 000000000001 00000002 ff",
    );
    // RFC 3376 section 4.2: records, with their sources behind them.
    assert_bytes(
        &["ethernet", "ipv4", "igmpv3_report", "igmpv3_record", "igmp_source", "igmpv3_record"],
        &[],
        2,
        "2200 .... 0000 0002 0400 0001 ef010101 c6120001 0400 0000 ef010101 ff",
    );
    // Bytes the catalogue has no name for, between headers that say so.
    let mut raw = headers(&["ethernet", "bytes", "ipv4"]);
    raw[0] = raw[0].clone().with("type", 0x1234);
    raw[1] = raw[1].clone().with_bytes("hex", &[0xde, 0xad]);
    assert_headers(
        raw,
        0,
        "020000000002 020000000001 1234 dead 4500 0015 0000 0000 40fd .... c6120001 c6130001 ff",
    );
}
