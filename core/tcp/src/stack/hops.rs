//! Peers, or the routers on the way to them, that have another hardware address than before.

use super::Stack;
use super::limits::HOPS_MAX;
use crate::app::{App, FlowId, GroupId};
use crate::group::GroupTunnel;
use std::net::IpAddr;
use std::ops::RangeInclusive;

/// Flows whose frames go to another hardware address from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HopMove {
    /// Those of this group.
    pub group: GroupId,
    /// To peers with these addresses.
    pub remotes: RangeInclusive<IpAddr>,
    /// If their frames go there.
    pub from: [u8; 6],
    /// Where they go then.
    pub to: [u8; 6],
}

impl<A: App> Stack<A> {
    /// Lets what the group begins go by way of its new hop, if its hop is the old one of `step`.
    pub fn move_group(&mut self, step: &HopMove) {
        let own = &mut self.groups[usize::from(step.group.0)];
        if let Some(gateway) = own.config.gateway.as_mut().filter(|gateway| gateway.mac == step.from) {
            gateway.mac = step.to;
        }
        if own.config.hop_mac == Some(step.from)
            && let Some(hop) = self.hops.number(step.to, HOPS_MAX)
        {
            (own.config.hop_mac, own.hop) = (Some(step.to), Some(hop as u16));
        }
    }

    /// Lets `most` flows from number `first` on, if `step` means them, go by way of the new hop; returns from which number on others
    /// are left.
    pub fn move_flows(&mut self, step: &HopMove, first: u32, most: u32) -> Option<u32> {
        let old = self.hops.find(step.from)?;
        let new = self.hops.number(step.to, HOPS_MAX)?;
        let end = self.slots.end();
        let until = end.min(first.saturating_add(most));
        for index in first..until {
            let slot = &self.slots[index];
            if slot.is_free() || slot.group != step.group.0 || u32::from(slot.hop) != old {
                continue;
            }
            let remote = self.ends(FlowId(index)).map(|(_, remote)| remote.ip());
            if remote.is_some_and(|remote| step.remotes.contains(&remote)) {
                self.slots[index].hop = new as u16;
            }
        }
        (until < end).then_some(until)
    }

    /// Puts the frames of a group that are in a tunnel into `tunnel` from now on, whose headers have the same length.
    pub fn move_tunnel(&mut self, group: GroupId, tunnel: GroupTunnel) {
        let own = &mut self.groups[usize::from(group.0)];
        debug_assert_eq!(own.before, tunnel.outer.before());
        own.config.tunnel = Some(tunnel);
    }
}
