//! Open Traffic Generator: for each caller one configuration of that model, which no other caller sees or touches.
//!
//! A client sets a configuration, which leases its ports; starts and stops traffic, captures and protocols; and
//! requests metrics. Traffic is a run of the service. While none is sent and protocols or captures are on, another run
//! listens, so that the hosts on the ports reply. Where devices have control protocols, one run does it all: it starts with
//! the protocols, with all flows paused, and continues when traffic is stopped.
//!
//! Not here: what a configuration means (the crate `otg`), and HTTP and gRPC (`routes`, `grpc`), which are equivalent.

mod action;
mod control;
mod devices;
pub(crate) mod grpc;
pub(crate) mod routes;
mod view;

use crate::access::Caller;
use crate::fault::Fault;
use crate::jobs::lock;
use crate::port_key::PortKey;
use crate::runs::RunJob;
use crate::service::Service;
use api::{Neighbour, NewLease, Snapshot, State};
use otg::{ControlEvent, ErrorKind, Errors, Translation, Transmit};
use result::ProtocolStates;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, MutexGuard, Semaphore};

/// Names that a warning lists.
const NAMED_MAX: usize = 8;

/// Methods of the model's API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Method {
    SetConfig,
    GetConfig,
    UpdateConfig,
    AppendConfig,
    DeleteConfig,
    SetControlState,
    SetControlAction,
    GetMetrics,
    GetStates,
    GetCapture,
    GetVersion,
}

impl Method {
    /// Whether it changes something, as the audit log has it.
    pub(crate) fn changes(self) -> bool {
        !matches!(
            self,
            Self::GetConfig | Self::GetMetrics | Self::GetStates | Self::GetCapture | Self::GetVersion
        )
    }
}

/// A response.
pub(crate) enum Answer {
    Document(Value),
    Bytes(Vec<u8>),
}

/// The sessions of all callers.
pub(crate) struct Otg {
    service: Arc<Service>,
    /// From a client's last request to the end of its lease.
    lease_time: Duration,
    /// Devices that locations stand for; any other location is a device.
    locations: BTreeMap<String, String>,
    /// By the callers' names, which are the names of the operator's tokens.
    sessions: std::sync::Mutex<BTreeMap<String, Arc<Mutex<OtgSession>>>>,
}

/// The configuration, and what runs of it.
#[derive(Default)]
struct OtgSession {
    config: Option<Value>,
    translation: Option<Arc<Translation>>,
    lease: Option<String>,
    /// Requested transmit state of each flow.
    asked: Vec<Transmit>,
    /// Time for which each flow was allowed to send.
    clocks: Vec<FlowClock>,
    /// The newest run that sends or has sent.
    traffic: Option<Arc<RunJob>>,
    /// Where the request to start it came from.
    started_from: Option<SocketAddr>,
    /// The newest run that only listens.
    listening: Option<Arc<RunJob>>,
    protocols: bool,
    /// Last state of the devices' protocols.
    states: ProtocolStates,
    /// Control-plane events requested in the latest run that sends, if recorded.
    events: Vec<ControlEvent>,
    /// Requests under way that need a run: pings, and neighbours that are resolved.
    pinging: usize,
    /// Neighbours that replied in a run of this configuration, each once.
    known: Vec<Neighbour>,
    /// Of each port.
    captures: Vec<Captured>,
}

/// Time for which a flow was allowed to send: a flow that is limited by time has ended when that is over.
#[derive(Debug, Clone, Copy, Default)]
struct FlowClock {
    /// Time used before it was last resumed, s.
    used_s: f64,
    /// When that was, s since the start of traffic; `None` while it is not.
    since_s: Option<f64>,
}

impl FlowClock {
    /// The flow sends from `at_s` on, or does so no more.
    fn turn(&mut self, sends: bool, at_s: f64) {
        self.used_s = self.at(at_s);
        self.since_s = sends.then_some(at_s);
    }

    /// Its value at `at_s`.
    fn at(&self, at_s: f64) -> f64 {
        self.used_s + self.since_s.map_or(0.0, |since| (at_s - since).max(0.0))
    }
}

/// Packets captured on a port since its capture was started.
#[derive(Debug, Clone, Default)]
struct Captured {
    on: bool,
    files: Vec<PathBuf>,
    /// Packets in the first of them that are of a capture before.
    skip: usize,
}

impl Otg {
    pub(crate) fn new(
        service: Arc<Service>,
        lease_time: Duration,
        locations: BTreeMap<String, String>,
    ) -> Self {
        Self { service, lease_time, locations, sessions: std::sync::Mutex::default() }
    }

    /// The session of a caller.
    fn session(&self, caller: &Caller) -> Arc<Mutex<OtgSession>> {
        lock(&self.sessions).entry(caller.name.clone()).or_default().clone()
    }

    /// Carries out a method.
    pub(crate) async fn call(
        self: &Arc<Self>,
        method: Method,
        request: Value,
        caller: &Caller,
    ) -> Result<Answer, Errors> {
        let own = self.session(caller);
        let mut session = own.lock().await;
        self.keep_lease(&mut session, caller)?;
        let document = match method {
            Method::SetConfig => self.set(&mut session, request, caller).await?,
            Method::UpdateConfig => {
                let config = otg::config::update(&session.current(), &request)?;
                self.replace(&mut session, config, caller).await?
            }
            Method::AppendConfig => {
                let config = otg::config::append(&session.current(), &request)?;
                self.replace(&mut session, config, caller).await?
            }
            Method::DeleteConfig => {
                let config = otg::config::delete(&session.current(), &request)?;
                self.replace(&mut session, config, caller).await?
            }
            Method::GetConfig => session.current(),
            Method::SetControlState => self.control(&mut session, &request, caller).await?,
            Method::SetControlAction => {
                drop(session);
                self.act(request, caller).await?
            }
            Method::GetMetrics => self.metrics(&mut session, &request).await?,
            Method::GetStates => {
                drop(session);
                self.resolved_states(request, caller).await?
            }
            Method::GetCapture => return self.capture(&mut session, &request).await.map(Answer::Bytes),
            Method::GetVersion => otg::version(env!("CARGO_PKG_VERSION")),
        };
        Ok(Answer::Document(document))
    }

    /// Sets a configuration; an empty one is a reset.
    async fn set(
        &self,
        session: &mut MutexGuard<'_, OtgSession>,
        config: Value,
        caller: &Caller,
    ) -> Result<Value, Errors> {
        let device = |location: &str| self.locations.get(location).cloned();
        let device = |location: &str| device(location).unwrap_or_else(|| location.to_owned());
        let (translation, plan) = otg::translate_at(&config, &device)?;
        self.check_locations(&translation)?;
        if let Some(plan) = plan.filter(|_| !translation.flows.is_empty()) {
            self.service.limits.check(&plan).map_err(|fault| errors_of(&fault))?;
        }
        let mut warnings = session.what_is_stopped();
        self.end_all(session).await?;
        if let Some(lease) = session.lease.take() {
            let _ = self.service.release(&lease);
        }
        **session = OtgSession::default();
        if !translation.ports.is_empty() {
            session.lease = Some(self.lease(&translation, caller)?);
        }
        warnings.extend(translation.warnings.iter().cloned());
        if translation.flows.iter().any(|flow| flow.cut_through) {
            let links = os::link::list().unwrap_or_default();
            let speed = |port: usize| view::link_of(&translation.ports[port].device, &links)?.speed_bps;
            warnings.extend(translation.cut_through_warnings(&speed));
        }
        session.asked = vec![Transmit::Stopped; translation.flows.len()];
        session.clocks = vec![FlowClock::default(); translation.flows.len()];
        session.captures = vec![Captured::default(); translation.ports.len()];
        session.config = Some(config);
        session.translation = Some(Arc::new(translation));
        Ok(json!({"warnings": warnings}))
    }

    /// Replaces the configuration by a changed one. A started run continues if its traffic does not change.
    async fn replace(
        &self,
        session: &mut MutexGuard<'_, OtgSession>,
        config: Value,
        caller: &Caller,
    ) -> Result<Value, Errors> {
        let sends = session.traffic.as_ref().is_some_and(|run| !run.job.has_ended());
        if sends {
            let what =
                if session.speaks() { "while protocols run: stop them" } else { "during traffic: stop it" };
            return Err(Errors::invalid(format!("cannot change the configuration {what} first")));
        }
        let (protocols, on): (bool, Vec<bool>) =
            (session.protocols, session.captures.iter().map(|c| c.on).collect());
        let answer = self.set(session, config, caller).await?;
        session.protocols = protocols;
        session.captures.iter_mut().zip(on).for_each(|(captured, on)| captured.on = on);
        self.settle(session, caller).await?;
        Ok(answer)
    }

    /// Refuses locations that are no ports of this machine, or that clients can't use.
    fn check_locations(&self, translation: &Translation) -> Result<(), Errors> {
        let check = |(index, port): (usize, &otg::PortPlan)| {
            let reason = match self.service.admission.admit_any(&port.device) {
                Err(fault) => fault.problem().detail.clone(),
                Ok(PortKey::Remote(_)) => return None,
                Ok(PortKey::Here(id)) => {
                    let interface = id.kernel_interface().filter(|interface| interface.index.is_none())?;
                    format!("there is no interface '{}' here", interface.name)
                }
            };
            let device = if port.device == port.location {
                String::new()
            } else {
                format!(" ('{}' stands for '{}')", port.location, port.device)
            };
            Some(format!("ports[{index}].location: {reason}{device}"))
        };
        let errors: Vec<String> = translation.ports.iter().enumerate().filter_map(check).collect();
        if errors.is_empty() { Ok(()) } else { Err(Errors { kind: ErrorKind::Validation, errors }) }
    }

    /// Leases the ports of a configuration.
    fn lease(&self, translation: &Translation, caller: &Caller) -> Result<String, Errors> {
        let ports = translation.ports.iter().map(|port| port.device.clone()).collect();
        let wanted = NewLease { ports, ttl_s: self.lease_time.as_secs_f64(), holder: Some("otg".to_owned()) };
        self.service
            .lease(&wanted, caller)
            .map(|lease| lease.id.unwrap_or_default())
            .map_err(|fault| errors_of(&fault))
    }

    /// Renews the lease. An expired lease is taken anew, if no other caller has the ports.
    fn keep_lease(&self, session: &mut OtgSession, caller: &Caller) -> Result<(), Errors> {
        let Some(id) = &session.lease else { return Ok(()) };
        if self.service.renew(id, Some(self.lease_time.as_secs_f64())).is_err() {
            session.lease = None;
            if let Some(translation) = &session.translation {
                session.lease = self.lease(translation, caller).ok();
            }
        }
        Ok(())
    }
}

impl OtgSession {
    fn current(&self) -> Value {
        self.config.clone().unwrap_or_else(otg::config::empty)
    }

    /// The active run, if there is one.
    fn running(&self) -> Option<Arc<RunJob>> {
        [&self.traffic, &self.listening].into_iter().flatten().find(|run| !run.job.has_ended()).cloned()
    }

    /// Runs and captures that end when another configuration replaces this one, in words.
    fn what_is_stopped(&self) -> Vec<String> {
        let Some(translation) = &self.translation else { return Vec::new() };
        let listed = |names: Vec<&str>| {
            let more = names.len().saturating_sub(NAMED_MAX);
            let shown: Vec<String> = names.iter().take(NAMED_MAX).map(|name| format!("'{name}'")).collect();
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{}{more}", shown.join(", "))
        };
        let mut stopped = Vec::new();
        if self.traffic.as_ref().is_some_and(|run| !run.job.has_ended()) {
            let flows = translation.flows.iter().zip(&self.asked);
            let sent = flows.filter(|(_, asked)| **asked != Transmit::Stopped);
            let names: Vec<&str> = sent.map(|(flow, _)| flow.name.as_str()).collect();
            let from = self.started_from.map_or_else(String::new, |from| format!(", started from {from}"));
            if names.is_empty() {
                stopped.push("protocols of the configuration before were stopped".to_owned());
            } else {
                stopped.push(format!(
                    "traffic of the configuration before was still being sent and was stopped{from}: {}",
                    listed(names)
                ));
            }
        }
        let ports = translation.ports.iter().zip(&self.captures).filter(|(_, captured)| captured.on);
        let names: Vec<&str> = ports.map(|(port, _)| port.name.as_str()).collect();
        if !names.is_empty() {
            stopped
                .push(format!("captures of the configuration before were stopped: port {}", listed(names)));
        }
        stopped
    }

    /// Checks that the newest run has figures, or may get some.
    ///
    /// # Errors
    /// It failed before its traffic began.
    fn has_figures(&self, translation: &Translation) -> Result<(), Errors> {
        if self.running().is_some() {
            return Ok(());
        }
        let run = self.traffic.as_ref().or(self.listening.as_ref());
        let failed = run.filter(|run| run.job.snapshots.full().is_none()).and_then(|run| failure(run));
        failed.map_or(Ok(()), |reason| Err(Errors::internal(translation.named(&reason))))
    }

    /// Stores the neighbours that replied in a run.
    fn learn(&mut self, run: &RunJob) {
        for found in run.neighbours() {
            let is_same =
                |own: &Neighbour| (&own.port, &own.host, &own.ip) == (&found.port, &found.host, &found.ip);
            self.known.retain(|own| !is_same(own));
            self.known.push(found);
        }
    }

    /// Whether the configuration is still that one.
    fn is_of(&self, translation: &Arc<Translation>) -> bool {
        self.translation.as_ref().is_some_and(|own| Arc::ptr_eq(&own.ports, &translation.ports))
    }

    fn translation(&self) -> Result<Arc<Translation>, Errors> {
        self.translation.clone().ok_or_else(|| Errors::invalid("no configuration: set one first"))
    }
}

/// Runs work that may take long, beside the threads of requests.
async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Errors> + Send + 'static,
) -> Result<T, Errors> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|_| {
        Err(Errors::internal("internal error, please report it: the request's thread panicked"))
    })
}

/// Turn to make a snapshot: one whose client leaves is still made.
static SNAPSHOTS: Semaphore = Semaphore::const_new(1);

/// Everything that is known of a run: its rows of streams are made for it.
async fn snapshot(run: &Arc<RunJob>) -> Result<Snapshot, Errors> {
    let turn = SNAPSHOTS.acquire().await.map_err(|_| Errors::internal("the server is being stopped"))?;
    let run = run.clone();
    apart(move || {
        let _turn = turn;
        Ok(run.snapshot())
    })
    .await
}

/// Why a run failed, if it did.
fn failure(run: &RunJob) -> Option<String> {
    let status = run.job.status();
    (status.state == State::Failed).then(|| status.reason.unwrap_or_else(|| "the run failed".to_owned()))
}

/// The service's refusal, in the model's terms.
fn errors_of(fault: &Fault) -> Errors {
    let problem = fault.problem();
    let mut errors: Vec<String> =
        problem.errors.iter().map(|place| format!("{}: {}", place.path, place.reason)).collect();
    if errors.is_empty() {
        errors.push(problem.detail.clone());
    }
    let kind = if fault.status().is_client_error() { ErrorKind::Validation } else { ErrorKind::Internal };
    Errors { kind, errors }
}
