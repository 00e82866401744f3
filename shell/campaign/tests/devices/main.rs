//! Whole campaigns over model devices.

#![allow(clippy::print_stdout)]

mod addresses;
mod balancer;
mod nat;
mod sessions;
mod stimuli;
mod world;
