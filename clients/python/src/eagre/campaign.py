"""A campaign of a synchronous client. Generated from async_campaign.py by tools/generate.py; not to be edited."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Self

from eagre import calls
from eagre.endpoint import CampaignCalls
from eagre.events import CampaignEvents
from eagre.handles import CampaignHandle
from eagre.resources import CampaignInfo, Point
from eagre.result import CampaignResult

if TYPE_CHECKING:
    from eagre.client import Client


class Campaign(CampaignHandle, CampaignCalls):
    """A campaign of a `Client`. `for point in campaign` follows it; `with` stops it at the end."""

    is_async = False

    def __init__(self, client: Client, info: CampaignInfo) -> None:
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

    def update(self, call: calls.Call[CampaignInfo]) -> CampaignInfo:
        """Sends a call about this campaign; updates its state from the response."""
        self.info = self.client.send(call)
        return self.info

    def __iter__(self) -> Iterator[Point]:
        state = CampaignEvents(self.info)
        with closing(self.client.events(calls.campaign_events_path(self.id), {})) as events:
            for event in events:
                for point in state.take(event):
                    yield point
                self.info = state.info
                if state.over:
                    return

    def wait(self) -> CampaignInfo:
        """Waits until the campaign has ended."""
        for _ in self:
            pass
        return self.refresh()

    def result(self) -> CampaignResult:
        """Waits for the end; returns the findings, with all trials. Raises `Failed` if there are none."""
        if not self.info.has_ended:
            self.wait()
        if failure := self._failure():
            raise failure
        return self.client.stored(self.id)
