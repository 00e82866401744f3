//! `eagre fleet`: a NATS server of this machine for agents on others, their credentials, and what is there.

use crate::nats::joined;
use crate::output::print_json;
use crate::results::default_store;
use crate::table::aligned;
use crate::{Exit, Failure, words};
use clap::{Args as ClapArgs, Subcommand};
use serde::Serialize;
use server::{AgentCard, BrokerFacts, Fleet, FleetError, JOIN_VARIABLE, Join, LocalBroker, NatsAccess};
use std::net::SocketAddr;
use std::path::PathBuf;
use units::Nanos;

/// The agent that a new fleet has.
const FIRST_AGENT: &str = "a1";
/// In place of ports that are not known.
const PORTS: &str = "PORTS";

/// Subcommands of `eagre fleet`.
#[derive(Subcommand)]
pub(crate) enum FleetCommand {
    /// Start a NATS server with TLS, and print the line to run on another machine
    Up {
        /// Agents to make credentials for [default: a1 in a new fleet]
        names: Vec<String>,
        #[command(flatten)]
        place: Place,
        /// Address to listen on [default: 0.0.0.0:4222, or as before]
        #[arg(long, value_name = "ADDRESS:PORT", value_parser = words::address)]
        listen: Option<SocketAddr>,
        /// Name or address by which other machines reach this one; several are in the certificate, the first is in lines
        /// [default: the address of the default route]
        #[arg(long, value_name = "HOST", value_delimiter = ',')]
        address: Vec<String>,
        #[command(flatten)]
        lent: Lent,
        /// Stay in the foreground, as the server: for systemd and containers
        #[arg(long)]
        foreground: bool,
    },
    /// Show agents with their ports, versions and clocks, leases, and active runs
    Status {
        #[command(flatten)]
        place: Place,
        /// File with a controller's credentials, of a server on another machine [default: of this machine's fleet]
        #[arg(long, value_name = "FILE")]
        join: Option<PathBuf>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Make credentials of agents, and print the line to run on each one's machine
    Add {
        /// Agents: at most 32 letters, digits, '-' or '_'
        #[arg(required = true)]
        names: Vec<String>,
        #[command(flatten)]
        place: Place,
        #[command(flatten)]
        lent: Lent,
    },
    /// Withdraw credentials of agents: the server ends their connections, and they stop
    Remove {
        /// Agents
        #[arg(required = true)]
        names: Vec<String>,
        #[command(flatten)]
        place: Place,
    },
    /// Stop the NATS server; keys and certificates stay
    Down {
        #[command(flatten)]
        place: Place,
    },
}

/// Where a fleet's files are.
#[derive(ClapArgs)]
pub(crate) struct Place {
    /// Directory for keys, certificates and the server's log [default: 'fleet' next to the results store]
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Program of the NATS server [default: nats-server, as it is installed]
    #[arg(long, value_name = "FILE")]
    nats_server: Option<PathBuf>,
}

impl Place {
    fn broker(&self) -> Result<LocalBroker, Failure> {
        let folder = self.state.clone().unwrap_or_else(|| default_store().with_file_name("fleet"));
        LocalBroker::new(&folder, self.nats_server.as_deref()).map_err(failure)
    }

    /// One that was up before.
    fn made(&self) -> Result<LocalBroker, Failure> {
        let broker = self.broker()?;
        if !broker.is_made().map_err(failure)? {
            return Err(Failure::refused("fleet: there is none on this machine; start one: eagre fleet up"));
        }
        Ok(broker)
    }
}

/// Ports that an agent is to lend.
#[derive(ClapArgs)]
pub(crate) struct Lent {
    /// Ports for the printed line [default: PORTS, to be replaced there]
    #[arg(long, value_name = "PORT", value_delimiter = ',')]
    ports: Vec<String>,
}

impl Lent {
    /// The command for another machine.
    fn line(&self, join: &Join) -> String {
        let ports = if self.ports.is_empty() { PORTS.to_owned() } else { self.ports.join(",") };
        format!("{JOIN_VARIABLE}='{}' eagre agent --ports {ports}", join.line())
    }
}

fn failure(error: FleetError) -> Failure {
    match error {
        FleetError::BadInput(reason) => Failure::bad_input(format!("fleet: {reason}")),
        FleetError::Refused(reason) => Failure::refused(format!("fleet: {reason}")),
    }
}

/// `eagre fleet`.
pub(crate) fn fleet(command: &FleetCommand) -> Result<Exit, Failure> {
    match command {
        FleetCommand::Up { names, place, listen, address, lent, foreground } => {
            let broker = place.broker()?;
            up(&broker, names, *listen, address, lent, *foreground)
        }
        FleetCommand::Status { place, join, json } => {
            let status = match join {
                Some(file) => Status::read(None, joined(file)?)?,
                None => {
                    let broker = place.made()?;
                    let facts = broker.facts().map_err(failure)?;
                    let mut status = Status::read(Some(facts), joined(&broker.controller_file())?)?;
                    status.add_absent(broker.agents().map_err(failure)?);
                    status
                }
            };
            if *json { print_json(&status) } else { Ok(status.print()) }
        }
        FleetCommand::Add { names, place, lent } => {
            let broker = place.made()?;
            for join in broker.add(names).map_err(failure)? {
                println!("{}", lent.line(&join));
            }
            Ok(Exit::Done)
        }
        FleetCommand::Remove { names, place } => {
            let broker = place.made()?;
            broker.remove(names).map_err(failure)?;
            for name in names {
                println!("eagre: the credentials of agent '{name}' are withdrawn");
            }
            Ok(Exit::Done)
        }
        FleetCommand::Down { place } => {
            let stopped = place.broker()?.stop().map_err(failure)?;
            println!(
                "eagre: {}",
                if stopped { "nats-server has stopped" } else { "nats-server did not run" }
            );
            Ok(Exit::Done)
        }
    }
}

fn up(
    broker: &LocalBroker,
    names: &[String],
    listen: Option<SocketAddr>,
    addresses: &[String],
    lent: &Lent,
    foreground: bool,
) -> Result<Exit, Failure> {
    // Nothing is made where it could not be started.
    let version = broker.version().map_err(failure)?;
    broker.prepare(listen, addresses).map_err(failure)?;
    let known = broker.agents().map_err(failure)?;
    let names =
        if names.is_empty() && known.is_empty() { vec![FIRST_AGENT.to_owned()] } else { names.to_vec() };
    let joins = broker.add(&names).map_err(failure)?;
    if !foreground {
        broker.start().map_err(failure)?;
    }
    let controller = joined(&broker.controller_file())?;
    let process = broker.process().map_or_else(String::new, |process| format!(", process {process}"));
    println!(
        "eagre: nats-server {version} at {}{process}; log: {}",
        controller.url(),
        broker.log_file().display()
    );
    println!("eagre: on this machine: eagre serve --join {}", broker.controller_file().display());
    for join in &joins {
        println!("eagre: on the machine of agent '{}':", join.name);
        println!("{}", lent.line(join));
    }
    if joins.is_empty() {
        println!("eagre: agents: {}; for the line of one: eagre fleet add NAME", known.join(", "));
    }
    if foreground {
        crate::print::flush()?;
        return Err(failure(broker.become_server()));
    }
    Ok(Exit::Done)
}

/// A fleet, as a controller sees it.
#[derive(Serialize)]
struct Status {
    nats: NatsStatus,
    agents: Vec<AgentStatus>,
    leases: Vec<LeaseStatus>,
}

#[derive(Serialize)]
struct NatsStatus {
    url: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    process: Option<u32>,
}

#[derive(Serialize)]
struct AgentStatus {
    name: String,
    connected: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cores: Option<usize>,
    ports: Vec<PortStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock: Option<ClockStatus>,
    runs: Vec<RunStatus>,
}

#[derive(Serialize)]
struct PortStatus {
    name: String,
    up: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    speed_bps: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<String>,
}

/// An agent's clock, compared with this machine's.
#[derive(Serialize)]
struct ClockStatus {
    source: String,
    method: &'static str,
    offset_ns: i64,
    uncertainty_ns: u64,
}

#[derive(Serialize)]
struct RunStatus {
    ports: Vec<String>,
    cores: Vec<usize>,
    active_s: u64,
}

#[derive(Serialize)]
struct LeaseStatus {
    port: String,
    holder: String,
    controller: String,
}

impl Status {
    fn read(facts: Option<BrokerFacts>, join: Join) -> Result<Self, Failure> {
        let url = join.url();
        let access = NatsAccess { url: url.clone(), join: Some(join), ..NatsAccess::default() };
        let fleet = Fleet::connect(&access, &format!("status-{}", std::process::id())).map_err(failure)?;
        let agents = fleet.agents().into_iter().map(|card| AgentStatus::new(&fleet, card)).collect();
        let leases = fleet.leases().map_err(|reason| Failure::refused(format!("fleet: {reason}")))?;
        let leases = leases.into_iter().map(|lease| LeaseStatus {
            port: lease.port.to_string(),
            holder: lease.holder,
            controller: lease.controller,
        });
        let (version, process) = facts.map(|facts| (facts.version, facts.process)).unzip();
        Ok(Self { nats: NatsStatus { url, version, process }, agents, leases: leases.collect() })
    }

    /// Adds agents that have credentials and are not connected.
    fn add_absent(&mut self, known: Vec<String>) {
        for name in known {
            if !self.agents.iter().any(|agent| agent.name == name) {
                self.agents.push(AgentStatus::absent(name));
            }
        }
        self.agents.sort_by(|one, other| one.name.cmp(&other.name));
    }

    fn print(&self) -> Exit {
        let process = self.nats.process.map_or_else(String::new, |process| format!(", process {process}"));
        let version = self.nats.version.as_deref().map_or_else(String::new, |version| format!(" {version}"));
        println!("nats-server{version} at {}{process}\n", self.nats.url);
        let head = ["agent", "version", "cores", "clock", "runs", "ports"];
        print!("{}", aligned(6, &head, self.agents.iter().map(AgentStatus::row).collect()));
        if !self.leases.is_empty() {
            println!();
            let row = |lease: &LeaseStatus| {
                vec![lease.port.clone(), lease.holder.clone(), lease.controller.clone()]
            };
            print!(
                "{}",
                aligned(3, &["lease", "holder", "controller"], self.leases.iter().map(row).collect())
            );
        }
        Exit::Done
    }
}

impl AgentStatus {
    fn new(fleet: &Fleet, card: AgentCard) -> Self {
        let compared = fleet.compare(&card.name).ok();
        let clock = compared.map(|compared| ClockStatus {
            source: card.clock.source,
            method: compared.method,
            offset_ns: compared.offset_ns,
            uncertainty_ns: compared.uncertainty_ns,
        });
        let port = |port: server::AgentPort| PortStatus {
            name: port.name,
            up: port.up,
            speed_bps: port.speed_bps,
            driver: port.driver,
        };
        let run =
            |run: server::CardRun| RunStatus { ports: run.ports, cores: run.cores, active_s: run.active_s };
        Self {
            name: card.name,
            connected: true,
            version: Some(card.version),
            cores: Some(card.cores),
            ports: card.ports.into_iter().map(port).collect(),
            clock,
            runs: card.runs.into_iter().map(run).collect(),
        }
    }

    fn absent(name: String) -> Self {
        let (ports, runs) = (Vec::new(), Vec::new());
        Self { name, connected: false, version: None, cores: None, ports, clock: None, runs }
    }

    fn row(&self) -> Vec<String> {
        let ports = self.ports.iter().map(|port| match (port.up, port.speed_bps) {
            (false, _) => format!("{} (down)", port.name),
            (true, Some(bps)) => format!("{} ({})", port.name, units::quantity(bps as f64, "bps")),
            (true, None) => port.name.clone(),
        });
        let runs = self.runs.iter().map(|run| run.ports.join(","));
        let none = |text: String| if text.is_empty() { "-".to_owned() } else { text };
        vec![
            self.name.clone(),
            self.version.clone().unwrap_or_else(|| "-".to_owned()),
            self.cores.map_or_else(|| "-".to_owned(), |cores| cores.to_string()),
            self.clock.as_ref().map_or_else(|| "not connected".to_owned(), ClockStatus::text),
            none(runs.collect::<Vec<_>>().join("; ")),
            none(ports.collect::<Vec<_>>().join(", ")),
        ]
    }
}

impl ClockStatus {
    fn text(&self) -> String {
        if self.method == "shared" {
            return format!("{}, shared", self.source);
        }
        let sign = if self.offset_ns < 0 { "-" } else { "+" };
        let offset = Nanos(self.offset_ns.unsigned_abs());
        format!("{}, {sign}{offset} ±{} ({})", self.source, Nanos(self.uncertainty_ns), self.method)
    }
}
