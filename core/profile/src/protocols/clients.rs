//! Clients behind a port, of whichever protocol. The one list of what streams, sessions and pings get from them.

use super::PartPlan;
use crate::document::{ClientVlansDoc, Mac};
use crate::plan::PortPlan;
use crate::resolve::Resolver;
use emulate::PoolConfig;
use units::{Nanos, Pps};
use wire::Vlans;

/// Clients behind a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientsPlan<C> {
    /// The clients; their hardware addresses only if they are given.
    pub config: C,
    /// Whether the hardware addresses in `config` are the profile's; if not, they are made of the port's.
    pub has_macs: bool,
    /// Time limit for all clients to get what they request.
    pub timeout: Nanos,
}

impl<C> PartPlan for ClientsPlan<C> {}

/// Assignment of what clients' streams need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientsBy {
    /// Addresses by DHCP or DHCPv6: the clients are hosts of their port.
    Lease,
    /// Addresses and sessions by PPPoE: the clients share no link.
    Session,
}

/// All of them, and their protocols, in words.
pub(crate) const KEYS_IN_WORDS: &str = "'dhcp' and 'pppoe'";
pub(crate) const CLIENTS_IN_WORDS: &str = "DHCP and PPPoE clients";

impl ClientsBy {
    const ALL: [Self; 2] = [Self::Lease, Self::Session];

    /// Name of all clients of a port in a profile.
    pub fn key(self) -> &'static str {
        match self {
            Self::Lease => "dhcp",
            Self::Session => "pppoe",
        }
    }

    /// The protocol in words.
    pub fn protocol(self) -> &'static str {
        match self {
            Self::Lease => "DHCP",
            Self::Session => "PPPoE",
        }
    }

    /// Name of one client of a port, by its number.
    pub fn name(self, client: u32) -> String {
        format!("{}[{client}]", self.key())
    }

    /// The clients with this name.
    pub(crate) fn of_key(key: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|by| by.key() == key)
    }

    /// Whether a host has the name of clients, or of one.
    pub fn is_name(name: &str) -> bool {
        Self::ALL.into_iter().any(|by| {
            let rest = name.strip_prefix(by.key());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('[') && rest.ends_with(']'))
        })
    }

    /// Fields of packets that differ from client to client.
    pub(crate) fn own_fields(self) -> &'static [&'static str] {
        let all = &["ipv4.src", "ipv6.src", "ethernet.src", "ethernet.dst", "pppoe.session"];
        match self {
            Self::Lease => &all[..3],
            Self::Session => all,
        }
    }
}

impl PortPlan {
    /// Whether clients behind it get addresses when a trial begins.
    pub fn has_clients(&self) -> bool {
        ClientsBy::ALL.into_iter().any(|by| self.has_clients_by(by))
    }

    /// Whether it has clients of this kind.
    pub fn has_clients_by(&self, by: ClientsBy) -> bool {
        [false, true].into_iter().any(|is_v6| self.client_pool(by, is_v6).is_some())
    }

    /// The clients of an IP version.
    pub(crate) fn client_pool(&self, by: ClientsBy, is_v6: bool) -> Option<&PoolConfig> {
        match (by, is_v6) {
            (ClientsBy::Lease, false) => self.dhcp.as_ref().map(|clients| &clients.config.pool),
            (ClientsBy::Lease, true) => self.dhcpv6.as_ref().map(|clients| &clients.config.pool),
            (ClientsBy::Session, false) => self.pppoe.as_ref().map(|clients| &clients.config.pool),
            (ClientsBy::Session, true) => None,
        }
    }

    /// The clients that get addresses of an IP version, not prefixes alone.
    pub(crate) fn clients_with_addresses(&self, by: ClientsBy, is_v6: bool) -> Option<&PoolConfig> {
        let has_address = !is_v6 || self.dhcpv6.as_ref().is_some_and(|clients| clients.config.address);
        self.client_pool(by, is_v6).filter(|_| has_address)
    }
}

/// Keys of all clients.
pub(super) struct ClientKeys<'a> {
    pub(super) clients: u32,
    pub(super) mac: Option<&'a Mac>,
    pub(super) vlans: Option<&'a ClientVlansDoc>,
    pub(super) rate: Pps,
    pub(super) outstanding: u32,
    pub(super) timeout: Nanos,
}

/// The keys of a document.
macro_rules! client_keys {
    ($doc:ident) => {
        $crate::protocols::clients::ClientKeys {
            clients: $doc.clients,
            mac: $doc.mac.as_ref(),
            vlans: $doc.vlans.as_ref(),
            rate: $doc.rate.0,
            outstanding: $doc.outstanding,
            timeout: $doc.timeout.0,
        }
    };
}
pub(super) use client_keys;

impl Resolver<'_> {
    /// The plan of the clients at `path`, by the keys of all; `config` makes the rest of their settings.
    pub(super) fn clients<C>(
        &mut self,
        (path, name): (&str, &str),
        keys: &ClientKeys<'_>,
        vlans: &Vlans,
        config: impl FnOnce(&mut Self, PoolConfig) -> C,
    ) -> ClientsPlan<C> {
        self.within_a_year(&format!("{path}.timeout"), keys.timeout);
        let first = self.first_mac(path, keys.mac, keys.clients);
        let pool = PoolConfig {
            clients: keys.clients,
            mac: first.map_or([0; 6], |mac| mac.0),
            vlans: self.client_vlans(path, keys.vlans, keys.clients, vlans),
            rate: self.per_second(&format!("{path}.rate"), keys.rate),
            outstanding: keys.outstanding,
            seed: self.seed_of(path, name),
        };
        ClientsPlan { config: config(self, pool), has_macs: first.is_some(), timeout: keys.timeout }
    }

    /// The time until a message is repeated, which is never at once.
    pub(super) fn retry(&mut self, path: &str, retry: Nanos) -> Nanos {
        let path = format!("{path}.retry");
        self.within_a_year(&path, retry);
        if retry == Nanos::ZERO {
            self.reading.fail(path, "must be longer than 0");
        }
        retry
    }
}
