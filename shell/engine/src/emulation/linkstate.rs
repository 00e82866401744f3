//! Commands to the routers of link-state protocols, OSPF and IS-IS.

use result::{NewProtocolChange, ProtocolAction};
use std::net::IpAddr;
use units::Nanos;

/// Routers of a link-state protocol behind a port.
pub(super) trait LinkState {
    /// Number of them.
    fn len(&self) -> usize;
    /// A router's name and the address of its host.
    fn named(&self, router: usize) -> (&str, IpAddr);
    /// The names of its routes.
    fn routes(&self, router: usize) -> Vec<String>;
    fn set_router(&mut self, now: Nanos, router: usize, up: bool) -> bool;
    fn set_range(&mut self, router: usize, range: usize, up: bool);
}

/// Implements [`LinkState`] by the plan and the machine of routers.
macro_rules! link_state {
    ($routers:ty) => {
        impl $crate::emulation::linkstate::LinkState for $routers {
            fn len(&self) -> usize {
                self.plan.routers.len()
            }

            fn named(&self, router: usize) -> (&str, std::net::IpAddr) {
                let router = &self.plan.routers[router];
                (&router.name, router.local.into())
            }

            fn routes(&self, router: usize) -> Vec<String> {
                self.plan.routers[router].routes.iter().map(|range| range.name.clone()).collect()
            }

            fn set_router(&mut self, now: Nanos, router: usize, up: bool) -> bool {
                self.machine.set_router(now, router, up)
            }

            fn set_range(&mut self, router: usize, range: usize, up: bool) {
                self.machine.set_range(router, range, up);
            }
        }
    };
}

/// Routers that are meant, by number.
pub(super) fn routers<'a>(
    all: &'a dyn LinkState,
    command: &'a NewProtocolChange,
) -> impl Iterator<Item = usize> + 'a {
    let is_meant = |number: &usize| {
        let (own, local) = all.named(*number);
        let is_it = |name: &String| own == name || name.parse() == Ok(local);
        command.peers.is_empty() || command.peers.iter().any(is_it)
    };
    (0..all.len()).filter(is_meant)
}

/// Carries out a command; returns how many routers or ranges of routes changed.
pub(super) fn change_routers(all: &mut dyn LinkState, now: Nanos, command: &NewProtocolChange) -> u64 {
    let meant: Vec<usize> = routers(all, command).collect();
    let mut changed = 0;
    for router in meant {
        match command.action {
            ProtocolAction::Up | ProtocolAction::Down => {
                changed += u64::from(all.set_router(now, router, command.action == ProtocolAction::Up));
            }
            _ => {
                let up = command.action == ProtocolAction::Advertise;
                let is_meant = |name: &String| command.routes.is_empty() || command.routes.contains(name);
                let routes = all.routes(router);
                for (range, _) in routes.iter().enumerate().filter(|(_, name)| is_meant(name)) {
                    all.set_range(router, range, up);
                    changed += 1;
                }
            }
        }
    }
    changed
}
