//! Trials of a switch's address table (RFC 2889 sections 5.7 and 5.8).
//!
//! Three ports of the tester are on the switch, by their order in the profile: the *test* port sends test frames to every
//! address that was taught, the *learning* port teaches the addresses and receives the test frames, the *monitor* port
//! listens. A test frame that comes to the monitor port was flooded: the switch did not know its address.
//!
//! Not here: making the switch forget. Before addresses are taught a few test frames go to some of them; if the switch
//! knows the way, the trial is refused, because what it remembers from an earlier one counts as learnt.

use crate::CampaignError;
use crate::directions::Directions;
use crate::outcome::{latency, of_any};
use crate::shape::{fit, sizes, without_schedule};
use field::{Source, Target, Variable, Vary, Write};
use methods::{GroupOutcome, TrialKind, TrialOutcome, TrialRequest};
use profile::Plan;
use profile::plan::{NextHop, Pattern, StreamPlan};
use result::ResultDocument;
use std::sync::Arc;
use units::{Load, Nanos, Pps};
use wire::protocols::ethernet::ETHERNET;
use wire::{Header, PacketSpec};

/// The ports, by their place in the profile.
const TEST: usize = 0;
const LEARNING: usize = 1;
const MONITOR: usize = 2;
/// The first address taught; the others follow it. Locally administered.
const FIRST: u128 = 0x06ea_0000_0000;
/// Names of streams in results.
const TAUGHT: &str = "taught";
const PROBES: &str = "probes";
/// Between the last address taught and the first test frame. A tester that was kept from its core for longer may have sent
/// test frames before addresses were taught.
const PAUSE: Nanos = Nanos::from_millis(1_000);
/// Number of addresses tried before any is taught, and rate of the teaching.
const PROBED: u64 = 16;
const PROBE_RATE: Pps = Pps::new(1_000);

/// The Plan of such a trial: `count` addresses taught, then test frames to all of them, for the trial's duration or until
/// each address has had one.
///
/// # Errors
/// The profile has not three ports, or not one stream from the first to the second.
pub(crate) fn shape(
    plan: &Plan,
    directions: &Directions,
    request: &TrialRequest,
) -> Result<Plan, CampaignError> {
    let (count, learn_rate) = asked(request);
    let (mut shaped, test) = prepared(plan, directions, request)?;
    let rate = request.offered.first().map_or(Pps::ZERO, |load| load.rate);
    let begins = learning_time(count, learn_rate) + PAUSE;
    let traffic = request.duration.max(time_of(count, rate));
    shaped.duration = begins + traffic + Nanos::from_millis(1);
    let frames = Some(rate.packets_in(traffic).max(count));
    let taught = taught(&test, count, Pps::new(learn_rate));
    let test = StreamPlan { rate: Load::Packets(rate), start_delay: begins, count: frames, ..test };
    shaped.streams = vec![taught, to_addresses(&test, count, 1)];
    Ok(shaped)
}

/// Test frames to some of the addresses, before any is learned; `None` if that would teach an additional address.
///
/// # Errors
/// As for [`shape`].
pub(crate) fn probe(
    plan: &Plan,
    directions: &Directions,
    request: &TrialRequest,
) -> Result<Option<Plan>, CampaignError> {
    let (count, _) = asked(request);
    let (mut shaped, test) = prepared(plan, directions, request)?;
    if count < 2 {
        return Ok(None);
    }
    let probed = PROBED.min(count - 1);
    // They come from the last address, which moves to the learning port when it is taught: no place in the table is lost.
    let mut packet = PacketSpec::clone(&test.packet);
    packet.headers[0] = packet.headers[0].clone().with("src", FIRST + u128::from(count) - 1);
    shaped.seed = random::word(random::key(shaped.seed), 1) >> 11;
    shaped.duration = time_of(probed, PROBE_RATE) + Nanos::from_millis(1);
    shaped.drain = Nanos::from_millis(50);
    let probes = StreamPlan {
        name: PROBES.to_owned(),
        packet: Arc::new(packet),
        fill_source_mac: false,
        rate: Load::Packets(PROBE_RATE),
        count: Some(probed),
        ..test
    };
    shaped.streams = vec![to_addresses(&probes, probed, (count - 1) / probed)];
    Ok(Some(shaped))
}

/// Whether the switch had forgotten the addresses: frames to unknown addresses come to both other ports, or to none.
///
/// # Errors
/// It had not.
pub(crate) fn has_forgotten(
    plan: &Plan,
    request: &TrialRequest,
    document: &ResultDocument,
) -> Result<(), CampaignError> {
    let row = &document.streams[PROBES];
    let known = row.rx.unwrap_or(0).saturating_sub(row.duplicates.unwrap_or(0));
    if known == 0 {
        return Ok(());
    }
    let reason = format!(
        "the switch still knows {known} of {} addresses of an earlier trial, or port {} is not on it; make it forget them \
         before each trial: with --before-trial COMMAND, or with a --settle longer than its ageing time",
        row.tx, plan.ports[MONITOR].name
    );
    Err(CampaignError::Trial { label: request.label.clone(), reason })
}

/// Outcome.
pub(crate) fn outcome(
    plan: &Plan,
    directions: &Directions,
    request: &TrialRequest,
    document: &ResultDocument,
) -> TrialOutcome {
    let mut outcome = of_any(document);
    let late_ns =
        document.ports[&plan.ports[LEARNING].name].pacing_ns.as_ref().map_or(0, |pacing| pacing.late_max);
    if late_ns >= PAUSE.0 {
        outcome.valid = false;
        outcome.reasons.push(format!(
            "addresses were taught up to {} late, longer than the {PAUSE} between teaching and testing",
            Nanos(late_ns)
        ));
    }
    let (Some(direction), Some(load)) = (directions.all.first(), request.offered.first()) else {
        return outcome;
    };
    let row = &document.streams[&plan.streams[direction.streams[0].0].name];
    let sent = row.tx;
    let flooded = from_monitor(plan, document);
    // Copies of flooded frames count as duplicates; those at the learning port are what should be there.
    let arrived = (row.rx.unwrap_or(0) + row.duplicates.unwrap_or(0)).saturating_sub(flooded);
    let received = arrived.min(sent);
    let seconds = request.duration.as_secs_f64().max(sent as f64 / load.rate.as_f64().max(1e-9));
    outcome.groups = vec![GroupOutcome {
        group: direction.name.clone(),
        requested: load.rate,
        achieved: Pps::from_micro((sent as f64 / seconds.max(1e-9) * 1e6) as u64),
        sent,
        received,
        lost: sent - received,
        duplicates: arrived - received,
        flooded,
        latency: row.latency_ns.as_ref().map(latency),
        ..GroupOutcome::default()
    }];
    outcome
}

/// Test frames that came to the monitor port.
fn from_monitor(plan: &Plan, document: &ResultDocument) -> u64 {
    let port = &document.ports[&plan.ports[MONITOR].name];
    port.rx_packets.saturating_sub(port.rx_other)
}

fn asked(request: &TrialRequest) -> (u64, u64) {
    match request.kind {
        TrialKind::Addresses { count, learn_rate } => (count, learn_rate),
        _ => (1, 1),
    }
}

/// The stream that carries test frames.
///
/// # Errors
/// The profile has not three ports, or not one stream from the first to the second.
pub(crate) fn test_stream<'p>(
    plan: &'p Plan,
    directions: &Directions,
) -> Result<&'p StreamPlan, CampaignError> {
    let names: Vec<&str> = plan.ports.iter().map(|port| port.name.as_str()).collect();
    if names.len() != 3 {
        let reason = format!(
            "three ports must be on the switch, in this order: one that sends test frames, one that teaches addresses and \
             receives, one that listens for what is flooded; the profile has {}: {}",
            names.len(),
            names.join(", ")
        );
        return Err(CampaignError::profile("ports", reason));
    }
    let own = match &directions.all[..] {
        [one] if one.from == TEST && one.streams.len() == 1 => plan.streams.get(one.streams[0].0),
        _ => None,
    };
    own.filter(|stream| stream.to == Some(LEARNING)).ok_or_else(|| {
        let reason = format!(
            "one stream is needed, from the test port '{}' to the learning port '{}'; others would teach additional \
             addresses",
            names[TEST], names[LEARNING]
        );
        CampaignError::profile("streams", reason)
    })
}

/// The profile without gateways, which would be resolved and learned, and its test stream with the trial's lengths. The
/// test examines where its frames arrive, so any port will do.
fn prepared(
    plan: &Plan,
    directions: &Directions,
    request: &TrialRequest,
) -> Result<(Plan, StreamPlan), CampaignError> {
    let stream = test_stream(plan, directions)?;
    let mut shaped = without_schedule(plan, request);
    shaped.groups.clear();
    shaped.ports.iter_mut().flat_map(|port| &mut port.hosts).for_each(|host| host.gateways.clear());
    let mut test = StreamPlan {
        to: None,
        also_to: Vec::new(),
        outages: None,
        egress: Vec::new(),
        next_hop: NextHop::Given,
        vary: None,
        destinations: None,
        pattern: Pattern::Continuous,
        ..stream.clone()
    };
    fit(&mut test, &Arc::new(sizes(&request.frames)?))
        .map_err(|reason| CampaignError::Trial { label: request.label.clone(), reason })?;
    Ok((shaped, test))
}

/// Time of `n` frames at a rate.
fn time_of(n: u64, rate: Pps) -> Nanos {
    let ns = u128::from(n) * 1_000_000_000_000_000 / u128::from(rate.micro().max(1));
    Nanos(u64::try_from(ns).unwrap_or(u64::MAX))
}

fn learning_time(count: u64, learn_rate: u64) -> Nanos {
    time_of(count, Pps::new(learn_rate))
}

/// `stream` with the source or destination address going through `count` addresses, `step` apart.
fn going_through(stream: &StreamPlan, field: &str, count: u64, step: u64) -> StreamPlan {
    let field = ETHERNET.field(field).expect("Ethernet has addresses");
    let source = Source::Range { first: FIRST, step: step.into(), count: count.into(), width: field.width };
    let target = Target::Field { header: 0, field };
    let vary = Vary {
        variables: vec![Variable::new(source)],
        writes: vec![Write { variable: 0, target, mask: field.max() }],
        flows: None,
    };
    StreamPlan { vary: Some(Arc::new(vary)), ..stream.clone() }
}

fn to_addresses(test: &StreamPlan, count: u64, step: u64) -> StreamPlan {
    going_through(test, "dst", count, step)
}

/// The learning frames: one from each address, to the test port. They carry nothing, and are not measured.
fn taught(test: &StreamPlan, count: u64, rate: Pps) -> StreamPlan {
    let packet = PacketSpec { headers: vec![Header::new(&ETHERNET)], ..PacketSpec::default() };
    let stream = StreamPlan {
        name: TAUGHT.to_owned(),
        from: LEARNING,
        to: Some(TEST),
        also_to: Vec::new(),
        outages: None,
        egress: Vec::new(),
        from_host: 0,
        to_host: 0,
        leased: None,
        to_clients: false,
        packet: Arc::new(packet),
        next_hop: NextHop::PeerPort,
        fill_source_mac: false,
        rate: Load::Packets(rate),
        count: Some(count),
        start_delay: Nanos::ZERO,
        duration: None,
        measure: false,
        integrity: false,
        ..test.clone()
    };
    going_through(&stream, "src", count, 1)
}

#[cfg(test)]
mod tests;
