use super::*;
use crate::{Header, PacketSpec, checksum, protocol, read};
use proptest::prelude::*;

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const HOP: [u8; 6] = [2, 0, 0, 0, 0, 2];

fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

fn tunnel(kind: TunnelKind, v6: bool) -> Tunnel {
    let (from, to) = if v6 { ("2001:db8::1", "2001:db8::2") } else { ("192.0.2.1", "192.0.2.2") };
    Tunnel {
        udp_port: kind.udp_port().unwrap_or(0),
        kind,
        from: ip(from),
        to: ip(to),
        dscp: 10,
        ttl: 63,
        source_port: None,
    }
}

/// The same as the other end sees it.
fn turned(tunnel: &Tunnel) -> Tunnel {
    let kind = match &tunnel.kind {
        TunnelKind::Gtpu { send, receive, qos_flow } => {
            let turn = |teids: &Teids| Teids { clients_here: !teids.clients_here, ..teids.clone() };
            TunnelKind::Gtpu { send: turn(receive), receive: turn(send), qos_flow: *qos_flow }
        }
        kind => kind.clone(),
    };
    Tunnel { kind, from: tunnel.to, to: tunnel.from, ..tunnel.clone() }
}

fn teids(first: u32, clients: &[(&str, &str)]) -> Teids {
    let clients = clients.iter().map(|(first, last)| ip(first)..=ip(last)).collect();
    Teids { first, clients, clients_here: true }
}

fn gtpu(qos_flow: Option<(u8, u8)>) -> TunnelKind {
    let clients = &[("10.0.0.1", "10.0.0.9"), ("2001:db8:9::1", "2001:db8:9::9")];
    TunnelKind::Gtpu { send: teids(100, clients), receive: teids(7, &[]), qos_flow }
}

fn kinds() -> Vec<TunnelKind> {
    vec![
        TunnelKind::Vxlan { vni: 0x0a_bcde },
        TunnelKind::Geneve { vni: 77 },
        TunnelKind::Gre { key: None, ethernet: false },
        TunnelKind::Gre { key: Some(9), ethernet: false },
        TunnelKind::Gre { key: None, ethernet: true },
        TunnelKind::Ip,
        gtpu(None),
        gtpu(Some((1, 9))),
    ]
}

/// A UDP packet from the fifth client.
fn inner(v6: bool, port: u16) -> Vec<u8> {
    let mut headers: Vec<Header> = ["ethernet", if v6 { "ipv6" } else { "ipv4" }, "udp"]
        .map(|name| Header::new(protocol(name).expect("in the catalogue")))
        .into();
    let (src, dst) = if v6 { ("2001:db8:9::5", "2001:db8:9::ff") } else { ("10.0.0.5", "10.0.0.99") };
    for (header, name, value) in
        [(1, "src", bits(ip(src))), (1, "dst", bits(ip(dst))), (2, "src", port.into()), (2, "dst", 9)]
    {
        let field = headers[header].protocol.field(name).expect("a field");
        headers[header].put(field, value);
    }
    let spec = PacketSpec { headers, payload: b"spring tide".to_vec(), ..PacketSpec::default() };
    spec.build_unpadded().expect("a packet").bytes
}

fn encap(tunnel: &Tunnel, vlans: &[u16]) -> OuterHeaders {
    let link = EncapLink { own_mac: MAC, hop_mac: HOP, vlans: vlans.into() };
    OuterHeaders::Tunnel(Encap::new(tunnel.clone(), &link))
}

fn decap(tunnel: &Tunnel, vlans: &[u16]) -> Decap {
    Decap::new(vec![DecapEntry { tunnel: turned(tunnel), mac: HOP, vlans: vlans.to_vec(), network: 3 }])
}

#[test]
fn what_goes_in_comes_out() {
    for (kind, (outer_v6, inner_v6)) in kinds().into_iter().flat_map(|kind| {
        [(false, false), (false, true), (true, false), (true, true)].map(|v6| (kind.clone(), v6))
    }) {
        for vlans in [&[][..], &[5], &[5, 6]] {
            let tunnel = tunnel(kind.clone(), outer_v6);
            let inner = inner(inner_v6, 4_000);
            let mut frame = encap(&tunnel, vlans).around(&inner).expect("a frame");
            let overhead = frame.len() - inner.len() - 4 * vlans.len();
            assert_eq!(overhead, tunnel.overhead(), "an Ethernet header outside, one or none inside");
            // Padding is no part of it.
            frame.extend([0xee; 7]);
            let Arrived::Inner(found) = decap(&tunnel, vlans).read(&frame) else {
                panic!("{kind:?} {outer_v6} {inner_v6}: {frame:02x?}")
            };
            let skipped = if found.is_bare { ETHERNET } else { 0 };
            assert_eq!(found.frame[skipped..], inner[skipped..]);
            assert_eq!((found.network, found.peer, found.is_bare), (3, tunnel.from, kind.is_bare()));
            assert_eq!(decap(&tunnel, &[7]).read(&frame), Arrived::Foreign, "another VLAN");
        }
    }
}

/// The catalogue's reader, which is not made of this, finds the headers and right checksums.
#[test]
fn headers_are_those_of_the_catalogue() {
    for (kind, names) in kinds().into_iter().zip([
        "ethernet ipv4 udp vxlan ethernet ipv4 udp",
        "ethernet ipv4 udp geneve ethernet ipv4 udp",
        "ethernet ipv4 gre ipv4 udp",
        "ethernet ipv4 gre gre_key ipv4 udp",
        "ethernet ipv4 gre ethernet ipv4 udp",
        "ethernet ipv4 ipv4 udp",
        "ethernet ipv4 udp gtpu ipv4 udp",
    ]) {
        let frame = encap(&tunnel(kind, false), &[]).around(&inner(false, 1)).expect("a frame");
        let (headers, _) = read(&frame);
        let found: Vec<&str> = headers.iter().map(|header| header.protocol.name).collect();
        assert_eq!(found.join(" "), names);
        assert_eq!(checksum::fold(checksum::sum(&frame[14..34], 0)), 0xffff);
        assert_eq!((frame[15], frame[22]), (10 << 2, 63));
    }
}

#[test]
fn udp_has_a_checksum_over_ipv6_alone() {
    for kind in kinds().into_iter().filter(|kind| kind.udp_port().is_some()) {
        let v4 = encap(&tunnel(kind.clone(), false), &[]).around(&inner(false, 1)).expect("a frame");
        assert_eq!(v4[40..42], [0, 0]);
        let v6 = encap(&tunnel(kind, true), &[]).around(&inner(false, 1)).expect("a frame");
        let pseudo = checksum::sum(&v6[22..54], 17 + v6.len() as u64 - 54);
        assert_eq!(checksum::fold(checksum::sum(&v6[54..], pseudo)), 0xffff);
    }
}

#[test]
fn source_ports_follow_flows() {
    let mut tunnel = tunnel(TunnelKind::Vxlan { vni: 1 }, false);
    let port = |tunnel: &Tunnel, flow| {
        u16_at(&encap(tunnel, &[]).around(&inner(false, flow)).expect("a frame"), 34).expect("a port")
    };
    let ports: std::collections::HashSet<u16> = (0..100).map(|flow| port(&tunnel, flow)).collect();
    assert!(ports.len() > 90 && ports.iter().all(|port| *port >= 49_152), "{ports:?}");
    assert_eq!(port(&tunnel, 5), port(&tunnel, 5));
    tunnel.source_port = Some(1_234);
    assert_eq!(port(&tunnel, 5), 1_234);
}

#[test]
fn identifiers_count_on_with_clients() {
    let all = teids(100, &[("10.0.0.1", "10.0.0.9"), ("10.1.0.1", "10.1.0.2")]);
    let of = |text| all.of(ip(text));
    assert_eq!([of("10.0.0.1"), of("10.0.0.9"), of("10.1.0.2")], [Some(100), Some(108), Some(110)]);
    assert_eq!((of("10.0.0.10"), teids(5, &[]).of(ip("10.9.9.9"))), (None, Some(5)));
    let tunnel = tunnel(gtpu(None), false);
    let mut frame = encap(&tunnel, &[]).around(&inner(false, 1)).expect("a frame");
    assert_eq!(u32_at(&frame, 46), Some(104));
    frame[49] += 1;
    assert_eq!(decap(&tunnel, &[]).read(&frame), Arrived::Unknown, "another client's");
}

#[test]
fn other_networks_are_not_entered() {
    for (kind, other) in [
        (TunnelKind::Vxlan { vni: 1 }, TunnelKind::Vxlan { vni: 2 }),
        (TunnelKind::Geneve { vni: 1 }, TunnelKind::Geneve { vni: 2 }),
        (TunnelKind::Gre { key: Some(1), ethernet: false }, TunnelKind::Gre { key: None, ethernet: false }),
        (TunnelKind::Gre { key: None, ethernet: true }, TunnelKind::Gre { key: None, ethernet: false }),
    ] {
        let frame = encap(&tunnel(kind, false), &[]).around(&inner(false, 1)).expect("a frame");
        assert_eq!(decap(&tunnel(other, false), &[]).read(&frame), Arrived::Unknown);
    }
    let frame =
        encap(&tunnel(TunnelKind::Vxlan { vni: 1 }, false), &[]).around(&inner(false, 1)).expect("a frame");
    for other in [TunnelKind::Geneve { vni: 1 }, TunnelKind::Ip, gtpu(None)] {
        assert_eq!(decap(&tunnel(other, false), &[]).read(&frame), Arrived::Foreign);
    }
}

/// RFC 6040: what is inside may be marked on the way, and what was marked inside is so outside.
#[test]
fn congestion_marks_are_seen() {
    let tunnel = tunnel(TunnelKind::Ip, false);
    let mut plain = inner(false, 1);
    plain[15] |= 0b10;
    let mut frame = encap(&tunnel, &[]).around(&plain).expect("a frame");
    assert_eq!(frame[15] & 0b11, 0b10);
    frame[15] |= 0b11;
    // The header's sum grows by one.
    let sum = u16_at(&frame, 24).expect("a checksum") - 1;
    put16(&mut frame, 24, sum);
    let Arrived::Inner(found) = decap(&tunnel, &[]).read(&frame) else { panic!("{frame:02x?}") };
    assert!(found.is_congested);
}

#[test]
fn gtpu_answers_an_echo_request() {
    for v6 in [false, true] {
        let tunnel = tunnel(gtpu(None), v6);
        let mut frame = encap(&tunnel, &[]).around(&inner(v6, 1)).expect("a frame");
        let at = if v6 { 62 } else { 42 };
        frame[at..at + 12].copy_from_slice(&[0x32, 1, 0, 4, 0, 0, 0, 0, 0xab, 0xcd, 0, 0]);
        let Arrived::Echo(answer) = decap(&tunnel, &[]).read(&frame) else { panic!("{frame:02x?}") };
        assert_eq!((&answer[..6], &answer[6..12]), (&MAC[..], &HOP[..]));
        assert_eq!(ip_ends(&answer[14..]), Some((tunnel.to, tunnel.from)));
        assert_eq!(answer[at - 8..at - 6], 2_152u16.to_be_bytes());
        assert_eq!(answer[at - 6..at - 4], frame[at - 8..at - 6], "to the port it came from");
        assert_eq!(answer[at..], [0x32, 2, 0, 6, 0, 0, 0, 0, 0xab, 0xcd, 0, 0, 14, 0]);
        if v6 {
            let pseudo = checksum::sum(&answer[22..54], 17 + answer.len() as u64 - 54);
            assert_eq!(checksum::fold(checksum::sum(&answer[54..], pseudo)), 0xffff);
        } else {
            assert_eq!(checksum::fold(checksum::sum(&answer[14..34], 0)), 0xffff);
        }
    }
}

/// Linux puts a limit of how deep tunnels are before 4in6 and 6in6 (RFC 2473 section 4.1.1).
#[test]
fn extension_headers_are_passed_over() {
    let tunnel = tunnel(TunnelKind::Ip, true);
    let mut frame = encap(&tunnel, &[]).around(&inner(false, 1)).expect("a frame");
    let protocol = std::mem::replace(&mut frame[20], 60);
    frame.splice(54..54, [protocol, 0, 4, 1, 4, 1, 1, 0]);
    let len = frame.len() as u16 - 54;
    put16(&mut frame, 18, len);
    assert!(matches!(decap(&tunnel, &[]).read(&frame), Arrived::Inner(_)));
}

/// Two clients, of which the fifth host is one.
fn links(vlans: &[u16]) -> std::sync::Arc<PppoeLinks> {
    let link = |session| PppoeLink { session, ac: HOP, mac: MAC, vlans: [0; 2] };
    let links = [([10, 0, 0, 9].into(), link(0x909)), ([10, 0, 0, 5].into(), link(0x505))];
    std::sync::Arc::new(PppoeLinks::new(&vlans.into(), links))
}

#[test]
fn clients_send_and_receive_in_their_own_sessions() {
    for vlans in [&[][..], &[5], &[5, 6]] {
        let outer = OuterHeaders::Pppoe(PppoeEncap::new(links(vlans)));
        let plain = inner(false, 1);
        let sent = outer.around(&plain).expect("a frame");
        assert_eq!(sent.len(), plain.len() + PppoeLinks::OVERHEAD + 4 * vlans.len());
        assert_eq!((&sent[..6], &sent[6..12]), (&HOP[..], &MAC[..]));
        let (headers, _) = read(&sent);
        let names: Vec<&str> = headers.iter().map(|header| header.protocol.name).collect();
        let tags = "vlan ".repeat(vlans.len());
        assert_eq!(names.join(" "), format!("ethernet {tags}pppoe ppp ipv4 udp"));
        let at = ETHERNET + 4 * vlans.len();
        assert_eq!(u16_at(&sent, at + 2), Some(0x505));
        assert_eq!(usize::from(u16_at(&sent, at + 4).expect("a length")), plain.len() - ETHERNET + 2);
        // What comes back is to the client.
        let mut back = sent;
        back[..12].rotate_left(6);
        back[at + 8 + 12..at + 8 + 20].rotate_left(4);
        back.extend([0xee; 7]);
        let decap = Decap::default().with_sessions(links(vlans), 3);
        let Arrived::Inner(found) = decap.read(&back) else { panic!("{back:02x?}") };
        assert_eq!((found.network, found.is_bare, found.frame.len()), (3, true, plain.len()));
        assert_eq!(found.frame[ETHERNET + 20..], plain[ETHERNET + 20..]);
        assert_eq!(
            Decap::default().with_sessions(links(&[9]), 3).read(&back),
            Arrived::Foreign,
            "another VLAN"
        );
        // Another session, another access concentrator, to another client, no IPv4 packet.
        for place in [at + 3, 6, 0, at + 7] {
            let mut other = back.clone();
            other[place] ^= 1;
            assert_eq!(decap.read(&other), Arrived::Foreign, "{place}");
        }
        (0..back.len())
            .for_each(|len| assert_eq!(decap.read(&back[..len.min(back.len() - 8)]), Arrived::Foreign));
    }
}

#[test]
fn clients_with_their_own_vlans_send_and_receive_in_them() {
    let link = |last: u8, vlans| {
        let link = PppoeLink { session: u16::from(last), ac: HOP, mac: MAC, vlans };
        (std::net::Ipv4Addr::new(10, 0, 0, last), link)
    };
    let all = [link(5, [100, 7]), link(9, [101, 4_094])];
    let links = std::sync::Arc::new(PppoeLinks::new(&[100, 7].into(), all).in_own_vlans());
    assert!(links.differ());
    let sent = OuterHeaders::Pppoe(PppoeEncap::new(links.clone())).around(&inner(false, 1)).expect("a frame");
    assert_eq!(sent[12..20], [0x88, 0xa8, 0, 100, 0x81, 0, 0, 7]);
    let mut back = sent;
    back[..12].rotate_left(6);
    let at = ETHERNET + 8;
    back[at + 8 + 12..at + 8 + 20].rotate_left(4);
    let decap = Decap::default().with_sessions(links, 3);
    assert!(matches!(decap.read(&back), Arrived::Inner(_)));
    back[19] = 8;
    assert_eq!(decap.read(&back), Arrived::Foreign, "in a VLAN that is not its own");
}

proptest! {
    /// For any lengths in a frame, the result lies inside it.
    #[test]
    fn damage_is_survived(
        kind in 0..8usize, v6: bool, at in 0..120usize, byte: u8, cut in 0..160usize, checksum_right: bool,
    ) {
        let tunnel = tunnel(kinds()[kind].clone(), v6);
        let mut frame = encap(&tunnel, &[]).around(&inner(v6, 1)).expect("a frame");
        let at = at % frame.len();
        frame[at] = byte;
        if checksum_right && !v6 {
            put16(&mut frame, 24, 0);
            let sum = checksum::finish(checksum::sum(&frame[14..34], 0));
            put16(&mut frame, 24, sum);
        }
        frame.truncate(cut);
        if let Arrived::Inner(found) = decap(&tunnel, &[]).read(&frame) {
            prop_assert!(found.frame.len() > ETHERNET);
        }
    }
}
