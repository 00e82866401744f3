//! Bytes as a list of operations on two hosts and the frames between them: for any loss, copies, delays, forgeries or
//! invented frames, neither host panics, an application receives its peer's bytes in order, and every flow ends once
//! and leaves nothing behind.
//!
//! An operation takes four bytes: the action, and three for its target and parameters. A frame of any bytes is taken
//! from the rest of the input.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};
use tcp::{
    App, Congestion, ConnectError, End, Flags, FlowId, GroupConfig, GroupId, Io, Sink, Stack, TcpOptions,
    TimeWait, Transport, UdpOptions,
};
use units::Nanos;
use wire::checksum;

const OPERATIONS_MAX: usize = 200;
const GROUP: GroupId = GroupId(0);
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
/// Frames on the way in one direction: more are lost.
const FRAMES_MAX: usize = 200;
/// Where IP begins, and TCP in IPv4 without options.
const IP: usize = 14;
const TCP: usize = 34;

const OPEN: u8 = 0;
const ASK: u8 = 1;
const DELIVER: u8 = 2;
const LOSE: u8 = 3;
const HOLD_BACK: u8 = 4;
const COPY: u8 = 5;
const DAMAGE: u8 = 6;
const FORGE: u8 = 7;
const WAIT: u8 = 8;
const SEND: u8 = 9;
const RAW: u8 = 10;
const REPORT: u8 = 11;
const KINDS: u8 = 12;

/// All addresses and ports, as if emulated servers of QUIC had them.
pub(crate) fn everywhere() -> [tcp::Numbered; 2] {
    let all = |first: std::net::IpAddr, last| tcp::Numbered { addresses: first..=last, ports: 0..=u16::MAX };
    [
        all(std::net::Ipv4Addr::UNSPECIFIED.into(), std::net::Ipv4Addr::BROADCAST.into()),
        all(std::net::Ipv6Addr::UNSPECIFIED.into(), std::net::Ipv6Addr::from([u16::MAX; 8]).into()),
    ]
}

/// Checks one input; panics if something does not hold.
pub fn check(data: &[u8]) {
    let Some((options, mut rest)) = data.split_first() else { return };
    let mut pair = Pair::new(*options);
    for _ in 0..OPERATIONS_MAX {
        let Some(([what, whom, high, low], behind)) = rest.split_first_chunk() else { break };
        rest = behind;
        let number = u16::from_be_bytes([*high, *low]);
        if what % KINDS == RAW {
            let (frame, behind) = rest.split_at(usize::from(*high).min(rest.len()));
            rest = behind;
            pair.raw(*whom, frame);
        } else {
            pair.operate(what % KINDS, *whom, number);
        }
    }
    pair.finish();
}

/// The byte a side sends at an offset of any of its flows.
fn byte(is_server: bool, offset: u64) -> u8 {
    (random::mix(offset / 8 + if is_server { 1 << 40 } else { 0 }) >> (offset % 8 * 8)) as u8
}

#[derive(Default)]
struct Flow {
    received: u64,
    acknowledged: u64,
    is_opened: bool,
}

/// An application that follows the input, and checks its events.
struct Checker {
    is_server: bool,
    is_udp: bool,
    live: HashMap<FlowId, bool>,
}

impl App for Checker {
    type Flow = Flow;

    fn opened(&mut self, _: Nanos, flow: &mut Flow, io: &mut Io) {
        assert!(!flow.is_opened, "opened twice");
        flow.is_opened = true;
        if self.is_server {
            io.send(100);
        }
    }

    fn received(&mut self, _: Nanos, flow: &mut Flow, _: &mut Io, data: &[u8]) {
        assert!(flow.is_opened, "data received before the flow was opened");
        // Datagrams may be lost.
        if self.is_udp {
            return;
        }
        for (at, got) in data.iter().enumerate() {
            assert_eq!(*got, byte(!self.is_server, flow.received + at as u64), "wrong bytes");
        }
        flow.received += data.len() as u64;
    }

    fn finished(&mut self, _: Nanos, _: &mut Flow, io: &mut Io) {
        if self.is_server {
            io.close();
        }
    }

    fn acknowledged(&mut self, _: Nanos, flow: &mut Flow, _: &mut Io, offset: u64) {
        assert!(offset >= flow.acknowledged);
        flow.acknowledged = offset;
    }

    fn woke(&mut self, now: Nanos, _: &mut Flow, io: &mut Io) {
        io.resume();
        io.wake_at(now + Nanos::from_millis(700));
    }

    fn closed(&mut self, _: Nanos, _: &mut Flow, id: FlowId, _: GroupId, _: End) {
        let was_live = self.live.remove(&id);
        assert!(was_live.is_some() || self.is_server, "closed twice");
    }

    fn fill(&mut self, flow: &Flow, _: GroupId, offset: u64, out: &mut [u8]) {
        assert!(
            self.is_udp || offset + out.len() as u64 > flow.acknowledged,
            "acknowledged bytes are requested"
        );
        for (at, place) in out.iter_mut().enumerate() {
            *place = byte(self.is_server, offset + at as u64);
        }
    }
}

/// Room for this number of frames.
struct Room {
    frames: Vec<Vec<u8>>,
    left: usize,
}

impl Sink for Room {
    fn frame(&mut self, len: usize) -> Option<&mut [u8]> {
        self.left = self.left.checked_sub(1)?;
        self.frames.push(vec![0x5a; len]);
        self.frames.last_mut().map(|frame| &mut frame[..])
    }
}

struct Host {
    stack: Stack<Checker>,
    app: Checker,
}

struct Pair {
    now: Nanos,
    /// The client, the server.
    hosts: [Host; 2],
    /// Frames to the client, to the server.
    to: [VecDeque<Vec<u8>>; 2],
}

impl Pair {
    fn new(options: u8) -> Self {
        let bit = |n: u8| options >> n & 1 == 1;
        let tcp = TcpOptions {
            timestamps: bit(0),
            sack: bit(1),
            window_scaling: bit(2),
            ecn: bit(3),
            congestion: if bit(4) { Congestion::Cubic } else { Congestion::None },
            time_wait: if bit(5) { TimeWait::Skip } else { TimeWait::For(Nanos::from_secs(2)) },
            window: if bit(6) { 4_000 } else { 500_000 },
            no_delay: bit(7),
            keep_alive: bit(6).then_some(Nanos::from_secs(20)),
            ..TcpOptions::default()
        };
        let udp =
            UdpOptions { idle_timeout: Some(Nanos::from_secs(5)), ecn: false, refused_after: Nanos::ZERO };
        let vlans = if bit(7) { vec![5].into() } else { wire::Vlans::NONE };
        let config =
            GroupConfig { tcp, udp, vlans, own_mac: MAC, hop_mac: Some(MAC), ..GroupConfig::default() };
        let host = |is_server: bool| Host {
            stack: Stack::new(u64::from(is_server), 4, vec![config.clone()]),
            app: Checker { is_server, is_udp: false, live: HashMap::new() },
        };
        let mut pair = Self {
            now: Nanos::from_secs(1),
            hosts: [host(false), host(true)],
            to: [VecDeque::new(), VecDeque::new()],
        };
        for (first, last) in [("10.1.0.0", "10.1.0.255"), ("2001:db8:1::", "2001:db8:1::ff")] {
            let range = || address(first)..=address(last);
            let server = &mut pair.hosts[1].stack;
            server.listen(GROUP, Transport::Tcp, range(), 80..=81);
            server.owns(GROUP, range());
        }
        pair.hosts[0].stack.owns(GROUP, address("10.0.0.1")..=address("10.0.0.255"));
        pair
    }

    fn operate(&mut self, what: u8, whom: u8, number: u16) {
        let side = usize::from(whom & 1);
        let frames = self.to[side].len();
        let pick = (frames > 0).then(|| usize::from(number) % frames.max(1));
        match (what, pick) {
            (OPEN, _) => self.open(whom, number),
            (ASK, _) => self.ask(side, whom >> 1, number),
            (DELIVER, _) => self.deliver(side, 1 + usize::from(number)),
            (WAIT, _) => self.wait(Nanos(u64::from(number) << (10 + whom % 16))),
            (SEND, _) => self.send(side, usize::from(number)),
            (LOSE, Some(at)) => drop(self.to[side].remove(at)),
            (HOLD_BACK, Some(at)) => {
                let frame = self.to[side].remove(at);
                self.to[side].extend(frame);
            }
            (COPY, Some(at)) => {
                let frame = self.to[side][at].clone();
                self.to[side].push_back(frame);
            }
            (DAMAGE, Some(at)) => {
                // One bit: of two, one may hide the other from the checksum.
                let mut frame = self.to[side][at].clone();
                let place = usize::from(whom) * 7 % frame.len();
                frame[place] ^= 1 << (number & 7);
                self.receive(side, &[&frame]);
            }
            (FORGE, Some(at)) => {
                if let Some(frame) = forge(&self.to[side][at], whom >> 1, number) {
                    self.receive(side, &[&frame]);
                }
            }
            (REPORT, Some(at)) => {
                let error = report(&self.to[side][at], whom >> 1, number);
                self.receive(1 - side, &[&error]);
            }
            _ => {}
        }
    }

    fn open(&mut self, whom: u8, number: u16) {
        let is_v6 = whom & 1 == 1;
        let (local, remote) = if is_v6 { ("2001:db8::1", "2001:db8:1::1") } else { ("10.0.0.1", "10.1.0.1") };
        let local = SocketAddr::new(address(local), 1_000 + number % 8);
        // The third port is served by nobody.
        let remote = SocketAddr::new(address(remote), 80 + u16::from(whom >> 1) % 3);
        let Host { stack, app } = &mut self.hosts[0];
        match stack.connect(self.now, app, GROUP, Transport::Tcp, (local, remote), None, Flow::default()) {
            Ok(id) => assert!(app.live.insert(id, true).is_none(), "a number used twice"),
            Err(error) => assert_eq!(error, ConnectError::InUse),
        }
    }

    fn ask(&mut self, side: usize, how: u8, number: u16) {
        let Host { stack, app } = &mut self.hosts[side];
        let flows: Vec<FlowId> = stack.flows_from(0).collect();
        let Some(id) = flows.get(usize::from(number) % flows.len().max(1)) else { return };
        let now = self.now;
        stack.with(now, app, *id, |_, _, io| match how % 8 {
            0 => io.send(u64::from(number) << 3),
            1 => io.close(),
            2 => io.abort(),
            3 => io.pause(),
            4 => io.resume(),
            5 => io.wake_at(Nanos(now.0 + (u64::from(number) << 14))),
            6 => io.let_sleep(),
            _ => {
                io.send(u64::from(number));
                io.close();
            }
        });
    }

    fn receive(&mut self, side: usize, frames: &[&[u8]]) {
        let Host { stack, app } = &mut self.hosts[side];
        stack.receive(self.now, app, frames);
    }

    fn deliver(&mut self, side: usize, count: usize) {
        let count = count.min(self.to[side].len()).min(tcp::BURST);
        let frames: Vec<Vec<u8>> = self.to[side].drain(..count).collect();
        let frames: Vec<&[u8]> = frames.iter().map(|frame| &frame[..]).collect();
        self.receive(side, &frames);
    }

    fn raw(&mut self, whom: u8, bytes: &[u8]) {
        let mut frame = bytes.to_vec();
        if whom & 2 != 0 && frame.len() > IP {
            frame[..6].copy_from_slice(&MAC);
            frame[12..14].copy_from_slice(if whom & 4 == 0 { &[8, 0] } else { &[0x86, 0xdd] });
        }
        fix_sums(&mut frame);
        self.receive(usize::from(whom & 1), &[&frame]);
        for workers in [1, 3] {
            assert!(tcp::flow_owner(&frame, workers).is_none_or(|owner| owner < workers));
            assert!(tcp::numbered_owner(&frame, &everywhere(), workers).is_none_or(|owner| owner < workers));
        }
    }

    fn wait(&mut self, span: Nanos) {
        self.now += span;
        for Host { stack, app } in &mut self.hosts {
            while stack.turn(self.now, app) {}
            assert!(stack.next_due() > self.now || stack.next_due() == Nanos::ZERO, "a timer was left");
        }
    }

    fn send(&mut self, side: usize, room: usize) {
        let Host { stack, app } = &mut self.hosts[side];
        let mut sink = Room { frames: Vec::new(), left: room.min(FRAMES_MAX) };
        let owes = stack.transmit(self.now, app, &mut sink);
        assert!(owes || !stack.owes());
        let to = &mut self.to[1 - side];
        to.extend(sink.frames);
        to.truncate(FRAMES_MAX);
    }

    /// Gives all flows up: nothing is left.
    fn finish(&mut self) {
        for Host { stack, app } in &mut self.hosts {
            let flows: Vec<FlowId> = stack.flows_from(0).collect();
            assert_eq!(flows.len(), stack.flows());
            for id in flows {
                // One in TIME-WAIT is over for its application.
                let is_over = !stack.with(self.now, app, id, |_, _, io| io.abort());
                assert!(!(is_over && app.live.contains_key(&id)), "an unreachable flow");
            }
            assert!(app.live.is_empty(), "flows that were never closed");
            let mut sink = Room { frames: Vec::new(), left: 100_000 };
            assert!(!stack.transmit(self.now, app, &mut sink) && !stack.owes());
        }
        self.wait(Nanos::from_secs(1_000));
        for Host { stack, .. } in &self.hosts {
            assert_eq!((stack.flows(), stack.lent(), stack.flows_from(0).count()), (0, 0, 0));
            assert!(stack.next_due() == Nanos::MAX, "timers of no flow");
        }
    }
}

fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// The header of a segment with one of its fields changed, without payload: it can confuse, but not lie about bytes.
/// `None` if it is no IPv4 segment.
fn forge(frame: &[u8], how: u8, number: u16) -> Option<Vec<u8>> {
    if frame.get(12..15)? != [8, 0, 0x45] || frame.get(23) != Some(&6) {
        return None;
    }
    let end = TCP + usize::from(frame.get(TCP + 12)? >> 4) * 4;
    let mut forged = frame.get(..end)?.to_vec();
    let total = (end - IP) as u16;
    forged[IP + 2..IP + 4].copy_from_slice(&total.to_be_bytes());
    let at = match how % 4 {
        0 => 4,
        1 => 8,
        2 => 12,
        _ => 16,
    };
    let place = TCP + at + usize::from(how / 4) % (end - TCP - at).clamp(1, 20);
    let place = place.min(end - 1);
    forged[place] = forged[place].wrapping_add(number as u8);
    // A forged beginning would make later bytes the first ones.
    forged[TCP + 13] &= !Flags::SYN.0;
    fix_sums(&mut forged);
    Some(forged)
}

/// An ICMP error about a frame, to its sender.
fn report(frame: &[u8], how: u8, number: u16) -> Vec<u8> {
    let beginning = frame.get(IP..frame.len().min(IP + 28 + usize::from(how))).unwrap_or_default();
    let mut error = [&MAC[..], &MAC, &[8, 0]].concat();
    let total = (20 + 8 + beginning.len()) as u16;
    error.extend([0x45, 0]);
    error.extend(total.to_be_bytes());
    error.extend([0, 0, 0x40, 0, 64, 1, 0, 0, 10, 9, 9, 9, 10, 0, 0, 1]);
    error.extend([3, how % 16, 0, 0, 0, 0]);
    error.extend(number.to_be_bytes());
    error.extend(beginning);
    let sum = checksum::finish(checksum::sum(&error[TCP..], 0));
    error[TCP + 2..TCP + 4].copy_from_slice(&sum.to_be_bytes());
    fix_sums(&mut error);
    error
}

/// Corrects the checksums of an IPv4 header without options and of TCP after it, if there.
fn fix_sums(frame: &mut [u8]) {
    if frame.len() < TCP || frame[12..15] != [8, 0, 0x45] {
        return;
    }
    frame[24..26].fill(0);
    let sum = checksum::finish(checksum::sum(&frame[IP..TCP], 0));
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    let end = IP + usize::from(u16::from_be_bytes([frame[16], frame[17]]));
    if frame[23] == 6 && end >= TCP + 20 && end <= frame.len() {
        frame[TCP + 16..TCP + 18].fill(0);
        let pseudo = checksum::sum(&frame[26..TCP], 6 + (end - TCP) as u64);
        let sum = checksum::finish(checksum::sum(&frame[TCP..end], pseudo));
        frame[TCP + 16..TCP + 18].copy_from_slice(&sum.to_be_bytes());
    }
}

/// Sessions as they should be, with a loss, and with forged segments; each with several sets of options.
pub fn seeds() -> Vec<Vec<u8>> {
    let exchange: [[u8; 4]; 4] =
        [[SEND, 0, 0, 50], [DELIVER, 1, 0, 50], [SEND, 1, 0, 50], [DELIVER, 0, 0, 50]];
    let round = exchange.concat();
    let mut seeds = Vec::new();
    for options in [0x00, 0x03, 0x1f, 0x27, 0x43, 0x9f] {
        let open = [&[options, OPEN, 0, 0, 1][..], &round, &round].concat();
        let ask = |how: u8| [&[ASK, how << 1, 1, 0][..], &round, &[WAIT, 12, 0, 40], &round].concat();
        seeds.push([&open[..], &ask(0), &ask(1), &round].concat());
        seeds.push([&open[..], &ask(7), &round, &ask(2)].concat());
        let lossy =
            [&[ASK, 0, 1, 0][..], &[SEND, 0, 0, 9, LOSE, 1, 0, 0, DELIVER, 1, 0, 9], &round, &round].concat();
        seeds.push([&open[..], &lossy, &[WAIT, 15, 0, 200], &round, &round].concat());
        let forged = [
            &[SEND, 0, 0, 9, FORGE, 1 | 4 << 1, 0, 7, FORGE, 1, 0, 3, REPORT, 1 | 4 << 1, 2, 88][..],
            &round,
        ]
        .concat();
        seeds.push([&open[..], &ask(0), &forged, &ask(3), &ask(4)].concat());
        seeds.push([&[options, OPEN, 1, 0, 1][..], &round, &ask(7), &round].concat());
    }
    seeds
}
