"""AF_PACKET ports hand over what is on the link: fragments, long segments, joined datagrams; and send nothing late."""

import json
import signal
import time

import captures
import pytest
from hosts import PYTHON, Host
from lab import call, need, pair, settled, wait_until
from sessions import check as checked

MAC = {"ethernet": {"dst": "02:00:00:00:00:99"}}
V4, V6 = {"src": "10.0.0.2", "dst": "10.0.0.3"}, {"src": "2001:2::2", "dst": "2001:2::3"}
UDP = {"udp": {"dst": 9}}
# Each of a packet of its own: what stands behind the header is never looked at.
FRAGMENTS = {
    "whole": [MAC, {"ipv4": V4}, UDP],
    "first": [MAC, {"ipv4": {**V4, "flags": 1, "id": 7}}, UDP],
    "middle": [MAC, {"ipv4": {**V4, "flags": 1, "fragment_offset": 64, "id": 8}}],
    "last": [MAC, {"ipv4": {**V4, "fragment_offset": 128, "id": 9}}],
    "first6": [MAC, {"ipv6": V6}, {"ipv6_fragment": {"more_fragments": 1, "id": 7}}, UDP],
    "last6": [MAC, {"ipv6": V6}, {"ipv6_fragment": {"fragment_offset": 128, "id": 9}}],
}
COUNT = 400


@pytest.fixture
def tester(lab):
    """A namespace with a veth pair."""
    namespace = lab.netns("tester")
    lab.veth(namespace, "v0", namespace, "v1")
    return namespace


@pytest.mark.parametrize("cores", [1, 2])
def test_fragments_arrive_one_by_one(lab, tester, cores):
    """None is joined with others, held back or lost, with one receive queue and with several; a capture has each as it was."""
    need("tshark")
    file = lab.folder() / "c.pcapng"
    streams = [
        {"name": name, "from": "west", "to": "east", "packet": packet, "rate": "1kpps", "count": COUNT, "size": "256B"}
        for name, packet in FRAGMENTS.items()
    ]
    ports = pair("afpacket:v0", "afpacket:v1")
    ports["east"]["capture"] = {"file": str(file)}
    profile = lab.profile(ports, streams, load={"duration": "1s", "drain": "300ms"}, seed=1)
    done = lab.eagre("run", profile, "--json", "-", "--cores", cores, ns=tester)
    result = done.result()
    for name, one in result["streams"].items():
        assert (one["tx"], one["rx"], one["lost"], one["duplicates"]) == (COUNT, COUNT, 0, 0), (name, one)
    assert result["ports"]["east"]["rx_packets"] == COUNT * len(FRAGMENTS) == result["captures"]["east"]["captured"]
    fields = ["-e", "ip.flags.mf", "-e", "ip.frag_offset", "-e", "ipv6.fraghdr.more", "-e", "ipv6.fraghdr.offset", "-e", "frame.len"]
    seen = call("tshark", "-r", file, "-o", "ip.defragment:FALSE", "-o", "ipv6.defragment:FALSE", "-T", "fields", *fields).splitlines()
    found = {line: seen.count(line) for line in set(seen)}
    assert set(found.values()) == {COUNT} and len(found) == len(FRAGMENTS), found
    assert all(line.endswith("\t252") for line in found), found


@pytest.mark.parametrize("driver", ["afpacket", "xdp"])
@pytest.mark.parametrize("mtu", [1500, 3000])
def test_a_tag_does_not_count_in_the_mtu(lab, driver, mtu):
    """Frames with one tag of 802.1Q are longer by it: the kernel takes them, of other tags it does not."""
    namespace = lab.netns("tags")
    lab.veth(namespace, "v0", namespace, "v1", mtu=mtu)
    # Without it, the other end takes no frames that XDP sends.
    namespace.run("ethtool", "-K", "v1", "gro", "on")
    packet = [MAC, {"vlan": {"id": 5}}, *FRAGMENTS["whole"][1:]]
    ports = pair(f"{driver}:v0", "afpacket:v1")

    def run(packet, beyond):
        stream = {"name": "s", "from": "west", "to": "east", "packet": packet, "rate": "1kpps", "count": 20, "size": f"{mtu + beyond}B"}
        return lab.eagre("run", lab.profile(ports, [stream], load={"duration": "1s", "drain": "300ms"}), "--json", "-", ns=namespace)

    one = run(packet, 22).result()["streams"]["s"]
    assert (one["tx"], one["rx"]) == (20, 20), one
    assert run(FRAGMENTS["whole"], 18).result()["streams"]["s"]["rx"] == 20
    service = [{"ethernet": {**MAC["ethernet"], "type": 0x88A8}}, *packet[1:]]
    for packet in (FRAGMENTS["whole"], service):
        run(packet, 22).refused(2, f"longer than the {mtu + 18} bytes port west carries")


def test_full_tagged_packets_are_replayed(lab, tester):
    """What is left out because it is longer than the port carries is said with its number."""
    frames = {kind: [captures.eth(bytes(size), tags=[(kind, 5)]) for size in (100, 1500) * 5] for kind in (0x8100, 0x88A8)}
    for kind, left_out in ((0x8100, 0), (0x88A8, 5)):
        file = lab.folder() / "tags.pcap"
        file.write_bytes(captures.pcap(frames[kind]))
        done = lab.eagre("replay", file, "--port", "afpacket:v0", "--to", "afpacket:v1", "--json", "-", ns=tester)
        result = done.result()
        assert result["ports"]["tx"]["tx_packets"] == 10 - left_out, result["ports"]
        said = result["achieved"]["summary"]
        reason = "; 5 of the requested packets not sent: their frames are longer than their port carries"
        assert ("not sent" in said, said.endswith(reason)) == (left_out > 0, left_out > 0), said


@pytest.mark.parametrize(("vlan", "longest"), [(5, 1500), ([5, 6], None)])
def test_sessions_in_a_vlan_have_full_segments(lab, tester, vlan, longest):
    """Their packets have 1,500 bytes by default; two tags are more than an MTU of 1,500 leaves room for."""
    file = lab.folder() / "c.pcapng"
    ports = {name: {**port, "vlan": vlan} for name, port in pair("afpacket:v0", "afpacket:v1").items()}
    ports["west"]["capture"] = {"file": str(file)}
    entry = {"name": "s", "client": {"port": "west"}, "server": {"port": "east", "ports": 9000}, "app": {"raw": {"request": "100B", "response": "100KB"}}, "open": "20/s", "count": 10}
    profile = lab.profile(ports, None, sessions=[entry], load={"duration": "5s", "drain": "1s"})
    done = lab.eagre("run", profile, "--json", "-", ns=tester)
    if longest is None:
        done.refused(3, "frames of 1526 bytes need an MTU of 1508")
        return
    need("tshark")
    one = done.result()["sessions"]["s"]
    assert one["completed"] == 10, one
    lengths = call("tshark", "-r", file, "-Y", "tcp", "-T", "fields", "-e", "ip.len").split()
    assert max(map(int, lengths)) == longest


def test_what_was_due_while_the_link_was_down_is_not_sent_later(lab, tester):
    """It is counted as lost at the port; what the other end counts are the packets sent while the link was up."""
    streams = [{"name": "s", "from": "west", "to": "east", "packet": FRAGMENTS["whole"], "rate": "5kpps"}]
    profile = lab.profile(pair("afpacket:v0", "afpacket:v1"), streams, load={"duration": "60s", "drain": "200ms"})

    def once():
        process = lab.start_eagre("run", profile, "--json", "-", ns=tester)
        start = tester.counters("v0")["tx"]
        wait_until(lambda: tester.counters("v0")["tx"] > start + 500 or process.poll() is not None, "traffic", 15)
        tester.ip("link", "set", "v0", "down")
        before = tester.counters("v0")["tx"]
        time.sleep(0.4)
        assert tester.counters("v0")["tx"] == before
        tester.ip("link", "set", "v0", "up")
        wait_until(lambda: tester.counters("v0")["tx"] > before + 500 or process.poll() is not None, "traffic again", 15)
        process.send_signal(signal.SIGINT)
        return lab.finish(process)

    def check(done):
        result = done.told
        one, drops = result["streams"]["s"], result["ports"]["west"]["tx_errors"]
        assert not result["verdict"]["valid"] and drops.get("link_down", 0) > 100, (drops, result["verdict"])
        # A packet may be dropped by the kernel while the link goes down or comes up.
        assert one["rx"] <= one["tx"] - drops["link_down"] and one["tx"] - one["rx"] <= sum(drops.values()) + 200, (one, drops)
        assert one["latency_ns"]["max"] < 390_000_000, one["latency_ns"]

    # The sender may be kept from its core just then.
    settled(once, check)


# Sends datagrams of one size as one packet; the kernel leaves it to a card to cut it. Then says what came back.
JOINED = """
import json, socket, sys
address, port, size, count = json.loads(sys.argv[1])
one = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
one.setsockopt(17, 103, size)
one.connect((address, port))
one.settimeout(2)
one.send(b"".join(bytes([number]) * size for number in range(count)))
answers = []
try:
    while len(answers) < count:
        answers.append(one.recv(4096).hex())
except TimeoutError:
    pass
print(json.dumps(answers))
"""


@pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])
@pytest.mark.parametrize("size", [100, 1200])
def test_joined_datagrams_are_cut(lab, v6, size):
    """A kernel hands over up to 64 datagrams as one packet: each is echoed by itself."""
    host = Host(lab, offloads=True)
    process = host.serving(host.server("echo", v6, transport="udp"))
    arguments = json.dumps([host.tester_address(v6), 7, size, 40])
    answers = json.loads(host.host.run(PYTHON, "-c", JOINED, arguments))
    assert sorted(answers) == sorted((bytes([number]) * size).hex() for number in range(40))
    one = checked(host.served(process)["sessions"]["s"])
    assert one["server"]["frames"]["bad_checksum"] == 0, one


def test_tags_are_where_they_were(lab, tester):
    """The kernel takes the outermost off before a socket sees the frame; it is put back, with its priority and type."""
    need("tshark")
    file = lab.folder() / "c.pcapng"
    tags = {
        "none": [],
        "one": [{"vlan": {"id": 7, "pcp": 5}}],
        "two": [{"vlan": {"id": 7}}, {"vlan": {"id": 8}}],
        "service": [{"ethernet": {**MAC["ethernet"], "type": 0x88A8}}, {"vlan": {"id": 9}}],
    }
    packets = {name: [*more, *FRAGMENTS["whole"][1:]] if name == "service" else [MAC, *more, *FRAGMENTS["whole"][1:]] for name, more in tags.items()}
    streams = [{"name": name, "from": "west", "to": "east", "packet": packet, "rate": "1kpps", "count": 100, "size": "128B"} for name, packet in packets.items()]
    ports = pair("afpacket:v0", "afpacket:v1")
    ports["east"]["capture"] = {"file": str(file)}
    result = lab.eagre("run", lab.profile(ports, streams, load={"duration": "1s", "drain": "300ms"}), "--json", "-", ns=tester).result()
    assert all((one["rx"], one["lost"]) == (100, 0) for one in result["streams"].values()), result["streams"]
    fields = ["-e", "eth.type", "-e", "vlan.id", "-e", "ieee8021ad.id", "-e", "vlan.priority", "-e", "frame.len", "-E", "aggregator=+"]
    seen = call("tshark", "-r", file, "-T", "fields", *fields).splitlines()
    expected = {"0x0800\t\t\t\t124", "0x8100\t7\t\t5\t124", "0x88a8\t8\t7\t0\t124", "0x88a8\t\t9\t\t124"}
    assert {line: seen.count(line) for line in set(seen)} == {line: 100 for line in expected}
