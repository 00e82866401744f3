//! A run's entry in the store, which is written while the run is active: if the server is killed, the counts until a
//! few seconds before remain.
//!
//! A separate thread writes. Not here: counting, and how a run ends (`runs`).
//!
//! Invariants: a run never waits for the store. Intervals in the store leave nothing out: their counts add up to the
//! run's. While the store accepts nothing, intervals get longer instead of more.

use crate::jobs::{lock, now};
use crate::snapshots::EVERY;
use api::State;
use engine::View;
use result::{ClockResult, IntervalDocument, ResultDocument, TotalDocument, Verdict};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};
use store::{CampaignId, NewTrial, Store, StoreError};
use units::Nanos;

/// Time from one batch to the next.
const BATCH_EVERY: Duration = Duration::from_secs(2);
/// The same, if batches take long to write.
const BATCH_EVERY_AT_MOST: Duration = Duration::from_secs(10);
/// Writing batches takes at most one part in this many of the time.
const WRITING_SHARE: u32 = 50;
/// Time for which a batch waits for another program that writes to the store; it is tried again later.
const BATCH_PATIENCE: Duration = Duration::from_millis(500);
/// Time for which the end of a run waits for one.
const END_PATIENCE: Duration = Duration::from_secs(10);
/// Rows of streams, sessions and ports in intervals of one length.
const ROWS_PER_LENGTH: usize = 20_000;
/// Most intervals of one length.
const MOST: usize = 1_000;
/// Intervals of runs with more streams have the sum of all streams instead of their rows.
pub(crate) const ROWS_OF_STREAMS_MAX: usize = 200;
/// Of runs with more streams, rows of streams are stored at the end only.
const STREAMS_SO_FAR_MAX: usize = 2_000;
/// Streams that are added up in the time of the shortest interval.
const STREAMS_PER_INTERVAL: usize = 2_000;

/// Where a run is kept.
pub(crate) struct StoredRun {
    store: Store,
    pub(crate) id: CampaignId,
    /// Key common to equal runs.
    key: String,
    /// Whether the store has its result.
    recorded: bool,
    /// Number of intervals in the store.
    stored: usize,
    /// Those after them.
    intervals: Vec<IntervalDocument>,
}

/// State of an unfinished run, for the store.
struct Batch {
    /// Counts since the last whole interval.
    unfinished: IntervalDocument,
    so_far: ResultDocument,
}

impl StoredRun {
    pub(crate) fn new(store: Store, id: CampaignId, key: String) -> Self {
        Self { store, id, key, recorded: false, stored: 0, intervals: Vec::new() }
    }

    /// Keeps the end of a run and, if there is one, its result with the intervals.
    pub(crate) fn keep(
        &mut self,
        state: State,
        reason: Option<&str>,
        result: Option<&ResultDocument>,
    ) -> Result<(), StoreError> {
        if let Some(result) = result.filter(|_| !self.recorded) {
            let trial = self.trial(result, None)?;
            self.store.extend(&self.id, &trial, self.stored)?;
            self.recorded = true;
            self.intervals = Vec::new();
        }
        let state = match state {
            State::Done => store::State::Done,
            State::Failed => store::State::Failed,
            _ => store::State::Interrupted,
        };
        self.store.end(&self.id, state, Some(&now()), reason)
    }

    /// Stores the current state of an active run.
    fn keep_batch(&mut self, batch: &Batch) -> Result<(), StoreError> {
        let trial = self.trial(&batch.so_far, Some(&batch.unfinished))?;
        self.store.extend(&self.id, &trial, self.stored)?;
        self.stored += self.intervals.len();
        self.intervals.clear();
        Ok(())
    }

    fn trial(
        &self,
        result: &ResultDocument,
        unfinished: Option<&IntervalDocument>,
    ) -> Result<NewTrial, StoreError> {
        let unfinished = unfinished.filter(|interval| interval.interval_s > 0.0);
        let intervals = self.intervals.iter().chain(unfinished).map(serde_json::to_value);
        Ok(NewTrial {
            number: 1,
            key: self.key.clone(),
            label: "run".to_owned(),
            result: serde_json::to_value(result)?,
            intervals: intervals.collect::<Result<_, _>>()?,
            ..NewTrial::default()
        })
    }
}

/// Data passed between a run and the thread that writes.
#[derive(Default)]
struct Desk {
    /// Whole intervals that the thread has not taken yet.
    intervals: Vec<IntervalDocument>,
    /// Number of those that it has taken and not stored.
    held: usize,
    /// Whether the thread waits for a batch.
    is_wanted: bool,
    batch: Option<Box<Batch>>,
    is_over: bool,
}

#[derive(Default)]
struct Shared {
    desk: Mutex<Desk>,
    changed: Condvar,
    /// Of the thread while it writes.
    run: Mutex<Option<StoredRun>>,
}

/// Writes an active run to the store.
pub(crate) struct Recorder {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    lengths: Lengths,
    /// Part of an active run's document that is known from its start.
    about: ResultDocument,
}

/// Length of intervals: doubled after a number of rows.
struct Lengths {
    length: Nanos,
    /// Rows of intervals of this length.
    made: usize,
    /// Rows of one interval. There are more when streams are added.
    rows: usize,
}

impl Lengths {
    /// For a run with this number of streams.
    fn new(streams: usize) -> Self {
        let times = streams.div_ceil(STREAMS_PER_INTERVAL).max(1).next_power_of_two();
        Self { length: Nanos(EVERY.0.saturating_mul(times as u64)), made: 0, rows: 0 }
    }

    /// Whether an interval as long as `span` is whole. Snapshots come somewhat before or after their time.
    fn is_whole(&self, span: Nanos) -> bool {
        span.saturating_add(Nanos(EVERY.0 / 2)) >= self.length
    }

    /// Counts an interval of this number of rows.
    fn count(&mut self, rows: usize) {
        self.rows = rows;
        self.made += rows.max(ROWS_PER_LENGTH / MOST);
        if self.made >= ROWS_PER_LENGTH {
            (self.made, self.length) = (0, Nanos(self.length.0.saturating_mul(2)));
        }
    }

    /// Maximum number of intervals that wait for the store.
    fn waiting_max(&self) -> usize {
        (ROWS_PER_LENGTH / self.rows.max(1)).clamp(1, MOST)
    }
}

/// Data known of a run at its start.
pub(crate) struct Beginning {
    /// Number of its streams.
    pub(crate) streams: usize,
    pub(crate) seed: u64,
    pub(crate) profile_sha256: String,
    pub(crate) clock: os::ClockFacts,
}

impl Recorder {
    /// Begins. `tell` is called with what keeps the store from taking it, and with nothing once it does again.
    pub(crate) fn new(
        run: StoredRun,
        beginning: Beginning,
        tell: impl Fn(Option<String>) + Send + 'static,
    ) -> Self {
        let shared = Arc::new(Shared::default());
        *lock(&shared.run) = Some(run);
        let writer = shared.clone();
        let spawned =
            std::thread::Builder::new().name("eagre-record".to_owned()).spawn(move || write(&writer, &tell));
        // Without a thread, all is stored at the end.
        let thread =
            spawned.inspect_err(|error| tracing::error!("nothing is stored before the end: {error}")).ok();
        let Beginning { streams, seed, profile_sha256, clock } = beginning;
        let about = ResultDocument {
            schema: result::SCHEMA.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            seed,
            profile_sha256,
            interrupted: true,
            clock: ClockResult {
                source: clock.source.into(),
                hz: clock.hz,
                uncertainty_ppm: Some(clock.uncertainty_ppm),
                read_cost_ns: Some(clock.read_cost_ns),
                ..ClockResult::default()
            },
            timestamp_class: "software".into(),
            ..ResultDocument::default()
        };
        Self { shared, thread, lengths: Lengths::new(streams), about }
    }

    /// Takes what was counted since this last returned true; `must` if nothing may be added to it.
    pub(crate) fn take(&mut self, view: &View<'_>, must: bool) -> bool {
        let is_whole = must && view.span() > Nanos::ZERO || self.lengths.is_whole(view.span());
        let mut desk = lock(&self.shared.desk);
        let has_room = desk.intervals.len() + desk.held < self.lengths.waiting_max();
        let (keeps, is_wanted) = (is_whole && (has_room || must), std::mem::take(&mut desk.is_wanted));
        drop(desk);
        if !keeps && !is_wanted {
            return must;
        }
        let interval = match view.stream_count() <= ROWS_OF_STREAMS_MAX {
            true => view.document(),
            false => view.document_in_sum(),
        };
        let batch = is_wanted.then(|| Box::new(self.batch(view, &interval, keeps)));
        let mut desk = lock(&self.shared.desk);
        if keeps {
            let groups = interval.groups.values().map(|rows| rows.len()).sum::<usize>();
            self.lengths
                .count(interval.streams.len() + interval.sessions.len() + interval.ports.len() + groups + 1);
            desk.intervals.push(interval);
        }
        if batch.is_some() {
            desk.batch = batch;
            self.shared.changed.notify_one();
        }
        keeps || must
    }

    fn batch(&mut self, view: &View<'_>, interval: &IntervalDocument, is_whole: bool) -> Batch {
        let at = view.at();
        let started = self.about.started.get_or_insert_with(|| {
            let started = SystemTime::now() - Duration::from_nanos(at.0);
            humantime::format_rfc3339_millis(started).to_string()
        });
        let total = match view.stream_count() <= STREAMS_SO_FAR_MAX {
            true => view.total(),
            false => view.total_without_streams(),
        };
        let TotalDocument { ports, streams, groups, sessions } = total;
        let seconds = at.min(view.duration()).as_secs_f64();
        let so_far = ResultDocument {
            started: Some(started.clone()),
            duration_s: seconds,
            verdict: Verdict {
                reasons: vec![format!(
                    "not the whole run: what was counted in its first {seconds:.1} s; packets under way then count as lost"
                )],
                ..Verdict::default()
            },
            ports,
            streams,
            groups,
            sessions,
            ..self.about.clone()
        };
        let unfinished = if is_whole { IntervalDocument::default() } else { interval.clone() };
        Batch { unfinished, so_far }
    }

    /// Ends the thread; the run, with what is not stored yet.
    pub(crate) fn end(mut self) -> Option<StoredRun> {
        self.is_over();
        if let Some(thread) = self.thread.take() {
            // What it panicked at is said by then; the run is there nevertheless.
            let _ = thread.join();
        }
        let mut run = lock(&self.shared.run).take()?;
        run.intervals.append(&mut lock(&self.shared.desk).intervals);
        let _ = run.store.wait_for_others(END_PATIENCE);
        Some(run)
    }

    fn is_over(&self) {
        lock(&self.shared.desk).is_over = true;
        self.shared.changed.notify_one();
    }
}

/// After a panic of the run, too, the thread ends.
impl Drop for Recorder {
    fn drop(&mut self) {
        self.is_over();
    }
}

/// Writes batches until the run is over, or deleted from the store.
fn write(shared: &Shared, tell: &impl Fn(Option<String>)) {
    let mut slot = lock(&shared.run);
    let Some(run) = slot.as_mut() else { return };
    let _ = run.store.wait_for_others(BATCH_PATIENCE);
    let (mut pause, mut has_failed) = (BATCH_EVERY, false);
    while let Some(batch) = shared.next_batch(pause, run) {
        let began = Instant::now();
        let stored = run.keep_batch(&batch);
        lock(&shared.desk).held = run.intervals.len();
        pause = (began.elapsed() * WRITING_SHARE).clamp(BATCH_EVERY, BATCH_EVERY_AT_MOST);
        match stored {
            Ok(()) if has_failed => {
                tracing::info!(id = %run.id, "intervals are stored again");
                tell(None);
                has_failed = false;
            }
            Ok(()) => {}
            Err(error @ StoreError::NoCampaign { .. }) => {
                tracing::error!(id = %run.id, "{error}");
                return tell(Some("it was deleted from the store, which takes no more of it".to_owned()));
            }
            Err(error) => {
                let sentence = format!("intervals are not stored yet, trying again: {error}");
                if !has_failed {
                    tracing::error!(id = %run.id, "{sentence}");
                }
                tell(Some(sentence));
                has_failed = true;
            }
        }
    }
}

impl Shared {
    /// The next batch, requested after `pause`; its whole intervals are the run's. None if the run is over.
    fn next_batch(&self, pause: Duration, run: &mut StoredRun) -> Option<Box<Batch>> {
        let desk = lock(&self.desk);
        let paused = self.changed.wait_timeout_while(desk, pause, |desk| !desk.is_over);
        let (mut desk, _) = paused.unwrap_or_else(PoisonError::into_inner);
        desk.is_wanted = true;
        let waited = self.changed.wait_while(desk, |desk| !desk.is_over && desk.batch.is_none());
        let mut desk = waited.unwrap_or_else(PoisonError::into_inner);
        if desk.is_over {
            return None;
        }
        run.intervals.append(&mut desk.intervals);
        desk.held = run.intervals.len();
        desk.batch.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths of the intervals of a run of this duration.
    fn lengths(rows: usize, seconds: f64) -> Vec<f64> {
        let (mut lengths, mut all, mut at) = (Lengths::new(rows), Vec::new(), 0.0);
        while at < seconds {
            let length = lengths.length.as_secs_f64();
            assert!(lengths.is_whole(lengths.length) && !lengths.is_whole(Nanos(lengths.length.0 / 3)));
            lengths.count(rows);
            all.push(length);
            at += length;
        }
        all
    }

    #[test]
    fn intervals_get_longer_instead_of_many() {
        let day = lengths(4, 86_400.0);
        assert!(day.len() < 10_000, "{}", day.len());
        assert!(day[..MOST].iter().all(|length| *length == 0.1));
        assert!(day[day.len() - 1] < 86_400.0 / 500.0);
        let of_many = lengths(2 * ROWS_OF_STREAMS_MAX, 86_400.0);
        assert!(of_many.len() * 2 * ROWS_OF_STREAMS_MAX < 500_000, "{}", of_many.len());
        assert_eq!(lengths(engine::STREAMS_KEPT, 10.0)[0], 1.6, "adding up takes time");
        assert_eq!(lengths(4, 9.95).len(), 100);
    }
}
