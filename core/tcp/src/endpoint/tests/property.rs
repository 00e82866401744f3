//! For any seed: what must hold on every link, and against every peer.

use super::harness::{Link, Lone, Plan, Wire, content};
use crate::app::End;
use crate::endpoint::{State, bit};
use crate::options::{Congestion, TcpOptions, TimeWait};
use crate::segment::{Flags, SackBlocks, Segment, SegmentHeader, Timestamps};
use proptest::prelude::*;
use units::Nanos;

fn options() -> impl Strategy<Value = TcpOptions> {
    let congestion = prop_oneof![Just(Congestion::Cubic), Just(Congestion::NewReno), Just(Congestion::None)];
    let switches = (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>());
    (switches, congestion, 3_000u32..400_000, prop::option::of(100u16..1_500), 1u16..20, 0u64..50).prop_map(
        |(
            (window_scaling, timestamps, sack, rack, ecn, no_delay),
            congestion,
            window,
            mss,
            initial_window,
            delay,
        )| TcpOptions {
            mss,
            window,
            window_scaling,
            timestamps,
            sack,
            rack,
            ecn,
            initial_window,
            congestion,
            no_delay,
            ack_delay: Nanos::from_millis(delay),
            syn_retries: 30,
            syn_ack_retries: 30,
            data_retries: 40,
            // Long enough for every repeated FIN; see the test.
            fin_timeout: Nanos::from_secs(3_600),
            time_wait: TimeWait::For(Nanos::from_secs(600)),
            ..TcpOptions::default()
        },
    )
}

fn wire() -> impl Strategy<Value = Wire> {
    (any::<u64>(), 0u64..=200, 0u64..100, 0u64..300, 0u64..20_000, 10u64..30_000).prop_map(
        |(seed, loss, duplication, reordering, jitter, delay)| Wire {
            seed,
            delay: Nanos::from_micros(delay),
            jitter: Nanos::from_micros(jitter),
            loss,
            duplication,
            reordering,
            ..Wire::default()
        },
    )
}

/// Two sides that each send data and close, in any order; one of them pauses for a while.
fn plans() -> impl Strategy<Value = [Plan; 2]> {
    (0u64..60_000, 0u64..60_000, 0u64..20_000, any::<bool>(), prop::option::of((0u64..20_000, 0u64..3_000)))
        .prop_map(|(greet, answer, asked, first, pause)| {
            let asked = asked.min(greet);
            let pause_at = pause.map(|pause| pause.0);
            let pause_for = Nanos::from_millis(pause.map_or(0, |pause| pause.1));
            let closes = |at: u64, is: bool| is.then_some(at);
            [
                Plan {
                    greet,
                    close_at: closes(0, first),
                    close_on_finish: true,
                    pause_at,
                    pause_for,
                    ..Plan::default()
                },
                Plan {
                    asked,
                    answer,
                    close_at: closes(asked, !first),
                    close_on_finish: true,
                    ..Plan::default()
                },
            ]
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    /// Both sides receive exactly the bytes sent, both end closed, no box is left over, and what was acknowledged is
    /// what was sent. Initial sequence numbers are such that most runs wrap.
    #[test]
    fn every_byte_arrives(options in [options(), options()], plans in plans(), wire in wire(), iss in any::<[u16; 2]>()) {
        let sent = [plans[0].greet, plans[1].answer];
        let mut link = Link::new(options, plans, wire);
        for side in [0, 1] {
            link.hosts[side].iss = u32::MAX - u32::from(iss[side]);
        }
        link.connect();
        link.run(Nanos::from_secs(100_000));
        for side in [0, 1] {
            let host = &link.hosts[side];
            prop_assert_eq!(host.end, Some(End::Closed), "side {} at {}: {:?} {:?}", side, link.now, host.endpoint, host.told);
            prop_assert_eq!((host.told.received, host.told.wrong, host.told.finished), (sent[1 - side], 0, 1));
            prop_assert_eq!(host.told.acknowledged, sent[side]);
            prop_assert_eq!(host.busy.in_use(), 0);
            prop_assert_eq!((host.counts.bytes_in, host.counts.bytes_out), (sent[1 - side], sent[side]));
        }
    }

    /// Without loss nothing is sent twice, and no box is needed.
    #[test]
    fn nothing_is_repeated_without_loss(options in [options(), options()], greet in 0u64..100_000, answer in 0u64..100_000) {
        let client = Plan { greet, close_on_finish: true, ..Plan::default() };
        let server = Plan { asked: greet, answer, close_at: Some(greet), ..Plan::default() };
        let mut link = Link::new(options, [client, server], Wire::default());
        link.connect();
        link.run(Nanos::from_secs(100_000));
        for host in &link.hosts {
            prop_assert_eq!(host.end, Some(End::Closed));
            prop_assert_eq!((host.counts.retransmitted(), host.counts.duplicate_acks, host.busy.capacity()), (0, 0, 0));
        }
    }

    /// The offset of a byte is right however far the flow has come.
    #[test]
    fn offsets_pass_four_gibibytes(iss in any::<u32>(), turns in 1u64..4, before in 2u32..5_000) {
        let options = TcpOptions { congestion: Congestion::None, timestamps: false, ..TcpOptions::default() };
        let mut lone = Lone::new(1, options);
        lone.host.iss = iss;
        let syn = SegmentHeader { timestamps: None, ..lone.syn() };
        lone.put(&syn, b"");
        lone.out();
        lone.nxt = 1;
        lone.say(Flags::ACK, b"");
        lone.send((turns << 32) + 10_000);
        let mut sent = 0u64;
        for turn in 0..turns {
            // Jumps to shortly before the next multiple of 2^32, as if all up to there were acknowledged.
            let target = ((turn + 1) << 32) - u64::from(before);
            let skip = u32::try_from(target - sent).unwrap_or(u32::MAX);
            lone.skip(skip);
            sent += u64::from(skip);
            for _ in 0..6 {
                let out = lone.out();
                for segment in &out {
                    prop_assert_eq!(segment.offset, sent);
                    sent += u64::from(segment.len);
                }
                let ack = lone.header(Flags::ACK);
                lone.put(&ack, b"");
                prop_assert_eq!(lone.host.told.acknowledged, sent);
                if sent >= (turn + 1) << 32 {
                    break;
                }
            }
        }
    }
}

/// Any segment near an endpoint's window.
#[derive(Debug, Clone)]
struct Stray {
    flags: u8,
    seq: i32,
    ack: i32,
    len: usize,
    window: u16,
    time: Option<i32>,
    sack: Vec<(i32, i32)>,
    marked: bool,
}

fn near() -> impl Strategy<Value = i32> {
    prop_oneof![Just(0), -2i32..3, -3_000i32..3_000, -300_000i32..300_000, any::<i32>()]
}

fn stray() -> impl Strategy<Value = Stray> {
    let flags = prop_oneof![4 => Just(Flags::ACK.0), 2 => any::<u8>().prop_map(|bits| bits | Flags::ACK.0), 1 => any::<u8>()];
    let sack = prop::collection::vec((near(), near()), 0..4);
    let window = prop_oneof![Just(0), any::<u16>()];
    (flags, near(), near(), 0usize..2_000, window, prop::option::weighted(0.9, near()), sack, any::<bool>())
        .prop_map(|(flags, seq, ack, len, window, time, sack, marked)| Stray {
            flags,
            seq,
            ack,
            len,
            window,
            time,
            sack,
            marked,
        })
}

/// Input of an endpoint.
#[derive(Debug, Clone)]
enum Act {
    Segment(Stray),
    Honest(u32),
    Wait(u64),
    Send(u64),
    Transmit(usize),
    Close,
    Abort,
    Pause,
    Resume,
    PathMtu(u16),
    Unreachable,
    Bytes(Vec<u8>),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        12 => stray().prop_map(Act::Segment),
        6 => (1u32..2_000).prop_map(Act::Honest),
        4 => (0u64..5_000).prop_map(Act::Wait),
        4 => prop_oneof![0u64..20_000, any::<u64>().prop_map(|bytes| bytes >> 20)].prop_map(Act::Send),
        6 => (0usize..20).prop_map(Act::Transmit),
        1 => Just(Act::Close),
        1 => Just(Act::Pause),
        1 => Just(Act::Resume),
        1 => any::<u16>().prop_map(Act::PathMtu),
        1 => Just(Act::Unreachable),
        1 => prop::collection::vec(any::<u8>(), 0..80).prop_map(Act::Bytes),
        1 => Just(Act::Abort),
    ]
}

impl Act {
    fn carry_out(self, lone: &mut Lone) {
        let now = lone.now;
        match self {
            Self::Segment(stray) => stray.put(lone),
            Self::Honest(len) => {
                if lone.endpoint().state() != State::SynSent {
                    lone.nxt = lone.endpoint().rcv_nxt.wrapping_sub(lone.iss);
                    lone.data(len);
                }
            }
            Self::Wait(ms) => drop(lone.wait_ms(ms)),
            Self::Send(bytes) => lone.send(bytes),
            Self::Transmit(most) => {
                for _ in 0..most {
                    lone.host.transmit(now);
                }
            }
            Self::Close => lone.host.close(now),
            Self::Abort => {
                lone.host.with(now, |endpoint, env, _| endpoint.abort(env));
                lone.host.end = Some(End::Aborted);
            }
            Self::Pause => drop(lone.host.with(now, |endpoint, env, _| endpoint.pause(env))),
            Self::Resume => drop(lone.host.with(now, |endpoint, env, told| endpoint.resume(env, told))),
            Self::PathMtu(mss) => drop(lone.host.with(now, |endpoint, env, _| endpoint.path_mtu(env, mss))),
            Self::Unreachable => {
                if let Some(Some(end)) = lone.host.with(now, |endpoint, env, _| endpoint.unreachable(env)) {
                    lone.host.end = Some(end);
                }
            }
            // Not as an answer to the SYN, which would begin the peer's stream where nobody knows.
            Self::Bytes(bytes) => {
                if lone.endpoint().state() != State::SynSent {
                    lone.host.receive(now, &bytes);
                }
            }
        }
    }
}

impl Stray {
    /// Payload is what the peer would have sent there, so that all delivered data can be checked.
    fn put(self, lone: &mut Lone) {
        let endpoint = lone.endpoint();
        let seq = endpoint.rcv_nxt.wrapping_add_signed(self.seq);
        let una = endpoint.snd_una;
        let mut sack = SackBlocks::default();
        for (from, to) in &self.sack {
            sack.push(una.wrapping_add_signed(*from), una.wrapping_add_signed(*to));
        }
        let value = endpoint.ts_recent;
        let timestamps = self.time.filter(|_| endpoint.has(bit::TIMESTAMPS));
        let header = SegmentHeader {
            seq,
            ack: endpoint.snd_nxt.wrapping_add_signed(self.ack),
            flags: Flags(self.flags),
            window: self.window,
            mss: Some(1_000),
            timestamps: timestamps.map(|by| Timestamps { value: value.wrapping_add_signed(by), echo: 5 }),
            sack,
            ..SegmentHeader::default()
        };
        // In SYN-SENT the segment says itself where the peer's bytes begin.
        let first =
            if endpoint.state() == State::SynSent { seq.wrapping_add(1) } else { lone.iss.wrapping_add(1) };
        let syn = u32::from(self.flags & Flags::SYN.0 != 0);
        let payload: Vec<u8> = (0..self.len as u32)
            .map(|at| content(1 - lone.host.side, u64::from(seq.wrapping_add(syn + at).wrapping_sub(first))))
            .collect();
        if endpoint.state() == State::SynSent && syn == 1 {
            lone.iss = seq;
        }
        if self.marked { lone.put_marked(&header, &payload) } else { lone.put(&header, &payload) }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    /// For any input, at any time: no panic, nothing wrong is delivered, nothing more is sent than was passed, and an
    /// end leaves no box. (That `owes` agrees with `transmit` is checked at every segment.)
    #[test]
    fn nothing_breaks_an_endpoint(options in options(), active in any::<bool>(), acts in prop::collection::vec(act(), 1..60)) {
        let mut lone = if active { Lone::opening(options) } else { Lone::server(options) };
        for act in acts {
            act.carry_out(&mut lone);
            let endpoint = lone.endpoint();
            prop_assert!(!super::super::sequence::after(endpoint.snd_una, endpoint.snd_nxt));
            prop_assert_eq!(lone.host.told.wrong, 0);
            if lone.host.end.is_some() {
                prop_assert_eq!(lone.host.busy.in_use(), 0);
                prop_assert!(lone.host.transmit(lone.now).is_none() || lone.host.transmit(lone.now).is_none());
                break;
            }
            prop_assert!(endpoint.deadline(lone.now).is_some() || endpoint.flight() == 0 || endpoint.owes());
        }
        let mut busy = lone.host.busy;
        if let Some(mut endpoint) = lone.host.endpoint {
            endpoint.release(&mut busy);
        }
        prop_assert_eq!(busy.in_use(), 0);
    }

    /// Any bytes are a segment or a reason why not.
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
        if let Ok(segment) = Segment::read(&bytes, false) {
            let len = usize::from(bytes[12] >> 4) * 4;
            prop_assert_eq!(segment.payload, &bytes[len..]);
        }
    }
}
