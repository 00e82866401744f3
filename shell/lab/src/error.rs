//! Why a lab could not be brought up, tested or taken down.

use std::path::PathBuf;

/// Why a lab could not be brought up, tested or taken down.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// A name that can't be a lab's.
    #[error("'{0}' can't be a lab's name: use 1 to 40 small letters, digits and '-'")]
    BadName(String),
    /// No such topology.
    #[error("there is no topology '{name}'; there are {known}")]
    UnknownTopology {
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A parameter that the topology does not have, or a value out of range.
    #[error("{topology}: {reason}")]
    BadParameter {
        /// The topology.
        topology: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// Something can't be generated.
    #[error(transparent)]
    Generate(#[from] crate::GenerateError),
    /// Not root.
    #[error("a lab makes network namespaces, which needs root: run it with sudo")]
    NotRoot,
    /// Programs are missing.
    #[error("{0}")]
    Missing(String),
    /// It is up already.
    #[error("lab {name} is up already; '{down}' takes it down, --name makes another beside it")]
    Up {
        /// The lab.
        name: String,
        /// The command that takes it down.
        down: String,
    },
    /// It is not up.
    #[error("lab {0} is not up; 'eagre lab status' lists what is")]
    NotUp(String),
    /// Not all of it was brought up.
    #[error("lab {0} is not complete: it was not brought up to the end; 'eagre lab down {0}' takes it away")]
    Incomplete(String),
    /// The topology has no such test.
    #[error("lab {lab} has no test '{test}'; it has {known}")]
    UnknownTest {
        /// The lab.
        lab: String,
        /// What was asked for.
        test: String,
        /// What there is.
        known: String,
    },
    /// A command failed.
    #[error("'{command}' failed: {said}")]
    Command {
        /// The command.
        command: String,
        /// What it said, or how it ended.
        said: String,
    },
    /// Something did not come to be.
    #[error("{what}: not within {seconds} s{log}")]
    TooLate {
        /// What was waited for.
        what: String,
        /// How long.
        seconds: u64,
        /// The last words of the process it comes from.
        log: String,
    },
    /// A device's process ended.
    #[error("{name} has ended{log}")]
    Ended {
        /// Which.
        name: String,
        /// Its last words.
        log: String,
    },
    /// A file can't be written, read or removed.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// Too little memory in large pieces.
    #[error(
        "{wanted} MB of huge pages are needed and the kernel gives {given} MB: free some memory, or restart the machine"
    )]
    HugePages {
        /// What the lab needs.
        wanted: u64,
        /// What could be had.
        given: u64,
    },
    /// Somebody asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// Namespaces or processes would not go.
    #[error("lab {name}: {what}")]
    Left {
        /// The lab.
        name: String,
        /// What is left.
        what: String,
    },
}

impl LabError {
    /// Whether what was asked for is wrong, rather than the machine unable.
    pub fn is_bad_input(&self) -> bool {
        matches!(
            self,
            Self::BadName(_)
                | Self::UnknownTopology { .. }
                | Self::BadParameter { .. }
                | Self::Generate(_)
                | Self::UnknownTest { .. }
        )
    }
}
