"""Kernels that leave work to a network card which a virtual link does not have: checksums, and cutting into segments."""

import json
import socket
import struct

import pytest
from hosts import PYTHON, Host, Routed
from kernel_server import ECHO
from lab import WEST4
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


WRONG = """
import json, socket, sys
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
link.bind(("h0", 0))
for frame in json.load(sys.stdin):
    link.send(bytes(frame))
"""


def test_wrong_checksums_are_refused_and_told(lab):
    """Neither right nor left to a card: summary and verdict say how many."""
    host = Host(lab, offloads=True)
    process = host.serving(host.server("echo", transport="udp"))
    to, source = (bytes.fromhex(mac.replace(":", "")) for mac in (host.tester.mac("veth0"), host.host.mac("h0")))
    frames = [to + source + datagram(number) for number in range(7)]
    host.host.run(PYTHON, "-c", WRONG, input=json.dumps([list(frame) for frame in frames]))
    result = host.served(process)
    side = check(result["sessions"]["s"])["server"]
    assert side["frames"]["bad_checksum"] == 7 and side["frames"]["unfinished_checksum"] == 0, side["frames"]
    assert any("7 of 7 frames to the servers were refused because of a wrong checksum" in n for n in result["verdict"]["notes"])


def datagram(number):
    """IPv4 and UDP to the echo port, with a checksum that is nothing."""
    addresses = socket.inet_aton(Host.v4) + socket.inet_aton(WEST4)
    udp = struct.pack(">HHHH", 4000 + number, ECHO, 12, 0x1234) + b"ping"
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(udp), number, 0, 64, 17, 0) + addresses
    total = sum(struct.unpack(">10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    return b"\x08\x00" + head[:10] + struct.pack(">H", 0xFFFF - ((total & 0xFFFF) + (total >> 16))) + head[12:] + udp
