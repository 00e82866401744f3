//! Both ends over connections of a plain QUIC, and each end before one that does something else.

use crate::plan::*;
use crate::quic::plain::{Against, STREAMS, early, failures, joined_at, joined_by};
use crate::quic::{Quic, QuicEnd, QuicEvent};
use crate::scale::Scale;
use crate::{Counts, Reason};
use std::sync::Arc;
use tcp::{App, End, FlowId, GroupId};
use units::{Nanos, Pps};

fn by(streams: u16, unidirectional: bool) -> QuicOptions {
    QuicOptions {
        client: QuicPlan { streams, unidirectional, ..QuicPlan::default() },
        ..QuicOptions::default()
    }
}

fn raw(request: u64, response: u64, requests: u32) -> AppPlan {
    AppPlan::raw(Size::Fixed(request), Size::Fixed(response), Some(requests), Delay::NONE)
}

fn both(ends: &[crate::quic::plain::Half; 2]) -> [&Counts; 2] {
    [ends[0].counts(), ends[1].counts()]
}

#[test]
fn programs_run_beside_each_other_on_streams_of_either_kind() {
    // More than the other end takes at a time, too.
    for (streams, one_way) in [(1, false), (7, false), (1, true), (7, true), (120, false), (120, true)] {
        let ends = joined_by(&raw(300, 5_000, 20), by(streams, one_way), 3_000, None);
        let [client, server] = both(&ends);
        let text = format!("{streams} {one_way}: {:?} {:?}", client.details, server.details);
        assert_eq!((failures(client), failures(server)), (vec![], vec![]), "{text}");
        assert_eq!((client.attempted, client.completed, server.completed), (1, 1, 1), "{text}");
        let all = u64::from(streams) * 20;
        assert_eq!((client.requests, client.transactions, server.transactions), (all, all, all), "{text}");
        assert_eq!((server.bytes_received, client.bytes_received), (all * 300, all * 5_000), "{text}");
        assert!(ends.iter().all(|half| half.end.is_some() && half.extras() == 0), "{text}: all is gone");
    }
}

/// Messages before the first response go with the handshake. If they are rejected they come again, byte for byte, and count
/// once.
#[test]
fn early_data_is_taken_or_sent_again() {
    for is_accepted in [true, false] {
        for (streams, one_way) in [(1, false), (5, false), (5, true)] {
            let QuicOptions { client, .. } = by(streams, one_way);
            let options = early(is_accepted);
            let options = QuicOptions { client: QuicPlan { early_data: true, ..client }, ..options };
            let ends = joined_by(&raw(3_000, 5_000, 4), options, 3_000, None);
            let [client, server] = both(&ends);
            let text =
                format!("{is_accepted} {streams} {one_way}: {:?} {:?}", client.details, server.details);
            assert_eq!((failures(client), failures(server)), (vec![], vec![]), "{text}");
            let all = u64::from(streams) * 4;
            assert_eq!((client.completed, client.requests, server.transactions), (1, all, all), "{text}");
            assert_eq!((server.bytes_received, client.bytes_received), (all * 3_000, all * 5_000), "{text}");
            assert_eq!((client.bytes_delivered, client.bytes_sent), (all * 3_000, all * 3_000), "{text}");
            let (quic, taken) = (&client.quic, u64::from(is_accepted));
            assert_eq!((quic.early_data_accepted, quic.early_data_rejected), (taken, 1 - taken), "{text}");
            assert_eq!(
                (quic.early_requests, server.quic.early_data_accepted),
                (streams.into(), taken),
                "{text}"
            );
            assert!(ends.iter().all(|half| half.end.is_some() && half.extras() == 0), "{text}: all is gone");
        }
    }
}

/// A stream that is reset in early data is reset again where the server did not take that.
#[test]
fn early_data_may_end_with_a_reset() {
    for is_accepted in [true, false] {
        let client = Program { ops: vec![Op::Send(Content::generated(Size::Fixed(900))), Op::Reset] };
        let server =
            Program { ops: vec![Op::Expect(Expect::Content(Content::generated(Size::Fixed(9_000))))] };
        let app = AppPlan::Program { client: Arc::new(client), server: Arc::new(server) };
        let ends = joined_by(&app, early(is_accepted), 3_000, None);
        let [client, server] = both(&ends);
        let text = format!("{is_accepted}: {:?} {:?}", client.details, server.details);
        assert_eq!((failures(client), client.completed), (vec![], 1), "{text}");
        assert_eq!(failures(server), [(Reason::StreamReset, 1)], "{text}");
        assert!(ends.iter().all(|half| half.end.is_some() && half.extras() == 0), "{text}: all is gone");
    }
}

/// A client that only sends has done nothing yet if there is no handshake.
#[test]
fn early_data_without_a_handshake_is_a_failure() {
    let client = Program { ops: vec![Op::Send(Content::generated(Size::Fixed(900)))] };
    let server = Program { ops: vec![Op::Expect(Expect::Content(Content::generated(Size::Fixed(900))))] };
    let app = AppPlan::Program { client: Arc::new(client), server: Arc::new(server) };
    let mut alone = crate::quic::plain::Half::new(app, early(true), Side::Client);
    alone.start(Nanos::from_secs(1));
    for second in 1..8 {
        alone.turn(Nanos::from_secs(second), Vec::new());
    }
    let counts = alone.counts();
    assert_eq!((failures(counts), counts.completed), (vec![(Reason::SetupTimeout, 1)], 0));
    assert_eq!((counts.bytes_delivered, counts.quic.early_requests), (0, 1));
}

#[test]
fn a_client_that_only_sends_needs_no_stream_of_its_server() {
    let client = Program { ops: vec![Op::Send(Content::generated(Size::Fixed(9_000)))] };
    let server = Program { ops: vec![Op::Expect(Expect::Content(Content::generated(Size::Fixed(9_000))))] };
    let app = AppPlan::Program { client: Arc::new(client), server: Arc::new(server) };
    let ends = joined_by(&app, by(3, true), 3_000, None);
    let [client, server] = both(&ends);
    assert_eq!((failures(client), failures(server)), (vec![], vec![]), "{:?}", server.details);
    assert_eq!((client.completed, server.completed, server.bytes_received), (1, 1, 27_000));
}

#[test]
fn the_end_of_a_run_ends_all_of_them() {
    let app = AppPlan::raw(Size::Fixed(100), Size::Fixed(100), None, Delay::NONE);
    let ends = joined_by(&app, by(5, false), 3_000, Some(200));
    let [client, server] = both(&ends);
    assert_eq!((failures(client), failures(server)), (vec![], vec![]), "{:?}", client.details);
    assert_eq!((client.completed, client.stopped, server.completed), (1, 1, 1));
    assert!(client.transactions > 50 && client.transactions == server.transactions);
}

#[test]
fn one_stream_that_fails_fails_the_session() {
    let mut against = Against::by(raw(10, 10, 2), by(3, false), Side::Client);
    against.peer.reset(4, 9);
    against.run(20);
    let counts = against.half.counts();
    assert_eq!(failures(counts), [(Reason::StreamReset, 1)]);
    assert_eq!(counts.details.keys().collect::<Vec<_>>(), ["RESET_STREAM: code 0x9"]);
    assert!(against.events.contains(&QuicEvent::Lost(QuicEnd::Application(1))), "{:?}", against.events);
    // The server closes while responses are outstanding.
    let mut against = Against::by(raw(10, 10, 2), by(3, false), Side::Client);
    against.peer.close(Nanos::ZERO, 0);
    against.run(20);
    assert_eq!(failures(against.half.counts()), [(Reason::ClosedEarly, 1)]);
}

#[test]
fn streams_of_the_other_kind_are_refused() {
    for (one_way, refused) in [(false, 2), (true, 0)] {
        let mut against = Against::by(raw(10, 10, 1), by(1, one_way), Side::Server);
        let [uni, bi] = [false, true].map(|both_ways| against.peer.open(both_ways).unwrap());
        for stream in if one_way { [bi, uni] } else { [uni, bi] } {
            against.peer.send(stream, &[7; 10]);
            against.peer.finish(stream);
        }
        against.run(5);
        assert!(against.events.contains(&QuicEvent::Stopped(refused, 0)), "{one_way}: {:?}", against.events);
        against.peer.close(Nanos::ZERO, 0);
        against.run(20);
        assert_eq!(against.half.counts().bytes_received, 10, "{one_way}");
    }
}

/// Streams of a server are opened in the order of its programs, whichever of them has something to send first.
#[test]
fn a_stream_that_is_opened_for_a_later_program_is_used() {
    let answer = Op::Send(Content::generated(Size::Fixed(10)));
    let server = Program { ops: vec![Op::Expect(Expect::Bytes(10)), answer, Op::Expect(Expect::End)] };
    let app = AppPlan::Program { client: Arc::new(Program { ops: Vec::new() }), server: Arc::new(server) };
    let mut against = Against::by(app, by(1, true), Side::Server);
    let client = |place: u64| place << 2 | 2;
    let server = |place: u64| QuicEvent::Readable(place << 2 | 3);
    // As many as the client takes respond, and do not end.
    let later = [STREAMS + 1, STREAMS];
    for place in (0..STREAMS).chain(later) {
        against.peer.send(client(place), &[7; 10]);
    }
    against.run(5);
    let is_answered = |against: &Against, place| against.events.contains(&server(place));
    assert!((0..STREAMS).all(|place| is_answered(&against, place)), "{:?}", against.events);
    for (ended, place) in later.into_iter().rev().enumerate() {
        assert!(!later[..2 - ended].iter().any(|place| is_answered(&against, *place)));
        against.peer.finish(client(ended as u64));
        against.run(5);
        assert!(is_answered(&against, place), "{place}: {:?}", against.events);
    }
}

/// Programs on streams beside each other wait for a turn each, and others can take all of them.
#[test]
fn the_turns_of_all_streams_come_back() {
    joined_at(&raw(10, 10, 3), by(5, false), Some(Pps::new(10)), 60, |milli, now, client| {
        if milli == 50 {
            client.tell(|apps, flow, _| {
                apps.closed(now, flow, FlowId(0), GroupId(0), End::Reset);
                let unsent = |milli| apps.unsent_requests(0, Nanos::from_millis(milli));
                assert_eq!([1_050, 1_150, 1_250, 1_450, 1_550, 2_000].map(unsent), [0, 1, 2, 4, 5, 5]);
            });
            client.end = Some(End::Reset);
        }
    });
}

/// They request others when the rate changes, even if something comes before they are woken for that.
#[test]
fn the_turns_of_all_streams_are_requested_again() {
    let quic = by(5, false);
    let ends =
        joined_at(&raw(10, 10, 3), quic, Some(Pps::new(100)), 2_000, |milli, now, client| match milli {
            0 => client.tell(|apps, _, _| assert!(apps.scale(0, now, Scale::new(0, 1)))),
            20 => {
                client.tell(|apps, flow, io| {
                    apps.scale(0, now, Scale::ONE);
                    apps.ask_again(now, flow, io);
                });
                let mut nothing = crate::quic::plain::Plain::default();
                nothing.join();
                client.tell(|apps, flow, io| apps.received(now, flow, io, &nothing.out[0]));
            }
            _ => {}
        });
    let [client, server] = both(&ends);
    assert_eq!((failures(client), failures(server)), (vec![], vec![]), "{:?}", client.details);
    assert_eq!((client.completed, client.requests, server.transactions), (1, 15, 15));
}

/// Turns from before the rate changed do not come back.
#[test]
fn turns_of_the_old_rate_do_not_come_back() {
    joined_at(&raw(10, 10, 3), by(5, false), Some(Pps::new(10)), 60, |milli, now, client| {
        if milli == 50 {
            client.tell(|apps, flow, _| {
                apps.scale(0, now, Scale::new(2, 1));
                apps.closed(now, flow, FlowId(0), GroupId(0), End::Reset);
                assert_eq!(apps.unsent_requests(0, Nanos::from_secs(3)), 0);
            });
            client.end = Some(End::Reset);
        }
    });
}
