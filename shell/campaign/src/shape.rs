//! From a method's trial, and a profile, to the Plan of that trial.
//!
//! The profile defines the packets and their ports; the trial defines their length, number, rate and duration. Rates,
//! patterns, counts, delays and lengths of the profile are ignored.

use crate::directions::{Direction, Directions};
use crate::{
    CampaignError, addresses, convergence, leases, multicast, routes, services, sessions, stimuli, switch,
};
use field::Choice;
use methods::{Frames, TrialKind, TrialRequest};
use profile::Plan;
use profile::plan::{GroupPlan, Pattern, Sizes, StreamPlan};
use std::sync::Arc;
use units::{FrameLen, Load, Nanos, Pps};

/// Name of the sum of directions in results.
pub(crate) const DIRECTIONS: &str = "direction";
/// Name of the slices after the drop of an overload trial.
pub(crate) const SLICES: &str = "after_drop";
/// Bytes of the test signature.
const SIGNATURE: usize = 18;
/// Rate of learning frames, and their maximum duration.
const LEARNING_RATE: Pps = Pps::new(100);
const LEARNING: Nanos = Nanos::from_millis(200);
/// Length of the first slice after a drop; each is a sixteenth longer than the one before.
const SLICE: Nanos = Nanos::from_millis(1);

/// The plan of the trial in `request`.
///
/// # Errors
/// The packets do not fit the frames; the trial is of a kind that the profile has nothing for.
pub fn shape(plan: &Plan, directions: &Directions, request: &TrialRequest) -> Result<Plan, CampaignError> {
    match &request.kind {
        TrialKind::Sessions(_) | TrialKind::Mix(_) | TrialKind::Path | TrialKind::Tcp { .. } => {
            sessions::shape(plan, directions, request)
        }
        TrialKind::Addresses { .. } => addresses::shape(plan, directions, request),
        TrialKind::Multicast { .. } => multicast::shape(plan, directions, request),
        TrialKind::Flows { .. } => switch::shape(plan, directions, request),
        TrialKind::Leases { rate, within, alone } => {
            leases::shape(plan, request, leases::Asked { rate: *rate, within: *within, alone: *alone })
        }
        TrialKind::Services { .. } => services::shape(plan, request),
        _ => streams(plan, directions, request),
    }
}

/// The plan of a trial of the profile's streams.
fn streams(plan: &Plan, directions: &Directions, request: &TrialRequest) -> Result<Plan, CampaignError> {
    let refuse = |reason: String| CampaignError::Trial { label: request.label.clone(), reason };
    let mut shaped = without_schedule(plan, request);
    if directions.all.is_empty() {
        return Err(refuse("this method needs streams, and the profile has none".to_owned()));
    }
    let sizes = Arc::new(sizes(&request.frames)?);
    let modifier = request.attributes.modifier;
    for direction in &directions.all {
        for (index, _) in &direction.streams {
            let stream = &mut shaped.streams[*index];
            fit(stream, &sizes).map_err(&refuse)?;
        }
    }
    routes::shape(&mut shaped, directions, request).map_err(&refuse)?;
    stimuli::vary(&mut shaped, plan, request)?;
    match &request.kind {
        TrialKind::Load | TrialKind::SelfTest | TrialKind::Reset { .. } => {
            for (direction, load) in directions.all.iter().zip(&request.offered) {
                share_out(direction, stimuli::test_rate(modifier, load.rate).micro(), |index, micro| {
                    shaped.streams[index].rate = Load::Packets(Pps::from_micro(micro));
                });
            }
        }
        TrialKind::Burst { frames } => {
            for (direction, load) in directions.all.iter().zip(&request.offered) {
                share_out(direction, stimuli::test_rate(modifier, load.rate).micro(), |index, micro| {
                    shaped.streams[index].rate = Load::Packets(Pps::from_micro(micro));
                });
                let frames = stimuli::test_frames(modifier, *frames);
                share_out(direction, frames, |index, n| shaped.streams[index].count = Some(n));
            }
            shaped.streams.retain(|stream| stream.count != Some(0));
            // So long that the burst, sent at the line rate, has time.
            shaped.duration = shaped.duration.max(Nanos::from_millis(1));
        }
        TrialKind::Convergence { .. } => convergence::shape(&mut shaped, directions, request),
        TrialKind::Overload { share } => overload(&mut shaped, directions, request, *share),
        // Served before, or elsewhere.
        TrialKind::Routes { .. }
        | TrialKind::Addresses { .. }
        | TrialKind::Multicast { .. }
        | TrialKind::Flows { .. }
        | TrialKind::Leases { .. }
        | TrialKind::Nat { .. }
        | TrialKind::Balancer { .. }
        | TrialKind::Services { .. }
        | TrialKind::Sessions(_)
        | TrialKind::Mix(_)
        | TrialKind::Path
        | TrialKind::Tcp { .. } => {}
    }
    stimuli::modify(&mut shaped, directions, request, &sizes)?;
    shaped.groups = vec![direction_group(&shaped, directions)];
    if let TrialKind::Overload { .. } = request.kind {
        shaped.groups.push(slice_group(&shaped, request.duration));
    }
    Ok(shaped)
}

/// A few frames of each stream, so that neighbours, caches and tables along the path are filled (RFC 2544 section 23);
/// `None` if there is no time for it, or if a trial has separate time before anything is measured.
pub(crate) fn learning(shaped: &Plan, request: &TrialRequest) -> Option<Plan> {
    let has_own_time = matches!(
        request.kind,
        TrialKind::Convergence { .. }
            | TrialKind::Multicast { .. }
            | TrialKind::Flows { .. }
            | TrialKind::Routes { .. }
    );
    if request.around.learning == Nanos::ZERO || has_own_time || shaped.streams.is_empty() {
        return None;
    }
    let mut plan = shaped.clone();
    plan.groups.clear();
    plan.streams.retain(|stream| stream.measure);
    plan.seed = mark(plan.seed);
    plan.duration = request.around.learning.min(LEARNING);
    plan.drain = Nanos::from_millis(50);
    plan.criteria.clear();
    let each = Pps::from_micro((LEARNING_RATE.micro() / plan.streams.len() as u64).max(5_000_000));
    for stream in &mut plan.streams {
        stream.rate = Load::Packets(each);
        stream.start_delay = Nanos::ZERO;
        stream.duration = None;
        stream.count = Some(1 + each.packets_in(plan.duration));
    }
    stimuli::teach(&mut plan);
    Some(plan)
}

/// The profile's ports and packets with the trial's times. Each trial marks its packets with a separate number, so that
/// a late one does not count in the next trial.
pub(crate) fn without_schedule(plan: &Plan, request: &TrialRequest) -> Plan {
    let mut shaped = plan.clone();
    shaped.seed = mark(plan.seed ^ random::word(random::key(request.number), 1));
    shaped.duration = request.duration;
    shaped.drain = request.around.drain.max(Nanos::from_millis(10));
    shaped.criteria.clear();
    for stream in &mut shaped.streams {
        stream.pattern = Pattern::Continuous;
        stream.count = None;
        stream.start_delay = Nanos::ZERO;
        stream.duration = None;
    }
    shaped
}

/// Another seed, small enough for every reader of JSON.
fn mark(seed: u64) -> u64 {
    random::word(random::key(seed), 0) >> 11
}

pub(crate) fn sizes(frames: &Frames) -> Result<Sizes, CampaignError> {
    let bad = |reason: String| CampaignError::Setting { setting: frames.to_string(), reason };
    let mut parts: Vec<(FrameLen, u64)> = frames.parts().to_vec();
    parts.sort();
    parts.dedup_by(|again, first| {
        let same = again.0 == first.0;
        first.1 += if same { again.1 } else { 0 };
        same
    });
    let weights = parts.iter().map(|(_, weight)| u32::try_from(*weight));
    let weights: Vec<u32> = weights.collect::<Result<_, _>>().map_err(|error| bad(error.to_string()))?;
    let choice = match parts.len() {
        1 => Choice::sequence(vec![0]),
        _ => Choice::weighted(&weights).map_err(|error| bad(error.to_string()))?,
    };
    let (lengths, weights) = parts.into_iter().unzip();
    Ok(Sizes { lengths, weights, choice })
}

/// Gives a stream its lengths, if they hold the packet with its signature.
pub(crate) fn fit(stream: &mut StreamPlan, sizes: &Arc<Sizes>) -> Result<(), String> {
    fits(stream, Some(sizes.shortest())).map_err(|reason| format!("stream {}: {reason}", stream.name))?;
    stream.sizes = sizes.clone();
    Ok(())
}

/// Whether frames of `shortest` hold a stream's packets with their signature.
pub(crate) fn fits(stream: &StreamPlan, shortest: Option<FrameLen>) -> Result<(), String> {
    let least = stream.packet.shortest(SIGNATURE);
    match shortest.filter(|shortest| *shortest < least) {
        Some(shortest) => Err(format!(
            "its packets need {least} with FCS and test signature, more than {shortest}: set lengths from {least} on \
             with --sizes"
        )),
        None => Ok(()),
    }
}

/// Splits `whole` among the streams of a direction by their weights, exactly.
pub(crate) fn share_out(direction: &Direction, whole: u64, mut give: impl FnMut(usize, u64)) {
    let total: u128 = direction.streams.iter().map(|(_, weight)| u128::from(*weight)).sum();
    let (mut before, mut given) = (0u128, 0u64);
    for (index, weight) in &direction.streams {
        before += u128::from(*weight);
        let up_to = (u128::from(whole) * before / total.max(1)) as u64;
        give(*index, up_to - given);
        given = up_to;
    }
}

/// The load for the duration, then a share of it for as long again (RFC 2544 section 26.5).
///
/// After the drop each direction's packets belong to many streams, one after the other: their losses show when the last
/// loss was, without knowing when any single packet was lost.
fn overload(shaped: &mut Plan, directions: &Directions, request: &TrialRequest, share: f64) {
    let drop_at = request.duration;
    let cuts = cuts(drop_at);
    let mut after = Vec::new();
    for (direction, load) in directions.all.iter().zip(&request.offered) {
        let modifier = request.attributes.modifier;
        share_out(direction, stimuli::test_rate(modifier, load.rate).micro(), |index, micro| {
            let stream = &mut shaped.streams[index];
            stream.rate = Load::Packets(Pps::from_micro(micro));
            stream.count = Some(Pps::from_micro(micro).packets_in(drop_at));
        });
        let less = stimuli::test_rate(modifier, part_of(load.rate, share));
        share_out(direction, less.micro(), |index, micro| {
            let (stream, rate) = (&shaped.streams[index], Pps::from_micro(micro));
            for span in cuts.windows(2) {
                let count = rate.packets_in(span[1]) - rate.packets_in(span[0]);
                let name = format!("{} {}", stream.name, span[1].0);
                let (count, start_delay) = (Some(count), drop_at + span[0]);
                after.push(StreamPlan {
                    name,
                    rate: Load::Packets(rate),
                    count,
                    start_delay,
                    duration: None,
                    ..stream.clone()
                });
            }
        });
    }
    after.retain(|slice| slice.count != Some(0));
    shaped.streams.extend(after);
    shaped.duration = drop_at + drop_at;
}

/// A share of a rate.
pub(crate) fn part_of(rate: Pps, share: f64) -> Pps {
    Pps::from_micro((rate.micro() as f64 * share) as u64)
}

/// Where slices of a time begin and end, from its beginning to its end.
fn cuts(span: Nanos) -> Vec<Nanos> {
    let (mut cuts, mut at, mut slice) = (vec![Nanos::ZERO], Nanos::ZERO, SLICE);
    while at + slice < span {
        at += slice;
        cuts.push(at);
        slice = Nanos(slice.0 + slice.0 / 16);
    }
    cuts.push(span);
    cuts
}

/// Sum of the test streams of each direction, including the ones after a drop. An unmeasured stream is no test stream.
fn direction_group(shaped: &Plan, directions: &Directions) -> GroupPlan {
    let row = |direction: &Direction| {
        let own = |(at, stream): (usize, &StreamPlan)| {
            (stream.from == direction.from && stream.measure).then_some(at as u32)
        };
        (direction.name.clone(), shaped.streams.iter().enumerate().filter_map(own).collect())
    };
    GroupPlan { name: DIRECTIONS.to_owned(), rows: directions.all.iter().map(row).collect() }
}

/// The slices after a drop by the time since then at which they end, ns.
fn slice_group(shaped: &Plan, drop_at: Nanos) -> GroupPlan {
    let mut rows: Vec<(String, Vec<u32>)> = Vec::new();
    let after = |stream: &StreamPlan| stream.measure && stream.start_delay >= drop_at;
    for (index, stream) in shaped.streams.iter().enumerate().filter(|(_, stream)| after(stream)) {
        let end = stream.name.rsplit(' ').next().unwrap_or_default();
        match rows.iter_mut().find(|(name, _)| name == end) {
            Some((_, streams)) => streams.push(index as u32),
            None => rows.push((end.to_owned(), vec![index as u32])),
        }
    }
    GroupPlan { name: SLICES.to_owned(), rows }
}
