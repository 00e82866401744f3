//! `eagre versus`: compares two profiles, two devices or two labs by interleaved trials, and reports which is better,
//! or that they differ by no more than a margin.
//!
//! Not here: statistics ([`methods::Paired`]), traffic.

mod device;
mod figure;
mod report;
mod tester;

pub(crate) use device::DeviceCommands;
pub(crate) use figure::Figure;
use report::VersusDocument;
pub(crate) use report::sentence;
use simulation::Dut;
pub(crate) use tester::{SideSetup, Traffic, TrialRunner, TrialSettings};

use crate::lab::StepPrinter;
use crate::lab_compare::TopologySpec;
use crate::output::NewFile;
use crate::run::read;
use crate::{Exit, Failure, args, interrupt, output, words};
use clap::{Args as ClapArgs, ValueEnum};
use lab::LabPaths;
use methods::{Answer, Better, Paired, PairedConfig, PairedResult, Question, Side};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use units::{Load, Nanos};

/// Exit codes, for the help.
pub(crate) const EXIT_CODES: &str = "Exit codes: 0 no difference larger than the margin; 6 A is better; 7 B is better; 4 can't be \
                                     judged; 2 bad input; 3 refused by the machine, or a command failed; 130 interrupted";

/// Names of the labs of the two sides.
const LABS: [&str; 2] = ["versus-a", "versus-b"];

#[derive(ClapArgs)]
pub(crate) struct VersusArgs {
    /// Profile of side A (YAML or JSON); with --lab, its topology with options: kernel-router:rules=1024
    #[arg(value_name = "A")]
    pub a: String,
    /// Profile or topology of side B [default: that of A]
    #[arg(value_name = "B")]
    pub b: Option<String>,
    /// Compare two configurations of a lab; both labs run at the same time, and trials alternate
    #[arg(long, conflicts_with_all = ["sim", "before_a", "before_b", "start_a", "start_b"])]
    pub lab: bool,
    /// Test of the topologies, one with a profile; 'eagre lab up TOPOLOGY' lists them
    #[arg(long, value_name = "NAME", default_value = "ipv4", requires = "lab")]
    pub test: String,
    /// Smallest difference of interest: 1%, 0.5%; of a ratio such as 'loss', in percentage points
    #[arg(long, value_name = "PERCENT", default_value = "1%", value_parser = percent)]
    pub margin: f64,
    /// Command to run before each trial of A: './use-build old'
    #[arg(long, value_name = "COMMAND")]
    pub before_a: Option<String>,
    /// Command to run before each trial of B
    #[arg(long, value_name = "COMMAND")]
    pub before_b: Option<String>,
    /// Device of A: a command that is started before each trial of A and ended after it
    #[arg(long, value_name = "COMMAND")]
    pub start_a: Option<String>,
    /// Device of B
    #[arg(long, value_name = "COMMAND")]
    pub start_b: Option<String>,
    /// Simulated device of A, as for 'eagre sim'
    #[arg(long, value_name = "MODEL", value_parser = args::dut, requires = "sim")]
    pub dut_a: Option<Dut>,
    /// Simulated device of B
    #[arg(long, value_name = "MODEL", value_parser = args::dut, requires = "sim")]
    pub dut_b: Option<Dut>,
    #[command(flatten)]
    pub trials: TrialArgs,
    /// Arguments of the lab's test, as for 'eagre run'
    #[arg(last = true, value_name = "ARGUMENTS", requires = "lab")]
    pub more: Vec<OsString>,
}

/// Options of `versus` and `bisect`.
#[derive(ClapArgs)]
pub(crate) struct TrialArgs {
    /// Number to compare: received, loss, sessions, p50, p90, p95, p99, p99.9, or the path of a number of the result
    /// [default: received; sessions without streams]
    #[arg(long, value_name = "FIGURE")]
    pub figure: Option<Figure>,
    /// Which values of the figure are better, if unknown from its name
    #[arg(long, value_name = "higher|lower")]
    pub better: Option<BetterArg>,
    /// Minimum probability that the result is right
    #[arg(long, value_name = "PERCENT", default_value = "99%", value_parser = percent)]
    pub confidence: f64,
    /// Maximum number of undisturbed pairs of trials in a comparison
    #[arg(long, value_name = "N", default_value_t = 40)]
    pub pairs: u32,
    /// Maximum number of disturbed pairs to repeat in a comparison
    #[arg(long, value_name = "N", default_value_t = 120)]
    pub repeats: u32,
    /// Duration of each trial (overrides the profile)
    #[arg(long, value_name = "TIME", value_parser = words::time)]
    pub trial: Option<Nanos>,
    /// Rate of every stream (overrides the profile)
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Load>,
    /// Time to wait before each trial
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = words::time)]
    pub settle: Nanos,
    /// Command that succeeds once the device is ready; repeated for up to 30 s before each trial
    #[arg(long, value_name = "COMMAND")]
    pub ready: Option<String>,
    /// Command to run after each trial
    #[arg(long, value_name = "COMMAND")]
    pub after: Option<String>,
    /// Random seed: order of the trials, and seeds of their traffic
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Number of worker cores
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub cores: u16,
    /// Run in virtual time over simulated links, like 'eagre sim'
    #[arg(long)]
    pub sim: bool,
    /// Write the outcome to a file; '-' writes to standard output
    #[arg(long, value_name = "FILE|-")]
    pub json: Option<PathBuf>,
}

/// Which values are better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum BetterArg {
    Higher,
    Lower,
}

impl From<BetterArg> for Better {
    fn from(better: BetterArg) -> Self {
        match better {
            BetterArg::Higher => Self::Higher,
            BetterArg::Lower => Self::Lower,
        }
    }
}

/// A share from `1%` or `0.01`.
pub(crate) fn percent(text: &str) -> Result<f64, String> {
    let bad = || format!("'{text}' is not a share such as 1% or 0.01");
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 0.01));
    let value: f64 = number.trim().parse().map_err(|_| bad())?;
    if value.is_finite() { Ok(value * scale) } else { Err(bad()) }
}

impl TrialArgs {
    pub(crate) fn settings(&self, more: &[OsString]) -> TrialSettings {
        TrialSettings {
            rate: self.rate,
            duration: self.trial,
            settle: self.settle,
            cores: self.cores,
            sim: self.sim,
            more: more.to_vec(),
        }
    }

    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(os::entropy::seed)
    }

    /// The figure to compare, and which values of it are better.
    pub(crate) fn figure(&self, runner: &TrialRunner, side: &SideSetup) -> Result<(Figure, Better), Failure> {
        let figure = match (&self.figure, &side.traffic) {
            (Some(figure), _) => figure.clone(),
            (None, Traffic::Lab(_)) => Figure::Received,
            (None, Traffic::Profile { text, path, .. }) => Figure::of(&runner.plan(text, path, 0)?),
        };
        let better = self.better.map(Better::from).or(figure.better()).ok_or_else(|| {
            Failure::bad_input(format!(
                "which values of '{figure}' are better? Add --better higher or --better lower"
            ))
        })?;
        Ok((figure, better))
    }

    /// Settings of a comparison.
    pub(crate) fn paired(&self, question: Question, figure: &(Figure, Better), seed: u64) -> PairedConfig {
        PairedConfig {
            question,
            scale: figure.0.scale(),
            better: figure.1,
            confidence: self.confidence,
            pairs: self.pairs,
            repeats: self.repeats,
            seed,
        }
    }
}

/// A comparison that has ended, or was stopped.
pub(crate) struct Compared {
    pub(crate) paired: Paired,
    pub(crate) result: PairedResult,
    pub(crate) interrupted: bool,
}

/// Runs a comparison to its end.
pub(crate) fn compare(
    config: &PairedConfig,
    figure: &Figure,
    sides: [&SideSetup; 2],
    runner: &mut TrialRunner,
) -> Result<Compared, Failure> {
    let mut paired = Paired::new(config.clone()).map_err(|error| Failure::bad_input(error.to_string()))?;
    let mut interrupted = false;
    while let Some(trial) = paired.next_trial() {
        let side = sides[usize::from(trial.side == Side::B)];
        let document = runner.trial(side, trial);
        if runner.is_stopped() {
            interrupted = true;
            break;
        }
        let document = document?;
        let measured = figure.measured(&document);
        if trial.pair == 0 && measured.value().is_none() {
            let nothing = format!("{}: the result has no number at '{figure}'", side.label);
            return Err(Failure::bad_input(nothing));
        }
        paired.record(measured);
        if paired.pairs().len() as u32 > trial.pair {
            report::progress(&paired, figure);
        }
    }
    Ok(Compared { result: paired.result(), paired, interrupted })
}

/// `eagre versus`.
pub(crate) fn versus(args: &VersusArgs) -> Result<Exit, Failure> {
    if args.lab {
        return in_labs(args);
    }
    let sides = sides(args)?;
    let runner = TrialRunner::new(args.trials.settings(&[]))?;
    run(args, &sides, runner)
}

fn run(args: &VersusArgs, sides: &[SideSetup; 2], mut runner: TrialRunner) -> Result<Exit, Failure> {
    let json = json_file(args.trials.json.as_deref())?;
    let seed = args.trials.seed();
    let figure = args.trials.figure(&runner, &sides[0])?;
    let config = args.trials.paired(Question::Differ { margin: args.margin }, &figure, seed);
    let compared = compare(&config, &figure.0, [&sides[0], &sides[1]], &mut runner)?;
    let labels = [sides[0].label.as_str(), sides[1].label.as_str()];
    let document = VersusDocument::new(&config, &figure.0, labels, &compared);
    write(args.trials.json.as_deref(), json, &document, &document.text(&figure.0, &compared))?;
    Ok(exit(&compared))
}

/// The file of `--json`, drafted before the first trial so that a bad path is reported first; none for standard output.
pub(crate) fn json_file(path: Option<&Path>) -> Result<Option<NewFile>, Failure> {
    path.filter(|path| *path != Path::new("-")).map(NewFile::create).transpose()
}

/// Writes the outcome to `file`, or to standard output if `json` names that, and prints the text.
pub(crate) fn write(
    json: Option<&Path>,
    file: Option<NewFile>,
    document: &impl serde::Serialize,
    text: &str,
) -> Result<(), Failure> {
    if json == Some(Path::new("-")) {
        eprint!("{text}");
        return output::print_json(document).map(drop);
    }
    print!("{text}");
    let Some(file) = file else { return Ok(()) };
    let json = serde_json::to_string_pretty(document).map_err(|e| Failure::refused(e.to_string()))? + "\n";
    file.write(&json)
}

fn exit(compared: &Compared) -> Exit {
    match compared.result.answer {
        _ if compared.interrupted => Exit::Interrupted,
        Answer::Alike => Exit::Done,
        Answer::A => Exit::FirstBetter,
        Answer::B => Exit::SecondBetter,
        Answer::Unknown => Exit::CannotJudge,
    }
}

/// The two sides without a lab.
fn sides(args: &VersusArgs) -> Result<[SideSetup; 2], Failure> {
    let b = args.b.as_ref().unwrap_or(&args.a);
    let commands = [&args.before_a, &args.before_b, &args.start_a, &args.start_b];
    let has_sides = args.b.is_some()
        || commands.into_iter().any(Option::is_some)
        || args.dut_a.is_some()
        || args.dut_b.is_some();
    // Two sides that are alike are no mistake: they show how much the measurement itself differs.
    if !has_sides {
        return Err(Failure::bad_input(
            "nothing to compare: give two profiles, or --start-a and --start-b, --before-a and --before-b, or --sim with --dut-a \
             and --dut-b; to compare a profile with itself, give it twice",
        ));
    }
    let side = |label: &str, profile: &String, before: &Option<String>, start: &Option<String>, dut| {
        let path = PathBuf::from(profile);
        let text = read(&path)?;
        let name = if args.a == *b { String::new() } else { profile.clone() };
        let what = start.as_ref().or(before.as_ref()).filter(|_| args.a == *b).unwrap_or(&name).clone();
        Ok::<_, Failure>(SideSetup {
            label: what,
            traffic: Traffic::Profile { text, path, dut },
            device: DeviceCommands {
                before: before.clone(),
                start: start.clone(),
                ready: args.trials.ready.clone(),
                after: args.trials.after.clone(),
                folder: None,
                variables: vec![("EAGRE_SIDE", label.to_owned())],
            },
        })
    };
    Ok([
        side("a", &args.a, &args.before_a, &args.start_a, args.dut_a)?,
        side("b", b, &args.before_b, &args.start_b, args.dut_b)?,
    ])
}

/// Brings both labs up, compares, and takes both down.
fn in_labs(args: &VersusArgs) -> Result<Exit, Failure> {
    let specs = [&args.a, args.b.as_ref().unwrap_or(&args.a)];
    let mut checked = Vec::new();
    for (text, name) in specs.into_iter().zip(LABS) {
        let spec: TopologySpec = text.parse().map_err(Failure::bad_input)?;
        let paths = LabPaths::named(name)?;
        let design = spec.design(&paths)?;
        if !matches!(design.test(name, Some(&args.test))?.command, lab::TestCommand::Profile(_)) {
            return Err(Failure::bad_input(format!("{text}: test '{}' has no profile", args.test)));
        }
        checked.push((text, spec, paths));
    }
    let runner = TrialRunner::new(args.trials.settings(&args.more))?;
    let mut labs = Vec::new();
    let brought = checked.iter().try_for_each(|(_, spec, paths)| {
        labs.push(spec.up(paths, &mut StepPrinter { stop: interrupt::flag() })?);
        Ok::<_, Failure>(())
    });
    let compared = brought.and_then(|()| {
        let side = |index: usize| {
            Ok::<_, Failure>(SideSetup {
                label: checked[index].0.clone(),
                traffic: Traffic::Lab(Box::new(lab::chosen_test(&labs[index], Some(&args.test))?)),
                device: DeviceCommands::default(),
            })
        };
        run(args, &[side(0)?, side(1)?], runner)
    });
    let downs: Vec<_> = labs.iter().zip(&checked).map(|(_, (_, _, paths))| lab::down(paths)).collect();
    let exit = compared?;
    downs.into_iter().collect::<Result<Vec<_>, _>>()?;
    Ok(exit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_percentages_or_numbers() {
        assert_eq!((percent("1%"), percent("0.5 %"), percent("0.01")), (Ok(0.01), Ok(0.005), Ok(0.01)));
        assert!(percent("one").is_err() && percent("inf%").is_err());
    }
}
