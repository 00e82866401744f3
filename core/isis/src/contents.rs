//! Content of an LSP, read from its TLVs: names, links and routes with wide and with narrow metrics.
//!
//! Not here: what a router does with it (`level`).

use crate::pdu::{
    HOSTNAME, IPV4_ROUTES, IPV6_ROUTES, NARROW_EXTERNAL, NARROW_INTERNAL, NARROW_NEIGHBOURS, NEIGHBOURS,
    SystemId, Tlvs, word,
};
use crate::routes::{ATTRIBUTES, DOWN, IPV4_SUB_TLVS, IPV6_EXTERNAL, IPV6_SUB_TLVS, LINK};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Bytes of an entry of TLV 2, and of TLVs 128 and 130.
const NARROW_LINK: usize = 11;
const NARROW_ROUTE: usize = 12;
/// Bits of a narrow default metric (RFC 1195 section 5.3.4, RFC 5302 section 2).
const NARROW_METRIC: u8 = 0x3f;
const NARROW_IS_EXTERNAL: u8 = 0x40;

/// A link of a system, to another or to a pseudonode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LspLink {
    /// To whom.
    pub system: SystemId,
    /// The number of the pseudonode, or 0.
    pub pseudonode: u8,
    /// Metric.
    pub metric: u32,
}

/// A route of a system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LspRoute {
    /// Its address.
    pub address: IpAddr,
    /// Its bits.
    pub prefix_len: u8,
    /// Metric.
    pub metric: u32,
    /// Whether it comes from level 2: the up/down bit.
    pub is_down: bool,
    /// Whether it is external, as announced in its TLV: of IPv6 and of narrow metrics.
    pub is_external: bool,
    /// Prefix attribute flags, if present: X, R and N are the highest bits (RFC 7794 section 2.1).
    pub attributes: Option<u8>,
}

/// A TLV of an LSP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LspPart<'d> {
    /// Dynamic hostname (TLV 137, RFC 5301).
    Hostname(&'d [u8]),
    /// Links with wide metrics (TLV 22, RFC 5305).
    Links(Vec<LspLink>),
    /// Links with narrow metrics (TLV 2, ISO/IEC 10589).
    NarrowLinks(Vec<LspLink>),
    /// Routes of IPv4 with wide metrics (TLV 135, RFC 5305).
    Ipv4(Vec<LspRoute>),
    /// The system's own routes of IPv4 with narrow metrics (TLV 128, RFC 1195).
    NarrowInternal(Vec<LspRoute>),
    /// Routes of other protocols, of IPv4 with narrow metrics (TLV 130, RFC 1195).
    NarrowExternal(Vec<LspRoute>),
    /// Routes of IPv6 (TLV 236, RFC 5308).
    Ipv6(Vec<LspRoute>),
}

/// Content of an LSP's TLVs, in their order; TLVs of other kinds are skipped. A truncated TLV ends them, and so does an
/// entry that is truncated in its TLV.
pub fn parts(tlvs: &[u8]) -> impl Iterator<Item = LspPart<'_>> {
    Tlvs { rest: tlvs }.filter_map(|(kind, value)| LspPart::read(kind, value))
}

impl<'d> LspPart<'d> {
    /// A TLV of the kinds there are here.
    pub(crate) fn read(kind: u8, value: &'d [u8]) -> Option<Self> {
        Some(match kind {
            HOSTNAME => Self::Hostname(value),
            NEIGHBOURS => Self::Links(all(value, wide_link)),
            NARROW_NEIGHBOURS => Self::NarrowLinks(all(value.get(1..)?, narrow_link)),
            IPV4_ROUTES => Self::Ipv4(all(value, ipv4_route)),
            IPV6_ROUTES => Self::Ipv6(all(value, ipv6_route)),
            NARROW_INTERNAL => Self::NarrowInternal(all(value, narrow_route)),
            NARROW_EXTERNAL => Self::NarrowExternal(all(value, narrow_route)),
            _ => return None,
        })
    }
}

/// The entries of a TLV; `read` returns one and how many bytes it has.
fn all<T>(mut rest: &[u8], read: impl Fn(&[u8]) -> Option<(T, usize)>) -> Vec<T> {
    let mut all = Vec::new();
    while let Some((entry, bytes)) = read(rest) {
        all.push(entry);
        rest = rest.get(bytes..).unwrap_or_default();
    }
    all
}

fn link(id: &[u8], metric: u32) -> Option<LspLink> {
    Some(LspLink { system: SystemId(*id.first_chunk()?), pseudonode: *id.get(6)?, metric })
}

fn wide_link(from: &[u8]) -> Option<(LspLink, usize)> {
    let sub_tlvs = usize::from(*from.get(LINK - 1)?);
    Some((link(from, word(from, 6)? & 0xff_ffff)?, LINK + sub_tlvs))
}

fn narrow_link(from: &[u8]) -> Option<(LspLink, usize)> {
    let entry = from.get(..NARROW_LINK)?;
    Some((link(&entry[4..], (entry[0] & NARROW_METRIC).into())?, NARROW_LINK))
}

fn narrow_route(from: &[u8]) -> Option<(LspRoute, usize)> {
    let entry = from.get(..NARROW_ROUTE)?;
    let route = LspRoute {
        address: Ipv4Addr::from(word(entry, 4)?).into(),
        prefix_len: word(entry, 8)?.leading_ones() as u8,
        metric: (entry[0] & NARROW_METRIC).into(),
        is_down: entry[0] & DOWN != 0,
        is_external: entry[0] & NARROW_IS_EXTERNAL != 0,
        attributes: None,
    };
    Some((route, NARROW_ROUTE))
}

fn ipv4_route(from: &[u8]) -> Option<(LspRoute, usize)> {
    let (metric, control) = (word(from, 0)?, *from.get(4)?);
    let prefix_len = (control & 0x3f).min(32);
    let address = Ipv4Addr::from(prefix::<4>(from.get(5..)?, prefix_len)?);
    let bytes = 5 + usize::from(prefix_len).div_ceil(8);
    let (attributes, bytes) = sub_tlvs(from, bytes, control & IPV4_SUB_TLVS != 0)?;
    let is_down = control & DOWN != 0;
    let address = address.into();
    Some((LspRoute { address, prefix_len, metric, is_down, is_external: false, attributes }, bytes))
}

fn ipv6_route(from: &[u8]) -> Option<(LspRoute, usize)> {
    let (metric, flags) = (word(from, 0)?, *from.get(4)?);
    let prefix_len = (*from.get(5)?).min(128);
    let address = Ipv6Addr::from(prefix::<16>(from.get(6..)?, prefix_len)?).into();
    let bytes = 6 + usize::from(prefix_len).div_ceil(8);
    let (attributes, bytes) = sub_tlvs(from, bytes, flags & IPV6_SUB_TLVS != 0)?;
    let (is_down, is_external) = (flags & DOWN != 0, flags & IPV6_EXTERNAL != 0);
    Some((LspRoute { address, prefix_len, metric, is_down, is_external, attributes }, bytes))
}

/// An address of which only as many bytes are there as its prefix needs.
fn prefix<const N: usize>(from: &[u8], bits: u8) -> Option<[u8; N]> {
    let mut address = [0; N];
    let bytes = usize::from(bits).div_ceil(8);
    address.get_mut(..bytes)?.copy_from_slice(from.get(..bytes)?);
    Some(address)
}

/// The attributes among the sub-TLVs of a route that has this number of bytes before them, and the bytes with them.
fn sub_tlvs(from: &[u8], bytes: usize, are_there: bool) -> Option<(Option<u8>, usize)> {
    if !are_there {
        return Some((None, bytes));
    }
    let len = usize::from(*from.get(bytes)?);
    let mut all = Tlvs { rest: from.get(bytes + 1..bytes + 1 + len)? };
    let attributes = all.find(|(kind, _)| *kind == ATTRIBUTES).and_then(|(_, value)| value.first().copied());
    Some((attributes, bytes + 1 + len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_lsp_says_is_read_tlv_by_tlv() {
        let tlvs = [
            &[137, 2, b'd', b'0'][..],
            &[22, 24],
            &[1, 2, 3, 4, 5, 6, 0, 0, 1, 0, 2, 9, 9],
            &[1, 2, 3, 4, 5, 7, 3, 0xff, 0xff, 0xff, 0],
            // A kind that is passed over.
            &[200, 1, 0],
            &[2, 12, 0, 0x8a, 0, 0, 0, 1, 2, 3, 4, 5, 6, 0],
            &[135, 20, 0, 0, 0, 20, 0xc0 | 24, 10, 1, 2, 3, 4, 1, 0xa0, 0, 0, 0, 1, 16, 10, 9, 0],
            &[236, 12, 0, 0, 0, 7, 0x40, 48, 0x20, 1, 0xd, 0xb8, 0, 1],
            &[130, 12, 0xcb, 0, 0, 0, 192, 0, 2, 0, 255, 255, 255, 0],
            // One that is cut off.
            &[22, 11, 1],
        ]
        .concat();
        let system = |last| SystemId([1, 2, 3, 4, 5, last]);
        let route = |address: &str, prefix_len, metric| LspRoute {
            address: address.parse().unwrap(),
            prefix_len,
            metric,
            is_down: false,
            is_external: false,
            attributes: None,
        };
        let expected = [
            LspPart::Hostname(b"d0"),
            LspPart::Links(vec![
                LspLink { system: system(6), pseudonode: 0, metric: 256 },
                LspLink { system: system(7), pseudonode: 3, metric: 0xff_ffff },
            ]),
            LspPart::NarrowLinks(vec![LspLink { system: system(6), pseudonode: 0, metric: 10 }]),
            LspPart::Ipv4(vec![
                LspRoute { is_down: true, attributes: Some(0xa0), ..route("10.1.2.0", 24, 20) },
                route("10.9.0.0", 16, 1),
            ]),
            LspPart::Ipv6(vec![LspRoute { is_external: true, ..route("2001:db8:1::", 48, 7) }]),
            LspPart::NarrowExternal(vec![LspRoute {
                is_down: true,
                is_external: true,
                ..route("192.0.2.0", 24, 11)
            }]),
        ];
        assert_eq!(parts(&tlvs).collect::<Vec<_>>(), expected);
    }
}
