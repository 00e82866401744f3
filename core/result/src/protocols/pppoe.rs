//! PPPoE clients of a port: their result, and their states while a trial runs.

use super::{HostState, HostsResult};
use crate::LatencyResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use units::{count, quantity};

part! {
    /// PPPoE clients of a port, from before traffic until the end of their sessions.
    pub struct PppoeResult {
        /// Clients.
        clients: u64 = COUNT.gauge("pppoe_clients");
        /// Clients that had a session and an address when traffic started.
        up: u64 = COUNT;
        /// Clients that were not up when traffic started.
        failed: u64 = COUNT;
        /// Clients that have a session and an address now; in a result, when traffic had ended.
        holding: u64 = COUNT.gauge("pppoe_sessions");
        /// Sessions per second, from the first PADI to the last first session.
        #[serde(skip_serializing_if = "Option::is_none")]
        up_per_s: Option<f64> = PER_S;
        /// Time from a client's first PADI to its first session with all requested addresses.
        #[serde(skip_serializing_if = "Option::is_none")]
        setup_ns: Option<LatencyResult> = PART;
        /// Duration of discovery, from the first PADI of an attempt to its PADS.
        #[serde(skip_serializing_if = "Option::is_none")]
        discovery_ns: Option<LatencyResult> = PART;
        /// Duration of LCP negotiation, from the PADS until the link was open.
        #[serde(skip_serializing_if = "Option::is_none")]
        link_ns: Option<LatencyResult> = PART;
        /// Duration of authentication, from link establishment until the client was accepted. Absent without
        /// authentication.
        #[serde(skip_serializing_if = "Option::is_none")]
        authentication_ns: Option<LatencyResult> = PART;
        /// Duration of IPCP and IPV6CP negotiation, from authentication until the client had its address.
        #[serde(skip_serializing_if = "Option::is_none")]
        network_ns: Option<LatencyResult> = PART;
        /// Sessions established, including reconnected clients.
        sessions: u64 = COUNT.counter("pppoe_sessions_up");
        /// PADI packets sent.
        padis: u64 = COUNT.counter("pppoe_padis");
        /// PADO packets received by clients in discovery.
        pados: u64 = COUNT.counter("pppoe_pados");
        /// Of these, packets from another access concentrator, or without the requested service.
        passed_over: u64 = COUNT;
        /// PADR packets sent.
        padrs: u64 = COUNT.counter("pppoe_padrs");
        /// PADS packets received that started a session.
        padss: u64 = COUNT.counter("pppoe_padss");
        /// PADT packets sent.
        padts_sent: u64 = COUNT.counter("pppoe_padts_sent");
        /// PADT packets received for the clients' sessions.
        padts_received: u64 = COUNT.counter("pppoe_padts_received");
        /// Discovery and PPP messages retransmitted because no reply arrived.
        repeated: u64 = COUNT.counter("pppoe_repeated");
        /// Attempts that ended with an error in discovery.
        failed_discovery: u64 = COUNT.counter("pppoe_failed_discovery");
        /// Attempts in which LCP negotiation did not converge.
        failed_link: u64 = COUNT.counter("pppoe_failed_link");
        /// Attempts in which user name or password were rejected, or authentication was not requested or not completed.
        failed_authentication: u64 = COUNT.counter("pppoe_failed_authentication");
        /// Attempts in which the client got no address.
        failed_network: u64 = COUNT.counter("pppoe_failed_network");
        /// Attempts that the access concentrator ended.
        failed_ended: u64 = COUNT.counter("pppoe_failed_ended");
        /// Sessions that ended without a request of the client.
        lost: u64 = COUNT.counter("pppoe_lost_sessions");
        /// Of these, sessions ended by the access concentrator.
        lost_ended: u64 = COUNT;
        /// Of these, sessions ended because echo requests had no reply.
        lost_silent: u64 = COUNT;
        /// Last reason given by an access concentrator, verbatim. Absent if none.
        #[serde(skip_serializing_if = "Option::is_none")]
        message: Option<String> = TEXT;
        /// LCP Echo-Request packets sent.
        echo_requests: u64 = COUNT.counter("pppoe_echo_requests");
        /// LCP Echo-Reply packets received.
        echo_replies: u64 = COUNT.counter("pppoe_echo_replies");
        /// Echo-Requests of access concentrators that the clients replied to.
        echoes_answered: u64 = COUNT;
        /// Packets of unknown protocols or with unknown codes; rejected.
        rejected: u64 = COUNT;
        /// Addresses already assigned to another client of the tester.
        conflicts: u64 = COUNT;
        /// Commands carried out: sessions started or ended.
        commands: u64 = COUNT;
    }
}

/// A PPPoE client behind a port.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PppoeClientState {
    /// Name of the port in the profile.
    pub port: String,
    /// Number of the client, from 0.
    pub client: u32,
    /// MAC address: `02:00:00:00:00:01`.
    pub mac: String,
    /// Phase: `waiting`, `discovery`, `link`, `authentication`, `network`, `up`, `terminating`, `pausing` before
    /// another attempt, or `down`.
    pub phase: String,
    /// Session identifier; null if the session is not up. The other fields are null then, too.
    pub session: Option<u16>,
    /// MAC address of the access concentrator.
    pub ac: Option<String>,
    /// Address.
    pub ip: Option<String>,
    /// Address of the access concentrator; null if not announced.
    pub peer: Option<String>,
    /// Addresses of name servers.
    pub dns: Vec<String>,
    /// IPv6 interface identifier, in hexadecimal digits; null if none was negotiated.
    pub interface: Option<String>,
    /// Longest IP packet that the access concentrator accepts, bytes.
    pub mru: Option<u16>,
    /// Time since the session came up, s.
    pub up_for_s: Option<f64>,
    /// Why the last attempt failed or the last session ended: `discovery`, `link`, `authentication`, `network`, `ended` by the access
    /// concentrator, or `silent`; null if none did.
    pub failure: Option<String>,
    /// Sessions that came up.
    pub sessions: u32,
    /// Attempts that failed.
    pub failed: u32,
    /// Sessions that ended without a request of the client.
    pub lost: u32,
}

impl HostsResult for PppoeResult {
    fn sentence(&self) -> String {
        let mut text = format!("{} of {} PPPoE clients up", count(self.up), count(self.clients));
        if let Some(rate) = self.up_per_s {
            let (p50, p99) = LatencyResult::median_and_p99(self.setup_ns.as_ref());
            let _ = write!(text, ", {}, each in {p50} (p50), {p99} (p99)", quantity(rate, "/s"));
        }
        let _ = write!(text, "; {} lost", count(self.lost));
        text
    }
}

impl HostState for PppoeClientState {
    /// Once its session has ended.
    fn end(&mut self) {
        self.phase = "down".to_owned();
        (self.session, self.ac, self.ip, self.peer) = (None, None, None, None);
        (self.interface, self.mru, self.up_for_s) = (None, None, None);
        self.dns.clear();
    }
}
