//! Asks for neighbours before a trial and resolves its Plan with them.

use crate::error::EngineError;
use crate::observer::TrialObserver;
use crate::trial::Trial;
use crate::trial::hosts::EmulatedHosts;
use crate::trial::rig::Rig;
use crate::worker::receive::Receiver;
use neighbour::Resolver;
use port::{Burst, Clock};
use profile::Plan;
use std::net::IpAddr;
use units::Nanos;
use wire::signature::Mark;

/// How long neighbours are asked for.
const RESOLVE_S: u64 = 5;

/// Resolves neighbours and, with them, the plan. With `without`, a plan that only listens goes on without an answer. `idle`
/// passes time until there may be something new.
pub(super) fn prepare<'p, C: Clock>(
    plan: &'p Plan,
    rig: &mut Rig,
    clock: &C,
    histograms: bool,
    without: bool,
    observer: &mut dyn TrialObserver,
    idle: &dyn Fn(Nanos),
) -> Result<Trial<'p>, EngineError> {
    let hosts = EmulatedHosts::new(plan, &rig.facts())?;
    let mut neighbours = hosts.neighbours(plan);
    resolve(rig, &hosts, &mut neighbours, clock, idle)?;
    let listens = plan.streams.is_empty() && plan.sessions.iter().all(|entry| entry.session.client.is_none());
    for (index, resolver) in neighbours.iter().enumerate() {
        let port = &plan.ports[index];
        let silent: Vec<IpAddr> = resolver.unknown().map(|(_, ip)| ip).collect();
        if silent.is_empty() {
            continue;
        }
        if listens && without {
            observer.neighbours_silent(&port.name, &silent);
            continue;
        }
        let by_whom = |(host, ip): (usize, IpAddr)| match hosts.plan(plan, index, host) {
            own if port.own() == own => ip.to_string(),
            host => format!("{ip} (asked by host {})", host.name),
        };
        let neighbours = resolver.unknown().map(by_whom).collect();
        return Err(EngineError::Neighbour { port: port.name.clone(), neighbours, waited_s: RESOLVE_S });
    }
    Trial::new(plan, &rig.facts(), hosts, &neighbours, histograms)
}

/// Asks on every port for its neighbours, answering what is asked meanwhile, until all have answered or it is time.
fn resolve<C: Clock>(
    rig: &mut Rig,
    hosts: &EmulatedHosts,
    neighbours: &mut [Resolver],
    clock: &C,
    idle: &dyn Fn(Nanos),
) -> Result<(), EngineError> {
    let deadline = clock.now() + Nanos::from_secs(RESOLVE_S);
    for port in &mut rig.ports {
        port.queues.tx.iter_mut().take(1).try_for_each(|q| q.attach())?;
        port.queues.rx.iter_mut().try_for_each(|q| q.attach())?;
    }
    loop {
        let now = clock.now();
        let next = neighbours.iter().map(Resolver::next_due).min().unwrap_or(Nanos::MAX);
        if next == Nanos::MAX || now > deadline {
            return Ok(());
        }
        for ((port, hosts), resolver) in rig.ports.iter_mut().zip(&hosts.ports).zip(neighbours.iter_mut()) {
            let mut frames = resolver.requests(now, hosts);
            for queue in &mut port.queues.rx {
                Receiver::new(queue.as_mut(), 0, Mark::of_run(0), 0).listen(|frame| {
                    resolver.take(hosts, frame);
                    frames.extend(hosts.answer(frame));
                });
            }
            if let Some(queue) = port.queues.tx.first_mut() {
                send(queue.as_mut(), &frames);
            }
        }
        idle(next.min(deadline).max(Nanos(now.0 + 1)));
    }
}

fn send(queue: &mut dyn port::TxQueue, frames: &[Vec<u8>]) {
    let mut burst = Burst::new();
    for frame in frames {
        if queue.alloc(&mut burst, 1) == 1 {
            burst.frame_mut(0).copy_from(frame);
            queue.send(&mut burst);
            queue.free(&mut burst);
        }
    }
}
