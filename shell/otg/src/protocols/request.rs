//! Requests of a `ControlState` to the protocols of devices, with the profile's names.

use super::ALL;
use crate::error::{ErrorKind, Errors};
use crate::translate::Translation;
use serde_json::Value;

/// Request to protocols.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProtocolsRequest {
    /// All are started, or stopped.
    All(bool),
    /// Ranges of routes, by their names in the profile, are advertised, or withdrawn.
    Routes(Vec<String>, bool),
    /// Peers or routers, by their names in the profile, are taken up, or down; with the path of the request.
    Speakers(Vec<String>, bool, &'static str),
}

/// Reads the `protocol` of a `ControlState` that was checked against the model.
pub fn protocols(request: &Value, translation: &Translation) -> Result<ProtocolsRequest, Errors> {
    let is = |value: &Value, word: &str| value["state"] == word;
    let choice = match request["choice"].as_str().unwrap_or_default() {
        "all" => return Ok(ProtocolsRequest::All(is(&request["all"], "start"))),
        "route" => {
            let known = translation.routes().map(|routes| (&routes.name, &routes.key));
            let keys = meant("protocol.route.names", &texts(&request["route"]["names"]), known.collect())?;
            return Ok(ProtocolsRequest::Routes(keys, is(&request["route"], "advertise")));
        }
        choice => choice,
    };
    let mut all = ALL.into_iter().flat_map(|protocol| protocol.speakers);
    let Some(speakers) = all.find(|speakers| speakers.choice == choice) else {
        return Err(Errors::invalid(format!("protocol.{choice}: not supported")));
    };
    let [part, names] = speakers.fields;
    let of = &request[choice][part];
    if !of.is_object() {
        let other = request[choice]["choice"].as_str().unwrap_or(part);
        return Err(Errors::invalid(format!("protocol.{choice}.{other}: not supported")));
    }
    let path = speakers.path;
    let keys = meant(&format!("{path}.{names}"), &texts(&of[names]), (speakers.known)(translation))?;
    Ok(ProtocolsRequest::Speakers(keys, is(of, "up"), path))
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
