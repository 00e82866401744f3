//! Applications, end to end.

use super::{Apps, groups};
use crate::clients::Clients;
use crate::counts::{Counts, Reason};
use crate::flow::Flow;
use crate::plan::*;
use crate::scale::Scale;
use crate::testing::{CLIENT, SERVER, Wire, plan};
use proptest::prelude::*;
use std::sync::Arc;
use tcp::{App, End, FlowId, Io};
use units::{Nanos, Pps};

const MINUTE: Nanos = Nanos::from_secs(60);

fn program(client: Vec<Op>, server: Vec<Op>) -> AppPlan {
    AppPlan::Program { client: Arc::new(Program { ops: client }), server: Arc::new(Program { ops: server }) }
}

fn text(text: &str) -> Op {
    Op::Send(Content::bytes(text))
}

fn until(text: &str) -> Op {
    Op::Expect(Expect::Until(text.as_bytes().into()))
}

#[test]
fn requests_and_responses() {
    let app = AppPlan::raw(Size::Fixed(100), Size::Fixed(32_000), Some(3), Delay::NONE);
    let mut wire = Wire::new(plan(app), &[1460]);
    for number in 0..4 {
        wire.open(number);
        wire.run(MINUTE);
    }
    wire.assert_complete(4);
    let client = wire.client();
    assert_eq!((client.requests, client.transactions), (12, 12));
    assert_eq!((client.bytes_sent, client.bytes_received), (1_200, 384_000));
    assert_eq!([client.setup.samples(), client.ttfb.samples(), client.ttlb.samples()], [4, 12, 12]);
    assert!((99_000..=101_000).contains(&client.setup.min));
    assert_eq!((wire.server().requests, wire.server().transactions), (12, 12));
}

/// A server counts a response when all of it has arrived, regardless of the application.
#[test]
fn responses_count_when_they_have_arrived() {
    let big = 5_000_000;
    for (app, before) in [
        (AppPlan::raw(Size::Fixed(10), Size::Fixed(big), Some(2), Delay::NONE), 0),
        (AppPlan::bulk(Side::Server, Some(big)), 0),
        (
            program(
                vec![text("a"), until("b"), Op::Expect(Expect::Bytes(big))],
                vec![Op::Expect(Expect::Bytes(1)), text("b"), Op::Send(Content::generated(Size::Fixed(big)))],
            ),
            1,
        ),
    ] {
        let mut wire = Wire::new(plan(app), &[400]);
        for number in 0..10 {
            wire.open(number);
            wire.run(Nanos(300_000));
            wire.cut_off(1, End::Reset);
            wire.cut_off(0, End::Aborted);
        }
        let server = wire.server();
        assert_eq!((server.failed(Reason::Reset), server.transactions), (10, 10 * before));
        wire.open(10);
        wire.run(MINUTE);
        assert!(wire.server().transactions > 10 * before, "{}", wire.server().transactions);
    }
}

/// A server that closes between requests: requests not sent are counted, and the session is complete.
#[test]
fn a_program_whose_server_closes_leaves_requests_unasked() {
    let ask = [text("a"), Op::Expect(Expect::Bytes(1))];
    let waits = |more: &[Op]| [&ask[..], &[Op::Wait(Delay::Constant(Nanos::from_secs(1)))], more].concat();
    let outcome = |client: Vec<Op>| {
        let mut wire = Wire::new(plan(program(client, Vec::new())), &[7]);
        wire.fake = Some((b"b".to_vec(), true));
        wire.open(0);
        wire.run(MINUTE);
        let failed: Vec<_> =
            Reason::ALL.into_iter().filter(|reason| wire.client().failed(*reason) > 0).collect();
        (failed, wire.client().unasked, wire.client().completed)
    };
    let more = Op::Repeat { times: Some(2), ops: ask.to_vec() };
    assert_eq!(outcome(waits(&[more])), (vec![], 2, 1));
    assert_eq!(outcome(waits(&[Op::Repeat { times: None, ops: ask.to_vec() }])), (vec![], 0, 1));
    // The server owes something that needs no asking; and nothing is missing.
    assert_eq!(outcome(waits(&[Op::Expect(Expect::Bytes(1))])), (vec![Reason::ClosedEarly], 0, 0));
    assert_eq!(outcome(waits(&[Op::Expect(Expect::End)])), (vec![], 0, 1));
    assert_eq!(outcome(waits(&[text("bye")])), (vec![], 0, 1));
    // Asked, and not answered.
    assert_eq!(outcome([&ask[..], &ask[..]].concat()), (vec![Reason::ClosedEarly], 0, 0));
}

#[test]
fn thinks_between_requests_but_not_behind_the_last() {
    let think = Delay::Constant(Nanos::from_secs(2));
    let app = AppPlan::raw(Size::Fixed(1), Size::Fixed(1), Some(3), think);
    let mut wire = Wire::new(plan(app), &[1460]);
    let start = wire.now;
    wire.open(0);
    wire.run(MINUTE);
    wire.assert_complete(1);
    assert!((4_000..4_010).contains(&(wire.now.since(start).0 / 1_000_000)));
}

#[test]
fn a_conversation_in_lines() {
    let client = vec![
        until("\r\n"),
        text("EHLO me\r\n"),
        until("\r\n"),
        Op::Wait(Delay::Uniform { from: Nanos(1_000), to: Nanos(9_000), seed: 1 }),
        text("QUIT\r\n"),
        until("bye\r\n"),
    ];
    let server = vec![
        text("220 hi\r\n"),
        until("\r\n"),
        text("250 o\r"),
        text("k\r\n"),
        until("\r\n"),
        text("221 by"),
        text("bye\r\n"),
    ];
    for cut in [1, 2, 3, 100] {
        let mut wire = Wire::new(plan(program(client.clone(), server.clone())), &[cut]);
        wire.open(0);
        wire.run(MINUTE);
        wire.assert_complete(1);
        assert_eq!(wire.sent(0), b"EHLO me\r\nQUIT\r\n");
        assert_eq!(wire.client().transactions, 3);
    }
}

#[test]
fn half_closes_and_resets() {
    let client = vec![text("all of it"), Op::HalfClose, Op::Expect(Expect::End)];
    let server = vec![Op::Expect(Expect::End), text("thanks")];
    let mut wire = Wire::new(plan(program(client, server)), &[4]);
    wire.open(0);
    wire.run(MINUTE);
    // The server waits for a close that has come.
    wire.assert_complete(1);
    assert_eq!(wire.sent(1), b"thanks");

    let client = vec![text("x"), Op::Expect(Expect::Bytes(1)), Op::Reset];
    let server = vec![Op::Expect(Expect::Bytes(1)), text("y")];
    let mut wire = Wire::new(plan(program(client, server)), &[4]);
    wire.open(0);
    wire.run(MINUTE);
    wire.assert_complete(1);
    assert_eq!(wire.ends_of(), [Some(End::Aborted), Some(End::ResetAcknowledged)]);
}

#[test]
fn wrong_content_is_found() {
    let with = |expect: fn(Content) -> Expect, verify| {
        let mut entry = plan(program(
            vec![text("ask"), Op::Expect(expect(Content::bytes("right")))],
            vec![Op::Expect(Expect::Bytes(3)), text("wrong")],
        ));
        entry.verify = verify;
        let mut wire = Wire::new(entry, &[100]);
        wire.open(0);
        wire.run(MINUTE);
        wire
    };
    for (expect, verify) in
        [(Expect::Content as fn(_) -> _, true), (Expect::Content, false), (Expect::Recorded, true)]
    {
        assert_eq!(with(expect, verify).client().failed(Reason::WrongContent), 1);
    }
    // What was recorded differs from what comes today.
    with(Expect::Recorded, false).assert_complete(1);
}

#[test]
fn every_failure_has_its_reason() {
    let app = || AppPlan::raw(Size::Fixed(10), Size::Fixed(10), Some(1), Delay::NONE);
    for (end, reason) in [
        (End::Refused, Reason::Refused),
        (End::SetupTimeout, Reason::SetupTimeout),
        (End::Unreachable, Reason::Unreachable),
        (End::Reset, Reason::Reset),
        (End::Timeout, Reason::Timeout),
        (End::IdleTimeout, Reason::IdleTimeout),
        (End::Closed, Reason::ClosedEarly),
        (End::Aborted, Reason::Aborted),
    ] {
        let mut wire = Wire::new(plan(app()), &[100]);
        wire.open(0);
        assert_eq!(wire.client().active(), 1);
        wire.cut_off(0, end);
        assert_eq!((wire.client().failed(reason), wire.client().active()), (1, 0), "{reason:?}");
    }
    // A server that says nothing, closes, says half.
    for (says, closes, reason) in [
        (&b""[..], false, Reason::ResponseTimeout),
        (b"", true, Reason::ClosedEarly),
        (b"1234", true, Reason::ClosedEarly),
        (b"1234", false, Reason::ResponseTimeout),
    ] {
        let mut entry = plan(app());
        entry.verify = false;
        let mut wire = Wire::new(entry, &[100]);
        wire.fake = Some((says.to_vec(), closes));
        wire.open(0);
        wire.run(Nanos::from_secs(100));
        assert_eq!(wire.client().failed(reason), 1, "{says:?} {closes}");
        assert_eq!(wire.client().active(), 0);
    }
}

#[test]
fn streams_until_time_is_up() {
    for from in [Side::Client, Side::Server] {
        let mut entry = plan(AppPlan::bulk(from, None));
        entry.load.up = Some(Delay::Constant(Nanos::from_millis(4)));
        let mut wire = Wire::new(entry, &[60_000]);
        wire.open(0);
        wire.run(MINUTE);
        wire.assert_complete(1);
        assert_eq!(wire.client().stopped, 1);
        let (sent, received) = match from {
            Side::Client => (wire.client().bytes_sent, wire.server().bytes_received),
            Side::Server => (wire.server().bytes_sent, wire.client().bytes_received),
        };
        assert!(sent == received && sent > 10_000_000, "{sent} {received}");
    }
    let mut wire = Wire::new(plan(AppPlan::bulk(Side::Server, Some(10_000_000))), &[9_000]);
    wire.open(0);
    wire.run(MINUTE);
    assert_eq!(wire.client().bytes_received, 10_000_000);
}

#[test]
fn a_source_closes_after_its_bytes() {
    for from in [Side::Client, Side::Server] {
        let mut wire = Wire::new(plan(AppPlan::bulk(from, Some(300_000))), &[9_000]);
        let start = wire.now;
        wire.open(0);
        wire.run(MINUTE);
        wire.assert_complete(1);
        assert_eq!((wire.client().stopped, wire.server().stopped), (0, 0), "{from:?}");
        assert!(wire.now.since(start) < Nanos::from_secs(1), "{from:?}");
        assert_eq!(wire.sent((from == Side::Server).into()).len(), 300_000);
    }
}

#[test]
fn echoes() {
    let client = vec![Op::Repeat {
        times: Some(50),
        ops: vec![
            Op::Send(Content::generated(Size::Uniform { from: 1, to: 3_000, seed: 5 })),
            Op::Expect(Expect::Content(Content::generated(Size::Uniform { from: 1, to: 3_000, seed: 5 }))),
        ],
    }];
    let app = AppPlan::Echo { client: Arc::new(Program { ops: client }) };
    for carrier in [Carrier::Tcp, Carrier::Udp] {
        let mut entry = plan(app.clone());
        entry.carrier = carrier;
        let mut wire = Wire::new(entry, &[700, 3]);
        wire.open(0);
        wire.run(MINUTE);
        if carrier == Carrier::Udp {
            wire.cut_off(1, End::IdleTimeout);
        }
        wire.assert_complete(1);
        assert_eq!(wire.sent(0), wire.sent(1));
    }
}

#[test]
fn loops_for_a_time_end_and_what_follows_is_sent() {
    let text = |text: &str| Content { parts: vec![Part::Bytes(text.as_bytes().into())] };
    let both = |said: &str| vec![Op::Send(text(said)), Op::Expect(Expect::Content(text(said)))];
    let round = |said| [both(said), vec![Op::Wait(Delay::Constant(Nanos::from_millis(100)))]].concat();
    let timed = |ms, said| Op::RepeatFor { time: Nanos::from_millis(ms), ops: round(said) };
    let again = Op::Repeat { times: Some(70), ops: both("again") };
    let ops = [both("first"), vec![timed(1_000, "one"), again, timed(350, "two")], both("last")].concat();
    let app = AppPlan::Echo { client: Arc::new(Program { ops }) };
    for carrier in [Carrier::Tcp, Carrier::Udp] {
        let mut entry = plan(app.clone());
        entry.carrier = carrier;
        let mut wire = Wire::new(entry, &[700, 3]);
        let start = wire.now;
        wire.open(0);
        wire.run(MINUTE);
        if carrier == Carrier::Udp {
            wire.cut_off(1, End::IdleTimeout);
        }
        wire.assert_complete(1);
        assert!(wire.now.since(start) >= Nanos::from_millis(1_350), "{carrier:?}");
        let wanted = format!("first{}{}{}last", "one".repeat(10), "again".repeat(70), "two".repeat(4));
        assert_eq!(String::from_utf8_lossy(wire.sent(0)), wanted, "{carrier:?}");
        assert_eq!(wire.sent(0), wire.sent(1));
    }
}

#[test]
fn datagrams_one_by_one() {
    let number = || Op::Send(Content { parts: vec![Part::Decimal(Values::REQUEST, 3)] });
    let many = |n, ops| Op::Repeat { times: Some(n), ops };
    let app = program(
        vec![many(20, vec![number()]), many(10, vec![Op::Expect(Expect::Bytes(0))])],
        vec![
            many(20, vec![Op::Expect(Expect::Bytes(3))]),
            Op::Wait(Delay::Constant(Nanos(50))),
            many(10, vec![number()]),
        ],
    );
    let mut entry = plan(app);
    entry.carrier = Carrier::Udp;
    let mut wire = Wire::new(entry, &[1]);
    wire.open(0);
    wire.run(MINUTE);
    wire.assert_complete(1);
    let all: String = (0..20).map(|n| format!("{n:03}")).collect();
    assert_eq!(wire.sent(0), all.as_bytes());
    assert_eq!(wire.sent(1), &all.as_bytes()[..30]);
}

#[test]
fn stays_up_and_stops_on_demand() {
    let mut entry = plan(AppPlan::raw(Size::Fixed(1), Size::Fixed(1), Some(1), Delay::NONE));
    entry.load.up = Some(Delay::Constant(Nanos::from_secs(5)));
    let mut wire = Wire::new(entry.clone(), &[100]);
    let start = wire.now;
    wire.open(0);
    wire.run(MINUTE);
    wire.assert_complete(1);
    assert_eq!(wire.now.since(start).0 / 1_000_000_000, 5);

    let forever = AppPlan::raw(Size::Fixed(1), Size::Fixed(1), None, Delay::Constant(Nanos::from_secs(3)));
    for at_end in [AtEnd::Close, AtEnd::Reset] {
        let mut entry = plan(forever.clone());
        entry.load.at_end = at_end;
        let mut wire = Wire::new(entry, &[100]);
        wire.open(0);
        wire.run(Nanos::from_secs(10));
        assert_eq!(wire.client().active(), 1);
        wire.stop(0);
        wire.run(Nanos::from_secs(10));
        wire.assert_complete(1);
        assert_eq!(wire.client().stopped, 1);
    }
    // Closed by its time, at a boundary.
    let mut entry = plan(forever);
    entry.load.up = Some(Delay::Constant(Nanos::from_secs(10)));
    let mut wire = Wire::new(entry, &[100]);
    wire.open(0);
    wire.run(MINUTE);
    wire.assert_complete(1);
    assert_eq!(wire.client().transactions, 4);
}

#[test]
fn requests_keep_their_rate() {
    let mut entry = plan(AppPlan::raw(Size::Fixed(1), Size::Fixed(1), Some(11), Delay::NONE));
    entry.load.request_rate = Some(Pps::new(10));
    let mut wire = Wire::new(entry, &[100]);
    let start = wire.now;
    wire.open(0);
    wire.run(MINUTE);
    wire.assert_complete(1);
    // Turns are at whole tenths of a second.
    assert!((1_000..1_210).contains(&(wire.now.since(start).0 / 1_000_000)));
}

/// A session that ends while it waits leaves its turn to the next.
#[test]
fn a_turn_comes_back_from_a_session_that_ends() {
    let mut entry = plan(endless_http(1).0);
    entry.verify = false;
    entry.load = LoadPlan { request_rate: Some(Pps::new(1)), ..LoadPlan::at(OpenRate::Max) };
    let mut apps = Apps::new(&[entry], 0, 1, |_| panic!("nothing is secured here"));
    let opened = |apps: &mut Apps, number: u32, now| {
        let (mut flow, mut io) =
            (apps.start(now, CLIENT, u64::from(number)), Io::new(FlowId(number), CLIENT));
        apps.opened(now, &mut flow, &mut io);
        (flow, io.asked() > 0, io.asked_to_wake())
    };
    let at = Nanos::from_millis;
    let (_, sends, _) = opened(&mut apps, 0, Nanos::ZERO);
    assert!(sends, "the first turn is now");
    let (mut second, _, wake) = opened(&mut apps, 1, at(10));
    let (mut third, _, later) = opened(&mut apps, 2, at(20));
    assert_eq!((wake, later), (Some(at(1_000)), Some(at(2_000))));
    apps.closed(at(500), &mut second, FlowId(1), CLIENT, End::Reset);
    let (mut fourth, sends, wake) = opened(&mut apps, 3, at(600));
    assert!(!sends && wake == Some(at(1_000)), "{wake:?}");
    let mut io = Io::new(FlowId(3), CLIENT);
    apps.woke(at(1_000), &mut fourth, &mut io);
    assert!(io.asked() > 0, "its turn has come");
    assert_eq!(apps.unsent_requests(0, at(1_900)), 0);
    // One that has come is lost, and counted.
    apps.closed(at(2_001), &mut third, FlowId(2), CLIENT, End::Reset);
    assert_eq!(apps.unsent_requests(0, at(2_500)), 1);
    let (_, _, wake) = opened(&mut apps, 4, at(2_600));
    assert_eq!(wake, Some(at(3_000)));
}

/// One whose server takes no more requests waits for a turn to close, and another takes its turn to send one.
#[test]
fn a_turn_to_ask_comes_back_from_a_session_that_waits_to_close() {
    for late in [false, true] {
        let mut entry = plan(endless_http(2).0);
        entry.verify = false;
        let load = LoadPlan::at(OpenRate::Max);
        let rate = Some(Pps::new(1));
        entry.load = LoadPlan { request_rate: rate, close_rate: Some(Pps::new(4)), late, ..load };
        let mut apps = Apps::new(&[entry], 0, 1, |_| panic!("nothing is secured here"));
        let at = Nanos::from_millis;
        let opened = |apps: &mut Apps, number: u32, now| {
            let (mut flow, mut io) =
                (apps.start(now, CLIENT, u64::from(number)), Io::new(FlowId(number), CLIENT));
            apps.opened(now, &mut flow, &mut io);
            (flow, io.asked(), io.asked_to_wake())
        };
        let (mut first, asked, wake) = opened(&mut apps, 1, Nanos::ZERO);
        assert!(asked > 0 && wake == Some(at(1_000)), "{late}: {wake:?}");
        let mut io = Io::new(FlowId(1), CLIENT);
        let answer = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
        apps.acknowledged(at(400), &mut first, &mut io, asked);
        apps.received(at(400), &mut first, &mut io, answer);
        assert_eq!((io.asked_to_close(), io.asked_to_wake()), (false, Some(at(500))), "{late}");
        let (_, asked, wake) = opened(&mut apps, 2, at(450));
        assert_eq!((asked, wake), (0, Some(at(1_000))), "{late}");
        let mut io = Io::new(FlowId(1), CLIENT);
        apps.woke(at(500), &mut first, &mut io);
        assert!(io.asked_to_close(), "{late}");
        apps.closed(at(501), &mut first, FlowId(1), CLIENT, End::Closed);
        // The flow's number is another's, who has a turn that comes later.
        let (mut next, _, wake) = opened(&mut apps, 1, at(510));
        assert_eq!(wake, Some(at(2_000)), "{late}");
        apps.closed(at(1_600), &mut next, FlowId(1), CLIENT, End::Reset);
        assert_eq!(apps.unsent_requests(0, at(1_900)), 0, "{late}");
        assert_eq!(opened(&mut apps, 1, at(1_950)).2, Some(at(2_000)), "{late}");
    }
}

/// While the rate is zero no session has a turn, so none is missed when one ends.
#[test]
fn no_turn_is_missed_while_the_rate_is_zero() {
    for late in [false, true] {
        let mut entry = plan(endless_http(1).0);
        entry.verify = false;
        entry.load = LoadPlan { request_rate: Some(Pps::new(1)), late, ..LoadPlan::at(OpenRate::Max) };
        let mut apps = Apps::new(&[entry], 0, 1, |_| panic!("nothing is secured here"));
        let at = Nanos::from_millis;
        apps.scale(0, at(10), Scale::new(0, 1));
        let (mut flow, mut io) = (apps.start(at(20), CLIENT, 0), Io::new(FlowId(0), CLIENT));
        apps.opened(at(20), &mut flow, &mut io);
        assert_eq!(io.asked(), 0);
        apps.closed(at(500), &mut flow, FlowId(0), CLIENT, End::Reset);
        assert_eq!(apps.unsent_requests(0, at(1_900)), 0, "{late}");
    }
}

/// No session gets a turn from before the rate changed.
#[test]
fn a_turn_of_the_old_rate_does_not_come_back() {
    for late in [false, true] {
        let mut entry = plan(endless_http(1).0);
        entry.verify = false;
        entry.load = LoadPlan { request_rate: Some(Pps::new(1)), late, ..LoadPlan::at(OpenRate::Max) };
        let mut apps = Apps::new(&[entry], 0, 1, |_| panic!("nothing is secured here"));
        let at = Nanos::from_millis;
        let opened = |apps: &mut Apps, number: u32, now| {
            let mut flow = apps.start(now, CLIENT, u64::from(number));
            let mut io = Io::new(FlowId(number), CLIENT);
            apps.opened(now, &mut flow, &mut io);
            (flow, io.asked_to_wake())
        };
        opened(&mut apps, 0, at(0));
        let (mut second, wake) = opened(&mut apps, 1, at(10));
        assert_eq!(wake, Some(at(1_000)), "{late}");
        apps.scale(0, at(500), Scale::new(4, 1));
        apps.closed(at(501), &mut second, FlowId(1), CLIENT, End::Reset);
        let wakes = [2, 3].map(|number| opened(&mut apps, number, at(510)).1);
        assert_eq!(wakes, [Some(at(625)), Some(at(875))], "{late}");
        assert_eq!(apps.unsent_requests(0, at(1_000)), 0, "{late}");
    }
}

/// A session that is woken at its old turn, before it is to request another, does so itself.
#[test]
fn a_turn_of_the_old_rate_is_not_used() {
    for late in [false, true] {
        let mut entry = plan(endless_http(1).0);
        entry.verify = false;
        entry.load = LoadPlan { request_rate: Some(Pps::new(1)), late, ..LoadPlan::at(OpenRate::Max) };
        let mut apps = Apps::new(&[entry], 0, 1, |_| panic!("nothing is secured here"));
        let at = Nanos::from_millis;
        let mut flows = [0, 1, 2].map(|number| apps.start(at(0), CLIENT, number));
        let mut tell = |apps: &mut Apps, number: usize, tell: &dyn Fn(&mut Apps, &mut Flow, &mut Io)| {
            let (flow, mut io) = (&mut flows[number], Io::new(FlowId(number as u32), CLIENT));
            tell(apps, flow, &mut io);
            let dues = apps.extras.find(flow).map_or(0, |extra| extra.dues.len());
            assert_eq!(dues, usize::from(late), "{number}: one request is due, or sent");
            (io.asked() > 0, io.asked_to_wake())
        };
        for (number, wake) in [(1, 1_000), (2, 2_000)] {
            if number == 1 {
                assert!(tell(&mut apps, 0, &|apps, flow, io| apps.opened(at(0), flow, io)).0);
            }
            let told = tell(&mut apps, number, &|apps, flow, io| apps.opened(at(10), flow, io));
            assert_eq!(told, (false, Some(at(wake))), "{late}");
        }
        apps.scale(0, at(500), Scale::new(1, 2));
        let told = tell(&mut apps, 1, &|apps, flow, io| apps.woke(at(1_000), flow, io));
        assert_eq!(told, (false, Some(at(1_500))), "{late}: the old turn is none");
        let told = tell(&mut apps, 1, &|apps, flow, io| apps.ask_again(at(1_001), flow, io));
        assert_eq!(told, (false, None), "{late}: it has requested another");
        let told = tell(&mut apps, 1, &|apps, flow, io| apps.woke(at(1_500), flow, io));
        assert!(told.0, "{late}");
        let mut io = Io::new(FlowId(2), CLIENT);
        apps.ask_again(at(1_501), &mut flows[2], &mut io);
        assert_eq!(io.asked_to_wake(), Some(at(1_501)), "{late}");
    }
}

/// A session that waits to close does not close at a turn from before the rate changed, nor earlier than at its turn.
#[test]
fn a_turn_to_close_of_the_old_rate_is_not_used() {
    for late in [false, true] {
        let mut entry = plan(AppPlan::bulk(Side::Server, None));
        let up = Some(Delay::Constant(Nanos::from_millis(10)));
        entry.load = LoadPlan { close_rate: Some(Pps::new(1)), up, late, ..LoadPlan::at(OpenRate::Max) };
        let mut apps = Apps::new(&[entry], 0, 1, |_| panic!("nothing is secured here"));
        let at = Nanos::from_millis;
        let mut flows = [0, 1, 2].map(|number| apps.start(at(0), CLIENT, number));
        let mut tell = |apps: &mut Apps, number: usize, tell: &dyn Fn(&mut Apps, &mut Flow, &mut Io)| {
            let mut io = Io::new(FlowId(number as u32), CLIENT);
            tell(apps, &mut flows[number], &mut io);
            (io.asked_to_close(), io.asked_to_wake())
        };
        for (number, turn) in [(0, 1_000), (1, 2_000), (2, 3_000)] {
            tell(&mut apps, number, &|apps, flow, io| apps.opened(at(1), flow, io));
            for now in [12, 20] {
                let told = tell(&mut apps, number, &|apps, flow, io| apps.woke(at(now), flow, io));
                assert_eq!(told, (false, Some(at(turn))), "{late}: at {now} ms");
            }
        }
        apps.scale(0, at(500), Scale::new(1, 2));
        let told = tell(&mut apps, 0, &|apps, flow, io| apps.woke(at(1_000), flow, io));
        assert_eq!(told, (false, Some(at(1_500))), "{late}: the old turn is none");
        let told = tell(&mut apps, 0, &|apps, flow, io| apps.ask_again(at(1_001), flow, io));
        assert_eq!(told, (false, None), "{late}: it has another");
        let told = tell(&mut apps, 1, &|apps, flow, io| apps.ask_again(at(1_001), flow, io));
        assert_eq!(told, (false, Some(at(1_001))), "{late}");
        let told = tell(&mut apps, 1, &|apps, flow, io| apps.woke(at(1_001), flow, io));
        assert_eq!(told, (false, Some(at(3_500))), "{late}: no turn was lost, and none goes to two");
        assert!(tell(&mut apps, 0, &|apps, flow, io| apps.woke(at(1_500), flow, io)).0, "{late}");
        apps.scale(0, at(1_600), Scale::new(0, 1));
        let told = tell(&mut apps, 2, &|apps, flow, io| apps.woke(at(3_000), flow, io));
        assert!(!told.0 && told.1 > Some(MINUTE), "{late}: nobody closes while the rate is zero: {told:?}");
        apps.scale(0, at(4_000), Scale::ONE);
        for number in [1, 2] {
            tell(&mut apps, number, &|apps, flow, io| apps.ask_again(at(4_000), flow, io));
            tell(&mut apps, number, &|apps, flow, io| apps.woke(at(4_001), flow, io));
        }
        for (number, turn) in [(1, 4_950), (2, 5_950)] {
            assert!(
                tell(&mut apps, number, &|apps, flow, io| apps.woke(at(turn), flow, io)).0,
                "{late}: {number}"
            );
        }
    }
}

/// One that waits for a response meanwhile gets another turn, too.
#[test]
fn a_turn_is_requested_again_beside_a_response() {
    let mut entry = plan(endless_http(2).0);
    entry.verify = false;
    entry.load = LoadPlan { request_rate: Some(Pps::new(1)), ..LoadPlan::at(OpenRate::Max) };
    let mut apps = Apps::new(&[entry], 0, 1, |_| panic!("nothing is secured here"));
    let at = Nanos::from_millis;
    let mut flow = apps.start(at(0), CLIENT, 0);
    let mut tell = |apps: &mut Apps, tell: &dyn Fn(&mut Apps, &mut Flow, &mut Io)| {
        let mut io = Io::new(FlowId(0), CLIENT);
        tell(apps, &mut flow, &mut io);
        (io.asked() > 0, io.asked_to_wake())
    };
    let told = tell(&mut apps, &|apps, flow, io| apps.opened(at(0), flow, io));
    assert_eq!(told, (true, Some(at(1_000))));
    apps.scale(0, at(500), Scale::new(1, 2));
    let told = tell(&mut apps, &|apps, flow, io| apps.ask_again(at(500), flow, io));
    assert_eq!(told, (false, Some(at(500))));
    let told = tell(&mut apps, &|apps, flow, io| apps.woke(at(501), flow, io));
    assert_eq!(told, (false, Some(at(1_500))));
    assert!(tell(&mut apps, &|apps, flow, io| apps.woke(at(1_500), flow, io)).0);
}

/// A session that does not wait for a turn any more while the rate is zero has no request that is due, and gives no turn back.
#[test]
fn nothing_is_due_once_a_session_does_not_wait_for_the_rate() {
    let mut entry = plan(endless_http(1).0);
    entry.verify = false;
    entry.load = LoadPlan { request_rate: Some(Pps::new(1)), late: true, ..LoadPlan::at(OpenRate::Max) };
    let mut apps = Apps::new(&[entry], 0, 1, |_| panic!("nothing is secured here"));
    let at = Nanos::from_millis;
    let dues = |apps: &Apps, flow: &Flow| apps.extras.find(flow).map_or(0, |extra| extra.dues.len());
    apps.scale(0, at(10), Scale::new(0, 1));
    let (mut flow, mut io) = (apps.start(at(20), CLIENT, 0), Io::new(FlowId(0), CLIENT));
    apps.opened(at(20), &mut flow, &mut io);
    assert_eq!((io.asked(), dues(&apps, &flow)), (0, 1));
    apps.return_turns(at(30), &flow, FlowId(0), CLIENT);
    assert_eq!((dues(&apps, &flow), apps.unsent_requests(0, at(1_900))), (0, 0));
}

/// Clients of an entry, against servers that immediately send the same response to every request.
struct Crowd {
    now: Nanos,
    /// From one look at what is due to the next.
    step: Nanos,
    apps: Apps,
    clients: Clients,
    answer: Vec<u8>,
    flows: Vec<Option<(Flow, Option<Nanos>)>>,
    /// When servers do not respond, and the clients waiting for a response.
    stall: std::ops::Range<Nanos>,
    held: Vec<usize>,
}

impl Crowd {
    fn new(entry: SessionPlan, answer: &[u8]) -> Self {
        let plans = [entry];
        let apps = Apps::new(&plans, 0, 1, |_| panic!("nothing is secured here"));
        let clients = Clients::new(&plans[0], 0, &groups(&plans), 0, 1).unwrap();
        Self {
            now: Nanos::ZERO,
            step: Nanos::from_micros(100),
            apps,
            clients,
            answer: answer.to_vec(),
            flows: Vec::new(),
            stall: Nanos::ZERO..Nanos::ZERO,
            held: Vec::new(),
        }
    }

    fn answer(&mut self, index: usize) {
        let answer = self.answer.clone();
        self.tell(index, &|apps, now, flow, io| {
            // All of it.
            apps.acknowledged(now, flow, io, 1 << 38);
            apps.received(now, flow, io, &answer);
        });
    }

    /// Passes an event to a flow, and responds to the data it sends.
    fn tell(&mut self, index: usize, tell: &dyn Fn(&mut Apps, Nanos, &mut Flow, &mut Io)) {
        let Some((flow, wake)) = &mut self.flows[index] else { return };
        let mut io = Io::new(FlowId(index as u32), CLIENT);
        tell(&mut self.apps, self.now, flow, &mut io);
        if let Some(at) = io.asked_to_wake() {
            *wake = Some(at);
        }
        if io.asked_to_close() || io.asked_to_abort() {
            let end = if io.asked_to_close() { End::Closed } else { End::Aborted };
            self.apps.closed(self.now, flow, FlowId(index as u32), CLIENT, end);
            self.flows[index] = None;
        } else if io.asked() > 0 && self.stall.contains(&self.now) {
            self.held.push(index);
        } else if io.asked() > 0 {
            self.answer(index);
        }
    }

    fn run(&mut self, limit: Nanos) {
        while self.now < limit {
            for number in self.clients.poll(self.now, &self.apps, u64::MAX, false).numbers() {
                let flow = self.apps.start(self.now, CLIENT, number);
                self.flows.push(Some((flow, None)));
                self.tell(self.flows.len() - 1, &|apps, now, flow, io| apps.opened(now, flow, io));
            }
            if !self.stall.contains(&self.now) {
                std::mem::take(&mut self.held).into_iter().for_each(|index| self.answer(index));
            }
            for index in 0..self.flows.len() {
                if let Some((_, wake)) = &mut self.flows[index]
                    && wake.is_some_and(|at| at <= self.now)
                {
                    *wake = None;
                    self.tell(index, &|apps, now, flow, io| apps.woke(now, flow, io));
                }
            }
            self.now += self.step;
        }
    }

    fn counts(&self) -> &Counts {
        self.apps.counts(CLIENT)
    }
}

/// Requests without end, and the response to each.
fn endless_http(pipeline: u8) -> (AppPlan, &'static [u8]) {
    let http = HttpPlan {
        requests: vec![(HttpRequest::get("/", "h"), 1)],
        order: SelectionOrder::Sequential,
        per_connection: None,
        pipeline,
        version: HttpVersion::One,
        streams: 1,
        think: Delay::NONE,
        close: HttpClose::Fin,
        errors_fail: true,
        quic: QuicPlan::default(),
        alt_svc: false,
        agent: AgentPlan::default(),
        server: Arc::new(HttpServer::sized(Size::Fixed(0))),
    };
    (AppPlan::Http(Arc::new(http)), b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
}

/// A server that stalls for 2 s in 10 s: of the requests due, a hundredth waits for 1.9 s and more, and of the requests
/// sent only as many are slow as there are sessions.
#[test]
fn times_count_from_when_requests_were_due() {
    for late in [true, false] {
        let (app, answer) = endless_http(1);
        let mut entry = plan(app);
        entry.verify = false;
        entry.load = LoadPlan {
            concurrent: Some(20),
            request_rate: Some(Pps::new(1_000)),
            late,
            ..LoadPlan::at(OpenRate::Max)
        };
        let mut crowd = Crowd::new(entry, answer);
        crowd.stall = Nanos::from_secs(5)..Nanos::from_secs(7);
        crowd.run(Nanos::from_millis(6_999));
        let waiting = crowd.apps.unsent_requests(0, crowd.now);
        assert!(if late { (1_970..=1_980).contains(&waiting) } else { waiting == 0 }, "{waiting} wait");
        crowd.run(Nanos::from_secs(10));
        let counts = crowd.counts();
        let p99 = |times: &histogram::Timing| times.histogram.quantile(0.99).unwrap_or(0);
        assert!(p99(&counts.ttlb) < 1_000_000, "{} ns", p99(&counts.ttlb));
        if late {
            assert!((9_990..=10_000).contains(&counts.requests), "{} requests", counts.requests);
            assert_eq!(counts.ttlb_due.samples(), counts.transactions);
            assert_eq!(counts.ttfb_due.samples(), counts.transactions);
            assert!(
                (p99(&counts.ttlb_due) as f64 / 1.9e9 - 1.0).abs() < 0.01,
                "{} ns",
                p99(&counts.ttlb_due)
            );
        } else {
            assert!((7_990..=8_030).contains(&counts.requests), "{} requests", counts.requests);
            assert_eq!(counts.ttlb_due.samples(), 0);
        }
    }
}

#[test]
fn late_requests_in_a_pipeline_have_times_of_their_own() {
    let (app, answer) = endless_http(4);
    let mut entry = plan(app);
    entry.verify = false;
    entry.load = LoadPlan {
        concurrent: Some(1),
        request_rate: Some(Pps::new(100)),
        late: true,
        ..LoadPlan::at(OpenRate::Max)
    };
    let mut crowd = Crowd::new(entry, answer);
    crowd.run(Nanos::from_secs(1));
    let counts = crowd.counts();
    assert_eq!((counts.requests, counts.ttlb_due.samples()), (100, 100));
    assert!(counts.ttlb_due.max < 1_000_000, "{} ns", counts.ttlb_due.max);
}

#[test]
fn so_many_requests_are_sent_and_no_more() {
    for request_rate in [None, Some(Pps::new(1_000))] {
        let (app, answer) = endless_http(1);
        let mut entry = plan(app);
        entry.verify = false;
        let load = LoadPlan::at(OpenRate::Max);
        entry.load = LoadPlan { concurrent: Some(3), request_rate, request_count: Some(100), ..load };
        let mut crowd = Crowd::new(entry, answer);
        crowd.run(Nanos::from_secs(1));
        let counts = crowd.counts();
        assert_eq!((counts.requests, counts.transactions), (100, 100));
        assert_eq!((counts.completed, counts.active(), counts.stopped), (counts.attempted, 0, 0));
        assert!(counts.attempted <= 3 && crowd.clients.is_done(crowd.now), "{} sessions", counts.attempted);
    }
}

/// A server that ends a connection has not processed the last request: a session is opened for it.
#[test]
fn a_request_that_comes_back_gets_another_session() {
    let (app, answer) = endless_http(1);
    let mut entry = plan(app);
    entry.load = LoadPlan { concurrent: Some(1), request_count: Some(1), ..LoadPlan::at(OpenRate::Max) };
    let mut crowd = Crowd::new(entry, answer);
    let ms = Nanos::from_millis;
    crowd.stall = ms(0)..ms(100);
    crowd.run(ms(1));
    assert_eq!((crowd.counts().requests, crowd.apps.pacers[0].left), (1, Some(0)));
    assert_eq!(crowd.clients.deadline(&crowd.apps), Nanos::MAX, "nothing to open while it is under way");
    assert!(!crowd.clients.is_done(crowd.now));

    crowd.apps.pacers[0].left = Some(1);
    crowd.held.clear();
    let (mut flow, _) = crowd.flows[0].take().expect("a session");
    crowd.apps.closed(crowd.now, &mut flow, FlowId(0), CLIENT, End::Closed);
    assert!(crowd.clients.deadline(&crowd.apps) <= crowd.now);
    crowd.run(ms(200));
    assert_eq!((crowd.counts().requests, crowd.counts().transactions), (2, 1));
    assert!(crowd.clients.is_done(crowd.now) && crowd.counts().active() == 0);
}

#[test]
fn closings_and_requests_keep_their_rates_together() {
    let raw = AppPlan::raw(Size::Fixed(100), Size::Fixed(1), None, Delay::NONE);
    for (app, answer) in [(raw, &b"x"[..]), endless_http(1)] {
        let mut entry = plan(app);
        entry.verify = false;
        entry.load = LoadPlan {
            concurrent: Some(50),
            up: Some(Delay::Constant(Nanos::from_millis(10))),
            close_rate: Some(Pps::new(100)),
            request_rate: Some(Pps::new(1_000)),
            ..LoadPlan::at(OpenRate::Max)
        };
        let mut crowd = Crowd::new(entry, answer);
        crowd.run(Nanos::from_secs(2));
        let counts = crowd.counts();
        assert_eq!(counts.attempted, counts.completed + 50, "{:?}", counts.failures);
        assert!((190..=200).contains(&counts.completed), "{} closed", counts.completed);
        assert!((1_800..=2_000).contains(&counts.transactions), "{} transactions", counts.transactions);
        assert_eq!(counts.requests, counts.transactions);
    }
}

/// A session woken late has a turn to send a request and no time left: that turn does not close it.
#[test]
fn late_wakes_close_nothing_out_of_turn() {
    let mut entry = plan(AppPlan::raw(Size::Fixed(100), Size::Fixed(1), None, Delay::NONE));
    entry.verify = false;
    entry.load = LoadPlan {
        concurrent: Some(50),
        up: Some(Delay::Constant(Nanos::from_millis(10))),
        close_rate: Some(Pps::new(10)),
        request_rate: Some(Pps::new(1_000)),
        ..LoadPlan::at(OpenRate::Max)
    };
    let mut crowd = Crowd::new(entry, b"x");
    crowd.step = Nanos::from_millis(7);
    crowd.run(Nanos::from_secs(2));
    assert!((18..=20).contains(&crowd.counts().completed), "{} closed", crowd.counts().completed);
}

#[test]
fn sinks_and_streams_wait_for_their_turn_to_close() {
    for from in [Side::Client, Side::Server] {
        let mut entry = plan(AppPlan::bulk(from, None));
        entry.load = LoadPlan {
            concurrent: Some(10),
            up: Some(Delay::Constant(Nanos::from_millis(10))),
            close_rate: Some(Pps::new(100)),
            ..LoadPlan::at(OpenRate::Max)
        };
        let mut crowd = Crowd::new(entry, b"");
        crowd.run(Nanos::from_secs(1));
        let counts = crowd.counts();
        assert!((95..=100).contains(&counts.completed), "{} closed", counts.completed);
        assert_eq!((counts.attempted, counts.stopped), (counts.completed + 10, counts.completed));
    }
}

#[test]
fn a_session_taken_back_was_never_counted() {
    let mut entry = plan(AppPlan::raw(Size::Fixed(1), Size::Fixed(1), Some(1), Delay::NONE));
    entry.carrier = Carrier::Udp;
    let mut apps = Apps::new(&[entry], 0, 1, |_| panic!("nothing is secured here"));
    assert_eq!((apps.carrier(CLIENT), apps.carrier(SERVER)), (Carrier::Udp, Carrier::Udp));
    let adds_up = |apps: &Apps, attempted| {
        let (counts, active) = (apps.counts(CLIENT), apps.active(CLIENT));
        assert_eq!(counts.attempted, counts.completed + counts.failed_in_all() + active);
        assert_eq!((counts.attempted, counts.active()), (attempted, active as i64));
    };
    let _ = apps.start(MINUTE, CLIENT, 0);
    adds_up(&apps, 1);
    apps.take_back(CLIENT);
    adds_up(&apps, 0);
    // From elsewhere, and that fails, too.
    let _ = apps.start(MINUTE, CLIENT, 0);
    apps.not_opened(CLIENT);
    adds_up(&apps, 1);
    // An interval that ends between two tries of different sessions.
    let mut flow = apps.start(MINUTE, CLIENT, 1);
    let mut counts = [Counts::default(), Counts::default()];
    apps.swap_counts(&mut counts);
    assert_eq!((counts[0].attempted, counts[0].failed(Reason::NoPort), apps.active(CLIENT)), (2, 1, 1));
    let _ = apps.start(MINUTE, CLIENT, 2);
    apps.take_back(CLIENT);
    assert_eq!((apps.counts(CLIENT).attempted, apps.active(CLIENT)), (0, 1));
    apps.closed(MINUTE, &mut flow, FlowId(0), CLIENT, End::Refused);
    assert_eq!((apps.counts(CLIENT).failed(Reason::Refused), apps.active(CLIENT)), (1, 0));
}

#[test]
fn a_limit_of_bytes_ends_what_is_due() {
    let mut entry = plan(AppPlan::raw(Size::Fixed(600), Size::Fixed(400), Some(1), Delay::NONE));
    entry.verify = false;
    entry.load = LoadPlan { bytes: Some(5_000), ..LoadPlan::at(OpenRate::Constant(Pps::new(1_000))) };
    let mut crowd = Crowd::new(entry, &[0; 400]);
    crowd.run(Nanos::from_millis(100));
    assert_eq!((crowd.counts().completed, crowd.counts().active()), (5, 0));
    assert!(crowd.clients.is_done(crowd.now));
    assert_eq!((crowd.clients.missed(crowd.now), crowd.clients.deadline(&crowd.apps)), (0, Nanos::MAX));
    assert_eq!((crowd.clients.totals().due, crowd.clients.totals().opened), (5, 5));
}

#[test]
fn no_more_than_asked_for_are_opened_at_a_time() {
    let mut entry = plan(AppPlan::raw(Size::Fixed(1), Size::Fixed(1), Some(1), Delay::NONE));
    entry.load = LoadPlan::at(OpenRate::Constant(Pps::new(1_000)));
    let mut crowd = Crowd::new(entry, b"");
    let now = Nanos::from_millis(9);
    assert_eq!(crowd.clients.missed(now), 10);
    for (opened, missed) in [(4, 6), (4, 2), (2, 0), (0, 0)] {
        let numbers = crowd.clients.poll(now, &crowd.apps, 4, false).numbers();
        let flows = numbers.map(|number| crowd.apps.start(now, CLIENT, number)).count();
        assert_eq!((flows, crowd.clients.missed(now)), (opened, missed));
    }
    assert_eq!((crowd.clients.totals().due, crowd.clients.active(&crowd.apps)), (10, 10));
}

#[test]
fn who_is_behind_opens_as_many_as_end() {
    let raw = || plan(AppPlan::raw(Size::Fixed(1), Size::Fixed(1), Some(1), Delay::NONE));
    let rate = LoadPlan::at(OpenRate::Constant(Pps::new(1_000_000)));
    for (load, opened) in [(rate, [30, 4, 10, 4, 20]), (LoadPlan::at(OpenRate::Max), [30, 30, 30, 30, 20])] {
        let mut crowd = Crowd::new(SessionPlan { load, ..raw() }, b"");
        let now = Nanos::from_millis(9);
        let mut flows = Vec::new();
        let mut came = Vec::new();
        for (is_behind, most, ends) in
            [(false, 30, 0), (true, 30, 10), (true, 30, 3), (true, 30, 25), (true, 20, 0)]
        {
            let opening = crowd.clients.poll(now, &crowd.apps, most, is_behind);
            came.push(opening.count);
            flows.extend(opening.numbers().map(|number| crowd.apps.start(now, CLIENT, number)));
            for mut flow in flows.drain(..ends) {
                crowd.apps.closed(now, &mut flow, FlowId(0), CLIENT, End::Closed);
            }
        }
        assert_eq!(came, opened);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn any_chunking_is_the_same(cuts in proptest::collection::vec(1usize..300, 1..20), requests in 1u32..6, seed: u64) {
        let size = |most| Size::Uniform { from: 0, to: most, seed };
        let app = AppPlan::raw(size(500), size(5_000), Some(requests), Delay::NONE);
        let mut wire = Wire::new(plan(app), &cuts);
        wire.open(7);
        wire.run(MINUTE);
        wire.assert_complete(1);
        let expected: u64 = (0..requests).map(|n| size(5_000).value(n.into())).sum();
        prop_assert_eq!(wire.client().bytes_received, expected);
    }
}
