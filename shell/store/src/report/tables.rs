//! The tables of a report. A column that no row has a value for is left out.

use super::curves::{percentile_chart, quantiles};
use super::words;
use crate::chart::Series;
use crate::figures::{members, number};
use crate::{Finding, Loaded, StoredResult, TrialRow, percent, quantity};
use maud::{Markup, html};
use serde_json::Value;
use units::whole as count;

/// Rows of streams shown; all are in the export.
const STREAMS_MAX: usize = 200;
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
                caption { (caption) }
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

/// What the method found, a row for each frame length and goal, and its own rows.
pub(super) fn findings(loaded: &Loaded) -> Option<Markup> {
    let rows = &loaded.findings[..];
    let value = |of: fn(&Finding) -> Option<f64>| move |f: &Finding| Some(quantity(of(f)?, &f.unit));
    let share = |f: &Finding| Some(percent(f.value? / f.line.filter(|line| *line > 0.0)?));
    let known = table(
        "A row for each frame length and goal. 'At least' is the largest value reached, 'below' the smallest not reached.",
        &[
            Column::text("frames", rows, |f| Some(f.frame.clone())),
            Column::text("goal", rows, |f| Some(words::name(&f.goal))),
            Column::new("found", rows, value(|f| f.value)),
            Column::new("of line rate", rows, share),
            Column::new("at least", rows, value(|f| f.lower)),
            Column::new("below", rows, value(|f| f.upper)),
            Column::new("standard deviation", rows, value(|f| f.spread)),
            Column::new("theoretical maximum", rows, value(|f| f.line)),
            Column::text("remark", rows, |f| f.note.clone()),
        ],
    );
    let own: Vec<Markup> = loaded.method_results.iter().filter_map(method_rows).collect();
    (known.is_some() || !own.is_empty())
        .then(|| html! { @if let Some(t) = &known { (t) } @for t in &own { (t) } })
}

/// A method's own rows, whatever their columns are.
fn method_rows(result: &StoredResult) -> Option<Markup> {
    let rows: Vec<Vec<(String, String)>> = result.rows().iter().map(|row| leaves(row, 3)).collect();
    let mut heads: Vec<&str> = Vec::new();
    for (head, _) in rows.iter().flatten() {
        if !heads.contains(&head.as_str()) {
            heads.push(head);
        }
    }
    let cell = |head: &str| {
        Column::text(head, &rows, |row| {
            row.iter().find(|(name, _)| name == head).map(|(_, value)| value.clone())
        })
    };
    let columns: Vec<Column> = heads.iter().map(|head| cell(head)).collect();
    let method = &result.method;
    let rows = table(&format!("All figures of {method}, under its own names and units"), &columns)?;
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
    let all: Vec<(u32, &Value)> = loaded
        .trials
        .iter()
        .zip(&loaded.results)
        .flat_map(|(trial, result)| {
            result["criteria"].as_array().into_iter().flatten().map(|one| (trial.number, one))
        })
        .collect();
    let text = |key: &'static str| move |(_, one): &(u32, &Value)| one[key].as_str().map(str::to_owned);
    let trial = |(number, _): &(u32, &Value)| (loaded.trials.len() > 1).then(|| number.to_string());
    let met = |(_, one): &(u32, &Value)| {
        Some(if one["passed"] == Value::Bool(true) { "met" } else { "NOT MET" }.to_owned())
    };
    let failed = all.iter().filter(|(_, one)| one["passed"] != Value::Bool(true)).count();
    let caption = match failed {
        0 => format!("All {} criteria were met.", all.len()),
        n => format!(
            "{n} of {} criteria were not met. A value that was not measured does not meet its criterion.",
            all.len()
        ),
    };
    table(
        &caption,
        &[
            Column::new("trial", &all, trial),
            Column::text("value", &all, text("path")),
            Column::new("must be", &all, text("bound")),
            Column::new("was", &all, |(_, one)| one["value"].as_f64().map(|v| v.to_string())),
            Column::new("", &all, met),
        ],
    )
}

/// Sessions by name, why some failed, and how long things took.
pub(super) fn sessions(loaded: &Loaded) -> Option<Markup> {
    let result = loaded.results.last().filter(|_| loaded.trials.len() == 1)?;
    let rows: Vec<(&String, &Value)> = members(result, "sessions").collect();
    if rows.is_empty() {
        return None;
    }
    let whole = |key: &'static str| move |(_, s): &(&String, &Value)| number(s, key).map(count);
    let rate = |key: &'static str, unit: &'static str| {
        move |(_, s): &(&String, &Value)| number(s, key).map(|v| quantity(v, unit))
    };
    let share = |(_, s): &(&String, &Value)| {
        Some(percent(number(s, "completed")? / number(s, "attempted").filter(|n| *n > 0.0)?))
    };
    let summary = table(
        "Sessions by name",
        &[
            Column::text("sessions", &rows, |(name, _)| Some((*name).clone())),
            Column::new("attempted", &rows, whole("attempted")),
            Column::new("established", &rows, whole("established")),
            Column::new("completed", &rows, whole("completed")),
            Column::new("of attempted", &rows, share),
            Column::new("most at once", &rows, whole("active_max")),
            Column::new("opened", &rows, rate("open_per_s", "/s")),
            Column::new("transactions", &rows, rate("transactions_per_s", "/s")),
            Column::new("goodput", &rows, rate("rx_bps_goodput", "bps")),
            Column::new("retransmitted segments", &rows, whole("retransmitted_segments")),
        ],
    );
    Some(html! {
        @if let Some(table) = summary { (table) }
        @if let Some(table) = failures(&rows) { (table) }
        @if let Some(charts) = session_times(&rows) { (charts) }
    })
}

fn failures(rows: &[(&String, &Value)]) -> Option<Markup> {
    let reasons: Vec<(&String, &String, f64, f64)> = rows
        .iter()
        .flat_map(|(name, s)| {
            let attempted = number(s, "attempted").unwrap_or(0.0);
            members(s, "failed").filter_map(move |(reason, n)| Some((*name, reason, n.as_f64()?, attempted)))
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

fn session_times(rows: &[(&String, &Value)]) -> Option<Markup> {
    let kinds = [("setup_ns", "set-up"), ("ttfb_ns", "first byte"), ("ttlb_ns", "last byte")];
    let mut all: Vec<(String, &Value)> = Vec::new();
    for (name, s) in rows {
        let known = kinds.iter().filter(|(key, _)| s[*key].is_object());
        all.extend(known.map(|(key, what)| (format!("{name}: {what}"), &s[*key])));
    }
    let series: Vec<Series> = all
        .iter()
        .map(|(name, record)| Series { name: name.clone(), points: quantiles(record) })
        .filter(|series| !series.points.is_empty())
        .collect();
    let chart = percentile_chart("c-sessions", "Time to set up, to first byte and to last byte", &series);
    let rows = latency_table("Times of sessions", "what", &all);
    (chart.is_some() || rows.is_some()).then(|| {
        html! {
            @if let Some(chart) = chart { (chart) }
            @if let Some(rows) = rows { (rows) }
        }
    })
}

/// A row for each latency record.
fn latency_table(caption: &str, head: &str, rows: &[(String, &Value)]) -> Option<Markup> {
    let keys = [
        ("min", "min"),
        ("mean", "mean"),
        ("median", "p50"),
        ("90%", "p90"),
        ("99%", "p99"),
        ("99.9%", "p99_9"),
        ("99.99%", "p99_99"),
        ("max", "max"),
    ];
    let mut columns = vec![Column::text(head, rows, |(name, _)| Some(name.clone()))];
    let time = |key: &'static str| move |(_, r): &(String, &Value)| number(r, key).map(|v| quantity(v, "ns"));
    columns.extend(keys.iter().map(|(head, key)| Column::new(head, rows, time(key))));
    columns.push(Column::new("samples", rows, |(_, record)| number(record, "samples").map(count)));
    if columns[1..].iter().all(|column| column.cells.iter().all(Option::is_none)) {
        return None;
    }
    table(caption, &columns)
}

/// Streams and ports of a single trial; of more the export has them.
pub(super) fn streams_and_ports(loaded: &Loaded) -> Option<Markup> {
    let result = loaded.results.last().filter(|_| loaded.trials.len() == 1)?;
    let mut rows: Vec<(&String, &Value)> = members(result, "streams").collect();
    let left_out = rows.len().saturating_sub(STREAMS_MAX);
    rows.truncate(STREAMS_MAX);
    let streams = stream_table(&rows);
    let named: Vec<(String, &Value)> = rows
        .iter()
        .filter(|(_, s)| s["latency_ns"].is_object())
        .map(|(n, s)| ((*n).clone(), &s["latency_ns"]))
        .collect();
    let latencies = latency_table("Latency by stream", "stream", &named);
    let ports = port_table(&members(result, "ports").collect::<Vec<_>>());
    let tables: Vec<Markup> = [streams, latencies, ports].into_iter().flatten().collect();
    (!tables.is_empty()).then(|| {
        html! {
            @for table in &tables { (table) }
            @if left_out > 0 { p.soft { (left_out) " more streams are in the result document." } }
        }
    })
}

fn stream_table(rows: &[(&String, &Value)]) -> Option<Markup> {
    let whole = |key: &'static str| move |(_, s): &(&String, &Value)| number(s, key).map(count);
    let pps =
        |key: &'static str| move |(_, s): &(&String, &Value)| number(s, key).map(|v| quantity(v, "pps"));
    let ns = |key: &'static str| move |(_, s): &(&String, &Value)| number(s, key).map(|v| quantity(v, "ns"));
    table(
        "Streams",
        &[
            Column::text("stream", rows, |(name, _)| Some((*name).clone())),
            Column::new("requested", rows, pps("requested_pps")),
            Column::new("offered", rows, pps("offered_pps")),
            Column::new("sent", rows, whole("tx")),
            Column::new("received", rows, whole("rx")),
            Column::new("lost", rows, whole("lost")),
            Column::new("loss", rows, |(_, s)| number(s, "loss_ratio").map(percent)),
            Column::new("duplicates", rows, whole("duplicates")),
            Column::new("reordered", rows, whole("reordered")),
            Column::new("jitter, mean", rows, ns("jitter_ns.rfc4689_mean")),
            Column::new("gap error, 99%", rows, ns("pacing_ns.error_p99")),
        ],
    )
}

fn port_table(rows: &[(&String, &Value)]) -> Option<Markup> {
    let whole = |key: &'static str| move |(_, p): &(&String, &Value)| number(p, key).map(count);
    let bps =
        |key: &'static str| move |(_, p): &(&String, &Value)| number(p, key).map(|v| quantity(v, "bps"));
    let errors = |key: &'static str| {
        move |(_, p): &(&String, &Value)| {
            let all: Vec<String> = members(p, key)
                .filter_map(|(reason, n)| {
                    Some(format!("{}: {}", reason.replace('_', " "), count(n.as_f64()?)))
                })
                .collect();
            Some(all.join(", "))
        }
    };
    table(
        "Ports",
        &[
            Column::text("port", rows, |(name, _)| Some((*name).clone())),
            Column::new("packets sent", rows, whole("tx_packets")),
            Column::new("due and not sent", rows, whole("tx_unsent")),
            Column::new("sent, layer 1", rows, bps("tx_bps_l1")),
            Column::new("packets received", rows, whole("rx_packets")),
            Column::new("received, layer 1", rows, bps("rx_bps_l1")),
            Column::new("not of this run", rows, whole("rx_other")),
            Column::text("receive errors", rows, errors("rx_errors")),
            Column::text("send errors", rows, errors("tx_errors")),
        ],
    )
}

/// Where packets went, for the trials beside which the counters of devices were read.
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
            Column::new("trial", rows, |(t, _)| Some(t.number.to_string())),
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
    let per_s = |of: fn(&TrialRow) -> Option<f64>| move |t: &TrialRow| of(t).map(|v| quantity(v, "/s"));
    let doubts = |t: &TrialRow| {
        let mut doubts = t.reasons.clone();
        doubts.extend(t.interrupted.then(|| "interrupted".to_owned()));
        Some(doubts.join("; "))
    };
    let is_counted = |t: &TrialRow| {
        let standing = match (t.valid, t.generator_limited) {
            (false, _) => "not valid",
            (_, true) => "tester was the limit",
            _ if !t.counts() => "aside",
            _ => "valid",
        };
        Some(standing.to_owned())
    };
    let table = table(
        "Every finished trial, in order. Percentiles are the largest of the streams'.",
        &[
            Column::new("trial", rows, |t| Some(t.number.to_string())),
            Column::text("what", rows, |t| Some(t.label.clone())),
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
            Column::new("sessions", rows, whole(|t| t.figures.sessions_attempted)),
            Column::new("failed", rows, whole(|t| t.figures.sessions_failed)),
            Column::new("opened", rows, per_s(|t| t.figures.open_per_s)),
            Column::text("verdict", rows, is_counted),
            Column::text("doubts", rows, doubts),
        ],
    )?;
    Some(html! {
        (table)
        @if left_out > 0 { p.soft { (left_out) " more trials are in the export." } }
    })
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
