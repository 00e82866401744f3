//! When traffic may start: the neighbours of a port's hosts know all that they are to be told, and have had their time to install it.

use crate::absence::NOT_ACKNOWLEDGED;
use units::{Nanos, count};

/// How often to look whether all is told.
const LOOK_EVERY: Nanos = Nanos::from_millis(2);
/// Failures a sentence names.
const NAMED_MAX: usize = 3;

/// Whether traffic may start.
#[derive(Debug)]
pub(super) struct Ready {
    settle: Nanos,
    timeout: Nanos,
    begun: Option<Nanos>,
    /// When all was told, and when that is looked at again.
    told: Option<Nanos>,
    look_at: Nanos,
    /// Whether nobody waits for neighbours: then those count that there ever were.
    is_patient: bool,
    /// How many hosts had their neighbours when traffic started.
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

    /// Whether traffic may start: all is told and the device has had its time, or it is too late. With `patient` it may once hosts have
    /// begun.
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

    /// Traffic starts while so many hosts have their neighbours.
    pub(super) fn note_start(&mut self, patient: bool, there: usize) {
        (self.is_patient, self.there) = (patient, there);
    }

    /// Hosts that had their neighbours when traffic started, or of `all` those that ever had if nobody waited for them.
    pub(super) fn there(&self, all: usize, ever: impl Fn(&usize) -> bool) -> usize {
        if self.is_patient { (0..all).filter(ever).count() } else { self.there }
    }

    /// What makes a result invalid although no neighbour is `missing`.
    pub(super) fn complaint(&self, protocol: &str) -> Option<String> {
        self.told.is_none().then(|| format!("not all {protocol} {NOT_ACKNOWLEDGED} {}", self.timeout))
    }

    /// Time from the beginning until all was told; `None` if that was not before traffic.
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

/// Says that so many of `what` were lost, and why the first was.
pub(super) fn lost(flaps: u64, what: &str, first: &str) -> String {
    let which = if flaps > 1 { "; the first" } else { "" };
    format!("{} {what} were lost{which}: {first}", count(flaps))
}
