//! A campaign from beginning to end, or from where it was: `campaign FILE TRIALS [ID]`. Says on standard output which
//! campaign it is, then the number of each trial as soon as the store has it. The test that kills it reads these lines.

use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;
use store::{NewCampaign, NewTrial, State, Store, StoreError};

/// A result as a run of one stream has it.
fn result(number: u32) -> Value {
    let offered = 1e5 * f64::from(number);
    let lost = u64::from(number) * 10;
    json!({
        "schema": "eagre.result/1", "version": "0.0.0", "seed": 1, "duration_s": 1.0, "interrupted": false,
        "verdict": {"valid": true, "generator_limited": false, "reasons": []},
        "streams": {"s": {"offered_pps": offered, "tx": offered as u64, "rx": offered as u64 - lost, "lost": lost}},
    })
}

fn trial(number: u32) -> NewTrial {
    let intervals = (1..=20).map(|n| json!({"at_s": f64::from(n) * 0.05, "interval_s": 0.05})).collect();
    NewTrial {
        number,
        key: format!("key {number}"),
        request: json!({"number": number}),
        outcome: json!({"trial": number}),
        result: result(number),
        intervals,
        ..NewTrial::default()
    }
}

fn main() -> Result<(), StoreError> {
    let arguments: Vec<String> = std::env::args().collect();
    let usage = "usage: campaign FILE TRIALS [ID]";
    let (path, trials) = (arguments.get(1).expect(usage), arguments.get(2).expect(usage));
    let trials: u32 = trials.parse().expect(usage);
    let mut store = Store::open(Path::new(path))?;
    let (id, finished) = match arguments.get(3) {
        Some(id) => {
            let id = store.find(id)?;
            let (_, finished) = store.resume(&id)?;
            (id, u32::try_from(finished.len()).unwrap_or(u32::MAX))
        }
        None => {
            let started = "2026-11-30T12:00:00Z".to_owned();
            let campaign = NewCampaign { name: "example".into(), started, ..NewCampaign::default() };
            (store.begin(&campaign)?, 0)
        }
    };
    let mut out = std::io::stdout();
    writeln!(out, "{id}")?;
    for number in finished..trials {
        store.record(&id, &trial(number))?;
        writeln!(out, "{number}")?;
        out.flush()?;
    }
    store.end(&id, State::Done, Some("2026-11-30T13:00:00Z"), None)
}
