"""Gateways that fail over while traffic runs: frames follow the neighbor, and the result has the cost, to the packet."""

import json
import os
import re
import signal
import socket
import subprocess
import sys

import pytest
from frr import launch_all
from kernel_server import ECHO
from lab import (
    EAST4,
    EAST6,
    EAST_ROUTER6,
    WEST4,
    WEST6,
    WEST_ROUTER4,
    WEST_ROUTER6,
    call,
    need,
    stream,
    wait_until,
)
from test_bgp import Device
from test_session_tunnels import tunnel, vtep

NEWLINE = "\n  "
ELSEWHERE = "02:00:00:00:aa:01"
BGP_IPV6 = ("configure terminal", "router bgp 65000", "address-family ipv6 unicast")
VIRTUAL_MAC = "00:00:5e:00:01:{:02x}"
# Sends one frame, in hex, by an interface.
SEND = "import socket,sys; s=socket.socket(socket.AF_PACKET,socket.SOCK_RAW); s.bind((sys.argv[1],0)); s.send(bytes.fromhex(sys.argv[2]))"


def octets(mac):
    return bytes.fromhex(mac.replace(":", ""))


def gratuitous_arp(ip, mac, operation=1):
    """An announcement of RFC 5227 section 3, or the same as a reply."""
    own = octets(mac) + socket.inet_aton(ip)
    target = (b"\0" * 6 if operation == 1 else b"\xff" * 6) + socket.inet_aton(ip)
    return b"\xff" * 6 + octets(mac) + bytes.fromhex("0806000108000604") + operation.to_bytes(2, "big") + own + target


def unsolicited_advertisement(ip, mac):
    """An unsolicited neighbor advertisement that overrides (RFC 4861 section 7.2.6)."""
    source, everyone = socket.inet_pton(socket.AF_INET6, ip), socket.inet_pton(socket.AF_INET6, "ff02::1")
    body = bytes.fromhex("88000000a0000000") + source + bytes.fromhex("0201") + octets(mac)
    pseudo = source + everyone + len(body).to_bytes(4, "big") + b"\0\0\0\x3a" + body
    total = sum(int.from_bytes(pseudo[at : at + 2], "big") for at in range(0, len(pseudo), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    body = body[:2] + (0xFFFF - total).to_bytes(2, "big") + body[4:]
    head = bytes.fromhex("60000000") + len(body).to_bytes(2, "big") + b"\x3a\xff" + source + everyone
    return bytes.fromhex("333300000001") + octets(mac) + b"\x86\xdd" + head + body


def say(namespace, interface, frame):
    namespace.run(sys.executable, "-c", SEND, interface, frame.hex())


def count_others(namespace, interface):
    """Counts packets to UDP port 9 that arrive for another hardware address than the interface's."""
    rules = f"""table netdev others {{
  counter others {{ }}
  chain in {{ type filter hook ingress device "{interface}" priority 0; meta pkttype other udp dport 9 counter name others; }}
}}"""
    namespace.run("nft", "-f", "-", input=rules)


def counted(namespace, name):
    listed = json.loads(namespace.run("nft", "-j", "list", "counters"))["nftables"]
    return sum(one["counter"]["packets"] for one in listed if one.get("counter", {}).get("name") == name)


@pytest.fixture
def router(lab):
    return lab.router()


def intervals(path):
    """Those that a run has written so far; the last line may be on its way."""
    whole, _, _ = path.read_text().rpartition("\n") if path.exists() else ("", "", "")
    return [json.loads(line) for line in whole.splitlines()]


def opened(path):
    """Sessions opened so far."""
    return sum(line["sessions"]["s"]["attempted"] for line in intervals(path))


def sent(lines):
    """Packets sent so far, from the intervals."""
    return sum(one["tx"] for line in lines for one in line["streams"].values())


def run_until(lab, namespace, profile, packets, *more):
    """A run that has sent this number of packets."""
    path = profile.parent / "lines.jsonl"
    process = lab.start_eagre("run", profile, "--json", "-", "--jsonl", path, "--interval", "50ms", *more, ns=namespace)
    wait_until(lambda: process.poll() is not None or sent(intervals(path)) >= packets, "traffic", 30)
    return process


def only_move(result):
    (move,) = result["ports"]["west"]["neighbour_moves"]
    return move


@pytest.mark.parametrize("family", [4, 6])
def test_a_gateway_that_says_it_has_another_address_is_followed(lab, router, family):
    """A router changes its hardware address and announces it later: its counter has the packets to the old one."""
    count_others(router.router, "r0")
    old = router.router.mac("r0")
    gateway, v6 = (WEST_ROUTER4, False) if family == 4 else (WEST_ROUTER6, True)
    streams = [stream("s", "west", "east", v6=v6, rate="2kpps"), stream("mixed", "west", "east", v6=v6, rate="500pps", size=["128B", "512B"])]
    for one in streams:
        one["packet"][0] = {one["packet"][0]: {"dst": EAST6 if v6 else EAST4}}
    ports = router.ports("afpacket", not v6, v6)
    profile = lab.profile(ports, streams, load={"duration": "4s", "drain": "500ms"})
    process = run_until(lab, router.tester, profile, 1_000)
    router.router.ip("link", "set", "r0", "address", ELSEWHERE)
    wait_until(lambda: counted(router.router, "others") > 700, "packets to the old address")
    announcement = unsolicited_advertisement(gateway, ELSEWHERE) if v6 else gratuitous_arp(gateway, ELSEWHERE)
    say(router.router, "r0", announcement)
    result = lab.finish(process).result()
    lost = sum(one["lost"] for one in result["streams"].values())
    move = only_move(result)
    assert (move["ip"], move["from"], move["to"], move["asked"]) == (gateway, old, ELSEWHERE, False)
    assert 700 < move["lost"] == lost == counted(router.router, "others"), move
    assert 0.2 < move["took_s"] < 3, move
    assert result["verdict"]["valid"]
    note = next(note for note in result["verdict"]["notes"] if gateway in note)
    assert f"{lost:,} packets went to it since" in note and "moved from" in note, note


def test_sessions_go_on_with_a_gateway_that_moved(lab, router):
    """Sessions that are open, and those that open later, go by way of the new address; so do servers' answers."""
    entry = {
        "name": "s",
        "client": {"port": "west", "addresses": f"{WEST4}"},
        "server": {"port": "east", "addresses": f"{EAST4}", "ports": 80},
        "open": "100/s",
        "app": {"http": {"response": "20KB", "requests": 3, "think": "200ms"}},
    }
    profile = lab.profile(router.ports("afpacket", v6=False), None, sessions=[entry], load={"duration": "4s", "drain": "5s"})
    path = profile.parent / "lines.jsonl"
    process = lab.start_eagre("run", profile, "--json", "-", "--jsonl", path, "--interval", "50ms", ns=router.tester)
    wait_until(lambda: process.poll() is not None or opened(path) > 50, "sessions", 30)
    for interface, ip, mac in [("r0", WEST_ROUTER4, ELSEWHERE), ("r1", "10.0.1.1", "02:00:00:00:aa:02")]:
        router.router.ip("link", "set", interface, "address", mac)
        say(router.router, interface, gratuitous_arp(ip, mac, operation=2))
    result = lab.finish(process).result()
    one = result["sessions"]["s"]
    assert one["attempted"] > 300 and one["failed"] == {} and one["completed"] == one["attempted"], one
    assert [len(result["ports"][port]["neighbour_moves"]) for port in ("west", "east")] == [1, 1]
    assert "lost" not in only_move(result)


def test_a_gateway_that_moves_without_a_word_is_asked_after(lab, router):
    """The old address is silent: after half a minute the tester broadcasts, and follows the host that replies."""
    count_others(router.router, "r0")
    router.router.sysctl({"net.ipv4.conf.r0.arp_notify": 0})
    flow = stream("s", "west", "east", rate="20pps")
    flow["packet"][0] = {"ipv4": {"dst": EAST4}}
    profile = lab.profile(router.ports("afpacket", v6=False), [flow], load={"duration": "37s", "drain": "500ms"})
    process = run_until(lab, router.tester, profile, 20)
    router.router.ip("link", "set", "r0", "address", ELSEWHERE)
    # The kernel would resolve the tester's address, and reveal its own by that.
    router.router.ip("neigh", "replace", WEST4, "lladdr", router.tester.mac("veth0"), "dev", "r0", "nud", "permanent")
    result = lab.finish(process, 90).json
    move = only_move(result)
    assert move["asked"] and move["to"] == ELSEWHERE and 33 <= move["at_s"] < 36, move
    assert move["lost"] == result["streams"]["s"]["lost"] == counted(router.router, "others"), move
    assert any("according to its reply" in note for note in result["verdict"]["notes"])


class Pair:
    """Two routers with VRRP between the tester's ports, on a bridge for each network."""

    # Number of the virtual router and its addresses, by side.
    VIRTUAL = {"w": (7, ["10.0.0.1/24"]), "e": (8, ["10.0.1.1/24"])}
    # The routers' own, by side.
    OWN = {"w": "10.0.0.25{}/24", "e": "10.0.1.25{}/24"}
    target = {"ipv4": {"dst": EAST4}}
    clients, servers = "10.0.0.10..10.0.0.29", "10.0.1.100"
    ports = {
        "west": {"device": "afpacket:veth0", "ip": f"{WEST4}/24", "gateway": "10.0.0.1"},
        "east": {"device": "afpacket:veth1", "ip": f"{EAST4}/24", "gateway": "10.0.1.1"},
    }

    def __init__(self, lab):
        need("ip", "nft", "keepalived")
        self.lab, self.tester, self.switch, self.daemons = lab, lab.netns("tester"), lab.netns("switch"), []
        self.routers = [lab.netns("first", forwarding=True), lab.netns("second", forwarding=True)]
        for side, end in (("w", "veth0"), ("e", "veth1")):
            self.switch.ip("link", "add", f"br{side}", "type", "bridge", "mcast_snooping", "0")
            self.switch.ip("link", "set", f"br{side}", "up")
            ends = [(self.tester, end), *((router, side) for router in self.routers)]
            for number, (namespace, inner) in enumerate(ends):
                lab.veth(self.switch, f"{side}{number}", namespace, inner)
                self.switch.ip("link", "set", f"{side}{number}", "master", f"br{side}")
        for number, router in enumerate(self.routers):
            for side, own in self.OWN.items():
                router.ip("address", "add", own.format(number), "dev", side)
            router.run("nft", "-f", "-", input="""table inet count {
  counter forwarded { }
  chain forward { type filter hook forward priority 0; udp dport 9 counter name forwarded; }
}""")
            self.launch(number, router)
        wait_until(lambda: self.masters() == [[0], [0]], "a master", 20)

    def launch(self, number, router, more=""):
        instance = lambda side, virtual_id, addresses: f"""vrrp_instance {side} {{
 state BACKUP
 interface {side}
 {more.format(side)}
 virtual_router_id {virtual_id}
 priority {200 - 50 * number}
 advert_int 0.3
 virtual_ipaddress {{
  {NEWLINE.join(addresses)}
 }}
}}
"""
        group = "vrrp_sync_group both { group { w e } }\n"
        config = self.lab.folder() / "keepalived.conf"
        head = "global_defs { vrrp_version 3 }\n"
        config.write_text(head + group + "".join(instance(side, *virtual) for side, virtual in self.VIRTUAL.items()))
        folder = config.parent
        pids = ("-p", folder / "pid", "-r", folder / "vrrp.pid", "-c", folder / "checkers.pid")
        command = ("keepalived", "--dont-fork", "--vrrp", "--log-console", "-f", config, *pids)
        self.daemons.append(self.lab.start(*command, ns=router, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def masters(self):
        """Routers that have the virtual address on an interface that is up, by side."""
        rows = [[row for row in json.loads(router.ip("-j", "address", "show", "up")) if row] for router in self.routers]
        has = lambda links, ip: any(row["operstate"] == "UP" and one["local"] == ip for row in links for one in row["addr_info"])
        virtual = [addresses[-1].split("/")[0] for _, addresses in self.VIRTUAL.values()]
        return [[number for number, links in enumerate(rows) if has(links, ip)] for ip in virtual]

    def fail(self):
        """The first router goes dark, on both sides at once."""
        for side in ("w", "e"):
            self.switch.ip("link", "set", f"{side}1", "down")

    def forwarded(self):
        return sum(counted(router, "forwarded") for router in self.routers)


class Pair6(Pair):
    """The same with IPv6: the first virtual address is local to the link (RFC 9568 section 5.2.9)."""

    VIRTUAL = {"w": (7, ["fe80::7/64", f"{WEST_ROUTER6}/64"]), "e": (8, ["fe80::8/64", f"{EAST_ROUTER6}/64"])}
    OWN = {"w": f"{WEST_ROUTER6[:-1]}25{{}}/64", "e": f"{EAST_ROUTER6[:-1]}25{{}}/64"}
    target = {"ipv6": {"dst": EAST6}}
    clients, servers = "2001:2::1000..2001:2::101f", "2001:2:0:1::100"
    ports = {
        "west": {"device": "afpacket:veth0", "ip": f"{WEST6}/64", "gateway": WEST_ROUTER6},
        "east": {"device": "afpacket:veth1", "ip": f"{EAST6}/64", "gateway": EAST_ROUTER6},
    }


@pytest.mark.parametrize("kind", [Pair, Pair6], ids=["4", "6"])
def test_vrrp_fails_over(lab, kind):
    """keepalived without a virtual MAC address: the second router has its own, which is followed."""
    pair = kind(lab)
    flow = stream("s", "west", "east", rate="1kpps", v6=kind is Pair6)
    flow["packet"][0] = pair.target
    profile = lab.profile(pair.ports, [flow], load={"duration": "6s", "drain": "500ms"})
    process = run_until(lab, pair.tester, profile, 500)
    pair.fail()
    result = lab.finish(process).result()
    one = result["streams"]["s"]
    assert one["lost"] == one["tx"] - pair.forwarded() > 300, one
    assert one["rx"] > 1_500, "traffic goes by way of the second router"
    move = only_move(result)
    assert move["to"] == pair.routers[1].mac("w") and move["lost"] == one["lost"], (move, one)
    assert move["took_s"] == pytest.approx(one["lost"] / 1_000, abs=0.05)
    gateway = pair.ports["west"]["gateway"]
    note = next(note for note in result["verdict"]["notes"] if f"{gateway} moved" in note)
    assert re.search(r"frames followed \d\.\d{3} s after", note), note


class VirtualMac(Pair):
    """keepalived with virtual MAC addresses: each router has an interface with that of the virtual router beside its own."""

    def launch(self, number, router):
        super().launch(number, router, more="use_vmac v{}")

    def kill(self):
        """The first router's daemon dies, which can remove nothing."""
        parent = self.daemons[0].pid
        for child in map(int, call("pgrep", "-P", parent, check=False).split()):
            # Its parent would start another one, and it would end in good order if its parent were gone.
            os.kill(parent, signal.SIGSTOP)
            os.kill(child, signal.SIGKILL)
        os.kill(parent, signal.SIGKILL)

    def black_out(self):
        """Nothing passes between the first router and the networks any more, and no link goes down."""
        ends = '{ "w1", "e1" }'
        self.switch.run("nft", "-f", "-", input=f"""table bridge dark {{
  chain from {{ type filter hook prerouting priority 0; iifname {ends} drop; }}
  chain to {{ type filter hook forward priority 0; oifname {ends} drop; }}
}}""")


class VirtualMac6(VirtualMac, Pair6):
    """The same with IPv6."""


class Frr(VirtualMac):
    """FRR's, for which the operator makes those interfaces."""

    def launch(self, number, router):
        folder = self.lab.folder()
        for side, (virtual_id, [ip]) in self.VIRTUAL.items():
            router.ip("link", "add", f"v{side}", "link", side, "type", "macvlan", "mode", "bridge")
            router.ip("link", "set", f"v{side}", "address", VIRTUAL_MAC.format(virtual_id))
            router.ip("address", "add", ip, "dev", f"v{side}")
            router.ip("link", "set", f"v{side}", "up")
            # Or the kernel replies to ARP for the virtual address on both interfaces.
            router.sysctl({f"net.ipv4.conf.{side}.arp_ignore": 1})
        instance = lambda side, virtual_id, addresses: f"""interface {side}
 vrrp {virtual_id} version 3
 vrrp {virtual_id} priority {200 - 50 * number}
 vrrp {virtual_id} advertisement-interval 300
 vrrp {virtual_id} ip {addresses[0].split("/")[0]}
exit
"""
        config = "".join(instance(side, *virtual) for side, virtual in self.VIRTUAL.items())
        self.daemons.append(launch_all(self.lab, router, folder, ["vrrpd"], config)["vrrpd"])


def through_a_pair(lab, pair, fail):
    """A stream and HTTP sessions through a pair whose first router fails after 700 packets; the result."""
    flow = stream("s", "west", "east", rate="1kpps", v6=isinstance(pair, Pair6), outages="50%")
    flow["packet"][0] = pair.target
    web = {
        "name": "web",
        "client": {"port": "west", "addresses": pair.clients},
        "server": {"port": "east", "addresses": pair.servers, "ports": 80},
        "app": {"http": {"response": "20KB", "requests": 3, "think": "200ms"}},
        "open": "50/s",
    }
    profile = lab.profile(pair.ports, [flow], sessions=[web], load={"duration": "5s", "drain": "6s"})
    process = run_until(lab, pair.tester, profile, 700)
    fail()
    result = lab.finish(process).result()
    assert not any(port.get("neighbour_moves") for port in result["ports"].values()), "it keeps its address"
    assert not any("moved" in note for note in result["verdict"].get("notes", [])), result["verdict"]
    forwarded = [counted(router, "forwarded") for router in pair.routers]
    assert min(forwarded) > 300, f"each forwards a part: {forwarded}"
    one, gone = result["streams"]["s"], result["streams"]["s"]["tx"] - sum(forwarded)
    # A busy tester can drop some that arrived, and reports how many.
    dropped = sum(result["ports"]["east"]["rx_errors"].values())
    assert gone <= one["lost"] <= gone + dropped, (one, forwarded, dropped)
    return result


VIRTUAL_MACS = pytest.mark.parametrize("kind", [VirtualMac, Frr], ids=["keepalived", "frr"])


@VIRTUAL_MACS
@pytest.mark.unsteady("a pause of the tester hides when an outage began or ended")
def test_vrrp_with_a_virtual_mac_fails_over(lab, kind):
    """The gateway keeps its address: what was lost until the second router took over is one outage, to the packet."""
    pair = kind(lab)
    result = through_a_pair(lab, pair, pair.black_out)
    one, web = result["streams"]["s"], result["sessions"]["web"]
    assert 300 < one["lost"] and one["rx"] > 1_500, one
    outages = one["outages"]
    assert outages["count"] == 1 and outages["last"][0]["lost"] == one["lost"], one
    assert outages["longest_ns"] / 1e9 == pytest.approx(one["lost"] / 1_000, abs=0.05)
    # Sessions that open later go through the second router.
    assert web["completed"] > 100 and sum(web["failed"].values()) < 60, web


@pytest.mark.parametrize("kind", [VirtualMac, VirtualMac6], ids=["4", "6"])
def test_sessions_outlive_a_gateway_with_a_virtual_mac(lab, kind):
    """Those that are open when the first router goes dark, too: servers answer by their gateway, not where segments come from."""
    pair = kind(lab)
    web = through_a_pair(lab, pair, pair.black_out)["sessions"]["web"]
    assert web["failed"] == {} and web["completed"] == web["attempted"] > 100, web


@VIRTUAL_MACS
def test_a_router_whose_vrrp_daemon_dies_forwards_until_the_other_takes_over(lab, kind):
    """It still has the virtual addresses, and the switch learns where they went: nothing is lost, and no session ends."""
    pair = kind(lab)
    result = through_a_pair(lab, pair, pair.kill)
    one, web = result["streams"]["s"], result["sessions"]["web"]
    # The switch may send one to the first router as the second takes over.
    assert one["lost"] <= 2 and one["outages"]["count"] == 0, one
    assert web["failed"] == {} and web["completed"] == web["attempted"] > 100, web


def bgp_over_a_move(lab, v6, has_traffic):
    """A BGP session with FRR, which gets another hardware address and announces it; the result, the address it had, and FRR's own."""
    us, them = ("2001:db8::2", "2001:db8::1") if v6 else ("10.0.0.2", "10.0.0.1")
    device = Device(lab, f" neighbor {us} remote-as 65001\n")
    family = "-6" if v6 else "-4"
    if v6:
        device.vtysh(*(word for line in (*BGP_IPV6, f"neighbor {us} activate") for word in ("-c", line)))
    kept, withdrawn = ("2001:db8:100::/48", "2001:db8:200::/48") if v6 else ("16.0.0.0/24", "32.0.0.0/24")
    routes = [{"prefixes": kept, "count": 10}, {"prefixes": withdrawn, "count": 10, "withdraw": "5s"}]
    # FRR would notice within this time that nothing arrives any more.
    bgp = {"peers": [{"peer": them, "as": 65001, "peer_as": 65000, "retry": "1s", "hold_time": "9s", "routes": routes}]}
    ports = device.ports(bgp, **{"gateway": ["10.0.0.1", "2001:db8::1"]} if has_traffic else {})
    ports["east"] |= {"ip": ["10.9.0.2/24", "2001:db8:9::2/64"], "gateway": ["10.9.0.1", "2001:db8:9::1"]}
    flow = stream("s", "west", "east", v6=v6, rate="200pps")
    flow["packet"][0] = {"ipv6": {"dst": "2001:db8:9::2"}} if v6 else {"ipv4": {"dst": "10.9.0.2"}}
    process, _ = device.begin(ports, [flow] * has_traffic, 10)
    wait_until(lambda: device.fib(family) == 20, "the routes", 20)
    old = device.ns.mac("d0")
    device.ns.ip("link", "set", "d0", "address", ELSEWHERE)
    say(device.ns, "d0", unsolicited_advertisement(them, ELSEWHERE) if v6 else gratuitous_arp(them, ELSEWHERE))
    # Later messages of the session arrive.
    wait_until(lambda: device.fib(family) == 10, "the withdrawal", 20)
    result = lab.finish(process).result()
    one = result["ports"]["west"]["bgp"]
    assert (one["established"], one["established_at_end"], one["flaps"], one["withdrawn"]) == (1, 1, 0, 10), (one, result["verdict"])
    return result, (them, old, ELSEWHERE, False)


def told(move):
    return tuple(move[key] for key in ("ip", "from", "to", "asked"))


@pytest.mark.unsteady("on a busy machine nothing may be heard for the hold time")
@pytest.mark.parametrize("family", [4, 6])
def test_a_bgp_session_outlives_a_peer_that_moved(lab, family):
    """The session stays, its later messages arrive, and the result has the move of the traffic's gateway, too."""
    result, expected = bgp_over_a_move(lab, family == 6, has_traffic=True)
    move = only_move(result)
    assert told(move) == expected and move["lost"] == result["streams"]["s"]["lost"], move
    assert result["streams"]["s"]["rx"] > 1_000, "traffic goes to the new address"
    assert any(f"{expected[0]} moved from" in note for note in result["verdict"]["notes"]), result["verdict"]


def test_a_bgp_peer_that_moved_is_told_if_it_is_no_gateway(lab):
    result, expected = bgp_over_a_move(lab, False, has_traffic=False)
    assert told(only_move(result)) == expected


@pytest.mark.parametrize("family", [4, 6])
def test_sessions_in_a_tunnel_outlive_a_next_hop_that_moved(lab, family):
    """The outer next hop of a VXLAN tunnel moves: sessions inside continue, both open ones and later ones."""
    v6 = family == 6
    host = vtep(lab, v6)
    host.kernel_server()
    entry = {
        "name": "s",
        "client": {"port": "west", "addresses": "10.9.0.1..10.9.0.9", "tunnel": tunnel(v6)},
        "server": {"addresses": "10.9.0.254", "ports": ECHO},
        "app": {"raw": {"request": "300B", "response": "300B", "requests": 5, "think": "300ms"}},
        "open": "50/s",
    }
    profile = lab.profile(host.ports(), None, sessions=[entry], load={"duration": "4s", "drain": "8s"})
    path = profile.parent / "lines.jsonl"
    process = lab.start_eagre("run", profile, "--json", "-", "--jsonl", path, "--interval", "50ms", ns=host.tester)
    wait_until(lambda: process.poll() is not None or opened(path) > 50, "sessions", 30)
    near, old = host.address(v6), host.host.mac("h0")
    host.host.ip("link", "set", "h0", "address", ELSEWHERE)
    say(host.host, "h0", unsolicited_advertisement(near, ELSEWHERE) if v6 else gratuitous_arp(near, ELSEWHERE))
    result = lab.finish(process).result()
    one = result["sessions"]["s"]
    # A busy machine opens them late, and some not at all.
    assert one["attempted"] > 100 and one["failed"] == {} and one["completed"] == one["attempted"], one
    assert told(only_move(result)) == (near, old, ELSEWHERE, False)
    assert any(f"{near} moved from" in note for note in result["verdict"]["notes"]), result["verdict"]
    assert result["ports"]["west"]["tunnels"]["received"] > 500
