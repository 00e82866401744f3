//! What hosts behind ports do by themselves: DHCP clients get, keep and release their addresses, members join and leave groups, BGP speakers have sessions and advertise routes, LLDP agents say who is here.

mod bgp;
mod commands;
mod failure;
mod hosts;
mod lldp;
mod report;

pub(crate) use hosts::{Emulation, send};
