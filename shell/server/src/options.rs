//! Options of an operator.

use crate::access::Token;
use crate::limits::Limits;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// Options of the server.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where to listen.
    pub listen: SocketAddr,
    /// Tokens and their rights; none: every user of this machine has all rights.
    pub tokens: Vec<Token>,
    /// Names by which clients may call a server without tokens, besides its own address.
    pub hosts: Vec<String>,
    /// Encryption, if any.
    pub tls: Option<TlsOptions>,
    /// Permitted ports and rates.
    pub limits: Limits,
    /// Worker cores for all runs together; the engine's choice if empty.
    pub cores: Vec<usize>,
    /// From the last request of an Open Traffic Generator client to the end of its lease.
    pub otg_lease: Duration,
    /// Locations of Open Traffic Generator's ports that stand for other devices.
    pub otg_locations: BTreeMap<String, String>,
    /// Where Open Traffic Generator is served over gRPC, if it is.
    pub grpc: Option<SocketAddr>,
    /// The broker of agents on other machines, if there is one.
    pub nats: Option<fleet::Access>,
    /// The results store.
    pub store: PathBuf,
    /// Folder for captures, kept profiles, certificates and the audit log.
    pub state: PathBuf,
    /// Folder with the documentation's pages, if they are installed.
    pub docs: Option<PathBuf>,
}

impl Options {
    /// Addresses that clients reach the server at.
    pub(crate) fn listens(&self) -> Vec<IpAddr> {
        [Some(self.listen), self.grpc].into_iter().flatten().map(|address| address.ip()).collect()
    }
}

/// Source of the certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TlsOptions {
    /// The operator's: chain and key, PEM.
    Files {
        /// The certificate chain.
        certificate: PathBuf,
        /// Its private key.
        key: PathBuf,
    },
    /// One that is generated once and kept in the state folder.
    SelfSigned,
}
