"""The asynchronous client. client.py is generated from this file by tools/generate.py."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Self, TypeVar

import httpx

from eagre import events, transport
from eagre.api import Calls
from eagre.calls import Call
from eagre.lease import AsyncLease

T = TypeVar("T")


class AsyncClient(Calls):
    """Client of `eagre serve`.

    `token` authenticates, where the server requires it; `verify` is False, a file with certificates (PEM) or an SSL context
    for servers with their own certificates. Calls raise `Problem` if the server refuses, an httpx error if unreachable.
    """

    is_async = True

    def __init__(
        self,
        url: str = "http://127.0.0.1:8443",
        *,
        token: str | None = None,
        verify: transport.Verify = True,
        timeout_s: float = 30.0,
        transport_: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.AsyncClient(**transport.options(self.url, token, verify, timeout_s), transport=transport_)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def send(self, call: Call[T]) -> T:
        """Sends a call of `eagre.calls`; returns the server's response."""
        with transport.reaching(self.url):
            response = await self._http.request(call.method, call.path, params=call.params, json=call.body)
        if not response.is_success:
            raise transport.problem(response)
        return call.answer(response.text)

    def lease(self, *ports: str, ttl_s: float = 60.0, holder: str | None = None) -> AsyncLease:
        """Leases ports inside an `async with`: renewed in the background, released at its end."""
        return AsyncLease(self, ports, ttl_s, holder)

    async def save_report(self, id: str, file: Path | str) -> Path:
        """Writes the report on a result of the store; returns the file."""
        path = Path(file)
        path.write_text(await self.report(id), encoding="utf-8")
        return path

    @asynccontextmanager
    async def stream(self, path: str, params: Mapping[str, str], silence_s: float | None) -> AsyncIterator[httpx.Response]:
        """A response that is read as it arrives; `silence_s` is the longest time without data."""
        timeout = httpx.Timeout(self._http.timeout.connect, read=silence_s)
        async with self._http.stream("GET", path, params=params, timeout=timeout) as response:
            if not response.is_success:
                await response.aread()
                raise transport.problem(response)
            yield response

    async def events(self, path: str, params: Mapping[str, str]) -> AsyncGenerator[events.Event, None]:
        """A stream of events, reopened when it breaks; the caller knows the last event."""
        left = events.ATTEMPTS
        while True:
            reader = events.EventReader()
            try:
                async with self.stream(path, params, events.SILENCE_S) as response:
                    async for line in response.aiter_lines():
                        if event := reader.line(line):
                            left = events.ATTEMPTS
                            yield event
                failure: httpx.TransportError = httpx.RemoteProtocolError("the stream of events ended too early")
            except httpx.TransportError as error:
                failure = error
            left -= 1
            if left == 0:
                raise failure
            await asyncio.sleep(events.PAUSE_S * (events.ATTEMPTS - left))
