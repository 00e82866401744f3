//! The directions of a profile: which port sends which streams, and the testbed they make for a method.

use crate::{CampaignError, routes};
use methods::{Attributes, Group, Testbed, Timing};
use profile::Plan;
use profile::plan::{ClientsBy, PortPlan, StreamPlan};
use units::Load;

/// Link speed that results of sessions are compared with if it is unknown, bits/s at layer 1.
const UNKNOWN_BPS: u64 = 10_000_000_000;

/// The directions of a profile, and the testbed they make.
#[derive(Debug, Clone)]
pub struct Directions {
    /// The methods' view of the profile.
    pub testbed: Testbed,
    /// A direction for each group of the testbed; none for a profile with sessions only.
    pub all: Vec<Direction>,
}

/// The streams that are sent from one port: a group of the testbed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Direction {
    /// The group's name: `west to east`.
    pub name: String,
    /// Index of the port.
    pub from: usize,
    /// Index of each of its streams, and its share of the load in relation to the others'.
    pub streams: Vec<(usize, u64)>,
}

impl Directions {
    /// The testbed of a plan whose ports have these speeds, bits/s at layer 1.
    ///
    /// # Errors
    /// A stream that methods can't use; a link of unknown speed.
    pub fn of(
        plan: &Plan,
        speeds: &[Option<u64>],
        timing: Timing,
        attributes: Attributes,
    ) -> Result<Self, CampaignError> {
        plan.streams.iter().try_for_each(|stream| usable(plan, stream))?;
        let mut all: Vec<Direction> = Vec::new();
        for port in 0..plan.ports.len() {
            let of = (0..plan.streams.len()).filter(|i| plan.streams[*i].from == port);
            let streams = of.collect::<Vec<_>>();
            if !streams.is_empty() {
                all.push(direction(plan, port, streams));
            }
        }
        let speed = |port: usize| plan.ports[port].speed_bps.or(speeds.get(port).copied().flatten());
        let mut groups = Vec::new();
        for direction in &all {
            let name = &plan.ports[direction.from].name;
            let line_bps = speed(direction.from).ok_or_else(|| {
                let reason = "unknown link speed: set 'speed', such as 10Gbps";
                CampaignError::profile(format!("ports.{name}"), reason)
            })?;
            groups.push(Group { name: direction.name.clone(), line_bps });
        }
        if groups.is_empty() {
            for entry in &plan.sessions {
                let side = entry.session.client.as_ref().or(entry.session.server.as_ref());
                let line_bps = side.and_then(|side| speed(side.port)).unwrap_or(UNKNOWN_BPS);
                groups.push(Group { name: entry.session.name.clone(), line_bps });
            }
        }
        if groups.is_empty() {
            // Clients alone, which ask for addresses.
            let leases = |port: &PortPlan| port.has_clients_by(ClientsBy::Lease);
            for (number, port) in plan.ports.iter().enumerate().filter(|(_, port)| leases(port)) {
                groups
                    .push(Group { name: port.name.clone(), line_bps: speed(number).unwrap_or(UNKNOWN_BPS) });
            }
        }
        let testbed = Testbed { groups, timing, attributes, routes: routes::total(plan) };
        Ok(Self { testbed, all })
    }
}

/// Whether a method can make a load of a stream.
fn usable(plan: &Plan, stream: &StreamPlan) -> Result<(), CampaignError> {
    let bad = |reason: &str| Err(CampaignError::profile(format!("stream {}", stream.name), reason));
    if stream.to.is_none() {
        return bad("no destination port: methods need 'to'");
    }
    if stream.replay.is_some() || !stream.measure {
        return bad("its packets carry no signature, so their loss can't be measured: remove the stream");
    }
    if !plan.chains.is_empty() {
        return bad("methods decide when packets are sent: remove 'then' and 'loops'");
    }
    Ok(())
}

fn direction(plan: &Plan, from: usize, streams: Vec<usize>) -> Direction {
    let own = |index: usize| &plan.streams[index];
    let to = own(streams[0]).to;
    let name = match to.filter(|to| streams.iter().all(|i| own(*i).to == Some(*to))) {
        Some(to) => format!("{} to {}", plan.ports[from].name, plan.ports[to].name),
        None => plan.ports[from].name.clone(),
    };
    let rates: Vec<Load> = streams.iter().map(|i| own(*i).rate).collect();
    Direction { name, from, streams: streams.into_iter().zip(weights(&rates)).collect() }
}

/// Streams share a load as their own rates do, if all are of one kind; else evenly.
fn weights(rates: &[Load]) -> Vec<u64> {
    let packets = |load: &Load| if let Load::Packets(rate) = load { Some(rate.micro()) } else { None };
    let bits = |load: &Load| if let Load::Bits(rate) = load { Some(rate.bps) } else { None };
    let share = |load: &Load| if let Load::LinkShare(ppm) = load { Some(u64::from(*ppm)) } else { None };
    let all = |of: &dyn Fn(&Load) -> Option<u64>| rates.iter().map(of).collect::<Option<Vec<_>>>();
    let known = all(&packets).or_else(|| all(&bits)).or_else(|| all(&share));
    known.filter(|weights| weights.iter().all(|w| *w > 0)).unwrap_or_else(|| vec![1; rates.len()])
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Pps;

    #[test]
    fn streams_share_a_load_as_their_rates_do() {
        let pps = |n| Load::Packets(Pps::new(n));
        assert_eq!(weights(&[pps(1), pps(3)]), [1_000_000, 3_000_000]);
        assert_eq!(weights(&[pps(1), Load::Max]), [1, 1]);
        assert_eq!(weights(&[Load::LinkShare(10), Load::LinkShare(30)]), [10, 30]);
    }

    #[test]
    fn a_direction_is_what_one_port_sends() {
        let text = "ports:\n  west: {device: 'ring:a', ip: 10.0.0.1/24, speed: 1Gbps}\n  \
                    east: {device: 'ring:b', ip: 10.0.0.2/24}\nstreams:\n\
                    - {name: a, from: west, to: east, packet: [ipv4, udp], rate: 1kpps}\n\
                    - {name: b, from: west, to: east, packet: [ipv4, udp], rate: 2kpps}\n\
                    - {name: c, from: east, to: west, packet: [ipv4, udp], rate: 2kpps}\n";
        let plan = profile::load(text).unwrap();
        let directions =
            |speeds: &[Option<u64>]| Directions::of(&plan, speeds, Timing::NONE, Attributes::default());
        let known = directions(&[None, Some(10_000_000_000)]).unwrap();
        let names: Vec<_> = known.testbed.groups.iter().map(|g| (g.name.as_str(), g.line_bps)).collect();
        assert_eq!(names, [("west to east", 1_000_000_000), ("east to west", 10_000_000_000)]);
        assert_eq!(known.all[0].streams.len(), 2);
        let error = directions(&[None, None]).unwrap_err().to_string();
        assert!(error.starts_with("ports.east: unknown link speed"), "{error}");
    }
}
