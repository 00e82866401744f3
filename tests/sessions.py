"""Invariants of sessions in every result, and short forms of profile entries."""

import math
import re
from collections import Counter

TIMES = ("min", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "max")


def check_times(times):
    """Percentiles are in order."""
    if times.get("samples"):
        order = [times[key] for key in TIMES]
        assert order == sorted(order) and times["min"] <= times["mean"] <= times["max"], times


def check(one):
    """The numbers of an entry agree with each other. What its sides did not count is zero then, instead of absent."""
    for side in (one[name] for name in ("client", "server") if name in one):
        side |= {key: Counter(side.get(key, {})) for key in ("tcp", "http", "dns", "frames", "failure_details")}
        side["tls"] = side.get("tls", [])
        check_side(side)
    assert all(
        one["client" if "client" in one else "server"][key] == value for key, value in one.items() if key in SIDE
    )
    return check_side(one)


SIDE = (
    "attempted",
    "established",
    "completed",
    "failed",
    "active",
    "transactions",
    "retransmitted_segments",
    "ttlb_ns",
)


def check_side(one):
    """The same of one side."""
    failed = sum(one["failed"].values())
    begun = one["attempted"] + one.get("open_at_clear", 0)
    assert begun == one["completed"] + failed + one["active"], one
    assert one["established"] <= one["attempted"] and 0 not in one["failed"].values(), one
    assert math.isclose(one["failed_ratio"], failed / max(begun, 1), abs_tol=1e-9), one
    assert one["active"] <= one["active_max"] <= begun, one
    for key in ("setup_ns", "handshake_ns", "ttfb_ns", "ttlb_ns", "ttfb_due_ns", "ttlb_due_ns"):
        check_times(one.get(key, {}))
    return one


BUSY = re.compile("the tester dropped|were not opened|cores of the tester were busy")


def of(done, name="s"):
    """The entry of a run that ended well, checked.

    Frames that a busy machine's queue had no room for are lost as on a link: they are told, and TCP sends them again.
    Such a machine opens sessions late, too.
    """
    assert done.ended, str(done)
    reasons = [reason for reason in done.json["verdict"]["reasons"] if not BUSY.search(reason)]
    assert done.json["verdict"]["valid"] or not reasons, reasons
    assert (done.exit == 0) == (done.told["overall"]["outcome"] == "passed"), str(done)
    return check(done.json["sessions"][name])


def all_through(one, count, transactions=None, stopped=0):
    """So many sessions were opened, and all of them did what they should; so many because their time was up."""
    assert one["failed"] == {}, one["failed"]
    assert (one["attempted"], one["established"], one["completed"], one["active"]) == (count, count, count, 0), one
    assert one["stopped"] == stopped, one["stopped"]
    if transactions is not None:
        assert one["transactions"] == transactions, one["transactions"]
    return one


def all_failed(one, count, **reasons):
    """So many sessions were opened, and none came through; of each reason so many."""
    assert one["failed"] == reasons, one["failed"]
    assert (one["attempted"], one["completed"], one["active"]) == (count, count - sum(reasons.values()), 0), one
    return one


def hinted(done, start):
    """A note says where to look: `sessions` and then what is given."""
    notes = done.json["verdict"].get("notes", [])
    assert any(note.startswith(f"sessions {start}") for note in notes), notes


def no_resets(tcp):
    """Nobody reset, but for hosts that had forgotten a connection when something of it was acknowledged once more."""
    assert tcp["resets_out"] == 0 and tcp["resets_in"] <= tcp["duplicates"], tcp


def raw(request="100B", response="100B", **rest):
    """Requests and responses without meaning."""
    return {"raw": {"request": request, "response": response, **rest}}
