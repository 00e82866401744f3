"""Sessions through a stateful firewall of the Linux kernel: what it refuses are our failures, to the session."""

import ipaddress
import re
import time

import pytest
from hosts import counted, rules
from lab import EAST4, EAST6, WEST4, WEST6, need, wait_until
from sessions import all_through, check, of, raw

FAMILIES = pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])
TRACK = "ct state established,related accept"


@pytest.fixture
def router(lab):
    """The kernel between our clients and our servers."""
    need("conntrack")
    router = lab.router()
    router.lab = lab
    return router


def entry(app, v6=False, name="s", **rest):
    """Clients in the west, servers in the east."""
    client, server = rest.pop("client", {}), rest.pop("server", {})
    return {
        "name": name,
        "client": {"port": "west", "addresses": WEST6 if v6 else WEST4, **client},
        "server": {"port": "east", "addresses": EAST6 if v6 else EAST4, "ports": 80, **server},
        "app": app,
        **rest,
    }


def profile(router, *sessions, kind="afpacket", duration="20s"):
    load = {"duration": duration, "drain": "300ms"}
    return router.lab.profile(router.ports(kind), None, sessions=list(sessions), load=load)


def run(router, *sessions, timeout=60, **options):
    return router.lab.eagre(
        "run", profile(router, *sessions, **options), "--json", "-", ns=router.tester, timeout=timeout
    )


def start(router, *sessions, **options):
    return router.lab.start_eagre("run", profile(router, *sessions, **options), "--json", "-", ns=router.tester)


def tracked(router, *filters):
    """Connections the firewall knows."""
    said = router.router.run("conntrack", "-L", "-p", "tcp", *filters, check=False)
    return len(re.findall(r"^tcp ", said, re.MULTILINE))


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
@FAMILIES
def test_sessions_pass_a_firewall_that_tracks_them(router, kind, v6):
    """It sees as many new connections as we open, calls no packet invalid, and both our ends agree."""
    rules(
        router.router,
        "forward",
        TRACK,
        "ct state new tcp dport 80 counter name hit accept",
        "ct state invalid counter drop",
    )
    one = all_through(of(run(router, entry(raw(), v6, open="2000/s", count=2000), kind=kind)), 2000, 2000)
    # A SYN that is sent again, by a busy machine, is still that of a new connection.
    assert counted(router.router)["hit"] == 2000 + one["client"]["tcp"]["retransmitted_syn"]
    assert one["client"]["tcp"]["bytes_out"] == one["server"]["tcp"]["bytes_in"] == 200_000
    assert one["server"]["completed"] == 2000, one["server"]
    invalid = router.router.run("nft", "list", "chain", "inet", "test", "at_forward")
    assert re.search(r"invalid counter packets 0 ", invalid), invalid


# Holds a session so long that all of them are there at a time.
HOLD = {
    "program": {
        "client": [{"send": "hello"}, {"expect": "world"}, {"wait": "2500ms"}],
        "server": [{"expect": "hello"}, {"send": "world"}, "expect_end"],
    }
}
OFFERED, LIMIT = 300, 120


@pytest.mark.parametrize(
    "verdict, reason", [("reject with tcp reset", "refused"), ("drop", "setup_timeout")], ids=["reject", "drop"]
)
@FAMILIES
def test_a_limit_on_connections_is_found_to_the_session(router, verdict, reason, v6):
    """What is above it fails for the reason the firewall's verdict gives; its tables and counters say the same."""
    rules(
        router.router,
        "forward",
        TRACK,
        f"ct state new tcp dport 80 ct count over {LIMIT} counter name hit {verdict}",
        "ct state new tcp dport 80 accept",
    )
    tcp = {"syn_retries": 1, "rto_initial": "300ms"}
    process = start(router, entry(HOLD, v6, open="1000/s", count=OFFERED, tcp=tcp))
    wait_until(lambda: counted(router.router)["hit"] >= OFFERED - LIMIT, "the limit")
    time.sleep(0.3)
    assert tracked(router, "--dport", "80", "-f", "ipv6" if v6 else "ipv4", "--state", "ESTABLISHED") == LIMIT
    one = of(router.lab.finish(process))
    assert (one["attempted"], one["established"], one["completed"]) == (OFFERED, LIMIT, LIMIT), one
    assert one["failed"] == {reason: OFFERED - LIMIT}, one["failed"]
    assert one["active_max"] >= LIMIT and one["server"]["attempted"] == LIMIT, one
    syns = 1 if reason == "refused" else 2
    assert counted(router.router)["hit"] == syns * (OFFERED - LIMIT)


def test_room_under_the_limit_is_used_again(router):
    """Sessions that end make room: with fewer at a time than the limit allows none fails."""
    rules(
        router.router,
        "forward",
        TRACK,
        f"ct state new tcp dport 80 ct count over {LIMIT} counter name hit reject with tcp reset",
        "ct state new tcp dport 80 accept",
    )
    # The kernel forgets ended connections once a jiffy at most: what opens in one must fit beside what is open.
    all_through(of(run(router, entry(raw(), open="5000/s", concurrent=LIMIT // 2, count=1500))), 1500)
    assert counted(router.router)["hit"] == 0


def test_a_firewall_that_forgets_is_noticed(router):
    """Its table is emptied while sessions are idle, and it takes no segment of what it does not know."""
    rules(
        router.router, "forward", TRACK, "ct state new tcp flags & (syn | ack) == syn accept", "counter name hit drop"
    )
    router.router.sysctl({"net.netfilter.nf_conntrack_tcp_loose": 0})
    again = {
        "program": {
            "client": [{"send": "hello"}, {"expect": "world"}, {"wait": "2s"}, {"send": "hello"}, {"expect": "world"}],
            "server": [{"expect": "hello"}, {"send": "world"}, {"expect": "hello"}, {"send": "world"}, "expect_end"],
        }
    }
    tcp = {"data_retries": 2, "rto_initial": "300ms", "rto_max": "400ms"}
    process = start(router, entry(again, open="500/s", count=100, tcp=tcp, response_timeout="20s"))
    wait_until(lambda: tracked(router, "--dport", "80", "--state", "ESTABLISHED") == 100, "100 connections")
    router.router.run("conntrack", "-F", check=False)
    one = of(router.lab.finish(process))
    assert (one["established"], one["failed"]) == (100, {"timeout": 100}), one
    assert counted(router.router)["hit"] >= 100


@FAMILIES
def test_sessions_pass_address_translation(router, v6):
    """All clients appear behind one address; replies find their way back, and none is lost."""
    rules(router.router, "forward", TRACK, "ct state new tcp dport 80 counter name hit accept")
    rules(
        router.router,
        "postrouting",
        'oifname "r1" counter name hit masquerade',
        kind="nat",
        priority="srcnat",
        name="nat",
    )
    network = "2001:2::" if v6 else "10.0.0."
    client = {"addresses": f"{network}10..{network}{'6d' if v6 else 109}"}
    one = all_through(of(run(router, entry(raw(), v6, open="2000/s", count=2000, client=client))), 2000, 2000)
    assert one["server"]["completed"] == 2000
    said = router.router.run("conntrack", "-L", "-p", "tcp", "-f", "ipv6" if v6 else "ipv4", check=False)
    replies = set(re.findall(r"src=\S+ dst=(\S+) sport=80 dport=", said))
    assert replies == {str(ipaddress.ip_address("2001:2:0:1::1" if v6 else "10.0.1.1"))}, replies


def test_a_service_behind_a_changed_address(router):
    """Our clients go to an address of the firewall's; it leads to our servers."""
    rules(
        router.router,
        "prerouting",
        f'iifname "r0" tcp dport 8080 counter name hit dnat ip to {EAST4}:80',
        kind="nat",
        priority="dstnat",
    )
    client_only = {
        "name": "out",
        "client": {"port": "west", "addresses": WEST4},
        "server": {"addresses": "10.0.0.1", "ports": 8080},
        "app": raw(),
        "open": "1000/s",
        "count": 1000,
    }
    server_only = {"name": "in", "server": {"port": "east", "addresses": EAST4, "ports": 80}, "app": raw()}
    done = run(router, client_only, server_only, duration="20s")
    all_through(of(done, "out"), 1000, 1000)
    assert counted(router.router)["hit"] == 1000
    assert check(done.json["sessions"]["in"])["transactions"] == 1000


def test_pools_of_addresses_behind_the_tester(router):
    """250 clients and 10 servers on networks of their own, reached by routes through the tester's addresses."""
    router.router.ip("route", "add", "10.9.0.0/24", "via", WEST4)
    router.router.ip("route", "add", "10.8.0.0/24", "via", EAST4)
    rules(router.router, "forward", TRACK, "ct state new tcp dport 80 counter name hit accept")
    pools = {"client": {"addresses": "10.9.0.1..10.9.0.250"}, "server": {"addresses": "10.8.0.1..10.8.0.10"}}
    one = all_through(of(run(router, entry(raw(), open="2000/s", count=2500, **pools))), 2500, 2500)
    assert one["server"]["completed"] == 2500
    said = router.router.run("conntrack", "-L", "-p", "tcp", check=False)
    pairs = re.findall(r"src=(10\.9\.0\.\d+) dst=(10\.8\.0\.\d+)", said)
    assert len(set(pairs)) == 2500, "every pair once"
    assert len({client for client, _ in pairs}) == 250 and len({server for _, server in pairs}) == 10


def test_a_proxy_of_handshakes_is_passed(router):
    """nftables' synproxy answers in the servers' place; sessions come through all the same."""
    router.router.sysctl({"net.netfilter.nf_conntrack_tcp_loose": 0, "net.ipv4.tcp_timestamps": 1})
    rules(router.router, "prerouting", "tcp dport 80 tcp flags syn notrack", priority="raw", name="untracked")
    rules(
        router.router,
        "forward",
        "tcp dport 80 ct state invalid,untracked counter name hit synproxy mss 1460 wscale 7 timestamp sack-perm",
        "ct state invalid drop",
    )
    all_through(of(run(router, entry(raw("2KB", "20KB"), open="500/s", count=500))), 500, 500)
    assert counted(router.router)["hit"] >= 500


def test_datagrams_pass_too(router):
    """Sessions over UDP are tracked and counted like those over TCP."""
    rules(router.router, "forward", TRACK, "ct state new udp dport 80 counter name hit accept", "counter drop")
    all_through(of(run(router, entry(raw(), transport="udp", open="2000/s", count=1000))), 1000, 1000)
    assert counted(router.router)["hit"] == 1000
