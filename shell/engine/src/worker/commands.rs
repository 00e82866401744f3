//! What control tells a running worker, and what a worker hands back for pings and for hosts that control looks after.

use sched::Factor;
use session::Scale;
use std::sync::Arc;
use units::Nanos;

/// What control tells a running worker.
#[derive(Debug, Clone)]
pub(crate) enum WorkerCommand {
    /// Send some streams at another rate.
    SetRate(RateStep),
    /// Open sessions of some entries, and send their requests, at another rate.
    ScaleSessions(SessionStep),
    /// Hand over frames that may answer a ping or concern hosts that control looks after, or no longer.
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
    /// Send nothing that is not due yet.
    Stop,
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

/// Events of pings and hosts that may be on their way from a worker to control. What finds no room is asked for, or sent, again.
pub(crate) const HOST_EVENTS_MAX: usize = 1_024;

/// What a worker saw of pings and of the hosts that control looks after.
#[derive(Debug)]
pub(crate) enum HostEvent {
    /// A frame it was told to send left.
    Sent { tag: PingTag, at: Nanos },
    /// A frame that may be an answer, or for one of the hosts, arrived.
    Received { port: usize, at: Nanos, frame: Vec<u8> },
}

impl HostEvent {
    pub(crate) fn at(&self) -> Nanos {
        match self {
            Self::Sent { at, .. } | Self::Received { at, .. } => *at,
        }
    }
}
