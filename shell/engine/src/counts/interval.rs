//! Counts of a worker since the last swap.
//!
//! Control hands a worker an empty interval, the worker hands back the full one: a swap of pointers, however many
//! streams there are.

use super::sessions::SessionCounts;
use fragment::FragmentCounts;
use histogram::Scale;
use measure::{DamageCounts, Damages, Egress, EgressCounts, Paths, Samples, Table};
use sched::PacingRecord;

/// Number of streams up to which an observer may keep separate intervals: for more, adding them up takes too long.
pub const STREAMS_KEPT: usize = 20_000;

/// Number of streams up to which each has a separate pacing record.
pub(crate) const PACING_RECORDS_MAX: usize = 256;

/// Bytes of a table's buckets up to which all are made present. Of more, the page of each bucket and some thousand streams
/// comes with its first packet, in a microsecond.
const PRESENT_MAX: usize = 64 << 20;

/// A worker that took no turn for so long was kept from its core: a burst takes microseconds, and where the device works
/// inside the worker's own system calls, at most some milliseconds.
pub(crate) const PAUSE_NS: u64 = 5_000_000;
/// Time between turns that may already be a wait for the core, if the kernel reports that the worker waited.
pub(crate) const HITCH_NS: u64 = 1_000_000;

/// One port's counters on one worker.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct PortCounts {
    /// Test packets the port took.
    pub(crate) tx_packets: u64,
    /// Their bytes with FCS.
    pub(crate) tx_bytes: u64,
    /// ARP, ND and echo replies sent, and frames of pings.
    pub(crate) tx_answers: u64,
    /// Everything received.
    pub(crate) rx_packets: u64,
    /// Its bytes with FCS.
    pub(crate) rx_bytes: u64,
    /// Of those, test packets that the kernel took in and recorded, frames with arrival times by kernel or card, and the largest
    /// error of these times, ns.
    pub(crate) rx_recorded: u64,
    pub(crate) rx_stamped: u64,
    pub(crate) rx_clock_error_ns: u64,
    /// Received, but not one of this run's test packets.
    pub(crate) rx_other: u64,
    /// Of those, frames with the run's mark whose signature was changed or forged.
    pub(crate) rx_damaged: u64,
    /// Test packets that should have arrived at another port.
    pub(crate) rx_misrouted: u64,
    /// Test packets whose length is not the one they were sent with.
    pub(crate) rx_wrong_length: u64,
    /// Test packets of a stream or lane that is not in this run.
    pub(crate) rx_unknown_stream: u64,
    /// Test packets that seem to have arrived before they were sent.
    pub(crate) rx_before_sent: u64,
    /// Frames of sessions that could not be passed on to the worker that owns them.
    pub(crate) rx_not_steered: u64,
    /// Frames that may have been for hosts that control handles, for which it had no time.
    pub(crate) rx_hosts_busy: u64,
    /// Frames for the hosts' namespace, and the ones dropped because the ring to it was full.
    pub(crate) rx_punted: u64,
    pub(crate) rx_punt_dropped: u64,
    /// Frames of the namespace that were sent, and those too long to be.
    pub(crate) tx_punted: u64,
    pub(crate) tx_punt_dropped: u64,
    /// Fragments to the port's hosts, and what became of their packets.
    pub(crate) fragments: FragmentCounts,
    /// Frames received at tunnel endpoints.
    pub(crate) tunnels: TunnelCounts,
}

/// Frames received at endpoints of sessions' tunnels.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct TunnelCounts {
    /// Frames taken out of tunnels.
    pub(crate) received: u64,
    /// Frames to an end with another identifier than that of any tunnel there.
    pub(crate) unknown: u64,
    /// Frames to an end whose headers cannot be right.
    pub(crate) malformed: u64,
    /// Inner frames without a receiver here.
    pub(crate) unclaimed: u64,
    /// GTP-U echo requests replied to.
    pub(crate) echoes: u64,
    /// Fragments inside, and what became of their packets.
    pub(crate) fragments: FragmentCounts,
}

impl TunnelCounts {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.received += other.received;
        self.unknown += other.unknown;
        self.malformed += other.malformed;
        self.unclaimed += other.unclaimed;
        self.echoes += other.echoes;
        self.fragments.merge(&other.fragments);
    }

    /// Each with its name, but fragments.
    pub(crate) fn each(&self) -> [(&'static str, u64); 5] {
        [
            ("received", self.received),
            ("unknown", self.unknown),
            ("malformed", self.malformed),
            ("unclaimed", self.unclaimed),
            ("echoes", self.echoes),
        ]
    }
}

impl PortCounts {
    pub(crate) fn merge(&mut self, other: &Self) {
        self.tx_packets += other.tx_packets;
        self.tx_bytes += other.tx_bytes;
        self.tx_answers += other.tx_answers;
        self.rx_packets += other.rx_packets;
        self.rx_bytes += other.rx_bytes;
        self.rx_recorded += other.rx_recorded;
        self.rx_stamped += other.rx_stamped;
        self.rx_clock_error_ns = self.rx_clock_error_ns.max(other.rx_clock_error_ns);
        self.rx_other += other.rx_other;
        self.rx_damaged += other.rx_damaged;
        self.rx_misrouted += other.rx_misrouted;
        self.rx_wrong_length += other.rx_wrong_length;
        self.rx_unknown_stream += other.rx_unknown_stream;
        self.rx_before_sent += other.rx_before_sent;
        self.rx_not_steered += other.rx_not_steered;
        self.rx_hosts_busy += other.rx_hosts_busy;
        self.rx_punted += other.rx_punted;
        self.rx_punt_dropped += other.rx_punt_dropped;
        self.tx_punted += other.tx_punted;
        self.tx_punt_dropped += other.tx_punt_dropped;
        self.fragments.merge(&other.fragments);
        self.tunnels.merge(&other.tunnels);
    }
}

/// Everything one worker counts.
#[derive(Debug, Clone)]
pub(crate) struct Interval {
    pub(crate) arrivals: Table,
    /// Arrivals by port, if a stream may arrive at several.
    pub(crate) paths: Paths,
    /// Packets by when they were sent, if a stream is watched for outages.
    pub(crate) samples: Samples,
    /// Arrivals by the value of bits that streams track.
    pub(crate) egress: Egress,
    /// Arrivals with a damaged payload, of streams whose payloads are compared.
    pub(crate) damages: Damages,
    /// Packets sent, for each stream.
    pub(crate) sent: Vec<u64>,
    /// Their bytes with FCS, of streams whose packets differ.
    pub(crate) sent_bytes: Vec<u64>,
    /// Of the packets sent, those that left while the tester recovered from a pause.
    pub(crate) sent_touched: Vec<u64>,
    /// Those that left late after a long turn that was no pause, with the others of their burst.
    pub(crate) sent_late: Vec<u64>,
    /// Packets of each stream that were sent before counters were set to zero and arrived later: they count nowhere else.
    pub(crate) passed: Vec<u64>,
    /// One record for each stream, or one for each port if there are too many streams.
    pub(crate) pacing: Vec<PacingRecord>,
    pub(crate) ports: Vec<PortCounts>,
    /// Of each entry under `sessions`, the clients' and then the servers'.
    pub(crate) sessions: Vec<SessionCounts>,
    /// Time spent in turns that found something to do, and in all, ns.
    pub(crate) busy_ns: u64,
    pub(crate) total_ns: u64,
    /// Longest time between two turns, ns.
    pub(crate) stall_max_ns: u64,
    /// Time between turns that were [`PAUSE_NS`] and more apart, ns.
    pub(crate) paused_ns: u64,
    /// Time between turns that were [`HITCH_NS`] and more apart, ns.
    pub(crate) hitches_ns: u64,
    /// Pauses that touched packets, however short, and their time, ns.
    pub(crate) pauses: u64,
    pub(crate) kept_ns: u64,
    /// Time of turns as long as a pause in which the thread had its core, by the processor's clock.
    pub(crate) long_turns_ns: u64,
    /// Time asleep because nothing was due, ns, and the longest that a sleep lasted too long.
    pub(crate) slept_ns: u64,
    pub(crate) overslept_max_ns: u64,
}

/// Dimensions of an interval.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) streams: usize,
    pub(crate) ports: usize,
    /// Entries under `sessions`.
    pub(crate) sessions: usize,
    pub(crate) scale: Option<Scale>,
    /// Whether a stream may arrive at several ports.
    pub(crate) has_paths: bool,
    /// Whether a stream is watched for outages.
    pub(crate) has_samples: bool,
    /// Rows of values of tracked bits.
    pub(crate) egress_rows: usize,
    /// Streams whose payloads are compared.
    pub(crate) damage_rows: usize,
    /// Whether each stream has its own pacing record.
    pub(crate) paces_streams: bool,
}

impl Shape {
    pub(crate) fn new(streams: usize, ports: usize, sessions: usize, histograms: bool) -> Self {
        let scale = match streams {
            0..=32 => Scale::FINE,
            33..=1_000 => Scale::MEDIUM,
            _ => Scale::COARSE,
        };
        let paces_streams = streams <= PACING_RECORDS_MAX;
        Self {
            streams,
            ports,
            sessions,
            scale: histograms.then_some(scale),
            has_paths: false,
            has_samples: false,
            egress_rows: 0,
            damage_rows: 0,
            paces_streams,
        }
    }

    /// The same with more streams: buckets and records stay as fine as they are.
    pub(crate) fn grown(self, streams: usize) -> Self {
        Self { streams, ..self }
    }

    /// Memory of a trial's counters, bytes: two tables for each worker, and two sums, or a third for an observer that
    /// keeps intervals. Of buckets that are not made present a quarter is counted, and the buckets of sums: sixty-fold
    /// latency from the fastest packet to the slowest.
    pub(crate) fn bytes(self, workers: usize) -> u64 {
        let buckets = self.scale.map_or(0, Scale::buckets) as u64;
        let paths = if self.has_paths { 40 * self.ports as u64 } else { 0 };
        let fixed = 512 + paths + if self.has_samples { Samples::STREAM_BYTES } else { 0 };
        let in_table = if self.is_present() { 4 * buckets } else { buckets };
        let tables = workers as u64 * 2;
        let sums = if self.streams <= STREAMS_KEPT { 3 } else { 2 };
        let rows =
            self.egress_rows * size_of::<EgressCounts>() + self.damage_rows * size_of::<DamageCounts>();
        let rows = rows as u64 * (tables + sums);
        self.streams as u64 * (tables * (in_table + fixed) + sums * (2 * buckets + fixed)) + rows
    }

    /// Whether the buckets of a table are made present before they are used.
    fn is_present(self) -> bool {
        let buckets = self.scale.map_or(0, Scale::buckets);
        self.streams * buckets * size_of::<u32>() <= PRESENT_MAX
    }

    /// A table. The memory of its buckets is there before a worker needs it, unless it is very large.
    pub(crate) fn table(self) -> Table {
        let mut table = Table::new(self.streams, self.scale);
        if self.is_present() {
            os::memory::make_present(table.buckets_mut());
        } else {
            os::memory::use_small_pages(table.buckets_mut());
        }
        table
    }

    pub(crate) fn interval(self) -> Interval {
        Interval { arrivals: self.table(), ..self.first_interval() }
    }

    /// The interval a worker begins with: its recorder has the table of arrivals.
    pub(crate) fn first_interval(self) -> Interval {
        let records = if self.paces_streams { self.streams } else { self.ports };
        Interval {
            arrivals: Table::new(0, None),
            paths: if self.has_paths { Paths::new(self.streams, self.ports) } else { Paths::default() },
            samples: if self.has_samples { Samples::new(self.streams) } else { Samples::default() },
            egress: Egress::new(self.egress_rows),
            damages: Damages::new(self.damage_rows),
            sent: vec![0; self.streams],
            sent_bytes: vec![0; self.streams],
            sent_touched: vec![0; self.streams],
            sent_late: vec![0; self.streams],
            passed: vec![0; self.streams],
            pacing: vec![PacingRecord::default(); records],
            ports: vec![PortCounts::default(); self.ports],
            sessions: vec![SessionCounts::default(); 2 * self.sessions],
            busy_ns: 0,
            total_ns: 0,
            stall_max_ns: 0,
            paused_ns: 0,
            hitches_ns: 0,
            pauses: 0,
            kept_ns: 0,
            long_turns_ns: 0,
            slept_ns: 0,
            overslept_max_ns: 0,
        }
    }
}

impl Interval {
    pub(crate) fn clear(&mut self) {
        self.arrivals.clear();
        self.paths.clear();
        self.samples.clear();
        self.egress.clear();
        self.damages.clear();
        let Self { sent, sent_bytes, sent_touched, sent_late, passed, .. } = self;
        [sent, sent_bytes, sent_touched, sent_late, passed].into_iter().for_each(|numbers| clear(numbers));
        self.pacing.iter_mut().for_each(PacingRecord::clear);
        self.ports.fill(PortCounts::default());
        self.sessions.iter_mut().for_each(SessionCounts::clear);
        (self.busy_ns, self.total_ns) = (0, 0);
        (self.stall_max_ns, self.paused_ns, self.hitches_ns) = (0, 0, 0);
        (self.pauses, self.kept_ns) = (0, 0);
        self.long_turns_ns = 0;
        (self.slept_ns, self.overslept_max_ns) = (0, 0);
    }
}

/// Sets all to zero. Where all are, nothing is written.
pub(crate) fn clear(numbers: &mut [u64]) {
    if is_any(numbers) {
        numbers.fill(0);
    }
}

/// Whether one of them is not zero.
pub(crate) fn is_any(numbers: &[u64]) -> bool {
    numbers.iter().fold(0, |all, n| all | n) > 0
}
