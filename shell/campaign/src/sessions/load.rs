//! When sessions of a trial are opened, held and closed (RFC 9411 section 4.3.4).

use super::app::{self, Pace};
use super::{entry, keep};
use methods::{Objective, Phases, SessionLoad};
use profile::Plan;
use session::plan::{Delay, LoadPlan, OpenRate, PoolPlan, RateCurve, SessionPlan};
use units::{Nanos, Pps};

/// The load stays so much longer than the sustain phase: a sample that ends late is still one of that phase.
pub(super) const HOLD: Nanos = Nanos::from_millis(100);
/// Samples are taken so often.
const SECOND: u64 = 1_000_000_000;
/// Transactions a second of each kept connection: enough if responses come within 100 ms.
const TRANSACTIONS_OF_EACH: f64 = 10.0;
/// StoredCampaign connections at least.
const KEPT_LEAST: f64 = 16.0;
/// The first port clients may have (RFC 9411 section 4.3.1.1).
const FIRST_CLIENT_PORT: u16 = 1024;

/// The phases of a trial, counted from the start of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Times {
    /// When the first session is opened.
    pub(super) start: Nanos,
    /// Time in which the load grows.
    pub(super) ramp_up: Nanos,
    /// When the sustain phase begins: at a whole second, as samples do.
    pub(super) sustain: Nanos,
    /// When it ends.
    pub(super) sustained: Nanos,
    /// Time from which on no session may be open.
    pub(super) end: Nanos,
}

impl Times {
    /// Those of a load. Connections that are held are opened no faster than the load allows, however long that takes, and
    /// not all at once.
    pub(super) fn of(load: &SessionLoad) -> Self {
        let phases = &load.phases;
        let mut ramp_up = phases.ramp_up;
        if load.objective == Objective::ConcurrentConnections {
            let takes = u128::from(load.value) * u128::from(SECOND);
            let least = takes.div_ceil(u128::from(load.open_per_s_max.max(1)));
            let least = if load.open_per_s_max == 0 { u128::from(SECOND) } else { least };
            let given = if phases.ramp_up == Nanos::ZERO || load.open_per_s_max > 0 { least } else { 0 };
            ramp_up = ramp_up.max(Nanos(given.min(u128::from(u64::MAX / 4)) as u64));
        }
        Self::with(phases, ramp_up)
    }

    /// Times of a load that grows by the phases.
    ///
    /// # Errors
    /// The sustain phase has no sample.
    pub(super) fn of_phases(phases: &Phases) -> Result<Self, String> {
        if phases.sustain < Nanos(SECOND) {
            return Err("phases.sustain must be at least 1s: it is sampled every second".to_owned());
        }
        Ok(Self::with(phases, phases.ramp_up))
    }

    fn with(phases: &Phases, ramp_up: Nanos) -> Self {
        let sustain = Nanos((phases.init + ramp_up).0.div_ceil(SECOND) * SECOND);
        let sustained = sustain + phases.sustain;
        let end = sustained + phases.ramp_down.max(HOLD + HOLD);
        Self { start: sustain - ramp_up, ramp_up, sustain, sustained, end }
    }
}

/// Makes the Plan of a trial.
pub(super) fn shape(shaped: &mut Plan, load: &SessionLoad) -> Result<(), String> {
    Times::of_phases(&load.phases)?;
    let times = Times::of(load);
    let mut entry = entry::carrying(shaped, &load.app.name)?.clone();
    let session = &mut entry.session;
    app::give(session, &load.app, pace(load, &times))?;
    session.load = load_plan(load, &times)?;
    widen(session, load.flows)?;
    shaped.duration = times.end;
    shaped.drain = shaped.drain.max(load.phases.collection);
    keep(shaped, vec![entry]);
    Ok(())
}

/// Order of a session's transactions: one after the other; where connections are held, spread so that each has about
/// the requested number until the sustain phase ends.
///
/// Sessions are opened evenly while the load grows. If that takes a whole number of pauses, the transactions of all of
/// them together come evenly, too. So the pause is the nearest such one, and they continue until they are closed.
fn pace(load: &SessionLoad, times: &Times) -> Pace {
    if load.objective != Objective::ConcurrentConnections {
        return Pace { transactions: Some(load.app.transactions), think: Delay::NONE };
    }
    let held = (times.ramp_up + load.phases.sustain).as_secs_f64();
    let pauses = f64::from(load.app.transactions) * times.ramp_up.as_secs_f64() / held;
    let pauses = (pauses.round() as u64).max(1);
    Pace { transactions: None, think: Delay::Constant(Nanos(times.ramp_up.0 / pauses)) }
}

fn load_plan(load: &SessionLoad, times: &Times) -> Result<LoadPlan, String> {
    let plan = match load.objective {
        Objective::ConnectionsPerSecond => opened(load, times)?,
        Objective::ConcurrentConnections => held(load, times),
        Objective::TransactionsPerSecond => asked(load, times, load.value as f64),
        Objective::GoodputBps => {
            if load.app.response_bytes == 0 {
                return Err("goodput needs responses: set response_bytes".to_owned());
            }
            asked(load, times, load.value as f64 / (8.0 * load.app.response_bytes as f64))
        }
    };
    Ok(LoadPlan { start_delay: times.start, ..plan })
}

/// A rate of sessions a second.
fn opened(load: &SessionLoad, times: &Times) -> Result<LoadPlan, String> {
    if load.open_per_s_max > 0 && load.value > load.open_per_s_max {
        return Err(format!(
            "{} connections a second are requested, and no more than open_per_s_max, {}, may be opened",
            load.value, load.open_per_s_max
        ));
    }
    let (sustain, down) = (load.phases.sustain + HOLD, load.phases.ramp_down);
    let curve = RateCurve::ramp(Pps::new(load.value), times.ramp_up, sustain, down);
    let time = Some(times.ramp_up + sustain + down);
    Ok(LoadPlan { time, ..LoadPlan::at(OpenRate::Curve(curve)) })
}

/// This number of concurrent sessions, each of them until the sustain phase is over.
fn held(load: &SessionLoad, times: &Times) -> LoadPlan {
    let rate = per_second(load.value as f64 / times.ramp_up.as_secs_f64());
    LoadPlan {
        concurrent: Some(load.value),
        count: Some(load.value),
        up: Some(Delay::Constant(times.ramp_up + load.phases.sustain + HOLD + HOLD)),
        ..LoadPlan::at(OpenRate::Constant(rate))
    }
}

/// A rate of transactions a second, on connections that are kept: when one has had its transactions another takes its
/// place. The sustain phase requests one more, because its edges may cut one off.
fn asked(load: &SessionLoad, times: &Times, per_s: f64) -> LoadPlan {
    let per_s = per_s + 1.0 / load.phases.sustain.as_secs_f64();
    let kept = (per_s / TRANSACTIONS_OF_EACH).max(KEPT_LEAST).ceil();
    let replaced = 2.0 * per_s / f64::from(load.app.transactions.max(1));
    let mut open = (kept / times.ramp_up.as_secs_f64()).max(replaced);
    if load.open_per_s_max > 0 {
        open = open.min(load.open_per_s_max as f64);
    }
    let open = if open.is_finite() { OpenRate::Constant(per_second(open)) } else { OpenRate::Max };
    LoadPlan {
        concurrent: Some(kept as u64),
        request_rate: Some(per_second(per_s)),
        time: Some(times.end - times.start),
        ..LoadPlan::at(open)
    }
}

/// To the millionth, rounded up.
pub(super) fn per_second(rate: f64) -> Pps {
    Pps::from_micro(((rate * 1e6).ceil() as u64).max(1))
}

/// Gives both ends enough ports that `flows` pairs of them can be distinguished: clients' first, then servers'.
fn widen(session: &mut SessionPlan, flows: u64) -> Result<(), String> {
    let count = |pool: &PoolPlan| pool.ports.clone().count() as u64;
    if flows <= count(&session.clients) * count(&session.servers) {
        return Ok(());
    }
    let all = u64::from(u16::MAX - FIRST_CLIENT_PORT) + 1;
    let wanted = flows.div_ceil(count(&session.servers)).clamp(count(&session.clients), all);
    session.clients.ports = FIRST_CLIENT_PORT..=FIRST_CLIENT_PORT + (wanted - 1) as u16;
    let servers = flows.div_ceil(wanted);
    if servers <= count(&session.servers) {
        return Ok(());
    }
    if session.server.is_none() {
        return Err(format!(
            "sessions {}: {flows} flows need {servers} ports of an external server; use fewer, or leave it to the \
             profile (flows=0)",
            session.name
        ));
    }
    let most = u64::from(u16::MAX);
    if servers > most {
        return Err(format!("{flows} flows are more than all pairs of ports"));
    }
    let first = u64::from(*session.servers.ports.start()).min(most + 1 - servers);
    session.servers.ports = first as u16..=(first + servers - 1) as u16;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use methods::Application;

    fn load(objective: Objective, value: u64) -> SessionLoad {
        let s = Nanos::from_secs;
        let phases = Phases {
            init: Nanos::from_millis(200),
            ramp_up: s(1),
            sustain: s(3),
            ramp_down: s(1),
            collection: s(1),
        };
        SessionLoad {
            app: Application::http(1024, 10),
            objective,
            value,
            open_per_s_max: 0,
            flows: 0,
            phases,
        }
    }

    fn plan() -> Plan {
        let text = "ports:\n  west: {device: 'ring:a', ip: 10.0.0.1/24, speed: 1Gbps}\n  \
                    east: {device: 'ring:b', ip: 10.0.0.2/24}\nsessions:\n\
                    - {name: web, client: {port: west}, server: {port: east, ports: 80}, app: http, open: 1/s}\n\
                    - {name: raw, client: {port: west}, server: {addresses: 10.0.0.3, ports: 7}, app: echo, open: 1/s}\n";
        profile::load(text).unwrap()
    }

    #[test]
    fn the_sustain_phase_begins_at_a_whole_second() {
        let times = Times::of(&load(Objective::ConnectionsPerSecond, 10));
        let ms = Nanos::from_millis;
        assert_eq!((times.start, times.sustain, times.sustained), (ms(1_000), ms(2_000), ms(5_000)));
    }

    #[test]
    fn held_connections_are_opened_no_faster_than_allowed() {
        let mut load = load(Objective::ConcurrentConnections, 1_000);
        load.open_per_s_max = 300;
        let times = Times::of(&load);
        assert!(times.ramp_up >= Nanos::from_millis(3_333), "{times:?}");
        let OpenRate::Constant(rate) = held(&load, &times).open else { panic!() };
        assert!(rate.as_f64() < 300.1, "{rate:?}");
    }

    #[test]
    fn transactions_of_held_connections_come_evenly() {
        let load = load(Objective::ConcurrentConnections, 100);
        let Pace { transactions: None, think: Delay::Constant(think) } = pace(&load, &Times::of(&load))
        else {
            panic!()
        };
        // 10 in 4 s are one every 400 ms; the nearest pause that goes into the ramp is a third of a second.
        assert_eq!(think, Nanos(333_333_333));
    }

    #[test]
    fn a_trial_takes_one_entry() {
        let mut shaped = plan();
        shape(&mut shaped, &load(Objective::ConnectionsPerSecond, 10)).unwrap();
        assert_eq!(shaped.sessions.len(), 1);
        assert_eq!(shaped.sessions[0].session.name, "web");
        let mut shaped = plan();
        let mut raw = load(Objective::GoodputBps, 8_000);
        raw.app = Application::raw(100);
        shape(&mut shaped, &raw).unwrap();
        let session = &shaped.sessions[0].session;
        assert_eq!(
            (session.name.as_str(), session.load.request_rate),
            ("raw", Some(Pps::from_micro(10_333_334)))
        );
    }

    #[test]
    fn flows_widen_ports() {
        let wide = |flows, name: &str| {
            let mut session = plan().sessions.into_iter().find(|e| e.session.name == name).unwrap().session;
            session.clients.ports = 5000..=5000;
            let made = widen(&mut session, flows);
            (made, session.clients.ports, session.servers.ports)
        };
        assert_eq!(wide(0, "web"), (Ok(()), 5000..=5000, 80..=80));
        assert_eq!(wide(100, "web"), (Ok(()), 1024..=1123, 80..=80));
        let (made, clients, servers) = wide(4_000_000, "web");
        assert_eq!((made, clients, servers), (Ok(()), 1024..=65535, 80..=142));
        let (made, ..) = wide(4_000_000, "raw");
        assert!(made.unwrap_err().contains("63 ports of an external server"));
    }
}
