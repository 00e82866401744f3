//! Two ports with agents, and what they know of each other.

use super::*;
use crate::lldp::{LldpId, TEXT_MAX};

const SECOND: Nanos = Nanos::from_secs(1);

fn advert(port: &str) -> Advert {
    Advert {
        chassis: None,
        port: LldpId::port_interface(port),
        port_description: None,
        system_name: Some("tide".into()),
        system_description: None,
        capabilities: None,
        management: Vec::new(),
        organization: Vec::new(),
    }
}

fn agents(last: u8, count: u8, interval_s: u64, hold: u32) -> LldpAgents {
    let agent = |n| ([2, 0, 0, 0, n, last], advert(&format!("port{n}")));
    let interval = Nanos::from_secs(interval_s);
    LldpAgents::new(LldpConfig {
        agents: (0..count).map(agent).collect(),
        interval,
        ttl_s: lldp_ttl_s(interval, hold),
    })
}

fn poll(agents: &mut LldpAgents, now: Nanos) -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    agents.poll(now, &mut frames);
    frames
}

#[test]
fn agents_send_at_once_fast_to_who_is_new_and_then_at_the_interval() {
    let (mut one, mut other) = (agents(1, 1, 30, 4), agents(2, 1, 30, 4));
    let first = poll(&mut one, SECOND);
    assert!(one.has_sent() && first.len() == 1);
    assert_eq!((&first[0][..6], first[0].len()), (&[1, 0x80, 0xc2, 0, 0, 0x0e][..], 60));
    assert!(crate::may_concern(&first[0]) && other.take(SECOND, &first[0]));
    let mut sent = Vec::new();
    for second in 1..120 {
        let now = Nanos::from_secs(second);
        let frames = poll(&mut other, now);
        sent.extend(frames.iter().map(|_| second));
    }
    assert_eq!(sent, [1, 2, 3, 4, 5, 35, 65, 95], "four times a second later");
    let known: Vec<_> = other.neighbours().collect();
    assert_eq!((known.len(), known[0].mac, known[0].message.ttl_s), (1, [2, 0, 0, 0, 0, 1], 121));
    assert_eq!(known[0].message.system_name.as_deref(), Some("tide"));
    assert_eq!((other.counts().learnt, other.counts().sent, other.counts().received), (1, 8, 1));
}

#[test]
fn a_neighbour_is_forgotten_when_its_time_is_over_or_it_says_so() {
    let (mut one, mut other) = (agents(1, 2, 5, 2), agents(2, 1, 1_000, 1));
    let frames = poll(&mut one, SECOND);
    frames.iter().for_each(|frame| assert!(other.take(SECOND, frame)));
    let again = poll(&mut one, Nanos::from_secs(6));
    other.take(Nanos::from_secs(6), &again[0]);
    assert_eq!(other.neighbours().count(), 2);
    assert_eq!(
        (other.neighbours().next().unwrap().first, other.neighbours().next().unwrap().last.0),
        (SECOND, 6_000_000_000)
    );
    // Two times 5 s, and one more.
    poll(&mut other, Nanos(12 * SECOND.0 - 1));
    assert_eq!(other.neighbours().count(), 2);
    poll(&mut other, Nanos::from_secs(12));
    assert_eq!((other.neighbours().count(), other.counts().aged_out), (1, 1));
    one.leave();
    let last = poll(&mut one, Nanos::from_secs(13));
    assert!(one.has_left() && last.len() == 2 && one.next_due() == Nanos::MAX);
    last.iter().for_each(|frame| assert!(other.take(Nanos::from_secs(13), frame)));
    assert_eq!((other.neighbours().count(), other.counts().left, other.counts().aged_out), (0, 1, 1));
}

#[test]
fn many_agents_send_some_at_a_time() {
    let mut many = agents(1, 200, 30, 4);
    let mut sent = 0;
    while many.next_due() <= SECOND {
        let frames = poll(&mut many, SECOND);
        assert!(!frames.is_empty() && frames.len() <= AT_ONCE);
        sent += frames.len();
    }
    assert_eq!((sent, many.has_sent(), many.next_due()), (200, true, Nanos::from_secs(31)));
}

#[test]
fn neighbours_have_an_end_and_own_frames_are_none() {
    let mut agents_here = agents(2, 1, 30, 4);
    let own = poll(&mut agents_here, SECOND);
    assert!(!agents_here.take(SECOND, &own[0]));
    for n in 0..NEIGHBOURS_MAX + 5 {
        let bytes = advert(&format!("p{n}")).write([2, 0, 0, 0, 0, 7], 60);
        assert!(agents_here.take(SECOND, &Link::lldp([2, 0, 0, 0, 0, 7], &bytes)));
    }
    let counts = *agents_here.counts();
    assert_eq!(
        (agents_here.neighbours().count(), counts.no_room, counts.learnt),
        (NEIGHBOURS_MAX, 5, NEIGHBOURS_MAX as u64)
    );
    let mut tagged = Link::lldp([2, 0, 0, 0, 0, 8], &advert("x").write([2, 0, 0, 0, 0, 8], 60));
    tagged.splice(12..12, [0x81, 0, 0, 7]);
    assert!(!agents_here.take(SECOND, &tagged), "LLDP is for the link");
    assert!(agents_here.take(SECOND, &Link::lldp([2, 0, 0, 0, 0, 8], &[2, 1])));
    assert_eq!(agents_here.counts().malformed, 1);
    assert_eq!(lldp_ttl_s(Nanos::from_secs(3_600), TEXT_MAX as u32), u16::MAX);
}

#[test]
fn agents_that_left_are_silent_until_they_come_back() {
    let (mut one, mut other) = (agents(1, 1, 30, 4), agents(2, 1, 30, 4));
    let first = poll(&mut one, SECOND);
    other.take(SECOND, &first[0]);
    poll(&mut other, SECOND);
    other.leave();
    let last = poll(&mut other, Nanos::from_secs(2));
    assert_eq!((last.len(), other.neighbours().count(), other.has_sent()), (1, 0, true));
    assert_eq!(other.next_due(), Nanos::MAX);
    assert!(other.take(Nanos::from_secs(3), &first[0]) && other.is_down());
    assert_eq!((other.counts().received, other.neighbours().count()), (1, 0), "it does not listen");
    other.leave();
    assert!(poll(&mut other, Nanos::from_secs(100)).is_empty(), "it leaves once");
    other.come_back(Nanos::from_secs(100));
    assert_eq!(poll(&mut other, Nanos::from_secs(100)).len(), 1);
    assert!(other.take(Nanos::from_secs(100), &first[0]) && !other.is_down());
    assert_eq!(other.neighbours().count(), 1);
}
