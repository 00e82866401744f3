//! DPDK ports: a thin C shim and safe Rust over it
