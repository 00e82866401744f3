//! The client's side: each flow's server name, the trusted roots, resumption.

use std::sync::Arc;

use rustls::client::danger::ServerCertVerifier;
use rustls::client::{ClientConnection, Resumption, WebPkiServerVerifier};
use rustls::pki_types::ServerName;
use rustls::sign::SingleCertAndKey;
use rustls::{ClientConfig, RootCertStore};
use session::plan::{By, Content, Part, SelectionOrder, ServerIdentity, TlsPlan, TlsVerify, Values};
use session::secure::{Secure, SecureError, SecureSide};
use units::Nanos;

use crate::flow::{FailedFlow, Flow};
use crate::reuse::reused;
use crate::steady::steady;
use crate::store::Sessions;
use crate::trust::{AcceptAnyCertificate, AcceptAnything, AcceptTrusted};
use crate::{KeyLog, TlsError, alpn, failure, identity, names};

/// Makes the encryption of clients' flows.
pub struct Client {
    config: Arc<ClientConfig>,
    server: ServerNames,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

/// Server names of flows.
enum ServerNames {
    /// The same for all.
    One(ServerName<'static>),
    /// By the flow's number.
    Varied(Content),
}

impl Client {
    /// From a plan. `certificate` is the emulated server's, DER; called only if it is the trusted one. For `is_steady` see
    /// [`Sides::steady`](crate::Sides::steady); `log` takes secrets.
    pub(crate) fn new(
        plan: &TlsPlan,
        is_steady: bool,
        log: Option<KeyLog>,
        certificate: impl FnOnce() -> Result<Vec<u8>, TlsError>,
    ) -> Result<Self, TlsError> {
        let mut chosen = names::choose(plan)?;
        if let Some(times) = plan.client.key_share_reuse {
            let mut provider = (*chosen.provider).clone();
            provider.kx_groups.iter_mut().for_each(|group| *group = reused(*group, times));
            chosen.provider = Arc::new(provider);
        }
        let verified_by = |roots: RootCertStore, trusted| -> Result<Arc<dyn ServerCertVerifier>, TlsError> {
            let library =
                WebPkiServerVerifier::builder_with_provider(roots.into(), chosen.provider.clone()).build();
            let library = library.map_err(|error| TlsError::Library(error.to_string()))?;
            Ok(Arc::new(AcceptTrusted::new(library, trusted)))
        };
        let verifier: Arc<dyn ServerCertVerifier> = match &plan.client.verify {
            TlsVerify::Off => {
                Arc::new(AcceptAnyCertificate::new(chosen.provider.signature_verification_algorithms))
            }
            TlsVerify::Nothing => {
                Arc::new(AcceptAnything::new(chosen.provider.signature_verification_algorithms))
            }
            TlsVerify::Roots(pem) => {
                const WHAT: &str = "the roots of servers";
                verified_by(identity::roots(pem, WHAT)?, identity::certificates(pem, WHAT)?)?
            }
            TlsVerify::Generated if matches!(plan.server.identity, ServerIdentity::Given(_)) => {
                return Err(TlsError::NothingGenerated);
            }
            TlsVerify::Generated => verified_by(identity::root(certificate()?)?, Vec::new())?,
        };
        let builder = ClientConfig::builder_with_provider(chosen.provider.clone())
            .with_protocol_versions(&chosen.versions)?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = match &plan.client.identity {
            None => builder.with_no_client_auth(),
            Some(identity) => {
                let identity = identity::given(identity, "the client's certificate", &chosen.provider)?;
                let identity = if is_steady { steady(&identity) } else { identity };
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(identity)))
            }
        };
        config.alpn_protocols = alpn(&plan.alpn)?;
        config.enable_sni = plan.client.server_name.is_some();
        config.resumption = match plan.client.resumption {
            None | Some(0) => Resumption::disabled(),
            Some(kept) => Resumption::store(Arc::new(Sessions::new(kept as usize))),
        };
        if let Some(log) = log {
            config.key_log = Arc::new(log);
        }
        let client = Self { config: Arc::new(config), server: ServerNames::new(plan)? };
        ClientConnection::new(client.config.clone(), client.server.name(0)?)?;
        Ok(client)
    }

    /// Configuration of all flows: for a carrier that does its own handshakes.
    pub fn config(&self) -> &Arc<ClientConfig> {
        &self.config
    }

    /// Server name of a flow.
    pub fn server_name(&self, number: u64) -> Result<ServerName<'static>, SecureError> {
        self.server.name(number).map_err(|error| SecureError::Protocol(error.to_string()))
    }

    fn flow(&self, number: u64) -> Result<Flow<ClientConnection>, SecureError> {
        let name = self.server_name(number)?;
        ClientConnection::new(self.config.clone(), name).map(Flow::new).map_err(failure::of_library)
    }
}

impl SecureSide for Client {
    fn start(&mut self, _now: Nanos, number: u64) -> Box<dyn Secure> {
        match self.flow(number) {
            Ok(flow) => Box::new(flow),
            Err(error) => Box::new(FailedFlow(error)),
        }
    }
}

impl ServerNames {
    fn new(plan: &TlsPlan) -> Result<Self, TlsError> {
        match &plan.client.server_name {
            Some(content) if content.follows_session() => Ok(Self::Varied(content.clone())),
            Some(content) => Ok(Self::One(rendered(content, 0)?)),
            // Sent to nobody. Sessions are kept under it, and a generated certificate is verified for it.
            None => {
                let known = identity::first_name(&plan.server.identity);
                let unverified = || {
                    matches!(plan.client.verify, TlsVerify::Off | TlsVerify::Nothing)
                        .then_some(identity::LOCALHOST)
                };
                let trusted = known.filter(|_| plan.client.verify == TlsVerify::Generated);
                server_name(trusted.or_else(unverified).ok_or(TlsError::NameNeeded)?).map(Self::One)
            }
        }
    }

    fn name(&self, number: u64) -> Result<ServerName<'static>, TlsError> {
        match self {
            Self::One(name) => Ok(name.clone()),
            Self::Varied(content) => rendered(content, number),
        }
    }
}

fn server_name(name: &str) -> Result<ServerName<'static>, TlsError> {
    ServerName::try_from(name.to_owned()).map_err(|_| TlsError::ServerName { name: name.to_owned() })
}

/// The name in a content at a flow's number: the text that an application of the same flow finds there in its first
/// request.
fn rendered(content: &Content, number: u64) -> Result<ServerName<'static>, TlsError> {
    let mut name = String::new();
    for part in &content.parts {
        match part {
            Part::Bytes(bytes) => name.push_str(&String::from_utf8_lossy(bytes)),
            Part::Decimal(values, width) => {
                name.push_str(&format!("{:01$}", values.value(number, 0, number), usize::from(*width)));
            }
            Part::Hex(values, width) => {
                name.push_str(&format!("{:01$x}", values.value(number, 0, number), usize::from(*width)));
            }
            Part::List { items, order, by } => {
                name.push_str(&String::from_utf8_lossy(pick(items, *order, *by, number)));
            }
            Part::Generated(_) | Part::Binary(..) => {
                return Err(TlsError::ServerName { name: "(bytes)".to_owned() });
            }
        }
    }
    server_name(&name)
}

fn pick(items: &[Arc<[u8]>], order: SelectionOrder, by: By, number: u64) -> &[u8] {
    let count = items.len() as u64;
    let values = match order {
        SelectionOrder::Sequential => Values::Range { first: 0, step: 1, count, by },
        SelectionOrder::Random { seed } => Values::Random { from: 0, to: count.saturating_sub(1), seed, by },
    };
    items.get(values.value(number, 0, number) as usize).map_or(&[], |item| item)
}
