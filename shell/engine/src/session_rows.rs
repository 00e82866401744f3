//! Rows of sessions of result documents, from counts.

use crate::counts::sessions::SessionCounts;
use crate::sums::{SessionProgress, Sums};
use crate::trial::Trial;
use histogram::Timing;
use result::{
    AltSvcResult, CompressionResult, CookieResult, Counters, DNS_CODES, DNS_EXTRA, GrpcResult, HTTP_CLASSES,
    Http2Result, Http3Result, LatencyResult, Named, PartResult, PhaseResult, QuicResult, RedirectResult,
    SessionResult, SideDetails, SideResult, StampResult, TlsResult, WebsocketResult,
};
use session::plan::{GrpcStatus, OpenRate, Phase, SessionPlan, Side, SidePlan, TlsVerify};
use session::{
    AltSvcCounts, CompressionCounts, CookieCounts, Counts, GrpcCounts, Http2Counts, Http3Counts, QuicCounts,
    Reason, RedirectCounts, StampCounts, StampDrop, Unfollowed, WebsocketCounts,
};
use std::collections::BTreeMap;
use units::Nanos;

/// Times that rates count over, s.
#[derive(Clone, Copy)]
struct Windows {
    /// In which sessions were opened.
    opening: f64,
    /// In which there were sessions.
    active: f64,
}

impl Windows {
    /// Those of an entry from `since` until `span` of a whole trial; of an interval all of it.
    fn between(plan: &SessionPlan, since: Nanos, span: Nanos, whole: bool) -> Self {
        let all = Self::new(plan, span, whole);
        if since == Nanos::ZERO || !whole {
            return all;
        }
        let before = Self::new(plan, since, whole);
        let whole = span.since(since).as_secs_f64().max(1e-9);
        // Sessions that are established after all were opened count over all the time.
        let rest = |all: f64, before: f64| if all > before { all - before } else { whole };
        Self { opening: rest(all.opening, before.opening), active: rest(all.active, before.active) }
    }

    /// Those of an entry in a whole trial of `span`; of an interval all of it.
    fn new(plan: &SessionPlan, span: Nanos, whole: bool) -> Self {
        let load = &plan.load;
        if !whole || plan.client.is_none() {
            let seconds = seconds(span);
            return Self { opening: seconds, active: seconds };
        }
        let active = span.since(load.start_delay);
        let (by_count, gap) = match (load.count, &load.open) {
            (Some(count), OpenRate::Constant(rate)) if rate.as_f64() > 0.0 => {
                let gap = 1e9 / rate.as_f64();
                (Nanos((count as f64 * gap) as u64), Nanos(gap as u64))
            }
            _ => (Nanos::MAX, Nanos::ZERO),
        };
        // The last session is due one gap before its time is over, and may be closed by then.
        let until = if by_count <= active.saturating_add(gap) { by_count } else { active };
        let opening = until.min(load.time.unwrap_or(Nanos::MAX));
        Self { opening: seconds(opening), active: seconds(active) }
    }
}

fn seconds(span: Nanos) -> f64 {
    span.as_secs_f64().max(1e-9)
}

/// Counts of one side.
#[derive(Default)]
struct Seen {
    counts: SessionCounts,
    progress: SessionProgress,
    /// See [`Sums::most_seen`].
    most_seen: Option<u64>,
    /// Whether counters were set to zero before.
    is_cleared: bool,
}

/// Result of one side.
fn side(seen: &Seen, windows: Windows, is_client: bool) -> SideResult {
    let Seen { counts, progress, most_seen, is_cleared } = seen;
    let SessionCounts { app, tcp, .. } = counts;
    let per_second = |n: u64| n as f64 / windows.active;
    SideResult {
        open_at_clear: is_cleared.then_some(app.carried),
        attempted: app.attempted,
        established: app.established,
        completed: app.completed,
        stopped: app.stopped,
        failed: failed(app),
        failed_ratio: app.failed_in_all() as f64 / (app.attempted + app.carried).max(1) as f64,
        active: app.active(),
        active_max: app.active_max,
        active_max_at_least: *most_seen,
        open_per_s: app.established as f64 / windows.opening,
        requests: requests(app),
        failed_requests_ratio: Some(failed_requests(app)).filter(|_| is_client && app.requests > 0),
        unasked: Some(app.unasked).filter(|n| *n > 0),
        transactions: app.transactions,
        transactions_per_s: per_second(progress.transactions),
        rx_bytes_goodput: app.bytes_received,
        tx_bytes_goodput: app.bytes_delivered,
        rx_bps_goodput: per_second(progress.bytes_received) * 8.0,
        tx_bps_goodput: per_second(progress.bytes_delivered) * 8.0,
        retransmitted_segments: tcp.retransmitted(),
        setup_ns: timing(&app.setup),
        handshake_ns: timing(&app.handshake),
        ttfb_ns: timing(&app.ttfb),
        ttlb_ns: timing(&app.ttlb),
        ttfb_due_ns: timing(&app.ttfb_due),
        ttlb_due_ns: timing(&app.ttlb_due),
    }
}

/// Requests, except the ones that servers reported as not processed, and those sent again on another connection.
fn requests(counts: &Counts) -> u64 {
    let again = counts.http2.unprocessed + counts.http3.unprocessed + counts.redirects.repeated;
    counts.requests.saturating_sub(again)
}

/// Share of requests without a complete response of a good status. Requests in flight count as failed; one that is redirected is the
/// same request until its last response.
fn failed_requests(counts: &Counts) -> f64 {
    let redirected = counts.redirects.followed;
    let requests = requests(counts).saturating_sub(redirected);
    let good = counts.transactions.saturating_sub(redirected + counts.error_responses).min(requests);
    (requests - good) as f64 / requests.max(1) as f64
}

fn failed(counts: &Counts) -> Counters {
    let all = Reason::ALL.into_iter().map(|reason| (reason.name(), counts.failed(reason)));
    present(all)
}

/// Counters that are not zero.
fn present<'a>(all: impl Iterator<Item = (&'a str, u64)>) -> Counters {
    all.filter(|(_, n)| *n > 0).map(|(name, n)| (name.to_owned(), n)).collect()
}

/// One side in full.
fn details(
    plan: &SessionPlan,
    played: &SidePlan,
    seen: &Seen,
    windows: Windows,
    is_client: bool,
) -> SideDetails {
    let SessionCounts { app, members, hosts, tcp, frames, .. } = &seen.counts;
    let apps = plan.mix.members.iter().map(|member| &member.name).zip(members);
    let hosts = played.hosts.iter().map(|host| &host.name).zip(hosts);
    let part = |(name, counts): (&String, &Counts)| (name.clone(), part_row(counts));
    let dns = DNS_CODES.into_iter().zip(app.dns).chain(DNS_EXTRA.into_iter().zip([
        app.dns_truncated,
        app.dns_retries,
        app.dns_over_tcp,
        app.dns_cancelled,
    ]));
    let saved = plan.tls.as_ref().map(|tls| &tls.client).filter(|_| is_client);
    let tls = app.tls.iter().map(|(agreed, handshakes)| TlsResult {
        version: agreed.version.into(),
        suite: agreed.suite.into(),
        group: agreed.group.into(),
        alpn: agreed.alpn.into(),
        resumed: agreed.resumed,
        handshakes: *handshakes,
        unverified: saved.is_some_and(|client| client.verify == TlsVerify::Nothing),
        key_share_reuse: saved.and_then(|client| client.key_share_reuse).map(u64::from),
    });
    SideDetails {
        seen: side(seen, windows, is_client),
        apps: apps.map(part).collect(),
        hosts: hosts.map(part).collect(),
        failure_details: app.details.clone(),
        http: present(HTTP_CLASSES.into_iter().zip(app.http)),
        dns: present(dns),
        http2: http2(&app.http2),
        http3: http3(&app.http3),
        quic: quic(&app.quic),
        alt_svc: alt_svc(&app.alt_svc),
        redirects: redirects(&app.redirects),
        cookies: cookies(&app.cookies),
        websocket: websocket(app),
        grpc: grpc(app),
        stamp: app.stamp.as_deref().and_then(|counts| stamp(counts, is_client)),
        tls: tls.collect(),
        tcp: present(tcp.each()),
        rtt_ns: timing(&tcp.rtt),
        packet_max_bytes: Some(tcp.packet_max).filter(|bytes| *bytes > 0),
        frames: present(frames.each()),
    }
}

/// The result of counts that has the same fields; `None` if all are zero.
macro_rules! same_fields {
    ($counts:ident: $from:ident => $to:ident { $($field:ident),* $(,)? }) => {{
        let $from { $($field),* } = *$counts;
        (*$counts != $from::default()).then_some($to { $($field),* })
    }};
}

fn http2(counts: &Http2Counts) -> Option<Http2Result> {
    let Http2Counts { connections, streams, resets, resets_sent, goaways, unprocessed, peer_streams } =
        *counts;
    (*counts != Http2Counts::default()).then_some(Http2Result {
        connections,
        streams,
        resets,
        resets_sent,
        goaways,
        unprocessed,
        peer_streams: peer_streams.map(u64::from),
    })
}

fn http3(counts: &Http3Counts) -> Option<Http3Result> {
    same_fields!(counts: Http3Counts => Http3Result { streams, resets, resets_sent, goaways, unprocessed })
}

fn quic(counts: &QuicCounts) -> Option<QuicResult> {
    same_fields!(counts: QuicCounts => QuicResult {
        connections,
        retries,
        retries_sent,
        version_negotiations,
        packets_sent,
        packets_lost,
        datagrams_received,
        datagram_frames_sent,
        datagram_frames_received,
        congestion_events,
        migrated,
        preferred_addresses,
        early_data_accepted,
        early_data_rejected,
        early_requests,
        too_early,
        key_updates,
        ecn_sent,
        ecn_ect,
        ecn_ce,
        ecn_failed,
    })
}

fn websocket(counts: &Counts) -> Option<WebsocketResult> {
    let WebsocketCounts {
        connections,
        messages_sent,
        messages_received,
        bytes_sent,
        bytes_received,
        pings_sent,
        pings_received,
        pongs_received,
        ref closes,
        ref refused,
        ref compression,
    } = counts.websocket;
    let by_number =
        |all: &BTreeMap<u16, u64>| all.iter().map(|(number, count)| (number.to_string(), *count)).collect();
    (counts.websocket != WebsocketCounts::default()).then(|| WebsocketResult {
        connections,
        upgrade_ns: timing(&counts.websocket_upgrade),
        messages_sent,
        messages_received,
        bytes_sent,
        bytes_received,
        pings_sent,
        pings_received,
        pongs_received,
        closes: by_number(closes),
        refused: by_number(refused),
        compression: compressed(compression),
    })
}

fn alt_svc(counts: &AltSvcCounts) -> Option<AltSvcResult> {
    same_fields!(counts: AltSvcCounts => AltSvcResult { announced, cleared, opened, broken })
}

fn redirects(counts: &RedirectCounts) -> Option<RedirectResult> {
    let names = Unfollowed::ALL.into_iter().map(Unfollowed::name);
    let unfollowed = present(names.zip(counts.unfollowed));
    let RedirectCounts { followed, new_connections, repeated, .. } = *counts;
    let result = RedirectResult { followed, new_connections, repeated, unfollowed };
    (*counts != RedirectCounts::default()).then_some(result)
}

fn cookies(counts: &CookieCounts) -> Option<CookieResult> {
    same_fields!(counts: CookieCounts => CookieResult { stored, sent, deleted, rejected, evicted })
}

fn compressed(counts: &CompressionCounts) -> Option<CompressionResult> {
    same_fields!(counts: CompressionCounts => CompressionResult {
        connections,
        declined,
        messages_sent,
        messages_received,
        bytes_sent,
        bytes_received,
        compressed_bytes_sent,
        compressed_bytes_received,
    })
}

fn grpc(counts: &Counts) -> Option<GrpcResult> {
    let GrpcCounts { messages_sent, messages_received, bytes_sent, bytes_received, deadlines, statuses } =
        counts.grpc;
    (counts.grpc != GrpcCounts::default()).then(|| GrpcResult {
        messages_sent,
        messages_received,
        bytes_sent,
        bytes_received,
        deadlines,
        statuses: present(GrpcStatus::ALL.map(GrpcStatus::name).into_iter().zip(statuses)),
        message_ns: timing(&counts.grpc_message),
    })
}

fn stamp(counts: &StampCounts, is_client: bool) -> Option<StampResult> {
    let StampCounts {
        sent,
        received,
        lost,
        lost_to_reflector,
        lost_from_reflector,
        duplicates,
        reordered,
        late,
        untimed,
        dropped,
        round_trip,
        reflector,
        to_reflector,
        from_reflector,
        round_trip_jitter,
        to_reflector_jitter,
        from_reflector_jitter,
    } = counts;
    let dropped = present(StampDrop::ALL.map(StampDrop::name).into_iter().zip(*dropped));
    let of_client = |number: u64| is_client.then_some(number);
    let known = received + lost;
    let any = *sent > 0 || known > 0 || *late > 0 || *duplicates > 0 || !dropped.is_empty();
    any.then(|| StampResult {
        sent: *sent,
        received: *received,
        lost: of_client(*lost),
        loss_ratio: (is_client && known > 0).then(|| *lost as f64 / known as f64),
        lost_to_reflector: *lost_to_reflector,
        lost_from_reflector: *lost_from_reflector,
        duplicates: of_client(*duplicates),
        reordered: of_client(*reordered),
        late: of_client(*late),
        untimed: of_client(*untimed).filter(|n| *n > 0),
        dropped,
        round_trip_ns: timing(round_trip),
        reflector_ns: timing(reflector),
        to_reflector_ns: timing(to_reflector),
        from_reflector_ns: timing(from_reflector),
        round_trip_jitter_ns: timing(round_trip_jitter),
        to_reflector_jitter_ns: timing(to_reflector_jitter),
        from_reflector_jitter_ns: timing(from_reflector_jitter),
    })
}

/// One application of a mix, or one host.
fn part_row(counts: &Counts) -> PartResult {
    PartResult {
        attempted: counts.attempted,
        completed: counts.completed,
        failed: failed(counts),
        active: counts.active(),
        requests: requests(counts),
        transactions: counts.transactions,
        rx_bytes_goodput: counts.bytes_received,
        tx_bytes_goodput: counts.bytes_delivered,
        setup_ns: timing(&counts.setup),
        ttfb_ns: timing(&counts.ttfb),
        ttlb_ns: timing(&counts.ttlb),
    }
}

/// Requested sessions per second on average in the part from `since` to `span` in which sessions were due.
fn requested(plan: &SessionPlan, counts: &SessionCounts, since: Nanos, span: Nanos) -> Option<f64> {
    match &plan.load.open {
        OpenRate::Max => None,
        OpenRate::Constant(rate) => Some(rate.as_f64()),
        OpenRate::Curve(_) => {
            let due = counts.app.attempted as f64 + counts.withheld as f64 + counts.unopened as f64;
            Some(due / span.since(plan.load.start_delay.max(since)).as_secs_f64().max(1e-9))
        }
    }
}

/// Every entry over `span`.
pub(crate) fn sessions(trial: &Trial<'_>, sums: &Sums, span: Nanos, whole: bool) -> Named<SessionResult> {
    let entries = trial.plan.sessions.iter().enumerate();
    entries
        .map(|(index, entry)| {
            let plan = &entry.session;
            let since = &sums.since;
            let windows = Windows::between(plan, since.at, span, whole);
            let main_side = if plan.client.is_some() { Side::Client } else { Side::Server };
            let before = since.attempted.get(SessionCounts::index(index, main_side)).copied();
            let seen = |side| Seen {
                is_cleared: since.times > 0,
                counts: sums.sessions(index, side),
                progress: sums.progress(index, side),
                most_seen: sums.most_seen(index, side),
            };
            let client = plan.client.as_ref().map(|played| (played, seen(Side::Client)));
            let server = plan.server.as_ref().map(|played| (played, seen(Side::Server)));
            let none = Default::default();
            let main = client.as_ref().or(server.as_ref()).map_or(&none, |(_, seen)| seen);
            let client_seen = client.as_ref().map(|(_, seen)| &seen.counts);
            let result = SessionResult {
                requested_open_per_s: client_seen
                    .filter(|_| whole)
                    .and_then(|counts| requested(plan, counts, since.at, span)),
                unopened: client_seen.map(|counts| counts.unopened),
                withheld: client_seen.map(|counts| counts.withheld),
                attempted_before_clear: before,
                unsent_requests: client_seen
                    .filter(|_| plan.load.request_rate.is_some() || plan.request_log().is_some())
                    .map(|counts| if whole { counts.unsent() } else { counts.unsent_requests }),
                seen: side(main, windows, client.is_some()),
                phases: phases(index, plan, sums, trial.plan.duration),
                client: client.as_ref().map(|(played, seen)| details(plan, played, seen, windows, true)),
                server: server.as_ref().map(|(played, seen)| details(plan, played, seen, windows, false)),
            };
            (plan.name.clone(), result)
        })
        .collect()
}

/// Counts of the main side in each phase of the load that has begun.
fn phases(index: usize, plan: &SessionPlan, sums: &Sums, end: Nanos) -> Named<PhaseResult> {
    let row = |phase: Phase| {
        let counts = sums.phases.of(&phase, SessionCounts::index(index, Side::Client))?;
        let from = sums.phases.begin(&phase)?;
        let span = seconds(phase.to.since(from));
        let progress = SessionProgress::of(&counts);
        let seen = Seen { counts, progress, most_seen: None, is_cleared: false };
        let windows = Windows { opening: span, active: span };
        let (from_s, to_s) = (from.as_secs_f64(), phase.to.as_secs_f64());
        Some((phase.name.to_owned(), PhaseResult { from_s, to_s, seen: side(&seen, windows, true) }))
    };
    plan.client.iter().flat_map(|_| plan.load.phases(end)).filter_map(row).collect()
}

/// Times that sessions measured; `None` if there are none.
fn timing(times: &Timing) -> Option<LatencyResult> {
    let quantile = |q| times.histogram.quantile(q).map(|v| v.clamp(times.min, times.max));
    Some(LatencyResult {
        min: times.min,
        mean: times.mean()?,
        stddev: times.stddev()?,
        p50: quantile(0.5),
        p90: quantile(0.9),
        p95: quantile(0.95),
        p99: quantile(0.99),
        p99_9: quantile(0.999),
        p99_99: quantile(0.9999),
        max: times.max,
        samples: times.samples(),
    })
}
