//! Rule by rule, on one endpoint whose peer is played by hand.

use super::harness::{Lone, MSS};
use crate::app::End;
use crate::endpoint::timers::Variation;
use crate::endpoint::{State, bit};
use crate::group::mss_unsaid;
use crate::options::{Congestion, TcpOptions, TimeWait};
use crate::segment::{Flags, SegmentHeader};
use units::Nanos;

/// Without loss detection by time, which has a separate page.
fn defaults() -> TcpOptions {
    TcpOptions { rack: false, ..TcpOptions::default() }
}

/// Without timestamps, so that segments are whole 1460 bytes.
fn plain() -> TcpOptions {
    TcpOptions { timestamps: false, ..defaults() }
}

fn moved(header: SegmentHeader, by: u32) -> SegmentHeader {
    SegmentHeader { seq: header.seq.wrapping_add(by), ..header }
}

mod opening {
    use super::*;

    #[test]
    fn a_syn_offers_what_the_options_say() {
        let mut lone = Lone::new(0, TcpOptions { ecn: true, window: 1 << 20, ..defaults() });
        lone.host.connect(lone.now);
        let syn = lone.out()[0].header;
        assert_eq!((syn.flags, syn.ack, syn.window), (Flags::SYN | Flags::ECE | Flags::CWR, 0, u16::MAX));
        assert_eq!((syn.mss, syn.window_scale, syn.sack_permitted), (Some(MSS), Some(5), true));
        assert_eq!(syn.timestamps.map(|times| times.echo), Some(0));
        let off = TcpOptions { timestamps: false, sack: false, window_scaling: false, ..defaults() };
        let mut lone = Lone::new(0, TcpOptions { mss: Some(900), ..off });
        lone.host.connect(lone.now);
        let syn = lone.out()[0].header;
        assert_eq!((syn.flags, syn.mss, syn.window_scale), (Flags::SYN, Some(900), None));
        assert_eq!((syn.sack_permitted, syn.timestamps), (false, None));
    }

    #[test]
    fn a_syn_ack_agrees_to_what_was_offered() {
        let mut lone = Lone::new(1, TcpOptions { ecn: true, ..defaults() });
        let syn = lone.syn();
        lone.put(&SegmentHeader { flags: Flags::SYN | Flags::ECE | Flags::CWR, ..syn }, b"");
        let answer = lone.out()[0].header;
        assert_eq!(answer.flags, Flags::SYN | Flags::ACK | Flags::ECE);
        assert_eq!(answer.timestamps.map(|times| times.echo), syn.timestamps.map(|times| times.value));
        assert!(answer.sack_permitted && answer.window_scale.is_some());
        let mut lone = Lone::new(1, TcpOptions { ecn: true, ..defaults() });
        let bare = SegmentHeader { seq: 70_000, flags: Flags::SYN, window: 100, ..SegmentHeader::default() };
        lone.put(&bare, b"");
        let answer = lone.out()[0].header;
        assert_eq!((answer.flags, answer.sack_permitted), (Flags::SYN | Flags::ACK, false));
        assert_eq!((answer.timestamps, answer.window_scale, answer.mss), (None, None, Some(MSS)));
    }

    /// RFC 9293 section 3.7.1 (MUST-15): 536 bytes to a peer that announces none, over IPv6 1,220.
    #[test]
    fn without_an_mss_option_segments_have_the_default_length() {
        let expected = [
            (false, ["ACK 1+536 ack 1", "ACK 537+536 ack 1", "PSH|ACK 1073+228 ack 1"].as_slice()),
            (true, &["ACK 1+1220 ack 1", "PSH|ACK 1221+80 ack 1"]),
        ];
        for (is_v6, expected) in expected {
            let mut lone = Lone::new(1, plain());
            lone.host.mss_unsaid = mss_unsaid(is_v6);
            lone.accept_by(|syn| syn.mss = None);
            lone.send(1_300);
            assert_eq!(lone.lines(), expected);
        }
    }

    /// RFC 9293 section 3.7.1, RFC 6691: the least of both sides, and options take from it.
    #[test]
    fn the_least_mss_counts_and_options_take_from_it() {
        let mut lone = Lone::server_by(defaults(), |syn| syn.mss = Some(1_000));
        lone.send(2_000);
        assert_eq!(lone.out()[0].len, 988);
        let mut lone = Lone::server(TcpOptions { mss: Some(600), ..plain() });
        lone.send(2_000);
        assert_eq!(lone.out()[0].len, 600);
        // A peer's nonsense leaves room for options and some payload.
        let mut lone = Lone::server_by(defaults(), |syn| syn.mss = Some(0));
        lone.send(2_000);
        assert_eq!(lone.out()[0].len, 52);
    }

    /// RFC 7323 section 2: windows are scaled if both announce it, but not on SYNs.
    #[test]
    fn windows_are_scaled() {
        let options = TcpOptions { window: 1 << 24, ..plain() };
        let mut lone = Lone::server_by(options.clone(), |syn| {
            syn.window_scale = Some(7);
            syn.window = 2_000;
        });
        assert_eq!(u32::from(lone.endpoint().snd_wnd) << 7, 60_000 << 7);
        lone.data(2_000);
        lone.data(2_000);
        assert_eq!(u32::from(lone.out()[0].header.window) << 9, 1 << 24);
        let mut lone = Lone::server_by(options, |syn| syn.window_scale = None);
        assert_eq!((lone.endpoint().scales, lone.endpoint().snd_wnd), (0, 60_000));
        lone.data(2_000);
        lone.data(2_000);
        assert_eq!(lone.out()[0].header.window, u16::MAX);
    }

    /// RFC 9293 section 3.10.7.3: an acknowledgement of what was not sent gets a reset; the flow lives on.
    #[test]
    fn syn_sent_resets_strays() {
        let mut lone = Lone::opening(defaults());
        let mut stray = lone.header(Flags::ACK);
        (stray.ack, stray.timestamps) = (lone.host.iss + 77, None);
        lone.put(&stray, b"");
        assert_eq!(lone.lines(), ["RST 77"]);
        assert_eq!((lone.endpoint().state(), lone.host.busy.in_use()), (State::SynSent, 0));
        // A reset that acknowledges nothing, or the wrong thing, is no refusal.
        lone.put(&SegmentHeader { flags: Flags::RST, ..stray }, b"");
        lone.put(&SegmentHeader { flags: Flags::RST | Flags::ACK, ..stray }, b"");
        assert_eq!((lone.host.end, lone.lines().len()), (None, 0));
        stray.ack = lone.host.iss + 1;
        lone.put(&SegmentHeader { flags: Flags::RST | Flags::ACK, ..stray }, b"");
        assert_eq!(lone.host.end, Some(End::Refused));
        assert!(lone.lines().is_empty());
    }

    /// Data with a SYN-ACK are accepted; data with a SYN are not, and sent again by the peer.
    #[test]
    fn takes_data_with_a_syn_ack() {
        let mut lone = Lone::opening(defaults());
        let bytes = lone.bytes(1, 50);
        let syn = SegmentHeader {
            flags: Flags::SYN | Flags::ACK | Flags::FIN,
            ack: lone.host.iss + 1,
            ..lone.syn()
        };
        lone.put(&syn, &bytes);
        assert_eq!((lone.host.told.received, lone.host.told.finished, lone.host.told.wrong), (50, 1, 0));
        assert_eq!(
            (lone.lines(), lone.endpoint().state()),
            (vec!["ACK 1 ack 52".to_string()], State::CloseWait)
        );
        let mut lone = Lone::new(1, defaults());
        let syn = lone.syn();
        let bytes = lone.bytes(1, 50);
        lone.put(&syn, &bytes);
        assert_eq!(lone.lines(), ["SYN|ACK 0 ack 1"]);
        assert_eq!(lone.host.told.received, 0);
    }

    /// A handshake's last acknowledgement may be lost: data do as well, even with a FIN.
    #[test]
    fn data_complete_the_handshake() {
        let mut lone = Lone::new(1, defaults());
        let syn = lone.syn();
        lone.put(&syn, b"");
        lone.lines();
        lone.nxt = 1;
        let bytes = lone.bytes(1, 10);
        lone.say(Flags::ACK | Flags::FIN, &bytes);
        assert_eq!((lone.host.told.opened, lone.host.told.received, lone.host.told.finished), (1, 10, 1));
        assert_eq!(lone.lines(), ["ACK 1 ack 12"]);
    }

    /// A repeated SYN gets a reply immediately; one with another number is challenged.
    #[test]
    fn syn_received_answers_again() {
        let mut lone = Lone::new(1, defaults());
        let syn = lone.syn();
        lone.put(&syn, b"");
        assert_eq!(lone.lines(), ["SYN|ACK 0 ack 1"]);
        lone.put(&syn, b"");
        assert_eq!(lone.lines(), ["SYN|ACK 0 ack 1"]);
        lone.put(&moved(syn, 500), b"");
        assert_eq!(lone.lines(), ["ACK 1 ack 1"]);
        // An acknowledgement of what was not sent is answered with a reset.
        lone.nxt = 1;
        let wrong = SegmentHeader { ack: lone.host.iss + 9, ..lone.header(Flags::ACK) };
        lone.put(&wrong, b"");
        assert_eq!(lone.lines(), ["RST 9"]);
        let reset = lone.header(Flags::RST);
        lone.put(&reset, b"");
        assert_eq!(lone.host.end, Some(End::Reset));
    }

    #[test]
    fn unreachable_ends_only_what_is_being_opened() {
        let mut lone = Lone::opening(defaults());
        let end = lone.host.with(lone.now, |endpoint, env, _| endpoint.unreachable(env));
        assert_eq!(end, Some(Some(End::Unreachable)));
        let mut lone = Lone::server(defaults());
        let end = lone.host.with(lone.now, |endpoint, env, _| endpoint.unreachable(env));
        assert_eq!((end, lone.endpoint().state()), (Some(None), State::Established));
    }

    /// RFC 9293 section 3.10.4: closing before the SYN-ACK forgets the flow.
    #[test]
    fn closing_while_opening() {
        let mut lone = Lone::opening(defaults());
        lone.host.close(lone.now);
        assert_eq!((lone.host.end, lone.lines().len()), (Some(End::Closed), 0));
        let mut lone = Lone::new(1, defaults());
        let syn = lone.syn();
        lone.put(&syn, b"");
        lone.lines();
        lone.host.close(lone.now);
        assert!(lone.lines().is_empty());
        lone.nxt = 1;
        lone.say(Flags::ACK, b"");
        assert_eq!(lone.lines(), ["FIN|ACK 1 ack 1"]);
    }

    #[test]
    fn set_up_time_counts_repeated_syns() {
        let mut lone = Lone::opening(defaults());
        lone.wait_ms(1_010);
        let syn = SegmentHeader { flags: Flags::SYN | Flags::ACK, ack: lone.host.iss + 1, ..lone.syn() };
        lone.put(&syn, b"");
        let setup = lone.host.counts.setup.min;
        assert!((1_010_000_000..1_011_000_000).contains(&setup), "{setup}");
        // Karn: which SYN was answered is not known. RFC 6298 section 5.7: three seconds then; RFC 5681: one segment.
        assert_eq!((lone.host.counts.rtt.samples(), lone.endpoint().smoothed_rtt()), (0, None));
        assert_eq!(lone.endpoint().cwnd(), 1_448);
        lone.lines();
        lone.send(10);
        lone.lines();
        // The variation is right to a two-thousandth.
        assert_eq!(lone.wait_ms(3_100), ["3001 ms PSH|ACK 1+10 ack 1"]);
    }
}

mod acceptance {
    use super::*;

    /// RFC 5961 section 3: only a reset with exactly the next number is obeyed.
    #[test]
    fn resets_must_match_exactly() {
        let mut lone = Lone::server(defaults());
        let reset = SegmentHeader { timestamps: None, ..lone.header(Flags::RST) };
        lone.put(&moved(reset, 1), b"");
        assert_eq!((lone.host.end, lone.lines()), (None, vec!["ACK 1 ack 1".to_string()]));
        lone.put(&moved(reset, 300_000), b"");
        lone.put(&moved(reset, u32::MAX), b"");
        assert_eq!((lone.host.end, lone.lines().len()), (None, 0));
        lone.put(&reset, b"");
        assert_eq!((lone.host.end, lone.lines().len()), (Some(End::ResetAcknowledged), 0));
        assert_eq!((lone.host.counts.resets_in, lone.host.counts.challenge_acks), (1, 1));
    }

    /// A reset shows whether everything sent had arrived, also by its own acknowledgement.
    #[test]
    fn a_reset_says_what_arrived() {
        for (taken, end) in [(0, End::Reset), (60, End::Reset), (100, End::ResetAcknowledged)] {
            let mut lone = Lone::server(defaults());
            let first = lone.header(Flags::ACK).ack;
            lone.send(100);
            lone.lines();
            let reset = lone.header(Flags::RST | Flags::ACK);
            lone.put(&SegmentHeader { ack: first.wrapping_add(taken), ..reset }, b"");
            assert_eq!((lone.host.end, lone.host.counts.bytes_acknowledged), (Some(end), u64::from(taken)));
        }
    }

    /// RFC 5927 section 4.1: ICMP errors about segments not in flight are ignored.
    #[test]
    fn errors_must_be_about_what_is_in_flight() {
        let mut lone = Lone::server(defaults());
        let first = lone.header(Flags::ACK).ack;
        assert!(!lone.endpoint().has_in_flight(first));
        lone.send(100);
        lone.lines();
        let in_flight = [u32::MAX, 0, 99, 100].map(|n| lone.endpoint().has_in_flight(first.wrapping_add(n)));
        assert_eq!(in_flight, [false, true, true, false]);
    }

    /// RFC 4821 section 7.7: full segments that time out again and again become shorter ones; few bytes do not.
    #[test]
    fn a_black_hole_gets_shorter_segments() {
        for (bytes, holes, longest) in [(10_000, 2, 512), (100, 0, 100)] {
            let mut lone = Lone::server(TcpOptions { data_retries: 9, ..defaults() });
            lone.send(bytes);
            lone.lines();
            let lines: Vec<String> = (0..6).flat_map(|_| lone.wait_ms(60_000)).collect();
            assert_eq!(lone.host.counts.black_holes, holes, "{lines:?}");
            let last = lines.last().unwrap();
            let len: u64 =
                last.split('+').nth(1).and_then(|rest| rest.split(' ').next()).unwrap().parse().unwrap();
            assert!(len <= longest, "{lines:?}");
        }
    }

    /// RFC 5961 section 4: a SYN is challenged at any sequence number.
    #[test]
    fn syns_are_challenged() {
        let mut lone = Lone::server(defaults());
        for by in [0, 1_000, 1 << 30, u32::MAX] {
            let syn =
                SegmentHeader { timestamps: lone.header(Flags::ACK).timestamps, ..moved(lone.syn(), by) };
            lone.put(&syn, b"");
            assert_eq!(lone.lines(), ["ACK 1 ack 1"], "{by}");
        }
        assert_eq!((lone.host.end, lone.host.counts.challenge_acks), (None, 4));
    }

    /// RFC 5961 section 5: acknowledgements of what was never sent, or older than a window, are challenged and dropped.
    #[test]
    fn acknowledgements_must_be_in_range() {
        let mut lone = Lone::server(plain());
        lone.send(100_000);
        lone.lines();
        let bytes = lone.bytes(1, 10);
        for ack in [200_000, u32::MAX - 100_000] {
            let header = lone.ack(ack);
            lone.put(&header, &bytes);
            assert_eq!((lone.lines().len(), lone.host.told.received), (1, 0));
        }
        assert_eq!((lone.host.counts.bad_ack, lone.host.counts.challenge_acks), (2, 2));
        // An old one within a window is only ignored: its data count.
        let header = lone.ack(u32::MAX - 1_000);
        lone.put(&header, &bytes);
        assert_eq!(lone.host.told.received, 10);
    }

    /// RFC 5961 section 7: the number of challenges per second is limited.
    #[test]
    fn challenges_are_limited() {
        let mut lone = Lone::server(defaults());
        let syn = lone.syn();
        for _ in 0..1_500 {
            lone.put(&syn, b"");
            lone.out();
        }
        assert_eq!(
            (lone.host.counts.challenge_acks, lone.host.counts.challenge_acks_suppressed),
            (1_000, 500)
        );
        lone.wait_ms(1_100);
        lone.put(&syn, b"");
        assert_eq!(lone.host.counts.challenge_acks, 1_001);
    }

    /// RFC 9293 section 3.10.7.4: segments outside the window are dropped, and acknowledged.
    #[test]
    fn segments_must_lie_in_the_window() {
        let mut lone = Lone::server(TcpOptions { window: 10_000, ..defaults() });
        lone.data(100);
        lone.lines();
        lone.data_at(10_101, 10);
        assert_eq!(lone.lines(), ["ACK 1 ack 101"]);
        lone.data_at(1, 100);
        assert_eq!(lone.lines(), ["ACK 1 ack 101 sack 1-101"]);
        assert_eq!((lone.host.counts.bad_sequence, lone.host.counts.duplicates), (1, 1));
        // Across the edges, what is new and fits is taken.
        lone.data_at(51, 100);
        assert_eq!(
            (lone.lines(), lone.host.told.received),
            (vec!["ACK 1 ack 151 sack 51-101".to_string()], 150)
        );
        lone.data_at(10_101, 100);
        assert_eq!(lone.lines(), ["ACK 1 ack 151 sack 10101-10151"]);
        assert_eq!((lone.host.told.received, lone.host.told.wrong), (150, 0));
    }

    /// RFC 9293 section 3.8.6: with the window closed, acknowledgements, resets and a FIN still count.
    #[test]
    fn a_closed_window_still_takes_acknowledgements() {
        let mut lone = Lone::server(TcpOptions { window: 1_000, window_scaling: false, ..plain() });
        lone.host.with(lone.now, |endpoint, env, _| endpoint.pause(env));
        lone.data(1_000);
        lone.send(10);
        assert_eq!(lone.lines(), ["PSH|ACK 1+10 ack 1001 win 0"]);
        lone.say(Flags::ACK, b"x");
        lone.nxt -= 1;
        assert_eq!(
            (lone.host.told.acknowledged, lone.lines()),
            (10, vec!["ACK 11 ack 1001 win 0".to_string()])
        );
        lone.say(Flags::ACK | Flags::FIN, b"");
        assert_eq!(
            (lone.lines(), lone.endpoint().state()),
            (vec!["ACK 11 ack 1002 win 0".to_string()], State::CloseWait)
        );
        let reset = lone.header(Flags::RST);
        lone.put(&reset, b"");
        assert_eq!((lone.host.end, lone.host.busy.in_use()), (Some(End::ResetAcknowledged), 0));
    }

    #[test]
    fn segments_without_ack_are_dropped() {
        let mut lone = Lone::server(defaults());
        let header = lone.header(Flags::PSH);
        lone.put(&header, b"abc");
        assert_eq!((lone.host.counts.bad_flags, lone.lines().len(), lone.host.told.received), (1, 0, 0));
    }

    /// RFC 7323 section 5: an old timestamp marks an old duplicate.
    #[test]
    fn old_timestamps_are_dropped() {
        let mut lone = Lone::server(defaults());
        lone.wait_ms(100);
        lone.data(10);
        let mut old = lone.header(Flags::ACK);
        old.timestamps.as_mut().unwrap().value -= 50;
        lone.wait_ms(100);
        lone.put(&old, b"old bytes");
        assert_eq!((lone.host.counts.bad_timestamp, lone.host.told.received), (1, 10));
        assert_eq!(lone.lines(), ["ACK 1 ack 11"]);
        // Section 5.2: resets are not checked.
        lone.put(&SegmentHeader { flags: Flags::RST, ..old }, b"");
        assert_eq!(lone.host.end, Some(End::ResetAcknowledged));
    }

    /// RFC 7323 section 3.2: once agreed on, they are on every segment.
    #[test]
    fn missing_timestamps_are_dropped() {
        let mut lone = Lone::server(defaults());
        let header = SegmentHeader { timestamps: None, ..lone.header(Flags::ACK) };
        lone.put(&header, b"abc");
        assert_eq!(
            (lone.host.counts.bad_no_timestamp, lone.host.told.received, lone.lines().len()),
            (1, 0, 0)
        );
        assert!(lone.header(Flags::ACK).timestamps.is_some());
    }

    /// RFC 7323 section 4.3: the echo is that of the first segment not yet acknowledged.
    #[test]
    fn echoes_the_earliest_timestamp() {
        let mut lone = Lone::server(defaults());
        let first = lone.clock();
        lone.data(100);
        lone.wait_ms(20);
        lone.data(100);
        assert_eq!(lone.out()[0].header.timestamps.unwrap().echo, first);
        // Nor does one ahead of a gap move it.
        lone.wait_ms(20);
        let before = lone.endpoint().ts_recent;
        lone.data_at(500, 10);
        assert_eq!(lone.out()[0].header.timestamps.unwrap().echo, before);
    }

    #[test]
    fn fins_and_data_out_of_order_wait() {
        let mut lone = Lone::server(defaults());
        let bytes = lone.bytes(101, 100);
        let header = moved(lone.header(Flags::ACK | Flags::FIN), 100);
        lone.put(&header, &bytes);
        lone.put(&header, &bytes);
        assert_eq!((lone.host.told.received, lone.host.told.finished), (0, 0));
        assert_eq!(lone.lines(), ["ACK 1 ack 1 sack 101-201 sack 101-201"], "it came twice (RFC 2883)");
        lone.data(100);
        assert_eq!((lone.host.told.received, lone.host.told.finished, lone.host.told.wrong), (200, 1, 0));
        assert_eq!((lone.lines(), lone.host.busy.in_use()), (vec!["ACK 1 ack 202".to_string()], 0));
        assert_eq!((lone.host.counts.out_of_order, lone.host.counts.duplicates), (1, 1));
    }

    /// RFC 2018 section 4: the latest block first, three of them next to timestamps.
    #[test]
    fn reports_blocks_latest_first() {
        let mut lone = Lone::server(defaults());
        for at in [1_001, 3_001, 5_001, 7_001] {
            lone.data_at(at, 100);
        }
        assert_eq!(lone.lines(), ["ACK 1 ack 1 sack 7001-7101 sack 5001-5101 sack 3001-3101"]);
        lone.data_at(3_101, 100);
        assert_eq!(lone.lines(), ["ACK 1 ack 1 sack 3001-3201 sack 7001-7101 sack 5001-5101"]);
        // Data leave room for them.
        lone.send(10_000);
        let out = lone.out();
        assert_eq!(
            (usize::from(out[0].len) + out[0].header.len(), out[0].header.sack.as_slice().len()),
            (1_480, 3)
        );
    }

    /// RFC 5681 section 4.2: what fills a gap is acknowledged at once.
    #[test]
    fn filling_a_gap_is_acknowledged_at_once() {
        let mut lone = Lone::server(defaults());
        lone.data_at(201, 100);
        lone.data_at(401, 100);
        lone.lines();
        lone.data(100);
        assert_eq!(lone.lines(), ["ACK 1 ack 101 sack 401-501 sack 201-301"]);
        lone.data(100);
        assert_eq!(lone.lines(), ["ACK 1 ack 301 sack 401-501"]);
        assert_eq!((lone.host.told.received, lone.host.told.wrong), (300, 0));
    }
}

mod sending {
    use super::*;

    /// RFC 6928: ten segments, fewer of large ones.
    #[test]
    fn the_first_window_is_ten_segments() {
        let mut lone = Lone::server(plain());
        lone.send(100_000);
        assert_eq!(lone.lines().len(), 10);
        let mut lone = Lone::server(TcpOptions { initial_window: 3, ..plain() });
        lone.send(100_000);
        assert_eq!(lone.lines().len(), 3);
        let mut lone = Lone::new(1, plain());
        lone.host.mss_limit = 8_960;
        let syn = SegmentHeader { mss: Some(8_960), timestamps: None, ..lone.syn() };
        lone.put(&syn, b"");
        lone.lines();
        lone.nxt = 1;
        lone.say(Flags::ACK, b"");
        assert_eq!(lone.endpoint().cwnd(), 17_920);
    }

    /// RFC 5681 section 3.1: a segment more for each acknowledgement; none while the window is not used.
    #[test]
    fn slow_start_grows_by_acknowledgements() {
        let mut lone = Lone::server(plain());
        lone.send(14_600);
        assert_eq!(lone.lines().len(), 10);
        for segment in 1..=10 {
            let ack = lone.ack(1 + segment * 1_460);
            lone.put(&ack, b"");
        }
        // When half of the window was not in use any more, it stopped growing.
        let grown = lone.endpoint().cwnd();
        assert_eq!(grown, 14 * 1_460);
        for _ in 0..100 {
            lone.send(100);
            lone.lines();
            lone.say(Flags::ACK, b"");
        }
        assert_eq!(lone.endpoint().cwnd(), grown);
    }

    /// RFC 9293 section 3.7.4: Nagle, which can be switched off.
    #[test]
    fn small_segments_wait_unless_told_otherwise() {
        let mut lone = Lone::server(TcpOptions { no_delay: false, ..plain() });
        lone.send(10);
        lone.send(10);
        assert_eq!(lone.lines(), ["PSH|ACK 1+20 ack 1"]);
        lone.send(10);
        assert!(lone.lines().is_empty());
        lone.send(1_460);
        assert_eq!(lone.lines(), ["ACK 21+1460 ack 1"]);
        lone.say(Flags::ACK, b"");
        assert_eq!(lone.lines(), ["PSH|ACK 1481+10 ack 1"]);
        lone.send(10);
        lone.host.close(lone.now);
        assert_eq!(lone.lines(), ["FIN|PSH|ACK 1491+10 ack 1"]);
        let mut lone = Lone::server(plain());
        for at in 0..3 {
            lone.send(10);
            assert_eq!(lone.lines(), [format!("PSH|ACK {}+10 ack 1", 1 + at * 10)]);
        }
    }

    /// RFC 9293 section 3.8.6.2.1: no small segment because of a small window, until the timer expires.
    #[test]
    fn small_windows_are_not_filled_at_once() {
        let mut lone = Lone::server(plain());
        let small = SegmentHeader { window: 500, ..lone.header(Flags::ACK) };
        lone.put(&small, b"");
        lone.send(5_000);
        assert!(lone.lines().is_empty());
        assert_eq!(lone.wait_ms(300), ["200 ms ACK 1+500 ack 1"]);
        // Half of the largest window seen is worth a segment.
        let mut lone = Lone::server_by(plain(), |syn| syn.window = 1_000);
        let half = SegmentHeader { window: 500, ..lone.header(Flags::ACK) };
        lone.endpoint_mut().max_wnd = 1_000;
        lone.put(&half, b"");
        lone.send(5_000);
        assert_eq!(lone.lines(), ["ACK 1+500 ack 1"]);
    }

    /// RFC 9293 section 3.8.6: a peer may take back window; what was sent stays sent.
    #[test]
    fn a_window_may_shrink() {
        let mut lone = Lone::server(plain());
        lone.send(20_000);
        assert_eq!(lone.lines().len(), 10);
        let shrunk = SegmentHeader { window: 2_000, ..lone.ack(1_461) };
        lone.put(&shrunk, b"");
        assert!(lone.lines().is_empty());
        assert_eq!(lone.wait_ms(201), ["200 ms ACK 1461+1460 ack 1"]);
        let wide = lone.ack(14_601);
        lone.put(&wide, b"");
        assert_eq!(lone.lines(), ["ACK 14601+1460 ack 1", "ACK 16061+1460 ack 1"]);
    }

    /// More than 32 bits can be passed in one call.
    #[test]
    fn sends_more_than_four_gibibytes() {
        let mut lone = Lone::server(TcpOptions { congestion: Congestion::None, ..plain() });
        lone.send(u64::from(u32::MAX) + 10_000);
        // Nothing lies between but sequence numbers.
        let skip = u32::MAX - 3_000;
        lone.skip(skip);
        let out = lone.out();
        assert_eq!(out.iter().map(|out| u64::from(out.len)).sum::<u64>(), 13_000);
        assert_eq!(out[2].offset, u64::from(skip) + 2 * 1_460);
        assert_eq!(out.last().unwrap().offset, u64::from(skip) + 8 * 1_460);
        let ack = lone.header(Flags::ACK);
        lone.put(&ack, b"");
        assert_eq!(lone.host.told.acknowledged, u64::from(skip) + 13_000);
        lone.send(10);
        assert_eq!(lone.out()[0].offset, u64::from(u32::MAX) + 10_000);
        assert_eq!(lone.host.busy.in_use(), 1, "the upper half is kept");
    }

    /// RFC 5681 section 4.1.
    #[test]
    fn begins_again_after_idling() {
        let mut lone = Lone::server(plain());
        for _ in 0..6 {
            lone.send(u64::from(lone.endpoint().cwnd()));
            lone.out();
            lone.wait_ms(1);
            let mut ack = lone.endpoint().snd_una;
            while ack != lone.endpoint().snd_nxt {
                ack = ack.wrapping_add(1_460).min(lone.endpoint().snd_nxt);
                let header = SegmentHeader { ack, ..lone.header(Flags::ACK) };
                lone.put(&header, b"");
            }
        }
        let grown = lone.endpoint().cwnd();
        assert!(grown > 20 * 1_460);
        lone.wait_ms(100);
        lone.send(1);
        lone.out();
        assert_eq!(lone.endpoint().cwnd(), grown, "not yet");
        lone.say(Flags::ACK, b"");
        lone.wait_ms(1_000);
        lone.send(1);
        lone.out();
        assert_eq!(lone.endpoint().cwnd(), 14_600);
    }

    /// RFC 9293 section 3.8.4, off by default.
    #[test]
    fn asks_silent_peers() {
        let mut lone = Lone::server(TcpOptions {
            keep_alive: Some(Nanos::from_secs(10)),
            data_retries: 2,
            ..defaults()
        });
        assert!(lone.wait_ms(9_000).is_empty());
        lone.data(10);
        assert_eq!(lone.wait_ms(10_500), ["40 ms ACK 1 ack 11", "10000 ms ACK 0 ack 11"]);
        let answer = lone.header(Flags::ACK);
        lone.put(&answer, b"");
        assert_eq!(lone.wait_ms(25_000), ["10000 ms ACK 0 ack 11", "20000 ms ACK 0 ack 11"]);
        assert_eq!(lone.wait_ms(25_000).len(), 0);
        assert_eq!((lone.host.end, lone.host.counts.keep_alives), (Some(End::Timeout), 3));
        let mut lone = Lone::server(defaults());
        assert!(lone.wait(Nanos::from_secs(100_000)).is_empty());
        assert_eq!((lone.endpoint().deadline(lone.now), lone.host.end), (None, None));
    }

    /// A peer's keep-alive is acknowledged.
    #[test]
    fn answers_keep_alives() {
        let mut lone = Lone::server(defaults());
        let ask = moved(lone.header(Flags::ACK), u32::MAX);
        lone.put(&ask, b"");
        assert_eq!(lone.lines(), ["ACK 1 ack 1"]);
    }

    /// RFC 1191, RFC 8201: what is in flight is sent again in smaller segments; the window is not to blame.
    #[test]
    fn path_mtu_makes_segments_smaller() {
        let mut lone = Lone::server(plain());
        lone.send(4_000);
        assert_eq!(lone.lines().len(), 3);
        let cwnd = lone.endpoint().cwnd();
        lone.host.with(lone.now, |endpoint, env, _| endpoint.path_mtu(env, 1_000));
        assert_eq!(
            lone.lines(),
            ["ACK 1+1000 ack 1", "ACK 1001+1000 ack 1", "ACK 2001+1000 ack 1", "PSH|ACK 3001+1000 ack 1"]
        );
        assert_eq!((lone.endpoint().cwnd(), lone.host.counts.retransmitted_other), (cwnd, 4));
        lone.say(Flags::ACK, b"");
        assert_eq!((lone.host.told.acknowledged, lone.host.busy.in_use()), (4_000, 0));
        lone.host.with(lone.now, |endpoint, env, _| endpoint.path_mtu(env, 1_400));
        lone.send(4_000);
        assert_eq!(lone.out()[0].len, 1_000, "never larger again");
    }
}

mod timing {
    use super::*;

    /// RFC 6298 section 2: SRTT and RTTVAR by the formulas, from 64 ns on.
    #[test]
    fn round_trips_are_smoothed() {
        let mut lone = Lone::client(defaults());
        let (mut srtt, mut rttvar) = (0f64, 0f64);
        for (round, rtt) in [80_000u64, 120_000, 40_000, 1_000_000].into_iter().enumerate() {
            if round == 0 {
                (lone.endpoint_mut().srtt, lone.endpoint_mut().rttvar) = (0, Variation::of(1 << 24));
            }
            lone.send(1);
            lone.out();
            lone.wait(Nanos(rtt));
            lone.say(Flags::ACK, b"");
            let rtt = rtt as f64;
            if round == 0 {
                (srtt, rttvar) = (rtt, rtt / 2.0);
            } else {
                rttvar = 0.75 * rttvar + 0.25 * (srtt - rtt).abs();
                srtt = 0.875 * srtt + 0.125 * rtt;
            }
            let measured = lone.endpoint().smoothed_rtt().unwrap().0 as f64;
            assert!((measured - srtt).abs() < 200.0, "{measured} instead of {srtt}");
            let variation = f64::from(lone.endpoint().rttvar.value()) * 16.0;
            assert!((variation - rttvar).abs() < 300.0, "{variation} instead of {rttvar}");
        }
        assert_eq!(lone.host.counts.rtt.samples(), 5);
    }

    /// Karn: a segment sent twice is not measured, and the doubled time-out stays until one is.
    #[test]
    fn repeated_segments_are_not_measured() {
        let mut lone = Lone::client(plain());
        let measured = lone.host.counts.rtt.samples();
        lone.send(10);
        lone.lines();
        assert_eq!(lone.wait_ms(201).len(), 1);
        lone.say(Flags::ACK, b"");
        assert_eq!(lone.host.counts.rtt.samples(), measured);
        lone.send(10);
        lone.lines();
        assert!(lone.wait_ms(399).is_empty());
        assert_eq!(lone.wait_ms(2), ["1 ms PSH|ACK 11+10 ack 1"]);
        lone.say(Flags::ACK, b"");
        lone.send(10);
        lone.lines();
        lone.wait_ms(5);
        lone.say(Flags::ACK, b"");
        assert_eq!(lone.host.counts.rtt.samples(), measured + 1);
        lone.send(10);
        lone.lines();
        assert_eq!(lone.wait_ms(201), ["200 ms PSH|ACK 31+10 ack 1"]);
    }

    /// RFC 7323 section 4: with timestamps an echo shows which of two was acknowledged.
    #[test]
    fn timestamps_measure_after_a_repeat() {
        let mut lone = Lone::client(defaults());
        lone.send(10);
        lone.lines();
        lone.wait_ms(201);
        lone.wait_ms(100);
        lone.say(Flags::ACK, b"");
        // The handshake took no time, this 100 ms.
        let srtt = lone.endpoint().smoothed_rtt().unwrap().0;
        assert!((10_000_000..15_000_000).contains(&srtt), "{srtt}");
        lone.send(10);
        lone.lines();
        assert!(lone.wait_ms(190).is_empty());
    }

    /// RFC 6298 section 2.4 and 5.5: never below the least, never above the most.
    #[test]
    fn time_outs_have_bounds() {
        let mut lone =
            Lone::client(TcpOptions { rto_max: Nanos::from_secs(1), data_retries: 20, ..defaults() });
        lone.send(1);
        lone.lines();
        let lines = lone.wait_ms(5_500);
        assert_eq!(lines.len(), 7, "{lines:?}");
        assert!(lines[6].starts_with("5400 ms"), "{lines:?}");
    }

    /// An acknowledgement of new data begins the tries anew.
    #[test]
    fn progress_resets_the_tries() {
        let mut lone = Lone::client(TcpOptions { data_retries: 2, ..defaults() });
        for _ in 0..5 {
            lone.send(10);
            lone.lines();
            assert_eq!(lone.wait_ms(700).len(), 2);
            lone.say(Flags::ACK, b"");
        }
        lone.send(10);
        lone.lines();
        lone.wait_ms(20_000);
        assert_eq!(lone.host.end, Some(End::Timeout));
    }

    /// A delayed acknowledgement does not wait with a delay of zero.
    #[test]
    fn no_delay_of_acknowledgements() {
        let mut lone = Lone::server(TcpOptions { ack_delay: Nanos::ZERO, ..defaults() });
        lone.data(1);
        assert_eq!(lone.lines(), ["ACK 1 ack 2"]);
    }
}

mod repair {
    use super::*;

    fn sent(options: TcpOptions, segments: u64) -> Lone {
        let mut lone = Lone::server(options);
        lone.send(segments * 1_460);
        assert_eq!(lone.lines().len() as u64, segments);
        lone
    }

    /// RFC 3042: each of the first two duplicates lets out a new segment.
    #[test]
    fn limited_transmit() {
        for sack in [true, false] {
            let mut lone = sent(TcpOptions { sack, ..plain() }, 10);
            lone.send(10_000);
            assert!(lone.lines().is_empty());
            for (at, line) in
                ["ACK 14601+1460 ack 1", "ACK 16061+1460 ack 1", "ACK 1+1460 ack 1"].iter().enumerate()
            {
                let to = 1_461 + (at as u32 + 1) * 10;
                let header = if sack { lone.sack(1, &[(1_461, to)]) } else { lone.ack(1) };
                // Ten bytes are no segment: only by counting are three of them a loss.
                let header =
                    if sack { lone.sack(1, &[(1_461, 1_461 + (at as u32 + 1) * 1_460)]) } else { header };
                lone.put(&header, b"");
                assert_eq!(lone.lines(), [*line], "{sack} {at}");
            }
        }
    }

    /// RFC 5681 section 2: what carries data, moves the window, or acknowledges nothing outstanding is no duplicate.
    #[test]
    fn not_every_repeat_is_a_duplicate() {
        let mut lone = sent(TcpOptions { sack: false, ..plain() }, 5);
        for window in [50_000, 40_000, 30_000, 20_000] {
            let header = SegmentHeader { window, ..lone.ack(1) };
            lone.put(&header, b"");
        }
        for _ in 0..4 {
            let bytes = lone.bytes(lone.nxt, 5);
            let header = SegmentHeader { window: 20_000, ..lone.ack(1) };
            lone.put(&header, &bytes);
            lone.nxt += 5;
        }
        assert_eq!((lone.host.counts.duplicate_acks, lone.host.counts.fast_recoveries), (0, 0));
    }

    /// RFC 6675 section 5: two losses of ten are repaired in one round trip; the window becomes beta of the flight.
    #[test]
    fn sack_repairs_several_losses_at_once() {
        let options = TcpOptions { congestion: Congestion::NewReno, ..plain() };
        let mut lone = sent(options, 10);
        // The first and the fourth are lost.
        let mut lines = vec![];
        for to in [2_921, 4_381] {
            let header = lone.sack(1, &[(1_461, to)]);
            lone.put(&header, b"");
            lines.extend(lone.lines());
        }
        for to in [7_301, 8_761, 10_221, 11_681, 13_141, 14_601] {
            let header = lone.sack(1, &[(5_841, to), (1_461, 4_381)]);
            lone.put(&header, b"");
            lines.extend(lone.lines());
        }
        assert_eq!(lines, ["ACK 1+1460 ack 1", "ACK 4381+1460 ack 1"]);
        assert_eq!(lone.endpoint().cwnd(), 5 * 1_460);
        let header = lone.sack(4_381, &[(5_841, 14_601)]);
        lone.put(&header, b"");
        assert!(lone.lines().is_empty());
        let all = lone.ack(14_601);
        lone.put(&all, b"");
        assert_eq!((lone.endpoint().cwnd(), lone.host.told.acknowledged), (5 * 1_460, 14_600));
        assert_eq!((lone.host.counts.fast_recoveries, lone.host.busy.in_use()), (1, 0));
    }

    /// RFC 6675 section 4, rule 2: the window allows new data while the repair continues.
    #[test]
    fn new_data_flow_during_a_repair() {
        let mut lone = sent(TcpOptions { congestion: Congestion::NewReno, ..plain() }, 10);
        lone.send(14_600);
        let mut new = 0;
        for segment in 2..=10 {
            let header = lone.sack(1, &[(1_461, 1 + segment * 1_460)]);
            lone.put(&header, b"");
            new += lone.out().iter().filter(|out| out.offset >= 14_600).count();
        }
        // Two by limited transmit; then the window is five: what was repeated and four new ones fill it.
        assert_eq!((new, lone.host.counts.retransmitted_fast), (4, 1));
    }

    /// RFC 6675 section 4, rule 4: the end of the flight is lost too.
    #[test]
    fn the_tail_is_rescued_once() {
        let mut lone = sent(plain(), 10);
        for segment in 2..=5 {
            let header = lone.sack(1, &[(1_461, 1 + segment * 1_460)]);
            lone.put(&header, b"");
        }
        assert_eq!(lone.lines(), ["ACK 1+1460 ack 1"]);
        // The first is repaired; of the five behind nothing is heard.
        let header = lone.ack(7_301);
        lone.put(&header, b"");
        assert_eq!(lone.lines(), ["PSH|ACK 13141+1460 ack 1"]);
        assert_eq!(lone.host.counts.retransmitted_other, 1);
        let header = lone.sack(7_301, &[(13_141, 14_601)]);
        lone.put(&header, b"");
        // Rule 3 now: what is missing below it, as the window allows.
        assert_eq!(lone.lines()[0], "ACK 7301+1460 ack 1");
    }

    /// RFC 5681 section 3.1, RFC 2018 section 8: after a time-out slow start from one segment; what is held is not sent.
    #[test]
    fn a_time_out_begins_with_one_segment() {
        let mut lone = sent(TcpOptions { congestion: Congestion::NewReno, ..plain() }, 10);
        let header = lone.sack(1, &[(2_921, 4_381)]);
        lone.put(&header, b"");
        assert!(lone.lines().is_empty());
        assert_eq!(lone.wait_ms(201), ["200 ms ACK 1+1460 ack 1"]);
        assert_eq!((lone.endpoint().cwnd(), lone.endpoint().threshold()), (1_460, 5 * 1_460));
        let header = lone.sack(1_461, &[(2_921, 4_381)]);
        lone.put(&header, b"");
        assert_eq!(lone.lines(), ["ACK 1461+1460 ack 1", "ACK 4381+1460 ack 1"]);
        let header = lone.ack(5_841);
        lone.put(&header, b"");
        assert_eq!(lone.lines().len(), 3);
        // A second time-out in a row trusts nothing and leaves the threshold.
        assert_eq!(lone.wait_ms(5_000)[0].split_once(" ms ").unwrap().1, "ACK 5841+1460 ack 1");
    }

    /// RFC 2018 section 8: a peer that acknowledges up to data it reported as held has discarded them.
    #[test]
    fn a_peer_may_renege() {
        let mut lone = sent(plain(), 10);
        for segment in 3..=5 {
            let header = lone.sack(1, &[(2_921, 1 + segment * 1_460)]);
            lone.put(&header, b"");
        }
        lone.lines();
        let header = lone.ack(2_921);
        lone.put(&header, b"");
        lone.lines();
        assert!(lone.wait_ms(500)[0].contains(" 2921+1460 "));
        let all = lone.ack(14_601);
        lone.put(&all, b"");
        assert_eq!((lone.host.told.acknowledged, lone.host.busy.in_use()), (14_600, 0));
    }

    /// RFC 6582 section 3.2: the duplicates that a time-out's repair causes begin no fast retransmit.
    #[test]
    fn duplicates_after_a_time_out_are_no_loss() {
        let mut lone = sent(TcpOptions { sack: false, ..plain() }, 10);
        lone.send(14_600);
        lone.wait_ms(201);
        let all = lone.ack(14_601);
        lone.put(&all, b"");
        assert_eq!(lone.lines().len(), 2);
        for _ in 0..3 {
            let header = lone.ack(14_601);
            lone.put(&header, b"");
        }
        assert_eq!(lone.host.counts.duplicate_acks, 3);
        assert_eq!(lone.host.counts.fast_recoveries, 0);
    }

    /// `Congestion::None`: the peer's window alone.
    #[test]
    fn without_congestion_control_the_peers_window_counts() {
        let mut lone = Lone::server(TcpOptions { congestion: Congestion::None, ..plain() });
        lone.send(1 << 20);
        assert_eq!(lone.out().len(), 60_000 / 1_460);
        assert!(lone.endpoint().flight() <= 60_000);
    }

    /// A FIN that was sent with data is sent with them again.
    #[test]
    fn repeats_a_fin_with_its_data() {
        let mut lone = Lone::server(plain());
        lone.send(2_000);
        lone.host.close(lone.now);
        assert_eq!(lone.lines(), ["ACK 1+1460 ack 1", "FIN|PSH|ACK 1461+540 ack 1"]);
        let header = lone.ack(1_461);
        lone.put(&header, b"");
        assert_eq!(lone.wait_ms(201), ["200 ms FIN|PSH|ACK 1461+540 ack 1"]);
        let header = lone.ack(2_001);
        lone.put(&header, b"");
        assert_eq!((lone.host.told.acknowledged, lone.endpoint().state()), (2_000, State::FinWait1));
        let lines = lone.wait_ms(1_000);
        assert!(lines[0].ends_with("FIN|ACK 2001 ack 1"), "{lines:?}");
        let header = lone.ack(2_002);
        lone.put(&header, b"");
        assert_eq!(
            (lone.endpoint().state(), lone.host.counts.retransmitted_fin > 0),
            (State::FinWait2, true)
        );
    }
}

mod ecn {
    use super::*;

    fn agreed() -> Lone {
        Lone::server_by(TcpOptions { ecn: true, ..plain() }, |syn| syn.flags = Flags::SYN)
    }

    fn server() -> Lone {
        let mut lone = Lone::new(1, TcpOptions { ecn: true, ..plain() });
        let syn = SegmentHeader { flags: Flags::SYN | Flags::ECE | Flags::CWR, ..lone.syn() };
        lone.put(&syn, b"");
        let out = lone.out();
        assert!(out[0].header.flags.has(Flags::ECE) && !out[0].ecn_capable);
        lone.nxt = 1;
        lone.say(Flags::ACK, b"");
        lone
    }

    /// RFC 3168 section 6.1.3: echoed until the sender announces that it has slowed down.
    #[test]
    fn marks_are_echoed_until_confirmed() {
        let mut lone = server();
        let (header, bytes) = (lone.header(Flags::ACK), lone.bytes(1, 10));
        lone.put_marked(&header, &bytes);
        lone.nxt += 10;
        lone.data(10);
        assert_eq!(lone.lines(), ["ACK|ECE 1 ack 21"]);
        lone.data(10);
        lone.data(10);
        assert_eq!(lone.lines(), ["ACK|ECE 1 ack 41"]);
        let bytes = lone.bytes(41, 10);
        lone.say(Flags::ACK | Flags::CWR, &bytes);
        lone.data(10);
        assert_eq!(lone.lines(), ["ACK 1 ack 61"]);
        assert_eq!(lone.host.counts.congestion_experienced, 1);
    }

    /// RFC 3168 section 6.1.2: once per round trip the window shrinks, and new data announce it.
    #[test]
    fn an_echo_reduces_the_window_once() {
        let mut lone = server();
        lone.send(100_000);
        assert!(lone.out().iter().all(|out| out.ecn_capable));
        let cwnd = lone.endpoint().cwnd();
        for segment in 1..=4 {
            let header = SegmentHeader { flags: Flags::ACK | Flags::ECE, ..lone.ack(1 + segment * 1_460) };
            lone.put(&header, b"");
        }
        assert_eq!((lone.host.counts.ecn_echoes, lone.host.counts.ecn_reductions), (4, 1));
        let reduced = lone.endpoint().cwnd();
        assert!(reduced <= cwnd * 7 / 10 + 1_460, "{reduced} of {cwnd}");
        let out = lone.out();
        assert!(
            out[0].header.flags.has(Flags::CWR)
                && !out[1..].iter().any(|out| out.header.flags.has(Flags::CWR))
        );
        // What is sent again is not ECN-capable, nor is an acknowledgement (section 6.1.4 and 6.1.5).
        lone.wait_ms(201);
        assert!(!lone.endpoint().has(bit::READY));
    }

    /// Without both sides' consent nothing is marked, and marks are only counted.
    #[test]
    fn without_consent_nothing_is_capable() {
        let mut lone = agreed();
        lone.send(10);
        assert!(!lone.out()[0].ecn_capable);
        let (header, bytes) = (lone.header(Flags::ACK), lone.bytes(1, 10));
        lone.put_marked(&header, &bytes);
        lone.nxt += 10;
        assert!(!lone.has_flag_in_answer(Flags::ECE));
        assert_eq!(lone.host.counts.congestion_experienced, 1);
    }

    #[test]
    fn repeats_are_not_capable() {
        let mut lone = server();
        lone.send(10);
        assert!(lone.out()[0].ecn_capable);
        lone.now += Nanos::from_secs(2);
        lone.host.timer(lone.now);
        let out = lone.out();
        assert_eq!((out.len(), out[0].ecn_capable), (1, false));
    }
}

mod closing {
    use super::*;

    fn close_first(options: TcpOptions) -> Lone {
        let mut lone = Lone::server(options);
        lone.host.close(lone.now);
        assert_eq!(lone.lines(), ["FIN|ACK 1 ack 1"]);
        lone.say(Flags::ACK, b"");
        assert_eq!(lone.endpoint().state(), State::FinWait2);
        lone
    }

    /// RFC 9293 section 3.6.1: the side that closed first waits, acknowledges a repeated FIN, and waits anew.
    #[test]
    fn time_wait_answers_a_repeated_fin() {
        let mut lone =
            close_first(TcpOptions { time_wait: TimeWait::For(Nanos::from_secs(4)), ..defaults() });
        let fin = lone.header(Flags::FIN | Flags::ACK);
        lone.put(&fin, b"");
        lone.nxt += 1;
        assert_eq!(
            (lone.lines(), lone.endpoint().state()),
            (vec!["ACK 2 ack 2".to_string()], State::TimeWait)
        );
        lone.wait_ms(3_000);
        lone.put(&fin, b"");
        assert_eq!(lone.lines(), ["ACK 2 ack 2"]);
        lone.wait_ms(3_000);
        assert_eq!(lone.host.end, None);
        lone.wait_ms(1_001);
        assert_eq!(lone.host.end, Some(End::Closed));
    }

    #[test]
    fn time_wait_may_be_skipped() {
        let mut lone = close_first(TcpOptions { time_wait: TimeWait::Skip, ..defaults() });
        lone.say(Flags::FIN | Flags::ACK, b"");
        assert_eq!((lone.host.end, lone.host.told.finished), (Some(End::Closed), 1));
        let out = lone.out();
        assert_eq!((out.len(), out[0].header.flags), (1, Flags::ACK));
        assert_eq!(out[0].header.window, lone.host.options.window.div_euclid(4) as u16, "scaled as ever");
    }

    /// RFC 9293 section 3.10.7.4, RFC 6191: a newer SYN ends TIME-WAIT, an older one does not.
    #[test]
    fn a_newer_syn_ends_time_wait() {
        for options in [defaults(), plain()] {
            let mut lone = close_first(options.clone());
            lone.say(Flags::FIN | Flags::ACK, b"");
            lone.lines();
            let old = SegmentHeader {
                timestamps: lone.header(Flags::ACK).timestamps,
                ..moved(lone.syn(), u32::MAX)
            };
            lone.put(&old, b"");
            assert_eq!((lone.host.end, lone.lines().len()), (None, 1));
            lone.wait_ms(10);
            let mut new = moved(lone.syn(), 10);
            new.timestamps = lone.header(Flags::ACK).timestamps;
            lone.put(&new, b"");
            assert_eq!((lone.host.end, lone.lines().len()), (Some(End::Closed), 0), "{options:?}");
        }
    }

    /// A peer that never closes is waited for only so long; what it sends counts as life.
    #[test]
    fn fin_wait_2_ends() {
        let mut lone = close_first(TcpOptions { fin_timeout: Nanos::from_secs(5), ..defaults() });
        lone.wait_ms(4_000);
        lone.data(10);
        lone.wait_ms(4_000);
        assert_eq!((lone.host.end, lone.host.told.received), (None, 10));
        lone.wait_ms(1_500);
        assert_eq!(lone.host.end, Some(End::IdleTimeout));
    }

    /// RFC 9293 section 3.10.5.
    #[test]
    fn abort_resets() {
        let mut lone = Lone::server(defaults());
        lone.send(10_000);
        lone.data_at(500, 10);
        lone.host.with(lone.now, |endpoint, env, _| endpoint.abort(env));
        assert_eq!(lone.lines(), ["RST|ACK 1 ack 1"]);
        assert_eq!((lone.endpoint().state(), lone.host.busy.in_use()), (State::Closed, 0));
        assert_eq!((lone.endpoint().owes(), lone.endpoint().deadline(lone.now)), (false, None));
        let mut lone = Lone::opening(defaults());
        lone.host.with(lone.now, |endpoint, env, _| endpoint.abort(env));
        assert!(lone.lines().is_empty());
    }

    /// In LAST-ACK a reset takes nothing away any more.
    #[test]
    fn a_reset_after_both_fins_is_an_end() {
        let mut lone = Lone::server(defaults());
        lone.say(Flags::FIN | Flags::ACK, b"");
        lone.host.close(lone.now);
        assert_eq!(lone.lines(), ["FIN|ACK 1 ack 2"]);
        let reset = lone.header(Flags::RST);
        lone.put(&reset, b"");
        assert_eq!(lone.host.end, Some(End::Closed));
    }

    /// Data after a FIN are nothing.
    #[test]
    fn nothing_comes_behind_a_fin() {
        let mut lone = Lone::server(defaults());
        lone.say(Flags::FIN | Flags::ACK, b"");
        lone.lines();
        lone.data(100);
        assert_eq!((lone.host.told.received, lone.host.told.finished), (0, 1));
        // Nor what lies between a FIN ahead of a gap and data beyond it.
        let mut lone = Lone::server(defaults());
        let fin = moved(lone.header(Flags::FIN | Flags::ACK), 100);
        lone.put(&fin, b"");
        lone.data_at(90, 100);
        lone.data(100);
        assert_eq!((lone.host.told.received, lone.host.told.finished, lone.host.told.wrong), (100, 1, 0));
    }

    /// A paused application gets the rest, and the end, when it reads on.
    #[test]
    fn a_paused_end_waits() {
        let mut lone = Lone::server(defaults());
        lone.host.with(lone.now, |endpoint, env, _| endpoint.pause(env));
        lone.data(100);
        lone.say(Flags::FIN | Flags::ACK, b"");
        assert_eq!((lone.host.told.received, lone.host.told.finished), (0, 0));
        assert_eq!(lone.lines(), ["ACK 1 ack 102"]);
        lone.host.with(lone.now, |endpoint, env, told| endpoint.resume(env, told));
        assert_eq!((lone.host.told.received, lone.host.told.finished, lone.host.busy.in_use()), (100, 1, 0));
        // If the flow ends before that, it is told first.
        let mut lone = Lone::server(defaults());
        lone.host.with(lone.now, |endpoint, env, _| endpoint.pause(env));
        lone.data(100);
        lone.say(Flags::FIN | Flags::ACK, b"");
        lone.host.close(lone.now);
        lone.lines();
        lone.say(Flags::ACK, b"");
        assert_eq!(
            (lone.host.end, lone.host.told.received, lone.host.told.finished),
            (Some(End::Closed), 100, 1)
        );
    }

    /// RFC 9293 section 3.8.6.2.2: the window opens by steps worth announcing.
    #[test]
    fn reading_on_tells_the_window() {
        let mut lone = Lone::server(TcpOptions { window: 50_000, ..plain() });
        lone.host.with(lone.now, |endpoint, env, _| endpoint.pause(env));
        lone.data(1_000);
        lone.wait_ms(50);
        lone.host.with(lone.now, |endpoint, env, told| endpoint.resume(env, told));
        assert!(lone.lines().is_empty(), "less than a segment is not worth it");
        lone.host.with(lone.now, |endpoint, env, _| endpoint.pause(env));
        lone.data(1_460);
        lone.data(1_460);
        assert_eq!(lone.out()[0].header.window, 50_000 - 2_920);
        lone.host.with(lone.now, |endpoint, env, told| endpoint.resume(env, told));
        assert_eq!(lone.out()[0].header.window, 50_000);
    }
}
