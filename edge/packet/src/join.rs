//! TCP segments in a row that are joined into one long packet, which the network card or the kernel cuts into the same segments
//! again (TCP segmentation offload), or hands whole to the other end of a virtual link.
//!
//! Only segments that are restored exactly by cutting are joined: segments of one flow whose headers differ only in
//! their position in the stream, all but the last of one size. A segment with anything else (SYN, RST, urgent data, a
//! reduced window) stays a separate packet, and so does one with a VLAN tag.

use crate::ring::{NEEDS_CHECKSUM, VIRTIO};
use crate::sum::{add, fold, pair, put};
use port::Burst;

const TCP: u8 = 6;
/// Bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// Bytes of the longest headers: Ethernet, IPv4 and TCP with all their options.
const HEADERS_MAX: usize = ETHERNET + 60 + 60;
/// Bytes of an IP packet at most.
const PACKET_MAX: usize = u16::MAX as usize;
/// More fragments, and where a fragment begins.
const FRAGMENT: u16 = 0x3fff;
const DO_NOT_FRAGMENT: u16 = 0x4000;
const FIN: u8 = 1;
const PSH: u8 = 1 << 3;
const ACK: u8 = 1 << 4;
const ECE: u8 = 1 << 6;
/// `VIRTIO_NET_HDR_GSO_TCPV4`, `VIRTIO_NET_HDR_GSO_TCPV6`.
const CUT_TCP4: u8 = 1;
const CUT_TCP6: u8 = 4;
/// Where a TCP header has its checksum.
const CHECKSUM: usize = 16;

/// Prefix of a joined packet's payload: a `virtio_net_hdr`, and the headers.
pub(crate) struct Front {
    bytes: [u8; VIRTIO + HEADERS_MAX],
    len: usize,
}

impl Front {
    pub(crate) const EMPTY: Self = Self { bytes: [0; VIRTIO + HEADERS_MAX], len: VIRTIO };

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// A segment with data, and where its parts begin in its frame.
#[derive(Clone, Copy)]
struct Segment<'a> {
    frame: &'a [u8],
    is_v6: bool,
    tcp: usize,
    payload: usize,
}

impl<'a> Segment<'a> {
    /// The segment in a frame, if it may be joined with others.
    #[inline]
    fn read(frame: &'a [u8]) -> Option<Self> {
        let ip = ETHERNET;
        let (is_v6, tcp, end) = match pair(frame, ip - 2)? {
            0x0800 => {
                let is_whole = pair(frame, ip + 6)? & FRAGMENT == 0;
                let header = usize::from(frame.get(ip)? & 15) * 4;
                let is_tcp = header >= 20 && *frame.get(ip + 9)? == TCP;
                (is_whole && is_tcp).then_some((
                    false,
                    ip + header,
                    ip + usize::from(pair(frame, ip + 2)?),
                ))?
            }
            0x86dd => {
                let is_tcp = *frame.get(ip + 6)? == TCP;
                is_tcp.then_some((true, ip + 40, ip + 40 + usize::from(pair(frame, ip + 4)?)))?
            }
            _ => return None,
        };
        let frame = frame.get(..end)?;
        let header = usize::from(*frame.get(tcp + 12)? >> 4) * 4;
        let flags = *frame.get(tcp + 13)?;
        let is_plain = flags & !(PSH | FIN | ECE) == ACK;
        let payload = tcp + header;
        (is_plain && header >= 20 && payload < end).then_some(Self { frame, is_v6, tcp, payload })
    }

    fn flags(&self) -> u8 {
        self.frame[self.tcp + 13]
    }

    fn sequence(&self) -> u32 {
        let high = pair(self.frame, self.tcp + 4).unwrap_or(0);
        u32::from(high) << 16 | u32::from(pair(self.frame, self.tcp + 6).unwrap_or(0))
    }

    fn data(&self) -> &'a [u8] {
        &self.frame[self.payload..]
    }

    /// Whether `next` is cut out of a packet after this one, which is the last of `len` bytes of data that begin with
    /// `first`.
    #[inline]
    fn is_followed_by(&self, next: &Self, first: &Self, len: usize) -> bool {
        let (a, b, ip, tcp) = (self.frame, next.frame, ETHERNET, self.tcp);
        let same = |from: usize, to: usize| a[from..to] == b[from..to];
        let is_same_packet = (self.is_v6, self.tcp, self.payload) == (next.is_v6, next.tcp, next.payload)
            && same(0, ip)
            && if self.is_v6 {
                same(ip, ip + 4) && same(ip + 6, tcp)
            } else {
                let id = |frame| pair(frame, ip + 4).unwrap_or(0);
                let may_have_any_id = pair(a, ip + 6).is_some_and(|word| word & DO_NOT_FRAGMENT != 0);
                same(ip, ip + 2)
                    && same(ip + 6, ip + 10)
                    && same(ip + 12, tcp)
                    && (may_have_any_id || id(b) == id(a).wrapping_add(1))
            };
        is_same_packet
            && same(tcp, tcp + 4)
            && same(tcp + 8, tcp + 13)
            && same(tcp + 14, tcp + CHECKSUM)
            && same(tcp + CHECKSUM + 2, self.payload)
            && (self.flags() ^ next.flags()) & !(PSH | FIN) == 0
            && self.flags() & (PSH | FIN) == 0
            && self.data().len() == first.data().len()
            && next.data().len() <= first.data().len()
            && next.sequence() == first.sequence().wrapping_add(len as u32)
            && self.payload - ip + len + next.data().len() <= PACKET_MAX
    }
}

/// Number of frames of a burst from `from` on to join, 1 at least; if more, `front` is the prefix of their data.
#[inline]
pub(crate) fn join(burst: &Burst, from: usize, front: &mut Front) -> usize {
    let Some(first) = Segment::read(burst.data(from)) else { return 1 };
    let (mut last, mut len, mut end) = (first, first.data().len(), from + 1);
    while end < burst.len()
        && let Some(next) = Segment::read(burst.data(end))
        && last.is_followed_by(&next, &first, len)
    {
        (last, len, end) = (next, len + next.data().len(), end + 1);
    }
    if end > from + 1 {
        front.write(&first, &last, len);
    }
    end - from
}

/// The data of a frame that was joined with others.
#[inline]
pub(crate) fn data(frame: &[u8]) -> &[u8] {
    Segment::read(frame).map_or(&[], |segment| segment.data())
}

impl Front {
    fn write(&mut self, first: &Segment<'_>, last: &Segment<'_>, len: usize) {
        let (ip, tcp, headers) = (ETHERNET, first.tcp, first.payload);
        self.len = VIRTIO + headers;
        let (virtio, out) = self.bytes.split_at_mut(VIRTIO);
        let out = &mut out[..headers];
        out.copy_from_slice(&first.frame[..headers]);
        out[tcp + 13] = last.flags();
        let segment = headers - tcp + len;
        let addresses = if first.is_v6 {
            put(out, ip + 4, (tcp - ip - 40 + segment) as u16);
            ip + 8..ip + 40
        } else {
            put(out, ip + 2, (tcp - ip + segment) as u16);
            put(out, ip + 10, 0);
            let sum = !fold(add(0, &out[ip..tcp]));
            put(out, ip + 10, sum);
            ip + 12..ip + 20
        };
        // The pseudo-header's sum: the rest is added where the packet is cut.
        let sum = fold(add(u32::from(TCP) + segment as u32, &out[addresses]));
        put(out, tcp + CHECKSUM, sum);
        virtio[0] = NEEDS_CHECKSUM;
        virtio[1] = if first.is_v6 { CUT_TCP6 } else { CUT_TCP4 };
        for (at, value) in [(2, headers), (4, first.data().len()), (6, tcp), (8, CHECKSUM)] {
            virtio[at..at + 2].copy_from_slice(&(value as u16).to_ne_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use port::memory::FreeFrames;

    const MSS: usize = 100;

    /// A segment of `len` bytes from `at` of a stream on.
    fn segment(is_v6: bool, at: usize, len: usize, flags: u8) -> Vec<u8> {
        let mut frame = vec![2; 12];
        let tcp_len = (32 + len) as u16;
        if is_v6 {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            frame.extend(tcp_len.to_be_bytes());
            frame.extend([6, 64]);
            frame.extend([0x20; 32]);
        } else {
            frame.extend([8, 0, 0x45, 0]);
            frame.extend((tcp_len + 20).to_be_bytes());
            frame.extend([0, at as u8, 0x40, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        }
        frame.extend([0x10, 0, 0x20, 0]);
        frame.extend((7_000 + at as u32).to_be_bytes());
        frame.extend([0, 0, 0, 9, 0x80, flags, 1, 0, 0xaa, 0xbb, 0, 0, 1, 1, 8, 10, 0, 0, 0, 5, 0, 0, 0, 6]);
        frame.extend((at..at + len).map(|i| i as u8));
        frame
    }

    fn joined(frames: &[Vec<u8>]) -> (usize, Front) {
        let mut free = FreeFrames::new(64, 2048).unwrap();
        let mut burst = Burst::new();
        assert_eq!(free.take(&mut burst, frames.len()), frames.len());
        for (i, frame) in frames.iter().enumerate() {
            burst.frame_mut(i).copy_from(frame);
        }
        let mut front = Front::EMPTY;
        let n = join(&burst, 0, &mut front);
        free.give_front(&mut burst, frames.len());
        (n, front)
    }

    /// The kernel's segments of a joined packet.
    fn cut(front: &Front, data: &[u8]) -> Vec<Vec<u8>> {
        let (virtio, headers) = front.bytes().split_at(VIRTIO);
        let number = |at: usize| usize::from(u16::from_ne_bytes([virtio[at], virtio[at + 1]]));
        let (part, tcp) = (number(4), number(6));
        assert_eq!((virtio[0], number(2), number(8)), (NEEDS_CHECKSUM, headers.len(), CHECKSUM));
        let parts = data.chunks(part).enumerate().map(|(i, one)| {
            let mut frame = headers.to_vec();
            frame.extend(one);
            let is_v6 = virtio[1] == CUT_TCP6;
            let ip_len = (frame.len() - ETHERNET) as u16;
            if is_v6 {
                frame[18..20].copy_from_slice(&(ip_len - 40).to_be_bytes());
            } else {
                frame[16..18].copy_from_slice(&ip_len.to_be_bytes());
                frame[24..26].fill(0);
            }
            frame[tcp + CHECKSUM..tcp + CHECKSUM + 2].copy_from_slice(&[0xaa, 0xbb]);
            let sequence =
                u32::from_be_bytes(frame[tcp + 4..tcp + 8].try_into().unwrap()) + (i * part) as u32;
            frame[tcp + 4..tcp + 8].copy_from_slice(&sequence.to_be_bytes());
            if (i + 1) * part < data.len() {
                frame[tcp + 13] &= !(PSH | FIN);
            }
            frame
        });
        parts.collect()
    }

    #[test]
    fn what_is_joined_is_cut_into_the_same() {
        for is_v6 in [false, true] {
            let frames: Vec<_> = [(0, 100, ACK), (100, 100, ACK), (200, 30, ACK | PSH | FIN)]
                .map(|(at, len, flags)| segment(is_v6, at, len, flags))
                .into();
            let (n, front) = joined(&frames);
            assert_eq!(n, 3);
            let all: Vec<u8> = frames.iter().flat_map(|frame| data(frame).to_vec()).collect();
            let mut again = cut(&front, &all);
            // An identification may be any where fragments are forbidden.
            again
                .iter_mut()
                .zip(&frames)
                .filter(|_| !is_v6)
                .for_each(|(a, b)| a[18..20].copy_from_slice(&b[18..20]));
            assert_eq!(again, frames);
            let headers = &front.bytes()[VIRTIO..];
            let (addresses, tcp) = if is_v6 { (22..54, 54) } else { (26..34, 34) };
            let sum = fold(add(6 + 32 + 230, &headers[addresses]));
            assert_eq!(pair(headers, tcp + CHECKSUM), Some(sum));
            if !is_v6 {
                assert_eq!(fold(add(0, &headers[14..34])), 0xffff);
            }
        }
    }

    #[test]
    fn what_differs_is_not_joined() {
        let first = segment(false, 0, MSS, ACK);
        let second = segment(false, MSS, MSS, ACK);
        let changed = |at: usize, byte: u8| {
            let mut frame = second.clone();
            frame[at] = byte;
            frame
        };
        let others = [
            ("a gap", segment(false, MSS + 1, MSS, ACK)),
            ("a longer one", segment(false, MSS, MSS + 1, ACK)),
            ("SYN", segment(false, MSS, MSS, ACK | 2)),
            ("RST", segment(false, MSS, MSS, ACK | 4)),
            ("no data", segment(false, MSS, 0, ACK)),
            ("another acknowledgement", changed(14 + 20 + 11, 8)),
            ("another window", changed(14 + 20 + 15, 8)),
            ("another time", changed(14 + 20 + 27, 8)),
            ("another port", changed(14 + 20 + 1, 8)),
            ("another address", changed(14 + 15, 8)),
            ("another TTL", changed(14 + 8, 8)),
            ("a fragment", changed(14 + 6, 0x20)),
            ("another host", changed(3, 8)),
            ("IPv6", segment(true, MSS, MSS, ACK)),
            ("nothing", vec![0; 60]),
        ];
        assert_eq!(joined(&[first.clone(), second.clone()]).0, 2);
        for (what, other) in others {
            assert_eq!(joined(&[first.clone(), other.clone()]).0, 1, "{what}");
            assert_eq!(joined(&[other, segment(false, 2 * MSS, MSS, ACK)]).0, 1, "{what}");
        }
        for flags in [PSH, FIN] {
            assert_eq!(joined(&[segment(false, 0, MSS, ACK | flags), second.clone()]).0, 1);
        }
        // A short one is the last.
        let short = segment(false, MSS, 10, ACK);
        assert_eq!(joined(&[first, short, segment(false, MSS + 10, 10, ACK)]).0, 2);
    }

    #[test]
    fn a_packet_is_no_longer_than_ip_allows() {
        let frames: Vec<_> = (0..60).map(|i| segment(false, i * 1_400, 1_400, ACK)).collect();
        let (n, front) = joined(&frames);
        assert_eq!(n, (65_535 - 52) / 1_400);
        assert_eq!(pair(&front.bytes()[VIRTIO..], 16), Some((52 + n * 1_400) as u16));
    }

    #[test]
    fn cut_frames_are_nothing() {
        let frame = segment(false, 0, MSS, ACK);
        for len in 0..frame.len() {
            assert!(Segment::read(&frame[..len]).is_none(), "{len}");
        }
    }
}
