"""A model of what TRex's simulator sends, from its documented rules alone: streams in, packets with times out.

Slow and plain on purpose: one event after the other, nothing computed from a packet's number. The program under test does the
opposite, so both agree only if both are right.
"""

import base64
import heapq
import struct
from fractions import Fraction

MACS = {0: (b"\x10" * 6, b"\x18" * 6), 1: (b"\x20" * 6, b"\x28" * 6)}
LINK = 10_000_000_000
MASK32 = (1 << 32) - 1


class Generator:
    """The generator of random numbers: 15 bits a draw."""

    def __init__(self, seed):
        self.state = seed & MASK32

    def draw(self):
        self.state = (self.state * 214013 + 2531011) & MASK32
        return self.state >> 16 & 0x7FFF

    def value(self, size):
        if size <= 2:
            return self.draw()
        if size == 4:
            return self.draw() << 16 | self.draw()
        return self.value(4) << 32 | self.value(4)


class Counter:
    """A variable that counts in a range padded to whole steps; `step` tells whether it wrapped."""

    def __init__(self, low, high, step, first, down=False):
        pad = -(high - low + 1) % step
        self.low, self.high = (low - pad, high) if down else (low, high + pad)
        self.by, self.value, self.down = step, first, down

    def step(self):
        if self.down:
            room = self.value - self.low
            wraps = room < self.by
            self.value = self.high - (self.by - room - 1) if wraps else self.value - self.by
        else:
            room = self.high - self.value
            wraps = room < self.by
            self.value = self.low + (self.by - room - 1) if wraps else self.value + self.by
        return wraps


class Listed:
    """A variable that goes through a list."""

    def __init__(self, values, down):
        self.values, self.index = values, Counter(0, len(values) - 1, 1, len(values) - 1 if down else 0, down)

    @property
    def value(self):
        return self.values[self.index.value]

    def step(self):
        return self.index.step()


class Repeatable:
    """A variable that is drawn and begins again after `limit` values."""

    def __init__(self, name, size, limit, seed, low, high):
        self.size, self.limit, self.seed, self.low, self.span = size, limit, seed, low, high - low + 1
        self.restart()

    def restart(self):
        self.generator, self.count = Generator(self.seed), 0
        self.draw()

    def draw(self):
        self.value = self.low + self.generator.value(self.size) % self.span

    def step(self):
        self.count += 1
        if self.count == self.limit:
            self.restart()
            return True
        self.draw()
        return False


class Variables:
    """All variables of a stream, and the values they have for the next packet."""

    def __init__(self, instructions, seed):
        self.generator = Generator(seed * 514229)
        self.sizes, self.random, self.vars, self.tuples = {}, [], {}, []
        self.after, self.order, self.pending = {}, [], []
        for item in instructions:
            kind = item["type"]
            if kind == "tuple_flow_var":
                self.tuples.append(Tuple(item))
                self.sizes |= {f"{item['name']}.ip": 4, f"{item['name']}.port": 2}
            elif kind in ("flow_var", "flow_var_rand_limit"):
                self.add(item)

    def add(self, item):
        name, size = item["name"], item["size"]
        self.sizes[name] = size
        if "next_var" in item:
            self.after[item["next_var"]] = name
        if item["type"] == "flow_var_rand_limit":
            self.vars[name] = Repeatable(name, size, item["limit"], item["seed"], item["min_value"], item["max_value"])
        elif item["op"] == "random":
            values = item.get("value_list")
            low, high = (0, len(values) - 1) if values else (item["min_value"], item["max_value"])
            self.random.append((name, size, low, high - low + 1, values))
        elif "value_list" in item:
            self.vars[name] = Listed(item["value_list"], item["op"] == "dec")
        else:
            bounds = (item["min_value"], item["max_value"], item["step"], item["init_value"])
            self.vars[name] = Counter(*bounds, down=item["op"] == "dec")

    def values(self):
        """Values of this packet; then all go on."""
        out = {name: variable.value for name, variable in self.vars.items()}
        for name, size, low, span, listed in self.random:
            drawn = low + self.generator.value(size) % span
            out[name] = listed[drawn] if listed else drawn
        for pair in self.tuples:
            out |= pair.values()
        for name, variable in self.vars.items():
            if name not in self.after:
                self.advance(name, variable)
        return out

    def advance(self, name, variable):
        if variable.step():
            for later, before in self.after.items():
                if before == name and later in self.vars:
                    self.advance(later, self.vars[later])


class Tuple:
    """Pairs of an address and a port."""

    def __init__(self, item):
        self.item, self.count = item, 0
        self.restart()

    def restart(self):
        self.ip, self.port, self.count = self.item["ip_min"], self.item["port_min"], 0

    def values(self):
        item = self.item
        out = {f"{item['name']}.ip": self.ip, f"{item['name']}.port": self.port}
        self.count += 1
        if self.count == item["limit_flows"]:
            self.restart()
            return out
        self.ip += 1
        if self.ip > item["ip_max"]:
            self.ip = item["ip_min"]
            if not item["flags"] & 1:
                self.port = self.port + 1 if self.port < item["port_max"] else item["port_min"]
        return out


def ones(data, start=0):
    """Sum of a packet's words."""
    if len(data) % 2:
        data += b"\0"
    total = start + sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def fix_ipv4(frame, at):
    length = (frame[at] & 15) * 4
    frame[at + 10 : at + 12] = b"\0\0"
    frame[at + 10 : at + 12] = struct.pack(">H", 0xFFFF ^ ones(bytes(frame[at : at + length])))


def pseudo(frame, at, protocol, length):
    ends = frame[at + 12 : at + 20] if frame[at] >> 4 == 4 else frame[at + 8 : at + 40]
    return ones(bytes(ends) + struct.pack(">II", protocol, length))


class Program:
    """What a stream writes into its packets."""

    def __init__(self, stream, template):
        vm = stream.get("vm") or {}
        self.instructions = vm.get("instructions", [])
        self.template, self.cache, self.made = template, vm.get("cache") or 0, []
        self.variables = Variables(self.instructions, stream.get("random_seed", 0))

    def frame(self, number):
        if self.cache:
            if number < self.cache:
                self.made.append(self.build())
            return self.made[number % self.cache]
        return self.build()

    def build(self):
        frame = bytearray(self.template)
        if not self.instructions:
            return bytes(frame)
        values = self.variables.values()
        length = len(frame)
        for item in self.instructions:
            name, at = item.get("name"), item.get("pkt_offset", 0)
            if item["type"] == "write_flow_var":
                size = self.variables.sizes[name]
                value = values[name] + item.get("add_value", 0) & (1 << 8 * size) - 1
                frame[at : at + size] = value.to_bytes(size, "big" if item["is_big_endian"] else "little")
            elif item["type"] == "write_mask_flow_var":
                size, shift = item["pkt_cast_size"], item["shift"]
                order = "big" if item["is_big_endian"] else "little"
                value = values[name] + item.get("add_value", 0) & MASK32
                value = value << shift if shift >= 0 else value >> -shift
                mask = item["mask"] & (1 << 8 * size) - 1
                old = int.from_bytes(frame[at : at + size], order)
                frame[at : at + size] = (old & ~mask | value & mask).to_bytes(size, order)
            elif item["type"] == "trim_pkt_size":
                length = values[name]
            elif item["type"] == "fix_checksum_ipv4":
                fix_ipv4(frame, at)
            elif item["type"] == "fix_checksum_hw":
                self.fix_hw(frame, item)
            elif item["type"] == "fix_checksum_icmpv6":
                l3, l4 = item["l2_len"], item["l2_len"] + item["l3_len"]
                frame[l4 + 2 : l4 + 4] = b"\0\0"
                rest = bytes(frame[l4:length])
                frame[l4 + 2 : l4 + 4] = struct.pack(">H", 0xFFFF ^ ones(rest, pseudo(frame, l3, 58, len(rest))))
        return bytes(frame[:length])

    def fix_hw(self, frame, item):
        """Sums as a card completes them."""
        l3, l4 = item["l2_len"], item["l2_len"] + item["l3_len"]
        if frame[l3] >> 4 == 4:
            fix_ipv4(frame, l3)
            length = struct.unpack_from(">H", frame, l3 + 2)[0] - item["l3_len"]
        else:
            length = struct.unpack_from(">H", frame, l3 + 4)[0] + 40 - item["l3_len"]
        at, protocol = {11: (6, 17), 13: (16, 6)}.get(item["l4_type"], (None, None))
        if at is None:
            return
        frame[l4 + at : l4 + at + 2] = b"\0\0"
        total = 0xFFFF ^ ones(bytes(frame[l4 : l4 + length]), pseudo(frame, l3, protocol, length))
        frame[l4 + at : l4 + at + 2] = struct.pack(">H", total or (0xFFFF if protocol == 17 else 0))


def mark(frame, number):
    """The mark by which a group is counted: IPv4 identification or IPv6 flow label, and a bit of the service byte."""
    at = 14
    while frame[at - 2 : at] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    if frame[at - 2 : at] == b"\x08\x00":
        frame[at + 1] |= 1
        frame[at + 4 : at + 6] = struct.pack(">H", number)
        fix_ipv4(frame, at)
    elif frame[at - 2 : at] == b"\x86\xdd":
        frame[at + 1] |= 0x10
        frame[at + 2 : at + 4] = struct.pack(">H", number)


class Stream:
    """A stream at work."""

    def __init__(self, document, port, number, mult, groups):
        inner = document["stream"]
        self.name, self.next, self.number = document.get("name"), document.get("next"), number
        self.self_start, self.isg = inner.get("self_start", True), Fraction(inner.get("isg", 0)) / 1_000_000
        self.limit = self.left = inner.get("action_count", 0)
        self.dummy = inner.get("dummy_stream", False)
        self.port, self.sent, self.is_sending, self.is_gone = port, 0, False, False
        template = bytearray(base64.b64decode(inner["packet"]["binary"]))
        if not inner.get("flags", 0) >> 1 & 3:
            template[0:6] = MACS[port][0]
        if not inner.get("flags", 0) & 1:
            template[6:12] = MACS[port][1]
        template += b"\0" * (60 - len(template))
        stats = inner.get("flow_stats") or {}
        if stats.get("enabled"):
            latency = stats.get("rule_type") == "latency"
            mark(template, 0xFFFF if latency else 0xFF00 + groups.setdefault(stats["stream_id"], len(groups)))
        self.program = Program(inner, bytes(template))
        length = Fraction(len(template))
        for item in (inner.get("vm") or {}).get("instructions", []):
            if item["type"] == "trim_pkt_size":
                (var,) = (v for v in inner["vm"]["instructions"] if "op" in v and v["name"] == item["name"])
                ends = var.get("value_list") or (var["min_value"], var["max_value"])
                length = Fraction(min(ends) + max(ends), 2)
        mode, rate = inner["mode"], inner["mode"]["rate"]
        bits = {"bps_L2": (length + 4) * 8, "bps_L1": (length + 24) * 8}
        value = Fraction(rate["value"])
        if rate["type"] == "percentage":
            value = value / 100 * LINK / bits["bps_L1"]
        elif rate["type"] != "pps":
            value /= bits[rate["type"]]
        latency = (inner.get("flow_stats") or {}).get("rule_type") == "latency" and inner["flow_stats"].get("enabled")
        self.gap = 1 / (value if latency else value * mult)
        self.ibg, self.burst, self.bursts = Fraction(0), None, 1
        if mode["type"] == "single_burst":
            self.burst = mode["total_pkts"]
        elif mode["type"] == "multi_burst":
            self.burst, self.bursts = mode["pkts_per_burst"], mode["count"]
            self.ibg = Fraction(mode.get("ibg", 0)) / 1_000_000

    def begin(self):
        self.is_sending, self.in_burst, self.burst_number = True, 0, 0

    def packet(self):
        """This packet's bytes, and how long until the next of this stream; None at its end."""
        frame = None if self.dummy else self.program.frame(self.sent)
        self.sent += 1
        self.in_burst += 1
        if self.burst is None or self.in_burst < self.burst:
            return frame, self.gap
        self.in_burst, self.burst_number = 0, self.burst_number + 1
        return frame, self.ibg if self.burst_number < self.bursts else None


def packets(documents, port=0, limit=None, duration=None, mult=1):
    """Packets of a port's streams: time in seconds (exact) and bytes, as they leave."""
    enabled = [item for item in documents if item["stream"].get("enabled", True)]
    groups = {}
    streams = [Stream(item, port, number, Fraction(mult), groups) for number, item in enumerate(enabled)]
    names = {stream.name: stream for stream in streams if stream.name is not None}
    due = []
    for stream in streams:
        if stream.self_start:
            stream.begin()
            heapq.heappush(due, (stream.isg, stream.number, stream))
    count = 0
    while due and (limit is None or count < limit):
        now, _, stream = heapq.heappop(due)
        if duration is not None and now >= duration:
            return
        frame, gap = stream.packet()
        count += 1
        if frame is not None:
            yield now, frame
        if gap is not None:
            heapq.heappush(due, (now + gap, stream.number, stream))
            continue
        stream.is_sending = False
        if stream.next is None:
            continue
        if stream.limit:
            stream.left -= 1
            if stream.left == 0:
                continue
        follower = names[stream.next]
        if not follower.is_sending:
            follower.begin()
            heapq.heappush(due, (now + follower.isg, follower.number, follower))


def read_pcap(path):
    """Times in µs and bytes of a pcap file."""
    data = open(path, "rb").read()
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    nano = data[:4] in (b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d")
    at, out = 24, []
    while at < len(data):
        sec, sub, length, _ = struct.unpack_from(order + "IIII", data, at)
        out.append((sec * 1_000_000 + (sub // 1000 if nano else sub), data[at + 16 : at + 16 + length]))
        at += 16 + length
    return out
