//! Charts as SVG: lines over an axis, bars against a limit.
//!
//! Colours come from the page's style sheet, by class, so that they follow dark mode and print. Series differ by
//! colour, dash and marker. The legend is HTML outside the SVG: it wraps where there is no room.
//!
//! Invariants: a chart without a point is `None`; texts do not overlap, because ticks are thinned out until their
//! estimated widths fit.

mod axis;
mod bar;
mod line;

pub(crate) use axis::{Axis, Scale};
pub(crate) use bar::{Bar, bars};
pub(crate) use line::{Band, Mark, Panel, Series, lines, lines_over, panels};

use maud::{Markup, html};

/// Width of every chart, user units.
const WIDTH: f64 = 720.0;
/// Room one character takes at the charts' font size: wide enough for any sans-serif font.
const CHARACTER: f64 = 7.2;
/// Height of a line of text.
const TEXT: f64 = 16.0;
/// Maximum number of distinguishable series.
pub(crate) const SERIES_MAX: usize = 8;

/// A position, short.
fn px(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// Estimated width of a text.
fn width(text: &str) -> f64 {
    text.chars().count() as f64 * CHARACTER
}

/// An SVG with its title for those who can't see it, the caption, and the legend.
fn figure(id: &str, title: &str, height: f64, body: &Markup, legend: &Markup) -> Markup {
    html! {
        figure {
            figcaption { (title) }
            (legend)
            div.chart role="group" tabindex="0" aria-label=(title) {
                svg viewBox=(format!("0 0 {} {}", px(WIDTH), px(height))) role="img" aria-labelledby=(id) {
                    title id=(id) { (title) }
                    (body)
                }
            }
        }
    }
}

/// The mark of series `index`, around a point.
fn marker(index: usize, x: f64, y: f64, about: &str) -> Markup {
    let (x0, y0) = (px(x), px(y));
    let class = format!("m s{}", index % SERIES_MAX);
    let path = match index % 4 {
        1 => format!("M{} {}h7v7h-7z", px(x - 3.5), px(y - 3.5)),
        2 => format!("M{x0} {}l4.5 8h-9z", px(y - 4.5)),
        3 => format!("M{x0} {}l5 5l-5 5l-5 -5z", px(y - 5.0)),
        _ => format!("M{} {y0}a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", px(x - 4.0)),
    };
    html! { path class=(class) d=(path) { @if !about.is_empty() { title { (about) } } } }
}

/// Legend entries besides the names of the series.
struct Explained<'a> {
    singles: bool,
    disturbed: bool,
    bands: bool,
    marks: Vec<&'a str>,
}

/// Names of series, each with the number of its colour, dash and marker, and other drawn elements. Nothing if there is
/// nothing to distinguish.
fn legend(names: &[(usize, &str)], more: &Explained<'_>) -> Markup {
    let named = names.iter().any(|(_, name)| !name.is_empty());
    html! {
        @if named || more.singles || more.disturbed || more.bands || !more.marks.is_empty() {
            ul.legend {
                @for (look, name) in names.iter().filter(|(_, name)| !name.is_empty()) {
                    li {
                        svg viewBox="0 0 36 12" width="36" height="12" aria-hidden="true" {
                            path class=(format!("l s{}", look % SERIES_MAX)) d="M0 6H36" {}
                            (marker(*look, 18.0, 6.0, ""))
                        }
                        " " (name)
                    }
                }
                @for mark in &more.marks {
                    li {
                        svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true" { path.mark d="M6 0V12" {} }
                        " " (mark)
                    }
                }
                @if more.singles {
                    li {
                        svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true" { circle.o.s0 cx="6" cy="6" r="3" {} }
                        " single trials; the line is their median"
                    }
                }
                @if more.disturbed {
                    li {
                        svg viewBox="0 0 12 12" width="12" height="12" aria-hidden="true" { path.x d="M2 2l8 8m0 -8l-8 8" {} }
                        " tester disturbed"
                    }
                }
                @if more.bands {
                    li {
                        svg viewBox="0 0 24 12" width="24" height="12" aria-hidden="true" {
                            rect.band x="1" y="2" width="22" height="8" {}
                        }
                        " tester disturbed"
                    }
                }
            }
        }
    }
}
