"""`eagre bench multicast`: the kernel's bridge with snooping, which forwards so many groups to a port; and a bridge that floods."""

import pytest
import yaml
from bench import Bench
from lab import LONG, REPO
from test_multicast import Switch

# What the bridge waits for another member after a leave, hundredths of a second, and times it asks.
LAST_MEMBER, ASKED = 20, 2
CAPACITY = 24
REPEATS = 5 if LONG else 1
FIRST, MAXIMUM = (2, 64) if LONG else (CAPACITY, CAPACITY + 1)
DELAYS = ["--set", "throughput=false"]
FAST = ["--trial", "1200ms", "--settle", "500ms", "--drain", "100ms", "--set", f"repeats={REPEATS}", "--set", "rate=1kpps"]


# Sets IFLA_BRPORT_MCAST_MAX_GROUPS of a bridge port, which iproute2 knows since 6.3: RTM_SETLINK of family AF_BRIDGE.
LIMIT = """
import socket, struct, sys
port, groups = socket.if_nametoindex(sys.argv[1]), int(sys.argv[2])
attribute = struct.pack("=HHI", 8, 42, groups)
body = struct.pack("=BxHiII", 7, 0, port, 0, 0) + struct.pack("=HH", 4 + len(attribute), 12 | 0x8000) + attribute
netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
netlink.send(struct.pack("=IHHII", 16 + len(body), 19, 5, 1, 0) + body)
error = struct.unpack("=i", netlink.recv(4096)[16:20])[0]
sys.exit(f"the kernel says {error}" if error else 0)
"""


def profile(lab, change=None):
    document = yaml.safe_load((REPO / "examples/multicast-members.yaml").read_text())
    for number, name in enumerate(("source", "viewer", "other")):
        document["ports"][name]["device"] = f"afpacket:veth{number}"
    if change:
        change(document)
    return lab.profile(document["ports"], document["streams"])


def bench(lab, switch, *settings, change=None):
    campaign = Bench(lab, switch.tester)
    command = ["bench", "multicast", profile(lab, change), *FAST, *settings, "--store", campaign.store, "--json", "-"]
    done = lab.eagre(*command, ns=switch.tester, timeout=120)
    return campaign, done, done.json["results"][0]


@pytest.mark.long
@pytest.mark.quiet
def test_delays_and_capacity_of_a_bridge(lab):
    switch = Switch(lab, 3, 2)
    # The port takes so many groups; the kernel forwards none beyond that.
    switch.device.run("/usr/bin/python3", "-c", LIMIT, "d1", CAPACITY)
    campaign, done, result = bench(lab, switch, *DELAYS, "--set", f"first={FIRST}", "--set", f"maximum={MAXIMUM}")
    (row,) = result["findings"]["rows"]
    print(result["summary"], result["remarks"])
    assert (row["too_early"], row["not_joined"], row["not_left"]) == (0, 0, 0), row
    if row["join_delay_s"]:
        # The bridge forwards as soon as it has the report, and until nobody has answered it.
        join, leave, waits = row["join_delay_s"], row["leave_delay_s"], LAST_MEMBER * ASKED / 100
        assert 0 < join["min"] <= join["max"] < 0.1, row
        assert 0.5 * waits < leave["min"] <= leave["max"] < waits + 0.3, row
    findings = {finding["goal"]: finding for finding in campaign.shown()["findings"]}
    assert {"join_delay", "leave_delay", "group_capacity"} <= findings.keys(), findings
    if row["limit"] == "dut":
        assert (row["capacity"], row["capacity_failed"]) == (CAPACITY, CAPACITY + 1), row
        assert row["failed_by"][0] > 0 == row["failed_by"][1], row
        assert findings["group_capacity"]["upper"] == CAPACITY + 1, findings
    done.ok()


def test_a_bridge_that_floods_is_told_apart(lab):
    switch = Switch(lab, 3, 2)
    switch.device.ip("link", "set", "br0", "type", "bridge", "mcast_snooping", 0)
    _, done, result = bench(lab, switch, *DELAYS, "--set", "first=1", "--set", "maximum=1")
    (row,) = result["findings"]["rows"]
    assert (row["join_delay_s"], row["capacity"]) == (None, None), row
    assert row["too_early"] + row["tester_limited"] == REPEATS, row
    if row["limit"] == "impossible":
        assert done.exit == 1 and row["failed_by"][0] == 0 < row["failed_by"][1], row
        assert any("came to other ports" in sentence for sentence in result["summary"]), result["summary"]


# Frames a second that pass, and those that may come at once, as after a moment in which the machine stood still.
PASSED, AT_ONCE = 2_000, 100


@pytest.mark.quiet
@pytest.mark.unsteady("a tester that is kept from its core can't judge any trial")
def test_the_throughput_is_that_which_reaches_every_member(lab):
    """Two ports have members; on the way to one of them a filter lets so many packets a second pass."""
    switch = Switch(lab, 3, 2)
    rules = "table netdev few {\n  chain few {\n    type filter hook egress device d2 priority 0\n"
    rules += f"    udp dport 5000 limit rate over {PASSED}/second burst {AT_ONCE} packets drop\n  }}\n}}\n"
    switch.device.run("nft", "-f", "-", input=rules)

    def both(document):
        document["ports"]["other"]["multicast"] = document["ports"]["viewer"]["multicast"]
        for port in document["ports"].values():
            port["speed"] = "10Mbps"

    settings = ["--set", "repeats=0", "--set", "maximum=0", "--set", "resolution=0.2"]
    campaign, done, result = bench(lab, switch, *settings, change=both)
    (row,) = result["findings"]["rows"]
    print(result["summary"], result["remarks"])
    # 10 Mbps are 8,445 frames of 128 bytes.
    assert PASSED / 2 < row["throughput_pps"] <= PASSED * 1.05, row
    if row["throughput_limit"] == "dut":
        failed, lost = row["throughput_failed"]
        # A switch that had no core for 50 ms passes 100 frames at once, and the filter lets no more of them pass.
        assert PASSED * 0.6 < failed < PASSED * 1.5 and 0 < lost < failed * 1.2, row
    findings = {finding["goal"]: finding for finding in campaign.shown()["findings"]}
    assert findings["multicast_throughput"]["value"] == row["throughput_pps"], findings
    done.ok()


def test_what_is_refused(lab):
    def refused(text, change):
        def rings(document):
            for name, device in (("source", "ring:a"), ("viewer", "ring:b"), ("other", "ring:x.a")):
                document["ports"][name]["device"] = device
            change(document)

        lab.eagre("bench", "multicast", profile(lab, rings), "--estimate").refused(2, text)

    refused("its host joins no groups: give it 'multicast'", lambda document: document["ports"]["viewer"].pop("multicast"))
    refused("one stream is needed", lambda document: document["streams"].append({**document["streams"][0], "name": "b"}))
    refused(
        "its destination must be a multicast group",
        lambda document: document["streams"][0].update(packet=["ipv4", "udp"]),
    )
