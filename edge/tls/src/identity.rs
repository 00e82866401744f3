//! Certificates and keys: out of PEM (RFC 7468), or made for a run.

use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use rcgen::{CertificateParams, DnType, KeyPair, RsaKeySize, SerialNumber};
use rustls::RootCertStore;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{Error, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use session::plan::{Identity, KeyKind, ServerIdentity};

use crate::TlsError;

/// Certificates made to find one of the usual greatest length.
const ALIKE: usize = 32;

/// Default name of a generated certificate.
pub(crate) const LOCALHOST: &str = "localhost";

/// A given certificate chain with its key.
pub(crate) fn given(
    identity: &Identity,
    what: &'static str,
    provider: &CryptoProvider,
) -> Result<Arc<CertifiedKey>, TlsError> {
    let chain = certificates(&identity.chain, what)?;
    certified(chain, key(&identity.key)?, what, provider)
}

/// Certificate of a server.
pub(crate) fn of_server(
    identity: &ServerIdentity,
    provider: &CryptoProvider,
) -> Result<Arc<CertifiedKey>, TlsError> {
    match identity {
        ServerIdentity::Given(identity) => given(identity, "the server's certificate", provider),
        ServerIdentity::Generated { names, key } => generated(names, *key, provider),
    }
}

/// The name a generated certificate is good for first.
pub(crate) fn first_name(identity: &ServerIdentity) -> Option<&str> {
    match identity {
        ServerIdentity::Given(_) => None,
        ServerIdentity::Generated { names, .. } => Some(names.first().map_or(LOCALHOST, String::as_str)),
    }
}

/// A self-signed certificate: its own root, and the end of its chain.
fn generated(
    names: &[String],
    kind: KeyKind,
    provider: &CryptoProvider,
) -> Result<Arc<CertifiedKey>, TlsError> {
    let fail = |error: rcgen::Error| TlsError::Library(error.to_string());
    let names = if names.is_empty() { vec![LOCALHOST.to_owned()] } else { names.to_vec() };
    let key = match kind {
        KeyKind::EcdsaP256 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P256_SHA256),
        KeyKind::EcdsaP384 => KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384),
        KeyKind::Rsa2048 => KeyPair::generate_rsa_for(&rcgen::PKCS_RSA_SHA256, RsaKeySize::_2048),
    }
    .map_err(fail)?;
    let wrong = |name: &String| TlsError::ServerName { name: name.clone() };
    if let Some(name) = names.iter().find(|name| name.is_empty() || !name.is_ascii()) {
        return Err(wrong(name));
    }
    let mut parameters = CertificateParams::new(names).map_err(fail)?;
    parameters.distinguished_name.push(DnType::CommonName, "eagre");
    // Its number and its signature are shorter at times, by lot; the packets of a handshake should have the same lengths in
    // every run.
    parameters.serial_number = Some(serial_number(&key));
    let mut certificate = parameters.self_signed(&key).map_err(fail)?;
    for _ in 0..if kind == KeyKind::Rsa2048 { 0 } else { ALIKE } {
        let other = parameters.self_signed(&key).map_err(fail)?;
        if other.der().len() > certificate.der().len() {
            certificate = other;
        }
    }
    let key = PrivateKeyDer::try_from(key.serialize_der())
        .map_err(|reason| TlsError::Library(reason.to_owned()))?;
    certified(vec![certificate.der().clone()], key, "the generated certificate", provider)
}

/// A number that follows from the key, always of the same length: neither its sign nor a leading zero changes it (RFC 5280
/// section 4.1.2.2).
fn serial_number(key: &KeyPair) -> SerialNumber {
    let digest = digest(&SHA256, key.public_key_raw());
    let mut number = digest.as_ref().to_vec();
    number.truncate(16);
    number[0] = number[0] & 0x7f | 0x40;
    SerialNumber::from(number)
}

fn certified(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    what: &'static str,
    provider: &CryptoProvider,
) -> Result<Arc<CertifiedKey>, TlsError> {
    match CertifiedKey::from_der(chain, key, provider) {
        Ok(certified) => Ok(Arc::new(certified)),
        Err(rustls::Error::InconsistentKeys(_)) => Err(TlsError::KeyOfAnother { what }),
        Err(error) => Err(TlsError::Pem { what, reason: error.to_string() }),
    }
}

/// A chain of at least one certificate.
pub(crate) fn certificates(pem: &[u8], what: &'static str) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|error| TlsError::Pem { what, reason: reason(&error) })?;
    if chain.is_empty() {
        return Err(TlsError::Pem { what, reason: "there is no certificate in it (PEM)".to_owned() });
    }
    Ok(chain)
}

/// The first private key: PKCS#8, PKCS#1 or SEC1.
fn key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, TlsError> {
    PrivateKeyDer::from_pem_slice(pem).map_err(|error| TlsError::Pem {
        what: "the private key",
        reason: match error {
            Error::NoItemsFound => "there is no private key in it (PEM: PKCS#8, PKCS#1 or SEC1)".to_owned(),
            other => reason(&other),
        },
    })
}

/// Certificates that others must lead to.
pub(crate) fn roots(pem: &[u8], what: &'static str) -> Result<RootCertStore, TlsError> {
    let mut store = RootCertStore::empty();
    for certificate in certificates(pem, what)? {
        trust(&mut store, certificate, what)?;
    }
    Ok(store)
}

/// One certificate that others must lead to.
pub(crate) fn root(der: Vec<u8>) -> Result<RootCertStore, TlsError> {
    let mut store = RootCertStore::empty();
    trust(&mut store, der.into(), "the generated certificate")?;
    Ok(store)
}

fn trust(store: &mut RootCertStore, der: CertificateDer<'_>, what: &'static str) -> Result<(), TlsError> {
    store.add(der).map_err(|error| TlsError::Pem { what, reason: error.to_string() })
}

fn reason(error: &Error) -> String {
    match error {
        Error::MissingSectionEnd { .. } => "its END line is missing (PEM)".to_owned(),
        Error::IllegalSectionStart { .. } => "its BEGIN line is broken (PEM)".to_owned(),
        Error::Base64Decode(_) => "it is not base64 (PEM)".to_owned(),
        other => other.to_string(),
    }
}
