//! Trust in all servers: the verifier of a tester that does not judge certificates.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

/// Accepts any certificate of any server: from any issuer, for any name, of any age.
///
/// The signature over the handshake is still checked if the certificate can be read, because it is part of a
/// handshake's work. One that can't be read is accepted as well.
#[derive(Debug)]
pub struct AcceptAnyCertificate(WebPkiSupportedAlgorithms);

impl AcceptAnyCertificate {
    /// With these kinds of signatures.
    pub fn new(signatures: WebPkiSupportedAlgorithms) -> Self {
        Self(signatures)
    }
}

impl ServerCertVerifier for AcceptAnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if ParsedCertificate::try_from(certificate).is_err() {
            return Ok(HandshakeSignatureValid::assertion());
        }
        verify_tls12_signature(message, certificate, signed, &self.0)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if ParsedCertificate::try_from(certificate).is_err() {
            return Ok(HandshakeSignatureValid::assertion());
        }
        verify_tls13_signature(message, certificate, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }
}
