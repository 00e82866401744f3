"""Leases that last as long as a `with`."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Self

import httpx

from eagre import calls
from eagre.errors import EagreError, Lost, Problem
from eagre.resources import LeaseInfo

if TYPE_CHECKING:
    from eagre.async_client import AsyncClient
    from eagre.client import Client

# Share of its time after which a lease is renewed: two renewals may fail.
RENEWED_AT = 1 / 3


class _LeaseState:
    """The state of a lease, common to both kinds."""

    def __init__(self, ports: tuple[str, ...], ttl_s: float, holder: str | None) -> None:
        self.ports = ports
        self.ttl_s = ttl_s
        self.holder = holder
        self.info: LeaseInfo | None = None
        self.lost: Lost | None = None
        """Reason for the loss of the lease. Also raised at the end of the `with`."""

    @property
    def id(self) -> str:
        """The secret id that allows traffic on the ports."""
        if self.info is None or self.info.id is None:
            raise EagreError("the lease was not taken: use 'with client.lease(…) as lease'")
        return self.info.id

    def _call(self) -> calls.Call[LeaseInfo]:
        return calls.new_lease(self.ports, ttl_s=self.ttl_s, holder=self.holder)

    def _lose(self, error: Exception) -> None:
        self.lost = Lost(f"the lease of {', '.join(self.ports)} was lost: {error}")

    def _outcome(self, error: BaseException | None) -> None:
        """Raises an error from the background, unless another one is being raised."""
        if self.lost is not None and error is None:
            raise self.lost


class Lease(_LeaseState):
    """A lease that a thread renews."""

    def __init__(self, client: Client, ports: tuple[str, ...], ttl_s: float, holder: str | None) -> None:
        super().__init__(ports, ttl_s, holder)
        self._client = client
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.info = self._client.send(self._call())
        self._over.clear()
        self._thread = threading.Thread(target=self._renew, name=f"eagre lease {','.join(self.ports)}", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        if self.lost is None:
            self._client.release_lease(self.id)
        self._outcome(error)

    def _renew(self) -> None:
        left = self.ttl_s
        wait = self.ttl_s * RENEWED_AT
        while not self._over.wait(wait):
            try:
                self.info = self._client.renew_lease(self.id)
                left = self.ttl_s
            except (Problem, httpx.HTTPError) as error:
                left -= wait
                if isinstance(error, Problem) or left <= wait:
                    self._lose(error)
                    return


class AsyncLease(_LeaseState):
    """A lease that a task renews."""

    def __init__(self, client: AsyncClient, ports: tuple[str, ...], ttl_s: float, holder: str | None) -> None:
        super().__init__(ports, ttl_s, holder)
        self._client = client
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        self.info = await self._client.send(self._call())
        self._task = asyncio.create_task(self._renew())
        return self

    async def __aexit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self.lost is None:
            await self._client.release_lease(self.id)
        self._outcome(error)

    async def _renew(self) -> None:
        left = self.ttl_s
        wait = self.ttl_s * RENEWED_AT
        while True:
            await asyncio.sleep(wait)
            try:
                self.info = await self._client.renew_lease(self.id)
                left = self.ttl_s
            except (Problem, httpx.HTTPError) as error:
                left -= wait
                if isinstance(error, Problem) or left <= wait:
                    self._lose(error)
                    return
