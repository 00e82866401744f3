//! The command line. Each option is defined once; help and completion are derived from it.

use crate::exit::Exit;
use crate::results::ResultsArgs;
use crate::verdicts::VerdictArgs;
use crate::words;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use profile::document::{Bytes, Ip, IpPrefix, Mac, Speedup, TimestampsDoc};
use profile::plan::Polling;
use simulation::{Dut, SwitchModel, SwitchQueues};
use std::ffi::OsString;
use std::net::IpAddr;
use std::path::PathBuf;
use units::{FrameLen, Load, Nanos, Pps};

/// Network traffic generator: drives traffic through a device under test and measures every packet
#[derive(Parser)]
#[command(name = "eagre", version, max_term_width = 110, after_help = Exit::help())]
pub(crate) struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a demo over an in-process link: no setup, no root, no huge pages
    Demo {
        #[command(flatten)]
        common: Common,
    },
    /// Run a profile on its ports
    Run {
        /// Profile (YAML or JSON); '-' reads standard input
        profile: PathBuf,
        #[command(flatten)]
        common: Common,
    },
    /// Send one stream described by options
    Send {
        #[command(flatten)]
        send: SendArgs,
        /// Print the equivalent profile and exit
        #[arg(long)]
        print: bool,
        #[command(flatten)]
        common: Common,
    },
    /// Load a web server: HTTP/1.1 or HTTP/2 from one command line, with or without TLS
    Http {
        #[command(flatten)]
        http: Box<crate::http::HttpArgs>,
        /// Print the equivalent profile and exit
        #[arg(long)]
        print: bool,
        #[command(flatten)]
        run: RunArgs,
    },
    /// Measure between two hosts through their kernels, with iperf3's protocol and options: a client, and a server for
    /// many clients
    Iperf3 {
        #[command(flatten)]
        iperf3: Box<crate::iperf3::IperfArgs>,
    },
    /// Measure the capacity of a path in each direction, by the UDP Speed Test Protocol (RFC 9946): a client, and a
    /// server for many clients
    Capacity {
        #[command(flatten)]
        capacity: Box<crate::capacity::CapacityArgs>,
    },
    /// Measure delay, jitter and loss of a path in each direction, by STAMP (RFC 8762) and TWAMP Light: a sender, and a
    /// reflector for any number of senders
    PathDelay {
        #[command(flatten)]
        path_delay: Box<crate::path_delay::PathDelayArgs>,
    },
    /// Measure how responsive a path stays under load, in round trips per minute (draft-ietf-ippm-responsiveness-09, July
    /// 2026): a client, and a server for many clients, of networkQuality, too
    Responsiveness {
        #[command(flatten)]
        responsiveness: Box<crate::responsiveness::ResponsivenessArgs>,
    },
    /// Replay a capture file: with its original timing or at a given rate, with rewritten fields, from one port or two
    Replay {
        #[command(flatten)]
        replay: ReplayArgs,
        /// Print the equivalent profile and exit
        #[arg(long)]
        print: bool,
        #[command(flatten)]
        common: Common,
    },
    /// Capture received packets to a pcapng file with nanosecond timestamps
    Capture {
        #[command(flatten)]
        listen: ListenArgs,
        #[command(flatten)]
        capture: CaptureArgs,
        #[command(flatten)]
        common: Common,
    },
    /// Count received packets
    Receive {
        #[command(flatten)]
        listen: ListenArgs,
        /// Measure the streams of this profile, which another process or machine sends with the same seed
        #[arg(long, value_name = "FILE")]
        profile: Option<PathBuf>,
        #[command(flatten)]
        common: Common,
    },
    /// Run a profile in virtual time over simulated links: no NIC, the same result for the same seed
    Sim {
        /// Profile (YAML or JSON); '-' reads standard input
        profile: PathBuf,
        #[command(flatten)]
        sim: SimArgs,
        #[command(flatten)]
        common: Common,
    },
    /// Check a profile and report all errors with line and path
    Check {
        /// Profile (YAML or JSON); '-' reads standard input
        profile: PathBuf,
    },
    /// Write a commented profile to start from: for a router, a firewall, a web server and others
    Init {
        #[command(flatten)]
        init: crate::init::InitArgs,
    },
    /// Run a test method such as RFC 2544 or MLRsearch; 'eagre bench list' lists all methods
    Bench {
        #[command(flatten)]
        bench: Box<crate::bench::BenchArgs>,
    },
    /// Compare two profiles, devices or labs by interleaved trials: which is better, and with what confidence
    #[command(after_long_help = crate::versus::EXIT_CODES)]
    Versus {
        #[command(flatten)]
        versus: Box<crate::versus::VersusArgs>,
    },
    /// Find the change that made a device slower, by comparing its builds with a good one
    #[command(after_long_help = crate::bisect::EXIT_CODES)]
    Bisect {
        #[command(flatten)]
        bisect: Box<crate::bisect::BisectArgs>,
    },
    /// Run profiles, compare their figures with a baseline, and write verdicts for machines: JUnit, CTRF, Markdown
    Ci {
        #[command(flatten)]
        ci: Box<crate::ci::CiArgs>,
    },
    /// Run test networks with real devices on this machine: routers, firewalls, switches, web servers
    Lab {
        #[command(subcommand)]
        lab: crate::lab::LabCommand,
    },
    /// Run the server: HTTP API, dashboard, metrics
    Serve {
        #[command(flatten)]
        serve: Box<crate::serve::ServeArgs>,
    },
    /// Lend this machine's ports to servers on other machines, over NATS
    Agent {
        #[command(flatten)]
        agent: Box<crate::agent::AgentArgs>,
    },
    /// Start a NATS server for agents on other machines, make their credentials, and show them
    Fleet {
        #[command(subcommand)]
        fleet: crate::fleet::FleetCommand,
    },
    /// Poll device counters along a path while traffic runs, and report where packets were lost
    Path {
        #[command(flatten)]
        path: crate::path::PathArgs,
    },
    /// List the ports of this machine
    Ports {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Check this machine for settings that distort measurements, and show how to fix them
    Doctor {
        /// Print JSON
        #[arg(long, conflicts_with_all = ["fix", "undo"])]
        json: bool,
        /// Fix settings of the kernel: print the changes, then apply them; old values are saved
        #[arg(long, conflicts_with = "undo")]
        fix: bool,
        /// Undo the changes of --fix
        #[arg(long)]
        undo: bool,
        /// With --fix or --undo: print the changes only
        #[arg(long)]
        dry_run: bool,
    },
    /// Compare a NAT's own log with the mappings that 'eagre bench nat' saw: those that it lacks, has wrong, or has late
    NatLog {
        #[command(flatten)]
        nat_log: crate::nat_log::NatLogArgs,
    },
    /// Show a server's runs live in the terminal; pause, change and stop them
    Top {
        #[command(flatten)]
        top: crate::top::TopArgs,
    },
    /// Explain a result in sentences: what was measured, confidence in the result, what the limit was, what to do next
    Explain {
        #[command(flatten)]
        explain: crate::explain::ExplainArgs,
    },
    /// List, show, compare, report and export stored results
    Results {
        #[command(flatten)]
        results: ResultsArgs,
    },
    /// Check, convert, simulate and run profiles of TRex (stateless), with TRex's options
    Trex {
        #[command(subcommand)]
        trex: crate::trex::TrexCommand,
    },
    /// Run a Lua script that makes packets itself, with MoonGen's API
    Script {
        #[command(flatten)]
        script: crate::script::ScriptArgs,
    },
    /// Print the JSON Schema of a document
    Schema {
        /// Document
        #[arg(value_enum, default_value_t = SchemaOf::Profile)]
        what: SchemaOf,
    },
    /// Print a completion script for a shell
    Completion {
        /// Shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one page per command to a directory
    Man {
        /// Output directory
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
}

/// Options of runs that may have streams.
#[derive(ClapArgs)]
pub(crate) struct Common {
    /// Rate of every stream (overrides the profile): 1Mpps, 2.5Gbps, 40%, max
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Load>,
    #[command(flatten)]
    pub run: RunArgs,
}

impl std::ops::Deref for Common {
    type Target = RunArgs;

    fn deref(&self) -> &RunArgs {
        &self.run
    }
}

/// Options of all runs.
#[derive(ClapArgs)]
pub(crate) struct RunArgs {
    /// Duration (overrides the profile)
    #[arg(long, visible_alias = "for", value_name = "TIME", value_parser = words::time)]
    pub duration: Option<Nanos>,
    /// Random seed (overrides the profile)
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Write the result document to a file, compressed if its name ends in .gz; '-' writes to standard output
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Write one JSON line per interval to a file
    #[arg(long, value_name = "FILE")]
    pub jsonl: Option<PathBuf>,
    /// Interval length, at least 10ms
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = words::interval)]
    pub interval: Nanos,
    /// Write result, intervals and profile to a directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Write an HTML report
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub verdicts: VerdictArgs,
    /// Action if a disturbance of the tester makes the outcome uncertain: fail (exit code 4), warn, or run again up to
    /// N times [default: fail; of 'eagre demo': warn]
    #[arg(long, value_name = "fail|warn|repeat N", value_parser = on_disturbed)]
    pub on_disturbed: Option<OnDisturbed>,
    /// Number of worker cores
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub cores: u16,
    /// Behaviour of workers while nothing is due (overrides the profile): sleep where possible, or poll for frames
    /// continuously
    #[arg(long, value_name = "auto|busy", value_enum)]
    pub polling: Option<PollingArg>,
    /// Read commands from standard input: 'rate [NAME] 2Mpps', 'scale [NAME] 50%', 'pause', 'resume', 'clear', 'stop'
    #[arg(long)]
    pub control: bool,
    /// Disable latency histograms: no percentiles, slightly less work per packet
    #[arg(long)]
    pub no_histograms: bool,
}

#[derive(ClapArgs)]
pub(crate) struct SendArgs {
    /// Port to send from
    #[arg(long, value_name = "DEVICE")]
    pub port: String,
    /// Receiving port, if it is on this machine
    #[arg(long, value_name = "DEVICE")]
    pub to: Option<String>,
    /// IP address of the sending port, with prefix length
    #[arg(long, value_name = "ADDRESS/LEN")]
    pub ip: Option<IpPrefix>,
    /// IP address of the receiving port, with prefix length
    #[arg(long, value_name = "ADDRESS/LEN")]
    pub to_ip: Option<IpPrefix>,
    /// Gateway of the sending port
    #[arg(long, value_name = "ADDRESS")]
    pub gateway: Option<Ip>,
    /// Source IP address
    #[arg(long, value_name = "ADDRESS")]
    pub src: Option<IpAddr>,
    /// Destination IP address
    #[arg(long, value_name = "ADDRESS")]
    pub dst: Option<IpAddr>,
    /// Destination MAC address; resolved by ARP or ND if omitted
    #[arg(long, value_name = "MAC")]
    pub dst_mac: Option<Mac>,
    /// Send UDP (default)
    #[arg(long, conflicts_with_all = ["tcp", "icmp"])]
    pub udp: bool,
    /// Send TCP
    #[arg(long, conflicts_with = "icmp")]
    pub tcp: bool,
    /// Send ICMP echo requests
    #[arg(long)]
    pub icmp: bool,
    /// Source port
    #[arg(long, value_name = "N")]
    pub sport: Option<u16>,
    /// Destination port
    #[arg(long, value_name = "N")]
    pub dport: Option<u16>,
    /// VLAN ID
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u16).range(1..=4094))]
    pub vlan: Option<u16>,
    /// Frame length with FCS, in bytes
    #[arg(long, value_name = "BYTES", value_parser = words::frame_len)]
    pub size: Option<FrameLen>,
    /// Number of packets to send
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
    /// Allow the interface with the default route
    #[arg(long)]
    pub allow_default_route: bool,
}

#[derive(ClapArgs)]
pub(crate) struct ReplayArgs {
    /// Capture file (pcap or pcapng)
    pub file: String,
    /// Port to send from
    #[arg(long, value_name = "DEVICE")]
    pub port: String,
    /// Receiving port; with --split, the port that sends the servers' packets
    #[arg(long, value_name = "DEVICE")]
    pub to: Option<String>,
    /// Speed relative to the capture: 2x, 0.5x
    #[arg(long, value_name = "FACTOR", value_parser = words::factor)]
    pub speed: Option<Speedup>,
    /// Number of times to send the file
    #[arg(long, value_name = "N")]
    pub loops: Option<u64>,
    /// Other IP addresses in each loop: one further on than in the loop before, in all packets
    #[arg(long, visible_alias = "unique-ip", requires = "loops")]
    pub loop_addresses: bool,
    /// Send each conversation's initiator from --port and its responder from --to
    #[arg(long, requires = "to")]
    pub split: bool,
    /// Rewrite a field: 'ipv4.dst=10.0.0.9', 'addresses=10.0.0.0/8 -> 192.168.0.0/8', 'ports=80 -> 8080',
    /// 'ethernet.src=port'
    #[arg(long, value_name = "FIELD=VALUE", value_parser = field_and_value)]
    pub rewrite: Vec<(String, String)>,
    /// Push an outer VLAN tag
    #[arg(long, value_name = "ID", value_parser = clap::value_parser!(u16).range(1..=4094))]
    pub push_vlan: Option<u16>,
    /// Remove the outermost VLAN tag
    #[arg(long)]
    pub pop_vlan: bool,
    /// Allow the interface with the default route
    #[arg(long)]
    pub allow_default_route: bool,
}

/// Options of a receiving port.
#[derive(ClapArgs)]
pub(crate) struct ListenArgs {
    /// Port to listen on
    #[arg(long, value_name = "DEVICE")]
    pub port: String,
    /// IP address of the port, with prefix length; the port then replies to ARP, ND and ping
    #[arg(long, value_name = "ADDRESS/LEN")]
    pub ip: Option<IpPrefix>,
    /// Source of arrival times; all but 'software' need an 'afpacket:' port
    #[arg(long, value_name = "SOURCE", default_value = "software")]
    pub timestamps: TimestampsArg,
    /// Allow the interface with the default route
    #[arg(long)]
    pub allow_default_route: bool,
}

#[derive(ClapArgs)]
pub(crate) struct CaptureArgs {
    /// Output file
    #[arg(long, value_name = "FILE", default_value = "capture.pcapng")]
    pub file: String,
    /// Capture filter in tcpdump syntax: 'udp port 53'
    #[arg(long, value_name = "EXPRESSION")]
    pub filter: Option<String>,
    /// Maximum bytes to capture per packet: 128B
    #[arg(long, value_name = "BYTES", value_parser = words::bytes)]
    pub snap: Option<Bytes>,
    /// Start a new file at this size: 100MB
    #[arg(long, value_name = "BYTES", value_parser = words::bytes)]
    pub rotate_size: Option<Bytes>,
    /// Start a new file after this time
    #[arg(long, value_name = "TIME", value_parser = words::time)]
    pub rotate_time: Option<Nanos>,
    /// Number of files to keep, newest first
    #[arg(long, value_name = "N")]
    pub files: Option<u32>,
    /// Keep the newest packets in a memory buffer of this size and write them at the end: 64MB
    #[arg(long, value_name = "BYTES", value_parser = words::bytes)]
    pub ring: Option<Bytes>,
}

fn field_and_value(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(field, _)| !field.trim().is_empty());
    let (field, value) =
        parts.ok_or_else(|| format!("'{text}' is not FIELD=VALUE, such as ipv4.dst=10.0.0.9"))?;
    Ok((field.trim().to_owned(), value.trim().to_owned()))
}

#[derive(ClapArgs, Default)]
pub(crate) struct SimArgs {
    /// Write sent packets with their departure times to a capture file; '.pcapng' has an interface for each port
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Origin of the capture file's times: the simulated clock, or the start of traffic, which leaves out earlier
    /// packets
    #[arg(long, value_name = "WHAT", default_value = "clock")]
    pub pcap_start: PcapStart,
    /// Maximum number of packets to write to the capture file
    #[arg(long, value_name = "N")]
    pub packets: Option<u64>,
    /// Simulated device: 'wire', 'router:capacity=1Mpps,buffer=512,latency=20us' or 'switch:buffer=512KiB'
    #[arg(long, value_name = "MODEL", value_parser = dut)]
    pub dut: Option<Dut>,
}

/// Origin of a capture file's times.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PcapStart {
    #[default]
    Clock,
    Traffic,
}

/// Action if a run can't be judged because the tester was disturbed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnDisturbed {
    Fail,
    Warn,
    /// Run again up to this number of times, then fail.
    Repeat(u32),
}

/// Maximum number of times a run is repeated.
const REPEATS_MAX: u32 = 100;

pub(crate) fn on_disturbed(text: &str) -> Result<OnDisturbed, String> {
    match (text, text.strip_prefix("repeat").map(|rest| rest.trim_start_matches([' ', '=', ':']))) {
        ("fail", _) => Ok(OnDisturbed::Fail),
        ("warn", _) => Ok(OnDisturbed::Warn),
        (_, Some("")) => Err(format!("how often? 'repeat N' takes a number from 1 to {REPEATS_MAX}")),
        (_, Some(number)) => match number.parse() {
            Ok(number @ 1..=REPEATS_MAX) => Ok(OnDisturbed::Repeat(number)),
            _ => Err(format!("'{number}' is not a number from 1 to {REPEATS_MAX}")),
        },
        _ => Err("use fail, warn, or repeat N".to_owned()),
    }
}

/// The command line, with `--on-disturbed repeat N` as one value: an option that takes one or two values would consume
/// the argument after the first one.
pub(crate) fn joined(words: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut all: Vec<OsString> = Vec::new();
    let mut is_open = true;
    for word in words {
        is_open &= word != "--";
        let number = word.to_str().is_some_and(|word| word.bytes().all(|b| b.is_ascii_digit()));
        match &mut all[..] {
            [.., option, value] if is_open && number && option == "--on-disturbed" && value == "repeat" => {
                value.push(" ");
                value.push(word);
            }
            _ => all.push(word),
        }
    }
    all
}

/// Behaviour of workers while nothing is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PollingArg {
    Auto,
    Busy,
}

impl From<PollingArg> for Polling {
    fn from(polling: PollingArg) -> Self {
        match polling {
            PollingArg::Auto => Self::Auto,
            PollingArg::Busy => Self::Busy,
        }
    }
}

/// Source of arrival times.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimestampsArg {
    /// The worker, when it takes a frame in
    Software,
    /// The kernel, when the driver hands it the frame
    Kernel,
    /// The network card
    Hardware,
}

impl From<TimestampsArg> for TimestampsDoc {
    fn from(timestamps: TimestampsArg) -> Self {
        match timestamps {
            TimestampsArg::Software => Self::Software,
            TimestampsArg::Kernel => Self::Kernel,
            TimestampsArg::Hardware => Self::Hardware,
        }
    }
}

/// The document to print the schema of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemaOf {
    Profile,
    Result,
    Interval,
    Campaign,
    /// Result of a Lua script
    Script,
    /// The HTTP API of 'eagre serve' (OpenAPI)
    Openapi,
}

pub(crate) fn dut(text: &str) -> Result<Dut, String> {
    let (model, options) = text.split_once([':', ',']).unwrap_or((text, ""));
    let (mut capacity, mut buffer, mut latency) = (None, 512, Nanos::ZERO);
    match model {
        "wire" if options.is_empty() => return Ok(Dut::Wire),
        "switch" => return switch(options),
        "router" => {}
        _ => {
            let known = "'wire', 'router:capacity=1Mpps,buffer=512,latency=20us' or 'switch:buffer=512KiB'";
            return Err(format!("expected {known}"));
        }
    }
    for option in options.split(',').filter(|o| !o.is_empty()) {
        match option.split_once('=') {
            Some(("capacity", value)) => capacity = Some(value.parse::<Pps>().map_err(|e| e.to_string())?),
            Some(("latency", value)) => {
                latency = value.parse().map_err(|e: units::QuantityError| e.to_string())?
            }
            Some(("buffer", value)) => {
                buffer = value.parse().map_err(|_| format!("buffer: '{value}' is not a number of frames"))?;
            }
            _ => return Err(format!("unknown option '{option}': use capacity=, buffer= or latency=")),
        }
    }
    Ok(Dut::Router { capacity, buffer, latency })
}

/// Addresses that a simulated switch holds unless set.
const SWITCH_ADDRESSES: usize = 8_192;

fn switch(options: &str) -> Result<Dut, String> {
    let mut model = SwitchModel::learning(SWITCH_ADDRESSES, Nanos::ZERO);
    let bytes = |value: &str| value.parse::<Bytes>().map(|bytes| bytes.0).map_err(|error| error.to_string());
    for option in options.split(',').filter(|option| !option.is_empty()) {
        match option.split_once('=') {
            Some(("buffer", value)) => model.memory.total = bytes(value)?,
            Some(("queue", value)) => model.memory.queue = bytes(value)?,
            Some(("queues", "output")) => model.memory.queues = SwitchQueues::Output,
            Some(("queues", "input")) => model.memory.queues = SwitchQueues::Input,
            Some(("latency", value)) => {
                model.latency = value.parse().map_err(|error: units::QuantityError| error.to_string())?;
            }
            Some(("addresses", value)) => {
                model.addresses =
                    value.parse().map_err(|_| format!("addresses: '{value}' is not a number"))?;
            }
            None if option == "cut-through" => model.cut_through = true,
            _ => {
                return Err(format!(
                    "unknown option '{option}': use buffer=512KiB, queue=64KiB, queues=output or queues=input, cut-through, \
                     latency=1us or addresses=8192"
                ));
            }
        }
    }
    Ok(Dut::Switch(model))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_sound() {
        Args::command().debug_assert();
    }

    #[test]
    fn what_to_do_if_the_tester_is_disturbed_is_read() {
        assert_eq!(on_disturbed("repeat 3"), Ok(OnDisturbed::Repeat(3)));
        assert_eq!(
            (on_disturbed("repeat=3"), on_disturbed("warn")),
            (Ok(OnDisturbed::Repeat(3)), Ok(OnDisturbed::Warn))
        );
        for wrong in ["repeat", "repeat 0", "repeat 101", "repeat x", "again"] {
            assert!(on_disturbed(wrong).is_err(), "{wrong}");
        }
        let words = |text: &str| joined(text.split(' ').map(OsString::from));
        assert_eq!(words("run --on-disturbed repeat 3 p.yaml")[2..], ["repeat 3", "p.yaml"]);
        assert_eq!(words("run --on-disturbed fail 3").len(), 4);
        assert_eq!(words("run -- --on-disturbed repeat 3").len(), 5);
    }

    #[test]
    fn devices_are_read() {
        let router = Dut::Router { capacity: Some(Pps::new(1_000_000)), buffer: 64, latency: Nanos(5_000) };
        assert_eq!(dut("router:capacity=1Mpps,buffer=64,latency=5us"), Ok(router));
        assert_eq!(dut("wire"), Ok(Dut::Wire));
        assert!(dut("router:capacity=fast").is_err());
        assert!(dut("firewall").is_err());
        let Ok(Dut::Switch(model)) = dut("switch:buffer=512KiB,queue=64KiB,queues=input,cut-through") else {
            panic!()
        };
        assert_eq!((model.memory.total, model.memory.queue), (512 << 10, 64 << 10));
        assert_eq!((model.memory.queues, model.cut_through), (SwitchQueues::Input, true));
        assert!(
            ["switch:buffer=1", "switch:queues=both", "switch:speed=1"].iter().all(|text| dut(text).is_err())
        );
    }
}
