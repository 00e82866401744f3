//! Several campaigns on one page.

use super::answer::{Mood, headline};
use super::curves::{
    Of, Quantiles, all_have_lines, curve, frames, load, load_axis, meaningful, percentile_chart, rates_found,
};
use super::machine::facts;
use super::tables::{Column, table};
use super::{Section, page, words};
use crate::chart::{Axis, Bar, SERIES_MAX, Series, bars, lines};
use crate::{Cell, Comparison, Loaded, Matrix, Summary, TrialRow, compare, percent, quantity};
use maud::{Markup, html};
use units::signed_percent;

/// Number of frame lengths with separate charts.
const CHARTS_MAX: usize = 8;

/// The report of several campaigns side by side; the first is what the others are compared with. `down` and `across`
/// are the keys of tags that make tables: `dut` and `config` for routers by configurations.
pub fn comparison(campaigns: &[Loaded], down: &str, across: &str) -> String {
    let comparison = compare(campaigns);
    let names = comparison.names.clone();
    let matrices = comparison.matrices(down, across);
    let sections = [
        Section::new("answer", "Summary", Some(answer(campaigns, &comparison, &names))),
        Section::new("findings", "Findings side by side", findings(&comparison, &names)),
        Section::new("tables", "By tags", matrix_tables(&matrices, down, across)),
        Section::new("throughput", "Rates side by side", throughput(campaigns, &names)),
        Section::new("load", "Loss and latency over load", over_load(campaigns, &names)),
        Section::new("percentiles", "Latency percentiles", percentiles(campaigns, &names)),
        Section::folded("environment", "Differences", differences(campaigns, &names)),
        Section::folded("reproduce", "Reproduction", Some(reproduce(campaigns, &names))),
    ];
    let about = html! { p.soft { (campaigns.len()) " campaigns; differences are from the first" } };
    page(&names.join(" · "), &about, &sections.into_iter().flatten().collect::<Vec<_>>())
}

fn answer(campaigns: &[Loaded], comparison: &Comparison, names: &[String]) -> Markup {
    let verdicts: Vec<(Mood, String)> = campaigns.iter().map(headline).collect();
    let worst = verdicts.iter().map(|(mood, _)| *mood).max().unwrap_or(Mood::Bad);
    let title = match worst {
        Mood::Good => "All campaigns are valid.",
        Mood::Warn => "Some results are in doubt.",
        Mood::Bad => "Some results are not valid: do not compare them.",
    };
    html! {
        div class=(format!("verdict {}", worst.class())) role="note" {
            p { (title) }
            ul {
                @for (index, (name, (_, text))) in names.iter().zip(&verdicts).enumerate() {
                    li { strong { (name) } ": " (text)
                        @if let Some(reason) = &comparison.campaigns[index].reason { " " span.soft { "(" (reason) ")" } }
                    }
                }
            }
        }
        @for sentence in &comparison.sentences { p.answer { (sentence) } }
        @if !comparison.sentences.is_empty() {
            p.soft {
                "One is faster than the other only where the intervals of both do not overlap. An interval reaches from the largest "
                "value that was reached to the smallest that was not, by all trials, and covers two standard deviations of "
                "repeats (some 95% of them). 'At least' is the distance between the intervals."
            }
        }
    }
}

fn cell(cell: &Cell, unit: &str) -> Markup {
    let difference = cell.difference.and_then(|d| Some((d.ratio?, d.beyond_noise)));
    html! {
        @match cell.value { Some(value) => (quantity(value, unit)), None => "none" }
        @match (cell.lower, cell.upper) {
            (Some(lower), Some(upper)) => small { (quantity(lower, unit)) " – " (quantity(upper, unit)) },
            (Some(lower), None) => small { "at least " (quantity(lower, unit)) },
            (None, Some(upper)) => small { "below " (quantity(upper, unit)) },
            (None, None) => {}
        }
        @if cell.doubt.is_some() { small.bad { "in doubt" } }
        @if let Some((ratio, beyond)) = difference {
            @match beyond {
                Some(true) => small { strong { (signed_percent(ratio)) } },
                Some(false) => small { (signed_percent(ratio)) ", no difference shown" },
                None => small { (signed_percent(ratio)) ", interval unknown" },
            }
        }
    }
}

fn findings(comparison: &Comparison, names: &[String]) -> Option<Markup> {
    let rows = &comparison.rows[..];
    let mut columns = vec![
        Column::text("frames", rows, |row| Some(row.frame.clone())),
        Column::text("goal", rows, |row| Some(words::name(&row.goal))),
    ];
    for (index, name) in names.iter().enumerate() {
        let cells = rows.iter().map(|row| row.cells[index].as_ref().map(|c| cell(c, &row.unit))).collect();
        let doubt = doubt(&comparison.campaigns[index]);
        columns.push(Column { head: format!("{name}{doubt}"), is_text: false, cells });
    }
    let caption = "Values, the interval each lies in, and the difference from the first; bold: the intervals do not overlap. A \
                   dagger (†) marks campaigns with trials that are not valid or limited by the tester.";
    table(caption, &columns)
}

fn doubt(summary: &Summary) -> &'static str {
    if summary.invalid + summary.generator_limited > 0 { " †" } else { "" }
}

fn matrix_tables(matrices: &[Matrix], down: &str, across: &str) -> Option<Markup> {
    let one = |matrix: &Matrix| {
        let mut columns = vec![Column::text(down, &matrix.rows, |name| Some(name.clone()))];
        for (index, name) in matrix.columns.iter().enumerate() {
            let own = |line: &Vec<Option<Cell>>| {
                line[index].as_ref().map(|c| cell(&Cell { difference: None, ..c.clone() }, &matrix.unit))
            };
            columns.push(Column {
                head: name.clone(),
                is_text: false,
                cells: matrix.cells.iter().map(own).collect(),
            });
        }
        let title = [matrix.frame.clone(), words::name(&matrix.goal), format!("{down} by {across}")];
        let title: Vec<String> = title.into_iter().filter(|part| !part.is_empty()).collect();
        table(&title.join(", "), &columns)
    };
    let tables: Vec<Markup> = matrices.iter().filter_map(one).collect();
    (!tables.is_empty()).then(|| html! { div.flow { @for table in &tables { (table) } } })
}

/// The first rate goal of each frame length, by campaign.
fn throughput(campaigns: &[Loaded], names: &[String]) -> Option<Markup> {
    let found: Vec<Vec<crate::Finding>> = campaigns.iter().map(rates_found).collect();
    let goal = found.iter().flatten().next()?.goal.clone();
    let mut frames: Vec<&str> = Vec::new();
    for finding in found.iter().flatten().filter(|finding| finding.goal == goal) {
        if !frames.contains(&finding.frame.as_str()) {
            frames.push(&finding.frame);
        }
    }
    let mut all = Vec::new();
    for frame in frames.iter().take(CHARTS_MAX) {
        for (index, own) in found.iter().enumerate().take(SERIES_MAX) {
            let Some(finding) = own.iter().find(|f| f.goal == goal && f.frame == *frame) else { continue };
            let Some(value) = finding.value else { continue };
            let share = finding.line.filter(|line| *line > 0.0);
            let share = share.map_or_else(String::new, |line| format!(" ({})", percent(value / line)));
            let name = if frame.is_empty() { names[index].clone() } else { (*frame).to_owned() };
            let text = format!("{}{share}", quantity(value, "pps"));
            all.push(Bar {
                name,
                value,
                limit: finding.line,
                interval: finding.lower.zip(finding.upper),
                text,
                series: index,
            });
        }
    }
    let drawn = &names[..names.len().min(SERIES_MAX)];
    bars("c-throughput", &format!("{} side by side", words::name(&goal)), &all, drawn)
}

fn over_load(campaigns: &[Loaded], names: &[String]) -> Option<Markup> {
    let trials: Vec<Vec<&TrialRow>> = campaigns.iter().map(meaningful).collect();
    let share = trials.iter().all(|own| all_have_lines(own));
    let everything: Vec<&TrialRow> = trials.iter().flatten().copied().collect();
    let x = load_axis(share);
    let mut charts = Vec::new();
    for (number, frame) in frames(&everything).into_iter().enumerate().take(CHARTS_MAX) {
        let series = |of: Of| -> Vec<Series> {
            let one = |(own, name): (&Vec<&TrialRow>, &String)| {
                let own: Vec<&TrialRow> = own.iter().copied().filter(|trial| trial.frame == frame).collect();
                Series { name: name.clone(), ..curve(&own, |trial| load(trial, share), of) }
            };
            trials.iter().zip(names).map(one).filter(|series| series.points.len() > 1).collect()
        };
        let of_frame = if frame.is_empty() { String::new() } else { format!(", {frame}") };
        let ns: fn(f64) -> String = |value| quantity(value, "ns");
        let mut draw = |what: &str, title: &str, y: &str, format, series: &[Series]| {
            let values = series.iter().flat_map(|one| one.points.iter().map(|point| point.1));
            let y = Axis::suited(y, format, values);
            let title = format!("{title} over offered load{of_frame}");
            charts.extend(lines(&format!("c-{what}-{number}"), &title, &x, &y, series));
        };
        draw("loss", "Frame loss", "frame loss", percent, &series(|f| f.loss_ratio));
        let (title, y) = ("Latency of 99% of the packets", "one-way delay, 99%");
        draw("p99", title, y, ns, &series(|f| f.latency_p99_ns));
    }
    (!charts.is_empty()).then(|| html! { @for chart in &charts { (chart) } })
}

/// Latency of single runs by percentile; campaigns of many trials have their own reports.
fn percentiles(campaigns: &[Loaded], names: &[String]) -> Option<Markup> {
    let one = |(loaded, name): (&Loaded, &String)| {
        let [trial] = &loaded.trials[..] else { return None };
        Some(Series {
            name: name.clone(),
            points: Quantiles::of_trial(&trial.figures).points(),
            ..Series::default()
        })
    };
    let series: Vec<Series> =
        campaigns.iter().zip(names).filter_map(one).filter(|series| !series.points.is_empty()).collect();
    percentile_chart("c-percentiles", "Latency percentiles, the largest of the streams'", "packets", &series)
}

/// Facts about machines and runs that are not the same everywhere.
fn differences(campaigns: &[Loaded], names: &[String]) -> Option<Markup> {
    let all: Vec<Vec<(String, String)>> = campaigns
        .iter()
        .map(|loaded| {
            let campaign = &loaded.campaign;
            let own = [
                ("method", campaign.method.clone()),
                ("started", campaign.started.clone()),
                ("version", campaign.version.clone()),
                ("seed", campaign.seed.to_string()),
                ("profile_sha256", campaign.profile_sha256.clone()),
                ("tags", campaign.tags.join(", ")),
            ];
            let own = own.into_iter().map(|(name, value)| (name.to_owned(), value));
            own.chain(facts(loaded)).collect()
        })
        .collect();
    let value = |facts: &Vec<(String, String)>, key: &str| {
        facts.iter().find(|(name, _)| name == key).map(|(_, value)| value.clone())
    };
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in all.iter().flatten() {
        let differs = all.iter().any(|own| value(own, key) != value(&all[0], key));
        if differs && !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    let mut columns = vec![Column::text("what", &keys, |key| Some((*key).to_owned()))];
    for (own, name) in all.iter().zip(names) {
        columns.push(Column::text(name, &keys, |key| value(own, key)));
    }
    table("Differences only", &columns)
}

fn reproduce(campaigns: &[Loaded], names: &[String]) -> Markup {
    html! {
        @for (loaded, name) in campaigns.iter().zip(names) {
            @let campaign = &loaded.campaign;
            h3 { (name) }
            ul {
                @if !campaign.id.as_str().is_empty() {
                    li { "Its own report: " code { "eagre results report " (campaign.id) } }
                }
                @if !campaign.command.is_empty() { li { code { (campaign.command) } } }
                li { "version " code { (campaign.version) } ", seed " code { (campaign.seed) } ", profile "
                    code { (campaign.profile_sha256) } }
            }
            @if !campaign.profile.is_empty() {
                details { summary { "The profile" } pre tabindex="0" { code { (campaign.profile) } } }
            }
        }
    }
}
