//! DHCP and DHCPv6 clients behind a port, and the multicast groups of its host.

use super::Resolver;
use crate::document::{AddressByDoc, DhcpDoc, Dhcpv6Doc, Mac, MembershipDoc, MulticastDoc};
use crate::plan::{Dhcp6Plan, DhcpPlan, MembershipPlan, MulticastPlan};
use emulate::dhcp::{DhcpConfig, RelayInfo};
use emulate::dhcp6::Dhcp6Config;
use std::net::IpAddr;
use units::Pps;
use wire::Vlans;

/// Groups a port can be a member of.
const GROUPS_MAX: u128 = 65_536;
/// Sources of a membership.
const SOURCES_MAX: usize = 80;
/// Says that a hardware address is a group's.
const GROUP: u8 = 1;

impl Resolver<'_> {
    pub(super) fn dhcp(&mut self, port: &str, dhcp: &DhcpDoc, vlans: &Vlans) -> DhcpPlan {
        let path = format!("ports.{port}.dhcp");
        self.within_a_year(&format!("{path}.timeout"), dhcp.timeout.0);
        self.within_a_year(&format!("{path}.retry"), dhcp.retry.0);
        if dhcp.retry.0.0 == 0 {
            self.reading.fail(format!("{path}.retry"), "must be longer than 0");
        }
        let first = self.first_mac(&path, dhcp.mac.as_ref(), dhcp.clients);
        let config = DhcpConfig {
            clients: dhcp.clients,
            mac: first.map_or([0; 6], |mac| mac.0),
            vlans: vlans.clone(),
            rate: self.per_second(&format!("{path}.rate"), dhcp.rate.0),
            outstanding: dhcp.outstanding,
            retry: dhcp.retry.0,
            check: dhcp.check,
            broadcast: dhcp.broadcast,
            host_name: dhcp.host_name.clone(),
            vendor_class: dhcp.vendor_class.clone(),
            client_id: dhcp.client_id.clone(),
            ask_for: dhcp.parameters.iter().map(|number| number.0).collect(),
            relay: RelayInfo { circuit_id: dhcp.circuit_id.clone(), remote_id: dhcp.remote_id.clone() },
            seed: self.seed_of(&path, "dhcp"),
        };
        DhcpPlan { config, has_macs: first.is_some(), timeout: dhcp.timeout.0 }
    }

    pub(super) fn dhcpv6(&mut self, port: &str, dhcp: &Dhcpv6Doc, vlans: &Vlans) -> Dhcp6Plan {
        let path = format!("ports.{port}.dhcpv6");
        self.within_a_year(&format!("{path}.timeout"), dhcp.timeout.0);
        let slaac = matches!(dhcp.address, AddressByDoc::Own(_));
        let for_servers = [
            ("prefix", dhcp.prefix.is_some()),
            ("rapid_commit", dhcp.rapid_commit),
            ("options", !dhcp.options.is_empty()),
        ];
        for (key, _) in for_servers.iter().filter(|(_, said)| slaac && *said) {
            self.reading.fail(format!("{path}.{key}"), "servers are not asked with 'address: slaac'");
        }
        if dhcp.address == AddressByDoc::Asked(false) && dhcp.prefix.is_none() {
            self.reading.fail(&path, "requests nothing: leave 'address: false' out, or give it a 'prefix'");
        }
        let first = self.first_mac(&path, dhcp.mac.as_ref(), dhcp.clients);
        let config = Dhcp6Config {
            clients: dhcp.clients,
            mac: first.map_or([0; 6], |mac| mac.0),
            vlans: vlans.clone(),
            rate: self.per_second(&format!("{path}.rate"), dhcp.rate.0),
            outstanding: dhcp.outstanding,
            address: dhcp.address != AddressByDoc::Asked(false),
            slaac,
            prefix_len: dhcp.prefix,
            rapid_commit: dhcp.rapid_commit,
            check: dhcp.check,
            ask_for: dhcp.options.clone(),
            seed: self.seed_of(&path, "dhcpv6"),
        };
        Dhcp6Plan { config, has_macs: first.is_some(), timeout: dhcp.timeout.0 }
    }

    /// The hardware address of the first of this number of clients, if it is given.
    pub(super) fn first_mac(&mut self, path: &str, mac: Option<&Mac>, clients: u32) -> Option<units::Mac> {
        let first = mac.map(|mac| units::Mac(mac.0));
        if first.is_some_and(|mac| mac.0[0] & GROUP != 0) {
            let reason = "is a multicast address; clients need unicast addresses";
            self.reading.fail(format!("{path}.mac"), reason);
        }
        if first.is_some_and(|mac| mac.number() + u64::from(clients) > 1 << 48) {
            let reason = "leaves too few MAC addresses after it for the clients";
            self.reading.fail(format!("{path}.mac"), reason);
        }
        first
    }

    pub(super) fn multicast(&mut self, port: &str, multicast: &MulticastDoc) -> MulticastPlan {
        let path = format!("ports.{port}.multicast");
        let groups = multicast.groups.iter().enumerate();
        let memberships: Vec<MembershipPlan> =
            groups.map(|(index, doc)| self.membership(&format!("{path}.groups[{index}]"), doc)).collect();
        let number = |ip: IpAddr| super::packet::bits(ip);
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

    /// A rate of one in a second or more.
    pub(super) fn per_second(&mut self, path: &str, rate: Pps) -> u32 {
        let whole = rate.as_f64().round();
        if !(1.0..=1e6).contains(&whole) {
            self.reading.fail(path, "must be from 1/s to 1M/s");
        }
        whole as u32
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
