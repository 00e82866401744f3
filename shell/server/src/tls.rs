//! Certificates of the server: the operator's, or one made once and kept.

use crate::listen::ServeError;
use crate::options::TlsOptions;
use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// TLS configuration of connections, and the certificate's SHA-256 for people to compare.
pub(crate) struct Identity {
    pub(crate) config: Arc<ServerConfig>,
    pub(crate) fingerprint: String,
    pub(crate) certificate: PathBuf,
}

fn failed(path: &Path, error: impl std::fmt::Display) -> ServeError {
    ServeError::Tls(format!("{}: {error}", path.display()))
}

/// Reads or makes the certificate.
pub(crate) fn identity(options: &TlsOptions, state: &Path, listen: IpAddr) -> Result<Identity, ServeError> {
    let (certificate, key) = match options {
        TlsOptions::Files { certificate, key } => (certificate.clone(), key.clone()),
        TlsOptions::SelfSigned => self_signed(state, listen)?,
    };
    let chain = CertificateDer::pem_file_iter(&certificate).map_err(|e| failed(&certificate, e))?;
    let chain: Vec<_> = chain.collect::<Result<_, _>>().map_err(|e| failed(&certificate, e))?;
    let Some(leaf) = chain.first() else { return Err(failed(&certificate, "no certificate found")) };
    let digest: Vec<String> = Sha256::digest(leaf).iter().map(|byte| format!("{byte:02X}")).collect();
    let secret = PrivateKeyDer::from_pem_file(&key).map_err(|e| failed(&key, e))?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(chain, secret))
        .map_err(|e| failed(&certificate, e))?;
    Ok(Identity { config: Arc::new(config), fingerprint: digest.join(":"), certificate })
}

/// A certificate for this machine's names, made the first time.
fn self_signed(state: &Path, listen: IpAddr) -> Result<(PathBuf, PathBuf), ServeError> {
    let folder = state.join("tls");
    let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
    if certificate.exists() && key.exists() {
        return Ok((certificate, key));
    }
    fs::create_dir_all(&folder).map_err(|e| failed(&folder, e))?;
    let mut names = vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()];
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    names.extend(Some(host.trim().to_owned()).filter(|host| !host.is_empty()));
    names.extend(Some(listen.to_string()).filter(|_| !listen.is_unspecified()));
    let made = rcgen::generate_simple_self_signed(names).map_err(|e| failed(&certificate, e))?;
    os::draft::replace(&certificate, made.cert.pem()).map_err(|e| failed(&certificate, e))?;
    // The key is nobody else's to read, from the moment it is there.
    os::draft::replace_with_mode(&key, 0o600, made.signing_key.serialize_pem())
        .map_err(|e| failed(&key, e))?;
    Ok((certificate, key))
}
