//! Applications on flows, and their requests.

use std::collections::VecDeque;
use units::Nanos;

/// A group of flows with the same options: one side of one session entry of a profile, on one port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub u16);

/// A flow of a stack. Valid until [`App::closed`] was called for it; numbers are used again after that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// End of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// Both sides closed and everything was acknowledged; for UDP: the application closed it.
    Closed,
    /// The application gave it up ([`Io::abort`]).
    Aborted,
    /// The peer reset an established flow before it had acknowledged everything sent.
    Reset,
    /// The peer reset an established flow, and had acknowledged everything sent.
    ResetAcknowledged,
    /// The peer refused a SYN by a reset; for UDP: port unreachable (ICMP).
    Refused,
    /// A SYN, or a SYN-ACK, was repeated as often as allowed without a reply.
    SetupTimeout,
    /// Data, a FIN or a probe was repeated as often as allowed and not acknowledged.
    Timeout,
    /// ICMP reported that the peer cannot be reached, before the flow was established (RFC 9293 section 3.9.2.2).
    Unreachable,
    /// A flow without traffic for longer than its options allow (FIN-WAIT-2, UDP).
    IdleTimeout,
}

/// Requests of an application while it handles an event. Collected, and carried out once it returns.
#[derive(Debug)]
pub struct Io {
    pub(crate) flow: FlowId,
    pub(crate) group: GroupId,
    pub(crate) send: u64,
    pub(crate) close: bool,
    pub(crate) abort: bool,
    pub(crate) reset: bool,
    /// `Some(Nanos::MAX)` is no wake-up any more.
    pub(crate) wake: Option<Nanos>,
    pub(crate) read: Option<bool>,
    pub(crate) acknowledge: bool,
    /// Lengths of datagrams, on UDP flows alone.
    pub(crate) datagrams: Option<Vec<u64>>,
    /// Bytes of the datagrams that a UDP flow has sent.
    pub(crate) sent: u64,
}

impl Io {
    /// For a flow with an event.
    pub fn new(flow: FlowId, group: GroupId) -> Self {
        Self {
            flow,
            group,
            send: 0,
            close: false,
            abort: false,
            reset: false,
            wake: None,
            read: None,
            acknowledge: false,
            datagrams: None,
            sent: 0,
        }
    }

    /// For a UDP flow; `lengths` is an empty list with room.
    pub fn for_datagrams(flow: FlowId, group: GroupId, lengths: Vec<u64>) -> Self {
        Self { datagrams: Some(lengths), ..Self::new(flow, group) }
    }

    /// Whether there is no request, apart from datagrams.
    #[inline(always)]
    pub(crate) fn is_untouched(&self) -> bool {
        self.send == 0
            && !self.close
            && !self.abort
            && !self.reset
            && self.wake.is_none()
            && self.read.is_none()
            && !self.acknowledge
    }

    /// Whether it is a UDP flow.
    #[inline]
    pub fn is_for_datagrams(&self) -> bool {
        self.datagrams.is_some()
    }

    /// The same, for a flow that has sent this number of bytes in datagrams.
    pub fn having_sent(self, bytes: u64) -> Self {
        Self { sent: bytes, ..self }
    }

    /// Bytes of the datagrams that a UDP flow has sent so far: the offset of the next one. Earlier bytes are not
    /// requested again.
    #[inline]
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Which flow it is.
    pub fn flow(&self) -> FlowId {
        self.flow
    }

    /// Which group the flow belongs to.
    pub fn group(&self) -> GroupId {
        self.group
    }

    /// Sends `bytes` more: after all bytes passed before. They are fetched by [`App::fill`]. On UDP: one datagram, each
    /// time.
    pub fn send(&mut self, bytes: u64) {
        self.send += bytes;
        if let Some(lengths) = &mut self.datagrams {
            lengths.push(bytes);
        }
    }

    /// Sends a FIN after the last byte. Incoming data are still delivered. UDP flows end immediately.
    pub fn close(&mut self) {
        self.close = true;
    }

    /// Sends a reset and ends the flow: [`App::closed`] follows with [`End::Aborted`].
    pub fn abort(&mut self) {
        self.abort = true;
    }

    /// Sends a reset after what was sent before, as far as the peer's window takes that, and ends the flow:
    /// [`App::closed`] follows with [`End::Aborted`].
    pub fn reset(&mut self) {
        self.reset = true;
    }

    /// Requests [`App::woke`] at `at` or soon after; one wake-up is kept for each flow, the last one requested.
    pub fn wake_at(&mut self, at: Nanos) {
        self.wake = Some(at);
    }

    /// Takes the wake-up back.
    pub fn let_sleep(&mut self) {
        self.wake = Some(Nanos::MAX);
    }

    /// Reads no more until [`Io::resume`]: what comes in is kept, and the window shrinks to nothing.
    pub fn pause(&mut self) {
        self.read = Some(false);
    }

    /// Reads on.
    pub fn resume(&mut self) {
        self.read = Some(true);
    }

    /// Acknowledges what has come at once, unless data goes with it, instead of after [`TcpOptions::ack_delay`](crate::TcpOptions::ack_delay).
    pub fn acknowledge(&mut self) {
        self.acknowledge = true;
    }

    /// Bytes passed in this call so far: for tests of applications.
    pub fn asked(&self) -> u64 {
        self.send
    }

    /// Lengths of the datagrams passed in this call.
    pub fn datagrams_asked(&self) -> &[u64] {
        self.datagrams.as_deref().unwrap_or_default()
    }

    /// Whether closing was requested in this call.
    pub fn asked_to_close(&self) -> bool {
        self.close
    }

    /// Whether aborting was requested in this call.
    pub fn asked_to_abort(&self) -> bool {
        self.abort
    }

    /// Whether a reset after the data was requested in this call.
    pub fn asked_to_reset(&self) -> bool {
        self.reset
    }

    /// Whether an immediate acknowledgement was requested in this call.
    pub fn asked_to_acknowledge(&self) -> bool {
        self.acknowledge
    }

    /// The wake-up requested in this call.
    pub fn asked_to_wake(&self) -> Option<Nanos> {
        self.wake
    }
}

/// Application on the flows of a stack: one object for all of them, with a little memory in each.
pub trait App {
    /// State of each flow. Multiplied by 10 million: at most 40 bytes if idle flows are to stay below 160.
    type Flow: Default;

    /// A client's flow or a server's is established. For UDP: a client's when it is opened, a server's before its first
    /// datagram is delivered.
    fn opened(&mut self, now: Nanos, flow: &mut Self::Flow, io: &mut Io);

    /// Bytes arrived: in order, each once. For UDP: a whole datagram.
    fn received(&mut self, now: Nanos, flow: &mut Self::Flow, io: &mut Io, data: &[u8]);

    /// The peer sends nothing more (FIN).
    fn finished(&mut self, now: Nanos, flow: &mut Self::Flow, io: &mut Io);

    /// All bytes sent before `offset` (from 0) have been acknowledged.
    fn acknowledged(&mut self, now: Nanos, flow: &mut Self::Flow, io: &mut Io, offset: u64);

    /// The time requested by [`Io::wake_at`] has come.
    fn woke(&mut self, now: Nanos, flow: &mut Self::Flow, io: &mut Io);

    /// The flow is over; the last call for it. Called once for every flow, established or not. Its addresses and ports
    /// may stay taken for a while (TIME-WAIT).
    fn closed(&mut self, now: Nanos, flow: &mut Self::Flow, id: FlowId, group: GroupId, end: End);

    /// Takes the datagrams of a UDP flow that closes which the application has kept and not read: of a flow a peer began,
    /// they begin the next one.
    fn unread(&mut self, _: &mut Self::Flow) -> VecDeque<Vec<u8>> {
        VecDeque::new()
    }

    /// Writes the bytes from `offset` on, counted from the first one sent. The same on every call, until they are
    /// acknowledged. On UDP `offset` counts all bytes of the datagrams before.
    fn fill(&mut self, flow: &Self::Flow, group: GroupId, offset: u64, out: &mut [u8]);
}
