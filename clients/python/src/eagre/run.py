"""A run: watch it, change it, wait for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator
from contextlib import aclosing, closing
from pathlib import Path
from typing import TYPE_CHECKING, Self, cast

from eagre import calls
from eagre.endpoint import RunCalls
from eagre.errors import Failed
from eagre.events import RunEvents
from eagre.outcome import IntervalDocument
from eagre.resources import Live, Pinged, RunInfo, Snapshot
from eagre.result import Result

if TYPE_CHECKING:
    from eagre.async_client import AsyncClient
    from eagre.client import Client

# How often is looked whether a run has ended, s: at first, and at last.
LOOK_FIRST_S, LOOK_LAST_S = 0.02, 0.25


class _Held:
    """Common part of both handles: the state of the run."""

    def __init__(self, info: RunInfo) -> None:
        self.info = info
        """The run's last known state."""
        self.intervals: list[IntervalDocument] = []
        """The intervals of the snapshots read so far; the result has them as rows."""

    @property
    def id(self) -> str:
        """Its id on the server and in the store."""
        return self.info.id

    def _events(self, every_s: float, form: str) -> tuple[str, dict[str, str], RunEvents]:
        return calls.run_events_path(self.id), {"every_s": str(every_s), "form": form}, RunEvents(self.info)

    def _failure(self) -> Failed | None:
        """Why there is no result."""
        if self.info.state in ("failed", "interrupted"):
            return Failed(f"run {self.id}", self.info.state, self.info.reason)
        return None

    def _complete(self, result: Result) -> Result:
        return Result(result.document, self.intervals, id=self.id)


class Run(_Held, RunCalls):
    """A run of a `Client`. `for snapshot in run` follows it to its end; a `with` block stops it at the end."""

    is_async = False

    def __init__(self, client: Client, info: RunInfo) -> None:
        super().__init__(info)
        self.client = client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.info.has_ended and not self.refresh().has_ended:
            self.stop()
            self.wait()

    def __iter__(self) -> Iterator[Snapshot]:
        return self.snapshots()

    def update(self, call: calls.Call[RunInfo]) -> RunInfo:
        """Sends a call about this run and updates its state."""
        self.info = self.client.send(call)
        return self.info

    def snapshots(self, every_s: float = 0.1) -> Iterator[Snapshot]:
        """Full snapshots of the run, until its end."""
        with closing(self._follow(every_s, "full")) as looks:
            for look in looks:
                if isinstance(look, Snapshot):
                    self.intervals.append(look.interval)
                    yield look

    def live(self, every_s: float = 0.1) -> Iterator[Live]:
        """Live figures of the run, in columns, until its end."""
        with closing(self._follow(every_s, "live")) as looks:
            for look in looks:
                yield cast(Live, look)

    def _follow(self, every_s: float, form: str) -> Generator[Snapshot | Live, None, None]:
        path, params, heard = self._events(every_s, form)
        with closing(self.client.events(path, params)) as events:
            for event in events:
                yield from heard.take(event)
                self.info = heard.info
                if heard.over:
                    return

    def wait(self, timeout_s: float | None = None) -> RunInfo:
        """Waits until the run has ended. Raises `TimeoutError`."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        pause = LOOK_FIRST_S
        while not self.refresh().has_ended:
            if end is not None and time.monotonic() >= end:
                raise TimeoutError(f"run {self.id} is {self.info.state} after {timeout_s} s")
            time.sleep(pause)
            pause = min(pause * 1.5, LOOK_LAST_S)
        return self.info

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
    ) -> Pinged:
        """Pings an address from a host behind a port of this run; traffic continues."""
        return self.client.ping(self.id, port, to, host=host, from_=from_, attempts=attempts, timeout_s=timeout_s)

    def capture(self, port: str) -> Iterator[bytes]:
        """The capture file (pcapng) of a port, in chunks as it grows, until the run ends."""
        with self.client.stream(calls.capture_path(self.id, port), {}, None) as response:
            yield from response.iter_bytes()

    def save_capture(self, port: str, file: Path | str) -> Path:
        """Writes the capture of a port to a file as it grows; returns the file when the run has ended."""
        path = Path(file)
        with path.open("wb") as out:
            for piece in self.capture(port):
                out.write(piece)
        return path


class AsyncRun(_Held, RunCalls):
    """A run of an `AsyncClient`. `async for snapshot in run` follows it to its end."""

    is_async = True

    def __init__(self, client: AsyncClient, info: RunInfo) -> None:
        super().__init__(info)
        self.client = client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if not self.info.has_ended and not (await self.refresh()).has_ended:
            await self.stop()
            await self.wait()

    def __aiter__(self) -> AsyncIterator[Snapshot]:
        return self.snapshots()

    async def update(self, call: calls.Call[RunInfo]) -> RunInfo:
        """Sends a call about this run and updates its state."""
        self.info = await self.client.send(call)
        return self.info

    async def snapshots(self, every_s: float = 0.1) -> AsyncIterator[Snapshot]:
        """Full snapshots of the run, until its end."""
        async with aclosing(self._follow(every_s, "full")) as looks:
            async for look in looks:
                if isinstance(look, Snapshot):
                    self.intervals.append(look.interval)
                    yield look

    async def live(self, every_s: float = 0.1) -> AsyncIterator[Live]:
        """Live figures of the run, in columns, until its end."""
        async with aclosing(self._follow(every_s, "live")) as looks:
            async for look in looks:
                yield cast(Live, look)

    async def _follow(self, every_s: float, form: str) -> AsyncGenerator[Snapshot | Live, None]:
        path, params, heard = self._events(every_s, form)
        async with aclosing(self.client.events(path, params)) as events:
            async for event in events:
                for look in heard.take(event):
                    yield look
                self.info = heard.info
                if heard.over:
                    return

    async def wait(self, timeout_s: float | None = None) -> RunInfo:
        """Waits until the run has ended. Raises `TimeoutError`."""
        async with asyncio.timeout(timeout_s):
            pause = LOOK_FIRST_S
            while not (await self.refresh()).has_ended:
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, LOOK_LAST_S)
            return self.info

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
    ) -> Pinged:
        """Pings an address from a host behind a port of this run; traffic continues."""
        return await self.client.ping(self.id, port, to, host=host, from_=from_, attempts=attempts, timeout_s=timeout_s)

    async def capture(self, port: str) -> AsyncIterator[bytes]:
        """The capture file (pcapng) of a port, in chunks as it grows, until the run ends."""
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
