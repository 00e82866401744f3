//! Factory of one side's connections: its endpoint, and their common configuration.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use aws_lc_rs::{hkdf, hmac};
use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, ConnectionError, DatagramEvent, Endpoint, EndpointConfig, IdleTimeout, NoneTokenStore,
    ServerConfig, TransportConfig, ValidationTokenConfig, VarInt,
};
use rustls::server::{ProducesTickets, ServerSessionMemoryCache};
use session::quic::{Quic, QuicAccepted, QuicSide, UNIDIRECTIONAL};
use session::secure::SecureError;
use tls::TlsError;
use units::Nanos;

use crate::Settings;
use crate::congestion::Factory;
use crate::connection::{Connection, mark};
use crate::crypto::{self, Clients, Servers, VERSION};
use crate::ids::Ids;
use crate::paths::{self, Paths};

/// Requests that a peer may have open at a time when its connection begins. The library has an entry for each, used or not, which are most of an
/// idle connection's memory.
const STREAMS: u32 = 100;
/// The number of the request with which that becomes more, and how many it becomes.
pub(crate) const BUSY_FROM: u64 = 32;
pub(crate) const STREAMS_BUSY: u32 = 1_024;
/// Bytes that a peer may send on a stream, and on all of them, before they are read.
const STREAM_WINDOW: u32 = 1 << 20;
const WINDOW: u32 = 8 << 20;
/// Bytes that are kept to be sent again at most.
const SEND_WINDOW: u64 = 4 << 20;
/// Bytes of DATAGRAM frames that came and are not read, beyond which the oldest are dropped; and of those that wait to be sent.
const DATAGRAMS_KEPT: usize = 1 << 20;
const DATAGRAMS_AHEAD: usize = 1 << 20;
/// Bytes of datagrams that are copied into one block of memory: a byte of one that is kept keeps all of them. No more than some datagrams,
/// so that a peer whose frames have to wait for others takes little more than it sends.
const INBOX: usize = 4 << 10;
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

/// State that a side's connections share. One worker's own: its locks are never waited for.
pub(crate) struct Hub {
    endpoint: Mutex<Endpoint>,
    paths: Mutex<Paths>,
    inbox: Mutex<BytesMut>,
}

impl Hub {
    pub(crate) fn endpoint(&self) -> MutexGuard<'_, Endpoint> {
        self.endpoint.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn paths(&self) -> MutexGuard<'_, Paths> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy of a datagram, for the library to take apart. Several are in one block of memory, which is used again once nothing of
    /// them is kept.
    #[inline]
    pub(crate) fn copied(&self, datagram: &[u8]) -> BytesMut {
        let mut block = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        if block.capacity() < datagram.len() {
            block.reserve(INBOX.max(datagram.len()));
        }
        block.extend_from_slice(datagram);
        block.split()
    }
}

/// Tickets that hold nothing: sessions are kept.
#[derive(Debug)]
struct NoTickets;

impl ProducesTickets for NoTickets {
    fn enabled(&self) -> bool {
        false
    }

    fn lifetime(&self) -> u32 {
        0
    }

    fn encrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }

    fn decrypt(&self, _: &[u8]) -> Option<Vec<u8>> {
        None
    }
}

/// One side.
pub(crate) struct Side {
    hub: Arc<Hub>,
    clock: Clock,
    /// Whether connections use congestion marks.
    ecn: bool,
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
        let mut tls = (**setup.config()).clone();
        tls.enable_early_data = settings.early_data;
        let handshakes = Arc::new(Clients { config: Arc::new(tls), initial, last: Mutex::default() });
        let mut config = ClientConfig::new(handshakes.clone());
        let first = Ids::new(settings.seed ^ 1, (settings.seed >> 56) as u8);
        config
            .transport_config(Arc::new(transport(settings, false)?))
            .token_store(Arc::new(NoneTokenStore))
            .initial_dst_cid_provider(Arc::new(move || first.id()));
        config.version(VERSION);
        let role = Role::Client { setup, config: Box::new(config), handshakes };
        Ok(Self::new(settings, None, zero, role))
    }

    pub(crate) fn server(
        setup: &tls::Server,
        settings: Settings,
        zero: Instant,
        sessions: &Arc<ServerSessionMemoryCache>,
    ) -> Result<Self, TlsError> {
        let initial = crypto::initial().ok_or_else(|| of_library("QUIC needs AES-128-GCM"))?;
        let mut own = (**setup.config()).clone();
        if settings.early_data {
            // Only a session that is kept here can be taken once (RFC 8446 section 8.1). QUIC limits early data itself.
            own.ticketer = Arc::new(NoTickets);
            own.session_storage = sessions.clone();
            own.max_early_data_size = u32::MAX;
        }
        let handshakes = Arc::new(Servers { config: Arc::new(own), initial, last: Mutex::default() });
        let salt = hkdf::Salt::new(hkdf::HKDF_SHA256, &[]);
        let key = salt.extract(&words(settings.seed, 2));
        let mut config = ServerConfig::new(handshakes.clone(), Arc::new(key));
        let mut tokens = ValidationTokenConfig::default();
        tokens.sent(0);
        config
            .transport_config(Arc::new(transport(settings, true)?))
            .migration(true)
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
            .cid_generator(move || Box::new(Ids::new(seed, settings.worker)))
            .supported_versions(vec![VERSION])
            .rng_seed(Some(words(seed, 4)));
        let endpoint = Endpoint::new(Arc::new(config), server, false, None);
        let hub = Hub { endpoint: Mutex::new(endpoint), paths: Mutex::default(), inbox: Mutex::default() };
        Self { hub: Arc::new(hub), clock: Clock(zero), ecn: settings.ecn, role }
    }
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
        .congestion_controller_factory(Arc::new(Factory::default()))
        .datagram_receive_buffer_size(settings.datagrams.then_some(DATAGRAMS_KEPT))
        .datagram_send_buffer_size(DATAGRAMS_AHEAD);
    Ok(config)
}

impl QuicSide for Side {
    fn connect(&mut self, now: Nanos, number: u64, flow: u32) -> Result<Box<dyn Quic>, SecureError> {
        let name = paths::of_server();
        let Role::Client { setup, config, handshakes } = &self.role else {
            return Err(SecureError::Protocol("a server does not connect".to_owned()));
        };
        let server = setup.server_name(number)?;
        let at = self.clock.instant(now);
        let made = self.hub.endpoint().connect(at, (**config).clone(), name, &server.to_str());
        let (handle, connection) = made.map_err(|error| SecureError::Protocol(error.to_string()))?;
        let outcome = crypto::taken(&handshakes.last);
        let path = (name, flow, self.ecn);
        let made = Connection::new(self.hub.clone(), self.clock, path, (handle, connection), outcome);
        Ok(Box::new(made.of_client(now)))
    }

    fn accept(&mut self, now: Nanos, flow: u32, datagram: &[u8], ecn: u8) -> QuicAccepted {
        let (name, handshakes, retry) = match &self.role {
            Role::Server { handshakes, retry } => (self.hub.paths().name(flow), Some(handshakes), *retry),
            Role::Client { .. } => (paths::of_server(), None, false),
        };
        let (at, mut reply) = (self.clock.instant(now), Vec::new());
        let datagram = self.hub.copied(datagram);
        let mut endpoint = self.hub.endpoint();
        match endpoint.handle(at, name, None, mark(ecn), datagram, &mut reply) {
            Some(DatagramEvent::NewConnection(incoming)) if retry && !incoming.remote_address_validated() => {
                match endpoint.retry(incoming, &mut reply) {
                    Ok(_) => QuicAccepted::Retry(reply),
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
                        let outcome = handshakes.map(|own| crypto::taken(&own.last)).unwrap_or_default();
                        let hub = self.hub.clone();
                        QuicAccepted::Connection(Box::new(Connection::new(
                            hub,
                            self.clock,
                            (name, flow, self.ecn),
                            made,
                            outcome,
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
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                self.hub.paths().post(handle, event).map_or(QuicAccepted::Nothing, QuicAccepted::Of)
            }
            None => QuicAccepted::Nothing,
        }
    }

    fn off_path(&mut self, flow: u32) -> Vec<Vec<u8>> {
        self.hub.paths().off(flow)
    }

    fn closed(&mut self, flow: u32) {
        self.hub.paths().forget(flow);
    }
}
