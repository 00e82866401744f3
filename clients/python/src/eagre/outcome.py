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
    """Bound on the rate's error at calibration, parts per million."""
    drift_ppm: float | None = None
    """Error against the system's clock over the trial, parts per million."""
    read_cost_ns: float | None = None
    """Time one reading takes, ns."""
    core_skew_ns: int | None = None
    """Largest offset between two workers' clocks that could be seen, ns."""


@dataclass(frozen=True, kw_only=True)
class LatencyResult:
    """A distribution of delays, ns. Percentiles are absent if no histogram was kept."""

    min: int
    mean: float
    stddev: float
    max: int
    samples: int
    p50: int | None = None
    p90: int | None = None
    p99: int | None = None
    p99_9: int | None = None
    p99_99: int | None = None


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether to believe a result."""

    valid: bool
    """Whether the figures can be believed."""
    generator_limited: bool
    """Whether the tester, and not the device under test, was the limit."""
    reasons: list[str]
    """Why not valid, or why limited."""


@dataclass(frozen=True, kw_only=True)
class SimResult:
    """What simulated links and device really did, as opposed to what was measured."""

    lost_on_links: int
    """Frames lost on links."""
    duplicated: int
    """Frames delivered once more than sent."""
    delayed: int
    """Frames delayed on links."""
    overtaken: int
    """Frames delivered after one sent later on the same port."""
    dropped_by_device: int
    """Frames dropped by the device because its buffer was full."""
    no_route: int
    """Frames the device had no way for."""


@dataclass(frozen=True, kw_only=True)
class RateChange:
    """A change of rates while a trial ran."""

    at_s: float
    """When it took effect, s since traffic started."""
    to: str
    """The new rate: `2Mpps`, or `50% of the profile's rate`."""
    stream: str | None = None
    """The stream; absent if it was all."""


@dataclass(frozen=True, kw_only=True)
class CaptureResult:
    """A capture on a port."""

    files: list[str]
    """The files that are left, oldest first."""
    seen: int
    """Packets that went past."""
    matched: int
    """Those of them that the filter let through: `captured` and `dropped`."""
    captured: int
    """Those of them that were taken."""
    dropped: int
    """Those of them for which memory or disk had no room."""
    displaced: int
    """Captured packets that newer ones have displaced, and that are in no file any more."""
    error: str | None = None
    """Why the capture ended early; absent if it did not."""


@dataclass(frozen=True, kw_only=True)
class CriterionResult:
    """A condition and whether it held."""

    path: str
    """Path of the value in this document."""
    bound: str
    """The bound, as the profile writes it."""
    passed: bool
    """Whether it held. What was not measured did not hold."""
    value: float | None = None
    """The value; absent if it was not measured."""


@dataclass(frozen=True, kw_only=True)
class PortResult:
    """One port."""

    tx_packets: int
    """Test packets sent."""
    tx_bytes: int
    """Their bytes."""
    rx_packets: int
    """Everything received."""
    rx_bytes: int
    """Its bytes."""
    tx_pps: float
    """Packets per second sent."""
    rx_pps: float
    """Packets per second received."""
    tx_bps_l1: float
    """Bits per second sent, layer 1."""
    rx_bps_l1: float
    """Bits per second received, layer 1."""
    rx_other: int
    """Received, but no test packet of this run."""
    tx_answers: int
    """ARP, ND and echo replies sent."""
    rx_errors: dict[str, int]
    """Frames received or lost in the tester that do not count as they should, by reason."""
    tx_errors: dict[str, int]
    """Frames the driver took and did not send, by reason."""
    tx_unsent: int | None = None
    """Packets that were due and not sent."""
    pacing_ns: PacingResult | None = None
    """How evenly all its paced streams left."""


@dataclass(frozen=True, kw_only=True)
class PacingResult:
    """Departures compared with the schedule: the error of a gap is how much it differs from the one intended, ns."""

    error_p50: int
    error_p99: int
    error_p99_9: int
    back_to_back_ratio: float
    """Share of gaps of which nothing was left."""
    late_max: int
    """Longest time from due to departure."""


@dataclass(frozen=True, kw_only=True)
class StreamResult:
    """One stream."""

    offered_pps: float
    """Packets per second sent."""
    tx: int
    """Packets sent."""
    requested_pps: float | None = None
    """Packets per second asked for; absent for `max`."""
    rx: int | None = None
    """Packets received, each once."""
    lost: int | None = None
    """Packets sent and not received."""
    loss_ratio: float | None = None
    """`lost` / `tx`."""
    duplicates: int | None = None
    """Packets received again."""
    reordered: int | None = None
    """Packets received after one sent later (RFC 4737)."""
    reorder_distance_max: int | None = None
    """Farthest a reordered packet was behind, in packets of its stream."""
    stale: int | None = None
    """Packets too far behind to tell late from duplicate; among the lost."""
    latency_ns: LatencyResult | None = None
    """One-way delay."""
    jitter_ns: JitterResult | None = None
    """Change of delay from packet to packet."""
    interarrival_ns: SpreadResult | None = None
    """Time between arrivals."""
    first_arrival_ns: int | None = None
    """When the first packet arrived, from the start of traffic on."""
    last_arrival_ns: int | None = None
    """When the last one did."""
    pacing_ns: PacingResult | None = None
    """How evenly it left."""


@dataclass(frozen=True, kw_only=True)
class JitterResult:
    """Change of delay from packet to packet, ns."""

    rfc4689_mean: float
    """Mean of |D(i) − D(i−1)| (RFC 4689 section 3.2.5)."""
    rfc4689_max: int
    """Largest of them."""
    rfc3550: float | None = None
    """Smoothed estimate (RFC 3550 section 6.4.1)."""


@dataclass(frozen=True, kw_only=True)
class SpreadResult:
    """A quantity's spread, ns."""

    min: int
    mean: float
    stddev: float
    max: int


@dataclass(frozen=True, kw_only=True)
class SessionResult:
    """One entry under `sessions`: what its clients saw, or its servers if the clients are someone else's."""

    attempted: int
    """Sessions clients began to open; those servers were asked for."""
    established: int
    """Sessions that were established."""
    completed: int
    """Sessions that did what they should."""
    stopped: int
    """Of these, those that were ended before they were done, because their time was up or the run over."""
    failed: dict[str, int]
    """Sessions that failed, by reason."""
    failed_ratio: float
    """Failed sessions / attempted ones."""
    active: int
    """Sessions still open at the end. Of an interval: how many more than at its beginning."""
    active_max: int
    """Most sessions at a time; of several workers, the sum of each one's most."""
    open_per_s: float
    """Sessions established per second."""
    requests: int
    """Requests sent (clients) or received (servers)."""
    transactions: int
    """Responses received whole (clients) or sent (servers)."""
    transactions_per_s: float
    """The same per second."""
    rx_bytes_goodput: int
    """Bytes of applications received."""
    tx_bytes_goodput: int
    """Bytes of applications sent."""
    rx_bps_goodput: float
    """Bits of applications received per second."""
    tx_bps_goodput: float
    """Bits of applications sent per second."""
    retransmitted_segments: int
    """TCP segments sent again, for any cause."""
    requested_open_per_s: float | None = None
    """Sessions per second asked for, on average while sessions were opened; absent for `max` and for servers."""
    unopened: int | None = None
    """Sessions that were due and not opened because the tester was too slow; less than zero in an interval that
    made up for an earlier one. Absent for servers.
    """
    withheld: int | None = None
    """Sessions that were due and not opened because there were `concurrent` already. Absent for servers."""
    setup_ns: LatencyResult | None = None
    """From the wish to open to established. Clients only."""
    handshake_ns: LatencyResult | None = None
    """TLS handshakes."""
    ttfb_ns: LatencyResult | None = None
    """From a request to the first byte of its response. Clients only."""
    ttlb_ns: LatencyResult | None = None
    """From a request to the last byte of its response. Clients only."""
    client: SideDetails | None = None
    """What clients counted, if they were played here."""
    server: SideDetails | None = None
    """What servers counted, if they were played here."""


@dataclass(frozen=True, kw_only=True)
class SideDetails:
    """One side in full."""

    attempted: int
    """Sessions clients began to open; those servers were asked for."""
    established: int
    """Sessions that were established."""
    completed: int
    """Sessions that did what they should."""
    stopped: int
    """Of these, those that were ended before they were done, because their time was up or the run over."""
    failed: dict[str, int]
    """Sessions that failed, by reason."""
    failed_ratio: float
    """Failed sessions / attempted ones."""
    active: int
    """Sessions still open at the end. Of an interval: how many more than at its beginning."""
    active_max: int
    """Most sessions at a time; of several workers, the sum of each one's most."""
    open_per_s: float
    """Sessions established per second."""
    requests: int
    """Requests sent (clients) or received (servers)."""
    transactions: int
    """Responses received whole (clients) or sent (servers)."""
    transactions_per_s: float
    """The same per second."""
    rx_bytes_goodput: int
    """Bytes of applications received."""
    tx_bytes_goodput: int
    """Bytes of applications sent."""
    rx_bps_goodput: float
    """Bits of applications received per second."""
    tx_bps_goodput: float
    """Bits of applications sent per second."""
    retransmitted_segments: int
    """TCP segments sent again, for any cause."""
    setup_ns: LatencyResult | None = None
    """From the wish to open to established. Clients only."""
    handshake_ns: LatencyResult | None = None
    """TLS handshakes."""
    ttfb_ns: LatencyResult | None = None
    """From a request to the first byte of its response. Clients only."""
    ttlb_ns: LatencyResult | None = None
    """From a request to the last byte of its response. Clients only."""
    failure_details: dict[str, int] = field(default_factory=dict)
    """More about failures: TLS alerts, what is wrong with certificates and responses."""
    http: dict[str, int] = field(default_factory=dict)
    """Responses by class of HTTP status: `2xx`."""
    dns: dict[str, int] = field(default_factory=dict)
    """Answers by DNS code; `truncated` and `retries` beside them."""
    tls: list[TlsResult] = field(default_factory=list)
    """TLS handshakes by what was agreed upon."""
    tcp: dict[str, int] = field(default_factory=dict)
    """Counters of TCP that are not zero."""
    rtt_ns: LatencyResult | None = None
    """Round-trip times TCP measured."""
    packet_max_bytes: int | None = None
    """The largest IP packet received with a segment of TCP, bytes."""
    frames: dict[str, int] = field(default_factory=dict)
    """Counters of frames that are not zero."""


@dataclass(frozen=True, kw_only=True)
class TlsResult:
    """TLS handshakes that agreed upon the same."""

    version: str
    """`1.2` or `1.3`."""
    suite: str
    """Cipher suite (IANA)."""
    group: str
    """Key exchange; empty if there was none."""
    resumed: bool
    """Whether an earlier session was resumed."""
    handshakes: int
    """How many."""


@dataclass(frozen=True, kw_only=True)
class WorkerResult:
    """One core that did the work."""

    busy_ratio: float
    """Share of its time it found something to do."""
    stall_max_ns: int
    """Longest time between two turns of its loop, ns."""
    core: int | None = None
    """Which; absent in a simulated trial."""
    cpu_s: float | None = None
    """Processor time it had, s."""
    waited_s: float | None = None
    """Time something else had its core, s."""


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
    """Whether to believe it."""
    ports: dict[str, PortResult]
    """By port name."""
    streams: dict[str, StreamResult]
    """By stream name."""
    workers: list[WorkerResult]
    """The cores that did the work."""
    started: str | None = None
    """When traffic started (RFC 3339); a simulated trial has none."""
    self_latency_ns: LatencyResult | None = None
    """What the tester itself adds to a latency, measured on an in-process link before the trial."""
    sim: SimResult | None = None
    """What really happened to frames in a simulated trial."""
    rate_changes: list[RateChange] = field(default_factory=list)
    """Changes of rates while it ran, in their order. `requested_pps` is what the profile says."""
    field_programs: str | None = None
    """How varying fields were written: `compiled`, or `interpreted`, much slower, where the system lets no program
    make machine code. Absent if nothing varied.
    """
    captures: dict[str, CaptureResult] = field(default_factory=dict)
    """Captures by port name."""
    criteria: list[CriterionResult] = field(default_factory=list)
    """Conditions the profile set."""
    groups: dict[str, dict[str, StreamResult]] = field(default_factory=dict)
    """By group and row: streams added up, as the profile's 'groups' say."""
    sessions: dict[str, SessionResult] = field(default_factory=dict)
    """By name of the profile's entry under 'sessions'."""


@dataclass(frozen=True, kw_only=True)
class IntervalDocument:
    """What happened since the last look: one line of a `--jsonl` file."""

    schema: str
    """`eagre.interval/1`."""
    at_s: float
    """End of the interval, s since traffic started."""
    interval_s: float
    """Its length, s."""
    draining: bool
    """Whether sending is over and late packets are waited for."""
    ports: dict[str, PortResult]
    """By port name."""
    streams: dict[str, StreamResult]
    """By stream name. `lost` is absent: what is under way at the end of an interval is not lost."""
    groups: dict[str, dict[str, StreamResult]] = field(default_factory=dict)
    """By group and row: streams added up, as the profile's 'groups' say."""
    sessions: dict[str, SessionResult] = field(default_factory=dict)
    """By name of the profile's entry under 'sessions'."""
