//! TLS around sessions, as written.

use crate::document::OneOrMany;
use crate::document::content::TextDoc;
use crate::document::quantity::TlsVersion;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `true`, or more.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the variants' types say it; comments would become descriptions")]
pub enum TlsForm {
    Default(bool),
    Full(Box<TlsDoc>),
}

impl TlsForm {
    /// The settings with defaults applied; `None` is no TLS.
    pub fn resolved(&self) -> Option<TlsDoc> {
        match self {
            Self::Default(yes) => yes.then(TlsDoc::default),
            Self::Full(doc) => Some((**doc).clone()),
        }
    }
}

/// Encryption around the application: TLS 1.2 and 1.3. That of HTTP/3 is QUIC's, of TLS 1.3 alone.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Tls")]
pub struct TlsDoc {
    /// Versions to offer and accept. Default: 1.2 and 1.3.
    pub versions: Option<OneOrMany<TlsVersion>>,
    /// Cipher suites in order of preference. Default: all supported.
    pub suites: Option<OneOrMany<SuiteDoc>>,
    /// Key exchange groups in order of preference. Default: all supported.
    pub groups: Option<OneOrMany<CurveGroupDoc>>,
    /// Application protocols (ALPN) in order of preference. Default: for http the protocols of its 'version', 'h3',
    /// 'h2' and 'http/1.1', else none.
    pub alpn: Option<OneOrMany<String>>,
    /// Server name in the handshake (SNI). Default: the host of http if it is a name, otherwise 'eagre.test' with
    /// emulated servers.
    pub server_name: Option<TextDoc>,
    /// Number of TLS sessions clients keep for resumption. Default: full handshakes only.
    #[schemars(range(min = 1, max = 10_000_000))]
    pub resumption: Option<u32>,
    /// Verification of server certificates by clients. Default: 'none'.
    pub verify: Option<TlsVerifyDoc>,
    /// Key shares of clients. Default: one for each handshake.
    pub key_share: Option<KeyShareDoc>,
    /// Certificate of the server. Default: one generated for the run.
    pub certificate: Option<CertificateDoc>,
    /// Key type of the generated certificate.
    #[serde(default)]
    pub key: KeyDoc,
    /// Names in the generated certificate. Default: the names of 'server_name'.
    pub names: Option<OneOrMany<String>>,
    /// Number of tickets servers issue to each client; 0 disables resumption. Default: 2.
    #[schemars(range(min = 0, max = 255))]
    pub tickets: Option<u8>,
    /// Certificate of clients, for servers that request one.
    pub client_certificate: Option<CertificateDoc>,
    /// File of root certificates (PEM) to verify clients against. Default: clients need no certificate.
    pub client_roots: Option<String>,
    /// File that the secrets of connections are appended to (RFC 9850), to decrypt captures. Clients write them, or
    /// the servers if clients are external. Default: none.
    #[schemars(length(min = 1))]
    pub key_log: Option<String>,
}

/// Certificate and key in PEM files, relative to the profile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Certificate")]
pub struct CertificateDoc {
    /// Certificate chain without the root.
    #[schemars(length(min = 1))]
    pub chain: String,
    /// Private key.
    #[schemars(length(min = 1))]
    pub key: String,
}

/// Verification of a server's certificate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
#[expect(missing_docs, reason = "the variants' types say it; comments would become descriptions")]
pub enum TlsVerifyDoc {
    Word(TlsVerifyWord),
    Roots(RootsDoc),
}

/// A way to verify a server's certificate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum TlsVerifyWord {
    /// Any certificate is good; only the signature over the handshake is verified.
    None,
    /// Neither the certificate nor the signature over the handshake is read: less work than any real client's.
    Nothing,
    /// Against the root generated for emulated servers.
    Generated,
}

/// Shares of the key exchange.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "KeyShare")]
pub struct KeyShareDoc {
    /// Number of handshakes that one share serves: less work than any real client's. Each core makes its own.
    #[schemars(range(min = 2, max = 1_000_000))]
    pub reuse: u32,
}

/// Roots from a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
pub struct RootsDoc {
    /// File of root certificates (PEM), relative to the profile.
    #[schemars(length(min = 1))]
    pub roots: String,
}

/// Type of a generated key.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum KeyDoc {
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
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name {
            $(#[doc = $word] #[serde(rename = $word)] $variant),+
        }

        impl $name {
            /// Its name as registered.
            pub fn name(self) -> &'static str {
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

impl SuiteDoc {
    /// Whether it is a suite of TLS 1.3; the others belong to 1.2.
    pub fn is_of_13(self) -> bool {
        matches!(self, Self::Aes128Gcm | Self::Aes256Gcm | Self::Chacha20)
    }
}

words! {
    /// A group of the key exchange by its IANA name.
    CurveGroupDoc, "group":
    X25519 = "x25519",
    Secp256r1 = "secp256r1",
    Secp384r1 = "secp384r1",
    Secp521r1 = "secp521r1",
    X25519MlKem768 = "X25519MLKEM768",
}
