//! HTTP client of the server's API: gets and posts JSON documents, reads event streams.
//!
//! Not here: the meaning of documents, polling, threads.

use crate::text;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::{Response, StatusCode};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

/// Timeout for connecting and for the start of a response.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Timeout between reads. Event streams carry at least a comment every 15 s.
const READ_TIMEOUT: Duration = Duration::from_secs(40);
/// Maximum document length, bytes.
const DOCUMENT_MAX: u64 = 256 << 20;
/// Debian's bundle of trusted certificate authorities.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Why a request failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ClientError {
    /// The server is unreachable or the connection broke: worth a retry.
    Unreachable(String),
    /// The server refused the request.
    Refused {
        /// The HTTP status.
        status: u16,
        /// The server's message.
        detail: String,
    },
    /// The response could not be parsed.
    Unexpected(String),
}

impl std::fmt::Display for ClientError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Unreachable(reason) | Self::Unexpected(reason) => f.write_str(reason),
            Self::Refused { detail, .. } => f.write_str(detail),
        }
    }
}

/// Trusted certificate authorities.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trust<'a> {
    /// The system's authorities.
    System,
    /// Only the certificates of a PEM file.
    File(&'a Path),
    /// Accept any certificate.
    Insecure,
}

/// A server.
#[derive(Clone)]
pub(crate) struct Server {
    agent: Agent,
    /// Its base URL, without a trailing slash.
    base: String,
    token: Option<String>,
}

impl Server {
    /// Checks the URL and loads the authorities; connects to nothing yet.
    pub(crate) fn new(url: &str, token: Option<String>, trust: Trust<'_>) -> Result<Self, String> {
        let (base, agent) = agent(url, trust)?;
        Ok(Self { agent, base, token })
    }

    /// The base URL.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Gets a document below `/api/v1`.
    pub(crate) fn document<T: DeserializeOwned>(&self, path: &str) -> Result<T, ClientError> {
        read(path, self.get(path)?)
    }

    /// Posts to a resource below `/api/v1`.
    pub(crate) fn post(&self, path: &str, document: &impl Serialize) -> Result<(), ClientError> {
        let mut request =
            self.agent.post(format!("{}/api/v1{path}", self.base)).header("content-type", "application/json");
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let text =
            serde_json::to_string(document).map_err(|e| ClientError::Unexpected(format!("{path}: {e}")))?;
        let response = check_status(path, request.send(text))?;
        body(path, response).map(drop)
    }

    /// Reads events below `/api/v1` and passes name and data to `each` until it returns `false` or the stream ends.
    pub(crate) fn events(
        &self,
        path: &str,
        mut each: impl FnMut(&str, &str) -> Result<bool, ClientError>,
    ) -> Result<(), ClientError> {
        let body = BufReader::new(self.get(path)?.into_body().into_reader());
        let mut events = Events::default();
        for line in body.lines() {
            let line = line.map_err(|e| ClientError::Unreachable(format!("{path}: {e}")))?;
            if let Some((name, data)) = events.line(&line)
                && !each(&name, &data)?
            {
                return Ok(());
            }
        }
        Ok(())
    }

    fn get(&self, path: &str) -> Result<Response<Body>, ClientError> {
        let mut request = self.agent.get(format!("{}/api/v1{path}", self.base));
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        check_status(path, request.call())
    }
}

/// Parses a document.
pub(crate) fn parse<T: DeserializeOwned>(what: &str, text: &[u8]) -> Result<T, ClientError> {
    serde_json::from_slice(text).map_err(|e| {
        ClientError::Unexpected(format!(
            "{what}: unexpected response (does the server have another version?): {e}"
        ))
    })
}

/// The response, if its status is a success.
fn check_status(
    path: &str,
    response: Result<Response<Body>, ureq::Error>,
) -> Result<Response<Body>, ClientError> {
    let response = response.map_err(|e| ClientError::Unreachable(e.to_string()))?;
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    let text = body(path, response)?;
    let detail = serde_json::from_slice::<api::Problem>(&text).map_or_else(
        |_| format!("{path}: {status}; is this an Eagre server?"),
        |problem| {
            let places = problem.errors.iter().map(|place| format!("; {}: {}", place.path, place.reason));
            problem.detail.clone() + &places.collect::<String>()
        },
    );
    let detail = match status {
        StatusCode::UNAUTHORIZED => format!("{detail} (set --token or EAGRE_TOKEN)"),
        _ => detail,
    };
    Err(ClientError::Refused { status: status.as_u16(), detail })
}

fn read<T: DeserializeOwned>(path: &str, response: Response<Body>) -> Result<T, ClientError> {
    parse(path, &body(path, response)?)
}

fn body(path: &str, mut response: Response<Body>) -> Result<Vec<u8>, ClientError> {
    let read = response.body_mut().with_config().limit(DOCUMENT_MAX).read_to_vec();
    read.map_err(|e| ClientError::Unreachable(format!("{path}: {e}")))
}

/// Base URL (`http://` by default, no trailing slash) and HTTP agent for a server.
pub(crate) fn agent(url: &str, trust: Trust<'_>) -> Result<(String, Agent), String> {
    let base = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let base = base.trim_end_matches('/').to_owned();
    let uri: ureq::http::Uri = base.parse().map_err(|e| format!("'{url}' is not a URL: {e}"))?;
    let encrypted = match uri.scheme_str() {
        Some("http") => false,
        Some("https") => true,
        _ => return Err(format!("'{url}' is not a URL: it must start with http:// or https://")),
    };
    if uri.host().is_none_or(str::is_empty) {
        return Err(format!("'{url}' has no host: use a URL such as http://127.0.0.1:8443"));
    }
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .timeout_connect(Some(CONNECT_TIMEOUT))
        .timeout_recv_response(Some(CONNECT_TIMEOUT))
        .timeout_per_read(Some(READ_TIMEOUT));
    if encrypted {
        config = config.tls_config(tls(trust)?);
    }
    Ok((base, config.build().into()))
}

fn tls(trust: Trust<'_>) -> Result<TlsConfig, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = TlsConfig::builder().unversioned_rustls_crypto_provider(provider);
    Ok(match trust {
        Trust::Insecure => config.disable_verification(true).build(),
        Trust::System => config.root_certs(authorities(Path::new(AUTHORITIES))?).build(),
        Trust::File(path) => config.root_certs(authorities(path)?).build(),
    })
}

/// The certificates of a PEM file.
fn authorities(path: &Path) -> Result<RootCerts, String> {
    let text = text::bytes(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut found: Vec<Certificate<'static>> = Vec::new();
    for item in parse_pem(&text) {
        if let PemItem::Certificate(certificate) = item.map_err(|e| format!("{}: {e}", path.display()))? {
            found.push(certificate);
        }
    }
    if found.is_empty() {
        return Err(format!("{}: no certificate found (PEM expected)", path.display()));
    }
    Ok(RootCerts::new_with_certs(&found))
}

/// Parser of server-sent events.
#[derive(Default)]
struct Events {
    name: String,
    data: String,
}

impl Events {
    /// Adds a line; an empty one completes an event and returns its name and data.
    fn line(&mut self, line: &str) -> Option<(String, String)> {
        if line.is_empty() {
            let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
            return (!data.is_empty())
                .then(|| (if name.is_empty() { "message".to_owned() } else { name }, data));
        }
        // A line that starts with a colon is a comment: its field is empty.
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => {
                if !self.data.is_empty() {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_put_together_from_lines() {
        let mut events = Events::default();
        let text = ": still here\n\nevent: live\ndata: {\"a\":\ndata: 1}\nid: 7\n\nevent: run\n\ndata:x\n\n";
        let seen: Vec<_> = text.lines().filter_map(|line| events.line(line)).collect();
        let expected = [("live", "{\"a\":\n1}"), ("message", "x")];
        assert_eq!(seen, expected.map(|(name, data)| (name.to_owned(), data.to_owned())));
    }

    #[test]
    fn addresses_are_checked() {
        let base = |url| Server::new(url, None, Trust::System).map(|server| server.base().to_owned());
        assert_eq!(base("127.0.0.1:8443"), Ok("http://127.0.0.1:8443".to_owned()));
        assert_eq!(base("http://tester:8443/"), Ok("http://tester:8443".to_owned()));
        assert!(base("ftp://tester").unwrap_err().contains("must start with"));
        assert!(base("http://").is_err());
        let server = Server::new("https://tester", None, Trust::File(Path::new("/nowhere.pem")));
        assert!(server.err().unwrap().contains("/nowhere.pem"));
    }
}
