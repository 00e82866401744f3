"""Packets the bench looks at itself: are their checksums right?"""

import struct
import tempfile
from pathlib import Path

from generators import COMMANDS, EAGRE, PROFILES
from machine import CouldNotRun, call

FILE_HEAD, PACKET_HEAD, ETHERNET, IPV4 = 24, 16, 14, 20


def add_up(data):
    """The Internet checksum of bytes, as a receiver makes it: 0 if they contain the right one."""
    total = sum(struct.unpack(f"!{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total ^ 0xFFFF


def of_capture(path):
    data, at = path.read_bytes(), FILE_HEAD
    while at < len(data):
        (length,) = struct.unpack_from("<8xI4x", data, at)
        yield data[at + PACKET_HEAD : at + PACKET_HEAD + length]
        at += PACKET_HEAD + length


def checksums(case, profile, wanted=1000):
    """Raises unless IPv4 and UDP checksums of the profile's first packets are right, and one at least is not 0."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "packets.pcap"
        command = [EAGRE, "sim", PROFILES / f"{profile}.yaml", "--rate", "1Mpps", "--duration", f"{wanted}us", "--pcap", path]
        COMMANDS.note(case, [*command[:-1], "OUT.pcap"])
        call(*command)
        frames = list(of_capture(path))
    if len(frames) != wanted:
        raise CouldNotRun(f"{case}: {len(frames)} packets of {wanted} captured")
    for number, frame in enumerate(frames):
        ip = frame[ETHERNET:]
        ip = ip[: int.from_bytes(ip[2:4], "big")]
        udp = ip[IPV4:]
        pseudo = ip[12:20] + bytes([0, 17]) + len(udp).to_bytes(2, "big")
        if add_up(ip[:IPV4]) or add_up(pseudo + udp) or udp[6:8] == b"\0\0":
            raise CouldNotRun(f"{case}: packet {number} has a wrong checksum: {frame.hex()}")


def capture_of(frame, count):
    """A capture of the same frame so many times."""
    head = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)
    return head + b"".join(struct.pack("<IIII", 0, i, len(frame), len(frame)) + frame for i in range(count))


def constant_udp():
    """The constant 64 B packet of P1 and P7, without FCS."""
    udp = struct.pack("!HHHH", 9, 9, 26, 0) + bytes(18)
    addresses = bytes([198, 18, 0, 1, 198, 18, 0, 2])
    check = add_up(addresses + struct.pack("!BBH", 0, 17, len(udp)) + udp)
    udp = udp[:6] + check.to_bytes(2, "big") + udp[8:]
    ip = struct.pack("!BBHHHBBH", 0x45, 0, IPV4 + len(udp), 0, 0, 64, 17, 0) + addresses
    ip = ip[:10] + add_up(ip).to_bytes(2, "big") + ip[12:]
    return bytes.fromhex("020000000000" "020000000001" "0800") + ip + udp
