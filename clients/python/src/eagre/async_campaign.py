"""A campaign of an asynchronous client. campaign.py is generated from this file by tools/generate.py."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Self

from eagre import calls
from eagre.endpoint import CampaignCalls
from eagre.events import CampaignEvents
from eagre.handles import CampaignHandle
from eagre.resources import CampaignInfo, Point
from eagre.result import CampaignResult

if TYPE_CHECKING:
    from eagre.async_client import AsyncClient


class AsyncCampaign(CampaignHandle, CampaignCalls):
    """A campaign of an `AsyncClient`. `async for point in campaign` follows it; `async with` stops it at the end."""

    is_async = True

    def __init__(self, client: AsyncClient, info: CampaignInfo) -> None:
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

    async def update(self, call: calls.Call[CampaignInfo]) -> CampaignInfo:
        """Sends a call about this campaign; updates its state from the response."""
        self.info = await self.client.send(call)
        return self.info

    async def __aiter__(self) -> AsyncIterator[Point]:
        state = CampaignEvents(self.info)
        async with aclosing(self.client.events(calls.campaign_events_path(self.id), {})) as events:
            async for event in events:
                for point in state.take(event):
                    yield point
                self.info = state.info
                if state.over:
                    return

    async def wait(self) -> CampaignInfo:
        """Waits until the campaign has ended."""
        async for _ in self:
            pass
        return await self.refresh()

    async def result(self) -> CampaignResult:
        """Waits for the end; returns the findings, with all trials. Raises `Failed` if there are none."""
        if not self.info.has_ended:
            await self.wait()
        if failure := self._failure():
            raise failure
        return await self.client.stored(self.id)
