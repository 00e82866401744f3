//! `lab compare`: runs the same test on several topologies, in sequence, and prints one table and writes one report of
//! all: devices by configurations.

use crate::lab::{Cores, OutputArgs, StepPrinter, cores, exit_of, run_test, watched_for_interrupts};
use crate::output::NewFile;
use crate::results::default_store;
use crate::table::aligned;
use crate::{Exit, Failure};
use clap::Args;
use lab::{LabError, LabPaths, Parameters, Topology};
use methods::Limit;
use serde::Deserialize;
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;
use store::{Filter, Finding, Loaded, Store, report};
use units::quantity;

/// Tag keys of a table's rows and columns, and of the whole series.
const DEVICE: &str = "dut";
const CONFIGURATION: &str = "config";
const SERIES: &str = "series";

/// The default test: the rate at 0.1% loss, then loss and latency at this rate and at half of it.
const METHOD: &str = "mlrsearch";
const SIZES: &str = "--sizes=64B,888B,imix";
const SHARES: &str = "--set=latency.shares=1,0.5";
const GOAL: &str = "--set=mlrsearch.goals=[{\"loss_ratio\":0.001}]";
/// The same goal in seconds instead of minutes.
const QUICK_GOAL: &str = "--set=mlrsearch.goals=[{\"loss_ratio\":0.001,\"width\":0.02,\"initial_trial\":\"200ms\",\
                          \"final_trial\":\"500ms\",\"duration_sum\":\"3s\"}]";

/// Options of `eagre lab compare`.
#[derive(Args)]
pub(crate) struct CompareArgs {
    /// Topologies with options: kernel-router, kernel-router:routes=262144, ovs:rules=1024
    #[arg(required = true, value_name = "TOPOLOGY[:OPTION=N,…]")]
    specs: Vec<TopologySpec>,
    /// Name of the comparison; later tests with the same name join its table [default: the time]
    #[arg(long, value_name = "NAME")]
    series: Option<String>,
    /// Name of the labs, which run one at a time
    #[arg(long, value_name = "NAME", default_value = "compare")]
    name: String,
    #[command(flatten)]
    output: OutputArgs,
    /// Cores of the devices, such as '0,2-3'; the tester has the others [default: all but one]
    #[arg(long, value_name = "CORES", value_parser = cores)]
    dut_cores: Option<Cores>,
    /// Use AF_PACKET instead of the faster AF_XDP on the tester's interfaces
    #[arg(long)]
    af_packet: bool,
    /// Arguments of 'eagre bench', such as '--sizes 64B'; a method can precede them, such as 'rfc2544'
    #[arg(last = true, value_name = "ARGUMENTS")]
    more: Vec<OsString>,
}

/// A topology with its options.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TopologySpec {
    text: String,
    topology: Topology,
    parameters: Parameters,
}

impl FromStr for TopologySpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        let topology = Topology::by_name(name).map_err(|error| error.to_string())?;
        let mut parameters = Parameters::default();
        for option in options.split(',').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').ok_or_else(|| format!("'{option}' is not OPTION=N"))?;
            let value: u32 =
                value.parse().map_err(|_| format!("'{option}': '{value}' is not a whole number"))?;
            let parameter = match key {
                "routes" => &mut parameters.routes,
                "rules" => &mut parameters.rules,
                "routers" => &mut parameters.routers,
                "flows" => &mut parameters.flows,
                _ => {
                    return Err(format!("unknown option '{key}': use routes, rules, routers or flows"));
                }
            };
            *parameter = Some(value);
        }
        Ok(Self { text: text.to_owned(), topology, parameters })
    }
}

impl TopologySpec {
    /// The design of its lab.
    pub(crate) fn design(&self, paths: &LabPaths) -> Result<lab::Design, Failure> {
        let design = self.topology.design(&self.parameters, paths)?;
        match lab::missing(&design.needs) {
            Some(sentence) => Err(LabError::Missing(sentence).into()),
            None => Ok(design),
        }
    }

    /// Brings its lab up.
    pub(crate) fn up(&self, paths: &LabPaths, progress: &mut dyn lab::Progress) -> Result<lab::Lab, Failure> {
        Ok(lab::up(self.topology, &self.parameters, paths, progress)?)
    }
}

/// `eagre lab compare`.
pub(crate) fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    let paths = LabPaths::named(&args.name)?;
    let specs: Vec<TopologySpec> = args.specs.iter().map(|spec| args.chosen(spec)).collect();
    // Check everything before creating anything.
    let mut tags: Vec<Vec<String>> = Vec::new();
    for spec in &specs {
        let own = checked(spec, &paths)?;
        if tags.contains(&own) {
            return Err(Failure::bad_input(format!("{}: duplicate entry: {}", spec.text, own.join(", "))));
        }
        tags.push(own);
    }
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let series = format!("{SERIES}={}", args.series.clone().unwrap_or(now));
    let stop = watched_for_interrupts()?;
    let mut ended = Ok(Exit::Done);
    for spec in &specs {
        ended = match (args.test(spec, &paths, &series, &stop), ended) {
            (Ok(exit), Ok(before)) => Ok(exit.and(before)),
            (failure, _) => failure,
        };
        // Continue after a device fails its test; stop at errors that would affect all. Report what was found in either
        // case.
        let stops_all = !ended.as_ref().is_ok_and(|exit| exit.is_an_outcome());
        if stops_all || stop.load(Ordering::Relaxed) {
            break;
        }
    }
    let reported = args.report(&series);
    let ended = ended?;
    reported?;
    Ok(if stop.load(Ordering::Relaxed) { Exit::Interrupted } else { ended })
}

/// The test of a topology that `compare` runs, with its own method: the one whose profile has streams.
const TEST: &str = "rfc2544";

/// Checks that a method can test the topology; returns its tags.
fn checked(spec: &TopologySpec, paths: &LabPaths) -> Result<Vec<String>, Failure> {
    let design = spec.design(paths)?;
    match design.test(paths.name(), Some(TEST)).map(|test| &test.command) {
        Ok(lab::TestCommand::Method { tags, .. }) => Ok(tags.clone()),
        _ => Err(Failure::bad_input(format!("{}: 'eagre bench' has no method for this topology", spec.text))),
    }
}

impl CompareArgs {
    fn chosen(&self, spec: &TopologySpec) -> TopologySpec {
        let dut_cores = self.dut_cores.as_ref().map(|cores| cores.0.clone());
        let parameters = Parameters { af_packet: self.af_packet, dut_cores, ..spec.parameters.clone() };
        TopologySpec { parameters, ..spec.clone() }
    }

    /// Brings a topology up, tests it and takes it down.
    fn test(
        &self,
        spec: &TopologySpec,
        paths: &LabPaths,
        series: &str,
        stop: &Arc<AtomicBool>,
    ) -> Result<Exit, Failure> {
        eprintln!("{}", spec.text);
        let mut progress = StepPrinter { stop: stop.clone() };
        let lab = lab::up(spec.topology, &spec.parameters, paths, &mut progress)?;
        let more = self.arguments(spec, series);
        // Tests print to standard error: standard output is for the table.
        let tested = lab::chosen_test(&lab, Some(TEST))
            .map_err(Failure::from)
            .and_then(|test| run_test(&test, &more, stop, std::io::stderr().into()));
        let down = lab::down(paths);
        let status = tested?;
        down?;
        Ok(exit_of(status))
    }

    fn arguments(&self, spec: &TopologySpec, series: &str) -> Vec<OsString> {
        let own_method = self.more.first().is_some_and(|word| !word.to_string_lossy().starts_with('-'));
        let given = |option: &str| self.more.iter().any(|word| word.to_string_lossy().starts_with(option));
        let mut more: Vec<OsString> = Vec::new();
        if !own_method {
            more.push(METHOD.into());
            more.push(if self.output.full { GOAL } else { QUICK_GOAL }.into());
            more.push(SHARES.into());
            if !given("--sizes") {
                more.push(SIZES.into());
            }
        }
        more.extend_from_slice(&self.more);
        more.extend(["--tag".into(), series.into()]);
        self.output.arguments(&spec.text, None, &more)
    }

    /// Prints the table and writes the report of a series.
    fn report(&self, series: &str) -> Result<(), Failure> {
        let path = self.output.store.clone().unwrap_or_else(default_store);
        if !path.exists() {
            return Ok(());
        }
        let store = Store::open_to_read(&path)?;
        let filter = Filter { tags: vec![series.to_owned()], ..Filter::default() };
        let mut loaded = Vec::new();
        for summary in store.list(&filter)? {
            let campaign = store.load(&summary.id)?;
            // The list starts with the newest.
            if !loaded.iter().any(|newer| cell_of(newer) == cell_of(&campaign)) {
                loaded.push(campaign);
            }
        }
        loaded.reverse();
        if loaded.is_empty() {
            return Ok(());
        }
        print!("{}", tables(&loaded));
        let file = self.output.report.clone().unwrap_or_else(|| PathBuf::from("eagre-lab-compare.html"));
        let page = report::comparison(&loaded, DEVICE, CONFIGURATION);
        os::draft::keep(&path);
        NewFile::create(&file)?.write(&page)?;
        println!("\n  {series}: report in {}", file.display());
        Ok(())
    }
}

/// The value of a campaign's tag `key=value`.
fn tag<'a>(loaded: &'a Loaded, key: &str) -> &'a str {
    let value = |tag: &'a String| tag.strip_prefix(key)?.strip_prefix('=');
    loaded.campaign.tags.iter().find_map(value).unwrap_or_default()
}

/// Table row and column of a campaign.
fn cell_of(loaded: &Loaded) -> (&str, &str) {
    (tag(loaded, DEVICE), tag(loaded, CONFIGURATION))
}

/// Distinct values in order of first occurrence.
fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    all.for_each(|one| {
        if !seen.contains(&one) {
            seen.push(one);
        }
    });
    seen
}

/// One table per frame length: devices and goals in rows, configurations in columns.
fn tables(campaigns: &[Loaded]) -> String {
    let findings = || campaigns.iter().flat_map(|loaded| &loaded.findings);
    let frames = distinct(findings().map(|finding| finding.frame.as_str()));
    let goals = distinct(findings().map(|finding| finding.goal.as_str()).filter(|goal| is_shown(goal)));
    let devices = distinct(campaigns.iter().map(|loaded| cell_of(loaded).0));
    let columns = distinct(campaigns.iter().map(|loaded| cell_of(loaded).1));
    let mut text = String::new();
    for frame in frames {
        let found = |device: &str, column: &str, goal: &str| -> String {
            let campaign = campaigns.iter().find(|loaded| cell_of(loaded) == (device, column));
            let finding = campaign.and_then(|loaded| {
                loaded.findings.iter().find(|f| (f.frame.as_str(), f.goal.as_str()) == (frame, goal))
            });
            finding.map_or_else(|| "-".to_owned(), value)
        };
        let mut rows = Vec::new();
        for device in &devices {
            for (index, goal) in goals.iter().enumerate() {
                let name = if index == 0 { (*device).to_owned() } else { String::new() };
                let mut row = vec![name, (*goal).to_owned()];
                row.extend(columns.iter().map(|column| found(device, column, goal)));
                rows.push(row);
            }
        }
        let head: Vec<&str> = [frame, "goal"].into_iter().chain(columns.iter().copied()).collect();
        text += &format!("\n{}", aligned(2, &head, rows));
    }
    if text.contains('†') {
        text += "\n  † limited by the tester; the device can do more\n";
    }
    if text.contains('‡') {
        text += "\n  ‡ limited by the link\n";
    }
    if text.contains('§') {
        text += "\n  § higher values can't be judged: the tester was disturbed\n";
    }
    if text.contains("can't be judged (") {
        text += "\n  in brackets: indicative, from trials that can't be judged\n";
    }
    text
}

/// Goals shown in the table; the report has all.
fn is_shown(goal: &str) -> bool {
    !["latency_mean", "latency_max", "latency_p99_9"].iter().any(|left_out| goal.starts_with(left_out))
}

/// The part of a finding that names the limit of its value.
#[derive(Deserialize)]
struct Bounded {
    limit: Option<Limit>,
}

fn value(finding: &Finding) -> String {
    let bounded = serde_json::from_value::<Bounded>(finding.document.clone()).ok();
    let limit = bounded.and_then(|bounded| bounded.limit);
    let Some(value) = finding.value else {
        return match (limit, finding.indicative) {
            (Some(Limit::Disturbed), Some(value)) => {
                format!("can't be judged ({})", quantity(value, &finding.unit))
            }
            (Some(Limit::Disturbed), None) => "can't be judged".to_owned(),
            _ => "none".to_owned(),
        };
    };
    let mark = match limit {
        Some(Limit::Tester) => " †",
        Some(Limit::Maximum) => " ‡",
        Some(Limit::Disturbed) => " §",
        _ => "",
    };
    format!("{}{mark}", quantity(value, &finding.unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topology_with_its_options() {
        let spec: TopologySpec = "kernel-router:routes=262144,rules=1024".parse().unwrap();
        assert_eq!(spec.topology.name(), "kernel-router");
        assert_eq!((spec.parameters.routes, spec.parameters.rules), (Some(262_144), Some(1_024)));
        assert_eq!("ovs".parse::<TopologySpec>().unwrap().parameters, Parameters::default());
        let error = |text: &str| text.parse::<TopologySpec>().unwrap_err();
        assert!(error("linux").starts_with("unknown topology 'linux'"));
        assert_eq!(error("ovs:rules"), "'rules' is not OPTION=N");
        assert_eq!(error("ovs:rules=x"), "'rules=x': 'x' is not a whole number");
        assert!(error("ovs:cores=1").contains("unknown option 'cores'"));
    }
}
