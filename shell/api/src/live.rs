//! Figures of a run while it runs.

use crate::State;
use result::{IntervalDocument, TotalDocument};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Names of the columns of live figures, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Names {
    /// Ports.
    pub ports: Vec<String>,
    /// Streams.
    pub streams: Vec<String>,
    /// Groups of streams.
    pub groups: Vec<String>,
    /// Entries under `sessions`.
    pub sessions: Vec<String>,
}

/// Live figures of a run in columns, ten times a second at most. Null: not measured.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Live {
    /// Time since traffic started, s.
    pub at_s: f64,
    /// Length of the interval, s.
    pub interval_s: f64,
    /// Whether sending is over and the run waits for late packets.
    pub draining: bool,
    /// Ports.
    pub ports: LivePorts,
    /// Streams.
    pub streams: LiveStreams,
    /// Entries under `sessions`.
    pub sessions: LiveSessions,
    /// Latency of all streams in the interval.
    pub latency: Option<Latency>,
    /// Workers.
    pub workers: Vec<WorkerLoad>,
    /// Disturbances of the tester in the interval.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbances: Vec<String>,
    /// In events of a campaign: names of the running trial's columns. Those of a run are in the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub names: Option<Names>,
}

/// Ports in columns.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct LivePorts {
    /// Packets sent per second.
    pub tx_pps: Vec<f64>,
    /// Packets received per second.
    pub rx_pps: Vec<f64>,
    /// Bits sent per second, layer 1.
    pub tx_bps_l1: Vec<f64>,
    /// Bits received per second, layer 1.
    pub rx_bps_l1: Vec<f64>,
    /// Packets sent since the start.
    pub tx_packets: Vec<u64>,
    /// Packets received since the start.
    pub rx_packets: Vec<u64>,
}

/// Streams in columns.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct LiveStreams {
    /// Packets sent per second.
    pub tx_pps: Vec<f64>,
    /// Test packets received per second.
    pub rx_pps: Vec<f64>,
    /// Packets sent since the start.
    pub tx: Vec<u64>,
    /// Test packets received since the start.
    pub rx: Vec<Option<u64>>,
    /// Packets sent and not received since the start: lost, or still on the way.
    pub lost: Vec<Option<u64>>,
    /// Median latency in the interval, ns.
    pub latency_p50_ns: Vec<Option<u64>>,
    /// 99th percentile of latency in the interval, ns.
    pub latency_p99_ns: Vec<Option<u64>>,
    /// Maximum latency in the interval, ns.
    pub latency_max_ns: Vec<Option<u64>>,
}

/// Sessions in columns.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct LiveSessions {
    /// Open sessions.
    pub active: Vec<i64>,
    /// Sessions established per second.
    pub open_per_s: Vec<f64>,
    /// Responses per second.
    pub transactions_per_s: Vec<f64>,
    /// Application bits received per second.
    pub rx_bps_goodput: Vec<f64>,
    /// Sessions failed since the start.
    pub failed: Vec<u64>,
    /// Sessions established since the start.
    pub established: Vec<u64>,
}

/// Latency percentiles, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "LiveLatency")]
pub struct Latency {
    /// Median.
    pub p50_ns: Option<u64>,
    /// 90th percentile.
    pub p90_ns: Option<u64>,
    /// 95th percentile.
    pub p95_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p99_9_ns: Option<u64>,
    /// Maximum.
    pub max_ns: u64,
}

/// Load of a worker.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerLoad {
    /// Core; null if the worker is bound to none.
    pub core: Option<usize>,
    /// Share of time in which it was busy.
    pub busy_ratio: f64,
}

/// Everything known of a run: the last interval and the totals.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Snapshot {
    /// Id of the run.
    pub id: String,
    /// State.
    pub state: State,
    /// Time since traffic started, s.
    pub at_s: f64,
    /// Planned duration of traffic, s.
    pub duration_s: f64,
    /// `eagre.interval/1`: the last interval; null before the first.
    pub interval: Option<IntervalDocument>,
    /// Totals since the start. Packets on the way count as lost until they arrive.
    pub total: TotalDocument,
    /// Workers.
    pub workers: Vec<WorkerLoad>,
    /// Neighbours that were resolved before traffic started, or whose MAC address is given.
    #[serde(default)]
    pub neighbours: Vec<Neighbour>,
}

/// A resolved neighbour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Neighbour {
    /// Name of the port in the profile.
    pub port: String,
    /// Name of the host behind the port that resolved it; the port's own host has the port's name.
    #[serde(default)]
    pub host: String,
    /// IP address.
    pub ip: String,
    /// MAC address: `02:00:00:00:00:01`.
    pub mac: String,
}
