//! Address caching capacity and address learning rate of a switch (RFC 2889 sections 5.7 and 5.8).

use crate::bisect::Bisect;
use crate::climb::nothing_known;
use crate::draft::{Draft, InTurn, Limit, Procedure, Seen, Stage, Verdict};
use crate::finding::Finding;
use crate::list::Findings;
use crate::method::Method;
use crate::result::bounded_by;
use crate::run::Run;
use crate::settings::{About, ConfigError, Requirement, Row, Settings};
use crate::testbed::{Frames, Testbed};
use crate::text::{AsText, grouped};
use crate::trial::TrialKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps};

/// Settings of the address tests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct AddressConfig {
    /// The frames; the smallest by the RFC.
    pub frames: Frames,
    /// Addresses to begin with.
    pub first: u64,
    /// Largest number of addresses tried.
    pub maximum: u64,
    /// Learning frames per second while the capacity is searched.
    pub learn_rate: u64,
    /// Highest rate of learning frames tried, per second; 0 skips the learning rate.
    pub learn_rate_max: u64,
    /// A search ends when its bounds are this share apart.
    pub resolution: f64,
    /// Load of the test frames, share of the line rate.
    pub share: f64,
    /// Length of a trial's test frames; 1 to 300 s, 30 s by the RFC.
    #[serde(with = "AsText")]
    pub duration: Nanos,
}

impl Default for AddressConfig {
    fn default() -> Self {
        Self {
            frames: Frames::of(units::FrameLen::MIN),
            first: 20_480,
            maximum: 1 << 20,
            learn_rate: 1_000,
            learn_rate_max: 1_000_000,
            resolution: 0.01,
            share: 0.1,
            duration: Nanos::from_secs(30),
        }
    }
}

impl AddressConfig {
    pub(crate) const ABOUT: About = About {
        name: "addresses",
        about: "address table size and learning rate of a switch (RFC 2889)",
        result_names: &["rfc2889-addresses"],
        makes_curves: true,
        goals: &[],
    };
}

impl Settings for AddressConfig {
    fn check(&self, _: &Testbed) -> Result<(), ConfigError> {
        if self.first == 0 || self.maximum < self.first || self.learn_rate == 0 {
            return Err(ConfigError::new("maximum", "1 ≤ first ≤ maximum and learn_rate ≥ 1 must hold"));
        }
        if !(self.share > 0.0 && self.share <= 1.0 && self.resolution > 0.0 && self.resolution < 1.0) {
            return Err(ConfigError::new("share", "share and resolution must be between 0 and 1"));
        }
        if self.duration < Nanos::from_secs(1) || self.duration > Nanos::from_secs(300) {
            return Err(ConfigError::new("duration", "must be 1 to 300 s (RFC 2889 section 5.7)"));
        }
        Ok(())
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(Addresses::new(self, testbed), testbed))
    }

    fn quicken(&mut self) {
        self.duration = Nanos::from_secs(2);
    }

    fn set_trial(&mut self, trial: Nanos) {
        self.duration = trial;
    }

    fn sizes(&self) -> Vec<Frames> {
        vec![self.frames.clone()]
    }

    /// One length is enough: the first.
    fn set_sizes(&mut self, sizes: &[Frames]) {
        if let Some(first) = sizes.first() {
            self.frames = first.clone();
        }
    }

    fn requirements(&self) -> Vec<Requirement> {
        vec![Requirement::AddressPorts]
    }
}

/// Findings at one number of addresses.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AddressRow {
    /// `capacity` or `learning rate`.
    pub what: String,
    /// Addresses, or addresses per second; absent: none.
    pub value: Option<u64>,
    /// The smallest that failed.
    pub failed: Option<u64>,
    /// Limit of the value from above.
    pub limit: Limit,
    /// Why the smallest that failed did: frames lost and flooded.
    pub failed_by: Option<(u64, u64)>,
}

impl Row for AddressRow {
    fn findings(&self) -> Vec<Finding> {
        let number = |value: Option<u64>| value.map(|value| value as f64);
        vec![Finding {
            value: number(self.value),
            lower: number(self.value),
            upper: number(self.failed),
            ..Finding::new(&*self.what, "").note(self.limit.note_of(number(self.value)))
        }]
    }

    fn limits(&self) -> Vec<Limit> {
        vec![self.limit]
    }
}

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Capacity,
    /// Rate at a number of addresses that are known to fit.
    Rate(u64),
}

#[derive(Debug, Clone)]
struct Search {
    what: What,
    config: AddressConfig,
    rate: Pps,
    bisect: Bisect,
    failed_by: Option<(u64, u64)>,
}

impl Search {
    fn row(&self) -> AddressRow {
        AddressRow {
            what: if self.what == What::Capacity { "capacity" } else { "learning rate" }.into(),
            value: self.bisect.passed(),
            failed: self.bisect.failed_by_dut(),
            limit: self.bisect.limit(),
            failed_by: self.failed_by,
        }
    }
}

impl Stage for Search {
    fn next(&mut self) -> Option<Draft> {
        let value = self.bisect.probe()?;
        let (count, learn_rate) = match self.what {
            What::Capacity => (value, self.config.learn_rate),
            What::Rate(count) => (count, value),
        };
        let label = format!("{} addresses taught at {}/s", grouped(count), grouped(learn_rate));
        let draft = Draft::load(&self.config.frames, self.rate, self.config.duration);
        Some(draft.kind(TrialKind::Addresses { count, learn_rate }).label(label))
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        let TrialKind::Addresses { count, learn_rate } = draft.kind else { return };
        let at = if self.what == What::Capacity { count } else { learn_rate };
        let flooded: u64 = seen.outcome.groups.iter().map(|group| group.flooded).sum();
        // A flooded frame is one whose address was not known, even if it arrived (RFC 2889 section 5.7.3).
        let verdict = match seen.verdict(0.0) {
            Verdict::Pass if flooded > 0 => Verdict::Fail,
            verdict => verdict,
        };
        if verdict == Verdict::Fail && self.bisect.failed_by_dut().is_none_or(|failed| at < failed) {
            self.failed_by = Some((seen.outcome.lost(), flooded));
        }
        self.bisect.judge(at, verdict);
    }

    fn decides(&self, _: &Draft, seen: &Seen<'_>) -> bool {
        seen.verdict(0.0).is_known()
    }
}

/// Capacity first, then the learning rate with as many addresses.
#[derive(Debug, Clone)]
pub(crate) struct Addresses {
    searches: InTurn<Search>,
    config: AddressConfig,
    rate: Pps,
}

impl Addresses {
    pub(crate) fn new(config: &AddressConfig, testbed: &Testbed) -> Self {
        let line = testbed.line_rate(&config.frames);
        let rate = Pps::from_micro((line.micro() as f64 * config.share) as u64);
        let capacity = Search {
            what: What::Capacity,
            config: config.clone(),
            rate,
            bisect: Bisect::new(1, config.maximum, 1).within(config.resolution).climbing([config.first]),
            failed_by: None,
        };
        Self { searches: InTurn::new([capacity]), config: config.clone(), rate }
    }

    fn rate_search(&self) -> Option<Search> {
        let count = self.searches.stages[0].bisect.passed()?;
        (self.config.learn_rate_max > 0).then(|| Search {
            what: What::Rate(count),
            config: self.config.clone(),
            rate: self.rate,
            bisect: Bisect::new(1, self.config.learn_rate_max, 1)
                .within(self.config.resolution)
                .climbing([self.config.learn_rate]),
            failed_by: None,
        })
    }
}

impl Stage for Addresses {
    fn next(&mut self) -> Option<Draft> {
        if let Some(draft) = self.searches.next() {
            return Some(draft);
        }
        if self.searches.stages.len() == 1 {
            self.searches.stages.extend(self.rate_search());
        }
        self.searches.next()
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        self.searches.take(draft, seen);
    }

    fn decides(&self, draft: &Draft, seen: &Seen<'_>) -> bool {
        self.searches.decides(draft, seen)
    }
}

impl Procedure for Addresses {
    fn name(&self) -> &'static str {
        "rfc2889-addresses"
    }

    fn findings(&self) -> Findings {
        Findings::Addresses(self.searches.stages.iter().map(Search::row).collect())
    }

    fn summary(&self) -> Vec<String> {
        let sentence = |search: &Search| {
            let row = search.row();
            let unit = if search.what == What::Capacity { "addresses" } else { "addresses/s" };
            match row.value {
                Some(value) => {
                    let failed = row.failed.map(grouped);
                    format!(
                        "Address {}: {} {unit}{}.",
                        row.what,
                        grouped(value),
                        bounded_by(row.limit, failed)
                    )
                }
                None if row.limit == Limit::Open => format!("Address {}: not yet known.", row.what),
                None if row.limit.is_testers() => {
                    format!("Address {}: {}.", row.what, nothing_known(row.limit))
                }
                None => format!("Address {}: none; a single address is not learned.", row.what),
            }
        };
        self.searches.stages.iter().map(sentence).collect()
    }
}
