//! Control protocols of devices and ports: their states and routes, and requests to them.
//!
//! They belong to the run that sends, which starts with them. It continues without traffic until protocols are stopped.

use super::control::{end, objections};
use super::{Otg, OtgSession, errors_of, snapshot};
use crate::access::Caller;
use crate::runs::RunJob;
use api::{NewProtocolChange, ProtocolAction, State};
use otg::{ControlEvent, ControlEventKind, Errors, ProtocolsRequest, Restart, Translation};
use result::ProtocolStates;
use std::collections::BTreeMap;
use std::sync::Arc;

impl Otg {
    /// Carries out the protocol part of a `ControlState`; returns the objections to a run that has ended with them.
    pub(super) async fn protocols(
        &self,
        session: &mut OtgSession,
        translation: &Arc<Translation>,
        wanted: ProtocolsRequest,
        caller: &Caller,
    ) -> Result<Vec<String>, Errors> {
        match wanted {
            ProtocolsRequest::All(true) => {
                let was_on = std::mem::replace(&mut session.protocols, true);
                if !translation.has_protocols() {
                    self.settle(session, caller).await?;
                } else if let Some(run) = session.speaking() {
                    if !was_on {
                        self.change_all(&run, translation, true).await?;
                    }
                } else if let Err(errors) = self.begin(session, translation, &[], caller).await {
                    session.protocols = false;
                    return Err(errors);
                }
            }
            ProtocolsRequest::All(false) => {
                let Some(run) = session.speaking().filter(|_| translation.has_protocols()) else {
                    session.protocols = false;
                    self.settle(session, caller).await?;
                    return Ok(Vec::new());
                };
                let now = snapshot(&run).await?;
                session.protocols = false;
                if (0..translation.flows.len()).any(|flow| session.sends(translation, &now, flow)) {
                    // Traffic goes on.
                    self.change_all(&run, translation, false).await?;
                } else {
                    self.protocol_states(session, false).await?;
                    end(&run, "protocols were stopped").await?;
                    session.learn(&run);
                    self.settle(session, caller).await?;
                    return Ok(objections(&run, translation));
                }
            }
            ProtocolsRequest::Routes(routes, up) => {
                let action = if up { ProtocolAction::Advertise } else { ProtocolAction::Withdraw };
                let run = session.speaking().filter(|_| session.protocols);
                let known = translation.routes().filter(|known| routes.contains(&known.key));
                let sources: Vec<String> = known.map(|known| known.name.clone()).collect();
                let begin_s = session.clock_s();
                if let Some(run) = run.as_ref().filter(|_| translation.events.threshold.is_some()) {
                    run.count_arrivals(takers(translation, &routes), up).await;
                }
                ask(run, NewProtocolChange { routes, ..change(action) }, "protocol.route").await?;
                let kind =
                    if up { ControlEventKind::RouteAdvertise } else { ControlEventKind::RouteWithdraw };
                session.note(kind, sources, begin_s);
            }
            ProtocolsRequest::Speakers(peers, up, path) => {
                let action = if up { ProtocolAction::Up } else { ProtocolAction::Down };
                let run = session.speaking().filter(|_| session.protocols);
                ask(run, NewProtocolChange { peers, ..change(action) }, path).await?;
            }
        }
        Ok(Vec::new())
    }

    /// Lets sessions restart.
    pub(super) async fn restart(&self, session: &OtgSession, wanted: Restart) -> Result<(), Errors> {
        let run = session.speaking().filter(|_| session.protocols);
        let new = NewProtocolChange {
            peers: wanted.peers,
            delay_s: Some(wanted.delay_s as f64),
            ..change(ProtocolAction::Restart)
        };
        ask(run, new, wanted.path).await
    }

    /// Lets all protocols of a run come up, or go down.
    async fn change_all(&self, run: &Arc<RunJob>, translation: &Translation, up: bool) -> Result<(), Errors> {
        let has_routers = translation.has_routers();
        if translation.peers().next().is_some() || has_routers {
            let action = if up { ProtocolAction::Up } else { ProtocolAction::Down };
            ask(Some(run.clone()), change(action), "protocol.all").await?;
        }
        if translation.ports.iter().any(|port| !port.clients.is_empty()) {
            let action = if up { ProtocolAction::Renew } else { ProtocolAction::Release };
            ask(Some(run.clone()), change(action), "protocol.all").await?;
        }
        let has_lags = translation.lags.iter().any(|lag| lag.is_negotiated);
        if translation.agents().next().is_some() || has_lags {
            let action = if up { ProtocolAction::Enable } else { ProtocolAction::Disable };
            ask(Some(run.clone()), change(action), "protocol.all").await?;
        }
        Ok(())
    }

    /// State of protocols, with or without the routes advertised by peers; of a run that has ended, the state at its
    /// end.
    pub(super) async fn protocol_states(
        &self,
        session: &mut OtgSession,
        routes: bool,
    ) -> Result<ProtocolStates, Errors> {
        if !session.translation.as_ref().is_some_and(|translation| translation.has_protocols()) {
            return Ok(ProtocolStates::default());
        }
        if let Some(run) = session.speaking()
            && let Ok(states) = run.protocols(routes, None).await
        {
            session.states = states.clone();
            return Ok(states);
        }
        if let Some(run) = session.traffic.as_ref().filter(|_| session.protocols) {
            let status = run.job.status();
            if status.state == State::Failed {
                let reason = status.reason.unwrap_or_default();
                let translation = session.translation()?;
                return Err(Errors::internal(format!(
                    "protocols have ended: {}",
                    translation.named(&reason)
                )));
            }
        }
        session.states.end();
        Ok(session.states.clone())
    }
}

/// Streams that may take other paths than these ranges of routes, by the ports behind which the ranges are.
fn takers(translation: &Translation, ranges: &[String]) -> BTreeMap<String, Vec<String>> {
    let mut by_port: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for stream in translation.flows.iter().flat_map(|flow| &flow.streams) {
        for (_, port) in stream.paths.iter().filter(|(range, _)| ranges.contains(range)) {
            by_port.entry(port.clone()).or_default().push(stream.name.clone());
        }
    }
    by_port
}

/// Events that are kept of a run.
const EVENTS_MAX: usize = 1_000;

impl OtgSession {
    /// The time of the run that sends, s since its traffic started.
    pub(super) fn clock_s(&self) -> f64 {
        self.speaking().map_or(0.0, |run| run.job.snapshots.live().now_s())
    }

    /// Records control-plane events requested at `begin_s` and completed now, if enabled.
    pub(super) fn note(
        &mut self,
        kind: ControlEventKind,
        sources: impl IntoIterator<Item = String>,
        begin_s: f64,
    ) {
        let is_noted = self.translation.as_ref().is_some_and(|translation| translation.events.control);
        if !is_noted || self.speaking().is_none() {
            return;
        }
        let end_s = self.clock_s();
        self.events.extend(sources.into_iter().map(|source| ControlEvent { kind, source, begin_s, end_s }));
        let excess = self.events.len().saturating_sub(EVENTS_MAX);
        self.events.drain(..excess);
    }

    /// The run whose hosts run protocols, while it is active.
    fn speaking(&self) -> Option<Arc<RunJob>> {
        self.traffic.clone().filter(|run| !run.job.has_ended())
    }

    /// Whether a run continues without traffic, for its protocols.
    pub(super) fn speaks(&self) -> bool {
        let has = |translation: &Arc<Translation>| translation.has_protocols();
        self.protocols && self.translation.as_ref().is_some_and(has) && self.speaking().is_some()
    }
}

fn change(action: ProtocolAction) -> NewProtocolChange {
    NewProtocolChange { action, ..NewProtocolChange::default() }
}

async fn ask(run: Option<Arc<RunJob>>, change: NewProtocolChange, path: &str) -> Result<(), Errors> {
    let run =
        run.ok_or_else(|| Errors::invalid(format!("{path}: protocols are not started (protocol.all)")))?;
    run.change_protocols(&change).await.map(drop).map_err(|fault| errors_of(&fault))
}
