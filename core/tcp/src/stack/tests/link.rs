//! Two stacks, a link that loses, copies, damages and reorders between them, and virtual time.

use super::*;
use crate::frame::Inside;
use wire::tunnel::{Arrived, Decap, Inner};

/// The byte a side sends at an offset of any of its flows.
pub(super) fn byte(is_server: bool, offset: u64) -> u8 {
    (random::mix(offset / 8 + if is_server { 1 << 40 } else { 0 }) >> (offset % 8 * 8)) as u8
}

pub(super) fn config() -> GroupConfig {
    GroupConfig { hop_mac: Some([2, 0, 0, 0, 0, 1]), ..GroupConfig::default() }
}

/// Plan and progress of a flow.
#[derive(Debug, Default, Clone)]
pub(super) struct Talk {
    pub request: u64,
    pub response: u64,
    pub received: u64,
    /// Stops reading for a while after this number of bytes.
    pub pause_after: u64,
    /// On UDP: sent at once instead of the request.
    pub datagrams: Vec<u64>,
    pub is_opened: bool,
    pub acknowledged: u64,
}

impl Talk {
    pub(super) fn client(request: u64, response: u64) -> Self {
        Self { request, response, ..Self::default() }
    }
}

/// A side: clients send a request, servers respond; a side that has all data closes.
#[derive(Debug)]
pub(super) struct Talker {
    is_server: bool,
    is_udp: bool,
    /// Plan of servers' flows.
    pub served: Talk,
    pub ends: HashMap<FlowId, Vec<End>>,
    pub opened: usize,
    pub woken: usize,
}

impl App for Talker {
    type Flow = Talk;

    fn opened(&mut self, _: Nanos, flow: &mut Talk, io: &mut Io) {
        assert!(!flow.is_opened);
        flow.is_opened = true;
        self.opened += 1;
        if self.is_server {
            *flow = Talk { is_opened: true, ..self.served.clone() };
            if flow.request == 0 && !self.is_udp {
                io.send(flow.response);
                io.close();
            }
        } else if flow.datagrams.is_empty() {
            io.send(flow.request);
            if flow.response == 0 && !self.is_udp {
                io.close();
            }
        } else {
            flow.datagrams.iter().for_each(|len| io.send(*len));
        }
    }

    fn received(&mut self, now: Nanos, flow: &mut Talk, io: &mut Io, data: &[u8]) {
        assert!(flow.is_opened);
        for (at, got) in data.iter().enumerate() {
            assert_eq!(*got, byte(!self.is_server, flow.received + at as u64), "at {}", flow.received);
        }
        flow.received += data.len() as u64;
        if self.is_server {
            assert!(flow.received <= flow.request, "{} of {}", flow.received, flow.request);
            if flow.received == flow.request {
                io.send(flow.response);
                if !self.is_udp {
                    io.close();
                }
            }
            return;
        }
        assert!(flow.received <= flow.response);
        if flow.received == flow.response {
            io.close();
        } else if flow.pause_after > 0 && flow.received > flow.pause_after {
            flow.pause_after = 0;
            io.pause();
            io.wake_at(now + Nanos::from_millis(30));
        }
    }

    fn finished(&mut self, _: Nanos, flow: &mut Talk, io: &mut Io) {
        assert!(flow.is_opened);
        let all = if self.is_server { flow.request } else { flow.response };
        assert_eq!(flow.received, all, "everything comes before the end");
        io.close();
    }

    fn acknowledged(&mut self, _: Nanos, flow: &mut Talk, _: &mut Io, offset: u64) {
        assert!(flow.is_opened && offset >= flow.acknowledged);
        flow.acknowledged = offset;
    }

    fn woke(&mut self, _: Nanos, flow: &mut Talk, io: &mut Io) {
        assert!(flow.is_opened);
        self.woken += 1;
        io.resume();
    }

    fn closed(&mut self, _: Nanos, _: &mut Talk, id: FlowId, _: GroupId, end: End) {
        self.ends.entry(id).or_default().push(end);
    }

    fn fill(&mut self, flow: &Talk, _: GroupId, offset: u64, out: &mut [u8]) {
        assert!(flow.is_opened, "nothing is asked for before a flow is opened, or once it is closed");
        assert!(
            offset + out.len() as u64 > flow.acknowledged || out.is_empty(),
            "acknowledged bytes are requested"
        );
        out.iter_mut().enumerate().for_each(|(at, place)| *place = byte(self.is_server, offset + at as u64));
    }
}

/// Effects of a link on frames, and how many it takes at a time.
#[derive(Debug, Clone)]
pub(super) struct Link {
    pub loss_percent: u32,
    pub copies_percent: u32,
    pub damage_percent: u32,
    pub jitter: Nanos,
    pub room: usize,
    /// It reports for every frame that its checksum is unfinished.
    pub tells: bool,
    /// Cards at both ends compute the checksums that are left to them.
    pub has_cards: bool,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            loss_percent: 0,
            copies_percent: 0,
            damage_percent: 0,
            jitter: Nanos::ZERO,
            room: usize::MAX,
            tells: false,
            has_cards: false,
        }
    }
}

/// A sink with room for this number of frames.
struct Frames {
    frames: Vec<Vec<u8>>,
    room: usize,
    has_card: bool,
    /// Frames whose checksum the card has to put.
    left: Vec<(usize, LeftChecksum)>,
}

impl Frames {
    fn new(room: usize, has_card: bool) -> Self {
        Self { frames: Vec::new(), room, has_card, left: Vec::new() }
    }

    /// The frames, as the card sends them.
    fn sent(mut self) -> Vec<Vec<u8>> {
        for (at, left) in self.left {
            let transport = &mut self.frames[at][usize::from(left.before_ip + left.ip)..];
            let word = |pair: &[u8]| u64::from(pair[0]) << 8 | u64::from(*pair.get(1).unwrap_or(&0));
            let mut sum: u64 = transport.chunks(2).map(word).sum();
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            let field = if left.is_udp { 6 } else { 16 };
            transport[field..field + 2].copy_from_slice(&(!sum as u16).to_be_bytes());
        }
        self.frames
    }
}

impl Sink for Frames {
    fn frame(&mut self, len: usize) -> Option<&mut [u8]> {
        self.room = self.room.checked_sub(1)?;
        self.frames.push(vec![0xaa; len]);
        self.frames.last_mut().map(|frame| &mut frame[..])
    }

    fn unfinished_frame(&mut self, len: usize, left: LeftChecksum) -> Option<&mut [u8]> {
        if self.has_card && self.room > 0 {
            self.left.push((self.frames.len(), left));
        }
        self.frame(len)
    }
}

/// Frames on their way, each with the instant it arrives at.
type Way = VecDeque<(Nanos, Vec<u8>)>;

pub(super) struct World {
    pub now: Nanos,
    pub client: Stack<Talker>,
    pub server: Stack<Talker>,
    pub client_app: Talker,
    pub server_app: Talker,
    pub is_v6: bool,
    pub next_port: u16,
    pub longest_to_server: usize,
    /// Depends on every byte sent.
    pub digest: u64,
    ways: [Way; 2],
    /// Takes frames out of a tunnel at both ends, if they are in one.
    pub decap: Option<Decap>,
    link: Link,
    random: u64,
    pub opened: usize,
}

fn inside<'f>(decap: &Decap, frame: &'f [u8]) -> Option<Inside<'f>> {
    let Arrived::Inner(Inner { frame, is_bare, network, is_congested, .. }) = decap.read(frame) else {
        return None;
    };
    Some(Inside { frame, is_bare, network, is_congested, is_unfinished: false })
}

const DELAY: Nanos = Nanos::from_micros(100);

impl World {
    pub(super) fn new(seed: u64, link: Link, client: GroupConfig, server: GroupConfig) -> Self {
        let talker = |is_server| Talker {
            is_server,
            is_udp: false,
            served: Talk::default(),
            ends: HashMap::new(),
            opened: 0,
            woken: 0,
        };
        let mut world = Self {
            now: Nanos::from_millis(1),
            client: Stack::new(seed, 10, vec![client]),
            server: Stack::new(seed ^ 1, 10, vec![server]),
            client_app: talker(false),
            server_app: talker(true),
            is_v6: false,
            next_port: 1_000,
            longest_to_server: 0,
            digest: 0,
            ways: [Way::new(), Way::new()],
            decap: None,
            link,
            random: seed,
            opened: 0,
        };
        for transport in [Transport::Tcp, Transport::Udp] {
            for addresses in ["10.1.0.0-10.1.255.255", "2001:db8:1::-2001:db8:1::ffff"] {
                world.server.listen(CLIENT, transport, range(addresses), 80..=80);
                world.server.owns(CLIENT, range(addresses));
            }
        }
        world.client.owns(CLIENT, range("10.0.0.0-10.0.255.255"));
        world
    }

    pub(super) fn local(&mut self) -> SocketAddr {
        self.next_port += 1;
        let ip = if self.is_v6 { "2001:db8::1" } else { "10.0.0.1" };
        SocketAddr::new(ip.parse().unwrap(), self.next_port - 1)
    }

    pub(super) fn remote(&self) -> SocketAddr {
        addr(if self.is_v6 { "[2001:db8:1::1]:80" } else { "10.1.0.1:80" })
    }

    pub(super) fn open(&mut self, transport: Transport, talk: Talk) -> FlowId {
        let (local, remote) = (self.local(), self.remote());
        self.client_app.is_udp = transport == Transport::Udp;
        self.server_app.is_udp = self.client_app.is_udp;
        self.server_app.served = talk.clone();
        self.opened += 1;
        self.client
            .connect(self.now, &mut self.client_app, CLIENT, transport, (local, remote), None, talk)
            .unwrap()
    }

    pub(super) fn open_many(&mut self, count: usize, request: u64, response: u64) {
        for _ in 0..count {
            self.open(Transport::Tcp, Talk::client(request, response));
        }
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_add(1);
        random::below(random::word(random::key(self.random), 1), below.max(1))
    }

    /// Frames that owed segments make, as many as there is room for.
    fn send(&mut self) {
        let mut frames = Frames::new(self.link.room, self.link.has_cards);
        self.client.transmit(self.now, &mut self.client_app, &mut frames);
        self.put_on_the_way(0, frames.sent());
        let mut frames = Frames::new(self.link.room, self.link.has_cards);
        self.server.transmit(self.now, &mut self.server_app, &mut frames);
        self.put_on_the_way(1, frames.sent());
    }

    fn put_on_the_way(&mut self, way: usize, frames: Vec<Vec<u8>>) {
        for bytes in frames {
            if way == 0 {
                self.longest_to_server = self.longest_to_server.max(bytes.len());
            }
            self.digest =
                bytes.iter().fold(self.digest, |digest, byte| random::mix(digest ^ u64::from(*byte)));
            let copies = 1 + usize::from(self.random(100) < self.link.copies_percent.into());
            for _ in 0..copies {
                if self.random(100) < self.link.loss_percent.into() {
                    continue;
                }
                let mut bytes = bytes.clone();
                if self.random(100) < self.link.damage_percent.into() {
                    // One bit: of two the checksum may see nothing.
                    let at = self.random(bytes.len() as u64) as usize;
                    bytes[at] ^= 1 << self.random(8);
                }
                let at = self.now + DELAY + Nanos(self.random(self.link.jitter.0));
                let place = self.ways[way].partition_point(|(other, _)| *other <= at);
                self.ways[way].insert(place, (at, bytes));
            }
        }
    }

    fn deliver(&mut self) {
        let told = if self.link.tells { u64::MAX } else { 0 };
        for way in 0..2 {
            let due = self.ways[way].partition_point(|(at, _)| *at <= self.now);
            let frames: Vec<Vec<u8>> = self.ways[way].drain(..due).map(|(_, bytes)| bytes).collect();
            for burst in frames.chunks(BURST) {
                if let Some(decap) = &self.decap {
                    let inside: Vec<Inside<'_>> =
                        burst.iter().filter_map(|bytes| inside(decap, bytes)).collect();
                    let (stack, app) = match way {
                        0 => (&mut self.server, &mut self.server_app),
                        _ => (&mut self.client, &mut self.client_app),
                    };
                    stack.receive_inside(self.now, app, &inside);
                    continue;
                }
                let burst: Vec<&[u8]> = burst.iter().map(|bytes| &bytes[..]).collect();
                if way == 0 {
                    self.server.receive_told(self.now, &mut self.server_app, &burst, told);
                } else {
                    self.client.receive_told(self.now, &mut self.client_app, &burst, told);
                }
            }
        }
    }

    /// When something happens next.
    fn next(&self) -> Nanos {
        if self.client.owes() || self.server.owes() {
            return self.now + Nanos::from_micros(10);
        }
        let arrivals = self.ways.iter().filter_map(|way| way.front()).map(|(at, _)| *at);
        let timers = [self.client.next_due(), self.server.next_due()];
        arrivals.chain(timers).min().unwrap_or(Nanos::MAX).max(self.now + Nanos(1))
    }

    fn turn(&mut self) {
        self.deliver();
        while self.client.turn(self.now, &mut self.client_app) {}
        while self.server.turn(self.now, &mut self.server_app) {}
        self.send();
    }

    /// Lets time pass.
    pub(super) fn step(&mut self, span: Nanos) {
        let end = self.now + span;
        self.turn();
        while self.next() <= end {
            self.now = self.next();
            self.turn();
        }
        self.now = end;
    }

    /// Until nothing happens any more.
    pub(super) fn run(&mut self) {
        self.turn();
        let mut turns = 0;
        while self.next() < Nanos::MAX
            && (self.client.flows() + self.server.flows() > 0 || self.next() < self.now + DELAY + DELAY)
        {
            self.now = self.next();
            self.turn();
            turns += 1;
            assert!(turns < 400_000, "it never ends");
        }
    }

    /// All flows ever opened are over, and nothing is left of them.
    pub(super) fn check_all_closed(&self, flows: usize) {
        assert_eq!(self.opened, flows);
        assert_eq!(self.client_app.ends.values().map(Vec::len).sum::<usize>(), flows);
        assert!(self.server_app.ends.values().map(Vec::len).sum::<usize>() >= self.server_app.opened);
        for stack in [&self.client, &self.server] {
            assert_eq!((stack.flows(), stack.slots.len(), stack.lent(), stack.owes()), (0, 0, 0, false));
            assert_eq!((stack.table.len(), stack.flows_from(0).count()), (0, 0));
            // Entries stay with their slots.
            let has_entry = |index: &u32| stack.slots[*index].place != WheelPosition::NOWHERE;
            let entries = (0..stack.slots.end()).filter(has_entry).count();
            assert_eq!(stack.wheel.live() as usize, entries);
        }
    }

    /// Output of the client, kept off the link.
    pub(super) fn take_from_client(&mut self) -> Vec<Vec<u8>> {
        let mut frames = Frames::new(usize::MAX, false);
        self.client.transmit(self.now, &mut self.client_app, &mut frames);
        frames.frames
    }

    pub(super) fn take_from_server(&mut self) -> Vec<Vec<u8>> {
        let mut frames = Frames::new(usize::MAX, false);
        self.server.transmit(self.now, &mut self.server_app, &mut frames);
        frames.frames
    }

    pub(super) fn push_to_server(&mut self, bytes: Vec<u8>) {
        self.ways[0].push_back((self.now, bytes));
    }

    pub(super) fn link_to_server(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.ways[0].iter().map(|(_, bytes)| bytes)
    }

    /// The frame with which a flow begins.
    pub(super) fn first_syn(&mut self) -> Vec<u8> {
        self.open(Transport::Tcp, Talk::client(1, 1));
        self.take_from_client().remove(0)
    }
}
