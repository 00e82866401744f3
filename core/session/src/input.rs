//! Input in pieces, and output from messages in a row.

use crate::flow::{Ctx, Flag, Flow};
use crate::message::{Message, Vars};

/// Passes stored and new input to `process`, which returns how much of it is used up; stores the rest.
#[inline]
pub(crate) fn feed(
    ctx: &mut Ctx<'_>,
    flow: &mut Flow,
    data: &[u8],
    mut process: impl FnMut(&mut Ctx<'_>, &mut Flow, &[u8]) -> usize,
) {
    if !flow.has(Flag::Stashed) {
        let used = process(ctx, flow, data);
        if used < data.len() {
            ctx.extras.stash(flow, &data[used..]);
        }
        return;
    }
    let mut kept = ctx.extras.unstash(flow);
    kept.extend_from_slice(data);
    let used = process(ctx, flow, &kept);
    if used < kept.len() {
        if used > 0 {
            kept.drain(..used);
        }
        ctx.extras.of(flow).input = kept;
        flow.set(Flag::Stashed);
    } else {
        ctx.extras.give_back(flow, kept);
    }
}

/// Writes messages in a row from byte `at` of the first on. Zeros are written after the last.
#[inline]
pub(crate) fn fill<'a>(
    mut at: u64,
    mut out: &mut [u8],
    mut next: impl FnMut() -> Option<(&'a Message, Vars)>,
) {
    while !out.is_empty() {
        let Some((message, vars)) = next() else { break };
        let written = message.write(&vars, at, out);
        out = &mut out[written..];
        at = if written == 0 { at - message.len(&vars) } else { 0 };
    }
    out.fill(0);
}
