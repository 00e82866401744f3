"""The stop of a run on many machines, and commands to hosts' protocols: all carry them out at one instant."""

import os
import re
import signal
import threading
import time

import pytest
from broker import newer, program
from lab import wait_until
from server import engines
from test_fleet import Apart
from test_fleet_rates import APART_S, BEFORE, FEW, RUNS, Agents, Arrivals, to_port

LATE_NOTE = re.compile(r"^agent '(\w+)': the stop of [\d.]+ s took effect (\d+) ms later by its clock$")
LATE_COMMANDS = {
    "down": re.compile(r"^agent '(\w+)': the command 'down' of [\d.]+ s took effect (\d+) ms later by its clock$"),
    "rate": re.compile(r"^agent '(\w+)': the rate change of [\d.]+ s took effect (\d+) ms later by its clock$"),
    "removal": re.compile(r"^agent '(\w+)': the removal of streams of [\d.]+ s took effect (\d+) ms later by its clock$"),
}
# How late a machine is made, s, at least.
LATE_S = 0.3
# Protocol number of VRRP.
VRRP = 112
# Least time between a request and its instant, s: 200 ms, less what clocks of packets and of requests may differ by.
LEAD_S = 0.15


def late(result):
    """Machines that had the order too late, by the notes of the result."""
    return {found[1] for note in result["verdict"].get("notes", []) if (found := LATE_NOTE.match(note))}


def stopped(server, run, timeout=60):
    """The result of a run that is stopped now."""
    assert server.ask("POST", f"/api/v1/runs/{run['id']}/stop").status in (200, 202, 204)
    over = server.ended(run, timeout)
    assert over["state"] == "stopped", over
    return server.get(f"/api/v1/runs/{run['id']}/result")


def attempts(run_one):
    """What a run without a machine that is late has, of several."""
    for _ in range(RUNS):
        seen, result = run_one()
        if not late(result):
            return seen, result
    pytest.fail(f"in each of {RUNS} runs a machine was late: {late(result)}")


@pytest.mark.parametrize("server", [program, newer], ids=["debian", "newer"])
def test_all_agents_stop_at_one_instant(lab, server):
    """Each has sent what was due until then, to the packet."""
    agents = Agents(lab, FEW, server())

    def run_one():
        run = agents.run()
        agents.server.sends(run, 2 * BEFORE)
        return None, stopped(agents.server, run)

    _, result = attempts(run_one)
    due = {name: stream["tx"] + (result["ports"][f"{name}-a"].get("tx_unsent") or 0) for name, stream in result["streams"].items()}
    expected = BEFORE * result["duration_s"]
    assert list(due) == agents.names and result["interrupted"]
    assert all(abs(count - expected) <= 1 for count in due.values()), (expected, due)
    assert all(stream["lost"] == 0 for stream in result["streams"].values()), result["streams"]


def test_two_machines_stop_at_one_instant(lab):
    """A router sees it by a clock that is neither of theirs, of which one is 100 ms ahead."""
    apart = Apart(lab)
    server, rate = apart.begin("--clock-offset=100000000"), 1000

    def run_one():
        arrivals = [Arrivals(apart.router.router, f"r{side}", to_port(port)) for side, port in ((0, 7001), (1, 7002))]
        try:
            run = server.start(profile=apart.profile(f"{rate}pps", "60s"))
            server.sends(run, rate)
            result = stopped(server, run)
        finally:
            [one.end() for one in arrivals]
        return [one.times for one in arrivals], result

    times, result = attempts(run_one)
    sent = [stream["tx"] for stream in result["streams"].values()]
    assert [len(one) for one in times] == sent and result["interrupted"], (sent, result["streams"])
    unsent = [port.get("tx_unsent") or 0 for port in result["ports"].values()]
    assert all(abs(count + left - rate * result["duration_s"]) <= 1 for count, left in zip(sent, unsent, strict=True)), (sent, unsent, result["duration_s"])
    ends = [one[-1] for one in times]
    print(f"last packets {abs(ends[1] - ends[0]) * 1e6:.0f} µs apart, after {result['duration_s']:.3f} s")
    error_s = max(agent.get("start_error_ns") or 0 for agent in result["agents"]) / 1e9
    assert abs(ends[1] - ends[0]) < APART_S + error_s, (ends, error_s)


def virtual_routers(apart, server):
    """A run with a virtual router on each machine; the path of its protocols, and what waits until both are Active."""
    ports = apart.ports()
    for number, name in enumerate(["west", "east"]):
        ports[name]["vrrp"] = {"routers": [{"vrid": 20 + number, "addresses": [f"10.0.{number}.9"], "priority": 200}]}
    run = server.start(profile=apart.profile("100pps", "60s") | {"ports": ports})
    server.sends(run, 10)
    url = f"/api/v1/runs/{run['id']}/protocols"
    are_active = lambda: [one["router"]["state"] for one in server.get(url)["vrrp"]] == ["active"] * 2  # noqa: E731
    return run, url, lambda: wait_until(are_active, "both virtual routers to be Active", 30)


def test_two_machines_change_protocols_at_one_instant(lab):
    """Virtual routers of both resign: an advertisement of priority 0 leaves at each."""
    apart = Apart(lab)
    server, apart_s = apart.begin("--clock-offset=100000000"), []
    run, url, wait_for_both = virtual_routers(apart, server)
    for _ in range(RUNS):
        wait_for_both()
        resigns = [Arrivals(apart.router.router, f"r{side}", lambda frame: frame[23] == VRRP and frame[36] == 0) for side in (0, 1)]
        try:
            asked = time.time()
            reply = server.ask("POST", url, {"action": "down"})
            assert (reply.status, reply.json()) == (200, {"changed": 2}), reply
            wait_until(lambda: all(one.times for one in resigns), "both to resign", 10)  # noqa: B023
        finally:
            [one.end() for one in resigns]
        (west,), (east,) = (one.times for one in resigns)
        # At once, it would be earlier.
        assert min(west, east) - asked > LEAD_S, (asked, west, east)
        apart_s.append(abs(east - west))
        assert server.ask("POST", url, {"action": "up"}).json() == {"changed": 2}
        if apart_s[-1] < APART_S:
            break
    print(f"resignations {min(apart_s) * 1e6:.0f} µs apart")
    assert min(apart_s) < APART_S, apart_s
    # For one port alone there is nothing to be in step with.
    assert server.ask("POST", url, {"action": "down", "port": "west"}).json() == {"changed": 1}
    assert server.ask("POST", url, {"action": "withdraw"}).status == 409
    assert stopped(server, run)["interrupted"]


def asked_while_frozen(server, agent, requests):
    """The replies to requests that are sent while the engine of an agent is frozen, by their names."""
    (engine,), replies = engines(agent), {}

    def ask(name):
        replies[name] = server.ask(*requests[name])

    threads = [threading.Thread(target=ask, args=(name,)) for name in requests]
    os.kill(engine, signal.SIGSTOP)
    try:
        [thread.start() for thread in threads]
        time.sleep(LATE_S + 0.5)
    finally:
        os.kill(engine, signal.SIGCONT)
    [thread.join(30) for thread in threads]
    return replies


def test_a_machine_that_gets_a_command_late_is_named(lab):
    """Its engine is frozen while a command to protocols and a change of rates come, and again while the stream that it sends is removed:
    notes have the machine, and by how much it was late."""
    apart = Apart(lab)
    server = apart.begin()
    run, url, wait_for_both = virtual_routers(apart, server)
    wait_for_both()
    own = f"/api/v1/runs/{run['id']}"
    down, rate = ("POST", url, {"action": "down"}), ("POST", f"{own}/rate", {"rate": "200pps"})
    replies = asked_while_frozen(server, apart.agents["a2"], {"down": down, "rate": rate})
    assert replies["down"].json() == {"changed": 2} and replies["rate"].status == 200, replies
    removal = ("DELETE", f"{own}/streams", {"streams": ["west"]})
    replies = asked_while_frozen(server, apart.agents["a2"], {"removal": removal})
    assert replies["removal"].status == 200, replies
    result = stopped(server, run)
    notes, streams = result["verdict"]["notes"], result["streams"]
    assert streams["west"]["removed_s"] > 0 and "removed_s" not in streams["east"], streams
    by = {name: {found[1]: int(found[2]) for note in notes if (found := pattern.match(note))} for name, pattern in LATE_COMMANDS.items()}
    assert all(LATE_S * 1e3 < late["a2"] < 5_000 for late in by.values()), (by, notes)
    # The other machine was in time, unless something else kept it.
    assert all(late.get("a1", 0) < LATE_S * 1e3 for late in by.values()), notes
