"""Modifications of test frames by `eagre bench`, observed by a real router."""

import pytest
from bench import SPEED, Bench, undisturbed
from hosts import counted, rules
from lab import EAST4, stream

LEARNT = 0.03  # Learning frames pass the router, too.


class Routed:
    def __init__(self, lab):
        self.router = lab.router()
        self.lab, self.bench = lab, Bench(lab, self.router.tester)

    def run(self, *options, v6=False):
        """A trial at the line rate: its row, and its group of test frames. The router counts from its beginning."""
        ports = self.router.ports("afpacket", v4=not v6, v6=v6)
        ports = {name: {**port, "speed": SPEED} for name, port in ports.items()}
        profile = self.lab.profile(ports, [stream("up", "west", "east", v6=v6)], seed=7)

        def once():
            self.router.router.run("nft", "reset", "counters")
            return self.bench.run("mrr", profile, "--set", "repeats=1", *options, search=False)

        result = undisturbed(once).ok().json["results"][0]
        # A trial that can't be judged is run again, and the router counts its packets, too.
        assert result["trials"][-1]["lost"] == 0, result["trials"]
        return result, sum(trial["sent"] for trial in result["trials"])

    def share(self, sent):
        return counted(self.router.router)["hit"] / sent


@pytest.fixture
def routed(lab):
    return Routed(lab)


def test_destinations_lie_in_so_many_networks(routed):
    for network in (2, 3, 4):
        routed.router.router.ip("route", "add", f"10.0.{network}.0/24", "via", EAST4)
    rules(routed.router.router, "forward", "ip daddr 10.0.3.2 counter name hit")
    _, sent = routed.run("--networks", 4)
    assert routed.share(sent) == pytest.approx(0.25, abs=LEARNT)


def test_ports_are_random(routed):
    rule = "udp sport 1024-65535 udp dport 1-49151 udp dport != 9 counter name hit"
    rules(routed.router.router, "forward", rule)
    result, sent = routed.run("--random-stimuli")
    assert routed.share(sent) == pytest.approx(1, abs=LEARNT)
    assert any("RFC 4814" in remark for remark in result["remarks"]), result["remarks"]


def test_half_of_the_packets_have_a_hop_by_hop_header(routed):
    rules(routed.router.router, "forward", "exthdr hbh exists counter name hit")
    _, sent = routed.run("--modifier", "hop-by-hop:50", v6=True)
    assert routed.share(sent) == pytest.approx(0.5, abs=LEARNT)


def test_one_frame_in_a_hundred_is_a_broadcast(routed):
    result, sent = routed.run("--modifier", "broadcast")
    line = result["findings"]["rows"][0]["line_rate_pps"]
    duration = result["trials"][-1]["duration_ns"] / 1e9
    assert sent == pytest.approx(0.99 * line * duration * len(result["trials"]), abs=2 * len(result["trials"]))


def test_a_query_each_second_reaches_the_gateway(routed):
    rules(routed.router.router, "input", "iifname r0 udp dport 161 counter name hit")
    result, _ = routed.run("--modifier", "management")
    assert counted(routed.router.router)["hit"] == len(result["trials"])


def test_filters_are_the_device_s_to_have(routed):
    """A hook sets them; the remark tells how many."""
    command = f"ip netns exec {routed.router.router.name} nft add counter inet filters used"
    table = f"ip netns exec {routed.router.router.name} nft add table inet filters"
    rules(routed.router.router, "forward", "counter name hit")
    result, _ = routed.run("--modifier", "filters:25", "--before-trial", f"{table} && {command}")
    assert "used" in counted(routed.router.router)
    assert any("Filters(25)" in remark for remark in result["remarks"]), result["remarks"]
