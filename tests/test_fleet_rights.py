"""A server without any rights of its own, beside an agent that has them; and what somebody who has taken over that server can do then.

The server runs as nobody, the agent as root, on one machine. The attacker has the server's user, its key, and all that it knows: real
orders are changed and sent to the agent, and what its user may do is done.
"""

import json
import os
import signal
import struct
import sys

import pytest
from broker import Client, Nats
from lab import REFUSED, Router, need, wait_until
from server import Server
from test_fleet import forwarded, sees

NOBODY = 65534
# Kinds of parcels on the way to and from a run's process (shell/fleet/src/tunnel.rs).
DATA, CONFIRMED = 1, 2


class Place:
    """A machine whose two ports lead to a router, with an agent that has them."""

    def __init__(self, lab, program, plain):
        need("ip", "setpriv")
        self.lab, self.program, self.router = lab, program, Router(lab)
        self.here, self.state = self.router.tester, lab.folder() / "fleet"
        if plain:
            self.nats = Nats(lab, self.here, "127.0.0.1")
            own, others = ("--nats", self.nats.url, "--max-rate", "2Mbps"), ("--nats", self.nats.url, "--name", "a1")
        else:
            lab.eagre("fleet", "up", "a1", "--state", self.state, "--listen", "127.0.0.1:4222", ns=self.here).ok()
            # What an operator does: the server's user gets the server's key, and no other.
            key = lab.folder() / "controller.env"
            key.write_text((self.state / "controller.env").read_text())
            key.chmod(0o400)
            os.chown(key, NOBODY, NOBODY)
            own, others = ("--join", key), ("--join", self.state / "agents/a1.env")
        log = lab.folder() / "agent.log"
        self.agent = lab.start_eagre("agent", *others, "--ports", "veth0,veth1", ns=self.here, stdout=log.open("w"))
        public = ("sh", "-c", f'shift; exec {program} "$@"', "sh")
        self.server = Server(lab, *own, ns=self.here, prefix=public, process={"user": "nobody"})
        wait_until(lambda: sees(self.server, "a1/veth0"), "the agent's ports", 30)

    def profile(self, rate="1kpps", duration="1s"):
        """A stream through the router."""
        ports = self.router.ports("afpacket", v6=False)
        for port in ports.values():
            port["device"] = "a1/" + port["device"]
        stream = {"name": "east", "from": "west", "to": "east", "packet": [{"ipv4": {"dst": "10.0.1.2"}}, {"udp": {"dst": 7001}}]}
        return {"ports": ports, "streams": [stream | {"size": "128B", "rate": rate}], "load": {"duration": duration, "drain": "300ms"}}

    def as_server(self, *command):
        """A command with the rights of the server."""
        return self.lab.finish(self.lab.start(*command, ns=self.here, user="nobody"))

    def close(self):
        """Ends a NATS server that outlives its command."""
        if self.state.exists():
            self.lab.eagre("fleet", "down", "--state", self.state, ns=self.here).ok()


@pytest.fixture
def place(lab, public_program, request):
    made = Place(lab, public_program, plain=request.param == "plain")
    yield made
    made.close()


keyed = pytest.mark.parametrize("place", ["keyed"], indirect=True)
plain = pytest.mark.parametrize("place", ["plain"], indirect=True)


def status(pid, field):
    """A line of a process's status."""
    return next(line.split()[1:] for line in open(f"/proc/{pid}/status") if line.startswith(f"{field}:"))


@keyed
def test_an_ordinary_user_serves_and_an_agent_sends(place):
    """The server and its processes have no capability; the agent's ports send, through a router; ports of its machine need rights that it lacks."""
    server = place.server
    pid = server.process.pid
    assert set(status(pid, "Uid")) == {str(NOBODY)} and all(int(status(pid, name)[0], 16) == 0 for name in ("CapEff", "CapPrm", "CapInh"))
    place.router.count([7001, 7002])
    run = server.start(profile=place.profile())
    assert server.ended(run, 60)["state"] == "done"
    stream = server.get(f"/api/v1/runs/{run['id']}/result")["streams"]["east"]
    # A busy machine may leave some unsent.
    assert 0 < stream["tx"] == stream["rx"] == forwarded(place), stream
    own = place.profile()
    for port in own["ports"].values():
        port["device"] = port["device"].removeprefix("a1/")
    answer = server.ask("POST", "/api/v1/runs", {"profile": own}, timeout=60)
    reason = answer.detail if answer.status != 201 else server.ended(answer.json(), 60)["reason"]
    assert "CAP_NET_RAW" in reason, reason
    inside = server.start(profile_name="demo", duration_s=0.3)
    assert server.ended(inside, 60)["state"] == "done"


ATTEMPTS = """
import os, signal, socket, sys
agent, state = int(sys.argv[1]), sys.argv[2]
def sees_packets(): socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
def kills_the_agent(): os.kill(agent, signal.SIGKILL)
def reads_its_memory(): open(f"/proc/{agent}/mem", "rb")
def reads_its_environment(): open(f"/proc/{agent}/environ", "rb").read()
def reads_its_key(): open(f"{state}/agents/a1.env").read()
def reads_the_authority(): os.listdir(state)
def becomes_root(): os.setuid(0)
def enters_another_network(): os.open("/proc/1/ns/net", os.O_RDONLY)
for attempt in [value for name, value in list(globals().items()) if type(value) is type(sees_packets)]:
    try:
        attempt()
        print(attempt.__name__, "done")
    except OSError as error:
        print(attempt.__name__, error.errno)
"""


@keyed
def test_the_servers_user_reaches_neither_the_agent_nor_the_network(place):
    """Packets, interfaces, the agent's process and keys, and those of the fleet: refused by the kernel. Its own files: not."""
    attempts = place.as_server(sys.executable, "-c", ATTEMPTS, place.agent.pid, place.state).ok().out.split("\n")
    found = dict(line.split() for line in attempts if line)
    assert len(found) == 8 and all(error in ("1", "13") for error in found.values()), found
    done = place.as_server("ip", "link", "set", "veth0", "down")
    assert done.exit != 0 and "Operation not permitted" in done.err and place.here.link("veth0")["operstate"] == "UP", done
    place.as_server(place.program, "fleet", "add", "a9", "--state", place.state).refused(REFUSED, "there is none")
    assert place.agent.poll() is None
    # What it can do: all that the server's own files and its key are good for.
    store, trail = place.server.folder / "results.db", place.server.folder / "serve/audit.jsonl"
    script = "import sys; [open(name, 'ab').close() for name in sys.argv[1:]]"
    place.as_server(sys.executable, "-c", script, store, trail).ok()
    key = next(word for word in open(f"/proc/{place.server.process.pid}/cmdline").read().split("\0") if word.endswith("controller.env"))
    shown = place.as_server(place.program, "fleet", "status", "--join", key, "--json").ok()
    assert [agent["name"] for agent in json.loads(shown.out)["agents"]] == ["a1"], shown.out
    # Whoever has the machine takes the key away: the server is out, and the agent's traffic ends.
    run = place.server.start(profile=place.profile(duration="600s"))
    place.server.sends(run, 100)
    os.kill(place.server.process.pid, signal.SIGKILL)
    wait_until(lambda: not json.loads(place.lab.eagre("fleet", "status", "--state", place.state, "--json", ns=place.here).ok().out)["agents"][0]["runs"], "the end of its run", 30)


class Forger:
    """Has the server's key: takes a real order, and sends changed ones."""

    def __init__(self, place):
        self.place, self.number = place, 0
        self.client = Client(place.nats)
        # A real run gives the form of an order, and a lease the tokens that are good now.
        self.lease = place.server.ask("POST", "/api/v1/leases", {"ports": ["a1/veth0", "a1/veth1"]}).json()
        run = place.server.start(profile=place.profile(duration="200ms"), lease=self.lease["id"])
        self.open = json.loads(self.client.next("eagre.a.a1.open"))
        self.hello, order = self.messages(f"eagre.a.a1.run.{self.open['run']}", 2)
        self.order = order["Run"]
        assert place.server.ended(run, 60)["state"] == "done"

    def messages(self, subject, count=None):
        """The messages of one end of a run, up to a number of them or the last one."""
        data, found = b"", []
        while count is None or len(found) < count:
            parcel = self.client.next(subject)
            if parcel[0] != DATA:
                if parcel[0] != CONFIRMED:
                    return found
                continue
            data += parcel[9:]
            while len(data) >= 4 and len(data) >= 4 + (length := struct.unpack("<I", data[:4])[0]):
                found.append(json.loads(data[4 : 4 + length]))
                data = data[4 + length :]
        return found

    def send(self, ports=("veth0", "veth1"), change=lambda order: None):
        """Opens a run on ports, and sends a changed order to it: the agent's last message, or its refusal."""
        self.number += 1
        run = f"{self.number:016x}"
        tokens = dict(self.open["ports"])
        opened = self.client.request("eagre.a.a1.open", json.dumps({**self.open, "run": run, "ports": [[port, tokens.get(port, tokens["veth0"])] for port in ports]}).encode())
        opened = json.loads(opened)
        if "Err" in opened:
            return opened["Err"]
        order = json.loads(json.dumps(self.order))
        change(order)
        for number, message in enumerate([self.hello, {"Run": order}], 1):
            text = json.dumps(message).encode()
            self.client.publish(f"eagre.a.a1.run.{run}", struct.pack("<BQI", DATA, number, len(text)) + text)
        last = next(message for message in self.heard(run) if "Ended" in message)["Ended"]
        return last["Refused"]["reason"] if "Refused" in last else last["Run"]["result"]

    def heard(self, run):
        """Messages of a run's process, one by one."""
        data = b""
        while True:
            parcel = self.client.next(f"eagre.c.a1.run.{run}")
            assert parcel[0] in (DATA, CONFIRMED), parcel
            data += parcel[9:] if parcel[0] == DATA else b""
            while len(data) >= 4 and len(data) >= 4 + (length := struct.unpack("<I", data[:4])[0]):
                message = json.loads(data[4 : 4 + length])
                data = data[4 + length :]
                if isinstance(message, dict):
                    yield message


def device(name):
    """Changes the first port's device."""

    def change(order):
        order["source"]["ports"][0]["device"] = name

    return change


def text(change):
    """Changes the profile."""

    def changed(order):
        profile = json.loads(order["source"]["text"])
        change(profile)
        order["source"]["text"] = json.dumps(profile)

    return changed


def steals(order):
    """Names a file of the agent's machine as one of the server's folder, to be sent as packets."""

    def change(profile):
        profile["streams"] = [{"name": "east", "from": "west", "to": "east", "replay": {"file": "hostname"}}]

    text(change)(order)
    order["source"] |= {"folder": "/etc", "files": [{"name": "hostname", "bytes": 1, "hash": 1}]}


SECRETS = {
    "name": "web",
    "client": {"port": "west"},
    "server": {"port": "east"},
    "app": "http",
    "tls": {"key_log": "/tmp/keys.txt"},
    "concurrent": 1,
}
SHELL = {"name": "shell", "port": "west", "command": ["/bin/sh"]}
REFUSALS = {
    "an interface that is not lent": (device("a1/afpacket:lo"), "agent 'a1' has the ports veth0, veth1, and not 'afpacket:lo'"),
    "a file as a port": (device("a1/pcap:/etc/passwd,/tmp/out"), "and not 'pcap:/etc/passwd,/tmp/out'"),
    "a driver with arguments": (device("a1/vdev:net_tap0,iface=tap0"), "and not 'vdev:net_tap0,iface=tap0'"),
    "a port of another agent": (device("a2/veth0"), "'a2/veth0' is no port of agent 'a1'"),
    "a file of its machine": (steals, "agent 'a1' reads no files of its machine for others"),
    "a capture": (text(lambda profile: profile["ports"]["west"].update(capture={"file": "/tmp/x.pcapng"})), "agent 'a1' captures no packets"),
    "a program": (
        text(lambda profile: (profile["ports"]["west"].update(punt={"match": "bgp"}), profile.update(protocols=[SHELL]))),
        "agent 'a1' starts no programs for others",
    ),
    "secrets in a file": (
        text(lambda profile: profile.update(sessions=[SECRETS])),
        "tls.key_log: agent 'a1' writes no secrets to files for others",
    ),
    "a namespace": (
        text(lambda profile: profile["ports"]["west"].update(punt={"match": "bgp", "namespace": "other"})),
        "agent 'a1' lends no namespaces",
    ),
}


@plain
def test_an_agent_does_no_more_than_send_on_ports_that_it_lends(place):
    """Orders that a server under somebody else's control could send."""
    place.router.count([7001, 7002])
    forger = Forger(place)
    sent = forwarded(place)
    for name, (change, reason) in REFUSALS.items():
        refused = forger.send(change=change)
        assert isinstance(refused, str) and reason in refused, (name, refused)
    assert "and not 'lo'" in forger.send(ports=["lo"])
    # A port that is lent, but is of another lease, if only the others are named.
    refused = forger.send(ports=["veth0"])
    assert isinstance(refused, str) and "and not 'afpacket:veth1'" in refused, refused
    old = dict(forger.open)
    forger.open = {**old, "controller": "somebody"}
    assert "is leased by" in forger.send()
    forger.open = {**old, "ports": [[port, token | {"revision": token["revision"] - 1}] for port, token in old["ports"]]}
    assert "has a newer lease" in forger.send()
    forger.open = old
    assert forwarded(place) == sent

    # What it can do: any load on ports that are lent, beyond what the server would allow its clients.
    def more(order):
        for port in order["source"]["ports"]:
            port["rate_max"] = None
        text(lambda profile: profile["streams"][0].update(rate="2kpps", size="1500B"))(order)
        order["source"] |= {"rate": None, "duration_ns": None}

    result = forger.send(change=more)
    # In the 200 ms of the real order, and up to 24 Mbit/s where the server allows 2.
    assert not isinstance(result, str) and 100 < result["streams"]["east"]["tx"] == forwarded(place) - sent <= 400, result
    assert place.server.ask("POST", "/api/v1/runs", {"profile": place.profile("4kpps"), "lease": forger.lease["id"]}).status != 201
    forger.client.close()
    assert place.agent.poll() is None
