//! Lines: loss and latency over load, percentiles, intervals over time.

use super::axis::{Fitted, Tick};
use super::{Axis, Explained, SERIES_MAX, TEXT, WIDTH, figure, legend, marker, px, width};
use maud::{Markup, html};

/// Height of a plot in a separate drawing, with the room for its titles.
const HEIGHT: f64 = 320.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 46.0;
/// Height of the strip below the x axis that shows when the tester was disturbed, and the room around it.
const STRIP: f64 = 8.0;
const STRIP_ROOM: f64 = 12.0;
/// Room between two plots, for the lowest figure of one and the title of the next.
const BETWEEN: f64 = 18.0;
/// More points than these have no marks: they would touch.
const MARKS_MAX: usize = 40;

/// Points with a name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Series {
    pub(crate) name: String,
    /// Points of the line.
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

/// A value of the x axis that is marked in all plots, and what it is.
#[derive(Debug, Clone)]
pub(crate) struct Mark {
    pub(crate) at: f64,
    pub(crate) about: String,
}

/// One of several plots over the same x axis.
pub(crate) struct Panel {
    pub(crate) y: Axis,
    pub(crate) series: Vec<Series>,
    /// Colour, dash and marker of its first series; that of the others follows.
    pub(crate) look: usize,
    /// Height of the plot, user units.
    pub(crate) height: f64,
}

/// Where a plot lies in the drawing.
struct Frame<'a> {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: &'a Fitted<'a>,
    y: Fitted<'a>,
}

impl Frame<'_> {
    fn across(&self, x: f64) -> f64 {
        self.left + self.x.place(x) * (self.right - self.left)
    }

    fn place(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.across(x), self.bottom - self.y.place(y) * (self.bottom - self.top))
    }
}

/// A chart of series; `None` if no point has a place on the axes. Of more series than can be distinguished the first
/// are drawn.
pub(crate) fn lines(id: &str, title: &str, x: &Axis, y: &Axis, series: &[Series]) -> Option<Markup> {
    lines_over(id, title, x, y, series, &[])
}

/// The same over a strip of bands.
pub(crate) fn lines_over(
    id: &str,
    title: &str,
    x: &Axis,
    y: &Axis,
    series: &[Series],
    bands: &[Band],
) -> Option<Markup> {
    let y = Axis { title: y.title.clone(), ..*y };
    let panel = Panel { y, series: series.to_vec(), look: 0, height: HEIGHT - TOP - BOTTOM };
    panels(id, title, x, vec![panel], bands, &[])
}

/// Plots one above the other over one x axis; a plot without a point is left out, `None` if there is none.
pub(crate) fn panels(
    id: &str,
    title: &str,
    x: &Axis,
    all: Vec<Panel>,
    bands: &[Band],
    marks: &[Mark],
) -> Option<Markup> {
    let all: Vec<Panel> =
        all.into_iter().map(|panel| drawn(x, panel)).filter(|p| !p.series.is_empty()).collect();
    // Also of trials that were all disturbed: a chart without a line.
    let points = |panel: &Panel| -> Vec<(f64, f64)> {
        let of = |one: &Series| {
            let disturbed = one.disturbed.iter().map(|(x, y, _)| (*x, *y));
            one.points.iter().chain(&one.singles).copied().chain(disturbed).collect::<Vec<_>>()
        };
        panel.series.iter().flat_map(of).collect()
    };
    all.last()?;
    let marks: Vec<&Mark> = marks.iter().filter(|mark| x.has(mark.at)).collect();
    let across = all.iter().flat_map(points).map(|point| point.0).chain(marks.iter().map(|mark| mark.at));
    let fitted = x.fit(across);
    let ups: Vec<Fitted<'_>> =
        all.iter().map(|panel| panel.y.fit(points(panel).into_iter().map(|p| p.1))).collect();
    let ticks: Vec<Vec<Tick>> = ups.iter().zip(&all).map(|(up, panel)| up.up(panel.height)).collect();
    let left = ticks.iter().flatten().map(|tick| width(&tick.text)).fold(30.0, f64::max) + 12.0;
    let end = fitted.across(WIDTH - left - 36.0).last().map_or(0.0, |tick| width(&tick.text) / 2.0);
    let right = WIDTH - end.max(10.0) - 8.0;
    let mut top = 0.0;
    let mut frames = Vec::new();
    for (panel, y) in all.iter().zip(ups) {
        let begins = if frames.is_empty() { 0.0 } else { top + BETWEEN } + TOP;
        top = begins + panel.height;
        frames.push(Frame { left, right, top: begins, bottom: top, x: &fitted, y });
    }
    let strip = if bands.is_empty() { 0.0 } else { STRIP_ROOM };
    let height = top + BOTTOM + strip;
    let body = html! {
        @for ((frame, panel), up) in frames.iter().zip(&all).zip(&ticks) {
            (grid(frame, up, &panel.y))
            @for mark in &marks {
                path.mark d=(format!("M{} {}V{}", px(frame.across(mark.at)), px(frame.top), px(frame.bottom))) {
                    title { (mark.about) }
                }
            }
        }
        @for tick in fitted.across(right - left) {
            @let at = left + tick.at * (right - left);
            text.k x=(px(at)) y=(px(top + strip + 18.0)) text-anchor="middle" { (tick.text) }
        }
        text.t x=(px(left.midpoint(right))) y=(px(height - 6.0)) text-anchor="middle" { (x.title) }
        @if let Some(frame) = frames.last() { @for band in bands { (shade(frame, band)) } }
        @for (frame, panel) in frames.iter().zip(&all) {
            @for (index, one) in panel.series.iter().enumerate() { (curve(frame, panel.look + index, one, x, &panel.y)) }
        }
    };
    let mut names: Vec<(usize, &str)> = Vec::new();
    for (look, one) in
        all.iter().flat_map(|panel| panel.series.iter().enumerate().map(|(n, one)| (panel.look + n, one)))
    {
        if !names.contains(&(look, one.name.as_str())) {
            names.push((look, &one.name));
        }
    }
    let series = || all.iter().flat_map(|panel| &panel.series);
    let more = Explained {
        singles: series().any(|one| !one.singles.is_empty()),
        disturbed: series().any(|one| !one.disturbed.is_empty()),
        bands: !bands.is_empty(),
        marks: marks.iter().map(|mark| mark.about.as_str()).collect(),
    };
    Some(figure(id, title, height, &body, &legend(&names, &more)))
}

/// A plot with the points that have a place on its axes.
fn drawn(x: &Axis, panel: Panel) -> Panel {
    let has = |point: &(f64, f64)| x.has(point.0) && panel.y.has(point.1);
    let series = panel.series.iter().map(|one| Series {
        name: one.name.clone(),
        points: one.points.iter().copied().filter(has).collect(),
        singles: one.singles.iter().copied().filter(has).collect(),
        disturbed: one.disturbed.iter().filter(|(a, b, _)| has(&(*a, *b))).cloned().collect(),
    });
    let series =
        series.filter(|one| !one.points.is_empty() || !one.disturbed.is_empty()).take(SERIES_MAX).collect();
    Panel { series, ..panel }
}

fn grid(frame: &Frame<'_>, up: &[Tick], y: &Axis) -> Markup {
    let Frame { left, right, top, bottom, .. } = *frame;
    html! {
        text x="0" y=(px(top - TOP + TEXT - 4.0)) class="t" { (y.title) }
        @for tick in up {
            @let at = bottom - tick.at * (bottom - top);
            path.g d=(format!("M{} {}H{}", px(left), px(at), px(right))) {}
            text.k x=(px(left - 8.0)) y=(px(at + 4.0)) text-anchor="end" { (tick.text) }
        }
        @for tick in frame.x.across(right - left) {
            @let at = left + tick.at * (right - left);
            path.g d=(format!("M{} {}V{}", px(at), px(top), px(bottom + 4.0))) {}
        }
    }
}

/// A band, in the strip below the axis; one too narrow to see is widened.
fn shade(frame: &Frame<'_>, band: &Band) -> Markup {
    let (from, to) = (frame.across(band.from), frame.across(band.to));
    let from = from.min(to - 3.0).max(frame.left);
    html! {
        rect.band x=(px(from)) y=(px(frame.bottom + 4.0)) width=(px((to - from).max(3.0))) height=(px(STRIP)) {
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
    let look = index % SERIES_MAX;
    html! {
        @for point in &one.singles {
            @let at = frame.place(*point);
            circle class=(format!("o s{look}")) cx=(px(at.0)) cy=(px(at.1)) r="3" {
                title { "one trial: " ((x.format)(point.0)) ", " ((y.format)(point.1)) }
            }
        }
        @if !path.is_empty() { path class=(format!("l s{look}")) d=(path) {} }
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
            disturbed: vec![(10.0, 3.0, "worker 0 stalled".to_owned())],
            ..Series::default()
        };
        let band = Band { from: 4.0, to: 4.0001, about: "it <slept>".to_owned() };
        let axis = axis(Scale::Linear);
        let text = lines_over("c", "title", &axis, &axis, &[series], &[band]).unwrap().into_string();
        assert_eq!((text.matches("<circle").count(), text.matches("<rect class=\"band\"").count()), (3, 2));
        assert!(text.contains("it &lt;slept&gt;") && text.contains("worker 0 stalled"));
        for word in ["tester disturbed", "single trials"] {
            assert!(text.contains(word), "{word}");
        }
        let width: f64 = text.split("width=\"").nth(1).unwrap().split('"').next().unwrap().parse().unwrap();
        assert!(width >= 3.0, "too narrow to see: {width}");
    }

    #[test]
    fn plots_share_an_x_axis_and_its_marks() {
        let series = |high: f64| vec![Series { points: vec![(0.0, 0.0), (10.0, high)], ..Series::default() }];
        let plot = |look, high| Panel { y: axis(Scale::Linear), series: series(high), look, height: 100.0 };
        let mark = Mark { at: 5.0, about: "the <knee>".to_owned() };
        let x = Axis { title: "load".to_owned(), scale: Scale::Linear, format: |value| format!("{value}") };
        let empty = Panel { series: Vec::new(), ..plot(2, 0.0) };
        let both = panels("c", "title", &x, vec![plot(0, 1.0), empty, plot(4, 9.0)], &[], &[mark]).unwrap();
        let text = both.into_string();
        assert_eq!((text.matches(">load<").count(), text.matches("<path class=\"mark\"").count()), (1, 3));
        assert!(text.contains("l s0") && text.contains("l s4") && text.contains("the &lt;knee&gt;"));
        assert!(panels("c", "title", &x, Vec::new(), &[], &[]).is_none());
    }

    #[test]
    fn names_are_escaped() {
        let text = chart(vec![(1.0, 1.0)], Scale::Linear).unwrap();
        assert!(text.contains("&lt;b&gt;&amp;&quot;") && !text.contains("<b>"));
    }
}
