//! Pings from the hosts behind a running trial's ports.
//!
//! Control keeps what is under way ([`neighbour::Ping`]); workers send the frames and hand over, with the instants of their
//! clock, what may be an answer. So a round trip is measured where frames leave and arrive, on any number of workers.
//!
//! Not here: pings before a trial's traffic begins or after its end.

use crate::trial::Trial;
use crate::watch::Watch;
use neighbour::{Echo, Outcome, Ping};
use profile::plan::{HostPlan, PortPlan};
use std::net::IpAddr;
use units::Nanos;

/// A ping somebody wants of a running trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PingOrder {
    /// By which its outcome is told.
    pub number: u64,
    /// Name of the port it is sent from.
    pub port: String,
    /// Name of the host behind the port that sends it; `None` is any.
    pub host: Option<String>,
    /// Which of the hosts' addresses it is sent from; `None` is one on the target's network, or else the first of its IP
    /// version.
    pub from: Option<IpAddr>,
    /// Who is to answer.
    pub to: IpAddr,
    /// Echo requests at most.
    pub attempts: u16,
    /// From one to the next.
    pub timeout: Nanos,
}

/// What came of a ping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinged {
    /// The order's.
    pub number: u64,
    /// The address it was sent from, if there was one.
    pub from: Option<IpAddr>,
    /// The neighbour it went through, if there was one.
    pub via: Option<IpAddr>,
    /// Echo requests sent.
    pub sent: u16,
    /// From departure to arrival on a worker's clock, or why there is no such time.
    pub round_trip: Result<Nanos, String>,
}

/// What workers are asked to do for pings.
#[derive(Debug, Clone)]
pub(crate) enum Errand {
    /// From now on, hand over what may be an answer, or not. For all workers.
    Overhear(bool),
    /// Send a frame. For the first worker, which has a queue of every port.
    Send {
        /// Index of the port.
        port: usize,
        frame: Vec<u8>,
        tag: Tag,
    },
}

/// Which ping a frame is of, and the sequence number of an echo request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tag {
    number: u64,
    sequence: Option<u16>,
}

/// What a worker hands over.
#[derive(Debug)]
pub(crate) enum Heard {
    /// A frame it was asked to send left.
    Left { tag: Tag, at: Nanos },
    /// A frame that may be an answer.
    Frame { port: usize, at: Nanos, frame: Vec<u8> },
}

impl Heard {
    fn at(&self) -> Nanos {
        match self {
            Self::Left { at, .. } | Self::Frame { at, .. } => *at,
        }
    }
}

/// One ping under way.
struct Active {
    number: u64,
    port: usize,
    /// Index of the host behind the port.
    host: usize,
    ping: Ping,
}

/// All pings of a trial.
pub(crate) struct Pings<'a> {
    trial: &'a Trial<'a>,
    active: Vec<Active>,
    /// Echo identifier of the next one.
    id: u16,
    /// Whether workers were asked to hand over answers.
    overhears: bool,
}

impl<'a> Pings<'a> {
    pub(crate) fn new(trial: &'a Trial<'a>) -> Self {
        // Apart from what a stream may number from 0 or 1 on, and the same for the same seed.
        Self { trial, active: Vec::new(), id: trial.mark as u16, overhears: false }
    }

    /// Takes in what workers heard and what somebody wants; returns what is to be done.
    pub(crate) fn turn(&mut self, now: Nanos, mut heard: Vec<Heard>, watch: &mut dyn Watch) -> Vec<Errand> {
        while let Some(order) = watch.ping() {
            match self.begun(&order) {
                Ok(active) => self.active.push(active),
                Err(reason) => watch.pinged(unsent(order.number, order.from, reason)),
            }
        }
        // Workers are asked one after the other, and an answer may come to another one than its request left.
        heard.sort_by_key(Heard::at);
        heard.iter().for_each(|heard| self.take(heard));
        let mut errands = Vec::new();
        for Active { number, port, host, ping } in &mut self.active {
            let host = self.trial.played.ports[*port].host(*host);
            if let Some(due) = ping.poll(now, host) {
                let tag = Tag { number: *number, sequence: due.sequence };
                errands.push(Errand::Send { port: *port, frame: due.frame, tag });
            }
        }
        self.active.retain(|active| {
            let Some(outcome) = active.ping.outcome() else { return true };
            watch.pinged(active.pinged(outcome));
            false
        });
        if self.overhears == self.active.is_empty() {
            self.overhears = !self.overhears;
            errands.insert(0, Errand::Overhear(self.overhears));
        }
        errands
    }

    /// When there is something to do that nobody else knows of.
    pub(crate) fn next_due(&self) -> Nanos {
        self.active.iter().map(|active| active.ping.next_due()).min().unwrap_or(Nanos::MAX)
    }

    /// The trial ends.
    pub(crate) fn end(self, watch: &mut dyn Watch) {
        let ended = "the run ended before there was an answer";
        for Active { number, ping, .. } in self.active {
            let pinged = unsent(number, Some(ping.echo().from), ended.to_owned());
            watch.pinged(Pinged { via: Some(ping.echo().hop), sent: ping.sent(), ..pinged });
        }
    }

    fn take(&mut self, heard: &Heard) {
        match heard {
            Heard::Left { tag, at } => {
                let ping = self.active.iter_mut().find(|active| active.number == tag.number);
                if let Some((active, sequence)) = ping.zip(tag.sequence) {
                    active.ping.departed(sequence, *at);
                }
            }
            Heard::Frame { port, at, frame } => {
                let hosts = &self.trial.played.ports[*port];
                let here = self.active.iter_mut().filter(|active| active.port == *port);
                here.for_each(|active| active.ping.take(*at, hosts.host(active.host), frame));
            }
        }
    }

    /// A ping as ordered, or why there is none.
    fn begun(&mut self, order: &PingOrder) -> Result<Active, String> {
        let ports = &self.trial.plan.ports;
        let found = ports.iter().position(|port| port.name == order.port);
        let port = found.ok_or_else(|| format!("there is no port '{}'", order.port))?;
        let (host, own, hop) = way(&ports[port], order)?;
        let neighbour =
            |(at, asker, ip, _): &&(usize, usize, IpAddr, _)| (*at, *asker, *ip) == (port, host, hop);
        let known = self.trial.known.iter().find(neighbour);
        self.id = self.id.wrapping_add(1);
        let echo = Echo {
            from: own,
            to: order.to,
            hop,
            mac: known.map(|(_, _, _, mac)| *mac),
            id: self.id,
            attempts: order.attempts,
            timeout: order.timeout,
        };
        Ok(Active { number: order.number, port, host, ping: Ping::new(echo) })
    }
}

impl Active {
    fn pinged(&self, outcome: Outcome) -> Pinged {
        let (echo, sent) = (self.ping.echo(), self.ping.sent());
        let waited = Nanos(echo.timeout.0.saturating_mul(echo.attempts.into()));
        let waited_s = waited.as_secs_f64();
        let asked = if echo.to.is_ipv4() { "ARP" } else { "neighbour discovery" };
        let round_trip = match outcome {
            Outcome::Answered { round_trip } => Ok(round_trip),
            Outcome::NoNeighbour => Err(format!("{} did not answer {asked} within {waited_s} s", echo.hop)),
            Outcome::Silent => {
                Err(format!("no answer to {sent} echo requests through {} within {waited_s} s", echo.hop))
            }
            Outcome::Spoilt => {
                Err("the echo replies had other data, or less, than the requests had".to_owned())
            }
        };
        Pinged { number: self.number, from: Some(echo.from), via: Some(echo.hop), sent, round_trip }
    }
}

/// Which host behind `port` sends a ping, by index, from which of its addresses, and through which neighbour.
fn way(port: &PortPlan, order: &PingOrder) -> Result<(usize, IpAddr, IpAddr), String> {
    let family = if order.to.is_ipv4() { "IPv4" } else { "IPv6" };
    let is_meant = |host: &HostPlan| order.host.as_ref().is_none_or(|name| host.name == *name);
    let whose = match &order.host {
        Some(name) if !port.hosts.iter().any(is_meant) => {
            return Err(format!("port '{}' has no host '{name}'", port.name));
        }
        Some(name) => format!("host '{name}' of port '{}'", port.name),
        None => format!("port '{}'", port.name),
    };
    let meant = port.hosts.iter().enumerate().filter(|(_, host)| is_meant(host));
    let mut own = meant
        .flat_map(|(number, host)| host.addresses.iter().map(move |own| (number, own)))
        .filter(|(_, own)| own.ip.is_ipv4() == order.to.is_ipv4());
    let (host, own) = match order.from {
        Some(from) => own
            .find(|(_, own)| own.ip == from)
            .ok_or_else(|| format!("{from} is no {family} address of {whose}"))?,
        None => {
            let on_link = own.clone().find(|(_, own)| own.on_link(order.to));
            on_link.or_else(|| own.next()).ok_or_else(|| format!("{whose} has no {family} address"))?
        }
    };
    let hop = if own.is_next_to(order.to) { Some(order.to) } else { port.hosts[host].gateway(own) };
    let hop = hop.ok_or_else(|| format!("{} is on no network of {whose}, which has no gateway", order.to))?;
    Ok((host, own.ip, hop))
}

fn unsent(number: u64, from: Option<IpAddr>, reason: String) -> Pinged {
    Pinged { number, from, via: None, sent: 0, round_trip: Err(reason) }
}
