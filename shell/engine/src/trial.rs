//! From a Plan and open ports to what workers need: rates, templates, what is expected where.

use crate::EngineError;
use crate::interval::Shape;
use crate::receive::{ANY_PORT, Expected, Receiver};
use crate::rig::Rig;
use crate::template::{Blocks, Template};
use crate::transmit::{Transmitter, TxStream};
use neighbour::{Host, Resolver};
use port::{PortFacts, TxOffload};
use profile::Plan;
use profile::plan::{ChecksumBy, NextHop, Pattern, StreamPlan};
use sched::{Schedule, Share, StreamLoad};
use std::net::IpAddr;
use units::{Nanos, Pps};
use wire::signature::{self, Stamp};
use wire::{Header, PacketSpec};

/// Speed of a link that neither port nor profile states. A share of the link needs a stated one.
const UNSTATED_SPEED: u64 = 0;

/// A stream with everything known.
#[derive(Debug, Clone)]
pub(crate) struct TrialStream {
    pub(crate) from: usize,
    pub(crate) to: Option<usize>,
    pub(crate) rate: Option<Pps>,
    pub(crate) measured: bool,
    packet: PacketSpec,
    load: StreamLoad,
}

/// A Plan resolved against open ports.
pub(crate) struct Trial<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) streams: Vec<TrialStream>,
    pub(crate) hosts: Vec<Host>,
    pub(crate) expected: Vec<Expected>,
    pub(crate) shape: Shape,
    pub(crate) mark: u32,
    pub(crate) grace: Nanos,
}

/// One worker's side of every port.
pub(crate) type Endpoints<'q> = (Vec<Transmitter<'q>>, Vec<Receiver<'q>>);

/// The host behind each port: its own addresses, and those on its network that streams are sent to.
pub(crate) fn hosts(plan: &Plan, facts: &[&PortFacts]) -> Vec<Host> {
    let mut hosts: Vec<Host> = plan
        .ports
        .iter()
        .zip(facts)
        .map(|(port, facts)| {
            let addresses: Vec<IpAddr> = port.addresses.iter().map(|a| a.ip).collect();
            let mac = port.mac.unwrap_or(facts.mac);
            Host { mac, vlans: port.vlans.clone(), answers_for: addresses.clone(), addresses }
        })
        .collect();
    for stream in &plan.streams {
        let Some(to) = stream.to else { continue };
        let on_link = |ip: &IpAddr| plan.ports[to].addresses.iter().any(|a| a.on_link(*ip));
        if let Some(ip) = destination(&stream.packet).filter(on_link)
            && !hosts[to].answers_for.contains(&ip)
        {
            hosts[to].answers_for.push(ip);
        }
    }
    hosts
}

/// Destination address of the outermost IP header.
fn destination(packet: &PacketSpec) -> Option<IpAddr> {
    packet.headers.iter().find_map(|header| {
        let (_, value) = header.set.iter().find(|(field, _)| field.name == "dst")?;
        match header.protocol.name {
            "ipv4" => Some(IpAddr::V4((*value as u32).into())),
            "ipv6" => Some(IpAddr::V6((*value).into())),
            _ => None,
        }
    })
}

/// Neighbours each port must know before the trial: next hops of its streams and its gateways. Asking a gateway also
/// tells it where this port is, so that the first packets to the port need not wait for an answer.
pub(crate) fn neighbours(plan: &Plan) -> Vec<Resolver> {
    let mut wanted: Vec<Vec<IpAddr>> = plan.ports.iter().map(|port| port.gateways.clone()).collect();
    for stream in &plan.streams {
        if let NextHop::Resolve(ip) = stream.next_hop {
            wanted[stream.from].push(ip);
        }
    }
    wanted.into_iter().map(Resolver::new).collect()
}

impl<'p> Trial<'p> {
    pub(crate) fn new(
        plan: &'p Plan,
        facts: &[&PortFacts],
        hosts: Vec<Host>,
        neighbours: &[Resolver],
        histograms: bool,
    ) -> Result<Self, EngineError> {
        let streams = plan
            .streams
            .iter()
            .map(|s| stream(plan, s, facts, &hosts, neighbours))
            .collect::<Result<Vec<_>, _>>()?;
        let expected = plan.streams.iter().map(|s| Expected {
            port: s.to.map_or(ANY_PORT, |to| to as u16),
            len: s.size.without_fcs() as u16,
        });
        Ok(Self {
            plan,
            expected: expected.collect(),
            shape: Shape::new(streams.len(), plan.ports.len(), histograms),
            mark: signature::run_mark(plan.seed),
            // Long enough for a core that was taken away to catch up, too short to change the rate.
            grace: Nanos((plan.duration.0 / 100).clamp(20_000_000, 100_000_000)),
            streams,
            hosts,
        })
    }

    /// Both sides of every port for each worker.
    pub(crate) fn endpoints<'q>(
        &self,
        rig: &'q mut Rig,
        workers: usize,
    ) -> Result<Vec<Endpoints<'q>>, EngineError> {
        let mut all: Vec<Endpoints<'q>> = (0..workers).map(|_| (Vec::new(), Vec::new())).collect();
        for (index, port) in rig.ports.iter_mut().enumerate() {
            let senders = port.queues.tx.len().min(workers) as u16;
            for (worker, queue) in port.queues.tx.iter_mut().take(workers).enumerate() {
                let share = Share { index: worker as u16, of: senders };
                let transmitter = self.transmitter(queue.as_mut(), index, share)?;
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
    ) -> Result<Transmitter<'q>, EngineError> {
        let (mut streams, mut loads, mut blocks) = (Vec::new(), Vec::new(), Blocks::default());
        for (index, stream) in self.streams.iter().enumerate().filter(|(_, s)| s.from == port) {
            let template = self.template(index, share.index as u8, &mut blocks)?;
            loads.push((streams.len() as u32, stream.load));
            streams.push(TxStream::new(index as u32, template, stream.rate.is_some()));
        }
        let schedule = Schedule::new(&loads, Nanos::ZERO, self.plan.duration, share);
        Ok(Transmitter::new(queue, port, schedule, streams, blocks, self.shape))
    }

    /// The frame of a stream as lane `lane` sends it.
    fn template(&self, index: usize, lane: u8, blocks: &mut Blocks) -> Result<Template, EngineError> {
        let (stream, plan) = (&self.streams[index], &self.plan.streams[index]);
        let bad = |reason: String| EngineError::Stream { stream: plan.name.clone(), reason };
        let mut packet = stream.packet.build(plan.size).map_err(|e| bad(e.to_string()))?;
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
        let stamp = Stamp::prepare(&mut packet, mark, number, lane)
            .ok_or_else(|| bad(format!("a frame of {} has no room for the signature", plan.size)))?;
        Ok(Template::new(blocks, &packet, Some(stamp), TxOffload::default()))
    }

    /// Which streams should come back here.
    pub(crate) fn measured(&self) -> Vec<bool> {
        self.streams.iter().map(|s| s.measured && s.to.is_some()).collect()
    }
}

fn offload(packet: &PacketSpec, l2_len: u8, l3_len: u16) -> TxOffload {
    let has = |name: &str| packet.headers.iter().any(|h| h.protocol.name == name);
    let family = if has("ipv4") { port::TX_FLAG_IPV4 } else { port::TX_FLAG_IPV6 };
    let transport = if has("tcp") { port::TX_FLAG_TCP_CHECKSUM } else { port::TX_FLAG_UDP_CHECKSUM };
    TxOffload { flags: family | transport, l2_len, l3_len }
}

fn stream(
    plan: &Plan,
    stream: &StreamPlan,
    facts: &[&PortFacts],
    hosts: &[Host],
    neighbours: &[Resolver],
) -> Result<TrialStream, EngineError> {
    let bad = |reason: String| EngineError::Stream { stream: stream.name.clone(), reason };
    let (port, fact) = (&plan.ports[stream.from], facts[stream.from]);
    if stream.size.bytes() > fact.frame_len_max {
        return Err(bad(format!(
            "a frame of {} is longer than the {} bytes port {} carries; raise its MTU or choose smaller frames",
            stream.size, fact.frame_len_max, port.name
        )));
    }
    if port.checksum == ChecksumBy::Offload && !fact.tx_checksum_offload {
        return Err(bad(format!(
            "port {} can't compute checksums; leave out 'checksum: offload'",
            port.name
        )));
    }
    let speed = port.speed_bps.or(fact.speed_bps).unwrap_or(UNSTATED_SPEED);
    if speed == UNSTATED_SPEED && matches!(stream.rate, units::Load::LinkShare(_)) {
        return Err(bad(format!(
            "{} of what? the link of port {} has no speed of its own; declare one, such as 'speed: 10Gbps'",
            stream.rate, port.name
        )));
    }
    let rate = stream.rate.packets(stream.size, speed);
    let group = match stream.pattern {
        Pattern::Continuous => 1,
        Pattern::Bursts { packets } => packets,
    };
    let next_hop = match stream.next_hop {
        NextHop::Given => None,
        NextHop::PeerPort => stream.to.map(|to| hosts[to].mac),
        NextHop::Resolve(ip) => neighbours[stream.from].mac(ip),
    };
    let source = stream.fill_source_mac.then_some(hosts[stream.from].mac);
    let mut packet = stream.packet.clone();
    for (field, mac) in [("dst", next_hop), ("src", source)] {
        if let Some(mac) = mac {
            set_mac(&mut packet.headers, field, mac);
        }
    }
    Ok(TrialStream {
        from: stream.from,
        to: stream.to,
        rate,
        measured: stream.measure,
        packet,
        load: StreamLoad { rate, group, count: stream.count, start_delay: stream.start_delay },
    })
}

fn set_mac(headers: &mut [Header], field: &str, mac: [u8; 6]) {
    let number = mac.iter().fold(0u128, |n, b| n << 8 | u128::from(*b));
    if let Some(ethernet) = headers.first_mut()
        && let Some(field) = ethernet.protocol.field(field)
    {
        ethernet.set.retain(|(f, _)| f.name != field.name);
        ethernet.set.push((field, number));
    }
}
