//! Usual events of a server of HTTP/1.1, each in one go: a request like the one before, and the same response.
//!
//! Not here: anything unusual, which the server sees to: other requests and responses, flows that are to stop, have failed, or keep
//! input for later.
//!
//! Invariant: a flow, its counts and its requests are what the server would leave.

use super::Server;
use crate::counts::Counts;
use crate::flow::{Flag, Flow, Place, is_usual};
use crate::http::parse::{Framing, state};
use crate::pattern;
use crate::vary::Delay;
use tcp::End;

/// The response that was made last, written out once it is made again.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Its template, and the size of its body.
    of: Option<(u32, u32)>,
    /// Whether it was made again.
    is_again: bool,
    /// `None` if it can't be, too.
    bytes: Option<Bytes>,
}

/// Everything of a response but its number.
#[derive(Debug)]
struct Bytes {
    head: Box<[u8]>,
    /// Of all of it.
    len: u64,
    /// Place of its class in the counts of statuses.
    class: usize,
    /// Whether the server closes after it.
    close: bool,
}

impl Written {
    /// The response of a flow, if it is this one.
    #[inline(always)]
    fn of(&self, flow: &Flow) -> Option<&Bytes> {
        if self.of == Some((flow.until, flow.step)) { self.bytes.as_ref() } else { None }
    }
}

impl Server {
    /// Whether usual events on its connections can be handled here.
    pub(crate) fn has_express(&self) -> bool {
        self.h2.is_none() && self.h3.is_none()
    }

    /// The flow is established; returns whether that was all.
    #[inline]
    pub(crate) fn express_opened(&self, place: &mut Place<'_>, flow: &mut Flow) -> bool {
        if !is_usual(flow) {
            return false;
        }
        flow.state = state::HEAD;
        flow.mark(place.now);
        place.arm(flow, place.common.patience.idle);
        true
    }

    /// Data arrived; returns whether they were a request like the one before.
    #[inline]
    pub(crate) fn express_received(&mut self, place: &mut Place<'_>, flow: &mut Flow, data: &[u8]) -> bool {
        if flow.state != state::HEAD || flow.unacked > 0 || !is_usual(flow) {
            return false;
        }
        let Some((asked, len)) = self.remembered.find(data) else { return false };
        if len != data.len() || asked.framing != Framing::Length(0) || asked.waits {
            return false;
        }
        let (template, size) = self.choose(flow, &asked);
        let Ok(size) = u32::try_from(size) else { return false };
        if self.written.of != Some((template, size)) {
            // Written out if the next one is the same: of responses that vary none is.
            self.written = Written { of: Some((template, size)), ..Written::default() };
            return false;
        }
        if !self.written.is_again {
            self.written.is_again = true;
            self.written.bytes = self.write_out(template, size, asked.answer);
        }
        let Some(Bytes { len, close, .. }) = self.written.bytes else { return false };
        flow.set(Flag::Progress);
        place.counts.bytes_received += data.len() as u64;
        place.counts.requests += 1;
        (flow.until, flow.step) = (template, size);
        flow.mark(place.now);
        place.send(flow, len);
        if close {
            flow.state = state::END;
            place.close(flow);
        } else {
            place.arm(flow, place.common.patience.idle);
        }
        true
    }

    /// Writes a response out, if it can be, and is made at once.
    fn write_out(&self, template: u32, size: u32, answer: u32) -> Option<Bytes> {
        let rule = self.plan.server.rules.get(answer as usize);
        if rule.is_some_and(|rule| rule.delay != Delay::NONE) {
            return None;
        }
        let template = self.template(template);
        let (head, generated) = template.message.written_out(size.into())?;
        let class = usize::from(template.status / 100).clamp(1, 5) - 1;
        Some(Bytes { len: head.len() as u64 + generated, head, class, close: template.close })
    }

    /// Everything before `offset` is acknowledged; returns whether that was all.
    #[inline]
    pub(crate) fn express_acknowledged(&self, counts: &mut Counts, flow: &mut Flow, offset: u64) -> bool {
        if flow.has(Flag::Stopping) || flow.extra().is_some() || flow.unacked > 1 {
            return false;
        }
        if flow.unacked == 0 {
            return true;
        }
        let Some(Bytes { len, class, .. }) = self.written.of(flow) else { return false };
        if flow.since_base(offset) >= *len {
            counts.http[*class] += 1;
            counts.transactions += 1;
            flow.drop_oldest(*len);
        }
        true
    }

    /// Writes the bytes from `offset` on; returns whether all could be.
    #[inline]
    pub(crate) fn express_fill(&self, flow: &Flow, offset: u64, out: &mut [u8]) -> bool {
        let Some(Bytes { head, len, .. }) = self.written.of(flow).filter(|_| flow.unacked == 1) else {
            return false;
        };
        let at = flow.since_base(offset);
        if flow.extra().is_some() || at + out.len() as u64 > *len {
            return false;
        }
        let first = head.get(at as usize..).unwrap_or_default();
        let (first, body) = (&first[..first.len().min(out.len())], at.saturating_sub(head.len() as u64));
        let (out, generated) = out.split_at_mut(first.len());
        out.copy_from_slice(first);
        if !generated.is_empty() {
            pattern::write(flow.oldest().into(), body, generated);
        }
        true
    }

    /// Whether a flow that ended in this way had what it should, and nothing else is to be counted.
    #[inline]
    pub(crate) fn is_completed(flow: &Flow, end: End) -> bool {
        let is_usual = flow.has(Flag::Counted) && !flow.has(Flag::Failed) && flow.extra().is_none();
        let ends = matches!(end, End::Closed | End::Aborted | End::ResetAcknowledged);
        is_usual && ends && (flow.has(Flag::Done) || flow.state == state::HEAD && flow.sent > 0)
    }
}
