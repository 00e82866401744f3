//! Ports with their links, the hosts on them, and captures.

use super::capture::capture;
use super::ranges::Span;
use super::{CapturePlan, Interface, PortPlan, RoutesPlan};
use crate::node::Node;
use crate::protocols::{self, Agent, Client, Lag, LagPlan, Member, Peer, RouterPlan};
use profile::document::{
    CaptureDoc, HostDoc, Ip, IpPrefix, Mac, Name, OneOrMany, PortDoc, Speed, VlanId, VlanType,
};
use units::FrameLen;
use wire::{SERVICE_VLAN_TYPE, VLAN_TYPE};

/// Overhead of a frame over its IP packet: Ethernet header with FCS, and two VLAN tags.
const ETHERNET_BYTES: u32 = 18;
const VLAN_TAGS_BYTES: u32 = 8;

/// All ports.
pub(crate) struct Ports {
    pub(crate) sides: Vec<Side>,
    /// Names of devices and their interfaces, and where each is.
    endpoints: Vec<(String, Endpoint)>,
    /// Devices without an interface.
    bare: Vec<String>,
    lags: Vec<Lag>,
    /// Spans of ranges of routes, by the number that an end of a flow has.
    pub(super) spans: Vec<Vec<Span>>,
    /// Their names in the profile.
    pub(super) ranges: Vec<String>,
}

/// An end of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Endpoint {
    pub(crate) port: usize,
    /// The number of the device's interface on its port; `None` is the port itself.
    pub(super) host: Option<usize>,
    /// The number of a range of routes behind it.
    pub(super) routes: Option<usize>,
    /// The number of the client on its port that it is.
    pub(super) client: Option<usize>,
}

impl Endpoint {
    /// A port itself.
    pub(super) fn of_port(port: usize) -> Self {
        Self { port, host: None, routes: None, client: None }
    }
}

/// An Ethernet interface of a device: a host behind its port.
struct Host {
    /// Its name in the profile.
    key: String,
    mac: Option<Mac>,
    mtu: Option<u32>,
    vlans: Vec<VlanId>,
    vlan_type: Option<VlanType>,
    addresses: Vec<IpPrefix>,
    gateways: Vec<Ip>,
    /// Hardware addresses of gateways that are not resolved.
    gateway_macs: Vec<(Ip, Mac)>,
    interface: Interface,
}

/// A port in the making.
pub(crate) struct Side {
    pub(super) name: String,
    location: String,
    device: String,
    speed: Option<u64>,
    mtu: Option<u32>,
    hosts: Vec<Host>,
    pub(crate) peers: Vec<Peer>,
    pub(crate) routers: Vec<RouterPlan>,
    /// Parts of the profile that protocols make as they are read.
    pub(crate) parts: PortDoc,
    pub(crate) clients: Vec<Client>,
    pub(crate) agent: Option<Agent>,
    pub(crate) member: Option<Member>,
    capture: Option<(CapturePlan, CaptureDoc)>,
}

impl Ports {
    /// Reads everything about ports.
    pub(super) fn read(config: &Node<'_>, device: &dyn Fn(&str) -> String) -> Self {
        let mut ports = Self {
            sides: Vec::new(),
            endpoints: Vec::new(),
            bare: Vec::new(),
            lags: Vec::new(),
            spans: Vec::new(),
            ranges: Vec::new(),
        };
        for node in config.items("ports") {
            let (name, location) = (node.text("name").to_owned(), node.text("location").to_owned());
            if location.is_empty() {
                node.fail_at("location", "must name a device such as veth0 or ring:a");
            }
            if ports.find(&name).is_some() {
                node.fail_at("name", format!("duplicate port '{name}'"));
            }
            let device = device(&location);
            if let Some(other) = ports.sides.iter().find(|side| side.device == device && !location.is_empty())
            {
                node.fail_at(
                    "location",
                    format!("'{location}' is the location of port '{}', too", other.name),
                );
            }
            ports.sides.push(Side::new(name, location, device));
        }
        config.items("layer1").iter().for_each(|node| ports.layer1(node));
        config.items("lags").iter().enumerate().for_each(|(number, node)| ports.lag(node, number));
        config.items("devices").iter().for_each(|node| ports.device(node));
        protocols::agents(&mut ports, config);
        config.items("captures").iter().for_each(|node| ports.capture(node));
        ports
    }

    /// The port called `name`.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.sides.iter().position(|side| side.name == name)
    }

    /// The device or interface called `name`; why not, if it is none or means several.
    pub(super) fn find_endpoint(&self, name: &str) -> Result<Endpoint, String> {
        let mut found = self.endpoints.iter().filter(|(endpoint, _)| endpoint == name).map(|(_, at)| *at);
        let Some(first) = found.next() else {
            if self.bare.iter().any(|device| device == name) {
                return Err(format!(
                    "device '{name}' has no 'ethernets', so there is nothing to send from or to"
                ));
            }
            return Err(format!("unknown device or interface '{name}'"));
        };
        if found.any(|other| other != first) {
            return Err(format!("'{name}' has several interfaces: name one of them"));
        }
        Ok(first)
    }

    /// The name, in the profile, of the host at an end of a flow; `None` if the packet defines the addresses. Packets
    /// between ports belong to no device, unless their next hop must be resolved.
    pub(super) fn host_key(&self, at: Endpoint, is_resolved: bool) -> Option<String> {
        let hosts = &self.sides[at.port].hosts;
        if at.client.is_some() {
            return Some(protocols::ALL_CLIENTS.to_owned());
        }
        match at.host {
            Some(number) => Some(hosts[number].key.clone()),
            None => (!hosts.is_empty() && !is_resolved).then(|| self.key(at.port)),
        }
    }

    /// Its name in the model.
    pub(super) fn name(&self, port: usize) -> &str {
        &self.sides[port].name
    }

    /// Its name in the profile, where names have fewer characters to choose from.
    pub(super) fn key(&self, port: usize) -> String {
        format!("port{port}")
    }

    /// Bits per second of its link, if the configuration sets it.
    pub(super) fn speed(&self, port: usize) -> Option<u64> {
        self.sides[port].speed
    }

    /// The ports a list of names means; those there are not, are errors.
    fn named(&self, node: &Node<'_>) -> Vec<usize> {
        let find = |name: &&str| {
            let found = self.find(name);
            if found.is_none() {
                node.fail_at("port_names", format!("unknown port '{name}'"));
            }
            found
        };
        node.texts("port_names").iter().filter_map(find).collect()
    }

    fn layer1(&mut self, node: &Node<'_>) {
        node.text("name");
        // All received frames are looked at anyway.
        node.flag("promiscuous");
        // The link's own settings stay.
        for name in ["ieee_media_defaults", "auto_negotiate"] {
            if node.has(name) && !node.flag(name) {
                node.fail_at(name, "not supported: links keep their settings; 'ethtool' changes them");
            }
        }
        let speed = node.has("speed").then(|| node.text("speed"));
        let speed = speed.and_then(speed_bps);
        let mtu = node.has("mtu").then(|| node.whole("mtu") as u32);
        for port in self.named(node) {
            self.sides[port].speed = speed.or(self.sides[port].speed);
            self.sides[port].mtu = mtu.or(self.sides[port].mtu);
        }
    }

    fn device(&mut self, node: &Node<'_>) {
        let device = node.text("name").to_owned();
        if node.items("ethernets").is_empty() {
            self.bare.push(device.clone());
        }
        for ethernet in node.items("ethernets") {
            let connection = ethernet.child("connection");
            let port = match connection.choice() {
                "port_name" | "" => self.find(connection.text("port_name")),
                "lag_name" => {
                    let name = connection.text("lag_name");
                    match self.lags.iter().find(|lag| lag.plan.name == name).map(|lag| &lag.plan.ports[..]) {
                        Some([only]) => Some(only.port),
                        Some(_) => {
                            connection
                                .fail_at("lag_name", "not supported: a device on a lag of several ports");
                            continue;
                        }
                        None => {
                            connection.fail_at("lag_name", format!("unknown lag '{name}'"));
                            continue;
                        }
                    }
                }
                other => {
                    connection.fail_at(other, "not supported");
                    continue;
                }
            };
            let Some(port) = port else {
                let name = connection.text("port_name");
                connection.fail_at("port_name", format!("unknown port '{name}'"));
                continue;
            };
            if protocols::has_client(&ethernet) {
                self.client(&ethernet, port, &device);
                continue;
            }
            let number = self.sides[port].hosts.len();
            let (host, names) = Host::read(&ethernet, format!("h{number}"));
            let at = Endpoint { host: Some(number), ..Endpoint::of_port(port) };
            self.endpoints.push((device.clone(), at));
            self.endpoints.extend(names.into_iter().map(|name| (name, at)));
            self.sides[port].hosts.push(host);
        }
        protocols::read(self, node);
    }

    /// The interface, or address of one, that the field `name` names: `what` it has to be.
    pub(crate) fn interface(&self, node: &Node<'_>, name: &str, what: &str) -> Option<Endpoint> {
        match self.find_endpoint(node.text(name)) {
            Ok(at) if at.client.is_none() && at.routes.is_none() => return Some(at),
            Ok(_) => node.fail_at(name, format!("must be the name of {what} of a device")),
            Err(why) => node.fail_at(name, why),
        }
        None
    }

    /// Lets flows begin and end at ranges of routes behind a host.
    pub(crate) fn routes_of(&mut self, at: Endpoint, ranges: &[RoutesPlan], spans: Vec<Vec<Span>>) {
        for (routes, spans) in ranges.iter().zip(spans) {
            let end = Endpoint { routes: Some(self.spans.len()), ..at };
            self.endpoints.push((routes.name.clone(), end));
            self.spans.push(spans);
            self.ranges.push(routes.key.clone());
        }
    }

    /// The name, in the profile, of the host at an end of a flow.
    pub(crate) fn key_of(&self, at: Endpoint) -> Option<String> {
        self.host(at).map(|host| host.key.clone())
    }

    /// The MTU of the host at an end of a flow, if it sets one.
    pub(crate) fn mtu(&self, at: Endpoint) -> Option<u32> {
        self.host(at)?.mtu
    }

    /// The only gateway of a device's interface: of IPv4, or of IPv6. Of several it depends on the source which one it is.
    pub(super) fn gateway(&self, at: Endpoint, is_v4: bool) -> Option<Ip> {
        let mut found = self.host(at)?.gateways.iter().filter(|gateway| gateway.0.is_ipv4() == is_v4);
        found.next().filter(|_| found.next().is_none()).cloned()
    }

    /// The client that an interface is.
    fn client(&mut self, ethernet: &Node<'_>, port: usize, device: &str) {
        let number = self.sides[port].clients.len();
        let Some(client) = protocols::client(ethernet, self.sides[port].clients.last()) else { return };
        let at = Endpoint { client: Some(number), ..Endpoint::of_port(port) };
        let names = [device.to_owned(), client.ethernet.clone(), client.plan.name.clone()];
        self.endpoints.extend(names.into_iter().map(|name| (name, at)));
        self.sides[port].clients.push(client);
    }

    /// A lag with its ports.
    fn lag(&mut self, node: &Node<'_>, number: usize) {
        let mut lag = protocols::lag(node, number);
        if self.lags.iter().any(|other| other.plan.name == lag.plan.name) {
            node.fail_at("name", format!("duplicate lag '{}'", lag.plan.name));
        }
        for port_node in node.items("ports") {
            let name = port_node.text("port_name");
            let Some(port) = self.find(name) else {
                port_node.fail_at("port_name", format!("unknown port '{name}'"));
                continue;
            };
            if self.sides[port].member.is_some() {
                port_node.fail_at("port_name", format!("port '{name}' is in a lag already"));
            }
            let member = protocols::lag_member(&mut lag, &port_node, port);
            self.sides[port].mtu = member.mtu.or(self.sides[port].mtu);
            self.sides[port].member = Some(member);
        }
        if lag.plan.ports.is_empty() {
            node.fail_at("ports", "must not be empty");
        }
        self.lags.push(lag);
    }

    fn capture(&mut self, node: &Node<'_>) {
        for port in self.named(node) {
            let read = capture(node, &self.key(port));
            if self.sides[port].capture.is_some() {
                let name = &self.sides[port].name;
                node.fail_at("port_names", format!("port '{name}' already has a capture"));
            }
            self.sides[port].capture = Some(read);
        }
    }

    /// A host behind a tag tags what it sends, which the model does not.
    pub(super) fn check_vlan(&self, flow: &Node<'_>, from: Endpoint, is_resolved: bool) {
        let tagged = flow.items("packet").iter().any(|header| header.choice() == "vlan");
        let has_vlans = match from.host {
            Some(_) => self.host(from).is_some_and(|host| !host.vlans.is_empty()),
            None if from.client.is_some() => {
                protocols::vlans_of_clients(&self.sides[from.port].clients).is_some()
            }
            None => is_resolved && self.sides[from.port].hosts.iter().any(|host| !host.vlans.is_empty()),
        };
        if has_vlans && !tagged {
            flow.fail_at("packet", "needs a vlan header: the sending device has VLANs");
        }
    }

    /// The longest frame a link, or a device on it, takes.
    pub(super) fn check_mtu(&self, flow: &Node<'_>, from: Endpoint, longest: FrameLen) {
        let of_host = self.mtu(from);
        let Some(mtu) = of_host.into_iter().chain(self.sides[from.port].mtu).min() else { return };
        if longest.bytes() > mtu + ETHERNET_BYTES + VLAN_TAGS_BYTES {
            flow.fail_at("size", format!("{longest} exceeds the port's mtu of {mtu}"));
        }
    }

    fn host(&self, endpoint: Endpoint) -> Option<&Host> {
        self.sides[endpoint.port].hosts.get(endpoint.host?)
    }

    /// A profile's `ports`.
    pub(super) fn document(&self) -> impl Iterator<Item = (String, PortDoc)> {
        self.sides.iter().enumerate().map(|(port, side)| (self.key(port), side.document()))
    }

    /// Resulting plans.
    pub(super) fn plans(self) -> (Vec<LagPlan>, Vec<PortPlan>) {
        let keys: Vec<String> = (0..self.sides.len()).map(|port| self.key(port)).collect();
        let plan = |(side, key): (Side, String)| PortPlan {
            name: side.name,
            key,
            location: side.location,
            device: side.device,
            speed_bps: side.speed,
            capture: side.capture.map(|(plan, _)| plan),
            interfaces: side.hosts.into_iter().map(|host| host.interface).collect(),
            peers: side.peers.into_iter().map(|peer| peer.plan).collect(),
            routers: side.routers,
            clients: side.clients.into_iter().map(|client| client.plan).collect(),
            agent: side.agent.map(|agent| agent.plan),
        };
        let lags = self.lags.into_iter().map(|lag| lag.plan).collect();
        (lags, self.sides.into_iter().zip(keys).map(plan).collect())
    }
}

impl Side {
    fn new(name: String, location: String, device: String) -> Self {
        Self {
            name,
            location,
            device,
            speed: None,
            mtu: None,
            hosts: Vec::new(),
            peers: Vec::new(),
            routers: Vec::new(),
            parts: PortDoc::default(),
            clients: Vec::new(),
            agent: None,
            member: None,
            capture: None,
        }
    }

    fn document(&self) -> PortDoc {
        let mut document = PortDoc {
            // The port's own host is nobody's: what is sent between ports is sent as it is written.
            hosts: self.hosts.iter().map(Host::document).collect(),
            speed: self.speed.map(Speed),
            capture: self.capture.as_ref().map(|(_, capture)| capture.clone()),
            vlan: protocols::vlans_of_clients(&self.clients),
            vlan_type: self.clients.first().and_then(|client| client.vlan_type.clone()),
            ..PortDoc::new(&self.device)
        };
        protocols::fill(self, &mut document);
        document
    }
}

impl Host {
    /// An Ethernet interface with its addresses, and the names by which flows mean it.
    fn read(node: &Node<'_>, key: String) -> (Self, Vec<String>) {
        let name = node.text("name").to_owned();
        let interface = Interface {
            ethernet: name.clone(),
            host: key.clone(),
            path: node.path().to_owned(),
            addresses: Vec::new(),
            gateways: Vec::new(),
        };
        let mut host = Self {
            key,
            mac: node.has("mac").then(|| node.quantity("mac")).flatten(),
            mtu: node.has("mtu").then(|| node.whole("mtu") as u32),
            vlans: Vec::new(),
            vlan_type: None,
            addresses: Vec::new(),
            gateways: Vec::new(),
            gateway_macs: Vec::new(),
            interface,
        };
        (host.vlans, host.vlan_type) = (vlans(node), vlan_type(node));
        let mut names = vec![name];
        for item in ["ipv4_addresses", "ipv6_addresses"].into_iter().flat_map(|family| node.items(family)) {
            host.address(&item);
            let (name, address) = (item.text("name").to_owned(), item.text("address").to_owned());
            host.interface.addresses.push((name.clone(), address));
            names.push(name);
        }
        host.interface.gateways = host.gateways.iter().map(Ip::to_string).collect();
        (host, names)
    }

    /// One of its addresses, and the gateway of that.
    fn address(&mut self, item: &Node<'_>) {
        let prefix = format!("{}/{}", item.text("address"), item.whole("prefix"));
        match prefix.parse() {
            Ok(address) => self.addresses.push(address),
            Err(error) => item.fail_at("address", format!("{error}")),
        }
        let gateway_mac = item.child("gateway_mac");
        let is_given = gateway_mac.choice() == "value";
        gateway_mac.value("auto");
        let given: Option<Mac> = is_given.then(|| gateway_mac.quantity("value")).flatten();
        let Some(gateway) = item.quantity::<Ip>("gateway") else { return };
        let is_new = !self.gateways.contains(&gateway);
        let known = self.gateway_macs.iter().find(|(other, _)| *other == gateway).map(|(_, mac)| mac);
        if !is_new && known != given.as_ref() {
            gateway_mac.fail(format!("conflicts with another address's gateway_mac for gateway {gateway}"));
        }
        if is_new {
            self.gateway_macs.extend(given.map(|mac| (gateway.clone(), mac)));
            self.gateways.push(gateway);
        }
    }

    /// The host in a profile.
    fn document(&self) -> HostDoc {
        HostDoc {
            gateway: Some(OneOrMany::Many(self.gateways.clone())),
            gateway_mac: self.gateway_macs.iter().map(|(ip, mac)| (ip.to_string(), mac.clone())).collect(),
            mac: self.mac.clone(),
            vlan: (!self.vlans.is_empty()).then(|| OneOrMany::Many(self.vlans.clone())),
            vlan_type: self.vlan_type.clone(),
            ..HostDoc::new(Name(self.key.clone()), self.addresses.clone())
        }
    }
}

/// The VLANs of an Ethernet interface.
pub(crate) fn vlans(node: &Node<'_>) -> Vec<VlanId> {
    let vlan = |vlan: Node<'_>| {
        vlan.text("name");
        VlanId(vlan.whole("id") as u16)
    };
    node.items("vlans").into_iter().map(vlan).collect()
}

/// The type of the outermost tag of an Ethernet interface, unless it is that of hosts which give none. Inner ones have 0x8100.
pub(crate) fn vlan_type(node: &Node<'_>) -> Option<VlanType> {
    let usual = if node.items("vlans").len() > 1 { SERVICE_VLAN_TYPE } else { VLAN_TYPE };
    let mut outer = None;
    for (depth, vlan) in node.items("vlans").into_iter().enumerate() {
        let kind: Option<VlanType> = format!("0{}", vlan.text("tpid")).parse().ok();
        match kind {
            Some(kind) if depth == 0 => outer = Some(kind),
            Some(VlanType(VLAN_TYPE)) => {}
            None if depth == 0 => vlan.fail_at("tpid", "not supported: use x8100, x88a8 or x9100"),
            _ => vlan.fail_at("tpid", "not supported for an inner VLAN: use x8100"),
        }
    }
    outer.filter(|kind| kind.0 != usual)
}

/// `speed_10_fd_mbps`, `speed_400_gbps`.
fn speed_bps(word: &str) -> Option<u64> {
    let number: u64 = word.split('_').nth(1)?.parse().ok()?;
    Some(number * if word.ends_with("gbps") { 1_000_000_000 } else { 1_000_000 })
}
