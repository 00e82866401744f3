//! A search for the highest load of sessions at which trials pass: it climbs at most twice as high at a time, and lets the
//! device rest after a failure and after a disturbance.

use crate::bisect::Bisect;
use crate::draft::{Limit, Verdict};
use crate::settings::ConfigError;
use units::Nanos;

/// A search in which nothing has passed ends when the tester was disturbed at so many loads in a row: what keeps it from its
/// work at a small load does so at a smaller one.
pub(crate) const DISTURBED_MAX: u32 = 3;

/// What the search may do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClimbConfig {
    /// Smallest and largest value tried.
    pub(crate) bounds: (u64, u64),
    /// It ends when its bounds are this share apart.
    pub(crate) resolution: f64,
    /// How long the device rests after a failure or a disturbance: sessions that are left over spoil the next trial.
    pub(crate) rest: Nanos,
}

impl ClimbConfig {
    /// # Errors
    /// If a resolution is no share.
    pub(crate) fn check_resolution(resolution: f64) -> Result<(), ConfigError> {
        if resolution > 0.0 && resolution < 1.0 {
            return Ok(());
        }
        Err(ConfigError::new("resolution", "must be between 0 and 1"))
    }

    /// Makes a search coarse and its rests short.
    pub(crate) fn quicken(resolution: &mut f64, rest: &mut Nanos) {
        *resolution = resolution.max(0.05);
        *rest = Nanos::from_secs(3);
    }
}

/// A search on its way.
#[derive(Debug, Clone)]
pub(crate) struct Climb {
    config: ClimbConfig,
    bisect: Bisect,
    /// The lowest value at which the device failed.
    failed_by_dut: Option<u64>,
    /// The last trial failed, or the tester was kept from its work: the device rests before the next.
    tired: bool,
    /// Loads in a row at which the tester was disturbed.
    disturbed: u32,
    /// The device has rested.
    pub(crate) rested: bool,
}

/// `from`, twice as much, and so on, up to `to`: a load far beyond a device's limit leaves it in a state that spoils the
/// trials that follow.
pub(crate) fn doubling(from: u64, to: u64) -> impl Iterator<Item = u64> {
    let doubled = std::iter::successors(Some(from.max(1)), |value| value.checked_mul(2));
    doubled.take_while(move |value| *value < to).chain([to])
}

impl Climb {
    /// Tries the values of `ladder` on the way up.
    pub(crate) fn new(config: ClimbConfig, ladder: impl IntoIterator<Item = u64>) -> Self {
        let bisect = Bisect::new(config.bounds.0, config.bounds.1, 1).climbing(ladder);
        Self { config, bisect, failed_by_dut: None, tired: false, disturbed: 0, rested: false }
    }

    /// The next value, and how long the device rests before it; called once for each.
    pub(crate) fn next(&mut self) -> Option<(u64, Nanos)> {
        if self.is_done() {
            return None;
        }
        let value = self.bisect.probe()?;
        let rest = if self.tired { self.config.rest } else { Nanos::ZERO };
        self.rested |= rest > Nanos::ZERO;
        Some((value, rest))
    }

    /// Takes the verdict on `at`.
    pub(crate) fn judge(&mut self, at: u64, verdict: Verdict) {
        self.bisect.judge(at, verdict);
        self.tired = matches!(verdict, Verdict::Fail | Verdict::Disturbed);
        self.disturbed = if verdict == Verdict::Disturbed { self.disturbed + 1 } else { 0 };
        if verdict == Verdict::Fail {
            self.failed_by_dut = Some(at);
        }
    }

    fn is_done(&self) -> bool {
        match (self.bisect.passed(), self.bisect.failed()) {
            (Some(passed), Some(failed)) => {
                (failed - passed) as f64 <= (failed as f64 * self.config.resolution).max(1.0)
            }
            (None, _) if self.disturbed >= DISTURBED_MAX => true,
            _ => self.bisect.probe().is_none(),
        }
    }

    /// What bounds the answer.
    pub(crate) fn limit(&self) -> Limit {
        match self.bisect.limit() {
            Limit::Open if self.is_done() => self.bounded_by(),
            limit => limit,
        }
    }

    /// The tester, if nothing that the device failed at lies as low.
    fn bounded_by(&self) -> Limit {
        match self.bisect.failed_by() {
            _ if self.failed_by_dut.is_some() && self.failed_by_dut == self.bisect.failed() => Limit::Dut,
            Some(Limit::Disturbed) => Limit::Disturbed,
            _ => Limit::Tester,
        }
    }
}

/// That nothing was found, because of the tester.
pub(crate) fn nothing_known(limit: Limit) -> &'static str {
    match limit {
        Limit::Disturbed => {
            "not found; the tester was disturbed at every load, by what else runs on its machine"
        }
        _ => "not found; the tester was the limit at every load",
    }
}

/// That the device rested.
pub(crate) fn rest_remark(rested: bool, rest: Nanos) -> Option<String> {
    rested.then(|| {
        format!(
            "After trials that failed or were disturbed the device rested for {rest}: sessions left over spoil the next trial."
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn climb() -> Climb {
        let config = ClimbConfig { bounds: (1, 1_000), resolution: 0.01, rest: Nanos::from_secs(3) };
        Climb::new(config, doubling(100, 1_000))
    }

    #[test]
    fn climbs_by_twice_and_rests_after_a_failure() {
        let mut climb = climb();
        let mut asked = Vec::new();
        while let Some((value, rest)) = climb.next() {
            asked.push((value, rest.0 / 1_000_000_000));
            climb.judge(value, if value <= 333 { Verdict::Pass } else { Verdict::Fail });
        }
        assert_eq!(asked[..4], [(100, 0), (200, 0), (400, 0), (300, 3)]);
        assert_eq!((climb.limit(), climb.bisect.passed()), (Limit::Dut, Some(331)));
    }

    #[test]
    fn rests_after_a_disturbance() {
        let mut climb = climb();
        let (first, _) = climb.next().unwrap();
        climb.judge(first, Verdict::Disturbed);
        assert_eq!(climb.next().unwrap().1, Nanos::from_secs(3));
    }

    #[test]
    fn gives_up_on_a_machine_that_keeps_the_tester_from_its_work() {
        let mut climb = climb();
        let mut trials = 0;
        while let Some((value, _)) = climb.next() {
            climb.judge(value, Verdict::Disturbed);
            trials += 1;
        }
        assert_eq!((trials, climb.limit()), (DISTURBED_MAX, Limit::Disturbed));
    }
}
