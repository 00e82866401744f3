"""What a server that was killed leaves: figures until a few seconds before, in its store, and nothing else for long."""

import contextlib
import json
import os
import signal
import sqlite3
import threading
import time

import pytest
from json_schema import errors
from lab import EAGRE, need, pair, wait_until
from server import Server, rings

# Longest time before the end that is lost: that of a batch, and that for the next one on a busy machine.
LOST_S = 8


def kill(server):
    server.process.send_signal(signal.SIGKILL)
    server.process.wait(10)


class Watcher(threading.Thread):
    """A client that watches a run until its server is gone."""

    def __init__(self, server, run):
        super().__init__(daemon=True)
        self.server, self.path, self.looks = server, f"/api/v1/runs/{run['id']}/events", []
        self.start()

    def run(self):
        with contextlib.suppress(OSError, AssertionError, ValueError):
            for name, document in self.server.events(self.path, 120):
                if name == "live":
                    self.looks.append((document["at_s"], document["streams"]["tx"][0]))


def check_intervals(trial, looks, stream="s0"):
    """They leave nothing out, and add up to what a client saw; their number."""
    sent, at, compared, looks = 0, 0.0, 0, dict(looks)
    for interval in trial["intervals"]:
        assert interval["at_s"] - interval["interval_s"] == pytest.approx(at, abs=2e-6)
        at, sent = interval["at_s"], sent + interval["streams"][stream]["tx"]
        if at in looks:
            compared += 1
            assert looks[at] == sent
    assert compared > len(trial["intervals"]) / 2, (compared, len(looks))
    assert trial["result"]["streams"][stream]["tx"] == sent > 0
    assert trial["result"]["duration_s"] == pytest.approx(at)
    assert at > max(looks) - LOST_S
    return len(trial["intervals"])


def test_intervals_survive_kill_9(lab):
    """They are where those of finished runs are: API, lists, exports, reports."""
    server = Server(lab)
    run = server.start(profile=rings("2kpps", "600s"), name="long", tags=["dut=none"])
    watcher = Watcher(server, run)
    wait_until(lambda: len(watcher.looks) > 80, "eight seconds of traffic", 60, 0.1)
    underway = server.get(f"/api/v1/results/{run['id']}")
    assert underway["campaign"]["state"] == "running" and underway["trials"][0]["intervals"]
    kill(server)
    watcher.join(20)
    # Before any server starts again, and after.
    store = ("--store", server.folder / "results.db")
    shown = lab.eagre("results", *store, "show", "latest", "--json").ok().json
    assert check_intervals(shown["trials"][0], watcher.looks) > 20
    again = Server(lab, folder=server.folder)
    marked = again.run(run)
    assert marked["state"] == "interrupted" and marked["at_s"] > watcher.looks[-1][0] - LOST_S
    kept = again.get(f"/api/v1/results/{run['id']}")
    assert kept["campaign"]["state"] == "interrupted"
    (trial,) = kept["trials"]
    assert trial["intervals"] == shown["trials"][0]["intervals"]
    assert trial["interrupted"] and not trial["valid"] and "not the whole run" in trial["reasons"][0]
    assert errors(trial["result"], json.loads(lab.eagre("schema", "result").ok().out)) == []
    rules = json.loads(lab.eagre("schema", "interval").ok().out)
    assert errors(trial["intervals"][0], rules) == errors(trial["intervals"][-1], rules) == []
    report = again.ask("GET", f"/api/v1/results/{run['id']}/report")
    assert report.status == 200 and b"Packets per second" in report.body and b"not the whole run" in report.body
    assert again.ask("GET", f"/api/v1/results/{run['id']}/export").body.count(b"\n") == 2
    listed = lab.eagre("results", *store, "list").ok().out
    assert "interrupted" in listed and "not the whole run" in listed
    (exported,) = lab.eagre("results", *store, "export", "--format", "json").ok().json["trials"]
    assert exported["intervals"] == trial["intervals"]


def test_a_run_that_ends_has_its_own_result(lab):
    """Intervals stored on the way are there once, and the last of them, too."""
    server = Server(lab)
    run = server.start(profile=rings("2kpps", "6s"))
    watcher = Watcher(server, run)
    assert server.ended(run)["state"] == "done"
    watcher.join(20)
    (trial,) = server.get(f"/api/v1/results/{run['id']}")["trials"]
    assert trial["result"] == server.get(f"/api/v1/runs/{run['id']}/result")
    intervals, stream = trial["intervals"], trial["result"]["streams"]["s0"]
    for count in ("tx", "rx"):
        assert sum(interval["streams"]["s0"][count] for interval in intervals) == stream[count] > 0
    # None is of the time before and after the end of sending.
    sending = [interval for interval in intervals if not interval["draining"]]
    assert sum(interval["interval_s"] for interval in sending) == pytest.approx(sending[-1]["at_s"]) > 5.9
    assert all(interval["streams"]["s0"]["tx"] == 0 for interval in intervals if interval["draining"])


def test_intervals_wait_for_a_locked_store(lab):
    """The run goes on and says so; none is lost."""
    server = Server(lab)
    run = server.start(profile=rings("2kpps", "600s"))
    watcher = Watcher(server, run)
    wait_until(lambda: len(watcher.looks) > 5, "traffic", 30, 0.1)
    other = sqlite3.connect(server.folder / "results.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    wait_until(lambda: server.run(run)["warnings"], "a word of it", 30, 0.1)
    (warning,) = server.run(run)["warnings"]
    assert warning == "intervals are not stored yet, trying again: the store is locked by another program"
    sent = watcher.looks[-1][1]
    wait_until(lambda: watcher.looks[-1][1] > sent + 2_000, "traffic that goes on", 30, 0.1)
    other.execute("ROLLBACK")
    other.close()
    wait_until(lambda: not server.run(run)["warnings"], "that it is stored", 30, 0.1)
    kill(server)
    watcher.join(20)
    shown = lab.eagre("results", "--store", server.folder / "results.db", "show", "--json").ok().json
    check_intervals(shown["trials"][0], watcher.looks)


def test_a_deleted_run_ends_without_its_entry(lab):
    """What is deleted by another program stays so, and the server does not try for ever."""
    server = Server(lab)
    run = server.start(profile=rings("2kpps", "600s"))
    server.sends(run)
    lab.eagre("results", "--store", server.folder / "results.db", "delete", run["id"]).ok()
    wait_until(lambda: server.run(run)["warnings"], "a word of it", 30, 0.1)
    assert "deleted from the store" in server.run(run)["warnings"][0]
    assert server.ask("POST", f"/api/v1/runs/{run['id']}/stop").status == 200
    ended = server.ended(run)
    assert ended["state"] == "stopped" and "it was deleted from the store" in ended["reason"], ended
    assert server.get("/api/v1/results") == []


def test_profiles_written_at_once_are_whole(lab):
    """Whoever reads sees the one or the other, and no write is refused."""
    server = Server(lab)
    texts = [f"# {letter}\n" + f"# {letter * 60}\n" * 2_000 + json.dumps(rings()) + "\n" for letter in "abc"]
    path, statuses, torn = "/api/v1/profiles/mine", [], []
    assert server.ask("PUT", path, {"profile": texts[0]}).status == 200
    over = threading.Event()

    def write(text):
        for _ in range(60):
            statuses.append(server.ask("PUT", path, {"profile": text}).status)

    def read():
        while not over.is_set():
            answer = server.ask("GET", path)
            if answer.status != 200 or answer.json()["profile"] not in texts:
                torn.append(answer)

    readers = [threading.Thread(target=read) for _ in range(2)]
    writers = [threading.Thread(target=write, args=(text,)) for text in texts for _ in range(2)]
    for thread in readers + writers:
        thread.start()
    for thread in writers:
        thread.join()
    over.set()
    for thread in readers:
        thread.join()
    assert set(statuses) == {200} and not torn, (set(statuses), torn[:1])
    assert [path.name for path in (server.folder / "serve" / "profiles").iterdir()] == ["mine.yaml"]
