//! Bars against a limit: throughput and line rate.

use super::{TEXT, WIDTH, figure, px, width};
use maud::{Markup, html};

const ROW: f64 = 30.0;
const THICK: f64 = 16.0;

/// Longer names are cut: the whole is in the bar's title.
const NAME_MAX: usize = 28;

/// A bar.
#[derive(Debug, Clone)]
pub(crate) struct Bar {
    pub(crate) name: String,
    pub(crate) value: f64,
    /// The most there can be.
    pub(crate) limit: Option<f64>,
    /// Between which values it lies.
    pub(crate) interval: Option<(f64, f64)>,
    /// Text after it.
    pub(crate) text: String,
    /// Which colour.
    pub(crate) series: usize,
}

/// Bars one below the other, each on the scale of the longest; `None` without bars. `names` are the names of the
/// colours.
pub(crate) fn bars(id: &str, title: &str, bars: &[Bar], names: &[String]) -> Option<Markup> {
    let ends = |bar: &Bar| [Some(bar.value), bar.limit, bar.interval.map(|(_, high)| high)];
    let most = bars.iter().flat_map(ends).flatten().fold(0.0, f64::max);
    if bars.is_empty() || most <= 0.0 || !most.is_finite() {
        return None;
    }
    let room = |text: fn(&Bar) -> String| bars.iter().map(|bar| width(&text(bar))).fold(0.0, f64::max) + 10.0;
    let (left, right) = (room(|bar| short(&bar.name)), WIDTH - room(|bar| bar.text.clone()));
    let length = |value: f64| (value.max(0.0) / most * (right - left)).max(1.0);
    let body = html! {
        @for (index, bar) in bars.iter().enumerate() {
            @let y = 6.0 + index as f64 * ROW;
            @let middle = y + THICK / 2.0 + TEXT / 4.0;
            text.k x=(px(left - 8.0)) y=(px(middle)) text-anchor="end" { (short(&bar.name)) }
            @if let Some(limit) = bar.limit {
                rect.limit x=(px(left)) y=(px(y)) width=(px(length(limit))) height=(px(THICK)) {}
            }
            rect class=(format!("b s{}", bar.series)) x=(px(left)) y=(px(y)) width=(px(length(bar.value)))
                height=(px(THICK)) { title { (bar.name) ": " (bar.text) } }
            @if let Some((low, high)) = bar.interval {
                @let (from, to) = (left + length(low), left + length(high));
                @let cap = THICK - 6.0;
                path.err d=(format!("M{} {}v{}m0 {}H{}m0 {}v{}", px(from), px(y + 3.0), px(cap), px(-cap / 2.0), px(to),
                    px(-cap / 2.0), px(cap))) {}
            }
            text.k x=(px(right + 8.0)) y=(px(middle)) { (bar.text) }
        }
    };
    let legend = html! {
        ul.legend {
            @for (index, name) in names.iter().enumerate() {
                li { svg viewBox="0 0 24 12" width="24" height="12" aria-hidden="true" {
                    rect class=(format!("b s{index}")) x="1" y="1" width="22" height="10" {}
                } " " (name) }
            }
            @if bars.iter().any(|bar| bar.limit.is_some()) {
                li { svg viewBox="0 0 24 12" width="24" height="12" aria-hidden="true" {
                    rect.limit x="1" y="1" width="22" height="10" {}
                } " theoretical maximum (line rate)" }
            }
            @if bars.iter().any(|bar| bar.interval.is_some()) {
                li { svg viewBox="0 0 24 12" width="24" height="12" aria-hidden="true" {
                    path.err d="M2 1v10m0 -5H22m0 -5v10" {}
                } " between which values it lies" }
            }
        }
    };
    Some(figure(id, title, bars.len() as f64 * ROW + 6.0, &body, &legend))
}

fn short(name: &str) -> String {
    if name.chars().count() <= NAME_MAX {
        return name.to_owned();
    }
    name.chars().take(NAME_MAX - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_need_something_to_show() {
        let bar = |value| Bar {
            name: "64B".into(),
            value,
            limit: None,
            interval: None,
            text: "x".into(),
            series: 0,
        };
        assert!(bars("c", "t", &[], &[]).is_none());
        assert!(bars("c", "t", &[bar(0.0)], &[]).is_none());
        assert!(bars("c", "t", &[bar(f64::NAN)], &[]).is_none());
        assert!(bars("c", "t", &[bar(1.0)], &[]).is_some());
    }
}
