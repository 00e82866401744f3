//! One entry under `sessions:` of a profile, with nothing left to guess. Pure data.
//!
//! Not here: execution (`apps`, `load`), hardware addresses and next hops, which belong to the owner of the ports.
//!
//! Invariant: every variable part is a function of numbers and seeds in the plan. A session's number counts the
//! sessions its side opened (a server: accepted), from 0, modulo 2^32; a request's number counts the requests of its
//! session.

pub use crate::dns::{DnsAnswer, DnsHttps, DnsPlan, DnsQuery, DnsRule};
pub use crate::grpc::{GrpcExpect, GrpcKind, GrpcPlan, GrpcServer};
pub use crate::http::{
    AgentPlan, EarlyData, HttpBody, HttpClose, HttpPath, HttpPlan, HttpRequest, HttpRule, HttpServer,
    HttpVersion, LoggedRequest, Method, Migrate, QuicPlan, RequestBody, RequestLog,
};
pub use crate::program::{Expect, Op, Program, TIMED_MAX};
pub use crate::stamp::StampPlan;
pub use crate::tunnel::TunnelPlan;
pub use crate::vary::{By, Content, Delay, PairOrder, Part, SelectionOrder, Size, Values, Weighted};
pub use crate::websocket::{WebsocketCompression, WebsocketExpect, WebsocketPlan};
pub use ::grpc::Status as GrpcStatus;
pub use ::stamp::{
    Form as StampForm, Format as StampFormat, HEADER as STAMP_HEADER, Key as StampKey, PORT as STAMP_PORT,
};
pub use websocket::{Deflate, Kind as WebsocketKind};

use std::net::IpAddr;
use std::ops::RangeInclusive;
use std::sync::Arc;
use tcp::{TcpOptions, UdpOptions};
use units::{Nanos, Pps};
use wire::Vlans;
use wire::tunnel::{PppoeLinks, Tunnel};

/// Carrier of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Carrier {
    /// TCP.
    Tcp,
    /// UDP: a session is the exchange between two addresses and ports.
    Udp,
}

impl From<Carrier> for tcp::Transport {
    fn from(carrier: Carrier) -> Self {
        match carrier {
            Carrier::Tcp => Self::Tcp,
            Carrier::Udp => Self::Udp,
        }
    }
}

/// The two ends of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The end that opens it.
    Client,
    /// The end that waits for it.
    Server,
}

/// An entry under `sessions:`.
#[derive(Debug, Clone)]
pub struct SessionPlan {
    /// Its name in the profile.
    pub name: String,
    /// Carrier.
    pub carrier: Carrier,
    /// The clients' end; `None` if it is someone else's.
    pub client: Option<SidePlan>,
    /// The servers' end; `None` if it is someone else's.
    pub server: Option<SidePlan>,
    /// Where clients are; without addresses if they are someone else's.
    pub clients: PoolPlan,
    /// Addresses of the servers, emulated or external. Of the same family as the clients.
    pub servers: PoolPlan,
    /// In which order pairs of client and server are gone through.
    pub order: PairOrder,
    /// Application: one, or several by weight.
    pub mix: Mix,
    /// A tunnel through the server, which is a proxy, before anything else: below the encryption. TCP only, for clients.
    pub tunnel: Option<Arc<TunnelPlan>>,
    /// Encryption around every application; `None` is in the clear. Over UDP it is that of QUIC.
    pub tls: Option<Arc<TlsPlan>>,
    /// How applications use QUIC, except HTTP/3, whose plan has its settings.
    pub quic: QuicOptions,
    /// When sessions are opened and closed; without meaning if the clients are someone else's.
    pub load: LoadPlan,
    /// Time limits.
    pub patience: Patience,
    /// Whether received data are compared with the other side's known data, byte by byte. A mismatch is the failure
    /// `wrong_content`. Possible if both ends are played from this plan.
    pub verify: bool,
    /// Seed of everything without its own seed: the member of a mix that a session runs, ports, contents.
    pub seed: u64,
}

impl SessionPlan {
    /// Whether its sessions are connections of QUIC, all of them.
    pub fn is_quic(&self) -> bool {
        self.carrier == Carrier::Udp && self.tls.is_some()
    }

    /// The log whose requests its clients send, if there is one.
    pub fn request_log(&self) -> Option<&RequestLog> {
        self.mix.members.iter().find_map(|member| match &member.app {
            AppPlan::Http(http) => http.agent.log.as_deref(),
            _ => None,
        })
    }

    /// Carrier of an application of its mix.
    pub fn carrier_of(&self, member: usize) -> Carrier {
        if self.mix.members[member].is_alternative { Carrier::Udp } else { self.carrier }
    }

    /// Whether the sessions of an application of its mix are connections of QUIC.
    pub fn is_quic_of(&self, member: usize) -> bool {
        self.carrier_of(member) == Carrier::Udp && self.tls.is_some()
    }
}

/// How an entry uses QUIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuicOptions {
    /// Clients.
    pub client: QuicPlan,
    /// Whether servers have clients prove their address first, by a Retry packet.
    pub retry: bool,
    /// Whether servers accept early data.
    pub early_data: bool,
}

/// One end of a session, played here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SidePlan {
    /// Index of the port.
    pub port: usize,
    /// The hosts of this side, at least one. Counted separately if there are several.
    pub hosts: Vec<SideHost>,
    /// Largest IP packet, bytes.
    pub mtu: u16,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// Type of service, or traffic class: DSCP in the upper six bits.
    pub tos: u8,
    /// TCP.
    pub tcp: TcpOptions,
    /// UDP.
    pub udp: UdpOptions,
    /// The tunnel its packets are in; the VLANs of its one host are then those inside.
    pub tunnel: Option<SideTunnel>,
    /// The PPPoE sessions its packets are in, if clients are the port's PPPoE clients; there is no tunnel then, and no VLAN inside.
    pub pppoe: Option<Arc<PppoeLinks>>,
}

impl SidePlan {
    /// Longest frame, with FCS, bytes: the largest packet and what is around it.
    pub fn frame_len(&self) -> u32 {
        u32::from(self.mtu) + self.around()
    }

    /// The same, as short as it may be where it follows the port's MTU.
    pub fn frame_len_needed(&self) -> u32 {
        let fits = self.tunnel.as_ref().is_some_and(|own| own.fits_mtu);
        if fits { u32::from(self.mtu.min(MTU_LEAST)) + self.around() } else { self.frame_len() }
    }

    /// Bytes of a frame, with FCS, that are not the IP packet's: Ethernet's header and FCS, a tag for each VLAN, and the tunnel
    /// or PPPoE session.
    pub fn around(&self) -> u32 {
        self.around_on(0)
    }

    /// The same on a port whose frames may be longer by `vlan_bytes` if they begin with an 802.1Q tag: without these bytes.
    pub fn around_on(&self, vlan_bytes: u32) -> u32 {
        let outer = match (&self.tunnel, &self.pppoe) {
            (Some(own), _) => Some((own.tunnel.overhead(), &own.vlans)),
            (None, Some(links)) => Some((PppoeLinks::OVERHEAD, links.vlans())),
            (None, None) => None,
        };
        let of = |inner: &Vlans| {
            let more = outer.map_or(0, |(overhead, vlans)| overhead + 4 * vlans.len());
            let free = if outer.map_or(inner, |(_, vlans)| vlans).is_tagged() { vlan_bytes } else { 0 };
            18 + (4 * inner.len() + more) as u32 - free
        };
        self.hosts.iter().map(|host| of(&host.vlans)).max().unwrap_or_else(|| of(&Vlans::NONE))
    }
}

/// Least MTU that a tunnel must leave unless the profile gives one: that of IPv6 (RFC 8200 section 5).
const MTU_LEAST: u16 = 1_280;

/// The tunnel that an end's packets are in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SideTunnel {
    /// Encapsulation of its packets.
    pub tunnel: Tunnel,
    /// Index, on the port, of the host that this end of the tunnel is.
    pub host: usize,
    /// That host's VLANs, outermost first.
    pub vlans: Vlans,
    /// The neighbour of the host that leads to the other end.
    pub hop: IpAddr,
    /// Whether the end's `mtu` is what the port's leaves, and no packet longer than an ordinary one.
    pub fits_mtu: bool,
}

/// A host that plays an end of sessions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SideHost {
    /// Its name in results.
    pub name: String,
    /// VLAN identifiers, outermost first.
    pub vlans: Vlans,
}

/// Addresses and ports of one end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolPlan {
    /// Addresses; all IPv4 or all IPv6.
    pub addresses: Vec<AddressRange>,
    /// Ports. Clients: those they open from. Servers: those they are reached at, unless a member of the mix has its own.
    pub ports: RangeInclusive<u16>,
    /// With which of the ports a client begins; without meaning for servers.
    pub begin: PortBegin,
}

/// With which port a client begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PortBegin {
    /// The first.
    #[default]
    First,
    /// One that is the client's: of `n` ports client *i* begins with that at place
    /// ((214013·*i* + 2531011) mod 2^16) mod (*n* - 1) + 1.
    Spread,
}

/// Some addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AddressRange {
    /// The first.
    pub first: IpAddr,
    /// The last, of the same family and not before the first.
    pub last: IpAddr,
    /// Sessions of each of these addresses relative to other ranges, 1 to 1,000.
    pub weight: u32,
    /// Which of the side's hosts has them; without meaning if the side is someone else's.
    pub host: usize,
}

/// Several applications in one entry.
#[derive(Debug, Clone)]
pub struct Mix {
    /// The applications, at least one.
    pub members: Vec<Member>,
    /// Whether they come by turns, spread out exactly by weight, or by chance.
    pub order: SelectionOrder,
}

impl Mix {
    /// One application.
    pub fn one(app: AppPlan) -> Self {
        let member =
            Member { name: String::new(), weight: 1, app, server_ports: None, is_alternative: false };
        Self { members: vec![member], order: SelectionOrder::Sequential }
    }
}

/// An application of a mix.
#[derive(Debug, Clone)]
pub struct Member {
    /// Its name in results; empty if it is the only one.
    pub name: String,
    /// Sessions of this application relative to others; not zero.
    pub weight: u32,
    /// The application.
    pub app: AppPlan,
    /// The servers' ports for this application alone. An emulated server distinguishes the members of a mix by their
    /// ports: no two may share one, and only one may go without.
    pub server_ports: Option<RangeInclusive<u16>>,
    /// It is HTTP/3 at the same servers as the application before it, for clients that find it announced there (RFC 7838). It goes over
    /// QUIC, and takes no turn in the mix.
    pub is_alternative: bool,
}

/// An application, both of its ends.
#[derive(Debug, Clone)]
pub enum AppPlan {
    /// A program for each end. Raw requests and responses, sources and sinks, and conversations from captures are made
    /// into programs: [`AppPlan::raw`], [`AppPlan::bulk`], [`conversations`](crate::conversations).
    Program {
        /// The client's.
        client: Arc<Program>,
        /// The server's.
        server: Arc<Program>,
    },
    /// The server sends back what it gets; the client follows a program.
    Echo {
        /// The client's.
        client: Arc<Program>,
    },
    /// HTTP.
    Http(Arc<HttpPlan>),
    /// DNS, over what carries the session.
    Dns(Arc<DnsPlan>),
    /// WebSocket.
    Websocket(Arc<WebsocketPlan>),
    /// gRPC.
    Grpc(Arc<GrpcPlan>),
    /// STAMP: test packets and their replies.
    Stamp(Arc<StampPlan>),
}

impl AppPlan {
    /// Requests and responses of these sizes, `requests` on each session (`None`: until it is closed from outside),
    /// with a pause before each request but the first. The client closes.
    pub fn raw(request: Size, response: Size, requests: Option<u32>, think: Delay) -> Self {
        let generated = |size: &Size| Content::generated(size.clone());
        let ask = [Op::Send(generated(&request)), Op::Expect(Expect::Content(generated(&response)))];
        let answer = vec![Op::Expect(Expect::Content(generated(&request))), Op::Send(generated(&response))];
        let again = |times, ops| Op::Repeat { times, ops };
        let client = if think == Delay::NONE {
            vec![again(requests, ask.to_vec())]
        } else {
            let more = [&[Op::Wait(think)], &ask[..]].concat();
            [&ask[..], &[again(requests.map(|n| n.saturating_sub(1)), more)]].concat()
        };
        Self::Program {
            client: Arc::new(Program { ops: client }),
            server: Arc::new(Program { ops: vec![again(requests, answer)] }),
        }
    }

    /// One end sends `bytes` and closes (`None`: sends as long as the session lasts), and the other throws them away: for
    /// goodput. A client that has sent them stays for its time.
    pub fn bulk(from: Side, bytes: Option<u64>) -> Self {
        let send = |bytes| Op::Send(Content::generated(Size::Fixed(bytes)));
        let source = match (bytes, from) {
            // At the end of their programs clients close, and servers wait for them.
            (Some(bytes), Side::Client) => vec![send(bytes)],
            (Some(bytes), Side::Server) => vec![send(bytes), Op::Close],
            (None, _) => vec![Op::Stream],
        };
        let source = Arc::new(Program { ops: source });
        let sink = Arc::new(Program { ops: vec![Op::Expect(Expect::End)] });
        match from {
            Side::Client => Self::Program { client: source, server: sink },
            Side::Server => Self::Program { client: sink, server: source },
        }
    }
}

/// Time limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// A client's wait for the next byte of a response, from its request on; longer is the failure `response_timeout`,
    /// found at once if no byte came, and within twice the time if some did. TLS's handshake has as long. `None` waits
    /// for ever.
    pub response: Option<Nanos>,
    /// A server's wait for something from its client; longer is the failure `idle_timeout`. `None` waits for ever.
    pub idle: Option<Nanos>,
}

impl Default for Patience {
    fn default() -> Self {
        Self { response: Some(Nanos::from_secs(30)), idle: None }
    }
}

/// When sessions are opened, and when they are closed. Times count from the start of traffic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadPlan {
    /// Rate at which sessions are opened.
    pub open: OpenRate,
    /// Sessions there may be at a time: those due beyond that are not opened, and counted as withheld. With
    /// [`OpenRate::Max`] it is the number that is reached at once and held; `None` is then [`LoadPlan::MAX_CONCURRENT`].
    pub concurrent: Option<u64>,
    /// Initial time without openings.
    pub start_delay: Nanos,
    /// Sessions to open in all; `None` is until the end.
    pub count: Option<u64>,
    /// Bytes of the clients' applications, sent and received, after which nothing more is opened; `None` is until the end.
    pub bytes: Option<u64>,
    /// Time after `start_delay` from which on nothing more is opened; `None` is until the end.
    pub time: Option<Nanos>,
    /// Time for which a session lasts once it is established: an application that is done sooner stays, one that is not
    /// is closed after its current transaction. `None`: as long as the application takes.
    pub up: Option<Delay>,
    /// From a session's end until its place in `concurrent` is free again.
    pub down: Delay,
    /// Sessions closed by clients each second, all clients together; `None` is as they come.
    pub close_rate: Option<Pps>,
    /// Requests (a program's sends) of clients each second, all clients together; `None` is as they come. A session
    /// whose turn has not come waits.
    pub request_rate: Option<Pps>,
    /// Whether a request for which no session is free when its turn comes is sent late, as soon as one is, instead of never;
    /// times are then counted from when it was due, too. Of HTTP.
    pub late: bool,
    /// Requests of all clients together, after which their sessions close and no more are opened; `None` is without end. Of HTTP.
    pub request_count: Option<u64>,
    /// Treatment of open sessions when the run ends.
    pub at_end: AtEnd,
}

impl LoadPlan {
    /// Default of [`LoadPlan::concurrent`] if there is no other limit.
    pub const MAX_CONCURRENT: u64 = 1_000;

    /// This rate of sessions until the end.
    pub fn at(open: OpenRate) -> Self {
        Self {
            open,
            concurrent: None,
            start_delay: Nanos::ZERO,
            count: None,
            bytes: None,
            time: None,
            up: None,
            down: Delay::NONE,
            close_rate: None,
            request_rate: None,
            late: false,
            request_count: None,
            at_end: AtEnd::Close,
        }
    }
}

/// A part of an entry's load, in times since the start of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Phase {
    /// `ramp_up`, `sustain` or `ramp_down`.
    pub name: &'static str,
    /// When it begins.
    pub from: Nanos,
    /// When it is over.
    pub to: Nanos,
}

impl Phase {
    /// Names of phases, in order.
    pub const NAMES: [&str; 3] = ["ramp_up", "sustain", "ramp_down"];
}

impl LoadPlan {
    /// The way to the highest rate, the time from its first instant to its last, and the way down, until `end` at most. None
    /// if the rate is always the same.
    pub fn phases(&self, end: Nanos) -> Vec<Phase> {
        let OpenRate::Curve(RateCurve { points }) = &self.open else { return Vec::new() };
        let Some(highest) = points.iter().map(|point| point.1).max() else { return Vec::new() };
        let end = end.min(self.time.map_or(Nanos::MAX, |time| self.start_delay.saturating_add(time)));
        let at = |time: Nanos| self.start_delay.saturating_add(time).min(end);
        let is_highest = |point: &&(Nanos, Pps)| point.1 == highest;
        let first = points.iter().find(is_highest).map_or(Nanos::ZERO, |point| point.0);
        let last = points.iter().rfind(is_highest).map_or(Nanos::ZERO, |point| point.0);
        let stays = points.last().is_some_and(|point| point.1 == highest);
        let over = points.last().map_or(Nanos::ZERO, |point| point.0);
        let times = [
            at(Nanos::ZERO),
            at(first),
            if stays { end } else { at(last) },
            if stays { end } else { at(over) },
        ];
        let spans = Phase::NAMES.into_iter().zip(times.windows(2));
        spans
            .filter(|(_, span)| span[0] < span[1])
            .map(|(name, span)| Phase { name, from: span[0], to: span[1] })
            .collect()
    }
}

/// Rate at which sessions are opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OpenRate {
    /// As fast as [`LoadPlan::concurrent`] allows.
    Max,
    /// This number each second; the first immediately.
    Constant(Pps),
    /// A rate that goes in straight lines from point to point.
    Curve(RateCurve),
}

/// A rate over time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateCurve {
    /// Times since `start_delay`, increasing, and sessions per second there. Before the first its rate holds, after the
    /// last the last one's. Two points at one time are a step.
    pub points: Vec<(Nanos, Pps)>,
}

impl RateCurve {
    /// From nothing to `rate` in `ramp_up`, staying there for `sustain`, back to nothing in `ramp_down`.
    pub fn ramp(rate: Pps, ramp_up: Nanos, sustain: Nanos, ramp_down: Nanos) -> Self {
        let top = ramp_up.saturating_add(sustain);
        let end = top.saturating_add(ramp_down);
        Self { points: vec![(Nanos::ZERO, Pps::ZERO), (ramp_up, rate), (top, rate), (end, Pps::ZERO)] }
    }
}

/// Treatment of open sessions when the run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AtEnd {
    /// They are closed once their transaction is done.
    Close,
    /// They are reset.
    Reset,
}

/// TLS around the applications of an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsPlan {
    /// Whether version 1.2 may be agreed upon.
    pub tls12: bool,
    /// Whether version 1.3 may be agreed upon.
    pub tls13: bool,
    /// Cipher suites by their IANA names, best first; empty is all there are.
    pub suites: Vec<String>,
    /// Key exchange groups by their IANA names (`x25519`, `secp256r1`, …), best first; empty is all there are.
    pub groups: Vec<String>,
    /// Application protocols offered and taken (`http/1.1`), best first; empty is none.
    pub alpn: Vec<String>,
    /// File that secrets of connections are appended to.
    pub key_log: Option<String>,
    /// Settings of clients.
    pub client: TlsClient,
    /// Settings of servers.
    pub server: TlsServer,
}

/// Settings of TLS clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsClient {
    /// The server's name in the handshake (SNI), by the session's number; `None` sends none.
    pub server_name: Option<Content>,
    /// Whether sessions are resumed (tickets, session identifiers), and how many are kept for that.
    pub resumption: Option<u32>,
    /// Certificate for servers that request one.
    pub identity: Option<Identity>,
    /// Verification of servers' certificates.
    pub verify: TlsVerify,
    /// Handshakes that one key share serves; `None`: one each.
    pub key_share_reuse: Option<u32>,
}

/// Verification of a server's certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsVerify {
    /// Any certificate is good; the signature over the handshake must be right.
    Off,
    /// Nothing at all: neither a certificate nor the signature over the handshake is read.
    Nothing,
    /// These root certificates, PEM.
    Roots(Arc<[u8]>),
    /// The root that was generated for the server played here.
    Generated,
}

/// Settings of TLS servers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsServer {
    /// Certificate.
    pub identity: ServerIdentity,
    /// Tickets given to each client of version 1.3; of version 1.2 one if not zero. 0: nothing can be resumed.
    pub tickets: u8,
    /// Roots, PEM, to verify clients' certificates; `None` requests no certificate.
    pub client_roots: Option<Arc<[u8]>>,
}

/// Certificate of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerIdentity {
    /// A certificate from files.
    Given(Identity),
    /// A certificate made for the run.
    Generated {
        /// Names it is good for.
        names: Vec<String>,
        /// Its key.
        key: KeyKind,
    },
}

/// A certificate and its key.
#[derive(Clone, PartialEq, Eq)]
pub struct Identity {
    /// The certificate and those between it and a root, PEM.
    pub chain: Arc<[u8]>,
    /// The private key, PEM.
    pub key: Arc<[u8]>,
}

impl std::fmt::Debug for Identity {
    /// Keys are not for printing.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Identity").field("chain_bytes", &self.chain.len()).finish_non_exhaustive()
    }
}

/// The kind of a generated key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyKind {
    /// ECDSA on P-256.
    EcdsaP256,
    /// ECDSA on P-384.
    EcdsaP384,
    /// RSA with 2,048 bits.
    Rsa2048,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn phases_follow_the_rate() {
        let seconds = Nanos::from_secs;
        let load = |open| LoadPlan { start_delay: seconds(1), ..LoadPlan::at(open) };
        let spans = |load: &LoadPlan, end| {
            let phases = load.phases(seconds(end)).into_iter();
            phases
                .map(|one| (one.name, one.from.0 / 1_000_000_000, one.to.0 / 1_000_000_000))
                .collect::<Vec<_>>()
        };
        let rate = Pps::new(100);
        let ramp = load(OpenRate::Curve(RateCurve::ramp(rate, seconds(2), seconds(5), seconds(1))));
        assert_eq!(spans(&ramp, 60), [("ramp_up", 1, 3), ("sustain", 3, 8), ("ramp_down", 8, 9)]);
        assert_eq!(spans(&ramp, 5), [("ramp_up", 1, 3), ("sustain", 3, 5)]);
        let short = LoadPlan { time: Some(seconds(1)), ..ramp };
        assert_eq!(spans(&short, 60), [("ramp_up", 1, 2)]);
        let stays = RateCurve { points: vec![(seconds(0), Pps::ZERO), (seconds(2), rate)] };
        assert_eq!(spans(&load(OpenRate::Curve(stays)), 10), [("ramp_up", 1, 3), ("sustain", 3, 10)]);
        assert_eq!(spans(&load(OpenRate::Constant(rate)), 10), []);
    }

    #[test]
    fn a_first_tag_that_the_port_does_not_count_is_left_out() {
        let host =
            |ids: &[u16], outer| SideHost { vlans: Vlans::new(ids.to_vec(), outer), ..SideHost::default() };
        for (hosts, all, on_kernel) in [
            (vec![host(&[], None)], 18, 18),
            (vec![host(&[5], None)], 22, 18),
            (vec![host(&[5], Some(wire::SERVICE_VLAN_TYPE))], 22, 22),
            (vec![host(&[1, 2], None)], 26, 26),
            (vec![host(&[1, 2], Some(wire::VLAN_TYPE))], 26, 22),
            (vec![host(&[], None), host(&[5], None)], 22, 18),
        ] {
            let side = SidePlan { hosts, ..crate::testing::side(0) };
            assert_eq!((side.around(), side.around_on(4)), (all, on_kernel), "{:?}", side.hosts);
        }
    }
}
