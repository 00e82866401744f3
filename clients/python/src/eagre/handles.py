"""Started runs and campaigns: common parts of synchronous and asynchronous handles."""

from eagre import calls
from eagre.errors import Failed
from eagre.events import RunEvents
from eagre.outcome import IntervalDocument
from eagre.resources import CampaignInfo, RunInfo
from eagre.result import Result


class RunHandle:
    """The state of a run, for both kinds of handles."""

    def __init__(self, info: RunInfo) -> None:
        self.info = info
        """The run as the server last described it."""
        self.intervals: list[IntervalDocument] = []
        """The intervals of all snapshots read so far; the result has them as rows."""

    @property
    def id(self) -> str:
        """Its id on the server and in the store."""
        return self.info.id

    def _events(self, every_s: float, form: str) -> tuple[str, dict[str, str], RunEvents]:
        return calls.run_events_path(self.id), {"every_s": str(every_s), "form": form}, RunEvents(self.info)

    def _failure(self) -> Failed | None:
        """Reason for a missing result."""
        if self.info.state in ("failed", "interrupted"):
            return Failed(f"run {self.id}", self.info.state, self.info.reason)
        return None

    def _complete(self, result: Result) -> Result:
        return Result(result.document, self.intervals, id=self.id)


class CampaignHandle:
    """The state of a campaign, for both kinds of handles."""

    def __init__(self, info: CampaignInfo) -> None:
        self.info = info
        """The campaign as the server last described it: `fraction`, `left_s`, `found`."""

    @property
    def id(self) -> str:
        """Its id on the server and in the store."""
        return self.info.id

    def _failure(self) -> Failed | None:
        """Reason for a missing result."""
        if self.info.state in ("failed", "interrupted"):
            return Failed(f"campaign {self.id}", self.info.state, self.info.reason)
        return None
