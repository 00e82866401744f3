//! IS-IS routers of devices and their ranges of routes.
//!
//! In the model a router has several interfaces, with settings for each level; here it has one, and levels differ in nothing.

use super::routers::{self, Igp, Read, RouterPlan, named_routers};
use super::{Metrics, Protocol, Speakers, States};
use crate::metrics::MetricsInput;
use crate::node::Node;
use crate::translate::{PortPlan, Ports, RoutesPlan, Side, Span, Translation, ranges};
use ::isis::{Area, LSP_HEADER, LspLink, LspPart, LspRoute, SystemId};
use profile::document::{
    Duration, IsisArea, IsisDoc, IsisLevelDoc, IsisNetworkDoc, IsisRouteDoc, IsisRouterDoc, IsisRoutesDoc,
    IsisSystemId, Name,
};
use result::{IsisLevelCounts, IsisLspState, IsisNeighbourState, IsisRouterState, ProtocolStates};
use serde_json::{Map, Value, json};
use units::Nanos;

/// Characters of a hostname that a profile has room for.
const HOSTNAME_MAX: usize = 50;

/// IS-IS.
const ISIS: Igp = Igp("isis");

pub(super) const PROTOCOL: Protocol = Protocol {
    read,
    fill: |side, port| port.isis = document(side),
    is_in: |translation| translation.routers(ISIS).next().is_some(),
    path: |translation, port, path| routers::path(translation, port, &[ISIS], path, ".isis.routers["),
    speakers: &[Speakers {
        choice: "isis",
        fields: ["routers", "router_names"],
        path: "protocol.isis.routers",
        known: |translation| routers::known(translation, ISIS),
    }],
    metrics: &[Metrics { request: "isis", response: ["isis_metrics"; 2], rows: router_rows }],
    states: &[
        States { choice: "isis_adjacencies", learned: false, rows: adjacencies },
        States { choice: "isis_lsps", learned: true, rows: lsps },
    ],
    restart: None,
};

/// Reads the router of a device.
fn read(ports: &mut Ports, device: &Node<'_>) {
    let node = device.child("isis");
    if node.is_given() {
        let read = |interface: &Node<'_>, _, number| router(&node, interface, number);
        routers::add(ports, &node, ("eth_name", "an interface"), read, |port, host, router| {
            let router = IsisRouterDoc { host, ..router };
            port.isis.get_or_insert_with(|| IsisDoc::new(Vec::new())).routers.push(router);
        });
    }
}

/// The IS-IS routers of a port in a profile.
fn document(side: &Side) -> Option<IsisDoc> {
    let routers = side.parts.isis.clone()?;
    Some(IsisDoc { keep: routers::kept(side, &[ISIS]), ..routers })
}

/// Reads the router number `number` of all, with the only interface it has, and what its routes span.
fn router(node: &Node<'_>, interface: &Node<'_>, number: usize) -> Option<Read<IsisRouterDoc>> {
    let (key, name) = (format!("router{number}"), node.text("name").to_owned());
    let system = node.bytes("system_id");
    let Ok(system) = <[u8; 6]>::try_from(&system[..]) else {
        node.fail_at("system_id", "must have 6 bytes, such as 640000000001");
        return None;
    };
    let (basic, advanced) = (node.child("basic"), node.child("advanced"));
    if !basic.flag("enable_wide_metric") {
        basic.fail_at("enable_wide_metric", "not supported: metrics are wide (RFC 5305)");
    }
    let level = match interface.text("level_type") {
        "level_1" => IsisLevelDoc::One,
        "level_1_2" => IsisLevelDoc::Both,
        _ => IsisLevelDoc::Two,
    };
    let (priority, hello, hold) = settings(interface, level);
    let (password, lsp_password, digest) = passwords(node, interface, level);
    // The router only says that it is one of level 2 if it is.
    let attached = advanced.flag("enable_attached_bit") && level == IsisLevelDoc::Both;
    // What a neighbour says does not change what the router is.
    let advanced_link = interface.child("advanced");
    for adjusts in ["auto_adjust_mtu", "auto_adjust_area", "auto_adjust_supported_protocols"] {
        advanced_link.flag(adjusts);
    }
    let hostname = if basic.has("hostname") { basic.text("hostname") } else { &name };
    let mut plan = RouterPlan {
        igp: ISIS,
        name: name.clone(),
        key: key.clone(),
        path: node.path().to_owned(),
        interface: interface.text("name").to_owned(),
        learns: basic.flag("learned_lsp_filter"),
        routes: Vec::new(),
    };
    let seconds = |seconds: u64| Duration(Nanos::from_secs(seconds));
    let mut document = IsisRouterDoc {
        name: Some(Name(key.clone())),
        level,
        network: match interface.text("network_type") {
            "point_to_point" => IsisNetworkDoc::PointToPoint,
            _ => IsisNetworkDoc::Broadcast,
        },
        priority: priority.min(u8::MAX.into()) as u8,
        hello: seconds(hello),
        hold: Some(seconds(hold)),
        metric: interface.whole("metric") as u32,
        padding: advanced.flag("enable_hello_padding"),
        hostname: Some(hostname.chars().filter(char::is_ascii).take(HOSTNAME_MAX).collect()),
        attached,
        te_router_id: if basic.has("ipv4_te_router_id") { basic.quantity("ipv4_te_router_id") } else { None },
        lifetime: seconds(advanced.whole("lsp_lifetime")),
        refresh: seconds(advanced.whole("lsp_refresh_rate")),
        password,
        lsp_password,
        digest,
        ..IsisRouterDoc::new(IsisSystemId(SystemId(system)))
    };
    if let Some(area) = area(&advanced) {
        document.area = IsisArea(area);
    }
    let mut spans = Vec::new();
    for range in ["v4_routes", "v6_routes"].into_iter().flat_map(|list| node.items(list)) {
        let key = format!("{key}-{}", plan.routes.len());
        spans.push(routes(&range, &key, &mut document.routes));
        plan.routes.push(RoutesPlan { name: range.text("name").to_owned(), key });
    }
    Some((plan, document, spans))
}

/// The area of a router; `None` if it is missing or invalid.
fn area(advanced: &Node<'_>) -> Option<Area> {
    let areas = advanced.texts("area_addresses");
    if areas.len() > 1 {
        advanced.fail_at("area_addresses", "not supported: a router in several areas");
    }
    let area = areas.first().map(|text| crate::check::hex_bytes(text).and_then(|bytes| Area::new(&bytes)));
    if area == Some(None) {
        advanced.fail_at("area_addresses", "must have 1 to 13 bytes, such as 490001");
    }
    area.flatten()
}

/// The priority, and times of hellos and after which a router is lost, s.
fn settings(interface: &Node<'_>, level: IsisLevelDoc) -> (u64, u64, u64) {
    let of = |name: &str| {
        let node = interface.child(name);
        (node.whole("priority"), node.whole("hello_interval"), node.whole("dead_interval"))
    };
    let (one, two) = (of("l1_settings"), of("l2_settings"));
    if level == IsisLevelDoc::Both && one != two {
        interface.fail_at("l1_settings", "not supported: settings of level 1 that differ from level 2");
    }
    if level == IsisLevelDoc::One { one } else { two }
}

/// The passwords of hellos and of other PDUs, and whether they are sent as digests.
fn passwords(
    node: &Node<'_>,
    interface: &Node<'_>,
    level: IsisLevelDoc,
) -> (Option<String>, Option<String>, bool) {
    let read = |node: &Node<'_>| {
        let is_digest = node.text("auth_type") == "md5";
        // The other one is without effect.
        let words = ["password", "md5"].map(|word| node.text(word).to_owned());
        node.is_given().then(|| (words[usize::from(is_digest)].clone(), is_digest))
    };
    let auth = node.child("router_auth");
    // What does not fit is refused in any case.
    auth.flag("ignore_receive_md5");
    let (hello, area, domain) = (
        read(&interface.child("authentication")),
        read(&auth.child("area_auth")),
        read(&auth.child("domain_auth")),
    );
    if level == IsisLevelDoc::Both && area != domain {
        auth.fail("not supported: area_auth that is not domain_auth, of a router of both levels");
    }
    let lsp = if level == IsisLevelDoc::One { area } else { domain };
    let mut kinds = hello.iter().chain(&lsp).map(|(_, is_digest)| *is_digest);
    let digest = kinds.next().unwrap_or(false);
    if kinds.any(|other| other != digest) {
        auth.fail("not supported: another auth_type than that of the interface");
    }
    (hello.map(|(text, _)| text), lsp.map(|(text, _)| text), digest)
}

/// Reads a range of routes, each part of which is a line of the profile.
fn routes(node: &Node<'_>, key: &str, all: &mut Vec<IsisRoutesDoc>) -> Vec<Span> {
    let (metric, is_down) = (node.whole("link_metric") as u32, node.text("redistribution_type") == "down");
    let kind = match node.text("origin_type") {
        "external" => IsisRouteDoc::External,
        _ => IsisRouteDoc::Internal,
    };
    let (lines, spans) = ranges::parts(node);
    all.extend(lines.into_iter().map(|(prefixes, count, step)| IsisRoutesDoc {
        name: Some(Name(key.to_owned())),
        count,
        step,
        kind,
        metric,
        down: is_down,
        ..IsisRoutesDoc::new(prefixes)
    }));
    spans
}

/// State of an IS-IS router.
fn isis_state<'a>(
    port: &PortPlan,
    router: &RouterPlan,
    protocols: &'a ProtocolStates,
) -> Option<&'a IsisRouterState> {
    protocols.isis.iter().find(|state| state.port == port.key && state.name == router.key)
}

/// Counters of routers.
fn router_rows(node: &Node<'_>, input: &MetricsInput<'_>) -> Vec<Value> {
    routers::router_rows(node, ISIS, input, |port, router| {
        isis_row(isis_state(port, router, input.protocols))
    })
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

/// The IS-IS routers that a request names, or all, with their states.
fn isis_routers<'a>(
    node: &Node<'_>,
    translation: &'a Translation,
    protocols: &'a ProtocolStates,
) -> Vec<(&'a RouterPlan, Option<&'a IsisRouterState>)> {
    let routers = named_routers(node, "isis_router_names", ISIS, translation);
    let with_state = |(port, router): (&PortPlan, _)| (router, isis_state(port, router, protocols));
    routers.into_iter().map(with_state).collect()
}

/// With whom IS-IS routers have adjacencies.
fn adjacencies(node: &Node<'_>, translation: &Translation, protocols: &ProtocolStates) -> Vec<Value> {
    let level = |level: &str| match level {
        "1" => "level_1",
        "2" => "level_2",
        _ => "level_1_2",
    };
    let row = |(router, state): (&RouterPlan, Option<&IsisRouterState>)| {
        let adjacency = |state: &IsisRouterState, one: &IsisNeighbourState| {
            json!({
                "neighbor_system_id": one.system_id,
                "interface_name": router.interface,
                "local_state": {"level_type": level(&state.level), "hold_timer": state.hold_s},
                "neighbor_state": {"level_type": level(&one.level), "hold_timer": one.hold_s},
            })
        };
        let up = |state: &IsisRouterState| -> Vec<Value> {
            let up = state.neighbours.iter().filter(|one| one.state == "up");
            up.map(|one| adjacency(state, one)).collect()
        };
        json!({"isis_router_name": router.name, "adjacency_states": state.map(up).unwrap_or_default()})
    };
    isis_routers(node, translation, protocols).into_iter().map(row).collect()
}

/// LSPs that IS-IS routers have received, of those that show them.
fn lsps(node: &Node<'_>, translation: &Translation, protocols: &ProtocolStates) -> Vec<Value> {
    let row = |(router, state): (&RouterPlan, Option<&IsisRouterState>)| {
        let lsps = state.filter(|_| router.learns).map_or(&[][..], |state| &state.lsps);
        let lsps: Vec<Value> = lsps.iter().map(lsp).collect();
        json!({"isis_router_name": router.name, "lsps": lsps})
    };
    isis_routers(node, translation, protocols).into_iter().map(row).collect()
}

/// Bits of an LSP's flags (ISO/IEC 10589 section 9.8), by the model's names.
const LSP_FLAGS: [(&str, u8); 6] = [
    ("partition_repair", 0x80),
    ("attached_error", 0x40),
    ("attached_expense", 0x20),
    ("attached_delay", 0x10),
    ("attached_default", 0x08),
    ("overload", 0x04),
];
/// Bits of an LSP's flags with the kind of system.
const LSP_IS_TYPE: u8 = 3;

fn lsp(lsp: &IsisLspState) -> Value {
    let body = crate::check::hex_bytes(&lsp.body).unwrap_or_default();
    let mut tlvs = json!({});
    let lists = [
        "hostname_tlvs",
        "is_reachability_tlvs",
        "extended_is_reachability_tlvs",
        "ipv4_internal_reachability_tlvs",
        "ipv4_external_reachability_tlvs",
        "extended_ipv4_reachability_tlvs",
        "ipv6_reachability_tlvs",
    ];
    lists.into_iter().for_each(|list| tlvs[list] = json!([]));
    for part in ::isis::parts(&body) {
        let (list, tlv) = tlv(&part);
        tlvs[list].as_array_mut().into_iter().for_each(|all| all.push(tlv.clone()));
    }
    let flags: Map<String, Value> =
        LSP_FLAGS.iter().map(|(name, bit)| ((*name).to_owned(), (lsp.flags & bit != 0).into())).collect();
    json!({
        // The model writes identifiers without dots between digits.
        "lsp_id": lsp.id.replacen('.', "", 2).replace('.', "-"),
        "pdu_type": format!("level_{}", lsp.level),
        "remaining_lifetime": lsp.lifetime_s,
        "sequence_number": lsp.sequence,
        "pdu_length": LSP_HEADER + body.len(),
        "flags": flags,
        "is_type": lsp.flags & LSP_IS_TYPE,
        "tlvs": tlvs,
    })
}

/// A TLV, and the list of the model that it is in.
fn tlv(part: &LspPart<'_>) -> (&'static str, Value) {
    let neighbours = |links: &[LspLink]| {
        let link = |link: &LspLink| json!({"system_id": link.system.to_string().replace('.', "")});
        json!({"neighbors": links.iter().map(link).collect::<Vec<Value>>()})
    };
    let prefixes = |routes: &[LspRoute], row: fn(&LspRoute) -> Value| json!({"prefixes": routes.iter().map(row).collect::<Vec<Value>>()});
    match part {
        LspPart::Hostname(name) => ("hostname_tlvs", json!({"hostname": String::from_utf8_lossy(name)})),
        LspPart::Links(links) => ("extended_is_reachability_tlvs", neighbours(links)),
        LspPart::NarrowLinks(links) => ("is_reachability_tlvs", neighbours(links)),
        LspPart::NarrowInternal(routes) => ("ipv4_internal_reachability_tlvs", prefixes(routes, narrow)),
        LspPart::NarrowExternal(routes) => ("ipv4_external_reachability_tlvs", prefixes(routes, narrow)),
        LspPart::Ipv4(routes) => {
            ("extended_ipv4_reachability_tlvs", prefixes(routes, |route| wide(route, "ipv4_address")))
        }
        LspPart::Ipv6(routes) => {
            let row = |route: &LspRoute| {
                let mut row = wide(route, "ipv6_address");
                row["origin_type"] = origin(route).into();
                row
            };
            ("ipv6_reachability_tlvs", prefixes(routes, row))
        }
    }
}

fn redistribution(route: &LspRoute) -> &'static str {
    if route.is_down { "down" } else { "up" }
}

fn origin(route: &LspRoute) -> &'static str {
    if route.is_external { "external" } else { "internal" }
}

fn narrow(route: &LspRoute) -> Value {
    json!({
        "ipv4_address": route.address.to_string(), "prefix_length": route.prefix_len, "default_metric": route.metric,
        "redistribution_type": redistribution(route), "origin_type": origin(route),
    })
}

fn wide(route: &LspRoute, address: &str) -> Value {
    let mut row = json!({
        address: route.address.to_string(), "prefix_length": route.prefix_len, "metric": route.metric,
        "redistribution_type": redistribution(route),
    });
    if let Some(bits) = route.attributes {
        let is_set = |bit| bits & bit != 0;
        row["prefix_attributes"] =
            json!({"x_flag": is_set(0x80), "r_flag": is_set(0x40), "n_flag": is_set(0x20)});
    }
    row
}
