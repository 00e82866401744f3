//! Options of the connection to NATS, for agents and controllers.

use crate::Failure;
use clap::Args as ClapArgs;
use server::{JOIN_VARIABLE, Join, NatsAccess};
use std::path::{Path, PathBuf};

#[derive(Clone, Default, ClapArgs)]
pub(crate) struct NatsArgs {
    /// NATS server of a fleet: nats://10.0.0.1:4222, tls://... for encryption
    #[arg(long, value_name = "URL")]
    pub nats: Option<String>,
    /// Credentials file (JWT and key) of this user of NATS
    #[arg(long, value_name = "FILE", requires = "nats", conflicts_with_all = ["nkey", "join"])]
    pub creds: Option<PathBuf>,
    /// File with the nkey seed of this user of NATS
    #[arg(long, value_name = "FILE", requires = "nats", conflicts_with = "join")]
    pub nkey: Option<PathBuf>,
    /// Certificate authority (PEM) of the NATS server; implies encryption
    #[arg(long, value_name = "FILE", requires = "nats", conflicts_with = "join")]
    pub tls_ca: Option<PathBuf>,
    /// File with the line that 'eagre fleet' made for this machine, instead of the options of NATS [default: the
    /// environment's EAGRE_JOIN]
    #[arg(long, value_name = "FILE", conflicts_with = "nats")]
    pub join: Option<PathBuf>,
}

impl NatsArgs {
    /// How to reach the server, if it is given.
    pub(crate) fn access(&self) -> Result<Option<NatsAccess>, Failure> {
        let Some(url) = &self.nats else {
            let join = self.credentials()?;
            let local = self.join.as_deref().and_then(Path::parent).map(Path::to_owned);
            let access =
                |join: Join| NatsAccess { url: join.url(), join: Some(join), local, ..NatsAccess::default() };
            return Ok(join.map(access));
        };
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
            join: None,
            local: None,
        }))
    }

    /// The line of a file or of the environment.
    fn credentials(&self) -> Result<Option<Join>, Failure> {
        if let Some(file) = &self.join {
            return joined(file).map(Some);
        }
        let line = std::env::var(JOIN_VARIABLE).ok().filter(|line| !line.is_empty());
        let join = line.map(|line| Join::read(&line)).transpose();
        join.map_err(|reason| Failure::bad_input(format!("{JOIN_VARIABLE}: {reason}")))
    }
}

/// Credentials in a file.
pub(crate) fn joined(file: &Path) -> Result<Join, Failure> {
    let text = std::fs::read_to_string(file).map_err(|error| error.to_string());
    let join = text.and_then(|text| Join::read(&text));
    join.map_err(|reason| Failure::bad_input(format!("join: {}: {reason}", file.display())))
}
