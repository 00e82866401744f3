"""Errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class EagreError(Exception):
    """Base of this package's errors."""


@dataclass(frozen=True)
class ProblemPlace:
    """A place in a document and its error."""

    path: str
    """Path of the value: `streams[0].rate`; empty for the document itself."""
    reason: str
    """The error and the expected value."""
    line: int | None = None
    """Line in the text, from 1; None if there is no text."""

    def __str__(self) -> str:
        line = f"line {self.line}: " if self.line is not None else ""
        return f"{line}{self.path}: {self.reason}" if self.path else f"{line}{self.reason}"


class Problem(EagreError):
    """A refusal by the server (RFC 9457)."""

    def __init__(self, status: int, title: str, detail: str, errors: Sequence[ProblemPlace] = ()) -> None:
        self.status = status
        self.title = title
        self.detail = detail
        self.errors = tuple(errors)
        super().__init__(status, title, detail, self.errors)

    def __str__(self) -> str:
        # The sentence already has a single error.
        places = (f"\n  {place}" for place in self.errors if place.reason not in self.detail)
        return f"{self.status} {self.title}: {self.detail}{''.join(places)}"

    @classmethod
    def of(cls, status: int, phrase: str, document: Any) -> "Problem":
        """The problem in a response of `status`; other documents are quoted."""
        if not isinstance(document, Mapping):
            return cls(status, phrase, str(document)[:500] or "the server gives no reason")
        places = [
            ProblemPlace(str(place.get("path", "")), str(place.get("reason", "")), place.get("line"))
            for place in document.get("errors", [])
        ]
        return cls(status, str(document.get("title", phrase)), str(document.get("detail", "")), places)


class DocumentError(EagreError):
    """An unexpected document: another version of the server, or another program."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__(f"{path} {reason}")


class Failed(EagreError):
    """A run or campaign that ended without a result."""

    def __init__(self, what: str, state: str, reason: str | None) -> None:
        self.state = state
        self.reason = reason
        super().__init__(f"{what} {state}" + (f": {reason}" if reason else ""))


class Lost(EagreError):
    """A lease that could not be renewed: others may use its ports."""


class ServeError(EagreError):
    """A server started by this package that did not come up."""
