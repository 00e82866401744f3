//! Streams, and the distributions that streams, ports and sessions share.

use crate::{Counters, Named};
use std::borrow::Cow;
use units::quantity;

/// Stream numbers available for packets counted by a mark.
pub const BY_MARK: [&str; 4] = ["rx", "rx_bytes", "lost", "loss_ratio"];

/// Stream numbers available for packets whose payloads are compared: these, and all below them.
pub const DAMAGE: [&str; 2] = ["damaged", "damage"];

// A run can have a million rows of these: parts that few streams have are boxed.
part! {
    /// One stream.
    pub struct StreamResult {
        /// Packets per second requested; absent for `max`.
        #[serde(skip_serializing_if = "Option::is_none")]
        requested_pps: Option<f64> = PACKETS_PER_S;
        /// When it was added to the running trial, s since traffic started; absent for streams of the profile. Rates count
        /// from then on.
        #[serde(skip_serializing_if = "Option::is_none")]
        added_s: Option<f64> = SECONDS;
        /// When it was removed from the running trial, s since traffic started.
        #[serde(skip_serializing_if = "Option::is_none")]
        removed_s: Option<f64> = SECONDS;
        /// Packets sent before counters were set to zero; absent if they were not. They are in no other number.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tx_before_clear: Option<u64> = COUNT;
        /// Packets sent before counters were set to zero that arrived later; absent if they were not, and of packets
        /// counted by a mark, which carry no time. They are in no other number of the stream; ports count them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rx_before_clear: Option<u64> = COUNT.measured();
        /// Packets per second sent.
        offered_pps: f64 = PACKETS_PER_S;
        /// Packets sent.
        tx: u64 = COUNT.counter("stream_tx_packets");
        /// Bytes sent, with FCS.
        tx_bytes: u64 = BYTES;
        /// Packets received, without duplicates; packets counted by a mark include duplicates.
        #[serde(skip_serializing_if = "Option::is_none")]
        rx: Option<u64> = COUNT.measured().counter("stream_rx_packets");
        /// Bytes received, with FCS.
        #[serde(skip_serializing_if = "Option::is_none")]
        rx_bytes: Option<u64> = BYTES.measured();
        /// Packets sent and not received. For packets counted by a mark, a lower bound, as duplicates count as
        /// received; absent if more were received than sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        lost: Option<u64> = COUNT.measured().gauge("stream_lost_packets");
        /// `lost` / `tx`.
        #[serde(skip_serializing_if = "Option::is_none")]
        loss_ratio: Option<f64> = RATIO.measured();
        /// Duplicates received.
        #[serde(skip_serializing_if = "Option::is_none")]
        duplicates: Option<u64> = COUNT.measured().counter("stream_duplicate_packets");
        /// Packets received after one sent later (RFC 4737).
        #[serde(skip_serializing_if = "Option::is_none")]
        reordered: Option<u64> = COUNT.measured().counter("stream_reordered_packets");
        /// Largest distance of a reordered packet, in packets of its stream.
        #[serde(skip_serializing_if = "Option::is_none")]
        reorder_distance_max: Option<u64> = COUNT.measured();
        /// Packets too late to be distinguished from duplicates; counted as lost.
        #[serde(skip_serializing_if = "Option::is_none")]
        stale: Option<u64> = COUNT.measured();
        /// Packets with a sequence number far ahead that no later packet confirmed; not counted as received.
        #[serde(skip_serializing_if = "Option::is_none")]
        rejected: Option<u64> = COUNT.measured();
        /// Scope of the comparison of received packets: `signature`, its 18 bytes; `full`, also the rest of the
        /// payload.
        #[serde(skip_serializing_if = "Option::is_none")]
        integrity: Option<Cow<'static, str>> = TEXT;
        /// Packets received damaged, duplicates included; of streams with `integrity: full`. They are not lost.
        #[serde(skip_serializing_if = "Option::is_none")]
        damaged: Option<u64> = COUNT.measured().counter("stream_damaged_packets");
        /// Kinds of damage.
        #[serde(skip_serializing_if = "Option::is_none")]
        damage: Option<Box<DamageResult>> = PART.measured();
        /// One-way delay.
        #[serde(skip_serializing_if = "Option::is_none")]
        latency_ns: Option<LatencyResult> = PART.measured().gauge("stream_latency_seconds");
        /// Uncertainty of `latency_ns` if sender and receiver have clocks of two processes: each value is that close to the
        /// true one, and below it only the sum of both is a bound. Absent in a run on one machine.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        latency_uncertainty_ns: Option<u64> = NANOS.measured();
        /// How the clocks of its sender and its receiver were compared: `shared`, if both are one; `exchange`, by times of messages
        /// there and back; `kernel`, by their time daemons; `packets`, by the shortest delays of test packets both ways, by
        /// which `latency_ns` is corrected. Absent in a run on one machine.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        latency_clock: Option<Cow<'static, str>> = TEXT;
        /// Variation of the delay from packet to packet.
        #[serde(skip_serializing_if = "Option::is_none")]
        jitter_ns: Option<JitterResult> = PART.measured();
        /// Time between arrivals.
        #[serde(skip_serializing_if = "Option::is_none")]
        interarrival_ns: Option<SpreadResult> = PART.measured();
        /// Times of undisturbed packets, not affected by a pause of the tester; absent if no packet was affected.
        #[serde(skip_serializing_if = "Option::is_none")]
        undisturbed: Option<Box<UndisturbedResult>> = PART.measured();
        /// Arrival of the first packet, ns since traffic started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_arrival_ns: Option<u64> = NANOS.measured();
        /// Arrival of the last packet, ns since traffic started.
        #[serde(skip_serializing_if = "Option::is_none")]
        last_arrival_ns: Option<u64> = NANOS.measured();
        /// Arrivals by port, of a stream that may arrive at several (`also_to`).
        #[serde(default, skip_serializing_if = "Named::is_empty")]
        paths: Named<PathResult> = PART.by(&[Key::Port]);
        /// Outages of a stream with `outages`; absent if another sender sends it.
        #[serde(skip_serializing_if = "Option::is_none")]
        outages: Option<Box<OutagesResult>> = PART.measured();
        /// Arrivals by the value of the bits under `egress`, as decimal numbers in the order of the profile: `46`, or
        /// `46,5` for two fields; `short` counts frames that end before these bits. Values that did not occur are
        /// absent.
        #[serde(default, skip_serializing_if = "Named::is_empty")]
        egress: Named<EgressResult> = PART.by(&[Key::Egress]);
        /// Departures compared with the schedule.
        #[serde(skip_serializing_if = "Option::is_none")]
        pacing_ns: Option<Box<PacingResult>> = PART;
        /// Packets of the capture of a stream with `replay` that were not sent unmodified; absent if all were. Both
        /// directions of a capture have the same counts.
        #[serde(skip_serializing_if = "Option::is_none")]
        replay: Option<Box<ReplayResult>> = PART;
    }
}

part! {
    /// Packets of a capture file that are not sent, or not unmodified. All counts are for one pass through the file.
    pub struct ReplayResult {
        /// Packets in the file.
        packets: u64 = COUNT;
        /// Packets that can't be sent as Ethernet frames and are left out.
        unsendable: u64 = COUNT;
        /// Packets that are too long and left out.
        too_long: u64 = COUNT;
        /// Packets truncated to the maximum length, including packets whose end was not captured.
        cut: u64 = COUNT;
        /// Packets cut into TCP segments.
        segmented: u64 = COUNT;
        /// Packets cut into IP fragments.
        fragmented: u64 = COUNT;
        /// Segments and fragments that these became.
        pieces: u64 = COUNT;
        /// Packets with an IP length of 0, which is filled in.
        lengths_filled: u64 = COUNT;
        /// Wrong checksums of whole packets, including those left to a network card by offload.
        checksums_wrong: u64 = COUNT;
        /// Of these, checksums that are corrected.
        checksums_repaired: u64 = COUNT;
        /// Pauses that are shortened.
        pauses_shortened: u64 = COUNT;
    }
}

part! {
    /// Times of packets not affected by a pause of the tester: none was due, sent, in flight or waiting to be received
    /// during one.
    pub struct UndisturbedResult {
        /// Share of the packets received.
        ratio: f64 = RATIO;
        /// One-way delay.
        #[serde(skip_serializing_if = "Option::is_none")]
        latency_ns: Option<LatencyResult> = PART;
        /// Variation of the delay from packet to packet.
        #[serde(skip_serializing_if = "Option::is_none")]
        jitter_ns: Option<JitterResult> = PART;
        /// Time between arrivals.
        #[serde(skip_serializing_if = "Option::is_none")]
        interarrival_ns: Option<SpreadResult> = PART;
    }
}

part! {
    /// Arrivals of a stream at one port.
    pub struct PathResult {
        /// Packets received there, duplicates included.
        rx: u64 = COUNT;
        /// Arrival of the first of them, ns since traffic started.
        first_arrival_ns: u64 = NANOS;
        /// Arrival of the last of them, ns since traffic started.
        last_arrival_ns: u64 = NANOS;
        /// Departure of the first of them to leave, ns since traffic started.
        first_departure_ns: u64 = NANOS;
        /// Departure of the last of them to leave, ns since traffic started.
        last_departure_ns: u64 = NANOS;
    }
}

part! {
    /// Outages of a stream: times in which the share of its packets that arrived was below a threshold. A packet counts at the
    /// time when it was sent.
    pub struct OutagesResult {
        /// Sampling interval, to which the share of packets refers. 1 ms, or as long as it takes to send 20 packets.
        interval_ns: u64 = NANOS;
        /// Outages.
        count: u64 = COUNT.counter("stream_outages");
        /// Total duration; an outage in progress counts until now.
        total_ns: u64 = NANOS;
        /// Duration of the longest outage.
        longest_ns: u64 = NANOS;
        /// The last 100 outages.
        last: Vec<OutageResult> = PART.by(&[Key::Index]);
    }
}

part! {
    /// An outage. If it began or ended within a sampling interval, the exact time is interpolated from the share of
    /// packets received in it.
    pub struct OutageResult {
        /// Start, ns since traffic started.
        from_ns: u64 = NANOS;
        /// End, ns since traffic started; absent while it lasts.
        #[serde(skip_serializing_if = "Option::is_none")]
        until_ns: Option<u64> = NANOS.measured();
        /// Packets sent in that time and not received.
        lost: u64 = COUNT;
    }
}

part! {
    /// Kinds of damage in a stream's packets.
    pub struct DamageResult {
        /// Packets by what was wrong. `single_bit`: one bit. `burst`: several bits within 32. `scattered`: bits further apart.
        /// `shifted`: a part of the payload at another place in it. `other_packet`: payload of another packet of the run.
        /// `truncated`: a part is missing. `signature`: several bits of the signature, so that no latency is known.
        kinds: Counters = COUNT.by(&[Key::Damage]);
        /// Wrong bits of packets with `single_bit`, `burst` or `scattered`.
        bit_errors: u64 = COUNT;
        /// Position of these bits in the payload. Places without wrong bits are absent.
        places: Vec<DamagedPlace> = PART.by(&[Key::Index]);
    }
}

part! {
    /// A part of the payload.
    pub struct DamagedPlace {
        /// First byte; 0 is the first byte after the headers.
        from_byte: u64 = BYTES;
        /// Last byte. The signature is at the payload's end.
        to_byte: u64 = BYTES;
        /// Wrong bits in this part.
        bit_errors: u64 = COUNT;
    }
}

part! {
    /// Arrivals of a stream with one value.
    pub struct EgressResult {
        /// Packets received, duplicates included.
        rx: u64 = COUNT;
        /// Bytes received, with FCS.
        rx_bytes: u64 = BYTES;
        /// Arrival of the first of them, ns since traffic started.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_arrival_ns: Option<u64> = NANOS;
        /// Arrival of the last of them, ns since traffic started.
        #[serde(skip_serializing_if = "Option::is_none")]
        last_arrival_ns: Option<u64> = NANOS;
        /// One-way delay.
        #[serde(skip_serializing_if = "Option::is_none")]
        latency_ns: Option<LatencyResult> = PART;
    }
}

part! {
    /// A distribution of times, ns. Percentiles are absent without a histogram.
    pub struct LatencyResult {
        /// Minimum.
        min: u64 = NANOS;
        /// Mean.
        mean: f64 = NANOS;
        /// Standard deviation.
        stddev: f64 = NANOS;
        /// Median.
        #[serde(skip_serializing_if = "Option::is_none")]
        p50: Option<u64> = NANOS;
        /// 90th percentile.
        #[serde(skip_serializing_if = "Option::is_none")]
        p90: Option<u64> = NANOS;
        /// 95th percentile.
        #[serde(skip_serializing_if = "Option::is_none")]
        p95: Option<u64> = NANOS;
        /// 99th percentile.
        #[serde(skip_serializing_if = "Option::is_none")]
        p99: Option<u64> = NANOS;
        /// 99.9th percentile.
        #[serde(skip_serializing_if = "Option::is_none")]
        p99_9: Option<u64> = NANOS;
        /// 99.99th percentile.
        #[serde(skip_serializing_if = "Option::is_none")]
        p99_99: Option<u64> = NANOS;
        /// Maximum.
        max: u64 = NANOS;
        /// Number of samples.
        samples: u64 = COUNT;
    }
}

impl LatencyResult {
    /// Its median and 99th percentile as text; `-` where there is none.
    pub(crate) fn median_and_p99(of: Option<&Self>) -> (String, String) {
        let text = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), |ns| quantity(ns as f64, "ns"));
        (text(of.and_then(|times| times.p50)), text(of.and_then(|times| times.p99)))
    }
}

part! {
    /// Variation of the delay from packet to packet, ns.
    pub struct JitterResult {
        /// Smoothed estimate (RFC 3550 section 6.4.1).
        #[serde(skip_serializing_if = "Option::is_none")]
        rfc3550: Option<f64> = NANOS;
        /// Mean of |D(i) − D(i−1)| (RFC 4689 section 3.2.5).
        rfc4689_mean: f64 = NANOS;
        /// Maximum of |D(i) − D(i−1)|.
        rfc4689_max: u64 = NANOS;
    }
}

part! {
    /// The spread of times, ns.
    pub struct SpreadResult {
        /// Minimum.
        min: u64 = NANOS;
        /// Mean.
        mean: f64 = NANOS;
        /// Standard deviation.
        stddev: f64 = NANOS;
        /// Maximum.
        max: u64 = NANOS;
    }
}

part! {
    /// Departures compared with the schedule, ns. The error of a gap is its difference from the scheduled gap.
    pub struct PacingResult {
        /// Median error of a gap.
        error_p50: u64 = NANOS;
        /// 99th percentile of the error.
        error_p99: u64 = NANOS;
        /// 99.9th percentile of the error.
        error_p99_9: u64 = NANOS;
        /// Share of packets that left back to back although a gap was scheduled.
        back_to_back_ratio: f64 = RATIO;
        /// Longest delay of a departure behind its schedule.
        late_max: u64 = NANOS;
    }
}
