"""`eagre lab`: every topology comes up, carries traffic and goes away without a trace, whatever happens in between.

The labs made here are called t<number of this process>-…, so that leftovers of a killed run can be identified. Those
that need more than CI installs run with EAGRE_LAB=all (`make lab`).
"""

import contextlib
import ipaddress
import json
import os
import re
import shlex
import signal
from pathlib import Path
from xml.etree import ElementTree

import pytest
from lab import CANNOT_JUDGE, EAGRE, INTERRUPTED, call, need, settled, stream, sums, wait_until

EVERYTHING = os.environ.get("EAGRE_LAB") == "all"
MINE = f"t{os.getpid()}-"
KERNEL = ["kernel-router", "kernel-router-routes", "kernel-router-rules", "firewall-nat", "bridge", "chain", "parallel"]
IN_CI = [*KERNEL, "bgp-router", "ospf-area", "ovs", "ovs-switch", "testpmd", "nginx", "haproxy-nginx", "haproxy-balancer", "nft-balancer"]
# The one with many routes has a separate test.
TOPOLOGIES = [*(one for one in IN_CI if one != "kernel-router-routes"), *(["ovs-dpdk"] if EVERYTHING else [])]
HUGE_PAGES = Path("/proc/sys/vm/nr_hugepages")


def marked_alone(topologies):
    """Topologies as parameters; those whose device takes a whole core run with no other test beside them."""
    return [pytest.param(one, marks=pytest.mark.alone) if one in ("testpmd", "ovs-dpdk") else one for one in topologies]


def alive(pid):
    """Whether a process runs, and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def marked(name):
    """Processes with a lab's mark in their environment."""
    mark, found = f"EAGRE_LAB={name}".encode(), []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in path.read_bytes().split(b"\0") and alive(path.parent.name):
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


def in_namespaces(inodes):
    """Processes in namespaces with these numbers."""
    found = []
    for path in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            if path.stat().st_ino in inodes and alive(path.parts[2]):
                found.append(int(path.parts[2]))
        except OSError:
            pass
    return found


class Labs:
    """The labs of a test."""

    def __init__(self, lab):
        self.lab, self.names, self.pages, self.held = lab, [], int(HUGE_PAGES.read_text()), []

    def name(self, label):
        self.names.append(f"{MINE}{label}")
        return self.names[-1]

    def eagre(self, *arguments, **options):
        return self.lab.eagre("lab", *arguments, **{"timeout": 90, **options})

    def up(self, topology, *options):
        """Brings a topology up; its name."""
        name = self.name(topology)
        self.eagre("up", topology, "--name", name, *options).ok()
        return name

    def status(self, name):
        """The entry of a lab in `lab status`."""
        listed = self.eagre("status", "--json").ok().json
        return next((one for one in listed if one["name"] == name), None)

    def namespace(self, name, role):
        return f"eagre-lab-{name}.{role}"

    def run(self, name, role, *command, **options):
        return call("ip", "netns", "exec", self.namespace(name, role), *command, **options)

    def inodes(self, name):
        return {path.stat().st_ino for path in Path("/run/netns").glob(f"eagre-lab-{name}.*")}

    def hold(self, name):
        """The same, and no other test's namespace gets one of these numbers before the end of this test."""
        for path in Path("/run/netns").glob(f"eagre-lab-{name}.*"):
            with contextlib.suppress(OSError):
                self.held.append(path.open())
        return {os.fstat(file.fileno()).st_ino for file in self.held}

    def down(self, name):
        """Takes a lab down and makes sure that it is gone."""
        inodes = self.hold(name)
        done = self.eagre("down", name).ok()
        assert f"lab {name} is down" in done.out
        self.gone(name, inodes)

    def gone(self, name, inodes):
        """Nothing of a lab is left."""
        assert self.status(name) is None
        assert not list(Path("/run/netns").glob(f"eagre-lab-{name}.*"))
        assert not Path(f"/run/eagre/lab-{name}").exists()
        assert (marked(name), in_namespaces(inodes)) == ([], [])
        assert int(HUGE_PAGES.read_text()) == self.pages
        assert not (Path("/var/run/dpdk") / name).exists()

    def close(self):
        for name in self.names:
            if self.inodes(name) or Path(f"/run/eagre/lab-{name}").exists():
                self.eagre("down", name)
        for file in self.held:
            file.close()


@pytest.fixture(scope="module", autouse=True)
def leftovers(program):
    """Takes down what runs of these tests that are dead by now have left behind."""
    if os.geteuid() == 0:
        for one in json.loads(call(EAGRE, "lab", "status", "--json")):
            owner = re.match(r"t(\d+)-", one["name"])
            if owner and not Path(f"/proc/{owner[1]}").exists():
                call(EAGRE, "lab", "down", one["name"], check=False)


@pytest.fixture
def labs(lab):
    need("ip", "sysctl")
    labs = Labs(lab)
    yield labs
    labs.close()


def command_of(test, *more):
    """The command that `lab status` suggests, with this program for 'eagre'."""
    return [str(EAGRE) if word == "eagre" else word for word in test["command"]] + [*more]


def crosses(labs, test):
    """Runs a test of a lab: all packets sent arrive, or responses do. Methods have separate tests."""
    if test["name"] in ("rfc2544", "sessions", "balancer", "switch"):
        return
    if test["name"] in ("curl", "wrk"):
        said = call(*command_of(test))
        assert "eagre is a tidal bore" in said or float(re.search(r"Requests/sec: +([\d.]+)", said)[1]) > 10
        return

    def once():
        process = labs.lab.start(*command_of(test, "--duration", "1s", "--rate", "2kpps", "--json", "-"))
        return labs.lab.finish(process)

    def check(done):
        result = done.json
        assert done.ended and result["verdict"]["valid"], result["verdict"]
        assert len(result["streams"]) > 0
        for name, one in result["streams"].items():
            # Which of them a busy machine's switch drops is not the matter here.
            assert one["tx"] > 0 and one["rx"] >= 0.9 * one["tx"], (test["name"], name, one)

    settled(once, check)


def named_test(labs, name, test):
    """A test of a lab by its name."""
    return next(one for one in labs.status(name)["tests"] if one["name"] == test)


def all_lost(labs, name, one):
    """Nothing of a stream passes a lab with two networks."""
    ports = {
        "west": {"device": "veth0", "ip": "10.0.0.2/24", "gateway": "10.0.0.1"},
        "east": {"device": "veth1", "ip": "10.0.1.2/24", "gateway": "10.0.1.1"},
    }
    profile = labs.lab.profile(ports, [one], load={"duration": "500ms", "drain": "200ms"})
    inside = ["ip", "netns", "exec", labs.namespace(name, "tester")]
    result = labs.lab.finish(labs.lab.start(*inside, EAGRE, "run", profile, "--json", "-")).json
    assert sums(result, "tx") == sums(result, "lost") > 0 == sums(result, "rx")


def test_topologies_are_listed(labs):
    """For people and for programs."""
    listed = labs.eagre("list", "--json").ok().json
    assert {*IN_CI, "ovs-dpdk", "own"} == {one["name"] for one in listed}
    text = labs.eagre("list").ok().out
    assert all(one["name"] in text and one["about"] in text for one in listed)
    assert next(one for one in listed if one["name"] == "kernel-router-routes")["options"]["routes"] == 262_144


# Makes the kernel the router.
BY_HAND = "ip address add $EAGRE_WEST_IPV4 dev $EAGRE_WEST && ip address add $EAGRE_EAST_IPV4 dev $EAGRE_EAST && sysctl -q -w net.ipv4.ip_forward=1"


@pytest.mark.parametrize("then", ["", " && touch $EAGRE_READY && exec sleep 1000"], ids=["ends", "goes on"])
def test_a_device_that_a_command_starts(labs, then):
    """Whether the command is the device or has ended by then; nothing is left of it."""
    name = labs.up("own", "--dut-command", BY_HAND + then, "--duration", "1s")
    crosses(labs, next(test for test in labs.status(name)["tests"] if test["name"] == "ipv4"))
    assert labs.status(name)["status"] == "up"
    labs.down(name)


def test_nothing_passes_but_by_the_device(labs):
    name = labs.up("own", "--dut-command", "true")
    folder = Path(f"/run/eagre/lab-{name}")
    inside = ["ip", "netns", "exec", labs.namespace(name, "tester")]
    labs.lab.finish(labs.lab.start(*inside, EAGRE, "run", folder / "ipv4.yaml")).refused(3, "10.0.0.1", "no reply")
    labs.down(name)


def test_a_device_that_does_not_start(labs):
    """Its output is reported, and nothing is left."""
    name = labs.name("own")
    done = labs.eagre("up", "own", "--name", name, "--dut-command", "echo no licence >&2; exit 7")
    done.refused(3, "the device's command exited with exit status: 7", "no licence")
    labs.gone(name, set())
    labs.eagre("up", "own").refused(2, "--dut-command")
    labs.eagre("up", "bridge", "--dut-command", "true").refused(2, "for the topology 'own'")


@pytest.mark.unsteady("testpmd polls on the core the tester needs")
@pytest.mark.parametrize("topology", marked_alone(TOPOLOGIES))
def test_a_topology_carries_traffic_and_goes_away(labs, topology):
    """Up, all of its tests, down; nothing is left."""
    name = labs.up(topology, "--duration", "1s")
    status = labs.status(name)
    assert (status["status"], status["topology"]) == ("up", topology)
    assert status["tests"], "nothing tests it"
    for test in status["tests"]:
        crosses(labs, test)
    # DPDK's memif driver may crash in testpmd when the tester leaves: docs/lab.md.
    assert labs.status(name)["status"] in (("up", "damaged") if topology == "testpmd" else ("up",))
    labs.down(name)


@pytest.mark.parametrize("topology, count", [("chain", 5), ("parallel", 3)])
def test_there_are_as_many_routers_as_asked_for(labs, topology, count):
    """Each of them forwards."""
    name = labs.up(topology, "--routers", count)
    for test in labs.status(name)["tests"]:
        crosses(labs, test)
    for router in range(1, count + 1):
        links = json.loads(labs.run(name, f"router{router}", "ip", "-s", "-j", "link", "show", "type", "veth"))
        assert len(links) == 2 and all(link["stats64"]["tx"]["packets"] > 1000 for link in links)
    labs.down(name)


@pytest.mark.unsteady("the kernel router drops frames while something else has its core")
def test_routes_are_there(labs):
    """262,144 of them, and the last one leads where it should."""
    name = labs.up("kernel-router-routes")
    listed = labs.run(name, "router", "ip", "-4", "route", "show").splitlines()
    assert len([line for line in listed if " via 10.0.1.2 dev r1" in line]) == 262_144
    last = labs.run(name, "router", "ip", "route", "get", "19.255.255.255")
    assert "via 10.0.1.2 dev r1" in last
    for test in labs.status(name)["tests"]:
        crosses(labs, test)
    labs.down(name)


def test_rules_are_there_and_the_last_match(labs):
    """1,024 rules; what they let through is the traffic, and nothing else."""
    need("nft")
    name = labs.up("kernel-router-rules")
    listed = json.loads(labs.run(name, "router", "nft", "-j", "list", "ruleset"))["nftables"]
    rules = [entry["rule"] for entry in listed if "rule" in entry]
    verdicts = ["accept" if any("accept" in part for part in rule["expr"]) else "drop" for rule in rules]
    assert verdicts == ["drop"] * 1022 + ["accept"] * 2
    crosses(labs, named_test(labs, name, "ipv4"))
    foreign = stream("foreign", "west", "east", rate="1kpps")
    foreign["packet"][0] = {"ipv4": {"src": "198.19.0.1"}}
    all_lost(labs, name, foreign)
    labs.down(name)


def test_the_firewall_translates_and_lets_nobody_in(labs):
    """Each flow is an entry of its table with the outside address; unsolicited packets stay outside."""
    need("conntrack")
    name = labs.up("firewall-nat", "--flows", 100)
    crosses(labs, named_test(labs, name, "outward"))
    entries = labs.run(name, "firewall", "conntrack", "-L", "-p", "udp").splitlines()
    assert len(entries) == 100
    assert all("src=10.0.0.2 dst=10.0.1.2" in entry and "src=10.0.1.2 dst=10.0.1.1" in entry for entry in entries)
    inward = stream("inward", "east", "west", 7, rate="1kpps")
    all_lost(labs, name, inward)
    labs.down(name)


def test_twice_is_refused(labs):
    """With a sentence, and what is up stays as it is."""
    name = labs.up("kernel-router")
    again = labs.eagre("up", "bridge", "--name", name)
    again.refused(3, f"lab {name} is already up", f"eagre lab down {name}")
    assert labs.status(name)["status"] == "up"
    labs.down(name)
    labs.eagre("down", name).refused(3, f"lab {name} is not up")


def test_run_is_everything_in_one(labs):
    """Up, a test with its own arguments, down; the test's exit code is the command's."""
    name = labs.name("run")
    more = ["--", "--duration", "300ms", "--rate", "1kpps", "--json", "-"]
    done = labs.eagre("run", "kernel-router", "--name", name, "--test", "ipv6", *more)
    assert done.json["streams"]["eastward"]["tx"] == 300
    assert done.ended
    labs.gone(name, set())
    wrong = labs.eagre("run", "kernel-router", "--name", name, "--test", "ipv4", "--", "--rate", "fast")
    assert wrong.exit == 2, str(wrong)
    labs.gone(name, set())
    labs.eagre("run", "kernel-router", "--name", name, "--test", "ipx").refused(2, "unknown test 'ipx'", "ipv4, ipv6")
    labs.gone(name, set())


# Checks that take a minute or more, for any topology.
LONG_TESTS = {"kernel-router": "ipv4", "testpmd": "through", "ovs": "ipv4", "ovs-dpdk": "through"}


def start_run(labs, topology, *more):
    """A `lab run` that would take a minute, as soon as its test runs."""
    name = labs.name(topology)
    chosen = ["--test", LONG_TESTS[topology]] if topology in LONG_TESTS and not more else []
    command = ["lab", "run", topology, "--name", name, "--duration", "60s", *chosen, *more]
    process = labs.lab.start_eagre(*command, cwd=labs.lab.folder())
    testers = {"eagre", "wrk"}
    running = lambda: {one["name"] for one in (labs.status(name) or {"processes": []})["processes"]}
    wait_until(lambda: running() & testers or process.poll() is not None, "the test", 30)
    assert process.poll() is None, labs.lab.finish(process)
    return name, process


# RFC 2544 in seconds: coarse, and all four tests of it.
COARSE = [
    "--sizes", "128B", "--trial", "100ms", "--learning", "20ms", "--drain", "50ms", "--settle", "10ms",
    "--set", "resolution=0.1", "--set", "minimum=0.002", "--set", "latency.repeats=1",
    "--set", "back-to-back.repeats=1", "--set", "back-to-back.resolution_frames=5000",
]  # fmt: skip
METHODS = ["kernel-router", "firewall-nat", "ovs", "testpmd"]
MORE_METHODS = ["bridge", "chain", "kernel-router-routes", "kernel-router-rules", "parallel", "ovs-dpdk"]


def campaigns(labs, store):
    """Campaigns of a store, newest first."""
    return labs.lab.eagre("results", "--store", store, "list", "--json").ok().json


@pytest.mark.unsteady("testpmd polls on the core the tester needs")
@pytest.mark.parametrize("topology", marked_alone([*METHODS, *(MORE_METHODS if EVERYTHING else [])]))
def test_run_gives_a_whole_report(labs, topology):
    """Up, RFC 2544, down; what was found is in the store and on a page."""
    name, folder = labs.name(topology), labs.lab.folder()
    store, page = folder / "results.db", folder / "report.html"
    where = ["--name", name, "--report", page, "--store", store]
    done = labs.eagre("run", topology, *where, "--test", "rfc2544", "--", *COARSE, timeout=120)
    # Where the tester is the limit, it can't judge bursts at the line rate; without a throughput, nothing that is measured at it.
    tester = re.search("the tester (limited|was disturbed)|can't be judged", done.out)
    is_found = "Throughput at 128B: can't be judged" not in done.out
    assert done.exit == 0 or (done.exit == CANNOT_JUDGE and tester), str(done)
    labs.gone(name, set())
    words = ("Throughput at 128B", "Frame loss rate at", *(("Latency at", "Back-to-back") if is_found else ()))
    assert all(word in done.out for word in words), str(done)
    (campaign,) = campaigns(labs, store)
    assert (campaign["method"], campaign["state"]) == ("rfc2544", "done") and campaign["trials"] >= 4
    assert {tag.split("=")[0] for tag in campaign["tags"]} == {"dut", "config"}
    shown = labs.lab.eagre("results", "--store", store, "show", campaign["id"], "--json").ok().json
    assert not is_found or {"throughput", "latency_mean", "back_to_back"} <= {one["goal"] for one in shown["findings"]}
    text = page.read_text()
    assert "<script" not in text and "Throughput" in text and "Frame loss" in text


def test_run_takes_another_method(labs):
    """It comes before the other arguments; commands that are not methods have no report."""
    name, folder = labs.name("mrr"), labs.lab.folder()
    where = ["--name", name, "--report", folder / "r.html", "--store", folder / "r.db"]
    short = ["--sizes", "128B", "--trial", "100ms", "--set", "repeats=1"]
    labs.eagre("run", "bridge", *where, "--", "mrr", *short).ok()
    (campaign,) = campaigns(labs, folder / "r.db")
    assert campaign["method"] == "mrr" and "dut=kernel-bridge" in campaign["tags"]
    labs.gone(name, set())
    labs.eagre("run", "bridge", *where, "--test", "through").refused(2, "not a method of 'eagre bench'")
    labs.eagre("run", "bridge", *where, "--", "rfc2455").refused(2, "unknown method 'rfc2455'")
    labs.gone(name, set())


@pytest.mark.alone
@pytest.mark.unsteady("measures what a kernel forwards; a busy neighbour disturbs the tester")
def test_a_loss_curve_at_64_bytes_has_points(labs):
    """It begins at what the tester can send and ends where nothing is lost; every point between is known.

    The rules make the router the slower of the two, on whatever machine.
    """
    name, folder = labs.name("curve"), labs.lab.folder()
    where = ["--name", name, "--report", folder / "r.html", "--store", folder / "r.db"]
    short = ["--sizes", "64B", "--trial", "300ms", "--settle", "100ms", "--json", folder / "r.json"]
    labs.eagre("run", "kernel-router", "--rules", 64, *where, "--", "frame-loss", *short, timeout=120).ok()
    [row] = json.loads((folder / "r.json").read_text())["results"][0]["findings"]["rows"]
    loads = [point["load_percent"] for point in row["points"]]
    assert loads == sorted(loads, reverse=True), row
    known = [point for point in row["points"] if point["loss_percent"] is not None]
    assert len(known) >= 6 and row["ended_loss_free"], row
    losses = [point["loss_percent"] for point in known]
    assert losses[0] > 1 and losses[0] > losses[-3] >= 0 and losses[-2:] == [0, 0], row
    # The first trial asks for the line rate; from the second on steps are rates that the tester reaches.
    assert all(point["load_pps"] > 0 for point in known if point["load_percent"] < 100), row


def test_the_report_goes_where_one_is(labs):
    """Without --report it is called like the lab."""
    name, folder = labs.name("here"), labs.lab.folder()
    short = ["mrr", "--sizes", "128B", "--trial", "100ms", "--set", "repeats=1"]
    labs.eagre("run", "bridge", "--name", name, "--", *short, "--store", folder / "r.db", cwd=folder).ok()
    assert (folder / f"eagre-lab-{name}.html").stat().st_size > 10_000


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_method_that_is_stopped_leaves_nothing(labs, number):
    """Its finished trials are kept."""
    folder = labs.lab.folder()
    store = folder / "results.db"
    name, process = start_run(labs, "kernel-router", "--report", folder / "r.html", "--store", store)
    trials = lambda: store.exists() and (campaigns(labs, store) or [{"trials": 0}])[0]["trials"]
    wait_until(trials, "a trial", 30, every=0.2)
    inodes = labs.hold(name)
    process.send_signal(number)
    if number == signal.SIGKILL:
        process.wait()
        labs.down(name)
    else:
        done = labs.lab.finish(process, timeout=30)
        assert done.exit == INTERRUPTED and "INTERRUPTED" in done.out, str(done)
        labs.gone(name, inodes)
    (campaign,) = campaigns(labs, store)
    assert campaign["state"] != "done" and campaign["trials"] > 0


def test_devices_have_cores_of_their_own(labs):
    """All that a router receives is done where the tester's worker is not."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) == 1:
        assert "only one core" in labs.eagre("up", "bridge", "--name", labs.name("bridge")).ok().err
        return
    name = labs.up("chain")
    for role in ("router1", "router2"):
        for end in ("west", "east"):
            mask = labs.run(name, role, "cat", f"/sys/class/net/{end}/queues/rx-0/rps_cpus")
            own = int(mask.replace(",", ""), 16)
            assert own and not own & ~sum(1 << core for core in cores) and own.bit_count() == len(cores) - 1
    labs.down(name)


def cores_of(pid):
    return os.sched_getaffinity(pid)


@pytest.mark.parametrize("topology, process", [("nginx", "nginx"), ("ovs", "ovs-vswitchd"), ("chain", None)])
def test_a_device_has_the_cores_it_was_given(labs, topology, process):
    """Its processes and its kernels; the tester has the others, in the commands that are printed, too."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) == 1:
        pytest.skip("one core")
    # Without the option the tester's worker would be on this one.
    own, left = {cores[-1]}, set(cores[:-1])
    name = labs.up(topology, "--dut-cores", cores[-1], "--duration", "1s")
    status = labs.status(name)
    found = {one["name"]: one["pid"] for one in status["processes"]}
    assert process is None or process in found, found
    for pid in found.values():
        children = call("pgrep", "-P", pid, check=False).split()
        assert all(cores_of(int(one)) == own for one in [pid, *children]), found
    role = {"nginx": "server", "ovs": "switch", "chain": "router1"}[topology]
    masks = labs.run(name, role, "sh", "-c", "cat /sys/class/net/*/queues/rx-0/rps_cpus").split()
    assert {int(mask.replace(",", ""), 16) for mask in masks} == {1 << cores[-1]}, masks
    test = next(one for one in status["tests"] if one["name"] in ("ipv4", "curl"))
    at = test["command"].index("taskset")
    listed = test["command"][at + 2]
    assert listed in (str(cores[0]), f"{cores[0]}-{cores[-2]}", ",".join(map(str, cores[:-1]))), listed
    if test["name"] == "ipv4":
        done = labs.lab.finish(labs.lab.start(*command_of(test, "--duration", "500ms", "--rate", "1kpps", "--json", "-")))
        assert {worker["core"] for worker in done.json["workers"]} <= left, done
    labs.down(name)


def test_cores_that_a_device_can_not_have_are_refused(labs):
    """Before anything is made."""
    cores = sorted(os.sched_getaffinity(0))
    every = ",".join(map(str, cores))
    labs.eagre("up", "bridge", "--dut-cores", every).refused(2, "leaves no core for the tester")
    labs.eagre("up", "bridge", "--dut-cores", "4095").refused(2, "bridge: --dut-cores 4095: there is no core 4095 here")
    labs.eagre("up", "bridge", "--dut-cores", "two").refused(2, "expected a list of cores")
    labs.eagre("compare", "bridge", "--dut-cores", every).refused(2, "leaves no core for the tester")


@pytest.mark.unsteady("frames wait for Open vSwitch, which drops some if it waits for a core")
def test_open_vswitch_routes(labs):
    """TTLs go down, MAC addresses are the router's, it replies to pings, and nothing crosses for other networks."""
    need("ovs-ofctl", "tcpdump")
    name = labs.up("ovs")
    file = labs.lab.folder() / "east.pcapng"
    ports = {
        "west": {"device": "veth0", "ip": "10.0.0.2/24", "gateway": "10.0.0.1"},
        "east": {"device": "veth1", "ip": "10.0.1.2/24", "gateway": "10.0.1.1", "capture": {"file": str(file)}},
    }
    streams = [
        stream("routed", "west", "east", rate="500pps", packet=[{"ipv4": {"ttl": 9}}, {"udp": {"dst": 9}}]),
        stream("back", "east", "west", rate="500pps"),
        stream("dying", "west", "east", rate="500pps", packet=[{"ipv4": {"ttl": 1}}, {"udp": {"dst": 10}}]),
        stream("lost", "west", "east", rate="500pps", packet=[{"ipv4": {"dst": "10.9.9.9"}}, {"udp": {"dst": 11}}]),
    ]
    profile = labs.lab.profile(ports, streams, load={"duration": "1s", "drain": "300ms"})
    inside = ["ip", "netns", "exec", labs.namespace(name, "tester")]
    result = labs.lab.finish(labs.lab.start(*inside, EAGRE, "run", profile, "--json", "-")).json["streams"]
    assert all(result[one]["rx"] >= 0.98 * result[one]["tx"] > 0 for one in ("routed", "back")), result
    assert all(result[one]["rx"] == 0 < result[one]["tx"] for one in ("dying", "lost")), result
    seen = call("tcpdump", "-e", "-v", "-n", "-r", file, "udp", "dst", "port", "9").splitlines()
    assert "02:ea:67:72:65:02 >" in seen[0] and "ttl 8," in seen[0], seen[:2]
    # A kernel behind the router's west side gets replies, too.
    labs.run(name, "tester", "ip", "address", "add", "10.0.0.77/24", "dev", "veth0")
    assert " 0% packet loss" in labs.run(name, "tester", "ping", "-c", 3, "-i", "0.2", "-W", 1, "10.0.0.1")
    labs.down(name)


def test_reports_name_the_command_of_the_lab(labs):
    """Not that of its test, whose profile is gone with the lab."""
    name, folder = labs.name("again"), labs.lab.folder()
    page = folder / "r.html"
    short = ["mrr", "--sizes", "128B", "--trial", "100ms", "--set", "repeats=1"]
    labs.eagre("run", "bridge", "--name", name, "--store", folder / "r.db", "--report", page, "--", *short).ok()
    text = page.read_text()
    assert f"eagre lab run bridge --name {name}" in text and "Save the profile below" not in text


@pytest.mark.parametrize("topology", ["nginx", "haproxy-nginx"])
def test_the_session_profile_of_a_web_server_runs_as_it_is(labs, topology):
    """Every request gets an object of the expected size."""
    need("nginx", "haproxy")
    name = labs.up(topology, "--duration", "1s")
    profile = next(word for word in labs.status(name)["tests"][0]["command"] if word.endswith("sessions.yaml"))
    inside = ["ip", "netns", "exec", labs.namespace(name, "tester")]
    done = labs.lab.finish(labs.lab.start(*inside, EAGRE, "run", profile, "--json", "-"))
    one = done.json["sessions"]["http"]["client"]
    assert one["completed"] > 50 and sum(one["failed"].values()) == 0, one
    assert done.json["sessions"]["http"]["client"]["rx_bytes_goodput"] >= one["completed"] * 1024, one
    labs.down(name)


def test_topologies_are_compared(labs):
    """One after the other, with the same method; a table, and a report of all."""
    name, folder = labs.name("compare"), labs.lab.folder()
    store, page = folder / "results.db", folder / "compare.html"
    where = ["--name", name, "--store", store, "--report", page, "--series", "s1"]
    short = ["--", "mrr", "--sizes", "128B", "--trial", "200ms", "--set", "repeats=2"]
    specs = ["kernel-router", "kernel-router:rules=64", "bridge"]
    done = labs.eagre("compare", *specs, *where, *short, timeout=90).ok()
    labs.gone(name, set())
    lines = [line.split() for line in done.out.splitlines()]
    assert ["128B", "goal", "plain", "rules=64"] in lines
    assert {line[0] for line in lines if "mrr" in line} == {"kernel", "kernel-bridge"}
    kept = campaigns(labs, store)
    assert len(kept) == 3 and all("series=s1" in one["tags"] for one in kept)
    assert all(word in page.read_text() for word in ("kernel-bridge", "rules=64", "side by side"))
    again = labs.eagre("compare", "bridge:rules=1", *where, *short)
    again.refused(2, "bridge: no option --rules")
    labs.eagre("compare", "bridge", "bridge", *where, *short).refused(2, "duplicate entry")
    labs.eagre("compare", "nginx", *where, *short).refused(2, "no method")


def test_a_comparison_that_is_stopped_says_what_it_has(labs):
    """The lab that was up is gone; what was tested before is in the table."""
    name, folder = labs.name("compare"), labs.lab.folder()
    store = folder / "results.db"
    where = ["--name", name, "--store", store, "--report", folder / "r.html"]
    long = ["--", "mrr", "--sizes", "128B", "--trial", "300ms", "--set", "repeats=9"]
    process = labs.lab.start_eagre("lab", "compare", "bridge", "kernel-router", *where, *long)
    second = lambda: store.exists() and len(campaigns(labs, store)) == 2
    wait_until(second, "the second device", 60, every=0.2)
    process.send_signal(signal.SIGTERM)
    done = labs.lab.finish(process, timeout=30)
    assert done.exit == INTERRUPTED and "kernel-bridge" in done.out, str(done)
    labs.gone(name, set())


@pytest.mark.parametrize(
    "topology", marked_alone(["kernel-router", "haproxy-nginx", "testpmd", "ovs", *(["ovs-dpdk"] if EVERYTHING else [])])
)
def test_killed_in_the_middle_of_a_test(labs, topology):
    """kill -9 leaves the lab and its test behind; `lab down` takes both away."""
    name, process = start_run(labs, topology)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert marked(name), "the test has not survived"
    labs.down(name)


def test_killed_while_coming_up(labs):
    """The lab is incomplete, can't be brought up again, and can be taken away."""
    name = labs.name("early")
    process = labs.lab.start_eagre("lab", "up", "kernel-router-routes", "--name", name)
    batch = Path(f"/run/eagre/lab-{name}/routes.batch")
    wait_until(lambda: batch.exists() or process.poll() is not None, "the routes' file", 30)
    assert process.poll() is None, labs.lab.finish(process)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert labs.status(name)["status"] == "incomplete"
    labs.eagre("up", "kernel-router", "--name", name).refused(3, "is already up")
    labs.down(name)


def test_without_its_state_a_lab_can_be_taken_down(labs):
    """Its namespaces' names are enough, and its servers are known by their files."""
    name = labs.up("nginx")
    Path(f"/run/eagre/lab-{name}/state.json").unlink()
    assert labs.status(name)["status"] == "incomplete"
    labs.down(name)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_asked_to_end(labs, number):
    """The test ends as it does, then the lab is taken down."""
    name, process = start_run(labs, "kernel-router")
    inodes = labs.hold(name)
    sent = lambda: int(labs.run(name, "tester", "cat", "/sys/class/net/veth0/statistics/tx_packets"))
    wait_until(lambda: sent() > 1000 or process.poll() is not None, "traffic", 20)
    process.send_signal(number)
    done = labs.lab.finish(process, timeout=30)
    assert done.exit == INTERRUPTED, str(done)
    labs.gone(name, inodes)


def test_asked_to_end_while_coming_up(labs):
    """Everything made until then is removed."""
    name = labs.name("early")
    process = labs.lab.start_eagre("lab", "up", "kernel-router-routes", "--name", name)
    wait_until(lambda: labs.inodes(name) or process.poll() is not None, "a namespace", 30)
    process.send_signal(signal.SIGTERM)
    done = labs.lab.finish(process, timeout=60)
    done.refused(INTERRUPTED, "interrupted") if "interrupted" in done.err else done.ok()
    if done.exit == INTERRUPTED:
        labs.gone(name, set())


def test_a_step_that_fails_leaves_nothing(labs):
    """A file is where a socket should be: nginx can't start, and reports why."""
    name = labs.name("broken")
    done = labs.eagre("up", "nginx", "--name", name, env={"PATH": broken_nginx(labs.lab)})
    done.refused(3, "nginx exited", "no thanks")
    labs.gone(name, set())


def broken_nginx(lab):
    """A search path whose nginx does not work."""
    folder = lab.folder()
    (folder / "nginx").write_text("#!/bin/sh\necho no thanks >&2\nexit 1\n")
    (folder / "nginx").chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


def test_other_peoples_processes_are_left_alone(labs):
    """A user's shell in a namespace of the lab continues."""
    name = labs.up("bridge")
    shell = labs.lab.start("ip", "netns", "exec", labs.namespace(name, "bridge"), "sleep", "60")
    # Programs that lead into the namespace become the command.
    comm = Path(f"/proc/{shell.pid}/comm")
    wait_until(lambda: comm.read_text() == "sleep\n" and shell.pid in in_namespaces(labs.inodes(name)), "the shell in its namespace")
    done = labs.eagre("down", name).ok()
    assert f"sleep ({shell.pid}) still runs" in done.err
    assert shell.poll() is None
    shell.kill()
    labs.gone(name, set())


def test_bad_input_is_refused(labs):
    """With exit code 2 and a sentence."""
    labs.eagre("up", "kernel").refused(2, "unknown topology 'kernel'", "kernel-router")
    labs.eagre("up", "bridge", "--name", "a/b").refused(2, "is not a valid lab name")
    labs.eagre("up", "bridge", "--routes", 5).refused(2, "bridge: no option --routes")
    labs.eagre("up", "chain", "--routers", 64).refused(2, "from 1 to 32")
    labs.eagre("up", "bridge", "--name", labs.name("nobody"), user="nobody").refused(3, "requires root")


def generated(labs, what, syntax, count, *options):
    return labs.eagre("generate", what, "--count", count, "--syntax", syntax, *options).ok().out


def test_the_kernel_takes_what_is_generated(labs, netns):
    """Routes of both families by ip -batch, rules by nft."""
    need("nft")
    router = netns("router", forwarding=True)
    labs.lab.veth(router, "r1", netns("host"), "h0")
    router.ip("address", "add", "10.0.1.1/24", "dev", "r1")
    router.ip("address", "add", "2001:2:0:1::1/64", "dev", "r1", "nodad")
    v4 = generated(labs, "routes", "ip-batch", 5_000, "--via", "10.0.1.2", "--via", "10.0.1.3")
    v6 = generated(labs, "routes", "ip-batch", 5_000, "--via", "2001:2:0:1::2", "--first", "2400::/48")
    for family, text in (("-4", v4), ("-6", v6)):
        router.run("ip", family, "-batch", "-", input=text)
        listed = router.run("ip", family, "route", "show").splitlines()
        assert len([line for line in listed if "via" in line]) == 5_000
    for permit in ("10.0.0.0/24 -> 10.0.1.0/24", "2001:2::/64 -> 2001:2:0:1::/64"):
        text = generated(labs, "rules", "nftables", 1_024, "--permit", permit)
        router.run("nft", "-f", "-", input=text)
        router.run("nft", "-f", "-", input=text)
        assert router.run("nft", "list", "ruleset").count(" saddr ") == 1_024, "loaded twice it is there once"


def test_open_vswitch_takes_what_is_generated(labs):
    """Flows for routes and rules."""
    need("ovs-ofctl")
    texts = [
        generated(labs, "routes", "ovs", 1_000, "--via", "10.0.1.2", "--dst-mac", "02:00:00:00:00:02"),
        generated(labs, "routes", "ovs", 1_000, "--via", "2001:2::2", "--first", "2400::/48"),
        generated(labs, "rules", "ovs", 1_000, "--permit", "10.0.0.0/24 -> 10.0.1.0/24"),
        generated(labs, "rules", "ovs", 1_000, "--permit", "2001:2::/64 -> 2001:2:0:1::/64"),
    ]
    for text in texts:
        assert len(call("ovs-ofctl", "parse-flows", "-", input=text).splitlines()) >= 1_000


ROUTES = {"16.0.0.0/24": "10.0.1.2", "2400::/48": "2001:2:0:1::2"}


@pytest.mark.long
def test_bird_takes_what_is_generated(labs):
    """Its own check finds nothing wrong."""
    need("bird")
    for first, via in ROUTES.items():
        conf = labs.lab.folder() / "bird.conf"
        routes = generated(labs, "routes", "bird", 1_000, "--via", via, "--first", first)
        conf.write_text(f"protocol device {{}}\n{routes}")
        call("bird", "-p", "-c", conf)


@pytest.mark.long
def test_frr_takes_what_is_generated(labs, netns):
    """The routes go through FRR into the kernel."""
    need("vtysh")
    router, folder = netns("router", forwarding=True), labs.lab.folder()
    labs.lab.veth(router, "r1", netns("host"), "h0")
    router.ip("address", "add", "10.0.1.1/24", "dev", "r1")
    router.ip("address", "add", "2001:2:0:1::1/64", "dev", "r1", "nodad")
    for daemon in ("zebra", "staticd"):
        options = ["-i", folder / f"{daemon}.pid", "-z", folder / "zserv.api", "--vty_socket", folder]
        labs.lab.start(f"/usr/lib/frr/{daemon}", *options, ns=router, stdout=None, stderr=None)
        wait_until(lambda: (folder / f"{daemon}.vty").exists(), daemon)
    conf = folder / "frr.conf"
    texts = [generated(labs, "routes", "frr", 1_000, "--via", via, "--first", first) for first, via in ROUTES.items()]
    conf.write_text("".join(texts))
    call("vtysh", "--vty_socket", folder, "-f", conf)
    for family in ("-4", "-6"):
        listed = lambda: [line for line in router.ip(family, "route", "show").splitlines() if "proto static" in line]
        wait_until(lambda: len(listed()) == 1_000, "the routes", 20)


def test_all_syntaxes_have_the_same_table(labs):
    """Each configuration, read by its own grammar, has the routes and rules of IOS, in order."""

    def networks(text):
        return [str(ipaddress.ip_network(part)) for part in text]

    def network(text):
        address, _, wildcard = text.partition(" ")
        return f"{address}/{32 - int(ipaddress.ip_address(wildcard)).bit_length()}" if wildcard else address

    def xml(text, path, fields):
        return [[entry.findtext(field) for field in fields] for entry in ElementTree.fromstring(text).iterfind(path)]

    def lines(text, pattern):
        return [list(match) for match in re.findall(pattern, text, re.MULTILINE)]

    for first, via, family in (("16.0.0.0/22", "10.0.1.2", "ip"), ("2400::/48", "2001:2:0:1::2", "ipv6")):
        options = ("--via", via, "--first", first)
        wanted = [[network, via] for network in networks(re.findall(r"set routing.* route (\S+)", generated(labs, "routes", "junos", 300, *options)))]
        assert len(wanted) == 300
        assert lines(generated(labs, "routes", "procurve", 300, *options), rf"^{family} route (\S+) (\S+)$") == wanted
        found = lines(generated(labs, "routes", "comware", 300, *options), rf"^{family} route-static (\S+) (\S+) (\S+)$")
        assert [[f"{address}/{length}", hop] for address, length, hop in found] == wanted
        text = generated(labs, "routes", "pfsense", 300, *options, "--interface", "opt3")
        assert xml(text, "gateways/gateway_item", ("name", "gateway", "interface")) == [["EAGRE1", via, "opt3"]]
        assert [[network, via] for network, _ in xml(text, "staticroutes/route", ("network", "gateway"))] == wanted
    for permit in ("10.0.0.0/24 -> 10.0.1.0/24", "2001:2::/64 -> 2001:2:0:1::/64"):
        family, options = ("ipv6" if ":" in permit else "ip"), ("--permit", permit)
        text = generated(labs, "rules", "nftables", 300, *options)
        wanted = [["permit" if verdict == "accept" else "deny", *networks(ends)] for *ends, verdict in lines(text, r"saddr (\S+) \S+ daddr (\S+) (\S+)$")]
        assert len(wanted) == 300
        for syntax, pattern in (
            ("procurve", rf"^ +\d+ (permit|deny) {family} (\S+(?: [\d.]+)?) (\S+(?: [\d.]+)?)$"),
            ("comware", rf"^ rule \d+ (permit|deny) {family} source (\S+(?: [\d.]+)?) destination (\S+(?: [\d.]+)?)$"),
        ):
            found = lines(generated(labs, "rules", syntax, 300, *options), pattern)
            assert [[verdict, *map(network, ends)] for verdict, *ends in found] == wanted, syntax
        text = generated(labs, "rules", "pfsense", 300, *options, "--interface", "opt1")
        found = xml(text, "filter/rule", ("type", "source/address", "destination/address"))
        assert [["permit" if verdict == "pass" else "deny", *ends] for verdict, *ends in found] == wanted
        assert {tuple(rule) for rule in xml(text, "filter/rule", ("interface", "statetype"))} == {("opt1", "none")}


def test_what_can_not_be_generated_is_said(labs):
    """With exit code 2."""
    routes = ["generate", "routes", "--count", 2, "--via", "10.0.1.2"]
    labs.eagre(*routes, "--syntax", "nftables").refused(2, "nftables has no routes")
    labs.eagre(*routes, "--syntax", "frr", "--first", "255.255.255.0/24").refused(2, "exceed the address space")
    labs.eagre(*routes, "--syntax", "ios").refused(2, "unknown syntax 'ios'", "cisco")
    rules = ["generate", "rules", "--count", 9, "--permit", "198.19.0.0/24 -> 10.0.1.0/24"]
    labs.eagre(*rules, "--syntax", "cisco").refused(2, "must not match")


@pytest.mark.parametrize("topology", ["nginx", "haproxy-nginx", "firewall-nat"])
def test_sessions_are_what_a_session_device_is_tested_by(labs, topology):
    """The first test opens our own sessions; its command, as printed, works in a shell."""
    need("nft", "nginx", "haproxy")
    name = labs.name(topology)
    printed = labs.eagre("up", topology, "--name", name).ok().out
    test = labs.status(name)["tests"][0]
    assert test["name"] == "sessions" and "bench" in test["command"], test
    typed = next(line for line in printed.splitlines() if " bench sessions " in line)
    assert shlex.split(typed)[5:] == test["command"][5:], typed
    short = ["--trial", "1s", "--set", "target=50", "--set", "maximum=100", "--set", "rest=0s", "--set", "resolution=0.5"]
    phases = ["init=0s", "ramp_up=0s", "ramp_down=0s", "collection=100ms"]
    short += [word for phase in phases for word in ("--set", f"phases.{phase}")]
    folder = labs.lab.folder()
    short += ["--settle", "0s", "--store", folder / "store.db", "--report", folder / "report.html", "--json", "-"]
    done = labs.lab.finish(labs.lab.start(*command_of(test, *short)), 60)
    assert done.ended, done
    rows = done.json["results"][0]["findings"]["rows"]
    assert [row["app"]["response_bytes"] for row in rows] == [1024, 16384]
    # A busy machine may disturb every trial; the device responds in all of them.
    for trial in done.json["results"][0]["trials"]:
        assert trial["standing"] in ("counted", "bounded", "invalid", "tester_limited"), trial
    outcomes = [row["best"]["sessions"] for row in rows if row["best"]]
    assert all(one["established"] > 0 and one["transactions_failed"] == 0 for one in outcomes), outcomes
    assert "RFC 9411" in (folder / "report.html").read_text()
    labs.down(name)


@pytest.mark.parametrize("topology", ["haproxy-balancer", "nft-balancer"])
def test_a_balancer_is_tested_by_sessions_to_named_backends(labs, topology):
    """The first test is the method, and all four backends get sessions."""
    need("nft", "haproxy")
    name = labs.name(topology)
    labs.eagre("up", topology, "--name", name).ok()
    test = labs.status(name)["tests"][0]
    assert test["name"] == "balancer" and "bench" in test["command"], test
    folder = labs.lab.folder()
    short = [word for part in ("sessions=200", "rate=200", "identities=0", "held=0") for word in ("--set", part)]
    short += ["--settle", "0s", "--store", folder / "store.db", "--report", folder / "report.html", "--json", "-", "--on-disturbed", "warn"]
    done = labs.lab.finish(labs.lab.start(*command_of(test, *short)), 60)
    assert done.ended, done
    (row,) = done.json["results"][0]["findings"]["rows"]
    counts = [backend["sessions"] for backend in row["backends"]]
    assert sum(counts) == 200 and all(counts), row
    assert "Jain" in (folder / "report.html").read_text()
