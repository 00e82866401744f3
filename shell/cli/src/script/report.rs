//! The result document of a script, `eagre.script/1`. The child writes its part; its parent adds the rest, which may be
//! all.

use super::ScriptArgs;
use ::script::{Outcome, PortCounts};
use confine::Confined;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::time::Duration;
use units::count;

/// Longest document that a child can leave.
const BYTES_MAX: u64 = 256 << 20;

/// Result of a script. Its own packets are not measured, as they have no signature; streams and sessions are (`runs`).
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ScriptResult")]
pub(super) struct Report {
    #[schemars(extend("const" = "eagre.script/1"))]
    schema: String,
    /// Version of Eagre.
    version: String,
    /// Script file.
    script: String,
    /// SHA-256 of the script, hexadecimal.
    script_sha256: String,
    /// The script's own arguments.
    arguments: Vec<String>,
    /// 'done'; 'failed': an error in it, an expectation not met, or its own exit code; 'crashed'; 'aborted': by the deadline or twice
    /// Ctrl-C.
    #[schemars(extend("enum" = ["done", "failed", "crashed", "aborted"]))]
    outcome: String,
    /// Why, unless it is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    /// Time from start to end, seconds.
    duration_s: f64,
    /// Where times of packets are from.
    #[schemars(extend("const" = "software"))]
    timestamp_class: String,
    /// Restrictions that the kernel enforces on the script. Absent if the process ended before reporting them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    confined: Option<ConfinedBy>,
    /// Ports, as the script numbers them from 0; absent if the process ended before reporting them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ports: Option<Vec<PortReport>>,
    /// Tasks that failed.
    #[serde(default)]
    failed_tasks: Vec<FailedTask>,
    /// Expectations of the script (`eagre.expect`) that were not met.
    #[serde(default)]
    unmet: Vec<String>,
    /// Value set by the script with `eagre.result`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    result: Option<Value>,
    /// Result documents of its runs of streams and sessions, as `eagre run` writes them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    runs: Vec<Value>,
}

/// Counts of a port; bytes include the FCS.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "ScriptPort")]
struct PortReport {
    /// Device string.
    device: String,
    /// Packets sent, as far as driver and kernel took them: `driver_drops` counts the ones of them that did not leave.
    tx_packets: u64,
    /// Bytes of these packets.
    tx_bytes: u64,
    /// Packets that were to be sent, and were not.
    tx_unsent: u64,
    /// Packets received.
    rx_packets: u64,
    /// Bytes received.
    rx_bytes: u64,
    /// Received packets that no task took in time.
    rx_lost: u64,
    /// Frames dropped by driver and kernel, by direction and reason.
    driver_drops: BTreeMap<String, u64>,
}

/// Restrictions that the kernel enforces on the script.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Confined")]
struct ConfinedBy {
    /// Files elsewhere.
    files: bool,
    /// Programs, sockets and settings of the machine.
    calls: bool,
    /// Processes of other users: the script runs as a separate user. False if the command does not run as root.
    user: bool,
}

/// A task that failed.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct FailedTask {
    /// Name of its function; the first is 'master'.
    task: String,
    /// Why, with the place in the script.
    reason: String,
}

impl Report {
    /// The child's report before the script starts.
    pub(super) fn begun(confined: Confined) -> Self {
        let confined = ConfinedBy { files: confined.files, calls: confined.calls, user: confined.user };
        Self { confined: Some(confined), ..Self::default() }
    }

    /// Whether the script started and its process ended before reporting an outcome.
    pub(super) fn is_cut_short(&self) -> bool {
        self.confined.is_some() && self.ports.is_none()
    }

    /// The child's report at its end.
    pub(super) fn of(outcome: &Outcome, confined: Confined) -> Self {
        let failed =
            |(task, reason): &(String, String)| FailedTask { task: task.clone(), reason: reason.clone() };
        Self {
            ports: Some(outcome.ports.iter().map(port).collect()),
            failed_tasks: outcome.failed.iter().map(failed).collect(),
            unmet: outcome.unmet.clone(),
            result: outcome.result.as_deref().map(|text| serde_json::from_str(text).unwrap_or(Value::Null)),
            runs: outcome.runs.clone(),
            ..Self::begun(confined)
        }
    }

    /// Reads the child's report, if there is one. A script can write anything there.
    pub(super) fn read(path: &Path) -> Self {
        let mut text = Vec::new();
        let read = File::open(path).and_then(|file| file.take(BYTES_MAX).read_to_end(&mut text));
        read.ok().and_then(|_| serde_json::from_slice(&text).ok()).unwrap_or_default()
    }

    /// Adds what was run, and its duration.
    pub(super) fn describe(&mut self, args: &ScriptArgs, text: &[u8], time: Duration) {
        "eagre.script/1".clone_into(&mut self.schema);
        env!("CARGO_PKG_VERSION").clone_into(&mut self.version);
        "software".clone_into(&mut self.timestamp_class);
        self.script = args.file.display().to_string();
        self.script_sha256 = store::sha256(&String::from_utf8_lossy(text));
        self.arguments.clone_from(&args.arguments);
        self.duration_s = time.as_secs_f64();
    }

    /// Adds how it ended.
    pub(super) fn end(&mut self, outcome: &str, reason: Option<String>) {
        outcome.clone_into(&mut self.outcome);
        self.reason = reason;
    }

    /// Packets of the script that driver and kernel took and dropped, a sentence for each port.
    pub(super) fn dropped(&self) -> Vec<String> {
        let sentence = |port: &PortReport| {
            let reasons =
                || port.driver_drops.iter().filter_map(|(name, n)| Some((name.strip_prefix("tx_")?, n)));
            let all: u64 = reasons().map(|(_, n)| n).sum();
            let named: Vec<String> = reasons().map(|(name, n)| format!("{name} {}", count(*n))).collect();
            (all > 0).then(|| {
                format!(
                    "{} of the {} packets sent on {} did not leave: {}",
                    count(all),
                    count(port.tx_packets),
                    port.device,
                    named.join(", ")
                )
            })
        };
        self.ports.iter().flatten().filter_map(sentence).collect()
    }

    /// Reason of the failure, as far as reported.
    pub(super) fn failure(&self) -> Option<String> {
        if let Some(failed) = self.failed_tasks.first() {
            return Some(format!(
                "task {}: {}",
                failed.task,
                failed.reason.lines().next().unwrap_or_default()
            ));
        }
        let first = self.unmet.first()?;
        Some(format!(
            "{} not met, first: {first}",
            if self.unmet.len() == 1 { "an expectation was" } else { "expectations were" }
        ))
    }
}

/// JSON Schema of the document.
pub(crate) fn schema() -> Value {
    result::schema_of::<Report>()
}

fn port(counts: &PortCounts) -> PortReport {
    PortReport {
        device: counts.device.clone(),
        tx_packets: counts.tx_packets,
        tx_bytes: counts.tx_bytes,
        tx_unsent: counts.tx_unsent,
        rx_packets: counts.rx_packets,
        rx_bytes: counts.rx_bytes,
        rx_lost: counts.rx_lost,
        driver_drops: counts.dropped.iter().cloned().collect(),
    }
}
