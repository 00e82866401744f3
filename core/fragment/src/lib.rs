//! IP fragments: reassembly and fragmentation. RFC 791 section 3.2 and RFC 815 (IPv4), RFC 8200 section 4.5 (IPv6), RFC
//! 5722 (no overlapping fragments).
//!
//! Sans-IO: whole Ethernet frames in and out, time as an argument. Nothing here decides which host a packet is for: the
//! caller has checked its [`Fragment::to`].
//!
//! Separate because flows (`tcp`) cut packets, and the engine reassembles them for flows and hosts alike.
//!
//! Invariants:
//! - What waits for its other fragments is bounded in number, memory and time for any input; evicted packets are
//!   counted.
//! - A packet is reassembled from fragments that do not overlap, or not at all.

#![forbid(unsafe_code)]

mod cut;
mod piece;
mod reassembly;

pub use cut::Cut;
pub use piece::{Fragment, PacketId};
pub use reassembly::{FragmentCounts, Limits, Reassembler};

/// Bytes of addresses and type, and of a VLAN tag.
const ETHERNET: usize = 14;
const TAG: usize = 4;
const TAGS_MAX: usize = 2;
const TYPE_IPV4: u16 = 0x0800;
const TYPE_IPV6: u16 = 0x86dd;

/// Bytes of an IPv4 header without options, of an IPv6 header and of its fragment header.
const IPV4: usize = 20;
const IPV6: usize = 40;
const FRAGMENT: usize = 8;
const FRAGMENT_HEADER: u8 = 44;

/// The longest packet, bytes (RFC 791 section 3.1); of an IPv6 packet what follows its header (RFC 8200 section 3).
const PACKET_MAX: usize = 65_535;

/// More fragments, in IPv4 and in IPv6.
const MORE_V4: u16 = 0x2000;
const MORE_V6: u16 = 1;

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn put(bytes: &mut [u8], at: usize, value: u16) {
    bytes[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

/// Writes the checksum of the IPv4 header in `header`.
fn put_header_sum(header: &mut [u8]) {
    put(header, 10, 0);
    let sum = wire::checksum::finish(wire::checksum::sum(header, 0));
    put(header, 10, sum);
}

/// Offset of a frame's IP header, its type, and the identifiers of the frame's VLANs, outermost first; a priority tag
/// is not a VLAN (IEEE 802.1Q).
fn network(frame: &[u8]) -> Option<(usize, u16, Vec<u16>)> {
    let (mut at, mut vlans) = (ETHERNET, Vec::new());
    let mut kind = u16_at(frame, at - 2)?;
    while wire::is_vlan_type(kind) {
        if at == ETHERNET + TAGS_MAX * TAG {
            return None;
        }
        vlans.extend(Some(u16_at(frame, at)? & 0xfff).filter(|id| *id != 0));
        kind = u16_at(frame, at + 2)?;
        at += TAG;
    }
    Some((at, kind, vlans))
}
