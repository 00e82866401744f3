//! Groups of clients (TRex's option `--cc`): VLAN, MAC addresses and next hop of each range, and their servers.
//!
//! Here a group is a host, and its clients are behind it. Of a group for several devices (`count`) the clients take turns, and each
//! turn is a host.

use crate::Errors;
use crate::yaml::Node;
use schemars::JsonSchema;
use serde::Deserialize;
use std::fmt::Display;
use std::net::Ipv4Addr;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// MAC addresses of the ports of TRex's stateful simulator: clients', servers'.
pub(crate) const SIMULATED: [Mac; 2] = [Mac(0x1818_1818_1818), Mac(0x1010_1010_1010)];
/// Clients that take turns, one by one, in all groups of a file.
const TURNS_MAX: u64 = 4_096;

/// A file of groups, as written.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientsDoc {
    /// Whether all is in VLANs.
    #[serde(default)]
    pub vlan: bool,
    /// Groups.
    pub groups: Vec<GroupDoc>,
}

/// A group, as written.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GroupDoc {
    /// First client.
    pub ip_start: String,
    /// Last client.
    pub ip_end: String,
    /// Where its clients are.
    pub initiator: PlaceDoc,
    /// Where its servers are.
    pub responder: PlaceDoc,
    /// Devices: this number of clients have consecutive hardware addresses, then they repeat.
    pub count: Option<u16>,
}

/// Where an end of a group is, as written.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlaceDoc {
    /// VLAN.
    #[schemars(range(min = 1, max = 4094))]
    pub vlan: Option<u16>,
    /// MAC address to send from.
    pub src_mac: Option<String>,
    /// MAC address to send to.
    pub dst_mac: Option<String>,
    /// Gateway.
    pub next_hop: Option<String>,
    /// Source address of requests for the gateway's MAC address.
    pub src_ip: Option<String>,
}

/// Groups of clients.
#[derive(Debug, Clone)]
pub struct Groups {
    all: Vec<Group>,
    /// MAC addresses of both ports of TRex's simulator, clients' and servers'.
    simulated: Option<[Mac; 2]>,
}

#[derive(Debug, Clone)]
struct Group {
    first: Ipv4Addr,
    last: Ipv4Addr,
    initiator: Place,
    responder: Place,
    count: u16,
}

impl Group {
    /// Number of its clients.
    fn clients(&self) -> u64 {
        u64::from(u32::from(self.last) - u32::from(self.first)) + 1
    }
}

/// Placement of an end. With a next hop it has no separate MAC addresses, as on TRex.
#[derive(Debug, Clone, Default, PartialEq)]
struct Place {
    vlan: Option<u16>,
    src_mac: Option<Mac>,
    dst_mac: Option<Mac>,
    next_hop: Option<Ipv4Addr>,
    src_ip: Option<Ipv4Addr>,
}

/// A MAC address that can be counted up.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Mac(u64);

impl FromStr for Mac {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let bytes: Vec<&str> = text.split(':').collect();
        let byte = |byte: &str| {
            let is_one = (1..=2).contains(&byte.len()) && byte.bytes().all(|digit| digit.is_ascii_hexdigit());
            if is_one { u64::from_str_radix(byte, 16).map_err(|_| ()) } else { Err(()) }
        };
        if bytes.len() != 6 {
            return Err(());
        }
        bytes.into_iter().try_fold(0, |number, text| Ok(number << 8 | byte(text)?)).map(Self)
    }
}

impl Mac {
    fn plus(self, number: u16) -> Self {
        Self((self.0 + u64::from(number)) & 0xffff_ffff_ffff)
    }
}

impl Display for Mac {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let bytes = self.0.to_be_bytes();
        let bytes: Vec<String> = bytes[2..].iter().map(|byte| format!("{byte:02x}")).collect();
        f.write_str(&bytes.join(":"))
    }
}

impl Groups {
    /// The groups of a file.
    ///
    /// # Errors
    /// All invalid parts, each with its place.
    pub fn new(doc: &ClientsDoc) -> Result<Self, Errors> {
        let (mut groups, mut errors) = (Vec::<Group>::new(), Vec::new());
        for (index, written) in doc.groups.iter().enumerate() {
            let path = format!("groups[{index}]");
            match group(&path, written, doc.vlan) {
                Ok(group) => {
                    let both = |other: &&Group| group.first <= other.last && other.first <= group.last;
                    if let Some(other) = groups.iter().find(both) {
                        let ip = group.first.max(other.first);
                        errors.push(format!("{path}.ip_start: {ip} is in another group, too"));
                    }
                    groups.push(group);
                }
                Err(reasons) => errors.extend(reasons),
            }
        }
        let turns = groups.iter().filter(|group| group.count > 1);
        let turns: u64 = turns.map(Group::clients).sum();
        if turns > TURNS_MAX {
            errors
                .push(format!("{turns} clients in groups with 'count'; at most {TURNS_MAX} can take turns"));
        }
        let places: Vec<Option<(Option<u16>, Ipv4Addr)>> =
            groups.iter().map(|group| Some((group.initiator.vlan, group.initiator.src_ip?))).collect();
        for (index, place) in places.iter().enumerate().filter(|(_, place)| place.is_some()) {
            if let Some(other) = places[..index].iter().position(|other| other == place) {
                let reason = "has the address and VLAN of";
                errors.push(format!(
                    "groups[{index}].initiator.src_ip: {reason} groups[{other}]; give each its own"
                ));
            }
        }
        if errors.is_empty() { Ok(Self { all: groups, simulated: None }) } else { Err(Errors(errors)) }
    }

    /// The same between the two ports of TRex's simulator, which has no devices: a group's clients are one, and all servers of a VLAN
    /// have the first 'dst_mac' of its groups.
    pub(crate) fn simulated(&self) -> Self {
        let mut all = self.all.clone();
        for group in all.iter_mut().filter(|group| group.initiator.src_mac.is_none()) {
            group.count = 1;
        }
        Self { all, simulated: Some(SIMULATED) }
    }

    /// # Errors
    /// Groups without a destination for their frames.
    pub(crate) fn check(&self) -> Result<(), Errors> {
        let is_lost = |group: &Group| group.initiator.dst_mac.is_none() && group.initiator.next_hop.is_none();
        let lost =
            self.all.iter().enumerate().filter(|(_, group)| self.simulated.is_none() && is_lost(group));
        let errors: Vec<String> = lost
            .map(|(index, _)| {
                format!("--cc: groups[{index}].initiator: give 'dst_mac', or 'next_hop' and 'src_ip'")
            })
            .collect();
        if errors.is_empty() { Ok(()) } else { Err(Errors(errors)) }
    }

    /// The hosts of the clients' port.
    pub(crate) fn client_hosts(&self) -> Vec<Node> {
        self.turns().map(|turn| turn.host(self.simulated.map(|[mac, _]| mac))).collect()
    }

    /// The hosts of the servers' port, whose addresses begin with `first`: one for each VLAN.
    pub(crate) fn server_hosts(&self, first: Ipv4Addr) -> Result<Vec<Node>, String> {
        let hosts = self.responders()?.into_iter().map(|place| {
            let mut pairs = vec![pair("name", Node::text(server_name(&place)))];
            pairs.extend(place.vlan.map(|vlan| pair("vlan", Node::text(vlan))));
            pairs.extend(self.server_mac(&place).map(|mac| pair("mac", Node::text(mac))));
            pairs.push(pair("ip", Node::text(address(&place, first))));
            Node::Line(pairs)
        });
        Ok(hosts.collect())
    }

    /// Of clients in a range which host each is behind, and where their frames go.
    ///
    /// # Errors
    /// A client that is in no group.
    pub(crate) fn clients(&self, first: Ipv4Addr, last: Ipv4Addr) -> Result<Vec<(String, Node)>, String> {
        let range = u32::from(first)..=u32::from(last);
        if let Some(client) = self.stranger(&range) {
            return Err(format!("client {client} is in no group of --cc"));
        }
        let (mut hosts, mut macs) = (Vec::new(), Vec::new());
        for turn in self.turns() {
            let clients = turn.clients(&range);
            if clients.is_empty() {
                continue;
            }
            let name = turn.name();
            let clients = match &clients[..] {
                [one] => Node::text(one),
                several => Node::List(several.iter().map(Node::text).collect()),
            };
            macs.extend(self.hop_mac(&turn).map(|mac| pair(&name, Node::text(mac))));
            hosts.push((name, clients));
        }
        let mut pairs = vec![pair("hosts", Node::Line(hosts))];
        if !macs.is_empty() {
            pairs.push(pair("mac", Node::Line(macs)));
        }
        Ok(pairs)
    }

    /// The first client of a range that is in no group.
    fn stranger(&self, range: &RangeInclusive<u32>) -> Option<Ipv4Addr> {
        let mut spans: Vec<(u32, u32)> =
            self.all.iter().map(|group| (group.first.into(), group.last.into())).collect();
        spans.sort_unstable();
        let mut next = *range.start();
        for (first, last) in spans {
            if first <= next && next <= last {
                next = last.checked_add(1)?;
            }
        }
        (next <= *range.end()).then(|| next.into())
    }

    /// Which hosts servers are behind: all of them behind each.
    pub(crate) fn servers(&self, addresses: &str) -> Result<(String, Node), String> {
        let hosts = self.responders()?.into_iter();
        let hosts = hosts.map(|place| (server_name(&place), Node::text(addresses)));
        Ok(pair("hosts", Node::Line(hosts.collect())))
    }

    /// Groups by the turns that their clients take.
    fn turns(&self) -> impl Iterator<Item = Turn<'_>> {
        let groups = (1..).zip(&self.all);
        let turns = |group: &Group| 0..group.count.min(u16::try_from(group.clients()).unwrap_or(u16::MAX));
        groups.flat_map(move |(place, group)| turns(group).map(move |number| Turn { place, group, number }))
    }

    /// Destination of frames of a turn's clients, if no next hop is set.
    fn hop_mac(&self, turn: &Turn<'_>) -> Option<Mac> {
        let place = &turn.group.initiator;
        match self.simulated {
            Some(_) if place.next_hop.is_some() => None,
            Some(_) => self.server_mac(&Place { vlan: place.vlan, ..Place::default() }),
            None => place.dst_mac.map(|mac| mac.plus(turn.number)),
        }
    }

    /// The MAC address of the servers at a place; `None` is one that Eagre makes.
    fn server_mac(&self, place: &Place) -> Option<Mac> {
        let Some([_, mac]) = self.simulated else { return place.src_mac };
        let mut here = self.all.iter().map(|group| &group.initiator).filter(|other| other.vlan == place.vlan);
        Some(here.find_map(|other| other.dst_mac).unwrap_or(mac))
    }

    /// Placement of servers: one place for each VLAN of 'responder' and of 'initiator'. TRex ignores the former: its
    /// servers reply in the VLAN that a frame came in.
    fn responders(&self) -> Result<Vec<Place>, String> {
        let mut places: Vec<Place> = Vec::new();
        for (index, group) in self.all.iter().enumerate() {
            let ours = &group.responder;
            match places.iter().find(|other| other.vlan == ours.vlan) {
                None => places.push(ours.clone()),
                Some(other) if (other.src_mac, other.src_ip) == (ours.src_mac, ours.src_ip) => {}
                Some(_) => {
                    return Err(format!(
                        "groups[{index}].responder: servers of one VLAN have one src_mac and src_ip"
                    ));
                }
            }
        }
        for vlan in self.all.iter().map(|group| group.initiator.vlan) {
            if places.iter().all(|place| place.vlan != vlan) {
                places.push(Place { vlan, ..Place::default() });
            }
        }
        Ok(places)
    }
}

/// Clients of a group that have the same device.
struct Turn<'g> {
    /// Number of the group, from 1 on.
    place: usize,
    group: &'g Group,
    number: u16,
}

impl Turn<'_> {
    fn name(&self) -> String {
        match self.group.count {
            1 => format!("group{}", self.place),
            _ => format!("group{}_{}", self.place, self.number + 1),
        }
    }

    /// The host of its clients; `mac` is that of groups without one.
    fn host(&self, mac: Option<Mac>) -> Node {
        let place = &self.group.initiator;
        let mut pairs = vec![pair("name", Node::text(self.name()))];
        pairs.extend(place.vlan.map(|vlan| pair("vlan", Node::text(vlan))));
        let mac = place.src_mac.map(|mac| mac.plus(self.number)).or(mac);
        pairs.extend(mac.map(|mac| pair("mac", Node::text(mac))));
        let first = u32::from(self.group.first).saturating_add(self.number.into());
        pairs.push(pair("ip", Node::text(address(place, first.into()))));
        pairs.extend(place.next_hop.map(|hop| pair("gateway", Node::text(hop))));
        Node::Line(pairs)
    }

    /// Its clients in a range.
    fn clients(&self, range: &RangeInclusive<u32>) -> Vec<String> {
        let (first, last) = (u32::from(self.group.first), u32::from(self.group.last));
        let (from, to) = (first.max(*range.start()), last.min(*range.end()));
        if from > to {
            return Vec::new();
        }
        let count = u32::from(self.group.count);
        if count > 1 {
            let own = (from..=to).filter(|ip| (ip - first) % count == u32::from(self.number));
            return own.map(|ip| Ipv4Addr::from(ip).to_string()).collect();
        }
        let (from, to) = (Ipv4Addr::from(from), Ipv4Addr::from(to));
        vec![if from == to { from.to_string() } else { format!("{from}..{to}") }]
    }
}

fn pair(key: &str, node: Node) -> (String, Node) {
    (key.to_owned(), node)
}

fn server_name(place: &Place) -> String {
    place.vlan.map_or("servers".to_owned(), |vlan| format!("servers{vlan}"))
}

/// The address of a host: its source address for requests, on the next hop's network; else one of the clients'
/// addresses.
fn address(place: &Place, behind: Ipv4Addr) -> String {
    let Some(own) = place.src_ip else { return format!("{behind}/32") };
    let Some(hop) = place.next_hop else { return format!("{own}/32") };
    let bits = [u32::from(own), u32::from(hop)];
    // The smallest network of at most 254 hosts, or else of more, in which neither is the first or last address.
    let is_host = |length: &u32| {
        let rest = u32::MAX >> length;
        (bits[0] ^ bits[1]) & !rest == 0 && bits.iter().all(|ip| ip & rest != 0 && ip & rest != rest)
    };
    let length = (1..=24).rev().find(is_host).unwrap_or(1);
    format!("{own}/{length}")
}

fn group(path: &str, doc: &GroupDoc, vlan: bool) -> Result<Group, Vec<String>> {
    let mut errors = Vec::new();
    let first: Option<Ipv4Addr> = read(&mut errors, path, "ip_start", &Some(doc.ip_start.clone()), IP);
    let last: Option<Ipv4Addr> = read(&mut errors, path, "ip_end", &Some(doc.ip_end.clone()), IP);
    let initiator = place(&mut errors, &format!("{path}.initiator"), &doc.initiator, vlan);
    let responder = place(&mut errors, &format!("{path}.responder"), &doc.responder, vlan);
    let count = doc.count.unwrap_or(1);
    if first.zip(last).is_some_and(|(first, last)| first > last) {
        errors.push(format!("{path}.ip_end: the range ends before it begins"));
    }
    if count == 0 {
        errors.push(format!("{path}.count: must be at least 1"));
    }
    match (&initiator.next_hop, &initiator.dst_mac) {
        (Some(_), _) if count > 1 => {
            errors.push(format!("{path}.count: several next hops are not supported; make a group for each"));
        }
        (Some(_), _) if initiator.src_ip.is_none() => {
            errors
                .push(format!("{path}.initiator.src_ip: missing; 'next_hop' is resolved from this address"));
        }
        _ => {}
    }
    if responder.src_mac.is_some() && count > 1 {
        errors.push(format!("{path}.responder.src_mac: not supported with 'count'"));
    }
    let (Some(first), Some(last), true) = (first, last, errors.is_empty()) else { return Err(errors) };
    Ok(Group { first, last, initiator, responder, count })
}

const IP: &str = "an IPv4 address";
const MAC: &str = "a MAC address";

fn place(errors: &mut Vec<String>, path: &str, doc: &PlaceDoc, vlan: bool) -> Place {
    let place = Place {
        vlan: doc.vlan,
        src_mac: read(errors, path, "src_mac", &doc.src_mac, MAC),
        dst_mac: read(errors, path, "dst_mac", &doc.dst_mac, MAC),
        next_hop: read(errors, path, "next_hop", &doc.next_hop, IP),
        src_ip: read(errors, path, "src_ip", &doc.src_ip, IP),
    };
    match (vlan, doc.vlan) {
        (true, None) => errors.push(format!("{path}.vlan: missing; the file has 'vlan: true'")),
        (false, Some(_)) => errors.push(format!("{path}.vlan: the file does not have 'vlan: true'")),
        _ => {}
    }
    if place.next_hop.is_some() && (place.src_mac.is_some() || place.dst_mac.is_some()) {
        errors.push(format!("{path}: 'next_hop' and MAC addresses; use one of both"));
    }
    place
}

fn read<T: FromStr>(
    errors: &mut Vec<String>,
    path: &str,
    key: &str,
    text: &Option<String>,
    what: &str,
) -> Option<T> {
    let text = text.as_deref()?;
    let value = text.trim().parse().ok();
    if value.is_none() {
        errors.push(format!("{path}.{key}: '{}' is not {what}", text.escape_debug()));
    }
    value
}
