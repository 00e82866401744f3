//! IS-IS routers of devices and their ranges of routes.
//!
//! In the model a router has several interfaces, with settings for each level; here it has one, and levels differ in nothing.

use super::ranges::{self, Span};
use super::{Igp, Router, RouterPlan, RoutesPlan, kept};
use crate::node::Node;
use ::isis::{Area, SystemId};
use profile::document::{
    Duration, IsisArea, IsisDoc, IsisLevelDoc, IsisNetworkDoc, IsisRouteDoc, IsisRouterDoc, IsisRoutesDoc,
    IsisSystemId, Name,
};
use units::Nanos;

/// Characters of a hostname that a profile has room for.
const HOSTNAME_MAX: usize = 50;

/// The IS-IS routers of a port in a profile.
pub(super) fn document(routers: &[Router<IsisRouterDoc>]) -> Option<IsisDoc> {
    let documents = |router: &Router<IsisRouterDoc>| IsisRouterDoc {
        host: router.host.clone().map(Name),
        ..router.document.clone()
    };
    let keep = kept(routers)?;
    Some(IsisDoc { keep, ..IsisDoc::new(routers.iter().map(documents).collect()) })
}

/// Reads the router number `number` of all, with the only interface it has, and what its routes span.
pub(super) fn router(
    node: &Node<'_>,
    interface: &Node<'_>,
    number: usize,
) -> Option<(Router<IsisRouterDoc>, Vec<Vec<Span>>)> {
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
        igp: Igp::Isis,
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
    Some((Router { plan, document, host: None }, spans))
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
        interface.fail_at("l1_settings", "not supported: settings of level 1 that are not those of level 2");
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
