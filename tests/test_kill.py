"""A killed run does not disturb the next one; an interrupted run restores the machine's state."""

import json
import re
import signal
import time
from pathlib import Path

import pytest
from lab import INTERRUPTED, OTHERS, call, need, pair, settled, stream, sums, wait_until

LONG = {"duration": "30s", "drain": "500ms"}
SHORT = ["--duration", "300ms", "--json", "-"]


@pytest.fixture
def tester(lab):
    """A namespace with both ends of a veth pair, v0 and v1, without addresses."""
    namespace = lab.netns("tester")
    lab.veth(namespace, "v0", namespace, "v1")
    return namespace


def left_over():
    """What a process that is gone must not keep on the machine."""
    memory = Path("/proc/meminfo").read_text().splitlines()
    places = [
        Path(place) for place in ("/var/run/dpdk", "/run/user/0/dpdk", "/dev/hugepages", "/sys/fs/bpf/xdp", "/var/lock")
    ]
    files = [path for place in places if place.is_dir() for path in place.iterdir()]
    return {
        "huge pages": [line for line in memory if line.startswith(("HugePages_Free", "HugePages_Rsvd"))],
        "files": sorted(str(path) for path in files if is_left_over(path.name)),
        "namespaces": sorted(line for line in call("ip", "netns", "list").splitlines() if is_left_over(line)),
    }


def is_left_over(name):
    """Not what belongs to a process that lives, nor to these tests."""
    owner = re.match(r"eagre-(\d+)", name)
    lives = owner is not None and Path(f"/proc/{owner[1]}").exists()
    return "eagre" in name and not lives and not OTHERS.match(name)


def both_ways():
    return [
        stream("eastward", "west", "east", 9001, rate="20kpps"),
        stream("westward", "east", "west", 9002, rate="20kpps"),
    ]


def killed(lab, profile, ns, is_sending):
    """A run that was killed when it had sent for a while."""
    process = lab.start_eagre("run", profile, ns=ns)
    wait_until(lambda: is_sending() or process.poll() is not None, "traffic", 15)
    time.sleep(0.3)
    assert process.poll() is None, process.communicate()[1]
    process.kill()
    process.wait(10)


def works(lab, profile, ns=None):
    """The next run on the same ports is good."""

    def check(done):
        result = done.result()
        assert result["verdict"]["valid"] and sums(result, "tx") > 0
        assert sums(result, "lost") == 0, result["streams"]

    settled(lambda: lab.eagre("run", profile, *SHORT, ns=ns), check)


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
def test_the_next_run_on_a_killed_ones_interfaces_works(lab, tester, kind):
    """No XDP program, file, lock or huge page stays in its way; nor after it."""
    before = left_over()
    profile = lab.profile(pair(f"{kind}:v0", f"{kind}:v1"), both_ways(), load=LONG)
    for _ in range(2):
        killed(lab, profile, tester, lambda: tester.counters("v0")["tx"] > 1000)
        works(lab, profile, tester)
    assert left_over() == before
    assert not any("xdp" in tester.link(end) for end in ("v0", "v1")), "an XDP program is still there"


def test_another_kind_of_port_works_on_a_killed_ones_interfaces(lab, tester):
    """AF_PACKET after AF_XDP: no program catches its packets."""
    xdp, packet = (
        lab.profile(pair(f"{kind}:v0", f"{kind}:v1"), both_ways(), load=LONG) for kind in ("afxdp", "afpacket")
    )
    killed(lab, xdp, tester, lambda: tester.counters("v0")["tx"] > 1000)
    works(lab, packet, tester)
    works(lab, xdp, tester)


def test_the_next_run_on_a_killed_ones_sockets_works(lab):
    """memif: the socket file a killed server leaves does not stop the next one."""
    before, folder = left_over(), lab.folder()
    profile = lab.profile(pair(f"memif:{folder}/x.sock,server", f"memif:{folder}/x.sock"), both_ways(), load=LONG)
    for _ in range(2):
        killed(lab, profile, None, (folder / "x.sock").exists)
        works(lab, profile)
    assert left_over() == before


def test_the_next_run_after_a_killed_one_without_device_works(lab):
    """null and ring: nothing is left of DPDK's start."""
    before = left_over()
    packets = {"packet": [{"ethernet": {"dst": "02:00:00:00:00:01"}}], "rate": "20kpps"}
    streams = [{"name": "s", "from": "loop", "to": "loop", **packets}, {"name": "t", "from": "nowhere", **packets}]
    profile = lab.profile({"loop": {"device": "vdev:net_ring0"}, "nowhere": {"device": "null"}}, streams, load=LONG)
    begin = time.monotonic()
    killed(lab, profile, None, lambda: time.monotonic() - begin > 1.0)
    works(lab, profile)
    assert left_over() == before


def test_a_run_killed_while_it_starts_stops_no_next_one(lab, tester):
    """At any time within its first half second."""
    before = left_over()
    profile = lab.profile(pair("afxdp:v0", "afxdp:v1"), both_ways(), load=LONG)
    for delay in (0.05, 0.15, 0.25, 0.35, 0.45):
        process = lab.start_eagre("run", profile, ns=tester)
        time.sleep(delay)
        process.kill()
        process.wait(10)
    works(lab, profile, tester)
    assert left_over() == before


# Ctrl-C.


class Interfaces:
    """What is set on a namespace's interfaces, to see later what has changed."""

    def __init__(self, namespace):
        self.namespace, self.found = namespace, self.settings(namespace)

    @staticmethod
    def settings(namespace):
        links = json.loads(namespace.ip("-d", "-j", "link", "show"))
        return {(link["ifname"], key): value for link in links for key, value in link.items()}

    def changed(self):
        now = self.settings(self.namespace)
        return {
            key: (self.found.get(key), now.get(key))
            for key in self.found.keys() | now
            if self.found.get(key) != now.get(key)
        }


@pytest.mark.unsteady("measures the time from the signal to the last packet")
@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda how: how.name)
def test_an_interrupted_run_stops_reports_and_leaves_no_trace(lab, tester, kind, how):
    """Traffic ends within 2 s, the result says so, exit code 1, interfaces are as they were."""
    before, interfaces = left_over(), Interfaces(tester)
    out = lab.folder() / "out"
    profile = lab.profile(pair(f"{kind}:v0", f"{kind}:v1"), both_ways(), load=LONG)
    process = lab.start_eagre("run", profile, "--json", "-", "--out", out, "--interval", "200ms", ns=tester)
    wait_until(lambda: tester.counters("v0")["tx"] > 5000 or process.poll() is not None, "traffic", 15)
    assert process.poll() is None, process.communicate()[1]
    process.send_signal(how)
    stopped = time.monotonic()
    done = lab.finish(process, 10)
    assert time.monotonic() - stopped < 2 + 0.5, "drain included"
    assert done.exit == INTERRUPTED, str(done)
    result = done.json
    assert result["interrupted"] is True and result["verdict"]["valid"], result["verdict"]
    assert "interrupted" in done.err
    assert sums(result, "tx") > 5000 and sums(result, "lost") == 0, "what was sent before is not lost"
    assert 0 < result["duration_s"] < 29
    for one in result["streams"].values():
        assert abs(one["tx"] - 20_000 * result["duration_s"]) <= 20_000 * 0.05 + 64
    assert json.loads((out / "result.json").read_text())["interrupted"] is True
    assert interfaces.changed() == {}
    assert left_over() == before


def test_a_second_interrupt_does_no_harm(lab):
    """People press it twice; the result is still written."""
    process = lab.begun("demo", "--duration", "20s", "--json", "-")
    for _ in range(3):
        process.send_signal(signal.SIGINT)
        time.sleep(0.01)
    done = lab.finish(process, 10)
    assert done.exit == INTERRUPTED and done.json["interrupted"] is True, str(done)


def test_a_finished_run_leaves_no_trace(lab, tester):
    """Both kinds of interface ports, after an ordinary end and after a refusal."""
    need("ip")
    before, interfaces = left_over(), Interfaces(tester)
    for kind in ("afpacket", "afxdp"):
        works(lab, lab.profile(pair(f"{kind}:v0", f"{kind}:v1"), both_ways(), load=LONG), tester)
        lab.eagre("run", lab.profile(pair(f"{kind}:v0", f"{kind}:v9"), both_ways(), load=LONG), ns=tester).refused(3)
        assert interfaces.changed() == {}, kind
    assert left_over() == before
