"""Flows made from a capture: `replay: {flows: …}`. Who they are between, when their packets leave, that checksums stay right.

What must be sent is worked out here from the rules, packet by packet.
"""

import ipaddress
import signal

import pytest
from capture import records
from lab import EAST4, WEST4, need, wait_until
from test_replay import frame, whole, write

CLIENT, SERVER = "9.9.9.1", "9.9.9.2"
FLOWS = {"rate": "100/s", "clients": "16.0.0.1..16.0.0.3", "servers": "48.0.0.1..48.0.0.2"}
# Client or server, payload, time in the capture (ns).
TALK = [(True, b"hello?", 0), (False, b"what?", 4_000_000), (False, b"I said: what?", 4_500_000), (True, b"bye", 31_000_000)]


def said(client, server, port, **rest):
    """The packets of a flow."""
    ends = [(client, server, port, 53), (server, client, 53, port)]
    return [frame("udp", *ends[0 if is_client else 1], payload, **rest) for is_client, payload, _ in TALK]


@pytest.fixture
def capture(lab):
    """A client and a server that say two things each, in 31 ms."""
    return write(lab.folder() / "in.pcap", said(CLIENT, SERVER, 4000), [at for *_, at in TALK])


def profile(lab, file, flows, ports=None, load=None, stream=None, **replay):
    """A profile of one template."""
    ports = ports or {"west": {"device": "ring:a"}, "east": {"device": "ring:b"}}
    west, east = ports
    replay = {"file": str(file), "split": "first_source", "flows": {**FLOWS, **flows}, **replay}
    replay = {key: value for key, value in replay.items() if value is not None}
    one = {"name": "s", "from": west, "to": east, "replay": replay, **(stream or {})}
    return lab.profile(ports, [one], load={"duration": "20s", "drain": "1ms", **(load or {})})


def simulate(lab, file, flows, *arguments, **rest):
    """What is sent in virtual time: (ns since the first packet, bytes), and the result."""
    path = profile(lab, file, flows, **rest)
    out = path.parent / "sent.pcap"
    done = lab.eagre("sim", path, "--pcap", out, "--json", "-", *arguments).ok()
    sent = records(out)
    return [(at - sent[0][0], data) for at, data in sent], done.json


def wanted(count, rate, times, ends):
    """What `count` flows send: their packets in the order of time. `ends` has client, server and port of each."""
    packets = []
    for flow in range(count):
        begin = flow * 10**9 // rate
        packets += [(begin + at, data) for at, data in zip(times, said(*ends(flow)), strict=True)]
    return sorted(packets)


def pair(flow, per_pair=1, first=1024):
    """Client, server and port of a flow of three clients and two servers that begin with the first port."""
    turn = flow // per_pair
    before = turn // 3 * per_pair + flow % per_pair
    return f"16.0.0.{1 + turn % 3}", f"48.0.0.{1 + turn % 2}", first + before


def test_flows_overlap_and_each_is_between_its_own_ends(lab, capture):
    """Every packet of 50 flows that last three periods each: bytes, checksums, times."""
    sent, result = simulate(lab, capture, {"limit": 50})
    times = [at for *_, at in TALK]
    assert sorted(sent) == wanted(50, 100, times, pair)
    assert [at for at, _ in sent] == sorted(at for at, _ in sent)
    assert {name: row["tx"] for name, row in result["streams"].items()} == {"s[client]": 100, "s[server]": 100}
    assert all("rx" not in row for row in result["streams"].values())
    assert [result["ports"][port]["rx_packets"] for port in ("west", "east")] == [100, 100]


@pytest.mark.parametrize(
    ("timing", "times"),
    [
        ({"ipg": "1ms", "rtt": "7ms"}, [0, 7_000_000, 8_000_000, 15_000_000]),
        ({"ipg": "2ms"}, [0, 2_000_000, 4_000_000, 6_000_000]),
        ({"shortest": "1ms", "short_gap": "100ms"}, [0, 4_000_000, 104_000_000, 130_500_000]),
    ],
    ids=lambda case: "-".join(case) if isinstance(case, dict) else "",
)
def test_times_are_the_templates(lab, capture, timing, times):
    sent, _ = simulate(lab, capture, {"limit": 7, "rate": "30/s", **timing})
    assert sorted(sent) == wanted(7, 30, times, pair)


def test_several_flows_with_one_pair_and_ports_that_are_spread(lab, capture):
    """The rule of the reference, by hand."""

    def ends(flow):
        client, server, port = pair(flow, 4, 0)
        drawn = (214013 * (int(client[-1]) - 1) + 2531011) % 65536 % 62976 + 1
        return client, server, 1024 + (drawn + port) % 62977

    flows = {"limit": 40, "per_pair": 4, "client_ports": "1024..64000", "first_port": "spread"}
    sent, _ = simulate(lab, capture, flows)
    assert sorted(sent) == wanted(40, 100, [at for *_, at in TALK], ends)


def test_one_port_sends_both_directions(lab, capture):
    sent, result = simulate(lab, capture, {"limit": 20}, split=None)
    assert sorted(sent) == wanted(20, 100, [at for *_, at in TALK], pair)
    assert result["streams"]["s"]["tx"] == 80


def test_workers_share_flows(lab, capture):
    one, many = (simulate(lab, capture, {"limit": 60, "rate": "1234.5/s"}, "--cores", cores)[0] for cores in (1, 3))
    assert sorted(one) == sorted(many) and len(one) == 240


def test_tcp_over_ipv6_behind_a_new_tag(lab):
    """Rewriting comes first: what it moves is found."""
    segments = [frame("tcp", "fd00::1", "fd00::2", 4000, 80, b"GET"), frame("tcp", "fd00::2", "fd00::1", 80, 4000, b"200")]
    file = write(lab.folder() / "in.pcap", segments, [0, 10_000])
    flows = {"clients": "2001:db8::1..2001:db8::ffff", "servers": "2001:db8:1::1", "limit": 3}
    sent, _ = simulate(lab, file, flows, push_vlan=7)
    expected = []
    for flow in range(3):
        client, server = str(ipaddress.ip_address("2001:db8::1") + flow), "2001:db8:1::1"
        tags = {"tags": [(0x8100, 7)]}
        expected += [frame("tcp", client, server, 1024, 80, b"GET", **tags), frame("tcp", server, client, 80, 1024, b"200", **tags)]
    assert [data for _, data in sent] == expected


def test_the_end_of_the_run_cuts_what_is_under_way(lab, capture):
    """20 flows begin in 200 ms; the last packets of the last four are due later."""
    sent, _ = simulate(lab, capture, {}, load={"duration": "200ms"})
    due = [packet for packet in wanted(20, 100, [at for *_, at in TALK], pair) if packet[0] < 200_000_000]
    assert sorted(sent) == due and 70 < len(due) < 80


WRONG = {
    "no flow": ({"rate": "0/s"}, {}, ["flows.rate", "begins no flow"]),
    "families": ({"servers": "fd00::1"}, {}, ["flows.servers", "not of one address family"]),
    "other family": ({"servers": "fd00::1", "clients": "fd00::2"}, {}, ["packet 1: it is IPv4"]),
    "rtt alone": ({"rtt": "1ms"}, {}, ["flows.rtt", "needs 'ipg'"]),
    "half": ({"shortest": "1ms"}, {}, ["'shortest' and 'short_gap' go together"]),
    "both": ({"ipg": "1ms", "shortest": "1ms", "short_gap": "1ms"}, {}, ["'ipg' replaces all captured times"]),
    "a year": ({"ipg": "8000h"}, {}, ["in.pcap", "a flow takes longer than a year"]),
    "speed": ({}, {"speed": "2x"}, ["replay.speed", "does not go with 'flows'"]),
    "rate": ({}, {"stream": {"rate": "5pps"}}, ["streams[0].rate", "how many begin in a second"]),
    "count": ({}, {"stream": {"count": 5}}, ["streams[0].count", "'limit'"]),
    "limit": ({"limit": 0}, {}, ["flows.limit"]),
    "key": ({"cps": 5}, {}, ["cps"]),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_name_the_place(lab, capture, name):
    flows, rest, words = WRONG[name]
    lab.eagre("check", profile(lab, capture, flows, **rest)).refused(2, "line ", *words)


def test_a_capture_of_two_flows_is_no_template(lab, capture):
    frames = [frame("udp", CLIENT, SERVER, 4000), frame("udp", CLIENT, SERVER, 4001)]
    file = write(lab.folder() / "two.pcap", frames, [0, 1])
    lab.eagre("check", profile(lab, file, {})).refused(2, "two.pcap", "packet 2: it is of another flow than the first")


def test_a_router_forwards_both_directions(lab, capture):
    """Counts at both sides, the order of addresses and ports, right checksums."""
    need("tcpdump")
    network = lab.router()
    tester, router = network.tester, network.router
    router.ip("route", "add", "16.0.0.0/8", "via", WEST4)
    router.ip("route", "add", "48.0.0.0/8", "via", EAST4)
    dumps = []
    for side in (0, 1):
        seen = lab.folder() / f"seen{side}.pcap"
        words = ("-Z", "root", "-U", "-s", "0", "-B", "8192", "-Q", "in", "-i", f"r{side}", "-w", seen, "udp port 53")
        dumps.append((lab.start("tcpdump", *words, ns=router), seen))
        wait_until(lambda: seen.exists() and seen.stat().st_size >= 24, "tcpdump")
    ports = network.ports("afpacket", v6=False)
    macs = {"ethernet.src": "port", "ethernet.dst": "next_hop"}
    path = profile(lab, capture, {"limit": 100}, ports, {"duration": "5s", "drain": "300ms"}, rewrite=macs)
    result = lab.eagre("run", path, "--json", "-", ns=tester).ok().json
    expected = wanted(100, 100, [at for *_, at in TALK], pair)
    for (dump, seen), first, other in zip(dumps, (16, 48), ("east", "west"), strict=True):
        wait_until(lambda: len(whole(seen)) >= 200, "all packets", 5)
        dump.send_signal(signal.SIGINT)
        dump.communicate(timeout=10)
        # Without MAC addresses, which are those of ports and router.
        packets = [data[14:] for _, data in records(seen)]
        assert packets == [data[14:] for _, data in expected if data[26] == first]
        assert result["ports"][other]["rx_packets"] >= 200
    assert {name: row["tx"] for name, row in result["streams"].items()} == {"s[client]": 200, "s[server]": 200}
