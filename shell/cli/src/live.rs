//! Progress and interval output while a trial runs.

use crate::args::RunArgs;
use crate::output::Sinks;
use crate::table::table;
use crate::{Failure, control, interrupt};
use engine::{Commands, TrialObserver, View};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use units::{Nanos, count, quantity, whole};

/// Time between two snapshots without interval output.
const SNAPSHOT: Nanos = Nanos::from_millis(500);
const BAR: &str = "{bar:40} {percent:>3}%  {prefix}\n{msg}";

/// Shows progress on a terminal and writes intervals.
pub(crate) struct Live {
    bar: Option<ProgressBar>,
    sinks: Sinks,
    every: Nanos,
    /// Callback for the start of traffic.
    begins: Option<Box<dyn FnMut(Nanos)>>,
}

impl Live {
    /// The output, and the commands of Ctrl-C and, with `--control`, of standard input.
    pub(crate) fn new(run: &RunArgs, sinks: Sinks) -> Result<(Self, Commands), Failure> {
        let (control, commands) = engine::channel();
        interrupt::stops(control.clone())?;
        if run.control {
            control::listen(control);
        }
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr());
            // The template is constant; the default bar is only a fallback.
            bar.set_style(ProgressStyle::with_template(BAR).unwrap_or(ProgressStyle::default_bar()));
            bar
        });
        let every = if sinks.wants_intervals() { run.interval } else { SNAPSHOT };
        Ok((Self { bar, sinks, every, begins: None }, commands))
    }

    /// Tells `told` when traffic begins, if time is virtual.
    pub(crate) fn when_it_begins(&mut self, told: Box<dyn FnMut(Nanos)>) {
        self.begins = Some(told);
    }

    /// Clears the progress bar and returns the open files.
    pub(crate) fn finish(self) -> Sinks {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        self.sinks
    }

    fn show(bar: &ProgressBar, view: &View<'_>) {
        let share = view.at().0 as f64 / view.duration().0.max(1) as f64;
        bar.set_position((share.min(1.0) * 1000.0) as u64);
        let (sent, outstanding) = view.sent_and_outstanding();
        let state = if view.is_draining() { "waiting for late packets" } else { "sending" };
        bar.set_prefix(format!(
            "{:.1} s, {state}: {} packets sent, {} outstanding",
            view.at().as_secs_f64(),
            count(sent),
            count(outstanding)
        ));
        let rows = view.ports().into_iter().map(|p| {
            let rate = |pps: f64, bps: f64| format!("{}  {}", quantity(pps, "pps"), quantity(bps, "bps"));
            vec![p.name, rate(p.tx_pps, p.tx_bps_l1), rate(p.rx_pps, p.rx_bps_l1)]
        });
        let mut text = table(&["port", "sent", "received"], rows.collect());
        let sessions = view.sessions();
        if !sessions.is_empty() {
            let rows = sessions.into_iter().map(|s| {
                vec![
                    s.name,
                    whole(s.active as f64),
                    quantity(s.open_per_s, "/s"),
                    quantity(s.transactions_per_s, "/s"),
                    quantity(s.rx_bps_goodput, "bps"),
                    count(s.failed),
                ]
            });
            text += &table(&["sessions", "open", "opened", "responses", "goodput", "failed"], rows.collect());
        }
        bar.set_message(text);
    }
}

impl TrialObserver for Live {
    fn interval(&self) -> Nanos {
        self.every
    }

    /// The bar shows ports and sessions.
    fn reads_streams(&self) -> bool {
        self.sinks.wants_intervals()
    }

    fn begins(&mut self, epoch: Nanos) {
        if let Some(begins) = &mut self.begins {
            begins(epoch);
        }
    }

    fn snapshot(&mut self, view: &View<'_>) {
        if let Some(bar) = &self.bar {
            Self::show(bar, view);
        }
        if self.sinks.wants_intervals() {
            self.sinks.interval(&view.document());
        }
    }
}
