//! Which way the kernel would send packets to an address.
//!
//! Not here: whether a host is there (`engine` resolves it), and all routes of the machine (`default_route`).

use crate::link::{Links, all_addresses};
use crate::netlink::Netlink;
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteType, RouteVia};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use std::fs;
use std::io;
use std::net::IpAddr;

/// The way to an address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Way {
    /// Out of an interface.
    Out(Route),
    /// It is an address of this machine, or one that stands for all on a link.
    Here,
    /// There is none: the kernel's reason.
    Nowhere(String),
}

/// A route out of an interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The interface.
    pub interface: String,
    /// The router on the way, if the address is not on the interface's own network.
    pub gateway: Option<IpAddr>,
}

/// The way to `ip`, out of `interface` if one is given.
///
/// # Errors
/// The kernel can't be queried, or there is no such interface (`NotFound`).
pub fn way_to(ip: IpAddr, interface: Option<&str>) -> io::Result<Way> {
    let mut links = Links::open()?;
    let mut request = RouteMessage::default();
    let (family, bits) = if ip.is_ipv4() { (AddressFamily::Inet, 32) } else { (AddressFamily::Inet6, 128) };
    request.header.address_family = family;
    request.header.destination_prefix_length = bits;
    request.attributes.push(RouteAttribute::Destination(ip.into()));
    if let Some(name) = interface {
        request.attributes.push(RouteAttribute::Oif(links.by_any_name(name)?.index));
    }
    let route = match Netlink::open()?.get(RouteNetlinkMessage::GetRoute(request)) {
        Ok(RouteNetlinkMessage::NewRoute(route)) => route,
        Ok(_) => return Err(io::ErrorKind::InvalidData.into()),
        // What unreachable, prohibited and dropping routes say, too; without IPv6 there is no such family.
        Err(error)
            if matches!(
                error.raw_os_error(),
                Some(
                    libc::ENETUNREACH
                        | libc::EHOSTUNREACH
                        | libc::EACCES
                        | libc::EINVAL
                        | libc::ENETDOWN
                        | libc::EOPNOTSUPP
                )
            ) =>
        {
            return Ok(Way::Nowhere(error.to_string()));
        }
        Err(error) => return Err(error),
    };
    match (route.header.kind, interface_of(&route)) {
        (RouteType::Unicast, Some(index)) => {
            let interface = links.by_index(index)?.name;
            Ok(Way::Out(Route { interface, gateway: gateway_of(&route) }))
        }
        (RouteType::Local | RouteType::Broadcast | RouteType::Anycast | RouteType::Multicast, _) => {
            Ok(Way::Here)
        }
        (kind, _) => Ok(Way::Nowhere(format!("{kind:?} route"))),
    }
}

/// All addresses of this machine, on any interface.
///
/// # Errors
/// The kernel can't be queried.
pub fn own_addresses() -> io::Result<Vec<IpAddr>> {
    Ok(all_addresses()?.into_iter().map(|(_, own)| own).collect())
}

/// Whether the kernel forwards packets of this IP version that come in by `interface`. If it is not known, it may.
pub fn forwards(interface: &str, is_ipv4: bool) -> bool {
    let version = if is_ipv4 { "ipv4" } else { "ipv6" };
    // The files are of the reader's network namespace, whatever was mounted where.
    let is_set = |of: &str| {
        let file = format!("/proc/sys/net/{version}/conf/{of}/forwarding");
        fs::read_to_string(file).map_or(true, |text| text.trim() != "0")
    };
    is_set(interface) || is_set("all")
}

fn interface_of(route: &RouteMessage) -> Option<u32> {
    route.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Oif(index) => Some(*index),
        _ => None,
    })
}

fn gateway_of(route: &RouteMessage) -> Option<IpAddr> {
    route.attributes.iter().find_map(|attribute| match attribute {
        RouteAttribute::Gateway(RouteAddress::Inet(ip)) | RouteAttribute::Via(RouteVia::Inet(ip)) => {
            Some(IpAddr::V4(*ip))
        }
        RouteAttribute::Gateway(RouteAddress::Inet6(ip)) | RouteAttribute::Via(RouteVia::Inet6(ip)) => {
            Some(IpAddr::V6(*ip))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_here() {
        assert_eq!(way_to("127.0.0.1".parse().unwrap(), None).unwrap(), Way::Here);
        assert!(!own_addresses().unwrap().contains(&"198.18.0.1".parse().unwrap()));
        let error = way_to("127.0.0.1".parse().unwrap(), Some("no-such-link")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn gateways_are_of_any_version() {
        let mut route = RouteMessage::default();
        let gateway: IpAddr = "10.0.0.1".parse().unwrap();
        route.attributes = vec![RouteAttribute::Oif(7), RouteAttribute::Gateway(gateway.into())];
        assert_eq!((interface_of(&route), gateway_of(&route)), (Some(7), Some(gateway)));
        let v6 = "2001:2::1".parse().unwrap();
        route.attributes[1] = RouteAttribute::Via(RouteVia::Inet6(v6));
        assert_eq!(gateway_of(&route), Some(IpAddr::V6(v6)));
    }
}
