//! Which method, and how: what a profile or a store names, and where a method is made of it.

use crate::addresses::{AddressConfig, Addresses};
use crate::back_to_back::{BackToBack, BackToBackConfig};
use crate::latency::{Latency, LatencyConfig};
use crate::loss::{FrameLoss, LossConfig};
use crate::method::Method;
use crate::mlr::{Mlr, MlrConfig};
use crate::mrr::{Mrr, MrrConfig};
use crate::recovery::{RecoveryConfig, Reset, ResetConfig, SystemRecovery};
use crate::run::Run;
use crate::self_test::{SelfTest, SelfTestConfig};
use crate::sessions::{SessionConfig, SessionLatency, SessionLatencyConfig, SessionSearch};
use crate::soak::{Soak, SoakConfig};
use crate::sweep::{Sweep, SweepConfig};
use crate::tcp::{TcpConfig, TcpThroughput};
use crate::testbed::{Frames, Testbed};
use crate::throughput::{Throughput, ThroughputConfig};
use crate::trial::{Application, Phases};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// What is wrong with a configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {reason}")]
pub struct ConfigError {
    /// Which field.
    pub field: String,
    /// Why.
    pub reason: String,
}

impl ConfigError {
    pub(crate) fn new(field: &str, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }
}

/// A method with its configuration.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MethodConfig {
    /// RFC 2544 section 26.1.
    Throughput(ThroughputConfig),
    /// RFC 2544 section 26.2.
    Latency(LatencyConfig),
    /// RFC 2544 section 26.3.
    FrameLoss(LossConfig),
    /// RFC 9004.
    BackToBack(BackToBackConfig),
    /// RFC 2544 section 26.5.
    Recovery(RecoveryConfig),
    /// RFC 6201.
    Reset(ResetConfig),
    /// MLRsearch.
    Mlr(MlrConfig),
    /// Forwarding rate at full load.
    Mrr(MrrConfig),
    /// A load held for long.
    Soak(SoakConfig),
    /// Loss and latency over load.
    Sweep(SweepConfig),
    /// RFC 2889 sections 5.7 and 5.8.
    Addresses(AddressConfig),
    /// RFC 9411 sections 7.2, 7.3 and 7.5, and a load of sessions in steps.
    Sessions(SessionConfig),
    /// RFC 9411 section 7.4.
    SessionLatency(SessionLatencyConfig),
    /// The tester alone.
    SelfTest(SelfTestConfig),
    /// RFC 6349.
    Tcp(TcpConfig),
}

impl MethodConfig {
    /// Whether the method can run on `bed`.
    ///
    /// # Errors
    /// The first field that makes no sense.
    pub fn check(&self, bed: &Testbed) -> Result<(), ConfigError> {
        bed.check()?;
        match self {
            Self::Throughput(config) => config.check(),
            Self::Latency(config) => config.check(bed),
            Self::FrameLoss(config) => config.check(),
            Self::BackToBack(config) => config.check(bed),
            Self::Recovery(config) => config.check(bed),
            Self::Reset(config) => config.check(bed),
            Self::Mlr(config) => config.check(bed),
            Self::Mrr(config) => config.check(),
            Self::Soak(config) => config.check(bed),
            Self::Sweep(config) => config.check(),
            Self::Addresses(config) => config.check(),
            Self::Sessions(config) => config.check(),
            Self::SessionLatency(config) => config.check(),
            Self::SelfTest(config) => config.check(),
            Self::Tcp(config) => config.check(bed),
        }
    }

    /// The method, at its beginning.
    ///
    /// # Errors
    /// If the configuration makes no sense.
    pub fn build(&self, bed: &Testbed) -> Result<Box<dyn Method>, ConfigError> {
        self.check(bed)?;
        Ok(match self {
            Self::Throughput(config) => Box::new(Run::new(Throughput::new(config, bed), bed)),
            Self::Latency(config) => Box::new(Run::new(Latency::new(config, bed), bed)),
            Self::FrameLoss(config) => Box::new(Run::new(FrameLoss::new(config, bed), bed)),
            Self::BackToBack(config) => Box::new(Run::new(BackToBack::new(config, bed), bed)),
            Self::Recovery(config) => Box::new(Run::new(SystemRecovery::new(config, bed), bed)),
            Self::Reset(config) => Box::new(Run::new(Reset::new(config, bed), bed)),
            Self::Mlr(config) => Box::new(Run::new(Mlr::new(config, bed), bed)),
            Self::Mrr(config) => Box::new(Run::new(Mrr::new(config, bed), bed)),
            Self::Soak(config) => Box::new(Run::new(Soak::new(config, bed), bed)),
            Self::Sweep(config) => Box::new(Run::new(Sweep::new(config, bed), bed)),
            Self::Addresses(config) => Box::new(Run::new(Addresses::new(config, bed), bed)),
            Self::Sessions(config) => Box::new(Run::new(SessionSearch::new(config), bed)),
            Self::SessionLatency(config) => Box::new(Run::new(SessionLatency::new(config), bed)),
            Self::SelfTest(config) => Box::new(Run::new(SelfTest::new(config, bed), bed)),
            Self::Tcp(config) => Box::new(Run::new(TcpThroughput::new(config, bed), bed)),
        })
    }
}

/// The session series T1 to T4: what the tester can do; throughput both ways at `sizes` of 400 B and more; raw TCP
/// sessions per second in `step`s up to failure, pinned; HTTP GETs of padded requests against a real server, likewise.
/// T2 wants a testbed with both directions.
pub fn session_series(sizes: Vec<Frames>, step: u64, maximum: u64) -> [MethodConfig; 4] {
    let throughput = ThroughputConfig { sizes, ..ThroughputConfig::default() };
    let raw = SessionConfig::ramp(step, maximum);
    let get = |bytes| Application { request_bytes: bytes, ..Application::http(bytes, 1) };
    let http = SessionConfig {
        apps: raw.apps.iter().map(|app| get(app.request_bytes)).collect(),
        phases: Phases { sustain: Nanos::from_secs(90), ..raw.phases },
        flows: 0,
        ..raw.clone()
    };
    [
        MethodConfig::SelfTest(SelfTestConfig::default()),
        MethodConfig::Throughput(throughput),
        MethodConfig::Sessions(raw),
        MethodConfig::Sessions(http),
    ]
}
