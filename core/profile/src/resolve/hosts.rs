//! The hosts behind a port: addresses, VLANs and gateways, several from one entry, and that no two get in each other's way.
//!
//! Not here: which host sends a stream (`sender`), and hardware addresses that only open ports know.

use super::{Resolver, family, same_family};
use crate::document::quantity::{Ip, IpPrefix, Mac, Step, VlanType, host};
use crate::document::{HostDoc, Name, OneOrMany, PortDoc, VlanId};
use crate::plan::{Address, HostPlan};
use indexmap::IndexMap;
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use wire::Vlans;

/// Hosts of a port, its own among them.
const MOST: usize = 4_096;
/// The last VLAN (IEEE 802.1Q).
const VLAN_MAX: u64 = 4_094;
/// Says that a hardware address is a group's.
const GROUP: u8 = 1;

/// Keys of a host in the document.
struct Keys<'a> {
    /// Owner of the addresses, in words.
    whose: &'static str,
    ip: Option<&'a OneOrMany<IpPrefix>>,
    gateway: Option<&'a OneOrMany<Ip>>,
    gateway_mac: &'a IndexMap<String, Mac>,
    mac: Option<&'a Mac>,
    vlan: Option<&'a OneOrMany<VlanId>>,
    vlan_type: Option<&'a VlanType>,
}

impl Resolver<'_> {
    /// Numbers of the hosts that `name` means, all of an entry with a count: without one, the port's first. `None` if
    /// there is no such host, which is reported for the key `host` at `path`.
    pub(crate) fn hosts_called(
        &mut self,
        path: &str,
        name: Option<&Name>,
        hosts: &[HostPlan],
    ) -> Option<Vec<usize>> {
        let Some(Name(name)) = name else { return Some(vec![0]) };
        let of_many = format!("{name}[");
        let is_meant = |host: &usize| hosts[*host].name == *name || hosts[*host].name.starts_with(&of_many);
        let meant: Vec<usize> = (0..hosts.len()).filter(is_meant).collect();
        if meant.is_empty() {
            self.reading.fail(format!("{path}.host"), format!("the port has no host '{name}'"));
            return None;
        }
        Some(meant)
    }

    /// All hosts of the port `name`.
    pub(super) fn hosts(&mut self, name: &str, port: &PortDoc) -> Vec<HostPlan> {
        let path = format!("ports.{name}");
        let own = Keys {
            whose: "port",
            ip: port.ip.as_ref(),
            gateway: port.gateway.as_ref(),
            gateway_mac: &port.gateway_mac,
            mac: port.mac.as_ref(),
            vlan: port.vlan.as_ref(),
            vlan_type: port.vlan_type.as_ref(),
        };
        let mut hosts = vec![(path.clone(), self.host(&path, name.to_owned(), &own))];
        let paths = (0..).map(|index| format!("{path}.hosts[{index}]"));
        let kept: Vec<(usize, String)> = paths
            .enumerate()
            .filter(|(_, path)| !self.reading.is_dropped(path))
            .take(port.hosts.len())
            .collect();
        let asked: usize = port.hosts.iter().map(|doc| doc.count.unwrap_or(1) as usize).sum();
        if asked >= MOST {
            let reason = format!("{asked} hosts; with its own a port has {MOST} at most");
            self.reading.fail(format!("{path}.hosts"), reason);
        } else {
            for ((index, path), doc) in kept.into_iter().zip(&port.hosts) {
                let made = self.further(&path, index, doc);
                hosts.extend(made.into_iter().map(|host| (path.clone(), host)));
            }
            self.refuse_clashes(&hosts);
        }
        hosts.into_iter().map(|(_, host)| host).collect()
    }

    /// The host, or `count` hosts, of an entry of `hosts`.
    fn further(&mut self, path: &str, index: usize, doc: &HostDoc) -> Vec<HostPlan> {
        let keys = Keys {
            whose: "host",
            ip: Some(&doc.ip),
            gateway: doc.gateway.as_ref(),
            gateway_mac: &doc.gateway_mac,
            mac: doc.mac.as_ref(),
            vlan: doc.vlan.as_ref(),
            vlan_type: doc.vlan_type.as_ref(),
        };
        let name = doc.name.as_ref().map_or_else(|| format!("host{}", index + 1), |name| name.0.clone());
        let first = self.host(path, name, &keys);
        let given = [
            ("ip_step", doc.ip_step.is_some()),
            ("gateway_step", doc.gateway_step.is_some()),
            ("vlan_step", doc.vlan_step.is_some()),
        ];
        for (key, _) in given.iter().filter(|(_, given)| *given && doc.count.is_none()) {
            self.reading.fail(format!("{path}.{key}"), "needs 'count'");
        }
        let Some(count) = doc.count.filter(|_| !self.reading.is_broken(path)) else { return vec![first] };
        let mut hosts = Vec::new();
        for number in 0..u64::from(count) {
            match shifted(&first, doc, number) {
                Ok(host) => hosts.push(host),
                Err((key, reason)) => {
                    self.reading
                        .fail(format!("{path}.{key}"), format!("of '{}[{number}]': {reason}", first.name));
                    break;
                }
            }
        }
        hosts
    }

    /// A host from its keys at `path`.
    fn host(&mut self, path: &str, name: String, keys: &Keys<'_>) -> HostPlan {
        let addresses: Vec<Address> =
            keys.ip.iter().flat_map(|ip| ip.with_paths()).map(|(_, address)| address.0).collect();
        let gateways = self.gateways(path, keys, &addresses);
        let mut gateway_macs = Vec::new();
        for (text, mac) in keys.gateway_mac {
            match host(text).filter(|ip| gateways.contains(ip)) {
                Some(ip) => gateway_macs.push((ip, mac.0)),
                None => {
                    let reason = format!("{text} is none of the gateways in 'gateway'");
                    self.reading.fail(format!("{path}.gateway_mac.{text}"), reason);
                }
            }
        }
        if keys.mac.is_some_and(|mac| mac.0[0] & GROUP != 0) {
            self.reading
                .fail(format!("{path}.mac"), "is a multicast address; a host needs a unicast address");
        }
        let vlans: Vec<u16> =
            keys.vlan.iter().flat_map(|vlan| vlan.with_paths()).map(|(_, id)| id.0).collect();
        if vlans.is_empty() && keys.vlan_type.is_some() {
            self.reading.fail(format!("{path}.vlan_type"), "needs 'vlan'");
        }
        HostPlan {
            name,
            gateways,
            gateway_macs,
            addresses,
            mac: keys.mac.map(|mac| mac.0),
            vlans: Vlans::new(vlans, keys.vlan_type.map(|kind| kind.0)),
        }
    }

    fn gateways(&mut self, path: &str, keys: &Keys<'_>, addresses: &[Address]) -> Vec<IpAddr> {
        let whose = keys.whose;
        let ip_broken = self.reading.is_broken(&format!("{path}.ip"));
        let mut gateways: Vec<IpAddr> = Vec::new();
        for (index, Ip(gateway)) in keys.gateway.iter().flat_map(|ip| ip.with_paths()) {
            let kin: Vec<&Address> = addresses.iter().filter(|own| same_family(own.ip, *gateway)).collect();
            let family = family(*gateway);
            let is_shared = |own: &&&Address| {
                own.is_next_to(*gateway) && gateways.iter().any(|other| own.is_next_to(*other))
            };
            let reason = if ip_broken {
                // Nothing can be said of it.
                None
            } else if kin.is_empty() {
                Some(format!("an {family} gateway, but the {whose} has no {family} address in 'ip'"))
            } else if let Some(own) = kin.iter().find(is_shared) {
                let network = format!("{}/{}", own.ip, own.prefix_len);
                Some(format!(
                    "a second gateway on the network of the {whose}'s ip {network}; it has at most one"
                ))
            } else if kin.iter().any(|own| own.ip == *gateway) {
                Some(format!("{gateway} is the {whose}'s own address; a gateway is another host's"))
            } else if !kin.iter().any(|own| own.is_next_to(*gateway)) {
                let networks: Vec<String> =
                    kin.iter().map(|own| format!("{}/{}", own.ip, own.prefix_len)).collect();
                let networks = networks.join(", ");
                Some(format!("the gateway {gateway} is not on the network of the {whose}'s ip {networks}"))
            } else {
                None
            };
            if let Some(reason) = reason {
                self.reading.fail(format!("{path}.gateway{index}"), reason);
            }
            gateways.push(*gateway);
        }
        gateways
    }

    /// Names, addresses and hardware addresses that two hosts of a port have. Reports the first of each entry.
    fn refuse_clashes(&mut self, hosts: &[(String, HostPlan)]) {
        let mut names: HashSet<&str> = HashSet::new();
        let mut addresses: HashMap<(&[u16], IpAddr), &str> = HashMap::new();
        let mut macs: HashMap<(&[u16], [u8; 6]), &str> = HashMap::new();
        let mut said: Option<&str> = None;
        for (path, host) in hosts {
            let mut found = Vec::new();
            if !names.insert(&host.name) {
                found.push(("name", format!("there is another host '{}' behind this port", host.name)));
            }
            for own in &host.addresses {
                if let Some(other) = addresses.insert((&host.vlans, own.ip), &host.name) {
                    let reason =
                        format!("{} is already an address of host '{other}'{}", own.ip, of(&host.vlans));
                    found.push(("ip", reason));
                }
            }
            if let Some(mac) = host.mac
                && let Some(other) = macs.insert((&host.vlans, mac), &host.name)
            {
                let mac = units::Mac(mac);
                found.push(("mac", format!("{mac} is already used by host '{other}'{}", of(&host.vlans))));
            }
            let is_new = said != Some(path.as_str()) && !self.reading.is_broken(path);
            if let Some((key, reason)) = found.into_iter().next().filter(|_| is_new) {
                said = Some(path);
                self.reading.fail(format!("{path}.{key}"), reason);
            }
        }
    }
}

/// Where a host is, in words to append to its name.
pub(super) fn of(vlans: &[u16]) -> String {
    match vlans {
        [] => String::new(),
        [id] => format!(" in VLAN {id}"),
        ids => format!(" in VLANs {}", ids.iter().map(u16::to_string).collect::<Vec<_>>().join(" and ")),
    }
}

/// Host `number` of the range that starts with `first`; the key that prevents it, and the reason, if it can't be made.
fn shifted(first: &HostPlan, doc: &HostDoc, number: u64) -> Result<HostPlan, (&'static str, String)> {
    let by = |steps: &Option<OneOrMany<Step>>, v4: bool, usual: u128| {
        let steps = steps.iter().flat_map(OneOrMany::with_paths).map(|(_, step)| step.0);
        let given: Vec<_> = steps.filter(|step| step.v4.is_none_or(|of| of == v4)).collect();
        given.last().map_or(usual, |step| step.by).checked_mul(number.into())
    };
    let moved = |ip: IpAddr, steps: &Option<OneOrMany<Step>>, usual: u128, key: &'static str| {
        let there = by(steps, ip.is_ipv4(), usual).and_then(|far| plus(ip, far));
        there.ok_or_else(|| (key, format!("{ip} leaves too few host addresses after it for 'count'")))
    };
    let gateway = |ip: IpAddr| moved(ip, &doc.gateway_step, 0, "gateway_step");
    let mut host = first.clone();
    host.name = format!("{}[{number}]", first.name);
    for own in &mut host.addresses {
        own.ip = moved(own.ip, &doc.ip_step, 1, "ip_step")?;
    }
    for ip in &mut host.gateways {
        *ip = gateway(*ip)?;
        if !host.addresses.iter().any(|own| own.is_next_to(*ip)) {
            return Err(("gateway_step", format!("the gateway {ip} is not on its network")));
        }
    }
    for (ip, _) in &mut host.gateway_macs {
        *ip = gateway(*ip)?;
    }
    if let Some(id) = host.vlans.last_mut() {
        let far = u64::from(*id) + u64::from(doc.vlan_step.unwrap_or(0)) * number;
        *id = u16::try_from(far)
            .ok()
            .filter(|_| far <= VLAN_MAX)
            .ok_or_else(|| ("vlan_step", format!("VLAN {far} is beyond the last one, {VLAN_MAX}")))?;
    } else if doc.vlan_step.is_some() {
        return Err(("vlan_step", "needs 'vlan'".to_owned()));
    }
    if let Some(mac) = &mut host.mac {
        let low = mac.iter().fold(0u64, |n, byte| n << 8 | u64::from(*byte)) + number;
        let bytes = low.to_be_bytes();
        if bytes[2] != mac[0] {
            return Err(("mac", "leaves too few MAC addresses after it for 'count'".to_owned()));
        }
        mac.copy_from_slice(&bytes[2..]);
    }
    Ok(host)
}

/// The address of a host so far after `ip`.
pub(crate) fn plus(ip: IpAddr, far: u128) -> Option<IpAddr> {
    let there = match ip {
        IpAddr::V4(ip) => IpAddr::V4(u32::try_from(u128::from(u32::from(ip)).checked_add(far)?).ok()?.into()),
        IpAddr::V6(ip) => IpAddr::V6(u128::from(ip).checked_add(far)?.into()),
    };
    (!there.is_unspecified() && !there.is_multicast()).then_some(there)
}
