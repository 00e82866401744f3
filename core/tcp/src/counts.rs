//! Counters of a group's flows.

use crate::segment::Malformed;
use histogram::Timing;

/// One definition of all counters, from which the struct, merging, clearing and naming come.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters and durations of a group's flows. Sums of two cover both.
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        pub struct TcpCounts {
            $($(#[$doc])* pub $name: u64,)*
            /// Round-trip times of segments sent once (RFC 6298: Karn), ns.
            pub rtt: Timing,
            /// From the first SYN to established, of flows opened from here, ns.
            pub setup: Timing,
            /// The largest IP packet received with a segment of a flow, bytes. Of two, the larger.
            pub packet_max: u64,
        }

        impl TcpCounts {
            /// Adds another group's or worker's.
            pub fn merge(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
                self.rtt.merge(&other.rtt);
                self.setup.merge(&other.setup);
                self.packet_max = self.packet_max.max(other.packet_max);
            }

            /// Forgets everything counted.
            pub fn clear(&mut self) {
                $(self.$name = 0;)*
                self.rtt.clear();
                self.setup.clear();
                self.packet_max = 0;
            }

            /// Every counter with its name, in the order of this page.
            pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),*].into_iter()
            }
        }
    };
}

counters! {
    /// Flows begun from here.
    opened_active,
    /// Flows begun by a peer's SYN.
    opened_passive,
    /// Flows that became established.
    established,
    /// Segments received and read.
    segments_in,
    /// Segments sent, all kinds.
    segments_out,
    /// Payload handed on in order, each byte once.
    bytes_in,
    /// Payload sent for the first time.
    bytes_out,
    /// Payload acknowledged.
    bytes_acknowledged,
    /// Payload sent again.
    bytes_retransmitted,
    /// Data segments sent again after a time-out.
    retransmitted_timeout,
    /// Data segments sent again by fast retransmit and recovery (RFC 6675, RFC 6582).
    retransmitted_fast,
    /// Data segments sent again for another reason: rescue (RFC 6675), path MTU.
    retransmitted_other,
    /// SYN and SYN-ACK segments sent again.
    retransmitted_syn,
    /// FIN segments without data sent again.
    retransmitted_fin,
    /// Time-outs of data or a FIN.
    timeouts,
    /// Times segments were made shorter because full ones timed out again and again (RFC 4821 section 7.7).
    black_holes,
    /// Times fast recovery began.
    fast_recoveries,
    /// Tail loss probes sent because no acknowledgement arrived (RFC 8985 section 7).
    tail_probes,
    /// Times the peer reported that something came twice (RFC 2883).
    duplicates_reported,
    /// Times a repair was undone because the peer had got everything (RFC 2883, RFC 3708): the window is as before.
    spurious_repairs,
    /// Data segments received ahead of a gap.
    out_of_order,
    /// Data segments received that held nothing new.
    duplicates,
    /// Acknowledgements received that repeat the one before (RFC 5681).
    duplicate_acks,
    /// Acknowledgements sent at once because of a gap, a duplicate or a segment out of the window.
    immediate_acks,
    /// Segments that announced a window of zero, sent; counted when the window closes.
    zero_windows_sent,
    /// Segments that announced a window of zero, received; counted when the window closes.
    zero_windows_received,
    /// Window probes sent.
    window_probes,
    /// Keep-alive segments sent.
    keep_alives,
    /// Challenge ACKs sent (RFC 5961).
    challenge_acks,
    /// Challenge ACKs not sent because of the limit (RFC 5961 section 7).
    challenge_acks_suppressed,
    /// Resets sent.
    resets_out,
    /// Resets received and obeyed.
    resets_in,
    /// Segments received with an ECN mark (CE).
    congestion_experienced,
    /// Acknowledgements received with ECE set, on flows with ECN.
    ecn_echoes,
    /// Times the window was reduced because of ECN.
    ecn_reductions,
    /// Bad: shorter than a header.
    bad_short,
    /// Bad: header length out of range.
    bad_header_length,
    /// Bad: an option with an impossible length.
    bad_option,
    /// Bad: out of the receive window.
    bad_sequence,
    /// Bad: acknowledges what was not sent, or what is older than a window.
    bad_ack,
    /// Bad: an old timestamp (RFC 7323 section 5: PAWS).
    bad_timestamp,
    /// Bad: no timestamp though both sides agreed on them (RFC 7323 section 3.2).
    bad_no_timestamp,
    /// Bad: a reset or a SYN in the window, but not at its beginning (RFC 5961).
    bad_reset_or_syn,
    /// Bad: flags that make no sense in the flow's state.
    bad_flags,
}

impl TcpCounts {
    /// Nothing counted.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts bytes that were no segment.
    pub fn malformed(&mut self, why: Malformed) {
        match why {
            Malformed::Short => self.bad_short += 1,
            Malformed::HeaderLength => self.bad_header_length += 1,
            Malformed::Option => self.bad_option += 1,
        }
    }

    /// All segments sent again.
    pub fn retransmitted(&self) -> u64 {
        self.retransmitted_timeout
            + self.retransmitted_fast
            + self.retransmitted_other
            + self.retransmitted_syn
            + self.retransmitted_fin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_forgets() {
        let mut a = TcpCounts { segments_in: 1, retransmitted_syn: 2, ..TcpCounts::new() };
        a.rtt.record(10);
        a.malformed(Malformed::Option);
        let mut b = a.clone();
        b.rtt.record(5);
        a.merge(&b);
        assert_eq!((a.segments_in, a.retransmitted(), a.bad_option), (2, 4, 2));
        assert_eq!((a.rtt.samples(), a.rtt.sum(), a.rtt.min, a.rtt.max), (3, 25, 5, 10));
        assert!(a.each().any(|(name, value)| (name, value) == ("retransmitted_syn", 4)));
        a.clear();
        assert_eq!(a, TcpCounts::new());
    }
}
