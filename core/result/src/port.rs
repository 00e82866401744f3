//! Ports.

use crate::{Counters, PacingResult};

part! {
    /// One port.
    pub struct PortResult {
        /// Test packets sent.
        tx_packets: u64 = COUNT;
        /// Their bytes.
        tx_bytes: u64 = BYTES;
        /// Everything received.
        rx_packets: u64 = COUNT;
        /// Its bytes.
        rx_bytes: u64 = BYTES;
        /// Packets that were due and not sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        tx_unsent: Option<u64> = COUNT;
        /// Packets per second sent.
        tx_pps: f64 = PACKETS_PER_S;
        /// Packets per second received.
        rx_pps: f64 = PACKETS_PER_S;
        /// Bits per second sent, layer 1.
        tx_bps_l1: f64 = BITS_PER_S;
        /// Bits per second received, layer 1.
        rx_bps_l1: f64 = BITS_PER_S;
        /// Received, but no test packet of this run.
        rx_other: u64 = COUNT;
        /// ARP, ND and echo replies sent.
        tx_answers: u64 = COUNT;
        /// Frames received or lost in the tester that do not count as they should, by reason.
        rx_errors: Counters = COUNT.by(&[Key::RxError]);
        /// Frames the driver took and did not send, by reason.
        tx_errors: Counters = COUNT.by(&[Key::TxError]);
        /// How evenly all its paced streams left.
        #[serde(skip_serializing_if = "Option::is_none")]
        pacing_ns: Option<PacingResult> = PART;
    }
}
