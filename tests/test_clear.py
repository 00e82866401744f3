"""Counters set to zero during a run: from every door, with packets under way in a device, with losses before, and with sessions open."""

import json
import subprocess
import time

from pathlib import Path

import pytest
from lab import pair, stream, wait_until
from server import Server, rings
from sessions import of

HELD_MS = 100
# A device without its core holds them longer.
LATE_MS = 300


class Device:
    """A program between the tester's two interfaces that holds each frame for HELD_MS."""

    def __init__(self, lab):
        self.tester, self.device = lab.netns("tester"), lab.netns("device")
        self.device.sysctl({"net.ipv6.conf.all.disable_ipv6": 1})
        lab.veth(self.tester, "veth0", self.device, "west")
        lab.veth(self.tester, "veth1", self.device, "east")
        command = ["/usr/bin/python3", Path(__file__).with_name("holder.py"), "west", "east", HELD_MS]
        self.process = lab.start(*command, ns=self.device, stdin=subprocess.PIPE)
        assert self.process.stdout.readline().strip() == "ready"

    def ports(self):
        return pair("veth0", "veth1")

    def say(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline().strip() == word


def say(process, line):
    process.stdin.write(line + "\n")
    process.stdin.flush()


def started(lab, profile, ns, *more):
    """A run that takes commands, once it has sent for a while; its intervals go to a file."""
    path = profile.parent / "lines.jsonl"
    arguments = ("--control", "--json", "-", "--jsonl", path, "--interval", "50ms", *more)
    process = lab.start_eagre("run", profile, *arguments, ns=ns, stdin=subprocess.PIPE)
    wait_until(lambda: path.exists() and path.read_text().count("\n") >= 6, "traffic", 20)
    return process, path


@pytest.mark.unsteady("a program in Python may drop frames on a busy machine")
@pytest.mark.parametrize("cores", [1, 2])
def test_packets_under_way_are_neither_lost_nor_received(lab, cores):
    """100 ms of packets are in the device; before, it dropped some, which no figure after knows of."""
    device = Device(lab)
    streams = [stream("a", "west", "east", rate="500pps"), stream("b", "east", "west", rate="200pps", outages="95%")]
    criteria = {"streams.a.loss_ratio": "<= 0", "streams.b.lost": "<= 0"}
    profile = lab.profile(device.ports(), streams, load={"duration": "4s", "drain": "500ms"}, criteria=criteria)
    process, _ = started(lab, profile, device.tester, "--cores", str(cores))
    device.say("drop")
    time.sleep(0.3)
    device.say("pass")
    time.sleep(0.3)
    say(process, "clear")
    process.stdin.close()
    process.stdin = None
    done = lab.finish(process).ok()
    result = done.json
    cleared = result["cleared"]
    assert cleared["times"] == 1 and cleared["exact"], cleared
    assert cleared["at_s"] + cleared["counted_s"] == pytest.approx(result["duration_s"], abs=1e-6)
    for name, rate in (("a", 500), ("b", 200)):
        row = result["streams"][name]
        assert row["lost"] == 0 and row["rx"] == row["tx"] > 0, row
        assert (row["duplicates"], row["reordered"], row["stale"]) == (0, 0, 0), row
        assert row["tx"] + row["tx_before_clear"] == pytest.approx(4 * rate, abs=1)
        # A worker that had to wait for its core at that instant sends afterwards what was due before.
        assert row["tx"] == pytest.approx(cleared["counted_s"] * rate, abs=0.1 * rate)
        assert row["offered_pps"] == pytest.approx(rate, rel=0.02)
        # What was in the device then: as much as is sent in the time it holds a frame.
        assert 0.7 * rate * HELD_MS / 1000 <= row["rx_before_clear"] <= rate * (HELD_MS + LATE_MS) / 1000, row
        assert row["latency_ns"]["samples"] == row["rx"] and row["latency_ns"]["min"] >= HELD_MS * 1e6
        assert row["latency_ns"]["max"] < 3 * HELD_MS * 1e6, "the longest is of after, too"
    assert result["streams"]["b"]["outages"]["count"] == 0
    assert "counters were set to zero at" in done.err, done.err
    assert json.loads(device.process.communicate("")[0])["dropped"] > 50


def test_a_clear_is_a_word_of_control(lab):
    """Twice; wrong words and times are refused."""
    profile = lab.profile(pair(), [stream("s", "west", "east", rate="10kpps")], load={"duration": "2s", "drain": "100ms"})
    done, intervals = lab.controlled(profile, ["clear now", "clear", "clear"], 0.2)
    result = done.ok().json
    assert "unknown command 'clear now'" in done.err
    row = result["streams"]["s"]
    assert result["cleared"]["times"] == 2 and row["lost"] == 0 and row["rx"] == row["tx"]
    # Intervals leave nothing out but what was under way.
    assert sum(one["streams"]["s"]["tx"] for one in intervals) == row["tx"] + row["tx_before_clear"]


def test_sessions_that_are_open_are_carried_on(lab):
    """Sessions of 300 ms, 100 a second: about 30 are open at any time. The counts of both sides add up."""
    hold = [{"send": "hello\n"}, {"wait": "300ms"}, "half_close", "expect_end"]
    server = [{"expect_until": "\n"}, "expect_end", "close"]
    entry = {
        "name": "s", "client": {"port": "west"}, "server": {"port": "east", "ports": 9000},
        "app": {"program": {"client": hold, "server": server}}, "open": "100/s",
    }  # fmt: skip
    profile = lab.profile(pair(), None, sessions=[entry], load={"duration": "3s", "drain": "2s"})
    process, _ = started(lab, profile, None)
    time.sleep(0.5)
    say(process, "clear")
    process.stdin.close()
    process.stdin = None
    done = lab.finish(process).ok()
    result, one = done.json, of(done)
    assert one["open_at_clear"] == pytest.approx(30, abs=10)
    assert one["attempted"] + one["attempted_before_clear"] == 300
    assert one["completed"] == one["attempted"] + one["open_at_clear"] and one["active"] == 0
    assert one["failed_ratio"] == 0 and result["achieved"]["sessions"]["ratio"] == 1.0
    assert one["open_per_s"] == pytest.approx(100, rel=0.05)
    assert one["active_max"] <= 45
    assert one["server"]["completed"] == one["server"]["attempted"] + one["server"]["open_at_clear"]


def test_sessions_that_were_all_opened_before_fail_nothing(lab):
    """A warm-up opens all sessions, and only then counts begin: none is attempted, all are completed."""
    hold = [{"send": "hello\n"}, {"wait": "2s"}, "half_close", "expect_end"]
    server = [{"expect_until": "\n"}, "expect_end", "close"]
    entry = {
        "name": "s", "client": {"port": "west"}, "server": {"port": "east", "ports": 9000},
        "app": {"program": {"client": hold, "server": server}}, "open": "1000/s", "count": 40,
    }  # fmt: skip
    profile = lab.profile(pair(), None, sessions=[entry], load={"duration": "4s", "drain": "2s"})
    process, path = started(lab, profile, None)
    wait_until(lambda: '"active":40' in path.read_text(), "all sessions", 20)
    say(process, "clear")
    process.stdin.close()
    process.stdin = None
    done = lab.finish(process).ok()
    one = of(done)
    assert (one["attempted"], one["open_at_clear"], one["completed"], one["failed_ratio"]) == (0, 40, 40, 0), one
    assert one["attempted_before_clear"] == 40 and one["open_per_s"] == 0, one
    assert "40 of 40" in done.out or "40 of 40" in done.err or done.json["achieved"]["sessions"]["ratio"] == 1.0


def test_rates_after_a_clear_are_of_the_time_that_counts(lab):
    """A stream with a number, slowed down, so that it is under way when by its rate it would be over; and intervals beside the clear."""
    streams = [stream("s", "west", "east", rate="10kpps", count=24_000)]
    profile = lab.profile(pair(), streams, load={"duration": "8s", "drain": "100ms"})
    done, intervals = lab.controlled(profile, ["scale 50%", "clear", "clear", "clear"], 0.2)
    row, result = done.ok().json["streams"]["s"], done.json
    assert row["tx"] + row["tx_before_clear"] == 24_000 and row["rx"] == row["tx"] > 0, row
    assert row["offered_pps"] < 11_000, row
    assert result["cleared"]["times"] == 3 and result["cleared"]["counted_s"] > 0, result["cleared"]
    for interval in intervals:
        port = interval["ports"]["west"]
        assert port["tx_pps"] < 40_000, interval


def test_http_and_snapshots(lab):
    """The server's door: totals begin anew, the run's changes say so, and an ended run refuses."""
    server = Server(lab)
    run = server.start(profile=rings("10kpps", "60s"))
    path = f"/api/v1/runs/{run['id']}"
    look = lambda: server.get(f"{path}/snapshot")
    server.sends(run, 5000)
    before = look()
    assert "cleared" not in before["total"]
    answer = server.ask("POST", f"{path}/clear")
    assert answer.status == 200, answer
    assert "counters set to zero" in json.dumps(answer.json()), answer
    after = wait_until(lambda: (seen := look())["total"].get("cleared") and seen, "a newer look")
    row, cleared = after["total"]["streams"]["s0"], after["total"]["cleared"]
    assert row["tx"] <= 10_000 * (cleared["counted_s"] + 0.2), row
    assert row["tx_before_clear"] >= before["total"]["streams"]["s0"]["tx"], row
    assert after["total"]["ports"]["west"]["tx_packets"] == row["tx"]
    assert server.ask("POST", f"{path}/stop").status == 200
    server.ended(run)
    result = server.get(f"{path}/result")
    assert result["streams"]["s0"]["lost"] == 0 and result["cleared"]["times"] == 1
    assert server.ask("POST", f"{path}/clear").status == 409
