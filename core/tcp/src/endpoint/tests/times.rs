//! Loss by time, probes of the tail (RFC 8985), and reports of what came twice (RFC 2883): by hand, and on links in
//! virtual time that reorder or lose the tail.

use super::harness::{Link, Lone, Plan, Wire, both};
use crate::app::End;
use crate::options::{Congestion, TcpOptions};
use units::Nanos;

const RTT: Nanos = Nanos::from_millis(40);

fn plain() -> TcpOptions {
    TcpOptions { timestamps: false, ..TcpOptions::default() }
}

/// A server that knows its round-trip time of 40 ms and has sent this number of segments; the first begins at the
/// number returned.
fn sent(options: TcpOptions, segments: u64) -> (Lone, u32) {
    let mut lone = Lone::server(options);
    let mut at = 1;
    for _ in 0..60 {
        lone.send(1_460);
        assert_eq!(lone.lines().len(), 1);
        lone.now += RTT;
        at += 1_460;
        let header = lone.ack(at);
        lone.put(&header, b"");
    }
    let rtt = lone.endpoint().smoothed_rtt().unwrap();
    assert!(rtt.0.abs_diff(RTT.0) < 1_000_000, "{rtt:?}");
    lone.send(segments * 1_460);
    assert_eq!(lone.lines().len() as u64, segments);
    (lone, at)
}

/// Section 7.3: after two round trips without a word the last segment again, then the time-out as ever.
#[test]
fn the_tail_is_probed_after_two_round_trips() {
    let (mut lone, at) = sent(plain(), 3);
    let out = lone.wait_ms(85);
    assert_eq!(out, [format!("80 ms PSH|ACK {}+1460 ack 1", at + 2_920)]);
    let counts = &lone.host.counts;
    assert_eq!((counts.tail_probes, counts.timeouts, counts.retransmitted()), (1, 0, 1));
    // One probe, not one every two round trips.
    let out = lone.wait_ms(250);
    assert_eq!(out.len(), 1, "{out:?}");
    assert_eq!((lone.host.counts.tail_probes, lone.host.counts.timeouts), (1, 1));
}

/// Section 7.3: new data rather than old, regardless of the congestion window.
#[test]
fn a_probe_prefers_new_data() {
    let (mut lone, at) = sent(TcpOptions { initial_window: 4, ..plain() }, 4);
    let cwnd = u64::from(lone.endpoint().cwnd()) / 1_460;
    lone.send(1_460 * 200);
    let more = lone.lines().len() as u64;
    assert_eq!(more + 4, cwnd, "the window is full");
    let probe = lone.wait_ms(90);
    assert!(probe[0].contains(&format!("{}+1460", u64::from(at) + cwnd * 1_460)), "{probe:?}");
    assert_eq!((lone.host.counts.retransmitted(), lone.host.counts.tail_probes), (0, 1));
}

/// Section 7.2: a lone segment waits for the time-out, and so does a peer without SACK.
#[test]
fn a_lone_segment_is_not_probed() {
    let (mut lone, _) = sent(plain(), 1);
    lone.wait_ms(190);
    assert_eq!((lone.host.counts.tail_probes, lone.host.counts.timeouts), (0, 0));
    for options in [TcpOptions { rack: false, ..plain() }, TcpOptions { sack: false, ..plain() }] {
        let (mut lone, _) = sent(options, 3);
        lone.wait_ms(190);
        assert_eq!(lone.host.counts.tail_probes, 0);
    }
}

/// The last three of five are lost: the probe's SACK and a quarter of a round trip reveal the other two, without a
/// time-out.
#[test]
fn a_lost_tail_is_repaired_without_a_time_out() {
    let (mut lone, at) = sent(plain(), 5);
    let of = |segment: u32| at + segment * 1_460;
    lone.now += RTT;
    let header = lone.ack(of(2));
    lone.put(&header, b"");
    let out = lone.wait_ms(85);
    assert_eq!(out.len(), 1, "{out:?}");
    assert!(out[0].contains(&format!("{}+1460", of(4))), "{out:?}");
    lone.now += RTT;
    let header = lone.sack(of(2), &[(of(4), of(5))]);
    lone.put(&header, b"");
    assert!(lone.lines().is_empty(), "not before the reordering window is over");
    let out = lone.wait_ms(12);
    assert_eq!(out.len(), 2, "{out:?}");
    assert!(out[0].starts_with("10 ms") && out[0].contains(&format!("{}+1460", of(2))), "{out:?}");
    assert!(out[1].contains(&format!("{}+1460", of(3))), "{out:?}");
    let counts = &lone.host.counts;
    assert_eq!((counts.timeouts, counts.fast_recoveries, counts.tail_probes), (0, 1, 1));
}

/// Section 7.4.2: a probe that repaired the only loss halves the window; one that came for nothing does not.
#[test]
fn a_probe_that_repaired_a_loss_slows_down() {
    for (repaired, slower) in [(true, true), (false, false)] {
        let (mut lone, at) = sent(plain(), 3);
        let end = at + 3 * 1_460;
        let before = lone.endpoint().cwnd();
        assert_eq!(lone.wait_ms(85).len(), 1);
        lone.send(2 * 1_460);
        assert_eq!(lone.lines().len(), 2);
        let header = if repaired { lone.ack(end) } else { lone.sack(end, &[(end - 1_460, end)]) };
        lone.put(&header, b"");
        let header = lone.ack(end + 2_920);
        lone.put(&header, b"");
        assert_eq!(lone.endpoint().cwnd() < before, slower);
        assert_eq!(lone.host.counts.duplicates_reported, u64::from(!repaired));
        assert!(!lone.endpoint().is_busy());
    }
}

/// Section 6.2 step 3: once segments have overtaken each other, three after a gap mean no loss; time does.
#[test]
fn a_path_that_reorders_is_given_time() {
    let (mut lone, at) = sent(plain(), 10);
    let of = |segment: u32| at + segment * 1_460;
    lone.now += RTT;
    // The first comes after the second, by itself.
    let header = lone.sack(at, &[(of(1), of(2))]);
    lone.put(&header, b"");
    let header = lone.ack(of(2));
    lone.put(&header, b"");
    assert!(lone.lines().is_empty());
    // Now the third is behind five others.
    for last in 4..=8 {
        let header = lone.sack(of(2), &[(of(3), of(last))]);
        lone.put(&header, b"");
    }
    assert!(lone.lines().is_empty(), "they may have overtaken it");
    let out = lone.wait_ms(12);
    assert_eq!(out, [format!("10 ms ACK {}+1460 ack 1", of(2))]);
    assert_eq!((lone.host.counts.fast_recoveries, lone.host.counts.timeouts), (1, 0));
}

/// Section 6.2 step 4: reports of what came twice make the window wider, by a quarter of a round trip each, to one.
#[test]
fn duplicates_widen_the_window() {
    let (mut lone, at) = sent(plain(), 10);
    let of = |segment: u32| at + segment * 1_460;
    let header = lone.sack(at, &[(of(1), of(2))]);
    lone.put(&header, b"");
    let out = lone.wait_ms(12);
    assert!(out[0].starts_with("10 ms"), "{out:?}");
    // It had only been late: the second copy came twice.
    let header = lone.sack(of(2), &[(of(0), of(1))]);
    lone.put(&header, b"");
    assert_eq!(lone.host.counts.duplicates_reported, 1);
    let header = lone.sack(of(2), &[(of(3), of(4))]);
    lone.put(&header, b"");
    let out = lone.wait_ms(22);
    let repeats: Vec<_> = out.iter().filter(|line| line.contains(&format!(" {}+1460", of(2)))).collect();
    assert!(repeats[0].starts_with("20 ms") || repeats[0].starts_with("19 ms"), "{out:?}");
}

/// Section 6.2: what was sent again and is lost again is sent a third time without a time-out.
#[test]
fn a_lost_repeat_is_repeated() {
    let (mut lone, at) = sent(plain(), 10);
    let of = |segment: u32| at + segment * 1_460;
    for last in 2..=4 {
        let header = lone.sack(at, &[(of(1), of(last))]);
        lone.put(&header, b"");
    }
    assert_eq!(lone.lines().iter().filter(|line| line.contains(&format!(" {at}+1460"))).count(), 1);
    lone.send(30 * 1_460);
    for last in 5..=10 {
        let header = lone.sack(at, &[(of(1), of(last))]);
        lone.put(&header, b"");
        lone.lines();
    }
    lone.now += RTT;
    let nxt = lone.header(crate::segment::Flags::ACK).ack.wrapping_sub(lone.host.iss);
    assert!(nxt > of(10), "new data went out behind the repeat");
    let header = lone.sack(at, &[(of(1), nxt)]);
    lone.put(&header, b"");
    lone.lines();
    let out = lone.wait_ms(15);
    assert!(out.iter().any(|line| line.contains(&format!(" {at}+1460"))), "{out:?}");
    assert_eq!(lone.host.counts.timeouts, 0);
}

/// RFC 2883 section 4: the first block reports a duplicate, below the acknowledgement or in a block above it; once.
#[test]
fn what_came_twice_is_reported_first() {
    let mut lone = Lone::server(plain());
    lone.data(1_000);
    lone.data(1_000);
    assert_eq!(lone.lines(), ["ACK 1 ack 2001"]);
    lone.data_at(501, 400);
    assert_eq!(lone.lines(), ["ACK 1 ack 2001 sack 501-901"]);
    // A part is new: the rest came twice.
    lone.data_at(1_501, 1_000);
    assert_eq!(lone.lines(), ["ACK 1 ack 2501 sack 1501-2001"]);
    // Above a gap.
    lone.data_at(4_001, 1_000);
    assert_eq!(lone.lines(), ["ACK 1 ack 2501 sack 4001-5001"]);
    lone.data_at(4_001, 500);
    assert_eq!(lone.lines(), ["ACK 1 ack 2501 sack 4001-4501 sack 4001-5001"]);
    lone.data_at(6_001, 500);
    assert_eq!(lone.lines(), ["ACK 1 ack 2501 sack 6001-6501 sack 4001-5001"]);
    let mut lone = Lone::server(TcpOptions { sack: false, ..plain() });
    lone.data(1_000);
    lone.data_at(1, 1_000);
    assert_eq!(lone.lines(), ["ACK 1 ack 1001"], "without agreement there is no report");
}

fn transfer(options: TcpOptions, wire: Wire, bytes: u64) -> Link {
    let client = Plan { close_on_finish: true, ..Plan::default() };
    let server = Plan { greet: bytes, close_at: Some(0), ..Plan::default() };
    let mut link = Link::new(both(options), [client, server], wire);
    link.connect();
    link.run(Nanos::from_secs(1_000));
    assert_eq!(link.ends(), [Some(End::Closed); 2]);
    assert_eq!((link.hosts[0].told.received, link.hosts[0].told.wrong), (bytes, 0));
    link
}

/// A path on which segments overtake each other and none is lost: counting takes that for loss and slows down.
#[test]
fn reordering_is_not_taken_for_loss() {
    let took = |rack: bool| -> (u64, u64) {
        let each = |seed| {
            let wire = Wire {
                seed,
                delay: Nanos::from_millis(20),
                jitter: Nanos::from_millis(8),
                steady: [true, false],
                ..Wire::default()
            };
            let link = transfer(TcpOptions { rack, ..TcpOptions::default() }, wire, 400_000);
            let counts = &link.hosts[1].counts;
            (link.now.0 / 1_000_000, counts.fast_recoveries)
        };
        (1..=8).map(each).fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1))
    };
    let (by_time, by_count) = (took(true), took(false));
    assert!(by_time.0 * 5 < by_count.0 * 4 && by_time.1 * 2 < by_count.1, "{by_time:?} and {by_count:?}");
}

/// The last segments of a response are lost: with probes no flow waits for a time-out.
#[test]
fn a_lost_tail_takes_no_time_out_on_a_link() {
    for lost in [vec![9, 10], vec![8, 9, 10], vec![7, 8, 9, 10]] {
        let run = |rack: bool| {
            let wire =
                Wire { delay: Nanos::from_millis(20), drops: [Vec::new(), lost.clone()], ..Wire::default() };
            transfer(TcpOptions { rack, ..TcpOptions::default() }, wire, 14_000)
        };
        let (with, without) = (run(true), run(false));
        assert_eq!(with.hosts[1].counts.timeouts, 0, "{lost:?}");
        assert!(with.hosts[1].counts.tail_probes > 0 && without.hosts[1].counts.timeouts > 0, "{lost:?}");
    }
}

/// RFC 3708, RFC 9438 section 4.9: all that a repair sent again came twice, so the window is as before it.
#[test]
fn a_repair_for_nothing_is_undone() {
    for congestion in [Congestion::Cubic, Congestion::NewReno] {
        let (mut lone, at) = sent(TcpOptions { congestion, ..plain() }, 10);
        let of = |segment: u32| at + segment * 1_460;
        let before = lone.endpoint().cwnd();
        // The first three are late: each of the others says so.
        for last in 4..=7 {
            let header = lone.sack(at, &[(of(3), of(last))]);
            lone.put(&header, b"");
        }
        assert_eq!(lone.host.counts.fast_recoveries, 1);
        lone.wait_ms(1);
        let repeats = lone.host.counts.retransmitted();
        assert!(repeats >= 1 && lone.endpoint().cwnd() < before, "{repeats}");
        // They arrive; then what was sent again does.
        let header = lone.ack(of(7));
        lone.put(&header, b"");
        assert!(lone.endpoint().cwnd() < before);
        for repeat in 0..repeats as u32 {
            assert_eq!(lone.host.counts.spurious_repairs, 0);
            let header = lone.sack(of(7), &[(of(repeat), of(repeat + 1))]);
            lone.put(&header, b"");
        }
        assert_eq!(lone.host.counts.spurious_repairs, 1);
        assert!(lone.endpoint().cwnd() >= before, "{} of {before}", lone.endpoint().cwnd());
    }
}

/// A segment that was overtaken for many round trips: the report comes when much after the repair is acknowledged, and
/// counts; after a time-out it counts no more.
#[test]
fn a_late_report_undoes_a_repair() {
    for (late_ms, undone) in [(20, 1), (2_000, 0)] {
        let (mut lone, at) = sent(plain(), 10);
        let of = |segment: u32| at + segment * 1_460;
        let before = lone.endpoint().cwnd();
        for last in 2..=9 {
            let header = lone.sack(at, &[(of(1), of(last))]);
            lone.put(&header, b"");
        }
        lone.wait_ms(1);
        assert_eq!((lone.host.counts.fast_recoveries, lone.host.counts.retransmitted()), (1, 1));
        // The copy arrives; more is sent and acknowledged, but for the last segment.
        let header = lone.ack(of(9));
        lone.put(&header, b"");
        lone.send(20 * 1_460);
        for segment in 10..14 {
            lone.wait_ms(1);
            let header = lone.ack(of(segment));
            lone.put(&header, b"");
        }
        lone.now = lone.now.saturating_add(Nanos::from_millis(late_ms));
        let header = lone.ack(of(14));
        lone.put(&header, b"");
        assert!(lone.endpoint().cwnd() < before);
        let header = lone.sack(of(14), &[(of(0), of(1))]);
        lone.put(&header, b"");
        assert_eq!(lone.host.counts.spurious_repairs, undone, "{late_ms} ms");
        assert_eq!(lone.endpoint().cwnd() >= before, undone == 1, "{} of {before}", lone.endpoint().cwnd());
    }
}

/// One of two repeats was needed: the window stays as it is.
#[test]
fn a_repair_that_was_needed_stands() {
    let (mut lone, at) = sent(plain(), 10);
    let of = |segment: u32| at + segment * 1_460;
    let before = lone.endpoint().cwnd();
    for last in 4..=8 {
        let header = lone.sack(at, &[(of(3), of(last))]);
        lone.put(&header, b"");
    }
    lone.wait_ms(1);
    assert!(lone.host.counts.retransmitted() >= 2, "{}", lone.host.counts.retransmitted());
    let header = lone.sack(of(8), &[(of(0), of(1))]);
    lone.put(&header, b"");
    assert_eq!((lone.host.counts.spurious_repairs, lone.host.counts.duplicates_reported), (0, 1));
    assert!(lone.endpoint().cwnd() < before);
}

/// A time-out while everything was only late, as behind a stalled link: the reports restore the window.
#[test]
fn a_time_out_for_nothing_is_undone() {
    let (mut lone, at) = sent(TcpOptions { rack: false, ..plain() }, 6);
    let of = |segment: u32| at + segment * 1_460;
    let before = lone.endpoint().cwnd();
    let out = lone.wait_ms(400);
    assert_eq!((lone.host.counts.timeouts, lone.host.counts.retransmitted()), (1, 1), "{out:?}");
    assert_eq!(lone.endpoint().cwnd(), 1_460);
    // Three of the originals, and the copy of the first.
    let header = lone.sack(of(3), &[(of(0), of(1))]);
    lone.put(&header, b"");
    assert_eq!(lone.host.counts.spurious_repairs, 1);
    assert!(lone.endpoint().cwnd() >= before, "{} of {before}", lone.endpoint().cwnd());
    assert!(lone.lines().is_empty(), "nothing is lost");
}
