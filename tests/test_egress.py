"""`egress`: received packets are counted apart by the value of bits that a device changes."""

import collections
import signal
import subprocess
import sys

import otg
import pytest
from capture import records
from lab import EAST4, EAST_ROUTER4, REPO, WEST4, WEST_ROUTER4, need, pair, stream, wait_until
from server import Server
from test_replay import whole

KINDS = ("afpacket", "afxdp", "xdp")
WEST, EAST = 7000, 7001
MACS = {"p": "02:00:00:00:00:11", "q": "02:00:00:00:00:12"}


def remarking(network):
    """The router sets DSCP 46 in every fourth packet to one UDP port, and in none to the other."""
    rules = f"udp dport {WEST} numgen inc mod 4 0 ip dscp set 46; udp dport {EAST} ip6 dscp set 8"
    chain = f"chain f {{ type filter hook forward priority 0; {rules}; }}"
    network.router.run("nft", "-f", "-", input=f"table inet some {{ {chain}\n}}\n")


def seen_by_tcpdump(lab, network, start):
    """What `start` sends through the router: number of packets by UDP port and DSCP."""
    dump = lab.folder() / "seen.pcap"
    words = ("-Z", "root", "-U", "-B", "8192", "-Q", "out", "-i", "r1", "-w", dump, f"ip and (udp port {WEST} or udp port {EAST})")
    process = lab.start("tcpdump", *words, ns=network.router)
    wait_until(lambda: dump.exists() and dump.stat().st_size >= 24, "tcpdump")
    done, count = start()
    wait_until(lambda: len(whole(dump)) >= count, "all packets", 5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    port = lambda data: int.from_bytes(data[36:38], "big")
    return done, collections.Counter((port(data), data[15] >> 2) for _, data in records(dump))


def counts(row):
    """Packets by value."""
    return {value: row["rx"] for value, row in row["egress"].items()}


@pytest.mark.unsteady("a busy machine loses frames, of tcpdump and of the device")
@pytest.mark.parametrize("kind", KINDS)
def test_a_router_sets_the_dscp(lab, kind):
    """By two fields, by one of IPv6, and not at all; an independent capture has the same counts."""
    need("tcpdump")
    network = lab.router()
    if kind == "xdp":
        for end in ("r0", "r1"):
            network.router.run("ethtool", "-K", end, "gro", "on")
    remarking(network)
    common = {"rate": "2kpps", "count": 400}
    ipv4 = lambda port: [{"ipv4": {"dscp": 10}}, {"udp": {"dst": port}}]
    some = [
        {**stream("some", "west", "east", **common), "packet": ipv4(WEST), "egress": ["ipv4.dscp", "bits[120..122]"]},
        {**stream("ttl", "west", "east", **common), "packet": ipv4(EAST), "egress": "ipv4.ttl"},
        {**stream("six", "west", "east", EAST, v6=True, **common), "egress": "ipv6.dscp"},
        {**stream("beyond", "west", "east", EAST, **common), "egress": "bits[1600..1604]"},
        stream("plain", "west", "east", EAST, **common),
    ]
    criteria = {"streams.some.egress.46,2.rx": "== 100", "streams.some.egress.0,0.rx": "== 0", "streams.ttl.egress.63.latency_ns.max": "< 1s"}
    path = lab.profile(network.ports(kind), some, load={"duration": "5s", "drain": "300ms"}, criteria=criteria)
    run = lambda: (lab.eagre("run", path, "--json", "-", ns=network.tester).ok().json, 1600)
    result, seen = seen_by_tcpdump(lab, network, run)
    rows = result["streams"]
    # The two bits are the upper ones of the DSCP.
    assert counts(rows["some"]) == {"10,0": 300, "46,2": 100}
    assert {(WEST, int(value.split(",")[0])): n for value, n in counts(rows["some"]).items()} == {
        key: n for key, n in seen.items() if key[0] == WEST
    }
    assert counts(rows["ttl"]) == {"63": 400} and counts(rows["six"]) == {"8": 400}
    assert counts(rows["beyond"]) == {"short": 400}
    assert "egress" not in rows["plain"]
    for name, row in rows.items():
        assert (row["rx"], row["lost"]) == (400, 0), name
        for value in row.get("egress", {}).values():
            assert value["rx_bytes"] * row["rx"] == row["rx_bytes"] * value["rx"]
            assert row["first_arrival_ns"] <= value["first_arrival_ns"] <= value["last_arrival_ns"] <= row["last_arrival_ns"]
            latency = value["latency_ns"]
            assert row["latency_ns"]["min"] <= latency["min"] <= latency["mean"] <= latency["max"] <= row["latency_ns"]["max"]
            assert latency["samples"] == value["rx"]
    if kind == "xdp":
        kernel = result["ports"]["east"]["kernel_rx"]
        assert kernel["packets"] == 0 and "egress" in kernel["off"], "frames are needed"


@pytest.mark.unsteady("a busy machine loses frames, of tcpdump and of the device")
@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
def test_a_switch_sets_the_vlan_priority(lab, kind):
    """Of fifteen frames it sets the priority of five, and takes the tag of two."""
    tester, switch = lab.netns("tester"), lab.netns("switch")
    for end in "01":
        lab.veth(tester, f"v{end}", switch, f"s{end}")
        switch.run("ethtool", "-K", f"s{end}", "tx", "off")
    program = lab.start(sys.executable, REPO / "tests/remarker.py", "s0", "s1", "5", ns=switch, stdin=subprocess.PIPE)
    assert program.stdout.readline() == "ready\n"
    packet = [{"vlan": {"id": 7, "pcp": 1}}, "ipv4", {"udp": {"dst": 9}}]
    one = {**stream("s", "west", "east", rate="500pps", count=150), "packet": packet, "size": "128B"}
    # The type of the frame and three bits behind it: of frames without a tag these are IP's.
    one |= {"egress": ["vlan.pcp", "bits[100..104]"]}
    path = lab.profile(pair(f"{kind}:v0", f"{kind}:v1"), [one], load={"duration": "5s", "drain": "500ms"})
    result = lab.eagre("run", path, "--json", "-", ns=tester).ok().json
    row = result["streams"]["s"]
    assert (row["rx"], row["lost"]) == (150, 0)
    assert counts(row) == {"1,1": 80, "5,1": 50, "2,8": 20}
    assert result["ports"]["east"]["rx_errors"] == {"wrong_length": 20}


WRONG = {
    "unknown": ({"egress": "ipv4.colour"}, "egress", "colour"),
    "absent": ({"egress": ["ipv4.dscp", "vlan.pcp"]}, "egress[1]", "vlan"),
    "wide": ({"egress": ["ipv4.dscp", "ipv4.ttl"]}, "egress", "14 bits; a stream has at most 12"),
    "very wide": ({"egress": "ipv4.src"}, "egress", "32 bits; a stream has at most 12"),
    "far": ({"egress": "bits[4000000..4000004]"}, "egress", "is beyond every frame"),
    "empty": ({"egress": []}, "egress", "names no field"),
    "a number": ({"egress": 12}, "egress", ""),
    "many": ({"egress": ["ipv4.dscp", "bits[0..4]"], "copies": 65}, "egress", "66560 values", "the most is 65536"),
    "marked": ({"egress": "ipv4.dscp", "measure": "mark"}, "egress", "needs packets with a signature"),
    "unmeasured": ({"egress": "ipv4.dscp", "measure": False}, "egress", "needs packets with a signature"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_name_the_place(lab, name):
    more, *texts = WRONG[name]
    path = lab.profile(pair(), [stream("s", "west", "east", rate="1kpps", **more)])
    lab.eagre("check", path).refused(2, "line ", *texts)


def test_values_of_all_streams_are_limited(lab):
    """Also of those of several streams, and criteria name values."""
    tracked = lambda number: stream(f"s{number}", "west", "east", rate="1kpps", egress="bits[120..132]")
    lab.eagre("check", lab.profile(pair(), [tracked(n) for n in range(16)])).ok()
    path = lab.profile(pair(), [tracked(n) for n in range(17)])
    lab.eagre("check", path).refused(2, "69632 values of all streams together", "the most is 65536")
    path = lab.profile(pair(), [tracked(0)], criteria={"streams.s0.egress.ef.rx": "== 0"})
    lab.eagre("check", path).refused(2, "'ef' is not a value that packets arrive with")
    path = lab.profile(pair(), [stream("s", "west", "east", rate="1kpps")], criteria={"streams.s.egress.0.rx": "== 0"})
    lab.eagre("check", path).refused(2, "needs a stream with 'egress'")


def test_copies_and_workers_count_their_own(lab):
    """Each copy has rows of its own, whoever of several workers receives it; intervals have rows as well."""
    common = {"packet": [{"ipv4": {"dscp": 3}}, "udp"], "count": 100, "copies": 3, "egress": ["ipv4.dscp", "ipv4.ecn"]}
    path = lab.profile(pair(), [stream("s", "west", "east", rate="2kpps") | common], load={"duration": "5s", "drain": "50ms"})
    lines = path.parent / "lines.jsonl"
    result = lab.eagre("run", path, "--cores", "2", "--json", "-", "--jsonl", lines, "--interval", "20ms").ok().json
    assert [counts(row) for row in result["streams"].values()] == [{"3,0": 100}] * 3
    assert '"egress":{"3,0":{"rx":' in lines.read_text()


@pytest.fixture
def client(lab):
    """A server in the tester's namespace of a router, and snappi."""
    otg.install()
    network = lab.router()
    network.tester.ip("link", "set", "lo", "up")
    remarking(network)
    server = Server(lab, ns=network.tester)
    return network, otg.Client(server)


def routed(config, network, name="f", packets=400):
    """A flow through the router, with DSCP 10 and 12 in turn, tagged 'sent'."""
    for port, address in (("p", WEST4), ("q", EAST4)):
        device = config.devices.add(name=f"d{port}")
        ethernet = device.ethernets.add(name=f"e{port}", mac=MACS[port])
        ethernet.connection.port_name = port
        ethernet.ipv4_addresses.add(name=f"i{port}", address=address, gateway=WEST_ROUTER4 if port == "p" else EAST_ROUTER4, prefix=24)
    made, (ethernet, ipv4, udp) = otg.flow(config, name, "ethernet", "ipv4", "udp", packets=packets, measure=True)
    ethernet.src.value, ethernet.dst.value = MACS["p"], network.router.mac("r0")
    ipv4.src.value, ipv4.dst.value = WEST4, EAST4
    ipv4.priority.dscp.phb.values = [10, 12]
    ipv4.priority.dscp.phb.metric_tags.add(name="sent")
    udp.dst_port.value = WEST
    made.metrics.loss = True
    made.metrics.timestamps = True
    made.metrics.latency.enable = True
    return made


def tagged(client, **selection):
    """Rows of tagged metrics of flow f, by the values of their tags."""
    request = client.api.metrics_request()
    request.flow.flow_names = ["f"]
    for key, value in selection.items():
        if key == "filters":
            for name, values in value.items():
                request.flow.tagged_metrics.filters.add(name=name, values=values)
        else:
            setattr(request.flow.tagged_metrics, key, value)
    (row,) = client.call("get_metrics", request).flow_metrics
    return {tuple((tag.name, tag.value.hex) for tag in one.tags): one for one in row.tagged_metrics}


@pytest.mark.unsteady("a busy machine loses frames, of tcpdump and of the device")
@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
def test_snappi_reads_rows_by_both_values(lab, client, kind):
    """By what was sent and what arrived; an independent capture has the same counts."""
    need("tcpdump")
    network, client = client
    config = client.config(f"{kind}:veth0", f"{kind}:veth1")
    made = routed(config, network)
    made.egress_packet.ethernet()
    (ipv4,) = made.egress_packet.ipv4()[-1:]
    ipv4.priority.dscp.phb.metric_tags.add(name="got")
    ipv4.time_to_live.metric_tags.add(name="ttl", offset=4, length=4)
    client.set(config)

    def start():
        client.transmit("start")
        client.over("f")
        wait_until(lambda: client.flows("f")["f"].frames_rx == 400, "the last", 5)
        return None, 400

    _, seen = seen_by_tcpdump(lab, network, start)
    rows = tagged(client)
    by_value = collections.Counter()
    for tags, one in rows.items():
        assert [name for name, _ in tags] == ["sent", "got", "ttl"] and tags[2][1] == "f"
        assert one.frames_tx == 200, "of what was sent with its DSCP"
        assert one.frames_rx > 0 and one.latency.minimum_ns > 0 and one.timestamps.first_timestamp_ns > 0
        assert one.loss is None
        by_value[WEST, int(tags[1][1], 16)] += one.frames_rx
    assert by_value == seen and by_value[WEST, 46] == 100
    assert set(tagged(client, filters={"sent": ["0a"]})) == {tags for tags in rows if tags[0][1] == "0a"}
    assert set(tagged(client, filters={"got": ["0x2e"]})) == {tags for tags in rows if tags[1][1] == "2e"}
    few = tagged(client, metric_names=["frames_rx"], filters={"got": ["2e"]})
    assert all(one.frames_tx is None and one.frames_rx for one in few.values())
    assert len(tagged(client, include_empty_metrics=True)) == 2 * 64 * 16
    assert not tagged(client, include=False)


def test_snappi_is_told_what_is_wrong(client):
    network, client = client
    config = client.config("afpacket:veth0", "afpacket:veth1")
    made = routed(config, network)
    made.egress_packet.ethernet()
    (ipv4,) = made.egress_packet.ipv4()[-1:]
    ipv4.priority.dscp.phb.metric_tags.add(name="sent")
    ipv4.src.metric_tags.add(name="src")
    assert client.refused(config) == [
        "flows[0].egress_packet: two metric_tags of the flow have the name 'sent'",
        "flows[0].egress_packet: its metric_tags have 38 bits: at most 12 in all",
    ]
    made.egress_packet.clear()
    made.egress_packet.ipv4()
    (error,) = client.refused(config)
    assert error.startswith("flows[0].egress_packet: the first header must be ethernet")
