//! Advertisements (RFC 9568 section 5.2, RFC 3768 section 5.3).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::checksum;

/// IP protocol of VRRP.
pub(super) const VRRP: u8 = 112;
/// Bytes before the addresses, and of version 2's authentication data after them.
const HEADER: usize = 8;
const AUTHENTICATION: usize = 8;
/// The only type there is.
const ADVERTISEMENT: u8 = 1;
/// The longest interval of version 3, in hundredths of a second: 12 bits.
const INTERVAL_MAX: u16 = 0x0fff;

/// Version of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VrrpVersion {
    /// RFC 3768: IPv4 only, intervals in whole seconds.
    V2,
    /// RFC 9568.
    V3,
}

impl VrrpVersion {
    /// Its number.
    pub fn number(self) -> u8 {
        match self {
            Self::V2 => 2,
            Self::V3 => 3,
        }
    }
}

/// Why an advertisement was discarded (RFC 9568 section 7.1, RFC 3768 section 7.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum VrrpInvalid {
    /// TTL or hop limit other than 255.
    Ttl,
    /// Another version than the virtual router's.
    Version,
    /// Another type than 1.
    Type,
    /// Another length than its fields and addresses need, or no address.
    Length,
    /// A wrong checksum.
    Checksum,
    /// Version 2: authentication.
    Authentication,
    /// Version 2: another interval than the virtual router's.
    Interval,
    /// The virtual router here is the address owner (priority 255).
    Owner,
    /// It came from this virtual router's own address.
    Own,
}

impl VrrpInvalid {
    /// All, in the order of the checks.
    pub const ALL: [Self; 9] = [
        Self::Ttl,
        Self::Version,
        Self::Type,
        Self::Length,
        Self::Checksum,
        Self::Authentication,
        Self::Interval,
        Self::Owner,
        Self::Own,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ttl => "ttl",
            Self::Version => "version",
            Self::Type => "type",
            Self::Length => "length",
            Self::Checksum => "checksum",
            Self::Authentication => "authentication",
            Self::Interval => "interval",
            Self::Owner => "owner",
            Self::Own => "own",
        }
    }
}

/// An advertisement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VrrpAdvert {
    /// Version.
    pub version: VrrpVersion,
    /// Virtual router identifier.
    pub vrid: u8,
    /// Priority of the sender; 0 if it leaves.
    pub priority: u8,
    /// Interval of the sender, hundredths of a second.
    pub interval_cs: u16,
    /// The virtual addresses, all of one family.
    pub addresses: Vec<IpAddr>,
}

/// The sum of the pseudo-header (RFC 8200 section 8.1; the same fields of IPv4).
fn pseudo(from: IpAddr, to: IpAddr, len: usize) -> u64 {
    let start = u64::from(VRRP) + len as u64;
    match (from, to) {
        (IpAddr::V4(from), IpAddr::V4(to)) => checksum::sum(&[from.octets(), to.octets()].concat(), start),
        (IpAddr::V6(from), IpAddr::V6(to)) => checksum::sum(&[from.octets(), to.octets()].concat(), start),
        _ => 0,
    }
}

impl VrrpAdvert {
    /// The message from one address to another; `with_pseudo` is whether the checksum of version 3 over IPv4 includes the
    /// pseudo-header, as that over IPv6 always does.
    pub fn write(&self, from: IpAddr, to: IpAddr, with_pseudo: bool) -> Vec<u8> {
        let mut message = vec![
            self.version.number() << 4 | ADVERTISEMENT,
            self.vrid,
            self.priority,
            self.addresses.len().min(255) as u8,
        ];
        match self.version {
            VrrpVersion::V2 => message.extend([0, (self.interval_cs / 100).min(255) as u8]),
            VrrpVersion::V3 => message.extend(self.interval_cs.min(INTERVAL_MAX).to_be_bytes()),
        }
        message.extend([0; 2]);
        for address in self.addresses.iter().take(255) {
            match address {
                IpAddr::V4(ip) => message.extend(ip.octets()),
                IpAddr::V6(ip) => message.extend(ip.octets()),
            }
        }
        if self.version == VrrpVersion::V2 {
            message.extend([0; AUTHENTICATION]);
        }
        let has_pseudo = self.version == VrrpVersion::V3 && (with_pseudo || from.is_ipv6());
        let start = if has_pseudo { pseudo(from, to, message.len()) } else { 0 };
        let sum = checksum::finish(checksum::sum(&message, start));
        message[6..HEADER].copy_from_slice(&sum.to_be_bytes());
        message
    }

    /// Reads a message of `version` from one address to another. The checksum of version 3 over IPv4 is right with the
    /// pseudo-header or without it: implementations differ.
    pub fn read(version: VrrpVersion, message: &[u8], from: IpAddr, to: IpAddr) -> Result<Self, VrrpInvalid> {
        let [first, vrid, priority, count, high, low, ..] = *message else { return Err(VrrpInvalid::Length) };
        if first >> 4 != version.number() {
            return Err(VrrpInvalid::Version);
        }
        if first & 15 != ADVERTISEMENT {
            return Err(VrrpInvalid::Type);
        }
        let size = if from.is_ipv4() { 4 } else { 16 };
        let after = if version == VrrpVersion::V2 { AUTHENTICATION } else { 0 };
        let end = HEADER + usize::from(count) * size;
        if count == 0 || message.len() != end + after {
            return Err(VrrpInvalid::Length);
        }
        let is_right = |start| checksum::finish(checksum::sum(message, start)) == 0;
        let with_pseudo = || is_right(pseudo(from, to, message.len()));
        let is_right = match (version, from) {
            (VrrpVersion::V2, _) => is_right(0),
            (VrrpVersion::V3, IpAddr::V4(_)) => with_pseudo() || is_right(0),
            (VrrpVersion::V3, IpAddr::V6(_)) => with_pseudo(),
        };
        if !is_right {
            return Err(VrrpInvalid::Checksum);
        }
        let interval_cs = match version {
            VrrpVersion::V2 if high != 0 => return Err(VrrpInvalid::Authentication),
            VrrpVersion::V2 => u16::from(low) * 100,
            VrrpVersion::V3 => u16::from_be_bytes([high, low]) & INTERVAL_MAX,
        };
        let address = |bytes: &[u8]| match bytes.first_chunk::<16>() {
            Some(bytes) => Some(IpAddr::V6(Ipv6Addr::from(*bytes))),
            None => Some(IpAddr::V4(Ipv4Addr::from(*bytes.first_chunk::<4>()?))),
        };
        let addresses = message[HEADER..end].chunks_exact(size).filter_map(address).collect();
        Ok(Self { version, vrid, priority, interval_cs, addresses })
    }
}
