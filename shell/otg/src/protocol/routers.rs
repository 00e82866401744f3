//! IS-IS and OSPF routers of devices: their common part.

use super::number_in;
use crate::metrics::{MetricsInput, only, unknown};
use crate::node::Node;
use crate::translate::{Endpoint, PortPlan, Ports, RoutesPlan, Side, Span, Translation};
use profile::document::{IsisRouterDoc, Name, OspfRouterDoc};
use serde_json::{Map, Value};

/// Protocol of a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Igp {
    /// IS-IS.
    Isis,
    /// OSPFv2.
    Ospf,
    /// OSPFv3.
    Ospf3,
}

impl Igp {
    /// All there are.
    pub const ALL: [Self; 3] = [Self::Isis, Self::Ospf, Self::Ospf3];
}

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

/// A router in the making.
pub(crate) struct Router {
    pub(crate) plan: RouterPlan,
    pub(super) document: RouterDoc,
}

/// A router in a profile.
pub(super) enum RouterDoc {
    Isis(Box<IsisRouterDoc>),
    Ospf(Box<OspfRouterDoc>),
}

impl RouterDoc {
    /// Makes it the router of a host of its port.
    fn set_host(&mut self, host: Option<Name>) {
        match self {
            Self::Isis(router) => router.host = host,
            Self::Ospf(router) => router.host = host,
        }
    }
}

/// A router with what its ranges of routes span.
pub(super) type Read = (Router, Vec<Vec<Span>>);

/// LSPs or LSAs that are kept, of a router (at a level) and of all routers of a port.
const KEPT: (u32, u32) = (10_000, 100_000);

/// The documents of the routers of a port that `of` chooses, and the number of LSPs or LSAs that each keeps; `None` without routers.
pub(super) fn documents<D>(side: &Side, of: fn(&RouterDoc) -> Option<D>) -> Option<(u32, Vec<D>)> {
    let routers = side.routers.iter().filter_map(|router| Some((router.plan.learns, of(&router.document)?)));
    let (learns, documents): (Vec<bool>, Vec<D>) = routers.unzip();
    let share = KEPT.0.min(KEPT.1.checked_div(documents.len() as u32)?);
    let keep = if learns.contains(&true) { share } else { 0 };
    Some((keep, documents))
}

/// Adds the router of a device that `read` makes of its only interface, of the MTU of the host and of its number among all. The
/// `field` of the interface names `what` it runs on.
pub(super) fn add(
    ports: &mut Ports,
    node: &Node<'_>,
    (field, what): (&str, &str),
    read: impl FnOnce(&Node<'_>, Option<u32>, usize) -> Option<Read>,
) {
    let interfaces = node.items("interfaces");
    let Some((interface, others)) = interfaces.split_first() else {
        return node.fail_at("interfaces", "must not be empty");
    };
    others.iter().for_each(|other| other.fail("not supported: a router with several interfaces"));
    let Some(at) = ports.interface(interface, field, what) else { return };
    let known = || ports.sides.iter().flat_map(|side| &side.routers);
    let (name, number) = (node.text("name"), known().count());
    if known().any(|other| other.plan.name == name) {
        node.fail_at("name", format!("duplicate router '{name}'"));
    }
    let Some((router, spans)) = read(interface, ports.mtu(at), number) else { return };
    put(ports, at, router, spans);
}

fn put(ports: &mut Ports, at: Endpoint, mut router: Router, spans: Vec<Vec<Span>>) {
    router.document.set_host(ports.key_of(at).map(Name));
    ports.routes_of(at, &router.plan.routes, spans);
    ports.sides[at.port].routers.push(router);
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
