//! Bits by whose value a stream's packets are counted apart where they arrive.

use super::Resolver;
use super::stream::NEEDS_SIGNATURE;
use crate::document::StreamDoc;
use crate::plan::{EGRESS_BITS_MAX, EGRESS_VALUES_MAX, EgressBits, StreamPlan};
use units::FrameLen;
use wire::{PacketSpec, path};

/// Bits of the longest frame, without FCS.
const FRAME_BITS: u32 = FrameLen::MAX.without_fcs() * 8;

impl Resolver<'_> {
    /// Whether received packets of a stream can be inspected, if its bits are tracked.
    pub(super) fn check_egress(&mut self, path: &str, stream: &StreamDoc) {
        if stream.egress.is_some() && (!stream.is_measured() || stream.replay.is_some()) {
            self.reading.fail(format!("{path}.egress"), NEEDS_SIGNATURE);
        }
    }

    /// The tracked bits of a stream of these packets, at their offsets if no header before them is added or removed on
    /// the way.
    pub(super) fn egress(&mut self, path: &str, stream: &StreamDoc, spec: &PacketSpec) -> Vec<EgressBits> {
        let Some(names) = &stream.egress else { return Vec::new() };
        // A packet that can't be built is an error of its own.
        let Ok(packet) = spec.build_unpadded() else { return Vec::new() };
        let path = format!("{path}.egress");
        let (mut all, mut sum) = (Vec::new(), 0);
        for (place, name) in names.with_paths() {
            let path = format!("{path}{place}");
            let (offset, width) = match path::resolve(name, &spec.headers) {
                Ok(place) => place.position(&spec.headers, &packet),
                Err(error) => {
                    self.reading.fail(path, error.to_string());
                    continue;
                }
            };
            if offset.saturating_add(width.into()) > FRAME_BITS {
                self.reading.fail(path, "is beyond every frame");
                continue;
            }
            sum += u32::from(width);
            all.push(EgressBits { offset, width });
        }
        if sum == 0 && self.reading.errors.is_empty() {
            self.reading.fail(&path, "names no field");
        }
        if sum > EGRESS_BITS_MAX.into() {
            let reason = format!(
                "{sum} bits; a stream has at most {EGRESS_BITS_MAX}. Take a part of a field with 'bits[…]'"
            );
            self.reading.fail(&path, reason);
            return Vec::new();
        }
        let copies = stream.copies.unwrap_or(1) as usize;
        self.limit_egress(&path, copies.saturating_mul(1 << sum));
        all
    }

    /// Refuses more values of tracked bits than all streams can have.
    fn limit_egress(&mut self, path: &str, values: usize) {
        if values > EGRESS_VALUES_MAX {
            let reason = format!(
                "{values} values of all streams together, copies included; the most is {EGRESS_VALUES_MAX}: track fewer bits, or \
                 fewer streams"
            );
            self.reading.fail(path, reason);
        }
    }

    /// The same for all streams together.
    pub(super) fn limit_egress_of_all(&mut self, plans: &[StreamPlan]) {
        self.limit_egress("streams", plans.iter().map(StreamPlan::egress_values).sum());
    }
}
