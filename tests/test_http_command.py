"""`eagre http`: one command loads a web server behind a kernel interface, whatever network that is on."""

import ipaddress
import re
import time

import pytest
from hosts import PYTHON, Host, Routed
from lab import BAD_INPUT, CANNOT_JUDGE, FAILED, REFUSED, REPO, WEST4, WEST6, WEST_ROUTER4, WEST_ROUTER6, wait_until
from servers import Nginx, self_signed

FAMILIES = pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])
TAKEN = re.compile(r"the clients are (\S+) on veth0")

# An HTTP server on port 80 that answers everything at once, but stands still for 2 s, 5 s after its first request.
STALLING = """
import selectors, socket, sys, time
listener = socket.create_server(("0.0.0.0", 80), backlog=1024)
chosen = selectors.DefaultSelector()
chosen.register(listener, selectors.EVENT_READ)
answer = b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok"
first, stalled = None, False
while True:
    for key, _ in chosen.select():
        if key.fileobj is listener:
            one, _ = listener.accept()
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            chosen.register(one, selectors.EVENT_READ)
            continue
        try:
            got = key.fileobj.recv(65536)
        except OSError:
            got = b""
        if not got:
            chosen.unregister(key.fileobj)
            key.fileobj.close()
            continue
        first = first or time.monotonic()
        if not stalled and time.monotonic() - first > 5:
            time.sleep(float(sys.argv[1]))
            stalled = True
        key.fileobj.sendall(answer * got.count(b"\\r\\n\\r\\n"))
"""

# One that takes 5 ms for each request.
SLOW = STALLING.replace("        key.fileobj.sendall", "        time.sleep(0.005)\n        key.fileobj.sendall")
LIMIT = re.compile(r"sessions http: the server, or the path to it, was the limit: 4 connections waited for it while the tester had \d+% of its time to spare")


def prepared(host):
    """Gives the tester's kernel addresses on its link, as any machine has them, and routes to what is elsewhere."""
    host.tester.sysctl({f"net.ipv6.conf.{which}.disable_ipv6": 0 for which in ("all", "default", "lo", "veth0")})
    host.tester.ip("address", "add", f"{WEST4}/24", "dev", "veth0")
    host.tester.ip("address", "add", f"{WEST6}/64", "dev", "veth0")
    host.tester.ip("route", "add", "10.0.1.0/24", "via", WEST_ROUTER4)
    host.tester.ip("route", "add", "2001:2:0:1::/64", "via", WEST_ROUTER6)
    return host


@pytest.fixture
def host(lab):
    return prepared(Host(lab, offloads=True))


def http(host, *arguments, **options):
    return host.lab.eagre("http", *arguments, ns=host.tester, **options)


def url(host, path="/1k", v6=False, scheme="http", port=""):
    address = f"[{host.address(True)}]" if v6 else host.address()
    return f"{scheme}://{address}{port}{path}"


def entry(done):
    assert done.told["verdict"].get("faults", []) == [], str(done)
    return done.json["sessions"]["http"]


@FAMILIES
@pytest.mark.parametrize("where", [Host, Routed], ids=["near", "routed"])
def test_requests_are_as_many_as_asked_for(lab, where, v6):
    """On the server's link and behind a router: as many in the server's log, from an address that was nobody's."""
    host = prepared(where(lab, offloads=True))
    nginx = Nginx(lab, host.host)
    done = http(host, url(host, v6=v6), "-n", 1003, "-c", 7, "--json", "-").ok()
    one = entry(done)
    assert (one["requests"], one["transactions"], one["failed"], one["attempted"]) == (1003, 1003, {}, 7), one
    assert one["failed_requests_ratio"] == 0 and one["client"]["http"] == {"2xx": 1003}
    logged = nginx.requests(1003)
    assert len(logged) == 1003 and {(line["status"], line["path"]) for line in logged} == {(200, "/1k")}
    taken = ipaddress.ip_address(TAKEN.search(done.err)[1])
    network = ipaddress.ip_network(f"{WEST6}/64" if v6 else f"{WEST4}/24", strict=False)
    assert taken in network and str(taken) not in (WEST4, WEST6, WEST_ROUTER4, WEST_ROUTER6)
    assert done.seconds < 20, "it ends with the last response"


def test_the_summary_has_percentiles(host):
    Nginx(host.lab, host.host)
    done = http(host, url(host), "-z", "1s").ok()
    for told in ("responses/s", "p99.9", "last byte", "first byte", "set-up", "criterion sessions.http.failed_requests_ratio"):
        assert told in done.out, str(done)


def test_closed_connections_and_many_addresses(host):
    """A connection for each request, from the addresses that were given."""
    nginx = Nginx(host.lab, host.host)
    done = http(
        host, url(host), "-n", 600, "-c", 20, "--per-connection", 1, "--source", "10.0.0.100..10.0.0.119", "--json", "-"
    ).ok()
    one = entry(done)
    assert (one["attempted"], one["completed"], one["transactions"]) == (600, 600, 600), one
    assert {line["number"] for line in nginx.requests(600)} == {1}
    assert "the clients are" not in done.err


def test_an_address_that_somebody_has_is_not_taken(host):
    """Of a network of six addresses one is free; of a network of two none is."""
    Nginx(host.lab, host.host)
    host.host.ip("address", "add", "10.9.0.1/29", "dev", "h0")
    for last in (6, 5, 4):
        host.host.ip("address", "add", f"10.9.0.{last}/29", "dev", "h0")
    host.tester.ip("address", "add", "10.9.0.2/29", "dev", "veth0")
    done = http(host, "http://10.9.0.1/1k", "-n", 10).ok()
    assert TAKEN.search(done.err)[1] == "10.9.0.3", str(done)
    host.host.ip("address", "add", "10.9.1.1/30", "dev", "h0")
    host.tester.ip("address", "add", "10.9.1.2/30", "dev", "veth0")
    done = http(host, "http://10.9.1.1/1k", "-n", 10)
    assert done.exit == REFUSED and "no free address on 10.9.1.0/30" in done.err and "--ip" in done.err, str(done)


def test_a_machine_that_forwards_keeps_out_of_it(host):
    """Its kernel neither resets connections nor sends their frames once more."""
    host.tester.sysctl({"net.ipv4.conf.all.forwarding": 1, "net.ipv6.conf.all.forwarding": 1})
    nginx = Nginx(host.lab, host.host)
    for v6 in (False, True):
        one = entry(http(host, url(host, v6=v6), "-n", 500, "--json", "-").ok())
        assert (one["transactions"], one["failed"], one["retransmitted_segments"]) == (500, {}, 0), one
    nginx.requests(1000)
    told = host.tester.run("nstat", "-a", "-s", "-z", "IpForwDatagrams", "TcpOutRsts")
    assert re.findall(r"(?:IpForwDatagrams|TcpOutRsts)\s+(\d+)", told) == ["0", "0"], told


@pytest.mark.unsteady("a busy machine answers late")
def test_a_rate_is_kept(host):
    """Requests are sent when they are due; times from then are those from when they were sent."""
    nginx = Nginx(host.lab, host.host)
    one = entry(http(host, url(host), "-r", "500", "-z", "4s", "-c", 20, "--json", "-").ok())
    assert 1_990 <= one["requests"] <= 2_001 and one["transactions"] == one["requests"], one
    # One may be due as time is up.
    assert one["unsent_requests"] <= 1 and one["ttlb_due_ns"]["samples"] == one["ttlb_ns"]["samples"] == one["transactions"]
    assert one["ttlb_ns"]["p50"] <= one["ttlb_due_ns"]["p50"] * 1.01
    nginx.requests(one["requests"])


@pytest.mark.unsteady("a busy machine answers late")
def test_times_count_from_when_requests_were_due(host):
    """A server that stands still for 2 s in 10 s at 1,000 requests/s: a tenth of the requests are due meanwhile and wait 2 to 0 s,
    and those behind them until what waits is sent."""
    host.lab.start(PYTHON, "-c", STALLING, 2, ns=host.host)
    wait_until(lambda: host.host.run("ss", "-H", "-l", "-t", "-n", "sport = :80").strip(), "the server listens")
    done = http(host, url(host, "/"), "-r", 1000, "-z", "10s", "-c", 20, "--json", "-")
    one = entry(done)
    due, sent = one["ttlb_due_ns"], one["ttlb_ns"]
    assert one["transactions"] == one["requests"] and 9_900 <= one["requests"] <= 10_001, one
    # Of 10,000 requests 2,000 waited, evenly from 2 s down to 0: the slowest hundredth 1.9 s and more.
    assert abs(due["p99"] / 1.9e9 - 1) < 0.05, due
    assert abs(due["p90"] / 1.0e9 - 1) < 0.10, due
    assert sent["p99"] < 0.1e9 and abs(sent["max"] / 2e9 - 1) < 0.05, sent
    assert any("from when" in note or "their request was due" in note for note in done.json["verdict"]["notes"]), done.json["verdict"]
    # What was due when time was up.
    assert one["unsent_requests"] <= 10


def test_a_server_that_is_the_limit_is_named(host):
    """One that answers 200 requests/s: clients that send as fast as they may wait for it. Those with a rate that it keeps do not."""
    host.lab.start(PYTHON, "-c", SLOW, ns=host.host)
    wait_until(lambda: host.host.run("ss", "-H", "-l", "-t", "-n", "sport = :80").strip(), "the server listens")
    for flags, is_named in ((["-c", 4], True), (["-c", 4, "-r", 50], False)):
        done = http(host, url(host, "/"), "-z", "1s", *flags, "--json", "-")
        assert entry(done)["transactions"] >= 45, done
        notes = done.json["verdict"]["notes"]
        assert any(LIMIT.match(note) for note in notes) == is_named, notes


@pytest.mark.unsteady("a busy machine answers late")
def test_requests_that_still_wait_at_the_end_count(host):
    """A server that stalls for the last 3 of 8 s at 1,000 requests/s: what is due meanwhile is not sent, and its times are not left out."""
    host.lab.start(PYTHON, "-c", STALLING, 60, ns=host.host)
    wait_until(lambda: host.host.run("ss", "-H", "-l", "-t", "-n", "sport = :80").strip(), "the server listens")
    done = http(host, url(host, "/"), "-r", 1000, "-z", "8s", "-c", 20, "--max-p99", "1s", "--json", "-")
    assert done.exit == FAILED, str(done)
    one = entry(done)
    due, waiting = one["ttlb_due_ns"], one["unsent_requests"]
    assert 7_900 <= one["requests"] + waiting <= 8_001 and abs(waiting / 3_000 - 1) < 0.05, one
    assert abs(due["p99"] / 2.92e9 - 1) < 0.05 and one["ttlb_ns"]["p99"] < 0.1e9, one
    assert due["samples"] == one["transactions"] + waiting, one
    told = f"{waiting:,} of {one['requests'] + waiting:,} requests due not sent: no session was free"
    assert told in done.json["achieved"]["summary"], done.json["achieved"]


def test_late_requests_are_simulated(lab):
    """In virtual time the same seed gives the same times; late requests are later from when they were due."""
    runs = [lab.eagre("sim", REPO / "examples/late-requests.yaml", "--seed", 7, "--json", "-").ok() for _ in range(2)]
    one, again = (done.json["sessions"]["web"] for done in runs)
    assert one == again and one["unsent_requests"] >= 0
    # Those that wait at the end are few, or count as well.
    waiting = one["unsent_requests"] if one["unsent_requests"] > 2 else 0
    assert one["ttlb_due_ns"]["samples"] == one["transactions"] + waiting and 1_900 <= one["requests"] <= 2_000, one
    assert all(one["ttlb_due_ns"][figure] > one["ttlb_ns"][figure] for figure in ("mean", "p99", "max")), one


def simulated(lab, app, duration="1s", cores=1, **entry):
    ports = {"west": {"device": "ring:a", "ip": "10.0.0.1/24"}, "east": {"device": "ring:b", "ip": "10.0.0.2/24"}}
    one = {"name": "web", "client": {"port": "west"}, "server": {"port": "east"}, "app": {"http": app}, **entry}
    profile = lab.profile(ports, None, sessions=[one], load={"duration": duration})
    return lab.eagre("sim", profile, "--cores", cores, "--json", "-")


def test_requests_left_out_are_counted(lab):
    """Two sessions of 10 ms a request take a fifth of 1,000 requests/s; the others are left out, which a note reports."""
    app = {"requests": "endless", "server": {"rules": [{"path": "/*", "delay": "10ms"}]}}
    busy = simulated(lab, app, concurrent=2, request_rate="1000/s").ok().json
    one = busy["sessions"]["web"]
    assert 150 <= one["requests"] <= 201 and one["transactions"] == one["requests"], one
    assert 990 <= one["requests"] + one["unsent_requests"] <= 1_000, one
    note = next(note for note in busy["verdict"]["notes"] if "left out" in note)
    assert f"{one['unsent_requests']} of {one['requests'] + one['unsent_requests']} requests due".replace(",", "") in note.replace(",", "")
    kept = simulated(lab, app, concurrent=20, request_rate="1000/s").ok().json
    one = kept["sessions"]["web"]
    assert one["unsent_requests"] == 0 and 990 <= one["requests"] <= 1_000, one
    assert not any("left out" in note for note in kept["verdict"].get("notes", []))


@pytest.mark.parametrize("late", ["skip", "send"])
@pytest.mark.parametrize("sessions, cores", [(1, 2), (3, 4)])
def test_workers_without_a_session_have_no_turns(lab, sessions, cores, late):
    """The rate is that of all workers, however many of them have a session."""
    done = simulated(lab, {"requests": "endless"}, cores=cores, concurrent=sessions, request_rate="1000/s", late_requests=late).ok()
    one = done.json["sessions"]["web"]
    assert 990 <= one["requests"] <= 1_001 and one["unsent_requests"] <= 5, one


def test_requests_of_sessions_that_are_over_do_not_wait(lab):
    """Two sessions of a hundred requests each are over after 1 s of 4, and nothing is due after that."""
    app = {"requests": 100}
    one = simulated(lab, app, duration="4s", open="max", concurrent=2, count=2, request_rate="200/s", late_requests="send").ok().json
    assert (one["sessions"]["web"]["requests"], one["sessions"]["web"]["unsent_requests"]) == (200, 0), one["sessions"]["web"]
    assert one["achieved"]["summary"] == "2 of 2 sessions completed (100%)", one["achieved"]


def test_most_requests_that_wait_fail_the_run(lab):
    """Two sessions of 10 ms a request take a fifth of 1,000 requests/s; most others still wait when time is up."""
    app = {"requests": "endless", "server": {"rules": [{"path": "/*", "delay": "10ms"}]}}
    late = {"request_rate": "1000/s", "late_requests": "send"}
    done = simulated(lab, app, concurrent=2, **late)
    assert done.exit == FAILED, str(done)
    one = done.json["sessions"]["web"]
    waiting = one["unsent_requests"]
    assert 790 <= waiting <= 850 and one["ttlb_due_ns"]["samples"] == one["transactions"] + waiting, one
    assert done.json["achieved"]["summary"].startswith("Less than half succeeded: 2 of 2 sessions completed (100%); "), done.json["achieved"]
    kept = simulated(lab, app, concurrent=20, **late).ok().json
    assert "due" not in kept["achieved"]["summary"], kept["achieved"]


def test_sessions_that_concurrent_withholds_are_noted(lab):
    """Two at a time of 100 ms each are 20 of 100 sessions/s; the profile asks for no more, and a note has the rest."""
    app = {"requests": 1, "server": {"rules": [{"path": "/*", "delay": "100ms"}]}}
    done = simulated(lab, app, open="100/s", concurrent=2).ok()
    one = done.json["sessions"]["web"]
    assert one["withheld"] > 70, one
    told = f"sessions web: {one['withheld']} of {one['attempted'] + one['withheld']} sessions due were not opened, because as many as 'concurrent' allows"
    assert any(note.startswith(told) for note in done.json["verdict"]["notes"]), done.json["verdict"]
    enough = simulated(lab, app, open="100/s", concurrent=20).ok()
    assert not any("concurrent" in note for note in enough.json["verdict"].get("notes", []))


def test_the_first_line_has_what_sessions_do_not_show(lab):
    """Errors that fail no session, and requests for which there was no time."""
    errors = {"requests": "endless", "errors_fail": False, "server": {"rules": [{"path": "/*", "status": 503, "delay": "10ms"}]}}
    done = simulated(lab, errors, concurrent=2, request_count=10).ok()
    assert done.json["achieved"]["summary"] == "2 of 2 sessions completed (100%); 10 responses with status 5xx"
    slow = {"requests": "endless", "server": {"rules": [{"path": "/*", "delay": "300ms"}]}}
    done = simulated(lab, slow, concurrent=2, request_count=100).ok()
    sent = done.json["sessions"]["web"]["requests"]
    assert 6 <= sent <= 8, sent
    assert done.json["achieved"]["summary"] == f"2 of 2 sessions completed (100%); {100 - sent} requests not sent: its 1 s of traffic were over"


def test_requests_of_a_dead_server_are_not_ascribed_to_time(host):
    """Nobody listens: as many connections as requests are tried, and all are refused."""
    done = http(host, url(host), "-n", 20, "-c", 4, "--json", "-")
    assert done.exit == FAILED and done.json["achieved"]["summary"].endswith("requests not sent: all sessions had ended"), str(done)


def test_bounds_fail_the_run(host):
    """By the slowest hundredth, and by responses that are errors."""
    Nginx(host.lab, host.host)
    done = http(host, url(host), "-n", 200, "--max-p99", "1ns")
    assert done.exit in (FAILED, CANNOT_JUDGE) and "ttlb_ns.p99 <= 1ns: passed" not in done.out, str(done)
    done = http(host, url(host, "/nothing"), "-n", 200, "--json", "-")
    assert done.exit == FAILED, str(done)
    one = entry(done)
    assert (one["failed_requests_ratio"], one["transactions"], one["client"]["http"]) == (1, 200, {"4xx": 200}), one
    assert http(host, url(host, "/nothing"), "-n", 200, "--max-failed", "100%").exit == 0


def test_methods_fields_and_bodies(host):
    """As curl's options have them."""
    nginx = Nginx(host.lab, host.host, 'location /post { if ($http_x_a != "b {}") { return 400; } return 201 $content_length; }')
    body = '{"a": [1, 2]}\n'
    file = host.lab.folder() / "body"
    file.write_text(body)
    for data in (body, f"@{file}"):
        one = entry(http(host, url(host, "/post"), "-n", 20, "-d", data, "-H", "X-A: b {{}}", "--json", "-").ok())
        assert one["client"]["http"] == {"2xx": 20}, one
    http(host, url(host), "-n", 5, "-m", "head").ok()
    logged = nginx.requests(45)
    assert {(line["method"], line["status"]) for line in logged} == {("POST", 201), ("HEAD", 200)}


def test_a_certificate_is_verified(host):
    """By a root of one's own; not by the system's, which says what to do; and not at all with -k."""
    nginx = Nginx(host.lab, host.host, http2=True)
    secure = url(host, scheme="https")
    name = ("-H", "Host: a.test")
    one = entry(http(host, secure, *name, "-n", 50, "--cacert", nginx.root, "--json", "-").ok())
    assert (one["transactions"], one["failed"]) == (50, {}) and one["client"]["tls"], one
    assert [agreed["alpn"] for agreed in one["client"]["tls"]] == ["h2"], one
    old = entry(http(host, secure, "-n", 50, "-k", "--http1.1", "--json", "-").ok())
    assert [agreed["alpn"] for agreed in old["client"]["tls"]] == ["http/1.1"] and "http2" not in old["client"], old
    done = http(host, secure, *name, "-n", 20, "--json", "-")
    assert done.exit == FAILED and set(entry(done)["failed"]) == {"tls_certificate"}, str(done)
    assert any("--cacert" in note for note in done.json["verdict"]["notes"]), done.json["verdict"]
    assert http(host, secure, "-n", 5, "--cacert", "/nowhere.pem").exit == BAD_INPUT
    keys = host.lab.folder() / "keys.txt"
    http(host, secure, *name, "-n", 5, "-k", "--key-log", keys).ok()
    assert keys.read_text().count("CLIENT_TRAFFIC_SECRET_0 ") >= 1


def test_a_self_signed_certificate_is_its_own_root(host):
    """As for curl and OpenSSL: who trusts this very certificate trusts this server, for the names in it."""
    nginx = Nginx(host.lab, host.host, certified=self_signed)
    by = lambda name: http(host, url(host, scheme="https"), "-H", f"Host: {name}", "-n", 20, "--cacert", nginx.root, "--json", "-")
    one = entry(by("a.test").ok())
    assert (one["transactions"], one["failed"]) == (20, {}), one
    done = by("b.test")
    assert done.exit == FAILED and set(entry(done)["failed"]) == {"tls_certificate"}, str(done)
    assert any("(not valid for name)" in note for note in done.json["verdict"]["notes"]), done.json["verdict"]


def test_the_profile_is_printed_and_runs(host):
    """`--print` asks nobody; the profile does the same."""
    Nginx(host.lab, host.host)
    done = http(host, url(host), "-n", 30, "--print").ok()
    assert "not checked yet" in done.err and done.out.startswith("ports:\n  http: {device: veth0, ip: 10.0.0.254/24}\n"), str(done)
    profile = host.lab.folder() / "http.yaml"
    profile.write_text(done.out)
    one = entry(host.lab.eagre("run", profile, "--json", "-", ns=host.tester).ok())
    assert (one["transactions"], one["requests"]) == (30, 30)


def test_other_ports_can_be_named(host):
    """An interface without addresses of its own, and its driver."""
    nginx = Nginx(host.lab, host.host)
    done = http(host, url(host), "-n", 40, "--port", "afpacket:veth0", "--ip", "10.0.0.77/24").ok()
    assert "the clients are" not in done.err
    nginx.requests(40)
    done = http(host, url(host), "-n", 40, "--port", "ring:a")
    assert done.exit == BAD_INPUT and "--ip" in done.err, str(done)


@pytest.mark.parametrize(
    "arguments, code, told",
    [
        (["http://127.0.0.1/"], BAD_INPUT, "address of this machine"),
        ([f"http://{WEST4}/"], BAD_INPUT, "address of this machine"),
        (["http://[::1]/"], BAD_INPUT, "address of this machine"),
        (["http://10.77.0.1/"], REFUSED, "no route to 10.77.0.1"),
        (["http://nowhere.invalid/"], BAD_INPUT, "nowhere.invalid: no address"),
        (["ftp://10.0.0.1/"], BAD_INPUT, "not a URL such as http://"),
        (["http://me:secret@10.0.0.1/"], BAD_INPUT, "-H 'Authorization"),
        ([f"http://{WEST_ROUTER4}/", "--ip", f"{WEST4}/24"], BAD_INPUT, "this machine's own address"),
        ([f"http://{WEST_ROUTER4}/", "--source", "10.0.0.1..10.0.0.9"], BAD_INPUT, "this machine's own address"),
        ([f"http://{WEST_ROUTER4}/", "-c", "1", "--cores", "2"], BAD_INPUT, "--connections"),
        ([f"http://{WEST_ROUTER4}/", "--port", "no-such-link"], BAD_INPUT, "--port no-such-link"),
        ([f"http://{WEST_ROUTER4}/", "-d", "@/no/such/file"], BAD_INPUT, "--data: /no/such/file"),
        ([f"http://{WEST_ROUTER4}/", "--timeout", "0s"], BAD_INPUT, "--timeout: must be longer than 0"),
        ([f"http://{WEST_ROUTER4}/", "--cacert", "/etc/hosts"], BAD_INPUT, "--cacert: a server of http:// has no certificate"),
        ([f"http://{WEST_ROUTER4}/", "--key-log", "keys.txt"], BAD_INPUT, "--key-log: http:// has no secrets"),
        ([f"http://{WEST_ROUTER4}/", "--streams", "5"], BAD_INPUT, "or give --h2, too"),
        ([f"http://{WEST_ROUTER4}/", "--alt-svc"], BAD_INPUT, "write https://"),
        (["http://10.0.0.200/", "-n", "1"], REFUSED, "no reply from 10.0.0.200"),
    ],
)
def test_what_cannot_be_is_refused(host, arguments, code, told):
    """With the reason and the remedy."""
    done = http(host, *arguments)
    assert done.exit == code and told in done.err, str(done)


def test_refused_connections_come_to_an_end(host):
    """Nobody listens: every attempt fails, and a note says why."""
    done = http(host, url(host, port=":81"), "-n", 50, "--json", "-")
    one = entry(done)
    assert done.exit == FAILED and one["failed"] == {"refused": 50} and one["established"] == 0, one
    assert any("were refused" in note for note in done.json["verdict"]["notes"])


def test_an_interface_that_is_down_or_forbidden(host):
    """The default route's interface needs a word; without privileges the error names what is missing."""
    done = host.lab.eagre("http", url(host), "-n", 1, ns=host.tester, user="nobody")
    assert done.exit == REFUSED and "CAP_NET_RAW" in done.err, str(done)
    host.tester.ip("route", "add", "default", "via", WEST_ROUTER4)
    done = http(host, url(host), "-n", 1)
    assert done.exit == REFUSED and "--allow-default-route" in done.err, str(done)
    Nginx(host.lab, host.host)
    http(host, url(host), "-n", 1, "--allow-default-route").ok()
    host.tester.ip("link", "set", "veth0", "down")
    done = http(host, url(host), "-n", 1)
    assert done.exit == REFUSED and "no route to" in done.err, str(done)


@FAMILIES
def test_a_container_behind_a_bridge(lab, v6):
    """As with docker: a bridge of this machine, which forwards, with the server in a namespace of its own."""
    host = Host(lab, offloads=True)
    host.tester.sysctl(
        {"net.ipv4.conf.all.forwarding": 1, "net.ipv6.conf.all.forwarding": 1}
        | {f"net.ipv6.conf.{which}.disable_ipv6": 0 for which in ("all", "default")}
    )
    host.tester.ip("link", "add", "br0", "type", "bridge")
    host.tester.ip("link", "set", "veth0", "master", "br0")
    host.tester.ip("link", "set", "br0", "up")
    host.tester.ip("address", "add", f"{WEST4}/24", "dev", "br0")
    host.tester.ip("address", "add", f"{WEST6}/64", "dev", "br0")
    time.sleep(0.1)
    nginx = Nginx(lab, host.host)
    one = entry(http(host, url(host, v6=v6), "-n", 500, "--json", "-").ok())
    assert (one["transactions"], one["failed"], one["retransmitted_segments"]) == (500, {}, 0), one
    nginx.requests(500)


# An HTTP server on port 80 that responds twice to the first request of a connection.
TWICE = """
import socket, time
listener = socket.create_server(("0.0.0.0", 80), backlog=64)
answer = b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok"
while True:
    one, _ = listener.accept()
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if one.recv(65536):
        one.sendall(answer + answer)
    time.sleep(0.05)
    one.close()
"""


def test_a_second_response_is_not_taken_for_the_next_one(host):
    """It comes before the next request: its session fails for that reason, after one response."""
    host.lab.start(PYTHON, "-c", TWICE, ns=host.host)
    wait_until(lambda: host.host.run("ss", "-H", "-t", "-l", "-n", "sport = :80").strip(), "its socket")
    done = http(host, url(host), "-n", 10, "-c", 1, "--max-failed", "100%", "--json", "-")
    one = entry(done)
    assert set(one["failed"]) == {"unasked_response"} and one["transactions"] >= one["failed"]["unasked_response"], one


# An HTTP server on port 80 that responds, but never ends a connection, whatever its peer does.
HOLDING = """
import socket, threading
listener = socket.create_server(("0.0.0.0", 80), backlog=64)
answer = b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\n\\r\\nok"
held = []
def serve(one):
    while got := one.recv(65536):
        one.sendall(answer * got.count(b"\\r\\n\\r\\n"))
while True:
    one, _ = listener.accept()
    held.append(one)
    threading.Thread(target=serve, args=(one,), daemon=True).start()
"""


def test_a_server_that_keeps_connections_holds_nobody_up(host):
    """Its connections stay half closed; the command has all responses, and waits 2 s instead of TCP's 60."""
    host.lab.start(PYTHON, "-c", HOLDING, ns=host.host)
    wait_until(lambda: host.host.run("ss", "-H", "-t", "-l", "-n", "sport = :80").strip(), "its socket")
    begin = time.monotonic()
    one = entry(http(host, url(host), "-n", 20, "-c", 4, "--json", "-").ok())
    assert (one["transactions"], one["failed"]) == (20, {}), one
    assert time.monotonic() - begin < 40
