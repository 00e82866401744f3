//! `eagre bench campaign`: runs several methods over several device configurations, unattended.
//!
//! Each run is a separate campaign in the store; a tag groups the series. The store holds the progress, so a series is
//! resumed like a campaign.

use super::runner::{self, CampaignRunner, FinishedCampaign, Output};
use super::{BenchArgs, Series, Setup, absolute, check_resume, load, new_campaign, now, timing};
use crate::run::read;
use crate::verdicts::{Suite, suite_of_methods};
use crate::{Exit, Failure};
use campaign::document::{self, Document};
use campaign::{Campaign, Choice, Ended, StoredCampaign};
use lab::{Hook, MatrixRun, Moment};
use methods::{Attributes, MethodResult};
use profile::Plan;
use serde::Serialize;
use std::path::{Path, PathBuf};
use store::{CampaignId, Filter, Loaded, State, Store, report};

/// The name used in place of a method.
pub(super) const METHOD: &str = "campaign";

/// A campaign document and the files it names.
struct SeriesDocument {
    document: Document,
    /// Path of the document, and the SHA-256 of its text.
    path: PathBuf,
    sha256: String,
    /// Folder that its paths are relative to.
    folder: PathBuf,
    /// Text and path of the profile.
    profile: String,
    profile_path: PathBuf,
    runs: Vec<MatrixRun>,
    hooks: Vec<Hook>,
}

impl SeriesDocument {
    fn read(path: &Path) -> Result<Self, Failure> {
        let text = read(path)?;
        let name = path.display();
        let document = Document::read(&text).map_err(|errors| {
            Failure::bad_input(errors.iter().map(|error| format!("{name}: {error}\n")).collect::<String>())
        })?;
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let profile_path = absolute(&folder.join(&document.profile));
        let runs =
            document.matrix().runs().map_err(|error| Failure::bad_input(format!("{name}: {error}")))?;
        Ok(Self {
            profile: read(&profile_path)?,
            profile_path,
            runs,
            hooks: document.all_hooks(),
            path: absolute(path),
            folder,
            sha256: store::sha256(&text),
            document,
        })
    }

    /// The settings of a run.
    fn setup(&self, args: &BenchArgs, series: &str, number: usize) -> Result<Setup, Failure> {
        let document = &self.document;
        let bad = |reason: String| Failure::bad_input(format!("{}: {reason}", self.path.display()));
        let choice = Choice::by_name(&self.runs[number].method)?;
        let settings = document.settings(choice).map_err(bad)?;
        Ok(Setup {
            method: choice.name.to_owned(),
            parts: choice.parts(&settings)?,
            timing: timing(document.quick, document.times()),
            attributes: Attributes {
                random_stimuli: document.random_stimuli,
                networks: u16::try_from(document.networks).unwrap_or(u16::MAX),
                modifier: document.modifier().map_err(bad)?,
            },
            resets: document.resets.clone(),
            before_trial: args.before_trial.clone(),
            after_trial: args.after_trial.clone(),
            profile: self.profile_path.clone(),
            path: document.path.as_ref().map(|path| absolute(&self.folder.join(path))),
            path_document: None,
            cores: args.cores,
            sim: args.sim,
            dut: args.dut.clone(),
            series: Some(Series {
                id: series.to_owned(),
                document: self.path.clone(),
                sha256: self.sha256.clone(),
                run: number,
            }),
        })
    }

    fn tags(&self, series: &str, run: &MatrixRun) -> Vec<String> {
        let mut tags = self.document.tags.clone();
        tags.push(format!("series={series}"));
        let configuration = document::configuration(run);
        if !configuration.is_empty() {
            tags.push(format!("config={configuration}"));
        }
        tags
    }
}

/// Starts a series.
pub(super) fn begin(args: &BenchArgs, output: Output, store: &Path, file: &Path) -> Result<Exit, Failure> {
    let script = SeriesDocument::read(file)?;
    // The time as digits only, safe in file names.
    let instant: String = now().chars().filter(char::is_ascii_digit).collect();
    let series = format!("{}-{instant}", script.document.name);
    SeriesRunner::open(args, script, &series, args.seed)?.run(args, output, Store::open(store)?)
}

/// Resumes a series.
pub(super) fn resume(
    args: &BenchArgs,
    output: Output,
    store: Store,
    series: &Series,
) -> Result<Exit, Failure> {
    let script = SeriesDocument::read(&series.document)?;
    if script.sha256 != series.sha256 {
        let path = series.document.display();
        return Err(Failure::bad_input(format!(
            "cannot resume series {}: {path} has changed since it started",
            series.id
        )));
    }
    let seed = of_series(&store, &series.id)?.first().map(|(_, id)| store.campaign(id)).transpose()?;
    let mut args = args.clone();
    if let Some(first) = &seed {
        let setup: Setup = serde_json::from_value(first.config.clone())
            .map_err(|error| Failure::bad_input(format!("campaign {}: {error}", first.id)))?;
        (args.cores, args.sim, args.dut) = (setup.cores, setup.sim, setup.dut);
        (args.before_trial, args.after_trial) = (setup.before_trial, setup.after_trial);
    }
    SeriesRunner::open(&args, script, &series.id, seed.map(|first| first.seed))?.run(&args, output, store)
}

/// Campaigns of a series by run number.
fn of_series(store: &Store, series: &str) -> Result<Vec<(usize, CampaignId)>, Failure> {
    let filter = Filter { tags: vec![format!("series={series}")], ..Filter::default() };
    let mut all = Vec::new();
    for summary in store.list(&filter)? {
        let setup = serde_json::from_value::<Setup>(store.campaign(&summary.id)?.config).ok();
        all.extend(setup.and_then(|setup| setup.series).map(|series| (series.run, summary.id)));
    }
    all.sort();
    Ok(all)
}

/// A series on open ports.
struct SeriesRunner {
    script: SeriesDocument,
    series: String,
    setups: Vec<Setup>,
    plan: Plan,
    runner: CampaignRunner,
}

impl SeriesRunner {
    fn open(
        args: &BenchArgs,
        script: SeriesDocument,
        series: &str,
        seed: Option<u64>,
    ) -> Result<Self, Failure> {
        let plan = load(&script.profile, &script.profile_path, seed)?;
        let setups: Result<Vec<Setup>, Failure> =
            (0..script.runs.len()).map(|number| script.setup(args, series, number)).collect();
        let setups = setups?;
        let runner = CampaignRunner::open(&setups.iter().collect::<Vec<_>>(), &plan)?;
        Ok(Self { script, series: series.to_owned(), setups, plan, runner })
    }

    fn campaign(&self, number: usize) -> Result<Campaign, Failure> {
        let (run, document) = (&self.script.runs[number], &self.script.document);
        let name = &document.name;
        self.runner.campaign(
            &self.setups[number],
            self.plan.clone(),
            name,
            self.script.hooks.clone(),
            run.variables(),
        )
    }

    fn run(mut self, args: &BenchArgs, output: Output, mut store: Store) -> Result<Exit, Failure> {
        // Check all campaigns before the first one starts.
        let campaigns: Result<Vec<Campaign>, Failure> =
            (0..self.script.runs.len()).map(|number| self.campaign(number)).collect();
        let campaigns = campaigns?;
        if args.estimate {
            return estimate(&campaigns);
        }
        let around = campaigns[0].own_variables();
        campaigns[0].hooks(Moment::BeforeCampaign, &around)?;
        let outcome = self.run_all(&campaigns, &mut store);
        let after = campaigns[0].hooks(Moment::AfterCampaign, &around);
        let exit = outcome?;
        after?;
        self.write_output(args, output, &store)?;
        Ok(super::excused(exit, args))
    }

    /// Runs what is not done yet; returns the exit code.
    fn run_all(&mut self, campaigns: &[Campaign], store: &mut Store) -> Result<Exit, Failure> {
        let stored = of_series(store, &self.series)?;
        let mut exit = Exit::Done;
        let mut configured = 0;
        for (number, campaign) in campaigns.iter().enumerate() {
            let id = stored.iter().find(|(run, _)| *run == number).map(|(_, id)| id.clone());
            if let Some(id) = &id
                && store.campaign(id)?.state == State::Done
            {
                continue;
            }
            let run = self.script.runs[number].clone();
            eprintln!(
                "  {} of {}: {} {}",
                number + 1,
                campaigns.len(),
                run.method,
                document::configuration(&run)
            );
            // Also when a series resumes in the middle of a configuration.
            if configured != run.configuration {
                campaign.hooks(Moment::BeforeConfiguration, &campaign.own_variables())?;
                configured = run.configuration;
            }
            let outcome = self.run_one(number, campaign, id, store);
            if run.ends_configuration || outcome.is_err() {
                campaign.hooks(Moment::AfterConfiguration, &campaign.own_variables())?;
            }
            let finished = outcome?;
            let interrupted = finished.report.ended == Ended::Interrupted;
            eprint!("{}", runner::summary(finished.id.as_str(), &finished.report, None));
            exit = exit.and(finished.exit());
            if interrupted || self.runner.is_stopped() {
                exit = Exit::Interrupted;
                break;
            }
        }
        Ok(exit)
    }

    fn run_one(
        &mut self,
        number: usize,
        campaign: &Campaign,
        id: Option<CampaignId>,
        store: &mut Store,
    ) -> Result<FinishedCampaign, Failure> {
        let setup = &self.setups[number];
        let (id, finished) = match id {
            Some(id) => {
                check_resume(&store.campaign(&id)?, setup, &self.script.profile, None)?;
                let (_, finished) = store.resume(&id)?;
                eprintln!("  {id}: {} trials already done", finished.len());
                (id, finished)
            }
            None => {
                let tags = self.script.tags(&self.series, &self.script.runs[number]);
                (store.begin(&new_campaign(setup, campaign, self.script.profile.clone(), tags)?)?, Vec::new())
            }
        };
        self.runner.run(campaign, StoredCampaign { store, id, finished })
    }

    /// Writes the report of the whole series, including campaigns done before a resume.
    fn write_output(&self, args: &BenchArgs, output: Output, store: &Store) -> Result<(), Failure> {
        let ids = of_series(store, &self.series)?;
        let loaded: Result<Vec<_>, _> = ids.iter().map(|(_, id)| store.load(id)).collect();
        let loaded = loaded?;
        let page = match &loaded[..] {
            [one] => report::campaign(one),
            several => report::comparison(several, "dut", "config"),
        };
        let campaigns = loaded.iter().map(|loaded| {
            let campaign = &loaded.campaign;
            CampaignDocument {
                id: &campaign.id,
                method: &campaign.method,
                state: campaign.state,
                tags: &campaign.tags,
                reason: campaign.reason.as_deref(),
                results: &loaded.method_results,
            }
        });
        let document = SeriesResult {
            schema: "eagre.series/1",
            version: env!("CARGO_PKG_VERSION"),
            name: &self.script.document.name,
            series: &self.series,
            campaigns: campaigns.collect(),
        };
        let mut text =
            format!("  series {}: {} of {} runs stored\n", self.series, ids.len(), self.setups.len());
        if let Some(path) = &args.report {
            text += &format!("  report in {}\n", path.display());
        }
        output.write(args, &page, &document, loaded.iter().map(suite).collect(), &text)
    }
}

/// The verdicts of a stored campaign.
fn suite(loaded: &Loaded) -> Suite {
    let campaign = &loaded.campaign;
    let ended = match campaign.state {
        State::Done => Ended::Done,
        State::Failed => Ended::Failed(campaign.reason.clone().unwrap_or_default()),
        State::Running | State::Interrupted => Ended::Interrupted,
    };
    // All of a series are of this version.
    let results: Vec<MethodResult> =
        loaded.method_results.iter().filter_map(|one| one.typed().ok()).collect();
    let tags = campaign.tags.iter().filter_map(|tag| tag.strip_prefix("config="));
    let name = [campaign.method.as_str()].into_iter().chain(tags).collect::<Vec<_>>().join(" ");
    suite_of_methods(&name, &results, &ended)
}

/// Output of `--json` for a series.
#[derive(Serialize)]
struct SeriesResult<'a, R> {
    schema: &'static str,
    version: &'static str,
    name: &'a str,
    series: &'a str,
    campaigns: Vec<CampaignDocument<'a, R>>,
}

/// A campaign of a series with its stored results.
#[derive(Serialize)]
struct CampaignDocument<'a, R> {
    id: &'a CampaignId,
    method: &'a str,
    state: State,
    tags: &'a [String],
    reason: Option<&'a str>,
    results: &'a [R],
}

fn estimate(campaigns: &[Campaign]) -> Result<Exit, Failure> {
    let mut all = methods::Estimate { trials: 0, traffic_s: 0.0, wall_s: 0.0 };
    for campaign in campaigns {
        let one = campaign.estimate()?;
        all.trials += one.trials;
        all.traffic_s += one.traffic_s;
        all.wall_s += one.wall_s;
    }
    println!("{}", super::about(&all));
    Ok(Exit::Done)
}
