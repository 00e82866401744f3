//! The reflector: one thread that replies to packets, within the limits of `stamp`.

use super::{PACKET, TimeOfDay, has_packet, now};
use crate::Wrong;
use crate::udp::listen;
use os::sockets;
use socket2::SockRef;
use stamp::{Drop, Form, Format, Reflected, Reflector, ReflectorCounts, ReflectorOptions};
use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use units::Nanos;

/// Time within which the reflector sees that it is to stop.
const NOW_AND_THEN: Duration = Duration::from_millis(50);
/// Socket buffer for packets that are not yet replied to.
const ROOM: u32 = 1 << 20;

/// Options of a reflector.
#[derive(Debug, Clone)]
pub struct ReflectOptions {
    /// Address to listen at; none for all of both families.
    pub bind: Option<IpAddr>,
    /// Port to listen at; 0 for one that is free.
    pub port: u16,
    /// Mode and limits.
    pub reflector: ReflectorOptions,
}

/// Events for display.
#[derive(Debug)]
pub enum Event<'a> {
    /// The reflector listens.
    Listens(SocketAddr),
    /// A packet gets no reply: why, as often as once a second.
    Dropped(SocketAddr, &'a str),
    /// The reflector has stopped.
    Ended(ReflectorCounts),
}

/// Reflects until `stop`.
///
/// # Errors
/// It can't listen.
pub fn reflect(
    options: &ReflectOptions,
    stop: &AtomicBool,
    show: &mut dyn FnMut(Event<'_>),
) -> Result<(), Wrong> {
    let (socket, address) = listen(options.bind, options.port)?;
    sockets::enlarge_receive_buffer(&socket, ROOM);
    datagram::note_arrivals(&socket, address.is_ipv6()).map_err(Wrong::io("a socket"))?;
    // A full send buffer drops a reply instead of delaying all others.
    SockRef::from(&socket).set_nonblocking(true).map_err(Wrong::io("a socket"))?;
    show(Event::Listens(address));
    let began = Instant::now();
    let mut reflector = Reflector::new(options.reflector.clone(), Nanos::ZERO);
    let (mut time, mut packet, mut shown) = (TimeOfDay::new(), Vec::new(), None::<Instant>);
    while !stop.load(Ordering::Relaxed) {
        if !has_packet(&socket, NOW_AND_THEN) {
            continue;
        }
        time.refresh();
        packet.resize(PACKET, 0);
        // The error of a reply that could not be delivered is also read here.
        let Ok(arrival) = datagram::receive(&socket, &mut packet) else { continue };
        packet.truncate(arrival.length);
        if arrival.is_cut {
            continue;
        }
        let came = Reflected {
            peer: arrival.from,
            at: arrival.at_ns.map_or_else(now, Nanos),
            hops: arrival.hops,
            error_max_ns: time.error_max_ns,
            tai_ahead_s: time.tai_ahead_s,
        };
        let age = Nanos(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
        match reflector.reply(&mut packet, &came, age) {
            Ok(()) => {
                reflector.depart(&mut packet, now().max(came.at), time.tai_ahead_s);
                // A sender counts a reply that can't be sent as lost.
                let _ = datagram::send_from(&socket, &packet, arrival.from, arrival.to);
            }
            Err(drop) if shown.is_none_or(|shown| shown.elapsed() >= Duration::from_secs(1)) => {
                shown = Some(Instant::now());
                let peer = SocketAddr::new(arrival.from.ip().to_canonical(), arrival.from.port());
                show(Event::Dropped(peer, dropped_because(drop)));
            }
            Err(_) => {}
        }
    }
    show(Event::Ended(reflector.counts()));
    Ok(())
}

/// Why a packet gets no reply, and what to do.
fn dropped_because(drop: Drop) -> &'static str {
    match drop {
        Drop::Malformed => "no reply: it is no packet of STAMP or TWAMP Light",
        Drop::Short => {
            "no reply: the packet is shorter than its reply would be; give the sender 27 octets of padding, or this reflector --short"
        }
        Drop::Unauthentic => "no reply: the packet does not have the code of the key",
        Drop::Reflected => "no reply: it is a reply itself",
        Drop::Rate => "no reply: more packets per second than --max-rate",
        Drop::Sessions => "no reply: as many sessions as --max-sessions",
    }
}

impl Default for ReflectOptions {
    /// Stateless, at the port of the RFC, with the usual limits.
    fn default() -> Self {
        let reflector = ReflectorOptions {
            form: Form::Open,
            is_stateful: false,
            format: Format::Ntp,
            allows_short: false,
            rate_max: 10_000,
            sessions_max: 1_000,
        };
        Self { bind: None, port: stamp::PORT, reflector }
    }
}
