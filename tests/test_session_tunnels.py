"""Sessions in tunnels: both ends in one, a kernel's VXLAN device, Open vSwitch, and what is wrong with a profile."""

import copy
import time

import pytest
from hosts import FORM, Capture, Host
from lab import WEST4, WEST6, WEST_ROUTER4, WEST_ROUTER6, call, need, pair, wait_until
from ovs import Ovs
from servers import OBJECTS, Nginx
from sessions import all_through, check, of

FAMILIES = pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])
OUTER = {False: ("192.0.2.1", "192.0.2.2"), True: ("2001:db8::1", "2001:db8::2")}
INNER = {False: ("10.9.0.1..10.9.0.9", "10.9.0.100..10.9.0.104"), True: ("2001:db8:9::1..2001:db8:9::9", "2001:db8:9::64..2001:db8:9::68")}
RAW = {"raw": {"request": "300B", "response": "20KB", "requests": 2}}
CLIENTS = 9

# By name: the tunnel of clients, that of servers if it is another, and what an analyser calls it.
KINDS = {
    "vxlan": ({"vxlan": {"vni": 100}}, None, "vxlan"),
    "geneve": ({"geneve": {"vni": 16_777_215}}, None, "geneve"),
    "gre": ({"gre": {}}, None, "gre"),
    "gre key": ({"gre": {"key": 77}}, None, "gre"),
    "gre ethernet": ({"gre": {"key": 78, "ethernet": True}}, None, "gre"),
    "ipip": ({"ipip": {}}, None, None),
    "gtpu": ({"gtpu": {"teid": 5}}, None, "gtp"),
    "gtpu per client": (
        {"gtpu": {"teid": 1000, "own_teid": 2000, "per_client": True, "qfi": 9}},
        {"gtpu": {"teid": 2000, "own_teid": 1000, "per_client": True, "qfi": 9}},
        "gtp",
    ),
}
ETHERNET = ("vxlan", "geneve", "gre ethernet")
# Overhead of a tunnel within an MTU of 1500 over IPv4.
OVERHEAD = {"vxlan": 50, "geneve": 50, "gre": 24, "gre key": 28, "gre ethernet": 42, "ipip": 20, "gtpu": 36, "gtpu per client": 44}


def ring(kind, outer_v6=False, inner_v6=False, **more):
    """Ports and an entry, both ends of which are in a tunnel."""
    (west, east), (clients, servers) = OUTER[outer_v6], INNER[inner_v6]
    mask = 64 if outer_v6 else 24
    ports = pair()
    ports["west"] |= {"ip": f"{west}/{mask}"}
    ports["east"] |= {"ip": f"{east}/{mask}"}
    near, far, _ = copy.deepcopy(KINDS[kind])
    entry = {
        "name": "s",
        "client": {"port": "west", "addresses": clients, "tunnel": {**near, "to": east}},
        "server": {"port": "east", "addresses": servers, "ports": 9000, "tunnel": {**(far or copy.deepcopy(near)), "to": west}},
        "app": RAW,
        "verify": True,
        "open": "400/s",
        "count": 100,
        **more,
    }
    return ports, entry


def run(lab, ports, *entries, ns=None, duration="10s", arguments=(), **rest):
    profile = lab.profile(ports, None, sessions=list(entries), load={"duration": duration, "drain": "1s"}, **rest)
    return lab.eagre("run", profile, "--json", "-", *arguments, ns=ns)


def decoded(file, rule, *names):
    """Fields of captured packets as an analyser reads them, with checksums verified."""
    need("tshark")
    verify = [word for name in ("ip", "udp", "tcp") for word in ("-o", f"{name}.check_checksum:TRUE")]
    wanted = [word for name in names for word in ("-e", name)]
    out = call("tshark", "-r", file, *verify, "-Y", rule, "-T", "fields", *FORM, *wanted, timeout=120)
    return [tuple(line.split("\t")) for line in out.splitlines()]


# Both ends in tunnels.


@pytest.mark.parametrize("families", [(False, False), (False, True), (True, False), (True, True)], ids=["4in4", "6in4", "4in6", "6in6"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_byte_passes(lab, kind, families):
    """Sessions complete, contents are compared byte by byte, and an analyser reads what was sent."""
    outer_v6, inner_v6 = families
    ports, entry = ring(kind, *families, count=2 * CLIENTS)
    file = lab.folder() / "west.pcap"
    ports["west"]["capture"] = {"file": str(file), "direction": "both"}
    done = run(lab, ports, entry)
    requests = 2 * 2 * CLIENTS
    one = all_through(of(done), 2 * CLIENTS, transactions=requests)
    assert one["rx_bytes_goodput"] == requests * 20_000 and one["tx_bytes_goodput"] == requests * 300
    name = KINDS[kind][2]
    outer, inner = ("ipv6" if outer_v6 else "ip"), ("ipv6" if inner_v6 else "ip")
    tcp = decoded(file, "tcp", "frame.protocols", f"{outer}.src", "ip.checksum.status", "tcp.checksum.status", "_ws.malformed")
    assert len(tcp) > 100
    for protocols, sources, ip_sums, tcp_sums, malformed in tcp:
        shown = protocols.split(":")
        assert shown[1:4:2] == ["ethertype", "udp"] if name in ("vxlan", "geneve", "gtp") else shown[1] == "ethertype", protocols
        assert (name is None or name in shown) and shown.count("tcp") == 1, protocols
        assert [word for word in shown if word in ("ip", "ipv6")] == [outer, inner], protocols
        assert sources.split("|")[0] in OUTER[outer_v6] and not malformed
        assert set(ip_sums.split("|")) <= {"1", ""} and tcp_sums == "1", (ip_sums, tcp_sums)


def test_identifiers_are_as_asked_for(lab):
    for kind, rule, field, expected in [
        ("vxlan", "tcp", "vxlan.vni", {"100"}),
        ("geneve", "tcp", "geneve.vni", {"0xffffff"}),
        ("gre key", "tcp", "gre.key", {"0x0000004d"}),
        ("gtpu per client", f"tcp && ip.src == {OUTER[False][0]}", "gtp.teid", {f"0x{1000 + n:08x}" for n in range(CLIENTS)}),
        ("gtpu per client", f"tcp && ip.src == {OUTER[False][1]}", "gtp.teid", {f"0x{2000 + n:08x}" for n in range(CLIENTS)}),
    ]:
        ports, entry = ring(kind)
        file = lab.folder() / "west.pcap"
        ports["west"]["capture"] = {"file": str(file), "direction": "both"}
        all_through(of(run(lab, ports, entry)), 100)
        assert {value for (value,) in decoded(file, rule, field)} == expected, kind


def test_outer_headers(lab):
    """TTL and DSCP; source ports that follow flows, or one; no UDP checksum over IPv4, a right one over IPv6."""
    ports, entry = ring("vxlan")
    entry["client"]["tunnel"] |= {"dscp": 46, "ttl": 9}
    entry["server"]["tunnel"]["vxlan"] |= {"source_port": 4000, "udp_port": 8472}
    entry["client"]["tunnel"]["vxlan"] |= {"udp_port": 8472}
    file = lab.folder() / "west.pcap"
    ports["west"]["capture"] = {"file": str(file), "direction": "both"}
    all_through(of(run(lab, ports, entry)), 100)
    rule = "-d", "udp.port==8472,vxlan"
    names = ("ip.ttl", "ip.dsfield.dscp", "udp.srcport", "udp.dstport", "udp.checksum", "tcp.stream", "ip.src")
    wanted = [word for name in names for word in ("-e", name)]
    out = call("tshark", "-r", file, *rule, "-Y", "tcp", "-T", "fields", *FORM, *wanted)
    rows = [line.split("\t") for line in out.splitlines()]
    ours = [row for row in rows if row[6].startswith(OUTER[False][0])]
    assert {(row[0].split("|")[0], row[1].split("|")[0]) for row in ours} == {("9", "46")}
    assert {row[3] for row in rows} == {"8472"} and {row[4] for row in rows} == {"0x0000"}
    flows = {(row[5], row[2]) for row in ours}
    assert len(flows) == len({stream for stream, _ in flows}), "a flow keeps its port"
    assert len({port for _, port in flows}) > 50 and all(int(port) >= 49152 for _, port in flows)
    assert {row[2] for row in rows if row not in ours} == {"4000"}
    ports, entry = ring("geneve", outer_v6=True)
    ports["west"]["capture"] = {"file": str(file), "direction": "both"}
    all_through(of(run(lab, ports, entry)), 100)
    assert {status for (status,) in decoded(file, "tcp", "udp.checksum.status")} == {"1"}


@pytest.mark.parametrize("kind", KINDS)
def test_packets_fill_the_mtu_and_no_more(lab, kind):
    """By default what the MTU leaves."""
    ports, entry = ring(kind, app={"bulk": {"from": "client", "bytes": "100KB"}}, count=3, verify=False)
    file = lab.folder() / "west.pcap"
    ports["west"]["capture"] = {"file": str(file), "direction": "both"}
    all_through(of(run(lab, ports, entry)), 3)
    lengths = [tuple(map(int, lengths.split("|")[:2])) for (lengths,) in decoded(file, "tcp", "ip.len")]
    assert max(lengths) == (1500, 1500 - OVERHEAD[kind])


def test_vlans_outside_and_inside(lab):
    """The outer VLAN is that of the port's host, the inner one that of the clients."""
    ports, entry = ring("vxlan", vlan=200)
    ports["west"]["vlan"] = ports["east"]["vlan"] = 7
    file = lab.folder() / "west.pcap"
    ports["west"]["capture"] = {"file": str(file), "direction": "both"}
    all_through(of(run(lab, ports, entry)), 100)
    assert {row for row in decoded(file, "tcp", "vlan.id")} == {("7|200",)}


@pytest.mark.parametrize("app", [RAW, {"http": {"response": "20KB", "requests": 2}}])
@pytest.mark.parametrize("kind", ["vxlan", "gtpu per client", "ipip"])
def test_two_workers(lab, kind, app):
    """Frames come to any worker, by the card's hash of outer headers; each flow has one."""
    tester, other = lab.netns("tester"), lab.netns("other")
    bridge = ["ip", "link", "add", "br0", "type", "bridge"]
    call(*other.command(*bridge))
    other.ip("link", "set", "br0", "up")
    for number in (0, 1):
        lab.veth(tester, f"veth{number}", other, f"b{number}")
        other.ip("link", "set", f"b{number}", "master", "br0")
    ports, entry = ring(kind, app=app)
    ports = {name: port | {"device": f"afpacket:veth{number}"} for number, (name, port) in enumerate(ports.items())}
    done = run(lab, ports, entry, ns=tester, arguments=("--cores", "2"))
    all_through(of(done), 100, transactions=200)
    assert len(done.json["workers"]) == 2


def test_networks_keep_the_same_addresses_apart(lab):
    """Two entries with the same addresses, in two networks, on the same ports; each has its own servers."""
    ports, first = ring("vxlan", name="first")
    _, second = ring("vxlan", name="second", app={"http": {"response": "1KB"}})
    for end in ("client", "server"):
        second[end]["tunnel"] = {**second[end]["tunnel"], "vxlan": {"vni": 101}}
    done = run(lab, ports, first, second)
    for name in ("first", "second"):
        all_through(of(done, name), 100)


def test_datagrams_longer_than_the_mtu(lab):
    """Inside a tunnel they are cut and put together."""
    for kind in ("vxlan", "gre"):
        ports, entry = ring(kind, transport="udp", app={"raw": {"request": "100B", "response": "6KB", "requests": 1}}, count=20)
        done = run(lab, ports, entry)
        all_through(of(done), 20)
        assert done.json["ports"]["west"]["fragments"]["reassembled"] == 20


def test_it_is_simulated(lab):
    ports, entry = ring("vxlan")
    profile = lab.profile(ports, None, sessions=[entry], load={"duration": "2s", "drain": "1s"})
    file = lab.folder() / "sim.pcap"
    done = lab.eagre("sim", profile, "--seed", "1", "--json", "-", "--pcap", file)
    all_through(of(done), 100, transactions=200)
    assert {vni for (vni,) in decoded(file, "tcp", "vxlan.vni")} == {"100"}


def test_the_wrong_network_is_counted(lab):
    """Servers in another one are not reached: no host inside replies."""
    ports, entry = ring("vxlan")
    entry["server"]["tunnel"]["vxlan"] = {"vni": 9}
    run(lab, ports, entry).refused(3, "no reply from 10.9.0.100 (requested inside VXLAN 100 to 192.0.2.2)")
    ports, entry = ring("gtpu", count=5)
    entry["server"]["tunnel"]["gtpu"] = {"teid": 6}
    done = run(lab, ports, entry, duration="1s")
    assert done.json["sessions"]["s"]["failed"] == {"setup_timeout": 5}
    assert done.json["ports"]["east"]["tunnels"]["unknown"] >= 5


# A kernel's VXLAN device, with all that it leaves to cards.


def vtep(lab, v6=False, vni=100):
    """A kernel with a VXLAN device that leads to the tester, and an address inside."""
    host = Host(lab, offloads=True)
    near, far = (WEST6, WEST_ROUTER6) if v6 else (WEST4, WEST_ROUTER4)
    host.host.ip("link", "add", "vx0", "type", "vxlan", "id", vni, "local", far, "remote", near, "dstport", 4789)
    host.host.ip("link", "set", "vx0", "up")
    for address in ("10.9.0.254/24", "2001:db8:9::254/64"):
        host.host.ip("address", "add", address, "dev", "vx0")
    return host


def tunnel(v6=False):
    return {"vxlan": {"vni": 100}, "to": WEST_ROUTER6 if v6 else WEST_ROUTER4}


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
@pytest.mark.parametrize("inner_v6", [False, True], ids=["inner-ipv4", "inner-ipv6"])
@FAMILIES
def test_clients_reach_nginx_behind_a_kernels_vtep(lab, v6, inner_v6, kind):
    host = vtep(lab, v6)
    Nginx(lab, host.host)
    inside = ("2001:db8:9::1..2001:db8:9::9", "2001:db8:9::254") if inner_v6 else ("10.9.0.1..10.9.0.9", "10.9.0.254")
    path = "/100k"
    entry = {
        "name": "s",
        "client": {"port": "west", "addresses": inside[0], "tunnel": tunnel(v6)},
        "server": {"addresses": inside[1]},
        "app": {"http": {"path": path, "requests": 2}},
        "open": "200/s",
        "count": 60,
    }
    done = host.run(entry, kind=kind)
    one = all_through(of(done), 60, transactions=120)
    assert one["rx_bytes_goodput"] >= 120 * OBJECTS[path]


@pytest.mark.parametrize("inner_v6", [False, True], ids=["inner-ipv4", "inner-ipv6"])
@FAMILIES
def test_curl_reaches_servers_behind_a_kernels_vtep(lab, v6, inner_v6):
    """The kernel resolves the server's hardware address inside the tunnel, and pings it."""
    need("curl", "ping")
    host = vtep(lab, v6)
    address = "2001:db8:9::7" if inner_v6 else "10.9.0.7"
    entry = host.server({"http": {"response": "1KB"}}, server={"addresses": address, "tunnel": tunnel(v6)})
    process = host.start(entry)
    said = wait_until(lambda: host.host.run("ping", "-c", "1", "-W", "1", "-s", "3000", address, check=False), "an answer", 20)
    wait_until(lambda: "1 received" in host.host.run("ping", "-c", "1", "-W", "1", address, check=False), f"a ping: {said}", 20)
    assert "1 received" in host.host.run("ping", "-c", "1", "-W", "2", "-s", "3000", address), "in fragments"
    shown = f"[{address}]" if inner_v6 else address
    form = "%{http_code} %{size_download}\n"
    for size in (1, 65_535, 3_000_000):
        out = host.host.run("curl", "-sS", "-m", "20", "-w", form, "-o", "/dev/null", f"http://{shown}/{size}")
        assert out.split() == ["200", str(size)]
    document = host.served(process)
    assert check(document["sessions"]["s"])["completed"] == 3
    assert document["ports"]["west"]["tunnels"]["received"] > 0


def test_a_routers_gateway_inside(lab):
    """Servers behind the VTEP's kernel, on another network than the clients."""
    host = vtep(lab)
    host.host.ip("address", "add", "10.8.0.1/32", "dev", "lo")
    Nginx(lab, host.host)
    entry = {
        "name": "s",
        "client": {"port": "west", "addresses": "10.9.0.1..10.9.0.9", "tunnel": tunnel() | {"gateway": "10.9.0.254"}},
        "server": {"addresses": "10.8.0.1"},
        "app": {"http": {"path": "/1k"}},
        "open": "200/s",
        "count": 60,
    }
    all_through(of(host.run(entry)), 60)


# Open vSwitch's own datapath between a tunnel and a link.


class Gateway:
    """The tester's `veth0` leads to Open vSwitch's end of tunnels, its `veth1` to a port of the bridge behind."""

    MACS = {"outside": "02:00:00:00:aa:01", "inside": "02:00:00:00:aa:02"}

    def __init__(self, lab, *options):
        self.tester, self.ns = lab.netns("tester"), lab.netns("switch")
        # The kernel of the links does not reply for the bridges' addresses.
        self.ns.sysctl({"net.ipv4.conf.all.arp_ignore": 1})
        for number in (0, 1):
            lab.veth(self.tester, f"veth{number}", self.ns, f"s{number}")
        self.ovs = Ovs(lab, self.ns)
        for bridge in ("outside", "inside"):
            words = ["add-br", bridge, "--", "set", "Bridge", bridge, "datapath_type=netdev", "fail-mode=standalone"]
            # Else it takes that of a link some time after the link joins.
            self.ovs.configure(*words, f"other-config:hwaddr={self.MACS[bridge]}")
            wait_until(lambda bridge=bridge: self.ns.mac(bridge) == self.MACS[bridge], f"the address of {bridge}")
        self.ovs.configure("add-port", "outside", "s0", "--", "add-port", "inside", "s1", "--", "set", "Interface", "s1", "ofport_request=2")
        self.ns.ip("address", "add", f"{WEST_ROUTER4}/24", "dev", "outside")
        for bridge in ("outside", "inside"):
            self.ns.ip("link", "set", bridge, "up")
        words = ["add-port", "inside", "tunnel", "--", "set", "Interface", "tunnel", f"options:remote_ip={WEST4}", "ofport_request=1"]
        self.ovs.configure(*words, *options)

    def flows(self, *flows):
        target = f"unix:{self.ovs.folder}/inside.mgmt"
        self.ovs.run("ovs-ofctl", "-O", "OpenFlow13", "del-flows", target)
        for flow in flows:
            self.ovs.run("ovs-ofctl", "-O", "OpenFlow13", "add-flow", target, flow)

    @staticmethod
    def ports():
        return {
            "west": {"device": "afpacket:veth0", "ip": f"{WEST4}/24"},
            "east": {"device": "afpacket:veth1", "ip": "10.9.0.100/24", "mac": "02:00:00:00:00:99"},
        }


def through_gateway(tunnel, **client):
    return {
        "name": "s",
        "client": {"port": "west", "addresses": "10.9.0.1..10.9.0.9", "tunnel": {**tunnel, "to": WEST_ROUTER4}, **client},
        "server": {"port": "east", "ports": 9000},
        "app": RAW,
        "verify": True,
        "open": "200/s",
        "count": 100,
    }


@pytest.mark.parametrize(
    ("options", "tunnel"),
    [
        (("type=vxlan", "options:key=100"), {"vxlan": {"vni": 100}}),
        (("type=geneve", "options:key=77"), {"geneve": {"vni": 77}}),
        (("type=gre",), {"gre": {"ethernet": True}}),
        (("type=gre", "options:key=5"), {"gre": {"ethernet": True, "key": 5}}),
    ],
    ids=["vxlan", "geneve", "gre", "gre-key"],
)
def test_a_switch_takes_ethernet_out(lab, options, tunnel):
    """Tunnelled clients, plain servers: the switch learns both sides' addresses and floods what it does not know."""
    gateway = Gateway(lab, *options)
    done = run(lab, gateway.ports(), through_gateway(tunnel), ns=gateway.tester)
    all_through(of(done), 100, transactions=200)


@pytest.mark.parametrize(
    ("options", "tunnel", "back"),
    [
        (("type=gre", "options:packet_type=legacy_l3"), {"gre": {}}, ["in_port=2,actions=output:1"]),
        (("type=gre", "options:packet_type=legacy_l3", "options:key=5"), {"gre": {"key": 5}}, ["in_port=2,actions=output:1"]),
        (("type=gtpu", "options:key=7"), {"gtpu": {"teid": 7}}, ["in_port=2,actions=output:1"]),
        (
            ("type=gtpu", "options:key=flow"),
            {"gtpu": {"teid": 1000, "own_teid": 2000, "per_client": True}},
            [f"in_port=2,ip,nw_dst=10.9.0.{n},actions=set_field:{1999 + n}->tun_id,output:1" for n in range(1, 10)],
        ),
    ],
    ids=["gre", "gre-key", "gtpu", "gtpu-per-client"],
)
def test_a_switch_takes_packets_out(lab, options, tunnel, back):
    """The same of tunnels without Ethernet: the switch gives packets the servers' hardware address."""
    gateway = Gateway(lab, *options)
    gateway.flows("in_port=1,actions=set_field:02:00:00:00:00:99->eth_dst,output:2", *back)
    done = run(lab, gateway.ports(), through_gateway(tunnel), ns=gateway.tester)
    all_through(of(done), 100, transactions=200)


# Faults of a profile, or of the device.


@pytest.mark.parametrize(
    ("edit", "path", "reason"),
    [
        (lambda e: e["client"]["tunnel"].pop("vxlan"), "client.tunnel", "a tunnel is one of vxlan, geneve, gre, ipip and gtpu; it has none"),
        (lambda e: e["client"]["tunnel"].update(ipip={}), "client.tunnel", "it has several"),
        (lambda e: e["client"]["tunnel"]["vxlan"].update(vni=1 << 24), "client.tunnel.vxlan.vni", "16777215"),
        (lambda e: e["client"]["tunnel"].update(to="192.0.3.1"), "client.tunnel.to", "192.0.3.1 is not on the network of port 'west' (192.0.2.1/24); give it a gateway"),
        (lambda e: e["client"]["tunnel"].update(to="2001:db8::1"), "client.tunnel.to", "port 'west' has no IPv6 address for its end of the tunnel"),
        (lambda e: e["client"]["tunnel"].update(to="192.0.2.1"), "client.tunnel.to", "is an address of port 'west' itself"),
        (lambda e: e["client"]["tunnel"].update(to="224.0.0.1"), "client.tunnel.to", "is not an IPv4 or IPv6 address"),
        (lambda e: e["client"]["tunnel"].update({"from": "192.0.2.9"}), "client.tunnel.from", "is no address of port 'west'"),
        (lambda e: e["client"].pop("addresses"), "client", "needs 'addresses': those inside it"),
        (lambda e: e["client"].update(hosts="west"), "client.hosts", "in a tunnel"),
        (lambda e: e["server"]["tunnel"].update(gateway="10.9.0.1"), "server.tunnel.gateway", "servers reply to where a session came from"),
        (lambda e: e["server"].pop("port"), "server.tunnel", "applies to an emulated end only"),
        (lambda e: e["client"].update(tunnel={"gre": {}, "to": "192.0.2.2", "gateway": "10.9.0.1"}), "client.tunnel.gateway", "carries no Ethernet"),
        (lambda e: e["client"].update(tunnel={"gre": {}, "to": "192.0.2.2"}, vlan=5), "client.vlan", "carries no Ethernet, so no VLANs"),
        (lambda e: e["client"].update(tunnel={"gre": {}, "to": "192.0.2.2"}, mac="02:00:00:00:00:01"), "client.mac", "carries no Ethernet"),
        (lambda e: e["client"].update(tunnel={"gtpu": {"teid": 4294967290, "per_client": True}, "to": "192.0.2.2"}), "client.tunnel.gtpu.teid", "go beyond the last TEID"),
    ],
)  # fmt: skip
def test_bad_tunnels_are_named(lab, edit, path, reason):
    ports, entry = ring("vxlan")
    edit(entry)
    profile = lab.profile(ports, None, sessions=[entry], load={"duration": "1s"})
    lab.eagre("check", profile).refused(2, f"sessions[0].{path}", reason)


def test_clients_of_somebody_else_have_no_identifiers(lab):
    ports, entry = ring("gtpu per client")
    entry = {"name": "s", "server": entry["server"], "app": RAW}
    profile = lab.profile(ports, None, sessions=[entry], load={"duration": "1s"})
    lab.eagre("check", profile).refused(2, "sessions[0].server.tunnel.gtpu.per_client", "the clients are external")


def test_an_mtu_that_does_not_fit(lab):
    """Both numbers are named."""
    tester, other = lab.netns("tester"), lab.netns("other")
    lab.veth(tester, "veth0", other, "o0", mtu=1400)
    other.ip("address", "add", "192.0.2.2/24", "dev", "o0")
    ports, entry = ring("vxlan")
    ports = {"west": ports["west"] | {"device": "afpacket:veth0"}}
    entry.pop("verify")
    entry["client"] |= {"mac": "02:00:00:00:00:01", "mtu": 1400}
    entry["server"] = {"addresses": "10.9.0.100", "ports": 9000}
    run(lab, ports, entry, ns=tester).refused(3, "need an MTU of 1450, and veth0 has 1400")
    # A kernel's link has room for one VLAN tag more.
    entry["client"]["mtu"] = 1352
    run(lab, ports, entry, ns=tester).refused(
        2, "an MTU of 1352 does not fit VXLAN 100 to 192.0.2.2", "carries IP packets of 1400 bytes, which leaves 1350"
    )
    entry["client"].pop("mtu")
    file = Capture(lab, other, "o0", rule="udp")
    run(lab, ports, entry, ns=tester, duration="1s")
    assert {mss for (mss,) in file.fields("tcp.flags.syn == 1", "tcp.options.mss_val")} == {"1310"}, "it follows the port's"


def test_a_silent_device(lab):
    """The next hop of outer packets does not reply."""
    tester, other = lab.netns("tester"), lab.netns("other")
    lab.veth(tester, "veth0", other, "o0")
    ports, entry = ring("vxlan")
    entry["server"] = {"addresses": "10.9.0.100", "ports": 9000}
    entry.pop("verify")
    west = ports["west"] | {"device": "afpacket:veth0"}
    run(lab, {"west": west}, entry, ns=tester).refused(3, "port west: no reply from 192.0.2.2 after 5 s")


def test_gtpu_echo_requests_are_answered(lab):
    """As a UPF checks a path."""
    host = Host(lab)
    entry = host.server("echo", server={"addresses": "10.9.0.7", "tunnel": {"gtpu": {"teid": 5}, "to": WEST_ROUTER4}})
    process = host.start(entry)
    asks = """
import socket, sys
one = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
one.settimeout(0.5)
one.sendto(bytes([0x32, 1, 0, 4, 0, 0, 0, 0, 0x12, 0x34, 0, 0]), (sys.argv[1], 2152))
try:
    print(one.recv(100).hex())
except TimeoutError:
    pass
"""
    said = wait_until(lambda: host.host.run("/usr/bin/python3", "-c", asks, WEST4).strip(), "an answer", 20)
    assert said == "320200060000000012340000" + "0e00"
    # The first may have come before traffic began, when nothing is counted.
    for _ in range(10):
        assert host.host.run("/usr/bin/python3", "-c", asks, WEST4).strip() == said
        time.sleep(0.2)
    assert host.served(process)["ports"]["west"]["tunnels"]["echoes"] >= 1
