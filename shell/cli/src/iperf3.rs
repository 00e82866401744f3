//! `eagre iperf3`: client and server of iperf3's protocol, with iperf3's options. A number without a unit has iperf3's
//! meaning.

use crate::{Exit, Failure, interrupt, print, words};
use between::{Client, Event, Order, ServerOptions, Wrong};
use clap::{ArgGroup, Args};
use iperf::report::Report;
use iperf::{Direction, MOST_STREAMS, PORT, Test, Transport, Until};
use profile::document::Bytes;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use units::{BitRate, Layer, Nanos};

/// Default rate of a UDP stream, bits per second.
const UDP_RATE: u64 = 1_000_000;

#[derive(Args)]
#[command(group(ArgGroup::new("role").args(["server", "client"]).required(true)))]
pub(crate) struct IperfArgs {
    /// Run as a server, for many clients at the same time
    #[arg(short, long)]
    server: bool,
    /// Run as a client of this server, 'iperf3 -s' or 'eagre iperf3 -s'
    #[arg(short, long, value_name = "HOST")]
    client: Option<String>,
    /// Port of the server
    #[arg(short, long, value_name = "PORT", default_value_t = PORT)]
    port: u16,
    /// Local address
    #[arg(short = 'B', long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,
    /// Time between two lines of figures, seconds; 0 for no lines
    #[arg(short, long, value_name = "TIME", default_value = "1", value_parser = words::time)]
    interval: Nanos,
    /// Print the report as JSON, with iperf3's names
    #[arg(short = 'J', long)]
    json: bool,
    /// Server: end after one test
    #[arg(short = '1', long, conflicts_with = "client")]
    one_off: bool,
    /// Server: maximum number of tests at the same time
    #[arg(long, value_name = "N", default_value_t = 100, conflicts_with = "client", value_parser = clap::value_parser!(u16).range(1..=1000))]
    max_tests: u16,
    /// Server: maximum duration of a test
    #[arg(long, value_name = "TIME", default_value = "86400s", conflicts_with = "client", value_parser = words::time)]
    max_time: Nanos,
    /// UDP instead of TCP
    #[arg(short, long, conflicts_with = "server")]
    udp: bool,
    /// Bits per second of each stream, 100M or 2.5Gbps, and blocks per burst: 100M/10; 0 for no limit [default: 1M over
    /// UDP, else 0]
    #[arg(short, long, value_name = "RATE[/BURST]", conflicts_with = "server", value_parser = bitrate)]
    bitrate: Option<(u64, u32)>,
    /// Rate of each stream, paced by the kernel
    #[arg(long, value_name = "RATE", conflicts_with = "server", value_parser = rate)]
    fq_rate: Option<u64>,
    /// Duration of the test in whole seconds; 0 for until Ctrl-C [default: 10]
    #[arg(short, long, value_name = "TIME", conflicts_with_all = ["server", "bytes", "blockcount"], value_parser = seconds)]
    time: Option<Nanos>,
    /// End when all streams together have sent this number of bytes: 50M, 2GB
    #[arg(short = 'n', long, value_name = "SIZE", conflicts_with_all = ["server", "blockcount"], value_parser = size)]
    bytes: Option<u64>,
    /// End when all streams together have sent this number of blocks, or packets: 10K
    #[arg(short = 'k', long, value_name = "N", conflicts_with = "server", value_parser = size)]
    blockcount: Option<u64>,
    /// Bytes of a write, or of a UDP packet's payload [default: 128K, or the largest payload for the path's MTU]
    #[arg(short, long, value_name = "SIZE", conflicts_with = "server", value_parser = size)]
    length: Option<u64>,
    /// Number of streams in each direction
    #[arg(short = 'P', long, value_name = "N", default_value_t = 1, conflicts_with = "server",
          value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_STREAMS)))]
    parallel: u32,
    /// Let the server send
    #[arg(short = 'R', long, conflicts_with_all = ["server", "bidir"])]
    reverse: bool,
    /// Send in both directions
    #[arg(long, conflicts_with = "server")]
    bidir: bool,
    /// Size of the socket buffers
    #[arg(short, long, value_name = "SIZE", conflicts_with = "server", value_parser = size)]
    window: Option<u64>,
    /// Maximum TCP segment size, bytes
    #[arg(short = 'M', long, value_name = "BYTES", conflicts_with = "server", value_parser = clap::value_parser!(u32).range(88..=65_535))]
    set_mss: Option<u32>,
    /// Disable Nagle's algorithm
    #[arg(short = 'N', long, conflicts_with = "server")]
    no_delay: bool,
    /// TCP congestion control: cubic, bbr, reno
    #[arg(short = 'C', long, value_name = "NAME", conflicts_with = "server")]
    congestion: Option<String>,
    /// IPv4 only
    #[arg(short = '4', long, conflicts_with_all = ["server", "version6"])]
    version4: bool,
    /// IPv6 only
    #[arg(short = '6', long, conflicts_with = "server")]
    version6: bool,
    /// Type of service of the packets, 0 to 255
    #[arg(short = 'S', long, value_name = "N", conflicts_with_all = ["server", "dscp"], value_parser = tos)]
    tos: Option<u8>,
    /// DSCP of the packets, 0 to 63
    #[arg(long, value_name = "N", conflicts_with = "server", value_parser = clap::value_parser!(u8).range(0..=63))]
    dscp: Option<u8>,
    /// Number of seconds at the beginning to omit
    #[arg(short = 'O', long, value_name = "TIME", conflicts_with = "server", value_parser = seconds)]
    omit: Option<Nanos>,
    /// Title for the report
    #[arg(short = 'T', long, value_name = "TEXT", conflicts_with = "server")]
    title: Option<String>,
    /// Additional text for the report
    #[arg(long, value_name = "TEXT", conflicts_with = "server")]
    extra_data: Option<String>,
    /// Also print the server's output
    #[arg(long, conflicts_with = "server")]
    get_server_output: bool,
    /// Use 64-bit sequence numbers for UDP packets, for more than 4 billion packets
    #[arg(long, conflicts_with = "server")]
    udp_counters_64bit: bool,
    /// Set Don't Fragment on UDP over IPv4
    #[arg(long, conflicts_with = "server")]
    dont_fragment: bool,
    /// Timeout for the connection; a number alone is milliseconds
    #[arg(long, value_name = "TIME", default_value = "5s", conflicts_with = "server", value_parser = millis)]
    connect_timeout: Nanos,
}

pub(crate) fn iperf3(args: &IperfArgs) -> Result<Exit, Failure> {
    let stop = interrupt::sets_flag()?;
    match &args.client {
        None => server(args, stop),
        Some(host) => client(args, host, &stop),
    }
}

fn server(args: &IperfArgs, stop: Arc<std::sync::atomic::AtomicBool>) -> Result<Exit, Failure> {
    let options = ServerOptions {
        bind: args.bind,
        port: args.port,
        tests: args.max_tests.into(),
        interval: args.interval,
        once: args.one_off,
        longest: Duration::from_nanos(args.max_time.0),
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
            Event::Ended(_, report) if json => vec![serde_json::to_string(report).unwrap_or_default()],
            _ if json => return,
            Event::Began(number, peer, test) => vec![format!("{number}: {peer}: {}", described(test))],
            Event::Interval(number, interval) => {
                between::interval_lines(interval).iter().map(|line| format!("{number}: {line}")).collect()
            }
            Event::Ended(number, report) => {
                between::summary_lines(report).iter().map(|line| format!("{number}: {line}")).collect()
            }
        };
        // One call for all lines of an event: tests that run at once print between each other's, not into them.
        print::now(&(lines.join("\n") + "\n"));
    });
    match between::serve(options, stop, show) {
        Ok(()) if interrupt::is_requested() => Ok(Exit::Interrupted),
        Ok(()) => Ok(Exit::Done),
        Err(wrong) => Err(failure(wrong)),
    }
}

fn client(args: &IperfArgs, host: &str, stop: &std::sync::atomic::AtomicBool) -> Result<Exit, Failure> {
    let order = Order {
        host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
        port: args.port,
        bind: args.bind,
        v6: (args.version4 || args.version6).then_some(args.version6),
        test: test(args)?,
        interval: args.interval,
        patience: Duration::from_nanos(args.connect_timeout.0),
    };
    let mut report = Report::default();
    let json = args.json;
    let mut show = |event: Client<'_>| {
        let lines = match event {
            _ if json => return,
            Client::Began(test, start) => {
                let server = start.connecting_to.as_ref();
                let server =
                    server.map(|peer| format!("{} port {}", peer.host, peer.port)).unwrap_or_default();
                vec![format!("{server}: {}", described(test)), between::interval_head(test)]
            }
            Client::Interval(interval) => between::interval_lines(interval),
            Client::ServerOutput(text) => vec!["the server:".to_owned(), text.trim_end().to_owned()],
        };
        print::now(&(lines.join("\n") + "\n"));
    };
    let outcome = between::client(&order, stop, &mut report, &mut show);
    if json {
        print::now(&(serde_json::to_string_pretty(&report).unwrap_or_default() + "\n"));
    } else {
        print::now(
            &between::summary_lines(&report).iter().map(|line| format!("{line}\n")).collect::<String>(),
        );
    }
    match outcome {
        Ok(()) => {
            let end = &report.end;
            let received = [&end.sum_received, &end.sum_received_bidir_reverse];
            let nothing = received.into_iter().flatten().any(|sum| sum.bytes == 0);
            Ok(if nothing { Exit::Failed } else { Exit::Done })
        }
        Err(Wrong::Interrupted) => Ok(Exit::Interrupted),
        Err(wrong) => Err(failure(wrong)),
    }
}

fn failure(wrong: Wrong) -> Failure {
    Failure::refused(wrong.to_string())
}

fn test(args: &IperfArgs) -> Result<Test, Failure> {
    let (rate, burst) = args.bitrate.unwrap_or((if args.udp { UDP_RATE } else { 0 }, 1));
    let small = |name: &str, value: Option<u64>| {
        let fits = |value: u64| {
            u32::try_from(value)
                .map_err(|_| Failure::bad_input(format!("{name}: {value} bytes are too many")))
        };
        value.map(fits).transpose()
    };
    let until = match (args.bytes, args.blockcount) {
        (Some(bytes), _) => Until::Bytes(bytes),
        (None, Some(blocks)) => Until::Blocks(blocks),
        (None, None) => Until::Time(args.time.unwrap_or(Nanos(10_000_000_000))),
    };
    let length = small("--length", args.length)?;
    let test = Test {
        transport: if args.udp { Transport::Udp } else { Transport::Tcp },
        direction: match (args.bidir, args.reverse) {
            (true, _) => Direction::Both,
            (false, true) => Direction::Down,
            (false, false) => Direction::Up,
        },
        parallel: args.parallel,
        block: length.unwrap_or(1448),
        until,
        omit: args.omit.unwrap_or(Nanos(0)),
        rate: (rate > 0).then_some(rate),
        burst,
        kernel_rate: args.fq_rate,
        window: small("--window", args.window)?,
        mss: args.set_mss,
        nodelay: args.no_delay,
        tos: args.tos.or(args.dscp.map(|dscp| dscp << 2)).unwrap_or(0),
        congestion: args.congestion.clone(),
        wide_counters: args.udp_counters_64bit,
        dont_fragment: args.dont_fragment,
        title: args.title.clone(),
        extra_data: args.extra_data.clone(),
        wants_server_output: args.get_server_output,
    };
    // A server would refuse what is too large; here it is known before there is a connection.
    Test::asked(&test.parameters()).map_err(Failure::bad_input)?;
    Ok(Test { block: length.unwrap_or(0), ..test })
}

/// A test in a few words.
fn described(test: &Test) -> String {
    let transport = match test.transport {
        Transport::Tcp => "TCP",
        Transport::Udp => "UDP",
    };
    let way = match test.direction {
        Direction::Up => "to the server",
        Direction::Down => "to the client",
        Direction::Both => "both ways",
    };
    let streams = match test.parallel {
        1 => "one stream".to_owned(),
        number => format!("{number} streams"),
    };
    let until = match test.until {
        Until::Time(Nanos(0)) => "until interrupted".to_owned(),
        Until::Time(time) => format!("for {time}"),
        Until::Bytes(bytes) => format!("until {} are sent", units::quantity(bytes as f64, "B")),
        Until::Blocks(blocks) => format!("until {} blocks are sent", units::count(blocks)),
    };
    let rate =
        test.rate.map(|rate| format!(" of {}", units::quantity(rate as f64, "bps"))).unwrap_or_default();
    format!("{transport} {way}, {streams}{rate}, blocks of {} B, {until}", units::count(test.block.into()))
}

/// `100M`, in iperf3's notation, or with the unit: `100Mbps`.
fn rate(text: &str) -> Result<u64, String> {
    scaled(text, 1000.0)
        .or_else(|| text.parse::<BitRate>().ok().filter(|rate| rate.layer == Layer::L2).map(|rate| rate.bps))
        .ok_or_else(|| format!("'{text}' is not a rate: 100M, 2.5G, 100Mbps"))
}

fn bitrate(text: &str) -> Result<(u64, u32), String> {
    let (bits, burst) = text.split_once('/').unwrap_or((text, "1"));
    let burst = burst.parse().ok().filter(|burst| (1..=1000).contains(burst));
    Ok((rate(bits)?, burst.ok_or_else(|| format!("'{text}': a burst has 1 to 1000 blocks"))?))
}

/// `50M` is binary, as in iperf3; `50MB` is decimal, as elsewhere in Eagre.
fn size(text: &str) -> Result<u64, String> {
    scaled(text, 1024.0)
        .or_else(|| text.parse::<Bytes>().ok().map(|bytes| bytes.0))
        .filter(|size| *size > 0)
        .ok_or_else(|| format!("'{text}' is not a size: 128K, 50M, 2GB"))
}

/// A number with a suffix K, M, G or T, or without one.
fn scaled(text: &str, step: f64) -> Option<u64> {
    let power = text
        .bytes()
        .last()
        .and_then(|last| b"kmgt".iter().position(|letter| last.eq_ignore_ascii_case(letter)));
    let digits = if power.is_some() { &text[..text.len() - 1] } else { text };
    let number: f64 =
        digits.parse().ok().filter(|_| digits.bytes().all(|c| c.is_ascii_digit() || c == b'.'))?;
    let value = number * step.powi(power.map_or(0, |power| power as i32 + 1));
    (value < i64::MAX as f64).then_some(value as u64)
}

fn seconds(text: &str) -> Result<Nanos, String> {
    let time = words::time(text).map_err(|error| error.to_string())?;
    if time.0 % 1_000_000_000 == 0 {
        return Ok(time);
    }
    Err(format!("'{text}': iperf3's protocol has whole seconds only"))
}

fn millis(text: &str) -> Result<Nanos, String> {
    match text.parse::<u32>() {
        Ok(millis) => Ok(Nanos(u64::from(millis) * 1_000_000)),
        Err(_) => words::time(text).map_err(|error| error.to_string()),
    }
}

/// A decimal number, or as in iperf3 with 0x or 0 before it.
fn tos(text: &str) -> Result<u8, String> {
    let parsed = match (text.strip_prefix("0x"), text.strip_prefix('0')) {
        (Some(hex), _) => u8::from_str_radix(hex, 16),
        (None, Some(octal)) if !octal.is_empty() => u8::from_str_radix(octal, 8),
        _ => text.parse(),
    };
    parsed.map_err(|_| format!("'{text}' is not a type of service: 0 to 255, or 0x00 to 0xff"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_mean_what_they_mean_in_iperf3() {
        assert_eq!(bitrate("100M"), Ok((100_000_000, 1)));
        assert_eq!(bitrate("1.5g/10"), Ok((1_500_000_000, 10)));
        assert_eq!(bitrate("20Mbps"), Ok((20_000_000, 1)));
        assert_eq!((size("128K"), size("50M"), size("50MB")), (Ok(131_072), Ok(52_428_800), Ok(50_000_000)));
        assert_eq!((tos("0x10"), tos("020"), tos("16"), tos("0")), (Ok(16), Ok(16), Ok(16), Ok(0)));
        assert_eq!((millis("300"), millis("2s")), (Ok(Nanos(300_000_000)), Ok(Nanos(2_000_000_000))));
        for bad in ["", "K", "-1", "1e9", "12X", "NaN", "inf"] {
            assert!(size(bad).is_err() && rate(bad).is_err(), "{bad}");
        }
        assert!(
            bitrate("1M/0").is_err()
                && bitrate("1M/x").is_err()
                && seconds("1.5").is_err()
                && tos("256").is_err()
        );
    }
}
