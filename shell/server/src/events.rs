//! Runs and campaigns as streams of server-sent events. Whoever is slow gets the newest and not all.

use crate::campaigns::CampaignJob;
use crate::jobs::Job;
use crate::looks::LiveLook;
use crate::runs::RunJob;
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

/// A comment after so long, so that a connection that is gone is noticed.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Events of one client.
pub(crate) type Events =
    Sse<axum::response::sse::KeepAliveStream<Pin<Box<dyn Stream<Item = Result<Event, Infallible>> + Send>>>>;

/// What a client wants of a run.
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

/// Something whose news are told one after the other.
trait Told: Send + 'static {
    fn job(&self) -> &Job;
    /// What is new since it was asked last.
    fn news(&mut self) -> Vec<Event>;
    /// What is said last.
    fn last(&mut self) -> Vec<Event>;
}

struct Teller<T> {
    told: T,
    bell: watch::Receiver<u64>,
    every: Duration,
    next: Instant,
    waiting: VecDeque<Event>,
    over: bool,
}

fn tell<T: Told>(told: T, every: Duration) -> Events {
    let bell = told.job().looks.listen();
    let teller = Teller { told, bell, every, next: Instant::now(), waiting: VecDeque::new(), over: false };
    let events = stream::unfold(teller, |mut teller| async move {
        loop {
            if let Some(event) = teller.waiting.pop_front() {
                return Some((Ok(event), teller));
            }
            if teller.over {
                return None;
            }
            sleep_until(teller.next).await;
            teller.next = Instant::now() + teller.every;
            teller.bell.mark_unchanged();
            teller.over = teller.told.job().has_ended();
            teller.waiting.extend(teller.told.news());
            if teller.over {
                teller.waiting.extend(teller.told.last());
            } else if teller.waiting.is_empty() && teller.bell.changed().await.is_err() {
                return None;
            }
        }
    });
    let events: Pin<Box<dyn Stream<Item = _> + Send>> = Box::pin(events);
    Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE))
}

/// A look that was not told yet.
fn unseen(seen: &mut Option<Arc<LiveLook>>, newest: Arc<LiveLook>) -> Option<Arc<LiveLook>> {
    let is_news =
        newest.live.interval_s > 0.0 && seen.as_ref().is_none_or(|seen| !Arc::ptr_eq(seen, &newest));
    is_news.then(|| seen.insert(newest).clone())
}

struct RunTold {
    run: Arc<RunJob>,
    form: Form,
    /// The run's document as it was told last, without its time.
    document: Option<String>,
    seen: Option<Arc<LiveLook>>,
    full_at_s: Option<f64>,
}

impl Told for RunTold {
    fn job(&self) -> &Job {
        &self.run.job
    }

    fn news(&mut self) -> Vec<Event> {
        let mut news = Vec::new();
        let document = self.run.document();
        let still = serde_json::to_string(&api::Run { at_s: 0.0, ..document.clone() }).unwrap_or_default();
        if self.document.as_ref() != Some(&still) && !document.state.has_ended() {
            news.push(json("run", &document));
            self.document = Some(still);
        }
        match self.form {
            Form::Live => {
                let look = unseen(&mut self.seen, self.run.job.looks.live());
                news.extend(look.map(|look| event("live", look.text())));
            }
            Form::Full => {
                let newest = self.run.job.looks.full().map(|look| look.at_s);
                if newest.is_some() && newest != self.full_at_s {
                    self.full_at_s = newest;
                    news.push(json("full", &self.run.snapshot()));
                }
            }
        }
        news
    }

    fn last(&mut self) -> Vec<Event> {
        let result = self.run.result().map(|text| event("result", text));
        result.into_iter().chain([json("run", &self.run.document())]).collect()
    }
}

/// The events of a run.
pub(crate) fn of_run(run: Arc<RunJob>, form: Form, every: Duration) -> Events {
    tell(RunTold { run, form, document: None, seen: None, full_at_s: None }, every)
}

struct CampaignTold {
    campaign: Arc<CampaignJob>,
    document: Option<String>,
    seen: Option<Arc<LiveLook>>,
    points: usize,
}

impl Told for CampaignTold {
    fn job(&self) -> &Job {
        &self.campaign.job
    }

    fn news(&mut self) -> Vec<Event> {
        let mut news = Vec::new();
        let document = self.campaign.document(false);
        let text = serde_json::to_string(&document).unwrap_or_default();
        if self.document.as_ref() != Some(&text) && !document.state.has_ended() {
            news.push(event("campaign", &text));
            self.document = Some(text);
        }
        let points = self.campaign.points(self.points);
        self.points += points.len();
        news.extend(points.iter().map(|point| json("point", point.as_ref())));
        if let Some(look) = unseen(&mut self.seen, self.campaign.job.looks.live()) {
            let names = Some(self.campaign.names().as_ref().clone());
            news.push(json("live", &api::Live { names, ..look.live.clone() }));
        }
        news
    }

    fn last(&mut self) -> Vec<Event> {
        vec![json("campaign", &self.campaign.document(false))]
    }
}

/// The events of a campaign.
pub(crate) fn of_campaign(campaign: Arc<CampaignJob>, every: Duration) -> Events {
    tell(CampaignTold { campaign, document: None, seen: None, points: 0 }, every)
}
