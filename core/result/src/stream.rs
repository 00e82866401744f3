//! Streams, and the distributions that streams, ports and sessions share.

part! {
    /// One stream.
    pub struct StreamResult {
        /// Packets per second asked for; absent for `max`.
        #[serde(skip_serializing_if = "Option::is_none")]
        requested_pps: Option<f64> = PACKETS_PER_S;
        /// Packets per second sent.
        offered_pps: f64 = PACKETS_PER_S;
        /// Packets sent.
        tx: u64 = COUNT;
        /// Packets received, each once.
        #[serde(skip_serializing_if = "Option::is_none")]
        rx: Option<u64> = COUNT.measured();
        /// Packets sent and not received.
        #[serde(skip_serializing_if = "Option::is_none")]
        lost: Option<u64> = COUNT.measured();
        /// `lost` / `tx`.
        #[serde(skip_serializing_if = "Option::is_none")]
        loss_ratio: Option<f64> = RATIO.measured();
        /// Packets received again.
        #[serde(skip_serializing_if = "Option::is_none")]
        duplicates: Option<u64> = COUNT.measured();
        /// Packets received after one sent later (RFC 4737).
        #[serde(skip_serializing_if = "Option::is_none")]
        reordered: Option<u64> = COUNT.measured();
        /// Farthest a reordered packet was behind, in packets of its stream.
        #[serde(skip_serializing_if = "Option::is_none")]
        reorder_distance_max: Option<u64> = COUNT.measured();
        /// Packets too far behind to tell late from duplicate; among the lost.
        #[serde(skip_serializing_if = "Option::is_none")]
        stale: Option<u64> = COUNT.measured();
        /// One-way delay.
        #[serde(skip_serializing_if = "Option::is_none")]
        latency_ns: Option<LatencyResult> = PART.measured();
        /// Change of delay from packet to packet.
        #[serde(skip_serializing_if = "Option::is_none")]
        jitter_ns: Option<JitterResult> = PART.measured();
        /// Time between arrivals.
        #[serde(skip_serializing_if = "Option::is_none")]
        interarrival_ns: Option<SpreadResult> = PART.measured();
        /// When the first packet arrived, from the start of traffic on.
        #[serde(skip_serializing_if = "Option::is_none")]
        first_arrival_ns: Option<u64> = NANOS.measured();
        /// When the last one did.
        #[serde(skip_serializing_if = "Option::is_none")]
        last_arrival_ns: Option<u64> = NANOS.measured();
        /// How evenly it left.
        #[serde(skip_serializing_if = "Option::is_none")]
        pacing_ns: Option<PacingResult> = PART;
    }
}

part! {
    /// A distribution of delays, ns. Percentiles are absent if no histogram was kept.
    #[allow(missing_docs, reason = "the names say it")]
    pub struct LatencyResult {
        min: u64 = NANOS;
        mean: f64 = NANOS;
        stddev: f64 = NANOS;
        #[serde(skip_serializing_if = "Option::is_none")]
        p50: Option<u64> = NANOS;
        #[serde(skip_serializing_if = "Option::is_none")]
        p90: Option<u64> = NANOS;
        #[serde(skip_serializing_if = "Option::is_none")]
        p99: Option<u64> = NANOS;
        #[serde(skip_serializing_if = "Option::is_none")]
        p99_9: Option<u64> = NANOS;
        #[serde(skip_serializing_if = "Option::is_none")]
        p99_99: Option<u64> = NANOS;
        max: u64 = NANOS;
        samples: u64 = COUNT;
    }
}

part! {
    /// Change of delay from packet to packet, ns.
    pub struct JitterResult {
        /// Smoothed estimate (RFC 3550 section 6.4.1).
        #[serde(skip_serializing_if = "Option::is_none")]
        rfc3550: Option<f64> = NANOS;
        /// Mean of |D(i) − D(i−1)| (RFC 4689 section 3.2.5).
        rfc4689_mean: f64 = NANOS;
        /// Largest of them.
        rfc4689_max: u64 = NANOS;
    }
}

part! {
    /// A quantity's spread, ns.
    #[allow(missing_docs, reason = "the names say it")]
    pub struct SpreadResult {
        min: u64 = NANOS;
        mean: f64 = NANOS;
        stddev: f64 = NANOS;
        max: u64 = NANOS;
    }
}

part! {
    /// Departures compared with the schedule: the error of a gap is how much it differs from the one intended, ns.
    #[allow(missing_docs, reason = "the names say it")]
    pub struct PacingResult {
        error_p50: u64 = NANOS;
        error_p99: u64 = NANOS;
        error_p99_9: u64 = NANOS;
        /// Share of gaps of which nothing was left.
        back_to_back_ratio: f64 = RATIO;
        /// Longest time from due to departure.
        late_max: u64 = NANOS;
    }
}
