//! DHCP clients of devices.
//!
//! A profile has clients of a port that are alike, whose hardware addresses follow each other; so the interfaces of a port must be.

use super::ClientPlan;
use super::ports::vlans as vlans_of;
use crate::node::Node;
use profile::document::{DhcpDoc, Mac, OneOrMany, VlanId};

/// What a profile calls all clients of a port.
pub(super) const ALL: &str = "dhcp";

/// A client in the making.
pub(super) struct Client {
    pub(super) plan: ClientPlan,
    pub(super) ethernet: String,
    mac: Mac,
    vlans: Vec<VlanId>,
    broadcast: bool,
}

/// Reads the client of an Ethernet interface; `before` is the one before it on the port.
pub(super) fn client(ethernet: &Node<'_>, before: Option<&Client>) -> Option<Client> {
    for list in ["ipv4_addresses", "ipv6_addresses", "dhcpv6_interfaces"] {
        if !ethernet.items(list).is_empty() {
            ethernet.fail_at(list, "not supported beside 'dhcpv4_interfaces'");
        }
    }
    let nodes = ethernet.items("dhcpv4_interfaces");
    if nodes.len() > 1 {
        ethernet.fail_at("dhcpv4_interfaces", "not supported: one of an interface");
    }
    let node = nodes.first()?;
    if node.choice() == "server_address" {
        node.fail_at("server_address", "not supported: the first server that offers an address");
    }
    let asked = node.child("parameters_request_list");
    // Both are asked for always; times come unasked.
    let all =
        ["subnet_mask", "router", "renewal_timer", "rebinding_timer"].map(|name| (name, asked.flag(name)));
    for (name, _) in all.into_iter().take(2).filter(|(_, is_asked)| !is_asked) {
        asked.fail_at(name, "not supported: it is always asked for");
    }
    if !ethernet.has("mac") {
        ethernet.fail_at("mac", "is required with 'dhcpv4_interfaces'");
        return None;
    }
    let (mac, vlans, broadcast): (Mac, _, _) =
        (ethernet.quantity("mac")?, vlans_of(ethernet), node.flag("broadcast"));
    if let Some(before) = before {
        if units::Mac(mac.0).number() != units::Mac(before.mac.0).number() + 1 {
            ethernet.fail_at(
                "mac",
                "not supported: those of a port's DHCP clients must follow each other in their order",
            );
        }
        if vlans != before.vlans || broadcast != before.broadcast {
            node.fail("not supported: clients of a port with different VLANs or 'broadcast'");
        }
    }
    let (name, path) = (node.text("name").to_owned(), node.path().to_owned());
    Some(Client {
        plan: ClientPlan { name, path },
        ethernet: ethernet.text("name").to_owned(),
        mac,
        vlans,
        broadcast,
    })
}

/// The DHCP clients of a port in a profile.
pub(super) fn document(clients: &[Client]) -> Option<DhcpDoc> {
    let first = clients.first()?;
    Some(DhcpDoc {
        mac: Some(first.mac.clone()),
        broadcast: first.broadcast,
        ..DhcpDoc::new(clients.len() as u32)
    })
}

/// The VLANs of a port's clients, if they are in any.
pub(super) fn vlans(clients: &[Client]) -> Option<OneOrMany<VlanId>> {
    let vlans = &clients.first()?.vlans;
    (!vlans.is_empty()).then(|| OneOrMany::Many(vlans.clone()))
}
