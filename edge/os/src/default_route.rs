//! Which interfaces the machine itself depends on: those that carry a default route.

use crate::link::{LinkFacts, Links};
use crate::netlink::Netlink;
use netlink_packet_route::route::{RouteAttribute, RouteMessage, RouteType};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use std::collections::BTreeSet;
use std::io;

/// Interfaces that carry a default route of this network namespace, in any routing table, and those such an interface
/// stands on (members of a bridge or bond, the device below a VLAN). Sending test traffic there cuts the machine off.
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
