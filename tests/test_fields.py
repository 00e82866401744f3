"""Varying fields: every packet has the profile's values, and right lengths and checksums.

A separate parser reads the captures, independent of the program's and tshark's idea of a field.
"""

import itertools
from collections import Counter

import pytest
from capture import check, layers, number, records

MAC = {"ethernet": {"dst": "02:00:00:00:00:07", "src": "02:00:00:00:00:08"}}
IP = {"ipv4": {"src": "10.0.0.1", "dst": "10.0.0.2"}}
UDP4 = [MAC, IP, {"udp": {"src": 1000, "dst": 2000}}]
SRC, DST, SPORT, DPORT = (26, 4), (30, 4), (34, 2), (36, 2)
TEN = 10 << 24


def run(lab, stream, *arguments, seed=1, files=(), expect=None):
    """Frames that a stream sends in virtual time, with their times."""
    one = {"name": "s", "from": "west", "packet": UDP4, "rate": "100kpps", "size": "64B", "measure": False, **stream}
    ports = {"west": {"device": "ring:a"}}
    profile = lab.profile(ports, [one], load={"duration": "10s", "drain": "1ms"})
    for name, text in files:
        (profile.parent / name).write_text(text)
    capture = profile.parent / "sent.pcap"
    done = lab.eagre("sim", profile, "--pcap", capture, "--seed", seed, "--json", "-", *arguments)
    if expect:
        return done.refused(*expect)
    done.ok()
    return records(capture)


def frames(lab, vary, count, *arguments, **rest):
    """The frames alone, each checked."""
    options = {key: rest.pop(key) for key in ("seed", "files") if key in rest}
    found = [frame for _, frame in run(lab, {"vary": vary, "count": count, **rest}, *arguments, **options)]
    assert len(found) == count * rest.get("copies", 1)
    for frame in found:
        assert check(frame) > 0
    return found


def values(found, *places):
    """Numbers at places of the frames; tuples if there is more than one place."""
    columns = [[number(frame, *place) for frame in found] for place in places]
    return columns[0] if len(columns) == 1 else list(zip(*columns))


RANGES = {
    "up": ("udp.dst", "100..104", DPORT, lambda i: 100 + i % 5),
    "down": ("udp.dst", "104..100", DPORT, lambda i: 104 - i % 5),
    "up by steps": ("udp.dst", "0..100 step 30", DPORT, lambda i: i % 4 * 30),
    "down by steps": ("udp.dst", {"from": 100, "to": 0, "step": 30}, DPORT, lambda i: 100 - i % 4 * 30),
    "across the largest value": ("udp.dst", {"from": 65530, "count": 20}, DPORT, lambda i: (65530 + i % 20) % 65536),
    "steps across": (
        "udp.src", {"from": 65000, "count": 7, "step": 500}, SPORT, lambda i: (65000 + i % 7 * 500) % 65536,
    ),
    "addresses": ("ipv4.dst", "10.0.0.250..10.0.1.5", DST, lambda i: TEN + 250 + i % 12),
    "a step of an address": (
        "ipv4.src", {"from": "10.0.0.1", "count": 40, "step": 65536}, SRC, lambda i: TEN + 1 + (i % 40 << 16),
    ),
    "one value": ("udp.dst", "7..7", DPORT, lambda i: 7),
    "counter": ("ipv4.dscp", "counter", (15, 1), lambda i: i % 64 << 2),
    "list": ("udp.dst", [5, 3, 3, 9], DPORT, lambda i: (5, 3, 3, 9)[i % 4]),
    "every": ("udp.dst", {"from": 1, "to": 4, "every": 7}, DPORT, lambda i: 1 + i // 7 % 4),
    "list with every": ("udp.dst", {"list": [8, 6], "every": 3}, DPORT, lambda i: (8, 6)[i // 3 % 2]),
    "bytes": ("bytes[42..44]", {"from": 1000, "count": 60}, (42, 2), lambda i: 1000 + i % 60),
    "payload": ("payload[0..4]", {"from": 0xFFFFFFFE, "count": 9}, (42, 4), lambda i: (0xFFFFFFFE + i % 9) % 2**32),
    "payload across an odd offset": ("payload[3..6]", "1..77", (45, 3), lambda i: 1 + i % 77),
    "bits": ("bits[336..340]", "1..14", (42, 1), lambda i: 1 + i % 14 << 4),
    "bits across bytes": ("bits[341..347]", "counter", (42, 2), lambda i: i % 64 << 5),
    "one byte": ("bytes[50]", "counter", (50, 1), lambda i: i % 256),
    "hardware addresses": (
        "ethernet.src", {"from": "02:00:00:00:ff:fe", "count": 50}, (6, 6), lambda i: 0x02000000FFFE + i % 50,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RANGES)
def test_values_come_in_turn(lab, name):
    field, generator, place, expected = RANGES[name]
    found = values(frames(lab, {field: generator}, 300), place)
    assert found == [expected(i) for i in range(300)]


def test_ipv6_addresses_go_up(lab):
    packet = [MAC, {"ipv6": {"src": "2001:2::1", "dst": "2001:2::2"}}, "udp"]
    vary = {"ipv6.dst": {"from": "2001:2::ffff:ffff:ffff:fffe", "count": 100}}
    found = values(frames(lab, vary, 100, packet=packet, size="128B"), (38, 16))
    first = (0x20010002 << 96) + (1 << 64) - 2
    assert found == [first + i for i in range(100)]


def test_a_file_lists_values(lab):
    text = "10.1.2.3\n\n  # a comment\n10.1.2.4 # another\r\n10.9.9.9"
    found = values(frames(lab, {"ipv4.dst": {"file": "list.txt"}}, 9, files=[("list.txt", text)]), DST)
    assert found == [TEN + 0x10203, TEN + 0x10204, TEN + 0x90909] * 3


def test_a_bad_file_is_an_error_with_its_line(lab):
    stream = {"vary": {"ipv4.dst": {"file": "list.txt"}}, "count": 1}
    run(lab, stream, files=[("list.txt", "10.0.0.1\n10.0.0.256\n")], expect=(2, "line 2", "10.0.0.256"))
    run(lab, stream, files=[("list.txt", "# nothing\n")], expect=(2, "list.txt"))
    run(lab, stream, expect=(2, "list.txt"))


def test_fields_advance_together(lab):
    vary = {"udp.src": "0..2", "udp.dst": "0..3", "ipv4.ttl": [9, 8]}
    found = values(frames(lab, vary, 48), SPORT, DPORT, (22, 1))
    assert found == [(i % 3, i % 4, (9, 8)[i % 2]) for i in range(48)]


def test_after_goes_through_all_pairs(lab):
    """An odometer of three wheels: the one given first turns fastest."""
    vary = {
        "udp.src": "0..2",
        "udp.dst": {"list": [40, 30, 20, 10], "after": "udp.src"},
        "ipv4.dst": {"from": "10.0.0.1", "count": 5, "after": "udp.dst"},
    }
    found = values(frames(lab, vary, 120), SPORT, DPORT, DST)
    turns = itertools.product(range(5), (40, 30, 20, 10), range(3))
    assert found[:60] == [(fast, middle, TEN + 1 + slow) for slow, middle, fast in turns]
    assert len(set(found[:60])) == 60 and found[60:] == found[:60]


def test_after_and_every_together(lab):
    """A wheel that keeps its value for two rounds of the one before; that one for three packets."""
    vary = {"udp.src": {"from": 0, "to": 3, "every": 3}, "udp.dst": {"from": 0, "to": 4, "after": "udp.src", "every": 2}}
    found = values(frames(lab, vary, 240), SPORT, DPORT)
    assert found == [(i // 3 % 4, i // 24 % 5) for i in range(240)]


def test_random_is_within_its_bounds_and_reaches_them(lab):
    found = values(frames(lab, {"udp.dst": {"random": "1000..1009"}}, 2000), DPORT)
    counts = Counter(found)
    assert sorted(counts) == list(range(1000, 1010))
    # Mean 200, standard deviation 13.4.
    assert all(120 < count < 280 for count in counts.values()), counts
    pairs = Counter(zip(found, found[1:]))
    assert len(pairs) == 100, "values depend on those before them"


@pytest.mark.parametrize("field, place", [("ipv4.src", SRC), ("udp.src", SPORT), ("payload[0..16]", (42, 16))])
def test_random_varies_every_bit(lab, field, place):
    found = values(frames(lab, {field: "random"}, 2000), place)
    for bit in range(8 * place[1]):
        ones = sum(value >> bit & 1 for value in found)
        assert 850 < ones < 1150, f"bit {bit}: {ones} of 2000"
        changes = sum((a ^ b) >> bit & 1 for a, b in zip(found, found[1:]))
        assert 850 < changes < 1150, f"bit {bit} changes {changes} times"


def test_random_fields_are_independent(lab):
    found = values(frames(lab, {"udp.src": {"random": "0..9"}, "udp.dst": {"random": "0..9"}}, 3000), SPORT, DPORT)
    counts = Counter(found)
    assert len(counts) == 100 and max(counts.values()) < 70, counts


def test_distinct_draws_from_so_many_values(lab):
    vary = {"udp.dst": {"random": "0..59999", "distinct": 10}}
    found = values(frames(lab, vary, 1000), DPORT)
    counts = Counter(found)
    assert sorted(value // 6000 for value in counts) == list(range(10)), "one of each tenth"
    assert all(50 < count < 160 for count in counts.values()), counts
    assert set(values(frames(lab, vary, 1000, seed=2), DPORT)) != set(counts)


def test_weights_are_kept(lab):
    found = values(frames(lab, {"udp.dst": {"weights": {"53": 70, "80": 25, "443": 5}}}, 8000), DPORT)
    shares = {value: count / 8000 for value, count in Counter(found).items()}
    # Four standard deviations of 8,000 draws.
    assert set(shares) == {53, 80, 443}
    assert abs(shares[53] - 0.70) < 0.021 and abs(shares[80] - 0.25) < 0.020 and abs(shares[443] - 0.05) < 0.010


def test_a_list_at_random(lab):
    found = values(frames(lab, {"udp.dst": {"list": [1, 2, 3, 4], "order": "random"}}, 2000), DPORT)
    counts = Counter(found)
    assert sorted(counts) == [1, 2, 3, 4] and all(400 < count < 600 for count in counts.values())
    assert found != sorted(found) and len(set(zip(found, found[1:]))) == 16


RANDOMS = {
    "random": {"udp.dst": "random"},
    "distinct": {"udp.dst": {"random": "all", "distinct": 100}},
    "list": {"udp.dst": {"list": list(range(50)), "order": "random"}},
    "weights": {"udp.dst": {"weights": {str(i): 1 + i % 3 for i in range(50)}}},
}


@pytest.mark.parametrize("name", RANDOMS)
def test_the_seed_decides(lab, name):
    """The same seed, the same packets; another one's differ; a field's own seed overrides the profile's."""
    first, again, other = (frames(lab, RANDOMS[name], 500, seed=seed) for seed in (1, 1, 2))
    assert first == again and first != other
    same = sum(a == b for a, b in zip(first, other))
    assert same < 60, f"{same} of 500 packets are equal with another seed"
    own = {field: {**(generator if isinstance(generator, dict) else {"random": "all"}), "seed": 77} for field, generator in RANDOMS[name].items()}  # fmt: skip
    assert frames(lab, own, 500, seed=1) == frames(lab, own, 500, seed=2) != first


def test_a_value_follows_from_another(lab):
    vary = {
        "ipv4.src": {"random": "10.0.0.0..10.255.255.255"},
        "ipv4.dst": {"same_as": "ipv4.src", "plus": 1},
        "udp.src": {"same_as": "ipv4.src", "plus": 7},
        "udp.dst": {"same_as": "ipv4.src", "shift": 3, "plus": 65535},
        "payload[0..2]": {"same_as": "ipv4.src"},
    }
    for source, target, sport, dport, payload in values(frames(lab, vary, 500), SRC, DST, SPORT, DPORT, (42, 2)):
        assert target == (source + 1) % 2**32
        assert sport == (source + 7) % 2**16
        assert dport == ((source << 3) + 65535) % 2**16
        assert payload == source % 2**16


def test_a_value_follows_from_another_shifted_right(lab):
    vary = {"ipv4.src": {"random": "all"}, "udp.src": {"same_as": "ipv4.src", "shift": -16}}
    assert all(port == source >> 16 for source, port in values(frames(lab, vary, 100), SRC, SPORT))


@pytest.mark.parametrize("field", ["payload[40..44]", "bytes[82..86]", "bits[656..688]"])
def test_raw_places_may_be_as_far_as_the_frames_are_long(lab, field):
    found = values(frames(lab, {field: {"from": 5, "count": 1000}}, 100, size=["128B", "500B"]), (82, 4))
    assert found == [5 + i for i in range(100)]


def test_a_place_beyond_the_shortest_frame_is_refused(lab):
    run(lab, {"vary": {"bytes[82..86]": "counter"}, "count": 1, "size": ["64B", "500B"]}, expect=(2, "bytes[82..86]"))


def test_a_mask_keeps_the_other_bits(lab):
    vary = {"ipv4.dst": {"random": "all", "mask": "0.255.0.255"}, "udp.dst": {"from": 0, "count": 300, "mask": 240}}
    found = values(frames(lab, vary, 300), DST, DPORT)
    assert all(target & 0xFF00FF00 == TEN for target, _ in found)
    assert len({target for target, _ in found}) > 290
    assert [port for _, port in found] == [2000 & ~240 | i & 240 for i in range(300)]


def test_the_second_tag_varies(lab):
    packet = [MAC, {"vlan": {"id": 100}}, {"vlan": {"id": 200, "pcp": 5}}, IP, "udp"]
    found = values(frames(lab, {"vlan[1].id": "1..4094", "vlan.id": [7, 8]}, 5000, packet=packet), (14, 2), (18, 2))
    assert found == [(7 + i % 2, 5 << 13 | 1 + i % 4094) for i in range(5000)]


def test_fields_of_the_inner_packet_vary(lab):
    inner = [{"ethernet": {"src": "02:00:00:00:01:01", "dst": "02:00:00:00:01:02"}}, {"ipv4": {"src": "192.168.0.1", "dst": "192.168.0.2"}}, {"udp": {"dst": 9}}]  # fmt: skip
    packet = [MAC, IP, {"udp": {"dst": 4789}}, "vxlan", *inner]
    vary = {"vxlan.inner.ipv4.dst": "192.168.0.1..192.168.255.254", "ipv4.src": "random", "vxlan.vni": "1..999"}
    found = frames(lab, vary, 1500, packet=packet, size="128B")
    for index, frame in enumerate(found):
        names = [name for name, _, _ in layers(frame)]
        assert names == ["ethernet", "ipv4", "udp", "ethernet", "ipv4", "udp"]
        assert number(frame, 50 + 30, 4) == 0xC0A80001 + index
        assert number(frame, 46, 3) == 1 + index % 999
    assert len({number(frame, *SRC) for frame in found}) > 1490


CHECKSUMS = {
    "udp4": ([IP, "udp"], {"ipv4.src": "random", "ipv4.id": "random", "udp.src": "random", "payload[1..8]": "random"}),
    "tcp4": ([IP, "tcp"], {"ipv4.dst": "random", "ipv4.ttl": "random", "tcp.seq": "random", "tcp.flags": "random"}),
    "icmp": ([IP, "icmp"], {"ipv4.dscp": "random", "icmp.id": "random", "icmp.seq": "counter"}),
    "udp6": (
        [{"ipv6": {"src": "2001:2::1", "dst": "2001:2::2"}}, "udp"],
        {"ipv6.src": "random", "udp.dst": "random"},
    ),
    "tcp6": (
        [{"ipv6": {"src": "2001:2::1", "dst": "2001:2::2"}}, "tcp"],
        {"ipv6.dst": "random", "ipv6.flow_label": "random", "tcp.ack": "random"},
    ),
    "icmpv6": (
        [{"ipv6": {"src": "2001:2::1", "dst": "2001:2::2"}}, "icmpv6"],
        {"ipv6.src": "random", "icmpv6.seq": "random"},
    ),
}


@pytest.mark.parametrize("size", ["128B", "imix", "random 100B..300B"])
@pytest.mark.parametrize("name", CHECKSUMS)
def test_checksums_are_right_in_every_packet(lab, name, size):
    packet, vary = CHECKSUMS[name]
    found = frames(lab, vary, 1000, packet=[MAC, *packet], size=size)
    assert all(check(frame) == (1 if name.endswith("6") else 2) for frame in found)
    assert len(set(found)) > 990


def test_checksums_are_right_with_the_signature(lab):
    """It changes with every packet, too."""
    vary = {"ipv4.src": "random", "udp.src": "random"}
    found = frames(lab, vary, 2000, measure=True, size="random 64B..200B")
    assert len(set(found)) == 2000


def test_a_udp_checksum_is_never_zero(lab):
    """Where it would be, it is all ones (RFC 768): zero means that there is none."""
    found = frames(lab, {"udp.src": "counter"}, 65536, rate="1Mpps")
    sums = Counter(values(found, (40, 2)))
    assert sums[0] == 0 and sums[0xFFFF] >= 1 and len(sums) == 65535


def test_a_wrong_checksum_stays(lab):
    packet = [MAC, {"ipv4": {"src": "10.0.0.1", "dst": "10.0.0.2", "checksum": "0x1234"}}, {"udp": {"checksum": 1}}]
    found = [frame for _, frame in run(lab, {"packet": packet, "vary": {"ipv4.dst": "random"}, "count": 100})]
    assert values(found, (24, 2), (40, 2)) == [(0x1234, 1)] * 100 and len(set(found)) == 100


def test_flows_in_turn(lab):
    """Five packets of a flow, then five of the next, which is new."""
    vary = {"udp.src": "0..65535", "ipv4.src": "random"}
    found = values(frames(lab, vary, 400, flows={"count": 3, "length": 5}), SPORT, SRC)
    assert [port for port, _ in found] == [i // 5 for i in range(400)]
    assert all(len({source for _, source in found[i : i + 5]}) == 1 for i in range(0, 400, 5))
    assert len({source for _, source in found}) == 80


def test_flows_that_last(lab):
    vary = {"udp.src": "0..65535", "ipv4.src": "random"}
    found = values(frames(lab, vary, 400, flows={"count": 7}), SPORT, SRC)
    assert [port for port, _ in found] == [i % 7 for i in range(400)]
    assert len(set(found)) == 7


def test_flows_at_random(lab):
    """A number of flows at a time; after count times length packets all of them are new."""
    found = values(frames(lab, {"udp.src": "0..65535"}, 1000, flows={"count": 10, "length": 20, "order": "random"}), SPORT)
    for block in range(5):
        seen = Counter(found[200 * block : 200 * block + 200])
        assert sorted(seen) == list(range(10 * block, 10 * block + 10)), seen
        assert max(seen.values()) < 45
    assert found != sorted(found)


def test_copies_differ_in_the_fields_named(lab):
    per_copy = {"ipv4.dst": "10.7.0.0..10.7.0.9", "udp.dst": {"list": [5, 6]}, "ipv4.src": "random"}
    found = values(frames(lab, {"udp.src": "0..49"}, 50, copies=10, per_copy=per_copy), DST, DPORT, SRC, SPORT)
    of_copy = {}
    for target, port, source, counter in found:
        copy = target - TEN - 0x70000
        assert port == (5, 6)[copy % 2]
        of_copy.setdefault((copy, source), []).append(counter)
    assert sorted(copy for copy, _ in of_copy) == list(range(10))
    assert all(counters == list(range(50)) for counters in of_copy.values())


def test_copies_take_all_pairs_or_follow_from_each_other(lab):
    per_copy = {"udp.src": "1..2", "udp.dst": {"from": 1, "to": 3, "after": "udp.src"}, "ipv4.ttl": {"same_as": "udp.src", "plus": 9}}  # fmt: skip
    found = values(frames(lab, {}, 1, copies=6, per_copy=per_copy), SPORT, DPORT, (22, 1))
    assert sorted(found) == [(a, b, a + 9) for a in (1, 2) for b in (1, 2, 3)]


def test_a_mask_of_copies_keeps_the_other_bits(lab):
    found = values(frames(lab, {}, 1, copies=3, per_copy={"udp.dst": {"from": 0, "to": 15, "mask": 15}}), DPORT)
    assert found == [2000, 2001, 2002]


REFUSED = {
    "after what never goes round": ({"udp.src": "random", "udp.dst": {"list": [1, 2], "after": "udp.src"}}, "never goes round"),
    "after what comes later": ({"udp.src": {"list": [1, 2], "after": "udp.dst"}, "udp.dst": "0..3"}, "udp.dst"),
    "two writers of the same bits": ({"udp.dst": "counter", "bytes[37]": [7]}, "'udp.dst' writes too"),
    "a value too large": ({"udp.dst": "0..65536"}, "65536"),
    "a list's value that is none": ({"ipv4.dst": ["10.0.0.1", "10.0.0"]}, "10.0.0"),
    "a random range upside down": ({"udp.dst": {"random": "9..1"}}, "9..1"),
    "two sources": ({"udp.dst": {"random": "all", "list": [1]}}, "one source of values"),
    "a key of another kind": ({"udp.dst": {"random": "all", "step": 3}}, "'step' goes with 'from'"),
    "a step of nothing": ({"udp.dst": {"from": 1, "to": 9, "step": 0}}, "step"),
    "no end": ({"udp.dst": {"from": 1}}, "'to'"),
    "no such field": ({"udp.dest": "counter"}, "udp has no field 'dest'"),
    "no such header": ({"vlan[1].id": "counter"}, "vlan"),
    "more than 128 bits": ({"bytes[0..17]": "counter"}, "136 bits"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_makes_no_sense_is_refused(lab, name):
    vary, words = REFUSED[name]
    run(lab, {"vary": vary, "count": 1}, expect=(2, "line ", words))


@pytest.mark.parametrize("name", ["ranges", "random", "lists", "random flows", "imix"])
def test_a_live_run_sends_what_a_simulated_one_does(lab, name):
    vary, rest = CORES[name]
    stream = {"vary": vary, "count": 3000, **rest}
    simulated = [frame for _, frame in run(lab, stream)]
    live = lab.folder() / "live.pcap"
    one = {"name": "s", "from": "west", "packet": UDP4, "rate": "max", "size": "64B", "measure": False, **stream}
    ports = {"west": {"device": f"pcap:,{live}"}}
    lab.eagre("run", lab.profile(ports, [one], load={"duration": "10s", "drain": "1ms"}), "--seed", 1).ok()
    assert [frame for _, frame in records(live)] == simulated


def test_imix_is_exact_in_every_twelve_packets(lab):
    found = [len(frame) for frame in frames(lab, {}, 1200, size="imix")]
    for begin in range(len(found) - 11):
        assert Counter(found[begin : begin + 12]) == {60: 7, 590: 4, 1514: 1}, begin


SIZES = {
    "64B..1518B step 100B": [*range(60, 1515, 100)],
    "100B..105B": [96, 97, 98, 99, 100, 101],
    "genome abceg": [60, 124, 252, 1020, 1514],
    "genome aaAg A=200B": [60, 60, 196, 1514],
    "genome agz z=1400B": [60, 1514, 1396],
}


@pytest.mark.parametrize("size", [*SIZES, ["512B", "64B", "64B"]], ids=str)
def test_lengths_come_in_turn(lab, size):
    expected = SIZES[size] if isinstance(size, str) else [508, 60, 60]
    found = frames(lab, {"udp.src": "counter"}, 100, size=size)
    assert [len(frame) for frame in found] == [expected[i % len(expected)] for i in range(100)]
    assert values(found, SPORT) == list(range(100))


def test_lengths_at_random(lab):
    found = Counter(len(frame) for frame in frames(lab, {}, 4000, size="random 64B..103B"))
    assert sorted(found) == list(range(60, 100)) and all(50 < count < 160 for count in found.values()), found
    whole = [len(frame) for frame in frames(lab, {}, 3000, size="random")]
    assert min(whole) < 70 and max(whole) > 1500 and abs(sum(whole) / 3000 - 787) < 35


def test_lengths_with_weights(lab):
    """Evenly mixed: each as often as its weight in every round of the weights' sum."""
    found = [len(frame) for frame in frames(lab, {}, 500, size={"64B": 5, "200B": 3, "1000B": 2})]
    for begin in range(0, 500, 10):
        assert Counter(found[begin : begin + 10]) == {60: 5, 196: 3, 996: 2}


def test_a_mix_at_random_has_its_proportions(lab):
    found = [len(frame) for frame in frames(lab, {}, 6000, size="imix random")]
    counts = Counter(found)
    assert abs(counts[60] - 3500) < 160 and abs(counts[590] - 2000) < 150 and abs(counts[1514] - 500) < 90
    assert len({tuple(found[i : i + 12]) for i in range(0, 6000, 12)}) > 400, "not at random"


CORES = {
    "ranges": ({"udp.src": "0..2", "udp.dst": {"from": 0, "count": 7, "after": "udp.src"}}, {}),
    "random": ({"ipv4.src": "random", "payload[0..8]": "random"}, {"size": "random 64B..200B"}),
    "lists": ({"udp.dst": {"weights": {"1": 2, "2": 3}}, "udp.src": {"list": [4, 5, 6], "order": "random"}}, {}),
    "flows": ({"udp.src": "0..65535", "ipv4.dst": {"random": "all"}}, {"flows": {"count": 9, "length": 11}}),
    "random flows": ({"udp.src": "0..65535"}, {"flows": {"count": 9, "length": 11, "order": "random"}}),
    "imix": ({"ipv4.id": "counter", "ipv4.dst": {"same_as": "ipv4.id"}}, {"size": "imix"}),
    "bursts": ({"ipv4.id": "counter"}, {"pattern": {"bursts": 5}, "size": "64B..80B"}),
    "poisson": ({"ipv4.id": "counter"}, {"pattern": "poisson"}),
    "copies": ({"ipv4.id": "counter"}, {"copies": 3, "per_copy": {"udp.dst": "1..3"}}),
}


@pytest.mark.parametrize("name", CORES)
def test_two_workers_send_what_one_does(lab, name):
    """The same packets at the same instants."""
    vary, rest = CORES[name]
    stream = {"vary": vary, "count": 3001, **rest}
    one, two = (Counter(run(lab, stream, "--cores", cores)) for cores in (1, 2))
    assert sum(one.values()) == 3001 * rest.get("copies", 1)
    packets = [Counter(frame for _, frame in counter.elements()) for counter in (one, two)]
    assert packets[0] == packets[1]
    assert one == two, "the same packets at other times"
