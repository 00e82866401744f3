"""A link of 20 Mbit/s as every tool finds it, side by side: its bits are those of Ethernet frames without their FCS, and each figure becomes one
of these by the tool's own headers.

UDPST: path of the reference implementation's program, `udpst`; without it, its rows are missing.
"""

import json
import os
import time

import pytest
from lab import EAGRE, need, wait_until

RATE = 20e6
FAR = "10.0.1.2"
UDPST = os.environ.get("UDPST")
# Octets of a frame without its FCS around those that a tool counts.
TCP = (1_448 + 66) / 1_448
IP = 1_264 / 1_250


@pytest.fixture
def link(lab):
    """Two hosts and a router, which shapes both directions."""
    need("tc", "iperf3")
    client, router, server = lab.netns("client"), lab.netns("router"), lab.netns("server")
    router.sysctl({"net.ipv4.ip_forward": 1})
    for host, net in ((client, 0), (server, 1)):
        lab.veth(host, "veth0", router, f"r{net}")
        host.ip("address", "add", f"10.0.{net}.2/24", "dev", "veth0")
        router.ip("address", "add", f"10.0.{net}.1/24", "dev", f"r{net}")
        host.ip("route", "add", "default", "via", f"10.0.{net}.1")
    shape(router, 100)
    return client, router, server


def shape(router, queue_ms):
    limit = int(RATE / 8 * queue_ms / 1e3)
    for port in ("r0", "r1"):
        router.run("tc", "qdisc", "replace", "dev", port, "root", "tbf", "rate", "20mbit", "burst", "5kb", "limit", str(limit))


def serving(lab, ns, *command, port, kind="-Hltn"):
    process = lab.start(*command, ns=ns)
    wait_until(lambda: f":{port} " in ns.run("ss", kind), "a server", 10)
    return process


def by_iperf3(lab, client, server):
    programs = {"iperf3": ["iperf3"], "eagre iperf3": [EAGRE, "iperf3"]}
    for own, mine in programs.items():
        for other, theirs in programs.items():
            process = serving(lab, server, *theirs, "-s", port=5201)
            for way, options in (("up", ()), ("down", ("-R",))):
                done = lab.finish(lab.start(*mine, "-c", FAR, "-J", "-t", 5, "-O", 2, *options, ns=client), 60)
                yield f"{own}, server {other}", f"TCP {way}", done.json["end"]["sum_received"]["bits_per_second"] * TCP
            process.terminate()
            process.wait(20)
    process = serving(lab, server, EAGRE, "iperf3", "-s", port=5201)
    done = lab.finish(lab.start(EAGRE, "iperf3", "-c", FAR, "-J", "-t", 5, "-O", 2, "-u", "-b", "25M", "-l", 1208, ns=client), 60)
    received = done.json["end"]["sum_received"]
    yield "eagre iperf3, server eagre iperf3", "UDP up", received["bits_per_second"] * (1_208 + 42) / 1_208
    process.terminate()
    process.wait(20)


def by_udp_speed_test(lab, client, server):
    process = serving(lab, server, EAGRE, "capacity", "--server", port=24601, kind="-Hlun")
    for test in lab.eagre("capacity", FAR, "-J", "-t", 8, ns=client, timeout=60).ok().json["tests"]:
        way = {"from_server": "down", "to_server": "up"}[test["direction"]]
        yield "eagre capacity", f"UDPSTP {way}", test["capacity_bps_ip"] * IP
    if UDPST:
        for way, option in (("down", "-d"), ("up", "-u")):
            run = lab.start(UDPST, option, "-t", 8, "-f", "json", FAR, ns=client)
            report = json.loads(run.communicate(timeout=30)[0])
            yield "udpst, server eagre capacity", f"UDPSTP {way}", report["Output"]["AtMax"]["MaxIPLayerCapacity"] * 1e6 * IP
    process.terminate()
    process.wait(20)
    if UDPST:
        lab.start(UDPST, FAR, ns=server)
        time.sleep(1)
        for test in lab.eagre("capacity", FAR, "-J", "-t", 8, ns=client, timeout=60).ok().json["tests"]:
            way = {"from_server": "down", "to_server": "up"}[test["direction"]]
            yield "eagre capacity, server udpst", f"UDPSTP {way}", test["capacity_bps_ip"] * IP


@pytest.mark.long
@pytest.mark.quiet
def test_every_tool_finds_the_rate_of_a_link(lab, link):
    client, router, server = link
    rows = [*by_iperf3(lab, client, server), *by_udp_speed_test(lab, client, server)]
    width = max(len(tool) for tool, *_ in rows)
    for tool, what, rate in rows:
        print(f"{tool:{width}} {what:12} {rate / 1e6:6.3f} Mbit/s {100 * (rate / RATE - 1):+.2f} %")
    assert all(abs(rate / RATE - 1) < 0.01 for *_, rate in rows), rows
    assert len(rows) == (15 if UDPST else 11), rows
