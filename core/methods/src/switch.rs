//! A switch: meshed throughput, broadcasts, bursts and incast, the buffer, head-of-line blocking, frames that are too long (RFC
//! 2889, RFC 8239).
//!
//! All ports are on the switch. Which of them sends to which is a matter of each trial; the profile's streams define the packets. The
//! buffer follows from bursts: what several ports sent to one until their last frames arrived, less what it can have sent on
//! meanwhile at its line rate.
//!
//! Not here: the table of addresses, see [`crate::AddressConfig`]. Frames with a wrong FCS or shorter than 64 bytes, and gaps of less
//! than 96 bits: no port of the tester can send them.

mod flows;
mod loads;
mod row;
mod searches;
#[cfg(test)]
mod tests;

pub use flows::{FlowLoad, Pattern};
pub use row::{
    Blocking, BurstFound, CongestionFound, FlowFound, LoadFound, OversizeFound, RateFound, SwitchRow,
};

use crate::draft::{Draft, Procedure, Seen, Stage};
use crate::finding::GoalMeaning;
use crate::list::Findings;
use crate::method::Method;
use crate::run::Run;
use crate::settings::{About, ConfigError, Requirement, Settings};
use crate::testbed::{Frames, Testbed};
use crate::text::AsText;
use flows::Incast;
use loads::{Congestion, ConstantLoad, Oversize};
use schemars::JsonSchema;
use searches::{Bed, BurstSearch, RateSearch, Traffic};
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps};

/// Ports of the smallest switch that can be tested, and those that head-of-line blocking takes.
const PORTS_LEAST: usize = 3;
const PORTS_OF_CONGESTION: u16 = 4;
/// Load and length of the first trial, which shows whether frames arrive at all.
const FIRST_SHARE: f64 = 0.01;
const FIRST: Nanos = Nanos::from_secs(1);
/// Trials by RFC 2889 section 5.1.
const DURATION: Nanos = Nanos::from_secs(30);
/// The longest burst.
const BURST_MAX: Nanos = Nanos::from_secs(30);

/// A test of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SwitchTest {
    /// Highest rate without loss of each pattern (RFC 2889 sections 5.1 to 5.4), and the highest forwarding rate (5.6.4).
    Mesh,
    /// The same of broadcasts, and their latency (section 5.10).
    Broadcast,
    /// Longest bursts of two and more senders to one port, and the buffer they imply (RFC 8239 sections 3 and 4).
    Buffer,
    /// One and more senders at line rate to one port (RFC 8239 section 6, without sessions).
    Incast,
    /// Head-of-line blocking and back pressure (RFC 2889 section 5.5, RFC 8239 section 5).
    HeadOfLine,
    /// Whether frames that are too long are forwarded (RFC 2889 section 5.9); needs `oversize`.
    Oversize,
}

impl SwitchTest {
    const ALL: [Self; 6] =
        [Self::Mesh, Self::Broadcast, Self::Buffer, Self::Incast, Self::HeadOfLine, Self::Oversize];
}

/// Settings of the tests of a switch.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SwitchConfig {
    /// Frame lengths.
    pub sizes: Vec<Frames>,
    /// Tests to run.
    pub tests: Vec<SwitchTest>,
    /// Patterns of the test `mesh`.
    pub patterns: Vec<Pattern>,
    /// Length of trials at constant load; 30 s by RFC 2889.
    #[serde(with = "AsText")]
    pub duration: Nanos,
    /// Smallest load tried, share of the line rate.
    pub minimum: f64,
    /// Searches for rates end when their bounds are this share of the line rate apart.
    pub resolution: f64,
    /// The longest burst of a port; up to 30 s.
    #[serde(with = "AsText")]
    pub burst_max: Nanos,
    /// Most senders to one port; 0: all ports but one.
    pub senders: u16,
    /// Number of times that a trial of a search that lost frames is run again before the loss is accepted.
    pub loss_verification: u32,
    /// Wait after a burst, for the device to send what it holds.
    #[serde(with = "AsText")]
    pub wait: Nanos,
    /// Length of frames that are too long for the device; the ports must be able to send them. Absent: they are not tested.
    pub oversize: Option<Frames>,
}

impl Default for SwitchConfig {
    fn default() -> Self {
        Self {
            sizes: Frames::rfc2544(),
            tests: SwitchTest::ALL.to_vec(),
            patterns: Pattern::ALL.to_vec(),
            duration: DURATION,
            minimum: 0.001,
            resolution: 0.001,
            burst_max: Nanos::from_secs(1),
            senders: 0,
            loss_verification: 0,
            wait: Nanos::from_secs(2),
            oversize: None,
        }
    }
}

impl SwitchConfig {
    pub(crate) const ABOUT: About = About {
        name: "switch",
        about: "a switch: meshed throughput, buffer, incast, head-of-line blocking, broadcasts (RFC 2889, RFC 8239)",
        result_names: &["switch"],
        makes_curves: false,
        goals: &[
            GoalMeaning {
                goal: "mesh_throughput",
                name: "Meshed throughput",
                definition: "highest rate of all ports together at which no frame was lost (RFC 2889 sections 5.1 to 5.4)",
            },
            GoalMeaning {
                goal: "mesh_forwarding_rate",
                name: "Maximum forwarding rate",
                definition: "most frames that arrived per second at any load tried (RFC 2889 section 5.6.4)",
            },
            GoalMeaning {
                goal: "broadcast_rate",
                name: "Broadcast rate",
                definition: "highest rate of broadcasts of one port that all others received (RFC 2889 section 5.10)",
            },
            GoalMeaning {
                goal: "broadcast_latency",
                name: "Broadcast latency",
                definition: "mean latency of broadcasts at that rate (RFC 2889 section 5.10)",
            },
            GoalMeaning {
                goal: "switch_buffer",
                name: "Buffer",
                definition: "bytes of frames in the device at the end of the longest burst without loss of several ports to one, \
                             as far as that port cannot have sent them at its line rate (RFC 8239 section 3)",
            },
            GoalMeaning {
                goal: "microburst",
                name: "Microburst",
                definition: "frames of the longest burst without loss, of all senders together (RFC 8239 section 4)",
            },
            GoalMeaning {
                goal: "incast_loss",
                name: "Incast loss",
                definition: "share of frames lost of ports that send to one, each at its line rate (RFC 8239 section 6)",
            },
            GoalMeaning {
                goal: "incast_fairness",
                name: "Incast fairness",
                definition: "Jain's index of the frames received of each sender; 1: as many of each",
            },
            GoalMeaning {
                goal: "incast_latency",
                name: "Incast latency",
                definition: "largest latency of the frames that arrived (RFC 8239 section 6)",
            },
            GoalMeaning {
                goal: "head_of_line_loss",
                name: "Head-of-line loss",
                definition: "share of frames to an idle port that were lost while another port of the same sender was congested \
                             (RFC 2889 section 5.5, RFC 8239 section 5)",
            },
            GoalMeaning {
                goal: "congested_loss",
                name: "Loss at the congested port",
                definition: "share of frames to the congested port that were lost; without any, the device holds back the \
                             senders (RFC 2889 section 5.5)",
            },
            GoalMeaning {
                goal: "oversize_forwarded",
                name: "Long frames forwarded",
                definition: "share of frames longer than allowed that were forwarded; none should be (RFC 2889 section 5.9)",
            },
        ],
    };

    fn has(&self, test: SwitchTest) -> bool {
        self.tests.contains(&test)
    }

    /// The tests at one frame length, as a switch of this number of ports permits.
    fn parts(&self, bed: &Bed) -> Vec<Part> {
        let senders = match self.senders {
            0 => bed.ports - 1,
            senders => senders.min(bed.ports - 1),
        };
        let rate = |traffic| Part::Rate(RateSearch::new(bed, traffic, self.minimum, self.resolution));
        let burst = |incasts| Part::Burst(BurstSearch::new(bed, incasts, self.burst_max, self.wait));
        let mut parts = Vec::new();
        for test in &self.tests {
            match test {
                SwitchTest::Mesh => {
                    parts.extend(self.patterns.iter().map(|pattern| rate(Traffic::Pattern(*pattern))));
                }
                SwitchTest::Broadcast => parts.push(rate(Traffic::Broadcast)),
                SwitchTest::Buffer => {
                    parts.extend((2..=senders).map(|senders| burst(vec![Incast::of(senders)])));
                    let pairs = Incast::pairs(bed.ports);
                    parts.extend((pairs.len() > 1).then(|| burst(pairs)));
                }
                SwitchTest::Incast => {
                    let load = |senders| Part::Load(ConstantLoad::new(bed, Incast::of(senders)));
                    parts.extend((1..=senders).map(load));
                }
                SwitchTest::HeadOfLine if bed.ports >= PORTS_OF_CONGESTION => {
                    parts.push(Part::Congestion(Congestion::new(bed)));
                }
                // Too few ports; once, not at each length.
                SwitchTest::HeadOfLine | SwitchTest::Oversize => {}
            }
        }
        parts
    }
}

impl Settings for SwitchConfig {
    fn check(&self, _: &Testbed) -> Result<(), ConfigError> {
        let bad = |field: &str, reason: &str| Err(ConfigError::new(field, reason));
        if self.sizes.is_empty() || self.sizes.iter().any(|frames| frames.one_length().is_none()) {
            return bad(
                "sizes",
                "needs frame lengths, such as 64B,1518B; a buffer can't be computed of a mix",
            );
        }
        if self.tests.is_empty() || self.has(SwitchTest::Mesh) && self.patterns.is_empty() {
            return bad("tests", "needs a test, and the test mesh a pattern");
        }
        if self.duration == Nanos::ZERO {
            return bad("duration", "must be longer than 0");
        }
        if !(self.minimum > 0.0 && self.minimum <= 1.0 && self.resolution > 0.0 && self.resolution < 1.0) {
            return bad("minimum", "minimum and resolution must be between 0 and 1");
        }
        if self.burst_max == Nanos::ZERO || self.burst_max > BURST_MAX {
            return bad("burst_max", "must be above 0 s and at most 30 s");
        }
        if self.senders == 1 && self.tests == [SwitchTest::Buffer] {
            return bad("senders", "must be 2 or more: one sender fills no buffer");
        }
        match &self.oversize {
            Some(frames) if frames.one_length().is_none() => {
                bad("oversize", "must be one length, such as 1600B")
            }
            _ => Ok(()),
        }
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(Switch::new(self, testbed), testbed))
    }

    fn quicken(&mut self) {
        self.duration = Nanos::from_secs(2);
        self.resolution = self.resolution.max(0.01);
        self.burst_max = Nanos::from_millis(200);
        self.loss_verification = 1;
        self.wait = Nanos::from_millis(100);
    }

    fn set_trial(&mut self, trial: Nanos) {
        self.duration = trial;
    }

    fn sizes(&self) -> Vec<Frames> {
        self.sizes.iter().chain(&self.oversize).cloned().collect()
    }

    fn set_sizes(&mut self, sizes: &[Frames]) {
        self.sizes = sizes.to_vec();
    }

    fn requirements(&self) -> Vec<Requirement> {
        vec![Requirement::SwitchPorts(PORTS_LEAST)]
    }
}

/// A trial of the profile's own streams, which shows whether frames arrive at every port.
#[derive(Debug, Clone)]
struct Arrives {
    frames: Frames,
    rate: Pps,
    asked: bool,
}

impl Stage for Arrives {
    fn next(&mut self) -> Option<Draft> {
        let label = format!("{}: do frames of each port arrive?", self.frames);
        let draft = Draft::load(&self.frames, self.rate, FIRST).label(label);
        (!std::mem::replace(&mut self.asked, true)).then_some(draft)
    }

    fn take(&mut self, _: &Draft, _: &Seen<'_>) {}
}

#[derive(Debug, Clone)]
enum Part {
    Arrives(Arrives),
    Rate(RateSearch),
    Burst(BurstSearch),
    Load(ConstantLoad),
    Congestion(Congestion),
    Oversize(Oversize),
}

impl Part {
    fn stage(&mut self) -> &mut dyn AnyStage {
        match self {
            Self::Arrives(part) => part,
            Self::Rate(part) => part,
            Self::Burst(part) => part,
            Self::Load(part) => part,
            Self::Congestion(part) => part,
            Self::Oversize(part) => part,
        }
    }
}

/// A stage without the ability to be cloned, so that it can be used by reference.
trait AnyStage {
    fn next(&mut self) -> Option<Draft>;
    fn take(&mut self, draft: &Draft, seen: &Seen<'_>);
}

impl<S: Stage> AnyStage for S {
    fn next(&mut self) -> Option<Draft> {
        Stage::next(self)
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        Stage::take(self, draft, seen);
    }
}

/// The tests, frame length by frame length.
#[derive(Debug, Clone)]
pub(crate) struct Switch {
    config: SwitchConfig,
    ports: u16,
    /// Each with the place of its frame length.
    parts: Vec<(usize, Part)>,
    at: usize,
}

impl Switch {
    pub(crate) fn new(config: &SwitchConfig, testbed: &Testbed) -> Self {
        let ports = u16::try_from(testbed.groups.len()).unwrap_or(u16::MAX);
        let mut parts = Vec::new();
        for (place, frames) in config.sizes.iter().enumerate() {
            let line = testbed.line_rate(frames);
            let (frames, duration) = (frames.clone(), config.duration);
            if place == 0 {
                let rate = Pps::from_micro((line.micro() as f64 * FIRST_SHARE) as u64);
                let arrives = Arrives { frames: frames.clone(), rate, asked: false };
                parts.push((place, Part::Arrives(arrives)));
            }
            let bed = Bed { ports, line, frames, duration, verification: config.loss_verification };
            parts.extend(config.parts(&bed).into_iter().map(|part| (place, part)));
            let oversize =
                config.oversize.as_ref().filter(|_| place == 0 && config.has(SwitchTest::Oversize));
            let oversize = oversize.map(|frames| Oversize::new(&bed, frames, testbed.line_rate(frames)));
            parts.extend(oversize.map(|part| (place, Part::Oversize(part))));
        }
        Self { config: config.clone(), ports, parts, at: 0 }
    }

    /// The findings at the frame length at this place.
    fn row(&self, place: usize, frames: &Frames) -> SwitchRow {
        let mut row = SwitchRow {
            frames: frames.clone(),
            rates: Vec::new(),
            bursts: Vec::new(),
            loads: Vec::new(),
            congestion: None,
            oversize: None,
        };
        for (_, part) in self.parts.iter().filter(|(own, _)| *own == place) {
            match part {
                Part::Arrives(_) => {}
                Part::Rate(part) => row.rates.push(part.found()),
                Part::Burst(part) => row.bursts.push(part.found()),
                Part::Load(part) => row.loads.extend(part.found.clone()),
                Part::Congestion(part) => row.congestion.clone_from(&part.found),
                Part::Oversize(part) => row.oversize.clone_from(&part.found),
            }
        }
        row
    }

    fn rows(&self) -> Vec<SwitchRow> {
        self.config.sizes.iter().enumerate().map(|(place, frames)| self.row(place, frames)).collect()
    }
}

impl Stage for Switch {
    fn next(&mut self) -> Option<Draft> {
        while let Some((_, part)) = self.parts.get_mut(self.at) {
            if let Some(draft) = part.stage().next() {
                return Some(draft);
            }
            self.at += 1;
        }
        None
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        if let Some((_, part)) = self.parts.get_mut(self.at) {
            part.stage().take(draft, seen);
        }
    }

    /// Bounds of a loss decide searches for rates only.
    fn decides(&self, draft: &Draft, seen: &Seen<'_>) -> bool {
        match self.parts.get(self.at) {
            Some((_, Part::Rate(part))) => part.decides(draft, seen),
            _ => false,
        }
    }
}

impl Procedure for Switch {
    fn name(&self) -> &'static str {
        "switch"
    }

    fn findings(&self) -> Findings {
        Findings::Switch(self.rows())
    }

    fn summary(&self) -> Vec<String> {
        self.rows().iter().flat_map(SwitchRow::sentences).collect()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.config.duration < DURATION {
            remarks.push(format!("Trials took {}; RFC 2889 recommends 30 s.", self.config.duration));
        }
        if self.config.has(SwitchTest::HeadOfLine) && self.ports < PORTS_OF_CONGESTION {
            remarks.push(format!(
                "Head-of-line blocking was not tested: it takes {PORTS_OF_CONGESTION} ports, and there are {}.",
                self.ports
            ));
        }
        if self.config.has(SwitchTest::Oversize) {
            let mut text = "Not tested: frames with a wrong FCS or shorter than 64 bytes (RFC 2889 section 5.9) and gaps of \
                            less than 96 bits (forward pressure, section 5.6), which no port of the tester can send"
                .to_owned();
            if self.config.oversize.is_none() {
                text += "; frames that are too long, because the setting oversize has no length";
            }
            remarks.push(text + ".");
        }
        remarks
    }
}
