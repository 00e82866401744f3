//! Trust by figure: which figures of a disturbed result hold, which have bounds, and which cannot be judged.
//!
//! A disturbance of the tester can only make some figures worse: with nothing lost, nothing is lost by the device. So a
//! result that is not valid as a whole still has figures that hold. `engine` writes the entries
//! ([`crate::Verdict::holds`]); all consumers of a figure (criteria, exit codes, reports, methods) read them through
//! [`ResultDocument::standing`] and [`Standing::decide`].

use crate::{HoldsResult, Numbers, ResultDocument};

/// Parts of a stream that are also measured over the packets that no pause touched.
const TIMES: [&str; 3] = ["latency_ns", "jitter_ns", "interarrival_ns"];
/// The cause where a figure has no entry.
const TOUCHED: Doubt<'static> = Doubt {
    reason: "pauses of the tester touched some of these packets",
    remedy: "give the tester's workers dedicated cores",
};
/// The cause where too few packets are left.
const TOO_FEW: Doubt<'static> = Doubt {
    reason: "pauses of the tester touched too many packets: too few are left for this figure",
    remedy: "give the tester's workers dedicated cores, or run for longer",
};

/// One cause of doubt, and one remedy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Doubt<'a> {
    /// Why the figure does not hold.
    pub reason: &'a str,
    /// Advice to get a figure that holds.
    pub remedy: &'a str,
}

/// Confidence in one figure of a result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Standing<'a> {
    /// It describes the device and the network.
    Holds {
        /// The value that holds; `None` if it was not measured.
        value: Option<f64>,
        /// The share of packets it rests on, where pauses of the tester touched others; the value is that under
        /// `undisturbed` then.
        undisturbed: Option<f64>,
    },
    /// The true value lies between these; `None` where nothing bounds it.
    Bounds {
        /// At least this.
        lower: Option<f64>,
        /// At most this.
        upper: Option<f64>,
        /// The cause.
        doubt: Doubt<'a>,
    },
    /// The figure does not describe the device.
    CannotJudge(Doubt<'a>),
}

impl Standing<'_> {
    /// Whether a comparison with `bound` is true of the figure; `None` if that cannot be judged. `is_met` is the comparison of
    /// a value with `bound`: less, greater, equal or one of these and equal. A figure that was not measured meets nothing.
    pub fn decide(&self, bound: f64, is_met: impl Fn(f64) -> bool) -> Option<bool> {
        match *self {
            Self::Holds { value, .. } => Some(value.is_some_and(is_met)),
            Self::Bounds { lower, upper, .. } => {
                let (lower, upper) = (lower.unwrap_or(f64::NEG_INFINITY), upper.unwrap_or(f64::INFINITY));
                let met = is_met(lower);
                // A comparison for equality fails at both ends and may hold between them.
                (met == is_met(upper) && !(lower < bound && bound < upper)).then_some(met)
            }
            Self::CannotJudge(_) => None,
        }
    }

    /// The cause, unless the figure holds.
    pub fn doubt(&self) -> Option<Doubt<'_>> {
        match self {
            Self::Holds { .. } => None,
            Self::Bounds { doubt, .. } | Self::CannotJudge(doubt) => Some(*doubt),
        }
    }
}

impl HoldsResult {
    fn doubt(&self) -> Doubt<'_> {
        Doubt {
            reason: self.reason.as_deref().unwrap_or(TOUCHED.reason),
            remedy: self.remedy.as_deref().unwrap_or(TOUCHED.remedy),
        }
    }

    /// Whether the figure is unusable: no bounds, and no undisturbed packets.
    fn is_void(&self) -> bool {
        let has_bounds = self.at_most || self.lower.is_some() || self.upper.is_some();
        !self.holds && !has_bounds && self.undisturbed_ratio.is_none()
    }
}

impl ResultDocument {
    /// Confidence in the figure at `path` (`streams.a.latency_ns.p99`). Without an entry for it or for the part it is
    /// in, it holds.
    pub fn standing(&self, path: &str) -> Standing<'_> {
        let entry = self.entry(path);
        if let Some(entry) = entry.filter(|entry| entry.is_void()) {
            return Standing::CannotJudge(entry.doubt());
        }
        if let Some(standing) = self.undisturbed(path, entry.map_or(TOUCHED, HoldsResult::doubt)) {
            return standing;
        }
        match entry.filter(|entry| !entry.holds) {
            Some(entry) if entry.at_most => self.at_most(path, entry),
            Some(entry) if entry.undisturbed_ratio.is_some() => Standing::CannotJudge(entry.doubt()),
            Some(entry) => Standing::Bounds { lower: entry.lower, upper: entry.upper, doubt: entry.doubt() },
            None => match self.doubt_of_whole(path) {
                Some(entry) if entry.at_most => self.at_most(path, entry),
                Some(entry) => Standing::CannotJudge(entry.doubt()),
                None => Standing::Holds { value: self.number(path), undisturbed: None },
            },
        }
    }

    /// The entry of a figure, or of the part it is in: `streams.a.latency_ns` for `streams.a.latency_ns.p99`.
    fn entry(&self, path: &str) -> Option<&HoldsResult> {
        let parts = path.rmatch_indices('.').map(|(at, _)| &path[..at]);
        std::iter::once(path).chain(parts).find_map(|path| self.verdict.holds.get(path))
    }

    /// The standing of a time to which disturbances only add.
    fn at_most<'a>(&'a self, path: &str, entry: &'a HoldsResult) -> Standing<'a> {
        let doubt = entry.doubt();
        match self.number(path) {
            None => Standing::Holds { value: None, undisturbed: None },
            samples if path.ends_with(".samples") => Standing::Holds { value: samples, undisturbed: None },
            _ if path.ends_with(".stddev") => Standing::CannotJudge(doubt),
            upper => Standing::Bounds { lower: None, upper, doubt },
        }
    }

    /// The doubt about a figure of one side, application or phase of an entry of sessions: that about the same figure of the
    /// whole entry. Bounds of the whole are none of a part.
    fn doubt_of_whole(&self, path: &str) -> Option<&HoldsResult> {
        let (session, rest) = path.strip_prefix("sessions.")?.split_once('.')?;
        let parts = rest.match_indices('.').map(|(at, _)| &rest[at + 1..]);
        let whole = parts.map(|figure| format!("sessions.{session}.{figure}"));
        let mut entries = whole.filter_map(|figure| self.entry(&figure));
        entries.find(|entry| !entry.holds)
    }

    /// The standing of a time of a stream or group of which pauses touched some packets; `None` of anything else.
    fn undisturbed<'a>(&'a self, path: &str, doubt: Doubt<'a>) -> Option<Standing<'a>> {
        let (at, part) =
            TIMES.into_iter().find_map(|part| Some((path.rfind(&format!(".{part}."))?, part)))?;
        let (row, figure) = (&path[..at], &path[at + part.len() + 2..]);
        let of = |what: &str| self.number(&format!("{row}.undisturbed.{what}"));
        let ratio = of("ratio")?;
        let (all, still) = (self.number(path), of(&format!("{part}.{figure}")));
        let samples = of("latency_ns.samples").unwrap_or(0.0);
        Some(match figure {
            "samples" => return None,
            // A delay that was measured is at least the device's.
            "min" if part == "latency_ns" => Standing::Holds { value: all, undisturbed: None },
            "min" => Standing::Bounds { lower: all, upper: still, doubt },
            "max" | "rfc4689_max" => Standing::Bounds { lower: still, upper: all, doubt },
            _ if all.is_none() => Standing::Holds { value: None, undisturbed: None },
            _ if samples < samples_min(figure) || still.is_none() => {
                Standing::CannotJudge(Doubt { remedy: doubt.remedy, ..TOO_FEW })
            }
            _ => Standing::Holds { value: still, undisturbed: Some(ratio) },
        })
    }
}

/// Packets that a figure must rest on: ten beyond a percentile.
fn samples_min(figure: &str) -> f64 {
    match figure {
        "p95" => 200.0,
        "p99" => 1_000.0,
        "p99_9" => 10_000.0,
        "p99_99" => 100_000.0,
        _ => 100.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        LatencyResult, Named, PhaseResult, SessionResult, SideResult, StreamResult, UndisturbedResult,
    };

    fn document() -> ResultDocument {
        let times =
            |p99, max, samples| LatencyResult { p99: Some(p99), max, samples, ..LatencyResult::default() };
        let undisturbed = UndisturbedResult {
            ratio: 0.8,
            latency_ns: Some(times(600, 700, 8_000)),
            ..UndisturbedResult::default()
        };
        let stream = StreamResult {
            lost: Some(10),
            latency_ns: Some(times(5_000_000, 9_000_000, 10_000)),
            undisturbed: Some(undisturbed.into()),
            ..StreamResult::default()
        };
        let mut document =
            ResultDocument { streams: Named::from([("a.b".to_owned(), stream)]), ..Default::default() };
        let entry = |lower, upper, ratio| HoldsResult {
            lower,
            upper,
            undisturbed_ratio: ratio,
            reason: Some("worker 0 waited".to_owned()),
            remedy: Some("free a core".to_owned()),
            ..HoldsResult::default()
        };
        let holds = &mut document.verdict.holds;
        holds.insert("streams.a.b.lost".to_owned(), entry(Some(2.0), Some(10.0), None));
        holds.insert("streams.a.b.latency_ns".to_owned(), entry(None, None, Some(0.8)));
        holds.insert("sessions.w.ttfb_ns".to_owned(), entry(None, None, None));
        document
    }

    #[test]
    fn figures_stand_by_their_own_evidence() {
        let document = document();
        let decide = |path: &str, bound: f64, is_met: fn(f64, f64) -> bool| {
            document.standing(path).decide(bound, |value| is_met(value, bound))
        };
        let (below, above) = (|v, b| v < b, |v, b| v > b);
        // Over packets that no pause touched.
        assert_eq!(decide("streams.a.b.latency_ns.p99", 1_000.0, below), Some(true));
        assert_eq!(decide("streams.a.b.latency_ns.p99", 500.0, below), Some(false));
        // The largest may be among those left out.
        assert_eq!(decide("streams.a.b.latency_ns.max", 1e6, below), None);
        assert_eq!(decide("streams.a.b.latency_ns.max", 1e7, below), Some(true));
        assert_eq!(decide("streams.a.b.lost", 11.0, below), Some(true));
        assert_eq!(decide("streams.a.b.lost", 1.0, below), Some(false));
        assert_eq!(decide("streams.a.b.lost", 5.0, below), None);
        assert_eq!(decide("streams.a.b.lost", 5.0, |v, b| v == b), None, "between the bounds");
        assert_eq!(decide("streams.a.b.lost", 0.0, |v, b| v == b), Some(false), "below both");
        assert_eq!(decide("sessions.w.ttfb_ns.p99", 1.0, above), None);
        assert_eq!(
            document.standing("sessions.w.ttfb_ns.p99").doubt().map(|d| d.reason),
            Some("worker 0 waited")
        );
        assert_eq!(decide("sessions.w.client.apps.x.ttfb_ns.p99", 1.0, above), None);
        // Times of sessions to which disturbances only add: 5 ms, of the whole and of a part.
        let times = LatencyResult { p99: Some(5_000_000), samples: 200, ..LatencyResult::default() };
        let mut document = document;
        let seen = SideResult { ttlb_ns: Some(times), ..SideResult::default() };
        let phase = PhaseResult { seen: seen.clone(), ..PhaseResult::default() };
        let phases = Named::from([("sustain".to_owned(), phase)]);
        let session = SessionResult { seen, phases, ..SessionResult::default() };
        document.sessions.insert("w".to_owned(), session);
        let entry = HoldsResult { at_most: true, ..document.verdict.holds["sessions.w.ttfb_ns"].clone() };
        document.verdict.holds.insert("sessions.w.ttlb_ns".to_owned(), entry);
        let decide = |path: &str, bound: f64, is_met: fn(f64, f64) -> bool| {
            document.standing(path).decide(bound, |value| is_met(value, bound))
        };
        for path in ["sessions.w.ttlb_ns.p99", "sessions.w.phases.sustain.ttlb_ns.p99"] {
            assert_eq!(decide(path, 6e6, below), Some(true), "{path}");
            assert_eq!(decide(path, 4e6, below), None, "{path}");
            assert_eq!(decide(path, 6e6, above), Some(false), "{path}");
            assert_eq!(decide(path, 4e6, above), None, "{path}");
        }
        assert_eq!(decide("sessions.w.ttlb_ns.samples", 200.0, |v, b| v == b), Some(true));
        assert_eq!(decide("sessions.w.ttlb_ns.stddev", 1e9, below), None);
        // No entry: as it stands. What was not measured meets nothing.
        assert_eq!(decide("streams.a.b.tx", 1.0, below), Some(true));
        assert_eq!(decide("streams.a.b.rx", 1.0, below), Some(false));
    }

    #[test]
    fn too_few_packets_make_no_percentile() {
        let mut document = document();
        let stream = document.streams.get_mut("a.b").unwrap();
        stream.undisturbed.as_mut().unwrap().latency_ns.as_mut().unwrap().samples = 999;
        assert!(matches!(document.standing("streams.a.b.latency_ns.p99"), Standing::CannotJudge(_)));
    }
}
