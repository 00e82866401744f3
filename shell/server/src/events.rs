//! Runs and campaigns as server-sent events. A slow client gets the newest events, not all.
//!
//! Invariant: what all watchers get alike is in memory once (`texts`); a watcher has a pointer to it, and hands it on piece
//! by piece as its client takes it.

use crate::campaigns::CampaignJob;
use crate::jobs::Job;
use crate::runs::{RunChange, RunJob};
use crate::texts::Text;
use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use futures_util::stream;
use serde::Serialize;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

/// Time between comments, which reveal closed connections.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Bytes that are handed on at a time.
const PIECE: usize = 64 << 10;

/// Form of a run's figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Columns.
    Live,
    /// Snapshots.
    Full,
}

/// An event: its name, and its data in one line of JSON.
struct Event(&'static str, Bytes);

fn json(name: &'static str, value: &impl Serialize) -> Event {
    Event(name, serde_json::to_vec(value).unwrap_or_default().into())
}

impl Event {
    /// In pieces, which share the data.
    fn pieces(self) -> impl Iterator<Item = Bytes> {
        let Self(name, mut data) = self;
        let head = Bytes::from(format!("event: {name}\ndata: "));
        let pieces =
            std::iter::from_fn(move || (!data.is_empty()).then(|| data.split_to(data.len().min(PIECE))));
        std::iter::once(head).chain(pieces).chain([Bytes::from_static(b"\n\n")])
    }
}

type Later<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A source of events.
trait EventSource: Send + 'static {
    fn job(&self) -> &Job;
    /// Events since the last call.
    fn new_events(&mut self) -> Later<'_, Vec<Event>>;
    /// Events at the end.
    fn final_events(&mut self) -> Vec<Event>;
}

struct EventStream<T> {
    source: T,
    changes: watch::Receiver<u64>,
    every: Duration,
    next: Instant,
    waiting: VecDeque<Bytes>,
    over: bool,
}

impl<T: EventSource> EventStream<T> {
    /// The next piece; none at the end.
    async fn next(mut self) -> Option<(Result<Bytes, Infallible>, Self)> {
        loop {
            if let Some(piece) = self.waiting.pop_front() {
                return Some((Ok(piece), self));
            }
            if self.over {
                return None;
            }
            let comment = Instant::now() + KEEP_ALIVE;
            if self.next > comment {
                sleep_until(comment).await;
                return Some((Ok(Bytes::from_static(b":\n\n")), self));
            }
            sleep_until(self.next).await;
            self.changes.mark_unchanged();
            self.over = self.source.job().has_ended();
            let mut events = self.source.new_events().await;
            if self.over {
                events.extend(self.source.final_events());
            } else if events.is_empty() {
                match timeout(KEEP_ALIVE, self.changes.changed()).await {
                    Ok(Ok(())) => continue,
                    Ok(Err(_)) => return None,
                    Err(_) => return Some((Ok(Bytes::from_static(b":\n\n")), self)),
                }
            }
            self.next = after(self.next, Instant::now(), self.every);
            self.waiting.extend(events.into_iter().flat_map(Event::pieces));
        }
    }
}

/// When events are sent next after some that were due at `due` and sent at `now`: sooner if they came late, so that jitter of snapshots
/// does not lower their number, and never sooner than half of `every`.
fn after(due: Instant, now: Instant, every: Duration) -> Instant {
    due.max(now.checked_sub(every / 2).unwrap_or(now)) + every
}

fn events_of<T: EventSource>(source: T, every: Duration) -> Response {
    let changes = source.job().snapshots.subscribe();
    let (next, waiting) = (Instant::now(), VecDeque::new());
    let state = EventStream { source, changes, every, next, waiting, over: false };
    let body = Body::from_stream(stream::unfold(state, EventStream::next));
    let kind = HeaderValue::from_static("text/event-stream");
    ([(header::CONTENT_TYPE, kind)], body).into_response()
}

/// The text, if it was not sent yet.
fn unseen(seen: &mut Option<Text>, newest: Option<Text>) -> Option<Bytes> {
    let newest = newest?;
    let is_new = seen.as_ref().is_none_or(|seen| !seen.is(&newest));
    is_new.then(|| {
        let bytes = newest.bytes();
        *seen = Some(newest);
        bytes
    })
}

struct RunEvents {
    run: Arc<RunJob>,
    form: Form,
    /// Part of the run's document that has been sent.
    document: Option<RunChange>,
    seen: Option<Text>,
}

impl EventSource for RunEvents {
    fn job(&self) -> &Job {
        &self.run.job
    }

    fn new_events(&mut self) -> Later<'_, Vec<Event>> {
        Box::pin(async {
            let mut events = Vec::new();
            let change = self.run.latest_change();
            if self.document.as_ref() != Some(&change) && !change.state.has_ended() {
                events.push(Event("run", self.run.document_text(&change).bytes()));
                self.document = Some(change);
            }
            let (name, newest) = match self.form {
                Form::Live => ("live", self.run.job.snapshots.live_text(None)),
                Form::Full if self.run.job.snapshots.full().is_some() => ("full", self.run.full_text().await),
                Form::Full => ("full", None),
            };
            events.extend(unseen(&mut self.seen, newest).map(|text| Event(name, text)));
            events
        })
    }

    fn final_events(&mut self) -> Vec<Event> {
        let result = self.run.result().map(|text| Event("result", Text::new(text).bytes()));
        // The last word is never an older one.
        result.into_iter().chain([json("run", &self.run.document())]).collect()
    }
}

/// The events of a run.
pub(crate) fn of_run(run: Arc<RunJob>, form: Form, every: Duration) -> Response {
    events_of(RunEvents { run, form, document: None, seen: None }, every)
}

struct CampaignEvents {
    campaign: Arc<CampaignJob>,
    document: Option<String>,
    seen: Option<Text>,
    points: usize,
}

impl EventSource for CampaignEvents {
    fn job(&self) -> &Job {
        &self.campaign.job
    }

    fn new_events(&mut self) -> Later<'_, Vec<Event>> {
        Box::pin(async {
            let mut events = Vec::new();
            let document = self.campaign.document(false);
            let text = serde_json::to_string(&document).unwrap_or_default();
            if self.document.as_ref() != Some(&text) && !document.state.has_ended() {
                events.push(Event("campaign", text.clone().into()));
                self.document = Some(text);
            }
            let points = self.campaign.points(self.points);
            self.points += points.len();
            events.extend(points.iter().map(|point| json("point", point.as_ref())));
            let newest = self.campaign.job.snapshots.live_text(Some(&self.campaign.names()));
            events.extend(unseen(&mut self.seen, newest).map(|text| Event("live", text)));
            events
        })
    }

    fn final_events(&mut self) -> Vec<Event> {
        vec![json("campaign", &self.campaign.document(false))]
    }
}

/// The events of a campaign.
pub(crate) fn of_campaign(campaign: Arc<CampaignJob>, every: Duration) -> Response {
    events_of(CampaignEvents { campaign, document: None, seen: None, points: 0 }, every)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_events_do_not_lower_their_number() {
        let (start, every) = (Instant::now() + Duration::from_secs(10), Duration::from_millis(100));
        let ms = |ms: u64| start + Duration::from_millis(ms);
        assert_eq!(after(ms(0), ms(0), every), ms(100));
        assert_eq!(after(ms(0), ms(30), every), ms(100));
        assert_eq!(after(ms(0), ms(70), every), ms(120), "not two at once");
        assert_eq!(after(ms(0), ms(5_000), every), ms(5_050), "and a long pause is not made up for");
    }
}
