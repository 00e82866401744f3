//! A part of a run whose machine was lost while the others continue: its last counts stay, its rates are zero.
//!
//! Not here: whether the others continue (`group`), and which figures hold (`result::merge`).

use crate::message::{Batch, Full};
use crate::share::Columns;
use api::Live;
use columns::Table;
use engine::{RawRow, RawTimes};
use profile::Plan;
use result::{LossResult, Named, ResultDocument, StreamResult, TotalDocument, Verdict};
use std::sync::Arc;
use units::Nanos;

/// The last counts of a machine, with their rows of streams.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) full: Full,
    /// Rows of the interval, and since the start.
    pub(crate) rows: [Table; 2],
}

/// The loss of a machine, and its last counts.
#[derive(Debug)]
pub(crate) struct Loss {
    reason: String,
    /// When it was known, from the start of traffic on.
    known: Nanos,
    /// The snapshot that it would send: nothing since the last one.
    last: Arc<Snapshot>,
    /// Totals with rows of streams by name.
    total: TotalDocument,
}

impl Loss {
    /// The loss of a machine that had sent `full` and `batch` last. `columns` are the machine's, of all these streams.
    pub(crate) fn new<T>(
        reason: String,
        known: Nanos,
        (full, batch): (Option<&Snapshot>, Option<Batch>),
        columns: &Columns,
        streams: &Named<T>,
    ) -> Self {
        let of_full = |snapshot: &Snapshot| {
            let Full { at_s, total, raw, .. } = &snapshot.full;
            let streams = named(&snapshot.rows[1], columns, streams);
            (*at_s, TotalDocument { streams, ..total.clone() }, raw.clone())
        };
        // Of many streams, only snapshots have rows.
        let has_rows = full.is_some_and(|full| !full.rows[1].is_empty());
        let batch = batch.filter(|batch| !has_rows || !batch.total.streams.is_empty());
        let batch = batch.map(|batch| (batch.at_s, batch.total, batch.raw));
        let newest =
            full.map(of_full).into_iter().chain(batch).max_by(|one, other| one.0.total_cmp(&other.0));
        let (at_s, total, raw) = newest.unwrap_or_default();
        let raw = raw.map_or_else(RawTimes::none, |raw| raw.1);
        let own = columns.streams.iter().filter_map(|index| streams.get_index(*index as usize));
        let own = own.map(|(name, _)| total.streams.get(name).cloned().unwrap_or_default());
        let own: Vec<StreamResult> = if total.streams.is_empty() { Vec::new() } else { own.collect() };
        let full = Full {
            at_s,
            total: TotalDocument { streams: Named::new(), ..total.clone() },
            latency: RawRow::sum(std::iter::empty()),
            raw: Some(Box::new((RawTimes::none(), raw))),
            ..Full::default()
        };
        let rows = [Table::default(), Table::of(own.into_iter())];
        Self { reason, known, last: Arc::new(Snapshot { full, rows }), total }
    }

    pub(crate) fn reason(&self) -> &str {
        &self.reason
    }

    /// Sums of its packets; it always has them.
    pub(crate) fn raw(&self) -> Option<&RawTimes> {
        self.last.full.raw.as_deref().map(|(_, total)| total)
    }

    /// The snapshot that it would send: nothing since the last one.
    pub(crate) fn last(&self) -> Arc<Snapshot> {
        self.last.clone()
    }

    /// The same for the store.
    pub(crate) fn batch(&self) -> Batch {
        let Full { at_s, raw, .. } = &self.last.full;
        Batch { at_s: *at_s, seconds: *at_s, unfinished: None, total: self.total.clone(), raw: raw.clone() }
    }

    /// Its result. `other` is that of a machine that was not lost, for what is common to all.
    pub(crate) fn result(&self, other: &ResultDocument) -> ResultDocument {
        let TotalDocument { cleared, ports, streams, groups, sessions } = self.total.clone();
        ResultDocument {
            schema: other.schema.clone(),
            version: other.version.clone(),
            seed: other.seed,
            profile_sha256: other.profile_sha256.clone(),
            clock: other.clock.clone(),
            timestamp_class: other.timestamp_class.clone(),
            duration_s: self.last.full.at_s,
            cleared,
            verdict: Verdict { valid: true, ..Verdict::default() },
            ports,
            streams,
            groups,
            sessions,
            ..ResultDocument::default()
        }
    }

    /// The loss as the result has it. `ports` are the machine's, by index in the plan; `rows` are streams of the result.
    pub(crate) fn document(&self, plan: &Plan, ports: &[usize], rows: &Named<StreamResult>) -> LossResult {
        let requested_s = plan.duration.as_secs_f64();
        let mut asked = Some(0u64);
        let mut sent_packets = 0;
        for stream in plan.streams.iter().filter(|stream| ports.contains(&stream.from)) {
            let row = rows.get(&stream.name);
            sent_packets += row.map_or(0, |row| row.tx);
            let seconds =
                stream.duration.map_or(requested_s, |duration| duration.as_secs_f64().min(requested_s));
            let by_rate = row.and_then(|row| Some((row.requested_pps? * seconds).round() as u64));
            let own = stream.count.into_iter().chain(by_rate).min();
            asked = asked.zip(own).map(|(sum, own)| sum.saturating_add(own));
        }
        LossResult {
            reason: self.reason.clone(),
            requested_s,
            ran_s: self.last.full.at_s.min(requested_s),
            lost_s: self.known.as_secs_f64(),
            requested_packets: asked,
            sent_packets,
        }
    }
}

/// Rows with their names: of the streams that `columns` has, of all these.
fn named<T>(table: &Table, columns: &Columns, streams: &Named<T>) -> Named<StreamResult> {
    let row = |(index, row): (&u32, StreamResult)| {
        streams.get_index(*index as usize).map(|(name, _)| (name.clone(), row))
    };
    columns.streams.iter().zip(table.rows()).filter_map(row).collect()
}

/// Sets the rates in the last live figures of a lost machine to zero.
pub(crate) fn still(live: &mut Live) {
    live.workers.clear();
    live.disturbances.clear();
    live.latency = None;
    let (ports, streams, sessions) = (&mut live.ports, &mut live.streams, &mut live.sessions);
    for rates in [
        &mut ports.tx_pps,
        &mut ports.rx_pps,
        &mut ports.tx_bps_l1,
        &mut ports.rx_bps_l1,
        &mut streams.tx_pps,
        &mut streams.rx_pps,
        &mut sessions.open_per_s,
        &mut sessions.transactions_per_s,
        &mut sessions.rx_bps_goodput,
    ] {
        rates.fill(0.0);
    }
    for times in [&mut streams.latency_p50_ns, &mut streams.latency_p99_ns, &mut streams.latency_max_ns] {
        times.fill(None);
    }
    sessions.active.fill(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(streams: &str) -> Plan {
        let text = format!(
            "ports: {{a: {{device: 'ring:a'}}, b: {{device: 'ring:b'}}}}\nload: {{duration: 10s}}\nstreams: [{streams}]\n"
        );
        profile::load_with(&text, &profile::Overrides::default(), &|_| Err(String::new())).unwrap()
    }

    fn stream(name: &str, from: &str, rest: &str) -> String {
        let packet =
            "packet: [{ethernet: {dst: '02:00:00:00:00:01'}}, {ipv4: {src: 10.0.0.1, dst: 10.0.0.9}}, udp]";
        format!("{{name: {name}, from: {from}, {packet}, {rest}}}")
    }

    fn total(tx: u64) -> TotalDocument {
        let row = StreamResult { tx, requested_pps: Some(100.0), ..StreamResult::default() };
        TotalDocument { streams: Named::from([("s".to_owned(), row)]), ..TotalDocument::default() }
    }

    fn lost(full: Option<(f64, u64)>, batch: Option<(f64, TotalDocument)>) -> Loss {
        let snapshot = full.map(|(at_s, tx)| Snapshot {
            full: Full { at_s, ..Full::default() },
            rows: [
                Table::default(),
                Table::of(total(tx).streams.into_values().collect::<Vec<_>>().into_iter()),
            ],
        });
        let batch =
            batch.map(|(at_s, total)| Batch { at_s, seconds: at_s, unfinished: None, total, raw: None });
        let columns = Columns { streams: vec![1], ..Columns::default() };
        let streams = Named::from([("other".to_owned(), ()), ("s".to_owned(), ())]);
        Loss::new("gone".to_owned(), Nanos::from_secs(5), (snapshot.as_ref(), batch), &columns, &streams)
    }

    #[test]
    fn the_newest_counts_are_what_is_left() {
        let tx = |loss: &Loss| loss.last().rows[1].rows().map(|row| row.tx).collect::<Vec<_>>();
        let loss = lost(Some((1.5, 150)), Some((1.0, total(100))));
        assert_eq!((loss.total.streams["s"].tx, tx(&loss)), (150, vec![150]));
        let loss = lost(Some((1.5, 150)), Some((2.0, total(200))));
        assert_eq!(
            (loss.batch().total.streams["s"].tx, tx(&loss), loss.last().full.at_s),
            (200, vec![200], 2.0)
        );
        // One of a run of many streams has no rows.
        let loss = lost(Some((1.5, 150)), Some((2.0, TotalDocument::default())));
        assert_eq!((loss.total.streams["s"].tx, tx(&loss)), (150, vec![150]));
        let nothing = lost(None, None);
        assert!(
            nothing.total.streams.is_empty() && nothing.last().full.at_s == 0.0 && tx(&nothing).is_empty()
        );
    }

    #[test]
    fn newer_counts_of_a_machine_without_streams_are_kept() {
        let full = Snapshot { full: Full { at_s: 1.5, ..Full::default() }, ..Snapshot::default() };
        let cleared = Some(result::ClearedResult::default());
        let total = TotalDocument { cleared, ..TotalDocument::default() };
        let batch = Batch { at_s: 2.0, seconds: 2.0, unfinished: None, total: total.clone(), raw: None };
        let (columns, known) = (Columns::default(), Nanos::from_secs(5));
        let loss =
            Loss::new("gone".to_owned(), known, (Some(&full), Some(batch)), &columns, &Named::<()>::new());
        assert_eq!((loss.last().full.at_s, loss.batch().total), (2.0, total));
    }

    #[test]
    fn the_requested_load_is_beside_the_part_that_ran() {
        let loss = lost(Some((1.5, 150)), None);
        let said = |streams: &str| loss.document(&plan(streams), &[0], &loss.total.streams);
        let one = said(&stream("s", "a", "rate: 100pps"));
        assert_eq!(
            (one.requested_packets, one.sent_packets, one.ran_s, one.lost_s),
            (Some(1000), 150, 1.5, 5.0)
        );
        assert_eq!(one.sentence(), "gone; its load ran for 1.5 s of 10.0 s");
        assert_eq!(said(&stream("s", "a", "rate: 100pps, count: 400")).requested_packets, Some(400));
        // Another machine's, and one that has neither a rate nor a count in the result.
        let two = format!("{}, {}", stream("s", "a", "rate: 100pps"), stream("t", "b", "rate: 7pps"));
        assert_eq!(said(&two).requested_packets, Some(1000));
        assert_eq!(said(&stream("t", "a", "rate: max")).requested_packets, None);
    }
}
