"""Small documents in the server's form."""

LATENCY = {"min": 1000, "mean": 2000.5, "stddev": 10.0, "p50": 1990, "p99": 2500, "max": 4000, "samples": 90}
STREAM = {
    "requested_pps": 100.0,
    "offered_pps": 99.5,
    "tx": 100,
    "tx_bytes": 6400,
    "rx": 90,
    "rx_bytes": 5760,
    "lost": 10,
    "loss_ratio": 0.1,
    "latency_ns": LATENCY,
}
PORT = {
    "tx_packets": 100, "tx_bytes": 6400, "rx_packets": 90, "rx_bytes": 5760, "tx_pps": 99.5, "rx_pps": 90.0,
    "tx_bps_l1": 67000.0, "rx_bps_l1": 60000.0, "rx_other": 0, "tx_answers": 0, "rx_errors": {}, "tx_errors": {},
}  # fmt: skip
VERDICT = {"valid": True, "generator_limited": False, "disturbed": False, "reasons": []}
RESULT = {
    "schema": "eagre.result/1", "version": "0.1.0", "seed": 2**64 - 1, "profile_sha256": "00", "duration_s": 1.0,
    "interrupted": False, "clock": {"source": "tsc", "hz": 10}, "timestamp_class": "software", "verdict": VERDICT,
    "ports": {"west": PORT}, "streams": {"a": STREAM, "<b>": {"offered_pps": 5, "tx": 5, "tx_bytes": 320}},
    "workers": [{"core": 1, "busy_ratio": 0.5, "stall_max_ns": 7}],
    "criteria": [{"path": "streams.a.loss_ratio", "bound": "< 1%", "value": 0.1, "passed": False, "outcome": "not_met"}],
    "groups": {"tag": {"gold": STREAM}},
}  # fmt: skip
INTERVAL = {
    "schema": "eagre.interval/1", "at_s": 0.5, "interval_s": 0.5, "draining": False,
    "ports": {"west": PORT},
    "streams": {
        "a": {"offered_pps": 99.5, "tx": 50, "tx_bytes": 3200, "rx": 45, "rx_bytes": 2880, "latency_ns": LATENCY},
    },
}  # fmt: skip
RUN = {
    "id": "20261121-213000-a1b2c3", "name": "demo", "state": "running", "reason": None, "holder": "local",
    "ports": ["ring:a"], "started": "2026-11-21T21:30:00Z", "ended": None, "duration_s": 1.0, "at_s": 0.5,
    "seed": 1, "warnings": [], "verdict": None,
    "rate_changes": [], "rate_changes_in_all": 0, "refused_changes": [], "refused_changes_in_all": 0,
    "names": {"ports": ["west"], "streams": ["a"], "groups": [], "sessions": []}, "captures": ["west"],
}  # fmt: skip
SNAPSHOT = {
    "id": RUN["id"], "state": "running", "at_s": 0.5, "duration_s": 1.0, "interval": INTERVAL,
    "total": {"ports": {"west": PORT}, "streams": {"a": STREAM}},
    "workers": [{"core": None, "busy_ratio": 0.1}], "neighbours": [],
}  # fmt: skip
LIVE = {
    "at_s": 0.5, "interval_s": 0.1, "draining": False,
    "ports": {"tx_pps": [1.0], "rx_pps": [1], "tx_bps_l1": [1], "rx_bps_l1": [1], "tx_packets": [1], "rx_packets": [1]},
    "streams": {
        "tx_pps": [1.0], "rx_pps": [1.0], "tx": [1], "rx": [None], "lost": [None],
        "latency_p50_ns": [None], "latency_p99_ns": [None], "latency_max_ns": [None],
    },
    "sessions": {
        "active": [], "open_per_s": [], "transactions_per_s": [], "rx_bps_goodput": [], "failed": [], "established": [],
    },
    "latency": None, "workers": [],
}  # fmt: skip
LEASE = {
    "id": "secret", "ports": ["ring:a"], "holder": "local", "begun": "2026-11-21T21:30:00Z",
    "expires": "2026-11-21T21:31:00Z", "ttl_s": 60.0, "seconds_left": 60.0,
}  # fmt: skip
CAMPAIGN = {
    "id": "20261121-213000-c0ffee", "name": "demo", "method": "throughput", "state": "running", "reason": None,
    "holder": "local", "ports": ["ring:a"], "started": "2026-11-21T21:30:00Z", "ended": None, "seed": 1, "warnings": [],
    "fraction": 0.3, "trials_done": 1, "trials_left": 2, "left_s": 4.0, "part": "throughput", "label": "64B at 50%",
    "points": [], "found": [],
}  # fmt: skip


def point(number):
    return {
        "number": number, "part": "throughput", "label": "64B at 50%", "frame": "64B", "offered_pps": 1e6, "duration_s": 2.0,
        "sent": 10, "received": 9, "lost": 1, "loss_ratio": 0.1, "latency_p50_ns": 5, "latency_p99_ns": None,
        "valid": True, "generator_limited": False, "disturbed": False, "reasons": [], "sessions": None,
    }  # fmt: skip
