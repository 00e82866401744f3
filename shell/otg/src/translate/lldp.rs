//! LLDP agents of ports.
//!
//! In the model an agent belongs to a port, not to a device: the port's own host is the agent.

use super::LldpPlan;
use crate::node::Node;
use profile::document::{Duration, Hex, LldpDoc, LldpTlvDoc, Mac};
use units::Nanos;

/// Placeholder for the number of the host in profiles.
const NUMBER: &str = "{n}";

/// An agent in the making.
pub(super) struct Agent {
    pub(super) plan: LldpPlan,
    pub(super) document: LldpDoc,
}

/// Reads the agent of a port.
pub(super) fn agent(node: &Node<'_>, port: &str) -> Agent {
    let (name, path) = (node.text("name").to_owned(), node.path().to_owned());
    let seconds = |field| Duration(Nanos::from_secs(node.whole(field)));
    let document = LldpDoc {
        chassis_id: chassis(&node.child("chassis_id")),
        port_id: Some(port_id(&node.child("port_id"), port)),
        system_name: Some(given(&node.child("system_name"), &name)),
        management: Some(Vec::new()),
        tlvs: node.items("org_infos").iter().filter_map(tlv).collect(),
        interval: seconds("advertisement_interval"),
        hold_time: Some(seconds("hold_time")),
        ..LldpDoc::default()
    };
    Agent { plan: LldpPlan { name, path }, document }
}

/// The chassis; without an address it is the port's.
fn chassis(node: &Node<'_>) -> Option<String> {
    match node.choice() {
        "interface_name_subtype" => Some(format!("interface:{}", text(node, "interface_name_subtype"))),
        "local_subtype" => Some(format!("local:{}", text(node, "local_subtype"))),
        _ => {
            let mac = node.child("mac_address_subtype");
            let is_given = mac.choice() == "value";
            mac.value("auto");
            is_given.then(|| mac.quantity::<Mac>("value")).flatten().map(|mac| mac.to_string())
        }
    }
}

/// The port identifier; by default, its name in the configuration.
fn port_id(node: &Node<'_>, port: &str) -> String {
    match node.choice() {
        "mac_address_subtype" => {
            node.quantity::<Mac>("mac_address_subtype").map_or_else(String::new, |mac| mac.to_string())
        }
        "local_subtype" => format!("local:{}", text(node, "local_subtype")),
        _ => format!("interface:{}", given(&node.child("interface_name_subtype"), port)),
    }
}

/// A text that is given, or `auto`.
fn given(node: &Node<'_>, auto: &str) -> String {
    let is_given = node.choice() == "value";
    node.value("auto");
    if is_given { text(node, "value") } else { auto.to_owned() }
}

/// A text used unchanged.
fn text(node: &Node<'_>, field: &str) -> String {
    let text = node.text(field);
    if text.is_empty() {
        node.fail_at(field, "must not be empty");
    }
    if text.contains(NUMBER) {
        node.fail_at(field, format!("not supported: '{NUMBER}' in a text"));
    }
    text.to_owned()
}

fn tlv(node: &Node<'_>) -> Option<LldpTlvDoc> {
    let information = node.child("information");
    information.choice();
    Some(LldpTlvDoc {
        oui: Hex(node.bytes("oui")),
        subtype: u8::try_from(node.whole("subtype")).ok()?,
        value: information.has("info").then(|| Hex(information.bytes("info"))),
    })
}
