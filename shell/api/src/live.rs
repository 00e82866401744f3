//! Figures of a run while it runs.

use crate::State;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

/// Names in the order of the columns of live figures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Names {
    /// Ports.
    pub ports: Vec<String>,
    /// Streams.
    pub streams: Vec<String>,
    /// Groups of streams.
    pub groups: Vec<String>,
    /// Entries under 'sessions'.
    pub sessions: Vec<String>,
}

/// A look at a run, in columns: ten times a second, whatever the number of streams.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct Live {
    /// Since traffic started, s.
    pub at_s: f64,
    /// Since the look before, s.
    pub interval_s: f64,
    /// Whether sending is over and late packets are waited for.
    pub draining: bool,
    /// Ports.
    pub ports: LivePorts,
    /// Streams.
    pub streams: LiveStreams,
    /// Entries under 'sessions'.
    pub sessions: LiveSessions,
    /// All streams together in the interval.
    pub latency: Option<Latency>,
    /// The cores that do the work.
    pub workers: Vec<WorkerLoad>,
}

/// Ports in columns.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct LivePorts {
    /// Packets per second sent.
    pub tx_pps: Vec<f64>,
    /// Packets per second received.
    pub rx_pps: Vec<f64>,
    /// Bits per second at layer 1 sent.
    pub tx_bps_l1: Vec<f64>,
    /// Bits per second at layer 1 received.
    pub rx_bps_l1: Vec<f64>,
    /// Packets sent since the start.
    pub tx_packets: Vec<u64>,
    /// Packets received since the start.
    pub rx_packets: Vec<u64>,
}

/// Streams in columns; `null` is "not measured".
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct LiveStreams {
    /// Packets per second sent.
    pub tx_pps: Vec<f64>,
    /// Test packets per second received.
    pub rx_pps: Vec<f64>,
    /// Packets sent since the start.
    pub tx: Vec<u64>,
    /// Test packets received since the start.
    pub rx: Vec<Option<u64>>,
    /// Sent and not received since the start: lost, or still under way.
    pub lost: Vec<Option<u64>>,
    /// Median latency of the interval, ns.
    pub latency_p50_ns: Vec<Option<u64>>,
    /// 99th percentile of the interval, ns.
    pub latency_p99_ns: Vec<Option<u64>>,
    /// Highest of the interval, ns.
    pub latency_max_ns: Vec<Option<u64>>,
}

/// Sessions in columns.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct LiveSessions {
    /// Open now.
    pub active: Vec<i64>,
    /// Established per second.
    pub open_per_s: Vec<f64>,
    /// Responses per second.
    pub transactions_per_s: Vec<f64>,
    /// Bits of applications received per second.
    pub rx_bps_goodput: Vec<f64>,
    /// Failed since the start.
    pub failed: Vec<u64>,
    /// Established since the start.
    pub established: Vec<u64>,
}

/// Latency percentiles, ns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Latency {
    /// Median.
    pub p50_ns: Option<u64>,
    /// 90th percentile.
    pub p90_ns: Option<u64>,
    /// 99th percentile.
    pub p99_ns: Option<u64>,
    /// 99.9th percentile.
    pub p99_9_ns: Option<u64>,
    /// Highest.
    pub max_ns: u64,
}

/// How busy a worker was.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WorkerLoad {
    /// Its core.
    pub core: Option<usize>,
    /// The share of its time it had work.
    pub busy_ratio: f64,
}

/// A look at a run with everything that is known.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct Snapshot {
    /// The run.
    pub id: String,
    /// How far it is.
    pub state: State,
    /// Since traffic started, s.
    pub at_s: f64,
    /// How long it sends, s.
    pub duration_s: f64,
    /// `eagre.interval/1`: what happened since the look before.
    #[schema(value_type = Object)]
    pub interval: Value,
    /// What happened since the start.
    pub total: Totals,
    /// The cores that do the work.
    pub workers: Vec<WorkerLoad>,
    /// Neighbours that answered before traffic began, or whose hardware address was given.
    #[serde(default)]
    pub neighbours: Vec<Neighbour>,
}

/// A neighbour that has answered a port's question by ARP or neighbour discovery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Neighbour {
    /// The port's name in the profile.
    pub port: String,
    /// The name of the host behind the port that asked; the port's own host has that of the port.
    #[serde(default)]
    pub host: String,
    /// The neighbour's address.
    pub ip: String,
    /// Its hardware address: `02:00:00:00:00:01`.
    pub mac: String,
}

/// What happened since the start, in the shapes of `eagre.result/1`; packets under way count as lost until they arrive.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct Totals {
    /// By port name.
    #[schema(value_type = Object)]
    pub ports: Map<String, Value>,
    /// By stream name.
    #[schema(value_type = Object)]
    pub streams: Map<String, Value>,
    /// By group and row.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub groups: Map<String, Value>,
    /// By entry.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub sessions: Map<String, Value>,
}
