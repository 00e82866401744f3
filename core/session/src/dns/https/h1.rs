//! By HTTP/1.1: one query at a time.

pub(super) mod client;
pub(super) mod server;

use std::collections::VecDeque;

/// Bytes on their way, which are kept until they are acknowledged.
#[derive(Debug, Default)]
struct Kept {
    bytes: VecDeque<u8>,
    /// Offset of the first.
    base: u64,
}

impl Kept {
    /// Sends bytes; returns the offset behind them.
    fn push(&mut self, ctx: &mut crate::flow::Ctx<'_>, bytes: &[u8]) -> u64 {
        self.bytes.extend(bytes);
        ctx.ask.send += bytes.len() as u64;
        ctx.counts.bytes_sent += bytes.len() as u64;
        self.base + self.bytes.len() as u64
    }

    /// All before an offset was acknowledged.
    fn acknowledged(&mut self, offset: u64) {
        let gone = offset.saturating_sub(self.base).min(self.bytes.len() as u64);
        self.bytes.drain(..gone as usize);
        self.base += gone;
    }

    fn fill(&self, offset: u64, out: &mut [u8]) {
        match offset.checked_sub(self.base) {
            Some(skip) => crate::echo::copy(&self.bytes, skip as usize, out),
            None => out.fill(0),
        }
    }
}
