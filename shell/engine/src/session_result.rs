//! What came of sessions, as the result document says it.

use crate::flows::SessionCounts;
use crate::result::{LatencyResult, Named, object};
use crate::sums::Sums;
use crate::trial::Trial;
use schemars::JsonSchema;
use serde::Serialize;
use session::plan::{OpenRate, SessionPlan, Side};
use session::{Counts, Reason};
use std::collections::BTreeMap;
use units::Nanos;

/// One entry under `sessions`: what its clients saw, or its servers if the clients are someone else's.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SessionResult {
    /// Sessions per second asked for, on average while sessions were opened; absent for `max` and for servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requested_open_per_s: Option<f64>,
    /// Sessions that were due and not opened because the tester was too slow; less than zero in an interval that made up
    /// for an earlier one. Absent for servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unopened: Option<i64>,
    /// Sessions that were due and not opened because there were `concurrent` already. Absent for servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withheld: Option<u64>,
    /// What that side counted.
    #[serde(flatten)]
    pub seen: SideResult,
    /// What clients counted, if they were played here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub client: Option<SideDetails>,
    /// What servers counted, if they were played here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<SideDetails>,
}

/// What one side counted: `attempted` is always `completed` + `failed` + `active`.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SideResult {
    /// Sessions clients began to open; those servers were asked for.
    pub attempted: u64,
    /// Sessions that were established.
    pub established: u64,
    /// Sessions that did what they should.
    pub completed: u64,
    /// Of these, those that were ended before they were done, because their time was up or the run over.
    pub stopped: u64,
    /// Sessions that failed, by reason.
    pub failed: BTreeMap<String, u64>,
    /// Failed sessions / attempted ones.
    pub failed_ratio: f64,
    /// Sessions still open at the end. Of an interval: how many more than at its beginning.
    pub active: i64,
    /// Most sessions at a time; of several workers, the sum of each one's most.
    pub active_max: u64,
    /// Sessions established per second.
    pub open_per_s: f64,
    /// Requests sent (clients) or received (servers).
    pub requests: u64,
    /// Responses received whole (clients) or sent (servers).
    pub transactions: u64,
    /// The same per second.
    pub transactions_per_s: f64,
    /// Bytes of applications received.
    pub rx_bytes_goodput: u64,
    /// Bytes of applications sent.
    pub tx_bytes_goodput: u64,
    /// Bits of applications received per second.
    pub rx_bps_goodput: f64,
    /// Bits of applications sent per second.
    pub tx_bps_goodput: f64,
    /// TCP segments sent again, for any cause.
    pub retransmitted_segments: u64,
    /// From the wish to open to established. Clients only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup_ns: Option<LatencyResult>,
    /// TLS handshakes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handshake_ns: Option<LatencyResult>,
    /// From a request to the first byte of its response. Clients only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttfb_ns: Option<LatencyResult>,
    /// From a request to the last byte of its response. Clients only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttlb_ns: Option<LatencyResult>,
}

/// One side in full.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct SideDetails {
    /// What came of its sessions.
    #[serde(flatten)]
    pub seen: SideResult,
    /// More about failures: TLS alerts, what is wrong with certificates and responses.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub failure_details: BTreeMap<String, u64>,
    /// Responses by class of HTTP status: `2xx`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub http: BTreeMap<String, u64>,
    /// Answers by DNS code; `truncated` and `retries` beside them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub dns: BTreeMap<String, u64>,
    /// TLS handshakes by what was agreed upon.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tls: Vec<TlsResult>,
    /// Counters of TCP that are not zero.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub tcp: BTreeMap<String, u64>,
    /// Round-trip times TCP measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_ns: Option<LatencyResult>,
    /// The largest IP packet received with a segment of TCP, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub packet_max_bytes: Option<u64>,
    /// Counters of frames that are not zero.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub frames: BTreeMap<String, u64>,
}

/// TLS handshakes that agreed upon the same.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct TlsResult {
    /// `1.2` or `1.3`.
    pub version: &'static str,
    /// Cipher suite (IANA).
    pub suite: &'static str,
    /// Key exchange; empty if there was none.
    pub group: &'static str,
    /// Whether an earlier session was resumed.
    pub resumed: bool,
    /// How many.
    pub handshakes: u64,
}

impl SideResult {
    fn new(counts: &SessionCounts, seconds: f64) -> Self {
        let SessionCounts { app, tcp, .. } = counts;
        let per_second = |n: u64| n as f64 / seconds;
        Self {
            attempted: app.attempted,
            established: app.established,
            completed: app.completed,
            stopped: app.stopped,
            failed: failed(app),
            failed_ratio: app.failed_in_all() as f64 / app.attempted.max(1) as f64,
            active: app.active(),
            active_max: app.active_max,
            open_per_s: per_second(app.established),
            requests: app.requests,
            transactions: app.transactions,
            transactions_per_s: per_second(app.transactions),
            rx_bytes_goodput: app.bytes_received,
            tx_bytes_goodput: app.bytes_sent,
            rx_bps_goodput: per_second(app.bytes_received) * 8.0,
            tx_bps_goodput: per_second(app.bytes_sent) * 8.0,
            retransmitted_segments: tcp.retransmitted(),
            setup_ns: LatencyResult::of_timing(&app.setup),
            handshake_ns: LatencyResult::of_timing(&app.handshake),
            ttfb_ns: LatencyResult::of_timing(&app.ttfb),
            ttlb_ns: LatencyResult::of_timing(&app.ttlb),
        }
    }
}

fn failed(counts: &Counts) -> BTreeMap<String, u64> {
    let all = Reason::ALL.into_iter().map(|reason| (reason.name(), counts.failed(reason)));
    present(all)
}

/// Counters that are not zero.
fn present<'a>(all: impl Iterator<Item = (&'a str, u64)>) -> BTreeMap<String, u64> {
    all.filter(|(_, n)| *n > 0).map(|(name, n)| (name.to_owned(), n)).collect()
}

impl SideDetails {
    fn new(counts: &SessionCounts, seconds: f64) -> Self {
        let SessionCounts { app, tcp, frames, .. } = counts;
        const CLASSES: [&str; 5] = ["1xx", "2xx", "3xx", "4xx", "5xx"];
        let dns = dns_codes(app).chain([("truncated", app.dns_truncated), ("retries", app.dns_retries)]);
        let tls = app.tls.iter().map(|(agreed, handshakes)| TlsResult {
            version: agreed.version,
            suite: agreed.suite,
            group: agreed.group,
            resumed: agreed.resumed,
            handshakes: *handshakes,
        });
        Self {
            seen: SideResult::new(counts, seconds),
            failure_details: app.details.clone(),
            http: present(CLASSES.into_iter().zip(app.http)),
            dns: present(dns),
            tls: tls.collect(),
            tcp: present(tcp.each()),
            rtt_ns: LatencyResult::of_timing(&tcp.rtt),
            packet_max_bytes: Some(tcp.packet_max).filter(|bytes| *bytes > 0),
            frames: present(frames.each()),
        }
    }
}

/// Answers by code (RFC 1035 section 4.1.1, RFC 2136 section 2.2).
fn dns_codes(app: &Counts) -> impl Iterator<Item = (&'static str, u64)> {
    const NAMES: [&str; 16] = [
        "noerror", "formerr", "servfail", "nxdomain", "notimp", "refused", "yxdomain", "yxrrset", "nxrrset",
        "notauth", "notzone", "11", "12", "13", "14", "15",
    ];
    NAMES.into_iter().zip(app.dns)
}

/// Sessions per second asked for on average in the part of `span` in which sessions were due.
fn requested(plan: &SessionPlan, counts: &SessionCounts, span: Nanos) -> Option<f64> {
    match &plan.load.open {
        OpenRate::Max => None,
        OpenRate::Constant(rate) => Some(rate.as_f64()),
        OpenRate::Curve(_) => {
            let due = counts.app.attempted as f64 + counts.withheld as f64 + counts.unopened as f64;
            Some(due / span.since(plan.load.start_delay).as_secs_f64().max(1e-9))
        }
    }
}

/// Every entry over `span`.
pub(crate) fn sessions(trial: &Trial<'_>, sums: &Sums, span: Nanos, whole: bool) -> Named {
    let seconds = span.as_secs_f64().max(1e-9);
    let entries = trial.plan.sessions.iter().enumerate();
    entries
        .map(|(index, entry)| {
            let plan = &entry.session;
            let counts = |side| sums.sessions(index, side);
            let client = plan.client.as_ref().map(|_| counts(Side::Client));
            let server = plan.server.as_ref().map(|_| counts(Side::Server));
            let main = client.as_ref().or(server.as_ref());
            let result = SessionResult {
                requested_open_per_s: client
                    .as_ref()
                    .filter(|_| whole)
                    .and_then(|counts| requested(plan, counts, span)),
                unopened: client.as_ref().map(|counts| counts.unopened),
                withheld: client.as_ref().map(|counts| counts.withheld),
                seen: SideResult::new(main.unwrap_or(&SessionCounts::default()), seconds),
                client: client.as_ref().map(|counts| SideDetails::new(counts, seconds)),
                server: server.as_ref().map(|counts| SideDetails::new(counts, seconds)),
            };
            (plan.name.clone(), object(&result))
        })
        .collect()
}
