"""Each kind of port moves real packets and counts them as the other end does."""

import json
import time

import pytest
from lab import STALL_MAX_NS, need, pair, stalled_ns, stream, sums, undisturbed, wait_until
from testpmd import Testpmd, server

COUNT = 20_000


@pytest.fixture
def testpmd(lab):
    """Starts dpdk-testpmd."""
    running = []

    def start(*vdevs, **options):
        running.append(Testpmd(lab, *vdevs, **options))
        return running[-1]

    yield start
    for one in running:
        one.close()


def both_ways(rate="20kpps", **rest):
    return [stream("east", "west", "east", 9001, rate=rate, **rest), stream("west", "east", "west", 9002, rate=rate, **rest)]


def through(lab, forwarder, ports):
    """Sends a known number of packets both ways through testpmd and compares all counts.

    Server statistics of memif are forgotten when the peer leaves. So the run is held open by a last packet, and the
    counters are read in the silence before it.
    """
    last = stream("last", "west", "east", 9003, rate="1pps", count=1, start_delay="4s")
    streams = [*both_ways(count=COUNT, size="128B"), last]
    profile = lab.profile(ports, streams, load={"duration": "6s", "drain": "500ms"})
    process = lab.start_eagre("run", profile, "--json", "-")
    goal = {port: {"rx": COUNT, "tx": COUNT} for port in (0, 1)}
    try:
        wait_until(lambda: process.poll() is not None or forwarder.counters() == goal, f"{goal}", 3.5, 0.2)
    except AssertionError:
        pass  # Compared below, with all that is known.
    counters = forwarder.counters()
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    result = json.loads(out)
    return result, counters


def agree(result, counters):
    assert counters == {port: {"rx": COUNT, "tx": COUNT} for port in (0, 1)}, result["streams"]
    assert result["verdict"] == {"valid": True, "generator_limited": False, "reasons": []}
    for name in ("east", "west"):
        one = result["streams"][name]
        assert (one["tx"], one["rx"], one["lost"], one["duplicates"], one["reordered"]) == (COUNT, COUNT, 0, 0, 0), name
    assert result["streams"]["last"]["lost"] == 0


def try_through(lab, forwarder, ports, attempts=2):
    """Once more if the machine kept the tester from its queues: then it is the tester that lost packets."""
    for _ in range(attempts):
        before = forwarder.counters()
        result, after = through(lab, forwarder, ports)
        # A port that has not been closed counts on.
        keeps = all(after[port]["rx"] >= before[port]["rx"] > 0 for port in after)
        counters = {p: {k: after[p][k] - (before[p][k] if keeps else 0) for k in after[p]} for p in after}
        if stalled_ns(result) <= STALL_MAX_NS:
            break
    agree(result, counters)


def test_memif_through_testpmd(lab, testpmd):
    """Two memif ports and a mac-forwarder: nothing is lost at a modest rate, and testpmd counts the same."""
    folder = lab.folder()
    forwarder = testpmd(server(0, folder / "west.sock"), server(1, folder / "east.sock"))
    ports = pair(f"memif:{folder}/west.sock", f"memif:{folder}/east.sock")
    ports["west"].pop("ip"), ports["east"].pop("ip")
    try_through(lab, forwarder, with_addresses(ports))


def with_addresses(ports):
    """Without 'ip' nobody is asked for hardware addresses: testpmd answers no ARP."""
    return ports


def addressed(streams):
    """Streams between ports without addresses name theirs."""
    for one in streams:
        one["packet"][0] = {"ipv4": {"src": "10.0.0.2", "dst": "10.0.0.3"}}
    return streams
