//! States of neighbours and protocols, and the version.

use crate::check::check;
use crate::error::{ErrorKind, Errors};
use crate::model::message;
use crate::node::{Log, Node};
use crate::protocols::{self, either};
use crate::translate::Translation;
use result::ProtocolStates;
use serde_json::{Value, json};

/// Version of the model.
pub const MODEL_VERSION: &str = "1.62.0";
/// Compatible versions of the model.
const UNDERSTOOD: &str = ">=1.0.0,<2.0.0";

/// States of gateways.
const NEIGHBOURS: [&str; 2] = ["ipv4_neighbors", "ipv6_neighbors"];

/// The model's `Version`.
pub fn version(app_version: &str) -> Value {
    json!({"api_spec_version": UNDERSTOOD, "sdk_version": MODEL_VERSION, "app_version": app_version})
}

/// Input of states.
pub struct Known<'a> {
    /// Returns a resolved gateway's MAC address by port, host and address.
    pub resolved: &'a dyn Fn(&str, &str, &str) -> Option<String>,
    /// Protocols of the devices.
    pub protocols: &'a ProtocolStates,
}

/// Whether a `StatesRequest` with this choice needs the routes and link states that hosts keep.
pub fn are_learned(choice: &str) -> bool {
    protocols::states().any(|states| states.learned && states.choice == choice)
}

/// The reply to a `StatesRequest`.
pub fn states(request: &Value, translation: &Translation, known: &Known<'_>) -> Result<Value, Errors> {
    let validation = |errors| Errors { kind: ErrorKind::Validation, errors };
    let request_message = message("StatesRequest");
    let errors = check(request, request_message);
    if !errors.is_empty() {
        return Err(validation(errors));
    }
    let log = Log::default();
    let root = Node::root(request, request_message, &log);
    let choice = root.choice().to_owned();
    let rows = if NEIGHBOURS.contains(&choice.as_str()) {
        neighbours(&root, &choice, translation, known.resolved)
    } else if let Some(states) = protocols::states().find(|states| states.choice == choice) {
        (states.rows)(&root.child(&choice), translation, known.protocols)
    } else {
        let of_protocols = protocols::states().map(|states| states.choice);
        let known: Vec<&str> = NEIGHBOURS.into_iter().chain(of_protocols).collect();
        return Err(Errors::invalid(format!("choice: '{choice}' is not supported: use {}", either(&known))));
    };
    if log.is_clean() {
        log.unread(request, request_message);
    }
    match log.end().0 {
        errors if errors.is_empty() => Ok(json!({"choice": choice.clone(), choice: rows})),
        errors => Err(validation(errors)),
    }
}

fn neighbours(
    root: &Node<'_>,
    choice: &str,
    translation: &Translation,
    resolved: &dyn Fn(&str, &str, &str) -> Option<String>,
) -> Vec<Value> {
    let address = if choice == "ipv6_neighbors" { "ipv6_address" } else { "ipv4_address" };
    let names = root.child(choice).texts("ethernet_names");
    let mut rows = Vec::new();
    for port in translation.ports.iter() {
        let interfaces = port.interfaces.iter();
        for interface in interfaces.filter(|i| names.is_empty() || names.contains(&i.ethernet.as_str())) {
            for gateway in
                interface.gateways.iter().filter(|ip| ip.contains(':') == (choice == "ipv6_neighbors"))
            {
                let mut row = json!({"ethernet_name": interface.ethernet, address: gateway});
                if let Some(mac) = resolved(&port.key, &interface.host, gateway) {
                    row["link_layer_address"] = mac.into();
                }
                rows.push(row);
            }
        }
    }
    rows
}
