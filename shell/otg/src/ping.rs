//! Pings: reads the model's action and writes its response.

use crate::check::check;
use crate::error::{ErrorKind, Errors};
use crate::model::message;
use crate::node::{Log, Node};
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

/// Reads a `ControlAction`.
pub fn pings(request: &Value, translation: &Translation) -> Result<Pings, Errors> {
    let validation = |errors| Errors { kind: ErrorKind::Validation, errors };
    let action = message("ControlAction");
    let errors = check(request, action);
    if !errors.is_empty() {
        return Err(validation(errors));
    }
    let log = Log::default();
    let root = Node::root(request, action, &log);
    let pings = read(&root, translation);
    if log.is_clean() {
        log.unread(request, action);
    }
    match (log.end().0, pings) {
        (errors, Some(pings)) if errors.is_empty() => Ok(pings),
        (errors, _) => Err(validation(errors)),
    }
}

fn read(root: &Node<'_>, translation: &Translation) -> Option<Pings> {
    if root.choice() != "protocol" {
        root.fail_at(root.choice(), "not supported");
        return None;
    }
    let protocol = root.child("protocol");
    let family = protocol.choice();
    if !["ipv4", "ipv6"].contains(&family) {
        protocol.fail_at(family, "not supported: use 'ipv4' or 'ipv6'");
        return None;
    }
    let chosen = protocol.child(family);
    chosen.choice();
    let requests = chosen.child("ping").items("requests");
    if requests.is_empty() {
        chosen.child("ping").fail_at("requests", "must not be empty");
    }
    let requests = requests.iter().filter_map(|node| request(node, family, translation)).collect();
    Some(Pings { family: family.to_owned(), requests })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translate::translate;

    fn translation() -> Translation {
        let ethernet = json!({
            "name": "e", "mac": "02:00:00:00:00:01", "connection": {"port_name": "p"},
            "ipv4_addresses": [{"name": "i4", "address": "10.9.0.1", "gateway": "10.9.0.2"}],
            "ipv6_addresses": [{"name": "i6", "address": "2001:db8::1", "gateway": "2001:db8::2"}],
        });
        let device = json!({"name": "d", "ethernets": [ethernet]});
        translate(&json!({"ports": [{"name": "p", "location": "ring:a"}], "devices": [device]})).unwrap()
    }

    fn action(family: &str, requests: &Value) -> Value {
        let chosen = json!({"choice": "ping", "ping": {"requests": requests}});
        json!({"choice": "protocol", "protocol": {"choice": family, family: chosen}})
    }

    #[test]
    fn the_address_and_its_port_are_found_and_told_back() {
        let request = action("ipv6", &json!([{"src_name": "i6", "dst_ip": "2001:db8::9"}]));
        let pings = pings(&request, &translation()).unwrap();
        let one = &pings.requests[0];
        assert_eq!((one.port.as_str(), one.host.as_str(), one.from.as_str()), ("port0", "h0", "2001:db8::1"));
        let response = pings.response(&[Err("nobody is there".to_owned())]);
        assert_eq!(check(&response, message("ControlActionResponse")), Vec::<String>::new());
        assert_eq!(response["warnings"], json!(["ping from 'i6' to 2001:db8::9: nobody is there"]));
        let row = &response["response"]["protocol"]["ipv6"]["ping"]["responses"][0];
        assert_eq!(row, &json!({"src_name": "i6", "dst_ip": "2001:db8::9", "result": "failed"}));
    }

    #[test]
    fn what_is_wrong_is_named() {
        let errors = |request| pings(&request, &translation()).unwrap_err().errors;
        // The name is there, in the other IP version.
        let two = json!([{"src_name": "i6", "dst_ip": "10.9.0.2"}, {"src_name": "i4"}]);
        let path = "protocol.ipv4.ping.requests";
        let wanted = [
            format!("{path}[0].src_name: unknown ipv4 address 'i6'"),
            format!("{path}[1].dst_ip: is required"),
        ];
        assert_eq!(errors(action("ipv4", &two)), wanted);
        assert_eq!(errors(action("ipv4", &json!([]))), [format!("{path}: must not be empty")]);
        let reboot = json!({"choice": "port", "port": {"choice": "reboot", "reboot": {"port_names": ["p"]}}});
        assert_eq!(errors(reboot), ["port: not supported"]);
    }
}
