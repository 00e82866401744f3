//! Two systems and the links between them, with loss and delays that let LACPDUs overtake each other.

use super::message::PDU;
use super::*;
use crate::frame::Link;
use units::Nanos;

const SECOND: Nanos = Nanos::from_secs(1);

fn config(system: u8, port: u16) -> LacpConfig {
    LacpConfig {
        mac: [2, 0, 0, 0, system, port as u8],
        system: [2, 0, 0, 0, system, 1],
        system_priority: 32_768,
        key: 7,
        port,
        port_priority: 32_768,
        active: true,
        short_timeout: true,
    }
}

fn ports(system: u8, count: u16) -> Vec<LacpPort> {
    (1..=count).map(|port| LacpPort::new(config(system, port))).collect()
}

/// A frame on its way: when it arrives, to which side and link.
type Flight = (Nanos, usize, usize, Vec<u8>);

/// The links of two systems, the first of one with the first of the other and so on.
struct Links {
    sides: [Vec<LacpPort>; 2],
    flights: Vec<Flight>,
    now: Nanos,
    key: u64,
    drawn: u64,
    /// Percent of LACPDUs that are lost, and the longest delay.
    loss: u64,
    delay: Nanos,
    cut: Option<usize>,
    /// When each port sent.
    sent: [Vec<Vec<Nanos>>; 2],
}

impl Links {
    fn new(west: Vec<LacpPort>, east: Vec<LacpPort>) -> Self {
        let sent = [vec![Vec::new(); west.len()], vec![Vec::new(); east.len()]];
        let (sides, flights) = ([west, east], Vec::new());
        let delay = Nanos::from_micros(10);
        Self { sides, flights, now: SECOND, key: 1, drawn: 0, loss: 0, delay, cut: None, sent }
    }

    fn below(&mut self, span: u64) -> u64 {
        self.drawn += 1;
        random::below(random::word(self.key, self.drawn), span)
    }

    fn run(&mut self, time: Nanos) {
        let until = self.now.saturating_add(time);
        let mut turns = 0;
        while self.now <= until {
            turns += 1;
            assert!(turns < 100_000, "no time passes");
            let (due, later) =
                std::mem::take(&mut self.flights).into_iter().partition(|one| one.0 <= self.now);
            self.flights = later;
            let due: Vec<Flight> = due;
            for (_, side, link, frame) in due {
                assert!(crate::is_slow(&frame) && !crate::may_concern(&frame));
                assert!(self.sides[side][link].take(self.now, &frame));
            }
            for side in 0..2 {
                run_lag(self.now, &mut self.sides[side].iter_mut().collect::<Vec<_>>());
                for link in 0..self.sides[side].len() {
                    self.send(side, link);
                }
            }
            let due = self.sides.iter().flatten().map(LacpPort::next_due);
            let next = due.chain(self.flights.iter().map(|flight| flight.0)).min().unwrap();
            assert!(next >= self.now, "what is due is done");
            self.now = next.max(Nanos(self.now.0 + 1));
        }
        self.now = until;
    }

    fn send(&mut self, side: usize, link: usize) {
        let mut frames = Vec::new();
        self.sides[side][link].poll(self.now, &mut frames);
        for frame in frames {
            assert_eq!((frame.len(), &frame[..6]), (14 + PDU, &[1, 0x80, 0xc2, 0, 0, 2][..]));
            self.sent[side][link].push(self.now);
            if self.below(100) >= self.loss && self.cut != Some(link) {
                let delay = 1 + self.below(self.delay.0);
                self.flights.push((self.now.saturating_add(Nanos(delay)), 1 - side, link, frame));
            }
        }
    }

    fn up(&self) -> [usize; 2] {
        [0, 1].map(|side| self.sides[side].iter().filter(|port| port.is_up()).count())
    }

    fn trouble(&self, side: usize, link: usize) -> Option<LacpTrouble> {
        self.sides[side][link].trouble()
    }

    /// Both ends of each link know each other as they are.
    fn agree(&self) -> bool {
        let knows = |side: usize, link: usize| {
            self.sides[side][link].partner().copied() == Some(self.sides[1 - side][link].actor())
        };
        (0..self.sides[0].len()).all(|link| knows(0, link) && knows(1, link))
    }
}

#[test]
fn two_links_come_up_once_they_have_waited_for_each_other() {
    let mut links = Links::new(ports(1, 2), ports(2, 2));
    links.run(Nanos::from_millis(1_990));
    assert_eq!((links.up(), links.trouble(0, 0)), ([0, 0], Some(LacpTrouble::Waiting)));
    links.run(Nanos::from_millis(1_500));
    assert_eq!((links.up(), links.trouble(0, 0)), ([2, 2], None));
    links.run(Nanos::from_secs(3));
    assert!(links.agree());
    let port = &links.sides[0][0];
    let names: Vec<&str> = port.actor().state.names().collect();
    assert_eq!(
        names,
        ["activity", "timeout", "aggregation", "synchronization", "collecting", "distributing"]
    );
    let after = port.came_up_after().unwrap();
    assert!(after > Nanos::from_secs(2) && after < Nanos(3_500_000_000), "{after}");
    assert_eq!((port.counts().flaps, port.counts().illegal), (0, 0));
    let before = port.counts().sent;
    links.run(Nanos::from_secs(100));
    assert_eq!(links.sides[0][0].counts().sent - before, 100, "one in a second, as the partner wants");
}

#[test]
fn with_a_long_timeout_a_partner_is_told_every_30_seconds() {
    let slow = |system| vec![LacpPort::new(LacpConfig { short_timeout: false, ..config(system, 1) })];
    let mut links = Links::new(slow(1), slow(2));
    links.run(Nanos::from_secs(5));
    assert_eq!(links.up(), [1, 1]);
    let before = links.sides[0][0].counts().sent;
    links.run(Nanos::from_secs(300));
    assert_eq!(links.sides[0][0].counts().sent - before, 10);
    links.cut = Some(0);
    links.run(Nanos::from_secs(59));
    assert_eq!(links.up(), [1, 1]);
    let mut seconds = 59;
    while links.up() != [0, 0] {
        links.run(SECOND);
        seconds += 1;
    }
    assert!((60..=91).contains(&seconds), "{seconds}");
    assert_eq!(links.trouble(0, 0), Some(LacpTrouble::Expired));
    assert_eq!(links.sides[0][0].receive(), LacpReceive::Expired);
    links.run(Nanos::from_secs(3));
    let port = &links.sides[0][0];
    assert_eq!(
        (port.receive(), port.mux(), port.partner()),
        (LacpReceive::Defaulted, LacpMux::Detached, None)
    );
    assert_eq!((port.counts().flaps, port.up_since()), (1, None));
    assert!(port.actor().state.has(LacpState::DEFAULTED) && !port.actor().state.has(LacpState::EXPIRED));
    links.cut = None;
    links.run(Nanos::from_secs(5));
    assert_eq!(links.up(), [1, 1]);
}

#[test]
fn two_passive_ends_say_nothing_and_one_is_enough() {
    let passive = |system| vec![LacpPort::new(LacpConfig { active: false, ..config(system, 1) })];
    let mut links = Links::new(passive(1), passive(2));
    links.run(Nanos::from_secs(100));
    assert_eq!((links.up(), links.trouble(0, 0)), ([0, 0], Some(LacpTrouble::Passive)));
    assert_eq!((links.sides[0][0].counts().sent, links.sides[1][0].counts().sent), (0, 0));
    let mut links = Links::new(passive(1), ports(2, 1));
    links.run(Nanos::from_secs(4));
    assert_eq!(links.up(), [1, 1]);
}

#[test]
fn ports_with_another_partner_stay_out() {
    let mut east = ports(2, 3);
    east[0] = LacpPort::new(LacpConfig { key: 8, ..config(2, 1) });
    let mut links = Links::new(ports(1, 3), east);
    links.run(Nanos::from_secs(10));
    // Those that have the most of one partner are the lag; its other ports wait for it.
    assert_eq!(links.sides[0].iter().map(LacpPort::is_up).collect::<Vec<_>>(), [false, true, true]);
    assert_eq!(links.trouble(0, 0), Some(LacpTrouble::OtherPartner));
    assert!(links.sides[0][0].actor().state.names().all(|name| name != "synchronization"));
    // Two equals: the port with the lower priority or number counts.
    let mut east = ports(2, 2);
    east[1] = LacpPort::new(config(3, 1));
    let mut links = Links::new(ports(1, 2), east);
    links.run(Nanos::from_secs(10));
    assert_eq!(links.sides[0].iter().map(LacpPort::is_up).collect::<Vec<_>>(), [true, false]);
    // Once they are attached, more of another do not displace them.
    links.sides[1][0].leave(links.now);
    links.run(Nanos::from_secs(10));
    assert_eq!(links.sides[0].iter().map(LacpPort::is_up).collect::<Vec<_>>(), [false, true]);
    let now = links.now;
    links.sides[1][0].come_back(now);
    links.run(Nanos::from_secs(10));
    assert_eq!(links.sides[0].iter().map(LacpPort::is_up).collect::<Vec<_>>(), [false, true]);
}

#[test]
fn a_system_is_no_partner_of_its_own() {
    let mut links = Links::new(vec![LacpPort::new(config(1, 1))], vec![LacpPort::new(config(1, 2))]);
    links.run(Nanos::from_secs(10));
    assert_eq!((links.up(), links.trouble(0, 0)), ([0, 0], Some(LacpTrouble::LoopedBack)));
}

#[test]
fn a_port_that_leaves_says_so_and_comes_back() {
    let mut links = Links::new(ports(1, 2), ports(2, 2));
    links.run(Nanos::from_secs(5));
    let now = links.now;
    links.sides[0][0].leave(now);
    assert_eq!(links.trouble(0, 0), Some(LacpTrouble::Disabled));
    links.run(Nanos::from_millis(10));
    let (left, partner) = (&links.sides[0][0], &links.sides[1][0]);
    assert!(left.has_left() && left.next_due() == Nanos::MAX);
    assert!(
        !partner.is_up() && partner.trouble() == Some(LacpTrouble::NotHeard)
            || partner.trouble() == Some(LacpTrouble::OutOfSync)
    );
    assert_eq!((links.up(), left.counts().flaps, partner.counts().flaps), ([1, 1], 0, 1));
    let sent = left.counts().sent;
    links.run(Nanos::from_secs(20));
    assert_eq!((links.sides[0][0].counts().sent, links.trouble(1, 0)), (sent, Some(LacpTrouble::Expired)));
    let now = links.now;
    links.sides[0][0].come_back(now);
    links.run(Nanos::from_secs(5));
    assert_eq!((links.up(), links.agree()), ([2, 2], true));
}

#[test]
fn a_partner_that_hears_nothing_is_told_from_one_that_does_not_select() {
    let mut one = [LacpPort::new(config(1, 1))];
    let mut frames = Vec::new();
    run_lag(SECOND, &mut one.iter_mut().collect::<Vec<_>>());
    one[0].poll(SECOND, &mut frames);
    let hear = |port: &mut LacpPort, at: u64, partner: LacpEnd, state: u8| {
        let actor =
            LacpEnd { system: [9; 6], key: 1, port: 3, state: LacpState(state), ..LacpEnd::default() };
        let now = Nanos::from_secs(at);
        assert!(port.take(now, &Link::slow([9; 6], &LacpPdu { actor, partner }.write())));
        run_lag(now, &mut [port]);
    };
    let port = &mut one[0];
    hear(port, 2, LacpEnd::default(), 0x0f);
    assert_eq!(port.trouble(), Some(LacpTrouble::NotHeard));
    let own = port.actor();
    hear(port, 3, own, 0x07);
    assert_eq!((port.trouble(), port.mux()), (Some(LacpTrouble::Waiting), LacpMux::Waiting));
    run_lag(Nanos::from_secs(4), &mut [port]);
    assert_eq!((port.trouble(), port.mux()), (Some(LacpTrouble::OutOfSync), LacpMux::Attached));
    hear(port, 5, own, 0x0f);
    assert_eq!((port.trouble(), port.mux()), (Some(LacpTrouble::NotCollecting), LacpMux::Collecting));
    hear(port, 6, own, 0x1f);
    assert_eq!((port.trouble(), port.mux()), (None, LacpMux::Distributing));
    // A partner that does not aggregate is in sync whomever it names.
    hear(port, 7, LacpEnd::default(), 0x1b);
    assert_eq!(port.mux(), LacpMux::Waiting, "another lag than before");
}

#[test]
fn what_is_malformed_is_counted_and_changes_nothing() {
    let mut links = Links::new(ports(1, 1), ports(2, 1));
    links.run(Nanos::from_secs(5));
    let mut good = Vec::new();
    links.run(Nanos::from_secs(1));
    let now = links.now;
    let other = &links.sides[1][0];
    good.extend(LacpPdu { actor: other.actor(), partner: *other.partner().unwrap() }.write());
    let port = &mut links.sides[0][0];
    let before = *port.counts();
    let mut illegal = 0;
    // Version, and type and length of each TLV.
    for (at, value) in [(1, 0), (2, 0), (3, 19), (22, 1), (23, 255), (42, 0), (43, 0)] {
        let mut bad = good.clone();
        bad[at] = value;
        assert!(port.take(now, &Link::slow([9; 6], &bad)));
        illegal += 1;
    }
    for len in 1..PDU {
        let mut frame = Link::slow([9; 6], &good);
        frame.truncate(14 + len);
        assert!(port.take(now, &frame));
        illegal += 1;
    }
    let mut unknown = good.clone();
    unknown[0] = 3;
    assert!(port.take(now, &Link::slow([9; 6], &unknown)));
    let mut tagged = Link::slow([9; 6], &good);
    tagged.splice(12..12, [0x81, 0, 0, 7]);
    assert!(!port.take(now, &tagged), "LACP is for the link");
    let expected = LacpCounts { illegal, unknown: 1, ..before };
    assert_eq!((*port.counts(), port.is_up()), (expected, true));
    // A later version is read like this one.
    good[1] = 2;
    assert!(port.take(now, &Link::slow([9; 6], &good)));
    assert_eq!(port.counts().received, before.received + 1);
}

#[test]
fn markers_are_answered_but_not_too_many() {
    let mut links = Links::new(ports(1, 1), ports(2, 1));
    links.run(Nanos::from_secs(10));
    let (now, port) = (links.now, &mut links.sides[0][0]);
    port.poll(now, &mut Vec::new());
    let mut marker = vec![2, 1, 1, 16, 0, 5, 2, 0, 0, 0, 0, 9, 1, 2, 3, 4];
    marker.resize(PDU, 0);
    (0..50).for_each(|_| assert!(port.take(now, &Link::slow([9; 6], &marker))));
    assert_eq!(port.next_due(), Nanos::ZERO);
    let mut frames = Vec::new();
    port.poll(now, &mut frames);
    assert_eq!((frames.len(), frames[0].len()), (7, 14 + PDU));
    assert_eq!(frames[0][6..12], [2, 0, 0, 0, 1, 1]);
    assert_eq!(frames[0][14..30], [2, 1, 2, 16, 0, 5, 2, 0, 0, 0, 0, 9, 1, 2, 3, 4]);
    let answer = frames[0][14..].to_vec();
    assert!(port.take(now, &Link::slow([9; 6], &answer)), "an answer is not answered");
    marker[3] = 15;
    assert!(port.take(now, &Link::slow([9; 6], &marker)));
    let counts = port.counts();
    assert_eq!((counts.markers, counts.markers_answered, counts.marker_responses), (50, 7, 1));
    assert_eq!(counts.illegal, 1);
}

/// With any loss, delay, and ports that leave and come back: never more than three LACPDUs in a second, and once the links are good,
/// all come up, both ends agree, and nothing flaps.
#[test]
fn systems_agree_once_links_are_good() {
    for seed in 0..150 {
        let count = 1 + (seed % 4) as u16;
        let modes = random::word(random::key(seed), 0);
        let side = |system: u8| {
            let make = |port: u16| {
                let bits = modes >> (8 * u64::from(system) + 2 * u64::from(port));
                // One side at least speaks.
                LacpConfig {
                    active: system == 1 || bits & 1 == 0,
                    short_timeout: bits & 2 == 0,
                    ..config(system, port)
                }
            };
            (1..=count).map(|port| LacpPort::new(make(port))).collect()
        };
        let mut links = Links::new(side(1), side(2));
        links.key = random::key(seed);
        links.loss = seed % 61;
        links.delay = Nanos::from_millis(1 + 40 * (seed % 50));
        for _ in 0..20 {
            let time = Nanos::from_millis(links.below(20_000));
            links.run(time);
            let (side, link, now) = (links.below(2) as usize, links.below(count.into()) as usize, links.now);
            let port = &mut links.sides[side][link];
            if port.is_down() { port.come_back(now) } else { port.leave(now) }
        }
        let now = links.now;
        links.sides.iter_mut().flatten().for_each(|port| port.come_back(now));
        (links.loss, links.delay) = (0, Nanos::from_millis(1));
        links.run(Nanos::from_secs(200));
        let all = usize::from(count);
        assert_eq!((links.up(), links.agree()), ([all, all], true), "seed {seed}");
        let flaps = |links: &Links| links.sides.iter().flatten().map(|port| port.counts().flaps).sum::<u64>();
        let before = flaps(&links);
        links.run(Nanos::from_secs(200));
        assert_eq!((flaps(&links), links.up()), (before, [all, all]), "seed {seed}");
        for times in links.sent.iter().flatten() {
            for four in times.windows(LACPDUS_A_SECOND + 1) {
                assert!(four[LACPDUS_A_SECOND].since(four[0]) >= SECOND, "seed {seed}: {four:?}");
            }
        }
    }
}
