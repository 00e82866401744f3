"""Arrival times by the kernel: what a frame waits for the worker is no latency. By a card: refused where there is none."""

import json
import signal
import time

import pytest
from lab import REFUSED, call, need, pair, wait_until

PACKET = [{"ethernet": {"dst": "02:00:00:00:00:99"}}, {"ipv4": {"src": "10.0.0.2", "dst": "10.0.0.3"}}, {"udp": {"dst": 9001}}]
COUNT = 3_000
# Longer than any pause of a busy machine.
STOPPED_S = 0.8
LONG_NS = 600_000_000


@pytest.fixture
def tester(lab):
    """A namespace with a veth pair."""
    namespace = lab.netns("tester")
    lab.veth(namespace, "v0", namespace, "v1")
    return namespace


def stream(**more):
    return {"name": "s", "from": "west", "to": "east", "packet": PACKET, "rate": "1kpps", "count": COUNT, "size": "100B", **more}


@pytest.mark.parametrize("cores", [1, 2])
def test_frames_have_the_times_of_the_kernel(lab, tester, cores):
    """All of them, in captures too; other figures are as without."""
    need("tshark")
    file = lab.folder() / "c.pcapng"
    ports = pair("afpacket:v0", "afpacket:v1")
    ports["east"] |= {"timestamps": "kernel", "capture": {"file": str(file)}}
    profile = lab.profile(ports, [stream()], load={"duration": "4s", "drain": "300ms"}, seed=1)
    begun = time.time()
    result = lab.eagre("run", profile, "--json", "-", "--cores", cores, ns=tester).result()
    row, port = result["streams"]["s"], result["ports"]["east"]
    assert (row["tx"], row["rx"], row["lost"], row["reordered"], row["duplicates"]) == (COUNT, COUNT, 0, 0, 0)
    assert port["stamps"]["by"] == "kernel" and port["stamps"]["packets"] == port["rx_packets"] == COUNT
    assert 0 < port["stamps"]["clock_error_max_ns"] < 100_000_000 and "before_sent" not in port["rx_errors"]
    assert 0 < row["latency_ns"]["min"] and "stamps" not in result["ports"]["west"]
    times = [float(at) for at in call("tshark", "-r", file, "-T", "fields", "-e", "frame.time_epoch").split()]
    assert len(times) == COUNT and begun < times[0] and times[-1] < time.time()
    # Two workers write one file, each its own packets in order.
    assert all(after - before >= (0 if cores == 1 else -0.05) for before, after in zip(times, times[1:]))


def longest(lab, *flags):
    """The longest latency of a receiver that is stopped for a while, ns, and the packets received."""
    west, east = lab.netns("west"), lab.netns("east")
    lab.veth(west, "v0", east, "v1")
    sent = lab.profile({"west": {"device": "afpacket:v0"}}, [{key: value for key, value in stream().items() if key != "to"}], load={"duration": "4s", "drain": "100ms"}, seed=7)
    lines = sent.parent / "received.jsonl"
    listen = ("receive", "--port", "afpacket:v1,framecnt=4096", "--profile", sent, "--json", "-", "--jsonl", lines, *flags)
    receiver = lab.start_eagre(*listen, "--interval", "50ms", ns=east)
    wait_until(lambda: lines.exists() and lines.read_text(), "the receiver", 20)
    sender = lab.start_eagre("run", sent, "--json", "-", ns=west)

    def received():
        return json.loads(lines.read_text().splitlines()[-1])["ports"]["rx"]["rx_packets"] > 0

    wait_until(received, "packets", 20)
    time.sleep(0.5)
    receiver.send_signal(signal.SIGSTOP)
    time.sleep(STOPPED_S)
    receiver.send_signal(signal.SIGCONT)
    assert lab.finish(sender).json["streams"]["s"]["tx"] == COUNT
    row = lab.finish(receiver).json["streams"]["s"]
    return row["latency_ns"]["max"], row["rx"]


def test_a_stopped_receiver_measures_the_link_and_not_itself(lab):
    """The frames wait in the kernel's ring; the kernel knows when they came."""
    waited, received = longest(lab)
    assert waited > LONG_NS and received == COUNT
    by_kernel, received = longest(lab, "--timestamps", "kernel")
    assert by_kernel < LONG_NS and received == COUNT


@pytest.mark.parametrize(("device", "source", "words"), [
    ("afpacket:v0", "hardware", ("port west: timestamps: hardware", "ethtool -T v0", "use 'timestamps: kernel'")),
    ("afxdp:v0", "kernel", ("port west: timestamps: kernel", "'afpacket:' does")),
    ("ring:a", "kernel", ("port west: timestamps: kernel", "'afpacket:' does")),
])  # fmt: skip
def test_ports_without_such_times_are_refused(lab, tester, device, source, words):
    """With place, reason and remedy."""
    ports = pair(device, "ring:b" if device == "ring:a" else device.replace("v0", "v1"))
    ports["west"]["timestamps"] = source
    profile = lab.profile(ports, [stream()], load={"duration": "1s"})
    lab.eagre("run", profile, ns=tester).refused(REFUSED, *words)


def test_a_simulated_port_needs_none(lab):
    """A frame is taken in when it arrives."""
    ports = pair("ring:a", "ring:b")
    plain = lab.eagre("sim", lab.profile(ports, [stream()], load={"duration": "4s"}, seed=3), "--json", "-").json
    ports["east"]["timestamps"] = "kernel"
    stamped = lab.eagre("sim", lab.profile(ports, [stream()], load={"duration": "4s"}, seed=3), "--json", "-").json
    assert stamped["ports"]["east"]["stamps"]["packets"] == 0
    assert stamped["streams"] == plain["streams"]
