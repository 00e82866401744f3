//! UDP packets that were joined from datagrams of one size, cut into these again.
//!
//! A program may pass many datagrams to the kernel as one packet (`UDP_SEGMENT`, udp(7)), and the kernel leaves it to a
//! network card to cut it; the other end of a veth pair gets it whole. Such a packet holds several requests or
//! responses, so unlike a long TCP segment it has no meaning as a whole.
//!
//! Checksums stay unfinished: each datagram holds its pseudo-header's sum, as the whole did.

use crate::sum::{add, fold, pair, put};
use std::ops::Range;

const UDP: u8 = 17;
const UDP_HEADER: usize = 8;
/// More fragments, and where a fragment begins.
const FRAGMENT: u16 = 0x3fff;

/// Where the headers of a joined packet are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Joined {
    ip: usize,
    udp: usize,
    end: usize,
    is_v6: bool,
    /// Bytes of payload of each but the last.
    part: usize,
}

impl Joined {
    /// The headers of `frame`, whose datagrams have `part` bytes of payload each; `None` if it is no such packet.
    pub(crate) fn read(frame: &[u8], part: u16) -> Option<Self> {
        let mut kind = 12;
        while matches!(pair(frame, kind)?, 0x8100 | 0x88a8 | 0x9100) {
            kind += 4;
        }
        let ip = kind + 2;
        let (udp, end, is_v6) = match pair(frame, kind)? {
            0x0800 => {
                let header = usize::from(frame.get(ip)? & 15) * 4;
                let is_plain = header >= 20 && pair(frame, ip + 6)? & FRAGMENT == 0;
                let end = ip + usize::from(pair(frame, ip + 2)?);
                (is_plain && *frame.get(ip + 9)? == UDP).then_some((ip + header, end, false))?
            }
            0x86dd => {
                let end = ip + 40 + usize::from(pair(frame, ip + 4)?);
                (*frame.get(ip + 6)? == UDP).then_some((ip + 40, end, true))?
            }
            _ => return None,
        };
        let joined = Self { ip, udp, end, is_v6, part: usize::from(part) };
        (part > 0 && end <= frame.len() && joined.payload().start < end).then_some(joined)
    }

    fn payload(&self) -> Range<usize> {
        self.udp + UDP_HEADER..self.end
    }

    /// Datagrams in it.
    pub(crate) fn parts(&self) -> usize {
        self.payload().len().div_ceil(self.part)
    }

    /// Bytes of the longest datagram's frame.
    pub(crate) fn longest(&self) -> usize {
        self.udp + UDP_HEADER + self.part.min(self.payload().len())
    }

    /// Writes the frame of datagram `number` of `frame` to the beginning of `out`; returns its bytes.
    pub(crate) fn write(&self, frame: &[u8], number: usize, out: &mut [u8]) -> usize {
        let payload = self.payload();
        let from = payload.start + number * self.part;
        let body = &frame[from..payload.end.min(from + self.part)];
        let len = payload.start + body.len();
        out[..payload.start].copy_from_slice(&frame[..payload.start]);
        out[payload.start..len].copy_from_slice(body);
        let udp_len = (len - self.udp) as u16;
        let addresses = if self.is_v6 {
            put(out, self.ip + 4, udp_len);
            self.ip + 8..self.ip + 40
        } else {
            put(out, self.ip + 2, (len - self.ip) as u16);
            let id = pair(frame, self.ip + 4).unwrap_or(0).wrapping_add(number as u16);
            put(out, self.ip + 4, id);
            put(out, self.ip + 10, 0);
            let sum = !fold(add(0, &out[self.ip..self.udp]));
            put(out, self.ip + 10, sum);
            self.ip + 12..self.ip + 20
        };
        put(out, self.udp + 4, udp_len);
        if pair(frame, self.udp + 6) != Some(0) {
            let sum = fold(add(u32::from(UDP) + u32::from(udp_len), &out[addresses]));
            put(out, self.udp + 6, sum);
        }
        len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of `payload` bytes over UDP, with `tags` VLAN tags.
    fn frame(is_v6: bool, tags: usize, payload: usize) -> Vec<u8> {
        let mut frame = vec![2; 12];
        (0..tags).for_each(|_| frame.extend([0x81, 0, 0, 7]));
        let udp_len = (payload + 8) as u16;
        let [high, low] = udp_len.to_be_bytes();
        if is_v6 {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, high, low, 17, 64]);
            frame.extend([0x20; 32]);
        } else {
            let [a, b] = (udp_len + 20).to_be_bytes();
            frame.extend([8, 0, 0x45, 0, a, b, 0xff, 0xff, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
        }
        frame.extend([0x10, 0, 0x20, 0, high, low, 0x12, 0x34]);
        frame.extend((0..payload).map(|i| i as u8));
        frame
    }

    #[test]
    fn datagrams_are_cut_as_they_were_joined() {
        for (is_v6, tags) in [(false, 0), (false, 2), (true, 0), (true, 1)] {
            let whole = frame(is_v6, tags, 2500);
            let joined = Joined::read(&whole, 1000).unwrap();
            assert_eq!(joined.parts(), 3);
            let (mut out, mut got) = (vec![0; joined.longest()], Vec::new());
            for (number, expected) in [1000, 1000, 500].into_iter().enumerate() {
                let len = joined.write(&whole, number, &mut out);
                let one = &out[..len];
                // What it says of itself is a whole datagram again.
                let again = Joined::read(one, 1000).unwrap();
                assert_eq!((again.end, again.parts()), (len, 1));
                assert_eq!(pair(one, again.udp + 4), Some(expected + 8));
                let addresses =
                    if is_v6 { again.ip + 8..again.ip + 40 } else { again.ip + 12..again.ip + 20 };
                let sum = fold(add(17 + u32::from(expected + 8), &one[addresses]));
                assert_eq!(pair(one, again.udp + 6), Some(sum));
                if !is_v6 {
                    assert_eq!(fold(add(0, &one[again.ip..again.udp])), 0xffff);
                    assert_eq!(pair(one, again.ip + 4), Some(0xffffu16.wrapping_add(number as u16)));
                }
                got.extend_from_slice(&one[again.payload()]);
            }
            assert_eq!(got, whole[joined.payload()]);
        }
    }

    #[test]
    fn other_packets_are_left_alone() {
        let whole = frame(false, 0, 100);
        let changed = |at: usize, byte: u8| {
            let mut frame = whole.clone();
            frame[at] = byte;
            Joined::read(&frame, 10)
        };
        assert!(Joined::read(&whole, 10).is_some() && Joined::read(&whole, 0).is_none());
        // TCP, a fragment, no IP, a header too short, a length beyond the end.
        let others = [(23, 6), (20, 0x20), (12, 9), (14, 0x44), (16, 0xff)];
        assert!(others.into_iter().all(|(at, byte)| changed(at, byte).is_none()));
        for len in 0..whole.len() {
            assert_eq!(Joined::read(&whole[..len], 10), None, "{len}");
        }
    }
}
