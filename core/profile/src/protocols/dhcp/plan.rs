//! DHCP and DHCPv6 clients of a port.

use emulate::dhcp::DhcpConfig;
use emulate::dhcp6::Dhcp6Config;
use units::Nanos;

/// DHCP clients behind a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DhcpPlan {
    /// The clients; their hardware addresses only if they are given.
    pub config: DhcpConfig,
    /// Whether the hardware addresses in `config` are the profile's; if not, they are made of the port's.
    pub has_macs: bool,
    /// Time limit for all clients to get an address.
    pub timeout: Nanos,
}

/// DHCPv6 clients behind a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Dhcp6Plan {
    /// The clients; their hardware addresses only if they are given.
    pub config: Dhcp6Config,
    /// Whether the hardware addresses in `config` are the profile's; if not, they are made of the port's.
    pub has_macs: bool,
    /// Maximum time until all have their requested leases.
    pub timeout: Nanos,
}
