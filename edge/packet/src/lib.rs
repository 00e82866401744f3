//! AF_PACKET ports: a kernel interface through packet sockets.
//!
//! A receive ring that the kernel shares with this process (TPACKET_V2), and `sendmmsg`. Frames are delivered as they
//! were on the link: fragments are not joined, segments that the kernel left to a network card are delivered whole,
//! removed tags are restored. Nothing is delayed: a frame can be read as soon as the kernel has written it. (TPACKET_V3
//! hands frames over in blocks, the last of which waits for a timer of a millisecond at least.) On request, TCP
//! segments in a row are sent as one long packet that the card or the kernel cuts. A process that will be confined
//! sends from a ring, and long packets by `writev`: neither call can name another interface.
//!
//! Not here: resolving and checking port strings (`dpdk`, which opens all ports of the machine).
//!
//! Separate because DPDK's own driver joins fragments before they can be measured, and this one needs neither EAL nor
//! huge pages.
//!
//! Invariants:
//! - What is sent has left, or was dropped and counted, when [`port::TxQueue::send`] returns: nothing waits in a ring, so a
//!   link that comes up again sends nothing of what was due before.
//! - A received frame lies in the kernel's ring, or in a separate buffer if it is longer than a slot, until its burst
//!   is returned.
//! - What the kernel drops, and what it could hand over only in part, is counted ([`port::Port::driver_drops`]).
//!
//! ```text
//! open.rs     sockets and queues of a port          ring.rs    slots of the receive ring; no system call
//! socket.rs   system calls                          cut.rs     long UDP packets into datagrams
//! queue.rs    Port, TxQueue, RxQueue                join.rs    TCP segments into long packets
//! sum.rs      words of headers, and their sums      tx_ring.rs slots to send from, without an address
//! ```

#![allow(unsafe_code)]

mod cut;
mod join;
mod open;
mod queue;
mod ring;
mod socket;
mod sum;
mod tx_ring;

pub use open::{Options, open};
