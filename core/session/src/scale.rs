//! Speed of time for a load that was changed while it runs.
//!
//! Invariant: a function of the changes alone, so that workers that receive them in time agree on what is due when.

use units::Nanos;

/// Rate relative to the plan: an exact ratio.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scale {
    num: u64,
    den: u64,
}

impl Scale {
    /// The plan's rate.
    pub const ONE: Self = Self { num: 1, den: 1 };

    /// `num / den`; a `den` of 0 is taken as 1.
    pub const fn new(num: u64, den: u64) -> Self {
        Self { num, den: if den == 0 { 1 } else { den } }
    }

    /// Whether nothing happens any more.
    pub const fn is_zero(self) -> bool {
        self.num == 0
    }

    /// `number` scaled, rounded up.
    pub(crate) fn of(self, number: u64) -> u64 {
        let product = u128::from(number) * u128::from(self.num);
        u64::try_from(product.div_ceil(u128::from(self.den))).unwrap_or(u64::MAX)
    }
}

/// From an instant on, how fast time passes.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    since: Nanos,
    /// The load's own time then.
    own: u64,
    scale: Scale,
}

/// From instants to a load's own time, and back.
#[derive(Debug, Clone)]
pub(crate) struct Warp {
    /// In order; the first begins with traffic.
    stretches: Vec<Stretch>,
}

impl Default for Warp {
    fn default() -> Self {
        Self { stretches: vec![Stretch { since: Nanos::ZERO, own: 0, scale: Scale::ONE }] }
    }
}

impl Warp {
    fn stretch(&self, at: Nanos) -> &Stretch {
        let later = self.stretches.iter().rposition(|stretch| stretch.since <= at);
        &self.stretches[later.unwrap_or(0)]
    }

    /// The scale at an instant.
    pub(crate) fn scale(&self, at: Nanos) -> Scale {
        self.stretch(at).scale
    }

    /// The load's own time at an instant, rounded down.
    #[inline]
    pub(crate) fn own(&self, at: Nanos) -> Nanos {
        let Stretch { since, own, scale } = *self.stretch(at);
        let span = u128::from(at.since(since).0) * u128::from(scale.num) / u128::from(scale.den);
        Nanos(own.saturating_add(u64::try_from(span).unwrap_or(u64::MAX)))
    }

    /// The first instant at which the load's own time is `own`; [`Nanos::MAX`] if it never is.
    #[inline]
    pub(crate) fn when(&self, own: Nanos) -> Nanos {
        if own == Nanos::MAX {
            return own;
        }
        let next = self.stretches.partition_point(|stretch| stretch.own < own.0);
        let Some(Stretch { since, own: begin, scale }) = next.checked_sub(1).map(|at| self.stretches[at])
        else {
            return self.stretches[0].since;
        };
        if scale.is_zero() {
            return Nanos::MAX;
        }
        let span = (u128::from(own.0 - begin) * u128::from(scale.den)).div_ceil(u128::from(scale.num));
        since.saturating_add(Nanos(u64::try_from(span).unwrap_or(u64::MAX)))
    }

    /// Applies `scale` from `at` on, or from the last change on if that is later.
    pub(crate) fn change(&mut self, at: Nanos, scale: Scale) {
        let since = self.stretches.last().map_or(at, |last| last.since.max(at));
        let own = self.own(since).0;
        self.stretches.retain(|stretch| stretch.since < since);
        if self.stretches.is_empty() && since > Nanos::ZERO {
            self.stretches.push(Stretch { since: Nanos::ZERO, own: 0, scale: Scale::ONE });
        }
        self.stretches.push(Stretch { since, own, scale });
    }

    /// Whether the last scale is zero.
    pub(crate) fn is_still(&self) -> bool {
        self.stretches.last().is_some_and(|last| last.scale.is_zero())
    }

    /// When the scale changes next, after `at`.
    pub(crate) fn next_change(&self, at: Nanos) -> Nanos {
        self.stretches.iter().map(|stretch| stretch.since).find(|since| *since > at).unwrap_or(Nanos::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn time_stands_still_and_goes_on() {
        let mut warp = Warp::default();
        assert_eq!((warp.own(Nanos(7)), warp.when(Nanos(7))), (Nanos(7), Nanos(7)));
        warp.change(Nanos(100), Scale::new(0, 1));
        warp.change(Nanos(300), Scale::new(2, 1));
        assert_eq!([99, 100, 200, 300, 310].map(|at| warp.own(Nanos(at)).0), [99, 100, 100, 100, 120]);
        assert_eq!([99, 100, 101, 120].map(|own| warp.when(Nanos(own)).0), [99, 100, 301, 310]);
        assert_eq!((warp.next_change(Nanos(100)), warp.next_change(Nanos(300))), (Nanos(300), Nanos::MAX));
        warp.change(Nanos(400), Scale::new(0, 1));
        assert_eq!(warp.when(Nanos(301)), Nanos::MAX);
        // The same instant again: the last word counts.
        warp.change(Nanos(400), Scale::ONE);
        assert_eq!(warp.when(Nanos(301)), Nanos(401));
    }

    proptest! {
        #[test]
        fn the_first_instant_is_the_first(
            changes in prop::collection::vec((1u64..1_000, 0u64..5, 1u64..5), 0..5),
            own in 0u64..3_000,
        ) {
            let (mut warp, mut at) = (Warp::default(), 0);
            for (gap, num, den) in changes {
                at += gap;
                warp.change(Nanos(at), Scale::new(num, den));
            }
            let when = warp.when(Nanos(own));
            if when < Nanos::MAX {
                prop_assert!(warp.own(when).0 >= own);
                prop_assert!(when.0 == 0 || warp.own(when - Nanos(1)).0 < own);
            }
        }
    }
}
