"""Sent packets are as the profile says, and other programs accept them as valid.

tshark checks all checksums. What is behind UDP and TCP is decoded as plain data, so that no payload is mistaken for a
protocol.
"""

import hashlib
import itertools
import json
import signal

import pytest
from capture import records
from lab import REPO, call, has_its_peers, need, parsed, stream, wait_until

EXAMPLES = sorted((REPO / "examples").glob("*.yaml"))
STRICT = [
    "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE",
    "-o", "tcp.analyze_sequence_numbers:FALSE", "-d", "udp.port==0-65535,data", "-d", "tcp.port==0-65535,data",
]  # fmt: skip
GOOD, ERROR = "1", 0x00800000
CHECKSUMS = {
    "ip": "ip.checksum.status",
    "udp": "udp.checksum.status",
    "tcp": "tcp.checksum.status",
    "icmp": "icmp.checksum.status",
    "icmpv6": "icmpv6.checksum.status",
}


def decode(capture, *fields):
    """Frames of a capture, each with its protocols, checksum verdicts, complaints, and further fields."""
    need("tshark")
    wanted = ["frame.len", "frame.protocols", "_ws.malformed", "_ws.expert.severity", *CHECKSUMS.values(), *fields]
    arguments = [argument for field in wanted for argument in ("-e", field)]
    out = call("tshark", "-r", capture, *STRICT, "-T", "fields", "-E", "separator=|", "-E", "aggregator=,", *arguments, timeout=300)
    return [dict(zip(wanted, line.split("|"))) for line in out.splitlines()]


def assert_valid(frames):
    """No frame is malformed, no checksum is missing or wrong, nothing is worth an error."""
    for number, frame in enumerate(frames, 1):
        layers = frame["frame.protocols"].split(":")
        assert not frame["_ws.malformed"] and "_ws.malformed" not in layers, (number, frame)
        severities = [int(severity, 0) for severity in frame["_ws.expert.severity"].split(",") if severity]
        assert all(severity < ERROR for severity in severities), (number, frame)
        for layer, field in CHECKSUMS.items():
            if layer in layers:
                assert frame[field] == GOOD, (number, frame)


def simulate(lab, profile, *arguments, packets=2000):
    """What a profile sends, in a capture file."""
    capture = lab.folder() / "sent.pcap"
    done = lab.eagre("sim", profile, "--pcap", capture, "--packets", packets, "--json", "-", *arguments)
    # A criterion may fail on a simulated link; the packets are what counts here.
    assert done.ended, str(done)
    return capture, done.json


# Outer UDP headers have no checksum over IPv4; what is inside, test_session_tunnels looks at.
OWN = "tunnels"


def only_answers(example):
    """Whether a profile has nothing but servers, which wait for somebody else's clients."""
    profile = parsed(example)
    sessions = profile.get("sessions", [])
    return "streams" not in profile and not any(one.get("client", {}).get("port") for one in sessions)


VALID = [e for e in EXAMPLES if has_its_peers(e) and not only_answers(e) and e.stem != OWN]


@pytest.fixture(scope="module")
def sent(shared):
    """Of each example its frames and its result, or why there are none. tshark takes longer to start than to read the frames of one."""
    need("mergecap")
    found, captures = {}, []
    for example in VALID:
        try:
            capture, found[example] = simulate(shared, example, "--duration", "200ms")
            captures.append((example, capture))
        except (AssertionError, pytest.fail.Exception) as error:
            found[example] = error
    whole = shared.folder() / "whole.pcapng"
    call("mergecap", "-a", "-w", whole, *(capture for _, capture in captures))
    frames = iter(decode(whole))
    decoded = {example: list(itertools.islice(frames, len(records(capture)))) for example, capture in captures}
    assert not list(frames)
    return {example: (decoded.get(example), found[example]) for example in VALID}


@pytest.mark.parametrize("example", VALID, ids=lambda path: path.stem)
def test_every_example_sends_valid_packets(sent, example):
    """All of them, in virtual time."""
    frames, result = sent[example]
    if frames is None:
        raise result
    packets = sum(port["tx_packets"] for port in result["ports"].values())
    assert 0 < packets and min(packets, 2000) <= len(frames) <= 2000
    assert_valid(frames)
    sizes = {
        int(one["size"].rstrip("B"))
        for one in parsed(example).get("streams", [])
        if str(one.get("size", "")).endswith("B")
    }
    lengths = {int(frame["frame.len"]) + 4 for frame in frames}
    assert lengths >= sizes, "frame lengths count the FCS, which a capture lacks"


PACKETS = {
    "udp4": (
        [
            "ethernet",
            {"ipv4": {"src": "10.1.2.3", "dst": "10.3.2.1", "ttl": 33, "dscp": 46, "id": 777}},
            {"udp": {"src": 1024, "dst": 9}},
        ],
        {
            "ip.src": "10.1.2.3",
            "ip.dst": "10.3.2.1",
            "ip.ttl": "33",
            "ip.dsfield.dscp": "46",
            "ip.id": "0x0309",
            "udp.srcport": "1024",
            "udp.dstport": "9",
        },
    ),
    "udp6": (
        [
            {"ipv6": {"src": "2001:2::7", "dst": "2001:2::8", "hop_limit": 7, "flow_label": 0x12345, "dscp": 10}},
            {"udp": {"dst": 9}},
        ],
        {
            "ipv6.src": "2001:2::7",
            "ipv6.dst": "2001:2::8",
            "ipv6.hlim": "7",
            "ipv6.flow": "0x012345",
            "ipv6.tclass.dscp": "10",
            "udp.dstport": "9",
        },
    ),
    "macs": (
        [{"ethernet": {"src": "02:11:22:33:44:55", "dst": "02:66:77:88:99:aa"}}, "ipv4", "udp"],
        {"eth.src": "02:11:22:33:44:55", "eth.dst": "02:66:77:88:99:aa", "eth.type": "0x0800"},
    ),
    "vlan": (
        ["ethernet", {"vlan": {"id": 100, "pcp": 5, "dei": 1}}, "ipv4", "udp"],
        {"eth.type": "0x8100", "vlan.id": "100", "vlan.priority": "5", "vlan.dei": "1", "vlan.etype": "0x0800"},
    ),
    "qinq": (
        ["ethernet", {"vlan": {"id": 4000}}, {"vlan": {"id": 17, "pcp": 3}}, "ipv6", "udp"],
        {"eth.type": "0x88a8", "ieee8021ad.id": "4000", "vlan.id": "17", "vlan.priority": "3", "vlan.etype": "0x86dd"},
    ),
    "tcp4": (
        ["ipv4", {"tcp": {"src": 40000, "dst": 443, "seq": 4_000_000_000, "ack": 5, "flags": "0x12", "window": 1000}}],
        {
            "tcp.srcport": "40000",
            "tcp.dstport": "443",
            "tcp.seq_raw": "4000000000",
            "tcp.ack_raw": "5",
            "tcp.flags": "0x0012",
            "tcp.window_size_value": "1000",
        },
    ),
    "tcp6": (["ipv6", {"tcp": {"dst": 80}}], {"ipv6.nxt": "6", "tcp.flags": "0x0002", "tcp.dstport": "80"}),
    "icmp": (["ipv4", {"icmp": {"id": 258, "seq": 3}}], {"icmp.type": "8", "icmp.ident": "258", "icmp.seq": "3"}),
    "icmpv6": (
        ["ipv6", {"icmpv6": {"id": 258, "seq": 3}}],
        {"icmpv6.type": "128", "icmpv6.echo.identifier": "0x0102", "icmpv6.echo.sequence_number": "3"},
    ),
    "payload": (["ipv4", "udp", {"hex": "de ad be ef"}], {"data.data": None}),
}


@pytest.mark.parametrize("name", PACKETS)
@pytest.mark.parametrize("size", ["minimum", "100B", "1518B"])
def test_fields_are_as_the_profile_says(lab, name, size):
    """tshark reads the very values out that were written in, with checksums that are right."""
    packet, expected = PACKETS[name]
    ports = {
        "west": {"device": "ring:a", "ip": ["10.0.0.1/24", "2001:2::1/64"]},
        "east": {"device": "ring:b", "ip": ["10.0.0.2/24", "2001:2::2/64"]},
    }
    # With a hardware address written out nobody is asked for one: the capture has nothing but the stream.
    if name != "macs":
        packet = [{"ethernet": {"dst": "02:00:00:00:00:07"}}, *(header for header in packet if header != "ethernet")]
    one = {"name": "s", "from": "west", "to": "east", "packet": packet, "rate": "10kpps", "count": 50}
    one |= {} if size == "minimum" else {"size": size}
    capture, result = simulate(lab, lab.profile(ports, [one], load={"duration": "100ms", "drain": "10ms"}))
    frames = decode(capture, *expected)
    assert len(frames) == 50 == result["streams"]["s"]["rx"]
    assert_valid(frames)
    for frame in frames:
        for field, value in expected.items():
            if value is None:
                assert frame[field].startswith("deadbeef"), frame
            else:
                assert frame[field].lower() == value, (field, frame)
        if size != "minimum":
            assert int(frame["frame.len"]) + 4 == int(size.rstrip("B"))


def test_captures_have_the_times_of_departure(lab):
    """A simulated stream of 10 kpps has a packet every 100 us, to the nanosecond."""
    ports = {"west": {"device": "ring:a"}, "east": {"device": "ring:b"}}
    packet = [{"ipv4": {"src": "10.0.0.1", "dst": "10.0.0.2"}}, "udp"]
    one = {"name": "s", "from": "west", "to": "east", "packet": packet, "rate": "10kpps"}
    capture, _ = simulate(lab, lab.profile(ports, [one], load={"duration": "50ms", "drain": "10ms"}))
    times = call("tshark", "-r", capture, "-T", "fields", "-e", "frame.time_epoch").split()
    nanos = [int(time.replace(".", "")) for time in times]
    assert len(nanos) == 500
    assert {later - sooner for sooner, later in zip(nanos, nanos[1:])} == {100_000}


def test_the_same_seed_sends_the_same_bytes(lab):
    """Captures are equal byte for byte, questions to neighbours included; another seed's differs."""
    seeds = (5, 5, 5, 5, 6)
    captures = [simulate(lab, REPO / "examples/demo.yaml", "--seed", seed, "--duration", "20ms")[0] for seed in seeds]
    *same, other = (hashlib.sha256(capture.read_bytes()).hexdigest() for capture in captures)
    assert len(set(same)) == 1, same
    assert other not in same


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
def test_what_a_wire_carries_is_valid(lab, kind):
    """A capture beyond a veth pair, in the router: every packet of every stream, all checksums good."""
    need("tcpdump")
    router = lab.router()
    count = 300
    streams = [
        stream("udp4", "west", "east", 9001, rate="1kpps", count=count),
        stream("udp6", "west", "east", 9002, v6=True, rate="1kpps", count=count, size="777B"),
        {
            "name": "tcp4",
            "from": "west",
            "to": "east",
            "packet": ["ipv4", {"tcp": {"dst": 80}}],
            "rate": "1kpps",
            "count": count,
        },
        {
            "name": "tcp6",
            "from": "west",
            "to": "east",
            "packet": ["ipv6", {"tcp": {"dst": 80}}],
            "rate": "1kpps",
            "count": count,
            "size": "1518B",
        },
        {"name": "icmp", "from": "west", "to": "east", "packet": ["ipv4", "icmp"], "rate": "1kpps", "count": count},
        {"name": "icmpv6", "from": "west", "to": "east", "packet": ["ipv6", "icmpv6"], "rate": "1kpps", "count": count},
    ]
    profile = lab.profile(router.ports(kind), streams, load={"duration": "1s", "drain": "500ms"})
    folder = lab.folder()
    captures = {interface: folder / f"{interface}.pcap" for interface in ("r0", "r1")}
    dumps = []
    for interface, capture in captures.items():
        dump = lab.start(
            "tcpdump", "-Z", "root", "-U", "-s", "0", "-B", "8192", "-i", interface, "-w", capture, ns=router.router
        )
        wait_until(lambda: capture.exists() and capture.stat().st_size >= 24, "tcpdump")
        dumps.append(dump)
    result = lab.eagre("run", profile, "--json", "-", ns=router.tester).result()
    for dump, (interface, capture) in zip(dumps, captures.items()):
        wait_until(lambda: len(decode(capture)) >= count * len(streams), f"all packets on {interface}", every=0.5)
        dump.send_signal(signal.SIGINT)
        assert "\n0 packets dropped by kernel" in dump.communicate(timeout=10)[1]
        frames = decode(capture, "udp.dstport", "tcp.dstport", "icmp.type", "icmpv6.type", "ip.ttl", "ipv6.hlim")
        assert_valid(frames)
        sorts = [
            [f for f in frames if f["udp.dstport"] == "9001"],
            [f for f in frames if f["udp.dstport"] == "9002"],
            [f for f in frames if f["tcp.dstport"] == "80" and "ipv6" not in f["frame.protocols"]],
            [f for f in frames if f["tcp.dstport"] == "80" and "ipv6" in f["frame.protocols"]],
            [f for f in frames if f["icmp.type"] == "8"],
            [f for f in frames if f["icmpv6.type"] == "128"],
        ]
        assert [len(sort) for sort in sorts] == [count] * 6
        hops = {frame["ip.ttl"] or frame["ipv6.hlim"] for sort in sorts for frame in sort}
        assert hops == {"64" if interface == "r0" else "63"}, "the router takes one hop off"
        assert {int(f["frame.len"]) for f in sorts[1]} == {773} and {int(f["frame.len"]) for f in sorts[3]} == {1514}
    assert all(one["lost"] == 0 for one in result["streams"].values()), json.dumps(result["streams"], indent=1)


def test_what_the_author_sets_stays_even_if_it_is_wrong(lab):
    """A checksum, a length and a type that are written out are sent as they are."""
    ports = {"west": {"device": "ring:a", "ip": "10.0.0.1/24"}, "east": {"device": "ring:b", "ip": "10.0.0.2/24"}}
    wrong = ["ethernet", {"ipv4": {"checksum": "0x1234"}}, {"udp": {"length": 99}}]
    one = {"name": "s", "from": "west", "to": "east", "packet": wrong, "rate": "1kpps", "count": 10, "measure": False}
    capture, _ = simulate(lab, lab.profile(ports, [one], load={"duration": "100ms", "drain": "10ms"}))
    frames = [f for f in decode(capture, "ip.checksum", "udp.length") if "udp" in f["frame.protocols"]]
    assert {(f["ip.checksum"], f["udp.length"]) for f in frames} == {("0x1234", "99")}
    assert {f["ip.checksum.status"] for f in frames} == {"0"}, "tshark would not notice a wrong checksum"
