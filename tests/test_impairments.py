"""Loss, duplicates and reordering of known amounts: the report gives exactly those."""

import json

import pytest
from lab import CANNOT_JUDGE, REPO, settled, stream, sums

FORWARDER, LIAR = REPO / "tests/forwarder.py", REPO / "tests/liar.py"


def through(lab, kind, program, streams, **load):
    """Runs streams through a device that is `program`; each call returns the run and what the device did."""
    tester, device = lab.netns("tester"), lab.netns("device")
    device.sysctl({"net.ipv6.conf.all.disable_ipv6": 1})
    lab.veth(tester, "veth0", device, "west")
    lab.veth(tester, "veth1", device, "east")
    for end in ("west", "east") if kind == "xdp" else ():
        device.run("ethtool", "-K", end, "gro", "on")
    ports = {
        "west": {"device": f"{kind}:veth0", "ip": "10.0.0.2/24"},
        "east": {"device": f"{kind}:veth1", "ip": "10.0.0.3/24"},
    }
    profile = lab.profile(ports, streams, load=load)

    def once():
        process = lab.start("/usr/bin/python3", program, "west", "east", 9001, ns=device, stdin=-1)
        assert process.stdout.readline() == "ready\n"
        done = lab.eagre("run", profile, "--json", "-", ns=tester)
        return done, json.loads(process.communicate("", timeout=20)[0])

    return once


@pytest.mark.unsteady("the device runs on the cores the tester uses; a busy neighbour costs packets")
@pytest.mark.parametrize("kind", ["afpacket", "afxdp", "xdp"])
def test_what_a_device_does_to_packets_is_reported_exactly(lab, kind):
    """Real packets through a device that drops every 10th, repeats every 7th and holds every 13th back."""
    streams = [
        stream("spoilt", "west", "east", 9001, rate="2kpps", count=5000),
        stream("spared", "east", "west", 9002, rate="500pps", count=1000),
    ]
    once = through(lab, kind, FORWARDER, streams, duration="4s", drain="1s")

    def check(done, did):
        result = done.result()
        spoilt, spared = result["streams"]["spoilt"], result["streams"]["spared"]
        assert did["seen"] == spoilt["tx"] == 5000, "the forwarder itself missed packets"
        assert did["dropped"] == 500 and did["duplicated"] > 600 and did["late"] > 250
        assert spoilt["lost"] == did["dropped"]
        assert spoilt["rx"] == did["seen"] - did["dropped"]
        assert spoilt["duplicates"] == did["duplicated"]
        assert spoilt["reordered"] == did["late"]
        assert spoilt["reorder_distance_max"] == did["distance_max"]
        assert spoilt["loss_ratio"] == pytest.approx(0.1)
        assert spoilt["latency_ns"]["samples"] == spoilt["rx"]
        assert (spared["tx"], spared["lost"], spared["duplicates"], spared["reordered"]) == (1000, 0, 0, 0)
        recorded = [port["kernel_rx"]["packets"] for port in result["ports"].values() if kind == "xdp"]
        assert recorded in ([], [spared["rx"], spoilt["rx"] + spoilt["duplicates"]])
        assert result["verdict"]["valid"], result["verdict"]

    settled(once, check)


@pytest.mark.unsteady("the device runs on the cores the tester uses; a busy neighbour costs packets")
@pytest.mark.parametrize("kind", ["afpacket", "afxdp", "xdp"])
def test_damaged_and_forged_packets_cost_themselves_and_nothing_else(lab, kind):
    """A flipped bit of a sequence number or of a time, and a number 3,000,000 ahead: the other packets count as received,
    the latency is right, and the verdict says what was left out."""
    streams = [stream("lied-about", "west", "east", 9001, rate="1kpps", count=1000, size="64B")]
    once = through(lab, kind, LIAR, streams, duration="1500ms", drain="500ms")

    def check(done, did):
        assert did["seen"] == 1000, "the device itself missed packets"
        result = done.json
        counts = result["streams"]["lied-about"]
        assert (counts["tx"], counts["rx"], counts["lost"]) == (1000, 998, 2)
        assert (counts["stale"], counts["rejected"], counts["duplicates"], counts["reordered"]) == (0, 0, 0, 0)
        assert counts["latency_ns"]["max"] < 10**9, "a flipped bit of the time is 16 ms, 4 s or more"
        assert result["ports"]["east"]["rx_errors"]["damaged_signature"] == 3
        assert done.exit == CANNOT_JUDGE and not result["verdict"]["valid"]
        assert "3 test packets arrived with a damaged or forged signature" in " ".join(result["verdict"]["reasons"])

    settled(once, check)


def simulated(lab, link, seed=7, duration="2s", rate="100kpps", **sim):
    """Two streams, one each way, over impaired links. The streams of one port overtake only themselves."""
    ports = {"west": {"device": "ring:a", "ip": "10.0.0.1/24"}, "east": {"device": "ring:b", "ip": "10.0.0.2/24"}}
    streams = [stream("eastward", "west", "east", rate=rate), stream("westward", "east", "west", rate=rate)]
    profile = lab.profile(
        ports, streams, load={"duration": duration, "drain": "100ms"}, seed=seed, sim={"link": link, **sim}
    )
    return lab.eagre("sim", profile, "--json", "-")


ALL = {"speed": "1Gbps", "delay": "5ms", "loss": "1%", "duplicate": "0.5%", "reorder": "2%", "reorder_by": "50us"}


@pytest.mark.parametrize(
    "link",
    [
        {"loss": "3%"},
        {"duplicate": "2%"},
        {"reorder": "5%", "reorder_by": "100us"},
        {"reorder": "50%", "reorder_by": "11us"},
        {"loss": "1%", "duplicate": "1%", "reorder": "1%", "reorder_by": "1ms"},
        ALL,
    ],
    ids=lambda link: "-".join(link),
)
def test_what_simulated_links_do_is_reported_exactly(lab, link):
    """The simulation's own account of lost, repeated and overtaken frames equals what was measured."""
    result = simulated(lab, link).result()
    truth = result["sim"]
    assert sums(result, "tx") == 400_000
    assert truth["lost_on_links"] == sums(result, "lost")
    assert truth["duplicated"] == sums(result, "duplicates")
    assert truth["overtaken"] == sums(result, "reordered")
    assert truth["dropped_by_device"] == truth["no_route"] == 0
    for share, counted in (("loss", "lost_on_links"), ("duplicate", "duplicated"), ("reorder", "delayed")):
        expected = 400_000 * float(link.get(share, "0%").rstrip("%")) / 100
        # Four standard deviations and more.
        assert abs(truth[counted] - expected) <= 4 * (expected + 1) ** 0.5 + 1, (share, truth)


@pytest.mark.parametrize("arguments", [[], ["--dut", "router:capacity=500kpps,buffer=32"]], ids=["profile", "flag"])
def test_a_model_router_drops_what_is_counted_lost(lab, arguments):
    """A router that is offered more than it carries: what its full buffer drops is what is lost."""
    example = REPO / "examples/sim-router.yaml"
    done = lab.eagre("sim", example, "--json", "-", *arguments)
    capacity = 500_000 if arguments else 1_000_000
    result = done.told
    assert (done.exit == 0) == result["achieved"]["success"] == (capacity >= 600_000), "half of 1,200,000 must arrive"
    assert sums(result, "lost") == result["sim"]["dropped_by_device"] > 0
    assert sums(result, "tx") == 1_200_000
    assert abs(sums(result, "rx") - capacity) <= capacity / 100


def test_the_same_seed_gives_the_same_result_bit_for_bit(lab):
    """And another seed another one."""
    first, same, other = (simulated(lab, ALL, seed) for seed in (7, 7, 8))
    assert first.ok().out == same.ok().out
    assert other.ok().json["streams"] != first.json["streams"]


def test_a_simulated_minute_takes_less_than_a_minute(lab):
    """60 s at 100 kpps."""
    done = simulated(lab, {"loss": "0.1%"}, duration="60s", rate="50kpps")
    result = done.result()
    assert sums(result, "tx") == 6_000_000 and result["duration_s"] == 60
    assert sums(result, "lost") == result["sim"]["lost_on_links"] > 0
    assert done.seconds < 60, f"{done.seconds} s"


def test_latency_on_a_simulated_link_is_what_the_link_says(lab):
    """5 ms of propagation twice, and the time a frame takes on two links of 1 Gbps."""
    result = simulated(lab, {"speed": "1Gbps", "delay": "5ms"}, duration="100ms").result()
    for one in result["streams"].values():
        # 64 bytes, preamble and gap: 672 bits.
        assert one["latency_ns"]["min"] == one["latency_ns"]["max"] == 2 * (5_000_000 + 672)
        assert one["jitter_ns"]["rfc4689_max"] == 0
