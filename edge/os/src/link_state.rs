//! Setting a kernel interface up or down: what `ip link set … up` does, in the calling thread's network namespace.

use crate::link::LinkFacts;
use crate::netlink;
use std::io;

/// Sets the interface `name` up or down. Needs CAP_NET_ADMIN; an error of kind `NotFound` if there is no such interface.
pub fn set(name: &str, up: bool) -> io::Result<()> {
    let index = LinkFacts::read(name)?.index;
    netlink::change(libc::RTM_NEWLINK, &request(index, up))
}

/// A `struct ifinfomsg` that changes the one flag of interface `index`.
fn request(index: u32, up: bool) -> [u8; 16] {
    let flag = libc::IFF_UP as u32;
    let mut request = [0; 16];
    request[4..8].copy_from_slice(&index.to_ne_bytes());
    request[8..12].copy_from_slice(&(if up { flag } else { 0 }).to_ne_bytes());
    request[12..].copy_from_slice(&flag.to_ne_bytes());
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_flag_is_changed_and_no_other() {
        assert_eq!(request(7, true), [0, 0, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(request(7, false)[8..], [0, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(set("no-such-link", true).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
