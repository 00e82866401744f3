//! Membership of a port in a LAG: its result, and its state while a trial runs.

use super::{HostState, HostsResult};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use units::count;

part! {
    /// LACP state of a LAG member, now; in a result, when traffic had ended (IEEE 802.1AX clause 6.4).
    pub struct LacpResult {
        /// LAG.
        lag: String = TEXT;
        /// Mux state: `detached`, `waiting`, `attached`, `collecting` or `distributing`.
        state: String = TEXT;
        /// Receive state: `current`, `expired`, `defaulted` or `port_disabled`.
        receive: String = TEXT;
        /// Why the port is not distributing. Absent if it is.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String> = TEXT;
        /// Time until the port was first distributing, s. Absent if it never was.
        #[serde(skip_serializing_if = "Option::is_none")]
        distributing_after_s: Option<f64> = SECONDS;
        /// Number of times the port stopped distributing before the shutdown at the end.
        flaps: u64 = COUNT.counter("lacp_flaps");
        /// LACPDUs sent, including the shutdown.
        tx_lacpdus: u64 = COUNT;
        /// LACPDUs received.
        rx_lacpdus: u64 = COUNT;
        /// PDUs received that are malformed.
        rx_errors: u64 = COUNT;
        /// PDUs received of unknown slow protocols.
        rx_unknown: u64 = COUNT;
        /// Markers received.
        rx_markers: u64 = COUNT;
        /// Marker responses sent.
        tx_marker_responses: u64 = COUNT;
        /// Commands that disabled or enabled LACP.
        commands: u64 = COUNT;
        /// This end of the link.
        actor: LacpEndResult = PART;
        /// The other end, by its last LACPDU. Absent if none was received.
        #[serde(skip_serializing_if = "Option::is_none")]
        partner: Option<LacpEndResult> = PART;
    }
}

part! {
    /// One end of a link.
    pub struct LacpEndResult {
        /// Identifier of the system, a MAC address.
        system: String = TEXT;
        /// Priority of the system.
        system_priority: u64 = COUNT;
        /// Key of the LAG.
        key: u64 = COUNT;
        /// Number of the port.
        port: u64 = COUNT;
        /// Priority of the port.
        port_priority: u64 = COUNT;
        /// State flags: `activity`, `timeout`, `aggregation`, `synchronization`, `collecting`, `distributing`,
        /// `defaulted`, `expired`.
        state: Vec<String> = TEXT;
    }
}

/// A port of a lag.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LacpPortState {
    /// Name of the port in the profile.
    pub port: String,
    /// Whether a command has disabled LACP on it.
    pub is_down: bool,
    /// Current LACP state.
    pub lacp: LacpResult,
}

impl HostsResult for LacpResult {
    fn sentence(&self) -> String {
        let mut text = format!("{} in lag {}", self.state, self.lag);
        if let Some(after) = self.distributing_after_s {
            let _ = write!(text, ", distributed after {after:.3} s");
        }
        let _ = write!(text, "; stopped {} times", count(self.flaps));
        text
    }
}

impl HostState for LacpPortState {
    /// Once it has left its lag.
    fn end(&mut self) {
        let off = ["synchronization", "collecting", "distributing"];
        self.lacp.state = "detached".to_owned();
        self.lacp.actor.state.retain(|state| !off.contains(&state.as_str()));
        self.lacp.partner = None;
    }
}
