"""The Linux kernel's router between two veth pairs: real packets, real loss, every counter agreeing."""

import json

import pytest
from lab import need, stream, sums, undisturbed, wait_until

KINDS = ["afpacket", "afxdp"]
FOUR = [(9001, "west", "east", False), (9002, "west", "east", True), (9003, "east", "west", False), (9004, "east", "west", True)]


def streams(each, **rest):
    return [stream(f"to{port}", source, target, port, v6, **each) for port, source, target, v6 in FOUR]


@pytest.fixture
def router(lab):
    return lab.router()


def run(lab, router, profile, *arguments):
    return lab.eagre("run", profile, "--json", "-", *arguments, ns=router.tester)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_lost_at_a_rate_the_kernel_carries(lab, router, kind):
    """IPv4 and IPv6, both directions at once: 0 lost, and the router forwarded exactly what was sent."""
    router.count(port for port, *_ in FOUR)
    profile = lab.profile(router.ports(kind), streams({"rate": "20kpps"}), load={"duration": "1500ms", "drain": "1s"})
    counted = []

    def once():
        before = router.counted()
        done = run(lab, router, profile)
        after = router.counted()
        counted.append({name: after[name] - before[name] for name in after})
        return done

    result = undisturbed(once).result()
    assert result["verdict"] == {"valid": True, "generator_limited": False, "reasons": []}
    for port, *_ in FOUR:
        one = result["streams"][f"to{port}"]
        assert one["tx"] == 30_000
        assert (one["lost"], one["duplicates"], one["reordered"]) == (0, 0, 0)
        assert one["rx"] == one["tx"] == one["latency_ns"]["samples"] == counted[-1][f"forwarded_{port}"]
    for name, port in result["ports"].items():
        assert (port["tx_packets"], port["tx_unsent"], port["rx_errors"], port["tx_errors"]) == (60_000, 0, {}, {}), name


@pytest.mark.parametrize("kind", KINDS)
def test_loss_agrees_with_the_routers_counters_to_the_packet(lab, router, kind):
    """Far above what a narrow exit carries, each lost packet is one that the router says it dropped."""
    router.count([9001, 9002])
    tbf = ["dev", "r1", "root", "tbf", "rate", "5mbit", "burst", "16kb", "limit", "30kb"]
    router.router.run("tc", "qdisc", "add", *tbf)
    profile = lab.profile(
        router.ports(kind),
        [stream("v4", "west", "east", 9001, rate="30kpps"), stream("v6", "west", "east", 9002, v6=True, rate="30kpps")],
        load={"duration": "1s", "drain": "1s"},
    )
    observed = {}

    def qdisc():
        return json.loads(router.router.run("tc", "-s", "-j", "qdisc", "show", "dev", "r1"))[0]

    def look():
        return {
            "counted": router.counted(),
            "r0": router.router.counters("r0"),
            "r1": router.router.counters("r1"),
            "veth0": router.tester.counters("veth0"),
            "veth1": router.tester.counters("veth1"),
            "qdisc": {key: qdisc()[key] for key in ("packets", "drops")},
        }

    def once():
        before = look()
        done = run(lab, router, profile)
        after = look()
        observed.update({table: {key: after[table][key] - before[table][key] for key in after[table]} for table in after})
        return done

    result = undisturbed(once).result()
    seen = observed
    v4, v6 = result["streams"]["v4"], result["streams"]["v6"]
    tx, rx, lost = sums(result, "tx"), sums(result, "rx"), sums(result, "lost")
    assert result["verdict"]["valid"] and not result["verdict"]["generator_limited"], result["verdict"]
    assert tx == 60_000 and lost > tx / 4, "the router was not overloaded"
    # In: the router received and forwarded all that was sent; what it heard besides is ARP and ND.
    assert (v4["tx"], v6["tx"]) == (seen["counted"]["forwarded_9001"], seen["counted"]["forwarded_9002"])
    assert seen["r0"]["rx"] == tx + seen["counted"]["heard"]
    assert seen["veth0"]["dropped"] == seen["r0"]["dropped"] == 0
    # Out: what the exit refused is what was lost; what left it is what was received, but for ARP and ND.
    assert lost == seen["qdisc"]["drops"] + seen["r1"]["dropped"] + seen["veth1"]["dropped"], seen
    assert rx == seen["r1"]["tx"] - seen["counted"]["said"]
    assert rx == seen["qdisc"]["packets"] - seen["counted"]["said"]
    for one in (v4, v6):
        assert one["loss_ratio"] == pytest.approx(one["lost"] / one["tx"])
        assert (one["duplicates"], one["reordered"]) == (0, 0)


def test_more_than_the_tester_can_send_is_said_and_no_loss(lab, router):
    """5 Mpps over AF_PACKET: the tester is the limit and says so; what the router did not drop is not called lost."""
    router.count([9001])
    profile = lab.profile(router.ports("afpacket", v6=False), [stream("much", "west", "east", 9001, rate="5Mpps")], load={"duration": "1s", "drain": "1s"})
    sides = [(router.tester, "veth0"), (router.tester, "veth1"), (router.router, "r0"), (router.router, "r1")]
    dropped = lambda: sum(side.counters(interface)["dropped"] for side, interface in sides)
    observed = {}

    def once():
        before = dropped(), router.counted()["forwarded_9001"]
        done = run(lab, router, profile)
        observed["dropped"] = dropped() - before[0]
        observed["forwarded"] = router.counted()["forwarded_9001"] - before[1]
        return done

    done = undisturbed(once, good=lambda run: run.exit == 0)
    result = done.ok().json
    one = result["streams"]["much"]
    assert result["verdict"]["valid"] and result["verdict"]["generator_limited"], result["verdict"]
    assert any("not sent" in reason for reason in result["verdict"]["reasons"])
    assert result["ports"]["west"]["tx_unsent"] > 0
    assert abs(one["tx"] + result["ports"]["west"]["tx_unsent"] - 5_000_000) <= 1
    assert one["requested_pps"] == 5e6 and one["offered_pps"] < 5e6
    assert one["lost"] == observed["dropped"], observed
    assert observed["forwarded"] <= one["tx"]
    assert "tester was the limit" in done.err


@pytest.mark.parametrize("kind", KINDS)
def test_neighbours_are_asked_and_answered(lab, router, kind):
    """The router learns both hosts by ARP and ND, and can ping the tester while a test runs."""
    need("ping")
    profile = lab.profile(router.ports(kind), streams({"rate": "1kpps"}), load={"duration": "4s", "drain": "200ms"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=router.tester)
    wait_until(lambda: router.router.counters("r0")["rx"] > 100, "traffic")
    for address in ("10.0.0.2", "10.0.1.2", "2001:2::2", "2001:2:0:1::2"):
        router.router.run("ping", "-c", "2", "-i", "0.2", "-W", "1", address)
    neighbours = json.loads(router.router.ip("-j", "neigh", "show"))
    known = {entry["dst"]: entry.get("lladdr") for entry in neighbours if entry.get("lladdr")}
    for address, end in (("10.0.0.2", "veth0"), ("10.0.1.2", "veth1"), ("2001:2::2", "veth0"), ("2001:2:0:1::2", "veth1")):
        assert known.get(address) == router.tester.mac(end), known
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    result = json.loads(out)
    assert sums(result, "lost") == 0
    answers = sum(port["tx_answers"] for port in result["ports"].values())
    assert answers >= 8 and all(port["rx_other"] >= 4 for port in result["ports"].values()), result["ports"]
    assert sums(result, "tx") == sum(port["tx_packets"] for port in result["ports"].values()), "answers are no test packets"

