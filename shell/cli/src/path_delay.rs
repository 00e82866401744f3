//! `eagre path-delay`: delay and loss of a path in each direction, by the Simple Two-way Active Measurement Protocol (RFC 8762) and TWAMP
//! Light: sender and reflector.

use crate::{Exit, Failure, interrupt, print, words};
use between::Wrong;
use between::delay::{Event, Order, Outcome, Progress, ReflectOptions, measure, reflect, text};
use clap::{ArgGroup, Args};
use profile::document::Bytes;
use serde::Serialize;
use stamp::{
    Direction, Form, Format, HEADER, Key, PACKETS_MAX, PORT, Plan, ReflectorCounts, ReflectorOptions, Report,
};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use units::{Nanos, count, percent, quantity};

/// A share of lost packets above which the test has failed in any case.
const HALF: f64 = 0.5;

#[derive(Args)]
#[command(group(ArgGroup::new("role").args(["reflect", "host"]).required(true)))]
pub(crate) struct PathDelayArgs {
    /// Reflector to measure with: 'eagre path-delay --reflect', or a router's
    host: Option<String>,
    /// Run as a reflector, for any number of senders
    #[arg(short, long)]
    reflect: bool,
    /// UDP port of the reflector
    #[arg(short, long, value_name = "PORT", default_value_t = PORT)]
    port: u16,
    /// Local address
    #[arg(short = 'B', long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,
    /// Print JSON: one document
    #[arg(short = 'J', long)]
    json: bool,
    /// Timestamps in PTPv2's format instead of NTP's
    #[arg(long)]
    ptp: bool,
    /// Reflector: count the replies of each session, so that senders see in which direction packets are lost
    #[arg(long, conflicts_with = "host")]
    stateful: bool,
    /// Reflector: reply also to TWAMP Light packets without padding, although the replies are longer
    #[arg(long, conflicts_with = "host")]
    short: bool,
    /// Reflector: maximum number of replies per second
    #[arg(long, value_name = "N", default_value_t = 10_000, conflicts_with = "host", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    max_rate: u32,
    /// Reflector: maximum number of sessions with --stateful; one that is idle for 60 s ends
    #[arg(long, value_name = "N", default_value_t = 1_000, conflicts_with = "host", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    max_sessions: u32,
    /// Duration of sending
    #[arg(short, long, value_name = "TIME", default_value = "10s", conflicts_with = "reflect", value_parser = words::time)]
    time: Nanos,
    /// Time from packet to packet, 1 ms to 60 s
    #[arg(short, long, value_name = "TIME", default_value = "100ms", conflicts_with = "reflect", value_parser = words::time)]
    interval: Nanos,
    /// Time to wait for replies after the last packet
    #[arg(long, value_name = "TIME", default_value = "1s", conflicts_with = "reflect", value_parser = words::time)]
    wait: Nanos,
    /// UDP payload of a packet, bytes: 44, or 48 to 9000; with a key 112, or 116 to 9000 [default: the shortest]
    #[arg(short, long, value_name = "BYTES", conflicts_with = "reflect", value_parser = words::bytes)]
    size: Option<Bytes>,
    /// Authenticated mode: file with the key that both ends share, 32 to 128 hexadecimal digits
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// DSCP of the packets, 0 to 63
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "reflect", value_parser = clap::value_parser!(u8).range(0..=63))]
    dscp: u8,
    /// IPv4 only
    #[arg(short = '4', long, conflicts_with_all = ["reflect", "version6"])]
    version4: bool,
    /// IPv6 only
    #[arg(short = '6', long, conflicts_with = "reflect")]
    version6: bool,
    /// Fail, with exit code 1, if more packets are lost: 0.1%
    #[arg(long, value_name = "PERCENT", conflicts_with = "reflect", value_parser = share)]
    max_loss: Option<f64>,
    /// Fail if the 99th percentile of the round trip is longer
    #[arg(long, value_name = "TIME", conflicts_with = "reflect", value_parser = words::time)]
    max_p99: Option<Nanos>,
    /// Fail if the 99th percentile of the delay in a direction is longer; exit code 4 if the clocks do not show it
    #[arg(long, value_name = "TIME", conflicts_with = "reflect", value_parser = words::time)]
    max_one_way_p99: Option<Nanos>,
    /// Fail if the jitter in a direction is larger
    #[arg(long, value_name = "TIME", conflicts_with = "reflect", value_parser = words::time)]
    max_jitter: Option<Nanos>,
}

/// The document of a sender.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    version: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reflector: Option<String>,
    interval_ns: u64,
    size_bytes: usize,
    is_authenticated: bool,
    #[serde(flatten)]
    report: Option<&'a Report>,
    failed_criteria: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// The document of a reflector.
#[derive(Serialize)]
struct Counts {
    schema: &'static str,
    version: &'static str,
    replies: u64,
    malformed: u64,
    short: u64,
    unauthentic: u64,
    reflected: u64,
    over_rate: u64,
    over_sessions: u64,
    sessions: u64,
}

pub(crate) fn path_delay(args: &PathDelayArgs) -> Result<Exit, Failure> {
    let stop = interrupt::sets_flag()?;
    match &args.host {
        None => reflector(args, &stop),
        Some(host) => sender(args, host, &stop),
    }
}

fn reflector(args: &PathDelayArgs, stop: &AtomicBool) -> Result<Exit, Failure> {
    let options = ReflectOptions {
        bind: args.bind,
        port: args.port,
        reflector: ReflectorOptions {
            form: form(args)?,
            is_stateful: args.stateful,
            format: format(args),
            allows_short: args.short,
            rate_max: args.max_rate,
            sessions_max: args.max_sessions as usize,
        },
    };
    let json = args.json;
    let mut show = |event: Event<'_>| match event {
        Event::Listens(address) => eprintln!("listening on {address}"),
        Event::Dropped(peer, reason) => eprintln!("{peer}: {reason}"),
        Event::Ended(counts) if json => {
            print::now(&(serde_json::to_string(&document_of(counts)).unwrap_or_default() + "\n"));
        }
        Event::Ended(counts) => print::now(&(counts_line(counts) + "\n")),
    };
    match reflect(&options, stop, &mut show) {
        Ok(()) => Ok(Exit::Interrupted),
        Err(wrong) => Err(Failure::refused(wrong.to_string())),
    }
}

fn document_of(counts: ReflectorCounts) -> Counts {
    let ReflectorCounts {
        replies,
        malformed,
        short,
        unauthentic,
        reflected,
        over_rate,
        over_sessions,
        sessions,
    } = counts;
    Counts {
        schema: "eagre.path-delay-reflector/1",
        version: env!("CARGO_PKG_VERSION"),
        replies,
        malformed,
        short,
        unauthentic,
        reflected,
        over_rate,
        over_sessions,
        sessions,
    }
}

fn counts_line(counts: ReflectorCounts) -> String {
    let mut line = format!("{} replies", count(counts.replies));
    let others = [
        (counts.sessions, "sessions"),
        (counts.malformed, "malformed packets"),
        (counts.short, "packets shorter than their reply"),
        (counts.unauthentic, "packets without the code of the key"),
        (counts.reflected, "replies of other reflectors"),
        (counts.over_rate, "packets over --max-rate"),
        (counts.over_sessions, "packets over --max-sessions"),
    ];
    for (number, what) in others.into_iter().filter(|(number, _)| *number > 0) {
        line.push_str(&format!(", {} {what}", count(number)));
    }
    line
}

fn sender(args: &PathDelayArgs, host: &str, stop: &AtomicBool) -> Result<Exit, Failure> {
    let order = order(args, host)?;
    let (json, mut reflector) = (args.json, None);
    let mut began = |address: std::net::SocketAddr, mode| {
        if !json {
            print::now(&format!(
                "{address}: {} packets of {} bytes, one each {}; {}\n{}\n",
                count(order.packets.into()),
                order.length,
                order.interval,
                text::mode(mode),
                text::progress_head()
            ));
        }
        reflector = Some(address.to_string());
    };
    let mut tell = |progress: &Progress| {
        if !json {
            print::now(&(text::progress_line(progress) + "\n"));
        }
    };
    let outcome = measure(&order, stop, &mut began, &mut tell);
    let judged = outcome.as_ref().map(|outcome| judged(args, outcome)).unwrap_or_default();
    if json {
        let document = Document {
            schema: "eagre.path-delay/1",
            version: env!("CARGO_PKG_VERSION"),
            reflector,
            interval_ns: args.interval.0,
            size_bytes: order.length,
            is_authenticated: order.form != Form::Open,
            report: outcome.as_ref().ok().map(|outcome| &outcome.report),
            failed_criteria: judged.iter().map(|(_, reason)| reason.clone()).collect(),
            error: outcome.as_ref().err().map(Wrong::to_string),
        };
        print::now(&(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"));
    }
    match outcome {
        Ok(outcome) => {
            if !json {
                print::now(&(text::summary_lines(&outcome.report).join("\n") + "\n"));
                judged.iter().for_each(|(_, reason)| eprintln!("{reason}"));
            }
            Ok(exit(&judged, outcome.is_interrupted))
        }
        Err(Wrong::Interrupted) => Ok(Exit::Interrupted),
        Err(wrong) => Err(Failure::refused(wrong.to_string())),
    }
}

fn exit(judged: &[(Exit, String)], is_interrupted: bool) -> Exit {
    let of_criteria = judged.iter().map(|(exit, _)| *exit).fold(Exit::Done, Exit::and);
    if is_interrupted { Exit::Interrupted } else { of_criteria }
}

fn order(args: &PathDelayArgs, host: &str) -> Result<Order, Failure> {
    let range = Nanos(1_000_000)..=Nanos::from_secs(60);
    if !range.contains(&args.interval) {
        return Err(Failure::bad_input(format!("--interval: {} is not between 1ms and 60s", args.interval)));
    }
    if args.wait > Nanos::from_secs(60) {
        return Err(Failure::bad_input(format!("--wait: {} is more than 60s", args.wait)));
    }
    let packets = (args.time.0 / args.interval.0).max(1);
    let packets = u32::try_from(packets).ok().filter(|packets| *packets <= PACKETS_MAX).ok_or_else(|| {
        Failure::bad_input(format!(
            "--time: {} packets are more than {}; choose a longer --interval",
            count(packets),
            count(PACKETS_MAX.into())
        ))
    })?;
    let form = form(args)?;
    Ok(Order {
        length: length(args, &form)?,
        form,
        host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
        port: args.port,
        bind: args.bind,
        v6: (args.version4 || args.version6).then_some(args.version6),
        packets,
        interval: args.interval,
        wait: args.wait,
        format: format(args),
        dscp: args.dscp,
    })
}

fn format(args: &PathDelayArgs) -> Format {
    if args.ptp { Format::Ptp } else { Format::Ntp }
}

/// Criteria that are not met, with their exit code.
fn judged(args: &PathDelayArgs, outcome: &Outcome) -> Vec<(Exit, String)> {
    let report = &outcome.report;
    let mut failed: Vec<_> = loss(args, outcome).into_iter().collect();
    if let Some(most) = args.max_p99 {
        match report.round_trip_ns {
            Some(trip) if trip.p99_ns as f64 <= most.0 as f64 => {}
            Some(trip) => {
                let p99 = quantity(trip.p99_ns as f64, "ns");
                failed.push((
                    Exit::Failed,
                    format!("the round trip's 99th percentile is {p99}, more than {most}"),
                ));
            }
            None => failed.push((Exit::NothingFound, "no round trip was measured".to_owned())),
        }
    }
    let ways = [("to the reflector", &report.to_reflector), ("from the reflector", &report.from_reflector)];
    for (name, direction) in ways {
        failed.extend(jitter(args, name, direction));
        failed.extend(one_way(args, name, direction, report));
    }
    failed
}

/// Lost packets: more than allowed, or more than half.
fn loss(args: &PathDelayArgs, outcome: &Outcome) -> Option<(Exit, String)> {
    let report = &outcome.report;
    let most = args.max_loss.unwrap_or(HALF);
    if report.loss_ratio <= most {
        return None;
    }
    // Those that reached this host count as lost, too.
    let there = report.lost.saturating_sub(outcome.unread) as f64 / report.sent.max(1) as f64;
    let exit = if there <= most { Exit::CannotJudge } else { Exit::Failed };
    Some((
        exit,
        format!("{} of the packets are lost, more than {}", percent(report.loss_ratio), percent(most)),
    ))
}

fn jitter(args: &PathDelayArgs, name: &str, direction: &Direction) -> Option<(Exit, String)> {
    let most = args.max_jitter?;
    let Some(delay) = direction.delay_ns else {
        return Some((Exit::NothingFound, format!("no jitter {name} was measured")));
    };
    let is_met = delay.jitter_ns <= most.0 as f64;
    let jitter = quantity(delay.jitter_ns, "ns");
    (!is_met).then(|| (Exit::Failed, format!("the jitter {name} is {jitter}, more than {most}")))
}

/// The one-way delay: true ones are within the uncertainty of those that are stated.
fn one_way(
    args: &PathDelayArgs,
    name: &str,
    direction: &Direction,
    report: &Report,
) -> Option<(Exit, String)> {
    let most = args.max_one_way_p99?;
    let (Some(delay), Some(clock)) = (direction.delay_ns, report.clock) else {
        return Some((Exit::NothingFound, format!("no delay {name} was measured")));
    };
    let exit = within(delay.p99_ns, clock.uncertainty_ns, most);
    let (p99, bound) = (quantity(delay.p99_ns as f64, "ns"), quantity(clock.uncertainty_ns as f64, "ns"));
    let text = match exit {
        Exit::Done => return None,
        Exit::Failed => format!("more than {most}"),
        _ => format!("the clocks do not show whether that is more than {most}"),
    };
    Some((exit, format!("the 99th percentile of the delay {name} is {p99} ± {bound}: {text}")))
}

/// Whether a time that may be off by `uncertainty_ns` is certainly, or certainly not, within its limit.
fn within(ns: i64, uncertainty_ns: u64, most: Nanos) -> Exit {
    let (ns, bound, most) = (ns as f64, uncertainty_ns as f64, most.0 as f64);
    match () {
        () if ns + bound <= most => Exit::Done,
        () if ns - bound > most => Exit::Failed,
        () => Exit::CannotJudge,
    }
}

/// Octets of a packet's UDP payload.
fn length(args: &PathDelayArgs, form: &Form) -> Result<usize, Failure> {
    let Some(bytes) = &args.size else { return Ok(form.base()) };
    let length = usize::try_from(bytes.0).ok().filter(|length| Plan::can_have(form, *length));
    length.ok_or_else(|| {
        let base = form.base();
        Failure::bad_input(format!("--size: {} bytes are not {base}, or {} to 9000", bytes.0, base + HEADER))
    })
}

/// Form of the packets, by the key in a file.
fn form(args: &PathDelayArgs) -> Result<Form, Failure> {
    let Some(path) = &args.key_file else { return Ok(Form::Open) };
    let bad = |reason: &str| Failure::bad_input(format!("--key-file: {}: {reason}", path.display()));
    let text = crate::text::read(path).map_err(|error| bad(&error.to_string()))?;
    let digits = text.trim();
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit()) && digits.len().is_multiple_of(2);
    let octets: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(octet).collect();
    let key = octets.filter(|_| is_hex).and_then(|octets| Key::new(&octets));
    key.map(Form::Authenticated).ok_or_else(|| {
        bad("expected 32 to 128 hexadecimal digits, two for each octet of the key; 'openssl rand -hex 32' makes one")
    })
}

/// `0.1%`; `0.001` is the same.
fn share(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = number.trim().parse::<f64>().ok().map(|number| number / scale);
    share.filter(|share| (0.0..=1.0).contains(share)).ok_or_else(|| format!("'{text}' is not 0% to 100%"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_judged_if_the_clocks_are_good_enough() {
        let all = [700, 801, 1_200, 1_201].map(|ns| within(ns, 200, Nanos(1_000)) as i32);
        assert_eq!(
            all,
            [Exit::Done, Exit::CannotJudge, Exit::CannotJudge, Exit::Failed].map(|exit| exit as i32)
        );
    }

    #[test]
    fn shares() {
        assert_eq!((share("0.5%"), share("0.005"), share("100 %")), (Ok(0.005), Ok(0.005), Ok(1.0)));
        for bad in ["", "-1%", "101%", "x", "NaN"] {
            assert!(share(bad).is_err(), "{bad}");
        }
    }
}
