//! Messages on a socket: four bytes of length (little endian), and the message as JSON, which documents are written and read as
//! elsewhere: another format would be 3 MB of code. If the highest bit of the length is set, a block of bytes with its own length
//! follows: many numbers, of which JSON would be slow.
//!
//! Invariant: memory for a message beyond a mebibyte grows with the bytes that have come, not with the length in the header.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind, Read, Write};

/// Bytes of the longest message: the result of a run with a million streams.
const LENGTH_MAX: usize = 1 << 30;
/// Bit of the length of a message that a block follows.
const HAS_BLOCK: u32 = 1 << 31;
/// Capacity that a buffer keeps for the next message, bytes.
const KEPT: usize = 1 << 20;

fn invalid(what: impl std::fmt::Display) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.to_string())
}

fn refuse_long(length: usize) -> io::Result<()> {
    match length > LENGTH_MAX {
        true => Err(invalid(format!("a message of {length} bytes, of {LENGTH_MAX} at most"))),
        false => Ok(()),
    }
}

/// Writes a message; `buffer` is for its bytes.
pub fn write(stream: &mut impl Write, message: &impl Serialize, buffer: &mut Vec<u8>) -> io::Result<()> {
    write_with(stream, message, &[], buffer)
}

/// Writes a message, and a block behind it unless that is empty.
pub fn write_with(
    stream: &mut impl Write,
    message: &impl Serialize,
    block: &[u8],
    buffer: &mut Vec<u8>,
) -> io::Result<()> {
    buffer.clear();
    buffer.extend([0; 4]);
    serde_json::to_writer(&mut *buffer, message).map_err(invalid)?;
    let length = buffer.len() - 4;
    refuse_long(length.max(block.len()))?;
    let bit = if block.is_empty() { 0 } else { HAS_BLOCK };
    buffer[..4].copy_from_slice(&(length as u32 | bit).to_le_bytes());
    if !block.is_empty() {
        buffer.extend((block.len() as u32).to_le_bytes());
    }
    let written = stream.write_all(buffer).and_then(|()| stream.write_all(block));
    trim(buffer);
    written
}

/// Reads a message without a block; none if the other end is closed.
pub fn read<T: DeserializeOwned>(stream: &mut impl Read, buffer: &mut Vec<u8>) -> io::Result<Option<T>> {
    match read_with(stream, buffer)? {
        Some((message, block)) if block.is_empty() => Ok(Some(message)),
        Some((_, block)) => Err(invalid(format!("a block of {} bytes that belongs to nothing", block.len()))),
        None => Ok(None),
    }
}

/// Reads a message and the block behind it, empty if there is none; none if the other end is closed.
pub fn read_with<T: DeserializeOwned>(
    stream: &mut impl Read,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<(T, Vec<u8>)>> {
    let Some(length) = read_length(stream)? else { return Ok(None) };
    if !read_bytes(stream, length & !HAS_BLOCK, buffer)? {
        return Ok(None);
    }
    let message = serde_json::from_slice(buffer).map_err(invalid);
    trim(buffer);
    let mut block = Vec::new();
    if length & HAS_BLOCK != 0 {
        let Some(length) = read_length(stream)? else { return Ok(None) };
        // Most are no longer, and are not copied while they grow.
        block.reserve_exact((length as usize).min(KEPT));
        if !read_bytes(stream, length, &mut block)? {
            return Ok(None);
        }
    }
    message.map(|message| Some((message, block)))
}

/// Reads a length; none if the other end is closed.
fn read_length(stream: &mut impl Read) -> io::Result<Option<u32>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Ok(()) => Ok(Some(u32::from_le_bytes(length))),
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}

/// Reads this number of bytes; false if there are fewer.
fn read_bytes(stream: &mut impl Read, length: u32, buffer: &mut Vec<u8>) -> io::Result<bool> {
    let length = length as usize;
    refuse_long(length)?;
    buffer.clear();
    Ok(stream.by_ref().take(length as u64).read_to_end(buffer)? == length)
}

fn trim(buffer: &mut Vec<u8>) {
    if buffer.capacity() > KEPT {
        *buffer = Vec::new();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_cut_off_is_not() {
        let (mut bytes, mut buffer) = (Vec::new(), Vec::new());
        write(&mut bytes, &("tide", 7_u64), &mut buffer).unwrap();
        write(&mut bytes, &("ebb", u64::MAX), &mut buffer).unwrap();
        let mut rest = bytes.as_slice();
        let mut next = || read::<(String, u64)>(&mut rest, &mut buffer).unwrap();
        assert_eq!(next(), Some(("tide".to_owned(), 7)));
        assert_eq!(next(), Some(("ebb".to_owned(), u64::MAX)));
        assert_eq!(next(), None);
        for end in 0..8 {
            assert!(read::<(String, u64)>(&mut &bytes[..end], &mut Vec::new()).unwrap().is_none(), "{end}");
        }
    }

    #[test]
    fn a_length_beyond_the_limit_and_bytes_of_another_kind_are_refused() {
        let long = (LENGTH_MAX as u32 + 1).to_le_bytes();
        let refused = read::<String>(&mut long.as_slice(), &mut Vec::new()).unwrap_err();
        assert!(refused.to_string().contains("1073741825 bytes"), "{refused}");
        let mut other = Vec::new();
        write(&mut other, &7_u64, &mut Vec::new()).unwrap();
        assert!(read::<String>(&mut other.as_slice(), &mut Vec::new()).is_err());
        // A length is no reason to take memory.
        let mut buffer = Vec::new();
        let said = (LENGTH_MAX as u32).to_le_bytes();
        assert!(read::<String>(&mut said.as_slice(), &mut buffer).unwrap().is_none());
        assert!(buffer.capacity() < KEPT);
    }

    #[test]
    fn a_block_follows_its_message_and_belongs_to_one() {
        let (mut bytes, mut buffer) = (Vec::new(), Vec::new());
        write_with(&mut bytes, &"tide", &[7; 300], &mut buffer).unwrap();
        write(&mut bytes, &"ebb", &mut buffer).unwrap();
        let mut rest = bytes.as_slice();
        let mut next = || read_with::<String>(&mut rest, &mut buffer).unwrap();
        assert_eq!(next(), Some(("tide".to_owned(), vec![7; 300])));
        assert_eq!(next(), Some(("ebb".to_owned(), Vec::new())));
        assert_eq!(next(), None);
        for end in 0..bytes.len() - 9 {
            assert!(read_with::<String>(&mut &bytes[..end], &mut Vec::new()).unwrap().is_none(), "{end}");
        }
        let refused = read::<String>(&mut bytes.as_slice(), &mut Vec::new()).unwrap_err();
        assert!(refused.to_string().contains("a block of 300 bytes"), "{refused}");
        // Its length is limited, too, and no reason to take memory.
        let place = 4 + 6;
        bytes[place..place + 4].copy_from_slice(&(LENGTH_MAX as u32 + 1).to_le_bytes());
        let refused = read_with::<String>(&mut bytes.as_slice(), &mut Vec::new()).unwrap_err();
        assert!(refused.to_string().contains("1073741825 bytes"), "{refused}");
        bytes[place..place + 4].copy_from_slice(&(LENGTH_MAX as u32).to_le_bytes());
        assert!(read_with::<String>(&mut bytes.as_slice(), &mut Vec::new()).unwrap().is_none());
    }
}
