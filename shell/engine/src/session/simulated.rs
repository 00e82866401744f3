//! Workers in turn on this thread, time jumping from event to event.

use super::*;

pub(super) fn run<V: VirtualClock>(
    trial: &Trial<'_>,
    rig: &mut Rig,
    count: usize,
    clock: &V,
    watch: &mut dyn Watch,
) -> Result<Harvest, EngineError> {
    let (mut workers, mut background) = workers(trial, rig, count, Nanos::ZERO)?;
    background.captures.follow(watch);
    let epoch = clock.now() + LEAD;
    workers.iter_mut().try_for_each(|w| w.attach(epoch))?;
    let mut collector = Collector::new(trial, count, epoch);
    let mut progress = Progress::new(epoch, watch);
    let mut pings = Pings::new(trial);
    loop {
        let mut busy = false;
        for worker in &mut workers {
            busy |= worker.turn(clock);
        }
        let now = clock.now();
        if busy && now < progress.next_look {
            continue;
        }
        if watch.stop() && progress.stopped.is_none() {
            progress.stopped = Some(now);
            workers.iter_mut().for_each(|w| w.stop(now));
        }
        background.captures.follow(watch);
        for order in collector.orders(now, watch) {
            workers.iter_mut().for_each(|worker| worker.scale(&order));
        }
        let hear = workers.iter_mut().filter(|worker| worker.overhears());
        let heard = hear.flat_map(Worker::heard).collect();
        for errand in pings.turn(now, heard, watch) {
            let whom = if matches!(errand, Errand::Overhear(_)) { workers.len() } else { 1 };
            workers[..whom].iter_mut().for_each(|worker| worker.run_errand(errand.clone(), now));
            busy = true;
        }
        if progress.sent.is_none()
            && (progress.stopped.is_some() || collector.may_end(now))
            && workers.iter_mut().all(Worker::is_done_sending)
        {
            progress.sent = Some(now);
        }
        if now >= progress.next_look {
            gather(&mut collector, &mut workers);
            collector.show(now, progress.sent.is_some(), watch);
            progress.next_look = now.saturating_add(progress.look_every);
        }
        if progress.is_over(now, trial.plan.drain) {
            break;
        }
        if !busy {
            let due = workers.iter().map(Worker::next_due).min().unwrap_or(Nanos::MAX);
            let drained = progress.sent.map_or(Nanos::MAX, |sent| sent.saturating_add(trial.plan.drain));
            let deadline = epoch.saturating_add(trial.plan.duration).saturating_add(trial.grace);
            let deadline = if now <= deadline { Nanos(deadline.0.saturating_add(1)) } else { Nanos::MAX };
            let due = due.min(pings.next_due()).min(progress.next_look);
            clock.advance(due.min(drained).min(deadline));
        }
    }
    pings.end(watch);
    let lasts = workers.into_iter().map(|w| (w.finish(clock.now(), collector.empty()), None)).collect();
    let now = clock.now();
    Ok(collector.end(lasts, background, progress.stopped, now, watch))
}

fn gather(collector: &mut Collector<'_>, workers: &mut [Worker<'_>]) {
    for (index, worker) in workers.iter_mut().enumerate() {
        let report = worker.swap(collector.empty());
        collector.take(index, report);
    }
}
