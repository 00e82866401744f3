//! Messages on a socket: four bytes of length (little endian), and the message as JSON, which documents are written and read as
//! elsewhere: another format would be 3 MB of code.
//!
//! Invariant: memory for a message grows with the bytes that have come, not with the length in the header.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, ErrorKind, Read, Write};

/// Bytes of the longest message: the result of a run with a million streams.
const LENGTH_MAX: usize = 1 << 30;
/// Capacity that a buffer keeps for the next message, bytes.
const KEPT: usize = 1 << 20;

fn invalid(what: impl std::fmt::Display) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what.to_string())
}

/// Writes a message; `buffer` is for its bytes.
pub(crate) fn write(
    stream: &mut impl Write,
    message: &impl Serialize,
    buffer: &mut Vec<u8>,
) -> io::Result<()> {
    buffer.clear();
    buffer.extend([0; 4]);
    serde_json::to_writer(&mut *buffer, message).map_err(invalid)?;
    let length = buffer.len() - 4;
    if length > LENGTH_MAX {
        return Err(invalid(format!("a message of {length} bytes, of {LENGTH_MAX} at most")));
    }
    buffer[..4].copy_from_slice(&(length as u32).to_le_bytes());
    let written = stream.write_all(buffer);
    trim(buffer);
    written
}

/// Reads a message; none if the other end is closed.
pub(crate) fn read<T: DeserializeOwned>(
    stream: &mut impl Read,
    buffer: &mut Vec<u8>,
) -> io::Result<Option<T>> {
    let mut length = [0; 4];
    match stream.read_exact(&mut length) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > LENGTH_MAX {
        return Err(invalid(format!("a message of {length} bytes, of {LENGTH_MAX} at most")));
    }
    buffer.clear();
    if stream.by_ref().take(length as u64).read_to_end(buffer)? < length {
        return Ok(None);
    }
    let message = serde_json::from_slice(buffer).map_err(invalid);
    trim(buffer);
    message.map(Some)
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
}
