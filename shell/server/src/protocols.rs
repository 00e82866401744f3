//! Protocols of a run's hosts: changes requested by clients, and their state.

use crate::fault::Fault;
use crate::runs::RunJob;
use api::{NewProtocolChange, ProtocolChange};
use engine::{Command, CommandError, ProtocolAction, ProtocolCommand, Reply};
use result::ProtocolStates;
use std::time::Duration;
use tokio::time::timeout;
use units::Nanos;

/// For a run to begin, and the engine to look.
const PATIENCE: Duration = Duration::from_secs(20);
/// Time for which sessions are away after a restart.
const DELAY_MAX: Duration = Duration::from_secs(3_600);

impl RunJob {
    /// Changes what its hosts do; returns once that is done or refused.
    pub(crate) async fn change_protocols(&self, wanted: &NewProtocolChange) -> Result<ProtocolChange, Fault> {
        let action = match wanted.action {
            api::ProtocolAction::Advertise => ProtocolAction::Advertise,
            api::ProtocolAction::Withdraw => ProtocolAction::Withdraw,
            api::ProtocolAction::Up => ProtocolAction::Up,
            api::ProtocolAction::Down => ProtocolAction::Down,
            api::ProtocolAction::Restart => ProtocolAction::Restart,
            api::ProtocolAction::Renew => ProtocolAction::Renew,
            api::ProtocolAction::Release => ProtocolAction::Release,
            api::ProtocolAction::Enable => ProtocolAction::Enable,
            api::ProtocolAction::Disable => ProtocolAction::Disable,
        };
        let (port, peers, routes) = (wanted.port.clone(), wanted.peers.clone(), wanted.routes.clone());
        let delay = match wanted.delay_s.map(Duration::try_from_secs_f64) {
            None => None,
            Some(Ok(delay)) if delay <= DELAY_MAX => Some(Nanos(delay.as_nanos() as u64)),
            Some(_) => {
                return Err(Fault::value("delay_s", format!("expected 0 to {}", DELAY_MAX.as_secs())));
            }
        };
        let command = Command::Protocol(ProtocolCommand { action, port, peers, routes, delay });
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
