//! The process that a script runs in: opens the ports, gives up its rights, runs the script, reports.

use super::ScriptArgs;
use super::engine::Engine;
use super::report::Report;
use crate::run;
use crate::text;
use crate::{Exit, Failure};
use ::engine::Rig;
use ::script::{OpenPort, Outcome, Script};
use confine::{Confinement, Purpose};
use port::PortRequest;
use profile::document::{Document, PortDoc};
use std::fs::File;
use std::io::{IsTerminal, Seek, Write};
use std::path::{Path, PathBuf};

pub(super) fn run(args: &ScriptArgs, report: &Path) -> Result<Exit, Failure> {
    let name = args.file.display();
    let text = text::bytes(&args.file).map_err(|error| Failure::bad_input(format!("{name}: {error}")))?;
    let mut report = File::options()
        .write(true)
        .open(report)
        .map_err(|error| Failure::refused(format!("{name}: {error}")))?;
    let ports = open(args)?;
    let engine = Engine::new(&args.file, args.memory_bytes(), args.frame_len_max);
    ::script::prepare();
    let confined = confine::confine(&rights(args)?);
    let confined = confined.map_err(|error| Failure::refused(format!("confining the script: {error}")))?;
    // Its thread is to be confined, too.
    ctrlc::set_handler(::script::stop).map_err(|error| Failure::refused(format!("signals: {error}")))?;
    if !(confined.is_whole() || args.unconfined) {
        return Err(Failure::refused(
            "this kernel can't confine scripts (it needs Landlock and seccomp); \
             if you trust the script, add --unconfined",
        ));
    }
    // Should it end in the midst of it, this much is known.
    write(&mut report, &Report::begun(confined))?;
    let outcome = ::script::run(
        Script {
            path: args.file.clone(),
            text,
            arguments: args.arguments.clone(),
            colour: std::io::stdout().is_terminal(),
            run_time: args.run_time,
            frame_len_max: args.frame_len_max,
            seed: os::entropy::seed(),
        },
        ports,
        Box::new(engine),
    );
    write(&mut report, &Report::of(&outcome, confined))?;
    let exit = exit(&outcome);
    crate::print::flush()?;
    if outcome.is_complete {
        return Ok(exit);
    }
    // Tasks that go on use ports and memory that a tidy end would take away.
    os::process::end_now(exit as i32)
}

/// Puts `what` in place of what the file holds.
fn write(file: &mut File, what: &Report) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::refused(format!("the script's report: {error}"));
    let text = serde_json::to_vec(what).map_err(|error| failed(error.into()))?;
    file.rewind().and_then(|()| file.set_len(0)).and_then(|()| file.write_all(&text)).map_err(failed)
}

fn exit(outcome: &Outcome) -> Exit {
    match outcome.code {
        Some(0) if outcome.unmet.is_empty() => Exit::Done,
        Some(2) => Exit::BadInput,
        Some(3) => Exit::Refused,
        Some(_) => Exit::Failed,
        None if outcome.failed.is_empty() && outcome.unmet.is_empty() => Exit::Done,
        None => Exit::Failed,
    }
}

/// Opens the ports as a profile with them and nothing else does.
fn open(args: &ScriptArgs) -> Result<Vec<OpenPort>, Failure> {
    if args.devices().next().is_none() {
        return Ok(Vec::new());
    }
    if let Some(device) = args.devices().find(|device| device.starts_with("xdp:")) {
        let message = format!("{device}: it sends by a call that scripts may not make; use af{device}");
        return Err(Failure::bad_input(message));
    }
    let port = |(number, device): (usize, &String)| {
        let port = PortDoc { allow_default_route: args.allow_default_route, ..PortDoc::new(device) };
        (number.to_string(), port)
    };
    let ports = Document { ports: args.devices().enumerate().map(port).collect(), ..Document::default() };
    let plan = run::resolve(&ports.to_yaml(), &args.file)?;
    let request = PortRequest { queues: 1, frame_len_max: args.frame_len_max, confined: true };
    Ok(Rig::open_for(&plan, request)?.into_ports())
}

/// Its folder and the files its arguments name, to read; the present folder, to write. The root is too much of a folder.
fn rights(args: &ScriptArgs) -> Result<Confinement, Failure> {
    let failed = |error: std::io::Error| Failure::refused(format!("the present folder: {error}"));
    let here = std::env::current_dir().map_err(failed)?;
    let folder = match args.file.parent() {
        Some(folder) if folder != Path::new("") => folder.to_path_buf(),
        _ => here.clone(),
    };
    // What the kernel tells of its own threads says how much of a worker's time others took.
    let known = ["/etc/localtime", "/usr/share/zoneinfo", "/proc/self/task"];
    let mut read: Vec<PathBuf> = known.into_iter().map(PathBuf::from).chain([folder]).collect();
    let named = args.arguments.iter().filter(|_| !args.folder_only);
    read.extend(named.map(PathBuf::from).filter(|path| path.is_file()));
    let write = if here == Path::new("/") { Vec::new() } else { vec![here] };
    let messages = !args.devices().any(|device| has_packet_sockets(device));
    Ok(Confinement {
        purpose: Purpose::Script { messages },
        read,
        write,
        memory_bytes: args.memory_bytes(),
        ..Confinement::default()
    })
}

/// Whether sockets of the port could send to other interfaces if messages had addresses: all but shared memory's.
fn has_packet_sockets(device: &str) -> bool {
    !["memif:", "vhost:", "virtio:", "ring:", "null"].iter().any(|kind| device.starts_with(kind))
}
