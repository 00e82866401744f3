//! Traffic mixed into test frames (RFC 2544 section 11, RFC 5180 section 5.3).
//!
//! Modifier frames replace test frames: their share of a direction's load is left out of the test frames. They are
//! separate streams without measurement, except for packets with a hop-by-hop header, which are test packets.

use crate::directions::{Direction, Directions};
use crate::shape::{fit, part_of};
use field::{Source, Target, Variable, Vary, Write};
use methods::{Modifier, TrialKind, TrialRequest};
use profile::Plan;
use profile::plan::{NextHop, Pattern, PortPlan, Sizes, StreamPlan};
use std::net::IpAddr;
use std::sync::Arc;
use units::{Load, Nanos, Pps};
use wire::protocols::ethernet::ETHERNET;
use wire::protocols::ipv4::IPV4;
use wire::protocols::ipv6::IPV6;
use wire::protocols::ipv6_extensions::{IPV6_HOP_BY_HOP, IPV6_PADN};
use wire::protocols::udp::UDP;
use wire::protocols::vlan::VLAN;
use wire::{Header, PacketSpec};

/// Number of frames per broadcast frame.
const BROADCAST_IN: u64 = 100;
/// Seconds from one routing update to the next: RIP's (RFC 2453 section 3.8).
const UPDATE_S: u64 = 30;
/// An SNMPv2c GET of sysUpTime.0 in the community 'public' (RFC 3416, RFC 3418), in BER.
const SNMP_GET: &[u8] =
    b"\x30\x26\x02\x01\x01\x04\x06public\xa0\x19\x02\x01\x01\x02\x01\x00\x02\x01\x00\x30\x0e\
                          \x30\x0c\x06\x08\x2b\x06\x01\x02\x01\x01\x03\x00\x05\x00";
/// A RIPv2 response with one route, to 198.19.255.0/24 by way of its sender (RFC 2453 section 4).
const RIP_RESPONSE: &[u8] = b"\x02\x02\0\0\0\x02\0\0\xc6\x13\xff\0\xff\xff\xff\0\0\0\0\0\0\0\0\x01";
/// Offset in it of the route's metric, bits.
const RIP_METRIC: u32 = 160;

/// Frames per second, in millionths, that a modifier takes of a direction's `rate`.
fn taken(modifier: Option<Modifier>, rate: Pps) -> u64 {
    let most = rate.micro() / 2;
    match modifier {
        Some(Modifier::Broadcast) => rate.micro() / BROADCAST_IN,
        Some(Modifier::Management) => most.min(1_000_000),
        Some(Modifier::RoutingUpdates) => most.min(1_000_000 / UPDATE_S),
        Some(Modifier::Filters(_) | Modifier::HopByHop(_)) | None => 0,
    }
}

/// Part of a direction's `rate` for test frames.
pub(crate) fn test_rate(modifier: Option<Modifier>, rate: Pps) -> Pps {
    Pps::from_micro(rate.micro() - taken(modifier, rate))
}

/// Number of test frames among the `frames` of a burst.
pub(crate) fn test_frames(modifier: Option<Modifier>, frames: u64) -> u64 {
    frames - taken_of_burst(modifier, frames)
}

fn taken_of_burst(modifier: Option<Modifier>, frames: u64) -> u64 {
    match modifier {
        Some(Modifier::Broadcast) => frames / BROADCAST_IN,
        Some(Modifier::Management | Modifier::RoutingUpdates) => 1.min(frames / 2),
        Some(Modifier::Filters(_) | Modifier::HopByHop(_)) | None => 0,
    }
}

/// Adds the modifier's frames to each direction, whose test frames have left room for them. Its stream is the first of
/// its port: that is the one the schedule begins with, the others following half a gap later.
///
/// # Errors
/// A port has no address or gateway of which its frames could be made.
pub(super) fn mix_in(
    shaped: &mut Plan,
    directions: &Directions,
    request: &TrialRequest,
    modifier: Modifier,
    sizes: &Arc<Sizes>,
) -> Result<(), String> {
    for (direction, load) in directions.all.iter().zip(&request.offered) {
        let port = &shaped.ports[direction.from];
        let mut stream = match modifier {
            Modifier::Broadcast => broadcast(direction, port, sizes),
            Modifier::Management => query(direction, port)?,
            Modifier::RoutingUpdates => update(direction, port)?,
            // Filters are the device's configuration: a hook has seen to it.
            Modifier::Filters(_) | Modifier::HopByHop(_) => return Ok(()),
        };
        let own = |rate: Pps| Pps::from_micro(taken(Some(modifier), rate));
        stream.rate = Load::Packets(own(load.rate));
        match request.kind {
            TrialKind::Burst { frames } => stream.count = Some(taken_of_burst(Some(modifier), frames)),
            TrialKind::Overload { share } if modifier == Modifier::Broadcast => {
                let after = StreamPlan {
                    name: format!("{} after", stream.name),
                    rate: Load::Packets(own(part_of(load.rate, share))),
                    start_delay: request.duration,
                    ..stream.clone()
                };
                stream.count = Some(own(load.rate).packets_in(request.duration));
                shaped.streams.insert(0, after);
            }
            _ => {}
        }
        if stream.count != Some(0) {
            shaped.streams.insert(0, stream);
        }
    }
    Ok(())
}

/// A stream of modifier frames, still without a rate.
fn frames(name: &str, direction: &Direction, port: &PortPlan, above: Vec<Header>) -> StreamPlan {
    let mut headers = vec![Header::new(&ETHERNET)];
    headers.extend(port.own().vlans.iter().map(|id| Header::new(&VLAN).with("id", u128::from(*id))));
    headers.extend(above);
    let packet = PacketSpec { headers, ..PacketSpec::default() };
    StreamPlan {
        name: format!("{} {name}", direction.name),
        from: direction.from,
        to: None,
        also_to: Vec::new(),
        outages: None,
        egress: Vec::new(),
        from_host: 0,
        to_host: 0,
        leased: None,
        to_clients: false,
        next_hop: NextHop::Given,
        fill_source_mac: true,
        sizes: Arc::new(Sizes::one(packet.shortest(0))),
        packet: Arc::new(packet),
        vary: None,
        replay: None,
        flows: None,
        loop_addresses: None,
        capture: None,
        too_long: None,
        destinations: None,
        rate: Load::Max,
        pattern: Pattern::Continuous,
        count: None,
        start_delay: Nanos::ZERO,
        duration: None,
        measure: false,
        integrity: false,
        mark: None,
    }
}

fn with_payload(mut stream: StreamPlan, payload: &[u8], hardware: Option<u128>) -> StreamPlan {
    let mut packet = PacketSpec::clone(&stream.packet);
    packet.payload = payload.to_vec();
    if let Some(mac) = hardware {
        packet.headers[0] = packet.headers[0].clone().with("dst", mac);
    }
    stream.sizes = Arc::new(Sizes::one(packet.shortest(0)));
    stream.packet = Arc::new(packet);
    stream
}

/// Frames to the hardware broadcast address, as long as test frames and of a type that no device need look into: one for
/// local experiments (RFC 2544 section 11.1).
fn broadcast(direction: &Direction, port: &PortPlan, sizes: &Arc<Sizes>) -> StreamPlan {
    let stream = frames("broadcast", direction, port, Vec::new());
    let stream = with_payload(stream, &[], Some(0xffff_ffff_ffff));
    StreamPlan { sizes: sizes.clone(), ..stream }
}

/// Queries to the port's gateway (RFC 2544 section 11.2).
fn query(direction: &Direction, port: &PortPlan) -> Result<StreamPlan, String> {
    let pair = |gateway: &IpAddr| {
        let own = port.own().address(gateway.is_ipv4())?;
        Some((own.ip, *gateway))
    };
    let Some((own, gateway)) = port.own().gateways.iter().find_map(pair) else {
        return Err(format!(
            "management queries go to the device, and port {} has no 'gateway' to query",
            port.name
        ));
    };
    let udp = Header::new(&UDP).with("src", 1024).with("dst", 161);
    let stream = frames("queries", direction, port, vec![ip(own, gateway, 64), udp]);
    Ok(StreamPlan { next_hop: NextHop::Resolve(gateway), ..with_payload(stream, SNMP_GET, None) })
}

/// RIPv2 responses whose route has the metrics 1 and 2 in turn, so that each one changes the device's table and none the
/// way of a test frame (RFC 2544 section 11.3).
fn update(direction: &Direction, port: &PortPlan) -> Result<StreamPlan, String> {
    let Some(own) = port.own().address(true) else {
        return Err(format!(
            "routing updates are RIPv2's, and port {} has no IPv4 address to send them from; let a hook do \
             what the device's protocol needs",
            port.name
        ));
    };
    let group = IpAddr::from([224, 0, 0, 9]);
    let udp = Header::new(&UDP).with("src", 520).with("dst", 520);
    let stream = frames("routing updates", direction, port, vec![ip(own.ip, group, 1), udp]);
    let metric = Source::Range { first: 1, step: 1, count: 2, width: 32 };
    let target = Target::PayloadBits { offset: RIP_METRIC, width: 32 };
    let vary = Vary {
        variables: vec![Variable::new(metric)],
        writes: vec![Write { variable: 0, target, mask: u128::from(u32::MAX) }],
        flows: None,
    };
    let stream = with_payload(stream, RIP_RESPONSE, Some(0x0100_5e00_0009));
    Ok(StreamPlan { vary: Some(Arc::new(vary)), ..stream })
}

fn ip(src: IpAddr, dst: IpAddr, hops: u128) -> Header {
    let bits = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => u128::from(u32::from(ip)),
        IpAddr::V6(ip) => ip.into(),
    };
    let (protocol, limit) = if dst.is_ipv4() { (&IPV4, "ttl") } else { (&IPV6, "hop_limit") };
    Header::new(protocol).with("src", bits(src)).with("dst", bits(dst)).with(limit, hops)
}

/// Splits each IPv6 stream in two that share its load: `percent` of the packets carry a hop-by-hop header, which holds
/// nothing but padding (RFC 5180 section 5.3).
///
/// # Errors
/// No stream is of IPv6; the longer packets do not fit the frames.
pub(super) fn hop_by_hop(shaped: &mut Plan, percent: u8, sizes: &Arc<Sizes>) -> Result<(), String> {
    let part = |whole: u64| (u128::from(whole) * u128::from(percent.min(100)) / 100) as u64;
    let mut twins = Vec::new();
    for stream in &mut shaped.streams {
        let is_ip = |header: &Header| matches!(header.protocol.name, "ipv4" | "ipv6");
        let at = stream.packet.headers.iter().position(is_ip);
        let Some(at) = at.filter(|at| stream.packet.headers[*at].protocol.name == "ipv6") else { continue };
        let mut twin = with_header(stream, at);
        fit(&mut twin, sizes)?;
        if let Load::Packets(rate) = stream.rate {
            twin.rate = Load::Packets(Pps::from_micro(part(rate.micro())));
            stream.rate = Load::Packets(Pps::from_micro(rate.micro() - part(rate.micro())));
        }
        if let Some(count) = stream.count {
            twin.count = Some(part(count));
            stream.count = Some(count - part(count));
        }
        twins.push(twin);
    }
    if twins.is_empty() {
        return Err("hop-by-hop headers are IPv6's, and no stream's outermost IP header is ipv6".to_owned());
    }
    shaped.streams.extend(twins);
    shaped.streams.retain(|stream| stream.rate != Load::Packets(Pps::ZERO) && stream.count != Some(0));
    Ok(())
}

/// A stream with the hop-by-hop header after its header `at`. Variable fields after it move along.
fn with_header(stream: &StreamPlan, at: usize) -> StreamPlan {
    let mut packet = PacketSpec::clone(&stream.packet);
    let options = Header::new(&IPV6_PADN).with_bytes("data", &[0; 4]);
    packet.headers.splice(at + 1..at + 1, [Header::new(&IPV6_HOP_BY_HOP), options]);
    let built = stream.packet.build_unpadded().ok();
    let from = built.and_then(|packet| packet.offsets.get(at + 1).copied()).unwrap_or(usize::MAX);
    let mut vary = stream.vary.as_deref().cloned();
    for write in vary.iter_mut().flat_map(|vary| &mut vary.writes) {
        match &mut write.target {
            Target::Field { header, .. } if *header > at => *header += 2,
            Target::Bits { offset, .. } if *offset as usize >= from.saturating_mul(8) => *offset += 64,
            _ => {}
        }
    }
    StreamPlan {
        name: format!("hop-by-hop {}", stream.name),
        packet: Arc::new(packet),
        vary: vary.map(Arc::new),
        ..stream.clone()
    }
}
