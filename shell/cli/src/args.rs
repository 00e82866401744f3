//! The command line. Each option is defined here once; help and completion follow from it.

use crate::results::ResultsArgs;
use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;
use units::{FrameLen, Load, Nanos, Pps};

/// A wind tunnel for networks: drives traffic through a device under test, measures every packet, and says how far the
/// result can be trusted.
#[derive(Parser)]
#[command(name = "eagre", version, max_term_width = 110)]
pub struct Args {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// Show the main job with nothing set up: an in-process link, no root, no huge pages
    Demo {
        #[command(flatten)]
        common: Common,
    },
    /// Run a profile on its ports
    Run {
        /// The profile, YAML or JSON; '-' reads it from standard input
        profile: PathBuf,
        #[command(flatten)]
        common: Common,
    },
    /// Send one stream described by flags
    Send {
        #[command(flatten)]
        send: SendArgs,
        /// Print the profile these flags make, and send nothing
        #[arg(long)]
        print: bool,
        #[command(flatten)]
        common: Common,
    },
    /// Send a capture file: as captured, at another speed or rate, with other addresses, from one port or two
    Replay {
        #[command(flatten)]
        replay: ReplayArgs,
        /// Print the profile these flags make, and send nothing
        #[arg(long)]
        print: bool,
        #[command(flatten)]
        common: Common,
    },
    /// Capture what a port receives into a pcapng file with nanoseconds
    Capture {
        #[command(flatten)]
        listen: ListenArgs,
        #[command(flatten)]
        capture: CaptureArgs,
        #[command(flatten)]
        common: Common,
    },
    /// Count what a port receives
    Receive {
        #[command(flatten)]
        listen: ListenArgs,
        #[command(flatten)]
        common: Common,
    },
    /// Run a profile in virtual time over simulated links: no NIC, no waiting, the same result for the same seed
    Sim {
        /// The profile, YAML or JSON; '-' reads it from standard input
        profile: PathBuf,
        #[command(flatten)]
        sim: SimArgs,
        #[command(flatten)]
        common: Common,
    },
    /// Check a profile: every error at once, with line and path
    Check {
        /// The profile, YAML or JSON; '-' reads it from standard input
        profile: PathBuf,
    },
    /// Run a test method: RFC 2544, MLRsearch, sweeps, session limits …; 'eagre bench list' lists them
    Bench {
        #[command(flatten)]
        bench: Box<crate::bench::BenchArgs>,
    },
    /// Networks on this machine with real devices under test: routers, firewalls, switches, web servers
    Lab {
        #[command(subcommand)]
        lab: crate::lab::LabCommand,
    },
    /// Serve the engine to programs and people: HTTP API, dashboard, metrics
    Serve {
        #[command(flatten)]
        serve: Box<crate::serve::ServeArgs>,
    },
    /// Poll counters of the devices along a path while something else sends, and say where packets were lost
    Path {
        #[command(flatten)]
        path: crate::path::PathArgs,
    },
    /// List what can be used as a port here
    Ports {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Say what about this machine spoils measurements, and how to mend it
    Doctor {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Watch what a server runs, in the terminal: rates, loss, latency; pause, change and stop it
    Top {
        #[command(flatten)]
        top: crate::top::TopArgs,
    },
    /// Look at results that were kept: list, show, compare, trend, report, export
    Results {
        #[command(flatten)]
        results: ResultsArgs,
    },
    /// Print the JSON Schema of a document
    Schema {
        /// Which document
        #[arg(value_enum, default_value_t = SchemaOf::Profile)]
        what: SchemaOf,
    },
    /// Print a completion script for a shell
    Completion {
        /// Which shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write a page for every command into a folder
    Man {
        /// The folder
        #[arg(value_name = "DIR")]
        folder: Option<PathBuf>,
    },
}

#[derive(ClapArgs)]
pub struct Common {
    /// Rate of every stream, instead of the profile's: 1Mpps, 2.5Gbps, 40%, max
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Load>,
    /// How long, instead of the profile's duration
    #[arg(long, visible_alias = "for", value_name = "TIME")]
    pub duration: Option<Nanos>,
    /// Seed of everything random, instead of the profile's
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Write the result document to a file, or to standard output with '-'
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
    /// Write a line of JSON for every interval to a file
    #[arg(long, value_name = "FILE")]
    pub jsonl: Option<PathBuf>,
    /// Length of an interval
    #[arg(long, value_name = "TIME", default_value = "1s")]
    pub interval: Nanos,
    /// Write result, intervals and profile into a directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Worker cores
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub cores: u16,
    /// Change the run by lines on standard input: 'rate [NAME] 2Mpps', 'scale [NAME] 50%', 'pause', 'resume', 'stop'
    #[arg(long)]
    pub control: bool,
    /// Keep no latency histograms: no percentiles, a little less work for each packet
    #[arg(long)]
    pub no_histograms: bool,
}

#[derive(ClapArgs)]
pub struct SendArgs {
    /// Port to send from
    #[arg(long, value_name = "DEVICE")]
    pub port: String,
    /// Port the packets should arrive at, if it is on this machine
    #[arg(long, value_name = "DEVICE")]
    pub to: Option<String>,
    /// Address of the sending port, with prefix length
    #[arg(long, value_name = "ADDRESS/LEN")]
    pub ip: Option<String>,
    /// Address of the receiving port, with prefix length
    #[arg(long, value_name = "ADDRESS/LEN")]
    pub to_ip: Option<String>,
    /// Router to send through
    #[arg(long, value_name = "ADDRESS")]
    pub gateway: Option<String>,
    /// Source address
    #[arg(long, value_name = "ADDRESS")]
    pub src: Option<String>,
    /// Destination address
    #[arg(long, value_name = "ADDRESS")]
    pub dst: Option<String>,
    /// Destination hardware address; asked for by ARP or ND if left out
    #[arg(long, value_name = "MAC")]
    pub dst_mac: Option<String>,
    /// UDP (the default)
    #[arg(long, conflicts_with_all = ["tcp", "icmp"])]
    pub udp: bool,
    /// TCP
    #[arg(long, conflicts_with = "icmp")]
    pub tcp: bool,
    /// ICMP echo requests
    #[arg(long)]
    pub icmp: bool,
    /// Source port
    #[arg(long, value_name = "N")]
    pub sport: Option<u16>,
    /// Destination port
    #[arg(long, value_name = "N")]
    pub dport: Option<u16>,
    /// VLAN identifier
    #[arg(long, value_name = "ID")]
    pub vlan: Option<u16>,
    /// Frame length with FCS, bytes
    #[arg(long, value_name = "BYTES", value_parser = frame_len)]
    pub size: Option<FrameLen>,
    /// Stop after so many packets
    #[arg(long, value_name = "N")]
    pub count: Option<u64>,
    /// Use the interface with the machine's default route
    #[arg(long)]
    pub allow_default_route: bool,
}

#[derive(ClapArgs)]
pub struct ReplayArgs {
    /// The capture: pcap or pcapng
    pub file: String,
    /// Port to send from
    #[arg(long, value_name = "DEVICE")]
    pub port: String,
    /// Port the packets should arrive at; with --split the port the servers' packets are sent from
    #[arg(long, value_name = "DEVICE")]
    pub to: Option<String>,
    /// Times as fast as captured: 2x, 0.5x
    #[arg(long, value_name = "FACTOR")]
    pub speed: Option<String>,
    /// How often the file is sent
    #[arg(long, value_name = "N")]
    pub loops: Option<u64>,
    /// Send each conversation's first speaker from --port and the other from --to
    #[arg(long, requires = "to")]
    pub split: bool,
    /// Change a field: 'ipv4.dst=10.0.0.9', 'addresses=10.0.0.0/8 -> 192.168.0.0/8', 'ports=80 -> 8080',
    /// 'ethernet.src=port'
    #[arg(long, value_name = "FIELD=VALUE", value_parser = field_and_value)]
    pub rewrite: Vec<(String, String)>,
    /// Put a VLAN tag before all others
    #[arg(long, value_name = "ID")]
    pub push_vlan: Option<u16>,
    /// Take the outermost VLAN tag away
    #[arg(long)]
    pub pop_vlan: bool,
    /// Use the interface with the machine's default route
    #[arg(long)]
    pub allow_default_route: bool,
}

/// A port that listens.
#[derive(ClapArgs)]
pub struct ListenArgs {
    /// Port to listen on
    #[arg(long, value_name = "DEVICE")]
    pub port: String,
    /// Address of the port, with prefix length: it then answers ARP, neighbour discovery and ping
    #[arg(long, value_name = "ADDRESS/LEN")]
    pub ip: Option<String>,
    /// Use the interface with the machine's default route
    #[arg(long)]
    pub allow_default_route: bool,
}

#[derive(ClapArgs)]
pub struct CaptureArgs {
    /// The file
    #[arg(long, value_name = "FILE", default_value = "capture.pcapng")]
    pub file: String,
    /// Which packets, in tcpdump's words: 'udp port 53'
    #[arg(long, value_name = "EXPRESSION")]
    pub filter: Option<String>,
    /// At most so many bytes of each packet: 128B
    #[arg(long, value_name = "BYTES")]
    pub snap: Option<String>,
    /// Begin a new file when one is so large: 100MB
    #[arg(long, value_name = "BYTES")]
    pub rotate_size: Option<String>,
    /// Begin a new file after so long
    #[arg(long, value_name = "TIME")]
    pub rotate_time: Option<Nanos>,
    /// Keep only the newest so many files
    #[arg(long, value_name = "N")]
    pub files: Option<u32>,
    /// Keep the newest so many bytes in memory and write them at the end: 64MB
    #[arg(long, value_name = "BYTES")]
    pub ring: Option<String>,
}

fn field_and_value(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(field, _)| !field.trim().is_empty());
    let (field, value) =
        parts.ok_or_else(|| format!("'{text}' is not a field and its value: ipv4.dst=10.0.0.9"))?;
    Ok((field.trim().to_owned(), value.trim().to_owned()))
}

#[derive(ClapArgs)]
pub struct SimArgs {
    /// Write every packet sent, with its departure time, to a capture file
    #[arg(long, value_name = "FILE")]
    pub pcap: Option<PathBuf>,
    /// Write at most so many packets to the capture file
    #[arg(long, value_name = "N")]
    pub packets: Option<u64>,
    /// Device between the ports: 'wire', or 'router' with 'capacity=', 'buffer=' and 'latency=' behind a colon
    #[arg(long, value_name = "MODEL", value_parser = dut)]
    pub dut: Option<Dut>,
}

/// A model device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dut {
    Wire,
    Router { capacity: Option<Pps>, buffer: u32, latency: Nanos },
}

/// Which document a schema is asked of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    Profile,
    Result,
    Interval,
    Campaign,
    /// The HTTP API of 'eagre serve' (OpenAPI)
    Openapi,
}

fn frame_len(text: &str) -> Result<FrameLen, String> {
    let text = if text.bytes().all(|b| b.is_ascii_digit()) { format!("{text}B") } else { text.to_owned() };
    text.parse().map_err(|e: units::QuantityError| e.to_string())
}

pub(crate) fn dut(text: &str) -> Result<Dut, String> {
    let (model, options) = text.split_once([':', ',']).unwrap_or((text, ""));
    let (mut capacity, mut buffer, mut latency) = (None, 512, Nanos::ZERO);
    match model {
        "wire" if options.is_empty() => return Ok(Dut::Wire),
        "router" => {}
        _ => return Err("a device is 'wire' or 'router:capacity=1Mpps,buffer=512,latency=20us'".to_owned()),
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
            _ => return Err(format!("'{option}' is not one of capacity=, buffer=, latency=")),
        }
    }
    Ok(Dut::Router { capacity, buffer, latency })
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
    fn devices_are_read() {
        let router = Dut::Router { capacity: Some(Pps::new(1_000_000)), buffer: 64, latency: Nanos(5_000) };
        assert_eq!(dut("router:capacity=1Mpps,buffer=64,latency=5us"), Ok(router));
        assert_eq!(dut("wire"), Ok(Dut::Wire));
        assert!(dut("router:capacity=fast").is_err());
        assert!(dut("firewall").is_err());
    }
}
