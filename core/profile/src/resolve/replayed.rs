//! Captures that are sent again.

use super::lasting::after;
use super::pattern::own_rate;
use super::{Resolver, captured};
use crate::document::pattern::PatternDoc;
use crate::document::quantity::{Addresses, Network};
use crate::document::replay::{
    FirstPortDoc, LoopAddressesForm, ReplayDoc, ReplayFlowsDoc, SplitByDoc, SplitDoc, TakeDoc,
};
use crate::document::{OneOrMany, StreamDoc};
use crate::fit::sizes;
use crate::plan::{FlowsTaken, Pattern, Sizes, StreamPlan};
use replay::{
    CaptureReport, FlowTiming, Flows, Frames, LoopAddresses, Loops, Pool, Pools, PortBegin, Rewrite, SplitBy,
    Template, Trace,
};
use std::sync::Arc;
use units::{Load, Nanos, Pps};

/// Changes both ends of conversations by network: a word of 'rewrite' that is no field.
const ADDRESSES: &str = "addresses";
/// Changes both ends of conversations by port.
const PORTS: &str = "ports";
/// From one loop to the next if the capture has a single instant.
const SINGLE_GAP: Nanos = Nanos::from_millis(1);

/// Names of the two streams of a capture whose directions are split.
pub(super) fn direction_names(name: &str) -> [String; 2] {
    ["client", "server"].map(|side| format!("{name}[{side}]"))
}

impl Resolver<'_> {
    /// The stream, or the two directions of it, that a capture is sent as.
    pub(super) fn replayed(
        &mut self,
        path: &str,
        stream: &StreamDoc,
        replay: &ReplayDoc,
        plan: StreamPlan,
    ) -> Vec<StreamPlan> {
        self.refuse_beside_replay(path, stream, replay);
        let path = format!("{path}.replay");
        if let Some(flows) = &replay.flows {
            return self.flows_of(&path, stream, (replay, flows), plan);
        }
        let own = path.trim_end_matches(".replay").to_owned();
        let Some((mut traces, report)) = self.traces(&path, &stream.name.0, replay, plan.to) else {
            return Vec::new();
        };
        let macs = self.rewritten(&path, &stream.name.0, replay, &mut traces);
        if let Some((num, den)) = replay.speed.as_ref().map(|speed| speed.0) {
            replay::speed_up(&mut traces, num, den);
        }
        let gap = self.loop_gap(&path, replay, &traces);
        let loop_addresses = self.loop_addresses(&path, &stream.name.0, replay, &traces);
        let (whole, report) = (Whole::of(&traces), Arc::new(report));
        if whole.is_split && self.is_at_rate(stream) && plan.rate == Load::Max {
            let reason =
                "'max' can't keep the order of the two directions of 'split'; give a rate that is a number";
            self.reading.fail(format!("{own}.rate"), reason);
        }
        let plans = directions(&plan, traces.len()).into_iter().zip(traces).map(|(mut plan, mut trace)| {
            self.address_replayed(&path, &mut plan, macs);
            if stream.is_marked() {
                plan.mark = self.mark_trace(&own, &mut trace);
            }
            self.time_replayed(stream, replay, (&trace, &whole), gap, &mut plan);
            plan.too_long = Some(captured::too_long(replay.too_long));
            plan.loop_addresses.clone_from(&loop_addresses);
            plan.capture = Some(report.clone());
            plan.sizes = Arc::new(sizes(std::slice::from_ref(&trace)));
            plan.replay = Some(Arc::new(trace));
            plan
        });
        // A direction nobody sent in is no stream.
        let is_empty = |plan: &StreamPlan| plan.replay.as_ref().is_some_and(|trace| trace.packets.is_empty());
        plans.filter(|plan| !is_empty(plan)).collect()
    }

    /// Keys that describe built packets.
    fn refuse_beside_replay(&mut self, path: &str, stream: &StreamDoc, replay: &ReplayDoc) {
        let built = [
            ("packet", !stream.packet.is_empty()),
            ("frame", stream.frame.is_some()),
            ("next_hop", stream.next_hop.is_some()),
            ("size", stream.size.is_some()),
            ("vary", !stream.vary.is_empty()),
            ("per_copy", !stream.per_copy.is_empty()),
            ("flows", stream.flows.is_some()),
            ("copies", stream.copies.is_some()),
            ("pattern", stream.pattern != PatternDoc::Continuous),
        ];
        for (key, _) in built.iter().filter(|(_, given)| *given) {
            self.reading.fail(format!("{path}.{key}"), "goes with 'packet', not with 'replay'");
        }
        let as_captured = stream.rate.is_none() && self.overrides.rate.is_none();
        if replay.speed.is_some() && !as_captured {
            let reason = "conflicts with the stream's rate; leave out one of them";
            self.reading.fail(format!("{path}.replay.speed"), reason);
        }
    }

    /// The capture as one trace, or as that of each direction.
    fn traces(
        &mut self,
        path: &str,
        name: &str,
        replay: &ReplayDoc,
        to: Option<usize>,
    ) -> Option<(Vec<Trace>, CaptureReport)> {
        let (mut frames, split) = self.frames_and_split(path, name, replay, to)?;
        let report = std::mem::take(&mut frames.report);
        let traces = match split {
            Some(by) => replay::split(frames, &by).map(Vec::from),
            None => Ok(vec![Trace::of(frames)]),
        };
        let mut traces = self.of_file(&format!("{path}.file"), &replay.file, traces)?;
        if traces.iter().all(|trace| trace.packets.is_empty()) {
            self.reading.fail(format!("{path}.file"), format!("'{}' has no packets", replay.file));
            return None;
        }
        self.fill(name, &mut traces);
        let guessed: u64 = traces.iter().map(|trace| trace.guessed).sum();
        if guessed > 0 {
            self.warnings.push(format!("stream {name}: the direction of {guessed} packets is a guess"));
        }
        Some((traces, report))
    }

    /// Result of reading a capture, or nothing after reporting the reason.
    pub(super) fn of_file<T>(
        &mut self,
        path: &str,
        file: &str,
        made: Result<T, impl std::fmt::Display>,
    ) -> Option<T> {
        let fail = |error| self.reading.fail(path, format!("'{file}': {error}"));
        made.map_err(fail).ok()
    }

    /// The frames of a capture, and how its directions are separated if they are sent from two ports.
    fn frames_and_split(
        &mut self,
        path: &str,
        name: &str,
        replay: &ReplayDoc,
        to: Option<usize>,
    ) -> Option<(Frames, Option<SplitBy>)> {
        let frames = self.frames_of(path, name, replay)?;
        let split = match &replay.split {
            Some(_) if to.is_none() => {
                self.reading
                    .fail(format!("{path}.split"), "the other direction needs a port: name one in 'to'");
                return None;
            }
            Some(split) => Some(self.split_by(&format!("{path}.split"), split)?),
            None => None,
        };
        Some((frames, split))
    }

    /// Fills packets up of which only the beginning was captured.
    fn fill(&mut self, name: &str, traces: &mut [Trace]) {
        let cut: u64 = traces.iter_mut().map(Trace::fill).sum();
        if cut > 0 {
            self.warnings.push(format!(
                "stream {name}: of {cut} packets only the beginning was captured; zeros fill them up"
            ));
        }
    }

    /// The streams of flows made from a capture: one, or one for each direction.
    fn flows_of(
        &mut self,
        path: &str,
        stream: &StreamDoc,
        (replay, flows): (&ReplayDoc, &ReplayFlowsDoc),
        plan: StreamPlan,
    ) -> Vec<StreamPlan> {
        let said = self.reading.errors.len();
        self.refuse_beside_flows(path, stream, replay);
        let flows_path = format!("{path}.flows");
        let pools = self.flow_pools(&flows_path, flows);
        let timing = self.flow_timing(&flows_path, flows);
        let name = &stream.name.0;
        let Some((mut frames, split)) = self.frames_and_split(path, name, replay, plan.to) else {
            return Vec::new();
        };
        let by = split.clone().unwrap_or(SplitBy::FirstSource);
        let report = Arc::new(std::mem::take(&mut frames.report));
        let template = Template::new(frames, &by, split.is_some(), timing);
        let at = format!("{path}.file");
        let Some(mut template) = self.of_file(&at, &replay.file, template) else { return Vec::new() };
        self.fill(name, &mut template.traces);
        let macs = self.rewritten(path, name, replay, &mut template.traces);
        let Some(pools) = pools.filter(|_| self.reading.errors.len() == said) else { return Vec::new() };
        let mut plans = Vec::new();
        let directions = directions(&plan, template.traces.len()).into_iter().zip(template.traces);
        let own = path.trim_end_matches(".replay");
        let span = template.span;
        let loops = self.flow_loops(&flows_path, flows, span);
        let take = self.flows_taken(&flows_path, flows, &pools);
        for ((mut plan, mut trace), from_client) in directions.zip(template.from_client) {
            if stream.is_marked() && !trace.packets.is_empty() {
                plan.mark = self.mark_trace(own, &mut trace);
            }
            let made = Flows::new(&trace, &from_client, pools);
            let Some(made) = self.of_file(&at, &replay.file, made) else {
                return Vec::new();
            };
            if trace.packets.is_empty() {
                continue;
            }
            let packets = trace.packets.len() as u64;
            self.address_replayed(path, &mut plan, macs);
            plan.count =
                flows.limit.map(|limit| take.of(limit).saturating_mul(packets).saturating_mul(loops.0));
            plan.rate = Load::Packets(mean_rate(flows.rate.0, packets, &take));
            plan.pattern = Pattern::Flows {
                offsets: trace.packets.iter().map(|packet| packet.at).collect(),
                rate: flows.rate.0,
                flows: flows.limit,
                loops,
                take,
            };
            plan.sizes = Arc::new(sizes(std::slice::from_ref(&trace)));
            plan.replay = Some(Arc::new(trace));
            plan.capture = Some(report.clone());
            plan.flows = Some(Arc::new(made));
            plans.push(plan);
        }
        plans
    }

    /// Refuses keys that only apply to a capture sent unmodified.
    fn refuse_beside_flows(&mut self, path: &str, stream: &StreamDoc, replay: &ReplayDoc) {
        let own = path.trim_end_matches(".replay");
        let others = [
            (
                format!("{own}.rate"),
                stream.rate.is_some(),
                "the rate of 'flows' is how many begin in a second",
            ),
            (format!("{own}.count"), stream.count.is_some(), "'limit' of 'flows' is their number"),
            (format!("{own}.then"), stream.then.is_some(), "flows overlap; they have no end to follow"),
            (
                format!("{path}.speed"),
                replay.speed.is_some(),
                "does not go with 'flows', which have 'ipg' and 'rtt'",
            ),
            (format!("{path}.loops"), replay.loops.is_some(), "'limit' of 'flows' is how often"),
            (format!("{path}.loop_gap"), replay.loop_gap.is_some(), "does not go with 'flows'"),
            (
                format!("{path}.loop_addresses"),
                replay.loop_addresses.is_some(),
                "does not go with 'flows', each of which has other ends",
            ),
        ];
        for (path, _, reason) in others.into_iter().filter(|(_, given, _)| *given) {
            self.reading.fail(path, reason);
        }
        if self.overrides.rate.is_some() {
            self.reading
                .fail(path, "--rate does not change 'flows', whose rate is how many begin in a second");
        }
    }

    fn flow_pools(&mut self, path: &str, flows: &ReplayFlowsDoc) -> Option<Pools> {
        if flows.rate.0 == Pps::ZERO {
            self.reading.fail(format!("{path}.rate"), "a rate of 0 begins no flow");
        }
        let mut pool = |key: &str, addresses: &Addresses| {
            let pool = Pool::new(addresses.0.first, addresses.0.last);
            if pool.is_none() {
                self.reading.fail(format!("{path}.{key}"), "more than 2^64 addresses");
            }
            pool
        };
        let (clients, servers) = (pool("clients", &flows.clients), pool("servers", &flows.servers));
        let (clients, servers) = clients.zip(servers)?;
        if clients.is_ipv4() != servers.is_ipv4() {
            self.reading.fail(format!("{path}.servers"), "clients and servers are not of one address family");
            return None;
        }
        let begin = match flows.first_port {
            FirstPortDoc::First => PortBegin::First,
            FirstPortDoc::Spread => PortBegin::Spread,
        };
        let (per_pair, ports, swapped) = (flows.per_pair, flows.client_ports.0, flows.swap);
        Some(Pools { clients, servers, per_pair, ports, begin, swapped })
    }

    /// Which of the flows are sent.
    fn flows_taken(&mut self, path: &str, flows: &ReplayFlowsDoc, pools: &Pools) -> FlowsTaken {
        let Some(TakeDoc { every, first }) = flows.take else { return FlowsTaken::ALL };
        let clients = pools.clients.count();
        if first >= clients {
            let reason = format!("there are {} clients, counted from 0", units::count(clients));
            self.reading.fail(format!("{path}.take.first"), reason);
        }
        FlowsTaken { each: pools.per_pair.max(1), clients, every, first }
    }

    /// Number of times that the flows are sent, and the time from the first flow to the same one again; `span` is the
    /// duration of one.
    fn flow_loops(&mut self, path: &str, flows: &ReplayFlowsDoc, span: Nanos) -> (u64, Nanos) {
        let once = (1, Nanos::MAX);
        let Some(limit) = flows.limit else {
            for (key, given) in [("loops", flows.loops.is_some()), ("loop_gap", flows.loop_gap.is_some())] {
                if given {
                    self.reading
                        .fail(format!("{path}.{key}"), "needs 'limit', the number of flows of a loop");
                }
            }
            return once;
        };
        if let Some(gap) = &flows.loop_gap {
            self.within_a_year(&format!("{path}.loop_gap"), gap.0);
        }
        let last = after(limit.saturating_sub(1), flows.rate.0);
        let between = after(limit, flows.rate.0).since(last);
        let gap = flows.loop_gap.as_ref().map_or(between, |gap| gap.0).max(Nanos(1));
        let period = last.saturating_add(span).saturating_add(gap);
        flows.loops.map_or(once, |loops| (loops, period))
    }

    fn flow_timing(&mut self, path: &str, flows: &ReplayFlowsDoc) -> FlowTiming {
        let given = [
            ("ipg", &flows.ipg),
            ("rtt", &flows.rtt),
            ("short_gap", &flows.short_gap),
            ("shortest", &flows.shortest),
        ];
        for (key, time) in given {
            if let Some(time) = time {
                self.within_a_year(&format!("{path}.{key}"), time.0);
            }
        }
        match (&flows.ipg, &flows.rtt, &flows.shortest, &flows.short_gap) {
            (Some(ipg), rtt, None, None) => {
                FlowTiming::Gaps { same: ipg.0, turn: rtt.as_ref().map_or(ipg.0, |rtt| rtt.0) }
            }
            (None, None, Some(least), Some(instead)) => FlowTiming::Captured(Some((least.0, instead.0))),
            (None, None, None, None) => FlowTiming::Captured(None),
            (None, Some(_), ..) => {
                self.reading.fail(format!("{path}.rtt"), "needs 'ipg'");
                FlowTiming::Captured(None)
            }
            (None, None, ..) => {
                self.reading.fail(path, "'shortest' and 'short_gap' go together");
                FlowTiming::Captured(None)
            }
            (Some(_), ..) => {
                let reason = "'ipg' replaces all captured times; leave out 'shortest' and 'short_gap'";
                self.reading.fail(path, reason);
                FlowTiming::Captured(None)
            }
        }
    }

    fn split_by(&mut self, path: &str, split: &SplitDoc) -> Option<SplitBy> {
        let SplitDoc::By(SplitByDoc { clients, macs, interface, other }) = split else {
            return Some(SplitBy::FirstSource);
        };
        match (clients, macs, interface, other) {
            (Some(clients), None, None, None) => {
                let network = |network: &Network| replay::Network::new(network.0.ip, network.0.prefix_len);
                Some(SplitBy::Network(values(clients).into_iter().filter_map(network).collect()))
            }
            (None, Some(macs), None, None) => {
                Some(SplitBy::Mac(values(macs).into_iter().map(|mac| mac.0).collect()))
            }
            (None, None, Some(interface), None) => Some(SplitBy::Interface(*interface)),
            // Those of its first capture.
            (None, None, None, Some(_)) => Some(SplitBy::Interface(0)),
            _ => {
                self.reading.fail(
                    path,
                    "one of 'clients', 'macs', 'interface' and 'other' must identify the clients",
                );
                None
            }
        }
    }

    /// Applies 'rewrite'; returns which hardware addresses are taken from the ports: source, destination.
    fn rewritten(
        &mut self,
        path: &str,
        name: &str,
        replay: &ReplayDoc,
        traces: &mut [Trace],
    ) -> (bool, bool) {
        let mut rules: Vec<(String, Rewrite)> = Vec::new();
        let (mut own_source, mut next_hop) = (false, false);
        if replay.pop_vlan {
            rules.push((format!("{path}.pop_vlan"), Rewrite::PopVlan));
        }
        for (field, written) in &replay.rewrite {
            for (index, value) in written.with_paths() {
                let (at, text) = (format!("{path}.rewrite.{field}{index}"), value.text());
                match (field.as_str(), text.trim()) {
                    ("ethernet.src", "port") => own_source = true,
                    ("ethernet.dst", "next_hop") => next_hop = true,
                    _ => match rule(field, &text) {
                        Ok(rule) => rules.push((at, rule)),
                        Err(reason) => self.reading.fail(at, reason),
                    },
                }
            }
        }
        if let Some(id) = replay.push_vlan {
            rules.push((format!("{path}.push_vlan"), Rewrite::PushVlan { id: id.0, pcp: 0 }));
        }
        for (at, rule) in rules {
            let mut changed = 0;
            for trace in traces.iter_mut() {
                match replay::rewrite(trace, std::slice::from_ref(&rule)) {
                    Ok(report) => changed += report.rules[0].changed + report.rules[0].unchanged,
                    Err(error) => {
                        self.reading.fail(&at, error.to_string());
                        return (own_source, next_hop);
                    }
                }
            }
            if changed == 0 {
                self.warnings.push(format!("stream {name}: no packet has what {at} changes"));
            }
        }
        (own_source, next_hop)
    }

    /// Which hardware addresses are filled in when the ports are known.
    fn address_replayed(&mut self, path: &str, plan: &mut StreamPlan, (own_source, next_hop): (bool, bool)) {
        plan.fill_source_mac = own_source;
        if !next_hop {
            return;
        }
        plan.next_hop = self.next_hop_of_port(&format!("{path}.rewrite.ethernet.dst"), plan);
    }

    /// From the last packet of one loop to the first of the next: the same for both directions, or they would drift
    /// apart.
    fn loop_gap(&mut self, path: &str, replay: &ReplayDoc, traces: &[Trace]) -> Nanos {
        if let Some(gap) = &replay.loop_gap {
            self.within_a_year(&format!("{path}.loop_gap"), gap.0);
            return gap.0;
        }
        let packets: usize = traces.iter().map(|trace| trace.packets.len()).sum();
        let span = traces.iter().map(|trace| trace.span).max().unwrap_or(Nanos::ZERO);
        match Nanos(span.0 / (packets as u64).saturating_sub(1).max(1)) {
            Nanos::ZERO => SINGLE_GAP,
            mean => mean,
        }
    }

    /// How the addresses of a capture differ from loop to loop.
    fn loop_addresses(
        &mut self,
        path: &str,
        name: &str,
        replay: &ReplayDoc,
        traces: &[Trace],
    ) -> Option<Arc<LoopAddresses>> {
        let (step, networks) = match replay.loop_addresses.as_ref()? {
            LoopAddressesForm::Default(false) => return None,
            LoopAddressesForm::Default(true) => (1, Vec::new()),
            LoopAddressesForm::Full(full) => {
                let networks = full.networks.as_ref().map(values).unwrap_or_default();
                let network = |network: &Network| replay::Network::new(network.0.ip, network.0.prefix_len);
                (full.step.unwrap_or(1), networks.into_iter().filter_map(network).collect())
            }
        };
        let rule = LoopAddresses { step, networks };
        if traces.iter().all(|trace| Loops::new(trace, &rule).changed() == 0) {
            self.warnings
                .push(format!("stream {name}: no packet has an address that {path}.loop_addresses changes"));
        }
        if replay.loops.unwrap_or(1) < 2 {
            self.reading.fail(
                format!("{path}.loop_addresses"),
                "the first loop has the captured addresses: set 'loops' to 2 or more",
            );
        }
        Some(Arc::new(rule))
    }

    /// Whether packets leave at a rate, not as captured.
    fn is_at_rate(&self, stream: &StreamDoc) -> bool {
        own_rate(stream).is_none() || stream.rate.is_some() || self.overrides.rate.is_some()
    }

    fn time_replayed(
        &self,
        stream: &StreamDoc,
        replay: &ReplayDoc,
        (trace, whole): (&Trace, &Whole),
        gap: Nanos,
        plan: &mut StreamPlan,
    ) {
        let all = replay.loops.unwrap_or(1).saturating_mul(whole.packets);
        let all = plan.count.map_or(all, |count| count.min(all));
        let places: Vec<u64> = match whole.is_split {
            true => trace.packets.iter().map(|packet| packet.place).collect(),
            false => (0..trace.packets.len() as u64).collect(),
        };
        plan.count = Some(share(&places, whole.packets, all));
        if self.is_at_rate(stream) {
            if whole.is_split {
                let (of, mix) = (whole.packets, whole.sizes.mix());
                plan.pattern = Pattern::Interleaved { places: places.into(), of, mix };
            }
            return;
        }
        plan.pattern = Pattern::Captured {
            times: trace.packets.iter().map(|packet| packet.at).collect(),
            period: trace.span.saturating_add(gap).max(Nanos(1)),
        };
    }
}

/// Packets per second of flows of this number of packets, if only some are taken.
fn mean_rate(flows: Pps, packets: u64, take: &FlowsTaken) -> Pps {
    let round = take.clients.saturating_mul(take.each).max(1);
    let taken = u128::from(flows.micro()) * u128::from(packets) * u128::from(take.of(round));
    Pps::from_micro(u64::try_from(taken / u128::from(round)).unwrap_or(u64::MAX))
}

/// All packets of a capture, of both directions together.
struct Whole {
    packets: u64,
    sizes: Sizes,
    /// Whether the directions are separate streams.
    is_split: bool,
}

impl Whole {
    fn of(traces: &[Trace]) -> Self {
        let packets = traces.iter().map(|trace| trace.packets.len() as u64).sum();
        Self { packets, sizes: sizes(traces), is_split: traces.len() > 1 }
    }
}

/// Number of packets with one of these places, among the first `all` of a capture sent in loops of `of` packets.
fn share(places: &[u64], of: u64, all: u64) -> u64 {
    let (loops, rest) = (all / of.max(1), all % of.max(1));
    let last = places.iter().filter(|place| **place < rest).count() as u64;
    loops.saturating_mul(places.len() as u64).saturating_add(last)
}

/// The stream of a capture, or the streams of its two directions.
fn directions(plan: &StreamPlan, traces: usize) -> Vec<StreamPlan> {
    let plan = StreamPlan { measure: false, integrity: false, ..plan.clone() };
    if traces < 2 {
        return vec![plan];
    }
    let [client, server] = direction_names(&plan.name);
    let back = StreamPlan {
        name: server,
        from: plan.to.unwrap_or(0),
        to: Some(plan.from),
        also_to: Vec::new(),
        outages: None,
        egress: Vec::new(),
        from_host: plan.to_host,
        to_host: plan.from_host,
        ..plan.clone()
    };
    vec![StreamPlan { name: client, ..plan }, back]
}

/// Parses a value of 'rewrite': `new`, or `old -> new`.
fn rule(field: &str, text: &str) -> Result<Rewrite, String> {
    let map = text.split_once("->").map(|(from, to)| (from.trim().to_owned(), to.trim().to_owned()));
    let port =
        |text: &str| text.parse::<u16>().map_err(|_| format!("'{text}' is not a port from 0 to 65535"));
    match (field, map) {
        (ADDRESSES, Some((from, to))) => Ok(Rewrite::MapNetwork { from, to }),
        (ADDRESSES, None) => {
            Err(format!("'{text}' is not a network for a network: 10.0.0.0/8 -> 192.168.0.0/8"))
        }
        (PORTS, Some((from, to))) => Ok(Rewrite::MapPort { from: port(&from)?, to: port(&to)? }),
        (PORTS, None) => Err(format!("'{text}' is not a port for a port: 80 -> 8080")),
        (_, Some((from, to))) => Ok(Rewrite::Map { path: field.to_owned(), from, to }),
        (_, None) => Ok(Rewrite::Set { path: field.to_owned(), value: text.trim().to_owned() }),
    }
}

fn values<T>(given: &OneOrMany<T>) -> Vec<&T> {
    given.with_paths().into_iter().map(|(_, value)| value).collect()
}
