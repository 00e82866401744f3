//! Autonomous control protocols of hosts behind ports: clients get, keep and release their addresses, speakers and routers
//! establish sessions and adjacencies and advertise routes, members join and leave groups. `protocols` has all of them.

#[macro_use]
mod protocol;
mod clients;
mod commands;
mod hosts;
mod linkstate;
mod protocols;
mod ready;
mod report;
mod times;

pub(crate) use hosts::Emulation;
pub(crate) use protocol::Wanted;
pub(crate) use protocols::{absences, wanted};
pub(crate) use ready::NOT_ACKNOWLEDGED;
