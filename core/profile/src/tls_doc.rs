//! TLS around sessions, as written.

use crate::content_doc::TextDoc;
use crate::document::OneOrMany;
use crate::quantity::TlsVersion;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `true`, or more.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum TlsForm {
    Default(bool),
    Full(Box<TlsDoc>),
}

impl TlsForm {
    /// What is written out; `None` is no TLS.
    pub(crate) fn resolved(&self) -> Option<TlsDoc> {
        match self {
            Self::Default(yes) => yes.then(TlsDoc::default),
            Self::Full(doc) => Some((**doc).clone()),
        }
    }
}

/// Encryption around the application: TLS 1.2 and 1.3.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Tls")]
pub(crate) struct TlsDoc {
    /// Versions that may be agreed upon: 1.2 and 1.3 unless given.
    pub(crate) versions: Option<OneOrMany<TlsVersion>>,
    /// Cipher suites, best first. Without them: all there are.
    pub(crate) suites: Option<OneOrMany<SuiteDoc>>,
    /// Groups of the key exchange, best first. Without them: all there are.
    pub(crate) groups: Option<OneOrMany<CurveGroupDoc>>,
    /// Application protocols offered and taken, best first. Without it 'http/1.1' for http, else none.
    pub(crate) alpn: Option<OneOrMany<String>>,
    /// The server's name in the handshake (SNI). Without it the host of http if that is a name, else 'eagre.test' where
    /// servers are played here.
    pub(crate) server_name: Option<TextDoc>,
    /// Sessions clients keep to resume them; without it every handshake is a full one.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub(crate) resumption: Option<u32>,
    /// What clients verify a server's certificate against: nothing unless given ('none').
    pub(crate) verify: Option<TlsVerifyDoc>,
    /// The server's certificate. Without it one is made for the run.
    pub(crate) certificate: Option<CertificateDoc>,
    /// Key of the certificate that is made for the run.
    #[serde(default)]
    pub(crate) key: KeyDoc,
    /// Names the certificate that is made for the run is good for. Without them those of 'server_name'.
    pub(crate) names: Option<OneOrMany<String>>,
    /// Tickets servers give to each client: 2 unless given; 0: nothing can be resumed.
    #[schemars(range(min = 0, max = 255))]
    pub(crate) tickets: Option<u8>,
    /// What clients show servers that ask for a certificate.
    pub(crate) client_certificate: Option<CertificateDoc>,
    /// A file of root certificates (PEM) that servers verify clients against. Without it clients need none.
    pub(crate) client_roots: Option<String>,
}

/// A certificate and its key, in files (PEM). Relative to the profile.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Certificate")]
pub(crate) struct CertificateDoc {
    /// The certificate, and those between it and a root.
    #[schemars(length(min = 1))]
    pub(crate) chain: String,
    /// The private key.
    #[schemars(length(min = 1))]
    pub(crate) key: String,
}

/// What a server's certificate is verified against.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum TlsVerifyDoc {
    Word(TlsVerifyWord),
    Roots(RootsDoc),
}

/// A way to verify a server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub(crate) enum TlsVerifyWord {
    /// Nothing: any certificate is good.
    None,
    /// The root made for the servers played here.
    Generated,
}

/// Roots from a file.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub(crate) struct RootsDoc {
    /// A file of root certificates (PEM). Relative to the profile.
    #[schemars(length(min = 1))]
    pub(crate) roots: String,
}

/// The kind of a generated key.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(crate) enum KeyDoc {
    /// ECDSA on P-256.
    #[default]
    #[serde(rename = "ecdsa-p256")]
    EcdsaP256,
    /// ECDSA on P-384.
    #[serde(rename = "ecdsa-p384")]
    EcdsaP384,
    /// RSA with 2,048 bits.
    #[serde(rename = "rsa-2048")]
    Rsa2048,
}

macro_rules! words {
    ($(#[$about:meta])* $name:ident, $noun:literal: $($variant:ident = $word:literal),+ $(,)?) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
        pub(crate) enum $name {
            $(#[serde(rename = $word)] $variant),+
        }

        impl $name {
            /// Its name as registered.
            pub(crate) fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $word),+
                }
            }
        }

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "enum": [$($word),+], "x-noun": $noun})
            }
        }
    };
}

words! {
    /// A cipher suite by its IANA name.
    SuiteDoc, "cipher suite":
    Aes128Gcm = "TLS_AES_128_GCM_SHA256",
    Aes256Gcm = "TLS_AES_256_GCM_SHA384",
    Chacha20 = "TLS_CHACHA20_POLY1305_SHA256",
    EcdsaAes128Gcm = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    EcdsaAes256Gcm = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    EcdsaChacha20 = "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    RsaAes128Gcm = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    RsaAes256Gcm = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    RsaChacha20 = "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
}

words! {
    /// A group of the key exchange by its IANA name.
    CurveGroupDoc, "group":
    X25519 = "x25519",
    Secp256r1 = "secp256r1",
    Secp384r1 = "secp384r1",
    X25519MlKem768 = "X25519MLKEM768",
}
