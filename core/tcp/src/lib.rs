//! TCP and UDP endpoints by the million, sans-IO: frames and time come in as arguments, frames go out into buffers the
//! caller lends.
//!
//! A [`Stack`] is the hosts behind one port as one worker sees them: its flows, their timers, and the segments they owe.
//! What runs on a flow is an [`App`]: it is told of bytes as they come in order, and says how many it wants to send.
//! The bytes themselves are asked for when a segment is built, and asked for again when it must be retransmitted, so
//! nothing that was sent is kept.
//!
//! Not here: any application (`session`), neighbours' hardware addresses (`neighbour`), ports.

#![forbid(unsafe_code)]

mod app;
mod options;

pub use app::{App, End, FlowId, GroupId, Io};
pub use options::{Congestion, TcpOptions, TimeWait, UdpOptions};
