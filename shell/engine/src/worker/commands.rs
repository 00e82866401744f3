//! Commands of control to a running worker, and the worker's events of pings and hosts that control runs.

use super::detour::Detour;
use neighbour::Claim;
use sched::Factor;
use session::Scale;
use std::sync::Arc;
use units::Nanos;

/// A command of control to a running worker.
#[derive(Debug, Clone)]
pub(crate) enum WorkerCommand {
    /// Send some streams at another rate.
    SetRate(RateStep),
    /// Open sessions of some entries, and send their requests, at another rate.
    ScaleSessions(SessionStep),
    /// Pass on frames that may be replies to pings or concern hosts that control runs, or stop doing so.
    Overhear(bool),
    /// Send frames of a ping, or of such hosts, at most a burst. The first of the workers that send on the port does.
    SendFrames {
        /// Index of the port.
        port: usize,
        frames: Arc<[Vec<u8>]>,
        tag: Option<PingTag>,
    },
    /// Send nothing of some streams from an instant on.
    RemoveStreams(Removal),
    /// Let arrivals of some streams at a port count against outages, or not.
    CountArrivals {
        /// Index of the port.
        port: usize,
        /// Their indices.
        streams: Arc<[u32]>,
        on: bool,
    },
    /// Send what goes to a neighbour that has moved to its new hardware address, and report a [`Survey`].
    Follow(Arc<Detour>),
    /// Report another one.
    Survey(Arc<Detour>),
    /// Send nothing that is due at this time of the schedule, or at the time when a worker knows of it if that is later, or after it.
    Stop(Nanos),
}

/// Another rate for some streams.
#[derive(Debug, Clone)]
pub(crate) struct RateStep {
    /// Indices of the streams, ascending; `None` is all.
    pub(crate) streams: Option<Vec<u32>>,
    pub(crate) factor: Factor,
    /// When, on the schedule's time.
    pub(crate) at: Nanos,
}

/// Streams that end.
#[derive(Debug, Clone)]
pub(crate) struct Removal {
    /// Their indices, ascending.
    pub(crate) streams: Arc<[u32]>,
    /// When, on the schedule's time.
    pub(crate) at: Nanos,
}

/// Another rate for some entries of sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SessionStep {
    /// Indices of the entries.
    pub(crate) entries: Vec<usize>,
    pub(crate) scale: Scale,
    /// When, since the start of traffic.
    pub(crate) at: Nanos,
}

/// The ping a frame belongs to, and the sequence number of an echo request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PingTag {
    pub(crate) number: u64,
    pub(crate) sequence: Option<u16>,
}

/// Maximum number of queued events of pings and hosts from a worker to control. Events without room are requested, or
/// sent, again.
pub(crate) const HOST_EVENTS_MAX: usize = 1_024;

/// Event of a worker about pings and the hosts that control runs.
#[derive(Debug)]
pub(crate) enum HostEvent {
    /// A requested frame left.
    Sent { tag: PingTag, at: Nanos },
    /// A frame that may be a reply, or for one of the hosts, arrived.
    Received { port: usize, at: Nanos, frame: Vec<u8> },
    /// A neighbour that is watched has, or may have, this hardware address.
    Claimed { port: usize, at: Nanos, claim: Claim },
    /// Progress of the streams to a neighbour that has moved.
    Surveyed { number: u64, at: Nanos, survey: Survey },
}

/// Packets of some streams sent and received by one worker.
#[derive(Debug, Default)]
pub(crate) struct Survey {
    /// Stream, lane, and the low 32 bits of the number of its next packet.
    pub(crate) sent: Vec<(u32, u8, u32)>,
    pub(crate) received: Vec<Received>,
}

/// Packets of a stream received by one worker.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) stream: u32,
    /// Of each lane, the packets sent when its newest left.
    pub(crate) lanes: Vec<u64>,
    pub(crate) packets: u64,
    /// When the newest left; zero if none came.
    pub(crate) newest: Nanos,
}

impl HostEvent {
    pub(crate) fn at(&self) -> Nanos {
        match self {
            Self::Sent { at, .. }
            | Self::Received { at, .. }
            | Self::Claimed { at, .. }
            | Self::Surveyed { at, .. } => *at,
        }
    }
}
