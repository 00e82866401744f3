//! Loads whose rate their servers set.

use super::evidence::Evidence;
use super::findings::Findings;
use session::plan::{AppPlan, Delay, OpenRate, SessionPlan, Side};

/// Share of its time that every worker must have had to spare.
const SPARE_MIN: f64 = 0.25;
/// Least number of responses for a note.
const RESPONSES_MIN: u64 = 100;
/// Bytes sent for a response up to which its time is not that of the tester's own sending.
const SENT_MAX: u64 = 16 << 10;
/// Share of sessions that may fail, as a divisor: if more do, failures set the rate.
const FAILED_FEW: u64 = 100;
/// Share of a response's time that passes before its first byte: of more, the rest depends on windows and the path.
const FIRST_BYTE_MIN: f64 = 0.5;

/// Whether each client sends its next request as soon as it has a response, until the run ends.
fn asks_without_pause(plan: &SessionPlan) -> bool {
    let load = &plan.load;
    // A worker's time counts from the start of traffic.
    let is_whole = load.start_delay == units::Nanos::ZERO;
    let is_endless =
        load.count.is_none() && load.bytes.is_none() && load.time.is_none() && load.request_count.is_none();
    let is_paced = load.request_rate.is_some()
        || load.close_rate.is_some()
        || load.up.is_some()
        || load.down != Delay::NONE;
    let asks = |app: &AppPlan| matches!(app, AppPlan::Http(http) if http.think == Delay::NONE);
    load.open == OpenRate::Max
        && is_endless
        && is_whole
        && !is_paced
        && plan.request_log().is_none()
        && plan.mix.members.iter().all(|member| asks(&member.app))
}

impl Evidence<'_> {
    /// The largest share of its time in which a worker was busy, or had no core.
    fn fullest_worker(&self) -> f64 {
        let workers = self.sums.workers.iter().enumerate();
        let full = workers.map(|(worker, time)| {
            let busy = time.busy_ns as f64 / time.total_ns.max(1) as f64;
            busy + self.without_core(worker)
        });
        full.fold(0.0, f64::max)
    }

    /// Names what set the rate of clients that wait for nothing but responses, while the tester had time to spare.
    pub(super) fn note_servers_limits(&self, verdict: &mut Findings) {
        let full = self.fullest_worker();
        if full > 1.0 - SPARE_MIN {
            return;
        }
        for (index, entry) in self.trial.plan.sessions.iter().enumerate() {
            let plan = &entry.session;
            let is_ours = plan.client.as_ref().is_some_and(|client| self.trial.here[client.port]);
            if !is_ours || plan.server.is_some() || !asks_without_pause(plan) {
                continue;
            }
            let counts = self.sums.sessions(index, Side::Client);
            let [first, last] = [&counts.app.ttfb, &counts.app.ttlb].map(|times| times.mean().unwrap_or(0.0));
            let app = &counts.app;
            let is_upload = app.bytes_delivered / app.transactions.max(1) > SENT_MAX;
            let fails = app.failed_in_all() > (app.attempted + app.carried) / FAILED_FEW;
            if app.transactions < RESPONSES_MIN || first < last * FIRST_BYTE_MIN || is_upload || fails {
                continue;
            }
            let (name, at_once) = (&plan.name, counts.app.active_max.max(1));
            verdict.note(format!(
                "sessions {name}: the server, or the path to it, was the limit: {at_once} connections waited for it while \
                 the tester had {:.0}% of its time to spare; more of them, or more requests at a time on each, show whether it can do more",
                100.0 * (1.0 - full)
            ));
        }
    }
}
