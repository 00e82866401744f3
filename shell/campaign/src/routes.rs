//! Trials of routes: a number of routes is advertised before traffic, and packets go to each of them in turn.
//!
//! A stream's `to` is a port whose hosts advertise routes. Each of their ranges of routes has its share of
//! a trial's routes, from its first prefix on; the stream goes through all of its port and its IP version. The
//! profile's times of advertisements are ignored: all are there before traffic. Sessions may end meanwhile, which is a
//! result.
//!
//! Not here: networks of generated routers and routes of files, which are what they are.

use crate::CampaignError;
use crate::directions::{Direction, Directions};
use crate::outcome::of_streams;
use crate::shape::share_out;
use crate::stimuli;
use engine::absence::is_absence;
use field::{ListOrder, Source, Target, Variable, Vary, Write};
use methods::{RouteOutcome, TrialKind, TrialOutcome, TrialRequest};
use profile::Plan;
use profile::plan::{PortPlan, Prefixes, StreamPlan};
use result::{IntervalDocument, ResultDocument};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::Arc;
use units::{Load, Nanos, Pps, count};

/// Maximum number of routes of several ranges listed for a stream.
const LISTED_MAX: u64 = 10_000_000;

/// Ports to which streams go, and the IP versions of these: `true` is IPv4.
fn receivers(plan: &Plan) -> BTreeSet<(usize, bool)> {
    plan.streams.iter().filter_map(|stream| Some((stream.to?, ip_header(stream)?.1))).collect()
}

/// The place of a stream's outermost IP header, and whether it is one of IPv4.
fn ip_header(stream: &StreamPlan) -> Option<(usize, bool)> {
    let mut headers = stream.packet.headers.iter().enumerate();
    headers.find_map(|(place, header)| match header.protocol.name {
        "ipv4" => Some((place, true)),
        "ipv6" => Some((place, false)),
        _ => None,
    })
}

/// Goes through the ranges of a port's routes: `share` determines the number of routes of each.
fn each_range(port: &mut PortPlan, share: &mut dyn FnMut(Prefixes) -> Prefixes) {
    port.routing_mut().for_each(|protocol| protocol.share_out(share));
}

/// Routes that the ports advertise to which streams go, of these streams' IP versions.
pub(crate) fn total(plan: &Plan) -> u64 {
    slots(&mut plan.clone(), u64::MAX).values().flatten().map(|slot| u64::from(slot.count)).sum()
}

/// Reduces the routes of `plan` to this total, each range by its share; returns the routes of each port and IP version
/// then.
fn slots(plan: &mut Plan, routes: u64) -> BTreeMap<(usize, bool), Vec<Prefixes>> {
    let receivers = receivers(plan);
    let ports: BTreeSet<usize> = receivers.iter().map(|(port, _)| *port).collect();
    let counts = |port: usize, slot: &Prefixes| receivers.contains(&(port, slot.is_v4()));
    let mut all = 0;
    for port in &ports {
        each_range(&mut plan.ports[*port], &mut |slot| {
            all += if counts(*port, &slot) { u64::from(slot.count) } else { 0 };
            slot
        });
    }
    let routes = u128::from(routes.min(all));
    let (mut before, mut given) = (0u128, 0u128);
    let mut slots: BTreeMap<(usize, bool), Vec<Prefixes>> = BTreeMap::new();
    for port in &ports {
        each_range(&mut plan.ports[*port], &mut |slot| {
            if !counts(*port, &slot) {
                return slot;
            }
            before += u128::from(slot.count);
            // All ranges up to this one have their share; a share is never more than the range.
            let now = routes * before / u128::from(all.max(1));
            let slot = Prefixes { count: (now - given) as u32, ..slot };
            given = now;
            if slot.count > 0 {
                slots.entry((*port, slot.is_v4())).or_default().push(slot);
            }
            slot
        });
    }
    slots
}

/// Whether every stream goes to a port that advertises routes of its IP version.
///
/// # Errors
/// There is no stream, or the first that does not.
pub(crate) fn check(plan: &Plan, directions: &Directions) -> Result<(), CampaignError> {
    let streams: Vec<usize> =
        directions.all.iter().flat_map(|one| &one.streams).map(|(index, _)| *index).collect();
    if streams.is_empty() {
        let reason = "a stream is needed, to the port that advertises routes";
        return Err(CampaignError::profile("streams", reason));
    }
    let slots = slots(&mut plan.clone(), u64::MAX);
    for index in streams {
        let stream = &plan.streams[index];
        let bad = |reason: String| Err(CampaignError::profile(format!("stream {}", stream.name), reason));
        let Some((_, is_v4)) = ip_header(stream) else {
            return bad("its packets have no IPv4 or IPv6 header, so they can't go to routes".to_owned());
        };
        let to = stream.to.unwrap_or(stream.from);
        let name = &plan.ports[to].name;
        let family = if is_v4 { "IPv4" } else { "IPv6" };
        if plan.ports[to].routing().any(|protocol| protocol.has_file(is_v4)) {
            return bad(format!(
                "port {name} advertises routes of a file ('mrt'), of which no part can be taken: use 'prefixes' and 'count'"
            ));
        }
        let Some(slots) = slots.get(&(to, is_v4)) else {
            return bad(format!(
                "port {name}, to which it goes, advertises no {family} routes: give it {} with 'routes'",
                PortPlan::routing_keys()
            ));
        };
        let routes: u64 = slots.iter().map(|slot| u64::from(slot.count)).sum();
        if slots.len() > 1 && routes > LISTED_MAX {
            return bad(format!(
                "port {name} advertises {} {family} routes of several ranges; of more than one range there can be {} at most",
                count(routes),
                count(LISTED_MAX)
            ));
        }
        if stream.vary.as_ref().is_some_and(|vary| vary.flows.is_some()) {
            return bad(
                "its packets vary by 'flows', so they can't go through all routes: remove it".to_owned()
            );
        }
    }
    Ok(())
}

/// Advertises this number of routes before traffic, and lets each stream go through its port's.
///
/// # Errors
/// A stream can't go to routes.
pub(crate) fn shape(
    shaped: &mut Plan,
    directions: &Directions,
    request: &TrialRequest,
) -> Result<(), String> {
    let TrialKind::Routes { routes, packets } = request.kind else { return Ok(()) };
    let slots = slots(shaped, routes);
    for (port, _) in receivers(shaped) {
        shaped.ports[port].routing_mut().for_each(|protocol| protocol.let_fail());
    }
    for (direction, load) in directions.all.iter().zip(&request.offered) {
        let mut streams = Vec::new();
        for (index, _) in &direction.streams {
            let stream = &mut shaped.streams[*index];
            let own = stream.to.zip(ip_header(stream)).and_then(|(to, (_, is_v4))| slots.get(&(to, is_v4)));
            streams.push((*index, go_through(stream, own.map_or(&[], Vec::as_slice))?));
        }
        let rate = stimuli::test_rate(request.attributes.modifier, load.rate);
        // Each stream at such a rate that all routes have as many packets.
        let direction = Direction { streams, ..direction.clone() };
        let mut longest = Nanos::ZERO;
        share_out(&direction, rate.micro(), |index, micro| {
            let (stream, rate) = (&mut shaped.streams[index], Pps::from_micro(micro));
            let own =
                direction.streams.iter().find(|(one, _)| *one == index).map_or(0, |(_, routes)| *routes);
            let least = own * u64::from(packets);
            stream.rate = Load::Packets(rate);
            stream.count = Some(rate.packets_in(request.duration).max(least));
            let ns = u128::from(least) * 1_000_000_000_000_000 / u128::from(micro.max(1));
            longest = longest.max(Nanos(u64::try_from(ns).unwrap_or(u64::MAX)));
        });
        shaped.duration = shaped.duration.max(longest + Nanos::from_millis(1));
    }
    // Of few routes a stream may have none.
    shaped.streams.retain(|stream| stream.count != Some(0));
    Ok(())
}

/// Lets the destination of a stream go through all routes of `slots`; returns how many.
fn go_through(stream: &mut StreamPlan, slots: &[Prefixes]) -> Result<u64, String> {
    let Some((place, _)) = ip_header(stream) else {
        return Err(format!("stream {}: its packets have no IPv4 or IPv6 header", stream.name));
    };
    let header = &stream.packet.headers[place];
    let Some(field) = header.protocol.field("dst") else { return Ok(0) };
    let own = header.value("dst").unwrap_or(0);
    // Hosts that advertise the same prefixes have them together.
    let mut distinct: Vec<Prefixes> = Vec::new();
    for slot in slots {
        let same = |one: &&mut Prefixes| Prefixes { count: slot.count, ..**one } == *slot;
        match distinct.iter_mut().find(same) {
            Some(one) => one.count = one.count.max(slot.count),
            None => distinct.push(*slot),
        }
    }
    let all = |slot: Prefixes| (0..slot.count).map_while(move |index| slot.address(index, own));
    let source = match distinct[..] {
        [] => return Ok(0),
        [slot] => {
            let step = u128::from(slot.step).checked_shl(slot.host_bits()).unwrap_or(0);
            let first = slot.address(0, own).unwrap_or(own);
            Source::Range { first, step, count: slot.count.into(), width: field.width }
        }
        _ => {
            let values: Arc<[u128]> = distinct.iter().copied().flat_map(all).collect();
            Source::List { values, order: ListOrder::Sequential }
        }
    };
    let ends = |slot: &Prefixes| [slot.address(0, own), slot.address(slot.count.saturating_sub(1), own)];
    let ends: Vec<u128> = distinct.iter().flat_map(ends).flatten().collect();
    let is_v4 = distinct.first().is_some_and(Prefixes::is_v4);
    let ip = |bits: &u128| if is_v4 { IpAddr::V4((*bits as u32).into()) } else { IpAddr::V6((*bits).into()) };
    stream.destinations = ends.iter().min().map(ip).zip(ends.iter().max().map(ip));
    let mut vary = stream.vary.as_deref().cloned().unwrap_or_default();
    let is_destination = |write: &Write| match write.target {
        Target::Field { header, field } => header == place && field.name == "dst",
        _ => false,
    };
    vary.writes.retain(|write| !is_destination(write));
    let target = Target::Field { header: place, field };
    vary.writes.push(Write { variable: vary.variables.len(), target, mask: field.max() });
    vary.variables.push(Variable::new(source));
    stream.vary = Some(Arc::new(Vary { flows: None, ..vary }));
    Ok(distinct.iter().map(|slot| u64::from(slot.count)).sum())
}

/// Outcome. Sessions that a device ends are a result; a tester that never had them is none.
pub(crate) fn outcome(
    plan: &Plan,
    directions: &Directions,
    request: &TrialRequest,
    document: &ResultDocument,
    intervals: &[IntervalDocument],
) -> TrialOutcome {
    let TrialKind::Routes { routes, .. } = request.kind else { return TrialOutcome::default() };
    let mut outcome = of_streams(directions, request, document, intervals);
    let mut told = RouteOutcome::default();
    let names: BTreeSet<&str> =
        receivers(plan).into_iter().map(|(port, _)| plan.ports[port].name.as_str()).collect();
    for port in names.iter().filter_map(|name| document.ports.get(*name)) {
        for protocol in port.routing() {
            told.advertised += protocol.advertised;
            told.sessions_lost += protocol.flaps;
            let after = told.announced_after_s.into_iter().chain(protocol.announced_after_s);
            told.announced_after_s = after.reduce(f64::max);
        }
    }
    if told.sessions_lost > 0 {
        let said = |note: &&String| {
            note.contains(" were lost")
                && names.iter().any(|name| note.starts_with(&format!("port {name}: ")))
        };
        told.why = document.verdict.notes.iter().find(said).cloned();
        // What is missing at the start of traffic is what the device has ended.
        let before = outcome.reasons.len();
        outcome.reasons.retain(|reason| !is_absence(reason));
        outcome.valid |= before > 0 && outcome.reasons.is_empty();
    } else if told.advertised < routes {
        outcome.valid = false;
        outcome.reasons.push(format!(
            "{} of {} routes were advertised",
            count(told.advertised),
            count(routes)
        ));
    }
    outcome.routes = Some(told);
    outcome
}

#[cfg(test)]
mod tests;
