//! Autonomous protocols of hosts behind ports: DHCP clients get, keep and release their addresses, PPPoE clients their
//! sessions, members join and leave groups, BGP speakers have sessions and advertise routes, OSPF and IS-IS routers
//! have adjacencies and do the same, LLDP agents advertise themselves, LAG members find their partners, virtual
//! routers elect the Active one.

#[macro_use]
mod protocol;
#[macro_use]
mod linkstate;
mod bgp;
mod commands;
mod dhcp;
mod dhcp6;
mod groups;
mod hosts;
mod isis;
mod lacp;
mod list;
mod lldp;
mod ospf;
mod pppoe;
mod ready;
mod report;
mod times;
mod vrrp;

pub(crate) use hosts::Emulation;
pub(crate) use list::wanted;
pub(crate) use protocol::Wanted;
