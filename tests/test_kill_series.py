"""`kill -9` of a server again and again, with clients at work: what it gave is still there afterwards, and it calls nothing done that is lost.

In the second series the store is locked by another process or its disk is full at that moment.
"""

import contextlib
import http.client
import json
import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from lab import call, need, wait_until
from server import Server, rings

pytestmark = [pytest.mark.long, pytest.mark.unsteady("a server that gets no core for a minute is given up")]

CLIENTS = 3
OVER = {"done", "failed", "stopped", "interrupted"}
# Results that were given before, of which each round looks at some again; the last one looks at all.
AGAIN = 20
# Prints the state of each run in a store, and whether it has a result.
ROWS = """
import json, sqlite3, sys
store = sqlite3.connect(sys.argv[1], timeout=30)
assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
rows = store.execute("SELECT id, state, EXISTS (SELECT 1 FROM trial WHERE campaign = id) FROM campaign")
print(json.dumps({run: (state, bool(has_result)) for run, state, has_result in rows}))
"""
# Locks a store until standard input ends.
LOCK = """
import sqlite3, sys
store = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)
store.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
"""


class World:
    """A server that is killed and started again on the same store, and clients that take down what it tells them."""

    def __init__(self, lab, store=None, prefix=()):
        self.lab, self.folder, self.prefix = lab, lab.folder(), prefix
        self.store = store or self.folder / "results.db"
        self.random = random.Random(42)
        self.started, self.given, self.fresh, self.withheld, self.refused = set(), {}, [], set(), {}
        self.captures, self.kills, self.unstored = 0, 0, 0
        self.server, self.is_over, self.faults = None, False, []
        self.lock = threading.Lock()
        self.begin()
        self.clients = [threading.Thread(target=self.client, args=(number,)) for number in range(CLIENTS)]
        [client.start() for client in self.clients]

    def begin(self):
        """Starts a server, and looks at what is in the store before clients find it."""
        server = Server(self.lab, folder=self.folder, store=self.store, prefix=self.prefix)
        self.look(server)
        self.server = server

    def wait(self, results):
        """Until so many more results were given, however slow the machine is, and for a random time."""
        enough = len(self.given) + results
        wait_until(lambda: self.faults or len(self.given) >= enough, "a result", 30)
        time.sleep(self.random.uniform(0, 0.8))

    def kill(self):
        self.kills += 1
        server, self.server = self.server, None
        assert server.process.poll() is None, f"it ended by itself: {server.process.communicate()}"
        server.process.kill()
        server.process.wait(20)
        # Pipes and files of hundreds of processes.
        server.process.stderr.close()
        self.lab.processes.remove(server.process)

    def close(self):
        self.is_over = True
        [client.join(60) for client in self.clients]
        assert not self.faults, self.faults
        assert not any(client.is_alive() for client in self.clients)

    # Clients.

    def client(self, number):
        """Starts runs, one after the other, and reads what came of them."""
        dice = random.Random(number)
        while not self.is_over:
            server = self.server
            if server is None:
                time.sleep(0.02)
                continue
            try:
                self.one_run(server, number, dice)
            except (OSError, http.client.HTTPException):
                # The server was killed.
                time.sleep(0.02)
            except Exception as fault:
                self.faults.append(repr(fault))
                raise

    def one_run(self, server, number, dice):
        profile = rings(rate=f"{dice.choice([1, 2, 5])}kpps", duration=f"{dice.choice([20, 80, 200, 500])}ms", streams=dice.choice([1, 1, 8]))
        profile["load"]["drain"] = "20ms"
        for side, end in (("west", "a"), ("east", "b")):
            profile["ports"][side]["device"] = f"ring:c{number}.{end}"
        captures = dice.random() < 0.3
        if captures:
            profile["ports"]["east"]["capture"] = {"file": "any.pcapng"}
        answer = server.ask("POST", "/api/v1/runs", {"profile": profile}, timeout=60)
        if answer.status != 201:
            with self.lock:
                self.refused[answer.status] = self.refused.get(answer.status, 0) + 1
            time.sleep(0.1)
            return
        run = answer.json()["id"]
        with self.lock:
            self.started.add(run)
        if number == 0:
            # As the dashboard learns of the end.
            list(server.events(f"/api/v1/runs/{run}/events?every_s=0.1", 60))
        while not self.is_over and server.get(f"/api/v1/runs/{run}")["state"] not in OVER:
            time.sleep(0.02)
        if captures:
            packets = server.ask("GET", f"/api/v1/runs/{run}/captures/east", timeout=60)
            assert packets.status == 200 and packets.body[:4] == b"\x0a\x0d\x0d\x0a", packets
            self.captures += 1
        answer = server.ask("GET", f"/api/v1/runs/{run}/result", timeout=60)
        if answer.status != 200:
            return
        told = server.get(f"/api/v1/runs/{run}")
        with self.lock:
            if told["state"] == "done" and told["reason"] is None:
                self.given[run] = answer.json()
                self.fresh.append(run)
            elif "not stored yet" in (told["reason"] or ""):
                self.withheld.add(run)
            else:
                self.faults.append(str(told))

    # What is in the store.

    def rows(self):
        """State of each run in the store, and whether it has a result."""
        rows = json.loads(call(*self.prefix, sys.executable, "-c", ROWS, self.store))
        return {run: tuple(row) for run, row in rows.items()}

    @contextlib.contextmanager
    def locked(self):
        """Nobody else can write to the store."""
        process = self.lab.start(*self.prefix, sys.executable, "-c", LOCK, self.store, stdin=subprocess.PIPE)
        assert process.stdout.readline() == "locked\n", process.communicate()
        try:
            yield
        finally:
            process.communicate("", timeout=20)
            self.lab.processes.remove(process)

    def look(self, server, everything=False):
        """What was given is there and unchanged; what was begun has ended, and only what has a result is done."""
        with self.lock:
            fresh, self.fresh, started = self.fresh, [], set(self.started)
            older = list(self.given)
        again = older if everything else self.random.sample(older, min(AGAIN, len(older)))
        rows = self.rows()
        assert started <= rows.keys(), f"begun, and not in the store: {started - rows.keys()}"
        for run, (state, has_result) in rows.items():
            assert state in ("done", "interrupted"), (run, state)
            assert has_result or state != "done", f"{run} is called done and has no result"
        for run in {*fresh, *again}:
            assert rows[run] == ("done", True), (run, rows[run])
            kept = server.get(f"/api/v1/results/{run}")
            assert kept["campaign"]["state"] == "done" and len(kept["trials"]) == 1
            assert kept["trials"][0]["result"] == self.given[run], run
        # A list of runs calls nothing done that the store does not.
        for run in server.get("/api/v1/runs"):
            assert run["state"] == rows[run["id"]][0] == "interrupted", run

    def said(self):
        """The numbers of a series."""
        rows = self.rows()
        states = [state for state, _ in rows.values()]
        lost = [run for run in self.withheld - self.given.keys() if not rows[run][1]]
        return (
            f"{self.kills} kills, {len(self.started)} runs begun, {self.captures} captures read, {len(self.given)} results given, "
            f"{states.count('done')} done and {states.count('interrupted')} interrupted in the store; "
            f"{len(self.withheld)} given as not stored yet, of which {len(lost)} are gone; refused by status: {self.refused}"
        )


def test_200_kills(lab):
    """At any time: while runs begin, send, end and are read."""
    world = World(lab)
    try:
        for number in range(200):
            world.wait(number % 2)
            world.kill()
            world.begin()
    finally:
        world.close()
    world.kill()
    server = Server(lab, folder=world.folder)
    world.look(server, everything=True)
    print(world.said())
    assert len(world.given) >= 100, world.said()


class Disk:
    """A small file system that another process keeps mounted, so that it goes with that process."""

    def __init__(self, lab):
        need("unshare", "nsenter", "mount")
        self.mounted = lab.folder()
        script = f"mount -t tmpfs -o size=64m eagre-test {self.mounted} && echo ready && exec sleep infinity"
        self.process = lab.start("unshare", "--mount", "sh", "-c", script)
        assert self.process.stdout.readline() == "ready\n", self.process.communicate()
        self.prefix = ("nsenter", f"--mount=/proc/{self.process.pid}/ns/mnt")
        self.seen = Path(f"/proc/{self.process.pid}/root{self.mounted}")

    @contextlib.contextmanager
    def full(self):
        filler = self.seen / "filler"
        with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 65_536)
        with filler.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"x" * 512)
        try:
            yield
        finally:
            filler.unlink()


def test_50_kills_while_the_store_takes_nothing(lab):
    """Locked or full: what was told as not stored yet may be gone; nothing else is."""
    disk = Disk(lab)
    world = World(lab, disk.mounted / "results.db", disk.prefix)
    try:
        for number in range(50):
            world.wait(1)
            # The server waits for 10 s for a lock, and not at all for space.
            seconds = 12 if number % 10 == 0 else world.random.uniform(0, 2)
            with world.locked() if number % 2 == 0 else disk.full():
                time.sleep(seconds)
                world.kill()
            world.begin()
    finally:
        world.close()
    world.kill()
    world.begin()
    world.look(world.server, everything=True)
    print(world.said())
    assert len(world.given) >= 50, world.said()


def test_what_was_not_stored_is_stored_once_there_is_space(lab):
    """And is given as not stored until then."""
    disk = Disk(lab)
    server = Server(lab, store=disk.mounted / "results.db", prefix=disk.prefix)
    run = server.start(profile=rings("1kpps", "500ms"))
    server.sends(run)
    with disk.full():
        told = server.ended(run)
        assert told["state"] == "done" and "not stored yet" in told["reason"], told
        result = server.get(f"/api/v1/runs/{run['id']}/result")
        assert server.get(f"/api/v1/results/{run['id']}")["campaign"]["state"] == "running"
    wait_until(lambda: server.run(run)["reason"] is None, "the result in the store", 20)
    server.process.kill()
    server.process.wait(20)
    again = Server(lab, folder=server.folder, store=disk.mounted / "results.db", prefix=disk.prefix)
    kept = again.get(f"/api/v1/results/{run['id']}")
    assert kept["campaign"]["state"] == "done" and kept["trials"][0]["result"] == result
