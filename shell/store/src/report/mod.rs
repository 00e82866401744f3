//! Report pages: one HTML file each, with everything in it; nothing is loaded, no script runs.
//!
//! The template escapes every text that comes from a user; the only raw text is the style sheet. A content security
//! policy also forbids scripts and the network. Figures that were not measured have no row, no column and no chart.

mod answer;
mod curves;
mod front;
mod machine;
mod services;
mod side_by_side;
mod tables;
mod words;

pub use side_by_side::comparison;
pub use words::measured;

use crate::{Loaded, State};
use maud::{DOCTYPE, Markup, PreEscaped, html};
use serde_json::Value;

const STYLE: &str = include_str!("style.css");

/// A part of a page: its anchor, its heading and what is in it.
struct Section {
    id: &'static str,
    title: &'static str,
    body: Markup,
    /// Seen only when it is opened; in print it always is.
    folded: bool,
}

impl Section {
    fn new(id: &'static str, title: &'static str, body: Option<Markup>) -> Option<Self> {
        Some(Self { id, title, body: body?, folded: false })
    }

    fn folded(id: &'static str, title: &'static str, body: Option<Markup>) -> Option<Self> {
        Some(Self { folded: true, ..Self::new(id, title, body)? })
    }
}

/// The report of a campaign, or of a single run ([`Loaded::single`]): the result, the curves, and everything else
/// folded.
pub fn campaign(loaded: &Loaded) -> String {
    let campaign = &loaded.campaign;
    let more_over_load = both(curves::variation_over_load(loaded), curves::more_over_session_load(loaded));
    let sections = [
        Section::new("answer", "Summary", Some(answer::answer(loaded))),
        Section::new("services", "Services", services::services(loaded)),
        Section::new("load", "Loss and latency over load", curves::over_load(loaded)),
        Section::new("session-load", "Sessions over load", curves::sessions_over_load(loaded)),
        Section::new("time", "Over time", curves::run_over_time(loaded)),
        Section::new(
            "path",
            "Losses along the path",
            both(tables::path(loaded), curves::path_over_time(loaded)),
        ),
        Section::folded("findings", "Findings", tables::findings(loaded)),
        Section::folded("criteria", "Pass criteria", tables::criteria(loaded)),
        Section::folded("throughput", "Throughput against line rate", curves::throughput(loaded)),
        Section::folded("more-load", "More figures over load", more_over_load),
        Section::folded("percentiles", "Latency percentiles", curves::percentiles(loaded)),
        Section::folded("sessions", "Sessions", tables::sessions(loaded)),
        Section::folded("streams", "Streams and ports", tables::streams_and_ports(loaded)),
        Section::folded("trials", "Trials", tables::trials(loaded)),
        Section::folded("more-time", "More over time", curves::over_time(loaded)),
        Section::folded("environment", "Environment", machine::environment(loaded)),
        Section::folded("reproduce", "Reproduction", Some(machine::reproduce(loaded))),
        Section::folded("terms", "Terms", answer::terms(loaded)),
    ];
    let name = if campaign.name.is_empty() { "Unnamed run" } else { campaign.name.as_str() };
    let about = html! {
        p.soft { (about(loaded)) }
        @if !campaign.tags.is_empty() {
            p { @for tag in &campaign.tags { span.tag { (tag) } " " } }
        }
    };
    page(name, &about, &sections.into_iter().flatten().collect::<Vec<_>>())
}

/// One after the other, as far as they are there.
fn both(first: Option<Markup>, second: Option<Markup>) -> Option<Markup> {
    let all: Vec<Markup> = [first, second].into_iter().flatten().collect();
    (!all.is_empty()).then(|| html! { @for one in &all { (one) } })
}

/// Method, times and names in a line.
fn about(loaded: &Loaded) -> String {
    let campaign = &loaded.campaign;
    let state = match campaign.state {
        State::Running => "has not ended",
        State::Done => "done",
        State::Interrupted => "interrupted",
        State::Failed => "failed",
    };
    let mut parts = vec![campaign.method.clone(), instant(&campaign.started)];
    parts.extend(campaign.ended.as_ref().map(|ended| format!("ended {}", instant(ended))));
    parts.push(state.to_owned());
    parts.extend((campaign.resumed > 0).then(|| format!("resumed {} times", campaign.resumed)));
    parts.push(campaign.id.to_string());
    parts.push(format!("eagre {}", campaign.version));
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

/// An instant of RFC 3339 in UTC, to the second; another text as it is.
fn instant(text: &str) -> String {
    match (text.get(..10), text.get(10..11), text.get(11..19), text.ends_with('Z')) {
        (Some(date), Some("T"), Some(time), true) => format!("{date} {time} UTC"),
        _ => text.to_owned(),
    }
}

/// The page of a report of counters along a path, `eagre.path/1`: the weakest link, rates over time, counts of each hop.
pub fn counters(path: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let weakest = text(&path["weakest"]["sentence"]);
    let sentence = match weakest.is_empty() {
        true => "No hop or link lost more packets than background traffic explains.".to_owned(),
        false => weakest,
    };
    let remarks: Vec<String> = list(&path["remarks"]).iter().map(text).collect();
    let answer = html! {
        p.answer { (sentence) }
        @for remark in &remarks { p.soft { (remark) } }
    };
    let hops = list(&path["hops"]);
    let packets = |head: &str, key: &str| {
        tables::Column::new(head, &hops, |hop: &Value| hop[key].as_u64().map(units::count))
    };
    let columns = [
        tables::Column::text("hop", &hops, |hop: &Value| Some(text(&hop["name"]))),
        packets("packets in", "in_packets"),
        packets("out", "out_packets"),
        packets("lost", "lost"),
    ];
    let drops = hops.iter().flat_map(|hop| {
        list(&hop["drops"]).into_iter().map(|drop| {
            let dropped = units::count(drop["count"].as_u64().unwrap_or(0));
            format!("{}: {}: {dropped}", text(&hop["name"]), text(&drop["counter"]))
        })
    });
    let drops: Vec<String> = drops.collect();
    let counted = html! {
        @if let Some(table) = tables::table("Packets of each hop, by its counters", &columns) { (table) }
        @if !drops.is_empty() { ul { @for drop in &drops { li { (drop) } } } }
    };
    let sections = [
        Section::new("answer", "Summary", Some(answer)),
        Section::new("time", "Over time", curves::packets_of_hops("c-path", path)),
        Section::new("hops", "Hops", Some(counted)),
    ];
    let about = html! { p.soft { "What " (hops.len()) " devices counted while traffic ran" } };
    page("Counters along a path", &about, &sections.into_iter().flatten().collect::<Vec<_>>())
}

fn page(title: &str, about: &Markup, sections: &[Section]) -> String {
    let policy =
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'";
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(policy);
                meta name="viewport" content="width=device-width, initial-scale=1";
                title { (title) " – eagre report" }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#h-answer" { "Skip to the summary" }
                header { h1 { (title) } (about) }
                nav aria-label="Sections" {
                    ul { @for section in sections { li { a href=(format!("#{}", section.id)) { (section.title) } } } }
                }
                main {
                    @for section in sections {
                        @let heading = html! { h2 id=(format!("h-{}", section.id)) { (section.title) } };
                        section aria-labelledby=(format!("h-{}", section.id)) {
                            @if section.folded {
                                // A link to what is in a closed part opens it.
                                details { summary { (heading) } div id=(section.id) { (section.body) } }
                            } @else {
                                (heading)
                                div id=(section.id) { (section.body) }
                            }
                        }
                    }
                }
                footer {
                    p { "Frame lengths and byte counts have the FCS (RFC 2544 section 9.1). Bit rates name their layer. "
                        "Latency is one-way delay. A dash or a missing column means not measured; zero means measured "
                        "and zero." }
                }
            }
        }
    };
    page.into_string()
}
