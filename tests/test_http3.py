"""HTTP/3: clients and servers nobody here wrote against ours, and both of ours where packets are lost."""

import json
import subprocess

import pytest
from hosts import PYTHON, Host, installed
from lab import need, wait_until
from servers import Caddy, Gtlsserver
from sessions import all_failed, all_through, check, of

RULES = [
    {"path": "/form", "status": 201, "response": "10B"},
    {"path": "/slow", "response": "1KB", "delay": "20ms"},
    {"path": "/later", "response": "1MB", "delay": "600ms"},
]
SERVER = {"http": {"version": 3, "server": {"rules": RULES}}}
SIZES = [1, 1_000, 1_000_000, 10_000_000]
# curl with BoringSSL and ngtcp2, in a library for Python.
CURL = ["curl_cffi==0.17.0", "cffi==2.1.1", "certifi==2026.10.19.post1", "pycparser==3.12"]
# Gets each path twice by HTTP/3, on one connection, and says in JSON the statuses, lengths, and whether both had the same bytes.
CURL_GETS = """
import json, sys
sys.path.insert(0, sys.argv[1])
from curl_cffi import CurlHttpVersion, Session
session, said = Session(http_version=CurlHttpVersion.V3ONLY, verify=False, timeout=60), []
for path in sys.argv[3:]:
    first, again = (session.get(sys.argv[2] + path) for _ in range(2))
    said.append([first.status_code, len(first.content), len(again.content), first.content[:1] != b""])
posted = session.post(sys.argv[2] + "/form", data=bytes(300_000))
print(json.dumps({"said": said, "posted": [posted.status_code, len(posted.content)]}))
"""
# Failures of connections whose client has gone without a word.
LEFT = {"refused", "idle_timeout"}


@pytest.fixture
def host(lab):
    return Host(lab, offloads=True)


def serving(host, app=SERVER, **rest):
    return host.serving(host.server(app, **rest))


def served(host, process):
    return check(host.served(process)["sessions"]["s"])


def asking(**http):
    """What a client asks, its port, and the name in its handshake."""
    return {"app": {"http": {"version": 3, **http}}, "server_port": 443, "tls": {"server_name": "a.test"}}


def fetched(host, *flags, paths, timeout=60):
    """What ngtcp2's client gets from the tester, by path."""
    need("gtlsclient")
    folder = host.lab.folder()
    urls = [f"https://{host.tester_address()}{path}" for path in paths]
    flags = ["-q", "--exit-on-all-streams-close", f"--download={folder}", *flags]
    host.host.run("gtlsclient", *flags, host.tester_address(), 443, *urls, timeout=timeout)
    return {path: (folder / path[1:]).read_bytes() for path in paths}


def test_ngtcp2_gets_and_sends(host):
    """Bodies of every size; what a response has is the same each time. A body of its own is taken."""
    process = serving(host)
    first = [fetched(host, paths=[f"/{size}"])[f"/{size}"] for size in SIZES]
    again = [fetched(host, paths=[f"/{size}"])[f"/{size}"] for size in SIZES]
    assert [len(body) for body in first] == SIZES and first == again
    # All are beginnings of the same bytes: each is the first of its connection.
    assert all(first[-1].startswith(body) for body in first)
    folder = host.lab.folder()
    (folder / "sent").write_bytes(bytes(range(256)) * 3_000)
    fetched(host, "-m", "PUT", "-d", folder / "sent", paths=["/form"])
    fetched(host, "-n", "50", paths=["/slow"])
    one = served(host, process)
    assert (one["transactions"], one["failed"], one["attempted"]) == (8 + 1 + 50, {}, 10), one
    assert one["server"]["http3"]["streams"] == 59 and one["server"]["quic"]["connections"] == 10, one
    assert one["rx_bytes_goodput"] > 768_000 and one["tx_bytes_goodput"] > 2 * sum(SIZES), one
    assert [(agreed["alpn"], agreed["version"]) for agreed in one["server"]["tls"]] == [("h3", "1.3")], one


def test_curl_gets_and_sends(host):
    """Bodies of every size, twice each, and one of its own; all on one connection."""
    packages = installed("curl-cffi-1", *CURL)
    process = serving(host)
    url = f"https://{host.tester_address()}"
    said = json.loads(host.host.run(PYTHON, "-c", CURL_GETS, packages, url, *[f"/{size}" for size in SIZES], timeout=100))
    assert said == {"said": [[200, size, size, True] for size in SIZES], "posted": [201, 10]}, said
    one = served(host, process)
    assert (one["transactions"], one["failed"], one["attempted"]) == (9, {}, 1), one
    assert one["server"]["http3"]["streams"] == 9 and one["rx_bytes_goodput"] > 300_000, one


@pytest.mark.long
@pytest.mark.parametrize("size", SIZES)
def test_oha_gets(host, size):
    """Which no Debian or Python package has: `cargo install oha --features http3`. It ends 30 s after its last response."""
    need("oha")
    process = serving(host)
    flags = ["--no-tui", "--output-format", "json", "--http-version", "3", "--insecure", "-c", 2, "-n", 8]
    said = json.loads(host.host.run("oha", *flags, f"https://{host.tester_address()}/{size}", timeout=100))
    assert (said["statusCodeDistribution"], said["errorDistribution"]) == ({"200": 8}, {}), said
    assert said["summary"]["sizePerRequest"] == size, said
    one = served(host, process)
    assert (one["transactions"], one["attempted"]) == (8, 2) and set(one["failed"]) <= LEFT, one


def test_ngtcp2_with_losses_and_a_key_update(host):
    """A tenth of its packets is lost each way, and it changes its keys. One run in ten it gives up: it loses what it likes."""
    size = 2_000_000
    for _ in range(4):
        process = serving(host)
        body = fetched(host, "-t", "0.1", "-r", "0.1", "--key-update=20ms", paths=[f"/{size}"])[f"/{size}"]
        one = served(host, process)
        if len(body) == size:
            break
    assert len(body) == size
    # Its last words may be lost, too: then the kernel says that it has gone, or the run is over before that counts.
    assert one["attempted"] == 1 and set(one["failed"]) <= LEFT, one
    assert one["server"]["quic"]["packets_lost"] > 10, one


def test_ngtcp2_proves_its_address(host):
    """Our server replies to each client by a Retry first, also where packets are lost."""
    process = serving(host, {"http": {"version": 3, "server": {"retry": True}}})
    assert [len(fetched(host, paths=[f"/{size}"])[f"/{size}"]) for size in SIZES[:3]] == SIZES[:3]
    lossy = fetched(host, "-t", "0.1", "-r", "0.1", paths=["/100000"])["/100000"]
    assert len(lossy) == 100_000
    one = served(host, process)
    quic = one["server"]["quic"]
    assert one["attempted"] == 4 and quic["connections"] == 4 and quic["retries_sent"] >= 4, one
    assert set(one["failed"]) <= LEFT and quic["retries"] == 0, one


# A client behind a NAT has to send before a server can know its new port.
REBINDS = ["--nat-rebinding", "--delay-stream=200ms"]


@pytest.mark.parametrize("flags", [[], REBINDS], ids=["validates", "rebinds"])
def test_ngtcp2_comes_from_another_port(host, flags):
    """It tries the path first, or a NAT rebinds: the connection goes on, and counts as migrated."""
    process = serving(host)
    body = fetched(host, "--change-local-addr=100ms", *flags, paths=["/later"])["/later"]
    assert len(body) == 1_000_000
    one = served(host, process)
    assert (one["attempted"], one["completed"], one["transactions"]) == (1, 1, 1), one
    assert one["server"]["quic"]["migrated"] == 1, one


def test_two_workers_follow_ngtcp2(host):
    """With two workers a new port leads to either: the connection identifier leads to the one that has the connection."""
    need("gtlsclient")
    profile = host.profile(host.server(SERVER), kind="afpacket", duration="60s", ports=None)
    process = host.lab.start_eagre("run", profile, "--cores", 2, "--json", "-", ns=host.tester)
    wait_until(lambda: process.poll() is not None or host.answers(host.tester_address()), "an answer to a ping", 20)
    url = f"https://{host.tester_address()}/later"
    flags = ["-q", "--exit-on-all-streams-close", "--change-local-addr=100ms", *REBINDS]
    clients = [
        host.lab.start("gtlsclient", *flags, host.tester_address(), 443, url, ns=host.host, stdout=subprocess.DEVNULL)
        for _ in range(8)
    ]
    assert [client.wait(timeout=60) for client in clients] == [0] * 8
    result = host.served(process)
    one = check(result["sessions"]["s"])
    assert len(result["workers"]) == 2, result["workers"]
    assert (one["attempted"], one["completed"], one["transactions"]) == (8, 8, 8), one
    assert one["server"]["quic"]["migrated"] == 8, one


@pytest.mark.parametrize("answer", [True, "too_early", False])
def test_ngtcp2_sends_early_data(host, answer):
    """The second connection's request comes before its handshake is done, where the first was told that it may."""
    process = serving(host, {"http": {"version": 3, "server": {"rules": RULES, "early_data": answer}}})
    folder = host.lab.folder()
    flags = [f"--session-file={folder / 'session'}", f"--tp-file={folder / 'parameters'}"]
    bodies = [fetched(host, *flags, paths=["/slow"])["/slow"] for _ in range(2)]
    assert [len(body) for body in bodies] == [1_000, 0 if answer == "too_early" else 1_000]
    one = served(host, process)
    quic = one["server"]["quic"]
    assert (quic["early_data_accepted"], quic["early_requests"]) == ((1, 1) if answer else (0, 0)), one
    assert sorted(agreed["resumed"] for agreed in one["server"]["tls"]) == [False, True], one
    assert one["server"]["http"].get("4xx", 0) == (answer == "too_early"), one


def test_a_client_that_leaves(host):
    """It goes away without a word in mid-transfer: the session fails for a reason, and nothing hangs."""
    process = serving(host, udp={"idle_timeout": "2s"})
    need("gtlsclient")
    url = f"https://{host.tester_address()}/2000000000"
    gone = host.lab.start("gtlsclient", "-q", host.tester_address(), 443, url, ns=host.host, stdout=subprocess.DEVNULL)
    wait_until(lambda: host.host.run("ss", "-H", "-u", "-n", "-a").strip(), "its socket")
    subprocess.run(["sleep", "1"], check=True)
    gone.kill()
    gone.wait()
    subprocess.run(["sleep", "3"], check=True)
    one = served(host, process)
    assert one["attempted"] == 1 and sum(one["failed"].values()) == 1 and one["active"] == 0, one


@pytest.mark.parametrize("streams", [1, 50])
def test_files_of_every_size_from_caddy(host, streams):
    """Files of every size from Go's QUIC, each compared by its length; 3 connections with their requests."""
    caddy = Caddy(host.lab, host.host)
    for path, size in caddy.OBJECTS.items():
        count = 3 if size > 1_000_000 else 20
        ask = asking(path=path, response=f"{size}B", requests=count, streams_per_connection=streams)
        one = all_through(of(host.run(host.client(**ask, open="10/s", count=3))), 3, 3 * count)
        assert one["rx_bytes_goodput"] > 3 * count * size, one
        quic = one["client"]["quic"]
        assert (quic["connections"], quic["retries"], quic["version_negotiations"]) == (3, 0, 0), one
        assert [(agreed["alpn"], agreed["handshakes"]) for agreed in one["client"]["tls"]] == [("h3", 3)], one


def test_caddy_over_ipv6_and_methods(host):
    """HEAD has no body; an object that is missing is a failure, as a profile asks; sessions are resumed."""
    Caddy(host.lab, host.host)
    ask = asking(objects=[{"path": "/1k", "method": "HEAD"}, {"path": "/1k"}], requests=10)
    ask["tls"]["resumption"] = 10
    one = all_through(of(host.run(host.client(**ask, v6=True, open="5/s", count=5))), 5, 50)
    assert sum(agreed["handshakes"] for agreed in one["client"]["tls"] if agreed["resumed"]) == 4, one
    missing = asking(path="/nothing")
    one = all_failed(of(host.run(host.client(**missing, open="5/s", count=5))), 5, http_4xx=5)
    assert one["client"]["http"]["4xx"] == 5, one


def test_retry_is_followed_and_told(host):
    """A server that has its clients prove their address."""
    server = Gtlsserver(host.lab, host.host, "--validate-addr")
    ask = asking(path="/1m", response=f"{server.OBJECTS['/1m']}B", requests=3)
    one = all_through(of(host.run(host.client(**ask, open="10/s", count=3))), 3, 9)
    assert one["client"]["quic"]["retries"] == 3, one


@pytest.mark.parametrize("by", ["nat", "client"])
def test_ngtcp2_follows_to_another_port(host, by):
    """Our client's port changes twelve times: its server follows, and no request fails."""
    Gtlsserver(host.lab, host.host)
    ask = asking(path="/1k", requests=40, think="30ms", migrate={"every": "100ms", "by": by})
    one = all_through(of(host.run(host.client(**ask, open="10/s", count=3))), 3, 120)
    assert one["client"]["quic"]["migrated"] >= 20, one


def test_a_preferred_address_is_counted_and_not_followed(host):
    """ngtcp2 announces another port of its address: clients stay where they are, also when their own port changes."""
    Gtlsserver(host.lab, host.host, "--preferred-ipv4-addr", f"{host.address()}:4433")
    ask = asking(path="/1k", requests=40, think="20ms", migrate={"every": "100ms", "by": "client"})
    one = all_through(of(host.run(host.client(**ask, open="10/s", count=3))), 3, 120)
    quic = one["client"]["quic"]
    assert (quic["preferred_addresses"], quic["connections"]) == (3, 3) and quic["migrated"] >= 12, one


def test_early_data_to_ngtcp2(host):
    """Sessions after the first have their first requests answered before the handshake is done. A POST waits for it."""
    Gtlsserver(host.lab, host.host)
    entries = []
    for method in ("GET", "POST"):
        ask = asking(path="/1k", method=method, requests=3, streams_per_connection=3, early_data=True, key_update=2)
        ask["tls"]["resumption"] = 10
        entries.append(host.client(**ask, name=method, open="5/s", count=5))
    done = host.run(*entries)
    one = all_through(of(done, "GET"), 5, 15)
    quic = one["client"]["quic"]
    # GnuTLS rejects early data whose ticket seems to be older than it is: clients know its age to the second only. What it
    # rejects is sent again.
    sent = quic["early_data_accepted"] + quic["early_data_rejected"]
    assert quic["early_data_accepted"] >= 2 and sent >= 3 and quic["early_requests"] == 3 * sent, one
    assert sum(agreed["handshakes"] for agreed in one["client"]["tls"] if agreed["resumed"]) >= 3, one
    one = all_through(of(done, "POST"), 5, 15)
    assert one["client"]["quic"]["early_data_accepted"] >= 2 and one["client"]["quic"]["early_requests"] == 0, one


def test_marks_of_congestion_with_ngtcp2(host):
    """A tenth of its packets comes with CE: counted, and reported to it. Where the path removes marks ours are no longer sent."""
    need("nft")
    Gtlsserver(host.lab, host.host)
    rule = "ip protocol udp ip ecn != not-ect numgen inc mod 10 == 0 ip ecn set ce"
    chain = "table ip marks { chain out { type filter hook output priority 0; %s; }; }"
    host.host.run("nft", chain % rule)
    ask = {**asking(path="/1k", requests=100), "udp": {"ecn": True}}
    one = all_through(of(host.run(host.client(**ask, open="10/s", count=3))), 3, 300)
    quic = one["client"]["quic"]
    assert quic["ecn_ce"] > 10 and quic["ecn_ect"] > quic["ecn_ce"] and quic["ecn_sent"] > 100, one
    assert quic["ecn_failed"] == 0, one
    host.host.run("nft", "flush ruleset; table ip marks { chain in { type filter hook prerouting priority 0; ip protocol udp ip ecn set not-ect; }; }")
    one = all_through(of(host.run(host.client(**ask, open="10/s", count=3))), 3, 300)
    assert one["client"]["quic"]["ecn_failed"] == 3, one


def test_servers_that_are_none(host):
    """A silent one, a closed port, one that speaks another protocol: a reason each, and nothing hangs."""
    Caddy(host.lab, host.host, protocols="h1 h2")
    ask = asking(path="/1k")
    done = host.run(
        host.client(**ask, name="closed", open="100/s", count=5),
        host.client(**{**ask, "server_port": 9}, name="silent", open="100/s", count=5, response_timeout="1s"),
    )
    all_failed(of(done, "closed"), 5, refused=5)
    one = of(done, "silent")
    # The kernel says that nobody listens there, too, unless it says nothing.
    assert sum(one["failed"].values()) == 5 and set(one["failed"]) <= {"refused", "setup_timeout"}, one


def test_the_command(host):
    """`eagre http --h3`, as a web developer types it."""
    Caddy(host.lab, host.host)
    host.tester.ip("address", "add", "10.0.0.2/24", "dev", "veth0")
    url = f"https://{host.address()}/1k"
    done = host.lab.eagre(
        "http", url, "--h3", "--streams", 20, "-n", 2_000, "-c", 2, "-k", "-H", "Host: a.test", "--json", "-",
        ns=host.tester,
    ).ok()  # fmt: skip
    one = done.json["sessions"]["http"]
    assert (one["requests"], one["transactions"], one["failed"]) == (2_000, 2_000, {}), one
    assert one["client"]["http3"]["streams"] == 2_000 and one["failed_requests_ratio"] == 0, one
    done = host.lab.eagre("http", url.replace("https", "http"), "--h3", ns=host.tester)
    assert done.exit == 2 and "https://" in done.err, done


def simulated(lab, seed, link, tls=None, udp=None, **http):
    sizes = {"response": {"1KB": 3, "100KB": 1}}
    app = {"http": {"version": 3, "requests": 200, "streams_per_connection": 50, **sizes, **http}}
    entry = {
        "name": "s",
        "client": {"port": "west"},
        "server": {"port": "east", "ports": 443},
        "app": app,
        "tls": tls or {},
        "udp": udp or {},
        "open": "20/s",
        "count": 20,
        "verify": True,
    }
    ports = {name: {"device": f"sim:{name}", "ip": f"10.0.0.{last}/24"} for name, last in (("west", 1), ("east", 2))}
    load = {"duration": "30s", "drain": "20s"}
    profile = lab.profile(ports, None, sessions=[entry], load=load, sim={"link": {"speed": "1Gbps", **link}})
    return lab.eagre("sim", profile, "--seed", seed, "--json", "-", timeout=120).result()


@pytest.mark.parametrize("link", [{}, {"loss": "5%", "reorder": "2%", "reorder_by": "1ms"}], ids=["clean", "lossy"])
def test_loss_costs_no_transfer_and_seeds_repeat(lab, link):
    """5% lost, and some out of order: every byte of both sizes arrives, and a seed says all there is to say."""
    results = [simulated(lab, seed, {"delay": "1ms", **link}) for seed in (1, 1, 2)]
    for result in results:
        one = all_through(check(result["sessions"]["s"]), 20, 4_000)
        assert one["client"]["http3"]["streams"] == 4_000, one
        assert (one["server"]["quic"]["packets_lost"] > 0) == bool(link), one
    first, again, other = (result["sessions"] for result in results)
    assert first == again and first != other


def test_marks_of_congestion_cost_no_transfer_and_seeds_repeat(lab):
    """The same with marks of congestion on a tenth of the packets: both ends count them, and none is taken for a loss."""
    link = {"delay": "1ms", "loss": "5%", "reorder": "2%", "reorder_by": "1ms", "mark": "10%"}
    first, again, other = (simulated(lab, seed, link, udp={"ecn": True})["sessions"] for seed in (1, 1, 2))
    for sessions in (first, again, other):
        one = all_through(check(sessions["s"]), 20, 4_000)
        for quic in (one["client"]["quic"], one["server"]["quic"]):
            assert quic["ecn_ce"] > 0 and quic["ecn_sent"] > quic["ecn_ce"] and quic["ecn_failed"] == 0, quic
            assert 0.09 < quic["ecn_ce"] / (quic["ecn_ce"] + quic["ecn_ect"]) < 0.11, quic
        assert one["server"]["quic"]["packets_lost"] > 0 and one["server"]["quic"]["congestion_events"] > 0, one
    assert first == again and first != other


@pytest.mark.parametrize("link", [{}, {"loss": "5%"}], ids=["clean", "lossy"])
def test_retries_of_ours_are_followed(lab, link):
    """Both ends count the Retry packets; a seed repeats them."""
    retry = {"requests": 20, "server": {"retry": True}}
    results = [simulated(lab, seed, {"delay": "1ms", **link}, **retry) for seed in (1, 1)]
    one, again = (all_through(check(result["sessions"]["s"]), 20, 400) for result in results)
    sent, received = one["server"]["quic"]["retries_sent"], one["client"]["quic"]["retries"]
    assert sent >= received and received >= 20 and (link or sent == received == 20), (sent, received)
    assert one["setup_ns"]["min"] >= 8_000_000, "two round trips of 4 ms"
    assert one == again


@pytest.mark.parametrize("by", ["nat", "client"])
def test_ports_that_change_lose_nothing(lab, by):
    """5% lost while clients' ports change: both ends count the changes, every byte arrives, and a seed repeats it."""
    quic = {"requests": 100, "migrate": {"every": "30ms", "by": by}, "key_update": 50}
    results = [simulated(lab, seed, {"delay": "1ms", "loss": "5%"}, **quic) for seed in (1, 1)]
    one, again = (all_through(check(result["sessions"]["s"]), 20, 2_000) for result in results)
    client, server = one["client"]["quic"], one["server"]["quic"]
    assert server["migrated"] > 20 and client["migrated"] >= server["migrated"], (client, server)
    assert client["key_updates"] > 20 and server["key_updates"] > 20, (client, server)
    assert one == again


@pytest.mark.parametrize("answer", [True, "too_early", False])
def test_early_data_of_ours(lab, answer):
    """Accepted, wanted later, or not offered: every request has its response, and the handshake takes no time of it."""
    tls = {"resumption": 100}
    quic = {"requests": 20, "early_data": True, "server": {"early_data": answer}}
    results = [simulated(lab, seed, {"delay": "1ms", "loss": "2%"}, tls=tls, **quic) for seed in (1, 1)]
    one, again = (all_through(check(result["sessions"]["s"]), 20, 400) for result in results)
    assert one == again
    client, server = one["client"]["quic"], one["server"]["quic"]
    resumed = sum(agreed["handshakes"] for agreed in one["client"]["tls"] if agreed["resumed"])
    assert resumed >= 10 and client["early_data_accepted"] == (resumed if answer else 0), (resumed, client)
    assert client["early_requests"] >= client["early_data_accepted"], client
    assert client["too_early"] == (server["early_requests"] if answer == "too_early" else 0), (client, server)


def test_a_port_that_changes_finds_its_worker(lab):
    """With two workers each connection stays with the one that has it, wherever its client's new port would lead."""
    entry = {
        "name": "s",
        "client": {"port": "west"},
        "server": {"port": "east", "ports": 443},
        "app": {"http": {"version": 3, "requests": 30, "think": "20ms", "migrate": {"every": "50ms"}}},
        "open": "40/s",
        "count": 20,
        "verify": True,
    }
    ports = {name: {"device": f"ring:{name}", "ip": f"10.0.0.{last}/24"} for name, last in (("west", 1), ("east", 2))}
    profile = lab.profile(ports, None, sessions=[entry], load={"duration": "2s", "drain": "1s"})
    result = lab.eagre("sim", profile, "--cores", 2, "--json", "-").result()
    assert len(result["workers"]) == 2, result["workers"]
    one = all_through(check(result["sessions"]["s"]), 20, 600)
    assert one["client"]["quic"]["migrated"] >= 100 and one["server"]["quic"]["migrated"] >= 100, one


def test_what_can_not_be_is_refused(lab):
    """Keys that HTTP/3 has no meaning for, each with its place."""
    entry = {
        "name": "s",
        "client": {"port": "west"},
        "server": {"port": "east", "ports": 443},
        "app": {"http": {"version": 3, "pipeline": 2, "close_by": "reset", "headers": {"upgrade": "x"}}},
        "tls": {"versions": 1.2, "suites": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"},
        "open": "1/s",
    }
    ports = {name: {"device": f"sim:{name}", "ip": f"10.0.0.{last}/24"} for name, last in (("west", 1), ("east", 2))}
    done = lab.eagre("check", lab.profile(ports, None, sessions=[entry]))
    assert done.exit == 2, done
    for place in ("pipeline", "close_by", "headers.upgrade", "tls.versions", "tls.suites"):
        assert place in done.out + done.err, (place, done)
    entry["app"], entry["tls"] = {"http": {"version": 2, "server": {"retry": True}}}, False
    done = lab.eagre("check", lab.profile(ports, None, sessions=[entry]))
    assert done.exit == 2 and "server.retry: Retry is QUIC's" in done.out + done.err, done
    entry = {**entry, "app": {"mix": [{"name": "a", "app": {"http": {"version": 3}}}, {"name": "b", "app": {"dns": {"names": "a.test"}}}]}}
    entry = {key: entry[key] for key in ("name", "client", "server", "app", "open")}
    done = lab.eagre("check", lab.profile(ports, None, sessions=[entry]))
    assert done.exit == 2 and "HTTP/3 goes over QUIC" in done.err, done


def test_caddy_announces_http3(host):
    """Its first responses say so over TCP; from then on connections go over QUIC. `eagre http` does the same when asked to."""
    caddy = Caddy(host.lab, host.host)
    size = caddy.OBJECTS["/1k"]
    app = {"http": {"version": "auto", "path": "/1k", "response": f"{size}B", "requests": 5, "alt_svc": True}}
    tls = {"server_name": "a.test"}
    one = all_through(of(host.run(host.client(app, server_port=443, tls=tls, open="20/s", count=20))), 20, 100)
    parts, alt_svc = one["client"]["apps"], one["client"]["alt_svc"]
    assert parts["tcp"]["attempted"] + parts["h3"]["attempted"] == 20 and parts["h3"]["transactions"] >= 50, parts
    assert alt_svc["opened"] == parts["h3"]["attempted"] and alt_svc["announced"] >= parts["tcp"]["transactions"], one
    assert (alt_svc["cleared"], alt_svc["broken"]) == (0, 0), alt_svc
    assert {agreed["alpn"] for agreed in one["client"]["tls"]} == {"h2", "h3"}, one


def alternatives(lab, client, server, rate="20/s"):
    """Both ends of ours in virtual time: 40 sessions of one request each."""
    http = {"version": "auto", "response": "1KB", "requests": 1, **client, "server": server}
    entry = {"name": "s", "client": {"port": "west"}, "server": {"port": "east", "ports": 443}, "tls": True, "app": {"http": http}}
    entry |= {"open": rate, "count": 40, "response_timeout": "500ms"}
    ports = {name: {"device": f"sim:{name}", "ip": f"10.0.0.{last}/24"} for name, last in (("west", 1), ("east", 2))}
    profile = lab.profile(ports, None, sessions=[entry], load={"duration": "4s"}, sim={"link": {"speed": "1Gbps", "delay": "1ms"}})
    return check(lab.eagre("sim", profile, "--seed", 1, "--json", "-", timeout=60).result()["sessions"]["s"])


def test_an_announcement_ages(lab):
    """For a second at a time sessions go over QUIC, then one goes over TCP, and learns of it again. Both ends count the same."""
    one = all_through(alternatives(lab, {"alt_svc": True}, {"alt_svc": {"max_age": "1s"}}), 40, 40)
    parts, alt_svc = one["client"]["apps"], one["client"]["alt_svc"]
    assert 2 <= parts["tcp"]["completed"] <= 6 and alt_svc["opened"] == 40 - parts["tcp"]["completed"], one
    assert alt_svc["announced"] == parts["tcp"]["completed"] and alt_svc["broken"] == 0, one
    served = one["server"]["apps"]
    assert [served[name]["transactions"] for name in ("tcp", "h3")] == [parts[name]["transactions"] for name in ("tcp", "h3")]


@pytest.mark.parametrize(
    "client, server, opened",
    [
        # Clients that are not to follow, announcements that mean nothing here, and one that is withdrawn by the response itself.
        ({}, {"alt_svc": True}, 0),
        ({"alt_svc": True}, {}, 0),
        ({"alt_svc": True}, {"rules": [{"path": "/", "headers": {"Alt-Svc": 'h3="other.test:443", h2=":443"'}}]}, 0),
        ({"alt_svc": True}, {"rules": [{"path": "/", "headers": {"Alt-Svc": "clear"}}]}, 0),
        ({"alt_svc": True}, {"rules": [{"path": "/", "headers": {"Alt-Svc": 'h3=":444"'}}]}, 1),
    ],
    ids=["not asked", "not announced", "elsewhere", "clear", "broken"],
)
def test_announcements_that_lead_nowhere(lab, client, server, opened):
    """Sessions stay on TCP. Where HTTP/3 is announced and not there, those that tried have failed, and the next ones do not try."""
    one = alternatives(lab, client, server, rate="10/s")
    alt_svc = one["client"].get("alt_svc", {"opened": 0, "broken": 0})
    tried = alt_svc["opened"]
    assert alt_svc["broken"] == opened and (tried >= 1 if opened else tried == 0), one
    assert (one["attempted"], one["completed"], sum(one["failed"].values())) == (40, 40 - tried, tried), one
    assert tried <= 10, one
