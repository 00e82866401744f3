//! Convergence: how soon traffic takes another path when the routes of the first are withdrawn (RFC 7747, RFC 6413).
//!
//! Two ways, of one event. By loss (RFC 6412 section 3.5.2, loss-derived): packets sent since the withdrawal that did not take the
//! other path, divided by their rate; what still arrives by the first path counts, because the network behind it has lost its
//! routes. By the first packet: when it left that arrived by the other path, less the instant of the withdrawal. Both count
//! from and to departures, so the delay of neither path is in them, and they agree for routes that change all at once.
//!
//! Not here: withdrawing routes, and distinguishing packets of different paths.

use crate::draft::{Draft, InTurn, Procedure, Seen, Stage};
use crate::finding::{Finding, GoalMeaning};
use crate::list::Findings;
use crate::method::Method;
use crate::outcome::{PathChange, StreamConvergence};
use crate::result::Spread;
use crate::run::Run;
use crate::settings::{About, ConfigError, Requirement, Row, Settings};
use crate::testbed::{Frames, Testbed};
use crate::text::{AsNanos, AsText};
use crate::trial::TrialKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Nanos, Pps};

/// Allowed difference of the two ways, besides the gap between two packets of a stream.
const SLACK: Nanos = Nanos::from_millis(1);
/// Shares of a trial, in thousandths: when routes are withdrawn, from when on packets belong to their return, when they return.
const WITHDRAW: u64 = 250;
const CUT: u64 = 600;
const ADVERTISE: u64 = 650;

/// Settings of the convergence measurement.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ConvergenceConfig {
    /// Frame lengths and mixes.
    pub sizes: Vec<Frames>,
    /// Frames per second of the first direction; its streams share them. One gap of a stream is the resolution.
    #[serde(with = "AsText")]
    pub rate: Pps,
    /// Trials at each frame length.
    pub repeats: u32,
    /// Length of a trial: routes are withdrawn after a quarter of it, and advertised again after 65%.
    #[serde(with = "AsText")]
    pub duration: Nanos,
}

impl Default for ConvergenceConfig {
    fn default() -> Self {
        Self {
            sizes: Frames::bytes(128).into_iter().collect(),
            rate: Pps::new(10_000),
            repeats: 10,
            duration: Nanos::from_secs(60),
        }
    }
}

impl ConvergenceConfig {
    pub(crate) const ABOUT: About = About {
        name: "convergence",
        about: "time until traffic takes another path after a withdrawal (RFC 7747, RFC 6413)",
        result_names: &["rfc7747-convergence"],
        makes_curves: false,
        goals: &[
            GoalMeaning {
                goal: "convergence",
                name: "Convergence, by loss",
                definition: "packets sent since the withdrawal that did not take the other path ÷ their rate, mean of all \
                             streams (RFC 6412 section 3.5.2)",
            },
            GoalMeaning {
                goal: "convergence_first_packet",
                name: "Convergence, by the first packet",
                definition: "from the withdrawal to the departure of the first packet that took the other path, mean of all \
                             streams (RFC 7747)",
            },
            GoalMeaning {
                goal: "convergence_first_route",
                name: "First route convergence",
                definition: "the same of the stream that was first (RFC 6412 section 3.6.2)",
            },
            GoalMeaning {
                goal: "convergence_full",
                name: "Full convergence",
                definition: "from the withdrawal until all streams took the other path (RFC 6412 section 3.6.1)",
            },
            GoalMeaning {
                goal: "convergence_lost",
                name: "Lost by the withdrawal",
                definition: "packets that arrived by neither path, from before the withdrawal until after it",
            },
            GoalMeaning {
                goal: "reconvergence",
                name: "Return to the first path",
                definition: "from the new advertisement to the departure of the first packet that took the first path again, \
                             mean of all streams",
            },
            GoalMeaning {
                goal: "reconvergence_lost",
                name: "Lost by the return",
                definition: "packets that arrived by neither path, from before the new advertisement until after it",
            },
        ],
    };
}

impl Settings for ConvergenceConfig {
    fn check(&self, testbed: &Testbed) -> Result<(), ConfigError> {
        if self.sizes.is_empty() || self.repeats == 0 {
            return Err(ConfigError::new("sizes", "needs a frame length; repeats must be at least 1"));
        }
        if self.duration < Nanos::from_millis(1_000) {
            let reason = "must be at least 1s: sessions need time between two changes";
            return Err(ConfigError::new("duration", reason));
        }
        let line = |frames: &Frames| testbed.line_rate(frames);
        match self.sizes.iter().find(|frames| self.rate > line(frames)) {
            _ if self.rate == Pps::ZERO => Err(ConfigError::new("rate", "must be above 0")),
            Some(frames) => {
                let reason =
                    format!("{} at {frames} is more than the line rate, {}", self.rate, line(frames));
                Err(ConfigError::new("rate", reason))
            }
            None => Ok(()),
        }
    }

    fn start(&self, testbed: &Testbed) -> Box<dyn Method> {
        Box::new(Run::new(Convergence::new(self), testbed))
    }

    fn quicken(&mut self) {
        self.repeats = 3;
        self.duration = Nanos::from_secs(8);
    }

    fn set_trial(&mut self, trial: Nanos) {
        self.duration = trial;
    }

    fn sizes(&self) -> Vec<Frames> {
        self.sizes.clone()
    }

    fn set_sizes(&mut self, sizes: &[Frames]) {
        self.sizes = sizes.to_vec();
    }

    fn requirements(&self) -> Vec<Requirement> {
        vec![Requirement::TwoPaths]
    }
}

/// Convergence at one frame length. Times count from the withdrawal, s.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ConvergenceRow {
    /// The frames.
    pub frames: Frames,
    /// Frames per second of the first direction.
    pub rate_pps: f64,
    /// Length of a trial.
    #[serde(rename = "duration_ns", with = "AsNanos")]
    pub duration: Nanos,
    /// Packets that did not take the other path ÷ rate, mean of all streams.
    #[serde(rename = "by_loss_s")]
    pub by_loss: Option<Spread>,
    /// First packet by the other path, mean of all streams.
    #[serde(rename = "by_first_packet_s")]
    pub by_first_packet: Option<Spread>,
    /// The stream that was first.
    #[serde(rename = "first_route_s")]
    pub first_route: Option<Spread>,
    /// All streams.
    #[serde(rename = "full_s")]
    pub full: Option<Spread>,
    /// Packets that arrived by neither path.
    pub lost: Option<Spread>,
    /// Most that the two ways differed by, of one stream in one trial.
    #[serde(rename = "apart_max_s")]
    pub apart_max: Option<f64>,
    /// Allowed difference: a gap between two packets of a stream, and 1 ms.
    #[serde(rename = "apart_allowed_s")]
    pub apart_allowed: Option<f64>,
    /// Why they differed by more, a sentence for each trial in which they did.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub apart_because: Vec<String>,
    /// From the new advertisement until packets took the first path again, mean of all streams.
    #[serde(rename = "return_s")]
    pub back: Option<Spread>,
    /// Packets that arrived by neither path then.
    pub return_lost: Option<Spread>,
    /// Trials in which a stream did not take the other path in time.
    pub not_converged: u32,
    /// Trials in which a stream took the other path before its routes were withdrawn.
    pub too_early: u32,
    /// Trials in which a stream did not come back to the first path in time.
    pub not_returned: u32,
    /// Trials that the tester limited or disturbed.
    pub tester_limited: u32,
}

impl ConvergenceRow {
    /// Remark on the times.
    fn note(&self) -> Option<String> {
        let mut notes = Vec::new();
        let mut say = |trials: u32, what: &str| {
            if trials > 0 {
                notes.push(format!("{trials} trials {what}"));
            }
        };
        say(self.not_converged, "in which traffic did not take the other path in time");
        say(self.too_early, "in which traffic took the other path before the withdrawal");
        say(self.tester_limited, "in which the tester was the limit or disturbed");
        notes.extend(self.apart_because.first().cloned());
        (!notes.is_empty()).then(|| notes.join("; "))
    }
}

impl Row for ConvergenceRow {
    fn is_unjudged(&self) -> bool {
        self.by_loss.is_none() && self.not_converged + self.too_early == 0 && self.tester_limited > 0
    }

    fn findings(&self) -> Vec<Finding> {
        let of = |goal: &str, unit: &str, spread: &Option<Spread>| {
            Finding::at(&self.frames, goal, unit).repeats(spread.as_ref()).note(spread.map(range))
        };
        let by_loss = of("convergence", "s", &self.by_loss);
        let note = by_loss.note.iter().cloned().chain(self.note()).collect::<Vec<_>>().join("; ");
        let never = (self.not_returned > 0)
            .then(|| format!("{} trials in which traffic did not come back in time", self.not_returned));
        let back = of("reconvergence", "s", &self.back);
        let back = Finding { note: never.or(back.note.clone()), ..back };
        vec![
            Finding { note: Some(note).filter(|note| !note.is_empty()), ..by_loss },
            of("convergence_first_packet", "s", &self.by_first_packet),
            of("convergence_first_route", "s", &self.first_route),
            of("convergence_full", "s", &self.full),
            of("convergence_lost", "frames", &self.lost),
            back,
            of("reconvergence_lost", "frames", &self.return_lost),
        ]
    }
}

/// `median 0.0121, 0.0103 to 0.0152 in 10 trials`.
fn range(spread: Spread) -> String {
    let digits = |value: f64| format!("{:.*}", if value.fract() == 0.0 { 0 } else { 6 }, value);
    let [median, min, max] = [spread.middle(), spread.min, spread.max].map(digits);
    format!("median {median}, {min} to {max} in {} trials", spread.samples)
}

/// Convergence at one frame length, trial by trial.
#[derive(Debug, Clone)]
struct Withdrawals {
    frames: Frames,
    rate: Pps,
    duration: Nanos,
    repeats: u32,
    done: u32,
    by_loss: Vec<f64>,
    by_first_packet: Vec<f64>,
    first_route: Vec<f64>,
    full: Vec<f64>,
    lost: Vec<f64>,
    apart_max: Option<f64>,
    apart_allowed: Option<f64>,
    apart_because: Vec<String>,
    back: Vec<f64>,
    return_lost: Vec<f64>,
    not_converged: u32,
    too_early: u32,
    not_returned: u32,
    tester_limited: u32,
}

/// Times of one stream after the withdrawal, s.
struct Change {
    by_loss: f64,
    by_first_packet: f64,
    full: f64,
}

impl Change {
    /// `None` if it did not take the other path, or its routes were not withdrawn.
    fn of(change: &PathChange, gap: f64) -> Option<Self> {
        let (event, first) = (change.event_ns?, change.first_new_ns?);
        let since = |at: u64| (at as f64 - event as f64) / 1e9;
        let by_loss = change.sent.saturating_sub(change.moved) as f64 * gap;
        let by_first_packet = since(first);
        let last_old = change.last_old_ns.map_or(0.0, since);
        Some(Self { by_loss, by_first_packet, full: by_loss.max(by_first_packet).max(last_old) })
    }
}

impl Withdrawals {
    fn take_withdrawal(&mut self, streams: &[StreamConvergence]) -> Vec<Change> {
        self.lost.push(streams.iter().map(|stream| stream.withdrawal.lost as f64).sum());
        let changes: Option<Vec<Change>> =
            streams.iter().map(|stream| Change::of(&stream.withdrawal, stream.gap_ns / 1e9)).collect();
        let Some(changes) = changes.filter(|all| !all.is_empty()) else {
            self.not_converged += 1;
            return Vec::new();
        };
        let gap = streams.iter().map(|stream| stream.gap_ns / 1e9).fold(0.0, f64::max);
        if changes.iter().any(|change| change.by_first_packet < -gap) {
            self.too_early += 1;
            return Vec::new();
        }
        let mean = |of: fn(&Change) -> f64| changes.iter().map(of).sum::<f64>() / changes.len() as f64;
        self.by_loss.push(mean(|change| change.by_loss));
        self.by_first_packet.push(mean(|change| change.by_first_packet));
        let all = |of: fn(&Change) -> f64| changes.iter().map(of);
        self.first_route.extend(all(|change| change.by_first_packet).reduce(f64::min));
        self.full.extend(all(|change| change.full).reduce(f64::max));
        changes
    }

    /// Compares the two ways, and gives the reason if they differ.
    fn compare(&mut self, streams: &[StreamConvergence], changes: &[Change], seen: &Seen<'_>) {
        let apart = |(stream, change): (&StreamConvergence, &Change)| {
            let allowed = (stream.gap_ns + SLACK.0 as f64) / 1e9;
            ((change.by_loss - change.by_first_packet).abs(), allowed)
        };
        let all = || streams.iter().zip(changes);
        let Some((worst, of)) = all().map(|one| (apart(one), one)).max_by(|a, b| a.0.0.total_cmp(&b.0.0))
        else {
            return;
        };
        let (apart, allowed) = worst;
        self.apart_max = Some(self.apart_max.map_or(apart, |before| before.max(apart)));
        self.apart_allowed = Some(allowed);
        if apart > allowed {
            let why = why_apart(&of.0.withdrawal, of.1, seen);
            let stream = &of.0.stream;
            self.apart_because.push(format!(
                "the two ways are {:.3} ms apart in trial {} ('{stream}'): {why}",
                apart * 1e3,
                self.done
            ));
        }
    }

    fn take_return(&mut self, streams: &[StreamConvergence]) {
        self.return_lost.push(streams.iter().map(|stream| stream.advertisement.lost as f64).sum());
        let times: Option<Vec<f64>> = streams
            .iter()
            .map(|stream| {
                let change = &stream.advertisement;
                Some((change.first_new_ns? as f64 - change.event_ns? as f64) / 1e9)
            })
            .collect();
        match times {
            Some(times) => self.back.push(times.iter().sum::<f64>() / times.len().max(1) as f64),
            None => self.not_returned += 1,
        }
    }

    fn row(&self) -> ConvergenceRow {
        ConvergenceRow {
            frames: self.frames.clone(),
            rate_pps: self.rate.as_f64(),
            duration: self.duration,
            by_loss: Spread::of(&self.by_loss),
            by_first_packet: Spread::of(&self.by_first_packet),
            first_route: Spread::of(&self.first_route),
            full: Spread::of(&self.full),
            lost: Spread::of(&self.lost),
            apart_max: self.apart_max,
            apart_allowed: self.apart_allowed,
            apart_because: self.apart_because.clone(),
            back: Spread::of(&self.back),
            return_lost: Spread::of(&self.return_lost),
            not_converged: self.not_converged,
            too_early: self.too_early,
            not_returned: self.not_returned,
            tester_limited: self.tester_limited,
        }
    }

    fn sentences(&self) -> Vec<String> {
        let what = format!("Convergence at {}", self.frames);
        let ms = |seconds: f64| format!("{:.3} ms", seconds * 1e3);
        let row = self.row();
        let mut all = Vec::new();
        match (&row.by_loss, &row.by_first_packet, &row.full) {
            (Some(by_loss), Some(first), Some(full)) => all.push(format!(
                "{what}: {} by loss, {} by the first packet (medians of {} trials, {} to {} by loss); all streams within {}.",
                ms(by_loss.middle()),
                ms(first.middle()),
                by_loss.samples,
                ms(by_loss.min),
                ms(by_loss.max),
                ms(full.max)
            )),
            _ if self.too_early > 0 => all.push(format!(
                "{what}: not measured; traffic took the other path before the routes of the first were withdrawn. Does the device \
                 prefer the first?"
            )),
            _ if self.not_converged > 0 => all.push(format!(
                "{what}: traffic did not take the other path within {} of the withdrawal.",
                part(self.duration, CUT - WITHDRAW)
            )),
            _ if self.tester_limited > 0 => all.push(format!(
                "{what}: can't be judged here; in all trials the tester was the limit or disturbed."
            )),
            _ => all.push(format!("{what}: not yet measured.")),
        }
        if let Some(lost) = &row.return_lost {
            let lost = match lost.max {
                0.0 => "no packet was lost".to_owned(),
                _ => format!("{} packets were lost (median)", lost.middle()),
            };
            all.push(match &row.back {
                Some(back) => format!(
                    "When the routes came back, traffic took the first path again after {}, and {lost}.",
                    ms(back.middle())
                ),
                None => {
                    format!("When the routes came back, traffic did not take the first path again; {lost}.")
                }
            });
        }
        all
    }
}

/// Why loss and the first packet give different times for a stream.
fn why_apart(change: &PathChange, found: &Change, seen: &Seen<'_>) -> String {
    if seen.outcome.disturbed {
        return format!("the tester was disturbed: {}", seen.outcome.reasons.join("; "));
    }
    let overlap = change.last_old_ns.zip(change.first_new_ns).and_then(|(old, new)| old.checked_sub(new));
    match overlap {
        Some(overlap) if overlap > SLACK.0 => format!(
            "packets took both paths for {:.3} ms, so its routes changed one after the other",
            overlap as f64 / 1e6
        ),
        _ if found.by_loss > found.by_first_packet => {
            format!("packets were lost after the first had taken the other path ({} in all)", change.lost)
        }
        _ => "packets left later than they were due, or arrived more than once".to_owned(),
    }
}

/// Some thousandths of a time.
fn part(whole: Nanos, thousandths: u64) -> Nanos {
    Nanos(whole.0 / 1_000 * thousandths)
}

impl Stage for Withdrawals {
    fn next(&mut self) -> Option<Draft> {
        let label = format!("{}: withdrawal, {} of {}", self.frames, self.done + 1, self.repeats);
        let at = |thousandths| part(self.duration, thousandths);
        let kind = TrialKind::Convergence { withdraw: at(WITHDRAW), cut: at(CUT), advertise: at(ADVERTISE) };
        let draft = Draft::load(&self.frames, self.rate, self.duration).kind(kind).label(label);
        (self.done < self.repeats).then_some(draft)
    }

    fn take(&mut self, _: &Draft, seen: &Seen<'_>) {
        self.done += 1;
        if seen.limited {
            self.tester_limited += 1;
            self.done = if seen.last { self.repeats } else { self.done };
            return;
        }
        let streams = &seen.outcome.convergence;
        let changes = self.take_withdrawal(streams);
        self.compare(streams, &changes, seen);
        self.take_return(streams);
    }
}

/// Convergence at all frame lengths.
#[derive(Debug, Clone)]
pub(crate) struct Convergence {
    sizes: InTurn<Withdrawals>,
}

impl Convergence {
    fn new(config: &ConvergenceConfig) -> Self {
        let at = |frames: &Frames| Withdrawals {
            frames: frames.clone(),
            rate: config.rate,
            duration: config.duration,
            repeats: config.repeats,
            done: 0,
            by_loss: Vec::new(),
            by_first_packet: Vec::new(),
            first_route: Vec::new(),
            full: Vec::new(),
            lost: Vec::new(),
            apart_max: None,
            apart_allowed: None,
            apart_because: Vec::new(),
            back: Vec::new(),
            return_lost: Vec::new(),
            not_converged: 0,
            too_early: 0,
            not_returned: 0,
            tester_limited: 0,
        };
        Self { sizes: InTurn::new(config.sizes.iter().map(at)) }
    }
}

impl Stage for Convergence {
    fn next(&mut self) -> Option<Draft> {
        self.sizes.next()
    }

    fn take(&mut self, draft: &Draft, seen: &Seen<'_>) {
        self.sizes.take(draft, seen);
    }
}

impl Procedure for Convergence {
    fn name(&self) -> &'static str {
        "rfc7747-convergence"
    }

    fn findings(&self) -> Findings {
        Findings::Convergence(self.sizes.stages.iter().map(Withdrawals::row).collect())
    }

    fn summary(&self) -> Vec<String> {
        self.sizes.stages.iter().flat_map(Withdrawals::sentences).collect()
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks: Vec<String> = self
            .sizes
            .stages
            .iter()
            .flat_map(|stage| stage.apart_because.iter().map(|why| format!("{}: {why}.", stage.frames)))
            .collect();
        if self.sizes.stages.iter().any(|stage| stage.repeats < 2) {
            remarks.push("Times differ from trial to trial; RFC 7747 recommends to repeat them.".into());
        }
        remarks
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MethodConfig;
    use crate::outcome::TrialOutcome;

    const MS: u64 = 1_000_000;

    /// A device that moves a stream's routes `after` the withdrawal, forwards nothing for `dark` of that, and sends everything
    /// back without loss. A gap is 100 us.
    fn stream(name: &str, request: &crate::TrialRequest, after: u64, dark: u64) -> StreamConvergence {
        let TrialKind::Convergence { withdraw, cut, advertise } = request.kind else { panic!() };
        let (gap, late) = (100_000, 3 * MS);
        let (event, back) = (withdraw.0 + late, advertise.0 + late);
        let sent = (cut.0 - event) / gap;
        StreamConvergence {
            stream: name.into(),
            gap_ns: gap as f64,
            withdrawal: PathChange {
                event_ns: Some(event),
                sent,
                moved: sent - after / gap,
                lost: dark / gap,
                first_new_ns: Some(event + after),
                last_old_ns: Some(event + after - dark - gap),
            },
            advertisement: PathChange {
                event_ns: Some(back),
                first_new_ns: Some(back + 2 * MS),
                ..PathChange::default()
            },
        }
    }

    fn run(device: impl Fn(u64, &crate::TrialRequest) -> Vec<StreamConvergence>) -> ConvergenceRow {
        let config = ConvergenceConfig { repeats: 3, ..ConvergenceConfig::default() };
        let mut method = MethodConfig::Convergence(config).build(&Testbed::one_way(10_000_000_000)).unwrap();
        while let Some(request) = method.next_trial().trial() {
            let outcome = TrialOutcome::forwarded(&request, |_, sent| sent);
            method.record(&TrialOutcome { convergence: device(request.number, &request), ..outcome });
        }
        let Findings::Convergence(mut rows) = method.result().findings else { panic!() };
        rows.remove(0)
    }

    #[test]
    fn both_ways_find_what_the_device_took() {
        let row = run(|number, request| vec![stream("a", request, (10 + number * 10) * MS, 4 * MS)]);
        let (loss, first) = (row.by_loss.unwrap(), row.by_first_packet.unwrap());
        let near = |found: f64, ms: f64| (found - ms / 1e3).abs() < 1e-9;
        assert!(near(loss.middle(), 20.0) && near(loss.min, 10.0) && near(loss.max, 30.0), "{loss:?}");
        assert!(near(first.middle(), 20.0) && near(row.full.unwrap().max, 30.0), "{first:?}");
        assert!(row.apart_max.unwrap() < 1e-9 && row.apart_because.is_empty(), "{row:?}");
        assert_eq!((row.lost.unwrap().middle(), row.return_lost.unwrap().max), (40.0, 0.0));
        assert!(near(row.back.unwrap().middle(), 2.0));
        assert_eq!((row.not_converged, row.too_early, row.not_returned), (0, 0, 0));
    }

    #[test]
    fn the_first_and_the_last_of_several_streams_are_told() {
        let row = run(|_, request| {
            vec![
                stream("a", request, 10 * MS, MS),
                stream("b", request, 20 * MS, MS),
                stream("c", request, 60 * MS, MS),
            ]
        });
        let found =
            [row.by_loss, row.first_route, row.full].map(|spread| (spread.unwrap().mean * 1e3).round());
        assert_eq!(found, [30.0, 10.0, 60.0]);
        assert_eq!(row.apart_because, Vec::<String>::new());
    }

    #[test]
    fn ways_that_disagree_say_why() {
        let both = |_: u64, request: &crate::TrialRequest| {
            let mut one = stream("a", request, 10 * MS, MS);
            // Half of its routes changed 40 ms later.
            one.withdrawal.moved -= 200;
            one.withdrawal.last_old_ns = one.withdrawal.first_new_ns.map(|at| at + 40 * MS);
            vec![one]
        };
        let row = run(both);
        assert_eq!(row.apart_because.len(), 3);
        assert!(
            row.apart_because[0].contains("routes changed one after the other"),
            "{:?}",
            row.apart_because
        );
        assert!(
            (row.full.unwrap().middle() - 0.050).abs() < 1e-9
                && (row.apart_max.unwrap() - 0.020).abs() < 1e-9
        );
        let lossy = |_: u64, request: &crate::TrialRequest| {
            let mut one = stream("a", request, 10 * MS, MS);
            (one.withdrawal.moved, one.withdrawal.lost) =
                (one.withdrawal.moved - 50, one.withdrawal.lost + 50);
            vec![one]
        };
        assert!(run(lossy).apart_because[0].contains("packets were lost after the first"));
    }

    #[test]
    fn what_does_not_move_is_no_time() {
        let stays = |number: u64, request: &crate::TrialRequest| {
            let mut one = stream("a", request, 10 * MS, MS);
            if number == 0 {
                (one.withdrawal.moved, one.withdrawal.first_new_ns) = (0, None);
            }
            if number == 1 {
                one.withdrawal.first_new_ns = Some(5);
                one.advertisement.first_new_ns = None;
            }
            vec![one]
        };
        let row = run(stays);
        assert_eq!((row.not_converged, row.too_early, row.not_returned), (1, 1, 1));
        assert_eq!(row.by_loss.unwrap().samples, 1);
        let values = row.findings();
        assert!(
            values[0].note.as_ref().unwrap().contains("did not take the other path in time"),
            "{values:?}"
        );
    }
}
