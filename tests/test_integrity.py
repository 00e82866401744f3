"""`integrity: full`: payloads are compared, and damaged packets are found, told apart and not lost."""

import json
import subprocess
import sys
from collections import Counter

import pytest
from lab import FAILED, REPO, pair, settled, stream, sums

MANGLER = REPO / "tests/mangler.py"
FULL = {"integrity": "full"}


def mangled(lab, kind, every, kinds, streams, **rest):
    """Runs streams through a device that damages packets; each call returns the run and what the device did."""
    tester, device = lab.netns("tester"), lab.netns("device")
    device.sysctl({"net.ipv6.conf.all.disable_ipv6": 1})
    for port, end in (("veth0", "west"), ("veth1", "east")):
        lab.veth(tester, port, device, end)
        device.run("ethtool", "-K", end, "tx", "off")
        if kind == "xdp":
            device.run("ethtool", "-K", end, "gro", "on")
    ports = {
        "west": {"device": f"{kind}:veth0", "ip": "10.0.0.2/24"},
        "east": {"device": f"{kind}:veth1", "ip": "10.0.0.3/24"},
    }
    profile = lab.profile(ports, streams, **rest)

    def once():
        process = lab.start("/usr/bin/python3", MANGLER, "west", "east", 9001, every, *kinds, ns=device, stdin=-1)
        assert process.stdout.readline() == "ready\n"
        done = lab.eagre("run", profile, "--json", "-", ns=tester)
        return done, json.loads(process.communicate("", timeout=20)[0])

    return once


def by_place(row):
    """Wrong bits by place, and its width."""
    places = row["damage"]["places"]
    width = places[0]["to_byte"] - places[0]["from_byte"] + 1 if places else 1
    return Counter({place["from_byte"] // width: place["bit_errors"] for place in places}), width


@pytest.mark.unsteady("the device runs on the cores the tester uses; a busy neighbour costs packets")
@pytest.mark.parametrize("kind", ["afpacket", "afxdp", "xdp"])
def test_every_bit_that_a_device_flips_is_found(lab, kind):
    """One bit of one packet in 1,000, anywhere behind the headers, in the signature too."""
    packet = ["ipv4", {"udp": {"dst": 9001}}]
    vary = {"ipv4.src": "10.0.0.2..10.0.0.99", "udp.src": {"random": "1024..65535"}}
    one = {**stream("s", "west", "east", rate="2kpps", count=8_000), "packet": packet, "vary": vary, "size": ["110B", "594B", "1514B"]}
    back = {**stream("back", "east", "west", 9002, rate="500pps", count=2_000), "integrity": "signature"}
    once = mangled(lab, kind, 1_000, ["bit"], [one, back], load={"duration": "5s", "drain": "2s", **FULL}, criteria={"streams.s.damaged": "== 8"})

    def check(done, did):
        assert did["seen"] == 8_000 and did["did"] == {"bit": 8}, "the device itself missed packets"
        result = done.result()
        row, other = result["streams"]["s"], result["streams"]["back"]
        assert (row["tx"], row["rx"], row["lost"], row["duplicates"], row["reordered"]) == (8_000, 8_000, 0, 0, 0)
        assert (row["integrity"], row["damaged"], row["damage"]["bit_errors"]) == ("full", 8, 8)
        assert row["damage"]["kinds"] == {"single_bit": 8}
        assert row["latency_ns"]["samples"] == 8_000, "the time is known of all"
        places, width = by_place(row)
        assert places == Counter(place // width for place in did["places"]) and width == 64
        assert (other["integrity"], other["lost"]) == ("signature", 0) and "damaged" not in other
        assert not any("damaged_signature" in port["rx_errors"] for port in result["ports"].values())
        assert "stream s: 8 of 8,000 packets arrived damaged and are not lost (single_bit 8)" in " ".join(result["verdict"]["notes"])
        if kind == "xdp":
            assert "integrity: full" in result["ports"]["east"]["kernel_rx"]["off"]
            assert result["ports"]["west"]["kernel_rx"]["packets"] == 2_000

    settled(once, check)


@pytest.mark.unsteady("the device runs on the cores the tester uses; a busy neighbour costs packets")
def test_kinds_of_damage_are_told_apart(lab):
    kinds = ["bit", "burst", "scattered", "shifted", "other_packet", "truncated", "signature"]
    one = stream("s", "west", "east", 9001, rate="1kpps", count=2_100, size="600B", integrity="full")
    once = mangled(lab, "afpacket", 10, kinds, [one], load={"duration": "4s", "drain": "1s"})

    def check(done, did):
        assert did["seen"] == 2_100 and set(did["did"].values()) == {30}, "the device itself missed packets"
        result = done.result()
        row = result["streams"]["s"]
        assert (row["rx"], row["lost"], row["damaged"]) == (2_100, 0, 210)
        assert row["damage"]["kinds"] == {"single_bit" if kind == "bit" else kind: 30 for kind in kinds}
        assert row["damage"]["bit_errors"] == 30 + 90 + 60
        # Of those that are cut, or whose signature is lost, the time is not known.
        assert row["latency_ns"]["samples"] == 2_040

    settled(once, check)


@pytest.mark.parametrize(
    "more",
    [
        {"size": "1518B"},
        {"size": "random 100B..1518B"},
        {"size": "110B", "vary": {"ipv4.src": {"random": "10.0.0.2..10.0.0.9"}, "udp.src": "counter"}},
        {"packet": ["ipv4", "tcp", {"payload": "given"}], "size": "200B"},
        {"packet": ["ipv6", "udp"], "size": "103B"},
        {"packet": [{"vlan": {"id": 7}}, "ipv4", "udp"], "size": "9000B"},
    ],
    ids=lambda more: "-".join(map(str, more.values()))[:40],
)
def test_simulated_links_flip_bits_of_which_all_are_found(lab, more):
    """The simulation's own account equals what was found, packet by packet. With other seeds it also counts frames of ARP."""
    addresses = lambda n: {"ip": [f"10.0.0.{n}/24", f"2001:db8::{n}/64"]}
    ports = {"west": {"device": "ring:a", **addresses(1)}, "east": {"device": "ring:b", **addresses(2)}}
    one = {**stream("s", "west", "east", rate="100kpps"), "packet": ["ipv4", "udp"], **more}
    profile = lab.profile(
        ports, [one], load={"duration": "500ms", "drain": "50ms", **FULL}, sim={"link": {"corrupt": "0.5%"}}, seed=7, criteria={"streams.s.damaged": "== 0"}
    )
    done = lab.eagre("sim", profile, "--json", "-")
    assert done.exit == FAILED, "the criterion"
    row, truth = done.json["streams"]["s"], done.json["sim"]
    assert (row["tx"], row["lost"]) == (50_000, 0) and 150 < truth["corrupted"] < 350
    assert row["damaged"] == truth["corrupted"] == row["damage"]["kinds"]["single_bit"] == row["damage"]["bit_errors"]
    assert done.json["verdict"]["valid"]


def test_packets_that_are_all_signature_are_lost_if_it_is_damaged(lab):
    """There is nothing else to know them by: of a minimum frame of UDP over IPv4 the signature is the payload."""
    profile = lab.profile(pair(), [stream("s", "west", "east", rate="100kpps", size="imix")], load={"duration": "500ms", "drain": "50ms", **FULL}, sim={"link": {"corrupt": "0.5%"}}, seed=7)
    result = lab.eagre("sim", profile, "--json", "-").told
    row, other = result["streams"]["s"], result["ports"]["east"]["rx_other"]
    assert row["lost"] == other > 0 and row["damaged"] + other == result["sim"]["corrupted"]


@pytest.mark.unsteady("a busy machine loses frames of the device")
def test_headers_that_come_or_go_are_no_damage(lab):
    """A switch changes the VLAN priority of some packets and takes the tag off others, of all lengths."""
    tester, switch = lab.netns("tester"), lab.netns("switch")
    for end in "01":
        lab.veth(tester, f"v{end}", switch, f"s{end}")
        switch.run("ethtool", "-K", f"s{end}", "tx", "off")
    program = lab.start(sys.executable, REPO / "tests/remarker.py", "s0", "s1", "5", ns=switch, stdin=subprocess.PIPE)
    assert program.stdout.readline() == "ready\n"
    packet = [{"vlan": {"id": 7, "pcp": 1}}, "ipv4", {"udp": {"dst": 9}}]
    sizes = {"short": "68B", "one": "300B", "several": ["68B", "200B", "1000B"]}
    streams = [{**stream(name, "west", "east", rate="500pps", count=150), "packet": packet, "size": size} for name, size in sizes.items()]
    path = lab.profile(pair("afpacket:v0", "afpacket:v1"), streams, load={"duration": "5s", "drain": "500ms", **FULL})
    result = lab.eagre("run", path, "--json", "-", ns=tester).ok().json
    assert result["ports"]["east"]["rx_errors"]["wrong_length"] > 40
    for name in sizes:
        row = result["streams"][name]
        assert (row["rx"], row["lost"], row["damaged"], row["damage"]["kinds"]) == (150, 0, 0, {}), name


def test_copies_workers_groups_intervals_and_metrics_have_damage(lab):
    common = {"size": "128B", "copies": 3, "tag": "t", "count": 1000, **FULL}
    path = lab.profile(pair(), [stream("s", "west", "east", rate="20kpps") | common], load={"duration": "5s", "drain": "50ms"}, groups={"g": "tag"})
    lines = path.parent / "lines.jsonl"
    result = lab.eagre("run", path, "--cores", "2", "--json", "-", "--jsonl", lines, "--interval", "20ms").ok().json
    assert [(row["damaged"], row["lost"]) for row in result["streams"].values()] == [(0, 0)] * 3
    assert result["groups"]["g"]["t"]["damaged"] == 0 and sums(result, "rx") == 3000
    assert '"damaged":0' in lines.read_text()


def test_two_processes_compare_what_one_sends(lab):
    """Who receives by the same seed knows the payloads."""
    tester, other = lab.netns("tester"), lab.netns("other")
    lab.veth(tester, "veth0", other, "veth1")
    one = {**stream("s", "west", None, rate="2kpps", count=1000), "packet": [{"ipv4": {"src": "10.0.0.1", "dst": "10.0.0.2"}}, "udp"]}
    one.pop("to", None)
    one["packet"].insert(0, {"ethernet": {"dst": "02:00:00:00:00:02"}})
    ports = {"west": {"device": "afpacket:veth0"}}
    path = lab.profile(ports, [one | {"size": "400B"} | FULL], seed=5, load={"duration": "1s", "drain": "200ms"})
    receiver = lab.start_eagre("receive", "--port", "afpacket:veth1", "--profile", path, "--for", "5s", "--json", "-", ns=other)
    lab.eagre("run", path, ns=tester)
    row = lab.finish(receiver).json["streams"]["s"]
    assert (row["rx"], row["damaged"]) == (1000, 0)


WRONG = {
    "unmeasured": ({"measure": False, **FULL}, "integrity", "needs packets with a signature"),
    "marked": ({"measure": "mark", **FULL}, "integrity", "needs packets with a signature"),
    "filled": ({"packet": ["ipv4", "udp", {"fill": "counter"}], **FULL}, "integrity", "leave 'fill' out"),
    "sctp": ({"packet": ["ipv4", "sctp"], "size": "200B", **FULL}, "integrity", "SCTP has a CRC"),
    "varied": ({"size": "200B", "vary": {"payload[4..6]": "random"}, **FULL}, "integrity", "'vary' may write to headers"),
    "many": ({"copies": 65_537, **FULL}, "streams", "the most is 65536"),
    "a word": ({"integrity": "some"}, "integrity", "signature"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_name_the_place(lab, name):
    more, *texts = WRONG[name]
    path = lab.profile(pair(), [stream("s", "west", "east", rate="1kpps", **more)])
    lab.eagre("check", path).refused(2, "line ", *texts)


def test_criteria_need_payloads_that_are_compared(lab):
    for number in ("damaged", "damage.kinds.burst", "damage.bit_errors"):
        path = lab.profile(pair(), [stream("s", "west", "east", rate="1kpps")], criteria={f"streams.s.{number}": "== 0"})
        lab.eagre("check", path).refused(2, f"'{number}' is not measured: stream 's' has no 'integrity: full'")
        path = lab.profile(pair(), [stream("s", "west", "east", rate="1kpps", **FULL)], criteria={f"streams.s.{number}": "== 0"})
        lab.eagre("check", path).ok()
    path = lab.profile(pair(), [stream("s", "west", "east", rate="1kpps", **FULL)], criteria={"streams.s.damage.kinds.some": "== 0"})
    lab.eagre("check", path).refused(2, "some", "single_bit")
