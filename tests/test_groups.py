"""Streams added up by tag and by field: rows are the sums of their streams, however many there are."""

import json
import math
import time

import pytest
from lab import pair, settled

UDP = [{"ethernet": {"dst": "02:00:00:00:00:07"}}, {"ipv4": {"src": "10.0.0.1", "dst": "10.0.0.2"}}, "udp"]
SUMMED = ("tx", "rx", "lost", "duplicates", "reordered", "stale")
LINK = {"loss": "5%", "duplicate": "3%", "reorder": "10%", "reorder_by": "3ms", "delay": "20us"}


def one(name, source="west", target="east", packet=UDP, **rest):
    return {"name": name, "from": source, "to": target, "packet": packet, "size": "64B", "rate": "2kpps"} | rest


STREAMS = [
    one("a", copies=6, per_copy={"ipv4.dscp": [10, 20, 46]}, tag=["voice", "all"]),
    one("b", "east", "west", size="imix", tag="all", rate="3kpps"),
    one("c", packet=[UDP[0], {"ipv4": {"src": "10.0.0.1", "dst": "10.0.0.9", "dscp": 20}}, "udp"]),
    one("d", packet=[UDP[0], {"ipv6": {"src": "2001:2::1", "dst": "2001:2::2"}}, "udp"], tag="six", size="100B"),
    one("e", vary={"ipv4.dscp": "counter"}, tag="all"),
]
GROUPS = {"tags": "tag", "classes": "ipv4.dscp", "targets": "ipv4.dst"}
ROWS = {
    "tags": {
        "voice": [f"a[{i}]" for i in range(6)],
        "all": [*(f"a[{i}]" for i in range(6)), "b", "e"],
        "six": ["d"],
    },
    # 'e' has no one value.
    "classes": {"10": ["a[0]", "a[3]"], "20": ["a[1]", "a[4]", "c"], "46": ["a[2]", "a[5]"], "0": ["b"]},
    "targets": {"10.0.0.2": [*(f"a[{i}]" for i in range(6)), "b", "e"], "10.0.0.9": ["c"]},
}


def profile(lab, streams=STREAMS, groups=GROUPS, duration="2s", **rest):
    ports = {"west": {"device": "ring:a"}, "east": {"device": "ring:b"}}
    load = {"duration": duration, "drain": "100ms"}
    return lab.profile(ports, streams, groups=groups, load=load, seed=3, sim={"link": LINK}, **rest)


@pytest.fixture(scope="module")
def result(shared):
    return shared.eagre("sim", profile(shared), "--json", "-").result()


def close(value, expected, rel=1e-9):
    assert value == pytest.approx(expected, rel=rel)


@pytest.mark.parametrize("group, row", [(group, row) for group, rows in ROWS.items() for row in rows])
def test_a_row_is_the_sum_of_its_streams(result, group, row):
    members = [result["streams"][name] for name in ROWS[group][row]]
    total = result["groups"][group][row]
    for field in SUMMED:
        assert total[field] == sum(member[field] for member in members), field
    assert total["lost"] > 0 and total["duplicates"] > 0
    close(total["requested_pps"], sum(member["requested_pps"] for member in members))
    close(total["offered_pps"], sum(member["offered_pps"] for member in members), 1e-3)
    close(total["loss_ratio"], total["lost"] / total["tx"])
    assert total["reorder_distance_max"] == max(member["reorder_distance_max"] for member in members)


@pytest.mark.parametrize("group, row", [(group, row) for group, rows in ROWS.items() for row in rows])
def test_the_latency_of_a_row_is_that_of_all_its_packets(result, group, row):
    members = [result["streams"][name]["latency_ns"] for name in ROWS[group][row]]
    total = result["groups"][group][row]["latency_ns"]
    samples = sum(member["samples"] for member in members)
    assert total["samples"] == samples == result["groups"][group][row]["rx"]
    assert total["min"] == min(member["min"] for member in members)
    assert total["max"] == max(member["max"] for member in members)
    mean = sum(member["mean"] * member["samples"] for member in members) / samples
    close(total["mean"], mean)
    squares = sum((member["stddev"] ** 2 + member["mean"] ** 2) * member["samples"] for member in members) / samples
    close(total["stddev"], math.sqrt(squares - mean**2), 1e-3)
    for quantile in ("p50", "p90", "p95", "p99", "p99_9"):
        low, high = (f(member[quantile] for member in members) for f in (min, max))
        assert low * 0.99 <= total[quantile] <= high * 1.01, quantile


def test_the_rows_are_those_of_the_profile(result):
    assert {group: set(rows) for group, rows in result["groups"].items()} == {
        group: set(rows) for group, rows in ROWS.items()
    }


def test_copies_differ_and_have_their_rows_even_with_intervals(lab):
    """The lines of all intervals add up to the result's rows."""
    path = profile(lab)
    lines = path.parent / "lines.jsonl"
    arguments = ("--json", "-", "--jsonl", lines, "--interval", "100ms")
    result = lab.eagre("sim", path, *arguments).result()
    documents = [json.loads(line) for line in lines.read_text().splitlines()]
    assert len(documents) >= 20
    for group, rows in result["groups"].items():
        for row, total in rows.items():
            for field in ("tx", "rx", "duplicates"):
                assert sum(d["groups"][group][row][field] for d in documents) == total[field], (group, row, field)


def test_a_row_of_what_is_measured_and_what_is_not(lab):
    """What is not measured is not lost."""
    streams = [one("a", tag="all"), one("b", tag="all", measure=False)]
    path = profile(lab, streams, {"tags": "tag"})
    result = lab.eagre("sim", path, "--json", "-").result()
    row, measured = result["groups"]["tags"]["all"], result["streams"]["a"]
    assert row["lost"] == measured["lost"] and row["rx"] == measured["rx"], (row, measured)
    assert row["loss_ratio"] <= measured["loss_ratio"]


def test_criteria_hold_for_each_copy(lab):
    """Of streams with copies one that fails is enough; each is told."""
    criteria = {"streams.a.loss_ratio": "< 50%", "streams.b.latency_ns.max": "< 1us", "streams.c.lost": ">= 1"}
    done = lab.eagre("sim", profile(lab, criteria=criteria), "--json", "-")
    assert done.exit == 1
    told = {criterion["path"]: criterion for criterion in done.json["criteria"]}
    assert set(told) == {*(f"streams.a[{i}].loss_ratio" for i in range(6)), "streams.b.latency_ns.max", "streams.c.lost"}
    for path, criterion in told.items():
        _, name, field = path.split(".", 2)
        value = done.json["streams"][name]
        for part in field.split("."):
            value = value[part]
        assert criterion["value"] == value and criterion["passed"] == (name != "b"), criterion
    del criteria["streams.b.latency_ns.max"]
    assert lab.eagre("sim", profile(lab, criteria=criteria), "--json", "-").exit == 0
    one_copy = {"streams.a[3].lost": "== 0"}
    done = lab.eagre("sim", profile(lab, criteria=one_copy), "--json", "-")
    assert done.exit == 1 and [c["path"] for c in done.json["criteria"]] == ["streams.a[3].lost"]


@pytest.mark.parametrize(
    "groups, words",
    [({"g": "ipv4.colour"}, "ipv4.colour"), ({"g": "nothing"}, "tag"), ({"g": "vlan.id"}, "vlan.id")],
)
def test_a_group_without_rows_is_refused(lab, groups, words):
    lab.eagre("sim", profile(lab, groups=groups)).refused(2, "groups.g", words)


def test_tags_that_nobody_has_are_refused(lab):
    lab.eagre("sim", profile(lab, [one("a")], {"g": "tag"})).refused(2, "groups.g", "no stream has a tag")


STREAM_COUNT, RATE, SECONDS = 100_000, 200_000, 2
MEMORY_MAX_KB = 3 << 20


def peak_kb(process):
    """The most memory a running process had, as the kernel counts it."""
    try:
        with open(f"/proc/{process.pid}/status") as status:
            return next((int(line.split()[1]) for line in status if line.startswith("VmHWM")), 0)
    except OSError:
        return 0


def test_a_hundred_thousand_streams(lab):
    """Each sends, none loses anything, and ten rows say so."""
    streams = [one("s", rate=f"{RATE / STREAM_COUNT}pps", copies=STREAM_COUNT, per_copy={"ipv4.dscp": "0..9"})]
    load = {"duration": f"{SECONDS}s", "drain": "300ms"}
    ports = {port: {"device": rest["device"]} for port, rest in pair().items()}
    path = lab.profile(ports, streams, groups={"classes": "ipv4.dscp"}, load=load)

    def once():
        out, begin = path.parent / "result.json", time.monotonic()
        process = lab.start_eagre("run", path, "--json", out)
        peak = 0
        while process.poll() is None:
            peak = max(peak, peak_kb(process))
            time.sleep(0.05)
        seconds = time.monotonic() - begin
        done = lab.finish(process)
        done.ok()
        done.out = out.read_text()
        print(f"VmHWM {peak / 1e6:.2f} million KiB, {peak / STREAM_COUNT:.1f} KiB for each stream; {seconds:.1f} s in all")
        return done, peak

    def check(done, peak):
        result = done.result()
        assert len(result["streams"]) == STREAM_COUNT
        assert {one["tx"] for one in result["streams"].values()} == {RATE * SECONDS // STREAM_COUNT}
        for one in result["streams"].values():
            assert one["rx"] == one["tx"] and not one["lost"] and not one["duplicates"] and not one["reordered"]
            assert one["latency_ns"]["samples"] == one["rx"]
        rows = result["groups"]["classes"]
        assert sorted(rows, key=int) == [str(value) for value in range(10)]
        assert {(row["tx"], row["rx"], row["lost"]) for row in rows.values()} == {(RATE * SECONDS // 10,) * 2 + (0,)}
        assert result["verdict"]["valid"] and peak < MEMORY_MAX_KB

    settled(once, check, attempts=3)
