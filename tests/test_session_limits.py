"""A million concurrent sessions, and many of QUIC: all open, transfer and close, and their memory is measured."""

import json
import time
from pathlib import Path

from lab import LONG, pair
from sessions import all_through, check

MANY = 10_000_000 if LONG else 1_000_000
# What an established endpoint may cost, everything counted.
BYTES_MAX = 200 if LONG else 250
MANY_QUIC, QUIC_RATE = (100_000, 1_000) if LONG else (3_000, 200)
# Some 27,000 were measured.
QUIC_BYTES_MAX = 36_000
# Ports of a client to one server.
PORTS = 64_000


def entry(count):
    """Sessions of one exchange each, held until all are there and have been for a while."""
    servers = -(-count // PORTS)
    return {
        "name": "s",
        "client": {"port": "west", "addresses": "10.0.0.10"},
        "server": {"port": "east", "addresses": f"10.0.1.1..10.0.1.{servers}", "ports": 80},
        "app": {"raw": {"request": "64B", "response": "64B"}},
        "open": "max",
        "concurrent": count,
        "count": count,
        "hold": f"{max(6, count // 100_000)}s",
        "tcp": {"time_wait": "skip", "ack_delay": "1ms"},
        "response_timeout": "60s",
    }


def resident(process):
    """Memory of a process, its huge pages among it, bytes."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    kilobytes = {line.split(":")[0]: int(line.split()[1]) for line in lines if line.endswith(" kB")}
    return 1024 * (kilobytes["VmRSS"] + kilobytes.get("HugetlbPages", 0))


def test_a_million_sessions_at_a_time(lab, capsys):
    """In memory; the process grows by so many bytes for each end of a session as is printed."""
    lines = lab.folder() / "lines.jsonl"
    load = {"duration": "600s" if LONG else "120s", "drain": "2s"}
    ports = pair()
    # Servers need more addresses than one network of the pair has.
    for port in ports.values():
        port["ip"] = port["ip"].replace("/24", "/16")
    profile = lab.profile(ports, None, sessions=[entry(MANY)], load=load)
    small = lab.profile(ports, None, sessions=[{**entry(1000), "hold": "2s"}], load=load)
    before = most_resident(lab, small, lines, 1000)
    after = most_resident(lab, profile, lines, MANY)
    each = (after["resident"] - before["resident"]) / (2 * (MANY - 1000))
    one = all_through(check(after["result"]["sessions"]["s"]), MANY, MANY)
    with capsys.disabled():
        print(f"\n{MANY} sessions: {each:.0f} B for each established endpoint")
    assert one["active_max"] == MANY == after["active"], (one["active_max"], after["active"])
    assert one["server"]["completed"] == MANY and one["retransmitted_segments"] == 0, one
    assert each <= BYTES_MAX, f"{each:.0f} B"


def most_resident(lab, profile, lines, count):
    """Runs a profile; the result, and the memory of the process when so many sessions were there."""
    lines.unlink(missing_ok=True)
    process = lab.start_eagre("run", profile, "--json", "-", "--jsonl", lines, "--interval", "200ms")
    most, active, end = 0, 0, time.monotonic() + (900 if LONG else 150)
    while process.poll() is None and time.monotonic() < end:
        now = latest(lines)
        active = max(active, now)
        if now == count:
            most = max(most, resident(process))
        time.sleep(0.1)
        if now < count == active:
            break
    done = lab.finish(process, 300 if LONG else 90)
    assert most, f"never were {count} sessions there at a time, at most {active}: {done.err[-500:]}"
    return {"resident": most, "active": active, "result": done.result()}


def latest(lines):
    """Sessions there were at the end of the last interval. Each tells how many more there are than before it."""
    whole = lines.read_text().rpartition("\n")[0].splitlines() if lines.exists() else []
    return sum(json.loads(line)["sessions"]["s"]["active"] for line in whole)


def idle_quic(count):
    """Connections of QUIC that have exchanged a message each, and are idle until all are there and have been for a while."""
    servers = -(-count // PORTS)
    return {
        "name": "s",
        "client": {"port": "west", "addresses": "10.0.0.10"},
        "server": {"port": "east", "addresses": f"10.0.1.1..10.0.1.{servers}", "ports": 4433},
        "transport": "quic",
        "tls": {"alpn": "idle/1"},
        "udp": {"idle_timeout": "600s"},
        "app": {"raw": {"request": "64B", "response": "64B"}},
        "open": f"{QUIC_RATE}/s",
        "count": count,
        "hold": f"{count // QUIC_RATE + 15}s",
        "response_timeout": "60s",
    }


def test_idle_connections_of_quic(lab, capsys):
    """Their keys, windows and buffers: the process grows by so many bytes for each end as is printed."""
    lines = lab.folder() / "lines.jsonl"
    ports = pair()
    for port in ports.values():
        port["ip"] = port["ip"].replace("/24", "/16")
    load = {"duration": f"{2 * MANY_QUIC // QUIC_RATE + 40}s", "drain": "5s"}
    few = MANY_QUIC // 10
    small, large = (lab.profile(ports, None, sessions=[idle_quic(count)], load=load) for count in (few, MANY_QUIC))
    before = most_resident(lab, small, lines, few)
    after = most_resident(lab, large, lines, MANY_QUIC)
    each = (after["resident"] - before["resident"]) / (2 * (MANY_QUIC - few))
    one = all_through(check(after["result"]["sessions"]["s"]), MANY_QUIC, MANY_QUIC)
    with capsys.disabled():
        print(f"\n{MANY_QUIC} connections of QUIC: {each:.0f} B for each end")
    assert one["active_max"] == MANY_QUIC and one["server"]["completed"] == MANY_QUIC, one
    assert each <= QUIC_BYTES_MAX, f"{each:.0f} B"
