//! Usual events of a client of HTTP/1.1, each in one go: a request, and a response that begins like the one before.
//!
//! Not here: anything unusual, which the client sees to: other responses, flows that are to stop, have failed, or keep input for later.
//!
//! Invariant: a flow, its counts and its requests are what the client would leave.

use super::Client;
use crate::flow::{EXTRA, Flag, Flow, Place, elapsed, is_usual};
use crate::http::parse::{Framing, ResponseHead, state};
use crate::http::plan::{HttpClose, Method};
use crate::vary::Delay;

impl Client {
    /// Whether usual events on its connections can be handled here: one request at a time, without pauses, redirects and cookies, and
    /// requests that are always the same bytes.
    pub(crate) fn has_express(&self) -> bool {
        self.agent.is_none()
            && self.h2.is_none()
            && self.h3.is_none()
            && self.plan.pipeline <= 1
            && self.plan.think == Delay::NONE
            && self.plan.per_connection != Some(0)
            && self
                .requests
                .iter()
                .all(|ready| ready.message.bytes().is_some() && ready.last.bytes().is_some())
    }

    /// The flow is established; returns whether that was all.
    #[inline]
    pub(crate) fn express_opened(&self, place: &mut Place<'_>, flow: &mut Flow) -> bool {
        if !is_usual(flow) || flow.has(Flag::Last) {
            return false;
        }
        flow.state = state::HEAD;
        self.express_send(place, flow);
        true
    }

    /// `send`.
    #[inline(always)]
    fn express_send(&self, place: &mut Place<'_>, flow: &mut Flow) {
        let len = self.message_len(flow, flow.sent);
        place.send(flow, len);
        place.counts.requests += 1;
        flow.waiting += 1;
        flow.mark(place.now);
        place.arm(flow, place.common.patience.response);
    }

    /// Data arrived; returns whether they were all of what was expected, or a part of it.
    #[inline]
    pub(crate) fn express_received(&self, place: &mut Place<'_>, flow: &mut Flow, data: &[u8]) -> bool {
        if !is_usual(flow) || flow.waiting != 1 || data.is_empty() {
            return false;
        }
        let left = match flow.state {
            state::LENGTH => {
                let left = flow.left_or_extra as usize;
                if data.len() > left {
                    return false;
                }
                flow.step = flow.step.wrapping_add(data.len() as u32);
                left - data.len()
            }
            // One whose request is not acknowledged may be early, and after hints some are counted.
            state::HEAD if flow.unacked == 0 && flow.left_or_extra == 0 => {
                let Some((head, len)) = self.remembered.find(data) else { return false };
                let body = data.len() - len;
                let Some(length) = self.expected(flow, &head).filter(|length| body <= *length) else {
                    return false;
                };
                if !flow.has(Flag::FirstByte) {
                    flow.set(Flag::FirstByte);
                    place.counts.ttfb.record(elapsed(flow.at, place.now).0);
                }
                place.counts.http[usize::from(head.status / 100) - 1] += 1;
                if head.close {
                    flow.set(Flag::Last);
                }
                flow.unset(Flag::ANY_BODY);
                flow.step = body as u32;
                length - body
            }
            _ => return false,
        };
        flow.set(Flag::Progress);
        place.counts.bytes_received += data.len() as u64;
        flow.left_or_extra = left as u32;
        if left > 0 {
            flow.state = state::LENGTH;
            place.acknowledge_early(flow, data.len());
        } else {
            self.express_complete(place, flow, data.len());
        }
        true
    }

    /// Bytes of the body of a response that is as usual: not refused, empty, or longer than expected.
    #[inline(always)]
    fn expected(&self, flow: &Flow, head: &ResponseHead) -> Option<usize> {
        let ready = self.request(flow, Self::answered(flow));
        let Framing::Length(length) = head.framing else { return None };
        let is_usual = matches!(head.status, 200..=203 | 205..=303 | 305..=399)
            && ready.method != Method::Head
            && self.plan.status_failure(ready.status, head.status).is_none()
            && ready.response_bytes.is_none_or(|expected| expected == length)
            && length < u64::from(EXTRA);
        is_usual.then_some(length as usize)
    }

    /// `complete`, and `pump` with what follows. `len` bytes arrived last.
    #[inline(always)]
    fn express_complete(&self, place: &mut Place<'_>, flow: &mut Flow, len: usize) {
        flow.unset(Flag::FirstByte);
        place.counts.ttlb.record(elapsed(flow.at, place.now).0);
        place.counts.transactions += 1;
        flow.waiting -= 1;
        flow.state = state::HEAD;
        let all = self.plan.per_connection;
        let all_sent = all.is_some_and(|all| flow.sent >= all);
        if !all_sent && !flow.has(Flag::Last) {
            return self.express_send(place, flow);
        }
        if let Some(all) = all {
            place.counts.unasked += u64::from(all.saturating_sub(flow.sent));
        }
        flow.state = state::END;
        match self.plan.close {
            HttpClose::Server if all_sent => {
                flow.set(Flag::Done);
                flow.set(Flag::Head);
                flow.mark(place.now);
                place.arm(flow, place.common.patience.response);
                place.acknowledge_early(flow, len);
            }
            HttpClose::Reset => {
                flow.set(Flag::Done);
                place.io.abort();
            }
            _ => place.close(flow),
        }
    }

    /// Everything before `offset` is acknowledged; returns whether that was all.
    #[inline]
    pub(crate) fn express_acknowledged(&self, flow: &mut Flow, offset: u64) -> bool {
        if flow.has(Flag::Stopping) || flow.extra().is_some() {
            return false;
        }
        while flow.unacked > 0 {
            let len = self.message_len(flow, flow.oldest());
            if flow.since_base(offset) < len {
                break;
            }
            flow.drop_oldest(len);
        }
        true
    }

    /// Writes the bytes from `offset` on; returns whether all could be.
    #[inline]
    pub(crate) fn express_fill(&self, flow: &Flow, offset: u64, out: &mut [u8]) -> bool {
        if flow.unacked == 0 {
            return false;
        }
        let number = flow.oldest();
        let bytes = self.message_of(self.request(flow, number), number).bytes();
        let at = flow.since_base(offset) as usize;
        let Some(part) = bytes.and_then(|bytes| bytes.get(at..at.checked_add(out.len())?)) else {
            return false;
        };
        out.copy_from_slice(part);
        true
    }
}
