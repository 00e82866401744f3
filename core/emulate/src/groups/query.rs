//! Queries of routers, and reports of other hosts.

use crate::frame::Packet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use units::Nanos;

/// A query, of any version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Query {
    pub(super) is_v4: bool,
    /// `None`: a general query.
    pub(super) group: Option<IpAddr>,
    /// Sources it is about; none is all.
    pub(super) sources: Vec<IpAddr>,
    /// Within which reports are due.
    pub(super) within: Nanos,
    /// Whether it is of a version that knows sources: IGMPv3, MLDv2.
    pub(super) is_new: bool,
    /// The querier's robustness variable: number of reports of a change; 0 if not given.
    pub(super) robustness: u8,
}

/// Meaning of an IGMP or MLD message for a host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Heard {
    Query(Query),
    /// Another host reported this group in IGMPv2 or MLDv1.
    Report(IpAddr),
}

const ALL_HOSTS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 1);
const IGMP_QUERY: u8 = 0x11;
const IGMPV2_REPORT: u8 = 0x16;
const MLD_QUERY: u8 = 130;
const MLDV1_REPORT: u8 = 131;
/// Maximum response time of a query without one (RFC 3376 section 7.2.1).
const WITHIN_V1: u64 = 100;

/// A number with an exponent from its highest bit on: `mantissa` bits, three of exponent (RFC 3376 section 4.1.1, RFC 3810
/// section 5.1.3).
fn exponential(code: u64, mantissa: u32) -> u64 {
    if code < 1 << (mantissa + 3) {
        return code;
    }
    let (exponent, low) = (code >> mantissa & 7, code & ((1 << mantissa) - 1));
    (low | 1 << mantissa) << (exponent + 3)
}

impl Heard {
    pub(super) fn read(packet: &Packet<'_>) -> Option<Self> {
        match *packet {
            Packet::Igmp { to, message, .. } => igmp(to, message),
            Packet::Mld { from, message, .. } => mld(from, message),
            _ => None,
        }
    }
}

fn igmp(to: Ipv4Addr, message: &[u8]) -> Option<Heard> {
    let group = Ipv4Addr::from(*message.get(4..)?.first_chunk::<4>()?);
    match message[0] {
        IGMPV2_REPORT => Some(Heard::Report(group.into())),
        IGMP_QUERY => {
            // To another address than the group or all it is not to be believed (RFC 3376 section 9.1).
            let is_general = group.is_unspecified() && to == ALL_HOSTS;
            if !is_general && !group.is_multicast() {
                return None;
            }
            let is_new = message.len() >= 12;
            let tenths = match (u64::from(message[1]), is_new) {
                (0, _) => WITHIN_V1,
                (code, false) => code,
                (code, true) => exponential(code, 4),
            };
            let sources = if is_new { sources(&message[10..], 4)? } else { Vec::new() };
            Some(Heard::Query(Query {
                is_v4: true,
                group: (!is_general).then_some(group.into()),
                sources,
                within: Nanos::from_millis(tenths * 100),
                is_new,
                robustness: if is_new { message[8] & 7 } else { 0 },
            }))
        }
        _ => None,
    }
}

fn mld(from: Ipv6Addr, message: &[u8]) -> Option<Heard> {
    let group = Ipv6Addr::from(*message.get(8..)?.first_chunk::<16>()?);
    match message[0] {
        MLDV1_REPORT => Some(Heard::Report(group.into())),
        MLD_QUERY => {
            // RFC 3810 section 6.2: only from a link-local address.
            if !from.is_unicast_link_local() || !(group.is_unspecified() || group.is_multicast()) {
                return None;
            }
            let is_new = message.len() >= 28;
            let code = u64::from(u16::from_be_bytes([message[4], message[5]]));
            let millis = if is_new { exponential(code, 12) } else { code };
            let sources = if is_new { sources(&message[26..], 16)? } else { Vec::new() };
            Some(Heard::Query(Query {
                is_v4: false,
                group: (!group.is_unspecified()).then_some(group.into()),
                sources,
                within: Nanos::from_millis(millis),
                is_new,
                robustness: if is_new { message[24] & 7 } else { 0 },
            }))
        }
        _ => None,
    }
}

/// The sources after their number, each of `bytes` bytes; `None` if they are not all there.
fn sources(list: &[u8], bytes: usize) -> Option<Vec<IpAddr>> {
    let (number, list) = list.split_first_chunk::<2>()?;
    let list = list.get(..usize::from(u16::from_be_bytes(*number)) * bytes)?;
    let source = |bytes: &[u8]| match *bytes {
        [a, b, c, d] => IpAddr::from([a, b, c, d]),
        _ => IpAddr::from(*bytes.first_chunk::<16>().unwrap_or(&[0; 16])),
    };
    Some(list.chunks_exact(bytes).map(source).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_grow_with_their_exponent() {
        assert_eq!([0, 100, 127, 128, 143, 255].map(|c| exponential(c, 4)), [0, 100, 127, 128, 248, 31_744]);
        assert_eq!([10_000, 0x8000, 0xffff].map(|c| exponential(c, 12)), [10_000, 32_768, 8_387_584]);
    }

    #[test]
    fn versions_are_told_apart_by_their_length() {
        let read = |message: &[u8]| {
            Heard::read(&Packet::Igmp { from: Ipv4Addr::new(10, 0, 0, 1), to: ALL_HOSTS, message })
        };
        let Some(Heard::Query(old)) = read(&[0x11, 50, 0, 0, 0, 0, 0, 0]) else { panic!("no query") };
        assert_eq!((old.is_new, old.within, old.group), (false, Nanos::from_secs(5), None));
        let new = [0x11, 50, 0, 0, 239, 1, 1, 1, 3, 125, 0, 1, 10, 0, 0, 9];
        let Some(Heard::Query(query)) = read(&new) else { panic!("no query") };
        assert_eq!((query.is_new, query.robustness), (true, 3));
        assert_eq!(query.sources, [IpAddr::from([10, 0, 0, 9])]);
        assert_eq!(read(&new[..15]), None, "a source is cut off");
        assert_eq!(read(&[0x11, 50, 0, 0, 10, 1, 1, 1]), None, "no group");
        assert_eq!(read(&[0x16, 0, 0, 0, 239, 1, 1, 1]), Some(Heard::Report([239, 1, 1, 1].into())));
    }
}
