//! DHCP and DHCPv6 clients behind a port.

use crate::document::{ClientVlansDoc, Duration, Mac, SessionRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps};

/// DHCP clients behind a port (RFC 2131), each with its own MAC address, in the VLANs of the port or in its own. They get their
/// addresses before traffic starts, renew them while it runs, and release them at the end. Streams with 'from_host:
/// dhcp' and sessions with 'addresses: dhcp' use the addresses. In texts, '{n}' is the number of the client, from 0;
/// '{outer}' and '{inner}' are its VLANs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Dhcp")]
pub struct DhcpDoc {
    /// Number of clients.
    #[schemars(range(min = 1, max = 65_536))]
    pub clients: u32,
    /// Rate at which clients begin, and at which they release their addresses at the end.
    #[serde(default = "client_rate")]
    pub rate: SessionRate,
    /// Maximum number of clients that wait for an address at a time.
    #[serde(default = "outstanding")]
    #[schemars(range(min = 1))]
    pub outstanding: u32,
    /// Time limit for all clients to have an address. After it, traffic starts with those that have one, and the result
    /// is not valid; without any, the run ends with an error.
    #[serde(default = "bind_timeout")]
    pub timeout: Duration,
    /// Time until a message without a reply is repeated; doubled each time, up to 16 times, ± a quarter of it.
    #[serde(default = "retry")]
    pub retry: Duration,
    /// MAC address of the first client; each other has the next. Default: made from the port's.
    pub mac: Option<Mac>,
    /// VLANs of each client. Default: the port's.
    pub vlans: Option<ClientVlansDoc>,
    /// Whether each client probes for a new address before it uses it (RFC 2131 section 4.4.1), and declines one that a
    /// neighbour has. That takes 1 s. 'eagre bench dhcp' disables it.
    #[serde(default = "yes")]
    pub check: bool,
    /// Set the broadcast flag: servers broadcast their replies.
    #[serde(default)]
    pub broadcast: bool,
    /// Host name to send (option 12).
    #[schemars(length(min = 1, max = 200))]
    pub host_name: Option<String>,
    /// Vendor class identifier to send (option 60).
    #[schemars(length(min = 1, max = 200))]
    pub vendor_class: Option<String>,
    /// Client identifier to send (option 61). Default: none; servers know clients by MAC address.
    #[schemars(length(min = 1, max = 200))]
    pub client_id: Option<String>,
    /// Options to request (option 55), besides subnet mask and router.
    #[serde(default)]
    pub parameters: Vec<OptionNumber>,
    /// Circuit identifier that an access node adds (option 82, RFC 3046).
    #[schemars(length(min = 1, max = 100))]
    pub circuit_id: Option<String>,
    /// Remote identifier that an access node adds (option 82, RFC 3046).
    #[schemars(length(min = 1, max = 100))]
    pub remote_id: Option<String>,
}

impl DhcpDoc {
    /// Clients with default settings.
    pub fn new(clients: u32) -> Self {
        Self {
            clients,
            rate: client_rate(),
            outstanding: outstanding(),
            timeout: bind_timeout(),
            retry: retry(),
            mac: None,
            vlans: None,
            check: true,
            broadcast: false,
            host_name: None,
            vendor_class: None,
            client_id: None,
            parameters: Vec::new(),
            circuit_id: None,
            remote_id: None,
        }
    }
}

/// Number of a DHCP option.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct OptionNumber(#[schemars(range(min = 1, max = 254))] pub u8);

fn client_rate() -> SessionRate {
    SessionRate(Pps::new(500))
}

fn outstanding() -> u32 {
    1_000
}

fn bind_timeout() -> Duration {
    Duration(Nanos::from_secs(60))
}

fn retry() -> Duration {
    Duration(Nanos::from_secs(4))
}

/// DHCPv6 clients behind a port (RFC 8415), each with its own MAC address, from which its DUID and its link-local
/// address are derived, in the VLANs of the port or in its own. They get their leases before traffic starts, renew them while it
/// runs, and release them at the end. Streams with 'from_host: dhcp' and an ipv6 header, and sessions with 'addresses:
/// dhcp' and servers of IPv6, use the addresses. Their router is the one that advertises itself; without any, the
/// port's gateway.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Dhcpv6")]
pub struct Dhcpv6Doc {
    /// Number of clients.
    #[schemars(range(min = 1, max = 65_536))]
    pub clients: u32,
    /// Rate at which clients begin, and at which they release what they have at the end.
    #[serde(default = "client_rate")]
    pub rate: SessionRate,
    /// Maximum number of clients that wait for a reply at a time.
    #[serde(default = "outstanding")]
    #[schemars(range(min = 1))]
    pub outstanding: u32,
    /// Maximum time until all clients have the requested leases. Traffic then starts with the clients that have them,
    /// and the result is not valid; without any, the run ends with an error.
    #[serde(default = "bind_timeout")]
    pub timeout: Duration,
    /// MAC address of the first client; each other has the next. Default: made from the port's; the clients of 'dhcp' have
    /// the same.
    pub mac: Option<Mac>,
    /// VLANs of each client, each of which then looks for a router in its own. Default: the port's.
    pub vlans: Option<ClientVlansDoc>,
    /// Whether each client requests an address (IA_NA); 'slaac': each makes one from the prefix that a router
    /// advertises (RFC 4862), without a server.
    #[serde(default = "asked")]
    pub address: AddressByDoc,
    /// Length of the prefix that each client requests (IA_PD). Default: none is requested.
    #[schemars(range(min = 1, max = 64))]
    pub prefix: Option<u8>,
    /// Whether servers may reply to the first message with a lease (rapid commit).
    #[serde(default)]
    pub rapid_commit: bool,
    /// Whether each client probes for its address before it uses it (RFC 4862 section 5.4), and declines one that a
    /// neighbour has. That takes 1 s.
    #[serde(default = "yes")]
    pub check: bool,
    /// Options to request (option 6).
    #[serde(default)]
    pub options: Vec<u16>,
}

impl Dhcpv6Doc {
    /// Clients with default settings.
    pub fn new(clients: u32) -> Self {
        Self {
            clients,
            rate: client_rate(),
            outstanding: outstanding(),
            timeout: bind_timeout(),
            mac: None,
            vlans: None,
            address: asked(),
            prefix: None,
            rapid_commit: false,
            check: true,
            options: Vec::new(),
        }
    }
}

/// Address assignment of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the variants' types say it; comments would become descriptions")]
pub enum AddressByDoc {
    Asked(bool),
    Own(SlaacDoc),
}

/// By itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum SlaacDoc {
    /// From the prefix that a router advertises.
    Slaac,
}

fn asked() -> AddressByDoc {
    AddressByDoc::Asked(true)
}

fn yes() -> bool {
    true
}
