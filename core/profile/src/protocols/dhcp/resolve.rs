//! DHCP and DHCPv6 clients behind a port.

use crate::document::{AddressByDoc, DhcpDoc, Dhcpv6Doc};
use crate::plan::{ClientsBy, Dhcp6Plan, DhcpPlan};
use crate::protocols::clients::client_keys;
use crate::resolve::{HOSTS_MAX, Resolver};
use emulate::dhcp::{DhcpConfig, RelayInfo};
use emulate::dhcp6::Dhcp6Config;
use session::plan::AddressRange;
use std::net::IpAddr;
use wire::Vlans;

impl Resolver<'_> {
    pub(super) fn dhcp(&mut self, port: &str, dhcp: &DhcpDoc, vlans: &Vlans) -> DhcpPlan {
        let path = format!("ports.{port}.dhcp");
        let keys = client_keys!(dhcp);
        self.clients((&path, "dhcp"), &keys, vlans, |resolver, pool| {
            for (key, text) in [
                ("host_name", &dhcp.host_name),
                ("client_id", &dhcp.client_id),
                ("circuit_id", &dhcp.circuit_id),
                ("remote_id", &dhcp.remote_id),
            ] {
                resolver.check_vlans_of_text(&format!("{path}.{key}"), text.as_deref(), &pool.vlans);
            }
            DhcpConfig {
                pool,
                retry: resolver.retry(&path, dhcp.retry.0),
                check: dhcp.check,
                broadcast: dhcp.broadcast,
                host_name: dhcp.host_name.clone(),
                vendor_class: dhcp.vendor_class.clone(),
                client_id: dhcp.client_id.clone(),
                ask_for: dhcp.parameters.iter().map(|number| number.0).collect(),
                relay: RelayInfo { circuit_id: dhcp.circuit_id.clone(), remote_id: dhcp.remote_id.clone() },
            }
        })
    }

    pub(super) fn dhcpv6(&mut self, port: &str, dhcp: &Dhcpv6Doc, vlans: &Vlans) -> Dhcp6Plan {
        let path = format!("ports.{port}.dhcpv6");
        let slaac = matches!(dhcp.address, AddressByDoc::Own(_));
        let for_servers = [
            ("prefix", dhcp.prefix.is_some()),
            ("rapid_commit", dhcp.rapid_commit),
            ("options", !dhcp.options.is_empty()),
        ];
        for (key, _) in for_servers.iter().filter(|(_, said)| slaac && *said) {
            self.reading
                .fail(format!("{path}.{key}"), "can't be used with 'address: slaac', which needs no server");
        }
        if dhcp.address == AddressByDoc::Asked(false) && dhcp.prefix.is_none() {
            self.reading.fail(&path, "requests nothing: leave 'address: false' out, or give it a 'prefix'");
        }
        if slaac && dhcp.vlans.is_some() {
            let reason = "clients that make their addresses share one link and its prefix; leave 'vlans' out, or 'address: slaac'";
            self.reading.fail(format!("{path}.vlans"), reason);
        }
        let keys = client_keys!(dhcp);
        self.clients((&path, "dhcpv6"), &keys, vlans, |_, pool| Dhcp6Config {
            pool,
            address: dhcp.address != AddressByDoc::Asked(false),
            slaac,
            prefix_len: dhcp.prefix,
            rapid_commit: dhcp.rapid_commit,
            check: dhcp.check,
            ask_for: dhcp.options.clone(),
        })
    }

    /// As many addresses as the port has DHCP clients, which no host has: placeholders for the leases' addresses.
    ///
    /// They are of IPv6 if the servers are, or if there are no others.
    pub(crate) fn places_of_leases(
        &mut self,
        path: &str,
        port: usize,
        server_v6: bool,
    ) -> Option<Vec<AddressRange>> {
        let plan = &self.ports[port];
        let clients = |is_v6| plan.clients_with_addresses(ClientsBy::Lease, is_v6);
        let (is_v6, pool) = match (clients(false), clients(true)) {
            (_, Some(pool)) if server_v6 => (true, pool),
            (Some(pool), _) if !server_v6 => (false, pool),
            (None, Some(pool)) => (true, pool),
            _ => {
                let key = if server_v6 { "dhcpv6" } else { "dhcp" };
                let reason =
                    format!("port '{}' has no DHCP clients with such addresses; give it '{key}'", plan.name);
                self.reading.fail(path, reason);
                return None;
            }
        };
        let ip = |number: u32| match is_v6 {
            true => IpAddr::V6(u128::from(number).into()),
            false => IpAddr::V4(number.into()),
        };
        if pool.vlans.differ() && pool.clients as usize > HOSTS_MAX {
            let reason = format!(
                "{} clients, each in its own VLANs and so a host of the entry; at most {HOSTS_MAX} are possible: use several ports, or streams",
                units::count(pool.clients.into())
            );
            self.reading.fail(path, reason);
            return None;
        }
        Some(vec![AddressRange { first: ip(1), last: ip(pool.clients), weight: 1, host: 0 }])
    }
}
