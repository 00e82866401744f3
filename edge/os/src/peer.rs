//! Which user of this machine has the other end of a TCP connection over loopback.
//!
//! Invariant: a connection whose other end cannot be found, or is closed, has no owner.

use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink};
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// `SOCK_DIAG_BY_FAMILY`.
const BY_FAMILY: u16 = 20;
/// `NLM_F_REQUEST`.
const REQUEST: u16 = 1;
/// `IPPROTO_TCP`.
const TCP: u8 = 6;
/// Length of a message's header (`nlmsghdr`).
const HEADER: usize = 16;
/// Where `inet_diag_msg` has the socket's user and inode, from the beginning of the message.
const USER: usize = HEADER + 64;
const INODE: usize = HEADER + 68;
const TIMEOUT: Duration = Duration::from_secs(2);

/// The user of the socket that is bound to `peer` and connected to `own`. `None` if there is none: it was closed.
///
/// # Errors
/// The kernel can't be queried.
pub fn user(peer: SocketAddr, own: SocketAddr) -> io::Result<Option<u32>> {
    let socket = net::socket_with(
        AddressFamily::NETLINK,
        SocketType::RAW,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    net::sockopt::set_socket_timeout(&socket, net::sockopt::Timeout::Recv, Some(TIMEOUT))?;
    net::send(&socket, &request(peer, own), SendFlags::empty())?;
    let mut answer = [0; 4_096];
    let (length, _) = net::recv(&socket, &mut answer[..], RecvFlags::empty())?;
    Ok(user_in(&answer[..length.min(answer.len())]))
}

/// The user of this process, without and with `sudo`.
pub fn own_users() -> Vec<u32> {
    let own = rustix::process::geteuid().as_raw();
    let behind = std::env::var("SUDO_UID").ok().and_then(|user| user.parse().ok());
    std::iter::once(own).chain(behind.filter(|_| own == 0)).collect()
}

/// `inet_diag_req_v2` for exactly one socket.
fn request(peer: SocketAddr, own: SocketAddr) -> Vec<u8> {
    let family = match peer.ip() {
        IpAddr::V4(_) => AddressFamily::INET,
        IpAddr::V6(_) => AddressFamily::INET6,
    };
    let mut body = vec![family.as_raw() as u8, TCP, 0, 0];
    // Any state.
    body.extend([0xff; 4]);
    body.extend(peer.port().to_be_bytes());
    body.extend(own.port().to_be_bytes());
    for address in [peer.ip(), own.ip()] {
        let mut bytes = [0; 16];
        match address {
            IpAddr::V4(address) => bytes[..4].copy_from_slice(&address.octets()),
            IpAddr::V6(address) => bytes = address.octets(),
        }
        body.extend(bytes);
    }
    // Any interface, any cookie.
    body.extend([0; 4]);
    body.extend([0xff; 8]);
    let mut message = Vec::new();
    message.extend(((HEADER + body.len()) as u32).to_ne_bytes());
    message.extend(BY_FAMILY.to_ne_bytes());
    message.extend(REQUEST.to_ne_bytes());
    // Number and sender.
    message.extend([0; 8]);
    message.extend(body);
    message
}

fn user_in(answer: &[u8]) -> Option<u32> {
    let number = |at: usize| answer.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes);
    let kind = answer.get(4..6)?.try_into().ok().map(u16::from_ne_bytes)?;
    // A socket without an inode was closed; the kernel says root for its user.
    let is_open = kind == BY_FAMILY && number(INODE)? != 0;
    is_open.then(|| number(USER)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn the_other_end_is_this_user_until_it_is_closed() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (far, peer) = listener.accept().unwrap();
            let own = far.local_addr().unwrap();
            assert_eq!(user(peer, own).unwrap(), Some(own_users()[0]));
            drop(near);
            assert_eq!(user(peer, own).unwrap(), None);
            drop(far);
            assert_eq!(user(peer, own).unwrap(), None);
        }
    }
}
