//! Why no DHCP client has an address, in a sentence.

use emulate::dhcp::DhcpClients;
use units::{Nanos, count};

/// Why no client has an address after `waited`.
pub(super) fn nobody_bound(machine: &DhcpClients, waited: Nanos) -> String {
    let (counts, clients) = (machine.counts(), machine.config().clients);
    let whose =
        if clients == 1 { "1 client".to_owned() } else { format!("{} clients", count(clients.into())) };
    if counts.refused > 0 {
        return format!(
            "the DHCP server gave {whose} addresses that no client can have, in {} messages within {waited}: 0.0.0.0/8, \
             127.0.0.0/8, 224.0.0.0/3, the first or last of its network, or its own; check its pool",
            count(counts.refused)
        );
    }
    if counts.duplicates > 0 {
        return format!(
            "neighbours have the addresses that the DHCP server gave {whose}: {} were declined within {waited}; check its pool",
            count(counts.duplicates)
        );
    }
    if counts.offers == 0 {
        return format!(
            "no DHCP server replied to {} DISCOVER messages of {whose} within {waited}; check that a server is reachable from this \
             port",
            count(counts.discovers)
        );
    }
    if counts.naks > 0 {
        return format!(
            "the DHCP server refused the addresses it had offered: {} NAK messages to {whose} within {waited}",
            count(counts.naks)
        );
    }
    format!(
        "the DHCP server made {} offers to {whose} and replied to none of {} REQUEST messages within {waited}",
        count(counts.offers),
        count(counts.requests)
    )
}
