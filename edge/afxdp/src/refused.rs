//! Why an interface does not take our program, in the kernel's words.
//!
//! A link that can't be made has an error number as its reason. With netlink the kernel also gives a message.

use os::link::{LinkFacts, Links, XdpRefusal, veth_xdp_mtu_max};
use std::os::fd::BorrowedFd;

/// A reason, and what to do about it.
pub(crate) type Reason = (String, String);

/// Why an interface does not take `program` in its driver. `None` if it takes it, or has one: then something else is in the way,
/// perhaps only for now.
pub(crate) fn why(interface: &LinkFacts, program: BorrowedFd<'_>) -> Option<Reason> {
    let mut links = Links::open().ok()?;
    let now = links.by_index(interface.index).ok().filter(|now| now.xdp.is_none())?;
    let refusal = links.try_xdp(now.index, program).err()?;
    Some(of_driver(&now, links.opposite(&now).ok().as_ref(), &refusal))
}

/// Why the driver of an interface, a veth if it has another end, takes no program.
fn of_driver(now: &LinkFacts, opposite: Option<&LinkFacts>, refusal: &XdpRefusal) -> Reason {
    let (name, most) = (&now.name, veth_xdp_mtu_max());
    let said = refusal.reason.clone().unwrap_or_else(|| refusal.error.to_string());
    let reason = format!("the kernel takes no XDP program on {name}: {said}");
    let elsewhere = if now.elsewhere.is_some() { " in the other end's namespace" } else { "" };
    match opposite {
        Some(peer) if peer.mtu > most => (
            format!(
                "{reason}; the other end, {}, has an MTU of {}, and {name} one of {}: XDP takes at most {most} at the other end",
                peer.name, peer.mtu, now.mtu
            ),
            format!("ip link set {} mtu {most}{elsewhere}, or use afpacket:{name}", peer.name),
        ),
        Some(peer) if peer.tx_queues > now.rx_queues => (
            format!(
                "{reason}; the other end, {}, has {} transmit queues, and {name} {} receive queues",
                peer.name, peer.tx_queues, now.rx_queues
            ),
            format!("ethtool -L {} tx {}{elsewhere}, or use afpacket:{name}", peer.name, now.rx_queues),
        ),
        _ => (reason, format!("use afpacket:{name}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io;

    #[test]
    fn reasons_name_both_ends_and_the_remedy() {
        let end = |name: &str, mtu, tx_queues| {
            let name = name.to_owned();
            LinkFacts { name, mtu, tx_queues, rx_queues: 1, ..LinkFacts::default() }
        };
        let refusal = |code, reason: Option<&str>| XdpRefusal {
            error: io::Error::from_raw_os_error(code),
            reason: reason.map(str::to_owned),
        };
        let near = end("west", 1500, 1);
        let (most, range) =
            (veth_xdp_mtu_max(), refusal(libc::ERANGE, Some("veth: Peer MTU is too large to set XDP")));
        let (reason, remedy) = of_driver(&near, Some(&end("peer", 9000, 1)), &range);
        assert!(reason.contains("Peer MTU is too large"), "{reason}");
        assert!(reason.contains("peer, has an MTU of 9000, and west one of 1500"), "{reason}");
        assert_eq!(remedy, format!("ip link set peer mtu {most}, or use afpacket:west"));
        let (reason, remedy) = of_driver(&near, Some(&end("peer", 1500, 4)), &refusal(libc::ENOSPC, None));
        assert!(reason.contains("4 transmit queues, and west 1 receive queues"), "{reason}");
        assert!(remedy.starts_with("ethtool -L peer tx 1"), "{remedy}");
        let (reason, _) = of_driver(&near, None, &refusal(libc::EINVAL, None));
        assert!(reason.contains("Invalid argument"), "{reason}");
    }
}
