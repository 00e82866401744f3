//! Routing tables.

use super::{GenerateError, Prefix, Syntax, pfsense};
use std::fmt::Write;
use std::net::IpAddr;

/// Options of a routing table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteOptions {
    /// The first destination; the others follow without gaps.
    pub first: Prefix,
    /// Next hops; several are used round-robin.
    pub via: Vec<IpAddr>,
    /// Interface of the next hops: for `ip -batch`, which saves lookups, and for pfSense, where it is 'lan' unless given.
    pub interface: Option<String>,
    /// Output action of a switch that routes.
    pub hop: Hop,
}

/// Output action of an OpenFlow switch that routes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hop {
    /// Port number or name.
    pub port: String,
    /// Source MAC address to set.
    pub src_mac: Option<String>,
    /// Destination MAC address to set.
    pub dst_mac: Option<String>,
}

/// A routing table of `count` routes.
///
/// # Errors
///
/// If the device has no routes, the address space is too small, families are mixed, or there is no next hop.
pub fn routes(count: u32, syntax: Syntax, options: &RouteOptions) -> Result<String, GenerateError> {
    check(options, syntax)?;
    let destinations = options.first.following(u64::from(count))?;
    let hops = options.via.iter().enumerate().cycle();
    let mut text = String::with_capacity(count as usize * 56 + 64);
    text.push_str(match (syntax, options.first.is_ipv6()) {
        (Syntax::Bird, false) => "protocol static eagre4 {\n  ipv4;\n",
        (Syntax::Bird, true) => "protocol static eagre6 {\n  ipv6;\n",
        _ => "",
    });
    if syntax == Syntax::Pfsense {
        let _ = pfsense::begin_routes(&mut text, &options.via, options.interface.as_deref());
    }
    for (to, (hop, via)) in destinations.zip(hops) {
        route(&mut text, syntax, to, (hop, *via), options);
    }
    text.push_str(match syntax {
        Syntax::Bird => "}\n",
        Syntax::Pfsense => pfsense::END_ROUTES,
        _ => "",
    });
    Ok(text)
}

fn check(options: &RouteOptions, syntax: Syntax) -> Result<(), GenerateError> {
    if syntax == Syntax::Nftables {
        return Err(GenerateError::Unsupported {
            syntax,
            what: "routes",
            instead: "use ip-batch for the kernel's",
        });
    }
    let mixed = options.via.iter().find(|via| via.is_ipv6() != options.first.is_ipv6());
    match (options.via.is_empty(), mixed) {
        (true, _) => Err(GenerateError::Nothing("routes need a next hop")),
        (_, Some(via)) => Err(GenerateError::MixedFamilies(options.first.to_string(), via.to_string())),
        _ => Ok(()),
    }
}

/// Appends a route by the next hop with this number. Writing to a string cannot fail.
fn route(text: &mut String, syntax: Syntax, to: Prefix, (hop, via): (usize, IpAddr), options: &RouteOptions) {
    let family = if to.is_ipv6() { "ipv6" } else { "ip" };
    let _ = match (syntax, &options.interface) {
        (Syntax::IpBatch, Some(interface)) => {
            writeln!(text, "route add {to} via {via} dev {interface} onlink")
        }
        (Syntax::IpBatch, None) => writeln!(text, "route add {to} via {via}"),
        (Syntax::Frr, _) => writeln!(text, "{family} route {to} {via}"),
        (Syntax::Bird, _) => writeln!(text, "  route {to} via {via};"),
        (Syntax::Vpp, _) => writeln!(text, "ip route add {to} via {via}"),
        (Syntax::Ovs, _) => flow(text, to, &options.hop),
        (Syntax::Cisco, _) if to.is_ipv6() => writeln!(text, "ipv6 route {to} {via}"),
        (Syntax::Cisco, _) => writeln!(text, "ip route {} {} {via}", to.address(), to.netmask()),
        (Syntax::Junos, _) if to.is_ipv6() => {
            writeln!(text, "set routing-options rib inet6.0 static route {to} next-hop {via}")
        }
        (Syntax::Junos, _) => writeln!(text, "set routing-options static route {to} next-hop {via}"),
        (Syntax::Procurve, _) => writeln!(text, "{family} route {to} {via}"),
        (Syntax::Comware, _) => {
            writeln!(text, "{family} route-static {} {} {via}", to.address(), to.prefix_len())
        }
        (Syntax::Pfsense, _) => pfsense::route(text, to, hop),
        (Syntax::Nftables, _) => Ok(()),
    };
}

/// A route as an OpenFlow flow; its priority is the prefix length, so that the longest match wins.
fn flow(text: &mut String, to: Prefix, hop: &Hop) -> std::fmt::Result {
    let (family, field) = if to.is_ipv6() { ("ipv6", "ipv6_dst") } else { ("ip", "nw_dst") };
    write!(text, "priority={},{family},{field}={to},actions=dec_ttl", 1000 + u32::from(to.prefix_len()))?;
    if let Some(mac) = &hop.src_mac {
        write!(text, ",mod_dl_src:{mac}")?;
    }
    if let Some(mac) = &hop.dst_mac {
        write!(text, ",mod_dl_dst:{mac}")?;
    }
    writeln!(text, ",output:{}", hop.port)
}
