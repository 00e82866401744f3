//! The connection to NATS.

use crate::join::Join;
use crate::subjects;
use async_nats::{Client, ClientError, ConnectErrorKind, ConnectOptions, Event};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Time for a connection to the broker.
const CONNECT_TIME: Duration = Duration::from_secs(5);
/// Longest time between attempts to connect again.
const AGAIN_MAX: Duration = Duration::from_millis(500);
/// Interval of pings, by which a dead connection is noticed.
const PING_EVERY: Duration = Duration::from_secs(1);

/// Where the broker is, and how to prove who one is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Access {
    /// `nats://host:4222`, or `tls://host:4222` for encryption.
    pub url: String,
    /// File of credentials: a JWT and its key.
    pub credentials: Option<PathBuf>,
    /// File of an nkey's seed.
    pub nkey: Option<PathBuf>,
    /// Certificates (PEM) of the authority that signed the broker's.
    pub tls_ca: Option<PathBuf>,
    /// A join line, instead of files.
    pub join: Option<Join>,
    /// Folder of the broker's files, if it is one of this machine: its refusals are known.
    pub local: Option<PathBuf>,
}

/// Why there is no fleet.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// An option is wrong.
    #[error("{0}")]
    BadInput(String),
    /// The broker is not reached, refuses, or can't do what is needed.
    #[error("{0}")]
    Refused(String),
}

/// Logs what becomes of the connection of `name`; that it is refused only once, though it is tried again and again.
fn report(name: &str, event: &Event, refused: &AtomicBool) {
    // The library has kinds of errors as text here.
    let is_refusal = |reason: &str| {
        let kinds = [ConnectErrorKind::AuthorizationViolation, ConnectErrorKind::Authentication];
        kinds.iter().any(|kind| reason.contains(&kind.to_string()))
    };
    match event {
        Event::ClientError(ClientError::Other(reason)) if is_refusal(reason) => {
            if !refused.swap(true, Ordering::Relaxed) {
                tracing::warn!(
                    "the NATS server refuses the key of '{name}'; for a new one: eagre fleet add {name}"
                );
            }
        }
        Event::Disconnected => tracing::warn!("the connection to the NATS server was lost; trying again"),
        Event::Connected => {
            refused.store(false, Ordering::Relaxed);
            tracing::info!("connected to the NATS server");
        }
        event => tracing::info!("NATS: {event}"),
    }
}

impl Access {
    /// Connects as `name`.
    pub(crate) async fn connect(&self, name: &str) -> Result<Client, FleetError> {
        let mut options = ConnectOptions::new()
            .name(format!("eagre {name}"))
            .connection_timeout(CONNECT_TIME)
            .ping_interval(PING_EVERY)
            .custom_inbox_prefix(subjects::inbox(name))
            .reconnect_delay_callback(|attempts| Duration::from_millis(50 * attempts as u64).min(AGAIN_MAX))
            .event_callback({
                let (name, refused) = (name.to_owned(), AtomicBool::new(false));
                move |event| {
                    report(&name, &event, &refused);
                    std::future::ready(())
                }
            });
        if let Some(file) = &self.credentials {
            let text = read(file)?;
            options = options.credentials(&text).map_err(|error| wrong(file, error))?;
        }
        if let Some(file) = &self.nkey {
            options = options.nkey(seed(&read(file)?).ok_or_else(|| {
                wrong(file, "expected the seed of a user's nkey: a line that begins with SU")
            })?);
        }
        if let Some(file) = &self.tls_ca {
            read(file)?;
            options = options.add_root_certificates(file.clone()).require_tls(true);
        }
        if let Some(join) = &self.join {
            options = options
                .nkey(join.seed.clone())
                .tls_client_config(trusting(&join.authority)?)
                .require_tls(true);
        }
        options.connect(self.url.as_str()).await.map_err(|error| self.refused(&error))
    }

    /// The error with its remedy.
    fn refused(&self, error: &async_nats::ConnectError) -> FleetError {
        let causes = causes(error);
        let remedy = match error.kind() {
            ConnectErrorKind::ServerParse => {
                return FleetError::BadInput(format!(
                    "nats: '{}' is no URL of a server, such as nats://10.0.0.1:4222",
                    self.url
                ));
            }
            ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
                "the server refuses this user; give credentials of a user it knows with --creds or --nkey, or the line that \
                 'eagre fleet add NAME' prints there with --join"
            }
            ConnectErrorKind::Tls => "give the authority that signed the server's certificate with --tls-ca",
            _ if causes.contains("certificate") || causes.contains("TLS") => {
                "give the authority that signed the server's certificate with --tls-ca"
            }
            _ => "is nats-server running there, and reached from here?",
        };
        FleetError::Refused(format!("nats: {}: {causes}; {remedy}", self.url))
    }
}

/// An error and its causes, once each.
pub(crate) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let words = cause.to_string();
        if !text.contains(&words) {
            text = format!("{text}: {words}");
        }
        next = cause.source();
    }
    text
}

/// TLS with one authority.
fn trusting(authority: &[u8]) -> Result<ClientConfig, FleetError> {
    let damaged = |error: rustls::Error| {
        FleetError::BadInput(format!("join: the certificate in the line is damaged: {error}"))
    };
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from(authority.to_vec())).map_err(damaged)?;
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    Ok(builder.map_err(damaged)?.with_root_certificates(roots).with_no_client_auth())
}

fn wrong(file: &Path, error: impl std::fmt::Display) -> FleetError {
    FleetError::BadInput(format!("{}: {error}", file.display()))
}

fn read(file: &Path) -> Result<String, FleetError> {
    std::fs::read_to_string(file).map_err(|error| wrong(file, error))
}

/// The seed in a file of an nkey, which may have comments.
fn seed(text: &str) -> Option<String> {
    text.lines().map(str::trim).find(|line| line.starts_with("SU")).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_found_between_comments() {
        assert_eq!(seed("# a1\nSUAXYZ\n").as_deref(), Some("SUAXYZ"));
        assert_eq!(seed("UABC\n"), None);
    }
}
