//! A run's entry in the store, which is written while the run is active: if the server is killed, the counts until a
//! few seconds before remain.
//!
//! A separate thread writes. Not here: counting, and how a run ends (`runs`).
//!
//! Invariants: a run never waits for the store. Intervals in the store leave nothing out: their counts add up to the
//! run's. The run's agent selects them; it knows how many are stored.

use crate::jobs::{lock, now};
use agent::{Batch, Clock, Line};
use api::State;
use result::{ClockResult, IntervalDocument, ResultDocument, TotalDocument, Verdict};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};
use store::{CampaignId, NewTrial, Store, StoreError};

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
/// Rows of streams that are kept of a run that has ended.
pub(crate) const ROWS_OF_STREAMS_MAX: usize = 200;

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
struct SoFar {
    /// Counts since the last whole interval.
    unfinished: Option<IntervalDocument>,
    document: ResultDocument,
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
    fn keep_so_far(&mut self, so_far: &SoFar) -> Result<(), StoreError> {
        let trial = self.trial(&so_far.document, so_far.unfinished.as_ref())?;
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
    so_far: Option<Box<SoFar>>,
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
}

/// Part of an active run's document that is known from its start.
pub(crate) struct Beginning {
    document: ResultDocument,
}

impl Beginning {
    /// Of a run whose traffic is about to start.
    pub(crate) fn new(seed: u64, profile_sha256: &str, clock: Clock) -> Self {
        let document = ResultDocument {
            schema: result::SCHEMA.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            seed,
            profile_sha256: profile_sha256.to_owned(),
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
        Self { document }
    }

    /// Notes when traffic started, of which there were `at_s` seconds until now.
    pub(crate) fn note_start(&mut self, at_s: f64) {
        self.document.started.get_or_insert_with(|| {
            let started = SystemTime::now() - Duration::from_secs_f64(at_s.max(0.0));
            humantime::format_rfc3339_millis(started).to_string()
        });
    }

    /// The result of the first `seconds` of the run's traffic.
    pub(crate) fn so_far(&self, seconds: f64, total: TotalDocument) -> ResultDocument {
        let TotalDocument { cleared, ports, streams, groups, sessions } = total;
        ResultDocument {
            duration_s: seconds,
            cleared,
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
            ..self.document.clone()
        }
    }
}

impl Recorder {
    /// Begins. `tell` is called with what keeps the store from taking it, and with nothing once it does again; the line leads to the
    /// run's agent.
    pub(crate) fn new(run: StoredRun, line: Line, tell: impl Fn(Option<String>) + Send + 'static) -> Self {
        let shared = Arc::new(Shared::default());
        *lock(&shared.run) = Some(run);
        let writer = shared.clone();
        let thread = std::thread::Builder::new().name("eagre-record".to_owned());
        let spawned = thread.spawn(move || write(&writer, &line, &tell));
        // Without a thread, all is stored at the end.
        let thread =
            spawned.inspect_err(|error| tracing::error!("nothing is stored before the end: {error}")).ok();
        Self { shared, thread }
    }

    /// Takes a whole interval.
    pub(crate) fn interval(&self, interval: IntervalDocument) {
        lock(&self.shared.desk).intervals.push(interval);
    }

    /// Takes the data beside whole intervals that the thread has requested.
    pub(crate) fn batch(&self, beginning: &Beginning, batch: Batch) {
        let Batch { seconds, unfinished, total, .. } = batch;
        let so_far = SoFar { unfinished, document: beginning.so_far(seconds, total) };
        lock(&self.shared.desk).so_far = Some(Box::new(so_far));
        self.shared.changed.notify_one();
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
fn write(shared: &Shared, line: &Line, tell: &impl Fn(Option<String>)) {
    let mut slot = lock(&shared.run);
    let Some(run) = slot.as_mut() else { return };
    let _ = run.store.wait_for_others(BATCH_PATIENCE);
    let (mut pause, mut has_failed) = (BATCH_EVERY, false);
    while let Some(so_far) = shared.next(pause, line, run) {
        let began = Instant::now();
        let stored = run.keep_so_far(&so_far);
        line.stored(run.stored as u64);
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
    /// The state after `pause`; its whole intervals are the run's. None if the run is over.
    fn next(&self, pause: Duration, line: &Line, run: &mut StoredRun) -> Option<Box<SoFar>> {
        let desk = lock(&self.desk);
        let paused = self.changed.wait_timeout_while(desk, pause, |desk| !desk.is_over);
        drop(paused);
        line.want_batch();
        let desk = lock(&self.desk);
        let waited = self.changed.wait_while(desk, |desk| !desk.is_over && desk.so_far.is_none());
        let mut desk = waited.unwrap_or_else(PoisonError::into_inner);
        if desk.is_over {
            return None;
        }
        run.intervals.append(&mut desk.intervals);
        desk.so_far.take()
    }
}
