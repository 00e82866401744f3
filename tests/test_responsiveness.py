"""`eagre responsiveness`: round trips a minute follow from the queue of a shaped link; stock clients and servers are other ends.

NETWORK_QUALITY and NETWORK_QUALITYD: paths of the Go client and server of the same document; without them, long tests with
them are not run.
"""

import json
import os
import re
import signal
import statistics

import pytest
from lab import BAD_INPUT, CANNOT_JUDGE, EAGRE, FAILED, REFUSED, need, wait_until

PORT = 4043
SERVER = "10.0.0.1"
FAR = "10.0.1.2"
CLIENT_OF_OTHERS = os.environ.get("NETWORK_QUALITY")
SERVER_OF_OTHERS = os.environ.get("NETWORK_QUALITYD")
RATE = 20e6


@pytest.fixture
def hosts(lab):
    """Two hosts and a link."""
    client, server = lab.netns("client"), lab.netns("server")
    lab.veth(client, "veth0", server, "veth0")
    for host, end in ((client, 2), (server, 1)):
        host.ip("address", "add", f"10.0.0.{end}/24", "dev", "veth0")
        host.sysctl({"net.ipv6.conf.veth0.disable_ipv6": 0})
        host.ip("address", "add", f"fd00::{end}/64", "dev", "veth0", "nodad")
    return client, server


def serve(lab, ns, *options):
    """Starts a server that prints a line of JSON for each load."""
    process = lab.start(EAGRE, "responsiveness", "--serve", "-J", "-p", PORT, *options, ns=ns)
    wait_until(lambda: f":{PORT} " in ns.run("ss", "-Hltn"), "a server", 10)
    return process


def loads(process):
    """Stops a server; its lines, and what it complained of."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130, err
    return [json.loads(line) for line in out.splitlines()], err


def measure(lab, ns, *options, server=SERVER, trust=("-k",)):
    return lab.eagre("responsiveness", server, "-p", PORT, "-J", *trust, *options, ns=ns, timeout=120)


@pytest.fixture
def routed(lab):
    """Two hosts and a router, where queues are: a sender keeps those of its own interface short."""
    need("tc")
    client, router, server = lab.netns("client"), lab.netns("router"), lab.netns("server")
    router.sysctl({"net.ipv4.ip_forward": 1})
    for host, net in ((client, 0), (server, 1)):
        lab.veth(host, "veth0", router, f"r{net}")
        host.ip("address", "add", f"10.0.{net}.2/24", "dev", "veth0")
        router.ip("address", "add", f"10.0.{net}.1/24", "dev", f"r{net}")
        host.ip("route", "add", "default", "via", f"10.0.{net}.1")
    return client, router, server


def shape(router, port, buffer_ms):
    """A link of 20 Mbit/s with a queue of so many milliseconds."""
    tbf = ("rate", f"{RATE / 1e6:.0f}mbit", "burst", "5kb", "limit", int(RATE / 8 * buffer_ms / 1e3))
    router.run("tc", "qdisc", "replace", "dev", port, "root", "tbf", *map(str, tbf))


def near(a, b, share):
    return abs(a - b) <= share * b


@pytest.mark.unsteady("handshakes that find no core in time are given up, and the server says so")
@pytest.mark.parametrize("address", [SERVER, "fd00::1"])
def test_both_directions_are_measured_one_after_the_other(lab, hosts, address):
    client, server = hosts
    process = serve(lab, server)
    done = measure(lab, client, "--interval", "250ms", "-t", "3s", server=address).ok().json
    told, complaints = loads(process)
    assert complaints.count("\n") <= 1, complaints
    assert (done["schema"], done["protocol"], done["tls"]) == ("eagre.responsiveness/1", "HTTP/2", "TLS 1.3")
    assert done["server"].endswith("/.well-known/nq") and done["idle"]["probes"] == 10 and done["idle"]["rpm"] > 300
    down, up = done["tests"]
    assert (down["direction"], up["direction"]) == ("from_server", "to_server")
    for test, way in ((down, "from_server_bps"), (up, "to_server_bps")):
        assert test["rpm"] > 0 and test[way] > 10e6 and test["failed_probes"] == 0, test
        # The mean of both kinds, each from its times.
        times = [test["tcp_ms"], test["tls_ms"], test["http_ms"]]
        assert near(test["foreign_rpm"], 60e3 / statistics.mean(times), 1e-6)
        assert near(test["loaded_rpm"], 60e3 / test["loaded_http_ms"], 1e-6)
        assert near(test["rpm"], (test["foreign_rpm"] + test["loaded_rpm"]) / 2, 1e-6)
        rows = test["intervals"]
        assert [row["connections"] for row in rows[:3]] == [1, 2, 3]
        assert test["foreign_probes"] == sum(row["foreign_probes"] for row in rows) > 0 < test["loaded_probes"]
    assert down["to_server_bps"] is None is up["from_server_bps"]
    # Each load-generating connection was a load at the server, except the last ones, which may have had no time for one.
    loaded = down["connections"] + up["connections"]
    assert loaded - 4 <= len(told) <= loaded, told
    received = sum(line["received_bytes"] for line in told)
    counted = sum(row["to_server_bps"] for row in up["intervals"]) * up["seconds"] / len(up["intervals"]) / 8
    assert near(received, counted, 0.1), (received, counted)


@pytest.mark.quiet
@pytest.mark.unsteady("an end without its core reads late, which adds to times, and to the goodput of what follows")
@pytest.mark.parametrize("way", ["--down", "--up"])
def test_the_figure_follows_from_the_queue(lab, routed, way):
    """A queue that is full makes a round trip as long as itself: 20 ms or 200 ms at 20 Mbit/s; the path alone has next to none."""
    client, router, server = routed
    process = serve(lab, server)
    found = {}
    for buffer_ms in (20, 200):
        shape(router, "r0" if way == "--down" else "r1", buffer_ms)
        done = measure(lab, client, "--quick", "-t", "14s", way, server=FAR).ok().json
        assert done["idle"]["tcp_ms"] < 10, done["idle"]
        (test,) = done["tests"]
        bps = test["from_server_bps"] if way == "--down" else test["to_server_bps"]
        # Of 1,514 octets of a frame TCP has 1,448. A short queue loses much of what connections begin with, and a late reader has more.
        assert 0.6 * RATE * 1448 / 1514 < bps < 1.15 * RATE * 1448 / 1514, test
        # A full queue loses packets, which makes some parts longer; TCP's handshake has the fewest.
        assert 0.5 * buffer_ms < test["tcp_ms"] < 1.5 * buffer_ms + 10, test
        assert min(test["tls_ms"], test["http_ms"]) > 0.5 * buffer_ms, test
        # Probes on the loaded connections wait for what this connection has under way, too.
        assert test["loaded_http_ms"] > 0.5 * buffer_ms, test
        found[buffer_ms] = test["rpm"]
    loads(process)
    assert found[20] > 3 * found[200] and found[200] < 60e3 / (0.5 * 200), found


@pytest.mark.parametrize(
    ("options", "protocol", "tls"),
    [
        (("--http1.1",), "HTTP/1.1", "TLS 1.3"),
        (("--no-tls",), "HTTP/1.1", None),
        (("--no-tls", "--h2"), "HTTP/2", None),
    ],
)
def test_other_protocols(lab, hosts, options, protocol, tls):
    client, server = hosts
    no_tls = ("--no-tls",) if tls is None else ()
    process = serve(lab, server, *no_tls)
    done = measure(lab, client, "--interval", "250ms", "-t", "2s", *options, trust=() if no_tls else ("-k",)).ok().json
    loads(process)
    assert (done["protocol"], done["tls"]) == (protocol, tls)
    for test in done["tests"]:
        assert test["rpm"] > 0 and (test["tls_ms"] is None) == (tls is None), test
        assert test["loaded_probes"] > 0 and test["failed_probes"] == 0, test


def test_both_directions_at_once_have_one_figure(lab, hosts):
    client, server = hosts
    process = serve(lab, server)
    (test,) = measure(lab, client, "--both", "--interval", "250ms", "-t", "3s").ok().json["tests"]
    told, _ = loads(process)
    assert test["direction"] == "both" and min(test["from_server_bps"], test["to_server_bps"]) > 1e6 and test["rpm"] > 0
    assert [row["connections"] for row in test["intervals"][:3]] == [2, 4, 6]
    assert any(line["sent_bytes"] for line in told) and any(line["received_bytes"] for line in told)


def test_too_few_round_trips_fail(lab, routed):
    client, router, server = routed
    shape(router, "r0", 200)
    process = serve(lab, server)
    options = ("-p", PORT, "-k", "--down", "--interval", "500ms", "-t", "3s", "--at-least")
    done = lab.eagre("responsiveness", FAR, *options, 5000, ns=client)
    assert done.exit in (FAILED, CANNOT_JUDGE) and "less than 5000 RPM from the server" in done.err, str(done)
    assert (done.exit == CANNOT_JUDGE) == ("limited by this host" in done.out or "limited by the processor" in done.out), str(done)
    assert "responsiveness" in done.out and "to the server" not in done.out
    lab.eagre("responsiveness", FAR, *options, 10, ns=client).ok()
    loads(process)


def test_what_other_clients_need(lab, hosts):
    """The objects and their lengths, over HTTP/2 and HTTP/1.1, by both names of the configuration."""
    need("curl")
    client, server = hosts
    process = serve(lab, server)
    url = f"https://{SERVER}:{PORT}"

    def curl(*options):
        return client.run("curl", "-sk", "--max-time", "5", *options)

    for path in ("/.well-known/nq", "/config"):
        config = json.loads(curl(url + path))
        assert config["version"] == 1 and config["urls"]["small_download_url"] == f"{url}/small"
        assert config["urls"]["large_https_download_url"] == config["urls"]["large_download_url"] == f"{url}/large"
    head = "%{http_version} %{http_code} %{content_type} %{size_download}"
    body = lab.folder() / "body"
    body.write_bytes(bytes(10_000_000))
    for version, name in (("--http2", "2"), ("--http1.1", "1.1")):
        assert curl(version, "-o", "/dev/null", "-w", head, f"{url}/small") == f"{name} 200 application/octet-stream 1"
        sent = curl(version, "--data-binary", f"@{body}", "-o", "/dev/null", "-w", "%{http_code} %{size_upload}", f"{url}/upload")
        assert sent == "200 10000000"
        large = client.run("curl", "-sk", version, "-D", "-", "--max-filesize", "1000", f"{url}/large", check=False)
        assert "content-length: 8589934592" in large.lower(), large
        assert curl(version, "-o", "/dev/null", "-w", "%{http_code}", f"{url}/nothing") == "404"
        assert curl(version, "-X", "DELETE", "-o", "/dev/null", "-w", "%{http_code}", f"{url}/small") == "405"
    assert "http://" not in curl(f"{url}/config") and curl("-H", 'Host: a"b', "--http1.1", "-o", "/dev/null", "-w", "%{http_code}", f"{url}/config") == "400"
    told, _ = loads(process)
    assert [line["received_bytes"] for line in told if not line["sent_bytes"]] == [10_000_000] * 2


def test_servers_that_can_not_be_used(lab, hosts):
    client, server = hosts
    measure(lab, client, "-t", "5s").refused(REFUSED, f"{SERVER}:{PORT}: Connection refused")
    process = serve(lab, server)
    measure(lab, client, "-t", "5s", trust=()).refused(REFUSED, "certificate")
    options = ("-k", "-J", "-t", "5s")
    lab.eagre("responsiveness", f"https://{SERVER}:{PORT}/small", *options, ns=client).refused(REFUSED, "no configuration")
    lab.eagre("responsiveness", f"https://{SERVER}:{PORT}/x", *options, ns=client).refused(REFUSED, "status 404")
    lab.eagre("responsiveness", "--serve", "-p", PORT, ns=server).refused(REFUSED, "in use; -p takes another port")
    loads(process)


def test_a_server_that_goes_ends_the_test(lab, hosts):
    client, server = hosts
    process = serve(lab, server)
    run = lab.start(EAGRE, "responsiveness", SERVER, "-p", PORT, "-k", "-J", "-i", "500ms", ns=client)
    wait_until(lambda: len(server.run("ss", "-Htn", "state", "established").splitlines()) >= 2, "a load", 10)
    process.kill()
    done = lab.finish(run, 20)
    done.refused(REFUSED, "load-generating connection failed")
    assert "load-generating connection failed" in done.json["error"]


def test_ctrl_c(lab, hosts):
    client, server = hosts
    process = serve(lab, server)
    run = lab.start(EAGRE, "responsiveness", SERVER, "-p", PORT, "-k", "-J", ns=client)
    wait_until(lambda: len(server.run("ss", "-Htn", "state", "established").splitlines()) >= 2, "a load", 10)
    run.send_signal(signal.SIGINT)
    done = lab.finish(run, 10)
    assert done.exit == 130 and done.json["error"] == "interrupted" and done.json["idle"]["probes"] == 10
    loads(process)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--serve", "-t", "5s"), "--time"),
        (("x", "-i", "50ms"), "between 100ms and 1m"),
        (("x", "-i", "2s", "-t", "1s"), "not between an interval"),
        (("https://x", "-p", 443), "go with a host"),
        (("http://x", "-k"), "has no certificate"),
        (("x/config",), "a URL begins with https://"),
        (("ftp://x",), "begins with https:// or http://"),
        (("--serve", "--cert", "x"), "--key"),
        ((), "HOST|URL"),
    ],
)
def test_bad_options_are_named(lab, options, text):
    lab.eagre("responsiveness", *options).refused(BAD_INPUT, text)


@pytest.mark.long
@pytest.mark.skipif(not CLIENT_OF_OTHERS, reason="NETWORK_QUALITY names no program")
def test_another_client_of_our_server(lab, routed):
    """Over a link of 20 Mbit/s with a queue of 100 ms it finds the goodput that ours does."""
    client, router, server = routed
    for port in ("r0", "r1"):
        shape(router, port, 100)
    process = serve(lab, server)
    ours = measure(lab, client, "--quick", server=FAR).ok().json["tests"]
    run = lab.start(CLIENT_OF_OTHERS, "-config", FAR, "-port", str(PORT), "-path", ".well-known/nq", ns=client)
    text = lab.finish(run, 120).out
    loads(process)
    for way, test in zip(("Download", "Upload"), ours):
        found = re.search(rf"{way}:\s+([\d.]+) Mbps", text)
        assert found, text
        bps = test["from_server_bps"] or test["to_server_bps"]
        assert near(float(found[1]) * 1e6, bps, 0.25), (text, bps)


@pytest.mark.long
@pytest.mark.skipif(not SERVER_OF_OTHERS, reason="NETWORK_QUALITYD names no program")
def test_our_client_of_another_server(lab, routed):
    client, router, server = routed
    for port in ("r0", "r1"):
        shape(router, port, 100)
    names = ("-config-name", FAR, "-listen-addr", FAR, "-public-port", str(PORT))
    lab.start(SERVER_OF_OTHERS, "-create-cert", *names, ns=server)
    wait_until(lambda: f":{PORT} " in server.run("ss", "-Hltn"), "a server", 10)
    url = f"https://{FAR}:{PORT}/.well-known/nq"
    done = lab.eagre("responsiveness", url, "-k", "-J", "--quick", ns=client, timeout=120).ok().json
    for test in done["tests"]:
        bps = test["from_server_bps"] or test["to_server_bps"]
        assert near(bps, RATE * 1448 / 1514, 0.2) and 40 < test["tcp_ms"] < 140, test
