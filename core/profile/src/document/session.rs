//! Entries under `sessions:` as written: clients, servers, load.

use crate::document::app::AppDoc;
use crate::document::content::TextDoc;
use crate::document::end_tunnel::EndTunnelDoc;
use crate::document::options::{IpDoc, Mtu, QuicDoc, TcpDoc, UdpDoc};
use crate::document::pattern::ShapeDoc;
use crate::document::quantity::{
    Addresses, Bytes, DelayText, Duration, EndAddresses, Mac, Name, OpenRateText, PortRange, SessionRate,
    TimeLimit,
};
use crate::document::replay::FirstPortDoc;
use crate::document::tls::TlsForm;
use crate::document::{OneOrMany, VlanId, no_time};
use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Sessions: clients that open connections to servers, and the application on them.
///
/// An end with a 'port' is emulated; an end without is an external host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Sessions", extend("x-renamed" = {
    "requests": "request_rate", "up": "hold", "down": "idle", "timeout": "response_timeout",
}))]
pub struct SessionDoc {
    /// Name of the entry in 'criteria' and the result.
    pub name: Name,
    /// End that opens sessions. Without it, or without its 'port', the clients are external.
    pub client: Option<ClientDoc>,
    /// End that accepts sessions. Without its 'port' the servers are external and 'addresses' is where to reach them.
    pub server: Option<ServerDoc>,
    /// Transport protocol. Default: the application's, or TCP.
    pub transport: Option<TransportDoc>,
    /// Application on the sessions.
    pub app: AppDoc,
    /// Request a tunnel from the server, an explicit proxy, by CONNECT before anything else; TCP only. TLS goes through
    /// it.
    pub tunnel: Option<TunnelDoc>,
    /// TLS around the application; TCP only. That within QUIC, which is always encrypted.
    pub tls: Option<TlsForm>,
    /// Rate of opening sessions, all clients together. Default with 'concurrent': as fast as possible until that many
    /// are open.
    pub open: Option<OpenDoc>,
    /// Rate of closing sessions that have lasted 'hold', all clients together. Default: no limit.
    pub close: Option<SessionRate>,
    /// Rate of requests, or of a program's sends, all clients together; a session waits for its turn. Default: no limit.
    pub request_rate: Option<SessionRate>,
    /// Treatment of requests due by 'request_rate' while no session is free; http, websocket and grpc only.
    #[serde(default)]
    pub late_requests: LateRequestsDoc,
    /// Number of requests, all clients together: then sessions close, and no more are opened; http, websocket and grpc only. Default: until the
    /// duration ends.
    #[schemars(range(min = 1))]
    pub request_count: Option<u64>,
    /// Maximum number of sessions open at a time. Sessions due beyond it are withheld and counted. With 'open: max'
    /// it is the number to reach and hold.
    #[schemars(range(min = 1))]
    pub concurrent: Option<u64>,
    /// Number of sessions to open. Default: until the duration ends.
    #[schemars(range(min = 1))]
    pub count: Option<u64>,
    /// Application data, sent and received by clients, after which no more sessions are opened.
    pub bytes: Option<Bytes>,
    /// Time to open sessions, from 'start_delay' on. Default: until the duration ends.
    #[serde(rename = "for")]
    pub time: Option<Duration>,
    /// Lifetime of a session from its establishment. A session that finishes sooner stays open; one that takes longer
    /// is closed after its transaction. Default: as long as the application takes.
    pub hold: Option<DelayText>,
    /// Idle time between the end of a session and the session that takes its place in 'concurrent'. Default: 0s.
    pub idle: Option<DelayText>,
    /// Delay from the start of traffic to the first session.
    #[serde(default = "no_time")]
    pub start_delay: Duration,
    /// Treatment of open sessions when the run ends.
    #[serde(default)]
    pub at_end: AtEndDoc,
    /// Clients' timeout for the next byte of a response, and for the TLS handshake. Exceeding it is the failure
    /// 'response_timeout'.
    #[serde(default = "response_time")]
    pub response_timeout: TimeLimit,
    /// Servers' timeout for data from a client. Exceeding it is the failure 'idle_timeout'.
    #[serde(default = "no_limit")]
    pub idle_timeout: TimeLimit,
    /// Compare received data with what the other end sends, byte by byte. Both ends must be emulated.
    #[serde(default)]
    pub verify: bool,
    /// Order of the pairs of client and server.
    #[serde(default)]
    pub order: PairOrderDoc,
    /// TCP options of both ends.
    pub tcp: Option<TcpDoc>,
    /// UDP options of both ends.
    pub udp: Option<UdpDoc>,
    /// QUIC options of both ends, with 'transport: quic', WebSocket over HTTP/3 and DNS over it. HTTP/3 has them in 'http'.
    pub quic: Option<QuicDoc>,
    /// IP options of both ends.
    pub ip: Option<IpDoc>,
    /// MTU of both ends: largest IP packet, bytes.
    pub mtu: Option<Mtu>,
    /// VLAN of both ends, or a list from the outermost inwards. Default: the ports' VLANs.
    pub vlan: Option<OneOrMany<VlanId>>,
}

impl SessionDoc {
    /// An entry with only a name and an application.
    pub fn new(name: Name, app: AppDoc) -> Self {
        Self {
            name,
            client: None,
            server: None,
            transport: None,
            app,
            tunnel: None,
            tls: None,
            open: None,
            close: None,
            request_rate: None,
            late_requests: LateRequestsDoc::default(),
            request_count: None,
            concurrent: None,
            count: None,
            bytes: None,
            time: None,
            hold: None,
            idle: None,
            start_delay: no_time(),
            at_end: AtEndDoc::default(),
            response_timeout: response_time(),
            idle_timeout: no_limit(),
            verify: false,
            order: PairOrderDoc::default(),
            tcp: None,
            udp: None,
            quic: None,
            ip: None,
            mtu: None,
            vlan: None,
        }
    }
}

impl SessionDoc {
    /// Whether the transport of sessions is QUIC; HTTP/3 uses it without this.
    pub fn is_quic(&self) -> bool {
        self.transport == Some(TransportDoc::Quic)
    }

    /// Whether messages go in DATAGRAM frames of QUIC.
    pub fn is_in_datagrams(&self) -> bool {
        self.is_quic() && self.quic.as_ref().is_some_and(|quic| quic.datagrams == Some(true))
    }

    /// Whether one of the profile's ports has clients of it.
    pub fn has_clients(&self) -> bool {
        self.client.as_ref().is_some_and(|client| client.port.is_some())
    }

    /// Whether the transport of sessions is HTTPS.
    pub fn is_https(&self) -> bool {
        self.transport == Some(TransportDoc::Https)
    }

    /// Whether sessions over TCP have TLS: HTTPS has unless that is turned off, others if it is there.
    pub fn has_tls(&self) -> bool {
        self.tls.as_ref().map_or(self.is_https(), |tls| tls.resolved().is_some())
    }
}

/// A tunnel through an explicit proxy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Tunnel")]
pub struct TunnelDoc {
    /// Where it leads: a name or address, and a port: 'www.example.com:443'.
    pub to: TextDoc,
    /// More header fields of the request, in this order.
    #[serde(default)]
    pub headers: IndexMap<String, TextDoc>,
}

fn response_time() -> TimeLimit {
    TimeLimit(Some(units::Nanos::from_secs(30)))
}

fn no_limit() -> TimeLimit {
    TimeLimit(None)
}

/// The end that opens sessions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Client")]
pub struct ClientDoc {
    /// Port of emulated clients. Leave it out if the clients are external.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "port_name")]
    pub port: Option<String>,
    /// Addresses of clients; the port replies for all of them. Default: the port's own.
    pub addresses: Option<AddressesDoc>,
    /// Hosts of the port that the clients are: those whose own addresses they have, instead of 'addresses'; or the clients that are
    /// behind each, in its VLAN and by its gateway.
    pub hosts: Option<EndHostsDoc>,
    /// Source ports of clients. Default: 1024..65535.
    pub ports: Option<PortRange>,
    /// The port each client begins with: the first of 'ports', or one spread over them: of n ports client i, from 0, begins
    /// with number ((214013 * i + 2531011) mod 65536) mod (n - 1) + 1.
    #[serde(default, skip_serializing_if = "is_first")]
    pub first_port: FirstPortDoc,
    /// MAC address to send to, or one for each of 'hosts'. Default: the next hop's, resolved.
    pub mac: Option<NextHopDoc>,
    /// TCP options of clients; override the options for both ends.
    pub tcp: Option<TcpDoc>,
    /// UDP options of clients; override the options for both ends.
    pub udp: Option<UdpDoc>,
    /// IP options of clients; override the options for both ends.
    pub ip: Option<IpDoc>,
    /// MTU of clients: largest IP packet, bytes.
    pub mtu: Option<Mtu>,
    /// VLAN of clients, or a list from the outermost inwards. In a 'tunnel' those inside.
    pub vlan: Option<OneOrMany<VlanId>>,
    /// Tunnel around the clients' packets. 'addresses' are those inside.
    pub tunnel: Option<EndTunnelDoc>,
}

fn is_first(begin: &FirstPortDoc) -> bool {
    *begin == FirstPortDoc::First
}

/// End that accepts sessions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Server")]
pub struct ServerDoc {
    /// Port of emulated servers. Leave it out if the servers are external.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "port_name")]
    pub port: Option<String>,
    /// Addresses of servers; the port replies for all of them. Default: the port's own.
    pub addresses: Option<AddressesDoc>,
    /// Hosts of the port that the servers are: those whose own addresses they have, instead of 'addresses'; or the servers that are
    /// behind each. The same servers may be behind several hosts in different VLANs.
    pub hosts: Option<EndHostsDoc>,
    /// Ports of servers. Default: the application's: 80 for http, websocket and grpc (443 with TLS), 53 for dns (853 over TLS and QUIC, 443
    /// over HTTPS), 862 for stamp, 7 for echo, 9 for discard, 19 for chargen, the capture's for pcap.
    pub ports: Option<PortRange>,
    /// TCP options of servers; override the options for both ends.
    pub tcp: Option<TcpDoc>,
    /// UDP options of servers; override the options for both ends.
    pub udp: Option<UdpDoc>,
    /// IP options of servers; override the options for both ends.
    pub ip: Option<IpDoc>,
    /// MTU of servers: largest IP packet, bytes.
    pub mtu: Option<Mtu>,
    /// VLAN of servers, or a list from the outermost inwards. In a 'tunnel' those inside.
    pub vlan: Option<OneOrMany<VlanId>>,
    /// Tunnel around the servers' packets. 'addresses' are those inside.
    pub tunnel: Option<EndTunnelDoc>,
}

/// A port of the profile by name. A number in its place is a port of TCP or UDP: the reader takes it for 'ports'.
fn port_name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "x-number": "ports"})
}

/// Addresses of one end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AddressesDoc {
    /// One, a range or a network; or the addresses of DHCP clients.
    One(EndAddresses),
    /// Several of those.
    List(Vec<Addresses>),
    /// Those with their relative frequencies.
    Weights(IndexMap<String, AddressWeight>),
}

/// Relative frequency of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub struct AddressWeight(#[schemars(range(min = 1, max = 1_000))] pub u32);

impl JsonSchema for AddressesDoc {
    fn schema_name() -> Cow<'static, str> {
        "Addresses".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (text, weight) =
            (generator.subschema_for::<Addresses>(), generator.subschema_for::<AddressWeight>());
        let one = generator.subschema_for::<EndAddresses>();
        json_schema!({
            "description": "Addresses of one end, all IPv4 or all IPv6: one ('10.0.0.10'), a range \
                ('10.0.0.10..10.0.0.250'), the hosts of a network ('10.1.0.0/16'), a list of those, or those with the \
                relative number of sessions of each address ('{10.0.0.10: 3, 10.0.0.11..10.0.0.20: 1}'). For clients also \
                'dhcp': the addresses that the port's DHCP clients get, or 'pppoe': the addresses of its PPPoE clients, each in its \
                PPPoE session.",
            "anyOf": [
                one,
                {"type": "array", "items": text, "minItems": 1},
                {
                    "type": "object",
                    "propertyNames": {"format": "addresses"},
                    "additionalProperties": weight,
                    "minProperties": 1,
                    "x-noun": "range of addresses",
                },
            ],
        })
    }
}

/// Which hosts of a port an end is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum EndHostsDoc {
    /// Those with these names, with their own addresses.
    Named(OneOrMany<String>),
    /// Addresses behind each.
    Behind(IndexMap<String, AddressesDoc>),
}

impl JsonSchema for EndHostsDoc {
    fn schema_name() -> Cow<'static, str> {
        "EndHosts".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Hosts of a port that are an end of sessions: a name or a list of names (that of an entry with 'count' \
                means all its hosts), or the addresses behind each host ('{red: 16.0.0.1..16.0.0.99, blue: 16.0.1.0/24}'). \
                With 'addresses', this assigns them to hosts, and 'addresses' sets their order.",
            "anyOf": [
                {"type": "string"},
                {"type": "array", "items": {"type": "string"}},
                {
                    "type": "object",
                    "additionalProperties": generator.subschema_for::<AddressesDoc>(),
                    "minProperties": 1,
                    "x-noun": "host",
                },
            ],
        })
    }
}

/// Where clients send to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum NextHopDoc {
    /// All to the same.
    One(Mac),
    /// By host.
    ByHost(IndexMap<String, Mac>),
}

impl JsonSchema for NextHopDoc {
    fn schema_name() -> Cow<'static, str> {
        "NextHop".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Where clients send to: a MAC address, or one for each of their hosts.",
            "anyOf": [
                generator.subschema_for::<Mac>(),
                {
                    "type": "object",
                    "additionalProperties": generator.subschema_for::<Mac>(),
                    "minProperties": 1,
                    "x-noun": "host",
                },
            ],
        })
    }
}

/// Transport protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum TransportDoc {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
    /// QUIC, over UDP; dns, raw and program only.
    Quic,
    /// HTTPS: HTTP/2 over TLS over TCP, or another 'version' of HTTP; dns only.
    Https,
}

/// Order of the pairs of client and server.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum PairOrderDoc {
    /// Every client with every server, in turn: all clients with the first server, then with the next.
    #[default]
    Sequential,
    /// Every client with every server, at random.
    Random,
    /// The first client with the first server, the next with the next, each side round by itself; a side's port advances with
    /// each of its rounds.
    InStep,
}

/// Treatment of requests that are due while no session is free.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum LateRequestsDoc {
    /// They are left out: the rate is kept, not made up for.
    #[default]
    Skip,
    /// They are sent as soon as a session is free. 'ttfb_due_ns' and 'ttlb_due_ns' count from when they were due.
    Send,
}

/// Treatment of open sessions when the run ends.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum AtEndDoc {
    /// Close each after its transaction.
    #[default]
    Close,
    /// Reset them.
    Reset,
}

/// Rate of opening sessions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OpenDoc {
    /// A rate, or as fast as possible.
    Rate(OpenRateText),
    /// A rate that changes.
    Shape(OpenShape),
}

/// A rate that changes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OpenShape {
    /// Up, level, and down.
    Ramp(RampDoc),
    /// Points over time.
    Curve(OpenCurveDoc),
}

/// A ramp from zero to a rate, a plateau, and a ramp back to zero.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Ramp")]
pub struct RampDoc {
    /// Rate of the plateau.
    pub rate: SessionRate,
    /// Time to reach the rate.
    #[serde(default = "no_time")]
    pub up: Duration,
    /// Length of the plateau. Default: until the ramp down must start to end with the run.
    pub hold: Option<Duration>,
    /// Time to fall to zero.
    #[serde(default = "no_time")]
    pub down: Duration,
}

/// A rate over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OpenCurve")]
pub struct OpenCurveDoc {
    /// Points of the curve at increasing times. The first rate also applies before, the last one after.
    #[schemars(length(min = 1))]
    pub points: Vec<OpenPointDoc>,
    /// Shape between two points.
    #[serde(default)]
    pub shape: ShapeDoc,
}

/// A point of a curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OpenPoint")]
pub struct OpenPointDoc {
    /// Time since 'start_delay'.
    pub at: Duration,
    /// Rate at that time; zero is allowed.
    pub rate: SessionRate,
}

impl JsonSchema for OpenDoc {
    fn schema_name() -> Cow<'static, str> {
        "Open".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Rate of opening sessions: a rate ('10000/s', '10k/s'), 'max' for as fast as 'concurrent' \
                allows, or a mapping with one of the keys below.",
            "anyOf": [
                generator.subschema_for::<OpenRateText>(),
                {
                    "type": "object",
                    "properties": {
                        "ramp": generator.subschema_for::<RampDoc>(),
                        "curve": generator.subschema_for::<OpenCurveDoc>(),
                    },
                    "additionalProperties": false,
                    "minProperties": 1,
                    "maxProperties": 1,
                    "x-noun": "shape",
                },
            ],
        })
    }
}
