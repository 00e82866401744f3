"""Runs of a server are processes of their own: what becomes of one that crashes, hangs or is killed, and of the others beside it."""

import contextlib
import json
import os
import random
import shutil
import signal
import threading
import time
from pathlib import Path

import pytest
from lab import BAD_INPUT, EAGRE, LONG, call, missing, need, pair, wait_until
from server import Server, rings
from test_kill import left_over

# How long an agent may say nothing, and how long it goes on without its server, s.
SILENCE_S = LEASE_S = 10
# Processes that are killed at random, in all.
KILLS = 100 if LONG else 12
GROUPS = (Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup"))


def is_gone(pid):
    """Whether a process has ended."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")")[1].split()[0] in "ZX"
    return True


def on(letter, rate="20kpps", duration="600s", streams=1):
    """A profile on an in-process link of its own."""
    profile = rings(rate, duration, streams)
    for port, end in (("west", "a"), ("east", "b")):
        profile["ports"][port]["device"] = f"ring:{letter}.{end}"
    return profile


def strike(pid, sent):
    """Sends a signal as a fault would: the handler of Rust, which looks for overflowed stacks, returns from the first SIGSEGV."""
    for _ in range(2 if sent == signal.SIGSEGV else 1):
        os.kill(pid, sent)
        time.sleep(0.05)


def more_streams():
    """Streams to add to a run on `y`, which take memory."""
    profile = on("y", "1pps", streams=20_000)
    for stream in profile["streams"]:
        stream["name"] = f"more-{stream['name']}"
    return profile


def begun(server, **new):
    """A run that sends, and its process."""
    before = server.agents()
    run = server.start(**new)
    (agent,) = wait_until(lambda: [pid for pid in server.agents() if pid not in before], "an agent")
    server.sends(run, 100)
    return run, agent


class Questions(threading.Thread):
    """Asks a server all the time, and notes how long it takes to answer."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server, self.over, self.seconds = server, threading.Event(), []
        self.start()

    def run(self):
        while not self.over.wait(0.01) and self.server.process.poll() is None:
            began = time.monotonic()
            self.server.get("/api/v1/runs")
            self.seconds.append(time.monotonic() - began)

    def end(self):
        """How long all but the slowest answers took: others have these cores, too."""
        self.over.set()
        self.join(40)
        assert len(self.seconds) > 20
        return sorted(self.seconds)[-1 - len(self.seconds) // 50]


def check_other(server, other, packets):
    """A run that went on beside one that failed is whole."""
    over = server.ended(other, 60)
    assert over["state"] == "done", over
    result = server.get(f"/api/v1/runs/{other['id']}/result")
    stream = result["streams"]["s0"]
    # What a busy machine kept from being sent, the port has counted.
    unsent = result["ports"]["west"].get("tx_unsent") or 0
    assert stream["tx"] + unsent == packets and stream["lost"] == 0, (stream, unsent)
    assert not result.get("failure")
    return result


@pytest.mark.unsteady("answers within 100 ms need a core")
@pytest.mark.parametrize(
    "sent, says",
    [
        (signal.SIGSEGV, "the engine's process was killed by SIGSEGV: it used memory that is not its own"),
        (signal.SIGABRT, "the engine's process was killed by SIGABRT"),
        (signal.SIGKILL, "the engine's process was killed by SIGKILL: by an operator or another program"),
        (signal.SIGSTOP, f"the engine's process did not respond for {SILENCE_S} s and was killed"),
    ],
    ids=lambda value: value.name if isinstance(value, signal.Signals) else "",
)
def test_a_run_that_crashes_or_hangs_leaves_the_others_alone(lab, sent, says):
    """It fails with the reason, keeps what was counted, and frees its ports; a run beside it ends as it should."""
    server = Server(lab)
    questions = Questions(server)
    long = "16s" if sent == signal.SIGSTOP else "4s"
    other, _ = begun(server, profile=on("x", "5kpps", long), name="other")
    run, agent = begun(server, profile=on("y"), name="doomed")
    wait_until(lambda: server.run(run)["at_s"] > 0.5, "traffic")
    strike(agent, sent)
    over = server.ended(run, 30)
    assert over["state"] == "failed" and over["reason"].startswith(says), over
    assert is_gone(agent)
    # Its ports are free at once.
    again = server.start(profile=on("y", duration="200ms"))
    # What was counted is the result, here and in the store.
    assert "what was counted in the first" in over["reason"]
    result = server.get(f"/api/v1/runs/{run['id']}/result")
    assert result["failure"].startswith(says) and not result["verdict"]["valid"]
    stream = result["streams"]["s0"]
    assert 0 < stream["tx"] == pytest.approx(result["duration_s"] * 20_000, rel=0.2)
    kept = server.get(f"/api/v1/results/{run['id']}")
    assert kept["campaign"]["state"] == "failed" and kept["campaign"]["reason"].startswith(says)
    (trial,) = kept["trials"]
    assert sum(interval["streams"]["s0"]["tx"] for interval in trial["intervals"]) == pytest.approx(stream["tx"], rel=0.2)
    assert server.ended(again)["state"] == "done"
    check_other(server, other, 5_000 * int(long[:-1]))
    assert questions.end() < 0.1
    assert server.agents() == []


def test_an_agent_without_memory_says_so(lab):
    """It can't allocate: its run fails, and says why."""
    need("prlimit")
    server = Server(lab)
    other, _ = begun(server, profile=on("x", "5kpps", "4s"))
    run, agent = begun(server, profile=on("y"))
    size = next(line for line in Path(f"/proc/{agent}/status").read_text().splitlines() if line.startswith("VmSize"))
    call("prlimit", "--pid", agent, f"--as={(int(size.split()[1]) + 12_000) * 1024}")
    assert server.ask("POST", f"/api/v1/runs/{run['id']}/streams", {"profile": more_streams()}).status == 409
    over = server.ended(run)
    assert over["state"] == "failed" and "the engine's process ran out of memory" in over["reason"], over
    check_other(server, other, 20_000)


def test_an_agent_that_the_kernel_ends_for_memory(lab):
    """Its control group has too little: its run fails, and says why."""
    top = next((group for group in GROUPS if (group / "cgroup.procs").exists()), None)
    group = top and top / f"eagre-test-{os.getpid()}-{time.monotonic_ns()}"
    try:
        group.mkdir()
    except (OSError, AttributeError):
        missing("needs a control group of its own")
    try:
        limit = next((group / file for file in ("memory.limit_in_bytes", "memory.max") if (group / file).exists()), None)
        if limit is None:
            missing("needs control groups that limit memory")
        server = Server(lab)
        run, agent = begun(server, profile=on("y"))
        limit.write_text(str(4 << 20))
        (group / "cgroup.procs").write_text(str(agent))
        server.ask("POST", f"/api/v1/runs/{run['id']}/streams", {"profile": more_streams()})
        over = server.ended(run)
        assert over["state"] == "failed" and "killed by SIGKILL: by the kernel, because memory ran out" in over["reason"], over
        assert server.ended(server.start(profile=on("y", duration="200ms")))["state"] == "done"
    finally:
        wait_until(lambda: not (group / "cgroup.procs").read_text(), "the end of the group's processes")
        group.rmdir()


def test_a_campaign_that_crashes_keeps_its_trials(lab):
    """It fails with the reason, frees its ports, and leaves a run beside it alone."""
    server = Server(lab)
    other, _ = begun(server, profile=on("x", "5kpps", "12s"))
    before = server.agents()
    profile = on("y")
    for port in profile["ports"].values():
        port["speed"] = "10Mbps"
    new = {"method": "rfc2544", "profile": profile, "sizes": ["512B"], "trial_s": 0.2, "quick": True}
    answer = server.ask("POST", "/api/v1/campaigns", new)
    assert answer.status == 201, answer
    place = f"/api/v1/campaigns/{answer.json()['id']}"
    wait_until(lambda: server.get(place)["trials_done"] >= 1, "a trial", 60)
    (agent,) = [pid for pid in server.agents() if pid not in before]
    strike(agent, signal.SIGSEGV)
    wait_until(lambda: server.get(place)["state"] == "failed", "the end of the campaign")
    over = server.get(place)
    assert "SIGSEGV" in over["reason"] and over["trials_done"] >= 1, over
    kept = server.get(f"/api/v1/results/{over['id']}")
    assert kept["campaign"]["state"] == "failed" and "SIGSEGV" in kept["campaign"]["reason"]
    assert len(kept["trials"]) == over["trials_done"]
    assert server.ended(server.start(profile=on("y", duration="200ms")))["state"] == "done"
    check_other(server, other, 60_000)


def test_an_agent_that_is_asked_to_end_ends_its_run(lab):
    """SIGTERM stops the traffic, and the result is whole."""
    server = Server(lab)
    run, agent = begun(server, profile=on("y"))
    os.kill(agent, signal.SIGTERM)
    over = server.ended(run)
    assert over["state"] == "stopped" and "got a signal to end" in over["reason"], over
    result = server.get(f"/api/v1/runs/{run['id']}/result")
    assert result["interrupted"] and result["streams"]["s0"]["lost"] == 0


@pytest.mark.parametrize("stopped", [False, True], ids=["running", "stopped"])
def test_agents_end_with_their_server(lab, stopped):
    """Whatever they are doing: namespaces, TAP interfaces and XDP programs end with them."""
    need("ip")
    before = left_over()
    tester = lab.netns("tester")
    lab.veth(tester, "v0", tester, "v1")
    server = Server(lab, ns=tester)
    ports = pair("afxdp:v0", "afxdp:v1")
    ports["west"] |= {"ip": "10.0.0.1/24", "punt": {"match": "bgp"}}
    ports["east"] |= {"ip": "10.0.0.2/24"}
    stream = {"name": "s0", "from": "west", "to": "east", "rate": "1kpps", "packet": [{"ipv4": {"dst": "10.0.0.2"}}, "udp"]}
    profile = {"ports": ports, "streams": [stream], "load": {"duration": "600s"}}
    first, one = begun(server, profile=profile)
    _, two = begun(server, profile=on("y"))
    assert "xdp" in tester.link("v0")
    if stopped:
        os.kill(one, signal.SIGSTOP)
    server.process.kill()
    server.process.wait(10)
    wait_until(lambda: is_gone(one) and is_gone(two), "the end of the agents", 5)
    wait_until(lambda: not any("xdp" in tester.link(end) for end in ("v0", "v1")), "the end of XDP programs", 5)
    assert left_over() == before
    again = Server(lab, ns=tester, folder=server.folder)
    assert again.run(first)["state"] == "interrupted"
    profile["load"]["duration"] = "200ms"
    assert again.ended(again.start(profile=profile))["state"] == "done"


def test_a_crash_of_an_agent_leaves_nothing_on_the_machine(lab):
    """The next run on the same interfaces works."""
    need("ip")
    before = left_over()
    tester = lab.netns("tester")
    lab.veth(tester, "v0", tester, "v1")
    server = Server(lab, ns=tester)
    for kind in ("afxdp", "afpacket", "afxdp"):
        ports = pair(f"{kind}:v0", f"{kind}:v1")
        ports["west"] |= {"ip": "10.0.0.1/24", "punt": {"match": "bgp"}}
        ports["east"] |= {"ip": "10.0.0.2/24"}
        stream = {"name": "s0", "from": "west", "to": "east", "rate": "1kpps", "packet": [{"ipv4": {"dst": "10.0.0.2"}}, "udp"]}
        run, agent = begun(server, profile={"ports": ports, "streams": [stream], "load": {"duration": "600s"}})
        strike(agent, signal.SIGSEGV)
        assert "SIGSEGV" in server.ended(run)["reason"]
        wait_until(lambda: not any("xdp" in tester.link(end) for end in ("v0", "v1")), "the end of XDP programs", 5)
    assert left_over() == before


def test_traffic_ends_when_its_server_stands_still(lab):
    """An agent stops by itself; its server gets the result once it goes on, and another run works."""
    need("ip")
    tester = lab.netns("tester")
    lab.veth(tester, "v0", tester, "v1")
    server = Server(lab, ns=tester)
    ports = pair("afpacket:v0", "afpacket:v1")
    stream = {"name": "s0", "from": "west", "to": "east", "rate": "1kpps", "packet": [{"ethernet": {"dst": "02:00:00:00:00:01"}}]}
    run, agent = begun(server, profile={"ports": ports, "streams": [stream], "load": {"duration": "600s"}})
    sent = lambda: tester.counters("v0")["tx"]
    server.process.send_signal(signal.SIGSTOP)
    try:
        begin = time.monotonic()
        counted = [sent()]

        def has_stopped():
            counted.append(sent())
            return counted[-1] == counted[-2]

        time.sleep(1)
        wait_until(has_stopped, "the end of traffic", LEASE_S + 10, 1.0)
        assert time.monotonic() - begin > LEASE_S - 1.5
    finally:
        server.process.send_signal(signal.SIGCONT)
    over = server.ended(run)
    assert over["state"] == "stopped" and f"the server was silent for {LEASE_S} s" in over["reason"], over
    result = server.get(f"/api/v1/runs/{run['id']}/result")
    assert result["interrupted"] and result["streams"]["s0"]["tx"] == sum(
        interval["streams"]["s0"]["tx"] for interval in server.get(f"/api/v1/results/{run['id']}")["trials"][0]["intervals"]
    )
    assert is_gone(agent)


def test_a_program_that_was_replaced_starts_its_own_agents(lab):
    """As an update does: what runs is what was started."""
    copy = lab.folder() / "eagre"
    shutil.copy(EAGRE, copy)
    server = Server(lab, prefix=("sh", "-c", f'shift; exec {copy} "$@"', "sh"))
    copy.unlink()
    copy.write_text("#!/bin/sh\nexit 9\n")
    copy.chmod(0o755)
    assert server.ended(server.start(profile=on("y", duration="200ms")))["state"] == "done"


def test_an_agent_without_server_or_broker_is_refused(lab):
    """It says who starts it, and how to make an agent of a fleet."""
    said = "'eagre serve' starts agents of its machine itself", "--nats makes one of a fleet"
    lab.eagre("agent").refused(BAD_INPUT, "standard input is no socket of a server", *said)
    lab.eagre("agent", "--nats", "nats://127.0.0.1:1").refused(BAD_INPUT, "name the ports that controllers can use with --ports")


class Killed:
    """A server whose runs, and which itself, are killed at random, and what it has acknowledged. One of its runs has interfaces, with a namespace
    of hosts, a TAP interface and XDP programs."""

    def __init__(self, lab):
        need("ip")
        self.chance, self.tester = random.Random(35), lab.netns("tester")
        self.lab, self.before = lab, left_over()
        lab.veth(self.tester, "v0", self.tester, "v1")
        self.links = self.interfaces()
        self.server, self.kills = Server(lab, ns=self.tester), {"agents": 0, "servers": 0}
        self.begun, self.results, self.seen = [], {}, set()

    def interfaces(self):
        """Names of all interfaces there, TAP interfaces among them."""
        return sorted(link["ifname"] for link in json.loads(call("ip", "-n", self.tester.name, "-j", "link")))

    def profile(self, letter, duration):
        if letter != "x":
            return on(letter, duration=duration)
        ports = pair("afxdp:v0", "afxdp:v1")
        ports["west"] |= {"ip": "10.0.0.1/24", "punt": {"match": "bgp"}}
        ports["east"] |= {"ip": "10.0.0.2/24"}
        stream = {"name": "s0", "from": "west", "to": "east", "rate": "1kpps", "packet": [{"ipv4": {"dst": "10.0.0.2"}}, "udp"]}
        return {"ports": ports, "streams": [stream], "load": {"duration": duration, "drain": "200ms"}}

    def kill_some(self):
        """Starts runs, kills some of their processes at a random moment, or the server, and looks at what is left."""
        server, chance = self.server, self.chance
        runs = [server.start(profile=self.profile(letter, chance.choice(["100ms", "600s"]))) for letter in "xyz"]
        self.begun += [run["id"] for run in runs]
        time.sleep(chance.uniform(0, 0.8))
        agents = server.agents()
        self.seen |= set(agents)
        for pid in agents:
            if chance.random() < 0.5:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    self.kills["agents"] += 1
        for run in runs:
            answer = server.ask("GET", f"/api/v1/runs/{run['id']}/result")
            if answer.status == 200:
                self.results[run["id"]] = answer.json()["streams"]["s0"]["tx"]
        if chance.random() < 0.4:
            self.kills["servers"] += 1
            server.process.kill()
            server.process.wait(10)
            wait_until(lambda: all(is_gone(pid) for pid in self.seen), "the end of agents", 10)
            self.clean()
            self.server = Server(self.lab, ns=self.tester, folder=server.folder)
        else:
            for run in runs:
                server.ask("POST", f"/api/v1/runs/{run['id']}/stop")
                server.ended(run)
            self.clean()

    def clean(self):
        """No run is active: nothing is left of any."""
        wait_until(lambda: not any("xdp" in self.tester.link(end) for end in ("v0", "v1")), "the end of XDP programs", 10)
        wait_until(lambda: self.interfaces() == self.links, "the end of TAP interfaces", 10)
        wait_until(lambda: left_over() == self.before, "the end of what runs had", 10)

    def check(self):
        """What was acknowledged is in the store: runs that were begun, with an end, and results that were given."""
        for run in self.begun:
            kept = self.server.get(f"/api/v1/results/{run}")
            assert kept["campaign"]["state"] in ("done", "failed", "stopped", "interrupted"), (run, kept["campaign"])
            if run in self.results:
                (trial,) = kept["trials"]
                assert trial["result"]["streams"]["s0"]["tx"] == self.results[run]
        assert self.server.stop() == 0
        assert all(is_gone(pid) for pid in self.seen)
        self.clean()


def test_random_kills_leave_nothing_and_lose_no_result(lab):
    """Of agents and of the server. `make soak` has a hundred."""
    killed = Killed(lab)
    for _ in range(3 * KILLS):
        killed.kill_some()
        if sum(killed.kills.values()) >= KILLS:
            break
    killed.check()
    print(f"{killed.kills} killed, {len(killed.begun)} runs begun, {len(killed.results)} results given")
    assert sum(killed.kills.values()) >= KILLS and len(killed.results) >= KILLS // 6, (killed.kills, len(killed.results))
