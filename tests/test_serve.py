"""`eagre serve`: runs, leases, campaigns and results for programs, over HTTP."""

import json
import re
import shutil
import signal
import socket
import threading
import time

import pytest
import server as server_module
from lab import REPO, call, need, pair, stream, undisturbed, wait_until
from server import Server, rings


@pytest.fixture(scope="module")
def server(shared):
    """A server for what changes nothing for others."""
    return Server(shared)


@pytest.fixture
def wire(lab):
    """A namespace with a veth pair, v0 and v1, and a server in it."""
    need("ip")
    namespace = lab.netns("tester")
    lab.veth(namespace, "v0", namespace, "v1")
    return namespace


def over_veth(rate="20kpps", duration="60s", kind="afpacket"):
    """A profile over the pair."""
    return {
        "ports": pair(f"{kind}:v0", f"{kind}:v1"),
        "streams": [stream("eastward", "west", "east", 9001, rate=rate)],
        "load": {"duration": duration, "drain": "200ms"},
    }


@pytest.mark.unsteady("measures the rate of a run beside other tests")
def test_a_run_from_start_to_result(server):
    """Live figures agree with the result, and both are in the store."""
    run = server.start(profile=rings(duration="1s"), name="first", tags=["dut=none"], seed=7)
    assert (run["state"], run["name"], run["seed"], run["ports"]) in [
        (state, "first", 7, ["ring:a", "ring:b"]) for state in ("starting", "running")
    ]
    events = list(server.events(f"/api/v1/runs/{run['id']}/events"))
    names = [name for name, _ in events]
    assert names[0] == "run" and names[-2:] == ["result", "run"] and names.count("live") >= 5
    states = [document["state"] for name, document in events if name == "run"]
    assert states[-1] == "done" and "running" in states
    looks = [document for name, document in events if name == "live"]
    rates = [look["streams"]["tx_pps"][0] for look in looks if not look["draining"]]
    result = dict(events)["result"]
    # A tester that is kept from its core sends less, and less evenly.
    disturbed = result["verdict"]["disturbed"]
    assert disturbed or sorted(rates)[len(rates) // 2] == pytest.approx(20_000, rel=0.05)
    sent = [look["streams"]["tx"][0] for look in looks]
    assert sent == sorted(sent) and sent[-1] == result["streams"]["s0"]["tx"] == result["streams"]["s0"]["rx"]
    assert disturbed or (result["verdict"]["valid"] and sent[-1] == 20_000)
    assert looks[-1]["streams"]["lost"] == [0] and looks[2]["latency"]["p99_ns"] > 0
    assert result == server.get(f"/api/v1/runs/{run['id']}/result")
    kept = server.get(f"/api/v1/results/{run['id']}")
    assert kept["campaign"]["state"] == "done" and kept["campaign"]["tags"] == ["dut=none"]
    report = server.ask("GET", f"/api/v1/results/{run['id']}/report")
    assert report.status == 200 and b"first" in report.body
    assert "default-src 'none'" in report.headers["content-security-policy"]
    snapshot = server.get(f"/api/v1/runs/{run['id']}/snapshot")
    assert snapshot["total"]["streams"] == result["streams"]


def test_full_snapshots(server):
    """The same shapes as interval and result documents."""
    run = server.start(profile=rings(duration="2s", streams=3), keep=False)
    events = list(server.events(f"/api/v1/runs/{run['id']}/events?form=full&every_s=0.2"))
    full = [document for name, document in events if name == "full"]
    assert len(full) >= 3
    for snapshot in full:
        assert snapshot["interval"]["schema"] == "eagre.interval/1"
        assert set(snapshot["total"]["streams"]) == {"s0", "s1", "s2"}
        assert snapshot["workers"][0]["core"] is not None
    sent = [snapshot["total"]["streams"]["s1"]["tx"] for snapshot in full]
    assert sent == sorted(sent) and sent[-1] > sent[0]
    # Not kept means not in the store.
    assert server.ask("GET", f"/api/v1/results/{run['id']}").status == 404


def rate_seen(server, run, column=0):
    """Packets per second of a stream in the newest look."""
    for name, document in server.events(f"/api/v1/runs/{run['id']}/events"):
        if name == "live":
            return document["streams"]["tx_pps"][column]
    raise AssertionError("no look")


def test_rates_change_while_it_runs(server):
    """All streams and one, pause and resume; what can't be done is refused with its reason."""
    run = server.start(profile=rings(streams=2))
    path = f"/api/v1/runs/{run['id']}"
    server.sends(run)
    changes = [({"rate": "5kpps"}, 5_000), ({"scale": 0}, 0), ({"scale": 2}, 40_000), ({"scale": 1}, 20_000)]
    for change, pps in changes:
        answer = server.ask("POST", f"{path}/rate", change)
        assert answer.status == 200, answer
        time.sleep(0.3)
        wait_until(lambda: abs(rate_seen(server, run) - pps) <= pps * 0.1 + 1, f"{pps} pps", 10)
    assert server.ask("POST", f"{path}/rate", {"stream": "s1", "rate": "1kpps"}).status == 200
    wait_until(lambda: abs(rate_seen(server, run, 1) - 1_000) < 150, "1 kpps", 10)
    wait_until(lambda: rate_seen(server, run) > 15_000, "the other stream as it was", 10)
    assert server.run(run)["rate_changes"][:2] == ["all streams at 5kpps", "all streams paused"]
    for change, words in [
        ({"stream": "s9", "rate": "1kpps"}, "no stream 's9'"),
        ({"rate": "fast"}, "rate"),
        ({}, "either"),
        ({"rate": "1kpps", "scale": 1}, "either"),
        ({"scale": -1}, "expected 0"),
    ]:
        answer = server.ask("POST", f"{path}/rate", change)
        assert answer.status == 422 and words in answer.detail, answer
    assert server.ask("POST", f"{path}/rate", {"rate": "max"}).status == 409
    assert server.ask("POST", f"{path}/stop").status == 200
    ended = server.ended(run)
    assert (ended["state"], ended["reason"]) == ("stopped", "stopped by local")
    assert server.ask("POST", f"{path}/rate", {"scale": 1}).status == 409
    result = server.get(f"{path}/result")
    assert result["interrupted"] and result["streams"]["s0"]["lost"] == 0 and len(result["rate_changes"]) == 5


@pytest.mark.parametrize(
    ("method", "path", "sent", "status", "words"),
    [
        ("POST", "/api/v1/runs", {"document": {"profile": "ports: 1"}}, 422, "line 1: ports"),
        ("POST", "/api/v1/runs", {"document": {"profile": {"ports": {"a": {"device": "ring:a"}}, "streams": [], "streamz": []}}}, 422, "streamz"),
        ("POST", "/api/v1/runs", {"document": {"profil": ""}}, 422, "profil"),
        ("POST", "/api/v1/runs", {"document": {}}, 422, "either 'profile' or 'profile_name'"),
        ("POST", "/api/v1/runs", {"document": {"profile_name": "nobody"}}, 404, "no profile 'nobody'"),
        ("POST", "/api/v1/runs", {"document": {"profile_name": "demo", "rate": "quick"}}, 422, "rate"),
        ("POST", "/api/v1/runs", {"document": {"profile_name": "demo", "duration_s": 0}}, 422, "duration_s"),
        ("POST", "/api/v1/runs", {"document": {"profile_name": "demo", "cores": 200}}, 422, "cores"),
        ("POST", "/api/v1/runs", {"document": {"profile_name": "demo", "lease": "x"}}, 404, "no such lease"),
        ("POST", "/api/v1/runs", {"body": "{", "headers": {"Content-Type": "application/json"}}, 400, "not valid JSON"),
        ("POST", "/api/v1/runs", {"body": "{}", "headers": {"Content-Type": "text/plain"}}, 415, "application/json"),
        ("POST", "/api/v1/runs", {"document": {"profile": {"ports": {"a": {"device": "afpacket:nowhere0"}}, "streams": []}}}, 503, "nowhere0"),
        ("PUT", "/api/v1/runs", {}, 405, "PUT"),
        ("GET", "/api/v1/runs/20200101-000000-abcdef", {}, 404, "no run"),
        ("GET", "/api/v1/nothing", {}, 404, "/api/v1/nothing"),
        ("GET", "/api/v1/runs/latest/events?every_s=x", {}, 422, "every_s"),
        ("GET", "/api/v1/results?since=yesterday", {}, 422, "yesterday"),
        ("GET", "/api/v1/compare?ids=a", {}, 422, "expected 2 to"),
        ("POST", "/api/v1/campaigns", {"document": {"method": "guess", "profile_name": "demo"}}, 422, "guess"),
        (
            "POST",
            "/api/v1/campaigns",
            {"document": {"method": "throughput", "profile_name": "demo", "set": {"resolutoin": "1"}}},
            422,
            "resolutoin",
        ),
        ("POST", "/api/v1/leases", {"document": {"ports": []}}, 422, "ports"),
        ("POST", "/api/v1/leases", {"document": [["ring:c"], 5]}, 422, "expected a JSON object, found a list"),
        ("POST", "/api/v1/leases", {"document": {"ports": ["ring:a"], "holder": "a\u001b[2Jb"}}, 422, "no control characters"),
        ("POST", "/api/v1/runs", {"document": {"profile_name": "demo", "tags": ["a", "b\u001b[31m"]}}, 422, "tags[1]"),
        ("POST", "/api/v1/runs", {"document": {"profile_name": "demo", "seed": -1}}, 422, "seed: expected a whole number from 0 to"),
        ("GET", "/api/v1/results?limit=x", {}, 422, "limit: invalid digit"),
        ("POST", "/api/v1/leases", {"document": {"ports": ["ring:c"], "ttl_s": 0.1}}, 422, "ttl_s"),
    ],
)
def test_refusals_name_the_place_and_the_reason(server, method, path, sent, status, words):
    """Problem documents (RFC 9457)."""
    answer = server.ask(method, path, **sent)
    assert answer.status == status and words in answer.detail, answer
    assert answer.headers["content-type"] == "application/problem+json"
    problem = answer.json()
    assert problem["status"] == status and problem["title"] and problem["type"] == "about:blank"


def test_all_errors_of_a_profile_come_with_line_and_path(server):
    """As `eagre check` reports them; a check is no failure."""
    text = "ports: {a: {device: 'ring:a'}}\nstreams:\n  - {from: a, to: c, rate: fast, packet: [ipv4, udp]}\n"
    check = server.ask("POST", "/api/v1/profiles/check", {"profile": text}).json()
    assert not check["good"] and check["streams"] == 0
    places = {(error["path"], error["line"]) for error in check["errors"]}
    assert ("streams[0].rate", 3) in places and len(places) >= 2
    good = server.ask("POST", "/api/v1/profiles/check", {"profile": rings()}).json()
    assert good["good"] and good["ports"][0] == {"name": "west", "device": "ring:a"} and good["duration_s"] == 30


def test_profiles_are_kept(server):
    """Examples are there from the start."""
    listed = {entry["name"]: entry for entry in server.get("/api/v1/profiles")}
    examples = {path.stem for path in (REPO / "examples").glob("*.yaml")}
    assert {name for name, entry in listed.items() if entry["built_in"]} == examples
    assert server.ask("PUT", "/api/v1/profiles/mine", {"profile": rings()}).status == 200
    assert server.ask("PUT", "/api/v1/profiles/bad", {"profile": "ports: 1"}).status == 422
    assert json.loads(server.get("/api/v1/profiles/mine")["profile"]) == rings()
    run = server.start(profile_name="mine", duration_s=0.2)
    assert run["name"] == "mine"
    assert server.ended(run)["state"] == "done"
    assert server.ask("DELETE", "/api/v1/profiles/mine").status == 204
    assert server.ask("GET", "/api/v1/profiles/mine").status == 404
    assert server.ask("DELETE", "/api/v1/profiles/demo").status == 409


def test_two_clients_and_one_port(lab):
    """One gets it, the other sees the holder; the lease's name is the key to it."""
    server = Server(lab)
    taken = server.ask("POST", "/api/v1/leases", {"ports": ["ring:a", "ring:b"], "ttl_s": 30, "holder": "night run"})
    assert taken.status == 201, taken
    lease = taken.json()
    other = server.ask("POST", "/api/v1/leases", {"ports": ["ring:b"]})
    assert other.status == 409 and "port 'ring:b' is leased by 'local (night run)'" in other.detail, other
    refused = server.ask("POST", "/api/v1/runs", {"profile": rings()})
    assert refused.status == 409 and "night run" in refused.detail
    run = server.start(profile=rings(), lease=lease["id"])
    server.sends(run)
    busy = server.ask("POST", "/api/v1/runs", {"profile": rings(), "lease": lease["id"]})
    assert busy.status == 409 and run["id"] in busy.detail
    renewed = server.ask("POST", f"/api/v1/leases/{lease['id']}/renew", {"ttl_s": 50}).json()
    assert renewed["seconds_left"] > 45
    ports = {port["name"]: port for port in server.get("/api/v1/ports")}
    assert ports["ring:a"]["lease"]["holder"] == "local (night run)" and ports["null"]["lease"] is None
    assert server.ask("DELETE", f"/api/v1/leases/{lease['id']}").status == 204
    ended = server.ended(run)
    assert (ended["state"], ended["reason"]) == ("stopped", "its lease ended")
    run = server.start(profile=rings(duration="200ms"))
    assert server.ended(run)["state"] == "done"


def test_traffic_stops_when_a_dead_clients_lease_ends(lab, wire):
    """The kernel's counters are the witness."""
    server = Server(lab, ns=wire)
    lease = server.ask("POST", "/api/v1/leases", {"ports": ["v0", "afxdp:v1"], "ttl_s": 60}).json()
    assert lease["ports"] == ["v0", "v1"]
    run = server.start(profile=over_veth(), lease=lease["id"])
    server.sends(run, 1_000)
    assert server.ask("POST", f"/api/v1/leases/{lease['id']}/renew", {"ttl_s": 2}).status == 200
    # The client sends nothing more.
    began = time.monotonic()
    ended = server.ended(run, 15)
    assert (ended["state"], ended["reason"]) == ("stopped", "its lease ended")
    assert time.monotonic() - began < 8
    before = wire.counters("v1")["rx"]
    time.sleep(0.5)
    assert wire.counters("v1")["rx"] == before > 1_000
    assert server.get("/api/v1/leases") == []
    assert server.ask("POST", "/api/v1/leases", {"ports": ["v0"]}).status == 201


def test_killed_with_traffic_running(lab, wire):
    """Traffic stops; the next server finds the ports free and the run marked."""
    server = Server(lab, ns=wire)
    run = server.start(profile=over_veth(kind="afxdp"), name="doomed")
    server.sends(run, 1_000)
    server.process.kill()
    server.process.wait(10)
    before = wire.counters("v1")["rx"]
    time.sleep(0.5)
    assert wire.counters("v1")["rx"] == before
    again = Server(lab, ns=wire, folder=server.folder)
    marked = again.run(run)
    assert (marked["state"], marked["reason"]) == ("interrupted", "the server ended before it did")
    kept = again.get(f"/api/v1/results/{run['id']}")["campaign"]
    assert (kept["state"], kept["reason"]) == ("interrupted", "the server ended before it did")
    assert again.get("/api/v1/leases") == []
    good = again.start(profile=over_veth(duration="300ms", kind="afxdp"))
    assert again.ended(good)["state"] == "done"
    assert again.get(f"/api/v1/runs/{good['id']}/result")["streams"]["eastward"]["rx"] > 0


def test_told_to_end_it_ends_its_runs(lab):
    """With their results in the store."""
    server = Server(lab)
    run = server.start(profile=rings())
    server.sends(run)
    server.process.send_signal(signal.SIGINT)
    assert server.process.wait(20) == 0
    again = Server(lab, folder=server.folder)
    kept = again.get(f"/api/v1/results/{run['id']}")
    assert kept["campaign"]["state"] == "interrupted" and kept["campaign"]["reason"] == "the server ended"
    assert kept["trials"][0]["result"]["streams"]["s0"]["lost"] == 0


def test_ports_are_opened_and_closed_again_and_again(lab, wire):
    """One process, many runs: nothing is left open."""
    server = Server(lab, ns=wire)
    for number in range(6):
        kind = ("afpacket", "afxdp")[number % 2]
        run = server.start(profile=over_veth("5kpps", "200ms", kind), keep=False)
        assert server.ended(run)["state"] == "done", number
        result = server.get(f"/api/v1/runs/{run['id']}/result")
        assert result["streams"]["eastward"]["lost"] == 0, number
    assert len(server.get("/api/v1/runs")) == 6
    assert server.ask("DELETE", f"/api/v1/runs/{run['id']}").status == 204
    assert len(server.get("/api/v1/runs")) == 5


def test_two_runs_at_once(lab, wire):
    """Of different clients on different ports; a shared core is reported."""
    server = Server(lab, ns=wire)
    one = server.start(profile=over_veth("2kpps"))
    two = server.start(profile=rings("2kpps"))
    server.sends(one, 100)
    server.sends(two, 100)
    cores = len(call("taskset", "-p", "-c", str(server.process.pid)).split(","))
    assert cores > 2 or "shares core" in two["warnings"][0]
    for run in (one, two):
        assert server.ask("POST", f"/api/v1/runs/{run['id']}/stop").status == 200
        assert server.ended(run)["state"] == "stopped"


def test_a_capture_is_streamed_while_it_grows(lab):
    """And is read by tshark, whatever file the profile names."""
    need("tshark")
    server = Server(lab)
    profile = rings("1kpps", "60s")
    profile["ports"]["east"]["capture"] = {"file": "/tmp/not-written-by-eagre.pcapng"}
    run = server.start(profile=profile)
    assert run["captures"] == ["east"]
    connection = server.connect()
    connection.request("GET", f"/api/v1/runs/{run['id']}/captures/east")
    answer = connection.getresponse()
    first = answer.read(2_000)
    assert len(first) == 2_000 and server.run(run)["state"] in ("starting", "running")
    server.sends(run, 500)
    assert server.ask("POST", f"/api/v1/runs/{run['id']}/stop").status == 200
    path = server.folder / "streamed.pcapng"
    path.write_bytes(first + answer.read())
    seen = call("tshark", "-r", path, "-T", "fields", "-e", "ip.dst").split()
    server.ended(run)
    [sent] = [one["tx"] for one in server.get(f"/api/v1/runs/{run['id']}/result")["streams"].values()]
    assert seen == ["10.0.0.2"] * sent and sent >= 500
    assert not (server.folder / "not-written-by-eagre.pcapng").exists()
    assert server.ask("GET", f"/api/v1/runs/{run['id']}/captures/west").status == 404


def test_a_campaign_with_its_growing_curve(server):
    """Points come as trials end; what is found is in the store, its report and the comparison."""
    profile = rings()
    for port in profile["ports"].values():
        port["speed"] = "10Mbps"
    new = {"method": "throughput", "profile": profile, "trial_s": 0.2, "sizes": ["512B"], "quick": True}
    found, trials = [], []
    for name in ("one", "two"):
        answer = server.ask("POST", "/api/v1/campaigns", new | {"name": name, "set": {"resolution": "0.25"}})
        assert answer.status == 201, answer
        campaign = answer.json()
        events = list(server.events(f"/api/v1/campaigns/{campaign['id']}/events", 60))
        points = [document for kind, document in events if kind == "point"]
        last = events[-1][1]
        assert events[-1][0] == "campaign" and last["state"] == "done", last
        assert points and last["trials_done"] == len(points) and last["fraction"] == 1
        assert all(point["frame"] == "512B" and point["loss_ratio"] == 0 for point in points)
        assert "512" in " ".join(last["found"])
        assert any(kind == "live" and document["names"]["streams"] for kind, document in events)
        result = server.get(f"/api/v1/campaigns/{campaign['id']}/result")
        assert result["schema"] == "eagre.campaign/1" and result["ended"] == "done"
        assert len(server.get(f"/api/v1/campaigns/{campaign['id']}")["points"]) == len(points)
        # A trial that a busy machine disturbed runs again.
        trials.append(len(points))
        found.append(campaign["id"])
    compared = server.get(f"/api/v1/compare?ids={','.join(found)}")
    assert len(compared["campaigns"]) == 2
    page = server.ask("GET", f"/api/v1/compare/report?ids={','.join(found)}")
    assert page.status == 200 and b"one" in page.body and b"two" in page.body
    rows = server.ask("GET", f"/api/v1/results/{found[0]}/export?format=csv").body.decode().splitlines()
    assert len(rows) == trials[0] + 1
    listed = server.get("/api/v1/results?method=throughput&limit=1")
    assert [entry["id"] for entry in listed] == found[1:]


def test_a_campaign_is_stopped(server):
    """It can be looked at afterwards."""
    profile = rings()
    for port in profile["ports"].values():
        port["speed"] = "10Mbps"
    new = {"method": "rfc2544", "profile": profile, "trial_s": 0.5, "sizes": ["512B"]}
    campaign = server.ask("POST", "/api/v1/campaigns", new).json()
    path = f"/api/v1/campaigns/{campaign['id']}"
    wait_until(lambda: server.get(path)["points"], "a trial", 30, 0.1)
    assert server.ask("POST", f"{path}/stop").status == 200
    ended = lambda: server.get(path)["state"] == "stopped"
    wait_until(ended, "the end", 20, 0.1)
    assert server.get(f"/api/v1/results/{campaign['id']}")["campaign"]["state"] == "interrupted"
    methods = {method["name"]: method for method in server.get("/api/v1/methods")}
    assert "resolution" in methods["throughput"]["parts"][0]["settings"]


def test_a_slow_client_holds_nobody_up(lab):
    """It does not read its events, of which a few fill the kernel's buffer; the run and other clients continue."""
    server = Server(lab)
    run = server.start(profile=rings("100pps", "60s", streams=200))
    server.sends(run)
    slow = server.connect()
    slow.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    slow.request("GET", f"/api/v1/runs/{run['id']}/events?form=full&every_s=0.02")
    names, looks = (name for name, _ in server.events(f"/api/v1/runs/{run['id']}/events")), 0
    while looks < 30:
        looks += next(names) == "live"
    sent = sum(port["tx_packets"] for port in server.get(f"/api/v1/runs/{run['id']}/snapshot")["total"]["ports"].values())
    server.sends(run, sent + 1_000)
    assert server.ask("POST", f"/api/v1/runs/{run['id']}/stop").status == 200
    assert server.ended(run)["state"] == "stopped"
    slow.close()


@pytest.mark.unsteady("measures pacing while three clients poll")
def test_many_looks_at_many_streams(lab):
    """A thousand streams, watched from five sides; pacing and loss stay as they were."""
    server = Server(lab)
    run = server.start(profile=rings("100pps", "4s", streams=1_000))
    slowest = []

    def watch():
        end = time.monotonic() + 2.5
        while time.monotonic() < end:
            began = time.monotonic()
            server.get(f"/api/v1/runs/{run['id']}/snapshot")
            slowest.append(time.monotonic() - began)
            time.sleep(0.05)

    server.sends(run)
    clients = [threading.Thread(target=watch) for _ in range(3)]
    [client.start() for client in clients]
    [client.join() for client in clients]
    assert server.ended(run)["state"] == "done"
    result = undisturbed(server.get(f"/api/v1/runs/{run['id']}/result"))
    assert result["verdict"]["valid"], result["verdict"]
    unsent = sum(port["tx_unsent"] for port in result["ports"].values())
    assert sum(s["tx"] for s in result["streams"].values()) + unsent == 400_000
    assert sum(s["lost"] for s in result["streams"].values()) == 0
    print(f"{len(slowest)} snapshots, slowest {max(slowest) * 1000:.0f} ms")


def test_the_openapi_document_is_the_servers(server, eagre):
    """The program has docs/openapi.json, which a unit test of the server keeps equal to its routes."""
    written = json.loads((REPO / "docs/openapi.json").read_text())
    assert written == eagre("schema", "openapi").ok().json
    assert written == server.get("/api/v1/openapi.json")
    assert written["openapi"].startswith("3.1")
    # docs/api.md has its resources and shapes.
    call(REPO / "tools/api-docs", "--check")


def test_every_answer_has_a_type(server):
    """No response is a plain object, and all references resolve."""
    api = server.get("/api/v1/openapi.json")
    schemas = api["components"]["schemas"]
    operations = [(path, one) for path, methods in api["paths"].items() for one in methods.values()]
    untyped = [
        path
        for path, operation in operations
        for answer in operation["responses"].values()
        for media in answer.get("content", {}).values()
        if media["schema"] == {"type": "object"}
    ]
    assert untyped == []
    named = set(re.findall(r'"#/components/schemas/([^"]+)"', json.dumps(api)))
    assert named <= set(schemas), named - set(schemas)
    interval = schemas["Snapshot"]["properties"]["interval"]
    assert "IntervalDocument" in json.dumps(interval) and "neighbours" in schemas["Snapshot"]["properties"]


def test_the_audit_log_says_who_did_what(lab):
    """Everything that changes something, in a file and over HTTP."""
    server = Server(lab)
    run = server.start(profile=rings(duration="200ms"), name="noted")
    server.ended(run)
    server.ask("POST", "/api/v1/runs", {"profile": "ports: 1"})
    entries = [json.loads(line) for line in (server.folder / "serve/audit.jsonl").read_text().splitlines()]
    assert [entry["status"] for entry in entries] == [201, 422]
    assert entries[0]["who"] == "local" and run["id"] in entries[0]["detail"] and "ring:a" in entries[0]["detail"]
    assert "the profile has errors" in entries[1]["detail"]
    assert server.get("/api/v1/audit") == entries[::-1]


def test_the_servers_doctor_counts_the_cores_of_the_process(lab, eagre):
    """Not those that the server has left to itself: the same as the command line's."""
    server = Server(lab)
    cores = {check["check"]: check["found"] for check in server.get("/api/v1/doctor")}["cores"]
    told = {check["check"]: check["found"] for check in json.loads(eagre("doctor", "--json").out)}
    assert cores == told["cores"]


def test_the_documentation_is_served_where_it_is_installed(lab, monkeypatch):
    """Pages beside the program, as packages have them, and no other file."""
    none = Server(lab).ask("GET", "/docs/")
    prefix = lab.folder()
    pages = prefix / "share" / "eagre" / "docs"
    (prefix / "bin").mkdir()
    pages.mkdir(parents=True)
    (prefix / "secret.html").write_text("secret")
    (pages / "index.html").write_text("<h1>First</h1>")
    (pages / "part").mkdir()
    (pages / "part" / "one.html").write_text("<h1>One</h1>")
    (pages / "away.html").symlink_to(prefix / "secret.html")
    program = prefix / "bin" / "eagre"
    shutil.copy(server_module.EAGRE, program)
    monkeypatch.setattr(server_module, "EAGRE", program)
    server = Server(lab)
    first = server.ask("GET", "/docs/")
    assert (first.status, first.body) == (200, b"<h1>First</h1>") and first.headers["content-type"] == "text/html; charset=utf-8"
    assert "script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'" in first.headers["content-security-policy"]
    assert server.ask("GET", "/docs/", headers={"If-None-Match": first.headers["etag"]}).status == 304
    assert server.ask("GET", "/docs").status == 308 and server.ask("GET", "/docs/part/one.html").body == b"<h1>One</h1>"
    for name in ("none.html", "away.html", "../secret.html", "%2e%2e/secret.html", "part/../../secret.html", "part"):
        assert server.ask("GET", f"/docs/{name}").status == 404, name
    assert none.status == 200 or (none.status == 404 and b"make docs" in none.body)
