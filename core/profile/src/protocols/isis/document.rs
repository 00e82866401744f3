//! IS-IS routers behind a port, the routes they advertise, and the routers generated behind them.

use crate::document::quantity::quantities;
use crate::document::{Duration, FlapDoc, GridDoc, Ip, Name, Network, SessionRate, TreeDoc, no_time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps};

quantities! {
    IsisArea(pub isis::Area) = "isis-area" or number, "an area such as 49.0001",
        ["49.0001", "47.0005.80ff"], |t| t.parse().ok(), isis::Area::to_string;
    IsisSystemId(pub isis::SystemId) = "isis-system-id", "a system identifier such as 0000.0000.0001",
        ["0000.0000.0001"], |t| t.parse().ok(), isis::SystemId::to_string;
}

/// IS-IS routers behind a port: hosts of the port with adjacencies to the device (ISO/IEC 10589, RFC 1195). Traffic starts when all
/// adjacencies are up and the device has all routes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Isis")]
pub struct IsisDoc {
    /// The routers; at most 1,024.
    #[schemars(length(min = 1))]
    pub routers: Vec<IsisRouterDoc>,
    /// Rate at which each router floods LSPs, at each of its levels.
    #[serde(default = "flood_rate")]
    pub rate: SessionRate,
    /// Time limit for all adjacencies to come up and the device to have all routes. After it, traffic starts with those
    /// that are up, and the result is not valid; without any adjacency, the run ends with an error.
    #[serde(default = "timeout")]
    pub timeout: Duration,
    /// Time to wait after that, for the device to compute and install the routes.
    #[serde(default = "settle")]
    pub settle: Duration,
    /// Number of LSPs of the device that each router stores at each of its levels, to be shown during the run; 100,000
    /// for all routers of a port at most.
    #[serde(default)]
    #[schemars(range(max = 100_000))]
    pub keep: u32,
}

/// An IS-IS router, or one for each of several hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "IsisRouter")]
pub struct IsisRouterDoc {
    /// Name for commands to a running trial. Several can have one name.
    pub name: Option<Name>,
    /// Host of the port that is the router. The name of an entry of 'hosts' with 'count' stands for all of its hosts. Default: the
    /// port's first host.
    pub host: Option<Name>,
    /// System identifier of the first host; each other has the next. Default: the digits of the host's IPv4 address; 10.0.0.2 is
    /// 0100.0000.0002.
    pub system_id: Option<IsisSystemId>,
    /// Area address. At level 1, the device must have the same.
    #[serde(default = "area")]
    pub area: IsisArea,
    /// Levels of the router; it needs an adjacency at each.
    #[serde(default)]
    pub level: IsisLevelDoc,
    /// Network type of the link to the device; the device must have the same.
    #[serde(default)]
    pub network: IsisNetworkDoc,
    /// Priority on a LAN. The designated system must be the device.
    #[serde(default)]
    #[schemars(range(max = 127))]
    pub priority: u8,
    /// Time between hellos, in whole seconds.
    #[serde(default = "hello")]
    pub hello: Duration,
    /// Holding time: the device drops the adjacency of a router after this time without a hello, in whole seconds.
    /// Default: ten times 'hello'.
    pub hold: Option<Duration>,
    /// Metric of the link to the device.
    #[serde(default = "metric")]
    #[schemars(range(min = 1, max = 16_777_214))]
    pub metric: u32,
    /// MTU of the link: hellos are as long, LSPs no longer. Default: that of the port, at most 1500.
    #[schemars(range(min = 512, max = 1_500))]
    pub mtu: Option<u32>,
    /// Pad hellos up to the MTU.
    #[serde(default = "yes")]
    pub padding: bool,
    /// Dynamic hostname of the router (RFC 5301), and with a number appended of the routers of 'topology'. Default:
    /// name of its host.
    #[schemars(length(max = 50))]
    pub hostname: Option<String>,
    /// Set the overload bit: no transit traffic through the router.
    #[serde(default)]
    pub overload: bool,
    /// Set the attached bit at level 1: the router can reach other areas.
    #[serde(default)]
    pub attached: bool,
    /// Identifier for traffic engineering in the router's LSP (RFC 5305 section 4.3), as an IPv4 address. Default: none.
    pub te_router_id: Option<Ip>,
    /// Lifetime of LSPs, in whole seconds.
    #[serde(default = "lifetime")]
    pub lifetime: Duration,
    /// Time after which an LSP is originated again, in whole seconds; shorter than 'lifetime'.
    #[serde(default = "refresh")]
    pub refresh: Duration,
    /// Password of hellos. Default: no authentication.
    #[schemars(length(min = 1, max = 254))]
    pub password: Option<String>,
    /// Password of LSPs and sequence numbers PDUs: that of the area or the domain. Default: no authentication.
    #[schemars(length(min = 1, max = 254))]
    pub lsp_password: Option<String>,
    /// Send HMAC-MD5 digests by the passwords (RFC 5304) instead of the passwords themselves.
    #[serde(default)]
    pub digest: bool,
    /// Routes to advertise.
    #[serde(default)]
    pub routes: Vec<IsisRoutesDoc>,
    /// Routers to generate behind this one.
    pub topology: Option<IsisTopologyDoc>,
}

/// Levels of a router.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum IsisLevelDoc {
    /// Routing in an area.
    #[serde(rename = "1")]
    One,
    /// Routing between areas.
    #[serde(rename = "2")]
    #[default]
    Two,
    /// Both.
    #[serde(rename = "1-2")]
    Both,
}

/// Network type of a router's link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum IsisNetworkDoc {
    /// A LAN of many routers, of which the device is the designated one.
    #[default]
    Broadcast,
    /// A link between two routers.
    PointToPoint,
}

/// Routes that differ by their prefix alone. They are made when they are sent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "IsisRoutes")]
pub struct IsisRoutesDoc {
    /// Name for commands to a running trial. Several can have one name.
    pub name: Option<Name>,
    /// The first prefix.
    pub prefixes: Network,
    /// Number of prefixes of each router. Those of a router fill 255 LSPs at most: some 46,000 of IPv4.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub count: u32,
    /// Step from one prefix to the next, in prefixes: 2 leaves every other one out.
    #[serde(default = "one")]
    #[schemars(range(min = 1, max = 16_777_216))]
    pub step: u32,
    /// Let all hosts of the entry advertise the same prefixes. Default: each has the next ones.
    #[serde(default)]
    pub same: bool,
    /// Kind of the routes.
    #[serde(default, rename = "type")]
    pub kind: IsisRouteDoc,
    /// Metric of a route at its router.
    #[serde(default = "metric")]
    #[schemars(range(max = 4_261_412_864u32))]
    pub metric: u32,
    /// Set the up/down bit: the routes come from level 2.
    #[serde(default)]
    pub down: bool,
    /// When to advertise, after the start of traffic. At 0s, traffic starts once the device has the routes.
    #[serde(default = "no_time")]
    pub advertise: Duration,
    /// When to withdraw, after the start of traffic. Default: when traffic has ended.
    pub withdraw: Option<Duration>,
    /// Withdraw and advertise again and again: 'every' at least 2s.
    pub flap: Option<FlapDoc>,
}

/// Kind of routes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum IsisRouteDoc {
    /// The router's own.
    #[default]
    Internal,
    /// Of another protocol: the X flag (RFC 5308, RFC 7794).
    External,
    /// Networks of the routers of 'topology', in equal shares.
    Topology,
}

/// Routers that are generated behind a router, connected by point-to-point links. The first is connected to the router
/// itself. One of 'grid', 'ring' and 'tree' defines the other links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "IsisTopology")]
pub struct IsisTopologyDoc {
    /// Rows of routers, each connected to its neighbours on the left and right, above and below.
    pub grid: Option<GridDoc>,
    /// Number of routers in a ring.
    #[schemars(range(min = 1, max = 10_000))]
    pub ring: Option<u32>,
    /// A tree of routers, whose root is the first.
    pub tree: Option<TreeDoc>,
    /// Metric of each link, in both directions.
    #[serde(default = "metric")]
    #[schemars(range(min = 1, max = 16_777_214))]
    pub metric: u32,
    /// System identifier of the first one; each other has the next, those behind the entry's next host follow. Default: the one after
    /// the entry's own routers.
    pub system_id: Option<IsisSystemId>,
}

impl IsisDoc {
    /// Routers with default settings.
    pub fn new(routers: Vec<IsisRouterDoc>) -> Self {
        Self { routers, rate: flood_rate(), timeout: timeout(), settle: settle(), keep: 0 }
    }
}

impl IsisRouterDoc {
    /// A router with default settings.
    pub fn new(system_id: IsisSystemId) -> Self {
        Self {
            name: None,
            host: None,
            system_id: Some(system_id),
            area: area(),
            level: IsisLevelDoc::default(),
            network: IsisNetworkDoc::default(),
            priority: 0,
            hello: hello(),
            hold: None,
            metric: metric(),
            mtu: None,
            padding: yes(),
            hostname: None,
            overload: false,
            attached: false,
            te_router_id: None,
            lifetime: lifetime(),
            refresh: refresh(),
            password: None,
            lsp_password: None,
            digest: false,
            routes: Vec::new(),
            topology: None,
        }
    }
}

impl IsisRoutesDoc {
    /// One prefix, with default attributes.
    pub fn new(prefixes: Network) -> Self {
        Self {
            name: None,
            prefixes,
            count: one(),
            step: one(),
            same: false,
            kind: IsisRouteDoc::default(),
            metric: metric(),
            down: false,
            advertise: no_time(),
            withdraw: None,
            flap: None,
        }
    }
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

fn metric() -> u32 {
    10
}

fn area() -> IsisArea {
    // A private one, as 49.0001 is in most examples there are.
    IsisArea("49.0001".parse().unwrap_or_else(|()| unreachable!("49.0001 is an area")))
}

fn flood_rate() -> SessionRate {
    SessionRate(Pps::new(1_000))
}

fn timeout() -> Duration {
    Duration(Nanos::from_secs(120))
}

fn settle() -> Duration {
    Duration(Nanos::from_secs(2))
}

fn lifetime() -> Duration {
    Duration(Nanos::from_secs(isis::MAX_AGE_S.into()))
}

fn refresh() -> Duration {
    Duration(Nanos::from_secs(isis::REFRESH_S.into()))
}

fn hello() -> Duration {
    Duration(Nanos::from_secs(3))
}
