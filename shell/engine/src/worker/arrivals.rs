//! Test packets as arrivals: what a stream's should be like, and what is counted if one is not.

use crate::counts::interval::PortCounts;
use measure::Arrival;
use units::Nanos;
use wire::signature::{self, Signature};

/// Where and how long a stream's packets should arrive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Expected {
    /// Port index; `u16::MAX` if any port will do.
    pub(crate) port: u16,
    /// Bytes of the shortest and of the longest, without FCS.
    pub(crate) shortest: u16,
    pub(crate) longest: u16,
    /// Number of its tracker, from 1 on; 0 if it tracks nothing.
    pub(crate) egress: u16,
}

/// A stream that may arrive anywhere.
pub(crate) const ANY_PORT: u16 = u16::MAX;

/// The frame check sequence, which ports do not deliver.
pub(super) const FCS_BYTES: usize = 4;

/// Whether a test packet of this number of bytes without FCS arrived at its stream's port, and with its length.
#[inline(always)]
pub(super) fn is_as_expected(port: usize, bytes: usize, expected: &Expected) -> (bool, bool) {
    let is_astray = expected.port != ANY_PORT && usize::from(expected.port) != port;
    let fits = (usize::from(expected.shortest)..=usize::from(expected.longest)).contains(&bytes);
    (!is_astray, fits)
}

/// A received test packet of this number of bytes that is not only quoted.
#[inline]
pub(super) fn arrival_of(
    port: usize,
    found: Signature,
    bytes: usize,
    now: Nanos,
    expected: &[Expected],
    counts: &mut PortCounts,
) -> Arrival {
    if let Some(expected) = expected.get(found.stream as usize) {
        let (here, fits) = is_as_expected(port, bytes, expected);
        counts.rx_misrouted += u64::from(!here);
        counts.rx_wrong_length += u64::from(!fits);
    }
    let sent = signature::unwrap_time(found.time, now);
    counts.rx_before_sent += u64::from(sent > now);
    seen(found, bytes, sent, now)
}

/// Record of a test packet.
#[inline(always)]
pub(super) fn seen(found: Signature, bytes: usize, sent: Nanos, now: Nanos) -> Arrival {
    Arrival {
        stream: found.stream,
        lane: found.lane,
        packets: 1,
        sequence: found.sequence,
        bytes: (bytes + FCS_BYTES) as u16,
        egress: 0,
        latency: now.since(sent).0,
    }
}
