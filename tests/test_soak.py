"""A server that works for a long time with others looking on, and a day of virtual time: counts are exact, and memory does not grow.

EAGRE_SOAK_S: how long the server works, s; 900 unless it is set.
"""

import os
import random
import re
import statistics
import threading
import time

import pytest
from server import Server, rings

pytestmark = pytest.mark.long

SECONDS = float(os.environ.get("EAGRE_SOAK_S", 900))
WATCHERS = 3
# A server lists so many runs that have ended. Until then its memory grows.
LISTED = 200
# A day of it, which takes some minutes.
DAY_S = 86_400


def resident_mb(pid):
    """Memory of a process."""
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+) kB", status.read())[1]) / 1024


def web(count):
    """HTTP sessions between the ends of an in-process link."""
    return {
        "name": "web",
        "client": {"port": "west", "addresses": "10.0.0.10..10.0.0.29"},
        "server": {"port": "east", "addresses": "10.0.0.100", "ports": 80},
        "app": {"http": {"response": "4KB", "requests": 2}},
        "open": "500/s",
        "count": count,
    }


def is_flat(memory):
    """Whether the last quarter of some measurements is no higher than the second, but for what allocators keep."""
    quarter = len(memory) // 4
    before, after = statistics.median(memory[quarter : 2 * quarter]), statistics.median(memory[-quarter:])
    return after <= 1.15 * before + 16


class Watched:
    """A server with readers of its events and of its metrics."""

    def __init__(self, lab):
        self.server, self.is_over, self.faults = Server(lab), False, []
        self.looks, self.scrapes, self.run = 0, 0, None
        self.threads = [threading.Thread(target=self.look) for _ in range(WATCHERS)] + [threading.Thread(target=self.scrape)]
        [thread.start() for thread in self.threads]

    def keeping(self, what):
        try:
            what()
        except (AssertionError, OSError, KeyError) as fault:
            self.faults.append(repr(fault))

    def look(self):
        """As a dashboard: the list of runs, then the events of the newest until it ends."""
        while not self.is_over:
            self.keeping(self.look_once)

    def look_once(self):
        runs = self.server.get("/api/v1/runs", timeout=120)
        active = [run for run in runs if run["state"] in ("starting", "running", "draining")]
        if not active:
            time.sleep(0.1)
            return
        self.looks += sum(1 for _ in self.server.events(f"/api/v1/runs/{active[-1]['id']}/events?form=full", most_s=120))

    def scrape(self):
        while not self.is_over:
            self.keeping(self.scrape_once)
            time.sleep(1)

    def scrape_once(self):
        answer = self.server.ask("GET", "/metrics", timeout=120)
        assert answer.status == 200, answer
        self.scrapes += 1

    def close(self):
        self.is_over = True
        [thread.join(180) for thread in self.threads]


@pytest.fixture
def watched(lab):
    watched = Watched(lab)
    yield watched
    watched.close()


def test_a_server_that_is_watched(watched):
    """Every run of hundreds counts what it was to send, receives all of it, and holds on to nothing."""
    server, choice = watched.server, random.Random(7)
    memory, runs, packets, sessions = [], 0, 0, 0
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        streams, count, opened = choice.randint(1, 40), choice.randint(100, 2_000), choice.randint(0, 400)
        profile = rings("2kpps", "60s", streams, **({"sessions": [web(opened)]} if opened else {}))
        for one in profile["streams"]:
            one["count"] = count
        run = server.start(profile=profile)
        done = server.ended(run, 300)
        assert done["state"] == "done", done
        result = server.get(f"/api/v1/runs/{run['id']}/result", timeout=120)
        for name, one in result["streams"].items():
            assert (one["tx"], one["rx"], one["lost"], one["duplicates"]) == (count, count, 0, 0), (name, one, result["verdict"])
        if opened:
            one = result["sessions"]["web"]
            assert (one["attempted"], one["completed"], one["failed"], one["server"]["completed"]) == (opened, opened, {}, opened), one
        runs, packets, sessions = runs + 1, packets + streams * count, sessions + opened
        if runs > LISTED:
            memory.append(resident_mb(server.process.pid))
    watched.close()
    assert len(memory) >= LISTED, f"{runs} runs are too few to see whether memory grows: set EAGRE_SOAK_S"
    print(f"{runs} runs, {packets:,} packets and {sessions:,} sessions; memory {min(memory):.0f} to {max(memory):.0f} MB, {memory[-1]:.0f} at the end")
    print(f"{watched.looks:,} events, {watched.scrapes:,} scrapes")
    assert watched.faults == [] and watched.looks > runs and watched.scrapes > SECONDS / 30
    assert is_flat(memory), [round(mb) for mb in memory[:: len(memory) // 40]]


def test_a_day_of_virtual_time(lab):
    """25 packets and a session a second, for 24 hours: all of them, in order, and no more memory than for an hour."""
    flow = {"name": "s", "from": "west", "to": "east", "packet": [{"ipv4": {"dst": "10.0.0.2"}}, "udp"], "rate": "25pps"}
    entry = web(DAY_S) | {"open": "1/s"}
    profile = lab.profile(rings()["ports"], [flow], sessions=[entry], load={"duration": f"{DAY_S}s", "drain": "2s"})
    process = lab.start_eagre("sim", profile, "--json", "-")
    memory = []
    while process.poll() is None:
        try:
            memory.append(resident_mb(process.pid))
        except (OSError, TypeError):
            break
        time.sleep(0.25)
    result = lab.finish(process, 60).result()
    one, sessions = result["streams"]["s"], result["sessions"]["web"]
    assert (one["tx"], one["rx"], one["lost"], one["reordered"]) == (25 * DAY_S, 25 * DAY_S, 0, 0), one
    assert (sessions["attempted"], sessions["completed"], sessions["failed"]) == (DAY_S, DAY_S, {}), sessions
    print(f"memory {min(memory):.0f} to {max(memory):.0f} MB")
    assert is_flat(memory), memory
