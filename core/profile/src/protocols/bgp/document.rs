//! BGP peers behind a port, and the routes they advertise.

use crate::document::quantity::quantities;
use crate::document::{Duration, FlapDoc, Ip, Name, Network, OneOrMany, SessionRate, Step, no_time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps};

quantities! {
    Community(pub u32) = "community", "a community such as 65001:100, no-export, no-advertise or blackhole",
        ["65001:100", "no-export"], community, print_community;
    LargeCommunity(pub [u32; 3]) = "large-community", "a large community such as 65001:1:2",
        ["65001:1:2"], large_community, |[a, b, c]| format!("{a}:{b}:{c}");
}

/// BGP speakers behind a port: hosts of the port with sessions to the device (RFC 4271). Traffic starts when all sessions are
/// established and all routes have been acknowledged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Bgp")]
pub struct BgpDoc {
    /// The speakers and their peers; at most 4,096.
    #[schemars(length(min = 1))]
    pub peers: Vec<BgpPeerDoc>,
    /// Rate at which connections are opened.
    #[serde(default = "connection_rate")]
    pub rate: SessionRate,
    /// Time limit for all sessions to be established and all routes to be acknowledged. After it, traffic starts with
    /// those that are, and the result is not valid; without any session, the run ends with an error.
    #[serde(default = "timeout")]
    pub timeout: Duration,
    /// Time to wait after that, for the device to install the routes.
    #[serde(default = "settle")]
    pub settle: Duration,
    /// Number of stored routes of each peer, to be shown during the run; 100,000 for all peers of a port at most.
    #[serde(default)]
    #[schemars(range(max = 100_000))]
    pub keep: u32,
}

/// A BGP speaker and its peer, or one for each of several hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BgpPeer")]
pub struct BgpPeerDoc {
    /// Name for commands to a running trial. Several can have one name.
    pub name: Option<Name>,
    /// Host of the port that is the speaker. The name of an entry of 'hosts' with 'count' means all of its hosts.
    /// Default: the port's first host.
    pub host: Option<Name>,
    /// Address of the peer: the device's.
    pub peer: Ip,
    /// Step from one host's peer to the next. Default: all have the same.
    pub peer_step: Option<Step>,
    /// AS number of the host.
    #[serde(rename = "as")]
    #[schemars(range(min = 1))]
    pub asn: u32,
    /// Step from one host's AS number to the next.
    #[serde(default)]
    pub as_step: u32,
    /// AS number of the peer. With the host's own, the session is internal. Default: any but the host's own.
    #[schemars(range(min = 1))]
    pub peer_as: Option<u32>,
    /// Time without a message after which the session ends; the lower of both sides' counts. '0s': never.
    #[serde(default = "hold_time")]
    pub hold_time: Duration,
    /// Time from a failure to the next attempt, less up to a quarter of it.
    #[serde(default = "retry")]
    pub retry: Duration,
    /// Offer graceful restart (RFC 4724): the peer is to keep the routes while a session restarts. Default: it is not offered.
    pub graceful_restart: Option<BgpRestartDoc>,
    /// Allow several paths of a prefix (RFC 7911): each entry of 'routes' is then a separate path. Default: a prefix
    /// has one path, from the last entry that advertised it.
    pub add_path: Option<BgpAddPathDoc>,
    /// Address families of routes to exchange. Default: the families of the peer's address and of 'routes'.
    #[serde(default)]
    pub families: Vec<BgpFamilyDoc>,
    /// Wait for the peer to connect.
    #[serde(default)]
    pub passive: bool,
    /// BGP identifier of the first host; each other has the next. Default: the host's IPv4 address.
    pub router_id: Option<Ip>,
    /// Routes to advertise.
    #[serde(default)]
    pub routes: Vec<BgpRoutesDoc>,
}

/// Graceful restart (RFC 4724), as it is offered to the peer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BgpRestart")]
pub struct BgpRestartDoc {
    /// Restart time (RFC 4724): the peer waits this long for the next session before it withdraws the routes; whole
    /// seconds, 4095s at most.
    #[serde(default = "restart_time")]
    pub time: Duration,
    /// Let the peer also retain the routes when a session ends with a NOTIFICATION (RFC 8538), such as for an expired
    /// hold time. When sessions end for good, it is instructed to retain none (Hard Reset).
    #[serde(default)]
    pub notification: bool,
    /// Set the forwarding state bit: forwarding continues during the restart. Otherwise the peer withdraws the routes
    /// when the next session begins.
    #[serde(default = "yes")]
    pub forwarding: bool,
}

/// Several paths for a prefix (ADD-PATH, RFC 7911), as they are offered to the peer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BgpAddPath")]
pub struct BgpAddPathDoc {
    /// Send them to the peer, receive them from it, or both.
    #[serde(default)]
    pub ways: BgpPathWaysDoc,
    /// Families of routes. Default: all that are exchanged.
    #[serde(default)]
    pub families: Vec<BgpFamilyDoc>,
}

/// Which way a prefix can have several paths.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum BgpPathWaysDoc {
    /// To the peer.
    Send,
    /// From the peer.
    Receive,
    /// Both ways.
    #[default]
    Both,
}

/// A family of unicast routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum BgpFamilyDoc {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

/// Routes with the same attributes, which are generated when they are sent: a million take no memory. Or the routes of
/// a file, with their attributes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BgpRoutes")]
pub struct BgpRoutesDoc {
    /// Name for commands to a running trial. Several can have one name.
    pub name: Option<Name>,
    /// The first prefix. Either this or 'mrt'.
    pub prefixes: Option<Network>,
    /// Routes of a file.
    pub mrt: Option<BgpMrtDoc>,
    /// Number of prefixes of each peer.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub count: u32,
    /// Step from one prefix to the next, in prefixes: 2 leaves every other one out.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 16_777_216))]
    pub step: u32,
    /// Let all hosts of the entry advertise the same prefixes. Default: each has the next ones.
    #[serde(default)]
    pub same: bool,
    /// Path identifier, which distinguishes several paths of a prefix ('add_path'). Default: the number of this entry
    /// of 'routes', from 1 on.
    pub path_id: Option<u32>,
    /// Next hop. Default: the host's address of the prefixes' family.
    pub next_hop: Option<Ip>,
    /// AS numbers after the host's own, the nearest first. A list of numbers among them is a set of ASes.
    #[serde(default)]
    pub as_path: Vec<OneOrMany<u32>>,
    /// Begin the AS path of external sessions with the host's own AS number.
    #[serde(default = "yes")]
    pub own_as: bool,
    /// Origin.
    #[serde(default)]
    pub origin: BgpOriginDoc,
    /// Communities (RFC 1997).
    #[serde(default)]
    pub communities: Vec<Community>,
    /// Large communities (RFC 8092).
    #[serde(default)]
    pub large_communities: Vec<LargeCommunity>,
    /// Multi-exit discriminator. Default: none.
    pub med: Option<u32>,
    /// Local preference, for internal sessions. Default: 100.
    pub local_pref: Option<u32>,
    /// When to advertise, after the start of traffic. At 0s, traffic starts once the routes were acknowledged.
    #[serde(default = "no_time")]
    pub advertise: Duration,
    /// When to withdraw, after the start of traffic. Default: when traffic has ended, with the session.
    pub withdraw: Option<Duration>,
    /// Withdraw and advertise again and again.
    pub flap: Option<FlapDoc>,
}

/// Routes of an MRT file, as route collectors publish them (RFC 6396, TABLE_DUMP_V2; unpacked). AS path, origin, MED,
/// communities and large communities are taken from the file, from the first peer of the collector that has the prefix.
/// The host's AS number comes first, and the next hop is the host's.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "BgpMrt")]
pub struct BgpMrtDoc {
    /// File, relative to the profile; 2 GiB at most.
    #[schemars(length(min = 1))]
    pub file: String,
    /// Number of routes of each family: the first ones in the file.
    #[serde(default = "most_routes")]
    #[schemars(range(min = 1, max = 10_000_000))]
    pub limit: u32,
    /// Use routes of one family. Default: of both.
    pub family: Option<BgpFamilyDoc>,
}

/// Origin of routes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum BgpOriginDoc {
    /// An interior protocol.
    #[default]
    Igp,
    /// EGP.
    Egp,
    /// Something else.
    Incomplete,
}

impl BgpDoc {
    /// Speakers with default settings.
    pub fn new(peers: Vec<BgpPeerDoc>) -> Self {
        Self { peers, rate: connection_rate(), timeout: timeout(), settle: settle(), keep: 0 }
    }
}

impl BgpPeerDoc {
    /// A peer of any AS but `asn`, with default settings.
    pub fn new(peer: Ip, asn: u32) -> Self {
        Self {
            name: None,
            host: None,
            peer,
            peer_step: None,
            asn,
            as_step: 0,
            peer_as: None,
            hold_time: hold_time(),
            retry: retry(),
            graceful_restart: None,
            add_path: None,
            families: Vec::new(),
            passive: false,
            router_id: None,
            routes: Vec::new(),
        }
    }
}

impl BgpRoutesDoc {
    /// One prefix, with default attributes.
    pub fn new(prefixes: Network) -> Self {
        Self {
            name: None,
            prefixes: Some(prefixes),
            mrt: None,
            count: one(),
            step: one(),
            same: false,
            path_id: None,
            next_hop: None,
            as_path: Vec::new(),
            own_as: yes(),
            origin: BgpOriginDoc::default(),
            communities: Vec::new(),
            large_communities: Vec::new(),
            med: None,
            local_pref: None,
            advertise: no_time(),
            withdraw: None,
            flap: None,
        }
    }
}

fn one() -> u32 {
    1
}

fn most_routes() -> u32 {
    10_000_000
}

fn yes() -> bool {
    true
}

fn connection_rate() -> SessionRate {
    SessionRate(Pps::new(500))
}

fn timeout() -> Duration {
    Duration(Nanos::from_secs(60))
}

fn settle() -> Duration {
    Duration(Nanos::from_secs(1))
}

fn hold_time() -> Duration {
    Duration(Nanos::from_secs(90))
}

fn restart_time() -> Duration {
    Duration(Nanos::from_secs(120))
}

fn retry() -> Duration {
    Duration(Nanos::from_secs(5))
}

/// Communities with names: RFC 1997, RFC 3765, RFC 7999, RFC 8326.
const COMMUNITIES: [(&str, u32); 6] = [
    ("graceful-shutdown", 0xffff_0000),
    ("blackhole", 0xffff_029a),
    ("no-export", 0xffff_ff01),
    ("no-advertise", 0xffff_ff02),
    ("no-export-subconfed", 0xffff_ff03),
    ("no-peer", 0xffff_ff04),
];

fn community(text: &str) -> Option<u32> {
    let text = text.trim();
    if let Some((_, number)) = COMMUNITIES.iter().find(|(name, _)| *name == text) {
        return Some(*number);
    }
    let (high, low) = text.split_once(':')?;
    Some(u32::from(high.parse::<u16>().ok()?) << 16 | u32::from(low.parse::<u16>().ok()?))
}

fn print_community(number: &u32) -> String {
    let named = COMMUNITIES.iter().find(|(_, of)| of == number);
    named.map_or_else(|| format!("{}:{}", number >> 16, number & 0xffff), |(name, _)| (*name).to_owned())
}

fn large_community(text: &str) -> Option<[u32; 3]> {
    let parts: Vec<u32> = text.trim().split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    parts.try_into().ok()
}
