//! `eagre agent`: with `--nats` an agent of a fleet, until it is stopped; without, the process of one run, which a server or such an
//! agent starts and steers over a socket.

use crate::nats::NatsArgs;
use crate::{Exit, Failure};
use clap::Args as ClapArgs;
use server::{AgentOptions, FleetError, Permit, WrongClock};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

#[derive(Clone, ClapArgs)]
pub(crate) struct AgentArgs {
    #[command(flatten)]
    nats: NatsArgs,
    /// Name of the agent: controllers see its ports as NAME/PORT [default: the name in the line of --join, else the
    /// host's]
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Ports that controllers can use
    #[arg(long, visible_alias = "port", value_name = "PORT", value_delimiter = ',')]
    ports: Vec<String>,
    /// Cores for workers [default: all but one]
    #[arg(long, visible_alias = "core", value_name = "LIST", value_delimiter = ',')]
    cores: Vec<usize>,
    /// For tests: error of the clock, ns
    #[arg(long, value_name = "NS", hide = true, default_value_t = 0, allow_negative_numbers = true)]
    clock_offset: i64,
    /// For tests: error of its rate, parts per 10⁹
    #[arg(long, value_name = "PPB", hide = true, default_value_t = 0, allow_negative_numbers = true)]
    clock_drift: i64,
}

impl AgentArgs {
    fn wrong_clock(&self) -> WrongClock {
        WrongClock { offset_ns: self.clock_offset, drift_ppb: self.clock_drift }
    }
}

/// `eagre agent`.
pub(crate) fn agent(args: &AgentArgs) -> Result<Exit, Failure> {
    // Before there are other threads.
    os::memory::use_few_areas();
    match args.nats.access()? {
        Some(access) => member(args, access),
        None => process(args),
    }
}

/// An agent of a fleet.
fn member(args: &AgentArgs, access: server::NatsAccess) -> Result<Exit, Failure> {
    let _delivery = crate::log::begin(Some("fleet=warn"), crate::log::Format::Text, None)?;
    if args.ports.is_empty() {
        return Err(Failure::bad_input("agent: name the ports that controllers can use with --ports"));
    }
    let host = || std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned();
    let cores = match args.cores.as_slice() {
        [] => os::cpu::worker_cores(os::cpu::allowed().len().saturating_sub(1).max(1), None),
        given => {
            os::cpu::check_cores(given)
                .map_err(|reason| Failure::bad_input(format!("agent: cores: {reason}")))?;
            given.to_vec()
        }
    };
    let joined = access.join.as_ref().map(|join| join.name.clone());
    if let (Some(given), Some(joined)) = (&args.name, &joined)
        && given != joined
    {
        return Err(Failure::bad_input(format!(
            "agent: name: the join line is for '{joined}'; leave --name out, or make others: eagre fleet add {given}"
        )));
    }
    let options = AgentOptions {
        access,
        name: args.name.clone().or(joined).unwrap_or_else(host),
        ports: args.ports.clone(),
        cores,
        wrong_clock: args.wrong_clock(),
    };
    let served = server::serve_agent(&options, |card| {
        let ports: Vec<&str> = card.ports.iter().map(|port| port.name.as_str()).collect();
        println!("eagre: agent '{}' with {} at {}", card.name, ports.join(", "), options.access.url);
        for port in card.ports.iter().filter(|port| port.is_missing()) {
            eprintln!(
                "eagre: agent: there is no interface '{}' here; runs with it are refused until there is",
                port.name
            );
        }
    });
    match served {
        Ok(()) => Ok(Exit::Done),
        Err(FleetError::BadInput(reason)) => Err(Failure::bad_input(format!("agent: {reason}"))),
        Err(FleetError::Refused(reason)) => Err(Failure::refused(format!("agent: {reason}"))),
    }
}

/// The process of one run.
fn process(args: &AgentArgs) -> Result<Exit, Failure> {
    let by_hand = |reason: String| {
        Failure::bad_input(format!(
            "agent: {reason}; 'eagre serve' starts agents of its machine itself, and --join or --nats makes one of a fleet"
        ))
    };
    let input = std::io::stdin().as_fd().try_clone_to_owned();
    let socket = UnixStream::from(input.map_err(|error| by_hand(error.to_string()))?);
    socket.peer_addr().map_err(|_| by_hand("standard input is no socket of a server".to_owned()))?;
    let permit = Permit {
        agent: args.name.clone(),
        ports: args.ports.clone(),
        cores: args.cores.clone(),
        wrong_clock: args.wrong_clock(),
    };
    server::serve_as_agent(socket, permit, |stop| {
        ctrlc::set_handler(stop).map_err(|error| format!("signals: {error}"))
    })
    .map_err(by_hand)?;
    Ok(Exit::Done)
}

/// The exit code by which a server recognizes an agent without memory.
const _: () = assert!(server::OUT_OF_MEMORY == Exit::Refused as i32);
