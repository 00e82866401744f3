"""A run of an asynchronous client. run.py is generated from this file by tools/generate.py."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

from eagre import calls
from eagre.endpoint import RunCalls
from eagre.handles import RunHandle
from eagre.resources import Live, PingResult, ProtocolChange, ProtocolStates, RunInfo, Snapshot
from eagre.result import Result

if TYPE_CHECKING:
    from eagre.async_client import AsyncClient

# Time between checks whether a run has ended, s: at first, and at last.
POLL_FIRST_S, POLL_LAST_S = 0.02, 0.25


class AsyncRun(RunHandle, RunCalls):
    """A run of an `AsyncClient`. `async for snapshot in run` follows it; `async with` stops it at the end."""

    is_async = True

    def __init__(self, client: AsyncClient, info: RunInfo) -> None:
        super().__init__(info)
        self.client = client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.info.has_ended:
            return
        info = await self.refresh()
        if not info.has_ended:
            await self.stop()
            await self.wait()

    def __aiter__(self) -> AsyncIterator[Snapshot]:
        return self.snapshots()

    async def update(self, call: calls.Call[RunInfo]) -> RunInfo:
        """Sends a call about this run; updates its state from the response."""
        self.info = await self.client.send(call)
        return self.info

    async def snapshots(self, every_s: float = 0.1) -> AsyncIterator[Snapshot]:
        """Yields snapshots, the last interval and the totals, until the run ends."""
        async with aclosing(self._follow(every_s, "full")) as snapshots:
            async for snapshot in snapshots:
                if isinstance(snapshot, Snapshot):
                    if snapshot.interval is not None:
                        self.intervals.append(snapshot.interval)
                    yield snapshot

    async def live(self, every_s: float = 0.1) -> AsyncIterator[Live]:
        """Yields live figures, in columns, until the run ends."""
        async with aclosing(self._follow(every_s, "live")) as lives:
            async for live in lives:
                yield cast(Live, live)

    async def _follow(self, every_s: float, form: str) -> AsyncGenerator[Snapshot | Live, None]:
        path, params, state = self._events(every_s, form)
        async with aclosing(self.client.events(path, params)) as events:
            async for event in events:
                for figures in state.take(event):
                    yield figures
                self.info = state.info
                if state.over:
                    return

    async def wait(self, timeout_s: float | None = None) -> RunInfo:
        """Waits until the run has ended. Raises `TimeoutError`."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        pause = POLL_FIRST_S
        info = await self.refresh()
        while not info.has_ended:
            if end is not None and time.monotonic() >= end:
                raise TimeoutError(f"run {self.id} is {info.state} after {timeout_s} s")
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, POLL_LAST_S)
            info = await self.refresh()
        return info

    async def result(self, timeout_s: float | None = None) -> Result:
        """Waits for the end; returns the result. Raises `Failed` if there is none."""
        if not self.info.has_ended:
            await self.wait(timeout_s)
        if failure := self._failure():
            raise failure
        return self._complete(await self.client.run_result(self.id))

    async def ping(
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
        return await self.client.ping(self.id, port, to, host=host, from_=from_, attempts=attempts, timeout_s=timeout_s)

    async def protocols(self, *, routes: bool = False, limit: int | None = None) -> ProtocolStates:
        """States of hosts' control protocols: at most `limit` of each kind; `routes`: with routes."""
        return await self.client.protocols(self.id, routes=routes, limit=limit)

    async def change_protocols(
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
        return await self.client.change_protocols(
            self.id, action, port=port, peers=peers, routes=routes, delay_s=delay_s, priority=priority
        )

    async def capture(self, port: str) -> AsyncIterator[bytes]:
        """The capture file (pcapng) of a port, in pieces as it grows, to the run's end."""
        async with self.client.stream(calls.capture_path(self.id, port), {}, None) as response:
            async for piece in response.aiter_bytes():
                yield piece

    async def save_capture(self, port: str, file: Path | str) -> Path:
        """Writes the capture of a port to a file as it grows; returns the file when the run has ended."""
        path = Path(file)
        with path.open("wb") as out:
            async for piece in self.capture(port):
                out.write(piece)
        return path
