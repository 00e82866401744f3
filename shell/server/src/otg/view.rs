//! Figures of ports and flows: metrics and captures.

use super::{Otg, OtgSession, apart, snapshot};
use crate::access::Caller;
use crate::runs::RunJob;
use dpdk::PortId;
use os::link::LinkFacts;
use otg::{Errors, Figures, MetricsInput, PortState, Translation};
use serde_json::Value;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard, Semaphore};
use tokio::time::timeout;

/// Time for neighbours to reply.
const RESOLVING_TIME: Duration = Duration::from_secs(8);

/// Bytes of a capture that is sent in one response; longer ones are streamed by the native API.
pub(super) const CAPTURE_MAX: u64 = 64 << 20;
/// Captures that are converted at a time, of all clients: each needs a few times its length.
static CONVERSIONS: Semaphore = Semaphore::const_new(1);

impl Otg {
    /// Handles a `MetricsRequest`. Counters are kept until traffic is started again.
    pub(super) async fn metrics(&self, session: &mut OtgSession, request: &Value) -> Result<Value, Errors> {
        let translation = session.translation()?;
        session.has_figures(&translation)?;
        let protocols = self.protocol_states(session, false).await?;
        let run = session.traffic.as_ref().or(session.listening.as_ref());
        let active = run.is_some_and(|run| !run.job.has_ended());
        let snapshot = match run {
            Some(run) => Some(snapshot(run).await?),
            None => None,
        };
        let links = os::link::list().unwrap_or_default();
        let ports: Vec<PortState> = translation
            .ports
            .iter()
            .zip(&session.captures)
            .map(|(port, captured)| {
                let link = link_of(&port.device, &links);
                // One that is no interface of the kernel always has a link.
                let up = link.is_none_or(|link| link.running);
                PortState { up, capturing: captured.on, speed_bps: link.and_then(|link| link.speed_bps) }
            })
            .collect();
        let figures = match &snapshot {
            Some(snapshot) => Figures {
                total: Some(&snapshot.total),
                interval: snapshot.interval.as_ref(),
                at_s: snapshot.at_s,
                active,
            },
            None => Figures::default(),
        };
        let own_s: Vec<f64> = session.clocks.iter().map(|clock| clock.at(figures.at_s)).collect();
        let (requested, own_s) = (&session.asked[..], &own_s[..]);
        let (ports, protocols) = (&ports, &protocols);
        let (events, translation) = (&session.events[..], &translation);
        let input = MetricsInput { translation, figures, requested, own_s, ports, protocols, events };
        otg::metrics(request, &input)
    }

    /// Handles a `StatesRequest`. Unresolved gateways are resolved first, unless the active run has already tried.
    pub(super) async fn resolved_states(
        self: &Arc<Self>,
        request: Value,
        caller: &Caller,
    ) -> Result<Value, Errors> {
        let (otg, caller) = (self.clone(), caller.clone());
        // It goes on if its client leaves, because the run it begins is to end.
        let task = tokio::spawn(async move {
            let own = otg.session(&caller);
            let mut session = own.lock().await;
            // What is wrong with the request is said first.
            let answer = otg.states(&mut session, &request).await?;
            // What protocols of devices have learned needs no neighbours.
            if !matches!(answer["choice"].as_str(), Some("ipv4_neighbors" | "ipv6_neighbors")) {
                return Ok(answer);
            }
            otg.resolve(&own, session, &caller).await?;
            let mut session = own.lock().await;
            otg.states(&mut session, &request).await
        });
        task.await.unwrap_or_else(|_| {
            Err(Errors::internal("internal error, please report it: the request's task panicked"))
        })
    }

    /// Resolves gateways that have not replied, in a run that starts and ends with this. The session is unlocked
    /// meanwhile.
    async fn resolve(
        &self,
        own: &Mutex<OtgSession>,
        mut session: MutexGuard<'_, OtgSession>,
        caller: &Caller,
    ) -> Result<(), Errors> {
        let translation = session.translation()?;
        if session.running().is_some() || session.knows_all_of(&translation) {
            return Ok(());
        }
        session.pinging += 1;
        let began = self.settle(&mut session, caller).await;
        let run = session.running();
        drop(session);
        match (began, run) {
            (Ok(()), Some(run)) => drop(timeout(RESOLVING_TIME, asked(&run)).await),
            // The answer says that nobody is known.
            (Err(errors), _) => tracing::warn!("neighbours are not resolved: {errors}"),
            (Ok(()), None) => {}
        }
        let mut session = own.lock().await;
        if session.is_of(&translation) {
            session.pinging -= 1;
            self.settle(&mut session, caller).await?;
        }
        Ok(())
    }

    /// Handles a `StatesRequest`: neighbours that replied in a run of the configuration, and the state learned by
    /// protocols.
    async fn states(&self, session: &mut OtgSession, request: &Value) -> Result<Value, Errors> {
        let runs = [session.traffic.clone(), session.listening.clone()];
        runs.into_iter().flatten().for_each(|run| session.learn(&run));
        let learned = request["choice"].as_str().is_some_and(otg::are_learned);
        let protocols = self.protocol_states(session, learned).await?;
        let known = &session.known;
        // Addresses are compared as such: IPv6 has many ways to write one.
        let resolved = |port: &str, host: &str, address: &str| {
            let address: IpAddr = address.parse().ok()?;
            let is_it =
                |own: &&api::Neighbour| own.port == port && own.host == host && own.ip.parse() == Ok(address);
            let found = known.iter().find(is_it);
            found.map(|own| own.mac.clone())
        };
        let known = otg::Known { resolved: &resolved, protocols: &protocols };
        otg::states(request, &*session.translation()?, &known)
    }

    /// Packets captured on a port since the capture was started.
    pub(super) async fn capture(&self, session: &mut OtgSession, request: &Value) -> Result<Vec<u8>, Errors> {
        otg::config::allowed(request, "CaptureRequest")?;
        if request["packets"]["choice"] == "slice" {
            return Err(Errors::invalid("packets.slice: not supported: only whole captures"));
        }
        let translation = session.translation()?;
        let name = request["port_name"].as_str().unwrap_or_default();
        let found = translation.ports.iter().zip(&session.captures).find(|(port, _)| port.name == name);
        let Some((port, captured)) = found else {
            return Err(Errors::invalid(format!("port_name: no port '{name}'")));
        };
        let Some(plan) = port.capture.clone() else {
            return Err(Errors::invalid(format!(
                "port_name: the configuration has no capture on port '{name}'"
            )));
        };
        let (files, skip) = (captured.files.clone(), captured.skip);
        refuse_too_long(&files)?;
        let turn = CONVERSIONS.acquire().await;
        let read = move || {
            let _turn = turn;
            let files = files.iter().map(|file| whole(file)).collect::<Result<Vec<_>, _>>()?;
            let files: Vec<Vec<u8>> = files.into_iter().filter(|bytes| !bytes.is_empty()).collect();
            otg::capture(&files, &plan, skip)
        };
        apart(read).await
    }
}

impl OtgSession {
    /// Whether every gateway is resolved.
    fn knows_all_of(&self, translation: &Translation) -> bool {
        let interfaces = |port: &otg::PortPlan| {
            let of = |interface: &otg::Interface| {
                let known = |gateway: &String| {
                    let gateway: Option<IpAddr> = gateway.parse().ok();
                    let is_it = |own: &api::Neighbour| {
                        own.port == port.key && own.host == interface.host && own.ip.parse().ok() == gateway
                    };
                    self.known.iter().any(is_it)
                };
                interface.gateways.iter().all(known)
            };
            port.interfaces.iter().all(of)
        };
        translation.ports.iter().all(interfaces)
    }
}

/// Waits until a run has tried to resolve its neighbours: its first figures are published then.
async fn asked(run: &RunJob) {
    let mut changes = run.job.snapshots.subscribe();
    while run.job.snapshots.full().is_none() && !run.job.has_ended() {
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// Refuses captures that do not fit one response, before they are read.
fn refuse_too_long(files: &[PathBuf]) -> Result<(), Errors> {
    let length: u64 = files.iter().map(|file| file.metadata().map_or(0, |facts| facts.len())).sum();
    if length <= CAPTURE_MAX {
        return Ok(());
    }
    Err(Errors::invalid(format!(
        "the capture has {} MB and a response at most {} MB: capture less (filters, 'packet_size'), or fetch it from \
         /api/v1/runs/RUN/captures/PORT, which streams it",
        length / 1_000_000,
        CAPTURE_MAX / 1_000_000
    )))
}

/// A file; nothing if it was never begun.
fn whole(path: &Path) -> Result<Vec<u8>, Errors> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(Errors::internal(format!("cannot read the capture: {error}"))),
    }
}

/// The kernel's interface that a port is, if it is one.
pub(super) fn link_of<'a>(location: &str, links: &'a [LinkFacts]) -> Option<&'a LinkFacts> {
    let interface = PortId::resolve(location).ok().and_then(|id| id.kernel_interface().cloned())?;
    links.iter().find(|link| link.name == interface.name)
}
