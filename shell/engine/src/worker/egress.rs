//! Bits of received frames by whose value packets are counted apart.

use profile::plan::{EgressBits, StreamPlan};

/// Where a stream's tracked bits are, and which rows its values have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Tracker {
    /// Row of value 0; the others follow, and after them comes that of frames which are too short.
    first: u32,
    /// Bits of all fields together.
    width: u16,
    /// Bytes that a frame must have.
    needed: usize,
    fields: Vec<EgressBits>,
}

impl Tracker {
    /// Those of the streams that have one, in order.
    pub(crate) fn of(streams: &[StreamPlan]) -> Vec<Self> {
        let mut next = 1;
        let tracker = |stream: &StreamPlan| {
            let tracker = Self::new(next, &stream.egress);
            next += tracker.rows();
            tracker
        };
        streams.iter().filter(|stream| !stream.egress.is_empty()).map(tracker).collect()
    }

    fn new(first: u32, fields: &[EgressBits]) -> Self {
        let end = |bits: &EgressBits| (bits.offset as usize + usize::from(bits.width)).div_ceil(8);
        Self {
            first,
            width: fields.iter().map(|bits| bits.width).sum(),
            needed: fields.iter().map(end).max().unwrap_or(0),
            fields: fields.to_vec(),
        }
    }

    /// Number of its rows.
    pub(crate) fn rows(&self) -> u32 {
        (1 << self.width) + 1
    }

    /// The row that a frame, given without FCS, counts in.
    pub(crate) fn row(&self, frame: &[u8]) -> u32 {
        if frame.len() < self.needed {
            return self.first + (1 << self.width);
        }
        let value = self.fields.iter().fold(0, |value, bits| value << bits.width | read(frame, bits));
        self.first + value
    }

    /// All its rows, each with what it is called in results.
    pub(crate) fn named_rows(&self) -> impl Iterator<Item = (u32, String)> {
        let values = (0..1 << self.width).map(|value| (self.first + value, self.name(value)));
        values.chain([(self.first + (1 << self.width), "short".to_owned())])
    }

    fn name(&self, value: u32) -> String {
        let mut below = self.width;
        let part = |bits: &EgressBits| {
            below -= bits.width;
            (value >> below & ((1 << bits.width) - 1)).to_string()
        };
        self.fields.iter().map(part).collect::<Vec<_>>().join(",")
    }
}

/// The value of some bits of a frame that has them.
fn read(frame: &[u8], bits: &EgressBits) -> u32 {
    let first = bits.offset as usize / 8;
    // At most 12 bits, wherever they begin, lie in three bytes.
    let word = (0..3).fold(0, |word, at| word << 8 | u32::from(frame.get(first + at).copied().unwrap_or(0)));
    word >> (24 - bits.offset % 8 - u32::from(bits.width)) & ((1 << bits.width) - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bits(offset: u32, width: u16) -> EgressBits {
        EgressBits { offset, width }
    }

    #[test]
    fn bits_are_read_wherever_they_begin() {
        let frame = [0b1010_0101, 0xff, 0x00, 0x81];
        for (offset, width, value) in [
            (0, 4, 0b1010),
            (4, 6, 0b01_0111),
            (7, 12, 0b1111_1111_1000),
            (24, 8, 0x81),
            (31, 1, 1),
            (24, 1, 1),
        ] {
            assert_eq!(read(&frame, &bits(offset, width)), value, "{width} bits at {offset}");
        }
    }

    #[test]
    fn each_value_has_a_row_and_a_name() {
        let one = Tracker::new(10, &[bits(8, 2), bits(31, 1)]);
        assert_eq!(one.rows(), 9);
        assert_eq!(one.row(&[0, 0b1000_0000, 0, 1]), 10 + 0b101);
        assert_eq!(one.row(&[0, 0b1000_0000, 0]), 10 + 8);
        let names: Vec<(u32, String)> = one.named_rows().collect();
        assert_eq!(
            (names.len(), &names[5], &names[8]),
            (9, &(15, "2,1".to_owned()), &(18, "short".to_owned()))
        );
    }
}
