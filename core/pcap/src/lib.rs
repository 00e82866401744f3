//! Capture files: reading pcap and pcapng of any byte order and resolution, writing both with nanoseconds.
//!
//! Packets of other kinds of links become Ethernet frames here, too, for all who send or read them.
//!
//! Not here: opening files, what to do with the packets, and what is in them.
//!
//! Writing uses the library. Reading does not: `pcap-file` 2.0 takes every pcapng time for nanoseconds regardless of
//! `if_tsresol`, swaps the halves of some of them, refuses option lists without an end mark and texts that are not
//! UTF-8, and reports neither place nor reason.
//!
//! Invariants: reading never panics, and takes memory in proportion to the bytes that are there, not to the lengths in
//! them. Written files are read back the same.

#![forbid(unsafe_code)]

mod classic;
mod error;
mod link;
mod ng;
mod parts;
mod source;
mod write;

pub use error::PcapError;
pub use link::{ETHERNET, Framed, NoFrame, RAW_IP, RAW_IPV4, RAW_IPV6, SENDABLE, frame, into_frame};
pub use write::{Direction, NewInterface, Packet, PcapWriter, PcapngWriter, Statistics};

use flate2::read::MultiGzDecoder;
use parts::Parts;
use source::Source;
use std::io::Read;
use units::Nanos;

/// A packet of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Time of capture, since 1970-01-01 UTC or the epoch of the file's clock.
    pub at: Nanos,
    /// Where it was captured: index into [`Capture::interfaces`].
    pub interface: u32,
    /// Length of the packet on the link, bytes: more than `bytes` has if only its beginning was captured.
    pub original_len: u32,
    /// Captured bytes.
    pub bytes: Vec<u8>,
}

/// Where packets were captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Link-layer header type, as numbered by tcpdump.org: 1 is Ethernet.
    pub link_type: u16,
    /// Its name, if the file has one.
    pub name: Option<String>,
    /// Most bytes captured of a packet; 0 if there is no limit.
    pub snap_len: u32,
    /// Bytes of frame check sequence at the end of each whole packet, if the file declares any.
    pub fcs_bytes: u8,
}

/// All that a file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capture {
    /// The interfaces of all sections, in the order of the file. A pcap file has one.
    pub interfaces: Vec<Interface>,
    /// The packets, in the order of the file, which need not be that of time.
    pub records: Vec<Record>,
    /// Warnings about the file, in sentences for people: one of each kind.
    pub warnings: Vec<String>,
}

impl Capture {
    /// The link type of a record.
    pub fn link_type(&self, record: &Record) -> Option<u16> {
        self.interfaces.get(record.interface as usize).map(|interface| interface.link_type)
    }
}

/// Bytes that a compressed file may unpack to: a small one can hold more than any memory does.
const UNPACKED_MAX: u64 = 1 << 30;

/// Reads a whole pcap or pcapng file, also one compressed by gzip. No need to buffer `bytes`.
///
/// A file that ends within its last record loses that record and gets a warning. Every other fault is an error, because
/// the records after it can't be found or trusted.
pub fn read(bytes: impl Read) -> Result<Capture, PcapError> {
    read_within(bytes, UNPACKED_MAX)
}

/// The same for a file that is in memory and that nothing else needs: what was read of it is freed, so that file and packets
/// together take little more than one of them.
pub fn read_and_free(bytes: Vec<u8>) -> Result<Capture, PcapError> {
    read(Parts::new(bytes))
}

/// The same with at most this number of unpacked bytes.
fn read_within(bytes: impl Read, unpacked_max: u64) -> Result<Capture, PcapError> {
    let mut source = Source::new(bytes);
    let magic = source.magic()?;
    if magic[..2] != GZIP {
        return plain(&mut source, magic);
    }
    let packed = MultiGzDecoder::new(magic.chain(source.reader));
    // A byte more tells a file that ends at the limit from one that goes on.
    let mut unpacked = Source::new(packed.take(unpacked_max + 1));
    let magic = unpacked.magic()?;
    let capture = plain(&mut unpacked, magic);
    // What is cut there is no fault of the file.
    if unpacked.position > unpacked_max {
        return Err(PcapError::TooLarge { bytes: unpacked_max });
    }
    capture
}

/// First bytes of gzip files (RFC 1952 section 2.3.1).
const GZIP: [u8; 2] = [0x1f, 0x8b];

fn plain(source: &mut Source<impl Read>, magic: [u8; 4]) -> Result<Capture, PcapError> {
    match u32::from_be_bytes(magic) {
        ng::SECTION => ng::read(source),
        _ => classic::read(source, magic),
    }
}

#[cfg(test)]
mod tests;
