//! `eagre ci`: runs profiles, compares their figures with a baseline, and writes verdicts for machines.

mod baseline;
mod figures;

use crate::args::OnDisturbed;
use crate::output::{NewFile, print_json};
use crate::run::{name_of, on_rig, read, worker_cores};
use crate::simulate::SimTester;
use crate::verdicts::{Case, Outcome, Suite, VerdictArgs, VerdictFiles, suite_of_run};
use crate::{Exit, Failure, args, interrupt, results, run, table, words};
use baseline::{Baseline, ProfileBaseline};
use campaign::Tester;
use clap::Args;
use engine::{TrialObserver, View};
use figures::Figure;
use os::draft::Name;
use profile::{Overrides, Plan};
use result::{Overall, ResultDocument};
use serde::Serialize;
use std::path::{Path, PathBuf};
use store::{Loaded, report};
use units::Nanos;

/// Options of `eagre ci`.
#[derive(Args)]
pub(crate) struct CiArgs {
    /// Profiles (YAML or JSON)
    #[arg(required = true, value_name = "PROFILE")]
    profiles: Vec<PathBuf>,
    /// Baseline to compare with; a missing one is written, unless a profile fails
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write the figures of these runs to the baseline, regardless of the outcome of the comparison
    #[arg(long, requires = "baseline")]
    update_baseline: bool,
    /// Number of runs of each profile; their spread is the uncertainty of a figure
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    /// Figure to compare, with '*' for any text: 'streams.*.latency_ns.p99' [default: losses, latencies and rates]
    #[arg(long, value_name = "PATH")]
    figure: Vec<String>,
    /// Duration of each run (overrides the profiles)
    #[arg(long, visible_alias = "for", value_name = "TIME", value_parser = words::time)]
    duration: Option<Nanos>,
    /// Random seed (overrides the profiles)
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Number of worker cores
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    cores: u16,
    /// Run in virtual time over simulated links, like 'eagre sim'
    #[arg(long)]
    sim: bool,
    /// Simulated device, as for 'eagre sim'
    #[arg(long, value_name = "MODEL", value_parser = args::dut, requires = "sim")]
    dut: Option<simulation::Dut>,
    /// Action if a disturbance of the tester makes a profile's outcome uncertain: fail (exit code 4), warn, or run it
    /// again up to N times
    #[arg(long, value_name = "fail|warn|repeat N", value_parser = args::on_disturbed, default_value = "fail")]
    on_disturbed: OnDisturbed,
    #[command(flatten)]
    verdicts: VerdictArgs,
    /// Write an HTML report
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Write cases and figures to a file; '-' writes to standard output
    #[arg(long, value_name = "FILE|-")]
    json: Option<PathBuf>,
}

/// A profile that was run.
struct Tested {
    /// Name in the baseline: the path as given.
    key: String,
    text: String,
    documents: Vec<ResultDocument>,
    figures: Vec<Figure>,
    suite: Suite,
}

impl Tested {
    fn is_interrupted(&self) -> bool {
        self.documents.iter().any(|document| document.interrupted)
    }

    /// Adds the cases of a comparison with its figures in `known`. Reports a profile that is not there or has changed since.
    fn compare(&mut self, known: &Baseline) {
        let before = known.profile(&self.key);
        let doubt = match before {
            None => Some("is not in the baseline: nothing to compare with"),
            Some(before) if before.profile_sha256 != store::sha256(&self.text) => {
                Some("has changed since its baseline, which --update-baseline measures again")
            }
            Some(_) => None,
        };
        if let Some(doubt) = doubt {
            eprintln!("eagre: warning: {} {doubt}", self.key);
            self.suite.sentences.push(format!("{} {doubt}", self.key));
        }
        let none = ProfileBaseline::default();
        self.suite.cases.extend(baseline::compare(before.unwrap_or(&none), &self.figures));
    }
}

/// Keeps a file's name from all outputs.
fn reserved(path: &Path) -> Result<Name, Failure> {
    Name::take(path).map_err(|e| Failure::bad_input(format!("{}: {e}", path.display())))
}

/// `eagre ci`.
pub(crate) fn ci(args: &CiArgs) -> Result<Exit, Failure> {
    let known = args.baseline.as_deref().map(Baseline::read).transpose()?.flatten();
    // Check all profiles before the first one runs.
    let sources: Result<Vec<Source>, Failure> =
        args.profiles.iter().map(|path| Source::read(path, args)).collect();
    let sources = sources?;
    let _baseline = args.baseline.as_deref().map(reserved).transpose()?;
    let files = VerdictFiles::open(&args.verdicts)?;
    let page = args.report.as_deref().map(NewFile::create).transpose()?;
    let json =
        args.json.as_deref().filter(|path| *path != Path::new("-")).map(NewFile::create).transpose()?;
    let mut all = Vec::new();
    for source in sources {
        let mut tested = source.test(args)?;
        if let Some(known) = &known {
            tested.compare(known);
        }
        let stop = tested.is_interrupted();
        eprint!("{}", summary(&tested.suite));
        all.push(tested);
        if stop || interrupt::is_requested() {
            break;
        }
    }
    let exit = exit(args, &all);
    if let Some(path) = &args.baseline {
        keep(args, path, known, &all, exit)?;
    }
    if let Some(page) = page {
        page.write(&report_page(&all))?;
    }
    write_json(args, json, &all)?;
    files.write(all.into_iter().map(|tested| tested.suite).collect())?;
    Ok(exit)
}

/// A profile to run.
struct Source {
    path: PathBuf,
    text: String,
    plan: Plan,
}

impl Source {
    fn read(path: &Path, args: &CiArgs) -> Result<Self, Failure> {
        let text = read(path)?;
        let overrides = Overrides {
            duration: args.duration,
            seed: args.seed,
            default_seed: if args.sim { 1 } else { os::entropy::seed() },
            memory_bytes: Some(os::memory::available_bytes()),
            ..Overrides::default()
        };
        let plan = profile::load_with(&text, &overrides, &run::files_beside(path));
        let plan = plan.map_err(|errors| run::bad_profile(&path.display().to_string(), &errors))?;
        run::warn(&plan);
        Ok(Self { path: path.to_owned(), text, plan })
    }

    /// Runs the profile `--runs` times, and again if it could not be judged.
    fn test(self, args: &CiArgs) -> Result<Tested, Failure> {
        let name = name_of(&self.path);
        let mut repeats = match args.on_disturbed {
            OnDisturbed::Repeat(times) => times,
            _ => 0,
        };
        let mut documents: Vec<ResultDocument> = Vec::new();
        let mut in_doubt = Vec::new();
        let runs = if args.sim { 1 } else { args.runs };
        while (documents.len() + in_doubt.len()) < runs as usize {
            eprintln!("  {name}: run {} of {runs}", documents.len() + in_doubt.len() + 1);
            let document = self.once(args)?;
            let stop = document.interrupted || interrupt::is_requested();
            let overall = document.decide();
            if overall.overall() == Overall::CannotJudge && repeats > 0 && !stop {
                repeats -= 1;
                let reason = overall.reason.unwrap_or_default();
                eprintln!(
                    "eagre: {name}: a run can't be judged here: {reason}; running again, {repeats} repeats left"
                );
                continue;
            }
            match overall.overall() {
                Overall::CannotJudge => in_doubt.push(document),
                _ => documents.push(document),
            }
            if stop {
                break;
            }
        }
        // Runs in doubt still have figures that hold.
        documents.extend(in_doubt);
        let paths = documents.first().map(|first| figures::paths(first, &args.figure)).unwrap_or_default();
        let suites: Vec<Suite> = documents.iter().map(|document| suite_of_run(&name, document)).collect();
        Ok(Tested {
            key: self.path.display().to_string(),
            text: self.text,
            figures: figures::figures(&documents, &paths),
            suite: joined(suites),
            documents,
        })
    }

    fn once(&self, args: &CiArgs) -> Result<ResultDocument, Failure> {
        let (control, mut commands) = engine::channel();
        interrupt::stops(control)?;
        let plan = self.plan.clone();
        if args.sim {
            let mut tester = SimTester::new(&plan, args.dut, args.cores);
            return Ok(tester.run(plan, &mut commands, &mut Unobserved)?);
        }
        on_rig(plan.into(), worker_cores(args.cores)?, true, &mut commands, &mut Unobserved)
    }
}

/// Shows nothing of a run.
struct Unobserved;

impl TrialObserver for Unobserved {
    fn interval(&self) -> Nanos {
        Nanos::from_secs(1)
    }

    fn reads_streams(&self) -> bool {
        false
    }

    fn snapshot(&mut self, _: &View<'_>) {}
}

/// The runs of a profile as one suite: a case fails if it does in any run, and can't be judged if it can't in all.
fn joined(suites: Vec<Suite>) -> Suite {
    let mut all = suites.into_iter();
    let Some(mut first) = all.next() else {
        let (properties, sentences) = (Vec::new(), Vec::new());
        return Suite { name: String::new(), duration_s: 0.0, properties, sentences, cases: Vec::new() };
    };
    for suite in all {
        first.duration_s += suite.duration_s;
        for case in suite.cases {
            match first.cases.iter_mut().find(|known| known.name == case.name) {
                Some(known) if decides(known.outcome, case.outcome) => *known = case,
                Some(_) => {}
                None => first.cases.push(case),
            }
        }
    }
    first
}

/// Whether the outcome of a case in another run applies to both.
fn decides(known: Outcome, other: Outcome) -> bool {
    other == Outcome::Failed && known != Outcome::Failed
        || known == Outcome::CannotJudge && other == Outcome::Passed
}

fn exit(args: &CiArgs, all: &[Tested]) -> Exit {
    let of = |tested: &Tested| match tested.suite.outcome().exit() {
        _ if tested.is_interrupted() => Exit::Interrupted,
        Exit::CannotJudge if args.on_disturbed == OnDisturbed::Warn => Exit::Done,
        exit => exit,
    };
    let exit = all.iter().map(of).fold(Exit::Done, Exit::and);
    if interrupt::is_requested() { Exit::Interrupted } else { exit }
}

/// Writes the baseline: a new one, and profiles that it lacks, unless a profile failed; the others on request.
fn keep(
    args: &CiArgs,
    path: &Path,
    known: Option<Baseline>,
    all: &[Tested],
    exit: Exit,
) -> Result<(), Failure> {
    let is_new = known.is_none();
    let mut baseline = known.unwrap_or_default();
    let is_wanted = |tested: &&Tested| args.update_baseline || baseline.profile(&tested.key).is_none();
    let wanted: Vec<&Tested> = all.iter().filter(is_wanted).collect();
    if wanted.is_empty() {
        return Ok(());
    }
    if exit == Exit::Interrupted || exit == Exit::Failed && !args.update_baseline {
        let what = if is_new { "no baseline written" } else { "no profile added" };
        eprintln!("  {}: {what}: not all profiles passed", path.display());
        return Ok(());
    }
    let now = crate::bench::now();
    let names: Vec<&str> = wanted.iter().map(|tested| tested.key.as_str()).collect();
    let done = match (is_new, args.update_baseline) {
        (true, _) => "baseline written".to_owned(),
        (_, true) => "baseline updated".to_owned(),
        _ => format!("{} added", names.join(", ")),
    };
    for tested in wanted {
        let sha256 = store::sha256(&tested.text);
        baseline.take(&tested.key, &sha256, &now, &tested.figures);
    }
    baseline.write(path)?;
    eprintln!("  {}: {done}", path.display());
    Ok(())
}

/// The page of the last run of a profile, or of several side by side.
fn report_page(all: &[Tested]) -> String {
    let loaded = |tested: &Tested| {
        let document = tested.documents.last()?;
        let result = serde_json::to_value(document).ok()?;
        let name = name_of(Path::new(&tested.key));
        let about = results::about_run(document, &name, tested.text.clone(), crate::bench::now());
        Some(Loaded::single(about, result, Vec::new()))
    };
    let loaded: Vec<Loaded> = all.iter().filter_map(loaded).collect();
    match &loaded[..] {
        [one] => report::campaign(one),
        several => report::comparison(several, "profile", "config"),
    }
}

/// A suite as text.
fn summary(suite: &Suite) -> String {
    let row = |case: &Case| vec![case.outcome.words().to_owned(), case.name.clone(), case.value.clone()];
    let (passed, others): (Vec<&Case>, Vec<&Case>) =
        suite.cases.iter().partition(|case| case.outcome == Outcome::Passed);
    let rows = others.iter().chain(&passed).map(|case| row(case)).collect();
    let mut text = format!(
        "\n  {}: {}\n{}",
        suite.name,
        suite.outcome().words(),
        table::table(&["", "asked", "value"], rows)
    );
    for case in others {
        if let Some(message) = &case.message {
            text += &format!("  {}: {message}\n", case.name);
        }
    }
    text + "\n"
}

/// `eagre.ci/1`.
#[derive(Serialize)]
struct CiDocument<'a> {
    schema: &'static str,
    version: &'static str,
    profiles: Vec<ProfileDocument<'a>>,
}

#[derive(Serialize)]
struct ProfileDocument<'a> {
    name: &'a str,
    profile: &'a str,
    outcome: &'static str,
    runs: usize,
    cases: Vec<CaseDocument<'a>>,
}

#[derive(Serialize)]
struct CaseDocument<'a> {
    name: &'a str,
    outcome: &'static str,
    value: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

fn write_json(args: &CiArgs, file: Option<NewFile>, all: &[Tested]) -> Result<(), Failure> {
    let profiles = all.iter().map(|tested| ProfileDocument {
        name: &tested.suite.name,
        profile: &tested.key,
        outcome: tested.suite.outcome().name(),
        runs: tested.documents.len(),
        cases: tested.suite.cases.iter().map(CaseDocument::new).collect(),
    });
    let document =
        CiDocument { schema: "eagre.ci/1", version: env!("CARGO_PKG_VERSION"), profiles: profiles.collect() };
    match (args.json.is_some(), file) {
        (false, _) => Ok(()),
        (true, None) => print_json(&document).map(drop),
        (true, Some(file)) => {
            let text =
                serde_json::to_string_pretty(&document).map_err(|e| Failure::refused(e.to_string()))?;
            file.write(&(text + "\n"))
        }
    }
}

impl<'a> CaseDocument<'a> {
    fn new(case: &'a Case) -> Self {
        Self {
            name: &case.name,
            outcome: case.outcome.name(),
            value: &case.value,
            reason: case.message.as_deref(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn suite(outcome: Outcome) -> Suite {
        let case = Case {
            name: "c".to_owned(),
            outcome,
            message: None,
            value: String::new(),
            unit: String::new(),
            numbers: Vec::new(),
        };
        Suite {
            name: "p".to_owned(),
            duration_s: 1.0,
            properties: Vec::new(),
            sentences: Vec::new(),
            cases: vec![case],
        }
    }

    #[test]
    fn runs_of_a_profile_are_one_suite() {
        use Outcome::{CannotJudge, Failed, Passed};
        for (outcomes, joint) in [
            ([Passed, Passed], Passed),
            ([Passed, Failed], Failed),
            ([CannotJudge, Passed], Passed),
            ([Passed, CannotJudge], Passed),
            ([CannotJudge, Failed], Failed),
            ([CannotJudge, CannotJudge], CannotJudge),
        ] {
            let all = joined(outcomes.map(suite).into());
            assert_eq!((all.outcome(), all.cases.len(), all.duration_s), (joint, 1, 2.0), "{outcomes:?}");
        }
    }
}
