//! ICMP errors: reading errors about a flow, and writing a host's errors about received packets (RFC 792, RFC 4443).
//!
//! Not here: echo and neighbour discovery (`neighbour`).

use crate::frame::{self, Addresses, IPV4, IPV6};
use wire::checksum;

/// Bytes of an error before the packet it refers to.
const HEADER: usize = 8;
/// Longest errors: RFC 1812 section 4.3.2.3, and RFC 4443 section 2.4 (c).
const LONGEST_V4: usize = 576;
const LONGEST_V6: usize = 1_280;

/// Problem with a received packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Problem {
    /// Nobody listens on the port.
    Port,
    /// Unsupported protocol (IPv4).
    Protocol,
    /// The byte of the packet at `at` is not understood (IPv6): RFC 4443 section 3.4.
    Header { code: u8, at: u32 },
}

/// Kind of an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// The packet can't get there.
    Unreachable,
    /// Nobody listens there.
    PortUnreachable,
    /// The packet was longer than this many bytes (RFC 1191, RFC 8201).
    TooBig(u16),
}

/// An error, and the beginning of the packet it refers to: as it was sent from here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Error {
    pub kind: ErrorKind,
    pub addresses: Addresses,
    pub protocol: u8,
    /// Both ports as in the packet, the source's in the upper half.
    pub ports: u32,
    /// Field after the ports: TCP's sequence number.
    pub seq: u32,
}

/// The error in `message` of ICMP or ICMPv6; `None` if it is not one, or refers to a packet without ports.
pub(crate) fn read(icmp: u8, message: &[u8]) -> Option<Error> {
    let kind = match icmp {
        frame::ICMP => kind_v4(message)?,
        _ => kind_v6(message)?,
    };
    let inner = message.get(HEADER..)?;
    let (addresses, protocol, at) = match icmp {
        frame::ICMP => inner_v4(inner)?,
        _ => inner_v6(inner)?,
    };
    if protocol != frame::TCP && protocol != frame::UDP {
        return None;
    }
    let (ports, seq) = (frame::u32_at(inner, at)?, frame::u32_at(inner, at + 4)?);
    Some(Error { kind, addresses, protocol, ports, seq })
}

fn kind_v4(message: &[u8]) -> Option<ErrorKind> {
    match message.get(..HEADER)? {
        // Fragmentation needed and DF set; old routers leave the size out (RFC 1191 section 4).
        [3, 4, _, _, _, _, 0, 0] => Some(ErrorKind::TooBig(576)),
        [3, 4, _, _, _, _, high, low] => Some(ErrorKind::TooBig(u16::from_be_bytes([*high, *low]))),
        [3, 3, ..] => Some(ErrorKind::PortUnreachable),
        [3, ..] => Some(ErrorKind::Unreachable),
        _ => None,
    }
}

fn kind_v6(message: &[u8]) -> Option<ErrorKind> {
    match message.get(..HEADER)? {
        [1, 4, ..] => Some(ErrorKind::PortUnreachable),
        [1, ..] => Some(ErrorKind::Unreachable),
        [2, _, _, _, size @ ..] => {
            let size = u32::from_be_bytes(size.try_into().ok()?);
            Some(ErrorKind::TooBig(size.min(u16::MAX.into()) as u16))
        }
        _ => None,
    }
}

/// Addresses, protocol, and the offset of its ports. The packet is truncated, so its lengths are unreliable.
fn inner_v4(inner: &[u8]) -> Option<(Addresses, u8, usize)> {
    let header: &[u8; IPV4] = inner.first_chunk()?;
    let is_first = u16::from_be_bytes([header[6], header[7]]) & 0x1fff == 0;
    let at = usize::from(header[0] & 0xf) * 4;
    if header[0] >> 4 != 4 || at < IPV4 || !is_first {
        return None;
    }
    let addresses = Addresses::V4 { from: frame::u32_at(header, 12)?, to: frame::u32_at(header, 16)? };
    Some((addresses, header[9], at))
}

fn inner_v6(inner: &[u8]) -> Option<(Addresses, u8, usize)> {
    let header: &[u8; IPV6] = inner.first_chunk()?;
    let address = |at: usize| header[at..].first_chunk().map(|bytes| u128::from_be_bytes(*bytes));
    if header[0] >> 4 != 6 {
        return None;
    }
    // What is sent from here has no extension headers.
    Some((Addresses::V6 { from: address(8)?, to: address(24)? }, header[6], IPV6))
}

/// Whether the checksum of `message` is right.
pub(crate) fn is_sum_right(addresses: &Addresses, icmp: u8, message: &[u8]) -> bool {
    match icmp {
        frame::ICMP => checksum::fold(checksum::sum(message, 0)) == 0xffff,
        _ => frame::is_sum_right(addresses, icmp, message),
    }
}

/// The part of `packet` repeated in an error: as much as there is room for.
pub(crate) fn repeated(packet: &[u8], is_v6: bool) -> &[u8] {
    let most = if is_v6 { LONGEST_V6 - IPV6 } else { LONGEST_V4 - IPV4 } - HEADER;
    &packet[..packet.len().min(most)]
}

/// Bytes of an error about a packet of which `repeated` bytes are repeated.
pub(crate) fn error_len(repeated: usize) -> usize {
    HEADER + repeated
}

/// Writes an error about a packet whose first bytes are `repeated`; `addresses` are the error's.
pub(crate) fn write_error(addresses: &Addresses, problem: Problem, repeated: &[u8], out: &mut [u8]) {
    out[..HEADER].fill(0);
    out[HEADER..].copy_from_slice(repeated);
    match addresses {
        Addresses::V4 { .. } => {
            out[..2].copy_from_slice(&[3, if problem == Problem::Port { 3 } else { 2 }]);
            let sum = checksum::finish(checksum::sum(out, 0));
            out[2..4].copy_from_slice(&sum.to_be_bytes());
        }
        Addresses::V6 { .. } => {
            out[..2].copy_from_slice(&[1, 4]);
            if let Problem::Header { code, at } = problem {
                out[..2].copy_from_slice(&[4, code]);
                out[4..HEADER].copy_from_slice(&at.to_be_bytes());
            }
            crate::template::put_checksum(addresses, frame::ICMPV6, out, 2);
        }
    }
}
