//! Which flows the paths of connections lead over: a client that comes from another address or port comes on another flow.
//!
//! A path has a name, which is the other end's address as the library sees it. A flow keeps its path's name until it
//! exchanges addresses with another flow, or ends.
//!
//! Not here: which path a connection uses, which the library decides (RFC 9000 section 9).

use std::collections::HashMap;
use std::net::{Ipv6Addr, SocketAddr};

use quinn_proto::{ConnectionEvent, ConnectionHandle};

/// Datagrams that wait for a flow at most: challenges and responses of paths, of which few are sent.
const OFF_PATH_MAX: usize = 8;

/// The paths of a side's connections.
#[derive(Default)]
pub(crate) struct Paths {
    /// Names given so far.
    given: u64,
    names: HashMap<u32, SocketAddr>,
    flows: HashMap<SocketAddr, u32>,
    owners: HashMap<ConnectionHandle, u32>,
    /// Events of a connection that came on another flow than its own.
    mail: HashMap<ConnectionHandle, Vec<ConnectionEvent>>,
    /// Datagrams that a connection sends on another flow than its own.
    off: HashMap<u32, Vec<Vec<u8>>>,
}

/// The name of a server's path: all are the same to its clients, which know one server each.
pub(crate) fn of_server() -> SocketAddr {
    name(0)
}

/// A name, in place of the other end's address.
fn name(number: u64) -> SocketAddr {
    // Of the addresses that belong to nobody (RFC 4193).
    let [a, b, c, d] = [48, 32, 16, 0].map(|shift| (number >> shift) as u16);
    SocketAddr::from((Ipv6Addr::new(0xfd00, 0, 0, 0, a, b, c, d), 1))
}

impl Paths {
    /// The name of a flow's path.
    pub(crate) fn name(&mut self, flow: u32) -> SocketAddr {
        if let Some(name) = self.names.get(&flow) {
            return *name;
        }
        self.given += 1;
        let name = name(self.given);
        self.names.insert(flow, name);
        self.flows.insert(name, flow);
        name
    }

    /// A connection begins on a flow.
    pub(crate) fn own(&mut self, handle: ConnectionHandle, flow: u32) {
        self.owners.insert(handle, flow);
    }

    /// A connection is over.
    pub(crate) fn disown(&mut self, handle: ConnectionHandle) {
        self.owners.remove(&handle);
        self.mail.remove(&handle);
    }

    /// Keeps what came for a connection on another flow; returns the connection's flow.
    pub(crate) fn post(&mut self, handle: ConnectionHandle, event: ConnectionEvent) -> Option<u32> {
        let owner = *self.owners.get(&handle)?;
        self.mail.entry(handle).or_default().push(event);
        Some(owner)
    }

    /// Takes what came for a connection on other flows.
    pub(crate) fn mail(&mut self, handle: ConnectionHandle) -> Vec<ConnectionEvent> {
        if self.mail.is_empty() { Vec::new() } else { self.mail.remove(&handle).unwrap_or_default() }
    }

    /// The flow of a path.
    pub(crate) fn flow(&self, name: &SocketAddr) -> Option<u32> {
        self.flows.get(name).copied()
    }

    /// Two flows exchange their addresses, and the names of their paths with them.
    pub(crate) fn exchange(&mut self, one: u32, other: u32) {
        let (first, second) = (self.names.remove(&one), self.names.remove(&other));
        for (flow, name) in [(one, second), (other, first)] {
            if let Some(name) = name {
                self.names.insert(flow, name);
                self.flows.insert(name, flow);
            }
        }
    }

    /// Keeps datagrams to be sent on another flow, as far as there is room for them.
    pub(crate) fn send_off(&mut self, flow: u32, datagrams: impl Iterator<Item = Vec<u8>>) {
        let kept = self.off.entry(flow).or_default();
        let room = OFF_PATH_MAX.saturating_sub(kept.len());
        kept.extend(datagrams.take(room));
    }

    /// Takes the datagrams that a flow is to send.
    pub(crate) fn off(&mut self, flow: u32) -> Vec<Vec<u8>> {
        self.off.remove(&flow).unwrap_or_default()
    }

    /// A flow is over.
    pub(crate) fn forget(&mut self, flow: u32) {
        self.off.remove(&flow);
        if let Some(name) = self.names.remove(&flow) {
            self.flows.remove(&name);
        }
    }
}
