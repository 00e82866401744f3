//! One direction of a link.

use crate::random::Dice;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use units::{L1_OVERHEAD_BYTES, Nanos};

/// Effects of a link on frames.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkModel {
    /// Layer-1 bits per second.
    pub speed_bps: u64,
    /// Propagation delay.
    pub delay: Nanos,
    /// Share of frames lost, 0 to 1.
    pub loss: f64,
    /// Share of frames delivered twice.
    pub duplicate: f64,
    /// Share of frames delayed by `reorder_by` more.
    pub reorder: f64,
    /// Extra delay of those.
    pub reorder_by: Nanos,
    /// Share of frames in which one bit after the headers is flipped, those that have such bits.
    pub corrupt: f64,
    /// Share of packets of an ECN-capable transport that get the mark of congestion.
    pub mark: f64,
}

impl LinkModel {
    /// A link that does nothing but take time to fill.
    pub fn perfect(speed_bps: u64) -> Self {
        Self {
            speed_bps,
            delay: Nanos::ZERO,
            loss: 0.0,
            duplicate: 0.0,
            reorder: 0.0,
            reorder_by: Nanos::ZERO,
            corrupt: 0.0,
            mark: 0.0,
        }
    }

    /// Time `bytes` (without FCS) take on the wire, in thousandths of a nanosecond.
    pub(crate) fn picos(&self, bytes: usize) -> u64 {
        let bits = (bytes as u64 + 4 + u64::from(L1_OVERHEAD_BYTES)) * 8;
        (u128::from(bits) * 1_000_000_000_000 / u128::from(self.speed_bps.max(1))) as u64
    }
}

/// A frame under way.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Flight {
    pub(crate) arrives: Nanos,
    /// Number of the frame on the port it was first sent from; a copy has the same.
    pub(crate) number: u64,
    /// The port it was first sent from.
    pub(crate) origin: usize,
    pub(crate) bytes: Vec<u8>,
}

/// Counters of a link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LinkCounts {
    pub(crate) lost: u64,
    pub(crate) duplicated: u64,
    pub(crate) delayed: u64,
    pub(crate) corrupted: u64,
}

/// One direction of a link.
#[derive(Debug)]
pub(crate) struct Link {
    model: LinkModel,
    dice: Dice,
    /// When the last frame will have been sent, ps.
    free: u128,
    in_order: VecDeque<Flight>,
    late: BinaryHeap<Reverse<Flight>>,
    pub(crate) counts: LinkCounts,
}

/// Frames that may wait to be sent, as in a network card's ring.
const RING_FRAMES: u128 = 512;

impl Link {
    pub(crate) fn new(model: LinkModel, seed: u64) -> Self {
        Self {
            model,
            dice: Dice::new(seed),
            free: 0,
            in_order: VecDeque::new(),
            late: BinaryHeap::new(),
            counts: LinkCounts::default(),
        }
    }

    /// When there is room for a frame of `bytes`; an instant not after `now` if there is already.
    pub(crate) fn room_at(&self, bytes: usize) -> Nanos {
        let ring = RING_FRAMES * u128::from(self.model.picos(bytes));
        Nanos((self.free.saturating_sub(ring)).div_ceil(1_000) as u64)
    }

    /// Sends a frame at `now`, room or not. `spare` gives memory for a copy.
    pub(crate) fn send(&mut self, now: Nanos, mut flight: Flight, spare: impl FnOnce() -> Vec<u8>) {
        let start = self.free.max(u128::from(now.0) * 1_000);
        self.free = start + u128::from(self.model.picos(flight.bytes.len()));
        flight.arrives = Nanos((self.free / 1_000) as u64) + self.model.delay;
        if self.dice.chance(self.model.loss) {
            self.counts.lost += 1;
            return;
        }
        if self.dice.chance(self.model.corrupt) {
            self.corrupt(&mut flight.bytes);
        }
        if self.dice.chance(self.model.mark) {
            mark(&mut flight.bytes);
        }
        if self.dice.chance(self.model.duplicate) {
            self.counts.duplicated += 1;
            let mut bytes = spare();
            bytes.clear();
            bytes.extend_from_slice(&flight.bytes);
            self.late.push(Reverse(Flight { bytes, ..flight }));
        }
        if self.dice.chance(self.model.reorder) {
            self.counts.delayed += 1;
            flight.arrives += self.model.reorder_by;
            self.late.push(Reverse(flight));
        } else {
            self.in_order.push_back(flight);
        }
    }

    /// Flips a bit after the headers, if there is one.
    fn corrupt(&mut self, frame: &mut [u8]) {
        let Some(payload) = frame.get_mut(headers(frame)..).filter(|payload| !payload.is_empty()) else {
            return;
        };
        let bit = self.dice.below(8 * payload.len() as u64) as usize;
        payload[bit / 8] ^= 0x80 >> (bit % 8);
        self.counts.corrupted += 1;
    }

    /// When the next frame arrives.
    pub(crate) fn next_arrival(&self) -> Nanos {
        let in_order = self.in_order.front().map_or(Nanos::MAX, |f| f.arrives);
        in_order.min(self.late.peek().map_or(Nanos::MAX, |f| f.0.arrives))
    }

    /// The next frame that has arrived by `now`.
    pub(crate) fn arrived(&mut self, now: Nanos) -> Option<Flight> {
        if self.next_arrival() > now {
            return None;
        }
        let first = self.in_order.front().map_or(Nanos::MAX, |f| f.arrives);
        match self.late.peek() {
            Some(late) if late.0.arrives < first => self.late.pop().map(|f| f.0),
            _ => self.in_order.pop_front(),
        }
    }
}

/// Where a frame's packet begins: after Ethernet and VLAN tags.
fn packet(frame: &[u8]) -> usize {
    let mut ip = 14;
    while matches!(frame.get(ip - 2..ip), Some([0x81, 0x00] | [0x88, 0xa8] | [0x91, 0x00])) {
        ip += 4;
    }
    ip
}

/// Sets the mark of congestion of a packet whose transport reads it (RFC 3168 section 5). IPv4's checksum follows (RFC 1624).
fn mark(frame: &mut [u8]) {
    let ip = packet(frame);
    let Some([kind @ .., first, second]) =
        frame.get(ip - 2..ip + 2).map(|four| [four[0], four[1], four[2], four[3]])
    else {
        return;
    };
    let (shift, is_v4) = match kind {
        [0x08, 0x00] => (0, true),
        [0x86, 0xdd] => (4, false),
        _ => return,
    };
    if (second >> shift) & 3 == 0 {
        return;
    }
    let marked = second | 3 << shift;
    if is_v4 {
        let Some(sum) = frame.get_mut(ip + 10..ip + 12) else { return };
        let words = [!u16::from_be_bytes([sum[0], sum[1]]), !u16::from_be_bytes([first, second])];
        let all =
            words.into_iter().map(u32::from).sum::<u32>() + u32::from(u16::from_be_bytes([first, marked]));
        let folded = (all & 0xffff) + (all >> 16);
        let folded = (folded & 0xffff) + (folded >> 16);
        sum.copy_from_slice(&(!(folded as u16)).to_be_bytes());
    }
    frame[ip + 1] = marked;
}

/// Bytes of a frame's headers: Ethernet, VLAN tags, IPv4 or IPv6, UDP or TCP.
fn headers(frame: &[u8]) -> usize {
    let byte = |at: usize| frame.get(at).copied().unwrap_or(0);
    let ip = packet(frame);
    let (next, protocol) = match [byte(ip - 2), byte(ip - 1)] {
        [0x08, 0x00] => (ip + usize::from(byte(ip) & 15) * 4, byte(ip + 9)),
        [0x86, 0xdd] => (ip + 40, byte(ip + 6)),
        _ => return ip,
    };
    match protocol {
        6 => next + usize::from(byte(next + 12) >> 4) * 4,
        17 => next + 8,
        _ => next,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ethernet, then `types` and bytes.
    fn frame(parts: &[&[u8]]) -> Vec<u8> {
        [&[2; 12][..]].iter().chain(parts).flat_map(|part| part.iter().copied()).collect()
    }

    /// Packets with ECT are marked, others are not; the checksum stays right.
    #[test]
    fn marks_are_set_where_they_are_read() {
        let mut link = Link::new(LinkModel { mark: 1.0, ..LinkModel::perfect(1_000_000_000) }, 1);
        let mut send = |bytes: &[u8]| {
            let flight = Flight { arrives: Nanos::ZERO, number: 0, origin: 0, bytes: bytes.to_vec() };
            link.send(Nanos::ZERO, flight, Vec::new);
            link.arrived(Nanos::MAX).unwrap().bytes
        };
        let sum = |header: &[u8]| {
            let all: u32 = header.chunks(2).map(|two| u32::from(u16::from_be_bytes([two[0], two[1]]))).sum();
            (all & 0xffff) + (all >> 16)
        };
        for (tos, marked) in [(0, 0), (0xb8, 0xb8), (1, 3), (2, 3), (3, 3), (0xba, 0xbb)] {
            let mut ip = [0x45, tos, 0, 20, 0xff, 0xfe, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
            let own = (!(sum(&ip) as u16)).to_be_bytes();
            ip[10..12].copy_from_slice(&own);
            for tags in [&[8, 0][..], &[0x81, 0, 0, 5, 8, 0]] {
                let bytes = send(&frame(&[tags, &ip]));
                let came = &bytes[12 + tags.len()..];
                assert_eq!((came[1], sum(came)), (marked, 0xffff), "{tos:#x}");
            }
        }
        for (class, marked) in [(0x00, 0x00), (0x10, 0x30), (0x20, 0x30), (0x8f, 0x8f), (0xaf, 0xbf)] {
            let six = [&[0x60, class][..], &[0; 38]].concat();
            assert_eq!(send(&frame(&[&[0x86, 0xdd], &six]))[15], marked);
        }
        for short in [
            frame(&[&[8, 0]]),
            frame(&[&[8, 6, 0x45, 2]]),
            frame(&[&[0x86, 0xdd, 0x60]]),
            frame(&[&[8, 0, 0x45, 2]]),
        ] {
            assert_eq!(send(&short), short);
        }
    }

    #[test]
    fn headers_end_where_the_payload_begins() {
        let (ip, udp) = ([&[0x45][..], &[0; 8], &[17], &[0; 10]].concat(), [0; 8]);
        let tcp = [&[0; 12][..], &[0x60], &[0; 11]].concat();
        let six = [&[0x60][..], &[0; 5], &[6], &[0; 33]].concat();
        for frame in [
            frame(&[&[8, 0], &ip, &udp]),
            frame(&[&[0x81, 0, 0, 5, 0x88, 0xa8, 0, 6, 8, 0], &ip, &udp]),
            frame(&[&[0x86, 0xdd], &six, &tcp]),
            frame(&[&[8, 6]]),
        ] {
            assert_eq!(headers(&frame), frame.len());
            let mut link = Link::new(LinkModel { corrupt: 1.0, ..LinkModel::perfect(1_000_000_000) }, 1);
            let mut send = |bytes: &[u8]| {
                let flight = Flight { arrives: Nanos::ZERO, number: 0, origin: 0, bytes: bytes.to_vec() };
                link.send(Nanos::ZERO, flight, Vec::new);
                (link.arrived(Nanos::MAX).unwrap().bytes, link.counts.corrupted)
            };
            assert_eq!(send(&frame), (frame.clone(), 0), "there is no bit to flip");
            let longer = [&frame[..], &[0; 20]].concat();
            for n in 1..100 {
                let (bytes, corrupted) = send(&longer);
                assert_eq!(bytes[..frame.len()], frame);
                let flipped: u32 = bytes[frame.len()..].iter().map(|byte| byte.count_ones()).sum();
                assert_eq!((flipped, corrupted), (1, n));
            }
        }
    }
}
