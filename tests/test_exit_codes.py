"""Exit codes: the table of docs/exit-codes.md is the program's, and each code is produced for real."""

import json
import os
import re
import signal
import time
from pathlib import Path

import pytest
from lab import BAD_INPUT, CANNOT_JUDGE, FAILED, INTERRUPTED, NOTHING_FOUND, REFUSED, REPO, call, pair, stream, wait_until

FIRST_BETTER, SECOND_BETTER = 6, 7
ROW = re.compile(r"^\| (\d+) \| (.+?) \| .+ \|$", re.MULTILINE)
TABLE = dict(ROW.findall((REPO / "docs/exit-codes.md").read_text()))


def test_help_and_manual_pages_have_the_table(lab):
    """The same codes with the same words, in the documentation, in --help and on every manual page."""
    said = lab.eagre("--help").ok().out.split("Exit codes:\n")[1]
    assert dict(re.findall(r"^ +(\d+)  (.+)$", re.sub(r"\n {7,}", " ", said), re.MULTILINE)) == TABLE
    page = lab.eagre("man").ok().out.split(".SH EXIT STATUS\n")[1]
    assert {code: text.replace("\\-", "-") for code, text in re.findall(r"\.TP\n(\d+)\n(.+)\n", page)} == TABLE


def quick(lab, *streams, criteria=None, duration="300ms", **rest):
    streams = list(streams) or [stream("s", "west", "east", rate="1kpps")]
    return lab.profile(pair(), streams, load={"duration": duration, "drain": "50ms"}, criteria=criteria or {}, **rest)


def started(lab, profile, *arguments, command="run"):
    """A run of which traffic flows."""
    lines = profile.parent / "lines.jsonl"
    process = lab.start_eagre(command, profile, "--jsonl", lines, "--interval", "50ms", *arguments)
    wait_until(lambda: lines.exists() and lines.read_text().count("\n") >= 2, "traffic")
    return process


def paused(lab, *arguments, criteria=None, duration="1500ms"):
    """A run that is stopped for 300 ms, as by another process that has its core."""
    process = started(lab, quick(lab, criteria=criteria, duration=duration), *arguments)
    pause(process)
    return lab.finish(process)


def pause(process):
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGCONT)


def interrupted(lab, command="run", duration="60s"):
    process = started(lab, quick(lab, duration=duration), command=command)
    process.send_signal(signal.SIGINT)
    return lab.finish(process)


# Whether packets arrived at most 50 ms apart: the pause says no, what it left alone says yes.
IN_DOUBT = {"streams.s.interarrival_ns.max": "< 50ms"}


def passed(lab):
    return lab.eagre("sim", quick(lab, criteria={"streams.s.lost": "== 0"}))


def disturbed_where_it_does_not_matter(lab):
    """Nothing is lost, whatever the tester suffered: that holds."""
    done = paused(lab, "--json", "-", criteria={"streams.s.lost": "== 0", "streams.s.tx": "> 100"})
    assert done.told["verdict"]["disturbed"], done
    return done


def criterion_failed(lab):
    return lab.eagre("run", quick(lab, criteria={"streams.s.tx": "< 10"}))


def less_than_half(lab):
    packet = [{"ethernet": {"dst": "02:00:00:00:00:09"}}, "ipv4", "udp"]
    one = {"name": "s", "from": "west", "to": "east", "packet": packet, "rate": "1kpps"}
    return lab.eagre("sim", quick(lab, one, sim={"link": {"loss": "90%"}}))


def unknown_key(lab):
    return lab.eagre("run", quick(lab, bogus=1))


def unknown_option(lab):
    return lab.eagre("run", quick(lab), "--bogus")


def too_many_cores(lab):
    return lab.eagre("run", quick(lab), "--cores", 256)


def disturbed_where_it_matters(lab):
    return paused(lab, criteria=IN_DOUBT)


def bisect_finds_nothing(lab):
    """Both steps are equally fast."""
    repo, identity = lab.folder() / "device", ("-c", "user.name=a", "-c", "user.email=a@example.net", "-c", "commit.gpgsign=false")
    call("git", "init", "--quiet", "--initial-branch=main", repo)
    for step in "ab":
        call("git", "-C", repo, *identity, "commit", "--quiet", "--allow-empty", "--message", step)
    steps = ("--repo", repo, "--good", "main~1", "--bad", "main", "--dut-command", "echo router:capacity=100kpps,buffer=64")
    return lab.eagre("bisect", overload(lab), *steps, "--sim", "--seed", 5, timeout=120)


def no_burst_is_too_long(lab):
    """For a wire, which has the line rate."""
    ports = {name: {**port, "speed": "1Gbps"} for name, port in pair().items()}
    profile = lab.profile(ports, [stream("s", "west", "east", rate="1kpps")], load={"duration": "300ms"})
    store = lab.folder() / "results.db"
    return lab.eagre("bench", "back-to-back", profile, "--sim", "--quick", "--sizes", "64B", "--store", store)


def overload(lab):
    """More than a router of 100 kpps forwards."""
    networks = {"west": ("ring:a", 0), "east": ("ring:b", 1)}
    ports = {name: {"device": device, "ip": f"10.0.{n}.2/24", "gateway": f"10.0.{n}.1"} for name, (device, n) in networks.items()}
    streams = [stream("s", "west", "east", rate="120kpps", pattern="poisson")]
    return lab.profile(ports, streams, load={"duration": "100ms", "drain": "100ms"})


def versus(lab, a, b):
    sides = [f"router:capacity={kpps}kpps,buffer=64" for kpps in (a, b)]
    return lab.eagre("versus", overload(lab), "--sim", "--dut-a", sides[0], "--dut-b", sides[1], "--seed", 3)


def first_is_better(lab):
    return versus(lab, 102, 100)


def second_is_better(lab):
    return versus(lab, 100, 102)


@pytest.mark.parametrize(
    ("code", "how"),
    [
        (0, passed),
        (0, disturbed_where_it_does_not_matter),
        (0, no_burst_is_too_long),
        (FAILED, criterion_failed),
        (FAILED, less_than_half),
        (BAD_INPUT, unknown_key),
        (BAD_INPUT, unknown_option),
        (REFUSED, too_many_cores),
        (CANNOT_JUDGE, disturbed_where_it_matters),
        (NOTHING_FOUND, bisect_finds_nothing),
        (FIRST_BETTER, first_is_better),
        (SECOND_BETTER, second_is_better),
        (INTERRUPTED, interrupted),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_each_code_is_produced(lab, code, how):
    assert str(code) in TABLE
    done = how(lab)
    assert done.exit == code, str(done)


def test_all_codes_of_the_table_are_tried():
    """No row is without a run above."""
    codes = {str(code) for mark in test_each_code_is_produced.pytestmark for code, _ in mark.args[1]}
    assert codes == set(TABLE)


@pytest.mark.parametrize("command", ["run", "sim"])
def test_interrupted_runs_write_what_they_have(lab, command):
    done = interrupted(lab, command, "10h" if command == "sim" else "60s")
    assert done.exit == INTERRUPTED and "interrupted" in done.out, str(done)


def test_ctrl_c_ends_the_wait_for_neighbours(lab):
    """At once, and not after the 5 s that they have to reply."""
    ports = {**pair(), "west": {"device": "ring:a", "ip": "10.0.0.1/24", "gateway": "10.0.0.254"}}
    profile = lab.profile(ports, [stream("s", "west", "east", rate="1kpps", packet=[{"ipv4": {"dst": "10.9.0.1"}}, "udp"])])
    for command in (["run", profile], ["ci", profile]):
        process = lab.start_eagre(*command)
        handled = lambda: int(re.search(r"SigCgt:\s*(\w+)", Path(f"/proc/{process.pid}/status").read_text()).group(1), 16) & 2
        wait_until(lambda: process.poll() is not None or handled(), "a handler", 20)
        process.send_signal(signal.SIGINT)
        done = lab.finish(process, 30)
        assert done.exit == INTERRUPTED and "no reply" not in done.err, str(done)


def test_without_a_time_ctrl_c_ends_a_capture(lab):
    """tcpdump's way: the file is there, and nothing has failed."""
    folder = lab.folder()
    file = folder / "c.pcapng"
    for words, code in (((), 0), (("--for", "1h"), INTERRUPTED)):
        process = lab.start_eagre("capture", "--port", "ring:a", "--file", file, "--json", "-", *words)
        # It has its name from the first packet on.
        wait_until(lambda: any(folder.glob(".eagre-*.new")) or process.poll() is not None, "the capture has begun")
        process.send_signal(signal.SIGINT)
        done = lab.finish(process)
        assert done.exit == code and file.exists(), str(done)


# What --on-disturbed says.


def test_a_warning_is_no_failure(lab):
    done = paused(lab, "--on-disturbed", "warn", criteria=IN_DOUBT)
    assert done.exit == 0 and "can't be judged" in done.out.lower(), str(done)


def test_a_run_is_repeated_until_it_can_be_judged(lab):
    """The second run is left alone: it passes, and the result says that it is the second."""
    profile = quick(lab, criteria=IN_DOUBT, duration="1s")
    lines = profile.parent / "lines.jsonl"
    arguments = ("--jsonl", lines, "--interval", "50ms", "--json", "-", "--on-disturbed", "repeat", "5")
    process = lab.start_eagre("run", profile, *arguments)
    wait_until(lambda: lines.exists() and lines.read_text().count("\n") >= 2, "traffic")
    pause(process)
    done = lab.finish(process)
    assert re.search(r"run 1 can't be judged here: .*; running again, 1 of up to 5 times", done.err), str(done)
    assert done.ok().exit in (0, CANNOT_JUDGE) and done.told["overall"]["runs"] >= 2, done.told["overall"]
    assert lines.read_text().count("\n") == 21 or lines.read_text().count("\n") < 30, "of the last run only"


def test_repeats_have_a_limit(lab):
    """What never can be judged ends with code 4, after as many runs as were allowed."""
    # 100 million packets/s are more than a core sends: that is the tester's limit each time.
    profile = quick(lab, stream("s", "west", "east", rate="500Mpps"), duration="100ms")
    done = lab.eagre("run", profile, "--json", "-", "--on-disturbed", "repeat=2")
    assert done.exit == CANNOT_JUDGE and done.told["overall"]["runs"] == 3, str(done)
    assert "cores" in done.told["overall"]["remedy"], done.told["overall"]


def test_a_search_starts_again(lab):
    """As another campaign; who only wants to be warned gets 0. More than a core can send: never can be judged."""
    ports = {name: {**port, "speed": "100Gbps"} for name, port in pair().items()}
    profile = lab.profile(ports, [stream("s", "west", "east")])
    store = lab.folder() / "store.db"
    brief = ("--quick", "--sizes", "64B", "--trial", "50ms", "--settle", "0s", "--learning", "0s", "--drain", "20ms", "--set", "repeats=1")

    def run(*more):
        return lab.eagre("bench", "back-to-back", profile, *brief, "--store", store, *more, timeout=60)

    done = run("--on-disturbed", "repeat", "1")
    assert done.exit == CANNOT_JUDGE and "starts again, up to 1 times" in done.err, str(done)
    assert run("--on-disturbed", "warn").exit == 0
    listed = lab.eagre("results", "list", "--store", store).out
    assert listed.count("back-to-back") == 3, listed
    refused = lab.eagre("bench", "--resume", "--store", store, "--on-disturbed", "repeat 1")
    refused.refused(BAD_INPUT, "use fail or warn")


@pytest.mark.parametrize("wrong", ["again", "repeat", "repeat 0", "repeat=x"])
def test_bad_values_are_explained(lab, wrong):
    lab.eagre("run", quick(lab), f"--on-disturbed={wrong}").refused(BAD_INPUT, "--on-disturbed")


def test_the_document_says_what_the_exit_code_says(lab):
    """`overall`: one cause; of a disturbance, one remedy."""
    failed = criterion = lab.eagre("sim", quick(lab, criteria={"streams.s.tx": "< 10"}), "--json", "-")
    assert failed.exit == FAILED
    assert criterion.told["overall"] == {"outcome": "failed", "reason": "streams.s.tx is 300, not < 10"}
    overall = paused(lab, "--json", "-", criteria=IN_DOUBT).told["overall"]
    assert overall["outcome"] == "cannot_judge" and overall["reason"].startswith("streams.s.interarrival_ns.max: "), overall
    assert overall["remedy"], overall
    assert json.loads(lab.eagre("sim", quick(lab), "--json", "-").out)["overall"] == {"outcome": "passed"}
