//! Ports with their links, the hosts on them, and captures.

use super::capture::capture;
use super::{CapturePlan, Interface, PortPlan};
use crate::node::Node;
use serde_json::{Map, Value, json};
use units::FrameLen;

/// What a frame has besides its IP packet: addresses, type and FCS, and two VLAN tags.
const ETHERNET_BYTES: u32 = 18;
const VLAN_TAGS_BYTES: u32 = 8;

/// All ports.
pub(super) struct Ports {
    pub(super) sides: Vec<Side>,
    /// Names of devices and their interfaces, and the port of each.
    endpoints: Vec<(String, usize)>,
}

/// A port in the making.
pub(super) struct Side {
    pub(super) name: String,
    location: String,
    speed: Option<u64>,
    mtu: Option<u32>,
    mac: Option<String>,
    vlans: Vec<u64>,
    addresses: Vec<String>,
    gateways: Vec<String>,
    interfaces: Vec<Interface>,
    capture: Option<(CapturePlan, Value)>,
}

impl Ports {
    /// Reads everything about ports.
    pub(super) fn read(config: &Node<'_>) -> Self {
        let mut ports = Self { sides: Vec::new(), endpoints: Vec::new() };
        for node in config.items("ports") {
            let (name, location) = (node.text("name").to_owned(), node.text("location").to_owned());
            if location.is_empty() {
                node.fail_at("location", "names no device, such as veth0 or ring:a");
            }
            if ports.find(&name).is_some() {
                node.fail_at("name", format!("there is another port '{name}'"));
            }
            ports.sides.push(Side::new(name, location));
        }
        config.items("layer1").iter().for_each(|node| ports.layer1(node));
        config.items("devices").iter().for_each(|node| ports.device(node));
        config.items("captures").iter().for_each(|node| ports.capture(node));
        ports
    }

    /// The port called `name`.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.sides.iter().position(|side| side.name == name)
    }

    /// The port of the device or interface called `name`.
    pub(super) fn find_endpoint(&self, name: &str) -> Option<usize> {
        self.endpoints.iter().find(|(endpoint, _)| endpoint == name).map(|(_, port)| *port)
    }

    /// Its name in the model.
    pub(super) fn name(&self, port: usize) -> &str {
        &self.sides[port].name
    }

    /// Its name in the profile, where names have fewer characters to choose from.
    pub(super) fn key(&self, port: usize) -> String {
        format!("port{port}")
    }

    /// Bits per second of its link, if the configuration says it.
    pub(super) fn speed(&self, port: usize) -> Option<u64> {
        self.sides[port].speed
    }

    /// The ports a list of names means; those there are not, are errors.
    fn named(&self, node: &Node<'_>) -> Vec<usize> {
        let find = |name: &&str| {
            let found = self.find(name);
            if found.is_none() {
                node.fail_at("port_names", format!("there is no port '{name}'"));
            }
            found
        };
        node.texts("port_names").iter().filter_map(find).collect()
    }

    fn layer1(&mut self, node: &Node<'_>) {
        node.text("name");
        // All received frames are looked at anyway.
        node.flag("promiscuous");
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
        for ethernet in node.items("ethernets") {
            let connection = ethernet.child("connection");
            let port = match connection.choice() {
                "port_name" | "" => self.find(connection.text("port_name")),
                other => {
                    connection.fail_at(other, "not supported");
                    continue;
                }
            };
            let Some(port) = port else {
                let name = connection.text("port_name");
                connection.fail_at("port_name", format!("there is no port '{name}'"));
                continue;
            };
            self.endpoints.push((device.clone(), port));
            self.host(&ethernet, port);
        }
    }

    /// An Ethernet interface with its addresses: the host the port plays.
    fn host(&mut self, node: &Node<'_>, port: usize) {
        let name = node.text("name").to_owned();
        self.endpoints.push((name.clone(), port));
        let side = &mut self.sides[port];
        if !side.interfaces.is_empty() {
            node.fail(format!("not supported: port '{}' plays one host, and has one already", side.name));
            return;
        }
        if node.has("mac") {
            side.mac = Some(node.text("mac").to_owned());
        }
        if node.has("mtu") {
            side.mtu = Some(node.whole("mtu") as u32);
        }
        for vlan in node.items("vlans") {
            side.vlans.push(vlan.whole("id"));
            vlan.text("name");
            if vlan.text("tpid") != "x8100" {
                vlan.fail_at("tpid", "not supported: tags of the tester's own packets have the usual types");
            }
        }
        let mut addresses = Vec::new();
        for family in ["ipv4_addresses", "ipv6_addresses"] {
            let items = node.items(family);
            if items.len() > 1 {
                node.fail_at(family, "not supported: a port has at most one address of each family");
            }
            for item in items {
                let gateway_mac = item.child("gateway_mac");
                if gateway_mac.choice() == "value" {
                    gateway_mac.fail_at("value", "not supported: gateways are asked for their address");
                }
                gateway_mac.value("auto");
                side.addresses.push(format!("{}/{}", item.text("address"), item.whole("prefix")));
                side.gateways.push(item.text("gateway").to_owned());
                addresses.push((item.text("name").to_owned(), item.text("address").to_owned()));
            }
        }
        let gateways = side.gateways.clone();
        self.endpoints.extend(addresses.iter().map(|(name, _)| (name.clone(), port)));
        side.interfaces.push(Interface { ethernet: name, addresses, gateways });
    }

    fn capture(&mut self, node: &Node<'_>) {
        for port in self.named(node) {
            let read = capture(node, &self.key(port));
            if self.sides[port].capture.is_some() {
                let name = &self.sides[port].name;
                node.fail_at("port_names", format!("port '{name}' has another capture already"));
            }
            self.sides[port].capture = Some(read);
        }
    }

    /// A host behind a tag tags all packets of its port that have none of their own, which the model does not.
    pub(super) fn check_vlan(&self, flow: &Node<'_>, port: usize) {
        let tagged = flow.items("packet").iter().any(|header| header.choice() == "vlan");
        if !self.sides[port].vlans.is_empty() && !tagged {
            flow.fail_at("packet", "needs a vlan header: the device on its port has VLANs");
        }
    }

    /// The longest frame a link takes.
    pub(super) fn check_mtu(&self, flow: &Node<'_>, port: usize, longest: FrameLen) {
        let Some(mtu) = self.sides[port].mtu else { return };
        if longest.bytes() > mtu + ETHERNET_BYTES + VLAN_TAGS_BYTES {
            flow.fail_at("size", format!("{longest} is too long for the port's mtu of {mtu}"));
        }
    }

    /// A profile's `ports`.
    pub(super) fn document(&self) -> Value {
        let sides = self.sides.iter().enumerate();
        sides.map(|(port, side)| (self.key(port), side.document())).collect::<Map<_, _>>().into()
    }

    /// What is told of them.
    pub(super) fn plans(self) -> Vec<PortPlan> {
        let keys: Vec<String> = (0..self.sides.len()).map(|port| self.key(port)).collect();
        let plan = |(side, key): (Side, String)| PortPlan {
            name: side.name,
            key,
            location: side.location,
            speed_bps: side.speed,
            capture: side.capture.map(|(plan, _)| plan),
            interfaces: side.interfaces,
        };
        self.sides.into_iter().zip(keys).map(plan).collect()
    }
}

impl Side {
    fn new(name: String, location: String) -> Self {
        Self {
            name,
            location,
            speed: None,
            mtu: None,
            mac: None,
            vlans: Vec::new(),
            addresses: Vec::new(),
            gateways: Vec::new(),
            interfaces: Vec::new(),
            capture: None,
        }
    }

    fn document(&self) -> Value {
        let mut port = json!({"device": self.location});
        if !self.addresses.is_empty() {
            port["ip"] = json!(self.addresses);
            port["gateway"] = json!(self.gateways);
        }
        if let Some(mac) = &self.mac {
            port["mac"] = json!(mac);
        }
        if !self.vlans.is_empty() {
            port["vlan"] = json!(self.vlans);
        }
        if let Some(speed) = self.speed {
            port["speed"] = json!(format!("{}Mbps", speed / 1_000_000));
        }
        if let Some((_, capture)) = &self.capture {
            port["capture"] = capture.clone();
        }
        port
    }
}

/// `speed_10_fd_mbps`, `speed_400_gbps`.
fn speed_bps(word: &str) -> Option<u64> {
    let number: u64 = word.split('_').nth(1)?.parse().ok()?;
    Some(number * if word.ends_with("gbps") { 1_000_000_000 } else { 1_000_000 })
}
