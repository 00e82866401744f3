//! Rows of streams: each from what its sender and its receiver have.

use super::Shares;
use crate::{Named, StreamResult};

/// Rows of streams of the parts of a run, in any form: by the place of a stream in the plan, in ascending order, and its name.
pub trait Rows {
    /// Whether no part has any.
    fn is_empty(&self) -> bool;

    /// Puts the row that a part has of a stream into an empty `row`; whether there is one.
    fn row(&mut self, part: usize, stream: usize, name: &str, row: &mut StreamResult) -> bool;

    /// The same of the part where the stream arrives, before [`Rows::sent`]: what that puts there may be left out.
    fn arrived(&mut self, part: usize, stream: usize, name: &str, row: &mut StreamResult) -> bool;

    /// Puts what the part that sends a stream has of it into its `row`, by [`put_sent`]; whether the part has the stream.
    fn sent(&mut self, part: usize, stream: usize, name: &str, row: &mut StreamResult) -> bool;

    /// The first part at which packets of a stream arrived.
    fn arrived_at(&self, stream: usize, name: &str) -> Option<usize>;
}

/// Rows by name, of each part.
struct OfNames<'a>(Vec<&'a Named<StreamResult>>);

/// Rows in documents of the parts.
pub(super) fn of_names<'a>(parts: Vec<&'a Named<StreamResult>>) -> impl Rows + 'a {
    OfNames(parts)
}

impl Rows for OfNames<'_> {
    fn is_empty(&self) -> bool {
        self.0.iter().all(|rows| rows.is_empty())
    }

    fn row(&mut self, part: usize, _: usize, name: &str, row: &mut StreamResult) -> bool {
        let own = self.0.get(part).and_then(|rows| rows.get(name));
        own.inspect(|own| row.clone_from(own)).is_some()
    }

    fn arrived(&mut self, part: usize, stream: usize, name: &str, row: &mut StreamResult) -> bool {
        self.row(part, stream, name, row)
    }

    fn sent(&mut self, part: usize, _: usize, name: &str, row: &mut StreamResult) -> bool {
        let own = self.0.get(part).and_then(|rows| rows.get(name));
        put_sent(row, own.unwrap_or(&StreamResult::default()));
        own.is_some()
    }

    fn arrived_at(&self, _: usize, name: &str) -> Option<usize> {
        self.0.iter().position(|rows| rows.get(name).is_some_and(|row| row.rx.unwrap_or(0) > 0))
    }
}

impl Shares {
    /// Rows of all streams that parts have, by name.
    pub fn streams(&self, rows: &mut impl Rows, final_counts: bool) -> Named<StreamResult> {
        if rows.is_empty() {
            return Named::new();
        }
        let mut all = Named::with_capacity(self.streams.len());
        self.each_stream(rows, final_counts, |name, row| {
            all.insert(name.to_owned(), row);
        });
        all
    }

    /// The same one after the other, in the order of the plan.
    pub fn each_stream(
        &self,
        rows: &mut impl Rows,
        final_counts: bool,
        mut take: impl FnMut(&str, StreamResult),
    ) {
        for (index, (name, (from, to))) in self.streams.iter().enumerate() {
            // A stream to nowhere is received wherever it arrives.
            let to = to.or_else(|| rows.arrived_at(index, name)).unwrap_or(*from);
            let mut row = StreamResult::default();
            if to == *from {
                if rows.row(to, index, name, &mut row) {
                    take(name, row);
                }
                continue;
            }
            let has_arrived = rows.arrived(to, index, name, &mut row);
            if rows.sent(*from, index, name, &mut row) || has_arrived {
                count_lost(&mut row, final_counts);
                take(name, row);
            }
        }
    }
}

/// Puts what its sender knows of a stream into its row.
pub fn put_sent(row: &mut StreamResult, sent: &StreamResult) {
    row.requested_pps = sent.requested_pps;
    row.added_s = sent.added_s;
    row.removed_s = sent.removed_s;
    row.offered_pps = sent.offered_pps;
    row.tx = sent.tx;
    row.tx_bytes = sent.tx_bytes;
    row.pacing_ns.clone_from(&sent.pacing_ns);
    row.replay.clone_from(&sent.replay);
}

/// Computes losses of a stream from what was sent and what has arrived.
fn count_lost(row: &mut StreamResult, final_counts: bool) {
    // Duplicates of packets without a signature can't be told from packets.
    let hides_losses = row.duplicates.is_none() && row.rx.is_some_and(|rx| rx > row.tx);
    let rx = row.rx.filter(|_| final_counts && !hides_losses);
    row.lost = rx.map(|rx| row.tx.saturating_sub(rx));
    row.loss_ratio = row.lost.map(|lost| if row.tx == 0 { 0.0 } else { lost as f64 / row.tx as f64 });
}
