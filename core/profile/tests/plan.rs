//! Plans of good profiles.

#![allow(clippy::disallowed_methods)]

use profile::plan::{ChecksumBy, Comparison, NextHop, Pattern, Plan};
use profile::{Overrides, load, load_with};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use units::{FrameLen, Load, Nanos, Pps};

const NO_FILES: profile::Files<'_> = &|name| Err(format!("no file {name}"));

const PORTS: &str = r#"
ports:
  west: {device: "ring:a", ip: [10.0.0.2/24, "2001:2::2/64"], gateway: [10.0.0.1, "2001:2::1"]}
  east: {device: "ring:b", ip: [10.0.1.2/24, "2001:2:0:1::2/64"]}
  bare: {device: null0}
  tagged: {device: "afpacket:veth0", ip: 10.0.2.1/24, vlan: [100, 200]}
"#;

/// The plan of a profile with the given streams on ports `west`, `east`, `bare` and `tagged`.
fn plan(streams: &str) -> Plan {
    let text = format!("{PORTS}streams:\n{streams}\n");
    load(&text).unwrap_or_else(|errors| panic!("{text}{errors:#?}"))
}

/// The plan of one stream with `rest` after its name and rate.
fn stream(rest: &str) -> profile::plan::StreamPlan {
    plan(&format!("  - {{name: s, rate: 1kpps, {rest}}}")).streams.remove(0)
}

fn examples() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|e| e == "yaml")).collect()
}

#[test]
fn every_example_loads_and_builds() {
    let examples = examples();
    assert!(examples.len() >= 12, "only {} examples found", examples.len());
    for path in examples {
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("# "), "{} does not say what it is for", path.display());
        let files = |name: &str| std::fs::read(path.with_file_name(name)).map_err(|e| e.to_string());
        let plan = load_with(&text, &Overrides::default(), &files)
            .unwrap_or_else(|errors| panic!("{}: {errors:#?}", path.display()));
        for stream in &plan.streams {
            stream
                .packet
                .build(stream.sizes.shortest())
                .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        }
    }
}

#[test]
fn fills_in_what_was_left_out() {
    let text = r#"{"ports": {"p": {"device": "veth0"}}, "streams": [{"name": "s", "from": "p", "rate": "max",
        "packet": [{"ethernet": {"dst": "02:00:00:00:00:09"}}, {"payload": "hi"}]}]}"#;
    let overrides = Overrides { default_seed: 9, ..Overrides::default() };
    let plan = load_with(text, &overrides, NO_FILES).unwrap();
    let (port, stream) = (&plan.ports[0], &plan.streams[0]);
    assert_eq!((plan.seed, plan.duration, plan.drain), (9, Nanos::from_secs(10), Nanos::from_secs(2)));
    assert_eq!(
        (port.checksum, port.speed_bps, port.allow_default_route),
        (ChecksumBy::Software, None, false)
    );
    assert_eq!(
        (stream.sizes.longest(), stream.rate, &stream.pattern),
        (FrameLen::MIN, Load::Max, &Pattern::Continuous)
    );
    assert_eq!(
        (stream.to, stream.count, stream.start_delay, stream.measure),
        (None, None, Nanos::ZERO, true)
    );
    assert_eq!((stream.next_hop, stream.fill_source_mac), (NextHop::Given, true));
    assert_eq!(stream.packet.payload, b"hi");
    assert_eq!(plan.sim.link.speed_bps, 10_000_000_000);
    assert_eq!(plan.sim.router, None);
}

#[test]
fn knows_the_text_it_came_from() {
    let text = "ports: {p: {device: x}}\nstreams: [{name: s, from: p, rate: max, packet: [arp]}]\n";
    let plan = load(text).unwrap();
    assert_eq!(plan.profile_sha256, "7c0e97877fe9608d4512e0cc03d8df0987438163a7380031bc85c657941917be");
    assert_eq!(plan.streams[0].next_hop, NextHop::Given, "ARP is broadcast");
}

#[test]
fn finds_the_next_hop() {
    let resolve = |ip: &str| NextHop::Resolve(ip.parse().unwrap());
    for (rest, expected) in [
        ("from: west, packet: [{ipv4: {dst: 10.0.0.9}}, udp]", resolve("10.0.0.9")),
        ("from: west, packet: [{ipv4: {dst: 10.9.0.9}}, udp]", resolve("10.0.0.1")),
        ("from: west, to: east, packet: [ipv4, udp]", resolve("10.0.0.1")),
        ("from: west, to: east, packet: [ipv6, udp]", resolve("2001:2::1")),
        ("from: west, packet: [{ipv6: {dst: 'fe80::1'}}, udp]", resolve("fe80::1")),
        ("from: bare, to: east, packet: [{ipv4: {src: 10.0.1.7}}, udp]", NextHop::PeerPort),
        ("from: bare, to: east, packet: [ethernet]", NextHop::PeerPort),
        (
            "from: east, packet: [{ethernet: {dst: '02:00:00:00:00:01'}}, {ipv4: {dst: 1.2.3.4}}, udp]",
            NextHop::Given,
        ),
    ] {
        assert_eq!(stream(rest).next_hop, expected, "{rest}");
    }
}

#[test]
fn groups_and_broadcast_have_addresses_of_their_own() {
    for (dst, mac) in [
        ("ipv4: {dst: 239.129.2.3}", 0x0100_5e01_0203),
        ("ipv4: {dst: 255.255.255.255}", 0xffff_ffff_ffff),
        ("ipv6: {dst: 'ff02::1:ff00:1'}", 0x3333_ff00_0001),
    ] {
        let stream = stream(&format!("from: west, packet: [{{{dst}}}, udp]"));
        assert_eq!(stream.next_hop, NextHop::Given, "{dst}");
        assert_eq!(stream.packet.headers[0].value("dst"), Some(mac), "{dst}");
    }
}

#[test]
fn takes_addresses_and_tags_from_the_ports() {
    let names = |stream: &profile::plan::StreamPlan| -> Vec<&str> {
        stream.packet.headers.iter().map(|h| h.protocol.name).collect()
    };
    let tagged = stream("from: tagged, packet: [{ipv4: {dst: 10.0.2.9}}, udp]");
    assert_eq!(names(&tagged), ["ethernet", "vlan", "vlan", "ipv4", "udp"]);
    let ids: Vec<_> = tagged.packet.headers[1..3].iter().map(|vlan| vlan.value("id")).collect();
    assert_eq!(ids, [Some(100), Some(200)]);
    assert_eq!(tagged.packet.headers[3].value("src"), Some(0x0a00_0201));

    let own = stream("from: tagged, packet: [ethernet, {vlan: {id: 7}}, {ipv4: {dst: 10.0.2.9}}, udp]");
    assert_eq!(names(&own), ["ethernet", "vlan", "ipv4", "udp"]);

    let both = stream("from: west, to: east, packet: [ipv4, udp]");
    assert_eq!((both.from, both.to), (0, Some(1)));
    assert_eq!(both.packet.headers[1].value("dst"), Some(0x0a00_0102));
}

#[test]
fn the_default_size_holds_the_signature() {
    assert_eq!(stream("from: west, to: east, packet: [ipv4, udp]").sizes.longest().bytes(), 64);
    assert_eq!(stream("from: west, to: east, packet: [ipv6, udp]").sizes.longest().bytes(), 84);
    assert_eq!(
        stream("from: west, to: east, packet: [ipv6, tcp], measure: false").sizes.longest().bytes(),
        78
    );
    assert_eq!(stream("from: west, to: east, packet: [ipv6, udp], size: 9KB").sizes.longest().bytes(), 9000);
}

#[test]
fn fields_read_numbers_texts_and_bytes() {
    let stream = stream(
        "from: west, to: east, packet: [{ethernet: {src: '02:00:00:00:00:05'}}, {ipv4: {dscp: 0x2e, ttl: '9'}}, \
         {tcp: {flags: 0x12}}, {hex: '00 ff'}]",
    );
    let value = |header: usize, field| stream.packet.headers[header].value(field);
    assert_eq!((value(1, "dscp"), value(1, "ttl"), value(2, "flags")), (Some(46), Some(9), Some(0x12)));
    assert_eq!(stream.packet.payload, [0, 0xff]);
    assert!(!stream.fill_source_mac);
}

#[test]
fn copies_are_streams_and_criteria_hold_for_each() {
    let text = format!(
        "{PORTS}streams:\n  - {{name: s, from: west, to: east, packet: [ipv4, udp], rate: 1kpps, copies: 3, \
         pattern: {{bursts: 4}}, count: 8, start_delay: 1ms}}\n\
         criteria: {{streams.s.loss_ratio: '< 0.1%', 'streams.s[1].latency_ns.p99': '<= 50us', ports.east.rx_pps: '> 1kpps'}}\n"
    );
    let plan = load(&text).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let names: Vec<&str> = plan.streams.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["s[0]", "s[1]", "s[2]"]);
    assert!(plan.streams.iter().all(|s| s.pattern == Pattern::Bursts { packets: 4 } && s.count == Some(8)));
    let criteria: Vec<(&str, f64)> = plan.criteria.iter().map(|c| (c.path.as_str(), c.bound)).collect();
    assert_eq!(
        criteria,
        [
            ("streams.s[0].loss_ratio", 0.001),
            ("streams.s[1].loss_ratio", 0.001),
            ("streams.s[2].loss_ratio", 0.001),
            ("streams.s[1].latency_ns.p99", 50_000.0),
            ("ports.east.rx_pps", 1000.0),
        ]
    );
    assert_eq!(
        (plan.criteria[3].comparison, plan.criteria[3].text.as_str()),
        (Comparison::AtMost, "<= 50us")
    );
}

#[test]
fn the_command_line_wins() {
    let text = format!(
        "seed: 1\n{PORTS}streams:\n  - {{name: s, from: west, to: east, packet: [ipv4, udp]}}\n  \
         - {{name: t, from: west, to: east, packet: [ipv4, udp], rate: max}}\nload: {{duration: 1s}}\n"
    );
    assert!(load(&text).is_err(), "s has no rate");
    let rate = Load::Packets(Pps::new(7));
    let overrides = Overrides {
        rate: Some(rate),
        duration: Some(Nanos::from_secs(3)),
        seed: Some(2),
        default_seed: 3,
        ..Overrides::default()
    };
    let plan = load_with(&text, &overrides, NO_FILES).unwrap();
    assert!(plan.streams.iter().all(|s| s.rate == rate), "each stream's rate, not their sum");
    assert_eq!((plan.seed, plan.duration), (2, Nanos::from_secs(3)));
    assert_eq!(load_with(&text, &Overrides { seed: None, ..overrides }, NO_FILES).unwrap().seed, 1);
}

#[test]
fn sim_and_aliases_are_read() {
    let text = format!(
        "{PORTS}streams:\n  - &s {{name: s, from: west, to: east, packet: &p [ipv4, udp], rate: 1kpps}}\n  \
         - {{name: t, from: east, to: bare, packet: [{{ethernet: {{dst: '02:00:00:00:00:01'}}}}, {{ipv4: {{dst: 10.0.0.1}}}}], rate: 40%}}\n\
         sim: {{link: {{speed: 1Gbps, loss: 1%, delay: 3us}}, router: {{capacity: 2Mpps}}}}\n"
    );
    let plan = load(&text).unwrap_or_else(|errors| panic!("{errors:#?}"));
    assert_eq!((plan.sim.link.speed_bps, plan.sim.link.loss), (1_000_000_000, 0.01));
    let router = plan.sim.router.unwrap();
    assert_eq!(
        (router.capacity, router.buffer, router.latency),
        (Pps::new(2_000_000), 512, Nanos::from_micros(20))
    );
}

#[test]
fn both_directions_of_a_capture_repeat_together() {
    let stream =
        "  - {name: r, from: west, to: east, replay: {file: replay.pcap, loops: 3, split: first_source}}";
    let whole =
        std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/replay.pcap")).unwrap();
    let records = pcap::read(&whole[..]).unwrap().records;
    // Two answers are missing, so one direction has fewer packets than the other.
    let mut file = pcap::PcapWriter::new(Vec::new(), 65_535).unwrap();
    for (number, record) in records.iter().enumerate().filter(|(number, _)| ![3, 5].contains(number)) {
        let (at, bytes) = (record.at, &record.bytes[..]);
        let packet =
            pcap::Packet { at, interface: 0, direction: None, original_len: bytes.len() as u32, bytes };
        file.write(&packet).unwrap_or_else(|error| panic!("{number}: {error}"));
    }
    let file = file.into_inner();
    let files = |_: &str| Ok(file.clone());
    let plan = load_with(&format!("{PORTS}streams:\n{stream}\n"), &Overrides::default(), &files).unwrap();
    let periods = plan.streams.iter().map(|stream| match &stream.pattern {
        Pattern::Captured { times, period } => (stream.count, times.len() as u64 * 3, *period),
        other => panic!("{other:?}"),
    });
    let [(client, client_all, first), (server, server_all, second)] = periods.collect::<Vec<_>>()[..] else {
        panic!("{} streams", plan.streams.len())
    };
    assert_eq!((client, server), (Some(client_all), Some(server_all)));
    assert_ne!(client, server);
    assert_eq!(first, second);
}

#[test]
fn the_schema_describes_every_key() {
    fn describe(path: &str, schema: &serde_json::Value, bare: &mut Vec<String>) {
        match schema {
            serde_json::Value::Object(map) => {
                if let Some(properties) = map.get("properties").and_then(|p| p.as_object()) {
                    for (key, property) in properties {
                        // What stands elsewhere is described there.
                        if property.get("description").is_none() && property.get("$ref").is_none() {
                            bare.push(format!("{path}.{key}"));
                        }
                    }
                }
                map.iter().for_each(|(key, value)| describe(&format!("{path}/{key}"), value, bare));
            }
            serde_json::Value::Array(list) => list.iter().for_each(|value| describe(path, value, bare)),
            _ => {}
        }
    }
    let schema = profile::schema();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert!(!schema.to_string().contains("\"null\""), "null is never a value");
    let mut bare = Vec::new();
    describe("", schema, &mut bare);
    assert!(bare.is_empty(), "without description: {bare:?}");
}

proptest! {
    /// A mutated profile loads or gives a reason, and every error has a place in it.
    #[test]
    fn never_panics(
        cut in any::<prop::sample::Index>(),
        len in 0usize..40,
        insert in "[-a-z0-9:{}\\[\\],\"'&*!|>%#\\n\\t .]{0,8}",
    ) {
        let mut text: Vec<char> = include_str!("../../../examples/router-both.yaml").chars().collect();
        let start = cut.index(text.len());
        let end = (start + len).min(text.len());
        text.splice(start..end, insert.chars());
        let text: String = text.into_iter().collect();
        if let Err(errors) = load(&text) {
            let lines = text.lines().count() + 1;
            prop_assert!(!errors.is_empty());
            for error in errors {
                prop_assert!((1..=lines).contains(&error.line), "{error}");
                prop_assert!(!error.reason.contains("internal"), "{error}");
            }
        }
    }
}

#[test]
fn a_capture_is_split_by_who_spoke_first() {
    let text = r#"{"ports": {"a": {"device": "ring:a"}, "b": {"device": "ring:b"}}, "streams": [{"name": "s",
        "from": "a", "to": "b", "replay": {"file": "replay.pcap", "split": "first_source"}, "measure": false}]}"#;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/replay.pcap");
    let files = |_: &str| std::fs::read(&file).map_err(|e| e.to_string());
    let plan = load_with(text, &Overrides::default(), &files).unwrap();
    let names: Vec<&str> = plan.streams.iter().map(|stream| stream.name.as_str()).collect();
    assert_eq!(names, ["s[client]", "s[server]"]);
}

#[test]
fn tracked_bits_are_found_where_the_packet_has_them() {
    let bits = |rest: &str| {
        let stream = stream(&format!("from: west, to: east, {rest}"));
        (
            stream.egress.iter().map(|bits| (bits.offset, bits.width)).collect::<Vec<_>>(),
            stream.egress_values(),
        )
    };
    assert_eq!(bits("packet: [ipv4, udp], egress: ipv4.dscp"), (vec![(120, 6)], 64));
    let tagged = "packet: [{vlan: {id: 5}}, ipv4, udp], egress: [ipv4.dscp, vlan.pcp], copies: 2";
    assert_eq!(bits(tagged), (vec![(152, 6), (112, 3)], 512));
    assert_eq!(
        bits("packet: [ipv4, udp], egress: ['payload[0]', 'bits[3..5]']"),
        (vec![(336, 8), (3, 2)], 1024)
    );
    assert_eq!(bits("packet: [ipv4, udp]"), (vec![], 0));
}
