"""Subscribers each in its own pair of VLANs, or in its own VLAN: DHCP clients before dnsmasq, which goes by their circuits, DHCPv6 clients before
dnsmasq and Kea, and PPPoE clients before an access concentrator of Scapy's layers, behind a gateway that takes the tags off."""

import json
import subprocess
from pathlib import Path

import pytest
from hosts import Capture
from lab import need, wait_until
from test_dhcp import SERVER, Dnsmasq
from test_dhcp import Network as DhcpNetwork
from test_dhcpv6 import Dnsmasq as Dnsmasq6
from test_dhcpv6 import Kea
from test_pppoe import Bras, finish, say, start, up, web

TESTS = Path(__file__).parent
CLIENTS = 12
# Three inner VLANs in each of four outer ones.
VLANS = {"outer": "100..103", "inner": "4092..4094"}
PAIRS = [(100 + n // 3, 4092 + n % 3) for n in range(CLIENTS)]
CIRCUIT = "olt1 eth {outer}.{inner}"


class Gateway:
    """Takes tags off between `d0` of the tester's link and `d0` of a namespace behind it."""

    def __init__(self, lab, tester, inner):
        self.namespace = lab.netns("gateway")
        self.namespace.sysctl({"net.ipv6.conf.all.disable_ipv6": 1})
        lab.veth(tester, "veth0", self.namespace, "trunk")
        lab.veth(self.namespace, "core", inner, "d0")
        # What goes through a program carries no word of a checksum that was left to a card.
        inner.run("ethtool", "-K", "d0", "tx", "off")
        command = ("/usr/bin/python3", TESTS / "access.py", "trunk", "core")
        self.process = lab.start(*command, ns=self.namespace, stdin=subprocess.PIPE)
        assert self.process.stdout.readline().strip() == "ready"

    def end(self):
        """Types and identifiers of each subscriber's tags by its number, and the frames dropped."""
        row = json.loads(self.process.communicate("", timeout=20)[0])
        macs = sorted(row["subscribers"])
        base = int(macs[0].replace(":", ""), 16)
        tags = {int(mac.replace(":", ""), 16) - base: row["subscribers"][mac]["tags"] for mac in macs}
        return tags, row["dropped"]


class Network(DhcpNetwork):
    """The tester's west port before a gateway; behind it a device with a server, and the tester's east port."""

    def __init__(self, lab, address=None):
        need("ip", "ethtool")
        self.lab = lab
        self.tester, self.device = lab.netns("tester"), lab.netns("device", forwarding=True)
        self.gateway = Gateway(lab, self.tester, self.device)
        if address:
            self.device.ip("address", "add", address, "dev", "d0")
        lab.veth(self.tester, "veth1", self.device, "d1")
        self.device.ip("address", "add", "10.9.0.1/24", "dev", "d1")
        self.device.ip("neigh", "add", "10.9.0.2", "lladdr", self.tester.mac("veth1"), "dev", "d1", "nud", "permanent")
        self.folder = lab.folder()

    def bras(self, **options):
        return Bras(self, options)


def by_circuit():
    """Options of dnsmasq: clients of a circuit in the outer VLAN 100 + n get addresses of 10.0.(16 + n).0/24."""
    options = [f"--dhcp-circuitid=set:o{outer},olt1 eth {outer}.{inner}" for outer, inner in PAIRS]
    return [*options, *(f"--dhcp-range=tag:o{100 + n},10.0.{16 + n}.10,10.0.{16 + n}.99,255.255.0.0,3600" for n in range(4))]


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
def test_dhcp_clients_each_in_a_pair_of_vlans(lab, kind):
    """dnsmasq knows each by its circuit. What they send is in their VLANs, from discovery to the last packet of a stream and of a session."""
    need("tshark")
    network = Network(lab, f"{SERVER}/16")
    dnsmasq = Dnsmasq(network, 3600, *by_circuit(), first="10.0.200.1", last="10.0.200.2")
    assert dnsmasq.process.poll() is None
    capture = Capture(lab, network.gateway.namespace, "trunk", snap=500, rule="")
    ports = network.ports(CLIENTS, kind, vlans=VLANS, circuit_id=CIRCUIT, host_name="s{outer}-{inner}", outstanding=1, check=False)
    packet = ["ipv4", {"udp": {"dst": 9}}]
    one = {"name": "up", "from": "west", "from_host": "dhcp", "to": "east", "packet": packet, "rate": "120pps", "count": 10 * CLIENTS}
    entry = {
        "name": "web", "client": {"port": "west", "addresses": "dhcp"}, "server": {"port": "east", "ports": 80},
        "app": {"http": {"response": "5KB", "requests": 2}}, "open": "40/s", "count": 4 * CLIENTS, "mtu": 1_492,
    }  # fmt: skip
    done = network.run(ports, [one], duration="3s", sessions=[entry])
    result = done.ok().json
    dhcp = result["ports"]["west"]["dhcp"]
    assert dhcp["bound"] == CLIENTS and dhcp["conflicts"] == 0, dhcp
    row = result["streams"]["up"]
    assert row["tx"] == row["rx"] == 10 * CLIENTS and row["lost"] == 0, row
    assert result["sessions"]["web"]["completed"] == 4 * CLIENTS, result["sessions"]["web"]
    tags, dropped = network.gateway.end()
    assert dropped == 0 and tags == {n: [[0x88A8, outer], [0x8100, inner]] for n, (outer, inner) in enumerate(PAIRS)}, tags
    # Each address is of the range of its circuit.
    offered = capture.fields("dhcp.option.dhcp == 5", "ieee8021ad.id", "vlan.id", "dhcp.ip.your", "dhcp.hw.mac_addr")
    assert len(offered) >= CLIENTS, offered
    sent = capture.fields("dhcp.option.dhcp == 1", "dhcp.option.agent_information_option.agent_circuit_id", "dhcp.option.hostname")
    circuits = {(bytes.fromhex(circuit.replace(":", "")).decode(), name) for circuit, name in sent}
    assert circuits == {(f"olt1 eth {outer}.{inner}", f"s{outer}-{inner}") for outer, inner in PAIRS}, circuits
    addresses = {ip for *_, ip, _ in offered}
    assert {int(ip.split(".")[2]) for ip in addresses} == {16, 17, 18, 19} and len(addresses) == CLIENTS, addresses


def test_pppoe_clients_each_in_a_pair_of_vlans(lab):
    """Sessions, streams both ways and sessions of TCP in them; the access concentrator reads the circuit."""
    network = Network(lab)
    bras = network.bras()
    capture = Capture(lab, network.gateway.namespace, "trunk", snap=500, rule="")
    pppoe = {"clients": CLIENTS, "rate": "200/s", "outstanding": 10, "timeout": "60s", "user": "u{n}", "password": "p{n}"}
    west = {"device": "afpacket:veth0", "pppoe": {**pppoe, "vlans": VLANS, "circuit_id": CIRCUIT, "remote_id": "{inner}/{n}", "mtu": 1_484}}
    ports = {"west": west, "east": {"device": "afpacket:veth1", "ip": "10.9.0.2/24", "gateway": "10.9.0.1"}}
    down = {"name": "down", "from": "east", "to": "west", "to_host": "pppoe", "packet": ["ipv4", {"udp": {"dst": 9}}]}
    streams = [up(10 * CLIENTS), {**down, "rate": "60pps", "count": 10 * CLIENTS}]
    done = network.run(ports, streams, duration="4s", sessions=[web({"port": "east", "ports": 80}, {"http": {"response": "5KB"}}, count=48)])
    result = done.ok().json
    row = result["ports"]["west"]["pppoe"]
    assert row["up"] == CLIENTS and row["failed"] == 0, row
    for name in ("up", "down"):
        assert result["streams"][name]["rx"] == result["streams"][name]["tx"] == 10 * CLIENTS, result["streams"][name]
    assert result["sessions"]["web"]["completed"] == 48, result["sessions"]["web"]
    ended = bras.tell()["ended"].values()
    assert len(ended) == CLIENTS and all(one["foreign"] == 0 for one in ended), ended
    tags, dropped = network.gateway.end()
    assert dropped == 0 and tags == {n: [[0x88A8, outer], [0x8100, inner]] for n, (outer, inner) in enumerate(PAIRS)}, tags
    found = capture.fields("pppoed && pppoe.code == 0x09", "pppoed.tags.circuit_id", "pppoed.tags.remote_id")
    assert set(found) == {(f"olt1 eth {outer}.{inner}", f"{inner}/{n}") for n, (outer, inner) in enumerate(PAIRS)}, found


class Network6(Network):
    """The same with IPv6 addresses."""

    def __init__(self, lab):
        super().__init__(lab)
        self.device.run("sysctl", "-qw", "net.ipv6.conf.all.forwarding=1")
        for address, inner in (("2001:db8::1/64", "d0"), ("2001:db8:9::1/64", "d1")):
            self.device.ip("address", "add", address, "dev", inner, "nodad")
        mac = self.tester.mac("veth1")
        self.device.ip("neigh", "add", "2001:db8:9::2", "lladdr", mac, "dev", "d1", "nud", "permanent")
        wait_until(lambda: "tentative" not in self.device.ip("-6", "address", "show", "dev", "d0"), "the address")

    def wait_for(self, port=":547 "):
        wait_until(lambda: port in self.device.run("ss", "-lun"), "the server")


@pytest.mark.parametrize("kind", [Dnsmasq6, Kea])
def test_dhcpv6_clients_each_in_a_pair_of_vlans(lab, kind):
    """Each finds the router in its own VLANs (dnsmasq advertises one), or has the port's gateway (Kea, with prefixes); streams and sessions
    are in them."""
    need("tshark")
    network = Network6(lab)
    server = kind(network)
    capture = Capture(lab, network.gateway.namespace, "trunk", snap=500, rule="")
    dhcp = {"clients": CLIENTS, "rate": "200/s", "vlans": VLANS, **({"prefix": 56} if kind is Kea else {})}
    # The port's own host is in no VLAN, where nobody is.
    router = {"2001:db8::1": network.device.mac("d0")}
    own = {"ip": "2001:db8::2/64", "gateway": "2001:db8::1", "gateway_mac": router} if kind is Kea else {}
    west = {"device": "afpacket:veth0", "dhcpv6": dhcp, **own}
    ports = {"west": west, "east": {"device": "afpacket:veth1", "ip": "2001:db8:9::2/64", "gateway": "2001:db8:9::1"}}
    packet = ["ipv6", {"udp": {"dst": 9}}]
    one = {"name": "up", "from": "west", "from_host": "dhcp", "to": "east", "packet": packet, "size": "100B", "rate": "120pps", "count": 10 * CLIENTS}
    entry = {
        "name": "web", "client": {"port": "west", "addresses": "dhcp"}, "server": {"port": "east", "ports": 80},
        "app": {"http": {"response": "5KB", "requests": 2}}, "open": "40/s", "count": 4 * CLIENTS, "mtu": 1_492,
    }  # fmt: skip
    profile = lab.profile(ports, [one], sessions=[entry], load={"duration": "3s", "drain": "500ms"})
    result = lab.eagre("run", profile, "--json", "-", ns=network.tester, timeout=200).ok().json
    row = result["ports"]["west"]["dhcpv6"]
    assert row["bound"] == CLIENTS and row["conflicts"] == row["duplicates"] == 0, row
    assert row.get("router", "").startswith("fe80::") == (kind is Dnsmasq6), row
    stream = result["streams"]["up"]
    assert stream["tx"] == stream["rx"] == 10 * CLIENTS and stream["lost"] == 0, stream
    assert result["sessions"]["web"]["completed"] == 4 * CLIENTS, result["sessions"]["web"]
    tags, dropped = network.gateway.end()
    assert {n: tags[n] for n in range(CLIENTS)} == {n: [[0x88A8, outer], [0x8100, inner]] for n, (outer, inner) in enumerate(PAIRS)}, tags
    if kind is Dnsmasq6:
        assert dropped == 0 and len(tags) == CLIENTS, (tags, dropped)
        soliciting = capture.fields("icmpv6.type == 133", "ieee8021ad.id", "vlan.id")
        assert set(soliciting) == {(str(outer), str(inner)) for outer, inner in PAIRS}, soliciting
    asked = capture.fields("dhcpv6.msgtype == 1", "ieee8021ad.id", "vlan.id", "eth.src")
    assert {(int(outer), int(inner)) for outer, inner, _ in asked} == set(PAIRS) and len({mac for *_, mac in asked}) == CLIENTS, asked
    assert server.process.poll() is None


def test_a_single_vlan_each(lab):
    """Tags of the type that the profile sets; clients ping through them."""
    network = Network(lab)
    bras = network.bras()
    pppoe = {"clients": 3, "timeout": "30s", "user": "u{n}", "password": "p{n}", "vlans": {"inner": "7..9", "vlan_type": "0x9100"}}
    ports = {"west": {"device": "afpacket:veth0", "pppoe": pppoe}, "east": {"device": "afpacket:veth1", "ip": "10.9.0.2/24", "gateway": "10.9.0.1"}}
    process = start(network, ports, [up(60, 30)], duration="3s")
    say(process, *(f"ping west 10.9.0.1 host=pppoe[{n}]" for n in range(3)))
    done = finish(network, process)
    done.ok()
    assert done.err.count("ping from 100.64.0.") == 3, done.err
    assert len(bras.tell()["ended"]) == 3
    tags, dropped = network.gateway.end()
    assert (tags, dropped) == ({n: [[0x9100, 7 + n]] for n in range(3)}, 0)


def test_bad_vlans_of_clients(lab):
    ports = {"west": {"device": "ring:a", "dhcp": {"clients": 10, "vlans": {"outer": 5, "inner": "1..4"}, "circuit_id": "{outer}"}}}

    def refused(*said, **keys):
        dhcp = {key: value for key, value in {**ports["west"]["dhcp"], **keys}.items() if value is not None}
        profile = lab.profile({"west": {**ports["west"], "dhcp": dhcp}}, [], load={"duration": "1s"})
        lab.eagre("check", profile).refused(2, *said)

    refused("ports.west.dhcp.vlans", "4 pairs of VLANs for 10 clients")
    refused("ports.west.dhcp.vlans.inner", "1 to 4094", vlans={"inner": "1..4095"})
    refused("ports.west.dhcp.circuit_id", "single VLAN", vlans={"inner": "1..10"})
    refused("ports.west.dhcp.circuit_id", "in no VLAN", vlans=None)
    slaac = {"west": {"device": "ring:a", "dhcpv6": {"clients": 3, "address": "slaac", "vlans": {"inner": "1..3"}}}}
    profile = lab.profile(slaac, [], load={"duration": "1s"})
    lab.eagre("check", profile).refused(2, "ports.west.dhcpv6.vlans", "share one link and its prefix")
    few = {"west": {"device": "ring:a", "dhcpv6": {"clients": 4, "vlans": {"outer": 1, "inner": "1..3"}}}}
    lab.eagre("check", lab.profile(few, [], load={"duration": "1s"})).refused(2, "ports.west.dhcpv6.vlans", "3 pairs of VLANs for 4 clients")
