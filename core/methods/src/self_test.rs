//! Limits of the tester itself, without the DUT: the maximum frames per second, and the shortest frame that fills the
//! link. A campaign starts with it, because a tester that is the limit measures nothing but itself.

use crate::bisect::Bisect;
use crate::draft::{Draft, Procedure, Seen, Stage, Verdict};
use crate::finding::Finding;
use crate::list::Findings;
use crate::method::Method;
use crate::run::Run;
use crate::settings::{About, ConfigError, Row, Settings};
use crate::testbed::{Frames, Testbed};
use crate::text::{AsText, grouped, percent};
use crate::trial::TrialKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{FrameLen, Nanos, Pps};

/// Settings of the self-test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SelfTestConfig {
    /// Longest frame tried.
    #[serde(with = "AsText")]
    pub longest: FrameLen,
    /// Share of the line rate at which a link counts as full.
    pub full: f64,
    /// Length of a trial.
    #[serde(with = "AsText")]
    pub duration: Nanos,
}

impl Default for SelfTestConfig {
    fn default() -> Self {
        Self {
            longest: FrameLen::new(1518).unwrap_or(FrameLen::MAX),
            full: 0.999,
            duration: Nanos::from_secs(10),
        }
    }
}

impl SelfTestConfig {
    pub(crate) const ABOUT: About = About {
        name: "self-test",
        about: "highest rate of the tester itself",
        result_names: &["self-test"],
        makes_curves: false,
        goals: &[],
    };
}

impl Settings for SelfTestConfig {
    fn check(&self, _: &Testbed) -> Result<(), ConfigError> {
        if !(self.full > 0.0 && self.full <= 1.0) || self.duration == Nanos::ZERO {
            let reason = "must be above 0 and at most 1, duration longer than 0";
            return Err(ConfigError::new("full", reason));
        }
        Ok(())
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(SelfTest::new(self, testbed), testbed))
    }

    fn quicken(&mut self) {
        self.duration = Nanos::from_secs(1);
    }

    fn set_trial(&mut self, trial: Nanos) {
        self.duration = trial;
    }

    /// The shortest and the longest; it chooses between them.
    fn sizes(&self) -> Vec<Frames> {
        [FrameLen::MIN, self.longest].map(Frames::of).to_vec()
    }
}

/// Limits of the tester.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SelfTestRow {
    /// Frames of 64 B per second, all groups.
    pub most_pps: Option<f64>,
    /// Frames of 64 B that fill the links, all groups.
    pub line_rate_pps: f64,
    /// The shortest frame that fills the links, bytes with FCS; absent: none does.
    pub shortest_full_bytes: Option<u32>,
}

impl Row for SelfTestRow {
    fn findings(&self) -> Vec<Finding> {
        let most = Finding::new("most the tester can do", "pps").value(self.most_pps);
        vec![Finding { line: Some(self.line_rate_pps), ..most }]
    }
}

/// The search. Frames get shorter as its number grows.
#[derive(Debug, Clone)]
pub(crate) struct SelfTest {
    testbed: Testbed,
    config: SelfTestConfig,
    search: Bisect,
    most: Option<f64>,
}

impl SelfTest {
    pub(crate) fn new(config: &SelfTestConfig, testbed: &Testbed) -> Self {
        let lengths = u64::from(config.longest.bytes() - FrameLen::MIN.bytes()) + 1;
        Self {
            testbed: testbed.clone(),
            config: config.clone(),
            search: Bisect::new(1, lengths, 1),
            most: None,
        }
    }

    fn frames(&self, number: u64) -> Frames {
        let bytes = u64::from(self.config.longest.bytes()) + 1 - number;
        Frames::of(FrameLen::new(bytes as u32).unwrap_or(FrameLen::MIN))
    }

    fn row(&self) -> SelfTestRow {
        let shortest = self.search.passed().map(|number| self.frames(number));
        let line = |frames: &Frames| self.testbed.offered(frames, self.testbed.line_rate(frames));
        SelfTestRow {
            most_pps: self.most,
            line_rate_pps: line(&Frames::of(FrameLen::MIN)).iter().map(|load| load.rate.as_f64()).sum(),
            shortest_full_bytes: shortest.map(|frames| frames.parts()[0].0.bytes()),
        }
    }
}

impl Stage for SelfTest {
    fn next(&mut self) -> Option<Draft> {
        let frames = self.frames(self.search.probe()?);
        let label = format!("tester alone: {frames} at the line rate");
        let draft = Draft::load(&frames, self.testbed.line_rate(&frames), self.config.duration);
        Some(draft.kind(TrialKind::SelfTest).label(label).once())
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        let groups = &seen.outcome.groups;
        let wanted = self.testbed.offered(&draft.frames, draft.rate.unwrap_or(Pps::ZERO));
        let full = groups.iter().zip(&wanted).all(|(group, wanted)| {
            group.achieved.as_f64() >= wanted.rate.as_f64() * self.config.full && group.lost == 0
        });
        let number =
            u64::from(self.config.longest.bytes()) + 1 - u64::from(draft.frames.parts()[0].0.bytes());
        if self.most.is_none() {
            self.most = Some(groups.iter().map(|group| group.achieved.as_f64()).sum());
        }
        self.search.judge(number, if full { Verdict::Pass } else { Verdict::Fail });
    }
}

impl Procedure for SelfTest {
    fn name(&self) -> &'static str {
        "self-test"
    }

    fn findings(&self) -> Findings {
        Findings::SelfTest(vec![self.row()])
    }

    fn summary(&self) -> Vec<String> {
        let row = self.row();
        let Some(most) = row.most_pps else { return vec!["The tester: not yet known.".into()] };
        let share = percent(most / row.line_rate_pps);
        let fills = match row.shortest_full_bytes {
            Some(bytes) => format!("frames of {bytes} B and more fill the link"),
            None => format!("no frame of up to {} fills the link", self.config.longest),
        };
        vec![format!(
            "The tester sends {} frames of 64 B per second, {share} of the line rate; {fills}.",
            grouped(most as u64)
        )]
    }
}
