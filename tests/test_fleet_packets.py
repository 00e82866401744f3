"""Three agents send the packets that one process with all their ports sends: the same set, byte by byte, on the wire.

Namespaces are the machines; each has a port to a router, which captures what arrives. A signature has 12 bytes for the packet alone
(core/wire/src/signature.rs): check (bytes 6 and 7 of 18), sequence number in the lane (8 to 11), time of departure (12 to 16), lane (17).
Times differ from run to run, and with them check and UDP checksum: these are left out of the comparison, and nothing else. With three
workers in one process each packet has another lane and number there, so these are left out as well.
"""

import hashlib
import socket
import threading

import pytest
from broker import newer, program
from lab import need, wait_until
from server import inside
from test_fleet import Machines, sees

ALL, OUTGOING, UDP_PORTS = 3, 4, range(7000, 7003)
RECEIVE_BUFFER_FORCE = 33
UDP_CHECKSUM, CHECK, SEQUENCE, TIME, LANE = slice(40, 42), slice(-12, -10), slice(-10, -6), slice(-6, -1), slice(-1, None)


class Three(Machines):
    """Three machines with a port each to a router."""

    def __init__(self, lab, server):
        need("ip", "nft")
        super().__init__(lab, server=server)
        self.router, self.whole = lab.netns("router", forwarding=True), lab.netns("whole")
        for side in range(3):
            lab.veth(self.whole, f"veth{side}", self.router, f"r{side}")
            self.router.ip("address", "add", f"10.0.{side}.1/24", "dev", f"r{side}")
        self.parts = [self.join(lab.netns(f"part{side}")) for side in range(3)]

    def profile(self, name):
        """A ring of streams with lengths and fields that vary, counted and random; `name` makes a device of an interface's number."""
        ports = {f"p{n}": {"device": name(n), "ip": f"10.0.{n}.2/24", "gateway": f"10.0.{n}.1"} for n in range(3)}
        streams = [
            {
                "name": f"s{n}",
                "from": f"p{n}",
                "to": f"p{(n + 1) % 3}",
                "packet": [{"ipv4": {"dst": f"10.0.{(n + 1) % 3}.2"}}, {"udp": {"dst": 7000 + n}}],
                "size": {"128B": 7, "594B": 4, "1518B": 1},
                "vary": {"udp.src": {"from": 1024, "to": 1500}, "ipv4.id": {"random": "0..65535"}},
                "rate": f"{300 + 50 * n}pps",
            }
            for n in range(3)
        ]
        return {"ports": ports, "streams": streams, "load": {"duration": "1s", "drain": "300ms"}, "seed": 11}

    def split(self):
        """Moves each port to a machine of its own, with its addresses."""
        for side, part in enumerate(self.parts):
            self.whole.ip("link", "set", f"veth{side}", "netns", part.name)
            part.ip("link", "set", f"veth{side}", "up")
        wait_until(lambda: all(part.link(f"veth{side}")["operstate"] == "UP" for side, part in enumerate(self.parts)), "the ports")


class Capture:
    """Test packets that arrive at the router meanwhile."""

    def __init__(self, machines):
        self.frames, self.over = [], threading.Event()
        with inside(machines.router):
            self.sockets = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL)) for _ in range(3)]
            for side, one in enumerate(self.sockets):
                one.setsockopt(socket.SOL_SOCKET, RECEIVE_BUFFER_FORCE, 64 << 20)
                one.bind((f"r{side}", ALL))
                one.settimeout(0.1)
        self.threads = [threading.Thread(target=self._read, args=(one,)) for one in self.sockets]

    def _read(self, one):
        while True:
            try:
                frame, address = one.recvfrom(2048)
            except TimeoutError:
                if self.over.is_set():
                    return
                continue
            is_ours = len(frame) > 60 and frame[12:14] == b"\x08\x00" and frame[23] == 17 and int.from_bytes(frame[36:38], "big") in UDP_PORTS
            if is_ours and address[2] != OUTGOING:
                self.frames.append(frame)

    def __enter__(self):
        [thread.start() for thread in self.threads]
        return self

    def __exit__(self, *_):
        self.over.set()
        [thread.join() for thread in self.threads]
        [one.close() for one in self.sockets]

    def hash(self, *masked):
        """Of the sorted frames without some of their bytes."""
        return hashlib.sha256(b"".join(sorted(len(frame).to_bytes(2, "big") + mask(frame, masked) for frame in self.frames))).hexdigest()


def mask(frame, parts):
    frame = bytearray(frame)
    for part in parts:
        frame[part] = bytes(len(frame[part]))
    return bytes(frame)


def totals(result):
    """What all machines count alike."""
    return {name: (row["tx"], row["tx_bytes"], row["rx"], row["lost"], row["duplicates"]) for name, row in result["streams"].items()}


def ended(server, profile, **more):
    """The result of a run."""
    run = server.start(profile=profile, **more)
    over = server.ended(run, 60)
    assert over["state"] == "done", over
    return server.get(f"/api/v1/runs/{run['id']}/result")


@pytest.mark.parametrize("server", [program, newer], ids=["debian", "newer"])
def test_three_agents_send_the_packets_of_one_process(lab, server):
    """One process with one worker and with three, then three agents: equal sets of frames, and equal totals."""
    machines = Three(lab, server())
    alone = machines.profile(lambda n: f"afpacket:veth{n}")
    path = lab.profile(alone["ports"], alone["streams"], load=alone["load"], seed=alone["seed"])
    captures, results = {}, {}
    with Capture(machines) as captures[1]:
        results[1] = lab.eagre("run", path, "--json", "-", ns=machines.whole).json
    server = machines.server()
    # A core may have several workers: they sleep between packets.
    machines.join(machines.whole)
    whole = machines.agent("whole", machines.whole, "--cores", "0,0,0", ports=["veth0", "veth1", "veth2"])
    wait_until(lambda: sees(server, "whole/veth2"), "the ports of one agent")
    with Capture(machines) as captures[3]:
        results[3] = ended(server, machines.profile(lambda n: f"whole/afpacket:veth{n}"), cores=3)
    assert len(results[3]["workers"]) == 3 and "agents" not in results[3]
    whole.terminate()
    whole.wait(20)
    machines.split()
    for side, part in enumerate(machines.parts):
        machines.agent(f"a{side}", part, ports=[f"veth{side}"])
    wait_until(lambda: all(sees(server, f"a{side}/veth{side}") for side in range(3)), "the agents' ports")
    with Capture(machines) as captures["agents"]:
        results["agents"] = ended(server, machines.profile(lambda n: f"a{n}/afpacket:veth{n}"))
    assert [agent["name"] for agent in results["agents"]["agents"]] == ["a0", "a1", "a2"]
    expected = {f"s{n}": 300 + 50 * n for n in range(3)}
    for who, result in results.items():
        assert {name: row["tx"] for name, row in result["streams"].items()} == expected, (who, totals(result))
        assert totals(result) == totals(results[1]), who
        assert len(captures[who].frames) == sum(expected.values()), who
        assert all(row["lost"] == 0 and row["duplicates"] == 0 for row in result["streams"].values()), who
    stamped = (UDP_CHECKSUM, CHECK, TIME)
    assert captures["agents"].hash(*stamped) == captures[1].hash(*stamped)
    assert captures[1].hash() != captures["agents"].hash()
    laned = (*stamped, SEQUENCE, LANE)
    assert captures["agents"].hash(*laned) == captures[3].hash(*laned)
    assert captures[1].hash(*stamped) != captures[3].hash(*stamped)
