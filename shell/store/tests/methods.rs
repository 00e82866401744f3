//! Documents as the methods write them: each becomes findings with values, and a page.

use serde_json::Value;
use store::{Finding, Loaded, NewCampaign, NewTrial, report};

fn documents() -> Vec<Value> {
    serde_json::from_str(include_str!("data/method-results.json")).unwrap()
}

#[test]
fn every_method_has_findings_with_values() {
    for document in documents() {
        let kind = &document["findings"]["type"];
        let found = Finding::of_method(&document);
        assert!(!found.is_empty(), "{kind} has no findings");
        assert!(found.iter().any(|f| f.value.is_some_and(|value| value >= 0.0)), "{kind}: {found:?}");
        assert!(found.iter().all(|f| !f.goal.is_empty()), "{kind}");
        for f in &found {
            if let (Some(value), Some(upper)) = (f.value, f.upper) {
                assert!(value <= upper, "{kind}: {value} is not below {upper}");
            }
        }
    }
}

#[test]
fn rates_know_their_line() {
    let with_rates = ["throughput", "mlr", "mrr"];
    for document in documents() {
        let kind = document["findings"]["type"].as_str().unwrap();
        if with_rates.contains(&kind) {
            for f in Finding::of_method(&document) {
                let (value, line) = (f.value.unwrap(), f.line.unwrap());
                let bits = line * 8.0 * (f64::from(f.frame_bytes.unwrap()) + 20.0);
                assert!((bits / 1e10 - 1.0).abs() < 1e-6, "{kind}: a line of {bits} bit/s");
                assert!(value <= line * 1.000_001, "{kind}: {value} of {line}");
            }
        }
    }
}

#[test]
fn their_sentences_are_the_answer() {
    for document in documents() {
        let mut loaded = Loaded::single(NewCampaign::default(), Value::Null, Vec::new());
        loaded.findings = Finding::of_method(&document);
        loaded.method_results = vec![document.clone()];
        let page = report::campaign(&loaded);
        let sentence = document["summary"][0].as_str().unwrap();
        let plain = sentence.split(['\'', '"', '&', '<', '>']).next().unwrap();
        assert!(page.contains(plain), "{sentence}");
    }
}

#[test]
fn requests_become_trials() {
    let requests: Vec<Value> = serde_json::from_str(include_str!("data/requests.json")).unwrap();
    for request in requests {
        let trial = NewTrial::of_request(&request, Value::Null, Value::Null, Vec::new());
        assert!(!trial.key.is_empty() && !trial.label.is_empty() && !trial.part.is_empty(), "{request}");
        assert_eq!(u64::from(trial.number), request["number"].as_u64().unwrap());
        if request["kind"]["type"] == "load" {
            assert!(trial.line_pps.is_some_and(|line| line > 8e5), "{request}");
        }
    }
}
