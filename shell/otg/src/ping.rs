//! Pings: reads an action's pings and writes its response.

use crate::node::Node;
use crate::translate::Translation;
use serde_json::{Value, json};

/// Pings of one action, all with the same IP version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pings {
    /// `ipv4` or `ipv6`.
    family: String,
    /// In the request's order.
    pub requests: Vec<PingRequest>,
}

/// A ping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PingRequest {
    /// Name of the source address.
    pub src_name: String,
    /// Its port in the profile.
    pub port: String,
    /// Its host in the profile.
    pub host: String,
    /// The source address.
    pub from: String,
    /// The destination address.
    pub to: String,
}

/// Reads the pings of a protocol's action.
pub(crate) fn pings(protocol: &Node<'_>, translation: &Translation) -> Pings {
    let family = protocol.choice();
    let chosen = protocol.child(family);
    chosen.choice();
    let requests = chosen.child("ping").items("requests");
    if requests.is_empty() {
        chosen.child("ping").fail_at("requests", "must not be empty");
    }
    let requests = requests.iter().filter_map(|node| request(node, family, translation)).collect();
    Pings { family: family.to_owned(), requests }
}

fn request(node: &Node<'_>, family: &str, translation: &Translation) -> Option<PingRequest> {
    let (src_name, to) = (node.text("src_name"), node.text("dst_ip"));
    if to.is_empty() {
        node.fail_at("dst_ip", "is required");
    }
    let is_family = |ip: &str| ip.contains(':') == (family == "ipv6");
    let found = translation.ports.iter().find_map(|port| {
        port.interfaces.iter().find_map(|interface| {
            let own = interface.addresses.iter().find(|(name, ip)| name == src_name && is_family(ip));
            own.map(|(_, ip)| (port, interface, ip))
        })
    });
    let Some((port, interface, from)) = found else {
        node.fail_at("src_name", format!("unknown {family} address '{src_name}'"));
        return None;
    };
    let (src_name, to) = (src_name.to_owned(), to.to_owned());
    let (port, host) = (port.key.clone(), interface.host.clone());
    Some(PingRequest { src_name, port, host, from: from.clone(), to })
}

impl Pings {
    /// The `ControlActionResponse`: the outcome of each request.
    pub fn response(&self, outcomes: &[Result<(), String>]) -> Value {
        let rows = self.requests.iter().zip(outcomes);
        let warning = |(request, outcome): (&PingRequest, &Result<(), String>)| {
            let reason = outcome.as_ref().err()?;
            Some(format!("ping from '{}' to {}: {reason}", request.src_name, request.to))
        };
        let warnings: Vec<String> = rows.clone().filter_map(warning).collect();
        let row = |(request, outcome): (&PingRequest, &Result<(), String>)| {
            let result = if outcome.is_ok() { "succeeded" } else { "failed" };
            json!({"src_name": request.src_name, "dst_ip": request.to, "result": result})
        };
        let responses: Vec<Value> = rows.map(row).collect();
        let family = self.family.as_str();
        json!({
            "warnings": warnings,
            "response": {
                "choice": "protocol",
                "protocol": {"choice": family, family: {"choice": "ping", "ping": {"responses": responses}}},
            },
        })
    }
}
