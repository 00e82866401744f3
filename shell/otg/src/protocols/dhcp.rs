//! DHCP clients of devices.
//!
//! A profile has clients of a port that are alike, whose hardware addresses follow each other; so the interfaces of a port must be.

use super::{Metrics, Protocol, States};
use crate::metrics::{MetricsInput, only, unknown};
use crate::node::Node;
use crate::translate::{PortPlan, Translation, vlan_type as vlan_type_of, vlans as vlans_of};
use profile::document::{AddressByDoc, DhcpDoc, Dhcpv6Doc, Mac, OneOrMany, PortDoc, VlanId, VlanType};
use result::{DhcpClientState, Dhcpv6ClientState, ProtocolStates};
use serde_json::{Map, Value, json};

pub(super) const PROTOCOL: Protocol = Protocol {
    // Clients are read with the interfaces that they are.
    read: |_, _| {},
    fill: |side, port| fill(&side.clients, port),
    is_in: |translation| translation.ports.iter().any(|port| !port.clients.is_empty()),
    path: |_, _, _| None,
    speakers: &[],
    metrics: &[
        Metrics {
            request: "dhcpv4_client",
            response: ["dhcpv4_client", "dhcpv4client_metrics"],
            rows: client_rows,
        },
        Metrics {
            request: "dhcpv6_client",
            response: ["dhcpv6_client", "dhcpv6client_metrics"],
            rows: client_rows6,
        },
    ],
    states: &[
        States { choice: "dhcpv4_interfaces", learned: false, rows: leases },
        States { choice: "dhcpv6_interfaces", learned: false, rows: leases6 },
    ],
    restart: None,
};

/// A DHCP client.
#[derive(Debug, Clone, PartialEq)]
pub struct ClientPlan {
    /// Its name in the model.
    pub name: String,
    /// Its path in the configuration.
    pub path: String,
    /// Whether it is a client of DHCPv6.
    pub is_v6: bool,
}

/// Name of all clients of a port in a profile.
pub(crate) const ALL: &str = "dhcp";
/// Length of requested prefixes; the model has none.
const PREFIX_LEN: u8 = 64;

/// Lists of an Ethernet interface of which a client has one alone.
const LISTS: [&str; 4] = ["ipv4_addresses", "ipv6_addresses", "dhcpv4_interfaces", "dhcpv6_interfaces"];

/// A client in the making.
pub(crate) struct Client {
    pub(crate) plan: ClientPlan,
    pub(crate) ethernet: String,
    mac: Mac,
    vlans: Vec<VlanId>,
    pub(crate) vlan_type: Option<VlanType>,
    asks: Asks,
}

/// Request of a client.
#[derive(PartialEq)]
enum Asks {
    V4 { broadcast: bool },
    V6 { address: bool, prefix: bool, rapid_commit: bool },
}

/// Whether an Ethernet interface has a client.
pub(crate) fn has_client(ethernet: &Node<'_>) -> bool {
    LISTS[2..].iter().any(|list| !ethernet.items(list).is_empty())
}

/// Reads the client of an Ethernet interface that has one; `before` is the one before it on the port.
pub(crate) fn client(ethernet: &Node<'_>, before: Option<&Client>) -> Option<Client> {
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
fn fill(clients: &[Client], port: &mut PortDoc) {
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
pub(crate) fn vlans(clients: &[Client]) -> Option<OneOrMany<VlanId>> {
    let vlans = &clients.first()?.vlans;
    (!vlans.is_empty()).then(|| OneOrMany::Many(vlans.clone()))
}

/// Counters of clients.
fn client_rows(node: &Node<'_>, input: &MetricsInput<'_>) -> Vec<Value> {
    let names = node.texts("client_names");
    let columns = node.texts("column_names");
    let all = || input.translation.clients(false);
    unknown(node, "client_names", &names, |name| all().any(|(_, _, client)| client.name == name));
    let wanted = all().filter(|(_, _, client)| names.is_empty() || names.contains(&client.name.as_str()));
    let row = |(port, number, client): (&PortPlan, usize, &ClientPlan)| {
        let is_it = |state: &&DhcpClientState| state.port == port.key && state.client as usize == number;
        let state = input.protocols.dhcp.iter().find(is_it);
        let count = |of: fn(&DhcpClientState) -> u32| Value::from(state.map_or(0, of));
        let mut row = Map::new();
        let mut put = |name: &str, value: Value| row.insert(name.to_owned(), value);
        put("name", client.name.clone().into());
        put("discovers_sent", count(|state| state.discovers));
        put("offers_received", count(|state| state.offers));
        put("requests_sent", count(|state| state.requests));
        put("acks_received", count(|state| state.acks));
        put("nacks_received", count(|state| state.naks));
        put("releases_sent", count(|state| state.releases));
        // Nobody checks that an address is free.
        put("declines_sent", 0.into());
        only(row, &columns)
    };
    wanted.map(row).collect()
}

/// Counters of clients of DHCPv6.
fn client_rows6(node: &Node<'_>, input: &MetricsInput<'_>) -> Vec<Value> {
    let names = node.texts("client_names");
    let columns = node.texts("column_names");
    let all = || input.translation.clients(true);
    unknown(node, "client_names", &names, |name| all().any(|(_, _, client)| client.name == name));
    let wanted = all().filter(|(_, _, client)| names.is_empty() || names.contains(&client.name.as_str()));
    let row = |(port, number, client): (&PortPlan, usize, &ClientPlan)| {
        let is_it = |state: &&Dhcpv6ClientState| state.port == port.key && state.client as usize == number;
        let state = input.protocols.dhcpv6.iter().find(is_it);
        let count = |of: fn(&Dhcpv6ClientState) -> u32| Value::from(state.map_or(0, of));
        let mut row = Map::new();
        let mut put = |name: &str, value: Value| row.insert(name.to_owned(), value);
        put("name", client.name.clone().into());
        put("solicits_sent", count(|state| state.solicits));
        put("advertisements_received", count(|state| state.advertises));
        put("advertisements_ignored", count(|state| state.passed_over));
        put("requests_sent", count(|state| state.requests));
        put("nacks_received", count(|state| state.refused));
        put("replies_received", count(|state| state.replies));
        put("renews_sent", count(|state| state.renews));
        put("rebinds_sent", count(|state| state.rebinds));
        put("releases_sent", count(|state| state.releases));
        // Clients do neither ask without a lease nor let servers reconfigure them.
        put("information_requests_sent", 0.into());
        put("reconfigures_received", 0.into());
        only(row, &columns)
    };
    wanted.map(row).collect()
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
