//! The machine below the tester: its clock, its cores, its kernel interfaces, and what about it spoils measurements.
//!
//! Not here: ports (`port`, `dpdk`), and anything that changes the machine. Except for pinning the calling thread,
//! letting it sleep (`nap`), setting a link up or down (`link_state`), taking an XDP program off a link, the lock of an
//! interface (`interface_lock`), locks that mark live processes (`claim`), files that are replaced whole (`draft`),
//! interfaces and namespaces that end with this process (`tap`, `namespace`), and settings that `eagre doctor --fix` makes
//! and undoes (`doctor`), everything in this crate only looks.
//!
//! Invariant: nothing here that looks needs a privilege or a particular kernel; what cannot be read is "not known", never a guess.

#![allow(unsafe_code)]

pub mod activity;
pub mod card_stamps;
pub mod claim;
pub mod clock;
pub mod cpu;
pub mod default_route;
pub mod doctor;
pub mod draft;
pub mod entropy;
pub mod ethtool;
pub mod interface_lock;
pub mod link;
pub mod link_state;
pub mod link_watch;
pub mod memory;
pub mod namespace;
pub mod nap;
mod netlink;
pub mod open_interface;
pub mod peer;
pub mod process;
pub mod route;
pub mod sockets;
pub mod tap;
pub mod xdp_features;

pub use clock::{ClockDrift, ClockFacts, CoreSkew, TscClock};
pub use cpu::{Memory, ThreadUsage};
pub use doctor::{Finding, Status};
pub use draft::Draft;
pub use link::{LinkCounters, LinkFacts};
