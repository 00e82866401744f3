"""Agents on other machines over NATS: runs there and on several, leases with fencing, and what becomes of a run whose agent or broker is lost.

Network namespaces are the machines: one for the broker, one for the controller, and one for each agent, on one switch. The device
under test is the kernel of yet another one, a router between two ports of an agent.
"""

import base64
import hashlib
import json
import subprocess
import time

import pytest
from lab import BAD_INPUT, EAGRE, REFUSED, Router, call, need, wait_until
from broker import Client, Nats, newer, program
from server import Server

# When names and leases end that are not renewed, s.
TTL_S = 3
CUT = """table inet cut {
  chain leave { type filter hook output priority 0; oifname "ctl0" drop; }
  chain arrive { type filter hook input priority 0; iifname "ctl0" drop; }
}
"""
# How much later a busy machine may notice it.
LATE_S = 3


class Machines:
    """The broker, the controller and agents on a switch; agents' ports lead to a router."""

    def __init__(self, lab, config="", server=None):
        need("ip", "nft")
        server = server or program()
        self.lab, self.hub = lab, lab.netns("hub")
        self.hub.ip("link", "add", "br0", "type", "bridge")
        self.hub.ip("link", "set", "br0", "up")
        self.hub.ip("address", "add", "10.77.0.1/24", "dev", "br0")
        self.count = 1
        self.nats = Nats(lab, self.hub, "10.77.0.1", config=config, server=server)
        self.controller = self.join(lab.netns("ctl"))

    def join(self, namespace):
        """Connects a machine to the switch."""
        self.count += 1
        end = f"h{self.count}"
        self.lab.veth(self.hub, end, namespace, "ctl0")
        self.hub.ip("link", "set", end, "master", "br0")
        namespace.ip("address", "add", f"10.77.0.{self.count}/24", "dev", "ctl0")
        return namespace

    def agent(self, name, namespace, *options, ports=("veth0", "veth1")):
        """Starts an agent; returns its process once it is there."""
        log = self.lab.folder() / f"{name}.log"
        command = [EAGRE, "agent", "--nats", self.nats.url, "--name", name, "--ports", ",".join(ports), *options]
        process = self.lab.start(*command, ns=namespace, stdout=log.open("w"))

        def is_there():
            assert process.poll() is None, process.communicate()[1]
            return "eagre: agent" in log.read_text()

        wait_until(is_there, f"agent {name}", 20)
        return process

    def server(self, *options, **more):
        """Starts a controller."""
        return Server(self.lab, "--nats", self.nats.url, *options, ns=self.controller, **more)


class Routed(Machines):
    """One agent, `a1`, whose ports lead to a router."""

    def __init__(self, lab, config="", server=None):
        super().__init__(lab, config, server)
        self.router = Router(lab)
        self.join(self.router.tester)

    def profile(self, rate="5kpps", duration="1s", **more):
        """Streams from each port to the other, through the router."""
        ports = self.router.ports("afpacket", v6=False)
        for port in ports.values():
            port["device"] = "a1/" + port["device"]
        one = {"size": "128B", "rate": rate}
        east = {"name": "east", "from": "west", "to": "east", "packet": [{"ipv4": {"dst": "10.0.1.2"}}, {"udp": {"dst": 7001}}]}
        west = {"name": "west", "from": "east", "to": "west", "packet": [{"ipv4": {"dst": "10.0.0.2"}}, {"udp": {"dst": 7002}}]}
        return {"ports": ports, "streams": [east | one, west | one], "load": {"duration": duration, "drain": "300ms"}} | more


def forwarded(machines):
    """Test packets that the router has forwarded."""
    counted = machines.router.counted()
    return counted["forwarded_7001"] + counted["forwarded_7002"]


def sees(server, name):
    """Whether a controller lists a port."""
    return name in [port["name"] for port in server.get("/api/v1/ports")]


@pytest.fixture
def routed(lab, request):
    """An agent with a router, and a controller that sees its ports; with the NATS server that the test names."""
    machines = Routed(lab, server=getattr(request, "param", program)())
    machines.process = machines.agent("a1", machines.router.tester)
    machines.serving = machines.server()
    wait_until(lambda: sees(machines.serving, "a1/veth0"), "the agent's ports")
    return machines


def test_a_run_on_an_agents_ports_is_like_a_local_one(routed):
    """Live figures, the result with latency, intervals in the store, rate changes; the router's counters agree."""
    routed.router.count([7001, 7002])
    server = routed.serving
    run = server.start(profile=routed.profile("2kpps", "4s"), name="far")
    server.sends(run, 100)
    live = [document for name, document in server.events(f"/api/v1/runs/{run['id']}/events?every_s=0.2") if name == "live"]
    over = server.ended(run, 60)
    assert over["state"] == "done", over
    assert over["ports"] == ["a1/veth0", "a1/veth1"]
    result = server.get(f"/api/v1/runs/{run['id']}/result")
    for stream in result["streams"].values():
        assert stream["tx"] > 0 and stream["lost"] == 0 and stream["rx"] == stream["tx"], stream
        assert stream["latency_ns"]["p99"] > 0
    assert forwarded(routed) == sum(stream["tx"] for stream in result["streams"].values())
    assert live and max(sum(document["streams"]["tx"]) for document in live) > 0
    trial = server.get(f"/api/v1/results/{run['id']}")["trials"][0]
    for name, stream in result["streams"].items():
        counted = sum(interval["streams"][name]["tx"] for interval in trial["intervals"])
        assert counted == pytest.approx(stream["tx"], rel=0.5), (name, counted, stream["tx"])
    # Its process ran on the agent's machine, and is gone.
    assert not server.agents()
    # And once more, with a command while it runs.
    again = server.start(profile=routed.profile("1kpps", "20s"))
    server.sends(again, 10)
    assert server.ask("POST", f"/api/v1/runs/{again['id']}/rate", {"rate": "3kpps"}).status == 200
    assert server.ask("POST", f"/api/v1/runs/{again['id']}/stop").status in (200, 202, 204)
    stopped = server.ended(again, 60)
    assert stopped["state"] == "stopped" and stopped["rate_changes"], stopped


def test_files_of_a_profile_are_sent_along_and_refusals_come_back(routed):
    """What an agent can't do is refused with a reason that names it, and its ports are free again."""
    server = routed.serving
    for device, status, says in [
        ("a1/eth9", 404, "agent 'a1' has the ports veth0, veth1"),
        ("a7/veth0", 404, "agent 'a7' is not connected; there are a1"),
    ]:
        refused = server.ask("POST", "/api/v1/leases", {"ports": [device]})
        assert refused.status == status and says in refused.detail, refused
    # What several machines can't have: a port of the controller and one of an agent.
    mixed = routed.profile()
    mixed["ports"]["east"]["device"] = "ring:a"
    mixed["streams"][0]["outages"] = "0.1%"
    refused = server.ask("POST", "/api/v1/runs", {"profile": mixed})
    assert refused.status == 422 and "streams.east.outages: outages are measured between two ports of one machine" in refused.detail, refused
    captured = routed.profile()
    captured["ports"]["east"]["capture"] = {"file": "x.pcapng"}
    refused = server.ask("POST", "/api/v1/runs", {"profile": captured})
    assert refused.status == 422 and "captures no packets" in refused.detail, refused
    refused = server.ask("POST", "/api/v1/campaigns", {"method": "rfc2544", "profile": routed.profile()})
    assert refused.status == 422 and "can't use ports of agents" in refused.detail, refused
    # An interface that the router does not answer on: refused by the engine, over there.
    lost = routed.profile()
    lost["ports"]["west"]["gateway"] = ["10.0.0.77"]
    refused = server.ask("POST", "/api/v1/runs", {"profile": lost}, timeout=60)
    assert refused.status in (201, 503, 422), refused
    wait_until(lambda: all(run["state"] not in ("starting", "running") for run in server.get("/api/v1/runs")), "the end", 60)
    run = server.start(profile=routed.profile(duration="300ms"))
    assert server.ended(run, 60)["state"] == "done"


@pytest.mark.parametrize("routed", [program, newer], ids=["debian", "newer"], indirect=True)
def test_a_port_has_one_holder_among_controllers(routed):
    """A lease at one controller keeps the others out, with the holder's name, until it is given back."""
    first, second = routed.serving, routed.server(state="second")
    wait_until(lambda: sees(second, "a1/veth0"), "the agent's ports")
    lease = first.ask("POST", "/api/v1/leases", {"ports": ["a1/veth0", "a1/veth1"], "holder": "night shift"})
    assert lease.status == 201, lease
    refused = second.ask("POST", "/api/v1/leases", {"ports": ["a1/afxdp:veth0"]})
    assert refused.status == 409 and "night shift" in refused.detail and "at another server" in refused.detail, refused
    refused = second.ask("POST", "/api/v1/runs", {"profile": routed.profile()})
    assert refused.status == 409, refused
    # It outlasts its time at the broker, because it is renewed.
    time.sleep(TTL_S + 1)
    assert second.ask("POST", "/api/v1/leases", {"ports": ["a1/veth0"]}).status == 409
    run = first.start(profile=routed.profile(duration="300ms"), lease=lease.json()["id"])
    assert first.ended(run, 60)["state"] == "done"
    assert first.ask("DELETE", f"/api/v1/leases/{lease.json()['id']}").status == 204
    taken = wait_until(lambda: second.ask("POST", "/api/v1/leases", {"ports": ["a1/veth0"]}).status == 201, "the free port")
    assert taken
    refused = first.ask("POST", "/api/v1/leases", {"ports": ["a1/veth0"]})
    assert refused.status == 409, refused


@pytest.mark.parametrize("routed", [program, newer], ids=["debian", "newer"], indirect=True)
def test_an_agent_that_is_killed_ends_its_run(routed):
    """The run is interrupted, incomplete, with what was counted; nothing is sent any more; another agent of the name takes over."""
    routed.router.count([7001, 7002])
    server = routed.serving
    run = server.start(profile=routed.profile("2kpps", "600s"))
    server.sends(run, 500)
    routed.process.kill()
    routed.process.wait()
    killed = time.monotonic()
    # The kernel ends the process of the run with it.
    time.sleep(0.3)
    before = forwarded(routed)
    over = server.ended(run, 30)
    took = time.monotonic() - killed
    assert over["state"] == "interrupted", over
    assert over["reason"].startswith("incomplete: agent 'a1' is lost: it was silent for 3 s; what was counted in the first"), over
    assert took < TTL_S + 1 + LATE_S, took
    assert forwarded(routed) == before
    result = server.get(f"/api/v1/runs/{run['id']}/result")
    assert result["interrupted"] and not result["verdict"]["valid"] and result["failure"] == over["reason"].split(";")[0]
    sent = sum(stream["tx"] for stream in result["streams"].values())
    assert 500 <= sent <= before
    assert not sees(server, "a1/veth0")
    # An agent of the same name, once the key of the old one has ended.
    routed.agent("a1", routed.router.tester)
    wait_until(lambda: sees(server, "a1/veth0"), "the agent's ports")
    again = server.start(profile=routed.profile(duration="500ms"))
    assert server.ended(again, 60)["state"] == "done"


@pytest.mark.parametrize("routed", [program, newer], ids=["debian", "newer"], indirect=True)
def test_an_agent_that_is_cut_off_stops_by_itself_and_refuses_old_leases(routed):
    """Traffic ends when the lease does, by the agent's own clock; after that it takes part again, but no order with an old token."""
    routed.router.count([7001, 7002])
    server, tester = routed.serving, routed.router.tester
    run = server.start(profile=routed.profile("1kpps", "600s"))
    server.sends(run, 200)
    heard = Client(routed.nats)
    tester.run("nft", "-f", "-", input=CUT)
    cut = time.monotonic()
    last, seen = cut, forwarded(routed)
    while time.monotonic() < cut + TTL_S + LATE_S + 3:
        now = forwarded(routed)
        last, seen = (time.monotonic(), now) if now != seen else (last, seen)
        time.sleep(0.05)
    # At least until the server would have noticed, and then no more.
    assert last - cut < TTL_S + 0.2 + LATE_S, last - cut
    print(f"traffic ended {last - cut:.2f} s after the cut")
    over = server.ended(run, 30)
    assert over["state"] == "interrupted" and "agent 'a1' is lost" in over["reason"], over
    tester.run("nft", "delete", "table", "inet", "cut")
    wait_until(lambda: sees(server, "a1/veth0"), "the agent's ports", 30)
    again = server.start(profile=routed.profile(duration="500ms"))
    order = heard.next("eagre.a.a1.open")
    assert server.ended(again, 60)["state"] == "done"
    # The same order again, as a broker or an attacker might deliver it: an order is good once.
    reply = heard.request("eagre.a.a1.open", order)
    assert b"came before" in reply or b"not leased" in reply, reply
    # Another one with its token: the lease has ended.
    order = json.loads(order)

    def of_run(name):
        return json.dumps({**order, "run": name}).encode()

    wait_until(lambda: not server.get("/api/v1/leases"), "the end of the lease")
    time.sleep(1)
    reply = heard.request("eagre.a.a1.open", of_run("0123456789abcdef"))
    assert b"not leased" in reply, reply
    # And while there is a newer lease of the same controller, it is older.
    lease = server.ask("POST", "/api/v1/leases", {"ports": ["a1/veth0", "a1/veth1"]}).json()
    third = server.start(profile=routed.profile(duration="500ms"), lease=lease["id"])
    assert server.ended(third, 60)["state"] == "done"
    reply = heard.request("eagre.a.a1.open", of_run("fedcba9876543210"))
    assert b"has a newer lease" in reply, reply
    heard.close()


@pytest.mark.parametrize("routed", [program, newer], ids=["debian", "newer"], indirect=True)
def test_a_broker_that_is_killed_interrupts_runs_and_the_next_one_works(routed):
    """Leases live in its memory: traffic ends with them, and everybody comes back once it does."""
    routed.router.count([7001, 7002])
    server = routed.serving
    run = server.start(profile=routed.profile("1kpps", "600s"))
    server.sends(run, 200)
    routed.nats.kill()
    over = server.ended(run, 30)
    assert over["state"] == "interrupted" and "NATS" in over["reason"], over
    wait_until(lambda: stands_still(routed), "the end of traffic", 20)
    # The server itself serves on.
    assert server.get("/api/v1/runs")
    local = server.start(profile_name="demo", duration_s=0.3)
    assert server.ended(local, 60)["state"] == "done"
    routed.nats.start()
    wait_until(lambda: sees(server, "a1/veth0"), "the agent's ports", 30)
    again = server.start(profile=routed.profile(duration="500ms"))
    assert server.ended(again, 60)["state"] == "done"


def stands_still(machines):
    """Whether nothing is forwarded."""
    before = forwarded(machines)
    time.sleep(0.5)
    return forwarded(machines) == before


def test_a_second_agent_of_a_name_is_refused(routed):
    """The first keeps its name, and its run."""
    server = routed.serving
    run = server.start(profile=routed.profile("1kpps", "6s"))
    other = routed.join(routed.lab.netns("other"))
    refused = routed.lab.eagre("agent", "--nats", routed.nats.url, "--name", "a1", "--ports", "ring:a", ns=other)
    refused.refused(REFUSED, "another agent is called 'a1'", "--name")
    assert server.ended(run, 60)["state"] == "done"


class Apart(Machines):
    """Two agents, `a1` and `a2`, with a port each; between these is a router."""

    def __init__(self, lab, server=None):
        super().__init__(lab, server=server)
        self.router = Router(lab)
        self.west, self.east = self.router.tester, lab.netns("east")
        self.west.ip("link", "set", "veth1", "netns", self.east.name)
        self.east.ip("link", "set", "veth1", "up")
        self.join(self.west)
        self.join(self.east)
        self.agents = {}

    def begin(self, *options):
        """Starts both agents, the second with options, and a controller that sees their ports."""
        self.agents["a1"] = self.agent("a1", self.west, ports=["veth0"])
        self.agents["a2"] = self.agent("a2", self.east, *options, ports=["veth1"])
        self.serving = self.server()
        wait_until(lambda: sees(self.serving, "a1/veth0") and sees(self.serving, "a2/veth1"), "the agents' ports")
        return self.serving

    def ports(self):
        """Of a profile."""
        ports = self.router.ports("afpacket", v6=False)
        ports["west"]["device"] = "a1/" + ports["west"]["device"]
        ports["east"]["device"] = "a2/" + ports["east"]["device"]
        return ports

    def profile(self, rate="2kpps", duration="2s", **more):
        """Streams from each port to the other, with a group of both."""
        one = {"size": "128B", "rate": rate}
        east = {"name": "east", "from": "west", "to": "east", "packet": [{"ipv4": {"dst": "10.0.1.2"}}, {"udp": {"dst": 7001}}]}
        west = {"name": "west", "from": "east", "to": "west", "packet": [{"ipv4": {"dst": "10.0.0.2"}}, {"udp": {"dst": 7002}}]}
        streams = [east | one, west | one]
        return {"ports": self.ports(), "streams": streams, "groups": {"way": "ipv4.dscp"}, "load": {"duration": duration, "drain": "300ms"}} | more


@pytest.fixture
def apart(lab, request):
    """Two agents with a router between them; with the NATS server that the test names."""
    return Apart(lab, server=getattr(request, "param", program)())


def test_two_agents_have_one_run(apart):
    """Packet for packet as the router counts, and as one process sends by the same profile; intervals, live figures and agents in the result."""
    server = apart.begin()
    apart.router.count([7001, 7002])
    run = server.start(profile=apart.profile(duration="3s", seed=7), name="both")
    server.sends(run, 100)
    live = [document for name, document in server.events(f"/api/v1/runs/{run['id']}/events?every_s=0.2") if name == "live"]
    over = server.ended(run, 60)
    assert over["state"] == "done", over
    result = server.get(f"/api/v1/runs/{run['id']}/result")
    counted, streams = apart.router.counted(), result["streams"]
    for name, port in [("east", 7001), ("west", 7002)]:
        stream = streams[name]
        assert stream["tx"] == 6000 and stream["rx"] == 6000 and stream["lost"] == 0, stream
        assert stream["tx"] == counted[f"forwarded_{port}"], (name, counted)
        assert stream["duplicates"] == 0 and stream["reordered"] == 0
        # One clock: two processes' readings of it.
        assert 0 < stream["latency_ns"]["p50"] < 50_000_000 and stream["latency_uncertainty_ns"] < 1_000_000, stream
        assert stream["latency_clock"] == "shared", stream
    # Times of the group are of both machines' samples.
    (row,) = result["groups"]["way"].values()
    assert row["tx"] == 12000 and row["rx"] == 12000 and row["lost"] == 0
    assert row["latency_ns"]["samples"] == 12000
    assert row["latency_ns"]["max"] == max(stream["latency_ns"]["max"] for stream in streams.values())
    assert [agent["name"] for agent in result["agents"]] == ["a1", "a2"]
    assert all(agent["clock"] == "shared" and agent["offset_ns"] == 0 for agent in result["agents"]), result["agents"]
    assert [agent["ports"] for agent in result["agents"]] == [["west"], ["east"]]
    assert result["ports"]["west"]["tx_packets"] >= 6000 and result["ports"]["east"]["rx_packets"] >= 6000
    assert live and max(min(document["streams"]["rx"]) for document in live) > 0
    trial = server.get(f"/api/v1/results/{run['id']}")["trials"][0]
    for name in streams:
        assert sum(interval["streams"][name]["tx"] for interval in trial["intervals"]) == 6000
        # One whose receiver was late has none; its counts are in the next one.
        assert sum(interval["streams"][name].get("rx", 0) for interval in trial["intervals"]) == 6000
    # A command reaches both, and so does the end.
    again = server.start(profile=apart.profile("1kpps", "30s"))
    server.sends(again, 10)
    assert server.ask("POST", f"/api/v1/runs/{again['id']}/rate", {"rate": "3kpps"}).status == 200
    assert server.ask("POST", f"/api/v1/runs/{again['id']}/stop").status in (200, 202, 204)
    stopped = server.ended(again, 60)
    assert stopped["state"] == "stopped" and stopped["rate_changes"], stopped
    result = server.get(f"/api/v1/runs/{again['id']}/result")
    assert all(stream["lost"] == 0 and stream["tx"] > 0 for stream in result["streams"].values()), result["streams"]


def test_clients_and_servers_of_sessions_are_apart(apart):
    """HTTP clients at one agent, servers at the other; each side's counts are its own."""
    server = apart.begin()
    web = {"name": "web", "client": {"port": "west"}, "server": {"port": "east"}, "app": "http", "open": "100/s"}
    run = server.start(profile={"ports": apart.ports(), "sessions": [web], "load": {"duration": "2s", "drain": "1s"}})
    over = server.ended(run, 60)
    assert over["state"] == "done", over
    result = server.get(f"/api/v1/runs/{run['id']}/result")
    entry = result["sessions"]["web"]
    assert entry["completed"] >= 190 and entry["failed"] == {}, entry
    assert entry["client"]["transactions"] == entry["server"]["transactions"] == entry["transactions"], entry
    assert entry["client"]["rx_bytes_goodput"] > 0 and entry["ttfb_ns"]["p50"] > 0


def test_virtual_routers_are_on_the_machine_of_their_port(apart):
    """A machine has the hosts of its own ports alone; the states of both machines are in one reply, the rows of both in one result."""
    server = apart.begin()
    ports = apart.ports()
    for number, name in enumerate(["west", "east"]):
        ports[name]["vrrp"] = {"routers": [{"vrid": 20 + number, "addresses": [f"10.0.{number}.9"], "priority": 200}]}
    run = server.start(profile=apart.profile("100pps", "30s") | {"ports": ports})
    server.sends(run, 10)
    states = server.get(f"/api/v1/runs/{run['id']}/protocols")
    seen = sorted((one["router"]["vrid"], one["port"], one["router"]["state"]) for one in states["vrrp"])
    assert seen == [(20, "west", "active"), (21, "east", "active")]
    assert states["counts"]["vrrp_routers"] == 2, states["counts"]
    reply = server.ask("POST", f"/api/v1/runs/{run['id']}/protocols", {"action": "down"})
    assert (reply.status, reply.json()) == (200, {"changed": 2}), reply
    assert server.ask("POST", f"/api/v1/runs/{run['id']}/stop").status in (200, 202, 204)
    assert server.ended(run, 60)["state"] == "stopped"
    rows = server.get(f"/api/v1/runs/{run['id']}/result")["ports"]
    assert [rows[name]["vrrp"]["routers"] for name in ("west", "east")] == [1, 1], rows
    assert all(stream["lost"] == 0 for stream in server.get(f"/api/v1/runs/{run['id']}/result")["streams"].values())


@pytest.mark.parametrize("apart", [program, newer], ids=["debian", "newer"], indirect=True)
def test_an_agent_that_is_killed_ends_the_others_part(apart):
    """All stop, the run is incomplete, and no load is moved; a run with a missing agent or one that is not ready does not begin."""
    server = apart.begin()
    apart.router.count([7001, 7002])
    run = server.start(profile=apart.profile("1kpps", "600s"))
    server.sends(run, 500)
    apart.agents["a2"].kill()
    apart.agents["a2"].wait()
    killed = time.monotonic()
    over = server.ended(run, 30)
    took = time.monotonic() - killed
    assert over["state"] == "interrupted", over
    assert over["reason"].startswith("incomplete: agent 'a2' is lost: it was silent for 3 s; what was counted in the first"), over
    assert took < TTL_S + 1 + LATE_S, took
    wait_until(lambda: stands_still(apart), "the end of traffic", 10)
    result = server.get(f"/api/v1/runs/{run['id']}/result")
    assert result["interrupted"] and not result["verdict"]["valid"]
    assert all(stream["tx"] > 0 for stream in result["streams"].values())
    refused = server.ask("POST", "/api/v1/runs", {"profile": apart.profile()})
    assert refused.status == 404 and "agent 'a2' is not connected; there are a1" in refused.detail, refused
    apart.agents["a2"] = apart.agent("a2", apart.east, ports=["veth1"])
    wait_until(lambda: sees(server, "a2/veth1"), "the agent's ports", 30)
    # A neighbour that does not reply: nobody starts.
    before = forwarded(apart)
    lost = apart.profile()
    lost["ports"]["east"]["gateway"] = ["10.0.1.77"]
    run = server.start(profile=lost)
    over = server.ended(run, 60)
    assert over["state"] == "failed" and "agent 'a2'" in over["reason"] and "10.0.1.77" in over["reason"], over
    assert forwarded(apart) == before
    run = server.start(profile=apart.profile(duration="500ms"))
    assert server.ended(run, 60)["state"] == "done"


@pytest.mark.parametrize("apart", [program, newer], ids=["debian", "newer"], indirect=True)
@pytest.mark.parametrize("way", ["killed", "cut off"])
def test_a_run_goes_on_without_an_agent_that_is_lost(apart, way):
    """By `on_agent_loss: continue`: the others send to the end, and the result states what is missing and doubts what depends on it."""
    apart.lab.veth(apart.controller, "veth2", apart.router.router, "r2")
    apart.router.router.ip("address", "add", "10.0.2.1/24", "dev", "r2")
    server = apart.begin()
    apart.router.count([7001, 7002, 7003])
    duration, rate = TTL_S + LATE_S + 6, 1000
    profile = apart.profile(f"{rate}pps", load={"duration": f"{duration}s", "drain": "300ms", "on_agent_loss": "continue"})
    profile["ports"]["here"] = {"device": "afpacket:veth2", "ip": "10.0.2.2/24", "gateway": "10.0.2.1"}
    whole = {"name": "whole", "from": "west", "to": "here", "packet": [{"ipv4": {"dst": "10.0.2.2"}}, {"udp": {"dst": 7003}}]}
    profile["streams"].append(whole | {"size": "128B", "rate": f"{rate}pps"})
    profile["criteria"] = {"streams.east.loss_ratio": "< 1%", "streams.whole.loss_ratio": "< 1%"}
    run = server.start(profile=profile)
    server.sends(run, 500)
    if way == "killed":
        apart.agents["a2"].kill()
        apart.agents["a2"].wait()
    else:
        apart.east.run("nft", "-f", "-", input=CUT)
    gone = time.monotonic()

    def warned():
        return [text for text in server.get(f"/api/v1/runs/{run['id']}")["warnings"] if "continues without a machine: agent 'a2' is lost" in text]

    wait_until(warned, "the warning", 30)
    assert time.monotonic() - gone < TTL_S + 1 + LATE_S
    west = apart.router.counted()["forwarded_7002"]
    if way == "killed":
        # Its port is not the run's any more: another one may have it while the run continues.
        apart.agents["a2"] = apart.agent("a2", apart.east, ports=["veth1"])
        wait_until(lambda: sees(server, "a2/veth1"), "the agent's ports", 30)
        leased = server.ask("POST", "/api/v1/leases", {"ports": ["a2/veth1"], "holder": "next"})
        assert leased.status == 201, leased
        assert server.get(f"/api/v1/runs/{run['id']}")["state"] == "running"
        refused = server.ask("POST", "/api/v1/leases", {"ports": ["a1/veth0"]})
        assert refused.status == 409, refused
        assert server.ask("DELETE", f"/api/v1/leases/{leased.json()['id']}").status in (200, 204)
    (last,) = [document["streams"] for name, document in server.events(f"/api/v1/runs/{run['id']}/events?every_s=0.2") if name == "live"][-1:]
    over = server.ended(run, 60)
    counted = apart.router.counted()
    # It sends nothing any more, and nobody does in its place.
    assert counted["forwarded_7002"] == west
    assert over["state"] == "interrupted" and over["reason"].startswith("incomplete: agent 'a2' is lost: it was silent for 3 s; its load ran for "), over
    result = server.get(f"/api/v1/runs/{run['id']}/result")
    streams, (first, lost, _) = result["streams"], result["agents"]
    asked = rate * duration
    assert streams["whole"]["tx"] == streams["whole"]["rx"] == counted["forwarded_7003"] == asked, streams["whole"]
    assert streams["east"]["tx"] == asked and last["tx"][0] >= asked - rate, (streams["east"], last)
    assert "lost" not in first and lost["name"] == "a2", result["agents"]
    loss = lost["lost"]
    assert loss["requested_s"] == duration and 0 < loss["ran_s"] <= loss["lost_s"] < duration, loss
    assert loss["requested_packets"] == asked and 0 < loss["sent_packets"] == streams["west"]["tx"] <= west, loss
    verdict = result["verdict"]
    assert not verdict["valid"] and verdict["faults"][0] == over["reason"], verdict
    # Packets to its port are neither received nor lost by the device.
    doubt = verdict["holds"]["streams.east.lost"]
    assert (doubt["holds"], doubt["lower"], doubt["upper"]) == (False, 0, streams["east"]["lost"]), doubt
    assert verdict["holds"]["streams.west.tx"]["lower"] == streams["west"]["tx"]
    doubted = {path for path, entry in verdict["holds"].items() if "is lost" in entry.get("reason", "")}
    assert not any(path.startswith("streams.whole.") for path in doubted), doubted
    assert {criterion["path"]: criterion["outcome"] for criterion in result["criteria"]} == {
        "streams.east.loss_ratio": "cannot_judge",
        "streams.whole.loss_ratio": "met",
    }
    assert result["overall"]["outcome"] == "cannot_judge", result["overall"]
    # Nothing is left out of what the store has of the others.
    trial = server.get(f"/api/v1/results/{run['id']}")["trials"][0]
    assert sum(interval["streams"]["whole"].get("rx", 0) for interval in trial["intervals"]) == asked
    # The agent is not of the run any more, and takes the next one.
    if way != "killed":
        apart.east.run("nft", "delete", "table", "inet", "cut")
    wait_until(lambda: sees(server, "a2/veth1"), "the agent's ports", 30)
    again = server.start(profile=apart.profile(duration="500ms"))
    assert server.ended(again, 60)["state"] == "done"


def test_latency_between_clocks_is_within_its_uncertainty(apart):
    """One agent's clock is ahead and runs faster: the true offset is in the stated interval, and one-way latency is without it."""
    offset, drift = 100_000_000, 20_000
    server = apart.begin(f"--clock-offset={offset}", f"--clock-drift={drift}")
    def ahead():
        return offset + time.monotonic_ns() * drift // 10**9

    before = ahead()
    run = server.start(profile=apart.profile("1kpps", "2s"))
    after = ahead()
    assert server.ended(run, 60)["state"] == "done"
    result = server.get(f"/api/v1/runs/{run['id']}/result")
    agent = result["agents"][1]
    assert agent["clock"] == "exchange" and agent["drift_ppb"] is not None, agent
    assert before - agent["uncertainty_ns"] <= agent["offset_ns"] <= after + agent["uncertainty_ns"], (before, agent, after)
    streams = result["streams"]
    # The clock is ahead by 100 ms and more: as much would be missing one way, and be too much the other way.
    sure = streams["east"]["latency_uncertainty_ns"]
    assert 0 < sure < 5_000_000, sure
    # Test packets went both ways: they compare the clocks better than messages, unless a busy machine delayed all of them.
    first = result["agents"][0]["uncertainty_ns"] + agent["uncertainty_ns"]
    for stream in streams.values():
        assert stream["latency_uncertainty_ns"] == sure and stream["latency_clock"] in ("packets", "exchange"), stream
        assert (sure < first) == (stream["latency_clock"] == "packets"), (sure, first, stream)
    least = [streams[name]["latency_ns"]["min"] for name in ("east", "west")]
    assert all(0 <= ns < 60_000_000 for ns in least), (least, sure)
    # The sum does not depend on the clocks: each true delay lies between zero and that, within what is stated.
    assert max(least) <= sum(least) + sure, (least, sure)
    assert any("one-way latency between machines is known within" in note for note in result["verdict"]["notes"]), result["verdict"]


def test_an_agent_and_the_controller_have_one_run(apart):
    """A port of the controller's machine and one of an agent."""
    apart.lab.veth(apart.controller, "veth2", apart.router.router, "r2")
    apart.router.router.ip("address", "add", "10.0.2.1/24", "dev", "r2")
    server = apart.begin()
    profile = apart.profile()
    profile["ports"]["east"] = {"device": "afpacket:veth2", "ip": "10.0.2.2/24", "gateway": "10.0.2.1"}
    profile["streams"][0]["packet"][0]["ipv4"]["dst"] = "10.0.2.2"
    run = server.start(profile=profile)
    over = server.ended(run, 60)
    assert over["state"] == "done", over
    result = server.get(f"/api/v1/runs/{run['id']}/result")
    assert [agent["name"] for agent in result["agents"]] == ["a1", "controller"]
    assert all(stream["tx"] == stream["rx"] == 4000 for stream in result["streams"].values()), result["streams"]


def nkeys():
    """Two users' seeds and public keys."""

    def crc(data):
        value = 0
        for byte in data:
            value ^= byte << 8
            for _ in range(8):
                value = (value << 1 ^ 0x1021 if value & 0x8000 else value << 1) & 0xFFFF
        return value.to_bytes(2, "little")

    def key(number):
        raw = hashlib.sha256(bytes([number])).digest()
        # RFC 8410: the private key in PKCS #8; openssl has the public one.
        der = bytes.fromhex("302e020100300506032b657004220420") + raw
        public = subprocess.run(["openssl", "pkey", "-inform", "DER", "-pubout", "-outform", "DER"], input=der, capture_output=True, check=True)
        user = 20 << 3
        seed = bytes([18 << 3 | user >> 5, (user & 31) << 3]) + raw
        shown = bytes([user]) + public.stdout[-32:]
        text = [base64.b32encode(data + crc(data)).decode().rstrip("=") for data in (seed, shown)]
        return text[0], text[1]

    return [key(1), key(2), key(3)]


def test_keys_and_certificates_decide_who_takes_part(lab):
    """nkeys over TLS; an unknown key, no key and an unknown authority are refused with what to do."""
    need("openssl")
    folder = lab.folder()
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=nats", "-addext", "subjectAltName=IP:10.77.0.1", "-addext", "basicConstraints=critical,CA:FALSE"]
    for name in ("server", "other"):
        call(*made, "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem")
    (agent, agent_key), (controller, controller_key), (stranger, _) = nkeys()
    for name, seed in (("agent", agent), ("controller", controller), ("stranger", stranger)):
        (folder / f"{name}.nk").write_text(seed + "\n")
    config = f"""
tls: {{cert_file: '{folder}/server.pem', key_file: '{folder}/server.key'}}
authorization: {{users: [
  {{nkey: {controller_key}}},
  {{nkey: {agent_key}, permissions: {{
    publish: ['$KV.eagre_agents.a1', 'eagre.c.a1.>', '$JS.API.STREAM.INFO.*', '$JS.API.STREAM.CREATE.*', '$JS.API.DIRECT.GET.>'],
    subscribe: ['eagre.a.a1.>', 'eagre.roll_call', '_INBOX.a1.>'], allow_responses: true}}}}
]}}
"""
    machines = Routed(lab, config)
    ca = ("--tls-ca", folder / "server.pem")
    tester = machines.router.tester
    asked = ("agent", "--nats", machines.nats.url, "--name", "a1", "--ports", "veth0")
    lab.eagre(*asked, *ca, ns=tester).refused(REFUSED, "authorization violation", "--nkey")
    lab.eagre(*asked, *ca, "--nkey", folder / "stranger.nk", ns=tester).refused(REFUSED, "authorization violation", "--nkey")
    lab.eagre(*asked, "--tls-ca", folder / "other.pem", "--nkey", folder / "agent.nk", ns=tester).refused(REFUSED, "certificate", "--tls-ca")
    lab.eagre(*asked, "--nkey", folder / "nothing.nk", ns=tester).refused(BAD_INPUT, "nothing.nk")
    lab.eagre("agent", "--nats", "nats://10.77.0.1:1", "--ports", "veth0", ns=tester).refused(REFUSED, "is nats-server running there")
    machines.agent("a1", tester, *ca, "--nkey", folder / "agent.nk")
    server = machines.server(*ca, "--nkey", folder / "controller.nk")
    wait_until(lambda: sees(server, "a1/veth0"), "the agent's ports")
    run = server.start(profile=machines.profile(duration="500ms"))
    assert server.ended(run, 60)["state"] == "done"
    # The key of one agent makes no other.
    machines.join(other := lab.netns("other"))
    asked = ("agent", "--nats", machines.nats.url, "--name", "a2", "--ports", "ring:a", *ca, "--nkey", folder / "agent.nk")
    lab.eagre(*asked, ns=other, timeout=90).refused(REFUSED, "nats")


def test_otg_drives_an_agents_ports(routed):
    """An Open Traffic Generator configuration whose locations are ports of an agent, over plain HTTP."""
    server = routed.serving
    config = {
        "ports": [{"name": "p1", "location": "a1/afpacket:veth0"}, {"name": "p2", "location": "a1/afpacket:veth1"}],
        "flows": [
            {
                "name": "f1",
                "tx_rx": {"choice": "port", "port": {"tx_name": "p1", "rx_names": ["p2"]}},
                "packet": [
                    {"choice": "ethernet", "ethernet": {"dst": {"choice": "value", "value": routed.router.router.mac("r0")}}},
                    {"choice": "ipv4", "ipv4": {"src": {"choice": "value", "value": "10.0.0.2"}, "dst": {"choice": "value", "value": "10.0.1.2"}}},
                    {"choice": "udp", "udp": {}},
                ],
                "size": {"choice": "fixed", "fixed": 128},
                "rate": {"choice": "pps", "pps": 1000},
                "duration": {"choice": "fixed_packets", "fixed_packets": {"packets": 500}},
                "metrics": {"enable": True},
            }
        ],
    }
    routed.router.router.ip("neighbour", "replace", "10.0.1.2", "lladdr", "02:00:00:00:00:02", "dev", "r1")
    assert server.ask("POST", "/config", config).status == 200
    start = {"choice": "traffic", "traffic": {"choice": "flow_transmit", "flow_transmit": {"state": "start"}}}
    begun = server.ask("POST", "/control/state", start, timeout=60)
    assert begun.status == 200, begun

    def metrics():
        answer = server.ask("POST", "/monitor/metrics", {"choice": "flow", "flow": {"flow_names": ["f1"]}})
        assert answer.status == 200, answer
        (flow,) = answer.json()["flow_metrics"]
        return flow

    wait_until(lambda: int(metrics()["frames_tx"]) == 500 and int(metrics()["frames_rx"]) == 500, "all packets", 30)
