//! Ports.

use crate::protocols::HostsResult;
use crate::{Counters, PacingResult, RoutingCounts};

/// The row of a port: the fields of `last` come after the parts of protocols.
macro_rules! port_row {
    (
        [$($(#[doc = $about:literal])* $key:ident: $part:ty;)*]
        $(#[doc = $row_about:literal])* pub struct PortResult { $($first:tt)* } last { $($last:tt)* }
    ) => {
        part! {
            $(#[doc = $row_about])*
            pub struct PortResult {
                $($first)*
                $(
                    $(#[doc = $about])*
                    #[serde(skip_serializing_if = "Option::is_none")]
                    $key: Option<$part> = PART;
                )*
                $($last)*
            }
        }

        impl PortResult {
            /// The parts of its protocols.
            fn protocols(&self) -> impl Iterator<Item = &dyn HostsResult> {
                let all = [$(self.$key.as_ref().map(|part| part as &dyn HostsResult)),*];
                all.into_iter().flatten()
            }
        }
    };
}

with_parts_of_protocols! { port_row! {
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
        /// Mode of an `afxdp:` or `xdp:` port, such as 'native, copy': where its XDP program runs ('native': in the
        /// driver, 'generic': in the kernel's stack), whether the kernel copies frames ('copy' or 'zero-copy'), and
        /// whether a frame may have 'several buffers'.
        #[serde(skip_serializing_if = "Option::is_none")]
        xdp_mode: Option<String> = TEXT;
        /// Test packets recorded in the kernel. Only of `xdp:` ports.
        #[serde(skip_serializing_if = "Option::is_none")]
        kernel_rx: Option<KernelRxResult> = PART;
        /// Arrival times by the kernel or the network card. Only of ports with `timestamps: kernel` or `hardware`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stamps: Option<StampsResult> = PART;
        /// ARP, ND and echo replies, and frames of pings and of control protocols of hosts sent while traffic ran.
        tx_answers: u64 = COUNT;
        /// Frames passed to the network namespace of the port's hosts. Absent if they have none.
        #[serde(skip_serializing_if = "Option::is_none")]
        rx_punted: Option<u64> = COUNT.counter("port_rx_punted_frames");
        /// Frames to that namespace that were dropped: the tester's buffer was full, or the kernel did not accept them.
        #[serde(skip_serializing_if = "Option::is_none")]
        rx_punt_dropped: Option<u64> = COUNT.counter("port_rx_punt_dropped_frames");
        /// Frames from that namespace sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        tx_punted: Option<u64> = COUNT.counter("port_tx_punted_frames");
        /// Frames from that namespace that were dropped: the tester's buffer was full, or they were too long for the
        /// port.
        #[serde(skip_serializing_if = "Option::is_none")]
        tx_punt_dropped: Option<u64> = COUNT.counter("port_tx_punt_dropped_frames");
        /// Frames received with errors, and frames lost in the tester, by reason.
        rx_errors: Counters = COUNT.by(&[Key::RxError]).counter("port_rx_errors");
        /// Frames the driver accepted but did not send, by reason.
        tx_errors: Counters = COUNT.by(&[Key::TxError]).counter("port_tx_errors");
        /// IP fragments received for the port's hosts, packets reassembled from them, and packets discarded.
        #[serde(skip_serializing_if = "Counters::is_empty")]
        fragments: Counters = COUNT.by(&[Key::PortCounter]);
        /// Frames received at session tunnel endpoints: 'received' (decapsulated), 'unknown' (other identifier),
        /// 'malformed', 'unclaimed' (no inner host), 'echoes' (GTP-U echo requests replied to).
        #[serde(skip_serializing_if = "Counters::is_empty")]
        tunnels: Counters = COUNT.by(&[Key::PortCounter]);
    }
    last {
        /// Neighbours that changed their MAC address while traffic ran, the first 64 of all ports. Frames use the new
        /// address immediately, unless the profile specifies the MAC address.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        neighbour_moves: Vec<NeighbourMoveResult> = PART.by(&[Key::Index]);
        /// Departures of all paced streams compared with the schedule.
        #[serde(skip_serializing_if = "Option::is_none")]
        pacing_ns: Option<PacingResult> = PART;
    }
} }

impl PortResult {
    /// Routes of its hosts, by protocol.
    pub fn routing(&self) -> impl Iterator<Item = RoutingCounts> {
        self.protocols().filter_map(HostsResult::routing)
    }

    /// A sentence, without its end, for each control protocol of its hosts.
    pub fn sentences(&self) -> impl Iterator<Item = String> {
        self.protocols().map(HostsResult::sentence)
    }
}

part! {
    /// A neighbour that changed its MAC address.
    pub struct NeighbourMoveResult {
        /// IP address.
        ip: String = TEXT;
        /// Old MAC address.
        from: String = TEXT;
        /// New MAC address.
        to: String = TEXT;
        /// When the tester learned of it, s since traffic started.
        at_s: f64 = SECONDS;
        /// Whether the tester had to send a request. False if the neighbour announced the move, or revealed it in its
        /// own request or reply.
        asked: bool = FLAG;
        /// Time from sending the last packet that arrived through the old address until packets were sent to the new
        /// one. Absent if no packet was lost, or if it is unknown.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        took_s: Option<f64> = SECONDS;
        /// Packets of measured streams that went to the old address and were lost. Absent if no measured stream uses the neighbour.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        lost: Option<u64> = COUNT;
    }
}

part! {
    /// Test packets that a program in the kernel recorded and dropped: their frames did not reach the tester.
    pub struct KernelRxResult {
        /// Packets recorded. All others reached the tester as frames.
        packets: u64 = COUNT;
        /// Largest error of their arrival times on the tester's clock. Absent without packets.
        #[serde(skip_serializing_if = "Option::is_none")]
        clock_error_max_ns: Option<u64> = NANOS;
        /// Why test packets reached the tester as frames. Absent if the kernel records them.
        #[serde(skip_serializing_if = "Option::is_none")]
        off: Option<String> = TEXT;
    }
}

part! {
    /// Arrival times of frames that did not come from the worker that took them in.
    pub struct StampsResult {
        /// Their source: 'kernel' or 'hardware'.
        by: String = TEXT;
        /// Frames with such a time. All others count as arrived when a worker took them in.
        packets: u64 = COUNT;
        /// Largest error of these times on the tester's clock. Absent without packets.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        clock_error_max_ns: Option<u64> = NANOS;
    }
}
