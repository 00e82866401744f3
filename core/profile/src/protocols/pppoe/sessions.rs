//! A plan once PPPoE clients have their sessions and addresses.

use crate::leases::{ip_header, number, ranges, spread, spread_vlans};
use crate::plan::{
    Address, ClientAddress, HopBy, HostPlan, NextHop, SessionEntry, SessionHop, SessionLink, StreamPlan,
};
use emulate::pppoe::PppoeSession;
use session::plan::AddressRange;
use std::net::IpAddr;
use std::sync::Arc;
use wire::tunnel::{PppoeLink, PppoeLinks};

impl From<PppoeSession> for ClientAddress {
    fn from(session: PppoeSession) -> Self {
        Self {
            client: session.client,
            mac: session.mac,
            address: Address { ip: session.ip.into(), prefix_len: 32 },
            link_local: None,
            router: None,
            vlans: None,
            session: Some(SessionLink {
                number: session.session,
                ac: session.ac,
                peer: session.peer,
                mtu: session.peer_mru,
            }),
        }
    }
}

/// A stream that PPPoE clients send, each packet in the session of one of them.
pub(crate) fn send_in_sessions(
    stream: &mut StreamPlan,
    port: &str,
    from: &[&ClientAddress],
) -> Result<(), String> {
    stream.leased = None;
    let named = |name: &str| stream.packet.headers.iter().position(|header| header.protocol.name == name);
    let (Some(ip), Some(pppoe)) = (ip_header(stream), named("pppoe")) else { return Ok(()) };
    let links: Vec<SessionLink> = from.iter().filter_map(|one| one.session).collect();
    if links.is_empty() {
        return Err(format!("stream {}: no PPPoE client of port {port} has a session", stream.name));
    }
    let mac = |mac| u128::from(units::Mac(mac).number());
    stream.next_hop = NextHop::Given;
    spread(stream, 0, "dst", links.iter().map(|link| mac(link.ac)).collect());
    if stream.fill_source_mac {
        spread(stream, 0, "src", from.iter().map(|one| mac(one.mac)).collect());
    }
    spread(stream, pppoe, "session", links.iter().map(|link| link.number.into()).collect());
    spread(stream, ip, "src", from.iter().map(|one| number(one.address.ip)).collect());
    spread_vlans(stream, from);
    Ok(())
}

/// A stream of `from` to the addresses of PPPoE clients, each packet to one of them.
pub(crate) fn send_to_sessions(
    stream: &mut StreamPlan,
    from: &HostPlan,
    port: &str,
    to: &[&ClientAddress],
) -> Result<(), String> {
    stream.to_clients = false;
    let addresses: Vec<IpAddr> = to.iter().map(|one| one.address.ip).collect();
    let (Some(ip), Some(lowest), Some(highest)) =
        (ip_header(stream), addresses.iter().min().copied(), addresses.iter().max().copied())
    else {
        return Err(format!("stream {}: no PPPoE client of port {port} has a session", stream.name));
    };
    stream.destinations = Some((lowest, highest));
    spread(stream, ip, "dst", addresses.iter().map(|ip| number(*ip)).collect());
    if stream.leased.is_some() || stream.next_hop != NextHop::PeerPort {
        return Ok(());
    }
    let gateway = from.address(true).and_then(|own| from.gateway(&own));
    if from.addresses.iter().any(|own| own.is_next_to(lowest)) {
        stream.next_hop = NextHop::Resolve(lowest);
    } else if let Some(gateway) = gateway {
        stream.next_hop = NextHop::Resolve(gateway);
    } else if !from.addresses.is_empty() {
        return Err(format!(
            "stream {}: the PPPoE clients' {lowest} is not on the network of '{}', which has no gateway; give it one, or set \
             ethernet.dst",
            stream.name, from.name
        ));
    }
    Ok(())
}

/// An entry that PPPoE clients open, each in its session.
pub(crate) fn open_in_sessions(
    entry: &mut SessionEntry,
    port: &str,
    from: &[&ClientAddress],
) -> Result<(), String> {
    let session = &mut entry.session;
    let Some(client) = &mut session.client else { return Ok(()) };
    let link = |one: &&ClientAddress| match (one.address.ip, one.session) {
        (IpAddr::V4(ip), Some(link)) => {
            let ids = one.vlans.iter().flat_map(|own| own.iter().copied());
            let mut vlans = [0; 2];
            vlans.iter_mut().zip(ids).for_each(|(own, id)| *own = id);
            Some((ip, PppoeLink { session: link.number, ac: link.ac, mac: one.mac, vlans }))
        }
        _ => None,
    };
    let Some(mtu) = from.iter().filter_map(|one| one.session).map(|link| link.mtu).min() else {
        return Err(format!("sessions {}: no PPPoE client of port {port} has a session", session.name));
    };
    client.mtu = client.mtu.min(mtu);
    let vlans = client.pppoe.as_ref().map(|links| links.vlans().clone()).unwrap_or_default();
    let differ = client.pppoe.as_ref().is_some_and(|links| links.differ());
    let links = PppoeLinks::new(&vlans, from.iter().filter_map(link));
    client.pppoe = Some(Arc::new(if differ { links.in_own_vlans() } else { links }));
    session.clients.addresses = ranges(from);
    let hop = |range: &AddressRange| SessionHop {
        host: 0,
        first: range.first,
        last: range.last,
        by: HopBy::UNSENT,
    };
    entry.hops = session.servers.addresses.iter().map(hop).collect();
    Ok(())
}
