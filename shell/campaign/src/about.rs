//! The document of a campaign, and the machine it ran on.

use crate::{Campaign, Report};
use profile::Plan;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// The doctor's findings.
pub fn findings() -> Value {
    let rows = os::doctor::examine();
    let rows = rows.iter().map(|f| {
        json!({"check": f.check, "status": f.status.word(), "found": f.found, "why": f.why, "remedy": f.remedy})
    });
    rows.collect()
}

/// Kernel, processor, versions, the ports of a plan, and what the doctor says.
pub fn environment(plan: &Plan) -> Value {
    let line = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|(_, name)| name));
    let ports = plan.ports.iter().map(|port| (port.name.clone(), Value::from(port.device.clone())));
    json!({
        "eagre": env!("CARGO_PKG_VERSION"),
        "dpdk": engine::dpdk_version(),
        "kernel": line("/proc/sys/kernel/osrelease"),
        "host": line("/proc/sys/kernel/hostname"),
        "cpu": model,
        "cores": os::cpu::allowed().len(),
        "ports": ports.collect::<serde_json::Map<_, _>>(),
        "doctor": findings(),
    })
}

/// The document of a campaign, `eagre.campaign/1`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct CampaignDocument<'a> {
    /// `eagre.campaign/1`.
    pub schema: &'static str,
    /// Version of Eagre.
    pub version: &'static str,
    /// Its name in the store.
    pub id: &'a str,
    /// Its name for people.
    pub name: &'a str,
    /// Seed of everything random.
    pub seed: u64,
    /// SHA-256 of the profile.
    pub profile_sha256: &'a str,
    /// The outcome.
    #[serde(flatten)]
    pub report: &'a Report,
}

impl Campaign {
    /// The document of this campaign; `id` is its name in the store.
    pub fn document<'a>(&'a self, id: &'a str, report: &'a Report) -> CampaignDocument<'a> {
        CampaignDocument {
            schema: "eagre.campaign/1",
            version: env!("CARGO_PKG_VERSION"),
            id,
            name: &self.name,
            seed: self.plan.seed,
            profile_sha256: &self.plan.profile_sha256,
            report,
        }
    }
}
