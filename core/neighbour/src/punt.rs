//! Frames for hosts whose control plane is external: a network namespace with daemons. The host a frame is for, and
//! frames with and without the tags of the hosts' VLANs.
//!
//! Not here: how frames get there, and which protocols there are (`wire::control`).
//!
//! Invariant: a frame is punted to hosts of its VLANs only.

use crate::{Host, Mac};
use std::collections::BTreeMap;
use wire::Vlans;
use wire::control::{ControlFilter, ETHERTYPE_AT, tags};

const TAG: usize = 4;
/// Says that an address is a group's.
const GROUP: u8 = 1;

/// Receiver of a punted frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PuntTo {
    /// The host with this number.
    Host(u16),
    /// All hosts of the group with this number: those in the same VLANs.
    Group(u16),
}

/// A frame to punt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Punted {
    /// Receiver.
    pub to: PuntTo,
    /// Bytes of VLAN tags in it, which begin after the MAC addresses.
    pub tag_bytes: usize,
}

/// Hosts that frames are punted to.
#[derive(Debug, Clone, Default)]
pub struct PuntTable {
    filter: ControlFilter,
    /// The number of the group of hosts in these VLANs, outermost first.
    vlans: BTreeMap<Vec<u16>, u16>,
    /// By group and MAC address.
    macs: BTreeMap<(u16, Mac), u16>,
    /// The group of each host.
    groups: Vec<u16>,
}

impl PuntTable {
    /// Frames that match `filter` to one of `hosts`, whose numbers are their places.
    pub fn new<'h>(filter: ControlFilter, hosts: impl IntoIterator<Item = &'h Host>) -> Self {
        let mut table = Self { filter, ..Self::default() };
        for (number, host) in (0u16..).zip(hosts) {
            let next = table.vlans.len() as u16;
            let group = *table.vlans.entry(host.vlans.to_vec()).or_insert(next);
            table.macs.insert((group, host.mac), number);
            table.groups.push(group);
        }
        table
    }

    /// Receiver of a received frame; `None` if it is not punted.
    pub fn find(&self, frame: &[u8]) -> Option<Punted> {
        let (mut ids, n) = tags(frame)?;
        // A tag that only tells a priority is none (IEEE 802.1Q section 9.6).
        let mut len = 0;
        for at in 0..n {
            if ids[at] != 0 {
                ids[len] = ids[at];
                len += 1;
            }
        }
        let group = *self.vlans.get(&ids[..len])?;
        let mac = frame.first_chunk()?;
        let to = if mac[0] & GROUP != 0 {
            PuntTo::Group(group)
        } else {
            PuntTo::Host(*self.macs.get(&(group, *mac))?)
        };
        self.filter.matches(frame, ETHERTYPE_AT + TAG * n).then_some(Punted { to, tag_bytes: TAG * n })
    }

    /// The hosts of a group.
    pub fn members(&self, group: u16) -> impl Iterator<Item = usize> {
        self.groups.iter().enumerate().filter(move |(_, of)| **of == group).map(|(host, _)| host)
    }

    /// Whether a host may send an untagged frame to the network.
    pub fn may_send(&self, frame: &[u8]) -> bool {
        self.filter.matches(frame, ETHERTYPE_AT)
    }
}

/// The tags of frames in these VLANs, outermost first.
pub fn vlan_tags(vlans: &Vlans) -> Vec<u8> {
    vlans.tags().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{IpAddr, Ipv4Addr};
    use wire::control::control_rules;

    fn host(last: u8, vlans: &[u16]) -> Host {
        let ip = IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        Host {
            mac: [2, 0, 0, 0, 0, last],
            vlans: vlans.into(),
            addresses: vec![ip],
            networks: vec![],
            answers_for: vec![ip..=ip],
        }
    }

    fn table(rule: &str) -> PuntTable {
        let hosts = [host(1, &[]), host(2, &[7]), host(3, &[7]), host(4, &[7, 8])];
        PuntTable::new(ControlFilter::new(&control_rules(rule).unwrap()), &hosts)
    }

    fn lldp(to: Mac, vlans: &[u16]) -> Vec<u8> {
        [&to[..], &[2, 0, 0, 0, 0, 9], &vlan_tags(&vlans.into()), &[0x88, 0xcc], &[0; 46]].concat()
    }

    #[test]
    fn frames_go_to_hosts_of_their_vlans() {
        let (table, group) = (table("lldp"), [0x01, 0x80, 0xc2, 0, 0, 0x0e]);
        let to = |mac, vlans: &[u16]| table.find(&lldp(mac, vlans)).map(|found| found.to);
        assert_eq!(to([2, 0, 0, 0, 0, 1], &[]), Some(PuntTo::Host(0)));
        assert_eq!(to([2, 0, 0, 0, 0, 1], &[7]), None, "another VLAN");
        assert_eq!(to([2, 0, 0, 0, 0, 4], &[7, 8]), Some(PuntTo::Host(3)));
        assert_eq!(to([2, 0, 0, 0, 0, 5], &[]), None, "nobody's address");
        let Some(PuntTo::Group(number)) = to(group, &[7]) else { panic!("not punted") };
        assert_eq!(table.members(number).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(to([2, 0, 0, 0, 0, 1], &[0]), Some(PuntTo::Host(0)), "a priority alone");
        assert_eq!(to(group, &[9]), None);
        assert_eq!(to(group, &[1, 2, 3, 4, 5]), None);
    }

    #[test]
    fn only_what_matches_passes_either_way() {
        let frame = lldp([2, 0, 0, 0, 0, 1], &[]);
        assert!(table("lldp").may_send(&frame));
        assert!(!table("bgp").may_send(&frame) && table("bgp").find(&frame).is_none());
    }
}
