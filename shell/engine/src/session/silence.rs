//! Finds out which addresses of a network are unused, before a host takes one.

use crate::error::EngineError;
use crate::trial::hosts::EmulatedHosts;
use crate::trial::rig::Rig;
use crate::worker::receive::Receiver;
use neighbour::Resolver;
use port::Clock;
use profile::Plan;
use std::net::IpAddr;
use std::time::Duration;
use units::Nanos;
use wire::signature::Mark;

/// Time to wait for a reply: an existing host replies within milliseconds; the request is repeated.
const WAIT: Nanos = Nanos::from_millis(1_200);
/// Time between two looks at what came.
const LOOK: Duration = Duration::from_millis(1);

/// The `addresses`, in their order, without a reply to ARP or neighbour discovery on the network of the plan's first
/// port. Requests come from that port's own address, which must belong to this machine or be unused; meanwhile the port
/// sends no replies.
///
/// # Errors
/// The port can't be opened.
pub fn unanswered<C: Clock>(
    plan: &Plan,
    addresses: &[IpAddr],
    clock: &C,
) -> Result<Vec<IpAddr>, EngineError> {
    let mut rig = Rig::open(plan, 1)?;
    let hosts = EmulatedHosts::new(plan, &rig.facts())?;
    let hosts = &hosts.ports[0];
    let mut resolver = Resolver::new(hosts, addresses.iter().map(|ip| (0, *ip)), []);
    let port = &mut rig.ports[0];
    port.queues.tx.iter_mut().take(1).try_for_each(|queue| queue.attach())?;
    port.queues.rx.iter_mut().try_for_each(|queue| queue.attach())?;
    let deadline = clock.now() + WAIT;
    while clock.now() < deadline && resolver.next_due() != Nanos::MAX {
        let now = clock.now();
        let mut frames = if port.outlet.is_free() { resolver.requests(now, hosts) } else { Vec::new() };
        for queue in &mut port.queues.rx {
            Receiver::new(queue.as_mut(), 0, Mark::of_run(0), 0).listen(|frame, _| {
                resolver.take(hosts, frame);
            });
        }
        if let Some(queue) = port.queues.tx.first_mut() {
            port.outlet.send(now, queue.as_mut(), &mut frames);
        }
        std::thread::sleep(LOOK);
    }
    Ok(addresses.iter().copied().filter(|ip| resolver.mac(0, *ip).is_none()).collect())
}
