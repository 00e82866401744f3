//! The machine below the tester: its clock, its cores, its kernel interfaces, and what about it spoils measurements.
//!
//! Not here: ports (`port`, `dpdk`), and anything that changes the machine. Except for pinning the calling thread,
//! letting it sleep (`nap`), setting a link up or down (`link_state`), taking an XDP program off a link, the lock of an
//! interface (`interface_lock`), locks that mark live processes (`claim`), files that are replaced whole (`draft`),
//! interfaces and namespaces that end with this process (`tap`, `namespace`), and settings that `eagre doctor --fix` makes
//! and undoes (`doctor`), everything in this crate only looks.
//!
//! On a system that is no Unix, such as a browser, only `absent` is left.
//!
//! Invariant: nothing here that looks needs a privilege or a particular kernel; what cannot be read is "not known", never a guess.

#![allow(unsafe_code)]

#[cfg(not(unix))]
mod absent;
mod link_change;
mod usage;

#[cfg(not(unix))]
pub use absent::{Draft, ThreadUsage, cpu, link_watch, memory};

#[cfg(unix)]
pub mod activity;
#[cfg(unix)]
pub mod card_stamps;
#[cfg(unix)]
pub mod claim;
#[cfg(unix)]
pub mod clock;
#[cfg(unix)]
pub mod cpu;
#[cfg(unix)]
pub mod default_route;
#[cfg(unix)]
pub mod doctor;
#[cfg(unix)]
pub mod draft;
#[cfg(unix)]
pub mod entropy;
#[cfg(unix)]
pub mod ethtool;
#[cfg(unix)]
pub mod interface_lock;
#[cfg(unix)]
pub mod link;
#[cfg(unix)]
pub mod link_state;
#[cfg(unix)]
pub mod link_watch;
#[cfg(unix)]
pub mod memory;
#[cfg(unix)]
pub mod namespace;
#[cfg(unix)]
pub mod nap;
#[cfg(unix)]
mod netlink;
#[cfg(unix)]
pub mod open_interface;
#[cfg(unix)]
pub mod peer;
#[cfg(unix)]
pub mod process;
#[cfg(unix)]
pub mod route;
#[cfg(unix)]
pub mod sockets;
#[cfg(unix)]
pub mod tap;
#[cfg(unix)]
pub mod xdp_features;

#[cfg(unix)]
pub use clock::{ClockDrift, ClockFacts, CoreSkew, TscClock};
#[cfg(unix)]
pub use cpu::{Memory, ThreadUsage};
#[cfg(unix)]
pub use doctor::{Finding, Status};
#[cfg(unix)]
pub use draft::Draft;
#[cfg(unix)]
pub use link::{LinkCounters, LinkFacts};
