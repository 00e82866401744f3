//! LAGs: ports that run LACP, or are bundled without it.
//!
//! In the model traffic of a lag is spread over its ports; here each flow names its port.

use super::{Metrics, Protocol};
use crate::metrics::{MetricsInput, decimal, only, port_row, unknown};
use crate::node::Node;
use profile::document::{Duration, LacpActivityDoc, LacpDoc, LacpTimeoutDoc, Mac, Name};
use result::{LacpEndResult, LacpPortState};
use serde_json::{Map, Value};
use units::Nanos;

pub(super) const PROTOCOL: Protocol = Protocol {
    // LAGs are no part of devices.
    read: |_, _| {},
    fill: |side, port| {
        let Some(member) = &side.member else { return };
        (port.lacp, port.mac) = (member.document.clone(), member.mac.clone());
    },
    is_in: |translation| translation.lags.iter().any(|lag| lag.is_negotiated),
    path: |translation, port, path| {
        let mut ports = translation.lags.iter().flat_map(|lag| &lag.ports);
        let member = ports.find(|other| other.port == port)?;
        path.contains(".lacp").then(|| member.path.clone())
    },
    speakers: &[],
    metrics: &[
        Metrics { request: "lag", response: ["lag_metrics"; 2], rows: lag_rows },
        Metrics { request: "lacp", response: ["lacp_metrics"; 2], rows: member_rows },
    ],
    states: &[],
    restart: None,
};

/// A lag.
#[derive(Debug, Clone, PartialEq)]
pub struct LagPlan {
    /// Its name in the model.
    pub name: String,
    /// Its path in the configuration.
    pub path: String,
    /// Minimum number of its ports that are in it for it to be up.
    pub min_links: u64,
    /// Whether its ports run LACP. Those of a static LAG are in it while their links are up.
    pub is_negotiated: bool,
    /// Its ports, in the configuration's order.
    pub ports: Vec<LagPort>,
}

/// A port of a lag.
#[derive(Debug, Clone, PartialEq)]
pub struct LagPort {
    /// Place of the port among all ports.
    pub port: usize,
    /// Its path in the configuration.
    pub path: String,
}

/// Numbers that are not given: the profile finds its own.
const AUTO: u64 = 0;
/// Seconds after which a silent partner expires.
const SHORT_S: u64 = 3;
const LONG_S: u64 = 90;
/// Nobody waits while a configuration's protocols come up.
const WAIT: Nanos = Nanos::from_secs(10);

/// A lag in the making.
pub(crate) struct Lag {
    pub(crate) plan: LagPlan,
    system: Option<Mac>,
    system_priority: u16,
    key: Option<u16>,
    profile_name: String,
}

/// Role of a port in its LAG.
pub(crate) struct Member {
    /// Absent in a static lag.
    document: Option<LacpDoc>,
    mac: Option<Mac>,
    pub(crate) mtu: Option<u32>,
}

/// Reads the lag with this number.
pub(crate) fn lag(node: &Node<'_>, number: usize) -> Lag {
    let (name, path) = (node.text("name").to_owned(), node.path().to_owned());
    let min_links = node.whole("min_links");
    let protocol = node.child("protocol");
    let is_negotiated = protocol.choice() != "static";
    // Whom it tells apart from others is nobody's business on the link.
    protocol.child("static").whole("lag_id");
    let lacp = protocol.child("lacp");
    let system = lacp.quantity::<Mac>("actor_system_id").filter(|mac| mac.0 != [0; 6]);
    let key = lacp.whole("actor_key");
    Lag {
        plan: LagPlan { name, path, min_links, is_negotiated, ports: Vec::new() },
        system,
        system_priority: lacp.whole("actor_system_priority") as u16,
        key: given(key),
        profile_name: format!("lag{number}"),
    }
}

/// Reads the lag's port at `port`.
pub(crate) fn member(lag: &mut Lag, node: &Node<'_>, port: usize) -> Member {
    let (lacp, ethernet) = (node.child("lacp"), node.child("ethernet"));
    lag.plan.ports.push(LagPort { port, path: node.path().to_owned() });
    ethernet.text("name");
    if !ethernet.items("vlans").is_empty() {
        ethernet.fail_at("vlans", "not supported: give VLANs to devices");
    }
    // The partner says how often it wants LACPDUs.
    if lacp.whole("lacpdu_periodic_time_interval") != AUTO {
        lacp.fail_at(
            "lacpdu_periodic_time_interval",
            "not supported: the partner's timeout determines how often LACPDUs are sent; use 0",
        );
    }
    let timeout = match lacp.whole("lacpdu_timeout") {
        AUTO | SHORT_S => LacpTimeoutDoc::Short,
        LONG_S => LacpTimeoutDoc::Long,
        other => {
            lacp.fail_at(
                "lacpdu_timeout",
                format!("not supported: {other}; use {SHORT_S}, {LONG_S}, or {AUTO} for {SHORT_S}"),
            );
            LacpTimeoutDoc::Short
        }
    };
    let activity = match lacp.text("actor_activity") {
        "passive" => LacpActivityDoc::Passive,
        _ => LacpActivityDoc::Active,
    };
    let document = LacpDoc {
        lag: Name(lag.profile_name.clone()),
        system: lag.system.clone(),
        system_priority: Some(lag.system_priority),
        key: lag.key,
        port: given(lacp.whole("actor_port_number")),
        port_priority: lacp.whole("actor_port_priority") as u16,
        activity,
        timeout,
        wait: Duration(WAIT),
    };
    Member {
        document: lag.plan.is_negotiated.then_some(document),
        mac: ethernet.has("mac").then(|| ethernet.quantity("mac")).flatten(),
        mtu: ethernet.has("mtu").then(|| ethernet.whole("mtu") as u32),
    }
}

fn given(number: u64) -> Option<u16> {
    (number != AUTO).then_some(number as u16)
}

/// State in its LAG of the port at this place.
fn in_lag<'a>(port: usize, input: &MetricsInput<'a>) -> Option<&'a LacpPortState> {
    let key = &input.translation.ports[port].key;
    input.protocols.lacp.iter().find(|state| state.port == *key)
}

/// State and counts of LAGs.
fn lag_rows(node: &Node<'_>, input: &MetricsInput<'_>) -> Vec<Value> {
    let names = node.texts("lag_names");
    let columns = node.texts("column_names");
    let all = || input.translation.lags.iter();
    unknown(node, "lag_names", &names, |name| all().any(|lag| lag.name == name));
    let wanted = all().filter(|lag| names.is_empty() || names.contains(&lag.name.as_str()));
    wanted.map(|lag| only(lag_row(lag, input), &columns)).collect()
}

/// The counts of a LAG are the sums of its ports.
fn lag_row(lag: &LagPlan, input: &MetricsInput<'_>) -> Map<String, Value> {
    let is_in = |port: usize| match lag.is_negotiated {
        true => in_lag(port, input).is_some_and(|state| state.lacp.state == "distributing"),
        false => input.ports.get(port).is_some_and(|state| state.up),
    };
    let up = lag.ports.iter().filter(|port| is_in(port.port)).count() as u64;
    let ports =
        || lag.ports.iter().map(|port| port_row(port.port, &input.translation.ports[port.port], input));
    let count = |name: &str| ports().filter_map(|row| row.get(name)?.as_u64()).sum::<u64>();
    let rate = |name: &str| ports().filter_map(|row| row.get(name)?.as_f64()).sum::<f64>();
    let mut row = Map::new();
    row.insert("name".to_owned(), lag.name.clone().into());
    row.insert("oper_status".to_owned(), if up >= lag.min_links { "up" } else { "down" }.into());
    row.insert("member_ports_up".to_owned(), up.into());
    for name in ["frames_tx", "frames_rx", "bytes_tx", "bytes_rx"] {
        row.insert(name.to_owned(), count(name).into());
        let name = format!("{name}_rate");
        let value = decimal(rate(&name));
        row.insert(name, value);
    }
    row
}

/// LACP of their ports.
fn member_rows(node: &Node<'_>, input: &MetricsInput<'_>) -> Vec<Value> {
    let (lags, ports) = (node.texts("lag_names"), node.texts("lag_member_port_names"));
    let columns = node.texts("column_names");
    let name_of = |port: usize| input.translation.ports[port].name.as_str();
    let members = || {
        let of = |lag: &LagPlan| lag.ports.iter().map(|port| port.port).collect::<Vec<_>>();
        let all = input.translation.lags.iter().filter(|lag| lag.is_negotiated);
        all.flat_map(move |lag| of(lag).into_iter().map(move |port| (lag, port)))
    };
    unknown(node, "lag_names", &lags, |name| members().any(|(lag, _)| lag.name == name));
    unknown(node, "lag_member_port_names", &ports, |name| members().any(|(_, port)| name_of(port) == name));
    let is_wanted = |(lag, port): &(&LagPlan, usize)| {
        (lags.is_empty() || lags.contains(&lag.name.as_str()))
            && (ports.is_empty() || ports.contains(&name_of(*port)))
    };
    let row = |(lag, port): (&LagPlan, usize)| {
        let mut row = Map::new();
        row.insert("lag_name".to_owned(), lag.name.clone().into());
        row.insert("lag_member_port_name".to_owned(), name_of(port).into());
        put_lacp(&mut row, in_lag(port, input));
        // Whose it is belongs to every row.
        let is_column =
            |name: &str| columns.is_empty() || name.starts_with("lag_") || columns.contains(&name);
        row.retain(|name, _| is_column(name));
        Value::from(row)
    };
    members().filter(is_wanted).map(row).collect()
}

/// LACP counters and partner of a port in its LAG. Unknown before protocols are started, as is a silent partner.
fn put_lacp(row: &mut Map<String, Value>, state: Option<&LacpPortState>) {
    let mut put = |name: &str, value: Value| row.insert(name.to_owned(), value);
    let said = state.map(|state| &state.lacp);
    put("lacp_packets_rx", said.map_or(0, |said| said.rx_lacpdus).into());
    put("lacp_packets_tx", said.map_or(0, |said| said.tx_lacpdus).into());
    put("lacp_rx_errors", said.map_or(0, |said| said.rx_errors).into());
    let Some(said) = said else { return };
    let has = |end: &LacpEndResult, name: &str| end.state.iter().any(|state| state == name);
    let actor = &said.actor;
    put("activity", if has(actor, "activity") { "active" } else { "passive" }.into());
    put("timeout", if has(actor, "timeout") { "short" } else { "long" }.into());
    put("synchronization", if has(actor, "synchronization") { "in_sync" } else { "out_sync" }.into());
    put("aggregatable", has(actor, "aggregation").into());
    put("collecting", has(actor, "collecting").into());
    put("distributing", has(actor, "distributing").into());
    put("system_id", actor.system.clone().into());
    put("oper_key", actor.key.into());
    put("port_num", actor.port.into());
    if let Some(partner) = &said.partner {
        put("partner_id", partner.system.clone().into());
        put("partner_key", partner.key.into());
        put("partner_port_num", partner.port.into());
    }
}
