//! Sessions: what clients and servers counted.

use crate::{Counters, LatencyResult, Named};
use std::borrow::Cow;

/// Keys of `http`: classes of status (RFC 9110 section 15).
pub const HTTP_CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];

/// Keys of `dns` by code (RFC 1035 section 4.1.1, RFC 2136 section 2.2).
pub const DNS_CODES: [&str; 16] = [
    "noerror", "formerr", "servfail", "nxdomain", "notimp", "refused", "yxdomain", "yxrrset", "nxrrset",
    "notauth", "notzone", "11", "12", "13", "14", "15",
];

/// Further keys of `dns`: truncated responses (RFC 2181 section 9), repeated queries, queries repeated over TCP, and queries over QUIC that
/// clients gave up.
pub const DNS_EXTRA: [&str; 4] = ["truncated", "retries", "over_tcp", "cancelled"];

part! {
    /// One entry under `sessions`: counts of its clients, or of its servers if the clients are external.
    pub struct SessionResult {
        /// Mean rate of sessions requested while sessions were opened; absent for `max` and for servers.
        #[serde(skip_serializing_if = "Option::is_none")]
        requested_open_per_s: Option<f64> = PER_S.clients();
        /// Sessions due but not opened because the tester was too slow; negative in an interval that caught up with an
        /// earlier one. Absent for servers.
        #[serde(skip_serializing_if = "Option::is_none")]
        unopened: Option<i64> = COUNT.clients();
        /// Sessions due but not opened because `concurrent` were open. Absent for servers.
        #[serde(skip_serializing_if = "Option::is_none")]
        withheld: Option<u64> = COUNT.clients();
        /// Sessions attempted before counters were set to zero; absent if they were not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        attempted_before_clear: Option<u64> = COUNT;
        /// Requests due but not sent because no session was free for them: with `late_requests: send` those that still wait,
        /// negative in an interval that caught up with an earlier one; otherwise those left out, found when a session was free
        /// again, or at the end. Only with `request_rate`.
        #[serde(skip_serializing_if = "Option::is_none")]
        unsent_requests: Option<i64> = COUNT.clients();
        /// Counts of that side.
        #[serde(flatten)]
        seen: SideResult = FLAT;
        /// Counts of the clients by phase, if the entry's rate ramps up or down: `ramp_up`, `sustain`, `ramp_down`.
        /// Counts of the drain are in no phase.
        #[serde(skip_serializing_if = "Named::is_empty")]
        phases: Named<PhaseResult> = PART.by(&[Key::Phase]).clients();
        /// Counts of the clients, if they run here.
        #[serde(skip_serializing_if = "Option::is_none")]
        client: Option<SideDetails> = PART.clients();
        /// Counts of the servers, if they run here.
        #[serde(skip_serializing_if = "Option::is_none")]
        server: Option<SideDetails> = PART.servers();
    }
}

part! {
    /// Counts of one side. `attempted` is always `completed` + `failed` + `active`, less `open_at_clear`.
    pub struct SideResult {
        /// Sessions that were open when counters were set to zero; absent if they were not. They are not in `attempted`, but in
        /// the counts of how sessions ended.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        open_at_clear: Option<u64> = COUNT;
        /// Sessions that clients began to open, or that servers received a request for.
        attempted: u64 = COUNT;
        /// Sessions established.
        established: u64 = COUNT.counter("sessions_established");
        /// Sessions completed as planned.
        completed: u64 = COUNT.counter("sessions_completed");
        /// Completed sessions that were ended early because their time was up or the run was over.
        stopped: u64 = COUNT;
        /// Sessions that failed, by reason.
        failed: Counters = COUNT.by(&[Key::Failure]).counter("sessions_failures");
        /// Failed sessions / `attempted`, to which `open_at_clear` is added.
        failed_ratio: f64 = RATIO;
        /// Sessions open at the end; in an interval or a phase, the change since its beginning.
        active: i64 = COUNT;
        /// Maximum number of open sessions. With several workers, or applications of a mix, an upper bound: each
        /// reaches its maximum at a different instant, and the sum is taken over spans of at most 50 ms.
        active_max: u64 = COUNT;
        /// Lower bound of the maximum number of open sessions. Only with several workers, or applications of a mix.
        #[serde(skip_serializing_if = "Option::is_none")]
        active_max_at_least: Option<u64> = COUNT;
        /// Sessions established per second.
        open_per_s: f64 = PER_S;
        /// Requests sent (clients) or received (servers).
        requests: u64 = COUNT;
        /// Requests that clients had left to send when servers closed their connections between responses. Absent if none.
        #[serde(skip_serializing_if = "Option::is_none")]
        unasked: Option<u64> = COUNT;
        /// Requests without a complete response, or with one of status 4xx or 5xx, / `requests`; a request and the redirects
        /// it follows count as one. Clients only.
        #[serde(skip_serializing_if = "Option::is_none")]
        failed_requests_ratio: Option<f64> = RATIO.clients();
        /// Complete responses received (clients) or sent (servers).
        transactions: u64 = COUNT.counter("sessions_transactions");
        /// Transactions per second.
        transactions_per_s: f64 = PER_S;
        /// Application bytes received.
        rx_bytes_goodput: u64 = BYTES;
        /// Application bytes sent and acknowledged; over UDP, sent.
        tx_bytes_goodput: u64 = BYTES;
        /// Application bits received per second while load was offered.
        rx_bps_goodput: f64 = BITS_PER_S;
        /// Application bits sent and acknowledged per second while load was offered; over UDP, sent.
        tx_bps_goodput: f64 = BITS_PER_S;
        /// TCP segments retransmitted, for any cause.
        retransmitted_segments: u64 = COUNT;
        /// Time to open a session, until established. Clients only.
        #[serde(skip_serializing_if = "Option::is_none")]
        setup_ns: Option<LatencyResult> = PART.clients();
        /// Duration of TLS handshakes.
        #[serde(skip_serializing_if = "Option::is_none")]
        handshake_ns: Option<LatencyResult> = PART;
        /// Time from a request to the first byte of its response. Clients only.
        #[serde(skip_serializing_if = "Option::is_none")]
        ttfb_ns: Option<LatencyResult> = PART.clients();
        /// Time from a request to the last byte of its response. Clients only.
        #[serde(skip_serializing_if = "Option::is_none")]
        ttlb_ns: Option<LatencyResult> = PART.clients();
        /// Time from when a request was due to the first byte of its response. Clients whose requests are sent late only.
        /// Requests that still wait at the end, if more than 0.1%, count with the time they have waited: they would take longer.
        #[serde(skip_serializing_if = "Option::is_none")]
        ttfb_due_ns: Option<LatencyResult> = PART.clients();
        /// Time from when a request was due to the last byte of its response. Clients whose requests are sent late only.
        /// Requests that still wait at the end, if more than 0.1%, count with the time they have waited: they would take longer.
        #[serde(skip_serializing_if = "Option::is_none")]
        ttlb_due_ns: Option<LatencyResult> = PART.clients();
    }
}

part! {
    /// One phase of an entry's load. An event is counted in the phase in which it happened: a session may be opened in
    /// one and completed in another.
    pub struct PhaseResult {
        /// When it began, since the start of traffic.
        from_s: f64 = SECONDS;
        /// When it ended.
        to_s: f64 = SECONDS;
        /// Counts in that time.
        #[serde(flatten)]
        seen: SideResult = FLAT;
    }
}

part! {
    /// All counts of one side.
    pub struct SideDetails {
        /// Counts of its sessions.
        #[serde(flatten)]
        seen: SideResult = FLAT;
        /// Applications of a mix by name. Absent if there is only one.
        #[serde(skip_serializing_if = "Named::is_empty")]
        apps: Named<PartResult> = PART.by(&[Key::App]);
        /// Hosts by name, if several play this side. Absent if there is only one.
        #[serde(skip_serializing_if = "Named::is_empty")]
        hosts: Named<PartResult> = PART.by(&[Key::Host]);
        /// Details of failures: TLS alerts, faults of certificates and responses.
        #[serde(skip_serializing_if = "Counters::is_empty")]
        failure_details: Counters = COUNT.by(&[Key::FailureDetail]);
        /// Responses by class of HTTP status: `2xx`.
        #[serde(skip_serializing_if = "Counters::is_empty")]
        http: Counters = COUNT.by(&[Key::HttpClass]);
        /// DNS responses by code; `truncated` responses, `retries`, and queries repeated `over_tcp`.
        #[serde(skip_serializing_if = "Counters::is_empty")]
        dns: Counters = COUNT.by(&[Key::DnsCode]);
        /// HTTP/2. Absent if no connection used it.
        #[serde(skip_serializing_if = "Option::is_none")]
        http2: Option<Http2Result> = PART;
        /// HTTP/3. Absent if no connection used it.
        #[serde(skip_serializing_if = "Option::is_none")]
        http3: Option<Http3Result> = PART;
        /// QUIC. Absent if no session uses it.
        #[serde(skip_serializing_if = "Option::is_none")]
        quic: Option<QuicResult> = PART;
        /// Alternative services (RFC 7838). Absent unless clients go to them.
        #[serde(skip_serializing_if = "Option::is_none")]
        alt_svc: Option<AltSvcResult> = PART.clients();
        /// Redirects (RFC 9110 section 15.4). Absent unless clients follow them.
        #[serde(skip_serializing_if = "Option::is_none")]
        redirects: Option<RedirectResult> = PART.clients();
        /// Cookies (RFC 6265). Absent unless clients keep them.
        #[serde(skip_serializing_if = "Option::is_none")]
        cookies: Option<CookieResult> = PART.clients();
        /// WebSocket. Absent without upgrades.
        #[serde(skip_serializing_if = "Option::is_none")]
        websocket: Option<WebsocketResult> = PART;
        /// gRPC. Absent without calls.
        #[serde(skip_serializing_if = "Option::is_none")]
        grpc: Option<GrpcResult> = PART;
        /// STAMP. Absent without test packets.
        #[serde(skip_serializing_if = "Option::is_none")]
        stamp: Option<StampResult> = PART;
        /// TLS handshakes by negotiated parameters.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tls: Vec<TlsResult> = PART;
        /// TCP counters that are not zero.
        #[serde(skip_serializing_if = "Counters::is_empty")]
        tcp: Counters = COUNT.by(&[Key::TcpCounter]);
        /// Round-trip times measured by TCP.
        #[serde(skip_serializing_if = "Option::is_none")]
        rtt_ns: Option<LatencyResult> = PART;
        /// Largest IP packet received with a TCP segment, bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        packet_max_bytes: Option<u64> = BYTES;
        /// Frame counters that are not zero.
        #[serde(skip_serializing_if = "Counters::is_empty")]
        frames: Counters = COUNT.by(&[Key::FrameCounter]);
    }
}

part! {
    /// One application of a mix, or one of several hosts, on one side.
    pub struct PartResult {
        /// Sessions that clients began to open, or that servers received a request for.
        attempted: u64 = COUNT;
        /// Sessions completed as planned.
        completed: u64 = COUNT;
        /// Sessions that failed, by reason.
        failed: Counters = COUNT.by(&[Key::Failure]);
        /// Sessions open at the end; in an interval, the change since its beginning.
        active: i64 = COUNT;
        /// Requests sent (clients) or received (servers).
        requests: u64 = COUNT;
        /// Complete responses received (clients) or sent (servers).
        transactions: u64 = COUNT;
        /// Application bytes received.
        rx_bytes_goodput: u64 = BYTES;
        /// Application bytes sent and acknowledged; over UDP, sent.
        tx_bytes_goodput: u64 = BYTES;
        /// Time to open a session, until established. Clients only.
        #[serde(skip_serializing_if = "Option::is_none")]
        setup_ns: Option<LatencyResult> = PART.clients();
        /// Time from a request to the first byte of its response. Clients only.
        #[serde(skip_serializing_if = "Option::is_none")]
        ttfb_ns: Option<LatencyResult> = PART.clients();
        /// Time from a request to the last byte of its response. Clients only.
        #[serde(skip_serializing_if = "Option::is_none")]
        ttlb_ns: Option<LatencyResult> = PART.clients();
    }
}

part! {
    /// HTTP/2 of one side.
    pub struct Http2Result {
        /// HTTP/2 connections.
        connections: u64 = COUNT;
        /// Streams opened: requests, including repeated ones.
        streams: u64 = COUNT;
        /// Streams that the other end reset (RST_STREAM).
        resets: u64 = COUNT;
        /// Streams that servers reset because of what clients sent.
        resets_sent: u64 = COUNT;
        /// GOAWAY frames received.
        goaways: u64 = COUNT;
        /// Requests that servers reported as not processed (GOAWAY, REFUSED_STREAM). They are repeated, and count once
        /// in `requests`.
        unprocessed: u64 = COUNT;
        /// Smallest number of concurrent streams that a server announced.
        #[serde(skip_serializing_if = "Option::is_none")]
        peer_streams: Option<u64> = COUNT;
    }
}

part! {
    /// HTTP/3 of one side.
    pub struct Http3Result {
        /// Request streams, including repeated requests.
        streams: u64 = COUNT;
        /// Streams that the other end reset, or wanted no more of (RESET_STREAM, STOP_SENDING).
        resets: u64 = COUNT;
        /// Streams that servers reset because of what clients sent.
        resets_sent: u64 = COUNT;
        /// GOAWAY frames received.
        goaways: u64 = COUNT;
        /// Requests that servers reported as not processed (GOAWAY, H3_REQUEST_REJECTED). They are repeated, and count
        /// once in `requests`.
        unprocessed: u64 = COUNT;
    }
}

part! {
    /// QUIC of one side. Packets and datagrams count once their session has ended.
    pub struct QuicResult {
        /// Handshakes completed.
        connections: u64 = COUNT;
        /// Retry packets received: servers that had clients prove their address.
        retries: u64 = COUNT;
        /// Retry packets sent: servers that have clients prove their address.
        retries_sent: u64 = COUNT;
        /// Version Negotiation packets received: servers that do not support version 1.
        version_negotiations: u64 = COUNT;
        /// Packets sent.
        packets_sent: u64 = COUNT;
        /// Packets declared lost; what was in them was sent again.
        packets_lost: u64 = COUNT;
        /// Datagrams received.
        datagrams_received: u64 = COUNT;
        /// DATAGRAM frames sent (RFC 9221): messages of programs that are not sent again if they are lost.
        datagram_frames_sent: u64 = COUNT;
        /// DATAGRAM frames received.
        datagram_frames_received: u64 = COUNT;
        /// Times a congestion window was reduced.
        congestion_events: u64 = COUNT;
        /// Times a client's address or port changed and its connection continued: of clients, how often they changed it; of servers, how
        /// often they followed.
        migrated: u64 = COUNT;
        /// Connections whose server announced a preferred address (RFC 9000 section 9.6). Clients stay at the one that they began with.
        preferred_addresses: u64 = COUNT;
        /// Connections with early data (0-RTT) that the server accepted.
        early_data_accepted: u64 = COUNT;
        /// Connections whose early data the server rejected: it was sent again after the handshake. Clients only.
        early_data_rejected: u64 = COUNT;
        /// Requests in early data: of clients, sent; of servers, received before the handshake was done.
        early_requests: u64 = COUNT;
        /// Early requests that the server refused by status 425, which were sent again after the handshake. Clients only.
        too_early: u64 = COUNT;
        /// Updates of the keys, by either end.
        key_updates: u64 = COUNT;
        /// Datagrams sent with ECT(0).
        ecn_sent: u64 = COUNT;
        /// Datagrams received with ECT(0) or ECT(1).
        ecn_ect: u64 = COUNT;
        /// Datagrams received with CE: a device on the path had congestion.
        ecn_ce: u64 = COUNT;
        /// Connections whose path, or other end, was found not to support congestion marks.
        ecn_failed: u64 = COUNT;
    }
}

part! {
    /// Alternative services: HTTP/3 where servers announce it.
    pub struct AltSvcResult {
        /// Responses that announced HTTP/3.
        announced: u64 = COUNT;
        /// Responses that withdrew all alternatives.
        cleared: u64 = COUNT;
        /// Sessions opened by HTTP/3 because it was announced.
        opened: u64 = COUNT;
        /// Times that HTTP/3 was given up, for five minutes, because it could not be reached.
        broken: u64 = COUNT;
    }
}

part! {
    /// Redirects that clients received.
    pub struct RedirectResult {
        /// Requests sent because of a redirect; they count in `requests`, too.
        followed: u64 = COUNT;
        /// Connections opened to follow a redirect, because the server had closed the connection before.
        new_connections: u64 = COUNT;
        /// Requests after a redirect that were sent once more on such a connection, because the server closed the one before without a
        /// response to them. They count once in `requests`.
        repeated: u64 = COUNT;
        /// Redirects not followed, by reason: too many in a row (`limit`), to `other_scheme`, `other_host` or `other_port`,
        /// `no_location`, `bad_location`, `closed` by the server while no other connection could be had, and with HTTP/3.
        #[serde(skip_serializing_if = "Counters::is_empty")]
        unfollowed: Counters = COUNT.by(&[Key::Redirect]);
    }
}

part! {
    /// Cookies of clients' sessions.
    pub struct CookieResult {
        /// Cookies stored, or replaced.
        stored: u64 = COUNT;
        /// Requests with cookies.
        sent: u64 = COUNT;
        /// Cookies that servers deleted.
        deleted: u64 = COUNT;
        /// Cookies not stored: of another domain, malformed, or longer than 4,096 bytes.
        rejected: u64 = COUNT;
        /// Cookies dropped because a session had more than 50, or 8,000 bytes of them.
        evicted: u64 = COUNT;
    }
}

part! {
    /// WebSocket of one side.
    pub struct WebsocketResult {
        /// Connections upgraded.
        connections: u64 = COUNT;
        /// Time from the request for the upgrade to its response. Clients only.
        #[serde(skip_serializing_if = "Option::is_none")]
        upgrade_ns: Option<LatencyResult> = PART.clients();
        /// Messages sent.
        messages_sent: u64 = COUNT;
        /// Messages received completely.
        messages_received: u64 = COUNT;
        /// Bytes of messages sent, without frame headers.
        bytes_sent: u64 = BYTES;
        /// Bytes of messages received completely, without frame headers.
        bytes_received: u64 = BYTES;
        /// Ping frames sent.
        pings_sent: u64 = COUNT;
        /// Ping frames received.
        pings_received: u64 = COUNT;
        /// Pong frames received.
        pongs_received: u64 = COUNT;
        /// Close frames received by code (RFC 6455 section 7.4): `1005` without a code, `1006` for a connection that ended without
        /// a Close frame.
        #[serde(skip_serializing_if = "Counters::is_empty")]
        closes: Counters = COUNT.by(&[Key::CloseCode]);
        /// Upgrades that servers refused, by HTTP status. Clients only.
        #[serde(skip_serializing_if = "Counters::is_empty")]
        refused: Counters = COUNT.by(&[Key::HttpStatus]).clients();
        /// Compression of messages (RFC 7692). Absent where none was offered or agreed to.
        #[serde(skip_serializing_if = "Option::is_none")]
        compression: Option<CompressionResult> = PART;
    }
}

part! {
    /// Compressed messages of one side.
    pub struct CompressionResult {
        /// Connections on which both ends agreed to compress.
        connections: u64 = COUNT;
        /// Connections whose server did not agree. Clients only.
        declined: u64 = COUNT.clients();
        /// Compressed messages sent.
        messages_sent: u64 = COUNT;
        /// Compressed messages received completely.
        messages_received: u64 = COUNT;
        /// Bytes of the compressed messages sent, before compression.
        bytes_sent: u64 = BYTES;
        /// Bytes of the compressed messages received, after decompression.
        bytes_received: u64 = BYTES;
        /// Bytes of the compressed messages sent, as they were sent, without frame headers.
        compressed_bytes_sent: u64 = BYTES;
        /// Bytes of the compressed messages received, as they were received, without frame headers.
        compressed_bytes_received: u64 = BYTES;
    }
}

part! {
    /// gRPC of one side. Calls count as `requests`, ended ones as `transactions`; `ttlb_ns` is the time of a call.
    pub struct GrpcResult {
        /// Messages sent.
        messages_sent: u64 = COUNT;
        /// Messages received completely.
        messages_received: u64 = COUNT;
        /// Bytes of messages sent, without their prefixes.
        bytes_sent: u64 = BYTES;
        /// Bytes of messages received completely, without their prefixes.
        bytes_received: u64 = BYTES;
        /// Calls whose deadline passed at this end.
        deadlines: u64 = COUNT;
        /// Calls by status: ended (clients), sent completely (servers).
        #[serde(skip_serializing_if = "Counters::is_empty")]
        statuses: Counters = COUNT.by(&[Key::GrpcStatus]);
        /// Time from when a message of a stream was due to its response, with `bidirectional`; with `server_streaming` from when the
        /// response was due, that is from the call, and with `interval` its number of intervals later. Clients only.
        #[serde(skip_serializing_if = "Option::is_none")]
        message_ns: Option<LatencyResult> = PART.clients();
    }
}

part! {
    /// STAMP of one side. Test packets count as `requests`, their first replies as `transactions`; `ttlb_ns` is the round trip with the
    /// reflector's own time.
    pub struct StampResult {
        /// Test packets sent (clients), replies sent (servers).
        sent: u64 = COUNT;
        /// Test packets with a reply in time (clients), test packets received (servers).
        received: u64 = COUNT;
        /// Test packets without a reply in time. `sent` is `received` + `lost` + the packets whose time was not over. Clients only.
        #[serde(skip_serializing_if = "Option::is_none")]
        lost: Option<u64> = COUNT.clients();
        /// `lost` / (`received` + `lost`). Clients only.
        #[serde(skip_serializing_if = "Option::is_none")]
        loss_ratio: Option<f64> = RATIO.clients();
        /// Lost test packets that did not reach the reflector, of sessions that are over: up to the last reply of each. Only with
        /// `reflector: stateful`.
        #[serde(skip_serializing_if = "Option::is_none")]
        lost_to_reflector: Option<u64> = COUNT.clients();
        /// Lost test packets whose reply was lost, of sessions that are over: up to the last reply of each. Only with
        /// `reflector: stateful`.
        #[serde(skip_serializing_if = "Option::is_none")]
        lost_from_reflector: Option<u64> = COUNT.clients();
        /// Replies beyond the first to a packet. Clients only.
        #[serde(skip_serializing_if = "Option::is_none")]
        duplicates: Option<u64> = COUNT.clients();
        /// Replies to a packet sent before one that had a reply already. Clients only.
        #[serde(skip_serializing_if = "Option::is_none")]
        reordered: Option<u64> = COUNT.clients();
        /// Replies to packets that count as lost. Clients only.
        #[serde(skip_serializing_if = "Option::is_none")]
        late: Option<u64> = COUNT.clients();
        /// Replies with impossible times: a reflector that sends before it receives, or has a packet for longer than it was away. Absent if
        /// none.
        #[serde(skip_serializing_if = "Option::is_none")]
        untimed: Option<u64> = COUNT.clients();
        /// Datagrams that are no part of a session, by reason: `malformed`, `short`, `unauthentic`, `reflected`, `sessions`, `foreign`.
        #[serde(skip_serializing_if = "Counters::is_empty")]
        dropped: Counters = COUNT.by(&[Key::RxError]);
        /// Round trips without the reflector's own time.
        #[serde(skip_serializing_if = "Option::is_none")]
        round_trip_ns: Option<LatencyResult> = PART.clients();
        /// Time from a packet's arrival at the reflector to the reply's departure, by the reflector's clock.
        #[serde(skip_serializing_if = "Option::is_none")]
        reflector_ns: Option<LatencyResult> = PART.clients();
        /// Delays from sender to reflector. Absent unless both ends run here, with one clock.
        #[serde(skip_serializing_if = "Option::is_none")]
        to_reflector_ns: Option<LatencyResult> = PART.clients();
        /// Delays from reflector to sender. Absent unless both ends run here, with one clock.
        #[serde(skip_serializing_if = "Option::is_none")]
        from_reflector_ns: Option<LatencyResult> = PART.clients();
        /// Differences of the round trips of neighbouring packets of a session (RFC 3393), without their sign.
        #[serde(skip_serializing_if = "Option::is_none")]
        round_trip_jitter_ns: Option<LatencyResult> = PART.clients();
        /// Differences of their delays to the reflector. The offset of the clocks does not change them.
        #[serde(skip_serializing_if = "Option::is_none")]
        to_reflector_jitter_ns: Option<LatencyResult> = PART.clients();
        /// Differences of their delays from the reflector. The offset of the clocks does not change them.
        #[serde(skip_serializing_if = "Option::is_none")]
        from_reflector_jitter_ns: Option<LatencyResult> = PART.clients();
    }
}

part! {
    /// TLS handshakes with the same parameters.
    pub struct TlsResult {
        /// `1.2` or `1.3`.
        version: Cow<'static, str> = TEXT;
        /// Cipher suite (IANA).
        suite: Cow<'static, str> = TEXT;
        /// Key exchange; empty if there was none.
        group: Cow<'static, str> = TEXT;
        /// Application protocol agreed on (ALPN), such as `h2`; empty if none.
        alpn: Cow<'static, str> = TEXT;
        /// Whether an earlier session was resumed.
        resumed: bool = FLAG;
        /// Number of handshakes.
        handshakes: u64 = COUNT;
        /// Whether clients read no certificates and verified no signatures ('verify: nothing').
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        unverified: bool = FLAG.clients();
        /// Handshakes that one key share of clients served ('key_share'). Absent if each had its own.
        #[serde(skip_serializing_if = "Option::is_none")]
        key_share_reuse: Option<u64> = COUNT.clients();
    }
}
