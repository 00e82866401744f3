"""Server-sent events: lines in, events out; the state of runs and campaigns from their events. No sockets, no clock."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from eagre.documents import decode
from eagre.resources import CampaignInfo, Live, Names, Point, RunInfo, Snapshot
from eagre.result import Result


@dataclass(frozen=True)
class Event:
    """A message: its name and its JSON."""

    name: str
    data: Any


@dataclass
class EventReader:
    """Assembles lines to events."""

    name: str = ""
    lines: list[str] = field(default_factory=list)

    def line(self, text: str) -> Event | None:
        """Takes a line without its end; an empty one ends an event."""
        if text:
            key, _, value = text.partition(":")
            value = value.removeprefix(" ")
            if key == "event":
                self.name = value
            elif key == "data":
                self.lines.append(value)
            # Comments, 'id' and 'retry' say nothing about a run.
            return None
        event = Event(self.name or "message", json.loads("\n".join(self.lines))) if self.lines else None
        self.name, self.lines = "", []
        return event


@dataclass
class RunEvents:
    """State of a run, from its events."""

    info: RunInfo
    result: Result | None = None

    def take(self, event: Event) -> Iterator[Snapshot | Live]:
        """Handles an event; yields the figures in it."""
        if event.name == "run":
            self.info = decode(RunInfo, event.data)
        elif event.name == "result":
            self.result = Result(event.data)
        elif event.name == "full":
            yield decode(Snapshot, event.data)
        elif event.name == "live":
            yield named(decode(Live, event.data), self.info.names)

    @property
    def over(self) -> bool:
        """Whether the last event has come."""
        return self.info.has_ended


@dataclass
class CampaignEvents:
    """State of a campaign, from its events."""

    info: CampaignInfo
    points: list[Point] = field(default_factory=list)
    live: Live | None = None

    def take(self, event: Event) -> Iterator[Point]:
        """Handles an event; yields new points. Each connection repeats all points so far."""
        if event.name == "campaign":
            self.info = decode(CampaignInfo, event.data)
        elif event.name == "point":
            point = decode(Point, event.data)
            if point not in self.points:
                self.points.append(point)
                yield point
        elif event.name == "live":
            self.live = decode(Live, event.data)

    @property
    def over(self) -> bool:
        """Whether the last event has come."""
        return self.info.has_ended


def named(live: Live, names: Names) -> Live:
    """Live figures with the names of their columns."""
    return live if live.names else replace(live, names=names)


# Attempts to reopen a broken event stream without any event in between, and the time between them, s.
ATTEMPTS = 5
PAUSE_S = 0.2
# The server sends at least a comment every 15 s.
SILENCE_S = 45.0
