//! Requests of a `ControlState` to the protocols of devices, with the profile's names.

use crate::error::{ErrorKind, Errors};
use crate::translate::{Igp, Translation};
use serde_json::Value;

/// Request to protocols.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProtocolsRequest {
    /// All are started, or stopped.
    All(bool),
    /// Ranges of routes, by their names in the profile, are advertised, or withdrawn.
    Routes(Vec<String>, bool),
    /// BGP peers or routers, by their names in the profile, are taken up, or down; with the path of the request.
    Speakers(Vec<String>, bool, &'static str),
}

/// Reads the `protocol` of a `ControlState` that was checked against the model.
pub fn protocols(request: &Value, translation: &Translation) -> Result<ProtocolsRequest, Errors> {
    let is = |value: &Value, word: &str| value["state"] == word;
    match request["choice"].as_str().unwrap_or_default() {
        "all" => Ok(ProtocolsRequest::All(is(&request["all"], "start"))),
        "route" => {
            let known = translation.routes().map(|routes| (&routes.name, &routes.key));
            let keys = meant("protocol.route.names", &texts(&request["route"]["names"]), known.collect())?;
            Ok(ProtocolsRequest::Routes(keys, is(&request["route"], "advertise")))
        }
        "bgp" => {
            let known = translation.peers().map(|(_, peer)| (&peer.name, &peer.key));
            let peers = &request["bgp"]["peers"];
            let keys = meant("protocol.bgp.peers.peer_names", &texts(&peers["peer_names"]), known.collect())?;
            Ok(ProtocolsRequest::Speakers(keys, is(peers, "up"), "protocol.bgp.peers"))
        }
        choice @ ("isis" | "ospfv2" | "ospfv3") => {
            let routers = &request[choice]["routers"];
            if !routers.is_object() {
                return Err(Errors::invalid(format!("protocol.{choice}.simulated_links: not supported")));
            }
            let (igp, path) = match choice {
                "isis" => (Igp::Isis, "protocol.isis.routers"),
                "ospfv3" => (Igp::Ospf3, "protocol.ospfv3.routers"),
                _ => (Igp::Ospf, "protocol.ospfv2.routers"),
            };
            let known = translation.routers(igp).map(|(_, router)| (&router.name, &router.key));
            let keys =
                meant(&format!("{path}.router_names"), &texts(&routers["router_names"]), known.collect())?;
            Ok(ProtocolsRequest::Speakers(keys, is(routers, "up"), path))
        }
        other => Err(Errors::invalid(format!("protocol.{other}: not supported"))),
    }
}

fn texts(names: &Value) -> Vec<&str> {
    names.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Names in the profile of what is named; of all if nothing is.
pub(crate) fn meant(
    path: &str,
    names: &[&str],
    known: Vec<(&String, &String)>,
) -> Result<Vec<String>, Errors> {
    if names.is_empty() {
        if known.is_empty() {
            return Err(Errors::invalid(format!("{path}: the configuration has none")));
        }
        return Ok(known.into_iter().map(|(_, key)| key.clone()).collect());
    }
    let (mut keys, mut errors) = (Vec::new(), Vec::new());
    for (index, name) in names.iter().enumerate() {
        let before = keys.len();
        keys.extend(known.iter().filter(|(own, _)| own == name).map(|(_, key)| (*key).clone()));
        if keys.len() == before {
            errors.push(format!("{path}[{index}]: there is no '{name}'"));
        }
    }
    if errors.is_empty() { Ok(keys) } else { Err(Errors { kind: ErrorKind::Validation, errors }) }
}
