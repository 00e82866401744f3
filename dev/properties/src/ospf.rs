//! OSPF packets of any bytes from a neighbour: they are read within bounds, and a router survives them all.
//!
//! The first byte of an input selects the network type of the router's link, the neighbour's state: unknown, detected,
//! in the exchange, or full, and the version. The rest are packets, each after its type and two bytes with its length.
//! They have right headers and checksums around the input's content, or else nothing would be read.

use crate::routers::Port;
use ::ospf::{
    Authentication, LsaContents, LsaContents3, NetworkType, RouteKind, RouteRange, Router, RouterConfig,
    Shape, Topology, Version, may_concern,
};
use linkstate::Router as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use units::{Nanos, Schedule};
use wire::checksum;

/// LSAs that the router keeps.
const KEPT: u32 = 4;
const THEIRS: [u8; 4] = [10, 0, 0, 1];
const OURS: [u8; 4] = [10, 0, 0, 2];
/// Higher than the router's: the neighbour leads the exchange.
const THEIR_ID: [u8; 4] = [9, 9, 9, 9];
const OUR_ID: [u8; 4] = [1, 1, 1, 1];
const THEIRS_V6: [u8; 16] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const OURS_V6: [u8; 16] = [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    let _ = may_concern(data);
    let Some((how, mut rest)) = data.split_first() else { return };
    let version = if how & 8 != 0 { Version::V3 } else { Version::V2 };
    let is_broadcast = how & 1 != 0;
    let mut port = Port::<Router>::new(router(version, is_broadcast), 20_000, may_concern);
    port.routers.take(port.now, data);
    reach(&mut port, version, is_broadcast, how >> 1 & 3);
    let before = port.sent;
    let mut packets = 0;
    while let [kind, high, low, behind @ ..] = rest {
        let len = usize::from(u16::from_be_bytes([*high, *low])).min(behind.len());
        port.take(&frame_of(version, *kind, &behind[..len]));
        (rest, packets) = (&behind[len..], packets + 1);
    }
    port.pass(Nanos::from_secs(20));
    let counts = port.routers.counts();
    let database = port.routers.router(0).database();
    assert!(database.kept() <= KEPT as usize && database.known(port.now).count() == database.kept());
    for lsa in database.known(port.now) {
        let (kind, room) = (lsa.header.key.kind, lsa.body.len());
        if let Some(LsaContents::Router(links)) = LsaContents::read(kind, lsa.body) {
            assert!(links.len() <= room / 12);
        }
        match LsaContents3::read(kind, lsa.body) {
            Some(LsaContents3::Router(links)) => assert!(links.len() <= room / 16),
            Some(LsaContents3::IntraAreaPrefix(prefixes)) => assert!(prefixes.len() <= room / 4),
            Some(LsaContents3::Link(_, prefixes)) => assert!(prefixes.len() <= room / 4),
            _ => {}
        }
    }
    assert!(
        port.routers.router(0).held().all() <= data.len() as u64 / 20 + 2,
        "an LSA has 20 bytes at least"
    );
    assert!(counts.received.all() <= data.len() as u64 / 20 + 2);
    // Nobody makes it say much more than it was told: what is asked for is a packet of what it has, and all of it is repeated at times.
    let bound = 40 + 8 * (packets + data.len() as u64 / 12 + 20);
    assert!(port.sent - before <= bound, "{} frames for {packets} packets", port.sent - before);
    port.end();
}

fn router(version: Version, is_broadcast: bool) -> RouterConfig {
    let is_v3 = version == Version::V3;
    let range = |kind, first: [u8; 4], count| RouteRange {
        name: String::new(),
        kind,
        first: match version {
            Version::V2 => first.into(),
            Version::V3 => Ipv6Addr::from(u128::from(u32::from_be_bytes(first)) << 96).into(),
        },
        prefix_len: 24,
        count,
        step: 1,
        same: false,
        metric: 20,
        tag: 0,
        schedule: Schedule::default(),
    };
    let routes = [
        range(RouteKind::External2, [16, 0, 0, 0], 100),
        range(RouteKind::Internal, [20, 0, 0, 0], 9),
        range(RouteKind::InterArea, [16, 0, 0, 0], 5),
    ];
    RouterConfig {
        name: String::new(),
        version,
        host: 0,
        local: if is_v3 { IpAddr::from(OURS_V6) } else { IpAddr::from(OURS) },
        link_local: if is_v3 { OURS_V6.into() } else { Ipv6Addr::UNSPECIFIED },
        instance: 0,
        prefix_len: 24,
        id: OUR_ID.into(),
        area: Ipv4Addr::UNSPECIFIED,
        network: if is_broadcast { NetworkType::Broadcast } else { NetworkType::PointToPoint },
        hello_s: 10,
        dead_s: 40,
        cost: 10,
        mtu: None,
        any_mtu: false,
        authentication: Authentication::None,
        refresh_s: 1_800,
        number: 0,
        routes: routes.into(),
        topology: Some(Topology { shape: Shape::Ring, routers: 3, cost: 5, first: [2, 0, 0, 1].into() }),
        keep: KEPT,
    }
}

/// Brings the router to the state `steps`.
fn reach(port: &mut Port<Router>, version: Version, is_broadcast: bool, steps: u8) {
    let mut say = |kind, body: &[u8]| port.take(&frame_of(version, kind, body));
    if steps >= 1 {
        // The neighbour's designated router: itself on a broadcast network, by its address or its identifier.
        let own = if version == Version::V3 { THEIR_ID } else { THEIRS };
        say(1, &hello(version, if is_broadcast { own } else { [0; 4] }, true));
    }
    if steps >= 2 {
        // The neighbour leads; the router describes all in one packet.
        say(2, &description(version, 7, 77, &[]));
        say(2, &description(version, 3, 78, &[]));
    }
    if steps >= 3 {
        say(2, &description(version, 1, 79, &[]));
        assert_eq!(port.routers.up(), 1, "{:?}", port.routers.router(0).failure());
    }
}

fn frame_of(version: Version, kind: u8, body: &[u8]) -> Vec<u8> {
    match version {
        Version::V2 => frame(kind, body),
        Version::V3 => frame_v3(kind, body),
    }
}

/// A frame of the neighbour to the router, with a right packet around `body`.
fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let len = (24 + body.len()) as u16;
    let mut packet = vec![2, kind];
    packet.extend(len.to_be_bytes());
    packet.extend(THEIR_ID);
    packet.extend([0; 16]);
    packet.extend(body);
    let sum = checksum::finish(checksum::sum(&packet, 0));
    packet[12..14].copy_from_slice(&sum.to_be_bytes());
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0, 0x45, 0xc0];
    frame.extend((20 + len).to_be_bytes());
    frame.extend([0, 0, 0, 0, 1, 89, 0, 0]);
    frame.extend(THEIRS);
    frame.extend(OURS);
    frame.extend(packet);
    frame
}

/// The same of OSPFv3.
fn frame_v3(kind: u8, body: &[u8]) -> Vec<u8> {
    let len = (16 + body.len()) as u16;
    let mut packet = vec![3, kind];
    packet.extend(len.to_be_bytes());
    packet.extend(THEIR_ID);
    packet.extend([0; 8]);
    packet.extend(body);
    let pseudo = checksum::sum(&[THEIRS_V6, OURS_V6].concat(), u64::from(len) + 89);
    let sum = checksum::finish(checksum::sum(&packet, pseudo));
    packet[12..14].copy_from_slice(&sum.to_be_bytes());
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 0x86, 0xdd, 0x60, 0, 0, 0];
    frame.extend(len.to_be_bytes());
    frame.extend([89, 1]);
    frame.extend(THEIRS_V6);
    frame.extend(OURS_V6);
    frame.extend(packet);
    frame
}

fn hello(version: Version, designated: [u8; 4], hears: bool) -> Vec<u8> {
    let mut body = match version {
        Version::V2 => vec![255, 255, 255, 0, 0, 10, 2, 1, 0, 0, 0, 40],
        Version::V3 => vec![0, 0, 0, 7, 1, 0, 0, 0x13, 0, 10, 0, 40],
    };
    body.extend(designated);
    body.extend([0; 4]);
    body.extend(if hears { &OUR_ID[..] } else { &[] });
    body
}

fn description(version: Version, flags: u8, sequence: u32, headers: &[u8]) -> Vec<u8> {
    let first = match version {
        Version::V2 => &[5, 220, 2, flags][..],
        Version::V3 => &[0, 0, 0, 0x13, 5, 220, 0, flags],
    };
    [first, &sequence.to_be_bytes(), headers].concat()
}

/// An LSA with a right checksum, of any type and router.
///
/// `kind` is what follows the age: options and type, or the type of OSPFv3.
fn lsa(age: u16, kind: u16, id: [u8; 4], router: [u8; 4], sequence: u32, body: &[u8]) -> Vec<u8> {
    let mut lsa = age.to_be_bytes().to_vec();
    lsa.extend(kind.to_be_bytes());
    lsa.extend(id);
    lsa.extend(router);
    lsa.extend(sequence.to_be_bytes());
    lsa.extend([0, 0]);
    lsa.extend(((20 + body.len()) as u16).to_be_bytes());
    lsa.extend(body);
    let sums = |bytes: &[u8]| {
        bytes.iter().fold((0u32, 0u32), |(a, b), byte| {
            let a = (a + u32::from(*byte)) % 255;
            (a, (b + a) % 255)
        })
    };
    // The only two bytes with which both sums are zero.
    let right = (0..=u16::MAX).find(|sum| {
        lsa[16..18].copy_from_slice(&sum.to_be_bytes());
        sums(&lsa[2..]) == (0, 0)
    });
    assert!(right.is_some(), "every LSA has a checksum");
    lsa
}

fn update(lsas: &[Vec<u8>]) -> Vec<u8> {
    [&(lsas.len() as u32).to_be_bytes()[..], &lsas.concat()].concat()
}

/// Packets of all types, good and bad ones, in all states.
pub fn seeds() -> Vec<Vec<u8>> {
    let network = [255, 255, 255, 0, 9, 9, 9, 9, 1, 1, 1, 1];
    let link = [0, 0, 0, 1, 1, 1, 1, 1, 10, 0, 0, 1, 1, 0, 0, 10];
    let external = [255, 255, 255, 0, 0x80, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0, 0];
    let first = 0x8000_0001;
    let theirs = lsa(1, 0x0201, THEIR_ID, THEIR_ID, first, &link);
    let foreign = lsa(1, 0x0205, [30, 0, 0, 0], [8, 8, 8, 8], first, &external);
    let flushed = lsa(3_600, 0x0205, [30, 0, 0, 0], [8, 8, 8, 8], first, &external);
    let newer = lsa(1, 0x0205, [16, 0, 3, 0], OUR_ID, 0x8000_0099, &external);
    let summary = lsa(1, 0x0203, [16, 0, 3, 0], OUR_ID, 0x8000_0099, &[255, 255, 255, 0, 0, 0, 0, 9]);
    let stray = lsa(1, 0x0205, [77, 0, 3, 0], OUR_ID, first, &external);
    let last = lsa(1, 0x0201, OUR_ID, OUR_ID, 0x7fff_ffff, &link);
    let request = |kind: u8, id: [u8; 4], router: [u8; 4]| [&[0, 0, 0, kind][..], &id, &router].concat();
    let described = [&newer[..20], &stray[..20], &foreign[..20], &theirs[..20]].concat();
    let packets: Vec<Vec<(u8, Vec<u8>)>> = vec![
        vec![
            (1, hello(Version::V2, [0; 4], true)),
            (1, hello(Version::V2, [0; 4], false)),
            (1, hello(Version::V2, THEIRS, true)),
        ],
        vec![
            (2, description(Version::V2, 7, 5, &[])),
            (2, description(Version::V2, 3, 6, &described)),
            (2, description(Version::V2, 1, 7, &[])),
        ],
        vec![
            (2, description(Version::V2, 3, 79, &described)),
            (2, description(Version::V2, 1, 80, &[])),
            (4, update(&[foreign.clone(), theirs.clone()])),
        ],
        vec![(2, description(Version::V2, 0, 1, &described)), (2, description(Version::V2, 7, 1, &[]))],
        vec![
            (3, request(5, [16, 0, 9, 0], OUR_ID)),
            (3, request(1, OUR_ID, OUR_ID)),
            (3, request(5, [99, 0, 0, 0], OUR_ID)),
        ],
        vec![(4, update(&[theirs, foreign.clone(), flushed.clone(), foreign])), (4, update(&[flushed]))],
        vec![
            (4, update(&[newer.clone(), stray.clone(), summary])),
            (5, [&newer[..20], &stray[..20]].concat()),
        ],
        vec![(4, update(&[lsa(1, 0x0202, THEIRS, THEIR_ID, first, &network)])), (4, update(&[last]))],
        vec![
            (4, vec![0xff; 60]),
            (4, vec![0, 0, 0, 9]),
            (5, vec![0; 40]),
            (3, vec![0xff; 24]),
            (9, vec![1]),
            (2, vec![0xff; 28]),
        ],
    ];
    in_all_states(packets, 0..8).chain(in_all_states(packets_v3(), 8..16)).collect()
}

/// The same of OSPFv3.
fn packets_v3() -> Vec<Vec<(u8, Vec<u8>)>> {
    let description = |flags, sequence, headers: &[u8]| description(Version::V3, flags, sequence, headers);
    let hello = |designated, hears| hello(Version::V3, designated, hears);
    let (first, none) = (0x8000_0001, [0; 4]);
    let link = [0, 0, 0, 0x13, 1, 0, 0, 10, 0, 0, 0, 7, 0, 0, 0, 1, 1, 1, 1, 1];
    let external = [4, 0, 0, 20, 48, 0, 0, 0, 0x20, 1, 0xd, 0xb8, 0, 9, 0, 0];
    let prefixes = [0, 2, 0x20, 1, 0, 0, 0, 0, 9, 9, 9, 9, 0, 0, 0, 1, 32, 0, 0, 1, 0x20, 1, 0xd, 0xb8];
    let theirs = lsa(1, 0x2001, none, THEIR_ID, first, &link);
    let local =
        [&[1, 0, 0, 0x13][..], &THEIRS_V6, &[0, 0, 0, 1, 64, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]].concat();
    let local = lsa(1, 0x0008, [0, 0, 0, 7], THEIR_ID, first, &local);
    let inside = lsa(1, 0x2009, none, THEIR_ID, first, &prefixes);
    let network = lsa(1, 0x2002, [0, 0, 0, 7], THEIR_ID, first, &[0, 0, 0, 0x13, 9, 9, 9, 9, 1, 1, 1, 1]);
    let foreign = lsa(1, 0x4005, [0, 0, 0, 9], [8, 8, 8, 8], first, &external);
    let flushed = lsa(3_600, 0x4005, [0, 0, 0, 9], [8, 8, 8, 8], first, &external);
    let newer = lsa(1, 0x4005, [0, 0, 0, 4], OUR_ID, 0x8000_0099, &external);
    let stray = lsa(1, 0x2003, [0, 0, 9, 9], OUR_ID, first, &[0, 0, 0, 9, 0, 0, 0, 0]);
    let unknown = lsa(1, 0xa00c, none, THEIR_ID, first, &[1, 2, 3, 4]);
    let reserved = lsa(1, 0x6001, none, THEIR_ID, first, &[]);
    let own = [
        lsa(1, 0x2009, none, OUR_ID, 0x8000_0050, &prefixes),
        lsa(1, 0x0008, [0, 0, 0, 1], OUR_ID, first, &[]),
    ];
    let request = |kind: u16, id: [u8; 4]| [&[0, 0][..], &kind.to_be_bytes(), &id, &OUR_ID].concat();
    let described = [&newer[..20], &stray[..20], &foreign[..20], &theirs[..20], &unknown[..20]].concat();
    vec![
        vec![(1, hello(none, true)), (1, hello(none, false)), (1, hello(THEIR_ID, true))],
        vec![(2, description(7, 5, &[])), (2, description(3, 6, &described)), (2, description(1, 7, &[]))],
        vec![
            (2, description(3, 79, &described)),
            (2, description(1, 80, &[])),
            (4, update(&[foreign.clone(), theirs.clone(), unknown])),
        ],
        vec![
            (3, request(0x4005, [0, 0, 0, 100])),
            (3, request(0x2001, none)),
            (3, request(0x4005, [0, 0, 0, 101])),
        ],
        vec![(4, update(&[theirs, local, inside, network, foreign, flushed]))],
        vec![(4, update(&[newer.clone(), stray.clone()])), (5, [&newer[..20], &stray[..20]].concat())],
        vec![(4, update(&own)), (4, update(&[reserved]))],
        vec![(4, vec![0xff; 60]), (5, vec![0; 40]), (9, vec![1]), (2, vec![0xff; 32]), (1, vec![0; 19])],
    ]
}

/// Inputs with these packets, with each of these first bytes.
fn in_all_states(
    packets: Vec<Vec<(u8, Vec<u8>)>>,
    all: std::ops::Range<u8>,
) -> impl Iterator<Item = Vec<u8>> {
    packets.into_iter().flat_map(move |packets| {
        all.clone().map(move |how| {
            let bytes = packets
                .iter()
                .flat_map(|(kind, body)| [&[*kind][..], &(body.len() as u16).to_be_bytes(), body].concat());
            std::iter::once(how).chain(bytes).collect()
        })
    })
}
