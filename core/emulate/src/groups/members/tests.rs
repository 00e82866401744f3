//! Memberships and a model of a router that listens to reports.

use super::*;
use crate::frame::{Link, Packet};

const SECOND: Nanos = Nanos::from_secs(1);
const ROUTER: Link<'static> =
    Link { from: [2, 0, 0, 0, 0, 0xfe], to: [1, 0, 0x5e, 0, 0, 1], vlans: &wire::Vlans::NONE };
const ROUTER_IP: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);

fn host() -> GroupHost {
    GroupHost {
        mac: [2, 0, 0, 0, 0, 1],
        vlans: wire::Vlans::NONE,
        ip: Ipv4Addr::new(10, 0, 0, 2),
        link_local: "fe80::2".parse().unwrap(),
        igmp_v2: false,
        mld_v1: false,
        rate: 100_000,
        seed: 3,
    }
}

fn any(group: &str) -> Membership {
    Membership { group: group.parse().unwrap(), exclude: true, sources: Arc::default() }
}

fn only(group: &str, sources: &[&str]) -> Membership {
    let sources = sources.iter().map(|ip| ip.parse().unwrap()).collect();
    Membership { group: group.parse().unwrap(), exclude: false, sources }
}

/// A record as a router reads it; types from 16 on are messages of the older versions.
#[derive(Debug, PartialEq, Eq)]
struct Record(u8, IpAddr, Vec<IpAddr>);

fn addresses(bytes: &[u8], size: usize) -> Vec<IpAddr> {
    let ip = |bytes: &[u8]| match size {
        4 => IpAddr::from(*bytes.first_chunk::<4>().unwrap()),
        _ => IpAddr::from(*bytes.first_chunk::<16>().unwrap()),
    };
    bytes.chunks_exact(size).map(ip).collect()
}

fn records(frame: &[u8]) -> Vec<Record> {
    let Some(Received { packet, .. }) = Received::read(frame) else { panic!("not read: {frame:02x?}") };
    let (message, size) = match packet {
        Packet::Igmp { message, .. } => (message, 4),
        Packet::Mld { message, from, .. } => {
            assert_eq!(from, host().link_local);
            (message, 16)
        }
        _ => panic!("no report"),
    };
    if !matches!(message[0], 0x22 | 143) {
        let at = if size == 4 { 4 } else { 8 };
        return vec![Record(message[0], addresses(&message[at..], size)[0], vec![])];
    }
    let (mut all, mut rest) = (Vec::new(), &message[8..]);
    for _ in 0..u16::from_be_bytes([message[6], message[7]]) {
        let sources = usize::from(u16::from_be_bytes([rest[2], rest[3]]));
        let (record, behind) = rest.split_at(4 + size * (1 + sources));
        let named = addresses(&record[4..], size);
        all.push(Record(record[0], named[0], named[1..].to_vec()));
        rest = behind;
    }
    assert!(rest.is_empty());
    all
}

/// Reports from `from` until `to`, with their times.
fn said(members: &mut GroupMembers, from: Nanos, to: Nanos) -> Vec<(Nanos, Record)> {
    let mut all = Vec::new();
    loop {
        let now = members.next_due().max(from);
        if now > to {
            return all;
        }
        let mut frames = Vec::new();
        members.poll(now, &mut frames);
        all.extend(frames.iter().flat_map(|frame| records(frame)).map(|record| (now, record)));
    }
}

fn types(said: &[(Nanos, Record)]) -> Vec<u8> {
    said.iter().map(|(_, record)| record.0).collect()
}

fn query(group: Ipv4Addr, code: u8, tail: &[u8]) -> Vec<u8> {
    let to = if group.is_unspecified() { Ipv4Addr::new(224, 0, 0, 1) } else { group };
    ROUTER.igmp(ROUTER_IP, to, &[&[0x11, code, 0, 0][..], &group.octets(), tail].concat())
}

const NEW: &[u8] = &[2, 125, 0, 0];
const ALL: Ipv4Addr = Ipv4Addr::UNSPECIFIED;

#[test]
fn joins_and_leaves_are_said_twice() {
    let mut members = GroupMembers::new(host());
    members.join(any("239.1.1.1"));
    members.join(only("232.1.1.1", &["10.9.9.9", "10.9.9.8"]));
    members.join(any("ff15::9"));
    assert!(!members.is_settled());
    let joined = said(&mut members, SECOND, Nanos::from_secs(3));
    assert!(members.is_settled());
    let mut kinds = types(&joined);
    kinds.sort_unstable();
    assert_eq!(kinds, [4, 4, 4, 4, 5, 5]);
    assert!(joined.iter().all(|(at, _)| *at <= Nanos::from_secs(2) + SECOND));
    let allowed = joined.iter().find(|(_, record)| record.0 == 5).unwrap();
    assert_eq!(allowed.1.2.len(), 2);
    assert_eq!(members.groups().count(), 3);
    members.leave_all();
    let left = said(&mut members, Nanos::from_secs(4), Nanos::from_secs(9));
    let mut kinds = types(&left);
    kinds.sort_unstable();
    assert_eq!(kinds, [3, 3, 3, 3, 6, 6]);
    assert_eq!((members.members.len(), members.next_due()), (0, Nanos::MAX));
    assert_eq!((members.counts().joined, members.counts().left), (3, 3));
}

fn settled(host: GroupHost, memberships: Vec<Membership>) -> GroupMembers {
    let mut members = GroupMembers::new(host);
    memberships.into_iter().for_each(|one| members.join(one));
    said(&mut members, SECOND, Nanos::from_secs(90));
    assert_eq!(members.next_due(), Nanos::MAX);
    members
}

#[test]
fn queries_are_answered_in_time() {
    let at = Nanos::from_secs(100);
    let mut members = settled(host(), vec![any("239.1.1.1"), any("239.1.1.2"), any("ff15::9")]);
    assert!(members.take(at, &query(ALL, 30, NEW)));
    let answers = said(&mut members, at, Nanos::from_secs(200));
    assert_eq!(types(&answers), [2, 2], "the groups of IPv4");
    assert!(answers.iter().all(|(when, _)| *when <= at + Nanos::from_secs(3)));
    assert!(members.take(at, &query(Ipv4Addr::new(239, 1, 1, 2), 10, NEW)));
    let answers = said(&mut members, at, Nanos::from_secs(200));
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].1, Record(2, "239.1.1.2".parse().unwrap(), vec![]));
    assert!(members.take(at, &query(Ipv4Addr::new(239, 1, 1, 3), 10, NEW)));
    assert_eq!(members.next_due(), Nanos::MAX, "no member");
    let to = "ff02::1".parse().unwrap();
    let mut asked = vec![130, 0, 0, 0, 0x13, 0x88, 0, 0];
    asked.extend([0; 16]);
    asked.extend([2, 125, 0, 0]);
    let link = Link { to: [0x33, 0x33, 0, 0, 0, 1], ..ROUTER };
    assert!(!members.take(at, &link.mld("2001:db8::1".parse().unwrap(), to, &asked)), "not link-local");
    let _ = members.take(at, &link.mld("fe80::1".parse().unwrap(), to, &asked));
    let answers = said(&mut members, at, Nanos::from_secs(200));
    assert_eq!(answers.len(), 1);
    assert!(answers[0].0 <= at + Nanos::from_secs(5));
}

#[test]
fn a_query_about_sources_is_answered_for_those_that_are_wanted() {
    let at = Nanos::from_secs(100);
    let group = Ipv4Addr::new(232, 1, 1, 1);
    let asked = query(group, 10, &[2, 125, 0, 2, 10, 9, 9, 9, 10, 9, 9, 1]);
    let mut members = settled(host(), vec![only("232.1.1.1", &["10.9.9.9", "10.9.9.8"])]);
    members.take(at, &asked);
    let answers = said(&mut members, at, Nanos::from_secs(200));
    assert_eq!(answers[0].1, Record(1, group.into(), vec!["10.9.9.9".parse().unwrap()]));
    let mut others = settled(host(), vec![only("232.1.1.1", &["10.9.9.7"])]);
    others.take(at, &asked);
    assert_eq!(others.next_due(), Nanos::MAX);
    let mut all = settled(host(), vec![Membership { exclude: true, ..only("232.1.1.1", &["10.9.9.9"]) }]);
    all.take(at, &asked);
    let answers = said(&mut all, at, Nanos::from_secs(200));
    assert_eq!(answers[0].1.2, ["10.9.9.1".parse::<IpAddr>().unwrap()]);
}

#[test]
fn an_older_querier_is_spoken_to_in_its_version() {
    let at = Nanos::from_secs(100);
    let mut members = settled(host(), vec![any("239.1.1.1"), any("239.1.1.2")]);
    members.take(at, &query(ALL, 50, &[]));
    // Another host's report of a group spares ours.
    let report = [0x16, 0, 0, 0, 239, 1, 1, 2];
    assert!(members.take(at, &ROUTER.igmp(ROUTER_IP, Ipv4Addr::new(239, 1, 1, 2), &report)));
    let answers = said(&mut members, at, Nanos::from_secs(120));
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].1, Record(0x16, "239.1.1.1".parse().unwrap(), vec![]));
    members.leave("239.1.1.1".parse().unwrap());
    assert_eq!(types(&said(&mut members, Nanos::from_secs(130), Nanos::from_secs(150))), [0x17]);
    // 2 x 125 s + 5 s after its last query it is forgotten.
    members.leave("239.1.1.2".parse().unwrap());
    assert_eq!(types(&said(&mut members, Nanos::from_secs(356), Nanos::from_secs(370))), [3, 3]);
}

#[test]
fn the_old_versions_alone() {
    let old = GroupHost { igmp_v2: true, mld_v1: true, ..host() };
    let mut members = GroupMembers::new(old);
    members.join(any("239.1.1.1"));
    members.join(any("ff15::9"));
    let mut kinds = types(&said(&mut members, SECOND, Nanos::from_secs(12)));
    kinds.sort_unstable();
    assert_eq!(kinds, [0x16, 0x16, 131, 131]);
    members.leave_all();
    let mut kinds = types(&said(&mut members, Nanos::from_secs(13), Nanos::from_secs(30)));
    kinds.sort_unstable();
    assert_eq!(kinds, [0x17, 132]);
}

/// 10,000 groups: reported in few frames at the rate, one reply for all, and little is stored of each.
#[test]
fn ten_thousand_groups() {
    let group = |n: u32| any(&IpAddr::from((0xef01_0000 + n).to_be_bytes()).to_string());
    let mut members = GroupMembers::new(GroupHost { rate: 20_000, ..host() });
    (0..10_000).for_each(|n| members.join(group(n)));
    let joined = said(&mut members, SECOND, Nanos::from_secs(10));
    assert_eq!(joined.len(), 20_000);
    let first: Vec<Nanos> = joined.iter().map(|(at, _)| *at).collect();
    assert!(first[0] == SECOND && members.is_settled());
    members.take(Nanos::from_secs(20), &query(ALL, 100, NEW));
    let before = members.counts().reports;
    assert_eq!(said(&mut members, Nanos::from_secs(20), Nanos::from_secs(31)).len(), 10_000);
    let frames = members.counts().reports - before;
    assert!((55..=60).contains(&frames), "{frames} frames for 10,000 groups");
    // A B-tree's node is at least half full.
    let each = 2 * (size_of::<IpAddr>() + size_of::<Member>()) + 2 * size_of::<(Nanos, IpAddr)>() + 32;
    assert!(each <= 300, "{each} bytes");
}
