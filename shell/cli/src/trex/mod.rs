//! `trex`: TRex's profiles, checked, converted, simulated and run with TRex's option words.

mod facade;
mod jail;
mod load;

use crate::args::{Common, PcapStart, SimArgs};
use crate::{Exit, Failure, run, simulate};
use clap::{Args, Subcommand};
use load::Request;
use std::path::PathBuf;
use trex::document::Document;
use trex::{Conversion, Multiplier, Options, PortOptions, Sides};

/// Packets of a simulation without `--limit`.
const LIMIT: u64 = 5_000;
/// Speed of simulated links.
const SIM_SPEED: f64 = 10e9;
/// Time after the last packet of a simulation, seconds.
const DRAIN: f64 = 1e-3;

/// Actions on a profile.
#[derive(Subcommand)]
pub(crate) enum TrexCommand {
    /// Check that a profile can be run, and report all that cannot
    Check {
        #[command(flatten)]
        source: Source,
    },
    /// Print the equivalent Eagre profile
    Convert {
        #[command(flatten)]
        source: Source,
    },
    /// Send it in virtual time, like TRex's simulator: the same MAC addresses, times from 0
    Sim {
        #[command(flatten)]
        source: Source,
        /// Number of packets to send
        #[arg(short = 'l', long, value_name = "N")]
        limit: Option<u64>,
        /// Write sent packets to a capture file; with several ports '.pcapng' has an interface for each
        #[arg(long, value_name = "FILE")]
        pcap: Option<PathBuf>,
        #[command(flatten)]
        common: Box<Common>,
    },
    /// Run it on ports
    Run {
        #[command(flatten)]
        source: Source,
        #[command(flatten)]
        common: Box<Common>,
    },
    /// Confine this process and become Python, which loads a profile
    #[command(hide = true)]
    Load(jail::LoadArgs),
}

/// A profile and TRex's options.
#[derive(Args)]
pub(crate) struct Source {
    /// Profile: .py, .json, .yaml, .pcap
    file: PathBuf,
    /// The profile's own options, as NAME=VALUE,…
    #[arg(short = 't', long = "tunables", value_name = "NAME=VALUE,…", allow_hyphen_values = true)]
    tunables: Vec<String>,
    /// Multiplier: a factor (3), or the rate of all streams of a port: 10%, 5kpps, 1gbps (layer 2), 1gbpsl1
    #[arg(short = 'm', long = "mult", value_name = "MULT", default_value = "1")]
    multiplier: Multiplier,
    /// Duration in seconds
    #[arg(short = 'd', value_name = "SECONDS", value_parser = seconds)]
    seconds: Option<f64>,
    /// Port: its number in TRex, its device, and further keys: 0=veth0,ip=10.0.0.2/24,gateway=10.0.0.1
    #[arg(long = "port", value_name = "N[=DEVICE][,KEY=VALUE]", value_parser = port)]
    ports: Vec<PortOptions>,
    /// Direction of all ports instead of the port's number modulo 2
    #[arg(long, value_parser = clap::value_parser!(u8).range(0..=1))]
    direction: Option<u8>,
    /// Do not wait for sessions that are open at the end
    #[arg(long = "nc")]
    no_close: bool,
    /// Speed of the links, for rates that are a share of it: 10Gbps
    #[arg(long, value_name = "SPEED", value_parser = speed)]
    speed: Option<f64>,
    /// Folder or file that the profile may read, in addition to its own folder and the working directory (repeatable)
    #[arg(long, value_name = "PATH")]
    read: Vec<PathBuf>,
    /// Run the profile's code even if the kernel cannot confine it
    #[arg(long)]
    unconfined: bool,
    /// Groups of clients, each with VLAN, MAC addresses or next hop: a file in TRex's format (stateful profiles)
    #[arg(long = "cc", value_name = "FILE")]
    clients: Option<PathBuf>,
    #[command(flatten)]
    sides: SidesArgs,
    /// Make packets of IPv4 IPv6 (templates of flows; stateful profiles with 'src_msb' and 'dst_msb')
    #[arg(long)]
    ipv6: bool,
    /// Number of TRex's cores; no effect: the packets do not depend on it
    #[arg(short = 'c', value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    trex_cores: Option<u16>,
    /// Simulate both ends of a stateful profile; always enabled
    #[arg(long)]
    full: bool,
    /// Prefix of stream names
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    prefix: String,
    /// The profile's own options as words, after '--'; '-- --help' prints them
    #[arg(last = true)]
    words: Vec<String>,
}

/// From which ports flows of templates are sent.
#[derive(Args)]
#[group(multiple = false)]
struct SidesArgs {
    /// Send both directions of a flow from one port: the second port for clients with an odd address (templates of
    /// flows)
    #[arg(short = 'p')]
    together: bool,
    /// Send flows of clients with an odd address the other way: the client's packets from the second port (templates of flows)
    #[arg(long)]
    flip: bool,
    /// The same as '--flip', and exchange the addresses of both ends
    #[arg(short = 'e')]
    flip_addresses: bool,
}

impl SidesArgs {
    fn sides(&self) -> Sides {
        match self {
            Self { together: true, .. } => Sides::Together,
            Self { flip: true, .. } => Sides::Flip,
            Self { flip_addresses: true, .. } => Sides::FlipAddresses,
            _ => Sides::Apart,
        }
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    let value: f64 = text.parse().map_err(|_| format!("'{text}' is not a number of seconds"))?;
    if value > 0.0 && value < 1e9 { Ok(value) } else { Err(format!("'{text}' is not a duration")) }
}

fn speed(text: &str) -> Result<f64, String> {
    let rate: units::BitRate = text.parse().map_err(|error: units::QuantityError| error.to_string())?;
    Ok(rate.bps as f64)
}

fn port(text: &str) -> Result<PortOptions, String> {
    let mut parts = text.split(',');
    let first = parts.next().unwrap_or_default();
    let (number, device) =
        first.split_once('=').map_or((first, None), |(number, device)| (number, Some(device)));
    let number: u8 =
        number.parse().map_err(|_| format!("'{number}' is not a port's number: write 0=veth0"))?;
    let more = parts.map(|part| match part.split_once('=') {
        Some((key @ ("ip" | "gateway" | "mac"), value)) => Ok((key.to_owned(), value.to_owned())),
        _ => Err(format!("'{part}': use ip=, gateway= or mac=")),
    });
    let more = more.collect::<Result<_, _>>()?;
    let device = device.map_or_else(|| format!("veth{number}"), str::to_owned);
    Ok(PortOptions { number, name: format!("port{number}"), device, more })
}

pub(crate) fn trex(command: &TrexCommand) -> Result<Exit, Failure> {
    match command {
        TrexCommand::Check { source } => {
            let Some((document, options)) = prepared(source, &[0, 1])? else { return Ok(Exit::Done) };
            let made = converted(source, &document, &options)?;
            run::resolve(&made.text, &source.file)?;
            let what = if has_two_sides(&document) { "template" } else { "stream" };
            let (count, more) = (made.streams, if made.streams == 1 { "" } else { "s" });
            println!("{}: OK: {count} {what}{more}", source.file.display());
            Ok(Exit::Done)
        }
        TrexCommand::Convert { source } => {
            let Some((document, options)) = prepared(source, &[0, 1])? else { return Ok(Exit::Done) };
            print!("{}", converted(source, &document, &options)?.text);
            Ok(Exit::Done)
        }
        TrexCommand::Sim { source, limit, pcap, common } => sim(source, *limit, pcap.clone(), common),
        TrexCommand::Run { source, common } => {
            if source.ports.is_empty() {
                return Err(Failure::bad_input("no port given: write --port 0=veth0 --port 1=veth1"));
            }
            let Some((document, options)) = prepared(source, &[])? else { return Ok(Exit::Done) };
            run::run_text(&converted(source, &document, &options)?.text, &source.file, common)
        }
        TrexCommand::Load(args) => jail::load(args),
    }
}

fn sim(source: &Source, limit: Option<u64>, pcap: Option<PathBuf>, common: &Common) -> Result<Exit, Failure> {
    let Some((document, mut options)) = prepared(source, &[0])? else { return Ok(Exit::Done) };
    options.simulated = true;
    options.speed_bps = options.speed_bps.or(Some(SIM_SPEED));
    let mut made = converted(source, &document, &options)?;
    let mut packets = limit;
    if options.duration_s.is_none() && !has_two_sides(&document) {
        let limit = limit.unwrap_or(LIMIT).max(1);
        packets = Some(limit);
        // Until so many packets have left; if there are fewer, until all have.
        options.duration_s = trex::time_of_packets(&made, limit).map(|time| time + DRAIN);
        made = converted(source, &document, &options)?;
    }
    let arguments = SimArgs { pcap, packets, pcap_start: PcapStart::Traffic, ..SimArgs::default() };
    simulate::sim_text(&made.text, &source.file, &arguments, common)
}

/// The profile's document, and how to translate it; `None` if it only printed its own help.
fn prepared(source: &Source, default: &[u8]) -> Result<Option<(Document, Options)>, Failure> {
    let mut ports = source.ports.clone();
    if ports.is_empty() {
        ports = default.iter().filter_map(|number| port(&number.to_string()).ok()).collect();
    }
    let request = Request {
        file: &source.file,
        ports: ports.iter().map(|port| port.number).collect(),
        direction: source.direction,
        tunables: &source.tunables,
        words: &source.words,
        read: &source.read,
        unconfined: source.unconfined,
        ipv6: source.ipv6,
    };
    let options = Options {
        ports,
        multiplier: source.multiplier,
        duration_s: source.seconds,
        speed_bps: source.speed,
        no_close: source.no_close,
        groups: source.clients.as_deref().map(load::groups).transpose()?,
        prefix: source.prefix.clone(),
        sides: source.sides.sides(),
        ipv6: source.ipv6,
        simulated: false,
    };
    let document = load::load(&request)?;
    if source.full && document.as_ref().is_some_and(|document| document.profile.is_none()) {
        return Err(Failure::bad_input("--full is for stateful profiles (ASTF)"));
    }
    if source.trex_cores.is_some_and(|cores| cores > 1) {
        eprintln!("note: -c has no effect: many cores send what one would");
    }
    Ok(document.map(|document| {
        let ports = if source.ports.is_empty() && has_two_sides(&document) {
            (0..2).filter_map(|number| port(&number.to_string()).ok()).collect()
        } else {
            options.ports.clone()
        };
        let duration_s = options.duration_s.or(document.duration_s.filter(|seconds| *seconds > 0.0));
        (document, Options { ports, duration_s, ..options })
    }))
}

/// Whether it has clients and servers.
fn has_two_sides(document: &Document) -> bool {
    document.profile.is_some() || document.templates.is_some()
}

fn converted(source: &Source, document: &Document, options: &Options) -> Result<Conversion, Failure> {
    trex::convert(document, options).map_err(|errors| {
        let name = source.file.display();
        Failure::bad_input(errors.0.iter().map(|error| format!("{name}: {error}\n")).collect::<String>())
    })
}
