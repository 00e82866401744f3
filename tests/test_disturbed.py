"""A tester that is kept from its core says so: its own pauses and bursts are not taken for the device's."""

import os
import signal
import time

import pytest
from lab import pair, stream


def profile_of(lab, rate="10kpps", duration="1500ms"):
    return lab.profile(pair(), [stream("s", "west", "east", rate=rate)], load={"duration": duration, "drain": "100ms"})


def hog(lab, core):
    """A busy loop on the worker's core."""
    return lab.start("taskset", "-c", core, "/usr/bin/python3", "-c", "while True: pass")


@pytest.mark.alone
def test_a_worker_that_shares_its_core_is_named(lab):
    """Three busy loops on the worker's core: not valid, with the time it waited; the same in the table."""
    profile = profile_of(lab)
    core = lab.eagre("run", profile, "--json", "-").told["workers"][0]["core"]
    hogs = [hog(lab, core) for _ in range(3)]
    try:
        done = lab.eagre("run", profile, "--json", "-")
        table = lab.eagre("run", profile)
    finally:
        for one in hogs:
            one.kill()
            one.wait()
    verdict, worker = done.told["verdict"], done.told["workers"][0]
    assert worker["core"] == core and worker["waited_s"] > 0.3, worker
    assert (done.exit, verdict["valid"], verdict["disturbed"]) == (1, False, True), verdict
    assert any("worker 0 waited" in reason and "for its core" in reason for reason in verdict["reasons"]), verdict
    assert table.exit == 1 and "INVALID" in table.out + table.err and "worker 0 waited" in table.out + table.err


def test_a_pause_is_told(lab):
    """The process is stopped for 300 ms and sends what was due meanwhile in one burst."""
    process = lab.start_eagre("run", profile_of(lab, duration="3s"), "--json", "-")
    time.sleep(1.5)
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGCONT)
    done = lab.finish(process)
    verdict, worker = done.told["verdict"], done.told["workers"][0]
    assert worker["stall_max_ns"] >= 250_000_000 and worker["paused_s"] >= 0.25, worker
    assert (done.exit, verdict["valid"], verdict["disturbed"]) == (1, False, True), verdict
    assert any(reason.startswith("worker 0 ") for reason in verdict["reasons"]), verdict


def test_virtual_time_has_no_disturbances(lab):
    """Whatever the machine does, nothing of it is in a simulated result."""
    profile = profile_of(lab)
    simulated = lab.eagre("sim", profile, "--json", "-").ok().told
    assert simulated["verdict"] == {"valid": True, "generator_limited": False, "disturbed": False, "reasons": []}
    assert not simulated["workers"][0].keys() & {"waited_s", "paused_s"}
