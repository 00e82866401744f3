//! The server as a client sees it: JSON documents asked for, orders given, events read as they come.
//!
//! Not here: what documents mean, when to ask, threads.

use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use ureq::http::{Response, StatusCode};
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};
use ureq::{Agent, Body};

/// How long a connection and the beginning of an answer may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Events come at least this often, were it only a comment: the server says one every 15 s.
const SILENCE: Duration = Duration::from_secs(40);
/// Longest document that is read, bytes.
const DOCUMENT_MAX: u64 = 256 << 20;
/// Where Debian keeps the authorities every program trusts.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Why a server did not give what it was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trouble {
    /// It was not reached, or the connection broke: worth another try.
    Away(String),
    /// It said no, and why.
    Refused {
        /// The HTTP status.
        status: u16,
        /// Its words.
        detail: String,
    },
    /// What it said was not understood.
    Odd(String),
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Away(reason) | Self::Odd(reason) => f.write_str(reason),
            Self::Refused { detail, .. } => f.write_str(detail),
        }
    }
}

/// Whom to trust.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Trust<'a> {
    /// The machine's authorities.
    Machine,
    /// Those of a PEM file alone.
    File(&'a Path),
    /// Anybody.
    Anybody,
}

/// A server.
#[derive(Clone)]
pub(crate) struct Server {
    agent: Agent,
    /// Its address without a slash at the end.
    base: String,
    token: Option<String>,
}

impl Server {
    /// Connects to nothing yet. An error says what is wrong with the address or the authorities.
    pub(crate) fn new(url: &str, token: Option<String>, trust: Trust<'_>) -> Result<Self, String> {
        let (base, agent) = agent(url, trust)?;
        Ok(Self { agent, base, token })
    }

    /// The address.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// A document below `/api/v1`.
    pub(crate) fn document<T: DeserializeOwned>(&self, path: &str) -> Result<T, Trouble> {
        read(path, self.ask(path)?)
    }

    /// Gives an order below `/api/v1`; the answer is the document it changed.
    pub(crate) fn order(&self, path: &str, body: &Value) -> Result<Value, Trouble> {
        let mut request =
            self.agent.post(format!("{}/api/v1{path}", self.base)).header("content-type", "application/json");
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        read(path, accepted(path, request.send(body.to_string()))?)
    }

    /// Hands events below `/api/v1` to `each`, by name and data, until it says `false` or there are no more.
    pub(crate) fn events(
        &self,
        path: &str,
        mut each: impl FnMut(&str, &str) -> Result<bool, Trouble>,
    ) -> Result<(), Trouble> {
        let body = BufReader::new(self.ask(path)?.into_body().into_reader());
        let mut events = Events::default();
        for line in body.lines() {
            let line = line.map_err(|e| Trouble::Away(format!("{path}: {e}")))?;
            if let Some((name, data)) = events.line(&line)
                && !each(&name, &data)?
            {
                return Ok(());
            }
        }
        Ok(())
    }

    fn ask(&self, path: &str) -> Result<Response<Body>, Trouble> {
        let mut request = self.agent.get(format!("{}/api/v1{path}", self.base));
        if let Some(token) = &self.token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        accepted(path, request.call())
    }
}

/// Understands a document.
pub(crate) fn understood<T: DeserializeOwned>(what: &str, text: &[u8]) -> Result<T, Trouble> {
    serde_json::from_slice(text)
        .map_err(|e| Trouble::Odd(format!("{what}: not what a server of this version says: {e}")))
}

/// An answer that is not a refusal.
fn accepted(path: &str, answer: Result<Response<Body>, ureq::Error>) -> Result<Response<Body>, Trouble> {
    let answer = answer.map_err(|e| Trouble::Away(e.to_string()))?;
    let status = answer.status();
    if status.is_success() {
        return Ok(answer);
    }
    let text = body(path, answer)?;
    let detail = serde_json::from_slice::<api::Problem>(&text).map_or_else(
        |_| format!("{path}: {status}; is this an Eagre server?"),
        |problem| {
            let places = problem.errors.iter().map(|place| format!("; {}: {}", place.path, place.reason));
            problem.detail.clone() + &places.collect::<String>()
        },
    );
    let detail = match status {
        StatusCode::UNAUTHORIZED => format!("{detail} (say who you are with --token or EAGRE_TOKEN)"),
        _ => detail,
    };
    Err(Trouble::Refused { status: status.as_u16(), detail })
}

fn read<T: DeserializeOwned>(path: &str, answer: Response<Body>) -> Result<T, Trouble> {
    understood(path, &body(path, answer)?)
}

fn body(path: &str, mut answer: Response<Body>) -> Result<Vec<u8>, Trouble> {
    let read = answer.body_mut().with_config().limit(DOCUMENT_MAX).read_to_vec();
    read.map_err(|e| Trouble::Away(format!("{path}: {e}")))
}

/// An address without a slash at the end, `http://` if it says nothing else, and what asks there.
pub(crate) fn agent(url: &str, trust: Trust<'_>) -> Result<(String, Agent), String> {
    let base = if url.contains("://") { url.to_owned() } else { format!("http://{url}") };
    let base = base.trim_end_matches('/').to_owned();
    let uri: ureq::http::Uri = base.parse().map_err(|e| format!("'{url}' is not an address: {e}"))?;
    let encrypted = match uri.scheme_str() {
        Some("http") => false,
        Some("https") => true,
        _ => return Err(format!("'{url}' is not an address: it begins with http:// or https://")),
    };
    if uri.host().is_none_or(str::is_empty) {
        return Err(format!("'{url}' names no host: http://127.0.0.1:8443"));
    }
    let mut config = Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .proxy(None)
        .timeout_connect(Some(PATIENCE))
        .timeout_recv_response(Some(PATIENCE))
        .timeout_per_read(Some(SILENCE));
    if encrypted {
        config = config.tls_config(tls(trust)?);
    }
    Ok((base, config.build().into()))
}

fn tls(trust: Trust<'_>) -> Result<TlsConfig, String> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = TlsConfig::builder().unversioned_rustls_crypto_provider(provider);
    Ok(match trust {
        Trust::Anybody => config.disable_verification(true).build(),
        Trust::Machine => config.root_certs(authorities(Path::new(AUTHORITIES))?).build(),
        Trust::File(path) => config.root_certs(authorities(path)?).build(),
    })
}

/// The certificates of a PEM file.
fn authorities(path: &Path) -> Result<RootCerts, String> {
    let text = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut found: Vec<Certificate<'static>> = Vec::new();
    for item in parse_pem(&text) {
        if let PemItem::Certificate(certificate) = item.map_err(|e| format!("{}: {e}", path.display()))? {
            found.push(certificate);
        }
    }
    if found.is_empty() {
        return Err(format!("{}: there is no certificate in it (PEM)", path.display()));
    }
    Ok(RootCerts::new_with_certs(&found))
}

/// Server-sent events, put together from lines.
#[derive(Default)]
struct Events {
    name: String,
    data: String,
}

impl Events {
    /// Takes in a line without its end; an empty one completes an event: its name and data.
    fn line(&mut self, line: &str) -> Option<(String, String)> {
        if line.is_empty() {
            let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
            return (!data.is_empty())
                .then(|| (if name.is_empty() { "message".to_owned() } else { name }, data));
        }
        // A line that begins with a colon is a comment: its field is empty.
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
        let base = |url| Server::new(url, None, Trust::Machine).map(|server| server.base().to_owned());
        assert_eq!(base("127.0.0.1:8443"), Ok("http://127.0.0.1:8443".to_owned()));
        assert_eq!(base("http://tester:8443/"), Ok("http://tester:8443".to_owned()));
        assert!(base("ftp://tester").unwrap_err().contains("begins with"));
        assert!(base("http://").is_err());
        let server = Server::new("https://tester", None, Trust::File(Path::new("/nowhere.pem")));
        assert!(server.err().unwrap().contains("/nowhere.pem"));
    }
}
