"""How much of what was asked succeeded: runs of which nothing came say so first, and are not green."""

import json
import re

import pytest
from bad_server import PORTS as BAD
from hosts import Host, rules
from lab import CANNOT_JUDGE, FAILED, pair, stream
from sessions import raw

LOAD = {"duration": "500ms", "drain": "300ms"}
# All are due long before the end: a busy machine opens them late.
OPEN = {"open": "500/s", "count": 50}


@pytest.fixture
def host(lab):
    return Host(lab, offloads=True)


def first_line(done):
    return next(line for line in done.err.splitlines() if line.strip()).strip()


def not_green(done, code=FAILED):
    """The exit code, the document and the first line agree that less than half succeeded."""
    assert done.exit == code, str(done)
    achieved = done.json["achieved"]
    assert achieved["success"] is False and first_line(done) == achieved["summary"], str(done)
    assert achieved["summary"].startswith(("Nothing succeeded: 0 of ", "Less than half succeeded: ", "The tester could ")), achieved
    parts = [achieved[kind] for kind in ("sessions", "packets") if kind in achieved]
    assert any(2 * part["succeeded"] < part["asked"] - part["unfinished"] for part in parts), achieved
    return achieved


def run(lab, profile, ns=None):
    return lab.whole("run", profile, ns=ns)


def sessions(host, *entries, **rest):
    profile = host.lab.profile(host.ports(), None, sessions=list(entries), load=LOAD, **rest)
    return run(host.lab, profile, host.tester)


def dead_server(host):
    return host.client("http", server_port=BAD["silent"], **OPEN)


def dropped(host):
    rules(host.host, "input", "tcp dport 80 drop")
    return host.client("http", **OPEN)


def dropped_datagrams(host):
    rules(host.host, "input", "udp dport 9000 drop")
    return host.client(raw(), server_port=9000, transport="udp", **OPEN)


def rejected(host):
    rules(host.host, "input", "tcp dport 80 reject with tcp reset")
    return host.client("http", **OPEN)


def unavailable(host):
    return host.client("http", server_port=BAD["unavailable"], **OPEN)


def wrong_content(host):
    app = {"http": {"path": "/1k", "response": "1KB"}}
    return host.client(app, server_port=BAD["says_too_much"], **OPEN)


def no_route(host):
    """The next hop has no way to the server."""
    return host.client("http", server={"addresses": "192.0.2.1"}, **OPEN)


@pytest.mark.parametrize(
    "fault, reason",
    [
        (dead_server, "response_timeout"),
        (dropped, "setup_timeout"),
        (dropped_datagrams, "response_timeout"),
        (rejected, "refused"),
        (unavailable, "http_5xx"),
        (wrong_content, "wrong_content"),
        (no_route, "unreachable"),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_sessions_that_all_fail(host, fault, reason):
    """The reason stands in the first line."""
    host.kernel_server("bad_server.py")
    host.host.sysctl({"net.ipv4.ip_forward": 1})
    done = sessions(host, fault(host))
    achieved, failed = not_green(done), done.json["sessions"]["s"]["failed"]
    sentence = "Nothing succeeded: 0 of 50 sessions completed (0%), failed: "
    if fault is no_route:
        # A kernel sends only so many ICMP errors.
        assert failed["unreachable"] and sum(failed.values()) == 50, failed
        assert achieved["summary"].startswith(sentence) and "unreachable" in achieved["summary"]
    else:
        assert failed == {reason: 50}, failed
        assert achieved["summary"] == f"{sentence}50 {reason.replace('_', ' ')}"
    assert done.json["verdict"]["valid"] is True, done.json["verdict"]


@pytest.fixture
def router(lab):
    router = lab.router()
    router.lab = lab
    return router


def packets(router, *streams, **rest):
    ports = {name: {**port, "speed": "1Gbps"} for name, port in router.ports("afpacket", v6=False).items()}
    # Four times as long as the packets take: a busy machine sends them late.
    load = {**LOAD, "duration": "2s"}
    return run(router.lab, router.lab.profile(ports, list(streams), load=load, **rest), router.tester)


def one_way(name="a", udp_port=9, **rest):
    return stream(name, "west", "east", udp_port, rate="1kpps", count=500, **rest)


def blocked(router, name="a"):
    """A stream that the router drops."""
    rules(router.router, "forward", "udp dport 7 drop")
    return one_way(name, 7)


def wrong_vlan(router):
    return {**one_way(), "packet": [{"ethernet": {"dst": router.router.mac("r0")}}, {"vlan": {"id": 7}}, "ipv4", "udp"]}


def too_long(router):
    """For the MTU of the way out, and not to be cut."""
    router.router.ip("link", "set", "r1", "mtu", "1000")
    return {**one_way(), "packet": [{"ipv4": {"flags": 2}}, "udp"], "size": "1400B"}


def no_way(router):
    """The device forwards nothing."""
    router.router.sysctl({"net.ipv4.conf.all.forwarding": 0})
    return one_way()


@pytest.mark.parametrize("fault", [wrong_vlan, too_long, no_way, blocked], ids=lambda fault: fault.__name__)
def test_packets_that_are_all_lost(router, fault):
    done = packets(router, fault(router))
    assert not_green(done)["summary"] == "Nothing succeeded: 0 of 500 packets received (0%)"


def test_packets_of_which_most_are_lost(router):
    """A device that forwards one in five."""
    rules(router.router, "forward", "numgen inc mod 5 != 0 drop")
    achieved = not_green(packets(router, one_way()))
    assert achieved["summary"] == "Less than half succeeded: 100 of 500 packets received (20%)"


def test_a_link_that_is_down(router):
    """Refused before a packet is sent."""
    router.router.ip("link", "set", "r1", "down")
    packets(router, one_way()).refused(3, "veth1 has no carrier")


def test_no_neighbour(router):
    """Refused before a packet is sent."""
    router.router.ip("address", "flush", "dev", "r0")
    ports = {"west": {"device": "afpacket:veth0", "ip": "10.0.0.2/24", "gateway": "10.0.0.1"}}
    entry = {"name": "s", "client": {"port": "west"}, "server": {"addresses": "10.1.0.1"}, "app": "http", **OPEN}
    profile = router.lab.profile(ports, None, sessions=[entry], load=LOAD)
    run(router.lab, profile, router.tester).refused(3, "10.0.0.1")


def test_starved_servers(host):
    """A device that has room for one connection in ten."""
    rules(host.host, "input", "tcp flags syn / syn,ack numgen inc mod 10 != 0 drop")
    host.kernel_server("bad_server.py")
    app = {"http": {"path": "/1k", "response": "1KB"}}
    entry = host.client(app, server_port=BAD["slow_but_right"], **OPEN)
    achieved = not_green(sessions(host, entry))
    assert achieved["sessions"]["succeeded"] == 5, achieved
    assert achieved["summary"].startswith("Less than half succeeded: 5 of 50 sessions completed (10%), failed: 45 "), achieved


def test_a_starved_tester(lab):
    """More packets and sessions are asked for than a core can send and open: those it did not count as asked, too."""
    profile = lab.profile(pair(), [stream("a", "west", "east", rate="500Mpps")], load={"duration": "300ms"})
    achieved = not_green(run(lab, profile), CANNOT_JUDGE)
    assert achieved["packets"]["asked"] == 150_000_000 and achieved["packets"]["ratio"] < 0.5, achieved
    assert re.fullmatch(
        r"The tester could send [\d.]+% of that load \([\d.]+ [kM]?pps\); (none of it was|[\d,]+ of [\d,]+ packets were) lost",
        achieved["summary"],
    ), achieved
    entry = {"name": "s", "client": {"port": "west"}, "server": {"port": "east", "ports": 80}, "app": "http", "open": "100M/s"}
    profile = lab.profile(pair(), None, sessions=[entry], load={"duration": "300ms", "drain": "1s"})
    achieved = not_green(run(lab, profile), CANNOT_JUDGE)
    assert achieved["sessions"]["ratio"] < 0.5 and achieved["summary"].startswith("The tester could open "), achieved


# What is no failure.


def test_what_works_says_so_first(lab):
    entry = {"name": "s", "client": {"port": "west"}, "server": {"port": "east", "ports": 80}, "app": "http", **OPEN}
    profile = lab.profile(pair(), [stream("a", "west", "east", rate="1kpps")], sessions=[entry], load=LOAD)
    done = run(lab, profile)
    done.ok()
    assert first_line(done) == "50 of 50 sessions completed (100%); 500 of 500 packets received (100%)"
    parts = done.json["achieved"]
    assert (parts["sessions"]["ratio"], parts["packets"]["ratio"], parts["packets"]["dead"]) == (1.0, 1.0, [])


def test_only_what_should_arrive_counts(router):
    """A flood that nobody receives, and packets without a signature."""
    flood = {key: value for key, value in blocked(router, "flood").items() if key != "to"}
    flood["packet"] = [{"ipv4": {"dst": "10.0.1.2"}}, {"udp": {"dst": 7}}]
    done = packets(router, flood, one_way("plain", 7, measure=False))
    assert "packets" not in done.ok().json["achieved"], str(done)
    assert first_line(done) == "1,000 packets sent; their arrival is not measured"


@pytest.mark.parametrize(
    "criterion, exit_code",
    [
        ({"streams.a.loss_ratio": ">= 99%"}, 0),
        ({"streams.a.rx": "== 0"}, 0),
        ({"streams.a.lost": "> 1000"}, 1),
        ({"streams.a.rx": "<= 100000"}, 1),
        ({"streams.a.loss_ratio": "<= 100%"}, 1),
        ({"streams.a.latency_ns.p99": "> 1s"}, 1),
    ],
    ids=json.dumps,
)
def test_criteria_that_demand_loss_decide(router, criterion, exit_code):
    """A rule that drops is tested by packets that it must drop: those count no longer among what should arrive."""
    done = packets(router, blocked(router), blocked_too(), one_way("b"), criteria=criterion)
    assert done.exit == exit_code or exit_code == 0 and done.was_only_disturbed(), str(done)
    demands = "lost" in str(criterion) or exit_code == 0
    assert done.json["achieved"]["packets"]["asked"] == (1000 if demands else 1500), done.json["achieved"]


def test_the_first_line_has_loss_that_is_demanded(router):
    """If nothing else is sent, the first line has what the device dropped, not that arrival is not measured."""
    done = packets(router, blocked(router), criteria={"streams.a.loss_ratio": ">= 99%"})
    assert done.exit == 0 or done.was_only_disturbed(), str(done)
    assert first_line(done) == "0 of 500 packets received (0%); a criterion demands loss or failures"


def blocked_too():
    return one_way("c", 7)


def test_one_dead_stream_is_named(router):
    """Half of the packets is not less than half, but nobody should have to look for the other half."""
    done = packets(router, one_way(), blocked(router, "b"))
    done.ok()
    assert first_line(done) == "500 of 1,000 packets received (50%), nothing on 1 of 2 streams: b"
    assert done.json["achieved"]["packets"]["dead"] == ["b"]


def test_a_report_says_so_first(host):
    """The page of a single run: what came of it stands before whether its figures can be trusted."""
    folder = host.lab.folder() / "run"
    profile = host.lab.profile(host.ports(), None, sessions=[dropped(host)], load=LOAD)
    host.lab.eagre("run", profile, "--out", folder, ns=host.tester)
    page = host.lab.folder() / "page.html"
    host.lab.eagre("results", "report", "--run", folder, "--output", page).ok()
    text = page.read_text()
    assert re.search(r'class="verdict bad"[^>]*><p class="band"><strong>✕ Failed</strong>: Nothing succeeded: 0 of 50 sessions completed \(0%\), failed: 50 setup', text)


UNFINISHED = {
    "a chain": ("10 not sent: its 2 s of traffic were over", {"streams": [("a", 10, {"then": "b"}), ("b", 20, {})]}),
    "sessions": ("80 not opened: its 2 s of traffic were over", {"sessions": {"open": "10/s", "count": 100}}),
    "bytes": ("20 MB of 100 MB moved: its 2 s of traffic were over", {"sessions": {"open": "10/s", "bytes": "100MB"}}),
    "all bytes": (None, {"sessions": {"open": "10/s", "bytes": "5MB"}}),
}


@pytest.mark.parametrize("name", UNFINISHED)
def test_what_was_asked_by_number_and_not_done_is_named_with_its_reason(lab, name):
    """Nothing more was due before the end, which came a moment early: that is why, not that sessions had ended."""
    words, rows = UNFINISHED[name]
    ports = {"west": {"device": "ring:a", "ip": "10.0.0.1/24", "speed": "10Gbps"}, "east": {"device": "ring:b", "ip": "10.0.0.2/24", "speed": "10Gbps"}}
    udp = ["ipv4", "udp"]
    streams = [
        {"name": n, "from": "west", "to": "east", "packet": udp, "rate": "10pps", "count": count, **more} for n, count, more in rows.get("streams", [])
    ]
    sessions = []
    if "sessions" in rows:
        app = {"http": {"response": "1MB"}}
        sessions = [{"name": "s", "client": {"port": "west"}, "server": {"port": "east"}, "app": app, **rows["sessions"]}]
    profile = lab.profile(ports, streams or None, **({"sessions": sessions} if sessions else {}), load={"duration": "2s"})
    summary = lab.eagre("sim", profile, "--json", "-").ok().json["achieved"]["summary"]
    assert summary.endswith(words) if words else "moved" not in summary, summary
