//! OSPFv2 and OSPFv3 routers of devices and their ranges of routes.
//!
//! In the model a router has several interfaces, and a device several instances of OSPFv3; here it has one.

use super::routers::{self, Igp, Read, RouterPlan, named_routers};
use super::{Metrics, Protocol, Speakers, States};
use crate::metrics::MetricsInput;
use crate::node::Node;
use crate::translate::{PortPlan, Ports, RoutesPlan, Side, Span, Translation, ranges};
use ::ospf::{
    EXTERNAL_LSA, EXTERNAL_LSA_3, LsaContents, LsaContents3, LsaLink, LsaPrefix, LsaRoute, SUMMARY_LSA,
};
use profile::document::{
    Duration, Ip, Name, OspfArea, OspfDoc, OspfMd5Doc, OspfNetworkDoc, OspfRouteDoc, OspfRouterDoc,
    OspfRoutesDoc, PortDoc,
};
use result::{OspfLsaCounts, OspfLsaState, OspfPacketCounts, OspfRouterState, ProtocolStates};
use serde_json::{Map, Value, json};
use std::net::{Ipv4Addr, Ipv6Addr};
use units::Nanos;

pub(super) const PROTOCOL: Protocol = Protocol {
    read,
    fill: |side, port| port.ospf = document(side),
    is_in: |translation| VERSIONS.iter().any(|igp| translation.routers(*igp).next().is_some()),
    path: |translation, port, path| routers::path(translation, port, &VERSIONS, path, ".ospf.routers["),
    speakers: &[
        Speakers {
            choice: "ospfv2",
            fields: ["routers", "router_names"],
            path: "protocol.ospfv2.routers",
            known: |translation| routers::known(translation, OSPFV2),
        },
        Speakers {
            choice: "ospfv3",
            fields: ["routers", "router_names"],
            path: "protocol.ospfv3.routers",
            known: |translation| routers::known(translation, OSPFV3),
        },
    ],
    metrics: &[
        Metrics {
            request: "ospfv2",
            response: ["ospfv2_metrics"; 2],
            rows: |node, input| router_rows(node, OSPFV2, input, ospf_row),
        },
        Metrics {
            request: "ospfv3",
            response: ["ospfv3_metrics"; 2],
            rows: |node, input| router_rows(node, OSPFV3, input, ospf3_row),
        },
    ],
    states: &[
        States { choice: "ospfv2_lsas", learned: true, rows: lsas },
        States { choice: "ospfv3_lsas", learned: true, rows: lsas3 },
    ],
    restart: None,
};

/// Both versions.
const OSPFV2: Igp = Igp("ospfv2");
const OSPFV3: Igp = Igp("ospfv3");
const VERSIONS: [Igp; 2] = [OSPFV2, OSPFV3];

/// Reads the routers of a device.
fn read(ports: &mut Ports, device: &Node<'_>) {
    let node = device.child("ospfv2");
    if node.is_given() {
        let read = |interface: &Node<'_>, mtu, number| Some(router(&node, interface, mtu, number));
        routers::add(ports, &node, ("ipv4_name", "an address"), read, put);
    }
    let node = device.child("ospfv3");
    if node.is_given() {
        let instances = node.items("instances");
        let Some((instance, others)) = instances.split_first() else {
            return node.fail_at("instances", "must not be empty");
        };
        others.iter().for_each(|other| other.fail("not supported: a device with several instances"));
        let id = node.child("router_id");
        let read = |interface: &Node<'_>, mtu, number| Some(router_v3(instance, &id, interface, mtu, number));
        routers::add(ports, instance, ("ipv6_name", "an address"), read, put);
    }
}

/// Adds a router to a port's part of the profile.
fn put(port: &mut PortDoc, host: Option<Name>, router: OspfRouterDoc) {
    let router = OspfRouterDoc { host, ..router };
    port.ospf.get_or_insert_with(|| OspfDoc::new(Vec::new())).routers.push(router);
}

/// The OSPF routers of a port in a profile.
fn document(side: &Side) -> Option<OspfDoc> {
    let routers = side.parts.ospf.clone()?;
    Some(OspfDoc { keep: routers::kept(side, &VERSIONS), ..routers })
}

/// Reads the router number `number` of all, with the only interface it has, which has this MTU if it sets one; and the
/// spans of its routes.
fn router(node: &Node<'_>, interface: &Node<'_>, mtu: Option<u32>, number: usize) -> Read<OspfRouterDoc> {
    paced(node, &["lsa_retransmit_time", "inter_burst_lsu_interval", "max_flood_lsu_per_burst"]);
    let router_id = identifier(&node.child("router_id"));
    let (advanced, authentication) = (interface.child("advanced"), interface.child("authentication"));
    let network = interface.child("network_type");
    let network = match network.choice() {
        "point_to_point" => OspfNetworkDoc::PointToPoint,
        "point_to_multipoint" => {
            network.fail_at("point_to_multipoint", "not supported");
            OspfNetworkDoc::PointToPoint
        }
        _ => OspfNetworkDoc::Broadcast,
    };
    if advanced.whole("priority") > 0 {
        advanced.fail_at("priority", "not supported: a router that may be the designated one");
    }
    let (password, md5) = keys(&authentication);
    let plan = plan(OSPFV2, node, interface, number);
    let document = OspfRouterDoc {
        name: Some(Name(plan.key.clone())),
        area: area(&interface.child("area")),
        network,
        hello: seconds(advanced.whole("hello_interval")),
        dead: Some(seconds(advanced.whole("dead_interval"))),
        cost: advanced.whole("routing_metric") as u32,
        mtu,
        ignore_mtu: !advanced.flag("validate_received_mtu"),
        password,
        md5,
        refresh: seconds(node.whole("lsa_refresh_time")),
        ..OspfRouterDoc::new(router_id)
    };
    with_routes(plan, document, &node.items("v4_routes"), |routes| {
        capabilities(&node.child("capabilities"), routes);
    })
}

/// The same of a router of OSPFv3, whose device has its identifier `id`.
fn router_v3(
    node: &Node<'_>,
    id: &Node<'_>,
    interface: &Node<'_>,
    mtu: Option<u32>,
    number: usize,
) -> Read<OspfRouterDoc> {
    paced(node, &["lsa_retransmit_time", "inter_burst_lsu_interval"]);
    let (advanced, network) = (interface.child("advanced"), interface.child("network_type"));
    let network = match network.choice() {
        "point_to_point" => OspfNetworkDoc::PointToPoint,
        _ => {
            let broadcast = network.child("broadcast");
            if broadcast.whole("priority") > 0 {
                broadcast.fail_at("priority", "not supported: a router that may be the designated one");
            }
            OspfNetworkDoc::Broadcast
        }
    };
    let options = interface.child("options");
    for (bit, has) in
        [("r_bit", true), ("e_bit", true), ("v6_bit", true), ("dc_bit", false), ("n_bit", false)]
    {
        if options.flag(bit) != has {
            options.fail_at(
                bit,
                format!("not supported: it is {} here", if has { "always set" } else { "never set" }),
            );
        }
    }
    let plan = plan(OSPFV3, node, interface, number);
    let document = OspfRouterDoc {
        name: Some(Name(plan.key.clone())),
        version: 3,
        area: area(&interface.child("area")),
        instance: interface.whole("instance_id") as u32,
        network,
        hello: seconds(advanced.whole("hello_interval")),
        dead: Some(seconds(advanced.whole("dead_interval"))),
        cost: advanced.whole("link_metric") as u32,
        mtu,
        ignore_mtu: !advanced.flag("validate_received_mtu"),
        refresh: seconds(node.whole("lsa_refresh_time")),
        ..OspfRouterDoc::new(identifier(id))
    };
    with_routes(plan, document, &node.items("v6_routes"), |routes| {
        border(&node.child("capabilities"), routes)
    })
}

fn seconds(seconds: u64) -> Duration {
    Duration(Nanos::from_secs(seconds))
}

/// Reads times that have no effect: updates are paced by the port, and retransmitted as in RFC 2328.
fn paced(node: &Node<'_>, times: &[&str]) {
    for time in times {
        node.whole(time);
    }
    if node.child("graceful_restart").flag("helper_mode") {
        node.child("graceful_restart").fail_at("helper_mode", "not supported");
    }
}

fn identifier(node: &Node<'_>) -> Option<Ip> {
    match node.choice() {
        "custom" => node.quantity("custom"),
        _ => None,
    }
}

fn plan(igp: Igp, node: &Node<'_>, interface: &Node<'_>, number: usize) -> RouterPlan {
    RouterPlan {
        igp,
        name: node.text("name").to_owned(),
        key: format!("router{number}"),
        path: node.path().to_owned(),
        interface: interface.text("name").to_owned(),
        learns: node.flag("store_lsa"),
        routes: Vec::new(),
    }
}

/// A router with ranges of routes, which `check` reads, and what they span.
fn with_routes(
    mut plan: RouterPlan,
    mut document: OspfRouterDoc,
    ranges: &[Node<'_>],
    check: impl FnOnce(&[OspfRoutesDoc]),
) -> Read<OspfRouterDoc> {
    let mut spans = Vec::new();
    for range in ranges {
        let key = format!("{}-{}", plan.key, plan.routes.len());
        spans.push(routes(range, &key, &mut document.routes));
        plan.routes.push(RoutesPlan { name: range.text("name").to_owned(), key });
    }
    check(&document.routes);
    (plan, document, spans)
}

fn area(node: &Node<'_>) -> OspfArea {
    let address = match node.choice() {
        "ip" => node.quantity("ip").unwrap_or(Ipv4Addr::UNSPECIFIED),
        _ => Ipv4Addr::from(node.whole("id") as u32),
    };
    OspfArea(address)
}

/// A password or a key of the interface.
fn keys(node: &Node<'_>) -> (Option<String>, Option<OspfMd5Doc>) {
    if !node.is_given() {
        return (None, None);
    }
    if node.choice() != "md5s" {
        return (Some(node.text("clear_text").to_owned()), None);
    }
    let keys = node.items("md5s");
    let Some((key, others)) = keys.split_first() else {
        node.fail_at("md5s", "must not be empty");
        return (None, None);
    };
    others.iter().for_each(|other| other.fail("not supported: several keys"));
    let md5 = OspfMd5Doc { id: key.whole("key_id") as u32, key: key.text("key").to_owned() };
    (None, Some(md5))
}

/// Announced capabilities of the router. The area accepts external routes in any case; whether the router is a border
/// router follows from its routes.
fn capabilities(node: &Node<'_>, routes: &[OspfRoutesDoc]) {
    node.flag("e_bit");
    for bit in ["t_bit", "mc_bit", "np_bit", "ea_bit", "dc_bit", "o_bit", "unused_bit"] {
        if node.flag(bit) {
            node.fail_at(bit, "not supported");
        }
    }
    border(node, routes);
}

/// Whether the router is at a border, which follows from its routes.
fn border(node: &Node<'_>, routes: &[OspfRoutesDoc]) {
    let has = |kinds: &[OspfRouteDoc]| routes.iter().any(|routes| kinds.contains(&routes.kind));
    for (bit, kinds, which) in [
        ("lsa_b_bit", &[OspfRouteDoc::InterArea][..], "inter-area"),
        ("lsa_e_bit", &[OspfRouteDoc::External1, OspfRouteDoc::External2][..], "external"),
    ] {
        if node.flag(bit) && !has(kinds) {
            node.fail_at(bit, format!("not supported without {which} routes, with which it is set"));
        }
    }
}

/// Reads a range of routes, each part of which is a line of the profile.
fn routes(node: &Node<'_>, key: &str, all: &mut Vec<OspfRoutesDoc>) -> Vec<Span> {
    let (metric, origin) = (node.whole("metric") as u32, node.child("route_origin"));
    let kind = match origin.choice() {
        "intra_area" => OspfRouteDoc::Internal,
        "external_type_1" => OspfRouteDoc::External1,
        "external_type_2" => OspfRouteDoc::External2,
        "nssa_external" => {
            origin.fail_at("nssa_external", "not supported");
            OspfRouteDoc::External2
        }
        _ => OspfRouteDoc::InterArea,
    };
    let (lines, spans) = ranges::parts(node);
    all.extend(lines.into_iter().map(|(prefixes, count, step)| OspfRoutesDoc {
        name: Some(Name(key.to_owned())),
        count,
        step,
        kind,
        metric,
        ..OspfRoutesDoc::new(prefixes)
    }));
    spans
}

/// State of an OSPF router.
fn ospf_state<'a>(
    port: &PortPlan,
    router: &RouterPlan,
    protocols: &'a ProtocolStates,
) -> Option<&'a OspfRouterState> {
    protocols.ospf.iter().find(|state| state.port == port.key && state.name == router.key)
}

/// Counters of routers of a version.
fn router_rows(
    node: &Node<'_>,
    igp: Igp,
    input: &MetricsInput<'_>,
    row: fn(Option<&OspfRouterState>) -> Map<String, Value>,
) -> Vec<Value> {
    routers::router_rows(node, igp, input, |port, router| row(ospf_state(port, router, input.protocols)))
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

/// LSAs that OSPF routers have received, of those that show them.
fn lsas(node: &Node<'_>, translation: &Translation, protocols: &ProtocolStates) -> Vec<Value> {
    let row = |(port, router): (&PortPlan, &RouterPlan)| {
        let mut row = json!({"router_name": router.name});
        for list in LSA_LISTS {
            row[list] = json!([]);
        }
        let state = ospf_state(port, router, protocols).filter(|_| router.learns);
        for (list, lsa) in state.iter().flat_map(|state| &state.lsas).filter_map(lsa) {
            row[list].as_array_mut().into_iter().for_each(|all| all.push(lsa.clone()));
        }
        row
    };
    named_routers(node, "router_names", OSPFV2, translation).into_iter().map(row).collect()
}

/// Lists of LSAs in the model.
const LSA_LISTS: [&str; 7] = [
    "router_lsas",
    "network_lsas",
    "network_summary_lsas",
    "summary_as_lsas",
    "external_as_lsas",
    "nssa_lsas",
    "opaque_lsas",
];

/// An LSA, and the list of the model that it is in. Of opaque ones only the header and their number are shown.
fn lsa(lsa: &OspfLsaState) -> Option<(&'static str, Value)> {
    let body = crate::check::hex_bytes(&lsa.body)?;
    let mut row = json!({"header": {
        "lsa_id": lsa.id, "advertising_router_id": lsa.router_id, "sequence_number": lsa.sequence, "age": lsa.age_s,
        "option_bits": lsa.options,
    }});
    let route = |row: &mut Value, route: &LsaRoute| {
        (row["network_mask"], row["metric"]) = (route.mask.to_string().into(), route.metric.into());
    };
    let list = match (lsa.kind, LsaContents::read(lsa.kind, &body)) {
        (_, Some(LsaContents::Router(links))) => {
            let link = |link: &LsaLink| {
                let kind = match link.kind {
                    1 => "point_to_point",
                    2 => "transit",
                    3 => "stub",
                    _ => "virtual",
                };
                json!({"type": kind, "id": link.id.to_string(), "data": link.data.to_string(), "metric": link.cost})
            };
            row["links"] = links.iter().map(link).collect::<Vec<Value>>().into();
            "router_lsas"
        }
        (_, Some(LsaContents::Network(mask, routers))) => {
            row["network_mask"] = mask.to_string().into();
            row["neighbor_router_ids"] =
                routers.iter().map(Ipv4Addr::to_string).collect::<Vec<String>>().into();
            "network_lsas"
        }
        (kind, Some(LsaContents::Summary(summary))) => {
            route(&mut row, &summary);
            if kind == SUMMARY_LSA { "network_summary_lsas" } else { "summary_as_lsas" }
        }
        (kind, Some(LsaContents::External(external, to))) => {
            route(&mut row, &external);
            row["metric_type"] = if external.is_type_2 { 2 } else { 1 }.into();
            if kind == EXTERNAL_LSA {
                "external_as_lsas"
            } else {
                row["forwarding_address"] = to.to_string().into();
                "nssa_lsas"
            }
        }
        (kind @ (9..=11), None) => {
            row["type"] = ["local", "area", "domain"][usize::from(kind - 9)].into();
            let id = lsa.id.parse().map_or(0, |id: Ipv4Addr| u32::from(id));
            // Behind the byte that says what it is about (RFC 5250 section 2).
            row["id"] = (id & 0x00ff_ffff).into();
            "opaque_lsas"
        }
        _ => return None,
    };
    Some((list, row))
}

/// LSAs that OSPFv3 routers have received, of those that show them.
fn lsas3(node: &Node<'_>, translation: &Translation, protocols: &ProtocolStates) -> Vec<Value> {
    let row = |(port, router): (&PortPlan, &RouterPlan)| {
        let mut row = json!({"router_name": router.name});
        for list in LSA_LISTS_3 {
            row[list] = json!([]);
        }
        let state = ospf_state(port, router, protocols).filter(|_| router.learns);
        for (list, lsas) in state.iter().flat_map(|state| &state.lsas).filter_map(lsa3) {
            row[list].as_array_mut().into_iter().for_each(|all| all.extend(lsas.iter().cloned()));
        }
        row
    };
    named_routers(node, "router_names", OSPFV3, translation).into_iter().map(row).collect()
}

/// Lists of LSAs of OSPFv3 in the model.
const LSA_LISTS_3: [&str; 8] = [
    "router_lsas",
    "network_lsas",
    "inter_area_prefix_lsas",
    "inter_area_router_lsas",
    "external_as_lsas",
    "nssa_lsas",
    "link_lsas",
    "intra_area_prefix_lsas",
];

/// An address with all of its groups: so scripts for other implementations of the model expect prefixes of LSAs.
fn in_full(ip: Ipv6Addr) -> String {
    ip.segments().map(|group| format!("{group:x}")).join(":")
}

/// An LSA of OSPFv3, and the list of the model that it is in. There an LSA has one prefix: one with several has a row for each.
fn lsa3(lsa: &OspfLsaState) -> Option<(&'static str, Vec<Value>)> {
    let body = crate::check::hex_bytes(&lsa.body)?;
    let row = json!({"header": {
        "lsa_id": lsa.id, "advertising_router_id": lsa.router_id, "sequence_number": lsa.sequence, "age": lsa.age_s,
    }});
    let with = |fields: Value| {
        let mut row = row.clone();
        if let (Some(row), Value::Object(fields)) = (row.as_object_mut(), fields) {
            row.extend(fields);
        }
        row
    };
    let of_prefix = |(ip, len): LsaPrefix, mut fields: Value| {
        fields["address_prefix"] = in_full(ip).into();
        fields["prefix_length"] = len.into();
        with(fields)
    };
    Some(match LsaContents3::read(lsa.kind, &body)? {
        LsaContents3::Router(links) => {
            let link = |kind: u8, metric: u16| {
                let kind = match kind {
                    1 => "point_to_point",
                    2 => "transit",
                    _ => "virtual",
                };
                json!({"type": kind, "metric": metric})
            };
            let all: Vec<Value> = links.iter().map(|one| link(one.kind, one.cost)).collect();
            let mut row = with(json!({"links": all}));
            if let Some(first) = links.first() {
                row["neighbor_router_id"] = first.neighbour.to_string().into();
            }
            ("router_lsas", vec![row])
        }
        LsaContents3::Network(routers) => {
            let routers: Vec<String> = routers.iter().map(Ipv4Addr::to_string).collect();
            ("network_lsas", vec![with(json!({"attached_router_ids": routers}))])
        }
        LsaContents3::InterAreaPrefix(prefix, metric) => {
            ("inter_area_prefix_lsas", vec![of_prefix(prefix, json!({"metric": metric}))])
        }
        LsaContents3::InterAreaRouter(router, metric) => {
            let fields = json!({"metric": metric, "destination_router_id": router.to_string()});
            ("inter_area_router_lsas", vec![with(fields)])
        }
        LsaContents3::External(external) => {
            let is_external = lsa.kind == EXTERNAL_LSA_3;
            let mut fields = json!({"metric": external.metric});
            if is_external {
                fields["referenced_ls_type"] = external.referenced.into();
            }
            if let Some(to) = external.forwarding {
                fields["forwarding_address"] = to.to_string().into();
            }
            if let Some(tag) = external.tag {
                fields["route_tag"] = Ipv4Addr::from(tag).to_string().into();
            }
            let list = if is_external { "external_as_lsas" } else { "nssa_lsas" };
            (list, vec![of_prefix(external.prefix, fields)])
        }
        LsaContents3::Link(ip, prefixes) => {
            let fields = json!({"link_local_address": ip.to_string()});
            let rows: Vec<Value> = prefixes.iter().map(|prefix| of_prefix(*prefix, fields.clone())).collect();
            ("link_lsas", if rows.is_empty() { vec![with(fields)] } else { rows })
        }
        LsaContents3::IntraAreaPrefix(prefixes) => {
            let row = |(prefix, metric): &(LsaPrefix, u16)| of_prefix(*prefix, json!({"metric": metric}));
            ("intra_area_prefix_lsas", prefixes.iter().map(row).collect())
        }
    })
}
