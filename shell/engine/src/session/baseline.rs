//! Counters of drivers and of the kernel before traffic, and what was dropped since.

use crate::sums::Sums;
use crate::trial::rig::Rig;
use os::{LinkCounters, LinkFacts};
use port::PortFacts;

/// Counters of driver and kernel before traffic.
pub(super) struct Baseline {
    drops: Vec<port::DriverDrops>,
    links: Vec<Option<LinkCounters>>,
    /// Whether the interface's drops are losses of the peer's receive queue at the other end of a veth pair.
    elsewhere: Vec<bool>,
}

impl Baseline {
    pub(super) fn take(rig: &mut Rig, facts: &[PortFacts]) -> Self {
        let links = facts.iter().map(link_counters).collect();
        let elsewhere = facts.iter().map(|port| {
            let link = port.netdev.as_deref().and_then(|name| LinkFacts::read(name).ok());
            link.is_some_and(|link| link.leads_elsewhere())
        });
        Self { drops: rig.driver_drops(), links, elsewhere: elsewhere.collect() }
    }

    /// Drops between the queues and the wire since.
    pub(super) fn drops(&self, rig: &mut Rig, facts: &[PortFacts], sums: &Sums) -> Vec<port::DriverDrops> {
        let mut drops = rig.driver_drops();
        for (index, now) in drops.iter_mut().enumerate() {
            subtract(&mut now.rx, &self.drops[index].rx);
            subtract(&mut now.tx, &self.drops[index].tx);
            if self.elsewhere[index] {
                now.tx.retain(|(reason, _)| *reason != "interface_dropped");
            }
            now.tx_joined = now.tx_joined.saturating_sub(self.drops[index].tx_joined);
            let known = now.tx.iter().map(|(_, n)| n).sum::<u64>() + now.tx_joined;
            let (ours, _) = sums.port_sent_in_all(index);
            if let Some((before, after)) = self.links[index].as_ref().zip(link_counters(&facts[index])) {
                // The kernel's own packets may be among those the interface sent, so this never says too much.
                let since = after.since(before);
                // What a tap sends is what the kernel's interface receives.
                let counted = match () {
                    () if facts[index].driver == "net_tap" => since.rx_packets,
                    () if self.elsewhere[index] => since.tx_packets + since.tx_dropped,
                    () => since.tx_packets,
                };
                let missing = ours.saturating_sub(known).saturating_sub(counted);
                now.tx.push(("not_counted_by_interface", missing));
            }
        }
        drops
    }
}

fn link_counters(facts: &PortFacts) -> Option<LinkCounters> {
    LinkCounters::read(facts.netdev.as_deref()?).ok()
}

fn subtract(now: &mut [(&'static str, u64)], before: &[(&'static str, u64)]) {
    for (reason, n) in now {
        let then = before.iter().find(|(same, _)| same == reason).map_or(0, |(_, n)| *n);
        *n = n.saturating_sub(then);
    }
}
