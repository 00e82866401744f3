"""HTTP clients send the requests of an access log at its times."""

import json

import pytest
from hosts import Host
from lab import BAD_INPUT, call, need
from servers import Nginx
from test_http_command import prepared

PROFILE = """
ports: {{west: {{device: "ring:a", ip: 10.0.0.1/24}}, east: {{device: "ring:b", ip: 10.0.0.2/24}}}}
sessions:
  - name: web
    client: {{port: west}}
    server: {{port: east}}
    app:
      http:
        version: {version}
        access_log: {log}
        errors_fail: false
        server: {{rules: [{{path: /no*, status: 404}}, {{response: 50B}}]}}
    concurrent: {concurrent}
    {more}
load: {{duration: {duration}, drain: 500ms}}
"""

CLF = """\
10.0.0.9 - - [30/Nov/2026:10:00:00 +0000] "GET /a HTTP/1.1" 200 5 "-" "x"
10.0.0.9 - - [30/Nov/2026:10:00:00 +0000] "GET /no/1 HTTP/1.1" 404 5 "-" "x"
10.0.0.9 - - [30/Nov/2026:10:00:02 +0000] "HEAD /b?q=1 HTTP/2.0" 200 5 "-" "x"
10.0.0.9 - - [30/Nov/2026:11:00:01 +0100] "POST /form HTTP/1.1" 200 5 "-" "x"
"""


def profile(lab, text, log="log", version="1.1", concurrent=5, duration="4s", more="order: sequential"):
    folder = lab.folder()
    (folder / "log").write_text(text)
    file = folder / "profile.yaml"
    file.write_text(PROFILE.format(log=log, version=version, concurrent=concurrent, duration=duration, more=more))
    return file


def simulated(lab, file, *options):
    return lab.eagre("sim", file, "--json", "-", "--seed", 1, *options).ok()


@pytest.mark.parametrize("speed, times", [("1x", [0, 0.5, 1, 2]), ("2x", [0, 0.25, 0.5, 1])])
def test_requests_come_at_the_times_of_the_log(lab, speed, times):
    """Those of one second are spread over it; the order is that of the times, whatever their zones."""
    need("tshark")
    file = profile(lab, CLF, log=f"{{file: log, speed: {speed}}}")
    packets = lab.folder() / "packets.pcap"
    one = simulated(lab, file, "--pcap", packets, "--packets", 10_000).json["sessions"]["web"]
    assert (one["requests"], one["transactions"], one["unsent_requests"], one["failed"]) == (4, 4, 0, {}), one
    assert one["client"]["http"] == {"2xx": 3, "4xx": 1}, one
    fields = ("-T", "fields", "-e", "frame.time_epoch", "-e", "http.request.method", "-e", "http.request.uri")
    lines = [line.split("\t") for line in call("tshark", "-r", packets, "-Y", "http.request", *fields).splitlines()]
    # The capture has both ends.
    seen = sorted({(float(at), f"{method} {path}") for at, method, path in lines})
    first = {}
    for at, what in seen:
        first.setdefault(what, at)
    assert list(first) == ["GET /a", "GET /no/1", "POST /form", "HEAD /b?q=1"], lines
    start = first["GET /a"]
    assert [at - start for at in first.values()] == pytest.approx(times, abs=0.01), first


@pytest.mark.parametrize("version", ["1.1", "2", "3"])
@pytest.mark.parametrize("cores", [1, 2])
def test_each_request_is_sent_once_in_every_version(lab, version, cores):
    """2,000 requests, more at a time than there are sessions: late ones are sent, and times count from when they were due."""
    text = "".join(f"{index // 500 * 0.1:.3f} {'/no' if index % 4 == 0 else '/yes'}/{index}\n" for index in range(2_000))
    file = profile(lab, text, version=version, more="tls: true" if version != "3" else "order: sequential")
    one = simulated(lab, file, *(["--cores", cores] if cores > 1 else [])).json["sessions"]["web"]
    assert (one["requests"], one["transactions"], one["failed"]) == (2_000, 2_000, {}), one
    assert one["client"]["http"] == {"2xx": 1_500, "4xx": 500}, one
    assert one["unsent_requests"] == 0 and one["ttlb_due_ns"]["samples"] == 2_000, one
    assert one["ttlb_due_ns"]["max"] > one["ttlb_ns"]["max"], one


def test_a_log_longer_than_the_load_warns_and_bad_lines_are_named(lab):
    file = profile(lab, CLF + 'h - - [30/Nov/2026:10:00:00 +0000] "-" 400 0\n', duration="1500ms")
    done = simulated(lab, file)
    assert "3 of its 4 requests are due" in done.err and "left out (line 5)" in done.err, str(done)
    assert done.json["sessions"]["web"]["requests"] == 3
    for text, told in (
        ("0 /a\nnonsense\n", "line 2 of it is neither in the Common Log Format"),
        ("# nothing\n", "has no request that can be sent"),
        ("0 /a\n99999999 /b\n", "spans more than a year"),
    ):
        done = lab.eagre("check", profile(lab, text))
        assert done.exit == BAD_INPUT and told in done.err and "access_log" in done.err, str(done)
    done = lab.eagre("check", profile(lab, CLF, more="request_rate: 10/s"))
    assert done.exit == BAD_INPUT and "remove 'request_rate'" in done.err, str(done)


def test_the_log_of_nginx_comes_again(lab):
    """Requests of curl to nginx, from its log in the combined format: nginx logs the same once more, in the same order."""
    host = prepared(Host(lab, offloads=True))
    folder = lab.folder()
    Nginx(lab, host.host, f"access_log {folder}/usual combined;")
    paths = ["/1k", "/nothing?x=%20y", "/1k?second", "/1k"]
    for path in paths:
        host.host.run("curl", "-s", "-o", "/dev/null", f"http://127.0.0.1{path}")
    before = requests(folder / "usual")
    assert [path for _, path in before] == paths
    (folder / "log").write_bytes((folder / "usual").read_bytes())
    file = folder / "profile.yaml"
    file.write_text(f"""
ports: {{west: {{device: "afpacket:veth0", ip: 10.0.0.200/24}}}}
sessions:
  - name: web
    client: {{port: west}}
    server: {{addresses: {host.address()}, ports: 80}}
    app: {{http: {{access_log: log, errors_fail: false}}}}
    concurrent: 1
load: {{duration: 3s}}
""")
    one = lab.eagre("run", file, "--json", "-", ns=host.tester).ok().json["sessions"]["web"]
    assert (one["requests"], one["client"]["http"]) == (4, {"2xx": 3, "4xx": 1}), json.dumps(one)
    assert requests(folder / "usual")[4:] == before


def requests(path):
    """Method and path of each line of a log."""
    return [tuple(line.split('"')[1].split()[:2]) for line in path.read_text().splitlines()]
