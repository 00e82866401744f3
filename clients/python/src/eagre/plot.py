"""Figures of results. Needs matplotlib (the extra 'notebook'); opens no window."""

from __future__ import annotations

import io
from collections import defaultdict
from itertools import cycle
from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

if TYPE_CHECKING:
    from eagre.result import CampaignResult, Result

# Okabe and Ito's colours, which the colour-blind can tell apart, and lines that print in black.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", "-.", ":")
STREAMS_MAX = 12
PERCENTILES = ("p50", "p90", "p95", "p99", "p99_9", "max")


class Picture(Figure):
    """A figure that notebooks display without pyplot."""

    def _repr_png_(self) -> bytes:
        file = io.BytesIO()
        self.savefig(file, format="png")
        return file.getvalue()


def result(found: Result) -> Figure:
    """Rates and latency over time if there are intervals, else the latencies of streams."""
    return over_time(found) if found.intervals else latencies(found)


def over_time(found: Result) -> Figure:
    """Sent and received rates above, latency below, by time."""
    figure = Picture(figsize=(9, 6), layout="constrained")
    rates, delays = figure.subplots(2, 1, sharex=True)
    names = list(found.streams)[:STREAMS_MAX]
    # An interval without length has no rate.
    looks = [look for look in found.intervals if look.interval_s > 0]
    times = [look.at_s for look in looks]
    for name, colour in zip(names, cycle(COLOURS)):
        streams = [look.streams.get(name) for look in looks]
        sent = [s.tx / look.interval_s if s else None for s, look in zip(streams, looks, strict=True)]
        got = [s.rx / look.interval_s if s and s.rx is not None else None for s, look in zip(streams, looks, strict=True)]
        rates.plot(times, numbers(sent), color=colour, linestyle="--", linewidth=1)
        rates.plot(times, numbers(got), color=colour, label=name)
        p99 = [s.latency_ns.p99 / 1e3 if s and s.latency_ns and s.latency_ns.p99 else None for s in streams]
        delays.plot(times, numbers(p99), color=colour, label=name)
    rates.set(ylabel="packets/s (sent: dashed)", ylim=(0, None))
    delays.set(xlabel="s", ylabel="latency p99, us", yscale="log")
    if names:
        rates.legend(loc="lower right", fontsize="small")
    return figure


def latencies(found: Result) -> Figure:
    """Bars of each stream's latency percentiles."""
    figure = Picture(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    names = [name for name, stream in found.streams.items() if stream.latency_ns][:STREAMS_MAX]
    width = 0.8 / len(PERCENTILES)
    for number, (percentile, colour) in enumerate(zip(PERCENTILES, COLOURS, strict=False)):
        values = [getattr(found.streams[name].latency_ns, percentile) for name in names]
        places = [place + number * width for place in range(len(names))]
        axes.bar(
            places, [value / 1e3 if value is not None else 0 for value in values], width, color=colour, label=percentile
        )
    axes.set_xticks([place + 2 * width for place in range(len(names))], names)
    axes.set(ylabel="latency, us", yscale="log")
    axes.legend(fontsize="small")
    return figure


def campaign(found: CampaignResult) -> Figure:
    """Loss over offered load: one line per frame length; invalid points are crosses."""
    figure = Picture(figsize=(9, 4), layout="constrained")
    axes = figure.subplots()
    curves: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in found.rows("trials"):
        if row.get("offered_pps") is not None and row.get("loss_ratio") is not None:
            curves[str(row.get("frame") or "all")].append(row)
    for (frame, rows), colour, dash in zip(curves.items(), cycle(COLOURS), cycle(DASHES)):
        rows.sort(key=lambda row: float(row["offered_pps"]))
        for believed, marker in ((True, "o"), (False, "x")):
            some = [row for row in rows if bool(row.get("valid")) is believed]
            line = dash if believed else ""
            points = ([row["offered_pps"] for row in some], [100 * row["loss_ratio"] for row in some])
            axes.plot(*points, color=colour, linestyle=line, marker=marker, label=frame if believed else None)
    axes.set(xlabel="offered load, packets/s", ylabel="loss, %", ylim=(0, None))
    if curves:
        axes.legend(title="frames", fontsize="small")
    return figure


def numbers(values: list[Any]) -> list[float]:
    """Values with gaps where nothing was measured."""
    return [float("nan") if value is None else float(value) for value in values]
