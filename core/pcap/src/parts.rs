//! A file in memory that is freed as it is read.

use std::io::{self, Read};

/// Bytes that are freed at a time: large enough for allocators to give them back to the system.
const PART: usize = 4 << 20;

/// Bytes in parts, the first part last.
#[derive(Debug)]
pub(crate) struct Parts {
    parts: Vec<Vec<u8>>,
    /// Bytes of the current part that were read.
    read: usize,
}

impl Parts {
    /// Cuts `bytes` from its end, so that never more than a part of it exists twice.
    pub(crate) fn new(mut bytes: Vec<u8>) -> Self {
        let mut parts = Vec::with_capacity(bytes.len() / PART + 1);
        while bytes.len() > PART {
            let first = (bytes.len() - 1) / PART * PART;
            parts.push(bytes.split_off(first));
            bytes.shrink_to_fit();
        }
        parts.push(bytes);
        Self { parts, read: 0 }
    }
}

impl Read for Parts {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while let Some(part) = self.parts.last() {
            let rest = &part[self.read..];
            if rest.is_empty() {
                self.parts.pop();
                self.read = 0;
                continue;
            }
            let n = rest.len().min(buffer.len());
            buffer[..n].copy_from_slice(&rest[..n]);
            self.read += n;
            return Ok(n);
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_in_order_and_freed() {
        for len in [0, 1, PART - 1, PART, PART + 1, 3 * PART, 3 * PART + 17] {
            let bytes: Vec<u8> = (0..len).map(|i| (i % 251) as u8).collect();
            let mut parts = Parts::new(bytes.clone());
            assert!(
                parts.parts.iter().all(|part| part.len() <= PART && part.capacity() <= 2 * PART),
                "{len}"
            );
            assert_eq!(parts.parts.iter().map(Vec::len).sum::<usize>(), len);
            let mut back = Vec::new();
            parts.read_to_end(&mut back).unwrap();
            assert!(back == bytes, "{len}");
            assert!(parts.parts.is_empty(), "{len}");
        }
    }
}
