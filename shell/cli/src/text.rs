//! Texts and bytes of files that users name, and of standard input: never more than a bound, for a device such as
//! /dev/zero has no end.

use std::io::{Error, ErrorKind, Read, Result, stdin};
use std::path::Path;

/// Most bytes of what has no known length. A file may have as many as fit the available memory.
const MAX: u64 = 256 << 20;

/// Reads a file, which no output of this command replaces from then on.
///
/// # Errors
/// It can't be read, or is too long.
pub(crate) fn bytes(path: &Path) -> Result<Vec<u8>> {
    let most = if path.is_file() { u64::MAX - 1 } else { MAX };
    os::draft::keep(path);
    os::memory::read_file(path, most)
}

/// Reads a file of UTF-8.
///
/// # Errors
/// Also if it is not UTF-8.
pub(crate) fn read(path: &Path) -> Result<String> {
    utf8(bytes(path)?)
}

/// Reads a file of UTF-8, or standard input if it is named '-'.
///
/// # Errors
/// As [`read`].
pub(crate) fn read_or_stdin(path: &Path) -> Result<String> {
    if path != Path::new("-") {
        return read(path);
    }
    let mut bytes = Vec::new();
    stdin().take(MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX {
        let reason = format!("is larger than {} MB, the most that a text may have", MAX / 1_000_000);
        return Err(Error::new(ErrorKind::FileTooLarge, reason));
    }
    utf8(bytes)
}

fn utf8(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
        Error::new(ErrorKind::InvalidData, format!("line {line}: not text in UTF-8"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_without_end_is_refused() {
        let error = bytes(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    }
}
