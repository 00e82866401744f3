//! Connections of QUIC version 1 for flows of sessions: quinn-proto behind the seam of `session::quic`.
//!
//! Datagrams in, datagrams out. Not here: sockets, UDP, the content of streams. Source: RFC 9000, RFC 9001, RFC 9002.
//!
//! One endpoint makes all connections of a group of a worker. A flow is one pair of addresses and ports, which the
//! stack distinguishes, so the endpoint need not know them: each flow has a name in place of the peer's address. A client
//! that comes from another address or port comes on another flow: see [`paths`].
//!
//! It is an edge room because its handshakes draw randomness and read the wall clock, as `tls` does. Everything else –
//! connection identifiers, skipped packet numbers, the order of transport parameters – follows from a seed, and the
//! lengths of handshake messages do not depend on chance there ([`Sides::steady`]). So in virtual time a seed gives the
//! same packets, of the same lengths, at the same instants.

#![forbid(unsafe_code)]

mod congestion;
mod connection;
mod crypto;
mod ids;
mod paths;
mod side;

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use rustls::server::ServerSessionMemoryCache;
use session::plan::TlsPlan;
use session::quic::QuicSide;
use tls::TlsError;
use units::Nanos;

use crate::side::Side;

/// Sessions that servers keep for early data at most; without it tickets hold all there is.
const SESSIONS_MAX: usize = 1 << 16;

/// Settings common to one side's connections.
#[derive(Debug, Clone, Copy)]
pub struct Settings {
    /// Longest IP packet, and whether it is one of IPv6.
    pub mtu: u16,
    /// See `mtu`.
    pub is_v6: bool,
    /// Silence after which a connection is over; `None` is never.
    pub idle_timeout: Option<Nanos>,
    /// Seed of everything that is drawn by lot outside of the encryption.
    pub seed: u64,
    /// Whether servers have clients prove their address first, by a Retry packet (RFC 9000 section 8.1.2).
    pub retry: bool,
    /// Whether clients send early data, and servers accept it (RFC 9001 section 4.6).
    pub early_data: bool,
    /// Whether connections take DATAGRAM frames (RFC 9221).
    pub datagrams: bool,
    /// Whether connections use congestion marks.
    pub ecn: bool,
    /// Number of the worker: the first byte of connection identifiers, which leads packets to it.
    pub worker: u8,
}

/// Both sides of one entry's QUIC, for all workers of a run.
pub struct Sides {
    tls: tls::Sides,
    /// The instant zero of the workers' clock, as the library knows instants.
    zero: Instant,
    /// Sessions that clients may resume with early data, once each: known to all workers of servers.
    sessions: Arc<ServerSessionMemoryCache>,
}

impl fmt::Debug for Sides {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sides").finish_non_exhaustive()
    }
}

impl Sides {
    /// From the plan of what its handshakes may agree upon: of TLS 1.3 (RFC 9001 section 4.2).
    pub fn new(plan: &TlsPlan) -> Self {
        let plan = TlsPlan { tls12: false, tls13: true, ..plan.clone() };
        // Only differences to it matter: time itself comes from the workers' clock.
        let sessions = ServerSessionMemoryCache::new(SESSIONS_MAX);
        Self { tls: tls::Sides::new(Arc::new(plan)), zero: Instant::now(), sessions }
    }

    /// The same, for virtual time: see [`tls::Sides::steady`].
    #[must_use]
    pub fn steady(self) -> Self {
        Self { tls: self.tls.steady(), ..self }
    }

    /// The same, with secrets handed over: see [`tls::Sides::logged`].
    #[must_use]
    pub fn logged(self, log: tls::KeyLog, by_clients: bool) -> Self {
        Self { tls: self.tls.logged(log, by_clients), ..self }
    }

    /// The clients of one worker.
    pub fn client(&self, settings: Settings) -> Result<Box<dyn QuicSide>, TlsError> {
        Ok(Box::new(Side::client(self.tls.client_setup()?, settings, self.zero)?))
    }

    /// The servers of one worker.
    pub fn server(&self, settings: Settings) -> Result<Box<dyn QuicSide>, TlsError> {
        Ok(Box::new(Side::server(&self.tls.server_setup()?, settings, self.zero, &self.sessions)?))
    }
}

#[cfg(test)]
mod tests;
