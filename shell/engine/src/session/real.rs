//! Workers on threads of their own, control on this one.

use super::*;
use std::time::{SystemTime, UNIX_EPOCH};

enum Command {
    /// Hand over what was counted and go on with this.
    Swap(Box<Interval>),
    /// Send some streams at another speed.
    Scale(Order),
    /// Do something for a ping.
    Errand(Errand),
    /// Send nothing that is not due yet.
    Stop,
    /// Hand over everything and end.
    Finish(Box<Interval>),
}

struct Lines {
    commands: rtrb::Producer<Command>,
    reports: rtrb::Consumer<Box<Interval>>,
    heard: rtrb::Consumer<Heard>,
}

/// What a worker may have heard from one look of control to the next; what finds no room is asked for again.
const HEARD_MAX: usize = 256;

pub(super) fn run(
    trial: &Trial<'_>,
    rig: &mut Rig,
    options: &RunOptions,
    clock: &TscClock,
    watch: &mut dyn Watch,
) -> Result<Harvest, EngineError> {
    let count = options.cores.len();
    let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let wall_zero = Nanos(wall.as_nanos() as u64) - clock.now();
    let (workers, mut background) = workers(trial, rig, count, wall_zero)?;
    background.captures.follow(watch);
    let sending = AtomicUsize::new(count);
    let own_cores = os::cpu::allowed();
    // Control must not sit on a worker's core. Where there is no other, the scheduler has to share.
    let _ = os::cpu::pin_to(&os::cpu::control_cores(&options.cores));
    let harvest = std::thread::scope(|scope| {
        let (ready_tx, ready) = mpsc::channel();
        let mut threads = Vec::new();
        for (worker, core) in workers.into_iter().zip(&options.cores) {
            let (commands, command_rx) = rtrb::RingBuffer::new(4);
            let (report_tx, reports) = rtrb::RingBuffer::new(4);
            let (heard_tx, heard) = rtrb::RingBuffer::new(HEARD_MAX);
            let (go, go_rx) = mpsc::channel::<Nanos>();
            let (ready, sending, core) = (ready_tx.clone(), &sending, *core);
            let ends = Ends { commands: command_rx, reports: report_tx, heard: heard_tx };
            let body = move || work(worker, core, clock, &ready, &go_rx, ends, sending);
            let thread = std::thread::Builder::new().name(format!("eagre-{core}")).spawn_scoped(scope, body);
            let thread =
                thread.map_err(|e| EngineError::Machine(format!("no thread for core {core}: {e}")))?;
            threads.push((thread, go, Lines { commands, reports, heard }));
        }
        for _ in 0..count {
            let answer = ready.recv_timeout(Duration::from_secs(10));
            answer.map_err(|_| EngineError::Machine("a worker did not come up within 10 s".to_owned()))??;
        }
        let epoch = clock.now() + LEAD;
        let (mut lines, mut handles) = (Vec::new(), Vec::new());
        for (thread, go, line) in threads {
            // A worker that has ended is found out about when its thread is joined.
            let _ = go.send(epoch);
            lines.push(line);
            handles.push(thread);
        }
        let mut collector = Collector::new(trial, count, epoch);
        let stopped = control(&mut collector, &mut background.captures, &mut lines, clock, watch, &sending);
        let mut lasts = Vec::new();
        for handle in handles {
            lasts.push(handle.join().map_err(|_| EngineError::Machine("a worker failed".to_owned()))??);
        }
        Ok(collector.end(lasts, background, stopped, clock.now(), watch))
    });
    let _ = os::cpu::pin_to(&own_cores);
    harvest
}

/// A worker's ends of its [`Lines`].
struct Ends {
    commands: rtrb::Consumer<Command>,
    reports: rtrb::Producer<Box<Interval>>,
    heard: rtrb::Producer<Heard>,
}

/// The life of a worker's thread.
fn work(
    mut worker: Worker<'_>,
    core: usize,
    clock: &TscClock,
    ready: &mpsc::Sender<Result<(), EngineError>>,
    go: &mpsc::Receiver<Nanos>,
    mut ends: Ends,
    sending: &AtomicUsize,
) -> Result<(LastReport, Option<ThreadUsage>), EngineError> {
    let pinned =
        os::cpu::pin(core).map_err(|e| EngineError::Machine(format!("no place on core {core}: {e}")));
    let up = pinned.and_then(|()| worker.attach(Nanos::MAX).map_err(EngineError::from));
    let came_up = up.is_ok();
    let _ = ready.send(up);
    let Some(epoch) = go.recv().ok().filter(|_| came_up) else {
        return Err(EngineError::Machine("the trial was called off".to_owned()));
    };
    worker.attach(epoch)?;
    let tid = os::cpu::current_tid();
    let before = ThreadUsage::read(tid).ok();
    let mut was_sending = true;
    loop {
        worker.turn(clock);
        if was_sending && worker.is_done_sending() {
            was_sending = false;
            sending.fetch_sub(1, Ordering::Release);
        }
        if worker.overhears() {
            worker.heard().for_each(|heard| drop(ends.heard.push(heard)));
        }
        match ends.commands.pop() {
            Err(_) => {}
            Ok(Command::Swap(empty)) => {
                // There is room: control sends no second request before the first is answered.
                let _ = ends.reports.push(worker.swap(empty));
            }
            Ok(Command::Scale(order)) => worker.scale(&order),
            Ok(Command::Errand(errand)) => worker.run_errand(errand, clock.now()),
            Ok(Command::Stop) => worker.stop(clock.now()),
            Ok(Command::Finish(empty)) => {
                let used = ThreadUsage::read(tid).ok().zip(before).map(|(now, before)| now.since(&before));
                return Ok((worker.finish(clock.now(), empty), used));
            }
        }
    }
}

/// Looks at the workers until the trial is over; returns when it was stopped, if it was.
fn control(
    collector: &mut Collector<'_>,
    captures: &mut Captures,
    lines: &mut [Lines],
    clock: &TscClock,
    watch: &mut dyn Watch,
    sending: &AtomicUsize,
) -> Option<Nanos> {
    let drain = collector.trial.plan.drain;
    let mut progress = Progress::new(collector.epoch, watch);
    let mut gathered = clock.now();
    let mut pings = Pings::new(collector.trial);
    loop {
        std::thread::sleep(CONTROL_TURN);
        let now = clock.now();
        if watch.stop() && progress.stopped.is_none() {
            progress.stopped = Some(now);
            lines.iter_mut().for_each(|line| command(line, Command::Stop));
        }
        captures.follow(watch);
        for order in collector.orders(now, watch) {
            lines.iter_mut().for_each(|line| command(line, Command::Scale(order.clone())));
        }
        let heard = lines.iter_mut().flat_map(|line| std::iter::from_fn(|| line.heard.pop().ok())).collect();
        for errand in pings.turn(now, heard, watch) {
            let whom = if matches!(errand, Errand::Overhear(_)) { lines.len() } else { 1 };
            lines[..whom].iter_mut().for_each(|line| command(line, Command::Errand(errand.clone())));
        }
        if progress.sent.is_none()
            && (progress.stopped.is_some() || collector.may_end(now))
            && sending.load(Ordering::Acquire) == 0
        {
            progress.sent = Some(now);
        }
        let look = now >= progress.next_look;
        let draining = progress.sent.is_some() && progress.whole.is_none();
        let span = now.since(gathered);
        // While draining, look often enough to notice the last packet, however many streams there are.
        if look || span >= LOOK_MAX || (draining && span >= drain_look(collector.trial.shape.streams)) {
            gather(collector, lines, clock);
            gathered = now;
            if progress.sent.is_some() && progress.whole.is_none() && collector.all_arrived() {
                progress.whole = Some(now);
            }
        }
        if look {
            collector.show(now, progress.sent.is_some(), watch);
            progress.next_look = now.saturating_add(progress.look_every);
        }
        if progress.is_over(now, drain) || lines.iter().any(|line| line.reports.is_abandoned()) {
            break;
        }
    }
    pings.end(watch);
    for line in lines.iter_mut() {
        let empty = collector.empty();
        command(line, Command::Finish(empty));
    }
    progress.stopped
}

/// Tables of many streams take longer to clear than a few packets to arrive.
fn drain_look(streams: usize) -> Nanos {
    Nanos::from_micros(5_000 + 20 * streams as u64)
}

fn command(line: &mut Lines, command: Command) {
    let mut command = command;
    while let Err(rtrb::PushError::Full(back)) = line.commands.push(command) {
        if line.commands.is_abandoned() {
            return;
        }
        command = back;
        std::thread::sleep(Duration::from_micros(50));
    }
}

/// Asks all workers for what they have counted and waits for it.
fn gather(collector: &mut Collector<'_>, lines: &mut [Lines], clock: &TscClock) {
    for line in lines.iter_mut() {
        let empty = collector.empty();
        command(line, Command::Swap(empty));
    }
    for (worker, line) in lines.iter_mut().enumerate() {
        let patience = clock.now() + Nanos::from_secs(10);
        loop {
            if let Ok(report) = line.reports.pop() {
                collector.take(worker, report);
                break;
            }
            if line.reports.is_abandoned() || clock.now() > patience {
                break;
            }
            std::thread::sleep(Duration::from_micros(50));
        }
    }
}
