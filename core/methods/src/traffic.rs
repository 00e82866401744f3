//! Traffic management: what policers, shapers, queues and schedulers of a device do to classes of traffic (RFC 7640).
//!
//! A class is a stream. Each is sent by itself first: at a low load, and above what the device lets pass for two lengths of
//! time. Of a bucket of `B` bytes that is filled at a rate `R`, `B + R × (t + w)` bytes have passed when the last of them, which
//! waited for `w`, has left. So two lengths of time give rate and bucket, and the wait gives the bytes in the queue: a policer has
//! none. Then the longest burst without loss is searched. Last, all classes are sent at once, and each at a low load beside the
//! others.
//!
//! Not here: whether that is what was agreed, see [`crate::ServiceConfig`]. Rates are of frames with FCS (layer 2).

mod row;
mod stages;
#[cfg(test)]
mod tests;

pub use row::{Alone, Beside, BurstSize, Together, TrafficRow, Treatment};

use crate::draft::{Draft, Procedure, Seen, Stage};
use crate::finding::GoalMeaning;
use crate::list::Findings;
use crate::method::Method;
use crate::run::Run;
use crate::settings::{About, ConfigError, Requirement, Settings};
use crate::testbed::{Frames, Testbed};
use crate::text::{AsText, AsTextOrNone};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stages::{AllAtOnce, BurstStage, Class, LimitStage, OneBeside};
use std::collections::BTreeSet;
use units::{BitRate, FrameLen, Layer, Nanos};

/// A test of traffic management.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrafficTest {
    /// Rate, bucket and queue of each class by itself (RFC 7640 sections 6.1 and 6.3).
    Limit,
    /// The longest burst without loss of each class by itself.
    Burst,
    /// All classes at once, and each beside the others (RFC 7640 section 6.2).
    Scheduler,
}

/// Settings of the tests of traffic management.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct TrafficConfig {
    /// The classes of traffic: names of streams.
    pub classes: Vec<String>,
    /// Tests to run.
    pub tests: Vec<TrafficTest>,
    /// Frames of all classes.
    pub frames: Frames,
    /// Load of a class by itself, above what the device lets pass, of frames with FCS; absent: the line rate.
    #[serde(with = "AsTextOrNone")]
    pub load: Option<BitRate>,
    /// Length of the shorter overload; the longer one takes twice as long.
    #[serde(with = "AsText")]
    pub duration: Nanos,
    /// The longest burst, bytes of frames with FCS.
    pub burst_max: u64,
    /// Wait after a burst and rest before it, for the device to send what it holds and to fill its buckets; longer where a class was
    /// seen to need more.
    #[serde(with = "AsText")]
    pub wait: Nanos,
    /// The search for a burst ends when its bounds are this share apart.
    pub resolution: f64,
}

impl Default for TrafficConfig {
    fn default() -> Self {
        Self {
            classes: vec!["class".to_owned()],
            tests: vec![TrafficTest::Limit, TrafficTest::Burst, TrafficTest::Scheduler],
            frames: Frames::bytes(1518).unwrap_or_else(|| Frames::of(FrameLen::MIN)),
            load: None,
            duration: Nanos::from_secs(10),
            burst_max: 64 << 20,
            wait: Nanos::from_secs(2),
            resolution: 0.01,
        }
    }
}

impl TrafficConfig {
    pub(crate) const ABOUT: About = About {
        name: "traffic-management",
        about: "policers, shapers, queues and schedulers: rate, bucket, queue, bursts and shares of classes (RFC 7640)",
        result_names: &["rfc7640-traffic-management"],
        makes_curves: false,
        goals: &[
            GoalMeaning {
                goal: "traffic_rate",
                name: "Rate",
                definition: "bits of frames with FCS per second that pass of a class by itself under overload: of a policer the \
                             CIR, of a shaper its rate (RFC 7640 section 4.1)",
            },
            GoalMeaning {
                goal: "traffic_bucket",
                name: "Bucket",
                definition: "bytes of frames with FCS that pass in addition to the rate before it holds: of a policer the CBS, of a \
                             shaper its burst (RFC 7640 section 4.1)",
            },
            GoalMeaning {
                goal: "traffic_queue",
                name: "Queue",
                definition: "bytes of frames with FCS of a class that wait in the device under overload: rate × longest wait",
            },
            GoalMeaning {
                goal: "traffic_burst",
                name: "Burst size achieved",
                definition: "bytes of frames with FCS of the longest burst of a class by itself without loss (RFC 7640 section 4.1)",
            },
            GoalMeaning {
                goal: "traffic_share",
                name: "Share",
                definition: "share of a class in what arrives of all classes that are sent at once, under overload (RFC 7640 \
                             section 6.2)",
            },
            GoalMeaning {
                goal: "traffic_congested_loss",
                name: "Loss beside others",
                definition: "share of frames lost of a class at a low load while all others overload the device (RFC 7640 \
                             section 6.2)",
            },
            GoalMeaning {
                goal: "traffic_congested_latency",
                name: "Latency beside others",
                definition: "99th percentile of the latency of a class at a low load while all others overload the device (RFC \
                             7640 section 6.2)",
            },
        ],
    };

    fn has(&self, test: TrafficTest) -> bool {
        self.tests.contains(&test)
    }

    /// The load of overloads, bits/s of frames with FCS.
    fn load_bps(&self, testbed: &Testbed) -> u64 {
        let line = self.frames.bit_rate(testbed.line_rate(&self.frames), Layer::L2);
        self.load.map_or(line as u64, |load| load.bps)
    }
}

impl Settings for TrafficConfig {
    fn check(&self, testbed: &Testbed) -> Result<(), ConfigError> {
        let bad = |field: &str, reason: String| Err(ConfigError::new(field, reason));
        if self.classes.is_empty() {
            let how = "needs the names of streams: --set 'classes=[\"voice\", \"bulk\"]'";
            return bad("classes", how.to_owned());
        }
        let mut names = BTreeSet::new();
        if let Some(twice) = self.classes.iter().find(|name| !names.insert(*name)) {
            return bad("classes", format!("'{twice}' is listed twice"));
        }
        if self.tests.is_empty() {
            return bad("tests", "needs a test: limit, burst or scheduler".to_owned());
        }
        if self.tests == [TrafficTest::Scheduler] && self.classes.len() < 2 {
            return bad("classes", "the test scheduler takes two classes or more".to_owned());
        }
        if self.frames.one_length().is_none() {
            return bad(
                "frames",
                "must be one length, such as 512B: a bucket can't be computed of a mix".to_owned(),
            );
        }
        match self.load {
            Some(load) if load.layer != Layer::L2 => {
                return bad("load", "is of layer 2: write 50Mbps".to_owned());
            }
            _ if self.load_bps(testbed) == 0 => return bad("load", "must be above 0".to_owned()),
            _ => {}
        }
        if self.duration == Nanos::ZERO {
            return bad("duration", "must be longer than 0".to_owned());
        }
        if self.burst_max < u64::from(self.frames.one_length().unwrap_or(0)) {
            return bad("burst_max", format!("must hold a frame of {}", self.frames));
        }
        if !(self.resolution > 0.0 && self.resolution < 1.0) {
            return bad("resolution", "must be between 0 and 1".to_owned());
        }
        Ok(())
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(Traffic::new(self, testbed), testbed))
    }

    fn quicken(&mut self) {
        self.duration = Nanos::from_secs(2);
        self.wait = Nanos::from_millis(200);
        self.resolution = self.resolution.max(0.05);
    }

    fn set_trial(&mut self, trial: Nanos) {
        self.duration = trial;
    }

    fn sizes(&self) -> Vec<Frames> {
        vec![self.frames.clone()]
    }

    fn set_sizes(&mut self, sizes: &[Frames]) {
        if let Some(first) = sizes.first() {
            self.frames = first.clone();
        }
    }

    fn requirements(&self) -> Vec<Requirement> {
        let of = |name: &String| Requirement::Stream {
            setting: "classes",
            name: name.clone(),
            frames: Some(self.frames.clone()),
            burst_bytes: None,
            most_bps: None,
        };
        self.classes.iter().map(of).collect()
    }
}

/// The trials of a class, or of all.
#[derive(Debug, Clone)]
enum Part {
    Limit(usize, LimitStage),
    Burst(usize, BurstStage),
    All(AllAtOnce),
    Beside(usize, OneBeside),
}

/// All tests.
#[derive(Debug, Clone)]
pub(crate) struct Traffic {
    config: TrafficConfig,
    parts: Vec<Part>,
    at: usize,
    rows: Vec<TrafficRow>,
}

impl Traffic {
    fn new(config: &TrafficConfig, testbed: &Testbed) -> Self {
        let load_bps = config.load_bps(testbed);
        let classes: Vec<Class> = config
            .classes
            .iter()
            .map(|name| Class { name: name.clone(), frames: config.frames.clone(), load_bps })
            .collect();
        let mut parts = Vec::new();
        for (index, class) in classes.iter().enumerate() {
            if config.has(TrafficTest::Limit) {
                parts.push(Part::Limit(index, LimitStage::new(class, config.duration)));
            }
            if config.has(TrafficTest::Burst) {
                parts.push(Part::Burst(index, BurstStage::new(class, config)));
            }
        }
        if config.has(TrafficTest::Scheduler) && classes.len() > 1 {
            parts.push(Part::All(AllAtOnce::new(&classes, config.duration)));
            let beside = |index| Part::Beside(index, OneBeside::new(&classes, index, config.duration));
            parts.extend((0..classes.len()).map(beside));
        }
        let rows = classes.iter().map(TrafficRow::new).collect();
        Self { config: config.clone(), parts, at: 0, rows }
    }
}

impl Stage for Traffic {
    fn next(&mut self) -> Option<Draft> {
        while let Some(part) = self.parts.get_mut(self.at) {
            let draft = match part {
                Part::Limit(_, part) => part.next(),
                Part::Burst(index, part) => part.next(self.rows[*index].alone.as_ref()),
                Part::All(part) => part.next(),
                Part::Beside(index, part) => part.next(self.rows[*index].alone.as_ref()),
            };
            if draft.is_some() {
                return draft;
            }
            self.at += 1;
        }
        None
    }

    fn take(&mut self, _: &Draft, seen: &Seen<'_>) {
        match self.parts.get_mut(self.at) {
            Some(Part::Limit(index, part)) => {
                part.take(seen);
                self.rows[*index].alone = part.found();
            }
            Some(Part::Burst(index, part)) => {
                part.take(seen);
                self.rows[*index].burst = Some(part.found());
            }
            Some(Part::All(part)) => {
                for (row, found) in self.rows.iter_mut().zip(part.found(seen)) {
                    row.together = Some(found);
                }
            }
            Some(Part::Beside(index, part)) => self.rows[*index].beside = Some(part.found(seen)),
            None => {}
        }
    }
}

impl Procedure for Traffic {
    fn name(&self) -> &'static str {
        "rfc7640-traffic-management"
    }

    fn findings(&self) -> Findings {
        Findings::Traffic(self.rows.clone())
    }

    fn summary(&self) -> Vec<String> {
        let each = self.rows.iter().flat_map(TrafficRow::sentences);
        each.chain(row::scheduling(&self.rows)).collect()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        if self.config.has(TrafficTest::Scheduler) && self.rows.len() < 2 {
            remarks.push("The scheduler was not tested: it takes two classes.".to_owned());
        }
        remarks
    }
}
