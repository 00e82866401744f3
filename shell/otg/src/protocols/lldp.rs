//! LLDP agents of ports.
//!
//! In the model an agent belongs to a port, not to a device: the port's own host is the agent.

use super::{Metrics, Protocol, States};
use crate::metrics::{MetricsInput, only, unknown};
use crate::node::Node;
use crate::translate::{PortPlan, Ports, Translation};
use profile::document::{Duration, Hex, LldpDoc, LldpTlvDoc, Mac};
use result::{LldpNeighbourResult, LldpResult, LldpTlvResult, ProtocolStates};
use serde_json::{Map, Value, json};
use units::Nanos;

pub(super) const PROTOCOL: Protocol = Protocol {
    // Agents are no part of devices: `agents` reads them.
    read: |_, _| {},
    fill: |side, port| port.lldp = side.agent.as_ref().map(|agent| agent.document.clone()),
    is_in: |translation| translation.agents().next().is_some(),
    path: |translation, port, path| {
        let agent = translation.ports.get(port)?.agent.as_ref()?;
        path.contains(".lldp").then(|| agent.path.clone())
    },
    speakers: &[],
    metrics: &[Metrics { request: "lldp", response: ["lldp_metrics"; 2], rows: agent_rows }],
    states: &[States { choice: "lldp_neighbors", learned: false, rows: advertised }],
    restart: None,
};

/// The LLDP agent of a port.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkAgentPlan {
    /// Its name in the model.
    pub name: String,
    /// Its path in the configuration.
    pub path: String,
}

/// Type of an organization's TLV (IEEE 802.1AB clause 8.6).
const ORGANIZATION_TLV: u32 = 127;

/// Placeholder for the number of the host in profiles.
const NUMBER: &str = "{n}";

/// An agent in the making.
pub(crate) struct Agent {
    pub(crate) plan: LinkAgentPlan,
    document: LldpDoc,
}

/// Reads the agents of a configuration and adds them to their ports.
pub(crate) fn agents(ports: &mut Ports, config: &Node<'_>) {
    for node in config.items("lldp") {
        let connection = node.child("connection");
        connection.choice();
        let name = connection.text("port_name");
        let Some(port) = ports.find(name) else {
            connection.fail_at("port_name", format!("unknown port '{name}'"));
            continue;
        };
        let agent = agent(&node, name);
        if ports.sides.iter().flat_map(|side| &side.agent).any(|other| other.plan.name == agent.plan.name) {
            node.fail_at("name", format!("duplicate LLDP '{}'", agent.plan.name));
        }
        if ports.sides[port].agent.is_some() {
            connection.fail_at("port_name", format!("not supported: port '{name}' already has LLDP"));
        }
        ports.sides[port].agent = Some(agent);
    }
}

/// Reads the agent of a port.
fn agent(node: &Node<'_>, port: &str) -> Agent {
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
    Agent { plan: LinkAgentPlan { name, path }, document }
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

/// Counters of agents.
fn agent_rows(node: &Node<'_>, input: &MetricsInput<'_>) -> Vec<Value> {
    let names = node.texts("lldp_names");
    let columns = node.texts("column_names");
    let all = || input.translation.agents();
    unknown(node, "lldp_names", &names, |name| all().any(|(_, agent)| agent.name == name));
    let wanted = all().filter(|(_, agent)| names.is_empty() || names.contains(&agent.name.as_str()));
    let row = |(port, agent): (&PortPlan, &LinkAgentPlan)| {
        let state = input.protocols.lldp.iter().find(|state| state.port == port.key);
        let count = |of: fn(&LldpResult) -> u64| Value::from(state.map_or(0, |state| of(&state.agents)));
        let mut row = Map::new();
        let mut put = |name: &str, value: Value| row.insert(name.to_owned(), value);
        put("name", agent.name.clone().into());
        put("frames_rx", count(|said| said.rx_frames));
        put("frames_tx", count(|said| said.tx_frames));
        // IEEE 802.1AB clause 9.2.6: a malformed LLDPDU is in error and discarded.
        put("frames_error_rx", count(|said| said.rx_errors));
        put("frames_discard", count(|said| said.rx_errors + said.rx_discarded));
        put("tlvs_discard", count(|said| said.tlvs_discarded));
        put("tlvs_unknown", count(|said| said.tlvs_unknown));
        only(row, &columns)
    };
    wanted.map(row).collect()
}

/// Data advertised by LLDP neighbours.
fn advertised(node: &Node<'_>, translation: &Translation, protocols: &ProtocolStates) -> Vec<Value> {
    let (names, ids) = (node.texts("lldp_names"), node.texts("neighbor_id_filters"));
    unknown(node, "lldp_names", &names, |name| translation.agents().any(|(_, agent)| agent.name == name));
    let wanted =
        translation.agents().filter(|(_, agent)| names.is_empty() || names.contains(&agent.name.as_str()));
    let mut rows = Vec::new();
    for (port, agent) in wanted {
        let state = protocols.lldp.iter().find(|state| state.port == port.key);
        for neighbour in state.into_iter().flat_map(|state| &state.agents.neighbours) {
            let row = lldp_neighbour(&agent.name, neighbour);
            if ids.is_empty() || ids.iter().any(|id| row["neighbor_id"] == *id) {
                rows.push(row);
            }
        }
    }
    rows
}

fn lldp_neighbour(agent: &str, neighbour: &LldpNeighbourResult) -> Value {
    let capability = |name: &String| {
        let word = match name.as_str() {
            "bridge" => "mac_bridge",
            "docsis" => "docsis_cable_device",
            "station" => "station_only",
            other => other,
        };
        json!({"capability_name": word, "capability_enabled": neighbour.enabled.contains(name)})
    };
    let tlv = |tlv: &LldpTlvResult| {
        json!({
            "custom_type": ORGANIZATION_TLV, "oui": tlv.oui, "oui_subtype": tlv.subtype, "information": tlv.value,
        })
    };
    let mut row = json!({
        "lldp_name": agent,
        // Chassis and port tell neighbours apart (IEEE 802.1AB clause 8.5.1).
        "neighbor_id": format!("{} {}", neighbour.chassis_id, neighbour.port_id),
        "chassis_id": neighbour.chassis_id,
        "port_id": neighbour.port_id,
        "age": neighbour.known_for_s as u32,
        "last_update": neighbour.age_s as u32,
        "ttl": neighbour.ttl_s,
        "custom_tlvs": neighbour.tlvs.iter().map(tlv).collect::<Vec<Value>>(),
        "capabilities": neighbour.capabilities.iter().map(capability).collect::<Vec<Value>>(),
    });
    let management = neighbour.management.first();
    let family = management.map(|ip| if ip.contains(':') { "ipv6" } else { "ipv4" });
    let known = [
        ("chassis_id_type", kind(&neighbour.chassis_id_type)),
        ("port_id_type", kind(&neighbour.port_id_type)),
        ("system_name", neighbour.system_name.as_deref()),
        ("system_description", neighbour.system_description.as_deref()),
        ("port_description", neighbour.port_description.as_deref()),
        ("management_address", management.map(String::as_str)),
        ("management_address_type", family),
    ];
    for (name, value) in known.into_iter().filter_map(|(name, value)| Some((name, value?))) {
        row[name] = value.into();
    }
    row
}

/// The model's word for a kind of identifier; `None` if it has none.
fn kind(word: &str) -> Option<&str> {
    Some(match word {
        "mac" => "mac_address",
        "interface" => "interface_name",
        "component" => "chassis_component",
        "circuit" => "agent_circuit_id",
        "reserved" => return None,
        other => other,
    })
}
