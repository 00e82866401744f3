//! The `eagre` command: turns command-line arguments into a profile, a run and an exit code.
//!
//! Not here: anything a library user could not do with the crates below.

#![forbid(unsafe_code)]

// First: its macros take the place of the standard library's.
#[macro_use]
mod print;

mod agent;
mod args;
mod bench;
mod bisect;
mod capacity;
mod ci;
mod confined;
mod control;
mod examples;
mod exit;
mod explain;
mod flags;
mod fleet;
mod hints;
mod http;
mod init;
mod interrupt;
mod iperf3;
mod lab;
mod lab_compare;
mod live;
mod log;
mod machine;
mod man;
mod nat_log;
mod nats;
mod otlp;
mod output;
mod path;
mod path_delay;
mod responsiveness;
mod results;
mod run;
mod script;
mod serve;
mod simulate;
mod summary;
mod table;
mod text;
mod top;
mod trex;
mod trust;
mod verdicts;
mod versus;
mod words;

use args::{Args, Command};
use clap::CommandFactory;
use exit::{Exit, Failure};
use std::process::ExitCode;

/// Ends the program with the exit code of a refusal when memory runs out.
#[global_allocator]
static ALLOCATOR: os::memory::OrExit = os::memory::OrExit {
    message: b"eagre: out of memory; use fewer streams, disable latency histograms (--no-histograms), or free memory\n",
    code: Exit::Refused as i32,
};

fn main() -> ExitCode {
    // clap ends the process with code 2 on bad arguments.
    let args = hints::parsed(&args::joined(std::env::args_os()));
    let exit = execute(args.command).unwrap_or_else(reported);
    // A result that nobody can read is as good as none.
    let exit = print::flush().map_or_else(|failure| exit.and(reported(failure)), |()| exit);
    // No DPDK cleanup: it would free memory that its own interrupt thread still uses. The kernel frees everything.
    ExitCode::from(exit as u8)
}

/// Prints why a command failed.
fn reported(failure: Failure) -> Exit {
    for line in failure.text.lines() {
        eprintln!("eagre: {line}");
    }
    failure.exit
}

fn execute(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Demo { common } => run::demo(&common),
        Command::Run { profile, common } => run::run(&profile, &common),
        Command::Send { send, print, common } => run::send(&send, print, &common),
        Command::Http { http, print, run } => http::http(&http, print, &run),
        Command::Capacity { capacity } => capacity::capacity(&capacity),
        Command::PathDelay { path_delay } => path_delay::path_delay(&path_delay),
        Command::Responsiveness { responsiveness } => responsiveness::responsiveness(&responsiveness),
        Command::Iperf3 { iperf3 } => iperf3::iperf3(&iperf3),
        Command::Replay { replay, print, common } => run::replay(&replay, print, &common),
        Command::Capture { listen, capture, common } => run::listen(&listen, Some(&capture), &common),
        Command::Receive { listen, profile: None, common } => run::listen(&listen, None, &common),
        Command::Receive { listen, profile: Some(profile), common } => {
            run::receive(&listen, &profile, &common)
        }
        Command::Sim { profile, sim, common } => simulate::sim(&profile, &sim, &common),
        Command::Check { profile } => run::check(&profile),
        Command::Init { init } => init::init(&init),
        Command::NatLog { nat_log } => nat_log::nat_log(&nat_log),
        Command::Bench { bench } => bench::bench(&bench),
        Command::Versus { versus } => versus::versus(&versus),
        Command::Bisect { bisect } => bisect::bisect(&bisect),
        Command::Ci { ci } => ci::ci(&ci),
        Command::Lab { lab } => lab::lab(lab),
        Command::Serve { serve } => serve::serve(&serve),
        Command::Agent { agent } => agent::agent(&agent),
        Command::Fleet { fleet } => fleet::fleet(&fleet),
        Command::Path { path } => path::path(&path),
        Command::Ports { json } => machine::ports(json),
        Command::Doctor { fix: true, dry_run, .. } => machine::fix(dry_run),
        Command::Doctor { undo: true, dry_run, .. } => machine::undo(dry_run),
        Command::Doctor { json, .. } => machine::doctor(json),
        Command::Top { top } => top::top(&top),
        Command::Explain { explain } => explain::explain(&explain),
        Command::Results { results } => results::results(&results),
        Command::Trex { trex } => trex::trex(&trex),
        Command::Script { script } => script::script(&script),
        Command::Schema { what } => output::schema(what),
        Command::Completion { shell } => {
            clap_complete::generate(shell, &mut Args::command(), "eagre", &mut print::Stdout);
            Ok(Exit::Done)
        }
        Command::Man { folder } => man::man(folder.as_deref()),
    }
}
