"""Kernels that leave work to a network card which a virtual link does not have: checksums, and cutting into segments."""

import json
import socket
import struct

import pytest
from hosts import PYTHON, Host, Routed
from kernel_server import ECHO
from lab import WEST4, WEST6
from servers import Dnsmasq, Nginx
from sessions import all_through, check, of

KINDS = ["afpacket", "afxdp"]
FAMILIES = pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])


@pytest.fixture(params=[Host, Routed], ids=["host", "routed"])
def host(lab, request):
    """The kernel as it is by default, at the other end of the link or behind a router."""
    return request.param(lab, offloads=True)


def unfinished(done, side="client", name="s"):
    """Frames with unfinished checksums were taken; it is said once, and nothing is wrong with the result."""
    frames = check(done.json["sessions"][name])[side]["frames"]
    assert frames["unfinished_checksum"] > 0 and frames["bad_checksum"] == 0, frames
    verdict = done.json["verdict"]
    assert verdict["valid"] and len(verdict["notes"]) == 1, verdict
    assert verdict["notes"][0].startswith(f"sessions {name}: {frames['unfinished_checksum']:,} frames to the {side}s "), verdict
    assert verdict["notes"][0] in done.err
    return frames


@pytest.mark.parametrize("kind", KINDS)
@FAMILIES
def test_servers_of_a_kernel(host, kind, v6):
    Nginx(host.lab, host.host)
    app = {"http": {"path": "/1k", "response": "1024B"}}
    done = host.run(host.client(app, v6, open="500/s", count=200), kind=kind)
    one = all_through(of(done), 200, 200)
    frames = unfinished(done)
    assert frames["unfinished_checksum"] <= frames["frames_in"] and one["retransmitted_segments"] <= 20


def test_datagrams_of_a_kernel(lab):
    host = Host(lab, offloads=True)
    Dnsmasq(host.lab, host.host)
    done = host.run(host.client({"dns": {"names": "a.test", "errors_fail": False}}, open="500/s", count=100))
    all_through(of(done), 100, 100)
    unfinished(done)


def test_clients_of_a_kernel(lab):
    host = Host(lab, offloads=True)
    process = host.serving(host.server("echo"))
    said = host.kernel_client("many", address=WEST4, port=ECHO, count=100, concurrent=10, size=500)
    result = host.served(process)
    one = check(result["sessions"]["s"])
    assert one["completed"] == 100 and one["server"]["frames"]["unfinished_checksum"] > 0, (one, said)
    assert result["verdict"]["valid"], result["verdict"]


@pytest.mark.parametrize("kind", KINDS)
@FAMILIES
def test_long_responses(lab, kind, v6):
    """AF_PACKET takes them in one piece; AF_XDP makes a veth's other end cut them."""
    host = Host(lab, offloads=True)
    Nginx(host.lab, host.host)
    app = {"http": {"path": "/100k", "response": "102400B"}}
    done = host.run(host.client(app, v6, open="100/s", count=20), kind=kind)
    one = all_through(of(done), 20, 20)
    frames = one["client"]["frames"]
    assert frames["bad_cut_short"] == frames["bad_checksum"] == 0, frames
    mean = frames["frame_bytes_in"] / frames["frames_in"]
    assert mean > 1514 if kind == "afpacket" else mean <= 1518, frames


SENDER = """
import json, socket, sys
SOL_PACKET, PACKET_VNET_HDR = 263, 15
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
said = json.load(sys.stdin)
if said["head"]:
    link.setsockopt(SOL_PACKET, PACKET_VNET_HDR, 1)
link.bind(("h0", 0))
for frame in said["frames"]:
    link.send(bytes(said["head"] + frame))
"""
# A checksum that is nothing, and the pseudo-header's sum that a kernel writes when it leaves the rest to a card.
WRONG, PSEUDO = 0x1234, None


def echoed(lab, kind, v6, checksum, told):
    """What servers counted of seven datagrams with such a checksum; if `told` the kernel is told that it was left to a card."""
    host = Host(lab, offloads=True)
    process = host.serving(host.server("echo", v6, transport="udp"), kind=kind)
    to, source = (bytes.fromhex(mac.replace(":", "")) for mac in (host.tester.mac("veth0"), host.host.mac("h0")))
    frames = [list(to + source + datagram(v6, number, checksum)) for number in range(7)]
    # VIRTIO_NET_HDR_F_NEEDS_CSUM, from the UDP header on, at its seventh byte.
    head = list(struct.pack("=BBHHHH", 1, 0, 0, 0, 54 if v6 else 34, 6)) if told else []
    host.host.run(PYTHON, "-c", SENDER, input=json.dumps({"head": head, "frames": frames}))
    result = host.served(process)
    frames = check(result["sessions"]["s"])["server"]["frames"]
    return frames["bad_checksum"], frames["unfinished_checksum"], result["verdict"]["notes"]


@pytest.mark.parametrize("kind", KINDS)
@FAMILIES
def test_wrong_checksums_are_refused_and_told(lab, kind, v6):
    """Neither right nor left to a card: summary and verdict say how many."""
    bad, unfinished, notes = echoed(lab, kind, v6, WRONG, False)
    assert (bad, unfinished) == (7, 0)
    assert any("7 of 7 frames to the servers were refused because of a wrong checksum" in note for note in notes), notes


@FAMILIES
def test_a_damaged_frame_that_looks_unfinished_is_refused(lab, v6):
    """An AF_PACKET port is told by the kernel which checksums were left to a card, and this one was not."""
    bad, unfinished, notes = echoed(lab, "afpacket", v6, PSEUDO, False)
    assert (bad, unfinished) == (7, 0)
    assert any("7 of them look as if they were left to a card" in note and "ethtool" in note for note in notes), notes


@FAMILIES
def test_an_afxdp_port_goes_by_the_sum(lab, v6):
    """Nobody tells it: what holds the pseudo-header's sum counts as left to a card."""
    bad, unfinished, _ = echoed(lab, "afxdp", v6, PSEUDO, False)
    assert (bad, unfinished) == (0, 7)


@FAMILIES
@pytest.mark.parametrize("checksum", [PSEUDO, WRONG], ids=["pseudo", "anything"])
def test_the_kernels_word_counts(lab, v6, checksum):
    """What the kernel says was left to a card is good, whatever the field holds: so it is for the kernel itself."""
    bad, unfinished, notes = echoed(lab, "afpacket", v6, checksum, True)
    assert (bad, unfinished) == (0, 7), notes


def folded(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def datagram(v6, number, checksum):
    """UDP to the echo port behind an Ethernet header's addresses; without a checksum it has the pseudo-header's sum."""
    if v6:
        addresses = socket.inet_pton(socket.AF_INET6, Host.v6) + socket.inet_pton(socket.AF_INET6, WEST6)
    else:
        addresses = socket.inet_aton(Host.v4) + socket.inet_aton(WEST4)
    checksum = folded(addresses + struct.pack(">HH", 17, 12)) if checksum is None else checksum
    udp = struct.pack(">HHHH", 4000 + number, ECHO, 12, checksum) + b"ping"
    if v6:
        return b"\x86\xdd" + struct.pack(">IHBB", 6 << 28, 12, 17, 64) + addresses + udp
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), number, 0, 64, 17, 0) + addresses
    return b"\x08\x00" + head[:10] + struct.pack(">H", 0xFFFF - folded(head)) + head[12:] + udp
