//! Why a capture can't be sent, or not be rewritten.

/// Why a capture can't be sent. Records are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// There is nothing to send.
    #[error("the capture has no packets")]
    Empty,
    /// A packet begins with something else than Ethernet or IP.
    #[error("record {record}: its link type is {link_type}; only 1 (Ethernet) and 101 (bare IP) can be sent")]
    LinkType {
        /// Which record.
        record: usize,
        /// What it begins with, as numbered by tcpdump.org.
        link_type: u16,
    },
    /// A packet can't be a frame.
    #[error("record {record}: {reason}")]
    Frame {
        /// Which record.
        record: usize,
        /// Why not.
        reason: String,
    },
    /// No packet is of the side that clients were said to be on.
    #[error("no packet is from {clients}, so there is nothing for the first port to send")]
    NoClients {
        /// Who was said to be a client.
        clients: String,
    },
    /// The capture can't be a template of flows.
    #[error("{reason}")]
    Template {
        /// Why not.
        reason: String,
    },
    /// A text is no network.
    #[error("'{text}' is not a network such as 10.0.0.0/8 or 2001:db8::/32")]
    Network {
        /// What was given.
        text: String,
    },
}

/// Why a rule can't be applied. Rules and packets are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RewriteError {
    /// A rule is wrong whatever the packets are.
    #[error("rewrite rule {rule}: {reason}")]
    Rule {
        /// Which rule.
        rule: usize,
        /// What is wrong.
        reason: String,
    },
    /// A packet has no room for what the rule adds.
    #[error("rewrite rule {rule}: packet {packet} would be longer than {} bytes with FCS", units::FrameLen::MAX.bytes())]
    TooLong {
        /// Which rule.
        rule: usize,
        /// Which packet of the trace.
        packet: usize,
    },
}
