//! Programs that run control protocols behind a port.

use super::{Duration, Name};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Nanos;

/// A program that runs in the network namespace of a port's hosts, from before traffic starts until the run ends. In 'config',
/// 'command' and 'ready', '${folder}' is its folder, '${interface}' the interface of the port's first host there, and
/// '${address}' the first address of that host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Protocol")]
pub struct ProtocolDoc {
    /// Name in messages and the result. Default: the daemon's, or the command's.
    pub name: Option<Name>,
    /// Port in whose 'punt' namespace it runs.
    pub port: String,
    /// Daemon that Eagre knows how to start, to wait for and to end. Either this or 'command'.
    pub daemon: Option<DaemonDoc>,
    /// Program and arguments. It must stay in the foreground, and end by SIGTERM.
    #[serde(default)]
    pub command: Vec<String>,
    /// Configuration, in the daemon's own language. With 'command', the file '${folder}/config' has it.
    pub config: Option<String>,
    /// File with the configuration, relative to the profile; instead of 'config'.
    pub config_file: Option<String>,
    /// Shell command that succeeds when everything is up: sessions, adjacencies, routes. It is repeated until then;
    /// traffic starts afterwards. Default: the daemon responds; a 'command' runs.
    pub ready: Option<String>,
    /// Time to wait for it.
    #[serde(default = "ready_timeout")]
    pub timeout: Duration,
    /// Folder for its configuration, logs and sockets, relative to the working directory. Default: a new one in the folder
    /// for temporary files, which the result names.
    pub folder: Option<String>,
}

/// A daemon that Eagre knows how to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum DaemonDoc {
    /// BIRD.
    Bird,
    /// FRRouting: zebra, and the daemons that the configuration needs.
    Frr,
    /// GoBGP.
    Gobgp,
    /// lldpd.
    Lldpd,
}

fn ready_timeout() -> Duration {
    Duration(Nanos::from_secs(30))
}
