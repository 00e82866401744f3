//! Figures that two sides are compared by: one number of a result.

use methods::{Better, Measured, Scale};
use profile::Plan;
use result::{Meaning, Numbers, ResultDocument, Segment, Standing, Unit, fields};
use std::fmt;
use std::str::FromStr;
use units::quantity;

/// A number of a result, or of several streams or sessions together.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Figure {
    /// Packets received per second, all measured streams together.
    Received,
    /// Lost packets by sent ones, all measured streams together.
    Loss,
    /// Sessions completed per second, all entries together.
    Sessions,
    /// A percentile of the latency: the largest of all streams, or of times to the first byte of all entries of sessions.
    Latency(Percentile),
    /// A number of the result by its path.
    Path { path: String, scale: Scale, better: Option<Better> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Percentile {
    P50,
    P90,
    P95,
    P99,
    P999,
}

/// The names of figures that are no paths.
const NAMED: [(&str, Figure); 8] = [
    ("received", Figure::Received),
    ("loss", Figure::Loss),
    ("sessions", Figure::Sessions),
    ("p50", Figure::Latency(Percentile::P50)),
    ("p90", Figure::Latency(Percentile::P90)),
    ("p95", Figure::Latency(Percentile::P95)),
    ("p99", Figure::Latency(Percentile::P99)),
    ("p99.9", Figure::Latency(Percentile::P999)),
];

impl FromStr for Figure {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some((_, figure)) = NAMED.iter().find(|(name, _)| *name == text) {
            return Ok(figure.clone());
        }
        if !text.contains('.') {
            let names = NAMED.map(|(name, _)| name).join(", ");
            return Err(format!(
                "unknown figure '{text}': use {names}, or the path of a number of the result"
            ));
        }
        let unit = unit_of(text);
        let scale = if unit == Some(Unit::Ratio) { Scale::Absolute } else { Scale::Relative };
        let tail = text.splitn(3, '.').nth(2).unwrap_or_default();
        let better = match (unit, Meaning::of(tail)) {
            (_, Some(Meaning::Success)) => Some(Better::Higher),
            (_, Some(Meaning::Failure)) => Some(Better::Lower),
            (Some(Unit::Nanos | Unit::Seconds), _) => Some(Better::Lower),
            (Some(Unit::PacketRate | Unit::BitRate | Unit::SessionRate), _) => Some(Better::Higher),
            _ => None,
        };
        Ok(Self::Path { path: text.to_owned(), scale, better })
    }
}

/// The unit of the numbers whose path ends like this one.
fn unit_of(path: &str) -> Option<Unit> {
    let last = path.rsplit('.').next()?;
    let ends_so =
        |segments: &[Segment]| matches!(segments.last(), Some(Segment::Name(name)) if *name == last);
    fields::<ResultDocument>().into_iter().find(|field| ends_so(&field.segments)).map(|field| field.unit)
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = NAMED.iter().find(|(_, figure)| figure == self).map(|(name, _)| *name);
        match (named, self) {
            (Some(name), _) => f.write_str(name),
            (None, Self::Path { path, .. }) => f.write_str(path),
            (None, _) => f.write_str("figure"),
        }
    }
}

impl Figure {
    /// The most significant figure of a device under this load.
    pub(crate) fn of(plan: &Plan) -> Self {
        let streams = plan.streams.iter().any(|stream| stream.measure && stream.to.is_some());
        if plan.sessions.iter().any(|entry| entry.session.client.is_some()) && !streams {
            return Self::Sessions;
        }
        Self::Received
    }

    /// Scale of differences.
    pub(crate) fn scale(&self) -> Scale {
        match self {
            Self::Loss => Scale::Absolute,
            Self::Path { scale, .. } => *scale,
            _ => Scale::Relative,
        }
    }

    /// Which values are good; `None` if unknown from the name.
    pub(crate) fn better(&self) -> Option<Better> {
        match self {
            Self::Received | Self::Sessions => Some(Better::Higher),
            Self::Loss | Self::Latency(_) => Some(Better::Lower),
            Self::Path { better, .. } => *better,
        }
    }

    /// The word for a better side.
    pub(crate) fn comparative(&self) -> &'static str {
        match self {
            Self::Received | Self::Sessions | Self::Latency(_) => "faster",
            Self::Loss | Self::Path { .. } => "better",
        }
    }

    /// Names it in a sentence.
    pub(crate) fn noun(&self) -> String {
        match self {
            Self::Received => "packets received per second".to_owned(),
            Self::Loss => "loss ratio".to_owned(),
            Self::Sessions => "sessions completed per second".to_owned(),
            Self::Latency(percentile) => format!("latency ({})", percentile.name()),
            Self::Path { path, .. } => path.clone(),
        }
    }

    /// A value with its unit.
    pub(crate) fn show(&self, value: f64) -> String {
        match self {
            Self::Received => quantity(value, "pps"),
            Self::Loss => quantity(value, "ratio"),
            Self::Sessions => quantity(value, "/s"),
            Self::Latency(_) => quantity(value, "ns"),
            Self::Path { path, .. } => store::report::measured(path, value),
        }
    }

    /// The numbers of a result from which it is computed, by path: of every stream or entry of sessions that has one.
    fn parts(&self, document: &ResultDocument) -> Vec<String> {
        let streams = |tail: &str| -> Vec<String> {
            let paths = document.streams.keys().map(|name| format!("streams.{name}.{tail}"));
            paths.filter(|path| document.number(path).is_some()).collect()
        };
        let sessions = |tail: &str| -> Vec<String> {
            let paths = document.sessions.keys().map(|name| format!("sessions.{name}.{tail}"));
            paths.filter(|path| document.number(path).is_some()).collect()
        };
        match self {
            Self::Received => streams("rx"),
            Self::Loss => streams("lost"),
            Self::Sessions => {
                let clients = document.sessions.iter().filter(|(_, entry)| entry.client.is_some());
                clients.map(|(name, _)| format!("sessions.{name}.completed")).collect()
            }
            Self::Latency(percentile) => {
                let of_streams = streams(&format!("latency_ns.{}", percentile.field()));
                if of_streams.is_empty() {
                    sessions(&format!("ttfb_ns.{}", percentile.field()))
                } else {
                    of_streams
                }
            }
            Self::Path { path, .. } => vec![path.clone()],
        }
    }

    /// Its value, computed from its parts' values; `None` if it was not measured.
    fn of_parts(&self, document: &ResultDocument, values: &[f64]) -> Option<f64> {
        let sum = || values.iter().sum::<f64>();
        let ratio = |part: f64, whole: f64| (whole > 0.0).then(|| part / whole);
        match self {
            _ if values.is_empty() => None,
            Self::Received | Self::Sessions => ratio(sum(), document.duration_s),
            Self::Loss => {
                let measured = document.streams.values().filter(|stream| stream.lost.is_some());
                ratio(sum(), measured.map(|stream| stream.tx as f64).sum())
            }
            Self::Latency(_) => values.iter().copied().reduce(f64::max),
            Self::Path { .. } => values.first().copied(),
        }
    }

    /// Its value, read from a result; `None` if it was not measured.
    pub(crate) fn value(&self, document: &ResultDocument) -> Option<f64> {
        let values: Vec<f64> = self.parts(document).iter().filter_map(|path| document.number(path)).collect();
        self.of_parts(document, &values)
    }

    /// Its value, and whether it is the device's: also of a disturbed run, if its parts hold.
    pub(crate) fn measured(&self, document: &ResultDocument) -> Measured {
        let verdict = &document.verdict;
        let disturbed = |reason: Option<String>| Measured::Disturbed {
            value: self.value(document),
            reason: reason.unwrap_or_else(|| format!("no {}", self.noun())),
        };
        if verdict.generator_limited || !(verdict.valid || verdict.disturbed) {
            return disturbed(verdict.reasons.first().cloned());
        }
        let mut values = Vec::new();
        for path in self.parts(document) {
            match document.standing(&path) {
                Standing::Holds { value, .. } => values.extend(value),
                doubtful => return disturbed(doubtful.doubt().map(|doubt| doubt.reason.to_owned())),
            }
        }
        self.of_parts(document, &values).map_or_else(|| disturbed(None), Measured::Value)
    }
}

impl Percentile {
    fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
        }
    }

    /// Its name in results.
    fn field(self) -> String {
        self.name().replace('.', "_")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::{HoldsResult, Named, StreamResult};

    #[test]
    fn figures_are_named_or_paths() {
        assert_eq!("received".parse(), Ok(Figure::Received));
        assert_eq!("p99.9".parse(), Ok(Figure::Latency(Percentile::P999)));
        assert!("speed".parse::<Figure>().unwrap_err().contains("use received, loss"));
        let of = |path: &str| path.parse::<Figure>().map(|figure| (figure.scale(), figure.better()));
        assert_eq!(of("streams.a.loss_ratio"), Ok((Scale::Absolute, Some(Better::Lower))));
        assert_eq!(of("streams.a.latency_ns.p90"), Ok((Scale::Relative, Some(Better::Lower))));
        assert_eq!(of("ports.east.rx_pps"), Ok((Scale::Relative, Some(Better::Higher))));
        assert_eq!(of("workers.0.stall_max_ns"), Ok((Scale::Relative, Some(Better::Lower))));
        assert_eq!(of("ports.east.rx_other"), Ok((Scale::Relative, None)));
    }

    #[test]
    fn streams_count_together_and_trouble_is_named() {
        let stream =
            |tx, rx| StreamResult { tx, rx: Some(rx), lost: Some(tx - rx), ..StreamResult::default() };
        let streams = [("a", stream(100, 90)), ("b", stream(300, 300))];
        let streams = Named::from(streams.map(|(name, stream)| (name.to_owned(), stream)));
        let mut document = ResultDocument { streams, duration_s: 2.0, ..ResultDocument::default() };
        assert_eq!(Figure::Received.value(&document), Some(195.0));
        assert_eq!(Figure::Loss.value(&document), Some(0.025));
        assert_eq!(Figure::Sessions.value(&document), None);
        document.verdict.valid = true;
        assert_eq!(Figure::Received.measured(&document), Measured::Value(195.0));
        (document.verdict.valid, document.verdict.disturbed) = (false, true);
        document.verdict.reasons.push("worker 0 stalled".to_owned());
        // All that was received was received.
        assert_eq!(Figure::Received.measured(&document), Measured::Value(195.0));
        let reason = "worker 0 waited".to_owned();
        let entry = HoldsResult {
            lower: Some(0.0),
            upper: Some(10.0),
            reason: Some(reason.clone()),
            ..HoldsResult::default()
        };
        document.verdict.holds.insert("streams.a.lost".to_owned(), entry);
        assert_eq!(Figure::Loss.measured(&document), Measured::Disturbed { value: Some(0.025), reason });
        document.verdict.disturbed = false;
        let reason = "worker 0 stalled".to_owned();
        assert_eq!(Figure::Received.measured(&document), Measured::Disturbed { value: Some(195.0), reason });
    }
}
