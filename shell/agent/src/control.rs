//! Commands to the trial of an agent, each with one reply: the engine's channel, between two processes.

use crate::group::FromMember;
use crate::message::{FromAgent, ToAgent};
use crate::source::Source;
use engine::{Command, PendingReply, Promise, promise};
use std::sync::mpsc;

/// Sends commands to a run. Clones send to the same one.
#[derive(Debug, Clone)]
pub struct Control {
    inbox: mpsc::Sender<Inbox>,
}

/// The commands that a run gets.
#[derive(Debug)]
pub struct Requests {
    pub(crate) inbox: mpsc::Receiver<Inbox>,
    /// For the agent's messages, which come the same way.
    pub(crate) sender: mpsc::Sender<Inbox>,
}

/// Input of the thread that attends an agent.
#[derive(Debug)]
pub(crate) enum Inbox {
    Request(Request),
    Said(FromAgent),
    /// Of one of the machines of a run.
    Member(usize, Box<FromMember>),
    /// The agent has closed its end, and the reason if that is known.
    Closed(Option<String>),
}

/// A request to a run, and the promise of its reply.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) wanted: Wanted,
    pub(crate) promise: Promise,
}

#[derive(Debug)]
pub(crate) enum Wanted {
    Command(Command),
    AddStreams(Box<Source>),
    /// Send this message.
    Say(Box<ToAgent>),
    /// Kill the process, for this reason.
    GiveUp(String),
}

/// Both ends of the way commands take.
pub fn channel() -> (Control, Requests) {
    let (sender, inbox) = mpsc::channel();
    (Control { inbox: sender.clone() }, Requests { inbox, sender })
}

impl Control {
    /// Sends a command. Streams are added by [`Control::add_streams`] only.
    pub fn request(&self, command: Command) -> PendingReply {
        self.want(Wanted::Command(command))
    }

    /// Adds the streams of a plan for the same ports.
    pub fn add_streams(&self, source: Source) -> PendingReply {
        self.want(Wanted::AddStreams(Box::new(source)))
    }

    /// Ends the run.
    pub fn stop(&self) {
        drop(self.request(Command::Stop));
    }

    /// Sends a message.
    pub(crate) fn say(&self, message: ToAgent) {
        drop(self.want(Wanted::Say(Box::new(message))));
    }

    /// Kills the run's process.
    pub(crate) fn give_up(&self, reason: &str) {
        drop(self.want(Wanted::GiveUp(reason.to_owned())));
    }

    fn want(&self, wanted: Wanted) -> PendingReply {
        let (promise, reply) = promise();
        // If the run is over, so is the promise.
        let _ = self.inbox.send(Inbox::Request(Request { wanted, promise }));
        reply
    }
}
