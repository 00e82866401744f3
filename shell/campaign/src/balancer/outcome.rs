//! Outcome of a trial of a balancer, of what became of each session.

use super::setup::Sides;
use balance::{Ending, Exchange, SessionRecord};
use methods::{BackendOutcome, BalancerOutcome, BalancerTask, ChangeOutcome, TrialOutcome};
use nat::Share;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use units::Nanos;

/// Wait for a response that only a repeated packet explains: the first time-out of TCP is a second.
const SLOW: Nanos = Nanos::from_millis(900);
/// After this many times as many sessions as a backend gets one of, without one at it, it is not used any more: by chance,
/// one time in a thousand.
const CERTAIN: f64 = 7.0;

/// Adds what was found, and reasons not to trust it.
pub(super) fn add(outcome: &mut TrialOutcome, exchange: &Exchange, sides: &Sides, task: &BalancerTask) {
    let sessions = exchange.sessions();
    let mut found = BalancerOutcome {
        backends: backends(exchange, sides),
        sessions: sessions.len() as u64,
        failed: by_reason(sessions.iter().filter_map(|session| session.ended)),
        ..BalancerOutcome::default()
    };
    let unopened = sessions.iter().filter(|session| has_ended(session, Ending::Unopened)).count();
    if unopened > 0 {
        outcome.generator_limited = true;
        outcome.reasons.push(format!(
            "{unopened} of {} sessions could not be opened: more addresses or ports of clients are needed",
            sessions.len()
        ));
    }
    match task {
        BalancerTask::Spread { .. } => {}
        BalancerTask::Sticky { .. } => {
            found.sticky = Some(sticky(sessions));
            found.by_chance = Some(by_chance(&found.backends));
        }
        BalancerTask::Change(change) => {
            let effects = changed(exchange, change.backend, sides.clients());
            if effects.is_none() && !outcome.interrupted {
                outcome.valid = false;
                outcome.reasons.push("the backend did not change before the trial ended".to_owned());
            }
            found.change = effects;
        }
    }
    outcome.balancer = Some(found);
}

fn has_ended(session: &SessionRecord, how: Ending) -> bool {
    session.ended.is_some_and(|(_, ending)| ending == how)
}

fn has_failed(session: &SessionRecord) -> bool {
    session.ended.is_some_and(|(_, ending)| ending.is_failure())
}

fn name(ending: Ending) -> String {
    match ending {
        Ending::Done => "done".to_owned(),
        Ending::Stopped => "stopped".to_owned(),
        Ending::Refused => "refused".to_owned(),
        Ending::Reset => "reset".to_owned(),
        Ending::Closed => "closed".to_owned(),
        Ending::Silent => "without a response".to_owned(),
        Ending::Status(status) => format!("with HTTP status {status}"),
        Ending::Malformed => "with a wrong response".to_owned(),
        Ending::Unopened => "not opened".to_owned(),
    }
}

/// Failures by reason.
fn by_reason(endings: impl Iterator<Item = (Nanos, Ending)>) -> BTreeMap<String, u64> {
    let mut all = BTreeMap::new();
    for (_, ending) in endings.filter(|(_, ending)| ending.is_failure()) {
        *all.entry(name(ending)).or_default() += 1;
    }
    all
}

fn backends(exchange: &Exchange, sides: &Sides) -> Vec<BackendOutcome> {
    let mut first = vec![0; sides.backends.len()];
    for backend in exchange.sessions().iter().filter_map(|session| session.first) {
        if let Some(count) = first.get_mut(usize::from(backend)) {
            *count += 1;
        }
    }
    let of = |((plan, counts), sessions): ((&super::setup::BackendPlan, &balance::BackendCounts), u64)| {
        BackendOutcome {
            address: plan.address.to_string(),
            sessions,
            connections: counts.sessions,
            requests: counts.requests,
            checks: counts.checks,
        }
    };
    sides.backends.iter().zip(exchange.backends()).zip(first).map(of).collect()
}

/// Sessions of later rounds at the backend of the first with the same identity.
fn sticky(sessions: &[SessionRecord]) -> Share {
    let first: HashMap<u32, u16> = sessions
        .iter()
        .filter(|session| session.round == 0)
        .filter_map(|session| Some((session.identity, session.first?)))
        .collect();
    let later = sessions.iter().filter(|session| session.round > 0);
    Share::of(later.filter_map(|session| Some(session.first? == *first.get(&session.identity)?)))
}

/// Chance that two sessions come to the same backend, if each backend has its share regardless of the client.
fn by_chance(backends: &[BackendOutcome]) -> f64 {
    let all = backends.iter().map(|backend| backend.sessions).sum::<u64>().max(1) as f64;
    backends.iter().map(|backend| (backend.sessions as f64 / all).powi(2)).sum()
}

/// Effects of a change; `None`: there was none.
fn changed(exchange: &Exchange, backend: u16, clients: usize) -> Option<ChangeOutcome> {
    let times = exchange.times();
    let (changed, returned) = (times.changed?, times.returned.unwrap_or(Nanos::MAX));
    let sessions = exchange.sessions();
    let held = || sessions.iter().filter(|session| session.is_held && session.at_change.is_some());
    let own = || held().filter(|session| session.at_change == Some(backend));
    let others = held().filter(|session| session.at_change != Some(backend));
    let in_time = |session: &SessionRecord| session.ended.filter(|(at, _)| *at < returned);
    let short = |round: u32| {
        let of = move |session: &&SessionRecord| !session.is_held && session.round == round;
        sessions.iter().filter(of)
    };
    let away: Vec<&SessionRecord> = short(1).collect();
    let is_slow =
        |session: &SessionRecord| session.first_at.is_some_and(|at| at.since(session.opened) >= SLOW);
    let is_troubled = |session: &SessionRecord| has_failed(session) || is_slow(session);
    let before: Vec<u16> = short(0).chain(held()).filter_map(|session| session.first).collect();
    let share = before.iter().filter(|first| **first == backend).count() as f64 / before.len().max(1) as f64;
    let enough = (CERTAIN / share.max(1e-6)).max(clients as f64);
    let troubled: Vec<bool> = away.iter().map(|session| is_troubled(session)).collect();
    let (last, is_over) = last_before(&troubled, enough as usize);
    let next = last.filter(|_| is_over).and_then(|last| away.get(last + 1));
    let since = |at: Nanos, from: Nanos| at.since(from).0;
    let again: Vec<&SessionRecord> = short(2).collect();
    let used = again.iter().position(|session| session.first == Some(backend));
    let of_clients = Clients::of(sessions, backend);
    Some(ChangeOutcome {
        wanted: sessions.iter().filter(|session| session.is_held).count() as u64,
        held: held().count() as u64,
        held_by_backend: own().count() as u64,
        open_at_backend: times.open.get(usize::from(backend)).copied().unwrap_or_default(),
        ended: by_reason(own().filter_map(in_time)),
        others_ended: by_reason(others.filter_map(|session| session.ended)),
        moved: held().filter(|session| session.moved_later > 0).count() as u64,
        moved_before: held().filter(|session| session.moved > session.moved_later).count() as u64,
        short: away.len() as u64,
        short_failed: away.iter().filter(|session| has_failed(session)).count() as u64,
        short_slow: away.iter().filter(|session| !has_failed(session) && is_slow(session)).count() as u64,
        last_failed_ns: last.map(|last| since(away[last].opened, changed)),
        next_good_ns: next.map(|next| since(next.opened, changed)),
        last_trouble_ns: troubled
            .iter()
            .rposition(|is_troubled| *is_troubled)
            .map(|last| since(away[last].opened, changed)),
        contacts: times.contacts,
        last_contact_ns: times.last_contact.map(|at| since(at, changed)),
        used_again_ns: used.map(|place| since(again[place].opened, returned)),
        unused_until_ns: used
            .and_then(|place| place.checked_sub(1))
            .map(|place| since(again[place].opened, returned)),
        clients_kept: of_clients.kept,
        clients_back: of_clients.back,
        clients_settled: of_clients.settled,
    })
}

/// The last true value before `enough` false ones in a row, and whether there are enough; without them, the last of all.
///
/// Some balancers try a backend again from time to time, with a client's connection.
fn last_before(values: &[bool], enough: usize) -> (Option<usize>, bool) {
    let mut last: Option<usize> = None;
    for (place, value) in values.iter().enumerate() {
        match last {
            _ if *value => last = Some(place),
            Some(before) if place - before >= enough => return (last, true),
            _ => {}
        }
    }
    (last, false)
}

/// Clients by their backends.
struct Clients {
    settled: Share,
    kept: Share,
    back: Share,
}

impl Clients {
    fn of(sessions: &[SessionRecord], backend: u16) -> Self {
        let mut before: BTreeMap<u32, (BTreeSet<u16>, u32)> = BTreeMap::new();
        // The last backend of each client while one was away, and afterwards.
        let mut later: [HashMap<u32, u16>; 2] = Default::default();
        for session in sessions {
            let Some(first) = session.first else { continue };
            match session.round {
                0 => {
                    let own = before.entry(session.client).or_default();
                    own.0.insert(first);
                    own.1 += 1;
                }
                round => drop(later[(round as usize - 1).min(1)].insert(session.client, first)),
            }
        }
        // One session of a client shows nothing.
        before.retain(|_, (_, count)| *count > 1);
        let settled: Vec<(u32, u16)> = before
            .iter()
            .filter(|(_, (backends, _))| backends.len() == 1)
            .filter_map(|(client, (backends, _))| Some((*client, *backends.first()?)))
            .collect();
        let same = |later: &HashMap<u32, u16>, (client, first): (u32, u16)| {
            later.get(&client).map(|now| *now == first)
        };
        let others = settled.iter().filter(|(_, first)| *first != backend);
        Self {
            settled: Share::new(settled.len() as u64, before.len() as u64),
            kept: Share::of(others.filter_map(|one| same(&later[0], *one))),
            back: Share::of(settled.iter().filter_map(|one| same(&later[1], *one))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(client: u32, round: u32, first: Option<u16>) -> SessionRecord {
        SessionRecord {
            client,
            identity: client,
            round,
            is_held: false,
            opened: Nanos::ZERO,
            first,
            first_at: None,
            at_change: None,
            last: None,
            moved: 0,
            moved_later: 0,
            sent: 1,
            answered: 1,
            ended: None,
        }
    }

    #[test]
    fn a_late_failure_is_another_attempt() {
        let values = |places: &[usize]| (0..100).map(|place| places.contains(&place)).collect::<Vec<_>>();
        assert_eq!(last_before(&values(&[]), 10), (None, false));
        assert_eq!(last_before(&values(&[3, 9, 12]), 10), (Some(12), true));
        assert_eq!(last_before(&values(&[3, 9, 12, 80]), 10), (Some(12), true));
        assert_eq!(last_before(&values(&[3, 9, 95]), 100), (Some(95), false));
        // Too few follow.
        assert_eq!(last_before(&values(&[3, 12, 21, 30, 39, 48, 57, 66, 75, 84, 93]), 10), (Some(93), false));
    }

    #[test]
    fn repeated_sessions_are_compared_with_the_first() {
        let all = [
            session(1, 0, Some(0)),
            session(2, 0, Some(1)),
            session(3, 0, None),
            session(1, 1, Some(0)),
            session(2, 1, Some(0)),
            session(3, 1, Some(1)),
        ];
        let share = sticky(&all);
        assert_eq!((share.count, share.of), (1, 2));
    }

    #[test]
    fn clients_with_one_backend_are_kept_or_not() {
        let mut all = Vec::new();
        for (client, first, away, back) in [(1, 0, 1, 0), (2, 1, 1, 1), (3, 1, 2, 2), (4, 2, 2, 1)] {
            all.extend([session(client, 0, Some(first)), session(client, 0, Some(first))]);
            all.extend([session(client, 1, Some(away)), session(client, 2, Some(back))]);
        }
        // A client without a backend of its own, and one that was seen once.
        all.extend([
            session(5, 0, Some(0)),
            session(5, 0, Some(1)),
            session(6, 0, Some(2)),
            session(6, 1, Some(1)),
        ]);
        let found = Clients::of(&all, 0);
        assert_eq!((found.settled.count, found.settled.of), (4, 5));
        assert_eq!((found.kept.count, found.kept.of), (2, 3));
        assert_eq!((found.back.count, found.back.of), (2, 4));
    }
}
