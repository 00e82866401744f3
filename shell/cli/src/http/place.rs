//! Placement of the clients of `eagre http`: a port, and an unused address on its network.
//!
//! Never an address of this machine: its kernel would reset the connections, which it does not know.

use super::HttpArgs;
use crate::{Failure, flags, run};
use engine::EngineError;
use os::TscClock;
use os::route::{self, Way};
use profile::document::{Document, Ip, IpPrefix, Mac};
use profile::plan::Address;
use profile::{ListenOptions, Overrides};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Number of addresses to probe together, from the highest of the network down.
const ASKED: usize = 16;
/// The highest addresses of an IPv6 network are anycast addresses (RFC 2526 section 2).
const ANYCAST: u128 = 128;

/// Where clients are, and the server's address.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) port: String,
    pub(super) ip: IpPrefix,
    pub(super) gateway: Option<Ip>,
    pub(super) mac: Option<Mac>,
    pub(super) server: IpAddr,
}

/// The place from which one of `servers` is reached. Asks the network for a free address unless `is_plan`, when nothing is sent.
pub(super) fn find(args: &HttpArgs, servers: &[IpAddr], is_plan: bool) -> Result<Place, Failure> {
    refuse_own(args)?;
    let gateway = args.gateway.as_ref().map(|gateway| gateway.0);
    if let (Some(port), Some(ip)) = (&args.port, &args.ip) {
        let server = of_version(servers, ip.0.ip)?;
        return Ok(place(port.clone(), ip.clone(), gateway, server));
    }
    let (server, interface, routed) = way(args, servers)?;
    let gateway = gateway.or(routed);
    let port = args.port.clone().unwrap_or_else(|| interface.clone());
    let ip = match &args.ip {
        Some(ip) => ip.clone(),
        None => address(args, &port, &interface, server, gateway, is_plan)?,
    };
    Ok(place(port, ip, gateway, server))
}

fn place(port: String, ip: IpPrefix, gateway: Option<IpAddr>, server: IpAddr) -> Place {
    let mac = dpdk::netdev(&port)
        .filter(|interface| route::forwards(interface, server.is_ipv4()))
        .and_then(|interface| os::LinkFacts::read(&interface).ok())
        .map(|facts| Mac(apart(facts.mac)));
    Place { port, ip, gateway: gateway.map(Ip), mac, server }
}

/// A locally administered address in addition to an interface's own. Where the kernel forwards, it would send what
/// comes for the clients to them once more if they had its MAC address.
fn apart(own: [u8; 6]) -> [u8; 6] {
    let [first, rest @ ..] = own;
    let first = if first & 2 == 0 { first | 2 } else { first ^ 0x10 };
    [first, rest[0], rest[1], rest[2], rest[3], rest[4]]
}

fn of_version(servers: &[IpAddr], like: IpAddr) -> Result<IpAddr, Failure> {
    let found = servers.iter().find(|server| server.is_ipv4() == like.is_ipv4());
    found.copied().ok_or_else(|| {
        Failure::bad_input(format!(
            "--ip {like}: the server has no address of the same version of IP: {}",
            list(servers)
        ))
    })
}

/// Clients with addresses of this machine.
fn refuse_own(args: &HttpArgs) -> Result<(), Failure> {
    let Ok(all) = route::own_addresses() else { return Ok(()) };
    let given = args.ip.iter().map(|ip| ("--ip", ip.0.ip..=ip.0.ip));
    let sources = args.source.iter().map(|source| ("--source", source.0.first..=source.0.last));
    for (option, range) in given.chain(sources) {
        if let Some(own) = all.iter().find(|own| range.contains(*own)) {
            return Err(Failure::bad_input(format!(
                "{option}: {own} is this machine's own address: its kernel would reset the clients' connections as unknown; leave \
                 the option out, or give an unused address"
            )));
        }
    }
    Ok(())
}

/// The first of `servers` to which there is a way, the interface, and the router on it.
fn way(args: &HttpArgs, servers: &[IpAddr]) -> Result<(IpAddr, String, Option<IpAddr>), Failure> {
    let interface = match &args.port {
        Some(port) => Some(dpdk::netdev(port).ok_or_else(|| {
            Failure::bad_input(format!(
                "--port {port}: no interface of this machine's kernel, so its network is unknown: give its address with --ip \
                 ADDRESS/LEN, and with --gateway the router to servers elsewhere; 'eagre ports' lists the interfaces"
            ))
        })?),
        None => None,
    };
    let mut last = None;
    for server in servers {
        match route::way_to(*server, interface.as_deref()) {
            Ok(Way::Out(out)) => return Ok((*server, out.interface, out.gateway)),
            Ok(Way::Here) => last = Some(here(*server)),
            Ok(Way::Nowhere(reason)) => last = Some(nowhere(*server, interface.as_deref(), &reason)),
            Err(error) => last = Some(nowhere(*server, interface.as_deref(), &error.to_string())),
        }
    }
    Err(last.unwrap_or_else(|| Failure::bad_input("the server has no address")))
}

fn here(server: IpAddr) -> Failure {
    Failure::bad_input(format!(
        "{server} is an address of this machine, which can't be loaded from itself: Eagre has its own TCP stack, and the kernel would \
         reset its connections; run the server in a container or network namespace ('ip netns'), or on another machine, and give its \
         address there"
    ))
}

fn nowhere(server: IpAddr, interface: Option<&str>, reason: &str) -> Failure {
    let by = interface.map(|name| format!(" by {name}")).unwrap_or_default();
    Failure::refused(format!(
        "no route to {server}{by}: {reason}; add one ('ip route add'), set the interface up, or give --port, --ip and --gateway"
    ))
}

/// The clients' address: the first of `--source` if it is on the interface's network, or an unused one.
fn address(
    args: &HttpArgs,
    port: &str,
    interface: &str,
    server: IpAddr,
    gateway: Option<IpAddr>,
    is_plan: bool,
) -> Result<IpPrefix, Failure> {
    let unknown = |error: std::io::Error| Failure::refused(format!("{interface}: {error}"));
    let own: Vec<Address> = os::link::addresses(interface)
        .map_err(unknown)?
        .into_iter()
        .map(|(ip, prefix_len)| Address { ip, prefix_len })
        .filter(|own| own.ip.is_ipv4() == server.is_ipv4())
        .collect();
    let is_near = |own: &&Address| has(own, gateway.unwrap_or(server));
    let Some(own) = own.iter().find(is_near).or(own.first()).copied() else {
        let version = if server.is_ipv4() { "IPv4" } else { "IPv6" };
        return Err(Failure::refused(format!(
            "{interface} has no {version} address, so its network is unknown: give the clients' address with --ip ADDRESS/LEN"
        )));
    };
    if let Some(first) = args.source.as_ref().map(|source| source.0.first).filter(|first| has(&own, *first)) {
        return Ok(IpPrefix(Address { ip: first, ..own }));
    }
    let mut others = route::own_addresses().unwrap_or_default();
    others.extend([server].into_iter().chain(gateway));
    let candidates = candidates(own, &others);
    let free = if is_plan { candidates.clone() } else { unanswered(args, port, own, &candidates)? };
    let (first, last) = own.network();
    let Some(ip) = free.first().copied() else {
        return Err(Failure::refused(format!(
            "{interface}: no free address on {first}/{}: {}; give an unused one with --ip ADDRESS/LEN",
            own.prefix_len,
            if candidates.is_empty() {
                format!("it has none beside those known, up to {last}")
            } else {
                format!("each of the {} highest is in use", candidates.len())
            }
        )));
    };
    let why = if is_plan { "not checked yet for use by another host" } else { "not in use by another host" };
    eprintln!(
        "eagre: the clients are {ip} on {interface}: {why}, and the machine's own {} would not do (--ip takes another)",
        own.ip
    );
    Ok(IpPrefix(Address { ip, ..own }))
}

fn has(network: &Address, ip: IpAddr) -> bool {
    let (first, last) = network.network();
    (first..=last).contains(&ip)
}

/// Addresses of the network of `own` that hosts can have, from the highest down, without `others`.
fn candidates(own: Address, others: &[IpAddr]) -> Vec<IpAddr> {
    let (first, last) = own.network();
    let free = |ip: &IpAddr| *ip > first && !others.contains(ip);
    match last {
        IpAddr::V4(last) => {
            let last = u32::from(last);
            (1..)
                .map_while(|n| last.checked_sub(n))
                .map(|n| IpAddr::V4(Ipv4Addr::from(n)))
                .take_while(|ip| *ip > first)
                .filter(free)
                .take(ASKED)
                .collect()
        }
        IpAddr::V6(last) => {
            let above = if own.prefix_len <= 112 { ANYCAST } else { 0 };
            let last = u128::from(last);
            (above..)
                .map_while(|n| last.checked_sub(n))
                .map(|n| IpAddr::V6(Ipv6Addr::from(n)))
                .take_while(|ip| *ip > first)
                .filter(free)
                .take(ASKED)
                .collect()
        }
    }
}

/// The `candidates` without a reply on the network.
fn unanswered(
    args: &HttpArgs,
    port: &str,
    own: Address,
    candidates: &[IpAddr],
) -> Result<Vec<IpAddr>, Failure> {
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let asker = ListenOptions {
        port: port.to_owned(),
        ip: Some(IpPrefix(own)),
        allow_default_route: args.allow_default_route,
        ..ListenOptions::default()
    };
    let document: Document = asker.document();
    let plan =
        profile::load_with(&document.to_yaml(), &Overrides::default(), &run::files_beside("".as_ref()))
            .map_err(|errors| flags::bad_options("http", &errors))?;
    engine::unanswered(&plan, candidates, &TscClock::calibrate(run::CALIBRATION)).map_err(refused)
}

/// Why a port can't be used, in terms of options.
fn refused(error: EngineError) -> Failure {
    match error {
        EngineError::DefaultRoute { netdev, .. } => Failure::refused(format!(
            "{netdev} carries this machine's default route, and test traffic harms a live network (RFC 6815); to use it all the same, \
             give --allow-default-route"
        )),
        error => error.into(),
    }
}

fn list(addresses: &[IpAddr]) -> String {
    addresses.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(own: &str, others: &[&str]) -> Vec<String> {
        let own: IpPrefix = own.parse().unwrap();
        let mut others: Vec<IpAddr> = others.iter().map(|ip| ip.parse().unwrap()).collect();
        others.push(own.0.ip);
        candidates(own.0, &others).iter().map(IpAddr::to_string).collect()
    }

    #[test]
    fn candidates_are_the_highest_that_hosts_can_have() {
        let all = of("10.0.0.1/24", &["10.0.0.254"]);
        assert_eq!((all.len(), all[0].as_str(), all[15].as_str()), (ASKED, "10.0.0.253", "10.0.0.238"));
        assert_eq!(of("10.0.0.1/30", &[]), ["10.0.0.2"]);
        assert_eq!(of("10.0.0.1/30", &["10.0.0.2"]), [""; 0]);
        assert_eq!((of("10.0.0.0/31", &[]), of("10.0.0.1/32", &[])), (Vec::<String>::new(), Vec::new()));
        assert_eq!(of("2001:2::1/64", &[])[0], "2001:2::ffff:ffff:ffff:ff7f");
        assert_eq!(of("2001:2::1/126", &[]), ["2001:2::3", "2001:2::2"]);
    }

    #[test]
    fn another_mac_address_is_locally_administered_and_unlike() {
        for own in [[0, 0x11, 0x22, 3, 4, 5], [2, 1, 2, 3, 4, 5], [0xfe, 1, 2, 3, 4, 5]] {
            let other = apart(own);
            assert!(other != own && other[0] & 3 == 2 && other[1..] == own[1..]);
        }
    }
}
