//! `eagre bisect`: finds the change that made a device slower. Each step is compared with the good one by interleaved
//! trials.
//!
//! Not here: which step is next ([`methods::Culprit`]), statistics ([`methods::Paired`]).
//!
//! Invariant: the repository's own checkout, index and branches are not modified; builds run in separate worktrees.

mod repository;

use crate::args;
use crate::run::read;
use crate::versus::{
    Compared, DeviceCommands, Figure, SideSetup, Traffic, TrialArgs, TrialRunner, compare, json_file,
    percent, sentence, write,
};
use crate::{Exit, Failure};
use clap::Args as ClapArgs;
use methods::{Answer, Better, Culprit, Question, StepFound};
use repository::{Repository, Worktree};
use serde::Serialize;
use std::path::PathBuf;

/// Exit codes, for the help.
pub(crate) const EXIT_CODES: &str = "Exit codes: 0 found; 4 can't be judged; 5 nothing found: the bad revision is not slower; \
                                     2 bad input; 3 refused by the machine, or a command failed; 130 interrupted";

/// Number of steps that can't be judged, allowed for in the confidence.
const SPARE: u32 = 2;
/// Maximum number of steps, which can be compared in a day or two.
const STEPS_MAX: usize = 10_000;
/// Name of the document's format.
const SCHEMA: &str = "eagre.bisect/1";

#[derive(ClapArgs)]
pub(crate) struct BisectArgs {
    /// Profile (YAML or JSON) with ports and traffic
    pub profile: PathBuf,
    /// Revision whose build is good
    #[arg(long, value_name = "REV", required_unless_present = "steps", requires = "bad")]
    pub good: Option<String>,
    /// Revision whose build is slower
    #[arg(long, value_name = "REV", requires = "good")]
    pub bad: Option<String>,
    /// Git repository of the device [default: this directory]
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub repo: PathBuf,
    /// Steps to try instead of revisions, the good one first and the bad one last: 1.0,1.1,1.2; commands find the step in
    /// $EAGRE_STEP
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with_all = ["good", "bad", "repo"])]
    pub steps: Vec<String>,
    /// Command that builds a step, in a worktree with its files; if it fails, the step is skipped
    #[arg(long, value_name = "COMMAND")]
    pub build: Option<String>,
    /// Command to run before each trial
    #[arg(long, value_name = "COMMAND")]
    pub before: Option<String>,
    /// The device: a command that is started before each trial and ended after it
    #[arg(long, value_name = "COMMAND")]
    pub start: Option<String>,
    /// Command that prints the simulated device of a step, as for 'eagre sim --dut'
    #[arg(long, value_name = "COMMAND", requires = "sim")]
    pub dut_command: Option<String>,
    /// Smallest difference between good and bad of interest: 1%, 0.5%; of a ratio, in percentage points
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = percent)]
    pub margin: f64,
    #[command(flatten)]
    pub trials: TrialArgs,
}

/// A step of the row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct StepDocument {
    /// Revision or name.
    step: String,
    /// First line of the commit's message.
    #[serde(skip_serializing_if = "String::is_empty")]
    subject: String,
}

impl StepDocument {
    fn text(&self) -> String {
        let short: String = self.step.chars().take(12).collect();
        if self.subject.is_empty() { self.step.clone() } else { format!("{short} ({})", self.subject) }
    }
}

/// A comparison of two steps.
#[derive(Debug, Serialize)]
struct TryDocument {
    /// The step, and the step it was compared with.
    step: String,
    with: String,
    /// `good`, `bad` or `unknown`.
    found: &'static str,
    /// The comparison in words.
    sentence: String,
    pairs: u32,
    disturbed_pairs: u32,
}

/// Output of `--json`.
#[derive(Debug, Serialize)]
struct BisectDocument {
    schema: &'static str,
    version: &'static str,
    seed: u64,
    figure: String,
    /// `found`, `nothing` or `unknown`.
    answer: &'static str,
    sentence: String,
    interrupted: bool,
    /// Minimum probability that the result is right.
    confidence: f64,
    /// The first step that is slower.
    #[serde(skip_serializing_if = "Option::is_none")]
    first_bad: Option<StepDocument>,
    /// The last step before it that is known to be good.
    #[serde(skip_serializing_if = "Option::is_none")]
    last_good: Option<StepDocument>,
    /// Steps between both, which can't be judged: one of them may be the first.
    not_judged: Vec<StepDocument>,
    comparisons: Vec<TryDocument>,
}

/// `eagre bisect`.
pub(crate) fn bisect(args: &BisectArgs) -> Result<Exit, Failure> {
    let repository = args.good.as_ref().map(|_| Repository::at(&args.repo)).transpose()?;
    let steps = args.row(repository.as_ref())?;
    let trees = repository.as_ref().map(|repository| repository.worktrees(["good", "step"])).transpose()?;
    let text = read(&args.profile)?;
    let json = json_file(args.trials.json.as_deref())?;
    let runner = TrialRunner::new(args.trials.settings(&[]))?;
    let seed = args.trials.seed();
    let mut search = Search { args, text, steps, trees, runner, seed, figure: None, tries: Vec::new() };
    let outcome = match search.run() {
        Err(_) if search.runner.is_stopped() => Outcome::Interrupted,
        ended => ended?,
    };
    let document = search.document(&outcome);
    let text = format!("\n  {}\n  seed {seed}\n", document.sentence);
    write(args.trials.json.as_deref(), json, &document, &text)?;
    Ok(outcome.exit())
}

/// Outcome of a search.
enum Outcome {
    /// Slower from a step on, with the result of the comparison with the last good one in words.
    Found {
        culprit: Culprit,
        sentence: String,
    },
    /// The last step is not slower than the first.
    Nothing(String),
    /// The trials give no result.
    Unknown(String),
    Interrupted,
}

impl Outcome {
    fn exit(&self) -> Exit {
        match self {
            Self::Found { culprit, .. } if culprit.first_bad() == culprit.last_good() + 1 => Exit::Done,
            Self::Found { .. } | Self::Unknown(_) => Exit::CannotJudge,
            Self::Nothing(_) => Exit::NothingFound,
            Self::Interrupted => Exit::Interrupted,
        }
    }
}

impl BisectArgs {
    /// The steps, the good one first.
    fn row(&self, repository: Option<&Repository>) -> Result<Vec<StepDocument>, Failure> {
        let steps: Vec<StepDocument> = match (repository, &self.good, &self.bad) {
            (Some(repository), Some(good), Some(bad)) => {
                let commits = repository.between(good, bad)?;
                commits.into_iter().map(|(step, subject)| StepDocument { step, subject }).collect()
            }
            _ => self
                .steps
                .iter()
                .map(|step| StepDocument { step: step.clone(), subject: String::new() })
                .collect(),
        };
        match steps.len() {
            0 | 1 => Err(Failure::bad_input("at least two steps are needed: the good one and the bad one")),
            n if n > STEPS_MAX => {
                Err(Failure::bad_input(format!("{n} steps; at most {STEPS_MAX} can be searched")))
            }
            _ => Ok(steps),
        }
    }
}

struct Search<'a> {
    args: &'a BisectArgs,
    /// Text of the profile.
    text: String,
    steps: Vec<StepDocument>,
    /// Where the good step and the step to compare are built; `None` without a repository.
    trees: Option<[Worktree; 2]>,
    runner: TrialRunner,
    seed: u64,
    /// The figure to compare, once the first step is ready.
    figure: Option<(Figure, Better)>,
    tries: Vec<TryDocument>,
}

/// Where a step is built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Good,
    Step,
}

impl Search<'_> {
    fn run(&mut self) -> Result<Outcome, Failure> {
        let last = self.steps.len() - 1;
        let mut good = self.ready(0, Place::Good)?;
        let bad = self.ready(last, Place::Step)?;
        let figure = self.args.trials.figure(&self.runner, &good)?;
        self.figure = Some(figure);
        let found = self.compared(&good, &bad, [0, last], Question::Differ { margin: self.args.margin })?;
        let Some((first, mut words)) = found else { return Ok(Outcome::Interrupted) };
        let [from, to] = [0, last].map(|step| self.steps[step].text());
        match first.result.answer {
            Answer::A => {}
            Answer::Unknown => return Ok(Outcome::Unknown(words)),
            _ => return Ok(Outcome::Nothing(format!("{to} is not slower than {from}: {words}"))),
        }
        // Half of the whole difference lies between what is as good as the first step and what is as bad as the last.
        let config = self.config(Question::Differ { margin: self.args.margin });
        let whole = first.result.advantage.map_or(0.0, |found| config.share(found.estimate)).abs();
        let question = Question::Worse { threshold: whole.min(1e6) / 2.0 };
        let mut culprit = Culprit::new(self.steps.len());
        while let Some(step) = culprit.next_step() {
            eprintln!(
                "  {} steps left; next: {}",
                culprit.first_bad() - culprit.last_good() - 1,
                self.steps[step].text()
            );
            let found = match self.ready(step, Place::Step) {
                Ok(side) => match self.compared(&good, &side, [0, step], question)? {
                    Some((compared, _)) => StepFound::from(&compared),
                    None => return Ok(Outcome::Interrupted),
                },
                Err(failure) if !self.runner.is_stopped() => {
                    eprintln!("  skipped: {}", failure.text);
                    StepFound::Unknown
                }
                Err(_) => return Ok(Outcome::Interrupted),
            };
            culprit.record(step, found);
        }
        let (before, at) = (culprit.last_good(), culprit.first_bad());
        if (before, at) != (0, last) {
            // How large the change is, and whether it is one.
            if before != 0 {
                good = self.ready(before, Place::Good)?;
            }
            let side = self.ready(at, Place::Step)?;
            let question = Question::Differ { margin: self.args.margin };
            let Some((compared, sentence)) = self.compared(&good, &side, [before, at], question)? else {
                return Ok(Outcome::Interrupted);
            };
            words = sentence;
            if matches!(compared.result.answer, Answer::Alike | Answer::B) {
                let steps = [before, at].map(|step| self.steps[step].text());
                return Ok(Outcome::Unknown(format!(
                    "Can't be judged: slower from {} on, but not than {}: {words}",
                    steps[1], steps[0]
                )));
            }
        }
        Ok(Outcome::Found { culprit, sentence: words })
    }

    /// Confidence of each comparison, so that all together reach the requested confidence.
    fn config(&self, question: Question) -> methods::PairedConfig {
        let trials = &self.args.trials;
        let figure = self.figure.clone().unwrap_or((Figure::Received, Better::Higher));
        let comparisons = Culprit::new(self.steps.len()).left() + 2 + SPARE;
        let confidence = 1.0 - (1.0 - trials.confidence) / f64::from(comparisons);
        let seed = self.seed.wrapping_add(self.tries.len() as u64);
        methods::PairedConfig { confidence, ..trials.paired(question, &figure, seed) }
    }

    /// Checks a step out and builds it.
    fn ready(&mut self, step: usize, place: Place) -> Result<SideSetup, Failure> {
        let StepDocument { step: name, subject: _ } = &self.steps[step];
        let tree = self.trees.as_ref().map(|trees| &trees[usize::from(place == Place::Step)]);
        if let Some(tree) = tree {
            tree.check_out(name)?;
        }
        let args = self.args;
        let device = DeviceCommands {
            before: args.before.clone(),
            start: args.start.clone(),
            ready: args.trials.ready.clone(),
            after: args.trials.after.clone(),
            folder: tree.map(|tree| tree.folder().to_owned()),
            variables: vec![
                ("EAGRE_STEP", name.clone()),
                ("EAGRE_SIDE", if place == Place::Good { "a" } else { "b" }.to_owned()),
            ],
        };
        let runner = &mut self.runner;
        if let Some(build) = &args.build {
            device.run(build, &mut || runner.is_stopped())?;
        }
        let model = args.dut_command.as_ref().map(|command| device.run(command, &mut || runner.is_stopped()));
        let dut = model.transpose()?.map(|model| args::dut(model.trim())).transpose().map_err(|reason| {
            Failure::bad_input(format!("--dut-command, at {}: {reason}", self.steps[step].text()))
        })?;
        let traffic = Traffic::Profile { text: self.text.clone(), path: args.profile.clone(), dut };
        Ok(SideSetup { label: self.steps[step].text(), traffic, device })
    }

    /// Compares two steps; `None` if it was interrupted.
    fn compared(
        &mut self,
        good: &SideSetup,
        other: &SideSetup,
        steps: [usize; 2],
        question: Question,
    ) -> Result<Option<(Compared, String)>, Failure> {
        let config = self.config(question);
        let (figure, _) = self.figure.clone().unwrap_or((Figure::Received, Better::Higher));
        let compared = compare(&config, &figure, [good, other], &mut self.runner)?;
        if compared.interrupted {
            return Ok(None);
        }
        let words = sentence(&config, &figure, &compared);
        let [with, step] = steps.map(|step| self.steps[step].step.clone());
        let found = match StepFound::from(&compared) {
            StepFound::Good => "good",
            StepFound::Bad => "bad",
            StepFound::Unknown => "unknown",
        };
        eprintln!("  {}: {found}", self.steps[steps[1]].text());
        let (pairs, disturbed_pairs) = (compared.result.pairs, compared.result.disturbed);
        self.tries.push(TryDocument { step, with, found, sentence: words.clone(), pairs, disturbed_pairs });
        Ok(Some((compared, words)))
    }

    fn document(&mut self, outcome: &Outcome) -> BisectDocument {
        let step = |step: usize| self.steps[step].clone();
        let mut document = BisectDocument {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            seed: self.seed,
            figure: self.figure.as_ref().map_or_else(String::new, |(figure, _)| figure.to_string()),
            answer: "unknown",
            sentence: String::new(),
            interrupted: matches!(outcome, Outcome::Interrupted),
            confidence: self.args.trials.confidence,
            first_bad: None,
            last_good: None,
            not_judged: Vec::new(),
            comparisons: Vec::new(),
        };
        document.sentence = match outcome {
            Outcome::Interrupted => "Interrupted: nothing found yet.".to_owned(),
            Outcome::Unknown(words) => words.clone(),
            Outcome::Nothing(words) => {
                document.answer = "nothing";
                format!("Nothing found: {words}")
            }
            Outcome::Found { culprit, sentence } => {
                let (before, at) = (culprit.last_good(), culprit.first_bad());
                document.first_bad = Some(step(at));
                document.last_good = Some(step(before));
                document.not_judged = (before + 1..at).map(step).collect();
                let sure = units::percent(self.args.trials.confidence);
                if document.not_judged.is_empty() {
                    document.answer = "found";
                    format!("{} is the first that is slower ({sure} confidence). {sentence}", step(at).text())
                } else {
                    let more = document.not_judged.len();
                    format!(
                        "Can't be judged: {} or one of the {more} steps before it is the first that is slower ({sure} confidence). \
                         {sentence}",
                        step(at).text()
                    )
                }
            }
        };
        document.comparisons = std::mem::take(&mut self.tries);
        document
    }
}

impl From<&Compared> for StepFound {
    fn from(compared: &Compared) -> Self {
        match compared.result.answer {
            Answer::A => Self::Bad,
            Answer::Alike | Answer::B => Self::Good,
            Answer::Unknown => Self::Unknown,
        }
    }
}
