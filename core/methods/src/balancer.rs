//! Load balancers: spread over backends, stickiness, and what becomes of sessions when a backend goes and comes back.
//!
//! Both sides are the tester's: each response names the backend, so the backend of every session is known. No RFC defines
//! these tests; RFC 9411 has the terms for sessions.
//!
//! - Spread: short sessions; sessions per backend, maximum ÷ mean, and Jain's index, against the weights given
//! - Stickiness: sessions repeated with the same source address, with the same address and port, with the balancer's cookies
//! - Changes: held sessions, and short ones at a rate, while a backend falls silent, resets its connections or drains, and
//!   while it comes back
//!
//! Not here: packets and hosts.

use crate::draft::{Draft, Procedure, Seen, Stage};
use crate::finding::{Finding, GoalMeaning};
use crate::list::Findings;
use crate::method::Method;
use crate::run::Run;
use crate::settings::{About, ConfigError, Requirement, Row, Settings};
use crate::testbed::Testbed;
use crate::text::{AsNanos, AsText, grouped, percent};
use crate::trial::TrialKind;
use nat::Share;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use units::Nanos;

/// Name of its findings, in place of frames.
pub(crate) const FRAME: &str = "sessions";
/// Sessions of a trial, at most: each is remembered.
const SESSIONS_MAX: u64 = 4_000_000;
/// Sessions a second, at most.
const RATE_MAX: u64 = 1_000_000;
/// Repeats, at most.
const REPEATS_MAX: u32 = 1_000;
/// Longest part of a change.
const LONGEST: Nanos = Nanos::from_secs(24 * 3600);

/// Change of a backend.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BackendChange {
    /// It sends nothing, not even ARP: power or link is gone.
    Silent,
    /// Its connections are reset, and new ones refused: the process is gone.
    Reset,
    /// It serves its connections, and refuses new ones.
    Drain,
}

impl BackendChange {
    fn name(self) -> &'static str {
        match self {
            Self::Silent => "silent",
            Self::Reset => "reset",
            Self::Drain => "drain",
        }
    }

    /// The change in a sentence.
    fn words(self) -> &'static str {
        match self {
            Self::Silent => "Backend falls silent",
            Self::Reset => "Backend resets its connections and refuses new ones",
            Self::Drain => "Backend refuses new connections and keeps its own",
        }
    }
}

/// Property that repeated sessions have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StickyBy {
    /// The client's address.
    Source,
    /// The client's address and port.
    Endpoint,
    /// The balancer's cookies, from other addresses. Only HTTP has them.
    Cookie,
}

impl StickyBy {
    fn name(self) -> &'static str {
        match self {
            Self::Source => "source",
            Self::Endpoint => "endpoint",
            Self::Cookie => "cookie",
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Source => "the same address",
            Self::Endpoint => "the same address and port",
            Self::Cookie => "the balancer's cookies",
        }
    }
}

/// Settings of the test of a load balancer. A part whose number of sessions is 0 is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BalancerConfig {
    /// Short sessions by which the spread is judged; 0 leaves it out.
    pub sessions: u64,
    /// Short sessions opened per second.
    pub rate: u64,
    /// Weights of the backends, in their order, such as `3,1,1`; empty: all the same.
    pub weights: Vec<u32>,
    /// Sessions that are repeated for each kind of stickiness; 0 leaves it out.
    pub identities: u64,
    /// Number of repeats.
    pub repeats: u32,
    /// Properties that repeated sessions have in common: `source`, `endpoint`, `cookie`.
    pub sticky: Vec<StickyBy>,
    /// Sessions held while a backend changes; 0 leaves that out.
    pub held: u64,
    /// Held sessions opened per second.
    pub held_rate: u64,
    /// From a response to the next request of a held session.
    #[serde(with = "AsText")]
    pub interval: Nanos,
    /// Changes: `silent`, `reset`, `drain`.
    pub changes: Vec<BackendChange>,
    /// Number of the backend that changes; the first is 0.
    pub backend: u16,
    /// From the first short session to the change.
    #[serde(with = "AsText")]
    pub before: Nanos,
    /// Time for which the backend is away.
    #[serde(with = "AsText")]
    pub away: Nanos,
    /// Time from its return to the end.
    #[serde(with = "AsText")]
    pub after: Nanos,
    /// Wait for a connection, and for a response, after which a session has failed.
    #[serde(with = "AsText")]
    pub timeout: Nanos,
    /// Time for which backends are there before the first session of a trial: longer than the balancer's checks need to use them.
    #[serde(with = "AsText")]
    pub warm_up: Nanos,
    /// Rest of the balancer before each trial: longer than it takes to forget where sources went.
    #[serde(with = "AsText")]
    pub rest: Nanos,
}

impl Default for BalancerConfig {
    fn default() -> Self {
        Self {
            sessions: 10_000,
            rate: 500,
            weights: Vec::new(),
            identities: 500,
            repeats: 3,
            sticky: vec![StickyBy::Source, StickyBy::Endpoint],
            held: 10_000,
            held_rate: 1_000,
            interval: Nanos::from_secs(1),
            changes: vec![BackendChange::Silent, BackendChange::Reset, BackendChange::Drain],
            backend: 0,
            before: Nanos::from_secs(5),
            away: Nanos::from_secs(60),
            after: Nanos::from_secs(60),
            timeout: Nanos::from_secs(5),
            warm_up: Nanos::from_secs(5),
            rest: Nanos::ZERO,
        }
    }
}

impl BalancerConfig {
    pub(crate) const ABOUT: About = About {
        name: "balancer",
        about: "load balancers: spread over backends, stickiness, sessions lost and moved when a backend goes and comes back (no RFC; terms of RFC 9411)",
        result_names: &["balancer"],
        makes_curves: false,
        goals: &[
            GoalMeaning {
                goal: "spread_max_mean",
                name: "Spread over backends",
                definition: "sessions of the backend with the most, in relation to its weight, ÷ their mean; 1 is even",
            },
            GoalMeaning {
                goal: "spread_jain",
                name: "Jain's fairness index",
                definition: "(Σx)² ÷ (n·Σx²) of sessions per backend in relation to its weight; 1 is even, 1/n is one backend alone",
            },
            GoalMeaning {
                goal: "sticky",
                name: "Repeated sessions at the same backend",
                definition: "share of sessions with the same address, address and port, or cookie that came to the backend of the first",
            },
            GoalMeaning {
                goal: "reset_by_change",
                name: "Sessions ended by a change",
                definition: "held sessions of a backend that changed which ended before it came back",
            },
            GoalMeaning {
                goal: "moved",
                name: "Sessions moved by a change",
                definition: "held sessions with responses of one backend before a change and of another one after it, without a new connection of the client",
            },
            GoalMeaning {
                goal: "others_ended",
                name: "Other sessions ended",
                definition: "held sessions of backends that did not change which ended after the change",
            },
            GoalMeaning {
                goal: "detection_time",
                name: "Time until a backend is no longer used",
                definition: "from a change to the opening of the last session that failed, or waited for a second, before enough good sessions to show that the backend was not used; upper bound: the opening of the next one",
            },
            GoalMeaning {
                goal: "return_time",
                name: "Time until a backend is used again",
                definition: "from a backend's return to the opening of the first session that it served; lower bound: the opening of the session before",
            },
            GoalMeaning {
                goal: "clients_kept",
                name: "Clients that kept their backend",
                definition: "share of clients of other backends whose new sessions came to the same backend while one was away",
            },
            GoalMeaning {
                goal: "clients_back",
                name: "Clients at their first backend again",
                definition: "share of clients whose new sessions came, after the return, to the backend they had before the change",
            },
        ],
    };
}

impl Settings for BalancerConfig {
    fn check(&self, _: &Testbed) -> Result<(), ConfigError> {
        let bad = |field: &str, reason: &str| Err(ConfigError::new(field, reason));
        for (field, sessions) in
            [("sessions", self.sessions), ("identities", self.identities), ("held", self.held)]
        {
            if sessions > SESSIONS_MAX {
                return bad(field, "must be at most 4000000");
            }
        }
        for (field, rate) in [("rate", self.rate), ("held_rate", self.held_rate)] {
            if !(1..=RATE_MAX).contains(&rate) {
                return bad(field, "must be from 1 to 1000000");
            }
        }
        if !(1..=REPEATS_MAX).contains(&self.repeats)
            || self.identities.saturating_mul(u64::from(self.repeats) + 1) > SESSIONS_MAX
        {
            return bad("repeats", "must be from 1 to 1000, and all sessions together at most 4000000");
        }
        for (field, time) in [("before", self.before), ("away", self.away), ("after", self.after)] {
            if !(Nanos::from_millis(100)..=LONGEST).contains(&time) {
                return bad(field, "must be from 100ms to 24h");
            }
        }
        for (field, time) in [("interval", self.interval), ("timeout", self.timeout)] {
            if !(Nanos::from_millis(10)..=Nanos::from_secs(3600)).contains(&time) {
                return bad(field, "must be from 10ms to 1h");
            }
        }
        if self.warm_up > LONGEST {
            return bad("warm_up", "must be at most 24h");
        }
        if self.weights.iter().any(|weight| !(1..=1_000_000).contains(weight)) {
            return bad("weights", "each must be from 1 to 1000000");
        }
        Ok(())
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(BalancerTest::new(self), testbed))
    }

    fn quicken(&mut self) {
        self.sessions = self.sessions.min(1_000);
        self.identities = self.identities.min(100);
        self.held = self.held.min(500);
        self.warm_up = self.warm_up.min(Nanos::from_secs(3));
        self.before = self.before.min(Nanos::from_secs(2));
        self.away = self.away.min(Nanos::from_secs(10));
        self.after = self.after.min(Nanos::from_secs(10));
    }

    fn set_trial(&mut self, trial: Nanos) {
        (self.away, self.after) = (trial, trial);
    }

    fn requirements(&self) -> Vec<Requirement> {
        vec![Requirement::BothSidesOfBalancer {
            backends: self.weights.len(),
            changed: (self.held > 0 && !self.changes.is_empty()).then_some(self.backend),
            cookies: self.identities > 0 && self.sticky.contains(&StickyBy::Cookie),
        }]
    }
}

/// Task of a trial of a balancer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "task")]
pub enum BalancerTask {
    /// Short sessions, all of them different.
    Spread {
        /// Number of sessions.
        sessions: u64,
    },
    /// Short sessions, and the same again.
    Sticky {
        /// Sessions of a round.
        sessions: u64,
        /// Repeats.
        repeats: u32,
        /// Property that they have in common.
        by: StickyBy,
    },
    /// Held and short sessions, while a backend goes and comes back.
    Change(BalancerChange),
}

/// A change of a backend while sessions are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BalancerChange {
    /// The change.
    pub change: BackendChange,
    /// Number of the backend.
    pub backend: u16,
    /// Held sessions.
    pub held: u64,
    /// Held sessions opened per second.
    pub held_rate: u64,
    /// From a response to the next request of a held session.
    #[serde(rename = "repeat_ns", with = "AsNanos")]
    pub interval: Nanos,
    /// From the first short session to the change.
    #[serde(rename = "before_ns", with = "AsNanos")]
    pub before: Nanos,
    /// Time for which the backend is away.
    #[serde(rename = "away_ns", with = "AsNanos")]
    pub away: Nanos,
    /// From its return to the end.
    #[serde(rename = "after_ns", with = "AsNanos")]
    pub after: Nanos,
}

impl BalancerTask {
    /// Magnitude of the trial, as in [`crate::TrialRequest::magnitude`].
    pub(crate) fn magnitude(&self) -> f64 {
        match self {
            Self::Spread { sessions } | Self::Sticky { sessions, .. } => *sessions as f64,
            Self::Change(change) => change.held as f64,
        }
    }
}

/// Conditions of a trial of a balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BalancerLoad {
    /// Short sessions opened per second.
    pub rate: u64,
    /// Time for which backends are there before the first session.
    #[serde(rename = "warm_up_ns", with = "AsNanos")]
    pub warm_up: Nanos,
    /// Wait for a connection, and for a response.
    #[serde(rename = "timeout_ns", with = "AsNanos")]
    pub timeout: Nanos,
}

/// Outcome of a trial of a balancer.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BalancerOutcome {
    /// The backends, in the order of their numbers.
    pub backends: Vec<BackendOutcome>,
    /// Sessions opened by clients.
    pub sessions: u64,
    /// Sessions that failed, by reason.
    pub failed: BTreeMap<String, u64>,
    /// Repeated sessions at the backend of the first with the same property.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sticky: Option<Share>,
    /// The same share of a balancer that chooses by chance, with the same spread.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by_chance: Option<f64>,
    /// Of a change.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change: Option<ChangeOutcome>,
}

/// A backend's share.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BackendOutcome {
    /// Its address.
    pub address: String,
    /// Sessions whose first response was its, as the clients saw it.
    pub sessions: u64,
    /// Connections, or flows of datagrams, with requests of the clients, as the backend saw it.
    pub connections: u64,
    /// Requests of the clients that it responded to.
    pub requests: u64,
    /// Requests of others, such as health checks.
    pub checks: u64,
}

/// Effects of a change. Times count from the change, or from the return, ns.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ChangeOutcome {
    /// Sessions that were to be held.
    pub wanted: u64,
    /// Held sessions when the backend changed.
    pub held: u64,
    /// Of these, sessions whose last response was the backend's.
    pub held_by_backend: u64,
    /// Connections with requests of clients that it had open, by its own count.
    pub open_at_backend: u64,
    /// Of its held sessions, those that ended before it came back, by reason.
    pub ended: BTreeMap<String, u64>,
    /// Held sessions of other backends that ended after the change, by reason.
    pub others_ended: BTreeMap<String, u64>,
    /// Held sessions with responses of another backend after the change.
    pub moved: u64,
    /// Held sessions that changed their backend before the change already.
    pub moved_before: u64,
    /// Short sessions opened while it was away.
    pub short: u64,
    /// Of these, those that failed.
    pub short_failed: u64,
    /// Of the others, those that waited for their response for a second or more.
    pub short_slow: u64,
    /// When the last that failed or was slow was opened, before as many in a row as show that the backend was not used any more;
    /// absent: none failed or was slow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_failed_ns: Option<u64>,
    /// When the next session after that was opened; absent: too few followed to show that the backend was not used any more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_good_ns: Option<u64>,
    /// When the last that failed or was slow at all was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_trouble_ns: Option<u64>,
    /// Connections and datagrams that came to the backend while it was away, health checks included.
    pub contacts: u64,
    /// When the last of them came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_contact_ns: Option<u64>,
    /// When the first session that it served after its return was opened; absent: none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub used_again_ns: Option<u64>,
    /// When the session before that was opened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unused_until_ns: Option<u64>,
    /// Clients of other backends whose last session while it was away came to the same backend as before.
    pub clients_kept: Share,
    /// Clients whose last session after its return came to the same backend as before the change.
    pub clients_back: Share,
    /// Share of clients that had all their sessions before the change at one backend: without these, no client is kept.
    pub clients_settled: Share,
}

/// A kind of stickiness.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StickyFound {
    /// Property that sessions had in common.
    pub by: StickyBy,
    /// Repeated sessions at the backend of the first.
    pub share: Share,
    /// The same share of a balancer that chooses by chance.
    pub by_chance: f64,
}

/// A change and its effects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ChangeFound {
    /// The change.
    pub change: BackendChange,
    /// Its effects.
    #[serde(flatten)]
    pub effects: ChangeOutcome,
}

/// Findings of the test.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct BalancerRow {
    /// Backends with their sessions; empty: not tested, or not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub backends: Vec<BackendOutcome>,
    /// Weights of the backends; empty: all the same.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<u32>,
    /// Sessions of the spread that failed, by reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub failed: BTreeMap<String, u64>,
    /// Stickiness.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sticky: Vec<StickyFound>,
    /// Changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<ChangeFound>,
    /// Parts that can't be judged: the tester was disturbed, or the limit.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unjudged: Vec<String>,
}

/// Sessions per backend in relation to its weight.
fn shares(counts: &[u64], weights: &[u32]) -> Vec<f64> {
    let weight = |n: usize| weights.get(n).copied().map_or(1.0, f64::from);
    counts.iter().enumerate().map(|(n, count)| *count as f64 / weight(n)).collect()
}

/// The largest ÷ the mean; `None` of nothing.
fn max_mean(shares: &[f64]) -> Option<f64> {
    let sum: f64 = shares.iter().sum();
    let max = shares.iter().copied().fold(0.0, f64::max);
    (sum > 0.0).then(|| max * shares.len() as f64 / sum)
}

/// Jain's fairness index; `None` of nothing.
fn jain(shares: &[f64]) -> Option<f64> {
    let (sum, squares) =
        shares.iter().fold((0.0, 0.0), |(sum, squares), share| (sum + share, squares + share * share));
    (squares > 0.0).then(|| sum * sum / (shares.len() as f64 * squares))
}

fn total(by_reason: &BTreeMap<String, u64>) -> u64 {
    by_reason.values().sum()
}

/// Numbers with their reasons: `25 reset, 1 closed`.
fn reasons(by_reason: &BTreeMap<String, u64>) -> String {
    let each: Vec<String> =
        by_reason.iter().map(|(reason, count)| format!("{} {reason}", grouped(*count))).collect();
    each.join(", ")
}

fn share_finding(goal: String, share: &Share, note: Option<String>) -> Finding {
    let of = format!("{} of {}", grouped(share.count), grouped(share.of));
    let note = note.map_or(of.clone(), |note| format!("{of}; {note}"));
    Finding {
        value: share.ratio(),
        lower: share.ratio().map(|_| share.lower),
        upper: share.ratio().map(|_| share.upper),
        ..Finding::new(goal, "ratio").note(Some(note))
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

impl ChangeFound {
    /// Whether the balancer had bound clients to backends, so that they can be kept.
    fn is_sticky(&self) -> bool {
        self.effects.clients_settled.ratio().is_some_and(|ratio| ratio > 0.9)
    }

    fn findings(&self) -> Vec<Finding> {
        let (name, found) = (self.change.name(), &self.effects);
        let count = |goal: &str, value: u64, note: String| {
            let finding = Finding::new(format!("{goal} {name}"), "sessions").value(value as f64);
            finding.note(Some(note).filter(|note| !note.is_empty()))
        };
        let of = format!("of {} held by the backend", grouped(found.held_by_backend));
        let ended = match total(&found.ended) {
            0 => of,
            _ => format!("{of}: {}", reasons(&found.ended)),
        };
        let mut all = vec![
            count("reset_by_change", total(&found.ended), ended),
            count("moved", found.moved, self.moved_note()),
            count("others_ended", total(&found.others_ended), reasons(&found.others_ended)),
            self.detection(),
            self.use_again(),
        ];
        if self.is_sticky() {
            all.push(share_finding(format!("clients_kept {name}"), &found.clients_kept, None));
            all.push(share_finding(format!("clients_back {name}"), &found.clients_back, None));
        }
        all
    }

    fn moved_note(&self) -> String {
        let of = format!("of {} held", grouped(self.effects.held));
        match self.effects.moved_before {
            0 => of,
            before => format!("{of}; {} had changed their backend before, too", grouped(before)),
        }
    }

    /// Short sessions that failed or were slow, of all.
    fn troubled(&self) -> String {
        let found = &self.effects;
        let slow = match found.short_slow {
            0 => String::new(),
            slow => format!(", {} waited for a second or more", grouped(slow)),
        };
        let again = match (found.last_failed_ns, found.last_trouble_ns) {
            (Some(first), Some(last)) if last > first => {
                format!(", some of them again up to {:.3} s after the change", seconds(last))
            }
            _ => String::new(),
        };
        format!(
            "{} of {} short sessions failed{slow}{again}",
            grouped(found.short_failed),
            grouped(found.short)
        )
    }

    fn detection(&self) -> Finding {
        let (found, failed) = (&self.effects, self.troubled());
        let never = found.last_failed_ns.is_some() && found.next_good_ns.is_none();
        let value = found.last_failed_ns.map_or(0.0, seconds);
        let note =
            if never { format!("sessions failed until the backend came back; {failed}") } else { failed };
        Finding {
            value: (!never).then_some(value),
            lower: Some(value),
            upper: found.next_good_ns.map(seconds),
            ..Finding::new(format!("detection_time {}", self.change.name()), "s").note(Some(note))
        }
    }

    fn use_again(&self) -> Finding {
        let found = &self.effects;
        let value = found.used_again_ns.map(seconds);
        let none = value.is_none().then_some("it served no session until the end");
        Finding {
            value,
            lower: found.unused_until_ns.map(seconds),
            upper: value,
            ..Finding::new(format!("return_time {}", self.change.name()), "s").note(none)
        }
    }

    fn sentences(&self) -> Vec<String> {
        let found = &self.effects;
        let n = grouped;
        let ended = match total(&found.ended) {
            0 => "none ended".to_owned(),
            all => format!("{} ended ({})", n(all), reasons(&found.ended)),
        };
        let others = match total(&found.others_ended) {
            0 => "no other session ended".to_owned(),
            all => format!("{} others ended ({})", n(all), reasons(&found.others_ended)),
        };
        let moved = match found.moved {
            0 => "none moved".to_owned(),
            all => format!("{} moved to another backend", n(all)),
        };
        let missing = match found.wanted.saturating_sub(found.held) {
            0 => String::new(),
            missing => {
                format!(" {} of {} sessions could not be held until then.", n(missing), n(found.wanted))
            }
        };
        let mut all = vec![format!(
            "{}: of {} sessions it held {ended}, {moved}; {others}.{missing}",
            self.change.words(),
            n(found.held_by_backend)
        )];
        let until = match (found.last_failed_ns, found.next_good_ns) {
            (None, _) => "no short session failed".to_owned(),
            (Some(last), Some(next)) => format!(
                "no longer used from between {:.3} and {:.3} s after the change on: {}",
                seconds(last),
                seconds(next),
                self.troubled()
            ),
            (Some(_), None) => format!("{}, until the backend came back", self.troubled()),
        };
        let again = match (found.unused_until_ns, found.used_again_ns) {
            (lower, Some(at)) => format!(
                "used again between {:.3} and {:.3} s after the return",
                lower.map_or(0.0, seconds),
                seconds(at)
            ),
            (_, None) => "not used again until the end".to_owned(),
        };
        all.push(format!("{}: {until}; {again}.", self.change.words()));
        if self.is_sticky() {
            let part = |share: &Share| format!("{} of {}", n(share.count), n(share.of));
            all.push(format!(
                "{}: {} clients of other backends kept theirs, {} were at their first one again afterwards.",
                self.change.words(),
                part(&found.clients_kept),
                part(&found.clients_back)
            ));
        }
        all
    }
}

impl BalancerRow {
    fn counts(&self) -> Vec<u64> {
        self.backends.iter().map(|backend| backend.sessions).collect()
    }

    fn spread(&self) -> Vec<Finding> {
        if self.backends.is_empty() {
            return Vec::new();
        }
        let counts = self.counts();
        let shares = shares(&counts, &self.weights);
        let each: Vec<String> = counts.iter().map(|count| grouped(*count)).collect();
        let failed = match total(&self.failed) {
            0 => String::new(),
            _ => format!("; failed: {}", reasons(&self.failed)),
        };
        let note = format!("sessions of each backend: {}{failed}", each.join(", "));
        vec![
            Finding::new("spread_max_mean", "").value(max_mean(&shares)).note(Some(note)),
            Finding::new("spread_jain", "").value(jain(&shares)),
        ]
    }
}

impl Row for BalancerRow {
    fn findings(&self) -> Vec<Finding> {
        let sticky = self.sticky.iter().map(|found| {
            let note = format!("{} by chance", percent(found.by_chance));
            share_finding(format!("sticky {}", found.by.name()), &found.share, Some(note))
        });
        let changes = self.changes.iter().flat_map(ChangeFound::findings);
        let all = self.spread().into_iter().chain(sticky).chain(changes);
        all.map(|finding| Finding { frame: FRAME.into(), ..finding }).collect()
    }

    fn is_unjudged(&self) -> bool {
        !self.unjudged.is_empty()
    }

    /// No session came to a backend.
    fn has_failed(&self) -> bool {
        !self.backends.is_empty() && self.counts().iter().all(|count| *count == 0)
    }
}

/// The test.
#[derive(Debug, Clone)]
pub(crate) struct BalancerTest {
    config: BalancerConfig,
    /// Trials that have not begun, last first.
    tasks: Vec<BalancerTask>,
    row: BalancerRow,
}

impl BalancerTest {
    fn new(config: &BalancerConfig) -> Self {
        let BalancerConfig { sessions, identities, repeats, .. } = *config;
        let spread = (sessions > 0).then_some(BalancerTask::Spread { sessions });
        let sticky = config.sticky.iter().filter(|_| identities > 0).map(|by| BalancerTask::Sticky {
            sessions: identities,
            repeats,
            by: *by,
        });
        let change = |change: &BackendChange| {
            BalancerTask::Change(BalancerChange {
                change: *change,
                backend: config.backend,
                held: config.held,
                held_rate: config.held_rate,
                interval: config.interval,
                before: config.before,
                away: config.away,
                after: config.after,
            })
        };
        let changes = config.changes.iter().filter(|_| config.held > 0).map(change);
        let mut tasks: Vec<BalancerTask> = spread.into_iter().chain(sticky).chain(changes).collect();
        tasks.reverse();
        let row = BalancerRow { weights: config.weights.clone(), ..BalancerRow::default() };
        Self { config: config.clone(), tasks, row }
    }
}

/// Time in which `sessions` are opened.
fn time_of(sessions: u64, rate: u64) -> Nanos {
    let ns = u128::from(sessions) * 1_000_000_000 / u128::from(rate.max(1));
    Nanos(u64::try_from(ns).unwrap_or(u64::MAX))
}

impl Stage for BalancerTest {
    fn next(&mut self) -> Option<Draft> {
        let task = self.tasks.pop()?;
        let BalancerConfig { rate, warm_up, timeout, .. } = self.config;
        let (duration, label) = match &task {
            BalancerTask::Spread { sessions } => {
                (time_of(*sessions, rate), format!("spread of {} sessions", grouped(*sessions)))
            }
            BalancerTask::Sticky { sessions, repeats, by } => {
                let all = sessions.saturating_mul(u64::from(*repeats) + 1);
                (time_of(all, rate), format!("{} sessions again with {}", grouped(*sessions), by.words()))
            }
            BalancerTask::Change(change) => {
                let held = time_of(change.held, change.held_rate);
                let label = format!(
                    "{} held, backend {} {}",
                    grouped(change.held),
                    change.backend,
                    change.change.name()
                );
                (held + change.before + change.away + change.after, label)
            }
        };
        let load = BalancerLoad { rate, warm_up, timeout };
        let duration = duration + warm_up;
        let draft = Draft::special(TrialKind::Balancer { task, load }, duration).label(label);
        Some(draft.after(self.config.rest).again_after(self.config.rest))
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        let (TrialKind::Balancer { task, .. }, Some(outcome)) = (&draft.kind, &seen.outcome.balancer) else {
            return;
        };
        if seen.limited {
            self.row.unjudged.push(draft.label.clone());
            return;
        }
        match task {
            BalancerTask::Spread { .. } => {
                self.row.backends.clone_from(&outcome.backends);
                self.row.failed.clone_from(&outcome.failed);
            }
            BalancerTask::Sticky { by, .. } => {
                let (share, by_chance) = (outcome.sticky.unwrap_or_default(), outcome.by_chance);
                let by_chance = by_chance.unwrap_or_default();
                self.row.sticky.push(StickyFound { by: *by, share, by_chance });
            }
            BalancerTask::Change(change) => {
                let effects = outcome.change.clone().unwrap_or_default();
                self.row.changes.push(ChangeFound { change: change.change, effects });
            }
        }
    }
}

impl Procedure for BalancerTest {
    fn name(&self) -> &'static str {
        "balancer"
    }

    fn findings(&self) -> Findings {
        Findings::Balancer(vec![self.row.clone()])
    }

    fn summary(&self) -> Vec<String> {
        let row = &self.row;
        let mut all = Vec::new();
        if !row.backends.is_empty() {
            let counts = row.counts();
            let shares = shares(&counts, &row.weights);
            let each: Vec<String> =
                row.backends.iter().map(|b| format!("{} at {}", grouped(b.sessions), b.address)).collect();
            let figures = match (max_mean(&shares), jain(&shares)) {
                (Some(most), Some(index)) => {
                    let weighted = if row.weights.is_empty() { "" } else { " in relation to the weights" };
                    format!("maximum ÷ mean {most:.3}, Jain's index {index:.4}{weighted}")
                }
                _ => "no session came to a backend".to_owned(),
            };
            let failed = match total(&row.failed) {
                0 => String::new(),
                _ => format!("; failed: {}", reasons(&row.failed)),
            };
            all.push(format!("Spread: {}: {figures}{failed}.", each.join(", ")));
        }
        for found in &row.sticky {
            all.push(format!(
                "Stickiness with {}: {} of {} repeated sessions came to the same backend ({} by chance).",
                found.by.words(),
                grouped(found.share.count),
                grouped(found.share.of),
                percent(found.by_chance)
            ));
        }
        all.extend(row.changes.iter().flat_map(ChangeFound::sentences));
        all
    }

    fn remarks(&self) -> Vec<String> {
        let mut all = Vec::new();
        if !self.row.changes.is_empty() {
            all.push(
                "A balancer without health checks, or one that translates addresses only, uses a backend that is away until its \
                 configuration changes: then no time of detection is found."
                    .to_owned(),
            );
        }
        let parts = self.row.unjudged.iter();
        all.extend(
            parts.map(|part| format!("Not judged, as the tester was disturbed or the limit: {part}.")),
        );
        all
    }
}

#[cfg(test)]
mod tests;
