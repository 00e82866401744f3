//! From a capture to what is sent: frames with instants, split into two directions, at another speed, with other
//! addresses; or as a template, from which flow after flow is made.
//!
//! Not here: files, ports, and sending.
//!
//! Invariants: packets of a trace are in the order of time. Both directions of a split share one zero and one span.
//! A checksum that was right before a rewrite is right after it, one that was wrong stays wrong.

#![forbid(unsafe_code)]

mod error;
mod flows;
mod frame;
mod rewrite;
mod split;
mod timing;

pub use error::{ReplayError, RewriteError};
pub use flows::{FlowEnds, FlowTiming, Flows, Pool, Pools, PortBegin, Template};
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
    /// Packets whose direction nothing in them tells, so that they were put where the packets of the same sender are.
    pub guessed: u64,
}

impl Trace {
    /// All packets of a capture as one trace, earliest first; those of one instant stay as they are.
    pub fn new(capture: &Capture) -> Result<Self, ReplayError> {
        let frames = frame::frames(capture)?;
        let mut trace = Self::default();
        for packet in frames {
            trace.push(packet.into_packet());
        }
        trace.span = trace.last();
        Ok(trace)
    }

    /// Gives packets of which only the beginning was captured their length back, with zeros; returns how many.
    ///
    /// Checksums that cover the missing part are wrong afterwards, as they were before.
    pub fn fill(&mut self) -> u64 {
        let mut filled = 0;
        for packet in &mut self.packets {
            let len = (packet.original_len as usize).min(LONGEST);
            filled += u64::from(packet.bytes.len() < len);
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
