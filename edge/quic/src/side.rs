//! Factory of one side's connections: its endpoint, and their common configuration.

use std::net::{Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aws_lc_rs::{hkdf, hmac};
use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, ConnectionError, DatagramEvent, Endpoint, EndpointConfig, IdleTimeout, NoneTokenStore,
    ServerConfig, TransportConfig, ValidationTokenConfig, VarInt,
};
use session::quic::{Quic, QuicAccepted, QuicSide, UNIDIRECTIONAL};
use session::secure::SecureError;
use tls::TlsError;
use units::Nanos;

use crate::Settings;
use crate::connection::Connection;
use crate::crypto::{self, Clients, Servers, VERSION};
use crate::identity::Steady;
use crate::ids::Ids;

/// Requests that a peer may have open at a time.
const STREAMS: u32 = 1_024;
/// Bytes that a peer may send on a stream, and on all of them, before they are read.
const STREAM_WINDOW: u32 = 1 << 20;
const WINDOW: u32 = 8 << 20;
/// Bytes that are kept to be sent again at most.
const SEND_WINDOW: u64 = 4 << 20;
/// Least datagram that a path must carry (RFC 9000 section 14).
const DATAGRAM_MIN: u16 = 1_200;

/// The time of the workers, as the library knows it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock(Instant);

impl Clock {
    #[inline]
    pub(crate) fn instant(self, now: Nanos) -> Instant {
        self.0 + Duration::from_nanos(now.0)
    }

    #[inline]
    pub(crate) fn nanos(self, at: Instant) -> Nanos {
        Nanos(at.saturating_duration_since(self.0).as_nanos().min(u128::from(u64::MAX)) as u64)
    }
}

/// The endpoint that a side's connections share. One worker's own: its lock is never waited for.
pub(crate) struct Hub(Mutex<Endpoint>);

impl Hub {
    pub(crate) fn endpoint(&self) -> MutexGuard<'_, Endpoint> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One side.
pub(crate) struct Side {
    hub: Arc<Hub>,
    clock: Clock,
    /// Flows so far: each has a name.
    flows: u64,
    role: Role,
}

enum Role {
    Client { setup: tls::Client, config: Box<ClientConfig>, handshakes: Arc<Clients> },
    Server { handshakes: Arc<Servers>, retry: bool },
}

fn of_library(what: &str) -> TlsError {
    TlsError::Library(what.to_owned())
}

impl Side {
    pub(crate) fn client(setup: tls::Client, settings: Settings, zero: Instant) -> Result<Self, TlsError> {
        let initial = crypto::initial().ok_or_else(|| of_library("QUIC needs AES-128-GCM"))?;
        let handshakes =
            Arc::new(Clients { config: setup.config().clone(), initial, last: Mutex::default() });
        let mut config = ClientConfig::new(handshakes.clone());
        let first = Ids::new(settings.seed ^ 1);
        config
            .transport_config(Arc::new(transport(settings, false)?))
            .token_store(Arc::new(NoneTokenStore))
            .initial_dst_cid_provider(Arc::new(move || first.id()));
        config.version(VERSION);
        let role = Role::Client { setup, config: Box::new(config), handshakes };
        Ok(Self::new(settings, None, zero, role))
    }

    pub(crate) fn server(setup: &tls::Server, settings: Settings, zero: Instant) -> Result<Self, TlsError> {
        let initial = crypto::initial().ok_or_else(|| of_library("QUIC needs AES-128-GCM"))?;
        let mut own = (**setup.config()).clone();
        own.cert_resolver = Arc::new(Steady(own.cert_resolver.clone()));
        let handshakes = Arc::new(Servers { config: Arc::new(own), initial, last: Mutex::default() });
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]);
        let key = salt.extract(&words(settings.seed, 2));
        let mut config = ServerConfig::new(handshakes.clone(), Arc::new(key));
        let mut tokens = ValidationTokenConfig::default();
        tokens.sent(0);
        config
            .transport_config(Arc::new(transport(settings, true)?))
            .migration(false)
            .validation_token_config(tokens);
        Ok(Self::new(
            settings,
            Some(Arc::new(config)),
            zero,
            Role::Server { handshakes, retry: settings.retry },
        ))
    }

    fn new(settings: Settings, server: Option<Arc<ServerConfig>>, zero: Instant, role: Role) -> Self {
        let seed = settings.seed;
        let key = hmac::Key::new(hmac::HMAC_SHA256, &words(seed, 3));
        let mut config = EndpointConfig::new(Arc::new(key));
        config
            .cid_generator(move || Box::new(Ids::new(seed)))
            .supported_versions(vec![VERSION])
            .rng_seed(Some(words(seed, 4)));
        let endpoint = Endpoint::new(Arc::new(config), server, false, None);
        Self { hub: Arc::new(Hub(Mutex::new(endpoint))), clock: Clock(zero), flows: 0, role }
    }

    /// The number of the next flow.
    fn flow(&mut self) -> u64 {
        self.flows += 1;
        self.flows
    }
}

/// A name for a flow, in place of the other end's address.
fn name(flow: u64) -> SocketAddr {
    // Of the addresses that belong to nobody (RFC 4193).
    let [a, b, c, d] = [48, 32, 16, 0].map(|shift| (flow >> shift) as u16);
    SocketAddr::from((Ipv6Addr::new(0xfd00, 0, 0, 0, a, b, c, d), 1))
}

/// 32 bytes that follow from a seed.
fn words(seed: u64, which: u64) -> [u8; 32] {
    let key = random::key(seed.wrapping_add(which << 56));
    let mut bytes = [0; 32];
    for (number, part) in bytes.chunks_exact_mut(8).enumerate() {
        part.copy_from_slice(&random::word(key, number as u64).to_be_bytes());
    }
    bytes
}

fn transport(settings: Settings, is_server: bool) -> Result<TransportConfig, TlsError> {
    // IP and UDP.
    let around = if settings.is_v6 { 48 } else { 28 };
    let datagram = settings.mtu.saturating_sub(around).max(DATAGRAM_MIN);
    let idle = match settings.idle_timeout {
        None => None,
        Some(limit) => Some(
            IdleTimeout::try_from(Duration::from_nanos(limit.0))
                .map_err(|error| of_library(&error.to_string()))?,
        ),
    };
    let mut config = TransportConfig::default();
    config
        .max_concurrent_bidi_streams(VarInt::from_u32(if is_server { STREAMS } else { 0 }))
        .max_concurrent_uni_streams(VarInt::from_u32(UNIDIRECTIONAL))
        .max_idle_timeout(idle)
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(SEND_WINDOW)
        // What the frame's limit leaves is known, and not probed for. A path that carries less falls back to the least.
        .initial_mtu(datagram)
        .mtu_discovery_config(None)
        .allow_spin(false)
        .datagram_receive_buffer_size(None);
    Ok(config)
}

impl QuicSide for Side {
    fn connect(&mut self, now: Nanos, number: u64) -> Result<Box<dyn Quic>, SecureError> {
        let name = name(self.flow());
        let Role::Client { setup, config, handshakes } = &self.role else {
            return Err(SecureError::Protocol("a server does not connect".to_owned()));
        };
        let server = setup.server_name(number)?;
        let at = self.clock.instant(now);
        let made = self.hub.endpoint().connect(at, (**config).clone(), name, &server.to_str());
        let (handle, connection) = made.map_err(|error| SecureError::Protocol(error.to_string()))?;
        let outcome = crypto::taken(&handshakes.last);
        Ok(Box::new(Connection::new(self.hub.clone(), self.clock, name, (handle, connection), outcome)))
    }

    fn accept(&mut self, now: Nanos, flow: Option<u64>, datagram: &[u8]) -> QuicAccepted {
        let flow = flow.unwrap_or_else(|| self.flow());
        let name = name(flow);
        let Role::Server { handshakes, retry } = &self.role else { return QuicAccepted::Nothing };
        let (at, mut reply) = (self.clock.instant(now), Vec::new());
        let mut endpoint = self.hub.endpoint();
        match endpoint.handle(at, name, None, None, BytesMut::from(datagram), &mut reply) {
            Some(DatagramEvent::NewConnection(incoming))
                if *retry && !incoming.remote_address_validated() =>
            {
                match endpoint.retry(incoming, &mut reply) {
                    Ok(_) => QuicAccepted::Retry(reply, flow),
                    Err(error) => {
                        endpoint.ignore(error.into_incoming());
                        QuicAccepted::Nothing
                    }
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                match endpoint.accept(incoming, at, &mut reply, None) {
                    Ok(made) => {
                        drop(endpoint);
                        let outcome = crypto::taken(&handshakes.last);
                        let hub = self.hub.clone();
                        QuicAccepted::Connection(Box::new(Connection::new(
                            hub, self.clock, name, made, outcome,
                        )))
                    }
                    Err(error) => {
                        debug_assert!(!matches!(error.cause, ConnectionError::CidsExhausted));
                        match error.response {
                            Some(_) => QuicAccepted::Reply(reply),
                            None => QuicAccepted::Nothing,
                        }
                    }
                }
            }
            Some(DatagramEvent::Response(_)) => QuicAccepted::Reply(reply),
            // One that belongs to another flow's connection: its client has moved, and is not followed.
            Some(DatagramEvent::ConnectionEvent(..)) | None => QuicAccepted::Nothing,
        }
    }
}
