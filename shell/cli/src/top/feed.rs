//! Threads that read from a server and send commands to it; all updates go through one channel.
//!
//! Not here: the choice of what to show, and keys (`model`).

use super::client::{ClientError, Server, parse};
use super::ended;
use super::model::{Snapshot, Subject, Update, UserCommand};
use api::{Campaign, Run};
use result::ResultDocument;
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

/// Time between two polls of the lists, and between connection attempts.
const POLL_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of live events, seconds.
const EVERY_S: f64 = 0.5;

/// Receives updates from one server.
pub(crate) struct Feed {
    server: Server,
    updates: Sender<Update>,
    /// Number of the current subject: a thread that follows an older one ends.
    generation: Arc<AtomicU64>,
    followed: Option<Subject>,
}

impl Feed {
    /// Starts polling the lists.
    pub(crate) fn new(server: Server, updates: Sender<Update>) -> Self {
        let (of_lists, lists) = (server.clone(), updates.clone());
        std::thread::spawn(move || {
            let or_reason = |read: Result<Update, ClientError>| {
                read.unwrap_or_else(|error| Update::Unreachable(error.to_string()))
            };
            while lists.send(or_reason(read_ports(&of_lists))).is_ok()
                && lists.send(or_reason(read_lists(&of_lists))).is_ok()
            {
                std::thread::sleep(POLL_INTERVAL);
            }
        });
        Self { server, updates, generation: Arc::default(), followed: None }
    }

    /// Follows this subject only.
    pub(crate) fn follow(&mut self, subject: Option<Subject>) {
        if self.followed == subject {
            return;
        }
        self.followed.clone_from(&subject);
        let generation = self.generation.fetch_add(1, Ordering::Relaxed) + 1;
        let Some(subject) = subject else { return };
        let (server, updates, newest) = (self.server.clone(), self.updates.clone(), self.generation.clone());
        std::thread::spawn(move || {
            let wanted = || newest.load(Ordering::Relaxed) == generation;
            let send = |update| wanted() && updates.send(update).is_ok();
            follow(&server, &subject, &send, &wanted);
        });
    }

    /// Sends a command to the server; its outcome arrives as an update.
    pub(crate) fn send(&self, command: UserCommand) {
        let (server, updates) = (self.server.clone(), self.updates.clone());
        std::thread::spawn(move || {
            let message = execute(&server, &command).unwrap_or_else(|error| error.to_string());
            // The receiver is gone when the program ends.
            drop(updates.send(Update::Message(message)));
        });
    }
}

/// Reads all runs and campaigns of a server.
pub(crate) fn read_lists(server: &Server) -> Result<Update, ClientError> {
    let runs = server.document("/runs")?;
    Ok(Update::Lists { runs, campaigns: server.document("/campaigns")? })
}

/// Reads all ports of a server.
pub(crate) fn read_ports(server: &Server) -> Result<Update, ClientError> {
    Ok(Update::Ports(server.document("/ports")?))
}

/// Sends updates of a subject until it ends or is no longer wanted. Reconnects.
fn follow(server: &Server, subject: &Subject, send: &impl Fn(Update) -> bool, wanted: &impl Fn() -> bool) {
    while wanted() {
        match follow_once(server, subject, send) {
            Ok(()) => return,
            // The thread that polls the lists reports an unreachable server.
            Err(ClientError::Unreachable(_)) => std::thread::sleep(POLL_INTERVAL),
            Err(other) => {
                send(Update::Message(other.to_string()));
                return;
            }
        }
    }
}

/// The same for one connection; an error if it closes before the subject ends.
pub(crate) fn follow_once(
    server: &Server,
    subject: &Subject,
    send: &impl Fn(Update) -> bool,
) -> Result<(), ClientError> {
    if let Subject::Run(id) = subject {
        let run: Box<Run> = server.document(&format!("/runs/{id}"))?;
        if run.state.has_ended() {
            return send_last_snapshot(server, &run, send);
        }
    }
    let mut over = false;
    let (path, id) = match subject {
        Subject::Run(id) => ("runs", id),
        Subject::Campaign(id) => ("campaigns", id),
    };
    let mut ended = None;
    server.events(&format!("/{path}/{id}/events?every_s={EVERY_S}"), |name, data| {
        let (wanted, has_ended) = forward(subject, name, data.as_bytes(), send)?;
        ended = has_ended.or(ended.take());
        over = !wanted;
        Ok(wanted)
    })?;
    match ended {
        _ if over => Ok(()),
        Some(Ended::Run(run)) => send_last_snapshot(server, &run, send),
        Some(Ended::Campaign) => Ok(()),
        None => Err(ClientError::Unreachable(format!("{path} {id}: the server ended the connection"))),
    }
}

/// Sends the figures of an ended run. A run that failed early or outlived its server has no result.
fn send_last_snapshot(server: &Server, run: &Run, send: &impl Fn(Update) -> bool) -> Result<(), ClientError> {
    match server.document::<ResultDocument>(&format!("/runs/{}/result", run.id)) {
        Ok(result) => {
            let snapshot = ended::snapshot(&run.names, &result);
            send(Update::Snapshot(Subject::Run(run.id.clone()), Box::new(snapshot)));
            Ok(())
        }
        Err(ClientError::Refused { status: 404 | 409, .. }) => Ok(()),
        Err(error) => Err(error),
    }
}

/// A subject that has ended.
enum Ended {
    Run(Box<Run>),
    Campaign,
}

/// Forwards an event. Returns whether more are wanted, and what ended with it.
fn forward(
    subject: &Subject,
    name: &str,
    data: &[u8],
    send: &impl Fn(Update) -> bool,
) -> Result<(bool, Option<Ended>), ClientError> {
    Ok(match name {
        "run" => {
            let run: Box<Run> = parse("an event", data)?;
            let ended = run.state.has_ended().then(|| Ended::Run(run.clone()));
            (send(Update::Run(run)), ended)
        }
        "campaign" => {
            let campaign: Box<Campaign> = parse("an event", data)?;
            let ended = campaign.state.has_ended().then_some(Ended::Campaign);
            (send(Update::Campaign(campaign)), ended)
        }
        "live" => {
            let snapshot: Box<Snapshot> = parse("an event", data)?;
            (send(Update::Snapshot(subject.clone(), snapshot)), None)
        }
        // Points, results, and events of later versions.
        _ => (true, None),
    })
}

/// The body of a request without parameters.
#[derive(Serialize)]
struct Empty {}

fn execute(server: &Server, command: &UserCommand) -> Result<String, ClientError> {
    Ok(match command {
        UserCommand::Scale { run, scale } => {
            server.post(
                &format!("/runs/{run}/rate"),
                &api::NewRate { scale: Some(*scale), ..api::NewRate::default() },
            )?;
            match *scale {
                0.0 => "paused".to_owned(),
                1.0 => "resumed at the profile's rate".to_owned(),
                scale => format!("at {:.0}% of the profile's rate", scale * 100.0),
            }
        }
        UserCommand::Clear(run) => {
            server.post(&format!("/runs/{run}/clear"), &Empty {})?;
            "counters set to zero".to_owned()
        }
        UserCommand::Stop(Subject::Run(id)) => {
            server.post(&format!("/runs/{id}/stop"), &Empty {})?;
            "stopping".to_owned()
        }
        UserCommand::Stop(Subject::Campaign(id)) => {
            server.post(&format!("/campaigns/{id}/stop"), &Empty {})?;
            "stopping".to_owned()
        }
        UserCommand::Quit => String::new(),
    })
}
