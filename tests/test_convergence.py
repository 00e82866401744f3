"""`eagre bench convergence`: FRR with two paths, whose routes are withdrawn and come back; and what is refused."""

import time

import pytest
import yaml
from bench import Bench, undisturbed
from lab import LONG, REPO, stalled_ns, stream, wait_until
from test_bgp import Device
import test_isis
from test_ospf import POINT, QUICK, ospf, router
from test_ospf import Device as OspfDevice

NEIGHBORS = "".join(
    f" neighbor {ip} remote-as {asn}\n neighbor {ip} timers connect 1\n" for ip, asn in (("10.0.0.2", 65001), ("10.1.0.2", 65002))
)
REPEATS = 10 if LONG else 2
GAP = 4 / 8_000
DURATION = 4 if LONG else 2
SETTINGS = ["--set", f"repeats={REPEATS}", "--set", "rate=8kpps", "--set", f"duration={DURATION}s"]


def example():
    return yaml.safe_load((REPO / "examples/convergence.yaml").read_text())


class TwoPaths(Device):
    """The device with a third network: 10.1.0.0/24 of the second path."""

    def __init__(self, lab):
        super().__init__(lab, NEIGHBORS)
        lab.veth(self.tester, "veth2", self.ns, "d2")
        self.ns.ip("address", "add", "10.1.0.1/24", "dev", "d2")

    def profile(self, **keys):
        document = example()
        for name, end in (("source", "veth1"), ("first", "veth0"), ("second", "veth2")):
            document["ports"][name]["device"] = f"afpacket:{end}"
        document["ports"]["first"]["ip"] = "10.0.0.2/16"
        return self.lab.profile(document["ports"], document["streams"], **keys)

    def bench(self, *options):
        """A campaign, another one if it was disturbed; with its store."""
        benches = []

        def run():
            benches.append(Bench(self.lab, self.tester))
            return benches[-1].run("convergence", self.profile(), *SETTINGS, *options, search=False, timeout=300)

        done = undisturbed(run)
        return benches[-1], done


@pytest.mark.quiet
@pytest.mark.unsteady("a tester that was kept from its core can't tell when traffic moved")
def test_loss_and_the_first_packet_agree(lab):
    device = TwoPaths(lab)
    bench, done = device.bench("--report", lab.folder() / "report.html")
    result = done.ok().told["results"][0]
    (row,) = result["findings"]["rows"]
    assert (row["not_converged"], row["too_early"], row["not_returned"]) == (0, 0, 0), row
    trials = [trial["outcome"] for trial in bench.trials()]
    for outcome in trials:
        streams = outcome["convergence"]
        assert [one["stream"] for one in streams] == [f"route[{n}]" for n in range(4)], streams
        for one in streams:
            gone, back = one["withdrawal"], one["advertisement"]
            # The routes left when they were to, or some turns of control later; traffic moved then, and only then.
            assert DURATION * 0.25 <= gone["event_ns"] / 1e9 < DURATION * 0.25 + 0.1, one
            assert gone["event_ns"] < gone["first_new_ns"] and back["event_ns"] < back["first_new_ns"], one
            assert 0 < gone["moved"] < gone["sent"] and 0 < back["moved"] < back["sent"], one
    # What comes back is there before anything is taken away.
    assert any(one["advertisement"]["lost"] == 0 for outcome in trials for one in outcome["convergence"]), trials
    by_loss, first = row["by_loss_s"], row["by_first_packet_s"]
    assert by_loss["samples"] + row["tester_limited"] == REPEATS, row
    # FRR takes the withdrawal in, chooses, and tells the kernel: not at once, and within half a second.
    assert 0 < by_loss["min"] <= by_loss["median"] <= by_loss["max"] < 0.5, row
    assert row["first_route_s"]["min"] - GAP <= by_loss["median"] <= row["full_s"]["max"] + GAP, row
    # Either both ways say the same, or the finding says why not.
    assert row["apart_allowed_s"] == pytest.approx(GAP + 0.001), row
    assert row["apart_max_s"] <= row["apart_allowed_s"] or row["apart_because"], row
    assert abs(by_loss["median"] - first["median"]) < 0.02, row
    findings = {finding["goal"]: finding for finding in bench.shown()["findings"]}
    assert findings["convergence"]["value"] == pytest.approx(by_loss["mean"]), findings
    assert findings["convergence"]["unit"] == "s" and "median" in findings["convergence"]["note"], findings
    assert {"convergence_first_packet", "convergence_full", "reconvergence_lost"} <= findings.keys()
    exported = lab.eagre("results", "export", "--format", "csv", "--store", bench.store).ok().out
    assert "convergence" in exported, exported[:2000]


@pytest.mark.quiet
@pytest.mark.unsteady("a tester that was kept from its core can't tell when traffic moved")
def test_routes_of_ospf_are_withdrawn_and_come_back(lab):
    """The second path has the higher metric. A router sends an LSA again after five seconds at the earliest: trials are that long."""
    device = OspfDevice(lab, more=" timers throttle spf 0 50 500\n")
    lab.veth(device.tester, "veth2", device.ns, "d2")
    device.ns.ip("address", "add", "10.1.0.1/24", "dev", "d2")
    device.vtysh("-c", "configure terminal", *(f"-c{line.strip()}" for line in f"interface d2\nip ospf area 0\n{POINT}{QUICK}".splitlines()))
    document = example()
    for name, end, router_id, metric in (("first", "veth0", "1.1.1.1", 10), ("second", "veth2", "1.1.1.2", 20)):
        port = document["ports"][name]
        del port["bgp"]
        one = router(router_id=router_id, routes=[{"prefixes": "16.0.0.0/24", "count": 4, "metric": metric}])
        port.update(device=f"afpacket:{end}", ospf=ospf(one, settle="1s"))
    document["ports"]["source"]["device"] = "afpacket:veth1"
    profile = lab.profile(document["ports"], document["streams"])

    benches = []

    def run():
        benches.append(Bench(lab, device.tester))
        settings = ["--set", "repeats=1", "--set", "rate=8kpps", "--set", "duration=8s"]
        return benches[-1].run("convergence", profile, *settings, search=False, timeout=300)

    result = undisturbed(run).ok().told["results"][0]
    (row,) = result["findings"]["rows"]
    assert (row["not_converged"], row["too_early"], row["not_returned"]) == (0, 0, 0), row
    assert 0 < row["by_loss_s"]["median"] < 1, row
    (outcome,) = [trial["outcome"] for trial in benches[-1].trials()]
    for one in outcome["convergence"]:
        gone, back = one["withdrawal"], one["advertisement"]
        assert 2 <= gone["event_ns"] / 1e9 < 2.1 and 5.2 <= back["event_ns"] / 1e9 < 5.3, one
        assert 0 < gone["moved"] < gone["sent"] and 0 < back["moved"] < back["sent"], one


@pytest.mark.quiet
@pytest.mark.unsteady("a tester that was kept from its core can't tell when traffic moved")
def test_routes_of_isis_are_withdrawn_and_come_back(lab):
    """The second path has the higher metric."""
    device = test_isis.Device(lab, more=" no lsp-gen-interval\n")
    lab.veth(device.tester, "veth2", device.ns, "d2")
    device.ns.ip("address", "add", "10.1.0.1/24", "dev", "d2")
    device.configure(f"interface d2\nip router isis x\nisis metric 7\n{test_isis.POINT}{test_isis.QUICK}exit\nrouter isis x\nlsp-gen-interval 1")
    document = example()
    for name, end, system_id, metric in (("first", "veth0", "0000.0000.0001", 10), ("second", "veth2", "0000.0000.0002", 20)):
        port = document["ports"][name]
        del port["bgp"]
        one = test_isis.router(system_id=system_id, hostname=name, routes=[{"prefixes": "16.0.0.0/24", "count": 4, "metric": metric}])
        port.update(device=f"afpacket:{end}", isis=test_isis.isis(one, settle="3s"))
    document["ports"]["source"]["device"] = "afpacket:veth1"
    profile = lab.profile(document["ports"], document["streams"])
    bench = Bench(lab, device.tester)
    settings = ["--set", "repeats=1", "--set", "rate=8kpps", "--set", "duration=12s"]
    done = bench.run("convergence", profile, *settings, search=False, timeout=300)
    (row,) = done.ok().told["results"][0]["findings"]["rows"]
    assert (row["not_converged"], row["too_early"], row["not_returned"]) == (0, 0, 0), row
    # FRR computes ways once a second at most here.
    assert 0 < row["by_loss_s"]["median"] < 3, row


def test_what_is_refused(lab):
    def refused(text, change):
        document = example()
        change(document["ports"], document["streams"][0])
        for name, device in (("source", "ring:a"), ("first", "ring:b"), ("second", "ring:x.a")):
            document["ports"][name]["device"] = device
        lab.eagre("bench", "convergence", lab.profile(document["ports"], document["streams"]), "--estimate").refused(2, text)

    refused("stream route[0]: needs two paths: 'to' is the port of the first", lambda _, one: one.pop("also_to"))
    refused("port first is its first path and has no routes to withdraw", lambda ports, _: ports["first"].pop("bgp"))
    refused("streams[0].also_to: port 'first' is already named", lambda _, one: one.update(also_to="first"))
    refused("streams[0].also_to[1]: unknown port 'third'", lambda _, one: one.update(also_to=["second", "third"]))
    refused("streams[0].also_to: needs 'to'", lambda _, one: one.pop("to"))


def test_a_stream_tells_by_which_port_it_came(lab):
    """A wire between two ports: packets that were to come by another one are counted where they came, and are not astray."""
    ports = {name: {"device": device} for name, device in (("west", "ring:a"), ("east", "ring:b"), ("spare", "ring:x.a"))}
    one = {**stream("one", "west", "spare", rate="1kpps"), "also_to": "east"}
    one["packet"] = [{"ethernet": {"dst": "02:00:00:00:00:09"}}, {"ipv4": {"src": "10.0.0.2", "dst": "10.0.0.3"}}, "udp"]
    profile = lab.profile(ports, [one], load={"duration": "500ms", "drain": "100ms"})
    result = lab.eagre("run", profile, "--json", "-").json
    row = result["streams"]["one"]
    assert list(row["paths"]) == ["east"] and row["paths"]["east"]["rx"] == row["rx"] == row["tx"] > 400, row
    assert result["ports"]["east"]["rx_errors"] == {}, result["ports"]
    path = row["paths"]["east"]
    assert path["first_departure_ns"] <= path["first_arrival_ns"] == row["first_arrival_ns"] < 20_000_000, row
    assert path["last_departure_ns"] <= path["last_arrival_ns"] == row["last_arrival_ns"], row


@pytest.mark.unsteady("a tester that was kept from its core sends late")
@pytest.mark.parametrize("kind", ["afpacket", "afxdp", "xdp"])
def test_an_outage_has_a_beginning_an_end_and_a_loss(lab, kind):
    """A kernel router drops everything for a while: when, how long and how much, the stream says."""
    router = lab.router()
    for inner in ("r0", "r1") if kind == "xdp" else ():
        router.router.run("ethtool", "-K", inner, "gro", "on")
    router.router.run("nft", "add table ip gate; add chain ip gate way { type filter hook forward priority 0; }")
    streams = [
        {**stream("watched", "west", "east", rate="10kpps"), "outages": "95%"},
        {**stream("slow", "west", "east", rate="500pps"), "outages": "50%"},
        stream("other", "west", "east", rate="1kpps"),
    ]
    criteria = {"streams.watched.outages.count": "== 1", "streams.watched.outages.longest_ns": "< 100ms"}
    profile = lab.profile(router.ports(kind), streams, load={"duration": "4s", "drain": "300ms"}, criteria=criteria)
    lines = lab.folder() / "lines.jsonl"
    run = lab.start_eagre("run", profile, "--json", "-", "--jsonl", lines, "--interval", "100ms", ns=router.tester)
    wait_until(lambda: lines.exists() and lines.read_text().count("\n") > 10, "a second of traffic", 20)
    begin = time.monotonic()
    router.router.run("nft", "add rule ip gate way drop")
    time.sleep(0.4)
    router.router.run("nft", "flush chain ip gate way")
    took = (time.monotonic() - begin) * 1e9
    done = lab.finish(run)
    result = done.json
    row, slow = (result["streams"][name] for name in ("watched", "slow"))
    (outage,) = row["outages"]["last"]
    assert (row["outages"]["count"], row["outages"]["interval_ns"], outage["lost"]) == (1, 2_000_000, row["lost"]), row
    length = outage["until_ns"] - outage["from_ns"]
    # What a worker sends late, it sends at once.
    late = stalled_ns(result)
    assert length == pytest.approx(outage["lost"] * 1e5, rel=0.05, abs=late), row
    # Frames that wait in the router when it begins to drop, or ends, were sent before.
    assert row["outages"]["total_ns"] == row["outages"]["longest_ns"] == length and 0.35e9 - late < length < took + 0.1e9, (row, took)
    assert slow["outages"]["interval_ns"] == 40_000_000 and slow["outages"]["count"] == 1, slow
    assert slow["outages"]["last"][0]["from_ns"] == pytest.approx(outage["from_ns"], abs=25e6), (slow, row)
    assert "outages" not in result["streams"]["other"]
    # Pauses of the tester may have hidden its edges, or lost some of the packets: then nobody can tell.
    doubted = {"cannot_judge"} if "holds" in done.told["verdict"] else set()
    outcomes = [one["outcome"] for one in result["criteria"]]
    assert all(one in {wanted, *doubted} for one, wanted in zip(outcomes, ("met", "not_met"), strict=True)), result["criteria"]


def test_what_outages_need_is_said(lab):
    ports = {"west": {"device": "ring:a"}, "east": {"device": "ring:b"}}

    def refused(error, **keys):
        one = {**stream("one", "west", "east", rate="1kpps"), "outages": "95%", **keys}
        one = {key: value for key, value in one.items() if value is not None}
        lab.eagre("check", lab.profile(ports, [one])).refused(2, error)

    refused("streams[0].outages: needs 'to', the port at which packets should arrive", to=None)
    refused("streams[0].outages: needs packets with a signature", measure=False)
    refused("streams[0].outages: must be more than 0%", outages="0%")
    refused("streams[0].outages: 1001 streams, copies included; with outages the most is 1000", copies=1001)
    one = stream("one", "west", "east", rate="1kpps")
    profile = lab.profile(ports, [one], criteria={"streams.one.outages.count": "== 0"})
    lab.eagre("check", profile).refused(2, "'outages.count' is not measured: stream 'one' has no 'outages'")
