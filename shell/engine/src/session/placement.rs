//! Which workers change their cores: those that wait for a core that other processes use, if another one is idle.
//!
//! Not here: reading times, moving threads.

use std::collections::BTreeMap;

/// Share of the time for which a worker waits for its core from which it looks for another.
const CROWDED: f64 = 0.1;
/// Share of the time for which a core must be idle to be better.
const IDLE: f64 = 0.8;
/// Maximum number of moves of one worker: otherwise it might move forever.
const MOVES_MAX: usize = 4;

/// A worker that changes its core.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Move {
    /// Its number.
    pub(super) worker: usize,
    /// The core it leaves.
    pub(super) from: usize,
    /// The core it goes to.
    pub(super) to: usize,
}

/// Where workers are.
#[derive(Debug)]
pub(super) struct Placement {
    /// Core of each worker.
    cores: Vec<usize>,
    /// Cores that may be used.
    allowed: Vec<usize>,
    moves: Vec<usize>,
    /// Workers that moved at the last check, whose times are not meaningful yet.
    moved: Vec<usize>,
}

impl Placement {
    pub(super) fn new(cores: &[usize], allowed: Vec<usize>) -> Self {
        Self { moves: vec![0; cores.len()], cores: cores.to_vec(), allowed, moved: Vec::new() }
    }

    /// Core of each worker.
    pub(super) fn cores(&self) -> &[usize] {
        &self.cores
    }

    /// The moves that help, which count as made. `waited`: share of the time since the last look that each worker waited;
    /// `idle`: share that each core had nothing to run.
    pub(super) fn look(&mut self, waited: &[f64], idle: &BTreeMap<usize, f64>) -> Vec<Move> {
        let rested = std::mem::take(&mut self.moved);
        let mut all = Vec::new();
        for (worker, waited) in waited.iter().enumerate() {
            if *waited < CROWDED || rested.contains(&worker) || self.moves[worker] >= MOVES_MAX {
                continue;
            }
            let free = self.allowed.iter().filter(|core| !self.cores.contains(core));
            let idle_of = |core: &&usize| idle.get(core).copied().unwrap_or(0.0);
            let best = free.max_by(|one, other| idle_of(one).total_cmp(&idle_of(other)));
            let Some(to) = best.filter(|core| idle_of(core) >= IDLE) else { continue };
            let (from, to) = (self.cores[worker], *to);
            self.cores[worker] = to;
            self.moves[worker] += 1;
            self.moved.push(worker);
            all.push(Move { worker, from, to });
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle<const N: usize>(shares: [(usize, f64); N]) -> BTreeMap<usize, f64> {
        BTreeMap::from(shares)
    }

    #[test]
    fn a_worker_that_waits_goes_to_the_idlest_core() {
        let mut placement = Placement::new(&[3], vec![0, 1, 2, 3]);
        let shares = idle([(0, 0.85), (1, 0.99), (2, 0.1), (3, 0.0)]);
        assert!(placement.look(&[0.05], &shares).is_empty());
        assert_eq!(placement.look(&[0.5], &shares), [Move { worker: 0, from: 3, to: 1 }]);
        assert_eq!(placement.cores(), [1]);
        // Times of the move are in the next look.
        assert!(placement.look(&[0.5], &shares).is_empty());
        assert_eq!(placement.look(&[0.5], &shares).len(), 1);
    }

    #[test]
    fn nobody_moves_to_a_busy_core_or_to_that_of_another_worker() {
        let mut placement = Placement::new(&[1, 2], vec![0, 1, 2]);
        assert!(placement.look(&[0.9, 0.9], &idle([(0, 0.5), (1, 0.9), (2, 0.9)])).is_empty());
        // One idle core is for one worker.
        let moves = placement.look(&[0.9, 0.9], &idle([(0, 0.9), (1, 0.0), (2, 0.0)]));
        assert_eq!(moves, [Move { worker: 0, from: 1, to: 0 }]);
        let mut alone = Placement::new(&[0], vec![0]);
        assert!(alone.look(&[0.9], &idle([(0, 0.9)])).is_empty());
    }

    #[test]
    fn a_worker_that_is_followed_gives_up() {
        let mut placement = Placement::new(&[0], vec![0, 1]);
        let moves: usize = (0..40).map(|_| placement.look(&[0.5], &idle([(0, 0.9), (1, 0.9)])).len()).sum();
        assert_eq!(moves, MOVES_MAX);
    }
}
