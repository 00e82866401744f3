"""Writes tables of routes as MRT files (RFC 6396), as route collectors publish them."""

import ipaddress
import struct

TABLE_DUMP_V2, PEER_INDEX_TABLE, RIB_IPV4_UNICAST, RIB_IPV6_UNICAST = 13, 1, 2, 4
ORIGIN, AS_PATH, NEXT_HOP, MED, COMMUNITIES = 1, 2, 3, 4, 8
AS_SET, AS_SEQUENCE = 1, 2


def record(subtype, body):
    return struct.pack("!IHHI", 0, TABLE_DUMP_V2, subtype, len(body)) + body


def attribute(flags, kind, value):
    return struct.pack("!BBB", flags, kind, len(value)) + value


def segment(kind, numbers):
    return struct.pack(f"!BB{len(numbers)}I", kind, len(numbers), *numbers)


def attributes(path, aggregated=(), med=None, communities=()):
    """What is said of a route: the sequence of its path, and a set of ASes behind it."""
    parts = segment(AS_SEQUENCE, path) + (segment(AS_SET, aggregated) if aggregated else b"")
    said = attribute(0x40, ORIGIN, b"\2") + attribute(0x40, AS_PATH, parts) + attribute(0x40, NEXT_HOP, bytes([192, 0, 2, 1]))
    if med is not None:
        said += attribute(0x80, MED, struct.pack("!I", med))
    if communities:
        said += attribute(0xC0, COMMUNITIES, struct.pack(f"!{2 * len(communities)}H", *[part for pair in communities for part in pair]))
    return said


def table(routes):
    """A file with these routes: what each of two peers of the collector says of a prefix."""
    peer = struct.pack("!B4s4sI", 2, bytes([192, 0, 2, 1]), bytes([192, 0, 2, 1]), 64_500)
    records = [record(PEER_INDEX_TABLE, bytes([192, 0, 2, 9]) + struct.pack("!HH", 0, 2) + 2 * peer)]
    for number, (prefix, said) in enumerate(routes):
        network = ipaddress.ip_network(prefix)
        address = network.network_address.packed[: (network.prefixlen + 7) // 8]
        other = attributes([64_500, 64_501])
        entries = b"".join(struct.pack("!HIH", at, 0, len(one)) + one for at, one in enumerate((said, other)))
        body = struct.pack("!IB", number, network.prefixlen) + address + struct.pack("!H", 2) + entries
        records.append(record(RIB_IPV4_UNICAST if network.version == 4 else RIB_IPV6_UNICAST, body))
    return b"".join(records)
