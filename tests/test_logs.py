"""Logs and traces of `eagre serve`: lines on standard error, spans to an OpenTelemetry collector."""

import http.server
import json
import re
import threading

import pytest
from lab import wait_until
from server import Server, rings


def fields(data):
    """The fields of a protobuf message: {number: [value]}, integers or bytes."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(data):
        key = varint()
        number, kind = key >> 3, key & 7
        if kind == 0:
            value = varint()
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = int.from_bytes(data[at : at + size], "little"), at + size
        else:
            assert kind == 2, f"wire type {kind}"
            size = varint()
            value, at = data[at : at + size], at + size
        found.setdefault(number, []).append(value)
    assert at == len(data)
    return found


def attributes(entries):
    """KeyValue messages as a dictionary."""
    found = {}
    for entry in map(fields, entries):
        (value,) = (v[0] for v in fields(entry[2][0]).values())
        found[entry[1][0].decode()] = value.decode() if isinstance(value, bytes) else value
    return found


def spans(body):
    """The spans of an ExportTraceServiceRequest, each with its resource's attributes."""
    for of_resource in map(fields, fields(body)[1]):
        resource = attributes(fields(of_resource[1][0])[1])
        for of_scope in map(fields, of_resource[2]):
            for span in map(fields, of_scope[2]):
                yield {
                    "name": span[5][0].decode(),
                    "id": span[2][0],
                    "parent": span.get(4, [b""])[0],
                    "trace": span[1][0],
                    "seconds": (span[8][0] - span[7][0]) / 1e9,
                    "attributes": attributes(span.get(9, [])),
                    "resource": resource,
                }


class Collector(http.server.ThreadingHTTPServer):
    """Takes spans, or refuses them."""

    def __init__(self):
        self.spans, self.status, self.posts = [], 200, 0
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                assert self.path == "/v1/traces" and self.headers["Content-Type"] == "application/x-protobuf"
                collector.posts += 1
                if collector.status == 200:
                    collector.spans += spans(body)
                self.send_response(collector.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def named(self, name):
        return [span for span in self.spans if span["name"] == name]


@pytest.fixture
def collector():
    collector = Collector()
    yield collector
    collector.shutdown()
    collector.server_close()


def finish(server):
    """What a server said on standard error in its life."""
    server.stop()
    return server.process.stderr.read()


def test_requests_and_runs_become_spans(collector, lab):
    """They arrive at the latest when the server ends, with names, times and what they were about."""
    server = Server(lab, "--otlp", collector.url)
    run = server.start(profile=rings(duration="500ms"), name="traced")
    server.ended(run)
    finish(server)
    (span,) = collector.named("run")
    assert span["attributes"]["id"] == run["id"] and span["attributes"]["name"] == "traced"
    assert 0.5 <= span["seconds"] < 10
    assert span["resource"]["service.name"] == "eagre" and re.match(r"\d+\.\d+\.\d+", span["resource"]["service.version"])
    started = [s for s in collector.named("request") if s["attributes"]["method"] == "POST"]
    assert [s["attributes"]["path"] for s in started] == ["/api/v1/runs"]
    assert all(len(s["trace"]) == 16 and len(s["id"]) == 8 for s in collector.spans)


def test_trials_are_spans_within_their_campaign(collector, lab):
    """Each has its number, its part and its label."""
    server = Server(lab, "--otlp", collector.url)
    document = rings(rate="1kpps")
    document["ports"]["west"]["speed"] = document["ports"]["east"]["speed"] = "10Mbps"
    new = {"method": "throughput", "profile": document, "quick": True, "trial_s": 0.2, "sizes": ["512B"]}
    answer = server.ask("POST", "/api/v1/campaigns", new)
    assert answer.status == 201, answer
    path = f"/api/v1/campaigns/{answer.json()['id']}"
    wait_until(lambda: server.get(path)["trials_done"] >= 2, "two trials", 30, 0.1)
    server.ask("POST", f"{path}/stop")
    wait_until(lambda: server.get(path)["ended"], "the end", 30, 0.1)
    finish(server)
    (campaign,) = collector.named("campaign")
    trials = [span for span in collector.named("trial")]
    assert len(trials) >= 2 and all(span["parent"] == campaign["id"] for span in trials)
    assert all(span["trace"] == campaign["trace"] and "512B" in span["attributes"]["label"] for span in trials)
    assert all(0.2 <= span["seconds"] <= campaign["seconds"] for span in trials[:-1])


def test_a_collector_that_is_away_is_said_once(collector, lab):
    """The server serves on; what is lost is said on standard error."""
    collector.status = 503
    server = Server(lab, "--otlp", collector.url)
    server.ended(server.start(profile=rings(duration="200ms")))
    said = finish(server)
    assert collector.posts and said.count("spans are dropped") == 1 and "503" in said


def test_lines_for_people_and_for_programs(lab):
    """Text or an object a line; the level decides what is said."""
    server = Server(lab, "--log", "info", "--log-format", "json")
    run = server.start(profile=rings(duration="200ms"), name="logged")
    server.ended(run)
    lines = [json.loads(line) for line in finish(server).splitlines()]
    of_run = [line for line in lines if line.get("span", {}).get("id") == run["id"]]
    assert [line["fields"]["message"] for line in of_run if line["fields"]["message"] != "close"] == ["begins", "ended"]
    assert all(line["level"] == "INFO" and line["timestamp"].endswith("Z") for line in of_run)

    server = Server(lab, "--log", "warn,server=info")
    server.ended(server.start(profile=rings(duration="200ms"), name="worded"))
    said = finish(server)
    assert re.search(r'INFO run\{id=\S+ name=worded\}: server::runs: begins', said), said
    assert "\x1b[" not in said

    server = Server(lab)
    server.ended(server.start(profile=rings(duration="200ms")))
    assert finish(server) == ""


def test_what_is_wrong_is_said(eagre):
    """A level that is none, an address that is none."""
    eagre("serve", "--listen", "127.0.0.1:0", "--log", "server=loud").refused(2, "--log", "server=loud")
    eagre("serve", "--listen", "127.0.0.1:0", "--otlp", "ftp://x").refused(2, "--otlp", "http://")
