//! When packets are sent.

use crate::Trace;
use std::num::NonZeroU64;
use units::Nanos;

/// Makes a capture `num / den` times as fast: its one trace, or the traces of both directions.
///
/// Each instant is computed from the beginning, rounded down to 1 ns, so that nothing adds up.
pub fn speed_up(traces: &mut [Trace], num: NonZeroU64, den: NonZeroU64) {
    for packet in traces.iter_mut().flat_map(|trace| &mut trace.packets) {
        packet.at = divided(packet.at, num, den);
    }
    let span = traces.iter().map(Trace::last).max().unwrap_or(Nanos::ZERO);
    traces.iter_mut().for_each(|trace| trace.span = span);
}

/// `at / (num / den)`, at most [`Nanos::MAX`].
fn divided(at: Nanos, num: NonZeroU64, den: NonZeroU64) -> Nanos {
    let exact = u128::from(at.0) * u128::from(den.get()) / u128::from(num.get());
    Nanos(u64::try_from(exact).unwrap_or(u64::MAX))
}
