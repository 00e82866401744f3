//! Frames of flows on their way into a transmit queue.

use crate::capture::Tap;
use crate::counts::interval::PortCounts;
use port::{
    BURST, Burst, FrameMut, TX_FLAG_IPV4, TX_FLAG_IPV6, TX_FLAG_TCP_CHECKSUM, TX_FLAG_UDP_CHECKSUM,
    TxOffload, TxQueue,
};
use tcp::{LeftChecksum, Sink};
use units::{FrameLen, Nanos};

/// Shortest frame, bytes without FCS: ports pad what is shorter.
const SHORTEST: usize = FrameLen::MIN.without_fcs() as usize;
const FCS: u64 = 4;

/// Frames between flows and a queue: lasts from turn to turn.
#[derive(Default)]
pub(crate) struct Outbox {
    /// Frames with nothing in them.
    blank: Burst,
    /// Frames that are written, or are just being written, in the order they leave.
    ready: Burst,
}

impl Outbox {
    /// Whether everything in it has left.
    pub(crate) fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// Gives everything back.
    pub(crate) fn free(&mut self, queue: &mut dyn TxQueue) {
        queue.free(&mut self.blank);
        queue.free(&mut self.ready);
    }
}

/// Sink of flows' frames in one turn. Frames that the port does not accept stay in the outbox.
pub(crate) struct FlowSink<'s> {
    queue: &'s mut dyn TxQueue,
    outbox: &'s mut Outbox,
    tap: Option<&'s mut Tap>,
    now: Nanos,
    counts: &'s mut PortCounts,
}

impl<'s> FlowSink<'s> {
    pub(crate) fn new(
        queue: &'s mut dyn TxQueue,
        outbox: &'s mut Outbox,
        tap: Option<&'s mut Tap>,
        now: Nanos,
        counts: &'s mut PortCounts,
    ) -> Self {
        Self { queue, outbox, tap, now, counts }
    }

    /// Sends what is written. Returns whether the port took anything.
    pub(crate) fn flush(&mut self) -> bool {
        let ready = &mut self.outbox.ready;
        if ready.is_empty() {
            return false;
        }
        if let Some(tap) = &mut self.tap {
            (0..ready.len()).for_each(|i| tap.stage(self.now, ready.data(i)));
        }
        let before = bytes(ready);
        let taken = self.queue.send(ready);
        if let Some(tap) = &mut self.tap {
            tap.commit(taken);
        }
        self.counts.tx_packets += taken as u64;
        self.counts.tx_bytes += before - bytes(ready);
        taken > 0
    }
}

/// Bytes of a burst's frames with FCS.
fn bytes(burst: &Burst) -> u64 {
    (0..burst.len()).map(|i| burst.data(i).len().max(SHORTEST) as u64 + FCS).sum()
}

impl FlowSink<'_> {
    /// A blank frame at the end of what is ready.
    #[inline(always)]
    fn blank(&mut self) -> Option<FrameMut<'_>> {
        if (self.outbox.blank.is_empty() || self.outbox.ready.len() == BURST) && !self.make_room() {
            return None;
        }
        self.outbox.blank.pass(&mut self.outbox.ready)
    }

    /// Sends what is written if there is no place for more, and gets blank frames if there are none. Returns whether there are both.
    #[inline(never)]
    fn make_room(&mut self) -> bool {
        if self.outbox.ready.len() == BURST {
            self.flush();
        }
        self.outbox.ready.len() < BURST
            && (!self.outbox.blank.is_empty() || self.queue.alloc(&mut self.outbox.blank, BURST) > 0)
    }
}

impl Sink for FlowSink<'_> {
    #[inline(always)]
    fn frame(&mut self, len: usize) -> Option<&mut [u8]> {
        self.blank().map(|frame| frame.begin(len))
    }

    #[inline(always)]
    fn unfinished_frame(&mut self, len: usize, left: LeftChecksum) -> Option<&mut [u8]> {
        self.blank().map(|frame| frame.begin_unfinished(len, offload(left)))
    }
}

#[inline(always)]
fn offload(left: LeftChecksum) -> TxOffload {
    let network = if left.is_v6 { TX_FLAG_IPV6 } else { TX_FLAG_IPV4 };
    let transport = if left.is_udp { TX_FLAG_UDP_CHECKSUM } else { TX_FLAG_TCP_CHECKSUM };
    TxOffload { flags: network | transport, l2_len: left.before_ip, l3_len: left.ip.into() }
}
