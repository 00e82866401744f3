//! `lab`: topologies brought up, tested and taken down; large configurations for devices elsewhere.

use crate::{Exit, Failure};
use clap::{Args, Subcommand};
use lab::{Lab, LabError, LabStatus, Parameters, Place, Prefix, Syntax, Topology, Watch};
use serde_json::json;
use std::ffi::OsString;
use std::net::IpAddr;
use std::process::ExitStatus;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use units::{FrameLen, Load, Nanos};

/// What to do with a lab.
#[derive(Subcommand)]
pub(crate) enum LabCommand {
    /// List the topologies
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Bring a topology up, and say how to test it
    Up {
        #[command(flatten)]
        what: WhatArgs,
    },
    /// List the labs that are up
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Bring a topology up, test it, and take it down
    Run {
        #[command(flatten)]
        what: WhatArgs,
        /// Which of its tests; the first unless given
        #[arg(long, value_name = "TEST")]
        test: Option<String>,
        /// Arguments for the test, such as '--rate 100kpps' or '--json -'
        #[arg(last = true, value_name = "ARGUMENTS")]
        more: Vec<OsString>,
    },
    /// Take labs down, also what a killed run has left behind
    Down {
        /// Names of the labs
        #[arg(required_unless_present = "all")]
        names: Vec<String>,
        /// All labs
        #[arg(long, conflicts_with = "names")]
        all: bool,
    },
    /// Print a large configuration for a device
    Generate {
        #[command(subcommand)]
        what: Generate,
    },
}

/// Which lab.
#[derive(Args)]
pub(crate) struct WhatArgs {
    /// The topology; 'eagre lab list' has them all
    topology: String,
    /// Name of the lab, to have one beside another; the topology's unless given
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Routes of the kernel router
    #[arg(long, value_name = "N")]
    routes: Option<u32>,
    /// Rules of the router or switch; the last ones match the traffic
    #[arg(long, value_name = "N")]
    rules: Option<u32>,
    /// Routers of 'chain' and 'parallel'
    #[arg(long, value_name = "N")]
    routers: Option<u32>,
    /// Flows through 'firewall-nat'
    #[arg(long, value_name = "N")]
    flows: Option<u32>,
    /// Use AF_XDP on the tester's interfaces, instead of AF_PACKET
    #[arg(long)]
    xdp: bool,
    /// Frame length in the profiles, with FCS
    #[arg(long, value_name = "BYTES")]
    size: Option<FrameLen>,
    /// Rate of each stream in the profiles
    #[arg(long, value_name = "RATE", default_value = "20kpps")]
    rate: Load,
    /// How long the profiles send
    #[arg(long, value_name = "TIME", default_value = "10s")]
    duration: Nanos,
}

/// A large configuration.
#[derive(Subcommand)]
pub(crate) enum Generate {
    /// A routing table
    Routes {
        /// How many routes: 262144, 1000000
        #[arg(long, value_name = "N")]
        count: u32,
        /// What for: ip-batch, frr, bird, vpp, ovs, cisco, junos
        #[arg(long, value_name = "SYNTAX")]
        syntax: Syntax,
        /// The first network; the others follow it without gaps
        #[arg(long, value_name = "NETWORK", default_value = "16.0.0.0/24")]
        first: Prefix,
        /// Next hop; with several the routes take turns
        #[arg(long, value_name = "ADDRESS", required = true)]
        via: Vec<IpAddr>,
        /// Interface of the next hops (ip-batch)
        #[arg(long, value_name = "NAME")]
        interface: Option<String>,
        /// Port the packets leave by (ovs)
        #[arg(long, value_name = "PORT", default_value = "2")]
        port: String,
        /// Hardware address of the next hop (ovs)
        #[arg(long, value_name = "MAC")]
        dst_mac: Option<String>,
        /// Hardware address packets come from (ovs)
        #[arg(long, value_name = "MAC")]
        src_mac: Option<String>,
    },
    /// An access list whose last rules let the traffic through
    Rules {
        /// How many rules, those for the traffic among them
        #[arg(long, value_name = "N")]
        count: u32,
        /// What for: nftables, vpp, ovs, cisco, junos
        #[arg(long, value_name = "SYNTAX")]
        syntax: Syntax,
        /// Traffic to let through: '10.0.0.0/24 -> 10.0.1.0/24'; may be given several times
        #[arg(long, value_name = "FROM -> TO", required = true, value_parser = traffic)]
        permit: Vec<(Prefix, Prefix)>,
        /// Source of the first rule that does not match; the others follow it
        #[arg(long, value_name = "NETWORK")]
        first: Option<Prefix>,
        /// Name of the list
        #[arg(long, value_name = "NAME", default_value = "eagre")]
        name: String,
    },
}

fn traffic(text: &str) -> Result<(Prefix, Prefix), String> {
    let (from, to) = text.split_once("->").ok_or("write '10.0.0.0/24 -> 10.0.1.0/24'")?;
    let prefix = |text: &str| text.trim().parse::<Prefix>().map_err(|error| error.to_string());
    Ok((prefix(from)?, prefix(to)?))
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        let exit = if error.is_bad_input() { Exit::BadInput } else { Exit::Refused };
        Self { exit, text: error.to_string() }
    }
}

/// `eagre lab …`.
pub(crate) fn lab(command: LabCommand) -> Result<Exit, Failure> {
    match command {
        LabCommand::List { json } => list(json),
        LabCommand::Status { json } => status(json),
        LabCommand::Up { what } => {
            let lab = what.up(&watched_for_interrupts()?)?;
            print!("{}", how_to_test(&lab)?);
            Ok(Exit::Done)
        }
        LabCommand::Run { what, test, more } => run(&what, test.as_deref(), &more),
        LabCommand::Down { names, all } => down(names, all),
        LabCommand::Generate { what } => {
            let text = generate(what).map_err(|error| Failure::bad_input(error.to_string()))?;
            use std::io::Write;
            std::io::stdout()
                .write_all(text.as_bytes())
                .map_err(|error| Failure::refused(error.to_string()))?;
            Ok(Exit::Done)
        }
    }
}

fn list(as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        let rows = Topology::all().map(|topology| {
            let options: serde_json::Map<_, _> =
                topology.options().into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
            json!({"name": topology.name(), "about": topology.about(), "options": options})
        });
        println!("{:#}", rows.collect::<serde_json::Value>());
        return Ok(Exit::Done);
    }
    for topology in Topology::all() {
        let options = topology.options().into_iter().map(|(name, value)| format!(" --{name} {value}"));
        println!(
            "  {:<22}{}{}",
            topology.name(),
            topology.about(),
            in_brackets(&options.collect::<String>())
        );
    }
    println!(
        "\n'eagre lab run NAME' brings one up, tests it and takes it down; numbers above can be changed"
    );
    Ok(Exit::Done)
}

fn in_brackets(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" ({})", text.trim()) }
}

fn status(as_json: bool) -> Result<Exit, Failure> {
    let labs = lab::labs();
    if as_json {
        println!("{:#}", labs.iter().map(status_json).collect::<serde_json::Value>());
        return Ok(Exit::Done);
    }
    if labs.is_empty() {
        println!("no lab is up; 'eagre lab list' lists what can be");
    }
    for status in &labs {
        let lab = &status.lab;
        let of = format!("{} {}", lab.topology, lab.parameters);
        println!("{}: {} ({})", lab.name, status.word(), of.trim());
        println!("  namespaces {}", status.namespaces.join(" "));
        if !status.running.is_empty() {
            let processes =
                status.running.iter().map(|process| format!("{} ({})", process.name, process.pid));
            println!("  processes {}", processes.collect::<Vec<_>>().join(" "));
        }
        if status.word() == "up" {
            print!("{}", how_to_test(lab)?);
        }
    }
    Ok(Exit::Done)
}

fn status_json(status: &LabStatus) -> serde_json::Value {
    let lab = &status.lab;
    let tests = lab.tests.iter().map(|test| {
        let words =
            lab::chosen_test(lab, Some(&test.name)).map(|test| test.words("eagre")).unwrap_or_default();
        json!({"name": test.name, "about": test.about, "command": words})
    });
    let processes = status.running.iter().map(|process| json!({"pid": process.pid, "name": process.name}));
    json!({
        "name": lab.name, "topology": lab.topology, "parameters": lab.parameters, "status": status.word(),
        "namespaces": status.namespaces, "processes": processes.collect::<Vec<_>>(),
        "tests": tests.collect::<Vec<_>>(),
    })
}

fn how_to_test(lab: &Lab) -> Result<String, Failure> {
    let program =
        std::env::current_exe().map_or_else(|_| "eagre".to_owned(), |path| path.display().to_string());
    let mut text = String::new();
    for test in &lab.tests {
        let words = lab::chosen_test(lab, Some(&test.name))?.words(&program);
        text += &format!("  {}: {}\n    {}\n", test.name, test.about, words.join(" "));
    }
    Ok(format!("lab {} is up; to test it:\n{text}  and when done: eagre lab down {}\n", lab.name, lab.name))
}

/// Says what is done, and stops when told to.
struct Progress {
    stop: Arc<AtomicBool>,
}

impl Watch for Progress {
    fn step(&mut self, what: &str) {
        eprintln!("  {what}");
    }

    fn cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// Set by Ctrl-C or a polite end from outside.
fn watched_for_interrupts() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::refused(format!("signals can't be caught: {error}")))?;
    Ok(stop)
}

impl WhatArgs {
    fn chosen(&self) -> Result<(Topology, Parameters, Place), LabError> {
        let topology = Topology::by_name(&self.topology)?;
        let place = Place::named(self.name.as_deref().unwrap_or(topology.name()))?;
        let parameters = Parameters {
            routes: self.routes,
            rules: self.rules,
            routers: self.routers,
            flows: self.flows,
            xdp: self.xdp,
            size: self.size,
            rate: self.rate,
            duration: self.duration,
        };
        Ok((topology, parameters, place))
    }

    fn up(&self, stop: &Arc<AtomicBool>) -> Result<Lab, LabError> {
        let (topology, parameters, place) = self.chosen()?;
        lab::up(topology, &parameters, &place, &mut Progress { stop: stop.clone() })
    }
}

fn run(what: &WhatArgs, test: Option<&str>, more: &[OsString]) -> Result<Exit, Failure> {
    let (topology, parameters, place) = what.chosen()?;
    // Known before anything is made.
    topology.design(&parameters, &place)?.test(place.name(), test)?;
    let stop = watched_for_interrupts()?;
    let lab = what.up(&stop)?;
    let tested = carry_out(&lab, test, more, &stop);
    let down = lab::down(&place);
    let status = tested?;
    down?;
    Ok(exit_of(status))
}

/// Carries out a lab's test, as a command of this very program inside the tester's namespace.
fn carry_out(
    lab: &Lab,
    test: Option<&str>,
    more: &[OsString],
    stop: &AtomicBool,
) -> Result<ExitStatus, Failure> {
    let test = lab::chosen_test(lab, test)?;
    let binary =
        std::env::current_exe().map_err(|error| Failure::refused(format!("this program: {error}")))?;
    if stop.load(Ordering::Relaxed) {
        return Err(LabError::Interrupted.into());
    }
    eprintln!("  {}", test.words("eagre").join(" "));
    // It hears the terminal's Ctrl-C itself; other ends are passed on.
    let mut child = lab::test_command(&test, &binary, more)
        .spawn()
        .map_err(|error| Failure::refused(format!("ip netns exec: {error}")))?;
    let started = lab::Started::of(child.id());
    let mut asked = false;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(Failure::refused(format!("the test: {error}"))),
        }
        if !asked && stop.load(Ordering::Relaxed) {
            asked = true;
            started.iter().for_each(lab::Started::ask_to_end);
        }
    }
}

/// The test's exit code where it is one of ours.
fn exit_of(status: ExitStatus) -> Exit {
    match status.code() {
        Some(0) => Exit::Done,
        Some(2) => Exit::BadInput,
        Some(3) => Exit::Refused,
        _ => Exit::Failed,
    }
}

fn down(names: Vec<String>, all: bool) -> Result<Exit, Failure> {
    let names = if all { lab::labs().into_iter().map(|status| status.lab.name).collect() } else { names };
    let mut failures = Vec::new();
    for name in names {
        match Place::named(&name).and_then(|place| lab::down(&place)) {
            Ok(removed) => {
                let (spaces, processes) = (removed.namespaces.len(), removed.processes.len());
                println!("lab {name} is down: {spaces} namespaces and {processes} processes removed");
                for other in removed.others {
                    eprintln!("eagre: {} ({}) still runs in a namespace of it", other.name, other.pid);
                }
            }
            Err(error) => failures.push(error),
        }
    }
    match failures.into_iter().next() {
        Some(first) => Err(first.into()),
        None => Ok(Exit::Done),
    }
}

fn generate(what: Generate) -> Result<String, lab::GenerateError> {
    match what {
        Generate::Routes { count, syntax, first, via, interface, port, dst_mac, src_mac } => {
            let hop = lab::Hop { port, src_mac, dst_mac };
            lab::routes(count, syntax, &lab::RouteOptions { first, via, interface, hop })
        }
        Generate::Rules { count, syntax, permit, first, name } => {
            let mut options = lab::RuleOptions::permitting(permit);
            options.first = first.unwrap_or(options.first);
            options.name = name;
            lab::rules(count, syntax, &options)
        }
    }
}
