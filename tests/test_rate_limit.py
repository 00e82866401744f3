"""A server's `--max-rate` holds for every frame that leaves a port, before, during and after traffic: frames are counted at the
other end by the kernel."""

import time

import pytest
from lab import wait_until
from server import Server

LIMIT = 100
HOSTS = {
    "dhcp": {"dhcp": {"clients": 2_000, "rate": "50000/s", "outstanding": 2_000, "timeout": "2s"}},
    "dhcpv6": {"dhcpv6": {"clients": 2_000, "rate": "50000/s", "outstanding": 2_000, "timeout": "2s"}},
    "pppoe": {"pppoe": {"clients": 2_000, "rate": "50000/s", "outstanding": 2_000, "timeout": "2s"}},
    "multicast": {"ip": "10.0.0.3/16", "multicast": {"rate": "50000/s", "groups": [{"group": "239.1.1.1..239.1.4.200"}]}},
    "neighbours": {"ip": "10.0.0.3/16", "gateway": "10.0.0.1"},
}


@pytest.mark.parametrize("hosts", HOSTS)
def test_no_protocol_exceeds_the_limit(lab, hosts):
    """What clients of a protocol send before and after traffic, too: never more than the limit and what may leave at once."""
    ns = lab.netns("limit")
    lab.veth(ns, "v0", ns, "v1")
    for interface in ("v0", "v1"):
        ns.sysctl({f"net.ipv6.conf.{interface}.disable_ipv6": 1})
    server = Server(lab, "--max-rate", f"{LIMIT}pps", ns=ns)
    west = {"device": "afpacket:v0", **HOSTS[hosts]}
    profile = {"ports": {"west": west}, "streams": [], "load": {"duration": "1s"}}
    if hosts == "neighbours":
        profile["streams"] = [
            {"name": "s", "from": "west", "rate": "50pps", "measure": False, "packet": [{"ipv4": {"dst": "10.9.0.9"}}, {"udp": {"dst": 9}}]}
        ]

    def received():
        return int(ns.run("cat", "/sys/class/net/v1/statistics/rx_packets"))

    begin, before = time.monotonic(), received()
    answer = server.ask("POST", "/api/v1/runs", {"profile": profile})
    assert answer.status == 201, answer
    path = f"/api/v1/runs/{answer.json()['id']}"
    most = 0.0

    def ended():
        nonlocal most
        seen, seconds = received() - before, time.monotonic() - begin
        most = max(most, seen - LIMIT * seconds)
        return server.get(path)["ended"]

    wait_until(ended, "the end of the run", 90, 0.1)
    seen = received() - before
    assert seen > 5, "nothing was sent: this shows nothing"
    # A bucket at each of three stages, and what is measured late.
    assert most <= 10, f"{most:.0f} frames more than {LIMIT} a second; {seen} in all"
