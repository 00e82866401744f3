//! Reports as frames.

use crate::frame::{Link, Mac};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use wire::Vlans;

/// Where reports of IGMPv3 go, and IGMPv2's of leaving.
const IGMPV3_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 22);
const ALL_ROUTERS: Ipv4Addr = Ipv4Addr::new(224, 0, 0, 2);
/// The same of MLD.
const MLDV2_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 0x16);
const ALL_ROUTERS_V6: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
/// Bytes of records that fit into a packet of 1,500 bytes.
pub(super) const RECORDS_MAX: usize = 1_400;

/// Type of a record (RFC 3376 section 4.2.12, RFC 3810 section 5.2.12).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordType {
    IsInclude = 1,
    IsExclude = 2,
    ToInclude = 3,
    ToExclude = 4,
    Allow = 5,
    Block = 6,
}

/// Bytes of a record.
pub(super) fn record_len(group: IpAddr, sources: &[IpAddr]) -> usize {
    let address = if group.is_ipv4() { 4 } else { 16 };
    4 + address * (1 + sources.len())
}

/// Adds a record, of at most as many sources as fit into a packet.
pub(super) fn put_record(records: &mut Vec<u8>, kind: RecordType, group: IpAddr, sources: &[IpAddr]) {
    records.extend([kind as u8, 0]);
    records.extend((sources.len() as u16).to_be_bytes());
    std::iter::once(&group).chain(sources).for_each(|ip| put(records, *ip));
}

fn put(bytes: &mut Vec<u8>, ip: IpAddr) {
    match ip {
        IpAddr::V4(ip) => bytes.extend(ip.octets()),
        IpAddr::V6(ip) => bytes.extend(ip.octets()),
    }
}

/// The hardware address of a group (RFC 1112 section 6.4, RFC 2464 section 7).
pub(super) fn group_mac(group: IpAddr) -> Mac {
    match group {
        IpAddr::V4(ip) => {
            let [_, b, c, d] = ip.octets();
            [0x01, 0x00, 0x5e, b & 0x7f, c, d]
        }
        IpAddr::V6(ip) => {
            let bytes = ip.octets();
            [0x33, 0x33, bytes[12], bytes[13], bytes[14], bytes[15]]
        }
    }
}

/// Sender of reports.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reporter<'v> {
    pub(super) mac: Mac,
    pub(super) vlans: &'v Vlans,
    /// Unspecified if it has none (RFC 3376 section 4.2.13).
    pub(super) ip: Ipv4Addr,
    pub(super) link_local: Ipv6Addr,
}

impl Reporter<'_> {
    fn link(&self, to: IpAddr) -> Link<'_> {
        Link { from: self.mac, to: group_mac(to), vlans: self.vlans }
    }

    /// `number` records of one family, in IGMPv3 or MLDv2.
    pub(super) fn records(&self, is_v4: bool, number: u16, records: &[u8]) -> Vec<u8> {
        let mut message = vec![if is_v4 { 0x22 } else { 143 }, 0, 0, 0, 0, 0];
        message.extend(number.to_be_bytes());
        message.extend(records);
        if is_v4 {
            self.link(IGMPV3_ROUTERS.into()).igmp(self.ip, IGMPV3_ROUTERS, &message)
        } else {
            self.link(MLDV2_ROUTERS.into()).mld(self.link_local, MLDV2_ROUTERS, &message)
        }
    }

    /// A group is joined, or left, in IGMPv2 or MLDv1.
    pub(super) fn single(&self, group: IpAddr, leaves: bool) -> Vec<u8> {
        match group {
            IpAddr::V4(group) => {
                let (kind, to) = if leaves { (0x17, ALL_ROUTERS) } else { (0x16, group) };
                let message = [&[kind, 0, 0, 0][..], &group.octets()].concat();
                self.link(to.into()).igmp(self.ip, to, &message)
            }
            IpAddr::V6(group) => {
                let (kind, to) = if leaves { (132, ALL_ROUTERS_V6) } else { (131, group) };
                let message = [&[kind, 0, 0, 0, 0, 0, 0, 0][..], &group.octets()].concat();
                self.link(to.into()).mld(self.link_local, to, &message)
            }
        }
    }
}
