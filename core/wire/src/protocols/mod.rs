//! One file for each protocol: where it is defined, then the header, its fields in wire order.
//!
//! To add one: its file, declared here, and its line in [`ALL`]. Building and reading know none by name, but that a frame
//! begins with Ethernet; only the signature, which must find IP packets fast, does.

pub mod arp;
pub mod ethernet;
pub mod icmp;
pub mod icmpv6;
pub mod ipv4;
pub mod ipv6;
pub mod nd_advert;
pub mod nd_solicit;
pub mod tcp;
pub mod udp;
pub mod vlan;

use crate::catalogue::Protocol;

/// Every protocol of the catalogue, from the link upwards.
pub static ALL: &[&Protocol] = &[
    &ethernet::ETHERNET,
    &vlan::VLAN,
    &arp::ARP,
    &ipv4::IPV4,
    &ipv6::IPV6,
    &icmp::ICMP,
    &icmpv6::ICMPV6,
    &nd_solicit::ND_SOLICIT,
    &nd_advert::ND_ADVERT,
    &udp::UDP,
    &tcp::TCP,
];

/// An EtherType for experiments on private networks, which stands where no header follows (IEEE 802 clause 9.2.3).
const LOCAL_EXPERIMENTAL: u128 = 0x88b5;

/// An IP protocol number for experiments, which stands where no header follows (RFC 3692, RFC 4727 section 3.2.1).
const IP_EXPERIMENTAL: u128 = 253;
