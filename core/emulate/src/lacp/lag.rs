//! Selection: which ports of a lag belong together (clause 6.4.14).

use super::message::{LacpEnd, LacpState};
use super::port::{LacpMux, LacpPort, LacpTrouble};
use crate::frame::Mac;
use units::Nanos;

/// Common data of ports that can form one LAG: the partner's system and key; for a partner that does not aggregate,
/// also the port (clause 6.4.6.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct LagId {
    system: (u16, Mac),
    key: u16,
    alone: Option<(u16, u16)>,
}

impl LagId {
    fn of(end: &LacpEnd) -> Self {
        let is_alone = !end.state.has(LacpState::AGGREGATION);
        Self {
            system: (end.system_priority, end.system),
            key: end.key,
            alone: is_alone.then_some((end.port_priority, end.port)),
        }
    }
}

/// Brings the ports of one lag up to `now`, all of which have our same system and key: timers, selection, and when they attach.
///
/// To be called before [`LacpPort::poll`] of any of them, after frames were taken in, and when one is due.
pub fn run_lag(now: Nanos, ports: &mut [&mut LacpPort]) {
    ports.iter_mut().for_each(|port| port.tick(now));
    let offers: Vec<Option<LagId>> = ports.iter().map(|port| port.candidate().map(LagId::of)).collect();
    let chosen = chosen(ports, &offers);
    for (port, offer) in ports.iter_mut().zip(&offers) {
        let is_in = offer.is_some() && *offer == chosen;
        port.select(now, is_in, (offer.is_some() && !is_in).then_some(LacpTrouble::OtherPartner));
    }
    // Ready: nobody who is to join still waits for others (clause 6.4.14.1 m).
    if ports.iter().all(|port| !port.is_waiting()) {
        ports.iter_mut().for_each(|port| port.attach(now));
    }
}

/// The partner that ports attached to already have, or else that most have; of equals, that of the first port by priority and number.
fn chosen(ports: &[&mut LacpPort], offers: &[Option<LagId>]) -> Option<LagId> {
    let mut best: Option<((bool, usize), LagId)> = None;
    let mut order: Vec<usize> = (0..ports.len()).collect();
    order.sort_by_key(|index| (ports[*index].config().port_priority, ports[*index].config().port));
    for offer in order.iter().filter_map(|index| offers[*index]) {
        let with = || offers.iter().zip(ports).filter(|(other, _)| **other == Some(offer));
        let is_held = with().any(|(_, port)| port.mux() >= LacpMux::Attached);
        let weight = (is_held, with().count());
        if best.is_none_or(|(than, _)| weight > than) {
            best = Some((weight, offer));
        }
    }
    best.map(|(_, id)| id)
}
