//! Report pages to look at: `pages FOLDER RESULT.json…` makes a campaign of result documents, a trial each, with made-up
//! findings, and writes its page, that of its first trial, and one of several campaigns side by side.

use serde_json::{Value, json};
use std::path::Path;
use store::{Finding, Loaded, NewCampaign, NewTrial, TrialRow, report};

fn about(name: &str, dut: &str, config: &str) -> NewCampaign {
    NewCampaign {
        name: name.to_owned(),
        method: "throughput".to_owned(),
        config: json!({"duration": "60s", "frames": ["64B", "512B"]}),
        profile: "ports:\n  west: {device: veth0}\n  east: {device: veth1}\n".to_owned(),
        seed: 42,
        version: "0.1.0".to_owned(),
        command: "eagre bench rfc2544 profile.yaml --seed 42".to_owned(),
        started: "2026-11-30T12:00:00.000Z".to_owned(),
        environment: json!({"kernel": config, "cpu": {"model": "an example", "cores": 8}, "nics": [{"name": "veth0",
            "driver": "veth"}], "doctor": [
            {"check": "cores", "status": "good", "found": "8 cores", "why": "enough for all workers", "remedy": null},
            {"check": "frequency governor", "status": "bad", "found": "powersave",
             "why": "the frequency changes with load", "remedy": "cpupower frequency-set -g performance"}]}),
        tags: vec![format!("dut={dut}"), format!("config={config}")],
    }
}

fn finding(frame: u32, goal: &str, value: f64) -> Finding {
    let line = 10e9 / (8.0 * f64::from(frame + 20));
    Finding {
        frame: format!("{frame}B"),
        frame_bytes: Some(frame),
        goal: goal.to_owned(),
        unit: "pps".to_owned(),
        value: Some(value),
        lower: Some(value),
        upper: Some(value * 1.005),
        line: Some(line),
        ..Finding::default()
    }
}

/// A campaign whose findings are `factor` of a device's that forwards a million packets per second.
fn campaign(about: NewCampaign, results: &[(u32, Value)], factor: f64) -> Loaded {
    let mut loaded = Loaded::single(about, Value::Null, Vec::new());
    (loaded.trials, loaded.results) = (Vec::new(), Vec::new());
    for (number, (frame, result)) in (0..).zip(results) {
        let trial = NewTrial {
            number,
            label: format!("{frame}B, trial {number}"),
            phase: if number == 0 { "warm_up" } else { "measure" }.to_owned(),
            frame: format!("{frame}B"),
            frame_bytes: Some(*frame),
            line_pps: Some(10e9 / (8.0 * f64::from(frame + 20))),
            result: result.clone(),
            ..NewTrial::default()
        };
        loaded.trials.push(TrialRow::new(&trial));
        loaded.results.push(trial.result);
    }
    let sizes = [64, 128, 256, 512, 1024, 1280, 1518];
    let rate = |frame: u32| (1e6 * factor).min(10e9 / (8.0 * f64::from(frame + 20)));
    loaded.findings = sizes
        .iter()
        .flat_map(|f| [finding(*f, "ndr", rate(*f)), finding(*f, "pdr", rate(*f) * 1.002)])
        .collect();
    loaded
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (folder, files) = arguments.split_first().ok_or("usage: pages FOLDER RESULT.json…")?;
    let mut results = Vec::new();
    for file in files {
        let result: Value = serde_json::from_str(&std::fs::read_to_string(file)?)?;
        let west = &result["ports"]["west"];
        let frame = west["tx_bytes"].as_u64().unwrap_or(0) / west["tx_packets"].as_u64().unwrap_or(1).max(1);
        results.push((u32::try_from(frame)?, result));
    }
    let write = |name: &str, page: String| std::fs::write(Path::new(folder).join(name), page);
    write("campaign.html", report::campaign(&campaign(about("edge router", "frr", "plain"), &results, 1.0)))?;
    if let Some((_, first)) = results.first() {
        let single = Loaded::single(about("one run", "frr", "plain"), first.clone(), Vec::new());
        write("single.html", report::campaign(&single))?;
    }
    let several = [
        campaign(about("frr, plain", "frr", "plain"), &results, 1.0),
        campaign(about("frr, nat", "frr", "nat"), &results, 0.62),
        campaign(about("vpp, plain", "vpp", "plain"), &results, 1.004),
        campaign(about("vpp, nat", "vpp", "nat"), &results, 0.9),
    ];
    Ok(write("several.html", report::comparison(&several, "dut", "config"))?)
}
