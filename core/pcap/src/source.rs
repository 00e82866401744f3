//! Bytes with a position, and numbers of either byte order in them.

use crate::PcapError;
use std::io::{BufReader, Read};

/// Source of a file.
pub(crate) struct Source<R: Read> {
    pub(crate) reader: BufReader<R>,
    /// Bytes read so far.
    pub(crate) position: u64,
}

impl<R: Read> Source<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader: BufReader::with_capacity(1 << 16, reader), position: 0 }
    }

    /// Reads up to `len` bytes into `buffer`, which grows with what is there: fewer only at the end of the file.
    pub(crate) fn take(&mut self, len: usize, buffer: &mut Vec<u8>) -> Result<usize, PcapError> {
        buffer.clear();
        let result = self.reader.by_ref().take(len as u64).read_to_end(buffer);
        self.position += buffer.len() as u64;
        result.map_err(|source| PcapError::Io { position: self.position, source })
    }

    /// The first four bytes of the file.
    pub(crate) fn magic(&mut self) -> Result<[u8; 4], PcapError> {
        let mut first = Vec::new();
        self.take(4, &mut first)?;
        first.first_chunk().copied().ok_or_else(|| PcapError::NotACapture {
            reason: match first.len() {
                0 => "it is empty".to_owned(),
                n => format!("it has only {n} bytes"),
            },
        })
    }
}

/// The order of the bytes of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    Big,
    Little,
}

/// Numbers one after the other.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Fields<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) order: ByteOrder,
}

impl<'a> Fields<'a> {
    pub(crate) fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(len)?;
        self.bytes = rest;
        Some(taken)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        let bytes = *self.take(2)?.first_chunk()?;
        Some(match self.order {
            ByteOrder::Big => u16::from_be_bytes(bytes),
            ByteOrder::Little => u16::from_le_bytes(bytes),
        })
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        let bytes = *self.take(4)?.first_chunk()?;
        Some(match self.order {
            ByteOrder::Big => u32::from_be_bytes(bytes),
            ByteOrder::Little => u32::from_le_bytes(bytes),
        })
    }

    /// A number of 64 bits in the file's order.
    pub(crate) fn u64(&mut self) -> Option<u64> {
        let bytes = *self.take(8)?.first_chunk()?;
        Some(match self.order {
            ByteOrder::Big => u64::from_be_bytes(bytes),
            ByteOrder::Little => u64::from_le_bytes(bytes),
        })
    }

    /// A time of pcapng: the upper 32 bits come first in either order.
    pub(crate) fn time(&mut self) -> Option<u64> {
        let (upper, lower) = (self.u32()?, self.u32()?);
        Some(u64::from(upper) << 32 | u64::from(lower))
    }
}
