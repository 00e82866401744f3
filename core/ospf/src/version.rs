//! Differences of OSPFv2 (RFC 2328) and OSPFv3 (RFC 5340) in lengths, groups and options.
//!
//! Not here: packets (`packet`), LSAs (`lsa`, `lsa3`).

use crate::lsa::OPTION_EXTERNAL;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Options of OSPFv3 (RFC 5340 appendix A.2): the router takes part in IPv6 routing, and forwards.
const OPTION_V6: u32 = 0x01;
const OPTION_ROUTER: u32 = 0x10;

/// The version of a router.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Version {
    /// OSPFv2, for IPv4 (RFC 2328).
    #[default]
    V2,
    /// OSPFv3, for IPv6 (RFC 5340).
    V3,
}

impl Version {
    /// Its number in packets.
    pub fn number(self) -> u8 {
        match self {
            Self::V2 => 2,
            Self::V3 => 3,
        }
    }

    /// All OSPF routers of a link (RFC 2328 appendix A.1, RFC 5340 appendix A.1).
    pub(crate) fn all_routers(self) -> IpAddr {
        match self {
            Self::V2 => Ipv4Addr::new(224, 0, 0, 5).into(),
            Self::V3 => Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 5).into(),
        }
    }

    /// All that are designated.
    pub(crate) fn all_designated(self) -> IpAddr {
        match self {
            Self::V2 => Ipv4Addr::new(224, 0, 0, 6).into(),
            Self::V3 => Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 6).into(),
        }
    }

    /// Bytes of the header of IP.
    pub(crate) fn ip_header(self) -> usize {
        match self {
            Self::V2 => 20,
            Self::V3 => 40,
        }
    }

    /// Bytes of a packet's header.
    pub(crate) fn header(self) -> usize {
        match self {
            Self::V2 => 24,
            Self::V3 => 16,
        }
    }

    /// Bytes of a description's body without headers of LSAs.
    pub(crate) fn description(self) -> usize {
        match self {
            Self::V2 => 8,
            Self::V3 => 12,
        }
    }

    /// Bytes for the body of a packet in an IP packet of `mtu` bytes. No link has a lower MTU than IP requires.
    pub(crate) fn room(self, mtu: u16) -> usize {
        let least = match self {
            Self::V2 => 576,
            Self::V3 => 1_280,
        };
        usize::from(mtu.max(least)) - self.ip_header() - self.header()
    }

    /// Options of routers here.
    pub(crate) fn options(self) -> u32 {
        match self {
            Self::V2 => OPTION_EXTERNAL.into(),
            Self::V3 => OPTION_V6 | u32::from(OPTION_EXTERNAL) | OPTION_ROUTER,
        }
    }
}
