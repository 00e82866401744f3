"""Security of `eagre serve`: authorization, malformed input, limits, attacks."""

import http.client
import json
import os
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lab import REPO, need, wait_until
from server import Server, rings

TOKENS = {"eye": "watch", "hand": "run", "other": "run", "root": "admin"}
SECRET = {name: f"{name}-0123456789abcdef" for name in TOKENS}
SCHEMATHESIS = "4.32.5"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPO / "target")).resolve()


def token_file(lab):
    path = lab.folder() / "tokens.yaml"
    lines = [f"- {{name: {name}, role: {role}, token: {SECRET[name]}}}\n" for name, role in TOKENS.items()]
    path.write_text("".join(lines))
    return path


@pytest.fixture(scope="module")
def guarded(shared):
    """A server that asks for tokens, lets two ports be used, and has a cap."""
    options = ("--tokens", token_file(shared), "--allow", "ring:*", "--max-rate", "1kpps")
    return Server(shared, *options, token=SECRET["root"])


def healthy(server):
    """It answers, and nothing has been started."""
    assert server.ask("GET", "/healthz").status == 200
    assert server.get("/api/v1/runs") == [] and server.get("/api/v1/leases") == []


@pytest.mark.parametrize("path", ["/api/v1/runs", "/api/v1/openapi.json", "/api/v1/audit", "/api/v1/doctor"])
def test_no_token_and_a_wrong_one(guarded, path):
    """401 with what to do about it; before anything else is looked at."""
    for headers in (
        {},
        {"Authorization": "Bearer nonsense"},
        {"Authorization": f"Basic {SECRET['root']}"},
        {"Authorization": f"Bearer {SECRET['root']}x"},
        {"Authorization": "Bearer "},
    ):
        for method in ("GET", "POST") if path.endswith("runs") else ("GET",):
            connection = guarded.connect()
            connection.request(method, path, body=b"{", headers=headers)
            answer = connection.getresponse()
            assert answer.status == 401 and answer.getheader("WWW-Authenticate").startswith("Bearer")
            assert "token" in json.loads(answer.read())["detail"]
            connection.close()
    healthy(guarded)


def test_what_everybody_may_see(guarded):
    """Whether it lives, and the dashboard's page, which shows nothing without a token."""
    connection = guarded.connect()
    for path in ("/healthz", "/"):
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200
    connection.close()


def test_roles(guarded):
    """Who watches starts nothing; who runs ends nothing of others'; an admin may."""
    small = {"profile": rings("100pps")}
    assert guarded.get("/api/v1/whoami", token=SECRET["eye"]) == {"name": "eye", "role": "watch"}
    assert guarded.ask("GET", "/api/v1/runs", token=SECRET["eye"]).status == 200
    for path, document in (("runs", small), ("leases", {"ports": ["ring:a"]}), ("profiles/check", {"profile": ""})):
        answer = guarded.ask("POST", f"/api/v1/{path}", document, token=SECRET["eye"])
        assert answer.status == 403 and "'eye' has the role 'watch'" in answer.detail
    healthy(guarded)
    answer = guarded.ask("POST", "/api/v1/runs", small, token=SECRET["hand"])
    assert answer.status == 201, answer
    run = answer.json()
    for name in ("other", "eye"):
        assert guarded.ask("POST", f"/api/v1/runs/{run['id']}/stop", token=SECRET[name]).status == 403
        assert guarded.ask("POST", f"/api/v1/runs/{run['id']}/rate", {"scale": 0}, token=SECRET[name]).status == 403
    leases = guarded.ask("GET", "/api/v1/leases", token=SECRET["other"]).json()
    assert [lease["holder"] for lease in leases] == ["hand"] and "id" not in leases[0]
    assert guarded.ask("GET", "/api/v1/audit", token=SECRET["hand"]).status == 403
    assert guarded.ask("POST", f"/api/v1/runs/{run['id']}/stop", token=SECRET["root"]).status == 200
    assert guarded.ended(run)["reason"] == "stopped by root"
    assert guarded.ask("DELETE", f"/api/v1/results/{run['id']}", token=SECRET["hand"]).status == 403
    assert guarded.ask("DELETE", f"/api/v1/runs/{run['id']}", token=SECRET["other"]).status == 403
    assert guarded.ask("DELETE", f"/api/v1/runs/{run['id']}", token=SECRET["hand"]).status == 204
    assert guarded.ask("DELETE", f"/api/v1/results/{run['id']}", token=SECRET["root"]).status == 204
    who = [(entry["who"], entry["status"]) for entry in guarded.get("/api/v1/audit")]
    assert ("other", 403) in who and ("hand", 201) in who and ("root", 200) in who


def test_ports_and_rates_an_operator_does_not_allow(guarded):
    """403, before anything is opened."""
    outside = rings("100pps")
    outside["ports"]["west"]["device"] = "afpacket:eth9"
    refusals = [
        ({"profile": outside}, "port 'afpacket:eth9' is not allowed"),
        ({"profile": rings("1001pps")}, "1kpps"),
        ({"profile": rings("600pps", streams=2)}, "together"),
        ({"profile": rings("max")}, "as fast as the port can"),
        ({"profile": rings("100pps"), "rate": "2kpps"}, "1kpps"),
    ]
    for new, words in refusals:
        answer = guarded.ask("POST", "/api/v1/runs", new)
        assert answer.status == 403 and words in answer.detail, answer
    assert guarded.ask("POST", "/api/v1/leases", {"ports": ["lo"]}).status == 403
    campaign = guarded.ask("POST", "/api/v1/campaigns", {"method": "throughput", "profile": rings("100pps")})
    assert campaign.status == 403 and "limits rates" in campaign.detail
    healthy(guarded)
    run = guarded.start(profile=rings("100pps", streams=2), keep=False)
    for change in ({"rate": "600pps"}, {"stream": "s0", "rate": "950pps"}, {"scale": 2}, {"rate": "max"}):
        answer = guarded.ask("POST", f"/api/v1/runs/{run['id']}/rate", change)
        assert answer.status == 403, answer
    assert guarded.ask("POST", f"/api/v1/runs/{run['id']}/rate", {"rate": "400pps"}).status == 200
    assert guarded.ask("POST", f"/api/v1/runs/{run['id']}/stop").status == 200
    guarded.ended(run)
    assert guarded.ask("DELETE", f"/api/v1/runs/{run['id']}").status == 204


def test_elsewhere_only_with_tokens(eagre, lab):
    """Who reaches the machine must not be able to send from it."""
    eagre("serve", "--listen", "0.0.0.0:0", "--store", lab.folder() / "r.db").refused(2, "not a loopback address", "--tokens")
    server = Server(lab, "--listen", "0.0.0.0:0", "--tokens", token_file(lab), token=SECRET["root"])
    assert server.get("/api/v1/whoami")["role"] == "admin"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("- {name: a, role: king, token: secret-secret-secret}", "[0].role"),
        ("- {name: a, role: run, token: secret}", "shorter than 16"),
        ("[]", "no token"),
        ("- [", "not valid YAML"),
        ("- {name: a, role: run, token: secret-secret-secret}\n- {name: a, role: run, token: secret-secret-secre2}", "two"),
    ],
)
def test_bad_token_files_are_told_without_their_secrets(eagre, lab, text, words):
    """Neither on the terminal nor in a log."""
    path = lab.folder() / "tokens.yaml"
    path.write_text(text)
    done = eagre("serve", "--tokens", path, "--store", path.with_name("r.db")).refused(2, words, "tokens.yaml")
    assert "secret" not in done.err


def test_tls_with_a_certificate_of_its_own(lab):
    """Made once; the fingerprint is printed; who trusts it gets in, plain HTTP does not."""
    context = ssl.create_default_context()
    server = Server(lab, "--tls", "--tokens", token_file(lab), token=SECRET["eye"], context=context)
    assert server.url.startswith("https://")
    certificate = server.folder / "serve/tls/certificate.pem"
    context.load_verify_locations(certificate)
    assert server.get("/api/v1/whoami")["name"] == "eye"
    with pytest.raises(ssl.SSLError):
        Server.connect(type("Strict", (), {"address": server.address, "ns": None, "context": ssl.create_default_context()}))
    plain = http.client.HTTPConnection(server.address.hostname, server.address.port, timeout=5)
    with pytest.raises((http.client.HTTPException, OSError)):
        plain.request("GET", "/healthz")
        plain.getresponse()
    key = server.folder / "serve/tls/key.pem"
    assert key.stat().st_mode & 0o777 == 0o600
    der = ssl.PEM_cert_to_DER_cert(certificate.read_text())
    shown = subprocess.run(
        ["openssl", "x509", "-inform", "der", "-noout", "-fingerprint", "-sha256"], input=der, capture_output=True
    )
    fingerprint = shown.stdout.decode().strip().split("=")[1]
    assert fingerprint in server.log.read_text()
    server.stop()
    again = Server(lab, "--tls", folder=server.folder, context=context)
    assert fingerprint in again.log.read_text()


def test_tls_with_the_operators_certificate(lab, eagre):
    """And what is wrong with one."""
    need("openssl")
    folder = lab.folder()
    certificate, key = folder / "c.pem", folder / "k.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        + ["-subj", "/CN=tester", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    context = ssl.create_default_context(cafile=certificate)
    server = Server(lab, "--tls-certificate", certificate, "--tls-key", key, context=context)
    assert server.get("/api/v1/whoami")["name"] == "local"
    for options in (("--tls-certificate", key, "--tls-key", key), ("--tls-certificate", certificate, "--tls-key", certificate)):
        eagre("serve", *options, "--listen", "127.0.0.1:0", "--store", folder / "r.db").refused(2, "TLS", ".pem")


def test_pages_from_elsewhere(lab):
    """A page of somebody else's, open in a browser on this machine, may not use a server without tokens."""
    server = Server(lab)
    port = server.address.port
    for headers in (
        {"Host": f"evil.example:{port}"},
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Host": f"127.0.0.1.evil.example:{port}"},
    ):
        answer = server.ask("POST", "/api/v1/runs", {"profile": rings()}, headers=headers)
        assert answer.status == 403, (headers, answer)
    # A form needs no permission to be sent, and can't say that it is JSON.
    form = server.ask("POST", "/api/v1/runs", body=json.dumps({"profile": rings()}), headers={"Content-Type": "text/plain"})
    assert form.status == 415
    healthy(server)
    assert server.ask("GET", "/api/v1/runs", headers={"Host": f"localhost:{port}"}).status == 200


def test_a_body_of_a_gigabyte(guarded):
    """Refused by its announced length, or when it is too long; memory stays as it was."""

    def resident():
        status = Path(f"/proc/{guarded.process.pid}/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0])

    before = resident()
    headers = guarded.headers() | {"Content-Type": "application/json"}
    announced = guarded.connect()
    announced.putrequest("POST", "/api/v1/runs")
    for name, value in (headers | {"Content-Length": str(1 << 30)}).items():
        announced.putheader(name, value)
    announced.endheaders()
    assert announced.getresponse().status == 413
    unsaid = guarded.connect()
    unsaid.putrequest("POST", "/api/v1/runs")
    for name, value in (headers | {"Transfer-Encoding": "chunked"}).items():
        unsaid.putheader(name, value)
    unsaid.endheaders()
    chunk = b"100000\r\n" + b" " * 0x100000 + b"\r\n"
    for _ in range(1000):
        unsaid.send(chunk)
    unsaid.send(b"0\r\n\r\n")
    assert unsaid.getresponse().status == 413
    assert resident() - before < 100_000
    healthy(guarded)


@pytest.mark.parametrize("length", [17 << 20, 100 << 20])
@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/api/v1/runs"),
        ("POST", "/api/v1/profiles/check"),
        ("PUT", "/api/v1/profiles/long"),
        ("POST", "/api/v1/campaigns"),
        ("POST", "/config"),
        ("PATCH", "/config/append"),
        ("POST", "/control/state"),
        ("POST", "/monitor/metrics"),
    ],
)
def test_a_body_above_the_limit(guarded, method, path, announced, length):
    """A client that sends its whole request before it reads gets the refusal, with limit and remedy."""
    headers = guarded.headers() | {"Content-Type": "application/json"}
    body = b" " * length
    pieces = (body[at : at + 65_536] for at in range(0, length, 65_536))
    connection = guarded.connect()
    connection.request(method, path, body if announced else pieces, headers, encode_chunked=not announced)
    response = connection.getresponse()
    document = json.loads(response.read())
    reason = document["errors"][0] if path.startswith(("/config", "/control", "/monitor")) else document["detail"]
    assert response.status == 413
    assert "16 MiB" in reason and "parts" in reason


@pytest.mark.parametrize(("path", "token", "status"), [("/api/v1/runs", "wrong", 401), ("/api/v1/nothing", None, 404)])
def test_any_refusal_is_read_after_a_long_body(guarded, path, token, status):
    """Whoever refuses a request before its body has come."""
    headers = guarded.headers() | {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {token}"} if token else {})
    connection = guarded.connect()
    connection.request("POST", path, b" " * (100 << 20), headers)
    assert connection.getresponse().status == status


def test_slow_loris(guarded):
    """Heads that never end do not keep others out, and are dropped."""
    address = (guarded.address.hostname, guarded.address.port)
    slow = []
    for _ in range(200):
        connection = socket.create_connection(address)
        connection.sendall(b"GET /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nX-")
        slow.append(connection)
    began = time.monotonic()
    assert guarded.ask("GET", "/healthz").status == 200 and time.monotonic() - began < 2
    slow[0].settimeout(20)
    # What is said before the end, if anything, is that it took too long.
    said = slow[0].recv(1000)
    assert said == b"" or b" 408 " in said.splitlines()[0], said
    assert time.monotonic() - began > 5
    [connection.close() for connection in slow]
    healthy(guarded)


@pytest.mark.parametrize(
    "path",
    [
        "/../../../etc/passwd",
        "/..%2f..%2f..%2fetc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/api/v1/profiles/..%2f..%2f..%2fetc%2fpasswd",
        "/api/v1/profiles/%2e%2e%2fresults.db",
        "/api/v1/runs/..%2f..%2fresults.db",
        "/api/v1/runs/latest/captures/..%2f..%2fresults.db",
        "/api/v1/results/..%2f..%2f/report",
    ],
)
def test_paths_lead_nowhere_else(guarded, path):
    """No file of the machine comes out."""
    answer = guarded.ask("GET", path)
    assert answer.status in (404, 422) and b"root:" not in answer.body, answer


def test_profiles_name_no_file_of_the_machine(guarded):
    """What a profile reads is in the server's folder, what it writes in the run's."""
    for name in ("/etc/passwd", "../../etc/passwd"):
        profile = rings("100pps")
        profile["streams"] = [{"name": "s", "from": "west", "to": "east", "replay": {"file": name}}]
        answer = guarded.ask("POST", "/api/v1/runs", {"profile": profile})
        assert answer.status == 422 and "own folder" in str(answer.json()["errors"]), answer
    for device in ("pcap:/etc/passwd,/tmp/x", "vdev:net_pcap0,rx_pcap=/etc/passwd"):
        profile = rings("100pps")
        profile["ports"]["west"]["device"] = device
        assert guarded.ask("POST", "/api/v1/runs", {"profile": profile}).status == 403
    healthy(guarded)


def test_deep_and_growing_documents(guarded):
    """Nesting and aliases that would take all memory or the stack are refused in time."""
    deep = b'{"profile": ' + b"[" * 200_000 + b"]" * 200_000 + b"}"
    answer = guarded.ask("POST", "/api/v1/runs", body=deep, headers={"Content-Type": "application/json"})
    assert answer.status in (400, 422), answer
    levels = "".join(f"l{n}: &l{n} [{', '.join([f'*l{n - 1}'] * 9)}]\n" for n in range(1, 12))
    for text in (f"l0: &l0 [x]\n{levels}", "[" * 100_000, "{a: " * 50_000):
        began = time.monotonic()
        answer = guarded.ask("POST", "/api/v1/profiles/check", {"profile": text})
        assert answer.status == 200 and not answer.json()["good"], answer
        assert time.monotonic() - began < 10
    healthy(guarded)


def test_malformed_requests(guarded):
    """By sockets, since no client library sends such."""
    address = (guarded.address.hostname, guarded.address.port)
    for text in (
        b"\x00\x01\x02\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /api/v1/runs HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"A: " + b"x" * 200_000 + b"\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ):
        with socket.create_connection(address, timeout=15) as connection:
            try:
                connection.sendall(text)
                said = connection.recv(100)
            except (ConnectionResetError, BrokenPipeError):
                said = b""
            assert said == b"" or b" 4" in said.splitlines()[0], said
    healthy(guarded)


@pytest.fixture(scope="session")
def schemathesis():
    """The fuzzer, installed below target/."""
    folder = TARGET / f"reference/schemathesis-{SCHEMATHESIS}"
    program = folder / "bin/st"
    if not program.exists():
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True, timeout=120)
        pip = [sys.executable, "-m", "pip", "--python", folder / "bin/python", "install", "--quiet"]
        done = subprocess.run([*pip, f"schemathesis=={SCHEMATHESIS}"], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, f"schemathesis can't be installed with pip: {done.stderr}"
    return program


def test_a_fuzzer_finds_nothing(lab, schemathesis):
    """Schemathesis on the OpenAPI document: every answer is as documented, none is 5xx but where the machine refuses."""
    server = Server(lab, "--tokens", token_file(lab), "--allow", "ring:*", "--max-rate", "1pps", token=SECRET["root"])
    checks = "not_a_server_error,response_schema_conformance,content_type_conformance,status_code_conformance"
    command = [schemathesis, "run", REPO / "docs/openapi.json", "--url", server.url, "--checks", checks]
    command += ["--header", f"Authorization: Bearer {SECRET['root']}", "--max-examples", "12", "--seed", "1"]
    command += ["--exclude-path-regex", "/events$", "--request-timeout", "10", "--workers", "1", "--phases", "examples,coverage,fuzzing"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=240, cwd=lab.folder())
    assert done.returncode == 0, done.stdout[-6000:]
    assert server.ask("GET", "/healthz").status == 200
    wait_until(lambda: all(run["state"] not in ("starting", "running") for run in server.get("/api/v1/runs")), "the end", 20)
    log = server.process.poll()
    assert log is None
