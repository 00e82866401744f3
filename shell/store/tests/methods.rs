//! Documents as methods write them, of an archive: each opens, becomes findings with values, and a page.

use methods::{MethodResult, TrialOutcome, TrialRequest};
use serde_json::Value;
use store::{Finding, Loaded, NewCampaign, NewTrial, StoredResult, report};

fn documents() -> Vec<Value> {
    serde_json::from_str(include_str!("data/method-results.json")).unwrap()
}

fn results() -> Vec<MethodResult> {
    documents().into_iter().map(|document| StoredResult::from(document).typed().unwrap()).collect()
}

/// Every value of the archive; later versions may count more, from zero.
#[test]
fn an_archive_is_read_as_it_was_written() {
    for (document, result) in documents().into_iter().zip(results()) {
        assert_contains(&serde_json::to_value(&result).unwrap(), &document, &result.method);
    }
}

fn assert_contains(read: &Value, written: &Value, place: &str) {
    match (read, written) {
        (Value::Object(read), Value::Object(written)) => {
            for (key, written) in written {
                let place = format!("{place}.{key}");
                assert_contains(read.get(key).unwrap_or_else(|| panic!("{place} is lost")), written, &place);
            }
            let more = read.iter().filter(|(key, _)| !written.contains_key(*key));
            more.for_each(|(key, value)| assert_eq!(*value, 0, "{place}.{key}"));
        }
        (Value::Array(read), Value::Array(written)) => {
            assert_eq!(read.len(), written.len(), "{place}");
            read.iter().zip(written).for_each(|(read, written)| assert_contains(read, written, place));
        }
        _ => assert_eq!(read, written, "{place}"),
    }
}

/// The values are those that the archive's own version made of its documents; later versions may find more in them.
#[test]
fn an_archive_has_the_findings_it_had() {
    let before: Vec<Vec<Finding>> = serde_json::from_str(include_str!("data/findings.json")).unwrap();
    assert_eq!(before.len(), results().len());
    for (result, before) in results().iter().zip(before) {
        let mut found = result.findings.values().unwrap();
        found.retain(|found| before.iter().any(|before| before.goal == found.goal));
        assert_eq!(found.len(), before.len(), "{}", result.method);
        for (found, before) in found.into_iter().zip(before) {
            assert_eq!(found.note.is_some(), before.note.is_some(), "{}", result.method);
            let document = found.document.clone();
            // What trials are held against is not stored, and resolutions were not at the time.
            let (note, resolution) = (before.note.clone(), before.resolution);
            let found = Finding { note, resolution, criterion: None, ..found };
            assert_eq!(found, Finding { document, ..before });
        }
    }
}

#[test]
fn every_method_has_findings_with_values() {
    for result in results() {
        let (method, found) = (&result.method, result.findings.values().unwrap());
        assert!(found.iter().any(|f| f.value.is_some_and(|value| value >= 0.0)), "{method}: {found:?}");
        assert!(found.iter().all(|f| !f.goal.is_empty() && f.document.is_object()), "{method}");
        for f in &found {
            if let (Some(value), Some(upper)) = (f.value, f.upper) {
                assert!(value <= upper, "{method}: {value} is not below {upper}");
            }
        }
    }
}

#[test]
fn rates_know_their_line() {
    for result in results() {
        for f in
            result.findings.values().unwrap().iter().filter(|f| f.unit == "pps" && f.frame_bytes.is_some())
        {
            let (method, value, line) = (&result.method, f.value.unwrap(), f.line.unwrap());
            let bits = line * 8.0 * (f64::from(f.frame_bytes.unwrap()) + 20.0);
            assert!((bits / 1e10 - 1.0).abs() < 1e-6, "{method}: a line of {bits} bit/s");
            assert!(value <= line * 1.000_001, "{method}: {value} of {line}");
        }
    }
}

#[test]
fn their_sentences_are_the_answer() {
    for document in documents() {
        let mut loaded = Loaded::single(NewCampaign::default(), Value::Null, Vec::new());
        let stored = StoredResult::from(document);
        loaded.findings = stored.typed().unwrap().findings.values().unwrap();
        loaded.method_results = vec![stored.clone()];
        let page = report::campaign(&loaded);
        let plain = stored.summary[0].split(['\'', '"', '&', '<', '>']).next().unwrap();
        assert!(page.contains(plain), "{plain}");
    }
}

#[test]
fn requests_become_trials() {
    let requests: Vec<TrialRequest> = serde_json::from_str(include_str!("data/requests.json")).unwrap();
    for request in requests {
        let outcome = TrialOutcome::default();
        let trial = NewTrial::of_request(&request, &outcome, Value::Null, Vec::new()).unwrap();
        assert!(!trial.key.is_empty() && !trial.label.is_empty() && !trial.part.is_empty(), "{request:?}");
        assert_eq!((u64::from(trial.number), &trial.request["phase"]), (request.number, &trial.phase.into()));
        if trial.request["kind"]["type"] == "load" {
            assert!(trial.line_pps.is_some_and(|line| line > 8e5), "{request:?}");
        }
    }
}
