//! A Plan resolved against open ports: rates, addresses, packets, what is expected where.

use super::hosts::EmulatedHosts;
use crate::counts::interval::Shape;
use crate::error::EngineError;
use crate::worker::arrivals::{ANY_PORT, Expected};
use crate::worker::flows::ServerHops;
use neighbour::Resolver;
use port::PortFacts;
use profile::Plan;
use profile::plan::{ChecksumBy, HopBy, NextHop, Pattern, SessionHop, StreamPlan};
use sched::{CurvePoint, CurveShape, GapOrder, Pace, StreamLoad};
use session::plan::{AddressRange, Side};
use std::net::IpAddr;
use std::sync::Arc;
use units::{Load, Nanos, Pps};
use wire::PacketSpec;
use wire::signature::Mark;

/// Speed of a link that neither port nor profile gives. A share of the link needs one.
const UNSTATED_SPEED: u64 = 0;

/// A stream with everything known.
#[derive(Debug, Clone)]
pub(crate) struct TrialStream {
    pub(crate) from: usize,
    pub(crate) to: Option<usize>,
    pub(crate) measured: bool,
    /// Whether they are counted by a mark instead.
    pub(crate) marked: bool,
    /// Layer-1 speed of the link it is sent on; 0 if nobody says.
    pub(crate) speed_bps: u64,
    /// Destination and source hardware address, where the ports and their neighbours give them.
    pub(super) macs: [Option<[u8; 6]>; 2],
    /// With these filled in.
    pub(super) packet: PacketSpec,
    pub(crate) load: StreamLoad,
    /// When it ends, if it does at a time.
    pub(crate) end: Option<Nanos>,
    /// Whether it is sent in turn with others; its load then counts from its turn.
    pub(crate) chained: bool,
}

impl TrialStream {
    /// Whether its packets are counted where they arrive.
    pub(crate) fn is_counted(&self) -> bool {
        self.measured || self.marked
    }
}

/// A Plan resolved against open ports.
pub(crate) struct Trial<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) streams: Vec<TrialStream>,
    pub(crate) hosts: EmulatedHosts,
    pub(crate) expected: Vec<Expected>,
    pub(crate) shape: Shape,
    pub(crate) mark: Mark,
    pub(crate) grace: Nanos,
    /// For each entry under `sessions`, and each host of its clients: servers and the hardware address sent to.
    pub(crate) hops: Vec<Vec<ServerHops>>,
    /// Neighbours that have answered or were given, with the port and the host behind it that asked.
    pub(crate) known: Vec<(usize, usize, IpAddr, [u8; 6])>,
}

impl<'p> Trial<'p> {
    pub(crate) fn new(
        plan: &'p Plan,
        facts: &[&PortFacts],
        hosts: EmulatedHosts,
        neighbours: &[Resolver],
        histograms: bool,
    ) -> Result<Self, EngineError> {
        let mut streams = (0..plan.streams.len())
            .map(|index| stream(plan, index, facts, &hosts, neighbours))
            .collect::<Result<Vec<_>, _>>()?;
        for link in plan.chains.iter().flat_map(|chain| &chain.links) {
            streams[link.stream].chained = true;
        }
        let expected = plan.streams.iter().map(|s| Expected {
            port: s.to.filter(|_| s.also_to.is_empty()).map_or(ANY_PORT, |to| to as u16),
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
            shape: Shape {
                has_paths: plan.streams.iter().any(|stream| !stream.also_to.is_empty()),
                ..Shape::new(streams.len(), plan.ports.len(), plan.sessions.len(), histograms)
            },
            mark: Mark::of_run(plan.seed),
            // Long enough for a core that was taken away to catch up, too short to change the rate.
            grace: Nanos((plan.duration.0 / 100).clamp(20_000_000, 100_000_000)),
            hops: (0..plan.sessions.len()).map(|index| hops(plan, index, &hosts, neighbours)).collect(),
            streams,
            hosts,
        })
    }

    /// Which streams should come back here.
    pub(crate) fn measured(&self) -> Vec<bool> {
        self.streams.iter().map(|s| s.is_counted() && s.to.is_some()).collect()
    }

    /// The stream of each mark.
    pub(crate) fn marks(&self) -> Arc<[u32]> {
        let mut marks: Vec<(u16, u32)> = self
            .plan
            .streams
            .iter()
            .zip(0..)
            .filter_map(|(stream, index)| Some((stream.mark?, index)))
            .collect();
        marks.sort_unstable();
        marks.into_iter().map(|(_, index)| index).collect()
    }
}

/// Servers of an entry and the hardware address each host of its clients sends to.
fn hops(plan: &Plan, index: usize, hosts: &EmulatedHosts, neighbours: &[Resolver]) -> Vec<ServerHops> {
    let entry = &plan.sessions[index];
    let Some(client) = &entry.session.client else { return Vec::new() };
    let server = entry.session.server.as_ref();
    let mac = |hop: &SessionHop| match hop.by {
        HopBy::Given(mac) => Some(mac),
        HopBy::Resolve(ip) => {
            neighbours[client.port].mac(hosts.of_session(index, Side::Client, hop.host), ip)
        }
        HopBy::PeerPort => {
            let servers = &entry.session.servers.addresses;
            let has = |range: &&AddressRange| range.first <= hop.first && hop.first <= range.last;
            let place = servers.iter().find(has).map_or(0, |range| range.host);
            server
                .map(|server| hosts.ports[server.port].host(hosts.of_session(index, Side::Server, place)).mac)
        }
    };
    let mut all = vec![ServerHops::new(); client.hosts.len()];
    for hop in &entry.hops {
        all[hop.host].extend(mac(hop).map(|mac| (hop.first..=hop.last, mac)));
    }
    all
}

fn stream(
    plan: &Plan,
    index: usize,
    facts: &[&PortFacts],
    hosts: &EmulatedHosts,
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
        return Err(bad(format!("port {} can't compute checksums; remove 'checksum: offload'", port.name)));
    }
    let speed = port.speed_bps.or(fact.speed_bps).unwrap_or(UNSTATED_SPEED);
    let share = loads(stream).find(|load| matches!(load, Load::LinkShare(_)));
    if let Some(share) = share.filter(|_| speed == UNSTATED_SPEED) {
        return Err(bad(format!(
            "{share} needs a link speed, and port {} has none; set one, such as 'speed: 10Gbps'",
            port.name
        )));
    }
    let load = load(stream, index, speed);
    let next_hop = match stream.next_hop {
        NextHop::Given => None,
        NextHop::PeerPort => stream.to.map(|to| hosts.ports[to].host(stream.to_host).mac),
        NextHop::Resolve(ip) => neighbours[stream.from].mac(stream.from_host, ip),
    };
    let source = stream.fill_source_mac.then_some(hosts.ports[stream.from].host(stream.from_host).mac);
    let mut packet = PacketSpec::clone(&stream.packet);
    for (field, mac) in [("dst", next_hop), ("src", source)] {
        if let Some(mac) = mac {
            set_mac(&mut packet, field, mac);
        }
    }
    Ok(TrialStream {
        from: stream.from,
        to: stream.to,
        measured: stream.measure,
        marked: stream.mark.is_some(),
        speed_bps: speed,
        macs: [next_hop, source],
        packet,
        end: stream.duration.map(|time| stream.start_delay.saturating_add(time)),
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
        Pattern::Flows { offsets, rate, flows } => {
            (Pace::Flows { offsets: offsets.clone(), rate: *rate, flows: *flows }, 1)
        }
        Pattern::Captured { times, period } => (Pace::Trace { times: times.clone(), period: *period }, 1),
    };
    let load = StreamLoad { pace, group, count: stream.count, start_delay: stream.start_delay };
    match stream.duration {
        Some(time) => StreamLoad {
            count: load.packets_in(load.start_delay.saturating_add(time)).or(load.count),
            ..load
        },
        None => load,
    }
}

fn set_mac(packet: &mut PacketSpec, field: &str, mac: [u8; 6]) {
    if let Some(raw) = &mut packet.raw {
        let at = if field == "dst" { 0 } else { mac.len() };
        raw.bytes[at..][..mac.len()].copy_from_slice(&mac);
        return;
    }
    let number = mac.iter().fold(0u128, |n, b| n << 8 | u128::from(*b));
    if let Some(ethernet) = packet.headers.first_mut()
        && let Some(field) = ethernet.protocol.field(field)
    {
        ethernet.put(field, number);
    }
}
