"""`eagre versus` tells two devices apart, and calls two that are alike the same; each answer has its exit code."""

import os
import signal

import pytest
from lab import stream, wait_until

ALIKE, UNJUDGED, A_BETTER, B_BETTER, INTERRUPTED = 0, 4, 6, 7, 130
PORTS = {
    "west": {"device": "ring:a", "ip": "10.0.0.2/24", "gateway": "10.0.0.1"},
    "east": {"device": "ring:b", "ip": "10.0.1.2/24", "gateway": "10.0.1.1"},
}


@pytest.fixture
def overload(lab):
    """12,000 packets in virtual time to a router that takes fewer."""
    streams = [stream("s", "west", "east", rate="120kpps", pattern="poisson")]
    return lab.profile(PORTS, streams, load={"duration": "100ms", "drain": "100ms"})


def router(kpps):
    return f"router:capacity={kpps}kpps,buffer=64"


def versus(lab, profile, *words):
    return lab.eagre("versus", profile, "--sim", "--json", "-", *words)


@pytest.mark.parametrize("a, b, answer, code", [
    (100, 102, "b", B_BETTER),
    (102, 100, "a", A_BETTER),
    (100, 100, "alike", ALIKE),
    (100, 100.3, "alike", ALIKE),
])
def test_devices_are_told_apart(lab, overload, a, b, answer, code):
    """Rates 2% apart are; those 0.3% apart differ by no more than the margin. The interval holds the truth."""
    done = versus(lab, overload, "--dut-a", router(a), "--dut-b", router(b), "--seed", 3)
    told = done.told
    assert (told["answer"], done.exit) == (answer, code), done.err
    truth = b / a - 1 if b >= a else 1 - a / b
    assert told["advantage"]["lower"] - 0.001 <= truth <= told["advantage"]["upper"] + 0.001, told["advantage"]
    assert told["confidence"] == 0.99 and told["pairs"] >= 11 and told["disturbed_pairs"] == 0


def test_answers_do_not_depend_on_the_seed(lab, overload):
    """Devices that differ by 2% are told apart, and those that are alike are not, whatever the order of trials. Fifty each, with a
    disturbed tester, are in core/methods/tests/paired.rs."""
    answers = {1.02: [], 1.0: []}
    for factor, found in answers.items():
        for seed in range(5):
            done = versus(lab, overload, "--dut-a", router(100), "--dut-b", router(100 * factor), "--seed", seed)
            found.append(done.told["answer"])
    assert answers == {1.02: ["b"] * 5, 1.0: ["alike"] * 5}


def test_an_answer_is_repeated_by_its_seed(lab, overload):
    """The same trials in the same order, and the same numbers."""
    words = ("--dut-a", router(100), "--dut-b", router(101), "--seed", 9)
    one, two = (versus(lab, overload, *words).told for _ in range(2))
    other = versus(lab, overload, *words[:-1], 10).told
    assert one == two
    assert one["measured"] != other["measured"]


def test_other_figures(lab, overload):
    """A percentile of latency, where less is better; a loss ratio in points; a path; one whose better side nobody knows."""
    slow = ("--dut-a", "router:latency=100us", "--dut-b", "router:latency=120us")
    assert versus(lab, overload, *slow, "--figure", "p50").exit == A_BETTER
    loss = versus(lab, overload, "--dut-a", router(60), "--dut-b", router(90), "--figure", "loss")
    assert (loss.exit, round(loss.told["advantage"]["estimate"], 2)) == (B_BETTER, 0.25), loss.told
    path = versus(lab, overload, *slow, "--figure", "streams.s.latency_ns.max")
    assert path.exit == A_BETTER and path.told["figure"] == "streams.s.latency_ns.max"
    unknown = versus(lab, overload, *slow, "--figure", "ports.east.rx_other")
    assert unknown.exit == 2 and "--better higher or --better lower" in unknown.err
    nothing = versus(lab, overload, *slow, "--figure", "streams.x.rx", "--better", "higher")
    assert nothing.exit == 2 and "no number at 'streams.x.rx'" in nothing.err


def test_two_profiles_are_compared(lab, overload):
    """Of packets with 64 and with 1518 bytes, a link takes more of the short ones."""
    streams = [stream("s", "west", "east", rate="120kpps", size="1518B")]
    long = lab.profile(PORTS, streams, load={"duration": "100ms", "drain": "100ms"}, sim={"link": {"speed": "1Gbps"}})
    done = versus(lab, overload, long, "--seed", 1)
    assert done.exit in (A_BETTER, UNJUDGED), done.err
    assert [side["label"] for side in done.told["sides"]] == [str(overload), str(long)]


def test_a_side_that_cannot_be_measured_is_no_answer(lab):
    """At rate 'max' without loss the tester is the limit: nothing is said of the devices, and why."""
    profile = lab.profile(PORTS, [stream("s", "west", "east", rate="max")], load={"duration": "1ms", "drain": "1ms"})
    done = versus(lab, profile, profile, "--repeats", 20)
    assert (done.exit, done.told["answer"], done.told["disturbed_pairs"]) == (UNJUDGED, "unknown", 21), done.told
    assert "the tester, not the device, was the limit" in done.told["disturbed_by"]


def test_commands_of_each_side(lab, overload, tmp_path):
    """The device of a side runs during its trials only; commands before, until ready, and after find the side."""
    log, device = tmp_path / "log", tmp_path / "device"
    words = [
        "--start-a", f"echo start $EAGRE_SIDE >> {log}; touch {device}; exec sleep 600",
        "--start-b", f"echo start $EAGRE_SIDE >> {log}; touch {device}; sleep 600",
        "--ready", f"test -e {device}", "--after", f"rm {device}; echo after $EAGRE_SIDE >> {log}",
    ]
    done = versus(lab, overload, *words, "--seed", 1)
    assert done.exit == ALIKE, done.err
    lines = log.read_text().split("\n")[:-1]
    assert len(lines) == 2 * 2 * len(done.told["measured"])
    for start, after in zip(lines[::2], lines[1::2]):
        assert (start.split()[0], after.split()[0], start.split()[1]) == ("start", "after", after.split()[1])
    assert {line.split()[1] for line in lines} == {"a", "b"}


def test_a_device_that_fails_is_named(lab, overload):
    """A device that ends by itself, and one that is never there."""
    ended = versus(lab, overload, "--start-a", "true", "--start-b", "echo no port >&2; exit 5", "--settle", "500ms")
    assert ended.exit == 3 and "the device ended during the trial" in ended.err, ended.err
    missing = versus(lab, overload, "--before-a", "false")
    assert missing.exit == 3 and "'false' failed (exit status: 1)" in missing.err
    same = versus(lab, overload)
    assert same.exit == 2 and "nothing to compare" in same.err


@pytest.mark.parametrize("words, reason", [
    (("--confidence", "100%"), "must be at least 50% and less than 100%"),
    (("--margin", "0%"), "must be more than 0"),
    (("--pairs", "5"), "must be at least 11 for a confidence of 99%"),
    (("--pairs", "500"), "at most 400 with repeats"),
    (("--margin", "one"), "is not a share such as 1%"),
])
def test_bad_settings(lab, overload, words, reason):
    done = versus(lab, overload, "--dut-a", router(100), "--dut-b", router(101), *words)
    assert done.exit == 2 and reason in done.err, done.err


def test_an_interrupted_comparison_is_no_answer(lab, overload, tmp_path):
    """Ctrl-C ends the trial and the device, and says so."""
    started = tmp_path / "started"
    command = ["versus", overload, overload, "--sim", "--json", "-", "--start-a", f"touch {started}; exec sleep 600"]
    command += ["--start-b", f"touch {started}; exec sleep 600", "--settle", "60s"]
    process = lab.start_eagre(*command)
    wait_until(started.exists, "the first trial", timeout=60)
    os.kill(process.pid, signal.SIGINT)
    done = lab.finish(process)
    assert (done.exit, done.told["interrupted"], done.told["answer"]) == (INTERRUPTED, True, "unknown"), done.err


# On real links.

FORWARDER = """
import socket, sys, time
rate, burst = float(sys.argv[1]), 32.0
def port(name):
    one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    one.bind((name, 0))
    return one
west, east = port("d0"), port("d1")
open(sys.argv[2], "w").close()
tokens, last = burst, time.monotonic()
while True:
    frame = west.recv(2048)
    now = time.monotonic()
    tokens = min(burst, tokens + (now - last) * rate)
    last = now
    if tokens >= 1:
        tokens -= 1
        east.send(frame)
"""


def test_two_programs_on_real_links(lab, tmp_path):
    """Two builds of a forwarder between veth pairs; one lets through a fifth less. Both ends of the comparison are real."""
    tester = lab.netns("tester")
    for near, far in (("veth0", "d0"), ("veth1", "d1")):
        lab.veth(tester, near, tester, far)
    program, up = tmp_path / "forward.py", tmp_path / "up"
    program.write_text(FORWARDER)
    ports = {"west": {"device": "afpacket:veth0"}, "east": {"device": "afpacket:veth1"}}
    packet = [{"ethernet": {"dst": "02:00:00:00:00:09"}}, {"ipv4": {"src": "10.0.0.2", "dst": "10.0.1.2"}}, "udp"]
    profile = lab.profile(ports, [{**stream("s", "west", "east", rate="1kpps"), "packet": packet}],
                          load={"duration": "300ms", "drain": "100ms"})

    def start(rate):
        return f"rm -f {up}; exec /usr/bin/python3 {program} {rate} {up}"

    done = lab.eagre("versus", profile, "--json", "-", "--start-a", start(800), "--start-b", start(640), "--ready",
                     f"test -e {up}", "--confidence", "95%", "--seed", 1, ns=tester, timeout=300)
    assert (done.told["answer"], done.exit) == ("a", A_BETTER), done.told
    assert -0.6 < done.told["advantage"]["estimate"] < -0.1, done.told["advantage"]
