//! From a capture to what is sent: frames with instants, split into two directions, at another speed, with other
//! addresses; or as a template, from which flow after flow is made.
//!
//! Not here: files, ports, and sending.
//!
//! Invariants: packets of a trace are in the order of time. Both directions of a split share one zero and one span.
//! A checksum that was right before a rewrite is right after it, one that was wrong stays wrong.

#![forbid(unsafe_code)]

mod checksums;
mod error;
mod flows;
mod frame;
mod headers;
mod ipv6;
mod length;
mod loops;
mod rewrite;
mod split;
mod timing;

pub use checksums::{ChecksumReport, Checksums};
pub use error::{ReplayError, RewriteError, why};
pub use flows::{FlowEnds, FlowTiming, Flows, Pool, Pools, PortBegin, Template};
pub use frame::{CaptureOptions, CaptureReport, Frames};
pub use length::{Fitted, TooLong};
pub use loops::{LoopAddresses, Loops};
pub use rewrite::{Report, Rewrite, RuleReport, rewrite};
pub use split::{Network, SplitBy, split};
pub use timing::speed_up;

use pcap::Capture;
use units::{FrameLen, Nanos};

/// Shortest frame without FCS: what ports pad to.
pub(crate) const SHORTEST: usize = FrameLen::MIN.without_fcs() as usize;
/// Longest frame without FCS.
pub(crate) const LONGEST: usize = FrameLen::MAX.without_fcs() as usize;

/// A packet to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TracePacket {
    /// When, from the first packet on: of either direction if the capture was split.
    pub at: Nanos,
    /// The frame without FCS, padded to 60 bytes.
    pub bytes: Vec<u8>,
    /// Length of the frame without FCS when it was captured, padded like `bytes`; `bytes` is shorter if only its
    /// beginning was kept. See [`Trace::fill`].
    pub original_len: u32,
    /// Whether a part of `bytes` was not captured and is filled up.
    pub is_filled: bool,
    /// Its number among the packets of the capture, both directions counted together.
    pub place: u64,
}

/// Packets to send, earliest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Trace {
    /// The packets.
    pub packets: Vec<TracePacket>,
    /// From the first packet to the last: of either direction if the capture was split.
    pub span: Nanos,
    /// Packets of which the capture has only the beginning.
    pub cut: u64,
    /// Packets with an undetermined direction, assigned to the side of the same sender's packets.
    pub guessed: u64,
}

impl Trace {
    /// All packets of a capture as one trace, earliest first; packets of one instant keep their order.
    pub fn new(capture: &Capture) -> Result<Self, ReplayError> {
        Frames::new(capture, &CaptureOptions::default()).map(Self::of)
    }

    /// All frames of a capture as one trace.
    pub fn of(frames: Frames) -> Self {
        let mut trace = Self { packets: Vec::with_capacity(frames.all.len()), ..Self::default() };
        for (place, frame) in frames.all.into_iter().enumerate() {
            trace.push(frame.into_packet(place));
        }
        trace.span = trace.last();
        trace
    }

    /// Makes packets fit a link: `longest` is the most bytes of a frame that begins like this one, without FCS. Filled-up packets are truncated
    /// again; `how` determines the treatment of all others. Pieces leave at the instant of the whole.
    pub fn fit(&mut self, longest: impl Fn(&[u8]) -> usize, how: TooLong) -> Result<Fitted, ReplayError> {
        let mut fitted = Fitted::default();
        if self.packets.iter().all(|packet| packet.bytes.len() <= longest(&packet.bytes)) {
            self.packets.iter_mut().for_each(|packet| packet.original_len = packet.bytes.len() as u32);
            return Ok(fitted);
        }
        let mut packets = Vec::with_capacity(self.packets.len());
        for (index, mut packet) in std::mem::take(&mut self.packets).into_iter().enumerate() {
            let mut captured = std::mem::take(&mut packet.bytes);
            let (whole, longest) = (captured.len(), longest(&captured));
            if packet.is_filled {
                captured.truncate(longest);
            }
            let made =
                |bytes: Vec<u8>| TracePacket { original_len: bytes.len() as u32, bytes, ..packet.clone() };
            match length::fit(captured, whole as u32, longest, how, index as u32) {
                length::Fit::Fits(bytes) => packets.push(made(bytes)),
                length::Fit::Cut(bytes) => {
                    fitted.cut += 1;
                    packets.push(made(bytes));
                }
                length::Fit::Shortened(bytes) => {
                    fitted.shortened += 1;
                    packets.push(made(bytes));
                }
                length::Fit::Pieces { frames, are_fragments } => {
                    fitted.pieces += frames.len() as u64;
                    fitted.segmented += u64::from(!are_fragments);
                    fitted.fragmented += u64::from(are_fragments);
                    packets.extend(frames.into_iter().map(made));
                }
                length::Fit::Skipped => fitted.skipped += 1,
                length::Fit::Refused => {
                    return Err(ReplayError::TooLong { record: index + 1, bytes: whole, longest });
                }
            }
        }
        self.packets = packets;
        Ok(fitted)
    }

    /// Gives packets of which only the beginning was captured their length back, with zeros; returns how many. None gets longer
    /// than the longest frame.
    ///
    /// Checksums that cover the missing part are wrong afterwards, as they were before.
    pub fn fill(&mut self) -> u64 {
        let mut filled = 0;
        for packet in &mut self.packets {
            let len = (packet.original_len as usize).min(LONGEST);
            packet.is_filled = packet.bytes.len() < len;
            filled += u64::from(packet.is_filled);
            packet.bytes.resize(packet.bytes.len().max(len), 0);
        }
        self.cut = 0;
        filled
    }

    fn push(&mut self, packet: TracePacket) {
        self.cut += u64::from(packet.bytes.len() < packet.original_len as usize);
        self.packets.push(packet);
    }

    /// When the last packet is sent.
    fn last(&self) -> Nanos {
        self.packets.last().map_or(Nanos::ZERO, |packet| packet.at)
    }
}

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
