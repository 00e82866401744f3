//! Routers of devices: the common part of their protocols.

use super::number_in;
use crate::metrics::{MetricsInput, only, unknown};
use crate::node::Node;
use crate::translate::{PortPlan, Ports, RoutesPlan, Side, Span, Translation};
use profile::document::{Name, PortDoc};
use serde_json::{Map, Value};

/// Protocol of a router, by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Igp(pub(super) &'static str);

/// A router behind its port.
#[derive(Debug, Clone, PartialEq)]
pub struct RouterPlan {
    /// Protocol.
    pub igp: Igp,
    /// Its name in the model.
    pub name: String,
    /// Its name in the profile.
    pub key: String,
    /// Its path in the configuration.
    pub path: String,
    /// The name of its interface in the model.
    pub interface: String,
    /// Whether it shows the LSPs or LSAs it has learned.
    pub learns: bool,
    /// Its ranges of routes.
    pub routes: Vec<RoutesPlan>,
}

/// A router, its document in the profile, and what its ranges of routes span.
pub(super) type Read<D> = (RouterPlan, D, Vec<Vec<Span>>);

/// LSPs or LSAs that are kept, of a router (at a level) and of all routers of a port.
const KEPT: (u32, u32) = (10_000, 100_000);

/// The number of LSPs or LSAs that each router of these protocols behind a port keeps.
pub(super) fn kept(side: &Side, igps: &[Igp]) -> u32 {
    let routers: Vec<&RouterPlan> = side.routers.iter().filter(|router| igps.contains(&router.igp)).collect();
    let share = KEPT.0.min(KEPT.1.checked_div(routers.len() as u32).unwrap_or(0));
    if routers.iter().any(|router| router.learns) { share } else { 0 }
}

/// Adds the router of a device that `read` makes of its only interface, of the MTU of the host and of its number among all; `put`
/// adds it, as the router of a host, to the port's part of the profile. The `field` of the interface names `what` it runs on.
pub(super) fn add<D>(
    ports: &mut Ports,
    node: &Node<'_>,
    (field, what): (&str, &str),
    read: impl FnOnce(&Node<'_>, Option<u32>, usize) -> Option<Read<D>>,
    put: impl FnOnce(&mut PortDoc, Option<Name>, D),
) {
    let interfaces = node.items("interfaces");
    let Some((interface, others)) = interfaces.split_first() else {
        return node.fail_at("interfaces", "must not be empty");
    };
    others.iter().for_each(|other| other.fail("not supported: a router with several interfaces"));
    let Some(at) = ports.interface(interface, field, what) else { return };
    let known = || ports.sides.iter().flat_map(|side| &side.routers);
    let (name, number) = (node.text("name"), known().count());
    if known().any(|other| other.name == name) {
        node.fail_at("name", format!("duplicate router '{name}'"));
    }
    let Some((router, document, spans)) = read(interface, ports.mtu(at), number) else { return };
    let host = ports.key_of(at).map(Name);
    ports.routes_of(at, &router.routes, spans);
    let side = &mut ports.sides[at.port];
    put(&mut side.parts, host, document);
    side.routers.push(router);
}

/// The path in the configuration of an entry of `list` in a path of the profile: the list of routers of these protocols.
pub(super) fn path(
    translation: &Translation,
    port: usize,
    igps: &[Igp],
    path: &str,
    list: &str,
) -> Option<String> {
    let mut routers = translation.ports.get(port)?.routers.iter().filter(|router| igps.contains(&router.igp));
    Some(routers.nth(number_in(path, list)?)?.path.clone())
}

/// Names of the routers of a protocol in the model and in the profile.
pub(super) fn known(translation: &Translation, igp: Igp) -> Vec<(&String, &String)> {
    translation.routers(igp).map(|(_, router)| (&router.name, &router.key)).collect()
}

/// Rows of the routers that a request names, or of all; `row` makes one without its name.
pub(super) fn router_rows(
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
pub(super) fn named_routers<'a>(
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
