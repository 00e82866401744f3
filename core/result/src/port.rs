//! Ports.

use crate::{Counters, PacingResult};

part! {
    /// One port.
    pub struct PortResult {
        /// Test packets sent.
        tx_packets: u64 = COUNT.counter("port_tx_packets");
        /// Bytes of test packets sent.
        tx_bytes: u64 = BYTES.counter("port_tx_bytes");
        /// Packets received, of any kind.
        rx_packets: u64 = COUNT.counter("port_rx_packets");
        /// Bytes received, of any kind.
        rx_bytes: u64 = BYTES.counter("port_rx_bytes");
        /// Packets due but not sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        tx_unsent: Option<u64> = COUNT.counter("port_tx_unsent_packets");
        /// Packets per second sent.
        tx_pps: f64 = PACKETS_PER_S;
        /// Packets per second received.
        rx_pps: f64 = PACKETS_PER_S;
        /// Layer-1 bits per second sent.
        tx_bps_l1: f64 = BITS_PER_S;
        /// Layer-1 bits per second received.
        rx_bps_l1: f64 = BITS_PER_S;
        /// Packets received that are not test packets of this run.
        rx_other: u64 = COUNT.counter("port_rx_other_packets");
        /// ARP, ND and echo replies and frames of pings sent.
        tx_answers: u64 = COUNT;
        /// Frames received with errors, and frames lost in the tester, by reason.
        rx_errors: Counters = COUNT.by(&[Key::RxError]).counter("port_rx_errors");
        /// Frames the driver accepted but did not send, by reason.
        tx_errors: Counters = COUNT.by(&[Key::TxError]).counter("port_tx_errors");
        /// IP fragments received for the port's hosts, packets reassembled from them, and packets given up.
        #[serde(skip_serializing_if = "Counters::is_empty")]
        fragments: Counters = COUNT.by(&[Key::FrameCounter]);
        /// Departures of all paced streams compared with the schedule.
        #[serde(skip_serializing_if = "Option::is_none")]
        pacing_ns: Option<PacingResult> = PART;
    }
}
