//! PDUs (ISO/IEC 10589 section 9) in Ethernet frames with LLC: their headers, their variable fields (TLVs), identifiers.
//!
//! Invariant: what was read has lengths that fit its frame.

use crate::Mac;
use crate::contents::{LspLink, LspPart};
use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;
use wire::control::{ETHERTYPE_AT, tags};
use wire::{Vlans, is_vlan_type};

/// Bytes of the longest LSP (originatingLSPBufferSize).
pub const LSP_MAX: usize = 1_492;

/// Where PDUs go: to all systems of a level on a LAN (section 8.4.8), to all systems on a point-to-point link (RFC 5309).
pub(crate) const ALL_LEVEL_1: Mac = [0x01, 0x80, 0xc2, 0, 0, 0x14];
pub(crate) const ALL_LEVEL_2: Mac = [0x01, 0x80, 0xc2, 0, 0, 0x15];
pub(crate) const ALL_SYSTEMS: Mac = [0x09, 0, 0x2b, 0, 0, 0x05];
/// Groups that routers listen to.
const GROUPS: [Mac; 3] = [ALL_LEVEL_1, ALL_LEVEL_2, ALL_SYSTEMS];

const TAG: usize = 4;
const LLC: [u8; 3] = [0xfe, 0xfe, 0x03];
/// The network layer protocol.
const DISCRIMINATOR: u8 = 0x83;
/// Bytes of the header that all PDUs have.
const COMMON: usize = 8;

/// Kinds of PDUs; level 2 is one higher, and two for LSPs.
pub(crate) const LAN_HELLO: u8 = 15;
pub(crate) const P2P_HELLO: u8 = 17;
pub(crate) const LSP: u8 = 18;
pub(crate) const CSNP: u8 = 24;
pub(crate) const PSNP: u8 = 26;

/// Kinds of TLVs.
pub(crate) const AREAS: u8 = 1;
pub(crate) const NARROW_NEIGHBOURS: u8 = 2;
pub(crate) const LAN_NEIGHBOURS: u8 = 6;
pub(crate) const INSTANCE: u8 = 7;
pub(crate) const PADDING: u8 = 8;
pub(crate) const ENTRIES: u8 = 9;
pub(crate) const AUTHENTICATION: u8 = 10;
pub(crate) const PURGE_ORIGINATOR: u8 = 13;
pub(crate) const FINGERPRINT: u8 = 15;
pub(crate) const NEIGHBOURS: u8 = 22;
pub(crate) const NARROW_INTERNAL: u8 = 128;
pub(crate) const PROTOCOLS: u8 = 129;
pub(crate) const NARROW_EXTERNAL: u8 = 130;
pub(crate) const IPV4_ADDRESSES: u8 = 132;
pub(crate) const TE_ROUTER_ID: u8 = 134;
pub(crate) const IPV4_ROUTES: u8 = 135;
pub(crate) const HOSTNAME: u8 = 137;
pub(crate) const IPV6_ADDRESSES: u8 = 232;
pub(crate) const IPV6_ROUTES: u8 = 236;
pub(crate) const THREE_WAY: u8 = 240;

/// Protocols (RFC 1195, RFC 5308 section 4).
pub(crate) const NLPID_IPV4: u8 = 0xcc;
pub(crate) const NLPID_IPV6: u8 = 0x8e;

/// Bytes of an LSP before its TLVs, and of a CSNP and a PSNP.
pub const LSP_HEADER: usize = 27;
pub(crate) const CSNP_HEADER: usize = 33;
pub(crate) const PSNP_HEADER: usize = 17;
const LAN_HELLO_HEADER: usize = 27;
const P2P_HELLO_HEADER: usize = 20;
/// Bytes of an entry of a CSNP or PSNP, and how many a TLV has room for.
pub(crate) const ENTRY: usize = 16;
pub(crate) const ENTRIES_IN_TLV: usize = 15;
/// Where the checksum of an LSP covers it from, and where it is.
const COVERED_FROM: usize = 12;
const LIFETIME_AT: usize = 10;
const CHECKSUM_AT: usize = 24;

/// A system identifier.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct SystemId(pub [u8; 6]);

impl SystemId {
    /// The identifier this many places after this one; wraps around at the end.
    pub fn plus(self, places: u32) -> Self {
        let number = self.number().wrapping_add(places.into());
        let mut id = [0; 6];
        id.copy_from_slice(&number.to_be_bytes()[2..]);
        Self(id)
    }

    /// It as a number of 48 bits.
    pub fn number(self) -> u64 {
        self.0.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    /// The decimal digits of an IPv4 address, three for each byte: 10.0.0.2 is 0100.0000.0002.
    pub fn of_address(ip: Ipv4Addr) -> Self {
        let digits =
            ip.octets().iter().flat_map(|byte| [byte / 100, byte / 10 % 10, byte % 10]).collect::<Vec<u8>>();
        let mut id = [0; 6];
        id.iter_mut().zip(digits.chunks(2)).for_each(|(byte, two)| *byte = two[0] << 4 | two[1]);
        Self(id)
    }
}

impl fmt::Display for SystemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}{b:02x}.{c:02x}{d:02x}.{e:02x}{g:02x}")
    }
}

impl fmt::Debug for SystemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for SystemId {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let mut parts = text.split('.');
        let mut id = [0; 6];
        for two in id.chunks_mut(2) {
            let part = parts.next().filter(|part| part.len() == 4 && is_hex(part)).ok_or(())?;
            two.copy_from_slice(&u16::from_str_radix(part, 16).map_err(|_| ())?.to_be_bytes());
        }
        if parts.next().is_some() { Err(()) } else { Ok(Self(id)) }
    }
}

fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// An area address, of 1 to 13 bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Area {
    len: u8,
    bytes: [u8; 13],
}

impl Area {
    /// That of these bytes; `None` if they are none or too many.
    pub fn new(from: &[u8]) -> Option<Self> {
        let mut bytes = [0; 13];
        bytes.get_mut(..from.len())?.copy_from_slice(from);
        (!from.is_empty()).then_some(Self { len: from.len() as u8, bytes })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len.into()]
    }
}

impl FromStr for Area {
    type Err = ();

    /// Two hexadecimal digits, and two for each byte that follows, with dots between bytes.
    fn from_str(text: &str) -> Result<Self, ()> {
        let parts = text.split('.');
        let is_good = |part: &str| !part.is_empty() && part.len().is_multiple_of(2) && is_hex(part);
        let mut bytes = Vec::new();
        for part in parts {
            if !is_good(part) {
                return Err(());
            }
            bytes.extend(
                (0..part.len()).step_by(2).filter_map(|at| u8::from_str_radix(&part[at..at + 2], 16).ok()),
            );
        }
        if text.split('.').next().is_none_or(|first| first.len() != 2) {
            Err(())
        } else {
            Self::new(&bytes).ok_or(())
        }
    }
}

impl fmt::Display for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, byte) in self.bytes().iter().enumerate() {
            let dot = if at % 2 == 1 { "." } else { "" };
            write!(f, "{dot}{byte:02x}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Area {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An LSP's identifier: the system, the number of its pseudonode or 0, the fragment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LspId {
    /// The system that originates it.
    pub system: SystemId,
    /// Its pseudonode, or 0.
    pub pseudonode: u8,
    /// Fragment number.
    pub fragment: u8,
}

impl LspId {
    /// The first and the last there are.
    pub(crate) const FIRST: Self = Self { system: SystemId([0; 6]), pseudonode: 0, fragment: 0 };
    pub(crate) const LAST: Self = Self { system: SystemId([0xff; 6]), pseudonode: 0xff, fragment: 0xff };

    pub(crate) fn bytes(self) -> [u8; 8] {
        let [a, b, c, d, e, f] = self.system.0;
        [a, b, c, d, e, f, self.pseudonode, self.fragment]
    }

    fn read(bytes: &[u8; 8]) -> Self {
        let [a, b, c, d, e, f, pseudonode, fragment] = *bytes;
        Self { system: SystemId([a, b, c, d, e, f]), pseudonode, fragment }
    }
}

impl fmt::Display for LspId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02x}-{:02x}", self.system, self.pseudonode, self.fragment)
    }
}

/// Identity of an LSP's instance.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LspHeader {
    /// Seconds until it is not valid any more; 0: it is being purged.
    pub(crate) lifetime_s: u16,
    pub(crate) id: LspId,
    pub(crate) sequence: u32,
    pub(crate) checksum: u16,
}

impl LspHeader {
    /// An entry of a CSNP or PSNP.
    pub(crate) fn of_entry(entry: &[u8; ENTRY]) -> Self {
        Self {
            lifetime_s: pair(entry, 0).unwrap_or(0),
            id: LspId::read(entry[2..10].first_chunk().unwrap_or(&[0; 8])),
            sequence: word(entry, 10).unwrap_or(0),
            checksum: pair(entry, 14).unwrap_or(0),
        }
    }

    /// The header of a whole LSP.
    pub(crate) fn of_lsp(lsp: &[u8]) -> Option<Self> {
        Some(Self {
            lifetime_s: pair(lsp, LIFETIME_AT)?,
            id: LspId::read(lsp.get(12..20)?.first_chunk()?),
            sequence: word(lsp, 20)?,
            checksum: pair(lsp, CHECKSUM_AT)?,
        })
    }

    pub(crate) fn entry(&self) -> [u8; ENTRY] {
        let mut entry = [0; ENTRY];
        entry[..2].copy_from_slice(&self.lifetime_s.to_be_bytes());
        entry[2..10].copy_from_slice(&self.id.bytes());
        entry[10..14].copy_from_slice(&self.sequence.to_be_bytes());
        entry[14..].copy_from_slice(&self.checksum.to_be_bytes());
        entry
    }

    /// Whether it is newer than another instance (section 7.3.16): of the same number, the one that is being purged. Of two with different
    /// contents and the same number, which should not be, each is newer than the other.
    pub(crate) fn is_newer_than(&self, other: &Self) -> bool {
        let same = self.sequence == other.sequence;
        let purges = self.lifetime_s == 0 && other.lifetime_s != 0;
        let differs = self.checksum != other.checksum && self.lifetime_s != 0 && other.lifetime_s != 0;
        self.sequence > other.sequence || same && (purges || differs)
    }

    /// Whether it is the same instance.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        !self.is_newer_than(other) && !other.is_newer_than(self)
    }
}

/// Why a PDU is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Malformed {
    /// It ends before its fields do.
    Short,
    /// Its fixed fields are not IS-IS, or have identifiers of another length.
    Header,
    /// It is of a type that does not exist.
    Kind,
    /// The checksum of an LSP is wrong.
    Checksum,
}

/// A PDU, and how it came.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Received<'f> {
    pub(crate) to: Mac,
    pub(crate) from: Mac,
    /// Outermost first; without priority tags.
    pub(crate) vlans: Vec<u16>,
    pub(crate) pdu: Result<Pdu<'f>, Malformed>,
}

/// A PDU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pdu<'f> {
    /// All of it.
    pub(crate) bytes: &'f [u8],
    /// Where its TLVs begin.
    pub(crate) tlvs_at: usize,
    pub(crate) body: Body,
}

/// Content of a PDU before its TLVs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    /// A hello: on a LAN for a level, or on a point-to-point link.
    Hello(Hello),
    /// A link state PDU of a level.
    Lsp(u8, LspHeader),
    /// The LSPs of a level from one to another.
    Complete(u8, LspId, LspId),
    /// Some LSPs of a level.
    Partial(u8),
}

/// A hello.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Hello {
    /// Bits of the levels of the circuit.
    pub(crate) circuit: u8,
    pub(crate) system: SystemId,
    pub(crate) hold_s: u16,
    /// On a LAN: the level, the priority, and the designated system's circuit.
    pub(crate) lan: Option<(u8, u8, [u8; 7])>,
}

/// Whether a frame may be for a router here: a look at its length field and LLC alone.
pub fn may_concern(frame: &[u8]) -> bool {
    let mut at = ETHERTYPE_AT;
    while pair(frame, at).is_some_and(is_vlan_type) && at < ETHERTYPE_AT + 2 * TAG {
        at += TAG;
    }
    pair(frame, at).is_some_and(|len| len <= 1_500)
        && frame.get(at + 2..at + 6).is_some_and(|it| it[..3] == LLC && it[3] == DISCRIMINATOR)
}

impl<'f> Received<'f> {
    /// The PDU of a frame; `None` if it has none.
    pub fn read(frame: &'f [u8]) -> Option<Self> {
        let (ids, n) = tags(frame)?;
        let at = ETHERTYPE_AT + TAG * n;
        let len = pair(frame, at)?;
        let behind = frame.get(at + 2..)?;
        if len > 1_500 || behind.get(..4)? != [LLC[0], LLC[1], LLC[2], DISCRIMINATOR] {
            return None;
        }
        let pdu = behind.get(LLC.len()..usize::from(len)).ok_or(Malformed::Short).and_then(Pdu::read);
        Some(Self {
            to: *frame.first_chunk()?,
            from: *frame.get(6..)?.first_chunk()?,
            vlans: ids[..n].iter().copied().filter(|id| *id != 0).collect(),
            pdu,
        })
    }

    /// Whether it is meant for a host with this address.
    pub(crate) fn is_for(&self, mac: &Mac) -> bool {
        self.to == *mac || GROUPS.contains(&self.to)
    }
}

impl<'f> Pdu<'f> {
    fn read(bytes: &'f [u8]) -> Result<Self, Malformed> {
        let common: &[u8; COMMON] = bytes.first_chunk().ok_or(Malformed::Short)?;
        // Identifiers of six bytes are written as 0 or 6.
        if common[2] != 1 || common[5] != 1 || !matches!(common[3], 0 | 6) {
            return Err(Malformed::Header);
        }
        let kind = common[4] & 0x1f;
        let (header, len_at) = match kind {
            LAN_HELLO | 16 => (LAN_HELLO_HEADER, 17),
            P2P_HELLO => (P2P_HELLO_HEADER, 17),
            LSP | 20 => (LSP_HEADER, 8),
            CSNP | 25 => (CSNP_HEADER, 8),
            PSNP | 27 => (PSNP_HEADER, 8),
            _ => return Err(Malformed::Kind),
        };
        if usize::from(common[1]) != header {
            return Err(Malformed::Header);
        }
        let len = usize::from(pair(bytes, len_at).ok_or(Malformed::Short)?);
        let bytes = bytes.get(..len).filter(|bytes| bytes.len() >= header).ok_or(Malformed::Short)?;
        let six = |at: usize| {
            bytes.get(at..at + 6).and_then(|it| it.first_chunk()).copied().ok_or(Malformed::Short)
        };
        let id = |at: usize| {
            bytes.get(at..at + 8).and_then(|it| it.first_chunk()).map(LspId::read).ok_or(Malformed::Short)
        };
        let hello = |lan| {
            // A hello for no level is none (sections 9.5 to 9.7).
            if bytes[8] & 3 == 0 {
                return Err(Malformed::Header);
            }
            let hold_s = pair(bytes, 15).unwrap_or(0);
            Ok(Body::Hello(Hello { circuit: bytes[8] & 3, system: SystemId(six(9)?), hold_s, lan }))
        };
        let body = match kind {
            LAN_HELLO | 16 => {
                let mut circuit = [0; 7];
                circuit.copy_from_slice(&bytes[20..27]);
                hello(Some((kind - LAN_HELLO + 1, bytes[19] & 0x7f, circuit)))?
            }
            P2P_HELLO => hello(None)?,
            LSP | 20 => {
                let header = LspHeader::of_lsp(bytes).ok_or(Malformed::Short)?;
                // What is being purged may have no checksum, and contents that it does not cover.
                if header.lifetime_s != 0 && linkstate::sums(&bytes[COVERED_FROM..]) != (0, 0) {
                    return Err(Malformed::Checksum);
                }
                Body::Lsp((kind - LSP) / 2 + 1, header)
            }
            CSNP | 25 => Body::Complete(kind - CSNP + 1, id(17)?, id(25)?),
            _ => Body::Partial(kind - PSNP + 1),
        };
        Ok(Self { bytes, tlvs_at: header, body })
    }

    /// Its TLVs: kinds and values. One that is cut off ends them.
    pub(crate) fn tlvs(&self) -> Tlvs<'f> {
        Tlvs { rest: self.bytes.get(self.tlvs_at..).unwrap_or_default() }
    }

    /// The entries of a CSNP or PSNP.
    pub(crate) fn entries(&self) -> impl Iterator<Item = LspHeader> + use<'f> {
        let entries = self.tlvs().filter(|(kind, _)| *kind == ENTRIES);
        entries.flat_map(|(_, value)| value.as_chunks::<ENTRY>().0).map(LspHeader::of_entry)
    }
}

/// TLVs.
#[derive(Debug, Clone)]
pub(crate) struct Tlvs<'f> {
    pub(crate) rest: &'f [u8],
}

impl<'f> Iterator for Tlvs<'f> {
    type Item = (u8, &'f [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let [kind, len, behind @ ..] = self.rest else { return None };
        let value = behind.get(..usize::from(*len))?;
        self.rest = &behind[value.len()..];
        Some((*kind, value))
    }
}

/// Whether the links in an LSP's TLVs lead to a system: with wide metrics (RFC 5305), or with narrow ones.
pub(crate) fn links_to(pdu: &Pdu<'_>, to: SystemId) -> (bool, bool) {
    let (mut wide, mut narrow) = (false, false);
    let leads = |links: &[LspLink]| links.iter().any(|link| link.system == to && link.pseudonode == 0);
    let links = pdu.tlvs().filter(|(kind, _)| matches!(*kind, NEIGHBOURS | NARROW_NEIGHBOURS));
    for part in links.filter_map(|(kind, value)| LspPart::read(kind, value)) {
        match part {
            LspPart::Links(links) => wide |= leads(&links),
            LspPart::NarrowLinks(links) => narrow |= leads(&links),
            _ => {}
        }
    }
    (wide, narrow)
}

/// Sender of frames.
#[derive(Debug, Clone)]
pub(crate) struct Sender {
    pub(crate) mac: Mac,
    pub(crate) vlans: Vlans,
}

impl Sender {
    /// A frame around a PDU.
    pub(crate) fn frame(&self, to: Mac, pdu: &[u8]) -> Vec<u8> {
        let mut frame = Vec::with_capacity(14 + TAG * self.vlans.len() + LLC.len() + pdu.len());
        frame.extend(to);
        frame.extend(self.mac);
        self.vlans.tags().for_each(|tag| frame.extend(tag));
        frame.extend(((LLC.len() + pdu.len()) as u16).to_be_bytes());
        frame.extend(LLC);
        frame.extend(pdu);
        frame
    }
}

/// The header that all PDUs have.
fn common(kind: u8, header: usize) -> [u8; COMMON] {
    [DISCRIMINATOR, header as u8, 1, 0, kind, 1, 0, 0]
}

/// Begins a PDU that is a hello; its length is set by [`finish`].
pub(crate) fn begin_hello(hello: &Hello) -> Vec<u8> {
    let (kind, header) = match hello.lan {
        Some((level, ..)) => (LAN_HELLO + level - 1, LAN_HELLO_HEADER),
        None => (P2P_HELLO, P2P_HELLO_HEADER),
    };
    let mut out = common(kind, header).to_vec();
    out.push(hello.circuit);
    out.extend(hello.system.0);
    out.extend(hello.hold_s.to_be_bytes());
    out.extend([0, 0]);
    match &hello.lan {
        Some((_, priority, circuit)) => {
            out.push(*priority);
            out.extend(circuit);
        }
        None => out.push(1),
    }
    out
}

/// Begins an LSP of a level; `flags` are its last byte before TLVs.
pub(crate) fn begin_lsp(level: u8, header: &LspHeader, flags: u8) -> Vec<u8> {
    let mut out = common(LSP + 2 * (level - 1), LSP_HEADER).to_vec();
    out.extend([0, 0]);
    out.extend(header.lifetime_s.to_be_bytes());
    out.extend(header.id.bytes());
    out.extend(header.sequence.to_be_bytes());
    out.extend([0, 0, flags]);
    out
}

/// Begins a CSNP of a level about the LSPs from one to another, or a PSNP.
pub(crate) fn begin_snp(level: u8, source: SystemId, range: Option<(LspId, LspId)>) -> Vec<u8> {
    let (kind, header) = if range.is_some() { (CSNP, CSNP_HEADER) } else { (PSNP, PSNP_HEADER) };
    let mut out = common(kind + level - 1, header).to_vec();
    out.extend([0, 0]);
    out.extend(source.0);
    out.push(0);
    if let Some((from, to)) = range {
        out.extend(from.bytes());
        out.extend(to.bytes());
    }
    out
}

/// Appends a TLV.
///
/// # Panics
/// If its value has more than 255 bytes.
pub(crate) fn put(out: &mut Vec<u8>, kind: u8, value: &[u8]) {
    assert!(value.len() <= 255, "a TLV has 255 bytes at most");
    out.extend([kind, value.len() as u8]);
    out.extend(value);
}

/// Sets the length of a PDU.
pub(crate) fn finish(out: &mut [u8]) {
    let at = match out[4] {
        LAN_HELLO | 16 | P2P_HELLO => 17,
        _ => 8,
    };
    let len = out.len() as u16;
    out[at..at + 2].copy_from_slice(&len.to_be_bytes());
}

/// Sets the checksum of an LSP whose length is set (section 7.3.11); it does not cover the lifetime.
pub(crate) fn finish_lsp(out: &mut [u8]) {
    let sum = linkstate::fletcher(&out[COVERED_FROM..], CHECKSUM_AT - COVERED_FROM);
    out[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&sum.to_be_bytes());
}

/// Fields of an LSP that authentication does not cover: its lifetime and its checksum (RFC 5304 section 2), which are
/// set to zero.
pub(crate) fn clear_uncovered(pdu: &mut [u8]) {
    if matches!(pdu.get(4).map(|kind| kind & 0x1f), Some(LSP | 20)) && pdu.len() >= LSP_HEADER {
        pdu[LIFETIME_AT..LIFETIME_AT + 2].fill(0);
        pdu[CHECKSUM_AT..CHECKSUM_AT + 2].fill(0);
    }
}

pub(crate) fn pair(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

pub(crate) fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_read_as_they_are_printed() {
        let id: SystemId = "0100.00ab.0002".parse().unwrap();
        assert_eq!(
            (id.to_string().as_str(), id.plus(254).to_string().as_str()),
            ("0100.00ab.0002", "0100.00ab.0100")
        );
        assert_eq!(SystemId::of_address([10, 0, 0, 2].into()).to_string(), "0100.0000.0002");
        assert_eq!(SystemId::of_address([192, 168, 17, 254].into()).to_string(), "1921.6801.7254");
        for text in ["", "1.2.3", "0000.0000.000g", "0000.0000", "0000.0000.0000.0001", "+000.0000.0001"] {
            assert!(text.parse::<SystemId>().is_err(), "{text}");
        }
        for text in ["49", "49.0001", "47.0005.80ff"] {
            assert_eq!(text.parse::<Area>().unwrap().to_string(), text);
        }
        for text in ["", "4", "4901", "49.", "49..01", "49.001", "49.0001.0002.0003.0004.0005.0006.0007"] {
            assert!(text.parse::<Area>().is_err(), "{text}");
        }
    }

    #[test]
    fn an_lsp_is_read_back_and_none_with_an_error_is() {
        let id = LspId { system: SystemId([1, 2, 3, 4, 5, 6]), pseudonode: 0, fragment: 7 };
        let header = LspHeader { lifetime_s: 1_200, id, sequence: 9, checksum: 0 };
        let mut lsp = begin_lsp(2, &header, 3);
        let mut link = vec![9, 9, 9, 9, 9, 9, 0, 0, 0, 10, 2, 0xff, 0xff];
        link.extend([8, 8, 8, 8, 8, 8, 0, 0, 0, 10, 0]);
        put(&mut lsp, NEIGHBOURS, &link);
        finish(&mut lsp);
        finish_lsp(&mut lsp);
        let sender = Sender { mac: [2, 0, 0, 0, 0, 1], vlans: [5, 7].into() };
        let frame = sender.frame(ALL_SYSTEMS, &lsp);
        assert!(may_concern(&frame));
        let received = Received::read(&frame).unwrap();
        assert_eq!((received.vlans.as_slice(), received.from), (&[5, 7][..], sender.mac));
        let pdu = received.pdu.unwrap();
        assert!(matches!(pdu.body, Body::Lsp(2, read) if read.id == id && read.sequence == 9));
        assert_eq!(links_to(&pdu, SystemId([8; 6])), (true, false));
        assert_eq!(links_to(&pdu, SystemId([7; 6])), (false, false));
        for at in 12..lsp.len() {
            let mut spoilt = lsp.clone();
            spoilt[at] ^= 0x10;
            assert_eq!(Pdu::read(&spoilt), Err(Malformed::Checksum), "byte {at}");
        }
        for end in 0..frame.len() {
            let _ = Received::read(&frame[..end]);
        }
    }

    #[test]
    fn of_two_instances_the_newer_is_known() {
        let id = LspId { system: SystemId([1; 6]), pseudonode: 0, fragment: 0 };
        let one = |sequence, lifetime_s, checksum| LspHeader { lifetime_s, id, sequence, checksum };
        let live = one(5, 900, 7);
        assert!(one(6, 900, 7).is_newer_than(&live) && !live.is_newer_than(&one(6, 900, 7)));
        assert!(one(5, 0, 0).is_newer_than(&live) && !live.is_newer_than(&one(5, 0, 0)));
        assert!(one(5, 3, 7).is_same(&live) && !one(5, 3, 8).is_same(&live));
    }
}
