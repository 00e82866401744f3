"""Packets by hand, for probes of a host: many hosts behind one AF_PACKET socket, each with an address and a queue of its own.

Nothing here knows what a right answer is; see probes.py.
"""

import asyncio
import ipaddress
import socket
import struct
import time
from dataclasses import dataclass, field

IPV4, ARP, IPV6 = 0x0800, 0x0806, 0x86DD
ICMP, TCP, UDP, ICMPV6 = 1, 6, 17, 58
FIN, SYN, RST, PSH, ACK, URG, ECE, CWR = (1 << bit for bit in range(8))
NAMES = ["FIN", "SYN", "RST", "PSH", "ACK", "URG", "ECE", "CWR"]
BROADCAST = b"\xff" * 6
# How long an answer may take, and how long silence is listened to, s.
ANSWER_S, SILENCE_S = 2.0, 0.4


class Failure(Exception):
    """A probe was not answered as it must be."""


def must(condition, what):
    if not condition:
        raise Failure(what)


def fold(data):
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def checksum(data):
    return ~fold(data) & 0xFFFF


def packed(address):
    return ipaddress.ip_address(address).packed


def pseudo(src, dst, proto, length):
    if len(src) == 4:
        return src + dst + struct.pack("!BBH", 0, proto, length)
    return src + dst + struct.pack("!IHBB", length, 0, 0, proto)


def with_sum(src, dst, proto, body, at):
    """A segment, datagram or ICMPv6 message with its checksum."""
    body = body[:at] + b"\0\0" + body[at + 2 :]
    value = checksum(pseudo(src, dst, proto, len(body)) + body)
    if proto == UDP and value == 0:
        value = 0xFFFF
    return body[:at] + struct.pack("!H", value) + body[at + 2 :]


def options(*parts):
    """TCP options, padded by no-ops."""
    data = b"".join(parts)
    return data + b"\1" * (-len(data) % 4)


def mss(size):
    return struct.pack("!BBH", 2, 4, size)


def scale(shift):
    return bytes([3, 3, shift])


SACK_OK = b"\4\2"


def times(value, echo=0):
    return struct.pack("!BBII", 8, 10, value, echo)


def sack(*blocks):
    return bytes([5, 2 + 8 * len(blocks)]) + b"".join(struct.pack("!II", *block) for block in blocks)


def flag_text(flags):
    return "|".join(name for bit, name in enumerate(NAMES) if flags >> bit & 1) or "none"


@dataclass
class Segment:
    sport: int
    dport: int
    seq: int
    ack: int
    flags: int
    window: int
    data: bytes
    options: dict
    good: bool

    def __str__(self):
        return f"{flag_text(self.flags)} seq {self.seq} ack {self.ack} +{len(self.data)}"


@dataclass
class Packet:
    """What came, as far as it was read."""

    mac: bytes
    to_mac: bytes
    src: bytes
    dst: bytes
    proto: int
    body: bytes
    ttl: int = 0
    at: float = 0.0
    tos: int = 0
    fragment: bool = False
    segment: Segment | None = field(default=None, repr=False)


def read_options(data):
    found = {}
    while data:
        kind = data[0]
        if kind == 0:
            break
        if kind == 1:
            data = data[1:]
            continue
        if len(data) < 2 or data[1] < 2:
            break
        found[kind] = data[2 : data[1]]
        data = data[data[1] :]
    return found


def read_segment(src, dst, body):
    sport, dport, seq, ack, offset, flags, window, _, _ = struct.unpack("!HHIIBBHHH", body[:20])
    start = (offset >> 4) * 4
    good = fold(pseudo(src, dst, TCP, len(body)) + body) == 0xFFFF
    return Segment(sport, dport, seq, ack, flags, window, body[start:], read_options(body[20:start]), good)


class Wire:
    """The prober's end of a link to the host under test."""

    def __init__(self, interface, target4, target6):
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        self.socket.bind((interface, 0))
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8 << 20)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        self.socket.setblocking(False)
        self.mac = self.socket.getsockname()[4]
        self.target = {4: packed(target4), 6: packed(target6)}
        self.target_mac = None
        self.queues = {}
        self.arps = []
        self.macs = {}

    async def begin(self):
        loop = asyncio.get_running_loop()
        loop.add_reader(self.socket, self.readable)
        asker = self.host(4, 1)
        for _ in range(100):
            self.send(arp(asker.mac, 1, asker.mac, asker.address, b"\0" * 6, self.target[4]))
            await asyncio.sleep(0.1)
            if self.target_mac:
                return
        raise SystemExit("the target answers no ARP request")

    def host(self, family, number):
        """One of the hosts on the wire."""
        address = packed(f"10.9.{1 + number // 250}.{1 + number % 250}" if family == 4 else f"2001:2:9::1:{number:x}")
        mac = bytes([2, 9, family, 0, number >> 8, number & 255])
        host = Host(self, family, address, mac)
        self.queues[address] = host.queue
        self.macs[address] = mac
        return host

    def watch(self, address, queue):
        """Hands over what goes to another address as well."""
        self.queues[packed(address)] = queue

    def send(self, frame):
        for _ in range(1_000):
            try:
                return self.socket.send(frame.ljust(60, b"\0"))
            except OSError:
                # The link's queue is full.
                time.sleep(0.001)
        raise Failure("the link takes no more")

    def readable(self):
        while True:
            try:
                frame = self.socket.recv(65_536)
            except BlockingIOError:
                return
            self.frame(frame)

    def frame(self, frame):
        kind = struct.unpack("!H", frame[12:14])[0]
        to_mac, mac, body = frame[:6], frame[6:12], frame[14:]
        if mac[:3] in (b"\2\x09\4", b"\2\x09\6"):
            return
        if kind == ARP and len(body) >= 28:
            self.take_arp(to_mac, mac, body)
        elif kind == IPV4 and len(body) >= 20:
            start, total = (body[0] & 15) * 4, struct.unpack("!H", body[2:4])[0]
            packet = Packet(mac, to_mac, body[12:16], body[16:20], body[9], body[start:total], body[8], tos=body[1])
            packet.fragment = struct.unpack("!H", body[6:8])[0] & 0x3FFF != 0
            self.hand(packet)
        elif kind == IPV6 and len(body) >= 40:
            total = 40 + struct.unpack("!H", body[4:6])[0]
            packet = Packet(mac, to_mac, body[8:24], body[24:40], body[6], body[40:total], body[7])
            if packet.proto == ICMPV6 and packet.body[:1] == b"\x87" and packet.body[8:24] in self.macs:
                self.advertise(packet)
            self.hand(packet)

    def take_arp(self, to_mac, mac, body):
        op, sender, sender_ip, _, asked = struct.unpack("!H6s4s6s4s", body[6:28])
        if sender_ip == self.target[4]:
            self.target_mac = sender
        if op == 1 and asked in self.macs:
            own = self.macs[asked]
            self.send(arp(own, 2, own, asked, sender, sender_ip, to=mac))
        queue = self.queues.get(asked)
        if queue is not None:
            queue.put_nowait(Packet(mac, to_mac, sender_ip, asked, ARP, body))

    def advertise(self, packet):
        own, asked = self.macs[packet.body[8:24]], packet.body[8:24]
        if packet.src == b"\0" * 16:
            return
        message = struct.pack("!BBHI", 136, 0, 0, 0x60000000) + asked + b"\2\1" + own
        message = with_sum(asked, packet.src, ICMPV6, message, 2)
        self.send(packet.mac + own + struct.pack("!H", IPV6) + ipv6(asked, packet.src, ICMPV6, message, ttl=255))

    def hand(self, packet):
        packet.at = asyncio.get_running_loop().time()
        if packet.proto == TCP and len(packet.body) >= 20 and not packet.fragment:
            packet.segment = read_segment(packet.src, packet.dst, packet.body)
        queue = self.queues.get(packet.dst)
        if queue is not None:
            queue.put_nowait(packet)


def arp(mac, op, sender, sender_ip, target, target_ip, to=BROADCAST, hardware=1, protocol=IPV4, lengths=(6, 4)):
    body = struct.pack("!HHBBH6s4s6s4s", hardware, protocol, *lengths, op, sender, sender_ip, target, target_ip)
    return to + mac + struct.pack("!H", ARP) + body


def ipv4(src, dst, proto, body, ttl=64, tos=0, opts=b"", fragment=0x4000, ident=1, version=4, total=None, bad=False):
    words = 5 + len(opts) // 4
    length = words * 4 + len(body) if total is None else total
    head = struct.pack("!BBHHHBBH", version << 4 | words, tos, length, ident, fragment, ttl, proto, 0) + src + dst + opts
    value = checksum(head) ^ (0x1111 if bad else 0)
    return head[:10] + struct.pack("!H", value) + head[12:] + body


def ipv6(src, dst, proto, body, ttl=64, tos=0, flow=0, length=None, version=6):
    first = version << 28 | tos << 20 | flow
    return struct.pack("!IHBB", first, len(body) if length is None else length, proto, ttl) + src + dst + body


class Host:
    """One host on the wire."""

    def __init__(self, wire, family, address, mac):
        self.wire, self.family, self.address, self.mac = wire, family, address, mac
        self.queue = asyncio.Queue()
        self.port = 20_000
        self.target = wire.target[family]

    # Sending.

    def frame(self, packet, to=None):
        kind = IPV4 if self.family == 4 else IPV6
        self.wire.send((to or self.wire.target_mac) + self.mac + struct.pack("!H", kind) + packet)

    def packet(self, proto, body, src=None, dst=None, **rest):
        make = ipv4 if self.family == 4 else ipv6
        return make(src or self.address, dst or self.target, proto, body, **rest)

    def send(self, proto, body, to=None, **rest):
        self.frame(self.packet(proto, body, **rest), to=to)

    def tcp(self, sport, dport, seq, ack=0, flags=ACK, data=b"", window=60_000, opts=b"", src=None, dst=None, bad=False, offset=None, reserved=0, urgent=0, to=None, **rest):
        words = 5 + len(opts) // 4 if offset is None else offset
        head = struct.pack("!HHIIBBHHH", sport, dport, seq & 0xFFFFFFFF, ack & 0xFFFFFFFF, words << 4 | reserved, flags, window, 0, urgent)
        body = with_sum(src or self.address, dst or self.target, TCP, head + opts + data, 16)
        if bad:
            body = body[:16] + bytes([body[16] ^ 0x55]) + body[17:]
        self.send(TCP, body, src=src, dst=dst, to=to, **rest)

    def datagram(self, sport, dport, data, length=None, sum_=None, src=None, dst=None):
        body = struct.pack("!HHHH", sport, dport, 8 + len(data) if length is None else length, 0) + data
        if sum_ is None:
            return with_sum(src or self.address, dst or self.target, UDP, body, 6)
        return body[:6] + struct.pack("!H", sum_) + body[8:]

    def udp(self, sport, dport, data, length=None, sum_=None, src=None, dst=None, to=None, **rest):
        self.send(UDP, self.datagram(sport, dport, data, length, sum_, src, dst), src=src, dst=dst, to=to, **rest)

    def icmp_message(self, kind, code, rest, src=None, dst=None):
        body = struct.pack("!BBH", kind, code, 0) + rest
        if self.family == 4:
            return body[:2] + struct.pack("!H", checksum(body)) + body[4:]
        return with_sum(src or self.address, dst or self.target, ICMPV6, body, 2)

    def icmp(self, kind, code, rest, src=None, dst=None, bad=False, to=None, **more):
        body = self.icmp_message(kind, code, rest, src, dst)
        if bad:
            body = body[:2] + bytes([body[2] ^ 0x55]) + body[3:]
        self.send(ICMP if self.family == 4 else ICMPV6, body, src=src, dst=dst, to=to, **more)

    def ping(self, ident, data=b"abcdefgh", **rest):
        self.icmp(8 if self.family == 4 else 128, 0, struct.pack("!HH", ident, 7) + data, **rest)

    # Receiving.

    async def next(self, wanted, seconds=ANSWER_S):
        """The next packet that is wanted; `None` if none comes in time."""
        loop = asyncio.get_running_loop()
        end = loop.time() + seconds
        while (rest := end - loop.time()) > 0:
            try:
                packet = await asyncio.wait_for(self.queue.get(), rest)
            except (asyncio.TimeoutError, TimeoutError):
                return None
            if wanted(packet):
                return packet
        return None

    async def segment(self, wanted, what, seconds=ANSWER_S):
        packet = await self.next(lambda one: one.segment is not None and wanted(one.segment), seconds)
        must(packet, what)
        return packet.segment

    async def silence(self, wanted, what, seconds=SILENCE_S):
        packet = await self.next(wanted, seconds)
        must(not packet, what + (f": {packet.segment}" if packet and packet.segment else ""))

    async def echoed(self, ident, seconds=ANSWER_S):
        proto, kind = (ICMP, 0) if self.family == 4 else (ICMPV6, 129)
        return await self.next(
            lambda one: one.proto == proto and one.body[:1] == bytes([kind]) and one.body[4:6] == struct.pack("!H", ident),
            seconds,
        )

    async def error(self, kind, code, seconds=ANSWER_S):
        """The next ICMP error of this type and code."""
        proto = ICMP if self.family == 4 else ICMPV6
        return await self.next(lambda one: one.proto == proto and one.body[:2] == bytes([kind, code]), seconds)

    def open_port(self):
        self.port += 1
        return self.port

    async def connect(self, port=7, opts=None, window=60_000, **rest):
        """An established connection."""
        conn = Connection(self, self.open_port(), port, window)
        await conn.open(options(mss(1460 if self.family == 4 else 1440)) if opts is None else opts, **rest)
        return conn


class Connection:
    """The client's side of a connection, played by hand."""

    def __init__(self, host, sport, dport, window):
        self.host, self.sport, self.dport, self.window = host, sport, dport, window
        self.seq, self.ack, self.stamp, self.echo = 1_000_000 + sport * 7, 0, None, 0
        self.iss = self.seq

    def put(self, flags=ACK, data=b"", seq=None, ack=None, window=None, opts=None, **rest):
        if opts is None:
            opts = options(b"\1\1", times(self.stamp, self.echo)) if self.stamp is not None else b""
        self.host.tcp(
            self.sport, self.dport, self.seq if seq is None else seq, self.ack if ack is None else ack, flags, data,
            self.window if window is None else window, opts, **rest,
        )

    def is_ours(self, segment):
        return segment.dport == self.sport and segment.sport == self.dport

    async def any(self, wanted, what, seconds=ANSWER_S):
        """The next segment of the connection that is wanted."""
        return await self.host.segment(lambda one: self.is_ours(one) and wanted(one), what, seconds)

    async def nothing(self, wanted=lambda one: True, what="an answer", seconds=SILENCE_S):
        await self.host.silence(lambda one: one.segment is not None and self.is_ours(one.segment) and wanted(one.segment), what, seconds)

    async def begin(self, opts=b"", **rest):
        self.put(SYN, ack=0, opts=opts, **rest)
        self.seq += 1
        answer = await self.any(lambda one: one.flags & SYN, "no SYN-ACK")
        self.ack = (answer.seq + 1) & 0xFFFFFFFF
        self.theirs = answer.seq
        return answer

    async def open(self, opts=b"", stamp=None, **rest):
        self.answer = await self.begin(opts, **rest)
        if stamp is not None:
            self.stamp = stamp + 1
            self.echo = struct.unpack("!II", self.answer.options[8])[0]
        self.put(ACK)

    async def say(self, data, flags=ACK | PSH, **rest):
        """Data in order."""
        self.put(flags, data, **rest)
        self.seq = (self.seq + len(data) + (1 if flags & FIN else 0)) & 0xFFFFFFFF

    async def read(self, length, seconds=ANSWER_S, acknowledge=True):
        """So many bytes from the peer, acknowledged as they come."""
        got = b""
        while len(got) < length:
            one = await self.any(lambda one: one.data, f"{len(got)} of {length} bytes came", seconds)
            skip = (self.ack - one.seq) & 0xFFFFFFFF
            if skip <= len(one.data):
                fresh = one.data[skip:]
                got += fresh
                self.ack = (self.ack + len(fresh)) & 0xFFFFFFFF
            if acknowledge:
                self.put(ACK)
        return got

    async def alive(self, data=b"still there?"):
        """It echoes."""
        await self.say(data)
        got = await self.read(len(data))
        must(got == data, f"echoed {got!r}")
