//! Test methods: which trial comes next, and what the outcomes mean.
//!
//! Every method is a state machine behind one trait, [`Method`]: it requests a trial, processes the outcome, requests
//! the next. Its driver, an engine on real ports or a simulation, makes no difference to it.
//!
//! - RFC 2544 throughput, latency, frame loss rate, system recovery, reset; RFC 9004 back-to-back frames
//! - MLRsearch (several goals at once), MRR, soak, load sweep
//! - RFC 7747 convergence: from one path to another
//! - RFC 2889 address caching capacity and learning rate; RFC 2889 and RFC 8239 meshed throughput, incast, buffer, head-of-line
//!   blocking, broadcasts of a switch
//! - RFC 3918 group join and leave delay, group capacity
//! - DHCP set-up rate
//! - Route capacity
//! - ITU-T Y.1564 service activation; RFC 7640 policers, shapers, queues and schedulers
//! - RFC 9693 stateful NATxy gateways
//! - RFC 9411 session methods, a mix of applications, a load of sessions in steps, RFC 6349 TCP throughput, the tester alone
//!
//! Beside them, not methods of this kind: [`Paired`] compares two sides by trials in turns, and [`Culprit`] finds the step of a
//! row from which on trials are worse.
//!
//! Not here: clocks, ports, packets, files. A trial is a request and an outcome.
//!
//! Invariants: a trial in which the tester was the limit never counts as the DUT's limit. The state depends on recorded
//! outcomes only, so a campaign is resumed by recording them again. Every frame length includes the FCS.
//!
//! ```
//! use methods::{MethodConfig, Step, Testbed, ThroughputConfig, TrialOutcome};
//!
//! let testbed = Testbed::one_way(10_000_000_000);
//! let config = ThroughputConfig { sizes: vec!["64B".parse().unwrap()], ..ThroughputConfig::default() };
//! let mut method = MethodConfig::Throughput(config).build(&testbed).unwrap();
//! while let Step::Trial(trial) = method.next_trial() {
//!     // A DUT that forwards 9 million frames per second.
//!     let capacity = 9_000_000 * trial.duration.0 / 1_000_000_000;
//!     method.record(&TrialOutcome::forwarded(&trial, |_, sent| sent.min(capacity)));
//! }
//! let sentence = &method.result().summary[0];
//! assert!(sentence.starts_with("Throughput at 64B: 8,98"), "{sentence}");
//! ```

#![forbid(unsafe_code)]

mod addresses;
mod agreement;
mod back_to_back;
mod balancer;
mod bisect;
mod climb;
mod convergence;
mod culprit;
mod draft;
mod fault;
mod finding;
mod forecast;
mod interval;
mod latency;
mod leases;
mod list;
mod loss;
mod method;
mod mix;
mod mlr;
mod mrr;
mod multicast;
mod natxy;
mod outcome;
mod paired;
mod rates;
mod recovery;
mod reset;
mod result;
mod routes;
mod run;
mod self_test;
mod session_latency;
mod sessions;
mod settings;
mod signed_rank;
mod soak;
mod suite;
mod sweep;
mod switch;
mod tcp;
mod testbed;
mod text;
mod throughput;
mod traffic;
mod trial;
mod y1564;

pub use balancer::{
    BackendChange, BackendOutcome, BalancerChange, BalancerLoad, BalancerOutcome, BalancerTask, ChangeFound,
    ChangeOutcome, StickyBy, StickyFound,
};
pub use culprit::{Culprit, StepFound};
pub use draft::Limit;
pub use fault::{Fault, FaultKind, PROBE_SHARE, PROBES};
pub use finding::{Finding, GoalMeaning};
pub use interval::{Criterion, Interval, reconciled};
pub use latency::GroupLatency;
pub use leases::LeasePoint;
pub use list::*;
pub use loss::LossPoint;
pub use method::{Estimate, Method, Progress, ReplayError, Step, StoredTrial, replay};
pub use mix::MixPoint;
pub use mlr::{Durations, Goal, GoalResult, LoadClass, MlrBound, Threshold};
pub use natxy::{NatBehavior, NatLoad, NatOutcome, NatPoint, NatSearch, NatTask, NatTimeout};
pub use outcome::{
    GroupChange, GroupOutcome, JitterSummary, LatencySummary, LeaseOutcome, MixEntry, MixOutcome, Outage,
    PathChange, PathOutcome, Policed, Recovery, RouteOutcome, ServiceOutcome, SessionOutcome,
    StreamConvergence, TcpOutcome, TrialOutcome,
};
pub use paired::{
    Answer, Better, Measured, Pair, Paired, PairedConfig, PairedResult, PairedTrial, Question, Scale, Side,
};
pub use rates::{KnownRate, RateSource};
pub use result::{FoundRate, MethodResult, Spread, Standing, Status, TrialNote};
pub use routes::RoutePoint;
pub use sessions::{Criteria, SessionPoint};
pub use settings::{About, ConfigError, Requirement};
pub use signed_rank::{Bounds, bounds};
pub use soak::{SoakInterval, Trend};
pub use suite::{SUITES, Suite, session_series};
pub use sweep::SweepPoint;
pub use switch::{
    Blocking, BurstFound, CongestionFound, FlowFound, FlowLoad, LoadFound, OversizeFound, Pattern, RateFound,
    SwitchTest,
};
pub use tcp::{TcpFigures, TcpRun};
pub use testbed::{
    Around, Attributes, Frames, Group, MIXES, Modifier, OfferedLoad, RFC2544_BYTES, RFC5180_JUMBO_BYTES,
    Testbed, Timing,
};
pub use traffic::{Alone, Beside, BurstSize, Together, TrafficTest, Treatment};
pub use trial::{
    Application, MixLoad, Objective, Phase, Phases, ServiceLoad, SessionLoad, TrialKind, TrialRequest,
};
pub use y1564::{Service, ServiceStep, YellowStep, availability};
