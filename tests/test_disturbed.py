"""A tester that is kept from its core says so: its own pauses and bursts are not taken for the device's."""

import os
import re
import signal
import time

import pytest
from lab import EAGRE, pair, stream


def profile_of(lab, rate="10kpps", duration="1500ms"):
    return lab.profile(pair(), [stream("s", "west", "east", rate=rate)], load={"duration": duration, "drain": "100ms"})


def paused(lab, profile):
    """A run that stood still for 300 ms while it sent."""
    process = lab.begun("run", profile, "--json", "-", intervals=4)
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGCONT)
    return lab.finish(process)


def hog(lab, core):
    """A busy loop on the worker's core."""
    return lab.start("taskset", "-c", core, "/usr/bin/python3", "-c", "while True: pass")


def on_one_core(lab, profile, core, *more):
    """A run whose workers can't go to another core."""
    return lab.finish(lab.start("taskset", "-c", core, EAGRE, "run", profile, *more))


@pytest.mark.alone
def test_a_worker_that_shares_its_core_is_named(lab):
    """Three busy loops on the only core it may use: not valid, with the time it waited; the same in the table. What holds decides."""
    profile, core = profile_of(lab), max(os.sched_getaffinity(0))
    hogs = [hog(lab, core) for _ in range(3)]
    try:
        done = on_one_core(lab, profile, core, "--json", "-")
        table = on_one_core(lab, profile, core)
    finally:
        for one in hogs:
            one.kill()
            one.wait()
    verdict, worker = done.told["verdict"], done.told["workers"][0]
    assert worker["core"] == core and worker["waited_s"] > 0.3, worker
    assert worker["priority"] == "normal: no core is left for everything else"
    # Nothing was lost: what was asked holds.
    assert (done.exit, verdict["valid"], verdict["disturbed"]) == (0, False, True), verdict
    assert any("worker 0 waited" in reason and "for its core" in reason for reason in verdict["reasons"]), verdict
    assert table.exit == 0 and "INVALID" in table.out + table.err and "worker 0 waited" in table.out + table.err
    holds, stream = verdict["holds"], done.told["streams"]["s"]
    assert stream["lost"] == 0 and holds["streams.s.lost"] == {"holds": True}, holds
    assert holds["streams.s.reordered"] == {"holds": True}, holds
    latency = holds["streams.s.latency_ns"]
    assert not latency["holds"] and "worker 0 waited" in latency["reason"] and latency["remedy"], latency
    # One cause: what other processes took is not called too high a load.
    assert not any("exceeds" in reason for reason in verdict["reasons"]), verdict
    machine = done.told["machine"]
    assert machine["others_cores"] > 0.4 and "python3" in [usage["name"] for usage in machine["others"]], machine
    assert "  machine: other processes kept " in table.out


@pytest.mark.alone
def test_a_worker_leaves_a_core_that_others_use(lab):
    """Two busy loops that stay on its core: it moves to another one if that is idle, says so, and waits no more from then on."""
    tester, sink = lab.netns("tester"), lab.netns("sink")
    lab.veth(tester, "veth0", sink, "s0")
    ports = {"west": {"device": "afpacket:veth0"}}
    packet = [{"ethernet": {"dst": "02:00:00:00:00:09"}}, {"ipv4": {"src": "10.0.0.2", "dst": "10.0.1.2"}}, "udp"]
    streams = [{"name": "s", "from": "west", "packet": packet, "size": "64B", "rate": "10kpps"}]
    profile = lab.profile(ports, streams, load={"duration": "3s", "drain": "100ms", "polling": "busy"})
    core = max(os.sched_getaffinity(0))
    hogs = [hog(lab, core) for _ in range(2)]
    try:
        done = lab.eagre("run", profile, "--json", "-", ns=tester)
    finally:
        for one in hogs:
            one.kill()
            one.wait()
    worker, machine = done.told["workers"][0], done.told["machine"]
    if "moves" not in worker:
        assert machine["others_cores"] > 1.2, f"another core was idle: {worker}, {machine}"
        return
    first = worker["moves"][0]
    assert (first["from"], first["to"] != core, first["at_s"] < 1.5) == (core, True, True), worker
    assert first["waited_ratio"] > 0.1 and worker["core"] == worker["moves"][-1]["to"], worker
    assert worker["waited_s"] < 1.5, worker
    assert any(f"worker 0 moved from core {core} to core " in note for note in done.told["verdict"]["notes"])
    assert worker["priority"].startswith("normal: the kernel handles packets"), worker


def test_workers_without_kernel_interfaces_have_priority(lab):
    """Where that leaves a core for everything else, and the system allows it."""
    worker = lab.eagre("run", profile_of(lab, duration="100ms"), "--json", "-").told["workers"][0]
    spare = len(os.sched_getaffinity(0)) > 1
    assert worker["priority"] == ("nice -20" if spare else "normal: no core is left for everything else")
    words = ("setpriv", "--bounding-set=-sys_nice", "--inh-caps=-all", "--ambient-caps=-all")
    process = lab.start(*words, EAGRE, "run", profile_of(lab, duration="100ms"), "--json", "-")
    limited = lab.finish(process).told["workers"][0]["priority"]
    assert limited.startswith("normal: "), limited


def test_a_pause_is_told(lab):
    """The process is stopped for 300 ms and sends what was due meanwhile in one burst."""
    done = paused(lab, profile_of(lab, duration="3s"))
    verdict, worker = done.told["verdict"], done.told["workers"][0]
    assert worker["stall_max_ns"] >= 250_000_000 and worker["paused_s"] >= 0.25, worker
    # Nothing was lost, whatever the pause did: that is all that was asked.
    assert (done.exit, verdict["valid"], verdict["disturbed"]) == (0, False, True), verdict
    assert any(reason.startswith("worker 0 ") for reason in verdict["reasons"]), verdict
    stream = done.told["streams"]["s"]
    apart = stream["undisturbed"]
    assert 0 < apart["ratio"] < 0.95, apart
    assert apart["latency_ns"]["max"] < 250_000_000 and apart["latency_ns"]["samples"] < stream["latency_ns"]["samples"], stream
    assert verdict["holds"]["streams.s.lost"] == {"holds": True} or stream["lost"], verdict


CRITERIA = {
    "streams.s.lost": ("== 0", "met"),
    "streams.s.latency_ns.p50": ("< 200ms", "met"),
    "streams.s.interarrival_ns.max": ("< 50ms", "cannot_judge"),
    "streams.s.tx": ("> 1", "met"),
}


def test_criteria_are_judged_on_what_holds(lab):
    """A pause of 300 ms: what was lost and the usual delay are known, the longest time between arrivals is not."""
    criteria = {path: condition for path, (condition, _) in CRITERIA.items()}
    profile = lab.profile(pair(), [stream("s", "west", "east", rate="10kpps")], load={"duration": "3s", "drain": "100ms"}, criteria=criteria)
    done = paused(lab, profile)
    found = {one["path"]: one["outcome"] for one in done.told["criteria"]}
    assert found == {path: outcome for path, (_, outcome) in CRITERIA.items()}, done.told["criteria"]
    doubted = next(one for one in done.told["criteria"] if one["outcome"] == "cannot_judge")
    assert "worker 0" in doubted["reason"] and not doubted["passed"], doubted
    assert "can't be judged here" in done.err, done.err


def test_times_of_sessions_are_at_most_what_was_measured(lab):
    """A pause of 300 ms adds to them: an upper limit that is kept is met, one that is not can't be judged."""
    web = {"name": "web", "client": {"port": "west", "addresses": "10.0.0.2"}, "server": {"port": "east", "addresses": "10.0.0.3"}, "open": "200/s", "app": "http"}
    paths = {"sessions.web.ttlb_ns.p99": "< 2s", "sessions.web.ttlb_ns.max": "< 1us", "sessions.web.setup_ns.stddev": "< 2s"}
    profile = lab.profile(pair(), None, sessions=[web], load={"duration": "3s", "drain": "500ms"}, criteria=paths)
    done = paused(lab, profile)
    verdict, seen = done.told["verdict"], done.told["sessions"]["web"]
    if seen["failed"] or seen["unopened"] > 0:
        assert not any(entry.get("at_most") for entry in verdict["holds"].values()), verdict["holds"]
        return
    assert verdict["disturbed"] and verdict["holds"]["sessions.web.ttlb_ns"]["at_most"], verdict
    found = [one["outcome"] for one in done.told["criteria"]]
    assert found == ["met", "cannot_judge", "cannot_judge"], done.told["criteria"]
    assert "is at most what was measured: " in done.err, done.err


def test_virtual_time_has_no_disturbances(lab):
    """Whatever the machine does, nothing of it is in a simulated result."""
    profile = profile_of(lab)
    simulated = lab.eagre("sim", profile, "--json", "-").ok().told
    assert simulated["verdict"] == {"valid": True, "generator_limited": False, "disturbed": False, "reasons": []}
    assert not simulated["workers"][0].keys() & {"waited_s", "paused_s"}


@pytest.mark.parametrize("trouble", ["loops", "stops"])
def test_the_demo_works_on_a_busy_machine(lab, trouble):
    """Two busy loops per core, or a process that is stopped for a while: exit 0, what holds, and one line on the machine."""
    if trouble == "loops":
        for core in sorted(os.sched_getaffinity(0)) * 2:
            lab.start("taskset", "-c", core, "/usr/bin/python3", "-c", "while True: pass")
    process = lab.begun("demo", "--duration", "2s")
    if trouble == "stops":
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(0.5)
        os.kill(process.pid, signal.SIGCONT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 0, out + err
    if "it works" in out:
        assert re.search(r"^  holds(: .*lost| for packets that no pause touched: )", out, re.MULTILINE) and out.count("this machine disturbed") == 1, out
