//! LLDP agents of a port's hosts, and what became of them.
//!
//! Not here: the protocol (`emulate::lldp`).

use emulate::lldp::{CAPABILITIES, Capabilities, LldpAgents, LldpConfig, LldpNeighbour};
use neighbour::Mac;
use profile::plan::LldpPlan;
use result::{LldpNeighbourResult, LldpResult, LldpTlvResult};
use units::Nanos;

/// LLDP agents of a port.
#[derive(Debug)]
pub(super) struct Agents {
    pub(super) machine: LldpAgents,
    /// Who was known when traffic had ended, and when that was.
    known: Vec<LldpNeighbour>,
    ended: Nanos,
}

impl Agents {
    /// Those of the hosts with these hardware addresses.
    pub(super) fn new(plan: &LldpPlan, macs: &[Mac]) -> Self {
        let agents = plan.agents.iter().map(|(host, advert)| (macs[*host], advert.clone())).collect();
        let config = LldpConfig { agents, interval: plan.interval, hold: plan.hold };
        Self { machine: LldpAgents::new(config), known: Vec::new(), ended: Nanos::ZERO }
    }

    /// Traffic has ended: notes who is known, and begins to take back what was said.
    pub(super) fn end(&mut self, now: Nanos) {
        (self.known, self.ended) = (self.machine.neighbours().cloned().collect(), now);
        self.machine.leave();
    }

    pub(super) fn report(&self) -> LldpResult {
        let counts = self.machine.counts();
        LldpResult {
            known: self.known.len() as u64,
            tx_frames: counts.sent,
            rx_frames: counts.received,
            rx_errors: counts.malformed,
            rx_discarded: counts.no_room,
            tlvs_discarded: counts.tlvs_discarded,
            tlvs_unknown: counts.tlvs_unknown,
            learnt: counts.learnt,
            left: counts.left,
            aged_out: counts.aged_out,
            neighbours: self.known.iter().map(|neighbour| self.neighbour(neighbour)).collect(),
        }
    }

    fn neighbour(&self, neighbour: &LldpNeighbour) -> LldpNeighbourResult {
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
            known_for_s: self.ended.since(neighbour.first).as_secs_f64(),
            age_s: self.ended.since(neighbour.last).as_secs_f64(),
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
}

/// The names of capabilities.
fn names(bits: u16) -> Vec<String> {
    let set = CAPABILITIES.iter().enumerate().filter(|(bit, _)| bits >> bit & 1 != 0);
    set.map(|(_, name)| (*name).to_owned()).collect()
}
