//! A Plan resolved against open ports: rates, addresses, packets, what is expected where.

use super::hosts::EmulatedHosts;
use super::tunnels::TrialTunnels;
use crate::counts::interval::Shape;
use crate::error::EngineError;
use crate::key_logs::KeyLogs;
use crate::worker::arrivals::{ANY_PORT, Expected};
use crate::worker::detour::ServerHops;
use crate::worker::egress::Tracker;
use crate::worker::integrity::Integrity;
use field::Target;
use neighbour::Resolver;
use port::PortFacts;
use profile::Plan;
use profile::plan::{ChecksumBy, FlowsTaken, HopBy, NextHop, Pattern, PortPlan, SessionHop, StreamPlan};
use replay::TracePacket;
use sched::{CurvePoint, CurveShape, FlowLoops, FlowTurns, GapOrder, Pace, StreamLoad};
use session::plan::{AddressRange, Side};
use std::borrow::Cow;
use std::collections::HashSet;
use std::net::IpAddr;
use std::ops::Range;
use std::sync::Arc;
use tcp::Gateway;
use units::{FrameLen, Load, Nanos, Pps};
use wire::signature::{Mark, STREAMS_MAX};
use wire::{PacketSpec, is_tagged};

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
    /// Layer-1 speed of the link it is sent on; 0 if unknown.
    pub(crate) speed_bps: u64,
    /// Destination and source hardware address, where the ports and their neighbours give them.
    pub(super) macs: [Option<[u8; 6]>; 2],
    pub(crate) load: StreamLoad,
    /// When it ends, if it does at a time.
    pub(crate) end: Option<Nanos>,
    /// Whether it is sent in turn with others; its load then counts from its turn.
    pub(crate) chained: bool,
    /// When it was added, since the start of traffic: what the profile has, at once.
    pub(crate) added: Nanos,
    /// When it was removed, if it was.
    pub(crate) removed: Option<Nanos>,
}

impl TrialStream {
    /// Whether its packets are counted where they arrive.
    pub(crate) fn is_counted(&self) -> bool {
        self.measured || self.marked
    }

    /// Time for which it was there in the first `span` of the trial.
    pub(crate) fn time_in(&self, span: Nanos) -> Nanos {
        span.min(self.removed.unwrap_or(Nanos::MAX)).since(self.added)
    }

    /// Redirects its packets to another next hop.
    pub(super) fn send_to(&mut self, mac: [u8; 6]) {
        self.macs[0] = Some(mac);
    }

    /// Its packet with its hardware addresses. `plan` is its plan, which has the packet, often that of many streams.
    pub(super) fn packet(&self, plan: &StreamPlan) -> PacketSpec {
        let mut packet = PacketSpec::clone(&plan.packet);
        for (field, mac) in ["dst", "src"].into_iter().zip(self.macs) {
            if let Some(mac) = mac {
                set_mac(&mut packet, field, mac);
            }
        }
        packet
    }

    /// Whether it is not removed at `at` yet.
    pub(crate) fn is_there(&self, at: Nanos) -> bool {
        self.removed.is_none_or(|removed| removed > at)
    }

    /// End of its last packet's time, since the start of traffic: one gap after the packet left, if gaps are even, or of the
    /// round of a list of times. `None` if the profile does not determine it.
    pub(crate) fn planned_end(&self) -> Option<Nanos> {
        if self.chained || self.removed.is_some() || self.added > Nanos::ZERO {
            return None;
        }
        if self.end.is_some() {
            return self.end;
        }
        let count = self.load.count?;
        let nanos = match &self.load.pace {
            Pace::Even(rate) if *rate > Pps::ZERO => {
                u128::from(count) * 1_000_000_000_000_000 / u128::from(rate.micro())
            }
            Pace::Gaps { gaps, order: GapOrder::Sequential } if !gaps.is_empty() => {
                let (rounds, rest) = (count / gaps.len() as u64, (count % gaps.len() as u64) as usize);
                let sum = |gaps: &[Nanos]| gaps.iter().map(|gap| u128::from(gap.0)).sum::<u128>();
                u128::from(rounds) * sum(gaps) + sum(&gaps[..rest])
            }
            Pace::Trace { times, period } if !times.is_empty() => {
                u128::from(count.div_ceil(times.len() as u64)) * u128::from(period.0)
            }
            _ => return None,
        };
        Some(self.load.start_delay.saturating_add(Nanos(u64::try_from(nanos).unwrap_or(u64::MAX))))
    }

    /// Whether it ends before the trial's time is over.
    pub(crate) fn is_bounded(&self) -> bool {
        self.load.count.is_some() || self.end.is_some() || self.removed.is_some()
    }
}

/// A neighbour whose hardware address is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KnownNeighbour {
    /// Index of the port.
    pub(crate) port: usize,
    /// The host behind it that sends to the neighbour.
    pub(crate) host: usize,
    pub(crate) ip: IpAddr,
    pub(crate) mac: [u8; 6],
    /// Whether the profile gives the hardware address.
    pub(crate) is_given: bool,
}

/// A Plan resolved against open ports.
#[derive(Clone)]
pub(crate) struct Trial<'p> {
    /// With the streams that were added.
    pub(crate) plan: Cow<'p, Plan>,
    pub(crate) streams: Vec<TrialStream>,
    pub(crate) hosts: Arc<EmulatedHosts>,
    pub(crate) expected: Arc<[Expected]>,
    /// Bits that streams track, in the order of those that do.
    pub(crate) trackers: Arc<[Tracker]>,
    /// Comparison of payloads, if some are compared.
    pub(crate) integrity: Option<Arc<Integrity>>,
    /// Of each port.
    facts: Arc<[PortFacts]>,
    pub(crate) shape: Shape,
    pub(crate) mark: Mark,
    pub(crate) grace: Nanos,
    /// Whether it continues after everything is sent, until it is stopped or its duration is over.
    pub(crate) is_attended: bool,
    /// Of each port, whether it is one of this machine.
    pub(crate) here: Arc<[bool]>,
    /// The common start of several machines, if it is theirs.
    pub(crate) start: Option<Nanos>,
    /// For each entry under `sessions`, and each host of its clients: servers and the hardware address sent to.
    pub(crate) hops: Vec<Vec<ServerHops>>,
    /// For each entry under `sessions`, and each host of its servers: the gateway through which it replies to clients
    /// on other networks.
    pub(crate) gateways: Vec<Vec<Option<Gateway>>>,
    /// Neighbours that are resolved or given.
    pub(crate) known: Vec<KnownNeighbour>,
    /// Tunnels that sessions are in.
    pub(crate) tunnels: Arc<TrialTunnels>,
    /// Files that take secrets of sessions' connections.
    pub(crate) key_logs: Arc<KeyLogs>,
}

impl<'p> Trial<'p> {
    pub(crate) fn new(
        plan: &'p Plan,
        facts: &[&PortFacts],
        hosts: EmulatedHosts,
        (neighbours, of_protocols): (&[Resolver], Vec<KnownNeighbour>),
        tunnels: TrialTunnels,
        histograms: bool,
    ) -> Result<Self, EngineError> {
        let facts: Arc<[PortFacts]> = facts.iter().copied().cloned().collect();
        let plan = fitted(plan, &facts)?;
        let mac = |port: usize, host, ip| neighbours[port].mac(host, ip);
        let streams = streams(&plan, &facts, &hosts, &mac)?;
        let trackers: Arc<[Tracker]> = Tracker::of(&plan.streams).into();
        let egress_rows = trackers.iter().map(|tracker| tracker.rows() as usize).sum();
        let integrity = Integrity::of(plan.seed, &plan.streams)
            .map_err(|(stream, error)| EngineError::Stream { stream, reason: error.to_string() })?;
        let known = known(neighbours, of_protocols);
        let hosts = watching(hosts, &known);
        Ok(Self {
            known,
            expected: expected(&plan.streams),
            trackers,
            facts,
            shape: Shape {
                egress_rows,
                damage_rows: integrity.as_ref().map_or(0, |integrity| integrity.rows()),
                has_paths: plan.streams.iter().any(|stream| !stream.also_to.is_empty()),
                // Of what is sent elsewhere, nobody here knows when it left.
                has_samples: plan.sent_elsewhere.is_none()
                    && plan.streams.iter().any(|stream| stream.outages.is_some()),
                ..Shape::new(streams.len(), plan.ports.len(), plan.sessions.len(), histograms)
            },
            integrity,
            mark: Mark::of_run(plan.seed),
            // Long enough for a core that was taken away to catch up, too short to change the rate.
            grace: Nanos((plan.duration.0 / 100).clamp(20_000_000, 100_000_000)),
            is_attended: false,
            here: vec![true; plan.ports.len()].into(),
            start: None,
            hops: (0..plan.sessions.len())
                .map(|index| hops(&plan, index, &hosts, neighbours, &tunnels))
                .collect(),
            gateways: (0..plan.sessions.len())
                .map(|index| {
                    let places =
                        plan.sessions[index].session.server.as_ref().map_or(0, |side| side.hosts.len());
                    (0..places).map(|place| server_gateway(&plan, index, place, &hosts, neighbours)).collect()
                })
                .collect(),
            streams,
            hosts: Arc::new(hosts),
            tunnels: Arc::new(tunnels),
            key_logs: Arc::default(),
            plan,
        })
    }

    /// Ports of which `here` is false are another machine's: what arrives there is not received here.
    pub(crate) fn set_here(&mut self, here: Vec<bool>) {
        self.here = here.into();
        if self.is_part() {
            let here = self.here.clone();
            for stream in &mut self.streams {
                stream.to = stream.to.filter(|to| here.get(*to).is_none_or(|here| *here));
            }
        }
    }

    /// Whether other machines have a part in the run.
    pub(crate) fn is_part(&self) -> bool {
        self.here.contains(&false)
    }

    /// Whether a port is one of this machine.
    pub(crate) fn has_port(&self, port: usize) -> bool {
        self.here.get(port).is_none_or(|here| *here)
    }

    /// Whether a stream is sent or may arrive on this machine.
    pub(crate) fn has_stream(&self, stream: &StreamPlan) -> bool {
        let mut ends = stream.to.into_iter().chain(stream.also_to.iter().copied());
        self.has_port(stream.from) || stream.to.is_none() || ends.any(|port| self.has_port(port))
    }

    /// Whether this process, and no other, sends streams and counts what arrives.
    pub(crate) fn is_alone(&self) -> bool {
        self.plan.sent_elsewhere.is_none() && !self.is_part()
    }

    /// The trial with the streams of `more` as well, a plan for the same ports. [`beginning`](Self::beginning) is their
    /// start time.
    ///
    /// # Errors
    /// The parts that can't be sent here.
    pub(crate) fn with_streams(&self, more: &Plan) -> Result<Self, String> {
        self.refuse_unsuitable(more)?;
        let mut plan = self.plan.clone().into_owned();
        let first = plan.streams.len();
        plan.streams.extend(more.streams.iter().cloned());
        plan.chains.extend(more.chains.iter().cloned().map(|mut chain| {
            chain.links.iter_mut().for_each(|link| link.stream += first);
            chain
        }));
        for group in &more.groups {
            plan.group_mut(&group.name).take_in(group, first as u32);
        }
        let facts: Vec<&PortFacts> = self.facts.iter().collect();
        // Hosts answer for addresses that streams are sent to.
        let hosts = EmulatedHosts::new(&plan, &facts).map_err(|error| error.to_string())?;
        let hosts = watching(hosts, &self.known);
        let mac = |port, host, ip| {
            let is_it = |known: &&KnownNeighbour| (known.port, known.host, known.ip) == (port, host, ip);
            self.known.iter().find(is_it).map(|known| known.mac)
        };
        for stream in &more.streams {
            if let NextHop::Resolve(ip) = stream.next_hop
                && mac(stream.from, stream.from_host, ip).is_none()
            {
                return Err(format!(
                    "stream '{}': {ip} is no neighbor yet; neighbors are resolved before traffic starts. Set ethernet.dst",
                    stream.name
                ));
            }
        }
        let added = streams(more, &self.facts, &hosts, &mac).map_err(|error| error.to_string())?;
        let streams: Vec<TrialStream> = self.streams.iter().cloned().chain(added).collect();
        Ok(Self {
            expected: expected(&plan.streams),
            shape: self.shape.grown(streams.len()),
            streams,
            hosts: Arc::new(hosts),
            plan: Cow::Owned(plan),
            ..self.clone()
        })
    }

    /// The trial with `streams`, which were added, beginning at `at` instead of at once.
    pub(crate) fn beginning(mut self, streams: Range<usize>, at: Nanos) -> Self {
        for stream in &mut self.streams[streams] {
            stream.added = at;
            stream.end = stream.end.map(|end| end.saturating_add(at));
        }
        self
    }

    /// Refuses a plan whose streams can't join this trial.
    fn refuse_unsuitable(&self, more: &Plan) -> Result<(), String> {
        let same = |(own, theirs): (&PortPlan, &PortPlan)| {
            (&own.name, &own.device, &own.hosts) == (&theirs.name, &theirs.device, &theirs.hosts)
        };
        if self.plan.ports.len() != more.ports.len() || !self.plan.ports.iter().zip(&more.ports).all(same) {
            return Err("streams are added to the run's ports: 'ports' must equal its profile's".to_owned());
        }
        if self.plan.sent_elsewhere.is_some() {
            return Err("this run only receives".to_owned());
        }
        if self.is_part() {
            return Err("streams can't be added to a run on several machines".to_owned());
        }
        if more.streams.is_empty() || !more.sessions.is_empty() {
            return Err("streams can be added to a run, and nothing else".to_owned());
        }
        if more.seed != self.plan.seed {
            return Err(format!("the run's seed is {}", self.plan.seed));
        }
        if self.streams.len() + more.streams.len() > STREAMS_MAX {
            return Err(format!("a run has at most {STREAMS_MAX} streams, removed ones included"));
        }
        let marks = self.marks().len();
        let marked = more.streams.iter().filter_map(|stream| stream.mark);
        if marked.zip(marks..).any(|(mark, next)| usize::from(mark) != next) {
            return Err(format!("the first mark that is free is {marks}"));
        }
        for (key, has) in [
            ("also_to", (|stream| !stream.also_to.is_empty()) as fn(&StreamPlan) -> bool),
            ("outages", |stream| stream.outages.is_some()),
            ("egress", |stream| !stream.egress.is_empty()),
            ("integrity: full", |stream| stream.integrity),
        ] {
            if let Some(stream) = more.streams.iter().find(|stream| has(stream)) {
                return Err(format!(
                    "stream '{}': one with '{key}' must be there from the start",
                    stream.name
                ));
            }
        }
        let names: HashSet<&str> = self.plan.streams.iter().map(|stream| stream.name.as_str()).collect();
        for stream in &more.streams {
            if names.contains(stream.name.as_str()) {
                return Err(format!(
                    "there was a stream '{}' already; its counters are its own",
                    stream.name
                ));
            }
            if stream.leased.is_some() || stream.to_clients {
                let name = &stream.name;
                let whose = result::hosts_in_words!(clients);
                return Err(format!("stream '{name}' is of {whose}: only before traffic"));
            }
        }
        Ok(())
    }

    /// Which streams should come back here.
    pub(crate) fn measured(&self) -> Vec<bool> {
        self.streams.iter().map(|s| s.is_counted() && s.to.is_some()).collect()
    }

    /// Whether each of this number of workers has sent all test packets that it times, and so knows when to await them.
    pub(crate) fn lets_rest(&self, workers: usize) -> bool {
        (workers == 1 && self.is_alone()) || !self.measured().contains(&true)
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

/// Resolved neighbours of all ports, and neighbours known from protocols.
fn known(neighbours: &[Resolver], of_protocols: Vec<KnownNeighbour>) -> Vec<KnownNeighbour> {
    let of = |(port, all): (usize, &Resolver)| {
        let known = |(host, ip, mac, is_given)| KnownNeighbour { port, host, ip, mac, is_given };
        all.known().map(known).collect::<Vec<_>>()
    };
    let mut all: Vec<KnownNeighbour> = neighbours.iter().enumerate().flat_map(of).collect();
    for own in of_protocols {
        if !all.iter().any(|one| (one.port, one.host, one.ip) == (own.port, own.host, own.ip)) {
            all.push(own);
        }
    }
    all
}

/// The hosts, watching for changes of their neighbours' hardware addresses.
fn watching(mut hosts: EmulatedHosts, known: &[KnownNeighbour]) -> EmulatedHosts {
    for (port, hosts) in hosts.ports.iter_mut().enumerate() {
        let here = known.iter().filter(|one| one.port == port && !one.is_given);
        hosts.watch(here.map(|one| (one.host, one.ip)));
    }
    hosts
}

/// Servers of an entry and the hardware address each host of its clients sends to.
fn hops(
    plan: &Plan,
    index: usize,
    hosts: &EmulatedHosts,
    neighbours: &[Resolver],
    tunnels: &TrialTunnels,
) -> Vec<ServerHops> {
    let entry = &plan.sessions[index];
    let Some(client) = &entry.session.client else { return Vec::new() };
    let server = entry.session.server.as_ref();
    let mac = |hop: &SessionHop| match hop.by {
        HopBy::Given(mac) => Some(mac),
        HopBy::Resolve(ip) if client.tunnel.is_some() => tunnels.mac(index, ip),
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

/// Next hop of a server's host for clients on other networks; `None` if it has no gateway, or an unresolved one.
fn server_gateway(
    plan: &Plan,
    index: usize,
    place: usize,
    hosts: &EmulatedHosts,
    neighbours: &[Resolver],
) -> Option<Gateway> {
    let entry = &plan.sessions[index].session;
    let server = entry.server.as_ref().filter(|server| server.tunnel.is_none() && server.pppoe.is_none())?;
    let number = hosts.of_session(index, Side::Server, place);
    let host = hosts.plan(plan, server.port, number);
    let mut own = entry.servers.addresses.clone();
    own.retain(|range| range.host == place);
    let is_v4 = own.first()?.first.is_ipv4();
    let gateway = host.gateway(&host.address_of(&own, is_v4)?)?;
    let networks = host.addresses.iter().filter(|address| address.ip.is_ipv4() == is_v4).map(|address| {
        let (first, last) = address.network();
        first..=last
    });
    Some(Gateway { mac: neighbours[server.port].mac(number, gateway)?, networks: networks.collect() })
}

/// Expectations of each stream at its destination.
fn expected(streams: &[StreamPlan]) -> Arc<[Expected]> {
    let mut trackers = 0;
    let mut tracker = |stream: &StreamPlan| {
        trackers += u16::from(!stream.egress.is_empty());
        if stream.egress.is_empty() { 0 } else { trackers }
    };
    let expected = |stream: &StreamPlan| Expected {
        port: stream.to.filter(|_| stream.also_to.is_empty()).map_or(ANY_PORT, |to| to as u16),
        shortest: stream.sizes.shortest().without_fcs() as u16,
        longest: stream.sizes.longest().without_fcs() as u16,
        egress: tracker(stream),
    };
    streams.iter().map(expected).collect()
}

/// The hardware address of a neighbour, by the port and the requesting host.
type MacOf<'a> = &'a dyn Fn(usize, usize, IpAddr) -> Option<[u8; 6]>;

/// The plan with captures that fit the ports that send them.
fn fitted<'p>(plan: &'p Plan, facts: &[PortFacts]) -> Result<Cow<'p, Plan>, EngineError> {
    let mut fitted = Cow::Borrowed(plan);
    for (index, stream) in plan.streams.iter().enumerate().filter(|(_, stream)| stream.replay.is_some()) {
        let mut own = stream.clone();
        let fact = &facts[stream.from];
        let carried = fact.frame_len_max;
        let changed =
            own.fit_replay(|frame| fact.longest(is_tagged(frame))).map_err(|error| EngineError::Stream {
                stream: stream.name.clone(),
                reason: format!(
                    "port {} carries frames of {carried} bytes: {error}",
                    plan.ports[stream.from].name
                ),
            })?;
        if changed.is_some() {
            fitted.to_mut().streams[index] = own;
        }
    }
    Ok(fitted)
}

/// The streams of a plan with everything known.
fn streams(
    plan: &Plan,
    facts: &[PortFacts],
    hosts: &EmulatedHosts,
    mac: MacOf<'_>,
) -> Result<Vec<TrialStream>, EngineError> {
    // Collected as a result, they would get room for more than there are.
    let mut streams = Vec::with_capacity(plan.streams.len());
    for index in 0..plan.streams.len() {
        streams.push(stream(plan, index, facts, hosts, mac)?);
    }
    for link in plan.chains.iter().flat_map(|chain| &chain.links) {
        streams[link.stream].chained = true;
    }
    Ok(streams)
}

/// Whether a port computes checksums, if the profile requires it.
pub(super) fn check_checksums(port: &PortPlan, facts: &PortFacts) -> Result<(), String> {
    if port.checksum == ChecksumBy::Offload && !facts.tx_checksum_offload {
        return Err(format!("port {} can't compute checksums; remove 'checksum: offload'", port.name));
    }
    Ok(())
}

/// Refuses streams that the ports of a plan can't send.
pub(super) fn check_streams(plan: &Plan, facts: &[PortFacts]) -> Result<(), EngineError> {
    let plan = fitted(plan, facts)?;
    for stream in &plan.streams {
        check_stream(&plan, stream, &facts[stream.from])?;
    }
    Ok(())
}

/// Refuses what the port of a stream can't send; returns its layer-1 speed.
fn check_stream(plan: &Plan, stream: &StreamPlan, fact: &PortFacts) -> Result<u64, EngineError> {
    let bad = |reason: String| EngineError::Stream { stream: stream.name.clone(), reason };
    let port = &plan.ports[stream.from];
    if let Some((frame, carried)) = too_long(stream, fact) {
        return Err(bad(format!(
            "a frame of {frame} is longer than the {carried} bytes port {} carries; raise its MTU or choose smaller frames",
            port.name
        )));
    }
    check_checksums(port, fact).map_err(bad)?;
    let speed = port.speed_bps.or(fact.speed_bps).unwrap_or(UNSTATED_SPEED);
    let share = loads(stream).find(|load| matches!(load, Load::LinkShare(_)));
    if let Some(share) = share.filter(|_| speed == UNSTATED_SPEED) {
        return Err(bad(format!(
            "{share} needs a link speed, and port {} has none; set one, such as 'speed: 10Gbps'",
            port.name
        )));
    }
    Ok(speed)
}

fn stream(
    plan: &Plan,
    index: usize,
    facts: &[PortFacts],
    hosts: &EmulatedHosts,
    mac: MacOf<'_>,
) -> Result<TrialStream, EngineError> {
    let stream = &plan.streams[index];
    let speed = check_stream(plan, stream, &facts[stream.from])?;
    let load = load(stream, index, speed);
    let next_hop = match stream.next_hop {
        NextHop::Given => None,
        NextHop::PeerPort => stream.to.map(|to| hosts.ports[to].host(stream.to_host).mac),
        NextHop::Resolve(ip) => mac(stream.from, stream.from_host, ip),
    };
    let source = stream.fill_source_mac.then_some(hosts.ports[stream.from].host(stream.from_host).mac);
    Ok(TrialStream {
        from: stream.from,
        to: stream.to,
        measured: stream.measure,
        marked: stream.mark.is_some(),
        speed_bps: speed,
        macs: [next_hop, source],
        end: stream.duration.map(|time| stream.start_delay.saturating_add(time)),
        load,
        chained: false,
        added: Nanos::ZERO,
        removed: None,
    })
}

/// A frame of a stream that its port does not carry, if there is one, and the length of those it carries.
fn too_long(stream: &StreamPlan, fact: &PortFacts) -> Option<(FrameLen, u32)> {
    let longest = stream.sizes.longest();
    if longest.bytes() <= fact.frame_len_max {
        return None;
    }
    let of = |frame: &[u8], len: FrameLen| {
        let carried = fact.longest(is_tagged(frame));
        (len.bytes() > carried).then_some((len, carried))
    };
    if let Some(replay) = &stream.replay {
        let of = |packet: &TracePacket| of(&packet.bytes, FrameLen::holding(packet.bytes.len() as u32));
        return replay.packets.iter().find_map(of);
    }
    let begins = stream.packet.build(longest).map(|packet| packet.bytes).unwrap_or_default();
    // A tag of another type, or none, may take its place in some of them.
    let varies = stream.vary.iter().flat_map(|vary| &vary.writes).any(|write| match write.target {
        Target::Field { header, field } => header == 0 && field.name == "type",
        Target::Bits { offset, width } => offset < 14 * 8 && offset + u32::from(width) > 12 * 8,
        _ => false,
    });
    of(if varies { &[] } else { &begins }, longest)
}

/// Every load a stream's author wrote.
fn loads(stream: &StreamPlan) -> impl Iterator<Item = Load> + '_ {
    let points = match &stream.pattern {
        Pattern::Curve { points, .. } => &points[..],
        _ => &[],
    };
    std::iter::once(stream.rate).chain(points.iter().map(|(_, rate)| *rate))
}

/// Load of the stream `index` for the schedule, on a link of `speed` bit/s.
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
        Pattern::Flows { offsets, rate, flows, loops: (times, period), take } => {
            let loops = FlowLoops { times: *times, period: *period };
            let FlowsTaken { each, clients, every, first } = *take;
            let take = FlowTurns { each, round: clients, every, first };
            (Pace::Flows { offsets: offsets.clone(), rate: *rate, flows: *flows, loops, take }, 1)
        }
        Pattern::Interleaved { places, of, mix } => match stream.rate.packets(*mix, speed) {
            Some(rate) => (interleaved(places, *of, rate), 1),
            None => (Pace::Max, 1),
        },
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

/// When the packets at these places of a capture of `of` packets leave, if all leave at `rate`.
fn interleaved(places: &[u64], of: u64, rate: Pps) -> Pace {
    /// Short captures are unrolled, so that rounding to nanoseconds does not add up.
    const SPAN_LEAST: u128 = 1_000_000;
    const PLACES_MOST: usize = 1 << 16;
    let at = |place: u128| {
        let nanos = place * 1_000_000_000_000_000 / u128::from(rate.micro().max(1));
        u64::try_from(nanos).unwrap_or(u64::MAX)
    };
    let wanted = SPAN_LEAST / u128::from(at(of.into()).max(1)) + 1;
    let loops = wanted.clamp(1, (PLACES_MOST / places.len().max(1)).max(1) as u128) as u64;
    let all = (0..loops).flat_map(|turn| {
        places.iter().map(move |place| u128::from(turn) * u128::from(of) + u128::from(*place))
    });
    let period = at(u128::from(loops) * u128::from(of)).max(1);
    Pace::Trace { times: all.map(|place| Nanos(at(place))).collect(), period: Nanos(period) }
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
