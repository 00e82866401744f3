//! Counters of a stack for the frames of a group, apart from the counters of its TCP flows.

/// One definition of all counters, from which the struct, merging, clearing and naming come.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counters of a group's frames. Sums of two cover both.
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        pub struct StackCounts {
            $($(#[$doc])* pub $name: u64,)*
        }

        impl StackCounts {
            /// Adds another group's or worker's.
            pub fn merge(&mut self, other: &Self) {
                $(self.$name += other.$name;)*
            }

            /// Forgets everything counted.
            pub fn clear(&mut self) {
                *self = Self::default();
            }

            /// Every counter with its name, in the order of this page.
            pub fn each(&self) -> impl Iterator<Item = (&'static str, u64)> {
                [$((stringify!($name), self.$name)),*].into_iter()
            }
        }
    };
}

counters! {
    /// Frames taken in, right or wrong.
    frames_in,
    /// Their bytes, without FCS.
    frame_bytes_in,
    /// Frames written.
    frames_out,
    /// Their bytes, without FCS.
    frame_bytes_out,
    /// Bad: checksum of TCP, UDP or ICMP.
    bad_checksum,
    /// Of these, frames with the value that a sender leaves to a card, but without the port's report that a card had to
    /// finish them.
    unfinished_untold,
    /// Accepted: the sender left the checksum to a card that a virtual link does not have.
    unfinished_checksum,
    /// Bad: an IP packet longer than its frame. It did not fit the port's buffer.
    bad_cut_short,
    /// Bad: UDP header with an impossible length.
    bad_datagram,
    /// Segments without a receiver: no flow, and no listener or no SYN.
    segments_to_nobody,
    /// Resets sent in reply to them (RFC 9293 section 3.10.7.1).
    resets_to_nobody,
    /// Resets not sent because too many were waiting.
    resets_dropped,
    /// Datagrams without a receiver: no flow and no listener.
    datagrams_to_nobody,
    /// Packets of unsupported protocols, or with unknown IPv6 headers.
    packets_to_nobody,
    /// ICMP errors sent in reply to the last two.
    unreachable_out,
    /// SYNs and first datagrams of flows there was no room for, and half-open flows that gave way to newer ones.
    flows_refused,
    /// UDP flows opened from here.
    udp_opened,
    /// UDP flows begun by a peer's datagram.
    udp_accepted,
    /// Datagrams received.
    datagrams_in,
    /// Their payload, bytes.
    datagram_bytes_in,
    /// Datagrams sent.
    datagrams_out,
    /// Their payload, bytes.
    datagram_bytes_out,
    /// Datagrams not sent because they are longer than an IP packet.
    datagrams_too_long,
    /// Fragments sent, of datagrams longer than the MTU.
    fragments_out,
    /// ICMP errors that belong to a flow.
    icmp_errors_in,
    /// ICMP errors about segments of a flow that are not on their way (RFC 5927).
    icmp_errors_ignored,
}
