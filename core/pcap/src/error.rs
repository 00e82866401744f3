//! Why a file can't be read.

use std::io;

/// Why a file can't be read, and where.
#[derive(Debug, thiserror::Error)]
pub enum PcapError {
    /// The bytes can't be had.
    #[error("byte {position}: {source}")]
    Io {
        /// Bytes that were read before.
        position: u64,
        /// Error of the reader.
        source: io::Error,
    },
    /// The file is no capture.
    #[error("not a pcap or pcapng file: {reason}")]
    NotACapture {
        /// Actual content.
        reason: String,
    },
    /// A compressed file unpacks to too much.
    #[error("it unpacks to more than {} MiB, the most that is read of a compressed capture; unpack it first", .bytes >> 20)]
    TooLarge {
        /// Number of bytes to read.
        bytes: u64,
    },
    /// The file's header, before any packet, is wrong.
    #[error("file header: {reason}")]
    Header {
        /// Description of the error.
        reason: String,
    },
    /// A record of a pcap file is wrong.
    #[error("record {number} at byte {position}: {reason}")]
    Record {
        /// Which record, counted from 1.
        number: u64,
        /// Where it begins.
        position: u64,
        /// Description of the error.
        reason: String,
    },
    /// A block of a pcapng file is wrong.
    #[error("block {number} at byte {position}: {reason}")]
    Block {
        /// Which block, counted from 1, those included that hold no packet.
        number: u64,
        /// Where it begins.
        position: u64,
        /// Description of the error.
        reason: String,
    },
}
