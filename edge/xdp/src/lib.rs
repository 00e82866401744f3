//! Sending by a program that the kernel runs for each frame: XDP *live frames* (Linux 5.18). Several times faster than
//! AF_XDP on interfaces without zero-copy, such as veth.
//!
//! Frames are written as for any port; the program copies them from a shared array into the kernel's frames and sends
//! them. So this covers everything a port can send: streams with any field, sessions, captures.
//!
//! And receiving with another such program: of test packets it leaves a record ([`Intake`]), which costs a fraction of a frame
//! by AF_XDP. Everything else goes to the AF_XDP socket, as all frames do with a third ([`Redirect`]).
//!
//! Separate because any driver's queues could use its programs.

#![allow(unsafe_code)]

mod assembler;
pub mod bpf;
mod intake;
mod intake_program;
mod live;
mod program;
mod queue;
mod redirect;

pub use bpf::Mode;
pub use intake::{Intake, Records};
pub use live::LiveFrames;
pub use queue::{LiveCounts, pair};
pub use redirect::{Redirect, SocketMap};
