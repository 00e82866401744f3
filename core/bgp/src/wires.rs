//! The byte streams of connections, as flows of `tcp` see them: received data, and data sent and not acknowledged yet.
//!
//! Not here: what the bytes mean (`session`). A flow only notes what happened to it; the speaker sees to it afterwards.

use std::collections::VecDeque;
use tcp::{App, End, FlowId, GroupId, Io};
use units::Nanos;

/// A connection.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    pub flow: Option<FlowId>,
    /// The host it belongs to.
    pub group: u16,
    pub input: Vec<u8>,
    /// Bytes from offset `acknowledged` on.
    out: VecDeque<u8>,
    acknowledged: u64,
    pub is_open: bool,
    /// Whether the peer sends nothing more.
    pub is_finished: bool,
    pub closed: Option<End>,
    is_touched: bool,
}

impl Wire {
    /// Bytes that are not acknowledged.
    pub(crate) fn unacknowledged(&self) -> usize {
        self.out.len()
    }

    /// Appends data. The flow must be requested to send as many bytes.
    pub(crate) fn say(&mut self, bytes: &[u8]) {
        self.out.extend(bytes);
    }
}

/// All connections.
#[derive(Debug, Default)]
pub(crate) struct Wires {
    all: Vec<Wire>,
    free: Vec<u32>,
    touched: Vec<u32>,
}

impl Wires {
    /// A new connection's number.
    pub(crate) fn begin(&mut self, group: u16) -> u32 {
        let number = self.free.pop().unwrap_or(self.all.len() as u32);
        if number as usize == self.all.len() {
            self.all.push(Wire::default());
        }
        self.all[number as usize] = Wire { group, ..Wire::default() };
        number
    }

    /// Forgets a connection whose flow is closed.
    pub(crate) fn forget(&mut self, number: u32) {
        self.all[number as usize] = Wire::default();
        self.free.push(number);
    }

    pub(crate) fn at(&mut self, number: u32) -> &mut Wire {
        &mut self.all[number as usize]
    }

    /// Makes a connection due for processing.
    pub(crate) fn touch(&mut self, number: u32) {
        let wire = &mut self.all[number as usize];
        if !std::mem::replace(&mut wire.is_touched, true) {
            self.touched.push(number);
        }
    }

    /// One to which something happened.
    pub(crate) fn next_touched(&mut self) -> Option<u32> {
        let number = self.touched.pop()?;
        self.all[number as usize].is_touched = false;
        Some(number)
    }

    fn note(&mut self, flow: u32, what: impl FnOnce(&mut Wire)) {
        let Some(number) = flow.checked_sub(1) else { return };
        what(&mut self.all[number as usize]);
        self.touch(number);
    }
}

impl App for Wires {
    /// The connection's number plus one; zero for a flow that a peer begins.
    type Flow = u32;

    fn opened(&mut self, _: Nanos, flow: &mut u32, io: &mut Io) {
        if *flow == 0 {
            *flow = self.begin(io.group().0) + 1;
        }
        self.note(*flow, |wire| {
            wire.flow = Some(io.flow());
            wire.is_open = true;
        });
    }

    fn received(&mut self, _: Nanos, flow: &mut u32, _: &mut Io, data: &[u8]) {
        self.note(*flow, |wire| wire.input.extend(data));
    }

    fn finished(&mut self, _: Nanos, flow: &mut u32, _: &mut Io) {
        self.note(*flow, |wire| wire.is_finished = true);
    }

    fn acknowledged(&mut self, _: Nanos, flow: &mut u32, _: &mut Io, offset: u64) {
        self.note(*flow, |wire| {
            let gone = (offset.saturating_sub(wire.acknowledged)).min(wire.out.len() as u64);
            wire.out.drain(..gone as usize);
            wire.acknowledged += gone;
            if wire.out.is_empty() {
                // A million routes may have been told; none of them is to cost anything from here on.
                wire.out = VecDeque::new();
            }
        });
    }

    fn woke(&mut self, _: Nanos, _: &mut u32, _: &mut Io) {}

    fn closed(&mut self, _: Nanos, flow: &mut u32, _: FlowId, _: GroupId, end: End) {
        self.note(*flow, |wire| wire.closed = Some(end));
    }

    fn fill(&mut self, flow: &u32, _: GroupId, offset: u64, out: &mut [u8]) {
        let Some(wire) = flow.checked_sub(1).map(|number| &self.all[number as usize]) else { return };
        let at = offset.saturating_sub(wire.acknowledged) as usize;
        wire.out.range(at.min(wire.out.len())..).zip(out).for_each(|(byte, place)| *place = *byte);
    }
}
