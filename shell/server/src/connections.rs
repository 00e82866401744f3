//! Open connections, and which to close when there are too many.
//!
//! A connection whose caller is not known yet – in a handshake, with an incomplete head, after `/healthz` – gives way
//! to a new one, the oldest of the address with the most of them first. So slow clients shut out neither others nor,
//! for long, clients at their own address. Connections of callers count for their name; of these, the longest idle one
//! gives way.
//!
//! Not here: how long a head, a handshake or a write may take (`listen`).
//!
//! Invariant: a connection that has to leave counts no more, before its task has noticed.

use crate::fault::Fault;
use crate::jobs::lock;
use axum::http::StatusCode;
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// Connections at a time. Together with ports, captures and the store they fit into 1,024 descriptors.
const ALL_MAX: usize = 640;
/// Connections of one address whose callers are not known.
const ADDRESS_MAX: usize = 256;
/// Connections of one caller.
const CALLER_MAX: usize = 256;
/// Bytes of bodies that are being received from one caller.
const BODIES_MAX: usize = 32 << 20;
/// Step in which bytes of bodies are counted.
const BODY_STEP: usize = 1 << 10;

/// All connections.
#[derive(Debug, Default)]
pub(crate) struct Connections {
    table: Mutex<Table>,
    bodies: Mutex<HashMap<String, Arc<Semaphore>>>,
}

#[derive(Debug, Default)]
struct Table {
    /// By number, which increases.
    entries: BTreeMap<u64, Entry>,
    next: u64,
    /// Counts requests, for what was used last.
    requests: u64,
}

#[derive(Debug)]
struct Entry {
    address: IpAddr,
    caller: Option<String>,
    /// The number of its last request.
    used: u64,
    leave: Arc<Notify>,
}

/// A place for one connection, until this is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    connections: Arc<Connections>,
    number: u64,
    leave: Arc<Notify>,
}

impl Connections {
    /// A place for a new connection; `None` if callers have all of them.
    pub(crate) fn admit(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let address = address.to_canonical();
        let mut table = lock(&self.table);
        let unknown = |entry: &Entry| entry.caller.is_none();
        let own = table.entries.values().filter(|entry| unknown(entry) && entry.address == address).count();
        if own >= ADDRESS_MAX {
            let oldest = table.entries.iter().find(|(_, entry)| unknown(entry) && entry.address == address);
            let oldest = oldest.map(|(number, _)| *number);
            table.dismiss(oldest);
        } else if table.entries.len() >= ALL_MAX {
            let victim = table.victim()?;
            table.dismiss(Some(victim));
        }
        let (number, leave) = (table.next, Arc::new(Notify::new()));
        table.next += 1;
        table.entries.insert(number, Entry { address, caller: None, used: 0, leave: leave.clone() });
        Some(Place { connections: self.clone(), number, leave })
    }

    /// Room for the body of a caller's request.
    pub(crate) fn body(&self, caller: &str, bytes: usize) -> Result<Option<OwnedSemaphorePermit>, Fault> {
        if bytes == 0 {
            return Ok(None);
        }
        let steps = bytes.min(BODIES_MAX).div_ceil(BODY_STEP) as u32;
        let all = || Arc::new(Semaphore::new(BODIES_MAX / BODY_STEP));
        let room = lock(&self.bodies).entry(caller.to_owned()).or_insert_with(all).clone();
        room.try_acquire_many_owned(steps).map(Some).map_err(|_| {
            let most = BODIES_MAX >> 20;
            too_many(format!("requests of '{caller}' with more than {most} MiB of bodies are being received; send fewer at a time"))
        })
    }
}

impl Table {
    /// The connection to give way: one without a caller, or one of the caller with the most.
    fn victim(&self) -> Option<u64> {
        let unknown = || self.entries.iter().filter(|(_, entry)| entry.caller.is_none());
        if let Some(address) = most(unknown().map(|(_, entry)| entry.address), 1) {
            return unknown().find(|(_, entry)| entry.address == address).map(|(number, _)| *number);
        }
        let busiest =
            most(self.entries.values().filter_map(|entry| entry.caller.as_deref()), CALLER_MAX / 2)?;
        self.unused(busiest, None)
    }

    /// The connection of a caller that was used least recently, except for one.
    fn unused(&self, caller: &str, except: Option<u64>) -> Option<u64> {
        let own = self
            .entries
            .iter()
            .filter(|(number, entry)| entry.caller.as_deref() == Some(caller) && Some(**number) != except);
        own.min_by_key(|(_, entry)| entry.used).map(|(number, _)| *number)
    }

    fn dismiss(&mut self, number: Option<u64>) {
        if let Some(entry) = number.and_then(|number| self.entries.remove(&number)) {
            entry.leave.notify_one();
        }
    }
}

/// The value that occurs most often, if that is at least `least` times.
fn most<T: Hash + Eq + Copy>(values: impl Iterator<Item = T>, least: usize) -> Option<T> {
    let mut counts: HashMap<T, usize> = HashMap::new();
    values.for_each(|value| *counts.entry(value).or_default() += 1);
    counts
        .into_iter()
        .filter(|(_, count)| *count >= least)
        .max_by_key(|(_, count)| *count)
        .map(|(value, _)| value)
}

fn too_many(detail: String) -> Fault {
    Fault::new(StatusCode::TOO_MANY_REQUESTS, detail)
}

impl Place {
    /// The number for [`Connections`] to know its requests by.
    pub(crate) fn handle(&self) -> ConnectionHandle {
        ConnectionHandle { connections: self.connections.clone(), number: self.number }
    }

    /// Returns when the connection has to give way.
    pub(crate) async fn has_to_leave(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        lock(&self.connections.table).entries.remove(&self.number);
    }
}

/// Data on a request's connection.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionHandle {
    connections: Arc<Connections>,
    number: u64,
}

impl ConnectionHandle {
    /// The connection is a caller's, who may have to yield another one for it.
    pub(crate) fn is_of(&self, caller: &str) {
        let mut table = lock(&self.connections.table);
        table.requests += 1;
        let used = table.requests;
        let Some(entry) = table.entries.get_mut(&self.number) else { return };
        entry.used = used;
        if entry.caller.as_deref() == Some(caller) {
            return;
        }
        entry.caller = Some(caller.to_owned());
        if table.entries.values().filter(|entry| entry.caller.as_deref() == Some(caller)).count() > CALLER_MAX
        {
            let unused = table.unused(caller, Some(self.number));
            table.dismiss(unused);
        }
    }

    /// Whether a caller is known.
    pub(crate) fn has_caller(&self) -> bool {
        lock(&self.connections.table).entries.get(&self.number).is_some_and(|entry| entry.caller.is_some())
    }

    /// Room for the body of a caller's request.
    pub(crate) fn body(&self, caller: &str, bytes: usize) -> Result<Option<OwnedSemaphorePermit>, Fault> {
        self.connections.body(caller, bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn count(connections: &Connections) -> usize {
        lock(&connections.table).entries.len()
    }

    #[test]
    fn unknown_ones_give_way_and_callers_stay() {
        let connections = Arc::new(Connections::default());
        let ann = connections.admit(address(1)).unwrap();
        ann.handle().is_of("ann");
        let slow: Vec<Place> = (0..ADDRESS_MAX).map(|_| connections.admit(address(2)).unwrap()).collect();
        let bob = connections.admit(address(3)).unwrap();
        // One more of the crowded address: its own oldest has to leave.
        let more = connections.admit(address(2)).unwrap();
        assert_eq!(count(&connections), ADDRESS_MAX + 2);
        let table = lock(&connections.table);
        assert!(!table.entries.contains_key(&slow[0].number) && table.entries.contains_key(&slow[1].number));
        assert!([&ann, &bob, &more].iter().all(|place| table.entries.contains_key(&place.number)));
    }

    #[test]
    fn many_addresses_leave_room_too() {
        let connections = Arc::new(Connections::default());
        let all: Vec<Place> =
            (0..2 * ALL_MAX).map(|n| connections.admit(address((n % 250) as u8)).unwrap()).collect();
        assert_eq!(count(&connections), ALL_MAX);
        drop(all);
        assert_eq!(count(&connections), 0);
    }

    #[test]
    fn a_caller_gives_up_what_was_unused_longest() {
        let connections = Arc::new(Connections::default());
        let other = connections.admit(address(2)).unwrap();
        other.handle().is_of("bob");
        let own: Vec<Place> = (0..CALLER_MAX).map(|_| connections.admit(address(1)).unwrap()).collect();
        own.iter().for_each(|place| place.handle().is_of("ann"));
        own[0].handle().is_of("ann");
        let last = connections.admit(address(1)).unwrap();
        last.handle().is_of("ann");
        assert!(own[0].handle().has_caller() && !own[1].handle().has_caller() && last.handle().has_caller());
        assert!(other.handle().has_caller());
    }

    #[test]
    fn bodies_of_one_caller_are_bounded() {
        let connections = Connections::default();
        let held: Vec<_> = (0..2).map(|_| connections.body("ann", BODIES_MAX / 2).unwrap()).collect();
        assert_eq!(connections.body("ann", 1).unwrap_err().status(), 429);
        assert!(connections.body("bob", 1).unwrap().is_some());
        drop(held);
        assert!(connections.body("ann", 1).is_ok() && connections.body("ann", 0).unwrap().is_none());
    }
}
