use super::*;
use crate::testing::*;
use proptest::prelude::*;
use wire::{Header, PacketSpec, protocol, read};

fn set(path: &str, value: &str) -> Rewrite {
    Rewrite::Set { path: path.into(), value: value.into() }
}

fn map(path: &str, from: &str, to: &str) -> Rewrite {
    Rewrite::Map { path: path.into(), from: from.into(), to: to.into() }
}

fn counts(changed: u64, unchanged: u64, without: u64) -> RuleReport {
    RuleReport { changed, unchanged, without }
}

#[test]
fn maps_keep_the_bits_behind_the_prefix() {
    let frames = ["10.1.2.3", "11.1.2.3"].map(|dst| udp([1, 2], "10.0.0.1:7", &format!("{dst}:9")));
    let mut trace = trace(frames);
    let report = rewrite(&mut trace, &[map("ipv4.dst", "10.0.0.0/8", "192.168.0.0/8")]).unwrap();
    assert_eq!(report.rules, [counts(1, 1, 0)]);
    let wanted = udp([1, 2], "10.0.0.1:7", "192.1.2.3:9");
    assert_eq!(trace.packets[0].bytes[..wanted.len()], wanted);
}

#[test]
fn networks_and_ports_are_mapped_wherever_they_stand() {
    let arp = frame(vec![
        header("ethernet", &[]),
        header("arp", &[("sender_ip", "10.0.0.1"), ("target_ip", "10.0.0.2")]),
    ]);
    let mut trace =
        trace([udp([1, 2], "10.0.0.1:53", "10.0.0.2:9"), udp([2, 1], "10.0.0.2:9", "10.0.0.1:53"), arp]);
    let rules = [
        Rewrite::MapNetwork { from: "10.0.0.0/24".into(), to: "172.16.1.0/24".into() },
        Rewrite::MapPort { from: 53, to: 5353 },
    ];
    let report = rewrite(&mut trace, &rules).unwrap();
    assert_eq!(report.rules, [counts(3, 0, 0), counts(2, 0, 1)]);
    for (packet, wanted) in trace
        .packets
        .iter()
        .zip([udp([1, 2], "172.16.1.1:5353", "172.16.1.2:9"), udp([2, 1], "172.16.1.2:9", "172.16.1.1:5353")])
    {
        assert_eq!(packet.bytes[..wanted.len()], wanted);
    }
    let (headers, _) = read(&trace.packets[2].bytes);
    assert_eq!(headers[1].value("target_ip"), Some(0xac10_0102));
}

#[test]
fn tags_are_put_on_and_taken_off() {
    let plain = udp([1, 2], "10.0.0.1:7", "10.0.0.2:9");
    let mut trace = trace([plain.clone()]);
    let before = trace.clone();
    let push = |id, pcp| Rewrite::PushVlan { id, pcp };
    let report = rewrite(&mut trace, &[push(100, 5), push(7, 0)]).unwrap();
    assert_eq!(report.rules, [counts(1, 0, 0); 2]);
    let bytes = &trace.packets[0].bytes;
    assert_eq!(bytes[12..22], [0x88, 0xa8, 0, 7, 0x81, 0, 0xa0, 100, 8, 0]);
    assert_eq!((bytes.len(), trace.packets[0].original_len), (68, 68));
    let report =
        rewrite(&mut trace, &[Rewrite::PopVlan, set("vlan.id", "9"), Rewrite::PopVlan, Rewrite::PopVlan]);
    assert_eq!(report.unwrap().rules, [counts(1, 0, 0), counts(1, 0, 0), counts(1, 0, 0), counts(0, 0, 1)]);
    assert_eq!(trace, before);
    // A frame as short as can be stays as short as can be.
    let mut tagged = crate::testing::trace([frame(vec![header("ethernet", &[]), header("vlan", &[])])]);
    rewrite(&mut tagged, &[Rewrite::PopVlan]).unwrap();
    assert_eq!((tagged.packets[0].bytes.len(), tagged.packets[0].original_len), (60, 60));
}

#[test]
fn a_udp_checksum_of_zero_is_none_and_stays_so() {
    let none = frame(vec![header("ethernet", &[]), header("ipv4", &[]), header("udp", &[("checksum", "0")])]);
    let mut trace = trace([none]);
    rewrite(&mut trace, &[set("ipv4.src", "10.0.0.1"), set("udp.src", "1")]).unwrap();
    let (headers, _) = read(&trace.packets[0].bytes);
    assert_eq!(headers[2].value("checksum"), Some(0));
}

#[test]
fn of_a_packet_cut_short_the_checksum_is_that_of_the_whole() {
    let headers = || vec![header("ethernet", &[]), header("ipv6", &[]), header("tcp", &[])];
    let spec = |headers| PacketSpec { headers, payload: vec![0xa5; 1000], ..PacketSpec::default() };
    let mut whole = spec(headers()).build_unpadded().unwrap().bytes;
    whole.truncate(100);
    let mut trace = bare(whole);
    rewrite(&mut trace, &[set("ipv6.dst", "2001:db8::77"), set("tcp.seq", "4711")]).unwrap();
    let wanted = spec(vec![
        header("ethernet", &[]),
        header("ipv6", &[("dst", "2001:db8::77")]),
        header("tcp", &[("seq", "4711")]),
    ]);
    assert_eq!(trace.packets[0].bytes, wanted.build_unpadded().unwrap().bytes[..100]);
}

#[test]
fn the_crc_of_sctp_stays_right_or_wrong_also_within_a_tunnel() {
    let built = |port: &str| {
        let inner = [header("ethernet", &[]), header("ipv4", &[]), header("sctp", &[("dst", port)])];
        let outer = ["ethernet", "ipv4", "udp", "vxlan"].map(|name| header(name, &[]));
        let headers: Vec<Header> = outer.into_iter().chain(inner).collect();
        PacketSpec { headers, payload: vec![7; 40], ..PacketSpec::default() }.build_unpadded().unwrap().bytes
    };
    let mut right = bare(built("1000"));
    rewrite(&mut right, &[set("sctp.dst", "2000")]).unwrap();
    assert_eq!(right.packets[0].bytes, built("2000"));
    let mut wrong = built("1000");
    let crc = wrong.len() - 40 - 4;
    wrong[crc] ^= 1;
    let mut trace = bare(wrong.clone());
    rewrite(&mut trace, &[set("sctp.dst", "2000")]).unwrap();
    assert_eq!(trace.packets[0].bytes[crc..crc + 4], wrong[crc..crc + 4]);
}

#[test]
fn a_field_behind_a_name_is_found() {
    let built = |kind: &str| {
        let question = header("dns_question", &[("type", kind)]).with_bytes("name", b"\x07example\x03com\0");
        let mut headers = ["ethernet", "ipv4", "udp", "dns"].map(|name| header(name, &[])).to_vec();
        headers.push(question);
        PacketSpec { headers, ..PacketSpec::default() }.build_unpadded().unwrap().bytes
    };
    let mut trace = bare(built("1"));
    rewrite(&mut trace, &[set("dns_question.type", "28")]).unwrap();
    assert_eq!(trace.packets[0].bytes, built("28"));
}

#[test]
fn says_which_rule_is_wrong() {
    for (rule, reason) in [
        (set("dst", "1"), "'dst' is not a header and a field, such as ipv4.dst"),
        (set("ipv5.dst", "1"), "ipv5.dst: there is no header 'ipv5'; did you mean 'ipv4'?"),
        (set("udp.port", "1"), "udp.port: udp has no field 'port'; it has src, dst, length, checksum"),
        (set("ipv4.dst", "10.0.0"), "ipv4.dst: '10.0.0' is not an IPv4 address such as 10.0.0.1"),
        (
            map("ipv4.dst", "10.0.0.0/8", "11.0.0.0/9"),
            "ipv4.dst: /8 can't become /9: both sides need as many bits",
        ),
        (
            map("ipv4.dst", "10.0.0.0/33", "11.0.0.0/33"),
            "ipv4.dst: '10.0.0.0/33': behind the / there is a number from 0 to 32",
        ),
        (map("vlan.id", "1/13", "2"), "vlan.id: '1/13': behind the / there is a number from 0 to 12"),
        (
            Rewrite::MapNetwork { from: "::/8".into(), to: "10.0.0.0/8".into() },
            "'10.0.0.0' is not an IPv6 address such as 2001:2::1",
        ),
        (Rewrite::PushVlan { id: 4096, pcp: 0 }, "a VLAN identifier is at most 4095"),
        (Rewrite::PushVlan { id: 1, pcp: 8 }, "a VLAN priority is at most 7"),
    ] {
        let mut trace = trace([udp([1, 2], "10.0.0.1:7", "10.0.0.2:9")]);
        let before = trace.clone();
        let error = rewrite(&mut trace, &[set("udp.dst", "1"), rule]).unwrap_err();
        assert_eq!(error.to_string(), format!("rewrite rule 2: {reason}"));
        assert_eq!(trace, before);
    }
}

#[test]
fn a_frame_too_long_for_a_tag_is_refused() {
    let mut trace = trace([vec![1; 60], vec![1; 16_378]]);
    let error = rewrite(&mut trace, &[Rewrite::PushVlan { id: 1, pcp: 0 }]).unwrap_err();
    assert_eq!(error.to_string(), "rewrite rule 1: packet 2 would be longer than 16384 bytes with FCS");
}

const STACKS: [&[&str]; 9] = [
    &["ethernet", "ipv4", "udp"],
    &["ethernet", "vlan", "ipv4", "tcp"],
    &["ethernet", "vlan", "vlan", "ipv6", "udp"],
    &["ethernet", "ipv6", "tcp"],
    &["ethernet", "ipv4", "icmp"],
    &["ethernet", "ipv6", "icmpv6"],
    &["ethernet", "ipv6", "nd_solicit"],
    &["ethernet", "ipv6", "nd_advert"],
    &["ethernet", "arp"],
];

/// Fields that are neither computed nor decide what the packet is.
fn free(protocol: &Protocol) -> Vec<&'static Field> {
    let structure = |field: &&Field| {
        let name = Some(field.name);
        name == protocol.real_length.map(|length| length.field)
            || protocol.fragment.iter().any(|(field, _)| name == Some(*field))
            || name == protocol.recognise.map(|(name, _)| name)
            || matches!((protocol.name, field.name), ("icmp" | "icmpv6", "type"))
    };
    protocol.fields.iter().filter(|field| field.auto == Auto::Default && !structure(field)).collect()
}

fn headers(stack: &[&str], values: &[(u8, u8, u128)]) -> Vec<Header> {
    let mut headers: Vec<Header> = stack.iter().map(|name| header(name, &[])).collect();
    for (index, field, value) in values {
        let index = usize::from(*index) % headers.len();
        let fields = free(headers[index].protocol);
        let field = fields[usize::from(*field) % fields.len()];
        headers[index].set.retain(|(set, _)| set.name != field.name);
        headers[index].set.push((field, *value & field.max()));
    }
    headers
}

/// Residue of each checksum: zero (or 0xffff, the other zero) if it is right.
fn residues(frame: &[u8]) -> Vec<u64> {
    let (headers, _) = read(frame);
    let residue = |sum: Sum| {
        let [covered, addresses] = sum.covers;
        checksum::sum(&frame[covered], checksum::sum(&frame[addresses], 0)) % 0xffff
    };
    sums(&headers, frame).into_iter().map(residue).collect()
}

proptest! {
    #[test]
    fn a_rewritten_packet_is_the_one_built_so(
        stack in 0..STACKS.len(),
        values in prop::collection::vec(any::<(u8, u8, u128)>(), 0..8),
        payload in prop::collection::vec(any::<u8>(), 0..40),
        (at, field, value) in any::<(u8, u8, u128)>(),
    ) {
        let spec = |headers| PacketSpec { headers, payload: payload.clone(), ..PacketSpec::default() };
        let stack = STACKS[stack];
        // Of several headers of a name the first is meant.
        let at = stack.iter().position(|name| *name == stack[usize::from(at) % stack.len()]).unwrap();
        let before = spec(headers(stack, &values)).build_unpadded().unwrap().bytes;
        let after = [&values[..], &[(at as u8, field, value)]].concat();
        let after = spec(headers(stack, &after)).build_unpadded().unwrap().bytes;
        let protocol = protocol(stack[at]).unwrap();
        let fields = free(protocol);
        let field = fields[usize::from(field) % fields.len()];
        let value = field.print(value & field.max());
        let mut trace = bare(before);
        rewrite(&mut trace, &[set(&format!("{}.{}", protocol.name, field.name), &value)]).unwrap();
        prop_assert_eq!(&trace.packets[0].bytes[..after.len()], &after);
    }

    #[test]
    fn a_wrong_checksum_is_as_wrong_afterwards(
        stack in 0..STACKS.len(),
        wrong in any::<[u16; 2]>(),
        (at, field, value) in any::<(u8, u8, u128)>(),
    ) {
        let stack = STACKS[stack];
        let mut bytes = PacketSpec { headers: headers(stack, &[]), payload: vec![9; 20], ..PacketSpec::default() }.build_unpadded().unwrap().bytes;
        let sums = sums(&read(&bytes).0, &bytes);
        for (sum, wrong) in sums.iter().zip(wrong) {
            bytes[sum.at..sum.at + 2].copy_from_slice(&wrong.max(1).to_be_bytes());
        }
        let header = protocol(stack[usize::from(at) % stack.len()]).unwrap();
        let fields = free(header);
        let field = fields[usize::from(field) % fields.len()];
        let value = field.print(value & field.max());
        let mut trace = bare(bytes.clone());
        rewrite(&mut trace, &[set(&format!("{}.{}", header.name, field.name), &value)]).unwrap();
        prop_assert_eq!(residues(&trace.packets[0].bytes[..bytes.len()]), residues(&bytes));
    }

    #[test]
    fn any_frame_survives_any_rule(bytes in prop::collection::vec(any::<u8>(), 0..120), kind in 0usize..6, stack in 0..STACKS.len()) {
        // Half of them begin like a packet.
        let mut frame = PacketSpec { headers: headers(STACKS[stack], &[]), ..PacketSpec::default() }.build_unpadded().unwrap().bytes;
        frame.truncate(bytes.len());
        let bytes = if kind % 2 == 0 { bytes } else { [&frame[..], &bytes[frame.len()..]].concat() };
        let mut trace = bare(bytes);
        let rules = [
            set("ipv4.header_length", "15"),
            set("ethernet.type", "0x8100"),
            map("ipv6.dst", "::/0", "::1/0"),
            Rewrite::MapPort { from: 9, to: 10 },
            Rewrite::PushVlan { id: 1, pcp: 1 },
            Rewrite::PopVlan,
            set("vlan.id", "3"),
            set("udp.checksum", "0"),
            set("udp.dst", "3"),
            set("icmp.checksum", "7"),
            set("tcp.checksum", "7"),
        ];
        let report = rewrite(&mut trace, &rules).unwrap();
        for rule in report.rules {
            prop_assert_eq!(rule.changed + rule.unchanged + rule.without, 1);
        }
    }
}

/// A UDP datagram in IPv4 fragments, and the sum of its checksum after reassembly: all ones if it is right.
fn in_fragments() -> Vec<Vec<u8>> {
    let headers = vec![
        header("ethernet", &[]),
        header("ipv4", &[("src", "10.0.0.1"), ("dst", "10.0.0.2"), ("id", "7")]),
        header("udp", &[("src", "1000"), ("dst", "2000")]),
    ];
    let payload = (0..3_000).map(|n| (n % 251) as u8).collect();
    let whole = PacketSpec { headers, payload, ..PacketSpec::default() }.build_unpadded().unwrap().bytes;
    let cut = fragment::Cut::new(&whole, 1_500, 7).unwrap();
    cut.frames(&whole).collect()
}

fn sum_of(fragments: &[Vec<u8>]) -> u16 {
    let body: Vec<u8> = fragments.iter().flat_map(|frame| &frame[34..]).copied().collect();
    let pseudo = checksum::sum(&fragments[0][26..34], 17 + body.len() as u64);
    checksum::fold(checksum::sum(&body, pseudo))
}

#[test]
fn first_fragments_have_ports_and_a_checksum() {
    let before = in_fragments();
    assert_eq!(sum_of(&before), 0xffff);
    for turned in [false, true] {
        let mut frames = before.clone();
        if turned {
            frames.reverse();
        }
        let mut trace = trace(frames);
        let network = Rewrite::MapNetwork { from: "10.0.0.0/24".into(), to: "192.168.5.0/24".into() };
        let port = Rewrite::MapPort { from: 2_000, to: 53 };
        let report = rewrite(&mut trace, &[network, port]).unwrap();
        assert_eq!(report.rules, [counts(3, 0, 0), counts(1, 0, 2)]);
        let mut after: Vec<Vec<u8>> = trace.packets.iter().map(|packet| packet.bytes.clone()).collect();
        if turned {
            after.reverse();
        }
        after[2].truncate(before[2].len());
        assert_eq!((after[0][36..38].to_vec(), sum_of(&after)), (vec![0, 53], 0xffff));
    }
}

#[test]
fn what_icmp_errors_quote_is_mapped_too() {
    let asked = udp([1, 2], "10.0.0.1:1000", "10.0.0.2:2000");
    let mut error = frame(vec![
        header("ethernet", &[]),
        header("ipv4", &[("src", "10.0.0.2"), ("dst", "10.0.0.1"), ("total_length", "56")]),
        header("icmp_unreachable", &[("code", "3")]),
    ]);
    // Eight bytes behind the IP header, as RFC 792 wants.
    error.extend(&asked[14..42]);
    let mut trace = bare(error);
    wire::checksums(&trace.packets[0].bytes).iter().for_each(|sum| sum.write(&mut trace.packets[0].bytes));
    let network = Rewrite::MapNetwork { from: "10.0.0.0/24".into(), to: "172.16.9.0/24".into() };
    rewrite(&mut trace, &[network, Rewrite::MapPort { from: 2_000, to: 53 }]).unwrap();
    let bytes = &trace.packets[0].bytes;
    assert_eq!((bytes[54..58].to_vec(), bytes[58..62].to_vec()), (vec![172, 16, 9, 1], vec![172, 16, 9, 2]));
    assert_eq!(bytes[64..66], [0, 53]);
    let wanted = udp([1, 2], "172.16.9.1:1000", "172.16.9.2:53");
    assert_eq!(bytes[42..70], wanted[14..42], "the quoted headers with their checksums");
    let mut again = bytes.clone();
    wire::checksums(bytes).iter().for_each(|sum| sum.write(&mut again));
    assert_eq!(again, *bytes);
}

#[test]
fn tags_of_any_type_are_popped_and_pushed_before() {
    let plain = udp([1, 2], "10.0.0.1:7", "10.0.0.2:9");
    for kind in [[0x81, 0], [0x88, 0xa8], [0x91, 0]] {
        let mut tagged = plain.clone();
        tagged.splice(12..12, [kind[0], kind[1], 0, 7]);
        let mut trace = bare(tagged.clone());
        rewrite(&mut trace, &[Rewrite::PushVlan { id: 5, pcp: 0 }]).unwrap();
        assert_eq!(trace.packets[0].bytes[12..18], [0x88, 0xa8, 0, 5, kind[0], kind[1]]);
        let mut trace = bare(tagged);
        rewrite(&mut trace, &[Rewrite::PopVlan]).unwrap();
        assert_eq!(trace.packets[0].bytes[..plain.len()], plain);
    }
}
