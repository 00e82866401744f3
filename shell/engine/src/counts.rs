//! What workers count, and how it is added up.

pub(crate) mod interval;
pub(crate) mod sessions;
