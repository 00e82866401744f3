//! A search for the highest load of sessions at which trials pass: it climbs at most twice as high at a time, and lets the
//! device rest after a failure and after a disturbance.

use crate::bisect::Bisect;
use crate::draft::{Limit, Verdict};
use crate::result::bounded_by;
use crate::settings::ConfigError;
use units::Nanos;

/// Limits of the search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ClimbConfig {
    /// Smallest and largest value tried.
    pub(crate) bounds: (u64, u64),
    /// It ends when its bounds are this share apart.
    pub(crate) resolution: f64,
    /// Rest of the device after a failure or a disturbance: sessions that are left over spoil the next trial.
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
    /// The last trial failed, or the tester was kept from its work: the device rests before the next.
    tired: bool,
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
        let (low, high) = config.bounds;
        let bisect = Bisect::new(low, high, 1).within(config.resolution).climbing(ladder);
        Self { config, bisect, tired: false, rested: false }
    }

    /// The next value, and how long the device rests before it; called once for each.
    pub(crate) fn next(&mut self) -> Option<(u64, Nanos)> {
        let value = self.bisect.probe()?;
        let rest = if self.tired { self.config.rest } else { Nanos::ZERO };
        self.rested |= rest > Nanos::ZERO;
        Some((value, rest))
    }

    /// Takes the verdict on `at`.
    pub(crate) fn judge(&mut self, at: u64, verdict: Verdict) {
        self.bisect.judge(at, verdict);
        self.tired = matches!(verdict, Verdict::Fail | Verdict::Disturbed);
    }

    /// Limit of the result.
    pub(crate) fn limit(&self) -> Limit {
        self.bisect.limit()
    }

    /// The lowest failure was not one: it passed when it was tried again.
    pub(crate) fn retract(&mut self, at: u64) {
        self.bisect.retract(at);
        self.tired = false;
    }

    /// The smallest value at which the device failed, above all that passed.
    pub(crate) fn failed(&self) -> Option<u64> {
        self.bisect.failed_by_dut()
    }
}

/// That nothing was found, because of the tester.
pub(crate) fn nothing_known(limit: Limit) -> &'static str {
    match limit {
        Limit::Disturbed => "can't be judged; the tester was disturbed, by what else runs on its machine",
        _ => "not found; the tester was the limit at every load",
    }
}

/// The result of a search that has ended: `found`, if anything passed, the failure of the device and its reason, if it
/// failed, and the limit of the result.
pub(crate) fn answer(limit: Limit, found: Option<String>, failed: Option<(String, String)>) -> String {
    let said = failed.map(|(at, why)| format!("; at {at}: {why}"));
    match (found, said, limit) {
        (Some(found), Some(said), Limit::Disturbed) => {
            format!("{found}{said}; values in between can't be judged, because the tester was disturbed")
        }
        (Some(found), Some(said), Limit::Tester) => format!("{found}, where the tester was the limit{said}"),
        (Some(found), Some(said), Limit::Dut) => format!("{found}{said}"),
        (Some(found), _, _) => format!("{found}{}", bounded_by(limit, None)),
        (None, said, Limit::Disturbed | Limit::Tester) => {
            format!("{}{}", nothing_known(limit), said.unwrap_or_default())
        }
        (None, said, _) => format!("none{}", said.unwrap_or_default()),
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
            trials += 1;
            climb.judge(value, if trials == 3 { Verdict::GivenUp } else { Verdict::Disturbed });
        }
        assert_eq!((trials, climb.limit()), (3, Limit::Disturbed));
    }
}
