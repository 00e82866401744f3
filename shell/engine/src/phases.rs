//! Counts of sessions by phase of the load.
//!
//! Not here: which phases there are (`session::plan::LoadPlan::phases`).
//!
//! Invariant: what is counted between two cuts is in one part; a cut passes after all workers have handed over.

use crate::counts::sessions::SessionCounts;
use profile::plan::Plan;
use session::plan::Phase;
use units::Nanos;

/// Cuts of all entries at most: an entry has four.
const CUTS_MAX: usize = 256;

/// Counts of all workers between instants at which phases of entries begin and end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Phases {
    /// Times since the start of traffic, increasing; none if no entry has phases.
    cuts: Vec<Nanos>,
    /// One more than cuts.
    parts: Vec<Part>,
    /// Number of cuts that have passed.
    passed: usize,
    /// When counters were set to zero.
    since: Nanos,
}

#[derive(Debug, Clone, Default)]
struct Part {
    /// By place in a list of all sides.
    sides: Vec<SessionCounts>,
    /// Bounds of the most sessions at a time.
    most: Vec<u64>,
}

impl Phases {
    /// For the entries of `plan`. Entries whose cuts would be too many have no phases.
    pub(crate) fn new(plan: &Plan) -> Self {
        let mut cuts = Vec::new();
        for entry in &plan.sessions {
            let of_entry = entry.session.load.phases(plan.duration);
            let mut with = cuts.clone();
            with.extend(of_entry.iter().flat_map(|phase| [phase.from, phase.to]));
            with.sort_unstable();
            with.dedup();
            if with.len() <= CUTS_MAX {
                cuts = with;
            }
        }
        let count = if cuts.is_empty() { 0 } else { cuts.len() + 1 };
        Self { parts: vec![Part::default(); count], cuts, passed: 0, since: Nanos::ZERO }
    }

    /// When the next cut is.
    pub(crate) fn next_cut(&self) -> Option<Nanos> {
        self.cuts.get(self.passed).copied()
    }

    /// All that was counted until `at` is here.
    pub(crate) fn pass(&mut self, at: Nanos) {
        while self.next_cut().is_some_and(|cut| cut <= at) {
            self.passed += 1;
        }
    }

    /// Counters are set to zero at this time since the start of traffic.
    pub(crate) fn begin_anew(&mut self, at: Nanos) {
        self.pass(at);
        self.parts.fill(Part::default());
        self.since = at;
    }

    /// When counts of a phase begin: with it, or later if counters were set to zero; `None` if it was over then.
    pub(crate) fn begin(&self, phase: &Phase) -> Option<Nanos> {
        (phase.to > self.since).then_some(phase.from.max(self.since))
    }

    /// Adds what a worker counted.
    pub(crate) fn add(&mut self, sessions: &[SessionCounts]) {
        let Some(part) = self.parts.get_mut(self.passed) else { return };
        part.sides.resize_with(sessions.len(), SessionCounts::default);
        part.sides.iter_mut().zip(sessions).for_each(|(sum, counts)| sum.merge(counts));
    }

    /// Notes the most sessions at a time of all workers, as far as they are known.
    pub(crate) fn note_most(&mut self, bounds: &[u64]) {
        let Some(part) = self.parts.get_mut(self.passed) else { return };
        part.most.resize(bounds.len(), 0);
        part.most.iter_mut().zip(bounds).for_each(|(most, bound)| *most = (*most).max(*bound));
    }

    /// Counts of one side in a phase, if it has begun.
    pub(crate) fn of(&self, phase: &Phase, index: usize) -> Option<SessionCounts> {
        let first = self.cuts.binary_search(&phase.from).ok()? + 1;
        let last = self.cuts.binary_search(&phase.to).ok()?;
        let (mut all, mut most) = (None::<SessionCounts>, 0);
        for part in self.parts.get(first..=last)? {
            let Some(counts) = part.sides.get(index) else { continue };
            all.get_or_insert_default().merge(counts);
            most = most.max(part.most.get(index).copied().unwrap_or(0));
        }
        let mut all = all?;
        all.app.active_max = most;
        Some(all)
    }
}
