//! DHCP and DHCPv6 clients of a port.

use crate::plan::ClientsPlan;
use emulate::dhcp::DhcpConfig;
use emulate::dhcp6::Dhcp6Config;

/// DHCP clients behind a port.
pub type DhcpPlan = ClientsPlan<DhcpConfig>;

/// DHCPv6 clients behind a port.
pub type Dhcp6Plan = ClientsPlan<Dhcp6Config>;
