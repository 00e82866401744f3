"""Captures of many kinds, made byte by byte, and what is sent when they are replayed.

Formats: draft-ietf-opsawg-pcap, draft-ietf-opsawg-pcapng, tcpdump.org/linktypes.html.
"""

import gzip
import ipaddress
import struct
from dataclasses import dataclass, field

C, S = "10.0.0.1", "10.0.0.2"
C6, S6 = "2001:db8::1", "2001:db8::2"
IPV4, IPV6 = 0x0800, 0x86DD
UDP, TCP, ICMP, ICMPV6, GRE = 17, 6, 1, 58, 47
MS = 1_000_000


def packed(address):
    return ipaddress.ip_address(address).packed


def checksum(data):
    return -int.from_bytes(data + bytes(len(data) % 2), "big") % 0xFFFF


def pseudo(src, dst, protocol, length):
    return packed(src) + packed(dst) + struct.pack(">II", length, protocol)


def eth(payload, kind=IPV4, src=1, dst=2, tags=()):
    """A frame; tags are pairs of type and identifier."""
    macs = bytes([2, 0, 0, 0, 0, dst, 2, 0, 0, 0, 0, src])
    return macs + b"".join(struct.pack(">HH", *tag) for tag in tags) + struct.pack(">H", kind) + payload


def ip4(src, dst, protocol, payload, number=1, place=0, length=None, total=None):
    length = 20 + len(payload) if length is None else length
    head = struct.pack(">BBHHHBBH", 0x45, 0, length, number, place, 64, protocol, 0) + packed(src) + packed(dst)
    total = checksum(head) if total is None else total
    return head[:10] + struct.pack(">H", total) + head[12:] + payload


def ip6(src, dst, protocol, payload, length=None):
    length = len(payload) if length is None else length
    return struct.pack(">IHBB", 6 << 28, length, protocol, 64) + packed(src) + packed(dst) + payload


def udp(src, dst, sport, dport, data, total=None):
    body = struct.pack(">HHHH", sport, dport, 8 + len(data), 0) + data
    total = (checksum(pseudo(src, dst, UDP, len(body)) + body) or 0xFFFF) if total is None else total
    return body[:6] + struct.pack(">H", total) + body[8:]


def unfinished(src, dst, protocol, length):
    """A checksum that is left to a card: the sum of the pseudo-header alone."""
    return 0xFFFF - checksum(pseudo(src, dst, protocol, length))


def tcp(src, dst, sport, dport, seq, ack, flags, data=b"", total=None):
    body = struct.pack(">HHIIBBHHH", sport, dport, seq, ack, 0x50, flags, 65000, 0, 0) + data
    total = checksum(pseudo(src, dst, TCP, len(body)) + body) if total is None else total
    return body[:16] + struct.pack(">H", total) + body[18:]


def question(data=b"question", number=1):
    """An IPv4 packet of the client."""
    return ip4(C, S, UDP, udp(C, S, 5000, 53, data), number)


def answer(data=b"answer", number=1):
    return ip4(S, C, UDP, udp(S, C, 53, 5000, data), number)


def question6(data=b"question"):
    return ip6(C6, S6, UDP, udp(C6, S6, 5000, 53, data))


def fragments4(src, dst, sport, dport, data, number=77, size=1480):
    whole = udp(src, dst, sport, dport, data)
    cuts = range(0, len(whole), size)
    place = lambda at: (0x2000 if at + size < len(whole) else 0) | at // 8  # noqa: E731
    return [ip4(src, dst, UDP, whole[at : at + size], number, place(at)) for at in cuts]


def fragments6(src, dst, sport, dport, data, number=77, size=1448):
    whole = udp(src, dst, sport, dport, data)
    cuts = range(0, len(whole), size)
    head = lambda at: struct.pack(">BBHI", UDP, 0, at | (at + size < len(whole)), number)  # noqa: E731
    return [ip6(src, dst, 44, head(at) + whole[at : at + size]) for at in cuts]


def talk(segments, macs=True):
    """The frames of a TCP conversation; segments are (side, flags, data)."""
    frames, seq = [], [1000, 5000]
    for side, flags, data in segments:
        a, b, x, y = (C, S, 4000, 80) if side == 0 else (S, C, 80, 4000)
        body = tcp(a, b, x, y, seq[side], seq[1 - side] if flags & 16 else 0, flags, data)
        frames.append(eth(ip4(a, b, TCP, body), src=1 + side, dst=2 - side))
        seq[side] += len(data) + bool(flags & 3)
    return frames


OPEN = [(0, 2, b""), (1, 18, b""), (0, 16, b"")]
CLOSE = [(1, 17, b""), (0, 17, b""), (1, 16, b"")]


# Files.


def pcap(records, link=1, order="<", unit=1000, gap=MS):
    """A pcap file; a record is its bytes, or bytes and the length on the link."""
    magic = 0xA1B2C3D4 if unit == 1000 else 0xA1B23C4D
    out = [struct.pack(order + "IHHiIII", magic, 2, 4, 0, 0, 262144, link)]
    for index, record in enumerate(records):
        data, whole = record if isinstance(record, tuple) else (record, len(record))
        seconds, nanos = divmod(10**9 + index * gap, 10**9)
        out.append(struct.pack(order + "IIII", seconds, nanos // unit, len(data), whole) + data)
    return b"".join(out)


class Ng:
    """A pcapng file in the making."""

    def __init__(self, order="<"):
        self.order, self.out = order, b""
        self.section()

    def pack(self, codes, *values):
        return struct.pack(self.order + codes, *values)

    def option(self, code, value):
        return self.pack("HH", code, len(value)) + value + bytes(-len(value) % 4)

    def block(self, kind, body):
        body += bytes(-len(body) % 4)
        self.out += self.pack("II", kind, 12 + len(body)) + body + self.pack("I", 12 + len(body))
        return self

    def section(self):
        return self.block(0x0A0D0D0A, self.pack("IHHq", 0x1A2B3C4D, 1, 0, -1))

    def interface(self, link=1, snap=0, options=b""):
        return self.block(1, self.pack("HHI", link, 0, snap) + options)

    def packet(self, data, units, interface=0, whole=None, options=b""):
        head = self.pack("IIIII", interface, units >> 32, units & 0xFFFFFFFF, len(data), whole or len(data))
        return self.block(6, head + data + bytes(-len(data) % 4) + options)

    def simple(self, data, whole=None):
        return self.block(3, self.pack("I", whole or len(data)) + data)

    def obsolete(self, data, units, interface=0):
        head = self.pack("HHIIII", interface, 0, units >> 32, units & 0xFFFFFFFF, len(data), len(data))
        return self.block(2, head + data)


@dataclass
class Case:
    """A file, and what becomes of it."""

    # Bytes of the file.
    data: bytes
    # Frames that are sent, without padding.
    sent: list
    # Keys of `replay`.
    replay: dict = field(default_factory=dict)
    # `streams.….replay` of the result but for `packets`; empty if all is sent as captured.
    counts: dict = field(default_factory=dict)
    # Words of a warning.
    warned: tuple = ()
    # Milliseconds from the first frame to each, if not one apart.
    at: list | None = None
    # Bytes that a client and a server of the first conversation send; None if there is none.
    said: tuple | None = (8, 0)
    # Whether flows can be made of it.
    flows: bool = True
    suffix: str = ".pcap"


def plain(frames, **rest):
    """A pcap file of Ethernet frames that are sent as they are."""
    return Case(pcap(frames), [frame for frame in frames], **rest)


def linked(link, header, packet, kind=IPV4, src=1, **rest):
    """A packet of another kind of link, as Ethernet."""
    return Case(pcap([header + packet], link), [eth(packet, kind, src)], **rest)


def cooked(kind, tail=b"", hardware=1):
    return struct.pack(">HHH", 0, hardware, 6) + bytes([2, 0, 0, 0, 0, 9, 0, 0]) + struct.pack(">H", kind) + tail


def cooked2(kind, tail=b""):
    return struct.pack(">HHIHBB", kind, 0, 3, 1, 0, 6) + bytes([2, 0, 0, 0, 0, 9, 0, 0]) + tail


Q, A = question(), answer()
LINKS = {
    "raw": linked(101, b"", Q),
    "raw-v6": linked(101, b"", question6(), IPV6),
    "raw-ipv4": linked(228, b"", Q),
    "raw-ipv6": linked(229, b"", question6(), IPV6),
    "raw-12": linked(12, b"", Q),
    "null-little": linked(0, bytes([2, 0, 0, 0]), Q),
    "null-big": linked(0, bytes([0, 0, 0, 2]), Q),
    "null-v6-bsd": linked(0, bytes([24, 0, 0, 0]), question6(), IPV6),
    "null-v6-freebsd": linked(0, bytes([28, 0, 0, 0]), question6(), IPV6),
    "null-v6-mac": linked(0, bytes([30, 0, 0, 0]), question6(), IPV6),
    "loop": linked(108, bytes([0, 0, 0, 2]), Q),
    "cooked": linked(113, cooked(IPV4), Q, src=9),
    "cooked-loopback": linked(113, cooked(IPV4, hardware=772), Q, src=9),
    "cooked-tunnel": linked(113, cooked(IPV4, hardware=65534), Q),
    "cooked-tagged": Case(pcap([cooked(0x8100, struct.pack(">HH", 7, IPV4)) + Q], 113), [eth(Q, src=9, tags=[(0x8100, 7)])]),
    "cooked-2": linked(276, cooked2(IPV4), Q, src=9),
    "cooked-2-v6": linked(276, cooked2(IPV6), question6(), IPV6, src=9),
    "cooked-2-tagged": Case(pcap([cooked2(0x8100, struct.pack(">HH", 7, IPV4)) + Q], 276), [eth(Q, src=9, tags=[(0x8100, 7)])]),
    "ppp": linked(9, b"\xff\x03\0\x21", Q),
    "ppp-short": linked(9, b"\x21", Q),
    "ppp-v6": linked(9, b"\xff\x03\0\x57", question6(), IPV6),
    "ppp-hdlc": linked(50, b"\xff\x03\0\x21", Q),
    "cisco": linked(104, b"\x0f\0\x08\0", Q),
    "ppp-control": Case(
        pcap([b"\xff\x03\xc0\x21\1\1\0\4", b"\xff\x03\0\x21" + Q], 9), [eth(Q)], counts={"unsendable": 1},
        warned=("1 of 2 packets left out", "of link type 9"),
    ),
}  # fmt: skip

TSO = tcp(S, C, 80, 4000, 5001, 1004, 24, b"R" * 4000, unfinished(S, C, TCP, 4020))
JOINED = talk([*OPEN, (0, 24, b"ask"), (1, 24, b"R" * 20000), *CLOSE])
LONG = [eth(question(b"x" * size)) for size in (100, 3000, 100)]


def segments(frame, most=1460):
    """The segments of a joined one, as a card would cut it."""
    head, data, out = frame[:54], frame[54:], []
    seq = int.from_bytes(head[38:42], "big")
    for at in range(0, len(data), most):
        part, flags = data[at : at + most], head[47] if at + most >= len(data) else head[47] & ~9
        body = tcp(S, C, 80, 4000, seq + at, int.from_bytes(head[42:46], "big"), flags, part)
        out.append(head[:14] + ip4(S, C, TCP, body, 1 + at // most))
    return out


LENGTHS = {
    "short": plain([eth(b"\x45", 0x88B5)], said=None, flows=False),
    "no-bytes": Case(pcap([b"", eth(Q), b""]), [eth(Q)], counts={"unsendable": 2}, warned=("2 of 3 packets left out", "link-layer header")),
    "half-a-header": Case(pcap([eth(Q)[:13], eth(Q)]), [eth(Q)], counts={"unsendable": 1}, warned=("1 of 2 packets left out",)),
    "beginnings": Case(pcap([(eth(question(b"q" * 500))[:96], 542)]), [eth(question(b"q" * 500))[:96] + bytes(446)], warned=("only the beginning",), said=(500, 0)),
    "joined-skipped": Case(
        pcap(JOINED), [frame for frame in JOINED if len(frame) < 16000], counts={"too_long": 1},
        warned=("1 of 8 packets left out", "too_long"), at=[0, 1, 2, 3, 5, 6, 7], said=(3, 20000),
    ),
    "joined-segmented": Case(
        pcap(JOINED), JOINED[:4] + segments(JOINED[4]) + JOINED[5:], {"too_long": "segment", "mtu": 1500},
        {"segmented": 1, "pieces": 14}, ("1 into TCP segments",), at=[0, 1, 2, 3, *[4] * 14, 5, 6, 7], said=(3, 20000),
    ),
    "long-sent": plain(LONG, said=(3200, 0)),
    "long-skipped": Case(pcap(LONG), [LONG[0], LONG[2]], {"mtu": 1500}, {"too_long": 1}, ("1 of 3 packets left out",), at=[0, 2], said=(3200, 0)),
    "long-fragmented": Case(
        pcap(LONG), [LONG[0], *[eth(packet) for packet in fragments4(C, S, 5000, 53, b"x" * 3000, 1)], LONG[2]],
        {"too_long": "segment", "mtu": 1500}, {"fragmented": 1, "pieces": 3}, ("1 into IP fragments",), at=[0, 1, 1, 1, 2],
        said=(3200, 0), flows=False,
    ),
    "long-cut": Case(
        pcap(LONG), [LONG[0], eth(question(b"x" * 1472)), LONG[2]], {"too_long": "cut", "mtu": 1500}, {"cut": 1},
        ("1 packet cut",), said=(3200, 0),
    ),
    "length-left-to-a-card": Case(
        pcap([eth(ip4(S, C, TCP, TSO, length=0), src=2, dst=1)]), [eth(ip4(S, C, TCP, TSO), src=2, dst=1)],
        counts={"lengths_filled": 1, "checksums_wrong": 1}, warned=("IP length of 0",), said=(4000, 0),
    ),
    "length-left-to-a-card-v6": Case(
        pcap([eth(ip6(C6, S6, UDP, udp(C6, S6, 5000, 53, b"q" * 500), length=0), IPV6)]), [eth(question6(b"q" * 500), IPV6)],
        counts={"lengths_filled": 1}, warned=("IP length of 0",), said=(500, 0),
    ),
    "check-sequence": Case(pcap([eth(Q) + b"FCS!"], 1 | 1 << 26 | 2 << 28), [eth(Q)]),
}  # fmt: skip

F4, F6 = fragments4(S, C, 53, 5000, b"A" * 2500), fragments6(S6, C6, 53, 5000, b"A" * 2500)
FRAGMENTS = {
    "fragments": plain([eth(Q), *[eth(packet, src=2, dst=1) for packet in F4]], said=(8, 2500), flows=False),
    "fragments-turned": plain([eth(Q), *[eth(packet, src=2, dst=1) for packet in F4[::-1]]], said=(8, 2500), flows=False),
    "fragments-v6": plain([eth(question6(), IPV6), *[eth(packet, IPV6, 2, 1) for packet in F6]], said=(8, 2500), flows=False),
    "fragments-v6-turned": plain(
        [eth(question6(), IPV6), *[eth(packet, IPV6, 2, 1) for packet in F6[::-1]]], said=(8, 2500), flows=False
    ),
    "fragments-lost": plain([eth(Q), eth(F4[0], src=2, dst=1)], said=(8, 0), flows=False),
}

WRONG = eth(ip4(C, S, UDP, udp(C, S, 5000, 53, b"question", 0x1234)))
LEFT = eth(ip4(C, S, UDP, udp(C, S, 5000, 53, b"question", unfinished(C, S, UDP, 16))))
HEADER = eth(ip4(C, S, UDP, udp(C, S, 5000, 53, b"question"), total=0))
CHECKSUMS = {
    "wrong-kept": plain([WRONG], counts={"checksums_wrong": 1}, warned=("1 of udp", "checksums: unfinished")),
    "unfinished-kept": plain([LEFT], counts={"checksums_wrong": 1}, warned=("1 of udp (1 left to a network card)",)),
    "unfinished-finished": Case(
        pcap([LEFT, WRONG]), [eth(Q), WRONG], {"checksums": "unfinished"},
        {"checksums_wrong": 2, "checksums_repaired": 1}, ("1 put right", "1 stay wrong"), said=(16, 0),
    ),
    "wrong-put-right": Case(
        pcap([LEFT, WRONG, HEADER]), [eth(Q)] * 3, {"checksums": "all"}, {"checksums_wrong": 3, "checksums_repaired": 3},
        ("3 put right",), said=(24, 0),
    ),
    "header-sum-left": Case(
        pcap([HEADER]), [eth(Q)], {"checksums": "unfinished"}, {"checksums_wrong": 1, "checksums_repaired": 1}, ("of ipv4",)
    ),
    "no-checksum": plain([eth(ip4(C, S, UDP, udp(C, S, 5000, 53, b"question", 0)))]),
}  # fmt: skip

QUOTED = eth(
    ip4("10.0.0.254", C, ICMP, struct.pack(">BBHI", 3, 3, checksum(b"\3\3\0\0\0\0\0\0" + Q), 0) + Q), src=3, dst=1
)
TUNNEL = eth(ip4("10.0.9.1", "10.0.9.2", GRE, b"\0\0\x08\0" + Q))
TAGS = {
    "tagged": plain([eth(Q, tags=[(0x8100, 7)])]),
    "tagged-twice": plain([eth(Q, tags=[(0x88A8, 100), (0x8100, 7)])]),
    "tagged-alike": plain([eth(Q, tags=[(0x8100, 100), (0x8100, 7)])]),
    "tagged-9100": plain([eth(Q, tags=[(0x9100, 100), (0x8100, 7)])]),
    "tagged-thrice": plain([eth(Q, tags=[(0x88A8, 1), (0x8100, 2), (0x8100, 3)])]),
    "quoted": plain([eth(Q), QUOTED], flows=False),
    "tunnel": plain([TUNNEL], flows=False),
    "conversation": plain(talk([*OPEN, (0, 24, b"ask"), (1, 24, b"answer"), *CLOSE]), said=(3, 6)),
    "reset": plain(talk([*OPEN, (0, 24, b"ask"), (1, 24, b"answer"), (1, 20, b"")]), said=(3, 6)),
}

US, NG = 10**6, lambda order="<": Ng(order).interface()
FILES = {
    "pcap-ns": Case(pcap([eth(Q), eth(A, src=2, dst=1)], unit=1), [eth(Q), eth(A, src=2, dst=1)], said=(8, 6)),
    "pcap-big": Case(pcap([eth(Q)], order=">"), [eth(Q)]),
    "pcap-big-ns": Case(pcap([eth(Q)], order=">", unit=1), [eth(Q)]),
    "pcap-cut": Case(pcap([eth(Q), eth(A)])[:-3], [eth(Q)], warned=("cut short",)),
    "gzip": Case(gzip.compress(pcap([eth(Q)])), [eth(Q)], suffix=".pcap.gz"),
    "ng": Case(NG().packet(eth(Q), US).out, [eth(Q)], suffix=".pcapng"),
    "ng-gzip": Case(gzip.compress(NG().packet(eth(Q), US).out), [eth(Q)], suffix=".pcapng.gz"),
    "ng-big": Case(NG(">").packet(eth(Q), US).packet(eth(A), US + 1000).out, [eth(Q), eth(A)], said=(8, 6)),
    "ng-resolutions": Case(
        Ng().interface(options=Ng().option(9, b"\x09")).interface(options=Ng().option(9, b"\x03"))
        .packet(eth(Q), 10**9).packet(eth(A, src=2, dst=1), 1002, 1).out,
        [eth(Q), eth(A, src=2, dst=1)], at=[0, 2], said=(8, 6),
    ),
    "ng-binary-resolution": Case(
        Ng().interface(options=Ng().option(9, b"\x8a")).packet(eth(Q), 1024).packet(eth(A), 1024 + 512).out,
        [eth(Q), eth(A)], at=[0, 500], said=(8, 6),
    ),
    "ng-offsets": Case(
        Ng().interface().interface(options=Ng().option(14, struct.pack("<q", 2))).packet(eth(Q), 3 * US).packet(eth(A), US + 1000, 1).out,
        [eth(Q), eth(A)], said=(8, 6),
    ),
    "ng-simple": Case(NG().simple(eth(Q)).simple(eth(A)).out, [eth(Q), eth(A)], at=[0, 0], warned=("have no time",), said=(8, 6)),
    "ng-simple-cut": Case(
        Ng().interface(snap=64).simple(eth(question(b"q" * 500))[:64], 542).out, [eth(question(b"q" * 500))[:64] + bytes(478)],
        warned=("have no time", "only the beginning"), said=(500, 0),
    ),
    "ng-obsolete": Case(NG().obsolete(eth(Q), US).obsolete(eth(A), US + 1000).out, [eth(Q), eth(A)], said=(8, 6)),
    "ng-unknown-blocks": Case(
        NG().block(0x0BAD, b"whatever").block(4, bytes(4)).packet(eth(Q), US).block(5, struct.pack("<III", 0, 0, 0)).out, [eth(Q)]
    ),
    "ng-cut": Case(NG().packet(eth(Q), US).packet(eth(A), US).out[:-9], [eth(Q)], warned=("cut short",)),
    "ng-options": Case(
        Ng().interface(options=Ng().option(2, b"eth0") + Ng().option(1, b"r\xe4tsel") + Ng().option(0, b""))
        .packet(eth(Q), US, options=Ng().option(1, b"a comment") + Ng().option(2, bytes(4)) + Ng().option(0, b"")).out,
        [eth(Q)],
    ),
    "ng-check-sequence": Case(Ng().interface(options=Ng().option(13, b"\x20")).packet(eth(Q) + b"FCS!", US).out, [eth(Q)]),
    "ng-sections": Case(
        NG().packet(eth(Q), US).section().interface(101).packet(A, US + 1000).out, [eth(Q), eth(A)], said=(8, 6)
    ),
    "ng-mixed": Case(
        Ng().interface().interface(105).packet(eth(Q), US).packet(b"\x08\0wlan", US, 1).packet(eth(A), US + 1000).out,
        [eth(Q), eth(A)], counts={"unsendable": 1}, warned=("1 of 3 packets left out", "link type 105"), said=(8, 6),
    ),
    "ng-no-interface": Case(NG().packet(eth(A), US, 7).packet(eth(Q), US).out, [eth(Q)], warned=("does not have",)),
    "ng-no-bytes": Case(NG().packet(b"", US).packet(eth(Q), US).out, [eth(Q)], counts={"unsendable": 1}, warned=("left out",)),
    "ng-turned": Case(
        NG().packet(eth(A), US + 1000).packet(eth(Q), US).out, [eth(Q), eth(A)], warned=("the first is packet 2",), said=(8, 6)
    ),
    "long-gap": Case(
        NG().packet(eth(Q), US).packet(eth(A), 10**6 * US).out, [eth(Q), eth(A)], {"max_gap": "2ms"}, {"pauses_shortened": 1},
        ("1 pauses shortened",), at=[0, 2], said=(8, 6),
    ),
}  # fmt: skip

CASES = {**LINKS, **LENGTHS, **FRAGMENTS, **CHECKSUMS, **TAGS, **FILES}

# Files that can't be replayed, with keys of `replay` and words of the refusal.
REFUSED = {
    "empty": (pcap([]), {}, ("has no packets",)),
    "no-kind-that-can-be-sent": (pcap([b"\x08\0wlan"], 105), {}, ("link type 105", "0 and 108 (loopback)")),
    "nothing-left": (pcap([b"\xff\x03\xc0\x21"], 9), {}, ("no packet can be sent", "link type 9")),
    "asked-to": (CASES["ng-mixed"].data, {"unsendable": "refuse"}, ("record 2", "link type 105")),
    "too-long": (pcap(JOINED), {"too_long": "refuse"}, ("record 5", "too_long")),
    "too-long-for-an-mtu": (pcap(LONG), {"too_long": "refuse", "mtu": 1500}, ("record 2", "too_long")),
    "half-a-gzip": (gzip.compress(pcap([eth(Q)] * 99))[:80], {}, ("byte",)),
    "no-capture": (b"PK\3\4" + bytes(30), {}, ("not a pcap or pcapng file",)),
}
