//! Whole campaigns over model devices.

mod addresses;
mod stimuli;
mod world;
