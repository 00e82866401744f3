//! BGP peers of devices and their ranges of routes.
//!
//! In the model a peer defines its own AS number and whether the session is internal. The other side of an external
//! session may be any other AS.

use super::{Metrics, Protocol, Speakers, States, meant, number_in};
use crate::action::Restart;
use crate::error::Errors;
use crate::metrics::{MetricsInput, only, unknown};
use crate::node::Node;
use crate::translate::{Ports, RoutesPlan, Span, Translation, ranges};
use profile::document::{
    BgpAddPathDoc, BgpDoc, BgpFamilyDoc, BgpOriginDoc, BgpPeerDoc, BgpRestartDoc, BgpRoutesDoc, Community,
    Duration, Ip, Name, Network, OneOrMany,
};
use result::{AsPathPart, BgpPeerState, BgpRouteState, ProtocolStates};
use serde_json::{Map, Value, json};
use std::net::IpAddr;
use units::Nanos;

/// Routes that are kept, of a peer and of all peers of a port.
const KEPT: (u32, u32) = (10_000, 100_000);
/// The longest restart time that has room, s (RFC 4724 section 3).
const RESTART_TIME_MAX: u64 = 4_095;
/// Hop limits that are not refused: the model's default, and what is sent.
const TTLS: [u64; 2] = [64, 255];

pub(super) const PROTOCOL: Protocol = Protocol {
    read,
    fill: |side, port| port.bgp = document(&side.peers),
    is_in: |translation| translation.peers().next().is_some(),
    path: |translation, port, path| {
        let peers = &translation.ports.get(port)?.peers;
        Some(peers.get(number_in(path, ".bgp.peers[")?)?.path.clone())
    },
    speakers: &[Speakers {
        choice: "bgp",
        fields: ["peers", "peer_names"],
        path: "protocol.bgp.peers",
        known: |translation| translation.peers().map(|(_, peer)| (&peer.name, &peer.key)).collect(),
    }],
    metrics: &[
        Metrics {
            request: "bgpv4",
            response: ["bgpv4_metrics"; 2],
            rows: |node, input| peer_rows(node, false, input),
        },
        Metrics {
            request: "bgpv6",
            response: ["bgpv6_metrics"; 2],
            rows: |node, input| peer_rows(node, true, input),
        },
    ],
    states: &[States { choice: "bgp_prefixes", learned: true, rows: prefixes }],
    restart: Some(("bgp", restart)),
};

/// Reads an action on sessions.
fn restart(node: &Node<'_>, translation: &Translation) -> Result<Option<Restart>, Errors> {
    let choice = node.choice();
    if choice != "initiate_graceful_restart" {
        node.fail_at(choice, "not supported: use 'initiate_graceful_restart'");
        return Ok(None);
    }
    let node = node.child(choice);
    let known = translation.peers().map(|(_, peer)| (&peer.name, &peer.key)).collect();
    let peers = meant(&node.path_of("peer_names"), &node.texts("peer_names"), known)?;
    let path = "protocol.bgp.initiate_graceful_restart";
    Ok(Some(Restart { peers, delay_s: node.whole("restart_delay"), path }))
}

/// A BGP peer, which is a speaker behind its port.
#[derive(Debug, Clone, PartialEq)]
pub struct PeerPlan {
    /// Its name in the model.
    pub name: String,
    /// Its name in the profile.
    pub key: String,
    /// Its path in the configuration.
    pub path: String,
    /// Whether its session is over IPv6.
    pub is_v6: bool,
    /// Whether it shows the prefixes it has learned: of IPv4, of IPv6.
    pub learns: [bool; 2],
    /// Its ranges of routes.
    pub routes: Vec<RoutesPlan>,
}

/// A peer in the making.
pub(crate) struct Peer {
    pub(crate) plan: PeerPlan,
    document: BgpPeerDoc,
}

/// Reads the peers of a device.
fn read(ports: &mut Ports, device: &Node<'_>) {
    let router = device.child("bgp");
    for (list, name, is_v6) in
        [("ipv4_interfaces", "ipv4_name", false), ("ipv6_interfaces", "ipv6_name", true)]
    {
        for interface in router.items(list) {
            let Some(at) = ports.interface(&interface, name, "an address") else { continue };
            for node in interface.items("peers") {
                let number = ports.sides.iter().map(|side| side.peers.len()).sum();
                let Some((peer, spans)) = peer(&node, &router, number, is_v6) else { continue };
                let name = peer.plan.name.clone();
                if ports.sides.iter().flat_map(|side| &side.peers).any(|other| other.plan.name == name) {
                    node.fail_at("name", format!("duplicate BGP peer '{name}'"));
                }
                ports.routes_of(at, &peer.plan.routes, spans);
                let host = ports.key_of(at);
                ports.sides[at.port].peers.push(peer.of_host(host));
            }
        }
    }
}

/// The BGP speakers of a port in a profile.
fn document(peers: &[Peer]) -> Option<BgpDoc> {
    if peers.is_empty() {
        return None;
    }
    let learns = peers.iter().any(|peer| peer.plan.learns.contains(&true));
    let keep = if learns { KEPT.0.min(KEPT.1 / peers.len() as u32) } else { 0 };
    Some(BgpDoc { keep, ..BgpDoc::new(peers.iter().map(|peer| peer.document.clone()).collect()) })
}

impl Peer {
    /// The same, with a host of its port as speaker.
    fn of_host(mut self, host: Option<String>) -> Self {
        self.document.host = host.map(Name);
        self
    }
}

/// Reads the peer number `number` of all, and what its routes span.
fn peer(node: &Node<'_>, router: &Node<'_>, number: usize, is_v6: bool) -> Option<(Peer, Vec<Vec<Span>>)> {
    let key = format!("peer{number}");
    let (remote, asn): (Option<Ip>, u32) = (node.quantity("peer_address"), node.whole("as_number") as u32);
    let is_internal = node.text("as_type") == "ibgp";
    let learned = node.child("learned_information_filter");
    let learns = [learned.flag("unicast_ipv4_prefix"), learned.flag("unicast_ipv6_prefix")];
    let capability = node.child("capability");
    let families = [("ipv4_unicast", BgpFamilyDoc::Ipv4), ("ipv6_unicast", BgpFamilyDoc::Ipv6)];
    let families: Vec<BgpFamilyDoc> =
        families.into_iter().filter(|(name, _)| capability.flag(name)).map(|(_, family)| family).collect();
    if families.is_empty() {
        capability.fail_at("ipv4_unicast", "not supported: a session without ipv4_unicast and ipv6_unicast");
    }
    let paths: Vec<BgpFamilyDoc> =
        [("ipv4_unicast_add_path", BgpFamilyDoc::Ipv4), ("ipv6_unicast_add_path", BgpFamilyDoc::Ipv6)]
            .into_iter()
            .filter(|(name, family)| capability.flag(name) && families.contains(family))
            .map(|(_, family)| family)
            .collect();
    let advanced = node.child("advanced");
    let hold_s = advanced.whole("hold_time_interval");
    if advanced.has("keep_alive_interval") && !matches!(advanced.whole("keep_alive_interval"), 30) {
        let keep_alive = advanced.whole("keep_alive_interval");
        if keep_alive != hold_s / 3 {
            advanced.fail_at("keep_alive_interval", "not supported: it is a third of hold_time_interval");
        }
    }
    if !TTLS.contains(&advanced.whole("time_to_live")) {
        advanced.fail_at("time_to_live", "not supported: 255 is sent");
    }
    let mut plan = PeerPlan {
        name: node.text("name").to_owned(),
        key: key.clone(),
        path: node.path().to_owned(),
        is_v6,
        learns,
        routes: Vec::new(),
    };
    let mut document = BgpPeerDoc {
        name: Some(Name(key.clone())),
        peer_as: is_internal.then_some(asn),
        hold_time: Duration(Nanos::from_secs(hold_s)),
        retry: Duration(Nanos::from_secs(2)),
        families,
        graceful_restart: graceful_restart(&node.child("graceful_restart")),
        add_path: (!paths.is_empty())
            .then(|| BgpAddPathDoc { families: paths.clone(), ..BgpAddPathDoc::default() }),
        passive: advanced.flag("passive_mode"),
        router_id: router.quantity("router_id"),
        ..BgpPeerDoc::new(remote?, asn)
    };
    let mut spans = Vec::new();
    for (range, family) in [("v4_routes", BgpFamilyDoc::Ipv4), ("v6_routes", BgpFamilyDoc::Ipv6)]
        .into_iter()
        .flat_map(|(list, family)| node.items(list).into_iter().map(move |range| (range, family)))
    {
        let key = format!("{key}-{}", plan.routes.len());
        let path = range.child("add_path");
        if path.is_given() && !paths.contains(&family) {
            path.fail("not supported: a path identifier without add_path among the peer's capabilities");
        }
        let own = routes(&range, &key, asn, is_internal, &mut document.routes);
        plan.routes.push(RoutesPlan { name: range.text("name").to_owned(), key });
        spans.push(own);
    }
    Some((Peer { plan, document }, spans))
}

/// Graceful restart; the model has one value more than fits.
fn graceful_restart(node: &Node<'_>) -> Option<BgpRestartDoc> {
    if node.flag("enable_llgr") {
        node.fail_at("enable_llgr", "not supported: long-lived graceful restart (RFC 9494)");
    }
    if !node.flag("enable_gr") {
        return None;
    }
    let time_s = node.whole("restart_time");
    if time_s > RESTART_TIME_MAX {
        node.fail_at("restart_time", format!("must be {RESTART_TIME_MAX} at most (RFC 4724 section 3)"));
    }
    Some(BgpRestartDoc {
        time: Duration(Nanos::from_secs(time_s)),
        notification: node.flag("enable_notification"),
        forwarding: true,
    })
}

/// Reads a range of routes, each part of which is a line of the profile.
fn routes(node: &Node<'_>, key: &str, asn: u32, is_internal: bool, all: &mut Vec<BgpRoutesDoc>) -> Vec<Span> {
    let advanced = node.child("advanced");
    let has_med =
        advanced.flag("include_multi_exit_discriminator") && advanced.has("multi_exit_discriminator");
    let local_pref =
        advanced.flag("include_local_preference").then(|| advanced.whole("local_preference") as u32);
    if !is_internal && local_pref.is_some_and(|value| value != 100) {
        advanced.fail_at(
            "local_preference",
            "not supported: external sessions have none (RFC 4271 section 5.1.5)",
        );
    }
    if is_internal && local_pref.is_none() {
        advanced.fail_at(
            "include_local_preference",
            "not supported: internal sessions have one (RFC 4271 section 5.1.5)",
        );
    }
    let path = node.child("as_path");
    let mode = path.text("as_set_mode");
    let mut as_path: Vec<OneOrMany<u32>> = Vec::new();
    for segment in path.items("segments") {
        let numbers = numbers(&segment, "as_numbers");
        match segment.text("type") {
            "as_seq" => as_path.extend(numbers.into_iter().map(OneOrMany::One)),
            "as_set" => as_path.push(OneOrMany::Many(numbers)),
            other => segment.fail_at("type", format!("not supported: {other}; use as_seq or as_set")),
        }
    }
    // Without a path nothing is said of it, and it is as it must be.
    let mut own_as = !path.is_given();
    match (mode, as_path.first_mut()) {
        ("do_not_include_local_as", _) => {}
        ("include_as_set", _) => as_path.insert(0, OneOrMany::Many(vec![asn])),
        ("prepend_to_first_segment", Some(OneOrMany::Many(set))) => set.insert(0, asn),
        ("include_as_seq" | "prepend_to_first_segment", _) if is_internal && path.is_given() => {
            as_path.insert(0, OneOrMany::One(asn));
        }
        ("include_as_seq" | "prepend_to_first_segment", _) => own_as = true,
        _ => path.fail_at("as_set_mode", "not supported: the path has no confederations"),
    }
    let manual = node.text("next_hop_mode") == "manual";
    let hop = match node.text("next_hop_address_type") {
        "ipv6" => "next_hop_ipv6_address",
        _ => "next_hop_ipv4_address",
    };
    // Clients write the mode's default whether it was chosen or not; an address is chosen.
    let is_default = node.text(hop).parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_unspecified());
    let next_hop: Option<Ip> = if is_default && !manual { None } else { node.quantity(hop) };
    let communities: Vec<Community> = node.items("communities").iter().map(community).collect();
    let paths = node.child("add_path");
    let path_id = paths.is_given().then(|| paths.whole("path_id") as u32);
    let line = |prefixes: Network| BgpRoutesDoc {
        path_id,
        name: Some(Name(key.to_owned())),
        next_hop: next_hop.clone(),
        own_as,
        as_path: as_path.clone(),
        origin: match advanced.text("origin") {
            "egp" => BgpOriginDoc::Egp,
            "incomplete" => BgpOriginDoc::Incomplete,
            _ => BgpOriginDoc::Igp,
        },
        communities: communities.clone(),
        med: has_med.then(|| advanced.whole("multi_exit_discriminator") as u32),
        local_pref: local_pref.filter(|_| is_internal),
        ..BgpRoutesDoc::new(prefixes)
    };
    let (lines, spans) = ranges::parts(node);
    all.extend(lines.into_iter().map(|(prefixes, count, step)| BgpRoutesDoc {
        count,
        step,
        ..line(prefixes)
    }));
    spans
}

fn numbers(node: &Node<'_>, name: &str) -> Vec<u32> {
    node.bits_list(name).into_iter().map(|number| number as u32).collect()
}

/// A community (RFC 1997, RFC 9494).
fn community(node: &Node<'_>) -> Community {
    let own = (node.whole("as_number") as u32) << 16 | node.whole("as_custom") as u32;
    Community(
        WELL_KNOWN.iter().find(|(name, _)| *name == node.text("type")).map_or(own, |(_, number)| *number),
    )
}

/// Communities that have names.
const WELL_KNOWN: [(&str, u32); 5] = [
    ("no_export", 0xffff_ff01),
    ("no_advertised", 0xffff_ff02),
    ("no_export_subconfed", 0xffff_ff03),
    ("llgr_stale", 0xffff_0006),
    ("no_llgr", 0xffff_0007),
];

fn peer_rows(node: &Node<'_>, is_v6: bool, input: &MetricsInput<'_>) -> Vec<Value> {
    let names = node.texts("peer_names");
    let columns = node.texts("column_names");
    let peers: Vec<(usize, &PeerPlan)> =
        input.translation.peers().filter(|(_, peer)| peer.is_v6 == is_v6).collect();
    unknown(node, "peer_names", &names, |name| peers.iter().any(|(_, peer)| peer.name == name));
    let row = |(port, peer): &(usize, &PeerPlan)| {
        let port = &input.translation.ports[*port].key;
        let state = input.protocols.bgp.iter().find(|state| state.port == *port && state.name == peer.key);
        only(peer_row(peer, state), &columns)
    };
    let wanted = peers.iter().filter(|(_, peer)| names.is_empty() || names.contains(&peer.name.as_str()));
    wanted.map(row).collect()
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
