//! Reads header blocks. Each stands for itself: none refers to a dynamic table.

use super::OVERHEAD;
use super::fixed::TABLE;
use http2::hpack::{huffman, integer};

const INTEGER: &str = "a bad integer in a header block";
const DYNAMIC: &str = "a field of a dynamic table, which there is none of";

/// Reads a block and hands out names and values in order; returns the section's size (RFC 9114 section 4.2.2). A section that gets
/// larger than `most` is not read on: what is returned is then more than `most`. `scratch` is memory to work in.
pub fn decode(
    mut block: &[u8],
    most: u32,
    scratch: &mut Vec<u8>,
    mut each: impl FnMut(&[u8], &[u8]),
) -> Result<u32, &'static str> {
    let (required, used) = integer::read(block, 8).ok_or(INTEGER)?;
    if required != 0 {
        return Err(DYNAMIC);
    }
    block = &block[used..];
    let (_, used) = integer::read(block, 7).ok_or(INTEGER)?;
    block = &block[used..];
    let mut size = 0u32;
    while let Some(first) = block.first().copied() {
        scratch.clear();
        let (name, value) = if first & 0x80 != 0 {
            let (name, value) = fixed(&mut block, first & 0x40 != 0, 6)?;
            (name.as_bytes(), value.as_bytes())
        } else {
            let name = if first & 0x40 != 0 {
                let (name, _) = fixed(&mut block, first & 0x10 != 0, 4)?;
                scratch.extend_from_slice(name.as_bytes());
                scratch.len()
            } else if first & 0x20 != 0 {
                string(&mut block, 3, scratch)?;
                scratch.len()
            } else {
                return Err(DYNAMIC);
            };
            string(&mut block, 7, scratch)?;
            scratch.split_at(name)
        };
        size = size.saturating_add((name.len() + value.len()) as u32 + OVERHEAD);
        if size > most {
            return Ok(size);
        }
        each(name, value);
    }
    Ok(size)
}

/// A field of the static table, whose number has this number of bits.
fn fixed(
    block: &mut &[u8],
    is_static: bool,
    bits: u32,
) -> Result<(&'static str, &'static str), &'static str> {
    if !is_static {
        return Err(DYNAMIC);
    }
    let (index, used) = integer::read(block, bits).ok_or(INTEGER)?;
    *block = &block[used..];
    TABLE.get(index as usize).copied().ok_or("an index that the static table does not have")
}

/// Reads a string whose length has this number of bits; the bit above them marks Huffman coding.
fn string(block: &mut &[u8], bits: u32, out: &mut Vec<u8>) -> Result<(), &'static str> {
    let is_coded = block.first().is_some_and(|byte| byte & 1 << bits != 0);
    let (len, used) = integer::read(block, bits).ok_or(INTEGER)?;
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
