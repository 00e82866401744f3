//! The handshake and the keys of a connection: rustls as quinn-proto wants it (RFC 9001).
//!
//! The library has its own such layer. This one stores the negotiated parameters, and the reason of a failed handshake,
//! for results.

use std::any::Any;
use std::io::Cursor;
use std::sync::{Arc, Mutex, PoisonError};

use aws_lc_rs::aead::{AES_128_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use quinn_proto::crypto::{
    ClientConfig, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig, Session,
    UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use rustls::pki_types::ServerName;
use rustls::quic::{
    self, ClientConnection, Connection, KeyChange, Secrets, ServerConnection, Suite, Version,
};
use rustls::{CipherSuite, HandshakeKind};
use session::secure::{Agreed, SecureError};

/// Key and nonce of what protects a Retry packet (RFC 9001 section 5.8).
const RETRY_KEY: [u8; 16] =
    [0xbe, 0x0c, 0x69, 0x0b, 0x9f, 0x66, 0x57, 0x5a, 0x1d, 0x76, 0x6b, 0x54, 0xe3, 0x68, 0xc8, 0x4e];
const RETRY_NONCE: [u8; 12] = [0x46, 0x15, 0x99, 0xd3, 0x5d, 0x63, 0x2b, 0xf2, 0x23, 0x98, 0x25, 0xbb];
const RETRY_TAG: usize = 16;

/// The only supported version (RFC 9000 section 15).
pub(crate) const VERSION: u32 = 1;

/// A connection's result of its handshake.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) agreed: Option<Agreed>,
    pub(crate) error: Option<SecureError>,
    /// Keys of 1-RTT packets made after the first: the next ones are always there.
    next_keys: u64,
    /// The server announced a preferred address. The library does not use it: its clients would have to try a path before they take it.
    pub(crate) preferred_address: bool,
}

impl Outcome {
    /// Updates of the keys.
    pub(crate) fn updates(&self) -> u64 {
        self.next_keys.saturating_sub(1)
    }
}

/// Shared by a connection and its handshake, which the library owns.
pub(crate) type Shared = Arc<Mutex<Outcome>>;

/// The suite of the first packets, regardless of later negotiation (RFC 9001 section 5.2).
pub(crate) fn initial() -> Option<Suite> {
    rustls::crypto::aws_lc_rs::ALL_CIPHER_SUITES
        .iter()
        .find(|suite| suite.suite() == CipherSuite::TLS13_AES_128_GCM_SHA256)?
        .tls13()?
        .quic_suite()
}

/// Factory of clients' handshakes.
pub(crate) struct Clients {
    pub(crate) config: Arc<rustls::ClientConfig>,
    pub(crate) initial: Suite,
    /// Result of the last handshake started.
    pub(crate) last: Mutex<Option<Shared>>,
}

/// Factory of servers' handshakes.
pub(crate) struct Servers {
    pub(crate) config: Arc<rustls::ServerConfig>,
    pub(crate) initial: Suite,
    /// Result of the last handshake started.
    pub(crate) last: Mutex<Option<Shared>>,
}

fn remember(last: &Mutex<Option<Shared>>) -> Shared {
    let outcome = Shared::default();
    *last.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome.clone());
    outcome
}

/// Result of the last handshake started.
pub(crate) fn taken(last: &Mutex<Option<Shared>>) -> Shared {
    last.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default()
}

fn written(params: &TransportParameters) -> Vec<u8> {
    let mut bytes = Vec::new();
    params.write(&mut bytes);
    bytes
}

impl ClientConfig for Clients {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        if version != VERSION {
            return Err(ConnectError::UnsupportedVersion);
        }
        let wrong = || ConnectError::InvalidServerName(server_name.to_owned());
        let name = ServerName::try_from(server_name.to_owned()).map_err(|_| wrong())?;
        let connection = ClientConnection::new(self.config.clone(), Version::V1, name, written(params));
        // It fails for a name that can't be, or without any randomness.
        let connection = Connection::Client(connection.map_err(|_| wrong())?);
        Ok(Box::new(Handshake::new(connection, self.initial, remember(&self.last))))
    }
}

impl ServerConfig for Servers {
    fn initial_keys(&self, version: u32, id: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        if version != VERSION {
            return Err(UnsupportedVersion);
        }
        Ok(keys(self.initial.keys(id, quic_side(Side::Server), Version::V1)))
    }

    fn retry_tag(&self, _: u32, id: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        let mut tag = [0; RETRY_TAG];
        let pseudo = pseudo_packet(id, packet);
        let nonce = Nonce::assume_unique_for_key(RETRY_NONCE);
        if let Some(key) = retry_key()
            && let Ok(sealed) = key.seal_in_place_separate_tag(nonce, Aad::from(pseudo), &mut [])
        {
            tag.copy_from_slice(sealed.as_ref());
        }
        tag
    }

    fn start_session(self: Arc<Self>, _: u32, params: &TransportParameters) -> Box<dyn Session> {
        let outcome = remember(&self.last);
        match ServerConnection::new(self.config.clone(), Version::V1, written(params)) {
            Ok(connection) => Box::new(Handshake::new(Connection::Server(connection), self.initial, outcome)),
            Err(error) => Box::new(Failed { initial: self.initial, why: error.to_string() }),
        }
    }
}

/// Identifier of a preferred address among transport parameters (RFC 9000 section 18.2).
const PREFERRED_ADDRESS: u64 = 0x0d;

/// Whether an end has sent a transport parameter.
fn has_parameter(mut bytes: &[u8], wanted: u64) -> bool {
    while let Some(id) = number(&mut bytes) {
        if id == wanted {
            return true;
        }
        let rest = number(&mut bytes).and_then(|len| bytes.get(usize::try_from(len).ok()?..));
        let Some(rest) = rest else { return false };
        bytes = rest;
    }
    false
}

/// Takes a variable-length integer (RFC 9000 section 16).
fn number(bytes: &mut &[u8]) -> Option<u64> {
    let len = 1 << (bytes.first()? >> 6);
    let (own, rest) = bytes.split_at_checked(len)?;
    *bytes = rest;
    Some(own.iter().fold(0, |value, byte| value << 8 | u64::from(*byte)) & (u64::MAX >> (64 - 8 * len + 2)))
}

fn quic_side(side: Side) -> rustls::Side {
    match side {
        Side::Client => rustls::Side::Client,
        Side::Server => rustls::Side::Server,
    }
}

fn keys(keys: quic::Keys) -> Keys {
    let quic::Keys { local, remote } = keys;
    Keys {
        header: KeyPair { local: Box::new(local.header), remote: Box::new(remote.header) },
        packet: KeyPair { local: Box::new(local.packet), remote: Box::new(remote.packet) },
    }
}

fn retry_key() -> Option<LessSafeKey> {
    UnboundKey::new(&AES_128_GCM, &RETRY_KEY).ok().map(LessSafeKey::new)
}

/// Input of a Retry packet's integrity tag.
fn pseudo_packet(id: &ConnectionId, packet: &[u8]) -> Vec<u8> {
    [&[id.len() as u8][..], id, packet].concat()
}

/// One handshake.
struct Handshake {
    connection: Connection,
    initial: Suite,
    next: Option<Secrets>,
    /// The library was notified that there are events.
    told: bool,
    outcome: Shared,
}

impl Handshake {
    fn new(connection: Connection, initial: Suite, outcome: Shared) -> Self {
        Self { connection, initial, next: None, told: false, outcome }
    }

    fn agreed(&self) -> Option<Agreed> {
        let connection = &self.connection;
        Some(Agreed {
            version: "1.3",
            suite: tls::of_suite(connection.negotiated_cipher_suite()?.suite()),
            group: connection.negotiated_key_exchange_group().map_or("", |group| tls::of_group(group.name())),
            alpn: connection.alpn_protocol().map_or("", tls::of_protocol),
            resumed: connection.handshake_kind() == Some(HandshakeKind::Resumed),
        })
    }

    fn note(&self) {
        if !self.connection.is_handshaking() {
            let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
            if outcome.agreed.is_none() {
                outcome.agreed = self.agreed();
            }
        }
    }
}

impl Session for Handshake {
    fn initial_keys(&self, id: &ConnectionId, side: Side) -> Keys {
        keys(self.initial.keys(id, quic_side(side), Version::V1))
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        let keys = self.connection.zero_rtt_keys()?;
        Some((Box::new(keys.header), Box::new(keys.packet)))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        match &self.connection {
            Connection::Client(client) => Some(client.is_early_data_accepted()),
            Connection::Server(_) => None,
        }
    }

    fn is_handshaking(&self) -> bool {
        self.connection.is_handshaking()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        if let Err(error) = self.connection.read_hs(bytes) {
            let alert = self.connection.alert();
            let reason = error.to_string();
            self.outcome.lock().unwrap_or_else(PoisonError::into_inner).error = Some(tls::of_library(error));
            // Without an alert it is no TLS at all (RFC 8446 section 6.2).
            let code = alert.map_or(TransportErrorCode::PROTOCOL_VIOLATION, |alert| {
                TransportErrorCode::crypto(alert.into())
            });
            return Err(TransportError { code, frame: None, reason });
        }
        self.note();
        Ok(!self.connection.is_handshaking() && !std::mem::replace(&mut self.told, true))
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(bytes) = self.connection.quic_transport_parameters() else { return Ok(None) };
        let side = match self.connection {
            Connection::Client(_) => Side::Client,
            Connection::Server(_) => Side::Server,
        };
        if side == Side::Client {
            // The library asks twice where a ticket has the parameters of an earlier connection: the server's own come last.
            let has_one = has_parameter(bytes, PREFERRED_ADDRESS);
            self.outcome.lock().unwrap_or_else(PoisonError::into_inner).preferred_address = has_one;
        }
        TransportParameters::read(side, &mut Cursor::new(bytes)).map(Some).map_err(Into::into)
    }

    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        let change = self.connection.write_hs(out);
        self.note();
        Some(keys(match change? {
            KeyChange::Handshake { keys } => keys,
            KeyChange::OneRtt { keys, next } => {
                self.next = Some(next);
                keys
            }
        }))
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let keys = self.next.as_mut()?.next_packet_keys();
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).next_keys += 1;
        Some(KeyPair { local: Box::new(keys.local), remote: Box::new(keys.remote) })
    }

    fn is_valid_retry(&self, id: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        let Some(at) = payload.len().checked_sub(RETRY_TAG) else { return false };
        let (token, tag) = payload.split_at(at);
        let pseudo = pseudo_packet(id, &[header, token].concat());
        let nonce = Nonce::assume_unique_for_key(RETRY_NONCE);
        let mut tag = tag.to_vec();
        retry_key().is_some_and(|key| key.open_in_place(nonce, Aad::from(pseudo), &mut tag).is_ok())
    }

    fn export_keying_material(
        &self,
        out: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        let done = self.connection.export_keying_material(out, label, Some(context));
        done.map(|_| ()).map_err(|_| ExportKeyingMaterialError)
    }
}

/// A handshake that could not begin: the machine had no randomness.
struct Failed {
    initial: Suite,
    why: String,
}

impl Session for Failed {
    fn initial_keys(&self, id: &ConnectionId, side: Side) -> Keys {
        keys(self.initial.keys(id, quic_side(side), Version::V1))
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        true
    }

    fn read_handshake(&mut self, _: &[u8]) -> Result<bool, TransportError> {
        Err(TransportError {
            code: TransportErrorCode::INTERNAL_ERROR,
            frame: None,
            reason: self.why.clone(),
        })
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(None)
    }

    fn write_handshake(&mut self, _: &mut Vec<u8>) -> Option<Keys> {
        None
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        None
    }

    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        false
    }

    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_found_among_others() {
        // Identifiers and lengths of one byte and of two; max_idle_timeout, an unknown one, and a preferred address.
        let all = [&[0x01, 0x02, 0x47, 0xd0][..], &[0x6a, 0xb2, 0x00], &[0x0d, 0x40, 0x03, 7, 7, 7]].concat();
        assert!(has_parameter(&all, PREFERRED_ADDRESS) && has_parameter(&all, 0x2ab2));
        assert!(!has_parameter(&all, 0x07) && !has_parameter(&all, 0x02), "lengths and contents are none");
        for cut in [0, 1, 3, 5, 7] {
            assert!(!has_parameter(&all[..cut], PREFERRED_ADDRESS), "{cut}");
        }
        assert_eq!(
            number(&mut &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..]),
            Some(151_288_809_941_952_652)
        );
    }
}
