"""PPPoE clients behind a port before an access concentrator of Scapy's layers (`bras.py`), whose kernel routes what they send; discovery
before rp-pppoe's server."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest
from hosts import Capture
from lab import missing, need, wait_until

CLIENTS = 200
BRAS = Path(__file__).with_name("bras.py")
PYTHON = "/usr/bin/python3"
CREDENTIALS = {"user": "u{n}", "password": "p{n}"}


class Network:
    """A tester and a device on a veth pair; east of the device a network that it routes to."""

    def __init__(self, lab):
        need("ip")
        self.lab = lab
        self.tester, self.device = lab.netns("tester"), lab.netns("device", forwarding=True)
        lab.veth(self.tester, "veth0", self.device, "d0")
        lab.veth(self.tester, "veth1", self.device, "d1")
        self.device.ip("address", "add", "10.9.0.1/24", "dev", "d1")

    def bras(self, **options):
        return Bras(self, options)

    def ports(self, clients=CLIENTS, west=(), **rest):
        # More at a time would wait for Scapy, which takes milliseconds for a packet.
        pppoe = {"clients": clients, "rate": "200/s", "outstanding": 10, "timeout": "60s", **CREDENTIALS, **rest}
        west = {"device": "afpacket:veth0", "pppoe": pppoe, **dict(west)}
        return {"west": west, "east": {"device": "afpacket:veth1", "ip": "10.9.0.2/24", "gateway": "10.9.0.1"}}

    def run(self, ports, streams=(), duration="1s", timeout=200, **rest):
        profile = self.lab.profile(ports, list(streams), load={"duration": duration, "drain": "500ms"}, **rest)
        return self.lab.eagre("run", profile, "--json", "-", ns=self.tester, timeout=timeout)


class Bras:
    """The access concentrator, and what it says of itself."""

    def __init__(self, network, options):
        try:
            subprocess.run([PYTHON, "-c", "import scapy"], check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            missing("needs python3-scapy")
        pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.STDOUT}
        command = (PYTHON, "-u", BRAS, "d0", json.dumps({"retry": 3, **options}))
        self.process = network.lab.start(*command, ns=network.device, **pipes)
        self.answer("ready")

    def answer(self, wanted=None):
        line = self.process.stdout.readline()
        assert line.startswith(wanted or "{"), line + self.process.communicate()[0]
        return line

    def tell(self, command="state"):
        """Its answer to a command: sessions and counts."""
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return json.loads(self.answer())


def all_up(pppoe, clients=CLIENTS):
    assert pppoe["up"] == pppoe["clients"] == clients and pppoe["failed"] == 0, pppoe
    assert pppoe["conflicts"] == pppoe["lost"] == 0, pppoe
    assert pppoe["setup_ns"]["samples"] == clients and pppoe["padss"] >= clients, pppoe


def up(count, rate=None, **rest):
    stream = {"name": "up", "from": "west", "from_host": "pppoe", "to": "east", "packet": ["pppoe", "ipv4", {"udp": {"dst": 9}}]}
    return {**stream, "rate": f"{rate or count // 2}pps", "count": count, **rest}


def down(count):
    stream = {"name": "down", "from": "east", "to": "west", "to_host": "pppoe", "packet": ["ipv4", {"udp": {"dst": 9}}]}
    return {**stream, "rate": f"{count // 2}pps", "count": count}


def start(network, ports, streams=(), duration="3s", more=(), **rest):
    """A run with commands on its standard input, once traffic flows."""
    profile = network.lab.profile(ports, list(streams), load={"duration": duration, "drain": "500ms"}, **rest)
    lines = profile.parent / "lines"
    arguments = ("--control", "--json", "-", "--jsonl", lines, "--interval", "100ms", *more)
    process = network.lab.start_eagre("run", profile, *arguments, ns=network.tester, stdin=subprocess.PIPE)
    begun = lambda: process.poll() is not None or (lines.exists() and lines.read_text())  # noqa: E731
    wait_until(begun, "traffic", 90, every=0.1)
    return process


def say(process, *lines, wait=0.0):
    for line in lines:
        process.stdin.write(line + "\n")
        process.stdin.flush()
        time.sleep(wait)


def finish(network, process):
    process.stdin.close()
    process.stdin = None
    return network.lab.finish(process, 120)


@pytest.mark.parametrize("auth", ["pap", "chap", None])
def test_all_clients_come_up_and_send_and_receive_in_their_sessions(lab, auth):
    """As many sessions at the access concentrator as clients, each with the address of its user. A stream from all of them and one to
    all of them pass its kernel, no packet in another's session, and all are measured where they arrive."""
    network = Network(lab)
    bras = network.bras(auth=auth)
    process = start(network, network.ports(), [up(2 * CLIENTS), down(2 * CLIENTS)], duration="4s")
    before = bras.tell()["sessions"]
    result = finish(network, process).result()
    pppoe = result["ports"]["west"]["pppoe"]
    print(json.dumps(pppoe))
    all_up(pppoe)
    after = bras.tell()
    sessions = after["ended"]
    assert len(before) == len(sessions) == CLIENTS and not after["sessions"], f"{len(sessions)} sessions"
    assert len({one["ip"] for one in sessions.values()}) == len({one["mac"] for one in sessions.values()}) == CLIENTS
    if auth:
        assert {one["user"] for one in sessions.values()} == {f"u{n}" for n in range(CLIENTS)}
        # The user's number is that of the MAC address, and of the IP address.
        base = min(int(one["mac"].replace(":", ""), 16) for one in sessions.values())
        for one in sessions.values():
            number = int(one["mac"].replace(":", ""), 16) - base
            place = number + 1
            assert (one["user"], one["ip"]) == (f"u{number}", f"100.64.{place >> 8}.{place & 255}"), one
    for name in ("up", "down"):
        row = result["streams"][name]
        assert row["tx"] == row["rx"] == 2 * CLIENTS and row["lost"] == row["duplicates"] == 0, row
    # Two packets in each session each way, none from an address that is not the session's.
    assert all((one["received"], one["sent"], one["foreign"]) == (2, 2, 0) for one in sessions.values()), sessions
    assert after["padt"] == after["terminates"] == CLIENTS, after
    # It asked each client once whether it is there; the last one was perhaps asked between setup and traffic, when nobody listens.
    assert after["echo_replies"] >= CLIENTS - 1 and pppoe["echoes_answered"] >= CLIENTS - 1, after


def test_packets_are_well_formed(lab):
    """An analyser finds nothing wrong with what clients send, from PADI to PADT."""
    network = Network(lab)
    network.bras()
    capture = Capture(lab, network.device, "d0", snap=2_000, rule="pppoed or pppoes")
    row = network.run(network.ports(3, keepalive="1s", circuit_id="ge-0/0/{n}"), duration="2s").result()["ports"]["west"]["pppoe"]
    assert row["sessions"] == 3 and row["echo_replies"] >= 3, row
    sent = f"eth.src != {network.device.mac('d0')}"
    assert capture.spoilt(sent) == []
    codes = {code for (code,) in capture.fields(f"pppoed && {sent}", "pppoe.code")}
    assert codes == {"0x09", "0x19", "0xa7"}, codes
    # LCP, IPCP, and PAP or CHAP.
    protocols = {protocol for (protocol,) in capture.fields(f"pppoes && {sent}", "ppp.protocol")}
    assert {"0xc021", "0x8021"} < protocols, protocols


def test_clients_in_a_vlan_and_a_service(lab):
    network = Network(lab)
    bras = network.bras(services=["gold"])
    ports = network.ports(20, west={"vlan": 7}, service="gold", ac="bras", circuit_id="ge-0/0/{n}")
    process = start(network, ports, [up(40)], duration="2s")
    sessions = bras.tell()["sessions"]
    result = finish(network, process).result()
    all_up(result["ports"]["west"]["pppoe"], 20)
    assert len(sessions) == 20 and {(one["vlan"], one["service"]) for one in sessions.values()} == {(7, "gold")}, sessions
    row = result["streams"]["up"]
    assert row["tx"] == row["rx"] == 40, row


def test_a_wrong_password_ends_the_run_with_a_sentence(lab):
    network = Network(lab)
    for auth in ("pap", "chap"):
        bras = network.bras(auth=auth)
        done = network.run(network.ports(5, timeout="4s", password="wrong"))
        done.refused(3, "port west: pppoe: the access concentrator did not let in 5 clients within 4s", "'wrong password'; check 'user'")
        state = bras.tell()
        assert not state["sessions"] and state["refused"] >= 5, state
        bras.process.kill()
        bras.process.wait()


def test_some_without_a_session_make_the_result_invalid(lab):
    """The access concentrator refuses two users: traffic comes from the others, in their sessions, and arrives."""
    network = Network(lab)
    bras = network.bras(refused=["u3", "u7"])
    done = network.run(network.ports(12, timeout="4s"), [up(20)], duration="3s")
    pppoe = done.json["ports"]["west"]["pppoe"]
    assert (pppoe["up"], pppoe["failed"], pppoe["sessions"]) == (10, 2, 10) and pppoe["failed_authentication"] >= 2, pppoe
    reason = "port west: 10 of 12 PPPoE clients got a session within 4s (the access concentrator: 'wrong password'); traffic uses only these"
    assert done.exit == 1 and reason in done.json["verdict"]["reasons"], done.json["verdict"]
    row = done.json["streams"]["up"]
    assert row["tx"] == row["rx"] == 20, row
    users = {one["user"]: one["received"] for one in bras.tell()["ended"].values() if one["user"]}
    assert users == {f"u{n}": 2 for n in range(12) if n not in (3, 7)}, users


def test_nobody_answers(lab):
    network = Network(lab)
    bras = network.bras(silent=True)
    done = network.run(network.ports(5, timeout="4s", retry="1s"))
    done.refused(3, "port west: pppoe: no access concentrator replied to", "PADI packets of 5 clients within 4s")
    assert bras.tell()["padi"] >= 10
    bras.process.kill()
    bras.process.wait()
    network.bras(services=["gold"])
    done = network.run(network.ports(2, timeout="2s", service="lead"))
    done.refused(3, "the access concentrator gave no session to 2 clients within 2s", "'no service lead'")
    done = network.run(network.ports(2, timeout="2s", ac="other"))
    done.refused(3, "PADO packets was of an access concentrator named 'other'")


def test_sessions_that_end_while_traffic_runs_are_counted_and_come_back(lab):
    """PADT to all, Terminate-Request to all, echo requests without an answer."""
    network = Network(lab)
    bras = network.bras()
    count, ports = 10, network.ports(10, keepalive="1s", keepalive_misses=2, retry="500ms")
    for command, field, reason in (
        ("padt", "lost_ended", "10 ended by the access concentrator, 0 without"),
        ("terminate maintenance", "lost_ended", "10 ended by the access concentrator: 'maintenance', 0 without"),
        ("mute", "lost_silent", "0 ended by the access concentrator, 10 without"),
    ):
        process = start(network, ports, duration="60s")
        before = bras.tell()["sessions"]
        assert len(before) == count
        bras.tell(command)
        if command == "mute":
            wait_until(lambda: not set(before) & set(bras.tell()["sessions"]), "the end of all sessions", 6, every=0.1)
            bras.tell("unmute")
        is_back = lambda: len(set(bras.tell()["sessions"]) - set(before)) == count  # noqa: E731, B023
        wait_until(is_back, f"{command}: new sessions", 6, every=0.1)
        # What the concentrator said last is still to be heard.
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        done = finish(network, process)
        document = done.json
        pppoe = document["ports"]["west"]["pppoe"]
        assert pppoe[field] == pppoe["lost"] == count and pppoe["holding"] == count, pppoe
        assert pppoe["sessions"] == 2 * count and pppoe["setup_ns"]["samples"] == count, pppoe
        notes = document["verdict"]["notes"]
        assert any(f"port west: 10 PPPoE sessions were lost: {reason}" in note for note in notes), notes
        assert not bras.tell()["sessions"]


def test_sessions_end_and_begin_by_command(lab):
    network = Network(lab)
    bras = network.bras()
    process = start(network, network.ports(20), duration="60s")
    first = bras.tell()["sessions"]
    for word, sessions in (("release", 0), ("renew port=west", 20)):
        say(process, word)
        up_now = lambda: [one for one in bras.tell()["sessions"].values() if one["ip"]]  # noqa: E731
        wait_until(lambda: len(up_now()) == sessions, word, 5, every=0.1)  # noqa: B023
    assert not set(first) & set(bras.tell()["sessions"])
    process.send_signal(signal.SIGINT)
    pppoe = finish(network, process).json["ports"]["west"]["pppoe"]
    assert (pppoe["commands"], pppoe["lost"], pppoe["holding"], pppoe["sessions"]) == (2, 0, 20, 40), pppoe


def web(server, app=None, **rest):
    """Sessions that the PPPoE clients open."""
    app = app or {"http": {"response": "20KB", "requests": 2}}
    return {"name": "web", "client": {"port": "west", "addresses": "pppoe"}, "server": server, "app": app, "open": "40/s", **rest}


@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_clients_open_sessions_in_their_sessions(lab, transport):
    """TCP with long answers, and datagrams in fragments, from all clients in turn, through the kernel of the access concentrator to a
    server behind it, beside streams in the same sessions."""
    network = Network(lab)
    bras = network.bras()
    ports = network.ports(10)
    app = {"raw": {"request": "600B", "response": "2KB"}} if transport == "udp" else {"http": {"response": "20KB", "requests": 2}}
    entry = web({"port": "east", "ports": 80}, app, count=40, transport=transport)
    done = network.run(ports, [up(20), down(20)], duration="4s", sessions=[entry])
    result = done.result()
    one = result["sessions"]["web"]
    assert (one["completed"], one["failed"]) == (40, {}), one
    all_up(result["ports"]["west"]["pppoe"], 10)
    assert all(row["rx"] == 20 and row["lost"] == 0 for row in result["streams"].values()), result["streams"]
    ended = bras.tell()["ended"].values()
    assert len(ended) == 10 and all(session["foreign"] == 0 for session in ended), ended
    # Four each, besides two packets of each stream.
    assert all(session["received"] >= 2 + 4 and session["sent"] >= 2 + 4 for session in ended), ended


def test_a_server_of_the_kernel_is_reached_in_a_vlan(lab):
    """Nobody here wrote the server; what is in a session is no longer than PPPoE leaves room for."""
    network = Network(lab)
    bras = network.bras()
    folder = lab.folder()
    (folder / "page").write_bytes(bytes(range(256)) * 400)
    command = (PYTHON, "-m", "http.server", "8080", "--bind", "10.9.0.1", "--directory", folder)
    lab.start(*command, ns=network.device, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: "8080" in network.device.run("ss", "-ltn"), "the server")
    entry = web({"addresses": "10.9.0.1", "ports": 8080}, {"http": {"path": "/page"}}, count=30)
    capture = lab.folder() / "west.pcapng"
    # AF_PACKET ports count the tag.
    ports = network.ports(5, mtu=1_488, west={"vlan": 7, "capture": {"file": str(capture)}})
    result = network.run(ports, duration="4s", sessions=[entry]).result()
    one = result["sessions"]["web"]
    assert (one["completed"], one["failed"]) == (30, {}), one
    assert one["client"]["tcp"]["bytes_in"] > 30 * 102_400, one
    ended = bras.tell()["ended"].values()
    assert len(ended) == 5 and {session["vlan"] for session in ended} == {7}, ended
    need("tshark")
    read = ("tshark", "-r", capture, "-Y", "tcp.len > 0", "-T", "fields", "-e", "ip.len", "-e", "pppoe.session_id", "-e", "vlan.id")
    rows = [line.split("\t") for line in network.tester.run(*read).splitlines()]
    assert max(int(length) for length, _, _ in rows) == 1_488 and len({session for _, session, _ in rows}) == 5, rows[:9]
    assert {vlan for _, _, vlan in rows} == {"7"}


def echoes(namespace):
    """Echo requests that a namespace's kernel has received."""
    head, numbers = (line.split() for line in namespace.run("grep", "^Icmp:", "/proc/net/snmp").splitlines())
    return int(dict(zip(head, numbers, strict=True))["InEchos"])


@pytest.mark.parametrize("with_sessions", [False, True])
def test_clients_ping_in_their_sessions(lab, with_sessions):
    """The kernel behind the access concentrator answers each client at its address; beside it, sessions of TCP in the same sessions."""
    network = Network(lab)
    network.bras()
    entry = {"sessions": [web({"port": "east", "ports": 80}, {"http": {"response": "5KB"}}, count=40)]} if with_sessions else {}
    process = start(network, network.ports(20), [up(55, 10)], duration="6s", **entry)
    before = echoes(network.device)
    say(process, "ping west 10.9.0.1 host=pppoe[3]", "ping west 10.9.0.1 host=pppoe[19]", "ping west 10.9.0.1", wait=0.2)
    say(process, "ping west 100.64.255.254 host=pppoe attempts=1", "ping west 10.9.0.77 host=pppoe[2] attempts=2 timeout=200ms", wait=0.2)
    say(process, "ping west 10.9.0.1 host=pppoe[20]", "ping west 10.9.0.1 from=100.99.0.1", "ping west 2001:db8::1 host=pppoe[1]", wait=0.1)
    say(process, "ping east 10.9.0.1", "release", wait=1.0)
    say(process, "ping west 10.9.0.1 host=pppoe[3]", wait=0.3)
    done = finish(network, process)
    assert done.json["streams"]["up"]["rx"] > 0, done
    if with_sessions:
        assert done.json["sessions"]["web"]["attempted"] == 40, done
    assert done.json["ports"]["west"]["pppoe"]["lost"] == 0
    told = [line for line in done.err.splitlines() if line.startswith("eagre: ")]
    answered = [line for line in told if line.endswith("s") and "through 100.64.255.254: " in line and "no reply" not in line]
    sources = {line.split()[3] for line in answered}
    assert len(answered) == 4 and len(sources) == 3 and all(source.startswith("100.64.0.") for source in sources), told
    assert any("no reply to 2 echo requests through 100.64.255.254 within 0.4 s" in line for line in told), told
    assert sum("client 'pppoe[20]' of port 'west' has no IPv4 address" in line for line in told) == 1, told
    assert any("100.99.0.1 is of no host or client of port 'west'" in line for line in told), told
    assert any("client 'pppoe[1]' of port 'west' has no IPv6 address" in line for line in told), told
    assert any("ping from 10.9.0.2 through 10.9.0.1: " in line for line in told), told
    assert any("client 'pppoe[3]' of port 'west' has no IPv4 address" in line for line in told), told
    assert echoes(network.device) - before == 5, "each request is answered by the kernel"


def test_sessions_that_can_not_be_in_pppoe_are_refused(lab):
    network = Network(lab)
    server = {"port": "east", "addresses": "10.9.0.2", "ports": 80}

    def refused(entry, *said, **ports):
        network.run(network.ports(2, **ports), sessions=[entry]).refused(2, *said)

    def client(**keys):
        return {"client": {"port": "west", "addresses": "pppoe", **keys}}

    refused(web({**server, "addresses": "2001:db8::1"}), "sessions[0].client.addresses", "PPPoE clients have IPv4 addresses")
    refused(web(server, **client(mac="02:00:00:00:00:09")), "sessions[0].client.mac", "send to their access concentrators")
    refused(web(server, **client(vlan=9)), "sessions[0].client.vlan", "in the VLANs of their port")
    refused(web(server, vlan=9), "sessions[0].vlan", "in the VLANs of their port")
    refused(web(server, mtu=1_500), "sessions[0].mtu", "packets of up to 1492 bytes")
    refused(web({**server, "addresses": "pppoe"}), "sessions[0].server.addresses", "'pppoe' are for clients")
    gre = {"to": "10.0.0.1", "from": "10.0.0.2", "gre": {}}
    refused(web(server, **client(tunnel=gre)), "sessions[0].client.addresses", "at the port itself")
    east = {"client": {"port": "east", "addresses": "pppoe"}}
    refused(web({"addresses": "10.9.0.1", "ports": 80}, **east), "sessions[0].client.addresses", "port 'east' has no PPPoE clients")


def test_discovery_with_another_server(lab):
    """rp-pppoe's server checks what it said in cookies, and gives sessions. There is no PPP behind it here: its sessions end in a
    sentence about LCP."""
    need("pppoe-server")
    network = Network(lab)
    folder = lab.folder()
    silent = folder / "pppd"
    silent.write_text("#!/bin/sh\nexec sleep 60\n")
    silent.chmod(0o755)
    command = ("pppoe-server", "-F", "-I", "d0", "-C", "rp", "-S", "gold", "-N", "50", "-q", silent, "-L", "10.0.0.1", "-R", "10.67.0.1")
    lab.start(*command, ns=network.device, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    lines = folder / "lines"
    ports = network.ports(10, timeout="3s", service="gold", ac="rp", retry="250ms")
    done = network.run(ports)
    done.refused(3, "port west: pppoe: the access concentrator agreed on no link (LCP) with 10 clients within 3s")
    done = network.run(network.ports(2, timeout="2s", service="lead"))
    done.refused(3, "port west: pppoe:", "lead")
    assert not lines.exists()
