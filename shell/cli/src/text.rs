//! Texts and bytes of files that users name, and of standard input: never more than a bound, for a device such as
//! /dev/zero has no end.

use flate2::read::MultiGzDecoder;
use std::io::{Error, ErrorKind, Read, Result, stdin};
use std::path::Path;

/// Most bytes of what has no known length. A file may have as many as fit the available memory.
const MAX: u64 = 256 << 20;
/// Share of the available memory that an unpacked text may take: what is read from it takes about 20 times as much.
const UNPACKED_SHARE: u64 = 32;
/// Bytes that may be unpacked however little memory is available.
const UNPACKED_MIN: u64 = 16 << 20;
/// First bytes of what gzip has compressed (RFC 1952).
const GZIP: [u8; 2] = [0x1f, 0x8b];

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

/// Whether a file of this name is to be compressed by gzip.
pub(crate) fn is_compressed_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

/// Reads a file of UTF-8, which may be compressed by gzip, whatever its name.
///
/// # Errors
/// As [`read`], and if it is much too long once it is unpacked.
pub(crate) fn read_unpacked(path: &Path) -> Result<String> {
    let packed = bytes(path)?;
    match packed.starts_with(&GZIP) {
        true => {
            let share = os::memory::available_bytes() / UNPACKED_SHARE;
            utf8(unpacked(&packed, share.max(UNPACKED_MIN))?)
        }
        false => utf8(packed),
    }
}

/// Unpacked bytes, which are at most this many.
fn unpacked(packed: &[u8], most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    MultiGzDecoder::new(packed).take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let reason = format!(
            "unpacked, it is larger than {} MB, and to read more takes more memory than is available; 'gunzip' unpacks it if its origin is trusted",
            most / 1_000_000
        );
        return Err(Error::new(ErrorKind::FileTooLarge, reason));
    }
    Ok(bytes)
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
    fn what_is_unpacked_is_bounded() {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut packer, &[b' '; 100_000]).unwrap();
        let packed = packer.finish().unwrap();
        assert!(packed.len() < 1_000 && packed.starts_with(&GZIP));
        assert_eq!(unpacked(&packed, 100_000).unwrap().len(), 100_000);
        assert_eq!(unpacked(&packed, 99_999).unwrap_err().kind(), ErrorKind::FileTooLarge);
        let cut = unpacked(&packed[..packed.len() - 9], 100_000).unwrap_err();
        assert_eq!(cut.kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn a_device_without_end_is_refused() {
        let error = bytes(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    }
}
