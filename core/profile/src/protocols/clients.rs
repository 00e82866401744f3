//! Clients behind a port, of whichever protocol.

use super::PartPlan;
use crate::document::{ClientVlansDoc, Mac};
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
