"""Results as tables: in HTML for notebooks, in a line for a terminal. Values that were not measured are left out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eagre.outcome import PortResult, SessionResult, StreamResult, Verdict
    from eagre.result import CampaignResult, Result

# Streams shown; the others are summed up in a sentence.
STREAMS_MAX = 50
LABELS = ("", "k", "M", "G", "T")
NUMBER = "text-align:right;font-variant-numeric:tabular-nums"
TEXT = "text-align:left"


def quantity(value: float | None, unit: str) -> str:
    """Four digits and a unit: 1.235 Mpps."""
    if value is None:
        return ""
    power = 0
    while abs(value) >= 999.95 and power < len(LABELS) - 1:
        value, power = value / 1000, power + 1
    return f"{value:.4g} {LABELS[power]}{unit}"


def time(ns: float | None) -> str:
    """Nanoseconds with a unit: 12.3 us."""
    if ns is None:
        return ""
    for size, unit in ((1e9, "s"), (1e6, "ms"), (1e3, "us")):
        if ns >= size:
            return f"{ns / size:.4g} {unit}"
    return f"{ns:.4g} ns"


def ratio(value: float | None) -> str:
    """A share: 0.0100%."""
    return "" if value is None else f"{value:.4%}"


def count(value: int | None) -> str:
    """A number with thousands separators."""
    return "" if value is None else f"{value:,}"


def verdict_text(verdict: Verdict, outcome: str) -> str:
    """The verdict in words: for a result that is not valid, whether its requirements are met nonetheless."""
    words = "valid" if verdict.valid else "requirements met" if outcome == "passed" else "not valid"
    if verdict.generator_limited:
        words += ", the tester was the limit"
    return words + (f" ({'; '.join(verdict.reasons)})" if verdict.reasons else "")


def summary(streams: Mapping[str, StreamResult], sessions: Mapping[str, SessionResult]) -> str:
    """Streams and sessions in one line."""
    words = []
    if streams:
        sent = sum(stream.tx for stream in streams.values())
        lost = [stream.lost for stream in streams.values() if stream.lost is not None]
        words.append(f"{len(streams)} streams, {sent:,} packets sent" + (f", {sum(lost):,} lost" if lost else ""))
    if sessions:
        opened = sum(entry.established or 0 for entry in sessions.values())
        words.append(f"{opened:,} sessions established")
    return "; ".join(words) or "no traffic"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """An HTML table: the first column is text, the others are figures."""

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f'<{tag} style="{TEXT if column == 0 else NUMBER}">{escape(cell)}</{tag}>' for column, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells('th', head)}</tr></thead><tbody>{body}</tbody></table>"


def stream_row(name: str, stream: StreamResult) -> list[str]:
    """A stream's line."""
    latency = stream.latency_ns
    return [
        name,
        quantity(stream.offered_pps, "pps"),
        count(stream.tx),
        count(stream.lost),
        ratio(stream.loss_ratio),
        *(time(value) for value in ((latency.p50, latency.p99, latency.max) if latency else (None, None, None))),
    ]


def port_row(name: str, port: PortResult) -> list[str]:
    """A port's line."""
    return [
        name,
        quantity(port.tx_pps, "pps"),
        quantity(port.tx_bps_l1, "bps L1"),
        quantity(port.rx_pps, "pps"),
        quantity(port.rx_bps_l1, "bps L1"),
        count(port.tx_unsent),
    ]


def session_row(name: str, entry: SessionResult) -> list[str]:
    """A line of an entry under 'sessions'."""
    failed = entry.failed
    return [
        name,
        count(entry.attempted),
        count(entry.established),
        count(sum(failed.values()) if failed is not None else None),
        quantity(entry.open_per_s, "/s"),
        quantity(entry.transactions_per_s, "/s"),
        quantity(entry.rx_bps_goodput, "bps"),
    ]


def result_page(result: Result) -> str:
    """A result for a notebook."""
    head = f"<p><b>{escape(verdict_text(result.verdict, result.outcome))}</b>, {result.typed.duration_s:g} s</p>"
    shown = list(result.streams.items())[:STREAMS_MAX]
    if shown:
        columns = ("stream", "offered", "sent", "lost", "ratio", "p50", "p99", "max")
        head += table(columns, (stream_row(name, stream) for name, stream in shown))
    if len(result.streams) > len(shown):
        head += f"<p>and {len(result.streams) - len(shown):,} streams more: <code>to_pandas()</code> has them</p>"
    if result.sessions:
        columns_s = ("sessions", "attempted", "established", "failed", "opened", "transactions", "goodput")
        head += table(columns_s, (session_row(name, entry) for name, entry in result.sessions.items()))
    ports = (port_row(name, port) for name, port in result.ports.items())
    return head + table(("port", "sent", "", "received", "", "unsent"), ports)


def campaign_page(result: CampaignResult) -> str:
    """A campaign for a notebook."""
    name, method, state = (escape(str(result.campaign.get(key))) for key in ("name", "method", "state"))
    head = f"<p><b>{name}</b>: {method}, {state}</p>"
    rows = [
        [
            str(row.get("goal", "")),
            str(row.get("frame", "")),
            figure(row.get("value"), str(row.get("unit", ""))),
            str(row.get("note") or ""),
        ]
        for row in result.findings
    ]
    return head + table(("finding", "frame", "value", ""), rows)


def figure(value: float | None, unit: str) -> str:
    """A finding's value in its unit."""
    if unit in ("ns", "s"):
        return time(value if unit == "ns" or value is None else value * 1e9)
    return ratio(value) if unit == "ratio" else quantity(value, unit)
