"""A hundred agents of ten ports each on this machine: how long they take to connect, how even a common start is, and what the controller needs.

Agents are processes; their workers sleep. `make soak` runs this and prints the figures, which docs/fleet.md has.
"""

import os
import subprocess
import time
from pathlib import Path

import pytest
from broker import program
from lab import EAGRE, need, wait_until
from server import Server

# Agents that connect, and those of them that have a run together: its processes start on the cores of one machine, not of a hundred.
AGENTS, RUNNING = int(os.environ.get("EAGRE_FLEET", "100")), int(os.environ.get("EAGRE_FLEET_RUN", "20"))
PORTS = [f"ring:p{pair}.{end}" for pair in range(5) for end in "ab"]
# What the figures may be at most, on a machine of two cores that nothing else uses.
CONNECTED_S, SPREAD_NS, CONTROLLER_MB = 5, 20_000_000, 300


def resident_mb(pid):
    """Memory of a process."""
    (line,) = [line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmRSS")]
    return int(line.split()[1]) / 1024


def busy_s(pid):
    """Processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(") ", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.unsteady("a hundred processes start on the cores of this machine")
def test_a_hundred_agents_are_one_tester(lab):
    """All connect within seconds, again after the broker was away, and twenty of them start one run together; the controller stays small."""
    need("ip")
    program()
    place, state = lab.netns("all"), lab.folder() / "fleet"
    names = [f"a{number}" for number in range(AGENTS)]
    fleet = ("fleet", "up", *names, "--state", state, "--listen", "127.0.0.1:4222")
    lab.eagre(*fleet, ns=place).ok()
    server = Server(lab, "--join", state / "controller.env", ns=place)

    def connected():
        return sum(port["name"].endswith("/ring:p0.a") for port in server.get("/api/v1/ports")) == AGENTS

    agents, starts = {}, 0

    def all_connected():
        """Starts agents, and those again that gave up because this machine was too slow, as systemd does."""
        nonlocal starts
        for name in names:
            if name not in agents or agents[name].poll() is not None:
                words = ("agent", "--join", state / f"agents/{name}.env", "--ports", ",".join(PORTS))
                agents[name] = lab.start(EAGRE, *words, ns=place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                starts += 1
        return connected()

    began = time.monotonic()
    wait_until(all_connected, "all agents", 60, 0.2)
    figures = {"agents": AGENTS, "ports": AGENTS * len(PORTS), "starts": starts, "connected_s": time.monotonic() - began}
    # Without starting processes: all come back to a broker that was away.
    lab.eagre("fleet", "down", "--state", state, ns=place).ok()
    wait_until(lambda: not connected(), "the end of all names", 20)
    lab.eagre(*fleet, ns=place).ok()
    began = time.monotonic()
    wait_until(connected, "all agents again", 60, 0.05)
    figures["connected_again_s"] = time.monotonic() - began
    # What names that are renewed every second cost.
    processes = {"controller": server.process.pid, "broker": int((state / "nats.pid").read_text())}
    before = {name: busy_s(pid) for name, pid in processes.items()}
    time.sleep(5)
    figures |= {f"{name}_idle_core_%": 20 * (busy_s(pid) - before[name]) for name, pid in processes.items()}
    figures |= {f"{name}_mb": resident_mb(pid) for name, pid in processes.items()}
    print({name: round(figure, 2) for name, figure in figures.items()})
    # One run on several: each sends from one of its ports to another.
    names = names[:RUNNING]
    packet = [{"ethernet": {"dst": "02:00:00:00:00:09"}}, {"ipv4": {"src": "10.0.0.1", "dst": "10.0.0.2"}}, "udp"]
    ports = {f"{name}-{end}": {"device": f"{name}/ring:p0.{end}"} for name in names for end in "ab"}
    streams = [{"name": name, "from": f"{name}-a", "to": f"{name}-b", "packet": packet, "size": "128B", "rate": "10pps"} for name in names]
    run = server.start(profile={"ports": ports, "streams": streams, "load": {"duration": "10s", "drain": "300ms"}})
    began, live = time.monotonic(), 0
    first = last = None
    for name, _ in server.events(f"/api/v1/runs/{run['id']}/events?every_s=0.1", 120):
        if name == "live":
            live, first, last = live + 1, first or time.monotonic(), time.monotonic()
    over = server.ended(run, 60)
    assert over["state"] == "done", over
    figures["controller_in_run_mb"] = resident_mb(server.process.pid)
    result = server.get(f"/api/v1/runs/{run['id']}/result")
    errors = sorted(agent["start_error_ns"] for agent in result["agents"])
    assert len(errors) == RUNNING
    figures |= {"live_per_s": (live - 1) / (last - first), "start_error_p50_ms": errors[RUNNING // 2] / 1e6, "start_error_p99_ms": errors[RUNNING * 99 // 100] / 1e6}
    print({name: round(figure, 2) for name, figure in figures.items()})
    assert all(stream["tx"] == stream["rx"] == 100 for stream in result["streams"].values()), result["streams"]
    assert figures["connected_again_s"] < CONNECTED_S and figures["controller_in_run_mb"] < CONTROLLER_MB, figures
    assert errors[RUNNING * 99 // 100] - errors[0] < SPREAD_NS and figures["live_per_s"] > 5, figures
