//! Pings from the ports of a run, requested by clients and sent by the engine.

use crate::fault::Fault;
use crate::jobs::Job;
use api::NewPing;
use axum::http::StatusCode;
use engine::{Command, CommandError, PingCommand, PingReply, Reply};
use std::net::IpAddr;
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use units::Nanos;

/// Default number of echo requests of a ping.
const ATTEMPTS: u16 = 3;
/// Default time between echo requests, s.
const TIMEOUT_S: f64 = 1.0;
/// Pings of a run at a time.
const AT_A_TIME: usize = 1024;
/// Time for a run to start, its neighbours to be resolved, and the engine to poll.
const BEFORE: Duration = Duration::from_secs(20);

/// Pings of a run: how many more there may be at a time.
pub(crate) struct Pings {
    left: Semaphore,
}

impl Default for Pings {
    fn default() -> Self {
        Self { left: Semaphore::new(AT_A_TIME) }
    }
}

impl Pings {
    /// Sends a ping from a port of `job`, and waits for its outcome. A ping whose caller has gone is not sent.
    pub(crate) async fn send(
        &self,
        new: &NewPing,
        ports: &[String],
        job: &Job,
    ) -> Result<api::PingResult, Fault> {
        let command = understood(new, ports)?;
        let patience =
            Duration::from_nanos(command.timeout.0).saturating_mul(2 * u32::from(command.attempts)) + BEFORE;
        let Ok(_one) = self.left.try_acquire() else {
            let most = format!("{AT_A_TIME} pings of this run are pending, the maximum");
            return Err(Fault::new(StatusCode::TOO_MANY_REQUESTS, most));
        };
        let reply = job.control.request(Command::Ping(command)).into_future();
        let reply = tokio::select! {
            biased;
            reply = timeout(patience, reply) => reply,
            () = job.ended() => Ok(Err(CommandError::Ended)),
        };
        match reply {
            Ok(Ok(Reply::Ping(reply))) => Ok(document(new, &reply)),
            Ok(Err(CommandError::Refused(reason))) => Ok(refused(new, reason)),
            Ok(Err(CommandError::Ended)) => {
                job.ended().await;
                Err(Fault::conflict(match job.status().reason {
                    Some(reason) => format!("the run has ended: {reason}"),
                    None => "the run has ended".to_owned(),
                }))
            }
            Ok(Ok(_)) | Err(_) => {
                Err(Fault::machine(format!("no outcome of the ping within {} s", patience.as_secs())))
            }
        }
    }
}

fn understood(new: &NewPing, ports: &[String]) -> Result<PingCommand, Fault> {
    if !ports.contains(&new.port) {
        return Err(Fault::value("port", format!("no port '{}'", new.port)));
    }
    let ip = |path: &str, text: &str| -> Result<IpAddr, Fault> {
        text.parse().map_err(|_| Fault::value(path, format!("'{text}' is not an IP address")))
    };
    let (to, from) = (ip("to", &new.to)?, new.from.as_deref().map(|from| ip("from", from)).transpose()?);
    if from.is_some_and(|from| from.is_ipv4() != to.is_ipv4()) {
        return Err(Fault::value("from", "its IP version differs from that of 'to'"));
    }
    let attempts = new.attempts.unwrap_or(ATTEMPTS);
    if !(1..=100).contains(&attempts) {
        return Err(Fault::value("attempts", "expected 1 to 100"));
    }
    let timeout_s = new.timeout_s.unwrap_or(TIMEOUT_S);
    if !(0.01..=60.0).contains(&timeout_s) {
        return Err(Fault::value("timeout_s", "expected 0.01 to 60 s"));
    }
    let timeout = Nanos((timeout_s * 1e9) as u64);
    let (port, host) = (new.port.clone(), new.host.clone());
    Ok(PingCommand { port, host, from, to, attempts, timeout })
}

fn document(new: &NewPing, reply: &PingReply) -> api::PingResult {
    api::PingResult {
        port: new.port.clone(),
        from: Some(reply.from.to_string()),
        to: new.to.clone(),
        via: Some(reply.via.to_string()),
        answered: reply.round_trip.is_ok(),
        sent: reply.sent,
        rtt_ns: reply.round_trip.as_ref().ok().map(|time| time.0),
        reason: reply.round_trip.as_ref().err().cloned(),
    }
}

/// A ping that was not sent.
fn refused(new: &NewPing, reason: String) -> api::PingResult {
    api::PingResult {
        port: new.port.clone(),
        from: new.from.clone(),
        to: new.to.clone(),
        via: None,
        answered: false,
        sent: 0,
        rtt_ns: None,
        reason: Some(reason),
    }
}
