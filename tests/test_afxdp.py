"""`afxdp:` ports: long frames, several queues, links that go, programs of others, and what a slow receiver loses. What they share with
other ports is tested with these."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lab import CANNOT_JUDGE, pair, settled, stream, sums, wait_until

HERE = Path(__file__).parent


@pytest.fixture
def tester(lab):
    """A namespace with both ends of a veth pair, v0 and v1."""
    namespace = lab.netns("tester")
    lab.veth(namespace, "v0", namespace, "v1")
    return namespace


def run(lab, tester, profile, *flags):
    return lab.eagre("run", profile, *flags, "--json", "-", ns=tester)


@pytest.mark.parametrize("kind", ["afxdp", "xdp"])
def test_jumbo_frames_are_sent_and_measured(lab, kind):
    """Of all lengths up to the MTU of 9,000, both ways."""
    tester = lab.netns("tester")
    lab.veth(tester, "v0", tester, "v1", mtu=9000)
    streams = [
        stream("long", "west", "east", 9001, rate="3kpps", count=1500, size="9018B"),
        stream("all", "east", "west", 9002, rate="3kpps", count=1500, size="64B..9018B step 331B"),
    ]
    profile = lab.profile(pair(f"{kind}:v0", f"{kind}:v1"), streams, load={"duration": "1s", "drain": "500ms"})

    def check(done):
        result = done.result()
        for one in result["streams"].values():
            assert (one["rx"], one["lost"], one["reordered"]) == (1500, 0, 0), result["streams"]
        assert {port["xdp_mode"] for port in result["ports"].values()} == {"native, copy, several buffers"}

    settled(lambda: run(lab, tester, profile), check)


@pytest.mark.unsteady("on a busy machine the kernel drops frames between the two ports")
def test_each_worker_has_a_queue_where_the_interface_has_some(lab):
    """Two workers, two queues each way: both send and receive, nothing is lost or counted twice."""
    tester = lab.netns("tester")
    queues = ["numtxqueues", 2, "numrxqueues", 2]
    tester.ip("link", "add", "v0", *queues, "type", "veth", "peer", "name", "v1", *queues)
    for end in ("v0", "v1"):
        tester.ip("link", "set", end, "up")
    streams = [stream(f"s{i}", "west", "east", 9000 + i, rate="2kpps", count=2000) for i in range(4)]
    profile = lab.profile(pair("afxdp:v0", "afxdp:v1"), streams, load={"duration": "1500ms", "drain": "300ms"})

    def check(done):
        result = done.result()
        assert (sums(result, "rx"), sums(result, "lost"), sums(result, "duplicates")) == (8000, 0, 0), result["streams"]
        assert len(result["workers"]) == 2
        notes = result["verdict"].get("notes", [])
        assert not any("had nothing to do" in note for note in notes), notes

    settled(lambda: run(lab, tester, profile, "--cores", 2), check)
    # Beyond the interface's queues there is none.
    profile = lab.profile(pair("afxdp:v0,start_queue=2", "afxdp:v1"), streams[:1], load={"duration": "100ms"})
    run(lab, tester, profile).refused(3, "there is no queue 2: v0 has 2 queues")


def test_a_program_of_another_owner_stays(lab, tester):
    """The port is refused, and names it."""
    other = lab.start(sys.executable, HERE / "bpf.py", "v0", ns=tester, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert other.stdout.readline().strip() == "ready", other.communicate()
    profile = lab.profile(pair("afxdp:v0", "afxdp:v1"), [stream("s", "west", "east", rate="1kpps")], load={"duration": "100ms"})
    run(lab, tester, profile).refused(3, "another XDP program", "already on v0", "ip link set v0 xdp off")
    assert "xdp" in tester.link("v0")
    other.stdin.close()
    other.wait(10)
    wait_until(lambda: "xdp" not in tester.link("v0"), "the program to go")
    wait_until(lambda: run(lab, tester, profile).ended, "a run")


@pytest.mark.parametrize("what", ["down", "delete"])
def test_a_link_that_goes_is_not_silent(lab, tester, what):
    """The run ends by itself, what was due counts as not sent, and the result is not valid."""
    profile = lab.profile(pair("afxdp:v0", "afxdp:v1"), [stream("s", "west", "east", rate="20kpps")], load={"duration": "3s", "drain": "100ms"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=tester)
    wait_until(lambda: tester.counters("v0")["tx"] > 1000, "traffic", 15)
    tester.ip(*(("link", "set", "v0", "down") if what == "down" else ("link", "delete", "v0")))
    done = lab.finish(process)
    result = done.told
    assert done.exit in (1, CANNOT_JUDGE) and not result["verdict"]["valid"], str(done)
    assert any("v0" in reason for reason in result["verdict"]["reasons"]), result["verdict"]
    assert result["ports"]["west"]["tx_errors"]["link_down"] > 1000, result["ports"]


def test_nothing_that_was_due_while_the_link_was_down_leaves_later(lab, tester):
    """What arrives is younger than the time it was up again."""
    profile = lab.profile(pair("afxdp:v0", "afxdp:v1"), [stream("s", "west", "east", rate="10kpps")], load={"duration": "3s", "drain": "100ms"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=tester)
    wait_until(lambda: tester.counters("v0")["tx"] > 1000, "traffic", 15)
    tester.ip("link", "set", "v0", "down")
    time.sleep(0.5)
    tester.ip("link", "set", "v0", "up")
    result = lab.finish(process).told
    one, errors = result["streams"]["s"], result["ports"]["west"]["tx_errors"]
    assert errors["link_down"] > 1000 and one["rx"] > 2000, result
    assert one["latency_ns"]["max"] < 400_000_000, one["latency_ns"]


def test_what_a_slow_receiver_loses_makes_the_result_invalid(lab, tester):
    """Its process stands still while another sends: the kernel finds no buffers, and says so."""
    sender = lab.profile(
        {"west": {"device": "afxdp:v0", "ip": "10.0.0.2/24"}},
        [{"name": "s", "from": "west", "packet": [{"ethernet": {"dst": "02:00:00:00:00:09"}}, {"ipv4": {"dst": "10.0.0.3"}}, {"udp": {"dst": 9}}],
          "rate": "50kpps", "count": 20_000, "measure": False}],
        load={"duration": "2s"},
    )  # fmt: skip
    process = lab.start_eagre("receive", "--port", "afxdp:v1", "--for", "4s", "--json", "-", ns=tester)
    wait_until(lambda: "xdp" in tester.link("v1"), "the receiver", 15)
    time.sleep(0.5)
    process.send_signal(signal.SIGSTOP)
    try:
        assert run(lab, tester, sender).ended
    finally:
        process.send_signal(signal.SIGCONT)
    done = lab.finish(process)
    result = done.told
    (port,) = result["ports"].values()
    errors = port["rx_errors"]
    assert errors.get("xdp_no_buffer", 0) > 1000, result["ports"]
    assert not result["verdict"]["valid"], result["verdict"]
