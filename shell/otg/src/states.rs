//! Neighbour states, and the version.

use crate::check::check;
use crate::error::{ErrorKind, Errors};
use crate::model::message;
use crate::node::{Log, Node};
use crate::translate::Translation;
use serde_json::{Value, json};

/// Version of the model.
pub const MODEL_VERSION: &str = "1.62.0";
/// Compatible versions of the model.
const UNDERSTOOD: &str = ">=1.0.0,<2.0.0";

/// The model's `Version`.
pub fn version(app_version: &str) -> Value {
    json!({"api_spec_version": UNDERSTOOD, "sdk_version": MODEL_VERSION, "app_version": app_version})
}

/// Answers a `StatesRequest`. `resolved` returns a resolved gateway's MAC address by port, host and address.
pub fn states(
    request: &Value,
    translation: &Translation,
    resolved: &dyn Fn(&str, &str, &str) -> Option<String>,
) -> Result<Value, Errors> {
    let validation = |errors| Errors { kind: ErrorKind::Validation, errors };
    let request_message = message("StatesRequest");
    let errors = check(request, request_message);
    if !errors.is_empty() {
        return Err(validation(errors));
    }
    let log = Log::default();
    let root = Node::root(request, request_message, &log);
    let choice = root.choice().to_owned();
    let address = match choice.as_str() {
        "ipv4_neighbors" => "ipv4_address",
        "ipv6_neighbors" => "ipv6_address",
        other => {
            return Err(Errors::invalid(format!(
                "choice: '{other}' is not supported: use ipv4_neighbors or ipv6_neighbors"
            )));
        }
    };
    let names = root.child(&choice).texts("ethernet_names");
    let mut rows = Vec::new();
    for port in &translation.ports {
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
    log.unread(request, request_message);
    match log.end().0 {
        errors if errors.is_empty() => Ok(json!({"choice": choice.clone(), choice: rows})),
        errors => Err(validation(errors)),
    }
}
