//! `lab`: topologies brought up, tested and taken down; large configurations for devices elsewhere.

use crate::lab_compare::{CompareArgs, compare};
use crate::{Exit, Failure};
use clap::{Args, Subcommand};
use lab::{
    ChosenTest, Lab, LabError, LabStatus, Parameters, Place, Prefix, Syntax, Test, Topology, Watch, Way,
};
use serde_json::json;
use std::ffi::{OsStr, OsString};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
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
        #[command(flatten)]
        keep: KeepArgs,
        /// Arguments for the test, such as '--sizes 64B' or '--json -'; another method before them, such as 'mlrsearch'
        #[arg(last = true, value_name = "ARGUMENTS")]
        more: Vec<OsString>,
    },
    /// Test several topologies in the same way, and put the results side by side: devices by configurations
    Compare {
        #[command(flatten)]
        what: CompareArgs,
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
    /// Use AF_PACKET on the tester's interfaces, instead of AF_XDP, which is faster
    #[arg(long)]
    af_packet: bool,
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

/// What is kept of a test by a method.
#[derive(Args)]
pub(crate) struct KeepArgs {
    /// The report, one HTML file [default: eagre-lab-NAME.html]
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// The store [default: results.db under $XDG_DATA_HOME/eagre or ~/.local/share/eagre]
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
    /// As long as the method wants it, hours, instead of minutes
    #[arg(long)]
    pub(crate) full: bool,
}

impl KeepArgs {
    /// Arguments of `eagre bench` for a campaign of this name: a method if `more` begins with one, ours, then the rest of
    /// `more`, which may say otherwise.
    pub(crate) fn arguments(&self, name: &str, report: Option<&Path>, more: &[OsString]) -> Vec<OsString> {
        let dashed = |word: &OsString| word.to_string_lossy().starts_with('-');
        let (method, rest) = more.split_at(usize::from(more.first().is_some_and(|word| !dashed(word))));
        let said = |option: &str| {
            let with_value = format!("{option}=");
            rest.iter().any(|word| *word == *option || word.to_string_lossy().starts_with(&with_value))
        };
        let mut words = method.to_vec();
        let mut add = |option: &str, value: Option<&OsStr>| {
            if !said(option) {
                words.push(option.into());
                words.extend(value.map(OsStr::to_owned));
            }
        };
        if !self.full {
            add("--quick", None);
        }
        add("--name", Some(name.as_ref()));
        if let Some(report) = report {
            add("--report", Some(report.as_os_str()));
        }
        if let Some(store) = &self.store {
            add("--store", Some(store.as_os_str()));
        }
        words.extend_from_slice(rest);
        words
    }
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
        LabCommand::Run { what, test, keep, more } => run(&what, test.as_deref(), &keep, &more),
        LabCommand::Compare { what } => compare(&what),
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
        let chosen = lab::chosen_test(lab, Some(&test.name));
        let words = chosen.map(|chosen| words(&chosen, Path::new("eagre"), &to_type(&chosen)));
        json!({"name": test.name, "about": test.about, "command": words.unwrap_or_default()})
    });
    let processes = status.running.iter().map(|process| json!({"pid": process.pid, "name": process.name}));
    json!({
        "name": lab.name, "topology": lab.topology, "parameters": lab.parameters, "status": status.word(),
        "namespaces": status.namespaces, "processes": processes.collect::<Vec<_>>(),
        "tests": tests.collect::<Vec<_>>(),
    })
}

fn how_to_test(lab: &Lab) -> Result<String, Failure> {
    let program = std::env::current_exe().unwrap_or_else(|_| "eagre".into());
    let mut text = String::new();
    for test in &lab.tests {
        let chosen = lab::chosen_test(lab, Some(&test.name))?;
        let words = words(&chosen, &program, &to_type(&chosen)).join(" ");
        text += &format!("  {}: {}\n    {words}\n", test.name, test.about);
    }
    Ok(format!("lab {} is up; to test it:\n{text}  and when done: eagre lab down {}\n", lab.name, lab.name))
}

/// The words of a test's command, for people and documents.
fn words(test: &ChosenTest, program: &Path, more: &[OsString]) -> Vec<String> {
    test.words(program, more).iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// What to type behind a test's command.
fn to_type(test: &ChosenTest) -> Vec<OsString> {
    if matches!(test.test.way, Way::Method { .. }) { vec!["--quick".into()] } else { Vec::new() }
}

/// Says what is done, and stops when told to.
pub(crate) struct Progress {
    pub(crate) stop: Arc<AtomicBool>,
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
pub(crate) fn watched_for_interrupts() -> Result<Arc<AtomicBool>, Failure> {
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
            af_packet: self.af_packet,
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

fn run(what: &WhatArgs, test: Option<&str>, keep: &KeepArgs, more: &[OsString]) -> Result<Exit, Failure> {
    let (topology, parameters, place) = what.chosen()?;
    // Known before anything is made.
    let design = topology.design(&parameters, &place)?;
    let more = arguments(design.test(place.name(), test)?, place.name(), keep, more)?;
    let stop = watched_for_interrupts()?;
    let lab = what.up(&stop)?;
    let tested = lab::chosen_test(&lab, test)
        .map_err(Failure::from)
        .and_then(|test| carry_out(&test, &more, &stop, Stdio::inherit()));
    let down = lab::down(&place);
    let status = tested?;
    down?;
    Ok(exit_of(status))
}

/// What stands behind a test's command: of a method's, where its results go.
fn arguments(test: &Test, lab: &str, keep: &KeepArgs, more: &[OsString]) -> Result<Vec<OsString>, Failure> {
    if matches!(test.way, Way::Method { .. }) {
        let report = keep.report.clone().unwrap_or_else(|| format!("eagre-lab-{lab}.html").into());
        return Ok(keep.arguments(lab, Some(&report), more));
    }
    if keep.report.is_some() || keep.store.is_some() || keep.full {
        return Err(Failure::bad_input(format!(
            "test {} is no method of 'eagre bench': it has no --report, --store and --full",
            test.name
        )));
    }
    Ok(more.to_vec())
}

/// Carries out a lab's test, as a command of this very program inside the tester's namespace.
pub(crate) fn carry_out(
    test: &ChosenTest,
    more: &[OsString],
    stop: &AtomicBool,
    out: Stdio,
) -> Result<ExitStatus, Failure> {
    let binary =
        std::env::current_exe().map_err(|error| Failure::refused(format!("this program: {error}")))?;
    if stop.load(Ordering::Relaxed) {
        return Err(LabError::Interrupted.into());
    }
    eprintln!("  {}", words(test, Path::new("eagre"), more).join(" "));
    // It hears the terminal's Ctrl-C itself; other ends are passed on.
    let mut child = lab::test_command(test, &binary, more)
        .stdout(out)
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
pub(crate) fn exit_of(status: ExitStatus) -> Exit {
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
