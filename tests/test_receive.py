"""`eagre receive --profile`: what another process sends is measured as if one process did both."""

import json

import pytest
from lab import REPO, settled, wait_until

FORWARDER = REPO / "tests/forwarder.py"
COUNTS = ("tx", "rx", "lost", "duplicates", "reordered", "reorder_distance_max", "stale", "rejected", "rx_bytes")


def bed(lab):
    """A device with known faults between two namespaces' ports; returns them and the device's namespace."""
    west, east, device = lab.netns("west"), lab.netns("east"), lab.netns("device")
    device.sysctl({"net.ipv6.conf.all.disable_ipv6": 1})
    lab.veth(west, "veth0", device, "west")
    lab.veth(east, "veth1", device, "east")
    return west, east, device


def apart(lab, kind, profile, west, east, folder, *seed):
    """A sender and a receiver, each in its own process and namespace; what either reports."""
    lines = folder / "lines.jsonl"
    lines.unlink(missing_ok=True)
    listen = ("receive", "--port", f"{kind}:veth1", "--profile", profile, "--json", "-", "--jsonl", lines)
    receiver = lab.start_eagre(*listen, "--interval", "50ms", *seed, ns=east)
    wait_until(lambda: lines.exists() and lines.read_text(), "the receiver", 20)
    sender = lab.eagre("run", profile, "--json", "-", *seed, ns=west)
    return sender, lab.finish(receiver)


@pytest.mark.unsteady("the device runs on the cores the tester uses; a busy neighbour costs packets")
@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
def test_another_process_receives(lab, kind):
    """Through a device that drops every 10th, repeats every 7th and holds every 13th back: the same loss, order and time
    between arrivals as one process finds that has both ports."""
    west, east, device = bed(lab)
    packet = [{"ethernet": {"dst": "02:00:00:00:00:99"}}, {"ipv4": {"src": "10.0.0.2", "dst": "10.0.0.3"}}, {"udp": {"dst": 9001}}]
    other = [*packet[:2], {"udp": {"dst": 9002}}]
    # The last packet is none of those that the device does something to.
    streams = [
        {"name": "spoilt", "from": "west", "packet": packet, "rate": "2kpps", "count": 4999, "size": {"100B": 1, "300B": 1}},
        {"name": "spared", "from": "west", "packet": other, "rate": "500pps", "count": 1000},
    ]
    load = {"duration": "3s", "drain": "1s"}
    sent = lab.profile({"west": {"device": f"{kind}:veth0"}}, streams, load=load, seed=7)

    def through(run):
        process = lab.start("/usr/bin/python3", FORWARDER, "west", "east", 9001, ns=device, stdin=-1)
        assert process.stdout.readline() == "ready\n"
        return run(), json.loads(process.communicate("", timeout=20)[0])

    def once():
        (sender, receiver), did = through(lambda: apart(lab, kind, sent, west, east, sent.parent))
        return receiver, sender, did

    def check(receiver, sender, did):
        mine, its = receiver.json, sender.json
        assert did["seen"] == 4999, "the forwarder itself missed packets"
        spoilt, spared = mine["streams"]["spoilt"], mine["streams"]["spared"]
        assert [spoilt[name] for name in ("tx", "lost", "duplicates", "reordered", "reorder_distance_max")] == [
            4999, did["dropped"], did["duplicated"], did["late"], did["distance_max"]
        ]
        assert [spared[name] for name in ("tx", "rx", "lost", "duplicates", "reordered")] == [1000, 1000, 0, 0, 0]
        assert its["streams"]["spoilt"]["tx"] == spoilt["tx"] and "rx" not in its["streams"]["spoilt"]
        assert spoilt["interarrival_ns"]["mean"] == pytest.approx(2.5e9 / spoilt["rx"], rel=0.05)
        assert spoilt["offered_pps"] == pytest.approx(2000, rel=0.05)
        # Rates refer to the time in which packets came, and not to that of listening.
        assert mine["duration_s"] == pytest.approx(2.5, rel=0.1)
        # One clock, as both are on one machine: within what is said of it.
        assert 1_000 < spoilt["latency_ns"]["p50"] < 50_000_000, spoilt["latency_ns"]
        notes = " ".join(mine["verdict"]["notes"])
        assert "another process" in notes and "ppm" in notes, notes
        assert mine["verdict"]["valid"], mine["verdict"]

    apart_found = []

    def keep(receiver, sender, did):
        check(receiver, sender, did)
        apart_found.append(receiver.json["streams"])

    settled(once, keep)
    # One process with both ports: the other interface comes into its namespace.
    east.ip("link", "set", "veth1", "netns", west.name)
    west.ip("link", "set", "veth1", "up")
    both = [entry | {"to": "east"} for entry in streams]
    whole = lab.profile({"west": {"device": f"{kind}:veth0"}, "east": {"device": f"{kind}:veth1"}}, both, load=load, seed=7)

    def same(done, _):
        together = done.json["streams"]
        for name, row in together.items():
            assert {key: apart_found[-1][name].get(key) for key in COUNTS} == {key: row.get(key) for key in COUNTS}, name
            assert apart_found[-1][name]["tx_bytes"] == pytest.approx(row["tx_bytes"], rel=0.001)
            mean = apart_found[-1][name]["interarrival_ns"]["mean"]
            assert mean == pytest.approx(row["interarrival_ns"]["mean"], rel=0.05)

    settled(lambda: through(lambda: lab.eagre("run", whole, "--json", "-", ns=west)), same)


def test_a_seed_is_needed(lab, eagre):
    """Without one nobody knows the packets; with another one nothing arrives, and that is said."""
    west, east = lab.netns("west"), lab.netns("east")
    lab.veth(west, "veth0", east, "veth1")
    packet = [{"ethernet": {"dst": "02:00:00:00:00:99"}}, {"ipv4": {"dst": "10.0.0.3"}}, "udp"]
    streams = [{"name": "s", "from": "west", "packet": packet, "rate": "1kpps", "count": 200}]
    profile = lab.profile({"west": {"device": "afpacket:veth0", "ip": "10.0.0.2/24"}}, streams, load={"duration": "1s", "drain": "500ms"})
    eagre("receive", "--port", "ring:a", "--profile", profile).refused(2, "has no 'seed'", "--seed")
    _, receiver = apart(lab, "afpacket", profile, west, east, profile.parent, "--seed", "9")
    row = receiver.json["streams"]["s"]
    assert (row["tx"], row["rx"], row["lost"]) == (200, 200, 0)
    done = eagre("receive", "--port", "ring:a", "--profile", profile, "--seed", "9", "--for", "500ms", "--json", "-")
    assert done.exit == 1 and "no packet of the profile arrived" in " ".join(done.json["verdict"]["reasons"])
