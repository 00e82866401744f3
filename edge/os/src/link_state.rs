//! Setting a kernel interface up or down: what `ip link set … up` does, in the calling thread's network namespace.

use crate::link::Links;
use crate::netlink::Netlink;
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{LinkFlags, LinkMessage};
use std::io;

/// Sets the interface `name` up or down. Needs CAP_NET_ADMIN; an error of kind `NotFound` if there is no such interface.
pub fn set(name: &str, up: bool) -> io::Result<()> {
    let index = Links::open()?.by_name(name)?.index;
    Netlink::open()?.change(RouteNetlinkMessage::NewLink(request(index, up)))
}

/// Changes the one flag of interface `index` and no other.
fn request(index: u32, up: bool) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.header.index = index;
    message.header.change_mask = LinkFlags::Up;
    message.header.flags = if up { LinkFlags::Up } else { LinkFlags::empty() };
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_flag_is_changed_and_no_other() {
        for up in [true, false] {
            let header = request(7, up).header;
            assert_eq!((header.index, header.change_mask), (7, LinkFlags::Up));
            assert_eq!(header.flags.contains(LinkFlags::Up), up);
        }
        assert_eq!(set("no-such-link", true).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
