//! Virtual routers of a port.

use super::{HostState, HostsResult};
use crate::Counters;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use units::count;

part! {
    /// Virtual routers of a port (VRRP, RFC 9568).
    pub struct VrrpResult {
        /// Virtual routers.
        routers: u64 = COUNT.gauge("vrrp_routers");
        /// Virtual routers that were Active when traffic ended; before that, that are Active.
        active_at_end: u64 = COUNT.gauge("vrrp_active_routers");
        /// Times that virtual routers became Active.
        became_active: u64 = COUNT.counter("vrrp_became_active");
        /// Times that Active virtual routers became Backup.
        became_backup: u64 = COUNT.counter("vrrp_became_backup");
        /// Longest takeover: time from the last advertisement of another router to becoming Active. Absent if there was
        /// none.
        #[serde(skip_serializing_if = "Option::is_none")]
        takeover_max_s: Option<f64> = SECONDS;
        /// Advertisements sent.
        tx_advertisements: u64 = COUNT.counter("vrrp_sent_advertisements");
        /// Valid advertisements received.
        rx_advertisements: u64 = COUNT.counter("vrrp_received_advertisements");
        /// Advertisements discarded, by reason: 'ttl' (not 255), 'version', 'type', 'length', 'checksum',
        /// 'authentication' and 'interval' (VRRPv2), 'owner' (the virtual router here owns the addresses), 'own' (from the
        /// host's own address).
        #[serde(skip_serializing_if = "Counters::is_empty")]
        rx_invalid: Counters = COUNT.by(&[Key::RxError]).counter("vrrp_invalid_advertisements");
        /// Advertisements received with VRIDs that no host of the port has.
        rx_unknown_vrid: u64 = COUNT;
        /// Virtual routers that commands changed, counted by command.
        commands: u64 = COUNT;
        /// Each of them, in the order of the profile.
        virtual_routers: Vec<VrrpRouterResult> = PART.by(&[Key::Index]);
    }
}

part! {
    /// A virtual router, now; in a result, when traffic had ended.
    pub struct VrrpRouterResult {
        /// Name of the virtual router in the profile; empty without one.
        name: String = TEXT;
        /// Name of its host.
        host: String = TEXT;
        /// Virtual router identifier.
        vrid: u64 = COUNT;
        /// Version of the protocol.
        version: u64 = COUNT;
        /// Address of the host, the source of advertisements.
        local: String = TEXT;
        /// Virtual addresses.
        addresses: Vec<String> = TEXT;
        /// Virtual MAC address.
        mac: String = TEXT;
        /// State: `initialize`, `backup` or `active`.
        state: String = TEXT;
        /// Priority.
        priority: u64 = COUNT;
        /// Address of the other router that advertised last. Absent if none did.
        #[serde(skip_serializing_if = "Option::is_none")]
        peer: Option<String> = TEXT;
        /// Priority of that router; 0 if it left.
        #[serde(skip_serializing_if = "Option::is_none")]
        peer_priority: Option<u64> = COUNT;
        /// Times it became Active.
        became_active: u64 = COUNT;
        /// Times it became Backup after it had been Active.
        became_backup: u64 = COUNT;
        /// Latest takeover: time from the last advertisement of another router to its own first one as Active. Absent if
        /// there was none.
        #[serde(skip_serializing_if = "Option::is_none")]
        takeover_s: Option<f64> = SECONDS;
        /// Latest handover: time from its last advertisement as Active before it left to the first one of another router.
        /// Absent if there was none.
        #[serde(skip_serializing_if = "Option::is_none")]
        handover_s: Option<f64> = SECONDS;
        /// Advertisements sent.
        tx_advertisements: u64 = COUNT;
        /// Those of them with priority 0.
        tx_priority_zero: u64 = COUNT;
        /// Valid advertisements received.
        rx_advertisements: u64 = COUNT;
        /// Those of them with priority 0.
        rx_priority_zero: u64 = COUNT;
        /// Those of them with other virtual addresses or another interval than here.
        rx_differing: u64 = COUNT;
        /// Advertisements discarded, by reason.
        #[serde(skip_serializing_if = "Counters::is_empty")]
        rx_invalid: Counters = COUNT.by(&[Key::RxError]);
        /// Replies to ARP, neighbour discovery and echo for the virtual addresses.
        tx_replies: u64 = COUNT;
        /// Latest changes of its state, the oldest first; at most 16.
        changes: Vec<VrrpChangeResult> = PART.by(&[Key::Index]);
    }
}

part! {
    /// A change of a virtual router's state.
    pub struct VrrpChangeResult {
        /// When, s since traffic started; negative before. Absent while traffic has not started.
        #[serde(skip_serializing_if = "Option::is_none")]
        at_s: Option<f64> = SECONDS;
        /// New state.
        state: String = TEXT;
        /// Why: `startup`; `timeout` (no advertisement for the Active_Down interval); `resigned` (the Active router
        /// advertised priority 0); `preempting` (the Active router had a lower priority); `preempted` (another router had
        /// a higher one); `left` (by its time, a command, or the end).
        reason: String = TEXT;
        /// To Active: time since the last advertisement of another router. Absent if there was none.
        #[serde(skip_serializing_if = "Option::is_none")]
        takeover_s: Option<f64> = SECONDS;
    }
}

/// A virtual router of a port.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VrrpRouterState {
    /// Name of the port in the profile.
    pub port: String,
    /// Whether it has left, by its time or a command.
    pub is_down: bool,
    /// Current state.
    pub router: VrrpRouterResult,
}

impl HostsResult for VrrpResult {
    fn sentence(&self) -> String {
        let (active, all) = (count(self.active_at_end), count(self.routers));
        let mut text = format!("{active} of {all} virtual routers Active at the end");
        if let Some(longest) = self.takeover_max_s {
            let _ = write!(text, ", longest takeover {longest:.3} s");
        }
        let (became, lost) = (count(self.became_active), count(self.became_backup));
        let times = |n: &str| if n == "1" { "once".to_owned() } else { format!("{n} times") };
        let _ = write!(text, "; became Active {}, Backup {}", times(&became), times(&lost));
        text
    }
}

impl HostState for VrrpRouterState {
    /// Once it has left.
    fn end(&mut self) {
        self.is_down = true;
    }
}
