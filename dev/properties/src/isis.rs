//! IS-IS PDUs of any bytes from a neighbour: they are read within bounds, and a router survives them all.
//!
//! The first byte of an input selects the network type of the router's link, and whether there is an adjacency already.
//! The rest are PDUs, each after its type and two bytes with its length. They have right headers, lengths and checksums
//! around the input's content, or else nothing would be read.

use crate::routers::Port;
use ::isis::{
    Levels, NetworkType, RouteKind, RouteRange, Router, RouterConfig, Shape, SystemId, Topology, may_concern,
};
use linkstate::Router as _;
use units::{Nanos, Schedule};

/// LSPs that the router keeps.
const KEPT: u32 = 4;
const THEIRS: [u8; 6] = [2, 0, 0, 0, 0, 1];
const OURS: [u8; 6] = [2, 0, 0, 0, 0, 2];
const THEIR_ID: [u8; 6] = [0, 0, 0, 0, 0, 9];
const OUR_ID: [u8; 6] = [0, 0, 0, 0, 0, 1];
/// Kinds of PDUs of level 2.
const LAN_HELLO: u8 = 16;
const P2P_HELLO: u8 = 17;
const LSP: u8 = 20;
const CSNP: u8 = 25;
const PSNP: u8 = 27;

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    let _ = may_concern(data);
    let Some((how, mut rest)) = data.split_first() else { return };
    let is_lan = how & 1 != 0;
    let mut port = Port::<Router>::new(router(is_lan), 1_000, may_concern);
    port.routers.take(port.now, data);
    if how & 2 != 0 {
        let (kind, hello) =
            if is_lan { (LAN_HELLO, lan_hello(true)) } else { (P2P_HELLO, p2p_hello(1, true)) };
        port.take(&frame(kind, &hello));
        assert_eq!(port.routers.up(), 1, "{:?}", port.routers.router(0).failure());
    }
    let before = port.sent;
    let mut pdus = 0;
    while let [kind, high, low, behind @ ..] = rest {
        let len = usize::from(u16::from_be_bytes([*high, *low])).min(behind.len()).min(1_400);
        port.take(&frame(*kind, &behind[..len]));
        (rest, pdus) = (&behind[len..], pdus + 1);
    }
    port.pass(Nanos::from_secs(20));
    let (counts, now) = (port.routers.counts(), port.now);
    for (_, database) in port.routers.router(0).databases() {
        assert!(database.kept() <= KEPT as usize && database.known(now).count() == database.kept());
        // A TLV has two bytes at least.
        assert!(database.known(now).all(|lsp| ::isis::parts(lsp.body).count() <= lsp.body.len() / 2));
        assert!(database.len() as u64 <= pdus + 2);
    }
    assert!(counts.received.all() <= pdus + 2);
    // Nobody makes it say much more than it was told: a PDU is answered by those of its LSPs that it lacks, all are repeated at times.
    let bound = 200 + 16 * (pdus + data.len() as u64 / 8);
    assert!(port.sent - before <= bound, "{} frames for {pdus} PDUs", port.sent - before);
    port.end();
}

fn router(is_lan: bool) -> RouterConfig {
    let range = |kind, first: &str, prefix_len, count| RouteRange {
        name: String::new(),
        kind,
        first: first.parse().expect("an address"),
        prefix_len,
        count,
        step: 1,
        same: false,
        metric: 20,
        down: false,
        schedule: Schedule::default(),
    };
    let routes = [
        range(RouteKind::Internal, "16.0.0.0", 24, 400),
        range(RouteKind::External, "2001:db8::", 48, 9),
        range(RouteKind::Generated, "20.0.0.0", 24, 9),
    ];
    RouterConfig {
        name: String::new(),
        host: 0,
        local: [10, 0, 0, 2].into(),
        prefix_len: 24,
        ipv6: None,
        link_local: Some("fe80::2".parse().expect("an address")),
        system: SystemId(OUR_ID),
        area: "49.0001".parse().expect("an area"),
        levels: Levels::Two,
        network: if is_lan { NetworkType::Broadcast } else { NetworkType::PointToPoint },
        priority: 0,
        hello_s: 3,
        hold_s: 30,
        metric: 10,
        mtu: None,
        padding: true,
        hostname: "edge".to_owned(),
        overload: true,
        attached: true,
        te_router_id: Some([192, 0, 2, 9].into()),
        lifetime_s: isis::MAX_AGE_S,
        refresh_s: isis::REFRESH_S,
        password: None,
        lsp_password: None,
        number: 0,
        routes: routes.into(),
        topology: Some(Topology {
            shape: Shape::Ring,
            routers: 3,
            metric: 5,
            first: SystemId([0, 0, 0, 0, 0x20, 1]),
        }),
        keep: KEPT,
    }
}

/// A frame of the neighbour with a PDU around `body`, whose length and checksum are right if it is long enough to have them.
fn frame(kind: u8, body: &[u8]) -> Vec<u8> {
    let (header, len_at) = match kind & 31 {
        15 | LAN_HELLO => (27, 17),
        P2P_HELLO => (20, 17),
        18 | LSP => (27, 8),
        24 | CSNP => (33, 8),
        _ => (17, 8),
    };
    let mut pdu = vec![0x83, header, 1, 0, kind, 1, 0, 0];
    pdu.extend(body);
    let len = (pdu.len() as u16).to_be_bytes();
    if let Some(place) = pdu.get_mut(len_at..len_at + 2) {
        place.copy_from_slice(&len);
    }
    if matches!(kind & 31, 18 | LSP) && pdu.len() >= 27 {
        let sums = |bytes: &[u8]| {
            bytes.iter().fold((0u32, 0u32), |(a, b), byte| {
                let a = (a + u32::from(*byte)) % 255;
                (a, (b + a) % 255)
            })
        };
        // The two bytes with which both sums are zero.
        pdu[24..26].fill(0);
        let (c0, c1) = sums(&pdu[12..]);
        let behind = (pdu.len() - 12 - 12 - 1) as i64;
        let x = (behind * i64::from(c0) - i64::from(c1)).rem_euclid(255) as u8;
        let y = (i64::from(c1) - (behind + 1) * i64::from(c0)).rem_euclid(255) as u8;
        pdu[24..26].copy_from_slice(&[x, y]);
        assert_eq!(sums(&pdu[12..]), (0, 0), "every LSP has a checksum");
    }
    let mut frame = vec![9, 0, 0x2b, 0, 0, 5];
    frame.extend(THEIRS);
    frame.extend(((pdu.len() + 3) as u16).to_be_bytes());
    frame.extend([0xfe, 0xfe, 3]);
    frame.extend(pdu);
    frame
}

const AREAS: [u8; 6] = [1, 4, 3, 0x49, 0, 1];

fn p2p_hello(state: u8, names_us: bool) -> Vec<u8> {
    let mut body = vec![2];
    body.extend(THEIR_ID);
    body.extend([0, 30, 0, 0, 1]);
    body.extend(AREAS);
    body.extend([240, if names_us { 15 } else { 5 }, state, 0, 0, 0, 7]);
    if names_us {
        body.extend(OUR_ID);
        body.extend([0, 0, 0, 1]);
    }
    body
}

fn lan_hello(hears: bool) -> Vec<u8> {
    let mut body = vec![2];
    body.extend(THEIR_ID);
    body.extend([0, 30, 0, 0, 64]);
    body.extend(THEIR_ID);
    body.push(1);
    body.extend(AREAS);
    if hears {
        body.extend([6, 6]);
        body.extend(OURS);
    }
    body
}

fn id(system: [u8; 6], pseudonode: u8, fragment: u8) -> [u8; 8] {
    let [a, b, c, d, e, f] = system;
    [a, b, c, d, e, f, pseudonode, fragment]
}

fn lsp(lifetime: u16, id: [u8; 8], sequence: u32, tlvs: &[u8]) -> Vec<u8> {
    [&[0, 0][..], &lifetime.to_be_bytes(), &id, &sequence.to_be_bytes(), &[0, 0, 3], tlvs].concat()
}

fn entry(lifetime: u16, id: [u8; 8], sequence: u32) -> Vec<u8> {
    [&lifetime.to_be_bytes()[..], &id, &sequence.to_be_bytes(), &[7, 7]].concat()
}

fn snp(range: Option<([u8; 8], [u8; 8])>, entries: &[Vec<u8>]) -> Vec<u8> {
    let mut body = vec![0, 0];
    body.extend(THEIR_ID);
    body.push(0);
    range.iter().for_each(|(from, to)| body.extend([*from, *to].concat()));
    for some in entries.chunks(15) {
        body.extend([9, (16 * some.len()) as u8]);
        body.extend(some.concat());
    }
    body
}

/// PDUs of all types, good and bad ones, on both kinds of links, with an adjacency and without.
pub fn seeds() -> Vec<Vec<u8>> {
    let (first, last) = ([0; 8], [0xff; 8]);
    let link = [&[22, 11][..], &OUR_ID, &[0, 0, 0, 10, 0]].concat();
    let narrow = [&[2, 12, 0, 10, 0x80, 0x80, 0x80][..], &OUR_ID, &[0]].concat();
    let theirs = lsp(900, id(THEIR_ID, 0, 0), 1, &link);
    let stray = id(OUR_ID, 3, 9);
    let packets: Vec<Vec<(u8, Vec<u8>)>> = vec![
        vec![
            (P2P_HELLO, p2p_hello(2, false)),
            (P2P_HELLO, p2p_hello(1, true)),
            (P2P_HELLO, p2p_hello(0, true)),
            (P2P_HELLO, p2p_hello(2, false)),
        ],
        vec![(LAN_HELLO, lan_hello(false)), (LAN_HELLO, lan_hello(true)), (LAN_HELLO, lan_hello(false))],
        vec![
            (LSP, theirs),
            (LSP, lsp(900, id(THEIR_ID, 1, 0), 1, &narrow)),
            (LSP, lsp(0, id(THEIR_ID, 1, 0), 1, &[])),
        ],
        vec![
            (LSP, lsp(900, id(OUR_ID, 0, 0), 0xffff_ffff, &link)),
            (LSP, lsp(900, id(OUR_ID, 0, 200), 7, &[])),
            (LSP, lsp(900, stray, 7, &[])),
        ],
        vec![
            (LSP, lsp(0, id(OUR_ID, 0, 1), 0x99, &[])),
            (LSP, lsp(900, id([0, 0, 0, 0, 0x20, 2], 0, 0), 8, &[])),
        ],
        vec![
            (CSNP, snp(Some((first, last)), &[])),
            (CSNP, snp(Some((last, first)), &[entry(900, id(THEIR_ID, 0, 0), 5)])),
        ],
        vec![(
            CSNP,
            snp(
                Some((first, last)),
                &[entry(900, id(OUR_ID, 0, 0), 5), entry(900, stray, 5), entry(9, id([8; 6], 0, 0), 2)],
            ),
        )],
        vec![(
            PSNP,
            snp(None, &[entry(0, id(OUR_ID, 0, 1), 0), entry(0, id(OUR_ID, 0, 2), 1), entry(900, stray, 1)]),
        )],
        vec![
            (LSP, vec![0xff; 60]),
            (CSNP, vec![0; 25]),
            (PSNP, vec![0xff; 40]),
            (9, vec![1]),
            (LAN_HELLO, vec![0xff; 19]),
            (P2P_HELLO, vec![1; 30]),
        ],
        vec![
            (LSP, lsp(900, id([5; 6], 0, 0), 1, &[22, 255, 1, 2, 3])),
            (LSP, lsp(900, id(THEIR_ID, 1, 0), 2, &[22, 11, 0, 0, 0, 0, 0, 1, 0, 0, 0, 9, 255])),
        ],
    ];
    let inputs = packets.into_iter().flat_map(|packets| {
        (0..4u8).map(move |how| {
            let bytes = packets
                .iter()
                .flat_map(|(kind, body)| [&[*kind][..], &(body.len() as u16).to_be_bytes(), body].concat());
            std::iter::once(how).chain(bytes).collect()
        })
    });
    inputs.collect()
}
