"""A run of a synchronous client. Generated from async_run.py by tools/generate.py; not to be edited."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

from eagre import calls
from eagre.endpoint import RunCalls
from eagre.handles import RunHandle
from eagre.resources import Live, PingResult, ProtocolChange, ProtocolStates, RunInfo, Snapshot
from eagre.result import Result

if TYPE_CHECKING:
    from eagre.client import Client

# Time between checks whether a run has ended, s: at first, and at last.
POLL_FIRST_S, POLL_LAST_S = 0.02, 0.25


class Run(RunHandle, RunCalls):
    """A run of a `Client`. `for snapshot in run` follows it; `with` stops it at the end."""

    is_async = False

    def __init__(self, client: Client, info: RunInfo) -> None:
        super().__init__(info)
        self.client = client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.info.has_ended:
            return
        info = self.refresh()
        if not info.has_ended:
            self.stop()
            self.wait()

    def __iter__(self) -> Iterator[Snapshot]:
        return self.snapshots()

    def update(self, call: calls.Call[RunInfo]) -> RunInfo:
        """Sends a call about this run; updates its state from the response."""
        self.info = self.client.send(call)
        return self.info

    def snapshots(self, every_s: float = 0.1) -> Iterator[Snapshot]:
        """Yields snapshots, the last interval and the totals, until the run ends."""
        with closing(self._follow(every_s, "full")) as snapshots:
            for snapshot in snapshots:
                if isinstance(snapshot, Snapshot):
                    if snapshot.interval is not None:
                        self.intervals.append(snapshot.interval)
                    yield snapshot

    def live(self, every_s: float = 0.1) -> Iterator[Live]:
        """Yields live figures, in columns, until the run ends."""
        with closing(self._follow(every_s, "live")) as lives:
            for live in lives:
                yield cast(Live, live)

    def _follow(self, every_s: float, form: str) -> Generator[Snapshot | Live, None, None]:
        path, params, state = self._events(every_s, form)
        with closing(self.client.events(path, params)) as events:
            for event in events:
                for figures in state.take(event):
                    yield figures
                self.info = state.info
                if state.over:
                    return

    def wait(self, timeout_s: float | None = None) -> RunInfo:
        """Waits until the run has ended. Raises `TimeoutError`."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        pause = POLL_FIRST_S
        info = self.refresh()
        while not info.has_ended:
            if end is not None and time.monotonic() >= end:
                raise TimeoutError(f"run {self.id} is {info.state} after {timeout_s} s")
            time.sleep(pause)
            pause = min(pause * 1.5, POLL_LAST_S)
            info = self.refresh()
        return info

    def result(self, timeout_s: float | None = None) -> Result:
        """Waits for the end; returns the result. Raises `Failed` if there is none."""
        if not self.info.has_ended:
            self.wait(timeout_s)
        if failure := self._failure():
            raise failure
        return self._complete(self.client.run_result(self.id))

    def ping(
        self,
        port: str,
        to: str,
        *,
        host: str | None = None,
        from_: str | None = None,
        attempts: int | None = None,
        timeout_s: float | None = None,
    ) -> PingResult:
        """Pings an address from a host behind a port of this run; traffic continues."""
        return self.client.ping(self.id, port, to, host=host, from_=from_, attempts=attempts, timeout_s=timeout_s)

    def protocols(self, *, routes: bool = False, limit: int | None = None) -> ProtocolStates:
        """States of hosts' control protocols: at most `limit` of each kind; `routes`: with routes."""
        return self.client.protocols(self.id, routes=routes, limit=limit)

    def change_protocols(
        self,
        action: calls.ProtocolAction,
        *,
        port: str | None = None,
        peers: Sequence[str] = (),
        routes: Sequence[str] = (),
        delay_s: float | None = None,
        priority: int | None = None,
    ) -> ProtocolChange:
        """Controls protocols: advertise, withdraw; up, down; renew, release; enable, disable (agents, LAGs); priority."""
        return self.client.change_protocols(
            self.id, action, port=port, peers=peers, routes=routes, delay_s=delay_s, priority=priority
        )

    def capture(self, port: str) -> Iterator[bytes]:
        """The capture file (pcapng) of a port, in pieces as it grows, to the run's end."""
        with self.client.stream(calls.capture_path(self.id, port), {}, None) as response:
            for piece in response.iter_bytes():
                yield piece

    def save_capture(self, port: str, file: Path | str) -> Path:
        """Writes the capture of a port to a file as it grows; returns the file when the run has ended."""
        path = Path(file)
        with path.open("wb") as out:
            for piece in self.capture(port):
                out.write(piece)
        return path
