"""Frames given byte by byte: every packet is what a small generator makes that steps from packet to packet.

The generator here follows the rules by which others write packets: variables step, wrap and carry, a linear congruential
generator draws, values are written at offsets, and only some checksums are computed.
"""

import struct

HEADER = bytes.fromhex("020000000002020000000001080045000064000100004011beef1000000130000001040100500050dead")
FRAME = HEADER + bytes(range(72))
PORTS = {"west": {"device": "ring:west"}, "east": {"device": "ring:east"}}


class Lcg:
    """15 bits a draw; 4 bytes take two draws, 8 take four."""

    def __init__(self, state):
        self.state = state

    def draw(self, size):
        value = 0
        for _ in range({1: 1, 2: 1, 4: 2, 8: 4}[size]):
            self.state = (self.state * 214013 + 2531011) % 2**32
            value = value << 16 | self.state >> 16 & 0x7FFF
        return value


class Counter:
    """Goes up by steps in whole steps, and says when it wraps."""

    def __init__(self, low, high, step=1, begin=None):
        self.low, self.step = low, step
        self.high = low + -(-(high - low + 1) // step) * step - 1
        self.value = low if begin is None else begin

    def advance(self):
        wraps = self.value + self.step > self.high
        self.value += self.step - (self.high - self.low + 1 if wraps else 0)
        return wraps


def total(data):
    """The Internet checksum."""
    words = sum(struct.unpack(f">{len(data + bytes(len(data) % 2)) // 2}H", data + bytes(len(data) % 2)))
    while words >> 16:
        words = (words & 0xFFFF) + (words >> 16)
    return 0xFFFF - words


def fix_ipv4(frame, at=14):
    frame[at + 10 : at + 12] = bytes(2)
    frame[at + 10 : at + 12] = struct.pack(">H", total(bytes(frame[at : at + 20])))


def fix_udp(frame, at=34, ip=14):
    frame[at + 6 : at + 8] = bytes(2)
    end = min(ip + struct.unpack_from(">H", frame, ip + 2)[0], len(frame))
    pseudo = frame[ip + 12 : ip + 20] + struct.pack(">HH", 17, end - at)
    frame[at + 6 : at + 8] = struct.pack(">H", total(bytes(pseudo + frame[at:end])) or 0xFFFF)


def packets(capture):
    """Interface (or 0), time in ns, and bytes of each packet, of either format."""
    data = capture.read_bytes()
    if data[:4] == b"\x4d\x3c\xb2\xa1":
        at = 24
        while at < len(data):
            seconds, nanos, kept, _ = struct.unpack_from("<IIII", data, at)
            yield 0, seconds * 10**9 + nanos, data[at + 16 : at + 16 + kept]
            at += 16 + kept
        return
    at = 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            interface, high, low, kept, _ = struct.unpack_from("<IIIII", data, at + 8)
            yield interface, high << 32 | low, data[at + 28 : at + 28 + kept]
        at += length


def simulated(lab, streams, *arguments, name="sent.pcap", count=500, **more):
    profile = lab.profile(PORTS, streams, **{"load": {"duration": "1s"}, **more})
    capture = lab.folder() / name
    done = lab.eagre("sim", profile, "--pcap", capture, "--packets", count, *arguments)
    assert done.ended, str(done)
    return list(packets(capture))


def raw(name="s", frame=FRAME, checksums=("ipv4@14",), **more):
    frame = {"hex": frame.hex(), "checksums": list(checksums)}
    return {"name": name, "from": "west", "to": "east", "frame": frame, "rate": "1kpps", **more}


def test_nothing_is_touched_that_was_not_asked_for(lab):
    """Wrong checksums stay wrong, short frames are padded with zeros."""
    sent = simulated(lab, [raw(checksums=(), count=3)])
    assert [packet for _, _, packet in sent] == [FRAME] * 3
    short = bytes.fromhex("ffffffffffff0200000000010806") + b"abc"
    sent = simulated(lab, [raw(frame=short, checksums=(), count=1)])
    assert sent[0][2] == short.ljust(60, b"\0")
    sent = simulated(lab, [raw(checksums=("ipv4@14", "udp@34 over 14"), count=1)])
    expected = bytearray(FRAME)
    fix_ipv4(expected)
    fix_udp(expected)
    assert sent[0][2] == expected


def test_variables_step_wrap_and_carry(lab):
    """An odometer of three, one of them little-endian and one masked, with a phase and steps that do not divide."""
    vary = {
        "$ip": {"bytes": 4, "from": "16.0.0.1", "to": "16.0.0.9", "step": 4, "begin": "16.0.0.7"},
        "$port": {"bytes": 2, "from": 1025, "to": 1027, "after": "$ip"},
        "$mark": {"bytes": 2, "from": 250, "to": 300, "after": "$port"},
        "$more": {"bytes": 2, "same_as": "$mark", "plus": 3},
        "bytes[26..30]": {"same_as": "$ip"},
        "bytes[34..36]": {"same_as": "$port", "endian": "little"},
        "bytes[18..20]": {"same_as": "$more", "shift": 4, "mask": 0x0FF0},
    }
    sent = simulated(lab, [raw(vary=vary, count=100)])
    ip, port, mark = Counter(0x10000001, 0x10000009, 4, 0x10000007), Counter(1025, 1027), Counter(250, 300)
    for _, _, packet in sent:
        expected = bytearray(FRAME)
        struct.pack_into(">I", expected, 26, ip.value)
        struct.pack_into("<H", expected, 34, port.value)
        before = struct.unpack_from(">H", expected, 18)[0]
        struct.pack_into(">H", expected, 18, before & ~0x0FF0 | (mark.value + 3) << 4 & 0x0FF0)
        fix_ipv4(expected)
        assert packet == expected
        if ip.advance() and port.advance():
            mark.advance()
    assert len(sent) == 100


def test_a_tuple_begins_again(lab):
    """Addresses, then ports; both from the beginning after so many packets."""
    vary = {
        "$ip": {"bytes": 4, "from": "16.0.0.1", "to": "16.0.0.5", "period": 17},
        "$port": {"bytes": 2, "from": 1025, "to": 65535, "after": "$ip"},
        "bytes[26..30]": {"same_as": "$ip"},
        "bytes[34..36]": {"same_as": "$port"},
    }
    sent = simulated(lab, [raw(vary=vary, checksums=("udp@34", "ipv4@14"), count=60)])
    for number, (_, _, packet) in enumerate(sent):
        expected = bytearray(FRAME)
        struct.pack_into(">I", expected, 26, 0x10000001 + number % 17 % 5)
        struct.pack_into(">H", expected, 34, 1025 + number % 17 // 5)
        fix_ipv4(expected)
        fix_udp(expected)
        assert packet == expected


def test_one_generator_draws_for_all(lab):
    """In the order of the variables; one with a seed of its own begins again, and the next carries there."""
    vary = {
        "$a": {"bytes": 4, "lcg": "16.0.0.1..16.0.0.254"},
        "$b": {"bytes": 1, "lcg": "all"},
        "$c": {"bytes": 8, "lcg": "5..18446744073709551615"},
        "$d": {"bytes": 2, "list": [7, 11, 13], "order": "lcg"},
        "$r": {"bytes": 2, "lcg": "1024..65535", "seed": 99, "limit": 6},
        "$n": {"bytes": 1, "from": 0, "to": 255, "after": "$r"},
        "bytes[30..34]": {"same_as": "$a"},
        "bytes[42]": {"same_as": "$b"},
        "bytes[43..51]": {"same_as": "$c"},
        "bytes[51..53]": {"same_as": "$d", "plus": 1},
        "bytes[34..36]": {"same_as": "$r"},
        "bytes[53]": {"same_as": "$n"},
    }
    for arguments, flows in ((), None), ((), {"count": 40}):
        more = {"flows": flows} if flows else {}
        sent = simulated(lab, [raw(vary=vary, lcg_seed=514229, count=100, **more)], *arguments)
        for number, (_, _, packet) in enumerate(sent):
            if number % (40 if flows else 1000) == 0:
                shared, own, turns = Lcg(514229), Lcg(99), 0
            expected = bytearray(FRAME)
            struct.pack_into(">I", expected, 30, 0x10000001 + shared.draw(4) % 254)
            expected[42] = shared.draw(1) % 256
            struct.pack_into(">Q", expected, 43, 5 + shared.draw(8) % (2**64 - 5))
            struct.pack_into(">H", expected, 51, [7, 11, 13][shared.draw(2) % 3] + 1)
            struct.pack_into(">H", expected, 34, 1024 + own.draw(2) % (65536 - 1024))
            expected[53] = turns // 6
            turns += 1
            if turns % 6 == 0:
                own = Lcg(99)
            fix_ipv4(expected)
            assert packet == expected, number
        assert len(sent) == 100


def test_a_length_comes_from_a_variable(lab):
    """The template is cut there, and its lengths are only what is written."""
    vary = {
        "$length": {"bytes": 2, "lcg": "60..114"},
        "bytes[16..18]": {"same_as": "$length", "plus": 65522},
    }
    size = {"same_as": "$length", "plus": 4}
    sent = simulated(lab, [raw(vary=vary, lcg_seed=1, size=size, checksums=("ipv4@14", "udp@34"), count=300)])
    lcg, lengths = Lcg(1), set()
    for _, _, packet in sent:
        length = 60 + lcg.draw(2) % 55
        expected = bytearray(FRAME[:length])
        struct.pack_into(">H", expected, 16, length - 14)
        fix_ipv4(expected)
        fix_udp(expected)
        assert packet == expected
        lengths.add(length)
    assert len(lengths) > 40


def test_the_last_write_wins(lab):
    """Bit by bit, and a checksum that is computed wins over all."""
    vary = {
        "$a": {"bytes": 4, "from": 0x01020304, "to": 0x01020310},
        "$b": {"bytes": 2, "from": 0xAABB, "to": 0xAACC},
        "bytes[42..46]": {"same_as": "$a"},
        "bytes[44..46]": {"same_as": "$b", "mask": 0xFF0F},
        "bytes[23..25]": {"same_as": "$b"},
    }
    sent = simulated(lab, [raw(vary=vary, count=13)])
    for number, (_, _, packet) in enumerate(sent):
        expected = bytearray(FRAME)
        struct.pack_into(">I", expected, 42, 0x01020304 + number)
        old, new = struct.unpack_from(">H", expected, 44)[0], 0xAABB + number
        struct.pack_into(">H", expected, 44, old & 0x00F0 | new & 0xFF0F)
        expected[23] = 0xAA
        fix_ipv4(expected)
        assert packet == expected


def named(name, source="west", **more):
    """A stream whose frames end with its name."""
    frame = bytearray(FRAME[:60])
    frame[-len(name) :] = name.encode()
    return {**raw(name, frame=bytes(frame), checksums=()), "from": source, **more}


def departures(lab, streams, *arguments, count=20, **more):
    """Last letter of each packet's name and its time since the start of traffic, µs."""
    more = {"load": {"duration": "1s", "stagger": False}, **more}
    sent = simulated(lab, streams, "--pcap-start", "traffic", *arguments, name="sent.pcapng", count=count, **more)
    return [(packet[-1:].decode(), at / 1000) for _, at, packet in sent]


def test_a_chain_has_a_beginning_and_a_circle(lab):
    """a once, then b and c in turn, until c has ended twice; each begins when the one before has sent its last packet."""
    ten = {"rate": "100kpps"}
    streams = [
        named("a", count=2, start_delay="5us", then={"stream": "b", "gap": "3us", "from": "last_packet"}, **ten),
        named("b", count=2, then={"stream": "c", "gap": "1us"}, **ten),
        named("c", count=1, then={"stream": "b", "gap": "0s", "from": "last_packet", "ends": 2}, **ten),
    ]
    expected = [("a", 5), ("a", 15), ("b", 18), ("b", 28), ("c", 39), ("b", 39), ("b", 49), ("c", 60)]
    assert departures(lab, streams) == expected


def test_the_last_stream_of_a_chain_may_be_endless(lab):
    streams = [named("a", count=1, then="b", rate="100kpps"), named("b", rate="100kpps")]
    assert departures(lab, streams, count=5) == [("a", 0), ("b", 10), ("b", 20), ("b", 30), ("b", 40)]
    again = [named("a", count=1, rate="100kpps", then={"stream": "a", "from": "last_packet", "gap": "7us", "ends": 3})]
    assert departures(lab, again) == [("a", 0), ("a", 7), ("a", 14)]


def test_both_ports_are_in_one_file_and_begin_at_once(lab):
    streams = [named("a", rate="100kpps", count=3), named("b", "east", rate="50kpps", count=2) | {"to": "west"}]
    load = {"load": {"duration": "1s", "stagger": False}}
    sent = simulated(lab, streams, "--pcap-start", "traffic", name="sent.pcapng", **load)
    seen = sorted((at, interface, packet[-1:]) for interface, at, packet in sent)
    assert seen == [(0, 0, b"a"), (0, 1, b"b"), (10_000, 0, b"a"), (20_000, 0, b"a"), (20_000, 1, b"b")]
