//! When a connection is to be woken: by its application, for a message that is due, or for a deadline.

use crate::flow::{Ctx, Flag, Flow};
use std::collections::BTreeSet;
use units::Nanos;

/// The times of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Time {
    /// Of its next message.
    Next,
    /// Its deadline.
    Deadline,
}

/// Wake-ups of one connection; a flow has one at a time.
#[derive(Debug, Default)]
pub(crate) struct Wakes {
    /// When streams are due, and for which of their times.
    streams: BTreeSet<(Nanos, u32, Time)>,
    /// When the application wants to be woken.
    app: Option<Nanos>,
    /// The wake-up that was requested last.
    asked: Option<Nanos>,
}

impl Wakes {
    /// Has a stream woken at `at` instead of at `before`.
    pub(crate) fn set(&mut self, stream: u32, time: Time, before: &mut Option<Nanos>, at: Option<Nanos>) {
        if let Some(old) = std::mem::replace(before, at) {
            self.streams.remove(&(old, stream, time));
        }
        if let Some(at) = at {
            self.streams.insert((at, stream, time));
        }
    }

    /// Forgets a stream.
    pub(crate) fn forget(&mut self, stream: u32, next: Option<Nanos>, deadline: Option<Nanos>) {
        for (time, at) in [(Time::Next, next), (Time::Deadline, deadline)] {
            if let Some(at) = at {
                self.streams.remove(&(at, stream, time));
            }
        }
    }

    /// A stream that is due, and for what.
    pub(crate) fn due(&mut self, now: Nanos) -> Option<(u32, Time)> {
        let first = self.streams.first().filter(|(at, ..)| *at <= now).copied()?;
        self.streams.remove(&first);
        Some((first.1, first.2))
    }

    /// Whether no stream waits for its time.
    pub(crate) fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// For a flow that was woken: whether the wake-up is the application's.
    pub(crate) fn woke(&mut self, now: Nanos, flow: &mut Flow) -> bool {
        self.asked = None;
        let is_own = self.app.is_some_and(|at| at <= now);
        if is_own {
            self.app = None;
        } else if self.app.is_some() {
            flow.set(Flag::Armed);
        }
        is_own
    }

    /// One wake-up for all that is due.
    pub(crate) fn settle(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(at) = ctx.ask.wake {
            self.app = Some(at);
        }
        let next = self.app.into_iter().chain(self.streams.first().map(|(at, ..)| *at)).min();
        if next.is_some() && (ctx.ask.wake.is_some() || next != self.asked) {
            ctx.ask.wake = next;
            self.asked = next;
        }
    }
}
