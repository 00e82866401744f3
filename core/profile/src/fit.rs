//! Captures made to fit the port that sends them, once it is known what that carries.

use crate::plan::{Pattern, Sizes, StreamPlan};
use field::Choice;
use replay::{Fitted, ReplayError, TooLong, Trace, TracePacket};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::{FCS_BYTES, FrameLen};

impl StreamPlan {
    /// Makes the packets of a capture fit a port; `longest` is the most bytes, with FCS, of a frame that begins like this one.
    /// `None` if nothing has to change,
    /// or if nothing can: packets that refuse their capture, flows, and what is numbered as a whole.
    pub fn fit_replay(&mut self, longest: impl Fn(&[u8]) -> u32) -> Result<Option<Fitted>, ReplayError> {
        let (Some(replay), Some(how)) = (&self.replay, self.too_long) else { return Ok(None) };
        let is_whole = self.flows.is_some()
            || self.mark.is_some()
            || matches!(self.pattern, Pattern::Interleaved { .. });
        let fits = |packet: &TracePacket| {
            FrameLen::holding(packet.bytes.len() as u32).bytes() <= longest(&packet.bytes)
        };
        if replay.packets.iter().all(fits) || how == TooLong::Refuse || is_whole {
            return Ok(None);
        }
        let mut trace = Trace::clone(replay);
        let fitted = trace.fit(|frame| longest(frame).saturating_sub(FCS_BYTES) as usize, how)?;
        if trace.packets.is_empty() {
            return Err(ReplayError::Empty { damage: None });
        }
        let before = replay.packets.len() as u64;
        self.count = self.count.map(|count| {
            let (loops, rest) = (count / before.max(1), (count % before.max(1)) as usize);
            let end = replay.packets.get(rest).map_or(0, |packet| packet.place);
            let last = trace.packets.iter().filter(|packet| rest > 0 && packet.place < end).count() as u64;
            loops.saturating_mul(trace.packets.len() as u64).saturating_add(last)
        });
        if let Pattern::Captured { times, .. } = &mut self.pattern {
            *times = trace.packets.iter().map(|packet| packet.at).collect();
        }
        self.sizes = Arc::new(sizes(std::slice::from_ref(&trace)));
        self.replay = Some(Arc::new(trace));
        if let Some(report) = &mut self.capture {
            Arc::make_mut(report).fitted.merge(&fitted);
        }
        Ok(Some(fitted))
    }
}

/// The frame lengths of traces.
pub(crate) fn sizes(traces: &[Trace]) -> Sizes {
    let mut lengths: BTreeMap<FrameLen, u64> = BTreeMap::new();
    for packet in traces.iter().flat_map(|trace| &trace.packets) {
        *lengths.entry(FrameLen::holding(packet.bytes.len() as u32)).or_default() += 1;
    }
    let (lengths, weights) = lengths.into_iter().unzip();
    Sizes { lengths, weights, choice: Choice::sequence(vec![0]) }
}
