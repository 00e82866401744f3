//! Frames of any bytes at the ends of tunnels: what is found inside lies inside the frame, is what was put in, and breaks no stack.
//!
//! An input is a kind of tunnel, a byte of what is damaged and how, where, and the bytes of an inner packet; with an odd second byte
//! the rest is a frame as it is.

use std::net::IpAddr;
use tcp::Inside;
use wire::checksum;
use wire::tunnel::{
    Arrived, Decap, DecapEntry, Encap, EncapLink, Inner, OuterHeaders, Teids, Tunnel, TunnelKind,
};

const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const ETHERNET: usize = 14;

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    let Some(([kind, how, at, value], rest)) = data.split_first_chunk() else { return };
    let tunnel = tunnel(*kind, how & 2 != 0);
    // What it sends arrives at its own end: both are the same here.
    let entry = DecapEntry { tunnel: tunnel.clone(), mac: MAC, vlans: Vec::new(), network: 1 };
    let decap = Decap::new(vec![entry]);
    if how & 1 != 0 {
        look(&decap, rest);
        return;
    }
    let link = EncapLink { own_mac: MAC, hop_mac: MAC, vlans: wire::Vlans::NONE };
    let encap = OuterHeaders::Tunnel(Encap::new(tunnel.clone(), &link));
    let Some(mut frame) = encap.around(rest) else { return };
    if let Arrived::Inner(inner) = decap.read(&frame) {
        assert_eq!(inner.frame[ETHERNET..], rest[ETHERNET..], "what went in");
    } else {
        // Of a client that has no identifier, or no IP packet.
        assert!(tunnel.kind.is_bare());
    }
    if let Some(byte) = frame.get_mut(usize::from(*at)) {
        *byte = *value;
    }
    if how & 4 != 0 && frame.len() >= ETHERNET + 20 {
        frame[24..26].fill(0);
        let sum = checksum::finish(checksum::sum(&frame[ETHERNET..ETHERNET + 20], 0));
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
    }
    look(&decap, &frame);
}

fn look(decap: &Decap, frame: &[u8]) {
    match decap.read(frame) {
        Arrived::Inner(Inner { frame: inner, is_bare, network, is_congested, .. }) => {
            assert!(inner.len() > ETHERNET && inner.len() < frame.len());
            let inside = Inside { frame: inner, is_bare, network, is_congested, is_unfinished: false };
            assert!(tcp::flow_owner_inside(&inside, 3).is_none_or(|owner| owner < 3));
            let numbered = tcp::numbered_owner_inside(&inside, &crate::segment::everywhere(), 3);
            assert!(numbered.is_none_or(|owner| owner < 3));
        }
        Arrived::Echo(answer) => assert!(answer.len() <= frame.len().max(60) + 2),
        Arrived::Foreign | Arrived::Unknown | Arrived::Malformed => {}
    }
}

fn tunnel(kind: u8, v6: bool) -> Tunnel {
    let teids = |first| Teids {
        first,
        clients: vec![IpAddr::from([10, 0, 0, 1])..=IpAddr::from([10, 0, 0, 200])],
        clients_here: kind & 8 != 0,
    };
    let kind = match kind % 7 {
        0 => TunnelKind::Vxlan { vni: 7 },
        1 => TunnelKind::Geneve { vni: 7 },
        2 => TunnelKind::Gre { key: None, ethernet: false },
        3 => TunnelKind::Gre { key: Some(7), ethernet: true },
        4 => TunnelKind::Ip,
        5 => TunnelKind::Gtpu { send: teids(9), receive: teids(9), qos_flow: None },
        _ => {
            let any = Teids { first: 9, clients: Vec::new(), clients_here: true };
            TunnelKind::Gtpu { send: any.clone(), receive: any, qos_flow: Some((1, 9)) }
        }
    };
    let own = if v6 { IpAddr::from([0x2001, 0xdb8, 0, 0, 0, 0, 0, 1]) } else { IpAddr::from([192, 0, 2, 1]) };
    let udp_port = kind.udp_port().unwrap_or(0);
    Tunnel { kind, from: own, to: own, dscp: 0, ttl: 64, udp_port, source_port: None }
}

/// Inputs to start from: each kind over both versions, around a packet of each.
pub fn seeds() -> Vec<Vec<u8>> {
    let v4 = [
        &[2; 12][..],
        &[8, 0, 0x45, 0, 0, 28, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 5, 10, 0, 0, 9],
        &[0; 8],
    ];
    let v6 = [&[2; 12][..], &[0x86, 0xdd, 0x60, 0, 0, 0, 0, 8, 17, 64], &[0x20; 32], &[0; 8]];
    let mut seeds = Vec::new();
    for (kind, how) in (0..7).flat_map(|kind| [0, 2, 4, 6].map(|how| (kind, how))) {
        for inner in [v4.concat(), v6.concat()] {
            for (at, value) in [(255, 0), (16, 0xff), (39, 9), (42, 0x37), (45, 0), (46, 1)] {
                seeds.push([&[kind, how, at, value], &inner[..]].concat());
            }
        }
        seeds.push(vec![kind, how | 1, 0, 0]);
    }
    seeds
}
