//! DHCP clients of devices.
//!
//! A profile has clients of a port that are alike, whose hardware addresses follow each other; so the interfaces of a port must be.

use super::ClientPlan;
use super::ports::{vlan_type as vlan_type_of, vlans as vlans_of};
use crate::node::Node;
use profile::document::{AddressByDoc, DhcpDoc, Dhcpv6Doc, Mac, OneOrMany, PortDoc, VlanId, VlanType};

/// Name of all clients of a port in a profile.
pub(super) const ALL: &str = "dhcp";
/// Length of requested prefixes; the model has none.
const PREFIX_LEN: u8 = 64;

/// Lists of an Ethernet interface of which a client has one alone.
const LISTS: [&str; 4] = ["ipv4_addresses", "ipv6_addresses", "dhcpv4_interfaces", "dhcpv6_interfaces"];

/// A client in the making.
pub(super) struct Client {
    pub(super) plan: ClientPlan,
    pub(super) ethernet: String,
    mac: Mac,
    vlans: Vec<VlanId>,
    pub(super) vlan_type: Option<VlanType>,
    asks: Asks,
}

/// Request of a client.
#[derive(PartialEq)]
enum Asks {
    V4 { broadcast: bool },
    V6 { address: bool, prefix: bool, rapid_commit: bool },
}

/// Reads the client of an Ethernet interface that has one; `before` is the one before it on the port.
pub(super) fn client(ethernet: &Node<'_>, before: Option<&Client>) -> Option<Client> {
    let is_v6 = ethernet.items("dhcpv4_interfaces").is_empty();
    let list = if is_v6 { "dhcpv6_interfaces" } else { "dhcpv4_interfaces" };
    for other in LISTS.into_iter().filter(|other| *other != list) {
        if !ethernet.items(other).is_empty() {
            ethernet.fail_at(other, format!("not supported beside '{list}'"));
        }
    }
    let nodes = ethernet.items(list);
    if nodes.len() > 1 {
        ethernet.fail_at(list, "not supported: one of an interface");
    }
    let node = nodes.first()?;
    let asks = if is_v6 { v6(node) } else { v4(node) };
    if !ethernet.has("mac") {
        ethernet.fail_at("mac", format!("is required with '{list}'"));
        return None;
    }
    let (mac, vlans): (Mac, _) = (ethernet.quantity("mac")?, vlans_of(ethernet));
    let vlan_type = vlan_type_of(ethernet);
    if let Some(before) = before {
        if units::Mac(mac.0).number() != units::Mac(before.mac.0).number() + 1 {
            ethernet.fail_at(
                "mac",
                "not supported: the MAC addresses of a port's DHCP clients must be consecutive in their order",
            );
        }
        if vlans != before.vlans || vlan_type != before.vlan_type || asks != before.asks {
            node.fail("not supported: clients of a port that differ in VLANs or in their requests");
        }
    }
    let (name, path) = (node.text("name").to_owned(), node.path().to_owned());
    let (ethernet, plan) = (ethernet.text("name").to_owned(), ClientPlan { name, path, is_v6 });
    Some(Client { plan, ethernet, mac, vlans, vlan_type, asks })
}

fn v4(node: &Node<'_>) -> Asks {
    if node.choice() == "server_address" {
        node.fail_at("server_address", "not supported: the first server that offers an address");
    }
    let asked = node.child("parameters_request_list");
    // Both are asked for always; times come unasked.
    let all =
        ["subnet_mask", "router", "renewal_timer", "rebinding_timer"].map(|name| (name, asked.flag(name)));
    for (name, _) in all.into_iter().take(2).filter(|(_, is_asked)| !is_asked) {
        asked.fail_at(name, "not supported: it is always requested");
    }
    Asks::V4 { broadcast: node.flag("broadcast") }
}

fn v6(node: &Node<'_>) -> Asks {
    let duid = node.child("duid_type");
    if duid.is_given() && duid.choice() != "ll" {
        duid.fail("not supported: a client's DUID is made from its MAC address (ll)");
    }
    let asked = node.child("ia_type");
    let kind = if asked.is_given() { asked.choice() } else { "iana" };
    // Servers set these times; what a client says of them is a wish (RFC 8415 section 21.4).
    let times = asked.child(kind);
    for name in ["t1", "t2"].into_iter().filter(|name| times.has(name)) {
        times.whole(name);
    }
    Asks::V6 { address: kind != "iapd", prefix: kind != "iana", rapid_commit: node.flag("rapid_commit") }
}

/// Adds the clients of a port to it.
pub(super) fn fill(clients: &[Client], port: &mut PortDoc) {
    let Some(first) = clients.first() else { return };
    let (count, mac) = (clients.len() as u32, Some(first.mac.clone()));
    match first.asks {
        Asks::V4 { broadcast } => port.dhcp = Some(DhcpDoc { mac, broadcast, ..DhcpDoc::new(count) }),
        Asks::V6 { address, prefix, rapid_commit } => {
            let (prefix, address) = (prefix.then_some(PREFIX_LEN), AddressByDoc::Asked(address));
            port.dhcpv6 = Some(Dhcpv6Doc { mac, address, prefix, rapid_commit, ..Dhcpv6Doc::new(count) });
        }
    }
}

/// The VLANs of a port's clients, if they are in any.
pub(super) fn vlans(clients: &[Client]) -> Option<OneOrMany<VlanId>> {
    let vlans = &clients.first()?.vlans;
    (!vlans.is_empty()).then(|| OneOrMany::Many(vlans.clone()))
}
