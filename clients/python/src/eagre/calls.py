"""Calls of the HTTP API as pure functions: arguments in, a `Call` out. Both clients send them.

Not here: sending, waiting, event streams. Ids and names are escaped; arguments that are None are left out: the server's
defaults apply.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar
from urllib.parse import quote

from eagre import resources as r
from eagre.documents import Written, decode, plain
from eagre.profile import Profile
from eagre.result import CampaignResult, Result

T = TypeVar("T")
ProtocolAction = Literal[
    "advertise", "withdraw", "up", "down", "restart", "renew", "release", "enable", "disable", "priority"
]  # fmt: skip
AnyProfile = Profile | Mapping[str, Any] | Path | str


class Leased(Protocol):
    """A lease that was taken."""

    @property
    def id(self) -> str:
        """Its secret id."""
        ...


@dataclass(frozen=True)
class Call(Generic[T]):
    """A request and the reader of its response."""

    method: Literal["GET", "POST", "PUT", "DELETE"]
    path: str
    answer: Callable[[str], T]
    """Reads the body of a successful response."""
    params: Mapping[str, str] = field(default_factory=dict)
    body: Any = None


def kind_of(kind: type[T]) -> Callable[[str], T]:
    """Reads JSON as `kind`."""
    return lambda text: decode(kind, json.loads(text))


def nothing(text: str) -> None:
    """Ignores an empty response."""


def at(*parts: str) -> str:
    """A path below the API's root."""
    return "/api/v1/" + "/".join(quote(part, safe=":") for part in parts)


def given(**arguments: Any) -> dict[str, Any]:
    """The arguments that are not None, as JSON has them."""
    return {name: plain(value) for name, value in arguments.items() if value is not None}


def id_of(lease: Leased | str | None) -> str | None:
    """The id of a lease, given as such or as a lease."""
    return lease if lease is None or isinstance(lease, str) else lease.id


def written(profile: AnyProfile | None) -> Any:
    """A profile in a request: the text, or the document."""
    if isinstance(profile, Path):
        return profile.read_text(encoding="utf-8")
    if isinstance(profile, Written | Mapping):
        return plain(profile)
    return profile


# The server.


def version() -> Call[r.Version]:
    """Versions of the server."""
    return Call("GET", at("version"), kind_of(r.Version))


def openapi() -> Call[dict[str, Any]]:
    """The OpenAPI document."""
    return Call("GET", at("openapi.json"), json.loads)


def whoami() -> Call[r.Whoami]:
    """The caller's name and role."""
    return Call("GET", at("whoami"), kind_of(r.Whoami))


def doctor() -> Call[list[r.DoctorCheck]]:
    """Checks of the server's machine that affect measurement quality."""
    return Call("GET", at("doctor"), kind_of(list[r.DoctorCheck]))


def audit() -> Call[list[r.AuditEntry]]:
    """The latest entries of the audit log; for admins."""
    return Call("GET", at("audit"), kind_of(list[r.AuditEntry]))


# Ports and leases.


def ports() -> Call[list[r.PortInfo]]:
    """Ports and their leases."""
    return Call("GET", at("ports"), kind_of(list[r.PortInfo]))


def leases() -> Call[list[r.LeaseInfo]]:
    """All leases."""
    return Call("GET", at("leases"), kind_of(list[r.LeaseInfo]))


def new_lease(ports: Sequence[str], *, ttl_s: float | None = None, holder: str | None = None) -> Call[r.LeaseInfo]:
    """Leases ports. The caller must renew or release the lease; `Client.lease` does both."""
    return Call("POST", at("leases"), kind_of(r.LeaseInfo), body=given(ports=list(ports), ttl_s=ttl_s, holder=holder))


def renew_lease(id: str, *, ttl_s: float | None = None) -> Call[r.LeaseInfo]:
    """Renews a lease."""
    return Call("POST", at("leases", id, "renew"), kind_of(r.LeaseInfo), body=given(ttl_s=ttl_s))


def release_lease(id: str) -> Call[None]:
    """Releases a lease. Runs and campaigns that use it are stopped."""
    return Call("DELETE", at("leases", id), nothing)


# Profiles.


def check(profile: AnyProfile) -> Call[r.Check]:
    """Checks a profile: all errors at once, with their places."""
    return Call("POST", at("profiles", "check"), kind_of(r.Check), body={"profile": written(profile)})


def profiles() -> Call[list[r.ProfileEntry]]:
    """Stored profiles and built-in examples."""
    return Call("GET", at("profiles"), kind_of(list[r.ProfileEntry]))


def profile(name: str) -> Call[r.StoredProfile]:
    """The text of a stored profile."""
    return Call("GET", at("profiles", name), kind_of(r.StoredProfile))


def put_profile(name: str, profile: AnyProfile) -> Call[r.StoredProfile]:
    """Stores a profile on the server."""
    return Call("PUT", at("profiles", name), kind_of(r.StoredProfile), body={"profile": written(profile)})


def delete_profile(name: str) -> Call[None]:
    """Deletes a stored profile."""
    return Call("DELETE", at("profiles", name), nothing)


# Runs.


def runs() -> Call[list[r.RunInfo]]:
    """All runs, newest first."""
    return Call("GET", at("runs"), kind_of(list[r.RunInfo]))


def new_run(
    profile: AnyProfile | None = None,
    *,
    profile_name: str | None = None,
    name: str | None = None,
    lease: Leased | str | None = None,
    rate: str | None = None,
    duration_s: float | None = None,
    seed: int | None = None,
    cores: int | None = None,
    tags: Sequence[str] | None = None,
    keep: bool | None = None,
) -> Call[r.RunInfo]:
    """Starts a run of a profile: a `Profile`, a dictionary, YAML or JSON text, the `Path` of a file, or the name of a stored
    one (`profile_name`). Other arguments override the profile. `keep`: whether to store the result.
    """
    body = given(
        profile=written(profile), profile_name=profile_name, name=name, lease=id_of(lease), rate=rate,
        duration_s=duration_s, seed=seed, cores=cores, tags=tags, keep=keep,
    )  # fmt: skip
    return Call("POST", at("runs"), kind_of(r.RunInfo), body=body)


def run_info(id: str) -> Call[r.RunInfo]:
    """A run."""
    return Call("GET", at("runs", id), kind_of(r.RunInfo))


def delete_run(id: str) -> Call[None]:
    """Removes an ended run from the list; its result stays in the store."""
    return Call("DELETE", at("runs", id), nothing)


def stop_run(id: str) -> Call[r.RunInfo]:
    """Stops a run. It still waits for late packets and has a result."""
    return Call("POST", at("runs", id, "stop"), kind_of(r.RunInfo))


def clear_counters(id: str) -> Call[r.RunInfo]:
    """Sets the counters of a run to zero: snapshots and the result count from then on."""
    return Call("POST", at("runs", id, "clear"), kind_of(r.RunInfo))


def set_rate(id: str, rate: str, *, stream: str | None = None) -> Call[r.RunInfo]:
    """Sets the rate of a stream, or of all: '2Mpps', '1Gbps', '40%'."""
    return Call("POST", at("runs", id, "rate"), kind_of(r.RunInfo), body=given(stream=stream, rate=rate))


def set_scale(id: str, scale: float, *, stream: str | None = None) -> Call[r.RunInfo]:
    """Multiplies the profile's rate."""
    return Call("POST", at("runs", id, "rate"), kind_of(r.RunInfo), body=given(stream=stream, scale=scale))


def pause(id: str, *, stream: str | None = None) -> Call[r.RunInfo]:
    """Pauses sending until `resume`; the duration keeps running."""
    return set_scale(id, 0, stream=stream)


def resume(id: str, *, stream: str | None = None) -> Call[r.RunInfo]:
    """Resumes the profile's rate."""
    return set_scale(id, 1, stream=stream)


def add_streams(id: str, profile: AnyProfile) -> Call[r.RunInfo]:
    """Adds the streams of a profile that has the run's ports; running streams are not affected."""
    return Call("POST", at("runs", id, "streams"), kind_of(r.RunInfo), body={"profile": written(profile)})


def remove_streams(id: str, streams: Sequence[str] | None = None, *, when_s: float | None = None) -> Call[r.RunInfo]:
    """Removes streams by name, or all (`None`), at once or at a time, s since traffic started; their counters stay.

    Raises `Problem` if `streams` is empty: that would be no stream, not all.
    """
    names = [streams] if isinstance(streams, str) else streams
    body = given(streams=None if names is None else list(names), when_s=when_s)
    return Call("DELETE", at("runs", id, "streams"), kind_of(r.RunInfo), body=body)


def ping(
    id: str,
    port: str,
    to: str,
    *,
    host: str | None = None,
    from_: str | None = None,
    attempts: int | None = None,
    timeout_s: float | None = None,
) -> Call[r.PingResult]:
    """Pings an address from a host behind a port of a run; traffic continues."""
    body = given(port=port, host=host, to=to, attempts=attempts, timeout_s=timeout_s, **{"from": from_})
    return Call("POST", at("runs", id, "pings"), kind_of(r.PingResult), body=body)


def protocols(id: str, *, routes: bool = False, limit: int | None = None) -> Call[r.ProtocolStates]:
    """States of hosts' control protocols: at most `limit` of each kind; `routes`: with routes."""
    params = ({"routes": "true"} if routes else {}) | ({} if limit is None else {"limit": str(limit)})
    return Call("GET", at("runs", id, "protocols"), kind_of(r.ProtocolStates), params=params)


def change_protocols(
    id: str,
    action: ProtocolAction,
    *,
    port: str | None = None,
    peers: Sequence[str] = (),
    routes: Sequence[str] = (),
    delay_s: float | None = None,
    priority: int | None = None,
) -> Call[r.ProtocolChange]:
    """Controls protocols: advertise, withdraw; up, down; renew, release; enable, disable (agents, LAGs); priority."""
    body = given(action=action, port=port, peers=list(peers), routes=list(routes), delay_s=delay_s, priority=priority)
    return Call("POST", at("runs", id, "protocols"), kind_of(r.ProtocolChange), body=body)


def snapshot(id: str) -> Call[r.Snapshot]:
    """The last interval and the totals of a run."""
    return Call("GET", at("runs", id, "snapshot"), kind_of(r.Snapshot))


def run_result(id: str) -> Call[Result]:
    """The result of a run that has ended."""
    return Call("GET", at("runs", id, "result"), lambda text: Result(json.loads(text)))


def capture_path(id: str, port: str) -> str:
    """Path of a capture."""
    return at("runs", id, "captures", port)


def run_events_path(id: str) -> str:
    """Path of a run's events."""
    return at("runs", id, "events")


# Methods and campaigns.


def kinds() -> Call[list[r.ProfileKind]]:
    """Profiles of common tests to start from, as `eagre init` writes them."""
    return Call("GET", at("kinds"), kind_of(list[r.ProfileKind]))


def methods() -> Call[list[r.Method]]:
    """Test methods and their settings."""
    return Call("GET", at("methods"), kind_of(list[r.Method]))


def campaigns() -> Call[list[r.CampaignInfo]]:
    """Campaigns since the server started."""
    return Call("GET", at("campaigns"), kind_of(list[r.CampaignInfo]))


def new_campaign(
    method: str,
    profile: AnyProfile | None = None,
    *,
    profile_name: str | None = None,
    name: str | None = None,
    lease: Leased | str | None = None,
    quick: bool | None = None,
    trial_s: float | None = None,
    sizes: Sequence[str] | None = None,
    set: Mapping[str, str] | None = None,
    random_stimuli: bool | None = None,
    networks: int | None = None,
    seed: int | None = None,
    cores: int | None = None,
    tags: Sequence[str] | None = None,
) -> Call[r.CampaignInfo]:
    """Starts a campaign: a test method on a profile; `set` has settings such as {'throughput.resolution': '0.01'}."""
    body = given(
        method=method, profile=written(profile), profile_name=profile_name, name=name, lease=id_of(lease), quick=quick,
        trial_s=trial_s, sizes=sizes, set=set, random_stimuli=random_stimuli, networks=networks, seed=seed,
        cores=cores, tags=tags,
    )  # fmt: skip
    return Call("POST", at("campaigns"), kind_of(r.CampaignInfo), body=body)


def campaign_info(id: str) -> Call[r.CampaignInfo]:
    """A campaign."""
    return Call("GET", at("campaigns", id), kind_of(r.CampaignInfo))


def stop_campaign(id: str) -> Call[r.CampaignInfo]:
    """Stops a campaign; its findings so far stay."""
    return Call("POST", at("campaigns", id, "stop"), kind_of(r.CampaignInfo))


def campaign_result(id: str) -> Call[r.CampaignDocument]:
    """Results of the methods of a campaign; `stored` has its trials, too."""
    return Call("GET", at("campaigns", id, "result"), kind_of(r.CampaignDocument))


def campaign_events_path(id: str) -> str:
    """Path of a campaign's events."""
    return at("campaigns", id, "events")


# Scripts.


def scripts() -> Call[list[r.Script]]:
    """Scripts since the server started, without their output."""
    return Call("GET", at("scripts"), kind_of(list[r.Script]))


def new_script(
    text: str,
    ports: Sequence[str],
    *,
    arguments: Sequence[str] | None = None,
    name: str | None = None,
    lease: Leased | str | None = None,
    run_time_s: float | None = None,
    deadline_s: float | None = None,
    frame_length: int | None = None,
) -> Call[r.Script]:
    """Starts a Lua script; for admins, on servers that allow it. It needs an end: `run_time_s` or `deadline_s`."""
    body = given(
        text=text, ports=list(ports), arguments=arguments, name=name, lease=id_of(lease), run_time_s=run_time_s,
        deadline_s=deadline_s, frame_length=frame_length,
    )  # fmt: skip
    return Call("POST", at("scripts"), kind_of(r.Script), body=body)


def script_info(id: str) -> Call[r.Script]:
    """A script, with the end of its output."""
    return Call("GET", at("scripts", id), kind_of(r.Script))


def stop_script(id: str) -> Call[r.Script]:
    """Stops a script; it is killed if it has not ended after 5 s."""
    return Call("POST", at("scripts", id, "stop"), kind_of(r.Script))


def delete_script(id: str) -> Call[None]:
    """Removes an ended script, with its files."""
    return Call("DELETE", at("scripts", id), nothing)


def script_result(id: str) -> Call[dict[str, Any]]:
    """The result of a script that has ended."""
    return Call("GET", at("scripts", id, "result"), json.loads)


def script_file(id: str, name: str) -> Call[str]:
    """A text file that a script wrote."""
    return Call("GET", at("scripts", id, "files", name), str)


# The results store.


def results(
    *,
    method: str | None = None,
    name: str | None = None,
    tag: str | None = None,
    since: str | None = None,
    limit: int | None = None,
) -> Call[list[r.Summary]]:
    """Stored results, newest first."""
    params = {key: str(value) for key, value in given(method=method, name=name, tag=tag, since=since, limit=limit).items()}
    return Call("GET", at("results"), kind_of(list[r.Summary]), params=params)


def stored(id: str) -> Call[CampaignResult]:
    """A stored result with all its trials, by its id, the beginning of its id, or 'latest'."""
    return Call("GET", at("results", id), lambda text: CampaignResult(json.loads(text)))


def delete_result(id: str) -> Call[None]:
    """Deletes a stored result; for admins."""
    return Call("DELETE", at("results", id), nothing)


def report(id: str) -> Call[str]:
    """The report on a stored result, one HTML page."""
    return Call("GET", at("results", id, "report"), str)


def export(id: str, format: Literal["csv", "findings", "json", "trending"] = "csv") -> Call[str]:
    """Exports a stored result."""
    return Call("GET", at("results", id, "export"), str, params={"format": format})


def compare(*ids: str) -> Call[r.Comparison]:
    """Stored results compared with the first one, and whether differences are more than noise."""
    return Call("GET", at("compare"), kind_of(r.Comparison), params={"ids": ",".join(ids)})


def compare_report(*ids: str) -> Call[str]:
    """The report on a comparison, one HTML page."""
    return Call("GET", at("compare", "report"), str, params={"ids": ",".join(ids)})
