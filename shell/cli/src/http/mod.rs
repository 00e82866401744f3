//! `eagre http`: loads a web server, without a profile and with addresses chosen automatically.
//!
//! Its options are translated to the profile that `--print` shows, which runs like any other.

mod place;
mod url;

use crate::args::RunArgs;
use crate::run::{Shown, of_options, on_ports};
use crate::text;
use crate::{Exit, Failure, words};
use clap::Args;
use profile::document::{Addresses, Ip, IpPrefix, MethodDoc, SessionRate, Share, session_rate};
use profile::{HttpOptions, HttpTls, HttpVersion};
use std::path::Path;
use units::Nanos;
use url::Url;

/// Files of trusted root certificates in common distributions.
const ROOTS: [&str; 3] =
    ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"];

/// Environment variable by which browsers and curl are given a file for secrets.
const KEY_LOG: &str = "SSLKEYLOGFILE";

/// Redirects in a row that --follow follows.
const REDIRECTS: u16 = 10;

#[derive(Args)]
pub(crate) struct HttpArgs {
    /// URL of the page: http://10.0.0.1:8080/path; '{1..1000}' in it is replaced by each number in turn
    #[arg(value_name = "URL")]
    url: Url,
    /// Number of concurrent connections
    #[arg(short, long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..))]
    connections: u64,
    /// HTTP/1.1 only [default: https negotiates HTTP/2 or HTTP/1.1 in the handshake, http is HTTP/1.1]
    #[arg(long = "http1.1", group = "version")]
    http1: bool,
    /// HTTP/2 only: https negotiates it in the handshake, http starts with it
    #[arg(long, group = "version")]
    h2: bool,
    /// HTTP/3, over QUIC: https only
    #[arg(long, group = "version")]
    h3: bool,
    /// Open the next connections by HTTP/3 where the server announces it (Alt-Svc): https only
    #[arg(long, conflicts_with = "version")]
    alt_svc: bool,
    /// Follow redirects to the same server; one that leads elsewhere counts as a failed request
    #[arg(short = 'L', long, visible_alias = "location")]
    follow: bool,
    /// Maximum number of redirects in a row; implies --follow [default: 10]
    #[arg(long, value_name = "N", visible_alias = "max-redirs", value_parser = clap::value_parser!(u16).range(1..=1_000))]
    max_redirects: Option<u16>,
    /// Keep the cookies that the server sets, on each connection, and send them
    #[arg(long)]
    cookies: bool,
    /// Number of concurrent requests on each connection of HTTP/2 or HTTP/3 [default: 1]
    #[arg(long, value_name = "N", conflicts_with = "http1", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    streams: Option<u16>,
    /// Total number of requests [default: until the duration ends]
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    /// Duration, as --duration [default: 10s, with --requests until all responses arrived]
    #[arg(short = 'z', value_name = "TIME", conflicts_with = "duration", value_parser = words::time)]
    time: Option<Nanos>,
    /// Requests per second, independent of the server: 1000, 10k/s. Response times count from when each request was due
    /// [default: each connection sends its next request after the response]
    #[arg(short, long, value_name = "RATE", value_parser = requests_per_s)]
    rate: Option<SessionRate>,
    /// Number of requests on a connection; 1 opens a connection for each [default: as many as the server accepts]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    per_connection: Option<u32>,
    /// Header field of the requests; 'Host: …' replaces the URL's host. May be repeated
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = field)]
    headers: Vec<(String, String)>,
    /// Method: GET, HEAD, POST, PUT, DELETE, OPTIONS or PATCH [default: GET, with --data POST]
    #[arg(short, long, value_parser = method)]
    method: Option<MethodDoc>,
    /// Body of the requests; '@FILE' reads it from a file
    #[arg(short, long, value_name = "TEXT|@FILE")]
    data: Option<String>,
    /// Timeout for the next byte of a response [default: 30s]
    #[arg(long, value_name = "TIME", value_parser = words::time)]
    timeout: Option<Nanos>,
    /// Accept any certificate
    #[arg(short = 'k', long)]
    insecure: bool,
    /// File of the root certificates to trust (PEM) [default: the system's]
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    cacert: Option<String>,
    /// File to append the secrets of connections to, with which Wireshark decrypts a capture [default: that of the
    /// environment variable SSLKEYLOGFILE, if there is one]
    #[arg(long, value_name = "FILE")]
    key_log: Option<String>,
    /// Port to send from [default: the interface of the route to the server, by AF_PACKET]
    #[arg(long, value_name = "DEVICE")]
    port: Option<String>,
    /// Address of the clients, with prefix length [default: the highest unused one on the interface's network]
    #[arg(long, value_name = "ADDRESS/LEN")]
    ip: Option<IpPrefix>,
    /// Router to the server [default: from the route]
    #[arg(long, value_name = "ADDRESS")]
    gateway: Option<Ip>,
    /// Addresses of many clients: 10.0.0.100..10.0.0.199, or a network that is routed to this port
    #[arg(long, value_name = "ADDRESSES")]
    source: Option<Addresses>,
    /// Fail (exit code 1) if the 99th percentile of the response times is longer; with --rate measured from when
    /// requests were due
    #[arg(long, value_name = "TIME", value_parser = words::time)]
    max_p99: Option<Nanos>,
    /// Fail (exit code 1) if a larger share of requests fails: no complete response, or status 4xx or 5xx
    #[arg(long, value_name = "PERCENT", default_value = "50%")]
    max_failed: Share,
    /// Allow the interface with the default route
    #[arg(long)]
    allow_default_route: bool,
}

pub(crate) fn http(args: &HttpArgs, print: bool, run: &RunArgs) -> Result<Exit, Failure> {
    if args.connections.min(args.requests.unwrap_or(u64::MAX)) < u64::from(run.cores) {
        return Err(Failure::bad_input(format!(
            "--cores {}: each worker needs its own connections and requests; give more --connections, or fewer cores",
            run.cores
        )));
    }
    let options = options(args, print, run)?;
    let text = options.document().to_yaml();
    if print {
        print!("{text}");
        return Ok(Exit::Done);
    }
    let plan = of_options("http", &text, None, run)?;
    on_ports(&text, Shown::run("http"), plan, run)
}

fn options(args: &HttpArgs, print: bool, run: &RunArgs) -> Result<HttpOptions, Failure> {
    let url = &args.url;
    if args.h3 && !url.is_secure {
        return Err(Failure::bad_input(
            "--h3: HTTP/3 is always encrypted; write https:// instead of http://",
        ));
    }
    if !url.is_secure && (args.alt_svc || args.streams.is_some() && !args.h2) {
        let (option, instead) =
            if args.alt_svc { ("--alt-svc", "") } else { ("--streams", ", or give --h2, too") };
        return Err(Failure::bad_input(format!(
            "{option}: http:// is HTTP/1.1, one request at a time; write https://{instead}"
        )));
    }
    if args.cacert.is_some() && !url.is_secure {
        return Err(Failure::bad_input(
            "--cacert: a server of http:// has no certificate to verify; write https://, or leave it out",
        ));
    }
    if args.key_log.is_some() && !url.is_secure {
        return Err(Failure::bad_input(
            "--key-log: http:// has no secrets to write; write https://, or leave it out",
        ));
    }
    if args.timeout == Some(Nanos::ZERO) {
        return Err(Failure::bad_input(
            "--timeout: must be longer than 0; leave it out for 30 s, or give a long time for none",
        ));
    }
    let servers = url.addresses().map_err(Failure::bad_input)?;
    let body = args.data.as_deref().map(body).transpose()?;
    let (hosts, headers): (Vec<_>, Vec<_>) =
        args.headers.iter().cloned().partition(|(name, _)| name.eq_ignore_ascii_case("host"));
    let host = hosts.into_iter().next().map_or_else(|| url.authority(), |(_, value)| value);
    let tls = url.is_secure.then(|| tls(args, &host, print)).transpose()?;
    let place = place::find(args, &servers, print)?;
    Ok(HttpOptions {
        port: place.port,
        ip: place.ip,
        gateway: place.gateway,
        mac: place.mac,
        allow_default_route: args.allow_default_route,
        source: args.source.clone(),
        server: (place.server, url.port),
        tls,
        host,
        path: url.path.clone(),
        method: args.method.or(body.is_some().then_some(MethodDoc::Post)),
        headers,
        body,
        version: match (args.http1, args.h2, args.h3) {
            (_, _, true) => Some(HttpVersion::Three),
            (_, true, _) => Some(HttpVersion::Two),
            (false, ..) if url.is_secure => Some(HttpVersion::Auto),
            _ => None,
        },
        alt_svc: args.alt_svc,
        redirects: args.max_redirects.or(args.follow.then_some(REDIRECTS)),
        cookies: args.cookies,
        streams: args.streams,
        connections: args.connections,
        per_connection: args.per_connection,
        requests: args.requests,
        rate: args.rate.clone(),
        duration: args.time.or(run.duration),
        timeout: args.timeout,
        max_p99: args.max_p99,
        max_failed: args.max_failed.clone(),
    })
}

/// TLS settings; the certificate must match the Host field. `print`: only for a profile.
fn tls(args: &HttpArgs, host: &str, print: bool) -> Result<HttpTls, Failure> {
    let roots = match (&args.cacert, args.insecure) {
        (_, true) => None,
        (Some(file), false) => Some(file.clone()),
        (None, false) => {
            let found = ROOTS.into_iter().find(|file| Path::new(file).exists());
            Some(found.map(str::to_owned).ok_or_else(|| {
                Failure::bad_input(format!(
                    "https: no root certificates at {}: name a file of them with --cacert, or take any certificate with -k",
                    ROOTS.join(", ")
                ))
            })?)
        }
    };
    let name = format!("https://{host}/").parse::<Url>().map_err(Failure::bad_input)?.host;
    // A profile that is printed is for other places, too.
    let by_environment = || std::env::var(KEY_LOG).ok().filter(|_| !print);
    let key_log = args.key_log.clone().or_else(by_environment);
    Ok(HttpTls { server_name: name, roots, key_log: key_log.filter(|file| !file.is_empty()) })
}

/// The text, or the content of the file after an '@'.
fn body(data: &str) -> Result<String, Failure> {
    match data.strip_prefix('@') {
        None => Ok(data.to_owned()),
        Some(file) => text::read(Path::new(file)).map_err(|error| {
            Failure::bad_input(format!("--data: {file}: {error}; a body is a text in UTF-8"))
        }),
    }
}

fn requests_per_s(text: &str) -> Result<SessionRate, String> {
    let with_unit = if text.ends_with("/s") { text.to_owned() } else { format!("{text}/s") };
    session_rate(&with_unit)
        .filter(|rate| rate.micro() > 0)
        .map(SessionRate)
        .ok_or_else(|| "a number of requests per second such as 1000, 10k or 1.5M/s".to_owned())
}

fn field(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or_else(|| format!("'{text}' is not 'Name: value'"))?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

fn method(text: &str) -> Result<MethodDoc, String> {
    match text.to_ascii_uppercase().as_str() {
        "GET" => Ok(MethodDoc::Get),
        "HEAD" => Ok(MethodDoc::Head),
        "POST" => Ok(MethodDoc::Post),
        "PUT" => Ok(MethodDoc::Put),
        "DELETE" => Ok(MethodDoc::Delete),
        "OPTIONS" => Ok(MethodDoc::Options),
        "PATCH" => Ok(MethodDoc::Patch),
        _ => Err("use GET, HEAD, POST, PUT, DELETE, OPTIONS or PATCH".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_need_no_unit() {
        for (text, per_s) in [("1000", 1_000), ("10k", 10_000), ("2/s", 2), ("1.5M/s", 1_500_000)] {
            assert_eq!(requests_per_s(text).map(|rate| rate.0.micro()), Ok(per_s * 1_000_000), "{text}");
        }
        assert!(["0", "", "fast", "1pps"].iter().all(|text| requests_per_s(text).is_err()));
    }

    #[test]
    fn fields_have_a_name_and_a_value() {
        assert_eq!(field("X-A:b: c"), Ok(("X-A".to_owned(), "b: c".to_owned())));
        assert!(field("X-A").is_err());
    }
}
