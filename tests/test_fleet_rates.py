"""Rates changed while many agents send: all change at one instant, and none is left behind.

`make test` has a few agents. EAGRE_FLEET_RUN is their number; `make soak` has fifty, and prints figures.
"""

import os
import re
import socket
import struct
import subprocess
import threading
import time

import pytest
from broker import newer, program
from lab import EAGRE, need, wait_until
from server import Server, inside
from test_fleet import Apart

FEW, MANY = 5, int(os.environ.get("EAGRE_FLEET_RUN", "50"))
BEFORE, AFTER, SECONDS = 20, 220, 12
# Of fifty on a machine whose cores all of them share, some may get the command too late: by how much.
LATE_OF_MANY_S = 8
# Runs of which one must have no such agent.
RUNS = 5
LATE_NOTE = re.compile(r"^agent '(\w+)': the rate change of [\d.]+ s took effect (\d+) ms later by its clock$")
# How far apart two machines' changes may be: the error of their clocks' comparison, and what a busy machine delays even the promptest of
# hundreds of packets by.
APART_S = 0.02


class Agents:
    """Agents of one machine with a pair of ports each, and a controller."""

    def __init__(self, lab, count, server):
        need("ip")
        self.lab, self.place, self.state = lab, lab.netns("all"), lab.folder() / "fleet"
        self.names = [f"a{number}" for number in range(count)]
        fleet = ("fleet", "up", *self.names, "--state", self.state, "--listen", "127.0.0.1:4222", "--nats-server", server)
        lab.eagre(*fleet, ns=self.place).ok()
        self.server = Server(lab, "--join", self.state / "controller.env", ns=self.place)
        self.processes = {}
        wait_until(self.connected, "all agents", 120, 0.2)

    def connected(self):
        """Starts agents, also those again that gave up because this machine was too slow."""
        for name in self.names:
            if name not in self.processes or self.processes[name].poll() is not None:
                words = ("agent", "--join", self.state / f"agents/{name}.env", "--ports", "ring:p.a,ring:p.b")
                self.processes[name] = self.lab.start(EAGRE, *words, ns=self.place, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return sum(port["name"].endswith("/ring:p.a") for port in self.server.get("/api/v1/ports")) == len(self.names)

    def run(self):
        """Starts one run on all: each sends from one of its ports to the other."""
        packet = [{"ethernet": {"dst": "02:00:00:00:00:09"}}, {"ipv4": {"src": "10.0.0.1", "dst": "10.0.0.2"}}, "udp"]
        ports = {f"{name}-{end}": {"device": f"{name}/ring:p.{end}"} for name in self.names for end in "ab"}
        streams = [
            {"name": name, "from": f"{name}-a", "to": f"{name}-b", "packet": packet, "size": "128B", "rate": f"{BEFORE}pps"} for name in self.names
        ]
        return self.server.start(profile={"ports": ports, "streams": streams, "load": {"duration": f"{SECONDS}s", "drain": "500ms"}})


def changed(agents):
    """Changes the rates of all in mid-run; the figures, and the result."""
    server, run = agents.server, agents.run()
    url, seen, asked = f"/api/v1/runs/{run['id']}", [], None
    for name, document in server.events(f"{url}/events?every_s=0.1", 180):
        if name != "live":
            continue
        now, sent = time.monotonic(), document["streams"]["tx"]
        if asked is None and min(sent) >= 2 * BEFORE:
            began = time.monotonic()
            reply = server.ask("POST", f"{url}/rate", {"rate": f"{AFTER}pps"})
            asked = time.monotonic()
            assert reply.status == 200, reply
            took = asked - began
        elif asked is not None:
            seen.append((now, sent))
    over = server.ended(run, 120)
    assert over["state"] == "done", over
    result = server.get(f"{url}/result")
    # All follow once each has sent more than in all the time by the old rate.
    followed = next((now - asked for now, sent in seen if min(sent) > BEFORE * SECONDS), None)
    sent = [stream["tx"] for stream in result["streams"].values()]
    figures = {"agents": len(agents.names), "reply_s": took, "seen_by_all_s": followed}
    return figures | {"late_s": max(late(result).values(), default=0), "spread_s": (max(sent) - min(sent)) / (AFTER - BEFORE)}, result


def late(result):
    """By how much agents followed after the others, by the notes of the result."""
    notes = result["verdict"].get("notes", [])
    return {found[1]: int(found[2]) / 1e3 for note in notes if (found := LATE_NOTE.match(note))}


def check(agents, figures, result):
    """Each that is not late has sent by the old rate until the instant that the result has, and by the new one from then on: to the packet."""
    (change,) = result["rate_changes"]
    # What a busy machine could not send until the end is counted.
    due = {name: stream["tx"] + (result["ports"][f"{name}-a"].get("tx_unsent") or 0) for name, stream in result["streams"].items()}
    expected = BEFORE * change["at_s"] + AFTER * (SECONDS - change["at_s"])
    assert list(due) == agents.names
    assert all(abs(count - expected) <= 1 for name, count in due.items() if name not in late(result)), (figures, change, expected, due)
    assert all(stream["lost"] == 0 for stream in result["streams"].values()), result["streams"]
    assert figures["seen_by_all_s"] is not None, figures


@pytest.mark.parametrize("server", [program, newer], ids=["debian", "newer"])
def test_a_rate_changes_on_all_agents(lab, server):
    agents = Agents(lab, FEW, server())
    for _ in range(RUNS):
        figures, result = changed(agents)
        check(agents, figures, result)
        if not late(result):
            return
    pytest.fail(f"in each of {RUNS} runs an agent was late: {late(result)}")


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.unsteady("fifty processes run on the cores of this machine")
def test_a_rate_changes_on_many_agents(lab):
    agents = Agents(lab, MANY, program())
    figures, result = changed(agents)
    print({name: round(figure, 3) for name, figure in figures.items()}, result["rate_changes"])
    check(agents, figures, result)
    # Without a common instant only one of them would have the earliest.
    assert len(late(result)) < MANY / 2 and figures["late_s"] < LATE_OF_MANY_S, late(result)


def to_port(port):
    """Packets of IPv4 with a destination port of UDP."""
    return lambda frame: len(frame) > 60 and frame[23] == 17 and frame[36:38] == port.to_bytes(2, "big")


class Arrivals:
    """When some packets of IPv4 arrive at an interface of a router, by the kernel."""

    TIMESTAMPS = 35

    def __init__(self, router, interface, is_meant):
        self.times, self.over, self.is_meant = [], threading.Event(), is_meant
        with inside(router):
            self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
            self.socket.setsockopt(socket.SOL_SOCKET, self.TIMESTAMPS, 1)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
            self.socket.bind((interface, 3))
        self.socket.settimeout(0.1)
        self.thread = threading.Thread(target=self._read)
        self.thread.start()

    def _read(self):
        while not self.over.is_set():
            try:
                frame, more, _, address = self.socket.recvmsg(2048, 256)
            except TimeoutError:
                continue
            if frame[12:14] == b"\x08\x00" and self.is_meant(frame) and address[2] != 4:
                ((_, _, data),) = [one for one in more if one[1] == self.TIMESTAMPS]
                seconds, ns = struct.unpack("qq", data[:16])
                self.times.append(seconds + ns / 1e9)

    def changed_at(self, before, after):
        """When the rate changed from one to the other. Of evenly sent packets the promptest ones show how they were due; a packet may
        be late, but none is early."""
        due = lambda times, first, rate: min(at - (first + number) / rate for number, at in enumerate(times))  # noqa: E731
        # Packets number n before the change are due at `begin + n / before`, later ones at `other + n / after`.
        begin, half = due(self.times[: before // 2], 0, before), len(self.times) // 2
        other = due(self.times[half:], half, after)
        return begin, (other - begin * before / after) / (1 - before / after)

    def end(self):
        self.over.set()
        self.thread.join()
        self.socket.close()


def test_two_machines_change_at_one_instant(lab):
    """A router sees it by a clock that is neither of theirs, of which one is 100 ms ahead."""
    apart = Apart(lab)
    server = apart.begin("--clock-offset=100000000")
    for _ in range(RUNS):
        seen, result = seen_by_the_router(apart, server)
        if not late(result):
            break
    assert not late(result), f"in each of {RUNS} runs a machine was late"
    (change,) = result["rate_changes"]
    starts, changes = zip(*seen, strict=True)
    print(f"starts {abs(starts[1] - starts[0]) * 1e6:.0f} µs apart, changes {abs(changes[1] - changes[0]) * 1e6:.0f} µs")
    error_s = max(agent.get("start_error_ns") or 0 for agent in result["agents"]) / 1e9
    apart_s = APART_S + error_s
    assert abs(starts[1] - starts[0]) < apart_s and abs(changes[1] - changes[0]) < apart_s, (seen, error_s)
    # And when the result has it.
    assert all(abs(at - begin - change["at_s"]) < apart_s for begin, at in seen), (seen, change)


def seen_by_the_router(apart, server):
    """When each machine's packets began and changed their rate in a run, and its result."""
    before, after, seconds = 200, 1000, 5
    arrivals = [Arrivals(apart.router.router, f"r{side}", to_port(port)) for side, port in ((0, 7001), (1, 7002))]
    try:
        run = server.start(profile=apart.profile(f"{before}pps", f"{seconds}s"))
        server.sends(run, 2 * before)
        assert server.ask("POST", f"/api/v1/runs/{run['id']}/rate", {"rate": f"{after}pps"}).status == 200
        assert server.ended(run, 60)["state"] == "done"
    finally:
        [one.end() for one in arrivals]
    result = server.get(f"/api/v1/runs/{run['id']}/result")
    assert [len(one.times) for one in arrivals] == [stream["tx"] for stream in result["streams"].values()]
    return [one.changed_at(before, after) for one in arrivals], result
