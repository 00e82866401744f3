//! Applications on flows: programs, HTTP/1.1, HTTP/2 and HTTP/3, WebSocket, gRPC, DNS, STAMP, conversations from captures;
//! when sessions are opened and closed; their counts.
//!
//! A [`plan::SessionPlan`] is an entry of a profile. [`groups`] numbers the sides of its applications; [`Apps`] runs
//! all of them on one stack and counts; [`Clients`] decides which sessions a worker opens when, and from where to
//! where:
//!
//! ```text
//! let keys = session::groups(&plans);                            // group n of the stack is keys[n]
//! let mut apps = Apps::new(&plans, worker, workers, |key| …);    // … makes the encryption of a group
//! let mut clients = Clients::new(&plans[0], 0, &keys, worker, workers);
//! for number in clients.poll(now - start, &apps, most, is_behind).numbers() {
//!     let (group, tuple) = clients.place(number, |tuple| is_mine(tuple));
//!     let flow = apps.start(now, group, number);
//!     stack.connect(now, &mut apps, group, …, (tuple.client, tuple.server), hop, flow);
//!     // the tuple is in use: apps.take_back(group), and the same from another place
//!     // no tuple, or the stack takes no flow after some tries: apps.not_opened(group)
//! }
//! // at the end: clients.stop(), and for each flow stack.with(now, &mut apps, id, |apps, flow, io| apps.stop(now, flow, io))
//! ```
//!
//! Not here: TCP (`tcp`), encryption and QUIC themselves (`tls`, `quic`), any clock or frame.
//!
//! Invariants: what is sent follows from the plan, the session's and the request's number, so any byte can be written
//! again; a session is counted once when it begins and once when it ends, with a reason if it failed.

#![forbid(unsafe_code)]

mod app;
mod apps;
mod clients;
mod conversation;
mod counts;
mod dns;
mod echo;
mod express;
mod extra;
mod flow;
mod grpc;
pub mod http;
mod input;
mod load;
mod message;
mod pace;
mod pattern;
pub mod plan;
mod pool;
mod program;
pub mod quic;
mod scale;
pub mod secure;
mod stamp;
mod tls;
mod tunnel;
mod turns;
mod vary;
mod websocket;

pub use apps::{Apps, GroupKey, Move, groups};
pub use clients::Clients;
pub use conversation::{Conversation, ConversationOptions, Conversations, OtherPackets, conversations};
pub use counts::{
    AltSvcCounts, CompressionCounts, CookieCounts, Counts, Failures, GrpcCounts, Http2Counts, Http3Counts,
    QuicCounts, Reason, RedirectCounts, StampCounts, StampDrop, Unfollowed, WebsocketCounts,
};
pub use flow::Flow;
pub use load::{Opener, OpenerTotals, Opening};
pub use pool::{Pool, Tuple, pairs_in_step};
pub use scale::Scale;

#[cfg(test)]
mod testing;
