"""Open Traffic Generator as unmodified clients of it expect: counters, times, errors, streaming, remote use."""

import json
import os
import ssl
import sys
import time

import otg
import pytest
from lab import wait_until
from server import Server, inside

TOKEN = "hand-0123456789abcdef"


@pytest.fixture(scope="module")
def client(shared):
    """A server, and snappi; its ports are in-process links."""
    otg.install()
    namespace = shared.netns("otg")
    namespace.ip("link", "set", "lo", "up")
    options = ("--grpc", "127.0.0.1:40061", "--otg-location", "localhost:5555=ring:map.a")
    return otg.Client(Server(shared, *options, ns=namespace))


def errors(client, method, document):
    """The model's error document for a request over HTTP."""
    answer = client.server.ask("POST", method, document)
    assert answer.status >= 400 and answer.headers["content-type"] == "application/json", answer
    told = answer.json()
    assert set(told) == {"code", "kind", "errors"} and told["code"] == answer.status, told
    return told["errors"]


def test_all_counters_are_always_there(client):
    """A flow that nobody receives, and one whose frames differ in length: bytes are counted."""
    config = client.config("ring:a", "ring:b")
    alone, _ = otg.flow(config, "alone", "ethernet", "ipv4", "udp", measure=True, packets=50)
    alone.tx_rx.port.rx_name = None
    mixed, _ = otg.flow(config, "mixed", "ethernet", "ipv4", "udp", measure=True, packets=50)
    mixed.size.weight_pairs.custom.add(size=100, weight=3)
    mixed.size.weight_pairs.custom.add(size=300, weight=2)
    mixed.size.choice = "weight_pairs"
    client.set(config)
    client.transmit("start")
    client.over()
    client.transmit("stop")
    rows = client.flows()
    counters = [f"{what}_{side}" for what in ("frames", "bytes") for side in ("tx", "rx")]
    rates = [f"frames_{side}_rate" for side in ("tx", "rx")]
    rates += [f"{side}_{rate}" for side in ("tx", "rx") for rate in ("l1_rate_bps", "rate_bps")]
    for row in rows.values():
        assert all(getattr(row, name) is not None for name in counters), row
        assert all(getattr(row, name) == 0 for name in rates), row
    assert [getattr(rows["mixed"], name) for name in counters] == [50, 50, 9000, 9000]
    assert (rows["alone"].frames_tx, rows["alone"].bytes_tx) == (50, 50 * 200)


def test_a_flow_ends_at_its_time(client):
    """More than the tester can send for a second: it ends after that second, and the answer to stop says what is wrong."""
    config = client.config("ring:a", "ring:b")
    much, _ = otg.flow(config, "much", "ethernet", "ipv4", "udp", measure=True, size=64)
    much.rate.percentage, much.duration.fixed_seconds.seconds = 100, 1
    later, _ = otg.flow(config, "later", "ethernet", "ipv4", "udp", measure=True, pps=500)
    later.duration.fixed_seconds.seconds = 0.4
    config.layer1.add(name="l", port_names=["p", "q"], speed="speed_400_gbps")
    client.set(config)
    begun = time.monotonic()
    client.transmit("start", "much")
    wait_until(lambda: client.flows("much")["much"].transmit == "stopped", "the flow's end", 20, 0.05)
    took = time.monotonic() - begun
    sent = client.flows("much")["much"]
    assert took < 5 and sent.frames_tx_rate == 0, took
    time.sleep(0.3)
    assert client.flows("much")["much"].frames_tx == sent.frames_tx < 595_000_000
    client.transmit("start", "later")
    wait_until(lambda: client.flows("later")["later"].transmit == "stopped", "the other flow's end", 20, 0.05)
    assert 190 <= client.flows("later")["later"].frames_tx <= 201
    control = client.api.control_state()
    control.traffic.flow_transmit.state = "stop"
    warnings = client.call("set_control_state", control).warnings
    # On a busy machine it is another process that took the worker's core.
    assert any(word in warning for warning in warnings for word in ("tester", "generator", "worker")), warnings


def secured(lab):
    """A server with TLS and tokens, and snappi, which has the token in its location."""
    otg.install()
    path = lab.folder() / "tokens.yaml"
    path.write_text(f"- {{name: ci, role: run, token: {TOKEN}}}\n")
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    server = Server(lab, "--tls", "--tokens", path, token=TOKEN, context=context)
    import snappi

    client = otg.Client(server)
    client.api = snappi.api(location=f"https://ci:{TOKEN}@{server.address.netloc}", verify=False)
    return client


def test_a_token_as_a_password(lab):
    """Stock snappi knows no bearer tokens; a wrong one is an error in the model's words."""
    client = secured(lab)
    server = client.server
    import snappi

    config = client.config("ring:a", "ring:b")
    otg.flow(config, "f", "ethernet", "ipv4", "udp", measure=True, packets=20)
    client.set(config)
    client.transmit("start")
    client.over()
    assert client.flows()["f"].frames_rx == 20
    for user, token in (("ci", TOKEN + "x"), ("eve", TOKEN)):
        client.api = snappi.api(location=f"https://{user}:{token}@{server.address.netloc}", verify=False)
        with pytest.raises(Exception) as raised:
            client.call("get_version")
        error = client.api.from_exception(raised.value)
        assert (error.code, error.errors) == (401, ["unknown token"])
    # A browser sends a password it has kept wherever any page wants it.
    pair = f"ci:{TOKEN}".encode()
    basic = {"Authorization": f"Basic {__import__('base64').b64encode(pair).decode()}"}
    assert server.ask("GET", "/api/v1/runs", headers=basic, token="").status == 200
    assert server.ask("GET", "/api/v1/runs", headers=basic | {"Origin": "https://evil.example"}, token="").status == 403


def test_other_host_names(lab):
    """Without tokens a server answers to its own names, and to those its operator gives it."""
    server = Server(lab, "--allow-host", "lab.example")
    for host, status in (("lab.example:8443", 200), ("LAB.example", 200), ("evil.example", 403)):
        assert server.ask("GET", "/capabilities/version", headers={"Host": host}).status == status, host


def gateways(client, config):
    """A host on either port, each the gateway of the other; and the gateways as the server knows them."""
    for port, last in (("p", 1), ("q", 2)):
        ethernet = config.devices.add(name=f"d{port}").ethernets.add(name=f"e{port}", mac=f"02:00:00:00:00:0{last}")
        ethernet.connection.port_name = port
        gateway = f"10.9.0.{3 - last}"
        ethernet.ipv4_addresses.add(name=f"i{port}", address=f"10.9.0.{last}", gateway=gateway, prefix=24)

    def states():
        request = client.api.states_request()
        request.ipv4_neighbors.ethernet_names = []
        found = client.call("get_states", request).ipv4_neighbors
        return {state.ethernet_name: state.link_layer_address for state in found}

    return states


WANTED = {"ep": "02:00:00:00:00:02", "eq": "02:00:00:00:00:01"}


def test_neighbours_are_resolved_when_they_are_asked_for(client):
    """Without protocols being started; what was learnt stays, and no run does."""
    config = client.config("ring:a", "ring:b")
    states = gateways(client, config)
    client.set(config)
    assert states() == WANTED
    assert not {run["state"] for run in client.server.get("/api/v1/runs")} & {"starting", "running", "draining"}
    before = len(client.server.get("/api/v1/runs"))
    assert states() == WANTED and len(client.server.get("/api/v1/runs")) == before, "they are known"


def test_a_ping_resolves_neighbours(client):
    """Those of its run are known after it."""
    config = client.config("ring:a", "ring:b")
    states = gateways(client, config)
    client.set(config)
    action = client.api.control_action()
    action.protocol.ipv4.ping.requests.add(src_name="ip", dst_ip="10.9.0.2")
    answer = client.call("set_control_action", action)
    assert [row.result for row in answer.response.protocol.ipv4.ping.responses] == ["succeeded"]
    before = len(client.server.get("/api/v1/runs"))
    assert states() == WANTED and len(client.server.get("/api/v1/runs")) == before


def test_locations_are_checked_and_mapped(client):
    """An interface there is not, a port nobody may use, two ports in one place; a location of another engine."""
    config = client.config("nosuch0", "lo")
    first, second = client.refused(config)
    assert first == "ports[0].location: there is no interface 'nosuch0' here"
    assert second.startswith("ports[1].location: port 'lo'") and "loopback" in second
    assert client.refused(client.config("ring:a", "ring:a")) == ["ports[1].location: 'ring:a' is the location of port 'p', too"]
    assert client.refused(client.config("afpacket:", "ring:b"))[0].startswith("ports[0].location: ")
    config = client.config("localhost:5555", "ring:map.b")
    made, _ = otg.flow(config, "f", "ethernet", "ipv4", "udp", packets=20, measure=True)
    client.set(config)
    assert [lease["ports"] for lease in client.server.get("/api/v1/leases")] == [["ring:map.a", "ring:map.b"]]
    client.transmit("start")
    client.over()
    assert {name: port.location for name, port in client.ports().items()} == {"p": "localhost:5555", "q": "ring:map.b"}


STREAMS = """
import snappi
api = snappi.api(location="127.0.0.1:40061", transport="grpc")
api.enable_grpc_streaming = True
api._chunk_size = 20000
config = api.config()
config.ports.add(name="p", location="ring:a")
config.ports.add(name="q", location="ring:b")
for n in range(300):
    flow = config.flows.add(name=f"f{n}")
    flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_name = "p", "q"
    flow.packet.ethernet().ipv4().udp()
    flow.size.fixed, flow.rate.pps, flow.duration.fixed_packets.packets = 1200, 1000, 5
    flow.metrics.enable = True
config.captures.add(name="c", port_names=["q"], format="pcap")
api.set_config(config)
assert [flow.name for flow in api.get_config().flows] == [f"f{n}" for n in range(300)]
control = api.control_state()
control.port.capture.state = "start"
api.set_control_state(control)
control = api.control_state()
control.traffic.flow_transmit.state = "start"
api.set_control_state(control)
request = api.metrics_request()
request.flow.flow_names = []
while any(row.transmit != "stopped" for row in api.get_metrics(request).flow_metrics):
    pass
print(sum(row.frames_rx for row in api.get_metrics(request).flow_metrics))
control.traffic.flow_transmit.state = "stop"
api.set_control_state(control)
request = api.capture_request()
request.port_name = "q"
capture = api.get_capture(request).read()
print(len(capture) - 24)
states = api.states_request()
states.ipv4_neighbors.ethernet_names = []
print(len(api.get_states(states).ipv4_neighbors))
config.flows[0].name = config.flows[1].name
try:
    api.set_config(config)
except Exception as raised:
    print(api.from_exception(raised).errors)
"""


def test_documents_in_pieces_over_grpc(client):
    """Configurations, metrics, states and captures, each of more than one piece."""
    with inside(client.server.ns):
        env = ("env", f"PYTHONPATH={otg.FOLDER}")
        import subprocess

        done = subprocess.run([*env, sys.executable, "-c", STREAMS], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    frames, captured, states, refused = done.stdout.splitlines()
    assert (frames, states) == ("1500", "0") and int(captured) == 1500 * (16 + 1200)
    assert refused == "[\"flows[1].name: duplicate flow 'f1'\"]"


def test_what_is_not_supported_comes_first(client):
    """What refers to an unsupported part is no riddle."""
    config = client.config("ring:a", "ring:b")
    ethernet = config.devices.add(name="d").ethernets.add(name="e", mac="02:00:00:00:00:01")
    ethernet.connection.port_name = "p"
    ethernet.ipv4_addresses.add(name="i", address="10.9.0.1", gateway="10.9.0.2", prefix=24)
    config.devices[0].rsvp.name = "rsvp router"
    made, _ = otg.flow(config, "f", "ethernet", "ipv4")
    made.tx_rx.device.tx_names, made.tx_rx.device.rx_names = ["i"], ["rr"]
    said = client.refused(config)
    assert said == ["devices[0].rsvp: not supported", "flows[0].tx_rx.device.rx_names: unknown device or interface 'rr'"]


def test_a_new_configuration_says_what_it_stops(client):
    """Traffic and captures of the one before."""
    config = client.config("ring:a", "ring:b")
    for name in ("one", "two"):
        made, _ = otg.flow(config, name, "ethernet", "ipv4", "udp", measure=True)
        made.duration.continuous.gap = 12
    config.captures.add(name="c", port_names=["q"])
    client.set(config)
    client.transmit("start", "two")
    client.capturing("start")
    traffic, captures = client.set(client.config("ring:a", "ring:b"))
    assert "still being sent and was stopped" in traffic and "127.0.0.1" in traffic and traffic.endswith(": 'two'")
    assert captures.endswith("were stopped: port 'q'")
    assert not client.set(client.config("ring:a", "ring:b"))


def test_errors_are_in_the_models_words_and_names(client):
    """Whoever found them: the routes, the reader of documents, the profile."""
    assert "does not support DELETE" in client.server.ask("DELETE", "/config").json()["errors"][0]
    assert client.server.ask("GET", "/control/nowhere").json()["kind"] == "validation"
    assert errors(client, "/config", {"ports": 7}) == ["ports: is not a list"]
    flow = {"name": "f", "tx_rx": {"choice": "port", "port": {"tx_name": "west", "rx_name": "east"}}}
    flow |= {"packet": [{"choice": "ethernet", "ethernet": {}}, {"choice": "ipv4", "ipv4": {}}]}
    ports = [{"name": "west", "location": "ring:a"}, {"name": "east", "location": "ring:b"}]
    said = errors(client, "/config", {"ports": ports, "flows": [flow | {"rate": {"choice": "pps", "pps": 2**64}}]})
    assert said[0].startswith("flows[0].rate.pps: ") and "out of range" in said[0], said
    config = client.api.config()
    config.ports.add(name="west", location="ring:a")
    config.ports.add(name="east", location="ring:b")
    for port, last in (("west", 1), ("east", 2)):
        device = config.devices.add(name=f"d-{port}")
        if port == "east":
            ethernet = device.ethernets.add(name=f"e-{port}", mac="02:00:00:00:00:02")
            ethernet.connection.port_name = port
    made = config.flows.add(name="f")
    made.tx_rx.device.tx_names, made.tx_rx.device.rx_names = ["d-west"], ["d-east"]
    made.packet.ethernet().ipv4().udp()
    (said,) = client.refused(config)
    assert said.startswith("flows[0].tx_rx.device.tx_names: device 'd-west' has no 'ethernets'"), said
    # What only the profile's validation finds has the configuration's names in it.
    ethernet = config.devices[0].ethernets.add(name="e-west", mac="02:00:00:00:00:02")
    ethernet.connection.port_name = "east"
    (said,) = client.refused(config)
    assert said == "devices[1].ethernets[0]: 02:00:00:00:00:02 is already used by host 'e-west'", said


def test_rates_are_not_stale(client):
    """A flow that has ended has no rate while another is sent."""
    config = client.config("ring:a", "ring:b")
    otg.flow(config, "short", "ethernet", "ipv4", "udp", measure=True, pps=2000, packets=400)
    made, _ = otg.flow(config, "long", "ethernet", "ipv4", "udp", measure=True, pps=1000)
    made.duration.continuous.gap = 12
    client.set(config)
    client.transmit("start")
    client.over("short")
    rows = client.flows()
    assert rows["short"].frames_tx_rate == rows["short"].tx_rate_bps == 0 and rows["short"].frames_tx == 400
    wait_until(lambda: 500 < client.flows()["long"].frames_tx_rate < 2000, "the other's rate", 10, 0.1)
    client.transmit("stop")
    assert client.flows()["long"].frames_tx_rate == 0


@pytest.mark.unsteady("measures how long a poll takes")
@pytest.mark.parametrize("tls", [False, pytest.param(True, marks=pytest.mark.long)], ids=["http", "https"])
def test_four_thousand_flows_are_polled_by_snappi(request, lab, tls):
    """A mesh of 64 by 64 addresses with all counters: the answer takes a fraction of a second, what snappi needs to read it is told."""
    client = secured(lab) if tls else request.getfixturevalue("client")
    config = client.config("ring:a", "ring:b")
    for number in range(4096):
        made, headers = otg.flow(config, f"f{number}", "ethernet", "ipv4", "udp", measure=True, pps=2)
        ipv4 = headers[1]
        ipv4.src.value, ipv4.dst.value = f"10.0.0.{number // 64 + 1}", f"10.0.1.{number % 64 + 1}"
        made.duration.continuous.gap = 12
    client.set(config)
    client.transmit("start")
    times, answers = [], []
    for _ in range(3):
        begun = time.thread_time()
        rows = client.flows()
        times.append(time.thread_time() - begun)
        begun = time.perf_counter()
        client.server.ask("POST", "/monitor/metrics", {"choice": "flow"})
        answers.append(time.perf_counter() - begun)
    assert len(rows) == 4096
    client.set(client.api.config())
    print(f"4,096 flows over {'HTTPS' if tls else 'HTTP'}: answered in {min(answers):.2f} s; snappi needs {min(times):.2f} s of its core to read that")
    assert min(answers) < 1, answers


def resident(server):
    """Memory of the server's process, bytes."""
    words = open(f"/proc/{server.process.pid}/statm").read().split()
    return int(words[1]) * os.sysconf("SC_PAGE_SIZE")


def runs_of_many_flows(lab, runs, flows, settled):
    """Memory after some runs, and after all of them."""
    server = Server(lab)
    ports = [{"name": "p", "location": "ring:a"}, {"name": "q", "location": "ring:b"}]

    def flow(n):
        headers = [{"choice": name, name: {}} for name in ("ethernet", "ipv4", "udp")]
        ends = {"choice": "port", "port": {"tx_name": "p", "rx_name": "q"}}
        made = {"name": f"f{n}", "tx_rx": ends, "packet": headers, "metrics": {"enable": True}}
        packets = {"choice": "fixed_packets", "fixed_packets": {"packets": 2}}
        return made | {"rate": {"choice": "pps", "pps": 100}, "duration": packets}

    config = json.dumps({"ports": ports, "flows": [flow(n) for n in range(flows)]})
    control = {"choice": "traffic", "traffic": {"choice": "flow_transmit", "flow_transmit": {"state": "start"}}}
    seen = []
    for _ in range(runs):
        assert server.ask("POST", "/config", body=config).status == 200
        assert server.ask("POST", "/control/state", control).status == 200
        answer = server.ask("POST", "/monitor/metrics", {"choice": "flow"}).json()
        assert len(answer["flow_metrics"]) == flows
        control["traffic"]["flow_transmit"]["state"] = "stop"
        assert server.ask("POST", "/control/state", control).status == 200
        control["traffic"]["flow_transmit"]["state"] = "start"
        seen.append(resident(server))
    print("MB:", [size >> 20 for size in seen])
    return seen[settled - 1], seen[-1]


def test_memory_of_ended_runs(lab):
    """What they hold does not grow with every run."""
    early, late = runs_of_many_flows(lab, 16, 1024, 6)
    assert late - early < 64 << 20, f"{(late - early) >> 20} MB for ten runs of 1,024 flows"


@pytest.mark.long
def test_memory_of_two_hundred_runs(lab):
    """The same, until the list of runs is full."""
    early, late = runs_of_many_flows(lab, 200, 2048, 20)
    assert late - early < 100 << 20, f"{(late - early) >> 20} MB for 180 runs of 2,048 flows"
