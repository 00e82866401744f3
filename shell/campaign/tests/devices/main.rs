//! Whole campaigns over model devices.

mod addresses;
mod balancer;
mod nat;
mod stimuli;
mod world;
