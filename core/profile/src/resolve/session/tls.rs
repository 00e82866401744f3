//! TLS: what may be agreed upon, names, certificates.

use super::app::Surroundings;
use super::http::OUR_NAME;
use super::quic::has_program;
use crate::document::OneOrMany;
use crate::document::app::{AppDoc, AppWord};
use crate::document::content::TextDoc;
use crate::document::dns::DnsMethodDoc;
use crate::document::http::HttpDoc;
use crate::document::session::SessionDoc;
use crate::document::tls::{
    CertificateDoc, CurveGroupDoc, KeyDoc, SuiteDoc, TlsDoc, TlsForm, TlsVerifyDoc, TlsVerifyWord,
};
use crate::document::websocket::WebsocketDoc;
use crate::resolve::Resolver;
use session::plan::{
    Content, HttpVersion, Identity, KeyKind, Part, ServerIdentity, TlsClient, TlsPlan, TlsServer, TlsVerify,
};
use std::net::IpAddr;
use std::sync::Arc;

/// Beginnings of files of certificates and keys.
const PEM: &[u8] = b"-----BEGIN ";
/// Name of HTTP/2 in ALPN.
const HTTP2: &str = "h2";
/// Name of DNS over QUIC in ALPN (RFC 9250 section 4.1.1).
const DOQ: &str = "doq";
/// Default number of tickets to each client.
const TICKETS: u8 = 2;

impl Resolver<'_> {
    pub(super) fn tls(&mut self, path: &str, entry: &SessionDoc, around: &Surroundings) -> Option<TlsPlan> {
        // QUIC is always encrypted.
        let is_quic = entry.is_quic() || is_http3(&entry.app);
        let written = entry.tls.as_ref().and_then(TlsForm::resolved);
        let doc = written.or_else(|| (is_quic || entry.has_tls()).then(TlsDoc::default))?;
        let path = format!("{path}.tls");
        if self.reading.is_broken(&path) {
            return None;
        }
        let name = self.server_name(&path, &doc, entry, around);
        if is_quic {
            self.check_quic(&path, entry, &doc);
        }
        let has = |minor| has(&doc, minor);
        self.check_versions(&path, &doc, is_quic);
        let identity = self.server_identity(&path, &doc, name.as_ref(), around)?;
        let verify = self.tls_verify(&path, &doc, around, &identity);
        let client_certificate = doc.client_certificate.as_ref();
        let alpn = match &doc.alpn {
            Some(_) => listed(&doc.alpn).cloned().collect(),
            None => match http_of(&entry.app) {
                Some(http) => protocols(http),
                // A connection of HTTP/1.1 begins as one of that.
                None if websocket_host(&entry.app).is_some() => {
                    vec![of_version(websocket_version(&entry.app))]
                }
                None if grpc_host(&entry.app).is_some() => vec![HTTP2.to_owned()],
                None if entry.is_https() => names_of(dns_version(&entry.app).unwrap_or(HttpVersion::Two)),
                None if entry.is_quic() && !has_program(&entry.app) => vec![DOQ.to_owned()],
                None => Vec::new(),
            },
        };
        if alpn.is_empty() && is_quic {
            let reason = "a protocol over QUIC has a name (RFC 9001 section 8.1), which both ends know: set 'alpn' in 'tls'";
            self.reading.fail(format!("{path}.alpn"), reason);
        }
        Some(TlsPlan {
            tls12: has(2) && !is_quic,
            tls13: has(3),
            suites: listed(&doc.suites).map(|suite| suite.name().to_owned()).collect(),
            groups: listed(&doc.groups).map(|group| group.name().to_owned()).collect(),
            alpn,
            key_log: self.key_log(&path, &doc),
            client: TlsClient {
                server_name: name,
                resumption: doc.resumption,
                identity: match client_certificate {
                    Some(files) => Some(self.identity(&format!("{path}.client_certificate"), files)?),
                    None => None,
                },
                verify,
                key_share_reuse: self.key_share(&path, &doc, around),
            },
            server: TlsServer {
                identity,
                tickets: doc.tickets.unwrap_or(TICKETS),
                client_roots: match &doc.client_roots {
                    Some(file) => Some(self.pem(&format!("{path}.client_roots"), file)?),
                    None => None,
                },
            },
        })
    }

    /// Checks that no feature is used that QUIC lacks (RFC 9001 section 4.2).
    fn check_quic(&mut self, path: &str, entry: &SessionDoc, doc: &TlsDoc) {
        if matches!(entry.tls, Some(TlsForm::Default(false))) {
            let reason = "QUIC is always encrypted; remove 'tls: false', or use another 'version' of HTTP or 'transport'";
            self.reading.fail(path, reason);
        }
        if doc.versions.is_some() && !listed(&doc.versions).any(|version| version.0 == 3) {
            self.reading.fail(format!("{path}.versions"), "QUIC needs TLS 1.3; remove 'versions'");
        }
        if doc.suites.is_some() && !listed(&doc.suites).any(|suite| suite.is_of_13()) {
            let reason = "QUIC needs a suite of TLS 1.3, such as TLS_AES_128_GCM_SHA256";
            self.reading.fail(format!("{path}.suites"), reason);
        }
    }

    /// Checks that there are a suite and a group for one of the versions.
    fn check_versions(&mut self, path: &str, doc: &TlsDoc, is_quic: bool) {
        let with_suite = |minor| {
            has(doc, minor)
                && (doc.suites.is_none() || listed(&doc.suites).any(|suite| suite.is_of_13() == (minor == 3)))
        };
        // The hybrid group belongs to TLS 1.3 (draft-ietf-tls-ecdhe-mlkem).
        let with_group = |minor| {
            let fits = |group: &CurveGroupDoc| minor == 3 || *group != CurveGroupDoc::X25519MlKem768;
            doc.groups.is_none() || listed(&doc.groups).any(fits)
        };
        if is_quic || [2, 3].into_iter().any(|minor| with_suite(minor) && with_group(minor)) {
            return;
        }
        if [2, 3].into_iter().any(with_suite) {
            let reason = "none is of TLS 1.2; add one such as x25519, or allow TLS 1.3";
            self.reading.fail(format!("{path}.groups"), reason);
        } else {
            let (version, example) = match has(doc, 3) {
                true => ("1.3", SuiteDoc::Aes128Gcm),
                false => ("1.2", SuiteDoc::EcdsaAes128Gcm),
            };
            let reason =
                format!("none is of TLS {version}; add one such as {}, or remove 'versions'", example.name());
            self.reading.fail(format!("{path}.suites"), reason);
        }
    }

    /// The name in the handshake.
    fn server_name(
        &mut self,
        path: &str,
        doc: &TlsDoc,
        entry: &SessionDoc,
        around: &Surroundings,
    ) -> Option<Content> {
        if let Some(name) = &doc.server_name {
            return Some(self.text(&format!("{path}.server_name"), name));
        }
        let host = http_of(&entry.app).flatten().and_then(|http| http.host.clone());
        let host = host.or_else(|| websocket_host(&entry.app).flatten());
        let host = host.or_else(|| grpc_host(&entry.app).flatten());
        let host = host.or_else(|| dns_host(&entry.app));
        if let Some(TextDoc::One(host)) = host
            && host.parse::<IpAddr>().is_err()
            && !host.contains(['{', '}', ':', '['])
        {
            return Some(Content::bytes(host));
        }
        around.server.then(|| Content::bytes(OUR_NAME))
    }

    fn server_identity(
        &mut self,
        path: &str,
        doc: &TlsDoc,
        name: Option<&Content>,
        around: &Surroundings,
    ) -> Option<ServerIdentity> {
        if let Some(files) = &doc.certificate {
            if !around.server {
                let reason = "applies to emulated servers only: 'server' has no 'port'";
                self.reading.fail(format!("{path}.certificate"), reason);
            }
            return self.identity(&format!("{path}.certificate"), files).map(ServerIdentity::Given);
        }
        let key = match doc.key {
            KeyDoc::EcdsaP256 => KeyKind::EcdsaP256,
            KeyDoc::EcdsaP384 => KeyKind::EcdsaP384,
            KeyDoc::Rsa2048 => KeyKind::Rsa2048,
        };
        let names: Vec<String> = match &doc.names {
            Some(_) => listed(&doc.names).cloned().collect(),
            None => name.map(plain_texts).unwrap_or_default(),
        };
        let names = if names.is_empty() { vec![OUR_NAME.to_owned()] } else { names };
        Some(ServerIdentity::Generated { names, key })
    }

    fn tls_verify(
        &mut self,
        path: &str,
        doc: &TlsDoc,
        around: &Surroundings,
        identity: &ServerIdentity,
    ) -> TlsVerify {
        let path = format!("{path}.verify");
        match &doc.verify {
            None | Some(TlsVerifyDoc::Word(TlsVerifyWord::None)) => TlsVerify::Off,
            Some(TlsVerifyDoc::Word(TlsVerifyWord::Nothing)) => TlsVerify::Nothing,
            Some(TlsVerifyDoc::Word(TlsVerifyWord::Generated)) => {
                if !around.server || !matches!(identity, ServerIdentity::Generated { .. }) {
                    let reason =
                        "no certificate is made for this run; name the file of its root: {roots: file.pem}";
                    self.reading.fail(path, reason);
                }
                TlsVerify::Generated
            }
            Some(TlsVerifyDoc::Roots(files)) => {
                self.pem(&format!("{path}.roots"), &files.roots).map_or(TlsVerify::Off, TlsVerify::Roots)
            }
        }
    }

    /// Handshakes that a client's share serves.
    fn key_share(&mut self, path: &str, doc: &TlsDoc, around: &Surroundings) -> Option<u32> {
        let share = doc.key_share.as_ref()?;
        if !around.client {
            let reason = "applies to emulated clients only: 'client' has no 'port'";
            self.reading.fail(format!("{path}.key_share"), reason);
        }
        Some(share.reuse)
    }

    /// The file for secrets.
    fn key_log(&mut self, path: &str, doc: &TlsDoc) -> Option<String> {
        let file = doc.key_log.clone()?;
        if file.is_empty() || file.contains('\0') {
            self.reading.fail(format!("{path}.key_log"), "must be the name of a file");
        }
        Some(file)
    }

    fn identity(&mut self, path: &str, files: &CertificateDoc) -> Option<Identity> {
        let chain = self.pem(&format!("{path}.chain"), &files.chain);
        let key = self.pem(&format!("{path}.key"), &files.key);
        Some(Identity { chain: chain?, key: key? })
    }

    /// A file of certificates or of a key.
    fn pem(&mut self, path: &str, name: &str) -> Option<Arc<[u8]>> {
        let bytes = self.file(path, name)?;
        if !bytes.windows(PEM.len()).any(|window| window == PEM) {
            self.reading.fail(path, format!("'{name}' is not PEM: there is no '-----BEGIN …-----' in it"));
            return None;
        }
        Some(bytes.into())
    }
}

/// Whether a minor version of TLS is allowed.
fn has(doc: &TlsDoc, minor: u8) -> bool {
    doc.versions.is_none() || listed(&doc.versions).any(|version| version.0 == minor)
}

fn listed<T>(list: &Option<OneOrMany<T>>) -> impl Iterator<Item = &T> {
    list.iter().flat_map(OneOrMany::with_paths).map(|(_, value)| value)
}

/// The HTTP part of an application; `Some(None)` is HTTP with defaults.
fn http_of(app: &AppDoc) -> Option<Option<&HttpDoc>> {
    match app {
        AppDoc::Word(AppWord::Http) => Some(None),
        AppDoc::Word(_) => None,
        AppDoc::Full(keys) => keys
            .http
            .as_ref()
            .map(Some)
            .or_else(|| keys.mix.iter().flatten().find_map(|member| http_of(&member.app))),
    }
}

/// The host of an application that is WebSocket, or has it in its mix; `Some(None)` is the default host.
fn websocket_host(app: &AppDoc) -> Option<Option<TextDoc>> {
    match app {
        AppDoc::Word(word) => (*word == AppWord::Websocket).then_some(None),
        AppDoc::Full(keys) => keys
            .websocket
            .as_ref()
            .map(|websocket| websocket.host.clone())
            .or_else(|| keys.mix.iter().flatten().find_map(|member| websocket_host(&member.app))),
    }
}

/// The version of HTTP of an application that is WebSocket, or of the first such in its mix.
pub(super) fn websocket_version(app: &AppDoc) -> HttpVersion {
    fn find(app: &AppDoc) -> Option<HttpVersion> {
        match app {
            AppDoc::Word(_) => None,
            AppDoc::Full(keys) => keys
                .websocket
                .as_ref()
                .map(WebsocketDoc::version)
                .or_else(|| keys.mix.iter().flatten().find_map(|member| find(&member.app))),
        }
    }
    find(app).unwrap_or(HttpVersion::One)
}

/// The same for gRPC.
fn grpc_host(app: &AppDoc) -> Option<Option<TextDoc>> {
    match app {
        AppDoc::Word(word) => (*word == AppWord::Grpc).then_some(None),
        AppDoc::Full(keys) => keys
            .grpc
            .as_ref()
            .map(|grpc| grpc.host.clone())
            .or_else(|| keys.mix.iter().flatten().find_map(|member| grpc_host(&member.app))),
    }
}

/// The host of an application that is DNS over HTTPS, or of the first such in its mix.
fn dns_host(app: &AppDoc) -> Option<TextDoc> {
    match app {
        AppDoc::Word(_) => None,
        AppDoc::Full(keys) => match &keys.dns {
            Some(dns) => dns.host.clone(),
            None => keys.mix.iter().flatten().find_map(|member| dns_host(&member.app)),
        },
    }
}

/// The version of HTTP that DNS over HTTPS is given, or the first such in a mix.
pub(super) fn dns_version(app: &AppDoc) -> Option<HttpVersion> {
    match app {
        AppDoc::Word(_) => None,
        AppDoc::Full(keys) => match &keys.dns {
            Some(dns) => dns.version.as_ref().map(|version| version.0),
            None => keys.mix.iter().flatten().find_map(|member| dns_version(&member.app)),
        },
    }
}

/// Whether all queries over HTTPS are by GET.
pub(super) fn dns_by_get(app: &AppDoc) -> bool {
    match app {
        AppDoc::Word(_) => true,
        AppDoc::Full(keys) => {
            let own = keys.dns.as_ref().is_none_or(|dns| dns.method == Some(DnsMethodDoc::Get));
            own && keys.mix.iter().flatten().all(|member| dns_by_get(&member.app))
        }
    }
}

/// Whether an application goes over HTTP/3, or all of a mix do.
pub(super) fn is_http3(app: &AppDoc) -> bool {
    http_of(app).flatten().is_some_and(|http| http.version() == HttpVersion::Three)
        || websocket_version(app) == HttpVersion::Three
        || dns_version(app) == Some(HttpVersion::Three)
}

/// The name of a version of HTTP that is not negotiated.
fn of_version(version: HttpVersion) -> String {
    let name = match version {
        HttpVersion::One | HttpVersion::Auto => "http/1.1",
        HttpVersion::Two => HTTP2,
        HttpVersion::Three => "h3",
    };
    name.to_owned()
}

/// Names of the versions of HTTP that may be agreed on, the best first.
fn protocols(http: Option<&HttpDoc>) -> Vec<String> {
    names_of(http.map_or(HttpVersion::One, HttpDoc::version))
}

fn names_of(version: HttpVersion) -> Vec<String> {
    match version {
        HttpVersion::Auto => vec![of_version(HttpVersion::Two), of_version(HttpVersion::One)],
        version => vec![of_version(version)],
    }
}

/// The texts a content can be, if they do not vary by numbers.
fn plain_texts(content: &Content) -> Vec<String> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match &content.parts[..] {
        [Part::Bytes(bytes)] => vec![text(bytes)],
        [Part::List { items, .. }] => items.iter().map(|item| text(item)).collect(),
        _ => Vec::new(),
    }
}
