"""Results: the document as received, typed, as tables, as notebook output, as a figure.

`Result` is one trial (`eagre.result/1`), `CampaignResult` a campaign of the results store. None means not measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from eagre import html, tables
from eagre.documents import decode
from eagre.outcome import (
    CaptureResult,
    CriterionResult,
    IntervalDocument,
    PortResult,
    ResultDocument,
    SessionResult,
    StreamResult,
    Verdict,
)

if TYPE_CHECKING:
    import matplotlib.figure
    import pandas
    import pyarrow


class Result:
    """The result of a trial."""

    def __init__(
        self,
        document: Mapping[str, Any],
        intervals: Sequence[IntervalDocument | Mapping[str, Any]] = (),
        *,
        id: str | None = None,
    ) -> None:
        self.document: dict[str, Any] = dict(document)
        """`eagre.result/1` as received; docs/results.md describes it."""
        self.intervals = [
            part if isinstance(part, IntervalDocument) else decode(IntervalDocument, part) for part in intervals
        ]
        """The intervals of the snapshots read during the run."""
        self.id = id
        """Its id in the server's store, if it comes from there."""

    @cached_property
    def typed(self) -> ResultDocument:
        """The document with types."""
        return decode(ResultDocument, self.document)

    @property
    def streams(self) -> dict[str, StreamResult]:
        """Streams by name."""
        return self.typed.streams

    @property
    def ports(self) -> dict[str, PortResult]:
        """Ports by name."""
        return self.typed.ports

    @property
    def groups(self) -> dict[str, dict[str, StreamResult]]:
        """Sums of streams, by group and row."""
        return self.typed.groups

    @property
    def sessions(self) -> dict[str, SessionResult]:
        """Sessions by name of their entry."""
        return self.typed.sessions

    @property
    def captures(self) -> dict[str, CaptureResult]:
        """Captures by port."""
        return self.typed.captures

    @property
    def criteria(self) -> list[CriterionResult]:
        """The profile's criteria and their outcome."""
        return self.typed.criteria

    @property
    def verdict(self) -> Verdict:
        """Whether the figures can be trusted, and why."""
        return self.typed.verdict

    @property
    def valid(self) -> bool:
        """Whether the figures can be trusted."""
        return self.verdict.valid

    @property
    def outcome(self) -> str:
        """Whether the requirements are met, whatever disturbed the tester: 'passed', 'failed' or 'cannot_judge'."""
        if self.typed.overall is not None:
            return self.typed.overall.outcome
        if not all(criterion.passed for criterion in self.criteria):
            return "failed"
        return "passed" if self.valid else "cannot_judge"

    @property
    def passed(self) -> bool:
        """Whether the requirements are met, and the run was not interrupted."""
        return self.outcome == "passed" and not self.typed.interrupted

    def rows(self, rows: tables.Rows = "streams") -> list[tables.Row]:
        """One dictionary per stream, port, …; for 'intervals', one per stream and port in each interval."""
        intervals = [plain_interval(interval) for interval in self.intervals] if rows == "intervals" else []
        return tables.rows_of(self.document, intervals, rows)

    def to_pandas(self, rows: tables.Rows = "streams") -> pandas.DataFrame:
        """`rows` as a data frame. Needs the extra 'pandas'."""
        import pandas

        return pandas.DataFrame(self.rows(rows))

    def to_arrow(self, rows: tables.Rows = "streams") -> pyarrow.Table:
        """`rows` as an Arrow table. Needs the extra 'pandas'."""
        import pyarrow

        return pyarrow.Table.from_pylist(self.rows(rows))

    def plot(self) -> matplotlib.figure.Figure:
        """Rates and latency over time if there are intervals, else each stream's latency. Needs the extra 'notebook'."""
        from eagre import plot

        return plot.result(self)

    def __repr__(self) -> str:
        return f"<Result {html.verdict_text(self.verdict, self.outcome)}: {html.summary(self.streams, self.sessions)}>"

    def _repr_html_(self) -> str:
        return html.result_page(self)


class CampaignResult:
    """The findings of a campaign, with all its trials."""

    def __init__(self, document: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
        one = document if isinstance(document, Mapping) else document[0]
        self.document: dict[str, Any] = dict(one)
        """The store's document as received; docs/store.md describes it."""

    @property
    def campaign(self) -> dict[str, Any]:
        """Its id, method, profile, seed, state …"""
        return dict(self.document["campaign"])

    @property
    def id(self) -> str:
        """Its id in the store."""
        return str(self.campaign["id"])

    @property
    def findings(self) -> list[dict[str, Any]]:
        """The findings: frame, goal, value, unit, lower, upper …"""
        return list(self.document["findings"])

    @property
    def method_results(self) -> list[dict[str, Any]]:
        """The method's own result documents."""
        return list(self.document["method_results"])

    @cached_property
    def trials(self) -> list[Result]:
        """The finished trials, in order."""
        return [
            Result(trial["result"], trial.get("intervals") or (), id=self.id)
            for trial in self.document["trials"]
            if trial.get("result")
        ]

    def rows(self, rows: str = "findings") -> list[tables.Row]:
        """One dictionary per finding or trial."""
        if rows not in ("findings", "trials"):
            raise ValueError(f"rows are one of findings, trials, not '{rows}'")
        left_out = {"document", "request", "outcome", "result", "intervals"}
        entries = [{k: v for k, v in entry.items() if k not in left_out} for entry in self.document[rows]]
        return tables.even([tables.flat(entry) for entry in entries])

    def to_pandas(self, rows: str = "findings") -> pandas.DataFrame:
        """`rows` as a data frame. Needs the extra 'pandas'."""
        import pandas

        return pandas.DataFrame(self.rows(rows))

    def to_arrow(self, rows: str = "findings") -> pyarrow.Table:
        """`rows` as an Arrow table. Needs the extra 'pandas'."""
        import pyarrow

        return pyarrow.Table.from_pylist(self.rows(rows))

    def plot(self) -> matplotlib.figure.Figure:
        """Loss over offered load, one line per frame length. Needs the extra 'notebook'."""
        from eagre import plot

        return plot.campaign(self)

    def __repr__(self) -> str:
        return f"<CampaignResult {self.id}: {len(self.findings)} findings of {len(self.document['trials'])} trials>"

    def _repr_html_(self) -> str:
        return html.campaign_page(self)


def plain_interval(interval: IntervalDocument) -> dict[str, Any]:
    """An interval without types."""
    import dataclasses

    return json_shape(dataclasses.asdict(interval))


def json_shape(document: dict[str, Any]) -> dict[str, Any]:
    """A document without values that were not measured."""
    return {
        key: json_shape(value) if isinstance(value, dict) else value for key, value in document.items() if value is not None
    }
