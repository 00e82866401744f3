"""Address table of a real switch: the Linux kernel's bridge with a bound on what it learns."""

import os
import socket
import struct

import pytest
from bench import Bench, undisturbed
from lab import call, missing

# linux/if_link.h, linux/rtnetlink.h; iproute2 knows fdb_max_learned since 6.7 only.
RTM_NEWLINK, NLM_F_REQUEST, NLM_F_ACK = 16, 1, 4
IFLA_LINKINFO, IFLA_INFO_KIND, IFLA_INFO_DATA, IFLA_BR_FDB_MAX_LEARNED = 18, 1, 2, 49
# A link on which a switch in software keeps up.
SPEED = "20Mbps"
CAPACITY = 200
SETTINGS = {
    "first": 128,
    "maximum": 512,
    "learn_rate": 2000,
    "learn_rate_max": 0,
    "share": 0.1,
    "duration": "1s",
    "resolution": 0.02,
}


def attribute(kind, value):
    data = struct.pack("=HH", 4 + len(value), kind) + value
    return data + bytes(-len(data) % 4)


def bound_learning(index, most):
    """Lets the bridge with this index learn so many addresses."""
    data = attribute(IFLA_INFO_DATA, attribute(IFLA_BR_FDB_MAX_LEARNED, struct.pack("=I", most)))
    info = attribute(IFLA_LINKINFO, attribute(IFLA_INFO_KIND, b"bridge\0") + data)
    message = struct.pack("=BxHiII", socket.AF_UNSPEC, 0, index, 0, 0) + info
    header = struct.pack("=IHHII", 16 + len(message), RTM_NEWLINK, NLM_F_REQUEST | NLM_F_ACK, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE) as netlink:
        netlink.send(header + message)
        code = struct.unpack_from("=i", netlink.recv(4096), 16)[0]
    return -code


class Switch:
    """A bridge with three ports of the tester."""

    def __init__(self, lab):
        self.lab, self.tester, self.switch = lab, lab.netns("tester"), lab.netns("switch")
        self.switch.ip("link", "add", "br0", "type", "bridge", "ageing_time", "100000", "mcast_snooping", "0")
        self.switch.ip("link", "set", "br0", "up")
        for index in range(3):
            lab.veth(self.tester, f"veth{index}", self.switch, f"s{index}")
            self.switch.ip("link", "set", f"s{index}", "master", "br0")
        self.bench = Bench(lab, self.tester)

    def bound(self, most):
        """In the switch's namespace, from a child of this process."""
        index = self.switch.link("br0")["ifindex"]
        child = os.fork()
        if child == 0:
            code = 255
            try:
                with open(f"/var/run/netns/{self.switch.name}") as namespace:
                    setns(namespace.fileno())
                code = bound_learning(index, most)
            finally:
                os._exit(code)
        _, status = os.waitpid(child, 0)
        if os.waitstatus_to_exitcode(status):
            missing("needs a kernel whose bridges have fdb_max_learned (6.7)")

    def learned(self):
        lines = call("bridge", "-n", self.switch.name, "fdb", "show", "br", "br0").splitlines()
        return sum("permanent" not in line for line in lines)

    def profile(self, names=("test", "learn", "watch")):
        ports = {
            name: {"device": f"afpacket:veth{index}", "ip": f"10.0.0.{index + 2}/24", "speed": SPEED}
            for index, name in enumerate(names)
        }
        frames = {"name": "frames", "from": names[0], "to": names[1], "packet": ["ipv4", "udp"]}
        return self.lab.profile(ports, [frames])

    def run(self, *more, profile=None, forget=True, **settings):
        flush = ["--before-trial", f"ip -n {self.switch.name} link set br0 type bridge fdb_flush"] if forget else []
        sets = [word for name, value in {**SETTINGS, **settings}.items() for word in ("--set", f"{name}={value}")]
        command = ["bench", "addresses", profile or self.profile(), "--settle", "0s", "--drain", "200ms"]
        options = ["--store", self.bench.store, "--json", "-"]
        return self.lab.eagre(*command, *sets, *flush, *options, *more, ns=self.tester, timeout=120)


def setns(descriptor):
    import ctypes

    assert ctypes.CDLL(None, use_errno=True).setns(descriptor, 0) == 0


@pytest.fixture
def switch(lab):
    return Switch(lab)


def rows(done):
    return done.ok().json["results"][0]["findings"]["rows"]


@pytest.mark.unsteady("the switch runs on the cores the tester uses; frames lost there look like addresses not learnt")
def test_the_capacity_of_a_bounded_table_is_found(switch):
    switch.bound(CAPACITY)
    row = rows(undisturbed(switch.run))[0]
    assert row["what"] == "capacity" and row["limit"] == "dut", row
    assert CAPACITY * 0.98 <= row["value"] <= CAPACITY, row
    assert CAPACITY < row["failed"] <= CAPACITY * 1.02, row
    lost, flooded = row["failed_by"]
    assert flooded > 0 and lost == 0, row
    assert switch.learned() <= CAPACITY


@pytest.mark.long
@pytest.mark.quiet
@pytest.mark.unsteady("the switch runs on the cores the tester uses; frames lost there look like addresses not learnt")
def test_the_learning_rate_is_at_least_some_thousand(switch):
    rates = {"learn_rate": 5000, "learn_rate_max": 20_000, "resolution": 0.2}
    found = rows(undisturbed(lambda: switch.run(first=300, maximum=300, **rates)))
    assert found[0]["value"] == 300 and found[0]["limit"] == "maximum", found
    assert found[1]["what"] == "learning rate" and found[1]["value"] >= 5_000, found


@pytest.mark.long
def test_a_switch_that_does_not_learn(switch):
    for index in range(3):
        call("bridge", "-n", switch.switch.name, "link", "set", "dev", f"s{index}", "learning", "off")
    done = undisturbed(lambda: switch.run(first=8, maximum=8))
    assert done.exit == 1, str(done)
    row = done.json["results"][0]["findings"]["rows"][0]
    assert row["value"] is None and row["limit"] == "impossible", row
    assert row["failed_by"][1] > 0, row
    assert "none; a single address is not learned" in done.json["results"][0]["summary"][0]


def test_one_that_remembers_is_refused(switch):
    done = switch.run(forget=False, first=64, maximum=64, learn_rate_max=4000)
    assert done.exit == 2, str(done)
    assert "the switch still knows 16 of 16 addresses of an earlier trial" in done.err, done.err
    assert "--before-trial" in done.err


def test_two_ports_are_too_few(switch):
    ports = {f"p{index}": {"device": f"afpacket:veth{index}", "ip": f"10.0.0.{index + 2}/24", "speed": SPEED} for index in (0, 1)}
    profile = switch.lab.profile(ports, [{"name": "frames", "from": "p0", "to": "p1", "packet": ["ipv4", "udp"]}])
    done = switch.run(profile=profile)
    done.refused(2, "three ports must be on the switch, in this order", "the profile has 2: p0, p1")
