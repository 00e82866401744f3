"""Documents as rows: a dictionary for each stream, port, group or interval, with paths as names of columns.

`latency_ns.p50` is the column of what a result has at `streams.NAME.latency_ns.p50`. Not measured is None.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

Row = dict[str, Any]
Rows = Literal["streams", "ports", "groups", "sessions", "workers", "criteria", "intervals"]


def rows_of(document: Mapping[str, Any], intervals: Iterable[Mapping[str, Any]], rows: Rows) -> list[Row]:
    """The rows of a result; all of them have the same columns."""
    if rows not in get_args(Rows):
        raise ValueError(f"rows are one of {', '.join(get_args(Rows))}, not '{rows}'")
    return even(
        interval_rows(intervals)
        if rows == "intervals"
        else [flat(entry) for entry in document.get(rows, [])]
        if rows in ("workers", "criteria")
        else group_rows(document.get(rows) or {})
        if rows == "groups"
        else named_rows(document.get(rows) or {}, rows.removesuffix("s") if rows != "sessions" else "name")
    )


def named_rows(entries: Mapping[str, Any], column: str) -> list[Row]:
    """A row for each entry, with its name in `column`."""
    return [{column: name, **flat(entry)} for name, entry in entries.items()]


def group_rows(groups: Mapping[str, Any]) -> list[Row]:
    """A row for each row of each group."""
    return [{"group": group, **row} for group, entries in groups.items() for row in named_rows(entries, "row")]


def interval_rows(intervals: Iterable[Mapping[str, Any]]) -> list[Row]:
    """A row for each stream, port and entry of sessions in each interval; `kind` says which, `name` its name."""
    return [
        {"at_s": interval["at_s"], "interval_s": interval["interval_s"], "kind": kind, **row}
        for interval in intervals
        for kind, key in (("port", "ports"), ("stream", "streams"), ("session", "sessions"))
        for row in named_rows(interval.get(key) or {}, "name")
    ]


def flat(entry: Mapping[str, Any], prefix: str = "") -> Row:
    """One level instead of many: `{'a': {'b': 1}}` is `{'a.b': 1}`."""
    row: Row = {}
    for key, value in entry.items():
        if isinstance(value, Mapping):
            row |= flat(value, f"{prefix}{key}.")
        else:
            row[prefix + key] = value
    return row


def even(rows: list[Row]) -> list[Row]:
    """The same rows with every column of any of them, in the order they first occur."""
    columns = dict.fromkeys(column for row in rows for column in row)
    return [{column: row.get(column) for column in columns} for row in rows]
