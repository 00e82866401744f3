//! Tasks of control besides the workers: takes commands, sets rates, switches captures, sends pings, follows
//! neighbours.

pub(crate) mod captures;
pub(crate) mod commands;
pub(crate) mod neighbours;
pub(crate) mod pings;
mod rates;
