//! Random packets and programs.

use field::{FlowOrder, Flows, ListOrder, Pick, Source, Target, Variable, Vary, Write};
use std::sync::Arc;
use units::FrameLen;
use wire::{Algorithm, Checksum, Header, Packet, PacketSpec, Protocol, protocol};

/// A seeded source of choices.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(1);
        random::word(random::key(17), self.0)
    }

    pub(crate) fn below(&mut self, span: u64) -> u64 {
        random::below(self.word(), span.max(1))
    }

    /// Once in `times`.
    pub(crate) fn chance(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len() as u64) as usize]
    }

    pub(crate) fn wide(&mut self) -> u128 {
        u128::from(self.word()) << 64 | u128::from(self.word())
    }

    /// A number of at most `bits` bits, often one at an edge.
    pub(crate) fn edge(&mut self, bits: u32) -> u128 {
        let max = u128::MAX >> (128 - bits);
        let power = 1 << self.below(u64::from(bits));
        let number = match self.below(6) {
            0 => self.below(5).into(),
            1 => max.saturating_sub(self.below(5).into()),
            2 => power,
            3 => power.wrapping_sub(1),
            4 => power + 1,
            _ => self.wide() >> self.below(128),
        };
        number & max
    }

    /// A packet's number: low, or near an end of something.
    pub(crate) fn number(&mut self) -> u64 {
        match self.below(4) {
            0 => u64::MAX - self.below(200),
            1 => self.edge(64) as u64,
            _ => self.below(5_000),
        }
    }

    /// The same headers and payload in frames of several lengths.
    pub(crate) fn packets(&mut self, size: usize) -> Vec<Packet> {
        let headers = self.headers();
        let most = if self.chance(8) { 700 } else { 40 };
        let bytes = self.below(most);
        let payload = (0..bytes).map(|_| self.of(&[0, 0xff, self.0 as u8])).collect();
        let spec = PacketSpec { headers, payload, ..PacketSpec::default() };
        let shortest = spec.shortest(if self.chance(2) { 18 } else { 0 });
        let lengths = 1 + self.below(size.min(3) as u64 + 1);
        let mut packets = Vec::new();
        for _ in 0..lengths {
            let length = shortest.bytes() + self.below(90) as u32;
            packets.push(spec.build(FrameLen::new(length).expect("a length")).expect("a packet"));
        }
        if self.chance(4) {
            self.cover_all(&mut packets);
        }
        packets
    }

    fn headers(&mut self) -> Vec<Header> {
        let stacks: &[&[&str]] = &[
            &["ethernet"],
            &["ethernet", "arp"],
            &["ethernet", "ipv4"],
            &["ethernet", "ipv4", "udp"],
            &["ethernet", "ipv4", "tcp"],
            &["ethernet", "ipv4", "icmp"],
            &["ethernet", "ipv6", "udp"],
            &["ethernet", "ipv6", "tcp"],
            &["ethernet", "ipv6", "icmpv6"],
            &["ethernet", "vlan", "ipv4", "udp"],
            &["ethernet", "vlan", "vlan", "ipv6", "udp"],
            &["ethernet", "ipv4", "ipv6", "tcp"],
            &["ethernet", "ipv4", "ipv4", "udp"],
        ];
        let names = self.of(stacks);
        let is_tunnel =
            |at: usize| names[at] == "ipv4" && names.get(at + 1).is_some_and(|n| n.starts_with("ipv"));
        let mut headers = Vec::new();
        for (at, name) in names.iter().enumerate() {
            let mut header = Header::new(protocol(name).expect("in the catalogue"));
            if is_tunnel(at) {
                header = header.with("protocol", 4);
            }
            if name.starts_with("ipv") && self.chance(2) {
                header = header.with("src", self.wide());
            }
            headers.push(header);
        }
        headers
    }

    /// A checksum around all others, in place of some bytes of the Ethernet header: as in tunnels. It may begin at an
    /// odd offset, and be at one.
    fn cover_all(&mut self, packets: &mut [Packet]) {
        let offset = 2 + self.below(11) as usize;
        let start = self.below(offset as u64 + 1) as usize;
        let algorithm = Algorithm::Internet { zero_as_ones: self.chance(2) };
        for packet in packets {
            let end = packet.bytes.len();
            packet.checksums.push(Checksum { offset, start, end, algorithm, pseudo_header: None });
        }
    }

    pub(crate) fn vary(&mut self, packet: &Packet, size: usize) -> Vary {
        let mut variables = Vec::new();
        for index in 0..1 + self.below(size as u64 + 1) as usize {
            let variable = self.variable(&variables, index);
            variables.push(variable);
        }
        let writes =
            (0..self.below(size as u64 * 2 + 1)).map(|_| self.write(packet, variables.len())).collect();
        let flows = self.chance(3).then(|| self.flows());
        Vary { variables, writes, flows }
    }

    fn flows(&mut self) -> Flows {
        let order =
            if self.chance(2) { FlowOrder::Sequential } else { FlowOrder::Random { seed: self.word() } };
        let length = if self.chance(3) { 0 } else { 1 + self.edge(64) as u64 / 2 };
        Flows {
            count: self.edge(64).max(1) as u64,
            length: if self.chance(2) { length % 50 } else { length },
            order,
        }
    }

    fn variable(&mut self, earlier: &[Variable], index: usize) -> Variable {
        if index > 0 && self.chance(4) {
            return Variable::new(self.derived(index));
        }
        let source = self.source();
        let every = match self.below(4) {
            0 => 1 + self.below(9),
            1 => self.edge(64).max(1) as u64,
            _ => 1,
        };
        let mut goes_round: Vec<_> = (0..index).filter(|at| goes_round(earlier, *at)).collect();
        goes_round.retain(|_| self.chance(2));
        let after = goes_round.first().copied();
        let phase = match self.below(6) {
            0 => self.below(20),
            1 => self.edge(64) as u64,
            _ => 0,
        };
        let period = (after.is_none() && self.chance(8)).then(|| match self.below(2) {
            0 => 1 + self.below(40),
            _ => self.edge(64).max(1) as u64,
        });
        Variable { source, every, after, phase, period }
    }

    fn lcg(&mut self) -> Source {
        let (a, b) = (self.edge(64) as u64, self.edge(64) as u64);
        let pick = match self.below(4) {
            0 => Pick::List(self.values()),
            1 => Pick::Range { from: 0, to: u64::MAX },
            _ => Pick::Range { from: a.min(b), to: a.max(b) },
        };
        let limit = self.chance(2).then(|| match self.below(2) {
            0 => 1 + self.below(40),
            _ => self.edge(64).max(1) as u64,
        });
        let [seed, skip, stride] = [(); 3].map(|()| self.edge(32) as u32);
        Source::Lcg { seed, skip, stride, bytes: self.of(&[1, 2, 4, 8]), limit, pick }
    }

    fn derived(&mut self, index: usize) -> Source {
        Source::Derived {
            of: self.below(index as u64) as usize,
            shift: if self.chance(3) { 0 } else { self.word() as i8 },
            add: if self.chance(2) { 0 } else { self.edge(128) },
            mask: if self.chance(2) { u128::MAX } else { self.edge(128) },
            width: self.width(),
        }
    }

    fn width(&mut self) -> u16 {
        let any = 1 + self.below(128) as u16;
        self.of(&[1, 8, 12, 16, 32, 48, 63, 64, 65, 128, any])
    }

    fn source(&mut self) -> Source {
        let seed = self.word();
        match self.below(9) {
            7 | 8 => self.lcg(),
            0 | 1 => self.range(),
            2 | 3 => self.random(seed),
            4 => {
                let order = if self.chance(2) { ListOrder::Sequential } else { ListOrder::Random { seed } };
                Source::List { values: self.values(), order }
            }
            5 => {
                let values = self.values();
                let mut weights: Vec<u32> = values.iter().map(|_| self.edge(32) as u32 % 7).collect();
                let at = self.below(weights.len() as u64) as usize;
                weights[at] = 1 + self.edge(31) as u32;
                Source::Weighted { values, weights: weights.into(), seed }
            }
            _ => self.range(),
        }
    }

    fn range(&mut self) -> Source {
        let width = self.width();
        let count = match self.below(3) {
            0 => self.edge(128).max(1),
            1 => 1 << self.below(66),
            _ => 1 + u128::from(self.below(70)),
        };
        let step = match self.below(4) {
            0 => self.edge(128),
            1 => self.edge(128).wrapping_neg(),
            _ => 1,
        };
        Source::Range { first: self.edge(128), step, count, width }
    }

    fn random(&mut self, seed: u64) -> Source {
        let bits = u32::from(self.width());
        let (a, b) = (self.edge(bits), self.edge(bits));
        let distinct = self.chance(3).then(|| self.edge(64).max(1) as u64);
        let (from, to) = match self.below(3) {
            0 => (0, u128::MAX >> (128 - bits)),
            1 => (a, a | (u128::MAX >> (128 - bits))),
            _ => (a.min(b), a.max(b)),
        };
        Source::Random { from, to, distinct, seed }
    }

    fn values(&mut self) -> Arc<[u128]> {
        let bits = u32::from(self.width());
        (0..1 + self.below(12)).map(|_| self.edge(bits)).collect()
    }

    fn write(&mut self, packet: &Packet, variables: usize) -> Write {
        let width = self.width();
        let target = match self.below(5) {
            0 => Target::Bits { offset: self.below(packet.bytes.len() as u64 * 8) as u32, width },
            1 => Target::PayloadBits { offset: self.below(160) as u32, width },
            _ => self.field(packet),
        };
        let mask = if self.chance(4) { self.edge(128) | self.edge(128) } else { u128::MAX };
        Write { variable: self.below(variables as u64) as usize, target, mask }
    }

    /// A field of the packet, by the catalogue's idea of what its bytes are.
    fn field(&mut self, packet: &Packet) -> Target {
        let (headers, _) = wire::read(&packet.bytes);
        let header = self.below(headers.len().min(packet.offsets.len()) as u64) as usize;
        let protocol: &'static Protocol = headers[header].protocol;
        let index = self.below(protocol.fields.len() as u64) as usize;
        Target::Field { header, field: &protocol.fields[index] }
    }
}

fn goes_round(variables: &[Variable], index: usize) -> bool {
    match &variables[index].source {
        Source::Range { .. } | Source::List { order: ListOrder::Sequential, .. } => true,
        Source::Lcg { limit, .. } => limit.is_some(),
        Source::Derived { of, .. } => goes_round(variables, *of),
        _ => false,
    }
}
