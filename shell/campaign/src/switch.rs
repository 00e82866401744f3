//! Trials of a switch: flows between its ports (RFC 2889, RFC 8239).
//!
//! A port's first stream defines its packets; the flows of a trial give them other destinations. Before traffic each port sends a few
//! frames that are not measured, so that the switch knows all addresses.

use crate::CampaignError;
use crate::directions::Directions;
use crate::outcome::{group, lost_least, of_any};
use crate::shape::{fit, sizes, without_schedule};
use methods::{FlowLoad, GroupOutcome, TrialKind, TrialOutcome, TrialRequest};
use profile::Plan;
use profile::plan::{NextHop, Pattern, StreamPlan};
use result::{ResultDocument, StreamResult};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use units::{Load, Nanos, Pps};
use wire::PacketSpec;

/// Frames that teach the address of each port, their rate, and the time from the first to the trial's traffic.
const TAUGHT: u64 = 3;
const TAUGHT_RATE: Pps = Pps::new(100);
const PAUSE: Nanos = Nanos::from_millis(300);
/// Name of the streams that teach.
const LEARNING: &str = "learning";
/// After the last frame is due.
const REST: Nanos = Nanos::from_millis(1);

fn flows(request: &TrialRequest) -> &[FlowLoad] {
    match &request.kind {
        TrialKind::Flows { flows } => flows,
        _ => &[],
    }
}

/// Whether the profile has this number of ports of a switch: of one speed, without a gateway, and each sends a stream.
///
/// # Errors
/// It has not.
pub(crate) fn check(plan: &Plan, directions: &Directions, least: usize) -> Result<(), CampaignError> {
    let bad = |place: &str, reason: String| Err(CampaignError::profile(place.to_owned(), reason));
    if plan.ports.len() < least {
        let reason =
            format!("{least} or more ports must be on the switch, and there are {}", plan.ports.len());
        return bad("ports", reason);
    }
    for (number, port) in plan.ports.iter().enumerate() {
        if !directions.all.iter().any(|direction| direction.from == number) {
            let reason = format!(
                "port '{}' sends none: each port needs a stream, which defines its packets, for example to the next port",
                port.name
            );
            return bad("streams", reason);
        }
        if port.gateways().next().is_some() {
            let reason = "has a gateway: the ports of a switch are in one network; remove it".to_owned();
            return bad(&format!("ports.{}", port.name), reason);
        }
    }
    let speeds = |of: &methods::Group| of.line_bps;
    let first = directions.testbed.groups.first().map(speeds);
    match directions.testbed.groups.iter().find(|group| Some(group.line_bps) != first) {
        Some(group) => bad(
            "ports",
            format!("'{}' has another speed than the first port: this method needs equal ones", group.name),
        ),
        None => Ok(()),
    }
}

/// Name of a flow: `a to c`, or `a to all`.
fn name_of(plan: &Plan, flow: &FlowLoad) -> String {
    let name = |port: u16| plan.ports.get(usize::from(port)).map_or("", |port| port.name.as_str());
    format!("{} to {}", name(flow.from), flow.to.map_or("all", name))
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
    let refuse = |reason: String| CampaignError::Trial { label: request.label.clone(), reason };
    let sizes = Arc::new(sizes(&request.frames)?);
    let mut shaped = without_schedule(plan, request);
    shaped.groups.clear();
    shaped.streams.clear();
    for direction in &directions.all {
        let next = (direction.from + 1) % plan.ports.len();
        let template = plan.streams.get(direction.streams.first().map_or(0, |(index, _)| *index));
        let template = template.ok_or_else(|| refuse(format!("'{}' has no stream", direction.name)))?;
        let to_next = unicast(plan, template, next).map_err(&refuse)?;
        shaped.streams.push(StreamPlan {
            name: format!("{LEARNING} {}", plan.ports[direction.from].name),
            rate: Load::Packets(TAUGHT_RATE),
            count: Some(TAUGHT),
            measure: false,
            integrity: false,
            ..to_next
        });
        for flow in flows(request).iter().filter(|flow| usize::from(flow.from) == direction.from) {
            let stream = match flow.to {
                Some(to) => unicast(plan, template, usize::from(to)),
                None => broadcast(plan, template),
            };
            let mut stream = StreamPlan {
                name: name_of(plan, flow),
                rate: Load::Packets(flow.rate),
                count: Some(flow.due(request.duration)),
                start_delay: PAUSE + flow.start,
                ..stream.map_err(&refuse)?
            };
            fit(&mut stream, &sizes).map_err(&refuse)?;
            shaped.streams.push(stream);
        }
    }
    shaped.streams.retain(|stream| stream.count != Some(0));
    let last = flows(request).iter().map(|flow| flow.start).max().unwrap_or_default();
    shaped.duration = PAUSE + last + request.duration + REST;
    Ok(shaped)
}

/// The other ports, at which a packet may arrive as well: it is counted where it arrives.
fn others(plan: &Plan, from: usize, to: usize) -> Vec<usize> {
    (0..plan.ports.len()).filter(|port| ![from, to].contains(port)).collect()
}

/// The stream's packets to another port.
fn unicast(plan: &Plan, template: &StreamPlan, to: usize) -> Result<StreamPlan, String> {
    let port = plan.ports.get(to).ok_or("the profile has too few ports")?;
    let is_v6 = template.packet.headers.iter().any(|header| header.protocol.name == "ipv6");
    let own = port.addresses().map(|address| address.ip).find(|ip| ip.is_ipv6() == is_v6);
    let packet = match own {
        Some(ip) => addressed(&template.packet, ip),
        None => template.packet.as_ref().clone(),
    };
    let (packet, also_to) = (Arc::new(packet), others(plan, template.from, to));
    let plain = plain(template);
    Ok(StreamPlan { packet, to: Some(to), also_to, next_hop: NextHop::PeerPort, ..plain })
}

/// The stream's packets to all ports.
fn broadcast(plan: &Plan, template: &StreamPlan) -> Result<StreamPlan, String> {
    let is_v6 = template.packet.headers.iter().any(|header| header.protocol.name == "ipv6");
    let all_nodes = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    let ip = if is_v6 { IpAddr::V6(all_nodes) } else { IpAddr::V4(Ipv4Addr::BROADCAST) };
    let mut packet = addressed(&template.packet, ip);
    let ethernet = packet.headers.first_mut().ok_or("its packets have no Ethernet header")?;
    *ethernet = ethernet.clone().with("dst", 0xffff_ffff_ffff);
    let to = (template.from + 1) % plan.ports.len();
    let (packet, also_to) = (Arc::new(packet), others(plan, template.from, to));
    Ok(StreamPlan { packet, to: Some(to), also_to, next_hop: NextHop::Given, ..plain(template) })
}

/// A stream whose packets are all alike.
fn plain(template: &StreamPlan) -> StreamPlan {
    StreamPlan {
        to_host: 0,
        outages: None,
        egress: Vec::new(),
        vary: None,
        destinations: None,
        pattern: Pattern::Continuous,
        count: None,
        start_delay: Nanos::ZERO,
        duration: None,
        ..template.clone()
    }
}

/// The packet to another address.
fn addressed(packet: &PacketSpec, ip: IpAddr) -> PacketSpec {
    let mut packet = packet.clone();
    let (name, value) = match ip {
        IpAddr::V4(ip) => ("ipv4", u32::from(ip).into()),
        IpAddr::V6(ip) => ("ipv6", ip.into()),
    };
    if let Some(header) = packet.headers.iter_mut().find(|header| header.protocol.name == name) {
        *header = header.clone().with("dst", value);
    }
    packet
}

/// Outcome. Its duration ends with the last arrival: a device may hold many frames, and send them when the load is over.
pub(crate) fn outcome(plan: &Plan, request: &TrialRequest, document: &ResultDocument) -> TrialOutcome {
    let of = |flow: &FlowLoad| {
        let name = name_of(plan, flow);
        let row = document.streams.get(&name)?;
        Some(GroupOutcome {
            lost_least: flow.to.and_then(|_| lost_least(document, &format!("streams.{name}"))),
            ..arrived(plan, request, flow, &name, row)
        })
    };
    let groups = flows(request).iter().filter_map(of).collect();
    let paths = document.streams.values().flat_map(|row| row.paths.values());
    let last = paths.map(|path| Nanos(path.last_arrival_ns)).max().unwrap_or_default();
    let duration = last.since(PAUSE).max(request.duration);
    TrialOutcome { duration, groups, ..of_any(document) }
}

/// Frames of a flow by where they arrived. A broadcast counts once for each port that is to receive it.
fn arrived(
    plan: &Plan,
    request: &TrialRequest,
    flow: &FlowLoad,
    name: &str,
    row: &StreamResult,
) -> GroupOutcome {
    let is_due = |port: usize| match flow.to {
        Some(to) => port == usize::from(to),
        None => port != usize::from(flow.from),
    };
    let at = |port: usize| row.paths.get(&plan.ports[port].name).map_or(0, |path| path.rx);
    let sum = |of: &dyn Fn(usize) -> u64| (0..plan.ports.len()).map(of).sum::<u64>();
    let receivers = sum(&|port| u64::from(is_due(port)));
    let sent = row.tx * receivers;
    let received = sum(&|port| if is_due(port) { at(port).min(row.tx) } else { 0 });
    let copies = sum(&|port| if is_due(port) { at(port).saturating_sub(row.tx) } else { 0 });
    let seconds = match flow.frames {
        Some(frames) => frames as f64 / flow.rate.as_f64().max(1e-9),
        None => request.duration.as_secs_f64(),
    };
    GroupOutcome {
        requested: flow.rate,
        achieved: Pps::from_micro((row.tx as f64 / seconds.max(1e-9) * 1e6) as u64),
        sent,
        received,
        lost: sent - received,
        duplicates: copies,
        flooded: sum(&|port| if is_due(port) { 0 } else { at(port) }),
        ..group(name, row)
    }
}
