//! BGP-4 speakers behind a port, thousands of them (RFC 4271): sessions over flows of `tcp`, IPv4 and IPv6 unicast routes (RFC 4760)
//! that are functions of their index, so that a million of them takes no room.
//!
//! Sans-IO: frames in, frames out, time as an argument, randomness from a seed.
//!
//! Not here: which hardware address leads to a peer (`neighbour`), what traffic is sent to the routes. Routes that a peer sends are
//! counted and, within a bound, kept to be shown: nothing is chosen or passed on.
//!
//! Separate because it works on flows, and the protocols in `emulate` on frames.
//!
//! Invariant: a byte passed to a flow is the same each time the flow fetches it, until it is acknowledged.

#![forbid(unsafe_code)]

mod counts;
mod failure;
mod heard;
mod message;
mod routes;
mod session;
mod speaker;
mod table;
mod wires;

pub use counts::BgpCounts;
pub use failure::Failure;
pub use heard::{Heard, HeardAttributes, PathSegment, Prefix, RouteKey};
pub use message::{
    AddPath, Capabilities, GracefulRestart, HEADER, Header, Malformed, Message, Notification, Open, PathIds,
    RESTART_TIME_MAX, Refresh, Update, next_message,
};
pub use routes::{Attributes, Family, Origin, RouteRange};
pub use session::{Identity, Restart, State};
pub use speaker::{GroupConfig, PORT, PeerConfig, Speaker, SpeakerConfig, may_concern};
pub use table::{BadTable, RouteTable, TABLE_FILE_MAX, Tables};
pub use units::Flap;

/// A hardware address.
pub type Mac = [u8; 6];
