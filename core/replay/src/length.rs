//! Packets that are longer than a link takes: captured where a network card joins or cuts segments, or on a link with a larger
//! MTU.
//!
//! Not here: which length that is.

use fragment::{Cut, Fragment};
use wire::{ReadHeader, checksums, read};

/// Bits of TCP's flags: flags of the last segment of several, and of the first (RFC 9293 section 3.1, RFC 3168 section
/// 6.1.2).
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const CWR: u8 = 0x80;

/// Treatment of a packet that is too long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum TooLong {
    /// It refuses the capture.
    Refuse,
    /// It is left out.
    #[default]
    Skip,
    /// Truncated. Lengths and checksums match the rest.
    Cut,
    /// It is cut into several: a TCP segment into segments, another IP packet into fragments. Others are left out.
    Segment,
}

/// Treatment of packets that were too long.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fitted {
    /// Left out.
    pub skipped: u64,
    /// Cut.
    pub cut: u64,
    /// Not captured whole, and not filled up beyond the longest.
    pub shortened: u64,
    /// Cut into TCP segments.
    pub segmented: u64,
    /// Cut into IP fragments.
    pub fragmented: u64,
    /// Segments and fragments that these became.
    pub pieces: u64,
}

impl Fitted {
    /// Adds what became of others.
    pub fn merge(&mut self, other: &Self) {
        self.skipped += other.skipped;
        self.cut += other.cut;
        self.shortened += other.shortened;
        self.segmented += other.segmented;
        self.fragmented += other.fragmented;
        self.pieces += other.pieces;
    }

    /// Packets that are not as captured.
    pub fn changed(&self) -> u64 {
        self.skipped + self.cut + self.shortened + self.segmented + self.fragmented
    }
}

/// Result for one packet.
pub(crate) enum Fit {
    /// It is not too long.
    Fits(Vec<u8>),
    Cut(Vec<u8>),
    /// Its captured part is not too long; its length is the maximum now.
    Shortened(Vec<u8>),
    Pieces {
        frames: Vec<Vec<u8>>,
        are_fragments: bool,
    },
    Skipped,
    Refused,
}

/// Makes a frame fit `longest` bytes; `original_len` is that of the whole, of which the beginning may be all there is. `id` is the
/// identification of IPv6 fragments.
pub(crate) fn fit(mut frame: Vec<u8>, original_len: u32, longest: usize, how: TooLong, id: u32) -> Fit {
    let whole = (original_len as usize).max(frame.len());
    if whole <= longest {
        return Fit::Fits(frame);
    }
    if how == TooLong::Segment {
        frame.resize(whole.min(FRAME_MAX), 0);
        return match pieces(&frame, longest, id) {
            Some((frames, are_fragments)) => Fit::Pieces { frames, are_fragments },
            None => Fit::Skipped,
        };
    }
    if frame.len() <= longest {
        set_lengths(&mut frame, longest);
        return Fit::Shortened(frame);
    }
    match how {
        TooLong::Cut => {
            frame.truncate(longest);
            set_lengths(&mut frame, longest);
            checksums(&frame).iter().for_each(|checksum| checksum.write(&mut frame));
            Fit::Cut(frame)
        }
        TooLong::Refuse => Fit::Refused,
        TooLong::Skip | TooLong::Segment => Fit::Skipped,
    }
}

/// The longest frame that is cut into pieces: an IP packet of 65,535 bytes with IPv6's header and tags.
const FRAME_MAX: usize = 65_535 + 40 + 14 + 8;

/// Reduces the lengths in IP and UDP headers of a frame that ends after `len` bytes. The IPv4 header's checksum is
/// updated.
fn set_lengths(frame: &mut [u8], len: usize) {
    let headers = read(frame).0;
    for header in &headers {
        let (at, behind) = match header.protocol.name {
            "ipv4" => (2, 0),
            "ipv6" => (4, 40),
            "udp" => (4, 0),
            _ => continue,
        };
        let (field, most) = (header.offset + at, len.saturating_sub(header.offset + behind));
        let told = usize::from(u16::from_be_bytes([frame[field], frame[field + 1]]));
        if told > most {
            frame[field..field + 2].copy_from_slice(&(most as u16).to_be_bytes());
        }
    }
    for header in headers.iter().filter(|header| header.protocol.name == "ipv4") {
        put_header_sum(frame, header);
    }
}

/// Writes the checksum of an IPv4 header.
fn put_header_sum(frame: &mut [u8], header: &ReadHeader) {
    let end = header.offset + header.protocol.length_in(&frame[header.offset..]);
    let Some(bytes) = frame.get_mut(header.offset..end) else { return };
    bytes[10..12].fill(0);
    let sum = wire::checksum::finish(wire::checksum::sum(bytes, 0));
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// The frames that a longer one is cut into, and whether they are IP fragments; `None` if it can't be cut.
fn pieces(frame: &[u8], longest: usize, id: u32) -> Option<(Vec<Vec<u8>>, bool)> {
    if Fragment::read(frame).is_some() {
        return None;
    }
    let headers = read(frame).0;
    let ip = headers.iter().position(|header| matches!(header.protocol.name, "ipv4" | "ipv6"))?;
    let behind = headers.get(ip + 1).filter(|header| header.protocol.name == "tcp");
    if let Some(tcp) = behind {
        return segments(frame, longest, &headers[ip], tcp).map(|frames| (frames, false));
    }
    let id = match headers[ip].protocol.name {
        "ipv4" => headers[ip].value("id")? as u32,
        _ => id,
    };
    let cut = Cut::new(frame, longest.checked_sub(headers[ip].offset)?, id)?;
    Some((cut.frames(frame).collect(), true))
}

/// The segments of a longer one, as a network card cuts them.
fn segments(frame: &[u8], longest: usize, ip: &ReadHeader, tcp: &ReadHeader) -> Option<Vec<Vec<u8>>> {
    let is_v4 = ip.protocol.name == "ipv4";
    let start = tcp.offset + tcp.value("data_offset")? as usize * 4;
    let end = match is_v4 {
        true => ip.offset + ip.value("total_length")? as usize,
        false => ip.offset + 40 + ip.value("payload_length")? as usize,
    };
    let payload = frame.get(start..end.min(frame.len()))?;
    let most = longest.checked_sub(start).filter(|most| *most > 0)?;
    let (first, id) = (tcp.value("seq")? as u32, ip.value("id").unwrap_or(0) as u16);
    let count = payload.len().div_ceil(most).max(1);
    let segment = |(index, part): (usize, &[u8])| {
        let mut out = [&frame[..start], part].concat();
        let len = out.len() - ip.offset;
        if is_v4 {
            out[ip.offset + 2..ip.offset + 4].copy_from_slice(&(len as u16).to_be_bytes());
            out[ip.offset + 4..ip.offset + 6].copy_from_slice(&id.wrapping_add(index as u16).to_be_bytes());
        } else {
            out[ip.offset + 4..ip.offset + 6].copy_from_slice(&((len - 40) as u16).to_be_bytes());
        }
        let seq = first.wrapping_add((index * most) as u32);
        out[tcp.offset + 4..tcp.offset + 8].copy_from_slice(&seq.to_be_bytes());
        if index + 1 < count {
            out[tcp.offset + 13] &= !(FIN | PSH);
        }
        if index > 0 {
            out[tcp.offset + 13] &= !CWR;
        }
        checksums(&out).iter().for_each(|checksum| checksum.write(&mut out));
        out
    };
    Some(payload.chunks(most).enumerate().map(segment).collect())
}

#[cfg(test)]
mod tests;
