"""Rates of sessions: changed while a run lasts, paused, scaled; and what they are counted over."""

import time

import pytest
from lab import pair, stream
from server import Server
from sessions import check, raw

DURATION = 3.0


def entry(name="s", app=None, ports=80, **rest):
    return {
        "name": name,
        "client": {"port": "west", "addresses": "10.0.0.2"},
        "server": {"port": "east", "addresses": "10.0.0.3", "ports": ports},
        "app": app or raw(),
        **rest,
    }


def controlled(lab, lines, *entries, streams=None, every=0.6, **rest):
    """A run that is told something from time to time: the document, its intervals, what was refused."""
    load = {"duration": f"{DURATION}s", "drain": "200ms"}
    profile = lab.profile(pair(), streams, sessions=list(entries), load=load, **rest)
    done, intervals = lab.controlled(profile, lines, every, intervals=8)
    assert done.ended, str(done)
    return done, intervals


def due(changes, rate, name="s", duration=DURATION):
    """Sessions due until the end, by the changes the result tells of."""
    sessions, at, now = 0.0, 0.0, rate
    for change in changes:
        if change.get("stream", name) != name:
            continue
        sessions, at, to = sessions + now * (change["at_s"] - at), change["at_s"], change["to"]
        now = rate * float(to.split("%")[0]) / 100 if "%" in to else float(to.removesuffix("/s"))
    return sessions + now * (duration - at)


def opened(one):
    """Sessions whose turn came: a busy machine opens some of them late, or not at all."""
    return one["attempted"] + one["unopened"] + one["withheld"]


def changed(done, *to):
    changes = done.json["rate_changes"]
    assert [change["to"] for change in changes] == list(to), changes
    return changes


SHARE = "{}% of the profile's rate"


@pytest.mark.parametrize(
    "lines, to",
    [
        (["pause", "resume s"], [SHARE.format(0), SHARE.format(100)]),
        (["scale 50%", "scale s 250%"], [SHARE.format(50), SHARE.format(250)]),
        (["rate s 500/s", "pause s", "rate 50/s"], ["500/s", SHARE.format(0), "50/s"]),
    ],
    ids=["pause", "scale", "rate"],
)
def test_opening_follows_commands(lab, lines, to):
    """To the session: what the rates make of the times the result tells."""
    done, _ = controlled(lab, lines, entry(open="200/s"))
    changes, one = changed(done, *to), check(done.json["sessions"]["s"])
    assert opened(one) == pytest.approx(due(changes, 200), abs=2), (one["attempted"], changes)
    assert one["failed"] == {} and one["requested_open_per_s"] == 200


def test_a_line_that_is_no_text_is_refused(lab):
    """Those after it are carried out."""
    done, _ = controlled(lab, [b"\xff\xfe", "pause"], entry(open="200/s"), every=0.2)
    assert "unknown command" in done.err, str(done)
    changed(done, SHARE.format(0))


def within(lines, begin, end, number):
    """A number of the entry, summed over the intervals between two instants."""
    inner = [line for line in lines if begin <= line["at_s"] - line["interval_s"] and line["at_s"] <= end]
    assert inner, (begin, end)
    return sum(line["sessions"]["s"][number] for line in inner)


def test_nothing_is_opened_while_paused(lab):
    """Nor is it made up for; entries that open as fast as they can pause, too."""
    for load in ({"open": "500/s"}, {"open": "max", "concurrent": 5}):
        done, lines = controlled(lab, ["pause", "resume"], entry(app=raw(requests=2, think="5ms"), **load))
        pause, resume = (change["at_s"] for change in done.json["rate_changes"])
        assert within(lines, pause + 0.05, resume - 0.05, "attempted") == 0, load
        assert within(lines, 0, pause, "attempted") > 20 and within(lines, resume + 0.05, DURATION, "attempted") > 20, load


def test_a_share_of_what_is_held(lab):
    """`open: max` has no rate: `scale` sets how many sessions there are at a time."""
    done, lines = controlled(lab, ["scale 20%", "scale 200%"], entry(app=raw(requests=5, think="10ms"), open="max", concurrent=50))
    few, many = (change["at_s"] for change in done.json["rate_changes"])
    most = {
        share: max(line["sessions"]["s"]["active_max"] for line in lines if begin < line["at_s"] - line["interval_s"] and line["at_s"] < end)
        for share, begin, end in ((1.0, 0, few), (0.2, few + 0.2, many), (2.0, many, DURATION))
    }
    assert most == {1.0: 50, 0.2: 10, 2.0: 100}, most


def test_requests_follow_commands(lab):
    """Sessions that are open ask at the new rate at once, and not at all while paused."""
    app = raw(requests="endless")
    done, lines = controlled(lab, ["pause", "scale 300%"], entry(app=app, open="max", concurrent=20, request_rate="200/s"))
    pause, more = (change["at_s"] for change in done.json["rate_changes"])
    assert within(lines, pause + 0.05, more - 0.05, "requests") == 0
    requests = done.json["sessions"]["s"]["requests"]
    assert requests == pytest.approx(due(done.json["rate_changes"], 200), rel=0.1), requests
    assert done.json["sessions"]["s"]["failed"] == {}


def test_streams_and_sessions_together(lab):
    """`pause` holds both; a rate is of one kind."""
    lines = ["pause", "rate 2kpps", "rate s 100/s", "rate s 2kpps", "rate a 5/s", "scale nobody 50%"]
    streams = [stream("a", "west", "east", rate="1kpps")]
    done, _ = controlled(lab, lines, entry(open="200/s"), streams=streams, every=0.3)
    changes = done.json["rate_changes"]
    assert [(c.get("stream"), c["to"]) for c in changes] == [(None, SHARE.format(0)), (None, "2kpps"), ("s", "100/s")], changes
    for words in ("sessions are opened at a rate such as 500/s", "streams have a rate such as", "there is no stream 'nobody'"):
        assert words in done.err, done.err
    one = done.json["sessions"]["s"]
    assert opened(one) == pytest.approx(due([changes[0], changes[2]], 200), abs=2)


@pytest.mark.parametrize("entries, line, words", [
    ([{"open": "max", "concurrent": 5}], "rate 500/s", "as fast as they can"),
    ([{"open": {"ramp": {"rate": "100/s", "up": "1s"}}}], "rate s 500/s", "no constant rate"),
    ([{"open": "100/s"}], "rate 1kpps", "500/s"),
], ids=["max", "ramp", "packets"])  # fmt: skip
def test_what_can_not_be_done_is_said(lab, entries, line, words):
    done, _ = controlled(lab, [line], *(entry(**one) for one in entries))
    assert words in done.err and "rate_changes" not in done.json, done.err


def test_rates_count_from_the_start_delay(lab):
    """500/s from second 2 of 3 on are 500/s."""
    load = {"duration": "3s", "drain": "200ms"}
    sessions = [entry(open="500/s", start_delay="2s"), entry("brief", ports=81, open="500/s", **{"for": "500ms"})]
    done = lab.eagre("sim", lab.profile(pair(), None, sessions=sessions, load=load), "--json", "-")
    late, brief = (check(done.json["sessions"][name]) for name in ("s", "brief"))
    assert late["attempted"] == 500 and late["requested_open_per_s"] == 500
    for number, value in (("open_per_s", 500), ("transactions_per_s", 500), ("rx_bps_goodput", 400_000)):
        assert late[number] == pytest.approx(value, rel=0.01), (number, late[number])
    assert brief["open_per_s"] == pytest.approx(500, rel=0.01), brief


# Surplus answers.


@pytest.mark.parametrize("requests", [1, 3])
@pytest.mark.parametrize("surplus", [0, 50], ids=["right", "surplus"])
def test_surplus_answers_are_wrong(lab, requests, surplus):
    """150 bytes for `response: 100B`: each session fails, and goodput has no more than was asked for."""
    client, server = raw("100B", "100B", requests=requests), raw("100B", f"{100 + surplus}B", requests=requests)
    folder = lab.folder()
    port = {"addresses": "10.0.0.3", "ports": 9000}
    ours = {"name": "s", "client": {"port": "west", "addresses": "10.0.0.2"}, "server": port, "app": client, "open": "500/s", "count": 60}
    theirs = {"name": "t", "server": {"port": "east", **port}, "app": server}
    both = pair(f"memif:{folder}/x.sock", f"memif:{folder}/x.sock,server")
    there = lab.profile({"east": both["east"]}, None, sessions=[theirs], load={"duration": "8s", "drain": "100ms"})
    here = lab.profile({"west": both["west"]}, None, sessions=[ours], load={"duration": "1s", "drain": "300ms"})
    process = lab.start_eagre("run", there, "--json", "-")
    done = lab.eagre("run", here, "--json", "-")
    process.kill()
    one = check(done.json["sessions"]["s"])
    if not surplus:
        assert (one["completed"], one["failed"]) == (60, {}), str(done.ok())
        return
    assert one["failed"] == {"wrong_content": 60} and done.exit == 1, str(done)
    assert one["client"]["failure_details"] == {"more bytes than expected": 60}, one["client"]
    assert one["rx_bytes_goodput"] == 60 * 100 * requests, one["rx_bytes_goodput"]


@pytest.mark.unsteady("compares sessions opened with the instants of changes")
def test_rates_change_over_http(lab):
    """By the entry's name, like streams; what can't be done is refused with its reason."""
    server = Server(lab)
    profile = {"ports": pair("ring:rates.a", "ring:rates.b"), "sessions": [entry(open="200/s")], "load": {"duration": "20s"}}
    run = server.start(profile=profile)
    path = f"/api/v1/runs/{run['id']}"
    server.sends(run)
    for change in ({"stream": "s", "scale": 0}, {"stream": "s", "scale": 1}, {"rate": "400/s"}, {"scale": 0.5}):
        answer = server.ask("POST", f"{path}/rate", change)
        assert answer.status == 200, answer
    for change, status, words in (
        ({"stream": "t", "scale": 0}, 422, "no stream 't'"),
        ({"stream": "s", "rate": "1kpps"}, 409, "500/s"),
    ):
        answer = server.ask("POST", f"{path}/rate", change)
        assert answer.status == status and words in answer.detail, answer
    # Rates change a moment after the reply, and those that came too late for the run are not in its result.
    time.sleep(0.3)
    assert server.ask("POST", f"{path}/stop").status == 200
    server.ended(run)
    result = server.get(f"{path}/result")
    changes = result["rate_changes"]
    assert [change["to"] for change in changes] == [SHARE.format(0), SHARE.format(100), "400/s", SHARE.format(50)], changes
    one = result["sessions"]["s"]
    assert opened(one) == pytest.approx(due(changes, 200, duration=result["duration_s"]), abs=2)


@pytest.mark.parametrize("cores", [1, 2])
def test_results_by_phase(lab, cores):
    """Up to 300/s in a second, a second of that, down in a second: 150, 300 and 150 sessions, which add up to all; criteria
    know the phases."""
    entries = [entry(open={"ramp": {"rate": "300/s", "up": "1s", "hold": "1s", "down": "1s"}})]
    criteria = {"sessions.s.phases.sustain.open_per_s": "> 200", "sessions.s.phases.ramp_up.attempted": "< 1"}
    profile = lab.profile(
        pair(), None, sessions=entries, load={"duration": "4s", "drain": "200ms"}, criteria=criteria
    )
    done = lab.eagre("run", profile, "--json", "-", "--cores", cores)
    one = done.json["sessions"]["s"]
    phases = one["phases"]
    spans = {name: (phase["from_s"], phase["to_s"]) for name, phase in phases.items()}
    assert spans == {"ramp_up": (0, 1), "sustain": (1, 2), "ramp_down": (2, 3)}, spans
    for name, due_then in (("ramp_up", 150), ("sustain", 300), ("ramp_down", 150)):
        assert phases[name]["attempted"] == pytest.approx(due_then, rel=0.15), phases[name]
        assert phases[name]["active_max"] <= one["active_max"], phases[name]
    assert sum(phase["attempted"] for phase in phases.values()) == pytest.approx(one["attempted"], abs=2), one
    assert sum(phase["ttlb_ns"]["samples"] for phase in phases.values()) == pytest.approx(one["ttlb_ns"]["samples"], abs=2)
    outcomes = [row["outcome"] for row in done.json["criteria"]]
    # Rates of sessions can't be judged where other processes had the core.
    assert outcomes[0] == "met" or (outcomes[0] == "cannot_judge" and done.told["verdict"]["disturbed"]), done.json["criteria"]
    assert outcomes[1] == "not_met", done.json["criteria"]


def test_a_phase_that_is_none_is_told(lab):
    profile = lab.profile(pair(), None, sessions=[entry(open="10/s")], criteria={"sessions.s.phases.middle.active": "> 0"})
    done = lab.eagre("check", profile)
    assert done.exit == 2 and "sustain" in done.err, str(done)


def test_the_most_of_several_workers_has_two_bounds(lab):
    """200 sessions are held: two workers see that many, and neither bound is far from it. One worker needs no bounds."""
    for cores, bounded in ((1, False), (2, True)):
        entries = [entry(app=raw(), open="max", concurrent=200, hold="300ms")]
        profile = lab.profile(pair(), None, sessions=entries, load={"duration": "1s", "drain": "500ms"})
        one = lab.eagre("run", profile, "--json", "-", "--cores", cores).json["sessions"]["s"]
        if bounded and "active_max_at_least" in one:
            assert 150 <= one["active_max_at_least"] <= 200 <= one["active_max"] <= 260, one
        else:
            assert one["active_max"] == 200 and "active_max_at_least" not in one, one
