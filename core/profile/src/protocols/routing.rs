//! Control protocols of a port whose hosts advertise routes, as one: trials change routes without naming a protocol.

use std::net::{IpAddr, Ipv6Addr};
use std::sync::Arc;
use units::{Nanos, nth_prefix};

/// Routes of a speaker or router that differ by their prefix alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefixes {
    /// The first prefix's address.
    pub first: IpAddr,
    /// Bits of every prefix.
    pub prefix_len: u8,
    /// From one prefix to the next, in prefixes.
    pub step: u32,
    /// Number of prefixes.
    pub count: u32,
}

impl Prefixes {
    /// Whether they are IPv4's.
    pub fn is_v4(&self) -> bool {
        self.first.is_ipv4()
    }

    /// Bits of an address that are not the prefix's.
    pub fn host_bits(&self) -> u32 {
        let width: u8 = if self.is_v4() { 32 } else { 128 };
        width.saturating_sub(self.prefix_len).into()
    }

    /// The address in prefix `index` whose host part is that of `of`; `None` past the last address.
    pub fn address(&self, index: u32, of: u128) -> Option<u128> {
        let prefix = nth_prefix(self.first, self.prefix_len, u128::from(index) * u128::from(self.step))?;
        let prefix = match prefix {
            IpAddr::V4(ip) => u32::from(ip).into(),
            IpAddr::V6(ip) => u128::from(ip),
        };
        let mask = 1u128.checked_shl(self.host_bits()).unwrap_or(0).wrapping_sub(1);
        Some(prefix | of & mask)
    }
}

/// A control protocol of a port whose hosts advertise routes.
pub trait Routing {
    /// Ranges of routes of all its speakers or routers.
    fn ranges(&self) -> usize;

    /// Advertises all routes before traffic and keeps them, as many of each range as `share` determines; a range without
    /// routes is removed. Networks of generated routers and routes of files stay as they are.
    fn share_out(&mut self, share: &mut dyn FnMut(Prefixes) -> Prefixes);

    /// Advertises all routes before traffic, withdraws them at `withdraw` and advertises them again at `again`, since the
    /// start of traffic.
    fn withdraw_once(&mut self, withdraw: Nanos, again: Nanos);

    /// Lets traffic start and end without sessions, where the protocol can: a trial with too many routes loses them.
    fn let_fail(&mut self) {}

    /// Whether routes of a file are among them, of IPv4 or IPv6.
    fn has_file(&self, _is_v4: bool) -> bool {
        false
    }

    /// Link-local addresses of its routers, each with the index of its host; unspecified: made of the host's MAC address.
    fn link_locals(&self) -> Vec<(usize, Ipv6Addr)> {
        Vec::new()
    }
}

/// Changes shared routes.
pub(crate) fn change<R: Clone>(routes: &mut Arc<[R]>, change: impl FnOnce(&mut Vec<R>)) {
    let mut all = routes.to_vec();
    change(&mut all);
    *routes = all.into();
}
