//! Suites and groups by the names IANA gave them, and a library provider that has what was named.

use std::sync::{Arc, Mutex, PoisonError};

use rustls::crypto::aws_lc_rs::{ALL_CIPHER_SUITES, ALL_KX_GROUPS, default_provider};
use rustls::crypto::{CryptoProvider, SupportedKxGroup};
use rustls::version::{TLS12, TLS13};
use rustls::{CipherSuite, NamedGroup, ProtocolVersion, SupportedCipherSuite, SupportedProtocolVersion};
use session::plan::TlsPlan;

use crate::p521::SECP521R1;
use crate::{TlsError, list};

/// A suite's IANA name. The library writes `TLS13_` where IANA has `TLS_`.
pub fn of_suite(suite: CipherSuite) -> &'static str {
    match suite {
        CipherSuite::TLS13_AES_128_GCM_SHA256 => "TLS_AES_128_GCM_SHA256",
        CipherSuite::TLS13_AES_256_GCM_SHA384 => "TLS_AES_256_GCM_SHA384",
        CipherSuite::TLS13_CHACHA20_POLY1305_SHA256 => "TLS_CHACHA20_POLY1305_SHA256",
        other => other.as_str().unwrap_or("unknown"),
    }
}

/// A key exchange's name.
pub fn of_group(group: NamedGroup) -> &'static str {
    match group {
        NamedGroup::secp256r1MLKEM768 => "SecP256r1MLKEM768",
        other => other.as_str().unwrap_or("unknown"),
    }
}

/// Every suite there is, the preferred first.
pub fn suites() -> impl Iterator<Item = &'static str> {
    ALL_CIPHER_SUITES.iter().map(|suite| of_suite(suite.suite()))
}

/// Every key exchange group there is.
pub fn groups() -> impl Iterator<Item = &'static str> {
    all_groups().map(|group| of_group(group.name()))
}

/// The library's, and P-521 after them.
pub(crate) fn all_groups() -> impl Iterator<Item = &'static dyn SupportedKxGroup> {
    ALL_KX_GROUPS.iter().copied().chain([SECP521R1])
}

/// Library items selected by a plan.
pub(crate) struct Chosen {
    /// Suites and groups.
    pub provider: Arc<CryptoProvider>,
    /// Versions for which there is at least one of each.
    pub versions: Vec<&'static SupportedProtocolVersion>,
}

/// Looks up what a plan names.
pub(crate) fn choose(plan: &TlsPlan) -> Result<Chosen, TlsError> {
    let cipher_suites = match plan.suites.as_slice() {
        [] => ALL_CIPHER_SUITES.to_vec(),
        named => named.iter().map(|name| suite(name)).collect::<Result<_, _>>()?,
    };
    let kx_groups: Vec<_> = match plan.groups.as_slice() {
        // Without the library's feature `prefer-post-quantum` the first of these is X25519.
        [] => all_groups().collect(),
        named => named.iter().map(|name| group(name)).collect::<Result<_, _>>()?,
    };
    let allowed: Vec<_> = [(plan.tls13, &TLS13), (plan.tls12, &TLS12)]
        .into_iter()
        .filter(|(on, _)| *on)
        .map(|(_, v)| v)
        .collect();
    let versions: Vec<_> = allowed
        .iter()
        .copied()
        .filter(|version| cipher_suites.iter().any(|suite| suite.version() == *version))
        .filter(|version| kx_groups.iter().any(|group| group.usable_for_version(version.version)))
        .collect();
    if versions.is_empty() {
        let or_none = |list: String| if list.is_empty() { "none".to_owned() } else { list };
        return Err(TlsError::NothingLeft {
            versions: or_none(list(allowed.iter().map(|version| number(version.version)))),
            suites: list(cipher_suites.iter().map(|suite| of_suite(suite.suite()))),
            groups: list(kx_groups.iter().map(|group| of_group(group.name()))),
        });
    }
    let provider = Arc::new(CryptoProvider { cipher_suites, kx_groups, ..default_provider() });
    Ok(Chosen { provider, versions })
}

/// A version as people write it.
pub(crate) fn number(version: ProtocolVersion) -> &'static str {
    if version == ProtocolVersion::TLSv1_3 { "1.3" } else { "1.2" }
}

/// An application protocol's name.
pub fn of_protocol(name: &[u8]) -> &'static str {
    const KNOWN: [&str; 5] = ["h2", "h3", "http/1.1", "dot", "doq"];
    let known = KNOWN.into_iter().find(|known| known.as_bytes() == name);
    known.unwrap_or_else(|| kept(&String::from_utf8_lossy(name)))
}

/// Names that are kept at most. Those of profiles are few: a connection agrees on one that this end has offered.
const KEPT_MAX: usize = 1_024;

/// A name that is kept as long as the program runs; `other` if there are too many.
pub(crate) fn kept(name: &str) -> &'static str {
    static KEPT: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut all = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = all.iter().find(|known| **known == name) {
        return known;
    }
    if all.len() == KEPT_MAX {
        return "other";
    }
    all.push(Box::leak(name.to_owned().into_boxed_str()));
    all[all.len() - 1]
}

fn suite(name: &str) -> Result<SupportedCipherSuite, TlsError> {
    ALL_CIPHER_SUITES
        .iter()
        .find(|suite| of_suite(suite.suite()).eq_ignore_ascii_case(name))
        .copied()
        .ok_or_else(|| TlsError::UnknownSuite { name: name.to_owned() })
}

fn group(name: &str) -> Result<&'static dyn SupportedKxGroup, TlsError> {
    all_groups()
        .find(|group| of_group(group.name()).eq_ignore_ascii_case(name))
        .ok_or_else(|| TlsError::UnknownGroup { name: name.to_owned() })
}
