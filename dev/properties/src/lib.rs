//! Properties of any input, checked by the fuzz targets in `fuzz/`.
//!
//! Each module has `check`, which panics if a property does not hold for an input, and `seeds`, the inputs to start from.
//! The unit tests check all seeds and all files in `corpus/`: inputs that fuzzing found to reach code no other input
//! reaches, and inputs that once failed. Not here: the search for new inputs, which is libFuzzer's.
//!
//! Separate because `fuzz` is built apart, instrumented.

#![forbid(unsafe_code)]

pub mod bgp;
pub mod control;
pub mod dns;
pub mod emulate;
mod ends;
pub mod flows;
pub mod fragments;
pub mod grpc;
pub mod host;
pub mod http;
pub mod http2;
pub mod http3;
pub mod isis;
pub mod mrt;
pub mod order;
pub mod ospf;
pub mod packet;
pub mod pcap;
pub mod port;
pub mod profile;
pub mod quantity;
mod quic;
pub mod rewrite;
mod routers;
pub mod segment;
pub mod tunnel;
pub mod websocket;

#[cfg(test)]
mod tests;
