"""What the server says of itself, its ports, runs and campaigns.

Times are RFC 3339 texts in UTC; `_s` are seconds, `_ns` nanoseconds, `_bps_l1` bits per second at layer 1.
"""

from dataclasses import dataclass, field
from typing import Any, Literal

from eagre.documents import decode
from eagre.errors import Place
from eagre.outcome import IntervalDocument, PortResult, SessionResult, StreamResult, Verdict

State = Literal["starting", "running", "draining", "done", "failed", "stopped", "interrupted"]
ENDED = frozenset({"done", "failed", "stopped", "interrupted"})


@dataclass(frozen=True, kw_only=True)
class Version:
    """What answers."""

    version: str
    api: str
    dpdk: str


@dataclass(frozen=True, kw_only=True)
class Whoami:
    """Who asks: the token's name, or `local`, and what it may do."""

    name: str
    role: Literal["watch", "run", "admin"]


@dataclass(frozen=True, kw_only=True)
class DoctorCheck:
    """One thing the doctor looked at."""

    check: str
    status: str
    found: str | None = None
    why: str | None = None
    remedy: str | None = None


@dataclass(frozen=True, kw_only=True)
class LeaseOfPort:
    """Who has a port, and for how long."""

    holder: str
    expires: str
    seconds_left: float


@dataclass(frozen=True, kw_only=True)
class PortInfo:
    """A port that can be used there. `Port` is one of a profile."""

    name: str
    device: str
    kind: Literal["interface", "pci", "in-process"]
    up: bool
    allowed: bool
    speed_bps: int | None = None
    mtu: int | None = None
    driver: str | None = None
    note: str | None = None
    lease: LeaseOfPort | None = None


@dataclass(frozen=True, kw_only=True)
class LeaseInfo:
    """Reserved ports. `id` is shown to the holder and to admins only: who knows it may start traffic on them."""

    ports: list[str]
    holder: str
    begun: str
    expires: str
    ttl_s: float
    seconds_left: float
    id: str | None = None


@dataclass(frozen=True, kw_only=True)
class CheckedPort:
    """A port of a profile that was checked."""

    name: str
    device: str


@dataclass(frozen=True, kw_only=True)
class Check:
    """What a profile is, or what is wrong with it."""

    good: bool
    streams: int = 0
    sessions: int = 0
    ports: list[CheckedPort] = field(default_factory=list)
    duration_s: float | None = None
    warnings: list[str] = field(default_factory=list)
    errors: list[Place] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class ProfileEntry:
    """A profile in the server's list."""

    name: str
    about: str
    built_in: bool
    changed: str | None = None


@dataclass(frozen=True, kw_only=True)
class StoredProfile:
    """A profile the server keeps: its text."""

    name: str
    profile: str


@dataclass(frozen=True, kw_only=True)
class Names:
    """Names in the order of the columns of live figures."""

    ports: list[str] = field(default_factory=list)
    streams: list[str] = field(default_factory=list)
    groups: list[str] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class RunInfo:
    """How far a run is."""

    id: str
    name: str
    state: State
    holder: str
    ports: list[str]
    started: str
    duration_s: float
    at_s: float
    seed: int
    reason: str | None = None
    ended: str | None = None
    warnings: list[str] = field(default_factory=list)
    verdict: Verdict | None = None
    rate_changes: list[Any] = field(default_factory=list)
    refused_changes: list[str] = field(default_factory=list)
    names: Names = field(default_factory=Names)
    captures: list[str] = field(default_factory=list)

    @property
    def has_ended(self) -> bool:
        """Whether nothing more happens."""
        return self.state in ENDED


@dataclass(frozen=True, kw_only=True)
class WorkerLoad:
    """How busy a worker was: the share of its time it had work."""

    busy_ratio: float
    core: int | None = None


@dataclass(frozen=True, kw_only=True)
class Totals:
    """What happened since the start. Packets under way count as lost until they arrive."""

    ports: dict[str, PortResult] = field(default_factory=dict)
    streams: dict[str, StreamResult] = field(default_factory=dict)
    groups: dict[str, dict[str, StreamResult]] = field(default_factory=dict)
    sessions: dict[str, SessionResult] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Pinged:
    """What came of a ping, by way of the neighbour `via`. Without an answer `rtt_ns` is None and `reason` says why."""

    port: str
    to: str
    answered: bool
    sent: int
    from_: str | None = None
    via: str | None = None
    rtt_ns: int | None = None
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """A look at a run with everything that is known: the last interval, and all since the start."""

    id: str
    state: State
    at_s: float
    duration_s: float
    interval: IntervalDocument
    total: Totals
    workers: list[WorkerLoad] = field(default_factory=list)


# What the server has to say of an interval before there is one.
NO_INTERVAL = {
    "schema": "eagre.interval/1",
    "at_s": 0.0,
    "interval_s": 0.0,
    "draining": False,
    "ports": {},
    "streams": {},
}


def snapshot_of(document: Any) -> Snapshot:
    """A snapshot; one of a run that has just begun has an empty interval."""
    if isinstance(document, dict) and document.get("interval") is None:
        document = {**document, "interval": NO_INTERVAL}
    return decode(Snapshot, document)


@dataclass(frozen=True, kw_only=True)
class LivePorts:
    """Ports in columns; packets since the start."""

    tx_pps: list[float]
    rx_pps: list[float]
    tx_bps_l1: list[float]
    rx_bps_l1: list[float]
    tx_packets: list[int]
    rx_packets: list[int]


@dataclass(frozen=True, kw_only=True)
class LiveStreams:
    """Streams in columns; `tx`, `rx`, `lost` since the start, latencies of the interval, None where nothing was measured."""

    tx_pps: list[float]
    rx_pps: list[float]
    tx: list[int]
    rx: list[int | None]
    lost: list[int | None]
    latency_p50_ns: list[int | None]
    latency_p99_ns: list[int | None]
    latency_max_ns: list[int | None]


@dataclass(frozen=True, kw_only=True)
class LiveSessions:
    """Sessions in columns; `failed` and `established` since the start."""

    active: list[int]
    open_per_s: list[float]
    transactions_per_s: list[float]
    rx_bps_goodput: list[float]
    failed: list[int]
    established: list[int]


@dataclass(frozen=True, kw_only=True)
class LiveLatency:
    """Latency of all streams of an interval together, ns."""

    max_ns: int
    p50_ns: int | None = None
    p90_ns: int | None = None
    p99_ns: int | None = None
    p99_9_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class Live:
    """A light look at a run, in columns in the order of `names`, however many streams there are."""

    at_s: float
    interval_s: float
    draining: bool
    ports: LivePorts
    streams: LiveStreams
    sessions: LiveSessions
    latency: LiveLatency | None = None
    workers: list[WorkerLoad] = field(default_factory=list)
    names: Names = field(default_factory=Names)


@dataclass(frozen=True, kw_only=True)
class MethodPart:
    """A part of a method, with its settings and their usual values."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Method:
    """A test method."""

    name: str
    about: str
    parts: list[MethodPart] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class PointSessions:
    """What came of a trial's sessions."""

    established: int
    transactions: int
    transactions_failed: int


@dataclass(frozen=True, kw_only=True)
class Point:
    """A trial of a campaign that has ended."""

    number: int
    part: str
    label: str
    frame: str
    offered_pps: float
    duration_s: float
    sent: int
    received: int
    lost: int
    loss_ratio: float
    valid: bool
    generator_limited: bool
    latency_p50_ns: int | None = None
    latency_p99_ns: int | None = None
    sessions: PointSessions | None = None


@dataclass(frozen=True, kw_only=True)
class CampaignInfo:
    """How far a campaign is, and what it has found."""

    id: str
    name: str
    method: str
    state: State
    holder: str
    ports: list[str]
    started: str
    reason: str | None = None
    ended: str | None = None
    seed: int | None = None
    warnings: list[str] = field(default_factory=list)
    fraction: float = 0.0
    trials_done: int = 0
    trials_left: int = 0
    left_s: float = 0.0
    part: str | None = None
    label: str | None = None
    points: list[Point] = field(default_factory=list)
    found: list[str] = field(default_factory=list)

    @property
    def has_ended(self) -> bool:
        """Whether nothing more happens."""
        return self.state in ENDED


@dataclass(frozen=True, kw_only=True)
class AuditEntry:
    """Who did what."""

    at: str
    who: str
    what: str
    status: int
    role: str | None = None
    from_: str | None = None
    detail: str | None = None
