//! LLDP agents of a port's hosts, and what became of them.
//!
//! Not here: the protocol (`emulate::lldp`).

use crate::control::commands::ActionOn;
use crate::emulation::protocol::{Context, HostProtocol, Listing, Planned, Wait};
use emulate::lldp::{CAPABILITIES, Capabilities, LldpAgents, LldpConfig, LldpNeighbour};
use neighbour::{Hosts, Mac};
use profile::plan::{LldpPlan, PortPlan};
use result::{
    LldpNeighbourResult, LldpPortState, LldpResult, LldpTlvResult, NewProtocolChange, PortResult,
    ProtocolAction, ProtocolStates,
};
use units::Nanos;

/// Interval of LLDPDUs (IEEE 802.1AB clause 9.2.5.5, lldpd's default); agents do not respond to new neighbours.
const INTERVAL: Nanos = Nanos::from_secs(30);

/// LLDP agents of a port.
#[derive(Debug)]
pub(super) struct Agents {
    machine: LldpAgents,
    /// Known neighbours when traffic had ended, and the time of that.
    at_end: Option<(Vec<LldpNeighbour>, Nanos)>,
    /// When it was last checked.
    now: Nanos,
}

impl Agents {
    /// Those of the hosts with these hardware addresses.
    fn new(plan: &LldpPlan, macs: &[Mac]) -> Self {
        let agents = plan.agents.iter().map(|(host, advert)| (macs[*host], advert.clone())).collect();
        let config = LldpConfig { agents, interval: plan.interval, ttl_s: plan.ttl_s };
        Self { machine: LldpAgents::new(config), at_end: None, now: Nanos::ZERO }
    }

    /// Disables or enables the agents; returns whether that changed anything.
    fn set(&mut self, now: Nanos, up: bool) -> bool {
        let changes = self.machine.is_down() == up;
        if up {
            self.machine.come_back(now)
        } else {
            self.machine.leave()
        }
        changes
    }

    /// Traffic has ended: records the known neighbours, and begins to send shutdown LLDPDUs.
    fn end(&mut self, now: Nanos) {
        self.at_end = Some((self.machine.neighbours().cloned().collect(), now));
        self.machine.leave();
    }

    /// Counters; before the end of traffic with the currently known neighbours.
    fn row(&self, commands: u64) -> LldpResult {
        let counts = self.machine.counts();
        let neighbours: Vec<LldpNeighbourResult> = match &self.at_end {
            Some((known, at)) => known.iter().map(|one| row(one, *at)).collect(),
            None => self.machine.neighbours().map(|one| row(one, self.now)).collect(),
        };
        LldpResult {
            known: neighbours.len() as u64,
            tx_frames: counts.sent,
            rx_frames: counts.received,
            rx_errors: counts.malformed,
            rx_discarded: counts.no_room,
            tlvs_discarded: counts.tlvs_discarded,
            tlvs_unknown: counts.tlvs_unknown,
            learnt: counts.learnt,
            left: counts.left,
            aged_out: counts.aged_out,
            commands,
            neighbours,
        }
    }
}

impl Planned for Agents {
    const KEY: &'static str = "lldp";
    const CONCERNS: fn(&[u8]) -> bool = emulate::may_concern;

    fn is_planned(port: &PortPlan) -> bool {
        port.lldp.is_some()
    }

    fn of(context: &Context<'_>) -> Option<Self> {
        Some(Self::new(context.port.lldp.as_ref()?, context.macs))
    }
}

impl HostProtocol for Agents {
    fn take(&mut self, now: Nanos, frame: &[u8], _: Option<&Hosts>) -> bool {
        emulate::may_concern(frame) && self.machine.take(now, frame)
    }

    fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        self.now = now;
        self.machine.poll(now, frames);
    }

    fn next_due(&self) -> Nanos {
        self.machine.next_due()
    }

    fn may_start(&mut self, _: Nanos, _: Wait) -> bool {
        self.machine.has_sent()
    }

    fn shut(&mut self, now: Nanos) -> Nanos {
        self.end(now);
        now
    }

    fn is_over(&self) -> bool {
        self.machine.has_left()
    }

    fn obeys(&self, on: ActionOn) -> bool {
        on == ActionOn::Link
    }

    fn change(&mut self, now: Nanos, command: &NewProtocolChange) -> u64 {
        u64::from(self.set(now, command.action == ProtocolAction::Enable))
    }

    fn list(&self, listing: Listing<'_>, all: &mut ProtocolStates) {
        let (is_down, mut agents) = (self.machine.is_down(), self.row(listing.commands));
        all.counts.lldp_ports += 1;
        all.counts.lldp_neighbours += agents.known;
        let before: usize = all.lldp.iter().map(|port| port.agents.neighbours.len()).sum();
        agents.neighbours.truncate(listing.limit - before);
        all.lldp.push(LldpPortState { port: listing.port.to_owned(), is_down, agents });
    }

    fn report(&self, commands: u64, row: &mut PortResult) {
        row.lldp = Some(self.row(commands));
    }

    fn peers_note(&self, row: &PortResult, lasted: Nanos) -> Option<String> {
        peers_note(row.lldp.as_ref()?, lasted)
    }
}

fn peers_note(row: &LldpResult, lasted: Nanos) -> Option<String> {
    (row.rx_frames == 0 && lasted < INTERVAL).then(|| {
        format!(
            "no LLDP neighbour within {lasted}; most agents send every {INTERVAL} and do not respond to new neighbours: run \
             for longer"
        )
    })
}

/// A neighbour as it is known at `now`.
fn row(neighbour: &LldpNeighbour, now: Nanos) -> LldpNeighbourResult {
    let message = &neighbour.message;
    let capabilities = message.capabilities.unwrap_or(Capabilities { system: 0, enabled: 0 });
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let tlvs = message.organization.iter();
    LldpNeighbourResult {
        mac: units::Mac(neighbour.mac).to_string(),
        chassis_id: message.chassis.chassis_text(),
        chassis_id_type: message.chassis.chassis_kind().to_owned(),
        port_id: message.port.port_text(),
        port_id_type: message.port.port_kind().to_owned(),
        ttl_s: message.ttl_s.into(),
        known_for_s: now.since(neighbour.first).as_secs_f64(),
        age_s: now.since(neighbour.last).as_secs_f64(),
        port_description: message.port_description.clone(),
        system_name: message.system_name.clone(),
        system_description: message.system_description.clone(),
        capabilities: names(capabilities.system),
        enabled: names(capabilities.enabled),
        management: message.management.iter().map(ToString::to_string).collect(),
        tlvs: tlvs
            .map(|tlv| LldpTlvResult {
                oui: hex(&tlv.oui),
                subtype: tlv.subtype.into(),
                value: hex(&tlv.value),
            })
            .collect(),
    }
}

/// The names of capabilities.
fn names(bits: u16) -> Vec<String> {
    let set = CAPABILITIES.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 != 0);
    set.map(|(_, name)| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silent_agents_may_not_have_sent_yet() {
        let noted = |rx_frames, seconds| {
            peers_note(&LldpResult { rx_frames, ..LldpResult::default() }, Nanos::from_secs(seconds))
        };
        let note = noted(0, 4).unwrap();
        assert!(note.starts_with("no LLDP neighbour within 4s; most agents send every 30s"), "{note}");
        assert_eq!((noted(1, 4), noted(0, 30)), (None, None));
    }
}
