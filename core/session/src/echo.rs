//! Sends back what comes.

use crate::extra::Extras;
use crate::flow::{Ctx, Flag, Flow};
use tcp::End;

/// Bytes on their way at which nothing more is read.
const HELD_MAX: usize = 256 << 10;
/// Bytes of datagrams that can still be written.
const DATAGRAMS_MAX: usize = 1 << 20;

const OPEN: u8 = 1;
const END: u8 = 2;

/// A server that sends back what it gets.
#[derive(Debug)]
pub(crate) struct Echo;

impl Echo {
    pub(crate) fn opened(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = OPEN;
        flow.mark(ctx.now);
        ctx.arm(flow, ctx.common.patience.idle);
    }

    pub(crate) fn received(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, data: &[u8]) {
        if flow.state != OPEN || data.is_empty() {
            return;
        }
        flow.set(Flag::Progress);
        let udp = ctx.is_udp();
        let extra = ctx.extras.of(flow);
        // Streams have no messages: one begins when everything before it was acknowledged.
        ctx.counts.requests += u64::from(udp || extra.echo.is_empty());
        ctx.counts.transactions += u64::from(udp);
        extra.echo.extend(data);
        if udp && extra.echo.len() > DATAGRAMS_MAX {
            let old = DATAGRAMS_MAX / 2;
            extra.echo.drain(..old);
            extra.echo_base += old as u64;
        }
        if !udp && extra.echo.len() > HELD_MAX {
            flow.set(Flag::Paused);
            ctx.ask.read = Some(false);
        }
        ctx.ask.send += data.len() as u64;
        ctx.counts.bytes_sent += data.len() as u64;
    }

    pub(crate) fn finished(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        flow.state = END;
        ctx.close(flow);
    }

    pub(crate) fn acknowledged(&self, ctx: &mut Ctx<'_>, flow: &mut Flow, offset: u64) {
        let Some(extra) = ctx.extras.find_mut(flow) else { return };
        let gone = (offset.saturating_sub(extra.echo_base)).min(extra.echo.len() as u64);
        extra.echo.drain(..gone as usize);
        extra.echo_base += gone;
        ctx.counts.transactions += u64::from(gone > 0 && extra.echo.is_empty());
        if extra.echo.len() < HELD_MAX / 2 && flow.take(Flag::Paused) {
            ctx.ask.read = Some(true);
        }
    }

    pub(crate) fn woke(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if flow.state == OPEN && ctx.has_run_out(flow, ctx.common.patience.idle) {
            ctx.fail(flow, crate::counts::Reason::IdleTimeout);
        }
    }

    pub(crate) fn stop(&self, ctx: &mut Ctx<'_>, flow: &mut Flow) {
        if flow.state == OPEN {
            flow.set(Flag::Stopped);
            self.finished(ctx, flow);
        }
    }

    pub(crate) fn is_complete(flow: &Flow, _: End) -> bool {
        flow.state != 0
    }

    pub(crate) fn fill(&self, flow: &Flow, extras: &Extras, offset: u64, out: &mut [u8]) {
        let Some(extra) = extras.find(flow) else { return };
        let Some(skip) = offset.checked_sub(extra.echo_base) else { return };
        copy(&extra.echo, skip as usize, out);
    }
}

/// Copies bytes from a ring.
pub(crate) fn copy(ring: &std::collections::VecDeque<u8>, skip: usize, out: &mut [u8]) {
    let (first, second) = ring.as_slices();
    let first_part = first.get(skip..).unwrap_or_default();
    let n = first_part.len().min(out.len());
    out[..n].copy_from_slice(&first_part[..n]);
    let rest = &mut out[n..];
    let second_part = second.get(skip.saturating_sub(first.len())..).unwrap_or_default();
    let n = second_part.len().min(rest.len());
    rest[..n].copy_from_slice(&second_part[..n]);
}
