//! One file for each protocol and its parts: where it is defined, then the headers, their fields in wire order.
//!
//! To add one: its file, declared here, and its line in [`ALL`]; `docs/adding-a-protocol.md` shows how.
//! Building and reading know none by name, but that a frame begins with Ethernet; only the signature, which must find IP
//! packets fast, does.

pub mod arp;
pub mod bfd;
pub mod bytes;
pub mod dns;
pub mod erspan;
pub mod ethernet;
pub mod geneve;
pub mod gre;
pub mod gtpu;
pub mod icmp;
pub mod icmp_errors;
pub mod icmpv6;
pub mod igmp;
pub mod ipsec;
pub mod ipv4;
pub mod ipv4_options;
pub mod ipv6;
pub mod ipv6_extensions;
pub mod l2tp;
pub mod lacp;
pub mod llc;
pub mod lldp;
pub mod mac_control;
pub mod mld;
pub mod mpls;
pub mod nd_advert;
pub mod nd_router;
pub mod nd_solicit;
pub mod ppp;
pub mod ptp;
pub mod sctp;
pub mod tcp;
pub mod tcp_options;
pub mod udp;
pub mod vlan;
pub mod vxlan;

use crate::catalogue::Protocol;

/// Every protocol of the catalogue, from the link upwards.
pub static ALL: &[&Protocol] = &[
    &ethernet::ETHERNET,
    &vlan::VLAN,
    &llc::LLC,
    &llc::SNAP,
    &mpls::MPLS,
    &mpls::MPLS_CONTROL_WORD,
    &mac_control::PAUSE,
    &mac_control::PFC,
    &lacp::LACP,
    &lldp::LLDP,
    &lldp::LLDP_PORT_ID,
    &lldp::LLDP_TTL,
    &lldp::LLDP_PORT_DESCRIPTION,
    &lldp::LLDP_SYSTEM_NAME,
    &lldp::LLDP_SYSTEM_DESCRIPTION,
    &lldp::LLDP_CAPABILITIES,
    &lldp::LLDP_ORGANIZATION,
    &lldp::LLDP_END,
    &lldp::LLDP_TLV,
    &ppp::PPPOE_DISCOVERY,
    &ppp::PPPOE_SERVICE_NAME,
    &ppp::PPPOE_TAG,
    &ppp::PPPOE,
    &ppp::PPP,
    &arp::ARP,
    &ipv4::IPV4,
    &ipv4_options::IPV4_NOP,
    &ipv4_options::IPV4_ROUTER_ALERT,
    &ipv4_options::IPV4_RECORD_ROUTE,
    &ipv4_options::IPV4_TIMESTAMP,
    &ipv4_options::IPV4_OPTION,
    &ipv6::IPV6,
    &ipv6_extensions::IPV6_HOP_BY_HOP,
    &ipv6_extensions::IPV6_DESTINATION,
    &ipv6_extensions::IPV6_ROUTER_ALERT,
    &ipv6_extensions::IPV6_TUNNEL_LIMIT,
    &ipv6_extensions::IPV6_PADN,
    &ipv6_extensions::IPV6_OPTION,
    &ipv6_extensions::IPV6_FRAGMENT,
    &ipv6_extensions::SRH,
    &ipv6_extensions::SRH_SEGMENT,
    &ipv6_extensions::SRH_TLV,
    &ipv6_extensions::IPV6_ROUTING,
    &ipsec::AH,
    &ipsec::ESP,
    &icmp::ICMP,
    &icmp_errors::ICMP_UNREACHABLE,
    &icmp_errors::ICMP_REDIRECT,
    &icmp_errors::ICMP_TIME_EXCEEDED,
    &igmp::IGMPV3_QUERY,
    &igmp::IGMPV3_REPORT,
    &igmp::IGMPV3_RECORD,
    &igmp::IGMP_SOURCE,
    &igmp::IGMP,
    &icmpv6::ICMPV6,
    &icmp_errors::ICMPV6_UNREACHABLE,
    &icmp_errors::ICMPV6_PACKET_TOO_BIG,
    &icmp_errors::ICMPV6_TIME_EXCEEDED,
    &nd_solicit::ND_SOLICIT,
    &nd_advert::ND_ADVERT,
    &nd_router::ND_ROUTER_SOLICIT,
    &nd_router::ND_ROUTER_ADVERT,
    &nd_router::ND_SOURCE_LLADDR,
    &nd_router::ND_PREFIX,
    &nd_router::ND_MTU,
    &nd_router::ND_OPTION,
    &mld::MLDV2_QUERY,
    &mld::MLD,
    &mld::MLDV2_REPORT,
    &mld::MLDV2_RECORD,
    &mld::MLD_SOURCE,
    &udp::UDP,
    &tcp::TCP,
    &tcp_options::TCP_NOP,
    &tcp_options::TCP_MSS,
    &tcp_options::TCP_WSCALE,
    &tcp_options::TCP_SACK_PERMITTED,
    &tcp_options::TCP_SACK,
    &tcp_options::TCP_SACK_BLOCK,
    &tcp_options::TCP_TIMESTAMPS,
    &tcp_options::TCP_FAST_OPEN,
    &tcp_options::TCP_OPTION,
    &sctp::SCTP,
    &sctp::SCTP_DATA,
    &sctp::SCTP_INIT,
    &gre::GRE,
    &gre::GRE_CHECKSUM,
    &gre::GRE_KEY,
    &gre::NVGRE,
    &gre::GRE_SEQUENCE,
    &erspan::ERSPAN2,
    &erspan::ERSPAN3,
    &vxlan::VXLAN,
    &vxlan::VXLAN_GPE,
    &geneve::GENEVE,
    &geneve::GENEVE_OPTION,
    &gtpu::GTPU,
    &gtpu::GTPU_OPTIONS,
    &gtpu::GTPU_PDU_SESSION,
    &l2tp::L2TP,
    &l2tp::L2TPV3,
    &ptp::PTP,
    &bfd::BFD,
    &dns::DNS,
    &dns::DNS_QUESTION,
    &dns::DNS_A,
    &dns::DNS_AAAA,
    &dns::DNS_RECORD,
    &bytes::BYTES,
];

/// An EtherType for experiments on private networks, used where no header follows (IEEE 802 clause 9.2.3).
const LOCAL_EXPERIMENTAL: u128 = 0x88b5;

/// An IP protocol number for experiments, used where no header follows (RFC 3692, RFC 4727 section 3.2.1).
const IP_EXPERIMENTAL: u128 = 253;
