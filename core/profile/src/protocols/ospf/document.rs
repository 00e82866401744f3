//! OSPF routers behind a port, the routes they advertise, and the routers generated behind them.

use crate::document::quantity::quantities;
use crate::document::{Duration, FlapDoc, GridDoc, Ip, Name, Network, SessionRate, TreeDoc, no_time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::Ipv4Addr;
use units::{Nanos, Pps};

quantities! {
    OspfArea(pub Ipv4Addr) = "ospf-area" or number, "an area such as 0 or 0.0.0.1",
        ["0", "0.0.0.1"], ospf_area, Ipv4Addr::to_string;
}

/// OSPF routers behind a port: hosts of the port with adjacencies to the device (OSPFv2, RFC 2328; OSPFv3, RFC 5340). Traffic starts when all adjacencies
/// are full and all routes have been acknowledged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Ospf")]
pub struct OspfDoc {
    /// The routers; at most 1,024.
    #[schemars(length(min = 1))]
    pub routers: Vec<OspfRouterDoc>,
    /// Rate at which each router floods LSAs.
    #[serde(default = "flood_rate")]
    pub rate: SessionRate,
    /// Time limit for all adjacencies to be full and all routes to be acknowledged. After it, traffic starts with those
    /// that are, and the result is not valid; without any adjacency, the run ends with an error.
    #[serde(default = "timeout")]
    pub timeout: Duration,
    /// Time to wait after that, for the device to compute and install the routes.
    #[serde(default = "settle")]
    pub settle: Duration,
    /// Number of LSAs of the device that each router stores, to be shown during the run; 100,000 for all routers of a
    /// port at most.
    #[serde(default)]
    #[schemars(range(max = 100_000))]
    pub keep: u32,
}

/// An OSPF router, or one for each of several hosts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OspfRouter")]
pub struct OspfRouterDoc {
    /// Name for commands to a running trial. Several can have one name.
    pub name: Option<Name>,
    /// Version of OSPF: 2 is for IPv4, 3 for IPv6. A host can be a router of both.
    #[serde(default = "version")]
    #[schemars(range(min = 2, max = 3))]
    pub version: u32,
    /// Host of the port that is the router. The name of an entry of 'hosts' with 'count' stands for all of its hosts. Default: the
    /// port's first host.
    pub host: Option<Name>,
    /// Router identifier of the first host; each other has the next. Default: the host's IPv4 address.
    pub router_id: Option<Ip>,
    /// Area of the link to the device.
    #[serde(default = "backbone")]
    pub area: OspfArea,
    /// Instance on the link, with version 3; the device must have the same.
    #[serde(default)]
    #[schemars(range(max = 255))]
    pub instance: u32,
    /// Network type of the link to the device.
    #[serde(default)]
    pub network: OspfNetworkDoc,
    /// Time between Hello packets, in whole seconds; the device must have the same.
    #[serde(default = "hello")]
    pub hello: Duration,
    /// Time after which a neighbour is lost without a Hello, in whole seconds; the device must have the same. Default:
    /// four times 'hello'.
    pub dead: Option<Duration>,
    /// Cost of the link to the device.
    #[serde(default = "cost")]
    #[schemars(range(min = 1, max = 65_535))]
    pub cost: u32,
    /// MTU to state, at least 1280 with version 3; the device must have the same. Packets are no longer than this, nor than 1500 bytes. Default: that of the port, at
    /// most 1500.
    #[schemars(range(min = 576, max = 65_535))]
    pub mtu: Option<u32>,
    /// Let the device have another MTU.
    #[serde(default)]
    pub ignore_mtu: bool,
    /// Simple password, at most 8 characters; version 3 has none. Default: no authentication.
    #[schemars(length(min = 1, max = 8))]
    pub password: Option<String>,
    /// Key by which packets have MD5 digests (RFC 2328 appendix D), instead of a password; version 3 has none.
    pub md5: Option<OspfMd5Doc>,
    /// Age at which LSAs are originated again, in whole seconds.
    #[serde(default = "refresh")]
    pub refresh: Duration,
    /// Routes to advertise.
    #[serde(default)]
    pub routes: Vec<OspfRoutesDoc>,
    /// Routers to generate behind this one.
    pub topology: Option<OspfTopologyDoc>,
}

impl OspfRouterDoc {
    /// One with nothing but an identifier; `None` is its host's address.
    pub fn new(router_id: Option<Ip>) -> Self {
        Self {
            name: None,
            version: version(),
            host: None,
            router_id,
            area: backbone(),
            instance: 0,
            network: OspfNetworkDoc::default(),
            hello: hello(),
            dead: None,
            cost: cost(),
            mtu: None,
            ignore_mtu: false,
            password: None,
            md5: None,
            refresh: refresh(),
            routes: Vec::new(),
            topology: None,
        }
    }
}

impl OspfDoc {
    /// These routers.
    pub fn new(routers: Vec<OspfRouterDoc>) -> Self {
        Self { routers, rate: flood_rate(), timeout: timeout(), settle: settle(), keep: 0 }
    }
}

impl OspfRoutesDoc {
    /// One prefix.
    pub fn new(prefixes: Network) -> Self {
        Self {
            name: None,
            prefixes,
            count: one(),
            step: one(),
            same: false,
            kind: OspfRouteDoc::default(),
            metric: metric(),
            tag: 0,
            advertise: no_time(),
            withdraw: None,
            flap: None,
        }
    }
}

/// A key for MD5 digests.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OspfMd5")]
pub struct OspfMd5Doc {
    /// Number of the key; the device must have the same.
    #[schemars(range(min = 1, max = 255))]
    pub id: u32,
    /// The key itself.
    #[schemars(length(min = 1, max = 16))]
    pub key: String,
}

/// Network type of a router's link.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum OspfNetworkDoc {
    /// A network of many routers, of which the device is the designated one.
    #[default]
    Broadcast,
    /// A link between two routers.
    PointToPoint,
}

/// Routes that differ by their prefix alone. They are made when they are sent: a million take no memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OspfRoutes")]
pub struct OspfRoutesDoc {
    /// Name for commands to a running trial. Several can have one name.
    pub name: Option<Name>,
    /// The first prefix: of IPv4 with version 2, of IPv6 with version 3.
    pub prefixes: Network,
    /// Number of prefixes of each router.
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
    /// Kind of the routes.
    #[serde(default, rename = "type")]
    pub kind: OspfRouteDoc,
    /// Metric of external and inter-area routes, at most 16,777,214; cost of internal routes at their router, at most
    /// 65,535.
    #[serde(default = "metric")]
    #[schemars(range(max = 16_777_214))]
    pub metric: u32,
    /// Tag of external routes.
    #[serde(default)]
    pub tag: u32,
    /// When to advertise, after the start of traffic. At 0s, traffic starts once the routes were acknowledged.
    #[serde(default = "no_time")]
    pub advertise: Duration,
    /// When to withdraw, after the start of traffic. Default: when traffic has ended.
    pub withdraw: Option<Duration>,
    /// Withdraw and advertise again and again: 'every' at least 5s, 'down' at least 1s.
    pub flap: Option<FlapDoc>,
}

/// Kind of routes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum OspfRouteDoc {
    /// External routes whose metric alone counts: an AS-external LSA each.
    #[serde(rename = "external_2")]
    #[default]
    External2,
    /// External routes whose metric is added to the cost of the way to the router.
    #[serde(rename = "external_1")]
    External1,
    /// Networks of other areas: a summary LSA each, an inter-area-prefix LSA with version 3. The router is an area border router.
    InterArea,
    /// Stub networks of the routers of 'topology', in equal shares; of the router itself if it has none.
    Internal,
}

/// Routers that are generated behind a router, connected by point-to-point links. The first is connected to the router
/// itself. One of 'grid', 'ring' and 'tree' defines the other links.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OspfTopology")]
pub struct OspfTopologyDoc {
    /// Rows of routers, each connected to its neighbours on the left and right, above and below.
    pub grid: Option<GridDoc>,
    /// Number of routers in a ring.
    #[schemars(range(min = 1, max = 10_000))]
    pub ring: Option<u32>,
    /// A tree of routers, whose root is the first.
    pub tree: Option<TreeDoc>,
    /// Cost of each link, in both directions.
    #[serde(default = "cost")]
    #[schemars(range(min = 1, max = 65_535))]
    pub cost: u32,
    /// Router identifier of the first one; each other has the next, those behind the entry's next host follow. Default: the one after
    /// the entry's own routers.
    pub router_id: Option<Ip>,
}

fn version() -> u32 {
    2
}

fn one() -> u32 {
    1
}

fn cost() -> u32 {
    10
}

fn metric() -> u32 {
    20
}

fn backbone() -> OspfArea {
    OspfArea(std::net::Ipv4Addr::UNSPECIFIED)
}

fn flood_rate() -> SessionRate {
    SessionRate(Pps::new(20_000))
}

fn refresh() -> Duration {
    Duration(Nanos::from_secs(1_800))
}

fn timeout() -> Duration {
    Duration(Nanos::from_secs(120))
}

fn settle() -> Duration {
    Duration(Nanos::from_secs(2))
}

fn hello() -> Duration {
    Duration(Nanos::from_secs(10))
}

/// An area: a number, or one that is written like an address.
fn ospf_area(text: &str) -> Option<Ipv4Addr> {
    text.parse().ok().or_else(|| text.parse::<u32>().ok().map(Ipv4Addr::from))
}
