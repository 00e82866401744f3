//! The workers' ends of the rings.

use crate::counts::interval::PortCounts;
use neighbour::{PuntTable, PuntTo};
use port::bytes::{ByteReceiver, ByteSender};
use std::sync::Arc;

/// Destination and source MAC address.
const MACS: usize = 12;
/// The longest frame that passes: 64 KiB and a header, which a kernel may leave to a network card to cut.
pub(super) const FRAME_MAX: usize = (64 << 10) + 64;
/// Bytes before a frame in a ring to the port: its length.
const LENGTH: usize = 4;

/// Header of a frame in a ring to the interfaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PuntRecord {
    pub(super) to: PuntTo,
    /// Bytes of the frame, without tags.
    pub(super) len: u32,
    /// Whether its checksum is to be finished if it holds the pseudo-header's sum alone.
    pub(super) finish: bool,
}

impl PuntRecord {
    pub(super) const BYTES: usize = 8;

    fn to_bytes(self) -> [u8; Self::BYTES] {
        let (kind, number) = match self.to {
            PuntTo::Host(number) => (0, number),
            PuntTo::Group(number) => (1, number),
        };
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&self.len.to_le_bytes());
        bytes[4..6].copy_from_slice(&number.to_le_bytes());
        bytes[6] = kind;
        bytes[7] = u8::from(self.finish);
        bytes
    }

    pub(super) fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let [a, b, c, d, e, f, kind, finish] = bytes;
        let number = u16::from_le_bytes([e, f]);
        let to = if kind == 0 { PuntTo::Host(number) } else { PuntTo::Group(number) };
        Self { to, len: u32::from_le_bytes([a, b, c, d]), finish: finish != 0 }
    }
}

/// Where a receive queue's frames for the namespace go. Owned by one worker at a time.
pub(crate) struct PuntEntry {
    table: Arc<PuntTable>,
    ring: ByteSender,
    /// Whether the port reports which frames have unfinished checksums.
    tells: bool,
}

impl PuntEntry {
    pub(super) fn new(table: Arc<PuntTable>, ring: ByteSender, tells: bool) -> Self {
        Self { table, ring, tells }
    }

    /// Takes a received frame, whose checksum is unfinished as far as the port reports it, if it is for the namespace;
    /// returns whether it is. A frame without room is counted.
    pub(crate) fn take(&mut self, frame: &[u8], is_unfinished: bool, counts: &mut PortCounts) -> bool {
        let Some(punted) = self.table.find(frame) else { return false };
        if frame.len() > FRAME_MAX {
            counts.rx_punt_dropped += 1;
            return true;
        }
        let len = (frame.len() - punted.tag_bytes) as u32;
        let record = PuntRecord { to: punted.to, len, finish: is_unfinished || !self.tells };
        let mut head = [0; PuntRecord::BYTES + MACS];
        head[..PuntRecord::BYTES].copy_from_slice(&record.to_bytes());
        head[PuntRecord::BYTES..].copy_from_slice(&frame[..MACS]);
        if self.ring.write(&head, &frame[MACS + punted.tag_bytes..]) {
            self.ring.publish(self.ring.mark());
            counts.rx_punted += 1;
        } else {
            counts.rx_punt_dropped += 1;
        }
        true
    }
}

/// Writes a frame of the namespace, and the tags it gets, into the ring to the port; returns whether there was room.
pub(super) fn put(ring: &mut ByteSender, frame: &[u8], tags: &[u8]) -> bool {
    let Some((macs, rest)) = frame.split_at_checked(MACS) else { return true };
    let head = [&((frame.len() + tags.len()) as u32).to_le_bytes()[..], macs, tags].concat();
    let written = ring.write(&head, rest);
    ring.publish(ring.mark());
    written
}

/// Where the namespace's frames come from. Owned by one worker at a time.
pub(crate) struct PuntExit {
    ring: ByteReceiver,
    /// Number of bytes of the ring that were inspected, from its first.
    seen: usize,
}

impl PuntExit {
    pub(super) fn new(ring: ByteReceiver) -> Self {
        Self { ring, seen: 0 }
    }

    /// Length of the first frame that was not inspected.
    #[inline]
    pub(crate) fn next_len(&mut self) -> Option<usize> {
        let mut length = [0; LENGTH];
        self.ring.peek(self.seen, &mut length).then(|| u32::from_le_bytes(length) as usize)
    }

    /// Looks at that frame; `into` is as long.
    pub(crate) fn look(&mut self, into: &mut [u8]) {
        self.ring.peek(self.seen + LENGTH, into);
        self.seen += LENGTH + into.len();
    }

    /// Looks past that frame, which has `len` bytes, and all before it.
    pub(crate) fn drop_next(&mut self, len: usize) {
        // The ring gives back only what was seen.
        let mut last = [0];
        self.ring.peek(self.seen + LENGTH + len - 1, &mut last);
        self.seen += LENGTH + len;
        self.forget(self.seen);
    }

    /// Takes the frames with these lengths, the first that were inspected, out of the ring. The others are there still.
    pub(crate) fn taken(&mut self, lengths: &[usize]) {
        self.forget(lengths.iter().map(|len| LENGTH + len).sum());
    }

    fn forget(&mut self, bytes: usize) {
        self.ring.skip(bytes);
        self.seen = 0;
    }

    /// Takes the next frame.
    pub(crate) fn pop(&mut self) -> Option<Vec<u8>> {
        let mut frame = vec![0; self.next_len()?];
        self.look(&mut frame);
        self.taken(&[frame.len()]);
        Some(frame)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use neighbour::Host;
    use port::bytes::byte_ring;
    use wire::control::ControlFilter;

    fn lldp(vlans: &[u16]) -> Vec<u8> {
        let tags = neighbour::vlan_tags(&vlans.into());
        [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2][..], &tags, &[0x88, 0xcc], &[7; 46]].concat()
    }

    #[test]
    fn frames_lose_their_tags_on_the_way_in_and_find_the_ring_full() {
        let mac = [2, 0, 0, 0, 0, 1];
        let host = Host { mac, vlans: [7].into(), addresses: vec![], networks: vec![], answers_for: vec![] };
        let filter = ControlFilter::new(&wire::control::control_rules("lldp").unwrap());
        let (sender, mut receiver) = byte_ring(128);
        let mut entry = PuntEntry::new(Arc::new(PuntTable::new(filter, [&host])), sender, true);
        let mut counts = PortCounts::default();
        assert!(!entry.take(&lldp(&[]), false, &mut counts), "in another VLAN");
        assert!(entry.take(&lldp(&[7]), false, &mut counts) && entry.take(&lldp(&[7]), false, &mut counts));
        assert_eq!((counts.rx_punted, counts.rx_punt_dropped), (1, 1));
        let mut record = [0; PuntRecord::BYTES];
        assert!(receiver.peek(0, &mut record));
        let record = PuntRecord::from_bytes(record);
        assert_eq!(record, PuntRecord { to: PuntTo::Host(0), len: 60, finish: false });
        let mut frame = vec![0; 60];
        assert!(receiver.peek(PuntRecord::BYTES, &mut frame));
        assert_eq!(frame, lldp(&[]));
    }

    #[test]
    fn frames_get_their_tags_on_the_way_out_and_stay_until_they_are_taken() {
        let (mut sender, receiver) = byte_ring(1024);
        let mut exit = PuntExit::new(receiver);
        assert_eq!(exit.next_len(), None);
        for vlans in [&[7, 8][..], &[], &[9]] {
            assert!(put(&mut sender, &lldp(&[]), &neighbour::vlan_tags(&vlans.into())));
        }
        let look = |exit: &mut PuntExit| {
            let mut frame = vec![0; exit.next_len().unwrap()];
            exit.look(&mut frame);
            frame
        };
        assert_eq!((look(&mut exit), look(&mut exit)), (lldp(&[7, 8]), lldp(&[])));
        exit.taken(&[68]);
        assert_eq!(look(&mut exit), lldp(&[]), "the port did not take it");
        exit.taken(&[]);
        let len = exit.next_len().unwrap();
        exit.drop_next(len);
        assert_eq!((exit.pop(), exit.pop()), (Some(lldp(&[9])), None));
    }
}
