"""What a server that was killed leaves: figures until a few seconds before, in its store, and nothing else for long."""

import contextlib
import json
import os
import signal
import sqlite3
import threading
from pathlib import Path

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

    def __init__(self, server, run, streams=1):
        super().__init__(daemon=True)
        self.streams = streams
        self.server, self.path, self.looks = server, f"/api/v1/runs/{run['id']}/events", []
        self.start()

    def run(self):
        with contextlib.suppress(OSError, AssertionError, ValueError):
            for name, document in self.server.events(self.path, 120):
                if name == "live":
                    self.looks.append((document["at_s"], sum(document["streams"]["tx"][: self.streams])))


def check_intervals(trial, looks, of=lambda interval: interval["streams"]["s0"]["tx"], in_all=lambda result: result["streams"]["s0"]["tx"]):
    """They leave nothing out, and add up to what a client saw; their number."""
    sent, at, compared, looks = 0, 0.0, 0, dict(looks)
    for interval in trial["intervals"]:
        assert interval["at_s"] - interval["interval_s"] == pytest.approx(at, abs=2e-6)
        at, sent = interval["at_s"], sent + of(interval)
        if at in looks:
            compared += 1
            assert looks[at] == sent
    assert compared > len(trial["intervals"]) / 2, (compared, len(looks))
    assert in_all(trial["result"]) == sent > 0
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
    assert report.status == 200 and b"packets per second" in report.body and b"not the whole run" in report.body
    assert again.ask("GET", f"/api/v1/results/{run['id']}/export").body.count(b"\n") == 2
    listed = lab.eagre("results", *store, "list").ok().out
    assert "interrupted" in listed and "not the whole run" in listed
    (exported,) = lab.eagre("results", *store, "export", "--format", "json").ok().json["trials"]
    assert exported["intervals"] == trial["intervals"]


@pytest.mark.parametrize("streams", [1_000, 4_000])
def test_intervals_of_many_streams_survive_kill_9(lab, streams):
    """They have the sum of all streams instead of rows. Rows of some thousand streams are stored at the end only."""
    server = Server(lab)
    run = server.start(profile=rings(f"{20_000 / streams:g}pps", "600s", streams), name="many")
    watcher = Watcher(server, run, streams)
    wait_until(lambda: len(watcher.looks) > 80, "eight seconds of traffic", 120, 0.1)
    kill(server)
    watcher.join(20)
    shown = lab.eagre("results", "--store", server.folder / "results.db", "show", "latest", "--json").ok().json
    (trial,) = shown["trials"]
    has_rows = streams == 1_000
    assert all(not interval.get("streams") for interval in trial["intervals"]) and len(trial["result"]["streams"]) == streams * has_rows
    if has_rows:
        in_all = lambda result: sum(row["tx"] for row in result["streams"].values())
    else:
        in_all = lambda result: result["ports"]["west"]["tx_packets"]
    check_intervals(trial, watcher.looks, lambda interval: interval["all_streams"]["tx"], in_all)
    assert errors(trial["intervals"][-1], json.loads(lab.eagre("schema", "interval").ok().out)) == []
    report = Server(lab, folder=server.folder).ask("GET", f"/api/v1/results/{run['id']}/report")
    assert report.status == 200 and b"packets per second" in report.body and b"one-way delay" in report.body


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
    last = sending[-1]["at_s"]
    assert sum(interval["interval_s"] for interval in sending) == pytest.approx(last) and last > 5.9
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


# A PID namespace of its own, as in a container.
CONTAINER = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")


def test_servers_in_containers_leave_each_others_runs_alone(lab):
    """Process numbers mean nothing across PID namespaces: each server has number 1."""
    need("unshare")
    folder = lab.folder()
    one = Server(lab, folder=folder, state="one", prefix=CONTAINER)
    run = one.start(profile=rings("1kpps", "600s"))
    one.sends(run)
    other = Server(lab, folder=folder, state="other", prefix=CONTAINER)
    outside = Server(lab, folder=folder, state="outside")

    def state(server):
        return server.get(f"/api/v1/results/{run['id']}")["campaign"]["state"]

    assert state(other) == state(outside) == "running"
    kill(one)
    # Its process is that of unshare, which takes the server with it.
    third = wait_until(lambda: last(lab, folder, state), "a server that marks it", 20, 0.2)
    assert third.run(run)["state"] == "interrupted"
    assert state(other) == "interrupted"


def last(lab, folder, state):
    """A new server, if it has marked the run."""
    server = Server(lab, folder=folder, state="last")
    return server if state(server) == "interrupted" else None


def test_folders_of_killed_runs_are_removed(lab):
    """Not while another server uses the same folder of states."""
    server = Server(lab)
    ports = {name: {**port, "capture": {"file": f"{name}.pcapng"}} for name, port in rings()["ports"].items()}
    run = server.start(profile=rings("2kpps", "600s") | {"ports": ports})
    server.sends(run, 1_000)
    folder = server.folder / "serve" / "runs" / run["id"]
    draft = server.folder / "serve" / "profiles" / ".eagre-0123456789abcdef.new"
    draft.write_text("half")
    assert list(folder.glob("*.pcapng"))
    beside = Server(lab, folder=server.folder)
    assert list(folder.glob("*.pcapng")) and draft.exists()
    kill(server)
    third = Server(lab, folder=server.folder)
    assert folder.exists()
    for one in (beside, third):
        kill(one)
    again = Server(lab, folder=server.folder)
    assert not folder.exists() and not draft.exists()
    # Its own folders stay.
    run = again.start(profile=rings("2kpps", "300ms") | {"ports": ports})
    again.ended(run)
    assert (again.folder / "serve" / "runs" / run["id"]).exists()


def processes_that_name(path):
    """Command lines of processes that have this path in theirs."""
    lines = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            line = (process / "cmdline").read_bytes()
            lines += [line] if str(path).encode() in line else []
    return lines


def test_reports_of_killed_scripts_are_removed(lab):
    """Not those of scripts that run."""
    folder = lab.folder()
    script = folder / "s.lua"
    script.write_text("function master() while true do end end\n")
    command = ("script", script, "--ports", "ring:a", "--for", "60s")

    def reports():
        return {path.name for path in folder.glob("eagre-script-*.json")}

    def start(known):
        process = lab.start_eagre(*command, env={"TMPDIR": str(folder)})
        wait_until(lambda: reports() - known, "a report", 30)
        return process, (reports() - known).pop()

    lives, its_own = start(set())
    killed, left = start({its_own})
    users = folder / "eagre-script-mine.json"
    users.write_text("{}")
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert left in reports()
    third, own = start(reports())
    assert reports() == {its_own, own, users.name}
    assert len(processes_that_name(script)) >= 2
    for process in (lives, third):
        process.send_signal(signal.SIGKILL)
    wait_until(lambda: not processes_that_name(script), "the scripts' end with their supervisors", 10)


def test_folders_of_killed_programs_are_removed(lab):
    """Those of control protocols. Of a run that ended they stay, because the result names them."""
    need("ip")
    folder, ports = lab.folder(), pair()
    ports["west"]["punt"] = {}
    entry = {"name": "idle", "port": "west", "command": ["sleep", "1000"], "ready": "true"}

    def run(duration):
        profile = lab.profile(ports, [], protocols=[entry], load={"duration": duration, "drain": "10ms"})
        return lab.start_eagre("run", profile, "--json", "-", env={"TMPDIR": str(folder)})

    def folders():
        return {path.name for path in folder.glob("eagre-*-idle-*")}

    first = lab.finish(run("100ms"))
    (kept,) = folders()
    assert first.json["protocols"][0]["folder"] == str(folder / kept)
    killed = run("60s")
    wait_until(lambda: folders() - {kept}, "a folder", 30)
    (left,) = folders() - {kept}
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    lab.finish(run("100ms"))
    assert left not in folders() and kept in folders() and len(folders()) == 2


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


def read_only(lab, folder, *words):
    """`eagre results` where the folder's file system is read-only."""
    script = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'
    process = lab.start("unshare", "--mount", "sh", "-c", script, "sh", folder, EAGRE, "results", *words)
    return lab.finish(process)


def test_stores_that_cant_be_written_can_be_read(lab):
    """A file system that is read-only, and files of somebody else."""
    need("unshare", "mount")
    server = Server(lab)
    run = server.start(profile=rings("1kpps", "600s"), name="kept")
    wait_until(lambda: server.get(f"/api/v1/results/{run['id']}")["trials"], "a part of it in the store", 30, 0.2)
    store = server.folder / "results.db"
    kill(server)
    commands = (("list",), ("show",), ("export",), ("report", "-o", "-"), ("trend",), ("profile",))

    def check(of):
        for command in commands:
            assert of(*command).ok(), command
        assert "kept" in of("list").out and '"s0"' in of("show", "--json").out

    def of_another(*words):
        return lab.eagre("results", "--store", store, *words, user=True)

    # As it was left, with the log in which the newest trials are.
    assert os.path.getsize(f"{store}-wal") > 0
    check(lambda *words: read_only(lab, server.folder, "--store", store, *words))
    server.folder.chmod(0o755)
    check(of_another)
    # Moved into the file, as SQLite does once nobody has it open.
    with sqlite3.connect(store) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    assert not os.path.exists(f"{store}-wal")
    check(lambda *words: read_only(lab, server.folder, "--store", store, *words))
    check(of_another)
    refused = of_another("delete", run["id"])
    assert refused.exit == 3 and "readonly" in refused.err
    # What can't be read whole is not read in part.
    log = server.folder / "results.db-wal"
    log.write_bytes(b"x")
    refused = read_only(lab, server.folder, "--store", store, "list")
    assert refused.exit == 3 and f"the newest trials are in {log}; copy both" in refused.err
