"""Workers sleep where nothing is due, wake in time, and say what it cost."""

import json
import signal
import time

import pytest
from lab import need, pair, settled, stream, wait_until
from sessions import check as checked

FLOW = stream("flow", "west", "east")


@pytest.fixture
def tester(lab):
    """A namespace with a veth pair."""
    namespace = lab.netns("tester")
    lab.veth(namespace, "v0", namespace, "v1")
    return namespace


def veths(kind="afpacket"):
    return pair(f"{kind}:v0", f"{kind}:v1")


KINDS = pytest.mark.parametrize("kind", ["afpacket", "afxdp", "xdp"])


@KINDS
def test_a_slow_stream_leaves_the_core_to_others(lab, tester, kind):
    """1 kpps takes less than a quarter of what the same takes with busy polling, which is all it can get."""
    profile = lab.profile(veths(kind), [{**FLOW, "rate": "1kpps"}], load={"duration": "3s", "drain": "100ms"})

    def run(*more):
        return lab.eagre("run", profile, "--json", "-", *more, ns=tester)

    def check(done):
        [worker] = done.told["workers"]
        flow = done.told["streams"]["flow"]
        assert (flow["tx"], flow["lost"], flow["duplicates"]) == (3000, 0, 0), flow
        assert 2 < worker["slept_s"] < 3.2, worker
        assert worker["overslept_max_ns"] <= worker["stall_max_ns"], worker
        # Half of all gaps are right to a twentieth, although every packet left after a sleep.
        assert flow["pacing_ns"]["error_p50"] < 50_000, flow
        return worker

    slow = settled(run, check)
    busy = run("--polling", "busy").told["workers"][0]
    all_of_it = busy["cpu_s"] + busy["waited_s"]
    assert slow["cpu_s"] < all_of_it / 4, (slow, busy)
    assert all_of_it > 2.9 and not busy.keys() & {"slept_s", "overslept_max_ns"}, busy


def test_the_profile_says_it_too_and_the_command_line_wins(lab, tester):
    load = {"duration": "300ms", "drain": "100ms", "polling": "busy"}
    profile = lab.profile(veths(), [{**FLOW, "rate": "100pps"}], load=load)
    [busy] = lab.eagre("run", profile, "--json", "-", ns=tester).told["workers"]
    [auto] = lab.eagre("run", profile, "--json", "-", "--polling", "auto", ns=tester).told["workers"]
    assert "slept_s" not in busy and auto["slept_s"] > 0.1, (busy, auto)
    load["polling"] = "lazy"
    lab.eagre("run", lab.profile(veths(), [{**FLOW, "rate": "100pps"}], load=load), ns=tester).refused(
        2, "load.polling", "auto", "busy"
    )


def test_ports_that_wake_nobody_are_polled(lab):
    """Frames of an in-process pair wake nobody: if another worker may have sent them, they are looked for. One worker has sent them itself."""
    profile = lab.profile(pair(), [{**FLOW, "rate": "100pps", "measure": False}], load={"duration": "500ms", "drain": "100ms"})
    two = lab.eagre("run", profile, "--cores", 2, "--json", "-").told["workers"]
    assert len(two) == 2 and not any("slept_s" in worker for worker in two), two
    for measure in (True, False):
        profile = lab.profile(pair(), [{**FLOW, "rate": "100pps", "measure": measure}], load={"duration": "500ms", "drain": "100ms"})
        done = lab.eagre("run", profile, "--json", "-")
        [worker] = done.told["workers"]
        assert worker["slept_s"] > 0.3 and not done.told["streams"]["flow"].get("lost"), done


@pytest.mark.parametrize("streams", [[{**FLOW, "rate": "100pps"}], [{**FLOW, "rate": "100pps", "measure": False}]], ids=["measured", "not"])
def test_a_worker_does_not_sleep_while_another_sends_what_it_measures(lab, tester, streams):
    """It would see it late."""
    profile = lab.profile(veths(), streams, load={"duration": "500ms", "drain": "100ms"})
    workers = lab.eagre("run", profile, "--cores", 2, "--json", "-", ns=tester).told["workers"]
    assert len(workers) == 2 and {"slept_s" in worker for worker in workers} == {"measure" in streams[0]}, workers


@KINDS
def test_a_sleeping_worker_obeys_at_once(lab, tester, kind):
    """A server that waits for clients sleeps; it ends when it is told to, and answers at once."""
    web = {"name": "web", "server": {"port": "west"}, "app": {"http": {"response": "10B"}}}
    ports = {"west": {"device": f"{kind}:v0", "ip": "198.18.0.1/24"}}
    profile = lab.profile(ports, [], sessions=[web], load={"duration": "60s", "drain": "100ms"})
    if kind == "xdp":
        # Else the kernel behind the other end would not see its frames.
        need("ethtool")
        tester.run("ethtool", "-K", "v1", "gro", "on")
    process = lab.start_eagre("run", profile, "--json", "-", ns=tester)
    tester.ip("address", "add", "198.18.0.2/24", "dev", "v1")
    ask = ("curl", "-s", "-m", "10", "-o", "/dev/null", "-w", "%{http_code}", "http://198.18.0.1/")
    wait_until(lambda: tester.run(*ask, check=False) == "200", "the server", 20)
    time.sleep(1)
    assert tester.run(*ask) == "200"
    start = time.monotonic()
    process.send_signal(signal.SIGINT)
    done = lab.finish(process)
    assert time.monotonic() - start < 5
    assert done.told["sessions"]["web"]["server"]["completed"] == 2, done
    [worker] = done.told["workers"]
    assert worker["slept_s"] > 0.8 and worker["cpu_s"] < worker["slept_s"], worker


@pytest.mark.unsteady("measures how long a response takes")
def test_a_server_behind_a_tap_interface_sleeps(lab):
    """The kernel is the client; each of its frames wakes the worker."""
    host = lab.netns("host")
    web = {"name": "web", "server": {"port": "west"}, "app": {"http": {"response": "10B"}}}
    ports = {"west": {"device": "tap:eagre0", "ip": "198.18.0.1/24"}}
    profile = lab.profile(ports, [], sessions=[web], load={"duration": "60s", "drain": "100ms"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=host)
    wait_until(lambda: "eagre0" in host.ip("-o", "link", "show"), "the interface")
    host.ip("address", "add", "198.18.0.2/24", "dev", "eagre0")
    host.ip("link", "set", "eagre0", "up")
    ask = ("curl", "-s", "-m", "10", "-o", "/dev/null", "-w", "%{http_code} %{time_total}", "http://198.18.0.1/")
    wait_until(lambda: host.run(*ask, check=False).startswith("200 "), "the server", 20)
    took = []
    for _ in range(5):
        time.sleep(0.2)
        code, seconds = host.run(*ask).split()
        assert code == "200"
        took.append(float(seconds))
    # One of them may come while the whole machine stands still.
    assert sorted(took)[2] < 0.5, took
    process.send_signal(signal.SIGINT)
    done = lab.finish(process)
    assert done.told["sessions"]["web"]["server"]["completed"] == 6, done
    [worker] = done.told["workers"]
    assert worker["slept_s"] > 0.5 and worker["cpu_s"] < worker["slept_s"], worker


@KINDS
def test_a_rate_that_is_changed_while_the_worker_sleeps(lab, tester, kind):
    """The new rate begins when it should: the worker is woken for it."""
    profile = lab.profile(veths(kind), [{**FLOW, "rate": "1pps"}], load={"duration": "3s", "drain": "100ms"})

    def run():
        path = lab.folder() / "i.jsonl"
        process = lab.start_eagre(
            "run", profile, "--control", "--json", "-", "--jsonl", path, "--interval", "50ms", ns=tester, stdin=-1
        )
        wait_until(lambda: path.exists() and path.read_text().count("\n") >= 4, "traffic")
        process.stdin.write("rate 1kpps\n")
        process.stdin.flush()
        done = lab.finish(process, stdin="")
        at = [json.loads(line) for line in path.read_text().splitlines()]
        return done, at

    def check(done, lines):
        flow = done.told["streams"]["flow"]
        # From the fourth interval or later on, for what is left of three seconds.
        assert 1500 < flow["tx"] <= 2850 and flow["lost"] == 0, (flow, lines)
        assert done.told["workers"][0]["slept_s"] > 0.5, done.told["workers"]

    settled(run, check)


@pytest.mark.unsteady("a tester that is kept from its core opens fewer sessions")
@KINDS
@pytest.mark.parametrize(
    "app", [{"raw": {"request": "100B", "response": "20KB", "think": "20ms", "requests": 3}}, {"http": {"response": "20KB"}}], ids=["raw", "http"]
)
def test_sessions_over_sleeping_workers_are_whole(lab, tester, app, kind):
    """Slow sessions between two hosts of the tester: every timer and every frame wakes it."""
    slow = {"name": "slow", "client": {"port": "west"}, "server": {"port": "east", "ports": 80}, "app": app, "open": "20/s"}
    profile = lab.profile(veths(kind), [], sessions=[slow], load={"duration": "2s", "drain": "1s"})
    done = lab.eagre("run", profile, "--json", "-", ns=tester)
    one = checked(done.told["sessions"]["slow"])
    assert one["attempted"] == one["completed"] == 40, one
    assert done.told["workers"][0]["slept_s"] > 0.5, done.told["workers"]
