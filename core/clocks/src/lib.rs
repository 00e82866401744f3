//! Difference of two clocks, by the shortest delays of packets there and back.
//!
//! A measured one-way delay is the true one plus the error of the receiver's clock minus that of the sender's. True delays are positive, so a
//! packet from A to B bounds that error from above, and one from B to A from below. Clocks keep their rate during a measurement, so
//! the error is a straight line of time: it lies below each bound of one direction and above each of the other, as in Moon,
//! Skelly and Towsley, *Estimation and Removal of Clock Skew from Network Delay Measurements* (INFOCOM 1999).
//!
//! Not here: reading clocks. Nothing is assumed about the symmetry of a path.
//!
//! Separate because runs on several machines and measurements of a path need it, and neither needs the other.

#![forbid(unsafe_code)]

/// Largest difference of two clocks' rates that is considered: crystals differ by 100 parts per million, NTP slews by 500.
const RATE_MAX: f64 = 1e-3;
/// Steps of the search for a rate; each divides the range by 1.5.
const STEPS: usize = 64;
/// Bounds of one direction that are kept; neighbours become one when there are more.
const BOUNDS_MAX: usize = 2_048;
/// A bound below this was not reached: delays have whole nanoseconds, ns.
const RESOLUTION_NS: f64 = 1.0;

/// The shortest delay of one direction in a time, as it was measured: there the error is at most as large.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Bound {
    from_s: f64,
    until_s: f64,
    ns: f64,
}

/// Shortest delays of one direction.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Shortest {
    bounds: Vec<Bound>,
}

impl Shortest {
    /// Adds the shortest delay, as measured, of a time that ended at `until_s` and took `span_s`. It is negative if the receiver's
    /// clock is behind by more.
    pub fn add(&mut self, until_s: f64, span_s: f64, ns: f64) {
        self.bounds.push(Bound { from_s: until_s - span_s, until_s, ns });
        if self.bounds.len() > BOUNDS_MAX {
            let joined = |pair: &[Bound]| {
                pair.iter().copied().reduce(|one, other| Bound {
                    from_s: one.from_s.min(other.from_s),
                    until_s: one.until_s.max(other.until_s),
                    ns: one.ns.min(other.ns),
                })
            };
            self.bounds = self.bounds.chunks(2).filter_map(joined).collect();
        }
    }

    fn span(&self) -> Option<(f64, f64)> {
        let from = self.bounds.iter().map(|bound| bound.from_s).reduce(f64::min)?;
        Some((from, self.bounds.iter().map(|bound| bound.until_s).reduce(f64::max)?))
    }
}

/// The error of the second clock against the first: least and largest during a run, ns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorRange {
    /// Least.
    pub least_ns: f64,
    /// Largest.
    pub most_ns: f64,
}

impl ErrorRange {
    /// In the middle of it, ns.
    pub fn middle_ns(self) -> f64 {
        f64::midpoint(self.least_ns, self.most_ns)
    }

    /// Half its width, ns.
    pub fn uncertainty_ns(self) -> f64 {
        (self.most_ns - self.least_ns) / 2.0
    }

    /// Errors between clocks of two machines by test packets there and back. `None` without packets both ways, or if no straight line
    /// fits.
    pub fn of(there: &Shortest, back: &Shortest) -> Option<Self> {
        let (one, other) = (there.span()?, back.span()?);
        let (begin, end) = (one.0.min(other.0), one.1.max(other.1));
        let most = |at| largest_at(at, there, back);
        // From the other side, the error has the other sign.
        let least = |at| largest_at(at, back, there).map(|ns| -ns);
        let range = Self {
            least_ns: least(begin)?.min(least(end)?) - RESOLUTION_NS,
            most_ns: most(begin)?.max(most(end)?) + RESOLUTION_NS,
        };
        (range.least_ns <= range.most_ns).then_some(range)
    }

    /// The errors that are in both.
    pub fn within(self, other: Self) -> Option<Self> {
        let both =
            Self { least_ns: self.least_ns.max(other.least_ns), most_ns: self.most_ns.min(other.most_ns) };
        (both.least_ns <= both.most_ns).then_some(both)
    }
}

/// The largest value at a time of a straight line that is below `above` and over `-below`, ns.
fn largest_at(at: f64, above: &Shortest, below: &Shortest) -> Option<f64> {
    let either = [1.0, -1.0].map(|sign| largest_of(at, above, below, sign));
    either.into_iter().flatten().reduce(f64::max)
}

/// The same for lines that rise (`sign` 1) or fall (-1).
fn largest_of(at: f64, above: &Shortest, below: &Shortest, sign: f64) -> Option<f64> {
    // When in its time a bound holds is not known: the end is chosen at which it bounds less.
    let ends = |bound: &Bound| {
        if sign > 0.0 { (bound.from_s, bound.until_s) } else { (bound.until_s, bound.from_s) }
    };
    // The value at `at` of a line through a bound, by its rate.
    let value = |ns: f64, rate: f64, from: f64| ns + sign * rate * (at - from) * 1e9;
    let upper = |rate: f64| {
        let values = above.bounds.iter().map(|bound| value(bound.ns, rate, ends(bound).0));
        values.fold(f64::MAX, f64::min)
    };
    let lower = |rate: f64| {
        let values = below.bounds.iter().map(|bound| value(-bound.ns, rate, ends(bound).1));
        values.fold(f64::MIN, f64::max)
    };
    // Both are made of straight pieces: the first is concave, and so is the room between them.
    let fits = peak(0.0, RATE_MAX, |rate| upper(rate) - lower(rate));
    if upper(fits) < lower(fits) {
        return None;
    }
    let best = peak(0.0, RATE_MAX, upper);
    let (mut inside, mut outside) = (fits, best);
    if upper(best) >= lower(best) {
        return Some(upper(best));
    }
    for _ in 0..STEPS {
        let middle = f64::midpoint(inside, outside);
        if upper(middle) < lower(middle) { outside = middle } else { inside = middle }
    }
    Some(upper(outside))
}

/// Where a concave function is largest.
fn peak(mut from: f64, mut until: f64, value: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..STEPS {
        let third = (until - from) / 3.0;
        if value(from + third) < value(until - third) { from += third } else { until -= third }
    }
    f64::midpoint(from, until)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sequence of numbers from 0 to 1 that a seed gives.
    struct Numbers(u64);

    impl Numbers {
        fn next(&mut self) -> f64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 11) as f64 / (1u64 << 53) as f64
        }

        fn between(&mut self, least: f64, most: f64) -> f64 {
            least + (most - least) * self.next()
        }
    }

    /// A run of test packets there and back between clocks of which the second has an error.
    struct Simulated {
        offset_ns: f64,
        rate: f64,
        seconds: f64,
        /// Shortest true delays there and back, ns.
        base: [f64; 2],
    }

    impl Simulated {
        fn new(numbers: &mut Numbers) -> Self {
            let base = [numbers.between(500.0, 200_000.0), numbers.between(500.0, 200_000.0)];
            Self {
                offset_ns: numbers.between(-1.0, 1.0) * if numbers.next() < 0.5 { 5e6 } else { 5e4 },
                rate: numbers.between(-1.0, 1.0) * if numbers.next() < 0.5 { 200e-6 } else { 1e-6 },
                seconds: numbers.between(0.5, 10.0),
                base,
            }
        }

        fn error(&self, at_s: f64) -> f64 {
            self.offset_ns + self.rate * at_s * 1e9
        }

        /// Shortest delays as they are measured, by tenths of a second, and a true delay beside each measured one.
        fn measure(&self, numbers: &mut Numbers) -> ([Shortest; 2], Vec<(f64, f64)>) {
            let (mut shortest, mut there) = ([Shortest::default(), Shortest::default()], Vec::new());
            for tick in 0..(self.seconds * 10.0) as u64 {
                let until = (tick + 1) as f64 / 10.0;
                for (way, sign) in [(0, 1.0), (1, -1.0)] {
                    let mut least = f64::MAX;
                    for _ in 0..5 {
                        let at = until - 0.1 * numbers.next();
                        let delay = self.base[way] - numbers.next().ln() * 30_000.0;
                        let measured = delay + sign * self.error(at);
                        least = least.min(measured);
                        if way == 0 {
                            there.push((delay, measured));
                        }
                    }
                    // A packet that arrives before it was sent counts as one without a delay.
                    shortest[way].add(until, 0.1, least.max(0.0));
                }
            }
            (shortest, there)
        }
    }

    #[test]
    fn the_true_delay_is_in_the_stated_interval() {
        let (runs, mut held, mut narrower) = (200, 0, 0);
        let mut numbers = Numbers(1);
        for _ in 0..runs {
            let run = Simulated::new(&mut numbers);
            let ([there, back], delays) = run.measure(&mut numbers);
            // One clock is behind by more than the delay in most of them: then only the other direction bounds the error.
            let Some(range) = ErrorRange::of(&there, &back) else { continue };
            let (shift, bound) = (range.middle_ns(), range.uncertainty_ns());
            let is_in = |(delay, measured): &(f64, f64)| {
                let stated = measured.max(0.0) - shift;
                (delay - stated).abs() <= bound || *measured < 0.0 && *delay <= stated + bound
            };
            held += usize::from(delays.iter().all(is_in));
            narrower += usize::from(bound < run.offset_ns.abs());
        }
        println!("{held} of {runs} held, {narrower} better than the offset");
        assert!(held * 100 >= runs * 99, "{held} of {runs}");
    }

    #[test]
    fn packets_bound_the_error_as_narrowly_as_their_delays() {
        // The delays are 10 and 30 µs.
        let mut numbers = Numbers(7);
        let run = Simulated { offset_ns: 1_000.0, rate: 0.0, seconds: 30.0, base: [10_000.0, 30_000.0] };
        let ([there, back], _) = run.measure(&mut numbers);
        let range = ErrorRange::of(&there, &back).unwrap();
        assert!(range.least_ns <= 1_000.0 && range.most_ns >= 1_000.0, "{range:?}");
        assert!(range.uncertainty_ns() < 40_000.0, "{range:?}");
        // A clock that runs slower: the range has the drift in it, and no more than that besides the delays.
        let run = Simulated { offset_ns: 300_000.0, rate: -20e-6, base: [400_000.0, 420_000.0], ..run };
        let ([there, back], _) = run.measure(&mut numbers);
        let range = ErrorRange::of(&there, &back).unwrap();
        assert!(range.least_ns <= -300_000.0 && range.most_ns >= 300_000.0, "{range:?}");
        assert!(range.uncertainty_ns() < 300_000.0 + 410_000.0 + 40_000.0, "{range:?}");
        assert_eq!(ErrorRange::of(&there, &Shortest::default()), None);
    }

    #[test]
    fn many_bounds_become_fewer_and_stay_bounds() {
        let mut shortest = Shortest::default();
        (0..10_000u64)
            .for_each(|tick| shortest.add((tick + 1) as f64 / 10.0, 0.1, (1_000 + tick % 7) as f64));
        assert!(shortest.bounds.len() <= BOUNDS_MAX + 1);
        assert_eq!(shortest.span(), Some((0.0, 1_000.0)));
        assert!(shortest.bounds.iter().all(|bound| bound.ns >= 1_000.0));
    }
}
