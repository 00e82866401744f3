//! A method driven over standard input and output, one JSON document a line.
//!
//! `{"method": …, "testbed": …}` begins a run: requests go out as `{"trial": …}`, the reply to each is a line with its
//! outcome, and `{"result": …}` ends it. `{"classify": …}` judges a load by the durations of its trials. Black-box
//! tests compare it with other programs' methods.
//!
//! Separate because as an example of `methods` it would compile its libraries a second time.

#![forbid(unsafe_code)]

use methods::{Durations, LoadClass, MethodConfig, Step, Testbed, Threshold, TrialOutcome};
use serde::Deserialize;
use serde_json::json;
use std::error::Error;
use std::io::{BufRead, Lines, StdinLock, Write};

#[derive(Deserialize)]
#[serde(untagged)]
enum Order {
    Run { method: MethodConfig, testbed: Testbed },
    Classify { classify: Classify },
}

#[derive(Deserialize)]
struct Classify {
    exceed_ratio: f64,
    duration_sum: f64,
    durations: Durations,
    /// Loss ratio and duration of the full-length trials.
    #[serde(default)]
    losses: Vec<(f64, f64)>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut lines = std::io::stdin().lock().lines();
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    while let Some(line) = lines.next() {
        match serde_json::from_str(&line?)? {
            Order::Run { method, testbed } => run(&method, &testbed, &mut lines, &mut out)?,
            Order::Classify { classify } => judge(&classify, &mut out)?,
        }
    }
    Ok(out.flush()?)
}

fn run(
    config: &MethodConfig,
    bed: &Testbed,
    lines: &mut Lines<StdinLock<'_>>,
    out: &mut impl Write,
) -> Result<(), Box<dyn Error>> {
    let mut method = config.build(bed)?;
    while let Step::Trial(request) = method.next_trial() {
        writeln!(out, "{}", json!({ "trial": request }))?;
        out.flush()?;
        let line = lines.next().ok_or("the outcome is missing")??;
        method.record(&serde_json::from_str::<TrialOutcome>(&line)?);
    }
    writeln!(out, "{}", json!({ "result": method.result() }))?;
    Ok(out.flush()?)
}

fn judge(order: &Classify, out: &mut impl Write) -> Result<(), Box<dyn Error>> {
    let threshold = Threshold { exceed_ratio: order.exceed_ratio, duration_sum: order.duration_sum };
    let (optimistic, pessimistic) = threshold.estimates(order.durations);
    let class = match threshold.classify(order.durations) {
        LoadClass::Lower => "lower",
        LoadClass::Upper => "upper",
        LoadClass::Undecided => "undecided",
    };
    let loss = threshold.conditional_loss(&order.losses);
    let answer =
        json!({ "optimistic": optimistic, "pessimistic": pessimistic, "class": class, "loss": loss });
    Ok(writeln!(out, "{answer}")?)
}
