//! TCP connections that send as much as they can (RFC 6349 section 4).
//!
//! A sender is a group of the testbed. Where the profile has streams, groups are directions, and the end of an entry that is
//! on the port a direction begins at sends. Where it has sessions only, groups are entries, and clients send to servers.

use super::{entry, keep};
use crate::directions::Directions;
use methods::{TcpOutcome, TrialOutcome};
use profile::Plan;
use profile::plan::SessionEntry;
use result::{ResultDocument, SideDetails};
use session::plan::{AppPlan, AtEnd, Carrier, LoadPlan, Mix, Op, OpenRate, Program, SessionPlan, Side};
use std::sync::Arc;

/// Largest window without scaling (RFC 7323 section 2).
const UNSCALED: u64 = 65_535;
/// Largest window there is (RFC 7323 section 2.3).
const LARGEST: u64 = 1 << 30;

/// Makes the Plan of a trial.
pub(super) fn shape(
    shaped: &mut Plan,
    directions: &Directions,
    senders: &[String],
    connections: u32,
    window_bytes: u64,
) -> Result<(), String> {
    let mut entries: Vec<(SessionEntry, Vec<Side>)> = Vec::new();
    for sender in senders {
        let (entry, side) = sending(shaped, directions, sender)?;
        match entries.iter_mut().find(|(own, _)| own.session.name == entry.session.name) {
            Some((_, sides)) => sides.push(side),
            None => entries.push((entry.clone(), vec![side])),
        }
    }
    for (entry, sides) in &mut entries {
        let session = &mut entry.session;
        session.mix = Mix::one(source(session, sides)?);
        session.tls = session.tls.take().filter(|_| session.server.is_none());
        let most = Some(u64::from(connections));
        // What is still to be sent when time is up must not count as if it had been in time.
        let at_end = AtEnd::Reset;
        session.load = LoadPlan { concurrent: most, count: most, at_end, ..LoadPlan::at(OpenRate::Max) };
        for side in session.client.iter_mut().chain(&mut session.server) {
            side.tcp.window = window_bytes.min(LARGEST) as u32;
            side.tcp.window_scaling |= window_bytes > UNSCALED;
        }
    }
    keep(shaped, entries.into_iter().map(|(entry, _)| entry).collect());
    Ok(())
}

/// The entry and the end of it that sends for a group.
fn sending<'p>(
    plan: &'p Plan,
    directions: &Directions,
    sender: &str,
) -> Result<(&'p SessionEntry, Side), String> {
    let usable =
        |entry: &&SessionEntry| entry.session.client.is_some() && entry.session.carrier == Carrier::Tcp;
    let Some(direction) = directions.all.iter().find(|direction| direction.name == sender) else {
        let named = plan.sessions.iter().filter(usable).find(|entry| entry.session.name == sender);
        let reason = || format!("sessions {sender}: cannot send: its clients are external, or it is not TCP");
        return named.map(|entry| (entry, Side::Client)).ok_or_else(reason);
    };
    entry::over_tcp(plan)?;
    let here =
        |side: &Option<session::plan::SidePlan>| side.as_ref().is_some_and(|s| s.port == direction.from);
    let end = |entry: &'p SessionEntry| match &entry.session {
        session if here(&session.client) => Some((entry, Side::Client)),
        session if here(&session.server) => Some((entry, Side::Server)),
        _ => None,
    };
    plan.sessions.iter().filter(usable).find_map(end).ok_or_else(|| {
        format!(
            "no entry under 'sessions' uses port {}, so no TCP can send from {sender}",
            plan.ports[direction.from].name
        )
    })
}

/// Data without end from one end or both.
fn source(session: &SessionPlan, sides: &[Side]) -> Result<AppPlan, String> {
    if session.server.is_none() {
        let name = &session.name;
        if sides.contains(&Side::Server) {
            return Err(format!("sessions {name}: its server is external and cannot be made to send"));
        }
        if entry::speaks_http(session) {
            return Err(format!(
                "sessions {name}: its server is external and uses HTTP; TCP that sends as much as it can needs one \
                 that takes it, such as 'app: discard'"
            ));
        }
    }
    Ok(match sides {
        [side] => AppPlan::bulk(*side, None),
        _ => {
            let stream = Arc::new(Program { ops: vec![Op::Stream] });
            AppPlan::Program { client: stream.clone(), server: stream }
        }
    })
}

/// Adds what each sender's connections did.
pub(super) fn report(
    outcome: &mut TrialOutcome,
    plan: &Plan,
    directions: &Directions,
    senders: &[String],
    document: &ResultDocument,
) {
    let figures = |sender: &String| {
        let (entry, side) = sending(plan, directions, sender).ok()?;
        let row = &document.sessions[&entry.session.name];
        let (own, other) = match side {
            Side::Client => (&row.client, &row.server),
            Side::Server => (&row.server, &row.client),
        };
        Some(of(sender, own.as_ref()?, other.as_ref()))
    };
    outcome.tcp = senders.iter().filter_map(figures).collect();
}

/// Counts of the sending end, and of the receiving one if it is emulated.
fn of(sender: &str, own: &SideDetails, other: Option<&SideDetails>) -> TcpOutcome {
    let tcp = |key: &str| own.tcp.get(key).copied().unwrap_or(0);
    let arrived = other.map(|other| other.seen.rx_bytes_goodput);
    TcpOutcome {
        group: sender.to_owned(),
        delivered_bytes: arrived.unwrap_or_else(|| tcp("bytes_acknowledged")),
        sent_bytes: tcp("bytes_out") + tcp("bytes_retransmitted"),
        retransmitted_bytes: tcp("bytes_retransmitted"),
        rtt_mean_ns: own.rtt_ns.as_ref().map_or(0.0, |rtt| rtt.mean),
    }
}
