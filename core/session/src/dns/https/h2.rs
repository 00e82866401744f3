//! By HTTP/2: each query on a stream.

pub(super) mod client;
pub(super) mod server;
