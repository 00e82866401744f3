//! LLDPDUs as bytes (IEEE 802.1AB clause 8).
//!
//! Invariant: a TLV is read within its length, and a text of a neighbour is printable.

use crate::frame::{Link, Mac};
use std::net::IpAddr;
use wire::Vlans;

pub(crate) const ETHERTYPE: u16 = 0x88cc;
/// Destination of LLDPDUs: the nearest bridge. The last byte is also that of groups which only customers' or no two-port bridges
/// stop (IEEE 802.1AB table 7-1).
const GROUP: Mac = [0x01, 0x80, 0xc2, 0, 0, 0x0e];
const GROUPS: [u8; 3] = [0x0e, 0x03, 0x00];
/// The longest text or identifier of a TLV (clause 8.5.2.3).
pub const TEXT_MAX: usize = 255;
/// Names of system capabilities by bit (clause 8.5.8.1).
pub const CAPABILITIES: [&str; 11] = [
    "other",
    "repeater",
    "bridge",
    "wlan_access_point",
    "router",
    "telephone",
    "docsis",
    "station",
    "c_vlan",
    "s_vlan",
    "two_port_mac_relay",
];

impl Link<'_> {
    /// An LLDPDU of the agent with the hardware address `from`, to the nearest bridge.
    pub(super) fn lldp(from: Mac, message: &[u8]) -> Vec<u8> {
        Link { from, to: GROUP, vlans: &Vlans::NONE }.direct(ETHERTYPE, message)
    }
}

/// Whether an LLDPDU to this address is for agents.
pub(super) fn is_group(to: Mac) -> bool {
    to[..5] == GROUP[..5] && GROUPS.contains(&to[5])
}

/// Types of TLVs.
mod kind {
    pub(crate) const END: u8 = 0;
    pub(crate) const CHASSIS: u8 = 1;
    pub(crate) const PORT: u8 = 2;
    pub(crate) const TTL: u8 = 3;
    pub(crate) const PORT_DESCRIPTION: u8 = 4;
    pub(crate) const SYSTEM_NAME: u8 = 5;
    pub(crate) const SYSTEM_DESCRIPTION: u8 = 6;
    pub(crate) const CAPABILITIES: u8 = 7;
    pub(crate) const MANAGEMENT: u8 = 8;
    pub(crate) const ORGANIZATION: u8 = 127;
}

/// Subtypes of chassis identifiers that are no text (clause 8.5.2.2), and of port identifiers (clause 8.5.3.2).
const CHASSIS_MAC: u8 = 4;
const CHASSIS_NETWORK: u8 = 5;
const PORT_MAC: u8 = 3;
const PORT_NETWORK: u8 = 4;
/// Numbers of address families (IANA).
const FAMILY_IPV4: u8 = 1;
const FAMILY_IPV6: u8 = 2;
/// The numbering of interfaces is not known (clause 8.5.9.5).
const INTERFACE_UNKNOWN: u8 = 1;
const INTERFACE: usize = 6;

/// Identifier of a chassis or a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LldpId {
    /// Subtype of the identifier; numbered differently for chassis and ports.
    pub subtype: u8,
    /// 1 to 255 bytes.
    pub value: Vec<u8>,
}

impl LldpId {
    /// A chassis by hardware address.
    pub fn chassis_mac(mac: [u8; 6]) -> Self {
        Self { subtype: CHASSIS_MAC, value: mac.to_vec() }
    }

    /// A chassis by address of a network.
    pub fn chassis_ip(ip: IpAddr) -> Self {
        Self { subtype: CHASSIS_NETWORK, value: network(ip) }
    }

    /// A chassis by the name of an interface.
    pub fn chassis_interface(name: &str) -> Self {
        Self { subtype: 6, value: name.into() }
    }

    /// A chassis by a text without meaning to others.
    pub fn chassis_local(text: &str) -> Self {
        Self { subtype: 7, value: text.into() }
    }

    /// A port by hardware address.
    pub fn port_mac(mac: [u8; 6]) -> Self {
        Self { subtype: PORT_MAC, value: mac.to_vec() }
    }

    /// A port by address of a network.
    pub fn port_ip(ip: IpAddr) -> Self {
        Self { subtype: PORT_NETWORK, value: network(ip) }
    }

    /// A port by the name of its interface.
    pub fn port_interface(name: &str) -> Self {
        Self { subtype: 5, value: name.into() }
    }

    /// A port by a text without meaning to others.
    pub fn port_local(text: &str) -> Self {
        Self { subtype: 7, value: text.into() }
    }

    /// Name of a chassis identifier's subtype.
    pub fn chassis_kind(&self) -> &'static str {
        let names = [
            "component",
            "interface_alias",
            "port_component",
            "mac",
            "network_address",
            "interface",
            "local",
        ];
        name(&names, self.subtype)
    }

    /// Name of a port identifier's subtype.
    pub fn port_kind(&self) -> &'static str {
        let names =
            ["interface_alias", "port_component", "mac", "network_address", "interface", "circuit", "local"];
        name(&names, self.subtype)
    }

    /// The identifier of a chassis as people write it.
    pub fn chassis_text(&self) -> String {
        self.text(CHASSIS_MAC, CHASSIS_NETWORK)
    }

    /// The identifier of a port as people write it.
    pub fn port_text(&self) -> String {
        self.text(PORT_MAC, PORT_NETWORK)
    }

    fn text(&self, mac: u8, network: u8) -> String {
        let known = match (self.subtype, &self.value[..]) {
            (subtype, value) if subtype == mac => {
                <[u8; 6]>::try_from(value).ok().map(|mac| units::Mac(mac).to_string())
            }
            (subtype, [family, address @ ..]) if subtype == network => {
                read_address(*family, address).map(|ip| ip.to_string())
            }
            (_, value) => {
                let text = std::str::from_utf8(value).ok();
                text.filter(|text| !text.chars().any(char::is_control)).map(str::to_owned)
            }
        };
        known.unwrap_or_else(|| hex(&self.value))
    }
}

fn name(names: &[&'static str], subtype: u8) -> &'static str {
    usize::from(subtype).checked_sub(1).and_then(|at| names.get(at)).copied().unwrap_or("reserved")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn network(ip: IpAddr) -> Vec<u8> {
    match ip {
        IpAddr::V4(ip) => [&[FAMILY_IPV4], &ip.octets()[..]].concat(),
        IpAddr::V6(ip) => [&[FAMILY_IPV6], &ip.octets()[..]].concat(),
    }
}

fn read_address(family: u8, address: &[u8]) -> Option<IpAddr> {
    match family {
        FAMILY_IPV4 => <[u8; 4]>::try_from(address).ok().map(IpAddr::from),
        FAMILY_IPV6 => <[u8; 16]>::try_from(address).ok().map(IpAddr::from),
        _ => None,
    }
}

/// System capabilities, as bits: the lowest is the first of [`CAPABILITIES`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capabilities {
    /// System capabilities.
    pub system: u16,
    /// Enabled capabilities.
    pub enabled: u16,
}

/// A TLV of an organization (clause 8.6).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OrganizationTlv {
    /// Organizationally unique identifier.
    pub oui: [u8; 3],
    /// Of the organization.
    pub subtype: u8,
    /// At most 507 bytes.
    pub value: Vec<u8>,
}

/// Data that an agent advertises about its system and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advert {
    /// The chassis; `None` is the hardware address of the agent.
    pub chassis: Option<LldpId>,
    /// The port.
    pub port: LldpId,
    /// Of at most [`TEXT_MAX`] bytes, as all texts here.
    pub port_description: Option<String>,
    /// Name of the system.
    pub system_name: Option<String>,
    /// System description.
    pub system_description: Option<String>,
    /// System capabilities.
    pub capabilities: Option<Capabilities>,
    /// Where it is managed.
    pub management: Vec<IpAddr>,
    /// More TLVs.
    pub organization: Vec<OrganizationTlv>,
}

impl Advert {
    /// The LLDPDU of the agent with this hardware address, with time to live `ttl_s`; 0 is a shutdown.
    pub fn write(&self, mac: [u8; 6], ttl_s: u16) -> Vec<u8> {
        let mut out = Vec::new();
        let own = LldpId::chassis_mac(mac);
        let chassis = self.chassis.as_ref().unwrap_or(&own);
        put(&mut out, kind::CHASSIS, &[&[chassis.subtype], &chassis.value]);
        put(&mut out, kind::PORT, &[&[self.port.subtype], &self.port.value]);
        put(&mut out, kind::TTL, &[&ttl_s.to_be_bytes()]);
        // Clause 8.2.1: a shutdown LLDPDU has nothing else.
        if ttl_s > 0 {
            self.write_optional(&mut out);
        }
        put(&mut out, kind::END, &[]);
        out
    }

    fn write_optional(&self, out: &mut Vec<u8>) {
        let texts = [
            (kind::PORT_DESCRIPTION, &self.port_description),
            (kind::SYSTEM_NAME, &self.system_name),
            (kind::SYSTEM_DESCRIPTION, &self.system_description),
        ];
        for (kind, text) in texts {
            if let Some(text) = text {
                put(out, kind, &[text.as_bytes()]);
            }
        }
        if let Some(of) = self.capabilities {
            put(out, kind::CAPABILITIES, &[&of.system.to_be_bytes(), &of.enabled.to_be_bytes()]);
        }
        for ip in &self.management {
            let address = network(*ip);
            let interface = [INTERFACE_UNKNOWN, 0, 0, 0, 0, 0];
            put(out, kind::MANAGEMENT, &[&[address.len() as u8], &address, &interface]);
        }
        for tlv in &self.organization {
            put(out, kind::ORGANIZATION, &[&tlv.oui, &[tlv.subtype], &tlv.value]);
        }
    }
}

fn put(out: &mut Vec<u8>, kind: u8, parts: &[&[u8]]) {
    let len: usize = parts.iter().map(|part| part.len()).sum();
    out.extend((u16::from(kind) << 9 | len as u16 & 0x1ff).to_be_bytes());
    parts.iter().for_each(|part| out.extend(*part));
}

/// An LLDPDU as a neighbour sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LldpMessage {
    /// The chassis.
    pub chassis: LldpId,
    /// The port.
    pub port: LldpId,
    /// Time to live.
    pub ttl_s: u16,
    /// Description of the port.
    pub port_description: Option<String>,
    /// Name of the system.
    pub system_name: Option<String>,
    /// System description.
    pub system_description: Option<String>,
    /// System capabilities.
    pub capabilities: Option<Capabilities>,
    /// Where it is managed; addresses of other families than IP are left out.
    pub management: Vec<IpAddr>,
    /// TLVs of organizations.
    pub organization: Vec<OrganizationTlv>,
    /// TLVs that were passed over: too short, or there twice.
    pub discarded: u64,
    /// TLVs of unassigned types.
    pub unknown: u64,
}

impl LldpMessage {
    /// The LLDPDU in these bytes; `None` if it does not begin with the three TLVs that all have, has one of them twice, or
    /// has a TLV that is cut off (clause 9.2.7.7).
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let mut rest = bytes;
        let mut must = |kind: u8, len: std::ops::RangeInclusive<usize>| -> Option<&[u8]> {
            let (found, value) = next(&mut rest)?;
            (found == kind && len.contains(&value.len())).then_some(value)
        };
        let id = |value: &[u8]| LldpId { subtype: value[0], value: value[1..].to_vec() };
        let chassis = id(must(kind::CHASSIS, 2..=TEXT_MAX + 1)?);
        let port = id(must(kind::PORT, 2..=TEXT_MAX + 1)?);
        let ttl = must(kind::TTL, 2..=511)?;
        let mut message = Self {
            chassis,
            port,
            ttl_s: u16::from_be_bytes([ttl[0], ttl[1]]),
            port_description: None,
            system_name: None,
            system_description: None,
            capabilities: None,
            management: Vec::new(),
            organization: Vec::new(),
            discarded: 0,
            unknown: 0,
        };
        while !rest.is_empty() {
            let (kind, value) = next(&mut rest)?;
            match kind {
                kind::END => break,
                kind::CHASSIS | kind::PORT | kind::TTL => return None,
                _ => message.take(kind, value),
            }
        }
        Some(message)
    }

    /// Whether it is a shutdown LLDPDU (clause 8.5.4.1).
    pub fn is_shutdown(&self) -> bool {
        self.ttl_s == 0
    }

    fn take(&mut self, kind: u8, value: &[u8]) {
        let fits = match kind {
            kind::PORT_DESCRIPTION => set(&mut self.port_description, text(value)),
            kind::SYSTEM_NAME => set(&mut self.system_name, text(value)),
            kind::SYSTEM_DESCRIPTION => set(&mut self.system_description, text(value)),
            kind::CAPABILITIES => set(&mut self.capabilities, capabilities(value)),
            kind::MANAGEMENT => self.take_management(value),
            kind::ORGANIZATION => match value {
                [a, b, c, subtype, value @ ..] => {
                    let (oui, subtype) = ([*a, *b, *c], *subtype);
                    self.organization.push(OrganizationTlv { oui, subtype, value: value.to_vec() });
                    true
                }
                _ => false,
            },
            _ => {
                self.unknown += 1;
                true
            }
        };
        self.discarded += u64::from(!fits);
    }

    fn take_management(&mut self, value: &[u8]) -> bool {
        let Some((&len, rest)) = value.split_first() else { return false };
        let Some((address, behind)) = rest.split_at_checked(len.into()) else { return false };
        let Some((family, address)) = address.split_first() else { return false };
        if behind.len() < INTERFACE {
            return false;
        }
        self.management.extend(read_address(*family, address));
        true
    }
}

/// The next TLV, after which `rest` then begins.
fn next<'b>(rest: &mut &'b [u8]) -> Option<(u8, &'b [u8])> {
    let (head, behind) = rest.split_first_chunk::<2>()?;
    let head = u16::from_be_bytes(*head);
    let (value, behind) = behind.split_at_checked(usize::from(head & 0x1ff))?;
    *rest = behind;
    Some(((head >> 9) as u8, value))
}

/// Sets what is not set yet; whether it did.
fn set<T>(place: &mut Option<T>, value: Option<T>) -> bool {
    let is_new = place.is_none() && value.is_some();
    if is_new {
        *place = value;
    }
    is_new
}

fn text(value: &[u8]) -> Option<String> {
    let printable = |c: char| if c.is_control() && !matches!(c, '\n' | '\t') { '\u{fffd}' } else { c };
    (value.len() <= TEXT_MAX).then(|| String::from_utf8_lossy(value).chars().map(printable).collect())
}

fn capabilities(value: &[u8]) -> Option<Capabilities> {
    let [a, b, c, d] = *value.first_chunk::<4>()?;
    Some(Capabilities { system: u16::from_be_bytes([a, b]), enabled: u16::from_be_bytes([c, d]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn advert() -> Advert {
        Advert {
            chassis: None,
            port: LldpId::port_interface("ge-0/0/1"),
            port_description: Some("to the lab".into()),
            system_name: Some("tide".into()),
            system_description: Some("tester".into()),
            capabilities: Some(Capabilities { system: 0x14, enabled: 0x10 }),
            management: vec!["10.0.0.1".parse().unwrap(), "2001:db8::1".parse().unwrap()],
            organization: vec![OrganizationTlv { oui: [0, 0x12, 0x0f], subtype: 1, value: vec![1, 2, 3] }],
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let bytes = advert().write([2, 0, 0, 0, 0, 9], 121);
        let read = LldpMessage::read(&bytes).unwrap();
        assert_eq!(
            (read.chassis.chassis_text().as_str(), read.chassis.chassis_kind()),
            ("02:00:00:00:00:09", "mac")
        );
        assert_eq!((read.port.port_text().as_str(), read.port.port_kind()), ("ge-0/0/1", "interface"));
        assert_eq!((read.ttl_s, read.is_shutdown()), (121, false));
        let of = advert();
        assert_eq!((read.port_description, read.system_name), (of.port_description, of.system_name));
        assert_eq!((read.system_description, read.capabilities), (of.system_description, of.capabilities));
        assert_eq!((read.management, read.organization), (of.management, of.organization));
        assert_eq!((read.discarded, read.unknown), (0, 0));
        let end = advert().write([2, 0, 0, 0, 0, 9], 0);
        let read = LldpMessage::read(&end).unwrap();
        assert!(read.is_shutdown() && read.system_name.is_none());
        assert_eq!(end.len(), 2 + 7 + 2 + 9 + 2 + 2 + 2);
    }

    #[test]
    fn a_message_cut_within_a_tlv_is_nothing() {
        let bytes = advert().write([2, 0, 0, 0, 0, 9], 121);
        let mut ends = 0;
        for len in 0..bytes.len() {
            ends += u32::from(LldpMessage::read(&bytes[..len]).is_some());
        }
        // After each TLV but the first two, and the last, which is no end.
        assert_eq!(ends, 8);
    }

    #[test]
    fn tlvs_out_of_order_or_of_a_wrong_length_are_told() {
        let first = [2, 2, 7, b'c', 4, 2, 7, b'p'];
        let read = |rest: &[u8]| LldpMessage::read(&[&first[..], rest].concat());
        assert_eq!(read(&[0, 0]), None, "without a time to live");
        assert_eq!(read(&[6, 2, 0, 120, 2, 2, 7, b'c', 0, 0]), None, "a chassis twice");
        let twice = read(&[6, 2, 0, 120, 10, 1, b'a', 10, 1, b'b']).unwrap();
        assert_eq!((twice.system_name.as_deref(), twice.discarded), (Some("a"), 1));
        let odd =
            read(&[6, 2, 0, 120, 14, 3, 0, 4, 0, 254, 3, 1, 2, 3, 16, 2, 5, 1, 40, 1, 9, 0, 0, 10, 1, 1]);
        let odd = odd.unwrap();
        assert_eq!((odd.discarded, odd.unknown, odd.system_name), (3, 1, None), "nothing behind the end");
    }

    #[test]
    fn texts_of_neighbours_are_printable() {
        assert_eq!(text(b"a\x1b[1m\xff").unwrap(), "a\u{fffd}[1m\u{fffd}");
        let id = |subtype, value: &[u8]| LldpId { subtype, value: value.to_vec() };
        assert_eq!(id(7, b"a\0").chassis_text(), "6100");
        assert_eq!(id(4, &[1, 10, 0, 0, 1]).port_text(), "10.0.0.1");
        assert_eq!(id(5, &[9, 1]).chassis_text(), "0901");
        assert_eq!((id(0, b"x").chassis_kind(), id(200, b"x").port_kind()), ("reserved", "reserved"));
    }
}
