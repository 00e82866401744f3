//! docs/result-fields.md matches the catalogue.
//!
//! After a deliberate change of a field, run with `UPDATE_GOLDEN=1` and read the difference.

// It reads the page, and writes it on request.
#![allow(clippy::disallowed_methods)]

use result::{
    CaptureResult, Field, Numbers, PortResult, Presence, ResultDocument, Segment, SessionResult,
    StreamResult, Unit, WorkerResult, fields,
};
use std::fmt::Write as _;
use std::path::Path;

const INTRODUCTION: &str = "\
# Numbers of a result

Every number of [the result document](results.md), by its path. Each can be a criterion, as in `streams.small.rx: \"> 0\"`; \
the bound may have the unit given here. This page is made from the types of the result (by the test `page` of the crate \
`result`); `eagre schema result` prints the same for machines.

*Measured*: streams whose packets have a signature. *Clients*, *servers*: sessions whose clients or servers run here. \
*If any*: if there was something to measure. A counter of a map (`<reason>`, `<counter>` …) that is absent is zero.
";

fn unit(unit: Unit) -> &'static str {
    match unit {
        Unit::Count => "",
        Unit::Bytes => "B",
        Unit::Ratio => "ratio",
        Unit::Ppm => "ppm",
        Unit::Flag => "true, false",
        Unit::Nanos => "ns",
        Unit::Seconds => "s",
        Unit::Hertz => "Hz",
        Unit::PacketRate => "packets/s",
        Unit::BitRate => "bit/s",
        Unit::SessionRate => "/s",
    }
}

fn presence(presence: Presence) -> &'static str {
    match presence {
        Presence::Always | Presence::Judged => "always",
        Presence::Optional => "if any",
        Presence::Measured => "measured",
        Presence::Clients => "clients",
        Presence::Servers => "servers",
    }
}

fn section<T: Numbers>(page: &mut String, title: &str, about: &str, wanted: impl Fn(&Field) -> bool) {
    let _ =
        write!(page, "\n## {title}\n\n{about}\n\n| number | unit | present | meaning |\n|---|---|---|---|\n");
    for field in fields::<T>().iter().filter(|field| wanted(field)) {
        let about = field.about.trim().replace('|', "\\|");
        let _ =
            writeln!(page, "| `{field}` | {} | {} | {about} |", unit(field.unit), presence(field.presence));
    }
}

fn is_below(field: &Field, name: &'static str) -> bool {
    field.segments.first() == Some(&Segment::Name(name))
}

fn has_no_key(field: &Field) -> bool {
    let keyed =
        fields::<ResultDocument>().into_iter().filter(|f| matches!(f.segments.get(1), Some(Segment::Key(_))));
    !keyed.into_iter().any(|keyed| keyed.segments[0] == field.segments[0])
}

#[test]
fn the_page_of_numbers_is_up_to_date() {
    let mut page = INTRODUCTION.to_owned();
    section::<ResultDocument>(&mut page, "Trial", "At the top of the document.", has_no_key);
    section::<StreamResult>(
        &mut page,
        "Streams",
        "Below `streams.<stream>`, and below `groups.<group>.<row>`.",
        |_| true,
    );
    section::<PortResult>(&mut page, "Ports", "Below `ports.<port>`.", |_| true);
    let sides = "Below `sessions.<entry>`. Everything below `client` is also below `server`.";
    section::<SessionResult>(&mut page, "Sessions", sides, |field| !is_below(field, "server"));
    section::<WorkerResult>(&mut page, "Workers", "Below `workers.<n>`, from 0.", |_| true);
    section::<CaptureResult>(&mut page, "Captures", "Below `captures.<port>`.", |_| true);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/result-fields.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&golden, &page).unwrap();
    }
    let found = std::fs::read_to_string(&golden).unwrap_or_default();
    let differs = page.lines().zip(found.lines()).position(|(expected, found)| expected != found);
    assert!(
        page == found,
        "docs/result-fields.md differs from the types, from line {}; run with UPDATE_GOLDEN=1",
        differs.unwrap_or_else(|| page.lines().count().min(found.lines().count())) + 1
    );
}
