//! Payloads that are compared where they arrive.

use super::Resolver;
use super::packet::Draft;
use super::stream::NEEDS_SIGNATURE;
use crate::document::{IntegrityDoc, StreamDoc};
use crate::plan::{INTEGRITY_MAX, StreamPlan};
use wire::Algorithm;

impl Resolver<'_> {
    /// Whether the payloads of a stream's packets are compared.
    pub(super) fn compares_payload(&self, stream: &StreamDoc) -> bool {
        let signed = stream.is_measured() && stream.replay.is_none();
        signed && stream.integrity.unwrap_or(self.document.load.integrity) == IntegrityDoc::Full
    }

    /// Checks that there are packets to compare if a stream enables the comparison.
    pub(super) fn check_integrity(&mut self, path: &str, stream: &StreamDoc) {
        if stream.integrity == Some(IntegrityDoc::Full) && !self.compares_payload(stream) {
            self.reading.fail(format!("{path}.integrity"), NEEDS_SIGNATURE);
        }
    }

    /// Whether the payload of a stream's packets is free to be filled.
    pub(super) fn check_payload(&mut self, path: &str, draft: &Draft, plan: &StreamPlan) {
        if !plan.integrity {
            return;
        }
        let path = format!("{path}.integrity");
        if draft.is_filled {
            let reason =
                "'full' fills the payload itself: leave 'fill' out of the packet, or use 'signature'";
            self.reading.fail(&path, reason);
        }
        // A packet that can't be built is an error of its own.
        let Ok(mut packet) = plan.packet.build(plan.sizes.longest()) else { return };
        let filling = packet.payload + plan.packet.payload.len();
        if packet.checksums.iter().any(|checksum| checksum.algorithm == Algorithm::Crc32c) {
            let reason = "'full' needs packets whose checksums are Internet checksums: SCTP has a CRC; use 'signature'";
            self.reading.fail(&path, reason);
        }
        let Some(vary) = &plan.vary else { return };
        // A program that can't be bound is an error of its own.
        let Ok(program) = field::Program::new(vary, &mut packet, None) else { return };
        if program.patches().iter().any(|patch| patch.end() > 8 * filling) {
            let reason = "'full' fills the payload itself: 'vary' may write to headers and to the payload's given bytes only";
            self.reading.fail(path, reason);
        }
    }

    /// Refuses more streams with payloads to compare than a run can have.
    pub(super) fn limit_integrity(&mut self, plans: &[StreamPlan]) {
        let number = plans.iter().filter(|plan| plan.integrity).count();
        if number > INTEGRITY_MAX {
            let reason = format!(
                "{number} streams, copies included, with 'integrity: full'; the most is {INTEGRITY_MAX}: use 'vary' in place of \
                 copies"
            );
            self.reading.fail("streams", reason);
        }
    }
}
