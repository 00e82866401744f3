//! Writes header blocks: fields come from the static table, or are written out.

use super::fixed;
use http2::hpack::{huffman, integer};

/// Begins a block: it needs nothing of a dynamic table (RFC 9204 section 4.5.1).
#[inline]
pub fn begin(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0]);
}

/// A prepared field: written out, or only the name if the value is given later.
#[derive(Debug, Clone)]
pub struct Field(Box<[u8]>);

impl Field {
    /// A field that always has this value. The name is in lower case.
    pub fn always(name: &str, value: &[u8]) -> Self {
        let (name, mut out) = (name.as_bytes(), Vec::new());
        match fixed::whole(name, value) {
            Some(index) => integer::write(index, 6, 0xc0, &mut out),
            None => {
                put_name(name, &mut out);
                put_text(value, &mut out);
            }
        }
        Self(out.into())
    }

    /// A field whose value is given when it is written.
    pub fn named(name: &str) -> Self {
        let mut out = Vec::new();
        put_name(name.as_bytes(), &mut out);
        Self(out.into())
    }

    /// Writes a field that always has its value.
    #[inline]
    pub fn put(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
    }

    /// Writes a field with this value.
    #[inline]
    pub fn put_value(&self, value: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&self.0);
        integer::write(value.len() as u32, 7, 0, out);
        out.extend_from_slice(value);
    }
}

/// A name (RFC 9204 sections 4.5.4 and 4.5.6).
fn put_name(name: &[u8], out: &mut Vec<u8>) {
    if let Some(index) = fixed::named(name) {
        return integer::write(index, 4, 0x50, out);
    }
    let coded = huffman::len(name);
    if coded < name.len() {
        integer::write(coded as u32, 3, 0x28, out);
        huffman::encode(name, out);
    } else {
        integer::write(name.len() as u32, 3, 0x20, out);
        out.extend_from_slice(name);
    }
}

/// A value, in whichever form is shorter.
fn put_text(text: &[u8], out: &mut Vec<u8>) {
    let coded = huffman::len(text);
    if coded < text.len() {
        integer::write(coded as u32, 7, 0x80, out);
        huffman::encode(text, out);
    } else {
        integer::write(text.len() as u32, 7, 0, out);
        out.extend_from_slice(text);
    }
}
