//! Start of traffic: the neighbours of a port's hosts have received all advertisements, and had their time to install
//! them.

use units::{Nanos, count};

/// Reason for an invalid result if routes of any protocol are not known to the device, behind their number and protocol.
pub(crate) const NOT_ACKNOWLEDGED: &str = "routes were acknowledged within";

/// Interval of checks whether everything is advertised.
const LOOK_EVERY: Nanos = Nanos::from_millis(2);
/// Failures a sentence names.
const NAMED_MAX: usize = 3;

/// Whether traffic may start.
#[derive(Debug)]
pub(super) struct Ready {
    settle: Nanos,
    timeout: Nanos,
    begun: Option<Nanos>,
    /// When everything was advertised, and the time of the next check.
    told: Option<Nanos>,
    look_at: Nanos,
    /// Whether traffic does not wait for neighbours: then neighbours that ever existed count.
    is_patient: bool,
    /// Number of hosts that had their neighbours when traffic started.
    there: usize,
}

impl Ready {
    pub(super) fn new(settle: Nanos, timeout: Nanos) -> Self {
        Self { settle, timeout, begun: None, told: None, look_at: Nanos::ZERO, is_patient: false, there: 0 }
    }

    /// Begins; returns whether that is the first time.
    pub(super) fn begin(&mut self, now: Nanos) -> bool {
        let is_first = self.begun.is_none();
        self.begun = self.begun.or(Some(now));
        is_first
    }

    pub(super) fn has_begun(&self) -> bool {
        self.begun.is_some()
    }

    /// Whether traffic may start: everything is advertised and the settle time has passed, or the timeout. With
    /// `patient` it may once hosts have begun.
    pub(super) fn may_start(&mut self, now: Nanos, patient: bool, is_settled: impl FnOnce() -> bool) -> bool {
        let Some(begun) = self.begun else { return false };
        if patient {
            return true;
        }
        if now < self.look_at {
            return false;
        }
        self.look_at = now + LOOK_EVERY;
        self.told = if is_settled() { self.told.or(Some(now)) } else { None };
        let has_settled = self.told.is_some_and(|told| now.since(told) >= self.settle);
        has_settled || now.since(begun) > self.timeout
    }

    /// Traffic starts while this number of hosts have their neighbours.
    pub(super) fn note_start(&mut self, patient: bool, there: usize) {
        (self.is_patient, self.there) = (patient, there);
    }

    /// Hosts with their neighbours when traffic started, or of `all` the ones that ever had them if it did not wait.
    pub(super) fn there(&self, all: usize, ever: impl Fn(&usize) -> bool) -> usize {
        if self.is_patient { (0..all).filter(ever).count() } else { self.there }
    }

    /// Reason for an invalid result although no neighbour is `missing`.
    pub(super) fn complaint(&self, protocol: &str) -> Option<String> {
        self.told.is_none().then(|| format!("not all {protocol} {NOT_ACKNOWLEDGED} {}", self.timeout))
    }

    /// Time from the beginning until everything was advertised; `None` if that was not before traffic.
    pub(super) fn told_after(&self) -> Option<Nanos> {
        Some(self.told?.since(self.begun?))
    }
}

/// Says that `what` is so of some of `all`, with the first few reasons; `None` if there is no reason.
pub(super) fn missing(all: usize, what: &str, reasons: &[String]) -> Option<String> {
    let named = &reasons[..reasons.len().min(NAMED_MAX)];
    let more = match reasons.len() - named.len() {
        0 => String::new(),
        more => format!("; and {} more", count(more as u64)),
    };
    let (some, all) = (count(reasons.len() as u64), count(all as u64));
    (!reasons.is_empty()).then(|| format!("{some} of {all} {what}: {}{more}", named.join("; ")))
}

/// Sentence about the number of lost `what`, and the reason of the first loss.
pub(super) fn lost(flaps: u64, what: &str, first: &str) -> String {
    let which = if flaps > 1 { "; the first" } else { "" };
    format!("{} {what} were lost{which}: {first}", count(flaps))
}
