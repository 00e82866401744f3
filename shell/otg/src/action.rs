//! Request of a `ControlAction`: pings, or restarts of sessions.

use crate::check::check;
use crate::error::{ErrorKind, Errors};
use crate::model::message;
use crate::node::{Log, Node};
use crate::ping::{Pings, pings};
use crate::protocols::{self, either};
use crate::translate::Translation;
use serde_json::Value;

/// Request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Pings, all with the same IP version.
    Pings(Pings),
    /// Sessions restart.
    Restart(Restart),
}

/// Sessions to end like a restarting speaker's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restart {
    /// Names of the peers in the profile.
    pub peers: Vec<String>,
    /// After how long they may come up again, s.
    pub delay_s: u64,
    /// Path of the request.
    pub path: &'static str,
}

/// Reads a `ControlAction`.
pub fn action(request: &Value, translation: &Translation) -> Result<Action, Errors> {
    let validation = |errors| Errors { kind: ErrorKind::Validation, errors };
    let action = message("ControlAction");
    let errors = check(request, action);
    if !errors.is_empty() {
        return Err(validation(errors));
    }
    let log = Log::default();
    let root = Node::root(request, action, &log);
    let read = read(&root, translation)?;
    if log.is_clean() {
        log.unread(request, action);
    }
    match (log.end().0, read) {
        (errors, Some(read)) if errors.is_empty() => Ok(read),
        (errors, _) => Err(validation(errors)),
    }
}

fn read(root: &Node<'_>, translation: &Translation) -> Result<Option<Action>, Errors> {
    if root.choice() != "protocol" {
        root.fail_at(root.choice(), "not supported");
        return Ok(None);
    }
    let protocol = root.child("protocol");
    match protocol.choice() {
        "ipv4" | "ipv6" => Ok(Some(Action::Pings(pings(&protocol, translation)))),
        other => match protocols::restarts().find(|(choice, _)| *choice == other) {
            Some((choice, restart)) => {
                let restart = restart(&protocol.child(choice), translation)?;
                Ok(restart.map(Action::Restart))
            }
            None => {
                let others = protocols::restarts().map(|(choice, _)| choice);
                let known: Vec<String> =
                    ["ipv4", "ipv6"].into_iter().chain(others).map(|choice| format!("'{choice}'")).collect();
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                protocol.fail_at(other, format!("not supported: use {}", either(&known)));
                Ok(None)
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::translate::translate;
    use serde_json::json;

    fn translation() -> Translation {
        let ethernet = json!({
            "name": "e", "mac": "02:00:00:00:00:01", "connection": {"port_name": "p"},
            "ipv4_addresses": [{"name": "i4", "address": "10.9.0.1", "gateway": "10.9.0.2"}],
            "ipv6_addresses": [{"name": "i6", "address": "2001:db8::1", "gateway": "2001:db8::2"}],
        });
        let device = json!({"name": "d", "ethernets": [ethernet]});
        translate(&json!({"ports": [{"name": "p", "location": "ring:a"}], "devices": [device]})).unwrap()
    }

    fn ping(family: &str, requests: &Value) -> Value {
        let chosen = json!({"choice": "ping", "ping": {"requests": requests}});
        json!({"choice": "protocol", "protocol": {"choice": family, family: chosen}})
    }

    #[test]
    fn the_address_and_its_port_are_found_and_told_back() {
        let request = ping("ipv6", &json!([{"src_name": "i6", "dst_ip": "2001:db8::9"}]));
        let Action::Pings(pings) = action(&request, &translation()).unwrap() else { panic!("no pings") };
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
        let errors = |request| action(&request, &translation()).unwrap_err().errors;
        // The name is there, in the other IP version.
        let two = json!([{"src_name": "i6", "dst_ip": "10.9.0.2"}, {"src_name": "i4"}]);
        let path = "protocol.ipv4.ping.requests";
        let wanted = [
            format!("{path}[0].src_name: unknown ipv4 address 'i6'"),
            format!("{path}[1].dst_ip: is required"),
        ];
        assert_eq!(errors(ping("ipv4", &two)), wanted);
        assert_eq!(errors(ping("ipv4", &json!([]))), [format!("{path}: must not be empty")]);
        let reboot = json!({"choice": "port", "port": {"choice": "reboot", "reboot": {"port_names": ["p"]}}});
        assert_eq!(errors(reboot), ["port: not supported"]);
        let isis = json!({"choice": "isis", "isis": {"choice": "update_overload_bit"}});
        let errors_of = |protocol: Value| errors(json!({"choice": "protocol", "protocol": protocol}));
        assert_eq!(errors_of(isis), ["protocol.isis: not supported: use 'ipv4', 'ipv6' or 'bgp'"]);
        let bgp =
            |choice: &str, what: Value| json!({"choice": "bgp", "bgp": {"choice": choice, choice: what}});
        let restart = "initiate_graceful_restart";
        assert_eq!(
            errors_of(bgp(restart, json!({"peer_names": ["x"]}))),
            [format!("protocol.bgp.{restart}.peer_names[0]: there is no 'x'")]
        );
        assert_eq!(
            errors_of(bgp("notification", json!({}))),
            [format!("protocol.bgp.notification: not supported: use '{restart}'")]
        );
    }
}
