//! Streams that join a running trial, as one worker gets them.

use super::arrivals::Expected;
use super::transmit::TxLoad;
use crate::trial::hosts::EmulatedHosts;
use std::sync::Arc;

/// Streams that a running worker is to send as well, and what all there are now are like where they arrive.
pub(crate) struct Addition {
    /// By port.
    pub(crate) loads: Vec<(usize, TxLoad)>,
    pub(crate) hosts: Arc<EmulatedHosts>,
    pub(crate) expected: Arc<[Expected]>,
    pub(crate) marks: Arc<[u32]>,
    /// Bytes of the longest frame with FCS.
    pub(crate) longest: u32,
    /// Whether the worker may sleep, if it could before.
    pub(crate) lets_rest: bool,
}
