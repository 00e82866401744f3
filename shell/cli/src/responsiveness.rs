//! `eagre responsiveness`: round trips per minute of a loaded path (draft-ietf-ippm-responsiveness-09): client and server.

use crate::{Exit, Failure, interrupt, print, words};
use between::Wrong;
use between::responsiveness::{
    Event, Identity, Order, Report, Served, ServerOptions, Trust, Version, measure, serve, text,
};
use clap::{ArgGroup, Args};
use responsiveness::{Direction, Location, Parameters, WELL_KNOWN};
use serde::Serialize;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;
use units::Nanos;

/// Port of the well-known URL.
const PORT: u16 = 443;

#[derive(Args)]
#[command(group(ArgGroup::new("role").args(["serve", "server"]).required(true)))]
pub(crate) struct ResponsivenessArgs {
    /// Server to measure with: a host, whose configuration is at https://HOST/.well-known/nq, or the configuration's URL
    #[arg(value_name = "HOST|URL")]
    server: Option<String>,
    /// Run as a server, for many clients at the same time
    #[arg(short, long)]
    serve: bool,
    /// Port of the server, if there is no URL [default: 443]
    #[arg(short, long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// Local address
    #[arg(short = 'B', long, value_name = "ADDRESS")]
    bind: Option<IpAddr>,
    /// Print JSON: one document, or a line for each load of a server
    #[arg(short = 'J', long)]
    json: bool,
    /// Server: certificate, PEM [default: a new one, which clients can't verify]
    #[arg(long, value_name = "FILE", conflicts_with = "server", requires = "key")]
    cert: Option<PathBuf>,
    /// Server: key of the certificate, PEM
    #[arg(long, value_name = "FILE", conflicts_with = "server", requires = "cert")]
    key: Option<PathBuf>,
    /// Without TLS: server, or client of one given by its host
    #[arg(long, conflicts_with_all = ["cert", "key"])]
    no_tls: bool,
    /// Server: maximum number of connections at the same time
    #[arg(long, value_name = "N", default_value_t = 10_000, conflicts_with = "server", value_parser = clap::value_parser!(u16).range(1..))]
    max_connections: u16,
    /// Server: maximum duration of a transfer
    #[arg(long, value_name = "TIME", default_value = "5m", conflicts_with = "server", value_parser = words::time)]
    max_time: Nanos,
    /// Load the direction from the server only [default: from it, then to it]
    #[arg(short, long, conflicts_with_all = ["serve", "up", "both"])]
    down: bool,
    /// Load the direction to the server only
    #[arg(short, long, conflicts_with_all = ["serve", "both"])]
    up: bool,
    /// Load both directions at the same time, for one figure
    #[arg(short, long, conflicts_with = "serve")]
    both: bool,
    /// Intervals of 1 s and tests of 20 s at most, as in revisions 01 to 08 of the document
    #[arg(long, conflicts_with = "serve")]
    quick: bool,
    /// Length of an interval, 100ms to 1m [default: 5s, with --quick 1s]
    #[arg(short, long, value_name = "TIME", conflicts_with = "serve", value_parser = words::time)]
    interval: Option<Nanos>,
    /// Longest test, at least one interval [default: 60s, with --quick 20s]
    #[arg(short, long, value_name = "TIME", conflicts_with = "serve", value_parser = words::time)]
    time: Option<Nanos>,
    /// Connections at the beginning of a test, in each direction
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "serve", value_parser = clap::value_parser!(u16).range(1..=100))]
    connections: u16,
    /// Most connections of a test, in each direction
    #[arg(long, value_name = "N", default_value_t = 16, conflicts_with = "serve", value_parser = clap::value_parser!(u16).range(1..=100))]
    most_connections: u16,
    /// Most probes per second, both kinds together
    #[arg(long, value_name = "N", default_value_t = 100, conflicts_with = "serve", value_parser = clap::value_parser!(u16).range(2..=1000))]
    probes: u16,
    /// HTTP/1.1: round trips on load-generating connections are then TCP's own estimates
    #[arg(long = "http1.1", conflicts_with_all = ["serve", "http2"])]
    http1: bool,
    /// HTTP/2: over https:// it must be negotiated, over http:// connections begin with it
    #[arg(long = "h2", conflicts_with = "serve")]
    http2: bool,
    /// Accept any certificate
    #[arg(short = 'k', long, conflicts_with = "serve")]
    insecure: bool,
    /// Trust the root certificates in this file, PEM, instead of the system's
    #[arg(long, value_name = "FILE", conflicts_with_all = ["serve", "insecure"])]
    cacert: Option<PathBuf>,
    /// IPv4 only
    #[arg(short = '4', long, conflicts_with_all = ["serve", "version6"])]
    version4: bool,
    /// IPv6 only
    #[arg(short = '6', long, conflicts_with = "serve")]
    version6: bool,
    /// Fail, with exit code 1, if the responsiveness of a test is lower: 800
    #[arg(long, value_name = "RPM", conflicts_with = "serve", value_parser = clap::value_parser!(u32).range(1..))]
    at_least: Option<u32>,
}

/// The document of a client.
#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    version: &'static str,
    parameters: &'a Parameters,
    #[serde(flatten)]
    report: &'a Report,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

pub(crate) fn responsiveness(args: &ResponsivenessArgs) -> Result<Exit, Failure> {
    let Some(host) = &args.server else {
        return server(args, &interrupt::sets_flag()?);
    };
    let order = order(args, host)?;
    let stop = interrupt::sets_flag()?;
    client(args, &order, &stop)
}

fn server(args: &ResponsivenessArgs, stop: &Arc<AtomicBool>) -> Result<Exit, Failure> {
    let identity = match (&args.cert, &args.key) {
        _ if args.no_tls => None,
        (Some(cert), Some(key)) => Some(Identity::Files(cert.clone(), key.clone())),
        _ => Some(Identity::SelfSigned),
    };
    let options = ServerOptions {
        bind: args.bind,
        port: args.port.unwrap_or(PORT),
        identity,
        connections: args.max_connections.into(),
        longest: Duration::from_nanos(args.max_time.0),
    };
    let json = args.json;
    let show = Arc::new(move |event: Served| match event {
        Served::Listens(address) => eprintln!("listening on {address}"),
        Served::Failed(peer, reason) => eprintln!("{peer}: {reason}"),
        Served::Load(peer, sent, received, seconds) if json => {
            let line = serde_json::json!({
                "client": peer, "sent_bytes": sent, "received_bytes": received, "seconds": seconds,
            });
            print::now(&format!("{line}\n"));
        }
        Served::Load(peer, sent, received, seconds) => {
            let (way, octets) = if sent > 0 { ("to", sent) } else { ("from", received) };
            let bytes = units::quantity(octets as f64, "B");
            print::now(&format!("{bytes} {way} {peer} in {seconds:.1} s\n"));
        }
    });
    match serve(options, stop, show) {
        Ok(()) => Ok(Exit::Interrupted),
        Err(wrong) => Err(Failure::refused(wrong.to_string())),
    }
}

/// The measurement by the options.
fn order(args: &ResponsivenessArgs, server: &str) -> Result<Order, Failure> {
    let url = location(server, args.port, args.no_tls)?;
    if !url.secure && (args.insecure || args.cacert.is_some()) {
        return Err(Failure::bad_input(
            "a server without TLS has no certificate: leave out -k and --cacert, or use https",
        ));
    }
    let directions = match (args.down, args.up, args.both) {
        (true, ..) => vec![Direction::FromServer],
        (_, true, _) => vec![Direction::ToServer],
        (.., true) => vec![Direction::Both],
        _ => vec![Direction::FromServer, Direction::ToServer],
    };
    Ok(Order {
        url,
        trust: match (&args.cacert, args.insecure) {
            (_, true) => Trust::Any,
            (Some(path), _) => Trust::Roots(path.clone()),
            _ => Trust::System,
        },
        version: match (args.http1, args.http2) {
            (true, _) => Some(Version::Http1),
            (_, true) => Some(Version::Http2),
            _ => None,
        },
        bind: args.bind,
        v6: (args.version4 || args.version6).then_some(args.version6),
        directions,
        parameters: parameters(args)?,
    })
}

/// A URL, or a host – with its port, if it has one – whose configuration is at the well-known place.
fn location(server: &str, port: Option<u16>, no_tls: bool) -> Result<Location, Failure> {
    if server.contains("://") {
        if port.is_some() || no_tls {
            return Err(Failure::bad_input(
                "-p and --no-tls go with a host: write the URL with its port, http:// or https://",
            ));
        }
        let mut url = Location::parse(server).map_err(Failure::bad_input)?;
        if url.path == "/" {
            WELL_KNOWN.clone_into(&mut url.path);
        }
        return Ok(url);
    }
    let is_v6 = server.matches(':').count() > 1 && !server.starts_with('[');
    let host = if is_v6 { format!("[{server}]") } else { server.to_owned() };
    if host.contains('/') {
        return Err(Failure::bad_input(format!(
            "'{server}' is no host; a URL begins with https:// or http://"
        )));
    }
    let port = port.map(|port| format!(":{port}")).unwrap_or_default();
    let scheme = if no_tls { "http" } else { "https" };
    let url = Location::parse(&format!("{scheme}://{host}{port}{WELL_KNOWN}"));
    url.map_err(|_| {
        Failure::bad_input(format!("'{server}' is no host, such as 10.0.0.1 or example.com:8443"))
    })
}

fn parameters(args: &ResponsivenessArgs) -> Result<Parameters, Failure> {
    let usual = if args.quick { Parameters::quick() } else { Parameters::default() };
    let seconds = |time: Option<Nanos>, usual: f64| time.map_or(usual, Nanos::as_secs_f64);
    let interval_s = seconds(args.interval, usual.interval_s);
    let time_s = seconds(args.time, usual.time_s);
    if !(0.1..=60.0).contains(&interval_s) {
        return Err(Failure::bad_input(format!("--interval: {interval_s} s is not between 100ms and 1m")));
    }
    if !(interval_s..=3600.0).contains(&time_s) {
        return Err(Failure::bad_input(format!(
            "--time: {time_s} s is not between an interval ({interval_s} s) and 1h"
        )));
    }
    Ok(Parameters {
        interval_s,
        time_s,
        initial_connections: args.connections.into(),
        most_connections: args.most_connections.max(args.connections).into(),
        probes_per_second: args.probes.into(),
        ..usual
    })
}

fn client(args: &ResponsivenessArgs, order: &Order, stop: &AtomicBool) -> Result<Exit, Failure> {
    let mut report = Report::default();
    let json = args.json;
    let mut show = |event: Event<'_>| {
        let lines = match event {
            _ if json => return,
            Event::Idle(report) => text::idle_lines(report),
            Event::Began(direction) => vec![text::interval_head(direction)],
            Event::Interval(interval) => vec![text::interval_line(interval)],
            Event::Ended(test) => text::summary_lines(test),
        };
        print::now(&(lines.join("\n") + "\n"));
    };
    let outcome = measure(order, stop, &mut report, &mut show);
    if json {
        let document = Document {
            schema: "eagre.responsiveness/1",
            version: env!("CARGO_PKG_VERSION"),
            parameters: &order.parameters,
            report: &report,
            error: outcome.as_ref().err().map(Wrong::to_string),
        };
        print::now(&(serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"));
    }
    match outcome {
        Ok(()) => Ok(judged(&report, args.at_least, json)),
        Err(Wrong::Interrupted) => Ok(Exit::Interrupted),
        Err(wrong) => Err(Failure::refused(wrong.to_string())),
    }
}

/// Whether the requested responsiveness is reached. A lower result is no verdict on the path if this host was the limit.
fn judged(report: &Report, at_least: Option<u32>, json: bool) -> Exit {
    if report.tests.iter().any(|test| test.latency.rpm.is_none()) {
        return Exit::NothingFound;
    }
    let Some(least) = at_least else { return Exit::Done };
    let short: Vec<_> =
        report.tests.iter().filter(|test| test.latency.rpm.is_some_and(|rpm| rpm < least.into())).collect();
    let Some(test) = short.first() else { return Exit::Done };
    if !json {
        eprintln!("less than {least} RPM {}", test.direction.name());
    }
    if short.iter().all(|test| test.limited_by.is_some()) { Exit::CannotJudge } else { Exit::Failed }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_stands_for_its_well_known_url() {
        let url = |server, port, no_tls| {
            location(server, port, no_tls).map(|url| url.url()).map_err(|bad| bad.text)
        };
        assert_eq!(url("a.example", None, false).unwrap(), "https://a.example/.well-known/nq");
        assert_eq!(url("10.0.0.1", Some(8080), true).unwrap(), "http://10.0.0.1:8080/.well-known/nq");
        assert_eq!(url("a.example:4043", None, false).unwrap(), "https://a.example:4043/.well-known/nq");
        assert_eq!(url("fd00::1", Some(4043), false).unwrap(), "https://[fd00::1]:4043/.well-known/nq");
        assert_eq!(
            url("https://a.example:4043/config", None, false).unwrap(),
            "https://a.example:4043/config"
        );
        assert_eq!(url("http://a.example", None, false).unwrap(), "http://a.example/.well-known/nq");
        for bad in ["a.example/config", "a:1:2:x", "", "ftp://a"] {
            assert!(url(bad, None, false).is_err(), "{bad}");
        }
        assert!(url("a:80", Some(81), false).is_err() && url("https://a", Some(81), false).is_err());
    }
}
