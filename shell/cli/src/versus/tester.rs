//! Runs single trials of a side: in virtual time, on ports, or in a lab.

use super::device::DeviceCommands;
use crate::run::{CALIBRATION, bad_profile, files_beside};
use crate::simulate::SimTester;
use crate::{Exit, Failure, interrupt};
use campaign::{PortTester, Tester as _};
use engine::{Commands, RunOptions, TrialObserver, View};
use lab::ChosenTest;
use methods::PairedTrial;
use os::TscClock;
use profile::{Overrides, Plan};
use result::ResultDocument;
use simulation::Dut;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use units::{FrameLen, Load, Nanos};

/// Time between two snapshots of a trial, which are not used.
const SNAPSHOTS: Nanos = Nanos::from_secs(1);
/// Interval at which a waiting tester checks whether to stop.
const TURN: Duration = Duration::from_millis(10);

/// One of the two sides: what is sent, and to what.
#[derive(Debug, Clone)]
pub(crate) struct SideSetup {
    /// Its name in output.
    pub(crate) label: String,
    pub(crate) traffic: Traffic,
    pub(crate) device: DeviceCommands,
}

/// Traffic of a trial.
#[derive(Debug, Clone)]
pub(crate) enum Traffic {
    /// A profile's text, and where it is.
    Profile { text: String, path: PathBuf, dut: Option<Dut> },
    /// A test of a lab that is up.
    Lab(Box<ChosenTest>),
}

/// Settings common to all trials.
#[derive(Debug, Clone)]
pub(crate) struct TrialSettings {
    pub(crate) rate: Option<Load>,
    pub(crate) duration: Option<Nanos>,
    pub(crate) settle: Nanos,
    pub(crate) cores: u16,
    pub(crate) sim: bool,
    /// Arguments of a lab's test.
    pub(crate) more: Vec<OsString>,
}

/// Runs trials, one at a time.
pub(crate) struct TrialRunner {
    settings: TrialSettings,
    clock: Option<TscClock>,
    cores: Vec<usize>,
    /// Sent by Ctrl-C.
    commands: Commands,
}

impl TrialRunner {
    /// A runner; from now on Ctrl-C ends the trial under way.
    pub(crate) fn new(settings: TrialSettings) -> Result<Self, Failure> {
        let (control, commands) = engine::channel();
        interrupt::stops(control)?;
        let real = !settings.sim;
        let cores = if real { crate::run::worker_cores(settings.cores)? } else { Vec::new() };
        Ok(Self { clock: real.then(|| TscClock::calibrate(CALIBRATION)), cores, settings, commands })
    }

    /// Whether the user requested a stop.
    pub(crate) fn is_stopped(&mut self) -> bool {
        self.commands.is_stopped()
    }

    /// The plan of a side with a seed.
    pub(crate) fn plan(&self, text: &str, path: &Path, seed: u64) -> Result<Plan, Failure> {
        let overrides = Overrides {
            rate: self.settings.rate,
            duration: self.settings.duration,
            seed: Some(seed),
            memory_bytes: Some(os::memory::available_bytes()),
            ..Overrides::default()
        };
        profile::load_with(text, &overrides, &files_beside(path))
            .map_err(|errors| bad_profile(&path.display().to_string(), &errors))
    }

    /// Runs a trial with what surrounds it.
    pub(crate) fn trial(&mut self, side: &SideSetup, trial: PairedTrial) -> Result<ResultDocument, Failure> {
        let commands = &mut self.commands;
        let device = side.device.begin(&mut || commands.is_stopped())?;
        self.settle();
        let document = match &side.traffic {
            Traffic::Profile { text, path, dut } => {
                let plan = self.plan(text, path, trial.seed)?;
                if self.settings.sim { self.simulated(plan, *dut) } else { self.on_ports(plan) }
            }
            Traffic::Lab(test) => self.in_lab(test, trial.seed),
        }?;
        let commands = &mut self.commands;
        side.device.end(device, &mut || commands.is_stopped())?;
        Ok(document)
    }

    fn settle(&mut self) {
        let began = Instant::now();
        while began.elapsed() < Duration::from_nanos(self.settings.settle.0) && !self.commands.is_stopped() {
            std::thread::sleep(TURN);
        }
    }

    fn simulated(&mut self, plan: Plan, dut: Option<Dut>) -> Result<ResultDocument, Failure> {
        let mut tester = SimTester::new(&plan, dut, self.settings.cores);
        Ok(tester.run(plan, &mut self.commands, &mut Unseen)?)
    }

    /// Opens the ports anew: a device that was restarted may have other ends of them.
    fn on_ports(&mut self, plan: Plan) -> Result<ResultDocument, Failure> {
        let Some(clock) = self.clock else {
            return Err(Failure::refused("no clock: the trial is simulated"));
        };
        let options = RunOptions::alone(self.cores.clone(), true);
        let mut tester = PortTester::open(&plan, FrameLen::MIN, options, clock, &mut self.commands)?;
        Ok(tester.run(plan, &mut self.commands, &mut Unseen)?)
    }

    /// Runs this program in the namespace of the lab's tester.
    fn in_lab(&mut self, test: &ChosenTest, seed: u64) -> Result<ResultDocument, Failure> {
        let binary = std::env::current_exe().map_err(|e| Failure::refused(format!("this program: {e}")))?;
        let mut more: Vec<OsString> =
            ["--json", "-", "--seed", &seed.to_string()].map(OsString::from).to_vec();
        let cores = self.settings.cores.to_string();
        more.extend(["--cores", &cores].map(OsString::from));
        let options = [
            ("--rate", self.settings.rate.map(|rate| rate.to_string())),
            ("--duration", self.settings.duration.map(|time| time.to_string())),
        ];
        for (name, value) in options {
            more.extend(value.into_iter().flat_map(|value| [name.to_owned(), value]).map(OsString::from));
        }
        more.extend_from_slice(&self.settings.more);
        let mut command = lab::test_command(test, &binary, &more);
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let output = child
            .and_then(std::process::Child::wait_with_output)
            .map_err(|error| Failure::refused(format!("ip netns exec: {error}")))?;
        serde_json::from_slice(&output.stdout).map_err(|_| {
            let words = String::from_utf8_lossy(&output.stderr);
            let words = words.trim().trim_start_matches("eagre: ").to_owned();
            let exit = if output.status.code() == Some(Exit::BadInput as i32) {
                Exit::BadInput
            } else {
                Exit::Refused
            };
            Failure { exit, text: format!("a trial in the lab failed ({}): {words}", output.status) }
        })
    }
}

/// Nobody looks at a trial that is one of many.
struct Unseen;

impl TrialObserver for Unseen {
    fn interval(&self) -> Nanos {
        SNAPSHOTS
    }

    fn reads_streams(&self) -> bool {
        false
    }

    fn snapshot(&mut self, _: &View<'_>) {}
}
