//! Service activation: whether each of several services has what was agreed (ITU-T Y.1564).
//!
//! A service is a stream with a committed and an excess information rate (CIR, EIR). The configuration test runs each by itself:
//! in steps up to the CIR, at CIR + EIR, above that where the device polices, and in bursts of the agreed sizes (CBS, EBS). The
//! performance test then runs all at once at their CIR for long. Information rates are of frames with FCS (layer 2).
//!
//! A service whose frames have colours ([`Service::yellow`]) has two streams: green frames are the committed ones, yellow ones the
//! excess. The yellow ones must not cost a green one.
//!
//! Invariant: in each step, the load of a service's green frames does not depend on that of its yellow ones.

mod colours;

use crate::draft::{Draft, Procedure, Seen, Stage};
use crate::finding::{Finding, GoalMeaning};
use crate::list::Findings;
use crate::method::Method;
use crate::outcome::Policed;
use crate::run::Run;
use crate::settings::{About, ConfigError, Requirement, Row, Settings};
use crate::testbed::{Frames, Testbed};
use crate::text::{AsText, AsTextOrNone, percent};
use crate::trial::{ServiceLoad, TrialKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use units::{BitRate, Layer, Nanos, quantity};

pub use colours::YellowStep;

/// Seconds in a row with severe loss that make a service unavailable, and without that make it available again (Y.1563).
const IN_A_ROW: usize = 10;
/// Mean load of bursts, as a share of the rate that fills a bucket: each burst finds it full, even if the last one was late.
const BURSTS_SHARE: f64 = 0.8;

/// Name of the performance test's step.
const PERFORMANCE: &str = "performance";

/// A service and what was agreed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Service {
    /// Name of its stream.
    pub name: String,
    /// Committed information rate, of frames with FCS.
    #[serde(with = "AsText")]
    pub cir: BitRate,
    /// Excess information rate; absent: none.
    #[serde(with = "AsTextOrNone")]
    pub eir: Option<BitRate>,
    /// Committed burst size: as many bytes of frames with FCS, back to back, must pass; absent: not tested.
    pub cbs: Option<u64>,
    /// Excess burst size: bursts of CBS + EBS bytes are sent, of which the CBS must pass; absent: not tested.
    pub ebs: Option<u64>,
    /// Frame length or mix; absent: the stream's own.
    pub frames: Option<Frames>,
    /// Name of the stream of its yellow frames, whose packets have another DSCP or PCP, or the DEI bit; absent: it has no colours, and
    /// the device chooses itself what exceeds the CIR.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub yellow: Option<String>,
    /// Coupling flag (MEF 10.3): whether yellow frames may use what is left of the CIR.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub coupling: bool,
    /// Whether the device polices: passes no more than CIR + EIR.
    pub policing: bool,
    /// Highest frame loss ratio.
    pub flr_max: f64,
    /// Highest frame transfer delay, mean.
    #[serde(with = "AsText")]
    pub ftd_max: Nanos,
    /// Highest frame delay variation: the 99.9th percentile of the delay less the minimum.
    #[serde(with = "AsText")]
    pub fdv_max: Nanos,
    /// Lowest availability in the performance test.
    pub availability_min: f64,
}

impl Default for Service {
    fn default() -> Self {
        Self {
            name: "service".into(),
            cir: BitRate { bps: 10_000_000, layer: Layer::L2 },
            eir: None,
            cbs: None,
            ebs: None,
            frames: None,
            yellow: None,
            coupling: false,
            policing: false,
            flr_max: 0.001,
            ftd_max: Nanos::from_millis(25),
            fdv_max: Nanos::from_millis(10),
            availability_min: 0.9999,
        }
    }
}

impl Service {
    fn eir_bps(&self) -> u64 {
        self.eir.map_or(0, |eir| eir.bps)
    }

    /// Bytes that buckets hold in addition to what their rates let pass.
    fn bucket_bytes(&self) -> u64 {
        self.cbs.unwrap_or(0) + self.ebs.unwrap_or(0)
    }

    /// Maximum that a policing device passes in this number of seconds, bits/s.
    fn most_bps(&self, margin: f64, seconds: f64) -> f64 {
        let buckets = self.bucket_bytes() as f64 * 8.0 / seconds.max(1e-9);
        (self.cir.bps + self.eir_bps()) as f64 * (1.0 + margin) + buckets
    }

    /// Policing observed for a load of which too much passed in a step of this number of seconds.
    fn policed_to(&self, step: &ServiceStep, margin: f64, seconds: f64) -> String {
        let Some(policed) = &step.policed else {
            return match step.flr {
                0.0 => {
                    let step = Nanos::from_millis((seconds * 1e3).round() as u64);
                    format!("not policed, nothing was dropped in {step}")
                }
                lost => {
                    format!("{} was dropped; a longer step shows the rate it is policed to", percent(lost))
                }
            };
        };
        let rate = format!("policed to {}", quantity(policed.bps, "bps"));
        if policed.bps > (self.cir.bps + self.eir_bps()) as f64 * (1.0 + margin) {
            return format!("{rate} only, from {:.1} s on", policed.from_s);
        }
        let agreed = match (self.cbs, self.ebs) {
            (None, _) => "",
            (_, None) => ", more than the CBS",
            (_, Some(_)) => ", more than CBS + EBS",
        };
        format!(
            "{rate} from {:.1} s on, after a burst of some {} kB{agreed}",
            policed.from_s,
            (policed.burst_bytes / 1e3).round()
        )
    }

    /// Mean rate of bursts of CBS + EBS bytes that find both buckets full.
    fn excess_bursts_bps(&self) -> u64 {
        let fill = |bytes: Option<u64>, bps: u64| bytes.unwrap_or(0) as f64 * 8.0 / bps.max(1) as f64;
        let seconds = fill(self.cbs, self.cir.bps).max(fill(self.ebs, self.eir_bps()));
        (self.bucket_bytes() as f64 * 8.0 / seconds.max(1e-9) * BURSTS_SHARE) as u64
    }

    /// # Errors
    /// Checks for invalid values.
    fn check(&self) -> Result<(), String> {
        let name = &self.name;
        let rates = [Some(self.cir), self.eir];
        let bad = match () {
            () if self.cir.bps == 0 => "cir must be above 0",
            () if self.eir.is_some_and(|eir| eir.bps == 0) => {
                "eir must be above 0: leave it out if there is none"
            }
            () if rates.into_iter().flatten().any(|rate| rate.layer != Layer::L2) => {
                "information rates are of layer 2: write 10Mbps"
            }
            () if self.cbs == Some(0) || self.ebs == Some(0) => "cbs and ebs must be above 0",
            () if self.ebs.is_some() && (self.cbs.is_none() || self.eir.is_none()) => "ebs needs cbs and eir",
            () if self.yellow.is_some() && self.eir.is_none() => {
                "yellow needs eir: yellow frames are its excess"
            }
            () if self.coupling && self.yellow.is_none() => {
                "coupling needs yellow: it is about frames of two colours"
            }
            () if ![self.flr_max, self.availability_min].iter().all(|ratio| (0.0..=1.0).contains(ratio)) => {
                "flr_max and availability_min must be from 0 to 1"
            }
            () => return Ok(()),
        };
        Err(format!("'{name}': {bad}"))
    }

    /// The load of the policing step: above what may pass (Y.1564 section 8.1.2).
    fn overshoot_bps(&self) -> u64 {
        let (cir, eir) = (self.cir.bps, self.eir_bps());
        if eir >= cir / 5 { cir + eir + eir / 4 } else { cir + cir / 4 + eir }
    }
}

/// Settings of service activation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ServiceConfig {
    /// The services, each a stream of the profile.
    pub services: Vec<Service>,
    /// Steps of the configuration test up to the CIR, per cent of it.
    pub steps_percent: Vec<u32>,
    /// Length of each step; 1 s to 60 s.
    #[serde(with = "AsText")]
    pub step: Nanos,
    /// Length of the performance test: 15 min, 2 h or 24 h.
    #[serde(with = "AsText")]
    pub performance: Nanos,
    /// Share that a policed service may pass above CIR + EIR, because buckets have a size.
    pub margin: f64,
}

impl Default for ServiceConfig {
    fn default() -> Self {
        Self {
            services: vec![Service::default()],
            steps_percent: vec![25, 50, 75, 100],
            step: Nanos::from_secs(10),
            performance: Nanos::from_secs(900),
            margin: 0.02,
        }
    }
}

impl ServiceConfig {
    pub(crate) const ABOUT: About = About {
        name: "y1564",
        about: "service activation: each service in steps, then all at once (ITU-T Y.1564)",
        result_names: &["y1564-service-activation"],
        makes_curves: false,
        goals: &[
            GoalMeaning {
                goal: "service_activation",
                name: "Service activation",
                definition: "share of a service's steps and performance tests that met all criteria; 1 is a pass (ITU-T Y.1564)",
            },
            GoalMeaning {
                goal: "service_ir",
                name: "Information rate",
                definition: "bits of frames with FCS received per second in the performance test (ITU-T Y.1564)",
            },
            GoalMeaning {
                goal: "service_flr",
                name: "Frame loss ratio",
                definition: "frames lost ÷ frames sent in the performance test (ITU-T Y.1563)",
            },
            GoalMeaning {
                goal: "service_ftd",
                name: "Frame transfer delay",
                definition: "mean delay in the performance test (ITU-T Y.1563)",
            },
            GoalMeaning {
                goal: "service_fdv",
                name: "Frame delay variation",
                definition: "99.9th percentile of the delay less the minimum in the performance test (ITU-T Y.1563)",
            },
            GoalMeaning {
                goal: "service_availability",
                name: "Availability",
                definition: "share of the seconds in which the service was available; ten seconds in a row with more than half \
                             of the frames lost begin an unavailable time (ITU-T Y.1563)",
            },
        ],
    };
}

impl Settings for ServiceConfig {
    fn check(&self, _: &Testbed) -> Result<(), ConfigError> {
        let bad = |field: &str, reason: &str| Err(ConfigError::new(field, reason));
        if self.services.is_empty() {
            return bad("services", "needs a service");
        }
        let mut streams = BTreeSet::new();
        for service in &self.services {
            if let Some(twice) = service.streams().find(|stream| !streams.insert(*stream)) {
                return Err(ConfigError::new("services", format!("'{twice}' is listed twice")));
            }
            service.check().map_err(|reason| ConfigError::new("services", reason))?;
        }
        if self.steps_percent.is_empty() || !self.steps_percent.iter().all(|step| (1..=100).contains(step)) {
            return bad("steps_percent", "needs steps from 1 to 100");
        }
        if self.step == Nanos::ZERO {
            return bad("step", "must be longer than 0");
        }
        let seconds = self.step.as_secs_f64();
        let toothless = |service: &&Service| {
            let is_too_little = service.overshoot_bps() as f64 <= service.most_bps(self.margin, seconds);
            service.policing && (is_too_little || service.is_yellow_too_little(self.margin, seconds))
        };
        if let Some(service) = self.services.iter().find(toothless) {
            let name = &service.name;
            return Err(ConfigError::new(
                "margin",
                format!(
                    "the policing step of '{name}' would send no more than may pass: use a lower margin or a longer step"
                ),
            ));
        }
        if self.performance < Nanos::from_secs(1) {
            return bad("performance", "must be at least 1s: availability is counted in seconds");
        }
        if !(0.0..=1.0).contains(&self.margin) {
            return bad("margin", "must be from 0 to 1");
        }
        Ok(())
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(Activation::new(self), testbed))
    }

    fn quicken(&mut self) {
        self.step = Nanos::from_secs(2);
        self.performance = Nanos::from_secs(10);
    }

    fn set_trial(&mut self, trial: Nanos) {
        self.step = trial;
    }

    fn requirements(&self) -> Vec<Requirement> {
        let of = |service: &Service, stream: &str| Requirement::Stream {
            setting: "services",
            name: stream.to_owned(),
            frames: service.frames.clone(),
            burst_bytes: if stream == service.name { service.cbs } else { service.ebs },
            most_bps: (stream == service.name).then_some(service.cir.bps),
        };
        self.services.iter().flat_map(|service| service.streams().map(|stream| of(service, stream))).collect()
    }

    fn sizes(&self) -> Vec<Frames> {
        self.services.iter().filter_map(|service| service.frames.clone()).collect()
    }
}

/// A service at one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceStep {
    /// `25% of CIR`, `CIR + EIR`, `policing`, `CBS`, `CBS + EBS`, `performance`; with colours also `policing of yellow`, `coupling`.
    pub step: String,
    /// Requested load, bits/s of frames with FCS; with colours, this and what follows are of green frames.
    pub asked_bps: u64,
    /// Load sent.
    pub offered_bps: f64,
    /// Received.
    pub received_bps: f64,
    /// Frame loss ratio.
    pub flr: f64,
    /// Mean delay, ns.
    pub ftd_ns: Option<f64>,
    /// Delay variation, ns.
    pub fdv_ns: Option<f64>,
    /// Yellow frames, in steps that send some.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub yellow: Option<YellowStep>,
    /// Behaviour of the device once it dropped frames, in the policing step.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub policed: Option<Policed>,
    /// Share of available seconds; of the performance test.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub availability: Option<f64>,
    /// Whether all criteria were met; absent: the tester was the limit or disturbed, so nothing is known.
    pub passed: Option<bool>,
    /// Requirements that were not met.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub because: Vec<String>,
}

/// Findings for a service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServiceRow {
    /// The service, and what was agreed.
    pub service: Service,
    /// The steps of the configuration test in their order, then the performance test.
    pub steps: Vec<ServiceStep>,
    /// Whether everything passed; absent: not all is known.
    pub passed: Option<bool>,
}

impl ServiceRow {
    /// All services at once; `None` before that.
    fn performance(&self) -> Option<&ServiceStep> {
        self.steps.iter().find(|step| step.step == PERFORMANCE)
    }

    /// Requirements not met, or not known, in words.
    fn shortfalls(&self) -> Vec<String> {
        let of = |step: &ServiceStep| match step.passed {
            Some(true) => None,
            Some(false) => Some(format!("{}: {}", step.step, step.because.join(", "))),
            None => Some(format!("{}: the tester was the limit or disturbed", step.step)),
        };
        self.steps.iter().filter_map(of).collect()
    }

    fn sentence(&self) -> String {
        let name = &self.service.name;
        let verdict = match self.passed {
            Some(true) => "passed",
            Some(false) => "FAILED",
            None => "not decided",
        };
        let shortfalls = self.shortfalls();
        if !shortfalls.is_empty() {
            return format!("Service {name}: {verdict}. {}.", shortfalls.join("; "));
        }
        let Some(step) = self.performance() else { return format!("Service {name}: {verdict} so far.") };
        let time = |ns: Option<f64>| ns.map_or("unknown".to_owned(), |ns| quantity(ns, "ns"));
        format!(
            "Service {name}: {verdict}. {} steps; with all services at once {}, {} lost, delay {}, variation {}.",
            self.steps.len() - 1,
            quantity(step.received_bps, "bps"),
            percent(step.flr),
            time(step.ftd_ns),
            time(step.fdv_ns)
        )
    }
}

impl Row for ServiceRow {
    fn findings(&self) -> Vec<Finding> {
        let at =
            |goal: &str, unit: &str| Finding { frame: self.service.name.clone(), ..Finding::new(goal, unit) };
        let known = || self.steps.iter().filter_map(|step| step.passed);
        let count = known().count();
        let share = (count > 0).then(|| known().filter(|passed| *passed).count() as f64 / count as f64);
        let shortfalls = self.shortfalls().join("; ");
        let performance = |of: fn(&ServiceStep) -> Option<f64>| self.performance().and_then(of);
        vec![
            at("service_activation", "ratio")
                .value(share)
                .note((!shortfalls.is_empty()).then_some(shortfalls)),
            at("service_ir", "bps").value(performance(|step| Some(step.received_bps))),
            at("service_flr", "ratio").value(performance(|step| Some(step.flr))),
            at("service_ftd", "ns").value(performance(|step| step.ftd_ns)),
            at("service_fdv", "ns").value(performance(|step| step.fdv_ns)),
            at("service_availability", "ratio").value(performance(|step| step.availability)),
        ]
    }

    fn has_failed(&self) -> bool {
        self.passed == Some(false)
    }

    fn is_unjudged(&self) -> bool {
        self.passed.is_none() && !self.steps.is_empty()
    }
}

impl Findings {
    /// The services that were tested; none if it was another method.
    pub fn services(&self) -> &[ServiceRow] {
        match self {
            Self::ServiceActivation(rows) => rows,
            _ => &[],
        }
    }
}

/// Requirement of a step for a service.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Ask {
    /// A per cent of the CIR: all criteria.
    Committed(u32),
    /// CIR + EIR: the CIR at least passes.
    Excess,
    /// More than that: no more than CIR + EIR passes.
    Policing,
    /// Green frames at the CIR, yellow ones above the EIR: all green ones pass, and no more than CIR + EIR.
    PolicingYellow,
    /// Yellow frames alone: what they may use of the CIR.
    Coupling,
    /// Bursts of the CBS: all criteria.
    Bursts,
    /// Bursts of CBS + EBS: the CBS at least passes.
    ExcessBursts,
    /// All services at once at their CIR.
    Performance,
}

impl Ask {
    fn name(self) -> String {
        match self {
            Self::Committed(share) => format!("{share}% of CIR"),
            Self::Excess => "CIR + EIR".into(),
            Self::Policing => "policing".into(),
            Self::PolicingYellow => "policing of yellow".into(),
            Self::Coupling => "coupling".into(),
            Self::Bursts => "CBS".into(),
            Self::ExcessBursts => "CBS + EBS".into(),
            Self::Performance => PERFORMANCE.into(),
        }
    }

    /// Load of the service's stream, which is that of green frames where it has colours.
    fn bps(self, service: &Service) -> u64 {
        match self {
            Self::Committed(share) => (u128::from(service.cir.bps) * u128::from(share) / 100) as u64,
            Self::Excess if service.yellow.is_some() => service.cir.bps,
            Self::Excess => service.cir.bps + service.eir_bps(),
            Self::Policing => service.overshoot_bps(),
            Self::Bursts => (service.cir.bps as f64 * BURSTS_SHARE) as u64,
            Self::ExcessBursts if service.yellow.is_some() => Self::Bursts.bps(service),
            Self::ExcessBursts => service.excess_bursts_bps(),
            Self::Coupling => 0,
            Self::PolicingYellow | Self::Performance => service.cir.bps,
        }
    }

    /// Bytes of a burst; `None`: evenly spaced.
    fn burst_bytes(self, service: &Service) -> Option<u64> {
        match self {
            Self::Bursts => service.cbs,
            Self::ExcessBursts if service.yellow.is_some() => service.cbs,
            Self::ExcessBursts => Some(service.bucket_bytes()),
            _ => None,
        }
    }

    /// Bits per second that must pass of what exceeds the CIR; `None` where all must.
    fn least_bps(self, service: &Service, step: &ServiceStep) -> Option<(f64, &'static str)> {
        match self {
            // Green frames are the committed ones.
            Self::Excess | Self::ExcessBursts if service.yellow.is_some() => None,
            Self::Excess | Self::Policing => Some((step.offered_bps.min(service.cir.bps as f64), "CIR")),
            Self::ExcessBursts => {
                let share = service.cbs.unwrap_or(0) as f64 / service.bucket_bytes().max(1) as f64;
                Some((step.offered_bps * share, "CBS"))
            }
            _ => None,
        }
    }

    /// Requirements that a service does not meet, in a step of this number of seconds.
    fn unmet(self, service: &Service, step: &ServiceStep, margin: f64, seconds: f64) -> Vec<String> {
        let mut unmet = step.yellow.as_ref().map_or(Vec::new(), |yellow| {
            let received_bps = step.received_bps;
            colours::unmet(self, service, yellow, received_bps, margin, seconds)
        });
        if self == Self::Coupling {
            return unmet;
        }
        let rate = |bps: f64| quantity(bps, "bps");
        let time = |ns: f64| quantity(ns, "ns");
        let most_time = |most: Nanos| time(most.0 as f64);
        if let Some((least, what)) = self.least_bps(service, step) {
            if step.received_bps < least * (1.0 - service.flr_max) {
                unmet.push(format!("{} received, less than the {what}", rate(step.received_bps)));
            }
            let most = service.most_bps(margin, seconds);
            if self == Self::Policing && step.received_bps > most {
                let what = service.policed_to(step, margin, seconds);
                unmet.push(format!("{} received, more than CIR + EIR: {what}", rate(step.received_bps)));
            }
            return unmet;
        }
        if step.flr > service.flr_max {
            unmet.push(format!("{} lost, at most {}", percent(step.flr), percent(service.flr_max)));
        }
        match (step.ftd_ns, step.fdv_ns) {
            (Some(ftd), Some(fdv)) => {
                if ftd > service.ftd_max.0 as f64 {
                    unmet.push(format!("delay {}, at most {}", time(ftd), most_time(service.ftd_max)));
                }
                if fdv > service.fdv_max.0 as f64 {
                    unmet.push(format!(
                        "delay variation {}, at most {}",
                        time(fdv),
                        most_time(service.fdv_max)
                    ));
                }
            }
            _ => unmet.push("nothing arrived".into()),
        }
        match step.availability {
            Some(share) if share < service.availability_min => {
                let least = percent(service.availability_min);
                unmet.push(format!("available in {} of the time, at least {least}", percent(share)));
            }
            None if self == Self::Performance => unmet.push("availability was not measured".into()),
            _ => {}
        }
        unmet
    }
}

/// All steps of all services, then all services at once.
#[derive(Debug, Clone)]
pub(crate) struct Activation {
    config: ServiceConfig,
    /// Remaining requests, the next one last: the service, none for all.
    left: Vec<(Option<usize>, Ask)>,
    running: Option<(Option<usize>, Ask)>,
    rows: Vec<ServiceRow>,
}

impl Activation {
    fn new(config: &ServiceConfig) -> Self {
        let mut left = vec![(None, Ask::Performance)];
        for (index, service) in config.services.iter().enumerate().rev() {
            left.extend(service.ebs.map(|_| (Some(index), Ask::ExcessBursts)));
            left.extend(service.cbs.map(|_| (Some(index), Ask::Bursts)));
            let in_colours = [Ask::Coupling, Ask::PolicingYellow].map(|ask| (Some(index), ask));
            left.extend(in_colours.into_iter().filter(|_| service.policing && service.yellow.is_some()));
            left.extend(service.policing.then_some((Some(index), Ask::Policing)));
            left.extend(service.eir.map(|_| (Some(index), Ask::Excess)));
            left.extend(config.steps_percent.iter().rev().map(|share| (Some(index), Ask::Committed(*share))));
        }
        let row =
            |service: &Service| ServiceRow { service: service.clone(), steps: Vec::new(), passed: None };
        Self { config: config.clone(), left, running: None, rows: config.services.iter().map(row).collect() }
    }

    /// A step of a service; `None` if none of its streams was in the trial.
    fn step(&self, ask: Ask, service: &Service, seen: &Seen<'_>) -> Option<ServiceStep> {
        let all = || seen.outcome.services.iter().zip(&seen.outcome.groups);
        let of = |stream: &str| all().find(|(outcome, _)| outcome.stream == stream);
        let yellow = service.yellow.as_deref().and_then(of).map(|(outcome, group)| YellowStep {
            asked_bps: ask.yellow_bps(service),
            offered_bps: outcome.offered_bps,
            received_bps: outcome.received_bps,
            flr: group.loss_ratio(),
        });
        let green = of(&service.name);
        if green.is_none() && yellow.is_none() {
            return None;
        }
        let outcome = green.map(|(outcome, _)| outcome);
        let latency = green.and_then(|(_, group)| group.latency.as_ref());
        let mut step = ServiceStep {
            step: ask.name(),
            asked_bps: ask.bps(service),
            offered_bps: outcome.map_or(0.0, |outcome| outcome.offered_bps),
            received_bps: outcome.map_or(0.0, |outcome| outcome.received_bps),
            flr: green.map_or(0.0, |(_, group)| group.loss_ratio()),
            ftd_ns: latency.map(|latency| latency.mean),
            fdv_ns: latency.map(crate::LatencySummary::pdv),
            yellow,
            policed: outcome.and_then(|outcome| outcome.policed).filter(|_| ask == Ask::Policing),
            availability: outcome
                .and_then(|outcome| outcome.availability)
                .filter(|_| ask == Ask::Performance),
            passed: None,
            because: Vec::new(),
        };
        let unmet = ask.unmet(service, &step, self.config.margin, seen.outcome.duration.as_secs_f64());
        // What a service passed it passed, whatever disturbed the tester, unless a pause makes it easier.
        let verdict = match ask {
            Ask::Policing | Ask::PolicingYellow | Ask::Coupling | Ask::Bursts | Ask::ExcessBursts => {
                seen.verdict_if_valid(unmet.is_empty())
            }
            _ => seen.verdict_if(unmet.is_empty()),
        };
        if verdict.is_known() {
            step.passed = Some(unmet.is_empty());
            step.because = unmet;
        }
        Some(step)
    }
}

impl Stage for Activation {
    fn next(&mut self) -> Option<Draft> {
        let (which, ask) = self.left.pop()?;
        self.running = Some((which, ask));
        let services = &self.config.services;
        let chosen: Vec<&Service> = match which {
            Some(index) => vec![&services[index]],
            None => services.iter().collect(),
        };
        let kind =
            TrialKind::Services { loads: chosen.iter().flat_map(|service| ask.loads(service)).collect() };
        let (name, length) = match which {
            Some(index) => (services[index].name.as_str(), self.config.step),
            None => ("all services", self.config.performance),
        };
        Some(Draft::special(kind, length).label(format!("{name}: {}", ask.name())))
    }

    fn take(&mut self, _: &Draft, seen: &Seen<'_>) {
        let Some((_, ask)) = self.running.take() else { return };
        let steps = |row: &ServiceRow| self.step(ask, &row.service, seen);
        let steps: Vec<Option<ServiceStep>> = self.rows.iter().map(steps).collect();
        for (row, step) in self.rows.iter_mut().zip(steps) {
            let Some(step) = step else { continue };
            row.steps.push(step);
            let all: Vec<Option<bool>> = row.steps.iter().map(|step| step.passed).collect();
            row.passed = match () {
                () if all.contains(&Some(false)) => Some(false),
                () if all.contains(&None) || row.performance().is_none() => None,
                () => Some(true),
            };
        }
    }

    fn decides(&self, _: &Draft, seen: &Seen<'_>) -> bool {
        let Some((_, ask)) = &self.running else { return false };
        let mut steps = self.rows.iter().filter_map(|row| self.step(*ask, &row.service, seen));
        steps.all(|step| step.passed.is_some())
    }
}

impl Procedure for Activation {
    fn name(&self) -> &'static str {
        "y1564-service-activation"
    }

    fn findings(&self) -> Findings {
        Findings::ServiceActivation(self.rows.clone())
    }

    fn summary(&self) -> Vec<String> {
        self.rows.iter().map(ServiceRow::sentence).collect()
    }

    fn remarks(&self) -> Vec<String> {
        let performance = self.config.performance;
        let short = performance < Nanos::from_secs(900);
        let remark =
            format!("The performance test lasted {performance}; ITU-T Y.1564 has 15 min, 2 h or 24 h.");
        short.then_some(remark).into_iter().collect()
    }
}

/// Label of trials of services: the service, or all of them.
pub(crate) fn frame(loads: &[ServiceLoad]) -> String {
    let of = |load: &ServiceLoad| load.yellow_of.clone().unwrap_or_else(|| load.stream.clone());
    let services: BTreeSet<String> = loads.iter().map(of).collect();
    let mut services = services.into_iter();
    match (services.next(), services.next()) {
        (Some(one), None) => one,
        _ => "all services".into(),
    }
}

/// The share of seconds in which a service was available, by whether more than half of the frames were lost in each (ITU-T Y.1563):
/// ten such seconds in a row begin an unavailable time, ten others end it. `None` without seconds.
pub fn availability(is_severe: &[bool]) -> Option<f64> {
    let (mut is_available, mut run, mut available) = (true, 0usize, 0usize);
    for severe in is_severe {
        available += usize::from(is_available);
        // A second that speaks for the other state.
        run = if *severe == is_available { run + 1 } else { 0 };
        if run == IN_A_ROW {
            // The ten seconds belong to the new state.
            available = if is_available { available - IN_A_ROW } else { available + IN_A_ROW };
            (is_available, run) = (!is_available, 0);
        }
    }
    (!is_severe.is_empty()).then(|| available as f64 / is_severe.len() as f64)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::outcome::{GroupOutcome, LatencySummary, ServiceOutcome, TrialOutcome};
    use crate::{MethodConfig, TrialRequest};

    pub(super) fn mbps(number: u64) -> BitRate {
        BitRate { bps: number * 1_000_000, layer: Layer::L2 }
    }

    /// A device that polices each service to this number of bits per second, with this delay.
    fn run(services: Vec<Service>, most: impl Fn(&str) -> f64, delay: Nanos) -> Vec<ServiceRow> {
        let config = ServiceConfig { services, ..ServiceConfig::default() };
        let mut method =
            MethodConfig::ServiceActivation(config).build(&Testbed::one_way(1_000_000_000)).unwrap();
        while let Some(request) = method.next_trial().trial() {
            method.record(&device(&request, &most, delay));
        }
        let Findings::ServiceActivation(rows) = method.result().findings else { panic!() };
        rows
    }

    fn device(request: &TrialRequest, most: &impl Fn(&str) -> f64, delay: Nanos) -> TrialOutcome {
        let pass = |load: &ServiceLoad| (most(&load.stream) / load.rate_bps as f64).min(1.0);
        passing(request, pass, delay)
    }

    /// The steps of a service with colours on a device that passes as much of green and yellow frames as `rule` lets it, bits/s.
    pub(super) fn verdicts(service: Service, rule: fn(f64, f64) -> (f64, f64)) -> Vec<ServiceStep> {
        let config = ServiceConfig { services: vec![service], ..ServiceConfig::default() };
        let mut method =
            MethodConfig::ServiceActivation(config).build(&Testbed::one_way(1_000_000_000)).unwrap();
        while let Some(request) = method.next_trial().trial() {
            let TrialKind::Services { loads } = &request.kind else { panic!() };
            let sum = |is_yellow: bool| {
                let of = loads.iter().filter(|load| load.yellow_of.is_some() == is_yellow);
                of.map(|load| load.rate_bps as f64).sum::<f64>()
            };
            let (green, yellow) = (sum(false), sum(true));
            let (green_passes, yellow_passes) = rule(green, yellow);
            let pass = |load: &ServiceLoad| {
                if load.yellow_of.is_some() { yellow_passes / yellow } else { green_passes / green }
            };
            method.record(&passing(&request, pass, Nanos::from_millis(1)));
        }
        let Findings::ServiceActivation(rows) = method.result().findings else { panic!() };
        rows.into_iter().flat_map(|row| row.steps).collect()
    }

    /// Passes a share of each load.
    fn passing(request: &TrialRequest, pass: impl Fn(&ServiceLoad) -> f64, delay: Nanos) -> TrialOutcome {
        let TrialKind::Services { loads } = &request.kind else { panic!() };
        let mut outcome = TrialOutcome { valid: true, duration: request.duration, ..TrialOutcome::default() };
        for load in loads {
            let (offered, frames) = (load.rate_bps as f64, load.rate_bps / 1_000);
            let passed = pass(load);
            let received = (frames as f64 * passed) as u64;
            let ns = delay.0 as f64;
            let latency = LatencySummary {
                samples: received,
                min: ns,
                mean: ns,
                p99_9: ns + 1e6,
                ..LatencySummary::default()
            };
            outcome.groups.push(GroupOutcome {
                group: load.stream.clone(),
                sent: frames,
                received,
                lost: frames - received,
                latency: Some(latency),
                ..GroupOutcome::default()
            });
            outcome.services.push(ServiceOutcome {
                stream: load.stream.clone(),
                offered_bps: offered,
                received_bps: offered * passed,
                availability: Some(1.0),
                policed: None,
            });
        }
        outcome
    }

    #[test]
    fn a_service_with_what_was_agreed_passes() {
        let service = Service { eir: Some(mbps(4)), policing: true, ..Service::default() };
        let rows = run(vec![service], |_| 14.1e6, Nanos::from_millis(1));
        assert_eq!(rows[0].passed, Some(true), "{rows:?}");
        let asked: Vec<u64> = rows[0].steps.iter().map(|step| step.asked_bps / 10_000).collect();
        assert_eq!(asked, [250, 500, 750, 1_000, 1_400, 1_500, 1_000]);
    }

    #[test]
    fn each_service_fails_by_what_it_lacks() {
        let named = |name: &str| Service { name: name.into(), policing: true, ..Service::default() };
        let most = |name: &str| match name {
            "short" => 8e6,
            "open" => 1e9,
            _ => 10.05e6,
        };
        let rows = run(vec![named("good"), named("short"), named("open")], most, Nanos::from_millis(1));
        let verdicts: Vec<_> = rows.iter().map(|row| (row.passed, row.shortfalls())).collect();
        assert_eq!(verdicts[0], (Some(true), vec![]));
        assert!(verdicts[1].1[0].starts_with("100% of CIR: 20% lost, at most 0.1%"), "{verdicts:?}");
        assert_eq!(verdicts[1].1.len(), 3, "{verdicts:?}");
        assert_eq!(
            verdicts[2].1,
            ["policing: 12.5 Mbps received, more than CIR + EIR: not policed, nothing was dropped in 10s"]
        );
        assert!(rows[1].has_failed() && !rows[0].has_failed());
        let slow = run(vec![named("slow")], |_| 10.05e6, Nanos::from_millis(30));
        assert!(
            slow[0].sentence().contains("25% of CIR: delay 30 ms, at most 25 ms"),
            "{}",
            slow[0].sentence()
        );
    }

    /// A bucket that is too small for the bursts that were agreed, and one that lets the excess of a burst go.
    #[test]
    fn bursts_must_pass_as_far_as_agreed() {
        let service =
            || Service { eir: Some(mbps(5)), cbs: Some(10_000), ebs: Some(20_000), ..Service::default() };
        let rows = run(vec![service()], |_| 6e6, Nanos::from_millis(1));
        let steps = &rows[0].steps;
        let names: Vec<&str> = steps.iter().map(|step| step.step.as_str()).collect();
        assert_eq!(names[4..], ["CIR + EIR", "CBS", "CBS + EBS", "performance"]);
        // Buckets fill in 8 ms and 32 ms: 30,000 bytes in 40 ms. A third of them must pass.
        assert_eq!((steps[5].asked_bps, steps[6].asked_bps), (8_000_000, 6_000_000));
        assert_eq!((steps[5].passed, steps[6].passed), (Some(false), Some(true)));
        assert!(steps[5].because[0].starts_with("25% lost"), "{steps:?}");
        let rows = run(vec![service()], |_| 1.9e6, Nanos::from_millis(1));
        assert_eq!(rows[0].steps[6].because, ["1.9 Mbps received, less than the CBS"]);
    }

    /// nftables' `limit rate over 240 kbytes/second burst 6000 bytes`: its bucket is a second of the rate deeper than written.
    #[test]
    fn a_policer_with_a_deep_bucket_is_one_all_the_same() {
        // 2.375 Mbit/s arrive; 240 kB leave a second, and 246 kB at once.
        let (mut bucket, mut intervals) = (246_000.0f64, Vec::new());
        for _ in 0..50 {
            let (sent, full) = (119u64, bucket + 48_000.0);
            let received = (full / 500.0).min(sent as f64) as u64;
            bucket = (full - received as f64 * 500.0).min(246_000.0);
            intervals.push((0.2, sent, received, received * 500));
        }
        let policed = Policed::of(&intervals).unwrap();
        assert!(
            (policed.bps - 1.92e6).abs() < 2e4 && (policed.burst_bytes - 246e3).abs() < 1e4,
            "{policed:?}"
        );
        assert!((3.8..4.6).contains(&policed.from_s), "{policed:?}");
        let cir = BitRate { bps: 1_900_000, layer: Layer::L2 };
        let service = Service { cir, cbs: Some(4_000), policing: true, ..Service::default() };
        let received_bps = intervals.iter().map(|interval| interval.3 as f64).sum::<f64>() * 8.0 / 10.0;
        let step = ServiceStep {
            step: Ask::Policing.name(),
            asked_bps: 2_375_000,
            offered_bps: 2.375e6,
            received_bps,
            flr: 0.05,
            ftd_ns: None,
            fdv_ns: None,
            yellow: None,
            policed: Some(policed),
            availability: None,
            passed: None,
            because: Vec::new(),
        };
        let unmet = Ask::Policing.unmet(&service, &step, 0.02, 10.0);
        assert!(
            unmet[0].contains("more than CIR + EIR: policed to 1.9")
                && unmet[0].ends_with("kB, more than the CBS"),
            "{unmet:?}"
        );
        assert_eq!(Policed::of(&intervals[..15]), None, "nothing dropped yet");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let check = |service: Service| {
            let config = ServiceConfig { services: vec![service], ..ServiceConfig::default() };
            config.check(&Testbed::one_way(1_000)).unwrap_err().to_string()
        };
        let at_layer_1 = BitRate { bps: 1, layer: Layer::L1 };
        assert!(check(Service { cir: at_layer_1, ..Service::default() }).contains("are of layer 2"));
        assert_eq!(
            check(Service { ebs: Some(1), ..Service::default() }),
            "services: 'service': ebs needs cbs and eir"
        );
        let buckets = Service { policing: true, cbs: Some(10_000_000), ..Service::default() };
        assert!(
            check(buckets)
                .starts_with("margin: the policing step of 'service' would send no more than may pass")
        );
        assert!(check(Service { flr_max: f64::NAN, ..Service::default() }).contains("must be from 0 to 1"));
    }

    #[test]
    fn what_the_tester_spoils_is_not_decided() {
        let config = ServiceConfig::default();
        let mut method =
            MethodConfig::ServiceActivation(config).build(&Testbed::one_way(1_000_000_000)).unwrap();
        while let Some(request) = method.next_trial().trial() {
            let good = device(&request, &|_| 1e9, Nanos::from_millis(1));
            method.record(&TrialOutcome { valid: request.number > 0, ..good });
            if request.number > 20 {
                break;
            }
        }
        let Findings::ServiceActivation(rows) = method.result().findings else { panic!() };
        assert_eq!(rows[0].passed, Some(true), "the first trial is run again");
    }

    #[test]
    fn ten_bad_seconds_in_a_row_are_unavailable() {
        let seconds = |parts: &[(bool, usize)]| -> Vec<bool> {
            parts.iter().flat_map(|(severe, n)| std::iter::repeat_n(*severe, *n)).collect()
        };
        let found = |parts: &[(bool, usize)]| availability(&seconds(parts)).unwrap();
        assert_eq!(availability(&[]), None);
        assert_eq!(found(&[(false, 20), (true, 9), (false, 11)]), 1.0);
        assert_eq!(found(&[(false, 20), (true, 10), (false, 10)]), 0.75);
        // Nine good seconds do not end it.
        assert_eq!(found(&[(false, 20), (true, 10), (false, 9), (true, 1)]), 0.5);
    }
}
