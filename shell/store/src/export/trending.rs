//! Documents for trending, in the manner of FD.io CSIT: one for each frame length of a campaign, with
//! `result.<goal>.{lower,upper}.{rate,bandwidth}.{value,unit}`.
//!
//! CSIT's readers look for `ndr` and `pdr`; other goals have the same form under their own names.

use crate::compare::answers;
use crate::{Finding, Loaded, State};
use serde_json::{Map, Value, json};
use units::L1_OVERHEAD_BYTES;

/// Version of these documents.
const VERSION: &str = "1.0.0";

/// The documents of a campaign, in the order of its findings.
pub fn trending(loaded: &Loaded) -> Vec<Value> {
    let findings = answers(&loaded.findings, &loaded.trials);
    let mut frames: Vec<&str> = Vec::new();
    for finding in &findings {
        if !frames.contains(&finding.frame.as_str()) {
            frames.push(&finding.frame);
        }
    }
    frames.iter().map(|frame| document(loaded, frame, &findings)).collect()
}

fn document(loaded: &Loaded, frame: &str, findings: &[Finding]) -> Value {
    let campaign = &loaded.campaign;
    let own: Vec<&Finding> = findings.iter().filter(|finding| finding.frame == frame).collect();
    let parts = [frame, &campaign.name, &campaign.method];
    let test_id: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    let notes: Vec<&str> = own.iter().filter_map(|finding| finding.note.as_deref()).collect();
    let invalid = loaded.trials.iter().any(|trial| !trial.valid);
    let mut document = json!({
        "version": VERSION,
        "test_id": test_id.join("-"),
        "test_type": campaign.method,
        "tags": campaign.tags,
        "start_time": campaign.started,
        "end_time": campaign.ended,
        "passed": campaign.state == State::Done && !invalid && own.iter().all(|f| f.value.is_some()),
        "message": notes.join("; "),
        "tg_type": "eagre",
        "tg_version": campaign.version,
        "profile_sha256": campaign.profile_sha256,
        "seed": campaign.seed,
        "hosts": campaign.environment,
        "result": result(campaign.method.as_str(), &own),
    });
    for key in ["dut_type", "dut_version"] {
        if let Some(value) = campaign.tag(key).or_else(|| campaign.tag("dut").filter(|_| key == "dut_type")) {
            document[key] = json!(value);
        }
    }
    document
}

fn result(method: &str, findings: &[&Finding]) -> Value {
    let is_bound =
        |finding: &&&Finding| matches!(finding.goal.to_lowercase().split(' ').next(), Some("ndr" | "pdr"));
    let kind = if findings.iter().any(|finding| is_bound(&finding)) { "ndrpdr" } else { method };
    let mut all = Map::new();
    all.insert("type".to_owned(), json!(kind));
    for finding in findings {
        all.insert(finding.goal.to_lowercase(), goal(finding));
    }
    Value::Object(all)
}

fn goal(finding: &Finding) -> Value {
    let mut all = Map::new();
    let bound = |value: f64| {
        let mut bound = json!({"rate": {"value": value, "unit": finding.unit}});
        let bandwidth = finding.frame_bytes.filter(|_| finding.unit == "pps");
        if let Some(bytes) = bandwidth {
            let bps = value * f64::from(bytes + L1_OVERHEAD_BYTES) * 8.0;
            bound["bandwidth"] = json!({"value": bps, "unit": "bps"});
        }
        bound
    };
    // A value that needs no bounds, a mean say, stands for both.
    for (name, value) in [("lower", finding.lower), ("upper", finding.upper)] {
        if let Some(value) = value.or(finding.value) {
            all.insert(name.to_owned(), bound(value));
        }
    }
    if let Some(value) = finding.value {
        all.insert("value".to_owned(), bound(value));
    }
    if let Some(spread) = finding.spread {
        all.insert("stdev".to_owned(), json!({"value": spread, "unit": finding.unit}));
    }
    Value::Object(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NewCampaign;

    #[test]
    fn bounds_have_rate_and_bandwidth() {
        let finding = Finding {
            frame: "64B".into(),
            frame_bytes: Some(64),
            goal: "NDR".into(),
            unit: "pps".into(),
            value: Some(1e6),
            lower: Some(1e6),
            upper: Some(1.1e6),
            ..Finding::default()
        };
        let about = NewCampaign {
            name: "router".into(),
            method: "mlrsearch".into(),
            tags: vec!["dut=frr".into()],
            ..NewCampaign::default()
        };
        let loaded = Loaded { findings: vec![finding], ..Loaded::single(about, Value::Null, Vec::new()) };
        let all = trending(&loaded);
        assert_eq!(all.len(), 1);
        assert_eq!(
            (&all[0]["test_id"], &all[0]["dut_type"]),
            (&json!("64B-router-mlrsearch"), &json!("frr"))
        );
        assert_eq!(all[0]["result"]["type"], json!("ndrpdr"));
        let lower = &all[0]["result"]["ndr"]["lower"];
        assert_eq!(lower["rate"], json!({"value": 1e6, "unit": "pps"}));
        assert_eq!(lower["bandwidth"], json!({"value": 672e6, "unit": "bps"}));
        // Null is no result document: nothing in it is valid.
        assert_eq!(all[0]["passed"], json!(false));
    }
}
