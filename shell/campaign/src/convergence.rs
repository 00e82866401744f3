//! Trials of convergence: the routes of one port are withdrawn while traffic flows, and advertised again (RFC 7747).
//!
//! A stream's `to` is its first path, `also_to` its second one; behind the first are speakers or routers with the routes of its
//! destinations. The profile's times of advertisements are ignored. The packets of a
//! stream are split into two: one up to the cut between withdrawal and return, one from there on, so that packets lost
//! by one is not counted with the other.

use crate::CampaignError;
use crate::directions::Directions;
use crate::shape::share_out;
use methods::{PathChange, StreamConvergence, TrialKind, TrialRequest};
use profile::Plan;
use profile::plan::{PortPlan, StreamPlan};
use result::{ResultDocument, RoutingCounts, StreamResult};
use std::collections::BTreeSet;
use units::{Load, Nanos, Pps};

/// When routes are withdrawn, from when on packets belong to the return, and when they are advertised again.
fn instants(request: &TrialRequest) -> [Nanos; 3] {
    match request.kind {
        TrialKind::Convergence { withdraw, cut, advertise } => [withdraw, cut, advertise],
        _ => [Nanos::ZERO; 3],
    }
}

/// Whether every stream has two paths, and the first of them routes that can be withdrawn.
///
/// # Errors
/// The first stream that has not.
pub(crate) fn check(plan: &Plan, directions: &Directions) -> Result<(), CampaignError> {
    let streams = || directions.all.iter().flat_map(|direction| &direction.streams);
    for (index, _) in streams() {
        let stream = &plan.streams[*index];
        let name = |port: usize| &plan.ports[port].name;
        let bad = |reason: String| Err(CampaignError::profile(format!("stream {}", stream.name), reason));
        let (Some(first), [second]) = (stream.to, &stream.also_to[..]) else {
            return bad(
                "needs two paths: 'to' is the port of the first, 'also_to' that of the second".to_owned()
            );
        };
        if plan.ports[first].routing().all(|protocol| protocol.ranges() == 0) {
            return bad(format!(
                "port {} is its first path and has no routes to withdraw: give it {} with the routes of the stream's destinations",
                name(first),
                PortPlan::routing_keys()
            ));
        }
        if streams().any(|(other, _)| plan.streams[*other].to == Some(*second)) {
            return bad(format!(
                "port {} is its second path and the first one of another stream, whose routes would be withdrawn as well",
                name(*second)
            ));
        }
    }
    Ok(())
}

/// Splits streams at the cut, and lets routes of first paths go and come back.
pub(crate) fn shape(shaped: &mut Plan, directions: &Directions, request: &TrialRequest) {
    let [withdraw, cut, advertise] = instants(request);
    let mut after = Vec::new();
    for (direction, load) in directions.all.iter().zip(&request.offered) {
        share_out(direction, load.rate.micro(), |index, micro| {
            let (stream, rate) = (&mut shaped.streams[index], Pps::from_micro(micro));
            stream.rate = Load::Packets(rate);
            stream.count = Some(rate.packets_in(cut));
            let count = rate.packets_in(shaped.duration) - rate.packets_in(cut);
            let name = return_name(stream, cut);
            after.push(StreamPlan { name, count: Some(count), start_delay: cut, ..stream.clone() });
        });
    }
    let firsts: BTreeSet<usize> = shaped.streams.iter().filter_map(|stream| stream.to).collect();
    for port in firsts {
        shaped.ports[port].routing_mut().for_each(|protocol| protocol.withdraw_once(withdraw, advertise));
    }
    shaped.streams.extend(after);
}

/// The name of the stream with the packets of the return.
fn return_name(stream: &StreamPlan, cut: Nanos) -> String {
    format!("{} {}", stream.name, cut.0)
}

/// Switch of each stream to another path, and back.
pub(crate) fn outcome(
    plan: &Plan,
    directions: &Directions,
    request: &TrialRequest,
    document: &ResultDocument,
) -> Vec<StreamConvergence> {
    let [_, cut, _] = instants(request);
    let streams = directions.all.iter().flat_map(|direction| &direction.streams);
    let of = |stream: &StreamPlan| {
        let name = |port: usize| plan.ports[port].name.as_str();
        let (first, second) = (name(stream.to?), name(*stream.also_to.first()?));
        let until = document.streams.get(&stream.name)?;
        let after = document.streams.get(&return_name(stream, cut))?;
        let port = document.ports.get(first)?;
        let first_of = |when: fn(&RoutingCounts) -> Option<u64>| {
            port.routing().filter_map(|protocol| when(&protocol)).min()
        };
        let withdrawn = first_of(|protocol| protocol.first_withdrawal_ns);
        let advertised = first_of(|protocol| protocol.first_advertisement_ns);
        Some(StreamConvergence {
            stream: stream.name.clone(),
            gap_ns: 1e9 / until.requested_pps.filter(|pps| *pps > 0.0)?,
            withdrawal: change(until, (first, second), withdrawn, Nanos::ZERO),
            advertisement: change(after, (second, first), advertised, cut),
        })
    };
    streams.filter_map(|(index, _)| of(&plan.streams[*index])).collect()
}

/// Fate of the packets of `row`, which begin at `begins`, after the `event`: from the path `old` to the path `new`.
fn change(row: &StreamResult, (old, new): (&str, &str), event: Option<u64>, begins: Nanos) -> PathChange {
    let rate = Pps::from_micro((row.requested_pps.unwrap_or(0.0) * 1e6) as u64);
    let before = event.map_or(0, |event| rate.packets_in(Nanos(event).since(begins)));
    let (old, new) = (row.paths.get(old), row.paths.get(new));
    PathChange {
        event_ns: event,
        sent: row.tx.saturating_sub(before),
        moved: new.map_or(0, |path| path.rx),
        lost: row.lost.unwrap_or(0),
        first_new_ns: new.map(|path| path.first_departure_ns),
        last_old_ns: old.map(|path| path.last_departure_ns),
    }
}
