//! What the store and programs are told of a campaign: the machine it ran on, what it found.

use crate::{Campaign, Report};
use profile::Plan;
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

impl Campaign {
    /// What was found, `eagre.campaign/1`; `id` is the campaign's name in the store.
    pub fn document(&self, id: &str, report: &Report) -> Value {
        let mut document = json!({
            "schema": "eagre.campaign/1",
            "version": env!("CARGO_PKG_VERSION"),
            "id": id,
            "name": self.name,
            "seed": self.plan.seed,
            "profile_sha256": self.plan.profile_sha256,
        });
        let found = serde_json::to_value(report).unwrap_or_default();
        if let (Some(all), Some(found)) = (document.as_object_mut(), found.as_object()) {
            all.extend(found.clone());
        }
        document
    }
}
