//! PPPoE clients behind a port (RFC 2516), thousands of them: each finds an access concentrator, agrees on a link with it (LCP, RFC
//! 1661), proves who it is (PAP, RFC 1334; CHAP, RFC 1994; MS-CHAP version 2, RFC 2759), gets an address (IPCP, RFC 1332) and an interface
//! identifier (IPV6CP, RFC 5072), keeps its session alive by echo requests, and ends it.
//!
//! Not here: what is sent in a session besides its control protocols; compression, encryption, multilink, callback.
//!
//! Invariant: clients begin no faster than at the rate, and never more than the limit are on their way at a time.

mod client;
mod clients;
mod discovery;
mod negotiation;
mod packet;
mod secret;

pub use client::{PppoeFailure, PppoeMethod, PppoeTally};
pub use clients::{
    PppoeClients, PppoeConfig, PppoeCounts, PppoePhase, PppoeProtocol, PppoeSession, PppoeView,
};
pub(crate) use discovery::{DISCOVERY, SESSION, is_control};
