//! Counts of sessions: counters and times of one side of one application.
//!
//! Invariant: `carried + attempted = completed + failed + active` of counts that were never taken out; [`Counts::active`] is that
//! difference. Of an interval it is how many more there are than before.

use crate::secure::Agreed;
use ::grpc::Status;
use histogram::Timing;
use std::collections::BTreeMap;

/// Why a session failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Reason {
    /// SYNs, or the SYN-ACKs, remained without a reply.
    SetupTimeout,
    /// A request had no response in time.
    ResponseTimeout,
    /// Segments were not acknowledged however often they were repeated.
    Timeout,
    /// The other end sent nothing, or did not close, for too long.
    IdleTimeout,
    /// The other end reset it.
    Reset,
    /// A SYN was refused by a reset; on UDP: port unreachable.
    Refused,
    /// ICMP reported that the other end can't be reached.
    Unreachable,
    /// The other end closed before it had sent everything.
    ClosedEarly,
    /// The response is none, or not one that fits.
    BadResponse,
    /// HTTP/1.1: a response came before its request, or without one.
    UnaskedResponse,
    /// The request is none.
    BadRequest,
    /// Other bytes came than were expected.
    WrongContent,
    /// A status of 4xx, if that is a failure.
    Http4xx,
    /// A status of 5xx, if that is a failure.
    Http5xx,
    /// Another status came than the one expected.
    HttpStatus,
    /// A redirect could not be followed, or too many came in a row, if that is a failure.
    Redirect,
    /// A code other than 0 came from DNS, if that is a failure.
    DnsCode,
    /// TLS: the other end sent an alert.
    TlsAlert,
    /// TLS: the other end's certificate is not good.
    TlsCertificate,
    /// TLS: what the other end sent is none, or none this side takes.
    TlsProtocol,
    /// TLS: the handshake took too long.
    TlsTimeout,
    /// The other end does not support HTTP/2, or did not agree to it.
    NoHttp2,
    /// HTTP/2: what the other end sent is none, or none this side takes.
    Http2Protocol,
    /// HTTP/2, HTTP/3, and QUIC: the other end reset a request, or a program's stream.
    StreamReset,
    /// HTTP/2: the other end announced that it closes the connection because of an error.
    GoAway,
    /// The other end does not support HTTP/3, or QUIC of this version, or did not agree to it.
    NoHttp3,
    /// HTTP/3: what the other end sent is none, or none this side takes.
    Http3Protocol,
    /// The other end does not support DNS over QUIC, or QUIC of this version, or did not agree to it.
    NoDoq,
    /// DNS over QUIC: the other end broke one of its rules.
    DoqProtocol,
    /// QUIC: the ends have no application protocol, or version of QUIC, in common. Of programs.
    NoAlpn,
    /// DNS over HTTPS: the response has another content type than a DNS message's, or none.
    DohContentType,
    /// QUIC: what the other end sent is none, or none this side takes.
    QuicProtocol,
    /// QUIC: the other end closed the connection because of an error.
    QuicClosed,
    /// WebSocket: what the other end sent is none, or none this side takes.
    WebsocketProtocol,
    /// WebSocket: the other end closed with an error code.
    WebsocketClosed,
    /// gRPC: what the other end sent is none, or none this side takes.
    GrpcProtocol,
    /// gRPC: another status came than the one expected, or one other than OK, if that is a failure.
    GrpcStatus,
    /// There was no free address and port to open it from, or no room for it.
    NoPort,
    /// The run ended before it was through and did not wait.
    Aborted,
}

impl Reason {
    /// All of them, in order.
    pub const ALL: [Self; 39] = [
        Self::SetupTimeout,
        Self::ResponseTimeout,
        Self::Timeout,
        Self::IdleTimeout,
        Self::Reset,
        Self::Refused,
        Self::Unreachable,
        Self::ClosedEarly,
        Self::BadResponse,
        Self::UnaskedResponse,
        Self::BadRequest,
        Self::WrongContent,
        Self::Http4xx,
        Self::Http5xx,
        Self::HttpStatus,
        Self::Redirect,
        Self::DnsCode,
        Self::TlsAlert,
        Self::TlsCertificate,
        Self::TlsProtocol,
        Self::TlsTimeout,
        Self::NoHttp2,
        Self::Http2Protocol,
        Self::StreamReset,
        Self::GoAway,
        Self::NoHttp3,
        Self::Http3Protocol,
        Self::NoDoq,
        Self::DoqProtocol,
        Self::NoAlpn,
        Self::DohContentType,
        Self::QuicProtocol,
        Self::QuicClosed,
        Self::WebsocketProtocol,
        Self::WebsocketClosed,
        Self::GrpcProtocol,
        Self::GrpcStatus,
        Self::NoPort,
        Self::Aborted,
    ];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SetupTimeout => "setup_timeout",
            Self::ResponseTimeout => "response_timeout",
            Self::Timeout => "timeout",
            Self::IdleTimeout => "idle_timeout",
            Self::Reset => "reset",
            Self::Refused => "refused",
            Self::Unreachable => "unreachable",
            Self::ClosedEarly => "closed_early",
            Self::BadResponse => "bad_response",
            Self::UnaskedResponse => "unasked_response",
            Self::BadRequest => "bad_request",
            Self::WrongContent => "wrong_content",
            Self::Http4xx => "http_4xx",
            Self::Http5xx => "http_5xx",
            Self::HttpStatus => "http_status",
            Self::Redirect => "redirect",
            Self::DnsCode => "dns_code",
            Self::TlsAlert => "tls_alert",
            Self::TlsCertificate => "tls_certificate",
            Self::TlsProtocol => "tls_protocol",
            Self::TlsTimeout => "tls_timeout",
            Self::NoHttp2 => "no_http2",
            Self::Http2Protocol => "http2_protocol",
            Self::StreamReset => "stream_reset",
            Self::GoAway => "goaway",
            Self::NoHttp3 => "no_http3",
            Self::Http3Protocol => "http3_protocol",
            Self::NoDoq => "no_doq",
            Self::DoqProtocol => "doq_protocol",
            Self::NoAlpn => "no_alpn",
            Self::DohContentType => "doh_content_type",
            Self::QuicProtocol => "quic_protocol",
            Self::QuicClosed => "quic_closed",
            Self::WebsocketProtocol => "websocket_protocol",
            Self::WebsocketClosed => "websocket_closed",
            Self::GrpcProtocol => "grpc_protocol",
            Self::GrpcStatus => "grpc_status",
            Self::NoPort => "no_port",
            Self::Aborted => "aborted",
        }
    }

    /// The one with this number.
    pub(crate) fn from_number(number: u8) -> Self {
        Self::ALL.get(usize::from(number)).copied().unwrap_or(Self::BadResponse)
    }
}

/// Failed sessions by reason, in the order of [`Reason::ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Failures([u64; Reason::ALL.len()]);

impl Default for Failures {
    fn default() -> Self {
        Self([0; Reason::ALL.len()])
    }
}

/// Counts of the sessions of one group.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Counts {
    /// Sessions that were open when counters were set to zero. They count again only when they end.
    pub carried: u64,
    /// Sessions that clients wanted to open, or that servers received a request for.
    pub attempted: u64,
    /// Sessions whose carrier was established.
    pub established: u64,
    /// Sessions that did what they should and ended.
    pub completed: u64,
    /// Of these, those that were ended before they were done, because the run was over or their time up.
    pub stopped: u64,
    /// Sessions that failed, by reason: see [`Counts::failed`].
    pub failures: Failures,
    /// Most sessions at a time. Merging adds: it is then a bound.
    pub active_max: u64,
    /// Requests sent (client) or received (server).
    pub requests: u64,
    /// Responses received whole (client), or sent whole and acknowledged; over UDP, sent (server).
    pub transactions: u64,
    /// Responses of a status of 4xx or 5xx that failed no session. Clients only.
    pub error_responses: u64,
    /// Requests a client had left to send when its server closed the connection in good order, after a response to all
    /// that were sent.
    pub unasked: u64,
    /// Shortest time, in seconds, that a server announced to keep an idle connection and that was shorter than the pause
    /// before the next request.
    pub kept_s: Option<u32>,
    /// Bytes of applications handed to the carrier.
    pub bytes_sent: u64,
    /// Application bytes acknowledged by the other end; over UDP, sent: goodput. Only flows with TLS count them here:
    /// for others the carrier's counts are the same.
    pub bytes_delivered: u64,
    /// Bytes of applications received: goodput.
    pub bytes_received: u64,
    /// Responses by class of HTTP status, 1xx to 5xx: heads received (client), responses sent whole (server).
    pub http: [u64; 5],
    /// Answers by DNS code: received (client), sent whole (server).
    pub dns: [u64; 16],
    /// Answers from DNS that were cut short.
    pub dns_truncated: u64,
    /// Queries sent again.
    pub dns_retries: u64,
    /// Queries repeated over TCP because the response was truncated.
    pub dns_over_tcp: u64,
    /// Over QUIC: queries that clients gave up. Servers only.
    pub dns_cancelled: u64,
    /// HTTP/2.
    pub http2: Http2Counts,
    /// HTTP/3.
    pub http3: Http3Counts,
    /// QUIC.
    pub quic: QuicCounts,
    /// Alternative services. Clients only.
    pub alt_svc: AltSvcCounts,
    /// Redirects. Clients only.
    pub redirects: RedirectCounts,
    /// Cookies. Clients only.
    pub cookies: CookieCounts,
    /// WebSocket.
    pub websocket: WebsocketCounts,
    /// From a client's request for the upgrade to WebSocket to its response.
    pub websocket_upgrade: Timing,
    /// gRPC.
    pub grpc: GrpcCounts,
    /// From when a message was due to its reply, or to its arrival if nothing requests it alone. gRPC streams, clients only.
    pub grpc_message: Timing,
    /// STAMP. `None` without test packets.
    pub stamp: Option<Box<StampCounts>>,
    /// TLS handshakes by what was agreed upon.
    pub tls: BTreeMap<Agreed, u64>,
    /// More about failures: names of alerts, what is wrong with certificates and responses.
    pub details: BTreeMap<String, u64>,
    /// From a client's wish to open to the carrier's being established.
    pub setup: Timing,
    /// TLS handshakes, once the carrier is established.
    pub handshake: Timing,
    /// From a request to the first byte of its response. Clients only.
    pub ttfb: Timing,
    /// From a request to the last byte of its response. Clients only.
    pub ttlb: Timing,
    /// From when a request was due to the first byte of its response, where requests may be sent late. Clients only.
    pub ttfb_due: Timing,
    /// From when a request was due to the last byte of its response, where requests may be sent late. Clients only.
    pub ttlb_due: Timing,
}

/// Counts of HTTP/2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Http2Counts {
    /// Connections that use it.
    pub connections: u64,
    /// Requests, each of which has a stream.
    pub streams: u64,
    /// Streams that the other end reset.
    pub resets: u64,
    /// Streams reset here because of what the other end sent. Servers only.
    pub resets_sent: u64,
    /// GOAWAY frames received.
    pub goaways: u64,
    /// Requests that the server reported as not processed (GOAWAY, REFUSED_STREAM): each is repeated, and counts once
    /// more in [`Counts::requests`]. Clients only.
    pub unprocessed: u64,
    /// The least that a server announced to take at a time.
    pub peer_streams: Option<u32>,
}

impl Http2Counts {
    /// Records the other end's limit of concurrent requests.
    pub(crate) fn note_streams(&mut self, streams: Option<u32>) {
        self.peer_streams = shorter(self.peer_streams, streams);
    }

    fn merge(&mut self, other: &Self) {
        self.connections += other.connections;
        self.streams += other.streams;
        self.resets += other.resets;
        self.resets_sent += other.resets_sent;
        self.goaways += other.goaways;
        self.unprocessed += other.unprocessed;
        self.note_streams(other.peer_streams);
    }
}

/// Counts of HTTP/3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Http3Counts {
    /// Requests, each of which has a stream.
    pub streams: u64,
    /// Streams that the other end reset, or wanted no more of.
    pub resets: u64,
    /// Streams reset here because of what the other end sent. Servers only.
    pub resets_sent: u64,
    /// GOAWAY frames received.
    pub goaways: u64,
    /// Requests that the server reported as not processed (GOAWAY, H3_REQUEST_REJECTED): each is repeated, and counts
    /// once more in [`Counts::requests`]. Clients only.
    pub unprocessed: u64,
}

impl Http3Counts {
    fn merge(&mut self, other: &Self) {
        self.streams += other.streams;
        self.resets += other.resets;
        self.resets_sent += other.resets_sent;
        self.goaways += other.goaways;
        self.unprocessed += other.unprocessed;
    }
}

/// Counts of QUIC connections. Packets are counted when a session is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QuicCounts {
    /// Handshakes done.
    pub connections: u64,
    /// Retry packets received. Clients only.
    pub retries: u64,
    /// Retry packets sent. Servers only.
    pub retries_sent: u64,
    /// Version Negotiation packets received. Clients only.
    pub version_negotiations: u64,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets declared lost, whose contents were sent again.
    pub packets_lost: u64,
    /// Datagrams received.
    pub datagrams_received: u64,
    /// DATAGRAM frames sent (RFC 9221).
    pub datagram_frames_sent: u64,
    /// DATAGRAM frames received.
    pub datagram_frames_received: u64,
    /// Times a congestion window was reduced.
    pub congestion_events: u64,
    /// Times a client's address or port changed and its connection continued.
    pub migrated: u64,
    /// Connections whose server announced a preferred address. Clients only.
    pub preferred_addresses: u64,
    /// Connections whose early data the server accepted.
    pub early_data_accepted: u64,
    /// Connections whose early data the server rejected. Clients only.
    pub early_data_rejected: u64,
    /// Requests in early data.
    pub early_requests: u64,
    /// Early requests refused by status 425. Clients only.
    pub too_early: u64,
    /// Updates of the keys.
    pub key_updates: u64,
    /// Datagrams sent with ECT(0).
    pub ecn_sent: u64,
    /// Datagrams received with ECT(0) or ECT(1).
    pub ecn_ect: u64,
    /// Datagrams received with CE: a device on the path had congestion.
    pub ecn_ce: u64,
    /// Connections whose path, or other end, was found not to support congestion marks.
    pub ecn_failed: u64,
}

impl QuicCounts {
    fn merge(&mut self, other: &Self) {
        self.connections += other.connections;
        self.retries += other.retries;
        self.retries_sent += other.retries_sent;
        self.version_negotiations += other.version_negotiations;
        self.packets_sent += other.packets_sent;
        self.packets_lost += other.packets_lost;
        self.datagrams_received += other.datagrams_received;
        self.datagram_frames_sent += other.datagram_frames_sent;
        self.datagram_frames_received += other.datagram_frames_received;
        self.congestion_events += other.congestion_events;
        self.migrated += other.migrated;
        self.preferred_addresses += other.preferred_addresses;
        self.early_data_accepted += other.early_data_accepted;
        self.early_data_rejected += other.early_data_rejected;
        self.early_requests += other.early_requests;
        self.too_early += other.too_early;
        self.key_updates += other.key_updates;
        self.ecn_sent += other.ecn_sent;
        self.ecn_ect += other.ecn_ect;
        self.ecn_ce += other.ecn_ce;
        self.ecn_failed += other.ecn_failed;
    }
}

/// Counts of alternative services (RFC 7838).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AltSvcCounts {
    /// Responses that announced HTTP/3.
    pub announced: u64,
    /// Responses that withdrew all alternatives.
    pub cleared: u64,
    /// Sessions opened by HTTP/3 because it was announced.
    pub opened: u64,
    /// Times that HTTP/3 was given up because it could not be reached.
    pub broken: u64,
}

impl AltSvcCounts {
    fn merge(&mut self, other: &Self) {
        self.announced += other.announced;
        self.cleared += other.cleared;
        self.opened += other.opened;
        self.broken += other.broken;
    }
}

/// Reason why a redirect is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unfollowed {
    /// More came in a row than may be followed.
    Limit,
    /// It has no Location field.
    NoLocation,
    /// Its Location is no URI, or too long.
    BadLocation,
    /// It leads to another scheme, such as from http to https.
    OtherScheme,
    /// It leads to another host.
    OtherHost,
    /// It leads to another port.
    OtherPort,
    /// The server closed the connection after it.
    Closed,
}

impl Unfollowed {
    /// All of them, in order.
    pub const ALL: [Self; 7] = [
        Self::Limit,
        Self::NoLocation,
        Self::BadLocation,
        Self::OtherScheme,
        Self::OtherHost,
        Self::OtherPort,
        Self::Closed,
    ];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Limit => "limit",
            Self::NoLocation => "no_location",
            Self::BadLocation => "bad_location",
            Self::OtherScheme => "other_scheme",
            Self::OtherHost => "other_host",
            Self::OtherPort => "other_port",
            Self::Closed => "closed",
        }
    }
}

/// Counts of redirects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RedirectCounts {
    /// Requests sent because of one.
    pub followed: u64,
    /// Connections that sessions opened to follow one, because the server closed the connection before.
    pub new_connections: u64,
    /// Requests sent once more, because the server closed the connection before it responded to them.
    pub repeated: u64,
    /// Redirects not followed, in the order of [`Unfollowed::ALL`].
    pub unfollowed: [u64; Unfollowed::ALL.len()],
}

impl RedirectCounts {
    pub(crate) fn unfollowed(&mut self, reason: Unfollowed, count: u64) {
        self.unfollowed[reason as usize] += count;
    }

    fn merge(&mut self, other: &Self) {
        self.followed += other.followed;
        self.new_connections += other.new_connections;
        self.repeated += other.repeated;
        self.unfollowed.iter_mut().zip(other.unfollowed).for_each(|(mine, more)| *mine += more);
    }
}

/// Counts of cookies (RFC 6265).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CookieCounts {
    /// Cookies stored, or stored anew.
    pub stored: u64,
    /// Requests with cookies.
    pub sent: u64,
    /// Cookies that the server deleted.
    pub deleted: u64,
    /// Cookies that broke a rule: of another domain, too long, malformed.
    pub rejected: u64,
    /// Cookies dropped to keep within the limits of a session.
    pub evicted: u64,
}

impl CookieCounts {
    fn merge(&mut self, other: &Self) {
        self.stored += other.stored;
        self.sent += other.sent;
        self.deleted += other.deleted;
        self.rejected += other.rejected;
        self.evicted += other.evicted;
    }
}

/// Counts of WebSocket.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebsocketCounts {
    /// Upgrades done.
    pub connections: u64,
    /// Messages sent.
    pub messages_sent: u64,
    /// Messages received whole.
    pub messages_received: u64,
    /// Bytes of the messages sent, without frames.
    pub bytes_sent: u64,
    /// Bytes of the messages received whole, without frames.
    pub bytes_received: u64,
    /// Ping frames sent.
    pub pings_sent: u64,
    /// Ping frames received; each gets a Pong, unless this side has closed.
    pub pings_received: u64,
    /// Pong frames received.
    pub pongs_received: u64,
    /// Close frames received by code: 1005 without one. 1006: the connection ended without a Close frame.
    pub closes: BTreeMap<u16, u64>,
    /// Upgrades refused, by status. Clients only.
    pub refused: BTreeMap<u16, u64>,
    /// Compression of messages.
    pub compression: CompressionCounts,
}

/// Counts of compressed messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CompressionCounts {
    /// Connections with compression.
    pub connections: u64,
    /// Connections without, though clients offered it.
    pub declined: u64,
    /// Compressed messages sent.
    pub messages_sent: u64,
    /// Compressed messages received whole.
    pub messages_received: u64,
    /// Bytes of the compressed messages sent, before they were compressed.
    pub bytes_sent: u64,
    /// Bytes of the compressed messages received, decompressed.
    pub bytes_received: u64,
    /// Bytes they were sent in, without frames.
    pub compressed_bytes_sent: u64,
    /// Bytes they came in.
    pub compressed_bytes_received: u64,
}

impl CompressionCounts {
    fn merge(&mut self, other: &Self) {
        self.connections += other.connections;
        self.declined += other.declined;
        self.messages_sent += other.messages_sent;
        self.messages_received += other.messages_received;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.compressed_bytes_sent += other.compressed_bytes_sent;
        self.compressed_bytes_received += other.compressed_bytes_received;
    }
}

impl WebsocketCounts {
    fn merge(&mut self, other: &Self) {
        self.connections += other.connections;
        self.messages_sent += other.messages_sent;
        self.messages_received += other.messages_received;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.pings_sent += other.pings_sent;
        self.pings_received += other.pings_received;
        self.pongs_received += other.pongs_received;
        self.compression.merge(&other.compression);
        for (mine, theirs) in [(&mut self.closes, &other.closes), (&mut self.refused, &other.refused)] {
            theirs.iter().for_each(|(code, count)| *mine.entry(*code).or_default() += count);
        }
    }
}

/// Counts of gRPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GrpcCounts {
    /// Messages sent.
    pub messages_sent: u64,
    /// Messages received whole.
    pub messages_received: u64,
    /// Bytes of the messages sent, without their prefix.
    pub bytes_sent: u64,
    /// Bytes of the messages received whole, without their prefix.
    pub bytes_received: u64,
    /// Calls whose deadline passed at this end.
    pub deadlines: u64,
    /// Calls by the code of their status: ended (client), sent whole (server).
    pub statuses: [u64; Status::ALL.len()],
}

impl GrpcCounts {
    fn merge(&mut self, other: &Self) {
        self.messages_sent += other.messages_sent;
        self.messages_received += other.messages_received;
        self.bytes_sent += other.bytes_sent;
        self.bytes_received += other.bytes_received;
        self.deadlines += other.deadlines;
        self.statuses.iter_mut().zip(other.statuses).for_each(|(mine, more)| *mine += more);
    }
}

/// Why a datagram is no part of a session of STAMP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StampDrop {
    /// It is shorter than a packet of the protocol.
    Malformed,
    /// It is shorter than its reply would be. Servers only.
    Short,
    /// It does not have the code of the key.
    Unauthentic,
    /// It is the reply of a reflector. Servers only.
    Reflected,
    /// It has more session identifiers than a reflector keeps. Servers only.
    Sessions,
    /// It replies to a packet, a time or a session that is not of its sender. Clients only.
    Foreign,
}

impl StampDrop {
    /// All of them, in order.
    pub const ALL: [Self; 6] =
        [Self::Malformed, Self::Short, Self::Unauthentic, Self::Reflected, Self::Sessions, Self::Foreign];

    /// Its name in results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Short => "short",
            Self::Unauthentic => "unauthentic",
            Self::Reflected => "reflected",
            Self::Sessions => "sessions",
            Self::Foreign => "foreign",
        }
    }
}

/// Counts of STAMP. Times are in nanoseconds, and of clients only.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StampCounts {
    /// Test packets sent (client), replies sent (server).
    pub sent: u64,
    /// Test packets with a reply in time (client), test packets received (server).
    pub received: u64,
    /// Test packets without a reply in time. Clients only.
    pub lost: u64,
    /// Of these, the ones that did not reach a reflector which counts; known at a session's end. `None` if none does.
    pub lost_to_reflector: Option<u64>,
    /// Of these, the ones whose reply was lost.
    pub lost_from_reflector: Option<u64>,
    /// Replies beyond the first to a packet.
    pub duplicates: u64,
    /// Replies to a packet sent before one that has a reply already.
    pub reordered: u64,
    /// Replies to packets that count as lost.
    pub late: u64,
    /// Replies whose times can't be.
    pub untimed: u64,
    /// Datagrams that are no part of a session, in the order of [`StampDrop::ALL`].
    pub dropped: [u64; StampDrop::ALL.len()],
    /// Round trips without the reflector's own time.
    pub round_trip: Timing,
    /// From a packet's arrival at its reflector to the reply's departure.
    pub reflector: Timing,
    /// From sender to reflector; without samples unless both have one clock.
    pub to_reflector: Timing,
    /// From reflector to sender.
    pub from_reflector: Timing,
    /// Differences of the round trips of packets that follow each other.
    pub round_trip_jitter: Timing,
    /// Differences of their delays to the reflector.
    pub to_reflector_jitter: Timing,
    /// Differences of their delays from the reflector.
    pub from_reflector_jitter: Timing,
}

impl StampCounts {
    pub(crate) fn refuse(&mut self, reason: StampDrop) {
        self.dropped[reason as usize] += 1;
    }

    /// Losses by direction, of a session that is over.
    pub(crate) fn lost_on_the_way(&mut self, to_reflector: u64, from_reflector: u64) {
        *self.lost_to_reflector.get_or_insert(0) += to_reflector;
        *self.lost_from_reflector.get_or_insert(0) += from_reflector;
    }

    fn times(&mut self) -> [&mut Timing; 7] {
        [
            &mut self.round_trip,
            &mut self.reflector,
            &mut self.to_reflector,
            &mut self.from_reflector,
            &mut self.round_trip_jitter,
            &mut self.to_reflector_jitter,
            &mut self.from_reflector_jitter,
        ]
    }

    fn merge(&mut self, other: &Self) {
        let numbers = [
            (&mut self.sent, other.sent),
            (&mut self.received, other.received),
            (&mut self.lost, other.lost),
            (&mut self.duplicates, other.duplicates),
            (&mut self.reordered, other.reordered),
            (&mut self.late, other.late),
            (&mut self.untimed, other.untimed),
        ];
        numbers.into_iter().for_each(|(mine, more)| *mine += more);
        for (mine, more) in [
            (&mut self.lost_to_reflector, other.lost_to_reflector),
            (&mut self.lost_from_reflector, other.lost_from_reflector),
        ] {
            *mine = mine.map(|mine| mine + more.unwrap_or(0)).or(more);
        }
        self.dropped.iter_mut().zip(other.dropped).for_each(|(mine, more)| *mine += more);
        self.round_trip.merge(&other.round_trip);
        self.reflector.merge(&other.reflector);
        self.to_reflector.merge(&other.to_reflector);
        self.from_reflector.merge(&other.from_reflector);
        self.round_trip_jitter.merge(&other.round_trip_jitter);
        self.to_reflector_jitter.merge(&other.to_reflector_jitter);
        self.from_reflector_jitter.merge(&other.from_reflector_jitter);
    }

    /// Forgets everything, keeping the memory.
    fn clear(&mut self) {
        let numbers = [
            &mut self.sent,
            &mut self.received,
            &mut self.lost,
            &mut self.duplicates,
            &mut self.reordered,
            &mut self.late,
            &mut self.untimed,
        ];
        numbers.into_iter().for_each(|number| *number = 0);
        (self.lost_to_reflector, self.lost_from_reflector) = (None, None);
        self.dropped = [0; StampDrop::ALL.len()];
        self.times().into_iter().for_each(Timing::clear);
    }
}

/// Responses that a server has sent whole, in all and by status or code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Responses {
    transactions: u64,
    http: [u64; 5],
    dns: [u64; 16],
    grpc: [u64; Status::ALL.len()],
}

/// Different texts kept in [`Counts::details`]; all others are counted together.
const DETAILS_MAX: usize = 64;

impl Counts {
    /// Sessions that failed for a reason.
    pub fn failed(&self, reason: Reason) -> u64 {
        self.failures.0[reason as usize]
    }

    /// Sessions that failed.
    pub fn failed_in_all(&self) -> u64 {
        self.failures.0.iter().sum()
    }

    /// Sessions that are neither completed nor failed. Of an interval it may be less than zero.
    pub fn active(&self) -> i64 {
        (self.carried + self.attempted) as i64 - self.completed as i64 - self.failed_in_all() as i64
    }

    /// Counts from an instant on at which these sessions are open.
    #[must_use]
    pub fn carry_on(&self) -> Self {
        let open = u64::try_from(self.active()).unwrap_or(0);
        Self { carried: open, active_max: open, ..Self::default() }
    }

    pub(crate) fn fail(&mut self, reason: Reason) {
        self.failures.0[reason as usize] += 1;
    }

    /// A server keeps idle connections for fewer seconds than its client pauses.
    #[cold]
    pub(crate) fn keep_shorter_than_think(&mut self, seconds: u32) {
        self.kept_s = shorter(self.kept_s, Some(seconds));
    }

    /// Counts of STAMP, made if there are none.
    #[inline]
    pub(crate) fn stamp(&mut self) -> &mut StampCounts {
        self.stamp.get_or_insert_default()
    }

    /// A DNS response was sent completely.
    pub(crate) fn sent_answer(&mut self, code: u8) {
        self.dns[usize::from(code & 15)] += 1;
        self.transactions += 1;
    }

    /// Responses counted so far.
    pub(crate) fn responses(&self) -> Responses {
        let grpc = self.grpc.statuses;
        Responses { transactions: self.transactions, http: self.http, dns: self.dns, grpc }
    }

    /// Takes back the responses counted since `before`; returns them.
    pub(crate) fn take_responses(&mut self, before: &Responses) -> Responses {
        let now = self.responses();
        (self.transactions, self.http, self.dns) = (before.transactions, before.http, before.dns);
        self.grpc.statuses = before.grpc;
        Responses {
            transactions: now.transactions - before.transactions,
            http: std::array::from_fn(|at| now.http[at] - before.http[at]),
            dns: std::array::from_fn(|at| now.dns[at] - before.dns[at]),
            grpc: std::array::from_fn(|at| now.grpc[at] - before.grpc[at]),
        }
    }

    /// Counts responses that were taken back.
    pub(crate) fn add_responses(&mut self, responses: &Responses) {
        self.transactions += responses.transactions;
        self.http.iter_mut().zip(responses.http).for_each(|(mine, more)| *mine += more);
        self.dns.iter_mut().zip(responses.dns).for_each(|(mine, more)| *mine += more);
        self.grpc.statuses.iter_mut().zip(responses.grpc).for_each(|(mine, more)| *mine += more);
    }

    /// Says more about a failure.
    #[cold]
    pub(crate) fn detail(&mut self, text: &str) {
        self.add_detail(text, 1);
    }

    fn add_detail(&mut self, text: &str, count: u64) {
        let known = self.details.contains_key(text) || self.details.len() < DETAILS_MAX;
        *self.details.entry(if known { text } else { "other" }.to_owned()).or_default() += count;
    }

    /// Adds the counts of another worker, or of a later interval.
    pub fn merge(&mut self, other: &Self) {
        fn add<const N: usize>(mine: &mut [u64; N], theirs: &[u64; N]) {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
        self.carried += other.carried;
        self.attempted += other.attempted;
        self.established += other.established;
        self.completed += other.completed;
        self.stopped += other.stopped;
        add(&mut self.failures.0, &other.failures.0);
        self.active_max += other.active_max;
        self.requests += other.requests;
        self.transactions += other.transactions;
        self.error_responses += other.error_responses;
        self.unasked += other.unasked;
        self.kept_s = shorter(self.kept_s, other.kept_s);
        self.bytes_sent += other.bytes_sent;
        self.bytes_delivered += other.bytes_delivered;
        self.bytes_received += other.bytes_received;
        add(&mut self.http, &other.http);
        add(&mut self.dns, &other.dns);
        self.dns_truncated += other.dns_truncated;
        self.dns_retries += other.dns_retries;
        self.dns_over_tcp += other.dns_over_tcp;
        self.dns_cancelled += other.dns_cancelled;
        self.http2.merge(&other.http2);
        self.http3.merge(&other.http3);
        self.quic.merge(&other.quic);
        self.alt_svc.merge(&other.alt_svc);
        self.redirects.merge(&other.redirects);
        self.cookies.merge(&other.cookies);
        self.websocket.merge(&other.websocket);
        self.websocket_upgrade.merge(&other.websocket_upgrade);
        self.grpc.merge(&other.grpc);
        self.grpc_message.merge(&other.grpc_message);
        if let Some(stamp) = &other.stamp {
            self.stamp().merge(stamp);
        }
        for (agreed, count) in &other.tls {
            *self.tls.entry(*agreed).or_default() += count;
        }
        for (text, count) in &other.details {
            self.add_detail(text, *count);
        }
        self.setup.merge(&other.setup);
        self.handshake.merge(&other.handshake);
        self.ttfb.merge(&other.ttfb);
        self.ttlb.merge(&other.ttlb);
        self.ttfb_due.merge(&other.ttfb_due);
        self.ttlb_due.merge(&other.ttlb_due);
    }

    /// Adds the counts of a later interval of the same worker: unlike [`Counts::merge`], of the maximum number of
    /// sessions the larger is kept.
    pub fn append(&mut self, later: &Self) {
        let most = self.active_max.max(later.active_max);
        self.merge(later);
        self.active_max = most;
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        let numbers = [
            &mut self.carried,
            &mut self.attempted,
            &mut self.established,
            &mut self.completed,
            &mut self.stopped,
            &mut self.active_max,
            &mut self.requests,
            &mut self.transactions,
            &mut self.error_responses,
            &mut self.unasked,
            &mut self.bytes_sent,
            &mut self.bytes_delivered,
            &mut self.bytes_received,
            &mut self.dns_truncated,
            &mut self.dns_retries,
            &mut self.dns_over_tcp,
            &mut self.dns_cancelled,
        ];
        numbers.into_iter().for_each(|number| *number = 0);
        self.kept_s = None;
        self.http2 = Http2Counts::default();
        self.http3 = Http3Counts::default();
        self.quic = QuicCounts::default();
        self.alt_svc = AltSvcCounts::default();
        self.redirects = RedirectCounts::default();
        self.cookies = CookieCounts::default();
        self.websocket = WebsocketCounts::default();
        self.websocket_upgrade.clear();
        self.grpc = GrpcCounts::default();
        self.grpc_message.clear();
        if let Some(stamp) = &mut self.stamp {
            stamp.clear();
        }
        self.failures = Failures::default();
        self.http.fill(0);
        self.dns.fill(0);
        self.tls.clear();
        self.details.clear();
        let of_requests = [&mut self.ttfb, &mut self.ttlb, &mut self.ttfb_due, &mut self.ttlb_due];
        [&mut self.setup, &mut self.handshake].into_iter().chain(of_requests).for_each(Timing::clear);
    }
}

/// The smaller of two numbers, if there is any.
fn shorter(a: Option<u32>, b: Option<u32>) -> Option<u32> {
    a.into_iter().chain(b).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_numbered_and_named() {
        for (number, reason) in Reason::ALL.into_iter().enumerate() {
            assert_eq!((reason as usize, Reason::from_number(number as u8)), (number, reason));
        }
        let names: std::collections::BTreeSet<_> = Reason::ALL.map(Reason::name).into();
        assert_eq!(names.len(), Reason::ALL.len());
    }

    #[test]
    fn open_sessions_are_carried_on() {
        let mut before =
            Counts { attempted: 9, completed: 4, active_max: 7, requests: 8, ..Counts::default() };
        before.fail(Reason::Reset);
        let mut after = before.carry_on();
        assert_eq!((after.carried, after.attempted, after.requests, after.active_max), (4, 0, 0, 4));
        after.append(&Counts { attempted: 2, completed: 5, active_max: 5, ..Counts::default() });
        assert_eq!((after.active(), after.active_max), (1, 5));
        let more = Counts { attempted: 1, completed: 2, ..Counts::default() };
        assert_eq!(more.carry_on(), Counts::default(), "of an interval fewer may be open than before");
    }

    #[test]
    fn merges_appends_and_clears() {
        let mut a = Counts { attempted: 5, completed: 2, active_max: 3, ..Counts::default() };
        a.fail(Reason::Reset);
        a.ttfb.record(1_000);
        a.detail("handshake_failure");
        let mut both = a.clone();
        a.kept_s = Some(5);
        both.merge(&a);
        assert_eq!(both.kept_s, Some(5));
        assert_eq!(
            (both.attempted, both.active(), both.active_max, both.failed(Reason::Reset)),
            (10, 4, 6, 2)
        );
        assert_eq!((both.ttfb.samples(), both.ttfb.sum(), both.details["handshake_failure"]), (2, 2_000, 2));
        let mut later = a.clone();
        later.append(&a);
        assert_eq!(later.active_max, 3);
        both.clear();
        assert_eq!(both, Counts::default());
        let mut full = Counts {
            carried: 1,
            attempted: 1,
            established: 1,
            completed: 1,
            stopped: 1,
            failures: Failures([1; Reason::ALL.len()]),
            active_max: 1,
            requests: 1,
            transactions: 1,
            error_responses: 1,
            unasked: 1,
            kept_s: Some(1),
            bytes_sent: 1,
            bytes_delivered: 1,
            bytes_received: 1,
            http: [1; 5],
            dns: [1; 16],
            dns_truncated: 1,
            dns_retries: 1,
            dns_over_tcp: 1,
            dns_cancelled: 1,
            http2: Http2Counts { streams: 1, peer_streams: Some(1), ..Http2Counts::default() },
            http3: Http3Counts { streams: 1, ..Http3Counts::default() },
            quic: QuicCounts { connections: 1, ..QuicCounts::default() },
            websocket: WebsocketCounts { closes: [(1000, 1)].into(), ..WebsocketCounts::default() },
            grpc: GrpcCounts { messages_sent: 1, ..GrpcCounts::default() },
            ..a
        };
        full.clear();
        assert_eq!(full, Counts::default());
    }

    #[test]
    fn details_are_bounded() {
        let mut counts = Counts::default();
        (0..1_000).for_each(|n| counts.detail(&n.to_string()));
        assert_eq!(
            (counts.details.len(), counts.details["other"]),
            (DETAILS_MAX + 1, 1_000 - DETAILS_MAX as u64)
        );
        let mut others = Counts::default();
        (1_000..2_000).for_each(|n| others.detail(&n.to_string()));
        counts.merge(&others);
        assert_eq!(
            (counts.details.len(), counts.details.values().sum::<u64>()),
            (DETAILS_MAX + 1, 2_000),
            "intervals and workers add up within the same bound"
        );
    }
}
