//! Streams: names, ports, what varies; and one plan for each copy.

use super::Resolver;
use super::packet::{Draft, Route, tagged_by};
use super::vary::{Fields, Names, Varying};
use crate::document::StreamDoc;
use crate::plan::{ClientsBy, NextHop, Pattern, Sizes, StreamPlan, WATCHED_MAX};
use field::{Program, Target, Vary};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use units::{FrameLen, Load, Nanos};
use wire::signature::{LaneMark, Mark};
use wire::{PacketSpec, Vlans, signature};

/// Streams a run can have.
const MOST: u64 = signature::STREAMS_MAX as u64;

/// Maximum number of copies that differ: each has a separate packet in memory.
const DIFFERING_MAX: u32 = 1 << 18;

/// Error for settings that need packets with a signature.
pub(super) const NEEDS_SIGNATURE: &str = "needs packets with a signature: 'measure: true', and no 'replay'";

/// Memory of a copy that equals the others: its entry, its name, and its places in tables.
const COPY_BYTES: u64 = 2 * size_of::<StreamPlan>() as u64;
/// Memory of a copy with a separate packet, bytes.
const DIFFERING_BYTES: u64 = 4_096;
/// Memory of a copy in each group and each criterion, which may name it.
const NAME_BYTES: u64 = 96;

/// The port a stream, or an end of sessions, names.
#[derive(Clone, Copy)]
pub(crate) enum PortName {
    /// Index in the plan; nothing is wrong with the port.
    Sound(usize),
    /// Index in the plan; an error about the port was reported.
    Broken(usize),
    /// The plan has no such port; an error was reported.
    Missing,
}

impl PortName {
    pub(super) fn index(self) -> usize {
        match self {
            Self::Sound(index) | Self::Broken(index) => index,
            Self::Missing => 0,
        }
    }
}

impl<'a> Resolver<'a> {
    pub(super) fn streams(&mut self) -> Vec<StreamPlan> {
        let total = self.streams_in_all();
        if total > MOST {
            self.reading.fail("streams", format!("{total} streams, copies included; the most is {MOST}"));
            return Vec::new();
        }
        let needed = self.memory();
        if let Some(most) = self.overrides.memory_bytes.filter(|most| needed > *most) {
            let (needed, most) = (needed.div_ceil(1_000_000), most / 1_000_000);
            self.reading.fail_here(
                "streams",
                format!(
                    "{total} streams, copies included, need about {needed} MB of memory, and {most} MB can be used; use \
                     fewer 'copies'"
                ),
            );
            return Vec::new();
        }
        let mut names: HashMap<&str, String> = HashMap::new();
        let mut plans = Vec::new();
        for (path, stream) in self.kept_streams() {
            let name = stream.name.0.as_str();
            if let Some(other) = names.get(name) {
                self.reading
                    .fail(format!("{path}.name"), format!("the name '{name}' is already that of {other}"));
            } else {
                names.insert(name, path.clone());
            }
            let mut own = self.stream(&path, stream);
            if stream.is_marked() && stream.replay.is_none() {
                self.mark_streams(&path, &mut own);
            }
            if self.reading.errors.is_empty() {
                plans.extend(own);
            }
        }
        self.limit_egress_of_all(&plans);
        self.limit_integrity(&plans);
        plans
    }

    /// Number of streams, copies included.
    fn streams_in_all(&self) -> u64 {
        self.document.streams.iter().map(|stream| u64::from(stream.copies.unwrap_or(1))).sum()
    }

    /// About how much memory the streams of the plan take, bytes.
    fn memory(&self) -> u64 {
        let document = self.document;
        let named = NAME_BYTES * (document.groups.len() + document.criteria.len()) as u64;
        let of = |stream: &StreamDoc| {
            let each = if stream.per_copy.is_empty() { COPY_BYTES } else { DIFFERING_BYTES };
            u64::from(stream.copies.unwrap_or(1)) * (each + named)
        };
        document.streams.iter().map(of).fold(0, u64::saturating_add)
    }

    /// The streams that could be read, each with its path.
    pub(super) fn kept_streams(&self) -> Vec<(String, &'a StreamDoc)> {
        let paths =
            (0..).map(|index| format!("streams[{index}]")).filter(|path| !self.reading.is_dropped(path));
        paths.zip(&self.document.streams).collect()
    }

    /// The other ports at which a stream may arrive.
    fn other_ports(&mut self, path: &str, stream: &StreamDoc, to: Option<PortName>) -> Vec<usize> {
        let path = format!("{path}.also_to");
        let Some(names) = &stream.also_to else { return Vec::new() };
        let Some(to) = to else {
            self.reading.fail(&path, "needs 'to', the port of the first path");
            return Vec::new();
        };
        if !stream.is_measured() || stream.replay.is_some() {
            self.reading.fail(&path, NEEDS_SIGNATURE);
        }
        let mut all = Vec::new();
        for (place, name) in names.with_paths() {
            let path = format!("{path}{place}");
            if let PortName::Sound(port) | PortName::Broken(port) = self.port_name(&path, name) {
                if port == to.index() || all.contains(&port) {
                    self.reading.fail(path, format!("port '{name}' is already named"));
                }
                all.push(port);
            }
        }
        all
    }

    /// Below which share of packets there is an outage, in millionths.
    fn outages(&mut self, path: &str, stream: &StreamDoc) -> Option<u32> {
        let (share, path) = (stream.outages.as_ref()?.0, format!("{path}.outages"));
        if stream.to.is_none() {
            self.reading.fail(&path, "needs 'to', the port at which packets should arrive");
        }
        if !stream.is_measured() || stream.replay.is_some() {
            self.reading.fail(&path, NEEDS_SIGNATURE);
        }
        if share <= 0.0 {
            self.reading.fail(&path, "must be more than 0%");
        }
        let total = self.streams_in_all();
        if total > WATCHED_MAX as u64 {
            let reason = format!("{total} streams, copies included; with outages the most is {WATCHED_MAX}");
            self.reading.fail(&path, reason);
        }
        Some((share * 1e6).round() as u32)
    }

    fn stream(&mut self, path: &str, stream: &StreamDoc) -> Vec<StreamPlan> {
        let from = self.port_name(&format!("{path}.from"), &stream.from);
        let to = stream.to.as_ref().map(|to| self.port_name(&format!("{path}.to"), to));
        let also_to = self.other_ports(path, stream, to);
        let outages = self.outages(path, stream);
        self.check_egress(path, stream);
        self.check_integrity(path, stream);
        self.within_a_year(&format!("{path}.start_delay"), stream.start_delay.0);
        let leased = self.leased(path, stream, from);
        let to_clients = self.is_to_sessions(path, stream, to);
        let hosts = self.named_hosts(path, stream, (from, leased.is_some()), (to, to_clients));
        let rate = self.rate(path, stream);
        let pattern = self.pattern(path, stream);
        if let Some(time) = &stream.duration {
            let path = format!("{path}.duration");
            self.within_a_year(&path, time.0);
            if time.0 == Nanos::ZERO {
                self.reading.fail(path, "must be longer than 0");
            } else if rate == Load::Max
                && matches!(
                    pattern,
                    Pattern::Continuous
                        | Pattern::Bursts { .. }
                        | Pattern::Poisson { .. }
                        | Pattern::OnOff { .. }
                )
            {
                self.reading.fail(path, "needs a rate other than 'max'; 'load.duration' ends all streams");
            }
        }
        let plan = StreamPlan {
            name: stream.name.0.clone(),
            from: from.index(),
            to: to.map(PortName::index),
            also_to,
            outages,
            egress: Vec::new(),
            from_host: hosts.0.unwrap_or(0),
            to_host: hosts.1.unwrap_or(0),
            leased,
            to_clients,
            packet: Arc::default(),
            next_hop: NextHop::Given,
            fill_source_mac: false,
            sizes: Arc::new(Sizes::one(FrameLen::MIN)),
            vary: None,
            replay: None,
            flows: None,
            loop_addresses: None,
            capture: None,
            too_long: None,
            destinations: None,
            rate,
            pattern,
            count: stream.count,
            start_delay: stream.start_delay.0,
            duration: stream.duration.as_ref().map(|time| time.0),
            measure: stream.is_measured(),
            integrity: self.compares_payload(stream),
            mark: None,
        };
        match (&stream.replay, &stream.frame) {
            (Some(replay), _) => self.replayed(path, stream, replay, plan),
            (None, Some(frame)) => self.framed(path, stream, frame, plan),
            (None, None) => self.built(path, stream, plan, route(from, to), hosts),
        }
    }

    /// The hosts a stream's author names.
    fn named_hosts(
        &mut self,
        path: &str,
        stream: &StreamDoc,
        (from, leased): (PortName, bool),
        (to, to_clients): (Option<PortName>, bool),
    ) -> (Option<usize>, Option<usize>) {
        let mut named = |key: &str, port: Option<PortName>, name: &Option<String>| match (port, name) {
            (Some(PortName::Sound(port)), Some(name)) => self.host_name(&format!("{path}.{key}"), port, name),
            (None, Some(_)) => {
                self.reading.fail(format!("{path}.{key}"), "needs 'to'");
                None
            }
            _ => None,
        };
        // Clients are hosts only once they have their leases.
        let from_host = if leased { Some(0) } else { named("from_host", Some(from), &stream.from_host) };
        let to_host = if to_clients { Some(0) } else { named("to_host", to, &stream.to_host) };
        (from_host, to_host)
    }

    /// The clients of its port that send a stream, if they do.
    fn leased(&mut self, path: &str, stream: &StreamDoc, from: PortName) -> Option<ClientsBy> {
        let PortName::Sound(port) = from else { return None };
        let by = ClientsBy::of_key(stream.from_host.as_deref()?)?;
        if !self.ports[port].has_clients_by(by) {
            return None;
        }
        let whose = by.protocol();
        if stream.packet.is_empty() {
            let reason = format!("{whose} clients send a 'packet', no 'frame' or 'replay'");
            self.reading.fail(format!("{path}.from_host"), reason);
        }
        let has = |field: &str| stream.vary.contains_key(field) || stream.per_copy.contains_key(field);
        if let Some(field) = by.own_fields().iter().find(|field| has(field)) {
            let reason =
                format!("'{field}' is that of the {whose} clients; leave it out, or leave 'from_host' out");
            self.reading.fail(format!("{path}.from_host"), reason);
        }
        Some(by)
    }

    /// Leaves the source of a packet that clients send to their leases.
    fn leave_source(&mut self, path: &str, draft: &mut Draft, from: usize, by: ClientsBy) {
        let port = &self.ports[from];
        let [has_v4, has_v6] = [false, true].map(|is_v6| port.clients_with_addresses(by, is_v6).is_some());
        let (name, whose) = (port.name.clone(), by.protocol());
        let ip = draft.ip_header().map(|(index, header)| (index, header.protocol.name));
        let index = match ip {
            Some((index, "ipv4")) if has_v4 => index,
            Some((index, "ipv6")) if has_v6 => index,
            _ => {
                let header = if has_v4 && has_v6 {
                    "an ipv4 or ipv6"
                } else if has_v6 {
                    "an ipv6"
                } else {
                    "an ipv4"
                };
                let reason =
                    format!("the {whose} clients of port '{name}' have addresses for {header} header only");
                self.reading.fail(path, reason);
                return;
            }
        };
        let header = &mut draft.spec.headers[index];
        if header.value("src").is_some() {
            let (header, key) = (header.protocol.name, by.key());
            let reason = format!("{header}.src is set; with 'from_host: {key}' it is the clients'");
            self.reading.fail(path, reason);
        }
        if let Some(field) = header.protocol.field("src") {
            header.put(field, 0);
        }
    }

    /// A stream of packets built from headers, once for each copy.
    fn built(
        &mut self,
        path: &str,
        stream: &StreamDoc,
        plan: StreamPlan,
        route: Option<Route>,
        (from_host, to_host): (Option<usize>, Option<usize>),
    ) -> Vec<StreamPlan> {
        let packet_path = format!("{path}.packet");
        if self.reading.is_broken(&packet_path) || self.reading.is_broken(&format!("{path}.frame")) {
            return Vec::new();
        }
        if stream.packet.is_empty() {
            self.reading.fail(
                path,
                "nothing to send: set 'packet', a list of headers such as [ipv4, udp], or 'frame' or 'replay'",
            );
            return Vec::new();
        }
        let mut bare = self.draft(&packet_path, &stream.packet);
        if plan.leased == Some(ClientsBy::Session) {
            self.put_in_sessions(&packet_path, &mut bare);
        }
        let own = route.and_then(|route| self.own_vlans(plan.leased?, route.from, &bare));
        let draft = match own {
            Some(vlans) => {
                let mut draft = tagged_by(&bare, &vlans);
                // They are no host's.
                draft.tags = None;
                Some(draft)
            }
            None => self.sent_by(path, stream, &bare, route, from_host),
        };
        let Some(draft) = draft else { return Vec::new() };
        let vary_path = format!("{path}.vary");
        let fields = Fields::of(&draft.spec.headers);
        let varying = self.vary(&vary_path, &stream.vary, stream.flows.as_ref(), stream.lcg_seed, &fields);
        if let (Some(_), true) = (&stream.flows, stream.vary.is_empty()) {
            self.reading.fail(format!("{path}.flows"), "needs 'vary': flows differ in its fields");
        }
        let (vary, names) = match varying {
            Some(Varying { vary, names }) => (Some(Arc::new(vary)), names),
            None => (None, Names::default()),
        };
        let mut plans: Vec<StreamPlan> = Vec::new();
        for (name, mut draft) in self.differing_copies(path, stream, draft, u32::MAX) {
            let said = self.reading.errors.len();
            let mut plan = StreamPlan { name, vary: vary.clone(), ..plan.clone() };
            if let Some(route) = route {
                let from_host = match from_host {
                    Some(named) => named,
                    None => self.varied_sender(&packet_path, &draft, vary.as_deref(), route.from),
                };
                self.retag(&format!("{path}.per_copy"), &mut draft, route.from, from_host);
                let next_hop = stream.next_hop.as_ref().map(|hop| hop.0);
                let route = Route { from_host, to_host, next_hop, ..route };
                if plan.to_clients {
                    self.leave_destination(&packet_path, &mut draft);
                }
                if let Some(by) = plan.leased {
                    self.leave_source(&packet_path, &mut draft, route.from, by);
                }
                plan.next_hop = if plan.leased.is_some() || plan.to_clients {
                    self.address_from_clients(&packet_path, &mut draft, route)
                } else {
                    self.address(&packet_path, &mut draft, route)
                };
                if next_hop.is_some() && plan.next_hop == NextHop::Given && self.reading.errors.len() == said
                {
                    let reason = "the destination MAC address is the packet's, a group's, or clients' own: leave next_hop out";
                    self.reading.fail(format!("{path}.next_hop"), reason);
                }
                let dst = draft.ip_header().and_then(|(_, header)| super::packet::ip_value(header, "dst"));
                let found = route.to.zip(dst).map(|(to, dst)| self.receiver(to, dst));
                (plan.from_host, plan.to_host) = (from_host, to_host.or(found).unwrap_or(0));
                let sources = varied_sources(&draft, vary.as_deref());
                let is_filled = draft.spec.headers[0].value("src").is_none();
                if let Some(sources) = sources.filter(|_| plans.is_empty() && is_filled) {
                    self.warn_of_sources(&plan.name, route.from, from_host, sources);
                }
            }
            // Copies differ in values only, so the first tells about all.
            plan.sizes = match plans.first() {
                None => Arc::new(self.sizes(path, stream, &draft)),
                Some(first) => first.sizes.clone(),
            };
            let ethernet = draft.spec.headers.first();
            plan.fill_source_mac = ethernet.is_some_and(|ethernet| ethernet.value("src").is_none());
            plan.destinations = destinations(&draft, vary.as_deref());
            draft.spec.padded_to = draft.padded_to().filter(|_| !plan.measure);
            plan.egress = match plans.first() {
                None => self.egress(path, stream, &draft.spec),
                Some(first) => first.egress.clone(),
            };
            plan.packet = Arc::new(std::mem::take(&mut draft.spec));
            if plans.is_empty() {
                self.check_program(&vary_path, &names, &plan);
                self.check_payload(path, &draft, &plan);
            }
            plans.push(plan);
            if self.reading.errors.len() > said {
                break;
            }
        }
        equal_copies(stream, plans)
    }

    /// The VLANs of the first of the clients behind a port that send a packet, if each has its own.
    fn own_vlans(&self, by: ClientsBy, from: usize, bare: &Draft) -> Option<Vlans> {
        let port = self.ports.get(from)?;
        let is_v6 = by == ClientsBy::Lease && bare.has("ipv6");
        let vlans = &port.client_pool(by, is_v6)?.vlans;
        vlans.differ().then(|| vlans.of(0).into_owned())
    }

    /// The packet with the VLAN tags of the host that sends it; of copies, of the host that sends the first.
    fn sent_by(
        &mut self,
        path: &str,
        stream: &StreamDoc,
        bare: &Draft,
        route: Option<Route>,
        named: Option<usize>,
    ) -> Option<Draft> {
        let Some(Route { from, .. }) = route else { return Some(self.tagged(bare, 0, 0)) };
        let packet_path = format!("{path}.packet");
        if let Some(host) = named {
            return Some(self.tagged(bare, from, host));
        }
        if self.ports[from].hosts.len() == 1 {
            return Some(self.tagged(bare, from, 0));
        }
        let said = self.reading.errors.len();
        let usual = self.sender(&packet_path, bare, from);
        let draft = self.tagged(bare, from, usual);
        let first = match stream.per_copy.is_empty() {
            true => draft.clone(),
            false => self.differing_copies(path, stream, draft.clone(), 1).pop()?.1,
        };
        let vary = match stream.vary.keys().any(|field| field.ends_with(".src")) {
            true => {
                let fields = Fields::of(&first.spec.headers);
                self.vary(&format!("{path}.vary"), &stream.vary, None, stream.lcg_seed, &fields)
            }
            false => None,
        };
        if self.reading.errors.len() > said {
            return None;
        }
        let sender =
            self.varied_sender(&packet_path, &first, vary.as_ref().map(|varying| &varying.vary), from);
        Some(if sender == usual { draft } else { self.tagged(bare, from, sender) })
    }

    /// The host that sends a packet, whose source may vary: then it is the lowest source's.
    fn varied_sender(&mut self, path: &str, draft: &Draft, vary: Option<&Vary>, from: usize) -> usize {
        match varied_sources(draft, vary).filter(|_| self.ports[from].hosts.len() > 1) {
            Some((low, _)) => self.sender(path, &from_source(draft, low), from),
            None => self.sender(path, draft, from),
        }
    }

    /// Name and packet of each copy that differs from the others, at most `most`, or of the one there is.
    fn differing_copies(
        &mut self,
        path: &str,
        stream: &StreamDoc,
        draft: Draft,
        most: u32,
    ) -> Vec<(String, Draft)> {
        let name = &stream.name.0;
        if stream.per_copy.is_empty() {
            return vec![(name.clone(), draft)];
        }
        let path = format!("{path}.per_copy");
        let Some(copies) = stream.copies else {
            self.reading.fail(path, "needs 'copies'");
            return Vec::new();
        };
        for name in stream.per_copy.keys().filter(|name| stream.vary.contains_key(*name)) {
            self.reading
                .fail(format!("{path}.{name}"), "'vary' has it already: it changes from packet to packet");
        }
        if copies > DIFFERING_MAX {
            self.reading.fail(path, format!("{copies} copies that differ; the most is {DIFFERING_MAX}"));
            return Vec::new();
        }
        let fields = Fields::of(&draft.spec.headers);
        let Some(Varying { vary, names }) = self.vary(&path, &stream.per_copy, None, None, &fields) else {
            return Vec::new();
        };
        let Some(program) = self.bound(&path, &vary, &names, (&draft.spec, FrameLen::MIN), None) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for index in 0..copies.min(most) {
            let mut draft = draft.clone();
            if !self.set_values(&path, &mut draft, &vary, &program.values(index.into())) {
                break;
            }
            all.push((copy_name(name, index), draft));
        }
        all
    }

    /// Sets the values of the variables for good.
    fn set_values(&mut self, path: &str, draft: &mut Draft, vary: &Vary, values: &[u128]) -> bool {
        for write in &vary.writes {
            let Target::Field { header, field } = write.target else {
                self.reading.fail(path, "copies differ in fields by name, not in raw bits");
                return false;
            };
            if draft.tags.is_some_and(|tags| (1..=tags).contains(&header)) {
                // The copies' tags are their author's.
                draft.tags = None;
            }
            let header = &mut draft.spec.headers[header];
            let kept = header.value(field.name).unwrap_or(field.default) & !write.mask;
            header.put(field, kept | values[write.variable] & write.mask);
        }
        true
    }

    /// Binds the field program to the packet once, to learn whether it can be.
    pub(super) fn check_program(&mut self, path: &str, names: &Names, plan: &StreamPlan) {
        let Some(vary) = &plan.vary else { return };
        let signature = plan.measure.then(|| Mark::of_run(1).lane(0, 0));
        self.bound(path, vary, names, (&plan.packet, plan.sizes.shortest()), signature);
    }

    /// The field program of `vary` on a frame of a packet, of the length given or longer if it must be.
    fn bound(
        &mut self,
        path: &str,
        vary: &Vary,
        names: &Names,
        (spec, length): (&PacketSpec, FrameLen),
        signature: Option<LaneMark>,
    ) -> Option<Program> {
        let extra = if signature.is_some() { signature::LEN } else { 0 };
        // A packet that can't be built is an error of its own.
        let mut packet = spec.build(length.max(spec.shortest(extra))).ok()?;
        let program = Program::new(vary, &mut packet, signature);
        let of = |names: &[String], index: usize| {
            names.get(index).map_or_else(String::new, |name| format!("'{name}'"))
        };
        let (write, variable) = (|index| of(&names.writes, index), |index| of(&names.variables, index));
        program.map_err(|error| self.reading.fail(path, error.explain(&write, &variable))).ok()
    }

    pub(super) fn port_name(&mut self, path: &str, name: &str) -> PortName {
        if let Some(index) = self.ports.iter().position(|port| port.name == name) {
            let broken = self.reading.is_broken(&format!("ports.{name}"));
            return if broken { PortName::Broken(index) } else { PortName::Sound(index) };
        }
        if !self.reading.is_dropped(&format!("ports.{name}")) {
            let known: Vec<&str> = self.ports.iter().map(|port| port.name.as_str()).collect();
            self.reading.fail(path, spelling::unknown("port", name, &known));
        }
        PortName::Missing
    }
}

fn route(from: PortName, to: Option<PortName>) -> Option<Route> {
    let sound = |port| match port {
        PortName::Sound(index) => Some(index),
        _ => None,
    };
    let to = match to {
        Some(to) => Some(sound(to)?),
        None => None,
    };
    Some(Route { from: sound(from)?, from_host: 0, to, to_host: None, next_hop: None })
}

/// The addresses that vary as the outermost source, lowest and highest, if they do.
fn varied_sources(draft: &Draft, vary: Option<&Vary>) -> Option<(IpAddr, IpAddr)> {
    let (index, header) = draft.ip_header()?;
    super::vary::addresses(vary?, index, header, "src")
}

/// `draft` with another source.
fn from_source(draft: &Draft, source: IpAddr) -> Draft {
    let mut draft = draft.clone();
    if let Some((index, header)) = draft.ip_header()
        && let Some(field) = header.protocol.field("src")
    {
        draft.spec.headers[index].put(field, super::packet::bits(source));
    }
    draft
}

/// Name of the copy `index` of the stream `name`.
pub(super) fn copy_name(name: &str, index: u32) -> String {
    format!("{name}[{index}]")
}

/// The copies of a stream whose copies do not differ; they share one packet.
pub(super) fn equal_copies(stream: &StreamDoc, mut plans: Vec<StreamPlan>) -> Vec<StreamPlan> {
    match (stream.copies, plans.pop()) {
        (Some(copies), Some(plan)) if stream.per_copy.is_empty() => {
            (0..copies).map(|i| StreamPlan { name: copy_name(&plan.name, i), ..plan.clone() }).collect()
        }
        (_, last) => {
            plans.extend(last);
            plans
        }
    }
}

/// The destination addresses of the outermost IP header, lowest and highest.
fn destinations(draft: &Draft, vary: Option<&Vary>) -> Option<(IpAddr, IpAddr)> {
    let (index, header) = draft.ip_header()?;
    let varied = vary.and_then(|vary| super::vary::addresses(vary, index, header, "dst"));
    varied.or_else(|| super::packet::ip_value(header, "dst").map(|ip| (ip, ip)))
}
