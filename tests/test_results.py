"""Output: the result document and its schema, intervals, files, exit codes, and the text summary."""

import hashlib
import json
import os
import pty
import re

import pytest
import yaml
from json_schema import errors
from lab import BAD_INPUT, EAGRE, REPO, pair, parsed, settled, stream, sums

EXAMPLES = sorted((REPO / "examples").glob("*.yaml"))


def runs_anywhere(example):
    """Whether an example has only in-process ports, and no router between them that only `eagre sim` has."""
    ports = parsed(example)["ports"].values()
    return all(port["device"].startswith("ring:") and "gateway" not in port for port in ports)


def schema(lab, what):
    return json.loads(lab.eagre("schema", what).ok().out)


def quick(lab, *arguments, streams=None, **rest):
    streams = streams or [stream("s", "west", "east", rate="10kpps"), stream("t", "east", "west", rate="10kpps")]
    profile = lab.profile(pair(), streams, load={"duration": "300ms", "drain": "50ms"}, **rest)
    return lab.whole("run", profile, *arguments)


# The result document.


def test_the_result_fits_its_schema(lab):
    """A real run and a simulated one."""
    for command in (["demo", "--duration", "200ms"], ["sim", "examples/impaired-link.yaml", "--duration", "100ms"]):
        done = lab.eagre(*command, "--json", "-", cwd=REPO)
        assert errors(done.ok().json, schema(lab, "result")) == []


def test_the_schema_of_the_result_would_notice(lab):
    """A document that lacks a field or has a text for a number does not fit."""
    document, rules = lab.eagre("demo", "--duration", "50ms", "--json", "-").result(), schema(lab, "result")
    for spoil in (
        lambda d: d.pop("verdict"),
        lambda d: d["ports"]["west"].update(tx_packets="many"),
        lambda d: d["streams"]["west-ipv4"].pop("tx"),
        lambda d: d["clock"].update(hz=None),
    ):
        spoilt = json.loads(json.dumps(document))
        spoil(spoilt)
        assert errors(spoilt, rules), "the checker of these tests is blind, or the schema is"


CONTRACT = {
    "": "schema version seed profile_sha256 started duration_s interrupted clock timestamp_class verdict ports streams"
    " workers",
    "clock": "source hz",
    "verdict": "valid generator_limited disturbed reasons",
    "ports.west": "tx_packets tx_bytes rx_packets rx_bytes tx_unsent tx_pps rx_pps tx_bps_l1 rx_bps_l1 rx_other"
    " rx_errors",
    "streams.s": "requested_pps offered_pps tx rx lost loss_ratio duplicates reordered latency_ns jitter_ns"
    " interarrival_ns pacing_ns",
    "streams.s.latency_ns": "min mean stddev p50 p90 p95 p99 p99_9 p99_99 max samples",
    "streams.s.jitter_ns": "rfc3550 rfc4689_mean rfc4689_max",
    "streams.s.interarrival_ns": "min mean stddev max",
    "streams.s.pacing_ns": "error_p50 error_p99 error_p99_9 back_to_back_ratio",
    "workers.0": "core busy_ratio",
}


def test_the_names_of_the_contract_are_there(lab):
    """Other people's scripts rely on them."""
    document = quick(lab, "--seed", "77").result()
    for path, names in CONTRACT.items():
        place = document
        for key in path.split(".") if path else []:
            place = place[int(key) if isinstance(place, list) else key]
        absent = [name for name in names.split() if name not in place]
        assert not absent, f"{path or 'the document'} lacks {absent}"
    assert document["schema"] == "eagre.result/1" and document["seed"] == 77
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", document["started"])
    assert document["timestamp_class"] == "software"


def test_the_figures_of_a_result_agree_with_each_other(lab):
    """Bytes have the FCS, rates are counts over time, ratios are ratios, percentiles are in order."""

    def check(done):
        document = done.result()
        assert document["verdict"]["valid"]
        for name, port in document["ports"].items():
            assert port["tx_bytes"] == 64 * port["tx_packets"] == 64 * 3000, name
            assert port["tx_pps"] == pytest.approx(port["tx_packets"] / document["duration_s"])
            assert port["tx_bps_l1"] == pytest.approx((64 + 20) * 8 * port["tx_pps"])
        for one in document["streams"].values():
            assert one["rx"] + one["lost"] == one["tx"] == 3000
            latency = one["latency_ns"]
            order = [latency[key] for key in ("min", "p50", "p90", "p95", "p99", "p99_9", "p99_99", "max")]
            assert order == sorted(order) and latency["min"] <= latency["mean"] <= latency["max"]
            assert one["interarrival_ns"]["mean"] == pytest.approx(100_000, rel=0.05)
        for worker in document["workers"]:
            assert 0 <= worker["busy_ratio"] <= 1

    settled(lambda: quick(lab), check)


def test_a_result_names_the_profile_it_is_of(lab):
    """By the hash of its text."""
    path = REPO / "examples/demo.yaml"
    document = lab.eagre("run", path, "--duration", "50ms", "--json", "-").result()
    assert document["profile_sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_without_histograms_there_are_no_percentiles(lab):
    """Absent means not measured."""
    latency = quick(lab, "--no-histograms").result()["streams"]["s"]["latency_ns"]
    assert "p50" not in latency and latency["samples"] == 3000 and "mean" in latency


def test_what_nobody_measures_is_absent(lab):
    """A stream without signature has no loss: neither zero nor null."""
    one = quick(lab, streams=[stream("s", "west", "east", rate="10kpps", measure=False)]).result()["streams"]["s"]
    assert one["tx"] == 3000 and not {"rx", "lost", "loss_ratio", "latency_ns"} & set(one)


def test_the_seed_of_a_run_without_one_is_told(lab):
    """And differs from run to run."""
    seeds = {quick(lab).result()["seed"] for _ in range(3)}
    assert len(seeds) == 3 and all(0 <= seed < 2**53 for seed in seeds)


# Intervals and files.


def test_intervals_add_up_to_the_result(lab):
    """One line for each, of the interval schema; their sums are the final counts."""
    lines = lab.folder() / "lines.jsonl"
    document = lab.eagre("demo", "--duration", "500ms", "--jsonl", lines, "--interval", "100ms", "--json", "-").result()
    intervals, rules = [json.loads(line) for line in lines.read_text().splitlines()], schema(lab, "interval")
    assert len(intervals) >= 3
    for interval in intervals:
        assert interval["schema"] == "eagre.interval/1" and errors(interval, rules) == []
        assert all("lost" not in one for one in interval["streams"].values()), "what is under way is not lost"
    assert [i["at_s"] for i in intervals] == sorted(i["at_s"] for i in intervals)
    sending = sum(i["interval_s"] for i in intervals if not i["draining"])
    assert sending <= 0.7
    for name, one in document["streams"].items():
        for field in ("tx", "rx"):
            summed = sum(interval["streams"][name].get(field, 0) for interval in intervals)
            # What came between the last interval's end and the end of the run is in the result only.
            assert one[field] * 0.5 <= summed <= one[field], (name, field)
    for name, port in document["ports"].items():
        assert sum(i["ports"][name]["tx_packets"] for i in intervals) <= port["tx_packets"]


def test_intervals_of_a_simulated_run_add_up_exactly(lab):
    """Virtual time has no noise: 20 intervals of 100 ms hold all of it."""
    lines = lab.folder() / "lines.jsonl"
    profile = lab.profile(
        pair(), [stream("s", "west", "east", rate="10kpps")], load={"duration": "2s", "drain": "100ms"}
    )
    document = lab.eagre("sim", profile, "--jsonl", lines, "--interval", "100ms", "--json", "-").result()
    sent = [json.loads(line)["streams"]["s"]["tx"] for line in lines.read_text().splitlines()]
    assert sum(sent) == document["streams"]["s"]["tx"] == 20_000
    assert all(abs(n - 1000) <= 1 for n in sent[1:19]), sent


def test_a_folder_holds_result_intervals_and_profile(lab):
    """--out DIR, made if it is not there."""
    out = lab.folder() / "a" / "b"
    done = lab.eagre("demo", "--duration", "300ms", "--out", out, "--interval", "100ms", "--json", "-")
    assert sorted(path.name for path in out.iterdir()) == ["intervals.jsonl", "profile.yaml", "result.json"]
    done.ok()
    assert json.loads((out / "result.json").read_text()) == done.told
    assert (out / "profile.yaml").read_text() == (REPO / "examples/demo.yaml").read_text()
    assert (out / "intervals.jsonl").read_text().count("\n") >= 2
    again = lab.eagre("run", out / "profile.yaml", "--duration", "50ms", "--json", "-").result()
    assert again["profile_sha256"] == done.json["profile_sha256"]


def test_json_goes_to_a_file(lab):
    """Then the summary for people is on standard output."""
    path = lab.folder() / "result.json"
    done = lab.eagre("demo", "--duration", "50ms", "--json", path).ok()
    assert json.loads(path.read_text())["schema"] == "eagre.result/1" and re.search("valid|it works", done.out.lower())


# Criteria and exit codes.


@pytest.mark.parametrize(
    "criteria, exit_code",
    [
        ({"streams.s.lost": "== 0", "streams.s.loss_ratio": "< 0.1%", "ports.west.tx_packets": ">= 1000"}, 0),
        ({"streams.s.lost": "== 0", "streams.s.rx": "> 1000000000"}, 1),
        ({"streams.s.latency_ns.p99": "< 1ns"}, 1),
    ],
)
def test_a_criterion_that_fails_fails_the_run(lab, criteria, exit_code):
    """Exit code 1, and each criterion with its value in the result and the summary."""
    done = quick(lab, criteria=criteria)
    assert done.exit == exit_code or done.was_only_disturbed(), str(done)
    assert [c["path"] for c in done.json["criteria"]] == list(criteria)
    assert all(c["passed"] for c in done.json["criteria"]) == (exit_code == 0)
    assert all("value" in c and c["bound"] == criteria[c["path"]] for c in done.json["criteria"])
    assert ("FAILED" in done.err) == (exit_code == 1)
    assert done.json["verdict"]["valid"], "a failed criterion does not make the figures wrong"


def test_a_criterion_on_copies_holds_for_each(lab):
    """One for all of them in the profile; in the result the answer for each."""
    done = quick(
        lab,
        streams=[stream("s", "west", "east", rate="1kpps", copies=3)],
        criteria={"streams.s.lost": "== 0"},
    )
    assert len(done.result()["streams"]) == 3, str(done)
    assert [c["path"] for c in done.json["criteria"]] == [f"streams.s[{i}].lost" for i in range(3)]


# The other commands.


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_good(lab, example):
    """`eagre check`, and the schema that editors use agrees."""
    assert "OK: " in lab.eagre("check", example).ok().out
    assert errors(parsed(example), schema(lab, "profile")) == []


@pytest.mark.parametrize("example", filter(runs_anywhere, EXAMPLES), ids=lambda path: path.stem)
def test_every_example_without_devices_runs(lab, example):
    """Here and now; the others run in test_router.py and test_ports.py."""
    sessions = "sessions" in parsed(example)

    def check(done):
        # What an example with sessions asks for may take longer than this run.
        document = done.json if sessions and done.ended else done.ok().json
        established = sum(one["established"] for one in document.get("sessions", {}).values())
        assert document["verdict"]["valid"] and sums(document, "tx") + established > 0, document["verdict"]
        assert sums(document, "lost") == 0

    settled(lambda: lab.eagre("run", example, "--duration", "300ms", "--json", "-"), check)


def test_broken_profiles_do_not_fit_the_schema_either(lab):
    """Editors underline what `eagre check` refuses, where a schema can say it."""
    rules = schema(lab, "profile")
    for text in (
        "ports: {}",
        "streams: 1",
        "{ports: {a: {device: null}}, streams: []}",
        "{ports: {a: {device: ring:a}}, streams: [{name: s}]}",
    ):
        assert errors(yaml.safe_load(text), rules), text


def test_ports_and_doctor_speak_json(lab):
    """With what a script needs."""
    ports = json.loads(lab.eagre("ports", "--json").ok().out)
    assert {"interfaces", "pci"} <= set(ports)
    lo = next(link for link in ports["interfaces"] if link["name"] == "lo")
    assert {"up", "mtu", "speed_bps", "driver", "default_route"} <= set(lo)
    findings = json.loads(lab.eagre("doctor", "--json").ok().out)
    assert findings and all({"check", "status", "found", "why", "remedy"} <= set(finding) for finding in findings)
    said = json.dumps(findings).lower()
    for subject in ("huge", "governor", "isolat", "irq", "numa", "clock", "offload", "transparent"):
        assert subject in said, f"the doctor does not look at {subject}"
    assert len(lab.eagre("doctor").ok().out.splitlines()) >= len(findings)


def test_ports_of_a_namespace(lab):
    """What is in it, and what it says of the default route."""
    namespace = lab.netns("host")
    lab.veth(namespace, "v0", namespace, "v1")
    namespace.ip("address", "add", "192.0.2.2/24", "dev", "v0")
    namespace.ip("route", "add", "default", "via", "192.0.2.1")
    links = {
        link["name"]: link for link in json.loads(lab.eagre("ports", "--json", ns=namespace).ok().out)["interfaces"]
    }
    assert set(links) == {"lo", "v0", "v1"}
    assert links["v0"]["default_route"] and not links["v1"]["default_route"]
    assert "default route" in lab.eagre("ports", ns=namespace).ok().out


@pytest.mark.parametrize("shell, check", [("bash", ["bash", "-n"]), ("zsh", None), ("fish", None)])
def test_completion_is_a_script(lab, shell, check):
    """That its shell can read, and that knows the commands."""
    script = lab.eagre("completion", shell).ok().out
    for command in ("demo", "run", "send", "sim", "check", "ports", "doctor", "schema"):
        assert command in script
    if check:
        process = lab.start(*check, stdin=-1)
        _, err = process.communicate(script, timeout=10)
        assert process.returncode == 0 and not err, err


def test_help_and_version(lab):
    """Each command explains itself; the version is that of the result."""
    version = lab.eagre("--version").ok().out.split()
    assert (
        version[0] == "eagre"
        and version[1] == lab.eagre("demo", "--duration", "20ms", "--json", "-").result()["version"]
    )
    for command in ("demo", "run", "send", "sim", "check", "ports", "doctor", "schema", "completion"):
        assert "Usage: eagre " + command in lab.eagre(command, "--help").ok().out


def test_send_prints_the_profile_its_flags_make(lab):
    """That profile is good, and running it is running the flags."""
    flags = [
        "send",
        "--port",
        "ring:a",
        "--to",
        "ring:b",
        "--ip",
        "10.0.0.2/24",
        "--to-ip",
        "10.0.0.3/24",
        "--udp",
        "--size",
        "128",
        "--rate",
        "10kpps",
        "--for",
        "200ms",
        "--count",
        "1000",
    ]
    text = lab.eagre(*flags, "--print").ok().out
    assert "OK: " in lab.eagre("check", "-", stdin=text).ok().out
    by_profile, by_flags = lab.whole("run", "-", stdin=text).result(), lab.whole(*flags).result()
    for document in (by_profile, by_flags):
        assert sums(document, "tx") == 1000 and sums(document, "lost") == 0
        assert [port["tx_bytes"] for port in document["ports"].values()] == [128_000, 0]


@pytest.mark.parametrize(
    "more",
    [["--tcp", "--dport", "80"], ["--icmp"], ["--udp", "--vlan", "7"], ["--src", "10.0.0.9", "--sport", "5"]],
    ids=" ".join,
)
def test_send_knows_its_flags(lab, more):
    """Each kind of packet arrives."""
    flags = [
        "send",
        "--port",
        "ring:a",
        "--to",
        "ring:b",
        "--ip",
        "10.0.0.2/24",
        "--to-ip",
        "10.0.0.3/24",
        "--rate",
        "10kpps",
        "--for",
        "100ms",
    ]
    result = lab.whole(*flags, *more).result()
    assert (sums(result, "tx"), sums(result, "lost")) == (1000, 0)


# What people see.


def test_nothing_moves_where_there_is_no_terminal(lab):
    """No bar, no colours, no carriage returns in a pipe."""
    for done in (lab.eagre("demo", "--duration", "1200ms"), lab.eagre("demo", "--duration", "600ms", "--json", "-")):
        for text in (done.ok().out, done.err):
            assert not re.search("[\x1b\r█░▉]", text), repr(text)
    assert not done.err.startswith("{") and done.out.startswith("{")


def test_a_terminal_shows_progress(lab):
    """A bar and rates while running, on standard error."""
    ours, theirs = pty.openpty()
    process = lab.start(EAGRE, "demo", "--duration", "1500ms", stderr=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            seen += os.read(ours, 65536)
        except OSError:
            break
    os.close(ours)
    assert process.wait(20) in (0, 1)
    text = seen.decode()
    assert "sending" in text and "pps" in text and "%" in text


# In sentences.


def test_a_result_is_explained(lab, tmp_path):
    """A link that loses packets: how many, that it was not the tester, and what to do next; from a file, a folder and the store."""
    store = ("--store", tmp_path / "results.db")
    folder = tmp_path / "out"
    done = lab.eagre("sim", "examples/impaired-link.yaml", "--duration", "1s", "--out", folder, "--json", "-", cwd=REPO).ok().json
    lost = sum(one["lost"] for one in done["streams"].values())
    assert lost > 0
    lab.eagre("results", *store, "add", folder).ok()
    texts = [lab.eagre("explain", *of).ok().out for of in ((folder,), (folder / "result.json",), store)]
    assert texts[0] == texts[1] == texts[2]
    for heading in ("Measurement", "Confidence", "Limiting factor", "Next steps"):
        assert f"{heading}\n  " in texts[0]
    assert f"{lost:,} were lost" in texts[0] and "1 s of virtual time" in texts[0]
    assert f"{lost:,} packets were lost between the tester's ports" in texts[0]
    assert "eagre bench PROFILE throughput" in texts[0] and "Every figure holds" in texts[0]
    lab.eagre("explain", REPO / "docs" / "openapi.json").refused(BAD_INPUT, "not a result: it has no 'schema'")
    lab.eagre("explain", *store, "nothing").refused(BAD_INPUT, "nothing")
