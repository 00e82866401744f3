//! Autonomous protocols of hosts behind ports: DHCP clients get, keep and release their addresses, PPPoE clients their
//! sessions, members join and leave groups, BGP speakers have sessions and advertise routes, OSPF and IS-IS routers
//! have adjacencies and do the same, LLDP agents advertise themselves, LAG members find their partners.

mod bgp;
mod commands;
mod dhcp6;
mod failure;
mod hosts;
mod isis;
mod lacp;
mod lldp;
mod ospf;
mod pppoe;
mod ready;
mod report;
mod times;

pub(crate) use hosts::Emulation;
