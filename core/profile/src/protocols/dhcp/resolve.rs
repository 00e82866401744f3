//! DHCP and DHCPv6 clients behind a port.

use crate::document::{AddressByDoc, DhcpDoc, Dhcpv6Doc};
use crate::plan::{Dhcp6Plan, DhcpPlan};
use crate::resolve::Resolver;
use emulate::dhcp::{DhcpConfig, RelayInfo};
use emulate::dhcp6::Dhcp6Config;
use wire::Vlans;

impl Resolver<'_> {
    pub(super) fn dhcp(&mut self, port: &str, dhcp: &DhcpDoc, vlans: &Vlans) -> DhcpPlan {
        let path = format!("ports.{port}.dhcp");
        self.within_a_year(&format!("{path}.timeout"), dhcp.timeout.0);
        self.within_a_year(&format!("{path}.retry"), dhcp.retry.0);
        if dhcp.retry.0.0 == 0 {
            self.reading.fail(format!("{path}.retry"), "must be longer than 0");
        }
        let first = self.first_mac(&path, dhcp.mac.as_ref(), dhcp.clients);
        let vlans = self.client_vlans(&path, dhcp.vlans.as_ref(), dhcp.clients, vlans);
        for (key, text) in [
            ("host_name", &dhcp.host_name),
            ("client_id", &dhcp.client_id),
            ("circuit_id", &dhcp.circuit_id),
            ("remote_id", &dhcp.remote_id),
        ] {
            self.check_vlans_of_text(&format!("{path}.{key}"), text.as_deref(), &vlans);
        }
        let config = DhcpConfig {
            clients: dhcp.clients,
            mac: first.map_or([0; 6], |mac| mac.0),
            vlans,
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
        if slaac && dhcp.vlans.is_some() {
            let reason = "clients that make their addresses share one link and its prefix; leave 'vlans' out, or 'address: slaac'";
            self.reading.fail(format!("{path}.vlans"), reason);
        }
        let first = self.first_mac(&path, dhcp.mac.as_ref(), dhcp.clients);
        let vlans = self.client_vlans(&path, dhcp.vlans.as_ref(), dhcp.clients, vlans);
        let config = Dhcp6Config {
            clients: dhcp.clients,
            mac: first.map_or([0; 6], |mac| mac.0),
            vlans,
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
}
