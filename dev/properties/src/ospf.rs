//! OSPF packets of any bytes from a neighbour: they are read within bounds, and a router survives them all.
//!
//! The first byte of an input says what the router's link is and how far it is with the neighbour: unknown, heard, in the exchange, or
//! full. The rest are packets, each behind its type and two bytes with its length. They have right headers and checksums around what the
//! input says, or else nothing would be read.

use ::ospf::{
    Authentication, LsaContents, NetworkType, OspfHost, RouteKind, RouteRange, RouterConfig, Routers,
    RoutersConfig, Shape, Topology, may_concern,
};
use std::net::Ipv4Addr;
use units::{Nanos, Schedule};
use wire::checksum;

/// LSAs that the router keeps.
const KEPT: u32 = 4;
const THEIRS: [u8; 4] = [10, 0, 0, 1];
const OURS: [u8; 4] = [10, 0, 0, 2];
/// Higher than the router's: the neighbour leads the exchange.
const THEIR_ID: [u8; 4] = [9, 9, 9, 9];
const OUR_ID: [u8; 4] = [1, 1, 1, 1];

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    let _ = may_concern(data);
    let Some((how, mut rest)) = data.split_first() else { return };
    let is_broadcast = how & 1 != 0;
    let mut link = Link::new(is_broadcast);
    link.routers.take(link.now, data);
    link.reach(how >> 1 & 3);
    let before = link.sent;
    let mut packets = 0;
    while let [kind, high, low, behind @ ..] = rest {
        let len = usize::from(u16::from_be_bytes([*high, *low])).min(behind.len());
        link.say(*kind, &behind[..len]);
        (rest, packets) = (&behind[len..], packets + 1);
    }
    link.pass(Nanos::from_secs(20));
    let counts = link.routers.counts();
    let database = link.routers.database(0);
    assert!(database.kept() <= KEPT as usize && database.known(link.now).count() == database.kept());
    for lsa in database.known(link.now) {
        if let Some(LsaContents::Router(links)) = LsaContents::read(lsa.header.key.kind, lsa.body) {
            assert!(links.len() <= lsa.body.len() / 12);
        }
    }
    assert!(database.counts().all() <= data.len() as u64 / 20 + 2, "an LSA has 20 bytes at least");
    assert!(counts.received.all() <= data.len() as u64 / 20 + 2);
    // Nobody makes it say much more than it was told: what is asked for is a packet of what it has, and all of it is repeated at times.
    let bound = 40 + 8 * (packets + data.len() as u64 / 12 + 20);
    assert!(link.sent - before <= bound, "{} frames for {packets} packets", link.sent - before);
    // It is still there, and can be ended.
    link.routers.shut(link.now);
    link.pass(Nanos::from_secs(4));
    assert!(link.routers.is_over());
}

/// A router, and what its neighbour sends.
struct Link {
    routers: Routers,
    now: Nanos,
    sent: u64,
    /// The neighbour's designated router: itself on a broadcast network.
    designated: [u8; 4],
}

impl Link {
    fn new(is_broadcast: bool) -> Self {
        let range = |kind, first: [u8; 4], count| RouteRange {
            name: String::new(),
            kind,
            first: first.into(),
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
        let config = RouterConfig {
            name: String::new(),
            host: 0,
            local: OURS.into(),
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
        };
        let hosts = vec![OspfHost { mac: [2, 0, 0, 0, 0, 2], vlans: Vec::new(), mtu: 1_500 }];
        let mut routers = Routers::new(RoutersConfig { hosts, routers: vec![config], rate: 20_000, seed: 1 });
        let now = Nanos::from_secs(1);
        routers.begin(now, 1);
        let designated = if is_broadcast { THEIRS } else { [0; 4] };
        let mut link = Self { routers, now, sent: 0, designated };
        link.pass(Nanos::from_millis(10));
        link
    }

    /// Takes the router as far as `steps` say.
    fn reach(&mut self, steps: u8) {
        if steps >= 1 {
            self.say(1, &hello(self.designated, true));
        }
        if steps >= 2 {
            // The neighbour leads; the router describes all in one packet.
            self.say(2, &description(7, 77, &[]));
            self.say(2, &description(3, 78, &[]));
        }
        if steps >= 3 {
            self.say(2, &description(1, 79, &[]));
            assert_eq!(self.routers.full(), 1, "{:?}", self.routers.failure(0));
        }
    }

    fn say(&mut self, kind: u8, body: &[u8]) {
        let frame = frame(kind, body);
        assert!(may_concern(&frame));
        assert!(self.routers.take(self.now, &frame));
        self.pass(Nanos::from_millis(5));
    }

    fn pass(&mut self, span: Nanos) {
        let end = self.now + span;
        loop {
            let mut frames = Vec::new();
            self.routers.poll(self.now, &mut frames);
            for frame in &frames {
                assert!(may_concern(frame) && frame.len() <= 1_514, "{} bytes", frame.len());
            }
            self.sent += frames.len() as u64;
            let due = self.routers.next_due().max(Nanos(self.now.0 + 1));
            if due > end {
                self.now = end;
                return;
            }
            self.now = due;
        }
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

fn hello(designated: [u8; 4], hears: bool) -> Vec<u8> {
    let mut body = vec![255, 255, 255, 0, 0, 10, 2, 1, 0, 0, 0, 40];
    body.extend(designated);
    body.extend([0; 4]);
    body.extend(if hears { &OUR_ID[..] } else { &[] });
    body
}

fn description(flags: u8, sequence: u32, headers: &[u8]) -> Vec<u8> {
    [&[5, 220, 2, flags][..], &sequence.to_be_bytes(), headers].concat()
}

/// An LSA with a right checksum, of any type and router.
fn lsa(age: u16, kind: u8, id: [u8; 4], router: [u8; 4], sequence: u32, body: &[u8]) -> Vec<u8> {
    let mut lsa = age.to_be_bytes().to_vec();
    lsa.extend([2, kind]);
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
    let theirs = lsa(1, 1, THEIR_ID, THEIR_ID, first, &link);
    let foreign = lsa(1, 5, [30, 0, 0, 0], [8, 8, 8, 8], first, &external);
    let flushed = lsa(3_600, 5, [30, 0, 0, 0], [8, 8, 8, 8], first, &external);
    let newer = lsa(1, 5, [16, 0, 3, 0], OUR_ID, 0x8000_0099, &external);
    let summary = lsa(1, 3, [16, 0, 3, 0], OUR_ID, 0x8000_0099, &[255, 255, 255, 0, 0, 0, 0, 9]);
    let stray = lsa(1, 5, [77, 0, 3, 0], OUR_ID, first, &external);
    let last = lsa(1, 1, OUR_ID, OUR_ID, 0x7fff_ffff, &link);
    let request = |kind: u8, id: [u8; 4], router: [u8; 4]| [&[0, 0, 0, kind][..], &id, &router].concat();
    let described = [&newer[..20], &stray[..20], &foreign[..20], &theirs[..20]].concat();
    let packets: Vec<Vec<(u8, Vec<u8>)>> = vec![
        vec![(1, hello([0; 4], true)), (1, hello([0; 4], false)), (1, hello(THEIRS, true))],
        vec![(2, description(7, 5, &[])), (2, description(3, 6, &described)), (2, description(1, 7, &[]))],
        vec![
            (2, description(3, 79, &described)),
            (2, description(1, 80, &[])),
            (4, update(&[foreign.clone(), theirs.clone()])),
        ],
        vec![(2, description(0, 1, &described)), (2, description(7, 1, &[]))],
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
        vec![(4, update(&[lsa(1, 2, THEIRS, THEIR_ID, first, &network)])), (4, update(&[last]))],
        vec![
            (4, vec![0xff; 60]),
            (4, vec![0, 0, 0, 9]),
            (5, vec![0; 40]),
            (3, vec![0xff; 24]),
            (9, vec![1]),
            (2, vec![0xff; 28]),
        ],
    ];
    let inputs = packets.into_iter().flat_map(|packets| {
        (0..8u8).map(move |how| {
            let bytes = packets
                .iter()
                .flat_map(|(kind, body)| [&[*kind][..], &(body.len() as u16).to_be_bytes(), body].concat());
            std::iter::once(how).chain(bytes).collect()
        })
    });
    inputs.collect()
}
