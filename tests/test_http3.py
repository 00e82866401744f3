"""HTTP/3: clients and servers nobody here wrote against ours, and both of ours where packets are lost."""

import subprocess

import pytest
from hosts import Host
from lab import need, wait_until
from servers import Caddy, Gtlsserver
from sessions import all_failed, all_through, check, of

RULES = [
    {"path": "/form", "status": 201, "response": "10B"},
    {"path": "/slow", "response": "1KB", "delay": "20ms"},
]
SERVER = {"http": {"version": 3, "server": {"rules": RULES}}}
SIZES = [1, 1_000, 1_000_000, 10_000_000]


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


def test_ngtcp2_with_losses_and_a_key_update(host):
    """A tenth of its packets is lost each way, and it changes its keys."""
    process = serving(host)
    size = 2_000_000
    body = fetched(host, "-t", "0.1", "-r", "0.1", "--key-update=20ms", paths=[f"/{size}"])[f"/{size}"]
    assert len(body) == size
    one = served(host, process)
    # Its last words may be lost, too: then the kernel says that it has gone.
    assert one["attempted"] == 1 and set(one["failed"]) <= {"refused"}, one
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
    assert set(one["failed"]) <= {"refused"} and quic["retries"] == 0, one


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


def simulated(lab, seed, link, **http):
    sizes = {"response": {"1KB": 3, "100KB": 1}}
    app = {"http": {"version": 3, "requests": 200, "streams_per_connection": 50, **sizes, **http}}
    entry = {
        "name": "s",
        "client": {"port": "west"},
        "server": {"port": "east", "ports": 443},
        "app": app,
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
