//! Bytes of a flow on their way: received and not yet understood, sent and not yet acknowledged.

use tcp::Io;

/// Longest message that is waited for.
pub(crate) const LONGEST: usize = 64 * 1024;

/// Both directions of a flow.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pipe {
    /// Received and not yet understood.
    pub(crate) inbox: Vec<u8>,
    /// Sent, from offset `base` on.
    outbox: Vec<u8>,
    base: u64,
}

impl Pipe {
    /// Sends `bytes`: on UDP, as one datagram.
    pub(crate) fn send(&mut self, io: &mut Io, bytes: &[u8]) {
        if io.is_for_datagrams() {
            // Earlier datagrams are not requested again.
            self.forget(io.sent());
        }
        self.outbox.extend_from_slice(bytes);
        io.send(bytes.len() as u64);
    }

    /// Forgets what is before `offset`.
    pub(crate) fn forget(&mut self, offset: u64) {
        let count = offset.saturating_sub(self.base).min(self.outbox.len() as u64);
        self.outbox.drain(..count as usize);
        self.base += count;
    }

    /// Writes the bytes from `offset` on.
    pub(crate) fn fill(&self, offset: u64, out: &mut [u8]) {
        let from = usize::try_from(offset.saturating_sub(self.base)).unwrap_or(usize::MAX);
        let rest = self.outbox.get(from..).unwrap_or_default();
        let count = rest.len().min(out.len());
        out[..count].copy_from_slice(&rest[..count]);
        out[count..].fill(0);
    }

    /// Takes `count` bytes out of what was received.
    pub(crate) fn consume(&mut self, count: usize) {
        self.inbox.drain(..count.min(self.inbox.len()));
    }
}
