//! Exact lists of segments. Sequence numbers count from the initial ones: 0 is the SYN, 1 the first byte.

use super::harness::{Link, Lone, Plan, Wire, both};
use crate::app::End;
use crate::endpoint::State;
use crate::options::{Congestion, TcpOptions, TimeWait};
use crate::segment::Flags;
use units::Nanos;

fn run(options: TcpOptions, plans: [Plan; 2], wire: Wire) -> Link {
    let mut link = Link::new(both(options), plans, wire);
    link.connect();
    link.run(Nanos::from_secs(1_000));
    for host in &link.hosts {
        assert_eq!((host.told.wrong, host.busy.in_use()), (0, 0));
    }
    link
}

fn request(bytes: u64) -> Plan {
    Plan { greet: bytes, close_on_finish: true, ..Plan::default() }
}

fn response(asked: u64, answer: u64) -> Plan {
    Plan { asked, answer, close_at: Some(asked), ..Plan::default() }
}

/// A session of one request and one response is six packets.
#[test]
fn one_request_takes_six_packets() {
    for time_wait in [TimeWait::Skip, TimeWait::For(Nanos::from_secs(1))] {
        let options = TcpOptions { time_wait, ..TcpOptions::default() };
        let mut link = run(options, [request(100), response(100, 1_000)], Wire::default());
        assert_eq!(
            link.told(),
            [
                "A SYN 0",
                "B SYN|ACK 0 ack 1",
                "A PSH|ACK 1+100 ack 1",
                "B FIN|PSH|ACK 1+1000 ack 101",
                "A FIN|ACK 101 ack 1002",
                "B ACK 1002 ack 102",
            ]
        );
        assert_eq!(link.ends(), [Some(End::Closed); 2]);
        for host in &link.hosts {
            assert_eq!((host.told.opened, host.told.finished), (1, 1));
            assert_eq!(host.busy.capacity(), 0, "no box was ever needed");
        }
        assert_eq!([link.hosts[0].told.received, link.hosts[1].told.received], [1_000, 100]);
        assert_eq!([link.hosts[0].told.acknowledged, link.hosts[1].told.acknowledged], [100, 1_000]);
    }
}

/// RFC 9293 section 3.8.6.3: every second segment at once, a last single one after the delay.
#[test]
fn acknowledges_every_second_segment() {
    let mut lone = Lone::server(TcpOptions::default());
    lone.data(1_448);
    assert!(lone.lines().is_empty());
    lone.data(1_448);
    assert_eq!(lone.lines(), ["ACK 1 ack 2897"]);
    lone.data(1_448);
    assert!(lone.wait_ms(39).is_empty());
    assert_eq!(lone.wait_ms(2), ["1 ms ACK 1 ack 4345"]);
}

/// RFC 9293 section 3.8.6.1: probes a closed window, the first time after the time-out, then at increasing intervals;
/// the window may stay closed as long as probes are acknowledged.
#[test]
fn probes_a_closed_window() {
    let mut lone =
        Lone::server(TcpOptions { rto_max: Nanos::from_secs(2), data_retries: 3, ..TcpOptions::default() });
    lone.send(10);
    assert_eq!(lone.lines(), ["PSH|ACK 1+10 ack 1"]);
    let mut closed = lone.ack(11);
    closed.window = 0;
    lone.put(&closed, b"");
    lone.send(5_000);
    assert!(lone.lines().is_empty());
    assert_eq!(lone.wait_ms(700), ["200 ms PSH|ACK 11+1 ack 1", "600 ms PSH|ACK 11+1 ack 1"]);
    for _ in 0..20 {
        lone.put(&closed, b"");
        let lines = lone.wait_ms(2_000);
        assert!(matches!(&lines[..], [probe] if probe.ends_with("PSH|ACK 11+1 ack 1")), "{lines:?}");
    }
    assert_eq!(lone.host.counts.window_probes, 22);
    // The byte of a probe may be taken.
    let mut open = lone.ack(12);
    open.window = 60_000;
    lone.put(&open, b"");
    assert_eq!(
        lone.lines(),
        ["ACK 12+1448 ack 1", "ACK 1460+1448 ack 1", "ACK 2908+1448 ack 1", "PSH|ACK 4356+655 ack 1"]
    );
    assert_eq!(lone.host.told.acknowledged, 11);
    let all = lone.ack(5_011);
    lone.put(&all, b"");
    assert_eq!((lone.host.told.acknowledged, lone.endpoint().deadline(lone.now)), (5_010, None));
}

/// Probes without a reply end the flow.
#[test]
fn unanswered_probes_end_the_flow() {
    let mut lone = Lone::server(TcpOptions { data_retries: 3, ..TcpOptions::default() });
    let mut closed = lone.header(Flags::ACK);
    closed.window = 0;
    lone.put(&closed, b"");
    lone.send(1);
    assert_eq!(lone.wait_ms(60_000).len(), 3);
    assert_eq!(lone.host.end, Some(End::Timeout));
}

/// A paused application closes the window; its peer probes, and continues once it reads again.
#[test]
fn a_paused_application_closes_the_window() {
    let options = TcpOptions { window: 4_344, window_scaling: false, ..TcpOptions::default() };
    let reader = Plan { pause_at: Some(0), pause_for: Nanos::from_millis(300), ..response(5_000, 0) };
    let mut link = run(options, [request(5_000), reader], Wire::default());
    assert_eq!(
        link.told(),
        [
            "A SYN 0",
            "B SYN|ACK 0 ack 1",
            "A ACK 1+1448 ack 1",
            "A ACK 1449+1448 ack 1",
            "A ACK 2897+1448 ack 1",
            "B ACK 1 ack 2897",
            "B ACK 1 ack 4345 win 0",
            "A PSH|ACK 4345+1 ack 1",
            "B ACK 1 ack 4345 win 0",
            "B ACK 1 ack 4345",
            "A PSH|ACK 4345+656 ack 1",
            "B FIN|ACK 1 ack 5001",
            "A FIN|ACK 5001 ack 2",
            "B ACK 2 ack 5002",
        ]
    );
    assert_eq!((link.hosts[1].told.received, link.hosts[1].counts.zero_windows_sent), (5_000, 1));
}

/// RFC 6675: the first segment is lost; three ranges, or two segments after it, are reported; it alone is sent again.
#[test]
fn sack_repairs_a_loss_without_a_time_out() {
    let wire = Wire { drops: [vec![1], vec![]], ..Wire::default() };
    let mut link = run(TcpOptions::default(), [request(7_240), response(7_240, 0)], wire);
    assert_eq!(
        link.told(),
        [
            "A SYN 0",
            "B SYN|ACK 0 ack 1",
            "A ACK 1+1448 ack 1",
            "A ACK 1449+1448 ack 1",
            "A ACK 2897+1448 ack 1",
            "A ACK 4345+1448 ack 1",
            "A PSH|ACK 5793+1448 ack 1",
            "B ACK 1 ack 1 sack 1449-2897",
            "B ACK 1 ack 1 sack 1449-4345",
            "B ACK 1 ack 1 sack 1449-5793",
            "B ACK 1 ack 1 sack 1449-7241",
            "A ACK 1+1448 ack 1",
            "B FIN|ACK 1 ack 7241",
            "A FIN|ACK 7241 ack 2",
            "B ACK 2 ack 7242",
        ]
    );
    assert_eq!((link.hosts[0].counts.retransmitted_fast, link.hosts[0].counts.timeouts), (1, 0));
}

/// RFC 6582: two losses, no SACK. Three duplicates bring the first segment back, a partial acknowledgement the second.
#[test]
fn newreno_repairs_one_loss_a_round_trip() {
    let options = TcpOptions { sack: false, timestamps: false, ..TcpOptions::default() };
    let wire = Wire { drops: [vec![1, 3], vec![]], ..Wire::default() };
    let mut link = run(options, [request(8_760), response(8_760, 0)], wire);
    let trace = link.told();
    assert_eq!(
        trace[2..],
        [
            "A ACK 1+1460 ack 1",
            "A ACK 1461+1460 ack 1",
            "A ACK 2921+1460 ack 1",
            "A ACK 4381+1460 ack 1",
            "A ACK 5841+1460 ack 1",
            "A PSH|ACK 7301+1460 ack 1",
            "B ACK 1 ack 1",
            "B ACK 1 ack 1",
            "B ACK 1 ack 1",
            "B ACK 1 ack 1",
            "A ACK 1+1460 ack 1",
            "B ACK 1 ack 2921",
            "A ACK 2921+1460 ack 1",
            "B FIN|ACK 1 ack 8761",
            "A FIN|ACK 8761 ack 2",
            "B ACK 2 ack 8762",
        ]
    );
    let counts = &link.hosts[0].counts;
    assert_eq!((counts.fast_recoveries, counts.retransmitted_fast, counts.timeouts), (1, 2, 0));
}

/// RFC 6298 section 5: the time-out doubles, and the flow ends after as many tries as allowed.
#[test]
fn time_outs_double() {
    let mut lone = Lone::client(TcpOptions { data_retries: 4, ..TcpOptions::default() });
    lone.send(100);
    assert_eq!(lone.lines(), ["PSH|ACK 1+100 ack 1"]);
    assert_eq!(
        lone.wait_ms(20_000),
        [
            "200 ms PSH|ACK 1+100 ack 1",
            "600 ms PSH|ACK 1+100 ack 1",
            "1400 ms PSH|ACK 1+100 ack 1",
            "3000 ms PSH|ACK 1+100 ack 1",
        ]
    );
    assert_eq!((lone.host.end, lone.host.counts.retransmitted_timeout), (Some(End::Timeout), 4));
    assert_eq!(lone.host.busy.in_use(), 0);
}

/// RFC 6298 section 5: a SYN likewise, from one second on.
#[test]
fn a_syn_is_repeated() {
    let mut lone = Lone::opening(TcpOptions { syn_retries: 3, ..TcpOptions::default() });
    assert_eq!(lone.wait_ms(60_000), ["1000 ms SYN 0", "3000 ms SYN 0", "7000 ms SYN 0"]);
    assert_eq!((lone.host.end, lone.host.counts.retransmitted_syn), (Some(End::SetupTimeout), 3));
    let mut lone = Lone::new(1, TcpOptions { syn_ack_retries: 2, ..TcpOptions::default() });
    let syn = lone.syn();
    lone.put(&syn, b"");
    assert_eq!(lone.lines(), ["SYN|ACK 0 ack 1"]);
    assert_eq!(lone.wait_ms(60_000), ["1000 ms SYN|ACK 0 ack 1", "3000 ms SYN|ACK 0 ack 1"]);
    assert_eq!(lone.host.end, Some(End::SetupTimeout));
}

/// RFC 9293 figure 8: both sides open at the same time.
#[test]
fn both_may_open_at_once() {
    let mut link = Link::new(both(TcpOptions::default()), [request(10), response(10, 20)], Wire::default());
    link.connect();
    let now = link.now;
    link.hosts[1].connect(now);
    link.run(Nanos::from_secs(10));
    assert_eq!(
        link.told(),
        [
            "A SYN 0",
            "B SYN 0",
            "B SYN|ACK 0 ack 1",
            "A SYN|ACK 0 ack 1",
            "A PSH|ACK 1+10 ack 1",
            "B FIN|PSH|ACK 1+20 ack 11",
            "A FIN|ACK 11 ack 22",
            "B ACK 22 ack 12",
        ]
    );
    assert_eq!(link.ends(), [Some(End::Closed); 2]);
    assert_eq!(link.hosts.each_ref().map(|host| (host.told.opened, host.told.finished)), [(1, 1); 2]);
}

/// RFC 9293 figure 13: both sides close at the same time.
#[test]
fn both_may_close_at_once() {
    let closes = Plan { close_at: Some(0), ..Plan::default() };
    let mut link =
        Link::new(both(TcpOptions::default()), [Plan::default(), Plan::default()], Wire::default());
    link.connect();
    link.run(Nanos::from_secs(1));
    link.told();
    for host in &mut link.hosts {
        host.plan = closes.clone();
        host.timer(link.now);
    }
    link.flush();
    assert_eq!(link.hosts[0].endpoint.as_ref().unwrap().state(), State::FinWait1);
    link.step(Nanos::MAX);
    assert_eq!(link.hosts[1].endpoint.as_ref().unwrap().state(), State::Closing);
    link.run(Nanos::from_secs(10));
    assert_eq!(link.told(), ["A FIN|ACK 1 ack 1", "B FIN|ACK 1 ack 1", "B ACK 2 ack 2", "A ACK 2 ack 2"]);
    assert_eq!(link.ends(), [Some(End::Closed); 2]);
}

/// RFC 9293 section 3.6: each side may continue to send after the other has finished.
#[test]
fn either_side_may_close_half() {
    // The client closes with its request, the server answers later.
    let client = Plan { greet: 10, close_at: Some(0), ..Plan::default() };
    let server = Plan { asked: 10, answer: 3_000, close_on_finish: true, ..Plan::default() };
    let mut link = run(TcpOptions::default(), [client, server], Wire::default());
    assert_eq!(
        link.told()[2..],
        [
            "A FIN|PSH|ACK 1+10 ack 1",
            "B ACK 1+1448 ack 12",
            "B ACK 1449+1448 ack 12",
            "B FIN|PSH|ACK 2897+104 ack 12",
            "A ACK 12 ack 2897",
            "A ACK 12 ack 3002",
        ]
    );
    assert_eq!((link.ends(), link.hosts[0].told.received), ([Some(End::Closed); 2], 3_000));
    // The server closes at once, the client sends after that.
    let client = Plan { asked: 0, greet: 5_000, close_on_finish: true, ..Plan::default() };
    let server = Plan { close_at: Some(0), ..Plan::default() };
    let link = run(TcpOptions::default(), [client, server], Wire::default());
    assert_eq!((link.ends(), link.hosts[1].told.received), ([Some(End::Closed); 2], 5_000));
}

/// A lost FIN is sent again, and so is its acknowledgement.
#[test]
fn lost_fins_are_repeated() {
    for (drops, lost) in [([vec![], vec![1]], "B"), ([vec![2], vec![]], "A"), ([vec![], vec![2]], "B")] {
        let wire = Wire { drops, ..Wire::default() };
        let link = run(TcpOptions::default(), [request(100), response(100, 1_000)], wire);
        assert_eq!(link.ends(), [Some(End::Closed); 2], "{lost} lost one: {:?}", link.trace);
        assert_eq!(link.hosts[0].told.received, 1_000);
    }
}

/// `close_by_reset`: once everything is acknowledged a reset takes the place of the FIN.
#[test]
fn may_close_by_reset() {
    let options = TcpOptions { close_by_reset: true, ..TcpOptions::default() };
    let client = Plan { greet: 100, close_at: Some(50), ..Plan::default() };
    let server = Plan { asked: 100, answer: 50, ..Plan::default() };
    let mut link = run(options, [client, server], Wire::default());
    assert_eq!(link.told()[2..], ["A PSH|ACK 1+100 ack 1", "B PSH|ACK 1+50 ack 101", "A RST|ACK 101 ack 51"]);
    assert_eq!(link.ends(), [Some(End::Closed), Some(End::ResetAcknowledged)]);
}

/// One segment in a hundred is lost: exactly those are sent again, without a time-out.
#[test]
fn exactly_what_was_lost_is_sent_again() {
    for congestion in [Congestion::Cubic, Congestion::NewReno] {
        let options = TcpOptions { congestion, window: 1 << 20, ..TcpOptions::default() };
        let wire = Wire { seed: 7, loss: 10, ..Wire::default() };
        let link = run(options, [request(5_000_000), response(5_000_000, 0)], wire);
        let (sender, receiver) = (&link.hosts[0].counts, &link.hosts[1].counts);
        let lost = sender.segments_out - receiver.segments_in;
        assert!(lost > 20);
        assert_eq!(
            (sender.retransmitted(), receiver.duplicates, sender.timeouts),
            (lost, 0, 0),
            "{congestion:?}"
        );
    }
}
