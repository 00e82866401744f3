//! From a Plan and open ports to what workers need: rates, templates, what is expected where.

use crate::EngineError;
use crate::hosts::Played;
use crate::interval::Shape;
use crate::receive::{ANY_PORT, Expected, Receiver};
use crate::rig::Rig;
use crate::template::{Blocks, Template};
use crate::transmit::{Transmitter, TxStream};
use crate::varied::Varied;
use field::{Program, SignatureId};
use jit::{Jit, Runner};
use neighbour::Resolver;
use port::{PortFacts, TxOffload};
use profile::Plan;
use profile::plan::{ChainPlan, ChecksumBy, HopBy, NextHop, Pattern, StreamPlan};
use replay::TracePacket;
use sched::{Chain, CurvePoint, CurveShape, GapOrder, Link, Pace, Schedule, Share, StreamLoad};
use session::plan::Side;
use std::collections::HashMap;
use std::net::IpAddr;
use std::ops::RangeInclusive;
use units::{FrameLen, Load, Nanos, Pps};
use wire::signature::{self, Stamp};
use wire::{Header, Packet, PacketSpec};

/// Speed of a link that neither port nor profile states. A share of the link needs a stated one.
const UNSTATED_SPEED: u64 = 0;

/// A stream with everything known.
#[derive(Debug, Clone)]
pub(crate) struct TrialStream {
    pub(crate) from: usize,
    pub(crate) to: Option<usize>,
    pub(crate) measured: bool,
    /// Layer-1 speed of the link it is sent on; 0 if nobody says.
    pub(crate) speed_bps: u64,
    /// Destination and source hardware address, where the ports and their neighbours give them.
    macs: [Option<[u8; 6]>; 2],
    /// With these filled in.
    packet: PacketSpec,
    pub(crate) load: StreamLoad,
    /// Whether it is sent in turn with others; its load then counts from its turn.
    pub(crate) chained: bool,
}

/// A Plan resolved against open ports.
pub(crate) struct Trial<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) streams: Vec<TrialStream>,
    pub(crate) played: Played,
    pub(crate) expected: Vec<Expected>,
    pub(crate) shape: Shape,
    pub(crate) mark: u32,
    pub(crate) grace: Nanos,
    /// For each entry under `sessions`: servers and the hardware address their clients send to.
    pub(crate) hops: Vec<Vec<(RangeInclusive<IpAddr>, [u8; 6])>>,
    /// Neighbours that have answered or were given, with the port and the host behind it that asked.
    pub(crate) known: Vec<(usize, usize, IpAddr, [u8; 6])>,
}

/// One worker's side of every port.
pub(crate) type Endpoints<'q> = (Vec<Transmitter<'q>>, Vec<Receiver<'q>>);

impl<'p> Trial<'p> {
    pub(crate) fn new(
        plan: &'p Plan,
        facts: &[&PortFacts],
        played: Played,
        neighbours: &[Resolver],
        histograms: bool,
    ) -> Result<Self, EngineError> {
        let mut streams = (0..plan.streams.len())
            .map(|index| stream(plan, index, facts, &played, neighbours))
            .collect::<Result<Vec<_>, _>>()?;
        for (index, _) in plan.chains.iter().flat_map(|chain| &chain.links) {
            streams[*index].chained = true;
        }
        let expected = plan.streams.iter().map(|s| Expected {
            port: s.to.map_or(ANY_PORT, |to| to as u16),
            shortest: s.sizes.shortest().without_fcs() as u16,
            longest: s.sizes.longest().without_fcs() as u16,
        });
        let answered = neighbours.iter().enumerate();
        let known =
            answered.flat_map(|(port, all)| all.known().map(move |(host, ip, mac)| (port, host, ip, mac)));
        Ok(Self {
            plan,
            known: known.collect(),
            expected: expected.collect(),
            shape: Shape::new(streams.len(), plan.ports.len(), plan.sessions.len(), histograms),
            mark: signature::run_mark(plan.seed),
            // Long enough for a core that was taken away to catch up, too short to change the rate.
            grace: Nanos((plan.duration.0 / 100).clamp(20_000_000, 100_000_000)),
            hops: (0..plan.sessions.len()).map(|index| hops(plan, index, &played, neighbours)).collect(),
            streams,
            played,
        })
    }

    /// Both sides of every port for each worker. If fields vary, what writes them is made in `jit`.
    pub(crate) fn endpoints<'q>(
        &self,
        rig: &'q mut Rig,
        workers: usize,
        jit: &mut Option<Jit>,
    ) -> Result<Vec<Endpoints<'q>>, EngineError> {
        let mut all: Vec<Endpoints<'q>> = (0..workers).map(|_| (Vec::new(), Vec::new())).collect();
        for (index, port) in rig.ports.iter_mut().enumerate() {
            let senders = port.queues.tx.len().min(workers) as u16;
            for (worker, queue) in port.queues.tx.iter_mut().take(workers).enumerate() {
                let share = Share { index: worker as u16, of: senders };
                let transmitter = self.transmitter(queue.as_mut(), index, share, jit)?;
                all[worker].0.push(transmitter);
            }
            // A port with more receive queues than there are workers: they take turns at them.
            for (n, queue) in port.queues.rx.iter_mut().enumerate() {
                all[n % workers].1.push(Receiver::new(queue.as_mut(), index, self.mark));
            }
        }
        Ok(all)
    }

    fn transmitter<'q>(
        &self,
        queue: &'q mut dyn port::TxQueue,
        port: usize,
        share: Share,
        jit: &mut Option<Jit>,
    ) -> Result<Transmitter<'q>, EngineError> {
        let (mut streams, mut loads) = (Vec::new(), Vec::new());
        let (mut blocks, mut varied) = (Blocks::default(), Vec::new());
        // Place of each stream among those of this port.
        let mut places = HashMap::new();
        for (index, stream) in self.streams.iter().enumerate().filter(|(_, s)| s.from == port) {
            let templates = self.templates(index, share.index as u8, &mut blocks, jit)?;
            places.insert(index, streams.len() as u32);
            if !stream.chained {
                loads.push((streams.len() as u32, stream.load.clone()));
            }
            let paced = stream.load.pace.is_paced();
            streams.push(TxStream::new(index as u32, templates.content(&mut varied), paced));
        }
        let chains: Vec<Chain> =
            self.plan.chains.iter().filter_map(|chain| self.chain(chain, &places)).collect();
        let schedule = Schedule::new(&loads, &chains, Nanos::ZERO, self.plan.duration, share);
        Ok(Transmitter::new(queue, port, schedule, streams, blocks, varied, self.shape))
    }

    /// A chain of the plan as the schedule of its port has it; `None` if it is another port's.
    fn chain(&self, chain: &ChainPlan, places: &HashMap<usize, u32>) -> Option<Chain> {
        let link = |(index, gap): &(usize, Nanos)| {
            let load = self.streams[*index].load.clone();
            Some(Link { stream: *places.get(index)?, load, gap: *gap })
        };
        let links = chain.links.iter().map(link).collect::<Option<Vec<_>>>()?;
        Some(Chain { links, loops: chain.loops, start_delay: Nanos::ZERO })
    }

    /// What a stream sends, as lane `lane` does.
    fn templates(
        &self,
        index: usize,
        lane: u8,
        blocks: &mut Blocks,
        jit: &mut Option<Jit>,
    ) -> Result<Varied, EngineError> {
        let (stream, plan) = (&self.streams[index], &self.plan.streams[index]);
        let bad = |reason: String| EngineError::Stream { stream: plan.name.clone(), reason };
        if let Some(trace) = &plan.replay {
            let template = |packet: &TracePacket| {
                let mut frame = packet.bytes.clone();
                for (place, mac) in stream.macs.iter().enumerate() {
                    if let Some(mac) = mac {
                        frame[6 * place..][..6].copy_from_slice(mac);
                    }
                }
                Template::of_bytes(blocks, &frame)
            };
            let templates = trace.packets.iter().map(template).collect();
            return Ok(Varied::in_turn(templates));
        }
        let built = |size: &FrameLen| stream.packet.build(*size).map_err(|e| bad(e.to_string()));
        if let Some(vary) = &plan.vary {
            let signature =
                stream.measured.then_some(SignatureId { mark: self.mark, stream: index as u32, lane });
            let (mut templates, mut programs) = (Vec::new(), Vec::new());
            for size in &plan.sizes.lengths {
                let mut packet = built(size)?;
                programs.push(Program::new(vary, &mut packet, signature).map_err(|e| bad(e.to_string()))?);
                templates.push(Template::new(blocks, &packet, None, TxOffload::default()));
            }
            let made = match jit.take() {
                Some(jit) => jit,
                None => Jit::new().map_err(|e| EngineError::Machine(e.to_string()))?,
            };
            let runner = Runner::new(jit.insert(made), programs).map_err(|e| bad(e.to_string()))?;
            return Ok(Varied::new(templates, &plan.sizes, Some(runner)));
        }
        let templates = plan.sizes.lengths.iter().map(|size| self.signed(index, lane, built(size)?, blocks));
        Ok(Varied::new(templates.collect::<Result<_, _>>()?, &plan.sizes, None))
    }

    /// The template of a packet in which nothing varies but the signature, if it has one.
    fn signed(
        &self,
        index: usize,
        lane: u8,
        mut packet: Packet,
        blocks: &mut Blocks,
    ) -> Result<Template, EngineError> {
        let stream = &self.streams[index];
        if !stream.measured {
            return Ok(Template::new(blocks, &packet, None, TxOffload::default()));
        }
        let (mark, number) = (self.mark, index as u32);
        if self.plan.ports[stream.from].checksum == ChecksumBy::Offload
            && let Some((stamp, l2_len, l3_len)) = Stamp::prepare_offload(&mut packet, mark, number, lane)
        {
            let offload = offload(&stream.packet, l2_len as u8, l3_len as u16);
            return Ok(Template::new(blocks, &packet, Some(stamp), offload));
        }
        let stamp = Stamp::prepare(&mut packet, mark, number, lane).ok_or_else(|| EngineError::Stream {
            stream: self.plan.streams[index].name.clone(),
            reason: format!("a frame of {} bytes has no room for the signature", packet.bytes.len() + 4),
        })?;
        Ok(Template::new(blocks, &packet, Some(stamp), TxOffload::default()))
    }

    /// Which streams should come back here.
    pub(crate) fn measured(&self) -> Vec<bool> {
        self.streams.iter().map(|s| s.measured && s.to.is_some()).collect()
    }
}

/// Servers of an entry and the hardware address its clients send to.
fn hops(
    plan: &Plan,
    index: usize,
    played: &Played,
    neighbours: &[Resolver],
) -> Vec<(RangeInclusive<IpAddr>, [u8; 6])> {
    let entry = &plan.sessions[index];
    let Some(client) = &entry.session.client else { return Vec::new() };
    let server = entry.session.server.as_ref();
    let mac = |by| match by {
        HopBy::Given(mac) => Some(mac),
        HopBy::Resolve(ip) => neighbours[client.port].mac(played.of_session(index, Side::Client), ip),
        HopBy::PeerPort => {
            server.map(|server| played.ports[server.port].host(played.of_session(index, Side::Server)).mac)
        }
    };
    entry.hops.iter().filter_map(|hop| Some((hop.first..=hop.last, mac(hop.by)?))).collect()
}

fn offload(packet: &PacketSpec, l2_len: u8, l3_len: u16) -> TxOffload {
    let has = |name: &str| packet.headers.iter().any(|h| h.protocol.name == name);
    let family = if has("ipv4") { port::TX_FLAG_IPV4 } else { port::TX_FLAG_IPV6 };
    let transport = if has("tcp") { port::TX_FLAG_TCP_CHECKSUM } else { port::TX_FLAG_UDP_CHECKSUM };
    TxOffload { flags: family | transport, l2_len, l3_len }
}

fn stream(
    plan: &Plan,
    index: usize,
    facts: &[&PortFacts],
    played: &Played,
    neighbours: &[Resolver],
) -> Result<TrialStream, EngineError> {
    let stream = &plan.streams[index];
    let bad = |reason: String| EngineError::Stream { stream: stream.name.clone(), reason };
    let (port, fact) = (&plan.ports[stream.from], facts[stream.from]);
    let longest = stream.sizes.longest();
    if longest.bytes() > fact.frame_len_max {
        return Err(bad(format!(
            "a frame of {longest} is longer than the {} bytes port {} carries; raise its MTU or choose smaller frames",
            fact.frame_len_max, port.name
        )));
    }
    if port.checksum == ChecksumBy::Offload && !fact.tx_checksum_offload {
        return Err(bad(format!(
            "port {} can't compute checksums; leave out 'checksum: offload'",
            port.name
        )));
    }
    let speed = port.speed_bps.or(fact.speed_bps).unwrap_or(UNSTATED_SPEED);
    let share = loads(stream).find(|load| matches!(load, Load::LinkShare(_)));
    if let Some(share) = share.filter(|_| speed == UNSTATED_SPEED) {
        return Err(bad(format!(
            "{share} of what? the link of port {} has no speed of its own; declare one, such as 'speed: 10Gbps'",
            port.name
        )));
    }
    let load = load(stream, index, speed);
    let next_hop = match stream.next_hop {
        NextHop::Given => None,
        NextHop::PeerPort => stream.to.map(|to| played.ports[to].host(stream.to_host).mac),
        NextHop::Resolve(ip) => neighbours[stream.from].mac(stream.from_host, ip),
    };
    let source = stream.fill_source_mac.then_some(played.ports[stream.from].host(stream.from_host).mac);
    let mut packet = PacketSpec::clone(&stream.packet);
    for (field, mac) in [("dst", next_hop), ("src", source)] {
        if let Some(mac) = mac {
            set_mac(&mut packet.headers, field, mac);
        }
    }
    Ok(TrialStream {
        from: stream.from,
        to: stream.to,
        measured: stream.measure,
        speed_bps: speed,
        macs: [next_hop, source],
        packet,
        load,
        chained: false,
    })
}

/// Every load a stream's author wrote.
fn loads(stream: &StreamPlan) -> impl Iterator<Item = Load> + '_ {
    let points = match &stream.pattern {
        Pattern::Curve { points, .. } => &points[..],
        _ => &[],
    };
    std::iter::once(stream.rate).chain(points.iter().map(|(_, rate)| *rate))
}

/// What the stream `index` asks of the schedule, on a link of `speed` bit/s.
fn load(stream: &StreamPlan, index: usize, speed: u64) -> StreamLoad {
    let mix = stream.sizes.mix();
    let pps = |load: Load| load.packets(mix, speed);
    let rate = pps(stream.rate);
    // Copies of a random stream are not to leave together.
    let own = |seed: u64| seed.wrapping_add(index as u64);
    let (pace, group) = match &stream.pattern {
        Pattern::Continuous => (rate.map_or(Pace::Max, Pace::Even), 1),
        Pattern::Bursts { packets } => (rate.map_or(Pace::Max, Pace::Even), *packets),
        Pattern::Poisson { seed } => {
            (rate.map_or(Pace::Max, |rate| Pace::Poisson { rate, seed: own(*seed) }), 1)
        }
        Pattern::MultiBurst { packets, every, bursts } => {
            (Pace::Bursts { packets: *packets, rate, every: *every, bursts: *bursts }, 1)
        }
        Pattern::OnOff { on, off } => {
            (rate.map_or(Pace::Max, |rate| Pace::OnOff { rate, on: *on, off: *off }), 1)
        }
        Pattern::Gaps { gaps, random } => {
            let order = random.map_or(GapOrder::Sequential, |seed| GapOrder::Random { seed: own(seed) });
            (Pace::Gaps { gaps: gaps.clone(), order }, 1)
        }
        Pattern::Curve { points, steps, repeat } => {
            let point =
                |(at, load): &(Nanos, Load)| CurvePoint { at: *at, rate: pps(*load).unwrap_or(Pps::ZERO) };
            let shape = if *steps { CurveShape::Step } else { CurveShape::Linear };
            (Pace::Curve { points: points.iter().map(point).collect(), shape, repeat: *repeat }, 1)
        }
        Pattern::Captured { times, period } => (Pace::Trace { times: times.clone(), period: *period }, 1),
    };
    StreamLoad { pace, group, count: stream.count, start_delay: stream.start_delay }
}

fn set_mac(headers: &mut [Header], field: &str, mac: [u8; 6]) {
    let number = mac.iter().fold(0u128, |n, b| n << 8 | u128::from(*b));
    if let Some(ethernet) = headers.first_mut()
        && let Some(field) = ethernet.protocol.field(field)
    {
        ethernet.put(field, number);
    }
}
