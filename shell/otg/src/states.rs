//! States of neighbours, BGP prefixes, IS-IS adjacencies and LSPs, OSPF LSAs, DHCP interfaces and LLDP neighbours, and the version.

use crate::check::check;
use crate::error::{ErrorKind, Errors};
use crate::metrics::{isis_state, named_routers, ospf_state, unknown};
use crate::model::message;
use crate::node::{Log, Node};
use crate::translate::{ClientPlan, Igp, PortPlan, RouterPlan, Translation, WELL_KNOWN};
use isis::{LSP_HEADER, LspLink, LspPart, LspRoute};
use ospf::{
    EXTERNAL_LSA, EXTERNAL_LSA_3, LsaContents, LsaContents3, LsaLink, LsaPrefix, LsaRoute, SUMMARY_LSA,
};
use result::{
    AsPathPart, BgpRouteState, DhcpClientState, Dhcpv6ClientState, IsisLspState, IsisNeighbourState,
    IsisRouterState, LldpNeighbourResult, OspfLsaState, ProtocolStates,
};
use serde_json::{Map, Value, json};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Version of the model.
pub const MODEL_VERSION: &str = "1.62.0";
/// Compatible versions of the model.
const UNDERSTOOD: &str = ">=1.0.0,<2.0.0";

/// Type of an organization's TLV (IEEE 802.1AB clause 8.6).
const ORGANIZATION_TLV: u32 = 127;

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

/// Answers a `StatesRequest`.
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
    let rows = match choice.as_str() {
        "ipv4_neighbors" | "ipv6_neighbors" => neighbours(&root, &choice, translation, known.resolved),
        "bgp_prefixes" => prefixes(&root.child("bgp_prefixes"), translation, known.protocols),
        "dhcpv4_interfaces" => leases(&root.child("dhcpv4_interfaces"), translation, known.protocols),
        "dhcpv6_interfaces" => leases6(&root.child("dhcpv6_interfaces"), translation, known.protocols),
        "isis_adjacencies" => adjacencies(&root.child("isis_adjacencies"), translation, known.protocols),
        "isis_lsps" => lsps(&root.child("isis_lsps"), translation, known.protocols),
        "ospfv2_lsas" => lsas(&root.child("ospfv2_lsas"), translation, known.protocols),
        "ospfv3_lsas" => lsas3(&root.child("ospfv3_lsas"), translation, known.protocols),
        "lldp_neighbors" => advertised(&root.child("lldp_neighbors"), translation, known.protocols),
        other => {
            return Err(Errors::invalid(format!(
                "choice: '{other}' is not supported: use ipv4_neighbors, ipv6_neighbors, bgp_prefixes, isis_adjacencies, isis_lsps, ospfv2_lsas, ospfv3_lsas, dhcpv4_interfaces, dhcpv6_interfaces or lldp_neighbors"
            )));
        }
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

/// Routes that peers advertise to the devices.
fn prefixes(node: &Node<'_>, translation: &Translation, protocols: &ProtocolStates) -> Vec<Value> {
    let names = node.texts("bgp_peer_names");
    unknown(node, "bgp_peer_names", &names, |name| translation.peers().any(|(_, peer)| peer.name == name));
    let families = node.texts("prefix_filters");
    for family in families.iter().filter(|family| family.contains("mpls")) {
        node.fail_at("prefix_filters", format!("'{family}' is not supported"));
    }
    let filters = [("ipv4_unicast", "ipv4_unicast_filters"), ("ipv6_unicast", "ipv6_unicast_filters")];
    let filters: Vec<Vec<Filter<'_>>> =
        filters.iter().map(|(_, list)| node.items(list).iter().map(Filter::read).collect()).collect();
    let mut rows = Vec::new();
    for (port, peer) in
        translation.peers().filter(|(_, p)| names.is_empty() || names.contains(&p.name.as_str()))
    {
        let port = &translation.ports[port].key;
        let state = protocols.bgp.iter().find(|state| state.port == *port && state.name == peer.key);
        let of = |v6: bool| -> Vec<Value> {
            let (word, filters) =
                if v6 { ("ipv6_unicast", &filters[1]) } else { ("ipv4_unicast", &filters[0]) };
            let is_wanted = peer.learns[usize::from(v6)] && (families.is_empty() || families.contains(&word));
            let routes = state.into_iter().flat_map(|state| &state.routes);
            let passes = |route: &&BgpRouteState| {
                route.address.contains(':') == v6
                    && (filters.is_empty() || filters.iter().any(|f| f.passes(route)))
            };
            routes.filter(|_| is_wanted).filter(passes).map(|route| prefix(route, v6)).collect()
        };
        rows.push(json!({
            "bgp_peer_name": peer.name, "ipv4_unicast_prefixes": of(false), "ipv6_unicast_prefixes": of(true),
        }));
    }
    rows
}

/// Condition on a prefix.
struct Filter<'a> {
    addresses: Vec<IpAddr>,
    prefix_len: Option<u64>,
    origin: Option<&'a str>,
    path_id: Option<u64>,
}

impl<'a> Filter<'a> {
    fn read(node: &Node<'a>) -> Self {
        Self {
            addresses: node.texts("addresses").iter().filter_map(|text| text.parse().ok()).collect(),
            prefix_len: node.has("prefix_length").then(|| node.whole("prefix_length")),
            origin: node.has("origin").then(|| node.text("origin")),
            path_id: node.has("path_id").then(|| node.whole("path_id")),
        }
    }

    fn passes(&self, route: &BgpRouteState) -> bool {
        (self.addresses.is_empty() || route.address.parse().is_ok_and(|ip| self.addresses.contains(&ip)))
            && self.prefix_len.is_none_or(|len| len == u64::from(route.prefix_len))
            && self.origin.is_none_or(|origin| route.origin.as_deref() == Some(origin))
            && self.path_id.is_none_or(|id| route.path_id.map(u64::from) == Some(id))
    }
}

fn prefix(route: &BgpRouteState, v6: bool) -> Value {
    let community = |number: &u32| match WELL_KNOWN.iter().find(|(_, known)| known == number) {
        Some((name, _)) => json!({"type": name}),
        None => json!({"type": "manual_as_number", "as_number": number >> 16, "as_custom": number & 0xffff}),
    };
    let segment = |part: &AsPathPart| {
        let kind = match part.kind.as_str() {
            "set" => "as_set",
            "confederation_sequence" => "as_confed_seq",
            "confederation_set" => "as_confed_set",
            _ => "as_seq",
        };
        json!({"type": kind, "as_numbers": part.numbers})
    };
    let mut row = json!({
        (if v6 { "ipv6_address" } else { "ipv4_address" }): route.address,
        "prefix_length": route.prefix_len,
        "communities": route.communities.iter().map(community).collect::<Vec<Value>>(),
        "as_path": {"segments": route.as_path.iter().map(segment).collect::<Vec<Value>>()},
    });
    let hop =
        route.next_hop.as_ref().map(|hop| if hop.contains(':') { "ipv6_next_hop" } else { "ipv4_next_hop" });
    let known = [
        (hop, route.next_hop.clone().map(Value::from)),
        (Some("path_id"), route.path_id.map(Value::from)),
        (Some("origin"), route.origin.clone().map(Value::from)),
        (Some("local_preference"), route.local_pref.map(Value::from)),
        (Some("multi_exit_discriminator"), route.med.map(Value::from)),
    ];
    for (name, value) in known.into_iter().filter_map(|(name, value)| name.zip(value)) {
        row[name] = value;
    }
    row
}

/// The IS-IS routers that a request names, or all, with their states.
fn isis_routers<'a>(
    node: &Node<'_>,
    translation: &'a Translation,
    protocols: &'a ProtocolStates,
) -> Vec<(&'a RouterPlan, Option<&'a IsisRouterState>)> {
    let routers = named_routers(node, "isis_router_names", Igp::Isis, translation);
    let with_state = |(port, router): (&PortPlan, _)| (router, isis_state(port, router, protocols));
    routers.into_iter().map(with_state).collect()
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
    named_routers(node, "router_names", Igp::Ospf, translation).into_iter().map(row).collect()
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
    named_routers(node, "router_names", Igp::Ospf3, translation).into_iter().map(row).collect()
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
    for part in isis::parts(&body) {
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
    let tlv = |tlv: &result::LldpTlvResult| {
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

/// Leases of DHCP clients.
fn leases(node: &Node<'_>, translation: &Translation, protocols: &ProtocolStates) -> Vec<Value> {
    let names = node.texts("dhcp_client_names");
    let all = || translation.clients(false);
    unknown(node, "dhcp_client_names", &names, |name| all().any(|(_, _, client)| client.name == name));
    let mut rows = Vec::new();
    for (port, number, client) in
        all().filter(|(_, _, c)| names.is_empty() || names.contains(&c.name.as_str()))
    {
        let mut row = json!({"dhcp_client_name": client.name});
        let is_it = |state: &&DhcpClientState| state.port == port.key && state.client as usize == number;
        if let Some(state) = protocols.dhcp.iter().find(is_it) {
            let known = [
                ("ipv4_address", state.ip.clone().map(Value::from)),
                ("prefix_length", state.prefix_len.map(Value::from)),
                ("gateway_address", state.router.clone().map(Value::from)),
                ("lease_time", state.lease_s.map(Value::from)),
                ("renew_time", state.renew_s.map(Value::from)),
                ("rebind_time", state.rebind_s.map(Value::from)),
            ];
            for (name, value) in known.into_iter().filter_map(|(name, value)| Some((name, value?))) {
                row[name] = value;
            }
        }
        rows.push(row);
    }
    rows
}

/// Leases of DHCPv6 clients: addresses and prefixes.
fn leases6(node: &Node<'_>, translation: &Translation, protocols: &ProtocolStates) -> Vec<Value> {
    let names = node.texts("dhcp_client_names");
    let all = || translation.clients(true);
    unknown(node, "dhcp_client_names", &names, |name| all().any(|(_, _, client)| client.name == name));
    let row = |(port, number, client): (&PortPlan, usize, &ClientPlan)| {
        let is_it = |state: &&Dhcpv6ClientState| state.port == port.key && state.client as usize == number;
        let state = protocols.dhcpv6.iter().find(is_it);
        let address = |state: &Dhcpv6ClientState| {
            Some(json!({"address": state.ip.as_ref()?, "lease_time": state.valid_s}))
        };
        let prefix = |state: &Dhcpv6ClientState| {
            let (address, len) = (state.prefix.as_ref()?, state.prefix_len?);
            Some(json!({"address": address, "prefix_length": len, "lease_time": state.valid_s}))
        };
        let addresses: Vec<Value> = state.and_then(address).into_iter().collect();
        let prefixes: Vec<Value> = state.and_then(prefix).into_iter().collect();
        json!({"dhcp_client_name": client.name, "ia_addresses": addresses, "iapd_addresses": prefixes})
    };
    let wanted = all().filter(|(_, _, client)| names.is_empty() || names.contains(&client.name.as_str()));
    wanted.map(row).collect()
}
