//! Sets up and runs one campaign, and writes its output.

use super::live::BenchLive;
use super::{BenchArgs, Setup, now};
use crate::output::NewFile;
use crate::run::{CALIBRATION, worker_cores};
use crate::simulate::SimTester;
use crate::verdicts::{Suite, VerdictFiles, suite_of_methods};
use crate::{Exit, Failure, args, interrupt};
use campaign::{Campaign, Directions, Ended, PortTester, Report, StoredCampaign, Tester};
use engine::{Commands, RunOptions};
use lab::{Hook, Moment, Template, Variables};
use os::TscClock;
use profile::Plan;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use store::{CampaignId, State};
use units::FrameLen;

/// Runs campaigns on open ports, with progress output; reused for all campaigns of a series.
pub(super) struct CampaignRunner {
    tester: Box<dyn Tester>,
    live: BenchLive,
    /// Sent by Ctrl-C.
    commands: Commands,
}

/// A campaign that has ended.
pub(super) struct FinishedCampaign {
    pub(super) id: CampaignId,
    pub(super) report: Report,
}

impl FinishedCampaign {
    pub(super) fn exit(&self) -> Exit {
        match self.report.ended {
            Ended::Interrupted => Exit::Interrupted,
            _ => self.suite("").outcome().exit(),
        }
    }

    /// The campaign's verdicts.
    pub(super) fn suite(&self, name: &str) -> Suite {
        suite_of_methods(name, &self.report.results, &self.report.ended)
    }
}

impl CampaignRunner {
    /// Opens the ports of `plan` for all of `setups`.
    pub(super) fn open(setups: &[&Setup], plan: &Plan) -> Result<Self, Failure> {
        let Some(setup) = setups.first() else { return Err(Failure::bad_input("no method to run")) };
        let longest =
            setups.iter().map(|setup| Campaign::longest_of(&setup.parts)).max().unwrap_or(FrameLen::MIN);
        let tester: Box<dyn Tester> = if setup.sim {
            let dut = setup.dut.as_deref().map(args::dut).transpose();
            let dut = dut.map_err(|reason| Failure::bad_input(format!("--dut: {reason}")))?;
            Box::new(SimTester::new(plan, dut, setup.cores))
        } else {
            let options = RunOptions::alone(worker_cores(setup.cores)?, true);
            Box::new(PortTester::open(
                plan,
                longest,
                options,
                TscClock::calibrate(CALIBRATION),
                &mut Commands::none(),
            )?)
        };
        let (control, commands) = engine::channel();
        interrupt::stops(control)?;
        Ok(Self { tester, live: BenchLive::new(), commands })
    }

    /// A campaign on these ports.
    pub(super) fn campaign(
        &self,
        setup: &Setup,
        plan: Plan,
        name: &str,
        hooks: Vec<Hook>,
        variables: Variables,
    ) -> Result<Campaign, Failure> {
        let mut resets = BTreeMap::new();
        for (name, command) in &setup.resets {
            let template =
                Template::parse(command).map_err(|e| Failure::bad_input(format!("reset '{name}': {e}")))?;
            resets.insert(name.clone(), template);
        }
        let hooks = [hooks, around_trials(setup)?].concat();
        let directions = Directions::of(&plan, &self.tester.speeds(), setup.timing, setup.attributes)?;
        let campaign = Campaign {
            name: name.to_owned(),
            profile: setup.profile.display().to_string(),
            parts: setup.parts.clone(),
            directions,
            plan,
            hooks,
            variables,
            resets,
            path: setup.path.as_deref().map(crate::path::read).transpose()?,
            mappings: None,
        };
        campaign.check()?;
        Ok(campaign)
    }

    /// Whether the user requested a stop.
    pub(super) fn is_stopped(&mut self) -> bool {
        self.commands.is_stopped()
    }

    /// Runs the remaining trials of a campaign.
    pub(super) fn run(
        &mut self,
        campaign: &Campaign,
        kept: StoredCampaign<'_>,
    ) -> Result<FinishedCampaign, Failure> {
        let StoredCampaign { store, id, finished } = kept;
        let kept = StoredCampaign { store: &mut *store, id: id.clone(), finished };
        let outcome = campaign.run(self.tester.as_mut(), Some(kept), &mut self.commands, &mut self.live);
        self.live.pause();
        let (state, reason) = match &outcome {
            Ok(Report { ended: Ended::Done, .. }) => (State::Done, None),
            Ok(Report { ended: Ended::Interrupted, .. }) => (State::Interrupted, None),
            Ok(Report { ended: Ended::Failed(why), .. }) => (State::Failed, Some(why.clone())),
            Err(error) => (State::Failed, Some(error.to_string())),
        };
        store.end(&id, state, Some(&now()), reason.as_deref())?;
        let report = outcome.map_err(|error| {
            let failure = Failure::from(error);
            let hint = format!("finished trials are stored; resume with: eagre bench --resume {id}");
            Failure { text: format!("{}\n{hint}", failure.text), ..failure }
        })?;
        Ok(FinishedCampaign { id, report })
    }
}

/// Hooks for --before-trial and --after-trial.
fn around_trials(setup: &Setup) -> Result<Vec<Hook>, Failure> {
    let before = setup.before_trial.iter().map(|command| (Moment::BeforeTrial, command));
    let after = setup.after_trial.iter().map(|command| (Moment::AfterTrial, command));
    let hook = |(when, command): (Moment, &String)| {
        Hook::here(when, command).map_err(|e| Failure::bad_input(format!("--{when} '{command}': {e}")))
    };
    before.chain(after).map(hook).collect()
}

/// Output files of a campaign or a series, drafted before the first trial so that a bad path is reported first.
pub(super) struct Output {
    report: Option<NewFile>,
    json: Option<NewFile>,
    verdicts: VerdictFiles,
}

impl Output {
    pub(super) fn open(args: &BenchArgs) -> Result<Self, Failure> {
        let draft = |path: &Option<PathBuf>| {
            let path = path.as_deref().filter(|path| *path != Path::new("-"));
            path.map(NewFile::create).transpose()
        };
        Ok(Self {
            report: draft(&args.report)?,
            json: draft(&args.json)?,
            verdicts: VerdictFiles::open(&args.verdicts)?,
        })
    }

    /// Writes report page, JSON document and verdicts, and prints the summary.
    pub(super) fn write(
        self,
        args: &BenchArgs,
        page: &str,
        document: &impl Serialize,
        suites: Vec<Suite>,
        summary: &str,
    ) -> Result<(), Failure> {
        if let Some(file) = self.report {
            file.write(page)?;
        }
        let text =
            serde_json::to_string_pretty(document).map_err(|e| Failure::refused(e.to_string()))? + "\n";
        match (args.json.is_some(), self.json) {
            (true, None) => {
                eprint!("{summary}");
                print!("{text}");
            }
            (_, file) => {
                print!("{summary}");
                if let Some(file) = file {
                    file.write(&text)?;
                }
            }
        }
        self.verdicts.write(suites)
    }
}

/// The findings as text.
pub(super) fn summary(id: &str, report: &Report, page: Option<&Path>) -> String {
    let mut text = String::new();
    for result in &report.results {
        text += &format!("\n  {}\n", result.method);
        result.summary.iter().for_each(|sentence| text += &format!("    {sentence}\n"));
        result.remarks.iter().for_each(|remark| text += &format!("    - {remark}\n"));
    }
    text += "\n";
    match &report.ended {
        Ended::Done => {}
        Ended::Failed(why) => text += &format!("  STOPPED: {why}\n"),
        Ended::Interrupted => text += &format!("  INTERRUPTED; resume with: eagre bench --resume {id}\n"),
    }
    match page {
        Some(path) => text + &format!("  campaign {id}; report in {}\n", path.display()),
        None => text + &format!("  campaign {id}; for a report: eagre results report {id}\n"),
    }
}
