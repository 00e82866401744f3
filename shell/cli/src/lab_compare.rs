//! `lab compare`: topologies brought up one after the other, each tested in the same way and taken down; then one report
//! and one table of all of them, devices by configurations.

use crate::lab::{KeepArgs, Progress, carry_out, exit_of, watched_for_interrupts};
use crate::results::default_store;
use crate::summary::table;
use crate::{Exit, Failure};
use clap::Args;
use lab::{LabError, Parameters, Place, Topology};
use serde_json::Value;
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::SystemTime;
use store::{Filter, Finding, Loaded, Store, quantity, report};

/// Keys of the tags that make rows, columns and the whole of a table.
const DEVICE: &str = "dut";
const CONFIGURATION: &str = "config";
const SERIES: &str = "series";

/// What is asked unless told otherwise: the rate at 0.1% loss, and loss and latency at it and at half of it.
const METHOD: &str = "mlrsearch";
const SIZES: &str = "--sizes=64B,888B,imix";
const SHARES: &str = "--set=latency.shares=1,0.5";
const GOAL: &str = "--set=mlrsearch.goals=[{\"loss_ratio\":0.001}]";
/// The same goal in seconds instead of minutes.
const QUICK_GOAL: &str = "--set=mlrsearch.goals=[{\"loss_ratio\":0.001,\"width\":0.02,\"initial_trial\":\"200ms\",\
                          \"final_trial\":\"500ms\",\"duration_sum\":\"3s\"}]";

/// What is put side by side.
#[derive(Args)]
pub(crate) struct CompareArgs {
    /// Topologies with their options: kernel-router, kernel-router:routes=262144, ovs:rules=1024
    #[arg(required = true, value_name = "TOPOLOGY[:OPTION=N,…]")]
    specs: Vec<Spec>,
    /// A name for this comparison: what is tested later under the same name joins the table [default: the time]
    #[arg(long, value_name = "NAME")]
    series: Option<String>,
    /// Name of the labs, which are up one at a time
    #[arg(long, value_name = "NAME", default_value = "compare")]
    name: String,
    #[command(flatten)]
    keep: KeepArgs,
    /// Use AF_PACKET on the tester's interfaces, instead of AF_XDP, which is faster
    #[arg(long)]
    af_packet: bool,
    /// Arguments for 'eagre bench', such as '--sizes 64B'; another method before them, such as 'rfc2544'
    #[arg(last = true, value_name = "ARGUMENTS")]
    more: Vec<OsString>,
}

/// A topology with its options.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Spec {
    text: String,
    topology: Topology,
    parameters: Parameters,
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, options) = text.split_once(':').unwrap_or((text, ""));
        let topology = Topology::by_name(name).map_err(|error| error.to_string())?;
        let mut parameters = Parameters::default();
        for option in options.split(',').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').ok_or_else(|| format!("'{option}' is not OPTION=N"))?;
            let value: u32 =
                value.parse().map_err(|_| format!("'{option}': '{value}' is no whole number"))?;
            let place = match key {
                "routes" => &mut parameters.routes,
                "rules" => &mut parameters.rules,
                "routers" => &mut parameters.routers,
                "flows" => &mut parameters.flows,
                _ => {
                    return Err(format!(
                        "there is no option '{key}'; there are routes, rules, routers, flows"
                    ));
                }
            };
            *place = Some(value);
        }
        Ok(Self { text: text.to_owned(), topology, parameters })
    }
}

/// `eagre lab compare`.
pub(crate) fn compare(args: &CompareArgs) -> Result<Exit, Failure> {
    let place = Place::named(&args.name)?;
    let specs: Vec<Spec> = args.specs.iter().map(|spec| args.chosen(spec)).collect();
    // Known before anything is made.
    let mut tags: Vec<Vec<String>> = Vec::new();
    for spec in &specs {
        let own = checked(spec, &place)?;
        if tags.contains(&own) {
            return Err(Failure::bad_input(format!(
                "{}: this is there twice: {}",
                spec.text,
                own.join(", ")
            )));
        }
        tags.push(own);
    }
    let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let series = format!("{SERIES}={}", args.series.clone().unwrap_or(now));
    let stop = watched_for_interrupts()?;
    let mut ended = Ok(Exit::Done);
    for spec in &specs {
        match args.test(spec, &place, &series, &stop) {
            Ok(Exit::Done) => {}
            other => ended = other,
        }
        // A device that fails is no reason to leave out the others; what would hinder all of them is. What has been found
        // until then is told all the same.
        let hopeless = !matches!(ended, Ok(Exit::Done | Exit::Failed));
        if hopeless || stop.load(Ordering::Relaxed) {
            break;
        }
    }
    let told = args.tell(&series);
    let ended = ended?;
    told?;
    Ok(if stop.load(Ordering::Relaxed) { Exit::Failed } else { ended })
}

/// Whether a topology can be tested by a method; its tags.
fn checked(spec: &Spec, place: &Place) -> Result<Vec<String>, Failure> {
    let design = spec.topology.design(&spec.parameters, place)?;
    if let Some(sentence) = lab::missing(&design.needs) {
        return Err(LabError::Missing(sentence).into());
    }
    match &design.test(place.name(), None)?.way {
        lab::Way::Method { tags, .. } => Ok(tags.clone()),
        _ => Err(Failure::bad_input(format!("{}: no method of 'eagre bench' tests it", spec.text))),
    }
}

impl CompareArgs {
    fn chosen(&self, spec: &Spec) -> Spec {
        let parameters = Parameters { af_packet: self.af_packet, ..spec.parameters.clone() };
        Spec { parameters, ..spec.clone() }
    }

    /// Brings one up, tests it, takes it down.
    fn test(
        &self,
        spec: &Spec,
        place: &Place,
        series: &str,
        stop: &Arc<AtomicBool>,
    ) -> Result<Exit, Failure> {
        eprintln!("{}", spec.text);
        let mut progress = Progress { stop: stop.clone() };
        let lab = lab::up(spec.topology, &spec.parameters, place, &mut progress)?;
        let more = self.arguments(spec, series);
        // What the tests say goes where progress goes: the table is the answer.
        let tested = lab::chosen_test(&lab, None)
            .map_err(Failure::from)
            .and_then(|test| carry_out(&test, &more, stop, std::io::stderr().into()));
        let down = lab::down(place);
        let status = tested?;
        down?;
        Ok(exit_of(status))
    }

    fn arguments(&self, spec: &Spec, series: &str) -> Vec<OsString> {
        let own_method = self.more.first().is_some_and(|word| !word.to_string_lossy().starts_with('-'));
        let said = |option: &str| self.more.iter().any(|word| word.to_string_lossy().starts_with(option));
        let mut more: Vec<OsString> = Vec::new();
        if !own_method {
            more.push(METHOD.into());
            more.push(if self.keep.full { GOAL } else { QUICK_GOAL }.into());
            more.push(SHARES.into());
            if !said("--sizes") {
                more.push(SIZES.into());
            }
        }
        more.extend_from_slice(&self.more);
        more.extend(["--tag".into(), series.into()]);
        self.keep.arguments(&spec.text, None, &more)
    }

    /// The report and the table of a series.
    fn tell(&self, series: &str) -> Result<(), Failure> {
        let path = self.keep.store.clone().unwrap_or_else(default_store);
        if !path.exists() {
            return Ok(());
        }
        let store = Store::open_existing(&path)?;
        let filter = Filter { tags: vec![series.to_owned()], ..Filter::default() };
        let mut loaded = Vec::new();
        for summary in store.list(&filter)? {
            let campaign = store.load(&summary.id)?;
            // The newest of each is listed first.
            if !loaded.iter().any(|newer| cell_of(newer) == cell_of(&campaign)) {
                loaded.push(campaign);
            }
        }
        loaded.reverse();
        if loaded.is_empty() {
            return Ok(());
        }
        print!("{}", tables(&loaded));
        let file = self.keep.report.clone().unwrap_or_else(|| PathBuf::from("eagre-lab-compare.html"));
        let page = report::comparison(&loaded, DEVICE, CONFIGURATION);
        std::fs::write(&file, page).map_err(|e| Failure::refused(format!("{}: {e}", file.display())))?;
        println!("\n  {series}: report in {}", file.display());
        Ok(())
    }
}

/// The value of a campaign's tag `key=value`.
fn tag<'a>(loaded: &'a Loaded, key: &str) -> &'a str {
    let value = |tag: &'a String| tag.strip_prefix(key)?.strip_prefix('=');
    loaded.campaign.tags.iter().find_map(value).unwrap_or_default()
}

/// Row and column of a campaign.
fn cell_of(loaded: &Loaded) -> (&str, &str) {
    (tag(loaded, DEVICE), tag(loaded, CONFIGURATION))
}

/// In the order they come, each once.
fn distinct<'a>(all: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    all.for_each(|one| {
        if !seen.contains(&one) {
            seen.push(one);
        }
    });
    seen
}

/// A table for each frame length: devices and goals down, configurations across.
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
                let mut row = vec![format!("{name:<16}{goal}")];
                row.extend(columns.iter().map(|column| found(device, column, goal)));
                rows.push(row);
            }
        }
        let head: Vec<&str> = std::iter::once(frame).chain(columns.iter().copied()).collect();
        text += &format!("\n{}", table(&head, rows));
    }
    if text.contains('†') {
        text += "\n  † the tester was the limit; the device may do more\n";
    }
    if text.contains('‡') {
        text += "\n  ‡ the link was the limit\n";
    }
    text
}

/// Other figures are in the report.
fn is_shown(goal: &str) -> bool {
    !["latency_mean", "latency_max", "latency_p99_9"].iter().any(|left_out| goal.starts_with(left_out))
}

fn value(finding: &Finding) -> String {
    let Some(value) = finding.value else { return "none".to_owned() };
    let mark = match finding.document.get("limit").and_then(Value::as_str) {
        Some("tester") => " †",
        Some("maximum") => " ‡",
        _ => "",
    };
    format!("{}{mark}", quantity(value, &finding.unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_topology_with_its_options() {
        let spec: Spec = "kernel-router:routes=262144,rules=1024".parse().unwrap();
        assert_eq!(spec.topology.name(), "kernel-router");
        assert_eq!((spec.parameters.routes, spec.parameters.rules), (Some(262_144), Some(1_024)));
        assert_eq!("ovs".parse::<Spec>().unwrap().parameters, Parameters::default());
        let error = |text: &str| text.parse::<Spec>().unwrap_err();
        assert!(error("linux").starts_with("there is no topology 'linux'"));
        assert_eq!(error("ovs:rules"), "'rules' is not OPTION=N");
        assert_eq!(error("ovs:rules=x"), "'rules=x': 'x' is no whole number");
        assert!(error("ovs:cores=1").contains("no option 'cores'"));
    }
}
