//! Both sides of a gateway: who sends to whom, and the streams of trials.
//!
//! The profile has one stream, from the inside to the outside. Inside endpoints are the addresses of the inside port's hosts; remotes are
//! the stream's destination and, as far as the outside port has other hosts, theirs. Behind a NAT64 gateway these have IPv4 addresses, and the
//! initiator sends to IPv6 addresses with the same last 32 bits (RFC 6052).

use crate::CampaignError;
use crate::directions::Directions;
use crate::shape::without_schedule;
use field::{ListOrder, Source, Target, Variable, Vary, Write};
use methods::TrialRequest;
use nat::{Endpoint, Mapping};
use profile::Plan;
use profile::plan::{NextHop, Pattern, Sizes, StreamPlan};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use units::{FrameLen, Load, Nanos, Pps};
use wire::protocols::ethernet::ETHERNET;
use wire::protocols::icmp_errors::ICMP_UNREACHABLE;
use wire::protocols::ipv4::IPV4;
use wire::protocols::ipv6::IPV6;
use wire::protocols::udp::UDP;
use wire::{Header, PacketSpec, Protocol as HeaderOf};

/// Bytes of the test signature.
const SIGNATURE: usize = 18;
/// Inside ports: RFC 4814 section 4.5.
const PORTS: std::ops::RangeInclusive<u16> = 1024..=65_535;
/// A prime that goes through all endpoints in a scattered order.
const STRIDE: u64 = 1_000_003;
/// From the last packet to the end of traffic.
const MARGIN: Nanos = Nanos::from_millis(5);
/// Bytes of a quoted packet: its IPv4 header and eight more (RFC 792).
const QUOTED_BYTES: usize = 28;

/// Both sides of a gateway.
pub(super) struct Setup<'p> {
    plan: &'p Plan,
    /// The profile's stream.
    stream: &'p StreamPlan,
    /// Place of its IP and UDP headers.
    ip: usize,
    udp: usize,
    pub(super) inside_port: usize,
    pub(super) outside_port: usize,
    inside: Vec<IpAddr>,
    /// Remote addresses as the inside addresses them.
    remotes: Vec<IpAddr>,
    /// UDP port of remotes.
    port: u16,
}

/// Source and destination of a packet.
pub(super) type Ends = (Endpoint, Endpoint);

impl<'p> Setup<'p> {
    /// # Errors
    /// The profile has not one stream of UDP from one of its ports to another.
    pub(super) fn of(plan: &'p Plan, directions: &Directions) -> Result<Self, CampaignError> {
        let one = match &directions.all[..] {
            [one] if one.streams.len() == 1 => one.streams[0].0,
            _ => {
                let reason = "one stream is needed, from the inside of the gateway to its outside";
                return Err(CampaignError::profile("streams", reason));
            }
        };
        let stream = &plan.streams[one];
        let bad = |reason: &str| Err(CampaignError::profile(format!("stream {}", stream.name), reason));
        let place = |names: &[&str]| {
            stream.packet.headers.iter().position(|header| names.contains(&header.protocol.name))
        };
        let (Some(ip), Some(udp)) = (place(&["ipv4", "ipv6"]), place(&["udp"])) else {
            return bad("its packets need an IP header and UDP, whose endpoints the gateway translates");
        };
        if udp != ip + 1 {
            return bad("its UDP header must follow the IP header: tunnels are not looked into");
        }
        let Some(to) = stream.to.filter(|to| *to != stream.from) else {
            return bad("it must go to another port of the profile ('to'), which is the outside");
        };
        let is_v4 = stream.packet.headers[ip].protocol.name == "ipv4";
        let of_family = |port: usize, v4: bool| {
            let all = plan.ports[port].addresses().map(|address| address.ip);
            all.filter(|address| address.is_ipv4() == v4 && !is_local(*address)).collect::<Vec<_>>()
        };
        let inside = of_family(stream.from, is_v4);
        if inside.is_empty() {
            return bad(
                "the port that sends it has no address of its IP version: give it 'ip', and 'hosts' for more subscribers",
            );
        }
        let value = |header: usize, field: &str| stream.packet.headers[header].value(field);
        let Some(first) = value(ip, "dst") else {
            return bad("its packets need a destination address");
        };
        let first = address(first, is_v4);
        let mut remotes = vec![first];
        let (same, v4) = (of_family(to, is_v4), of_family(to, true));
        let others = match first {
            IpAddr::V6(prefix) if same.is_empty() => v4.iter().map(|v4| embedded(prefix, *v4)).collect(),
            _ => same,
        };
        remotes.extend(others.into_iter().filter(|other| *other != first));
        let port =
            value(udp, "dst").and_then(|port| u16::try_from(port).ok()).filter(|port| *port > 0).unwrap_or(9);
        Ok(Self { plan, stream, ip, udp, inside_port: stream.from, outside_port: to, inside, remotes, port })
    }

    /// The `number`-th remote port; the first is the stream's.
    pub(super) fn remote(&self, address: usize, number: u16) -> Option<Endpoint> {
        Some(Endpoint { address: *self.remotes.get(address)?, port: self.port.wrapping_add(number).max(1) })
    }

    /// Inside endpoints, the same ports of each address, from an even port on.
    pub(super) fn neighbours(&self, samples: u32, seed: u64) -> Vec<Endpoint> {
        let each = samples.div_ceil(self.inside.len() as u32).next_multiple_of(2).min(30_000);
        let first = u64::from(*PORTS.start()) + random::below(random::word(random::key(seed), 2), 30_000);
        let first = (first as u32).next_multiple_of(2);
        let ports = (first..first + each).map(|port| port as u16);
        ports
            .flat_map(|port| self.inside.iter().map(move |inside| Endpoint { address: *inside, port }))
            .collect()
    }

    /// Connections of a trial; other trials have others if there are enough endpoints.
    pub(super) fn connections(&self, count: u64, trial: u64) -> Vec<Ends> {
        let (hosts, ports) = (self.inside.len() as u64, PORTS.len() as u64);
        let remote_ports = count.div_ceil(hosts * ports).max(1);
        let space = hosts * ports * remote_ports;
        let first = trial.wrapping_mul(count) % space;
        (0..count)
            .map(|number| {
                let at = ((first + number) % space).wrapping_mul(STRIDE) % space;
                let inside = self.inside[(at % hosts) as usize];
                let port = PORTS.start() + (at / hosts % ports) as u16;
                let remote_port = self.port.wrapping_add((at / hosts / ports) as u16).max(1);
                (Endpoint { address: inside, port }, Endpoint { address: self.remotes[0], port: remote_port })
            })
            .collect()
    }

    /// An outside endpoint as the inside addresses it.
    pub(super) fn inside_address(&self, outside: Endpoint) -> Endpoint {
        match (self.remotes[0], outside.address) {
            (IpAddr::V6(prefix), v4 @ IpAddr::V4(_)) => Endpoint { address: embedded(prefix, v4), ..outside },
            _ => outside,
        }
    }

    /// A trial of these streams, all of which send their packets once.
    pub(super) fn plan(&self, request: &TrialRequest, part: u64, streams: Vec<StreamPlan>) -> Plan {
        let mut plan = without_schedule(self.plan, request);
        // Each exchange marks its packets with a number of its own.
        plan.seed = random::word(random::key(plan.seed), part) >> 11;
        let end = |stream: &StreamPlan| {
            let Load::Packets(rate) = stream.rate else { return Nanos::ZERO };
            stream.start_delay + time_of(stream.count.unwrap_or(0), rate)
        };
        plan.duration = streams.iter().map(end).max().unwrap_or_default() + MARGIN;
        plan.groups.clear();
        plan.streams = streams;
        plan
    }

    /// A stream from inside with these endpoints, one packet after the other.
    pub(super) fn outward(&self, name: &str, ends: &[Ends], rate: Pps) -> StreamPlan {
        let stream = StreamPlan {
            vary: vary(&self.stream.packet, self.ip, self.udp, ends),
            name: name.to_owned(),
            ..self.base()
        };
        self.paced(stream, ends, rate)
    }

    /// A stream from outside with these endpoints, to the hardware address that the gateway sent from.
    pub(super) fn inward(&self, name: &str, ends: &[Ends], rate: Pps, mac: [u8; 6]) -> StreamPlan {
        let is_v4 = ends.first().is_none_or(|(from, _)| from.address.is_ipv4());
        let ip = Header::new(if is_v4 { &IPV4 } else { &IPV6 });
        let packet = Arc::new(PacketSpec {
            headers: vec![
                to_mac(mac),
                with_ends(ip, ends, "src", "dst", |end| number(end.address)),
                Header::new(&UDP),
            ],
            ..PacketSpec::default()
        });
        let stream = StreamPlan {
            vary: vary(&packet, 1, 2, ends),
            packet,
            name: name.to_owned(),
            from: self.outside_port,
            to: Some(self.inside_port),
            next_hop: NextHop::Given,
            fill_source_mac: true,
            ..self.base()
        };
        self.paced(stream, ends, rate)
    }

    /// An ICMP error of a remote about the packet of a mapping as it arrived there: port unreachable.
    pub(super) fn error(&self, mapping: &Mapping, number: u64, mac: [u8; 6]) -> Option<StreamPlan> {
        let (IpAddr::V4(outside), IpAddr::V4(remote)) = (mapping.outside.address, mapping.remote.address)
        else {
            return None;
        };
        let ends = |from: u32, to: u32| Header::new(&IPV4).with("src", from.into()).with("dst", to.into());
        let ports = Header::new(&UDP)
            .with("src", mapping.outside.port.into())
            .with("dst", mapping.remote.port.into());
        let headers = vec![Header::new(&ETHERNET), ends(outside.into(), remote.into()), ports];
        let about = PacketSpec { headers, payload: vec![0; SIGNATURE], ..PacketSpec::default() };
        let payload = about.build(FrameLen::MIN).ok()?.bytes.get(14..14 + QUOTED_BYTES)?.to_vec();
        let headers = vec![to_mac(mac), ends(remote.into(), outside.into()), Header::new(&ICMP_UNREACHABLE)];
        let packet = PacketSpec { headers, payload, ..PacketSpec::default() };
        let length = packet.shortest(0);
        Some(StreamPlan {
            name: format!("error {number}"),
            from: self.outside_port,
            to: Some(self.inside_port),
            packet: Arc::new(packet),
            sizes: Arc::new(Sizes::one(length)),
            next_hop: NextHop::Given,
            fill_source_mac: true,
            measure: false,
            rate: Load::Packets(Pps::new(1_000)),
            count: Some(1),
            start_delay: Nanos::from_millis(1 + number),
            ..self.base()
        })
    }

    /// The profile's stream without what trials decide.
    fn base(&self) -> StreamPlan {
        StreamPlan {
            also_to: Vec::new(),
            outages: None,
            egress: Vec::new(),
            from_host: 0,
            to_host: 0,
            leased: None,
            to_clients: false,
            vary: None,
            replay: None,
            flows: None,
            destinations: None,
            pattern: Pattern::Continuous,
            start_delay: Nanos::ZERO,
            duration: None,
            measure: true,
            integrity: false,
            mark: None,
            ..self.stream.clone()
        }
    }

    /// One packet for each of `ends`, as short as possible.
    fn paced(&self, stream: StreamPlan, ends: &[Ends], rate: Pps) -> StreamPlan {
        let sizes = Arc::new(Sizes::one(stream.packet.shortest(SIGNATURE)));
        StreamPlan { sizes, rate: Load::Packets(rate), count: Some(ends.len() as u64), ..stream }
    }

    /// The lengths that the profile gives its stream, where packets of `stream` fit them.
    pub(super) fn sized(&self, stream: StreamPlan) -> StreamPlan {
        let least = stream.packet.shortest(SIGNATURE);
        let fits = self.stream.sizes.lengths.iter().all(|length| *length >= least);
        StreamPlan { sizes: if fits { self.stream.sizes.clone() } else { stream.sizes.clone() }, ..stream }
    }
}

/// Time of `n` packets at a rate.
fn time_of(n: u64, rate: Pps) -> Nanos {
    let ns = u128::from(n) * 1_000_000_000_000_000 / u128::from(rate.micro().max(1));
    Nanos(u64::try_from(ns).unwrap_or(u64::MAX))
}

fn to_mac(mac: [u8; 6]) -> Header {
    let value = mac.iter().fold(0u128, |value, byte| value << 8 | u128::from(*byte));
    Header::new(&ETHERNET).with("dst", value)
}

/// The first packet's ends, which the packet has before anything varies.
fn with_ends(
    header: Header,
    ends: &[Ends],
    from: &str,
    to: &str,
    value: impl Fn(&Endpoint) -> u128,
) -> Header {
    match ends.first() {
        Some(first) => header.with(from, value(&first.0)).with(to, value(&first.1)),
        None => header,
    }
}

/// Field program that gives each packet its endpoints.
fn vary(packet: &PacketSpec, ip: usize, udp: usize, ends: &[Ends]) -> Option<Arc<Vary>> {
    if ends.is_empty() {
        return None;
    }
    let mut vary = Vary::default();
    let mut add = |header: usize, name: &str, values: Vec<u128>| {
        let protocol: &'static HeaderOf = packet.headers[header].protocol;
        let Some(field) = protocol.field(name) else { return };
        let is_one = values.iter().all(|value| *value == values[0]);
        let values: Arc<[u128]> = if is_one { [values[0]].into() } else { values.into() };
        let source = Source::List { values, order: ListOrder::Sequential };
        let target = Target::Field { header, field };
        vary.writes.push(Write { variable: vary.variables.len(), target, mask: field.max() });
        vary.variables.push(Variable::new(source));
    };
    add(ip, "src", ends.iter().map(|(from, _)| number(from.address)).collect());
    add(ip, "dst", ends.iter().map(|(_, to)| number(to.address)).collect());
    add(udp, "src", ends.iter().map(|(from, _)| from.port.into()).collect());
    add(udp, "dst", ends.iter().map(|(_, to)| to.port.into()).collect());
    Some(Arc::new(vary))
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => u32::from(v4).into(),
        IpAddr::V6(v6) => v6.into(),
    }
}

fn address(number: u128, is_v4: bool) -> IpAddr {
    if is_v4 { IpAddr::V4((number as u32).into()) } else { IpAddr::V6(number.into()) }
}

/// An IPv4 address within a prefix of 96 bits (RFC 6052 section 2.2).
fn embedded(prefix: Ipv6Addr, address: IpAddr) -> IpAddr {
    IpAddr::V6((u128::from(prefix) >> 32 << 32 | number(address) & u128::from(u32::MAX)).into())
}

fn is_local(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(v6) if v6.is_unicast_link_local())
}
