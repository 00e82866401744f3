//! UDP sockets: addresses of hosts, ports to listen at, marks of packets.

use crate::{Wrong, reason};
use socket2::{Domain, Protocol, SockRef, Socket, Type};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs, UdpSocket};

/// The first address of a host that fits the family and the local address; true for IPv6.
///
/// # Errors
/// The host is not known, or has no such address.
pub(crate) fn resolve(
    host: &str,
    port: u16,
    bind: Option<IpAddr>,
    v6: Option<bool>,
) -> Result<SocketAddr, Wrong> {
    let known = (host, port).to_socket_addrs().map_err(Wrong::io(host))?;
    let fits = |address: &SocketAddr| {
        v6.is_none_or(|v6| address.is_ipv6() == v6)
            && bind.is_none_or(|bind| bind.is_ipv6() == address.is_ipv6())
    };
    known
        .into_iter()
        .find(fits)
        .ok_or_else(|| Wrong::Refused(format!("{host}: it has no address of this family")))
}

/// Listens at a port of an address; without one, of all addresses of both families.
///
/// # Errors
/// It can't.
pub(crate) fn listen(bind: Option<IpAddr>, port: u16) -> Result<(UdpSocket, SocketAddr), Wrong> {
    let all = [IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED)];
    let addresses = bind.map_or(all.to_vec(), |bind| vec![bind]);
    let mut wrong = None;
    for address in addresses {
        let address = SocketAddr::new(address, port);
        let opened = bound(address).and_then(|socket| Ok((socket.local_addr()?, socket)));
        match opened {
            Ok((address, socket)) => return Ok((socket, address)),
            Err(error) => {
                let remedy = match error.kind() {
                    ErrorKind::AddrInUse => "; is another server running? Choose another port with -p",
                    ErrorKind::PermissionDenied => {
                        "; ports below 1024 need root or CAP_NET_BIND_SERVICE. Choose another port with -p"
                    }
                    _ => "",
                };
                wrong.get_or_insert(format!("{address}: {}{remedy}", reason(&error)));
            }
        }
    }
    Err(Wrong::Refused(wrong.unwrap_or_default()))
}

/// A socket at an address, or at any of a family.
pub(crate) fn bound(at: SocketAddr) -> io::Result<UdpSocket> {
    let socket = Socket::new(Domain::for_address(at), Type::DGRAM, Some(Protocol::UDP))?;
    if at.is_ipv6() {
        socket.set_only_v6(!at.ip().is_unspecified())?;
    }
    socket.bind(&at.into())?;
    Ok(socket.into())
}

/// All addresses of the family.
pub(crate) fn any(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    }
}

/// Marks packets with a DSCP and ECN.
pub(crate) fn mark(socket: &UdpSocket, is_v6: bool, octet: u8) -> io::Result<()> {
    let options = SockRef::from(socket);
    match octet {
        0 => Ok(()),
        _ if is_v6 => options.set_tclass_v6(octet.into()),
        _ => options.set_tos_v4(octet.into()),
    }
}
