//! The figures of a result that hold, those that have bounds, and those that cannot be judged.
//!
//! A disturbance of the tester can only lose packets, delay them or fail sessions; it makes nothing arrive. So nothing lost,
//! all in order and all sessions completed hold whatever happened, and what was counted is a bound otherwise.
//!
//! Invariant: each figure that does not hold has one cause and one remedy.

use super::evidence::{BEFORE_SENT_MAX, DRIFT_PPM_MAX, Evidence};
use super::pauses::{Disturbance, FREE_CORES};
use crate::sums::WorkerTime;
use crate::worker::watch::GAP_MIN;
use measure::KEPT_APART_MAX;
use port::BURST;
use profile::plan::Pattern;
use result::{HoldsResult, LatencyResult, Named, ResultDocument, SessionResult, StreamResult};

/// Streams up to which figures that hold are named in a disturbed result.
const NAMED_MAX: usize = 100;
/// Relative difference up to which a percentile is the same with and without the packets that pauses touched.
const ALIKE: f64 = 0.01;
/// Relative difference from the requested rate up to which a stream had one rate throughout.
const STEADY: f64 = 0.05;
/// Reasons of sessions' failures that no pause of the tester causes: the other end replied.
const ANSWERED: [&str; 13] = [
    "refused",
    "unreachable",
    "bad_response",
    "unasked_response",
    "bad_request",
    "wrong_content",
    "http_4xx",
    "http_5xx",
    "http_status",
    "dns_code",
    "doh_content_type",
    "tls_alert",
    "tls_certificate",
];

/// One cause of doubt, its remedy, and how many lost packets it explains at most.
#[derive(Debug, Clone)]
struct Cause {
    reason: String,
    remedy: String,
    explains: u64,
}

impl Cause {
    fn new(reason: String, remedy: &str, explains: u64) -> Self {
        Self { reason, remedy: remedy.to_owned(), explains }
    }

    fn entry(&self, lower: Option<f64>, upper: Option<f64>) -> HoldsResult {
        HoldsResult {
            lower,
            upper,
            reason: Some(self.reason.clone()),
            remedy: Some(self.remedy.clone()),
            ..HoldsResult::default()
        }
    }
}

/// The entries of a result.
#[derive(Default)]
struct Entries {
    all: Named<HoldsResult>,
    names_those_that_hold: bool,
}

impl Entries {
    fn holds(&mut self, path: String) {
        if self.names_those_that_hold {
            self.all.insert(path, HoldsResult { holds: true, ..HoldsResult::default() });
        }
    }

    fn add(&mut self, path: String, entry: HoldsResult) {
        self.all.insert(path, entry);
    }
}

impl Evidence<'_> {
    /// Which figures of `document`, whose verdict is known, hold. Empty if all do.
    pub(crate) fn holds(&self, document: &ResultDocument) -> Named<HoldsResult> {
        let pause_count: u64 = self.sums.workers.iter().map(|time| time.pauses).sum();
        let unnamed = || Disturbance {
            reason: format!("the tester was held up {pause_count} times"),
            remedy: FREE_CORES,
        };
        let pauses = self.disturbance().or_else(|| (pause_count > 0).then(unnamed));
        Judge {
            evidence: self,
            pauses: pauses.map(|cause| Cause::new(cause.reason, cause.remedy, 0)),
            pause_count,
            clock: self.clock_doubt(),
            lacks_time: self.lacks_time(),
            is_disturbed: document.verdict.disturbed,
        }
        .entries(document)
    }

    /// Clocks that cannot be compared.
    fn clock_doubt(&self) -> Option<Cause> {
        let before = self.ends.iter().enumerate().find(|(port, _)| {
            let counts = &self.sums.ports[*port];
            counts.rx_before_sent as f64 > counts.rx_packets as f64 * BEFORE_SENT_MAX
        });
        let here = self.trial.is_alone();
        if let Some((port, _)) = before.filter(|_| here) {
            let name = self.port_name(port);
            let reason = format!("port {name}: packets arrived before they were sent, by the cores' clocks");
            return Some(Cause::new(reason, "use one core (--cores 1)", 0));
        }
        let ppm = self.drift_ppm.filter(|ppm| ppm.abs() > DRIFT_PPM_MAX)?;
        let reason = format!("the clock drifted {ppm:.0} ppm from the system clock");
        Some(Cause::new(reason, "run again once the system clock is steady", 0))
    }
}

/// Facts about the whole trial.
struct Judge<'a> {
    evidence: &'a Evidence<'a>,
    /// Pauses of the tester.
    pauses: Option<Cause>,
    /// Clocks that cannot be compared.
    clock: Option<Cause>,
    pause_count: u64,
    /// Whether others used a worker's core for long.
    lacks_time: bool,
    is_disturbed: bool,
}

impl Judge<'_> {
    fn entries(&self, document: &ResultDocument) -> Named<HoldsResult> {
        let verdict = &document.verdict;
        let is_doubtful = !verdict.valid || verdict.disturbed;
        let names_those_that_hold = is_doubtful && document.streams.len() <= NAMED_MAX;
        let mut entries = Entries { names_those_that_hold, ..Entries::default() };
        for (index, (name, stream)) in document.streams.iter().enumerate() {
            let causes = self.causes_of_loss(index, stream);
            let at = format!("streams.{name}");
            self.stream(&at, stream, &causes, &mut entries);
            self.outages(index, &at, stream, &causes, &mut entries);
        }
        self.groups(document, &mut entries);
        self.ports(document, &mut entries);
        for (name, session) in &document.sessions {
            self.sessions(&format!("sessions.{name}"), session, &mut entries);
        }
        if entries.all.values().all(|entry| entry.holds) && !is_doubtful {
            return Named::new();
        }
        entries.all
    }

    /// Causes of lost packets of a stream other than the device.
    fn causes_of_loss(&self, index: usize, stream: &StreamResult) -> Vec<Cause> {
        let lost = stream.lost.unwrap_or(0);
        let mut causes = Vec::new();
        if lost == 0 {
            return causes;
        }
        let Evidence { trial, sums, ends, .. } = self.evidence;
        let sender = trial.streams[index].from;
        let port_name = |port| self.evidence.port_name(port);
        let from = port_name(sender);
        for (reason, n) in ends[sender].drops.tx.iter().filter(|(_, n)| *n > 0) {
            let reason =
                format!("port {from}: the driver accepted {n} packets and did not send them ({reason})");
            causes.push(Cause::new(reason, "send at a lower rate", *n));
        }
        let receivers = self.receivers(index);
        for port in receivers.clone() {
            let (name, counts) = (port_name(port), &sums.ports[port]);
            for (reason, n) in ends[port].drops.rx.iter().filter(|(_, n)| *n > 0) {
                let reason = format!("port {name}: the tester dropped {n} received frames ({reason})");
                causes.push(Cause::new(reason, "send at a lower rate, or use more cores", *n));
            }
            if counts.rx_damaged > 0 {
                let n = counts.rx_damaged;
                let reason =
                    format!("port {name}: {n} test packets arrived with a damaged or forged signature");
                causes.push(Cause::new(reason, "see what changes packets on the way", n));
            }
        }
        let counts = &sums.arrivals.streams[index].counts;
        let unknown = counts.stale + counts.rejected;
        if unknown > 0 {
            let reason = format!("{unknown} packets had numbers that are too old, or not sent yet");
            causes.push(Cause::new(reason, "see whether another tester uses the same seed", unknown));
        }
        for port in receivers.chain([sender]) {
            let mut events = ends[port].links.iter();
            if let Some(event) = events.find(|event| event.may_cost_packets()) {
                let at = event.at.as_secs_f64();
                let reason = format!(
                    "port {}: {} changed {at:.3} s after the start",
                    port_name(port),
                    event.interface
                );
                causes.push(Cause::new(reason, "keep the tester's own interfaces up", lost));
            }
        }
        if let Some(pauses) = self.pauses_of(index, stream) {
            causes.push(pauses);
        }
        causes
    }

    /// Possible loss of a stream from pauses of the tester; `None` if none.
    ///
    /// Two bounds hold: packets missing between two that no pause touched were not lost by one; and pauses cost no more than
    /// what left while the tester recovered from them, or was under way when they began.
    fn pauses_of(&self, index: usize, stream: &StreamResult) -> Option<Cause> {
        let Evidence { trial, sums, unseen, .. } = self.evidence;
        let cause = self.pauses.as_ref()?;
        let lost = stream.lost.unwrap_or(0);
        let one_receiver = sums.workers.len() == 1 && trial.is_alone();
        let missed = u64::try_from(sums.arrivals.streams[index].counts.missed).unwrap_or(0);
        let blameless = if one_receiver { missed + unseen[index] } else { 0 };
        let under_way = self.pause_count.saturating_mul(self.under_way(index, stream, one_receiver));
        // What came back of those was not lost.
        let arrived = if one_receiver { arrived_touched(stream) } else { 0 };
        let touched = sums.sent_touched[index].saturating_add(under_way).saturating_sub(arrived);
        let late = self.late_by_long_turns(index, stream);
        let explains = match trial.plan.sent_elsewhere {
            Some(_) => lost,
            None => touched.saturating_add(late).min(lost.saturating_sub(blameless.saturating_sub(late))),
        };
        Some(Cause { explains: explains.min(lost), ..cause.clone() })
    }

    /// Packets of a stream under way in one pause, at most; of one worker, when it begins.
    fn under_way(&self, index: usize, stream: &StreamResult, one_worker: bool) -> u64 {
        // Those that a pause touched took as long as the pause, in which other workers send. Of the others the device's delay
        // is known.
        let undisturbed = stream.undisturbed.as_ref().and_then(|still| still.latency_ns.as_ref());
        let times =
            undisturbed.filter(|times| one_worker && times.samples > 0).or(stream.latency_ns.as_ref());
        let delay = times.map_or(0.0, |times| times.max as f64 / 1e9);
        let requested = stream.requested_pps.unwrap_or(f64::INFINITY);
        let is_even = one_worker
            && matches!(self.evidence.trial.plan.streams[index].pattern, Pattern::Continuous)
            && (stream.offered_pps / requested - 1.0).abs() < STEADY;
        // At an even rate, packets that leave together were due since the last reading of the clock that was no pause.
        let seconds = if is_even { delay + GAP_MIN.as_secs_f64() } else { delay };
        let together = if is_even { 1 } else { BURST as u64 };
        (stream.offered_pps * seconds).ceil() as u64 + together
    }

    /// Packets of a stream that long turns that count as work cost, at most. The processor's clock also counts interrupts, and
    /// time in which the machine's host held up the core, so these may be pauses. A burst of late packets costs no more than
    /// there are in it: without them, a device that keeps up would lose none.
    fn late_by_long_turns(&self, index: usize, stream: &StreamResult) -> u64 {
        let Evidence { sums, .. } = self.evidence;
        let ns: u64 = sums.workers.iter().map(|time| time.long_turns_ns).sum();
        // What arrives in such a turn waits; packets are not due evenly: twice as many as on average.
        let waiting = (stream.offered_pps * ns as f64 / 1e9).ceil() as u64;
        sums.sent_late[index].saturating_add(waiting).saturating_mul(2)
    }

    /// The ports at which a stream may arrive.
    fn receivers(&self, index: usize) -> impl Iterator<Item = usize> + Clone + use<'_> {
        let to = self.evidence.trial.streams[index].to;
        (0..self.evidence.ends.len()).filter(move |port| to.is_none_or(|to| to == *port))
    }

    fn stream(&self, at: &str, stream: &StreamResult, causes: &[Cause], entries: &mut Entries) {
        let explained = causes.iter().map(|cause| cause.explains).fold(0, u64::saturating_add);
        let main = causes.iter().max_by_key(|cause| cause.explains).filter(|cause| cause.explains > 0);
        if let Some(lost) = stream.lost {
            match main {
                Some(cause) if lost > 0 => {
                    let bounds = [lost.saturating_sub(explained), lost].map(|n| n as f64);
                    let sent = bounds[1] / stream.loss_ratio.filter(|ratio| *ratio > 0.0).unwrap_or(1.0);
                    entries.add(format!("{at}.lost"), cause.entry(Some(bounds[0]), Some(bounds[1])));
                    let ratios = bounds.map(|n| Some(n / sent));
                    entries.add(format!("{at}.loss_ratio"), cause.entry(ratios[0], ratios[1]));
                    let rx = stream.rx.unwrap_or(0) as f64;
                    entries.add(format!("{at}.rx"), cause.entry(Some(rx), Some(rx + bounds[1] - bounds[0])));
                }
                _ => entries.holds(format!("{at}.lost")),
            }
        }
        self.order(at, stream, entries);
        self.times(at, stream, entries);
    }

    /// Outages of a stream. A start or end during a pause of the tester is detected later, or earlier; and loss from
    /// the pause is no outage of the device.
    ///
    /// An outage has no gaps, so a pause explains no more of one than its own length and the packets in flight. One
    /// that is shorter than a sampling interval makes none.
    fn outages(
        &self,
        index: usize,
        at: &str,
        stream: &StreamResult,
        causes: &[Cause],
        entries: &mut Entries,
    ) {
        let Some(outages) = &stream.outages else { return };
        let workers = &self.evidence.sums.workers;
        let paused: u64 = workers.iter().map(WorkerTime::away_ns).sum();
        let hidden = if paused < outages.interval_ns { 0 } else { paused };
        let unnamed = || Cause::new("the tester was held up".to_owned(), FREE_CORES, 0);
        let by_pauses = (hidden > 0).then(|| self.pauses.clone().unwrap_or_else(unnamed));
        let is_else = |cause: &&Cause| self.pauses.as_ref().is_none_or(|own| own.reason != cause.reason);
        let elsewhere = causes.iter().filter(is_else).max_by_key(|cause| cause.explains);
        let Some(cause) = elsewhere.or(by_pauses.as_ref()).filter(|_| outages.count > 0) else {
            return entries.holds(format!("{at}.outages"));
        };
        let lost = causes.iter().filter(is_else).map(|cause| cause.explains).fold(0, u64::saturating_add);
        let undisturbed = stream.undisturbed.as_ref().and_then(|still| still.latency_ns.as_ref());
        let delay = undisturbed.or(stream.latency_ns.as_ref()).map_or(0, |times| times.max);
        // At an even rate, so many packets are sent in so much time.
        let is_even = matches!(self.evidence.trial.plan.streams[index].pattern, Pattern::Continuous);
        let seconds = lost as f64 / stream.offered_pps;
        let of_lost = if lost == 0 { 0.0 } else { seconds * 1e9 };
        let of_pauses = hidden as f64 * (1.0 + delay as f64 / outages.interval_ns.max(1) as f64);
        let explained = match (is_even || lost == 0) && of_lost.is_finite() {
            true => (of_lost + of_pauses) as u64 + outages.interval_ns,
            false => u64::MAX,
        };
        let mut lengths: Vec<u64> = outages
            .last
            .iter()
            .map(|one| one.until_ns.unwrap_or(u64::MAX).saturating_sub(one.from_ns))
            .collect();
        lengths.sort_unstable();
        let mut left = explained;
        let gone = lengths.into_iter().take_while(|length| {
            let fits = *length <= left;
            left = left.saturating_sub(*length);
            fits
        });
        // Of those before the last ones it is not known how long they were.
        let least = outages.last.len().saturating_sub(gone.count());
        let mut add = |figure: &str, least: u64, most: u64| {
            let bounds = [least, most].map(|n| Some(n as f64));
            entries.add(format!("{at}.outages.{figure}"), cause.entry(bounds[0], bounds[1]));
        };
        add("count", least as u64, outages.count);
        for (figure, ns) in [("total_ns", outages.total_ns), ("longest_ns", outages.longest_ns)] {
            add(figure, ns.saturating_sub(explained), ns.saturating_add(hidden + outages.interval_ns));
        }
    }

    /// Reordered packets: bursts after a pause may take turns that packets at their time do not take.
    fn order(&self, at: &str, stream: &StreamResult, entries: &mut Entries) {
        match (stream.reordered, self.pauses.as_ref().filter(|_| self.pause_count > 0)) {
            (Some(n), Some(cause)) if n > 0 => {
                entries.add(format!("{at}.reordered"), cause.entry(Some(0.0), Some(n as f64)));
            }
            (Some(_), _) => entries.holds(format!("{at}.reordered")),
            (None, _) => {}
        }
    }

    /// Latency, jitter and inter-arrival.
    fn times(&self, at: &str, stream: &StreamResult, entries: &mut Entries) {
        let parts = [
            ("latency_ns", stream.latency_ns.is_some()),
            ("jitter_ns", stream.jitter_ns.is_some()),
            ("interarrival_ns", stream.interarrival_ns.is_some()),
        ];
        for (part, _) in parts.into_iter().filter(|(_, is_there)| *is_there) {
            let path = format!("{at}.{part}");
            match self.doubt_of_times(part, stream) {
                Some(entry) => entries.add(path, entry),
                None => entries.holds(path),
            }
        }
    }

    fn doubt_of_times(&self, part: &str, stream: &StreamResult) -> Option<HoldsResult> {
        if let Some(clock) = &self.clock {
            return Some(clock.entry(None, None));
        }
        let entry = self.pauses.as_ref()?.entry(None, None);
        let are_kept_apart = self.evidence.trial.streams.len() <= KEPT_APART_MAX;
        let Some(undisturbed) = &stream.undisturbed else {
            return (!are_kept_apart && self.is_disturbed).then_some(entry);
        };
        if undisturbed.ratio == 0.0 {
            return Some(entry);
        }
        let alike = match part {
            "latency_ns" => alike(percentiles, &stream.latency_ns, &undisturbed.latency_ns),
            "jitter_ns" => alike(|jitter| [jitter.rfc4689_mean], &stream.jitter_ns, &undisturbed.jitter_ns),
            _ => alike(|gap| [gap.mean, gap.stddev], &stream.interarrival_ns, &undisturbed.interarrival_ns),
        };
        (!alike).then_some(HoldsResult { undisturbed_ratio: Some(undisturbed.ratio), ..entry })
    }

    /// Sums of streams: bounds add up, and times are the worst member's.
    fn groups(&self, document: &ResultDocument, entries: &mut Entries) {
        for (plan, (group, rows)) in self.evidence.trial.plan.groups.iter().zip(&document.groups) {
            for ((_, members), (name, row)) in plan.rows.iter().zip(rows) {
                let streams = members.iter().filter_map(|member| {
                    Some((*member as usize, document.streams.get_index(*member as usize)?.1))
                });
                let mut causes: Vec<Cause> = Vec::new();
                streams.for_each(|(index, stream)| {
                    let mut left = stream.lost.unwrap_or(0);
                    for cause in self.causes_of_loss(index, stream) {
                        let explains = cause.explains.min(left);
                        left -= explains;
                        causes.push(Cause { explains, ..cause });
                    }
                });
                self.stream(&format!("groups.{group}.{name}"), row, &causes, entries);
            }
        }
    }

    /// Rates of ports: what was sent and received is at least what an undisturbed tester would have seen.
    fn ports(&self, document: &ResultDocument, entries: &mut Entries) {
        let unsent: u64 = self.evidence.ends.iter().map(|end| end.unsent).sum();
        for ((name, port), end) in document.ports.iter().zip(self.evidence.ends) {
            let path = |figure: &str| format!("ports.{name}.{figure}");
            let seconds = document.counted_s().max(1e-9);
            if end.unsent == 0 {
                entries.holds(path("tx_pps"));
            } else if let Some(cause) = self.shortfall() {
                let due = (port.tx_packets + end.unsent) as f64 / seconds;
                entries.add(path("tx_pps"), cause.entry(Some(port.tx_pps), Some(due.max(port.tx_pps))));
            }
            let lost = document.streams.values().any(|stream| stream.lost.is_some_and(|lost| lost > 0));
            if port.rx_packets == 0 || unsent == 0 && !lost {
                continue;
            }
            if let Some(cause) = self.shortfall() {
                for (figure, value) in [("rx_pps", port.rx_pps), ("rx_bps_l1", port.rx_bps_l1)] {
                    entries.add(path(figure), cause.entry(Some(value), None));
                }
            }
        }
    }

    /// Why the tester sent less than requested, if a pause is the cause.
    fn shortfall(&self) -> Option<&Cause> {
        self.pauses.as_ref().filter(|_| self.lacks_time && self.is_disturbed)
    }

    fn sessions(&self, at: &str, session: &SessionResult, entries: &mut Entries) {
        let seen = &session.seen;
        let Some(cause) = self.pauses.as_ref().filter(|_| self.is_disturbed) else { return };
        let doubted: u64 = seen
            .failed
            .iter()
            .filter(|(reason, _)| !ANSWERED.contains(&reason.as_str()))
            .map(|(_, n)| n)
            .sum();
        let unfinished = doubted + seen.active.max(0) as u64 + session.unopened.unwrap_or(0).max(0) as u64;
        // Requests that wait at the end count with less time than they would take.
        let unsent = session.unsent_requests.unwrap_or(0) > 0;
        if unfinished == 0 {
            ["completed", "failed_ratio", "failed_requests_ratio"]
                .iter()
                .for_each(|figure| entries.holds(format!("{at}.{figure}")));
        } else {
            let completed = seen.completed as f64;
            entries.add(
                format!("{at}.completed"),
                cause.entry(Some(completed), Some(completed + unfinished as f64)),
            );
            let failed: u64 = seen.failed.values().sum();
            let asked = seen.attempted + seen.open_at_clear.unwrap_or(0);
            let ratio = |n: u64| n as f64 / asked.max(1) as f64;
            if doubted > 0 {
                let bounds = [failed - doubted, failed].map(|n| Some(ratio(n)));
                entries.add(format!("{at}.failed_ratio"), cause.entry(bounds[0], bounds[1]));
            }
            // Which of the requests without a response such sessions had to send is not known.
            if let Some(ratio) = seen.failed_requests_ratio.filter(|ratio| *ratio > 0.0) {
                let path = format!("{at}.failed_requests_ratio");
                entries.add(path, cause.entry(Some(0.0), Some(ratio)));
            }
            for (reason, n) in seen.failed.iter().filter(|(reason, _)| !ANSWERED.contains(&reason.as_str())) {
                entries.add(format!("{at}.failed.{reason}"), cause.entry(Some(0.0), Some(*n as f64)));
            }
        }
        for (figure, value) in [
            ("open_per_s", seen.open_per_s),
            ("transactions_per_s", seen.transactions_per_s),
            ("rx_bps_goodput", seen.rx_bps_goodput),
            ("tx_bps_goodput", seen.tx_bps_goodput),
        ] {
            entries.add(format!("{at}.{figure}"), cause.entry(Some(value), None));
        }
        let times = [
            ("setup_ns", seen.setup_ns.is_some()),
            ("handshake_ns", seen.handshake_ns.is_some()),
            ("ttfb_ns", seen.ttfb_ns.is_some()),
            ("ttlb_ns", seen.ttlb_ns.is_some()),
            ("ttfb_due_ns", seen.ttfb_due_ns.is_some()),
            ("ttlb_due_ns", seen.ttlb_due_ns.is_some()),
        ];
        // Pauses add to times. But sessions that were not opened, or failed for want of an answer, may have been the slow ones.
        let at_most = self.clock.is_none()
            && doubted == 0
            && session.unopened.unwrap_or(0) <= 0
            && session.withheld.unwrap_or(0) == 0;
        let at_most = |figure: &str| at_most && !(unsent && figure.ends_with("_due_ns"));
        for (figure, _) in times.into_iter().filter(|(_, is_there)| *is_there) {
            entries.add(
                format!("{at}.{figure}"),
                HoldsResult { at_most: at_most(figure), ..cause.entry(None, None) },
            );
        }
    }
}

/// Percentiles that are quoted most.
fn percentiles(times: &LatencyResult) -> [f64; 3] {
    [times.p50, times.p90, times.p99].map(|ns| ns.map_or(times.mean, |ns| ns as f64))
}

/// Packets that a pause touched and that arrived, at least.
fn arrived_touched(stream: &StreamResult) -> u64 {
    let Some(undisturbed) = &stream.undisturbed else { return 0 };
    (stream.rx.unwrap_or(0) as f64 * (1.0 - undisturbed.ratio)).floor() as u64
}

/// Whether figures are the same with and without packets that pauses touched.
fn alike<T, const N: usize>(figures: impl Fn(&T) -> [f64; N], all: &Option<T>, apart: &Option<T>) -> bool {
    let (Some(all), Some(apart)) = (all, apart) else { return false };
    figures(all).into_iter().zip(figures(apart)).all(|(a, b)| (a - b).abs() <= ALIKE * b.max(1.0))
}
