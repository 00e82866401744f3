//! The library's errors in the session's words: whose alert, what is wrong with a certificate, or what was no TLS.

use rustls::{AlertDescription, CertificateError, Error};
use session::secure::SecureError;

use crate::names;

/// A peer sent the alert no_application_protocol (RFC 7301 section 3.2).
pub const REFUSED_ALPN: &str = "ALPN: the other end supports none of the application protocols";

/// Why a flow failed.
pub fn of_library(error: Error) -> SecureError {
    match error {
        Error::AlertReceived(AlertDescription::NoApplicationProtocol) => {
            SecureError::NothingCommon(REFUSED_ALPN)
        }
        Error::AlertReceived(alert) => SecureError::AlertReceived(alert_name(alert)),
        Error::NoApplicationProtocol => SecureError::NothingCommon("ALPN: no common application protocol"),
        Error::InvalidCertificate(reason) => SecureError::Certificate(certificate_reason(&reason)),
        Error::NoCertificatesPresented => SecureError::Certificate("none presented".to_owned()),
        other => SecureError::Protocol(other.to_string()),
    }
}

/// Fault of a certificate, in a word or two.
fn certificate_reason(error: &CertificateError) -> String {
    use CertificateError as E;
    match error {
        E::BadEncoding => "bad encoding".to_owned(),
        E::Expired | E::ExpiredContext { .. } => "expired".to_owned(),
        E::NotValidYet | E::NotValidYetContext { .. } => "not valid yet".to_owned(),
        E::Revoked => "revoked".to_owned(),
        E::UnknownIssuer => "unknown issuer".to_owned(),
        E::BadSignature => "bad signature".to_owned(),
        E::NotValidForName | E::NotValidForNameContext { .. } => "not valid for name".to_owned(),
        E::InvalidPurpose | E::InvalidPurposeContext { .. } => "invalid purpose".to_owned(),
        E::UnhandledCriticalExtension => "unknown critical extension".to_owned(),
        E::UnsupportedSignatureAlgorithmContext { .. }
        | E::UnsupportedSignatureAlgorithmForPublicKeyContext { .. } => {
            "unsupported signature algorithm".to_owned()
        }
        E::Other(other) if other.0.downcast_ref() == Some(&webpki::Error::CaUsedAsEndEntity) => {
            "an authority's, not a server's".to_owned()
        }
        other => other.to_string(),
    }
}

/// An alert's name as its RFC writes it (RFC 8446 section 6, RFC 5246 section 7.2, RFC 6066, RFC 7301), or its number.
pub fn alert_name(alert: AlertDescription) -> &'static str {
    use AlertDescription as A;
    match alert {
        A::CloseNotify => "close_notify",
        A::UnexpectedMessage => "unexpected_message",
        A::BadRecordMac => "bad_record_mac",
        A::DecryptionFailed => "decryption_failed",
        A::RecordOverflow => "record_overflow",
        A::DecompressionFailure => "decompression_failure",
        A::HandshakeFailure => "handshake_failure",
        A::NoCertificate => "no_certificate",
        A::BadCertificate => "bad_certificate",
        A::UnsupportedCertificate => "unsupported_certificate",
        A::CertificateRevoked => "certificate_revoked",
        A::CertificateExpired => "certificate_expired",
        A::CertificateUnknown => "certificate_unknown",
        A::IllegalParameter => "illegal_parameter",
        A::UnknownCA => "unknown_ca",
        A::AccessDenied => "access_denied",
        A::DecodeError => "decode_error",
        A::DecryptError => "decrypt_error",
        A::ExportRestriction => "export_restriction",
        A::ProtocolVersion => "protocol_version",
        A::InsufficientSecurity => "insufficient_security",
        A::InternalError => "internal_error",
        A::InappropriateFallback => "inappropriate_fallback",
        A::UserCanceled => "user_canceled",
        A::NoRenegotiation => "no_renegotiation",
        A::MissingExtension => "missing_extension",
        A::UnsupportedExtension => "unsupported_extension",
        A::CertificateUnobtainable => "certificate_unobtainable",
        A::UnrecognisedName => "unrecognized_name",
        A::BadCertificateStatusResponse => "bad_certificate_status_response",
        A::BadCertificateHashValue => "bad_certificate_hash_value",
        A::UnknownPSKIdentity => "unknown_psk_identity",
        A::CertificateRequired => "certificate_required",
        A::NoApplicationProtocol => "no_application_protocol",
        A::EncryptedClientHelloRequired => "ech_required",
        other => names::kept(&format!("alert {}", u8::from(other))),
    }
}
