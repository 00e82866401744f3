"""Servers that are dead: every session has an outcome at the end of a run, however long TCP would go on trying."""

import time

import pytest
from bad_server import PORTS as BAD
from hosts import Host, rules
from kernel_server import ECHO
from sessions import all_failed, all_through, check, raw

# What the run waits for is shorter than SYN retries (a minute) and response timeouts (30 s).
LOAD = {"duration": "1s", "drain": "500ms"}
# All are due long before the end: a busy machine opens them late.
RATE, COUNT = "500/s", 200
KINDS = pytest.mark.parametrize("kind", ["afpacket", "afxdp"])


@pytest.fixture
def host(lab):
    """The kernel, with all that it leaves to cards by default."""
    return Host(lab, offloads=True)


def run(host, *sessions, kind="afpacket", load=None, **rest):
    profile = host.lab.profile(host.ports(kind), None, sessions=list(sessions), load={**LOAD, **(load or {})}, **rest)
    return host.lab.eagre("run", profile, "--json", "-", ns=host.tester)


def failed(done, name="s", **reasons):
    """Nobody came through, for these reasons, and everybody is told."""
    one = all_failed(check(done.json["sessions"][name]), sum(reasons.values()), **reasons)
    achieved = done.json["achieved"]
    assert done.exit == 1 and achieved["success"] is False, str(done)
    assert achieved["sessions"] == {
        "asked": one["attempted"],
        "succeeded": 0,
        "unfinished": 0,
        "ratio": 0.0,
        "dead": [name],
    }, achieved
    assert first_line(done).startswith(f"Nothing succeeded: 0 of {one['attempted']:,} sessions completed (0%)"), str(done)
    return one


def first_line(done):
    return next(line for line in done.err.splitlines() if line.strip()).strip()


@KINDS
def test_syns_that_are_dropped(host, kind):
    """A criterion on failures sees them; that the figures can be trusted is another matter."""
    rules(host.host, "input", "tcp flags syn counter name hit drop")
    criteria = {"sessions.s.failed_ratio": "< 0.001%"}
    done = run(host, host.client("http", open=RATE, count=COUNT), kind=kind, criteria=criteria)
    one = failed(done, setup_timeout=COUNT)
    assert one["established"] == 0 and one["client"]["failure_details"] == {SILENT: COUNT}, one
    (criterion,) = done.json["criteria"]
    assert (criterion["path"], criterion["bound"], criterion["value"]) == ("sessions.s.failed_ratio", "< 0.001%", 1.0)
    # A tester without its core may have missed the answers.
    assert not criterion["passed"] and criterion["outcome"] in ("not_met", "cannot_judge"), criterion


SILENT = "nothing received while the run waited for late replies"


@pytest.mark.parametrize("at_end", ["close", "reset"])
def test_a_server_that_accepts_and_never_answers(host, at_end):
    """Sessions that heard nothing are no successes because the run was over, however it ends them."""
    host.kernel_server("bad_server.py")
    entry = host.client("http", server_port=BAD["silent"], open=RATE, count=COUNT, at_end=at_end)
    one = failed(run(host, entry), response_timeout=COUNT)
    assert one["established"] == COUNT, one


def test_a_server_that_does_not_answer_tls(host):
    host.kernel_server("bad_server.py")
    entry = host.client("http", server_port=BAD["silent"], tls=True, open=RATE, count=COUNT)
    failed(run(host, entry), tls_timeout=COUNT)


@pytest.mark.parametrize("at_end", ["close", "reset"])
def test_datagrams_that_are_dropped(host, at_end):
    rules(host.host, "input", "udp dport 9000 drop")
    entry = host.client(raw(), server_port=9000, transport="udp", open=RATE, count=COUNT, at_end=at_end)
    failed(run(host, entry), response_timeout=COUNT)


def test_syns_that_are_dropped_and_sessions_to_be_reset(host):
    rules(host.host, "input", "tcp flags syn drop")
    failed(run(host, host.client("http", open=RATE, count=COUNT, at_end="reset")), setup_timeout=COUNT)


def test_a_server_that_dies_midway(host):
    """What was done before counts; what waits for an answer at the end has none."""
    host.kernel_server()
    rules(host.host, "input", f"tcp dport {ECHO} ct original packets > 8 drop")
    entry = host.client(raw(requests="endless", think="20ms"), server_port=ECHO, open=RATE, count=20)
    one = check(run(host, entry).json["sessions"]["s"])
    assert one["completed"] == 0 and sum(one["failed"].values()) == 20 and one["transactions"] >= 20, one


def test_answers_that_come_within_the_wait_count(host):
    """A slow server is not a dead one: nothing fails that is answered before the wait is over."""
    host.kernel_server("bad_server.py")
    app = {"http": {"path": "/1k", "response": "1KB"}}
    entry = host.client(app, server_port=BAD["slow_but_right"], open=RATE, count=40)
    done = run(host, entry, load={"duration": "300ms", "drain": "5s"})
    all_through(check(done.json["sessions"]["s"]), 40, 40)
    assert done.ok().json["achieved"]["success"] is True, str(done)
    assert first_line(done) == "40 of 40 sessions completed (100%)"


def test_a_transfer_under_way_at_the_end_is_neither(host):
    """It has not failed, and has not done what it should."""
    host.kernel_server("bad_server.py")
    app = {"http": {"path": "/1k", "response": "1KB"}}
    entry = host.client(app, server_port=BAD["trickles"], open=RATE, count=10)
    done = run(host, entry, load={"duration": "200ms", "drain": "300ms"})
    one = check(done.json["sessions"]["s"])
    assert (one["attempted"], one["completed"], one["failed"], one["active"]) == (10, 0, {}, 10), one
    assert "10 still in progress" in first_line(done.ok()), str(done)


@pytest.mark.parametrize("at_end", ["close", "reset"])
def test_servers_whose_clients_failed_have_an_outcome(lab, at_end):
    """The device lets handshakes through and nothing of the client after that: no session of either end stays open."""
    router = lab.router()
    router.router.run(
        "nft", "-f", "-", input="table ip dead {\n chain forward {\n type filter hook forward priority 0\n"
        " tcp dport 80 tcp flags & (psh | rst | fin) != 0 drop\n }\n}\n"
    )  # fmt: skip
    ports = router.ports("afpacket", v6=False)
    client, server = {"port": "west", "addresses": "10.0.0.10..10.0.0.19"}, {"port": "east", "ports": 80}
    entry = {"name": "s", "client": client, "server": server, "app": "http", "open": RATE, "count": COUNT, "at_end": at_end}
    profile = lab.profile(ports, None, sessions=[entry], load=LOAD)
    one = lab.eagre("run", profile, "--json", "-", ns=router.tester).json["sessions"]["s"]
    for end in ("client", "server"):
        assert one[end].get("active", 0) == 0, (end, one[end])
        assert sum(one[end]["failed"].values()) == one[end]["attempted"] == COUNT, (end, one[end])


@pytest.mark.parametrize("app", ["http", raw(requests="endless")], ids=["http", "raw"])
def test_a_server_that_refuses_is_not_flooded(host, app):
    """Sessions that take each other's places as fast as they can wait while all of them fail, longer each time."""
    done = run(host, host.client(app, server_port=81, concurrent=50), load={"duration": "3s"})
    one = failed(done, refused=done.json["sessions"]["s"]["attempted"])
    # The waits are 10, 20, 40 … ms: nine rounds begin before 3 s, some with sessions of the round before.
    assert 2 * 50 <= one["attempted"] <= 20 * 50, one
    assert any("all failed; after a round of such failures new sessions wait" in note for note in done.json["verdict"]["notes"]), done.json["verdict"]


def test_a_server_that_resets_whatever_it_accepts_is_not_flooded(host):
    host.kernel_server("bad_server.py")
    done = run(host, host.client("http", server_port=BAD["resets_at_once"], concurrent=50), load={"duration": "3s"})
    count = done.json["sessions"]["s"]["attempted"]
    one = all_failed(check(done.json["sessions"]["s"]), count, reset=count)
    assert one["established"] > 50 and 2 * 50 <= one["attempted"] <= 20 * 50, one


def test_a_rate_and_a_number_of_sessions_are_kept_though_all_are_refused(host):
    done = run(host, host.client("http", server_port=81, open="200/s", **{"for": "500ms"}), load={"duration": "3s"})
    failed(done, refused=100)
    done = run(host, host.client("http", server_port=81, concurrent=10, count=1000), load={"duration": "3s"})
    failed(done, refused=1000)


def test_sessions_come_back_with_their_server(host):
    """A server that begins to listen is found within a second, and then gets all that it can take."""
    process = host.start(host.client(raw(), server_port=ECHO, concurrent=20), duration="6s")
    time.sleep(2.5)
    host.kernel_server()
    one = check(host.lab.finish(process).json["sessions"]["s"])
    assert one["completed"] > 500 and 20 <= one["failed"]["refused"] < 500, one
