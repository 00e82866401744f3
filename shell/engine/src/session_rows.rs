//! Rows of sessions of result documents, from counts.

use crate::counts::sessions::SessionCounts;
use crate::sums::Sums;
use crate::trial::Trial;
use histogram::Timing;
use result::{
    Counters, DNS_CODES, DNS_EXTRA, HTTP_CLASSES, LatencyResult, Named, SessionResult, SideDetails,
    SideResult, TlsResult,
};
use session::plan::{OpenRate, SessionPlan, Side};
use session::{Counts, Reason};
use units::Nanos;

/// What one side counted over `seconds`.
fn side(counts: &SessionCounts, seconds: f64) -> SideResult {
    let SessionCounts { app, tcp, .. } = counts;
    let per_second = |n: u64| n as f64 / seconds;
    SideResult {
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
        setup_ns: timing(&app.setup),
        handshake_ns: timing(&app.handshake),
        ttfb_ns: timing(&app.ttfb),
        ttlb_ns: timing(&app.ttlb),
    }
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
fn details(counts: &SessionCounts, seconds: f64) -> SideDetails {
    let SessionCounts { app, tcp, frames, .. } = counts;
    let dns = DNS_CODES
        .into_iter()
        .zip(app.dns)
        .chain(DNS_EXTRA.into_iter().zip([app.dns_truncated, app.dns_retries]));
    let tls = app.tls.iter().map(|(agreed, handshakes)| TlsResult {
        version: agreed.version.into(),
        suite: agreed.suite.into(),
        group: agreed.group.into(),
        resumed: agreed.resumed,
        handshakes: *handshakes,
    });
    SideDetails {
        seen: side(counts, seconds),
        failure_details: app.details.clone(),
        http: present(HTTP_CLASSES.into_iter().zip(app.http)),
        dns: present(dns),
        tls: tls.collect(),
        tcp: present(tcp.each()),
        rtt_ns: timing(&tcp.rtt),
        packet_max_bytes: Some(tcp.packet_max).filter(|bytes| *bytes > 0),
        frames: present(frames.each()),
    }
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
pub(crate) fn sessions(trial: &Trial<'_>, sums: &Sums, span: Nanos, whole: bool) -> Named<SessionResult> {
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
                seen: side(main.unwrap_or(&SessionCounts::default()), seconds),
                client: client.as_ref().map(|counts| details(counts, seconds)),
                server: server.as_ref().map(|counts| details(counts, seconds)),
            };
            (plan.name.clone(), result)
        })
        .collect()
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
        p99: quantile(0.99),
        p99_9: quantile(0.999),
        p99_99: quantile(0.9999),
        max: times.max,
        samples: times.samples(),
    })
}
