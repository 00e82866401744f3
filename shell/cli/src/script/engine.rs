//! Runs the streams and sessions of a script, as `eagre run` runs a profile's. All it does is allowed to a confined process.

use crate::run;
use ::engine::{
    Command, CommandError, Commands, RateCommand, Rig, RunOptions, Session, Speed, TrialObserver, View,
};
use ::script::OpenPort;
use ::script::traffic::{Control, Measured, Mistake, PortTotals, Rate, Trial};
use os::TscClock;
use profile::{Overrides, Plan};
use result::{PortResult, ResultDocument, TotalDocument};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use units::Nanos;

/// Interval of count updates to a script.
const EVERY: Nanos = Nanos::from_millis(50);
/// They take at most one part in this many of the time.
const COUNTS_SHARE: u32 = 10;

/// The engine as seen by scripts. System files are read before the process is confined.
pub(super) struct Engine {
    script: PathBuf,
    cores: Vec<usize>,
    memory_bytes: u64,
    frame_len_max: u32,
}

impl Engine {
    /// For a script, which locates its streams' files, with a memory limit, and ports for frames of up to
    /// `frame_len_max` bytes.
    pub(super) fn new(script: &Path, memory_bytes: u64, frame_len_max: u32) -> Self {
        Self {
            script: script.to_path_buf(),
            cores: os::cpu::worker_cores(1, None),
            memory_bytes: memory_bytes.min(os::memory::available_bytes()),
            frame_len_max,
        }
    }
}

impl ::script::traffic::Engine for Engine {
    fn load(&self, profile: &str) -> Result<Box<dyn Trial>, Vec<Mistake>> {
        let overrides = Overrides {
            default_seed: os::entropy::seed(),
            memory_bytes: Some(self.memory_bytes),
            ..Overrides::default()
        };
        let plan = profile::load_with(profile, &overrides, &run::files_beside(&self.script));
        let plan = plan.map_err(|errors| {
            errors
                .into_iter()
                .map(|error| Mistake { path: error.path, reason: error.reason })
                .collect::<Vec<_>>()
        })?;
        let longest = plan.longest_frame();
        if longest > self.frame_len_max {
            let most = self.frame_len_max;
            let reason =
                format!("a frame of {longest} bytes: the script's ports carry {most}; give --frame-length");
            return Err(vec![Mistake { path: String::new(), reason }]);
        }
        if plan.ports.iter().any(|port| port.punt.is_some()) {
            let reason = "punt: a confined script can't make network namespaces; use a profile".to_owned();
            return Err(vec![Mistake { path: String::new(), reason }]);
        }
        run::warn(&plan);
        let (control, commands) = ::engine::channel();
        let cores = self.cores.clone();
        Ok(Box::new(Loaded { plan, cores, control, commands }))
    }
}

struct Loaded {
    plan: Plan,
    cores: Vec<usize>,
    control: ::engine::Control,
    commands: Commands,
}

impl Trial for Loaded {
    fn control(&self) -> Box<dyn Control> {
        Box::new(Steering(self.control.clone()))
    }

    fn run(
        self: Box<Self>,
        ports: Vec<OpenPort>,
        watch: &mut dyn FnMut(Value),
    ) -> (Vec<OpenPort>, Result<Measured, String>) {
        let Self { plan, cores, mut commands, .. } = *self;
        let clock = TscClock::calibrate(run::CALIBRATION);
        let mut session = Session::load(plan, Rig::from_ports(ports));
        let options = RunOptions::alone(cores, true);
        let mut counts = Counts { watch, next: Instant::now() };
        let document = session.run(&options, &clock, &mut commands, &mut counts);
        let measured = document.map_err(|error| error.to_string()).and_then(|document| measured(&document));
        (session.into_rig().into_ports(), measured)
    }
}

fn measured(document: &ResultDocument) -> Result<Measured, String> {
    let totals = |port: &PortResult| PortTotals {
        tx: (port.tx_packets, port.tx_bytes),
        rx: (port.rx_packets, port.rx_bytes),
    };
    Ok(Measured {
        document: serde_json::to_value(document).map_err(|error| format!("the result: {error}"))?,
        failure: document.failure.clone(),
        counts: json!({"streams": document.streams, "sessions": document.sessions}),
        ports: document.ports.values().map(totals).collect(),
    })
}

/// Tells a script what was counted.
struct Counts<'w> {
    watch: &'w mut dyn FnMut(Value),
    next: Instant,
}

impl TrialObserver for Counts<'_> {
    fn interval(&self) -> Nanos {
        EVERY
    }

    /// It reads counts since the start only.
    fn reads_streams(&self) -> bool {
        false
    }

    fn snapshot(&mut self, view: &View<'_>) {
        let begin = Instant::now();
        if begin < self.next {
            return;
        }
        let TotalDocument { streams, sessions, .. } = view.total();
        (self.watch)(json!({"streams": streams, "sessions": sessions}));
        self.next = begin + begin.elapsed() * COUNTS_SHARE - Duration::from_millis(1);
    }
}

/// Sends a script's changes to its run.
struct Steering(::engine::Control);

impl Control for Steering {
    fn set_rate(&self, name: &str, rate: Rate<'_>) -> Result<bool, String> {
        let speed = match rate {
            Rate::Text(text) => text.parse()?,
            Rate::Share(ppm) => Speed::Share(ppm),
        };
        let command = RateCommand { stream: Some(name.to_owned()), speed, at: None };
        match self.0.request(Command::SetRate(command)).wait() {
            Ok(_) => Ok(true),
            Err(CommandError::Ended) => Ok(false),
            Err(CommandError::Refused(reason)) => Err(reason),
        }
    }

    fn stop(&self) {
        self.0.stop();
    }
}
