//! Ports.

use crate::{Counters, PacingResult};

part! {
    /// One port.
    pub struct PortResult {
        /// Test packets sent.
        tx_packets: u64 = COUNT;
        /// Bytes of test packets sent.
        tx_bytes: u64 = BYTES;
        /// Packets received, of any kind.
        rx_packets: u64 = COUNT;
        /// Bytes received, of any kind.
        rx_bytes: u64 = BYTES;
        /// Packets due but not sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        tx_unsent: Option<u64> = COUNT;
        /// Packets per second sent.
        tx_pps: f64 = PACKETS_PER_S;
        /// Packets per second received.
        rx_pps: f64 = PACKETS_PER_S;
        /// Layer-1 bits per second sent.
        tx_bps_l1: f64 = BITS_PER_S;
        /// Layer-1 bits per second received.
        rx_bps_l1: f64 = BITS_PER_S;
        /// Packets received that are not test packets of this run.
        rx_other: u64 = COUNT;
        /// ARP, ND and echo replies and frames of pings sent.
        tx_answers: u64 = COUNT;
        /// Frames received with errors, and frames lost in the tester, by reason.
        rx_errors: Counters = COUNT.by(&[Key::RxError]);
        /// Frames the driver accepted but did not send, by reason.
        tx_errors: Counters = COUNT.by(&[Key::TxError]);
        /// Departures of all paced streams compared with the schedule.
        #[serde(skip_serializing_if = "Option::is_none")]
        pacing_ns: Option<PacingResult> = PART;
    }
}
