//! Packets of other kinds of interfaces as Ethernet frames: loopback, Linux cooked captures, bare IP, PPP, Cisco HDLC.
//! Source: tcpdump.org/linktypes.html, and the pages of each link type there.
//!
//! Not here: what follows the link's header, but for an IP length that was left to a network card.

use crate::{Capture, Record};
use std::borrow::Cow;

/// Link type of Ethernet frames without preamble.
pub const ETHERNET: u16 = 1;
/// Link type of bare IP packets, whose version is in their first byte.
pub const RAW_IP: u16 = 101;
/// Link type of bare IPv4 packets.
pub const RAW_IPV4: u16 = 228;
/// Link type of bare IPv6 packets.
pub const RAW_IPV6: u16 = 229;
/// Bare IP packets in files of some systems that wrote their own number.
const RAW_IP_OLD: [u16; 2] = [12, 14];
/// Loopback of BSD and macOS: the address family in the byte order of the machine, and in that of networks.
const LOOPBACK: u16 = 0;
const LOOPBACK_OPENBSD: u16 = 108;
/// Linux cooked captures, as of `any`.
const COOKED: u16 = 113;
const COOKED_2: u16 = 276;
const PPP: u16 = 9;
const PPP_HDLC: u16 = 50;
const CISCO_HDLC: u16 = 104;

/// Kinds of packets that can be sent, in words.
pub const SENDABLE: &str = "0 and 108 (loopback), 1 (Ethernet), 9 and 50 (PPP), 101, 228 and 229 (bare IP), 104 (Cisco HDLC), \
    113 and 276 (Linux cooked)";

const TYPE_IPV4: u16 = 0x0800;
const TYPE_IPV6: u16 = 0x86dd;
/// The least number that is an EtherType and no length (IEEE 802.3 clause 3.2.6).
const TYPE_LEAST: u16 = 0x0600;
/// LLC frames in cooked captures (ETH_P_802_2).
const COOKED_LLC: u16 = 4;
/// Ethernet, and Linux' loopback, whose addresses are like Ethernet's (ARPHRD_*).
const HARDWARE_ETHERNET: [u16; 2] = [1, 772];
/// Netlink and 802.11 with radiotap: what their cooked header calls a protocol is none of Ethernet's.
const HARDWARE_OTHER: [u16; 4] = [801, 802, 803, 824];

/// Addresses of frames whose link has none.
const FROM: [u8; 6] = [2, 0, 0, 0, 0, 1];
const TO: [u8; 6] = [2, 0, 0, 0, 0, 2];

/// Why a captured packet is no Ethernet frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NoFrame {
    /// Its interface is of a kind that is not read.
    LinkType(u16),
    /// It is of a readable link type and holds nothing that Ethernet carries, such as PPP's own control protocols.
    NotIp(u16),
    /// It ends within its link's header.
    Short,
    /// Its interface is not in the capture.
    NoInterface(u32),
}

/// A captured packet as an Ethernet frame without FCS.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Framed<'r> {
    /// The frame, as far as it was captured.
    pub bytes: Cow<'r, [u8]>,
    /// Length of the whole frame, bytes.
    pub original_len: u32,
    /// Whether its IP length was zero, for a network card to fill in: it is that of the frame now.
    pub was_without_length: bool,
}

/// The Ethernet frame of a captured packet. A packet of another link type gets an Ethernet header with locally made
/// addresses, except for the source in a cooked capture.
pub fn frame<'r>(capture: &Capture, record: &'r Record) -> Result<Framed<'r>, NoFrame> {
    let interface = capture.interfaces.get(record.interface as usize);
    let interface = interface.ok_or(NoFrame::NoInterface(record.interface))?;
    let mut bytes = &record.bytes[..];
    // Only a packet captured whole has its frame check sequence.
    let fcs = usize::from(interface.fcs_bytes);
    if bytes.len() >= record.original_len as usize {
        bytes = &bytes[..bytes.len().saturating_sub(fcs)];
    }
    let original_len = record.original_len.saturating_sub(fcs as u32);
    let (mut bytes, original_len) = match interface.link_type {
        ETHERNET if bytes.len() < 14 => return Err(NoFrame::Short),
        ETHERNET => (Cow::Borrowed(bytes), original_len),
        other => {
            let (header, skip) = header(other, bytes, original_len)?;
            let original_len = original_len.saturating_sub(skip as u32).saturating_add(14);
            (Cow::Owned([&header, &bytes[skip..]].concat()), original_len)
        }
    };
    let original_len = original_len.max(bytes.len() as u32);
    let without = ip_without_length(&bytes, original_len);
    if let Some(ip) = without {
        put_length(bytes.to_mut(), ip, original_len);
    }
    Ok(Framed { bytes, original_len, was_without_length: without.is_some() })
}

/// The same for a record that nothing else needs: its bytes are moved where they are the frame's.
pub fn into_frame(capture: &Capture, mut record: Record) -> Result<Framed<'static>, NoFrame> {
    let Framed { bytes, original_len, was_without_length } = frame(capture, &record)?;
    let bytes = match bytes {
        Cow::Owned(bytes) => bytes,
        // A borrowed frame is the beginning of its record.
        Cow::Borrowed(frame) => {
            let len = frame.len();
            record.bytes.truncate(len);
            std::mem::take(&mut record.bytes)
        }
    };
    Ok(Framed { bytes: Cow::Owned(bytes), original_len, was_without_length })
}

fn word(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The Ethernet header for a packet of another link type, and how many of its bytes that replaces.
fn header(link_type: u16, bytes: &[u8], original_len: u32) -> Result<([u8; 14], usize), NoFrame> {
    let not_ip = NoFrame::NotIp(link_type);
    let short = NoFrame::Short;
    let by_version = |at: usize| match bytes.get(at).ok_or(short)? >> 4 {
        4 => Ok(TYPE_IPV4),
        6 => Ok(TYPE_IPV6),
        _ => Err(not_ip),
    };
    let ppp = |at: usize| {
        // The first byte of a protocol number that is one byte long is odd (RFC 1661 section 2).
        let (number, behind) = match *bytes.get(at).ok_or(short)? {
            one if one & 1 == 1 => (u16::from(one), at + 1),
            _ => (word(bytes, at).ok_or(short)?, at + 2),
        };
        match number {
            0x21 => Ok((TYPE_IPV4, behind)),
            0x57 => Ok((TYPE_IPV6, behind)),
            _ => Err(not_ip),
        }
    };
    let (mut from, mut to) = (FROM, TO);
    let (kind, skip) = match link_type {
        RAW_IP | RAW_IPV4 | RAW_IPV6 => (by_version(0)?, 0),
        _ if RAW_IP_OLD.contains(&link_type) => (by_version(0)?, 0),
        LOOPBACK | LOOPBACK_OPENBSD => (family(bytes.first_chunk().ok_or(short)?).ok_or(not_ip)?, 4),
        PPP | PPP_HDLC => match bytes {
            [0xff, 3, ..] => ppp(2)?,
            // Cisco's framing: an address of its own, and an EtherType.
            [0x0f | 0x8f, 0, ..] => (word(bytes, 2).ok_or(short)?, 4),
            _ => ppp(0)?,
        },
        CISCO_HDLC => (word(bytes, 2).ok_or(short)?, 4),
        COOKED | COOKED_2 => {
            let is_second = link_type == COOKED_2;
            let (kind_at, hardware_at, len_at, len) = if is_second { (0, 8, 11, 20) } else { (14, 2, 5, 16) };
            let to_all = if is_second { bytes.get(10) } else { bytes.get(1) } == Some(&1);
            let address = if is_second { 12 } else { 6 };
            let (Some(kind), Some(hardware), true) =
                (word(bytes, kind_at), word(bytes, hardware_at), bytes.len() >= len)
            else {
                return Err(short);
            };
            if HARDWARE_ETHERNET.contains(&hardware) && bytes[len_at] == 6 {
                from.copy_from_slice(&bytes[address..address + 6]);
            }
            if to_all {
                to = [0xff; 6];
            }
            match kind {
                _ if HARDWARE_OTHER.contains(&hardware) => return Err(not_ip),
                // An LLC frame has its length in place of a type.
                COOKED_LLC => (original_len.saturating_sub(len as u32).min(1_500) as u16, len),
                TYPE_LEAST.. => (kind, len),
                _ => return Err(not_ip),
            }
        }
        other => return Err(NoFrame::LinkType(other)),
    };
    if matches!(link_type, PPP | PPP_HDLC | CISCO_HDLC) && !matches!(kind, TYPE_IPV4 | TYPE_IPV6) {
        return Err(not_ip);
    }
    if matches!(kind, TYPE_IPV4 | TYPE_IPV6) && by_version(skip)? != kind {
        return Err(not_ip);
    }
    let mut header = [0; 14];
    header[..6].copy_from_slice(&to);
    header[6..12].copy_from_slice(&from);
    header[12..].copy_from_slice(&kind.to_be_bytes());
    Ok((header, skip))
}

/// The EtherType of an address family, in either byte order: IPv4 is 2 everywhere, IPv6 10, 24, 28 or 30.
fn family(bytes: &[u8; 4]) -> Option<u16> {
    match (u32::from_le_bytes(*bytes), u32::from_be_bytes(*bytes)) {
        (2, _) | (_, 2) => Some(TYPE_IPV4),
        (10 | 24 | 28 | 30, _) | (_, 10 | 24 | 28 | 30) => Some(TYPE_IPV6),
        _ => None,
    }
}

/// Shortest Ethernet frame without FCS: in a shorter packet a length of zero was not left to a card.
const SHORTEST: u32 = 60;

/// Where the IP header begins, if its length is zero although a segment or datagram is after it: a card that cuts
/// segments fills it in.
fn ip_without_length(frame: &[u8], original_len: u32) -> Option<usize> {
    let mut at = 12;
    while matches!(word(frame, at)?, 0x8100 | 0x88a8 | 0x9100) {
        at += 4;
    }
    let ip = at + 2;
    let is_without = match word(frame, at)? {
        TYPE_IPV4 => frame.get(ip)? >> 4 == 4 && word(frame, ip + 2)? == 0,
        TYPE_IPV6 => word(frame, ip + 4)? == 0 && matches!(frame.get(ip + 6)?, 6 | 17),
        _ => false,
    };
    (is_without && original_len > SHORTEST).then_some(ip)
}

/// Fills in the length of the IP packet that begins at `ip` and ends with its frame of `original_len` bytes. A right checksum
/// stays right.
fn put_length(frame: &mut [u8], ip: usize, original_len: u32) {
    let len = original_len as usize - ip;
    if frame[ip] >> 4 == 6 {
        let len = u16::try_from(len.saturating_sub(40)).unwrap_or(u16::MAX);
        return frame[ip + 4..ip + 6].copy_from_slice(&len.to_be_bytes());
    }
    let len = u16::try_from(len).unwrap_or(u16::MAX);
    if frame.len() < ip + 4 {
        return;
    }
    frame[ip + 2..ip + 4].copy_from_slice(&len.to_be_bytes());
    if let Some(before) = word(frame, ip + 10) {
        // RFC 1624 equation 3, from a word of zero.
        let sum = u32::from(!before) + 0xffff + u32::from(len);
        let sum = (sum & 0xffff) + (sum >> 16);
        let sum = (sum & 0xffff) + (sum >> 16);
        frame[ip + 10..ip + 12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    }
}

#[cfg(test)]
mod tests;
