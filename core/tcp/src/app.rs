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
    flow: FlowId,
    group: GroupId,
    pub(crate) requests: Requests,
    /// On UDP flows alone.
    datagrams: Option<Box<Datagrams>>,
}

/// Requests that flows of every kind have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Requests {
    /// Bytes.
    pub send: u64,
    /// With [`Requests::WAKE`]; [`Nanos::MAX`] is no wake-up any more.
    wake_at: Nanos,
    bits: u8,
}

impl Requests {
    pub(crate) const CLOSE: u8 = 1;
    pub(crate) const ABORT: u8 = 2;
    pub(crate) const RESET: u8 = 4;
    pub(crate) const ACKNOWLEDGE: u8 = 8;
    pub(crate) const PAUSE: u8 = 16;
    pub(crate) const RESUME: u8 = 32;
    const WAKE: u8 = 64;
    /// Seldom requested.
    const UNUSUAL: u8 = Self::ABORT | Self::RESET | Self::ACKNOWLEDGE | Self::PAUSE | Self::RESUME;

    const NONE: Self = Self { send: 0, wake_at: Nanos::ZERO, bits: 0 };

    /// Whether one of these is there.
    #[inline(always)]
    pub(crate) fn has(self, bits: u8) -> bool {
        self.bits & bits != 0
    }

    /// The wake-up; `Some(Nanos::MAX)` is none any more.
    #[inline(always)]
    pub(crate) fn wake(self) -> Option<Nanos> {
        self.has(Self::WAKE).then_some(self.wake_at)
    }

    /// Whether there is none.
    #[inline(always)]
    pub(crate) fn is_empty(self) -> bool {
        self.send == 0 && self.bits == 0
    }

    /// Whether there is none but to send, to close and to be woken.
    #[inline(always)]
    pub(crate) fn is_simple(self) -> bool {
        !self.has(Self::UNUSUAL)
    }
}

/// Requests of UDP flows alone, and their knowledge.
#[derive(Debug, Default)]
pub(crate) struct Datagrams {
    /// Lengths of those to be sent.
    pub lengths: Vec<u64>,
    /// Bytes of the ones sent.
    pub sent: u64,
    /// The congestion mark of the one that was received.
    pub ecn: u8,
    /// TTL, or hop limit, of the one that was received.
    pub hops: u8,
    /// Whether they are marked from now on.
    pub marks: Option<bool>,
    /// Flow that is to be woken.
    pub rouse: Option<FlowId>,
    /// Flow with which this one exchanges addresses.
    pub exchange: Option<FlowId>,
    /// It is to be tended after the burst.
    pub tend: bool,
}

/// No TCP flow has such.
#[cold]
#[inline(never)]
fn discard(_: Box<Datagrams>) {}

impl Datagrams {
    #[inline(never)]
    fn push(&mut self, bytes: u64) {
        self.lengths.push(bytes);
    }
}

impl Io {
    /// For a flow with an event.
    #[inline(always)]
    pub fn new(flow: FlowId, group: GroupId) -> Self {
        Self { flow, group, requests: Requests::NONE, datagrams: None }
    }

    /// For a UDP flow; `lengths` is an empty list with room.
    pub fn for_datagrams(flow: FlowId, group: GroupId, lengths: Vec<u64>) -> Self {
        Self::for_udp(flow, group, Box::new(Datagrams { lengths, ..Datagrams::default() }))
    }

    /// For a UDP flow.
    pub(crate) fn for_udp(flow: FlowId, group: GroupId, datagrams: Box<Datagrams>) -> Self {
        Self { datagrams: Some(datagrams), ..Self::new(flow, group) }
    }

    /// The requests of a TCP flow.
    #[inline(always)]
    pub(crate) fn into_requests(mut self) -> Requests {
        if let Some(datagrams) = self.datagrams.take() {
            discard(datagrams);
        }
        self.requests
    }

    /// Takes the requests of UDP flows alone.
    pub(crate) fn take_datagrams(&mut self) -> Box<Datagrams> {
        self.datagrams.take().unwrap_or_default()
    }

    /// The two ECN bits of the datagram that is received.
    pub(crate) fn set_ecn(&mut self, ecn: u8) {
        if let Some(datagrams) = &mut self.datagrams {
            datagrams.ecn = ecn;
        }
    }

    /// The TTL, or hop limit, with which the datagram came.
    pub(crate) fn set_hops(&mut self, hops: u8) {
        if let Some(datagrams) = &mut self.datagrams {
            datagrams.hops = hops;
        }
    }

    #[inline(always)]
    fn request(&mut self, bits: u8) {
        self.requests.bits |= bits;
    }

    /// Whether it is a UDP flow.
    #[inline]
    pub fn is_for_datagrams(&self) -> bool {
        self.datagrams.is_some()
    }

    /// The same, for a flow that has sent this number of bytes in datagrams.
    pub fn having_sent(mut self, bytes: u64) -> Self {
        if let Some(datagrams) = &mut self.datagrams {
            datagrams.sent = bytes;
        }
        self
    }

    /// Bytes of the datagrams that a UDP flow has sent so far: the offset of the next one. Earlier bytes are not
    /// requested again.
    #[inline]
    pub fn sent(&self) -> u64 {
        self.datagrams.as_ref().map_or(0, |datagrams| datagrams.sent)
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
    #[inline(always)]
    pub fn send(&mut self, bytes: u64) {
        self.requests.send += bytes;
        if let Some(datagrams) = &mut self.datagrams {
            datagrams.push(bytes);
        }
    }

    /// Sends a FIN after the last byte. Incoming data are still delivered. UDP flows end immediately.
    pub fn close(&mut self) {
        self.request(Requests::CLOSE);
    }

    /// Sends a reset and ends the flow: [`App::closed`] follows with [`End::Aborted`].
    pub fn abort(&mut self) {
        self.request(Requests::ABORT);
    }

    /// Sends a reset after what was sent before, as far as the peer's window takes that, and ends the flow:
    /// [`App::closed`] follows with [`End::Aborted`].
    pub fn reset(&mut self) {
        self.request(Requests::RESET);
    }

    /// Requests [`App::woke`] at `at` or soon after; one wake-up is kept for each flow, the last one requested.
    pub fn wake_at(&mut self, at: Nanos) {
        self.requests.wake_at = at;
        self.request(Requests::WAKE);
    }

    /// Takes the wake-up back.
    pub fn let_sleep(&mut self) {
        self.wake_at(Nanos::MAX);
    }

    /// Reads no more until [`Io::resume`]: what comes in is kept, and the window shrinks to nothing.
    pub fn pause(&mut self) {
        self.requests.bits = self.requests.bits & !Requests::RESUME | Requests::PAUSE;
    }

    /// Reads on.
    pub fn resume(&mut self) {
        self.requests.bits = self.requests.bits & !Requests::PAUSE | Requests::RESUME;
    }

    /// Acknowledges what has come at once, unless data goes with it, instead of after [`TcpOptions::ack_delay`](crate::TcpOptions::ack_delay).
    pub fn acknowledge(&mut self) {
        self.request(Requests::ACKNOWLEDGE);
    }

    /// The two ECN bits of the datagram that is received (RFC 3168 section 5).
    #[inline]
    pub fn ecn(&self) -> u8 {
        self.datagrams.as_ref().map_or(0, |datagrams| datagrams.ecn)
    }

    /// The TTL, or hop limit, with which the datagram came that is received; 0 if none is.
    #[inline]
    pub fn hops(&self) -> u8 {
        self.datagrams.as_ref().map_or(0, |datagrams| datagrams.hops)
    }

    /// Whether the datagrams that a UDP flow has not sent yet leave with ECT(0): it understands congestion marks.
    pub fn mark(&mut self, on: bool) {
        if let Some(datagrams) = &mut self.datagrams {
            datagrams.marks = Some(on);
        }
    }

    /// Has another UDP flow of the group woken ([`App::woke`]) as soon as this call returns; its own wake-up stays as it is.
    pub fn rouse(&mut self, other: FlowId) {
        if let Some(datagrams) = &mut self.datagrams {
            datagrams.rouse = Some(other);
        }
    }

    /// Exchanges addresses and ports between this UDP flow and another one of the group, before anything else is
    /// sent on either; see [`Stack::exchange`](crate::Stack::exchange).
    pub fn exchange_with(&mut self, other: FlowId) {
        if let Some(datagrams) = &mut self.datagrams {
            datagrams.exchange = Some(other);
        }
    }

    /// Requests [`App::tended`] once all datagrams of the burst that a UDP flow receives from were delivered, to handle several of
    /// them together.
    pub fn tend_later(&mut self) {
        if let Some(datagrams) = &mut self.datagrams {
            datagrams.tend = true;
        }
    }

    /// The flow to be woken by this call.
    pub fn asked_to_rouse(&self) -> Option<FlowId> {
        self.datagrams.as_ref().and_then(|datagrams| datagrams.rouse)
    }

    /// The flow to exchange addresses with by this call.
    pub fn asked_to_exchange(&self) -> Option<FlowId> {
        self.datagrams.as_ref().and_then(|datagrams| datagrams.exchange)
    }

    /// Whether to be tended after the burst was requested in this call.
    pub fn asked_to_tend(&self) -> bool {
        self.datagrams.as_ref().is_some_and(|datagrams| datagrams.tend)
    }

    /// Bytes passed in this call so far: for tests of applications.
    pub fn asked(&self) -> u64 {
        self.requests.send
    }

    /// Lengths of the datagrams passed in this call.
    pub fn datagrams_asked(&self) -> &[u64] {
        self.datagrams.as_ref().map_or(&[], |datagrams| &datagrams.lengths)
    }

    /// Whether closing was requested in this call.
    pub fn asked_to_close(&self) -> bool {
        self.requests.has(Requests::CLOSE)
    }

    /// Whether aborting was requested in this call.
    pub fn asked_to_abort(&self) -> bool {
        self.requests.has(Requests::ABORT)
    }

    /// Whether a reset after the data was requested in this call.
    pub fn asked_to_reset(&self) -> bool {
        self.requests.has(Requests::RESET)
    }

    /// Whether an immediate acknowledgement was requested in this call.
    pub fn asked_to_acknowledge(&self) -> bool {
        self.requests.has(Requests::ACKNOWLEDGE)
    }

    /// The wake-up requested in this call.
    pub fn asked_to_wake(&self) -> Option<Nanos> {
        self.requests.wake()
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

    /// All datagrams of a burst were delivered that had one for a UDP flow which requested this call ([`Io::tend_later`]).
    fn tended(&mut self, _: Nanos, _: &mut Self::Flow, _: &mut Io) {}

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
