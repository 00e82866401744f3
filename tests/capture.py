"""Reads captures and verifies checksums, independently of the program under test and of other tools."""

import struct

MAGICS = {0xA1B2C3D4: 1000, 0xA1B23C4D: 1}
TAGS = {0x8100, 0x88A8, 0x9100}
IPV4, IPV6, BRIDGED = 0x0800, 0x86DD, 0x6558
ICMP, TCP, UDP, GRE, ICMPV6 = 1, 6, 17, 47, 58
VXLAN_PORT = 4789


def records(path):
    """Times in nanoseconds and bytes of all packets of a pcap file."""
    data = path.read_bytes()
    for order in "<>":
        unit = MAGICS.get(struct.unpack_from(order + "I", data)[0])
        if unit:
            break
    assert unit, f"{path} is no pcap file"
    header, at, found = struct.Struct(order + "IIII"), 24, []
    while at < len(data):
        seconds, fraction, kept, length = header.unpack_from(data, at)
        assert kept == length, "a packet was cut"
        at += 16
        found.append((seconds * 1_000_000_000 + fraction * unit, data[at : at + kept]))
        at += kept
    assert at == len(data), "the file ends within a packet"
    return found


def save(path, frames):
    """A capture of frames, each with its time in us."""
    records = [struct.pack("<IIII", 1, at, len(data), len(data)) + data for at, data in frames]
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + b"".join(records))
    return path


def number(data, offset, length):
    return int.from_bytes(data[offset : offset + length], "big")


def folds_to_zero(data):
    """Whether 16-bit words, a checksum among them, add up to all ones (RFC 1071)."""
    total = int.from_bytes(data + bytes(len(data) % 2), "big")
    return total > 0 and total % 0xFFFF == 0


def layers(frame):
    """Headers of a frame: name, offset, and for IP and what is in it, where it ends. Checks lengths on the way."""
    found, at = [("ethernet", 0, len(frame))], 12
    while number(frame, at, 2) in TAGS:
        found.append(("vlan", at + 2, len(frame)))
        at += 4
    kind = number(frame, at, 2)
    at += 2
    if kind == IPV4:
        end = at + number(frame, at + 2, 2)
        found.append(("ipv4", at, end))
        protocol, inside = frame[at + 9], at + 4 * (frame[at] & 15)
    elif kind == IPV6:
        end = at + 40 + number(frame, at + 4, 2)
        found.append(("ipv6", at, end))
        protocol, inside = frame[at + 6], at + 40
    else:
        return found
    assert end <= len(frame), "an IP length beyond the frame"
    name = {ICMP: "icmp", TCP: "tcp", UDP: "udp", ICMPV6: "icmpv6"}.get(protocol)
    if name:
        found.append((name, inside, end))
    if name == "udp" and number(frame, inside + 2, 2) == VXLAN_PORT:
        assert inside + number(frame, inside + 4, 2) == end
        begin = inside + 16
        found += [(n, begin + a, begin + b) for n, a, b in layers(frame[begin:end])]
    return found


def check(frame, length=True):
    """All lengths and checksums of a frame are right; returns how many checksums there were."""
    checked, outer = 0, None
    for name, at, end in layers(frame):
        if name == "ipv4":
            assert folds_to_zero(frame[at : at + 4 * (frame[at] & 15)]), f"IPv4 checksum: {frame.hex()}"
            outer = frame[at + 12 : at + 20]
            checked += 1
        elif name == "ipv6":
            outer = frame[at + 8 : at + 40]
        elif name in ("udp", "tcp", "icmpv6"):
            body = frame[at:end]
            if name == "udp":
                assert not length or number(frame, at + 4, 2) == len(body), "UDP length"
                if not any(body[6:8]):
                    assert number(body, 2, 2) == VXLAN_PORT, f"no UDP checksum: {frame.hex()}"
                    continue
            protocol = {"udp": UDP, "tcp": TCP, "icmpv6": ICMPV6}[name]
            assert folds_to_zero(outer + struct.pack(">II", len(body), protocol) + body), f"{name}: {frame.hex()}"
            checked += 1
        elif name == "icmp":
            assert folds_to_zero(frame[at:end]), f"ICMP checksum: {frame.hex()}"
            checked += 1
    return checked
