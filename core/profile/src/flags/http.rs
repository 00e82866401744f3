//! The profile of `eagre http`: clients of one web server.

use super::lasting;
use crate::document::app::{AppDoc, AppKeys};
use crate::document::content::{EndlessDoc, TextDoc, TimesDoc};
use crate::document::http::{HttpDoc, MethodDoc};
use crate::document::options::TcpDoc;
use crate::document::quantity::{
    Addresses, ConditionText, Duration, EndAddresses, HttpVersionText, PortRange, SessionRate, Share,
    TimeLimit,
};
use crate::document::session::{AddressesDoc, ClientDoc, LateRequestsDoc, ServerDoc, SessionDoc};
use crate::document::session_text::EndText;
use crate::document::tls::{RootsDoc, TlsDoc, TlsForm, TlsVerifyDoc};
use crate::document::{Document, Ip, IpPrefix, LoadDoc, Mac, Name, OneOrMany, PortDoc};
use indexmap::IndexMap;
use session::plan::HttpVersion;
use std::net::IpAddr;
use units::Nanos;

/// Name of the port and of the entry under `sessions`, in criteria and the result.
const NAME: &str = "http";
/// Longer than any number of requests takes: the run ends with the last one.
const ENDLESS: Nanos = Nanos::from_secs(24 * 3600);
/// Time for which a connection with all its responses waits for a server that does not close it, too.
const HALF_CLOSED: Nanos = Nanos::from_secs(2);

/// Options of `eagre http`: clients on one port, `http`, of an external server.
#[derive(Debug, Clone)]
pub struct HttpOptions {
    /// Device to send from.
    pub port: String,
    /// Address of the port with its prefix length.
    pub ip: IpPrefix,
    /// Router to servers outside the port's network.
    pub gateway: Option<Ip>,
    /// MAC address of the port; without it the device's own.
    pub mac: Option<Mac>,
    /// Use the interface with the machine's default route.
    pub allow_default_route: bool,
    /// Addresses of the clients; without them the port's.
    pub source: Option<Addresses>,
    /// Address and port of the server.
    pub server: (IpAddr, u16),
    /// Encryption; `None` is http.
    pub tls: Option<HttpTls>,
    /// Host field.
    pub host: String,
    /// Path and query, a text of profiles.
    pub path: String,
    /// Method; without it GET.
    pub method: Option<MethodDoc>,
    /// More header fields: names and texts of profiles.
    pub headers: Vec<(String, String)>,
    /// Body of each request.
    pub body: Option<String>,
    /// Version of HTTP; without it 1.1.
    pub version: Option<HttpVersion>,
    /// Whether the next connections go to HTTP/3 where the server announces it; with 'version' auto.
    pub alt_svc: bool,
    /// Redirects in a row that are followed; without it none is.
    pub redirects: Option<u16>,
    /// Whether each connection keeps cookies.
    pub cookies: bool,
    /// Requests at a time on a connection of HTTP/2; without it 1.
    pub streams: Option<u16>,
    /// Connections at a time.
    pub connections: u64,
    /// Requests on each connection; without it any number.
    pub per_connection: Option<u32>,
    /// Requests in all; without it until the time is over.
    pub requests: Option<u64>,
    /// Requests per second, independent of the server; without it each connection sends the next one after the last
    /// response.
    pub rate: Option<SessionRate>,
    /// Duration; without it and without `requests` the profile's default.
    pub duration: Option<Nanos>,
    /// Time to wait for the next byte of a response.
    pub timeout: Option<Nanos>,
    /// Time to the last byte that 99% of the responses must keep.
    pub max_p99: Option<Nanos>,
    /// Share of requests that may fail.
    pub max_failed: Share,
}

/// Encryption of `eagre http`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpTls {
    /// Name in the handshake and of the certificate.
    pub server_name: String,
    /// File of root certificates (PEM); `None` takes any certificate.
    pub roots: Option<String>,
    /// File that secrets are appended to.
    pub key_log: Option<String>,
}

impl HttpOptions {
    /// The profile.
    pub fn document(&self) -> Document {
        let port = PortDoc {
            ip: Some(OneOrMany::One(self.ip.clone())),
            gateway: self.gateway.clone().map(OneOrMany::One),
            mac: self.mac.clone(),
            allow_default_route: self.allow_default_route,
            ..PortDoc::new(&self.port)
        };
        let load = match (self.duration, self.requests) {
            (Some(duration), _) => lasting(duration),
            (None, Some(_)) => lasting(ENDLESS),
            (None, None) => LoadDoc::default(),
        };
        Document {
            ports: IndexMap::from([(NAME.to_owned(), port)]),
            sessions: vec![self.session()],
            load,
            criteria: self.criteria(),
            ..Document::default()
        }
    }

    fn session(&self) -> SessionDoc {
        let (server, server_port) = self.server;
        let one = |first: IpAddr, last: IpAddr| {
            let text = crate::document::session_text::AddressText { first, last };
            AddressesDoc::One(EndAddresses(EndText::Of(text)))
        };
        let source = self.source.as_ref().map(|source| one(source.0.first, source.0.last));
        let app = AppDoc::Full(Box::new(AppKeys { http: Some(self.http()), ..AppKeys::default() }));
        let mut session = SessionDoc::new(Name(NAME.to_owned()), app);
        session.client =
            Some(ClientDoc { port: Some(NAME.to_owned()), addresses: source, ..ClientDoc::default() });
        session.server = Some(ServerDoc {
            addresses: Some(one(server, server)),
            ports: Some(PortRange((server_port, server_port))),
            ..ServerDoc::default()
        });
        session.tls = self.tls.as_ref().map(tls);
        // Of endless requests no connection ends before the run does; QUIC closes both ways at once.
        let ends = self.requests.is_some() || self.per_connection.is_some();
        if ends && self.version != Some(HttpVersion::Three) {
            session.tcp = Some(TcpDoc { fin_timeout: Some(Duration(HALF_CLOSED)), ..TcpDoc::default() });
        }
        session.concurrent = Some(self.requests.map_or(self.connections, |all| all.min(self.connections)));
        // One that always fails comes to an end, too.
        session.count = self.requests;
        session.request_count = self.requests;
        session.request_rate = self.rate.clone();
        if self.rate.is_some() {
            session.late_requests = LateRequestsDoc::Send;
        }
        if let Some(timeout) = self.timeout {
            session.response_timeout = TimeLimit(Some(timeout));
        }
        session
    }

    fn http(&self) -> HttpDoc {
        let text = |text: &str| TextDoc::One(text.to_owned());
        HttpDoc {
            version: self.version.map(HttpVersionText),
            alt_svc: self.alt_svc.then_some(true),
            redirects: self.redirects,
            cookies: self.cookies.then_some(true),
            streams_per_connection: self.streams,
            method: self.method,
            host: Some(text(&self.host)),
            path: Some(text(&self.path)),
            headers: self.headers.iter().map(|(name, value)| (name.clone(), text(value))).collect(),
            body_text: self.body.clone(),
            requests: Some(match self.per_connection {
                Some(requests) => TimesDoc::Number(requests),
                None => TimesDoc::Endless(EndlessDoc::Endless),
            }),
            errors_fail: Some(false),
            ..HttpDoc::default()
        }
    }

    fn criteria(&self) -> IndexMap<String, ConditionText> {
        let times = if self.rate.is_some() { "ttlb_due_ns" } else { "ttlb_ns" };
        let slowest = self.max_p99.map(|most| (format!("{times}.p99"), format!("<= {most}")));
        let failed = ("failed_requests_ratio".to_owned(), format!("<= {}", self.max_failed));
        let condition = |(figure, text): (String, String)| {
            let condition = text.parse().unwrap_or_else(|_| panic!("'{text}' is a condition"));
            (format!("sessions.{NAME}.{figure}"), condition)
        };
        std::iter::once(failed).chain(slowest).map(condition).collect()
    }
}

fn tls(tls: &HttpTls) -> TlsForm {
    TlsForm::Full(Box::new(TlsDoc {
        server_name: Some(TextDoc::One(tls.server_name.clone())),
        verify: tls.roots.as_ref().map(|roots| TlsVerifyDoc::Roots(RootsDoc { roots: roots.clone() })),
        key_log: tls.key_log.clone(),
        ..TlsDoc::default()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;

    fn options() -> HttpOptions {
        HttpOptions {
            port: "veth0".to_owned(),
            ip: "10.0.0.254/24".parse().unwrap(),
            gateway: None,
            mac: None,
            allow_default_route: false,
            source: None,
            server: ("10.0.0.1".parse().unwrap(), 8080),
            tls: None,
            host: "10.0.0.1:8080".to_owned(),
            path: "/a?b=c".to_owned(),
            method: None,
            headers: Vec::new(),
            body: None,
            version: None,
            alt_svc: false,
            redirects: None,
            cookies: false,
            streams: None,
            connections: 10,
            per_connection: None,
            requests: None,
            rate: None,
            duration: Some(Nanos::from_secs(10)),
            timeout: None,
            max_p99: None,
            max_failed: "50%".parse().unwrap(),
        }
    }

    #[test]
    fn prints_a_profile_people_can_read() {
        let expected = "\
ports:
  http: {device: veth0, ip: 10.0.0.254/24}
sessions:
  - name: http
    client: {port: http}
    server: {addresses: 10.0.0.1, ports: \"8080\"}
    app: {http: {requests: endless, path: \"/a?b=c\", host: 10.0.0.1:8080, errors_fail: false}}
    concurrent: 10
criteria: {sessions.http.failed_requests_ratio: \"<= 50%\"}
";
        assert_eq!(options().document().to_yaml(), expected);
    }

    #[test]
    fn every_version_loads() {
        for version in [None, Some(HttpVersion::Auto), Some(HttpVersion::Two), Some(HttpVersion::Three)] {
            let tls = Some(HttpTls {
                server_name: "a.test".to_owned(),
                roots: None,
                key_log: Some("keys.txt".to_owned()),
            });
            let options = HttpOptions { version, tls, requests: Some(7), ..options() };
            load(&options.document().to_yaml()).unwrap_or_else(|errors| panic!("{version:?}: {errors:?}"));
        }
    }

    #[test]
    fn what_it_prints_loads() {
        let options = HttpOptions {
            ip: "2001:2::fe/64".parse().unwrap(),
            gateway: "2001:2::1".parse().ok(),
            mac: "02:00:00:00:00:01".parse().ok(),
            allow_default_route: true,
            source: "2001:2::fe..2001:2::ff".parse().ok(),
            server: ("2001:2:0:1::1".parse().unwrap(), 443),
            tls: Some(HttpTls { server_name: "2001:2:0:1::1".to_owned(), roots: None, key_log: None }),
            host: "[2001:2:0:1::1]".to_owned(),
            path: "/item/{1..1000}".to_owned(),
            method: Some(MethodDoc::Post),
            headers: vec![("X-A".to_owned(), "b: {session}".to_owned())],
            version: Some(HttpVersion::Two),
            redirects: Some(10),
            cookies: true,
            streams: Some(100),
            body: Some("{\"a\": [1, 2]}\n".to_owned()),
            per_connection: Some(100),
            requests: Some(7),
            rate: "1000/s".parse().ok(),
            duration: None,
            timeout: Some(Nanos::from_secs(1)),
            max_p99: Some(Nanos::from_millis(20)),
            ..options()
        };
        let text = options.document().to_yaml();
        let plan = load(&text).unwrap_or_else(|errors| panic!("{text}\n{errors:?}"));
        let session = &plan.sessions[0].session;
        assert_eq!((session.load.concurrent, session.load.request_count), (Some(7), Some(7)));
        assert!(text.contains("fin_timeout: 2s"), "{text}");
        assert!(session.load.late && plan.criteria.len() == 2 && plan.duration == ENDLESS);
        assert!(text.contains("ttlb_due_ns.p99"), "{text}");
    }
}
