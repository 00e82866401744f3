//! Virtual routers of a port's hosts.

use crate::document::{VrrpDoc, VrrpRouterDoc};
use crate::plan::{HostPlan, VrrpPlan};
use crate::resolve::{Resolver, family, whole_seconds};
use emulate::vrrp::{VrrpConfig, VrrpVersion};
use std::net::{IpAddr, Ipv6Addr};
use units::Nanos;

/// Routers of a port.
const ROUTERS_MAX: usize = 1_024;
/// A hundredth of a second, and how many of them an interval has at most (RFC 9568 section 5.2.7).
const CENTISECOND: u64 = Nanos::from_millis(10).0;
const INTERVAL_MAX: u64 = 4_095;
/// Seconds of an interval of version 2, at most (RFC 3768 section 5.3.7).
const INTERVAL_MAX_V2: u64 = 255;

impl Resolver<'_> {
    pub(crate) fn vrrp(
        &mut self,
        port: &str,
        vrrp: &VrrpDoc,
        hosts: &[HostPlan],
        has_punt: bool,
    ) -> VrrpPlan {
        let path = format!("ports.{port}.vrrp");
        if has_punt {
            let reason = "the port's hosts have their control plane in a namespace ('punt'): run a VRRP daemon there, or leave \
                          'punt' out";
            self.reading.fail(&path, reason);
        }
        self.within_a_year(&format!("{path}.timeout"), vrrp.timeout.0);
        let mut routers = Vec::new();
        for (index, doc) in vrrp.routers.iter().enumerate() {
            let path = format!("{path}.routers[{index}]");
            if !self.reading.is_dropped(&path) {
                self.virtual_routers(&path, doc, hosts, &mut routers);
            }
        }
        if routers.len() > ROUTERS_MAX {
            let reason = format!("{} virtual routers; a port has {ROUTERS_MAX} at most", routers.len());
            self.reading.fail(format!("{path}.routers"), reason);
        }
        VrrpPlan { routers, timeout: vrrp.timeout.0 }
    }

    /// Adds the virtual routers of one entry.
    fn virtual_routers(
        &mut self,
        path: &str,
        doc: &VrrpRouterDoc,
        hosts: &[HostPlan],
        routers: &mut Vec<VrrpConfig>,
    ) {
        let Some(meant) = self.hosts_called(path, doc.host.as_ref(), hosts) else { return };
        let (Some(interval_cs), Some(addresses)) =
            (self.vrrp_interval(path, doc), self.virtual_addresses(path, doc))
        else {
            return;
        };
        self.vrrp_times(path, doc);
        let is_v4 = addresses.first().is_some_and(IpAddr::is_ipv4);
        for (number, host) in (0u8..=255).zip(meant) {
            let (own, name) = (&hosts[host], &hosts[host].name);
            let Some(vrid) = doc.vrid.checked_add(number) else {
                let reason = format!("{} plus {number} for host '{name}' is above 255", doc.vrid);
                return self.reading.fail(format!("{path}.vrid"), reason);
            };
            let addresses: Vec<IpAddr> = addresses.iter().map(|ip| plus(*ip, number)).collect();
            let Some(local) = primary(own, is_v4) else {
                let reason = format!("host '{name}' has no {} address", if is_v4 { "IPv4" } else { "IPv6" });
                return self.reading.fail(format!("{path}.host"), reason);
            };
            if let Some(ip) = addresses.iter().find(|ip| own.addresses.iter().any(|own| own.ip == **ip)) {
                let reason = format!(
                    "{ip} is an address of host '{name}', which replies for it with its own MAC address; give the host another, \
                     and the owner of virtual addresses 'priority: 255'"
                );
                return self.reading.fail(format!("{path}.addresses"), reason);
            }
            let is_twin = |other: &&VrrpConfig| {
                other.vrid == vrid && other.local.is_ipv4() == is_v4 && other.vlans == own.vlans
            };
            if let Some(other) = routers.iter().find(is_twin) {
                let other = &hosts[other.host].name;
                let reason = format!(
                    "{vrid} is the VRID of host '{other}' on the same link already; virtual routers that compete need \
                     separate ports"
                );
                return self.reading.fail(format!("{path}.vrid"), reason);
            }
            routers.push(VrrpConfig {
                name: doc.name.as_ref().map(|name| name.0.clone()).unwrap_or_default(),
                host,
                vlans: own.vlans.clone(),
                local,
                vrid,
                version: if doc.version == 2 { VrrpVersion::V2 } else { VrrpVersion::V3 },
                addresses,
                priority: doc.priority,
                interval_cs,
                preempt: doc.preempt,
                preempt_delay: doc.preempt_delay.0,
                accept: doc.accept,
                pseudo_header: doc.pseudo_header,
                resign: doc.resign,
                leave: doc.leave.as_ref().map(|time| time.0),
                rejoin: doc.rejoin.as_ref().map(|time| time.0),
            });
        }
    }

    /// The virtual addresses, of one family; `None` if they can't be.
    fn virtual_addresses(&mut self, path: &str, doc: &VrrpRouterDoc) -> Option<Vec<IpAddr>> {
        let addresses: Vec<IpAddr> = doc.addresses.iter().map(|ip| ip.0).collect();
        let first = *addresses.first()?;
        let path = format!("{path}.addresses");
        let is_host = |ip: &IpAddr| !ip.is_multicast() && !ip.is_unspecified() && !ip.is_loopback();
        let reason = if let Some(ip) = addresses.iter().find(|ip| ip.is_ipv4() != first.is_ipv4()) {
            format!("{ip} is {}, {first} is {}; use an entry for each", family(*ip), family(first))
        } else if let Some(ip) = addresses.iter().find(|ip| !is_host(ip)) {
            format!("{ip} is not an address of a host")
        } else if matches!(first, IpAddr::V6(ip) if !ip.is_unicast_link_local()) {
            format!("{first} is not link-local; the first IPv6 address must be, such as fe80::1")
        } else if first.is_ipv6() && doc.version == 2 {
            "version 2 is for IPv4 only; use version 3".to_owned()
        } else {
            return Some(addresses);
        };
        self.reading.fail(path, reason);
        None
    }

    /// Hundredths of a second between advertisements; `None` if they can't be.
    fn vrrp_interval(&mut self, path: &str, doc: &VrrpRouterDoc) -> Option<u16> {
        let (time, path) = (doc.interval.0, format!("{path}.interval"));
        if doc.version == 2 {
            let Some(seconds) = whole_seconds(time, INTERVAL_MAX_V2) else {
                let reason = format!("must be from 1s to {INTERVAL_MAX_V2}s in whole seconds with version 2");
                self.reading.fail(path, reason);
                return None;
            };
            return u16::try_from(seconds * 100).ok();
        }
        let count = time.0 / CENTISECOND;
        if !time.0.is_multiple_of(CENTISECOND) || !(1..=INTERVAL_MAX).contains(&count) {
            self.reading.fail(path, "must be from 10ms to 40.95s in steps of 10ms");
            return None;
        }
        u16::try_from(count).ok()
    }

    fn vrrp_times(&mut self, path: &str, doc: &VrrpRouterDoc) {
        self.within_a_year(&format!("{path}.preempt_delay"), doc.preempt_delay.0);
        let (leave, rejoin) = (doc.leave.as_ref().map(|time| time.0), doc.rejoin.as_ref().map(|time| time.0));
        self.within_a_year(&format!("{path}.leave"), leave.unwrap_or_default());
        self.within_a_year(&format!("{path}.rejoin"), rejoin.unwrap_or_default());
        if rejoin.is_some_and(|rejoin| leave.is_none_or(|leave| leave >= rejoin)) {
            self.reading.fail(format!("{path}.rejoin"), "must be after 'leave'");
        }
    }
}

/// The source of a host's advertisements. A link-local address that its MAC address makes is known once the port is.
fn primary(host: &HostPlan, is_v4: bool) -> Option<IpAddr> {
    if is_v4 {
        return host.address(true).map(|own| own.ip);
    }
    let is_local = |ip: &IpAddr| matches!(ip, IpAddr::V6(ip) if ip.is_unicast_link_local());
    let given = host.addresses.iter().map(|own| own.ip).find(is_local);
    host.address(false)?;
    Some(given.unwrap_or(Ipv6Addr::UNSPECIFIED.into()))
}

fn plus(ip: IpAddr, number: u8) -> IpAddr {
    match ip {
        IpAddr::V4(ip) => IpAddr::V4(u32::from(ip).wrapping_add(number.into()).into()),
        IpAddr::V6(ip) => IpAddr::V6(u128::from(ip).wrapping_add(number.into()).into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(router: &str) -> Result<VrrpPlan, String> {
        let text = format!(
            "ports: {{a: {{device: \"ring:a\", ip: [10.0.0.2/24, \"2001:db8::2/64\"], vrrp: {{routers: [{router}]}}}}}}"
        );
        let plan =
            crate::load(&text).map_err(|errors| errors.iter().map(ToString::to_string).collect::<String>());
        plan.map(|plan| plan.ports[0].vrrp.clone().unwrap())
    }

    #[test]
    fn a_router_has_the_defaults_of_the_rfc() {
        let plan = load("{vrid: 7, addresses: [10.0.0.1]}").unwrap();
        let router = &plan.routers[0];
        assert_eq!((router.vrid, router.priority, router.interval_cs), (7, 100, 100));
        assert_eq!(
            (router.version, router.preempt, router.local),
            (VrrpVersion::V3, true, [10, 0, 0, 2].into())
        );
        let plan = load("{vrid: 7, addresses: [\"fe80::1\", \"2001:db8::1\"], interval: 50ms}").unwrap();
        assert_eq!((plan.routers[0].local, plan.routers[0].interval_cs), (Ipv6Addr::UNSPECIFIED.into(), 5));
        let plan = load("{vrid: 7, addresses: [10.0.0.1], version: 2, interval: 3s}").unwrap();
        assert_eq!((plan.routers[0].version, plan.routers[0].interval_cs), (VrrpVersion::V2, 300));
    }

    #[test]
    fn reports_misconfiguration() {
        for (router, reason) in [
            ("{vrid: 0, addresses: [10.0.0.1]}", "vrid"),
            ("{vrid: 7, addresses: []}", "addresses"),
            ("{vrid: 7, addresses: [10.0.0.2]}", "addresses: 10.0.0.2 is an address of host 'a'"),
            ("{vrid: 7, addresses: [10.0.0.1, \"fe80::1\"]}", "use an entry for each"),
            ("{vrid: 7, addresses: [224.0.0.1]}", "'224.0.0.1' is not an IPv4 or IPv6 address"),
            ("{vrid: 7, addresses: [\"2001:db8::1\"]}", "2001:db8::1 is not link-local"),
            ("{vrid: 7, addresses: [\"fe80::1\"], version: 2}", "version 2 is for IPv4 only"),
            ("{vrid: 7, addresses: [10.0.0.1], version: 2, interval: 1500ms}", "whole seconds"),
            ("{vrid: 7, addresses: [10.0.0.1], interval: 15ms}", "from 10ms to 40.95s"),
            ("{vrid: 7, addresses: [10.0.0.1], interval: 41s}", "from 10ms to 40.95s"),
            ("{vrid: 7, addresses: [10.0.0.1], rejoin: 1s}", "rejoin: must be after 'leave'"),
            ("{vrid: 7, addresses: [10.0.0.1], leave: 2s, rejoin: 2s}", "rejoin: must be after 'leave'"),
            (
                "{vrid: 7, addresses: [10.0.0.1]}, {vrid: 7, addresses: [10.0.0.3]}",
                "7 is the VRID of host 'a'",
            ),
            ("{vrid: 7, addresses: [10.0.0.1], host: b}", "the port has no host 'b'"),
        ] {
            let error = load(router).unwrap_err();
            assert!(error.contains(reason), "{router}: {error}");
        }
    }
}
