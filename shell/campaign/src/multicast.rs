//! Trials of multicast groups (RFC 3918): a host of one port is a member of groups to which another port sends.
//!
//! The profile has one stream, to a group that the host of the receiving port joins. The groups of a trial are that one
//! and the following ones, each with a separate stream. The profile's times of joins and leaves are ignored. Other
//! ports listen: packets to them are flooded.

use crate::CampaignError;
use crate::directions::Directions;
use crate::outcome::{group, of_any};
use crate::shape::{fit, sizes, without_schedule};
use methods::{GroupChange, GroupOutcome, TrialKind, TrialOutcome, TrialRequest};
use profile::Plan;
use profile::group_mac;
use profile::plan::{MembershipPlan, MulticastPlan, NextHop, Pattern, PortPlan, StreamPlan};
use result::{ResultDocument, StreamResult};
use std::net::IpAddr;
use std::sync::Arc;
use units::{Load, Nanos, Pps};
use wire::PacketSpec;

/// From the last join to traffic, if all groups are joined before it: the device has that long to learn them.
const PAUSE: Nanos = Nanos::from_millis(500);

/// Number of groups, when the last is joined and left, and whether by all ports; zero: all before traffic, and none.
fn asked(request: &TrialRequest) -> (u64, Nanos, Nanos, bool) {
    match request.kind {
        TrialKind::Multicast { groups, join, leave, everywhere } => (groups, join, leave, everywhere),
        _ => (1, Nanos::ZERO, Nanos::ZERO, false),
    }
}

/// Ports whose hosts join the stream's group: with the receiving port all of these, or that one alone.
fn receivers(plan: &Plan, stream: &StreamPlan, group: IpAddr, everywhere: bool) -> Vec<usize> {
    let joins = |port: &PortPlan| {
        let memberships = port.multicast.iter().flat_map(|multicast| &multicast.memberships);
        memberships.into_iter().any(|one| (one.first..=one.last).contains(&group))
    };
    (0..plan.ports.len())
        .filter(|port| *port != stream.from)
        .filter(|port| Some(*port) == stream.to || everywhere && joins(&plan.ports[*port]))
        .collect()
}

/// The stream to the first group, and the memberships of its port's host.
///
/// # Errors
/// The profile has not one stream to a group that the receiving port joins.
pub(crate) fn check<'p>(
    plan: &'p Plan,
    directions: &Directions,
) -> Result<(&'p StreamPlan, &'p MulticastPlan, IpAddr), CampaignError> {
    let bad = |place: &str, reason: String| Err(CampaignError::profile(place.to_owned(), reason));
    let one = match &directions.all[..] {
        [one] if one.streams.len() == 1 => one.streams[0].0,
        _ => return bad("streams", "one stream is needed, to the first of the groups".to_owned()),
    };
    let stream = &plan.streams[one];
    let Some((group, _)) = stream.destinations.filter(|(first, _)| first.is_multicast()) else {
        return bad(
            &format!("stream {}", stream.name),
            "its destination must be a multicast group".to_owned(),
        );
    };
    let port = &plan.ports[stream.to.unwrap_or(stream.from)];
    let Some(multicast) = &port.multicast else {
        let reason = "its host joins no groups: give it 'multicast' with the group of the stream".to_owned();
        return bad(&format!("ports.{}", port.name), reason);
    };
    Ok((stream, multicast, group))
}

/// The plan of such a trial.
///
/// # Errors
/// The profile has nothing for it; the packets do not fit the frames.
pub(crate) fn shape(
    plan: &Plan,
    directions: &Directions,
    request: &TrialRequest,
) -> Result<Plan, CampaignError> {
    let (stream, multicast, first) = check(plan, directions)?;
    let (count, join, leave, everywhere) = asked(request);
    let refuse = |reason: String| CampaignError::Trial { label: request.label.clone(), reason };
    let mut shaped = without_schedule(plan, request);
    shaped.groups.clear();
    let last = nth(first, count - 1)
        .ok_or_else(|| refuse(format!("there are no {count} groups from {first} on")))?;
    let of = |first: IpAddr, last: IpAddr, join: Nanos, leave: Option<Nanos>| MembershipPlan {
        first,
        last,
        exclude: true,
        sources: Arc::default(),
        join,
        leave,
    };
    let changes = join > Nanos::ZERO;
    let memberships = match nth(first, count.saturating_sub(2)).filter(|_| count > 1) {
        Some(last_but_one) if changes => {
            vec![of(first, last_but_one, Nanos::ZERO, None), of(last, last, join, Some(leave))]
        }
        _ if changes => vec![of(last, last, join, Some(leave))],
        _ => vec![of(first, last, Nanos::ZERO, None)],
    };
    shaped.ports.iter_mut().for_each(|port| port.multicast = None);
    for port in receivers(plan, stream, first, everywhere) {
        let own = plan.ports[port].multicast.as_ref().unwrap_or(multicast);
        shaped.ports[port].multicast =
            Some(MulticastPlan { memberships: memberships.clone(), ..own.clone() });
    }
    let mut test = StreamPlan {
        next_hop: NextHop::Given,
        vary: None,
        // Where its packets arrive besides is asked.
        also_to: (0..plan.ports.len())
            .filter(|port| ![Some(stream.from), stream.to].contains(&Some(*port)))
            .collect(),
        pattern: Pattern::Continuous,
        ..stream.clone()
    };
    fit(&mut test, &Arc::new(sizes(&request.frames)?)).map_err(refuse)?;
    let rate = request.offered.first().map_or(Pps::ZERO, |load| load.rate);
    let sent = if changes { count - 1..count } else { 0..count };
    let each = Load::Packets(Pps::from_micro(rate.micro() / (sent.end - sent.start).max(1)));
    let start_delay = if changes { Nanos::ZERO } else { PAUSE };
    let streams = sent.filter_map(|number| {
        let group = nth(first, number)?;
        let packet = Arc::new(addressed(&test.packet, group)?);
        let name = group.to_string();
        let destinations = Some((group, group));
        Some(StreamPlan { name, packet, destinations, rate: each, start_delay, ..test.clone() })
    });
    shaped.streams = streams.collect();
    shaped.duration = request.duration + start_delay;
    Ok(shaped)
}

/// The group that many after `first`; `None` if there is none.
fn nth(first: IpAddr, number: u64) -> Option<IpAddr> {
    let group = match first {
        IpAddr::V4(ip) => IpAddr::V4(u32::from(ip).checked_add(u32::try_from(number).ok()?)?.into()),
        IpAddr::V6(ip) => IpAddr::V6(u128::from(ip).checked_add(number.into())?.into()),
    };
    group.is_multicast().then_some(group)
}

/// The packet to another group.
fn addressed(packet: &PacketSpec, group: IpAddr) -> Option<PacketSpec> {
    let mut packet = packet.clone();
    let (name, value) = match group {
        IpAddr::V4(ip) => ("ipv4", u32::from(ip).into()),
        IpAddr::V6(ip) => ("ipv6", ip.into()),
    };
    let ip = packet.headers.iter_mut().find(|header| header.protocol.name == name)?;
    *ip = ip.clone().with("dst", value);
    let ethernet = packet.headers.first_mut()?;
    *ethernet = ethernet.clone().with("dst", group_mac(group)?);
    Some(packet)
}

/// Outcome.
pub(crate) fn outcome(
    plan: &Plan,
    directions: &Directions,
    request: &TrialRequest,
    document: &ResultDocument,
) -> TrialOutcome {
    let mut outcome = of_any(document);
    let Some(direction) = directions.all.first() else { return outcome };
    let Ok((stream, _, first)) = check(plan, directions) else { return outcome };
    let (_, join, _, everywhere) = asked(request);
    let to = stream.to.map_or("", |port| plan.ports[port].name.as_str());
    let receivers = receivers(plan, stream, first, everywhere);
    let is_receiver = |name: &str| receivers.iter().any(|port| plan.ports[*port].name == name);
    let rows: Vec<&StreamResult> = document.streams.values().collect();
    let sum = |of: &dyn Fn(&StreamResult) -> u64| rows.iter().map(|row| of(row)).sum::<u64>();
    let elsewhere = |row: &StreamResult| -> u64 {
        row.paths.iter().filter(|(port, _)| !is_receiver(port)).map(|(_, path)| path.rx).sum()
    };
    // Of a profile with two ports there are no paths to tell apart.
    let at = |row: &StreamResult, port: usize| match row.paths.get(&plan.ports[port].name) {
        Some(path) => path.rx,
        None if row.paths.is_empty() => row.rx.unwrap_or(0),
        None => 0,
    };
    let arrived = |row: &StreamResult| receivers.iter().map(|port| at(row, *port)).sum::<u64>();
    let each = receivers.len() as u64;
    let sent = each * sum(&|row| row.tx);
    let received = sum(&|row| receivers.iter().map(|port| at(row, *port).min(row.tx)).sum());
    let seconds = request.duration.as_secs_f64().max(1e-9);
    outcome.groups = vec![GroupOutcome {
        requested: request.offered.first().map_or(Pps::ZERO, |load| load.rate),
        achieved: Pps::from_micro(((sent / each.max(1)) as f64 / seconds * 1e6) as u64),
        sent,
        received,
        lost: sent - received,
        duplicates: sum(&arrived) - received,
        flooded: sum(&elsewhere),
        ..rows.first().map_or_else(GroupOutcome::default, |row| group(&direction.name, row))
    }];
    if join > Nanos::ZERO {
        let members = document.ports.values().find_map(|port| port.multicast.as_ref());
        let row = rows.first();
        let path = row.and_then(|row| row.paths.get(to));
        let alone = row.filter(|row| row.paths.is_empty());
        outcome.multicast = Some(GroupChange {
            join_ns: members.and_then(|members| members.first_join_ns),
            leave_ns: members.and_then(|members| members.first_leave_ns),
            first_arrival_ns: path
                .map(|path| path.first_arrival_ns)
                .or(alone.and_then(|row| row.first_arrival_ns)),
            last_arrival_ns: path
                .map(|path| path.last_arrival_ns)
                .or(alone.and_then(|row| row.last_arrival_ns)),
        });
    }
    outcome
}
