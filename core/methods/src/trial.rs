//! Requests for trials.

use crate::balancer::{BalancerLoad, BalancerTask};
use crate::natxy::NatTask;
use crate::settings::ConfigError;
use crate::switch::FlowLoad;
use crate::testbed::{Around, Attributes, Frames, OfferedLoad};
use crate::text::{AsNanos, AsText};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// Which part of a method a trial belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Its outcome is discarded.
    WarmUp,
    /// Checks whether anything arrives.
    Probe,
    /// Short trials that narrow a search.
    Explore,
    /// The trials that count.
    Measure,
}

impl Phase {
    /// As documents write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::WarmUp => "warm_up",
            Self::Probe => "probe",
            Self::Explore => "explore",
            Self::Measure => "measure",
        }
    }
}

/// One trial: what to send, how, and for how long.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TrialRequest {
    /// Trials of this method are numbered from 0; a repeated trial has a new number.
    pub number: u64,
    /// Fingerprint of the request without its number; matches a stored outcome to its request.
    pub key: String,
    /// Method that requests it.
    pub method: String,
    /// Which part of it.
    pub phase: Phase,
    /// Description for people.
    pub label: String,
    /// Kind.
    pub kind: TrialKind,
    /// The frames.
    pub frames: Frames,
    /// Load of each group; empty if the kind defines it.
    pub offered: Vec<OfferedLoad>,
    /// Length of the traffic.
    #[serde(rename = "duration_ns", with = "AsNanos")]
    pub duration: Nanos,
    /// Times around it.
    pub around: Around,
    /// Addresses, ports and modifiers of the frames.
    pub attributes: Attributes,
}

/// Kind of a trial, and the fields of its outcome.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "type")]
pub enum TrialKind {
    /// An even load. Answer: `groups`.
    Load,
    /// The tester alone: finds its own limit. Answer: `groups`.
    SelfTest,
    /// A burst at the smallest gap, then nothing (RFC 9004 section 5). Answer: `groups`.
    Burst {
        /// Frames of each group.
        frames: u64,
    },
    /// The offered load for the duration, then `share` of it for as long again (RFC 2544 section 26.5).
    /// Answer: `groups`, `recovery`.
    Overload {
        /// 0.5 by the RFC.
        share: f64,
    },
    /// An even load during which the DUT is reset (RFC 6201). Answer: `groups`, `outage`.
    Reset {
        /// Name of the reset.
        how: String,
    },
    /// An even load whose first path loses its routes and gets them back (RFC 7747). Answer: `groups`, `convergence`.
    Convergence {
        /// When the routes are withdrawn, after the start of traffic.
        #[serde(rename = "withdraw_ns", with = "AsNanos")]
        withdraw: Nanos,
        /// Packets sent from then on belong to the return.
        #[serde(rename = "cut_ns", with = "AsNanos")]
        cut: Nanos,
        /// When the routes are advertised again.
        #[serde(rename = "advertise_ns", with = "AsNanos")]
        advertise: Nanos,
    },
    /// Teaches addresses at `learn_rate`, then sends test frames to all of them (RFC 2889 sections 5.7, 5.8).
    /// Answer: `groups` with `flooded`.
    Addresses {
        /// Number of addresses.
        count: u64,
        /// Learning frames per second.
        learn_rate: u64,
    },
    /// An even load to this number of multicast groups, which a host is a member of (RFC 3918). Outcome: `groups` with
    /// `flooded`; with `join`, also `multicast`. With `everywhere` each frame must arrive at every port with members:
    /// sent and received count by port.
    Multicast {
        /// Number of groups.
        groups: u64,
        /// When the last group is joined, after the start of traffic, which goes to that group only; zero: all are joined before
        /// traffic, which goes to all.
        #[serde(rename = "join_ns", with = "AsNanos")]
        join: Nanos,
        /// When it is left; of no meaning if `join` is zero.
        #[serde(rename = "leave_ns", with = "AsNanos")]
        leave: Nanos,
        /// Whether the members are on all ports that join the stream's group; if not, only on the receiving port.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        everywhere: bool,
    },
    /// Frames between ports of a switch, which begin together (RFC 2889, RFC 8239). Outcome: `groups`, one for each flow.
    Flows {
        /// The flows.
        flows: Vec<FlowLoad>,
    },
    /// Streams of the profile, each at its own rate (ITU-T Y.1564). Outcome: `groups`, `services`.
    Services {
        /// Loads to send.
        loads: Vec<ServiceLoad>,
    },
    /// DHCP or DHCPv6 clients begin at a rate, for the duration at most. Answer: `leases`.
    Leases {
        /// Clients per second.
        rate: u64,
        /// Each is to have its lease so long after its first message.
        #[serde(rename = "within_ns", with = "AsNanos")]
        within: Nanos,
        /// One client by itself, with as much time as it takes.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        alone: bool,
    },
    /// Connections through a NATxy gateway (RFC 9693). Outcome: `nat`; of traffic, also `groups`.
    Nat {
        /// The task.
        task: NatTask,
    },
    /// Sessions through a load balancer to backends that name themselves. Outcome: `balancer`.
    Balancer {
        /// The task.
        task: BalancerTask,
        /// Its conditions.
        load: BalancerLoad,
    },
    /// This number of routes is advertised before traffic, then an even load goes to each of them in turn. Outcome:
    /// `groups`, `routes`.
    Routes {
        /// Number of routes.
        routes: u64,
        /// Packets to each, at least.
        packets: u32,
    },
    /// Sessions of an application. Answer: `sessions`.
    Sessions(SessionLoad),
    /// All entries under `sessions:` at once, their loads multiplied. Answer: `mix`, and `sessions` for all together.
    Mix(MixLoad),
    /// The largest packet the path carries, and the smallest round-trip time of an idle path
    /// (RFC 6349 sections 3.1, 3.2.1). Answer: `path`.
    Path,
    /// TCP connections that send as fast as possible (RFC 6349 section 4). Answer: `tcp`.
    Tcp {
        /// Names of the groups that send.
        senders: Vec<String>,
        /// Connections of each.
        connections: u32,
        /// Send and receive window of each connection, bytes.
        window_bytes: u64,
    },
}

impl TrialKind {
    /// The requested load of sessions, and its unit; `None` without sessions.
    pub fn session_load(&self) -> Option<(f64, &'static str)> {
        match self {
            Self::Sessions(load) => Some((load.value as f64, load.objective.unit())),
            Self::Mix(load) => Some((load.multiplier, "times")),
            _ => None,
        }
    }
}

/// The load of a service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceLoad {
    /// The stream.
    pub stream: String,
    /// The service whose yellow frames these are; absent: the stream's own name is the service's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub yellow_of: Option<String>,
    /// Bits per second of frames with FCS.
    pub rate_bps: u64,
    /// Bytes of frames with FCS that are sent back to back, at the mean rate; absent: evenly spaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_bytes: Option<u64>,
    /// Frames; absent: the stream's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frames: Option<Frames>,
}

/// Application of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Application {
    /// Name in results: `http`, `https`, `raw`.
    pub name: String,
    /// Bytes of a request.
    pub request_bytes: u64,
    /// Bytes of a response.
    pub response_bytes: u64,
    /// Transactions of a session before it closes.
    pub transactions: u32,
}

impl Application {
    /// HTTP GETs for an object of `bytes`, `transactions` to a connection.
    pub fn http(bytes: u64, transactions: u32) -> Self {
        Self { name: "http".into(), request_bytes: 100, response_bytes: bytes, transactions }
    }

    /// Request and response of `bytes` each, over plain TCP.
    pub fn raw(bytes: u64) -> Self {
        Self { name: "raw".into(), request_bytes: bytes, response_bytes: bytes, transactions: 1 }
    }
}

/// Variable that a session test increases and sustains.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Objective {
    /// Sessions opened per second.
    ConnectionsPerSecond,
    /// Sessions open at the same time.
    ConcurrentConnections,
    /// Transactions per second.
    TransactionsPerSecond,
    /// Application bytes received, bits/s.
    GoodputBps,
}

impl Objective {
    /// Its unit.
    pub fn unit(self) -> &'static str {
        match self {
            Self::ConnectionsPerSecond => "connections/s",
            Self::ConcurrentConnections => "connections",
            Self::TransactionsPerSecond => "transactions/s",
            Self::GoodputBps => "bits/s",
        }
    }
}

/// The phases of a session trial (RFC 9411 section 4.3.4). `sustain` is the one that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Phases {
    /// Before any load.
    #[serde(with = "AsText")]
    pub init: Nanos,
    /// The load rises linearly.
    #[serde(with = "AsText")]
    pub ramp_up: Nanos,
    /// The load is constant; this phase is measured.
    #[serde(with = "AsText")]
    pub sustain: Nanos,
    /// The load falls.
    #[serde(with = "AsText")]
    pub ramp_down: Nanos,
    /// Time to wait for late results.
    #[serde(with = "AsText")]
    pub collection: Nanos,
}

/// The RFC's least: init 5 s, sustain 300 s; ramps of 60 s, collection 10 s.
impl Default for Phases {
    fn default() -> Self {
        let s = Nanos::from_secs;
        Self { init: s(5), ramp_up: s(60), sustain: s(300), ramp_down: s(60), collection: s(10) }
    }
}

impl Phases {
    /// Seconds instead of minutes.
    pub(crate) fn quick() -> Self {
        let s = Nanos::from_secs;
        let init = Nanos::from_millis(200);
        Self { init, ramp_up: s(1), sustain: s(3), ramp_down: s(1), collection: s(1) }
    }

    /// # Errors
    /// Nothing would be measured.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        match self.sustain {
            Nanos::ZERO => Err(ConfigError::new(
                "phases.sustain",
                "must be longer than 0: it is the phase that is measured",
            )),
            _ => Ok(()),
        }
    }

    /// All phases together.
    pub fn total(self) -> Nanos {
        self.init + self.ramp_up + self.sustain + self.ramp_down + self.collection
    }
}

/// A load of sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SessionLoad {
    /// Application of the sessions.
    pub app: Application,
    /// Objective to sustain.
    pub objective: Objective,
    /// At which value, in the objective's unit.
    pub value: u64,
    /// Sessions are opened no faster than this; 0 is no bound (RFC 9411 section 7.5: at most half of the highest rate).
    pub open_per_s_max: u64,
    /// Client ports × server ports to choose from; 0 leaves it to the tester.
    pub flows: u64,
    /// When.
    pub phases: Phases,
}

/// A multiple of the loads of all sessions of a profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MixLoad {
    /// Rates and numbers of sessions are this many times the profile's.
    pub multiplier: f64,
    /// When.
    pub phases: Phases,
}

impl TrialRequest {
    /// Variable of this trial: the share of the first group's line, the number of frames, addresses or sessions, or the
    /// multiple of a mix.
    pub fn magnitude(&self) -> f64 {
        match &self.kind {
            TrialKind::Burst { frames } => *frames as f64,
            TrialKind::Addresses { count, learn_rate } => *count as f64 * *learn_rate as f64,
            TrialKind::Multicast { groups, .. } => *groups as f64,
            TrialKind::Leases { rate, .. } => *rate as f64,
            TrialKind::Nat { task } => task.magnitude(),
            TrialKind::Balancer { task, .. } => task.magnitude(),
            TrialKind::Routes { routes, .. } => *routes as f64,
            TrialKind::Sessions(load) => load.value as f64,
            TrialKind::Mix(load) => load.multiplier,
            TrialKind::Services { loads } => loads.iter().map(|load| load.rate_bps as f64).sum(),
            TrialKind::Tcp { window_bytes, .. } => *window_bytes as f64,
            TrialKind::Flows { flows } => flows.iter().map(|flow| flow.due(self.duration) as f64).sum(),
            _ => self.offered.first().map_or(0.0, |load| load.share),
        }
    }

    /// Label of its findings and curves: the frames, or the application of sessions, `http 1024B`.
    pub fn frame(&self) -> String {
        match &self.kind {
            TrialKind::Sessions(load) => crate::sessions::frame_column(&load.app),
            TrialKind::Mix(_) => crate::mix::MIX.into(),
            TrialKind::Services { loads } => crate::y1564::frame(loads),
            TrialKind::Leases { .. } => crate::leases::FRAME.into(),
            TrialKind::Nat { .. } => crate::natxy::FRAME.into(),
            TrialKind::Balancer { .. } => crate::balancer::FRAME.into(),
            _ => self.frames.to_string(),
        }
    }

    /// Wall time from its beginning to the beginning of the next, with the times around it and half-steps of its kind.
    pub fn wall_time(&self) -> Nanos {
        let traffic = match self.kind {
            TrialKind::Overload { .. } => self.duration + self.duration,
            _ => self.duration,
        };
        traffic + self.around.rest + self.around.learning + self.around.drain + self.around.settle
    }

    /// The requested load of sessions, and its unit; `None` without sessions.
    pub fn session_load(&self) -> Option<(f64, &'static str)> {
        self.kind.session_load()
    }

    /// Frames per second that fill the links of all groups; `None` if it offers no load.
    pub fn line_pps(&self) -> Option<f64> {
        crate::result::line_pps(&self.offered)
    }

    /// Frames of group `i` that are due.
    pub fn frames_due(&self, i: usize) -> u64 {
        match &self.kind {
            TrialKind::Burst { frames } => *frames,
            TrialKind::Flows { flows } => flows.get(i).map_or(0, |flow| flow.due(self.duration)),
            _ => self.offered.get(i).map_or(0, |load| load.rate.packets_in(self.duration)),
        }
    }

    /// Everything but number and key, hashed. The text hashed is the JSON form, so it changes only if that does.
    pub(crate) fn fingerprint(&self) -> String {
        let plain = Self { number: 0, key: String::new(), ..self.clone() };
        let text = serde_json::to_string(&plain).unwrap_or_default();
        let hash = text.bytes().fold(random::key(0), |hash, byte| random::mix(hash ^ u64::from(byte)));
        format!("{hash:016x}")
    }
}
