//! Packets: what their author left out is filled in from the ports, and who receives them is found.

use super::{Resolver, family, same_family};
use crate::document::packet::{Content, FILL, HEX, PAYLOAD, PacketElement, REPEAT};
use crate::document::quantity::Hex;
use crate::plan::NextHop;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use units::FrameLen;
use wire::Vlans;
use wire::{BuildError, Fill, Header, PacketSpec, Protocol, protocol};

/// A packet and where its headers come from.
#[derive(Clone, Default)]
pub(crate) struct Draft {
    pub(crate) spec: PacketSpec,
    /// For each header its index in the document; `None` for one its author left out.
    origins: Vec<Option<usize>>,
    /// Whether the profile defines the payload's filling.
    pub(crate) is_filled: bool,
    /// Number of VLAN tags of the sending host that were inserted; `None` if the tags are the author's.
    pub(crate) tags: Option<usize>,
}

impl Draft {
    /// Path of the header `index`, or of the whole packet if its author left the header out.
    fn path(&self, packet: &str, index: usize) -> String {
        match self.origins.get(index) {
            Some(Some(origin)) => format!("{packet}[{origin}]"),
            _ => packet.to_owned(),
        }
    }

    pub(crate) fn insert(&mut self, index: usize, header: Header) {
        self.spec.headers.insert(index, header);
        self.origins.insert(index, None);
    }

    /// The outermost IP header and its index.
    pub(crate) fn ip_header(&self) -> Option<(usize, &Header)> {
        let mut headers = self.spec.headers.iter().enumerate();
        headers.find(|(_, header)| matches!(header.protocol.name, "ipv4" | "ipv6"))
    }

    /// The VLANs the packet's author put it in; `None` if it is the sending host's.
    pub(super) fn own_tags(&self) -> Option<Vec<u16>> {
        let tags = self.spec.headers[1..].iter().take_while(|header| header.protocol.name == "vlan");
        let id = |tag: &Header| tag.value("id").or_else(|| Some(tag.protocol.field("id")?.default));
        (self.tags.is_none() && self.has("vlan")).then(|| tags.filter_map(id).map(|id| id as u16).collect())
    }

    /// The longest frames whose surplus is padding of the link rather than data of TCP: all of segments that open, end or reset a
    /// connection, the shortest of others. `None` if the author gives a payload, or TCP is not innermost.
    pub(super) fn padded_to(&self) -> Option<FrameLen> {
        /// FIN, SYN, RST.
        const CONTROL: u128 = 0x07;
        let last = self.spec.headers.iter().rev().find(|header| !header.protocol.name.starts_with("tcp_"))?;
        if last.protocol.name != "tcp" || !self.spec.payload.is_empty() || self.is_filled {
            return None;
        }
        let flags = last.value("flags").or_else(|| Some(last.protocol.field("flags")?.default))?;
        Some(if flags & CONTROL != 0 { FrameLen::MAX } else { FrameLen::MIN })
    }

    /// Gives the outermost tag the type that its host's have, unless the author wrote one.
    fn set_outer_type(&mut self, kind: Option<u16>) {
        let is_tagged = self.spec.headers.get(1).is_some_and(|header| header.protocol.name == "vlan");
        let (Some(kind), true) = (kind, is_tagged) else { return };
        let ethernet = &mut self.spec.headers[0];
        if let (Some(field), None) = (ethernet.protocol.field("type"), ethernet.value("type")) {
            ethernet.put(field, kind.into());
        }
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.spec.headers.iter().any(|header| header.protocol.name == name)
    }
}

/// The ports between which a packet goes, by their index in the plan, and their hosts.
#[derive(Clone, Copy)]
pub(super) struct Route {
    pub(super) from: usize,
    /// The host that sends it.
    pub(super) from_host: usize,
    pub(super) to: Option<usize>,
    /// The host it goes to, if the stream's author names it.
    pub(super) to_host: Option<usize>,
    /// Next hop of the packets, if given for the stream.
    pub(super) next_hop: Option<IpAddr>,
}

/// `draft` with tags of these VLANs, if it has no tags.
pub(super) fn tagged_by(draft: &Draft, vlans: &Vlans) -> Draft {
    let mut draft = draft.clone();
    if !draft.has("vlan") {
        draft.tags = Some(vlans.len());
        for (depth, id) in vlans.iter().enumerate() {
            let tag = Header::new(&wire::protocols::vlan::VLAN).with("id", (*id).into());
            draft.insert(depth + 1, tag);
        }
    }
    draft.set_outer_type(vlans.given_type());
    draft
}

impl Resolver<'_> {
    /// The headers as written, with Ethernet before them if they have none.
    pub(super) fn draft(&mut self, path: &str, elements: &[PacketElement]) -> Draft {
        let mut draft = Draft::default();
        for (index, element) in elements.iter().enumerate() {
            let behind = &elements[index + 1..];
            if let Some(bytes) = payload(element) {
                if behind.iter().any(|element| fill(element).is_none()) {
                    self.reading.fail(
                        format!("{path}[{index}]"),
                        "the payload must be the last element, followed only by 'fill'",
                    );
                }
                draft.spec.payload = bytes;
            } else if let Some(fill) = fill(element) {
                if !behind.is_empty() {
                    let reason = "the fill must be the last element of the packet";
                    self.reading.fail(format!("{path}[{index}]"), reason);
                }
                draft.spec.fill = fill;
                draft.is_filled = true;
            } else if let Some(header) = header(element) {
                draft.spec.headers.push(header);
                draft.origins.push(Some(index));
            }
        }
        if draft.spec.headers.first().is_none_or(|first| first.protocol.name != "ethernet") {
            draft.insert(0, Header::new(&wire::protocols::ethernet::ETHERNET));
        }
        draft
    }

    /// `draft` with the VLAN tags of the host `host` behind the port `from`, if it has no tags.
    pub(super) fn tagged(&self, draft: &Draft, from: usize, host: usize) -> Draft {
        match self.ports.get(from).map(|port| &port.hosts[host].vlans) {
            Some(vlans) => tagged_by(draft, vlans),
            None => {
                let mut draft = draft.clone();
                draft.set_outer_type(None);
                draft
            }
        }
    }

    /// Replaces the tags that [`Resolver::tagged`] added by another host's.
    pub(super) fn retag(&mut self, path: &str, draft: &mut Draft, from: usize, host: usize) {
        let Some(tags) = draft.tags else { return };
        let host = &self.ports[from].hosts[host];
        if tags != host.vlans.len() {
            let reason = format!(
                "copies are sent by hosts in {tags} and in {} VLANs, such as '{}'; make a stream of each kind",
                host.vlans.len(),
                host.name
            );
            self.reading.fail(path, reason);
            return;
        }
        for (header, id) in draft.spec.headers[1..].iter_mut().zip(host.vlans.iter()) {
            if let Some(field) = header.protocol.field("id") {
                header.put(field, (*id).into());
            }
        }
    }

    /// Fills in the addresses of the outermost IP header and finds who receives the packet.
    pub(super) fn address(&mut self, path: &str, draft: &mut Draft, route: Route) -> NextHop {
        let Some((index, _)) = draft.ip_header() else { return self.next_hop_without_ip(path, draft, route) };
        let at = draft.path(path, index);
        let filled = self.fill_addresses(&at, &mut draft.spec.headers[index], route);
        if draft.spec.headers[0].value("dst").is_some() {
            return NextHop::Given;
        }
        let (true, Some(dst)) = (filled, ip_value(&draft.spec.headers[index], "dst")) else {
            return NextHop::Given;
        };
        if let Some(mac) = group_mac(dst) {
            draft.spec.headers[0] = draft.spec.headers[0].clone().with("dst", mac);
            return NextHop::Given;
        }
        let src = ip_value(&draft.spec.headers[index], "src");
        self.next_hop(&at, src, dst, route)
    }

    /// The same for a packet that clients send, or that goes to clients, whose next hop follows from what they get:
    /// [`NextHop::PeerPort`] until then.
    pub(super) fn address_from_clients(&mut self, path: &str, draft: &mut Draft, route: Route) -> NextHop {
        let Some((index, _)) = draft.ip_header() else { return NextHop::Given };
        let at = draft.path(path, index);
        let filled = self.fill_addresses(&at, &mut draft.spec.headers[index], route);
        let dst = ip_value(&draft.spec.headers[index], "dst");
        if !filled || draft.spec.headers[0].value("dst").is_some() {
            return NextHop::Given;
        }
        match dst.and_then(group_mac) {
            Some(mac) => {
                draft.spec.headers[0] = draft.spec.headers[0].clone().with("dst", mac);
                NextHop::Given
            }
            None => NextHop::PeerPort,
        }
    }

    /// Whether both addresses are known in the end.
    fn fill_addresses(&mut self, path: &str, header: &mut Header, route: Route) -> bool {
        let name = header.protocol.name;
        let family = if name == "ipv4" { "IPv4" } else { "IPv6" };
        let mut complete = true;
        let v4 = name == "ipv4";
        let sender = Some(route.from_host);
        for (field, key, port, host) in
            [("src", "from", Some(route.from), sender), ("dst", "to", route.to, route.to_host)]
        {
            if header.value(field).is_some() {
                continue;
            }
            let host = |port| host.unwrap_or_else(|| self.host_of_family(port, v4));
            let address = port.and_then(|port| self.ports[port].hosts[host(port)].address(v4));
            if let Some(address) = address {
                *header = header.clone().with(field, bits(address.ip));
                continue;
            }
            complete = false;
            let why = match port {
                Some(port) => {
                    format!("port '{}' has no {family} address to take it from", self.ports[port].name)
                }
                None => format!("the stream has no '{key}' to take it from"),
            };
            self.reading.fail(path, format!("{name}.{field} is not set, and {why}"));
        }
        complete
    }

    fn next_hop_without_ip(&mut self, path: &str, draft: &Draft, route: Route) -> NextHop {
        let headers = &draft.spec.headers;
        let needs_dst =
            |header: &Header| header.protocol.needs.iter().any(|n| (n.0, n.1) == ("ethernet", "dst"));
        if headers[0].value("dst").is_some() || headers.iter().any(needs_dst) {
            return NextHop::Given;
        }
        if route.to.is_none() {
            self.reading.fail(path, "no destination MAC: set 'ethernet.dst' or 'to'");
        }
        NextHop::PeerPort
    }

    /// Next hop on the link for a packet from `src` to `dst`.
    fn next_hop(&mut self, path: &str, src: Option<IpAddr>, dst: IpAddr, route: Route) -> NextHop {
        let port = &self.ports[route.from];
        let (host, family) = (&port.hosts[route.from_host], family(dst));
        let whose = if route.from_host == 0 { "port" } else { "host" };
        let name = &host.name;
        if let Some(hop) = route.next_hop {
            if host.address(hop.is_ipv4()).is_none() {
                let family = self::family(hop);
                let reason = format!(
                    "next_hop is {hop}, and {whose} '{name}' has no {family} address to resolve it with"
                );
                self.reading.fail(path, reason);
            }
            return NextHop::Resolve(hop);
        }
        let own = host.addresses.iter().find(|own| src == Some(own.ip) && same_family(own.ip, dst)).copied();
        if let Some(address) = own.or_else(|| host.address(dst.is_ipv4())) {
            let is_near = host.addresses.iter().any(|own| own.is_next_to(dst));
            if let Some(ip) = if is_near { Some(dst) } else { host.gateway(&address) } {
                return NextHop::Resolve(ip);
            }
            let network = format!("{}/{}", address.ip, address.prefix_len);
            let reason = format!(
                "{dst} is not on the network of {whose} '{name}' ({network}); give the {whose} a gateway, or set ethernet.dst"
            );
            self.reading.fail(path, reason);
        } else if !host.addresses.is_empty() {
            // Routes of one family can lead to next hops of the other (RFC 8950).
            if let [only] = host.gateways[..] {
                return NextHop::Resolve(only);
            }
            let reason = format!(
                "{whose} '{name}' has no {family} address to resolve the next hop with; give it one, or set ethernet.dst"
            );
            self.reading.fail(path, reason);
        } else if route.to.is_none() {
            let reason = format!("no destination MAC: set 'ethernet.dst', or give {whose} '{name}' an 'ip'");
            self.reading.fail(path, reason);
        }
        NextHop::PeerPort
    }

    /// Builds the packet once, to learn whether its headers can follow each other.
    pub(super) fn check_order(&mut self, path: &str, draft: &Draft, size: FrameLen) {
        let (index, reason) = match draft.spec.build(size) {
            Ok(_) => return,
            Err(BuildError::CannotFollow { index, outer, inner }) => {
                let before = protocol(inner).map(Protocol::goes_behind_in_words).unwrap_or_default();
                let hint = match &before[..] {
                    "" => "it begins a frame".to_owned(),
                    before => format!("it follows {before}"),
                };
                (index, format!("{inner} cannot follow {outer}; {hint}"))
            }
            Err(BuildError::NoPseudoHeader { index, name }) => {
                let reason =
                    format!("the checksum of {name} covers IP addresses; put ipv4 or ipv6 before it");
                (index, reason)
            }
            Err(error @ BuildError::PartsTooLong { index, .. }) => (index, error.to_string()),
            Err(error) => (usize::MAX, error.to_string()),
        };
        self.reading.fail(draft.path(path, index), reason);
    }
}

/// The bytes of a payload element.
fn payload(element: &PacketElement) -> Option<Vec<u8>> {
    let PacketElement::Keyed(map) = element else { return None };
    match map.first()? {
        (key, Content::Text(text)) if key == HEX => Hex::parse(text).map(|bytes| bytes.0),
        (key, Content::Text(text)) if key == PAYLOAD => Some(text.clone().into_bytes()),
        _ => None,
    }
}

/// Filling of the payload by a fill element. Random bytes are the same in every run: the same profile sends the same.
fn fill(element: &PacketElement) -> Option<Fill> {
    let PacketElement::Keyed(map) = element else { return None };
    match map.first()? {
        (key, Content::Text(name)) if key == FILL => Some(match name.as_str() {
            "counter" => Fill::Counter,
            "prbs" => Fill::Prbs { seed: 0 },
            "random" => Fill::Random { seed: 0 },
            _ => Fill::Zeros,
        }),
        (key, Content::Fields(fields)) if key == FILL => {
            Some(Fill::Repeat(fields.get(REPEAT)?.text().into_bytes()))
        }
        _ => None,
    }
}

/// The header of an element the reader let pass.
fn header(element: &PacketElement) -> Option<Header> {
    match element {
        PacketElement::Bare(name) => protocol(name).map(Header::new),
        PacketElement::Keyed(map) => {
            let (name, Content::Fields(fields)) = map.first()? else { return None };
            let mut header = Header::new(protocol(name)?);
            for (name, value) in fields {
                if let Some(variable) = header.protocol.variable(name) {
                    header.variable = Some(variable.parse(&value.text()).ok()?);
                    continue;
                }
                let field = header.protocol.field(name)?;
                header.set.push((field, field.parse(&value.text()).ok()?));
            }
            Some(header)
        }
    }
}

pub(crate) fn bits(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(v4) => u32::from(v4).into(),
        IpAddr::V6(v6) => v6.into(),
    }
}

pub(super) fn ip_value(header: &Header, field: &str) -> Option<IpAddr> {
    let value = header.value(field)?;
    Some(match header.protocol.name {
        "ipv4" => IpAddr::V4(Ipv4Addr::from(value as u32)),
        _ => IpAddr::V6(Ipv6Addr::from(value)),
    })
}

/// The hardware address of a group (RFC 1112 section 6.4, RFC 2464 section 7) or of all on the link.
pub fn group_mac(dst: IpAddr) -> Option<u128> {
    match dst {
        IpAddr::V4(Ipv4Addr::BROADCAST) => Some(0xffff_ffff_ffff),
        IpAddr::V4(v4) if v4.is_multicast() => Some(0x0100_5e00_0000 | u128::from(u32::from(v4) & 0x7f_ffff)),
        IpAddr::V6(v6) if v6.is_multicast() => Some(0x3333_0000_0000 | (u128::from(v6) & 0xffff_ffff)),
        _ => None,
    }
}
