"""`eagre bench traffic-management`: what policers, shapers and schedulers do, found from outside (RFC 7640)."""

import json

import pytest
from hosts import rules
from lab import need

SIZE = 500
PORTS = {"a": 1001, "b": 1002}


def streams(names="ab"):
    one = lambda name: {"name": name, "from": "west", "to": "east", "packet": ["ipv4", {"udp": {"dst": PORTS[name]}}], "size": f"{SIZE}B"}
    return [one(name) for name in names]


def command(path, *tests, load="20Mbps", trial="1s", classes="ab"):
    settings = {"classes": json.dumps(list(classes)), "tests": json.dumps(tests), "load": load, "resolution": 0.05}
    words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    times = ["--trial", trial, "--set", "wait=100ms", "--settle", "0s", "--learning", "50ms", "--drain", "400ms"]
    return ["bench", "traffic-management", path, "--sizes", f"{SIZE}B", *times, *words]


def rows(lab, words, folder, ns=None, exits=(0,)):
    done = lab.eagre(*words, "--store", folder / "r.db", "--json", "-", ns=ns, timeout=120)
    assert done.exit in exits, done
    result = done.json["results"][0]
    return {row["class"]: row for row in result["findings"]["rows"]}, result


def model(lab, **sim):
    ring = lambda name, ip: {"device": f"ring:{name}", "ip": ip, "speed": "1Gbps"}
    ports = {
        "west": {**ring("x", "10.0.0.2/24"), "gateway": "10.0.0.1"},
        "east": {**ring("y", "10.0.1.2/24"), "gateway": "10.0.1.1"},
    }
    return lab.profile(ports, streams(), sim=sim)


def near(value, truth, share):
    return abs(value - truth) <= truth * share


def test_a_model_router_is_a_shaper(lab):
    """2,000 frames a second from a buffer of 100: 8 Mbit/s and 50,000 bytes, which classes share as they send."""
    path = model(lab, link={"speed": "1Gbps"}, router={"capacity": "2kpps", "buffer": 100})
    found, result = rows(lab, [*command(path, "limit", "burst", "scheduler"), "--sim"], lab.folder())
    for name in "ab":
        alone = found[name]["alone"]
        assert alone["treatment"] == "shaper" and alone["queue_is_full"], alone
        assert near(alone["rate_bps"], 8e6, 0.005) and alone["rate_error_bps"] < 0.02 * 8e6, alone
        assert near(alone["queue_bytes"], 50_000, 0.03) and alone["bucket_bytes"] <= alone["bucket_error_bytes"], alone
        # It sends on while the burst comes, at a hundredth of its rate.
        burst = found[name]["burst"]
        assert burst["limit"] == "dut" and near(burst["bytes"], 50_000, 0.06), burst
        assert abs(found[name]["together"]["share"] - 0.5) < 0.05, found
        # One queue for all: a class that sends little waits with the others.
        assert found[name]["beside"]["latency_p99_ns"] > 40e6, found
    assert "shaped to 8" in result["summary"][0] and "equal shares of equal loads" in result["summary"][-1], result["summary"]


def test_a_model_router_that_passes_everything(lab):
    path = model(lab, link={"speed": "1Gbps"}, router={"capacity": "1Mpps", "buffer": 100})
    found, result = rows(lab, [*command(path, "limit", "burst", classes="a"), "--sim"], lab.folder())
    assert found["a"]["alone"]["treatment"] == "unlimited" and found["a"]["burst"] is None, found
    assert result["summary"] == ["a: everything passed, at 20 Mbps."], result["summary"]


def kernel(lab, router):
    ports = {name: {**port, "speed": "1Gbps"} for name, port in router.ports("afpacket", v6=False).items()}
    return lab.profile(ports, streams())


@pytest.mark.quiet
def test_a_policer_and_a_shaper_of_the_kernel(lab):
    """nftables drops what exceeds 500 packets a second of a class and 25 more; tbf lets another wait for up to 50 ms."""
    need("nft", "tc")
    router = lab.router()
    rules(router.router, "forward", "udp dport 1001 limit rate over 500/second burst 25 packets drop", "udp dport 1002 meta priority set 1:2")
    router.router.run("tc", "qdisc", "add", "dev", "r1", "root", "handle", "1:", "htb", "default", "1")
    for minor, rate in ((1, "1gbit"), (2, "1gbit")):
        router.router.run("tc", "class", "add", "dev", "r1", "parent", "1:", "classid", f"1:{minor}", "htb", "rate", rate)
    shape = ["tbf", "rate", "4mbit", "burst", "5000", "limit", "25000"]
    router.router.run("tc", "qdisc", "add", "dev", "r1", "parent", "1:2", "handle", "2:", *shape)
    found, _ = rows(lab, command(kernel(lab, router), "limit", "burst"), lab.folder(), ns=router.tester, exits=(0, 4, 5))
    policed, shaped = found["a"]["alone"], found["b"]["alone"]
    # A trial that the tester spoilt is not judged; one that it did not is judged right.
    if policed["judged"]:
        assert policed["treatment"] == "policer", policed
        assert near(policed["rate_bps"], 2e6, 0.05) and near(policed["bucket_bytes"], 12_500, 0.5), policed
    if shaped["judged"]:
        # tbf counts frames without FCS.
        assert shaped["treatment"] == "shaper" and near(shaped["rate_bps"], 4e6 * 500 / 496, 0.05), shaped
        assert near(shaped["queue_bytes"], 25_000, 0.3) and near(shaped["wait_ns"], 50e6, 0.4), shaped
    for name, least, most in (("a", 8_000, 25_000), ("b", 20_000, 50_000)):
        burst = found[name]["burst"]
        assert burst["limit"] != "dut" or least < burst["bytes"] < most, burst


@pytest.mark.quiet
@pytest.mark.unsteady("a busy kernel serves classes late")
def test_a_scheduler_of_the_kernel(lab):
    """htb gives one class a quarter, and the other three, of 8 Mbit/s."""
    need("nft", "tc")
    router = lab.router()
    rules(router.router, "forward", "udp dport 1001 meta priority set 1:10", "udp dport 1002 meta priority set 1:20")
    tc = lambda *words: router.router.run("tc", *words)
    tc("qdisc", "add", "dev", "r1", "root", "handle", "1:", "htb", "default", "10")
    tc("class", "add", "dev", "r1", "parent", "1:", "classid", "1:1", "htb", "rate", "8mbit", "ceil", "8mbit")
    for minor, rate in ((10, "2mbit"), (20, "6mbit")):
        tc("class", "add", "dev", "r1", "parent", "1:1", "classid", f"1:{minor}", "htb", "rate", rate, "ceil", "8mbit")
    found, result = rows(lab, command(kernel(lab, router), "limit", "scheduler", trial="2s"), lab.folder(), ns=router.tester, exits=(0, 4, 5))
    together = {name: row["together"] for name, row in found.items()}
    if all(one["judged"] for one in together.values()):
        assert abs(together["a"]["share"] - 0.25) < 0.05 and abs(together["b"]["share"] - 0.75) < 0.05, together
        if all(row["alone"]["judged"] for row in found.values()):
            assert "shares by weight" in result["summary"][-1], result["summary"]
    for name in "ab":
        beside = found[name]["beside"]
        # A tenth of what a class may send has room beside the other.
        assert not beside["judged"] or beside["loss_ratio"] == 0, beside


def test_what_is_refused(lab):
    path = model(lab, link={"speed": "1Gbps"}, router={"capacity": "1Mpps", "buffer": 100})
    refused = lambda text, *words: lab.eagre("bench", "traffic-management", path, "--sim", "--estimate", *words).refused(2, text)
    refused("the profile has no stream 'class', only a, b: each class is a stream, given as --set")
    refused("classes: needs the names of streams", "--set", "classes=[]")
    refused("the profile has no stream 'voice', only a, b: each class is a stream", "--set", 'classes=["voice"]')
    refused("'a' is listed twice", "--set", 'classes=["a", "a"]')
    refused("must be one length", "--set", 'classes=["a"]', "--sizes", "imix")
    refused("is of layer 2", "--set", 'classes=["a"]', "--set", "load=1Mbps-L1")
