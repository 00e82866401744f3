//! What is on a report page: its structure for real kinds of campaigns, nothing empty, nothing that a name could break.

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
        "Findings",
        "Throughput against line rate",
        "Loss and latency over load",
        "Latency percentiles",
        "Trials",
        "Environment",
        "Reproduction",
    ];
    assert_eq!(headings(&page), expected);
    let expected = [
        "Rates found and the theoretical maximum",
        "Frame loss over offered load",
        "Median latency over offered load",
        "Latency of 99% of the packets over offered load",
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
        "Latency percentiles",
        "Streams and ports",
        "Trials",
        "Over time",
        "Environment",
        "Reproduction",
    ];
    assert_eq!(headings(&page), expected);
    assert_eq!(
        charts(&page),
        ["Latency percentiles by stream", "Packets per second", "Latency in each interval"]
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
        "Of 1,000 sessions attempted, 980 (98%) completed and 20 (2%) failed.",
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
    assert!(page.contains("verdict bad") && page.contains("Not valid: do not use these figures."));
    assert!(page.find("the wire was cut").unwrap() < page.find("Nothing was measured").unwrap());
    assert!(charts(&page).is_empty());

    let mut missed = result(1e5, 0);
    missed["criteria"] = json!([{"path": "streams.s.lost", "bound": "== 1", "value": 0.0, "passed": false}]);
    let page = report::campaign(&Loaded::single(about("missed"), missed, Vec::new()));
    assert!(page.contains("verdict warn") && page.contains("1 pass criterion was not met."));

    let mut some = campaign("some");
    some.trials[2].valid = false;
    some.trials[2].reasons = vec!["the wire was cut".into()];
    some.trials[5].reasons = vec!["the wire was cut".into()];
    some.campaign.state = State::Failed;
    some.campaign.reason = Some("no more wire".into());
    let page = report::campaign(&some);
    assert!(page.contains("1 of 8 trials are not valid") && page.contains("It failed: no more wire"));
    assert!(page.contains("(trials 3, 6)"));
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
        "What differed",
        "Reproduction",
    ];
    assert_eq!(headings(&page), expected);
    for text in [
        "b against a: of 2 values 2 beyond the noise.",
        "c against a: of 2 values 2 within the noise.",
        "<strong>−50%</strong>",
        "+0.1%, within the noise",
        "64B, Throughput, dut by config",
        "6.0.5",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("nics.0.driver"), "what is the same everywhere does not differ");
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
