"""Scapy packets as packets of a stream.

Headers that profiles support by name become named headers, so that their fields can vary, and lengths and checksums fit
the frame that is sent; everything after them becomes bytes. Values that Scapy would compute (lengths, checksums, header
lengths) or take from its machine (addresses) are left to Eagre unless they are set; a value that is set stays, even a
wrong one. Every other field has Scapy's value.
"""

from __future__ import annotations

import ipaddress
import struct
from collections.abc import Callable, Iterator
from typing import Any

Fields = dict[str, Any]
Element = dict[str, Any]
# Reads a header's bytes: elements of the profile; the set holds names of fields that Scapy was not told.
Reader = Callable[[bytes, set[str]], list[Element]]


def from_scapy(packet: Any, *, raw: bool = False) -> list[Element]:
    """The value of a stream's `packet`: `Stream(packet=from_scapy(Ether() / IP() / UDP() / b"hello"), …)`.

    `raw`: bytes as Scapy builds them after the Ethernet header, with checksums and lengths, and no named headers. A measured
    stream adds 18 bytes at the end, which the packet's lengths do not include; `measure=False` sends it unchanged.
    """
    from scapy.packet import Packet

    if not isinstance(packet, Packet):
        raise TypeError(f"a Scapy packet is expected, not {type(packet).__name__}")
    layers = list(walk(placed(packet.copy())))
    built = bytes(layers[0][0])
    elements: list[Element] = []
    before, offset = "", 0
    for layer, unset in layers:
        name = type(layer).__name__
        known = name in READERS and (name in FOLLOWS.get(before, ()) or not before)
        if not known or (raw and before):
            break
        length = header_length(layer)
        elements += READERS[name](built[offset : offset + length], unset)
        before, offset = name, offset + length
    if not elements:
        raise ValueError(
            f"the packet begins with {type(layers[0][0]).__name__}; it must begin with one of {', '.join(READERS)}"
        )
    return elements + ([{"hex": built[offset:].hex()}] if offset < len(built) else [])


def walk(packet: Any) -> Iterator[tuple[Any, set[str]]]:
    """Each layer, and which of its fields in `LEFT_OUT` are not set."""
    from scapy.packet import NoPayload

    while not isinstance(packet, NoPayload):
        yield packet, packet.__dict__.pop("eagre_unset", set())
        packet = packet.payload


def placed(packet: Any) -> Any:
    """The same packet, with addresses set that Scapy would otherwise look up on this machine or in the network."""
    from scapy.packet import NoPayload

    layer = packet
    while not isinstance(layer, NoPayload):
        wanted = LEFT_OUT.get(type(layer).__name__, {})
        unset = {field for field in wanted if layer.fields.get(field) is None and field not in layer.overloaded_fields}
        for field in unset:
            if wanted[field] is not None:
                layer.setfieldval(field, wanted[field])
        layer.__dict__["eagre_unset"] = unset
        layer = layer.payload
    return packet


def header_length(layer: Any) -> int:
    """Length of a layer without its payload."""
    alone = layer.copy()
    alone.remove_payload()
    return len(alone.build())


NOWHERE4, NOWHERE6, NOBODY = "0.0.0.0", "::", "00:00:00:00:00:00"
# Fields that are left to Eagre if Scapy was not told, with what to put there meanwhile.
LEFT_OUT: dict[str, dict[str, str | None]] = {
    "Ether": {"src": NOBODY, "dst": NOBODY},
    "Dot3": {"src": NOBODY, "dst": NOBODY},
    "ARP": {"hwsrc": NOBODY, "psrc": NOWHERE4, "pdst": NOWHERE4},
    "IP": {"src": NOWHERE4, "dst": NOWHERE4, "len": None, "chksum": None, "ihl": None},
    "IPv6": {"src": NOWHERE6, "dst": NOWHERE6, "plen": None},
    "UDP": {"len": None, "chksum": None},
    "TCP": {"chksum": None, "dataofs": None},
    "ICMP": {"chksum": None},
    "ICMPv6EchoRequest": {"cksum": None},
    "ICMPv6EchoReply": {"cksum": None},
}


def made(header: str, fields: Fields, computed: dict[str, str], unset: set[str]) -> Element:
    """A header without its unset fields; `computed` maps Scapy's names to Eagre's."""
    left_out = {ours for theirs, ours in computed.items() if theirs in unset}
    return {header: {name: value for name, value in fields.items() if name not in left_out}}


def mac(data: bytes) -> str:
    """A MAC address as text."""
    return data.hex(":")


def ethernet(data: bytes, unset: set[str]) -> list[Element]:
    """Ethernet; the last field is a type or, in old frames, a length."""
    (kind,) = struct.unpack_from("!H", data, 12)
    fields = {"dst": mac(data[:6]), "src": mac(data[6:12]), "type": kind}
    return [made("ethernet", fields, {"dst": "dst", "src": "src"}, unset)]


def vlan(data: bytes, _unset: set[str]) -> list[Element]:
    """A VLAN tag."""
    tag, kind = struct.unpack_from("!HH", data)
    return [{"vlan": {"pcp": tag >> 13, "dei": tag >> 12 & 1, "id": tag & 0xFFF, "type": kind}}]


def mpls(data: bytes, _unset: set[str]) -> list[Element]:
    """An MPLS label."""
    (word,) = struct.unpack_from("!I", data)
    fields = {"label": word >> 12, "traffic_class": word >> 9 & 7, "bottom": word >> 8 & 1, "ttl": word & 0xFF}
    return [{"mpls": fields}]


def arp(data: bytes, unset: set[str]) -> list[Element]:
    """ARP for Ethernet and IPv4; others have other lengths and become bytes."""
    if len(data) != 28:
        return [{"bytes": {"hex": data.hex()}}]
    hardware, protocol, hlen, plen, operation = struct.unpack_from("!HHBBH", data)
    fields = {
        "hardware_type": hardware, "protocol_type": protocol, "hardware_length": hlen, "protocol_length": plen,
        "operation": operation, "sender_mac": mac(data[8:14]), "sender_ip": address(data[14:18]),
        "target_mac": mac(data[18:24]), "target_ip": address(data[24:28]),
    }  # fmt: skip
    computed = {"hwsrc": "sender_mac", "psrc": "sender_ip", "pdst": "target_ip"}
    return [made("arp", fields, computed, unset)]


def address(data: bytes) -> str:
    """An IP address."""
    return str(ipaddress.ip_address(data))


def ipv4(data: bytes, unset: set[str]) -> list[Element]:
    """IPv4 and its options."""
    first, tos, total, name, fragment, ttl, protocol, checksum = struct.unpack_from("!BBHHHBBH", data)
    fields = {
        "version": first >> 4, "header_length": first & 0xF, "dscp": tos >> 2, "ecn": tos & 3, "total_length": total,
        "id": name, "flags": fragment >> 13, "fragment_offset": fragment & 0x1FFF, "ttl": ttl, "protocol": protocol,
        "checksum": checksum, "src": address(data[12:16]), "dst": address(data[16:20]),
    }  # fmt: skip
    computed = {"len": "total_length", "chksum": "checksum", "ihl": "header_length", "src": "src", "dst": "dst"}
    return [made("ipv4", fields, computed, unset), *options(data[20:], "ipv4_option", "type")]


def options(data: bytes, header: str, kind: str) -> list[Element]:
    """Options of IPv4 or TCP, each as its own header, including the padding after the last."""
    found: list[Element] = []
    while data:
        if data[0] == 0 or (data[0] > 1 and (len(data) < 2 or not 2 <= data[1] <= len(data))):
            # The list's end, or nothing that an option can be: its bytes as they are.
            return [*found, *({header.replace("option", "nop"): {kind: byte}} for byte in data)]
        length = 1 if data[0] == 1 else data[1]
        if length == 1:
            found.append({header.replace("option", "nop"): {kind: 1}})
        else:
            found.append({header: {kind: data[0], "length": length, "data": data[2:length].hex()}})
        data = data[length:]
    return found


def ipv6(data: bytes, unset: set[str]) -> list[Element]:
    """IPv6."""
    first, length, following, hops = struct.unpack_from("!IHBB", data)
    fields = {
        "version": first >> 28, "dscp": first >> 22 & 0x3F, "ecn": first >> 20 & 3, "flow_label": first & 0xFFFFF,
        "payload_length": length, "next_header": following, "hop_limit": hops,
        "src": address(data[8:24]), "dst": address(data[24:40]),
    }  # fmt: skip
    return [made("ipv6", fields, {"plen": "payload_length", "src": "src", "dst": "dst"}, unset)]


def udp(data: bytes, unset: set[str]) -> list[Element]:
    """UDP."""
    fields = dict(zip(("src", "dst", "length", "checksum"), struct.unpack_from("!HHHH", data), strict=True))
    return [made("udp", fields, {"len": "length", "chksum": "checksum"}, unset)]


def tcp(data: bytes, unset: set[str]) -> list[Element]:
    """TCP and its options."""
    source, target, seq, ack, offset, flags, window, checksum, urgent = struct.unpack_from("!HHIIBBHHH", data)
    fields = {
        "src": source, "dst": target, "seq": seq, "ack": ack, "data_offset": offset >> 4, "reserved": offset & 0xF,
        "flags": flags, "window": window, "checksum": checksum, "urgent": urgent,
    }  # fmt: skip
    header = made("tcp", fields, {"chksum": "checksum", "dataofs": "data_offset"}, unset)
    return [header, *options(data[20:], "tcp_option", "kind")]


def icmp(header: str, checksum: str) -> Reader:
    """ICMP of either version. Only echoes have these fields; other messages use the same bytes differently."""

    def read(data: bytes, unset: set[str]) -> list[Element]:
        kind, code, found, name, seq = struct.unpack_from("!BBHHH", data)
        fields = {"type": kind, "code": code, "checksum": found, "id": name, "seq": seq}
        rest = [{"bytes": {"hex": data[8:].hex()}}] if len(data) > 8 else []
        return [made(header, fields, {checksum: "checksum"}, unset), *rest]

    return read


def vxlan(data: bytes, _unset: set[str]) -> list[Element]:
    """VXLAN."""
    first, second = struct.unpack_from("!II", data)
    fields = {"flags": first >> 24, "reserved": first & 0xFFFFFF, "vni": second >> 8, "reserved2": second & 0xFF}
    return [{"vxlan": fields}]


READERS: dict[str, Reader] = {
    "Ether": ethernet,
    "Dot3": ethernet,
    "Dot1Q": vlan,
    "Dot1AD": vlan,
    "MPLS": mpls,
    "ARP": arp,
    "IP": ipv4,
    "IPv6": ipv6,
    "UDP": udp,
    "TCP": tcp,
    "ICMP": icmp("icmp", "chksum"),
    "ICMPv6EchoRequest": icmp("icmpv6", "cksum"),
    "ICMPv6EchoReply": icmp("icmpv6", "cksum"),
    "VXLAN": vxlan,
}
LINK = ("Dot1Q", "Dot1AD", "MPLS", "ARP", "IP", "IPv6")
# Which header may follow which by name; any other is bytes, and so is what it carries.
FOLLOWS: dict[str, tuple[str, ...]] = {
    "Ether": LINK,
    "Dot1Q": LINK,
    "Dot1AD": LINK,
    "MPLS": ("MPLS", "IP", "IPv6"),
    "IP": ("IP", "IPv6", "UDP", "TCP", "ICMP"),
    "IPv6": ("IP", "IPv6", "UDP", "TCP", "ICMPv6EchoRequest", "ICMPv6EchoReply"),
    "UDP": ("VXLAN",),
    "VXLAN": ("Ether",),
}
