//! From a configuration of the model to a profile, and the names by which what comes of it is told.
//!
//! Not here: where documents come from, and what runs the profile.

mod capture;
mod flow;
mod ports;
mod timing;

use crate::check::check;
use crate::error::{Errors, Kind};
use crate::model::message;
use crate::node::{Log, Node};
use ports::Ports;
use profile::{Overrides, Plan};
use serde_json::{Value, json};

/// How long traffic is sent at most: flows of the model are ended by their author, runs by the longest a profile allows.
const LONGEST: &str = "31536000s";

/// A configuration as we run it.
#[derive(Debug, Clone)]
pub struct Translation {
    /// The profile, in the form of a JSON document.
    pub profile: Value,
    /// The ports, in the configuration's order.
    pub ports: Vec<PortPlan>,
    /// The flows, in the configuration's order.
    pub flows: Vec<FlowPlan>,
    /// What its author should know.
    pub warnings: Vec<String>,
}

/// A port.
#[derive(Debug, Clone, PartialEq)]
pub struct PortPlan {
    /// Name in the model.
    pub name: String,
    /// Name in the profile and its results.
    pub key: String,
    /// The device.
    pub location: String,
    /// Layer-1 speed as the configuration says, bit/s.
    pub speed_bps: Option<u64>,
    /// What is captured.
    pub capture: Option<CapturePlan>,
    /// The hosts on it, in the configuration's order.
    pub interfaces: Vec<Interface>,
}

/// An Ethernet interface of a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Interface {
    /// Its name.
    pub ethernet: String,
    /// Name of the host that it is in the profile and its results.
    pub host: String,
    /// Where in the configuration it is.
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
    /// Whether it is told as pcapng, instead of pcap.
    pub pcapng: bool,
    /// At most so many bytes of each packet.
    pub snap: Option<usize>,
}

/// A flow.
#[derive(Debug, Clone, PartialEq)]
pub struct FlowPlan {
    /// Its name.
    pub name: String,
    /// Name of the port it is sent from.
    pub tx_port: String,
    /// Name of the port it is received at, if one is.
    pub rx_port: Option<String>,
    /// Whether metrics of it are told.
    pub enabled: bool,
    /// Whether its loss is.
    pub loss: bool,
    /// Whether its latency is.
    pub latency: bool,
    /// Whether the times of its first and last packets are.
    pub timestamps: bool,
    /// Packets after which it has ended, if there is such a number.
    pub packets: Option<u64>,
    /// When it has ended otherwise, s since the start of traffic.
    pub ends_at_s: Option<f64>,
    /// Bytes of each frame with FCS, if all are of one length.
    pub frame_bytes: Option<u32>,
    /// The streams of the profile it is.
    pub streams: Vec<StreamPlan>,
}

/// A stream of a flow.
#[derive(Debug, Clone, PartialEq)]
pub struct StreamPlan {
    /// Name in the profile and its results.
    pub name: String,
    /// Values of the flow's tags in its packets, hexadecimal.
    pub tags: Vec<(String, String)>,
}

/// Translates a configuration, or says all that is wrong with it or not supported.
pub fn translate(config: &Value) -> Result<Translation, Errors> {
    let validation = |errors| Errors { kind: Kind::Validation, errors };
    let config_message = message("Config");
    let errors = check(config, config_message);
    if !errors.is_empty() {
        return Err(validation(errors));
    }
    let log = Log::default();
    let root = Node::root(config, config_message, &log);
    options(&root);
    let ports = Ports::read(&root);
    let (mut streams, mut flows) = (Vec::new(), Vec::new());
    for (index, node) in root.items("flows").iter().enumerate() {
        match flow::flow(node, index, &ports, &mut streams) {
            Some(plan) if flows.iter().any(|flow: &FlowPlan| flow.name == plan.name) => {
                node.fail_at("name", format!("there is another flow '{}'", plan.name));
            }
            plan => flows.extend(plan),
        }
    }
    if log.is_clean() {
        log.unread(config, config_message);
    }
    let profile = json!({"ports": ports.document(), "streams": streams, "load": {"duration": LONGEST}});
    let (errors, warnings) = log.end();
    if !errors.is_empty() {
        return Err(validation(errors));
    }
    let translation = Translation { profile, ports: ports.plans(), flows, warnings };
    translation.check()?;
    Ok(translation)
}

/// Options that change nothing here.
fn options(config: &Node<'_>) {
    // Ports are leased: they are free, or the configuration is refused.
    config.at("options.port_options").flag("location_preemption");
}

impl Translation {
    /// The Plan of the profile. Reading it as a user's profile is read finds what only that knows, such as addresses that
    /// are on no port's network.
    pub fn plan(&self) -> Result<Plan, Errors> {
        let overrides = Overrides { default_seed: 1, ..Overrides::default() };
        let files = |name: &str| Err(format!("the file '{name}' can't be read here"));
        let text = self.profile.to_string();
        profile::load_with(&text, &overrides, &files).map_err(|errors| Errors {
            kind: Kind::Validation,
            errors: errors.iter().map(|error| self.translated(&error.path, &error.reason)).collect(),
        })
    }

    fn check(&self) -> Result<(), Errors> {
        let idle = self.flows.is_empty() && self.ports.iter().all(|port| port.capture.is_none());
        if self.ports.is_empty() || idle { Ok(()) } else { self.plan().map(|_| ()) }
    }

    /// An error of the profile at the place in the configuration it comes from.
    fn translated(&self, path: &str, reason: &str) -> String {
        let number = |prefix: &str| -> Option<usize> {
            path.strip_prefix(prefix)?.split([']', '.', ':']).next()?.parse().ok()
        };
        if let Some(port) = number("ports.port") {
            let host = path.split_once(".hosts[").and_then(|(_, rest)| rest.split(']').next()?.parse().ok());
            let found = |host: usize| self.ports.get(port)?.interfaces.get(host);
            if let Some(interface) = host.and_then(found) {
                return format!("{}: {reason}", interface.path);
            }
            return format!("ports[{port}]: {reason}");
        }
        let Some(stream) = number("streams[") else { return crate::check::sentence(path, reason) };
        let mut before = 0;
        for (index, flow) in self.flows.iter().enumerate() {
            before += flow.streams.len();
            if stream < before {
                let part = ["packet", "vary", "size", "rate"]
                    .into_iter()
                    .find(|part| path.contains(&format!("].{part}")));
                let part = part.map(|part| format!(".{}", if part == "vary" { "packet" } else { part }));
                return format!("flows[{index}]{}: {reason}", part.unwrap_or_default());
            }
        }
        crate::check::sentence(path, reason)
    }
}

#[cfg(test)]
mod tests;
