//! Watches the kernel interfaces of a trial's ports while it runs.
//!
//! Not here: what becomes of the verdict (`trust`).

use super::link_event::LinkEvent;
use os::link_watch::{LinkChange, LinkWatch};
use port::{Clock, PortFacts};
use std::sync::mpsc::{self, TryRecvError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use units::Nanos;

/// Maximum time that the watcher sleeps before it sees that the trial is over.
const PATIENCE: Duration = Duration::from_millis(20);

/// A thread that listens to the kernel.
pub(super) struct LinkWatcher {
    /// Ports by the places of their names in the watch.
    ports: Vec<(usize, String)>,
    /// The same instant on both clocks.
    begun: (Instant, Nanos),
    over: mpsc::Sender<()>,
    thread: JoinHandle<Vec<(usize, LinkChange, Instant)>>,
}

impl LinkWatcher {
    /// Begins to watch; `None` if no port has an interface. An error if the kernel does not report changes.
    pub(super) fn begin(facts: &[PortFacts], clock: &impl Clock) -> std::io::Result<Option<Self>> {
        let ports = facts.iter().enumerate().filter_map(|(index, port)| Some((index, port.netdev.clone()?)));
        let ports: Vec<(usize, String)> = ports.collect();
        let names: Vec<&str> = ports.iter().map(|(_, name)| name.as_str()).collect();
        if names.is_empty() {
            return Ok(None);
        }
        let mut watch = LinkWatch::open(&names)?;
        let (over, ended) = mpsc::channel();
        let body = move || {
            let mut events = Vec::new();
            let mut note = |changes: Vec<(usize, LinkChange)>| {
                let at = Instant::now();
                events.extend(changes.into_iter().map(|(place, change)| (place, change, at)));
            };
            while ended.try_recv() == Err(TryRecvError::Empty) {
                note(watch.wait(PATIENCE));
            }
            note(watch.look());
            events
        };
        let thread = std::thread::Builder::new().name("eagre-links".to_owned()).spawn(body)?;
        Ok(Some(Self { ports, begun: (Instant::now(), clock.now()), over, thread }))
    }

    /// Changes until now, for each of `ports` ports.
    pub(super) fn end(self, ports: usize, epoch: Nanos) -> Vec<Vec<LinkEvent>> {
        let mut all = vec![Vec::new(); ports];
        drop(self.over);
        let (instant, now) = self.begun;
        for (place, change, seen) in self.thread.join().unwrap_or_default() {
            let (port, interface) = &self.ports[place];
            let since = Nanos(seen.saturating_duration_since(instant).as_nanos() as u64);
            let at = now.saturating_add(since).since(epoch);
            all[*port].push(LinkEvent { at, interface: interface.clone(), change });
        }
        all
    }
}
