//! Attributes of the frames of trials: random stimuli (RFC 4814), networks (RFC 2544 section 12), modifiers (section
//! 11).
//!
//! Not here: routes to the networks, filter rules, and other configuration of the device; these are the hooks' task.
//!
//! Invariant: what varies comes from the profile's seed, never from the trial's: all trials see the same set. A field that
//! the profile varies stays as it is.

mod modifier;

pub(crate) use modifier::{test_frames, test_rate};

use crate::CampaignError;
use crate::directions::Directions;
use field::{ListOrder, Program, ProgramError, Source, Target, Variable, Vary, Write};
use methods::{Modifier, TrialRequest};
use profile::Plan;
use profile::plan::{NextHop, PortPlan, Sizes, StreamPlan};
use std::net::IpAddr;
use std::sync::Arc;
use units::{Load, Nanos, Pps};
use wire::protocols::ethernet::ETHERNET;
use wire::{Field, Header, PacketSpec};

/// Hardware addresses behind each port: few enough for the table of every switch.
const MACS: u64 = 256;
/// Bytes of the test signature.
const SIGNATURE: usize = 18;

/// Makes fields of the profile's streams vary by the trial's attributes.
///
/// # Errors
/// There are to be networks, and no stream has a destination to spread over them.
pub(crate) fn vary(shaped: &mut Plan, plan: &Plan, request: &TrialRequest) -> Result<(), CampaignError> {
    let refuse = |reason: String| CampaignError::Trial { label: request.label.clone(), reason };
    let mut spread_any = false;
    for (index, stream) in shaped.streams.iter_mut().enumerate() {
        let key = random::key(random::word(random::key(plan.seed), index as u64));
        let mut fields = Fields::of(stream);
        if request.attributes.random_stimuli {
            transport(&mut fields, key);
            labels(&mut fields, key);
            if is_switched(stream, &plan.ports) {
                addresses(&mut fields, stream, plan.seed, key);
            }
        }
        if request.attributes.networks > 1 {
            spread_any |=
                networks(&mut fields, stream, plan, request.attributes.networks, key).map_err(&refuse)?;
        }
        stream.vary = fields.finish();
    }
    if request.attributes.networks > 1 && !spread_any {
        let reason = "no stream has an IPv4 or IPv6 destination that the profile leaves as it is: there is nothing to \
                      spread over networks";
        return Err(refuse(reason.to_owned()));
    }
    Ok(())
}

/// Mixes the trial's modifier into its streams. `sizes` are the lengths of test frames.
///
/// # Errors
/// The profile has nothing that the modifier could be made of.
pub(crate) fn modify(
    shaped: &mut Plan,
    directions: &Directions,
    request: &TrialRequest,
    sizes: &Arc<Sizes>,
) -> Result<(), CampaignError> {
    let made = match request.attributes.modifier {
        Some(Modifier::HopByHop(percent)) => modifier::hop_by_hop(shaped, percent, sizes),
        Some(modifier) => modifier::mix_in(shaped, directions, request, modifier, sizes),
        None => Ok(()),
    };
    made.map_err(|reason| CampaignError::Trial { label: request.label.clone(), reason })
}

/// Variable fields of a stream, and fields added to it.
struct Fields {
    packet: Arc<PacketSpec>,
    vary: Vary,
    before: Option<Arc<Vary>>,
    changed: bool,
}

impl Fields {
    fn of(stream: &StreamPlan) -> Self {
        let vary = stream.vary.as_deref().cloned().unwrap_or_default();
        Self { packet: stream.packet.clone(), vary, before: stream.vary.clone(), changed: false }
    }

    /// Makes the field of header `index` vary, unless it does already. Returns whether it does so now.
    fn add(&mut self, index: usize, field: &'static Field, source: Source) -> bool {
        let mut more = self.vary.clone();
        let target = Target::Field { header: index, field };
        more.writes.push(Write { variable: more.variables.len(), target, mask: field.max() });
        more.variables.push(Variable::new(source));
        let Ok(mut packet) = self.packet.build(self.packet.shortest(SIGNATURE)) else { return false };
        if let Err(ProgramError::Overlap { .. }) = Program::new(&more, &mut packet, None) {
            return false;
        }
        (self.vary, self.changed) = (more, true);
        true
    }

    /// The same for a field by its name.
    fn add_named(&mut self, index: usize, name: &str, source: Source) -> bool {
        let field = self.packet.headers[index].protocol.field(name);
        field.is_some_and(|field| self.add(index, field, source))
    }

    fn finish(self) -> Option<Arc<Vary>> {
        if self.changed { Some(Arc::new(self.vary)) } else { self.before }
    }
}

fn uniform(from: u128, to: u128, seed: u64) -> Source {
    Source::Random { from, to, distinct: None, seed }
}

/// Ports of the innermost UDP or TCP header (RFC 4814 section 4.5). A header in front of another one is a tunnel's, whose
/// destination port names what it carries.
fn transport(fields: &mut Fields, key: u64) {
    let headers = fields.packet.clone();
    let is_transport = |header: &Header| matches!(header.protocol.name, "udp" | "tcp");
    let Some(index) = headers.headers.iter().rposition(is_transport) else { return };
    let own = headers.headers[index].protocol;
    fields.add_named(index, "src", uniform(1024, 65535, random::word(key, 0)));
    if headers.headers[index + 1..].iter().all(|header| header.protocol.is_part_of(own)) {
        fields.add_named(index, "dst", uniform(1, 49151, random::word(key, 1)));
    }
}

/// MPLS labels but the special ones.
fn labels(fields: &mut Fields, key: u64) {
    let headers = fields.packet.clone();
    for (index, header) in headers.headers.iter().enumerate() {
        if header.protocol.name == "mpls" {
            fields.add_named(index, "label", uniform(16, 1_048_575, random::word(key, 8 + index as u64)));
        }
    }
}

/// Whether nothing but a wire or a switch is between a stream's ports.
fn is_switched(stream: &StreamPlan, ports: &[PortPlan]) -> bool {
    let is_peers =
        |ip: IpAddr| stream.to.is_some_and(|to| ports[to].addresses().any(|address| address.ip == ip));
    match stream.next_hop {
        NextHop::PeerPort => stream.to.is_some(),
        NextHop::Resolve(ip) => is_peers(ip),
        NextHop::Given => false,
    }
}

/// The pseudorandom hardware addresses behind a port: `(RR&0xFC):PP:PP:RR:RR:RR`, PP its number (RFC 4814 section 4.2).
fn macs(seed: u64, port: usize) -> Arc<[u128]> {
    let key = random::key(seed ^ random::mix(port as u64 + 1));
    let number = (port as u128 + 1) & 0xffff;
    let mac = |k: u64| {
        let word = u128::from(random::word(key, k));
        (word >> 24 & 0xfc) << 40 | number << 24 | word & 0xff_ffff
    };
    (0..MACS).map(mac).collect()
}

/// Hardware addresses: each port's in turn as the source, the other one's at random as the destination.
fn addresses(fields: &mut Fields, stream: &StreamPlan, seed: u64, key: u64) {
    if stream.fill_source_mac {
        let source = Source::List { values: macs(seed, stream.from), order: ListOrder::Sequential };
        fields.add_named(0, "src", source);
    }
    if let Some(to) = stream.to {
        let order = ListOrder::Random { seed: random::word(key, 2) };
        fields.add_named(0, "dst", Source::List { values: macs(seed, to), order });
    }
}

/// Spreads a stream's destination over its own network and those behind it, uniformly at random; returns whether it has
/// one. The host's part stays. A network is as long as that of the port the stream goes to, or /24 (IPv6: /64).
fn networks(
    fields: &mut Fields,
    stream: &mut StreamPlan,
    plan: &Plan,
    count: u16,
    key: u64,
) -> Result<bool, String> {
    let is_ip = |header: &&Header| matches!(header.protocol.name, "ipv4" | "ipv6");
    let packet = fields.packet.clone();
    let Some(header) = packet.headers.iter().find(is_ip) else { return Ok(false) };
    let Some(first) = header.value("dst") else { return Ok(false) };
    let is_v4 = header.protocol.name == "ipv4";
    let ip = |bits: u128| if is_v4 { IpAddr::V4((bits as u32).into()) } else { IpAddr::V6(bits.into()) };
    let width = if is_v4 { 32 } else { 128 };
    let known = stream.to.and_then(|to| plan.ports[to].addresses().find(|a| a.on_link(ip(first))));
    let length = known.map_or(if is_v4 { 24 } else { 64 }, |address| address.prefix_len);
    let step = 1u128.checked_shl(width - u32::from(length).min(width)).unwrap_or(0);
    let last = step.checked_mul(u128::from(count) - 1).and_then(|span| span.checked_add(first));
    let Some(last) = last.filter(|last| step > 0 && last >> (width - 1) >> 1 == 0) else {
        return Err(format!(
            "{count} networks /{length} from that of {} on are more than there are addresses",
            ip(first)
        ));
    };
    let values: Arc<[u128]> = (0..u128::from(count)).map(|k| first + k * step).collect();
    let index = packet.headers.iter().position(|header| is_ip(&header)).unwrap_or_default();
    let order = ListOrder::Random { seed: random::word(key, 3) };
    if !fields.add_named(index, "dst", Source::List { values, order }) {
        return Ok(false);
    }
    stream.destinations = Some((ip(first), ip(last)));
    Ok(true)
}

/// Makes learning frames of a switched trial with pseudorandom hardware addresses teach all of them: enough frames for
/// every source, and frames the other way for every destination.
pub(crate) fn teach(plan: &mut Plan) {
    let mut answers: Vec<StreamPlan> = Vec::new();
    for stream in &mut plan.streams {
        let Some(vary) = stream.vary.as_deref() else { continue };
        let listed = |name: &str| {
            let write = vary.writes.iter().find(|write| is_ethernet(write, name))?;
            match &vary.variables[write.variable].source {
                Source::List { values, .. } if values.len() as u64 == MACS => Some(values.clone()),
                _ => None,
            }
        };
        let span = plan.duration.as_secs_f64().max(1e-3);
        let fast = Load::Packets(Pps::from_micro((MACS as f64 / span * 1e6) as u64));
        let (sources, destinations) = (listed("src"), listed("dst"));
        if sources.is_some() {
            (stream.count, stream.rate) = (Some(MACS), fast);
        }
        let Some((to, values)) = stream.to.zip(destinations) else { continue };
        if answers.iter().all(|answer| answer.from != to) {
            answers.push(answer(stream, to, values, fast));
        }
    }
    plan.streams.extend(answers);
}

fn is_ethernet(write: &Write, name: &str) -> bool {
    matches!(write.target, Target::Field { header: 0, field } if field.name == name)
}

/// Frames from the port `stream` goes to, with every one of `sources`.
fn answer(stream: &StreamPlan, to: usize, sources: Arc<[u128]>, rate: Load) -> StreamPlan {
    let mut vary = Vary::default();
    if let Some(field) = ETHERNET.field("src") {
        let target = Target::Field { header: 0, field };
        vary.writes.push(Write { variable: 0, target, mask: field.max() });
        vary.variables.push(Variable::new(Source::List { values: sources, order: ListOrder::Sequential }));
    }
    let packet = PacketSpec { headers: vec![Header::new(&ETHERNET)], ..PacketSpec::default() };
    StreamPlan {
        name: format!("{} learned", stream.name),
        from: to,
        to: Some(stream.from),
        also_to: Vec::new(),
        outages: None,
        egress: Vec::new(),
        from_host: stream.to_host,
        to_host: stream.from_host,
        packet: Arc::new(packet),
        next_hop: NextHop::PeerPort,
        fill_source_mac: false,
        vary: Some(Arc::new(vary)),
        destinations: None,
        rate,
        count: Some(MACS),
        start_delay: Nanos::ZERO,
        duration: None,
        measure: false,
        integrity: false,
        ..stream.clone()
    }
}

#[cfg(test)]
mod tests;
