//! Metrics of ports, flows and their convergence, BGP peers, IS-IS and OSPF routers, DHCP clients, LLDP agents and lags, from a run's result, its intervals, and the states of its protocols.
//!
//! Values that were not measured are absent. Rates have at most four decimals: some clients read `1e-05` as a string.

mod convergence;

use crate::check::check;
use crate::error::{ErrorKind, Errors};
use crate::model::message;
use crate::node::{Log, Node};
use crate::translate::{
    EgressTag, FlowPlan, Igp, LagPlan, LldpPlan, PeerPlan, PortPlan, RouterPlan, StreamPlan, Translation,
};
use result::{
    BgpPeerState, DhcpClientState, Dhcpv6ClientState, EgressResult, IntervalDocument, IsisLevelCounts,
    IsisRouterState, LacpEndResult, LacpPortState, LatencyResult, LldpResult, OspfLsaCounts,
    OspfPacketCounts, OspfRouterState, PortResult, ProtocolStates, StreamResult, TotalDocument,
};
use serde_json::{Map, Number, Value, json};
use std::collections::BTreeMap;
use units::L1_OVERHEAD_BYTES;

pub use convergence::{ControlEvent, ControlEventKind};

/// A flow that ends at a time has ended so much later, s: the last packets may leave late.
const ENDED_AFTER_S: f64 = 0.15;

/// Figures of a run.
#[derive(Debug, Clone, Copy, Default)]
pub struct Figures<'a> {
    /// Counts since the start of traffic.
    pub total: Option<&'a TotalDocument>,
    /// The last interval.
    pub interval: Option<&'a IntervalDocument>,
    /// Time since the start of traffic, s.
    pub at_s: f64,
    /// Whether it is sending, or can again.
    pub active: bool,
}

/// The last requested transmit state of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Transmit {
    /// Send.
    Started,
    /// Do not send.
    #[default]
    Stopped,
    /// Do not send until resumed.
    Paused,
}

/// State of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PortState {
    /// Whether its link is up.
    pub up: bool,
    /// Whether a capture is running.
    pub capturing: bool,
    /// Bit rate of its link, if it is known.
    pub speed_bps: Option<u64>,
}

/// Inputs of metrics.
pub struct MetricsInput<'a> {
    /// The configuration.
    pub translation: &'a Translation,
    /// Figures of the run.
    pub figures: Figures<'a>,
    /// Requested state of each flow, in the translation's order.
    pub requested: &'a [Transmit],
    /// Time for which each flow has been allowed to send until `figures.at_s`, s.
    pub own_s: &'a [f64],
    /// The ports, in the translation's order.
    pub ports: &'a [PortState],
    /// Protocols of the devices.
    pub protocols: &'a ProtocolStates,
    /// Control-plane requests in this run.
    pub events: &'a [ControlEvent],
}

/// Answers a `MetricsRequest`.
pub fn metrics(request: &Value, input: &MetricsInput<'_>) -> Result<Value, Errors> {
    let validation = |errors| Errors { kind: ErrorKind::Validation, errors };
    let request_message = message("MetricsRequest");
    let errors = check(request, request_message);
    if !errors.is_empty() {
        return Err(validation(errors));
    }
    let log = Log::default();
    let root = Node::root(request, request_message, &log);
    let response = match root.choice() {
        "port" => port_metrics(&root.child("port"), input),
        "flow" => flow_metrics(&root.child("flow"), input),
        choice @ ("bgpv4" | "bgpv6") => bgp_metrics(&root.child(choice), choice, input),
        "isis" => {
            let row =
                |port: &PortPlan, router: &RouterPlan| isis_row(isis_state(port, router, input.protocols));
            json!({"choice": "isis_metrics", "isis_metrics": router_rows(&root.child("isis"), Igp::Isis, input, row)})
        }
        "ospfv2" => {
            let row =
                |port: &PortPlan, router: &RouterPlan| ospf_row(ospf_state(port, router, input.protocols));
            json!({"choice": "ospfv2_metrics", "ospfv2_metrics": router_rows(&root.child("ospfv2"), Igp::Ospf, input, row)})
        }
        "convergence" => convergence::convergence_metrics(&root.child("convergence"), input),
        "ospfv3" => {
            let row =
                |port: &PortPlan, router: &RouterPlan| ospf3_row(ospf_state(port, router, input.protocols));
            json!({"choice": "ospfv3_metrics", "ospfv3_metrics": router_rows(&root.child("ospfv3"), Igp::Ospf3, input, row)})
        }
        "lldp" => lldp_metrics(&root.child("lldp"), input),
        "lag" => lag_metrics(&root.child("lag"), input),
        "lacp" => lacp_metrics(&root.child("lacp"), input),
        "dhcpv4_client" => dhcp_metrics(&root.child("dhcpv4_client"), input),
        "dhcpv6_client" => dhcp6_metrics(&root.child("dhcpv6_client"), input),
        other => {
            root.fail_at(
                "choice",
                format!("'{other}' is not supported: use port, flow, convergence, bgpv4, bgpv6, isis, ospfv2, ospfv3, dhcpv4_client, dhcpv6_client, lldp, lag or lacp"),
            );
            Value::Null
        }
    };
    if log.is_clean() {
        log.unread(request, request_message);
    }
    match log.end().0 {
        errors if errors.is_empty() => Ok(response),
        errors => Err(validation(errors)),
    }
}

fn port_metrics(node: &Node<'_>, input: &MetricsInput<'_>) -> Value {
    let names = node.texts("port_names");
    let columns = node.texts("column_names");
    let ports = &input.translation.ports;
    unknown(node, "port_names", &names, |name| ports.iter().any(|port| port.name == name));
    let wanted =
        ports.iter().enumerate().filter(|(_, port)| names.is_empty() || names.contains(&port.name.as_str()));
    let rows: Vec<Value> = wanted.map(|(index, port)| only(port_row(index, port, input), &columns)).collect();
    json!({"choice": "port_metrics", "port_metrics": rows})
}

fn port_row(index: usize, port: &PortPlan, input: &MetricsInput<'_>) -> Map<String, Value> {
    let figures = &input.figures;
    let counts = figures.total.and_then(|total| total.ports.get(&port.key));
    let total = |count: fn(&PortResult) -> u64| counts.map_or(0, count);
    let interval = figures.interval.filter(|_| figures.active);
    let rate = |count: fn(&PortResult) -> u64| match interval {
        Some(interval) => per_second(interval, interval.ports.get(&port.key).map(count)),
        None => 0.0,
    };
    let state = input.ports.get(index).copied().unwrap_or_default();
    let sends = |(index, flow): (usize, &FlowPlan)| {
        flow.tx_port == port.name && transmit(index, flow, input) == "started"
    };
    let sends = input.translation.flows.iter().enumerate().any(sends);
    let mut row = Map::new();
    let mut put = |name: &str, value: Value| row.insert(name.to_owned(), value);
    put("name", port.name.clone().into());
    put("location", port.location.clone().into());
    put("link", if state.up { "up" } else { "down" }.into());
    put("capture", if state.capturing { "started" } else { "stopped" }.into());
    put("frames_tx", total(|port| port.tx_packets).into());
    put("frames_rx", total(|port| port.rx_packets).into());
    put("bytes_tx", total(|port| port.tx_bytes).into());
    put("bytes_rx", total(|port| port.rx_bytes).into());
    put("frames_tx_rate", decimal(rate(|port| port.tx_packets)));
    put("frames_rx_rate", decimal(rate(|port| port.rx_packets)));
    put("bytes_tx_rate", decimal(rate(|port| port.tx_bytes)));
    put("bytes_rx_rate", decimal(rate(|port| port.rx_bytes)));
    put("transmit", if sends { "started" } else { "stopped" }.into());
    if let Some(speed) = port.speed_bps {
        put("speed", (speed / 1_000_000).into());
    }
    row
}

fn bgp_metrics(node: &Node<'_>, choice: &str, input: &MetricsInput<'_>) -> Value {
    let names = node.texts("peer_names");
    let columns = node.texts("column_names");
    let is_v6 = choice == "bgpv6";
    let peers: Vec<(usize, &PeerPlan)> =
        input.translation.peers().filter(|(_, peer)| peer.is_v6 == is_v6).collect();
    unknown(node, "peer_names", &names, |name| peers.iter().any(|(_, peer)| peer.name == name));
    let row = |(port, peer): &(usize, &PeerPlan)| {
        let port = &input.translation.ports[*port].key;
        let state = input.protocols.bgp.iter().find(|state| state.port == *port && state.name == peer.key);
        only(peer_row(peer, state), &columns)
    };
    let wanted = peers.iter().filter(|(_, peer)| names.is_empty() || names.contains(&peer.name.as_str()));
    let rows: Vec<Value> = wanted.map(row).collect();
    let metrics = format!("{choice}_metrics");
    json!({"choice": metrics.clone(), metrics: rows})
}

/// A peer nothing is known of has no session and has counted nothing.
fn peer_row(peer: &PeerPlan, state: Option<&BgpPeerState>) -> Map<String, Value> {
    let count = |of: fn(&BgpPeerState) -> u64| Value::from(state.map_or(0, of));
    let fsm = match state.map(|state| state.state.as_str()) {
        Some("open_sent") => "opensent",
        Some("open_confirm") => "openconfirm",
        Some(known @ ("connect" | "established")) => known,
        _ => "idle",
    };
    let mut row = Map::new();
    let mut put = |name: &str, value: Value| row.insert(name.to_owned(), value);
    put("name", peer.name.clone().into());
    put("session_state", if fsm == "established" { "up" } else { "down" }.into());
    put("session_flap_count", count(|state| state.flaps));
    put("routes_advertised", count(|state| state.advertised));
    put("routes_received", count(|state| state.received));
    put("route_withdraws_sent", count(|state| state.withdrawn));
    put("route_withdraws_received", count(|state| state.received_withdrawn));
    put("updates_sent", count(|state| state.updates_sent));
    put("updates_received", count(|state| state.updates_received));
    put("opens_sent", count(|state| state.opens_sent));
    put("opens_received", count(|state| state.opens_received));
    put("keepalives_sent", count(|state| state.keepalives_sent));
    put("keepalives_received", count(|state| state.keepalives_received));
    put("notifications_sent", count(|state| state.notifications_sent));
    put("notifications_received", count(|state| state.notifications_received));
    put("fsm_state", fsm.into());
    put(
        "end_of_rib_received",
        count(|state| state.received_end_of_rib_ipv4 + state.received_end_of_rib_ipv6),
    );
    row
}

/// Rows of the routers that a request names, or of all; `row` makes one without its name.
fn router_rows(
    node: &Node<'_>,
    igp: Igp,
    input: &MetricsInput<'_>,
    row: impl Fn(&PortPlan, &RouterPlan) -> Map<String, Value>,
) -> Vec<Value> {
    let columns = node.texts("column_names");
    let named = |(port, router): (&PortPlan, &RouterPlan)| {
        let mut row = row(port, router);
        row.insert("name".to_owned(), router.name.clone().into());
        only(row, &columns)
    };
    named_routers(node, "router_names", igp, input.translation).into_iter().map(named).collect()
}

/// The routers that a request names in `field`, or all, with their ports.
pub(crate) fn named_routers<'a>(
    node: &Node<'_>,
    field: &str,
    igp: Igp,
    translation: &'a Translation,
) -> Vec<(&'a PortPlan, &'a RouterPlan)> {
    let all = || translation.routers(igp);
    let names = node.texts(field);
    unknown(node, field, &names, |name| all().any(|(_, router)| router.name == name));
    all().filter(|(_, router)| names.is_empty() || names.contains(&router.name.as_str())).collect()
}

/// State of an IS-IS router.
pub(crate) fn isis_state<'a>(
    port: &PortPlan,
    router: &RouterPlan,
    protocols: &'a ProtocolStates,
) -> Option<&'a IsisRouterState> {
    protocols.isis.iter().find(|state| state.port == port.key && state.name == router.key)
}

/// State of an OSPF router.
pub(crate) fn ospf_state<'a>(
    port: &PortPlan,
    router: &RouterPlan,
    protocols: &'a ProtocolStates,
) -> Option<&'a OspfRouterState> {
    protocols.ospf.iter().find(|state| state.port == port.key && state.name == router.key)
}

/// Counters of an OSPFv2 router.
fn ospf_row(state: Option<&OspfRouterState>) -> Map<String, Value> {
    ospf_counts(state, |packets, lsas| {
        let opaque = lsas.opaque_link + lsas.opaque_area + lsas.opaque_domain;
        let all = lsas.router + lsas.network + lsas.summary + lsas.external + lsas.nssa + opaque;
        vec![
            ("lsa", all),
            ("lsa_ack", packets.acknowledged_lsas),
            ("summary_lsa", lsas.summary),
            ("opaque_local", lsas.opaque_link),
            ("opaque_area", lsas.opaque_area),
            ("opaque_domain", lsas.opaque_domain),
        ]
    })
}

/// Counters of an OSPFv3 router.
fn ospf3_row(state: Option<&OspfRouterState>) -> Map<String, Value> {
    ospf_counts(state, |_, lsas| {
        let prefixes = lsas.inter_area_prefix + lsas.intra_area_prefix;
        let others = lsas.inter_area_router + lsas.link + lsas.other;
        vec![
            ("lsa", lsas.router + lsas.network + lsas.external + lsas.nssa + prefixes + others),
            ("inter_area_prefix_lsa", lsas.inter_area_prefix),
            ("inter_area_router_lsa", lsas.inter_area_router),
            ("link_lsa", lsas.link),
            ("intra_area_prefix_lsa", lsas.intra_area_prefix),
        ]
    })
}

/// Counters of a router of both versions, with the ones of only one version. A router of unknown state has no adjacency
/// and zero counters.
fn ospf_counts(
    state: Option<&OspfRouterState>,
    more: impl Fn(&OspfPacketCounts, &OspfLsaCounts) -> Vec<(&'static str, u64)>,
) -> Map<String, Value> {
    let unknown = OspfRouterState::default();
    let state = state.unwrap_or(&unknown);
    let is_full = state.state == "full";
    let mut row = Map::new();
    row.insert("full_state_count".to_owned(), u64::from(is_full).into());
    row.insert("down_state_count".to_owned(), u64::from(!is_full).into());
    row.insert("sessions_flap".to_owned(), state.flaps.into());
    for (way, packets, lsas) in [
        ("sent", &state.packets_sent, &state.lsas_sent),
        ("received", &state.packets_received, &state.lsas_received),
    ] {
        let both = [
            ("hellos", packets.hellos),
            ("dbd", packets.descriptions),
            ("ls_request", packets.requests),
            ("ls_update", packets.updates),
            ("ls_ack", packets.acknowledgments),
            ("router_lsa", lsas.router),
            ("network_lsa", lsas.network),
            ("external_lsa", lsas.external),
            ("nssa_lsa", lsas.nssa),
        ];
        for (what, count) in both.into_iter().chain(more(packets, lsas)) {
            row.insert(format!("{what}_{way}"), count.into());
        }
    }
    row
}

/// A router nothing is known of has no adjacency and has counted nothing.
fn isis_row(state: Option<&IsisRouterState>) -> Map<String, Value> {
    let mut row = Map::new();
    let unknown = IsisRouterState::default();
    let state = state.unwrap_or(&unknown);
    // Hellos of the kind of link that the router does not have were never sent.
    let none = IsisLevelCounts::default();
    let is_lan = state.network == "broadcast";
    let (lan, link) = match is_lan {
        true => ((&state.hellos_sent, &state.hellos_received), (&none, &none)),
        false => ((&none, &none), (&state.hellos_sent, &state.hellos_received)),
    };
    for (what, counts) in [
        ("sessions_up", &state.adjacencies),
        ("session_flap", &state.flaps_by_level),
        ("broadcast_hellos_sent", lan.0),
        ("broadcast_hellos_received", lan.1),
        ("point_to_point_hellos_sent", link.0),
        ("point_to_point_hellos_received", link.1),
        ("database_size", &state.database),
        ("psnp_sent", &state.psnps_sent),
        ("psnp_received", &state.psnps_received),
        ("csnp_sent", &state.csnps_sent),
        ("csnp_received", &state.csnps_received),
        ("lsp_sent", &state.lsps_sent),
        ("lsp_received", &state.lsps_received),
    ] {
        row.insert(format!("l1_{what}"), counts.level_1.into());
        row.insert(format!("l2_{what}"), counts.level_2.into());
    }
    row
}

fn dhcp_metrics(node: &Node<'_>, input: &MetricsInput<'_>) -> Value {
    let names = node.texts("client_names");
    let columns = node.texts("column_names");
    let all = || input.translation.clients(false);
    unknown(node, "client_names", &names, |name| all().any(|(_, _, client)| client.name == name));
    let wanted = all().filter(|(_, _, client)| names.is_empty() || names.contains(&client.name.as_str()));
    let row = |(port, number, client): (&PortPlan, usize, &crate::translate::ClientPlan)| {
        let is_it = |state: &&DhcpClientState| state.port == port.key && state.client as usize == number;
        let state = input.protocols.dhcp.iter().find(is_it);
        let count = |of: fn(&DhcpClientState) -> u32| Value::from(state.map_or(0, of));
        let mut row = Map::new();
        let mut put = |name: &str, value: Value| row.insert(name.to_owned(), value);
        put("name", client.name.clone().into());
        put("discovers_sent", count(|state| state.discovers));
        put("offers_received", count(|state| state.offers));
        put("requests_sent", count(|state| state.requests));
        put("acks_received", count(|state| state.acks));
        put("nacks_received", count(|state| state.naks));
        put("releases_sent", count(|state| state.releases));
        // Nobody checks that an address is free.
        put("declines_sent", 0.into());
        only(row, &columns)
    };
    let rows: Vec<Value> = wanted.map(row).collect();
    json!({"choice": "dhcpv4_client", "dhcpv4client_metrics": rows})
}

fn dhcp6_metrics(node: &Node<'_>, input: &MetricsInput<'_>) -> Value {
    let names = node.texts("client_names");
    let columns = node.texts("column_names");
    let all = || input.translation.clients(true);
    unknown(node, "client_names", &names, |name| all().any(|(_, _, client)| client.name == name));
    let wanted = all().filter(|(_, _, client)| names.is_empty() || names.contains(&client.name.as_str()));
    let row = |(port, number, client): (&PortPlan, usize, &crate::translate::ClientPlan)| {
        let is_it = |state: &&Dhcpv6ClientState| state.port == port.key && state.client as usize == number;
        let state = input.protocols.dhcpv6.iter().find(is_it);
        let count = |of: fn(&Dhcpv6ClientState) -> u32| Value::from(state.map_or(0, of));
        let mut row = Map::new();
        let mut put = |name: &str, value: Value| row.insert(name.to_owned(), value);
        put("name", client.name.clone().into());
        put("solicits_sent", count(|state| state.solicits));
        put("advertisements_received", count(|state| state.advertises));
        put("advertisements_ignored", count(|state| state.passed_over));
        put("requests_sent", count(|state| state.requests));
        put("nacks_received", count(|state| state.refused));
        put("replies_received", count(|state| state.replies));
        put("renews_sent", count(|state| state.renews));
        put("rebinds_sent", count(|state| state.rebinds));
        put("releases_sent", count(|state| state.releases));
        // Clients do neither ask without a lease nor let servers reconfigure them.
        put("information_requests_sent", 0.into());
        put("reconfigures_received", 0.into());
        only(row, &columns)
    };
    let rows: Vec<Value> = wanted.map(row).collect();
    json!({"choice": "dhcpv6_client", "dhcpv6client_metrics": rows})
}

fn lldp_metrics(node: &Node<'_>, input: &MetricsInput<'_>) -> Value {
    let names = node.texts("lldp_names");
    let columns = node.texts("column_names");
    let all = || input.translation.agents();
    unknown(node, "lldp_names", &names, |name| all().any(|(_, agent)| agent.name == name));
    let wanted = all().filter(|(_, agent)| names.is_empty() || names.contains(&agent.name.as_str()));
    let row = |(port, agent): (&PortPlan, &LldpPlan)| {
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
    let rows: Vec<Value> = wanted.map(row).collect();
    json!({"choice": "lldp_metrics", "lldp_metrics": rows})
}

/// State in its LAG of the port at this place.
fn in_lag<'a>(port: usize, input: &MetricsInput<'a>) -> Option<&'a LacpPortState> {
    let key = &input.translation.ports[port].key;
    input.protocols.lacp.iter().find(|state| state.port == *key)
}

fn lag_metrics(node: &Node<'_>, input: &MetricsInput<'_>) -> Value {
    let names = node.texts("lag_names");
    let columns = node.texts("column_names");
    let all = || input.translation.lags.iter();
    unknown(node, "lag_names", &names, |name| all().any(|lag| lag.name == name));
    let wanted = all().filter(|lag| names.is_empty() || names.contains(&lag.name.as_str()));
    let rows: Vec<Value> = wanted.map(|lag| only(lag_row(lag, input), &columns)).collect();
    json!({"choice": "lag_metrics", "lag_metrics": rows})
}

/// The counts of a LAG are the sums of its ports.
fn lag_row(lag: &LagPlan, input: &MetricsInput<'_>) -> Map<String, Value> {
    let is_in = |port: usize| match lag.speaks_lacp {
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

fn lacp_metrics(node: &Node<'_>, input: &MetricsInput<'_>) -> Value {
    let (lags, ports) = (node.texts("lag_names"), node.texts("lag_member_port_names"));
    let columns = node.texts("column_names");
    let name_of = |port: usize| input.translation.ports[port].name.as_str();
    let members = || {
        let of = |lag: &LagPlan| lag.ports.iter().map(|port| port.port).collect::<Vec<_>>();
        let all = input.translation.lags.iter().filter(|lag| lag.speaks_lacp);
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
    let rows: Vec<Value> = members().filter(is_wanted).map(row).collect();
    json!({"choice": "lacp_metrics", "lacp_metrics": rows})
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

fn flow_metrics(node: &Node<'_>, input: &MetricsInput<'_>) -> Value {
    let names = node.texts("flow_names");
    let columns = node.texts("metric_names");
    let tagged = Tagged::read(&node.child("tagged_metrics"));
    let flows = &input.translation.flows;
    unknown(node, "flow_names", &names, |name| flows.iter().any(|flow| flow.name == name));
    let selected =
        |flow: &FlowPlan| flow.enabled && (names.is_empty() || names.contains(&flow.name.as_str()));
    let rows = flows.iter().enumerate().filter(|(_, flow)| selected(flow));
    let rows: Vec<Value> =
        rows.map(|(index, flow)| flow_row(index, flow, input, &columns, &tagged)).collect();
    json!({"choice": "flow_metrics", "flow_metrics": rows})
}

fn flow_row(
    index: usize,
    flow: &FlowPlan,
    input: &MetricsInput<'_>,
    columns: &[&str],
    tagged: &Tagged<'_>,
) -> Value {
    let transmit = transmit(index, flow, input);
    // The last interval began before a flow stopped: its rates are of what was.
    let interval = input.figures.interval.filter(|_| transmit != "stopped");
    let figures = Figures { interval, ..input.figures };
    let sum = flow.streams.iter().map(|stream| Sum::of(stream, &figures)).fold(Sum::default(), Sum::add);
    let mut row = Map::new();
    row.insert("name".to_owned(), flow.name.clone().into());
    row.insert("port_tx".to_owned(), flow.tx_port.clone().into());
    row.insert("port_rx".to_owned(), flow.rx_ports.join(",").into());
    row.insert("transmit".to_owned(), transmit.into());
    let speed = || input.translation.rx_speed(flow, &|port| input.ports.get(port)?.speed_bps);
    let speed = if flow.cut_through { speed() } else { None };
    sum.put(flow, speed, &mut row);
    let Value::Object(mut row) = only(row, columns) else { return Value::Null };
    let rows = tagged.rows(flow, speed, &figures);
    if !rows.is_empty() {
        row.insert("tagged_metrics".to_owned(), rows.into());
    }
    row.into()
}

/// Whether a flow is being sent.
fn transmit(index: usize, flow: &FlowPlan, input: &MetricsInput<'_>) -> &'static str {
    let figures = &input.figures;
    let requested = input.requested.get(index).copied().unwrap_or_default();
    if !figures.active || requested == Transmit::Stopped {
        return "stopped";
    }
    let own_s = input.own_s.get(index).copied().unwrap_or_default();
    match (has_ended(flow, figures.total, own_s), requested) {
        (true, _) => "stopped",
        (_, Transmit::Paused) => "paused",
        _ => "started",
    }
}

/// Whether all of a flow has been sent that was let send for `own_s` seconds.
pub fn has_ended(flow: &FlowPlan, total: Option<&TotalDocument>, own_s: f64) -> bool {
    let counts = |stream: &StreamPlan| total.and_then(|total| total.streams.get(&stream.name));
    let sent = || flow.streams.iter().filter_map(counts).map(|stream| stream.tx).sum::<u64>();
    flow.packets.is_some_and(|packets| sent() >= packets)
        || flow.ends_at_s.is_some_and(|end| own_s >= end + ENDED_AFTER_S)
}

/// Counts of one stream, or the sum of several.
#[derive(Debug, Clone, Default)]
struct Sum {
    tx: u64,
    rx: u64,
    tx_rate: f64,
    rx_rate: f64,
    tx_bytes: u64,
    rx_bytes: u64,
    tx_bytes_rate: f64,
    rx_bytes_rate: f64,
    latency: Option<Latency>,
    /// Times of the first and last arrival, ns since the start of traffic.
    arrived: Option<(u64, u64)>,
}

#[derive(Debug, Clone, Copy)]
struct Latency {
    min: f64,
    max: f64,
    /// Sum over all samples.
    sum: f64,
    samples: f64,
}

impl From<&LatencyResult> for Latency {
    fn from(latency: &LatencyResult) -> Self {
        Self {
            min: latency.min as f64,
            max: latency.max as f64,
            sum: latency.mean * latency.samples as f64,
            samples: latency.samples as f64,
        }
    }
}

impl Sum {
    fn of(stream: &StreamPlan, figures: &Figures<'_>) -> Self {
        let Some(total) = figures.total.and_then(|total| total.streams.get(&stream.name)) else {
            return Self::default();
        };
        let interval = figures.interval.filter(|_| figures.active);
        let rate = |count: fn(&StreamResult) -> Option<u64>| match interval {
            Some(interval) => per_second(interval, interval.streams.get(&stream.name).and_then(count)),
            None => 0.0,
        };
        Self {
            tx: total.tx,
            rx: total.rx.unwrap_or_default(),
            tx_rate: rate(|stream| Some(stream.tx)),
            rx_rate: rate(|stream| stream.rx),
            tx_bytes: total.tx_bytes,
            rx_bytes: total.rx_bytes.unwrap_or_default(),
            tx_bytes_rate: rate(|stream| Some(stream.tx_bytes)),
            rx_bytes_rate: rate(|stream| stream.rx_bytes),
            latency: total.latency_ns.as_ref().filter(|latency| latency.samples > 0).map(Latency::from),
            arrived: total.first_arrival_ns.zip(total.last_arrival_ns),
        }
    }

    /// The arrivals of a stream that had one value of the tagged bits.
    fn of_value(stream: &StreamPlan, value: &str, figures: &Figures<'_>) -> Self {
        let Some(total) = figures.total.and_then(|total| total.streams.get(&stream.name)?.egress.get(value))
        else {
            return Self::default();
        };
        let interval = figures.interval.filter(|_| figures.active);
        let rate = |count: fn(&EgressResult) -> u64| match interval {
            Some(interval) => {
                let row = interval.streams.get(&stream.name).and_then(|row| row.egress.get(value));
                per_second(interval, row.map(count))
            }
            None => 0.0,
        };
        Self {
            rx: total.rx,
            rx_bytes: total.rx_bytes,
            rx_rate: rate(|row| row.rx),
            rx_bytes_rate: rate(|row| row.rx_bytes),
            latency: total.latency_ns.as_ref().map(Latency::from),
            arrived: total.first_arrival_ns.zip(total.last_arrival_ns),
            ..Self::default()
        }
    }

    /// The same with what another has sent.
    fn with_sent(self, sent: &Self) -> Self {
        let Self { tx, tx_rate, tx_bytes, tx_bytes_rate, .. } = *sent;
        Self { tx, tx_rate, tx_bytes, tx_bytes_rate, ..self }
    }

    fn add(self, other: Self) -> Self {
        let both = |a: Latency, b: Latency| Latency {
            min: a.min.min(b.min),
            max: a.max.max(b.max),
            sum: a.sum + b.sum,
            samples: a.samples + b.samples,
        };
        Self {
            tx: self.tx + other.tx,
            rx: self.rx + other.rx,
            tx_rate: self.tx_rate + other.tx_rate,
            rx_rate: self.rx_rate + other.rx_rate,
            tx_bytes: self.tx_bytes + other.tx_bytes,
            rx_bytes: self.rx_bytes + other.rx_bytes,
            tx_bytes_rate: self.tx_bytes_rate + other.tx_bytes_rate,
            rx_bytes_rate: self.rx_bytes_rate + other.rx_bytes_rate,
            latency: match (self.latency, other.latency) {
                (Some(a), Some(b)) => Some(both(a, b)),
                (a, b) => a.or(b),
            },
            arrived: match (self.arrived, other.arrived) {
                (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
                (a, b) => a.or(b),
            },
        }
    }

    /// Bytes of a frame with FCS; the mean of those received if they have several lengths.
    fn frame_bytes(&self, flow: &FlowPlan) -> f64 {
        let mean = || self.rx_bytes as f64 / self.rx.max(1) as f64;
        flow.frame_bytes.map_or_else(mean, f64::from)
    }

    /// Adds the columns common to flows and tagged metrics. All counters are always there: clients of some languages take
    /// them without a look. `speed` is that of the link, bit/s, if the time of a frame on it is to be taken off latency.
    fn put(&self, flow: &FlowPlan, speed: Option<u64>, row: &mut Map<String, Value>) {
        let mut put = |name: &str, value: Value| row.insert(name.to_owned(), value);
        if !flow.rx_ports.is_empty() && flow.loss {
            put("loss", loss(self.tx, self.rx));
        }
        let sides = [
            ("tx", self.tx, self.tx_rate, self.tx_bytes, self.tx_bytes_rate),
            ("rx", self.rx, self.rx_rate, self.rx_bytes, self.rx_bytes_rate),
        ];
        for (side, frames, frame_rate, bytes, byte_rate) in sides {
            let bits = byte_rate * 8.0;
            put(&format!("frames_{side}"), frames.into());
            put(&format!("frames_{side}_rate"), decimal(frame_rate));
            put(&format!("bytes_{side}"), bytes.into());
            put(
                &format!("{side}_l1_rate_bps"),
                decimal(bits + frame_rate * f64::from(L1_OVERHEAD_BYTES * 8)),
            );
            put(&format!("{side}_rate_bytes"), decimal(byte_rate));
            put(&format!("{side}_rate_bps"), decimal(bits));
            put(&format!("{side}_rate_kbps"), decimal(bits / 1e3));
            put(&format!("{side}_rate_mbps"), decimal(bits / 1e6));
        }
        if let Some(latency) = self.latency.filter(|_| flow.latency) {
            let on_link = speed.map_or(0.0, |speed| self.frame_bytes(flow) * 8e9 / speed as f64);
            let told = |ns: f64| decimal((ns - on_link).max(0.0));
            let mean = latency.sum / latency.samples;
            let latency = json!({
                "minimum_ns": told(latency.min), "maximum_ns": told(latency.max), "average_ns": told(mean),
            });
            put("latency", latency);
        }
        if let Some((first, last)) = self.arrived.filter(|_| flow.timestamps) {
            put("timestamps", json!({"first_timestamp_ns": first as f64, "last_timestamp_ns": last as f64}));
        }
    }
}

/// The request's selection of tagged metrics.
struct Tagged<'a> {
    include: bool,
    include_empty: bool,
    columns: Vec<&'a str>,
    /// Names with their values; all values if empty.
    filters: Vec<(&'a str, Vec<&'a str>)>,
}

impl<'a> Tagged<'a> {
    fn read(node: &Node<'a>) -> Self {
        let filter = |node: &Node<'a>| (node.text("name"), node.texts("values"));
        Self {
            include: node.flag("include"),
            include_empty: node.flag("include_empty_metrics"),
            columns: node.texts("metric_names"),
            filters: node.items("filters").iter().map(filter).collect(),
        }
    }

    /// One row per combination of tag values, sorted.
    fn rows(&self, flow: &FlowPlan, speed: Option<u64>, figures: &Figures<'_>) -> Vec<Value> {
        if !self.include {
            return Vec::new();
        }
        let mut sums: BTreeMap<Tags<'_>, Sum> = BTreeMap::new();
        for stream in &flow.streams {
            add(&mut sums, tags_of(stream), Sum::of(stream, figures));
        }
        let is_egress = !flow.egress.is_empty();
        if is_egress {
            sums = self.by_value(flow, &sums, figures);
        }
        let is_counted = |sum: &Sum| sum.rx + if is_egress { 0 } else { sum.tx } > 0;
        let wanted = sums
            .into_iter()
            .filter(|(tags, sum)| self.wants(tags) && (self.include_empty || is_counted(sum)));
        let row = |(tags, sum): (Tags<'_>, Sum)| {
            let tag = |(name, value): (&str, String)| json!({"name": name, "value": {"choice": "hex", "hex": value}});
            let mut row = Map::new();
            sum.put(flow, speed, &mut row);
            if is_egress {
                // What was lost arrived with no value.
                row.remove("loss");
            }
            let Value::Object(mut row) = only(row, &self.columns) else { return Value::Null };
            row.insert("tags".to_owned(), tags.into_iter().map(tag).collect());
            row.into()
        };
        wanted.map(row).collect()
    }

    /// Arrivals by the flow's tags and the values of its egress tags; what was sent is that of the flow's tags, whose sums are
    /// given.
    fn by_value<'f>(
        &self,
        flow: &'f FlowPlan,
        sent: &BTreeMap<Tags<'f>, Sum>,
        figures: &Figures<'_>,
    ) -> BTreeMap<Tags<'f>, Sum> {
        let mut sums = BTreeMap::new();
        for stream in &flow.streams {
            let own = tags_of(stream);
            if self.include_empty {
                let bits: usize = flow.egress.iter().map(|tag| tag.width).sum();
                let all = (0..1u64 << bits).map(|value| with_values(&own, flow, &apart(value, flow)));
                all.for_each(|tags| add(&mut sums, tags, Sum::default()));
            }
            let total = figures.total.and_then(|total| total.streams.get(&stream.name));
            for key in total.into_iter().flat_map(|total| total.egress.keys()) {
                let values: Result<Vec<u64>, _> = key.split(',').map(str::parse).collect();
                // Frames too short for the bits have no value.
                let Ok(values) = values else { continue };
                add(&mut sums, with_values(&own, flow, &values), Sum::of_value(stream, key, figures));
            }
        }
        let places = flow.streams.first().map_or(0, |stream| stream.tags.len());
        let with_sent = |(tags, sum): (Tags<'f>, Sum)| {
            let sum = match sent.get(&tags[..places]) {
                Some(sent) => sum.with_sent(sent),
                None => sum,
            };
            (tags, sum)
        };
        sums.into_iter().map(with_sent).collect()
    }

    fn wants(&self, tags: &[(&str, String)]) -> bool {
        let passes = |(name, values): &(&str, Vec<&str>)| {
            let equal =
                |value: &str| values.is_empty() || values.iter().any(|wanted| same_hex(wanted, value));
            tags.iter().any(|(tag, value)| tag == name && equal(value))
        };
        !tags.is_empty() && self.filters.iter().all(passes)
    }
}

/// Tags with the hexadecimal value of each.
type Tags<'a> = Vec<(&'a str, String)>;

fn tags_of(stream: &StreamPlan) -> Tags<'_> {
    stream.tags.iter().map(|(name, value)| (name.as_str(), value.clone())).collect()
}

fn add<'a>(sums: &mut BTreeMap<Tags<'a>, Sum>, tags: Tags<'a>, sum: Sum) {
    let before = sums.remove(&tags).unwrap_or_default();
    sums.insert(tags, before.add(sum));
}

/// The values of a flow's egress tags, whose bits follow each other in `value`.
fn apart(value: u64, flow: &FlowPlan) -> Vec<u64> {
    let mut below: usize = flow.egress.iter().map(|tag| tag.width).sum();
    let part = |tag: &EgressTag| {
        below -= tag.width;
        value >> below & ((1 << tag.width) - 1)
    };
    flow.egress.iter().map(part).collect()
}

/// A stream's tags, followed by the tags of its flow's `egress_packet` with these values.
fn with_values<'a>(own: &Tags<'a>, flow: &'a FlowPlan, values: &[u64]) -> Tags<'a> {
    let tag = |(tag, value): (&'a EgressTag, &u64)| {
        let digits = tag.width.div_ceil(4);
        (tag.name.as_str(), format!("{value:0digits$x}"))
    };
    own.iter().cloned().chain(flow.egress.iter().zip(values).map(tag)).collect()
}

/// Whether two hexadecimal strings have the same value.
fn same_hex(a: &str, b: &str) -> bool {
    let digits = |text: &str| {
        let text = crate::check::hex_digits(text).unwrap_or_default().to_lowercase();
        text.trim_start_matches('0').to_owned()
    };
    digits(a) == digits(b)
}

/// Reports unknown names.
pub(crate) fn unknown(node: &Node<'_>, field: &str, names: &[&str], is_known: impl Fn(&str) -> bool) {
    for (index, name) in names.iter().enumerate().filter(|(_, name)| !is_known(name)) {
        node.log_fail(&format!("{}[{index}]", node.path_of(field)), &format!("unknown name '{name}'"));
    }
}

/// The selected columns, all if none is, and always the name.
fn only(row: Map<String, Value>, columns: &[&str]) -> Value {
    let is_selected = |name: &str| name == "name" || columns.is_empty() || columns.contains(&name);
    row.into_iter().filter(|(name, _)| is_selected(name)).collect()
}

fn per_second(interval: &IntervalDocument, count: Option<u64>) -> f64 {
    let seconds = interval.interval_s;
    if seconds > 0.0 { count.unwrap_or_default() as f64 / seconds } else { 0.0 }
}

/// Lost frames, percent. Rounded, but to zero only if nothing was lost, and to 100 only if nothing arrived.
fn loss(sent: u64, received: u64) -> Value {
    let lost = sent.saturating_sub(received);
    let least = if lost == 0 { 0.0 } else { 1e-4 };
    let most = if received == 0 { 100.0 } else { 100.0 - 1e-4 };
    decimal((lost as f64 * 100.0 / sent.max(1) as f64).clamp(least, most))
}

/// A number rounded to four decimals.
fn decimal(number: f64) -> Value {
    let rounded = (number * 1e4).round() / 1e4;
    Number::from_f64(rounded).map_or(Value::Null, Value::Number)
}

#[cfg(test)]
mod tests;
