//! Additional state of some flows beyond their [`Flow`]: input received in pieces, several responses in flight,
//! encryption.
//!
//! Entries are used again, with the memory of their buffers, so that a flow that comes and goes allocates nothing.
//!
//! [`Flow`]: crate::flow::Flow

use crate::dns;
use crate::flow::{EXTRA, Flag, Flow};
use crate::grpc;
use crate::http::agent::Agent;
use crate::http::h2::Link;
use crate::pace::Turn;
use crate::quic::link;
use crate::stamp;
use crate::websocket;
use std::collections::VecDeque;
use units::Nanos;

/// Bytes of buffers that are kept for the next flow.
const KEEP_MAX: usize = 4096;
/// Bytes of longer buffers that are kept for any flow, and how many of them are.
const SPARE_MAX: usize = 64 << 10;
const SPARES: usize = 64;

/// Additional state of a flow.
#[derive(Default)]
pub(crate) struct Extra {
    /// Bytes left of the message that is read.
    left: u64,
    /// Input that is not whole yet, or that can't be used yet.
    pub input: Vec<u8>,
    /// Departure times of requests without a response.
    pub starts: VecDeque<u32>,
    /// Due times of requests without a response, or not sent, in ticks of flows: where they may be sent late.
    pub dues: VecDeque<u32>,
    /// The turn to send a request that the flow waits for.
    pub turn: Option<Turn>,
    /// Places in a log of requests that are not sent, as many as have a turn.
    pub entries: VecDeque<u64>,
    /// Responses that are not acknowledged.
    pub responses: VecDeque<Response>,
    /// Response to a request that is being read.
    pub pending: Pending,
    /// Bytes to send back that are not acknowledged, and the offset of the first.
    pub echo: VecDeque<u8>,
    pub echo_base: u64,
    /// Answers made for one request, that are not acknowledged.
    pub made: VecDeque<Made>,
    /// End of a flow that only carries datagrams of a QUIC connection on another flow.
    pub kept_until: Nanos,
    /// Datagrams that can't be used yet.
    pub datagrams: VecDeque<Vec<u8>>,
    /// When the loop for a time began that it is in.
    pub began: Nanos,
    /// The connection of HTTP/2.
    pub link: Option<Box<Link>>,
    /// The connection of QUIC.
    pub quic: Option<Box<link::Link>>,
    /// The connection of WebSocket.
    pub websocket: Option<Box<websocket::Link>>,
    /// The stream of HTTP/2 that it goes over.
    pub stream: Option<Box<websocket::Stream>>,
    /// The connection of gRPC.
    pub grpc: Option<Box<grpc::Link>>,
    /// The connection of DNS over HTTPS.
    pub doh: Option<Box<dns::HttpsLink>>,
    /// Test packets of STAMP under way, or the reflector.
    pub stamp: Option<Box<stamp::State>>,
    /// Redirects and cookies of HTTP.
    pub agent: Option<Box<Agent>>,
}

/// Response to a request once it is complete.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Pending {
    pub template: u32,
    pub size: u64,
    /// Bytes of the request's body so far, modulo 2^32.
    pub got: u32,
}

/// A response of a server that is not acknowledged.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Response {
    pub template: u32,
    pub number: u32,
    pub body: u64,
    /// When it was made, in ticks of flows.
    pub at: u32,
}

/// A message that can't be regenerated from numbers: it depends on the other end's request.
#[derive(Debug, Clone)]
pub(crate) struct Made {
    pub offset: u64,
    pub bytes: Vec<u8>,
}

/// All of them.
#[derive(Default)]
pub(crate) struct Extras {
    entries: Vec<Extra>,
    free: Vec<u32>,
    /// Long buffers with nothing in them.
    spares: Vec<Vec<u8>>,
}

impl Extras {
    /// The flow's entry, made if there is none.
    pub(crate) fn of(&mut self, flow: &mut Flow) -> &mut Extra {
        let place = self.place(flow);
        &mut self.entries[place]
    }

    /// The place of the flow's entry, made if there is none.
    pub(crate) fn place(&mut self, flow: &mut Flow) -> usize {
        if let Some(place) = flow.extra() {
            return place;
        }
        let index = self.free.pop().unwrap_or_else(|| {
            self.entries.push(Extra::default());
            self.entries.len() as u32 - 1
        });
        self.entries[index as usize].left = u64::from(flow.left_or_extra);
        flow.left_or_extra = EXTRA + index;
        index as usize
    }

    /// Remaining bytes of the message being read; each application has its own interpretation.
    #[inline]
    pub(crate) fn left(&self, flow: &Flow) -> u64 {
        self.find(flow).map_or(u64::from(flow.left_or_extra), |extra| extra.left)
    }

    /// Sets [`Extras::left`]. A number that the flow has no room for makes an entry.
    #[inline]
    pub(crate) fn set_left(&mut self, flow: &mut Flow, left: u64) {
        if flow.extra().is_none() && left < u64::from(EXTRA) {
            flow.left_or_extra = left as u32;
        } else {
            self.of(flow).left = left;
        }
    }

    /// The flow's entry, if it has one.
    #[inline]
    pub(crate) fn find(&self, flow: &Flow) -> Option<&Extra> {
        self.entries.get(flow.extra()?)
    }

    /// The flow's entry, if it has one.
    #[inline]
    pub(crate) fn find_mut(&mut self, flow: &Flow) -> Option<&mut Extra> {
        self.entries.get_mut(flow.extra()?)
    }

    /// Takes the flow's entry away.
    pub(crate) fn release(&mut self, flow: &mut Flow) {
        let Some(place) = flow.extra() else { return };
        let extra = &mut self.entries[place];
        extra.input.clear();
        extra.starts.clear();
        extra.dues.clear();
        extra.turn = None;
        extra.entries.clear();
        extra.responses.clear();
        extra.echo.clear();
        extra.made.clear();
        extra.datagrams.clear();
        extra.echo_base = 0;
        extra.link = None;
        let link = extra.quic.take();
        extra.websocket = None;
        extra.stream = None;
        extra.grpc = None;
        extra.doh = None;
        extra.stamp = None;
        extra.agent = None;
        if extra.echo.capacity() > KEEP_MAX {
            extra.echo = VecDeque::new();
        }
        if extra.input.capacity() > KEEP_MAX {
            let long = std::mem::take(&mut extra.input);
            self.keep_spare(long);
        }
        self.free.push(place as u32);
        flow.left_or_extra = 0;
        for mut own in link.into_iter().flat_map(|link| link.into_flows()) {
            self.release(&mut own);
        }
    }

    /// A buffer with nothing in it: a long one that was used before, or one with this room.
    #[inline]
    pub(crate) fn spare(&mut self, room: usize) -> Vec<u8> {
        self.spares.pop().unwrap_or_else(|| Vec::with_capacity(room))
    }

    /// Keeps the memory of a buffer for the next one.
    #[inline]
    pub(crate) fn keep_spare(&mut self, mut buffer: Vec<u8>) {
        if buffer.capacity() > KEEP_MAX && buffer.capacity() <= SPARE_MAX && self.spares.len() < SPARES {
            buffer.clear();
            self.spares.push(buffer);
        }
    }

    /// Entries in use.
    pub(crate) fn used(&self) -> usize {
        self.entries.len() - self.free.len()
    }

    /// Keeps input for later, after what is kept already. A few bytes need no long buffer: many flows may keep some for long.
    pub(crate) fn stash(&mut self, flow: &mut Flow, data: &[u8]) {
        if data.len() > KEEP_MAX
            && self.of(flow).input.capacity() == 0
            && let Some(spare) = self.spares.pop()
        {
            self.of(flow).input = spare;
        }
        self.of(flow).input.extend_from_slice(data);
        flow.set(Flag::Stashed);
    }

    /// Takes what was kept.
    pub(crate) fn unstash(&mut self, flow: &mut Flow) -> Vec<u8> {
        if !flow.take(Flag::Stashed) {
            return Vec::new();
        }
        self.find_mut(flow).map(|extra| std::mem::take(&mut extra.input)).unwrap_or_default()
    }

    /// Gives an emptied buffer back for its memory.
    pub(crate) fn give_back(&mut self, flow: &Flow, mut buffer: Vec<u8>) {
        if let Some(extra) = self.find_mut(flow)
            && extra.input.is_empty()
            && extra.input.capacity() < buffer.capacity()
        {
            buffer.clear();
            extra.input = buffer;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_moves_to_the_entry_and_large_numbers_make_one() {
        let mut extras = Extras::default();
        let mut flow = Flow::default();
        extras.set_left(&mut flow, u64::from(EXTRA) - 1);
        assert_eq!((extras.left(&flow), extras.used()), (u64::from(EXTRA) - 1, 0));
        extras.of(&mut flow).input.push(1);
        assert_eq!((extras.left(&flow), extras.used()), (u64::from(EXTRA) - 1, 1));
        extras.set_left(&mut flow, 7);
        assert_eq!(extras.left(&flow), 7);
        extras.release(&mut flow);
        assert_eq!((extras.left(&flow), extras.used()), (0, 0));
        extras.set_left(&mut flow, 5 << 32);
        assert_eq!((extras.left(&flow), extras.used()), (5 << 32, 1));
        extras.release(&mut flow);
        // The next flow's entry has nothing of this one.
        let mut next = Flow::default();
        extras.of(&mut next);
        assert_eq!(extras.left(&next), 0);
    }

    #[test]
    fn long_buffers_are_used_again_and_few_are_kept() {
        let mut extras = Extras::default();
        let mut flows = vec![Flow::default(); 2 * SPARES];
        for flow in &mut flows {
            extras.stash(flow, &[7; 2 * KEEP_MAX]);
        }
        flows.iter_mut().for_each(|flow| extras.release(flow));
        assert_eq!((extras.used(), extras.spares.len()), (0, SPARES));
        let flow = &mut flows[0];
        extras.stash(flow, &[1]);
        assert_eq!(extras.spares.len(), SPARES, "a few bytes take none");
        assert!(extras.of(flow).input.capacity() < KEEP_MAX);
        assert_eq!(extras.unstash(flow), [1]);
        extras.stash(flow, &[1; KEEP_MAX + 1]);
        assert_eq!((extras.spares.len(), extras.of(flow).input.capacity()), (SPARES - 1, 2 * KEEP_MAX));
        assert_eq!(extras.unstash(flow), [1; KEEP_MAX + 1]);
        extras.stash(flow, &[2; 2 * SPARE_MAX]);
        extras.release(flow);
        assert!(extras.spares.len() < SPARES, "one that is too long is given up");
    }
}
