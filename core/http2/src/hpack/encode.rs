//! Writes header blocks: fields that are always the same come from the tables, once they are there; others are written out.

use super::fixed;
use super::{OVERHEAD, huffman, integer};
use std::collections::VecDeque;

/// A field made ready.
#[derive(Debug, Clone)]
pub struct Field {
    /// The same for the same name and value among all fields of a [`Fields`].
    id: u32,
    /// Its size (RFC 7541 section 4.1).
    size: u32,
    /// Its number in the static table, if it is there.
    fixed: Option<u32>,
    /// Written out, to be kept (RFC 7541 section 6.2.1) and not to be (section 6.2.2). Of a field without a value the second is
    /// only the name.
    kept: Box<[u8]>,
    plain: Box<[u8]>,
}

/// Makes fields ready; knows those that are the same.
#[derive(Debug, Default)]
pub struct Fields {
    known: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Fields {
    /// A field that always has this value. The name is in lower case.
    pub fn always(&mut self, name: &str, value: &[u8]) -> Field {
        let name = name.as_bytes();
        let is_known = |(n, v): &(Vec<u8>, Vec<u8>)| n == name && v == value;
        let id = self.known.iter().position(is_known).unwrap_or_else(|| {
            self.known.push((name.to_vec(), value.to_vec()));
            self.known.len() - 1
        });
        let written = |bits, first| {
            let mut out = Vec::new();
            put_name(name, bits, first, &mut out);
            put_text(value, &mut out);
            out.into()
        };
        Field {
            id: id as u32,
            size: (name.len() + value.len()) as u32 + OVERHEAD,
            fixed: fixed::whole(name, value),
            kept: written(6, 0x40),
            plain: written(4, 0),
        }
    }

    /// A field whose value is given when it is written.
    pub fn named(name: &str) -> Field {
        let mut out = Vec::new();
        put_name(name.as_bytes(), 4, 0, &mut out);
        Field { id: u32::MAX, size: 0, fixed: None, kept: Box::default(), plain: out.into() }
    }
}

fn put_name(name: &[u8], bits: u32, first: u8, out: &mut Vec<u8>) {
    let index = fixed::named(name).unwrap_or(0);
    integer::write(index, bits, first, out);
    if index == 0 {
        put_text(name, out);
    }
}

/// A string, in whichever form is shorter.
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

/// The table of one connection, as its peer has it.
#[derive(Debug)]
pub struct Encoder {
    /// Ids and sizes, newest last.
    entries: VecDeque<(u32, u32)>,
    size: u32,
    most: u32,
    /// A size that must be announced to the peer first, and the smallest size before (RFC 7541 section 4.2).
    resized: Option<u32>,
    own: u32,
}

impl Encoder {
    /// With a table of at most `own` bytes, until the peer announces less.
    pub fn new(own: u32) -> Self {
        Self { entries: VecDeque::new(), size: 0, most: own, resized: None, own }
    }

    /// The peer accepts a table of this number of bytes.
    pub fn set_most(&mut self, most: u32) {
        let most = most.min(self.own);
        if most != self.most {
            self.resized = Some(self.resized.unwrap_or(most).min(most));
            self.most = most;
            self.evict(0);
        }
    }

    /// Begins a block.
    #[inline]
    pub fn begin(&mut self, out: &mut Vec<u8>) {
        if let Some(least) = self.resized.take() {
            if least < self.most {
                integer::write(least, 5, 0x20, out);
            }
            integer::write(self.most, 5, 0x20, out);
        }
    }

    /// A field that always has its value.
    #[inline]
    pub fn put(&mut self, field: &Field, out: &mut Vec<u8>) {
        if let Some(index) = field.fixed {
            return out.push(0x80 | index as u8);
        }
        if let Some(back) = self.entries.iter().rev().position(|(id, _)| *id == field.id) {
            return integer::write((fixed::TABLE.len() + 1 + back) as u32, 7, 0x80, out);
        }
        // One that drives out most of the others is not worth it.
        if field.size > self.most / 2 {
            return out.extend_from_slice(&field.plain);
        }
        self.evict(field.size);
        self.entries.push_back((field.id, field.size));
        self.size += field.size;
        out.extend_from_slice(&field.kept);
    }

    /// A field with a given value.
    #[inline]
    pub fn put_value(&self, field: &Field, value: &[u8], out: &mut Vec<u8>) {
        out.extend_from_slice(&field.plain);
        integer::write(value.len() as u32, 7, 0, out);
        out.extend_from_slice(value);
    }

    fn evict(&mut self, room: u32) {
        while self.size > self.most.saturating_sub(room)
            && let Some((_, size)) = self.entries.pop_front()
        {
            self.size -= size;
        }
    }
}
