//! Testers: what runs the trials, on ports in real time or in a simulation.

use engine::{Commands, EngineError, PortUser, Rig, RunOptions, Session, TrialObserver};
use os::TscClock;
use profile::Plan;
use profile::plan::Sizes;
use result::ResultDocument;
use std::sync::Arc;
use std::time::{Duration, Instant};
use units::{FrameLen, Nanos};

/// Interval at which a waiting tester checks whether to stop.
const PATIENCE: Duration = Duration::from_millis(20);

/// Runs the trials of a campaign.
pub trait Tester {
    /// Speed of each port of the profile, bits/s at layer 1, where it is known.
    fn speeds(&self) -> Vec<Option<u64>>;

    /// Runs a trial.
    ///
    /// # Errors
    /// The trial could not be run.
    fn run(
        &mut self,
        plan: Plan,
        commands: &mut Commands,
        observer: &mut dyn TrialObserver,
    ) -> Result<ResultDocument, EngineError>;

    /// Lends the ports, with the hosts of the plan's sessions, to `user` until it is done.
    ///
    /// # Errors
    /// A port can't be lent, or a neighbour does not reply.
    fn lend(
        &mut self,
        plan: Plan,
        commands: &mut Commands,
        user: &mut dyn PortUser,
    ) -> Result<ResultDocument, EngineError>;

    /// Waits for `span`, or until `stop` is true.
    fn wait(&mut self, span: Nanos, stop: &mut dyn FnMut() -> bool);

    /// Whether time is real, so that a device's counters can be read.
    fn is_real(&self) -> bool;
}

/// Open ports.
pub struct PortTester {
    /// Absent only while a trial has it.
    rig: Option<Rig>,
    options: RunOptions,
    clock: TscClock,
}

impl PortTester {
    /// Opens the ports of `plan`, for frames as long as `longest` if streams are sent.
    ///
    /// # Errors
    /// A port can't be opened, or `commands` requests a stop meanwhile.
    pub fn open(
        plan: &Plan,
        longest: FrameLen,
        options: RunOptions,
        clock: TscClock,
        commands: &mut Commands,
    ) -> Result<Self, EngineError> {
        let mut widest = plan.clone();
        let sizes = Arc::new(Sizes::one(longest));
        // Methods that choose no lengths send those of the profile.
        let shorter = widest.streams.iter_mut().filter(|stream| stream.sizes.longest() < longest);
        shorter.for_each(|stream| stream.sizes = sizes.clone());
        let rig = Rig::open_unless(&widest, options.cores.len(), &mut || commands.is_stopped())?;
        Ok(Self { rig: Some(rig), options, clock })
    }
}

impl Tester for PortTester {
    fn speeds(&self) -> Vec<Option<u64>> {
        self.rig.iter().flat_map(Rig::facts).map(|facts| facts.speed_bps).collect()
    }

    fn run(
        &mut self,
        plan: Plan,
        commands: &mut Commands,
        observer: &mut dyn TrialObserver,
    ) -> Result<ResultDocument, EngineError> {
        let rig = self.rig.take().expect("a rig comes back from every trial");
        let mut session = Session::load(plan, rig);
        let document = session.run(&self.options, &self.clock, commands, observer);
        self.rig = Some(session.into_rig());
        // What a trial counted that the tester ended says nothing about the device.
        match document? {
            ResultDocument { failure: Some(reason), .. } => Err(EngineError::Failed(reason)),
            document => Ok(document),
        }
    }

    fn lend(
        &mut self,
        plan: Plan,
        commands: &mut Commands,
        user: &mut dyn PortUser,
    ) -> Result<ResultDocument, EngineError> {
        let rig = self.rig.take().expect("a rig comes back from every trial");
        let mut session = Session::load(plan, rig);
        let document = session.lend(&self.clock, commands, user);
        self.rig = Some(session.into_rig());
        document
    }

    fn wait(&mut self, span: Nanos, stop: &mut dyn FnMut() -> bool) {
        let end = Instant::now() + Duration::from_nanos(span.0);
        while !stop() {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            std::thread::sleep(left.min(PATIENCE));
        }
    }

    fn is_real(&self) -> bool {
        true
    }
}
