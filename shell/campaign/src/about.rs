//! The document of a campaign, and the machine it ran on.

use crate::{Campaign, Ended, Report};
use methods::MethodResult;
use profile::Plan;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Value, json};

/// The doctor's findings.
pub fn findings() -> Value {
    let rows = os::doctor::examine(&engine::dpdk_abis());
    let rows = rows.iter().map(|f| {
        json!({"check": f.check, "status": f.status.word(), "found": f.found, "why": f.why, "remedy": f.remedy})
    });
    rows.collect()
}

/// Kernel, processor, versions, the ports of a plan, and the doctor's findings.
pub fn environment(plan: &Plan) -> Value {
    let line = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let cpu = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        cpu.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": ").map(|(_, name)| name));
    let ports = plan.ports.iter().map(|port| (port.name.clone(), Value::from(port.device.clone())));
    json!({
        "eagre": env!("CARGO_PKG_VERSION"),
        "dpdk": engine::dpdk_version_for(plan.ports.iter().map(|port| port.device.as_str())),
        "kernel": line("/proc/sys/kernel/osrelease"),
        "host": line("/proc/sys/kernel/hostname"),
        "cpu": model,
        "cores": os::cpu::of_process().len(),
        "ports": ports.collect::<serde_json::Map<_, _>>(),
        "doctor": findings(),
    })
}

/// Findings of a campaign, `eagre.campaign/1`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CampaignDocument<'a> {
    /// `eagre.campaign/1`.
    pub schema: &'static str,
    /// Version of the program.
    pub version: &'static str,
    /// Id in the store.
    pub id: &'a str,
    /// Name of the campaign.
    pub name: &'a str,
    /// Seed of everything random.
    pub seed: u64,
    /// SHA-256 of the profile's text.
    pub profile_sha256: &'a str,
    /// Its end.
    pub ended: CampaignEnd,
    /// Why it failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'a str>,
    /// Result of each method that was started.
    pub results: &'a [MethodResult],
    /// Parts that were left out, with the reason.
    pub left_out: &'a [String],
}

/// End of a campaign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CampaignEnd {
    /// All methods are complete.
    Done,
    /// A method failed.
    Failed,
    /// Stopped by the user; it can be resumed.
    Interrupted,
}

impl Campaign {
    /// Findings; `id` is the campaign's id in the store.
    pub fn document<'a>(&'a self, id: &'a str, report: &'a Report) -> CampaignDocument<'a> {
        let (ended, why) = match &report.ended {
            Ended::Done => (CampaignEnd::Done, None),
            Ended::Failed(why) => (CampaignEnd::Failed, Some(why.as_str())),
            Ended::Interrupted => (CampaignEnd::Interrupted, None),
        };
        CampaignDocument {
            schema: "eagre.campaign/1",
            version: env!("CARGO_PKG_VERSION"),
            id,
            name: &self.name,
            seed: self.plan.seed,
            profile_sha256: &self.plan.profile_sha256,
            ended,
            why,
            results: &report.results,
            left_out: &report.left_out,
        }
    }
}
