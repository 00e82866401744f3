//! Protocols of a run's hosts: changes requested by clients, and their state.

use crate::fault::Fault;
use crate::runs::RunJob;
use api::{NewProtocolChange, ProtocolChange};
use engine::{Command, CommandError, Reply};
use result::ProtocolStates;
use std::time::Duration;
use tokio::time::timeout;

/// For a run to begin, and the engine to look.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time for which sessions are away after a restart, s.
const DELAY_MAX_S: f64 = 3_600.0;

impl RunJob {
    /// Changes what its hosts do; returns once that is done or refused.
    pub(crate) async fn change_protocols(&self, wanted: &NewProtocolChange) -> Result<ProtocolChange, Fault> {
        let is_too_long = |delay_s: f64| !(0.0..=DELAY_MAX_S).contains(&delay_s);
        if wanted.delay_s.is_some_and(is_too_long) {
            return Err(Fault::value("delay_s", format!("expected 0 to {DELAY_MAX_S}")));
        }
        let command = Command::Protocol(wanted.clone().into());
        match self.asked(command).await? {
            Reply::Changed(changed) => Ok(ProtocolChange { changed }),
            _ => Err(Fault::machine("the engine did not report the changes".to_owned())),
        }
    }

    /// State of its hosts' protocols: at most `limit` of each kind, all without one.
    pub(crate) async fn protocols(
        &self,
        routes: bool,
        limit: Option<usize>,
    ) -> Result<ProtocolStates, Fault> {
        let limit = limit.unwrap_or(usize::MAX);
        match self.asked(Command::AskProtocols { routes, limit }).await? {
            Reply::Protocols(states) => Ok(*states),
            _ => Err(Fault::machine("the engine did not report the state of protocols".to_owned())),
        }
    }

    async fn asked(&self, command: Command) -> Result<Reply, Fault> {
        if self.job.has_ended() {
            return Err(Fault::conflict("the run has ended"));
        }
        let reply = self.job.control.request(command).into_future();
        let reply = tokio::select! {
            biased;
            reply = timeout(PATIENCE, reply) => reply,
            () = self.job.ended() => Ok(Err(CommandError::Ended)),
        };
        match reply {
            Ok(Ok(reply)) => Ok(reply),
            Ok(Err(CommandError::Refused(reason))) => Err(Fault::conflict(reason)),
            Ok(Err(CommandError::Ended)) => Err(Fault::conflict("the run has ended")),
            Err(_) => Err(Fault::machine(format!("the run has not begun within {} s", PATIENCE.as_secs()))),
        }
    }
}
