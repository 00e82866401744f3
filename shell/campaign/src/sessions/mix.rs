//! A multiple of the loads of all entries of a profile at once (RFC 9411 section 7.1).
//!
//! Entries keep their applications and peers; rates of opening, closing and requests and numbers of sessions are
//! multiplied. A ramp or a curve counts with its highest rate: the load must be constant while it is measured. Entries
//! with external clients have no load; they stay unchanged.

use super::keep;
use super::load::{HOLD, Times, per_second};
use super::sustain::{self, Sustained};
use methods::{MixEntry, MixLoad, MixOutcome, Objective, SessionOutcome, TrialOutcome};
use profile::Plan;
use profile::plan::SessionEntry;
use result::{CriterionResult, IntervalDocument, ResultDocument};
use session::plan::{LoadPlan, OpenRate, RateCurve};
use units::Pps;

/// Criteria on what a trial of sessions alone has.
const OF_SESSIONS: &str = "sessions.";

/// Makes the Plan of a trial; `plan` is the profile's.
pub(super) fn shape(shaped: &mut Plan, plan: &Plan, load: &MixLoad) -> Result<(), String> {
    let times = Times::of_phases(&load.phases)?;
    let mut entries = plan.sessions.clone();
    for entry in entries.iter_mut().filter(|entry| is_driven(entry)) {
        let session = &mut entry.session;
        session.load = multiplied(&session.load, load, &times).ok_or_else(|| {
            format!(
                "sessions {}: there is nothing to multiply: give 'open' a rate, or set 'concurrent'",
                session.name
            )
        })?;
    }
    if !entries.iter().any(is_driven) {
        return Err(super::entry::NO_CLIENTS.to_owned());
    }
    shaped.criteria = plan.criteria.clone();
    shaped.criteria.retain(|criterion| criterion.path.starts_with(OF_SESSIONS));
    shaped.duration = times.end;
    shaped.drain = shaped.drain.max(load.phases.collection);
    keep(shaped, entries);
    Ok(())
}

/// Whether its clients are played here.
fn is_driven(entry: &SessionEntry) -> bool {
    entry.session.client.is_some()
}

/// The load of an entry, multiplied, in the trial's phases; `None` if it is only "as fast as possible".
fn multiplied(own: &LoadPlan, load: &MixLoad, times: &Times) -> Option<LoadPlan> {
    let phases = &load.phases;
    let rate = |rate: Pps| per_second(rate.as_f64() * load.multiplier);
    let (sustain, down) = (phases.sustain + HOLD, phases.ramp_down);
    let (open, time) = match open_rate(own) {
        Some(most) => {
            let curve = RateCurve::ramp(rate(most), times.ramp_up, sustain, down);
            (OpenRate::Curve(curve), times.ramp_up + sustain + down)
        }
        None => {
            own.concurrent?;
            (OpenRate::Max, times.ramp_up + sustain)
        }
    };
    Some(LoadPlan {
        open,
        concurrent: own.concurrent.map(|number| sessions(number, load.multiplier)),
        start_delay: times.start,
        count: None,
        bytes: None,
        time: Some(time),
        close_rate: own.close_rate.map(rate),
        request_rate: own.request_rate.map(rate),
        ..own.clone()
    })
}

/// The highest rate at which sessions are opened; `None` is as fast as can be.
fn open_rate(load: &LoadPlan) -> Option<Pps> {
    match &load.open {
        OpenRate::Max => None,
        OpenRate::Constant(rate) => Some(*rate),
        OpenRate::Curve(curve) => curve.points.iter().map(|(_, rate)| *rate).max(),
    }
}

fn sessions(number: u64, multiplier: f64) -> u64 {
    ((number as f64 * multiplier).round() as u64).max(1)
}

/// Adds the outcome of the trial.
pub(super) fn report(
    outcome: &mut TrialOutcome,
    plan: &Plan,
    load: &MixLoad,
    document: &ResultDocument,
    intervals: &[IntervalDocument],
) {
    let Ok(times) = Times::of_phases(&load.phases) else { return };
    let driven: Vec<&SessionEntry> = plan.sessions.iter().filter(|entry| is_driven(entry)).collect();
    let names: Vec<&str> = driven.iter().map(|entry| entry.session.name.as_str()).collect();
    let together = Sustained::of(&times, &names, intervals);
    if together.is_empty() && !outcome.interrupted {
        outcome.valid = false;
        outcome.reasons.push(sustain::NO_SAMPLE.to_owned());
    }
    let of = |entry: &&SessionEntry| {
        let session = &entry.session;
        let sustained = Sustained::of(&times, &[&session.name], intervals);
        let whole = &document.sessions[&session.name];
        let mut sessions = sustained.outcome(&[whole], true);
        [sessions.setup, sessions.ttfb, sessions.ttlb] = sustain::times(whole);
        entry_outcome(&session.name, &session.load, load.multiplier, sessions)
    };
    let entries: Vec<MixEntry> = driven.iter().map(of).collect();
    let whole: Vec<_> = names.iter().map(|name| &document.sessions[*name]).collect();
    let mut all = together.outcome(&whole, true);
    let slowest = |of: fn(&SessionOutcome) -> &Option<methods::LatencySummary>| {
        let times = entries.iter().filter_map(|entry| of(&entry.sessions).as_ref());
        times.max_by(|a, b| a.p99.total_cmp(&b.p99)).cloned()
    };
    (all.setup, all.ttfb, all.ttlb) = (slowest(|s| &s.setup), slowest(|s| &s.ttfb), slowest(|s| &s.ttlb));
    outcome.drops = names
        .iter()
        .flat_map(|name| {
            let failed = &document.sessions[*name].seen.failed;
            failed.iter().map(move |(reason, n)| (format!("{name}: {reason}"), *n))
        })
        .collect();
    let missed = entries.iter().any(|entry| entry.reached < entry.asked * sustain::REACHED);
    if (missed || all.rate_deviation > sustain::UNEVEN)
        && all.transactions_failed == 0
        && let Some(why) = sustain::own_limit(document)
    {
        outcome.generator_limited = true;
        outcome.reasons.push(format!("load not reached evenly, and {why}"));
    }
    outcome.sessions = Some(all);
    let unmet = document.criteria.iter().filter(|criterion| !criterion.passed).map(unmet).collect();
    outcome.mix = Some(MixOutcome { entries, unmet });
}

/// `sessions.web.ttlb_ns.p99 was 21,345,678, not < 20ms`.
fn unmet(criterion: &CriterionResult) -> String {
    let CriterionResult { path, bound, value, .. } = criterion;
    match value {
        Some(value) => format!("{path} was {}, not {bound}", store::report::measured(path, *value)),
        None => format!("{path} was not measured, and must be {bound}"),
    }
}

/// Requested load of an entry, and the reached share. A load with a rate and a number of sessions reaches either:
/// sessions that are open at the highest number leave no room for more.
fn entry_outcome(name: &str, own: &LoadPlan, multiplier: f64, sessions: SessionOutcome) -> MixEntry {
    let mut asked: Vec<(Objective, f64, f64)> = Vec::new();
    let rate = |rate: Pps| rate.as_f64() * multiplier;
    match own.request_rate {
        Some(requests) => {
            asked.push((Objective::TransactionsPerSecond, rate(requests), sessions.transactions_per_s));
        }
        None => {
            let open = open_rate(own).map(rate);
            asked.extend(open.map(|open| (Objective::ConnectionsPerSecond, open, sessions.open_per_s)));
            let held = own.concurrent.map(|number| self::sessions(number, multiplier) as f64);
            asked.extend(held.map(|held| (Objective::ConcurrentConnections, held, sessions.concurrent_mean)));
        }
    }
    let share = |(_, asked, reached): &(Objective, f64, f64)| reached / asked.max(1e-9);
    let most = asked.into_iter().max_by(|a, b| share(a).total_cmp(&share(b)));
    let (objective, asked, reached) = most.unwrap_or((Objective::ConnectionsPerSecond, 0.0, 0.0));
    MixEntry { entry: name.to_owned(), objective, asked, reached, sessions }
}

#[cfg(test)]
mod tests {
    use super::*;
    use methods::Phases;
    use units::Nanos;

    const PROFILE: &str = "ports:\n  west: {device: 'ring:a', ip: 10.0.0.1/24, speed: 1Gbps}\n  \
        east: {device: 'ring:b', ip: 10.0.0.2/24}\nsessions:\n\
        - {name: web, client: {port: west}, server: {port: east, ports: 80}, app: http, open: 30/s, count: 5}\n\
        - {name: held, client: {port: west}, server: {port: east, ports: 81}, app: http, open: max, concurrent: 10, \
        hold: 9s, close: 2/s}\n\
        - {name: ramp, client: {port: west}, server: {port: east, ports: 82}, app: http, open: {ramp: {rate: 8/s, up: 1s}}, \
        request_rate: 4/s}\n\
        - {name: served, server: {port: east, ports: 83}, app: http}\n\
        load: {duration: 10s}\ncriteria: {sessions.web.ttlb_ns.p99: '< 1s'}\n";

    fn load(multiplier: f64) -> MixLoad {
        let s = Nanos::from_secs;
        MixLoad {
            multiplier,
            phases: Phases { init: s(0), ramp_up: s(1), sustain: s(3), ramp_down: s(1), collection: s(1) },
        }
    }

    fn peak(load: &LoadPlan) -> Option<f64> {
        open_rate(load).map(Pps::as_f64)
    }

    #[test]
    fn all_entries_are_multiplied_together() {
        let plan = profile::load(PROFILE).unwrap();
        let mut shaped = plan.clone();
        shaped.criteria.clear();
        shape(&mut shaped, &plan, &load(2.5)).unwrap();
        let [web, held, ramp, served] = &shaped.sessions[..] else { panic!() };
        let of = |entry: &SessionEntry| entry.session.load.clone();
        assert_eq!((peak(&of(web)), of(web).count), (Some(75.0), None));
        assert_eq!((of(held).open, of(held).concurrent), (OpenRate::Max, Some(25)));
        assert_eq!(of(held).close_rate, Some(Pps::new(5)));
        assert_eq!((peak(&of(ramp)), of(ramp).request_rate), (Some(20.0), Some(Pps::new(10))));
        assert_eq!(of(served), of(&plan.sessions[3]));
        assert_eq!((shaped.criteria.len(), shaped.duration), (1, Nanos::from_millis(5_000)));
    }

    #[test]
    fn a_load_without_a_number_has_no_multiple() {
        let text = PROFILE.replace("open: 30/s, count: 5", "open: max");
        let mut plan = profile::load(&text).unwrap();
        plan.sessions[0].session.load.concurrent = None;
        let reason = shape(&mut plan.clone(), &plan, &load(1.0)).unwrap_err();
        assert!(reason.contains("sessions web: there is nothing to multiply"), "{reason}");
    }

    #[test]
    fn either_of_two_limits_is_reached() {
        let own = LoadPlan { concurrent: Some(10), ..LoadPlan::at(OpenRate::Constant(Pps::new(100))) };
        let sessions =
            SessionOutcome { open_per_s: 20.0, concurrent_mean: 20.0, ..SessionOutcome::default() };
        let entry = entry_outcome("web", &own, 2.0, sessions);
        assert_eq!(
            (entry.objective, entry.asked, entry.reached),
            (Objective::ConcurrentConnections, 20.0, 20.0)
        );
    }
}
