//! What can go wrong with reading counters, and whose fault it is.

/// Why the counters of a path can't be read. Each names the hop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CounterError {
    /// The description of the path makes no sense.
    #[error("{place}: {reason}")]
    Config {
        /// Where in the document: `hops[1] (r2)`.
        place: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A hop has no such interface.
    #[error("hop {hop}: {place} has no interface '{interface}'{}", listed(there))]
    NoInterface {
        /// The hop.
        hop: String,
        /// Which device or namespace was asked.
        place: String,
        /// The interface that was asked for.
        interface: String,
        /// Those that are there.
        there: Vec<String>,
    },
    /// A network namespace is not there.
    #[error("hop {hop}: there is no network namespace '{namespace}'")]
    NoNamespace {
        /// The hop.
        hop: String,
        /// Its namespace.
        namespace: String,
    },
    /// A program that was asked for by name is not installed where it is needed.
    #[error("hop {hop}: source '{source_name}' needs {needs}, which {place} does not have")]
    NoSource {
        /// The hop.
        hop: String,
        /// The source as the document calls it.
        source_name: &'static str,
        /// A program or a file.
        needs: &'static str,
        /// Where it was looked for.
        place: String,
    },
    /// A device does not answer, or not with what is needed.
    #[error("hop {hop}: {reason}")]
    Unreachable {
        /// The hop.
        hop: String,
        /// What it said, or that it said nothing.
        reason: String,
    },
}

impl CounterError {
    /// Whether the caller asked for something wrong, rather than a device or the machine refusing.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Config { .. } | Self::NoInterface { .. } | Self::NoNamespace { .. } => true,
            Self::NoSource { .. } | Self::Unreachable { .. } => false,
        }
    }
}

/// Most interfaces an error lists.
const LISTED_MAX: usize = 12;

fn listed(there: &[String]) -> String {
    if there.is_empty() {
        return String::new();
    }
    let more = if there.len() > LISTED_MAX { ", …" } else { "" };
    format!(" (it has {}{more})", there[..there.len().min(LISTED_MAX)].join(", "))
}
