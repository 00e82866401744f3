//! Which stream sends at which instant
