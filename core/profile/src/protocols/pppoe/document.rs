//! PPPoE clients behind a port.

use crate::document::{ClientVlansDoc, Duration, Mac, SessionRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps};

/// PPPoE clients behind a port (RFC 2516), each with its own MAC address, in the VLANs of the port or in its own. Before traffic
/// starts each gets a session with an access concentrator: link (LCP), authentication (PAP, CHAP or MS-CHAP version 2),
/// address (IPCP). They keep their sessions alive while it runs, and end them after it. Streams with 'from_host: pppoe'
/// are sent in the sessions, streams with 'to_host: pppoe' to the clients' addresses; sessions whose clients have
/// 'addresses: pppoe' run in them. In texts, '{n}' is the number of the client, from 0; '{outer}' and '{inner}' are its
/// VLANs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Pppoe")]
pub struct PppoeDoc {
    /// Number of clients.
    #[schemars(range(min = 1, max = 65_536))]
    pub clients: u32,
    /// Rate at which clients begin, and at which they end their sessions at the end.
    #[serde(default = "rate")]
    pub rate: SessionRate,
    /// Maximum number of clients that are on their way to a session at a time.
    #[serde(default = "outstanding")]
    #[schemars(range(min = 1))]
    pub outstanding: u32,
    /// Time limit for all clients to have a session and an address. After it, traffic starts with those that have both,
    /// and the result is not valid; without any, the run ends with an error.
    #[serde(default = "timeout")]
    pub timeout: Duration,
    /// Time until a message without a reply is repeated, ± a quarter. In discovery it is doubled each time, up to 16
    /// times; in PPP a message is sent 10 times at most.
    #[serde(default = "retry")]
    pub retry: Duration,
    /// MAC address of the first client; each other has the next. Default: made from the port's.
    pub mac: Option<Mac>,
    /// VLANs of each client. Default: the port's.
    pub vlans: Option<ClientVlansDoc>,
    /// Service to request (Service-Name). Default: any.
    #[serde(default)]
    pub service: String,
    /// Name of the access concentrator to use (AC-Name). Default: the first that replies.
    pub ac: Option<String>,
    /// User's name.
    #[serde(default)]
    pub user: String,
    /// Password.
    #[serde(default)]
    pub password: String,
    /// Authentication method of clients. If the access concentrator requests another one, they propose this one.
    #[serde(default)]
    pub authentication: PppoeAuthenticationDoc,
    /// Longest IP packet that clients take, bytes (MRU). More than 1492 is proposed to the access concentrator (RFC 4638).
    #[serde(default = "mtu")]
    #[schemars(range(min = 576, max = 9_000))]
    pub mtu: u16,
    /// Whether to request addresses of name servers (RFC 1877).
    #[serde(default = "yes")]
    pub dns: bool,
    /// Whether to agree on interface identifiers of IPv6 (IPV6CP), too. A client whose access concentrator has none does without.
    #[serde(default)]
    pub ipv6: bool,
    /// Time from one LCP echo request of a client to its next; '0s' for none.
    #[serde(default = "keepalive")]
    pub keepalive: Duration,
    /// Number of unanswered echo requests after which a client gives its session up.
    #[serde(default = "misses")]
    #[schemars(range(min = 1, max = 100))]
    pub keepalive_misses: u8,
    /// Circuit that an access node names in discovery (TR-101 section 3.9).
    pub circuit_id: Option<String>,
    /// Subscriber that an access node names in discovery.
    pub remote_id: Option<String>,
}

/// Authentication method of a client.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum PppoeAuthenticationDoc {
    /// Any of them, at the choice of the access concentrator.
    #[default]
    Any,
    /// The password itself (RFC 1334).
    Pap,
    /// CHAP with MD5 (RFC 1994).
    Chap,
    /// MS-CHAP version 2 (RFC 2759).
    MsChapV2,
    /// None: an access concentrator that requests authentication is refused.
    None,
}

impl PppoeDoc {
    /// Clients with default settings.
    pub fn new(clients: u32) -> Self {
        Self {
            clients,
            rate: rate(),
            outstanding: outstanding(),
            timeout: timeout(),
            retry: retry(),
            mac: None,
            vlans: None,
            service: String::new(),
            ac: None,
            user: String::new(),
            password: String::new(),
            authentication: PppoeAuthenticationDoc::Any,
            mtu: mtu(),
            dns: true,
            ipv6: false,
            keepalive: keepalive(),
            keepalive_misses: misses(),
            circuit_id: None,
            remote_id: None,
        }
    }
}

fn rate() -> SessionRate {
    SessionRate(Pps::new(500))
}

fn outstanding() -> u32 {
    1_000
}

fn timeout() -> Duration {
    Duration(Nanos::from_secs(60))
}

fn retry() -> Duration {
    Duration(Nanos::from_secs(3))
}

fn mtu() -> u16 {
    1_492
}

fn yes() -> bool {
    true
}

fn keepalive() -> Duration {
    Duration(Nanos::from_secs(10))
}

fn misses() -> u8 {
    3
}
