"""A campaign that was started: followed point by point, stopped, waited for."""

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
    """What both kinds have: what is known of the campaign."""

    def __init__(self, info: CampaignInfo) -> None:
        self.info = info
        """How far the campaign was when the server was last asked: `fraction`, `left_s`, `found`."""

    @property
    def id(self) -> str:
        """Its name on the server and in the store."""
        return self.info.id

    def _failure(self) -> Failed | None:
        """Why there is no result."""
        if self.info.state in ("failed", "interrupted"):
            return Failed(f"campaign {self.id}", self.info.state, self.info.reason)
        return None


class Campaign(_Held, CampaignCalls):
    """A campaign as a `Client` has it. `for point in campaign` follows it to its end; a `with` stops it if it goes on."""

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
        """Sends a call about this campaign and keeps what the server says."""
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
        """Waits for the end; returns what was found, with all trials. Raises `Failed` if there is nothing."""
        if not self.info.has_ended:
            self.wait()
        if failure := self._failure():
            raise failure
        return self.client.stored(self.id)


class AsyncCampaign(_Held, CampaignCalls):
    """A campaign as an `AsyncClient` has it. `async for point in campaign` follows it to its end."""

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
        """Sends a call about this campaign and keeps what the server says."""
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
        """Waits for the end; returns what was found, with all trials. Raises `Failed` if there is nothing."""
        if not self.info.has_ended:
            await self.wait()
        if failure := self._failure():
            raise failure
        return await self.client.stored(self.id)
