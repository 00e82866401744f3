//! Throughput of a stack on one core: two of them joined by frames in memory, without ports and without an engine.
//!
//! `cargo bench -p tcp --bench sessions [-- sessions | bulk | lookup | memory | few | answers | resets [long]]`. Both ends run on the same core, so a
//! session is opened, used and closed twice in the time it takes. The stacks live in virtual time: nothing waits. The
//! figure is processor time, the best of some rounds, because the machine is shared.

#![allow(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout)]

use std::fs;
use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Instant;
use tcp::{
    App, BURST, Congestion, End, Flags, FlowId, GroupConfig, GroupId, Io, Segment, SegmentHeader, Sink,
    Stack, TcpOptions, TimeWait, Transport, UdpOptions,
};
use units::Nanos;

const GROUP: GroupId = GroupId(0);
const BUFFER: usize = 2_176;
/// Virtual time between two bursts.
const STEP: Nanos = Nanos::from_micros(10);
const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    // `long` beside a mode: without the express lane, to compare.
    let express = !wanted.iter().any(|word| word == "long");
    let is_wanted = |what: &str| wanted.is_empty() || wanted.iter().any(|word| word == what);
    if is_wanted("sessions") {
        for (concurrent, time_wait) in [
            (64, TimeWait::Skip),
            (1_000, TimeWait::Skip),
            (1_000, TimeWait::For(Nanos::from_millis(20))),
            (100_000, TimeWait::Skip),
        ] {
            sessions(concurrent, time_wait);
        }
    }
    if wanted.iter().any(|word| word == "few") {
        // For instruments that slow everything down.
        let usual = TcpOptions { time_wait: TimeWait::Skip, express, ..TcpOptions::default() };
        run_sessions(&mut Pair::new(64, usual.clone(), 100, 100), 64, &mut 0, 20_000);
    }
    if wanted.iter().any(|word| word == "answers") {
        // The same with answers of several segments.
        let usual = TcpOptions { time_wait: TimeWait::Skip, express, ..TcpOptions::default() };
        run_sessions(&mut Pair::new(64, usual, 100, 8_192), 64, &mut 0, 5_000);
    }
    if wanted.iter().any(|word| word == "resets") {
        // The same for sessions that are as short as they can be.
        let usual = TcpOptions { time_wait: TimeWait::Skip, express, ..TcpOptions::default() };
        let bare = TcpOptions { close_by_reset: true, timestamps: false, sack: false, ..usual };
        let mut pair = Pair::new(64, bare, 64, 64);
        (pair.client_app.clients_close, pair.server_app.clients_close) = (true, true);
        run_sessions(&mut pair, 64, &mut 0, 20_000);
    }
    if is_wanted("bulk") {
        bulk();
    }
    if is_wanted("lookup") {
        for flows in [1_000, 100_000, 1_000_000, 10_000_000] {
            lookup(flows);
        }
    }
    if is_wanted("memory") {
        memory(4_000_000);
    }
}

/// Time this thread has had a processor for, seconds.
fn cpu_time() -> f64 {
    let text = fs::read_to_string("/proc/thread-self/schedstat").expect("Linux");
    let ns = text.split_whitespace().next().and_then(|ns| ns.parse::<u64>().ok()).expect("a number");
    ns as f64 / 1e9
}

/// Frames in memory, used again and again.
struct Wire {
    buffers: Vec<[u8; BUFFER]>,
    lengths: Vec<usize>,
    room: usize,
}

impl Wire {
    fn new(room: usize) -> Self {
        Self { buffers: vec![[0; BUFFER]; room], lengths: Vec::with_capacity(room), room }
    }

    /// Hands all frames to a stack, in bursts.
    fn deliver<A: App>(&mut self, now: Nanos, stack: &mut Stack<A>, app: &mut A) -> usize {
        for (buffers, lengths) in self.buffers.chunks(BURST).zip(self.lengths.chunks(BURST)) {
            let mut frames: [&[u8]; BURST] = [&[]; BURST];
            for (frame, (buffer, len)) in frames.iter_mut().zip(buffers.iter().zip(lengths)) {
                *frame = &buffer[..*len];
            }
            stack.receive(now, app, &frames[..lengths.len()]);
        }
        let count = self.lengths.len();
        self.lengths.clear();
        count
    }
}

impl Sink for Wire {
    #[inline]
    fn frame(&mut self, len: usize) -> Option<&mut [u8]> {
        if self.lengths.len() == self.room {
            return None;
        }
        let at = self.lengths.len();
        self.lengths.push(len);
        Some(&mut self.buffers[at][..len])
    }
}

/// Clients send requests, servers respond and close, or clients do.
#[derive(Default)]
struct Asker {
    is_server: bool,
    clients_close: bool,
    request: u64,
    response: u64,
    is_idle: bool,
    closed: u64,
    failed: u64,
    received: u64,
}

impl App for Asker {
    /// 40 bytes, as applications have.
    type Flow = [u64; 5];

    fn opened(&mut self, _: Nanos, _: &mut [u64; 5], io: &mut Io) {
        if !self.is_server && !self.is_idle {
            io.send(self.request);
        }
    }

    fn received(&mut self, _: Nanos, flow: &mut [u64; 5], io: &mut Io, data: &[u8]) {
        flow[0] += data.len() as u64;
        self.received += data.len() as u64;
        if self.is_server && !self.is_idle && flow[0] == self.request {
            io.send(self.response);
        }
        let is_closed_here = self.is_server != self.clients_close;
        let whole = if self.is_server { self.request } else { self.response };
        if is_closed_here && !self.is_idle && flow[0] == whole {
            io.close();
        }
    }

    fn finished(&mut self, _: Nanos, _: &mut [u64; 5], io: &mut Io) {
        io.close();
    }

    fn acknowledged(&mut self, _: Nanos, _: &mut [u64; 5], _: &mut Io, _: u64) {}

    fn woke(&mut self, _: Nanos, _: &mut [u64; 5], _: &mut Io) {}

    fn closed(&mut self, _: Nanos, _: &mut [u64; 5], _: FlowId, _: GroupId, end: End) {
        self.closed += 1;
        self.failed += u64::from(end != End::Closed);
    }

    fn fill(&mut self, _: &[u64; 5], _: GroupId, offset: u64, out: &mut [u8]) {
        out.fill(offset as u8);
    }
}

fn config(tcp: TcpOptions) -> GroupConfig {
    GroupConfig {
        tcp,
        udp: UdpOptions { idle_timeout: None, ecn: false, refused_after: Nanos::ZERO },
        own_mac: MAC,
        hop_mac: Some(MAC),
        ..GroupConfig::default()
    }
}

fn remote() -> SocketAddr {
    SocketAddr::new(Ipv4Addr::new(10, 128, 0, 1).into(), 80)
}

/// The `n`-th own address and port: 60,000 ports for each address.
fn local(n: u64) -> SocketAddr {
    let ip = 0x0a00_0001 + (n / 60_000 % 4_096) as u32;
    SocketAddr::new(IpAddr::from(ip.to_be_bytes()), 2_000 + (n % 60_000) as u16)
}

/// Two stacks and the frames between them.
struct Pair {
    now: Nanos,
    client: Stack<Asker>,
    server: Stack<Asker>,
    client_app: Asker,
    server_app: Asker,
    there: Wire,
    back: Wire,
    frames: u64,
}

impl Pair {
    fn new(expected: usize, tcp: TcpOptions, request: u64, response: u64) -> Self {
        let mut server = Stack::new(2, expected, vec![config(tcp.clone())]);
        let all = IpAddr::from([10, 128, 0, 0])..=IpAddr::from([10, 128, 255, 255]);
        server.listen(GROUP, Transport::Tcp, all, 1..=65_535);
        let app = |is_server| Asker { is_server, request, response, ..Asker::default() };
        Self {
            now: Nanos::from_secs(1),
            client: Stack::new(1, expected, vec![config(tcp)]),
            server,
            client_app: app(false),
            server_app: app(true),
            there: Wire::new(256),
            back: Wire::new(256),
            frames: 0,
        }
    }

    fn open(&mut self, n: u64) -> bool {
        let app = &mut self.client_app;
        self.client.connect(self.now, app, GROUP, Transport::Tcp, (local(n), remote()), None, [0; 5]).is_ok()
    }

    fn turn(&mut self) {
        self.now += STEP;
        self.client.turn(self.now, &mut self.client_app);
        self.client.transmit(self.now, &mut self.client_app, &mut self.there);
        self.frames += self.there.deliver(self.now, &mut self.server, &mut self.server_app) as u64;
        self.server.turn(self.now, &mut self.server_app);
        self.server.transmit(self.now, &mut self.server_app, &mut self.back);
        self.frames += self.back.deliver(self.now, &mut self.client, &mut self.client_app) as u64;
    }
}

fn sessions(concurrent: usize, time_wait: TimeWait) {
    let tcp = TcpOptions { time_wait, ..TcpOptions::default() };
    let mut pair = Pair::new(concurrent, tcp, 100, 100);
    let mut next = 0;
    let mut best = f64::INFINITY;
    let (mut frames_each, rounds) = (0.0, 8);
    for round in 0..=rounds {
        let (goal, frames) = (pair.client_app.closed + 200_000, pair.frames);
        let start = cpu_time();
        run_sessions(&mut pair, concurrent, &mut next, goal);
        if round > 0 {
            best = best.min((cpu_time() - start) / 200_000.0);
        }
        frames_each = (pair.frames - frames) as f64 / 200_000.0;
    }
    assert_eq!(pair.client_app.failed, 0, "sessions failed");
    println!(
        "sessions, {concurrent:6} at once, {time_wait:?}: {:8.0} ns each, {:9.0}/s, {frames_each:.2} frames each, {:.0} ns a frame (both ends)",
        best * 1e9,
        1.0 / best,
        best * 1e9 / frames_each
    );
}

/// Runs sessions until this number is over, with never more than `concurrent` of them.
fn run_sessions(pair: &mut Pair, concurrent: usize, next: &mut u64, goal: u64) {
    while pair.client_app.closed < goal {
        let mut burst = 0;
        while pair.client.flows() < concurrent && burst < BURST {
            pair.open(*next);
            *next += 1;
            burst += 1;
        }
        pair.turn();
    }
}

fn bulk() {
    for congestion in [Congestion::None, Congestion::Cubic] {
        let tcp = TcpOptions { congestion, window: 1 << 20, ..TcpOptions::default() };
        let mut pair = Pair::new(100, tcp, 100, u64::from(u32::MAX) * 1_000);
        for n in 0..8 {
            pair.open(n);
        }
        let (mut best, mut before) = (0.0f64, 0);
        for _ in 0..12 {
            let start = cpu_time();
            for _ in 0..2_000 {
                pair.turn();
            }
            let bytes = pair.client_app.received - before;
            before = pair.client_app.received;
            best = best.max(bytes as f64 * 8.0 / (cpu_time() - start) / 1e9);
        }
        println!(
            "bulk, 8 flows, 1448 bytes a segment, {congestion:?}: {best:.2} Gbit/s of payload (both ends)"
        );
    }
}

/// A peer of which only the frames exist: it opens flows and sends on any of them.
struct Peer {
    /// Next data of each flow, and its received data.
    next: Vec<(u32, u32)>,
}

const PORTS: u32 = 60_000;

fn source(flow: u32) -> (u32, u16) {
    (0x0a00_0001 + flow / PORTS, 2_000 + (flow % PORTS) as u16)
}

/// Writes a segment of flow `flow` to the server; returns its length.
fn write_segment(flow: u32, header: &SegmentHeader, payload: usize, out: &mut [u8]) -> usize {
    let (address, port) = source(flow);
    let total = 20 + header.len() + payload;
    let frame = &mut out[..14 + total];
    frame[..6].copy_from_slice(&MAC);
    frame[6..12].copy_from_slice(&MAC);
    frame[12..24].copy_from_slice(&[8, 0, 0x45, 0, (total >> 8) as u8, total as u8, 0, 0, 0x40, 0, 64, 6]);
    frame[24..26].fill(0);
    frame[26..30].copy_from_slice(&address.to_be_bytes());
    frame[30..34].copy_from_slice(&[10, 128, 0, 1]);
    let sum = wire::checksum::finish(wire::checksum::sum(&frame[14..34], 0));
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    header.write(port, 80, &mut frame[34..]);
    frame[34 + header.len()..].fill(7);
    let pseudo = wire::checksum::sum(&frame[26..34], 6 + (total - 20) as u64);
    let sum = wire::checksum::finish(wire::checksum::sum(&frame[34..], pseudo));
    frame[50..52].copy_from_slice(&sum.to_be_bytes());
    14 + total
}

/// A server with `flows` established flows, and their peer.
fn established(flows: u32) -> (Pair, Peer) {
    let tcp = TcpOptions { timestamps: false, ..TcpOptions::default() };
    let mut pair = Pair::new(flows as usize, tcp.clone(), 1, 1);
    // Not used, and no room is to be kept for it.
    pair.client = Stack::new(1, 0, vec![config(tcp)]);
    pair.server_app.is_idle = true;
    let mut peer = Peer { next: Vec::with_capacity(flows as usize) };
    let mut first = 0;
    while first < flows {
        let end = (first + BURST as u32).min(flows);
        pair.now += STEP;
        for flow in first..end {
            let header = SegmentHeader {
                seq: 1,
                flags: Flags::SYN,
                window: 60_000,
                mss: Some(1_460),
                ..SegmentHeader::default()
            };
            let buffer = pair.there.frame(BUFFER).expect("room");
            let len = write_segment(flow, &header, 0, buffer);
            *pair.there.lengths.last_mut().expect("a frame") = len;
        }
        pair.there.deliver(pair.now, &mut pair.server, &mut pair.server_app);
        pair.server.transmit(pair.now, &mut pair.server_app, &mut pair.back);
        assert_eq!(pair.back.lengths.len(), (end - first) as usize, "a SYN-ACK for each SYN");
        for (at, flow) in (first..end).enumerate() {
            let answer =
                Segment::read(&pair.back.buffers[at][34..pair.back.lengths[at]], false).expect("a segment");
            peer.next.push((2, answer.header.seq.wrapping_add(1)));
            let header = SegmentHeader {
                seq: 2,
                ack: peer.next[flow as usize].1,
                flags: Flags::ACK,
                window: 60_000,
                ..SegmentHeader::default()
            };
            let buffer = pair.there.frame(BUFFER).expect("room");
            let len = write_segment(flow, &header, 0, buffer);
            *pair.there.lengths.last_mut().expect("a frame") = len;
        }
        pair.back.lengths.clear();
        pair.there.deliver(pair.now, &mut pair.server, &mut pair.server_app);
        pair.server.turn(pair.now, &mut pair.server_app);
        first = end;
    }
    assert_eq!(pair.server.flows(), flows as usize);
    (pair, peer)
}

/// Segments of 64 bytes of data for random flows, as they come from a link.
fn lookup(flows: u32) {
    let (mut pair, mut peer) = established(flows);
    let (mut best, mut random) = (f64::INFINITY, 1u64);
    for _ in 0..30 {
        let mut spans = Vec::new();
        for _ in 0..200 {
            pair.now += STEP;
            for _ in 0..BURST {
                random += 1;
                let flow = random::below(random::word(7, random), flows.into()) as u32;
                let (seq, ack) = peer.next[flow as usize];
                let flags = Flags::ACK | Flags::PSH;
                let header = SegmentHeader { seq, ack, flags, window: 60_000, ..SegmentHeader::default() };
                let buffer = pair.there.frame(BUFFER).expect("room");
                let len = write_segment(flow, &header, 64, buffer);
                *pair.there.lengths.last_mut().expect("a frame") = len;
                peer.next[flow as usize].0 = seq.wrapping_add(64);
            }
            let start = Instant::now();
            pair.there.deliver(pair.now, &mut pair.server, &mut pair.server_app);
            // Others may have had the processor in some of the bursts, but not in half of them.
            spans.push(start.elapsed());
            pair.server.turn(pair.now, &mut pair.server_app);
            pair.server.transmit(pair.now, &mut pair.server_app, &mut pair.back);
            pair.back.lengths.clear();
        }
        spans.sort_unstable();
        best = best.min(spans[spans.len() / 2].as_secs_f64() / BURST as f64);
    }
    assert!(pair.server_app.received >= 30 * 200 * 64 * BURST as u64);
    println!("lookup, {flows:8} flows: {:6.1} ns to take a segment in", best * 1e9);
}

/// Resident bytes of this process.
fn resident() -> usize {
    let text = fs::read_to_string("/proc/self/statm").unwrap_or_default();
    text.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok()).unwrap_or(0) * 4_096
}

fn memory(flows: u32) {
    let before = resident();
    let (pair, peer) = established(flows);
    let own = resident() - before - peer.next.len() * size_of::<(u32, u32)>();
    println!("memory, {flows:8} idle flows: {:.1} bytes each", own as f64 / f64::from(flows));
    assert_eq!(pair.server.lent(), 0, "an idle flow has lent nothing");
    black_box((&pair.server, &peer));
}
