//! Multicast groups that a port's own host joins and leaves, and what became of them.
//!
//! Not here: the protocols (`emulate::groups`).

use crate::control::commands::ActionOn;
use crate::emulation::protocol::{Context, HostProtocol, Listing, Planned, Wait, farewell};
use emulate::groups::{GroupHost, GroupMembers, Membership};
use emulate::link_local;
use neighbour::{Hosts, Mac};
use profile::plan::{HostPlan, MembershipPlan, MulticastPlan, PortPlan};
use result::{GroupState, MulticastResult, NewProtocolChange, PortResult, ProtocolStates};
use std::net::{IpAddr, Ipv4Addr};
use units::Nanos;

/// Memberships of a port's own host.
#[derive(Debug)]
pub(super) struct Members {
    machine: GroupMembers,
    /// Joins before traffic.
    first: Vec<MembershipPlan>,
    /// Joins and leaves while traffic runs: time, and whether it is a join; the next one last.
    later: Vec<(Nanos, bool, MembershipPlan)>,
    /// When traffic starts; [`Nanos::MAX`] until that is known.
    epoch: Nanos,
}

impl Members {
    fn new(plan: &MulticastPlan, host: &HostPlan, mac: Mac) -> Self {
        let at_once = plan.memberships.iter().filter(|one| one.join == Nanos::ZERO);
        Self {
            machine: members(plan, host, mac),
            first: at_once.cloned().collect(),
            later: later(plan),
            epoch: Nanos::MAX,
        }
    }

    fn join(&mut self, plan: &MembershipPlan) {
        for group in groups(plan) {
            self.machine.join(Membership { group, exclude: plan.exclude, sources: plan.sources.clone() });
        }
    }
}

impl Planned for Members {
    const KEY: &'static str = "multicast";
    const CONCERNS: fn(&[u8]) -> bool = emulate::may_concern;

    fn is_planned(port: &PortPlan) -> bool {
        port.multicast.is_some()
    }

    fn of(context: &Context<'_>) -> Option<Self> {
        Some(Self::new(context.port.multicast.as_ref()?, context.port.own(), context.macs[0]))
    }
}

impl HostProtocol for Members {
    fn take(&mut self, now: Nanos, frame: &[u8], _: Option<&Hosts>) -> bool {
        emulate::may_concern(frame) && self.machine.take(now, frame)
    }

    fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        let epoch = self.epoch;
        while let Some((_, joins, membership)) =
            self.later.pop_if(|(at, ..)| epoch.saturating_add(*at) <= now)
        {
            if joins {
                self.join(&membership);
            } else {
                groups(&membership).for_each(|group| self.machine.leave(group));
            }
        }
        self.machine.poll(now, frames);
    }

    fn next_due(&self) -> Nanos {
        let later = self.later.last().map_or(Nanos::MAX, |(at, ..)| self.epoch.saturating_add(*at));
        self.machine.next_due().min(later)
    }

    fn set_up(&mut self, _: Nanos, _: Option<&Hosts>, _: &mut Vec<Vec<u8>>) {
        std::mem::take(&mut self.first).iter().for_each(|membership| self.join(membership));
    }

    fn may_start(&mut self, _: Nanos, _: Wait) -> bool {
        self.machine.is_settled()
    }

    fn start(&mut self, epoch: Nanos) {
        self.epoch = epoch;
        self.machine.start(epoch);
    }

    fn shut(&mut self, now: Nanos) -> Nanos {
        self.later.clear();
        let last = now + farewell(self.machine.groups().count(), self.machine.host().rate);
        self.machine.start(Nanos::MAX);
        self.machine.leave_all();
        last
    }

    fn is_over(&self) -> bool {
        self.machine.next_due() == Nanos::MAX
    }

    fn obeys(&self, _: ActionOn) -> bool {
        false
    }

    fn change(&mut self, _: Nanos, _: &NewProtocolChange) -> u64 {
        0
    }

    fn list(&self, listing: Listing<'_>, all: &mut ProtocolStates) {
        all.counts.groups += self.machine.groups().count() as u64;
        let listed = self.machine.memberships().take(listing.limit - all.groups.len());
        let state = |(member, since)| group_state(listing.port, &member, listing.now.since(since));
        all.groups.extend(listed.map(state));
    }

    fn report(&self, _: u64, row: &mut PortResult) {
        let counts = self.machine.counts();
        row.multicast = Some(MulticastResult {
            joined: counts.joined,
            left: counts.left,
            reports: counts.reports,
            queries: counts.queries,
            first_join_ns: counts.first_join.map(|at| at.0),
            first_leave_ns: counts.first_leave.map(|at| at.0),
        });
    }
}

fn members(plan: &MulticastPlan, host: &HostPlan, mac: Mac) -> GroupMembers {
    let own = |v4: bool| host.address(v4).map(|own| own.ip);
    let local = host.addresses.iter().find_map(|own| match own.ip {
        IpAddr::V6(ip) if ip.is_unicast_link_local() => Some(ip),
        _ => None,
    });
    GroupMembers::new(GroupHost {
        mac,
        vlans: host.vlans.clone(),
        ip: match own(true) {
            Some(IpAddr::V4(ip)) => ip,
            _ => Ipv4Addr::UNSPECIFIED,
        },
        link_local: local.unwrap_or_else(|| link_local(mac)),
        igmp_v2: plan.igmp_v2,
        mld_v1: plan.mld_v1,
        rate: plan.rate,
        seed: plan.seed,
    })
}

/// Joins and leaves while traffic runs, the next one last.
fn later(plan: &MulticastPlan) -> Vec<(Nanos, bool, MembershipPlan)> {
    let mut later = Vec::new();
    for one in &plan.memberships {
        later.extend((one.join > Nanos::ZERO).then(|| (one.join, true, one.clone())));
        later.extend(one.leave.map(|leave| (leave, false, one.clone())));
    }
    later.sort_by_key(|(at, ..)| std::cmp::Reverse(*at));
    later
}

fn groups(plan: &MembershipPlan) -> impl Iterator<Item = IpAddr> + use<> {
    let number = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => u128::from(u32::from(ip)),
        IpAddr::V6(ip) => u128::from(ip),
    };
    let is_v4 = plan.first.is_ipv4();
    (number(plan.first)..=number(plan.last))
        .map(move |ip| if is_v4 { IpAddr::V4((ip as u32).into()) } else { IpAddr::V6(ip.into()) })
}

fn group_state(port: &str, member: &Membership, joined_for: Nanos) -> GroupState {
    GroupState {
        port: port.to_owned(),
        group: member.group.to_string(),
        exclude: member.exclude,
        sources: member.sources.iter().map(ToString::to_string).collect(),
        joined_for_s: joined_for.as_secs_f64(),
    }
}
