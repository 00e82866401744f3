//! Pings from the hosts behind a running trial's ports.
//!
//! Control keeps pending pings ([`neighbour::Ping`]); workers send the frames and pass on possible replies, with the
//! instants of their clock. So a round trip is measured where frames leave and arrive, on any number of workers.
//!
//! Not here: pings before a trial's traffic begins or after its end.

use super::commands::{Command, PingCommand, PingReply, Reply, Request};
use crate::emulation::Emulation;
use crate::trial::{KnownNeighbour, Trial};
use crate::worker::commands::{HostEvent, PingTag, WorkerCommand};
use neighbour::Mac;
use neighbour::{Echo, Host, Hosts, Outcome, Ping};
use profile::plan::{Address, ClientAddress, ClientsBy, HostPlan, PortPlan};
use std::net::IpAddr;
use units::Nanos;

/// One ping under way.
struct Active {
    number: u64,
    port: usize,
    host: Sender,
    ping: Ping,
    request: Request,
}

/// The host that sends a ping.
enum Sender {
    /// Index of the host behind the port.
    Configured(usize),
    /// A client, with the address that it has got.
    Client(Box<Host>),
}

impl Sender {
    /// The host, of those behind the port.
    fn host<'h>(&'h self, hosts: &'h Hosts) -> &'h Host {
        match self {
            Self::Configured(index) => hosts.host(*index),
            Self::Client(host) => host,
        }
    }
}

/// All pings of a trial.
pub(crate) struct Pings<'a> {
    trial: &'a Trial<'a>,
    active: Vec<Active>,
    /// Those begun so far.
    begun: u64,
    /// Whether workers pass on replies.
    overhears: bool,
    /// Whether they do so anyway: control runs hosts.
    always: bool,
}

impl<'a> Pings<'a> {
    /// With `always`, workers hand over frames also while there are no pings.
    pub(crate) fn new(trial: &'a Trial<'a>, always: bool) -> Self {
        Self { trial, active: Vec::new(), begun: 0, overhears: false, always }
    }

    /// Begins a ping, or refuses it. `known`: the trial's neighbours now; `emulation` has the addresses of clients.
    pub(crate) fn request(&mut self, request: Request, known: &[KnownNeighbour], emulation: &Emulation) {
        let Command::Ping(command) = &request.command else { return };
        if !request.is_awaited() {
            return;
        }
        match self.route(command, known, emulation) {
            Ok((port, host, echo)) => {
                self.begun += 1;
                let ping = Ping::new(echo);
                self.active.push(Active { number: self.begun, port, host, ping, request });
            }
            Err(reason) => request.conclude(Err(reason)),
        }
    }

    /// Takes in what workers handed over; returns the commands for them. Answers pings that are over.
    pub(crate) fn turn(&mut self, now: Nanos, mut events: Vec<HostEvent>) -> Vec<WorkerCommand> {
        // Workers are asked one after the other, and an answer may come to another one than its request left.
        events.sort_by_key(HostEvent::at);
        events.iter().for_each(|event| self.take(event));
        let mut commands = Vec::new();
        for Active { number, port, host, ping, .. } in &mut self.active {
            let host = host.host(&self.trial.hosts.ports[*port]);
            if let Some(due) = ping.poll(now, host) {
                let tag = Some(PingTag { number: *number, sequence: due.sequence });
                commands.push(WorkerCommand::SendFrames { port: *port, frames: [due.frame].into(), tag });
            }
        }
        let over = self.active.extract_if(.., |active| active.ping.outcome().is_some());
        over.for_each(Active::conclude);
        if self.overhears != (self.always || !self.active.is_empty()) {
            self.overhears = !self.overhears;
            commands.insert(0, WorkerCommand::Overhear(self.overhears));
        }
        commands
    }

    /// When there is something to do that workers don't know of.
    pub(crate) fn next_due(&self) -> Nanos {
        self.active.iter().map(|active| active.ping.next_due()).min().unwrap_or(Nanos::MAX)
    }

    /// Ends those under way with the trial.
    pub(crate) fn end(self) {
        let ended = "the run ended before a reply arrived";
        self.active.into_iter().for_each(|active| active.answer(Err(ended.to_owned())));
    }

    fn take(&mut self, event: &HostEvent) {
        match event {
            HostEvent::Sent { tag, at } => {
                let ping = self.active.iter_mut().find(|active| active.number == tag.number);
                if let Some((active, sequence)) = ping.zip(tag.sequence) {
                    active.ping.departed(sequence, *at);
                }
            }
            HostEvent::Received { port, at, frame } => {
                let hosts = &self.trial.hosts.ports[*port];
                let here = self.active.iter_mut().filter(|active| active.port == *port);
                here.for_each(|active| active.ping.take(*at, active.host.host(hosts), frame));
            }
            HostEvent::Claimed { .. } | HostEvent::Surveyed { .. } => {}
        }
    }

    /// The port, the host behind it and the echo a command means, with neighbours and addresses as they are now; or why there is none.
    fn route(
        &self,
        command: &PingCommand,
        known: &[KnownNeighbour],
        emulation: &Emulation,
    ) -> Result<(usize, Sender, Echo), String> {
        let ports = &self.trial.plan.ports;
        let found = ports.iter().position(|port| port.name == command.port);
        let port = found.ok_or_else(|| format!("there is no port '{}'", command.port))?;
        let way = match client_way(&ports[port], command, || emulation.leases_of(port))? {
            Some(way) => way,
            None => {
                let (host, from, hop) = first_hop(&ports[port], command)?;
                let is_it = |known: &&KnownNeighbour| (known.port, known.host, known.ip) == (port, host, hop);
                let mac = known.iter().find(is_it).map(|known| known.mac);
                Way { host: Sender::Configured(host), from, hop, mac, session: None }
            }
        };
        let Way { host, from, hop, mac, session } = way;
        // Apart from what a stream may number from 0 or 1 on, and the same for the same seed.
        let id = (random::key(self.trial.plan.seed) as u16).wrapping_add(1).wrapping_add(self.begun as u16);
        let (to, attempts, timeout) = (command.to, command.attempts, command.timeout);
        Ok((port, host, Echo { from, to, hop, mac, session, id, attempts, timeout }))
    }
}

/// The way of a ping.
struct Way {
    host: Sender,
    from: IpAddr,
    hop: IpAddr,
    mac: Option<Mac>,
    session: Option<u16>,
}

/// The way from a client behind `port` that sends a ping; `None` if a host of the profile does.
fn client_way(
    port: &PortPlan,
    command: &PingCommand,
    leases: impl FnOnce() -> Vec<ClientAddress>,
) -> Result<Option<Way>, String> {
    if !port.has_clients() {
        return Ok(None);
    }
    let is_kin = |ip: &IpAddr| ip.is_ipv4() == command.to.is_ipv4();
    let own =
        port.hosts.iter().filter(|host| !ClientsBy::is_name(&host.name)).flat_map(|host| &host.addresses);
    let mut own = own.map(|own| own.ip).filter(is_kin);
    let is_configured = match (&command.host, command.from) {
        (Some(name), _) => !ClientsBy::is_name(name),
        (None, Some(from)) => own.any(|ip| ip == from),
        (None, None) => own.next().is_some(),
    };
    if is_configured {
        return Ok(None);
    }
    let is_meant = |lease: &ClientAddress| {
        let by = if lease.session.is_some() { ClientsBy::Session } else { ClientsBy::Lease };
        let is_named = |name: &String| *name == by.key() || *name == by.name(lease.client);
        is_kin(&lease.address.ip)
            && command.host.as_ref().is_none_or(is_named)
            && command.from.is_none_or(|from| from == lease.address.ip)
    };
    let Some(lease) = leases().into_iter().find(is_meant) else {
        let whose = match (&command.host, command.from) {
            (Some(name), None) => format!("client '{name}' of port '{}' has no", port.name),
            (Some(name), Some(from)) => {
                format!("{from} is not of client '{name}' of port '{}': it has no such", port.name)
            }
            (None, Some(from)) => {
                format!("{from} is of no host or client of port '{}', which has no such", port.name)
            }
            (None, None) => format!("port '{}' has no host, and no client, with an", port.name),
        };
        let family = if command.to.is_ipv4() { "IPv4" } else { "IPv6" };
        return Err(format!("{whose} {family} address"));
    };
    let network = lease.address.network();
    let host = Host {
        mac: lease.mac,
        vlans: lease.vlans.as_ref().unwrap_or(&port.own().vlans).clone(),
        addresses: vec![lease.address.ip],
        networks: vec![network.0..=network.1],
        answers_for: Vec::new(),
    };
    let (host, from) = (Sender::Client(Box::new(host)), lease.address.ip);
    if let Some(link) = lease.session {
        let hop = if link.peer.is_unspecified() { command.to } else { link.peer.into() };
        return Ok(Some(Way { host, from, hop, mac: Some(link.ac), session: Some(link.number) }));
    }
    let hop = if lease.address.is_next_to(command.to) { Some(command.to) } else { lease.router };
    let hop = hop.ok_or_else(|| {
        let Address { ip, prefix_len } = lease.address;
        format!("{} is not on the network of {ip}/{prefix_len}, and its lease names no router", command.to)
    })?;
    Ok(Some(Way { host, from, hop, mac: None, session: None }))
}

impl Active {
    fn answer(self, round_trip: Result<Nanos, String>) {
        let echo = self.ping.echo();
        let reply = PingReply { from: echo.from, via: echo.hop, sent: self.ping.sent(), round_trip };
        self.request.answer(Ok(Reply::Ping(reply)));
    }

    /// Answers a ping that is over.
    fn conclude(self) {
        let (echo, sent) = (self.ping.echo(), self.ping.sent());
        let waited_s = Nanos(echo.timeout.0.saturating_mul(echo.attempts.into())).as_secs_f64();
        let protocol = if echo.to.is_ipv4() { "ARP" } else { "neighbour discovery" };
        let round_trip = match self.ping.outcome() {
            Some(Outcome::Answered { round_trip }) => Ok(round_trip),
            Some(Outcome::NoNeighbour) => {
                Err(format!("{} did not reply to {protocol} within {waited_s} s", echo.hop))
            }
            Some(Outcome::Silent) => {
                Err(format!("no reply to {sent} echo requests through {} within {waited_s} s", echo.hop))
            }
            Some(Outcome::Spoilt) => {
                Err("the echo replies did not carry the data of the requests".to_owned())
            }
            None => return,
        };
        self.answer(round_trip);
    }
}

/// The host behind `port` that sends a ping, by index, its source address and the next hop.
fn first_hop(port: &PortPlan, command: &PingCommand) -> Result<(usize, IpAddr, IpAddr), String> {
    let family = if command.to.is_ipv4() { "IPv4" } else { "IPv6" };
    let is_meant = |host: &HostPlan| command.host.as_ref().is_none_or(|name| host.name == *name);
    let whose = match &command.host {
        Some(name) if !port.hosts.iter().any(is_meant) => {
            return Err(format!("port '{}' has no host '{name}'", port.name));
        }
        Some(name) => format!("host '{name}' of port '{}'", port.name),
        None => format!("port '{}'", port.name),
    };
    let meant = port.hosts.iter().enumerate().filter(|(_, host)| is_meant(host));
    let mut own = meant
        .flat_map(|(number, host)| host.addresses.iter().map(move |own| (number, own)))
        .filter(|(_, own)| own.ip.is_ipv4() == command.to.is_ipv4());
    let (host, own) = match command.from {
        Some(from) => own
            .find(|(_, own)| own.ip == from)
            .ok_or_else(|| format!("{from} is no {family} address of {whose}"))?,
        None => {
            let on_link = own.clone().find(|(_, own)| own.on_link(command.to));
            on_link.or_else(|| own.next()).ok_or_else(|| format!("{whose} has no {family} address"))?
        }
    };
    let hop = if own.is_next_to(command.to) { Some(command.to) } else { port.hosts[host].gateway(own) };
    let hop =
        hop.ok_or_else(|| format!("{} is on no network of {whose}, which has no gateway", command.to))?;
    Ok((host, own.ip, hop))
}
