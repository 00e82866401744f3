//! Options of the connection to NATS, for agents and controllers.

use crate::Failure;
use clap::Args as ClapArgs;
use server::NatsAccess;
use std::path::PathBuf;

#[derive(Clone, Default, ClapArgs)]
pub(crate) struct NatsArgs {
    /// NATS server of a fleet: nats://10.0.0.1:4222, tls://... for encryption
    #[arg(long, value_name = "URL")]
    pub nats: Option<String>,
    /// Credentials file (JWT and key) of this user of NATS
    #[arg(long, value_name = "FILE", requires = "nats", conflicts_with = "nkey")]
    pub creds: Option<PathBuf>,
    /// File with the nkey seed of this user of NATS
    #[arg(long, value_name = "FILE", requires = "nats")]
    pub nkey: Option<PathBuf>,
    /// Certificate authority (PEM) of the NATS server; implies encryption
    #[arg(long, value_name = "FILE", requires = "nats")]
    pub tls_ca: Option<PathBuf>,
}

impl NatsArgs {
    /// How to reach the server, if it is given.
    pub(crate) fn access(&self) -> Result<Option<NatsAccess>, Failure> {
        let Some(url) = &self.nats else { return Ok(None) };
        if url.is_empty() {
            return Err(Failure::bad_input(
                "nats: expected the URL of a server, such as nats://10.0.0.1:4222",
            ));
        }
        Ok(Some(NatsAccess {
            url: url.clone(),
            credentials: self.creds.clone(),
            nkey: self.nkey.clone(),
            tls_ca: self.tls_ca.clone(),
        }))
    }
}
