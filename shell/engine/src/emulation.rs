//! What hosts behind ports do by themselves: DHCP clients get, keep and release their addresses, members join and leave groups, BGP
//! speakers have sessions and advertise routes, LLDP agents say who is here, ports of lags find their partners.

mod bgp;
mod commands;
mod dhcp6;
mod failure;
mod hosts;
mod lacp;
mod lldp;
mod report;
mod times;

pub(crate) use hosts::{Emulation, send};
