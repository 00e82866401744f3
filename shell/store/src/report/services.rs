//! Services (ITU-T Y.1564): what was agreed of each, and what each step showed.

use super::tables::{Column, table};
use crate::{Loaded, percent, quantity};
use maud::{Markup, html};
use methods::{Service, ServiceRow, ServiceStep};
use units::{BitRate, Layer};

/// Both tables; `None` if no service was tested.
pub(super) fn services(loaded: &Loaded) -> Option<Markup> {
    let rows: Vec<ServiceRow> = loaded.method_results.iter().flat_map(rows_of).collect();
    let (agreed, steps) = (agreed(&rows)?, steps(&rows)?);
    Some(html! { (agreed) (steps) })
}

fn rows_of(result: &crate::StoredResult) -> Vec<ServiceRow> {
    result.typed().map(|result| result.findings.services().to_vec()).unwrap_or_default()
}

/// A rate as it is written elsewhere on the page, with its layer unless it is that of frames with FCS.
fn rate(rate: BitRate) -> String {
    let layer = if rate.layer == Layer::L1 { " L1" } else { "" };
    format!("{}{layer}", quantity(rate.bps as f64, "bps"))
}

fn agreed(rows: &[ServiceRow]) -> Option<Markup> {
    let verdicts = Column::verdicts("verdict", rows.iter().map(|row| row.passed));
    let bytes = |of: fn(&Service) -> Option<u64>| move |row: &ServiceRow| Some(of(&row.service)?.to_string());
    table(
        "Agreement for each service. Information rates and bursts are of frames with FCS.",
        &[
            Column::text("service", rows, |row| Some(row.service.name.clone())),
            verdicts,
            Column::new("CIR", rows, |row| Some(rate(row.service.cir))),
            Column::new("EIR", rows, |row| Some(rate(row.service.eir?))),
            Column::new("CBS, bytes", rows, bytes(|service| service.cbs)),
            Column::new("EBS, bytes", rows, bytes(|service| service.ebs)),
            Column::text("frames", rows, |row| Some(row.service.frames.as_ref()?.to_string())),
            Column::text("yellow frames", rows, |row| {
                let coupled = if row.service.coupling { ", coupled" } else { "" };
                Some(format!("{}{coupled}", row.service.yellow.as_ref()?))
            }),
            Column::text("policed", rows, |row| {
                Some(if row.service.policing { "yes" } else { "no" }.to_owned())
            }),
            Column::new("most lost (FLR)", rows, |row| Some(percent(row.service.flr_max))),
            Column::new("most delay (FTD)", rows, |row| Some(quantity(row.service.ftd_max.0 as f64, "ns"))),
            Column::new("most delay variation (FDV)", rows, |row| Some(row.service.fdv_max.to_string())),
            Column::new("least availability", rows, |row| Some(percent(row.service.availability_min))),
        ],
    )
}

fn steps(rows: &[ServiceRow]) -> Option<Markup> {
    let of = |row: &ServiceRow| {
        let name = row.service.name.clone();
        row.steps.clone().into_iter().map(move |step| (name.clone(), step))
    };
    let steps: Vec<(String, ServiceStep)> = rows.iter().flat_map(of).collect();
    type Step = (String, ServiceStep);
    let bps = |of: fn(&ServiceStep) -> f64| move |(_, step): &Step| Some(quantity(of(step), "bps"));
    let ns = |of: fn(&ServiceStep) -> Option<f64>| move |(_, step): &Step| Some(quantity(of(step)?, "ns"));
    let verdicts = Column::verdicts("verdict", steps.iter().map(|(_, step)| step.passed));
    table(
        "Configuration test, step by step, then the performance test with all services at once. Above the CIR only what passes \
         is judged.",
        &[
            Column::text("service", &steps, |(name, _)| Some(name.clone())),
            Column::text("step", &steps, |(_, step)| Some(step.step.clone())),
            verdicts,
            Column::new("asked", &steps, bps(|step| step.asked_bps as f64)),
            Column::new("sent", &steps, bps(|step| step.offered_bps)),
            Column::new("received", &steps, bps(|step| step.received_bps)),
            Column::new("lost (FLR)", &steps, |(_, step)| Some(percent(step.flr))),
            Column::new("yellow load", &steps, |(_, step)| {
                Some(quantity(step.yellow.as_ref()?.asked_bps as f64, "bps"))
            }),
            Column::new("yellow received", &steps, |(_, step)| {
                Some(quantity(step.yellow.as_ref()?.received_bps, "bps"))
            }),
            Column::new("delay (FTD)", &steps, ns(|step| step.ftd_ns)),
            Column::new("delay variation (FDV)", &steps, ns(|step| step.fdv_ns)),
            Column::new("availability", &steps, |(_, step)| Some(percent(step.availability?))),
            Column::text("not met", &steps, |(_, step)| Some(step.because.join("; "))),
        ],
    )
}
