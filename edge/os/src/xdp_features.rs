//! XDP features of an interface, as reported by the kernel's netlink family `netdev` (linux/netdev.h, Linux 6.3).

use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);
const ANSWER_BYTES: usize = 8192;

/// Message types, commands and attributes of the generic family (linux/genetlink.h) and of `netdev`.
const CONTROL: u16 = 16;
const CONTROL_GET_FAMILY: u8 = 3;
const CONTROL_FAMILY_ID: u16 = 1;
const CONTROL_FAMILY_NAME: u16 = 2;
const DEVICE_GET: u8 = 1;
const DEVICE_INDEX: u16 = 1;
const DEVICE_XDP_FEATURES: u16 = 3;
/// Frames of others can be sent out of it, and get to the other end.
const TRANSMITS: u64 = 4;

const HEADER_BYTES: usize = 20;
const REQUEST: u16 = 1;
const ERROR: u16 = 2;

/// Whether frames that XDP redirects to the interface leave it and arrive. A veth reports this only if its other end
/// receives them: by an XDP program, or with GRO. `None` if the kernel does not report it.
pub fn transmits(index: u32) -> Option<bool> {
    let protocol = net::netlink::GENERIC;
    let socket =
        net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, Some(protocol))
            .ok()?;
    net::sockopt::set_socket_timeout(&socket, net::sockopt::Timeout::Recv, Some(ANSWER_TIMEOUT)).ok()?;
    let answer = ask(&socket, CONTROL, CONTROL_GET_FAMILY, CONTROL_FAMILY_NAME, b"netdev\0").ok()?;
    let family = u16::from_ne_bytes(attribute(&answer, CONTROL_FAMILY_ID)?.try_into().ok()?);
    let answer = ask(&socket, family, DEVICE_GET, DEVICE_INDEX, &index.to_ne_bytes()).ok()?;
    let features = u64::from_ne_bytes(attribute(&answer, DEVICE_XDP_FEATURES)?.try_into().ok()?);
    Some(features & TRANSMITS != 0)
}

/// A request with one attribute, and the attributes of its reply.
fn ask(socket: &OwnedFd, kind: u16, command: u8, name: u16, value: &[u8]) -> io::Result<Vec<u8>> {
    let mut request = Vec::new();
    let length = (HEADER_BYTES + 4 + value.len().next_multiple_of(4)) as u32;
    request.extend(length.to_ne_bytes());
    request.extend([kind.to_ne_bytes(), REQUEST.to_ne_bytes()].concat());
    // Sequence number and port, then command, version and two bytes of nothing.
    request.extend([1u32.to_ne_bytes(), [0; 4], [command, 1, 0, 0]].concat());
    request.extend([(4 + value.len() as u16).to_ne_bytes(), name.to_ne_bytes()].concat());
    request.extend(value);
    request.resize(length as usize, 0);
    net::send(socket, &request, SendFlags::empty())?;
    let mut answer = vec![0; ANSWER_BYTES];
    let (received, _) = net::recv(socket, &mut answer[..], RecvFlags::empty())?;
    answer.truncate(received);
    let kind = answer.get(4..6).map(|bytes| u16::from_ne_bytes([bytes[0], bytes[1]]));
    match kind {
        None | Some(ERROR) => Err(io::ErrorKind::NotFound.into()),
        Some(_) => Ok(answer.split_off(HEADER_BYTES.min(answer.len()))),
    }
}

/// The value of an attribute among `attributes`.
fn attribute(mut attributes: &[u8], name: u16) -> Option<&[u8]> {
    loop {
        let head: [u8; 4] = attributes.get(..4)?.try_into().ok()?;
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let value = attributes.get(4..length)?;
        if u16::from_ne_bytes([head[2], head[3]]) == name {
            return Some(value);
        }
        attributes = attributes.get(length.next_multiple_of(4)..)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found() {
        let two = [&[6, 0, 1, 0, 7, 8, 0, 0][..], &[12, 0, 3, 0, 1, 2, 3, 4, 5, 6, 7, 8][..]].concat();
        if cfg!(target_endian = "little") {
            assert_eq!(attribute(&two, 1), Some(&[7, 8][..]));
            assert_eq!(attribute(&two, 3), Some(&[1, 2, 3, 4, 5, 6, 7, 8][..]));
            assert_eq!(attribute(&two, 2), None);
            assert_eq!(attribute(&two[..10], 3), None);
        }
    }

    #[test]
    fn an_interface_that_is_not_there_says_nothing() {
        assert_eq!(transmits(u32::MAX), None);
    }
}
