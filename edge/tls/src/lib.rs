//! TLS 1.2 and 1.3 for flows of sessions: rustls behind the seam of `session::secure`.
//!
//! Bytes in, bytes out. Not here: sockets, TCP, the content inside the encryption.
//!
//! It is an edge room because it draws randomness and reads the wall clock (certificates and tickets have an age). A
//! run's TLS is therefore not reproducible byte for byte; which names and settings a flow has is, and in virtual time the
//! length of each message ([`Sides::steady`]).

#![forbid(unsafe_code)]

mod client;
mod failure;
mod flow;
mod identity;
mod key_log;
mod names;
mod p521;
mod reuse;
mod server;
mod steady;
mod store;
mod trust;

pub use client::Client;
pub use failure::{REFUSED_ALPN, alert_name, of_library};
pub use key_log::KeyLog;
pub use names::{groups, of_group, of_protocol, of_suite, suites};
pub use server::Server;
pub use trust::AcceptAnyCertificate;

use std::sync::{Arc, Mutex, PoisonError};

use session::plan::TlsPlan;
use session::secure::SecureSide;

/// Both sides of one entry's TLS, for all workers of a run.
///
/// Servers made here show one certificate, generated at most once, and take each other's tickets. Clients share nothing:
/// each resumes its own sessions, so that workers never wait for each other.
pub struct Sides {
    plan: Arc<TlsPlan>,
    server: Mutex<Option<Server>>,
    is_steady: bool,
    /// Receiver of secrets, and whether clients hand them over; otherwise servers do.
    key_log: Option<(KeyLog, bool)>,
}

impl Sides {
    /// From a plan. Nothing is generated or checked before a side is requested.
    pub fn new(plan: Arc<TlsPlan>) -> Self {
        Self { plan, server: Mutex::default(), is_steady: false, key_log: None }
    }

    /// The same, with handshakes whose messages have the same lengths each time, as a run in virtual time needs them.
    #[must_use]
    pub fn steady(self) -> Self {
        Self { is_steady: true, ..self }
    }

    /// The same, with the secrets of connections handed to `log`: by clients, or by servers, which have the same ones.
    #[must_use]
    pub fn logged(self, log: KeyLog, by_clients: bool) -> Self {
        Self { key_log: Some((log, by_clients)), ..self }
    }

    fn log_of(&self, of_clients: bool) -> Option<KeyLog> {
        let (log, by_clients) = self.key_log.as_ref()?;
        (*by_clients == of_clients).then(|| log.clone())
    }

    /// The clients of one worker.
    pub fn client(&self) -> Result<Box<dyn SecureSide>, TlsError> {
        Ok(Box::new(self.client_setup()?))
    }

    /// The same, not yet behind the seam: for a carrier that shakes hands itself.
    pub fn client_setup(&self) -> Result<Client, TlsError> {
        Client::new(&self.plan, self.is_steady, self.log_of(true), || self.certificate())
    }

    /// The servers of one worker.
    pub fn server(&self) -> Result<Box<dyn SecureSide>, TlsError> {
        Ok(Box::new(self.server_setup()?))
    }

    /// The certificate that servers made here show, DER: what a client elsewhere has to trust if it was generated.
    pub fn certificate(&self) -> Result<Vec<u8>, TlsError> {
        Ok(self.server_setup()?.certificate().to_vec())
    }

    /// The same, not yet behind the seam: for a carrier that shakes hands itself.
    pub fn server_setup(&self) -> Result<Server, TlsError> {
        let mut server = self.server.lock().unwrap_or_else(PoisonError::into_inner);
        match &*server {
            Some(server) => Ok(server.clone()),
            None => Ok(server.insert(Server::new(&self.plan, self.is_steady, self.log_of(false))?).clone()),
        }
    }
}

/// Why a plan's TLS can't be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TlsError {
    /// No suite has this name.
    #[error("no TLS suite is called '{name}'; there are {}", list(suites()))]
    UnknownSuite {
        /// The name.
        name: String,
    },
    /// No key exchange group has this name.
    #[error("no key exchange group is called '{name}'; there are {}", list(groups()))]
    UnknownGroup {
        /// The name.
        name: String,
    },
    /// No version is left for which there are both a suite and a group.
    #[error("nothing can be agreed upon: TLS {versions}, suites {suites}, groups {groups}")]
    NothingLeft {
        /// The versions that may be agreed upon.
        versions: String,
        /// The suites.
        suites: String,
        /// The groups.
        groups: String,
    },
    /// Something given as PEM is not what it should be.
    #[error("{what}: {reason}")]
    Pem {
        /// Its purpose, such as `the server's certificate`.
        what: &'static str,
        /// Description of the error.
        reason: String,
    },
    /// A certificate and a key don't belong together.
    #[error("{what}: the private key is not its key")]
    KeyOfAnother {
        /// Which certificate.
        what: &'static str,
    },
    /// A server's name is not a name.
    #[error("'{name}' is neither a host name nor an address")]
    ServerName {
        /// The name.
        name: String,
    },
    /// Certificates are to be verified, but no name is given.
    #[error("a server's certificate can't be verified without the server's name")]
    NameNeeded,
    /// The certificate generated for the server played here is to be trusted, but there is none.
    #[error("the generated certificate is to be trusted, but the server's certificate is a given one")]
    NothingGenerated,
    /// A protocol name for ALPN has no bytes or more than 255 (RFC 7301 section 3.1).
    #[error("the application protocol '{name}' must have 1 to 255 bytes")]
    Alpn {
        /// The name.
        name: String,
    },
    /// Something else the library does not do.
    #[error("TLS: {0}")]
    Library(String),
}

impl From<rustls::Error> for TlsError {
    fn from(error: rustls::Error) -> Self {
        Self::Library(error.to_string())
    }
}

fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(", ")
}

/// Protocol names as the library takes them.
fn alpn(names: &[String]) -> Result<Vec<Vec<u8>>, TlsError> {
    let one = |name: &String| match name.len() {
        1..=255 => Ok(name.clone().into_bytes()),
        _ => Err(TlsError::Alpn { name: name.clone() }),
    };
    names.iter().map(one).collect()
}
