//! The thread that owns a port's TAP interfaces.

use super::rings::{self, FRAME_MAX, PuntRecord};
use super::shared::Shared;
use neighbour::{PuntTable, PuntTo};
use os::namespace::Namespace;
use os::tap::{Tap, TapOptions, TapSet};
use port::bytes::{ByteReceiver, ByteSender};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;
use wire::control::{ETHERTYPE_AT, finish_checksum};

/// Frames taken from one ring or one interface before others have their turn.
const AT_ONCE: usize = 64;
/// Turns without work after which the thread sleeps until a frame of the namespace or a millisecond comes.
const RESTLESS: u32 = 20;
/// Pause after a turn without work before that.
const PAUSE: Duration = Duration::from_micros(50);

/// Data that the thread moves.
pub(super) struct Task {
    table: Arc<PuntTable>,
    /// The tags of frames from each interface.
    tags: Vec<Vec<u8>>,
    from_port: Vec<ByteReceiver>,
    to_port: ByteSender,
    shared: Arc<Shared>,
}

/// Makes the interfaces in `namespace` and starts the thread. On failure the interface that could not be made, if it is that.
pub(super) fn start(
    namespace: &Namespace,
    options: Vec<TapOptions>,
    task: Task,
    cores: Vec<usize>,
) -> Result<JoinHandle<()>, (Option<String>, io::Error)> {
    let namespace = namespace.try_clone().map_err(|error| (None, error))?;
    let (ready_tx, ready) = mpsc::channel();
    let body = move || match open(&namespace, &options) {
        Ok(taps) => {
            let _ = os::cpu::pin_to(&cores);
            let _ = ready_tx.send(Ok(()));
            task.run(&taps);
        }
        Err(failure) => drop(ready_tx.send(Err(failure))),
    };
    let thread = std::thread::Builder::new().name("eagre-punt".to_owned()).spawn(body);
    let thread = thread.map_err(|error| (None, error))?;
    ready.recv().map_err(|_| (None, io::ErrorKind::Other.into()))??;
    Ok(thread)
}

fn open(namespace: &Namespace, options: &[TapOptions]) -> Result<TapSet, (Option<String>, io::Error)> {
    namespace.enter().map_err(|error| (None, error))?;
    // In a namespace of its own nobody else has done so.
    let _ = os::link_state::set("lo", true);
    let tap = |options: &TapOptions| Tap::open(options).map_err(|error| (Some(options.name.clone()), error));
    let taps = options.iter().map(tap).collect::<Result<_, _>>()?;
    TapSet::new(taps).map_err(|error| (None, error))
}

impl Task {
    pub(super) fn new(
        table: Arc<PuntTable>,
        tags: Vec<Vec<u8>>,
        from_port: Vec<ByteReceiver>,
        to_port: ByteSender,
        shared: Arc<Shared>,
    ) -> Self {
        Self { table, tags, from_port, to_port, shared }
    }

    fn run(mut self, taps: &TapSet) {
        let mut frame = vec![0; FRAME_MAX];
        let (mut ready, mut idle) = (Vec::new(), 0);
        while !self.shared.ends.load(Ordering::Relaxed) {
            let mut moved = self.deliver(taps, &mut frame);
            taps.wait(if idle < RESTLESS { 0 } else { 1 }, &mut ready);
            for number in &ready {
                moved += self.collect(taps.tap(*number), *number, &mut frame);
            }
            idle = if moved > 0 { 0 } else { idle + 1 };
            // An interface that was set down is always ready, with nothing to read.
            if idle > 0 && (idle < RESTLESS || !ready.is_empty()) {
                std::thread::sleep(PAUSE);
            }
        }
    }

    /// Moves frames of the port to the interfaces; returns how many.
    fn deliver(&mut self, taps: &TapSet, frame: &mut [u8]) -> usize {
        let mut moved = 0;
        for ring in &mut self.from_port {
            for _ in 0..AT_ONCE {
                let mut head = [0; PuntRecord::BYTES];
                if !ring.peek(0, &mut head) {
                    break;
                }
                let record = PuntRecord::from_bytes(head);
                let frame = &mut frame[..record.len as usize];
                ring.peek(head.len(), frame);
                ring.skip(head.len() + frame.len());
                if record.finish {
                    finish_checksum(frame, ETHERTYPE_AT);
                }
                let write = |host: usize| u64::from(taps.tap(host).write(frame).is_err());
                let refused = match record.to {
                    PuntTo::Host(host) => write(usize::from(host)),
                    PuntTo::Group(group) => self.table.members(group).map(write).sum(),
                };
                self.shared.refused.fetch_add(refused, Ordering::Relaxed);
                moved += 1;
            }
        }
        moved
    }

    /// Moves frames of an interface to the port; returns how many there were.
    fn collect(&mut self, tap: &Tap, number: usize, frame: &mut [u8]) -> usize {
        for moved in 0..AT_ONCE {
            // An interface that somebody has removed or set down says so; there is nothing to read then.
            let Ok(Some(len)) = tap.read(frame) else { return moved };
            let frame = &frame[..len];
            if self.table.may_send(frame) && !rings::put(&mut self.to_port, frame, &self.tags[number]) {
                self.shared.full.fetch_add(1, Ordering::Relaxed);
            }
        }
        AT_ONCE
    }
}
