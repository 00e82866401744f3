//! Protocols of devices and ports, a file each: their part of a configuration becomes one of the profile, requests concern them, and
//! they have metrics and states. [`ALL`] is the one list of them.
//!
//! Not here: the configuration of ports and hosts, which they are on.

mod bgp;
mod dhcp;
mod isis;
mod lacp;
mod lldp;
mod ospf;
mod request;
mod routers;

use crate::action::Restart;
use crate::error::Errors;
use crate::metrics::MetricsInput;
use crate::node::Node;
use crate::translate::{Ports, Side, Translation};
use profile::document::PortDoc;
use result::ProtocolStates;
use serde_json::Value;

pub(crate) use bgp::Peer;
pub use bgp::PeerPlan;
pub use dhcp::ClientPlan;
pub(crate) use dhcp::{ALL as ALL_CLIENTS, Client, client, has_client, vlans as vlans_of_clients};
pub(crate) use lacp::{Lag, Member, lag, member as lag_member};
pub use lacp::{LagPlan, LagPort};
pub use lldp::LinkAgentPlan;
pub(crate) use lldp::{Agent, agents};
pub(crate) use request::meant;
pub use request::{ProtocolsRequest, protocols};
pub use routers::{Igp, RouterPlan};

/// Every protocol, in the order in which messages name them.
pub(crate) const ALL: [&Protocol; 6] =
    [&bgp::PROTOCOL, &isis::PROTOCOL, &ospf::PROTOCOL, &dhcp::PROTOCOL, &lldp::PROTOCOL, &lacp::PROTOCOL];

/// A protocol.
pub(crate) struct Protocol {
    /// Reads its part of an entry of `devices` and adds it to the ports.
    read: fn(&mut Ports, &Node<'_>),
    /// Adds its part to a port of the profile.
    fill: fn(&Side, &mut PortDoc),
    /// Whether a configuration has it.
    is_in: fn(&Translation) -> bool,
    /// The path in the configuration of a path in the profile, if it is one of its parts on this port.
    path: fn(&Translation, usize, &str) -> Option<String>,
    /// Speakers that requests take up and down.
    speakers: &'static [Speakers],
    metrics: &'static [Metrics],
    states: &'static [States],
    /// Sessions that can be restarted.
    restart: Option<Restarts>,
}

/// Restarts of a protocol's sessions: choice of the request's `protocol`, and its reader.
type Restarts = (&'static str, fn(&Node<'_>, &Translation) -> Result<Option<Restart>, Errors>);

/// Speakers of a protocol in a `ControlState`.
struct Speakers {
    /// Choice of the request's `protocol`.
    choice: &'static str,
    /// Field of that, and its field with their names.
    fields: [&'static str; 2],
    /// Path of the request.
    path: &'static str,
    /// Their names in the model and in the profile.
    known: fn(&Translation) -> Vec<(&String, &String)>,
}

/// Metrics of a protocol.
pub(crate) struct Metrics {
    /// Choice of the request.
    pub(crate) request: &'static str,
    /// Choice of the response, and its field with the rows.
    pub(crate) response: [&'static str; 2],
    pub(crate) rows: fn(&Node<'_>, &MetricsInput<'_>) -> Vec<Value>,
}

/// States of a protocol.
pub(crate) struct States {
    /// Choice of request and response.
    pub(crate) choice: &'static str,
    /// Whether they are made of the routes and databases that are kept.
    pub(crate) learned: bool,
    pub(crate) rows: fn(&Node<'_>, &Translation, &ProtocolStates) -> Vec<Value>,
}

/// Reads the protocols of a device.
pub(crate) fn read(ports: &mut Ports, device: &Node<'_>) {
    ALL.iter().for_each(|protocol| (protocol.read)(ports, device));
}

/// Adds the protocols of a port to it.
pub(crate) fn fill(side: &Side, document: &mut PortDoc) {
    ALL.iter().for_each(|protocol| (protocol.fill)(side, document));
}

/// Whether a configuration has protocols.
pub(crate) fn any(translation: &Translation) -> bool {
    ALL.iter().any(|protocol| (protocol.is_in)(translation))
}

/// The path in the configuration of a path in the profile that is of a protocol on this port.
pub(crate) fn path(translation: &Translation, port: usize, path: &str) -> Option<String> {
    ALL.iter().find_map(|protocol| (protocol.path)(translation, port, path))
}

/// All metrics of protocols.
pub(crate) fn metrics() -> impl Iterator<Item = &'static Metrics> {
    ALL.into_iter().flat_map(|protocol| protocol.metrics)
}

/// All states of protocols.
pub(crate) fn states() -> impl Iterator<Item = &'static States> {
    ALL.into_iter().flat_map(|protocol| protocol.states)
}

/// All protocols whose sessions can be restarted.
pub(crate) fn restarts() -> impl Iterator<Item = Restarts> {
    ALL.into_iter().filter_map(|protocol| protocol.restart)
}

/// The number behind `list` in a path of the profile.
fn number_in(path: &str, list: &str) -> Option<usize> {
    path.split_once(list).and_then(|(_, rest)| rest.split(']').next()?.parse().ok())
}

/// The choices as an enumeration: `a, b or c`.
pub(crate) fn either(choices: &[&str]) -> String {
    match choices {
        [rest @ .., last] if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        all => all.concat(),
    }
}
