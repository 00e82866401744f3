//! Links of leased ports that clients have switched.
//!
//! Not here: permission; the service checks the lease.
//!
//! Invariant: a link that was switched is as it was found once its lease has ended.

use crate::fault::Fault;
use crate::jobs::lock;
use dpdk::PortId;
use os::LinkFacts;
use os::link_state;
use std::sync::Mutex;

/// All links that are not as they were found.
#[derive(Debug, Default)]
pub(crate) struct Links {
    switched: Mutex<Vec<Switched>>,
}

#[derive(Debug)]
struct Switched {
    interface: String,
    /// The lease's secret name.
    lease: String,
    was_up: bool,
}

/// The kernel's interface behind a device, if its link can be switched.
pub(crate) fn interface(port: &PortId) -> Result<String, Fault> {
    let interface = port.kernel_interface().map(|interface| interface.name.clone());
    interface.ok_or_else(|| {
        Fault::unprocessable(format!(
            "'{}' is not an interface that the kernel sets up and down; only the interfaces of afpacket:, afxdp: and xdp: ports are",
            port.text()
        ))
    })
}

impl Links {
    /// Sets an interface up or down until `lease` ends.
    pub(crate) fn switch(&self, interface: &str, lease: &str, up: bool) -> Result<(), Fault> {
        let failed = |error: std::io::Error| {
            let way = if up { "up" } else { "down" };
            Fault::machine(format!("cannot set link {interface} {way}: {error}"))
        };
        let mut switched = lock(&self.switched);
        let was_up = LinkFacts::read(interface).map_err(failed)?.up;
        if was_up == up {
            return Ok(());
        }
        // As for traffic (RFC 6815): whoever works on this machine is not to be cut off.
        let routes = os::default_route::interfaces().map_err(failed)?;
        if !up && routes.iter().any(|route| route == interface) {
            return Err(Fault::forbidden(format!(
                "{interface} carries this machine's default route; its link is not taken down"
            )));
        }
        link_state::set(interface, up).map_err(failed)?;
        if !switched.iter().any(|known| known.interface == interface) {
            let (interface, lease) = (interface.to_owned(), lease.to_owned());
            switched.push(Switched { interface, lease, was_up });
        }
        Ok(())
    }

    /// Leases under which links were switched.
    pub(crate) fn leases(&self) -> Vec<String> {
        lock(&self.switched).iter().map(|link| link.lease.clone()).collect()
    }

    /// Leaves the links as they were found whose leases have ended.
    pub(crate) fn restore(&self, has_ended: impl Fn(&str) -> bool) {
        lock(&self.switched).retain(|link| {
            let ended = has_ended(&link.lease);
            if ended && let Err(error) = link_state::set(&link.interface, link.was_up) {
                tracing::error!(interface = link.interface, "cannot restore the link: {error}");
            }
            !ended
        });
    }
}
