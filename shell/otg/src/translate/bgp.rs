//! BGP peers of devices and their ranges of routes.
//!
//! In the model a peer defines its own AS number and whether the session is internal. The other side of an external
//! session may be any other AS.

use super::ranges::{self, Span};
use super::{PeerPlan, RoutesPlan};
use crate::node::Node;
use profile::document::{
    BgpAddPathDoc, BgpDoc, BgpFamilyDoc, BgpOriginDoc, BgpPeerDoc, BgpRestartDoc, BgpRoutesDoc, Community,
    Duration, Ip, Name, Network, OneOrMany,
};
use units::Nanos;

/// Routes that are kept, of a peer and of all peers of a port.
const KEPT: (u32, u32) = (10_000, 100_000);
/// The longest restart time that has room, s (RFC 4724 section 3).
const RESTART_TIME_MAX: u64 = 4_095;
/// Hop limits that are not refused: the model's default, and what is sent.
const TTLS: [u64; 2] = [64, 255];

/// A peer in the making.
pub(super) struct Peer {
    pub(super) plan: PeerPlan,
    document: BgpPeerDoc,
}

/// The BGP speakers of a port in a profile.
pub(super) fn document(peers: &[Peer]) -> Option<BgpDoc> {
    if peers.is_empty() {
        return None;
    }
    let learns = peers.iter().any(|peer| peer.plan.learns.contains(&true));
    let keep = if learns { KEPT.0.min(KEPT.1 / peers.len() as u32) } else { 0 };
    Some(BgpDoc { keep, ..BgpDoc::new(peers.iter().map(|peer| peer.document.clone()).collect()) })
}

impl Peer {
    /// The same, with a host of its port as speaker.
    pub(super) fn of_host(mut self, host: Option<String>) -> Self {
        self.document.host = host.map(Name);
        self
    }
}

/// Reads the peer number `number` of all, and what its routes span.
pub(super) fn peer(
    node: &Node<'_>,
    router: &Node<'_>,
    number: usize,
    is_v6: bool,
) -> Option<(Peer, Vec<Vec<Span>>)> {
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
pub(crate) const WELL_KNOWN: [(&str, u32); 5] = [
    ("no_export", 0xffff_ff01),
    ("no_advertised", 0xffff_ff02),
    ("no_export_subconfed", 0xffff_ff03),
    ("llgr_stale", 0xffff_0006),
    ("no_llgr", 0xffff_0007),
];
