//! Lines: loss and latency over load, percentiles, intervals over time.

use super::axis::Fitted;
use super::{Axis, SERIES_MAX, TEXT, WIDTH, figure, legend, marker, px, width};
use maud::{Markup, html};

const HEIGHT: f64 = 320.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 46.0;
/// More points than these have no marks: they would touch.
const MARKS_MAX: usize = 40;

/// Points with a name.
#[derive(Debug, Clone)]
pub(crate) struct Series {
    pub(crate) name: String,
    pub(crate) points: Vec<(f64, f64)>,
}

/// Where the plot lies in the drawing.
struct Frame<'a> {
    left: f64,
    right: f64,
    x: Fitted<'a>,
    y: Fitted<'a>,
}

impl Frame<'_> {
    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let bottom = HEIGHT - BOTTOM;
        (self.left + self.x.place(x) * (self.right - self.left), bottom - self.y.place(y) * (bottom - TOP))
    }
}

/// A chart of series; `None` if no point has a place on the axes. Of more series than can be told apart the first are
/// drawn.
pub(crate) fn lines(id: &str, title: &str, x: &Axis, y: &Axis, series: &[Series]) -> Option<Markup> {
    let drawn: Vec<Series> = series
        .iter()
        .map(|one| Series {
            name: one.name.clone(),
            points: one.points.iter().copied().filter(|(a, b)| x.has(*a) && y.has(*b)).collect(),
        })
        .filter(|one| !one.points.is_empty())
        .take(SERIES_MAX)
        .collect();
    if drawn.is_empty() {
        return None;
    }
    let points = || drawn.iter().flat_map(|one| &one.points);
    let (fitted_x, fitted_y) = (x.fit(points().map(|p| p.0)), y.fit(points().map(|p| p.1)));
    let up = fitted_y.up(HEIGHT - TOP - BOTTOM);
    let left = up.iter().map(|tick| width(&tick.text)).fold(30.0, f64::max) + 12.0;
    let last = fitted_x.across(WIDTH - left - 36.0).last().map_or(0.0, |tick| width(&tick.text) / 2.0);
    let frame = Frame { left, right: WIDTH - last.max(10.0) - 8.0, x: fitted_x, y: fitted_y };
    let body = html! {
        (grid(&frame, &up, x, y))
        @for (index, one) in drawn.iter().enumerate() { (curve(&frame, index, one, x, y)) }
    };
    let names = || drawn.iter().map(|one| one.name.as_str());
    let legend = if names().any(|name| !name.is_empty()) {
        legend(names())
    } else {
        html! {}
    };
    Some(figure(id, title, HEIGHT, &body, &legend))
}

fn grid(frame: &Frame<'_>, up: &[super::axis::Tick], x: &Axis, y: &Axis) -> Markup {
    let (left, right, bottom) = (frame.left, frame.right, HEIGHT - BOTTOM);
    html! {
        text x="0" y=(px(TEXT - 4.0)) class="t" { (y.title) }
        @for tick in up {
            @let at = bottom - tick.at * (bottom - TOP);
            path.g d=(format!("M{} {}H{}", px(left), px(at), px(right))) {}
            text.k x=(px(left - 8.0)) y=(px(at + 4.0)) text-anchor="end" { (tick.text) }
        }
        @for tick in frame.x.across(right - left) {
            @let at = left + tick.at * (right - left);
            path.g d=(format!("M{} {}V{}", px(at), px(TOP), px(bottom + 4.0))) {}
            text.k x=(px(at)) y=(px(bottom + 18.0)) text-anchor="middle" { (tick.text) }
        }
        text.t x=(px(left.midpoint(right))) y=(px(HEIGHT - 6.0)) text-anchor="middle" { (x.title) }
    }
}

fn curve(frame: &Frame<'_>, index: usize, one: &Series, x: &Axis, y: &Axis) -> Markup {
    let mut path = String::new();
    for (number, point) in one.points.iter().enumerate() {
        let (x, y) = frame.place(*point);
        path += &format!("{}{} {}", if number == 0 { "M" } else { "L" }, px(x), px(y));
    }
    html! {
        path class=(format!("l s{index}")) d=(path) {}
        @if one.points.len() <= MARKS_MAX {
            @for point in &one.points {
                @let at = frame.place(*point);
                @let name = if one.name.is_empty() { String::new() } else { format!("{}: ", one.name) };
                (marker(index, at.0, at.1, &format!("{name}{}, {}", (x.format)(point.0), (y.format)(point.1))))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Scale;

    fn axis(scale: Scale) -> Axis {
        Axis { title: "t".to_owned(), scale, format: |value| format!("{value}") }
    }

    fn chart(points: Vec<(f64, f64)>, scale: Scale) -> Option<String> {
        let series = Series { name: "<b>&\"".to_owned(), points };
        lines("c", "title", &axis(Scale::Linear), &axis(scale), &[series]).map(|m| m.into_string())
    }

    #[test]
    fn no_points_no_chart() {
        assert_eq!(chart(vec![], Scale::Linear), None);
        assert_eq!(chart(vec![(1.0, 0.0), (2.0, -1.0)], Scale::Log), None);
        assert_eq!(chart(vec![(f64::NAN, 1.0), (1.0, f64::INFINITY)], Scale::Linear), None);
    }

    #[test]
    fn points_lie_within_the_drawing() {
        let points = vec![(0.0, 0.0), (5.0, 1e9), (1e12, 3.0)];
        let text = chart(points, Scale::Linear).unwrap();
        assert_eq!(text.matches("class=\"m s0\"").count(), 4, "three points and the legend's");
        assert!(!text.contains("NaN") && !text.contains("inf"), "{text}");
    }

    #[test]
    fn names_are_escaped() {
        let text = chart(vec![(1.0, 1.0)], Scale::Linear).unwrap();
        assert!(text.contains("&lt;b&gt;&amp;&quot;") && !text.contains("<b>"));
    }
}
