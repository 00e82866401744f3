//! The seam to encryption: a session's interface to TLS, for any implementation.
//!
//! It is a seam because encryption draws randomness and reads certificates, which no core room does.

use crate::quic::QuicSide;
use units::Nanos;

/// Why a secured flow failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecureError {
    /// The peer sent an alert: its name in TLS (RFC 8446 section 6), such as `handshake_failure`, or its number.
    AlertReceived(&'static str),
    /// There is no application protocol that both ends support (ALPN): which of them found so. The alert for it is
    /// `no_application_protocol` (RFC 7301 section 3.2).
    NothingCommon(&'static str),
    /// The peer's certificate is not good: why, in a word or two.
    Certificate(String),
    /// The peer sent something that is no TLS, or none this side takes.
    Protocol(String),
}

/// Negotiated parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Agreed {
    /// `1.2` or `1.3`.
    pub version: &'static str,
    /// The suite's name (IANA), such as `TLS13_AES_128_GCM_SHA256`.
    pub suite: &'static str,
    /// The key exchange's name, such as `X25519`; empty if there was none.
    pub group: &'static str,
    /// The application protocol's name, such as `h2`; empty if there was none.
    pub alpn: &'static str,
    /// Whether an earlier session was resumed.
    pub resumed: bool,
}

/// One flow's encryption. Bytes in, bytes out; no socket, no waiting.
pub trait Secure: Send {
    /// Takes bytes from the peer, in order; their plain text is appended to `plain`. Output for the peer is fetched by
    /// [`Secure::take_output`], also after an error (an alert).
    fn receive(&mut self, now: Nanos, bytes: &[u8], plain: &mut Vec<u8>) -> Result<(), SecureError>;

    /// Encrypts bytes for the peer; held back until the handshake is done.
    fn send(&mut self, plain: &[u8]);

    /// Says that nothing more will be sent (`close_notify`).
    fn close(&mut self);

    /// Appends what is owed to the peer to `out`.
    fn take_output(&mut self, out: &mut Vec<u8>);

    /// Negotiated parameters, once the handshake is done.
    fn agreed(&self) -> Option<Agreed>;

    /// Whether the peer announced that it sends nothing more (`close_notify`).
    fn peer_closed(&self) -> bool;
}

/// Encryption of one side of one session entry.
pub enum Layer {
    /// TLS around what TCP carries.
    Tls(Box<dyn SecureSide>),
    /// QUIC, which is the carrier, too.
    Quic(Box<dyn QuicSide>),
}

impl std::fmt::Debug for Layer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if matches!(self, Self::Tls(_)) { "Tls" } else { "Quic" })
    }
}

/// Makes the encryption of one side of one session entry.
pub trait SecureSide: Send {
    /// For a new flow. `number` counts the side's flows: what varies from flow to flow (the server name) follows it.
    fn start(&mut self, now: Nanos, number: u64) -> Box<dyn Secure>;
}
