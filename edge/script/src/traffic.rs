//! Streams and sessions that a script declares, and their run: the declarations become a profile, which an engine that
//! is passed in runs on the script's ports, next to its tasks.
//!
//! Invariants:
//! - A port is a task's or a run's, never both: a run takes ports that no task has configured, and gives them back at its end.
//! - At most one run at a time. It ends when the script is requested to stop.

use crate::OpenPort;
use crate::world::World;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Duration of a run without one, unless it is stopped.
const ENDLESS: &str = "720h";
/// Interval at which waiting tasks check for a request to stop.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// Streams of a script, and its entries of sessions, at most; `copies` makes more of one.
const ENTRIES_MAX: usize = 10_000;
/// Runs of a script at most: the results of all are kept.
const RUNS_MAX: usize = 1_000;
/// Millionths in one.
const WHOLE_PPM: u32 = 1_000_000;

/// Factory of runs of profiles. Passed in, because this crate knows no engine.
pub trait Engine: Send + Sync {
    /// Resolves a profile, a JSON text.
    ///
    /// # Errors
    /// All that is wrong with it.
    fn load(&self, profile: &str) -> Result<Box<dyn Trial>, Vec<Mistake>>;
}

/// A profile that is resolved, to be run once.
pub trait Trial: Send {
    /// Control of it, before and while it runs.
    fn control(&self) -> Box<dyn Control>;

    /// Runs it to its end on `ports`, in the profile's order, and returns the ports and its result, or why there is none. Tells `watch` now and then what was counted: a document with `streams` and `sessions` by name.
    fn run(
        self: Box<Self>,
        ports: Vec<OpenPort>,
        watch: &mut dyn FnMut(Value),
    ) -> (Vec<OpenPort>, Result<Measured, String>);
}

/// Result of a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Measured {
    /// Its result document.
    pub document: Value,
    /// Why the engine ended it, if a part of it failed.
    pub failure: Option<String>,
    /// Final counts, like the earlier ones passed to `watch`.
    pub counts: Value,
    /// Totals of each port, in the profile's order.
    pub ports: Vec<PortTotals>,
}

/// Totals of a port; bytes include the FCS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PortTotals {
    /// Packets and bytes sent.
    pub tx: (u64, u64),
    /// Packets and bytes received.
    pub rx: (u64, u64),
}

/// Changes a trial that runs.
pub trait Control: Send + Sync {
    /// Changes the rate of a stream or an entry of sessions, and waits until that is done; false if the trial has ended.
    ///
    /// # Errors
    /// Why it can't be changed so.
    fn set_rate(&self, name: &str, rate: Rate<'_>) -> Result<bool, String>;

    /// Ends it: nothing more is sent, and late packets are waited for.
    fn stop(&self);
}

/// A new rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rate<'a> {
    /// As profiles have it: `2Mpps`, `40%`, `500/s`.
    Text(&'a str),
    /// Millionths of the profile's own; 0 pauses.
    Share(u32),
}

/// Something wrong with a profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mistake {
    /// Where: `streams[0].packet[1].ipv4.src`.
    pub path: String,
    /// Description of the error, and the expected value.
    pub reason: String,
}

/// Kind of a script's declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Stream,
    Session,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stream => "stream",
            Self::Session => "session",
        })
    }
}

impl Kind {
    /// The list of profiles and results that it is in.
    fn list(self) -> &'static str {
        match self {
            Self::Stream => "streams",
            Self::Session => "sessions",
        }
    }

    /// Key of its rate.
    fn rate_key(self) -> &'static str {
        match self {
            Self::Stream => "rate",
            Self::Session => "open",
        }
    }

    /// A number as a rate of its kind.
    fn rate_of(self, per_second: f64) -> String {
        match self {
            Self::Stream => format!("{per_second}pps"),
            Self::Session => format!("{per_second}/s"),
        }
    }
}

/// A rate as the script gives it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum NewRate {
    Text(String),
    /// Packets, or sessions, per second.
    Number(f64),
}

/// All streams and sessions of a script.
#[derive(Default)]
pub(crate) struct Traffic {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// The script's port settings, by number.
    ports: BTreeMap<usize, Map<String, Value>>,
    streams: Vec<Map<String, Value>>,
    sessions: Vec<Map<String, Value>>,
    run: Option<Run>,
    /// The newest counts of the run, or of the last one.
    counts: Option<Value>,
    /// Result documents of runs that have ended.
    results: Vec<Value>,
    /// Why the last run has no result.
    failure: Option<String>,
    /// Whether a task was notified.
    failure_is_told: bool,
}

/// An active run.
struct Run {
    control: Arc<dyn Control>,
    /// Rates that were changed, by name.
    rates: BTreeMap<String, String>,
    /// Whether traffic has begun.
    has_begun: bool,
}

impl State {
    fn entries(&mut self, kind: Kind) -> &mut Vec<Map<String, Value>> {
        match kind {
            Kind::Stream => &mut self.streams,
            Kind::Session => &mut self.sessions,
        }
    }

    /// Why the last run has no result, if it has none.
    fn check(&mut self) -> Result<(), String> {
        let Some(reason) = &self.failure else { return Ok(()) };
        self.failure_is_told = true;
        Err(reason.clone())
    }
}

impl Traffic {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Declares a stream or an entry of sessions; returns its name.
    pub(crate) fn declare(&self, kind: Kind, mut entry: Map<String, Value>) -> Result<String, String> {
        let Some(Value::String(name)) = entry.get("name") else {
            return Err(format!("eagre.{kind}: 'name' must be a text"));
        };
        let name = name.clone();
        if let Some(rate) = entry.get_mut(kind.rate_key())
            && let Some(number) = rate.as_f64()
        {
            *rate = kind.rate_of(number).into();
        }
        if let Some(size) = entry.get_mut("size")
            && let Some(bytes) = size.as_u64()
        {
            *size = format!("{bytes}B").into();
        }
        let mut state = self.state();
        if state.run.is_some() {
            return Err(format!("{kind} '{name}': declare it before the run starts, or after it has ended"));
        }
        let list = state.entries(kind);
        if list.iter().any(|other| other["name"] == *name) {
            return Err(format!("{kind} '{name}': there is one of this name already"));
        }
        if list.len() >= ENTRIES_MAX {
            return Err(format!("{kind} '{name}': a script may have {ENTRIES_MAX} of them"));
        }
        list.push(entry);
        Ok(name)
    }

    /// Sets a port's keys as in profiles: addresses, gateways, VLANs, …
    pub(crate) fn set_port(
        &self,
        world: &World,
        number: usize,
        settings: Map<String, Value>,
    ) -> Result<(), String> {
        if number >= world.devices.len() {
            return Err(no_port(world, &format!("eagre.port({number})"), number));
        }
        if settings.contains_key("device") {
            return Err(format!("port {number}: device: ports are named with --ports"));
        }
        let mut state = self.state();
        if state.run.is_some() {
            return Err(format!("port {number}: set it up before the run starts, or after it has ended"));
        }
        state.ports.insert(number, settings);
        Ok(())
    }

    /// Starts a run of all declarations, and returns once traffic flows. `options` are the keys of a profile's `load`,
    /// and a `seed`.
    pub(crate) fn start(
        &'static self,
        world: &'static World,
        options: Map<String, Value>,
    ) -> Result<(), String> {
        let mut state = self.state();
        if state.run.is_some() {
            return Err("a run is already in progress: eagre.wait() for it, or eagre.stop() it".to_owned());
        }
        if state.results.len() >= RUNS_MAX {
            return Err(format!("a script may make {RUNS_MAX} runs"));
        }
        let (profile, numbers) = profile(&mut state, world, options)?;
        let trial = world.engine.load(&profile.to_string()).map_err(|mistakes| told(&mistakes, &profile))?;
        let ports = take_ports(world, &numbers)?;
        let control: Arc<dyn Control> = trial.control().into();
        (state.counts, state.failure, state.failure_is_told) = (None, None, false);
        state.run = Some(Run { control, rates: BTreeMap::new(), has_begun: false });
        drop(state);
        let body = move || self.play(world, &numbers, trial, ports);
        if let Err(error) = std::thread::Builder::new().name("run".into()).spawn(body) {
            self.state().run = None;
            return Err(format!("the run can't be started: {error}"));
        }
        self.wait_until(world, |run| run.has_begun);
        self.state().check()
    }

    /// Runs a trial to its end, on this thread.
    fn play(&self, world: &World, numbers: &[usize], trial: Box<dyn Trial>, ports: Vec<OpenPort>) {
        let mut watch = |counts: Value| {
            let mut state = self.state();
            state.counts = Some(counts);
            if let Some(run) = &mut state.run {
                run.has_begun = true;
                // It ends with the script, whoever waits for it.
                if !world.is_running(0) {
                    run.control.stop();
                }
            }
            self.changed.notify_all();
        };
        let end = catch_unwind(AssertUnwindSafe(|| trial.run(ports, &mut watch)));
        let (ports, result) = end.unwrap_or_else(|_| (Vec::new(), Err("the engine failed".to_owned())));
        for (&number, port) in numbers.iter().zip(ports) {
            world.devices[number].put_back(port);
        }
        let mut state = self.state();
        match result {
            Ok(Measured { document, failure, counts, ports }) => {
                for (&number, totals) in numbers.iter().zip(ports) {
                    let device = &world.devices[number];
                    device.tx.add(totals.tx.0, totals.tx.1);
                    device.rx.add(totals.rx.0, totals.rx.1);
                }
                state.counts = Some(counts);
                state.results.push(document);
                state.failure = failure;
            }
            Err(reason) => state.failure = Some(reason),
        }
        state.run = None;
        self.changed.notify_all();
    }

    /// Waits until the run has ended, or `is_enough`. Stops it once the script was requested to stop.
    fn wait_until(&self, world: &World, is_enough: impl Fn(&Run) -> bool) {
        let mut state = self.state();
        let mut told = false;
        while let Some(run) = state.run.as_ref().filter(|run| !is_enough(run)) {
            if !told && !world.is_running(0) {
                told = true;
                run.control.stop();
            }
            state = self.changed.wait_timeout(state, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until the run has ended; returns the result document of the last one.
    pub(crate) fn wait(&self, world: &World) -> Result<Value, String> {
        self.wait_until(world, |_| false);
        let mut state = self.state();
        state.check()?;
        state.results.last().cloned().ok_or_else(|| "no run was started: eagre.start()".to_owned())
    }

    /// Ends the run, if one is active.
    pub(crate) fn stop(&self) {
        if let Some(run) = &self.state().run {
            run.control.stop();
        }
    }

    /// Whether a run is active.
    pub(crate) fn is_running(&self) -> bool {
        self.state().run.is_some()
    }

    /// Changes a rate: of the run, or without one of the runs to come. False if the run ended meanwhile.
    pub(crate) fn set_rate(&self, kind: Kind, name: &str, rate: NewRate) -> Result<bool, String> {
        let text = match rate {
            NewRate::Text(text) => text,
            NewRate::Number(number) if number.is_finite() && number >= 0.0 => kind.rate_of(number),
            NewRate::Number(number) => return Err(format!("{kind} '{name}': rate: {number} is no rate")),
        };
        let mut state = self.state();
        let Some(run) = &state.run else {
            let entry = state.entries(kind).iter_mut().find(|entry| entry["name"] == *name);
            entry.and_then(|entry| entry.insert(kind.rate_key().to_owned(), text.into()));
            return Ok(true);
        };
        let control = Arc::clone(&run.control);
        drop(state);
        let done = control.set_rate(name, Rate::Text(&text));
        let done = done.map_err(|reason| format!("{kind} '{name}': rate: {reason}"))?;
        if let Some(run) = &mut self.state().run {
            run.rates.insert(name.to_owned(), text);
        }
        Ok(done)
    }

    /// Pauses, or resumes at the last rate. False if no run is active.
    pub(crate) fn pause(&self, kind: Kind, name: &str, paused: bool) -> Result<bool, String> {
        let (control, rate) = match &self.state().run {
            Some(run) => (Arc::clone(&run.control), run.rates.get(name).cloned()),
            None => return Ok(false),
        };
        let rate = match &rate {
            _ if paused => Rate::Share(0),
            Some(text) => Rate::Text(text),
            None => Rate::Share(WHOLE_PPM),
        };
        control.set_rate(name, rate).map_err(|reason| format!("{kind} '{name}': {reason}"))
    }

    /// Counts of a stream or an entry of sessions in the run, or in the last one; for one with copies, a table of them.
    pub(crate) fn stats(&self, kind: Kind, name: &str) -> Result<Value, String> {
        let state = self.state();
        let rows = state.counts.as_ref().map(|counts| &counts[kind.list()]);
        let Some(rows) = rows.and_then(Value::as_object) else {
            return Err(format!("{kind} '{name}': no run of it has begun"));
        };
        if let Some(row) = rows.get(name) {
            return Ok(row.clone());
        }
        let is_copy = |row: &str| row.strip_prefix(name).is_some_and(|rest| rest.starts_with('['));
        let copies: Map<String, Value> = rows
            .iter()
            .filter(|(row, _)| is_copy(row))
            .map(|(row, value)| (row.clone(), value.clone()))
            .collect();
        if copies.is_empty() {
            return Err(format!("{kind} '{name}': the run began before it was declared"));
        }
        Ok(copies.into())
    }

    /// Ends the run, and returns the results of all runs and why the last one has none if that was not reported.
    pub(crate) fn end(&self, world: &World) -> (Vec<Value>, Option<String>) {
        self.stop();
        self.wait_until(world, |_| false);
        let mut state = self.state();
        let untold = !state.failure_is_told;
        (std::mem::take(&mut state.results), state.failure.take().filter(|_| untold))
    }
}

fn no_port(world: &World, place: &str, named: impl fmt::Display) -> String {
    match world.devices.len() {
        0 => format!("{place}: there is no port {named}; name ports with --ports"),
        n => format!("{place}: there is no port {named}; the script has {n}, numbered from 0"),
    }
}

/// The profile of all that is declared, and the ports it uses.
fn profile(
    state: &mut State,
    world: &World,
    mut options: Map<String, Value>,
) -> Result<(Value, Vec<usize>), String> {
    if state.streams.is_empty() && state.sessions.is_empty() {
        return Err(
            "there is nothing to run: declare streams with eagre.stream, sessions with eagre.session"
                .to_owned(),
        );
    }
    let mut used = BTreeSet::new();
    let mut use_port = |kind: Kind, name: &Value, key: &str, port: &mut Value| {
        let number = port.as_u64().or_else(|| port.as_str()?.parse().ok());
        let place = || format!("{kind} '{}': {key}", name.as_str().unwrap_or_default());
        let number = match number.and_then(|number| usize::try_from(number).ok()) {
            Some(number) if number < world.devices.len() => number,
            Some(number) => return Err(no_port(world, &place(), number)),
            None => return Err(no_port(world, &place(), &*port)),
        };
        used.insert(number);
        *port = number.to_string().into();
        Ok(())
    };
    let (mut streams, mut sessions) = (state.streams.clone(), state.sessions.clone());
    for stream in &mut streams {
        let name = stream["name"].clone();
        for key in ["from", "to"] {
            if let Some(port) = stream.get_mut(key) {
                use_port(Kind::Stream, &name, key, port)?;
            }
        }
    }
    for session in &mut sessions {
        let name = session["name"].clone();
        for end in ["client", "server"] {
            if let Some(port) = session.get_mut(end).and_then(|end| end.get_mut("port")) {
                use_port(Kind::Session, &name, &format!("{end}.port"), port)?;
            }
        }
    }
    let port = |&number: &usize| {
        let mut port = state.ports.get(&number).cloned().unwrap_or_default();
        port.insert("device".to_owned(), world.devices[number].facts.device.clone().into());
        (number.to_string(), Value::Object(port))
    };
    let ports: Map<String, Value> = used.iter().map(port).collect();
    let seed = options.remove("seed");
    options.entry("duration").or_insert_with(|| ENDLESS.into());
    let mut profile = json!({"ports": ports, "streams": streams, "sessions": sessions, "load": options});
    if let Some(seed) = seed {
        profile["seed"] = seed;
    }
    Ok((profile, used.into_iter().collect()))
}

/// Takes ports from their devices, all or none.
fn take_ports(world: &World, numbers: &[usize]) -> Result<Vec<OpenPort>, String> {
    let mut ports = Vec::new();
    for (at, &number) in numbers.iter().enumerate() {
        match world.devices[number].take() {
            Ok(port) => ports.push(port),
            Err(reason) => {
                numbers[..at]
                    .iter()
                    .zip(ports)
                    .for_each(|(&number, port)| world.devices[number].put_back(port));
                return Err(format!("port {number}: {reason}"));
            }
        }
    }
    Ok(ports)
}

/// Mistakes in the script's words, one to a line: `stream 'x': rate: …`.
fn told(mistakes: &[Mistake], profile: &Value) -> String {
    let lines: Vec<String> = mistakes
        .iter()
        .map(|mistake| match place(&mistake.path, profile) {
            Some(place) if !place.is_empty() => format!("{place}: {}", mistake.reason),
            _ => mistake.reason.clone(),
        })
        .collect();
    lines.join("\n")
}

/// Where a mistake is, as the script wrote it; lists count from 1.
fn place(path: &str, profile: &Value) -> Option<String> {
    if let Some(rest) = path.strip_prefix("load.") {
        return Some(rest.to_owned());
    }
    if let Some(rest) = path.strip_prefix("ports.") {
        let (port, rest) = rest.split_once('.').unwrap_or((rest, ""));
        return Some(joined(&format!("port {port}"), rest));
    }
    for kind in [Kind::Stream, Kind::Session] {
        let Some(rest) = path.strip_prefix(kind.list()).and_then(|rest| rest.strip_prefix('[')) else {
            continue;
        };
        let (index, rest) = rest.split_once(']')?;
        let name = profile[kind.list()][index.parse::<usize>().ok()?]["name"].as_str()?;
        return Some(joined(&format!("{kind} '{name}'"), rest.strip_prefix('.').unwrap_or(rest)));
    }
    Some(path.to_owned())
}

fn joined(what: &str, rest: &str) -> String {
    match rest {
        "" => what.to_owned(),
        // Brackets in names of fields are the profile's own: 'vlan[1].id'.
        rest if rest.starts_with("vary.") || rest.starts_with("per_copy.") => format!("{what}: {rest}"),
        rest => format!("{what}: {}", from_one(rest)),
    }
}

/// A path with its list places counted from 1.
fn from_one(path: &str) -> String {
    let mut parts = path.split('[');
    let mut counted = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let place = part.split_once(']').and_then(|(n, rest)| Some((n.parse::<usize>().ok()?, rest)));
        counted += &match place {
            Some((n, rest)) => format!("[{}]{rest}", n + 1),
            None => format!("[{part}"),
        };
    }
    counted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mistakes_are_told_where_the_script_made_them() {
        let profile = json!({"streams": [{"name": "a"}, {"name": "b"}], "sessions": [{"name": "web"}]});
        let at = |path: &str| place(path, &profile).unwrap();
        assert_eq!(at("streams[1].packet[0].ipv4.src"), "stream 'b': packet[1].ipv4.src");
        assert_eq!(at("streams[0]"), "stream 'a'");
        assert_eq!(at("streams[0].vary.vlan[1].id.step"), "stream 'a': vary.vlan[1].id.step");
        assert_eq!(at("sessions[0].open"), "session 'web': open");
        assert_eq!(at("ports.0.ip"), "port 0: ip");
        assert_eq!(at("load.duration"), "duration");
        assert_eq!(at("seed"), "seed");
        let mistake = |path: &str| Mistake { path: path.to_owned(), reason: "no".to_owned() };
        assert_eq!(told(&[mistake(""), mistake("streams[0].rate")], &profile), "no\nstream 'a': rate: no");
    }
}
