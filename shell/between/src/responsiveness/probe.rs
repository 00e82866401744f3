//! Probes: requests on new connections, and beside loads.

use super::connect::{Peer, get, open};
use super::load::{Beside, probe};
use responsiveness::{Location, Probe};
use std::cell::RefCell;
use std::rc::Rc;
use tokio::task::spawn_local;

/// Most probes of a kind without a response: further ones would only wait.
const OPEN_MOST: usize = 100;

/// Probes under way, and the results of ended ones.
#[derive(Debug, Default)]
pub(super) struct Probes {
    /// Those that ended since they were taken.
    pub(super) ended: Vec<Probe>,
    pub(super) foreign_open: usize,
    pub(super) loaded_open: usize,
    pub(super) failed: usize,
    pub(super) last_failure: Option<String>,
}

impl Probes {
    fn take(&mut self, outcome: Result<Probe, String>) {
        match outcome {
            Ok(probe) => self.ended.push(probe),
            Err(reason) => {
                self.failed += 1;
                self.last_failure = Some(reason);
            }
        }
    }
}

/// A probe on a new connection.
pub(super) async fn foreign(peer: &Peer, at: &Location) -> Result<Probe, String> {
    let opened = open(peer).await?;
    let (tcp_ms, tls_ms) = (opened.tcp_ms, opened.tls_ms);
    match get(opened, at).await? {
        (200, _, http_ms) => Ok(Probe::Foreign { tcp_ms, tls_ms, http_ms }),
        (status, _, _) => Err(format!("{}: status {status}", at.url())),
    }
}

/// Sends a probe on a new connection, unless too many are without a response. It outlives no `LocalSet`.
pub(super) fn launch_foreign(probes: &Rc<RefCell<Probes>>, peer: &Peer, at: &Location) {
    if probes.borrow().foreign_open >= OPEN_MOST {
        return;
    }
    probes.borrow_mut().foreign_open += 1;
    let (probes, peer, at) = (Rc::clone(probes), peer.clone(), at.clone());
    spawn_local(async move {
        let outcome = foreign(&peer, &at).await;
        let mut probes = probes.borrow_mut();
        probes.foreign_open -= 1;
        probes.take(outcome);
    });
}

/// Sends a probe beside a load, as [`launch_foreign`] does.
pub(super) fn launch_loaded(probes: &Rc<RefCell<Probes>>, at: &Location, beside: Beside) {
    if probes.borrow().loaded_open >= OPEN_MOST {
        return;
    }
    probes.borrow_mut().loaded_open += 1;
    let (probes, at) = (Rc::clone(probes), at.clone());
    spawn_local(async move {
        let outcome = probe(beside, &at).await.map(|http_ms| Probe::Loaded { http_ms });
        let mut probes = probes.borrow_mut();
        probes.loaded_open -= 1;
        probes.take(outcome);
    });
}
