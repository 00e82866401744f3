//! STAMP, both ends.

use crate::counts::{Counts, Reason, StampDrop};
use crate::plan::*;
use crate::testing::{CLIENT, EndEvent, SERVER, Wire, counts_after, plan};
use ::stamp::{BASE, ErrorEstimate, Form, Format, Key, Reply, Request};
use proptest::prelude::*;
use units::Nanos;

const MINUTE: Nanos = Nanos::from_secs(60);
const MS: u64 = 1_000_000;
/// Seconds from 1900 to 1970.
const NTP: u64 = 2_208_988_800;

fn stamp(packets: Option<u32>, is_stateful: bool) -> StampPlan {
    StampPlan {
        form: Form::Open,
        format: Format::Ntp,
        packets,
        interval: Some(Nanos(10 * MS)),
        length: BASE,
        is_stateful,
        wait: Nanos(500 * MS),
        has_one_clock: true,
    }
}

fn entry(of_stamp: StampPlan) -> SessionPlan {
    SessionPlan { carrier: Carrier::Udp, ..plan(AppPlan::Stamp(of_stamp.into())) }
}

fn wire(of_stamp: StampPlan) -> Wire {
    Wire::new(entry(of_stamp), &[1])
}

#[test]
fn every_packet_has_its_reply() {
    let key = || Form::Authenticated(Key::new(&[7; 32]).unwrap());
    for (form, length) in [(Form::Open, BASE), (Form::Open, 100), (key(), 112), (key(), 200)] {
        for (is_stateful, format) in [(false, Format::Ptp), (true, Format::Ntp)] {
            let of_stamp = StampPlan { form: form.clone(), length, format, ..stamp(Some(5), is_stateful) };
            let mut wire = wire(of_stamp);
            for session in 0..2 {
                wire.open(session);
                wire.run(MINUTE);
                // The server's end is told that no more comes.
                wire.stop(1);
                wire.run(MINUTE);
            }
            wire.assert_complete(2);
            let (client, server) = (wire.client(), wire.server());
            assert_eq!((client.requests, client.transactions), (10, 10));
            assert_eq!((server.requests, server.transactions), (10, 10));
            assert_eq!((client.bytes_sent, client.bytes_received), (10 * length as u64, 10 * length as u64));
            let [client, server] = [client, server].map(|counts| counts.stamp.as_deref().unwrap());
            assert_eq!((client.sent, client.received, client.lost, server.received), (10, 10, 0, 10));
            assert_eq!((client.dropped, server.dropped), ([0; 6], [0; 6]));
            assert_eq!((client.round_trip.samples(), client.round_trip_jitter.samples()), (10, 8));
            assert_eq!((client.to_reflector.samples(), client.reflector.max), (10, 0));
            assert_eq!((client.lost_to_reflector, client.lost_from_reflector).0, is_stateful.then_some(0));
        }
    }
}

#[test]
fn packets_look_like_this() {
    let mut wire = wire(StampPlan { length: 60, ..stamp(Some(2), true) });
    wire.open(6);
    wire.run(MINUTE);
    let (requests, replies) = (wire.sent(0), wire.sent(1));
    assert_eq!((requests.len(), replies.len()), (120, 120));
    let [first, second] = [&requests[..60], &requests[60..]];
    // Number, T1: 1.0001 s since 1970, no error estimate, identifier; then zeros, and Extra Padding of 12 octets.
    assert_eq!(first[..8], [&[0, 0, 0, 0][..], &((NTP + 1) as u32).to_be_bytes()].concat());
    assert_eq!(first[12..16], [0x3f, 0xff, 0, 7]);
    assert_eq!(first[16..44], [0; 28]);
    assert_eq!(first[44..48], [0x80, 1, 0, 12]);
    assert_eq!((&second[..4], second.ends_with(&[0; 12])), (&[0, 0, 0, 1][..], true));
    let reply = Reply::read(&replies[60..], &Form::Open).unwrap();
    let request = Request::read(second, &Form::Open).unwrap();
    assert_eq!((reply.number, reply.ssid, reply.request), (1, 7, request));
    assert_eq!((reply.came, replies[60 + 44]), (reply.sent, 0));
}

#[test]
fn packets_lost_on_the_way_are_counted_by_direction() {
    for is_stateful in [false, true] {
        let mut wire = wire(stamp(Some(10), is_stateful));
        wire.drop_datagrams = 3;
        wire.open(0);
        wire.run(MINUTE);
        let client = wire.client();
        assert_eq!((client.completed, client.transactions), (1, 7));
        let stamp = client.stamp.as_deref().unwrap();
        assert_eq!((stamp.sent, stamp.received, stamp.lost), (10, 7, 3));
        let directions = is_stateful.then_some((3, 0)).unzip();
        assert_eq!((stamp.lost_to_reflector, stamp.lost_from_reflector), directions);
    }
}

#[test]
fn a_session_without_replies_fails() {
    let mut wire = wire(stamp(Some(10), true));
    wire.drop_datagrams = u32::MAX;
    wire.open(0);
    wire.run(MINUTE);
    let client = wire.client();
    assert_eq!((client.failed(Reason::ResponseTimeout), client.completed), (1, 0));
    assert_eq!(client.stamp.as_ref().unwrap().lost, 10);
    assert_eq!(wire.extras(), 0);
}

#[test]
fn an_endless_session_ends_once_its_last_packets_have_replies() {
    let mut wire = wire(stamp(None, false));
    wire.open(0);
    wire.run(Nanos::from_secs(1));
    wire.stop(0);
    wire.run(MINUTE);
    let client = wire.client();
    assert_eq!((client.completed, client.stopped), (1, 1));
    let stamp = client.stamp.as_ref().unwrap();
    assert!(stamp.sent > 90 && stamp.sent == stamp.received && stamp.lost == 0, "{stamp:?}");
}

/// A client's counts of what it gets as replies to its first two packets, each `(after, bytes)` since its beginning.
fn replies(of_stamp: StampPlan, replies: &[(u64, Vec<u8>)]) -> Counts {
    let start = Nanos(1_000 * MS);
    let mut events = vec![(start, EndEvent::Opened), (Nanos(start.0 + 10 * MS), EndEvent::Woke)];
    for (after, bytes) in replies {
        events.push((Nanos(start.0 + after), EndEvent::Received(bytes.clone())));
    }
    counts_after(&entry(of_stamp), CLIENT, &events)
}

/// The reply `number` to packet `of`, which came 3 ms after its departure by a clock that is an hour ahead, and left 1 ms later.
fn reply(of: u32, number: u32) -> Reply {
    let sent = Nanos(1_000 * MS + u64::from(of) * 10 * MS);
    let there = |ms| Format::Ptp.write(Nanos(sent.0 + ms * MS + 3_600_000 * MS), 0);
    Reply {
        number,
        sent: there(4),
        error: ErrorEstimate::of(None, Format::Ptp),
        ssid: 1,
        came: there(3),
        request: Request {
            number: of,
            sent: Format::Ntp.write(sent, 0),
            error: ErrorEstimate::of(None, Format::Ntp),
            ssid: 1,
        },
        hops: Some(64),
    }
}

fn bytes(reply: &Reply) -> Vec<u8> {
    let mut bytes = vec![0; BASE];
    reply.write(&mut bytes, &Form::Open);
    bytes
}

#[test]
fn delays_of_one_direction_need_one_clock_and_jitter_does_not() {
    let both = [(12 * MS, bytes(&reply(0, 0))), (20 * MS, bytes(&reply(1, 1)))];
    let counts = replies(StampPlan { has_one_clock: false, ..stamp(Some(2), false) }, &both);
    let seen = counts.stamp.as_deref().unwrap();
    assert_eq!((seen.round_trip.max, seen.round_trip.min, seen.reflector.max), (11 * MS, 9 * MS, MS));
    assert_eq!((seen.to_reflector.samples(), seen.from_reflector.samples()), (0, 0));
    assert_eq!((seen.to_reflector_jitter.max, seen.from_reflector_jitter.max), (0, 2 * MS));
    assert_eq!(counts.ttlb.max, 12 * MS);
    // By one clock the reflector would be an hour away, and replies an hour earlier than they left.
    let counts = replies(stamp(Some(2), false), &both);
    assert!(counts.stamp.as_deref().unwrap().to_reflector.max > 3_600_000 * MS);
}

#[test]
fn what_is_no_reply_is_counted_by_reason() {
    let foreign = |change: &dyn Fn(&mut Reply)| {
        let mut one = reply(0, 0);
        change(&mut one);
        bytes(&one)
    };
    let all = [
        (15 * MS, vec![0; 37]),
        (15 * MS, foreign(&|reply| reply.request.number = 2)),
        (15 * MS, foreign(&|reply| reply.ssid = 9)),
        (15 * MS, foreign(&|reply| reply.request.sent += 1)),
        // The reflector can't have had it for longer than it was away.
        (15 * MS, foreign(&|reply| reply.came = Format::Ptp.write(Nanos(0), 0))),
        (16 * MS, bytes(&reply(0, 0))),
        (520 * MS, bytes(&reply(1, 1))),
    ];
    let counts = replies(stamp(None, false), &all);
    let stamp = counts.stamp.as_deref().unwrap();
    let dropped = StampDrop::ALL.map(|reason| (reason, stamp.dropped[reason as usize]));
    assert_eq!(
        dropped.into_iter().filter(|one| one.1 > 0).collect::<Vec<_>>(),
        [(StampDrop::Malformed, 1), (StampDrop::Foreign, 3)]
    );
    assert_eq!((stamp.untimed, stamp.received, stamp.duplicates, stamp.late, stamp.lost), (1, 1, 1, 1, 1));
}

#[test]
fn a_key_is_demanded() {
    let form = Form::Authenticated(Key::new(&[1; 16]).unwrap());
    let plain = StampPlan { length: 112, ..stamp(Some(1), false) };
    let keyed = StampPlan { form, ..plain.clone() };
    for (client, server) in [(plain.clone(), keyed.clone()), (keyed, plain)] {
        let has_key = server.form != Form::Open;
        let mut wire = Wire::mixed(entry(client), entry(server), &[1]);
        wire.open(0);
        wire.run(MINUTE);
        assert_eq!(wire.client().failed(Reason::ResponseTimeout), 1);
        let end = if has_key { wire.server() } else { wire.client() };
        let unauthentic = end.stamp.as_ref().unwrap().dropped[StampDrop::Unauthentic as usize];
        assert_eq!(unauthentic, 1);
    }
}

#[test]
fn a_sender_that_leaves_fails_no_reflector() {
    let mut packet = vec![0; BASE];
    let error = ErrorEstimate::of(None, Format::Ntp);
    Request { number: 0, sent: 1, error, ssid: 0 }.write(&mut packet, &Form::Open);
    let end = |packets: &[Vec<u8>]| {
        let mut events = vec![(Nanos(MS), EndEvent::Opened)];
        events.extend(packets.iter().map(|packet| (Nanos(2 * MS), EndEvent::Received(packet.clone()))));
        events.push((Nanos(3 * MS), EndEvent::Closed(tcp::End::Refused)));
        let counts = counts_after(&entry(stamp(Some(1), false)), SERVER, &events);
        (counts.completed, counts.failed(Reason::Refused))
    };
    assert_eq!(end(&[packet]), (1, 0));
    assert_eq!(end(&[vec![0; 5]]), (0, 1));
}

#[test]
fn a_stateless_plan_reports_a_reflector_that_counts() {
    let counts = replies(stamp(Some(2), false), &[(12 * MS, bytes(&reply(1, 0)))]);
    assert!(counts.details.keys().any(|text| text.contains("reflector: stateful")), "{:?}", counts.details);
}

proptest! {
    #[test]
    fn any_datagrams_can_come(all in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..130), 0..8), stop: bool) {
        for group in [CLIENT, SERVER] {
            for is_stateful in [false, true] {
                let mut events = vec![(Nanos(MS), EndEvent::Opened)];
                for (at, bytes) in all.iter().enumerate() {
                    events.push((Nanos((at as u64 + 2) * MS), EndEvent::Received(bytes.clone())));
                    events.push((Nanos((at as u64 + 2) * MS + 5), EndEvent::Woke));
                }
                if stop {
                    events.push((Nanos(100 * MS), EndEvent::Stop));
                    events.push((Nanos(900 * MS), EndEvent::Judge));
                }
                let counts = counts_after(&entry(stamp(Some(3), is_stateful)), group, &events);
                let seen = counts.stamp.as_deref();
                let known = seen.map_or(0, |stamp| stamp.received + stamp.dropped.iter().sum::<u64>() + stamp.late + stamp.duplicates);
                prop_assert!(known <= all.len() as u64);
                prop_assert!(counts.bytes_sent <= 3 * BASE as u64 + all.iter().map(|bytes| bytes.len() as u64).sum::<u64>());
            }
        }
    }
}
