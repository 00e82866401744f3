//! Progress and interval output while a trial runs.

use crate::Failure;
use crate::args::Common;
use crate::control::{self, ControlCommand};
use crate::output::Sinks;
use crate::table::table;
use engine::{Change, View, Watch};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use units::{Nanos, count, quantity, whole};

/// Time between two snapshots without interval output.
const SNAPSHOT: Nanos = Nanos::from_millis(500);
const BAR: &str = "{bar:40} {percent:>3}%  {prefix}\n{msg}";

/// Shows progress on a terminal, writes intervals, listens for Ctrl-C.
pub(crate) struct Live {
    bar: Option<ProgressBar>,
    sinks: Sinks,
    every: Nanos,
    stop: Arc<AtomicBool>,
    /// Commands from standard input, with `--control`.
    commands: Option<Receiver<ControlCommand>>,
    error: Option<Failure>,
}

impl Live {
    pub(crate) fn new(common: &Common, sinks: Sinks) -> Result<Self, Failure> {
        let stop = Arc::new(AtomicBool::new(false));
        let flag = stop.clone();
        ctrlc::set_handler(move || flag.store(true, Ordering::Relaxed))
            .map_err(|e| Failure::refused(format!("cannot install the Ctrl-C handler: {e}")))?;
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::with_draw_target(Some(1000), ProgressDrawTarget::stderr());
            // The template is constant; the default bar is only a fallback.
            bar.set_style(ProgressStyle::with_template(BAR).unwrap_or(ProgressStyle::default_bar()));
            bar
        });
        let every =
            if sinks.wants_intervals() { common.interval.max(Nanos::from_millis(10)) } else { SNAPSHOT };
        let commands = common.control.then(control::listen);
        Ok(Self { bar, sinks, every, stop, commands, error: None })
    }

    /// Clears the progress bar and returns the open files.
    pub(crate) fn finish(self) -> Sinks {
        if let Some(bar) = self.bar {
            bar.finish_and_clear();
        }
        if let Some(error) = self.error {
            eprintln!("eagre: {}; interval output stopped", error.text);
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

impl Watch for Live {
    fn interval(&self) -> Nanos {
        self.every
    }

    fn stop(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn change(&mut self) -> Option<Change> {
        match self.commands.as_ref()?.try_recv().ok()? {
            ControlCommand::Change(change) => Some(change),
            ControlCommand::Stop => {
                self.stop.store(true, Ordering::Relaxed);
                None
            }
        }
    }

    fn refused(&mut self, _change: &Change, reason: &str) {
        eprintln!("eagre: {reason}");
    }

    fn look(&mut self, view: &View<'_>) {
        if let Some(bar) = &self.bar {
            Self::show(bar, view);
        }
        if self.sinks.wants_intervals() && self.error.is_none() {
            self.error = self.sinks.interval(&view.document()).err();
        }
    }
}
