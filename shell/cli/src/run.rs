//! `demo`, `run`, `send`, `replay`, `capture`, `receive` and `check`.

use crate::args::{CaptureArgs, Common, ListenArgs, OnDisturbed, ReplayArgs, RunArgs, SendArgs};
use crate::live::Live;
use crate::output::{self, Sinks};
use crate::text;
use crate::verdicts::Outcome;
use crate::{Exit, Failure, flags, interrupt, summary};
use engine::{Commands, Rig, RunOptions, Session, TrialObserver};
use os::TscClock;
use profile::document::{Document, IpPrefix, VlanId};
use profile::plan::{Address, Polling};
use profile::{ListenOptions, Overrides, Plan, ProfileError, ReplayOptions, SendOptions, Transport};
use result::{Overall, OverallResult, ResultDocument};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use units::{Load, Nanos};

const DEMO: &str = include_str!("../../../examples/demo.yaml");
/// Time for which a receiver waits for its sender to begin.
const SENDER_WAIT: Nanos = Nanos::from_secs(30);
/// Duration of the clock calibration where times of two processes are compared: ten times as exact.
const CALIBRATION_BETWEEN: Duration = Duration::from_millis(200);
/// Duration of the clock calibration.
pub(crate) const CALIBRATION: Duration = Duration::from_millis(20);

pub(crate) fn demo(common: &Common) -> Result<Exit, Failure> {
    let plan = load(DEMO, Path::new("examples/demo.yaml"), common)?;
    on_ports(DEMO, Shown { name: "demo", is_demo: true }, plan, common)
}

pub(crate) fn run(path: &Path, common: &Common) -> Result<Exit, Failure> {
    run_text(&read(path)?, path, common)
}

/// Runs a profile's text; files it names are in the folder of `name`.
pub(crate) fn run_text(text: &str, name: &Path, common: &Common) -> Result<Exit, Failure> {
    on_ports(text, Shown::run(&name_of(name)), load(text, name, common)?, common)
}

pub(crate) fn send(send: &SendArgs, print: bool, common: &Common) -> Result<Exit, Failure> {
    let options = SendOptions {
        port: send.port.clone(),
        to: send.to.clone(),
        ip: send.ip.clone().or_else(|| own_address(send)),
        to_ip: send.to_ip.clone(),
        gateway: send.gateway.clone(),
        src: send.src,
        dst: send.dst,
        dst_mac: send.dst_mac.clone(),
        transport: match (send.tcp, send.icmp) {
            (true, _) => Transport::Tcp,
            (_, true) => Transport::Icmp,
            _ => Transport::Udp,
        },
        sport: send.sport,
        dport: send.dport,
        vlan: send.vlan.map(VlanId),
        size: send.size,
        rate: common.rate,
        duration: common.duration,
        count: send.count,
        allow_default_route: send.allow_default_route,
    };
    run_or_print("send", &options.document(), print, common)
}

pub(crate) fn replay(replay: &ReplayArgs, print: bool, common: &Common) -> Result<Exit, Failure> {
    let options = ReplayOptions {
        file: replay.file.clone(),
        port: replay.port.clone(),
        to: replay.to.clone(),
        rate: common.rate,
        speed: replay.speed.clone(),
        loops: replay.loops,
        loop_addresses: replay.loop_addresses,
        split: replay.split,
        rewrite: replay.rewrite.clone(),
        push_vlan: replay.push_vlan.map(VlanId),
        pop_vlan: replay.pop_vlan,
        duration: common.duration,
        allow_default_route: replay.allow_default_route,
    };
    run_or_print("replay", &options.document(), print, common)
}

/// Resolves the profile `text` that options of the command `name` made; files they name are beside nothing.
pub(crate) fn of_options(name: &str, text: &str, rate: Option<Load>, run: &RunArgs) -> Result<Plan, Failure> {
    resolved(text, Path::new(""), rate, run).map_err(|errors| flags::bad_options(name, &errors))
}

/// Runs a profile that flags made, or prints it.
fn run_or_print(name: &str, document: &Document, print: bool, common: &Common) -> Result<Exit, Failure> {
    let text = document.to_yaml();
    if print {
        print!("{text}");
        return Ok(Exit::Done);
    }
    let plan = of_options(name, &text, common.rate, common)?;
    let spoken = |failure: Failure| Failure { text: flags::spoken(&failure.text), ..failure };
    on_ports(&text, Shown::run(name), plan, common).map_err(spoken)
}

/// `eagre receive`, and with `capture` `eagre capture`.
pub(crate) fn listen(
    listen: &ListenArgs,
    capture: Option<&CaptureArgs>,
    common: &Common,
) -> Result<Exit, Failure> {
    let options = ListenOptions {
        port: listen.port.clone(),
        ip: listen.ip.clone(),
        file: capture.map(|capture| capture.file.clone()),
        filter: capture.and_then(|capture| capture.filter.clone()),
        snap: capture.and_then(|capture| capture.snap.clone()),
        rotate_size: capture.and_then(|capture| capture.rotate_size.clone()),
        rotate_time: capture.and_then(|capture| capture.rotate_time),
        files: capture.and_then(|capture| capture.files),
        ring: capture.and_then(|capture| capture.ring.clone()),
        duration: common.duration,
        timestamps: listen.timestamps.into(),
        allow_default_route: listen.allow_default_route,
    };
    let ended = run_or_print(
        if capture.is_some() { "capture" } else { "receive" },
        &options.document(),
        false,
        common,
    )?;
    // Without a time, Ctrl-C is the way to end it.
    Ok(if ended == Exit::Interrupted && common.duration.is_none() { Exit::Done } else { ended })
}

/// `eagre receive --profile`: measures at one port the streams that another process sends by a profile.
pub(crate) fn receive(listen: &ListenArgs, profile: &Path, common: &Common) -> Result<Exit, Failure> {
    if common.cores != 1 {
        return Err(Failure::bad_input("receive --profile: works on one core; leave --cores out"));
    }
    let text = read(profile)?;
    // How long to listen says nothing about how long the other process sends.
    let overrides = Overrides {
        rate: common.rate,
        seed: common.seed,
        default_seed: os::entropy::seed(),
        memory_bytes: Some(os::memory::available_bytes()),
        ..Overrides::default()
    };
    let named = |errors: Vec<profile::ProfileError>| bad_profile(&profile.display().to_string(), &errors);
    let sent = profile::load_with(&text, &overrides, &files_beside(profile)).map_err(named)?;
    if sent.seed == overrides.default_seed {
        return Err(Failure::bad_input(format!(
            "{}: has no 'seed', by which packets are known: set one, or give the sender's with --seed to both",
            profile.display()
        )));
    }
    if sent.streams.iter().all(|stream| !stream.measure) {
        return Err(Failure::bad_input(format!("{}: no stream in it is measured", profile.display())));
    }
    let port = ListenOptions {
        port: listen.port.clone(),
        ip: listen.ip.clone(),
        timestamps: listen.timestamps.into(),
        allow_default_route: listen.allow_default_route,
        ..ListenOptions::default()
    };
    let port = resolved(&port.document().to_yaml(), Path::new(""), common.rate, common);
    let port = port.map_err(|errors| flags::bad_options("receive", &errors))?.ports.remove(0);
    let time = common.duration.unwrap_or(sent.duration.saturating_add(SENDER_WAIT));
    on_ports(&text, Shown::run(&name_of(profile)), sent.received_at(port, time), common)
}

/// The kernel's address on the sending interface, unless the options name a source.
fn own_address(send: &SendArgs) -> Option<IpPrefix> {
    if send.src.is_some() {
        return None;
    }
    let wants_v6 = send.dst.is_some_and(|dst| dst.is_ipv6());
    let addresses = os::link::addresses(&dpdk::netdev(&send.port)?).ok()?;
    let (ip, prefix_len) = addresses.into_iter().find(|(ip, _)| ip.is_ipv6() == wants_v6)?;
    Some(IpPrefix(Address { ip, prefix_len }))
}

/// Resolves a profile's text, and prints its warnings.
pub(crate) fn resolve(text: &str, name: &Path) -> Result<Plan, Failure> {
    let memory_bytes = Some(os::memory::available_bytes());
    let overrides = Overrides { default_seed: 1, memory_bytes, ..Overrides::default() };
    let plan = profile::load_with(text, &overrides, &files_beside(name))
        .map_err(|e| bad_profile(&name.display().to_string(), &e))?;
    warn(&plan);
    Ok(plan)
}

pub(crate) fn check(path: &Path) -> Result<Exit, Failure> {
    let plan = resolve(&read(path)?, path)?;
    engine::check_encryption(&plan)
        .map_err(|error| Failure::bad_input(format!("{}: {error}", path.display())))?;
    let sessions = match plan.sessions.len() {
        0 => String::new(),
        1 => " and 1 session entry".to_owned(),
        entries => format!(" and {entries} session entries"),
    };
    println!(
        "{}: OK: {}{sessions} on {}",
        path.display(),
        n(plan.streams.len(), "stream"),
        n(plan.ports.len(), "port")
    );
    Ok(Exit::Done)
}

fn n(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Reads a profile's text.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    text::read_or_stdin(path).map_err(|e| Failure::bad_input(format!("{}: {e}", path.display())))
}

/// Resolves a profile and the command line's overrides to a Plan; prints its warnings.
pub(crate) fn load(text: &str, name: &Path, common: &Common) -> Result<Plan, Failure> {
    load_at(text, name, common.rate, common)
}

/// The same; `rate` is that of every stream.
pub(crate) fn load_at(text: &str, name: &Path, rate: Option<Load>, run: &RunArgs) -> Result<Plan, Failure> {
    resolved(text, name, rate, run).map_err(|errors| bad_profile(&name.display().to_string(), &errors))
}

fn resolved(text: &str, name: &Path, rate: Option<Load>, run: &RunArgs) -> Result<Plan, Vec<ProfileError>> {
    let overrides = Overrides {
        rate,
        duration: run.duration,
        polling: run.polling.map(Polling::from),
        seed: run.seed,
        default_seed: os::entropy::seed(),
        memory_bytes: Some(os::memory::available_bytes()),
        ..Overrides::default()
    };
    let plan = profile::load_with(text, &overrides, &files_beside(name))?;
    warn(&plan);
    Ok(plan)
}

/// Prints a profile's warnings.
pub(crate) fn warn(plan: &Plan) {
    plan.warnings.iter().for_each(|warning| eprintln!("eagre: warning: {warning}"));
}

/// Reads the files a profile names; relative paths start at the profile's folder.
pub(crate) fn files_beside(profile: &Path) -> impl Fn(&str) -> Result<Vec<u8>, String> + use<> {
    let folder = profile.parent().map(Path::to_path_buf).unwrap_or_default();
    move |name| {
        let path = folder.join(name);
        os::draft::keep(&path);
        os::memory::read_file(&path, profile::FILE_MAX).map_err(|error| format!("'{name}': {error}"))
    }
}

pub(crate) fn bad_profile(name: &str, errors: &[profile::ProfileError]) -> Failure {
    let text = errors.iter().map(|e| format!("{name}: {e}\n")).collect::<String>();
    if errors.iter().all(|error| error.is_of_machine) {
        return Failure::refused(text);
    }
    Failure::bad_input(text)
}

/// Presentation of a run.
#[derive(Clone, Copy)]
pub(crate) struct Shown<'a> {
    /// Name in reports and verdicts.
    pub(crate) name: &'a str,
    /// Whether it shows what works here: then a busy machine is no failure.
    pub(crate) is_demo: bool,
}

impl<'a> Shown<'a> {
    pub(crate) fn run(name: &'a str) -> Self {
        Self { name, is_demo: false }
    }
}

/// Runs a plan, whose text is `text`, on its ports.
pub(crate) fn on_ports(text: &str, shown: Shown<'_>, plan: Plan, run: &RunArgs) -> Result<Exit, Failure> {
    let (cores, plan) = (worker_cores(run.cores)?, Arc::new(plan));
    repeated(run, shown, || {
        let sinks = Sinks::open(run, text)?;
        let (mut live, mut commands) = Live::new(run, sinks)?;
        let document = on_rig(plan.clone(), cores.clone(), !run.no_histograms, &mut commands, &mut live)?;
        Ok((document, live.finish()))
    })
}

/// Cores for as many workers.
pub(crate) fn worker_cores(wanted: u16) -> Result<Vec<usize>, Failure> {
    let cores = os::cpu::worker_cores(usize::from(wanted), None);
    if cores.len() < usize::from(wanted) {
        let have = cores.len();
        return Err(Failure::refused(format!(
            "{wanted} worker cores requested, {have} available; use a smaller --cores"
        )));
    }
    Ok(cores)
}

/// Opens the ports of a plan and runs it.
pub(crate) fn on_rig(
    plan: Arc<Plan>,
    cores: Vec<usize>,
    histograms: bool,
    commands: &mut Commands,
    observer: &mut dyn TrialObserver,
) -> Result<ResultDocument, Failure> {
    let rig = Rig::open(&plan, cores.len())?;
    let elsewhere = plan.sent_elsewhere.is_some()
        || plan.streams.iter().any(|stream| stream.measure && stream.to.is_none());
    let clock = TscClock::calibrate(if elsewhere { CALIBRATION_BETWEEN } else { CALIBRATION });
    let options = RunOptions::alone(cores, histograms);
    Ok(Session::load(plan, rig).run(&options, &clock, commands, observer)?)
}

/// Runs `once`, and again while the tester was disturbed where it matters and `--on-disturbed` allows it; concludes the
/// last run.
///
/// # Errors
/// A run can't start, or its output can't be written.
pub(crate) fn repeated(
    options: &RunArgs,
    shown: Shown<'_>,
    mut once: impl FnMut() -> Result<(ResultDocument, Sinks), Failure>,
) -> Result<Exit, Failure> {
    let on_disturbed = options.on_disturbed.unwrap_or(OnDisturbed::Fail);
    let repeats = match on_disturbed {
        OnDisturbed::Repeat(_) if options.control => {
            return Err(Failure::bad_input("--on-disturbed repeat: does not go with --control"));
        }
        OnDisturbed::Repeat(times) => times,
        _ => 0,
    };
    let mut run = 1;
    loop {
        let (mut document, sinks) = once()?;
        let overall = document.overall.get_or_insert_with(OverallResult::default);
        if run > 1 {
            overall.runs = Some(run);
        }
        let again =
            overall.overall() == Overall::CannotJudge && !document.interrupted && !interrupt::is_requested();
        if !again || run > u64::from(repeats) {
            return conclude(&document, sinks, options, shown);
        }
        let reason = document.overall.and_then(|overall| overall.reason).unwrap_or_default();
        eprintln!(
            "eagre: run {run} can't be judged here: {reason}; running again, {run} of up to {repeats} times"
        );
        run += 1;
    }
}

/// Writes the result, prints the summary and returns the exit code.
///
/// # Errors
/// A result or a capture could not be written.
pub(crate) fn conclude(
    document: &ResultDocument,
    sinks: Sinks,
    options: &RunArgs,
    shown: Shown<'_>,
) -> Result<Exit, Failure> {
    sinks.result(document, shown.name)?;
    let flowed = shown.is_demo && document.streams.values().any(|stream| stream.rx.is_some_and(|rx| rx > 0));
    let text = if flowed { summary::render_demo(document) } else { summary::render(document) };
    if output::is_stdout(options) {
        eprint!("{text}")
    } else {
        print!("{text}")
    }
    if let Some(reason) = &document.failure {
        return Err(Failure::refused(reason.clone()));
    }
    if let Some(lost) = document.lost_captures() {
        return Err(Failure::refused(lost));
    }
    // What works here is what a demo shows.
    let works = flowed && options.on_disturbed.is_none() && !document.interrupted;
    Ok(if works { Exit::Done } else { exit(document, options.on_disturbed) })
}

/// The exit code of a run.
fn exit(document: &ResultDocument, on_disturbed: Option<OnDisturbed>) -> Exit {
    let overall = document.overall.clone().unwrap_or_default().overall();
    match Outcome::from(overall).exit() {
        _ if document.interrupted => Exit::Interrupted,
        Exit::CannotJudge if on_disturbed == Some(OnDisturbed::Warn) => Exit::Done,
        exit => exit,
    }
}

/// The name of a profile in reports and verdicts: its file's, without folder and suffix.
pub(crate) fn name_of(path: &Path) -> String {
    if path == Path::new("-") {
        return "standard input".to_owned();
    }
    path.file_stem().map_or_else(|| "run".to_owned(), |stem| stem.to_string_lossy().into_owned())
}
