//! The threads that listen to a server and carry orders to it; what they learn comes out of one channel.
//!
//! Not here: what to look at and what keys mean (`model`).

use super::client::{Server, Trouble, understood};
use super::ended;
use super::model::{Look, News, Order, Subject};
use api::{Campaign, Run};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

/// Between two looks at the lists, and between two attempts to reach a server.
const PAUSE: Duration = Duration::from_secs(1);
/// Looks a second of what is followed.
const EVERY_S: f64 = 0.5;

/// Listens to one server.
pub(crate) struct Feed {
    server: Server,
    news: Sender<News>,
    /// Which subject is followed: a thread that follows an older one ends.
    turn: Arc<AtomicU64>,
    followed: Option<Subject>,
}

impl Feed {
    /// Begins to read the lists.
    pub(crate) fn new(server: Server, news: Sender<News>) -> Self {
        let (of_lists, lists) = (server.clone(), news.clone());
        std::thread::spawn(move || {
            while lists.send(read_lists(&of_lists).unwrap_or_else(|e| News::Away(e.to_string()))).is_ok() {
                std::thread::sleep(PAUSE);
            }
        });
        Self { server, news, turn: Arc::default(), followed: None }
    }

    /// Follows this and nothing else.
    pub(crate) fn follow(&mut self, subject: Option<Subject>) {
        if self.followed == subject {
            return;
        }
        self.followed.clone_from(&subject);
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) + 1;
        let Some(subject) = subject else { return };
        let (server, news, newest) = (self.server.clone(), self.news.clone(), self.turn.clone());
        std::thread::spawn(move || {
            let wanted = || newest.load(Ordering::Relaxed) == turn;
            let send = |told| wanted() && news.send(told).is_ok();
            follow(&server, &subject, &send, &wanted);
        });
    }

    /// Carries out an order; what came of it is news.
    pub(crate) fn order(&self, order: Order) {
        let (server, news) = (self.server.clone(), self.news.clone());
        std::thread::spawn(move || {
            let sentence = carry_out(&server, &order).unwrap_or_else(|trouble| trouble.to_string());
            // Nobody listens any more when the program ends.
            drop(news.send(News::Said(sentence)));
        });
    }
}

/// All runs and campaigns of a server.
pub(crate) fn read_lists(server: &Server) -> Result<News, Trouble> {
    let runs = server.document("/runs")?;
    Ok(News::Lists { runs, campaigns: server.document("/campaigns")? })
}

/// Tells what happens to a subject until it ends or nobody wants to know. Reconnects.
fn follow(server: &Server, subject: &Subject, send: &impl Fn(News) -> bool, wanted: &impl Fn() -> bool) {
    while wanted() {
        match follow_once(server, subject, send) {
            Ok(()) => return,
            // That the server is away is said by those who read the lists.
            Err(Trouble::Away(_)) => std::thread::sleep(PAUSE),
            Err(other) => {
                send(News::Said(other.to_string()));
                return;
            }
        }
    }
}

/// The same until the connection ends; an error if the subject has not.
pub(crate) fn follow_once(
    server: &Server,
    subject: &Subject,
    send: &impl Fn(News) -> bool,
) -> Result<(), Trouble> {
    if let Subject::Run(id) = subject {
        let run: Box<Run> = server.document(&format!("/runs/{id}"))?;
        if run.state.has_ended() {
            return last_figures(server, &run, send);
        }
    }
    let mut over = false;
    let (path, id) = match subject {
        Subject::Run(id) => ("runs", id),
        Subject::Campaign(id) => ("campaigns", id),
    };
    let mut ended = None;
    server.events(&format!("/{path}/{id}/events?every_s={EVERY_S}"), |name, data| {
        let (wanted, has_ended) = tell(subject, name, data.as_bytes(), send)?;
        ended = has_ended.or(ended.take());
        over = !wanted;
        Ok(wanted)
    })?;
    match ended {
        _ if over => Ok(()),
        Some(Ended::Run(run)) => last_figures(server, &run, send),
        Some(Ended::Campaign) => Ok(()),
        None => Err(Trouble::Away(format!("{path} {id}: the server ended the connection"))),
    }
}

/// What an ended run came to. One that failed early, or whose server ended first, has no result.
fn last_figures(server: &Server, run: &Run, send: &impl Fn(News) -> bool) -> Result<(), Trouble> {
    match server.document::<Value>(&format!("/runs/{}/result", run.id)) {
        Ok(result) => {
            let look = ended::look(&run.names, &result);
            send(News::Look(Subject::Run(run.id.clone()), Box::new(look)));
            Ok(())
        }
        Err(Trouble::Refused { status: 404 | 409, .. }) => Ok(()),
        Err(trouble) => Err(trouble),
    }
}

/// Something after which nothing more happens.
enum Ended {
    Run(Box<Run>),
    Campaign,
}

/// Passes an event on. Whether more is wanted, and what ended with it.
fn tell(
    subject: &Subject,
    name: &str,
    data: &[u8],
    send: &impl Fn(News) -> bool,
) -> Result<(bool, Option<Ended>), Trouble> {
    Ok(match name {
        "run" => {
            let run: Box<Run> = understood("an event", data)?;
            let ended = run.state.has_ended().then(|| Ended::Run(run.clone()));
            (send(News::Run(run)), ended)
        }
        "campaign" => {
            let campaign: Box<Campaign> = understood("an event", data)?;
            let ended = campaign.state.has_ended().then_some(Ended::Campaign);
            (send(News::Campaign(campaign)), ended)
        }
        "live" => {
            let look: Box<Look> = understood("an event", data)?;
            (send(News::Look(subject.clone(), look)), None)
        }
        // Points, results, and what later versions may say.
        _ => (true, None),
    })
}

fn carry_out(server: &Server, order: &Order) -> Result<String, Trouble> {
    Ok(match order {
        Order::Scale { run, scale } => {
            server.order(&format!("/runs/{run}/rate"), &json!({"scale": scale}))?;
            match *scale {
                0.0 => "paused".to_owned(),
                1.0 => "resumed: as the profile says".to_owned(),
                scale => format!("at {:.0}% of the profile's rate", scale * 100.0),
            }
        }
        Order::Stop(Subject::Run(id)) => {
            server.order(&format!("/runs/{id}/stop"), &json!({}))?;
            "stopping".to_owned()
        }
        Order::Stop(Subject::Campaign(id)) => {
            server.order(&format!("/campaigns/{id}/stop"), &json!({}))?;
            "stopping".to_owned()
        }
        Order::Quit => String::new(),
    })
}
