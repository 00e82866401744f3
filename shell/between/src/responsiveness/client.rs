//! The client: a server's configuration, latency without load, then a test for each direction.

use super::connect::{Opened, Peer, get, open};
use super::load::Load;
use super::probe::{Probes, foreign, launch_foreign, launch_loaded};
use super::{NOW_AND_THEN, Trust, runtime, trust};
use crate::{Wrong, reason};
use responsiveness::{
    Config, Course, Direction, Idle, Interval, Latency, Location, Parameters, Phase, Result as Outcome, Tally,
};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use serde::Serialize;
use std::cell::RefCell;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::LocalSet;
use tokio::time::{sleep, sleep_until};
use tokio_rustls::TlsConnector;

/// Number of probes without load.
const IDLE_PROBES: usize = 10;
/// Pause between two tests, for queues to empty.
const PAUSE: Duration = Duration::from_secs(1);
/// Share of this host's cores from which on they are the limit.
const BUSY: f64 = 0.9;
/// Probes that are later than this count as late, ms: timers have milliseconds.
const LATE_MS: f64 = 5.0;
/// Share of the latency that being late must have to be reported.
const LATE_SHARE: f64 = 0.1;

/// Versions of HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// HTTP/1.1.
    Http1,
    /// HTTP/2.
    Http2,
}

/// Parameters of a measurement.
#[derive(Debug, Clone)]
pub struct Order {
    /// URL of the server's configuration.
    pub url: Location,
    /// Trusted servers.
    pub trust: Trust,
    /// Version of HTTP; none for the one that the server chooses, and HTTP/1.1 without TLS.
    pub version: Option<Version>,
    /// Address to send from.
    pub bind: Option<IpAddr>,
    /// Addresses of this family only: true for IPv6.
    pub v6: Option<bool>,
    /// Tests, one after the other.
    pub directions: Vec<Direction>,
    /// Parameters of each test.
    pub parameters: Parameters,
}

/// Results so far.
#[derive(Debug, Default, Serialize)]
pub struct Report {
    /// URL of the configuration.
    pub server: String,
    /// Address that the tests used.
    pub address: Option<String>,
    /// `HTTP/2` or `HTTP/1.1`.
    pub protocol: Option<&'static str>,
    /// `TLS 1.3` or `TLS 1.2`. Absent without TLS.
    pub tls: Option<&'static str>,
    /// Latency without load.
    pub idle: Option<Idle>,
    /// The tests.
    pub tests: Vec<Outcome>,
}

/// Events for display.
#[derive(Debug)]
pub enum Event<'a> {
    /// The latency without load is known.
    Idle(&'a Report),
    /// A test begins.
    Began(Direction),
    /// An interval of a test is over.
    Interval(&'a Interval),
    /// A test is over.
    Ended(&'a Outcome),
}

type Show<'s> = &'s mut dyn FnMut(Event<'_>);

/// Where everything is.
struct Target {
    peer: Peer,
    config: Config,
    protocol: &'static str,
    tls: Option<&'static str>,
}

/// Makes the tests, and writes what is known into `report` as it becomes known.
///
/// # Errors
/// The server can't be reached, or has no configuration; a load failed; interrupted.
pub fn measure(order: &Order, stop: &AtomicBool, report: &mut Report, show: Show<'_>) -> Result<(), Wrong> {
    report.server = order.url.url();
    let local = LocalSet::new();
    let run = async {
        tokio::select! {
            outcome = tests(order, report, show) => outcome,
            () = stopped(stop) => Err(Wrong::Interrupted),
        }
    };
    runtime()?.block_on(local.run_until(run))
}

async fn stopped(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        sleep(NOW_AND_THEN).await;
    }
}

async fn tests(order: &Order, report: &mut Report, show: Show<'_>) -> Result<(), Wrong> {
    let target = find(order).await?;
    report.address = Some(target.peer.address.to_string());
    (report.protocol, report.tls) = (Some(target.protocol), target.tls);
    report.idle = Some(idle(&target, &order.parameters).await?);
    show(Event::Idle(report));
    for (number, direction) in order.directions.iter().enumerate() {
        if number > 0 {
            sleep(PAUSE).await;
        }
        show(Event::Began(*direction));
        let outcome = Test::new(&target, *direction, &order.parameters).run(show).await;
        show(Event::Ended(&outcome));
        let failure = outcome.failure.clone();
        report.tests.push(outcome);
        if let Some(failure) = failure {
            return Err(Wrong::Refused(failure));
        }
    }
    Ok(())
}

/// Gets the configuration, and finds out how the server talks.
async fn find(order: &Order) -> Result<Target, Wrong> {
    let config = if order.url.secure { Some(tls(order)?) } else { None };
    let peer = |address, at: &Location, config: Option<&Arc<ClientConfig>>| -> Result<Peer, Wrong> {
        let name = || {
            ServerName::try_from(at.host.clone())
                .map_err(|_| Wrong::Refused(format!("'{}' is no name for TLS", at.host)))
        };
        let tls = config.map(|config| Ok::<_, Wrong>((TlsConnector::from(Arc::clone(config)), name()?)));
        let http2 = order.version == Some(Version::Http2);
        Ok(Peer { address, bind: order.bind, tls: tls.transpose()?, http2 })
    };
    let mut first = None;
    let mut failure = String::new();
    for address in addresses(&order.url.host, order.url.port, order.v6)? {
        match open(&peer(address, &order.url, config.as_ref())?).await {
            Ok(opened) => {
                first = Some((address, opened));
                break;
            }
            Err(reason) => failure = reason,
        }
    }
    let (address, opened) = first.ok_or(Wrong::Refused(failure))?;
    let (found, protocol, tls_version) = configuration(order, opened).await?;
    let place = &found.large;
    let address = match &found.endpoint {
        Some((host, port)) => first_of(host, port.unwrap_or(place.port), order.v6)?,
        None if place.host == order.url.host && place.port == order.url.port => address,
        None => first_of(&place.host, place.port, order.v6)?,
    };
    let config = match (&config, place.secure) {
        (None, true) => Some(tls(order)?),
        (Some(_), false) => None,
        (config, _) => config.clone(),
    };
    let peer = peer(address, place, config.as_ref())?;
    // Its protocols are those of the tests if it is where the tests are; else the first probe shows them.
    let is_same = found.endpoint.is_none() && place.authority() == order.url.authority();
    let (protocol, tls) = if is_same { (protocol, tls_version) } else { protocols(&peer).await? };
    Ok(Target { peer, config: found, protocol, tls })
}

async fn protocols(peer: &Peer) -> Result<(&'static str, Option<&'static str>), Wrong> {
    let opened = open(peer).await.map_err(Wrong::Refused)?;
    Ok((protocol(&opened), opened.tls_version))
}

fn protocol(opened: &Opened) -> &'static str {
    if opened.http2 { "HTTP/2" } else { "HTTP/1.1" }
}

fn tls(order: &Order) -> Result<Arc<ClientConfig>, Wrong> {
    let protocols: &[&[u8]] = match order.version {
        None => &[b"h2", b"http/1.1"],
        Some(Version::Http2) => &[b"h2"],
        Some(Version::Http1) => &[b"http/1.1"],
    };
    trust::client(&order.trust, protocols)
}

async fn configuration(
    order: &Order,
    opened: Opened,
) -> Result<(Config, &'static str, Option<&'static str>), Wrong> {
    let (protocol, tls_version) = (protocol(&opened), opened.tls_version);
    let at = |reason: String| Wrong::Refused(format!("{}: {reason}", order.url.url()));
    let (status, body, _) = get(opened, &order.url).await.map_err(at)?;
    if status != 200 {
        return Err(at(format!("status {status}: is it a server of responsiveness tests?")));
    }
    let text = String::from_utf8_lossy(&body);
    let config =
        Config::read(&text).map_err(|reason| Wrong::Unexpected(format!("{}: {reason}", order.url.url())))?;
    Ok((config, protocol, tls_version))
}

fn addresses(host: &str, port: u16, v6: Option<bool>) -> Result<Vec<SocketAddr>, Wrong> {
    let all = (host, port)
        .to_socket_addrs()
        .map_err(|error| Wrong::Refused(format!("{host}: {}", reason(&error))))?;
    let all: Vec<SocketAddr> = all.filter(|one| v6.is_none_or(|v6| v6 == one.is_ipv6())).collect();
    let family = v6.map_or("", |v6| if v6 { " of IPv6" } else { " of IPv4" });
    if all.is_empty() { Err(Wrong::Refused(format!("{host}: no address{family}"))) } else { Ok(all) }
}

fn first_of(host: &str, port: u16, v6: Option<bool>) -> Result<SocketAddr, Wrong> {
    Ok(addresses(host, port, v6)?[0])
}

async fn idle(target: &Target, parameters: &Parameters) -> Result<Idle, Wrong> {
    let mut probes = Vec::new();
    for _ in 0..IDLE_PROBES {
        let probe = foreign(&target.peer, &target.config.small).await;
        probes.push(probe.map_err(|reason| Wrong::Refused(format!("without load: {reason}")))?);
    }
    let Latency { tcp_ms, tls_ms, http_ms, foreign_rpm, .. } = Latency::of(&probes, parameters.trimmed_mean);
    Ok(Idle { probes: probes.len(), tcp_ms, tls_ms, http_ms, rpm: foreign_rpm })
}

/// A test under way.
struct Test<'t> {
    target: &'t Target,
    direction: Direction,
    parameters: &'t Parameters,
    course: Course,
    loads: Vec<Load>,
    end: watch::Sender<bool>,
    probes: Rc<RefCell<Probes>>,
    /// Octets from the server and to it, at the end of the last interval.
    counted: (u64, u64),
    /// How late probes were sent, ms.
    late: Vec<f64>,
}

impl<'t> Test<'t> {
    fn new(target: &'t Target, direction: Direction, parameters: &'t Parameters) -> Self {
        Self {
            target,
            direction,
            parameters,
            course: Course::new(direction, parameters.clone()),
            loads: Vec::new(),
            end: watch::Sender::new(false),
            probes: Rc::default(),
            counted: (0, 0),
            late: Vec::new(),
        }
    }

    async fn run(mut self, show: Show<'_>) -> Outcome {
        let (began, worked) = (Instant::now(), os::cpu::process_time());
        let length = Duration::from_secs_f64(self.parameters.interval_s);
        let (mut begin, mut next_probe, mut number) = (began, began, 0);
        self.add(self.parameters.initial_connections);
        let mut failure = None;
        loop {
            let end = begin + length;
            while next_probe < end {
                sleep_until(next_probe.into()).await;
                self.late.push(Instant::now().saturating_duration_since(next_probe).as_secs_f64() * 1e3);
                self.probe(number);
                number += 1;
                let goodput = self.course.goodput_bps().unwrap_or_else(|| self.goodput_since(began));
                let gap = 0.5 / self.parameters.pairs_per_second(goodput);
                next_probe = (next_probe + Duration::from_secs_f64(gap)).max(Instant::now());
            }
            sleep_until(end.into()).await;
            let now = Instant::now();
            let phase = self.take(now.duration_since(begin).as_secs_f64());
            begin = now;
            self.course.last().into_iter().for_each(|interval| show(Event::Interval(interval)));
            failure = failure.or_else(|| self.loads.iter().find_map(Load::failure));
            let is_late = (now + length).duration_since(began).as_secs_f64() > self.parameters.time_s + 0.5;
            if phase == Phase::Done || failure.is_some() || is_late {
                break;
            }
            self.add(self.parameters.added_connections);
        }
        let busy = (os::cpu::process_time().0 - worked.0) as f64 / 1e9 / began.elapsed().as_secs_f64();
        self.end(busy, failure)
    }

    /// Adds connections in each direction, up to the most.
    fn add(&mut self, number: usize) {
        for upwards in [false, true] {
            let is_loaded = match self.direction {
                Direction::FromServer => !upwards,
                Direction::ToServer => upwards,
                Direction::Both => true,
            };
            let there = self.loads.iter().filter(|load| load.upwards == upwards).count();
            let room = self.parameters.most_connections.saturating_sub(there);
            for _ in 0..if is_loaded { number.min(room) } else { 0 } {
                let at = if upwards { &self.target.config.upload } else { &self.target.config.large };
                let load = Load::begin(self.target.peer.clone(), at.clone(), upwards, self.end.subscribe());
                self.loads.push(load);
            }
        }
    }

    /// Sends a probe: on a new connection and beside a load, in turn.
    fn probe(&self, number: u64) {
        let at = &self.target.config.small;
        if number.is_multiple_of(2) {
            launch_foreign(&self.probes, &self.target.peer, at);
            return;
        }
        let beside: Vec<_> = self.loads.iter().filter_map(Load::beside).collect();
        let chosen = os::entropy::bits() % beside.len().max(1) as u64;
        if let Some(beside) = beside.into_iter().nth(chosen as usize) {
            launch_loaded(&self.probes, at, beside);
        }
    }

    fn octets(&self) -> (u64, u64) {
        let of = |upwards| self.loads.iter().filter(|load| load.upwards == upwards).map(Load::octets).sum();
        (of(false), of(true))
    }

    fn goodput_since(&self, began: Instant) -> f64 {
        let (down, up) = self.octets();
        (down + up) as f64 * 8.0 / began.elapsed().as_secs_f64().max(0.1)
    }

    /// Takes an interval's counts.
    fn take(&mut self, seconds: f64) -> Phase {
        let octets = self.octets();
        let tally = Tally {
            seconds,
            from_server: octets.0 - self.counted.0,
            to_server: octets.1 - self.counted.1,
            connections: self.loads.len(),
            probes: std::mem::take(&mut self.probes.borrow_mut().ended),
        };
        self.counted = octets;
        self.course.interval(tally)
    }

    fn end(self, busy: f64, failure: Option<String>) -> Outcome {
        self.end.send_replace(true);
        self.loads.into_iter().for_each(Load::join);
        let probes = self.probes.borrow();
        let mut outcome = self.course.result();
        outcome.unfinished_probes = probes.foreign_open + probes.loaded_open;
        outcome.failed_probes = probes.failed;
        outcome.late_ms = percentile_95(self.late);
        outcome.limited_by = limit(&outcome, busy);
        outcome.failure = failure.map(|reason| format!("a load-generating connection failed: {reason}"));
        if outcome.latency.rpm.is_none() && outcome.failure.is_none() {
            outcome.failure =
                probes.last_failure.as_ref().map(|reason| format!("no probe was successful: {reason}"));
        }
        outcome
    }
}

fn percentile_95(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() * 95 / 100).or(values.last()).copied().unwrap_or(0.0)
}

/// This host, if it was the limit: `busy` is the number of cores that it used.
fn limit(outcome: &Outcome, busy: f64) -> Option<String> {
    let share = busy / os::cpu::of_process().len().max(1) as f64;
    if share >= BUSY {
        return Some(format!("the processor of this host ({} of its cores)", units::percent(share.min(1.0))));
    }
    let trip_ms = 60_000.0 / outcome.latency.foreign_rpm?;
    let late_ms = outcome.late_ms;
    (late_ms > LATE_MS && late_ms > LATE_SHARE * trip_ms)
        .then(|| format!("this host, which sent probes up to {late_ms:.0} ms late"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_probes_are_a_limit_only_if_they_matter() {
        let mut outcome = Course::new(Direction::FromServer, Parameters::default()).result();
        outcome.late_ms = 20.0;
        outcome.latency = Latency { foreign_rpm: Some(600.0), ..Latency::default() };
        assert!(limit(&outcome, 0.1).unwrap().contains("20 ms late"), "of 100 ms");
        outcome.latency.foreign_rpm = Some(60.0);
        assert_eq!(limit(&outcome, 0.1), None, "of a second");
        assert!(limit(&outcome, 1000.0).unwrap().contains("processor"));
    }

    #[test]
    fn the_latest_twentieth_is_left_out() {
        assert_eq!(percentile_95((1..=100).map(f64::from).collect()), 96.0);
        assert_eq!((percentile_95(vec![3.0]), percentile_95(vec![])), (3.0, 0.0));
    }
}
