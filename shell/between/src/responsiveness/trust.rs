//! TLS of both ends: which servers a client trusts, and a server's certificate.

use crate::Wrong;
use rustls::client::Resumption;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ClientConfig, RootCertStore, ServerConfig};
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tls::AcceptAnyCertificate;

/// Root certificates of the system.
const SYSTEM_ROOTS: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Which servers a client trusts.
#[derive(Debug, Clone)]
pub enum Trust {
    /// Those with a certificate of the system's roots.
    System,
    /// Those with a certificate of the roots in a file, PEM.
    Roots(PathBuf),
    /// All.
    Any,
}

/// A server's certificate.
#[derive(Debug, Clone)]
pub enum Identity {
    /// A new one for this run, which clients can't verify.
    SelfSigned,
    /// Files, PEM: certificates and key.
    Files(PathBuf, PathBuf),
}

fn bad(path: &Path, error: impl Display) -> Wrong {
    Wrong::Refused(format!("{}: {error}", path.display()))
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, Wrong> {
    let all = CertificateDer::pem_file_iter(path).map_err(|error| bad(path, error))?;
    let all: Vec<_> = all.collect::<Result<_, _>>().map_err(|error| bad(path, error))?;
    if all.is_empty() { Err(bad(path, "no certificate found (PEM expected)")) } else { Ok(all) }
}

/// A client's configuration. Every connection makes a whole handshake, as that to a new server does.
pub(super) fn client(trust: &Trust, protocols: &[&[u8]]) -> Result<Arc<ClientConfig>, Wrong> {
    let provider = Arc::new(default_provider());
    let algorithms = provider.signature_verification_algorithms;
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Wrong::Refused(format!("TLS: {error}")))?;
    let rooted = |path: &Path| {
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(certificates(path)?);
        if added == 0 { Err(bad(path, "none of its certificates is a root")) } else { Ok(roots) }
    };
    let mut config = match trust {
        Trust::System => {
            builder.with_root_certificates(rooted(Path::new(SYSTEM_ROOTS))?).with_no_client_auth()
        }
        Trust::Roots(path) => builder.with_root_certificates(rooted(path)?).with_no_client_auth(),
        Trust::Any => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(AcceptAnyCertificate::new(algorithms)))
            .with_no_client_auth(),
    };
    config.resumption = Resumption::disabled();
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    Ok(Arc::new(config))
}

/// A server's configuration, for HTTP/2 and HTTP/1.1.
pub(super) fn server(identity: &Identity) -> Result<Arc<ServerConfig>, Wrong> {
    let (chain, key, place) = match identity {
        Identity::SelfSigned => {
            let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])
                .map_err(|error| Wrong::Refused(format!("a certificate: {error}")))?;
            let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
            (vec![made.cert.der().clone()], PrivateKeyDer::from(key), PathBuf::from("a certificate"))
        }
        Identity::Files(chain, key) => (
            certificates(chain)?,
            PrivateKeyDer::from_pem_file(key).map_err(|error| bad(key, error))?,
            chain.clone(),
        ),
    };
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, key));
    let mut config = config.map_err(|error| bad(&place, error))?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
