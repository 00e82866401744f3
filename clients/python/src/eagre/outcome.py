"""Result, interval and campaign documents. Made by tools/generate.py from `eagre schema`; not to be edited.

None means not measured; zero means measured and zero.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class ClockResult:
    """The clock that stamped the packets."""

    source: str
    """`tsc`, `monotonic` or `virtual`."""
    hz: int
    """Ticks per second."""
    uncertainty_ppm: float | None = None
    """Uncertainty of the rate at calibration, parts per million."""
    drift_ppm: float | None = None
    """Drift against the system clock during the trial, parts per million."""
    read_cost_ns: float | None = None
    """Duration of one reading, ns."""
    core_skew_ns: int | None = None
    """Largest offset observed between two workers' clocks, ns."""


@dataclass(frozen=True, kw_only=True)
class LatencyResult:
    """A distribution of times, ns. Percentiles are absent without a histogram."""

    min: int
    """Minimum."""
    mean: float
    """Mean."""
    stddev: float
    """Standard deviation."""
    max: int
    """Maximum."""
    samples: int
    """Number of samples."""
    p50: int | None = None
    """Median."""
    p90: int | None = None
    """90th percentile."""
    p99: int | None = None
    """99th percentile."""
    p99_9: int | None = None
    """99.9th percentile."""
    p99_99: int | None = None
    """99.99th percentile."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether a result can be trusted."""

    valid: bool
    """Whether the figures can be trusted."""
    generator_limited: bool
    """Whether the tester, and not the device under test, was the limit."""
    reasons: list[str]
    """Why the result is not valid, or why the tester was the limit."""


@dataclass(frozen=True, kw_only=True)
class SimResult:
    """What simulated links and the simulated device did, as opposed to what was measured."""

    lost_on_links: int
    """Frames lost on links."""
    duplicated: int
    """Frames duplicated on links."""
    delayed: int
    """Frames delayed on links."""
    overtaken: int
    """Frames delivered after a frame sent later on the same port."""
    dropped_by_device: int
    """Frames dropped by the device because its buffer was full."""
    no_route: int
    """Frames the device had no route for."""


@dataclass(frozen=True, kw_only=True)
class RateChange:
    """A rate change during a trial."""

    at_s: float
    """When it took effect, s since traffic started."""
    to: str
    """The new rate: `2Mpps`, or `50% of the profile's rate`."""
    stream: str | None = None
    """The stream; absent for all streams."""


@dataclass(frozen=True, kw_only=True)
class CaptureResult:
    """A capture on a port."""

    files: list[str]
    """Files of the capture, oldest first."""
    seen: int
    """Packets seen."""
    matched: int
    """Packets that passed the filter: `captured` + `dropped`."""
    captured: int
    """Packets captured."""
    dropped: int
    """Packets dropped because memory or disk was full."""
    displaced: int
    """Captured packets overwritten by newer ones; they are in no file."""
    error: str | None = None
    """Why the capture ended early."""


@dataclass(frozen=True, kw_only=True)
class CriterionResult:
    """A criterion and whether it passed."""

    path: str
    """Path of the value in this document."""
    bound: str
    """The bound, as the profile writes it."""
    passed: bool
    """Whether it passed. A value that was not measured fails."""
    value: float | None = None
    """The value; absent if not measured."""


@dataclass(frozen=True, kw_only=True)
class PortResult:
    """One port."""

    tx_packets: int
    """Test packets sent."""
    tx_bytes: int
    """Bytes of test packets sent."""
    rx_packets: int
    """Packets received, of any kind."""
    rx_bytes: int
    """Bytes received, of any kind."""
    tx_pps: float
    """Packets per second sent."""
    rx_pps: float
    """Packets per second received."""
    tx_bps_l1: float
    """Layer-1 bits per second sent."""
    rx_bps_l1: float
    """Layer-1 bits per second received."""
    rx_other: int
    """Packets received that are not test packets of this run."""
    tx_answers: int
    """ARP, ND and echo replies and frames of pings sent."""
    rx_errors: dict[str, int]
    """Frames received with errors, and frames lost in the tester, by reason."""
    tx_errors: dict[str, int]
    """Frames the driver accepted but did not send, by reason."""
    tx_unsent: int | None = None
    """Packets due but not sent."""
    pacing_ns: PacingResult | None = None
    """Departures of all paced streams compared with the schedule."""


@dataclass(frozen=True, kw_only=True)
class PacingResult:
    """Departures compared with the schedule, ns. The error of a gap is its difference from the scheduled gap."""

    error_p50: int
    """Median error of a gap."""
    error_p99: int
    """99th percentile of the error."""
    error_p99_9: int
    """99.9th percentile of the error."""
    back_to_back_ratio: float
    """Share of packets that left back to back although a gap was scheduled."""
    late_max: int
    """Longest delay of a departure behind its schedule."""


@dataclass(frozen=True, kw_only=True)
class StreamResult:
    """One stream."""

    offered_pps: float
    """Packets per second sent."""
    tx: int
    """Packets sent."""
    requested_pps: float | None = None
    """Packets per second requested; absent for `max`."""
    rx: int | None = None
    """Packets received, without duplicates."""
    lost: int | None = None
    """Packets sent and not received."""
    loss_ratio: float | None = None
    """`lost` / `tx`."""
    duplicates: int | None = None
    """Duplicates received."""
    reordered: int | None = None
    """Packets received after one sent later (RFC 4737)."""
    reorder_distance_max: int | None = None
    """Largest distance of a reordered packet, in packets of its stream."""
    stale: int | None = None
    """Packets too late to tell from duplicates; counted as lost."""
    latency_ns: LatencyResult | None = None
    """One-way delay."""
    jitter_ns: JitterResult | None = None
    """Variation of the delay from packet to packet."""
    interarrival_ns: SpreadResult | None = None
    """Time between arrivals."""
    first_arrival_ns: int | None = None
    """Arrival of the first packet, ns since traffic started."""
    last_arrival_ns: int | None = None
    """Arrival of the last packet, ns since traffic started."""
    pacing_ns: PacingResult | None = None
    """Departures compared with the schedule."""


@dataclass(frozen=True, kw_only=True)
class JitterResult:
    """Variation of the delay from packet to packet, ns."""

    rfc4689_mean: float
    """Mean of |D(i) − D(i−1)| (RFC 4689 section 3.2.5)."""
    rfc4689_max: int
    """Maximum of |D(i) − D(i−1)|."""
    rfc3550: float | None = None
    """Smoothed estimate (RFC 3550 section 6.4.1)."""


@dataclass(frozen=True, kw_only=True)
class SpreadResult:
    """The spread of times, ns."""

    min: int
    """Minimum."""
    mean: float
    """Mean."""
    stddev: float
    """Standard deviation."""
    max: int
    """Maximum."""


@dataclass(frozen=True, kw_only=True)
class SessionResult:
    """One entry under `sessions`: counts of its clients, or of its servers if the clients are external."""

    attempted: int
    """Sessions that clients began to open, or that servers were asked for."""
    established: int
    """Sessions established."""
    completed: int
    """Sessions completed as planned."""
    stopped: int
    """Completed sessions that were ended early because their time was up or the run was over."""
    failed: dict[str, int]
    """Sessions that failed, by reason."""
    failed_ratio: float
    """Failed sessions / `attempted`."""
    active: int
    """Sessions open at the end; in an interval, the change since its beginning."""
    active_max: int
    """Maximum of open sessions; with several workers, the sum of their maxima."""
    open_per_s: float
    """Sessions established per second."""
    requests: int
    """Requests sent (clients) or received (servers)."""
    transactions: int
    """Complete responses received (clients) or sent (servers)."""
    transactions_per_s: float
    """Transactions per second."""
    rx_bytes_goodput: int
    """Application bytes received."""
    tx_bytes_goodput: int
    """Application bytes sent."""
    rx_bps_goodput: float
    """Application bits received per second."""
    tx_bps_goodput: float
    """Application bits sent per second."""
    retransmitted_segments: int
    """TCP segments retransmitted, for any cause."""
    requested_open_per_s: float | None = None
    """Mean rate of sessions requested while sessions were opened; absent for `max` and for servers."""
    unopened: int | None = None
    """Sessions due but not opened because the tester was too slow; negative in an interval that caught up with an
    earlier one. Absent for servers.
    """
    withheld: int | None = None
    """Sessions due but not opened because `concurrent` were open. Absent for servers."""
    setup_ns: LatencyResult | None = None
    """Time to open a session, until established. Clients only."""
    handshake_ns: LatencyResult | None = None
    """Duration of TLS handshakes."""
    ttfb_ns: LatencyResult | None = None
    """Time from a request to the first byte of its response. Clients only."""
    ttlb_ns: LatencyResult | None = None
    """Time from a request to the last byte of its response. Clients only."""
    client: SideDetails | None = None
    """Counts of the clients, if they run here."""
    server: SideDetails | None = None
    """Counts of the servers, if they run here."""


@dataclass(frozen=True, kw_only=True)
class SideDetails:
    """All counts of one side."""

    attempted: int
    """Sessions that clients began to open, or that servers were asked for."""
    established: int
    """Sessions established."""
    completed: int
    """Sessions completed as planned."""
    stopped: int
    """Completed sessions that were ended early because their time was up or the run was over."""
    failed: dict[str, int]
    """Sessions that failed, by reason."""
    failed_ratio: float
    """Failed sessions / `attempted`."""
    active: int
    """Sessions open at the end; in an interval, the change since its beginning."""
    active_max: int
    """Maximum of open sessions; with several workers, the sum of their maxima."""
    open_per_s: float
    """Sessions established per second."""
    requests: int
    """Requests sent (clients) or received (servers)."""
    transactions: int
    """Complete responses received (clients) or sent (servers)."""
    transactions_per_s: float
    """Transactions per second."""
    rx_bytes_goodput: int
    """Application bytes received."""
    tx_bytes_goodput: int
    """Application bytes sent."""
    rx_bps_goodput: float
    """Application bits received per second."""
    tx_bps_goodput: float
    """Application bits sent per second."""
    retransmitted_segments: int
    """TCP segments retransmitted, for any cause."""
    setup_ns: LatencyResult | None = None
    """Time to open a session, until established. Clients only."""
    handshake_ns: LatencyResult | None = None
    """Duration of TLS handshakes."""
    ttfb_ns: LatencyResult | None = None
    """Time from a request to the first byte of its response. Clients only."""
    ttlb_ns: LatencyResult | None = None
    """Time from a request to the last byte of its response. Clients only."""
    failure_details: dict[str, int] = field(default_factory=dict)
    """Details of failures: TLS alerts, faults of certificates and responses."""
    http: dict[str, int] = field(default_factory=dict)
    """Responses by class of HTTP status: `2xx`."""
    dns: dict[str, int] = field(default_factory=dict)
    """DNS responses by code, and `truncated` and `retries`."""
    tls: list[TlsResult] = field(default_factory=list)
    """TLS handshakes by negotiated parameters."""
    tcp: dict[str, int] = field(default_factory=dict)
    """TCP counters that are not zero."""
    rtt_ns: LatencyResult | None = None
    """Round-trip times measured by TCP."""
    packet_max_bytes: int | None = None
    """Largest IP packet received with a TCP segment, bytes."""
    frames: dict[str, int] = field(default_factory=dict)
    """Frame counters that are not zero."""


@dataclass(frozen=True, kw_only=True)
class TlsResult:
    """TLS handshakes with the same parameters."""

    version: str
    """`1.2` or `1.3`."""
    suite: str
    """Cipher suite (IANA)."""
    group: str
    """Key exchange; empty if there was none."""
    resumed: bool
    """Whether an earlier session was resumed."""
    handshakes: int
    """Number of handshakes."""


@dataclass(frozen=True, kw_only=True)
class WorkerResult:
    """One worker."""

    busy_ratio: float
    """Share of time with work to do."""
    stall_max_ns: int
    """Longest time between two turns of the loop, ns."""
    core: int | None = None
    """The core it ran on; absent in a simulated trial."""
    cpu_s: float | None = None
    """Processor time used, s."""
    waited_s: float | None = None
    """Time spent waiting for the core, s."""


@dataclass(frozen=True, kw_only=True)
class ResultDocument:
    """What a trial found."""

    schema: str
    """`eagre.result/1`."""
    version: str
    """Version of the program."""
    seed: int
    """Seed of everything random."""
    profile_sha256: str
    """SHA-256 of the profile's text."""
    duration_s: float
    """How long traffic was sent, s."""
    interrupted: bool
    """Whether it was stopped before its end."""
    clock: ClockResult
    """The clock that stamped the packets."""
    timestamp_class: str
    """`software`, `hardware-rx`, `hardware`, or `simulated`."""
    verdict: Verdict
    """Whether the result can be trusted."""
    ports: dict[str, PortResult]
    """Ports by name."""
    streams: dict[str, StreamResult]
    """Streams by name."""
    workers: list[WorkerResult]
    """Workers, one for each core."""
    started: str | None = None
    """When traffic started (RFC 3339); a simulated trial has none."""
    self_latency_ns: LatencyResult | None = None
    """The tester's own share of a latency, measured on an in-process link before the trial."""
    sim: SimResult | None = None
    """What happened to frames in a simulated trial."""
    rate_changes: list[RateChange] = field(default_factory=list)
    """Rate changes during the trial, in order. `requested_pps` stays what the profile says."""
    field_programs: str | None = None
    """How varying fields were written: `compiled`, or `interpreted` (much slower) where the system forbids
    generated machine code. Absent if nothing varied.
    """
    captures: dict[str, CaptureResult] = field(default_factory=dict)
    """Captures by port."""
    criteria: list[CriterionResult] = field(default_factory=list)
    """The criteria of the profile."""
    groups: dict[str, dict[str, StreamResult]] = field(default_factory=dict)
    """Sums of streams by group and row, as defined under `groups` of the profile."""
    sessions: dict[str, SessionResult] = field(default_factory=dict)
    """Sessions by name of the entry under `sessions` of the profile."""


@dataclass(frozen=True, kw_only=True)
class IntervalDocument:
    """Counts since the previous interval: one line of a `--jsonl` file."""

    schema: str
    """`eagre.interval/1`."""
    at_s: float
    """End of the interval, s since traffic started."""
    interval_s: float
    """Its length, s."""
    draining: bool
    """Whether sending is over and the tester waits for late packets."""
    ports: dict[str, PortResult]
    """Ports by name."""
    streams: dict[str, StreamResult]
    """Streams by name. `lost` is absent: packets in flight at the end of an interval are not lost."""
    groups: dict[str, dict[str, StreamResult]] = field(default_factory=dict)
    """Sums of streams by group and row, as defined under `groups` of the profile."""
    sessions: dict[str, SessionResult] = field(default_factory=dict)
    """Sessions by name of the entry under `sessions` of the profile."""
