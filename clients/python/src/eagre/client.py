"""The synchronous client. Generated from async_client.py by tools/generate.py; not to be edited."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Self, TypeVar

import httpx

from eagre import events, transport
from eagre.api import Calls
from eagre.calls import Call
from eagre.lease import Lease

T = TypeVar("T")


class Client(Calls):
    """Client of `eagre serve`.

    `token` authenticates, where the server requires it; `verify` is False, a file with certificates (PEM) or an SSL context
    for servers with their own certificates. Calls raise `Problem` if the server refuses, an httpx error if unreachable.
    """

    is_async = False

    def __init__(
        self,
        url: str = "http://127.0.0.1:8443",
        *,
        token: str | None = None,
        verify: transport.Verify = True,
        timeout_s: float = 30.0,
        transport_: httpx.BaseTransport | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self._http = httpx.Client(**transport.options(self.url, token, verify, timeout_s), transport=transport_)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def send(self, call: Call[T]) -> T:
        """Sends a call of `eagre.calls`; returns the server's response."""
        with transport.reaching(self.url):
            response = self._http.request(call.method, call.path, params=call.params, json=call.body)
        if not response.is_success:
            raise transport.problem(response)
        return call.answer(response.text)

    def lease(self, *ports: str, ttl_s: float = 60.0, holder: str | None = None) -> Lease:
        """Leases ports inside a `with`: renewed in the background, released at its end."""
        return Lease(self, ports, ttl_s, holder)

    def save_report(self, id: str, file: Path | str) -> Path:
        """Writes the report on a result of the store; returns the file."""
        path = Path(file)
        path.write_text(self.report(id), encoding="utf-8")
        return path

    @contextmanager
    def stream(self, path: str, params: Mapping[str, str], silence_s: float | None) -> Iterator[httpx.Response]:
        """A response that is read as it arrives; `silence_s` is the longest time without data."""
        timeout = httpx.Timeout(self._http.timeout.connect, read=silence_s)
        with self._http.stream("GET", path, params=params, timeout=timeout) as response:
            if not response.is_success:
                response.read()
                raise transport.problem(response)
            yield response

    def events(self, path: str, params: Mapping[str, str]) -> Generator[events.Event, None, None]:
        """A stream of events, reopened when it breaks; the caller knows the last event."""
        left = events.ATTEMPTS
        while True:
            reader = events.EventReader()
            try:
                with self.stream(path, params, events.SILENCE_S) as response:
                    for line in response.iter_lines():
                        if event := reader.line(line):
                            left = events.ATTEMPTS
                            yield event
                failure: httpx.TransportError = httpx.RemoteProtocolError("the stream of events ended too early")
            except httpx.TransportError as error:
                failure = error
            left -= 1
            if left == 0:
                raise failure
            time.sleep(events.PAUSE_S * (events.ATTEMPTS - left))
