//! A frame whose IP packet is longer than a link takes, as frames with its fragments.

use crate::{
    FRAGMENT, FRAGMENT_HEADER, IPV4, IPV6, MORE_V4, MORE_V6, TYPE_IPV4, TYPE_IPV6, network, put,
    put_header_sum, u16_at,
};

/// Cut of a frame into fragments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// Where the IP header begins, where what is cut begins, and where it ends.
    ip: usize,
    start: usize,
    end: usize,
    is_v6: bool,
    /// Bytes of each part but the last: a multiple of 8.
    part: usize,
    id: u32,
}

impl Cut {
    /// Cuts `frame` (without FCS) into packets of at most `mtu` bytes, which have `id` in common. `None` if it is not
    /// longer, or no IP packet without options and extensions.
    pub fn new(frame: &[u8], mtu: usize, id: u32) -> Option<Self> {
        let (ip, kind, _) = network(frame)?;
        let (is_v6, header, len) = match kind {
            TYPE_IPV4 if frame.get(ip)? & 15 == 5 => (false, IPV4, usize::from(u16_at(frame, ip + 2)?)),
            TYPE_IPV6 => (true, IPV6, IPV6 + usize::from(u16_at(frame, ip + 4)?)),
            _ => return None,
        };
        let room = mtu.checked_sub(header + if is_v6 { FRAGMENT } else { 0 })? & !7;
        let fits = len <= mtu || room == 0 || len < header || ip + len > frame.len();
        (!fits).then_some(Self { ip, start: ip + header, end: ip + len, is_v6, part: room, id })
    }

    /// Number of fragments.
    pub fn parts(&self) -> usize {
        (self.end - self.start).div_ceil(self.part)
    }

    /// Bytes of the frame with fragment `number`.
    pub fn len(&self, number: usize) -> usize {
        let (from, to) = self.range(number);
        self.start + if self.is_v6 { FRAGMENT } else { 0 } + to - from
    }

    /// Whether there is nothing in it; never.
    pub fn is_empty(&self) -> bool {
        false
    }

    fn range(&self, number: usize) -> (usize, usize) {
        let from = (self.start + number * self.part).min(self.end);
        (from, (from + self.part).min(self.end))
    }

    /// Writes the frame with fragment `number` of `frame`.
    ///
    /// # Panics
    /// If `out` has not [`len`](Cut::len) bytes, or `frame` is another one.
    pub fn write(&self, frame: &[u8], number: usize, out: &mut [u8]) {
        let (from, to) = self.range(number);
        let offset = (from - self.start) as u16;
        let is_last = to == self.end;
        let body = out.len() - (to - from);
        out[..self.start].copy_from_slice(&frame[..self.start]);
        out[body..].copy_from_slice(&frame[from..to]);
        if self.is_v6 {
            let len = (out.len() - self.ip - IPV6) as u16;
            put(out, self.ip + 4, len);
            let protocol = std::mem::replace(&mut out[self.ip + 6], FRAGMENT_HEADER);
            let place = offset | if is_last { 0 } else { MORE_V6 };
            let header = &mut out[self.start..body];
            header[..2].copy_from_slice(&[protocol, 0]);
            put(header, 2, place);
            header[4..].copy_from_slice(&self.id.to_be_bytes());
        } else {
            let len = (out.len() - self.ip) as u16;
            let header = &mut out[self.ip..self.start];
            put(header, 2, len);
            put(header, 4, self.id as u16);
            put(header, 6, (offset / 8) | if is_last { 0 } else { MORE_V4 });
            put_header_sum(header);
        }
    }

    /// All frames.
    pub fn frames(&self, frame: &[u8]) -> impl Iterator<Item = Vec<u8>> {
        (0..self.parts()).map(|number| {
            let mut out = vec![0; self.len(number)];
            self.write(frame, number, &mut out);
            out
        })
    }
}
