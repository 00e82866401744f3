//! LLDP agents of a port: their result, and their states while a trial runs.

use super::{HostState, HostsResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::count;

part! {
    /// LLDP agents of a port, from before traffic until their shutdown LLDPDUs (IEEE 802.1AB clause 9.2.6).
    pub struct LldpResult {
        /// Neighbours known now; in a result, when traffic had ended.
        known: u64 = COUNT;
        /// LLDPDUs sent.
        tx_frames: u64 = COUNT;
        /// LLDPDUs received.
        rx_frames: u64 = COUNT;
        /// LLDPDUs received that are malformed.
        rx_errors: u64 = COUNT;
        /// LLDPDUs of neighbours that exceeded the limit of 1,024.
        rx_discarded: u64 = COUNT;
        /// TLVs received that were discarded: too short, or repeated in an LLDPDU.
        tlvs_discarded: u64 = COUNT;
        /// TLVs received of unassigned types.
        tlvs_unknown: u64 = COUNT;
        /// New neighbours.
        learnt: u64 = COUNT;
        /// Neighbours that sent a shutdown LLDPDU.
        left: u64 = COUNT;
        /// Neighbours whose TTL expired.
        aged_out: u64 = COUNT;
        /// Commands that disabled or enabled the agents.
        #[serde(default)]
        commands: u64 = COUNT;
        /// Neighbours, by their last LLDPDUs.
        neighbours: Vec<LldpNeighbourResult> = PART.by(&[Key::Index]);
    }
}

part! {
    /// A neighbour, by its last LLDPDU.
    pub struct LldpNeighbourResult {
        /// Source MAC address.
        mac: String = TEXT;
        /// Chassis identifier; in hexadecimal if it is not text.
        chassis_id: String = TEXT;
        /// Type of the chassis identifier: `mac`, `network_address`, `interface`, `local` …
        chassis_id_type: String = TEXT;
        /// Port identifier; in hexadecimal if it is not text.
        port_id: String = TEXT;
        /// Type of the port identifier.
        port_id_type: String = TEXT;
        /// Time to live, s.
        ttl_s: u64 = SECONDS;
        /// Time since it was first detected when traffic had ended, s.
        known_for_s: f64 = SECONDS;
        /// Time since its last LLDPDU when traffic had ended, s.
        age_s: f64 = SECONDS;
        /// Port description.
        #[serde(skip_serializing_if = "Option::is_none")]
        port_description: Option<String> = TEXT;
        /// System name.
        #[serde(skip_serializing_if = "Option::is_none")]
        system_name: Option<String> = TEXT;
        /// System description.
        #[serde(skip_serializing_if = "Option::is_none")]
        system_description: Option<String> = TEXT;
        /// System capabilities: `bridge`, `router` …
        capabilities: Vec<String> = TEXT;
        /// Enabled capabilities.
        enabled: Vec<String> = TEXT;
        /// Management IP addresses.
        management: Vec<String> = TEXT;
        /// Organizationally specific TLVs.
        tlvs: Vec<LldpTlvResult> = PART.by(&[Key::Index]);
    }
}

part! {
    /// An organizationally specific TLV.
    pub struct LldpTlvResult {
        /// Organizationally unique identifier, in hexadecimal.
        oui: String = TEXT;
        /// Subtype.
        subtype: u64 = COUNT;
        /// Information string, in hexadecimal.
        value: String = TEXT;
    }
}

/// LLDP agents of a port, and whom they know.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LldpPortState {
    /// Name of the port in the profile.
    pub port: String,
    /// Whether a command has disabled them.
    pub is_down: bool,
    /// Counts of the agents and the currently known neighbours.
    pub agents: LldpResult,
}

impl HostsResult for LldpResult {
    fn sentence(&self) -> String {
        let several = if self.known == 1 { "" } else { "s" };
        format!("{} LLDP neighbour{several}, {} gone", count(self.known), count(self.left + self.aged_out))
    }
}

impl HostState for LldpPortState {
    /// Once its agents have left.
    fn end(&mut self) {
        self.agents.neighbours.clear();
    }

    /// The limit holds for the neighbours of all ports together.
    fn keep(states: &mut Vec<Self>, limit: usize) {
        let mut room = limit;
        for neighbours in states.iter_mut().map(|one| &mut one.agents.neighbours) {
            neighbours.truncate(room);
            room -= neighbours.len();
        }
    }
}
