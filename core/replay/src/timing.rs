//! When packets are sent.

use crate::{ReplayError, Trace};
use units::{FCS_BYTES, L1_OVERHEAD_BYTES, Nanos};

/// When packets are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timing {
    /// As they were captured.
    Captured,
    /// `num / den` times as fast.
    Scaled {
        /// Numerator of the speed.
        num: u64,
        /// Denominator of the speed.
        den: u64,
    },
    /// So many packets a second, evenly, both directions together.
    Rate {
        /// Packets a second.
        pps: u64,
    },
    /// So many bits a second at layer 1, each packet behind the one before it, both directions together.
    BitRate {
        /// Bits a second, preambles and inter-frame gaps included.
        bps: u64,
    },
    /// All at once: as fast as the port takes them.
    Max,
}

/// Sets the instants of the packets anew, and the span.
///
/// `traces` are the one or two directions of a capture. Each instant is computed from the beginning, rounded down to
/// 1 ns, so that nothing adds up.
pub fn retime(traces: &mut [Trace], timing: Timing) -> Result<(), ReplayError> {
    let bad = |reason: &str| Err(ReplayError::Timing { reason: reason.to_owned() });
    match timing {
        Timing::Captured => return Ok(()),
        Timing::Scaled { num: 0, .. } => return bad("a speed of zero sends nothing"),
        Timing::Scaled { den: 0, .. } => return bad("a speed with a denominator of zero is none"),
        Timing::Scaled { num, den } => {
            for packet in traces.iter_mut().flat_map(|trace| &mut trace.packets) {
                packet.at = scaled(packet.at.0, den, num);
            }
        }
        Timing::Rate { pps: 0 } | Timing::BitRate { bps: 0 } => return bad("a rate of zero sends nothing"),
        Timing::Rate { pps } => lay_out(traces, |packets, _| scaled(packets, 1_000_000_000, pps)),
        Timing::BitRate { bps } => lay_out(traces, |_, bytes| scaled(bytes, 8_000_000_000, bps)),
        Timing::Max => lay_out(traces, |_, _| Nanos::ZERO),
    }
    let span = traces.iter().map(Trace::last).max().unwrap_or(Nanos::ZERO);
    traces.iter_mut().for_each(|trace| trace.span = span);
    Ok(())
}

/// `value * num / den`, at most [`Nanos::MAX`]; `den` is not zero.
fn scaled(value: u64, num: u64, den: u64) -> Nanos {
    let exact = u128::from(value) * u128::from(num) / u128::from(den);
    Nanos(u64::try_from(exact).unwrap_or(u64::MAX))
}

/// Sets each packet's instant by the packets before it in all traces and their bytes at layer 1.
fn lay_out(traces: &mut [Trace], instant: impl Fn(u64, u64) -> Nanos) {
    let mut order: Vec<(Nanos, usize, usize)> = traces
        .iter()
        .enumerate()
        .flat_map(|(t, trace)| trace.packets.iter().enumerate().map(move |(p, packet)| (packet.at, t, p)))
        .collect();
    order.sort_unstable();
    let mut bytes = 0;
    for (before, (_, trace, packet)) in order.into_iter().enumerate() {
        let packet = &mut traces[trace].packets[packet];
        packet.at = instant(before as u64, bytes);
        bytes += packet.bytes.len() as u64 + u64::from(FCS_BYTES + L1_OVERHEAD_BYTES);
    }
}
