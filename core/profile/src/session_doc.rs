//! Entries under `sessions:` as written: who talks to whom, how often, for how long.

use crate::app_doc::AppDoc;
use crate::document::{OneOrMany, VlanId, no_time};
use crate::options_doc::{IpDoc, Mtu, TcpDoc, UdpDoc};
use crate::pattern_doc::ShapeDoc;
use crate::quantity::{
    Addresses, Bytes, DelayText, Duration, Mac, Name, OpenRateText, PortRange, SessionRate, TimeLimit,
};
use crate::tls_doc::TlsForm;
use crate::vary_doc::OrderDoc;
use indexmap::IndexMap;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// Sessions: clients that open connections to servers, and what they say to each other.
///
/// An end with a 'port' is played here; an end without is someone else's.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Sessions", extend("x-renamed" = {
    "requests": "request_rate", "up": "hold", "down": "idle", "timeout": "response_timeout",
}))]
pub(crate) struct SessionDoc {
    /// The entry's name, used in 'criteria' and the result.
    pub(crate) name: Name,
    /// The end that opens sessions. Without it, or without its 'port', clients are someone else's.
    pub(crate) client: Option<ClientDoc>,
    /// The end that waits for sessions. Without its 'port', servers are someone else's, and 'addresses' says where.
    pub(crate) server: Option<ServerDoc>,
    /// What carries sessions. Without it: what the application goes over, or TCP.
    pub(crate) transport: Option<TransportDoc>,
    /// What is said.
    pub(crate) app: AppDoc,
    /// Encryption around the application. TCP only.
    pub(crate) tls: Option<TlsForm>,
    /// How fast sessions are opened, all clients together. Without it, and with 'concurrent': as fast as can be until
    /// so many are there.
    pub(crate) open: Option<OpenDoc>,
    /// Rate of closing sessions that have lasted 'hold', all clients together. Default: no limit.
    pub(crate) close: Option<SessionRate>,
    /// Rate of requests, or of a program's sends, all clients together; a session waits for its turn. Default: no limit.
    pub(crate) request_rate: Option<SessionRate>,
    /// Sessions there may be at a time. Those due beyond that are withheld, and counted. With 'open: max' it is the
    /// number that is reached and held.
    #[schemars(range(min = 1))]
    pub(crate) concurrent: Option<u64>,
    /// Stop opening after so many sessions. Without it: until the duration ends.
    #[schemars(range(min = 1))]
    pub(crate) count: Option<u64>,
    /// Stop opening when clients' applications have sent and received so many bytes.
    pub(crate) bytes: Option<Bytes>,
    /// Stop opening after so long, counted from 'start_delay'.
    #[serde(rename = "for")]
    pub(crate) time: Option<Duration>,
    /// How long a session lasts once it is established. A session that finishes sooner stays open; one that takes longer
    /// is closed after its transaction. Default: as long as the application takes.
    pub(crate) hold: Option<DelayText>,
    /// Idle time between the end of a session and the session that takes its place in 'concurrent'. Default: 0s.
    pub(crate) idle: Option<DelayText>,
    /// From the start of traffic to the first session.
    #[serde(default = "no_time")]
    pub(crate) start_delay: Duration,
    /// What becomes of open sessions when the run ends.
    #[serde(default)]
    pub(crate) at_end: AtEndDoc,
    /// How long clients wait for the next byte of a response, and for the handshake of TLS. Longer is the failure
    /// 'response_timeout'.
    #[serde(default = "response_time")]
    pub(crate) response_timeout: TimeLimit,
    /// How long servers wait for something from a client. Longer is the failure 'idle_timeout'.
    #[serde(default = "no_limit")]
    pub(crate) idle_timeout: TimeLimit,
    /// Compare what is received with what the other end is known to send, byte by byte. Both ends must be played here.
    #[serde(default)]
    pub(crate) verify: bool,
    /// In which order pairs of client and server address are gone through.
    #[serde(default)]
    pub(crate) order: OrderDoc,
    /// TCP of both ends.
    pub(crate) tcp: Option<TcpDoc>,
    /// UDP of both ends.
    pub(crate) udp: Option<UdpDoc>,
    /// IP of both ends.
    pub(crate) ip: Option<IpDoc>,
    /// Largest IP packet of both ends, bytes.
    pub(crate) mtu: Option<Mtu>,
    /// VLAN of both ends, or a list from the outermost in. Without it: those of the ports.
    pub(crate) vlan: Option<OneOrMany<VlanId>>,
}

fn response_time() -> TimeLimit {
    TimeLimit(Some(units::Nanos::from_secs(30)))
}

fn no_limit() -> TimeLimit {
    TimeLimit(None)
}

/// The end that opens sessions.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Client")]
pub(crate) struct ClientDoc {
    /// Port clients are played on. Leave it out if they are someone else's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "port_name")]
    pub(crate) port: Option<String>,
    /// Addresses of clients. Without them: the port's own. The port answers for all of them.
    pub(crate) addresses: Option<AddressesDoc>,
    /// Ports clients open from: 1024..65535 unless given.
    pub(crate) ports: Option<PortRange>,
    /// Hardware address to send to, instead of asking for that of the next hop.
    pub(crate) mac: Option<Mac>,
    /// TCP of clients; wins over what both ends have.
    pub(crate) tcp: Option<TcpDoc>,
    /// UDP of clients; wins over what both ends have.
    pub(crate) udp: Option<UdpDoc>,
    /// IP of clients; wins over what both ends have.
    pub(crate) ip: Option<IpDoc>,
    /// Largest IP packet of clients, bytes.
    pub(crate) mtu: Option<Mtu>,
    /// VLAN of clients, or a list from the outermost in.
    pub(crate) vlan: Option<OneOrMany<VlanId>>,
}

/// The end that waits for sessions.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Server")]
pub(crate) struct ServerDoc {
    /// Port servers are played on. Leave it out if they are someone else's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "port_name")]
    pub(crate) port: Option<String>,
    /// Addresses of servers. Without them: the port's own. The port answers for all of them.
    pub(crate) addresses: Option<AddressesDoc>,
    /// Ports servers are reached at. Without them the application's: 80 for http (443 with TLS), 53 for dns, 7 for echo,
    /// 9 for discard, 19 for chargen, the capture's for pcap.
    pub(crate) ports: Option<PortRange>,
    /// TCP of servers; wins over what both ends have.
    pub(crate) tcp: Option<TcpDoc>,
    /// UDP of servers; wins over what both ends have.
    pub(crate) udp: Option<UdpDoc>,
    /// IP of servers; wins over what both ends have.
    pub(crate) ip: Option<IpDoc>,
    /// Largest IP packet of servers, bytes.
    pub(crate) mtu: Option<Mtu>,
    /// VLAN of servers, or a list from the outermost in.
    pub(crate) vlan: Option<OneOrMany<VlanId>>,
}

/// A port of the profile by name. A number in its place is a port of TCP or UDP: the reader takes it for 'ports'.
fn port_name(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "string", "x-number": "ports"})
}

/// Addresses of one end.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum AddressesDoc {
    One(Addresses),
    List(Vec<Addresses>),
    Weights(IndexMap<String, AddressWeight>),
}

/// How often addresses come in relation to others.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct AddressWeight(#[schemars(range(min = 1, max = 1_000))] pub(crate) u32);

impl JsonSchema for AddressesDoc {
    fn schema_name() -> Cow<'static, str> {
        "Addresses".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (text, weight) =
            (generator.subschema_for::<Addresses>(), generator.subschema_for::<AddressWeight>());
        json_schema!({
            "description": "Addresses of one end, all IPv4 or all IPv6: one ('10.0.0.10'), a range \
                ('10.0.0.10..10.0.0.250'), the hosts of a network ('10.1.0.0/16'), a list of those, or those with how \
                many sessions each address has in relation to the others ('{10.0.0.10: 3, 10.0.0.11..10.0.0.20: 1}').",
            "anyOf": [
                text,
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

/// What carries sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum TransportDoc {
    /// TCP.
    Tcp,
    /// UDP.
    Udp,
}

/// What becomes of open sessions when the run ends.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum AtEndDoc {
    /// They are closed once their transaction is done.
    #[default]
    Close,
    /// They are reset.
    Reset,
}

/// How fast sessions are opened.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub(crate) enum OpenDoc {
    Rate(OpenRateText),
    Shape(OpenShape),
}

/// A rate that changes.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OpenShape {
    Ramp(RampDoc),
    Curve(OpenCurveDoc),
}

/// From nothing to a rate, staying there, and back to nothing.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Ramp")]
pub(crate) struct RampDoc {
    /// The rate at the top.
    pub(crate) rate: SessionRate,
    /// From nothing to the rate.
    #[serde(default = "no_time")]
    pub(crate) up: Duration,
    /// How long the rate stays. Without it: until the way down must begin to end with the run.
    pub(crate) hold: Option<Duration>,
    /// From the rate to nothing.
    #[serde(default = "no_time")]
    pub(crate) down: Duration,
}

/// A rate over time.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OpenCurve")]
pub(crate) struct OpenCurveDoc {
    /// Points of the curve, at increasing times. Before the first its rate holds, behind the last its rate.
    #[schemars(length(min = 1))]
    pub(crate) points: Vec<OpenPointDoc>,
    /// What is between two points.
    #[serde(default)]
    pub(crate) shape: ShapeDoc,
}

/// A point of a curve.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "OpenPoint")]
pub(crate) struct OpenPointDoc {
    /// Since 'start_delay'.
    pub(crate) at: Duration,
    /// The rate there; zero is allowed.
    pub(crate) rate: SessionRate,
}

impl JsonSchema for OpenDoc {
    fn schema_name() -> Cow<'static, str> {
        "Open".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "How fast sessions are opened: a rate ('10000/s', '10k/s'), 'max' for as fast as 'concurrent' \
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
