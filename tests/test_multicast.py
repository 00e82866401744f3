"""Members of multicast groups behind a port: the kernel's bridge with snooping, and smcroute as a router."""

import json
import re
import signal
import subprocess
import time

import pytest
from lab import LONG, need, wait_until

# Groups joined at once.
MANY = 10_000 if LONG else 500


class Switch:
    """The kernel's bridge with snooping and a querier, between three ends of the tester."""

    def __init__(self, lab, igmp=2, mld=1, *more):
        need("ip", "bridge")
        self.lab = lab
        self.tester, self.device = (
            lab.netns("tester"),
            lab.netns("device", forwarding=True),
        )
        self.device.ip(
            *(
                "link",
                "add",
                "br0",
                "type",
                "bridge",
                "mcast_snooping",
                1,
                "mcast_hash_max",
                65536,
            ),
            *("mcast_igmp_version", igmp, "mcast_mld_version", mld),
            # A second after it begins to query, groups that nobody joined are flooded no more.
            *(
                "mcast_query_response_interval",
                100,
                "mcast_startup_query_interval",
                100,
                "mcast_last_member_interval",
                20,
                *more,
            ),
        )
        for number in range(3):
            lab.veth(self.tester, f"veth{number}", self.device, f"d{number}")
            self.device.ip("link", "set", f"d{number}", "master", "br0", "up")
        self.device.ip("link", "set", "br0", "up")
        self.device.ip("address", "add", "10.0.0.1/16", "dev", "br0")
        self.device.ip("address", "add", "fe80::1/64", "dev", "br0", "nodad")
        self.device.ip("link", "set", "br0", "type", "bridge", "mcast_querier", 1)
        time.sleep(2.5)

    def ports(self, multicast):
        viewer = {
            "device": "afpacket:veth1",
            "ip": ["10.0.0.3/16", "2001:2::3/64"],
            "multicast": multicast,
        }
        return {
            "source": {
                "device": "afpacket:veth0",
                "ip": ["10.0.0.2/16", "2001:2::2/64"],
            },
            "viewer": viewer,
            "other": {"device": "afpacket:veth2", "ip": "10.0.0.4/16"},
        }

    def groups(self, port="d1"):
        """The groups that are forwarded to a port of the bridge."""
        table = json.loads(self.device.run("bridge", "-j", "mdb", "show"))[0]["mdb"]
        return {row["grp"] for row in table if row["port"] == port and not row["grp"].startswith("ff02")}


def channel(name, group, to="viewer", rate="500pps", **rest):
    version = "ipv6" if ":" in group else "ipv4"
    packet = [{version: {"dst": group}}, {"udp": {"dst": 9}}]
    return {
        "name": name,
        "from": "source",
        "to": to,
        "packet": packet,
        "rate": rate,
        **rest,
    }


@pytest.mark.unsteady("on a busy machine the bridge learns of groups late")
@pytest.mark.parametrize("versions", [(3, 2), (2, 1)], ids=["igmpv3-mldv2", "igmpv2-mldv1"])
def test_joins_bring_traffic_and_leaves_stop_it(lab, versions):
    """A group joined before traffic arrives whole, one never joined not at all, and one that is joined and left while
    traffic runs from its join on."""
    switch = Switch(lab, *versions)
    groups = [{"group": group} for group in ("239.1.1.1", "ff15::1")]
    groups += [{"group": group, "join": "2s", "leave": "4s"} for group in ("239.1.1.2", "ff15::2")]
    multicast = {"groups": groups, "igmp": versions[0], "mld": versions[1]}
    names = {"joined": "1", "passing": "2", "never": "3"}
    streams = [channel(name, f"239.1.1.{n}") for name, n in names.items()] + [
        channel(f"{name}6", f"ff15::{n}") for name, n in names.items()
    ]
    criteria = {f"streams.{name}{v}.loss_ratio": "> 10%" for name in ("passing", "never") for v in ("", "6")}
    profile = lab.profile(
        switch.ports(multicast),
        streams,
        load={"duration": "7s", "drain": "500ms"},
        criteria=criteria,
    )
    process = lab.start_eagre("run", profile, "--json", "-", ns=switch.tester)
    joined = {"239.1.1.1", "ff15::1"}
    wait_until(lambda: switch.groups() >= joined, "the joins", 20)
    both = joined | {"239.1.1.2", "ff15::2"}
    wait_until(lambda: switch.groups() == both, "the later joins", 20)
    wait_until(lambda: switch.groups() == joined, "the leaves", 20)
    result = lab.finish(process).json
    rows, counts = result["streams"], result["ports"]["viewer"]["multicast"]
    print(json.dumps(counts), {name: (row["tx"], row["rx"]) for name, row in rows.items()})
    assert counts["joined"] == counts["left"] == 4, counts
    for version in ("", "6"):
        assert rows[f"joined{version}"]["tx"] == rows[f"joined{version}"]["rx"] > 0, rows[f"joined{version}"]
        assert rows[f"never{version}"]["rx"] == 0, rows[f"never{version}"]
        passing = rows[f"passing{version}"]
        # From 2 s on until 4 s, or until the bridge has given up asking for other members.
        assert 700 <= passing["rx"] <= passing["tx"] * 6 // 7, passing
    wait_until(lambda: not switch.groups(), "the last leaves", 10)


def test_a_member_answers_queries(lab):
    """The bridge forgets whom it does not hear of any more; who answers stays."""
    switch = Switch(lab, 2, 1, "mcast_query_interval", 100, "mcast_membership_interval", 250)
    profile = lab.profile(
        switch.ports({"groups": [{"group": "239.1.1.1"}]}),
        [],
        load={"duration": "60s", "drain": "0s"},
    )
    process = lab.start_eagre("run", profile, "--json", "-", ns=switch.tester)
    wait_until(lambda: switch.groups() == {"239.1.1.1"}, "the join", 20)
    end = time.monotonic() + 6
    while time.monotonic() < end:
        assert switch.groups() == {"239.1.1.1"}
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    counts = lab.finish(process).json["ports"]["viewer"]["multicast"]
    assert counts["queries"] >= 3 and counts["reports"] >= 4, counts


def test_many_groups_are_joined_and_left(lab):
    switch = Switch(lab)
    last = f"239.1.{(MANY - 1) >> 8}.{(MANY - 1) & 255}"
    multicast = {"groups": [{"group": f"239.1.0.0..{last}"}], "rate": "2000/s"}
    everyone = channel(
        "all",
        "239.1.0.0",
        rate=f"{MANY}pps",
        count=2 * MANY,
        vary={"ipv4.dst": {"from": "239.1.0.0", "to": last}},
    )
    profile = lab.profile(switch.ports(multicast), [everyone], load={"duration": "5s", "drain": "1s"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=switch.tester)
    begin = time.monotonic()
    wait_until(
        lambda: len(switch.groups()) == MANY or process.poll() is not None,
        "the joins",
        60,
        every=0.1,
    )
    print(f"{MANY} groups in the bridge after {time.monotonic() - begin:.2f} s")
    result = lab.finish(process, 120).result()
    counts, row = result["ports"]["viewer"]["multicast"], result["streams"]["all"]
    print(json.dumps(counts))
    assert counts["joined"] == counts["left"] == MANY, counts
    assert row["rx"] == row["tx"] == 2 * MANY, row
    wait_until(lambda: not switch.groups(), "the leaves", 30, every=0.1)


def test_a_router_forwards_what_is_joined(lab):
    """smcroute forwards by what the kernel's own IGMP hears; the member of a source gets that source's."""
    need("smcrouted", "smcroutectl")
    network = lab.router()
    folder = lab.folder()
    config = folder / "smcroute.conf"
    config.write_text(
        "phyint r0 enable\nphyint r1 enable\nmgroup from r0 group 239.1.1.1\nmroute from r0 group 239.1.1.1 to r1\n"
    )
    lab.start(
        *(
            "smcrouted",
            "-n",
            "-f",
            config,
            "-P",
            folder / "pid",
            "-u",
            folder / "socket",
        ),
        ns=network.router,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(
        lambda: "239.1.1.1" in network.router.ip("maddress", "show", "dev", "r0"),
        "smcroute",
        20,
    )
    ports = network.ports("afpacket", v6=False)
    ports["east"]["multicast"] = {"groups": [{"group": "239.1.1.1", "sources": ["10.0.0.2"]}]}
    packet = [{"ipv4": {"dst": "239.1.1.1", "ttl": 8}}, {"udp": {"dst": 9}}]
    stream = {
        "name": "s",
        "from": "west",
        "to": "east",
        "packet": packet,
        "rate": "500pps",
        "count": 1000,
    }
    heard = lab.start(
        *("tcpdump", "-i", "r1", "-nn", "-l", "-v", "igmp"),
        ns=network.router,
    )
    assert "listening" in heard.stderr.readline()
    profile = lab.profile(ports, [stream], load={"duration": "3s", "drain": "500ms"})
    result = lab.eagre("run", profile, "--json", "-", ns=network.tester).result()
    # The first ones wait for the route that they cause, the kernel has room for few, and smcroute may wait for a core.
    assert 250 <= result["streams"]["s"]["rx"] <= 1000, result["streams"]["s"]
    time.sleep(0.5)
    heard.terminate()
    said = heard.communicate(timeout=10)[0]
    reports = re.findall(r"gaddr 239\.1\.1\.1 (\w+)(?: (?:\[)?\{ ?([\d. ]+)\}?)?", said)
    assert (reports[0][0], reports[-1][0]) == ("allow", "block"), said


def test_groups_that_nobody_forwards_are_refused(lab):
    ports = {
        "a": {
            "device": "ring:a",
            "multicast": {"groups": [{"group": "224.0.0.5"}, {"group": "10.0.0.1"}]},
        }
    }
    done = lab.eagre("check", lab.profile(ports, []))
    done.refused(
        2,
        "ports.a.multicast.groups[0].group: 224.0.0.5 is for the link (224.0.0.0/24)",
        "'10.0.0.1' is not a multicast group",
    )
