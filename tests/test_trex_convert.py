"""Converted profiles are shorter than TRex's and send the same packets: own examples, and those of a checkout of TRex."""

import hashlib
import os
import struct
import subprocess
from pathlib import Path

import pytest
import trex
import trex_reference
from lab import EAGRE, REPO

CHECKOUT = os.environ.get("EAGRE_TREX_CHECKOUT")
# Of scripts/stl. Streams with statistics are others: Eagre measures them by its signature.
UPSTREAM = (
    "udp_1pkt_simple", "udp_1pkt_simple_mac_dst", "udp_1pkt_simple_mac_dst_src", "udp_1pkt_tuple_gen", "udp_1pkt_range_clients",
    "udp_1pkt_mac_step", "udp_1pkt_mac_mask1", "udp_1pkt_1mac", "udp_1pkt_repeat_random", "udp_1pkt_vxlan", "udp_1pkt_mpls_vm",
    "udp_1pkt_ipv6_in_ipv4", "udp_1pkt_src_ip_split",
)  # fmt: skip
# As TRex's simulator has them: what port 0 sends is from its own address to the other's.
PORTS = ("--port", "0=veth0,mac=18:18:18:18:18:18", "--port", "1=veth1,mac=10:10:10:10:10:10")
PACKETS = 500


@pytest.fixture(scope="module")
def python():
    """Python with Scapy."""
    return trex.interpreter()


def frames(path):
    """Frames of the first interface of a pcapng file."""
    data, at, out = path.read_bytes(), 0, []
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            interface, _, _, captured = struct.unpack_from("<IIII", data, at + 8)
            out += [data[at + 28 : at + 28 + captured]] if interface == 0 else []
        at += length
    return out


def digest(packets):
    """SHA-256 of packets and their lengths."""
    return hashlib.sha256(b"".join(struct.pack("<I", len(data)) + data for data in packets)).hexdigest()


def checked(python, profile, folder, *options):
    """Converts a profile; what the conversion sends is what `eagre trex sim` does, and its text is shorter."""
    env = {**os.environ, "EAGRE_PYTHON": str(python), "HOME": str(folder)}

    def eagre(*words):
        command = [str(word) for word in (EAGRE, *words)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=profile.parent, env=env)
        assert done.returncode in (0, 1, 4), done.stderr
        return done.stdout

    original, kept = folder / "original.pcap", folder / f"{profile.stem}.yaml"
    eagre("trex", "sim", profile, "-l", PACKETS, "--pcap", original, *options)
    text = eagre("trex", "convert", profile, *PORTS, "--speed", "10Gbps", *options)
    kept.write_text(text)
    captured = folder / "converted.pcapng"
    eagre("sim", kept, "--pcap", captured, "--packets", 4 * PACKETS, "--duration", "1s")
    wanted = [data for _, data in trex_reference.read_pcap(original)]
    found = frames(captured)[: len(wanted)]
    assert len(wanted) > 10
    assert digest(found) == digest(wanted), f"{profile.name}: {len(found)} and {len(wanted)} packets"
    before = profile.read_text()
    return (text.count("\n"), len(text)), (before.count("\n"), len(before))


def test_an_example_is_shorter_and_sends_the_same(python, lab):
    """Fewer bytes; of both directions, which the Python says once."""
    (_, after), (_, before) = checked(python, REPO / "examples/trex/flows.py", lab.folder(), "-m", "10kpps")
    assert after < before


@pytest.mark.long
@pytest.mark.skipif(not CHECKOUT, reason="EAGRE_TREX_CHECKOUT names no checkout of TRex")
@pytest.mark.parametrize("name", UPSTREAM)
def test_profiles_of_a_checkout_become_shorter(python, lab, name):
    """Each in lines and in bytes."""
    after, before = checked(python, Path(CHECKOUT, "scripts/stl", f"{name}.py"), lab.folder(), "-m", "10kpps")
    print(name, after, before)
    assert after[0] < before[0] and after[1] < before[1]
