//! TCP and UDP endpoints by the million, sans-IO: frames and time come in as arguments, frames go out into buffers the
//! caller lends.
//!
//! A [`Stack`] is the hosts behind one port as one worker sees them: its flows, their timers, and the segments they
//! owe. An application on flows is an [`App`]: it receives bytes in order, and announces how many it wants to send. The
//! bytes themselves are fetched when a segment is built, and again when it must be retransmitted, so sent data are not
//! stored.
//!
//! Not here: any application (`session`), neighbours' hardware addresses (`neighbour`), ports.

#![forbid(unsafe_code)]

mod app;
mod box_pool;
mod counts;
mod endpoint;
mod frame;
mod frame_counts;
mod group;
mod icmp;
mod key;
mod lane;
mod names;
mod options;
mod queue;
mod segment;
mod slab;
mod stack;
mod table;
mod template;
mod wheel;

pub use app::{App, End, FlowId, GroupId, Io};
pub use box_pool::BoxPool;
pub use counts::TcpCounts;
pub use endpoint::{Endpoint, Env, Events, Outgoing, State, Tick};
pub use frame::Inside;
pub use frame_counts::StackCounts;
pub use group::{Gateway, GroupConfig, GroupTunnel, OwnMacs, UnfinishedChecksums, datagram_max};
pub use key::{
    Numbered, Transport, flow_owner, flow_owner_inside, numbered_owner, numbered_owner_inside, owner,
};
pub use options::{ACK_DELAY_MAX, Congestion, TcpOptions, TimeWait, UdpOptions};
pub use segment::{Flags, Malformed, SackBlocks, Segment, SegmentHeader, Timestamps};
pub use stack::{BURST, ConnectError, HopMove, LeftChecksum, Sink, Stack};
