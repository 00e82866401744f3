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
#[derive(Debug, Clone, Default)]
pub(crate) struct Series {
    pub(crate) name: String,
    /// What the line goes through.
    pub(crate) points: Vec<(f64, f64)>,
    /// Single trials around the line.
    pub(crate) singles: Vec<(f64, f64)>,
    /// Trials in which the tester was disturbed, and why.
    pub(crate) disturbed: Vec<(f64, f64, String)>,
}

/// A part of the x axis in which the tester was disturbed.
#[derive(Debug, Clone)]
pub(crate) struct Band {
    pub(crate) from: f64,
    pub(crate) to: f64,
    pub(crate) about: String,
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
    lines_over(id, title, x, y, series, &[])
}

/// The same over bands.
pub(crate) fn lines_over(
    id: &str,
    title: &str,
    x: &Axis,
    y: &Axis,
    series: &[Series],
    bands: &[Band],
) -> Option<Markup> {
    let has = |point: &(f64, f64)| x.has(point.0) && y.has(point.1);
    let drawn: Vec<Series> = series
        .iter()
        .map(|one| Series {
            name: one.name.clone(),
            points: one.points.iter().copied().filter(has).collect(),
            singles: one.singles.iter().copied().filter(has).collect(),
            disturbed: one.disturbed.iter().filter(|(a, b, _)| has(&(*a, *b))).cloned().collect(),
        })
        .filter(|one| !one.points.is_empty() || !one.disturbed.is_empty())
        .take(SERIES_MAX)
        .collect();
    if drawn.is_empty() {
        return None;
    }
    // Also of trials that were all disturbed: a chart without a line.
    let points = || {
        drawn.iter().flat_map(|one| {
            let disturbed = one.disturbed.iter().map(|(x, y, _)| (*x, *y));
            one.points.iter().chain(&one.singles).copied().chain(disturbed)
        })
    };
    let (fitted_x, fitted_y) = (x.fit(points().map(|p| p.0)), y.fit(points().map(|p| p.1)));
    let up = fitted_y.up(HEIGHT - TOP - BOTTOM);
    let left = up.iter().map(|tick| width(&tick.text)).fold(30.0, f64::max) + 12.0;
    let last = fitted_x.across(WIDTH - left - 36.0).last().map_or(0.0, |tick| width(&tick.text) / 2.0);
    let frame = Frame { left, right: WIDTH - last.max(10.0) - 8.0, x: fitted_x, y: fitted_y };
    let body = html! {
        @for band in bands { (shade(&frame, band)) }
        (grid(&frame, &up, x, y))
        @for (index, one) in drawn.iter().enumerate() { (curve(&frame, index, one, x, y)) }
    };
    let names = drawn.iter().map(|one| one.name.as_str());
    let has_singles = drawn.iter().any(|one| !one.singles.is_empty());
    let has_disturbed = drawn.iter().any(|one| !one.disturbed.is_empty());
    let legend = legend(names, has_singles, has_disturbed, !bands.is_empty());
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

/// A band; one too narrow to see is widened.
fn shade(frame: &Frame<'_>, band: &Band) -> Markup {
    let at = |x: f64| frame.left + frame.x.place(x).clamp(0.0, 1.0) * (frame.right - frame.left);
    let (from, to) = (at(band.from), at(band.to));
    let from = from.min(to - 3.0).max(frame.left);
    html! {
        rect.band x=(px(from)) y=(px(TOP)) width=(px((to - from).max(3.0))) height=(px(HEIGHT - BOTTOM - TOP)) {
            title { (band.about) }
        }
    }
}

fn curve(frame: &Frame<'_>, index: usize, one: &Series, x: &Axis, y: &Axis) -> Markup {
    let mut path = String::new();
    for (number, point) in one.points.iter().enumerate() {
        let (x, y) = frame.place(*point);
        path += &format!("{}{} {}", if number == 0 { "M" } else { "L" }, px(x), px(y));
    }
    html! {
        @for point in &one.singles {
            @let at = frame.place(*point);
            circle class=(format!("o s{index}")) cx=(px(at.0)) cy=(px(at.1)) r="3" {
                title { "one trial: " ((x.format)(point.0)) ", " ((y.format)(point.1)) }
            }
        }
        @if !path.is_empty() { path class=(format!("l s{index}")) d=(path) {} }
        @for (a, b, why) in &one.disturbed {
            @let (a, b) = frame.place((*a, *b));
            path.x d=(format!("M{} {}l9 9m0 -9l-9 9", px(a - 4.5), px(b - 4.5))) { title { (why) } }
        }
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
        let series = Series { name: "<b>&\"".to_owned(), points, ..Series::default() };
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
    fn what_disturbed_the_tester_is_marked_and_explained() {
        let series = Series {
            points: vec![(0.0, 1.0), (10.0, 2.0)],
            singles: vec![(10.0, 1.0), (10.0, 3.0)],
            disturbed: vec![(10.0, 3.0, "worker 0 stood still".to_owned())],
            ..Series::default()
        };
        let band = Band { from: 4.0, to: 4.0001, about: "it <slept>".to_owned() };
        let axis = axis(Scale::Linear);
        let text = lines_over("c", "title", &axis, &axis, &[series], &[band]).unwrap().into_string();
        assert_eq!((text.matches("<circle").count(), text.matches("<rect class=\"band\"").count()), (3, 2));
        assert!(text.contains("it &lt;slept&gt;") && text.contains("worker 0 stood still"));
        for word in ["tester disturbed", "single trials"] {
            assert!(text.contains(word), "{word}");
        }
        let width: f64 = text.split("width=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
        assert!(width >= 3.0, "too narrow to see: {width}");
    }

    #[test]
    fn names_are_escaped() {
        let text = chart(vec![(1.0, 1.0)], Scale::Linear).unwrap();
        assert!(text.contains("&lt;b&gt;&amp;&quot;") && !text.contains("<b>"));
    }
}
