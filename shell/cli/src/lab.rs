//! `lab`: brings topologies up, tests them and takes them down; generates large device configurations.

use crate::lab_compare::{CompareArgs, compare};
use crate::output::print_json;
use crate::{Exit, Failure, table, words};
use clap::{Args, Subcommand};
use lab::{
    ChosenTest, Lab, LabError, LabPaths, LabProcess, LabStatus, Parameters, Prefix, Syntax, Test,
    TestCommand, Topology,
};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::net::IpAddr;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use units::{FrameLen, Load, Nanos};

/// Subcommands of `eagre lab`.
#[derive(Subcommand)]
pub(crate) enum LabCommand {
    /// List the topologies
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Bring a topology up and print the commands that test it
    Up {
        #[command(flatten)]
        lab: LabArgs,
    },
    /// List running labs
    Status {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Bring a topology up, test it, and take it down
    Run {
        #[command(flatten)]
        lab: LabArgs,
        /// Test to run [default: the topology's first]
        #[arg(long, value_name = "TEST")]
        test: Option<String>,
        #[command(flatten)]
        output: OutputArgs,
        /// Arguments of the test, such as '--sizes 64B'; a method can precede them, such as 'mlrsearch'
        #[arg(last = true, value_name = "ARGUMENTS")]
        more: Vec<OsString>,
    },
    /// Run the same test on several topologies and compare the results: devices by configurations
    Compare {
        #[command(flatten)]
        compare: CompareArgs,
    },
    /// Take labs down, including leftovers of a killed run
    Down {
        /// Lab names
        #[arg(required_unless_present = "all")]
        names: Vec<String>,
        /// All labs
        #[arg(long, conflicts_with = "names")]
        all: bool,
    },
    /// Print a large device configuration
    Generate {
        #[command(subcommand)]
        config: Generate,
    },
}

fn topologies() -> Vec<&'static str> {
    Topology::all().map(Topology::name).collect()
}

/// Options of a lab.
#[derive(Args)]
pub(crate) struct LabArgs {
    /// Topology; 'eagre lab list' lists them
    #[arg(value_parser = words::Named(topologies), hide_possible_values = true)]
    topology: String,
    /// Name of the lab, to run several at once [default: the topology's name]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Number of routes of the kernel router
    #[arg(long, value_name = "N")]
    routes: Option<u32>,
    /// Number of rules of the router or switch; the last ones match the traffic
    #[arg(long, value_name = "N")]
    rules: Option<u32>,
    /// Number of routers of 'chain' and 'parallel'
    #[arg(long, value_name = "N")]
    routers: Option<u32>,
    /// Number of flows through 'firewall-nat'
    #[arg(long, value_name = "N")]
    flows: Option<u32>,
    /// Cores of the device, such as '0,2-3'; the tester has the others [default: all but one]
    #[arg(long, value_name = "CORES", value_parser = cores)]
    dut_cores: Option<Cores>,
    /// Command that starts the device of 'own', in its namespace; run by sh
    #[arg(long, value_name = "COMMAND")]
    dut_command: Option<String>,
    /// Name of the device in tables of results [default: the topology's name]
    #[arg(long, value_name = "NAME")]
    dut_name: Option<String>,
    /// Use AF_PACKET instead of the faster AF_XDP on the tester's interfaces
    #[arg(long)]
    af_packet: bool,
    /// Frame length of the profiles, with FCS
    #[arg(long, value_name = "BYTES", value_parser = words::frame_len)]
    size: Option<FrameLen>,
    /// Rate of each stream of the profiles
    #[arg(long, value_name = "RATE", default_value = "20kpps")]
    rate: Load,
    /// Duration of the profiles
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = words::time)]
    duration: Nanos,
}

/// Numbers of cores, ascending.
#[derive(Debug, Clone)]
pub(crate) struct Cores(pub(crate) Vec<usize>);

/// Reads a list of cores.
pub(crate) fn cores(text: &str) -> Result<Cores, String> {
    let list = os::cpu::parse_list(text).ok_or("expected a list of cores, such as '1', '2-3' or '0,2-3'")?;
    Ok(Cores(list.into_iter().collect::<BTreeSet<_>>().into_iter().collect()))
}

/// Output options of a test method.
#[derive(Args)]
pub(crate) struct OutputArgs {
    /// HTML report [default: eagre-lab-NAME.html]
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Results store [default: results.db under $XDG_DATA_HOME/eagre or ~/.local/share/eagre]
    #[arg(long, value_name = "FILE")]
    pub(crate) store: Option<PathBuf>,
    /// Run the method's full form (hours) instead of its quick form (minutes)
    #[arg(long)]
    pub(crate) full: bool,
}

impl OutputArgs {
    /// Arguments of `eagre bench` for a campaign of this name: the method if `more` starts with one, the defaults, then
    /// the rest of `more`, which overrides them.
    pub(crate) fn arguments(&self, name: &str, report: Option<&Path>, more: &[OsString]) -> Vec<OsString> {
        let dashed = |word: &OsString| word.to_string_lossy().starts_with('-');
        let (method, rest) = more.split_at(usize::from(more.first().is_some_and(|word| !dashed(word))));
        let given = |option: &str| {
            let with_value = format!("{option}=");
            rest.iter().any(|word| *word == *option || word.to_string_lossy().starts_with(&with_value))
        };
        let mut words = method.to_vec();
        let mut add = |option: &str, value: Option<&OsStr>| {
            if !given(option) {
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

/// Configurations that `eagre lab generate` prints.
#[derive(Subcommand)]
pub(crate) enum Generate {
    /// A routing table
    Routes {
        /// Number of routes
        #[arg(long, value_name = "N")]
        count: u32,
        /// Output syntax: ip-batch, frr, bird, vpp, ovs, cisco, junos, procurve, comware, pfsense
        #[arg(long, value_name = "SYNTAX")]
        syntax: Syntax,
        /// First prefix; the others follow without gaps
        #[arg(long, value_name = "NETWORK", default_value = "16.0.0.0/24")]
        first: Prefix,
        /// Next hop; repeat it to assign routes round-robin
        #[arg(long, value_name = "ADDRESS", required = true)]
        via: Vec<IpAddr>,
        /// Interface of the next hops (ip-batch, pfsense)
        #[arg(long, value_name = "NAME")]
        interface: Option<String>,
        /// Output port (ovs)
        #[arg(long, value_name = "PORT", default_value = "2")]
        port: String,
        /// Destination MAC address (ovs)
        #[arg(long, value_name = "MAC")]
        dst_mac: Option<String>,
        /// Source MAC address (ovs)
        #[arg(long, value_name = "MAC")]
        src_mac: Option<String>,
    },
    /// An access list whose last rules permit the traffic
    Rules {
        /// Number of rules, including those that permit the traffic
        #[arg(long, value_name = "N")]
        count: u32,
        /// Output syntax: nftables, vpp, ovs, cisco, junos, procurve, comware, pfsense
        #[arg(long, value_name = "SYNTAX")]
        syntax: Syntax,
        /// Traffic to permit: '10.0.0.0/24 -> 10.0.1.0/24'; can be repeated
        #[arg(long, value_name = "FROM -> TO", required = true, value_parser = traffic)]
        permit: Vec<(Prefix, Prefix)>,
        /// Source prefix of the first rule that does not match; the others follow
        #[arg(long, value_name = "NETWORK")]
        first: Option<Prefix>,
        /// Name of the access list
        #[arg(long, value_name = "NAME", default_value = "eagre")]
        name: String,
        /// Interface of the rules (pfsense)
        #[arg(long, value_name = "NAME")]
        interface: Option<String>,
    },
}

fn traffic(text: &str) -> Result<(Prefix, Prefix), String> {
    let (from, to) =
        text.split_once("->").ok_or("expected FROM -> TO, such as '10.0.0.0/24 -> 10.0.1.0/24'")?;
    let prefix = |text: &str| text.trim().parse::<Prefix>().map_err(|error| error.to_string());
    Ok((prefix(from)?, prefix(to)?))
}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        let exit = match &error {
            LabError::Interrupted => Exit::Interrupted,
            error if error.is_bad_input() => Exit::BadInput,
            _ => Exit::Refused,
        };
        Self { exit, text: error.to_string() }
    }
}

/// `eagre lab …`.
pub(crate) fn lab(command: LabCommand) -> Result<Exit, Failure> {
    match command {
        LabCommand::List { json } => list(json),
        LabCommand::Status { json } => status(json),
        LabCommand::Up { lab } => {
            let lab = lab.up(&watched_for_interrupts()?)?;
            print!("{}", how_to_test(&lab)?);
            Ok(Exit::Done)
        }
        LabCommand::Run { lab, test, output, more } => run(&lab, test.as_deref(), &output, &more),
        LabCommand::Compare { compare: args } => compare(&args),
        LabCommand::Down { names, all } => down(names, all),
        LabCommand::Generate { config } => {
            let text = generate(config).map_err(|error| Failure::bad_input(error.to_string()))?;
            print!("{text}");
            Ok(Exit::Done)
        }
    }
}

fn list(as_json: bool) -> Result<Exit, Failure> {
    if as_json {
        let rows = Topology::all().map(|topology| TopologyDocument {
            name: topology.name(),
            about: topology.about(),
            options: topology.options().into_iter().collect(),
        });
        return print_json(&rows.collect::<Vec<_>>());
    }
    let rows = Topology::all().map(|topology| {
        let options = topology.options().into_iter().map(|(name, value)| format!(" --{name} {value}"));
        let about = format!("{}{}", topology.about(), in_brackets(&options.collect::<String>()));
        vec![topology.name().to_owned(), about]
    });
    print!("{}", table::list(rows.collect()));
    println!(
        "\n'eagre lab run NAME' brings a topology up, tests it and takes it down; values in brackets are defaults"
    );
    Ok(Exit::Done)
}

fn in_brackets(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!(" ({})", text.trim()) }
}

fn status(as_json: bool) -> Result<Exit, Failure> {
    let labs = lab::labs();
    if as_json {
        return print_json(&labs.iter().map(StatusDocument::new).collect::<Vec<_>>());
    }
    if labs.is_empty() {
        println!("no lab is running; 'eagre lab list' lists the topologies");
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

/// An entry of `lab list --json`.
#[derive(Serialize)]
struct TopologyDocument {
    name: &'static str,
    about: &'static str,
    options: BTreeMap<&'static str, u32>,
}

/// An entry of `lab status --json`.
#[derive(Serialize)]
struct StatusDocument<'a> {
    name: &'a str,
    topology: &'a str,
    parameters: &'a str,
    status: &'static str,
    namespaces: &'a [String],
    processes: Vec<ProcessDocument<'a>>,
    tests: Vec<TestDocument<'a>>,
}

#[derive(Serialize)]
struct ProcessDocument<'a> {
    pid: u32,
    name: &'a str,
}

#[derive(Serialize)]
struct TestDocument<'a> {
    name: &'a str,
    about: &'a str,
    command: Vec<String>,
}

impl<'a> StatusDocument<'a> {
    fn new(status: &'a LabStatus) -> Self {
        let lab = &status.lab;
        let tests = lab.tests.iter().map(|test| {
            let chosen = lab::chosen_test(lab, Some(&test.name));
            let command = chosen.map(|chosen| words(&chosen, Path::new("eagre"), &extra_arguments(&chosen)));
            TestDocument { name: &test.name, about: &test.about, command: command.unwrap_or_default() }
        });
        let process = |process: &'a LabProcess| ProcessDocument { pid: process.pid, name: &process.name };
        Self {
            name: &lab.name,
            topology: &lab.topology,
            parameters: &lab.parameters,
            status: status.word(),
            namespaces: &status.namespaces,
            processes: status.running.iter().map(process).collect(),
            tests: tests.collect(),
        }
    }
}

fn how_to_test(lab: &Lab) -> Result<String, Failure> {
    let program = std::env::current_exe().unwrap_or_else(|_| "eagre".into());
    let mut text = String::new();
    for test in &lab.tests {
        let chosen = lab::chosen_test(lab, Some(&test.name))?;
        let words = typed(&words(&chosen, &program, &extra_arguments(&chosen)));
        text += &format!("  {}: {}\n    {words}\n", test.name, test.about);
    }
    Ok(format!("lab {} is up; to test it:\n{text}  to take it down: eagre lab down {}\n", lab.name, lab.name))
}

/// The arguments of a test's command, as text.
fn words(test: &ChosenTest, program: &Path, more: &[OsString]) -> Vec<String> {
    test.words(program, more).iter().map(|word| word.to_string_lossy().into_owned()).collect()
}

/// Words quoted for a shell.
fn typed(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=+@%".contains(c);
    let quoted = |word: &String| match !word.is_empty() && word.chars().all(plain) {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}

/// Additional arguments of a test's command when typed by hand.
fn extra_arguments(test: &ChosenTest) -> Vec<OsString> {
    if matches!(test.test.command, TestCommand::Method { .. }) { vec!["--quick".into()] } else { Vec::new() }
}

/// Prints each step, and cancels on a signal.
pub(crate) struct StepPrinter {
    pub(crate) stop: Arc<AtomicBool>,
}

impl lab::Progress for StepPrinter {
    fn step(&mut self, what: &str) {
        eprintln!("  {what}");
    }

    fn cancelled(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// A flag that Ctrl-C, SIGTERM or SIGHUP sets.
pub(crate) fn watched_for_interrupts() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let flag = stop.clone();
    ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))
        .map_err(|error| Failure::refused(format!("cannot install the Ctrl-C handler: {error}")))?;
    Ok(stop)
}

impl LabArgs {
    fn chosen(&self) -> Result<(Topology, Parameters, LabPaths), LabError> {
        let topology = Topology::by_name(&self.topology)?;
        let paths = LabPaths::named(self.name.as_deref().unwrap_or(topology.name()))?;
        let parameters = Parameters {
            routes: self.routes,
            rules: self.rules,
            routers: self.routers,
            flows: self.flows,
            af_packet: self.af_packet,
            size: self.size,
            dut_cores: self.dut_cores.as_ref().map(|cores| cores.0.clone()),
            dut_command: self.dut_command.clone(),
            dut_name: self.dut_name.clone(),
            rate: self.rate,
            duration: self.duration,
        };
        Ok((topology, parameters, paths))
    }

    fn up(&self, stop: &Arc<AtomicBool>) -> Result<Lab, LabError> {
        let (topology, parameters, paths) = self.chosen()?;
        lab::up(topology, &parameters, &paths, &mut StepPrinter { stop: stop.clone() })
    }
}

fn run(args: &LabArgs, test: Option<&str>, output: &OutputArgs, more: &[OsString]) -> Result<Exit, Failure> {
    let (topology, parameters, paths) = args.chosen()?;
    // Check everything before creating anything.
    let design = topology.design(&parameters, &paths)?;
    let more = arguments(design.test(paths.name(), test)?, paths.name(), output, more)?;
    let stop = watched_for_interrupts()?;
    let lab = args.up(&stop)?;
    let tested = lab::chosen_test(&lab, test)
        .map_err(Failure::from)
        .and_then(|test| run_test(&test, &more, &stop, Stdio::inherit()));
    let down = lab::down(&paths);
    let status = tested?;
    down?;
    Ok(exit_of(status))
}

/// The arguments of a test: for a method, with its output options.
fn arguments(
    test: &Test,
    lab: &str,
    output: &OutputArgs,
    more: &[OsString],
) -> Result<Vec<OsString>, Failure> {
    if matches!(test.command, TestCommand::Method { .. }) {
        let report = output.report.clone().unwrap_or_else(|| format!("eagre-lab-{lab}.html").into());
        return Ok(output.arguments(lab, Some(&report), more));
    }
    if output.report.is_some() || output.store.is_some() || output.full {
        return Err(Failure::bad_input(format!(
            "test {} is not a method of 'eagre bench': --report, --store and --full do not apply",
            test.name
        )));
    }
    Ok(more.to_vec())
}

/// Environment variable of a lab's test: the command that brings the lab up, tests it and takes it down.
pub(crate) const COMMAND: &str = "EAGRE_LAB_COMMAND";

/// Runs a lab's test: this program in the tester's namespace.
pub(crate) fn run_test(
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
    eprintln!("  {}", typed(&words(test, Path::new("eagre"), more)));
    // The child receives the terminal's Ctrl-C itself; other signals are forwarded.
    let mut child = lab::test_command(test, &binary, more)
        .env(COMMAND, crate::bench::command_line())
        .stdout(out)
        .spawn()
        .map_err(|error| Failure::refused(format!("ip netns exec: {error}")))?;
    let started = LabProcess::of(child.id());
    let mut asked = false;
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Ok(status),
            Ok(None) => std::thread::sleep(Duration::from_millis(20)),
            Err(error) => return Err(Failure::refused(format!("the test: {error}"))),
        }
        if !asked && stop.load(Ordering::Relaxed) {
            asked = true;
            started.iter().for_each(LabProcess::terminate);
        }
    }
}

/// The test's exit code as ours. A signal may come before the test handles it.
pub(crate) fn exit_of(status: ExitStatus) -> Exit {
    // SIGHUP, SIGINT and SIGTERM.
    if matches!(status.signal(), Some(1 | 2 | 15)) {
        return Exit::Interrupted;
    }
    Exit::from_code(status.code()).unwrap_or(Exit::Failed)
}

fn down(names: Vec<String>, all: bool) -> Result<Exit, Failure> {
    let names = if all { lab::labs().into_iter().map(|status| status.lab.name).collect() } else { names };
    let mut failures = Vec::new();
    for name in names {
        match LabPaths::named(&name).and_then(|paths| lab::down(&paths)) {
            Ok(removed) => {
                let (spaces, processes) = (removed.namespaces.len(), removed.processes.len());
                println!("lab {name} is down: removed {spaces} namespaces and {processes} processes");
                for other in removed.others {
                    eprintln!("eagre: {} ({}) still runs in its namespace", other.name, other.pid);
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

fn generate(config: Generate) -> Result<String, lab::GenerateError> {
    match config {
        Generate::Routes { count, syntax, first, via, interface, port, dst_mac, src_mac } => {
            let hop = lab::Hop { port, src_mac, dst_mac };
            lab::routes(count, syntax, &lab::RouteOptions { first, via, interface, hop })
        }
        Generate::Rules { count, syntax, permit, first, name, interface } => {
            let mut options = lab::RuleOptions::permitting(permit);
            options.first = first.unwrap_or(options.first);
            options.name = name;
            options.interface = interface;
            lab::rules(count, syntax, &options)
        }
    }
}
