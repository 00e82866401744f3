//! DHCP and DHCPv6 clients of a port: their result, and their states while a trial runs.

use super::{HostState, HostsResult};
use crate::LatencyResult;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use units::{count, quantity};

part! {
    /// DHCP clients of a port, from before traffic until their release.
    pub struct DhcpResult {
        /// Clients.
        clients: u64 = COUNT.gauge("dhcp_clients");
        /// Clients that had an address when traffic started.
        bound: u64 = COUNT;
        /// Clients without an address when traffic started.
        failed: u64 = COUNT;
        /// Clients that have an address now; in a result, when traffic had ended.
        #[serde(default)]
        holding: u64 = COUNT.gauge("dhcp_leases");
        /// Clients started per second, from the first to the last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        begun_per_s: Option<f64> = PER_S;
        /// Leases per second, from the first DISCOVER to the last first lease.
        #[serde(skip_serializing_if = "Option::is_none")]
        bound_per_s: Option<f64> = PER_S;
        /// Time from a client's first DISCOVER to its lease.
        #[serde(skip_serializing_if = "Option::is_none")]
        bind_ns: Option<LatencyResult> = PART;
        /// DISCOVER messages sent.
        discovers: u64 = COUNT.counter("dhcp_discovers");
        /// OFFER messages received by clients waiting for one.
        offers: u64 = COUNT.counter("dhcp_offers");
        /// REQUEST messages sent.
        requests: u64 = COUNT.counter("dhcp_requests");
        /// ACK messages received that started or extended a lease.
        acks: u64 = COUNT.counter("dhcp_acks");
        /// NAK messages received by clients in reply to a request.
        naks: u64 = COUNT.counter("dhcp_naks");
        /// DECLINE messages sent.
        #[serde(default)]
        declines: u64 = COUNT.counter("dhcp_declines");
        /// RELEASE messages sent.
        releases: u64 = COUNT.counter("dhcp_releases");
        /// OFFER and ACK messages with an unusable address: in 0.0.0.0/8, 127.0.0.0/8 or 224.0.0.0/3, the network's
        /// first or last address, or the server's or router's address.
        #[serde(default)]
        refused: u64 = COUNT.counter("dhcp_refused");
        /// Messages retransmitted because no reply arrived.
        repeated: u64 = COUNT;
        /// Leases renewed by their server.
        renewed: u64 = COUNT.counter("dhcp_renewed_leases");
        /// Leases rebound because their server did not reply.
        rebound: u64 = COUNT.counter("dhcp_rebound_leases");
        /// Leases that expired without renewal, or were ended by a NAK.
        lost: u64 = COUNT.counter("dhcp_lost_leases");
        /// Leases of an address already leased to another client of the tester. Declined if clients check for
        /// duplicates.
        conflicts: u64 = COUNT;
        /// Leases of an address already used by a neighbour; declined.
        #[serde(default)]
        duplicates: u64 = COUNT;
        /// Commands carried out: addresses renewed or released.
        #[serde(default)]
        commands: u64 = COUNT;
    }
}

part! {
    /// DHCPv6 clients of a port, from before traffic until their release.
    pub struct Dhcpv6Result {
        /// Clients.
        clients: u64 = COUNT.gauge("dhcpv6_clients");
        /// Clients with all requested leases when traffic started.
        bound: u64 = COUNT;
        /// Clients that were not up when traffic started.
        failed: u64 = COUNT;
        /// Clients with all requested leases now; in a result, when traffic had ended.
        holding: u64 = COUNT.gauge("dhcpv6_leases");
        /// Clients started per second, from the first to the last.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        begun_per_s: Option<f64> = PER_S;
        /// Leases per second, from the first SOLICIT to the last first lease.
        #[serde(skip_serializing_if = "Option::is_none")]
        bound_per_s: Option<f64> = PER_S;
        /// Time from a client's first SOLICIT to its lease.
        #[serde(skip_serializing_if = "Option::is_none")]
        bind_ns: Option<LatencyResult> = PART;
        /// Link-local address of the router that sent advertisements.
        #[serde(skip_serializing_if = "Option::is_none")]
        router: Option<String> = TEXT;
        /// SOLICIT messages sent.
        solicits: u64 = COUNT.counter("dhcpv6_solicits");
        /// ADVERTISE messages received by clients looking for a server.
        advertises: u64 = COUNT.counter("dhcpv6_advertises");
        /// REQUEST messages sent.
        requests: u64 = COUNT.counter("dhcpv6_requests");
        /// RENEW messages sent.
        renews: u64 = COUNT.counter("dhcpv6_renews");
        /// REBIND messages sent.
        rebinds: u64 = COUNT.counter("dhcpv6_rebinds");
        /// RELEASE messages sent.
        releases: u64 = COUNT.counter("dhcpv6_releases");
        /// DECLINE messages sent.
        declines: u64 = COUNT.counter("dhcpv6_declines");
        /// REPLY messages received by clients in reply to a request.
        replies: u64 = COUNT.counter("dhcpv6_replies");
        /// ADVERTISE and REPLY messages without the requested addresses or prefixes.
        refused: u64 = COUNT.counter("dhcpv6_refused");
        /// Messages retransmitted because no reply arrived.
        repeated: u64 = COUNT;
        /// Leases renewed by their server.
        renewed: u64 = COUNT.counter("dhcpv6_renewed_leases");
        /// Leases rebound because their server did not reply.
        rebound: u64 = COUNT.counter("dhcpv6_rebound_leases");
        /// Leases that expired without renewal, or were ended by their server.
        lost: u64 = COUNT.counter("dhcpv6_lost_leases");
        /// Leases of an address or a prefix already leased to another client of the tester; declined.
        conflicts: u64 = COUNT;
        /// Leases of an address already used by a neighbour; declined.
        duplicates: u64 = COUNT;
        /// Commands carried out: leases renewed or released.
        commands: u64 = COUNT;
    }
}

/// A DHCP client behind a port.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DhcpClientState {
    /// Name of the port in the profile.
    pub port: String,
    /// Number of the client, from 0.
    pub client: u32,
    /// MAC address: `02:00:00:00:00:01`.
    pub mac: String,
    /// Leased address; null without a lease. The other fields are null then, too.
    pub ip: Option<String>,
    /// Length of its network's prefix, bits.
    pub prefix_len: Option<u8>,
    /// Router (option 3).
    pub router: Option<String>,
    /// Server that granted the lease.
    pub server: Option<String>,
    /// Duration of the lease, s.
    pub lease_s: Option<u32>,
    /// Seconds of the lease until the client requests a renewal from its server (T1).
    pub renew_s: Option<u32>,
    /// Seconds of the lease until the client requests a rebind from any server (T2).
    pub rebind_s: Option<u32>,
    /// Time since the lease started or was extended, s.
    #[serde(default)]
    pub leased_for_s: Option<f64>,
    /// DISCOVER messages sent.
    pub discovers: u32,
    /// OFFER messages received.
    pub offers: u32,
    /// REQUEST messages sent.
    pub requests: u32,
    /// ACK messages received.
    pub acks: u32,
    /// NAK messages received.
    pub naks: u32,
    /// RELEASE messages sent.
    pub releases: u32,
}

/// A DHCPv6 client behind a port.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Dhcpv6ClientState {
    /// Name of the port in the profile.
    pub port: String,
    /// Number of the client, from 0.
    pub client: u32,
    /// MAC address: `02:00:00:00:00:01`.
    pub mac: String,
    /// Link-local address.
    pub link_local: String,
    /// Leased address; null without a lease, or if none was requested. The other fields are null without a lease, too.
    pub ip: Option<String>,
    /// Delegated prefix; null if none was requested.
    pub prefix: Option<String>,
    /// Prefix length, bits.
    pub prefix_len: Option<u8>,
    /// DUID of the server that granted the lease, in hexadecimal digits.
    pub server: Option<String>,
    /// Duration of the lease, s.
    pub valid_s: Option<u32>,
    /// Seconds of the lease until the client requests a renewal from its server (T1).
    pub renew_s: Option<u32>,
    /// Seconds of the lease until the client requests a rebind from any server (T2).
    pub rebind_s: Option<u32>,
    /// SOLICIT messages sent.
    pub solicits: u32,
    /// ADVERTISE messages received.
    pub advertises: u32,
    /// ADVERTISE messages without the requested addresses or prefixes.
    pub passed_over: u32,
    /// REQUEST messages sent.
    pub requests: u32,
    /// RENEW messages sent.
    pub renews: u32,
    /// REBIND messages sent.
    pub rebinds: u32,
    /// REPLY messages received.
    pub replies: u32,
    /// REPLY messages without the requested addresses or prefixes.
    pub refused: u32,
    /// RELEASE messages sent.
    pub releases: u32,
}

impl HostsResult for DhcpResult {
    fn sentence(&self) -> String {
        let mut text = format!("{} of {} DHCP clients bound", count(self.bound), count(self.clients));
        if let Some(rate) = self.bound_per_s {
            let (p50, p99) = LatencyResult::median_and_p99(self.bind_ns.as_ref());
            let _ = write!(text, ", {}, each in {p50} (p50), {p99} (p99)", quantity(rate, "/s"));
        }
        let _ = write!(text, "; {} renewed, {} lost", count(self.renewed + self.rebound), count(self.lost));
        text
    }
}

impl HostsResult for Dhcpv6Result {
    fn sentence(&self) -> String {
        let mut text = format!("{} of {} DHCPv6 clients bound", count(self.bound), count(self.clients));
        if let Some(rate) = self.bound_per_s {
            let (p50, _) = LatencyResult::median_and_p99(self.bind_ns.as_ref());
            let _ = write!(text, ", {}, each in {p50} (p50)", quantity(rate, "/s"));
        }
        let _ = write!(text, "; {} renewed, {} lost", count(self.renewed + self.rebound), count(self.lost));
        text
    }
}

impl HostState for DhcpClientState {
    /// Once it has released its lease.
    fn end(&mut self) {
        self.ip = None;
        (self.prefix_len, self.router, self.server) = (None, None, None);
        (self.lease_s, self.renew_s, self.rebind_s) = (None, None, None);
    }
}

impl HostState for Dhcpv6ClientState {
    /// Once it has released its leases.
    fn end(&mut self) {
        (self.ip, self.prefix, self.prefix_len, self.server) = (None, None, None, None);
        (self.valid_s, self.renew_s, self.rebind_s) = (None, None, None);
    }
}
