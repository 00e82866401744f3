//! The virtual routers of a port.

use super::packet::{Packet, read};
use super::router::{VrrpConfig, VrrpRouter, VrrpState};
use units::Nanos;

/// The virtual routers of a port.
#[derive(Debug)]
pub struct VirtualRouters {
    routers: Vec<VrrpRouter>,
    strangers: u64,
}

impl VirtualRouters {
    /// Routers that begin with [`begin`](Self::begin).
    pub fn new(configs: Vec<VrrpConfig>) -> Self {
        Self { routers: configs.into_iter().map(VrrpRouter::new).collect(), strangers: 0 }
    }

    /// Begins, the first time.
    pub fn begin(&mut self, now: Nanos) {
        self.routers.iter_mut().for_each(|router| router.begin(now));
    }

    /// Traffic starts at `epoch`.
    pub fn start(&mut self, epoch: Nanos) {
        self.routers.iter_mut().for_each(|router| router.start(epoch));
    }

    /// Takes in a frame; returns whether it was for one of the routers.
    pub fn take(&mut self, now: Nanos, frame: &[u8]) -> bool {
        let Some((vlans, at, packet)) = read(frame) else { return false };
        let Some(sender) = frame.get(6..).and_then(|rest| rest.first_chunk()) else { return false };
        let routers = self.routers.iter_mut();
        match packet {
            Packet::Advert { from, to, ttl, message } => {
                let vrid = message.get(1).copied();
                let is_it = |router: &&mut VrrpRouter| {
                    router.is_on(&vlans, from) && Some(router.config().vrid) == vrid
                };
                match { routers }.find(is_it) {
                    Some(router) => router.take(now, from, to, ttl, message),
                    None => self.strangers += 1,
                }
                true
            }
            Packet::Request { from, target } => {
                { routers }.any(|router| router.is_on(&vlans, target) && router.reply(*sender, from, target))
            }
            Packet::Echo { target } => {
                { routers }.any(|router| router.is_on(&vlans, target) && router.echo(target, at, frame))
            }
        }
    }

    /// Adds the frames that are due.
    pub fn poll(&mut self, now: Nanos, frames: &mut Vec<Vec<u8>>) {
        self.routers.iter_mut().for_each(|router| router.poll(now, frames));
    }

    /// When there is something to do; [`Nanos::MAX`] if only a frame can bring it.
    pub fn next_due(&self) -> Nanos {
        self.routers.iter().map(VrrpRouter::next_due).min().unwrap_or(Nanos::MAX)
    }

    /// Whether each is Active, or watches an Active router that it is not about to replace.
    pub fn is_settled(&self) -> bool {
        self.routers.iter().all(VrrpRouter::is_settled)
    }

    /// All leave.
    pub fn shut(&mut self, now: Nanos) {
        self.routers.iter_mut().for_each(|router| router.end(now));
    }

    /// Each of them.
    pub fn routers(&self) -> &[VrrpRouter] {
        &self.routers
    }

    /// The same, to change them.
    pub fn routers_mut(&mut self) -> &mut [VrrpRouter] {
        &mut self.routers
    }

    /// Number of Active ones.
    pub fn active(&self) -> usize {
        self.routers.iter().filter(|router| router.state() == VrrpState::Active).count()
    }

    /// Advertisements with VRIDs that no router here has.
    pub fn strangers(&self) -> u64 {
        self.strangers
    }
}
