//! Signatures that always have the same length.
//!
//! One of ECDSA is two numbers written out, each with as many bytes as it needs: 70, 71 or 72 bytes in all on P-256, by lot. With
//! that the packets of a handshake would have other lengths each time, and a run in virtual time other instants. Signing
//! again until the usual length comes costs one signature more on average, so runs in real time do without.

use std::sync::Arc;

use rustls::sign::{CertifiedKey, Signer, SigningKey};
use rustls::{Error, SignatureAlgorithm, SignatureScheme};

/// Signatures made for one at most.
const TRIES: usize = 64;

/// The same certificate, with a key whose signatures have one length.
pub(crate) fn steady(identity: &CertifiedKey) -> Arc<CertifiedKey> {
    let key = Arc::new(SteadyKey(identity.key.clone()));
    Arc::new(CertifiedKey { cert: identity.cert.clone(), key, ocsp: identity.ocsp.clone() })
}

#[derive(Debug)]
struct SteadyKey(Arc<dyn SigningKey>);

impl SigningKey for SteadyKey {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        self.0.choose_scheme(offered).map(|signer| Box::new(SteadySigner(signer)) as Box<dyn Signer>)
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.0.algorithm()
    }
}

#[derive(Debug)]
struct SteadySigner(Box<dyn Signer>);

/// Bytes of a signature: those that most of its kind have.
fn usual(scheme: SignatureScheme) -> Option<usize> {
    match scheme {
        SignatureScheme::ECDSA_NISTP256_SHA256 => Some(71),
        SignatureScheme::ECDSA_NISTP384_SHA384 => Some(103),
        // Others always have the same.
        _ => None,
    }
}

impl Signer for SteadySigner {
    fn sign(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let mut signature = self.0.sign(message)?;
        let Some(usual) = usual(self.0.scheme()) else { return Ok(signature) };
        for _ in 1..TRIES {
            if signature.len() == usual {
                break;
            }
            signature = self.0.sign(message)?;
        }
        Ok(signature)
    }

    fn scheme(&self) -> SignatureScheme {
        self.0.scheme()
    }
}
