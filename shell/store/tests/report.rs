//! Content of a report page: its structure for real kinds of campaigns, nothing empty, nothing that a name could break.

use serde_json::{Value, json};
use store::{Campaign, Finding, Loaded, NewCampaign, NewTrial, State, TrialRow, report};

/// Text that would be markup if it were not escaped.
const HOSTILE: &str = "</title></style><script>alert('x')</script><img src=x onerror=\"alert(1)\">&amp;";

fn latency(p50: u64, samples: u64) -> Value {
    json!({"min": p50 / 2, "mean": p50 as f64, "stddev": 1.0, "p50": p50, "p90": p50 * 2, "p99": p50 * 4, "p99_9": p50 * 20,
           "p99_99": p50 * 50, "max": p50 * 80, "samples": samples})
}

fn result(offered: f64, lost: u64) -> Value {
    let tx = offered as u64;
    json!({
        "schema": "eagre.result/1", "version": "0.1.0", "seed": 1, "profile_sha256": "ab", "duration_s": 1.0,
        "interrupted": false, "clock": {"source": "tsc", "hz": 1}, "timestamp_class": "software",
        "verdict": {"valid": true, "generator_limited": false, "reasons": []},
        "ports": {"west": {"tx_packets": tx, "tx_unsent": 0, "tx_bps_l1": 1e6, "rx_packets": 0, "rx_errors": {}}},
        "streams": {"s": {"offered_pps": offered, "tx": tx, "rx": tx - lost, "lost": lost,
                          "loss_ratio": lost as f64 / offered, "latency_ns": latency(10_000, tx - lost)}},
        "workers": [{"core": 1, "busy_ratio": 0.5, "stall_max_ns": 5}],
    })
}

fn about(name: &str) -> NewCampaign {
    NewCampaign {
        name: name.to_owned(),
        method: "throughput".to_owned(),
        profile: "ports: {}\n".to_owned(),
        command: "eagre bench rfc2544 profile.yaml".to_owned(),
        version: "0.1.0".to_owned(),
        seed: 42,
        environment: json!({"kernel": "6.1", "nics": [{"name": "eth0", "driver": "ice"}], "doctor": [
            {"check": "cores", "status": "good", "found": "8", "why": "w", "remedy": null},
            {"check": "governor", "status": "bad", "found": "powersave", "why": "w", "remedy": "performance"}]}),
        ..NewCampaign::default()
    }
}

/// A campaign over two frame lengths and four loads each.
fn campaign(name: &str) -> Loaded {
    let mut loaded = Loaded::single(about(name), Value::Null, Vec::new());
    loaded.trials.clear();
    loaded.results.clear();
    for (number, (frame, load)) in
        (1..).zip([64_u32, 1518].iter().flat_map(|f| [1e5, 2e5, 3e5, 4e5].map(|l| (*f, l))))
    {
        let new = NewTrial {
            number,
            label: format!("{frame}B at {load}"),
            phase: "measure".into(),
            frame: format!("{frame}B"),
            frame_bytes: Some(frame),
            line_pps: Some(5e5),
            result: result(load, if load > 2.5e5 { 1_000 } else { 0 }),
            ..NewTrial::default()
        };
        loaded.trials.push(TrialRow::new(&new));
        loaded.results.push(new.result);
    }
    let finding = |frame: &str, bytes, value: f64| Finding {
        frame: frame.into(),
        frame_bytes: Some(bytes),
        goal: "throughput".into(),
        unit: "pps".into(),
        value: Some(value),
        lower: Some(value),
        upper: Some(value * 1.01),
        line: Some(5e5),
        ..Finding::default()
    };
    loaded.findings = vec![finding("64B", 64, 2e5), finding("1518B", 1518, 2.5e5)];
    loaded
}

/// Headings of a page, in order.
fn headings(page: &str) -> Vec<&str> {
    let titles = page.split("<h2 id=\"").skip(1);
    titles.map(|rest| rest.split_once('>').unwrap().1.split_once("</h2>").unwrap().0).collect()
}

/// Captions of charts, in order.
fn charts(page: &str) -> Vec<&str> {
    page.split("<figcaption>").skip(1).map(|rest| rest.split_once("</figcaption>").unwrap().0).collect()
}

#[test]
fn a_campaign_has_every_section_it_has_data_for() {
    let page = report::campaign(&campaign("router"));
    let expected = [
        "Summary",
        "Loss and latency over load",
        "Findings",
        "Throughput against line rate",
        "More figures over load",
        "Latency percentiles",
        "Trials",
        "Environment",
        "Reproduction",
        "Terms",
    ];
    assert_eq!(headings(&page), expected);
    let expected = [
        "Frame loss and latency over offered load",
        "Rates found and the theoretical maximum",
        "Median latency over offered load",
        "Standard deviation of latency over offered load",
        "Latency percentiles of the trial with the highest load and the least loss",
    ];
    assert_eq!(charts(&page), expected);
    for text in [
        "All 8 trials are valid.",
        "Throughput with 64B frames: 200 kpps, 40% of the line rate, below 202 kpps.",
        "RFC 2544 section 26.1",
        "eagre bench rfc2544 profile.yaml",
        "powersave",
        "1 can affect measurements",
        "nics.0.driver",
    ] {
        assert!(page.contains(text), "{text}");
    }
    // What is not the answer is folded.
    let (seen, folded) = page.split_once("<details><summary><h2").unwrap();
    assert!(
        seen.contains("id=\"load\"") && folded.contains("id=\"trials\"") && folded.contains("id=\"terms\"")
    );
    // What is doubtful stands before what is good.
    assert!(page.find("governor").unwrap() < page.find(">cores<").unwrap());
}

#[test]
fn a_single_run_has_its_streams_and_intervals() {
    let interval = |at: f64| {
        json!({"at_s": at, "interval_s": 0.5, "draining": false,
               "streams": {"s": {"offered_pps": 10.0, "tx": 5, "rx": 5, "latency_ns": latency(100, 5)}}})
    };
    let page =
        report::campaign(&Loaded::single(about("one"), result(1e5, 10), vec![interval(0.5), interval(1.0)]));
    let expected = [
        "Summary",
        "Over time",
        "Latency percentiles",
        "Streams and ports",
        "Trials",
        "More over time",
        "Environment",
        "Reproduction",
    ];
    assert_eq!(headings(&page), expected);
    assert_eq!(
        charts(&page),
        ["Rates and times over time", "Latency percentiles by stream", "Delay variation in each interval"]
    );
    assert!(page.contains("100,000 packets were sent, at 100 kpps for 1 s."));
    assert!(page.contains("a frame loss rate of 0.01% (RFC 1242 section 3.6)"));
    assert!(page.contains("Valid."));
}

#[test]
fn sessions_have_rates_failures_and_times() {
    let result = json!({"verdict": {"valid": true}, "sessions": {"web": {
        "attempted": 1000, "established": 990, "completed": 980, "failed": {"connect_timeout": 10, "reset": 10, "other": 0},
        "active_max": 50, "open_per_s": 100.0, "transactions_per_s": 98.0, "rx_bps_goodput": 1e6,
        "retransmitted_segments": 3, "setup_ns": latency(50_000, 990), "ttfb_ns": latency(90_000, 980)}}});
    let page = report::campaign(&Loaded::single(about("web"), result, Vec::new()));
    assert!(headings(&page).contains(&"Sessions"));
    assert_eq!(charts(&page), ["Time to set up, to first byte and to last byte"]);
    for text in [
        "Of 1,000 sessions attempted, 990 (99%) were established, 980 (98%) completed, 20 (2%) failed.",
        "connect timeout",
        "web: set-up",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("other"), "a reason nobody had");
}

#[test]
fn verdicts_come_first_with_their_reasons() {
    let bad =
        json!({"verdict": {"valid": false, "generator_limited": true, "reasons": ["the wire was cut"]}});
    let page = report::campaign(&Loaded::single(about("bad"), bad, Vec::new()));
    assert!(page.contains("verdict warn") && page.contains("Not valid: do not use these figures."));
    assert!(page.contains("<strong>? Can't be judged here</strong>: the wire was cut."));
    assert!(page.find("the wire was cut").unwrap() < page.find("Nothing was measured").unwrap());
    assert!(charts(&page).is_empty());

    let mut missed = result(1e5, 0);
    missed["criteria"] = json!([{"path": "streams.s.lost", "bound": "== 1", "value": 0.0, "passed": false}]);
    let page = report::campaign(&Loaded::single(about("missed"), missed, Vec::new()));
    assert!(page.contains("verdict bad") && page.contains("1 of 1 pass criterion is not met."));

    let mut some = campaign("some");
    some.trials[2].valid = false;
    some.trials[2].reasons = vec!["the wire was cut".into()];
    some.trials[5].reasons = vec!["the wire was cut".into()];
    some.campaign.state = State::Failed;
    some.campaign.reason = Some("no more wire".into());
    let page = report::campaign(&some);
    assert!(page.contains("1 of 8 trials are not valid") && page.contains("It failed: no more wire"));
    assert!(page.contains("verdict bad") && page.contains("<strong>✕ Failed</strong>: no more wire."));
    assert!(page.contains("(trials 3, 6)"));
}

/// The table that every RFC 2544 report has: a row for each frame length, and its bounds.
#[test]
fn frame_lengths_by_figures_stand_on_the_first_screen() {
    let mut loaded = campaign("matrix");
    for (frame, bytes, ns) in [("64B", 64, 90_000.0), ("1518B", 1518, 120_000.0)] {
        for (goal, value) in [("latency_p50", ns), ("latency_p99", 2.0 * ns), ("latency_max", 9.0 * ns)] {
            let (frame, goal) = (frame.into(), goal.into());
            let (frame_bytes, value) = (Some(bytes), Some(value));
            loaded.findings.push(Finding {
                frame,
                frame_bytes,
                goal,
                unit: "ns".into(),
                value,
                ..Finding::default()
            });
        }
    }
    let page = report::campaign(&loaded);
    let (seen, _) = page.split_once("<details><summary><h2").unwrap();
    let table = seen.split_once("<table>").unwrap().1.split_once("</table>").unwrap().0;
    assert_eq!(table.matches("<tr>").count(), 3, "{table}");
    for text in ["frames", "Throughput", "of line rate", "40%", "below 202 kpps", "90 µs", "240 µs"] {
        assert!(table.contains(text), "{text}: {table}");
    }
    assert!(!table.contains("810 µs"), "the longest is no first figure: {table}");
    // The worst of all lengths, large; and of the rate the best, too.
    let tiles = seen.split_once("<dl class=\"tiles\">").unwrap().1.split_once("</dl>").unwrap().0;
    assert_eq!(tiles.matches("<dt>").count(), 4, "{tiles}");
    for text in ["200 kpps<small>40% of the line rate, below 202 kpps", "250 kpps", "120 µs", "240 µs"] {
        assert!(tiles.contains(text), "{text}: {tiles}");
    }
}

#[test]
fn the_knee_is_marked() {
    let page = report::campaign(&campaign("knee"));
    for text in ["64B: no loss up to 40%", "1518B: no loss up to 40%"] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains(">120%<"), "an axis ends beyond what was offered");
}

#[test]
fn nothing_measured_makes_no_chart_and_no_empty_table() {
    let mut empty = campaign("empty");
    (empty.trials, empty.results, empty.findings) = (Vec::new(), Vec::new(), Vec::new());
    empty.campaign = Campaign { environment: Value::Null, profile: String::new(), ..empty.campaign };
    let page = report::campaign(&empty);
    assert_eq!(headings(&page), ["Summary", "Reproduction"]);
    assert!(!page.contains("<svg") && !page.contains("<table"));
    assert!(page.contains("No finished trials."));
}

#[test]
fn names_can_not_become_markup() {
    let mut result = result(1e5, 10);
    result["streams"] = json!({HOSTILE: result["streams"]["s"]});
    result["ports"] = json!({HOSTILE: {"tx_packets": 1, "rx_errors": {HOSTILE: 1}}});
    result["sessions"] =
        json!({HOSTILE: {"attempted": 1, "failed": {HOSTILE: 1}, "setup_ns": latency(5, 100)}});
    result["criteria"] = json!([{"path": HOSTILE, "bound": HOSTILE, "passed": false}]);
    result["verdict"]["reasons"] = json!([HOSTILE]);
    let about = NewCampaign {
        name: HOSTILE.into(),
        method: HOSTILE.into(),
        config: json!({HOSTILE: HOSTILE}),
        profile: HOSTILE.into(),
        version: HOSTILE.into(),
        command: HOSTILE.into(),
        environment: json!({HOSTILE: HOSTILE, "doctor": [{"check": HOSTILE, "status": HOSTILE, "found": HOSTILE}]}),
        tags: vec![HOSTILE.into(), format!("dut={HOSTILE}"), format!("config={HOSTILE}")],
        ..NewCampaign::default()
    };
    let mut loaded = Loaded::single(about, result, Vec::new());
    loaded.campaign.state = State::Failed;
    loaded.campaign.reason = Some(HOSTILE.into());
    loaded.trials[0].label = HOSTILE.into();
    loaded.trials[0].frame = HOSTILE.into();
    let single = report::campaign(&loaded);
    loaded.method_results = vec![
        json!({"method": HOSTILE, "summary": [HOSTILE], "remarks": [HOSTILE],
        "findings": {"rows": [{HOSTILE: HOSTILE}]}})
        .into(),
    ];
    loaded.findings = vec![Finding {
        frame: HOSTILE.into(),
        goal: HOSTILE.into(),
        unit: "pps".into(),
        value: Some(1.0),
        line: Some(2.0),
        note: Some(HOSTILE.into()),
        ..Finding::default()
    }];
    let whole = report::campaign(&loaded);
    let several = report::comparison(&[loaded.clone(), loaded], "dut", "config");
    for page in [single, whole, several] {
        for needle in ["<script", "<img", "</title></style>"] {
            assert!(!page.contains(needle), "{needle} got through");
        }
        // The hostile text has quotes: they may not end an attribute either.
        assert!(!page.contains("onerror=\""));
        assert!(page.contains("&lt;script&gt;"));
    }
}

#[test]
fn nothing_is_loaded_from_anywhere() {
    let page = report::campaign(&campaign("router"));
    assert!(page.contains("default-src 'none'"));
    for needle in ["http:", "https:", "//", "url(", "@import", "<script", "src="] {
        assert!(!page.contains(needle), "{needle}");
    }
}

#[test]
fn campaigns_stand_side_by_side() {
    let tagged = |name: &str, dut: &str, config: &str, factor: f64| {
        let mut loaded = campaign(name);
        loaded.campaign.tags = vec![format!("dut={dut}"), format!("config={config}")];
        loaded.campaign.environment["kernel"] = json!(format!("6.{factor}"));
        for finding in &mut loaded.findings {
            for value in [&mut finding.value, &mut finding.lower, &mut finding.upper] {
                *value = value.map(|v| v * factor);
            }
        }
        loaded
    };
    let all =
        [tagged("a", "frr", "plain", 1.0), tagged("b", "frr", "nat", 0.5), tagged("c", "vpp", "nat", 1.001)];
    let page = report::comparison(&all, "dut", "config");
    let expected = [
        "Summary",
        "Findings side by side",
        "By tags",
        "Rates side by side",
        "Loss and latency over load",
        "Differences",
        "Reproduction",
    ];
    assert_eq!(headings(&page), expected);
    for text in [
        "b is slower than a in 2 of 2 rates (64B throughput −50%, at least −49.5%, ",
        "No difference shown between c and a in 2 of 2 rates: all their intervals overlap.",
        "<strong>−50%</strong>",
        "+0.1%, no difference shown",
        "200 kpps – 202 kpps",
        "64B, Throughput, dut by config",
        "6.0.5",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("nics.0.driver"), "what is the same everywhere does not differ");
}

/// A trial of sessions with a requested number of connections per second, of which a share fails.
fn session_trial(loaded: &mut Loaded, number: u32, app: &str, load: u64, failed: u64) {
    let times = latency(50_000 * load, 900);
    let result = json!({"verdict": {"valid": true}, "sessions": {"web": {"attempted": 1000, "established": 1000 - failed,
        "completed": 1000 - failed, "failed": {"setup_timeout": failed}, "open_per_s": load as f64, "setup_ns": times,
        "ttfb_ns": times, "ttlb_ns": times}}});
    let request = json!({"kind": {"type": "sessions", "app": {"name": app, "request_bytes": 1, "response_bytes": 1,
        "transactions": 1}, "objective": "connections_per_second", "value": load, "open_per_s_max": 0, "flows": 0,
        "phases": {}}});
    let new = NewTrial {
        number,
        key: format!("{app} {load} {number}"),
        label: format!("{app} at {load}/s"),
        phase: "measure".into(),
        frame: app.into(),
        request,
        result,
        ..NewTrial::default()
    };
    loaded.trials.push(TrialRow::new(&new));
    loaded.results.push(new.result);
}

#[test]
fn trials_of_sessions_make_curves_up_to_failure() {
    let mut loaded = Loaded::single(about("series"), Value::Null, Vec::new());
    (loaded.trials, loaded.results) = (Vec::new(), Vec::new());
    for (number, (app, load, failed)) in
        (1..).zip([("raw", 100, 0), ("raw", 200, 0), ("raw", 300, 400), ("http", 100, 0), ("http", 200, 900)])
    {
        session_trial(&mut loaded, number, app, load, failed);
    }
    let page = report::campaign(&loaded);
    assert!(headings(&page).contains(&"Sessions over load"));
    let drawn = charts(&page);
    for chart in [
        "Failures, load reached and times over load, connections opened per second",
        "Sessions attempted and established over load, connections opened per second",
        "Time to set up over load, connections opened per second",
        "Time to the first byte over load, connections opened per second",
    ] {
        assert!(drawn.contains(&chart), "{chart}: {drawn:?}");
    }
    // The point at which it failed is there, and the table has what was asked beside what came of it.
    for text in ["300/s, 40%", "200/s, 90%", "300 connections/s", "http: established", "requested load"] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn repeats_are_points_around_their_median_and_disturbed_trials_are_marked() {
    let mut loaded = campaign("repeats");
    for (index, lost) in [(2, 5_000), (3, 9_000)] {
        let mut row = loaded.trials[index].clone();
        row.figures.offered_pps = Some(4e5 + index as f64);
        row.figures.loss_ratio = Some(lost as f64 / 4e5);
        (row.number, row.ordinal) = (20 + index as u32, 9 + index as u32);
        loaded.trials.push(row);
        loaded.results.push(Value::Null);
    }
    let last = loaded.trials.last_mut().unwrap();
    (last.valid, last.disturbed) = (false, true);
    last.reasons = vec!["worker 0 waited 2.31 of 3.00 s for its core".into()];
    let page = report::campaign(&loaded);
    assert!(page.contains("single trials; the line is their median"));
    assert!(page.contains("tester disturbed") && page.contains("class=\"x\""));
    assert!(page.contains("trial 12, not valid: worker 0 waited 2.31 of 3.00 s for its core"));
    // Two valid trials at 400 kpps lost 0.25% and 1.25%: their median is 0.75%. The third does not count.
    assert!(page.contains("80%, 0.75%"), "no median");
    let verdict =
        "<span class=\"bad\">not valid</span><small>worker 0 waited 2.31 of 3.00 s for its core</small>";
    assert!(page.contains(verdict), "no reason beside the verdict");
}

#[test]
fn intervals_in_which_the_tester_was_disturbed_are_shaded_and_explained() {
    let interval = |n: u32, disturbances: &[&str]| {
        json!({"at_s": f64::from(n), "interval_s": 1.0, "draining": false, "disturbances": disturbances,
               "streams": {"s": {"offered_pps": 1e5, "tx": 100_000, "rx": 100_000, "latency_ns": latency(9_000, 9),
                   "interarrival_ns": {"min": 1, "mean": 2.0, "stddev": 3.0, "max": 4},
                   "pacing_ns": {"error_p50": 1, "error_p99": 2, "error_p99_9": 3, "back_to_back_ratio": 0.5, "late_max": 7}}}})
    };
    let why = "worker 0 stalled for 35.2 ms";
    let mut document = result(1e5, 0);
    document["streams"]["s"]["interarrival_ns"] =
        json!({"min": 900, "mean": 10_000.0, "stddev": 250.0, "max": 35_000_000});
    document["streams"]["s"]["pacing_ns"] = json!({"error_p50": 10, "error_p99": 20, "error_p99_9": 30, "back_to_back_ratio": 0.55, "late_max": 35_000_000});
    let intervals = vec![interval(1, &[]), interval(2, &[why]), interval(3, &[])];
    let page = report::campaign(&Loaded::single(about("stalled"), document, intervals));
    assert_eq!(page.matches("<rect class=\"band\"").count(), 6, "three charts and their legends");
    for text in [
        "The tester was disturbed in 1 of 3 intervals, marked below the axis",
        "until 2 s: worker 0 stalled for 35.2 ms",
        "Pacing: departures compared with the schedule",
        "Time between arrivals, and jitter",
        "250 ns",
        "55%",
        "35 ms",
    ] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn devices_along_the_path_have_their_rates_and_the_rule_that_dropped_is_in_the_summary() {
    let sentence = "Of 900 packets lost, 900 were dropped by fw: nft rule 'limit rate over 9/second counter drop' (inet t f, handle 3) (900).";
    let sample = |hop: &str, at_s: f64, packets: u64| json!({"hop": hop, "at_s": at_s, "in_packets": packets, "out_packets": packets / 2, "drops": 0});
    let mut document = result(1e5, 900);
    document["path"] = json!({"weakest": {"hop": "fw", "lost": 900, "counters": [], "sentence": sentence}, "remarks": [],
        "samples": [sample("fw", 1.0, 1_000), sample("fw", 2.0, 3_000), sample("r2", 1.0, 500), sample("r2", 2.0, 1_500)]});
    let page = report::campaign(&Loaded::single(about("path"), document, Vec::new()));
    let answer = page.find("nft rule").unwrap();
    assert!(answer < page.find("id=\"h-percentiles\"").unwrap(), "not in the summary");
    assert!(charts(&page).contains(&"Packets per second into and out of each device, by its counters"));
    for text in ["fw: in: 2 s, 2 kpps", "fw: out: 2 s, 1 kpps", "r2: in: 1 s, 500 pps"] {
        assert!(page.contains(text), "{text}");
    }
}

#[test]
fn how_to_do_it_again_names_files_that_its_steps_make() {
    let mut loaded = campaign("again");
    loaded.campaign.command =
        "eagre bench rfc2544 /tmp/gone/profile.yaml --settings /tmp/gone/s.json --seed 42".into();
    loaded.campaign.config = json!({"trial": "1s"});
    let page = report::campaign(&loaded);
    assert!(page.contains("<code>eagre bench rfc2544 profile.yaml --settings s.json --seed 42</code>"));
    assert!(page.contains("Save the profile below as <code>profile.yaml</code>"));
    assert!(page.contains("Save the settings below as <code>s.json</code>") && !page.contains("/tmp/gone"));
}

#[test]
fn figures_read_as_in_the_dashboard() {
    let texts: Value = serde_json::from_str(include_str!("../../../web/tests/texts.json")).unwrap();
    let rows = |key: &str| texts[key].as_array().unwrap().clone();
    for row in rows("quantities") {
        let text = units::quantity(row[0].as_f64().unwrap(), row[1].as_str().unwrap());
        assert_eq!(Some(text.as_str()), row[2].as_str());
    }
    for row in rows("ratios") {
        assert_eq!(Some(units::percent(row[0].as_f64().unwrap()).as_str()), row[1].as_str());
    }
    for row in rows("differences") {
        assert_eq!(Some(units::signed_percent(row[0].as_f64().unwrap()).as_str()), row[1].as_str());
    }
    for row in rows("counts") {
        assert_eq!(Some(units::whole(row[0].as_f64().unwrap()).as_str()), row[1].as_str());
    }
}

#[test]
fn anchors_and_ids_fit() {
    for page in
        [report::campaign(&campaign("router")), report::comparison(&[campaign("a"), campaign("b")], "x", "y")]
    {
        let attribute = |name: &str| -> Vec<String> {
            let start = format!(" {name}=\"");
            page.split(&start).skip(1).map(|rest| rest.split_once('"').unwrap().0.to_owned()).collect()
        };
        let ids = attribute("id");
        let mut unique = ids.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(ids.len(), unique.len(), "an id occurs twice");
        for link in attribute("href").iter().filter_map(|link| link.strip_prefix('#')) {
            assert!(ids.iter().any(|id| id == link), "#{link} leads nowhere");
        }
        for label in attribute("aria-labelledby") {
            assert!(ids.contains(&label), "{label} labels nothing");
        }
    }
}
