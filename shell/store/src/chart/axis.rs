//! From values to positions, and the values to write along an axis.

use super::{TEXT, width};

/// Spread of values over an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    /// Evenly, from zero.
    Linear,
    /// By powers of ten.
    Log,
    /// Quantiles from 0 up to, not including, 1: every nine takes as much room.
    Percentile,
}

/// An axis: title, scale and format.
pub(crate) struct Axis {
    pub(crate) title: String,
    pub(crate) scale: Scale,
    pub(crate) format: fn(f64) -> String,
}

/// A tick: its place, 0 to 1, and its text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Tick {
    pub(crate) at: f64,
    pub(crate) text: String,
}

/// An axis whose ends are known.
pub(crate) struct Fitted<'a> {
    axis: &'a Axis,
    low: f64,
    high: f64,
    steps: Vec<f64>,
}

impl Axis {
    /// Linear unless `values` span more than two powers of ten and are all above zero.
    pub(crate) fn suited(title: &str, format: fn(f64) -> String, values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = span(values);
        let scale = if low > 0.0 && high / low > 100.0 { Scale::Log } else { Scale::Linear };
        Self { title: title.to_owned(), scale, format }
    }

    /// Fits the axis around values.
    pub(crate) fn fit(&self, values: impl Iterator<Item = f64>) -> Fitted<'_> {
        let (low, high) = span(values.filter(|value| self.has(*value)));
        let (low, high, steps) = match self.scale {
            Scale::Linear => linear(low, high),
            Scale::Log => log(low, high),
            Scale::Percentile => percentile(high),
        };
        Fitted { axis: self, low, high, steps }
    }

    /// Whether a value has a place on such an axis.
    pub(crate) fn has(&self, value: f64) -> bool {
        match self.scale {
            Scale::Linear => value.is_finite(),
            Scale::Log => value.is_finite() && value > 0.0,
            Scale::Percentile => (0.0..1.0).contains(&value),
        }
    }

    /// Monotonic: what differences on the axis are measured in.
    fn bend(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => value,
            Scale::Log => value.log10(),
            Scale::Percentile => -(1.0 - value).log10(),
        }
    }
}

impl Fitted<'_> {
    /// Place of a value, 0 to 1.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let (low, high) = (self.axis.bend(self.low), self.axis.bend(self.high));
        ((self.axis.bend(value) - low) / (high - low)).clamp(0.0, 1.0)
    }

    /// Ticks along `length`, side by side: as many as fit.
    pub(crate) fn across(&self, length: f64) -> Vec<Tick> {
        self.thinned(length, |tick| width(&tick.text) + 12.0)
    }

    /// Ticks along `length`, one above the other: as many as fit.
    pub(crate) fn up(&self, length: f64) -> Vec<Tick> {
        self.thinned(length, |_| TEXT + 8.0)
    }

    fn thinned(&self, length: f64, room: impl Fn(&Tick) -> f64) -> Vec<Tick> {
        // The origin has no unit: `0 ns` beside `5 s` would be two of them.
        let text = |value: f64| if value == 0.0 { "0".to_owned() } else { (self.axis.format)(value) };
        let tick = |value: &f64| Tick { at: self.place(*value), text: text(*value) };
        let all: Vec<Tick> = self.steps.iter().map(tick).collect();
        for every in 1..=all.len().max(1) {
            let some: Vec<Tick> = all.iter().step_by(every).cloned().collect();
            let fits = some
                .windows(2)
                .all(|pair| (pair[1].at - pair[0].at) * length >= room(&pair[0]).midpoint(room(&pair[1])));
            if fits {
                return some;
            }
        }
        all.into_iter().take(1).collect()
    }
}

fn span(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values
        .filter(|value| value.is_finite())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

/// A value that exceeds a step by less than this share of it adds none: a load of 100.001% of the line rate ends at 100%.
const BEYOND: f64 = 0.02;

/// From zero, in steps of 1, 2 or 5 times a power of ten.
fn linear(low: f64, high: f64) -> (f64, f64, Vec<f64>) {
    let (low, high) = (low.min(0.0), if high > 0.0 { high } else { 1.0 });
    let rough = (high - low) / 6.0 * (1.0 - BEYOND);
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power).into_iter().find(|s| *s >= rough).unwrap_or(rough);
    let (first, last) = ((low / step).floor() as i64, (high / step - BEYOND).ceil() as i64);
    let steps: Vec<f64> = (first..=last).map(|n| n as f64 * step).collect();
    (first as f64 * step, last as f64 * step, steps)
}

/// Whole powers of ten; of one or two of them 2 and 5 times each, too.
fn log(low: f64, high: f64) -> (f64, f64, Vec<f64>) {
    let (low, high) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let high = high.max(low + 1);
    let within: &[f64] = if high - low <= 2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let power = |n: i32| 10_f64.powi(n);
    let mut steps: Vec<f64> = (low..high).flat_map(|n| within.iter().map(move |m| m * power(n))).collect();
    steps.push(power(high));
    (power(low), power(high), steps)
}

/// 0%, 50%, then a nine more each.
fn percentile(high: f64) -> (f64, f64, Vec<f64>) {
    let nines = (-(1.0 - high).log10() - 1e-9).ceil().clamp(1.0, 12.0) as i32;
    let mut steps = vec![0.0, 0.5];
    steps.extend((1..=nines).map(|n| 1.0 - 10_f64.powi(-n)));
    (0.0, 1.0 - 10_f64.powi(-nines), steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(scale: Scale) -> Axis {
        Axis { title: "x".to_owned(), scale, format: |value| format!("{value}") }
    }

    fn texts(scale: Scale, values: &[f64]) -> Vec<String> {
        axis(scale).fit(values.iter().copied()).across(600.0).into_iter().map(|tick| tick.text).collect()
    }

    #[test]
    fn steps_are_round() {
        assert_eq!(texts(Scale::Linear, &[3.0, 11.0]), ["0", "2", "4", "6", "8", "10", "12"]);
        assert_eq!(texts(Scale::Log, &[3.0, 70_000.0]), ["1", "10", "100", "1000", "10000", "100000"]);
        assert_eq!(texts(Scale::Log, &[3.0, 3.0]), ["1", "2", "5", "10"]);
        assert_eq!(texts(Scale::Percentile, &[0.5, 0.999]), ["0", "0.5", "0.9", "0.99", "0.999"]);
    }

    #[test]
    fn an_axis_ends_where_its_values_end() {
        let percent = Axis { title: "x".to_owned(), scale: Scale::Linear, format: crate::percent };
        let ticks = percent.fit([0.1, 1.0002].into_iter()).across(600.0);
        assert_eq!((ticks[0].text.as_str(), ticks[ticks.len() - 1].text.as_str()), ("0", "100%"));
    }

    #[test]
    fn an_axis_of_zeros_still_has_two_ends() {
        for scale in [Scale::Linear, Scale::Percentile] {
            let axis = axis(scale);
            let fitted = axis.fit([0.0, 0.0].into_iter());
            assert!(fitted.place(0.0) == 0.0 && fitted.place(f64::MAX.min(0.99)) > 0.0);
        }
    }

    #[test]
    fn ticks_that_do_not_fit_are_left_out() {
        let axis = axis(Scale::Linear);
        let fitted = axis.fit([0.0, 1e12].into_iter());
        for length in [20.0, 100.0, 300.0, 1000.0] {
            let ticks = fitted.across(length);
            assert!(!ticks.is_empty());
            for pair in ticks.windows(2) {
                let gap = (pair[1].at - pair[0].at) * length;
                assert!(gap > (width(&pair[0].text) + width(&pair[1].text)) / 2.0, "{length}: {pair:?}");
            }
        }
    }
}
