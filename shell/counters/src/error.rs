//! Errors of reading counters.

/// An error of reading a path's counters. Each names the hop.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CounterError {
    /// The path document is invalid.
    #[error("{location}: {reason}")]
    Config {
        /// Location in the document: `hops[1] (r2)`.
        location: String,
        /// The reason.
        reason: String,
    },
    /// An unknown interface.
    #[error("hop {hop}: {location} has no interface '{interface}'{}", listed(known))]
    NoInterface {
        /// The hop.
        hop: String,
        /// The device or namespace.
        location: String,
        /// The requested interface.
        interface: String,
        /// The existing interfaces.
        known: Vec<String>,
    },
    /// An unknown network namespace.
    #[error("hop {hop}: unknown network namespace '{namespace}'")]
    NoNamespace {
        /// The hop.
        hop: String,
        /// Its namespace.
        namespace: String,
    },
    /// A requested source is not available.
    #[error("hop {hop}: source '{source_name}' requires {needs}, which is missing in {location}")]
    NoSource {
        /// The hop.
        hop: String,
        /// The source's name in the document.
        source_name: &'static str,
        /// The missing program or file.
        needs: &'static str,
        /// The device or namespace.
        location: String,
    },
    /// A device does not respond, or lacks required counters.
    #[error("hop {hop}: {reason}")]
    Unreachable {
        /// The hop.
        hop: String,
        /// Its message, or that it did not respond.
        reason: String,
    },
}

impl CounterError {
    /// Whether the request is wrong, rather than a device or the machine.
    pub fn is_bad_input(&self) -> bool {
        match self {
            Self::Config { .. } | Self::NoInterface { .. } | Self::NoNamespace { .. } => true,
            Self::NoSource { .. } | Self::Unreachable { .. } => false,
        }
    }
}

/// Maximum interfaces that an error lists.
const LISTED_MAX: usize = 12;

fn listed(known: &[String]) -> String {
    if known.is_empty() {
        return String::new();
    }
    let more = if known.len() > LISTED_MAX { ", …" } else { "" };
    format!(" (it has {}{more})", known[..known.len().min(LISTED_MAX)].join(", "))
}
