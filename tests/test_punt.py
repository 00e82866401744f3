"""Hosts whose control plane is a network namespace: frames of control protocols pass through the test port, both ways."""

import hashlib
import json
import os
import signal
import sys
from pathlib import Path

import pytest
from lab import INTERRUPTED, need, pair, stream, wait_until

WEST, EAST = "10.0.0.2", "10.0.0.3"
BYTES = 4_000_000

# Takes one connection at port 179, sends BYTES bytes, reads as many, and says what they hash to.
PEER = f"""
import hashlib, socket, sys, threading
role, address = sys.argv[1:]
family = socket.AF_INET6 if ":" in address else socket.AF_INET
if role == "server":
    listener = socket.socket(family)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((address, 179))
    listener.listen()
    print("ready", flush=True)
    peer, _ = listener.accept()
else:
    peer = socket.create_connection((address, 179), 10)
peer.settimeout(30)
data = bytes(number % 251 for number in range({BYTES}))
sender = threading.Thread(target=lambda: (peer.sendall(data), peer.shutdown(socket.SHUT_WR)))
sender.start()
seen = hashlib.sha256()
while chunk := peer.recv(1 << 16):
    seen.update(chunk)
sender.join()
print(seen.hexdigest(), flush=True)
"""
WHOLE = hashlib.sha256((bytes(range(251)) * (BYTES // 251 + 1))[:BYTES]).hexdigest()


def transfer(lab, server, client, address):
    """A TCP connection at port 179 between two namespaces, with much data both ways."""
    listens = lab.start(sys.executable, "-c", PEER, "server", address, ns=server)
    assert listens.stdout.readline() == "ready\n", listens.stderr.read()
    connects = lab.start(sys.executable, "-c", PEER, "client", address, ns=client)
    for process in (connects, listens):
        said, complaint = process.communicate(timeout=60)
        assert said.strip() == WHOLE, complaint


def interfaces(namespace):
    return {link["ifname"]: link for link in json.loads(namespace.ip("-j", "address", "show"))}


def running(lab, profile, namespace, interface, ns=None):
    """A run that has begun: its interface is there."""
    process = lab.start_eagre("run", profile, "--json", "-", ns=ns)
    wait_until(lambda: interface in interfaces(namespace) or process.poll() is not None, "the interface")
    assert process.poll() is None, process.communicate()[1]
    return process


def stopped(lab, process):
    """The result of a run that is stopped now, however long what it was for took on a busy machine."""
    process.send_signal(signal.SIGINT)
    done = lab.finish(process)
    assert done.exit == INTERRUPTED and done.json["interrupted"], done
    return done.json


def punting(west, east, **rest):
    """Two ports of the in-process pair, each with a namespace."""
    ports = pair()
    ports["west"]["punt"], ports["east"]["punt"] = {"namespace": west.name, **rest}, {"namespace": east.name, **rest}
    return ports


def test_two_namespaces_speak_through_a_link_that_carries_test_traffic(lab):
    need("ip", "ping")
    west, east = lab.netns("west"), lab.netns("east")
    for namespace in (west, east):
        namespace.sysctl({"net.ipv6.conf.default.disable_ipv6": 0})
    ports = punting(west, east, match="bgp")
    ports["west"]["ip"], ports["east"]["ip"] = [f"{WEST}/24", "2001:2::2/64"], [f"{EAST}/24", "2001:2::3/64"]
    streams = [stream("eastward", "west", "east", rate="5kpps"), stream("westward", "east", "west", rate="5kpps")]
    profile = lab.profile(ports, streams, load={"duration": "90s", "drain": "500ms"})
    process = running(lab, profile, west, "west")
    wait_until(lambda: "east" in interfaces(east), "the other interface")
    link = interfaces(west)["west"]
    own = {address["local"] for address in link["addr_info"] if address["scope"] == "global"}
    assert own == {WEST, "2001:2::2"} and link["mtu"] == 1500, link
    west.run("ping", "-c", 3, "-i", 0.1, "-W", 5, EAST)
    west.run("ping", "-c", 3, "-i", 0.1, "-W", 5, "2001:2::3")
    transfer(lab, east, west, EAST)
    transfer(lab, west, east, "2001:2::2")
    refused = west.run("bash", "-c", f"timeout 1 bash -c '</dev/tcp/{EAST}/178'; echo $?", check=False)
    assert refused.strip() == "124", "a port that is not BGP's passed"
    result = stopped(lab, process)
    for name in ("west", "east"):
        port = result["ports"][name]
        assert port["rx_punted"] > 2 * BYTES / 1500 and port["tx_punted"] > 2 * BYTES / 1500, port
        assert port["rx_punt_dropped"] == port["tx_punt_dropped"] == 0, port
    assert all(row["tx"] == row["rx"] for row in result["streams"].values()), result["streams"]
    assert set(interfaces(west)) == {"lo"}, "the interface outlives the run"


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
def test_a_namespace_speaks_with_a_device_whose_offloads_are_on(lab, kind):
    """The device leaves checksums and long segments to its network card, as kernels do by default."""
    tester, device, peer = lab.netns("tester"), lab.netns("device"), lab.netns("peer")
    lab.veth(tester, "veth0", device, "d0")
    device.ip("address", "add", f"{EAST}/24", "dev", "d0")
    port = {"device": f"{kind}:veth0", "ip": f"{WEST}/24", "gateway": EAST, "punt": {"namespace": peer.name, "match": ["bgp"]}}
    streams = [stream("noise", "west", None, rate="1kpps", measure=False)]
    streams[0] |= {"packet": [{"ipv4": {"dst": EAST}}, {"udp": {"dst": 9}}]}
    del streams[0]["to"]
    profile = lab.profile({"west": port}, streams, load={"duration": "90s", "drain": "100ms"})
    process = running(lab, profile, peer, "west", ns=tester)
    assert interfaces(peer)["west"]["address"] == tester.mac("veth0")
    transfer(lab, device, peer, EAST)
    transfer(lab, peer, device, WEST)
    port = stopped(lab, process)["ports"]["west"]
    assert port["rx_punted"] > 0 and port["rx_punt_dropped"] == port["tx_punt_dropped"] == 0, port


def test_each_host_has_an_interface_and_its_vlan(lab):
    need("ip", "ping")
    west, east = lab.netns("west"), lab.netns("east")
    ports = punting(west, east)
    for name, last in (("west", 2), ("east", 3)):
        hosts = [{"name": f"{name}{vlan}", "ip": f"10.0.{vlan}.{last}/24", "vlan": vlan} for vlan in (7, 8)]
        twice = {"name": f"{name}q", "ip": f"10.0.9.{last}/24", "vlan": [8, 9]}
        ports[name]["hosts"] = [*hosts, twice, {"name": f"{name}more", "ip": f"10.1.0.{last * 10}/24", "count": 3}]
    profile = lab.profile(ports, [], load={"duration": "90s", "drain": "100ms"})
    process = running(lab, profile, east, "eastmore[2]")
    assert set(interfaces(west)) == {"lo", "west", "west7", "west8", "westq", *(f"westmore[{n}]" for n in range(3))}
    for network in (7, 8, 9):
        west.run("ping", "-c", 2, "-i", 0.1, "-W", 5, f"10.0.{network}.3")
    west.run("ping", "-I", "westmore[1]", "-c", 2, "-i", 0.1, "-W", 5, "10.1.0.32")
    crossed = west.run("ping", "-I", "west7", "-c", 1, "-W", 1, "10.0.8.3", check=False)
    assert " 0 received" in crossed, "a frame left its VLAN"
    stopped(lab, process)


def test_sessions_and_streams_keep_addresses_of_their_own(lab):
    """The namespace answers for the host's address alone; the tester for those of sessions behind the same host."""
    need("ip", "ping")
    west, east = lab.netns("west"), lab.netns("east")
    ports = punting(west, east)
    sessions = [
        {
            "name": "http",
            "client": {"port": "west", "addresses": "10.0.0.10..10.0.0.19"},
            "server": {"port": "east", "addresses": "10.0.0.30", "ports": 80},
            "app": "http",
            "open": "50/s",
        }
    ]
    profile = lab.profile(ports, None, sessions=sessions, load={"duration": "3s", "drain": "500ms"})
    process = running(lab, profile, east, "east")
    west.run("ping", "-c", 3, "-i", 0.1, "-W", 5, EAST)
    answered = west.run("ping", "-c", 2, "-i", 0.1, "-W", 5, "10.0.0.30", check=False)
    assert " 2 received" in answered, "the tester's own host"
    result = lab.finish(process).result()
    row = result["sessions"]["http"]
    assert row["completed"] == row["attempted"] > 100, row


def test_what_finds_no_room_is_counted(lab):
    """A flood of frames for the namespace: each is passed on, or counted as dropped."""
    west = lab.netns("west")
    ports = pair()
    ports["east"]["punt"] = {"namespace": west.name, "match": "lldp"}
    lldp = [{"ethernet": {"dst": "01:80:c2:00:00:0e", "type": 0x88CC}}, {"bytes": {"hex": "00" * 50}}]
    flood = {"name": "flood", "from": "west", "to": "east", "packet": lldp, "size": "1518B", "rate": "max", "measure": False}
    few = stream("few", "west", "east", rate="100pps")
    profile = lab.profile(ports, [flood, few], load={"duration": "2s", "drain": "500ms"})
    result = lab.eagre("run", profile, "--json", "-").overload()
    port, sent = result["ports"]["east"], result["streams"]["flood"]["tx"]
    assert port["rx_punted"] + port["rx_punt_dropped"] >= sent > 10_000, port
    assert result["streams"]["few"]["lost"] == 0


def private_namespaces():
    """Network namespaces that processes are in, or hold, by inode."""
    found = set()
    for link in Path("/proc").glob("[0-9]*/task/*/ns/net"):
        try:
            found.add(os.readlink(link))
        except OSError:
            pass
    return found


@pytest.mark.alone
def test_a_killed_run_leaves_neither_interface_nor_namespace(lab):
    """By itself, because other tests' namespaces come and go, and take the number of one that is gone."""
    named = lab.netns("named")
    before = private_namespaces()
    ports = pair()
    ports["west"]["punt"], ports["east"]["punt"] = {"namespace": named.name}, {}
    profile = lab.profile(ports, [], load={"duration": "60s"})
    process = running(lab, profile, named, "west")
    wait_until(lambda: private_namespaces() - before, "the private namespace")
    process.kill()
    process.wait(10)
    wait_until(lambda: set(interfaces(named)) == {"lo"}, "the interface gone")
    wait_until(lambda: not private_namespaces() - before, "the namespace gone")


def test_what_can_not_be_is_said(lab):
    need("ip")
    named = lab.netns("named")
    named.ip("link", "add", "west", "type", "veth", "peer", "name", "other")

    def profile(punt, **more):
        ports = pair()
        ports["west"] |= {"punt": punt, **more}
        return lab.profile(ports, [], load={"duration": "1s"})

    missing = profile({"namespace": "no-such"})
    lab.eagre("run", missing).refused(3, "port west: punt: there is no network namespace 'no-such'", "ip netns add no-such")
    taken = profile({"namespace": named.name})
    lab.eagre("run", taken).refused(3, "port west: punt:", "has an interface 'west' already")
    assert set(interfaces(named)) == {"lo", "west", "other"}, "somebody else's interface is gone"
    lab.eagre("run", profile({}), user=True).refused(3, "port west: punt: can't make a network namespace", "CAP_SYS_ADMIN")
    lab.eagre("sim", profile({})).refused(3, "port west: punt: a simulated run has no network namespaces")
    lab.eagre("check", profile({"match": "bpg"})).refused(2, "ports.west.punt.match", "'bpg' is not a control protocol (bfd, bgp")
    lab.eagre("check", profile({"namespace": "../x"})).refused(2, "ports.west.punt.namespace", "no name of a network namespace")
    host = {"name": "a-name-of-eighteen", "ip": "10.0.0.9/24"}
    lab.eagre("check", profile({}, hosts=[host])).refused(2, "ports.west.punt", "'a-name-of-eighteen'", "at most 15 characters")
