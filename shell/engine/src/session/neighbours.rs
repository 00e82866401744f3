//! Asks for neighbours before a trial and resolves its Plan with them.

use crate::control::commands::Commands;
use crate::counts::interval::PortCounts;
use crate::emulation::Emulation;
use crate::error::EngineError;
use crate::observer::TrialObserver;
use crate::trial::Trial;
use crate::trial::hosts::EmulatedHosts;
use crate::trial::rig::Rig;
use crate::trial::tunnels::{PortTunnels, TrialTunnels};
use crate::worker::receive::Receiver;
use neighbour::Resolver;
use port::{BURST, Clock};
use profile::Plan;
use std::net::IpAddr;
use std::time::Duration;
use units::Nanos;
use wire::signature::Mark;

/// Time to resolve neighbours, s.
const RESOLVE_S: u64 = 5;
/// Time that is left for it once the run is stopped: neighbours that reply at all do so at once, and then there is a result.
const STOPPED_WAIT: Nanos = Nanos::from_secs(1);

/// Looks at ports without a frame after which a part of a run that waits for the others rests between them: many may wait on one machine.
const RESTLESS: u32 = 200;
/// Longest such rest: frames of other machines wait that long.
const REST: Nanos = Nanos::from_millis(10);

/// Resolves neighbours and, with them, the plan. One that is `attended` and only listens continues without a reply.
/// `idle` passes time until there may be something new.
pub(super) fn prepare<'p, C: Clock>(
    plan: &'p Plan,
    rig: &mut Rig,
    clock: &C,
    histograms: bool,
    attended: bool,
    (commands, emulation): (&mut Commands, &mut Emulation),
    observer: &mut dyn TrialObserver,
    idle: &dyn Fn(Nanos),
) -> Result<Trial<'p>, EngineError> {
    let hosts = EmulatedHosts::new(plan, &rig.facts())?;
    let mut neighbours = hosts.neighbours(plan);
    let here = rig.here();
    for (port, resolver) in neighbours.iter_mut().enumerate().filter(|(port, _)| !here[*port]) {
        // They are another machine's to resolve.
        *resolver = Resolver::new(&hosts.ports[port], Vec::new(), std::iter::empty());
    }
    let mut tunnels = PortTunnels::of(plan, &hosts, &rig.facts());
    // Elsewhere there are none: `Session::simulate` refuses them.
    #[cfg(unix)]
    rig.open_punts(plan, &hosts)?;
    #[cfg(unix)]
    rig.start_protocols(plan)?;
    resolve(
        rig,
        &hosts,
        (&mut neighbours, &mut tunnels),
        clock,
        (&mut *commands, &mut *emulation),
        &mut |_| true,
        idle,
    )?;
    let listens = plan.streams.is_empty() && plan.sessions.iter().all(|entry| entry.session.client.is_none());
    for (index, resolver) in neighbours.iter().enumerate() {
        let port = &plan.ports[index];
        let silent: Vec<IpAddr> = resolver.unknown().map(|(_, ip)| ip).collect();
        let inside = tunnels[index].unknown();
        if silent.is_empty() && inside.is_empty() {
            continue;
        }
        if listens && attended && tunnels[index].is_open() {
            observer.neighbours_silent(&port.name, &silent);
            continue;
        }
        let by_whom = |(host, ip): (usize, IpAddr)| match hosts.plan(plan, index, host) {
            own if port.own() == own => ip.to_string(),
            host => format!("{ip} (requested by host {})", host.name),
        };
        let mut neighbours: Vec<String> = resolver.unknown().map(by_whom).collect();
        // Nobody was asked inside a tunnel that did not open.
        neighbours.extend(if silent.is_empty() { inside } else { Vec::new() });
        if commands.is_stopped() {
            return Err(EngineError::Stopped { neighbours });
        }
        return Err(EngineError::Neighbour { port: port.name.clone(), neighbours, waited_s: RESOLVE_S });
    }
    let mut start = None;
    if here.contains(&false) {
        observer.ready();
        let mut is_due = |commands: &mut Commands| {
            start = start.or_else(|| commands.take_start());
            start.is_some() || commands.is_stopped()
        };
        // Others resolve neighbours meanwhile, maybe these hosts.
        let all = (&mut neighbours[..], &mut tunnels[..]);
        resolve(rig, &hosts, all, clock, (&mut *commands, &mut *emulation), &mut is_due, idle)?;
        if start.is_none() {
            return Err(EngineError::Machine("the run ended before all its machines were ready".to_owned()));
        }
    }
    let tunnels = TrialTunnels::new(tunnels);
    let of_protocols = emulation.neighbours();
    let mut trial = Trial::new(plan, &rig.facts(), hosts, (&neighbours, of_protocols), tunnels, histograms)?;
    trial.is_attended = attended;
    trial.set_here(here);
    trial.start = start;
    Ok(trial)
}

/// Resolves the neighbours of every port, replying to requests meanwhile, until all have replied or time is up, which is
/// sooner where the run is stopped. Passes frames of namespaces on until their protocols are up, or the run is stopped. Protocols that hosts have started
/// continue. Then repeats that until `may_end` returns true.
fn resolve<C: Clock>(
    rig: &mut Rig,
    hosts: &EmulatedHosts,
    (neighbours, tunnels): (&mut [Resolver], &mut [PortTunnels<'_>]),
    clock: &C,
    (commands, emulation): (&mut Commands, &mut Emulation),
    may_end: &mut dyn FnMut(&mut Commands) -> bool,
    idle: &dyn Fn(Nanos),
) -> Result<(), EngineError> {
    let mut deadline = clock.now() + Nanos::from_secs(RESOLVE_S);
    let (mut is_stopped, mut quiet) = (false, 0u32);
    for port in &mut rig.ports {
        port.queues.tx.iter_mut().take(1).try_for_each(|q| q.attach())?;
        port.queues.rx.iter_mut().try_for_each(|q| q.attach())?;
    }
    loop {
        let now = clock.now();
        for ((tunnels, underlay), hosts) in tunnels.iter_mut().zip(neighbours.iter()).zip(&hosts.ports) {
            tunnels.open(underlay, hosts);
        }
        let due = neighbours.iter().map(Resolver::next_due).chain(tunnels.iter().map(PortTunnels::next_due));
        let next = due.min().unwrap_or(Nanos::MAX);
        let waits = match &rig.protocols {
            Some(protocols) if !commands.is_stopped() => !protocols.are_up()?,
            _ => false,
        };
        if !is_stopped && commands.is_stopped() {
            (is_stopped, deadline) = (true, deadline.min(now + STOPPED_WAIT));
        }
        // Where little may be sent a question waits, and its time has not begun.
        let all_left = rig.ports.iter().all(|port| port.outlet.is_free());
        let is_over = now > deadline && (all_left || is_stopped);
        let is_done = (next == Nanos::MAX || is_over) && !waits;
        if is_done && may_end(commands) {
            return Ok(());
        }
        quiet = if is_done { quiet.saturating_add(1) } else { 0 };
        let mut due = emulation.poll(now).into_iter();
        let ports = rig.ports.iter_mut().zip(&hosts.ports).zip(neighbours.iter_mut()).zip(tunnels.iter_mut());
        for (index, (((port, hosts), resolver), tunnels)) in ports.enumerate() {
            let mut frames = due.next().unwrap_or_default();
            if port.outlet.is_free() {
                frames.extend(resolver.requests(now, hosts));
                frames.extend(tunnels.requests(now));
            }
            let (mut entries, exit) = match &mut port.punt {
                Some(punt) => (punt.entries.iter_mut(), Some(&mut punt.exit)),
                None => ([].iter_mut(), None),
            };
            for queue in &mut port.queues.rx {
                let mut entry = entries.next();
                Receiver::new(queue.as_mut(), 0, Mark::of_run(0), 0).listen(|frame, is_unfinished| {
                    quiet = 0;
                    if let Some(answer) = tunnels.take(frame) {
                        frames.extend(answer);
                        return;
                    }
                    resolver.take(hosts, frame);
                    emulation.take(now, index, frame);
                    if let Some(entry) = &mut entry {
                        entry.take(frame, is_unfinished, &mut PortCounts::default());
                    }
                    frames.extend(hosts.answer(frame));
                });
            }
            frames.extend(exit.into_iter().flat_map(|exit| std::iter::from_fn(|| exit.pop()).take(BURST)));
            quiet = if frames.is_empty() { quiet } else { 0 };
            if let Some(queue) = port.queues.tx.first_mut() {
                port.outlet.send(now, queue.as_mut(), &mut frames);
            }
        }
        let hosts_due = emulation.next_due().max(now + Nanos::from_millis(1));
        let next = if waits { now } else { next.min(deadline).min(hosts_due) };
        let is_free = rig.ports.iter().all(|port| port.outlet.is_free());
        if is_done && is_free && quiet > RESTLESS {
            commands.wait(Duration::from_nanos(hosts_due.since(now).min(REST).0));
            continue;
        }
        idle(next.max(if is_free { Nanos(now.0 + 1) } else { now + Nanos::from_millis(1) }));
    }
}
