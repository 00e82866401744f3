//! Errors of bringing a lab up, testing it and taking it down.

use std::path::PathBuf;

/// An error of bringing a lab up, testing it or taking it down.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// An invalid lab name.
    #[error("'{0}' is not a valid lab name: use 1 to 40 lower-case letters, digits and '-'")]
    BadName(String),
    /// No such topology; the sentence names those there are.
    #[error("{0}")]
    UnknownTopology(String),
    /// A parameter that the topology does not have, or a value out of range.
    #[error("{topology}: {reason}")]
    BadParameter {
        /// The topology.
        topology: &'static str,
        /// The reason.
        reason: String,
    },
    /// A table could not be generated.
    #[error(transparent)]
    Generate(#[from] crate::GenerateError),
    /// Not root.
    #[error("a lab creates network namespaces, which requires root: run it with sudo")]
    NotRoot,
    /// Programs are missing.
    #[error("{0}")]
    Missing(String),
    /// The lab is already up.
    #[error("lab {name} is already up: take it down with '{down}', or use --name for another one")]
    Up {
        /// The lab.
        name: String,
        /// The command that takes it down.
        down: String,
    },
    /// The lab is not up.
    #[error("lab {0} is not up; 'eagre lab status' lists running labs")]
    NotUp(String),
    /// Bringing the lab up did not finish.
    #[error("lab {0} is incomplete: remove it with 'eagre lab down {0}'")]
    Incomplete(String),
    /// The topology has no such test.
    #[error("lab {lab}: {sentence}")]
    UnknownTest {
        /// The lab.
        lab: String,
        /// Request, and the available choices.
        sentence: String,
    },
    /// A command failed.
    #[error("'{command}' failed: {output}")]
    Command {
        /// The command.
        command: String,
        /// Its output, or exit status.
        output: String,
    },
    /// A condition was not met in time.
    #[error("timeout: {what} not ready within {seconds} s{log}")]
    Timeout {
        /// The condition.
        what: String,
        /// The timeout, s.
        seconds: u64,
        /// The end of the process's log.
        log: String,
    },
    /// A device's process exited.
    #[error("{name} exited{log}")]
    Ended {
        /// The name.
        name: String,
        /// The end of its log.
        log: String,
    },
    /// A file could not be written, read or removed.
    #[error("{path}: {error}")]
    File {
        /// The name.
        path: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
    /// Not enough huge pages.
    #[error("{wanted} MB of huge pages required, {given} MB available: free memory or reboot")]
    HugePages {
        /// Required, MB.
        wanted: u64,
        /// Available, MB.
        given: u64,
    },
    /// Cancelled by the user.
    #[error("interrupted")]
    Interrupted,
    /// Namespaces or processes could not be removed.
    #[error("lab {name}: {what}")]
    Left {
        /// The lab.
        name: String,
        /// Remaining item.
        what: String,
    },
}

impl LabError {
    /// Whether the request is wrong, rather than the machine.
    pub fn is_bad_input(&self) -> bool {
        matches!(
            self,
            Self::BadName(_)
                | Self::UnknownTopology(_)
                | Self::BadParameter { .. }
                | Self::Generate(_)
                | Self::UnknownTest { .. }
        )
    }
}
