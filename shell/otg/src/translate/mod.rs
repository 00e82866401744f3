//! Translates a configuration to a profile, with the names for its metrics.
//!
//! Not here: transport of documents, running the profile.

mod capture;
mod flow;
mod ports;
pub(crate) mod ranges;
mod timing;

use crate::check::check;
use crate::error::{ErrorKind, Errors};
use crate::model::message;
use crate::node::{Log, Node};
use crate::protocols::{self, ClientPlan, Igp, LagPlan, LinkAgentPlan, PeerPlan, RouterPlan};
pub(crate) use ports::{Ports, Side, vlan_type, vlans};
use profile::document::{self, Document, LoadDoc, Share, StreamDoc};
use profile::plan::WATCHED_MAX;
use profile::{Overrides, Plan};
pub(crate) use ranges::Span;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use units::Nanos;

/// Duration of the profile, the maximum: clients stop flows themselves.
const LONGEST: Nanos = Nanos::from_secs(31_536_000);

/// The name that a stream had when its flow was sent first.
fn first_name(stream: &str) -> &str {
    stream.match_indices('-').nth(1).map_or(stream, |(end, _)| &stream[..end])
}

/// A translated configuration.
#[derive(Debug, Clone)]
pub struct Translation {
    /// The profile.
    pub profile: Document,
    /// The ports, in the configuration's order; shared by all translations of one configuration.
    pub ports: Arc<[PortPlan]>,
    /// The lags, in the configuration's order.
    pub lags: Vec<LagPlan>,
    /// The flows, in the configuration's order.
    pub flows: Vec<FlowPlan>,
    /// Which events are noted.
    pub events: EventsPlan,
    /// Warnings for the client.
    pub warnings: Vec<String>,
    /// Number of times that flows were sent anew.
    repeats: u32,
}

/// Which events are noted, for `convergence` metrics.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct EventsPlan {
    /// Whether control-plane events are recorded.
    pub control: bool,
    /// The share of a flow's frames, in percent, below which it is interrupted; `None` if flows are not watched.
    pub threshold: Option<f64>,
}

/// A port.
#[derive(Debug, Clone, PartialEq)]
pub struct PortPlan {
    /// Name in the model.
    pub name: String,
    /// Name in the profile and its results.
    pub key: String,
    /// Where it is, in the configuration's words.
    pub location: String,
    /// The device there.
    pub device: String,
    /// Layer-1 speed in the configuration, bit/s.
    pub speed_bps: Option<u64>,
    /// Its capture.
    pub capture: Option<CapturePlan>,
    /// The hosts on it, in the configuration's order.
    pub interfaces: Vec<Interface>,
    /// The peers of those, in the profile's order.
    pub peers: Vec<PeerPlan>,
    /// The routers of those, of any protocol, each protocol's in the profile's order.
    pub routers: Vec<RouterPlan>,
    /// The clients on it, in the order of their numbers.
    pub clients: Vec<ClientPlan>,
    /// The agent that advertises it to its neighbours.
    pub agent: Option<LinkAgentPlan>,
}

/// Routes of a peer or a router.
#[derive(Debug, Clone, PartialEq)]
pub struct RoutesPlan {
    /// Their name in the model.
    pub name: String,
    /// Their name in the profile.
    pub key: String,
}

/// An Ethernet interface of a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Interface {
    /// Its name.
    pub ethernet: String,
    /// Its host's name in the profile and results.
    pub host: String,
    /// Its path in the configuration.
    pub path: String,
    /// Names of its IP addresses, and the addresses.
    pub addresses: Vec<(String, String)>,
    /// Its gateways' addresses.
    pub gateways: Vec<String>,
}

/// A capture on a port.
#[derive(Debug, Clone, PartialEq)]
pub struct CapturePlan {
    /// Its name.
    pub name: String,
    /// Whether to return pcapng instead of pcap.
    pub pcapng: bool,
    /// Maximum bytes of each packet.
    pub snap: Option<usize>,
}

/// A flow.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowPlan {
    /// Its name.
    pub name: String,
    /// Name of the port it is sent from.
    pub tx_port: String,
    /// Names of the ports at which its frames count as received; the first is where they are expected.
    pub rx_ports: Vec<String>,
    /// Whether metrics are enabled.
    pub enabled: bool,
    /// Whether loss is reported.
    pub loss: bool,
    /// Whether latency is reported.
    pub latency: bool,
    /// Whether latency is that of bit forwarding devices (RFC 1242 section 3.8): without the time a frame takes on the link.
    pub cut_through: bool,
    /// Bytes of each frame with FCS, if all have one length.
    pub frame_bytes: Option<u32>,
    /// Whether times of the first and last packet are reported.
    pub timestamps: bool,
    /// Number of packets, if limited.
    pub packets: Option<u64>,
    /// For how long it is sent, its delay included, s, if limited by time.
    pub ends_at_s: Option<f64>,
    /// Tagged bits of its frames as they arrive, in the order in which results have their values.
    pub egress: Vec<EgressTag>,
    /// Its streams in the profile.
    pub streams: Vec<StreamPlan>,
}

impl FlowPlan {
    /// Whether it ends by itself.
    pub fn has_end(&self) -> bool {
        self.packets.is_some() || self.ends_at_s.is_some()
    }
}

/// A tag of `egress_packet`.
#[derive(Debug, Clone, PartialEq)]
pub struct EgressTag {
    /// Its name.
    pub name: String,
    /// Number of its bits.
    pub width: usize,
}

/// A stream of a flow.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamPlan {
    /// Name in the profile and its results.
    pub name: String,
    /// Values of the flow's tags in its packets, hexadecimal.
    pub tags: Vec<(String, String)>,
    /// Ranges of routes that its packets take, if there are several paths: names in the profile of the range, and of the port behind which
    /// it is.
    pub paths: Vec<(String, String)>,
}

/// Translates a configuration whose locations are devices, or returns all errors.
pub fn translate(config: &Value) -> Result<Translation, Errors> {
    translate_at(config, &str::to_owned).map(|(translation, _)| translation)
}

/// Translates a configuration, with the plan of its profile if there is anything to run; `device` returns the device at a location.
/// Returns all errors: first parts that are not supported, then errors in the others, which may refer to the former.
pub fn translate_at(
    config: &Value,
    device: &dyn Fn(&str) -> String,
) -> Result<(Translation, Option<Plan>), Errors> {
    let validation = |errors| Errors { kind: ErrorKind::Validation, errors };
    let config_message = message("Config");
    let errors = check(config, config_message);
    if !errors.is_empty() {
        return Err(validation(errors));
    }
    let log = Log::default();
    let closed = log.closed(config, config_message);
    let root = Node::root(config, config_message, &log);
    options(&root);
    let ports = Ports::read(&root, device);
    let (mut streams, mut flows) = (Vec::new(), Vec::new());
    for (index, node) in root.items("flows").iter().enumerate() {
        match flow::flow(node, index, &ports, &mut streams) {
            Some(plan) if flows.iter().any(|flow: &FlowPlan| flow.name == plan.name) => {
                node.fail_at("name", format!("duplicate flow '{}'", plan.name));
            }
            plan => flows.extend(plan),
        }
    }
    let events = events(&root, &mut streams);
    if log.has_no_more_than(closed) {
        log.unread(config, config_message);
    }
    let load = LoadDoc { duration: document::Duration(LONGEST), ..LoadDoc::default() };
    let profile = Document { ports: ports.document().collect(), streams, load, ..Document::default() };
    let (errors, warnings) = log.end();
    if !errors.is_empty() {
        return Err(validation(errors));
    }
    let (lags, ports) = ports.plans();
    let ports = ports.into();
    let translation = Translation { profile, ports, lags, flows, events, warnings, repeats: 0 };
    let plan = if translation.is_idle() { None } else { Some(translation.plan()?) };
    Ok((translation, plan))
}

/// Reads options that have no effect here.
fn options(config: &Node<'_>) {
    // Ports are leased: a busy port refuses the configuration.
    config.at("options.port_options").flag("location_preemption");
}

/// Reads which events are noted, and lets streams be watched.
fn events(config: &Node<'_>, streams: &mut [StreamDoc]) -> EventsPlan {
    let node = config.child("events");
    let (control, data) = (node.child("cp_events").flag("enable"), node.child("dp_events"));
    let threshold = data.real("rx_rate_threshold");
    if !data.flag("enable") {
        return EventsPlan { control, threshold: None };
    }
    if threshold <= 0.0 {
        data.fail_at("rx_rate_threshold", "must be more than 0");
    }
    if streams.len() > WATCHED_MAX {
        data.fail(format!("flows make {} streams: at most {WATCHED_MAX} are watched", streams.len()));
    }
    for stream in streams.iter_mut().filter(|stream| stream.to.is_some() && stream.is_measured()) {
        stream.outages = Some(Share(threshold / 100.0));
    }
    EventsPlan { control, threshold: Some(threshold) }
}

impl Translation {
    /// Whether there are protocols.
    pub fn has_protocols(&self) -> bool {
        protocols::any(self)
    }

    /// All peers, with the place of their ports.
    pub fn peers(&self) -> impl Iterator<Item = (usize, &PeerPlan)> {
        self.ports
            .iter()
            .enumerate()
            .flat_map(|(index, port)| port.peers.iter().map(move |peer| (index, peer)))
    }

    /// Whether there are routers.
    pub fn has_routers(&self) -> bool {
        self.ports.iter().any(|port| !port.routers.is_empty())
    }

    /// All routers of a protocol, with their ports.
    pub fn routers(&self, igp: Igp) -> impl Iterator<Item = (&PortPlan, &RouterPlan)> {
        let all = self.ports.iter().flat_map(|port| port.routers.iter().map(move |router| (port, router)));
        all.filter(move |(_, router)| router.igp == igp)
    }

    /// All clients that get IPv4 or IPv6 addresses, with their ports and their numbers there.
    pub fn clients(&self, is_v6: bool) -> impl Iterator<Item = (&PortPlan, usize, &ClientPlan)> {
        let all = self.ports.iter().flat_map(|port| {
            port.clients.iter().enumerate().map(move |(number, client)| (port, number, client))
        });
        all.filter(move |(_, _, client)| client.is_v6 == is_v6)
    }

    /// All agents of ports, with these.
    pub fn agents(&self) -> impl Iterator<Item = (&PortPlan, &LinkAgentPlan)> {
        self.ports.iter().filter_map(|port| Some((port, port.agent.as_ref()?)))
    }

    /// Bits per second of the links where a flow is received, if all are the same; `link` returns the ones missing in
    /// the configuration.
    pub fn rx_speed(&self, flow: &FlowPlan, link: &dyn Fn(usize) -> Option<u64>) -> Option<u64> {
        let ports = self.ports.iter().enumerate().filter(|(_, port)| flow.rx_ports.contains(&port.name));
        let mut speeds = ports.map(|(index, port)| port.speed_bps.or_else(|| link(index)));
        let first = speeds.next()??;
        speeds.all(|speed| speed == Some(first)).then_some(first)
    }

    /// Warnings of flows whose latency can't be computed without the time of a frame on the link; `link` returns speeds
    /// of ports, bit/s.
    pub fn cut_through_warnings(&self, link: &dyn Fn(usize) -> Option<u64>) -> Vec<String> {
        let flows = self.flows.iter().enumerate();
        let unknown = flows.filter(|(_, flow)| flow.cut_through && self.rx_speed(flow, link).is_none());
        let warning = |(index, flow): (usize, &FlowPlan)| {
            let whose = match &flow.rx_ports[..] {
                [] => "it has no receiving port".to_owned(),
                [one] => format!("the speed of port '{one}' is not known: set it in 'layer1'"),
                _ => "its receiving ports have no common speed: set it in 'layer1'".to_owned(),
            };
            format!(
                "flows[{index}].metrics.latency.mode: the time of a frame on the link is not taken off: {whose}"
            )
        };
        unknown.map(warning).collect()
    }

    /// All ranges of routes.
    pub fn routes(&self) -> impl Iterator<Item = &RoutesPlan> {
        let of_peers = self.peers().flat_map(|(_, peer)| &peer.routes);
        let routers = self.ports.iter().flat_map(|port| &port.routers);
        of_peers.chain(routers.flat_map(|router| &router.routes))
    }

    /// The plan of the profile. Also finds errors that only the profile's validation knows, such as addresses outside a
    /// port's networks.
    pub fn plan(&self) -> Result<Plan, Errors> {
        let overrides = Overrides { default_seed: 1, ..Overrides::default() };
        let files = |name: &str| Err(format!("cannot read file '{name}': files are not supported"));
        profile::resolve_document(&self.profile, &overrides, &files).map_err(|errors| Errors {
            kind: ErrorKind::Validation,
            errors: errors.iter().map(|error| self.translated(&error.path, &error.reason)).collect(),
        })
    }

    /// Whether there is nothing to run.
    fn is_idle(&self) -> bool {
        let is_silent = self.flows.is_empty() && !self.has_protocols();
        self.ports.is_empty() || is_silent && self.ports.iter().all(|port| port.capture.is_none())
    }

    /// Whether a flow's streams may join an active run.
    pub fn may_join(&self, flow: usize) -> bool {
        let is_its =
            |stream: &&StreamDoc| self.flows[flow].streams.iter().any(|own| own.name == stream.name.0);
        let stays = |stream: &StreamDoc| {
            stream.outages.is_some() || stream.egress.is_some() || stream.also_to.is_some()
        };
        !self.profile.streams.iter().filter(is_its).any(stays)
    }

    /// The configuration with other streams for these flows, and the profile of those streams: they join an active run,
    /// in which names are used once.
    pub fn anew(&self, flows: &[usize]) -> (Self, Document) {
        let mut next = Self { repeats: self.repeats + 1, ..self.clone() };
        let mut names = BTreeMap::new();
        for stream in flows.iter().flat_map(|flow| &self.flows[*flow].streams) {
            let name = format!("{}-{}", first_name(&stream.name), next.repeats + 1);
            names.insert(stream.name.clone(), name);
        }
        let streams = next.flows.iter_mut().flat_map(|flow| &mut flow.streams).map(|stream| &mut stream.name);
        let documents = next.profile.streams.iter_mut().map(|stream| &mut stream.name.0);
        for name in streams.chain(documents) {
            if let Some(new) = names.get(name) {
                name.clone_from(new);
            }
        }
        let mut added = next.profile.clone();
        let is_new: BTreeSet<&String> = names.values().collect();
        added.streams.retain(|stream| is_new.contains(&stream.name.0));
        (next, added)
    }

    /// An error of the profile at its path in the configuration.
    fn translated(&self, path: &str, reason: &str) -> String {
        let number = |prefix: &str| -> Option<usize> {
            path.strip_prefix(prefix)?.split([']', '.', ':']).next()?.parse().ok()
        };
        if let Some(port) = number("ports.port") {
            let host = path.split_once(".hosts[").and_then(|(_, rest)| rest.split(']').next()?.parse().ok());
            let found = |host: usize| self.ports.get(port)?.interfaces.get(host);
            let reason = self.named_at(reason, Some(port));
            if let Some(path) = protocols::path(self, port, path) {
                return format!("{path}: {reason}");
            }
            if let Some(interface) = host.and_then(found) {
                return format!("{}: {reason}", interface.path);
            }
            return format!("ports[{port}]: {reason}");
        }
        let Some(stream) = number("streams[") else {
            return crate::check::sentence(path, &self.named(reason));
        };
        let mut before = 0;
        for (index, flow) in self.flows.iter().enumerate() {
            before += flow.streams.len();
            if stream < before {
                let part = ["packet", "vary", "size", "rate"]
                    .into_iter()
                    .find(|part| path.contains(&format!("].{part}")));
                let part = part.map(|part| format!(".{}", if part == "vary" { "packet" } else { part }));
                let port = self.ports.iter().position(|port| port.name == flow.tx_port);
                let reason = self.named_at(reason, port);
                return format!("flows[{index}]{}: {reason}", part.unwrap_or_default());
            }
        }
        crate::check::sentence(path, &self.named(reason))
    }

    /// A text about the profile, with the configuration's names in place of the profile's.
    pub fn named(&self, text: &str) -> String {
        self.named_at(text, None)
    }

    /// The same of a text about one port, whose hosts have their names too.
    fn named_at(&self, text: &str, port: Option<usize>) -> String {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let mut named = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(is_word) {
            let end = rest[start..].find(|c| !is_word(c)).map_or(rest.len(), |end| start + end);
            let word = &rest[start..end];
            named.push_str(&rest[..start]);
            named.push_str(self.name_of(word, port).unwrap_or(word));
            rest = &rest[end..];
        }
        named + rest
    }

    /// Name in the configuration of a name in the profile.
    fn name_of(&self, word: &str, port: Option<usize>) -> Option<&str> {
        if let Some(port) = self.ports.iter().find(|port| port.key == word) {
            return Some(&port.name);
        }
        let hosts = port.and_then(|port| self.ports.get(port)).map_or(&[][..], |port| &port.interfaces);
        if let Some(interface) = hosts.iter().find(|interface| interface.host == word) {
            return Some(&interface.ethernet);
        }
        let is_its =
            |flow: &&FlowPlan| flow.streams.iter().any(|stream| first_name(&stream.name) == first_name(word));
        word.starts_with("flow").then(|| self.flows.iter().find(is_its).map(|flow| flow.name.as_str()))?
    }
}

#[cfg(test)]
mod tests;
