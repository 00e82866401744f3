//! Requests to an agent beside the messages of runs: start a process, read the clock.

use crate::bucket::Token;
use agent::{Hello, KernelTime};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Starts a process for a run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Open {
    /// The controller's program.
    pub(crate) hello: Hello,
    /// Which controller.
    pub(crate) controller: String,
    /// Name of the link.
    pub(crate) run: String,
    /// The agent's ports that the run opens, with the tokens of their leases.
    pub(crate) ports: Vec<(String, Token)>,
    /// Number of workers.
    pub(crate) cores: usize,
}

/// The agent's reply: the cores it chose, or why it refuses.
pub(crate) type Opened = Result<Vec<usize>, String>;

/// Holder of a lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Holder {
    /// Which controller.
    pub(crate) controller: String,
    /// For whom, in words.
    pub(crate) holder: String,
}

/// An agent's time when a request came, and when the reply left: CLOCK_MONOTONIC, ns.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct Times {
    pub(crate) received: u64,
    pub(crate) sent: u64,
    /// The kernel's state of synchronization, if a daemon keeps the machine's time.
    #[serde(default)]
    pub(crate) kernel: Option<KernelTime>,
}

/// This machine's state of synchronization.
pub(crate) fn kernel_time() -> Option<KernelTime> {
    let time = os::clock::synchronized()?;
    Some(KernelTime {
        monotonic_ns: time.monotonic_ns,
        real_ns: time.real_ns,
        window_ns: time.window_ns,
        error_max_ns: time.error_max_ns,
    })
}

/// A message as bytes.
pub(crate) fn packed(message: &impl Serialize) -> Vec<u8> {
    // Of numbers, strings and lists.
    serde_json::to_vec(message).unwrap_or_default()
}

/// Bytes as a message.
pub(crate) fn unpacked<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, String> {
    serde_json::from_slice(bytes).map_err(|error| format!("a message of another kind: {error}"))
}
