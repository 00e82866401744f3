//! Runs and campaigns as server-sent events. A slow client gets the newest events, not all.

use crate::campaigns::CampaignJob;
use crate::jobs::Job;
use crate::runs::RunJob;
use crate::snapshots::LiveSnapshot;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde::Serialize;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Time between comments, which reveal closed connections.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Events of one client.
pub(crate) type Events =
    Sse<axum::response::sse::KeepAliveStream<Pin<Box<dyn Stream<Item = Result<Event, Infallible>> + Send>>>>;

/// Form of a run's figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Columns.
    Live,
    /// Snapshots.
    Full,
}

fn event(name: &str, text: impl AsRef<str>) -> Event {
    Event::default().event(name).data(text)
}

fn json(name: &str, value: &impl Serialize) -> Event {
    event(name, serde_json::to_string(value).unwrap_or_default())
}

/// A source of events.
trait EventSource: Send + 'static {
    fn job(&self) -> &Job;
    /// Events since the last call.
    fn new_events(&mut self) -> Vec<Event>;
    /// Events at the end.
    fn final_events(&mut self) -> Vec<Event>;
}

struct EventStream<T> {
    source: T,
    changes: watch::Receiver<u64>,
    every: Duration,
    next: Instant,
    waiting: VecDeque<Event>,
    over: bool,
}

fn events_of<T: EventSource>(source: T, every: Duration) -> Events {
    let changes = source.job().snapshots.subscribe();
    let state =
        EventStream { source, changes, every, next: Instant::now(), waiting: VecDeque::new(), over: false };
    let events = stream::unfold(state, |mut state| async move {
        loop {
            if let Some(event) = state.waiting.pop_front() {
                return Some((Ok(event), state));
            }
            if state.over {
                return None;
            }
            sleep_until(state.next).await;
            state.next = Instant::now() + state.every;
            state.changes.mark_unchanged();
            state.over = state.source.job().has_ended();
            state.waiting.extend(state.source.new_events());
            if state.over {
                state.waiting.extend(state.source.final_events());
            } else if state.waiting.is_empty() && state.changes.changed().await.is_err() {
                return None;
            }
        }
    });
    let events: Pin<Box<dyn Stream<Item = _> + Send>> = Box::pin(events);
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

/// The newest snapshot, if it was not sent yet.
fn unseen(seen: &mut Option<Arc<LiveSnapshot>>, newest: Arc<LiveSnapshot>) -> Option<Arc<LiveSnapshot>> {
    let is_new = newest.live.interval_s > 0.0 && seen.as_ref().is_none_or(|seen| !Arc::ptr_eq(seen, &newest));
    is_new.then(|| seen.insert(newest).clone())
}

struct RunEvents {
    run: Arc<RunJob>,
    form: Form,
    /// The run's document as last sent, without its time.
    document: Option<String>,
    seen: Option<Arc<LiveSnapshot>>,
    full_at_s: Option<f64>,
}

impl EventSource for RunEvents {
    fn job(&self) -> &Job {
        &self.run.job
    }

    fn new_events(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        let document = self.run.document();
        let still = serde_json::to_string(&api::Run { at_s: 0.0, ..document.clone() }).unwrap_or_default();
        if self.document.as_ref() != Some(&still) && !document.state.has_ended() {
            events.push(json("run", &document));
            self.document = Some(still);
        }
        match self.form {
            Form::Live => {
                let snapshot = unseen(&mut self.seen, self.run.job.snapshots.live());
                events.extend(snapshot.map(|snapshot| event("live", snapshot.text())));
            }
            Form::Full => {
                let newest = self.run.job.snapshots.full().map(|snapshot| snapshot.at_s);
                if newest.is_some() && newest != self.full_at_s {
                    self.full_at_s = newest;
                    events.push(json("full", &self.run.snapshot()));
                }
            }
        }
        events
    }

    fn final_events(&mut self) -> Vec<Event> {
        let result = self.run.result().map(|text| event("result", text));
        result.into_iter().chain([json("run", &self.run.document())]).collect()
    }
}

/// The events of a run.
pub(crate) fn of_run(run: Arc<RunJob>, form: Form, every: Duration) -> Events {
    events_of(RunEvents { run, form, document: None, seen: None, full_at_s: None }, every)
}

struct CampaignEvents {
    campaign: Arc<CampaignJob>,
    document: Option<String>,
    seen: Option<Arc<LiveSnapshot>>,
    points: usize,
}

impl EventSource for CampaignEvents {
    fn job(&self) -> &Job {
        &self.campaign.job
    }

    fn new_events(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        let document = self.campaign.document(false);
        let text = serde_json::to_string(&document).unwrap_or_default();
        if self.document.as_ref() != Some(&text) && !document.state.has_ended() {
            events.push(event("campaign", &text));
            self.document = Some(text);
        }
        let points = self.campaign.points(self.points);
        self.points += points.len();
        events.extend(points.iter().map(|point| json("point", point.as_ref())));
        if let Some(snapshot) = unseen(&mut self.seen, self.campaign.job.snapshots.live()) {
            let names = Some(self.campaign.names().as_ref().clone());
            events.push(json("live", &api::Live { names, ..snapshot.live.clone() }));
        }
        events
    }

    fn final_events(&mut self) -> Vec<Event> {
        vec![json("campaign", &self.campaign.document(false))]
    }
}

/// The events of a campaign.
pub(crate) fn of_campaign(campaign: Arc<CampaignJob>, every: Duration) -> Events {
    events_of(CampaignEvents { campaign, document: None, seen: None, points: 0 }, every)
}
