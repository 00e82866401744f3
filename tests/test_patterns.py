"""Packets leave at the profile's times, to the nanosecond: expected times are computed here, with whole numbers only.

In virtual time; a live run is changed at the end.
"""

import math
import resource
import statistics
import struct
from fractions import Fraction

import pytest
from capture import number, records
from lab import INTERRUPTED, pair, settled, stream

PACKET = [
    {"ethernet": {"dst": "02:00:00:00:00:07"}},
    {"ipv4": {"src": "10.0.0.1", "dst": "10.0.0.2"}},
]
MS, SECOND = 1_000_000, 1_000_000_000
SPEED = 10_000_000_000


def one(name="s", port=1, **rest):
    return {"name": name, "from": "west", "packet": [*PACKET, {"udp": {"dst": port}}], "size": "64B", "measure": False, **rest}  # fmt: skip


def simulate(lab, *streams, duration="2s", seed=1, arguments=()):
    """Departures of each stream, by destination port, and the result."""
    ports = {"west": {"device": "ring:a", "speed": "10Gbps"}}
    # Traffic starts when a first packet without a delay leaves.
    zero = {**one("zero", 65535, rate="1pps", count=1), "pattern": {"multi_burst": {"packets": 1, "bursts": 1}}}
    profile = lab.profile(ports, [*streams, zero], load={"duration": duration, "drain": "1ms"})
    capture = profile.parent / "sent.pcap"
    done = lab.eagre("sim", profile, "--pcap", capture, "--seed", seed, "--json", "-", *arguments)
    times = {}
    for at, frame in records(capture):
        times.setdefault(number(frame, 36, 2), []).append(at)
    [start] = times.pop(65535)
    return {port: [at - start for at in found] for port, found in times.items()}, done.result()


def alone(lab, count, **stream):
    """Departures of the only stream."""
    return simulate(lab, one(count=count, **stream))[0][1]


def even(rate, count, start=0):
    return [start + j * SECOND // Fraction(rate) for j in range(count)]


@pytest.mark.parametrize("rate, pps", [("10kpps", 10_000), ("30kpps", 30_000), ("1234.567pps", "1234.567"), ("14.88Mpps", 14_880_000), ("3Mpps", 3_000_000)])  # fmt: skip
def test_continuous(lab, rate, pps):
    assert alone(lab, 1000, rate=rate) == even(pps, 1000)


def test_a_start_delay(lab):
    assert alone(lab, 100, rate="7kpps", start_delay="12345ns") == even(7000, 100, 12_345)
    burst = {"multi_burst": {"packets": 2, "every": "1ms"}}
    assert alone(lab, 4, rate="max", start_delay="3ms", pattern=burst) == [3 * MS] * 2 + [4 * MS] * 2


@pytest.mark.parametrize("group", [1, 4, 7, 100])
def test_bursts(lab, group):
    """Groups back to back, spaced so that the rate is met."""
    found = alone(lab, 1000, rate="30kpps", pattern={"bursts": group})
    assert found == [j // group * group * SECOND // 30_000 for j in range(1000)]


def test_multi_burst_with_a_rate_inside(lab):
    found = alone(lab, 1000, rate="700kpps", pattern={"multi_burst": {"packets": 13, "every": "100us"}})
    assert found == [j // 13 * 100_000 + j % 13 * SECOND // 700_000 for j in range(1000)]


def test_multi_burst_back_to_back(lab):
    found = alone(lab, 1000, rate="max", pattern={"multi_burst": {"packets": 150, "every": "1ms"}})
    assert found == [j // 150 * MS for j in range(1000)]


def test_multi_burst_so_many_times(lab):
    burst = {"multi_burst": {"packets": 5, "every": "1ms", "bursts": 3}}
    found = simulate(lab, one(rate="1Mpps", pattern=burst))[0][1]
    assert found == [b * MS + j * 1000 for b in range(3) for j in range(5)]
    burst = {"multi_burst": {"packets": 40, "bursts": 1}}
    assert simulate(lab, one(rate="max", pattern=burst))[0][1] == [0] * 40


def test_a_single_burst(lab):
    assert simulate(lab, one(rate="3Mpps", pattern={"burst": 70}))[0][1] == even(3_000_000, 70)
    assert simulate(lab, one(rate="max", pattern={"burst": 70}))[0][1] == [0] * 70


def test_multi_burst_longer_than_its_period(lab):
    """A burst that takes longer is followed by the next without a pause."""
    found = alone(lab, 200, rate="100kpps", pattern={"multi_burst": {"packets": 10, "every": "50us"}})
    assert found == even(100_000, 200)


@pytest.mark.parametrize("on, off", [(1_000_000, 2_000_000), (333_333, 100_001), (1_000, 500_000)])
def test_on_off(lab, on, off):
    """Each 'on' begins with a packet; packets due before its end leave."""
    found = alone(lab, 600, rate="30kpps", pattern={"on_off": {"on_for": f"{on}ns", "off_for": f"{off}ns"}})
    each = -(-on * 30_000 // SECOND)
    assert found == [j // each * (on + off) + j % each * SECOND // 30_000 for j in range(600)]


def test_gaps_in_turn(lab):
    gaps = [1000, 0, 777, 123_456]
    found = alone(lab, 500, pattern={"gaps": {"list": [f"{gap}ns" for gap in gaps]}})
    expected = [0]
    for j in range(499):
        expected.append(expected[-1] + gaps[j % 4])
    assert found == expected


def test_gaps_at_random(lab):
    gaps = {"gaps": {"list": ["1us", "2us", "4us"], "order": "random"}}
    found = alone(lab, 6000, pattern=gaps)
    steps = [b - a for a, b in zip(found, found[1:])]
    counts = [steps.count(gap) for gap in (1000, 2000, 4000)]
    # Four standard deviations are 146.
    assert found[0] == 0 and sum(counts) == 5999 and all(abs(count - 2000) < 146 for count in counts), counts
    assert len(set(zip(steps, steps[1:]))) == 9


def curve(points, steps=False, repeat=False):
    """Packets due until t, exactly, as a function: the area under the curve."""
    points = [(at, Fraction(rate)) for at, rate in points]
    if points[0][0]:
        points.insert(0, (0, points[0][1]))

    def once(t):
        area = Fraction(0)
        for (begin, low), (end, high) in zip(points, points[1:]):
            if t <= begin:
                return area
            span, part = end - begin, min(t, end) - begin
            if steps:
                area += low * part
            else:
                area += low * part + (high - low) * part * part / (2 * span)
        return area + points[-1][1] * max(t - points[-1][0], 0)

    def again(t):
        last = points[-1][0]
        return t // last * once(last) + once(t % last)

    return lambda t: (again if repeat else once)(t) / SECOND


def due(packets, count):
    """Packet j leaves at the last nanosecond at which no more than j packets are due."""
    found, low = [], 0
    for j in range(count):
        step = 1
        while packets(low + step) <= j:
            step *= 2
        high = low + step
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if packets(middle) <= j else (low, middle)
        found.append(low)
    return found


CURVES = {
    "ramp up": ([(0, 0), (10 * MS, 50_000)], {}),
    "ramp up from a rate": ([(0, 1_000), (7 * MS, 90_000)], {}),
    "ramp down": ([(0, 80_000), (9_999_999, 1_000)], {}),
    "ramp down to nothing and up": ([(0, 40_000), (5 * MS, 0), (6 * MS, 0), (9 * MS, 30_000)], {}),
    "plateau": ([(0, 0), (2 * MS, 30_000), (5 * MS, 30_000), (6 * MS, 1_000)], {}),
    "lead-in": ([(3 * MS, 10_000), (4 * MS, 100_000)], {}),
    "silence first": ([(0, 0), (2 * MS, 0), (3 * MS, 100_000)], {}),
    "sawtooth": ([(0, 0), (3_333_333, 70_000)], {"repeat": True}),
    "triangle": ([(0, 1_000), (1 * MS, 50_001), (2 * MS, 1_000)], {"repeat": True}),
    "steps": ([(0, 10_000), (1_500_000, 33_333), (3 * MS, 0), (4 * MS, 70_000)], {"steps": True}),
    "steps again and again": ([(0, 10_000), (777_777, 90_000), (1_000_001, 0)], {"steps": True, "repeat": True}),
    "a single point": ([(MS, 12_345)], {}),
}


@pytest.mark.parametrize("name", CURVES)
def test_curves(lab, name):
    points, options = CURVES[name]
    written = {"points": [{"at": f"{at}ns", "rate": f"{rate}pps"} for at, rate in points]}
    written |= {"shape": "steps"} if options.get("steps") else {}
    written |= {"repeat": True} if options.get("repeat") else {}
    found = alone(lab, 400, pattern={"curve": written})
    assert found == due(curve(points, **options), 400)


def test_a_curve_of_shares_of_the_link(lab):
    points = [{"at": "0ms", "rate": "1%"}, {"at": "1ms", "rate": "200Mbps-L1"}]
    found = alone(lab, 200, pattern={"curve": {"points": points}})
    # Rates are rounded down to a millionth of a packet per second.
    rates = [Fraction(bits * 10**6 // (84 * 8), 10**6) for bits in (SPEED // 100, 200_000_000)]
    assert found == due(curve([(0, rates[0]), (MS, rates[1])]), 200)


def test_a_chain_once(lab):
    """The next begins a gap behind the last packet's own gap."""
    streams = [
        one("a", 1, rate="10kpps", count=3, then={"stream": "b", "gap": "1ms"}, start_delay="2ms"),
        one("b", 2, rate="30kpps", count=4, then="c"),
        one("c", 3, rate="1Mpps", count=5),
    ]
    times, _ = simulate(lab, *streams)
    b = 2 * MS + 300_000 + MS
    c = b + 4 * SECOND // 30_000
    assert times == {1: even(10_000, 3, 2 * MS), 2: even(30_000, 4, b), 3: even(1_000_000, 5, c)}


@pytest.mark.parametrize("loops", [None, 1, 7])
def test_two_streams_in_a_loop(lab, loops):
    """For ever, or a number of times."""
    more = {"loops": loops} if loops else {}
    streams = [
        one("a", 1, rate="30kpps", count=3, then={"stream": "b", "gap": "10us"}, **more),
        one("b", 2, rate="20kpps", count=2, then={"stream": "a", "gap": "5us"}),
    ]
    times, result = simulate(lab, *streams, duration="20ms")
    round_ns = 100_000 + 10_000 + 100_000 + 5_000
    rounds = range(loops or 1000)
    a = [at for k in rounds for at in even(30_000, 3, k * round_ns) if at < 20 * MS]
    b = [at for k in rounds for at in even(20_000, 2, k * round_ns + 110_000) if at < 20 * MS]
    assert times == {1: a, 2: b}
    assert (result["streams"]["a"]["tx"], result["streams"]["b"]["tx"]) == (len(a), len(b))


def test_a_chain_of_bursts_and_gaps(lab):
    streams = [
        one("a", 1, rate="max", pattern={"multi_burst": {"packets": 4, "every": "1ms", "bursts": 2}}, then="b"),
        one("b", 2, pattern={"gaps": {"list": ["10us", "30us"]}}, count=3, then={"stream": "c", "gap": "1us"}),
        one("c", 3, pattern={"curve": {"points": [{"at": "0ms", "rate": "50kpps"}]}}, count=2),
    ]
    times, _ = simulate(lab, *streams)
    b = 2 * MS
    # One gap behind the third packet: 10, 30, and 10 us again.
    c = b + 50_000 + 1_000
    assert times == {1: [0] * 4 + [MS] * 4, 2: [b, b + 10_000, b + 40_000], 3: [c, c + 20_000]}


CORES = {
    "continuous": {"rate": "33kpps"},
    "poisson": {"rate": "50kpps", "pattern": "poisson"},
    "gaps": {"pattern": {"gaps": {"list": ["1us", "7us", "3us"], "order": "random"}}},
    "sawtooth": {"pattern": {"curve": {"points": [{"at": "0ms", "rate": "0pps"}, {"at": "3ms", "rate": "70kpps"}], "repeat": True}}},
    "on_off": {"rate": "30kpps", "pattern": {"on_off": {"on_for": "333333ns", "off_for": "100us"}}},
    "bursts": {"rate": "30kpps", "pattern": {"bursts": 7}},
    "multi_burst": {"rate": "max", "pattern": {"multi_burst": {"packets": 150, "every": "1ms"}}},
    "multi_burst at a rate": {"rate": "1Mpps", "pattern": {"multi_burst": {"packets": 13, "every": "300us"}}},
}  # fmt: skip


@pytest.mark.parametrize("name", [*CORES, "chain"])
def test_two_workers_keep_the_times_of_one(lab, name):
    if name == "chain":
        streams = [
            one("a", 1, rate="30kpps", count=3, then={"stream": "b", "gap": "10us"}),
            one("b", 2, rate="20kpps", count=2, then="c"),
            one("c", 3, rate="20kpps", count=5, pattern="poisson", then={"stream": "a", "gap": "5us"}),
        ]
    else:
        streams = [one(count=3001, **CORES[name])]
    first, second = (simulate(lab, *streams, duration="200ms", arguments=("--cores", cores))[0] for cores in (1, 2))
    assert {port: sorted(times) for port, times in first.items()} == {port: sorted(times) for port, times in second.items()}


def test_poisson(lab):
    count, mean = 100_000, 10_000
    found = alone(lab, count, rate="100kpps", pattern="poisson")
    gaps = [b - a for a, b in zip([0, *found], found)]
    assert abs(statistics.fmean(gaps) / mean - 1) < 0.02
    assert abs(statistics.pstdev(gaps) / mean - 1) < 0.02
    for times in (0.1, 1, 3):
        share = sum(gap > times * mean for gap in gaps) / count
        assert abs(share - math.exp(-times)) < 0.01, f"gaps beyond {times} of the mean: {share}"
    product = statistics.fmean((a - mean) * (b - mean) for a, b in zip(gaps, gaps[1:])) / mean**2
    assert abs(product) < 0.02, f"gaps depend on those before them: {product}"


def test_poisson_by_its_seed(lab):
    run = lambda seed: simulate(lab, one(rate="10kpps", pattern="poisson", count=500), seed=seed)[0][1]
    assert run(1) == run(1) != run(2)


def test_poisson_streams_are_independent(lab):
    streams = [one(f"s{i}", i, rate="10kpps", pattern="poisson", count=300) for i in (1, 2)]
    times, _ = simulate(lab, *streams)
    assert len(set(times[1]) & set(times[2])) < 5


def test_poisson_copies_are_independent(lab):
    times, _ = simulate(lab, one(rate="10kpps", pattern="poisson", count=300, copies=2, per_copy={"udp.dst": [1, 2]}))
    assert len(set(times[1]) & set(times[2])) < 5


IMIX = {64: 7, 594: 4, 1518: 1}
L1 = Fraction(sum((size + 20) * 8 * weight for size, weight in IMIX.items()), 12)
L2 = Fraction(sum(size * 8 * weight for size, weight in IMIX.items()), 12)
RATES = {
    "1Gbps": SPEED // 10 / L2,
    "1Gbps-L2": SPEED // 10 / L2,
    "1Gbps-L1": SPEED // 10 / L1,
    "25%": SPEED // 4 / L1,
    "0.1%": SPEED // 1000 / L1,
    "123.456kpps": Fraction(123_456),
}


@pytest.mark.parametrize("overridden", [False, True])
@pytest.mark.parametrize("rate", RATES)
def test_rates_are_those_of_the_mix(lab, rate, overridden):
    """In the profile and on the command line: what is counted and what is on the wire."""
    arguments = ("--rate", rate) if overridden else ()
    stream = one(size="imix", rate="1pps" if overridden else rate, count=1200)
    times, result = simulate(lab, stream, arguments=arguments)
    assert result["streams"]["s"]["requested_pps"] == pytest.approx(float(RATES[rate]), rel=1e-9)
    # The rate is rounded down to a millionth of a packet per second.
    pps = Fraction(RATES[rate] * 10**6 // 1, 10**6)
    found = times[1]
    assert [at - found[0] for at in found] == even(pps, 1200)


def test_a_rate_for_each_flow(lab):
    flows = {"count": 25, "length": 4}
    found = alone(lab, 500, rate="100pps/flow", flows=flows, vary={"udp.src": "counter"})
    assert found == even(2500, 500)


def test_what_is_sent_ends_with_the_duration(lab):
    """Packets due before the end, none behind it."""
    for rate, expected in (("10kpps", 100), ("10.001kpps", 101), ("9.999kpps", 100)):
        times, result = simulate(lab, one(rate=rate), duration="10ms")
        assert len(times[1]) == result["streams"]["s"]["tx"] == expected


@pytest.mark.parametrize(
    "stream, seconds, pps",
    [
        ({"rate": "10pps", "count": 3}, 0.3, 10),
        ({"rate": "1kpps", "count": 1}, 0.001, 1000),
        ({"rate": "10pps", "start_delay": "500ms", "duration": "100ms"}, 0.6, 10),
        ({"rate": "10pps", "count": 1000}, 2, 10),
        ({"pattern": {"gaps": {"list": ["1ms", "3ms"]}}, "count": 501}, 1.001, 501 / 1.001),
    ],
)
def test_rates_of_what_ends_by_itself(lab, stream, seconds, pps):
    """Rates refer to the time that packets have by the profile, and not to that between the first and the last."""
    profile = lab.profile({"west": {"device": "ring:a", "speed": "1Gbps"}}, [one(**stream)], load={"duration": "2s", "drain": "1ms"})
    result = lab.eagre("sim", profile, "--json", "-").result()
    assert result["duration_s"] == pytest.approx(seconds)
    assert result["streams"]["s"]["offered_pps"] == pytest.approx(pps)


@pytest.mark.parametrize("packets", [1, 5])
def test_no_rate_is_above_the_links(lab, packets):
    """Packets that are due at one instant leave one after the other."""
    frame = bytes.fromhex("020000000002020000000001 0800".replace(" ", "")) + bytes(86)
    record = struct.pack("<IIII", 1, 0, len(frame), len(frame)) + frame
    capture = lab.folder() / "same.pcap"
    capture.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + record * packets)
    streams = [{"name": "s", "from": "west", "replay": {"file": str(capture)}}]
    result = lab.eagre("sim", lab.profile({"west": {"device": "ring:a", "speed": "1Gbps"}}, streams), "--json", "-").result()
    port = result["ports"]["west"]
    assert port["tx_packets"] == packets and 0 < port["tx_bps_l1"] <= 1.001e9, port
    assert result["streams"]["s"]["offered_pps"] <= 1.001e9 / 8 / (100 + 4 + 20)


def test_virtual_time_in_which_nothing_happens_costs_little(lab):
    """A day of a packet every hundred seconds: captures with such gaps are replayed in seconds."""
    streams = [{**one("s", rate="0.01pps", measure=True), "to": "east"}]
    ports = {"west": {"device": "ring:a", "speed": "1Gbps"}, "east": {"device": "ring:b", "speed": "1Gbps"}}
    profile = lab.profile(ports, streams, load={"duration": "24h"})
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    result = lab.eagre("sim", profile, "--json", "-", timeout=120).result()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert result["streams"]["s"]["tx"] == 864, result["streams"]
    assert after.ru_utime - before.ru_utime < 12, "0.14 ms for each second"


def test_what_has_no_time_is_warned_of(lab):
    """Streams that start after the end, or would send beyond it; keys of sessions where there are none."""
    streams = [
        one("late", rate="10pps", start_delay="20s"),
        one("cut", rate="10pps", start_delay="9s", duration="5s"),
        one("fine", rate="10pps", start_delay="1s", duration="9s"),
    ]
    ports = {"west": {"device": "ring:a", "speed": "1Gbps"}}
    warnings = lab.eagre("check", lab.profile(ports, streams, load={"duration": "10s", "multiply": 2})).ok().err
    assert "stream late: it starts after 20s" in warnings and "it will send nothing" in warnings, warnings
    assert "stream cut: its 5s from 9s on end after" in warnings and "it will send for 1s of them" in warnings, warnings
    assert "load.multiply: applies to sessions only" in warnings and "fine" not in warnings, warnings


def test_several_workers_say_what_they_cannot_know(lab):
    """The order of different workers' packets, where a criterion asks for it."""

    def is_noted(cores, criteria):
        stream = {**one(rate="1kpps", measure=True), "to": "east"}
        profile = lab.profile(CONTROL, [stream], load={"duration": "1s", "drain": "1ms"}, criteria=criteria)
        verdict = lab.eagre("sim", profile, "--cores", cores, "--json", "-").result()["verdict"]
        return any("several workers" in note for note in verdict.get("notes", []))

    order = {"streams.s.reordered": "== 0"}
    assert [is_noted(1, order), is_noted(2, order), is_noted(2, {})] == [False, True, False]


def test_rate_in_place_of_a_curve(lab):
    pattern = {"curve": {"points": [{"at": "0ms", "rate": "1kpps"}, {"at": "1ms", "rate": "9kpps"}]}}
    times, _ = simulate(lab, one(pattern=pattern, count=50), arguments=("--rate", "50kpps"))
    assert times[1] == [times[1][0] + at for at in even(50_000, 50)]


CONTROL = {"west": {"device": "ring:a"}, "east": {"device": "ring:b"}}


def controlled(lab, lines, *streams, every=0.15, duration="10s", more=()):
    """A live run to which lines are given, one after the other; how it ended."""
    profile = lab.profile(CONTROL, [{**stream, "to": "east"} for stream in streams], load={"duration": duration, "drain": "100ms"})  # fmt: skip
    done, _ = lab.controlled(profile, lines, every, more=more)
    # Stopped before its end is not passed, as after Ctrl-C.
    assert done.exit == INTERRUPTED and done.json["interrupted"] and done.json["verdict"]["valid"], str(done)
    return done


def area(changes, rate, end, name):
    """Packets of a stream due until the end, by the changes in the result."""
    packets, at, now = 0.0, 0.0, rate
    for change in changes:
        if change.get("stream", name) != name:
            continue
        packets, at = packets + now * (change["at_s"] - at), change["at_s"]
        to = change["to"]
        if to.endswith("of the profile's rate"):
            now = rate * float(to.split("%")[0]) / 100
        else:
            now = float(to.removesuffix("kpps")) * 1000
    return packets + now * (end - at)


@pytest.mark.unsteady("commands take effect at wall-clock times, and packets are counted between them")
def test_a_live_run_is_controlled(lab):
    """Rates change at once, and the result has the times: packets sent agree with these rates."""
    lines = ["scale 50%", "rate s 5kpps", "pause", "resume", "rate 40kpps", "scale s 150%", "stop"]

    def check(done):
        result = done.json
        changes = result["rate_changes"]
        of_profile = "of the profile's rate"
        assert [(c.get("stream"), c["to"]) for c in changes] == [
            (None, f"50% {of_profile}"),
            ("s", "5kpps"),
            (None, f"0% {of_profile}"),
            (None, f"100% {of_profile}"),
            (None, "40kpps"),
            ("s", f"150% {of_profile}"),
        ]
        times = [c["at_s"] for c in changes]
        assert times == sorted(times) and all(0.1 < b - a < 2 for a, b in zip(times, times[1:])), times
        assert result["duration_s"] < 10
        for name, rate in (("s", 20_000), ("t", 10_000)):
            stream = result["streams"][name]
            # 1 ms of the rate at the end: the run ends with its last packet.
            expected = area(changes, rate, result["duration_s"], name)
            print(name, stream["tx"], expected)
            assert abs(stream["tx"] - expected) <= 45, (name, stream["tx"], expected)
            assert stream["requested_pps"] == rate and stream["lost"] == 0

    streams = one("s", 1, rate="20kpps", measure=True), one("t", 2, rate="10kpps", measure=True)
    settled(lambda: controlled(lab, lines, *streams), check)


@pytest.mark.unsteady("commands take effect at wall-clock times, and packets are counted between them")
def test_a_pause_is_silent(lab):
    """Nothing leaves between 'pause' and 'resume'; nothing is made up for."""

    def check(done):
        result = done.json
        paused, resumed = (change["at_s"] for change in result["rate_changes"])
        sent = result["streams"]["s"]["tx"]
        assert abs(sent - 20_000 * (result["duration_s"] - (resumed - paused))) <= 25
        assert resumed - paused > 0.3

    settled(lambda: controlled(lab, ["pause", "resume", "stop"], one(rate="20kpps", measure=True), every=0.4), check)


def test_a_pause_until_the_end_is_in_the_result(lab):
    """It comes after the last packet, and is why others are missing."""
    streams = [stream("s", "west", "east", rate="1kpps", count=1_900)]
    done, _ = lab.controlled(lab.profile(pair(), streams, load={"duration": "2s", "drain": "50ms"}), ["pause"], 0.1)
    (change,) = done.json["rate_changes"]
    assert change["to"] == "0% of the profile's rate" and 0 < done.json["streams"]["s"]["tx"] < 1_900, done.json["streams"]


def test_what_is_not_understood_is_said_and_the_run_goes_on(lab):
    done = controlled(lab, ["faster", "scale ten", "rate nobody 1kpps", "stop"], one(rate="20kpps", measure=True), every=0.1)
    assert done.json.get("rate_changes", []) == []
    for words in ("'faster'", "'ten'", "nobody"):
        assert words in done.err, str(done)


LIVE = {
    "bursts": ({"rate": "10kpps", "pattern": {"bursts": 10}}, ()),
    "multi_burst": ({"rate": "max", "pattern": {"multi_burst": {"packets": 10, "every": "1ms"}}}, ()),
    "curve": ({"pattern": {"curve": {"points": [{"at": "0ms", "rate": "10kpps"}]}}}, ()),
    "two workers": ({"rate": "10kpps"}, ("--cores", "2")),
}


@pytest.mark.unsteady("commands take effect at wall-clock times, and packets are counted between them")
@pytest.mark.parametrize("name", LIVE)
def test_every_pattern_is_scaled_and_paused(lab, name):
    stream, more = LIVE[name]

    def check(done):
        result = done.json
        sent, expected = result["streams"]["s"]["tx"], area(result["rate_changes"], 10_000, result["duration_s"], "s")
        assert len(result["rate_changes"]) == 3 and abs(sent - expected) <= 45, (sent, expected)

    lines = ["scale 200%", "pause", "resume", "stop"]
    settled(lambda: controlled(lab, lines, one(measure=True, **stream), more=more), check)


def test_what_has_no_rate_can_be_paused_only(lab):
    done = controlled(lab, ["rate 10kpps", "pause", "resume", "stop"], one(rate="max", measure=True))
    assert "stream 's' has no rate that can be changed" in done.err
    assert [change["to"].split("%")[0] for change in done.json["rate_changes"]] == ["0", "100"]
    done = controlled(lab, ["rate max", "stop"], one(rate="10kpps", measure=True))
    assert "can't change to 'max'" in done.err and not done.json.get("rate_changes")


def test_a_rate_above_the_links_is_warned_of_and_not_changed_to(lab):
    """A slip of a unit would send all that the port takes. The link's speed is the port's `speed`, or what the interface reports."""
    ports = {"west": {"device": "ring:a", "speed": "1Gbps"}, "east": {"device": "ring:b"}}
    fast = lab.profile(ports, [{**one("fast", rate="2Mpps"), "to": "east"}, {**one("all", rate="100%"), "to": "east"}])
    warnings = lab.eagre("check", fast).ok().err
    assert "stream fast: its rate, 2Mpps, with preambles and gaps is more than the 1Gbps of port west, which are 100%: it will not send all" in warnings, warnings
    assert "stream all" not in warnings, warnings
    slow = lab.profile(ports, [{**one(rate="10kpps", measure=True), "to": "east"}], load={"duration": "10s", "drain": "100ms"})
    done, _ = lab.controlled(slow, ["rate 1Tbps", "rate s 2Mpps", "scale 99999%", "rate 20kpps", "stop"], 0.1)
    assert [change["to"] for change in done.json["rate_changes"]] == ["20kpps"], str(done)
    assert done.err.count("can't send") == 3 and "the link of port west carries" in done.err, done.err


def test_what_has_no_rate_is_not_scaled(lab):
    done = controlled(lab, ["scale 10%", "stop"], one(rate="max", measure=True))
    assert "has no rate to take a share of" in done.err and not done.json.get("rate_changes")
