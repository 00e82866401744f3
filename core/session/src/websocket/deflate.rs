//! Compression of a connection's messages (RFC 7692). A compressed message depends on those before it, so its bytes are kept until they are
//! acknowledged.
//!
//! Compressors and decompressors that remember no earlier message are shared by an end's connections, so these cost little memory.
//!
//! Not here: DEFLATE itself, and its parameters on the wire (`websocket`, the crate).

use crate::counts::CompressionCounts;
use ::websocket::{Deflate, Deflater, Inflater, Violation, WINDOW_MAX};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// Decompressors that are kept for later.
const SPARE_MAX: usize = 16;

/// How messages are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WebsocketCompression {
    /// Offer of clients; limits of servers, for themselves and their clients.
    pub parameters: Deflate,
    /// Effort, 1 to 9; `None` is zlib's usual one, 6.
    pub level: Option<u8>,
    /// Messages of fewer bytes are sent as they are.
    pub threshold: u64,
}

/// Compressors and decompressors that connections of an end share.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    deflaters: RefCell<BTreeMap<u8, Deflater>>,
    inflaters: RefCell<Vec<Inflater>>,
}

/// Compression of a connection.
#[derive(Debug)]
pub(crate) struct Compressed {
    level: u8,
    threshold: u64,
    /// Most bytes of a received message.
    most: u64,
    /// This end's window and the other's, and whether messages refer back to those before.
    own: (u8, bool),
    other: (u8, bool),
    deflater: Option<Deflater>,
    /// The connection's own, or that of the message that is read.
    inflater: Option<Inflater>,
    /// The message that is read is compressed; bytes of it so far.
    reads: bool,
    carried: u64,
}

impl Compressed {
    /// As agreed, for a client's connection or a server's, which takes messages of at most `most` bytes.
    pub(super) fn new(agreed: &Deflate, is_client: bool, plan: &WebsocketCompression, most: u64) -> Self {
        let client = (agreed.client_max_window_bits, !agreed.client_no_context_takeover);
        let server = (agreed.server_max_window_bits, !agreed.server_no_context_takeover);
        let (own, other) = if is_client { (client, server) } else { (server, client) };
        Self {
            level: plan.level.unwrap_or(6),
            threshold: plan.threshold,
            most,
            own,
            other,
            deflater: None,
            inflater: None,
            reads: false,
            carried: 0,
        }
    }

    /// A message as it is to be sent; `None` if not compressed.
    pub(super) fn write(
        &mut self,
        shared: &Shared,
        counts: &mut CompressionCounts,
        message: &[u8],
    ) -> Option<Vec<u8>> {
        if (message.len() as u64) < self.threshold {
            return None;
        }
        let (bits, takeover) = self.own;
        let bytes = if takeover {
            if self.deflater.is_none() {
                self.deflater = Deflater::new(bits, true, self.level);
            }
            self.deflater.as_mut()?.message(message)
        } else {
            let mut all = shared.deflaters.borrow_mut();
            let deflater = match all.entry(bits) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(Deflater::new(bits, false, self.level)?),
            };
            deflater.message(message)
        };
        counts.messages_sent += 1;
        counts.bytes_sent += message.len() as u64;
        counts.compressed_bytes_sent += bytes.len() as u64;
        Some(bytes)
    }

    /// A message begins.
    pub(super) fn begin(&mut self, shared: &Shared, compressed: bool) {
        (self.reads, self.carried) = (compressed, 0);
        if compressed && self.inflater.is_none() {
            let (bits, takeover) = self.other;
            let spare = if takeover { None } else { shared.inflaters.borrow_mut().pop() };
            let bits = if takeover { bits } else { WINDOW_MAX };
            self.inflater = Some(spare.unwrap_or_else(|| Inflater::new(bits, takeover, self.most)));
        }
    }

    /// Hands out what bytes of a message mean.
    pub(super) fn read(
        &mut self,
        data: &[u8],
        mut tell: impl FnMut(&[u8]) -> Result<(), Violation>,
    ) -> Result<(), Violation> {
        let Some(inflater) = self.inflater.as_mut().filter(|_| self.reads) else { return tell(data) };
        self.carried += data.len() as u64;
        inflater.push(data, tell)
    }

    /// The message is whole: hands out the rest.
    pub(super) fn end(&mut self, tell: impl FnMut(&[u8]) -> Result<(), Violation>) -> Result<(), Violation> {
        match self.inflater.as_mut().filter(|_| self.reads) {
            Some(inflater) => inflater.end(tell),
            None => Ok(()),
        }
    }

    /// Counts a message of `bytes` that was read to its end, and gives back what it does not need any more.
    pub(super) fn done(&mut self, shared: &Shared, counts: &mut CompressionCounts, bytes: u64) {
        if !self.reads {
            return;
        }
        counts.messages_received += 1;
        counts.bytes_received += bytes;
        counts.compressed_bytes_received += self.carried;
        let (_, takeover) = self.other;
        let mut spare = shared.inflaters.borrow_mut();
        if !takeover && spare.len() < SPARE_MAX {
            spare.extend(self.inflater.take());
        }
    }
}
