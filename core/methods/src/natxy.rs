//! Stateful NATxy gateways and firewalls (RFC 9693): connections they know, how fast they learn them, and the rules behind their mappings.
//!
//! The *initiator* inside opens connections, each with a packet; the *responder* outside learns the outside endpoint of
//! each (test phase 1), and sends a packet back through every one: a connection whose packet reaches the initiator is
//! *validated* (section 4.6). The table must be empty before each
//! trial: a command empties it, or the gateway rests longer than its time-out.
//!
//! - Behavior: mapping, filtering, ports, pooling, hairpinning, ICMP errors (RFC 4787, RFC 5382, RFC 5508)
//! - Time-out of a UDP mapping: probes from outside, one to each mapping, the later the older
//! - Table capacity (section 4.9): the largest number of connections of which all are validated
//! - Maximum connection establishment rate (section 4.5)
//! - Throughput with established connections, both ways (section 4.7, RFC 8219)
//! - Tear-down rate (section 4.8): the gateway's own command deletes the whole table
//!
//! Not here: packets, and who knows which endpoint became which.

use crate::climb::{self, Climb, ClimbConfig, doubling};
use crate::draft::{Draft, Limit, Procedure, Seen, Stage, Verdict};
use crate::finding::{Finding, GoalMeaning};
use crate::list::Findings;
use crate::method::Method;
use crate::result::Spread;
use crate::run::Run;
use crate::settings::{About, ConfigError, Requirement, Row, Settings};
use crate::testbed::Testbed;
use crate::text::{AsNanos, AsText, grouped, percent};
use crate::trial::TrialKind;
use nat::{Analysis, Dependence, Filtering, Judged, Pooling, Share};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Name of its findings, in place of frames.
pub(crate) const FRAME: &str = "connections";
/// Connections of a trial, at most: both ends remember each.
const CONNECTIONS_MAX: u64 = 4_000_000;
/// Packets or connections a second, at most.
const RATE_MAX: u64 = 1_000_000_000;
/// Samples and probes, at most: each has its own inside port.
const SAMPLES_MAX: u32 = 20_000;
/// A capacity that turned out smaller than another trial showed is searched again so often.
const REVERSALS_MAX: u32 = 3;
/// Trials of the capacity in a row in which the tester was the limit, after which it ends.
const SHORT_MAX: u32 = 3;
/// Longest time-out that can be looked for.
const TIMEOUT_LONGEST: Nanos = Nanos::from_secs(24 * 3600);

/// Settings of the test of a NATxy gateway. A part whose maximum is 0 is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct NatConfig {
    /// Inside endpoints by which the gateway's behavior is judged; 0 leaves that out.
    pub samples: u32,
    /// Longest time-out looked for; 0 leaves it out. The trial takes as long.
    #[serde(with = "AsText")]
    pub timeout_max: Nanos,
    /// Mappings by which the time-out is found: it is known to `timeout_max` ÷ `timeout_probes`.
    pub timeout_probes: u32,
    /// Connections of trials of rate, throughput and tear-down, and the first number tried for the capacity.
    pub connections: u64,
    /// Most connections tried for the capacity; 0 leaves it out.
    pub capacity_max: u64,
    /// Connections per second tried first.
    pub rate_first: u64,
    /// Most connections per second tried; 0 leaves the rate out.
    pub rate_max: u64,
    /// Packets per second in each direction tried first, over established connections.
    pub throughput_first: u64,
    /// Most packets per second in each direction; 0 leaves throughput out.
    pub throughput_max: u64,
    /// Length of a trial of throughput.
    #[serde(with = "AsText")]
    pub duration: Nanos,
    /// Times the table is torn down; 0 leaves that out.
    pub tear_downs: u32,
    /// Name of the command that deletes the table, as --reset has it.
    pub tear_down: String,
    /// Connections per second in trials of anything but the rate: one that the gateway is known to reach.
    pub establish_rate: u64,
    /// Packets per second that validate connections.
    pub validate_rate: u64,
    /// Searches for rates end when their bounds are this share apart.
    pub resolution: f64,
    /// Rest of the gateway before each trial: longer than its time-out, unless a command empties its table (--before-trial).
    #[serde(with = "AsText")]
    pub rest: Nanos,
}

impl Default for NatConfig {
    fn default() -> Self {
        Self {
            samples: 64,
            timeout_max: Nanos::from_secs(400),
            timeout_probes: 2_000,
            connections: 10_000,
            capacity_max: 1_000_000,
            rate_first: 1_000,
            rate_max: 1_000_000,
            throughput_first: 1_000,
            throughput_max: 1_000_000,
            duration: Nanos::from_secs(60),
            tear_downs: 0,
            tear_down: "table".into(),
            establish_rate: 5_000,
            validate_rate: 5_000,
            resolution: 0.02,
            rest: Nanos::ZERO,
        }
    }
}

impl NatConfig {
    pub(crate) const ABOUT: About = About {
        name: "nat",
        about: "stateful NAT44, NAT64 and firewalls: connection rate, table capacity, throughput, mapping rules, time-out (RFC 9693)",
        result_names: &["rfc9693-nat"],
        makes_curves: false,
        goals: &[
            GoalMeaning {
                goal: "connection_rate",
                name: "Maximum connection establishment rate",
                definition: "highest rate of new connections of which all were validated (RFC 9693 section 4.5)",
            },
            GoalMeaning {
                goal: "table_capacity",
                name: "Connection tracking table capacity",
                definition: "largest number of connections at a time of which all were validated (RFC 9693 section 4.9)",
            },
            GoalMeaning {
                goal: "nat_throughput",
                name: "Throughput of established connections",
                definition: "highest rate in each direction at which no packet of an established connection was lost (RFC 9693 section 4.7)",
            },
            GoalMeaning {
                goal: "tear_down_rate",
                name: "Connection tear-down rate",
                definition: "connections in the table ÷ the time the gateway's command took to delete all (RFC 9693 section 4.8)",
            },
            GoalMeaning {
                goal: "udp_timeout",
                name: "Time-out of a UDP mapping",
                definition: "age of a mapping without traffic up to which packets from outside come through (RFC 4787 section 4.3)",
            },
            GoalMeaning {
                goal: "endpoint_independent_mapping",
                name: "Endpoint-independent mapping",
                definition: "share of inside endpoints that have one outside endpoint for all remotes (RFC 4787 section 4.1)",
            },
            GoalMeaning {
                goal: "endpoint_independent_filtering",
                name: "Endpoint-independent filtering",
                definition: "share of packets let in from endpoints that the inside has not sent to (RFC 4787 section 5)",
            },
            GoalMeaning {
                goal: "port_preservation",
                name: "Port preservation",
                definition: "share of mappings whose outside port is the inside one (RFC 4787 section 4.2.1)",
            },
            GoalMeaning {
                goal: "port_parity",
                name: "Port parity",
                definition: "share of mappings whose ports are both even or both odd (RFC 4787 section 4.2.2)",
            },
            GoalMeaning {
                goal: "port_contiguity",
                name: "Port contiguity",
                definition: "share of pairs of neighbouring inside ports that are neighbours outside (RFC 4787 section 4.2.3)",
            },
            GoalMeaning {
                goal: "hairpinning",
                name: "Hairpinning",
                definition: "share of packets from inside to an outside endpoint that reached the inside endpoint behind it (RFC 4787 section 6)",
            },
            GoalMeaning {
                goal: "icmp_errors",
                name: "ICMP errors translated",
                definition: "share of ICMP errors about a mapping's packet that reached its inside endpoint, translated within (RFC 5508 section 4)",
            },
        ],
    };
}

impl Settings for NatConfig {
    fn check(&self, _: &Testbed) -> Result<(), ConfigError> {
        let bad = |field: &str, reason: &str| Err(ConfigError::new(field, reason));
        if !(1..=CONNECTIONS_MAX).contains(&self.connections) || self.capacity_max > CONNECTIONS_MAX {
            return bad("connections", "1 ≤ connections ≤ 4000000 and capacity_max ≤ 4000000 must hold");
        }
        if self.samples > SAMPLES_MAX || !(1..=SAMPLES_MAX).contains(&self.timeout_probes) {
            return bad("samples", "samples ≤ 20000 and 1 ≤ timeout_probes ≤ 20000 must hold");
        }
        for (field, first, most) in [
            ("rate_max", self.rate_first, self.rate_max),
            ("throughput_max", self.throughput_first, self.throughput_max),
        ] {
            if most > RATE_MAX || (most > 0 && !(1..=most).contains(&first)) {
                return bad(
                    field,
                    "the first rate must be at least 1 and at most the highest, which is at most 1000000000",
                );
            }
        }
        for (field, rate) in [("establish_rate", self.establish_rate), ("validate_rate", self.validate_rate)]
        {
            if !(1..=RATE_MAX).contains(&rate) {
                return bad(field, "must be from 1 to 1000000000");
            }
        }
        if self.timeout_max > TIMEOUT_LONGEST {
            return bad("timeout_max", "must be at most 24h");
        }
        if self.duration < Nanos::from_millis(100) {
            return bad("duration", "must be at least 100ms");
        }
        ClimbConfig::check_resolution(self.resolution)
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(NatTest::new(self), testbed))
    }

    fn quicken(&mut self) {
        self.timeout_max = self.timeout_max.min(Nanos::from_secs(40));
        self.timeout_probes = self.timeout_probes.min(400);
        self.duration = Nanos::from_secs(2);
        self.resolution = self.resolution.max(0.05);
    }

    fn set_trial(&mut self, trial: Nanos) {
        self.duration = trial;
    }

    fn requirements(&self) -> Vec<Requirement> {
        let command = (self.tear_downs > 0).then(|| Requirement::Reset(self.tear_down.clone()));
        [Requirement::BothSidesOfNat].into_iter().chain(command).collect()
    }
}

/// Task of a trial of a gateway.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "task")]
pub enum NatTask {
    /// Looks at mappings, filters, hairpinning and ICMP errors.
    Behavior {
        /// Inside endpoints.
        samples: u32,
    },
    /// Lets mappings grow old, and probes each once.
    Timeout {
        /// Age of the oldest.
        #[serde(rename = "oldest_ns", with = "AsNanos")]
        longest: Nanos,
        /// Mappings.
        probes: u32,
    },
    /// Opens connections and validates all.
    Connections(NatLoad),
    /// The same, then an even load both ways over them, for the trial's duration.
    Traffic {
        /// The connections.
        load: NatLoad,
        /// Packets per second in each direction.
        pps: u64,
    },
    /// The same, then the gateway's command deletes all.
    TearDown {
        /// The connections.
        load: NatLoad,
        /// Name of the command.
        command: String,
    },
}

/// Connections that a trial opens and validates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NatLoad {
    /// Number of connections.
    pub connections: u64,
    /// Opened per second.
    pub rate: u64,
    /// Packets per second that validate them.
    pub validate_rate: u64,
}

impl NatTask {
    /// Magnitude of the trial, as in [`crate::TrialRequest::magnitude`].
    pub(crate) fn magnitude(&self) -> f64 {
        match self {
            Self::Behavior { samples } => f64::from(*samples),
            Self::Timeout { probes, .. } => f64::from(*probes),
            Self::Connections(load) | Self::TearDown { load, .. } => {
                load.connections as f64 * load.rate as f64
            }
            Self::Traffic { pps, .. } => *pps as f64,
        }
    }

    /// Its connections.
    pub fn load(&self) -> Option<NatLoad> {
        match self {
            Self::Connections(load) | Self::Traffic { load, .. } | Self::TearDown { load, .. } => Some(*load),
            Self::Behavior { .. } | Self::Timeout { .. } => None,
        }
    }
}

/// Outcome of a trial of a gateway.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NatOutcome {
    /// Connections that were to be opened.
    pub attempted: u64,
    /// Connections whose first packet arrived at the responder.
    pub arrived: u64,
    /// Connections through which a packet came back to the endpoint that opened them.
    pub validated: u64,
    /// Connections opened per second.
    pub opened_per_s: f64,
    /// How the gateway behaves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behavior: Option<NatBehavior>,
    /// When mappings end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<NatTimeout>,
    /// Duration of the command, s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub torn_down_s: Option<f64>,
    /// Connections that still let packets in after the command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<u64>,
}

/// How a gateway behaves.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NatBehavior {
    /// The rules behind its mappings; absent: nothing arrived.
    pub mapping: Option<Analysis>,
    /// Packets that its mappings let in; absent: nothing arrived.
    pub filtering: Option<Filtering>,
    /// Packets from inside to an outside endpoint that reached the inside endpoint behind it.
    pub hairpinning: Share,
    /// Of these, those that came from an outside endpoint, as RFC 4787 section 6 has it.
    pub hairpinning_from_outside: Share,
    /// ICMP errors that reached the inside endpoint of the mapping that they are about, with the packet within translated.
    pub icmp_errors: Share,
}

/// When mappings end.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NatTimeout {
    /// Mappings probed.
    pub probes: u64,
    /// Age of the oldest mapping that let its probe in, younger than all that did not, ns; absent: none did.
    pub lower_ns: Option<u64>,
    /// Age of the youngest that did not, ns; absent: all did.
    pub upper_ns: Option<u64>,
    /// Mappings older than `upper_ns` that let their probe in.
    pub contradictions: u64,
    /// Of the inside endpoints whose mapping had ended, those that got the same outside endpoint again.
    pub reused: Share,
}

impl NatTimeout {
    /// Of probes: the age of each mapping in ns, and whether it let its probe in.
    pub fn of(probes: &[(u64, bool)], reused: Share) -> Self {
        let upper_ns = probes.iter().filter(|probe| !probe.1).map(|probe| probe.0).min();
        let passed = || probes.iter().filter(|probe| probe.1).map(|probe| probe.0);
        let is_below = |age: &u64| upper_ns.is_none_or(|upper| *age < upper);
        Self {
            probes: probes.len() as u64,
            lower_ns: passed().filter(is_below).max(),
            upper_ns,
            contradictions: passed().filter(|age| !is_below(age)).count() as u64,
            reused,
        }
    }
}

/// A trial of connections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NatPoint {
    /// Connections.
    pub connections: u64,
    /// Connections per second that were to be opened; of throughput, packets per second in each direction.
    pub rate: u64,
    /// Why it did not pass; empty if it did.
    pub violations: Vec<String>,
}

/// Findings of the test.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NatRow {
    /// How the gateway behaves; absent: not looked at, or not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub behavior: Option<NatBehavior>,
    /// When mappings end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timeout: Option<NatTimeout>,
    /// The search for the table's capacity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<NatSearch>,
    /// The search for the connection rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<NatSearch>,
    /// The search for throughput.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throughput: Option<NatSearch>,
    /// Connections torn down per second, of each time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tear_down_per_s: Vec<f64>,
    /// Largest distance of the bounds of rates, as a share.
    pub resolution: f64,
}

/// A search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NatSearch {
    /// The highest that passed; absent: none.
    pub best: Option<NatPoint>,
    /// The lowest that failed; absent: none.
    pub failed: Option<NatPoint>,
    /// Upper bound of the search.
    pub limit: Limit,
}

impl NatSearch {
    fn new() -> Self {
        Self { best: None, failed: None, limit: Limit::Open }
    }

    fn finding(&self, goal: &str, unit: &str, resolution: f64, value: fn(&NatPoint) -> u64) -> Finding {
        let of = |point: &Option<NatPoint>| point.as_ref().map(|point| value(point) as f64);
        let (found, failed) = (of(&self.best), of(&self.failed));
        Finding {
            value: found,
            lower: found,
            upper: failed,
            resolution: failed.or(found).map(|value| (value * resolution).max(1.0)),
            ..Finding::new(goal, unit).note(self.limit.note_of(found))
        }
    }

    fn sentence(&self, name: &str, words: impl Fn(&NatPoint) -> String) -> String {
        if self.limit == Limit::Open {
            return format!("{name}: not yet known.");
        }
        let failed = self.failed.as_ref().map(|point| (words(point), point.violations.join(", ")));
        format!("{name}: {}.", climb::answer(self.limit, self.best.as_ref().map(&words), failed))
    }
}

/// A share as a finding, with its bounds.
fn share(goal: &str, share: &Share, note: Option<String>) -> Finding {
    let of = format!("{} of {}", grouped(share.count), grouped(share.of));
    let note = note.map_or(of.clone(), |note| format!("{note}; {of}"));
    Finding {
        value: share.ratio(),
        lower: share.ratio().map(|_| share.lower),
        upper: share.ratio().map(|_| share.upper),
        ..Finding::new(goal, "ratio").note(Some(note))
    }
}

/// A rule in words, or why it can't be judged.
fn rule<T>(judged: &Judged<T>, words: impl Fn(&T) -> String) -> String {
    match (&judged.value, &judged.reason) {
        (Some(value), _) => words(value),
        (None, reason) => format!("can't be judged: {}", reason.as_deref().unwrap_or("too few samples")),
    }
}

fn dependence(judged: &Judged<Dependence>) -> String {
    rule(judged, |value| value.words().to_owned())
}

impl NatBehavior {
    fn findings(&self) -> Vec<Finding> {
        let mut all = Vec::new();
        if let Some(found) = &self.mapping {
            all.extend([
                share("endpoint_independent_mapping", &found.mapping.share, Some(dependence(&found.mapping))),
                share("port_preservation", &found.preserved, None),
                share("port_parity", &found.parity, None),
                share("port_contiguity", &found.contiguous, None),
            ]);
        }
        if let Some(found) = &self.filtering {
            let words = dependence(&found.rule);
            all.push(share("endpoint_independent_filtering", &found.rule.share, Some(words)));
        }
        all.push(share("hairpinning", &self.hairpinning, None));
        all.push(share("icmp_errors", &self.icmp_errors, None));
        all
    }

    fn sentences(&self) -> Vec<String> {
        let Some(found) = &self.mapping else {
            return vec![
                "Behavior: not known; no connection from inside was validated: its packets did not arrive, or its mapping had ended before."
                    .into(),
            ];
        };
        let part = |share: &Share| format!("{} of {}", grouped(share.count), grouped(share.of));
        let mut all = Vec::new();
        if found.translated.count == 0 {
            all.push("Translation: none; inside endpoints arrive as they are.".into());
        }
        all.push(format!("Mapping: {}.", dependence(&found.mapping)));
        let filtering = self.filtering.as_ref().map(|filtering| dependence(&filtering.rule));
        all.push(format!("Filtering: {}.", filtering.unwrap_or_else(|| "not known".into())));
        all.push(format!(
            "Outside ports: {} to {}, preserved in {}, of the same parity in {}, neighbours in {}, in sequence in {}.",
            found.port_min,
            found.port_max,
            part(&found.preserved),
            part(&found.parity),
            part(&found.contiguous),
            part(&found.sequential)
        ));
        if found.overloaded.count > 0 {
            all.push(format!(
                "Port overloading: {} outside endpoints have more than one inside endpoint, {} of them towards one remote.",
                part(&found.overloaded),
                grouped(found.ambiguous)
            ));
        }
        let pooling = rule(&found.pooling, |value| match value {
            Pooling::Paired => "paired".into(),
            Pooling::Arbitrary => "arbitrary".into(),
        });
        all.push(format!("Address pooling: {pooling}."));
        let blocks = rule(&found.blocks, |blocks| match (&blocks[..], found.block_ports) {
            (_, Some((least, most))) => {
                format!("{} subscribers, each with one block of {least} to {most} ports", blocks.len())
            }
            _ => "none; ports of subscribers are mixed".into(),
        });
        all.push(format!("Port blocks: {blocks}."));
        all.push(format!(
            "Hairpinning: {}, {} from an outside endpoint.",
            part(&self.hairpinning),
            part(&self.hairpinning_from_outside)
        ));
        all.push(format!("ICMP errors translated: {}.", part(&self.icmp_errors)));
        all
    }
}

impl NatTimeout {
    fn finding(&self) -> Finding {
        let seconds = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e9);
        Finding {
            value: seconds(self.lower_ns),
            lower: seconds(self.lower_ns),
            upper: seconds(self.upper_ns),
            ..Finding::new("udp_timeout", "s").note(self.note())
        }
    }

    fn note(&self) -> Option<String> {
        match (self.lower_ns, self.upper_ns) {
            (None, None) => Some("no mapping was probed".into()),
            (None, _) => Some("the youngest mapping probed let nothing in".into()),
            (_, None) => Some("the oldest mapping probed let its packet in".into()),
            _ if self.contradictions > 0 => {
                Some(format!("{} older mappings let theirs in", grouped(self.contradictions)))
            }
            _ => None,
        }
    }

    fn sentence(&self) -> String {
        let text = |ns: u64| format!("{:.3} s", ns as f64 / 1e9);
        let age = match (self.lower_ns, self.upper_ns) {
            (Some(lower), Some(upper)) => format!("between {} and {}", text(lower), text(upper)),
            (Some(lower), None) => format!("longer than {}", text(lower)),
            (None, Some(upper)) => format!("shorter than {}", text(upper)),
            (None, None) => "not known".into(),
        };
        let note = self.note().map_or(String::new(), |note| format!("; {note}"));
        let reused = match self.reused.ratio() {
            Some(ratio) => format!("; the same outside endpoint again afterwards: {}", percent(ratio)),
            None => String::new(),
        };
        format!("Time-out of a UDP mapping: {age}{note}{reused}.")
    }
}

impl Row for NatRow {
    fn findings(&self) -> Vec<Finding> {
        let resolution = self.resolution;
        let rate = self
            .rate
            .as_ref()
            .map(|search| search.finding("connection_rate", "/s", resolution, |point| point.rate));
        let capacity = self
            .capacity
            .as_ref()
            .map(|search| search.finding("table_capacity", "sessions", 0.0, |point| point.connections));
        let throughput = self
            .throughput
            .as_ref()
            .map(|search| search.finding("nat_throughput", "pps", resolution, |point| point.rate));
        let spread = Spread::of(&self.tear_down_per_s);
        let tear_down =
            spread.as_ref().map(|spread| Finding::new("tear_down_rate", "/s").repeats(Some(spread)));
        let timeout = self.timeout.as_ref().map(NatTimeout::finding);
        let behavior = self.behavior.iter().flat_map(NatBehavior::findings);
        let all = [rate, capacity, throughput, tear_down, timeout].into_iter().flatten().chain(behavior);
        all.map(|finding| Finding { frame: FRAME.into(), ..finding }).collect()
    }

    fn limits(&self) -> Vec<Limit> {
        [&self.capacity, &self.rate, &self.throughput]
            .into_iter()
            .flatten()
            .map(|search| search.limit)
            .collect()
    }
}

/// The search for the table's capacity: twice as many each time, then between.
///
/// Answers to connections that the gateway had no room for do not arrive, and those that do are of connections that it knew all at once:
/// their number is a lower bound, even of a trial that fails.
#[derive(Debug, Clone)]
struct Capacity {
    first: u64,
    max: u64,
    /// Known to fit.
    lower: u64,
    passed: Option<u64>,
    failed: Option<u64>,
    /// One more than a trial that failed showed to fit: often the smallest number that fails.
    guess: Option<u64>,
    reversals: u32,
    /// Trials in a row in which the tester was the limit.
    short: u32,
    /// Why it ended early.
    ended: Option<Limit>,
}

impl Capacity {
    fn new(first: u64, max: u64) -> Self {
        Self {
            first: first.min(max),
            max,
            lower: 0,
            passed: None,
            failed: None,
            guess: None,
            reversals: 0,
            short: 0,
            ended: None,
        }
    }

    fn next(&self) -> Option<u64> {
        if self.ended.is_some() {
            return None;
        }
        match (self.passed, self.failed) {
            (None, None) => Some(self.first),
            (Some(passed), None) => (passed < self.max).then(|| passed.saturating_mul(2).min(self.max)),
            (_, Some(failed)) if failed <= self.lower + 1 => {
                // What fits by what was validated is confirmed by a trial of its own.
                (self.lower > 0 && self.passed != Some(self.lower)).then_some(self.lower)
            }
            (_, Some(failed)) => Some(self.guess.unwrap_or(self.lower + (failed - self.lower) / 2)),
        }
    }

    fn judge(&mut self, at: u64, validated: u64, verdict: Verdict) {
        if verdict.is_known() {
            (self.guess, self.short) = (None, 0);
        }
        match verdict {
            Verdict::Pass => {
                self.passed = self.passed.max(Some(at));
                self.lower = self.lower.max(at);
            }
            Verdict::Fail => {
                self.failed = Some(self.failed.map_or(at, |before| before.min(at)));
                if at <= self.lower {
                    // It did fit before.
                    self.reversals += 1;
                    self.lower = validated.min(at - 1);
                    self.passed = self.passed.filter(|passed| *passed < at);
                    self.ended = (self.reversals >= REVERSALS_MAX).then_some(Limit::Dut);
                }
                let held = validated.min(at - 1);
                self.guess = (held > 0 && held >= self.lower).then_some(held + 1);
                self.lower = self.lower.max(held);
            }
            Verdict::Tester => {
                self.short += 1;
                self.ended = (self.short >= SHORT_MAX).then_some(Limit::Tester);
            }
            Verdict::GivenUp => self.ended = Some(Limit::Disturbed),
            Verdict::Disturbed => {}
        }
    }

    fn limit(&self) -> Limit {
        match (self.passed, self.failed, self.ended) {
            (_, _, Some(limit)) => limit,
            (Some(passed), None, _) if passed >= self.max => Limit::Maximum,
            _ if self.next().is_some() => Limit::Open,
            (None, Some(_), _) => Limit::Impossible,
            _ => Limit::Dut,
        }
    }
}

/// The parts of the test, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Behavior,
    Timeout,
    Capacity,
    Rate,
    Throughput,
    TearDown,
}

/// The test.
#[derive(Debug, Clone)]
pub(crate) struct NatTest {
    config: NatConfig,
    /// Parts that have not begun, last first.
    parts: Vec<Part>,
    part: Option<Part>,
    capacity: Capacity,
    rate: Climb,
    throughput: Climb,
    tear_downs: u32,
    row: NatRow,
}

impl NatTest {
    fn new(config: &NatConfig) -> Self {
        let climb = |first: u64, max: u64| {
            let bounds =
                ClimbConfig { bounds: (1, max.max(1)), resolution: config.resolution, rest: config.rest };
            Climb::new(bounds, doubling(first.min(max.max(1)), max.max(1)))
        };
        let wanted = [
            (Part::TearDown, config.tear_downs > 0),
            (Part::Throughput, config.throughput_max > 0),
            (Part::Rate, config.rate_max > 0),
            (Part::Capacity, config.capacity_max > 0),
            (Part::Timeout, config.timeout_max > Nanos::ZERO),
            (Part::Behavior, config.samples > 0),
        ];
        Self {
            config: config.clone(),
            parts: wanted.into_iter().filter_map(|(part, wanted)| wanted.then_some(part)).collect(),
            part: None,
            capacity: Capacity::new(config.connections, config.capacity_max),
            rate: climb(config.rate_first, config.rate_max),
            throughput: climb(config.throughput_first, config.throughput_max),
            tear_downs: 0,
            row: NatRow { resolution: config.resolution, ..NatRow::default() },
        }
    }

    /// Connections of a trial of anything but the capacity: all must fit.
    fn load(&self) -> NatLoad {
        let fits = self.row.capacity.as_ref().and_then(|search| search.best.as_ref());
        let connections =
            fits.map_or(self.config.connections, |best| best.connections.min(self.config.connections));
        NatLoad { connections, rate: self.config.establish_rate, validate_rate: self.config.validate_rate }
    }

    /// The next trial of a part; `None` if it is complete.
    fn of_part(&mut self, part: Part) -> Option<Draft> {
        let load = self.load();
        let connections = |n: u64| format!("{} connections", grouped(n));
        let (task, duration, label) = match part {
            Part::Behavior if self.row.behavior.is_none() => {
                let task = NatTask::Behavior { samples: self.config.samples };
                (task, Nanos::from_secs(1), "behavior".to_owned())
            }
            Part::Timeout if self.row.timeout.is_none() => {
                let (longest, probes) = (self.config.timeout_max, self.config.timeout_probes);
                let label = format!("mappings up to {longest} old");
                (NatTask::Timeout { longest, probes }, longest, label)
            }
            Part::Capacity => {
                self.row.capacity.get_or_insert_with(NatSearch::new);
                let load = NatLoad { connections: self.capacity.next()?, ..load };
                (NatTask::Connections(load), load.time(), connections(load.connections))
            }
            Part::Rate => {
                self.row.rate.get_or_insert_with(NatSearch::new);
                let load = NatLoad { rate: self.rate.next()?.0, ..load };
                let label = format!("{} at {}/s", connections(load.connections), grouped(load.rate));
                (NatTask::Connections(load), load.time(), label)
            }
            Part::Throughput => {
                self.row.throughput.get_or_insert_with(NatSearch::new);
                let pps = self.throughput.next()?.0;
                let label = format!("{} packets/s each way", grouped(pps));
                (NatTask::Traffic { load, pps }, self.config.duration, label)
            }
            Part::TearDown if self.tear_downs < self.config.tear_downs => {
                self.tear_downs += 1;
                let task = NatTask::TearDown { load, command: self.config.tear_down.clone() };
                (task, load.time(), format!("tear-down {} of {}", self.tear_downs, self.config.tear_downs))
            }
            _ => return None,
        };
        let draft = Draft::special(TrialKind::Nat { task }, duration).label(label);
        Some(draft.after(self.config.rest).again_after(self.config.rest))
    }

    fn violations(outcome: &NatOutcome) -> Vec<String> {
        let missing = |what: &str, n: u64| {
            (n < outcome.attempted).then(|| {
                format!(
                    "{} of {} connections {what}",
                    grouped(outcome.attempted - n),
                    grouped(outcome.attempted)
                )
            })
        };
        let arrived = missing("did not arrive", outcome.arrived);
        let validated = missing("were not validated", outcome.validated);
        arrived.into_iter().chain(validated).collect()
    }

    /// Whether everything arrived that shows what the tester did.
    fn is_whole(outcome: &NatOutcome) -> bool {
        let filtering = outcome.behavior.as_ref().and_then(|behavior| behavior.filtering.as_ref());
        outcome.arrived == outcome.attempted
            && filtering.is_none_or(|filtering| filtering.same_endpoint.is_all())
            && outcome.timeout.is_none_or(|timeout| timeout.contradictions == 0)
    }

    /// Verdict on a trial; `None` if it has no outcome.
    fn verdict(draft: &Draft, seen: &Seen<'_>) -> Option<Verdict> {
        let TrialKind::Nat { task } = &draft.kind else { return None };
        let outcome = seen.outcome.nat.as_ref()?;
        Some(match task {
            NatTask::Traffic { .. } if !NatTest::violations(outcome).is_empty() => seen.verdict_if(false),
            NatTask::Traffic { .. } => seen.verdict(0.0),
            NatTask::Connections(_) => seen.verdict_if(NatTest::violations(outcome).is_empty()),
            // If all arrived that had to, a disturbance did no harm.
            _ if NatTest::is_whole(outcome) => seen.verdict_if(true),
            NatTask::Behavior { .. } | NatTask::Timeout { .. } | NatTask::TearDown { .. } => {
                seen.verdict_if_valid(true)
            }
        })
    }
}

impl NatLoad {
    /// Time to open and validate all.
    fn time(&self) -> Nanos {
        let of = |rate: u64| u128::from(self.connections) * 1_000_000_000 / u128::from(rate.max(1));
        Nanos(u64::try_from(of(self.rate) + of(self.validate_rate)).unwrap_or(u64::MAX))
    }
}

/// Takes a point into a search.
fn note(search: &mut Option<NatSearch>, point: NatPoint, verdict: Verdict, limit: Limit) {
    let search = search.get_or_insert_with(NatSearch::new);
    let value = |point: &NatPoint| (point.connections, point.rate);
    let place = match verdict {
        Verdict::Pass => Some(&mut search.best),
        Verdict::Fail => Some(&mut search.failed),
        _ => None,
    };
    if let Some(place) = place {
        let is_better = place.as_ref().is_none_or(|before| match verdict {
            Verdict::Pass => value(&point) > value(before),
            _ => value(&point) < value(before),
        });
        if is_better {
            *place = Some(point);
        }
    }
    search.limit = limit;
}

impl Stage for NatTest {
    fn next(&mut self) -> Option<Draft> {
        loop {
            if let Some(draft) = self.part.and_then(|part| self.of_part(part)) {
                return Some(draft);
            }
            self.part = Some(self.parts.pop()?);
        }
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        let (TrialKind::Nat { task }, Some(outcome), Some(verdict)) =
            (&draft.kind, &seen.outcome.nat, Self::verdict(draft, seen))
        else {
            return;
        };
        let violations = Self::violations(outcome);
        match task {
            NatTask::Behavior { .. } => {
                let known = outcome.behavior.clone().filter(|_| verdict.is_known());
                self.row.behavior = Some(known.unwrap_or_default());
            }
            NatTask::Timeout { .. } => {
                self.row.timeout = Some(outcome.timeout.filter(|_| verdict.is_known()).unwrap_or_default());
            }
            NatTask::Connections(load) if self.part == Some(Part::Capacity) => {
                // How fast they were opened does not matter.
                let verdict = if violations.is_empty() { Verdict::Pass } else { verdict };
                // Those validated of a disturbed trial were in the table, too.
                self.capacity.judge(load.connections, outcome.validated, verdict);
                let point = NatPoint { connections: load.connections, rate: load.rate, violations };
                let limit = self.capacity.limit();
                note(&mut self.row.capacity, point, verdict, limit);
                let passed = self.capacity.passed;
                let search = self.row.capacity.get_or_insert_with(NatSearch::new);
                // What fitted once and did not the next time is no answer.
                search.best = search.best.take().filter(|best| Some(best.connections) <= passed);
            }
            NatTask::Connections(load) => {
                self.rate.judge(load.rate, verdict);
                let point = NatPoint { connections: load.connections, rate: load.rate, violations };
                note(&mut self.row.rate, point, verdict, self.rate.limit());
            }
            NatTask::Traffic { load, pps } => {
                self.throughput.judge(*pps, verdict);
                let lost = seen.outcome.lost();
                let why = (lost > 0).then(|| {
                    format!("{} of {} packets were lost", grouped(lost), grouped(seen.outcome.sent()))
                });
                let violations = violations.into_iter().chain(why).collect();
                let point = NatPoint { connections: load.connections, rate: *pps, violations };
                note(&mut self.row.throughput, point, verdict, self.throughput.limit());
            }
            NatTask::TearDown { .. } => {
                let per_s = outcome.torn_down_s.map(|seconds| outcome.validated as f64 / seconds.max(1e-9));
                let is_whole = violations.is_empty() && outcome.left == Some(0) && verdict.is_known();
                self.row.tear_down_per_s.extend(per_s.filter(|_| is_whole));
            }
        }
    }

    fn decides(&self, draft: &Draft, seen: &Seen<'_>) -> bool {
        Self::verdict(draft, seen).is_some_and(Verdict::is_known)
    }
}

impl Procedure for NatTest {
    fn name(&self) -> &'static str {
        "rfc9693-nat"
    }

    fn findings(&self) -> Findings {
        Findings::Nat(vec![self.row.clone()])
    }

    fn summary(&self) -> Vec<String> {
        let per_s = |point: &NatPoint| format!("{} connections/s", grouped(point.rate));
        let pps = |point: &NatPoint| format!("{} packets/s each way", grouped(point.rate));
        let held = |point: &NatPoint| format!("{} connections", grouped(point.connections));
        let row = &self.row;
        let searches = [
            row.rate.as_ref().map(|search| search.sentence("Maximum connection establishment rate", per_s)),
            row.capacity.as_ref().map(|search| search.sentence("Connection tracking table capacity", held)),
            row.throughput
                .as_ref()
                .map(|search| search.sentence("Throughput of established connections", pps)),
            Spread::of(&row.tear_down_per_s).map(|spread| tear_down(&spread)),
            row.timeout.as_ref().map(NatTimeout::sentence),
        ];
        let behavior = row.behavior.iter().flat_map(NatBehavior::sentences);
        searches.into_iter().flatten().chain(behavior).collect()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![match self.config.rest {
            Nanos::ZERO => {
                "Every trial assumes that the table is empty: a command before each must have emptied it \
                            (--before-trial), or rest must be longer than the time-out."
                    .to_owned()
            }
            rest => format!("The gateway rested for {rest} before each trial, so that its table was empty."),
        }];
        let missed = self.tear_downs as usize - self.row.tear_down_per_s.len();
        if missed > 0 {
            remarks.push(format!(
                "{missed} of {} tear-downs do not count: connections were missing before, or left.",
                self.tear_downs
            ));
        }
        remarks
    }
}

fn tear_down(spread: &Spread) -> String {
    let per_s = |value: f64| grouped(value.round() as u64);
    format!("Connection tear-down rate: {} connections/s (mean of {}).", per_s(spread.mean), spread.samples)
}

#[cfg(test)]
mod tests;
