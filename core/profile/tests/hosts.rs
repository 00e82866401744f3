//! Several hosts behind one port: what they are, and which of them sends what.

use profile::load;
use profile::plan::{HopBy, NextHop, Plan, StreamPlan};
use std::net::IpAddr;

const PORTS: &str = r#"
ports:
  west:
    device: "ring:a"
    ip: [10.0.0.2/24, "2001:2::2/64"]
    gateway: 10.0.0.1
    hosts:
      - {name: red, vlan: 7, ip: [10.0.7.2/24, 10.0.70.2/24], gateway: [10.0.7.1, 10.0.70.1]}
      - {name: blue, vlan: [8, 9], ip: 10.0.8.2/24, gateway: 10.0.8.1}
      - {name: twin, vlan: 17, ip: 10.0.7.2/24}
      - {name: many, count: 100, vlan: 100, vlan_step: 1, ip: 10.1.0.2/24, ip_step: 0.0.1.0, gateway: 10.1.0.1, gateway_step: 256, mac: "02:00:00:00:01:fe"}
  east: {device: "ring:b", hosts: [{ip: 10.0.1.2/24}, {ip: [10.0.1.3/24, "2001:2:0:1::3/64"]}]}
  bare: {device: "ring:c.a"}
"#;

fn plan(rest: &str) -> Plan {
    let text = format!("{PORTS}{rest}\n");
    load(&text).unwrap_or_else(|errors| panic!("{text}{errors:#?}"))
}

fn streams(rest: &str) -> Vec<StreamPlan> {
    plan(&format!("streams: [{{name: s, rate: 1kpps, {rest}}}]")).streams
}

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// Tags of a stream's packets.
fn tags(stream: &StreamPlan) -> Vec<u128> {
    let tags = stream.packet.headers.iter().filter(|header| header.protocol.name == "vlan");
    tags.filter_map(|tag| tag.value("id")).collect()
}

#[test]
fn one_entry_makes_many_hosts() {
    let plan = plan("streams: []");
    let hosts = &plan.ports[0].hosts;
    assert_eq!(hosts.len(), 104);
    assert_eq!(
        (hosts[0].name.as_str(), hosts[1].name.as_str(), hosts[103].name.as_str()),
        ("west", "red", "many[99]")
    );
    let last = &hosts[103];
    assert_eq!((last.addresses[0].ip, last.addresses[0].prefix_len), (ip("10.1.99.2"), 24));
    assert_eq!((&last.gateways[..], &last.vlans[..]), (&[ip("10.1.99.1")][..], &[199][..]));
    assert_eq!((hosts[4].mac, last.mac), (Some([2, 0, 0, 0, 1, 0xfe]), Some([2, 0, 0, 0, 2, 0x61])));
    let east: Vec<&str> = plan.ports[1].hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(east, ["east", "host1", "host2"]);
}

#[test]
fn a_stream_goes_to_the_next_hop_it_names() {
    let to = |hop: &str| format!("from: west, next_hop: '{hop}', packet: [{{ipv4: {{dst: 10.0.0.9}}}}, udp]");
    assert_eq!(streams(&to("10.0.0.7"))[0].next_hop, NextHop::Resolve(ip("10.0.0.7")));
    assert_eq!(streams(&to("2001:2::7"))[0].next_hop, NextHop::Resolve(ip("2001:2::7")));
    let refused = |rest: &str| {
        let errors = load(&format!("{PORTS}streams: [{{name: s, rate: 1kpps, {rest}}}]\n")).unwrap_err();
        errors.iter().map(|error| format!("{}: {}", error.path, error.reason)).collect::<Vec<_>>().join("; ")
    };
    let by_red = refused(&format!("from_host: red, {}", to("2001:2::7")));
    assert!(by_red.contains("next_hop is 2001:2::7, and host 'red' has no IPv6 address"), "{by_red}");
    let group = refused("from: west, next_hop: 10.0.0.7, packet: [{ipv4: {dst: 239.0.0.9}}, udp]");
    assert!(group.contains("streams[0].next_hop: the destination MAC address is the packet's"), "{group}");
    let frame = refused(
        "from: west, next_hop: 10.0.0.7, measure: false, frame: {hex: '020000000002020000000001080000000000'}",
    );
    assert!(frame.contains("streams[0].next_hop: does not go with 'frame'"), "{frame}");
}

#[test]
fn a_stream_is_sent_by_the_host_whose_address_it_has() {
    let resolve = |text: &str| NextHop::Resolve(ip(text));
    for (packet, host, vlans, hop) in [
        ("[{ipv4: {dst: 10.0.0.9}}, udp]", 0, &[][..], resolve("10.0.0.9")),
        ("[{ipv4: {src: 10.0.0.2, dst: 10.9.0.9}}, udp]", 0, &[], resolve("10.0.0.1")),
        ("[{ipv4: {src: 10.0.70.2, dst: 10.9.0.9}}, udp]", 1, &[7], resolve("10.0.70.1")),
        ("[{ipv4: {src: 10.0.70.2, dst: 10.0.7.9}}, udp]", 1, &[7], resolve("10.0.7.9")),
        ("[{ipv4: {src: 10.0.8.2, dst: 10.0.7.2}}, udp]", 2, &[8, 9], resolve("10.0.8.1")),
        // Of two with one address the packet's own tags say which.
        ("[{vlan: {id: 17}}, {ipv4: {src: 10.0.7.2, dst: 10.0.7.9}}, udp]", 3, &[17], resolve("10.0.7.9")),
        ("[{vlan: {id: 7}}, {ipv4: {src: 10.0.7.2, dst: 10.9.9.9}}, udp]", 1, &[7], resolve("10.0.7.1")),
        ("[{vlan: {id: 7}}, {ipv4: {dst: 10.9.9.9}}, udp]", 1, &[7], resolve("10.0.7.1")),
        // Tags of an author who wants others than the host's.
        ("[{vlan: {id: 99}}, {ipv4: {src: 10.0.70.2, dst: 10.9.9.9}}, udp]", 1, &[99], resolve("10.0.70.1")),
        // Nobody's own address, on the network of one.
        ("[{ipv4: {src: 10.0.8.77, dst: 10.9.9.9}}, udp]", 2, &[8, 9], resolve("10.0.8.1")),
        ("[{ipv4: {src: 192.0.2.1, dst: 10.9.9.9}}, udp]", 0, &[], resolve("10.0.0.1")),
        ("[{ipv4: {src: 10.1.50.2, dst: 10.9.9.9}}, udp]", 54, &[150], resolve("10.1.50.1")),
    ] {
        let stream = streams(&format!("from: west, packet: {packet}")).remove(0);
        assert_eq!((stream.from_host, stream.next_hop), (host, hop), "{packet}");
        assert_eq!(tags(&stream), vlans.to_vec(), "{packet}");
        assert!(stream.fill_source_mac);
    }
}

#[test]
fn a_host_that_is_named_fills_in_its_addresses() {
    let stream =
        streams("from: west, from_host: blue, to: east, to_host: host2, packet: [ipv4, udp]").remove(0);
    assert_eq!((stream.from_host, stream.to_host, tags(&stream)), (2, 2, vec![8, 9]));
    assert_eq!(stream.packet.headers[3].value("src"), Some(0x0a00_0802));
    assert_eq!(stream.packet.headers[3].value("dst"), Some(0x0a00_0103));
    assert_eq!(stream.next_hop, NextHop::Resolve(ip("10.0.8.1")));
    // Without names, the first hosts that can.
    let stream = streams("from: west, to: east, packet: [{ethernet: {dst: '02:00:00:00:00:01'}}, ipv6, udp]")
        .remove(0);
    assert_eq!((stream.from_host, stream.to_host), (0, 2));
    // Without an address of the packet's family, its only gateway.
    let six = "{ipv6: {src: '2001:db8::7', dst: '2001:db8:9::7'}}";
    let stream = streams(&format!("from: west, from_host: blue, packet: [{six}, udp]")).remove(0);
    assert_eq!(stream.next_hop, NextHop::Resolve(ip("10.0.8.1")));
    // Nothing between: the hardware address of the host that has the destination.
    let stream =
        streams("from: bare, to: east, packet: [{ipv4: {src: 1.2.3.4, dst: 10.0.1.3}}, udp]").remove(0);
    assert_eq!((stream.to_host, stream.next_hop), (2, NextHop::PeerPort));
}

#[test]
fn each_copy_is_sent_by_its_own_host() {
    let per_copy = "{ipv4.src: '10.1.0.2..10.1.99.2 step 0.0.1.0'}";
    let copies = streams(&format!(
        "from: west, packet: [{{ipv4: {{dst: 10.9.0.9}}}}, udp], copies: 100, per_copy: {per_copy}, vary: {{udp.src: counter}}"
    ));
    for (number, stream) in copies.iter().enumerate() {
        assert_eq!((stream.from_host, tags(stream)), (4 + number, vec![100 + number as u128]));
        let gateway = IpAddr::from([10, 1, number as u8, 1]);
        assert_eq!(stream.next_hop, NextHop::Resolve(gateway));
    }
}

#[test]
fn sources_that_are_several_hosts_are_warned_of() {
    let of = |range: &str| {
        let vary = format!("vary: {{ipv4.src: {range}}}");
        let stream = format!(
            "{{name: s, rate: 1kpps, from: west, packet: [{{ipv4: {{dst: 10.9.9.9}}}}, udp], {vary}}}"
        );
        let plan = plan(&format!("streams: [{stream}]"));
        (plan.streams[0].from_host, tags(&plan.streams[0]), plan.warnings)
    };
    assert_eq!(of("10.0.70.2..10.0.70.9"), (1, vec![7], vec![]));
    let (host, vlans, warnings) = of("10.0.8.2..10.0.70.9");
    assert_eq!((host, &vlans[..]), (2, &[8, 9][..]));
    assert!(
        warnings[0].starts_with("stream s: its sources go over addresses of host 'red', too"),
        "{warnings:?}"
    );
}

#[test]
fn sessions_are_played_by_the_host_whose_addresses_they_have() {
    let rest = "ports: 9, open: 1/s, app: {bulk: {from: client}}";
    for (client, host, vlans, hop) in [
        ("port: west, addresses: 10.0.70.2", 1, &[7][..], "10.0.70.1"),
        ("port: west, addresses: 10.0.7.2, vlan: 7", 1, &[7], "10.0.7.1"),
        ("port: west, addresses: 10.0.8.20..10.0.8.30", 2, &[8, 9], "10.0.8.1"),
        ("port: west", 0, &[], "10.0.0.1"),
        ("port: west, addresses: 192.0.2.1", 0, &[], "10.0.0.1"),
    ] {
        let server = "server: {addresses: 10.9.9.9, ports: 9}";
        let rest = rest.trim_start_matches("ports: 9, ");
        let entry = plan(&format!("sessions: [{{name: s, client: {{{client}}}, {server}, {rest}}}]"))
            .sessions
            .remove(0);
        let side = entry.session.client.as_ref().unwrap();
        assert_eq!((&entry.client_hosts[..], &side.hosts[0].vlans[..]), (&[host][..], vlans), "{client}");
        assert_eq!(entry.hop(0, ip("10.9.9.9")), Some(HopBy::Resolve(ip(hop))), "{client}");
    }
    let both = "client: {port: bare, addresses: 10.0.1.9}, server: {port: east, addresses: 10.0.1.3}, app: echo, open: max";
    let entry = plan(&format!("sessions: [{{name: s, {both}}}]")).sessions.remove(0);
    assert_eq!((&entry.server_hosts[..], entry.hop(0, ip("10.0.1.3"))), (&[2][..], Some(HopBy::PeerPort)));
}

fn shared_out(addresses: &str) -> (Vec<String>, Vec<(String, usize)>) {
    shared_out_by(&format!("addresses: {addresses}"))
}

/// An end on port `west` with these keys for its addresses: its hosts, and the addresses of each.
fn shared_out_by(keys: &str) -> (Vec<String>, Vec<(String, usize)>) {
    let rest = "server: {addresses: 10.9.9.9, ports: 9}, open: 1/s, app: {bulk: {from: client}}";
    let entry =
        plan(&format!("sessions: [{{name: s, client: {{port: west, {keys}}}, {rest}}}]")).sessions.remove(0);
    let side = entry.session.client.as_ref().unwrap();
    let ranges = entry.session.clients.addresses.iter();
    let ranges = ranges.map(|range| (format!("{}..{}", range.first, range.last), range.host)).collect();
    for (place, number) in entry.client_hosts.iter().enumerate() {
        let hop = entry.hop(place, ip("10.9.9.9"));
        assert!(matches!(hop, Some(HopBy::Resolve(_))), "host {number} has a gateway of its own");
    }
    (side.hosts.iter().map(|host| format!("{}{:?}", host.name, &host.vlans[..])).collect(), ranges)
}

#[test]
fn sessions_may_be_played_by_several_hosts() {
    let ranges =
        |of: &[(&str, usize)]| of.iter().map(|(text, host)| (text.to_string(), *host)).collect::<Vec<_>>();
    // Each address is its owner's.
    let (hosts, shared) = shared_out("[10.0.0.2, 10.0.70.2]");
    assert_eq!(hosts, ["west[]", "red[7]"]);
    assert_eq!(shared, ranges(&[("10.0.0.2..10.0.0.2", 0), ("10.0.70.2..10.0.70.2", 1)]));
    // What is nobody's own is the host's on whose network it is, in ranges as long as can be.
    let (hosts, shared) = shared_out("[10.0.8.20..10.0.8.30, 10.0.70.2..10.0.70.9, 192.0.2.1]");
    assert_eq!(hosts, ["blue[8, 9]", "red[7]"]);
    assert_eq!(
        shared,
        ranges(&[("10.0.8.20..10.0.8.30", 0), ("10.0.70.2..10.0.70.9", 1), ("192.0.2.1..192.0.2.1", 1)])
    );
    // By name.
    let named = |hosts: &str| shared_out_by(&format!("hosts: {hosts}"));
    let (hosts, shared) = named("[blue, many]");
    assert_eq!((hosts.len(), hosts[0].as_str(), hosts[100].as_str()), (101, "blue[8, 9]", "many[99][199]"));
    assert_eq!(
        (&shared[0], &shared[100]),
        (&("10.0.8.2..10.0.8.2".into(), 0), &("10.1.99.2..10.1.99.2".into(), 100))
    );
    let (hosts, shared) = named("'many[7]'");
    assert_eq!((hosts, shared), (vec!["many[7][107]".into()], ranges(&[("10.1.7.2..10.1.7.2", 0)])));
    // A range over several hosts is cut where the host changes.
    let port = "ports: {west: {device: 'ring:a', ip: 10.0.0.2/24, hosts: [{name: a, count: 3, ip: 10.0.0.10/24}]}}\n";
    let text = format!(
        "{port}sessions: [{{name: s, client: {{port: west, addresses: 10.0.0.10..10.0.0.12}}, server: {{addresses: 10.0.0.99, ports: 9}}, \
         open: 1/s, app: {{bulk: {{from: client}}}}}}]"
    );
    let entry = load(&text).unwrap().sessions.remove(0);
    assert_eq!(entry.client_hosts, [1, 2, 3]);
    assert_eq!(entry.session.clients.addresses.iter().map(|range| range.host).collect::<Vec<_>>(), [0, 1, 2]);
}
