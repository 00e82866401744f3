//! The express lane changes nothing: of two pairs of stacks with the same input, one with it and one without, frames, events and
//! counters are equal.

use super::*;
use crate::frame_counts::StackCounts;
use crate::{Congestion, TcpCounts};

const SERVED: &str = "10.1.0.0-10.1.255.255";
const SERVED_V6: &str = "2001:db8:1::-2001:db8:1::ffff";
const GROUPS: u16 = 2;

/// An application with random requests, the same every time: they depend on its seed and the events so far.
#[derive(Debug)]
struct Moody {
    seed: u64,
    is_server: bool,
    /// One request, one response, and a close.
    is_orderly: bool,
    /// All its events, in order.
    told: Vec<(Nanos, &'static str, u64)>,
}

#[derive(Debug, Default, Clone)]
struct Mood {
    number: u64,
    events: u64,
    received: u64,
}

impl Moody {
    fn act(&mut self, now: Nanos, flow: &mut Mood, io: &mut Io, event: &'static str, value: u64) {
        self.told.push((now, event, u64::from(io.flow().0) << 40 ^ value));
        flow.events += 1;
        let word = random::word(random::key(self.seed ^ flow.number), flow.events);
        // Some messages are many segments.
        let most = if flow.number.is_multiple_of(4) { 40_000 } else { 3_000 };
        let (request, response) = (1 + flow.number % 700, 1 + flow.number * 37 % most);
        if self.is_orderly {
            match event {
                "opened" if !self.is_server => io.send(request),
                "received" if self.is_server && flow.received == request => io.send(response),
                "received" if !self.is_server && flow.received == response => io.close(),
                "finished" => io.close(),
                _ => {}
            }
            return;
        }
        let more = word >> 32;
        match word % 24 {
            0..=7 => io.send(more % (most + 1_000)),
            8 | 9 => {
                io.send(more % 100);
                io.close();
            }
            10..=12 => io.close(),
            13 => io.pause(),
            14 | 15 => io.resume(),
            16 => io.acknowledge(),
            17 => io.wake_at(now + Nanos::from_micros(more % 50_000)),
            18 => io.let_sleep(),
            19 if more.is_multiple_of(4) => io.abort(),
            20 if more.is_multiple_of(4) => {
                io.send(more % 2_000);
                io.reset();
            }
            _ => {}
        }
    }
}

impl App for Moody {
    type Flow = Mood;

    fn opened(&mut self, now: Nanos, flow: &mut Mood, io: &mut Io) {
        flow.number ^= u64::from(io.flow().0) << 8;
        self.act(now, flow, io, "opened", 0);
    }

    fn received(&mut self, now: Nanos, flow: &mut Mood, io: &mut Io, data: &[u8]) {
        flow.received += data.len() as u64;
        let digest =
            data.iter().fold(data.len() as u64, |digest, byte| random::mix(digest ^ u64::from(*byte)));
        self.act(now, flow, io, "received", digest);
    }

    fn finished(&mut self, now: Nanos, flow: &mut Mood, io: &mut Io) {
        self.act(now, flow, io, "finished", 0);
    }

    fn acknowledged(&mut self, now: Nanos, flow: &mut Mood, io: &mut Io, offset: u64) {
        self.act(now, flow, io, "acknowledged", offset);
    }

    fn woke(&mut self, now: Nanos, flow: &mut Mood, io: &mut Io) {
        self.act(now, flow, io, "woke", 0);
    }

    fn closed(&mut self, now: Nanos, flow: &mut Mood, id: FlowId, group: GroupId, end: End) {
        let end = End::IdleTimeout as u64 - end as u64;
        self.told.push((
            now,
            "closed",
            u64::from(id.0) << 40 ^ end << 16 ^ u64::from(group.0) << 8 ^ flow.events,
        ));
    }

    fn fill(&mut self, flow: &Mood, _: GroupId, offset: u64, out: &mut [u8]) {
        for (at, byte) in out.iter_mut().enumerate() {
            *byte = random::mix(flow.number ^ (offset + at as u64) << 20) as u8;
        }
    }
}

/// Shares of frames that the link loses, copies, forges and delays, percent.
#[derive(Debug, Clone)]
struct Weather {
    loss: u64,
    copies: u64,
    forged: u64,
    late: u64,
    room: usize,
    unfinished: bool,
}

struct Frames {
    frames: Vec<Vec<u8>>,
    room: usize,
}

impl Sink for Frames {
    fn frame(&mut self, len: usize) -> Option<&mut [u8]> {
        self.room = self.room.checked_sub(1)?;
        self.frames.push(vec![0xaa; len]);
        self.frames.last_mut().map(|frame| &mut frame[..])
    }
}

struct Side {
    stack: Stack<Moody>,
    app: Moody,
    /// Frames on their way to it.
    way: VecDeque<(Nanos, Vec<u8>)>,
}

/// Output of a pair in a step.
#[derive(Debug, PartialEq)]
struct Deeds {
    foreign: Vec<u64>,
    sent: [Vec<Vec<u8>>; 2],
    told: [Vec<(Nanos, &'static str, u64)>; 2],
    /// Flows, boxes lent, whether something is owed, when something is due, whether more was due.
    state: [(usize, usize, bool, Nanos); 2],
    opened: Vec<Result<FlowId, ConnectError>>,
}

struct Pair {
    now: Nanos,
    sides: [Side; 2],
    weather: Weather,
    random: u64,
    next_port: u16,
    is_v6: bool,
}

impl Pair {
    fn new(seed: u64, express: bool, setup: &Setup) -> Self {
        let config = |is_server: bool, tcp: &TcpOptions| GroupConfig {
            tcp: TcpOptions { express, ..tcp.clone() },
            vlans: setup.vlans.clone().into(),
            unfinished_checksums: setup.unfinished,
            leaves_checksums: setup.leaves_checksums,
            tos: setup.tos,
            mtu: setup.mtu,
            hop_mac: (!is_server || !setup.no_hop).then_some([2, 0, 0, 0, 0, 1]),
            ..GroupConfig::default()
        };
        let side = |is_server: bool, tcp: &TcpOptions| {
            let groups = (0..GROUPS).map(|_| config(is_server, tcp)).collect();
            let mut stack = Stack::new(seed ^ u64::from(is_server), 10, groups);
            for transport in [Transport::Tcp, Transport::Udp] {
                for (group, port) in [(GroupId(0), 80), (GroupId(1), 81)] {
                    if is_server {
                        stack.listen(group, transport, range(SERVED), port..=port);
                        stack.listen(group, transport, range(SERVED_V6), port..=port);
                    }
                }
            }
            if is_server {
                stack.owns(GroupId(0), range(SERVED));
            } else {
                stack.owns(GroupId(0), range("10.0.0.0-10.0.255.255"));
            }
            let app = Moody { seed: setup.mood, is_server, is_orderly: setup.is_orderly, told: Vec::new() };
            Side { stack, app, way: VecDeque::new() }
        };
        Self {
            now: Nanos::from_millis(1),
            sides: [side(false, &setup.client), side(true, &setup.server)],
            weather: setup.weather.clone(),
            random: seed,
            next_port: 1_000,
            is_v6: setup.is_v6,
        }
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_add(1);
        random::below(random::word(random::key(self.random), 1), below.max(1))
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.random(100) < percent
    }

    fn open(&mut self, transport: Transport) -> Result<FlowId, ConnectError> {
        // Ports are used again, by flows whose peers may still have them.
        self.next_port = 1_000 + (self.next_port - 999) % 60;
        let (local, remote) = match self.is_v6 {
            false => ("10.0.0.1", "10.1.0.1"),
            true => ("2001:db8::1", "2001:db8:1::1"),
        };
        let group = self.random(GROUPS.into()) as u16;
        let ends = (
            SocketAddr::new(local.parse().unwrap(), self.next_port),
            SocketAddr::new(remote.parse().unwrap(), 80 + group),
        );
        let flow = Mood { number: self.random(1 << 32), ..Mood::default() };
        let hop = self.chance(20).then_some([2, 0, 0, 0, 0, if self.chance(80) { 1 } else { 9 }]);
        let Side { stack, app, .. } = &mut self.sides[0];
        stack.connect(self.now, app, GroupId(group), transport, ends, hop, flow)
    }

    /// One round: flows are opened, frames arrive, timers fire, frames leave.
    fn step(&mut self) -> Deeds {
        let span = match self.random(12) {
            0..=8 => self.random(120_000),
            9 => self.random(5_000_000),
            10 => self.random(60_000_000),
            _ => self.random(1_500_000_000),
        };
        self.now += Nanos(span);
        let mut deeds = Deeds {
            foreign: Vec::new(),
            sent: Default::default(),
            told: Default::default(),
            state: [(0, 0, false, Nanos::ZERO); 2],
            opened: Vec::new(),
        };
        if self.chance(40) {
            for _ in 0..self.random(4) {
                let transport = if self.chance(10) { Transport::Udp } else { Transport::Tcp };
                deeds.opened.push(self.open(transport));
            }
        }
        for to in 0..2 {
            self.forge(to);
            self.deliver(to, &mut deeds.foreign);
            let Side { stack, app, .. } = &mut self.sides[to];
            while stack.turn(self.now, app) {}
        }
        self.meddle();
        for from in 0..2 {
            let room = self.weather.room;
            let Side { stack, app, .. } = &mut self.sides[from];
            let mut frames = Frames { frames: Vec::new(), room };
            stack.transmit(self.now, app, &mut frames);
            self.put_on_the_way(1 - from, &frames.frames);
            deeds.sent[from] = frames.frames;
        }
        for at in 0..2 {
            let Side { stack, app, .. } = &mut self.sides[at];
            deeds.told[at] = std::mem::take(&mut app.told);
            deeds.state[at] = (stack.flows(), stack.lent(), stack.owes(), stack.next_due());
        }
        deeds
    }

    /// Something from outside: a flow is aborted, closed or sent on.
    fn meddle(&mut self) {
        if !self.chance(6) {
            return;
        }
        let (at, pick, what) = (self.random(2) as usize, self.random(64) as usize, self.random(4));
        let Side { stack, app, .. } = &mut self.sides[at];
        let Some(id) = stack.flows_from(0).nth(pick % stack.flows().max(1)) else { return };
        stack.with(self.now, app, id, |_, _, io| match what {
            0 => io.abort(),
            1 => io.close(),
            2 => io.send(50),
            _ => io.reset(),
        });
    }

    fn put_on_the_way(&mut self, to: usize, frames: &[Vec<u8>]) {
        for bytes in frames {
            let copies = 1 + u64::from(self.chance(self.weather.copies));
            for _ in 0..copies {
                if self.chance(self.weather.loss) {
                    continue;
                }
                let late = if self.chance(self.weather.late) { self.random(3_000_000) } else { 0 };
                let at = self.now + Nanos(late);
                let way = &mut self.sides[to].way;
                let place = way.partition_point(|(other, _)| *other <= at);
                way.insert(place, (at, bytes.clone()));
            }
        }
    }

    /// Frames that are on their way, changed, beside them.
    fn forge(&mut self, to: usize) {
        let waiting = self.sides[to].way.len();
        for at in 0..waiting {
            if !self.chance(self.weather.forged) {
                continue;
            }
            let mut bytes = self.sides[to].way[at].1.clone();
            self.change(&mut bytes);
            let place = self.random(waiting as u64 + 1) as usize;
            let when = self.sides[to].way[at].0;
            self.sides[to].way.insert(place.min(at), (when, bytes));
        }
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        if self.chance(8) {
            // Damaged: whatever it is then.
            let at = self.random(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << self.random(8);
            return;
        }
        let mut ip = 14;
        while bytes[ip - 2..ip] == [0x81, 0] {
            ip += 4;
        }
        if self.is_v6 || bytes[ip + 9] != crate::frame::TCP {
            return;
        }
        let tcp = ip + 20;
        let near = |pair: &mut Self| (pair.random(7) as u32).wrapping_sub(3);
        for _ in 0..=self.random(2) {
            match self.random(14) {
                0 => bytes[tcp + 13] ^= 1 << self.random(8),
                1 => bytes[tcp + 13] = self.random(256) as u8,
                2 | 3 => {
                    let at = tcp + if self.chance(50) { 4 } else { 8 };
                    let number = u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
                    let step = if self.chance(80) { near(self) } else { self.random(1 << 32) as u32 };
                    bytes[at..at + 4].copy_from_slice(&number.wrapping_add(step).to_be_bytes());
                }
                4 => {
                    let window = [0, 1, 100, 65_535][self.random(4) as usize];
                    bytes[tcp + 14..tcp + 16].copy_from_slice(&u16::to_be_bytes(window));
                }
                5 => bytes[ip + 1] ^= 1 + self.random(3) as u8,
                6 => {
                    // Options: none that were, or others.
                    let old = usize::from(bytes[tcp + 12] >> 4) * 4;
                    let new: &[u8] = match self.random(6) {
                        0 => &[],
                        1 => &[1, 1, 8, 10, 0, 0, 0, 9, 0, 0, 0, 0],
                        2 => &[2, 4, 5, 0xb4],
                        3 => &[2, 4, 5, 0xb4, 1, 3, 3, 7],
                        4 => &[1, 1, 1, 0],
                        _ => &[5, 3, 0, 0],
                    };
                    if tcp + old <= bytes.len() {
                        bytes.splice(tcp + 20..tcp + old.max(20), new.iter().copied());
                        bytes[tcp + 12] = bytes[tcp + 12] & 0xf | ((20 + new.len()) as u8 / 4) << 4;
                    }
                }
                7 => {
                    let cut = self.random(20) as usize;
                    bytes.truncate(bytes.len().saturating_sub(cut).max(tcp + 20));
                }
                8 => bytes.extend((0..self.random(40)).map(|at| at as u8)),
                9 => bytes[tcp + 12] ^= 1 << self.random(8),
                10 => bytes[ip + 6 + self.random(2) as usize] ^= 1 << self.random(8),
                11 => {
                    let at = self.random(bytes.len() as u64 - ip as u64) as usize + ip;
                    bytes[at] ^= 1 << self.random(8);
                }
                // The first bytes of timestamps, if there are some.
                12 if bytes.len() > tcp + 28 => {
                    bytes[tcp + 24 + self.random(4) as usize] ^= 1 << self.random(8)
                }
                _ => bytes[tcp + 18] ^= 1,
            }
        }
        finish(bytes, ip);
        // Padding as links add it, which is none of the packet.
        if self.chance(30) {
            bytes.resize(bytes.len() + self.random(9) as usize, 0);
        }
    }

    fn deliver(&mut self, to: usize, foreign: &mut Vec<u64>) {
        let now = self.now;
        let due = self.sides[to].way.partition_point(|(at, _)| *at <= now);
        let frames: Vec<Vec<u8>> = self.sides[to].way.drain(..due).map(|(_, bytes)| bytes).collect();
        for burst in frames.chunks(BURST) {
            let burst: Vec<&[u8]> = burst.iter().map(|bytes| &bytes[..]).collect();
            let told = if self.weather.unfinished { random::word(random::key(self.random), 2) } else { 0 };
            let Side { stack, app, .. } = &mut self.sides[to];
            foreign.push(stack.receive_told(now, app, &burst, told));
        }
    }

    fn counts(&self) -> Vec<(&TcpCounts, &StackCounts)> {
        self.sides
            .iter()
            .flat_map(|side| {
                (0..GROUPS)
                    .map(|group| (side.stack.counts(GroupId(group)), side.stack.frame_counts(GroupId(group))))
            })
            .collect()
    }
}

/// Right lengths and sums for a frame of IPv4 and TCP.
fn finish(bytes: &mut [u8], ip: usize) {
    let total = (bytes.len() - ip) as u16;
    bytes[ip + 2..ip + 4].copy_from_slice(&total.to_be_bytes());
    bytes[ip + 10..ip + 12].fill(0);
    let header = ip + usize::from(bytes[ip] & 0xf).clamp(5, 5) * 4;
    let sum = wire::checksum::finish(wire::checksum::sum(&bytes[ip..header], 0));
    bytes[ip + 10..ip + 12].copy_from_slice(&sum.to_be_bytes());
    let pseudo =
        wire::checksum::sum(&bytes[ip + 12..ip + 20], u64::from(crate::frame::TCP) + u64::from(total) - 20);
    bytes[header + 16..header + 18].fill(0);
    let sum = wire::checksum::finish(wire::checksum::sum(&bytes[header..], pseudo));
    bytes[header + 16..header + 18].copy_from_slice(&sum.to_be_bytes());
}

#[derive(Debug, Clone)]
struct Setup {
    client: TcpOptions,
    server: TcpOptions,
    weather: Weather,
    mood: u64,
    is_orderly: bool,
    is_v6: bool,
    vlans: Vec<u16>,
    unfinished: UnfinishedChecksums,
    leaves_checksums: bool,
    tos: u8,
    mtu: u16,
    no_hop: bool,
}

fn options() -> impl Strategy<Value = TcpOptions> {
    let times = (prop::sample::select(vec![0u64, 200, 40_000]), any::<bool>(), any::<bool>());
    (
        any::<u16>(),
        times,
        prop::option::of(500u16..1_500),
        0u8..4,
        prop::sample::select(vec![64u32, 3_000, 65_535, 262_140]),
    )
        .prop_map(|(bits, (ack_delay_us, keeps, isn), mss, retries, window)| {
            let bit = |at: u16| bits >> at & 1 == 1;
            TcpOptions {
                mss,
                window,
                window_scaling: bit(0),
                timestamps: bit(1),
                timestamp_step: if bit(2) { Nanos(1 << 20) } else { Nanos::from_millis(3) },
                isn: isn.then_some(u32::MAX - 700),
                sack: bit(3),
                rack: bit(4),
                ecn: bit(5),
                initial_window: if bit(6) { 10 } else { 1 },
                congestion: match (bit(7), bit(8)) {
                    (true, true) => Congestion::None,
                    (true, false) => Congestion::NewReno,
                    _ => Congestion::Cubic,
                },
                no_delay: bit(9),
                ack_delay: Nanos::from_micros(ack_delay_us),
                data_retries: retries + 1,
                syn_retries: retries,
                time_wait: if bit(10) { TimeWait::Skip } else { TimeWait::For(Nanos::from_millis(20)) },
                fin_timeout: Nanos::from_secs(3),
                keep_alive: keeps.then_some(Nanos::from_millis(700)),
                close_by_reset: bit(11),
                ..TcpOptions::default()
            }
        })
}

fn weathers() -> impl Strategy<Value = Weather> {
    let percent = |most: u64| prop_oneof![2 => Just(0), 1 => 0..most];
    (
        percent(20),
        percent(10),
        percent(25),
        percent(20),
        prop_oneof![2 => Just(usize::MAX), 1 => 1..6usize],
        prop::bool::weighted(0.2),
    )
        .prop_map(|(loss, copies, forged, late, room, unfinished)| Weather {
            loss,
            copies,
            forged,
            late,
            room,
            unfinished,
        })
}

fn setups() -> impl Strategy<Value = Setup> {
    let link = (
        prop::bool::weighted(0.1),
        prop_oneof![3 => Just(vec![]), 1 => prop::collection::vec(1u16..4_000, 1..3)],
        prop_oneof![
            3 => Just(UnfinishedChecksums::Refused),
            1 => Just(UnfinishedChecksums::BySum),
            1 => Just(UnfinishedChecksums::Told)
        ],
        prop::bool::weighted(0.15),
        prop::sample::select(vec![0u8, 0, 0xb8]),
        prop::sample::select(vec![1_500u16, 1_500, 600, 9_000]),
        prop::bool::weighted(0.1),
    );
    (options(), prop::option::of(options()), weathers(), any::<u64>(), any::<bool>(), link).prop_map(
        |(
            client,
            server,
            weather,
            mood,
            is_orderly,
            (is_v6, vlans, unfinished, leaves_checksums, tos, mtu, no_hop),
        )| Setup {
            server: server.unwrap_or_else(|| client.clone()),
            client,
            weather,
            mood,
            is_orderly,
            is_v6,
            vlans,
            unfinished,
            leaves_checksums,
            tos,
            mtu,
            no_hop,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn the_lane_changes_nothing(seed: u64, setup in setups(), steps in 20usize..160) {
        let mut with = Pair::new(seed, true, &setup);
        let mut without = Pair::new(seed, false, &setup);
        for step in 0..steps {
            let (one, other) = (with.step(), without.step());
            prop_assert_eq!(one, other, "step {}", step);
            prop_assert_eq!(with.counts(), without.counts(), "step {}", step);
        }
    }
}

/// The test above needs flows that are established, carry data and are reset.
#[test]
fn most_moods_and_weathers_let_flows_work() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut established, mut bytes, mut resets) = (0, 0, 0);
    for seed in 0..40 {
        let setup = setups().new_tree(&mut runner).unwrap().current();
        let mut pair = Pair::new(seed, true, &setup);
        (0..100).for_each(|_| drop(pair.step()));
        let (tcp, _) = pair.counts()[2];
        established += tcp.established;
        bytes += tcp.bytes_in + tcp.bytes_out;
        resets += tcp.resets_in + tcp.resets_out;
    }
    assert!(established > 400 && bytes > 400_000 && resets > 20, "{established} {bytes} {resets}");
}
