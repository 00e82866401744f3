"""Clients of a run over two agents see both: an unchanged script of snappi, Open Traffic Generator's metrics, `eagre top`, the dashboard.

Namespaces are the machines; a cable connects the agents' ports, so that the script's addresses arrive whatever they are.
"""

import json
import re
import sys

import browser as browsers
import otg
import pytest
from lab import REPO, missing, wait_until
from server import inside
from test_fleet import Machines, sees

SCRIPT = REPO / "examples/snappi-flows.py"
LOCATIONS = ["a1/veth0", "a2/veth0"]
GRPC = "127.0.0.1:40051"


class Cabled(Machines):
    """Two agents whose ports are the ends of a cable, and a controller that sees them."""

    def __init__(self, lab):
        super().__init__(lab)
        one, other = (self.join(lab.netns(f"part{number}")) for number in (1, 2))
        lab.veth(one, "veth0", other, "veth0")
        for name, part in (("a1", one), ("a2", other)):
            self.agent(name, part, ports=["veth0"])
        self.serving = self.server("--grpc", GRPC)
        wait_until(lambda: all(sees(self.serving, name) for name in LOCATIONS), "the agents' ports")


@pytest.fixture
def cabled(lab):
    otg.install()
    return Cabled(lab)


def profile(duration):
    """Both ways between the agents."""
    packet = [{"ethernet": {"dst": "02:00:00:00:00:09"}}, {"ipv4": {"src": "10.0.0.1", "dst": "10.0.0.2"}}, "udp"]
    ports = {f"p{number}": {"device": location} for number, location in enumerate(LOCATIONS)}
    streams = [{"name": f"s{n}", "from": f"p{n}", "to": f"p{1 - n}", "packet": packet, "size": "128B", "rate": "500pps"} for n in (0, 1)]
    return {"ports": ports, "streams": streams, "load": {"duration": duration, "drain": "300ms"}}


@pytest.mark.parametrize("transport", ["http", "grpc"])
def test_the_example_of_snappi_runs_unchanged(cabled, transport):
    """examples/snappi-flows.py with ports of two agents as its locations: its run has both machines."""
    server = cabled.serving
    address = server.url if transport == "http" else f"grpc://{GRPC}"
    said = server.ns.run("env", f"PYTHONPATH={otg.FOLDER}", sys.executable, SCRIPT, address, *LOCATIONS)
    assert "west to east: sent 1000, received 1000, lost 0.0%" in said, said
    (run,) = server.get("/api/v1/runs")
    result = server.get(f"/api/v1/runs/{run['id']}/result")
    assert [(agent["name"], agent["ports"]) for agent in result["agents"]] == [("a1", ["port0"]), ("a2", ["port1"])]
    # It has given the ports back.
    assert server.get("/api/v1/leases") == []


def test_metrics_of_open_traffic_generator_have_both(cabled):
    """Ports of both agents, with what each has counted; one flow's frames leave at one and arrive at the other."""
    client = otg.Client(cabled.serving)
    config = client.config(*LOCATIONS)
    flow, _ = otg.flow(config, "across", "ethernet", "ipv4", "udp", measure=True, packets=200)
    flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_name = "p", "q"
    client.set(config)
    client.transmit("start")
    client.over()
    client.transmit("stop")
    ports, flows = client.ports(), client.flows()
    assert [(ports[name].location, ports[name].link) for name in ("p", "q")] == [(location, "up") for location in LOCATIONS], ports
    assert ports["p"].frames_tx >= 200 and ports["q"].frames_rx >= 200, ports
    assert (flows["across"].frames_tx, flows["across"].frames_rx) == (200, 200), flows
    client.set(client.api.config())


def test_the_terminal_has_a_row_for_each_agent(cabled):
    """`eagre top`: ports of each, those of the run, and rates of both."""
    server = cabled.serving
    run = server.start(profile=profile("60s"), name="both")
    server.sends(run, 100)
    shown = cabled.lab.eagre("top", server.url, "--run", run["id"], "--once", ns=server.ns).ok().out
    for agent in ("a1", "a2"):
        assert re.search(rf"^ *{agent} +1 +1 +1 +veth0", shown, re.MULTILINE), shown
    for port in ("p0", "p1"):
        assert re.search(rf"^ *{port} +[\d.]+ k?pps", shown, re.MULTILINE), shown
    assert server.ask("POST", f"/api/v1/runs/{run['id']}/stop").status in (200, 202, 204)
    assert server.ended(run, 60)["state"] == "stopped"


def test_the_dashboard_shows_both(cabled):
    """Ports of both during the run, and both machines in its result."""
    absent = browsers.missing()
    if absent:
        missing(f"needs {', '.join(absent)}")
    server = cabled.serving
    run = server.start(profile=profile("60s"), name="both")
    server.sends(run, 100)
    with inside(server.ns):
        window = browsers.Browser()
        try:
            window.visit(f"{server.url}/#/runs/{run['id']}", 1280, 1600)

            def says(*words):
                text = lambda: window.run("return document.body.innerText")  # noqa: E731
                wait_until(lambda: all(word in text() for word in words), f"{words} on the page", 30, 0.2)

            says("both", "p0", "p1", "s0", "s1", *LOCATIONS)
            assert server.ask("POST", f"/api/v1/runs/{run['id']}/stop").status in (200, 202, 204)
            assert server.ended(run, 60)["state"] == "stopped"
            says("Machines", "a1", "a2")
            assert window.console() == []
        finally:
            window.close()
    assert [agent["name"] for agent in json.loads(server.ask("GET", f"/api/v1/runs/{run['id']}/result").body)["agents"]] == ["a1", "a2"]
