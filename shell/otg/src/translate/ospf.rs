//! OSPFv2 and OSPFv3 routers of devices and their ranges of routes.
//!
//! In the model a router has several interfaces, and a device several instances of OSPFv3; here it has one.

use super::ranges::{self, Span};
use super::{Igp, Router, RouterPlan, RoutesPlan, kept};
use crate::node::Node;
use profile::document::{
    Duration, Ip, Name, OspfArea, OspfDoc, OspfMd5Doc, OspfNetworkDoc, OspfRouteDoc, OspfRouterDoc,
    OspfRoutesDoc,
};
use std::net::Ipv4Addr;
use units::Nanos;

/// The OSPF routers of a port in a profile.
pub(super) fn document(routers: &[Router<OspfRouterDoc>]) -> Option<OspfDoc> {
    let documents = |router: &Router<OspfRouterDoc>| OspfRouterDoc {
        host: router.host.clone().map(Name),
        ..router.document.clone()
    };
    let keep = kept(routers)?;
    Some(OspfDoc { keep, ..OspfDoc::new(routers.iter().map(documents).collect()) })
}

/// Reads the router number `number` of all, with the only interface it has, which has this MTU if it sets one; and the
/// spans of its routes.
pub(super) fn router(
    node: &Node<'_>,
    interface: &Node<'_>,
    mtu: Option<u32>,
    number: usize,
) -> (Router<OspfRouterDoc>, Vec<Vec<Span>>) {
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
    let plan = plan(Igp::Ospf, node, interface, number);
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
    let (router, spans) = with_routes(plan, document, &node.items("v4_routes"));
    capabilities(&node.child("capabilities"), &router.document.routes);
    (router, spans)
}

/// The same of a router of OSPFv3, whose device has its identifier `id`.
pub(super) fn router_v3(
    node: &Node<'_>,
    id: &Node<'_>,
    interface: &Node<'_>,
    mtu: Option<u32>,
    number: usize,
) -> (Router<OspfRouterDoc>, Vec<Vec<Span>>) {
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
    let plan = plan(Igp::Ospf3, node, interface, number);
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
    let (router, spans) = with_routes(plan, document, &node.items("v6_routes"));
    border(&node.child("capabilities"), &router.document.routes);
    (router, spans)
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

/// A router with ranges of routes, and what they span.
fn with_routes(
    mut plan: RouterPlan,
    mut document: OspfRouterDoc,
    ranges: &[Node<'_>],
) -> (Router<OspfRouterDoc>, Vec<Vec<Span>>) {
    let mut spans = Vec::new();
    for range in ranges {
        let key = format!("{}-{}", plan.key, plan.routes.len());
        spans.push(routes(range, &key, &mut document.routes));
        plan.routes.push(RoutesPlan { name: range.text("name").to_owned(), key });
    }
    (Router { plan, document, host: None }, spans)
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
