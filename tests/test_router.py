"""The Linux kernel's router between two veth pairs: real packets, real loss, every counter agreeing."""

import json

import pytest
from lab import EAST4, EAST6, REPO, WEST4, WEST6, judged, settled, stream, sums, wait_until

KINDS = ["afpacket", "afxdp"]
FOUR = [
    (9001, "west", "east", False),
    (9002, "west", "east", True),
    (9003, "east", "west", False),
    (9004, "east", "west", True),
]


def four(rate):
    """IPv4 and IPv6, both ways at once."""
    return [stream(f"to{port}", source, target, port, v6, rate=rate) for port, source, target, v6 in FOUR]


@pytest.fixture
def router(lab):
    return lab.router()


def counts(router):
    """Every counter between the tester's two ports."""
    qdisc = json.loads(router.router.run("tc", "-s", "-j", "qdisc", "show", "dev", "r1"))[0]
    return {
        "router": router.counted(),
        "exit": {key: qdisc[key] for key in ("packets", "drops")},
        **{interface: router.router.counters(interface) for interface in ("r0", "r1")},
        **{interface: router.tester.counters(interface) for interface in ("veth0", "veth1")},
    }


def counted_run(lab, router, profile):
    """A run, and what each counter counted meanwhile."""
    before = counts(router)
    done = lab.eagre("run", profile, "--json", "-", ns=router.tester)
    after = counts(router)
    return done, {place: {key: after[place][key] - before[place][key] for key in after[place]} for place in after}


@pytest.mark.quiet
@pytest.mark.unsteady("the router runs on the cores the tester uses; a busy neighbour costs packets")
@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_at_a_rate_the_kernel_carries(lab, router, kind):
    """IPv4 and IPv6, both directions at once: 0 lost, and the router forwarded exactly what was sent."""
    router.count(port for port, *_ in FOUR)
    profile = lab.profile(router.ports(kind), four("10kpps"), load={"duration": "1500ms", "drain": "1s"})

    def check(done, seen):
        result = done.result()
        assert judged(result) == {"valid": True, "generator_limited": False, "disturbed": False, "reasons": []}
        for port, *_ in FOUR:
            one = result["streams"][f"to{port}"]
            assert one["tx"] == 15_000
            assert (one["lost"], one["duplicates"], one["reordered"]) == (0, 0, 0)
            assert one["rx"] == one["tx"] == one["latency_ns"]["samples"] == seen["router"][f"forwarded_{port}"]
        for port in result["ports"].values():
            assert (port["tx_packets"], port["tx_unsent"]) == (30_000, 0)
            assert port["rx_errors"] == port["tx_errors"] == {}

    settled(lambda: counted_run(lab, router, profile), check)


@pytest.mark.quiet
@pytest.mark.unsteady("the router runs on the cores the tester uses; a busy neighbour costs packets")
@pytest.mark.parametrize("kind", KINDS)
def test_loss_agrees_with_the_routers_counters_to_the_packet(lab, router, kind):
    """Far above what a narrow exit carries, each lost packet is one that the router says it dropped."""
    router.count([9001, 9002])
    router.router.run(
        "tc", "qdisc", "add", "dev", "r1", "root", "tbf", "rate", "2500kbit", "burst", "16kb", "limit", "30kb"
    )
    both = [
        stream("v4", "west", "east", 9001, rate="15kpps"),
        stream("v6", "west", "east", 9002, v6=True, rate="15kpps"),
    ]
    profile = lab.profile(router.ports(kind), both, load={"duration": "1s", "drain": "1s"})

    def check(done, seen):
        # Less than half gets through, as is the intention.
        assert done.exit == 1 and not done.json["achieved"]["success"], str(done)
        result = done.json
        v4, v6 = result["streams"]["v4"], result["streams"]["v6"]
        tx, rx, lost = sums(result, "tx"), sums(result, "rx"), sums(result, "lost")
        assert judged(result) == {"valid": True, "generator_limited": False, "disturbed": False, "reasons": []}
        assert tx == 30_000 and lost > tx / 4, "the router was not overloaded"
        # In: the router received and forwarded all that was sent; what it heard besides is ARP and ND.
        assert (v4["tx"], v6["tx"]) == (seen["router"]["forwarded_9001"], seen["router"]["forwarded_9002"])
        assert seen["r0"]["rx"] == tx + seen["router"]["heard"]
        assert seen["veth0"]["dropped"] == seen["r0"]["dropped"] == 0
        # Out: what the exit refused is what was lost; what left it is what was received, but for ARP and ND.
        # The router's own ARP and ND pass the same exit, which may refuse some of them too.
        said, passed = seen["router"]["said"], seen["exit"]["packets"]
        refused = seen["exit"]["drops"] + seen["r1"]["dropped"] + seen["veth1"]["dropped"]
        # Counters are read one after the other, so one more of the router's own may lie between two of them.
        own, own_refused = passed + refused - tx, refused - lost
        assert 0 <= own_refused <= own <= said + 2, seen
        assert abs(passed - seen["r1"]["tx"]) <= 2 and rx + lost == tx, seen
        for one in (v4, v6):
            assert one["loss_ratio"] == pytest.approx(one["lost"] / one["tx"])
            assert (one["duplicates"], one["reordered"]) == (0, 0)

    settled(lambda: counted_run(lab, router, profile), check)


def test_more_than_the_tester_can_send_is_said_and_no_loss(lab, router):
    """5 Mpps over AF_PACKET: the tester is the limit and says so; what the router did not drop is not called lost."""
    router.count([9001])
    much = stream("much", "west", "east", 9001, rate="5Mpps")
    profile = lab.profile(router.ports("afpacket", v6=False), [much], load={"duration": "1s", "drain": "1s"})

    def check(done, seen):
        result = done.overload()
        one, west = result["streams"]["much"], result["ports"]["west"]
        assert result["verdict"]["valid"] and result["verdict"]["generator_limited"], result["verdict"]
        assert any("not sent" in reason or "waited" in reason for reason in result["verdict"]["reasons"])
        assert "tester was the limit" in done.err or not done.told["verdict"]["valid"]
        assert west["tx_unsent"] > 0 and abs(one["tx"] + west["tx_unsent"] - 5_000_000) <= 1
        assert one["requested_pps"] == 5e6 and one["offered_pps"] < 5e6
        places = ("veth0", "r0", "r1", "veth1")
        assert one["lost"] == sum(seen[place]["dropped"] for place in places), seen
        assert seen["router"]["forwarded_9001"] <= one["tx"]

    settled(lambda: counted_run(lab, router, profile), check)


PING = """
import socket, sys
target = sys.argv[1]
v6 = ":" in target
ping = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM, 58 if v6 else 1)
ping.settimeout(1)
ask, answer = (128, 129) if v6 else (8, 0)
for sequence in range(1, 3):
    ping.sendto(bytes([ask, 0, 0, 0, 0, 0, 0, sequence]) + b"an eagre is a tidal bore", (target, 0))
    reply, who = ping.recvfrom(2048)
    assert (reply[0], reply[7], reply[8:], who[0]) == (answer, sequence, b"an eagre is a tidal bore", target), reply
"""


@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_are_asked_and_answered(lab, router, kind):
    """The router learns both hosts by ARP and ND and can ping them while a test runs; no answer counts as traffic."""
    profile = lab.profile(router.ports(kind), four("1kpps"), load={"duration": "3s", "drain": "200ms"})
    router.router.sysctl({"net.ipv4.ping_group_range": "0 0"})
    hosts = {WEST4: "veth0", EAST4: "veth1", WEST6: "veth0", EAST6: "veth1"}

    def once():
        process = lab.start_eagre("run", profile, "--json", "-", ns=router.tester)
        sent = router.router.counters("r0")["rx"] + 100
        wait_until(lambda: router.router.counters("r0")["rx"] > sent, "traffic")
        for address in hosts:
            router.router.run("/usr/bin/python3", "-c", PING, address)
        return lab.finish(process)

    def check(done):
        known = {entry["dst"]: entry.get("lladdr") for entry in json.loads(router.router.ip("-j", "neigh", "show"))}
        for address, end in hosts.items():
            assert known.get(address) == router.tester.mac(end), known
        result = done.result()
        assert (sums(result, "lost"), sums(result, "tx")) == (0, 12_000)
        for port in result["ports"].values():
            assert port["tx_answers"] >= 4 and port["rx_other"] >= 4, port
            assert port["tx_packets"] == 6_000, "answers are no test packets"

    settled(once, check)


def test_a_packet_quoted_in_an_error_has_not_arrived(lab, router):
    """The router knows no way to them and says so, with the whole packet behind: all are lost, none came astray."""
    streams = [
        stream("four", "west", "east", rate="100pps", packet=[{"ipv4": {"dst": "10.7.0.1"}}, "udp"]),
        stream("six", "west", "east", v6=True, rate="100pps", packet=[{"ipv6": {"dst": "2001:2:7::1"}}, "udp"]),
    ]
    profile = lab.profile(router.ports("afpacket"), streams, load={"duration": "1s", "drain": "200ms"})
    done = lab.eagre("run", profile, "--json", "-", ns=router.tester)
    result = done.json
    for one in result["streams"].values():
        assert (one["tx"], one["rx"], one["lost"]) == (100, 0, 100), done
    assert result["ports"]["west"]["rx_errors"] == {} and result["ports"]["west"]["rx_other"] > 0


@pytest.mark.parametrize("family, gateway", [("v4", "10.0.0.9"), ("v6", "2001:2::9")])
def test_a_gateway_that_does_not_answer_is_named(lab, router, family, gateway):
    """Exit 3 and the address, before any traffic."""
    ports = router.ports("afpacket", v4=family == "v4", v6=family == "v6")
    ports["west"]["gateway"] = gateway
    profile = lab.profile(
        ports, [stream("s", "west", "east", v6=family == "v6", rate="1kpps")], load={"duration": "1s"}
    )
    done = lab.eagre("run", profile, ns=router.tester)
    done.refused(3, f"port west: no reply from {gateway}")
    assert done.seconds < 8
    assert router.router.counters("r1")["tx"] < 20, "traffic was sent all the same"


def complete(done):
    """A good run that lost nothing."""
    result = done.result()
    assert result["verdict"]["valid"] and sums(result, "lost") == 0 < sums(result, "tx"), result["streams"]
    assert all(criterion["passed"] for criterion in result.get("criteria", []))
    return result


@pytest.mark.unsteady("the router runs on the cores the tester uses; a busy neighbour costs packets")
@pytest.mark.parametrize("example", sorted((REPO / "examples").glob("router-*.yaml")), ids=lambda path: path.stem)
def test_the_examples_with_a_router_run(lab, router, example):
    """As they are, but not as long and not as fast: this machine may be busy."""
    settled(
        lambda: lab.eagre("run", example, "--duration", "500ms", "--rate", "10kpps", "--json", "-", ns=router.tester),
        complete,
    )


def test_send_goes_through_a_router(lab, router):
    """From flags: the gateway is asked for, the packets arrive at the other port."""
    flags = [
        "send", "--port", "veth0", "--ip", "10.0.0.2/24", "--gateway", "10.0.0.1", "--dst", "10.0.1.2",
        "--dport", "9001", "--to", "veth1", "--to-ip", "10.0.1.2/24", "--rate", "10kpps", "--for", "1s",
        "--count", "2000",
    ]  # fmt: skip
    router.count([9001])

    def check(done):
        assert sums(complete(done), "tx") == 2000

    settled(lambda: lab.eagre(*flags, "--json", "-", ns=router.tester), check)
    assert router.counted()["forwarded_9001"] % 2000 == 0
