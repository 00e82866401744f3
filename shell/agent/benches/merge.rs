//! Cost of making one run of many machines' counts: reading their messages, and merging them, on one core.
//!
//! `cargo bench -p agent`. Messages are simulated: agents that each send one message a second, as their processes write it, which is
//! read and checked as the controller does. `sums` are intervals for the store of runs of more than 200 streams; `rows` are full
//! snapshots, with a row for each stream that an agent sends: of the last interval, and since the start. Of `crossing`, each stream
//! is sent by one agent and arrives at another, and both have a row. Merging gives the row of
//! each stream of the interval; a document, with names, is made of rows when a client reads it, which the last column has. The
//! median of some rounds is printed, in processor time, because the machine is shared. `docs/fleet.md` has the figures.

#![allow(clippy::print_stdout)]

use agent::figures;
use agent::{Columns, FromAgent, FromPart, Full, frame};
use api::Live;
use columns::{RowsMessage, Table, Tables};
use engine::RawTimes;
use result::merge::Shares;
use result::{IntervalDocument, JitterResult, LatencyResult, Named, PortResult, SpreadResult, StreamResult};
use serde_json::json;
use std::hint::black_box;

const ROUNDS: usize = 5;
/// Buckets of a histogram that are in use: latencies from 10 to 20 µs at the coarsest scale.
const BUCKETS: usize = 64;
/// Streams of which documents are made here: documents of more streams need gigabytes.
const DOCUMENTS_MAX: usize = 100_000;

fn main() {
    println!("agents  streams each  form     message kB  read ms  merge ms  share of a core  document ms");
    for (agents, streams, form) in [
        (100, 1_000, Form::Sums),
        (1_000, 1_000, Form::Sums),
        (10_000, 1_000, Form::Sums),
        (100, 100, Form::Rows),
        (1_000, 100, Form::Rows),
        (100, 1_000, Form::Rows),
        (1_000, 1_000, Form::Rows),
        (100, 100, Form::Crossing),
        (1_000, 100, Form::Crossing),
        (100, 1_000, Form::Crossing),
        (1_000, 1_000, Form::Crossing),
        (1_000, 1_000, Form::Live),
    ] {
        measure(agents, streams, form);
    }
}

/// Contents of the messages.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Form {
    Sums,
    /// Rows of streams that begin and end at one machine.
    Rows,
    /// Rows of streams from each machine to the next: both have them.
    Crossing,
    Live,
}

/// A run, and the messages of one second.
struct Run {
    shares: Shares,
    columns: Vec<Columns>,
    messages: Vec<Vec<u8>>,
}

fn measure(agents: usize, streams: usize, form: Form) {
    // Names of ten million streams would need a gigabyte; sums have none.
    let named = if agents * streams > 1_000_000 { 0 } else { streams };
    let rows = |agent: usize| rows(agent, agents, streams, form);
    let columns = |agent: usize| Columns {
        streams: rows(agent).map(|(from, stream)| (from * streams + stream) as u32).collect(),
        ..Columns::default()
    };
    let run = Run {
        shares: shares(agents, named, form),
        columns: (0..agents).map(columns).collect(),
        messages: (0..agents).map(|agent| message(agent, rows(agent), form)).collect(),
    };
    let one_round = |_| match form {
        Form::Sums => run.sums(),
        Form::Rows | Form::Crossing => run.rows(),
        Form::Live => run.live(),
    };
    let mut times: Vec<[f64; 3]> = (0..ROUNDS).map(one_round).collect();
    times.sort_by(|one, other| (one[0] + one[1]).total_cmp(&(other[0] + other[1])));
    let [read, merge, document] = times[ROUNDS / 2];
    let form = format!("{form:?}").to_lowercase();
    let size = run.messages[0].len() as f64 / 1e3;
    let document = if document > 0.0 { format!("{:.1}", document * 1e3) } else { "-".to_owned() };
    println!(
        "{agents:6}  {streams:12}  {form:8}  {size:10.1}  {:7.1}  {:8.1}  {:14.1}%  {document:>11}",
        read * 1e3,
        merge * 1e3,
        (read + merge) * 100.0,
    );
}

/// Processor time of a step, s, and its outcome.
fn timed<T>(step: impl FnOnce() -> T) -> (f64, T) {
    let began = os::cpu::thread_time();
    let outcome = step();
    (os::cpu::thread_time().since(began).as_secs_f64(), outcome)
}

impl Run {
    fn sums(&self) -> [f64; 3] {
        let interval = |bytes: &Vec<u8>| match frame::read(&mut bytes.as_slice(), &mut Vec::new()) {
            Ok(Some(FromAgent::Part(part))) => match *part {
                FromPart::Interval(interval, raw) => (*interval, *raw),
                other => panic!("another message: {other:?}"),
            },
            other => panic!("another message: {other:?}"),
        };
        let (read, parts) =
            timed(|| self.messages.iter().map(interval).collect::<Vec<(IntervalDocument, RawTimes)>>());
        let (merge, ()) = timed(|| {
            let times = RawTimes::sum(parts.iter().map(|(_, raw)| raw)).map(|sum| sum.groups());
            let intervals: Vec<Option<&IntervalDocument>> =
                parts.iter().map(|(interval, _)| Some(interval)).collect();
            black_box(self.shares.interval(&intervals, times.as_ref()));
        });
        [read, merge, 0.0]
    }

    fn live(&self) -> [f64; 3] {
        let mut buffer = Vec::new();
        let (read, parts) = timed(|| {
            let pairs = self.messages.iter().zip(&self.columns);
            pairs.map(|(bytes, columns)| live(bytes, columns, &mut buffer)).collect::<Vec<Live>>()
        });
        let (merge, streams) = timed(|| {
            let pairs = parts.iter().zip(&self.columns);
            let parts: Vec<_> =
                pairs.map(|(live, columns)| Some((&live.streams, &columns.streams[..]))).collect();
            black_box(figures::streams(&self.shares, &parts))
        });
        assert!(streams.tx.len() == self.shares.streams.len() && streams.tx.iter().all(|tx| *tx > 0));
        [read, merge, 0.0]
    }

    fn rows(&self) -> [f64; 3] {
        let mut buffer = Vec::new();
        let (read, parts) = timed(|| {
            let pairs = self.messages.iter().zip(&self.columns);
            pairs.map(|(bytes, columns)| snapshot(bytes, columns, &mut buffer)).collect::<Vec<_>>()
        });
        let tables = |which: usize| Tables {
            parts: self
                .columns
                .iter()
                .zip(&parts)
                .map(|(columns, (_, rows))| (&columns.streams[..], Some(&rows[which])))
                .collect(),
        };
        let (merge, count) = timed(|| {
            let mut count = 0;
            tables(0).each(&self.shares, false, &mut |_, row| count += u64::from(black_box(row).tx > 0));
            count
        });
        assert_eq!(count, self.shares.streams.len() as u64);
        if self.shares.streams.len() > DOCUMENTS_MAX {
            return [read, merge, 0.0];
        }
        let (document, ()) = timed(|| {
            let raw = || parts.iter().filter_map(|(full, _)| full.raw.as_deref());
            let [rest, total] = [
                RawTimes::sum(raw().map(|(rest, _)| rest)).map(|sum| sum.groups()),
                RawTimes::sum(raw().map(|(_, total)| total)).map(|sum| sum.groups()),
            ];
            let intervals: Vec<_> = parts.iter().map(|(full, _)| Some(&full.interval)).collect();
            let totals: Vec<_> = parts.iter().map(|(full, _)| &full.total).collect();
            let rows = tables(0).streams(&self.shares, false);
            black_box(self.shares.interval_of(&intervals, rows, rest.as_ref()));
            let rows = tables(1).streams(&self.shares, true);
            black_box(self.shares.total_of(&totals, rows, total.as_ref()));
        });
        [read, merge, document]
    }
}

/// A snapshot from its message, as the controller reads it.
fn snapshot(bytes: &[u8], columns: &Columns, buffer: &mut Vec<u8>) -> (Full, [Table; 2]) {
    let mut bytes = bytes;
    let (message, block) = frame::read_with(&mut bytes, buffer).expect("a message").expect("a message");
    let FromAgent::Part(part) = message else { panic!("another message") };
    let FromPart::Full(full, mut rows) = *part else { panic!("another message") };
    rows.attach(block);
    (*full, rows.tables(columns.streams.len()).expect("rows of these streams"))
}

/// Live figures from their message.
fn live(bytes: &[u8], columns: &Columns, buffer: &mut Vec<u8>) -> Live {
    let mut bytes = bytes;
    let (message, block) = frame::read_with(&mut bytes, buffer).expect("a message").expect("a message");
    let FromAgent::Part(part) = message else { panic!("another message") };
    let FromPart::Live(mut live, _, mut figures) = *part else { panic!("another message") };
    figures.attach(block);
    figures::attach(&mut live, &figures, columns.streams.len()).expect("figures of these streams");
    *live
}

fn name(agent: usize, stream: usize) -> String {
    format!("s{agent}-{stream}")
}

/// The rows that an agent has, in the plan's order: each with its sender, and its number there.
fn rows(agent: usize, agents: usize, streams: usize, form: Form) -> impl Iterator<Item = (usize, usize)> {
    let mut senders = vec![agent];
    if form == Form::Crossing {
        senders.push((agent + agents - 1) % agents);
        senders.sort_unstable();
    }
    senders.into_iter().flat_map(move |from| (0..streams).map(move |stream| (from, stream)))
}

fn shares(agents: usize, streams: usize, form: Form) -> Shares {
    let to = |agent: usize| if form == Form::Crossing { (agent + 1) % agents } else { agent };
    let all = (0..agents)
        .flat_map(|agent| (0..streams).map(move |stream| (name(agent, stream), (agent, Some(to(agent))))));
    Shares {
        parts: (0..agents).map(|agent| format!("agent 'a{agent}'")).collect(),
        ports: (0..agents).map(|agent| (format!("p{agent}"), agent)).collect(),
        streams: all.collect(),
        ..Shares::default()
    }
}

/// A row of a stream; `seconds` of it.
fn row(agent: usize, stream: usize, seconds: u64) -> StreamResult {
    let varied = (agent * 7_919 + stream * 104_729) as u64 % 10_007;
    let packets = 1_000 * seconds + varied % 3;
    let mean = 15_234.5 + varied as f64 / 7.0;
    StreamResult {
        requested_pps: Some(1_000.0),
        offered_pps: packets as f64 / seconds as f64,
        tx: packets,
        tx_bytes: packets * 128,
        rx: Some(packets),
        rx_bytes: Some(packets * 128),
        duplicates: Some(0),
        reordered: Some(0),
        stale: Some(0),
        rejected: Some(0),
        latency_ns: Some(LatencyResult {
            min: 10_123 + varied % 97,
            mean,
            stddev: mean / 13.0,
            p50: Some(15_000 + varied % 500),
            p90: Some(18_000 + varied % 500),
            p95: Some(19_000 + varied % 500),
            p99: Some(19_900 + varied % 500),
            p99_9: Some(19_990 + varied % 500),
            p99_99: Some(19_999 + varied % 500),
            max: 20_000 + varied * 11,
            samples: packets,
        }),
        jitter_ns: Some(JitterResult { rfc3550: None, rfc4689_mean: mean / 17.0, rfc4689_max: varied * 3 }),
        interarrival_ns: Some(SpreadResult {
            min: 900_000 + varied,
            mean: mean * 64.0,
            stddev: mean / 5.0,
            max: 1_100_000 + varied,
        }),
        ..StreamResult::default()
    }
}

/// A row that a machine has: of another's stream, only what arrives, and of one to another, only what it sends.
fn own_row(agent: usize, (from, stream): (usize, usize), seconds: u64, form: Form) -> StreamResult {
    let whole = row(from, stream, seconds);
    match form {
        Form::Crossing if from == agent => StreamResult {
            requested_pps: whole.requested_pps,
            offered_pps: whole.offered_pps,
            tx: whole.tx,
            tx_bytes: whole.tx_bytes,
            rx: Some(0),
            rx_bytes: Some(0),
            ..StreamResult::default()
        },
        Form::Crossing => StreamResult { offered_pps: 0.0, tx: 0, tx_bytes: 0, ..whole },
        _ => whole,
    }
}

/// A message with these rows.
fn message(agent: usize, own: impl Iterator<Item = (usize, usize)>, form: Form) -> Vec<u8> {
    let own: Vec<(usize, usize)> = own.collect();
    let interval = IntervalDocument {
        at_s: 1.0,
        interval_s: 1.0,
        ports: Named::from([(format!("p{agent}"), PortResult::default())]),
        all_streams: (form == Form::Sums).then(|| row(agent, 0, 1)),
        ..IntervalDocument::default()
    };
    let mut raw = serde_json::to_value(RawTimes::default()).expect("sums");
    raw["all"]["is_measured"] = json!(true);
    raw["all"]["latency"] = json!({"bits": 6, "first": 320, "counts": vec![own.len() as u64; BUCKETS]});
    let raw: RawTimes = serde_json::from_value(raw).expect("sums");
    let (mut bytes, mut block) = (Vec::new(), Vec::new());
    let part = match form {
        Form::Sums => FromPart::Interval(Box::new(interval), Box::new(raw)),
        Form::Rows | Form::Crossing => {
            let rows = |seconds| own.iter().map(move |of| own_row(agent, *of, seconds, form));
            let mut rows = RowsMessage::new(rows(1), rows(100));
            block = rows.detach();
            let full =
                Full { at_s: 1.0, interval, raw: Some(Box::new((raw.clone(), raw))), ..Full::default() };
            FromPart::Full(Box::new(full), Box::new(rows))
        }
        Form::Live => {
            let mut live = Live { at_s: 1.0, interval_s: 0.1, ..Live::default() };
            for row in own.iter().map(|(from, stream)| row(*from, *stream, 100)) {
                let (live, times) = (&mut live.streams, row.latency_ns.expect("latencies"));
                live.tx_pps.push(row.offered_pps);
                live.rx_pps.push(row.offered_pps);
                live.tx.push(row.tx);
                live.rx.push(row.rx);
                live.lost.push(Some(0));
                live.latency_p50_ns.push(times.p50);
                live.latency_p99_ns.push(times.p99);
                live.latency_max_ns.push(Some(times.max));
            }
            let (part, behind) = FromPart::live(Box::new(live), Box::default());
            block = behind;
            part
        }
    };
    let message = FromAgent::Part(Box::new(part));
    frame::write_with(&mut bytes, &message, &block, &mut Vec::new()).expect("a message");
    bytes
}
