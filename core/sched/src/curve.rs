//! Departures along a load curve: [`Pace::Curve`].
//!
//! The area under a curve is counted in half a micro-packet-per-second times a nanosecond, 1/(2·10^15) packet, so that
//! the area of a ramp between whole nanoseconds is a whole number. A floating-point value estimates when a packet
//! leaves; integers decide.
//!
//! [`Pace::Curve`]: crate::Pace::Curve

use crate::exact::{GAP_SCALE, mul_div, mul_wide, narrow};
use crate::load::{CurvePoint, CurveShape};
use std::sync::Arc;
use units::Pps;

/// A packet's area.
const PACKET: u128 = 2 * GAP_SCALE;

/// Rates beyond this (10^12 pps) and spans beyond this (36 years) are taken as this: what they make together fits.
const MOST: u64 = 1 << 60;

/// A part of a curve.
#[derive(Debug, Clone, Copy)]
struct Segment {
    /// Rates at its ends, micro-pps.
    from: u64,
    to: u64,
    /// Its length, ns.
    span: u64,
    /// Its area; `u128::MAX` if it never ends.
    area: u128,
}

impl Segment {
    fn new(from: Pps, to: Pps, span: u64) -> Self {
        let (from, to, span) = (from.micro().min(MOST), to.micro().min(MOST), span.min(MOST));
        Self { from, to, span, area: u128::from(from + to) * u128::from(span) }
    }

    fn endless(rate: Pps) -> Self {
        let rate = rate.micro().min(MOST);
        Self { from: rate, to: rate, span: u64::MAX, area: u128::MAX }
    }

    /// Area until `t`, rounded up.
    fn area_until(&self, t: u64) -> u128 {
        if self.from == self.to {
            return 2 * u128::from(self.from) * u128::from(t);
        }
        let (from, to) = (u128::from(self.from), u128::from(self.to));
        let (t, span) = (u128::from(t), u128::from(self.span));
        // 2·from·t + (to − from)·t²/span, the rates weighed so that nothing is negative.
        let weighed = from * (2 * span - t) + to * t;
        let (area, rest) = mul_div(weighed, t, span);
        area + u128::from(rest != 0)
    }

    /// The last ns at which the area is at most `rest`; `rest` is below the whole area.
    #[inline]
    fn last_within(&self, rest: u128) -> u64 {
        if self.from == self.to {
            let double = 2 * u128::from(self.from);
            if double == 0 {
                return u64::MAX;
            }
            let guess = (rest as f64 / double as f64) as u64;
            return last(guess, self.span, |t| {
                double.checked_mul(u128::from(t)).is_some_and(|area| area <= rest)
            });
        }
        let target = |area: u128| mul_wide(area, u128::from(self.span));
        if self.from < self.to {
            let target = target(rest);
            last(self.guess(self.from, rest), self.span, |t| self.ramp(self.from, t) <= target)
        } else {
            // From the end backwards it is a rising ramp, on which a small error of the guess stays small.
            let left = self.area - rest;
            let target = target(left);
            self.span - 1 - last(self.guess(self.to, left), self.span - 1, |t| self.ramp(self.to, t) < target)
        }
    }

    /// `span` times the area that a ramp rising from `low` has after `t`.
    #[inline(always)]
    fn ramp(&self, low: u64, t: u64) -> (u128, u128) {
        let rise = u128::from(self.from.abs_diff(self.to));
        mul_wide(2 * u128::from(low) * u128::from(self.span) + rise * u128::from(t), u128::from(t))
    }

    /// About when a ramp rising from `low` has an area of `area`.
    #[inline(always)]
    fn guess(&self, low: u64, area: u128) -> u64 {
        let (low, area) = (low as f64, area as f64);
        let rise = self.from.abs_diff(self.to) as f64 / self.span as f64;
        (area / (low + (low * low + rise * area).sqrt())) as u64
    }
}

/// The last number up to `most` that is `ok`, near `guess`; 0 is, and so are all below one that is.
#[inline(always)]
fn last(guess: u64, most: u64, ok: impl Fn(u64) -> bool) -> u64 {
    let guess = guess.min(most);
    if ok(guess) {
        if guess == most || !ok(guess + 1) {
            return guess;
        }
    } else if guess > 0 && ok(guess - 1) {
        return guess - 1;
    }
    search(guess, most, &ok)
}

#[cold]
fn search(guess: u64, most: u64, ok: &dyn Fn(u64) -> bool) -> u64 {
    let (mut good, mut bad, mut step) = (0, most.saturating_add(1), 1);
    if ok(guess) {
        good = guess;
        while good < most {
            let next = good.saturating_add(step).min(most);
            if !ok(next) {
                bad = next;
                break;
            }
            (good, step) = (next, step * 2);
        }
    } else {
        bad = guess;
        while bad > 0 {
            let next = bad.saturating_sub(step);
            if ok(next) {
                good = next;
                break;
            }
            (bad, step) = (next, step * 2);
        }
    }
    while bad.saturating_sub(good) > 1 {
        let middle = good + (bad - good) / 2;
        if ok(middle) { good = middle } else { bad = middle }
    }
    good
}

/// The parts of a curve, in their order.
#[derive(Debug)]
pub(crate) struct Shape {
    segments: Vec<Segment>,
    /// Length and area of a round of a curve that repeats.
    round: Option<(u64, u128)>,
}

impl Shape {
    pub(crate) fn new(points: &[CurvePoint], shape: CurveShape, repeat: bool) -> Self {
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return Self { segments: vec![Segment::endless(Pps::ZERO)], round: None };
        };
        let mut segments = vec![Segment::new(first.rate, first.rate, first.at.0)];
        for pair in points.windows(2) {
            let to = match shape {
                CurveShape::Linear => pair[1].rate,
                CurveShape::Step => pair[0].rate,
            };
            segments.push(Segment::new(pair[0].rate, to, pair[1].at.since(pair[0].at).0));
        }
        let span = segments.iter().map(|s| s.span).fold(0, u64::saturating_add);
        let area = segments.iter().map(|s| s.area).fold(0, u128::saturating_add);
        segments.retain(|s| s.span > 0);
        let round = (repeat && span > 0).then_some((span, area));
        if round.is_none() {
            segments.push(Segment::endless(last.rate));
        }
        Self { segments, round }
    }

    /// Area until `t`, rounded up.
    fn area_until(&self, t: u64) -> u128 {
        let (mut t, mut area) = (t, 0u128);
        if let Some((span, round)) = self.round {
            area = round.saturating_mul(u128::from(t / span));
            t %= span;
        }
        for segment in &self.segments {
            if t <= segment.span {
                return area.saturating_add(segment.area_until(t));
            }
            area = area.saturating_add(segment.area);
            t -= segment.span;
        }
        area
    }
}

/// Mean rate over the long run.
pub(crate) fn mean_rate(points: &[CurvePoint], shape: CurveShape, repeat: bool) -> Pps {
    match Shape::new(points, shape, repeat).round {
        Some((span, area)) => Pps::from_micro(narrow(area / (2 * u128::from(span)))),
        None => points.last().map_or(Pps::ZERO, |last| last.rate),
    }
}

/// A stream's place on its curve.
#[derive(Debug, Clone)]
pub(crate) struct Curve {
    shape: Arc<Shape>,
    /// Area of a group.
    group: u128,
    segment: usize,
    /// When the segment began, ns.
    base: u64,
    /// Area between there and the current group.
    rest: u128,
    time: u64,
}

impl Curve {
    pub(crate) fn new(shape: Arc<Shape>, group: u32) -> Self {
        let mut curve =
            Self { shape, group: PACKET * u128::from(group), segment: 0, base: 0, rest: 0, time: 0 };
        curve.settle();
        curve
    }

    #[inline(always)]
    pub(crate) fn time(&self) -> u64 {
        self.time
    }

    #[inline]
    pub(crate) fn jump(&mut self, by: u64) {
        self.rest = self.rest.saturating_add(self.group.saturating_mul(u128::from(by)));
        self.settle();
    }

    /// Finds the segment of the current group, and its time in there.
    #[inline]
    fn settle(&mut self) {
        let mut segment = self.shape.segments[self.segment];
        while self.rest >= segment.area && segment.area < u128::MAX {
            self.rest -= segment.area;
            self.base = self.base.saturating_add(segment.span);
            self.segment += 1;
            if self.segment == self.shape.segments.len() {
                self.segment = 0;
                if !self.skip_rounds() {
                    self.time = u64::MAX;
                    return;
                }
            }
            segment = self.shape.segments[self.segment];
        }
        self.time = self.base.saturating_add(segment.last_within(self.rest));
    }

    /// Passes over the rounds before the one of the current group; returns whether there is one.
    fn skip_rounds(&mut self) -> bool {
        let Some((span, area)) = self.shape.round else { return false };
        let Some(rounds) = self.rest.checked_div(area) else { return false };
        self.rest -= rounds * area;
        self.base = self.base.saturating_add(narrow(rounds).saturating_mul(span));
        true
    }

    /// Groups before `span`.
    pub(crate) fn before(&self, span: u64) -> u64 {
        narrow(self.shape.area_until(span).div_ceil(self.group))
    }

    /// When the area reaches that of `groups` groups, rounded down; `u64::MAX` if it never does.
    pub(crate) fn reaches(&self, groups: u64) -> u64 {
        let mut rest = self.group.saturating_mul(u128::from(groups));
        let mut base = 0u64;
        if rest == 0 {
            return 0;
        }
        if let Some((span, area)) = self.shape.round {
            let Some(rounds) = (rest - 1).checked_div(area) else { return u64::MAX };
            base = narrow(rounds).saturating_mul(span);
            rest -= rounds * area;
        }
        for segment in &self.shape.segments {
            if rest < segment.area {
                return base.saturating_add(segment.last_within(rest));
            }
            rest -= segment.area;
            base = base.saturating_add(segment.span);
            if rest == 0 {
                return base;
            }
        }
        u64::MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use units::Nanos;

    fn point((at, rate): (u64, u64)) -> CurvePoint {
        CurvePoint { at: Nanos(at), rate: Pps::from_micro(rate) }
    }

    proptest! {
        /// Each packet leaves at the last nanosecond at which the area before it is not more than its number.
        #[test]
        fn departures_are_where_the_area_says(
            rates in proptest::collection::vec((1u64..100_000, prop_oneof![Just(0), 0u64..1_000_000_000_000_000]), 1..6),
            step: bool, repeat: bool, group in 1u32..4,
        ) {
            let mut at = 0;
            let points: Vec<_> = rates.iter().map(|(gap, rate)| { at += gap; point((at, *rate)) }).collect();
            let shape = if step { CurveShape::Step } else { CurveShape::Linear };
            let shape = Arc::new(Shape::new(&points, shape, repeat));
            let mut curve = Curve::new(shape.clone(), group);
            for index in 0..200u64 {
                let area = PACKET * u128::from(group) * u128::from(index);
                let time = curve.time();
                if time > 1 << 50 {
                    break;
                }
                prop_assert!(shape.area_until(time) <= area, "{index}");
                prop_assert!(shape.area_until(time + 1) > area, "{index}");
                prop_assert_eq!((curve.before(time), curve.before(time + 1) > index), (curve.before(time).min(index), true));
                let reached = curve.reaches(index);
                prop_assert!(reached <= time && shape.area_until(reached + 1) >= area);
                prop_assert!(reached == 0 || shape.area_until(reached - 1) < area);
                curve.jump(1);
            }
        }
    }
}
