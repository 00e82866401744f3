//! Starting and stopping: traffic, captures, links. Protocols of devices: `devices`.

use super::{FlowClock, Otg, OtgSession, apart, errors_of, failure, snapshot};
use crate::access::Caller;
use crate::fault::Fault;
use crate::links::interface;
use crate::routes::blocking;
use crate::runs::{RunJob, RunMode};
use api::{NewRate, NewRun, NewStreams, RemovedStreams, Snapshot};
use futures_util::future::join_all;
use otg::{ControlEventKind, Errors, Translation, Transmit};
use serde_json::{Value, json};
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Time for a run to end after a request.
const PATIENCE: Duration = Duration::from_secs(15);
/// For a run that takes no change because it is ending by itself.
const ENDING: Duration = Duration::from_secs(5);
/// Late packets are waited for so long.
const DRAIN: &str = "500ms";
/// A flow that begins paused begins so much later, so that no packet of it leaves before it is paused.
const PAUSED_DELAY_NS: u64 = 500_000_000;

impl Otg {
    /// Carries out a `ControlState`.
    pub(super) async fn control(
        &self,
        session: &mut OtgSession,
        request: &Value,
        caller: &Caller,
    ) -> Result<Value, Errors> {
        otg::config::allowed(request, "ControlState")?;
        let translation = session.translation()?;
        let mut warnings = Vec::new();
        match request["choice"].as_str().unwrap_or_default() {
            "traffic" => {
                warnings = self.traffic(session, &translation, &request["traffic"], caller).await?;
            }
            "port" if request["port"]["choice"] == "capture" => {
                self.captures(session, &translation, &request["port"]["capture"], caller).await?;
            }
            "port" => self.links(session, &translation, &request["port"]["link"]).await?,
            _ => {
                let wanted = otg::protocols(&request["protocol"], &translation)?;
                warnings = self.protocols(session, &translation, wanted, caller).await?;
            }
        }
        Ok(json!({"warnings": warnings}))
    }

    /// Returns the objections of the run's verdict, if it has ended.
    async fn traffic(
        &self,
        session: &mut OtgSession,
        translation: &Arc<Translation>,
        request: &Value,
        caller: &Caller,
    ) -> Result<Vec<String>, Errors> {
        let request = &request["flow_transmit"];
        let meant = meant(
            "traffic.flow_transmit.flow_names",
            &request["flow_names"],
            translation.flows.iter().map(|flow| flow.name.as_str()),
        )?;
        let active = session.traffic.clone().filter(|run| !run.job.has_ended());
        match (request["state"].as_str().unwrap_or_default(), active) {
            ("start", None) => self.start(session, translation, &meant, caller).await?,
            ("start", Some(run)) => {
                let now = snapshot(&run).await?;
                if session.drains(translation, &now) {
                    let _ = timeout(PATIENCE, run.job.ended()).await;
                    session.learn(&run);
                    self.start(session, translation, &meant, caller).await?;
                } else {
                    let (over, others) = session.over(translation, &now, &meant)?;
                    self.change(session, translation, &run, &others, Transmit::Started).await?;
                    self.send_anew(session, translation, &run, &over).await?;
                }
            }
            ("resume", Some(run)) => {
                self.change(session, translation, &run, &meant, Transmit::Started).await?;
            }
            ("pause", Some(run)) => {
                self.change(session, translation, &run, &meant, Transmit::Paused).await?;
            }
            ("stop", Some(run)) => {
                if let Err(refused) = self.change(session, translation, &run, &meant, Transmit::Stopped).await
                {
                    // A run that is just ending by itself takes no change any more.
                    timeout(ENDING, run.job.ended()).await.map_err(|_| refused)?;
                    meant.iter().for_each(|flow| session.asked[*flow] = Transmit::Stopped);
                }
                if session.speaks() {
                    return Ok(Vec::new());
                }
                if session.asked.iter().all(|asked| *asked == Transmit::Stopped) {
                    end(&run, "traffic was stopped").await?;
                    session.learn(&run);
                    self.settle(session, caller).await?;
                    return Ok(objections(&run, translation));
                }
            }
            ("stop", None) => {
                meant.iter().for_each(|flow| session.asked[*flow] = Transmit::Stopped);
                let run = session.traffic.as_ref();
                return Ok(run.map_or_else(Vec::new, |run| objections(run, translation)));
            }
            (state, _) => {
                return Err(Errors::invalid(format!(
                    "traffic.flow_transmit.state: no active traffic to {state}"
                )));
            }
        }
        Ok(Vec::new())
    }

    /// Starts traffic; flows that are not meant begin paused.
    async fn start(
        &self,
        session: &mut OtgSession,
        translation: &Arc<Translation>,
        meant: &[usize],
        caller: &Caller,
    ) -> Result<(), Errors> {
        if translation.flows.is_empty() {
            return Err(Errors::invalid("traffic: the configuration has no flows"));
        }
        if translation.has_protocols() && !session.protocols {
            return Err(Errors::invalid(
                "traffic.flow_transmit: devices speak protocols: start them first (protocol.all)",
            ));
        }
        let begun = self.begin(session, translation, meant, caller).await;
        if begun.is_err() {
            // Captures that were on go on.
            drop(self.settle(session, caller).await);
        }
        begun
    }

    /// Starts the run that sends; flows that are not meant begin paused.
    pub(super) async fn begin(
        &self,
        session: &mut OtgSession,
        translation: &Arc<Translation>,
        meant: &[usize],
        caller: &Caller,
    ) -> Result<(), Errors> {
        self.end_listening(session).await?;
        let rest: Vec<usize> = (0..translation.flows.len()).filter(|flow| !meant.contains(flow)).collect();
        let mut profile = translation.profile.to_value();
        let later: Vec<&str> = names(translation, &rest);
        let streams = profile.get_mut("streams").and_then(Value::as_array_mut);
        for stream in streams.into_iter().flatten() {
            if later.contains(&stream["name"].as_str().unwrap_or_default()) {
                delay(stream);
            }
        }
        let run = self.run(session, profile, "otg", true, caller).await?;
        session.events.clear();
        session.asked = vec![Transmit::Stopped; translation.flows.len()];
        // One that begins later begins with a delay.
        let paused = FlowClock { used_s: -(PAUSED_DELAY_NS as f64 / 1e9), since_s: None };
        session.clocks = vec![paused; translation.flows.len()];
        for flow in meant {
            session.asked[*flow] = Transmit::Started;
            session.clocks[*flow] = FlowClock { used_s: 0.0, since_s: Some(0.0) };
        }
        session.traffic = Some(run.clone());
        session.started_from = Some(caller.from);
        self.scale(&run, later, 0.0).await
    }

    /// Lets flows of a running run send, or not.
    async fn change(
        &self,
        session: &mut OtgSession,
        translation: &Arc<Translation>,
        run: &Arc<RunJob>,
        meant: &[usize],
        to: Transmit,
    ) -> Result<(), Errors> {
        let sends = |asked: Transmit| asked == Transmit::Started;
        let others: Vec<usize> =
            meant.iter().copied().filter(|flow| sends(session.asked[*flow]) != sends(to)).collect();
        self.scale(run, names(translation, &others), if sends(to) { 1.0 } else { 0.0 }).await?;
        meant.iter().for_each(|flow| session.asked[*flow] = to);
        let at_s = run.job.snapshots.live().live.at_s;
        others.iter().for_each(|flow| session.clocks[*flow].turn(sends(to), at_s));
        Ok(())
    }

    /// Sends flows that are over once more: other streams join the run in their place, whose counters begin at zero.
    async fn send_anew(
        &self,
        session: &mut OtgSession,
        translation: &Translation,
        run: &Arc<RunJob>,
        over: &[usize],
    ) -> Result<(), Errors> {
        if over.is_empty() {
            return Ok(());
        }
        let told = |fault: Fault| {
            let Errors { kind, errors } = errors_of(&fault);
            Errors { kind, errors: errors.iter().map(|reason| translation.named(reason)).collect() }
        };
        let streams = names(translation, over).into_iter().map(str::to_owned).collect();
        run.remove_streams(RemovedStreams { streams: Some(streams), when_s: None }).await.map_err(told)?;
        let (next, added) = translation.anew(over);
        let new = NewStreams { profile: added.to_value() };
        self.service.add_streams(run, &new).await.map_err(told)?;
        session.translation = Some(Arc::new(next));
        let now = FlowClock { used_s: 0.0, since_s: Some(run.job.snapshots.live().live.at_s) };
        for flow in over {
            (session.asked[*flow], session.clocks[*flow]) = (Transmit::Started, now);
        }
        Ok(())
    }

    /// Changes the rates of streams: all of the run at once, or each by itself.
    async fn scale(&self, run: &Arc<RunJob>, streams: Vec<&str>, scale: f64) -> Result<(), Errors> {
        if streams.is_empty() {
            return Ok(());
        }
        let all = streams.len() == run.streams();
        let whom = if all { vec![None] } else { streams.into_iter().map(Some).collect() };
        let change = |stream: Option<&str>| NewRate {
            stream: stream.map(str::to_owned),
            scale: Some(scale),
            ..NewRate::default()
        };
        let changes: Vec<NewRate> = whom.into_iter().map(change).collect();
        // What has ended needs no change.
        let made = changes.iter().map(|change| run.change_unless_ended(change, &self.service.limits));
        match join_all(made).await.into_iter().find_map(Result::err) {
            Some(fault) => Err(errors_of(&fault)),
            None => Ok(()),
        }
    }

    async fn captures(
        &self,
        session: &mut OtgSession,
        translation: &Arc<Translation>,
        request: &Value,
        caller: &Caller,
    ) -> Result<(), Errors> {
        let names = translation.ports.iter().map(|port| port.name.as_str());
        let all = request["port_names"].as_array().is_none_or(Vec::is_empty);
        let mut meant = meant("port.capture.port_names", &request["port_names"], names)?;
        if all {
            meant.retain(|port| translation.ports[*port].capture.is_some());
        }
        if let Some(port) = meant.iter().find(|port| translation.ports[**port].capture.is_none()) {
            let name = &translation.ports[*port].name;
            return Err(Errors::invalid(format!(
                "port.capture: the configuration has no capture on port '{name}'"
            )));
        }
        let start = request["state"] == "start";
        let run = session.running();
        for port in meant {
            let (key, captured) = (&translation.ports[port].key, &mut session.captures[port]);
            let was_on = captured.on;
            if start {
                // In a run that goes on, its file may have packets of a capture before.
                let file = run.iter().filter_map(|run| run.captures.get(key));
                let files: Vec<PathBuf> = file.cloned().collect();
                let skip = packets(&files).await?;
                *captured = super::Captured { on: true, files, skip };
            }
            captured.on = start;
            if let Some(run) = run.as_ref().filter(|_| start != was_on) {
                run.capture(key, start).await;
            }
        }
        self.settle(session, caller).await
    }

    /// Sets links up or down, all or, if one of them can't be, none.
    async fn links(
        &self,
        session: &mut OtgSession,
        translation: &Arc<Translation>,
        request: &Value,
    ) -> Result<(), Errors> {
        let names = translation.ports.iter().map(|port| port.name.as_str());
        let meant = meant("port.link.port_names", &request["port_names"], names)?;
        let up = request["state"] == "up";
        let of = |port: usize, fault: &Fault| {
            let name = &translation.ports[port].name;
            let refusal = errors_of(fault);
            let errors = refusal.errors.iter().map(|reason| format!("port.link: port '{name}': {reason}"));
            Errors { kind: refusal.kind, errors: errors.collect() }
        };
        for port in &meant {
            let id = self.service.admission.admit(&translation.ports[*port].device);
            id.and_then(|id| interface(&id)).map_err(|fault| of(*port, &fault))?;
        }
        let lease = session.lease.clone().ok_or_else(no_lease)?;
        let kind = if up { ControlEventKind::LinkUp } else { ControlEventKind::LinkDown };
        for port in meant {
            let begin_s = session.clock_s();
            let (lease, device) = (lease.clone(), translation.ports[port].device.clone());
            let switched =
                blocking(self.service.clone(), move |service| service.switch_link(&lease, &device, up));
            switched.await.map_err(|fault| of(port, &fault))?;
            session.note(kind, [translation.ports[port].name.clone()], begin_s);
        }
        Ok(())
    }

    /// Begins to listen, if that is wanted and nothing runs; stops if it is not.
    pub(super) async fn settle(&self, session: &mut OtgSession, caller: &Caller) -> Result<(), Errors> {
        if !session.wants_to_listen() {
            self.end_listening(session).await?;
            return Ok(());
        }
        if session.running().is_some() {
            return Ok(());
        }
        let translation = session.translation()?;
        let mut document = translation.profile.clone();
        for port in document.ports.values_mut() {
            *port = std::mem::take(port).listening();
        }
        let mut profile = document.to_value();
        profile["streams"] = json!([]);
        let run = self.run(session, profile, "otg listens", false, caller).await?;
        session.listening = Some(run);
        Ok(())
    }

    /// Starts a run with the configuration's lease.
    async fn run(
        &self,
        session: &mut OtgSession,
        mut profile: Value,
        name: &str,
        keep: bool,
        caller: &Caller,
    ) -> Result<Arc<RunJob>, Errors> {
        profile["load"]["drain"] = DRAIN.into();
        let lease = session.lease.clone();
        let lease = lease.ok_or_else(no_lease)?;
        let new = NewRun {
            profile: Some(profile),
            name: Some(name.to_owned()),
            lease: Some(lease),
            keep: Some(keep),
            tags: vec!["otg".to_owned()],
            ..NewRun::default()
        };
        let translation = session.translation()?;
        let captures = translation.ports.iter().zip(&session.captures);
        let off = captures.filter(|(port, captured)| port.capture.is_some() && !captured.on);
        // A run that is kept sends; one that is not, listens. Devices that speak wait for nobody, and go on when all is sent.
        let mode = RunMode {
            attended: !keep || translation.has_protocols(),
            quiet: off.map(|(port, _)| port.key.clone()).collect(),
        };
        let run = self.service.start(new, mode, caller.clone()).await;
        let run = run.map_err(|fault| {
            let refusal = errors_of(&fault);
            let errors = refusal.errors.iter().map(|reason| translation.named(reason)).collect();
            Errors { kind: refusal.kind, errors }
        })?;
        for (port, captured) in translation.ports.iter().zip(&mut session.captures) {
            captured.files.extend(run.captures.get(&port.key).cloned());
        }
        Ok(run)
    }

    async fn end_listening(&self, session: &mut OtgSession) -> Result<(), Errors> {
        if let Some(run) = session.listening.clone() {
            end(&run, "no capture or protocol is active").await?;
            session.listening = None;
            session.learn(&run);
        }
        Ok(())
    }

    /// Ends everything.
    ///
    /// # Errors
    /// A run does not end in time; the session is as it was.
    pub(super) async fn end_all(&self, session: &mut OtgSession) -> Result<(), Errors> {
        self.end_listening(session).await?;
        if let Some(run) = &session.traffic {
            end(run, "the configuration was replaced").await?;
        }
        Ok(())
    }
}

impl OtgSession {
    /// Parts flows into those that are over, which must be sent anew, and the others. Those that have an end are over when they were
    /// stopped, too.
    fn over(
        &self,
        translation: &Translation,
        now: &Snapshot,
        meant: &[usize],
    ) -> Result<(Vec<usize>, Vec<usize>), Errors> {
        let is_over = |flow: &usize| match self.asked[*flow] {
            Transmit::Stopped => self.clocks[*flow].used_s > 0.0 && translation.flows[*flow].has_end(),
            _ => !self.sends(translation, now, *flow),
        };
        let (over, others): (Vec<usize>, Vec<usize>) = meant.iter().copied().partition(is_over);
        match over.iter().find(|flow| !translation.may_join(**flow)) {
            Some(flow) => Err(Errors::invalid(format!(
                "traffic.flow_transmit: flow '{}' was sent and cannot be sent again in an active run, because it has several \
                 receivers, tags of 'egress_packet' or 'dp_events'; stop protocols and all flows first",
                translation.flows[*flow].name
            ))),
            None => Ok((over, others)),
        }
    }

    /// Whether a run only waits for its last packets.
    fn drains(&self, translation: &Translation, now: &Snapshot) -> bool {
        let is_over = |flow| self.asked[flow] != Transmit::Stopped && !self.sends(translation, now, flow);
        !self.speaks() && (0..translation.flows.len()).all(is_over)
    }

    /// Whether a flow is not stopped and has something left to send.
    pub(super) fn sends(&self, translation: &Translation, now: &Snapshot, flow: usize) -> bool {
        let own_s = self.clocks[flow].at(now.at_s);
        self.asked[flow] != Transmit::Stopped
            && !otg::has_ended(&translation.flows[flow], Some(&now.total), own_s)
    }

    fn wants_to_listen(&self) -> bool {
        let hosts =
            |translation: &Arc<Translation>| translation.ports.iter().any(|p| !p.interfaces.is_empty());
        let hosts = self.protocols && self.translation.as_ref().is_some_and(hosts);
        hosts || self.pinging > 0 || self.captures.iter().any(|captured| captured.on)
    }
}

fn no_lease() -> Errors {
    Errors::internal("the lease has expired and another client has the ports")
}

/// Ends a run.
///
/// # Errors
/// It did not end in time after a request.
pub(super) async fn end(run: &Arc<RunJob>, why: &str) -> Result<(), Errors> {
    run.job.stop(why);
    timeout(PATIENCE, run.job.ended()).await.map_err(|_| {
        let waited = PATIENCE.as_secs();
        Errors::internal(format!(
            "the run before has not ended after {waited} s; nothing was changed, try again"
        ))
    })
}

/// Objections of the verdict of an ended run, with the configuration's names.
pub(super) fn objections(run: &RunJob, translation: &Translation) -> Vec<String> {
    let verdict = run.document().verdict;
    let reasons = verdict.map(|verdict| verdict.reasons).unwrap_or_default();
    // A run that failed before its traffic began has no verdict.
    let failed = failure(run).filter(|reason| !reasons.contains(reason));
    failed.iter().chain(&reasons).map(|reason| translation.named(reason)).collect()
}

/// Packets in a file; none if it was never begun.
fn count(path: &Path) -> Result<usize, Errors> {
    match File::open(path) {
        Ok(file) => otg::packets(file),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(0),
        Err(error) => Err(Errors::internal(format!("cannot read the capture: {error}"))),
    }
}

/// Packets in the files of a running capture.
async fn packets(files: &[PathBuf]) -> Result<usize, Errors> {
    let files = files.to_vec();
    apart(move || files.iter().map(|file| count(file)).sum()).await
}

/// Streams of flows.
fn names<'a>(translation: &'a Translation, flows: &[usize]) -> Vec<&'a str> {
    let streams = flows.iter().flat_map(|flow| &translation.flows[*flow].streams);
    streams.map(|stream| stream.name.as_str()).collect()
}

/// Lets a stream begin later.
fn delay(stream: &mut Value) {
    let given =
        stream["start_delay"].as_str().and_then(|text| text.trim_end_matches("ns").parse::<u64>().ok());
    stream["start_delay"] = format!("{}ns", given.unwrap_or(0) + PAUSED_DELAY_NS).into();
}

/// Places of the names in a request; all if there are none.
fn meant<'a>(path: &str, names: &Value, known: impl Iterator<Item = &'a str>) -> Result<Vec<usize>, Errors> {
    let known: Vec<&str> = known.collect();
    let names: Vec<&str> = names.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if names.is_empty() {
        return Ok((0..known.len()).collect());
    }
    let mut places = Vec::new();
    let mut errors = Vec::new();
    for (index, name) in names.into_iter().enumerate() {
        match known.iter().position(|known| *known == name) {
            Some(place) => places.push(place),
            None => errors.push(format!("{path}[{index}]: there is no '{name}'")),
        }
    }
    if errors.is_empty() { Ok(places) } else { Err(Errors { kind: otg::ErrorKind::Validation, errors }) }
}
