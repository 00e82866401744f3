//! AF_XDP ports: a kernel interface through sockets that share memory with the kernel (Linux 5.9). No DPDK, no huge pages.
//!
//! For each queue of the interface, a socket with memory for frames (UMEM) and its four rings, and an XDP program that
//! redirects the interface's frames to the sockets. Frames are written and read where the kernel takes and leaves them;
//! only a received frame that is longer than a buffer is copied together. A port of `xdp:` has programs that send and
//! record frames beside it (`live.rs`).
//!
//! Not here: resolving and checking port strings (`dpdk`, which opens all ports of the machine); the programs
//! themselves (`xdp`).
//!
//! Separate because it shares no system call with `packet`, needs neither EAL nor huge pages (`dpdk`), and the programs
//! in `xdp` have no port.
//!
//! Invariants:
//! - A buffer is in one place: free, in a burst, or the kernel's. Memory is given back only when no burst has a frame.
//! - Where the kernel copies, a frame that a queue took has left, or was dropped and counted, when
//!   [`port::TxQueue::send`] returns, so a link that comes up again sends nothing of what was due before.
//! - The program is on the interface as long as a descriptor of this process holds it there, however the process ends.
//! - What the kernel drops is counted ([`port::Port::driver_drops`]).
//!
//! ```text
//! open.rs      program, sockets and queues of a port       ring.rs      indices and entries of a ring; no system call
//! queue.rs     Port, TxQueue, RxQueue                      umem.rs      which frame lies where
//! socket.rs    system calls                                live.rs      ports of xdp:
//! leftover.rs  programs that were there before             refused.rs   why an interface takes no program
//! ```

#![allow(unsafe_code)]

mod leftover;
mod live;
mod open;
mod queue;
mod refused;
mod ring;
mod socket;
mod umem;

pub use leftover::clear_leftover;
pub use live::check_peer;
pub use open::{Options, open};
