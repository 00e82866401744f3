//! Share of the requested load that succeeded: sessions completed and attempted, packets received and sent to a port of
//! the tester. Load that the tester itself did not send or open counts as requested, too.
//!
//! Not here: whether the figures can be trusted (`trust`). A valid result may show that nothing worked.
//!
//! Invariant: only load that the user wants measured counts. A stream without a receiver here does not, and neither
//! does a stream or entry with a criterion that demands loss or failures: that criterion decides.

use profile::Plan;
use profile::plan::{Comparison, SessionEntry};
use result::{AchievedPart, AchievedResult, Meaning, ResultDocument, SessionResult, SideDetails, SideResult};
use session::plan::{AppPlan, HttpRequest};
use std::fmt::Write as _;
use units::{count, percent, quantity};

/// After a share of load of which a criterion demands that it fails.
const DEMANDED: &str = "; a criterion demands loss or failures";
/// Share of requests due, as a divisor, of which more must wait at the end to be named.
const FEW: u64 = 100;
/// Names listed in a sentence.
const NAMES_MAX: usize = 5;
/// Share of its time from which on traffic lasted all of it.
const NEARLY: f64 = 0.99;
/// Share of a run's time after which its end, if nothing more is due, is that of its time: the last packet leaves a little earlier.
const MOSTLY: f64 = 0.9;
/// Reasons of failures listed in a sentence.
const REASONS_MAX: usize = 3;

/// Share of the load requested by `plan` that succeeded in its trial.
pub(crate) fn achieved(plan: &Plan, document: &ResultDocument) -> AchievedResult {
    // `asked` has the most that a number of the row can be.
    let demanded = |section: &str, name: &str, asked: &dyn Fn(&str) -> u64| {
        let prefix = format!("{section}.{name}.");
        plan.criteria.iter().any(|criterion| {
            criterion.path.strip_prefix(&prefix).is_some_and(|number| {
                demands_failure(number, criterion.comparison, criterion.bound, asked(number))
            })
        })
    };
    let entry_demands_failure = |name: &str, side: &SideResult| {
        demanded("sessions", name, &|number| match number {
            "transactions" => side.requests,
            _ => side.attempted + side.open_at_clear.unwrap_or(0),
        })
    };
    let mut tally = Tally::default();
    let entries = document.sessions.iter().filter(|(name, entry)| !entry_demands_failure(name, &entry.seen));
    let mut unopened = 0;
    let each = entries.map(|(name, entry)| {
        unopened += entry.unopened.unwrap_or(0).max(0) as u64;
        (name, &entry.seen)
    });
    let rows: Vec<(&String, &SideResult)> = each.collect();
    for (name, side) in &rows {
        let asked = side.attempted + side.open_at_clear.unwrap_or(0);
        tally.add(name, asked, side.completed, side.active.max(0) as u64, side.transactions);
    }
    tally.part.asked += unopened;
    let unasked = unopened_by_number(plan, document);
    let worked = rows.iter().any(|(_, side)| side.transactions > 0 || side.rx_bytes_goodput > 0);
    let mut sessions = tally.part();
    let mut tally = Tally::default();
    // Ports whose unsent packets all belong to streams that count.
    let mut whole: Vec<bool> = plan.ports.iter().map(|_| true).collect();
    for plan in &plan.streams {
        let received = document.streams.get(&plan.name).and_then(|stream| Some((stream.tx, stream.rx?)));
        let sent = received.map_or(0, |(tx, _)| tx);
        let counts = plan.to.is_some() && plan.is_counted() && !demanded("streams", &plan.name, &|_| sent);
        match received.filter(|_| counts) {
            Some((tx, rx)) => tally.add(&plan.name, tx, rx, 0, 0),
            None => whole[plan.from] = false,
        }
    }
    let ports = plan.ports.iter().zip(whole).filter(|(_, whole)| *whole);
    let unsent =
        ports.filter_map(|(port, _)| document.ports.get(&port.name)).filter_map(|port| port.tx_unsent).sum();
    tally.part.asked += unsent;
    let mut packets = tally.part();
    let good = |part: &Option<AchievedPart>, worked: bool| part.as_ref().is_none_or(|p| is_enough(p, worked));
    let mut requests = Requests::of(plan, document, |name| rows.iter().any(|(row, _)| *row == name));
    let success = good(&sessions, worked) && good(&packets, false) && requests.are_enough();
    // Success is about what was tried; what there was no time for is no failure of the device.
    let left = Unsent::by_number(plan, document);
    let ended = Ended {
        sessions: unasked,
        packets: left.rest,
        too_long: left.too_long,
        bytes: unmoved_bytes(plan, document),
        by: ending(plan, document),
    };
    add_to(&mut sessions, ended.sessions);
    add_to(&mut packets, ended.packets + ended.too_long);
    let withheld = Withheld { sessions: unopened, packets: unsent, ended };
    requests.by = ending_of_requests(plan, document, &withheld.ended.by);
    let told = (sessions.as_ref(), packets.as_ref());
    let summary = summary(document, &rows, told, &requests, &withheld, success);
    AchievedResult { success, summary, sessions, packets }
}

/// Whether a criterion passes only if some of `asked` packets are lost, or some sessions or requests fail.
fn demands_failure(number: &str, comparison: Comparison, bound: f64, asked: u64) -> bool {
    let meaning = Meaning::of(number);
    let (is_success, is_failure) = (meaning == Some(Meaning::Success), meaning == Some(Meaning::Failure));
    match comparison {
        Comparison::Greater => is_failure && bound >= 0.0,
        Comparison::AtLeast => is_failure && bound > 0.0,
        Comparison::Less => is_success && bound <= asked as f64,
        Comparison::AtMost => is_success && bound < asked as f64,
        Comparison::Equal => is_failure && bound > 0.0 || is_success && bound == 0.0,
    }
}

/// At least half, of those that have an outcome. If none has, at least something came back.
fn is_enough(part: &AchievedPart, worked: bool) -> bool {
    let ended = part.asked.saturating_sub(part.unfinished);
    if ended == 0 { worked } else { 2 * part.succeeded >= ended }
}

/// Rows of one kind, added up.
#[derive(Default)]
struct Tally {
    part: AchievedPart,
}

impl Tally {
    fn add(&mut self, name: &str, asked: u64, succeeded: u64, unfinished: u64, steps: u64) {
        self.part.asked += asked;
        self.part.succeeded += succeeded;
        self.part.unfinished += unfinished;
        if asked > 0 && succeeded == 0 && (unfinished == 0 || steps == 0) {
            self.part.dead.push(name.to_owned());
        }
    }

    /// `None` if nothing was requested.
    fn part(self) -> Option<AchievedPart> {
        (self.part.asked > 0).then(|| with_ratio(self.part))
    }
}

fn with_ratio(part: AchievedPart) -> AchievedPart {
    AchievedPart { ratio: part.succeeded as f64 / part.asked.max(1) as f64, ..part }
}

/// Load requested from the tester but not offered.
struct Withheld {
    sessions: u64,
    packets: u64,
    ended: Ended,
}

/// Counts requested but not completed when the run ended, and the reason of its end.
struct Ended {
    sessions: u64,
    packets: u64,
    /// Packets of captures that are longer than their port carries, beside these.
    too_long: u64,
    /// Bytes of applications: of each entry with a number of bytes that was not reached, those that were moved, and the number.
    bytes: Vec<[u64; 2]>,
    by: String,
}

impl Ended {
    /// Packets that were not sent, and why.
    fn unsent(&self) -> impl Iterator<Item = (u64, &str)> {
        [(self.too_long, TOO_LONG), (self.packets, &self.by)].into_iter().filter(|(n, _)| *n > 0)
    }
}

/// Reason of frames that a port does not carry, after "not sent: ".
const TOO_LONG: &str = "their frames are longer than their port carries";

/// Reason of the run's end, after "not sent: ".
fn ending(plan: &Plan, document: &ResultDocument) -> String {
    if let Some(loss) = document.agents.iter().find_map(|agent| agent.lost.as_ref()) {
        return loss.reason.clone();
    }
    match document.interrupted {
        true => "the run was stopped".to_owned(),
        // Its limits were reached, or nothing was left to send.
        false if document.duration_s < plan.duration.as_secs_f64() * MOSTLY => {
            "nothing more was due".to_owned()
        }
        false => format!("its {} of traffic were over", quantity(plan.duration.as_secs_f64(), "s")),
    }
}

/// The same for requests that open sessions were to send.
fn ending_of_requests(plan: &Plan, document: &ResultDocument, by: &str) -> String {
    let is_early = document.duration_s < plan.duration.as_secs_f64() * NEARLY;
    let is_lost = document.interrupted || document.agents.iter().any(|agent| agent.lost.is_some());
    if is_early && !is_lost { "all sessions had ended".to_owned() } else { by.to_owned() }
}

/// Of each entry that was to move a number of bytes and has not: the bytes it moved, and the number.
fn unmoved_bytes(plan: &Plan, document: &ResultDocument) -> Vec<[u64; 2]> {
    let unmoved = |entry: &SessionEntry| {
        let all = entry.session.load.bytes.filter(|_| entry.session.client.is_some())?;
        let row = document.sessions.get(&entry.session.name)?;
        // Counted from zero anew.
        let is_known = row.attempted_before_clear.is_none();
        let moved = row.seen.rx_bytes_goodput + row.seen.tx_bytes_goodput;
        // Those that were asked for did not need so many.
        let is_through = entry.session.load.count.is_some_and(|count| row.seen.attempted >= count);
        (is_known && !is_through && moved < all).then_some([moved, all])
    };
    plan.sessions.iter().filter_map(unmoved).collect()
}

/// Packets requested by number from streams but not sent.
#[derive(Default)]
struct Unsent {
    /// Longer than their port carries.
    too_long: u64,
    rest: u64,
}

impl Unsent {
    fn by_number(plan: &Plan, document: &ResultDocument) -> Self {
        let mut all = Self::default();
        for stream in plan.streams.iter().filter(|_| plan.sent_elsewhere.is_none()) {
            let row = document.streams.get(&stream.name).filter(|row| row.removed_s.is_none());
            let (Some(row), Some(count)) = (row, stream.count.filter(|_| stream.duration.is_none())) else {
                continue;
            };
            let unsent = count.saturating_sub(row.tx + row.tx_before_clear.unwrap_or(0));
            // What the port left out of each loop, beside what the profile had left out of the capture.
            let skipped = row.replay.as_ref().map_or(0, |replay| replay.too_long);
            let before = stream.capture.as_ref().map_or(0, |report| report.fitted.skipped);
            let len = stream.replay.as_ref().map_or(1, |trace| trace.packets.len().max(1)) as u64;
            let too_long = skipped.saturating_sub(before).saturating_mul(count.div_ceil(len)).min(unsent);
            all.too_long += too_long;
            all.rest += unsent - too_long;
        }
        all
    }
}

/// Sessions requested by number from entries but not opened. Where requests have a number, that of sessions is only a limit.
fn unopened_by_number(plan: &Plan, document: &ResultDocument) -> u64 {
    let unopened = |entry: &SessionEntry| {
        let row = document.sessions.get(&entry.session.name)?;
        // No number has those that were withheld before counters were set to zero.
        let is_unknown = row.attempted_before_clear.is_some() && entry.session.load.concurrent.is_some();
        if entry.session.load.request_count.is_some() || is_unknown {
            return None;
        }
        let before = row.attempted_before_clear.unwrap_or(0);
        let tried = before + row.seen.attempted + row.unopened?.max(0) as u64 + row.withheld.unwrap_or(0);
        entry.session.load.count?.checked_sub(tried)
    };
    plan.sessions.iter().filter_map(unopened).sum()
}

/// Requests of clients, which outcomes of sessions do not show.
#[derive(Default)]
struct Requests {
    /// Of entries whose sessions send several: sent, and with a response.
    sent: u64,
    answered: u64,
    /// Responses that fail no session: with status 4xx, and 5xx.
    errors: [u64; 2],
    /// Requested by number and not sent, and why.
    unsent: u64,
    by: String,
    /// Of entries whose requests are sent late: due, with a response, and not sent.
    due: u64,
    in_time: u64,
    waiting: u64,
    /// Those of entries without `unsent` ones: not sent, and due.
    unnamed: u64,
    unnamed_due: u64,
}

/// Classes of status that count as errors.
const ERRORS: [&str; 2] = ["4xx", "5xx"];

impl Requests {
    /// Those of the entries that `counts`.
    fn of(plan: &Plan, document: &ResultDocument, counts: impl Fn(&str) -> bool) -> Self {
        let mut all = Self::default();
        for entry in plan.sessions.iter().filter(|entry| counts(&entry.session.name)) {
            let Some(row) = document.sessions.get(&entry.session.name) else { continue };
            let Some(client) = &row.client else { continue };
            if row.seen.requests > row.seen.attempted {
                all.sent += row.seen.requests;
                all.answered += row.seen.transactions.min(row.seen.requests);
            }
            if takes_errors(entry) {
                for (sum, class) in all.errors.iter_mut().zip(ERRORS) {
                    *sum += client.http.get(class).copied().unwrap_or(0);
                }
            }
            let unsent = unsent_requests(entry, row);
            all.unsent += unsent;
            if entry.session.load.late || entry.session.request_log().is_some() {
                let waiting = row.unsent_requests.unwrap_or(0).max(0) as u64;
                let due = row.seen.requests.saturating_sub(redirected(client)) + waiting;
                all.due += due;
                all.waiting += waiting;
                all.in_time +=
                    row.seen.transactions.min(row.seen.requests).saturating_sub(redirected(client));
                // All that were requested by number are named.
                if unsent == 0 {
                    all.unnamed += waiting;
                    all.unnamed_due += due;
                }
            }
        }
        all
    }

    /// Whether at least half of the requests that were due had a response, if more than a few were not sent.
    fn are_enough(&self) -> bool {
        FEW * self.waiting <= self.due || 2 * self.in_time >= self.due
    }
}

/// Requests that an entry was to send and did not.
fn unsent_requests(entry: &SessionEntry, row: &SessionResult) -> u64 {
    // No number has those that were sent before counters were set to zero.
    let all = entry.session.load.request_count.filter(|_| row.attempted_before_clear.is_none());
    let followed = row.client.as_ref().map_or(0, redirected);
    all.map_or(0, |all| all.saturating_sub(row.seen.requests.saturating_sub(followed)))
}

/// Requests that followed a redirect: they belong to the one that was redirected.
fn redirected(client: &SideDetails) -> u64 {
    client.redirects.as_ref().map_or(0, |redirects| redirects.followed)
}

/// Whether responses with a status of 4xx or 5xx fail no session, and none is expected.
fn takes_errors(entry: &SessionEntry) -> bool {
    entry.session.mix.members.iter().all(|member| match &member.app {
        AppPlan::Http(http) => {
            let expects =
                |(request, _): &(HttpRequest, u32)| request.status.is_some_and(|status| status >= 400);
            !http.errors_fail && !http.requests.iter().any(expects)
        }
        _ => false,
    })
}

/// Adds to the requested count.
fn add_to(part: &mut Option<AchievedPart>, more: u64) {
    if let Some(part) = part.as_mut().filter(|_| more > 0) {
        part.asked += more;
        part.ratio = part.succeeded as f64 / part.asked as f64;
    }
}

fn summary(
    document: &ResultDocument,
    rows: &[(&String, &SideResult)],
    (sessions, packets): (Option<&AchievedPart>, Option<&AchievedPart>),
    requests: &Requests,
    withheld: &Withheld,
    success: bool,
) -> String {
    let succeeded: u64 = sessions.iter().chain(&packets).map(|part| part.succeeded).sum();
    let by_device = |part: Option<&AchievedPart>, withheld: u64| {
        part.is_none_or(|part| is_enough(&without(part, withheld), true))
    };
    let is_of_tester = by_device(sessions, withheld.sessions)
        && by_device(packets, withheld.packets)
        && requests.are_enough();
    let mut text = match (success || is_of_tester, succeeded) {
        (true, _) => String::new(),
        (false, 0) if requests.answered > 0 => "No session completed: ".to_owned(),
        (false, 0) => "Nothing succeeded: ".to_owned(),
        (false, _) => "Less than half succeeded: ".to_owned(),
    };
    let mut clauses = Vec::new();
    if let Some(part) = sessions {
        let starved = starved(part, withheld.sessions).map(|sent| {
            let head = format!(
                "The tester could open {} of the sessions due",
                percent(sent.asked as f64 / part.asked as f64)
            );
            format!("{head}; {}", share(&sent, "session", "completed"))
        });
        let is_starved = starved.is_some();
        let mut clause = starved.unwrap_or_else(|| share(part, "session", "completed"));
        if part.unfinished > 0 {
            let _ = write!(clause, ", {} still in progress", count(part.unfinished));
        }
        if withheld.sessions > 0 && !is_starved {
            let _ = write!(clause, ", {} not opened by the tester", count(withheld.sessions));
        }
        if withheld.ended.sessions > 0 {
            let _ = write!(clause, ", {} not opened: {}", count(withheld.ended.sessions), withheld.ended.by);
        }
        let failed = reasons(rows);
        if !failed.is_empty() {
            let _ = write!(clause, ", failed: {failed}");
        }
        clauses.push(clause + &dead(part, rows.len(), "entries"));
        if requests.answered > 0 && part.succeeded + part.unfinished < part.asked {
            clauses.push(format!(
                "{} of {} requests had responses",
                count(requests.answered),
                count(requests.sent)
            ));
        }
        for (class, n) in ERRORS.iter().zip(requests.errors).filter(|(_, n)| *n > 0) {
            let several = if n == 1 { "" } else { "s" };
            clauses.push(format!("{} response{several} with status {class}", count(n)));
        }
        if requests.unsent > 0 {
            clauses.push(format!("{} requests not sent: {}", count(requests.unsent), requests.by));
        }
        if FEW * requests.unnamed > requests.unnamed_due {
            clauses.push(format!(
                "{} of {} requests due not sent: no session was free",
                count(requests.unnamed),
                count(requests.unnamed_due)
            ));
        }
        for [moved, all] in &withheld.ended.bytes {
            let [moved, all] = [moved, all].map(|bytes| quantity(*bytes as f64, "B"));
            clauses.push(format!("{moved} of {all} moved: {}", withheld.ended.by));
        }
    }
    if let Some(part) = packets {
        let starved = starved(part, withheld.packets).map(|sent| {
            let (load, rate) = (
                percent(sent.asked as f64 / part.asked as f64),
                sent.asked as f64 / document.counted_s().max(1e-9),
            );
            let head = format!("The tester could send {load} of that load ({})", quantity(rate, "pps"));
            match sent.asked.saturating_sub(sent.succeeded) {
                0 => format!("{head}; none of it was lost"),
                lost => format!("{head}; {} of {} packets were lost", count(lost), count(sent.asked)),
            }
        });
        let is_starved = starved.is_some();
        let mut clause = starved.unwrap_or_else(|| share(part, "packet", "received"));
        if withheld.packets > 0 && !is_starved {
            let _ = write!(clause, ", {} not sent by the tester", count(withheld.packets));
        }
        for (n, why) in withheld.ended.unsent() {
            let _ = write!(clause, ", {} not sent: {why}", count(n));
        }
        clauses.push(clause + &dead(part, document.streams.len(), "streams"));
    }
    if clauses.is_empty() {
        clauses.push(unmeasured(document));
        let unsent = withheld.ended.unsent();
        clauses
            .extend(unsent.map(|(n, why)| format!("{} of the requested packets not sent: {why}", count(n))));
    }
    text += &clauses.join("; ");
    text
}

/// The part of `part` that was started, if the tester withheld more than half of it.
fn starved(part: &AchievedPart, withheld: u64) -> Option<AchievedPart> {
    (2 * withheld > part.asked && withheld < part.asked).then(|| without(part, withheld))
}

/// The same without what the tester withheld.
fn without(part: &AchievedPart, withheld: u64) -> AchievedPart {
    let asked = part.asked.saturating_sub(withheld);
    AchievedPart { asked, ratio: part.succeeded as f64 / asked.max(1) as f64, ..part.clone() }
}

/// `1,998 of 2,000 sessions completed (99.9%)`.
fn share(part: &AchievedPart, what: &str, done: &str) -> String {
    let several = if part.asked == 1 { "" } else { "s" };
    let (succeeded, asked) = (count(part.succeeded), count(part.asked));
    format!("{succeeded} of {asked} {what}{several} {done} ({})", percent(part.ratio))
}

/// The most frequent reasons of failures.
fn reasons(rows: &[(&String, &SideResult)]) -> String {
    let mut all: std::collections::BTreeMap<&str, u64> = std::collections::BTreeMap::new();
    for (reason, n) in rows.iter().flat_map(|(_, side)| &side.failed) {
        *all.entry(reason).or_default() += n;
    }
    let mut all: Vec<(&str, u64)> = all.into_iter().collect();
    all.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let (shown, rest) = all.split_at(all.len().min(REASONS_MAX));
    let mut texts: Vec<String> =
        shown.iter().map(|(reason, n)| format!("{} {}", count(*n), reason.replace('_', " "))).collect();
    let rest: u64 = rest.iter().map(|(_, n)| n).sum();
    if rest > 0 {
        texts.push(format!("{} for other reasons", count(rest)));
    }
    texts.join(", ")
}

/// Rows of which nothing succeeded, if others did.
fn dead(part: &AchievedPart, rows: usize, what: &str) -> String {
    if part.dead.is_empty() || part.succeeded == 0 {
        return String::new();
    }
    let mut names = part.dead.iter().take(NAMES_MAX).cloned().collect::<Vec<_>>().join(", ");
    if part.dead.len() > NAMES_MAX {
        names += ", …";
    }
    format!(", nothing on {} of {rows} {what}: {names}", part.dead.len())
}

/// Summary where no requested load can succeed.
fn unmeasured(document: &ResultDocument) -> String {
    let sent: u64 = document.streams.values().map(|stream| stream.tx).sum();
    let seen = document.sessions.values().map(|entry| &entry.seen);
    let [attempted, completed] = seen.fold([0, 0], |[attempted, completed], side| {
        [attempted + side.attempted + side.open_at_clear.unwrap_or(0), completed + side.completed]
    });
    if document.streams.is_empty() && attempted > 0 {
        let part = AchievedPart { asked: attempted, succeeded: completed, ..AchievedPart::default() };
        return share(&with_ratio(part), "session", "completed") + DEMANDED;
    }
    if document.streams.is_empty() {
        let received: u64 = document.ports.values().map(|port| port.rx_packets).sum();
        return format!("{} packets received", count(received));
    }
    if sent == 0 {
        return "nothing was sent".to_owned();
    }
    let measured = document.streams.values().filter_map(|stream| Some((stream.tx, stream.rx?)));
    let [due, arrived] = measured.fold([0, 0], |[due, arrived], (tx, rx)| [due + tx, arrived + rx]);
    if due > 0 {
        let part = AchievedPart { asked: due, succeeded: arrived, ..AchievedPart::default() };
        return share(&with_ratio(part), "packet", "received") + DEMANDED;
    }
    let (several, their) = if sent == 1 { ("", "its") } else { ("s", "their") };
    format!("{} packet{several} sent; {their} arrival is not measured", count(sent))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(asked: u64, succeeded: u64, unfinished: u64) -> AchievedPart {
        let ratio = succeeded as f64 / asked as f64;
        AchievedPart { asked, succeeded, unfinished, ratio, dead: Vec::new() }
    }

    #[test]
    fn half_is_enough_of_what_has_ended() {
        assert!(is_enough(&part(10, 5, 0), true) && !is_enough(&part(10, 4, 0), true));
        assert!(is_enough(&part(10, 1, 8), true), "one of the two that ended");
        assert!(is_enough(&part(10, 0, 10), true) && !is_enough(&part(10, 0, 10), false));
    }

    #[test]
    fn criteria_that_demand_loss_are_known() {
        use Comparison::{AtLeast, AtMost, Equal, Greater, Less};
        for (number, comparison, bound, demands) in [
            ("loss_ratio", Greater, 0.99, true),
            ("loss_ratio", Equal, 1.0, true),
            ("loss_ratio", AtLeast, 0.0, false),
            ("lost", Greater, 0.0, true),
            ("loss_ratio", Less, 0.01, false),
            ("failed.refused", AtLeast, 10.0, true),
            ("failed_ratio", Less, 0.001, false),
            ("rx", Equal, 0.0, true),
            ("rx", AtMost, 5.0, true),
            ("rx", AtMost, 10.0, false),
            ("rx", Less, 10.0, true),
            ("completed", AtMost, 500.0, false),
            ("rx", Greater, 0.0, false),
            ("completed", AtLeast, 1.0, false),
            ("latency_ns.p99", Greater, 1.0, false),
        ] {
            assert_eq!(
                demands_failure(number, comparison, bound, 10),
                demands,
                "{number} {comparison:?} {bound}"
            );
        }
    }
}
