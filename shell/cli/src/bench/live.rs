//! Progress output while a campaign runs.

use campaign::{Observer, Running};
use engine::View;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use methods::{TrialOutcome, TrialRequest};
use std::io::IsTerminal;
use units::{count, quantity, rough_time};

const BAR: &str = "{bar:40} {percent:>3}%  {prefix}\n{msg}";

/// Shows progress on a terminal, else one line per trial.
pub(super) struct BenchLive {
    bar: Option<ProgressBar>,
    label: String,
    /// Number of the trial in the campaign, from 1.
    ordinal: usize,
}

impl BenchLive {
    pub(super) fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr());
            bar.set_style(ProgressStyle::with_template(BAR).unwrap_or(ProgressStyle::default_bar()));
            bar
        });
        Self { bar, label: String::new(), ordinal: 0 }
    }

    /// Clears the progress bar.
    pub(super) fn pause(&mut self) {
        if let Some(bar) = &self.bar {
            bar.set_prefix("");
            bar.set_message("");
            bar.reset();
        }
    }
}

impl Observer for BenchLive {
    fn begins(&mut self, running: &Running<'_>) {
        self.label = format!("{} · {}", running.part, running.request.label);
        self.ordinal = running.ordinal;
        if let Some(bar) = &self.bar {
            bar.set_position((running.progress.fraction * 1000.0) as u64);
            bar.set_prefix(format!("{}; {} left", running.part, rough_time(running.left.wall_s)));
            bar.set_message(running.request.label.clone());
        }
    }

    fn looks(&mut self, view: &View<'_>) {
        let Some(bar) = &self.bar else { return };
        let ports = view.ports().into_iter().map(|port| {
            format!(
                "{}: sent {}, received {}",
                port.name,
                quantity(port.tx_pps, "pps"),
                quantity(port.rx_pps, "pps")
            )
        });
        let sessions = view.sessions().into_iter().map(|s| {
            format!(
                "{}: {} open, {} opened, {} failed",
                s.name,
                s.active,
                quantity(s.open_per_s, "/s"),
                count(s.failed)
            )
        });
        let all: Vec<String> = ports.chain(sessions).collect();
        bar.set_message(format!("{}\n{}", self.label, all.join("\n")));
    }

    fn ended(&mut self, _: &TrialRequest, outcome: &TrialOutcome) {
        if self.bar.is_some() {
            return;
        }
        let found = match (&outcome.sessions, &outcome.nat) {
            _ if outcome.balancer.is_some() => {
                let balancer = outcome.balancer.clone().unwrap_or_default();
                let failed = balancer.failed.values().sum();
                format!("{} sessions, {} failed", count(balancer.sessions), count(failed))
            }
            _ if outcome.leases.is_some() => {
                let leases = outcome.leases.clone().unwrap_or_default();
                format!("{} of {} clients bound", count(leases.bound), count(leases.clients))
            }
            (None, Some(nat)) if outcome.groups.is_empty() => {
                format!("{} opened, {} validated", count(nat.arrived), count(nat.validated))
            }
            (Some(sessions), _) => format!(
                "{} established, {} of {} transactions failed",
                count(sessions.established),
                count(sessions.transactions_failed),
                count(sessions.transactions)
            ),
            _ => format!("{} sent, {} lost", count(outcome.sent()), count(outcome.lost())),
        };
        let issue = match (outcome.valid, outcome.generator_limited) {
            (_, true) => "generator limited",
            (false, _) => "invalid",
            _ if outcome.disturbed => "tester disturbed",
            _ => "",
        };
        let issue = match (issue, outcome.reasons.first()) {
            ("", _) => String::new(),
            (issue, None) => format!(" ({issue})"),
            (issue, Some(reason)) => format!(" ({issue}: {reason})"),
        };
        eprintln!("  {:>4} {}: {found}{issue}", self.ordinal, self.label);
        for (counter, count) in &outcome.drops {
            eprintln!("       {counter}: {count}");
        }
    }
}
