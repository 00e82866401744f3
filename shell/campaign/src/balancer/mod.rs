//! Trials of load balancers: clients and backends of the tester on both sides, with every session's backend known.
//!
//! The profile's entry of sessions with clients has the balancer's address; its entries of servers alone are the backends.
//! A trial borrows the ports from the engine: whether a session is opened depends on what became of others.
//!
//! Not here: flows and their messages (`balance`), and the figures, which are the method's.

mod outcome;
mod setup;

use crate::{CampaignError, Tester};
use balance::{Change, ChangeScript, Exchange, Identity, Rounds, Script};
use engine::{Commands, LentHost, PortUser};
use methods::{BackendChange, BalancerLoad, BalancerTask, StickyBy, TrialOutcome, TrialRequest};
use profile::Plan;
use result::ResultDocument;
use setup::Sides;
use tcp::Sink;
use units::Nanos;

/// # Errors
/// The profile has not both sides of a balancer, or not the backends that the settings name.
pub(crate) fn check(
    plan: &Plan,
    backends: usize,
    changed: Option<u16>,
    cookies: bool,
) -> Result<(), CampaignError> {
    let sides = Sides::of(plan)?;
    let there = sides.backends.len();
    if backends > 0 && backends != there {
        let reason = format!("{backends} weights for {there} backends: give one for each, or none");
        return Err(CampaignError::Setting { setting: "weights".to_owned(), reason });
    }
    if let Some(number) = changed.filter(|number| usize::from(*number) >= there) {
        let reason =
            format!("there is no backend {number}: the profile has {there}, numbered from 0 in their order");
        return Err(CampaignError::Setting { setting: "backend".to_owned(), reason });
    }
    if cookies && !sides.is_http() {
        let reason =
            "only HTTP has cookies: set 'app: http' for the clients, or leave 'cookie' out of sticky";
        return Err(CampaignError::Setting { setting: "sticky".to_owned(), reason: reason.to_owned() });
    }
    Ok(())
}

/// Runs a trial; returns its outcome and document.
///
/// # Errors
/// It could not be run.
pub(crate) fn run(
    plan: &Plan,
    request: &TrialRequest,
    task: &BalancerTask,
    load: &BalancerLoad,
    tester: &mut dyn Tester,
    commands: &mut Commands,
) -> Result<(TrialOutcome, ResultDocument), CampaignError> {
    let sides = Sides::of(plan)?;
    let script = script(task, load.rate);
    let seed = random::word(random::key(plan.seed), request.number);
    let mut user = User { sides: &sides, script, load: *load, seed, exchange: None };
    let mut plan = crate::shape::without_schedule(plan, request);
    plan.streams.clear();
    let document = tester.lend(plan, commands, &mut user)?;
    let mut outcome = crate::outcome::of_any(&document);
    if let Some(exchange) = &user.exchange {
        outcome::add(&mut outcome, exchange, &sides, task);
    }
    Ok((outcome, document))
}

fn script(task: &BalancerTask, rate: u64) -> Script {
    match task {
        BalancerTask::Spread { sessions } => {
            Script::Rounds(Rounds { rounds: 1, sessions: *sessions, rate, identity: Identity::Source })
        }
        BalancerTask::Sticky { sessions, repeats, by } => {
            let identity = match by {
                StickyBy::Source => Identity::Source,
                StickyBy::Endpoint => Identity::Endpoint,
                StickyBy::Cookie => Identity::Cookie,
            };
            Script::Rounds(Rounds { rounds: repeats + 1, sessions: *sessions, rate, identity })
        }
        BalancerTask::Change(change) => Script::Change(ChangeScript {
            sessions: change.held,
            rate: change.held_rate,
            interval: change.interval,
            probe_rate: rate,
            change: match change.change {
                BackendChange::Silent => Change::Silent,
                BackendChange::Reset => Change::Reset,
                BackendChange::Drain => Change::Drain,
            },
            backend: change.backend,
            before: change.before,
            down: change.away,
            after: change.after,
        }),
    }
}

/// An exchange on lent ports.
struct User<'a> {
    sides: &'a Sides,
    script: Script,
    load: BalancerLoad,
    seed: u64,
    /// From the beginning of the loan on.
    exchange: Option<Exchange>,
}

/// A sink behind a reference.
struct Through<'a>(&'a mut dyn Sink);

impl Sink for Through<'_> {
    fn frame(&mut self, len: usize) -> Option<&mut [u8]> {
        self.0.frame(len)
    }

    fn unfinished_frame(&mut self, len: usize, left: tcp::LeftChecksum) -> Option<&mut [u8]> {
        self.0.unfinished_frame(len, left)
    }
}

impl PortUser for User<'_> {
    fn begin(&mut self, _: Nanos, hosts: &[LentHost]) {
        let setup = self.sides.setup(hosts, &self.load, self.seed);
        self.exchange = Some(Exchange::new(setup, self.script));
    }

    fn receive(&mut self, now: Nanos, _: usize, frame: &[u8], unfinished: bool) -> bool {
        self.exchange.as_mut().is_some_and(|exchange| exchange.receive(now, frame, unfinished))
    }

    fn turn(&mut self, now: Nanos) {
        if let Some(exchange) = &mut self.exchange {
            exchange.turn(now);
        }
    }

    fn transmit(&mut self, now: Nanos, port: usize, sink: &mut dyn Sink) {
        let Some(exchange) = &mut self.exchange else { return };
        let mut sink = Through(sink);
        if port == self.sides.client_port {
            exchange.transmit_clients(now, &mut sink);
        }
        if port == self.sides.server_port {
            exchange.transmit_backends(now, &mut sink);
        }
    }

    fn next_due(&self) -> Nanos {
        self.exchange.as_ref().map_or(Nanos::MAX, Exchange::next_due)
    }

    fn stop(&mut self, now: Nanos) {
        if let Some(exchange) = &mut self.exchange {
            exchange.stop(now);
        }
    }

    fn is_over(&self) -> bool {
        self.exchange.as_ref().is_none_or(Exchange::is_over)
    }
}
