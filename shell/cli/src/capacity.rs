//! `eagre capacity`: the capacity of a path in each direction, by the UDP Speed Test Protocol (RFC 9946): client and
//! server.

use crate::{Exit, Failure, interrupt, print, words};
use between::Wrong;
use between::capacity::{Event, Order, ServerOptions, SharedKey, measure, serve, text};
use clap::{ArgGroup, Args};
use serde::Serialize;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use udpst::{Activation, Capacity, PORT, SECONDS, modifier};
use units::{BitRate, Layer, Nanos, quantity};

/// Longest key, octets.
const MOST_KEY: usize = 64;

#[derive(Args)]
#[command(group(ArgGroup::new("role").args(["server", "host"]).required(true)))]
pub(crate) struct CapacityArgs {
    /// Server to measure with, running 'eagre capacity --server' or 'udpst'
    host: Option<String>,
    /// Run as a server, for many clients at the same time
    #[arg(short, long)]
    server: bool,
    /// Port of the server
    #[arg(short, long, value_name = "PORT", default_value_t = PORT)]
    port: u16,
    /// Local address
    #[arg(short = 'B', long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,
    /// Print JSON: one document, or a line for each test of a server
    #[arg(short = 'J', long)]
    json: bool,
    /// File with shared keys in udpst's format, on each line a number, a comma and a key; a server then refuses clients
    /// without one
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// Number of the key, if the file has several
    #[arg(long, value_name = "N", requires = "keys", conflicts_with = "server")]
    key_id: Option<u8>,
    /// Server: end after one test
    #[arg(short = '1', long, conflicts_with = "host")]
    one_off: bool,
    /// Server: maximum number of tests at the same time
    #[arg(long, value_name = "N", default_value_t = 16, conflicts_with = "host", value_parser = clap::value_parser!(u16).range(1..=1000))]
    max_tests: u16,
    /// Server: maximum duration of a test
    #[arg(long, value_name = "TIME", default_value = "60s", conflicts_with = "host", value_parser = seconds)]
    max_time: u16,
    /// Measure from the server only [default: from it, then to it]
    #[arg(short, long, conflicts_with_all = ["server", "up"])]
    down: bool,
    /// Measure to the server only
    #[arg(short, long, conflicts_with = "server")]
    up: bool,
    /// Length of a test in whole seconds, 5 to 3600
    #[arg(short, long, value_name = "TIME", default_value = "10s", conflicts_with = "server", value_parser = seconds)]
    time: u16,
    /// Length of an interval; the interval with the highest rate is the result
    #[arg(short, long, value_name = "TIME", default_value = "1s", conflicts_with = "server", value_parser = words::time)]
    interval: Nanos,
    /// Use a fixed rate instead of searching: 20Mbps, up to 1Gbps in steps of 1 Mbps, at the IP layer
    #[arg(short, long, value_name = "RATE", conflicts_with_all = ["server", "begin_at"], value_parser = row)]
    rate: Option<u16>,
    /// Start the search at a rate: 100Mbps
    #[arg(long, value_name = "RATE", conflicts_with = "server", value_parser = row)]
    begin_at: Option<u16>,
    /// Increase of the round-trip time below which the rate grows, and above which it falls, ms
    #[arg(long, value_name = "LOW,HIGH", default_value = "30,90", conflicts_with = "server", value_parser = thresholds)]
    delay: (u16, u16),
    /// Use the increase of the one-way delay instead of the round-trip time
    #[arg(long, conflicts_with = "server")]
    one_way: bool,
    /// Packets lost in 50 ms up to which there is no congestion
    #[arg(long, value_name = "N", default_value_t = 10, conflicts_with = "server")]
    loss: u16,
    /// Count reordered and duplicate packets as lost
    #[arg(long, conflicts_with = "server")]
    strict_order: bool,
    /// No datagrams above the usual MTU: the server needs the same option
    #[arg(long)]
    no_jumbo: bool,
    /// IP packets of 1,500 bytes instead of 1,250: the server needs the same option
    #[arg(long, conflicts_with = "server")]
    full_mtu: bool,
    /// Capacity to reserve on the server, Mbit/s
    #[arg(long, value_name = "N", conflicts_with = "server", value_parser = clap::value_parser!(u16).range(1..=32_767))]
    needs: Option<u16>,
    /// DSCP of the packets, 0 to 63
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "server", value_parser = clap::value_parser!(u8).range(0..=63))]
    dscp: u8,
    /// IPv4 only
    #[arg(short = '4', long, conflicts_with_all = ["server", "version6"])]
    version4: bool,
    /// IPv6 only
    #[arg(short = '6', long, conflicts_with = "server")]
    version6: bool,
    /// Fail, with exit code 1, if the capacity in a measured direction is lower: 100Mbps
    #[arg(long, value_name = "RATE", conflicts_with = "server", value_parser = rate)]
    at_least: Option<u64>,
}

/// The document of a client.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    version: &'static str,
    server: Option<String>,
    seconds: u16,
    tests: &'a [Capacity],
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(crate) fn capacity(args: &CapacityArgs) -> Result<Exit, Failure> {
    let keys = args.keys.as_deref().map(read_keys).transpose()?.unwrap_or_default();
    let stop = interrupt::sets_flag()?;
    match &args.host {
        None => server(args, keys, stop),
        Some(host) => client(args, host, keys, &stop),
    }
}

fn server(args: &CapacityArgs, keys: Vec<SharedKey>, stop: Arc<AtomicBool>) -> Result<Exit, Failure> {
    let options = ServerOptions {
        bind: args.bind,
        port: args.port,
        tests: args.max_tests.into(),
        once: args.one_off,
        longest: args.max_time,
        jumbo: args.no_jumbo.then_some(false),
        keys,
    };
    let json = args.json;
    let show = Arc::new(move |event: Event<'_>| {
        let lines = match event {
            Event::Listens(address) => {
                eprintln!("listening on {address}");
                return;
            }
            Event::Failed(peer, reason) => {
                eprintln!("{peer}: {reason}");
                return;
            }
            Event::Ended(_, capacity) if json => vec![serde_json::to_string(capacity).unwrap_or_default()],
            _ if json => return,
            Event::Began(number, peer, asked) => {
                vec![format!("{number}: {peer}: {}", text::described(asked))]
            }
            Event::Interval(number, interval) => vec![format!("{number}: {}", text::interval_line(interval))],
            Event::Ended(number, capacity) => {
                text::summary_lines(capacity).iter().map(|line| format!("{number}: {line}")).collect()
            }
        };
        print::now(&(lines.join("\n") + "\n"));
    });
    match serve(options, stop, show) {
        Ok(()) if interrupt::is_requested() => Ok(Exit::Interrupted),
        Ok(()) => Ok(Exit::Done),
        Err(wrong) => Err(Failure::refused(wrong.to_string())),
    }
}

fn client(args: &CapacityArgs, host: &str, keys: Vec<SharedKey>, stop: &AtomicBool) -> Result<Exit, Failure> {
    let key = chosen(keys, args.key_id)?;
    let ways: &[bool] = match (args.down, args.up) {
        (true, _) => &[false],
        (_, true) => &[true],
        _ => &[false, true],
    };
    let (mut tests, mut server, mut outcome) = (Vec::new(), None, Ok(()));
    for upwards in ways {
        let order = Order {
            host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            port: args.port,
            bind: args.bind,
            v6: (args.version4 || args.version6).then_some(args.version6),
            asked: asked(args, *upwards)?,
            jumbo: !args.no_jumbo,
            full_mtu: args.full_mtu,
            needs: args.needs.unwrap_or(0),
            key: key.clone(),
        };
        let json = args.json;
        let mut began = |address: std::net::SocketAddr, asked: &Activation| {
            if !json {
                print::now(&format!("{address}: {}\n{}\n", text::described(asked), text::interval_head()));
            }
            server = Some(address.to_string());
        };
        let mut tell = |interval: &udpst::Interval| {
            if !json {
                print::now(&(text::interval_line(interval) + "\n"));
            }
        };
        match measure(&order, stop, &mut began, &mut tell) {
            Ok(capacity) => {
                if !json {
                    print::now(&(text::summary_lines(&capacity).join("\n") + "\n"));
                }
                tests.push(capacity);
            }
            Err(wrong) => {
                outcome = Err(wrong);
                break;
            }
        }
    }
    if args.json {
        let document = Document {
            schema: "eagre.capacity/1",
            version: env!("CARGO_PKG_VERSION"),
            server,
            seconds: args.time,
            tests: &tests,
            error: outcome.as_ref().err().map(Wrong::to_string),
        };
        print::now(&(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"));
    }
    match outcome {
        Ok(()) => Ok(judged(&tests, args.at_least, args.json)),
        Err(Wrong::Interrupted) => Ok(Exit::Interrupted),
        Err(wrong) => Err(Failure::refused(wrong.to_string())),
    }
}

/// Whether the requested capacity is reached. A lower result is no verdict on the path if this host was the limit.
fn judged(tests: &[Capacity], at_least: Option<u64>, json: bool) -> Exit {
    if tests.iter().any(|test| test.capacity_bps_ip.is_none()) {
        return Exit::NothingFound;
    }
    let Some(least) = at_least else { return Exit::Done };
    let short = |test: &&Capacity| test.capacity_bps_ip.is_some_and(|most| most < least as f64);
    let Some(test) = tests.iter().find(short) else { return Exit::Done };
    if !json {
        let least = quantity(least as f64, "bps");
        eprintln!(
            "less than {least} {}",
            if test.direction == "to_server" { "to the server" } else { "from the server" }
        );
    }
    let is_own = tests.iter().filter(short).all(|test| test.limited_by.is_some());
    if is_own { Exit::CannotJudge } else { Exit::Failed }
}

fn asked(args: &CapacityArgs, upwards: bool) -> Result<Activation, Failure> {
    let interval_ms = args.interval.0 / 1_000_000;
    let interval_ms =
        u16::try_from(interval_ms).ok().filter(|ms| (100..=10_000).contains(ms)).ok_or_else(|| {
            Failure::bad_input(format!("--interval: {} is not between 100ms and 10s", args.interval))
        })?;
    Ok(Activation {
        thresholds: args.delay,
        errors: args.loss,
        one_way: args.one_way,
        ignores_order: !args.strict_order,
        interval_ms,
        dscp_ecn: args.dscp << 2,
        rate_row: args.rate.or(args.begin_at).unwrap_or(Activation::SEARCH),
        modifiers: if args.begin_at.is_some() { modifier::BEGINS } else { 0 },
        ..Activation::usual(upwards, args.time)
    })
}

/// Keys of a file: a number and a key on each line, with a comma, blanks or both between them.
fn read_keys(path: &Path) -> Result<Vec<SharedKey>, Failure> {
    let bad = |line: usize, what: &str| Failure::bad_input(format!("{}:{line}: {what}", path.display()));
    let text = crate::text::read(path)
        .map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))?;
    let mut keys: Vec<SharedKey> = Vec::new();
    for (place, line) in text.lines().enumerate().map(|(place, line)| (place + 1, line)) {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let (number, secret) = line
            .split_once(|c: char| c == ',' || c.is_whitespace())
            .ok_or_else(|| bad(place, "expected a number and a key: 0 SECRET"))?;
        let number: u8 = number.trim().parse().map_err(|_| bad(place, "the number of a key is 0 to 255"))?;
        let secret = secret.trim().trim_matches('"').to_owned();
        if secret.is_empty() || secret.len() > MOST_KEY {
            return Err(bad(place, "a key has 1 to 64 characters"));
        }
        if keys.iter().any(|key| key.number == number) {
            return Err(bad(place, "another key has this number"));
        }
        keys.push(SharedKey { number, secret });
    }
    if keys.is_empty() {
        return Err(Failure::bad_input(format!("{}: there is no key in it", path.display())));
    }
    Ok(keys)
}

fn chosen(keys: Vec<SharedKey>, number: Option<u8>) -> Result<Option<SharedKey>, Failure> {
    match (number, &keys[..]) {
        (None, []) => Ok(None),
        (None, [_]) => Ok(keys.into_iter().next()),
        (None, _) => {
            Err(Failure::bad_input("--keys: the file has several keys; choose one with --key-id".to_owned()))
        }
        (Some(number), _) => keys
            .into_iter()
            .find(|key| key.number == number)
            .map(Some)
            .ok_or_else(|| Failure::bad_input(format!("--key-id: the file has no key {number}"))),
    }
}

fn seconds(text: &str) -> Result<u16, String> {
    let time = words::time(text).map_err(|error| error.to_string())?;
    let whole = u16::try_from(time.0 / 1_000_000_000).ok().filter(|_| time.0 % 1_000_000_000 == 0);
    whole
        .filter(|seconds| SECONDS.contains(seconds))
        .ok_or_else(|| format!("'{text}' is not 5 to 3600 whole seconds"))
}

fn rate(text: &str) -> Result<u64, String> {
    let parsed = text.parse::<BitRate>().ok().filter(|rate| rate.layer == Layer::L2).map(|rate| rate.bps);
    parsed.ok_or_else(|| format!("'{text}' is not a rate: 20Mbps, 1.5Gbps"))
}

/// A row of the table: one for each Mbit/s.
fn row(text: &str) -> Result<u16, String> {
    let bits = rate(text)?;
    let row = u16::try_from(bits / 1_000_000).ok().filter(|_| bits % 1_000_000 == 0);
    row.filter(|row| (1..=1000).contains(row))
        .ok_or_else(|| format!("'{text}' is not 1Mbps to 1Gbps in whole Mbps"))
}

fn thresholds(text: &str) -> Result<(u16, u16), String> {
    let both = text
        .split_once(',')
        .and_then(|(low, high)| Some((low.trim().parse().ok()?, high.trim().parse().ok()?)));
    both.filter(|(low, high)| (1..=10_000).contains(low) && low <= high && *high <= 10_000)
        .ok_or_else(|| format!("'{text}' is not two times in ms, the lower one first: 30,90"))
}
