//! Why there is no session with a peer, or no longer.

use crate::message::Notification;
use std::fmt;
use tcp::End;
use units::Nanos;

/// Why there is no session with a peer, or no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Failure {
    /// Nothing is known of where its frames go.
    NoNeighbour,
    /// It did not accept the connection, or gave it up.
    Connection(End),
    /// It closed the connection without giving a reason.
    Closed,
    /// It is another AS than expected.
    OtherAs {
        /// Announced value.
        is: u32,
        /// Expected value; zero is any but the speaker's own.
        expected: u32,
    },
    /// It sent nothing for the hold time.
    Silent(Nanos),
    /// It sent an invalid or unexpected message: the NOTIFICATION sent to it.
    Refused(Notification),
    /// It refused a message: the NOTIFICATION received.
    RefusedBy(Notification),
}

impl Failure {
    /// Whether it is less informative than `other`, which came before: peers that refused a session may not reply to
    /// the next attempt.
    pub(crate) fn says_less_than(&self, other: &Self) -> bool {
        let is_vague = |failure: &Self| matches!(failure, Self::Connection(_) | Self::Closed);
        is_vague(self) && !is_vague(other) && *other != Self::NoNeighbour
    }

    /// Whether trying again changes nothing.
    pub fn is_lasting(&self) -> bool {
        matches!(self, Self::OtherAs { .. }) || *self == Self::RefusedBy(Notification::BAD_PEER_AS)
    }
}

impl fmt::Display for Failure {
    /// The peer's action, as the end of a sentence that begins with its address.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoNeighbour => {
                f.write_str("does not reply to ARP or neighbour discovery, nor does its gateway")
            }
            Self::Connection(End::Refused) => f.write_str(
                "refuses connections to TCP port 179; check that it runs BGP and has this neighbor",
            ),
            Self::Connection(End::SetupTimeout | End::Unreachable) => {
                f.write_str("does not respond on TCP port 179")
            }
            Self::Connection(End::Reset | End::ResetAcknowledged) => {
                f.write_str("resets connections to TCP port 179; check that it has this neighbor")
            }
            Self::Connection(_) => f.write_str("does not acknowledge what it is sent any more"),
            Self::Closed => {
                f.write_str("closes connections without a NOTIFICATION; check that it has this neighbor")
            }
            Self::OtherAs { is, expected: 0 } => {
                write!(f, "is AS {is}, as the speaker: name it in 'peer_as' for an internal session")
            }
            Self::OtherAs { is, expected } => write!(f, "is AS {is}, but 'peer_as' is {expected}"),
            Self::Silent(hold) => write!(f, "sent nothing for the hold time of {hold}"),
            Self::Refused(Notification::BAD_PEER_AS) => f.write_str("announces AS 0"),
            Self::Refused(what) => write!(f, "sent an invalid message and got '{what}'"),
            Self::RefusedBy(Notification::BAD_PEER_AS) => {
                f.write_str("refuses the session with 'Bad Peer AS': it expects an AS other than 'as'")
            }
            Self::RefusedBy(what) => write!(f, "ended the session: '{what}'"),
        }
    }
}
