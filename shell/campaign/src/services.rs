//! Trials of service activation: streams of the profile at separate information rates (ITU-T Y.1564).

use crate::CampaignError;
use crate::outcome::{group, lost_least, of_any};
use crate::shape::{fit, fits, sizes, without_schedule};
use methods::{
    Frames, Policed, ServiceLoad, ServiceOutcome, TrialKind, TrialOutcome, TrialRequest, availability,
};
use profile::Plan;
use profile::plan::Pattern;
use result::{IntervalDocument, ResultDocument};
use std::collections::BTreeMap;
use std::sync::Arc;
use units::{BitRate, Layer, Load, Pps};

fn loads(request: &TrialRequest) -> &[ServiceLoad] {
    match &request.kind {
        TrialKind::Services { loads } => loads,
        _ => &[],
    }
}

/// Whether the profile has the stream of a service or a class, as `setting` names it, with frames that hold its packets and fit a
/// burst.
///
/// # Errors
/// It has not.
pub(crate) fn check(
    plan: &Plan,
    setting: &'static str,
    name: &str,
    frames: Option<&Frames>,
    burst_bytes: Option<u64>,
    most_bps: Option<u64>,
) -> Result<(), CampaignError> {
    let bad = |reason: String| Err(CampaignError::Setting { setting: setting.to_owned(), reason });
    let Some(stream) = plan.streams.iter().find(|own| own.name == name) else {
        let names: Vec<&str> = plan.streams.iter().map(|own| own.name.as_str()).collect();
        let how = match setting {
            "services" => {
                "each service is a stream, given as --set 'services=[{\"name\": \"STREAM\", \"cir\": \"10Mbps\"}]'"
            }
            _ => "each class is a stream, given as --set 'classes=[\"STREAM\"]'",
        };
        return bad(format!("the profile has no stream '{name}', only {}: {how}", names.join(", ")));
    };
    let port = &plan.ports[stream.from];
    if let Some((most, line)) = most_bps.zip(port.speed_bps).filter(|(most, line)| most > line) {
        let [most, line] = [most, line].map(|bps| units::quantity(bps as f64, "bps"));
        return bad(format!("'{name}': {most} is more than the {line} of the line at port {}", port.name));
    }
    let mut sized = stream.clone();
    if let Some(frames) = frames {
        let given = Arc::new(sizes(frames)?);
        if let Err(reason) = fits(stream, Some(given.shortest())) {
            return bad(format!("'{name}': {reason}"));
        }
        sized.sizes = given;
    }
    let longest = sized.sizes.longest();
    match burst_bytes.filter(|bytes| *bytes < u64::from(longest.bytes())) {
        Some(bytes) => bad(format!("'{name}': cbs of {bytes} bytes is less than a frame of {longest}")),
        None => Ok(()),
    }
}

/// The streams of the services, at their rates.
///
/// # Errors
/// A stream's packets do not fit its frames.
pub(crate) fn shape(plan: &Plan, request: &TrialRequest) -> Result<Plan, CampaignError> {
    let mut shaped = without_schedule(plan, request);
    shaped.groups.clear();
    shaped.streams.retain(|stream| loads(request).iter().any(|load| load.stream == stream.name));
    for stream in &mut shaped.streams {
        let Some(load) = loads(request).iter().find(|load| load.stream == stream.name) else { continue };
        if let Some(frames) = &load.frames {
            let refuse = |reason| CampaignError::Trial { label: request.label.clone(), reason };
            fit(stream, &Arc::new(sizes(frames)?)).map_err(refuse)?;
        }
        stream.rate = Load::Bits(BitRate { bps: load.rate_bps, layer: Layer::L2 });
        if let Some(bytes) = load.burst_bytes {
            let packets = (bytes / u64::from(stream.sizes.longest().bytes())).clamp(1, u64::from(u32::MAX));
            stream.pattern = Pattern::Bursts { packets: packets as u32 };
        }
    }
    Ok(shaped)
}

/// Outcome.
pub(crate) fn outcome(
    request: &TrialRequest,
    document: &ResultDocument,
    intervals: &[IntervalDocument],
) -> TrialOutcome {
    let mut outcome = of_any(document);
    let seconds = document.duration_s.max(1e-9);
    for load in loads(request) {
        let Some(row) = document.streams.get(&load.stream) else { continue };
        let mut group = group(&load.stream, row);
        let pps = |pps: f64| Pps::from_micro((pps * 1e6) as u64);
        group.requested = pps(row.requested_pps.unwrap_or(0.0));
        group.achieved = pps(row.offered_pps);
        group.lost = group.sent.saturating_sub(group.received);
        group.lost_least = lost_least(document, &format!("streams.{}", load.stream));
        outcome.groups.push(group);
        let bps = |bytes: u64| bytes as f64 * 8.0 / seconds;
        outcome.services.push(ServiceOutcome {
            stream: load.stream.clone(),
            offered_bps: bps(row.tx_bytes),
            received_bps: bps(row.rx_bytes.unwrap_or(0)),
            availability: availability(&severe(&load.stream, intervals)),
            policed: policed(&load.stream, intervals),
        });
    }
    outcome
}

/// For each second of traffic, whether more than half of a stream's frames were lost.
fn severe(stream: &str, intervals: &[IntervalDocument]) -> Vec<bool> {
    let mut seconds: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for interval in intervals {
        let Some(row) = interval.streams.get(stream) else { continue };
        let middle = interval.at_s - interval.interval_s / 2.0;
        let (sent, received) = seconds.entry(middle.max(0.0) as u64).or_default();
        *sent += row.tx;
        *received += row.rx.unwrap_or(0);
    }
    seconds.into_values().filter(|(sent, _)| *sent > 0).map(|(sent, received)| received * 2 < sent).collect()
}

/// The device's treatment of a stream's frames once it dropped some.
fn policed(stream: &str, intervals: &[IntervalDocument]) -> Option<Policed> {
    let sending = intervals.iter().filter(|interval| !interval.draining);
    let of = |interval: &IntervalDocument| {
        let row = interval.streams.get(stream)?;
        Some((interval.interval_s, row.tx, row.rx.unwrap_or(0), row.rx_bytes.unwrap_or(0)))
    };
    Policed::of(&sending.filter_map(of).collect::<Vec<_>>())
}
