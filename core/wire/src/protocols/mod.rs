//! One file for each protocol.

use crate::catalogue::Protocol;

/// Every protocol of the catalogue.
pub static ALL: &[&Protocol] = &[];
