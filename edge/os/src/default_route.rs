//! Interfaces that the machine itself depends on: with a default route, or through which listening addresses are
//! reached.

use crate::link::{LinkFacts, Links, all_addresses};
use crate::netlink::Netlink;
use netlink_packet_route::route::{RouteAttribute, RouteMessage, RouteType};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;

/// Interfaces that carry a default route of this network namespace, in any routing table, and the interfaces below them
/// (members of a bridge or bond, the device below a VLAN). Sending test traffic there cuts the machine off.
///
/// Half of all addresses (`0.0.0.0/1`, as VPNs set it) counts as default too. An error means not known, not none.
pub fn interfaces() -> io::Result<Vec<String>> {
    let mut netlink = Netlink::open()?;
    let mut carriers = BTreeSet::new();
    for family in [AddressFamily::Inet, AddressFamily::Inet6] {
        let mut request = RouteMessage::default();
        request.header.address_family = family;
        match netlink.dump(RouteNetlinkMessage::GetRoute(request)) {
            Ok(routes) => carriers.extend(routes.iter().flat_map(|route| match route {
                RouteNetlinkMessage::NewRoute(route) => carriers_of(route),
                _ => Vec::new(),
            })),
            // A kernel without IPv6 has no IPv6 routes.
            Err(error)
                if family == AddressFamily::Inet6 && error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
            Err(error) => return Err(error),
        }
    }
    let links = Links::open()?.all()?;
    let carriers = with_lower(carriers, &links);
    Ok(links.into_iter().filter(|link| carriers.contains(&link.index)).map(|link| link.name).collect())
}

/// Numbers of the interfaces through which sockets at `addresses` are reached, and of the interfaces below them.
///
/// A socket listening at all addresses (`0.0.0.0`, `::`) is reached through each interface that has one, other than a
/// link-local one. An error means not known, not none.
pub fn reached_by(addresses: &[IpAddr]) -> io::Result<Vec<u32>> {
    let own = all_addresses()?;
    let reached = own.iter().filter(|(_, ip)| addresses.iter().any(|listens| is_reached(*listens, *ip)));
    let links = Links::open()?.all()?;
    Ok(with_lower(reached.map(|(index, _)| *index).collect(), &links).into_iter().collect())
}

/// Whether who listens at `listens` is reached at the address `ip` of this machine.
fn is_reached(listens: IpAddr, ip: IpAddr) -> bool {
    let link_local = match ip {
        IpAddr::V4(ip) => ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_unicast_link_local(),
    };
    match listens.to_canonical() {
        // A socket at :: takes IPv4 as well.
        listens if listens.is_unspecified() => !link_local && (listens.is_ipv6() || ip.is_ipv4()),
        listens => listens == ip,
    }
}

/// Interfaces a route goes out of; none if it is no default route.
fn carriers_of(route: &RouteMessage) -> Vec<u32> {
    if route.header.destination_prefix_length > 1 || route.header.kind != RouteType::Unicast {
        return Vec::new();
    }
    let interfaces = route.attributes.iter().flat_map(|attribute| match attribute {
        RouteAttribute::Oif(interface) => vec![*interface],
        RouteAttribute::MultiPath(hops) => hops.iter().map(|hop| hop.interface_index).collect(),
        _ => Vec::new(),
    });
    interfaces.collect()
}

fn with_lower(mut indexes: BTreeSet<u32>, links: &[LinkFacts]) -> BTreeSet<u32> {
    loop {
        let before = indexes.len();
        for link in links {
            if link.master.is_some_and(|master| indexes.contains(&master)) {
                indexes.insert(link.index);
            }
            let stands_on = matches!(link.kind.as_deref(), Some("vlan" | "macvlan" | "macvtap" | "ipvlan"));
            if stands_on && indexes.contains(&link.index) {
                indexes.extend(link.link);
            }
        }
        if indexes.len() == before {
            return indexes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netlink_packet_route::route::RouteNextHop;

    fn link(index: u32, kind: &str, master: Option<u32>, below: Option<u32>) -> LinkFacts {
        LinkFacts { index, kind: Some(kind.into()), master, link: below, ..LinkFacts::default() }
    }

    #[test]
    fn default_routes_are_known_here() {
        let carriers = interfaces().unwrap();
        assert!(carriers.iter().all(|name| LinkFacts::read(name).is_ok()), "{carriers:?}");
    }

    #[test]
    fn who_listens_is_reached_at_its_address_or_at_all() {
        let reached = |listens: &str, ip: &str| is_reached(listens.parse().unwrap(), ip.parse().unwrap());
        assert!(reached("192.0.2.1", "192.0.2.1") && !reached("192.0.2.1", "192.0.2.2"));
        assert!(reached("0.0.0.0", "192.0.2.1") && !reached("0.0.0.0", "2001:db8::1"));
        assert!(reached("::", "192.0.2.1") && reached("::", "2001:db8::1") && !reached("::", "fe80::1"));
        assert!(reached("fe80::1", "fe80::1") && reached("::ffff:192.0.2.1", "192.0.2.1"));
        let lo = LinkFacts::read("lo").unwrap();
        assert_eq!(
            reached_by(&["127.0.0.1".parse().unwrap()]).unwrap(),
            if lo.up { vec![lo.index] } else { vec![] }
        );
    }

    #[test]
    fn default_routes_are_told_from_others() {
        let route = |prefix_length: u8, kind: RouteType, attributes: Vec<RouteAttribute>| {
            let mut route = RouteMessage::default();
            route.header.destination_prefix_length = prefix_length;
            route.header.kind = kind;
            route.attributes = attributes;
            carriers_of(&route)
        };
        let out = || vec![RouteAttribute::Oif(5)];
        assert_eq!(route(0, RouteType::Unicast, out()), [5]);
        assert_eq!(route(1, RouteType::Unicast, out()), [5]);
        assert!(route(24, RouteType::Unicast, out()).is_empty());
        assert!(route(0, RouteType::Unreachable, out()).is_empty());
        let hop = |interface_index| {
            let mut hop = RouteNextHop::default();
            hop.interface_index = interface_index;
            hop
        };
        let hops = vec![RouteAttribute::MultiPath(vec![hop(3), hop(4)])];
        assert_eq!(route(0, RouteType::Unicast, hops), [3, 4]);
    }

    #[test]
    fn what_a_carrier_stands_on_carries_too() {
        let links = [
            link(1, "", None, None),
            link(2, "bridge", None, None),
            link(3, "bond", Some(2), None),
            link(4, "", Some(3), None),
            link(5, "vlan", None, Some(1)),
            link(6, "veth", None, Some(7)),
            link(7, "veth", None, Some(6)),
        ];
        let carriers = |index: u32| with_lower([index].into(), &links).into_iter().collect::<Vec<_>>();
        assert_eq!(carriers(2), [2, 3, 4]);
        assert_eq!(carriers(5), [1, 5]);
        assert_eq!(carriers(6), [6]);
    }
}
