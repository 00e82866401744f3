//! DHCP and DHCPv6 clients of a port.

use crate::plan::{Address, ClientAddress, ClientsPlan};
use emulate::dhcp::{DhcpConfig, Lease};
use emulate::dhcp6::Dhcp6Config;
use std::net::IpAddr;

/// DHCP clients behind a port.
pub type DhcpPlan = ClientsPlan<DhcpConfig>;

/// DHCPv6 clients behind a port.
pub type Dhcp6Plan = ClientsPlan<Dhcp6Config>;

impl From<Lease> for ClientAddress {
    fn from(lease: Lease) -> Self {
        Self {
            client: lease.client,
            mac: lease.mac,
            address: Address { ip: lease.ip.into(), prefix_len: lease.prefix_len },
            link_local: None,
            router: lease.router.map(IpAddr::V4),
            vlans: None,
            session: None,
        }
    }
}
