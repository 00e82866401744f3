//! Layout of a packet in a capture's ring.

use pcap::Direction;
use units::Nanos;

/// Header of a packet in a ring.
pub(super) struct RecordHead {
    pub(super) at: Nanos,
    pub(super) direction: Direction,
    pub(super) original_len: u32,
    pub(super) captured_len: u32,
}

impl RecordHead {
    pub(super) const LEN: usize = 16;
    /// In the captured length: the packet was sent.
    const SENT: u32 = 1 << 31;

    #[inline(always)]
    pub(super) fn to_bytes(&self) -> [u8; Self::LEN] {
        let sent = if self.direction == Direction::Sent { Self::SENT } else { 0 };
        let numbers = u128::from(self.at.0)
            | u128::from(self.original_len) << 64
            | u128::from(self.captured_len | sent) << 96;
        numbers.to_ne_bytes()
    }

    #[inline(always)]
    pub(super) fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        let numbers = u128::from_ne_bytes(bytes);
        let len = (numbers >> 96) as u32;
        Self {
            at: Nanos(numbers as u64),
            direction: if len & Self::SENT != 0 { Direction::Sent } else { Direction::Received },
            original_len: (numbers >> 64) as u32,
            captured_len: len & !Self::SENT,
        }
    }
}
