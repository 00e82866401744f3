"""Statistics of packet groups, as TRex's client has them."""

COUNTS = ("tx", "rx", "tx_bytes", "rx_bytes", "lost", "duplicates", "reordered")
UNITS = ("pkts", "bytes", "pps", "bps", "bps_l1")
# Shares of packets that are not later than a percentile.
SHARES = (("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99_9", 0.999), ("p99_99", 0.9999), ("max", 1.0))


def plain(name):
    """A stream's name as in profiles: `eagre trex convert` writes it so."""
    text = "".join(char if char.isascii() and (char.isalnum() or char in "_-") else "_" for char in name)[:48]
    return f"stream-{text}" if text.isdigit() else text


def members(sent, names):
    """Streams with statistics among rows of a result: name, port, group (number, kind). `sent`: port and stream by name."""
    rows = ((name, *sent[name]) for name in names if name in sent)
    return [
        (name, port, (stream.get_pg_id(), stream.flow_stats.rule_type))
        for name, port, stream in rows
        if stream.has_flow_stats()
    ]


def added(before, row):
    """Counters of a group, with one more row of a result added."""
    out = {name: before.get(name, 0) + (row.get(name) or 0) for name in COUNTS}
    for name in ("latency_ns", "jitter_ns"):
        out[name] = row.get(name) or before.get(name)
    return out


def rates(rows, seconds):
    """Rates of groups in an interval; `rows` are pairs of a group's key and a row of the interval."""
    out = {}
    for key, row in rows:
        now = out.setdefault(key, {"last_max": 0.0})
        for way in ("tx", "rx"):
            packets, size = (row.get(way) or 0) / seconds, 8 * (row.get(f"{way}_bytes") or 0) / seconds
            for unit, value in (("pps", packets), ("bps", size), ("bps_l1", size + 160 * packets)):
                now[f"{way}_{unit}"] = now.get(f"{way}_{unit}", 0.0) + value
        now["last_max"] = max(now["last_max"], ((row.get("latency_ns") or {}).get("max") or 0) / 1000)
    return out


def report(ports, groups, zero, now, wanted=None):
    """The dictionary of `get_pgid_stats`; `groups` are counters by group and port, `now` rates by the same."""
    zeros = dict.fromkeys(ports, 0) | {"total": 0}
    flow = {"global": {"rx_err": dict.fromkeys(ports, 0), "tx_err": dict.fromkeys(ports, 0)}}
    latency = {"global": {"old_flow": 0, "bad_hdr": 0}}
    for key, row in groups.items():
        (pg, kind), port = key
        if wanted is not None and pg not in wanted:
            continue
        counted = {name: row.get(name, 0) - zero.get(key, {}).get(name, 0) for name in COUNTS}
        entry = flow.setdefault(pg, {f"{way}_{unit}": dict(zeros) for way in ("tx", "rx") for unit in UNITS})
        peer = port ^ 1 if port ^ 1 in ports else port
        for way, at in (("tx", port), ("rx", peer)):
            values = {"pkts": counted[way], "bytes": counted[f"{way}_bytes"]}
            values |= {unit: now.get(key, {}).get(f"{way}_{unit}", 0.0) for unit in UNITS[2:]}
            for unit, value in values.items():
                entry[f"{way}_{unit}"][at] += value
                entry[f"{way}_{unit}"]["total"] += value
        if kind == "latency":
            latency[pg] = _latency(row, counted, now.get(key, {}).get("last_max"))
    return {"ver_id": {}, "flow_stats": flow, "latency": latency}


def _latency(row, counted, last_max):
    times = row.get("latency_ns") or {}
    jitter = (row.get("jitter_ns") or {}).get("rfc3550") or 0
    micros = {name: (times.get(name) or 0) / 1000 for name in ("min", "mean", "max")}
    return {
        "err_cntrs": {
            "dropped": max(0, counted["lost"]), "out_of_order": counted["reordered"], "dup": counted["duplicates"],
            "seq_too_high": 0, "seq_too_low": 0,
        },
        "latency": {
            "average": micros["mean"], "jitter": jitter / 1000, "last_max": last_max or micros["max"],
            "total_max": micros["max"], "total_min": micros["min"], "histogram": _histogram(times, counted["rx"]),
        },
    }  # fmt: skip


def _histogram(times, packets):
    """Packets by the lower edge of a range of latencies, µs; from percentiles: no packet is later than its range."""
    out, before = {}, 0
    for name, share in SHARES:
        if times.get(name) is None:
            continue
        until = round(packets * share)
        micros = int(times[name] / 1000)
        step = 10 ** (len(str(micros)) - 1)
        edge = micros // step * step if micros >= 10 else 0
        if until > before:
            out[edge] = out.get(edge, 0) + until - before
            before = until
    return out
