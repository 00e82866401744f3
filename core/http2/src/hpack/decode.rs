//! Reads header blocks. Its memory is bounded by the table's size; the caller bounds the length of a list.

use super::fixed::TABLE;
use super::{OVERHEAD, huffman, integer};
use std::collections::VecDeque;

/// Bytes of a buffer that is kept between blocks.
const KEPT: usize = 1 << 10;

/// A field of the table: where its name begins, and the bytes of name and value.
#[derive(Debug, Clone, Copy)]
struct Entry {
    at: u64,
    name: u32,
    value: u32,
}

impl Entry {
    fn size(self) -> u32 {
        self.name + self.value + OVERHEAD
    }
}

/// Reads the header blocks of a connection, in order.
#[derive(Debug)]
pub struct Decoder {
    /// Newest last.
    entries: VecDeque<Entry>,
    /// Names and values of the entries, and what is left of those that are gone.
    bytes: Vec<u8>,
    /// Number of bytes before the first of them.
    base: u64,
    size: u32,
    /// The table's most now, and what may be set.
    most: u32,
    allowed: u32,
    scratch: Vec<u8>,
}

impl Decoder {
    /// For a peer with a table of at most this number of bytes.
    pub fn new(allowed: u32) -> Self {
        Self {
            entries: VecDeque::new(),
            bytes: Vec::new(),
            base: 0,
            size: 0,
            most: allowed,
            allowed,
            scratch: Vec::new(),
        }
    }

    /// Reads a block and hands out names and values in order; returns the list's size (RFC 7541 section 4.1). Ends with an
    /// error if the block is none, or if the list gets larger than `most`.
    pub fn decode(
        &mut self,
        mut block: &[u8],
        most: u32,
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<u32, &'static str> {
        let mut list = 0u32;
        let mut may_resize = true;
        while let Some(first) = block.first().copied() {
            if first & 0xe0 == 0x20 {
                let (size, used) = integer::read(block, 5).ok_or("a bad integer in a header block")?;
                if !may_resize {
                    return Err("a new table size inside a header block");
                }
                if size > self.allowed {
                    return Err("a table size above the announced one");
                }
                self.most = size;
                self.evict(0);
                block = &block[used..];
                continue;
            }
            may_resize = false;
            let size = if first & 0x80 != 0 {
                let (index, used) = integer::read(block, 7).ok_or("a bad integer in a header block")?;
                block = &block[used..];
                let (name, value) = self.field(index)?;
                each(name, value);
                (name.len() + value.len()) as u32
            } else {
                let (bits, keeps) = if first & 0x40 != 0 { (6, true) } else { (4, false) };
                self.literal(&mut block, bits, keeps, &mut each)?
            };
            list = list.saturating_add(size + OVERHEAD);
            if list > most {
                return Err("a header list that is too large");
            }
        }
        if self.scratch.capacity() > KEPT {
            self.scratch = Vec::new();
        }
        Ok(list)
    }

    /// A field that is written out; returns the bytes of its name and value.
    fn literal(
        &mut self,
        block: &mut &[u8],
        bits: u32,
        keeps: bool,
        each: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<u32, &'static str> {
        let (index, used) = integer::read(block, bits).ok_or("a bad integer in a header block")?;
        *block = &block[used..];
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.clear();
        if index == 0 {
            string(block, &mut scratch)?;
        } else {
            scratch.extend_from_slice(self.field(index)?.0);
        }
        let name = scratch.len();
        string(block, &mut scratch)?;
        each(&scratch[..name], &scratch[name..]);
        if keeps {
            self.insert(&scratch, name);
        }
        let len = scratch.len() as u32;
        self.scratch = scratch;
        Ok(len)
    }

    /// Field `index` of both tables.
    #[inline]
    fn field(&self, index: u32) -> Result<(&[u8], &[u8]), &'static str> {
        const WRONG: &str = "an index that no table has";
        let place = index.checked_sub(1).ok_or(WRONG)? as usize;
        if let Some((name, value)) = TABLE.get(place) {
            return Ok((name.as_bytes(), value.as_bytes()));
        }
        let place = self.entries.len().checked_sub(place - TABLE.len() + 1).ok_or(WRONG)?;
        let entry = self.entries.get(place).ok_or(WRONG)?;
        let (from, name) = ((entry.at - self.base) as usize, entry.name as usize);
        let field = &self.bytes[from..from + name + entry.value as usize];
        Ok(field.split_at(name))
    }

    /// Puts a field into the table (RFC 7541 section 4.4).
    fn insert(&mut self, field: &[u8], name: usize) {
        let entry = Entry {
            at: self.base + self.bytes.len() as u64,
            name: name as u32,
            value: (field.len() - name) as u32,
        };
        if entry.size() > self.most {
            self.evict(u32::MAX);
            return;
        }
        self.evict(entry.size());
        // What is gone is cut off once it is as much as there is room for.
        let gone =
            self.entries.front().map_or(self.bytes.len() as u64, |first| first.at - self.base) as usize;
        if gone >= self.allowed.max(256) as usize || gone == self.bytes.len() {
            self.bytes.drain(..gone);
            self.base += gone as u64;
        }
        self.bytes.extend_from_slice(field);
        self.entries.push_back(entry);
        self.size += entry.size();
    }

    /// Makes room for this number of bytes.
    fn evict(&mut self, room: u32) {
        while self.size > self.most.saturating_sub(room)
            && let Some(entry) = self.entries.pop_front()
        {
            self.size -= entry.size();
        }
    }

    /// The table's size (RFC 7541 section 4.1).
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Bytes of memory after the table.
    pub fn held(&self) -> usize {
        self.bytes.capacity() + self.entries.capacity() * size_of::<Entry>() + self.scratch.capacity()
    }
}

/// Reads a string.
#[inline]
fn string(block: &mut &[u8], out: &mut Vec<u8>) -> Result<(), &'static str> {
    let is_coded = block.first().is_some_and(|byte| byte & 0x80 != 0);
    let (len, used) = integer::read(block, 7).ok_or("a bad integer in a header block")?;
    let rest = &block[used..];
    let (text, rest) = rest.split_at_checked(len as usize).ok_or("a header block that is cut short")?;
    *block = rest;
    if is_coded {
        huffman::decode(text, out).ok_or("a bad Huffman code in a header block")?;
    } else {
        out.extend_from_slice(text);
    }
    Ok(())
}
