//! The headers of a frame, including a first fragment's and a packet's quoted by an ICMP error.

use std::ops::Range;
use wire::{ReadHeader, read_first};

/// ICMP errors, which quote the packet that failed (RFC 792, RFC 4443 section 3).
const ERRORS: [&str; 6] = [
    "icmp_unreachable",
    "icmp_redirect",
    "icmp_time_exceeded",
    "icmpv6_unreachable",
    "icmpv6_packet_too_big",
    "icmpv6_time_exceeded",
];
/// Others have no separate header in the catalogue: source quench and parameter problem.
const ERRORS_V4: [u128; 2] = [4, 12];
const ERRORS_V6: [u128; 1] = [4];

/// Bytes of an ICMP error in front of the packet that it quotes.
const ERROR: usize = 8;
/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// Bytes after the IP header of a quoted packet that are read although they may be missing: a TCP header's.
const TRANSPORT: usize = 20;

/// The headers of a frame, outermost first.
#[derive(Debug)]
pub(crate) struct Headers {
    /// All, the quoted ones last. Of a quoted packet the last header may reach beyond the frame's end.
    pub(crate) all: Vec<ReadHeader>,
    /// Those that are quoted.
    quoted: Range<usize>,
}

impl Headers {
    pub(crate) fn of(frame: &[u8]) -> Self {
        let mut all = read_first(frame).0;
        // The reader may go on into the quoted packet, and ends where that is cut short.
        let error = all.iter().enumerate().find_map(|(i, header)| Some((i + 1, quote(header)?)));
        let own = error.map_or(all.len(), |(own, _)| own);
        if let Some((own, start)) = error {
            all.truncate(own);
            all.extend(quoted(frame, start));
        }
        Self { quoted: own..all.len(), all }
    }

    /// The headers of the packet itself.
    pub(crate) fn own(&self) -> &[ReadHeader] {
        &self.all[..self.quoted.start]
    }

    /// Those of the packet that it quotes.
    pub(crate) fn quoted(&self) -> Option<&[ReadHeader]> {
        Some(&self.all[self.quoted.clone()]).filter(|quoted| !quoted.is_empty())
    }
}

/// Where the quoted packet begins, if the header is that of an ICMP error.
fn quote(header: &ReadHeader) -> Option<usize> {
    let others: &[u128] = match header.protocol.name {
        "icmp" => &ERRORS_V4,
        "icmpv6" => &ERRORS_V6,
        name if ERRORS.contains(&name) => return Some(header.offset + ERROR),
        _ => return None,
    };
    header.value("type").filter(|kind| others.contains(kind)).map(|_| header.offset + ERROR)
}

/// The headers of the IP packet at `start`, as far as it is there.
fn quoted(frame: &[u8], start: usize) -> Vec<ReadHeader> {
    let bytes = frame.get(start..).unwrap_or_default();
    let kind: [u8; 2] = match bytes.first().map(|first| first >> 4) {
        Some(4) => [0x08, 0],
        Some(6) => [0x86, 0xdd],
        _ => return Vec::new(),
    };
    let mut whole = vec![0; ETHERNET - 2];
    whole.extend(kind);
    whole.extend(bytes);
    whole.resize(whole.len() + TRANSPORT, 0);
    let found = read_first(&whole).0.into_iter().skip(1);
    let moved = found.map(|header| ReadHeader { offset: header.offset + start - ETHERNET, ..header });
    moved.take_while(|header| header.offset < frame.len()).collect()
}
