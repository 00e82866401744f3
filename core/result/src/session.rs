//! Sessions: what clients and servers counted.

use crate::{Counters, LatencyResult};
use std::borrow::Cow;

part! {
    /// One entry under `sessions`: what its clients saw, or its servers if the clients are someone else's.
    pub struct SessionResult {
        /// Sessions per second asked for, on average while sessions were opened; absent for `max` and for servers.
        #[serde(skip_serializing_if = "Option::is_none")]
        requested_open_per_s: Option<f64> = PER_S.clients();
        /// Sessions that were due and not opened because the tester was too slow; less than zero in an interval that made up
        /// for an earlier one. Absent for servers.
        #[serde(skip_serializing_if = "Option::is_none")]
        unopened: Option<i64> = COUNT.clients();
        /// Sessions that were due and not opened because there were `concurrent` already. Absent for servers.
        #[serde(skip_serializing_if = "Option::is_none")]
        withheld: Option<u64> = COUNT.clients();
        /// What that side counted.
        #[serde(flatten)]
        seen: SideResult = FLAT;
        /// What clients counted, if they were played here.
        #[serde(skip_serializing_if = "Option::is_none")]
        client: Option<SideDetails> = PART.clients();
        /// What servers counted, if they were played here.
        #[serde(skip_serializing_if = "Option::is_none")]
        server: Option<SideDetails> = PART.servers();
    }
}

part! {
    /// What one side counted: `attempted` is always `completed` + `failed` + `active`.
    pub struct SideResult {
        /// Sessions clients began to open; those servers were asked for.
        attempted: u64 = COUNT;
        /// Sessions that were established.
        established: u64 = COUNT;
        /// Sessions that did what they should.
        completed: u64 = COUNT;
        /// Of these, those that were ended before they were done, because their time was up or the run over.
        stopped: u64 = COUNT;
        /// Sessions that failed, by reason.
        failed: Counters = COUNT.by(&[Key::Failure]);
        /// Failed sessions / attempted ones.
        failed_ratio: f64 = RATIO;
        /// Sessions still open at the end. Of an interval: how many more than at its beginning.
        active: i64 = COUNT;
        /// Most sessions at a time; of several workers, the sum of each one's most.
        active_max: u64 = COUNT;
        /// Sessions established per second.
        open_per_s: f64 = PER_S;
        /// Requests sent (clients) or received (servers).
        requests: u64 = COUNT;
        /// Responses received whole (clients) or sent (servers).
        transactions: u64 = COUNT;
        /// The same per second.
        transactions_per_s: f64 = PER_S;
        /// Bytes of applications received.
        rx_bytes_goodput: u64 = BYTES;
        /// Bytes of applications sent.
        tx_bytes_goodput: u64 = BYTES;
        /// Bits of applications received per second.
        rx_bps_goodput: f64 = BITS_PER_S;
        /// Bits of applications sent per second.
        tx_bps_goodput: f64 = BITS_PER_S;
        /// TCP segments sent again, for any cause.
        retransmitted_segments: u64 = COUNT;
        /// From the wish to open to established. Clients only.
        #[serde(skip_serializing_if = "Option::is_none")]
        setup_ns: Option<LatencyResult> = PART.clients();
        /// TLS handshakes.
        #[serde(skip_serializing_if = "Option::is_none")]
        handshake_ns: Option<LatencyResult> = PART;
        /// From a request to the first byte of its response. Clients only.
        #[serde(skip_serializing_if = "Option::is_none")]
        ttfb_ns: Option<LatencyResult> = PART.clients();
        /// From a request to the last byte of its response. Clients only.
        #[serde(skip_serializing_if = "Option::is_none")]
        ttlb_ns: Option<LatencyResult> = PART.clients();
    }
}

part! {
    /// One side in full.
    pub struct SideDetails {
        /// What came of its sessions.
        #[serde(flatten)]
        seen: SideResult = FLAT;
        /// More about failures: TLS alerts, what is wrong with certificates and responses.
        #[serde(skip_serializing_if = "Counters::is_empty")]
        failure_details: Counters = COUNT.by(&[Key::FailureDetail]);
        /// Responses by class of HTTP status: `2xx`.
        #[serde(skip_serializing_if = "Counters::is_empty")]
        http: Counters = COUNT.by(&[Key::HttpClass]);
        /// Answers by DNS code; `truncated` and `retries` beside them.
        #[serde(skip_serializing_if = "Counters::is_empty")]
        dns: Counters = COUNT.by(&[Key::DnsCode]);
        /// TLS handshakes by what was agreed upon.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        tls: Vec<TlsResult> = PART;
        /// Counters of TCP that are not zero.
        #[serde(skip_serializing_if = "Counters::is_empty")]
        tcp: Counters = COUNT.by(&[Key::TcpCounter]);
        /// Round-trip times TCP measured.
        #[serde(skip_serializing_if = "Option::is_none")]
        rtt_ns: Option<LatencyResult> = PART;
        /// The largest IP packet received with a segment of TCP, bytes.
        #[serde(skip_serializing_if = "Option::is_none")]
        packet_max_bytes: Option<u64> = BYTES;
        /// Counters of frames that are not zero.
        #[serde(skip_serializing_if = "Counters::is_empty")]
        frames: Counters = COUNT.by(&[Key::FrameCounter]);
    }
}

part! {
    /// TLS handshakes that agreed upon the same.
    pub struct TlsResult {
        /// `1.2` or `1.3`.
        version: Cow<'static, str> = TEXT;
        /// Cipher suite (IANA).
        suite: Cow<'static, str> = TEXT;
        /// Key exchange; empty if there was none.
        group: Cow<'static, str> = TEXT;
        /// Whether an earlier session was resumed.
        resumed: bool = FLAG;
        /// How many.
        handshakes: u64 = COUNT;
    }
}
