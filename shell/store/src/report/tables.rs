//! The tables of a report. A column that no row has a value for is left out.

use super::curves::{Quantiles, percentile_chart};
use super::front;
use super::words::{self, measured};
use crate::chart::Series;
use crate::{Finding, Loaded, StoredResult, TrialRow, percent, quantity};
use maud::{Markup, html};
use result::{
    Counters, CriterionResult, JitterResult, LatencyResult, PacingResult, PortResult, SessionResult,
    SpreadResult, StreamResult,
};
use serde_json::Value;
use units::whole as count;

/// Rows of streams shown; all are in the export.
const STREAMS_MAX: usize = 200;
/// Number of a method's own figures side by side.
const ACROSS_MAX: usize = 10;
/// Rows of trials shown.
const TRIALS_MAX: usize = 2_000;

/// A column: its heading, whether it is text, and a cell for each row.
pub(super) struct Column {
    pub(super) head: String,
    pub(super) is_text: bool,
    pub(super) cells: Vec<Option<Markup>>,
}

impl Column {
    pub(super) fn new<T>(head: &str, rows: &[T], cell: impl Fn(&T) -> Option<String>) -> Self {
        let cells = rows.iter().map(|row| cell(row).map(|text| html! { (text) })).collect();
        Self { head: head.to_owned(), is_text: false, cells }
    }

    pub(super) fn text<T>(head: &str, rows: &[T], cell: impl Fn(&T) -> Option<String>) -> Self {
        let cell = |row: &T| cell(row).filter(|text| !text.is_empty());
        Self { is_text: true, ..Self::new(head, rows, cell) }
    }

    /// Verdicts, each with its colour, its sign and its word.
    pub(super) fn verdicts(head: &str, all: impl Iterator<Item = Option<bool>>) -> Self {
        let cell = |passed| {
            let (class, word) = match passed {
                Some(true) => ("good", "✓ passed"),
                Some(false) => ("bad", "✕ failed"),
                None => ("warn", "? can't be judged: the tester was the limit or disturbed"),
            };
            Some(html! { span class=(class) { (word) } })
        };
        Self { head: head.to_owned(), is_text: true, cells: all.map(cell).collect() }
    }
}

/// A table that scrolls by itself where there is no room; `None` without rows.
pub(super) fn table(caption: &str, columns: &[Column]) -> Option<Markup> {
    let rows = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    let shown: Vec<&Column> =
        columns.iter().filter(|column| column.cells.iter().any(Option::is_some)).collect();
    if rows == 0 || shown.is_empty() {
        return None;
    }
    let class = |column: &Column| column.is_text.then_some("w");
    Some(html! {
        div.scroll role="region" tabindex="0" aria-label=(caption) {
            table {
                caption { span { (caption) } }
                thead { tr { @for column in &shown { th scope="col" class=[class(column)] { (column.head) } } } }
                tbody {
                    @for row in 0..rows {
                        tr { @for column in &shown {
                            td class=[class(column)] {
                                @match &column.cells[row] { Some(cell) => (cell), None => "–" }
                            }
                        } }
                    }
                }
            }
        }
    })
}

/// Findings of the method, a row for each frame length and goal, and its own rows.
pub(super) fn findings(loaded: &Loaded) -> Option<Markup> {
    let rows = &loaded.findings[..];
    let value = |of: fn(&Finding) -> Option<f64>| move |f: &Finding| Some(quantity(of(f)?, &f.unit));
    let share = |f: &Finding| Some(percent(f.value? / f.line.filter(|line| *line > 0.0)?));
    let known = table(
        "A row for each frame length and goal. 'At least' is the largest value that no trial contradicts, \
         'below' the smallest that every trial failed at; 'indicative' is \
         what trials that can't be judged suggest; 'resolution' is how far apart they are at most where trials agree.",
        &[
            Column::text(front::first_column(rows), rows, |f| Some(f.frame.clone())),
            Column::text("goal", rows, |f| Some(words::name(&f.goal))),
            Column::new("found", rows, value(|f| f.value)),
            Column::new("of line rate", rows, share),
            Column::new("at least", rows, value(|f| f.lower)),
            Column::new("below", rows, value(|f| f.upper)),
            Column::new("indicative", rows, value(|f| f.indicative)),
            Column::new("resolution", rows, value(|f| f.resolution)),
            Column::new("standard deviation", rows, value(|f| f.spread)),
            Column::new("theoretical maximum", rows, value(|f| f.line)),
            Column::text("remark", rows, |f| f.note.clone()),
            Column::text("in doubt, because", rows, |f| f.doubt.clone()),
        ],
    );
    let own: Vec<Markup> = loaded.method_results.iter().filter_map(method_rows).collect();
    (known.is_some() || !own.is_empty())
        .then(|| html! { @if let Some(t) = &known { (t) } @for t in &own { (t) } })
}

/// A method's own rows, with any columns.
fn method_rows(result: &StoredResult) -> Option<Markup> {
    let rows: Vec<Vec<(String, String)>> = result.rows().iter().map(|row| leaves(row, 3)).collect();
    let mut heads: Vec<&str> = Vec::new();
    for (head, _) in rows.iter().flatten() {
        if !heads.contains(&head.as_str()) {
            heads.push(head);
        }
    }
    let value = |row: &Vec<(String, String)>, head: &str| {
        row.iter().find(|(name, _)| name == head).map(|(_, value)| value.clone())
    };
    // Many figures stand one below the other: no page is as wide as they are.
    let columns: Vec<Column> = match heads.len() > ACROSS_MAX {
        false => heads.iter().map(|head| Column::text(head, &rows, |row| value(row, head))).collect(),
        true => {
            let of_row = |(number, row)| {
                let name = if rows.len() == 1 { "value".to_owned() } else { format!("row {number}") };
                Column::text(&name, &heads, |head| value(row, head))
            };
            let names = Column::text("figure", &heads, |head| Some((*head).to_owned()));
            std::iter::once(names).chain((1..).zip(&rows).map(of_row)).collect()
        }
    };
    let method = &result.method;
    let rows = table(&format!("All figures of {method}, under its own names"), &columns)?;
    Some(html! { details { summary { "All figures of " (method) } (rows) } })
}

/// Names and values of a document's leaves; what lies deeper than `depth` is one of them.
pub(super) fn leaves(value: &Value, depth: usize) -> Vec<(String, String)> {
    let mut all = Vec::new();
    let mut descend = |name: &str, value: &Value| match value {
        Value::Null => {}
        Value::String(text) => all.push((name.to_owned(), text.clone())),
        Value::Object(_) if depth > 0 => {
            all.extend(leaves(value, depth - 1).into_iter().map(|(rest, text)| {
                (if rest.is_empty() { name.to_owned() } else { format!("{name}.{rest}") }, text)
            }))
        }
        Value::Array(items) if items.iter().all(|item| !item.is_object() && !item.is_array()) => {
            let texts =
                items.iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned));
            all.push((name.to_owned(), texts.collect::<Vec<_>>().join(", ")));
        }
        Value::Array(items) if depth > 0 => {
            for (index, item) in items.iter().enumerate() {
                let inner = leaves(item, depth - 1).into_iter();
                all.extend(inner.map(|(rest, text)| (format!("{name}.{index}.{rest}"), text)));
            }
        }
        Value::Number(number) => {
            let text = number.as_f64().map_or_else(|| number.to_string(), |value| measured(name, value));
            all.push((name.to_owned(), text));
        }
        other => all.push((name.to_owned(), other.to_string())),
    };
    match value.as_object() {
        Some(object) => object.iter().for_each(|(name, value)| descend(name, value)),
        None => descend("", value),
    }
    all
}

/// Conditions the profile set, of all trials.
pub(super) fn criteria(loaded: &Loaded) -> Option<Markup> {
    let documents = loaded.documents();
    let all: Vec<(u32, &CriterionResult)> = loaded
        .trials
        .iter()
        .zip(&documents)
        .flat_map(|(trial, document)| document.criteria.iter().map(|one| (trial.ordinal, one)))
        .collect();
    let trial = |(number, _): &(u32, &CriterionResult)| (loaded.trials.len() > 1).then(|| number.to_string());
    let outcome = all.iter().map(|(_, one)| {
        let (class, word) = front::outcome(one);
        Some(html! { span class=(class) { (word) } })
    });
    let outcome = Column { head: "outcome".to_owned(), is_text: true, cells: outcome.collect() };
    let known: Vec<CriterionResult> = all.iter().map(|(_, one)| (*one).clone()).collect();
    let caption =
        format!("{} A value that was not measured does not meet its criterion.", front::criteria_met(&known));
    table(
        &caption,
        &[
            Column::new("trial", &all, trial),
            Column::text("value", &all, |(_, one)| Some(one.path.clone())),
            Column::new("must be", &all, |(_, one)| Some(one.bound.clone())),
            Column::new("was", &all, |(_, one)| one.value.map(|value| measured(&one.path, value))),
            outcome,
        ],
    )
}

/// Sessions by name, why some failed, and how long things took.
pub(super) fn sessions(loaded: &Loaded) -> Option<Markup> {
    let document = loaded.only()?;
    let rows: Vec<(&String, &SessionResult)> = document.sessions.iter().collect();
    if rows.is_empty() {
        return None;
    }
    type Row<'a> = (&'a String, &'a SessionResult);
    let whole = |of: fn(&SessionResult) -> u64| move |(_, s): &Row<'_>| Some(count(of(s) as f64));
    let rate = |of: fn(&SessionResult) -> f64, unit| move |(_, s): &Row<'_>| Some(quantity(of(s), unit));
    let share = |(_, s): &Row<'_>| {
        let all = begun(s);
        (all > 0).then(|| percent(s.seen.completed as f64 / all as f64))
    };
    let summary = table(
        "Sessions by name",
        &[
            Column::text("sessions", &rows, |(name, _)| Some((*name).clone())),
            Column::new("attempted", &rows, whole(|s| s.seen.attempted)),
            Column::new("established", &rows, whole(|s| s.seen.established)),
            Column::new("completed", &rows, whole(|s| s.seen.completed)),
            Column::new("of attempted", &rows, share),
            Column::new("most at once", &rows, whole(|s| s.seen.active_max)),
            Column::new("opened", &rows, rate(|s| s.seen.open_per_s, "/s")),
            Column::new("transactions", &rows, rate(|s| s.seen.transactions_per_s, "/s")),
            Column::new("goodput", &rows, rate(|s| s.seen.rx_bps_goodput, "bps")),
            Column::new("retransmitted segments", &rows, whole(|s| s.seen.retransmitted_segments)),
        ],
    );
    Some(html! {
        @if let Some(table) = summary { (table) }
        @if let Some(table) = failures(&rows) { (table) }
        @if let Some(charts) = session_times(&rows) { (charts) }
    })
}

/// Sessions attempted, and open when counters were set to zero.
fn begun(entry: &SessionResult) -> u64 {
    entry.seen.attempted + entry.seen.open_at_clear.unwrap_or(0)
}

fn failures(rows: &[(&String, &SessionResult)]) -> Option<Markup> {
    let reasons: Vec<(&String, &String, f64, f64)> = rows
        .iter()
        .flat_map(|(name, s)| {
            let attempted = begun(s) as f64;
            s.seen.failed.iter().map(move |(reason, n)| (*name, reason, *n as f64, attempted))
        })
        .filter(|row| row.2 > 0.0)
        .collect();
    table(
        "Failed sessions by reason",
        &[
            Column::text("sessions", &reasons, |row| Some(row.0.clone())),
            Column::text("reason", &reasons, |row| Some(row.1.replace('_', " "))),
            Column::new("failed", &reasons, |row| Some(count(row.2))),
            Column::new("of attempted", &reasons, |row| (row.3 > 0.0).then(|| percent(row.2 / row.3))),
        ],
    )
}

fn session_times(rows: &[(&String, &SessionResult)]) -> Option<Markup> {
    let mut all: Vec<(String, &LatencyResult)> = Vec::new();
    for (name, s) in rows {
        let times = [
            (&s.seen.setup_ns, "set-up"),
            (&s.seen.ttfb_ns, "first byte"),
            (&s.seen.ttlb_ns, "last byte"),
            (&s.seen.ttfb_due_ns, "first byte, from when due"),
            (&s.seen.ttlb_due_ns, "last byte, from when due"),
        ];
        all.extend(
            times.into_iter().filter_map(|(times, what)| Some((format!("{name}: {what}"), times.as_ref()?))),
        );
    }
    let series: Vec<Series> = all
        .iter()
        .map(|(name, times)| Series {
            name: name.clone(),
            points: Quantiles::of_times(times).points(),
            ..Series::default()
        })
        .filter(|series| !series.points.is_empty())
        .collect();
    let chart =
        percentile_chart("c-sessions", "Time to set up, to first byte and to last byte", "sessions", &series);
    let rows = latency_table("Times of sessions", "what", &all);
    (chart.is_some() || rows.is_some()).then(|| {
        html! {
            @if let Some(chart) = chart { (chart) }
            @if let Some(rows) = rows { (rows) }
        }
    })
}

/// A row for each distribution of times.
fn latency_table(caption: &str, head: &str, rows: &[(String, &LatencyResult)]) -> Option<Markup> {
    type Of = fn(&LatencyResult) -> Option<f64>;
    let times: [(&str, Of); 10] = [
        ("min", |l| Some(l.min as f64)),
        ("mean", |l| Some(l.mean)),
        ("standard deviation", |l| Some(l.stddev)),
        ("median", |l| l.p50.map(|ns| ns as f64)),
        ("90%", |l| l.p90.map(|ns| ns as f64)),
        ("95%", |l| l.p95.map(|ns| ns as f64)),
        ("99%", |l| l.p99.map(|ns| ns as f64)),
        ("99.9%", |l| l.p99_9.map(|ns| ns as f64)),
        ("99.99%", |l| l.p99_99.map(|ns| ns as f64)),
        ("max", |l| Some(l.max as f64)),
    ];
    let mut columns = vec![Column::text(head, rows, |(name, _)| Some(name.clone()))];
    let time = |of: Of| move |(_, l): &(String, &LatencyResult)| of(l).map(|ns| quantity(ns, "ns"));
    columns.extend(times.iter().map(|(head, of)| Column::new(head, rows, time(*of))));
    columns.push(Column::new("samples", rows, |(_, l)| Some(count(l.samples as f64))));
    table(caption, &columns)
}

/// Streams and ports of a single trial; of more the export has them.
pub(super) fn streams_and_ports(loaded: &Loaded) -> Option<Markup> {
    let document = loaded.only()?;
    let mut rows: Vec<(&String, &StreamResult)> = document.streams.iter().collect();
    let left_out = rows.len().saturating_sub(STREAMS_MAX);
    rows.truncate(STREAMS_MAX);
    let streams = stream_table(&rows);
    let delays = rows.iter().filter_map(|(name, s)| Some(((*name).clone(), s.latency_ns.as_ref()?)));
    let latencies = latency_table("Latency by stream", "stream", &delays.collect::<Vec<_>>());
    let port_rows = document.ports.iter().collect::<Vec<_>>();
    let (arrivals, departures, ports) =
        (arrivals(&rows), departures(&rows, &port_rows), port_table(&port_rows));
    let tables: Vec<Markup> =
        [streams, latencies, arrivals, departures, ports].into_iter().flatten().collect();
    (!tables.is_empty()).then(|| {
        html! {
            @for table in &tables { (table) }
            @if left_out > 0 { p.soft { (left_out) " more streams are in the result document." } }
        }
    })
}

fn stream_table(rows: &[(&String, &StreamResult)]) -> Option<Markup> {
    type Row<'a> = (&'a String, &'a StreamResult);
    let whole = |of: fn(&StreamResult) -> Option<u64>| move |(_, s): &Row<'_>| of(s).map(|n| count(n as f64));
    let in_unit = |of: fn(&StreamResult) -> Option<f64>, unit| {
        move |(_, s): &Row<'_>| of(s).map(|value| quantity(value, unit))
    };
    table(
        "Streams",
        &[
            Column::text("stream", rows, |(name, _)| Some((*name).clone())),
            Column::new("requested", rows, in_unit(|s| s.requested_pps, "pps")),
            Column::new("offered", rows, in_unit(|s| Some(s.offered_pps), "pps")),
            Column::new("sent", rows, whole(|s| Some(s.tx))),
            Column::new("received", rows, whole(|s| s.rx)),
            Column::new("lost", rows, whole(|s| s.lost)),
            Column::new("loss", rows, |(_, s)| s.loss_ratio.map(percent)),
            Column::new("duplicates", rows, whole(|s| s.duplicates)),
            Column::new("reordered", rows, whole(|s| s.reordered)),
            Column::new("damaged", rows, whole(|s| s.damaged)),
        ],
    )
}

/// Evenness of departures.
fn departures(rows: &[(&String, &StreamResult)], ports: &[(&String, &PortResult)]) -> Option<Markup> {
    let of_streams =
        rows.iter().filter_map(|(name, s)| Some((format!("stream {name}"), s.pacing_ns.as_deref()?)));
    let mut rows: Vec<(String, &PacingResult)> = of_streams.collect();
    if rows.is_empty() {
        let of_ports =
            ports.iter().filter_map(|(name, p)| Some((format!("port {name}"), p.pacing_ns.as_ref()?)));
        rows = of_ports.collect();
    }
    let ns = |of: fn(&PacingResult) -> u64| {
        move |(_, p): &(String, &PacingResult)| Some(quantity(of(p) as f64, "ns"))
    };
    table(
        "Pacing: departures compared with the schedule",
        &[
            Column::text("sent by", &rows, |(name, _)| Some(name.clone())),
            Column::new("gap error, median", &rows, ns(|p| p.error_p50)),
            Column::new("99%", &rows, ns(|p| p.error_p99)),
            Column::new("99.9%", &rows, ns(|p| p.error_p99_9)),
            Column::new("back to back", &rows, |(_, p)| Some(percent(p.back_to_back_ratio))),
            Column::new("latest departure", &rows, ns(|p| p.late_max)),
        ],
    )
}

/// Evenness of arrivals: time between arrivals, and variation of the delay from packet to packet.
fn arrivals(rows: &[(&String, &StreamResult)]) -> Option<Markup> {
    type Row<'a> = (&'a String, &'a StreamResult);
    let spread = |of: fn(&SpreadResult) -> f64| {
        move |(_, s): &Row<'_>| s.interarrival_ns.as_ref().map(|all| quantity(of(all), "ns"))
    };
    let jitter = |of: fn(&JitterResult) -> Option<f64>| {
        move |(_, s): &Row<'_>| s.jitter_ns.as_ref().and_then(of).map(|ns| quantity(ns, "ns"))
    };
    let measured = |(_, s): &&Row<'_>| s.interarrival_ns.is_some() || s.jitter_ns.is_some();
    let rows: Vec<Row<'_>> = rows.iter().filter(measured).copied().collect();
    table(
        "Time between arrivals, and jitter",
        &[
            Column::text("stream", &rows, |(name, _)| Some((*name).clone())),
            Column::new("between arrivals, mean", &rows, spread(|all| all.mean)),
            Column::new("standard deviation", &rows, spread(|all| all.stddev)),
            Column::new("min", &rows, spread(|all| all.min as f64)),
            Column::new("max", &rows, spread(|all| all.max as f64)),
            Column::new("jitter, RFC 3550", &rows, jitter(|jitter| jitter.rfc3550)),
            Column::new("jitter, RFC 4689, mean", &rows, jitter(|jitter| Some(jitter.rfc4689_mean))),
            Column::new("jitter, RFC 4689, max", &rows, jitter(|jitter| Some(jitter.rfc4689_max as f64))),
        ],
    )
}

fn port_table(rows: &[(&String, &PortResult)]) -> Option<Markup> {
    type Row<'a> = (&'a String, &'a PortResult);
    let whole = |of: fn(&PortResult) -> Option<u64>| move |(_, p): &Row<'_>| of(p).map(|n| count(n as f64));
    let bps = |of: fn(&PortResult) -> f64| move |(_, p): &Row<'_>| Some(quantity(of(p), "bps"));
    let errors = |of: fn(&PortResult) -> &Counters| {
        move |(_, p): &Row<'_>| {
            let one =
                |(reason, n): (&String, &u64)| format!("{}: {}", reason.replace('_', " "), count(*n as f64));
            Some(of(p).iter().map(one).collect::<Vec<_>>().join(", "))
        }
    };
    table(
        "Ports",
        &[
            Column::text("port", rows, |(name, _)| Some((*name).clone())),
            Column::new("packets sent", rows, whole(|p| Some(p.tx_packets))),
            Column::new("due and not sent", rows, whole(|p| p.tx_unsent)),
            Column::new("sent, layer 1", rows, bps(|p| p.tx_bps_l1)),
            Column::new("packets received", rows, whole(|p| Some(p.rx_packets))),
            Column::new("received, layer 1", rows, bps(|p| p.rx_bps_l1)),
            Column::new("not of this run", rows, whole(|p| Some(p.rx_other))),
            Column::text("receive errors", rows, errors(|p| &p.rx_errors)),
            Column::text("send errors", rows, errors(|p| &p.tx_errors)),
        ],
    )
}

/// Where packets went, for the trials during which the counters of devices were read.
pub(super) fn path(loaded: &Loaded) -> Option<Markup> {
    let known = loaded.trials.iter().zip(&loaded.results).filter(|(_, result)| result["path"].is_object());
    let rows: Vec<(&TrialRow, &Value)> = known.map(|(trial, result)| (trial, &result["path"])).collect();
    let rows = &rows[..rows.len().min(TRIALS_MAX)];
    let drops = |path: &Value| {
        let all = path["weakest"]["counters"].as_array().into_iter().flatten();
        let one = |drop: &Value| Some(format!("{} {}", drop["counter"].as_str()?, drop["count"].as_u64()?));
        all.filter_map(one).collect::<Vec<_>>().join("; ")
    };
    let remarks = |path: &Value| {
        let all = path["remarks"].as_array().into_iter().flatten().filter_map(Value::as_str);
        all.collect::<Vec<_>>().join("; ")
    };
    table(
        "Hop with the highest loss in each trial, by the counters of the devices.",
        &[
            Column::new("trial", rows, |(t, _)| Some(t.ordinal.to_string())),
            Column::text("what", rows, |(t, _)| Some(t.label.clone())),
            Column::new("lost", rows, |(t, _)| t.figures.lost.map(count)),
            Column::text("weakest link", rows, |(_, p)| p["weakest"]["hop"].as_str().map(str::to_owned)),
            Column::new("lost there", rows, |(_, p)| p["weakest"]["lost"].as_u64().map(|n| count(n as f64))),
            Column::text("by its counters", rows, |(_, p)| Some(drops(p))),
            Column::text("remarks", rows, |(_, p)| Some(remarks(p))),
        ],
    )
}

/// A row for each trial.
pub(super) fn trials(loaded: &Loaded) -> Option<Markup> {
    let rows = &loaded.trials[..loaded.trials.len().min(TRIALS_MAX)];
    let left_out = loaded.trials.len() - rows.len();
    let ns = |of: fn(&TrialRow) -> Option<f64>| move |t: &TrialRow| of(t).map(|v| quantity(v, "ns"));
    let pps = |of: fn(&TrialRow) -> Option<f64>| move |t: &TrialRow| of(t).map(|v| quantity(v, "pps"));
    let whole = |of: fn(&TrialRow) -> Option<f64>| move |t: &TrialRow| of(t).map(count);
    let standing = |t: &TrialRow| match (t.valid, t.generator_limited) {
        (false, _) => ("bad", "not valid"),
        (_, true) => ("warn", "tester was the limit"),
        _ if t.disturbed => ("warn", "valid, tester disturbed"),
        _ if !t.counts() => ("", "aside"),
        _ => ("", "valid"),
    };
    let verdict = |t: &TrialRow| {
        let (class, text) = standing(t);
        let mut reasons = t.reasons.clone();
        reasons.extend(t.interrupted.then(|| "interrupted".to_owned()));
        Some(
            html! { span class=(class) { (text) } @if !reasons.is_empty() { small { (reasons.join("; ")) } } },
        )
    };
    let verdicts =
        Column { head: "verdict".to_owned(), is_text: true, cells: rows.iter().map(verdict).collect() };
    let table = table(
        "Every finished trial, in order. Percentiles are the largest of the streams'.",
        &[
            Column::new("trial", rows, |t| Some(t.ordinal.to_string())),
            Column::text("what", rows, |t| Some(t.label.clone())),
            verdicts,
            Column::text("phase", rows, |t| Some(t.phase.replace('_', " "))),
            Column::text("frames", rows, |t| Some(t.frame.clone())),
            Column::new("duration", rows, |t| t.figures.duration_s.map(|v| quantity(v, "s"))),
            Column::new("offered", rows, pps(|t| t.figures.offered_pps)),
            Column::new("received", rows, pps(|t| t.figures.rx_pps)),
            Column::new("lost", rows, whole(|t| t.figures.lost)),
            Column::new("loss", rows, |t| t.figures.loss_ratio.map(percent)),
            Column::new("median", rows, ns(|t| t.figures.latency_p50_ns)),
            Column::new("99%", rows, ns(|t| t.figures.latency_p99_ns)),
            Column::new("longest", rows, ns(|t| t.figures.latency_max_ns)),
        ],
    )?;
    Some(html! {
        (table)
        @if let Some(table) = variation_by_trial(rows) { (table) }
        @if let Some(table) = sessions_by_trial(rows) { (table) }
        @if left_out > 0 { p.soft { (left_out) " more trials are in the export." } }
    })
}

/// Evenness of departures and arrivals in each trial.
fn variation_by_trial(rows: &[TrialRow]) -> Option<Markup> {
    let measured =
        |t: &&TrialRow| t.figures.latency_stddev_ns.is_some() || t.figures.gap_error_p99_ns.is_some();
    let rows: Vec<&TrialRow> = rows.iter().filter(measured).collect();
    let ns = |of: fn(&TrialRow) -> Option<f64>| move |t: &&TrialRow| of(t).map(|v| quantity(v, "ns"));
    table(
        "Delay variation and pacing of each trial; the largest of the streams'",
        &[
            Column::new("trial", &rows, |t| Some(t.ordinal.to_string())),
            Column::text("what", &rows, |t| Some(t.label.clone())),
            Column::new("latency, mean", &rows, ns(|t| t.figures.latency_mean_ns)),
            Column::new("standard deviation", &rows, ns(|t| t.figures.latency_stddev_ns)),
            Column::new("jitter, mean", &rows, ns(|t| t.figures.jitter_mean_ns)),
            Column::new("jitter, max", &rows, ns(|t| t.figures.jitter_max_ns)),
            Column::new("between arrivals, mean", &rows, ns(|t| t.figures.interarrival_mean_ns)),
            Column::new("standard deviation", &rows, ns(|t| t.figures.interarrival_stddev_ns)),
            Column::new("gap error, 99%", &rows, ns(|t| t.figures.gap_error_p99_ns)),
            Column::new("back to back", &rows, |t| t.figures.back_to_back_ratio.map(percent)),
            Column::new("latest departure", &rows, ns(|t| t.figures.late_max_ns)),
        ],
    )
}

/// Requested sessions of each trial, and their outcome.
fn sessions_by_trial(rows: &[TrialRow]) -> Option<Markup> {
    let rows: Vec<&TrialRow> = rows.iter().filter(|t| t.figures.sessions_attempted.is_some()).collect();
    let whole = |of: fn(&TrialRow) -> Option<f64>| move |t: &&TrialRow| of(t).map(count);
    let per_s = |of: fn(&TrialRow) -> Option<f64>| move |t: &&TrialRow| of(t).map(|v| quantity(v, "/s"));
    let ns = |of: fn(&TrialRow) -> Option<f64>| move |t: &&TrialRow| of(t).map(|v| quantity(v, "ns"));
    let asked = |t: &&TrialRow| {
        Some(match t.load_unit.as_deref()? {
            "bits/s" => quantity(t.load?, "bps"),
            "times" => format!("{} times the profile's", quantity(t.load?, "")),
            unit => format!("{} {unit}", count(t.load?)),
        })
    };
    let failed = |t: &&TrialRow| {
        let (failed, attempted) = (t.figures.sessions_failed?, t.figures.sessions_attempted?);
        (attempted > 0.0).then(|| percent(failed / attempted))
    };
    table(
        "Sessions of each trial; ramps included. Times are the 99% of the slowest entry.",
        &[
            Column::new("trial", &rows, |t| Some(t.ordinal.to_string())),
            Column::text("what", &rows, |t| Some(t.label.clone())),
            Column::new("requested load", &rows, asked),
            Column::new("attempted", &rows, whole(|t| t.figures.sessions_attempted)),
            Column::new("established", &rows, whole(|t| t.figures.sessions_established)),
            Column::new("completed", &rows, whole(|t| t.figures.sessions_completed)),
            Column::new("failed", &rows, whole(|t| t.figures.sessions_failed)),
            Column::new("of attempted", &rows, failed),
            Column::new("most at once", &rows, whole(|t| t.figures.sessions_active_max)),
            Column::new("opened", &rows, per_s(|t| t.figures.open_per_s)),
            Column::new("transactions", &rows, per_s(|t| t.figures.transactions_per_s)),
            Column::new("goodput", &rows, |t| t.figures.goodput_bps.map(|v| quantity(v, "bps"))),
            Column::new("set-up", &rows, ns(|t| t.figures.setup_p99_ns)),
            Column::new("first byte", &rows, ns(|t| t.figures.ttfb_p99_ns)),
            Column::new("last byte", &rows, ns(|t| t.figures.ttlb_p99_ns)),
        ],
    )
}

/// A list of names and values.
pub(super) fn pairs(caption: &str, all: &[(String, String)]) -> Option<Markup> {
    table(
        caption,
        &[
            Column::text("what", all, |(name, _)| Some(name.clone())),
            Column::text("value", all, |(_, value)| Some(value.clone())),
        ],
    )
}

/// A doctor's finding that is not good.
pub(super) fn is_doubtful(finding: &Value) -> bool {
    finding["status"].as_str().is_some_and(|status| status != "good" && status != "note")
}

/// The doctor's findings, the doubtful first.
pub(super) fn doctor(findings: &[Value]) -> Option<Markup> {
    let mut rows: Vec<&Value> = findings.iter().collect();
    rows.sort_by_key(|finding| match finding["status"].as_str() {
        Some("good") => 2,
        Some("note") => 1,
        _ => 0,
    });
    let text = |key: &'static str| move |f: &&Value| f[key].as_str().map(str::to_owned);
    let doubtful = rows.iter().filter(|finding| is_doubtful(finding)).count();
    let caption = match doubtful {
        0 => "'eagre doctor': no problems.".to_owned(),
        n => format!("'eagre doctor': {n} can affect measurements."),
    };
    table(
        &caption,
        &[
            Column::text("check", &rows, text("check")),
            Column::text("status", &rows, text("status")),
            Column::text("found", &rows, text("found")),
            Column::text("why it matters", &rows, text("why")),
            Column::text("remedy", &rows, text("remedy")),
        ],
    )
}
