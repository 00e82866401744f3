//! Report pages: one HTML file each, with everything in it; nothing is loaded, no script runs.
//!
//! Every text that comes from a user is escaped by the template; the only raw text is the style sheet. A content
//! security policy forbids scripts and the network besides. What was not measured has no row, no column and no chart.

mod answer;
mod curves;
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
}

impl Section {
    fn new(id: &'static str, title: &'static str, body: Option<Markup>) -> Option<Self> {
        Some(Self { id, title, body: body? })
    }
}

/// The report of a campaign, or of a single run ([`Loaded::single`]).
pub fn campaign(loaded: &Loaded) -> String {
    let campaign = &loaded.campaign;
    let sections = [
        Section::new("answer", "Summary", Some(answer::answer(loaded))),
        Section::new("findings", "Findings", tables::findings(loaded)),
        Section::new("services", "Services", services::services(loaded)),
        Section::new("criteria", "Pass criteria", tables::criteria(loaded)),
        Section::new("throughput", "Throughput against line rate", curves::throughput(loaded)),
        Section::new("load", "Loss and latency over load", curves::over_load(loaded)),
        Section::new("percentiles", "Latency percentiles", curves::percentiles(loaded)),
        Section::new("session-load", "Sessions over load", curves::sessions_over_load(loaded)),
        Section::new("sessions", "Sessions", tables::sessions(loaded)),
        Section::new("streams", "Streams and ports", tables::streams_and_ports(loaded)),
        Section::new("path", "Losses along the path", path(loaded)),
        Section::new("trials", "Trials", tables::trials(loaded)),
        Section::new("time", "Over time", curves::over_time(loaded)),
        Section::new("environment", "Environment", machine::environment(loaded)),
        Section::new("reproduce", "Reproduction", Some(machine::reproduce(loaded))),
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

/// Where packets were lost, and what the devices along the path received and sent over time.
fn path(loaded: &Loaded) -> Option<Markup> {
    let (hops, rates) = (tables::path(loaded), curves::path_over_time(loaded));
    (hops.is_some() || rates.is_some()).then(|| {
        html! {
            @if let Some(hops) = hops { (hops) }
            @if let Some(rates) = rates { (rates) }
        }
    })
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
    let mut parts = vec![campaign.method.clone(), campaign.started.clone()];
    parts.extend(campaign.ended.as_ref().map(|ended| format!("ended {ended}")));
    parts.push(state.to_owned());
    parts.extend((campaign.resumed > 0).then(|| format!("resumed {} times", campaign.resumed)));
    parts.push(campaign.id.to_string());
    parts.push(format!("eagre {}", campaign.version));
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
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
                a.skip href="#answer" { "Skip to the summary" }
                header { h1 { (title) } (about) }
                nav aria-label="Sections" {
                    ul { @for section in sections { li { a href=(format!("#{}", section.id)) { (section.title) } } } }
                }
                main {
                    @for section in sections {
                        section id=(section.id) aria-labelledby=(format!("h-{}", section.id)) {
                            h2 id=(format!("h-{}", section.id)) { (section.title) }
                            (section.body)
                        }
                    }
                }
                footer {
                    p { "Frame lengths and byte counts have the FCS (RFC 2544 section 9.1). Bit rates say their layer. "
                        "Latency is one-way delay. A dash or a missing column means not measured; zero means measured "
                        "and zero." }
                }
            }
        }
    };
    page.into_string()
}
