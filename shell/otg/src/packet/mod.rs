//! Translates a flow's headers to a profile's `packet` and `vary`.
//!
//! Most headers are in the protocol catalogue, which computes lengths, types and checksums. Others become plain bytes, and
//! their varying fields become bits of the frame.

mod cfm;
mod header;
mod ip;
mod lacp;
mod plain;
mod rsvp;
mod snmp;

use crate::node::Node;
use crate::pattern::VALUES_MAX;
use header::{Header, Varied};
use profile::document::{PacketElement, VaryDoc};
use units::FrameLen;
use wire::{BuildError, Kind, PacketSpec};

/// Bytes of the Ethernet header.
const ETHERNET_BYTES: usize = 14;

/// Type of a VLAN tag; the model does not distinguish service tags.
const VLAN_TYPE: u128 = 0x8100;

/// A flow's packet.
#[derive(Debug, Clone)]
pub(crate) struct Packet {
    /// The flow's field that lists them.
    field: &'static str,
    headers: Vec<Header>,
    /// The payload's first bytes.
    pub(crate) payload: Vec<u8>,
}

/// Bits of a frame as it arrives, with the name of their tag.
pub(crate) struct TaggedBits {
    pub(crate) name: String,
    /// First bit from the frame's start.
    pub(crate) offset: usize,
    pub(crate) width: usize,
}

/// One of the streams that a flow is split into by its tags.
pub(crate) struct Branch {
    /// Names of the tags with the hexadecimal value of each.
    pub(crate) tags: Vec<(String, String)>,
    packet: Packet,
}

impl Packet {
    /// Reads the headers of a flow.
    pub(crate) fn read(flow: &Node<'_>, between_devices: bool) -> Self {
        let mut headers = read_headers(flow, "packet", between_devices);
        if headers.is_empty() && flow.items("packet").is_empty() {
            headers = ip::ethernet(&flow.child_of_message("FlowEthernet", "packet"), between_devices);
        }
        let mut packet = Self { field: "packet", headers, payload: Vec::new() };
        packet.begin_with_ethernet(flow);
        packet
    }

    /// Reads the headers with which a flow's frames are expected to arrive; `None` without any. Their values are without effect.
    pub(crate) fn read_egress(flow: &Node<'_>) -> Option<Self> {
        let field = "egress_packet";
        let headers = read_headers(flow, field, false);
        let mut packet = Self { field, headers, payload: Vec::new() };
        if packet.headers.is_empty() {
            return None;
        }
        packet.begin_with_ethernet(flow);
        packet.put_in_order(flow);
        Some(packet)
    }

    /// Its tagged bits, in order.
    pub(crate) fn tagged_bits(&self) -> Vec<TaggedBits> {
        let offsets = self.spec().build_unpadded().map(|packet| packet.offsets).unwrap_or_default();
        let of = |(header, offset): (&Header, &usize)| {
            let bits = |tag: &header::Tag| TaggedBits {
                name: tag.tag.name.clone(),
                offset: offset * 8 + tag.at + tag.tag.offset,
                width: tag.tag.width,
            };
            header.tags.iter().map(bits).collect::<Vec<_>>()
        };
        self.headers.iter().zip(&offsets).flat_map(of).collect()
    }

    /// Names of its tags.
    pub(crate) fn tag_names(&self) -> impl Iterator<Item = &str> {
        self.headers.iter().flat_map(|header| &header.tags).map(|tag| tag.tag.name.as_str())
    }

    /// Converts leading plain bytes to an Ethernet header.
    fn begin_with_ethernet(&mut self, flow: &Node<'_>) {
        let Some(first) = self.headers.first() else { return };
        if first.protocol.is_some_and(|protocol| protocol.name == "ethernet") {
            return;
        }
        let at = ETHERNET_BYTES * 8;
        if first.protocol.is_some() || first.len() < at || !first.tags.is_empty() || !first.varied.is_empty()
        {
            flow.fail_at(
                self.field,
                "the first header must be ethernet, or custom bytes with the whole Ethernet header",
            );
            return;
        }
        let (mut ethernet, mut rest) = (first.clone(), first.clone());
        ethernet.protocol = wire::protocol("ethernet");
        ethernet.cut(0, at);
        rest.cut(at, first.len());
        self.headers.splice(0..1, [ethernet, rest].into_iter().filter(|header| header.len() > 0));
    }

    fn spec(&self) -> PacketSpec {
        let headers = self.headers.iter().map(Header::spec).collect();
        PacketSpec { headers, payload: self.payload.clone(), ..PacketSpec::default() }
    }

    /// The shortest frame that holds it and `extra` bytes.
    pub(crate) fn shortest(&self, extra: usize) -> FrameLen {
        self.spec().shortest(extra)
    }

    /// Allows header orders that the catalogue does not have: sets the previous header's type to the model's fallback, or
    /// separates the headers.
    pub(crate) fn put_in_order(&mut self, flow: &Node<'_>) {
        self.name_what_follows();
        // Each iteration fixes one header.
        for _ in 0..=2 * self.headers.len() {
            match self.spec().build_unpadded() {
                Err(BuildError::CannotFollow { index, .. }) => {
                    if !self.headers[index - 1].set_unknown_next() {
                        self.headers.insert(index, Header::empty());
                    }
                }
                Err(BuildError::NoPseudoHeader { index, name }) => {
                    let reason =
                        format!("the checksum of {name} covers IP addresses: put ipv4 or ipv6 before it");
                    flow.log_fail(&self.headers[index].path, &reason);
                    return;
                }
                // Reported when the headers were read.
                Err(BuildError::CannotBeFirst { .. }) => return,
                Err(error) => {
                    flow.fail_at(self.field, error.to_string());
                    return;
                }
                Ok(_) => return,
            }
        }
        flow.fail_at(self.field, "unsupported order of headers");
    }

    /// Sets types where the model differs from the catalogue: before nothing, before bytes, and of VLAN tags.
    fn name_what_follows(&mut self) {
        for index in 0..self.headers.len() {
            // Options and other parts of a header have no type.
            let is_part = |header: &&Header| header.protocol.is_some_and(|protocol| protocol.part.is_some());
            let next = self.headers[index + 1..].iter().find(|header| !is_part(header));
            match next.map(|next| next.protocol.map(|protocol| protocol.name)) {
                None | Some(None) => {
                    self.headers[index].set_unknown_next();
                }
                Some(Some("vlan")) => self.headers[index].set_next(VLAN_TYPE),
                Some(Some(_)) => {}
            }
        }
    }

    /// Sets requested wrong checksums to a value that differs from a frame of `size`. Returns whether there was one.
    pub(crate) fn spoil(&mut self, size: FrameLen) -> bool {
        let bad: Vec<usize> =
            (0..self.headers.len()).filter(|index| self.headers[*index].bad.is_some()).collect();
        for index in &bad {
            let Ok(packet) = self.spec().build(size) else { continue };
            let Some((at, width)) = self.headers[*index].bad.take() else { continue };
            let offset = packet.offsets[*index] + at / 8;
            let right = packet.bytes[offset..].iter().take(2).fold(0u16, |sum, b| sum << 8 | u16::from(*b));
            // All ones and zero are equivalent, and zero means no checksum in UDP.
            let wrong = if right >= 0xfffe { 1 } else { right + 1 };
            self.headers[*index].set(at, u128::from(wrong), width);
        }
        !bad.is_empty()
    }

    /// The streams for this packet's tags: one per combination of values of the tagged fields.
    pub(crate) fn branches(&self, flow: &Node<'_>) -> Vec<Branch> {
        let mut count = 1;
        for header in &self.headers {
            for varied in header.tagged() {
                match varied.series.period() {
                    Some(period) => count = lcm(count, period).min(VALUES_MAX + 1),
                    None => {
                        flow.log_fail(&header.path, "a field with random values cannot have metric_tags");
                        return Vec::new();
                    }
                }
            }
        }
        if count > VALUES_MAX {
            flow.fail_at(
                "packet",
                format!("fields with metric_tags have more than {VALUES_MAX} combinations"),
            );
            return Vec::new();
        }
        (0..count).map(|n| self.branch(n)).collect()
    }

    fn branch(&self, n: u64) -> Branch {
        let mut packet = self.clone();
        let mut tags = Vec::new();
        for header in &mut packet.headers {
            let fixed: Vec<Varied> = header.tagged().cloned().collect();
            for varied in fixed {
                header.set(varied.at, varied.series.nth(n, varied.width), varied.width);
                header.varied.retain(|other| other.at != varied.at);
            }
            for tag in &header.tags {
                let value = header.get(tag.at + tag.tag.offset, tag.tag.width as u16);
                let digits = tag.tag.width.div_ceil(4);
                tags.push((tag.tag.name.clone(), format!("{value:0digits$x}")));
            }
        }
        Branch { tags, packet }
    }

    /// Elements of a profile's `packet`.
    fn elements(&self) -> Vec<PacketElement> {
        self.headers.iter().map(Header::element).collect()
    }

    /// A profile's `vary`.
    fn vary(&self) -> Vec<(String, VaryDoc)> {
        let offsets = self.spec().build_unpadded().map(|packet| packet.offsets).unwrap_or_default();
        let mut vary = Vec::new();
        for (index, header) in self.headers.iter().enumerate() {
            let same = |other: &&Header| match (other.protocol, header.protocol) {
                (Some(a), Some(b)) => a.name == b.name,
                _ => false,
            };
            let before = self.headers[..index].iter().filter(same).count();
            for Varied { at, width, series } in &header.varied {
                let (path, kind) = match (header.protocol, header.field_at(*at, *width)) {
                    (Some(protocol), Some(field)) => {
                        (format!("{}[{before}].{}", protocol.name, field.name), field.kind)
                    }
                    _ => {
                        let first = offsets.get(index).copied().unwrap_or_default() * 8 + at;
                        (format!("bits[{first}..{}]", first + usize::from(*width)), Kind::Number)
                    }
                };
                vary.push((path, series.vary(kind, *width)));
            }
        }
        vary
    }
}

impl Branch {
    /// A profile's `packet` and `vary`.
    pub(crate) fn document(&self) -> (Vec<PacketElement>, Vec<(String, VaryDoc)>) {
        (self.packet.elements(), self.packet.vary())
    }
}

/// Reads the headers in a flow's field.
fn read_headers(flow: &Node<'_>, field: &str, between_devices: bool) -> Vec<Header> {
    let nodes = flow.items(field);
    let next = |index: usize| nodes.get(index + 1).map(Node::choice);
    let header = |(index, node)| read_header(node, next(index), between_devices);
    nodes.iter().enumerate().flat_map(header).collect()
}

fn read_header(node: &Node<'_>, next: Option<&str>, between_devices: bool) -> Vec<Header> {
    let choice = node.choice();
    let inner = node.child(choice);
    let one = |native: &str, parts| vec![Header::native(native, &inner).parts(&inner, parts)];
    match choice {
        "ethernet" => ip::ethernet(&inner, between_devices),
        "vlan" => one("vlan", plain::VLAN),
        "vxlan" => one("vxlan", plain::VXLAN),
        "ipv4" => ip::ipv4(&inner),
        "ipv6" => ip::ipv6(&inner),
        "ipv6_extension_header" => ip::extension(&inner),
        "pfcpause" => plain::pfc(&inner),
        "ethernetpause" => plain::pause(&inner),
        "tcp" => one("tcp", plain::TCP),
        "udp" => one("udp", plain::UDP),
        "gre" => plain::gre(&inner),
        "gtpv1" => plain::gtpv1(&inner),
        "gtpv2" => plain::gtpv2(&inner),
        "arp" => one("arp", plain::ARP),
        "icmp" => one("icmp", plain::ECHO),
        "icmpv6" => one("icmpv6", plain::ECHO),
        "ppp" => plain::ppp(&inner, next),
        "igmpv1" => one("igmp", plain::IGMPV1),
        "mpls" => one("mpls", plain::MPLS),
        "lacp" => lacp::headers(&inner),
        "snmpv2c" => snmp::header(&inner),
        "rsvp" => rsvp::header(&inner),
        "cfm" => cfm::header(&inner),
        "custom" => plain::custom(&inner),
        _ => {
            node.fail_at(choice, "not supported");
            Vec::new()
        }
    }
}

fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y != 0 {
        (x, y) = (y, x % y);
    }
    (a / x).saturating_mul(b)
}
