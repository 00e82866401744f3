//! Why a capture can't be sent, or not be rewritten.

use crate::CaptureReport;
use pcap::NoFrame;

/// Why a capture can't be sent. Records are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// There is nothing to send.
    #[error("the capture has no packets{}", .damage.as_ref().map(|damage| format!(": {damage}")).unwrap_or_default())]
    Empty {
        /// Where the file is damaged, if it is.
        damage: Option<String>,
    },
    /// No packet is one that can be sent.
    #[error("no packet can be sent: {}", left_out(.report).join("; "))]
    NothingLeft {
        /// Why.
        report: Box<CaptureReport>,
    },
    /// A packet can't be a frame.
    #[error("record {record} {}", why(*.reason, 1))]
    Unsendable {
        /// Which record.
        record: usize,
        /// Why not.
        reason: NoFrame,
    },
    /// A packet is longer than a frame may be.
    #[error(
        "record {record} has {bytes} bytes without FCS, more than the {longest} that can be sent; was it captured with \
             segmentation offload? 'too_long' sets their treatment: skip, cut or segment"
    )]
    TooLong {
        /// Which record.
        record: usize,
        /// Its length.
        bytes: usize,
        /// The longest.
        longest: usize,
    },
    /// No packet is from the side given as the clients'.
    #[error("no packet is from {clients}, so there is nothing for the first port to send")]
    NoClients {
        /// Given clients.
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
        /// Given text.
        text: String,
    },
}

/// Why `n` packets are no frames, after "a packet" or their number.
pub fn why(reason: NoFrame, n: u64) -> String {
    let verb = |one: &str, several: &str| if n == 1 { one.to_owned() } else { several.to_owned() };
    match reason {
        NoFrame::LinkType(kind) => format!(
            "{} of link type {kind}; those that can be sent are {}",
            verb("is", "are"),
            pcap::SENDABLE
        ),
        NoFrame::NotIp(kind) => format!("of link type {kind} {} no IP packet", verb("holds", "hold")),
        NoFrame::Short => {
            format!("{} within {} link-layer header", verb("ends", "end"), verb("its", "their"))
        }
        NoFrame::NoInterface(number) => {
            format!("{} from interface {number}, which the file does not have", verb("is", "are"))
        }
    }
}

/// Left-out packets of a capture, in clauses such as "3 packets are of link type 105".
fn left_out(report: &CaptureReport) -> Vec<String> {
    let packets = |n: u64| format!("{} packet{}", units::count(n), if n == 1 { "" } else { "s" });
    let unsendable =
        report.unsendable.iter().map(|(reason, n)| format!("{} {}", packets(*n), why(*reason, *n)));
    let mut clauses: Vec<String> = unsendable.collect();
    if report.fitted.skipped > 0 {
        clauses.push(format!(
            "{} too long; 'too_long: cut' or 'segment' sends them",
            packets(report.fitted.skipped)
        ));
    }
    clauses
}

/// Why a rule can't be applied. Rules and packets are counted from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RewriteError {
    /// A rule is wrong regardless of the packets.
    #[error("rewrite rule {rule}: {reason}")]
    Rule {
        /// Which rule.
        rule: usize,
        /// Description of the error.
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
