"""A campaign: follow it point by point, stop it, wait for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing, closing
from typing import TYPE_CHECKING, Self

from eagre import calls
from eagre.endpoint import CampaignCalls
from eagre.errors import Failed
from eagre.events import CampaignEvents
from eagre.resources import CampaignInfo, Point
from eagre.result import CampaignResult

if TYPE_CHECKING:
    from eagre.async_client import AsyncClient
    from eagre.client import Client


class _Held:
    """Common part of both handles: the state of the campaign."""

    def __init__(self, info: CampaignInfo) -> None:
        self.info = info
        """The campaign's last known state: `fraction`, `left_s`, `found`."""

    @property
    def id(self) -> str:
        """Its id on the server and in the store."""
        return self.info.id

    def _failure(self) -> Failed | None:
        """Why there is no result."""
        if self.info.state in ("failed", "interrupted"):
            return Failed(f"campaign {self.id}", self.info.state, self.info.reason)
        return None


class Campaign(_Held, CampaignCalls):
    """A campaign of a `Client`. `for point in campaign` follows it to its end; a `with` block stops it at the end."""

    is_async = False

    def __init__(self, client: Client, info: CampaignInfo) -> None:
        super().__init__(info)
        self.client = client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.info.has_ended and not self.refresh().has_ended:
            self.stop()
            self.wait()

    def update(self, call: calls.Call[CampaignInfo]) -> CampaignInfo:
        """Sends a call about this campaign and updates its state."""
        self.info = self.client.send(call)
        return self.info

    def __iter__(self) -> Iterator[Point]:
        heard = CampaignEvents(self.info)
        with closing(self.client.events(calls.campaign_events_path(self.id), {})) as events:
            for event in events:
                yield from heard.take(event)
                self.info = heard.info
                if heard.over:
                    return

    def wait(self) -> CampaignInfo:
        """Waits until the campaign has ended."""
        for _ in self:
            pass
        return self.refresh()

    def result(self) -> CampaignResult:
        """Waits for the end; returns the findings and all trials. Raises `Failed` if there are none."""
        if not self.info.has_ended:
            self.wait()
        if failure := self._failure():
            raise failure
        return self.client.stored(self.id)


class AsyncCampaign(_Held, CampaignCalls):
    """A campaign of an `AsyncClient`. `async for point in campaign` follows it to its end."""

    is_async = True

    def __init__(self, client: AsyncClient, info: CampaignInfo) -> None:
        super().__init__(info)
        self.client = client

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        if not self.info.has_ended and not (await self.refresh()).has_ended:
            await self.stop()
            await self.wait()

    async def update(self, call: calls.Call[CampaignInfo]) -> CampaignInfo:
        """Sends a call about this campaign and updates its state."""
        self.info = await self.client.send(call)
        return self.info

    async def __aiter__(self) -> AsyncIterator[Point]:
        heard = CampaignEvents(self.info)
        async with aclosing(self.client.events(calls.campaign_events_path(self.id), {})) as events:
            async for event in events:
                for point in heard.take(event):
                    yield point
                self.info = heard.info
                if heard.over:
                    return

    async def wait(self) -> CampaignInfo:
        """Waits until the campaign has ended."""
        async for _ in self:
            pass
        return await self.refresh()

    async def result(self) -> CampaignResult:
        """Waits for the end; returns the findings and all trials. Raises `Failed` if there are none."""
        if not self.info.has_ended:
            await self.wait()
        if failure := self._failure():
            raise failure
        return await self.client.stored(self.id)
