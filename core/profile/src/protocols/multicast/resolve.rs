//! Multicast groups of a port's host.

use crate::document::{MembershipDoc, MulticastDoc};
use crate::plan::{MembershipPlan, MulticastPlan};
use crate::resolve::Resolver;
use crate::resolve::packet::bits;
use std::net::IpAddr;

/// Groups a port can be a member of.
const GROUPS_MAX: u128 = 65_536;
/// Sources of a membership.
const SOURCES_MAX: usize = 80;

impl Resolver<'_> {
    pub(super) fn multicast(&mut self, port: &str, multicast: &MulticastDoc) -> MulticastPlan {
        let path = format!("ports.{port}.multicast");
        let groups = multicast.groups.iter().enumerate();
        let memberships: Vec<MembershipPlan> =
            groups.map(|(index, doc)| self.membership(&format!("{path}.groups[{index}]"), doc)).collect();
        let number = |ip: IpAddr| bits(ip);
        let count = memberships.iter().map(|one| number(one.last) - number(one.first) + 1);
        let count = count.fold(0u128, u128::saturating_add);
        if count > GROUPS_MAX {
            let reason = format!("{count} groups; a port can join {GROUPS_MAX} at most");
            self.reading.fail(format!("{path}.groups"), reason);
        }
        MulticastPlan {
            igmp_v2: multicast.igmp < 3,
            mld_v1: multicast.mld < 2,
            rate: self.per_second(&format!("{path}.rate"), multicast.rate.0),
            memberships,
            seed: self.seed_of(&path, "multicast"),
        }
    }

    fn membership(&mut self, path: &str, doc: &MembershipDoc) -> MembershipPlan {
        let group = doc.group.0;
        if let Some(scope) = [group.first, group.last].into_iter().find_map(link_scope) {
            let reason = format!(
                "{} is for {scope}; routers do not forward it, and hosts do not report it",
                group.first
            );
            self.reading.fail(format!("{path}.group"), reason);
        }
        let is_kin = |ip: IpAddr| ip.is_ipv4() == group.first.is_ipv4();
        if let Some(at) = doc.sources.iter().position(|source| !is_kin(source.0)) {
            let reason = "is of another IP version than the group";
            self.reading.fail(format!("{path}.sources[{at}]"), reason);
        }
        if doc.sources.len() > SOURCES_MAX {
            let reason = format!("{} sources; a membership has {SOURCES_MAX} at most", doc.sources.len());
            self.reading.fail(format!("{path}.sources"), reason);
        }
        self.within_a_year(&format!("{path}.join"), doc.join.0);
        if doc.leave.as_ref().is_some_and(|leave| leave.0 <= doc.join.0) {
            self.reading.fail(format!("{path}.leave"), "must be later than 'join'");
        }
        MembershipPlan {
            first: group.first,
            last: group.last,
            // Of no source at all nothing is wanted: without any, all are.
            exclude: doc.exclude || doc.sources.is_empty(),
            sources: doc.sources.iter().map(|source| source.0).collect(),
            join: doc.join.0,
            leave: doc.leave.as_ref().map(|leave| leave.0),
        }
    }
}

/// Scope of a group that no router forwards.
fn link_scope(group: IpAddr) -> Option<&'static str> {
    match group {
        IpAddr::V4(ip) if ip.octets()[..3] == [224, 0, 0] => Some("the link (224.0.0.0/24)"),
        IpAddr::V6(ip) if ip.segments()[0] & 0xf < 3 => Some("an interface or a link"),
        _ => None,
    }
}
