//! iperf3's protocol, as in its versions 3.1 to 3.20: the states of a test, the JSON exchanged by client and server,
//! the packets of UDP tests, when they are due, and the report that `-J` prints. Sans-IO.
//!
//! There is no document of this protocol; everything here was seen between programs of version 3.12.
//!
//! Not here: sockets and threads (`between`).
//!
//! Separate because only `between` and the command line use it.

#![forbid(unsafe_code)]

mod arrivals;
pub mod datagram;
mod number;
mod pace;
mod parameters;
pub mod report;
mod results;
mod state;
mod test;

pub use arrivals::{Arrivals, Heard};
pub use number::Number;
pub use pace::Pace;
pub use parameters::Parameters;
pub use results::{Results, StreamResult};
pub use state::State;
pub use test::{Direction, MOST_STREAMS, Role, Test, Transport, Until};

/// Default port of servers.
pub const PORT: u16 = 5201;

/// Length of what names a test on all its connections: 36 characters and a zero octet.
pub const COOKIE: usize = 37;

/// Most octets of the JSON of parameters.
pub const MOST_PARAMETERS: usize = 8 << 10;

/// Most octets of the JSON of results, in which a server may send its whole output.
pub const MOST_RESULTS: usize = 16 << 20;
