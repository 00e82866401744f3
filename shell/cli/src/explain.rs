//! `eagre explain`: a result in sentences: what was measured, confidence in the result, what the limit was, and what to
//! do next.
//!
//! Not here: whether figures hold (`engine` decides that), and figures in tables (`summary`).

use crate::results::{default_store, document_of};
use crate::{Exit, Failure};
use clap::Args;
use result::{Overall, ResultDocument};
use std::path::{Path, PathBuf};
use store::Store;
use units::{count, percent, quantity, rough_time};

/// Entries of sessions, streams or figures that are named one by one.
const NAMED: usize = 5;

#[derive(Args)]
pub(crate) struct ExplainArgs {
    /// A result: a file of 'eagre run --json', a folder of 'eagre run --out', or what 'eagre results' calls it
    #[arg(default_value = "latest", value_name = "RESULT")]
    of: String,
    /// Results store [default: results.db under $XDG_DATA_HOME/eagre or ~/.local/share/eagre]
    #[arg(long, value_name = "FILE")]
    store: Option<PathBuf>,
}

/// A heading and its lines.
type Part = (&'static str, Vec<String>);

pub(crate) fn explain(args: &ExplainArgs) -> Result<Exit, Failure> {
    let path = Path::new(&args.of);
    let parts = if path.exists() {
        of_run(&document_of(path)?)
    } else {
        of_stored(&Store::open_to_read(&args.store.clone().unwrap_or_else(default_store))?, &args.of)?
    };
    let mut text = String::new();
    for (heading, sentences) in parts.iter().filter(|(_, sentences)| !sentences.is_empty()) {
        text.push_str(&format!("{heading}\n"));
        sentences.iter().for_each(|sentence| text.push_str(&format!("  {}\n", ended(sentence))));
    }
    crate::print::now(&text);
    Ok(Exit::Done)
}

/// A sentence with its stop.
fn ended(sentence: &str) -> String {
    let sentence = sentence.trim_end();
    if sentence.ends_with(['.', '!', '?']) { sentence.to_owned() } else { format!("{sentence}.") }
}

/// A stored campaign: its only run, or what its method found.
fn of_stored(store: &Store, reference: &str) -> Result<Vec<Part>, Failure> {
    let loaded = store.load(&store.find(reference)?)?;
    if let Some(document) = loaded.only().filter(|_| loaded.method_results.is_empty()) {
        return Ok(of_run(&document));
    }
    let (campaign, trials) = (&loaded.campaign, &loaded.trials);
    let valid = trials.iter().filter(|trial| trial.valid).count();
    let measured = format!(
        "{} '{}' made {} trials, {valid} of which count",
        campaign.method,
        campaign.name,
        trials.len()
    );
    let found: Vec<_> = loaded
        .method_results
        .iter()
        .flat_map(|one| one.summary.iter().chain(&one.remarks).cloned())
        .collect();
    let mut doubts: Vec<&String> = trials.iter().flat_map(|trial| &trial.reasons).collect();
    let all = doubts.len();
    doubts.sort();
    doubts.dedup();
    let mut trust = match (trials.iter().filter(|trial| trial.disturbed).count(), trials.len()) {
        (0, _) => vec!["Nothing disturbed the tester".to_owned()],
        (some, all) => vec![format!("The tester was disturbed in {some} of {all} trials")],
    };
    trust.extend(doubts.iter().take(NAMED).map(|reason| (*reason).clone()));
    if all > 0 && doubts.len() > NAMED {
        trust.push(format!("and {} more reasons: eagre results show {}", doubts.len() - NAMED, campaign.id));
    }
    let limited = trials.iter().filter(|trial| trial.generator_limited).count();
    let limit = match limited {
        0 => Vec::new(),
        some => vec![format!("In {some} trials the tester was the limit, not the device")],
    };
    let mut next = vec![format!("The page with curves: eagre results report {} -o report.html", campaign.id)];
    if limited > 0 {
        next.push("Give the tester more cores (--cores), or another kind of port: eagre doctor".to_owned());
    }
    Ok(vec![
        ("Measurement", vec![measured]),
        ("Findings", found),
        ("Confidence", trust),
        ("Limiting factor", limit),
        ("Next steps", next),
    ])
}

/// A single run.
pub(crate) fn of_run(document: &ResultDocument) -> Vec<Part> {
    let seen = Seen::of(document);
    vec![
        ("Measurement", measured(document, &seen)),
        ("Confidence", trusted(document)),
        ("Limiting factor", limits(document, &seen)),
        ("Next steps", next(document, &seen)),
    ]
}

/// Sums that several sentences need.
struct Seen {
    sent: u64,
    received: Option<u64>,
    lost: u64,
    /// Packets that reached the tester's ports, for which it had no room.
    dropped_here: u64,
    /// Packets that were due and not sent.
    unsent: u64,
    sessions: (u64, u64),
}

impl Seen {
    fn of(document: &ResultDocument) -> Self {
        let streams = document.streams.values();
        let back: Vec<u64> = streams.clone().filter_map(|stream| stream.rx).collect();
        // What the driver or the kernel says it had no room for.
        let room =
            ["no_buffer", "xdp_no_buffer", "xdp_dropped", "xdp_ring_full", "kernel_ring_full", "hosts_busy"];
        let sides = document.sessions.values().map(|entry| &entry.seen);
        Self {
            sent: streams.clone().map(|stream| stream.tx).sum(),
            received: (!back.is_empty()).then(|| back.iter().sum()),
            lost: streams.filter_map(|stream| stream.lost).sum(),
            dropped_here: document
                .ports
                .values()
                .flat_map(|port| room.iter().filter_map(|reason| port.rx_errors.get(*reason)))
                .sum(),
            unsent: document.ports.values().filter_map(|port| port.tx_unsent).sum(),
            sessions: sides.fold((0, 0), |(all, done), side| {
                (all + side.attempted + side.open_at_clear.unwrap_or(0), done + side.completed)
            }),
        }
    }
}

fn measured(document: &ResultDocument, seen: &Seen) -> Vec<String> {
    let mut all = Vec::new();
    let seconds = document.counted_s();
    let time = if document.timestamp_class == "simulated" { " of virtual time" } else { "" };
    if seen.sent > 0 {
        let streams = match document.streams.len() {
            1 => "One stream".to_owned(),
            number => format!("{} streams", count(number as u64)),
        };
        let rate = quantity(seen.sent as f64 / seconds.max(1e-9), "pps");
        let came = match seen.received {
            None => "this tester did not receive them".to_owned(),
            Some(received) if seen.lost == 0 => format!("{} came back, none was lost", count(received)),
            Some(received) => format!(
                "{} came back, {} were lost ({})",
                count(received),
                count(seen.lost),
                percent(seen.lost as f64 / seen.sent as f64)
            ),
        };
        all.push(format!(
            "{streams} sent {} packets in {}{time}, {rate}: {came}",
            count(seen.sent),
            rough_time(seconds)
        ));
    }
    let slowest = document
        .streams
        .iter()
        .filter_map(|(name, stream)| Some((name, stream.latency_ns.as_ref()?)))
        .max_by_key(|(_, latency)| latency.p99.unwrap_or(latency.max));
    if let Some((name, latency)) = slowest {
        let ns = |value: u64| quantity(value as f64, "ns");
        let median = latency.p50.map(|p50| format!("median {}, ", ns(p50))).unwrap_or_default();
        let most = latency.p99.map(|p99| format!("99% took {} or less, ", ns(p99))).unwrap_or_default();
        let which =
            if document.streams.len() > 1 { format!(" of '{name}', the slowest") } else { String::new() };
        all.push(format!("The one-way delay{which}: {median}{most}the longest {}", ns(latency.max)));
    }
    for (name, entry) in document.sessions.iter().take(NAMED) {
        let side = &entry.seen;
        let failed: u64 = side.failed.values().sum();
        let worst = side.failed.iter().max_by_key(|(_, number)| **number);
        let why = worst.map(|(reason, number)| format!(", most by '{reason}' ({})", count(*number)));
        let bad = match failed {
            0 => "none failed".to_owned(),
            some => format!("{} failed{}", count(some), why.unwrap_or_default()),
        };
        all.push(format!(
            "Sessions '{name}': {} of {} were completed, {bad}",
            count(side.completed),
            count(side.attempted + side.open_at_clear.unwrap_or(0))
        ));
    }
    if document.sessions.len() > NAMED {
        all.push(format!("and {} more entries of sessions", document.sessions.len() - NAMED));
    }
    if all.is_empty() {
        all.push("Nothing was sent".to_owned());
    }
    all
}

fn trusted(document: &ResultDocument) -> Vec<String> {
    let verdict = &document.verdict;
    let mut all = Vec::new();
    if document.interrupted {
        all.push("It was stopped before its end: figures are of the time until then".to_owned());
    }
    // Figures that don't hold for one reason are one sentence.
    let mut doubts: Vec<(String, Vec<&str>)> = Vec::new();
    for (figure, holds) in verdict.holds.iter().filter(|(_, holds)| !holds.holds) {
        let how = match (holds.lower, holds.upper, holds.at_most, holds.undisturbed_ratio) {
            (Some(lower), Some(upper), _, _) => format!("lies between {lower} and {upper}"),
            (Some(lower), None, _, _) => format!("is {lower} or more"),
            (None, Some(upper), _, _) => format!("is {upper} or less"),
            (_, _, true, _) => "is what is shown or less".to_owned(),
            (_, _, _, Some(ratio)) => {
                format!("holds for the {} of packets that no pause touched", percent(ratio))
            }
            _ => "can't be judged".to_owned(),
        };
        let because = holds.reason.as_ref().map(|reason| format!(": {reason}")).unwrap_or_default();
        let sentence = format!("{how}{because}");
        match doubts.iter_mut().find(|(known, _)| *known == sentence) {
            Some((_, figures)) => figures.push(figure),
            None => doubts.push((sentence, vec![figure])),
        }
    }
    for (sentence, figures) in doubts.iter().take(NAMED) {
        let shown: Vec<_> = figures.iter().take(NAMED).copied().collect();
        let more = match figures.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        all.push(format!("{}{more} {sentence}", shown.join(", ")));
    }
    match (verdict.valid, doubts.is_empty()) {
        (true, true) => all.push("Every figure holds".to_owned()),
        (_, false) => all.push("Every other figure holds".to_owned()),
        (false, true) => {
            all.extend(verdict.reasons.first().map(|reason| format!("It does not count: {reason}")))
        }
    }
    all.extend(verdict.notes.iter().take(NAMED).cloned());
    all
}

fn limits(document: &ResultDocument, seen: &Seen) -> Vec<String> {
    let mut all = Vec::new();
    if document.verdict.generator_limited {
        let reason = document.verdict.reasons.first().map(|reason| format!(": {reason}")).unwrap_or_default();
        all.push(format!("The tester{reason}"));
    } else if seen.unsent > 0 {
        all.push(format!("The tester could not send {} packets that were due", count(seen.unsent)));
    }
    if seen.lost > 0 {
        all.push(match seen.dropped_here {
            0 => format!(
                "{} packets were lost between the tester's ports: in the device, or on the links",
                count(seen.lost)
            ),
            dropped => format!(
                "Of {} packets lost, {} had reached the tester, which had no room for them",
                count(seen.lost),
                count(dropped.min(seen.lost))
            ),
        });
    }
    let overall = document.overall.as_ref();
    if let Some(overall) = overall.filter(|overall| overall.overall() != Overall::Passed) {
        all.extend(
            overall.reason.clone().filter(|reason| all.iter().all(|said| !said.contains(reason.as_str()))),
        );
    }
    if all.is_empty() && (seen.sent > 0 || seen.sessions.0 > 0) {
        let (asked, done) = seen.sessions;
        all.push(if let Some(summary) = unfinished(document, seen) {
            format!("The time of the run: {summary}")
        } else if asked == done {
            "None was reached: the whole requested load was carried".to_owned()
        } else {
            format!("{} of {} sessions were not completed", count(asked - done), count(asked))
        });
    }
    all
}

/// The summary of a run that ended before it had sent and opened what was requested by number.
fn unfinished<'a>(document: &'a ResultDocument, seen: &Seen) -> Option<&'a str> {
    let achieved = document.achieved.as_ref()?;
    let packets = achieved.packets.as_ref().is_some_and(|part| part.asked > seen.sent + seen.unsent);
    let sessions = achieved.sessions.as_ref().is_some_and(|part| part.asked > seen.sessions.0);
    (packets || sessions).then_some(achieved.summary.as_str())
}

fn next(document: &ResultDocument, seen: &Seen) -> Vec<String> {
    let mut all = Vec::new();
    all.extend(document.overall.as_ref().and_then(|overall| overall.remedy.clone()));
    if !document.verdict.generator_limited && unfinished(document, seen).is_some() {
        all.push("Give it the time that its numbers need: --duration".to_owned());
    }
    if document.verdict.generator_limited {
        all.push("Give the tester more cores (--cores), or another kind of port: eagre doctor".to_owned());
    } else if seen.dropped_here > 0 {
        all.push("Find out what keeps the tester from its cores: eagre doctor".to_owned());
    } else if seen.lost > 0 {
        all.push("Find the rate up to which nothing is lost: eagre bench PROFILE throughput".to_owned());
        all.push("See which hop loses it: eagre run PROFILE --path hops.yaml".to_owned());
    } else if seen.sent > 0 && seen.received.is_some() {
        all.push("Find out how much more is carried: eagre bench PROFILE throughput".to_owned());
    }
    match seen.sessions {
        (0, _) => {}
        (asked, done) if asked == done => {
            all.push("Find out how many sessions are carried: eagre bench PROFILE sessions".to_owned());
        }
        _ => all
            .push("Look at the failed sessions: their reasons are explained in docs/sessions.md".to_owned()),
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{HoldsResult, LatencyResult, Named, PortResult, StreamResult, Verdict};

    fn stream(tx: u64, rx: u64) -> StreamResult {
        let latency =
            LatencyResult { p50: Some(1_000), p99: Some(2_000), max: 3_000, ..LatencyResult::default() };
        StreamResult {
            tx,
            rx: Some(rx),
            lost: Some(tx - rx),
            latency_ns: Some(latency),
            ..StreamResult::default()
        }
    }

    fn run(rx: u64) -> ResultDocument {
        ResultDocument {
            duration_s: 2.0,
            timestamp_class: "software".into(),
            streams: Named::from([("a".to_owned(), stream(1_000, rx))]),
            verdict: Verdict { valid: true, ..Verdict::default() },
            ..ResultDocument::default()
        }
    }

    fn text(document: &ResultDocument) -> String {
        of_run(document)
            .iter()
            .flat_map(|(_, all)| all.iter().map(|one| ended(one)))
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn what_was_carried_points_to_the_search() {
        let said = text(&run(1_000));
        assert!(
            said.contains("One stream sent 1,000 packets in 2 s, 500 pps: 1,000 came back, none was lost."),
            "{said}"
        );
        assert!(said.contains("median 1 µs, 99% took 2 µs or less, the longest 3 µs."), "{said}");
        assert!(
            said.contains("Every figure holds. None was reached")
                && said.contains("bench PROFILE throughput"),
            "{said}"
        );
    }

    #[test]
    fn what_there_was_no_time_for_was_not_carried() {
        let mut document = run(1_000);
        let part = result::AchievedPart { asked: 10_000, succeeded: 1_000, ..Default::default() };
        let summary = "1,000 of 10,000 packets received (10%), 9,000 not sent".to_owned();
        document.achieved = Some(result::AchievedResult {
            success: true,
            summary,
            packets: Some(part),
            ..Default::default()
        });
        let said = text(&document);
        assert!(said.contains("The time of the run: 1,000 of 10,000") && !said.contains("whole"), "{said}");
        assert!(said.contains("--duration"), "{said}");
    }

    #[test]
    fn what_the_tester_lost_is_not_the_devices() {
        let mut document = run(900);
        let said = text(&document);
        assert!(
            said.contains("100 were lost (10%)") && said.contains("in the device, or on the links"),
            "{said}"
        );
        let port =
            PortResult { rx_errors: [("kernel_ring_full".to_owned(), 60)].into(), ..PortResult::default() };
        document.ports.insert("east".to_owned(), port);
        let said = text(&document);
        assert!(said.contains("Of 100 packets lost, 60 had reached the tester"), "{said}");
        assert!(said.contains("eagre doctor") && !said.contains("throughput"), "{said}");
    }

    #[test]
    fn figures_that_do_not_hold_say_why_once() {
        let mut document = run(1_000);
        let doubt = HoldsResult { reason: Some("the tester paused".to_owned()), ..HoldsResult::default() };
        for figure in ["streams.a.latency_ns", "streams.b.latency_ns"] {
            document.verdict.holds.insert(figure.to_owned(), doubt.clone());
        }
        let bounds = HoldsResult { lower: Some(0.0), upper: Some(7.0), ..HoldsResult::default() };
        document.verdict.holds.insert("streams.a.lost".to_owned(), bounds);
        let said = text(&document);
        assert!(
            said.contains("streams.a.latency_ns, streams.b.latency_ns can't be judged: the tester paused."),
            "{said}"
        );
        assert!(said.contains("streams.a.lost lies between 0 and 7. Every other figure holds."), "{said}");
    }
}
