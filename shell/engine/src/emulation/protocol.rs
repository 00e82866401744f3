//! Traits of hosts' control protocols, and the macro of their list.
//!
//! The order of calls, for each port:
//!
//! 1. [`Planned::of`], if the profile has the protocol on the port.
//! 2. Before traffic, in turns: [`take`](HostProtocol::take) for each received frame, [`set_up`](HostProtocol::set_up),
//!    [`poll`](HostProtocol::poll), until [`may_start`](HostProtocol::may_start) holds for all; then
//!    [`conclude`](HostProtocol::conclude).
//! 3. [`start`](HostProtocol::start), and while traffic runs `take`, `poll` and commands. A worker passes on the frames that
//!    [`Planned::CONCERNS`] holds for.
//! 4. [`shut`](HostProtocol::shut), then again in turns until [`is_over`](HostProtocol::is_over), and a
//!    [`report`](HostProtocol::report), which is also possible any time before.
//!
//! To add a protocol, implement both traits in a file in `protocols` and add a line to the list in `protocols`.

use crate::control::commands::ActionOn;
use crate::trial::hosts::LOCAL;
use neighbour::{Hosts, Mac};
use port::PortFacts;
use profile::plan::{ClientAddress, PortPlan};
use result::{NewProtocolChange, PortResult, ProtocolStates};
use std::fmt::Debug;
use std::net::IpAddr;
use units::Nanos;

/// Time limit for the last messages: a report of leaving is repeated within a second.
pub(super) const FAREWELL: Nanos = Nanos::from_secs(2);
/// Time limit for routers of link-state protocols: what they flush is acknowledged late, and they wait for that for three
/// seconds.
pub(super) const ROUTERS_FAREWELL: Nanos = Nanos::from_millis(3_500);

/// Data from which the protocols of a port are made.
pub(super) struct Context<'a> {
    pub(super) port: &'a PortPlan,
    /// Hardware addresses of its hosts.
    pub(super) macs: &'a [Mac],
    pub(super) facts: &'a PortFacts,
    /// The hosts, if one of the plan's protocols [needs](Planned::NEEDS_HOSTS) them.
    pub(super) hosts: Option<&'a Hosts>,
    /// All ports of the plan, and their hardware addresses.
    pub(super) ports: &'a [PortPlan],
    pub(super) port_macs: &'a [Mac],
}

/// Limits of the wait before traffic.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wait {
    /// When the time of clients is over.
    pub(super) deadline: Nanos,
    /// Whether there is no wait for sessions, adjacencies and the like.
    pub(super) patient: bool,
}

/// Selection of states.
#[derive(Debug, Clone, Copy)]
pub(super) struct Listing<'a> {
    /// Name of the port.
    pub(super) port: &'a str,
    pub(super) now: Nanos,
    /// Whether stored routes are listed.
    pub(super) routes: bool,
    /// Most of each kind.
    pub(super) limit: usize,
    /// Commands that changed something of the protocol.
    pub(super) commands: u64,
}

/// A control protocol of a port's hosts.
pub(super) trait HostProtocol: Debug {
    /// Takes in a frame; returns whether it was for one of the hosts.
    fn take(&mut self, now: Nanos, frame: &[u8], hosts: Option<&Hosts>) -> bool;

    /// Adds the frames that are due.
    fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>);

    /// When there is something to do; [`Nanos::MAX`] if only a frame can bring it.
    fn next_due(&self) -> Nanos;

    /// Begins, once whatever it needs is there. Called until traffic starts.
    fn set_up(&mut self, _now: Nanos, _hosts: Option<&Hosts>, _frames: &mut Vec<Vec<u8>>) {}

    /// Time limit of clients from the beginning.
    fn timeout(&self) -> Nanos {
        Nanos::ZERO
    }

    /// Whether traffic may start.
    fn may_start(&mut self, _now: Nanos, _wait: Wait) -> bool {
        true
    }

    /// The wait is over: records the state; returns why there can be no run.
    fn conclude(&mut self, _now: Nanos, _patient: bool) -> Option<String> {
        None
    }

    /// Whether a run that fails must shut it, or a device would keep its state.
    fn must_shut(&self) -> bool {
        false
    }

    /// Traffic starts at `epoch`.
    fn start(&mut self, _epoch: Nanos) {}

    /// Traffic has ended: begins to leave; returns until when that may take.
    fn shut(&mut self, now: Nanos) -> Nanos;

    /// Whether it has left.
    fn is_over(&self) -> bool;

    /// The reply to a request for an address of a host that workers do not know.
    fn answer(&self, _frame: &[u8]) -> Option<Vec<u8>> {
        None
    }

    /// Neighbours that it has found out by itself: each with the index of the host that sends to it, and whether its hardware
    /// address is given.
    fn neighbours(&self) -> Vec<(usize, IpAddr, Mac, bool)> {
        Vec::new()
    }

    /// The addresses that clients have.
    fn addresses(&self) -> Vec<ClientAddress> {
        Vec::new()
    }

    /// A peer, a router or the like that commands can name, in words; empty if there are none.
    fn member(&self) -> &'static str {
        ""
    }

    /// Whether the command names one of them, or means all.
    fn has_member(&self, _command: &NewProtocolChange) -> bool {
        false
    }

    /// Whether one of them has routes with this name.
    fn has_routes(&self, _command: &NewProtocolChange, _name: &str) -> bool {
        false
    }

    /// Whether commands with this target are for it.
    fn obeys(&self, on: ActionOn) -> bool;

    /// Carries out a command that it [obeys](Self::obeys); returns how much it changed.
    fn change(&mut self, now: Nanos, command: &NewProtocolChange) -> u64;

    /// Adds its states.
    fn list(&self, listing: Listing<'_>, all: &mut ProtocolStates);

    /// Fills its part of the port's row.
    fn report(&self, commands: u64, row: &mut PortResult);

    /// Reasons for an invalid result.
    fn complaints(&self) -> Vec<String> {
        Vec::new()
    }

    /// A note on the behaviour of real peers, if it explains a figure of this row after traffic of this duration: without it an
    /// agent that sends every 30 s looks absent. It changes no figure; facts with versions are in the documentation.
    fn peers_note(&self, _row: &PortResult, _lasted: Nanos) -> Option<String> {
        None
    }

    /// A sentence about what was lost while traffic ran.
    fn note(&self) -> Option<String> {
        None
    }
}

/// A protocol by its plan.
pub(super) trait Planned: HostProtocol + Sized {
    /// Its key in the profile.
    const KEY: &'static str;
    /// Whether a frame may be for it: a look at types alone, for many frames that are not.
    const CONCERNS: fn(&[u8]) -> bool;
    /// Frames that are not offered to sessions.
    const BEFORE_SESSIONS: Option<fn(&[u8]) -> bool> = None;
    /// Whether the port's hosts reply to ARP and echo before traffic and after it.
    const NEEDS_HOSTS: bool = false;

    /// Reason for an invalid result if one of its members is missing when traffic starts, behind their number; empty if it has
    /// none.
    const ABSENCE: &'static str = "";

    /// Whether a port has it.
    fn is_planned(port: &PortPlan) -> bool;

    /// That of a port; `None` if the port has none.
    fn of(context: &Context<'_>) -> Option<Self>;
}

/// Frames that a port's protocols want.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    /// Any of them may hold for a frame.
    pub(crate) concerns: Vec<fn(&[u8]) -> bool>,
    /// The same, of frames that are not offered to sessions.
    pub(crate) before_sessions: Vec<fn(&[u8]) -> bool>,
}

/// Time limit for the last messages of `count` clients or groups at `rate` in a second.
pub(super) fn farewell(count: usize, rate: u32) -> Nanos {
    FAREWELL + Nanos::from_secs(count as u64 / u64::from(rate.max(1)))
}

/// The hardware address of the first client behind a port: made of the port's, with room for many more after it.
pub(super) fn first_mac(port: Mac) -> Mac {
    let number = port.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
    let word = random::word(random::other_key(random::key(number)), 0).to_be_bytes();
    [LOCAL, word[0], word[1], 0, 0, 0]
}

macro_rules! protocols {
    ($($name:ident: $kind:ty,)*) => {
        /// The control protocols of a port's hosts.
        #[derive(Debug, Default)]
        pub(super) struct Protocols {
            $($name: Option<$kind>,)*
        }

        impl Protocols {
            /// Number of protocols there can be.
            pub(super) const MAX: usize = [$(<$kind as Planned>::KEY),*].len();

            pub(super) fn new(context: &Context<'_>) -> Self {
                Self { $($name: Planned::of(context),)* }
            }

            /// Each that the port has, with its number and its key.
            pub(super) fn each(&self) -> impl Iterator<Item = (usize, &'static str, &dyn HostProtocol)> {
                let all = [$((<$kind as Planned>::KEY, self.$name.as_ref().map(|own| own as &dyn HostProtocol)),)*];
                all.into_iter().enumerate().filter_map(|(number, (key, own))| Some((number, key, own?)))
            }

            /// The same, to change them.
            pub(super) fn each_mut(
                &mut self,
            ) -> impl DoubleEndedIterator<Item = (usize, &'static str, &mut dyn HostProtocol)> {
                let all = [$((<$kind as Planned>::KEY, self.$name.as_mut().map(|own| own as &mut dyn HostProtocol)),)*];
                let all = all.into_iter().enumerate();
                all.filter_map(|(number, (key, own))| Some((number, key, own?)))
            }
        }

        /// Whether a port has a protocol that needs hosts.
        pub(super) fn needs_hosts(port: &PortPlan) -> bool {
            [$(<$kind as Planned>::NEEDS_HOSTS && <$kind as Planned>::is_planned(port)),*].contains(&true)
        }

        /// The reason of each protocol that has one for members that are missing.
        pub(crate) fn absences() -> impl Iterator<Item = &'static str> {
            [$(<$kind as Planned>::ABSENCE),*].into_iter().filter(|reason| !reason.is_empty())
        }

        /// Frames that the protocols of a port want.
        pub(crate) fn wanted(port: &PortPlan) -> Wanted {
            let mut wanted = Wanted::default();
            $(if <$kind as Planned>::is_planned(port) {
                let concerns: fn(&[u8]) -> bool = <$kind as Planned>::CONCERNS;
                // Several clients and members share one look.
                if !wanted.concerns.iter().any(|other| std::ptr::fn_addr_eq(*other, concerns)) {
                    wanted.concerns.push(concerns);
                }
                wanted.before_sessions.extend(<$kind as Planned>::BEFORE_SESSIONS);
            })*
            wanted
        }
    };
}
