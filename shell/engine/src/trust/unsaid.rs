//! Notes about facts that the figures of a stream do not show: packets of captures that are not sent as captured, and
//! packets counted by a mark.

use super::{Evidence, Findings};
use units::count;

impl Evidence<'_> {
    /// Captures of which packets are left out or changed. Both directions of one have the same report.
    pub(super) fn judge_captures(&self, verdict: &mut Findings) {
        let mut last = None;
        for stream in &self.trial.plan.streams {
            let Some(report) = stream.capture.as_ref().filter(|report| !report.is_plain()) else { continue };
            let fitted = &report.fitted;
            let (wrong, repaired) = report.wrong_checksums();
            let clauses = [
                (report.left_out(), "left out"),
                (fitted.cut + fitted.shortened, "cut"),
                (fitted.segmented + fitted.fragmented, "cut into several"),
                (wrong - repaired, "checksums left wrong"),
            ];
            let clauses =
                clauses.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{} {what}", count(*n)));
            let clauses = clauses.collect::<Vec<_>>().join(", ");
            let name = stream.name.trim_end_matches("[client]").trim_end_matches("[server]");
            let note = format!("stream {name}: of {} captured packets {clauses}", count(report.packets));
            if !clauses.is_empty() && last.as_ref() != Some(&note) {
                verdict.note(note.clone());
                last = Some(note);
            }
        }
    }

    /// Streams counted by a mark: a duplicate is received like any packet.
    pub(super) fn judge_marks(&self, verdict: &mut Findings) {
        let streams = self.trial.streams.iter().zip(&self.sums.sent).zip(&self.sums.arrivals.streams);
        let marked = streams.filter(|((stream, _), _)| stream.marked && stream.to.is_some());
        let (mut more, mut fewer) = (0u64, 0u64);
        for ((_, sent), got) in marked {
            more += u64::from(got.counts.received > *sent);
            fewer += u64::from(got.counts.received < *sent);
        }
        let is_cleared = self.sums.since.times > 0;
        if more > 0 && !is_cleared {
            verdict.note(format!(
                "more packets came than were sent on {} {} counted by a mark: packets were duplicated, and how many were lost is \
                 not known",
                count(more),
                streams_of(more)
            ));
        }
        if is_cleared && more + fewer > 0 {
            let all = more + fewer;
            verdict.note(format!(
                "packets counted by a mark carry no time: those under way when counters were set to zero count as received, and \
                 how many of {} {} were lost is not known",
                count(all),
                streams_of(all)
            ));
        } else if fewer > 0 {
            verdict.note(format!(
                "the loss of {} {} counted by a mark is a lower bound: a duplicate counts as received",
                count(fewer),
                streams_of(fewer)
            ));
        }
    }
}

fn streams_of(n: u64) -> &'static str {
    if n == 1 { "stream" } else { "streams" }
}
