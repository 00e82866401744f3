"""Testbeds with something wrong: `eagre bench` says what in a sentence, soon, with the right exit code."""

import signal
import sqlite3
import time

import pytest
from bench import SPEED, Bench, why
from hosts import rules
from lab import INTERRUPTED, WEST4, stream, wait_until

UP = ("up", "west", "east")


def named(router, **more):
    """The ports of a router's tester, with a speed."""
    return {name: {**port, "speed": SPEED, **more} for name, port in router.ports("afpacket", v6=False).items()}


@pytest.fixture
def routed(lab):
    """A router between two ports, a campaign's runner, and a profile with a stream from west to east."""
    router = lab.router()
    profile = lab.profile(named(router), [stream(*UP)], seed=7)
    return router, Bench(lab, router.tester), profile


def soon(done, seconds=30):
    assert done.seconds < seconds, f"took {done.seconds:.1f} s: {done}"
    return done


def test_trials_of_sessions_that_cannot_be_are_refused_at_once(lab):
    """Not as a campaign that has failed, to be resumed in vain."""
    ports = {"west": {"device": "ring:a", "ip": "10.0.0.1/24"}, "east": {"device": "ring:b", "ip": "10.0.0.2/24"}}
    entry = {"name": "web", "client": {"port": "west"}, "server": {"port": "east"}, "app": "http", "open": "1/s"}
    profile = lab.profile(ports, None, sessions=[entry], load={"duration": "1s"})
    store = profile.parent / "results.db"
    done = lab.eagre("bench", "sessions", profile, "--sim", "--set", "phases.sustain=500ms", "--store", store)
    assert done.exit == 2 and "phases.sustain must be at least 1s" in done.err, str(done)
    assert "resume" not in done.err and not store.exists(), str(done)


class TestWiring:
    def wired(self, lab, joined):
        """Three ports of the tester on a device that joins some of them."""
        tester, device = lab.netns("tester"), lab.netns("device")
        for index in range(3):
            lab.veth(tester, f"veth{index}", device, f"d{index}")
        device.ip("link", "add", "br0", "type", "bridge")
        device.ip("link", "set", "br0", "up")
        for index in joined:
            device.ip("link", "set", f"d{index}", "master", "br0")
        ports = {
            name: {"device": f"afpacket:veth{index}", "ip": f"10.0.0.{index + 2}/24", "speed": SPEED}
            for index, name in enumerate(["west", "east", "south"])
        }
        known = {"ethernet": {"dst": "02:00:00:00:00:99"}}
        packet = [known, {"ipv4": {"dst": "10.0.0.3"}}, "udp"]
        profile = lab.profile(ports, [{"name": "up", "from": "west", "to": "east", "packet": packet}])
        return Bench(lab, tester), profile

    def test_a_cable_in_the_wrong_port(self, lab):
        bench, profile = self.wired(lab, [0, 2])
        done = soon(bench.run("throughput", profile))
        assert done.exit == 1, str(done)
        said = why(done)
        assert said.startswith("Wrong cable: of ") and "'west to east'" in said, said
        assert "arrived at a wrong port and 0 at the right one." in said, said

    def test_a_cable_that_is_missing(self, lab):
        """Nothing says that frames do not arrive but that they do not arrive."""
        bench, profile = self.wired(lab, [0])
        done = soon(bench.run("throughput", profile))
        assert done.exit == 1, str(done)
        assert why(done).startswith("Nothing arrives: not one of "), why(done)
        assert "is the cable in?" in why(done)

    def test_a_port_without_carrier(self, routed):
        router, bench, profile = routed
        router.router.ip("link", "set", "r1", "down")
        done = soon(bench.run("throughput", profile))
        done.refused(3, "veth1 has no carrier: its cable is out, or its peer is down")

    def test_no_neighbour_answers(self, routed):
        """With addresses on the ports it is noticed before anything is sent."""
        router, bench, profile = routed
        router.router.ip("address", "flush", "dev", "r1")
        done = soon(bench.run("throughput", profile))
        done.refused(3, "port east: no reply from 10.0.1.1", "resume with: eagre bench --resume")

    def test_ports_swapped(self, lab):
        """The device's interfaces have each other's addresses."""
        router = lab.router()
        router.router.sysctl({"net.ipv4.conf.all.arp_ignore": 1})
        for inner, old, new in [("r0", "10.0.0.1/24", "10.0.1.1/24"), ("r1", "10.0.1.1/24", "10.0.0.1/24")]:
            router.router.ip("address", "del", old, "dev", inner)
            router.router.ip("address", "add", new, "dev", inner)
        profile = lab.profile(named(router), [stream(*UP)])
        done = soon(Bench(lab, router.tester).run("throughput", profile))
        done.refused(3, "no reply from 10.0.", "check that the device under test is up")


@pytest.mark.unsteady("three trials with a disturbed tester end a method")
class TestDevice:
    def test_one_that_forwards_nothing(self, routed):
        router, bench, profile = routed
        router.router.sysctl({"net.ipv4.conf.all.forwarding": 0})
        done = soon(bench.run("throughput", profile))
        assert done.exit == 1, str(done)
        assert why(done).startswith("Nothing arrives: not one of "), why(done)
        assert "routes right" in why(done)
        assert len({trial["key"] for trial in bench.trials()}) <= 5, "a disturbed trial is run again"

    def test_one_direction_that_is_silent(self, lab):
        router = lab.router()
        rules(router.router, "forward", "iifname r1 counter name hit drop")
        profile = lab.profile(named(router), [stream(*UP), stream("down", "east", "west")])
        done = soon(Bench(lab, router.tester).run("throughput", profile))
        assert done.exit == 1, str(done)
        assert why(done).startswith("Nothing of 'east to west' arrives, while the rest does."), why(done)

    def test_a_loop(self, lab):
        """Every frame comes back again and again."""
        link = {"speed": SPEED, "duplicate": "100%"}
        ports = {
            "west": {"device": "ring:a", "ip": f"{WEST4}/24"},
            "east": {"device": "ring:b", "ip": "10.0.0.3/24"},
        }
        profile = lab.profile(ports, [stream(*UP)], sim={"link": link})
        done = soon(Bench(lab).run("throughput", profile, "--sim"))
        assert done.exit == 1, str(done)
        assert why(done).startswith("A loop: ") and "'west to east'" in why(done), why(done)

    def test_one_that_dies(self, routed):
        """It forwards for a while, and then no more."""
        router, bench, profile = routed
        process = bench.start("mrr", profile, "--json", "-", "--set", "repeats=30", search=False)
        wait_until(lambda: len(bench.trials()) > 1, "two trials", 30, every=0.1)
        router.router.sysctl({"net.ipv4.conf.all.forwarding": 0})
        done = bench.lab.finish(process, 40)
        assert done.exit == 1, str(done)
        assert why(done).startswith("Nothing arrives any more, though it did before"), why(done)
        assert why(done).endswith("Has the DUT crashed?")
        assert len(bench.trials()) < 30

    def test_one_whose_link_goes_down(self, routed):
        router, bench, profile = routed
        process = bench.start("mrr", profile, "--set", "repeats=30", search=False)
        wait_until(lambda: len(bench.trials()) > 1, "two trials", 30, every=0.1)
        router.router.ip("link", "set", "r1", "down")
        done = bench.lab.finish(process, 40)
        assert done.exit in (1, 3), str(done)
        assert "port east: no reply" in done.err or "Nothing arrives any more" in done.out, str(done)
        assert 2 <= len(bench.trials()) < 30, "what has finished is kept"

    @pytest.mark.unsteady("trials come late on a busy machine, so the device can be away between two of them")
    def test_one_that_resets(self, routed):
        """It is away during a trial, and the search ends all the same, with its answer."""
        router, bench, profile = routed
        settings = ["--set", "loss_verification=3", "--set", "final_trial=4s"]
        process = bench.start("throughput", profile, "--json", "-", *settings)
        wait_until(bench.trials, "a trial", 30, every=0.05)
        time.sleep(0.5)
        router.router.ip("link", "set", "r1", "down")
        time.sleep(1)
        router.router.ip("link", "set", "r1", "up")
        result = bench.lab.finish(process, 50).ok().json["results"][0]
        assert any(trial["lost"] for trial in result["trials"]), result["trials"]
        assert result["findings"]["rows"][0]["throughput"], result

    @pytest.mark.quiet
    def test_one_that_always_loses(self, routed):
        router, bench, profile = routed
        rules(router.router, "forward", "numgen random mod 10 == 0 counter name hit drop")
        done = soon(bench.run("throughput", profile, "--set", "minimum=0.1"), 40)
        assert done.exit == 1, str(done)
        row = done.json["results"][0]["findings"]["rows"][0]
        assert row["limit"] == "impossible" and row.get("throughput") is None, row
        assert 0.03 < row["loss_at_minimum"] < 0.2, row
        said = done.json["results"][0]["summary"][0]
        assert "none. The smallest load, 10% of the line rate, still lost" in said, said


class TestInterrupted:
    @pytest.fixture
    def wire(self, lab):
        """A link from port to port in virtual time, where nothing disturbs a trial, and a campaign of some seconds."""
        ports = {
            "west": {"device": "ring:a", "ip": f"{WEST4}/24", "speed": SPEED},
            "east": {"device": "ring:b", "ip": "10.0.0.3/24", "speed": SPEED},
        }
        profile = lab.profile(ports, [stream(*UP)], seed=7, sim={"link": {"speed": SPEED}})
        return Bench(lab), profile

    REPEATS = 200

    def begun(self, bench, profile):
        process = bench.start("mrr", profile, "--sim", "--set", f"repeats={self.REPEATS}", search=False)
        wait_until(lambda: len(bench.trials()) >= 2, "two trials", 30, every=0.05)
        return process

    def test_ctrl_c(self, wire):
        bench, profile = wire
        process = self.begun(bench, profile)
        process.send_signal(signal.SIGINT)
        done = bench.lab.finish(process, 10)
        assert done.exit == INTERRUPTED, str(done)
        assert "INTERRUPTED; resume with: eagre bench --resume " in done.out, str(done)
        shown = bench.shown()
        assert shown["campaign"]["state"] == "interrupted", shown["campaign"]
        assert 2 <= len(shown["trials"]) < self.REPEATS
        again = bench.resume().ok()
        assert again.json["ended"] == "done" and len(bench.trials()) == self.REPEATS

    def test_killed(self, wire):
        """What has finished is not run again."""
        bench, profile = wire
        process = self.begun(bench, profile)
        process.kill()
        process.wait(10)
        before = bench.trials()
        assert 2 <= len(before) < self.REPEATS
        done = bench.resume().ok()
        assert f"{len(before)} trials already done" in done.err, done.err
        after = bench.trials()
        assert len(after) == self.REPEATS and bench.shown()["campaign"]["state"] == "done"
        assert after[: len(before)] == before, "trials that had finished are as they were"
        ran = [line for line in done.err.splitlines() if "full load" in line]
        assert len(ran) == self.REPEATS - len(before), done.err
        bench.resume().refused(2, "is done: nothing to resume")

    def test_with_another_profile_seed_or_version(self, wire):
        bench, profile = wire
        process = self.begun(bench, profile)
        process.kill()
        process.wait(10)
        text = profile.read_text()
        profile.write_text(text + "\n")
        bench.resume().refused(2, "cannot resume campaign ", "profile")
        profile.write_text(text)
        bench.resume("--seed", 8).refused(2, "cannot resume campaign ", "seed")
        with sqlite3.connect(bench.store) as store:
            store.execute("UPDATE campaign SET version = '0.0.1'")
        store.close()
        bench.resume().refused(2, "cannot resume campaign ", "0.0.1")


def test_a_method_the_profile_has_nothing_for(lab):
    ports = {"west": {"device": "ring:a"}, "east": {"device": "ring:b"}}
    profile = lab.profile(ports, [{"name": "up", "from": "west", "to": "east", "packet": ["ipv4", "udp"]}])
    done = Bench(lab).run("throughput", profile)
    assert done.exit == 2, str(done)
    assert "speed" in done.err or "ip" in done.err, done.err
