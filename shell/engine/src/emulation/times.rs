//! Times that hosts took, as a row of the result.

use histogram::Timing;
use result::LatencyResult;

/// The distribution of some times; `None` without any.
pub(super) fn times(timing: &Timing) -> Option<LatencyResult> {
    let quantile = |q| timing.histogram.quantile(q).map(|v| v.clamp(timing.min, timing.max));
    Some(LatencyResult {
        min: timing.min,
        mean: timing.mean()?,
        stddev: timing.stddev()?,
        p50: quantile(0.5),
        p90: quantile(0.9),
        p95: quantile(0.95),
        p99: quantile(0.99),
        p99_9: quantile(0.999),
        p99_99: quantile(0.9999),
        max: timing.max,
        samples: timing.samples(),
    })
}
