"""Documents as rows: one dictionary per stream, port, group or interval, with paths as column names.

The column `latency_ns.p50` is `streams.NAME.latency_ns.p50` of the result. None means not measured.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal, get_args

Row = dict[str, Any]
Rows = Literal["streams", "ports", "groups", "sessions", "workers", "criteria", "intervals"]


def rows_of(document: Mapping[str, Any], intervals: Iterable[Mapping[str, Any]], rows: Rows) -> list[Row]:
    """The rows of a result, all with the same columns."""
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
    """One row per entry, with its name in `column`."""
    return [{column: name, **flat(entry)} for name, entry in entries.items()]


def group_rows(groups: Mapping[str, Any]) -> list[Row]:
    """One row per row of each group."""
    return [{"group": group, **row} for group, entries in groups.items() for row in named_rows(entries, "row")]


def interval_rows(intervals: Iterable[Mapping[str, Any]]) -> list[Row]:
    """One row per stream, port and sessions entry in each interval, with its `kind` and `name`."""
    return [
        {"at_s": interval["at_s"], "interval_s": interval["interval_s"], "kind": kind, **row}
        for interval in intervals
        for kind, key in (("port", "ports"), ("stream", "streams"), ("session", "sessions"))
        for row in named_rows(interval.get(key) or {}, "name")
    ]


def flat(entry: Mapping[str, Any], prefix: str = "") -> Row:
    """Nested dictionaries as one level: `{'a': {'b': 1}}` is `{'a.b': 1}`."""
    row: Row = {}
    for key, value in entry.items():
        if isinstance(value, Mapping):
            row |= flat(value, f"{prefix}{key}.")
        else:
            row[prefix + key] = value
    return row


def even(rows: list[Row]) -> list[Row]:
    """The same rows, each with every column of all rows, in order of first occurrence."""
    columns = dict.fromkeys(column for row in rows for column in row)
    return [{column: row.get(column) for column in columns} for row in rows]
