//! Whole campaigns over model devices.

mod addresses;
mod nat;
mod stimuli;
mod world;
