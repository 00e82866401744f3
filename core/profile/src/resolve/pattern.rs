//! Sending times: rates, patterns, and streams that follow each other.

use super::Resolver;
use crate::document::StreamDoc;
use crate::document::pattern::{CurveDoc, GapsDoc, MultiBurstDoc, PatternDoc, ShapeDoc, ThenFromDoc};
use crate::document::vary::OrderDoc;
use crate::plan::{ChainLink, ChainPlan, Pattern, StreamPlan};
use std::collections::HashMap;
use units::{Load, Nanos, Pps};

impl Resolver<'_> {
    /// The stream's rate; [`Load::Max`] where its pattern is a rate in itself.
    pub(super) fn rate(&mut self, path: &str, stream: &StreamDoc) -> Load {
        if let Some(rate) = self.overrides.rate {
            self.refuse_zero(&format!("{path}.rate"), rate);
            return rate;
        }
        let path = format!("{path}.rate");
        if self.reading.is_broken(&path) {
            return Load::Max;
        }
        let own = own_rate(stream);
        let Some(written) = &stream.rate else {
            if own.is_none() && self.overrides.default_rate.is_none() {
                self.reading
                    .fail(path, "no rate: give one such as 1Mpps, 2.5Gbps, 40% or max, here or by --rate");
            }
            return self.overrides.default_rate.unwrap_or(Load::Max);
        };
        if let Some(pattern) = own.filter(|_| stream.replay.is_none()) {
            self.reading.fail(path, format!("the pattern '{pattern}' sets the rate; remove 'rate'"));
            return Load::Max;
        }
        let mut rate = written.0.load;
        if written.0.flow {
            let Some(flows) = &stream.flows else {
                self.reading.fail(path, "a rate per flow needs 'flows'");
                return rate;
            };
            if let Load::Packets(pps) = rate {
                rate = Load::Packets(Pps::from_micro(pps.micro().saturating_mul(flows.count)));
            }
        }
        self.refuse_zero(&path, rate);
        rate
    }

    fn refuse_zero(&mut self, path: &str, rate: Load) {
        if is_zero(rate) {
            self.reading.fail(path, format!("a rate of {rate} sends nothing"));
        }
    }

    pub(super) fn pattern(&mut self, path: &str, stream: &StreamDoc) -> Pattern {
        let path = format!("{path}.pattern");
        if self.reading.is_broken(&path) {
            return Pattern::Continuous;
        }
        self.refuse_max(&path, stream);
        match &stream.pattern {
            // A rate from the command line takes the place of a pattern that is one.
            PatternDoc::Gaps(_) | PatternDoc::Curve(_) if self.overrides.rate.is_some() => {
                Pattern::Continuous
            }
            PatternDoc::Continuous => Pattern::Continuous,
            PatternDoc::Poisson => Pattern::Poisson { seed: self.seed_of(&path, "poisson") },
            PatternDoc::Bursts(packets) => Pattern::Bursts { packets: *packets },
            // One burst has no next, so any time to it will do.
            PatternDoc::Burst(packets) => {
                Pattern::MultiBurst { packets: *packets, every: Nanos::from_secs(1), bursts: Some(1) }
            }
            PatternDoc::MultiBurst(burst) => self.multi_burst(&path, burst),
            PatternDoc::OnOff(on_off) => {
                let path = format!("{path}.on_off");
                if on_off.on_for.0 == Nanos::ZERO {
                    self.reading.fail(format!("{path}.on_for"), "must be longer than 0");
                }
                self.within_a_year(&format!("{path}.on_for"), on_off.on_for.0);
                self.within_a_year(&format!("{path}.off_for"), on_off.off_for.0);
                Pattern::OnOff { on: on_off.on_for.0, off: on_off.off_for.0 }
            }
            PatternDoc::Gaps(gaps) => self.gaps(&format!("{path}.gaps"), gaps),
            PatternDoc::Curve(curve) => self.curve(&format!("{path}.curve"), curve),
        }
    }

    /// Patterns that need a rate that is a number.
    fn refuse_max(&mut self, path: &str, stream: &StreamDoc) {
        let name = match &stream.pattern {
            PatternDoc::Poisson => "poisson",
            PatternDoc::OnOff(_) => "on_off",
            _ => return,
        };
        let written = stream.rate.as_ref().map(|rate| rate.0.load);
        if self.overrides.rate.or(written) == Some(Load::Max) {
            self.reading.fail(path, format!("'{name}' needs a rate that is a number, not 'max'"));
        }
    }

    fn multi_burst(&mut self, path: &str, burst: &MultiBurstDoc) -> Pattern {
        let path = format!("{path}.multi_burst");
        let every = match &burst.every {
            Some(every) if every.0 == Nanos::ZERO => {
                self.reading.fail(format!("{path}.every"), "must be longer than 0");
                every.0
            }
            Some(every) => every.0,
            None if burst.bursts == Some(1) => Nanos::from_secs(1),
            None => {
                self.reading.fail(&path, "needs 'every' unless 'bursts' is 1");
                Nanos::from_secs(1)
            }
        };
        self.within_a_year(&format!("{path}.every"), every);
        Pattern::MultiBurst { packets: burst.packets, every, bursts: burst.bursts }
    }

    fn gaps(&mut self, path: &str, gaps: &GapsDoc) -> Pattern {
        let list: Vec<Nanos> = gaps.list.iter().map(|gap| gap.0).collect();
        let sum: u128 = list.iter().map(|gap| u128::from(gap.0)).sum();
        if sum == 0 {
            self.reading.fail(
                format!("{path}.list"),
                "the gaps are all zero; use 'rate: max' for as fast as possible",
            );
        } else if sum > u128::from(super::YEAR.0) {
            self.reading.fail(format!("{path}.list"), "the gaps together are longer than a year (8760h)");
        }
        let random = match gaps.order {
            OrderDoc::Sequential => None,
            OrderDoc::Random => Some(self.seed_of(path, "gaps")),
        };
        Pattern::Gaps { gaps: list.into(), random }
    }

    fn curve(&mut self, path: &str, curve: &CurveDoc) -> Pattern {
        let points: Vec<(Nanos, Load)> =
            curve.points.iter().map(|point| (point.at.0, point.rate.0)).collect();
        for (index, pair) in points.windows(2).enumerate() {
            if pair[1].0 <= pair[0].0 {
                let reason = format!("must be later than the previous point at {}", pair[0].0);
                self.reading.fail(format!("{path}.points[{}].at", index + 1), reason);
            }
        }
        for (index, (at, rate)) in points.iter().enumerate() {
            self.within_a_year(&format!("{path}.points[{index}].at"), *at);
            if *rate == Load::Max {
                let reason = "'max' is not allowed in a curve; set a rate such as 1Mpps or 40%";
                self.reading.fail(format!("{path}.points[{index}].rate"), reason);
            }
        }
        if points.iter().all(|(_, rate)| is_zero(*rate)) {
            self.reading.fail(format!("{path}.points"), "all rates are 0; set at least one above 0");
        }
        if curve.repeat && points.len() < 2 {
            self.reading.fail(format!("{path}.repeat"), "needs at least two points");
        }
        Pattern::Curve { points, steps: curve.shape == ShapeDoc::Steps, repeat: curve.repeat }
    }

    /// Streams that follow each other. `streams` are the plan's, in the document's order where none has copies.
    pub(super) fn chains(&mut self, streams: &[StreamPlan]) -> Vec<ChainPlan> {
        let mut links: HashMap<usize, Then> = HashMap::new();
        let mut targets: HashMap<usize, usize> = HashMap::new();
        let document = self.document;
        for (path, stream) in self.kept_streams() {
            let Some(then) = &stream.then else {
                let follows = |other: &StreamDoc| {
                    other.then.as_ref().is_some_and(|then| then.resolved().stream == stream.name.0)
                };
                if stream.loops.is_some() && !document.streams.iter().any(follows) {
                    self.reading.fail(format!("{path}.loops"), "needs 'then'");
                }
                continue;
            };
            let then = then.resolved();
            let at = format!("{path}.then");
            self.within_a_year(&at, then.gap.0);
            let find = |name: &str| streams.iter().position(|plan| plan.name == name);
            let Some(from) = find(&stream.name.0) else { continue };
            let Some(to) = find(&then.stream) else {
                if self.reading.drops_parts_of("streams") {
                    continue;
                }
                let known: Vec<&str> = document.streams.iter().map(|s| s.name.0.as_str()).collect();
                self.reading.fail(at, spelling::unknown("stream without copies", &then.stream, &known));
                continue;
            };
            let ends_at_last = then.from == ThenFromDoc::LastPacket;
            if ends_at_last && is_drawn(&streams[from].pattern) {
                let reason =
                    "a stream with 'poisson' or 'gaps' ends one gap after its last packet; remove 'from'";
                self.reading.fail(format!("{at}.from"), reason);
            }
            let link = ChainLink { stream: from, gap: then.gap.0, ends_at_last };
            links.insert(from, Then { to, link, ends: then.ends });
            *targets.entry(to).or_default() += 1;
        }
        let mut heads: Vec<usize> =
            links.keys().copied().filter(|from| !targets.contains_key(from)).collect();
        heads.sort_unstable();
        let mut placed = vec![false; streams.len()];
        let mut chains = Vec::new();
        // Chains with a beginning first; what is left are circles, which begin where the profile names them first.
        for head in heads.into_iter().chain(0..streams.len()) {
            if !placed[head] && links.contains_key(&head) {
                chains.extend(self.chain(head, &links, streams, &mut placed));
            }
        }
        chains
    }

    fn chain(
        &mut self,
        head: usize,
        links: &HashMap<usize, Then>,
        streams: &[StreamPlan],
        placed: &mut [bool],
    ) -> Option<ChainPlan> {
        let mut chain: Vec<ChainLink> = Vec::new();
        let mut ends: Vec<Option<u64>> = Vec::new();
        let (mut at, mut repeat_from) = (head, None);
        loop {
            placed[at] = true;
            let Some(Then { to, link, ends: after }) = links.get(&at) else {
                chain.push(ChainLink { stream: at, gap: Nanos::ZERO, ends_at_last: false });
                ends.push(None);
                break;
            };
            chain.push(*link);
            ends.push(*after);
            repeat_from = chain.iter().position(|link| link.stream == *to);
            if repeat_from.is_some() {
                break;
            }
            if placed[*to] {
                let reason = format!(
                    "stream '{}' is already part of another chain; only one chain leads to a stream",
                    streams[*to].name
                );
                self.fail_stream(&streams[at].name, "then", reason);
                return None;
            }
            at = *to;
        }
        let document = self.document;
        let loops = document.streams.iter().find(|s| s.name.0 == streams[head].name).and_then(|s| s.loops);
        if loops.is_some() && repeat_from.is_some_and(|link| link > 0) {
            let reason =
                "the chain does not go back to this stream; end it by 'ends' in a 'then' of its loop";
            self.fail_stream(&streams[head].name, "loops", reason.to_owned());
            return None;
        }
        self.check_links(&chain, streams, repeat_from.is_none() && loops.is_none())?;
        // The first of what can end it: a loop's number, and the link in it.
        let first = repeat_from.unwrap_or(0);
        let by_count = loops.or(repeat_from.is_none().then_some(1)).map(|loops| (loops, chain.len() - 1));
        let by_link = ends.iter().enumerate().filter_map(|(link, ends)| {
            let ends = (*ends)?;
            // What comes once ends once.
            (ends == 1 || link >= first && repeat_from.or(loops.map(|_| 0)).is_some()).then_some((ends, link))
        });
        let end = by_link.chain(by_count).min();
        Some(ChainPlan {
            links: chain,
            loops: end.map(|(loops, _)| loops),
            repeat_from: first,
            last: end.map(|(_, link)| link),
        })
    }

    /// Checks the requirements of every link of a chain.
    fn check_links(&mut self, chain: &[ChainLink], streams: &[StreamPlan], once: bool) -> Option<()> {
        let head = &streams[chain[0].stream];
        let mut sound = true;
        for (place, link) in chain.iter().enumerate() {
            let stream = &streams[link.stream];
            // The last one of a chain that comes once need not end.
            let endless = !(once && place == chain.len() - 1)
                && stream.count.is_none()
                && !matches!(stream.pattern, Pattern::MultiBurst { bursts: Some(_), .. });
            let unpaced = stream.rate == Load::Max
                && matches!(
                    stream.pattern,
                    Pattern::Continuous | Pattern::Bursts { .. } | Pattern::Poisson { .. }
                );
            let doc = self.document.streams.iter().find(|doc| doc.name.0 == stream.name);
            let (key, reason) = if stream.from != head.from {
                (
                    "from",
                    format!(
                        "all streams of a chain must have the same 'from', here '{}'",
                        self.ports[head.from].name
                    ),
                )
            } else if endless {
                ("then", "a stream of a chain needs 'count', unless it is the last".to_owned())
            } else if unpaced {
                ("rate", "a stream of a chain needs a rate other than 'max'".to_owned())
            } else if stream.duration.is_some() {
                ("duration", "a stream of a chain ends with its 'count'".to_owned())
            } else if place > 0 && doc.is_some_and(|doc| doc.loops.is_some()) {
                ("loops", format!("'loops' belongs to the chain's first stream, '{}'", head.name))
            } else {
                continue;
            };
            sound = false;
            self.fail_stream(&stream.name, key, reason);
        }
        sound.then_some(())
    }

    fn fail_stream(&mut self, name: &str, key: &str, reason: String) {
        let path = self.kept_streams().into_iter().find(|(_, stream)| stream.name.0 == name);
        let path = path.map_or_else(|| "streams".to_owned(), |(path, _)| path);
        self.reading.fail(format!("{path}.{key}"), reason);
    }
}

/// Settings of a stream for the next one.
struct Then {
    to: usize,
    link: ChainLink,
    ends: Option<u64>,
}

/// Whether its gaps are known only one by one.
fn is_drawn(pattern: &Pattern) -> bool {
    matches!(pattern, Pattern::Poisson { .. } | Pattern::Gaps { .. })
}

/// The pattern that is a rate in itself, if the stream's is one.
pub(super) fn own_rate(stream: &StreamDoc) -> Option<&'static str> {
    match &stream.pattern {
        PatternDoc::Gaps(_) => Some("gaps"),
        PatternDoc::Curve(_) => Some("curve"),
        _ if stream.replay.is_some() => Some("as captured"),
        _ => None,
    }
}

fn is_zero(load: Load) -> bool {
    match load {
        Load::Packets(pps) => pps == Pps::ZERO,
        Load::Bits(rate) => rate.bps == 0,
        Load::LinkShare(ppm) => ppm == 0,
        Load::Max => false,
    }
}
