//! Pings from the ports of a run: asked for by clients, carried out by the engine, told to whoever asked.

use crate::fault::Fault;
use crate::jobs::{Job, lock};
use api::NewPing;
use axum::http::StatusCode;
use engine::{PingOrder, Pinged};
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::timeout;
use units::Nanos;

/// Echo requests of a ping, unless it says how many.
const ATTEMPTS: u16 = 3;
/// From one to the next, s, unless it says how long.
const TIMEOUT_S: f64 = 1.0;
/// Pings of a run at a time.
const AT_A_TIME: usize = 1024;
/// For a run to begin, its neighbours to be asked, and the engine to look.
const BEFORE: Duration = Duration::from_secs(20);

/// Pings of a run.
#[derive(Default)]
pub(crate) struct Pings {
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    waiting: VecDeque<PingOrder>,
    /// Who asked, of those that wait and of those under way.
    askers: BTreeMap<u64, oneshot::Sender<Pinged>>,
    asked: u64,
}

impl Pings {
    /// The next one to send.
    pub(crate) fn next(&self) -> Option<PingOrder> {
        lock(&self.queue).waiting.pop_front()
    }

    /// One is over.
    pub(crate) fn over(&self, pinged: Pinged) {
        let asker = lock(&self.queue).askers.remove(&pinged.number);
        // Who asked may be gone.
        let _ = asker.map(|asker| asker.send(pinged));
    }

    /// Sends a ping from a port of `job`, and waits for what comes of it.
    pub(crate) async fn ask(&self, new: &NewPing, ports: &[String], job: &Job) -> Result<api::Pinged, Fault> {
        let mut order = understood(new, ports)?;
        let patience =
            Duration::from_nanos(order.timeout.0).saturating_mul(2 * u32::from(order.attempts)) + BEFORE;
        let (asker, answer) = oneshot::channel();
        let number = {
            let mut queue = lock(&self.queue);
            if queue.askers.len() >= AT_A_TIME {
                let most = format!("{AT_A_TIME} pings of this run are under way, and that is the most");
                return Err(Fault::new(StatusCode::TOO_MANY_REQUESTS, most));
            }
            queue.asked += 1;
            order.number = queue.asked;
            queue.askers.insert(order.number, asker);
            queue.waiting.push_back(order);
            queue.asked
        };
        let _forgets = Asked { pings: self, number };
        tokio::select! {
            biased;
            pinged = timeout(patience, answer) => match pinged {
                Ok(Ok(pinged)) => Ok(document(new, &pinged)),
                _ => Err(Fault::machine(format!("no word of the ping within {} s", patience.as_secs()))),
            },
            () = job.ended() => Err(Fault::conflict(match job.status().reason {
                Some(reason) => format!("the run has ended: {reason}"),
                None => "the run has ended".to_owned(),
            })),
        }
    }
}

/// A ping somebody waits for. Whoever does so no longer is not told of it, and what was not sent never is.
struct Asked<'a> {
    pings: &'a Pings,
    number: u64,
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        let mut queue = lock(&self.pings.queue);
        queue.askers.remove(&self.number);
        queue.waiting.retain(|order| order.number != self.number);
    }
}

fn understood(new: &NewPing, ports: &[String]) -> Result<PingOrder, Fault> {
    if !ports.contains(&new.port) {
        return Err(Fault::value("port", format!("there is no port '{}'", new.port)));
    }
    let ip = |path: &str, text: &str| -> Result<IpAddr, Fault> {
        text.parse().map_err(|_| Fault::value(path, format!("'{text}' is no IP address")))
    };
    let (to, from) = (ip("to", &new.to)?, new.from.as_deref().map(|from| ip("from", from)).transpose()?);
    if from.is_some_and(|from| from.is_ipv4() != to.is_ipv4()) {
        return Err(Fault::value("from", "it is of another IP version than 'to'"));
    }
    let attempts = new.attempts.unwrap_or(ATTEMPTS);
    if !(1..=100).contains(&attempts) {
        return Err(Fault::value("attempts", "from 1 to 100 are expected"));
    }
    let timeout_s = new.timeout_s.unwrap_or(TIMEOUT_S);
    if !(0.01..=60.0).contains(&timeout_s) {
        return Err(Fault::value("timeout_s", "from 0.01 to 60 seconds are expected"));
    }
    let timeout = Nanos((timeout_s * 1e9) as u64);
    let (port, host) = (new.port.clone(), new.host.clone());
    Ok(PingOrder { number: 0, port, host, from, to, attempts, timeout })
}

fn document(new: &NewPing, pinged: &Pinged) -> api::Pinged {
    let text = |ip: Option<IpAddr>| ip.map(|ip| ip.to_string());
    api::Pinged {
        port: new.port.clone(),
        from: text(pinged.from),
        to: new.to.clone(),
        via: text(pinged.via),
        answered: pinged.round_trip.is_ok(),
        sent: pinged.sent,
        rtt_ns: pinged.round_trip.as_ref().ok().map(|time| time.0),
        reason: pinged.round_trip.as_ref().err().cloned(),
    }
}
