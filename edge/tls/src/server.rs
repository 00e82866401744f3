//! The server's side: what it shows, whom it lets in, which tickets it gives.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs::Ticketer;
use rustls::server::{NoServerSessionStorage, ServerConnection, WebPkiClientVerifier};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use session::plan::TlsPlan;
use session::secure::{Secure, SecureSide};
use units::Nanos;

use crate::flow::{FailedFlow, Flow};
use crate::steady::steady;
use crate::{KeyLog, TlsError, alpn, failure, identity, names};

/// Makes the encryption of servers' flows. A clone shows the same certificate and takes the same tickets.
#[derive(Clone)]
pub struct Server {
    config: Arc<ServerConfig>,
    identity: Arc<CertifiedKey>,
}

impl Server {
    /// From a plan. For `is_steady` see [`Sides::steady`](crate::Sides::steady); `log` takes secrets.
    pub(crate) fn new(plan: &TlsPlan, is_steady: bool, log: Option<KeyLog>) -> Result<Self, TlsError> {
        let chosen = names::choose(plan)?;
        let identity = identity::of_server(&plan.server.identity, &chosen.provider)?;
        let identity = if is_steady { steady(&identity) } else { identity };
        let builder = ServerConfig::builder_with_provider(chosen.provider.clone())
            .with_protocol_versions(&chosen.versions)?;
        let builder = match &plan.server.client_roots {
            None => builder.with_no_client_auth(),
            Some(roots) => {
                let roots = identity::roots(roots, "the roots of clients")?;
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(roots.into(), chosen.provider).build();
                builder.with_client_cert_verifier(
                    verifier.map_err(|error| TlsError::Library(error.to_string()))?,
                )
            }
        };
        let mut config = builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(identity.clone())));
        config.alpn_protocols = alpn(&plan.alpn)?;
        config.send_tls13_tickets = plan.server.tickets.into();
        // Tickets hold all there is to resume: nothing is kept here, so any worker takes any other's.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        if plan.server.tickets > 0 {
            config.ticketer = Ticketer::new()?;
        }
        if let Some(log) = log {
            config.key_log = Arc::new(log);
        }
        let server = Self { config: Arc::new(config), identity };
        ServerConnection::new(server.config.clone())?;
        Ok(server)
    }

    /// Configuration of all flows: for a carrier that does its own handshakes.
    pub fn config(&self) -> &Arc<ServerConfig> {
        &self.config
    }

    /// The certificate it shows, DER.
    pub(crate) fn certificate(&self) -> &[u8] {
        self.identity.cert.first().map_or(&[], |certificate| certificate)
    }
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Server").finish_non_exhaustive()
    }
}

impl SecureSide for Server {
    fn start(&mut self, _now: Nanos, _number: u64) -> Box<dyn Secure> {
        match ServerConnection::new(self.config.clone()) {
            Ok(connection) => Box::new(Flow::new(connection)),
            Err(error) => Box::new(FailedFlow(failure::of_library(error))),
        }
    }
}
