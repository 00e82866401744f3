//! Use of a core by a thread.

/// Processor time of one thread of this process since it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ThreadUsage {
    /// Time on a core, ns.
    pub run_ns: u64,
    /// Time it could have run and had no core, ns: other work was in the way.
    pub wait_ns: u64,
    /// Times it was put on a core.
    pub slices: u64,
}

impl ThreadUsage {
    /// Usage since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            run_ns: self.run_ns.saturating_sub(earlier.run_ns),
            wait_ns: self.wait_ns.saturating_sub(earlier.wait_ns),
            slices: self.slices.saturating_sub(earlier.slices),
        }
    }
}
