"""Several hosts behind one port, each with addresses, hardware address, VLANs and gateways of its own, before a kernel."""

import json
import signal

import capture
import pytest
from hosts import PYTHON, Served, Trunk
from lab import REPO, settled, wait_until
from server import Server

IPV4, IPV6, ARP = 0x0800, 0x86DD, 0x0806
BLUE = "02:00:00:00:00:77"
HOSTS = [
    {
        "name": "red",
        "vlan": 10,
        "ip": ["10.0.10.2/24", "10.0.10.3/24", "2001:2:0:10::2/64"],
        "gateway": ["10.0.10.1", "2001:2:0:10::1"],
    },
    {"name": "blue", "vlan": 20, "mac": BLUE, "ip": "10.0.20.2/24", "gateway": "10.0.20.1"},
    {"name": "many", "vlan": 20, "count": 3, "ip": "10.0.20.10/24", "gateway": "10.0.20.1"},
]
WEST = {"device": "afpacket:veth0", "ip": "10.0.0.2/24", "gateway": "10.0.0.1", "hosts": HOSTS}


@pytest.fixture
def trunk(lab):
    return Trunk(lab)


def test_a_kernel_finds_each_host_in_its_vlan(lab, trunk):
    """Every host answers ARP, neighbour discovery and ping with its own hardware address, and in no other VLAN."""
    profile = lab.profile({"west": WEST}, [], load={"duration": "60s", "drain": "0s"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=trunk.tester)
    wait_until(lambda: process.poll() is not None or trunk.pings("10.0.0.2"), "the port's own host", 20)
    assert process.poll() is None, process.communicate()[1]
    red = ["10.0.10.2", "10.0.10.3", "2001:2:0:10::2"]
    many = ["10.0.20.10", "10.0.20.11", "10.0.20.12"]
    assert all(trunk.pings(address) for address in [*red, "10.0.20.2", *many])
    known = trunk.known()
    assert len({known[address] for address in red}) == 1
    assert known["10.0.20.2"] == BLUE
    macs = [known[address] for address in ["10.0.0.2", "10.0.10.2", "10.0.20.2", *many]]
    assert len(set(macs)) == 6, known
    assert macs[0] == trunk.tester.mac("veth0")
    assert all(mac.startswith("02:") for mac in macs[1:])
    trunk.router.ip("route", "add", "10.0.20.11/32", "dev", "r10")
    assert not trunk.pings("10.0.20.11"), "a host of VLAN 20 answers in VLAN 10"
    process.send_signal(signal.SIGINT)
    lab.finish(process, 20)
    seen = trunk.seen()
    asked = {vlan: set(seen[vlan, ARP]) for vlan in Trunk.VLANS}
    assert asked == {0: {macs[0]}, 10: {macs[1]}, 20: set(macs[2:])}, "each asks and answers where it is"


def test_streams_of_hosts_go_by_their_own_gateways_and_come_back(lab, trunk):
    """From VLAN to VLAN through the kernel's router, on one port: the sender's address and tag there, and none is lost."""

    def stream(name, src, dst, **rest):
        packet = [{"ipv4": {"src": src, "dst": dst}}, "udp"]
        return {"name": name, "from": "west", "to": "west", "packet": packet, "rate": "200pps", "count": 100, **rest}

    streams = [
        stream("there", "10.0.10.2", "10.0.20.2"),
        stream("back", "10.0.20.2", "10.0.10.3"),
        stream("own", "10.0.0.2", "10.0.20.11"),
        stream("each", None, "10.0.10.2", copies=3, per_copy={"ipv4.src": "10.0.20.10..10.0.20.12"}),
    ]
    del streams[3]["packet"][0]["ipv4"]["src"]
    profile = lab.profile({"west": WEST}, streams, load={"duration": "3s", "drain": "1s"})

    def check(done):
        result = done.result()
        for name in ("there", "back", "own", "each[0]", "each[1]", "each[2]"):
            one = result["streams"][name]
            assert (one["tx"], one["rx"], one["lost"]) == (100, 100, 0), name

    settled(lambda: lab.eagre("run", profile, "--json", "-", ns=trunk.tester), check)
    known, seen = trunk.known(), trunk.seen()
    sent = {vlan: {mac for mac, count in seen[vlan, IPV4].items() if count >= 100} for vlan in Trunk.VLANS}
    many = {known[f"10.0.20.{n}"] for n in (10, 11, 12)}
    assert sent == {0: {trunk.tester.mac("veth0")}, 10: {known["10.0.10.2"]}, 20: {BLUE} | many}
    assert len(many) == 3


def test_hosts_ping_from_their_vlans(lab, trunk):
    """By name or by what is nearest to the target, with the host's own hardware address and gateway."""
    server = Server(lab, ns=trunk.tester)
    run = server.start(profile={"ports": {"west": WEST}, "streams": [], "load": {"duration": "60s"}}, keep=False)

    def ping(to, **rest):
        answer = server.ask("POST", f"/api/v1/runs/{run['id']}/pings", {"port": "west", "to": to, **rest}, timeout=60)
        assert answer.status == 200, answer
        said = answer.json()
        return said["answered"], said["from"], said["via"]

    assert ping("10.0.20.1") == (True, "10.0.20.2", "10.0.20.1")
    assert ping("10.0.20.1", host="red") == (True, "10.0.10.2", "10.0.10.1")
    assert ping("10.0.10.1", **{"from": "10.0.10.3"}) == (True, "10.0.10.3", "10.0.10.1")
    assert ping("2001:2:0:10::1") == (True, "2001:2:0:10::2", "2001:2:0:10::1")
    assert ping("10.0.20.12", host="red")[0], "one host of the port pings another through the router"
    quick = {"attempts": 1, "timeout_s": 0.2}
    assert ping("10.0.20.99", host="blue", **quick) == (False, "10.0.20.2", "10.0.20.99")
    answer = server.ask("POST", f"/api/v1/runs/{run['id']}/pings", {"port": "west", "to": "10.0.0.1", "host": "green"})
    assert "port 'west' has no host 'green'" in str(answer.json())
    known, seen = trunk.known(), trunk.seen()
    assert known["10.0.20.2"] == BLUE and known["10.0.10.2"] in seen[10, IPV4]


def test_sessions_are_the_hosts_whose_address_they_have(lab, trunk):
    """A connection from a host in a VLAN to the kernel's server there and to one behind its router."""
    kernel = Served(lab, trunk.router, "kernel_server.py")

    def entry(name, client, server):
        return {
            "name": name,
            "client": {"port": "west", "addresses": client},
            "server": {"addresses": server, "ports": 7},
            "app": {"echo": {"request": "100B"}},
            "open": "20/s",
            "mtu": 1400,
            "count": 3,
        }

    sessions = [entry("red", "10.0.10.3", "10.0.10.1"), entry("blue", "10.0.20.2", "10.0.0.1")]
    load = {"duration": "10s", "drain": "300ms"}
    profile = lab.profile({"west": WEST}, None, sessions=sessions, load=load)
    result = lab.eagre("run", profile, "--json", "-", ns=trunk.tester).ok().json
    assert [result["sessions"][name]["completed"] for name in ("red", "blue")] == [3, 3]
    assert kernel.seen()["7"]["accepted"] == 6
    known, seen = trunk.known(), trunk.seen()
    assert set(seen[10, IPV4]) == {known["10.0.10.3"]}
    assert set(seen[20, IPV4]) == {BLUE}
    assert (0, IPV4) not in seen


PAIR = [
    {"name": "red", "vlan": 10, "ip": ["10.0.10.2/24", "2001:2:0:10::2/64"], "gateway": ["10.0.10.1", "2001:2:0:10::1"]},
    {"name": "blue", "vlan": 20, "mac": BLUE, "ip": ["10.0.20.2/24", "2001:2:0:20::2/64"], "gateway": ["10.0.20.1", "2001:2:0:20::1"]},
]
MULTIHOMED = pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])
KINDS = pytest.mark.parametrize("kind", ["afpacket", "afxdp"])


def summed(side):
    """The rows of a side's hosts make up the side."""
    for key in ("attempted", "completed", "requests", "transactions", "rx_bytes_goodput", "tx_bytes_goodput"):
        assert sum(host[key] for host in side["hosts"].values()) == side[key], key
    return {name: host["completed"] for name, host in side["hosts"].items()}


@KINDS
@MULTIHOMED
def test_several_hosts_are_the_clients_of_one_entry(lab, trunk, kind, v6):
    """Each in its VLAN, with its hardware address and by its gateway, to the kernel's server in a third; told apart in the result."""
    kernel = Served(lab, trunk.router, "kernel_server.py")
    server = "2001:2:0::1" if v6 else "10.0.0.1"
    entry = {
        "name": "s",
        "client": {"port": "west", "hosts": ["red", "blue"]},
        "server": {"addresses": server, "ports": 7},
        "app": {"echo": {"request": "100B"}},
        "open": "100/s",
        "mtu": 1400,
        "count": 30,
    }
    ports = {"west": {"device": f"{kind}:veth0", "hosts": PAIR}}
    wanted = {"sessions.s.client.hosts.blue.completed": ">= 15", "sessions.s.client.hosts.red.ttlb_ns.max": "< 10s"}
    profile = lab.profile(ports, None, sessions=[entry], load={"duration": "10s", "drain": "300ms"}, criteria=wanted)
    result = lab.eagre("run", profile, "--json", "-", ns=trunk.tester).ok().json
    one = result["sessions"]["s"]
    assert summed(one["client"]) == {"red": 15, "blue": 15}, one
    assert all(criterion["outcome"] != "not_met" for criterion in result["criteria"]), result["criteria"]
    assert kernel.seen()["7"]["accepted"] == one["completed"] == 30
    seen, kind = trunk.seen(), IPV6 if v6 else IPV4
    assert max(seen[20, kind], key=seen[20, kind].get) == BLUE
    assert BLUE not in seen[10, kind] and seen[10, kind].keys() != seen[20, kind].keys()


@KINDS
@MULTIHOMED
def test_several_hosts_are_the_servers_of_one_entry(lab, trunk, kind, v6):
    """The kernel's clients reach both, and each counts its own; by name, or by the addresses they have."""
    end = {"addresses": ["2001:2:0:20::2", "2001:2:0:10::2"]} if v6 else {"hosts": ["blue", "red"]}
    entry = {"name": "s", "server": {"port": "west", **end}, "app": "echo", "mtu": 1400}
    ports = {"west": {"device": f"{kind}:veth0", "hosts": PAIR}}
    profile = lab.profile(ports, None, sessions=[entry], load={"duration": "60s", "drain": "300ms"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=trunk.tester)
    wait_until(lambda: process.poll() is not None or trunk.pings("10.0.20.2"), "a host", 20)
    assert process.poll() is None, process.communicate()[1]
    addresses = [f"2001:2:0:{vlan}::2" if v6 else f"10.0.{vlan}.2" for vlan in (10, 20)]
    for address, count in zip(addresses, (10, 20), strict=True):
        said = {"address": address, "port": 7, "count": count, "concurrent": 5, "size": 500}
        outcome = trunk.router.run(PYTHON, REPO / "tests/kernel_client.py", "many", json.dumps(said))
        assert json.loads(outcome) == {"ok": count}
    process.send_signal(signal.SIGINT)
    one = lab.finish(process, 20).json["sessions"]["s"]
    assert summed(one["server"]) == {"blue": 20, "red": 10}, one


def test_clients_behind_hosts_have_their_vlan_and_next_hop(lab, trunk):
    """Networks behind two hosts, as their routers: each client in its host's VLAN, with its hardware address, to the hop that is
    given for it; the kernel routes the answers back."""
    kernel = Served(lab, trunk.router, "kernel_server.py")
    trunk.router.ip("route", "add", "16.0.0.0/24", "via", "10.0.10.2")
    trunk.router.ip("route", "add", "16.0.1.0/32", "via", "10.0.10.2")
    trunk.router.ip("route", "add", "16.0.1.0/24", "via", "10.0.20.2")
    entry = {
        "name": "s",
        "client": {
            "port": "west",
            "addresses": "16.0.0.250..16.0.1.9",
            "hosts": {"blue": "16.0.1.0/24", "red": ["16.0.0.250..16.0.1.0", "16.0.0.1"]},
            # The other one resolves its gateway.
            "mac": {"blue": trunk.router.mac("r20")},
        },
        "server": {"addresses": "10.0.0.1", "ports": 7},
        "app": {"echo": {"request": "100B"}},
        "open": "100/s",
        "mtu": 1400,
        "count": 32,
    }
    blue = {key: value for key, value in PAIR[1].items() if key != "gateway"}
    ports = {"west": {"device": "afpacket:veth0", "hosts": [PAIR[0], blue]}}
    profile = lab.profile(ports, None, sessions=[entry], load={"duration": "10s", "drain": "300ms"})
    result = lab.eagre("run", profile, "--json", "-", ns=trunk.tester).ok().json
    one = result["sessions"]["s"]
    assert summed(one["client"]) == {"blue": 18, "red": 14}, one
    assert kernel.seen()["7"]["accepted"] == 32
    seen, known = trunk.seen(), trunk.known()
    assert max(seen[20, IPV4], key=seen[20, IPV4].get) == BLUE
    assert max(seen[10, IPV4], key=seen[10, IPV4].get) == known["10.0.10.2"]


def test_the_same_servers_are_behind_hosts_in_several_vlans(lab):
    """Two groups of clients meet the same servers, each in its own VLAN; every frame of a session is in its clients' VLAN."""
    west = {"device": "ring:a", "hosts": [{"name": "red", "vlan": 10, "ip": "16.0.0.1/32"}, {"name": "blue", "vlan": 20, "ip": "16.0.1.1/32"}]}
    east = {"device": "ring:b", "hosts": [{"name": "one", "vlan": 10, "ip": "48.0.0.1/32"}, {"name": "two", "vlan": 20, "ip": "48.0.0.1/32"}]}
    servers = "48.0.0.1..48.0.0.3"
    hop = "02:00:00:00:09:09"
    entry = {
        "name": "s",
        "client": {
            "port": "west",
            "hosts": {"red": "16.0.0.1..16.0.0.4", "blue": "16.0.1.1..16.0.1.2"},
            "mac": {"red": hop, "blue": hop},
        },
        "server": {"port": "east", "addresses": servers, "hosts": {"one": servers, "two": servers}},
        "order": "in_step",
        "app": {"echo": {"request": "100B"}},
        "open": "100/s",
        "count": 12,
    }
    east["hosts"][0]["mac"] = east["hosts"][1]["mac"] = hop
    profile = lab.profile({"west": west, "east": east}, None, sessions=[entry], load={"duration": "1s", "drain": "100ms"})
    pcap = lab.folder() / "sessions.pcap"
    result = lab.eagre("sim", profile, "--dut", "wire", "--pcap", pcap, "--json", "-").ok().json
    one = result["sessions"]["s"]
    assert summed(one["client"]) == {"red": 8, "blue": 4} and summed(one["server"]) == {"one": 8, "two": 4}, one
    tags, pairs = {}, set()
    for _, frame in capture.records(pcap):
        if frame[12:14] == b"\x81\x00" and frame[16:18] == b"\x08\x00":
            client, server = sorted(frame[30:38][place : place + 4] for place in (0, 4))
            tags.setdefault(client[2], set()).add(int.from_bytes(frame[14:16], "big"))
            pairs.add((client[2:], server[3]))
    assert tags == {0: {10}, 1: {20}}, tags
    clients = [bytes([0, n]) for n in (1, 2, 3, 4)] + [bytes([1, n]) for n in (1, 2)]
    assert pairs == {(clients[number % 6], number % 3 + 1) for number in range(12)}, pairs


def test_the_addresses_of_one_host_have_no_rows(lab):
    """A side that is one host says nothing of hosts; a criterion that names an unknown one is refused."""
    ports = {"west": {"device": "ring:a", "ip": "10.0.0.2/24"}, "east": {"device": "ring:b", "ip": "10.0.0.3/24"}}
    entry = {"name": "s", "client": {"port": "west"}, "server": {"port": "east"}, "app": "echo", "open": "100/s", "count": 5}
    profile = lab.profile(ports, None, sessions=[entry], load={"duration": "1s"})
    one = lab.eagre("run", profile, "--json", "-").ok().json["sessions"]["s"]
    assert one["completed"] == 5 and "hosts" not in one["client"] and "hosts" not in one["server"]
    wanted = {"sessions.s.client.hosts.green.completed": "> 0"}
    profile = lab.profile(ports, None, sessions=[entry], criteria=wanted)
    lab.eagre("check", profile).refused(2, "unknown host of these sessions 'green'")


def test_a_gateway_whose_address_is_given_is_not_asked(lab, trunk):
    """Its hardware address goes into frames; nobody answers for it."""
    given = {"10.0.30.1": "02:00:00:00:00:99"}
    host = {"vlan": 30, "ip": "10.0.30.2/24", "gateway": "10.0.30.1", "gateway_mac": given}
    ports = {"west": {"device": "afpacket:veth0", "hosts": [host]}}
    packet = [{"ipv4": {"src": "10.0.30.2", "dst": "10.9.0.1"}}, "udp"]
    stream = {"name": "s", "from": "west", "packet": packet, "rate": "1kpps", "count": 50}
    profile = lab.profile(ports, [stream], load={"duration": "1s", "drain": "0s"})
    lab.eagre("run", profile, "--json", "-", ns=trunk.tester).ok()
    seen = trunk.seen()
    assert (30, ARP) not in seen and sum(seen[30, IPV4].values()) == 50
    alone = {"device": "ring:a", "hosts": [{**host, "gateway_mac": {}}]}
    profile = lab.profile({"west": alone}, [stream])
    lab.eagre("sim", profile, "--dut", "wire").refused(3, "port west: no reply from 10.0.30.1 (requested by host host1)")


def test_hundreds_of_hosts_find_their_gateway(lab, trunk):
    """Each asks and is answered, and a packet from each reaches the kernel."""
    # A kernel knows 512 neighbours before it forgets some.
    count = 400
    trunk.router.ip("address", "add", "10.20.0.1/16", "dev", "r20")
    hosts = [{"count": count, "vlan": 20, "ip": "10.20.1.0/16", "gateway": "10.20.0.1"}]
    packet = [{"ipv4": {"dst": "10.0.0.2"}}, "udp"]
    last = f"10.20.{1 + (count - 1) // 256}.{(count - 1) % 256}"
    copies = {"copies": count, "per_copy": {"ipv4.src": f"10.20.1.0..{last}"}}
    stream = {"name": "s", "from": "west", "to": "west", "packet": packet, "rate": "10pps", "count": 1, **copies}
    port = {"device": "afpacket:veth0", "ip": "10.0.0.2/24", "gateway": "10.0.0.1", "hosts": hosts}
    profile = lab.profile({"west": port}, [stream], load={"duration": "2s", "drain": "1s"})
    lab.eagre("run", profile, "--json", "-", ns=trunk.tester).ok()
    known = {ip: mac for ip, mac in trunk.known().items() if ip.startswith("10.20.")}
    seen = trunk.seen()
    assert set(seen[20, ARP]) == set(known.values()) and len(set(known.values())) == len(known) == count
    assert len(seen[20, IPV4]) == count
