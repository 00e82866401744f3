"""HTTP/2: clients and servers nobody here wrote against ours, and both of ours where packets are lost."""

import re
import shutil
import subprocess

import pytest
from hosts import Host
from lab import missing, need
from servers import OBJECTS, Nginx, Plain
from sessions import all_failed, all_through, check, of

SCHEMES = pytest.mark.parametrize("scheme", ["https", "http"])
RULES = [
    {"path": "/form", "status": 201, "response": "10B"},
    {"path": "/slow", "response": "1KB", "delay": "20ms"},
]
SERVER = {"http": {"version": 2, "server": {"rules": RULES}}}


@pytest.fixture
def host(lab):
    return Host(lab, offloads=True)


def serving(host, scheme, app=SERVER):
    tls = {"tls": True} if scheme == "https" else {}
    return host.serving(host.server(app, server={"ports": 443 if tls else 80}, **tls))


def served(host, process):
    return check(host.served(process)["sessions"]["s"])


def url(host, scheme, path="/"):
    return f"{scheme}://{host.tester_address()}{path}"


def asking(scheme, **http):
    """What a client asks, its port, and its encryption."""
    tls = {"tls": {"server_name": "a.test"}} if scheme == "https" else {}
    return {
        "app": {"http": {"version": 2, **http}},
        "server_port": 443 if tls else 80,
        **tls,
    }


@SCHEMES
def test_curl_gets_and_sends(host, scheme):
    """Bodies of every size, both ways, byte by byte, and one that waits for a 100."""
    need("curl")
    process = serving(host, scheme)
    flags = ["-k", "--http2"] if scheme == "https" else ["--http2-prior-knowledge"]
    folder = host.lab.folder()
    sizes = [0, 1, 16_384, 1_000_000]
    told = "%{http_version} %{http_code} %{size_download}\n"
    curl = ["curl", "-sS", "-w", told, *flags]
    said = [host.host.run(*curl, "-o", folder / str(size), url(host, scheme, f"/{size}")).strip() for size in sizes]
    assert said == [f"2 200 {size}" for size in sizes]
    assert [(folder / str(size)).stat().st_size if size else 0 for size in sizes] == sizes
    # What a body has is the same each time, and HTTP/1.1 sends the same.
    (folder / "sent").write_bytes(bytes(range(256)) * 3_000)
    said = host.host.run(*curl, "-o", "/dev/null", "-T", folder / "sent", url(host, scheme, "/form"))
    assert said.strip() == "2 201 10"
    said = host.host.run(
        *curl,
        "-o",
        "/dev/null",
        "-H",
        "Expect: 100-continue",
        "--data-binary",
        f"@{folder}/sent",
        url(host, scheme, "/slow"),
    )
    assert said.strip() == "2 200 1000"
    one = served(host, process)
    assert (one["transactions"], one["failed"]) == (6, {}), one
    assert one["server"]["http2"]["streams"] == 6 and one["rx_bytes_goodput"] > 2 * 768_000, one


@SCHEMES
def test_h2load_with_a_hundred_streams(host, scheme):
    need("h2load")
    process = serving(host, scheme)
    said = host.host.run(
        "h2load",
        "-n",
        5_000,
        "-c",
        5,
        "-m",
        100,
        url(host, scheme, "/1000"),
        timeout=120,
    )
    assert "5000 total, 5000 started, 5000 done, 5000 succeeded, 0 failed" in said, said
    assert re.search(r"traffic: .* \(5000000\) data", said), said
    one = served(host, process)
    assert (one["transactions"], one["failed"], one["attempted"]) == (5_000, {}, 5), one
    assert one["server"]["http2"]["connections"] == 5, one


@pytest.mark.long
@SCHEMES
def test_h2spec(host, scheme, tmp_path_factory):
    """Summerwind's conformance tests of HTTP/2 and its header compression: none fails."""
    h2spec = shutil.which("h2spec")
    if not h2spec:
        need("go")
        folder = tmp_path_factory.getbasetemp().parent / "h2spec"
        h2spec = folder / "h2spec"
        if not h2spec.exists():
            module = "github.com/summerwind/h2spec/cmd/h2spec@v2.2.1+incompatible"
            done = subprocess.run(
                ["env", f"GOBIN={folder}", "go", "install", module],
                capture_output=True,
                check=False,
                text=True,
                timeout=300,
            )
            if done.returncode:
                missing(f"needs h2spec: {done.stderr[-300:]}")
    process = serving(host, scheme)
    secure = ["-t", "-k", "-p", 443] if scheme == "https" else ["-p", 80]
    said = host.host.run(h2spec, "-h", host.tester_address(), *secure, "-o", 5, timeout=300, check=False)
    tests, passed, skipped, failed = map(int, re.findall(r"(\d+) (?:tests|passed|skipped|failed)", said)[-4:])
    assert tests >= 145 and (passed, skipped, failed) == (tests, 0, 0), said
    served(host, process)


@SCHEMES
def test_nginx_that_ends_connections(host, scheme):
    """It ends each after 1,000 requests: 5,000 of 5,000 are answered on five, none failed, whatever is in flight."""
    nginx = Nginx(host.lab, host.host, http2=True, keepalive=1_000)
    for count, streams in ((5_000, 1), (10_000, 100)):
        ask = asking(
            scheme,
            path="/1k",
            response="1024B",
            requests="endless",
            streams_per_connection=streams,
        )
        one = of(host.run(host.client(**ask, concurrent=1, request_count=5_000)))
        assert (one["requests"], one["transactions"], one["failed"]) == (
            5_000,
            5_000,
            {},
        ), one
        http2 = one["client"]["http2"]
        assert (
            one["attempted"],
            one["failed_requests_ratio"],
            http2["peer_streams"],
        ) == (5, 0, 128), one
        assert http2["goaways"] >= 4 and http2["streams"] == 5_000 + http2["unprocessed"], http2
        logged = nginx.requests(count)
        assert len(logged) == count and {line["status"] for line in logged} == {200}


def test_requests_that_a_server_leaves_are_sent_again(host):
    """All 1,050 requests are under way at once, and each connection of nginx takes 100: others follow until all are sent."""
    nginx = Nginx(host.lab, host.host, http2=True, keepalive=100)
    ask = asking("http", path="/1k", response="1024B", requests="endless", streams_per_connection=200)
    one = of(host.run(host.client(**ask, concurrent=3, count=1_050, request_count=1_050)))
    assert (one["requests"], one["transactions"], one["failed"], one["failed_requests_ratio"]) == (1_050, 1_050, {}, 0), one
    assert one["client"]["http2"]["unprocessed"] > 0
    assert len(nginx.requests(1_050)) == 1_050


@SCHEMES
def test_nghttpd_a_hundred_at_a_time(host, scheme):
    need("nghttpd")
    nginx = Nginx(host.lab, host.host)
    nginx.stop()
    secure = [] if scheme == "https" else ["--no-tls"]
    key = [nginx.folder / "a.test.key", nginx.folder / "a.test.pem"] if scheme == "https" else []
    port = 443 if scheme == "https" else 80
    Plain(
        host.lab,
        host.host,
        port,
        "nghttpd",
        *secure,
        "-d",
        nginx.folder / "root",
        port,
        *key,
    )
    ask = asking(
        scheme,
        path="/1m",
        response=f"{OBJECTS['/1m']}B",
        requests=100,
        streams_per_connection=100,
    )
    one = all_through(of(host.run(host.client(**ask, open="10/s", count=2), duration="40s")), 2, 200)
    assert one["rx_bytes_goodput"] > 200 * OBJECTS["/1m"] and one["client"]["http2"]["resets"] == 0, one


def test_what_was_agreed_on_is_told(host):
    """'auto' follows the server, and '2' fails if there is none."""
    Nginx(host.lab, host.host, http2=True)
    auto = asking("https", version="auto", path="/1k", requests=3)
    one = all_through(of(host.run(host.client(**auto, open="10/s", count=2))), 2, 6)
    assert [(agreed["alpn"], agreed["handshakes"]) for agreed in one["client"]["tls"]] == [("h2", 2)], one
    assert one["client"]["http2"]["connections"] == 2


def test_a_server_without_http2_is_told(host):
    Nginx(host.lab, host.host)
    done = host.run(
        host.client(**asking("http", path="/1k"), name="clear", open="100/s", count=20),
        host.client(
            **asking("https", version="auto", path="/1k"),
            name="auto",
            open="100/s",
            count=20,
        ),
        host.client(**asking("https", path="/1k"), name="secure", open="100/s", count=20),
    )
    all_failed(of(done, "clear"), 20, no_http2=20)
    one = all_through(of(done, "auto"), 20, 20)
    assert [agreed["alpn"] for agreed in one["client"]["tls"]] == ["http/1.1"] and "http2" not in one["client"]
    assert sum(of(done, "secure")["failed"].values()) == 20
    assert "no HTTP/2" in done.out + done.err


def simulated(lab, seed, link):
    app = {
        "http": {
            "version": 2,
            "response": {"1KB": 3, "100KB": 1},
            "requests": 200,
            "streams_per_connection": 50,
        }
    }
    entry = {
        "name": "s",
        "client": {"port": "west"},
        "server": {"port": "east", "ports": 80},
        "app": app,
        "open": "20/s",
        "count": 20,
        "verify": True,
    }
    ports = {name: {"device": f"sim:{name}", "ip": f"10.0.0.{last}/24"} for name, last in (("west", 1), ("east", 2))}
    load = {"duration": "30s", "drain": "20s"}
    profile = lab.profile(
        ports,
        None,
        sessions=[entry],
        load=load,
        sim={"link": {"speed": "1Gbps", **link}},
    )
    return lab.eagre("sim", profile, "--seed", seed, "--json", "-", timeout=120).result()


def test_loss_costs_no_transfer_and_seeds_repeat(lab):
    """5% lost, and some out of order: every byte of both sizes arrives, and a seed says all there is to say."""
    link = {"delay": "1ms", "loss": "5%", "reorder": "2%", "reorder_by": "1ms"}
    results = [simulated(lab, seed, link) for seed in (1, 1, 2)]
    for result in results:
        one = all_through(check(result["sessions"]["s"]), 20, 4_000)
        assert one["retransmitted_segments"] > 0 and one["client"]["http2"]["streams"] == 4_000, one
    first, again, other = (result["sessions"] for result in results)
    assert first == again and first != other


@SCHEMES
def test_the_command(host, scheme):
    """`eagre http --h2`, as a web developer types it."""
    nginx = Nginx(host.lab, host.host, http2=True, keepalive=1_000)
    host.tester.ip("address", "add", "10.0.0.2/24", "dev", "veth0")
    secure = ["-k"] if scheme == "https" else []
    done = host.lab.eagre(
        "http", f"{scheme}://{host.address()}/1k", "--h2", "--streams", 50, "-n", 5_000, "-c", 2, *secure, "--json", "-",
        ns=host.tester,
    ).ok()  # fmt: skip
    one = done.json["sessions"]["http"]
    assert (
        one["requests"],
        one["transactions"],
        one["failed"],
        one["failed_requests_ratio"],
    ) == (5_000, 5_000, {}, 0), one
    assert len(nginx.requests(5_000)) == 5_000 and one["client"]["http2"]["goaways"] >= 3, one
