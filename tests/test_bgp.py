"""BGP sessions of the tester's hosts with FRR: routes in the device's FIB, traffic to them, withdrawals, and what goes wrong."""

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import mrt
import pytest
from frr import launch_all
from hosts import Capture
from lab import LONG, need, peak_kb, settled, stream, wait_until
from server import Server

PREFIXES = 100_000 if LONG else 1_000
PEERS = 1_000 if LONG else 20
ROUTES_OF_A_PEER = 100
TESTS = Path(__file__).parent


def join(lab, tester, ns, far_ms):
    """A link from veth0 of the tester to d0 of a device, with a delay in milliseconds."""
    if not far_ms:
        return lab.veth(tester, "veth0", ns, "d0")
    between = lab.netns("between")
    lab.veth(tester, "veth0", between, "west")
    lab.veth(between, "east", ns, "d0")
    process = lab.start(sys.executable, TESTS / "distance.py", "west", "east", far_ms, ns=between, stdin=subprocess.PIPE)
    assert process.stdout.readline() == "ready\n"


class Device:
    """FRR in a namespace with two networks: 10.0.0.0/16 of the speakers, and 10.9.0.0/24."""

    def __init__(self, lab, neighbors, v6=False, far_ms=0):
        need("ip", "vtysh")
        self.lab, self.folder = lab, lab.folder()
        self.tester, self.ns = lab.netns("tester"), lab.netns("device", forwarding=True)
        for end, inner, addresses in (
            ("veth0", "d0", ("10.0.0.1/16", "2001:db8::1/64")),
            ("veth1", "d1", ("10.9.0.1/24", "2001:db8:9::1/64")),
        ):
            join(lab, self.tester, self.ns, far_ms) if end == "veth0" else lab.veth(self.tester, end, self.ns, inner)
            for address in addresses:
                self.ns.ip("address", "add", address, "dev", inner, *(["nodad"] if ":" in address else []))
        activated = "  neighbor 10.0.0.2 activate\n" if v6 else ""
        config = (
            "route-map none deny 1\nrouter bgp 65000\n bgp router-id 10.0.0.1\n no bgp ebgp-requires-policy\n"
            f"{neighbors} address-family ipv6 unicast\n{activated} exit-address-family\n"
        )
        launch_all(lab, self.ns, self.folder, ["bgpd"], config)

    def vtysh(self, *arguments):
        return self.ns.run("vtysh", "--vty_socket", self.folder, *arguments)

    def ask(self, what):
        return json.loads(self.vtysh("-c", f"show {what} json"))

    def fib(self, family="-4"):
        return len(self.ns.ip(family, "route", "show", "proto", "bgp").splitlines())

    def ports(self, bgp, kind="afpacket", **west):
        """The speakers' port, and another one."""
        return {
            "west": {"device": f"{kind}:veth0", "ip": ["10.0.0.2/16", "2001:db8::2/64"], "bgp": bgp, **west},
            "east": {"device": f"{kind}:veth1", "ip": "10.9.0.2/24", "gateway": "10.9.0.1"},
        }

    def begin(self, ports, streams, seconds, **rest):
        """A run whose traffic has begun, and the file of its intervals."""
        profile = self.lab.profile(ports, streams, load={"duration": f"{seconds}s", "drain": "500ms"}, **rest)
        lines = profile.parent / "lines.jsonl"
        process = self.lab.start_eagre("run", profile, "--json", "-", "--jsonl", lines, "--interval", "200ms", ns=self.tester)
        begun = lambda: lines.exists() and lines.read_text().count("\n") > 1
        wait_until(lambda: begun() or process.poll() is not None, "traffic", 150)
        assert process.poll() is None, process.communicate()[1]
        return process, lines

    def run(self, bgp, seconds=1, streams=(), timeout=120, **rest):
        profile = self.lab.profile(self.ports(bgp), list(streams), load={"duration": f"{seconds}s", "drain": "200ms"}, **rest)
        return self.lab.eagre("run", profile, "--json", "-", ns=self.tester, timeout=timeout)


ONE = " neighbor 10.0.0.2 remote-as 65001\n"


def peer(**keys):
    return {"peer": "10.0.0.1", "as": 65001, "peer_as": 65000, "retry": "1s", **keys}


def to(name, first, count):
    """A stream to each network of a range."""
    varied = {"ipv4.dst": {"from": first, "step": 256, "count": count}}
    one = stream(name, "east", "west", rate="10kpps" if LONG else "2kpps")
    return {**one, "packet": [{"ipv4": {"dst": first}}, {"udp": {"dst": 9}}], "vary": varied}


@pytest.mark.unsteady("on a busy machine a session may come up twice")
@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
def test_traffic_follows_the_routes(lab, kind):
    """All routes are in the FIB when traffic starts; of those that are withdrawn meanwhile everything is lost, of others nothing."""
    device = Device(lab, ONE)
    half = PREFIXES // 2
    routes = [
        {"prefixes": "16.0.0.0/24", "count": half, "communities": ["65001:7", "no-export"], "as_path": [64999, [64998, 64997]], "med": 5},
        {"prefixes": "32.0.0.0/24", "count": half, "withdraw": "6s"},
    ]
    seconds = 25 if LONG else 10
    streams = [to("kept", "16.0.0.1", half), to("withdrawn", "32.0.0.1", half)]
    process, lines = device.begin(device.ports({"peers": [peer(routes=routes)], "settle": "5s" if LONG else "1s"}, kind), streams, seconds)
    assert device.fib() == PREFIXES
    said = device.ask("bgp ipv4 unicast 16.0.1.0/24")["paths"][0]
    assert said["aspath"]["string"] == "65001 64999 {64997,64998}" and said["metric"] == 5, said
    assert sorted(said["community"]["list"]) == ["65001:7", "noExport"], said
    wait_until(lambda: device.fib() == half, "the withdrawal", 30)
    done = lab.finish(process, 120)
    result = done.json
    kept, withdrawn = result["streams"]["kept"], result["streams"]["withdrawn"]
    assert kept["lost"] == 0 and kept["rx"] == kept["tx"] > 0, done
    assert 0 < withdrawn["rx"] < withdrawn["tx"], done
    last = [row for row in map(json.loads, lines.read_text().splitlines()) if not row["draining"]][-1]["streams"]["withdrawn"]
    assert last["tx"] > 0 and last["rx"] == 0, "what was withdrawn arrives still"
    bgp = result["ports"]["west"]["bgp"]
    assert (bgp["peers"], bgp["established"], bgp["established_at_end"], bgp["flaps"]) == (1, 1, 1, 0), bgp
    assert (bgp["advertised"], bgp["withdrawn"]) == (PREFIXES, half), bgp
    assert 0 < bgp["announced_after_s"] < 60 and bgp["setup_ns"]["samples"] == 1, bgp
    wait_until(lambda: device.fib() == 0, "the end of the session", 60)


def test_ipv6_routes_and_sessions_of_many_hosts(lab):
    """IPv6 routes by an IPv4 session, and a session of each of several hosts, which the device is to begin."""
    many = "".join(f" neighbor 10.0.1.{n} remote-as {65_100 + n}\n neighbor 10.0.1.{n} timers connect 1\n" for n in range(1, 5))
    device = Device(lab, ONE + many, v6=True)
    hosts = [{"name": "edge", "count": 4, "ip": "10.0.1.1/16"}]
    six = [{"prefixes": "2001:db8:1000::/48", "count": 500, "next_hop": "2001:db8::2"}, {"prefixes": "16.0.0.0/20", "count": 3}]
    four = {"host": "edge", "as": 65_101, "as_step": 1, "passive": True, "routes": [{"prefixes": "17.0.0.0/24", "count": 10}]}
    process, _ = device.begin(device.ports({"peers": [peer(routes=six), {**peer(), **four}]}, hosts=hosts), [], 3)
    assert (device.fib("-6"), device.fib()) == (500, 43)
    peers = device.ask("bgp ipv4 unicast summary")["peers"]
    counted = {name: row["pfxRcd"] for name, row in peers.items()}
    assert counted == {"10.0.0.2": 3, **{f"10.0.1.{n}": 10 for n in range(1, 5)}}, counted
    result = lab.finish(process).json
    bgp = result["ports"]["west"]["bgp"]
    assert (bgp["established"], bgp["advertised"], bgp["flaps"]) == (5, 543, 0), bgp
    assert not any("BGP" in reason for reason in result["verdict"]["reasons"]), result["verdict"]
    # Routes of others are passed on to each.
    assert bgp["received_ipv4"] > 100, bgp


@pytest.mark.parametrize("router_id", ["1.0.0.1", "192.0.0.1"])
def test_of_two_connections_one_stays(lab, router_id):
    """Both sides connect, with the lower and with the higher identifier: no session ends before the run does, on neither side."""
    numbers = range(1, 41)
    device = Device(lab, "".join(f" neighbor 10.0.1.{n} remote-as 65001\n neighbor 10.0.1.{n} timers connect 1\n" for n in numbers), far_ms=100)
    hosts = [{"name": "edge", "count": len(numbers), "ip": "10.0.1.1/16"}]
    bgp = {"peers": [peer(host="edge", router_id=router_id, routes=[{"prefixes": "16.0.0.0/24", "count": 10}])]}
    process, _ = device.begin(device.ports(bgp, hosts=hosts), [], 2)
    neighbors = device.ask("bgp neighbors")
    counted = {name: (row["connectionsEstablished"], row["connectionsDropped"]) for name, row in neighbors.items()}
    assert counted == {f"10.0.1.{n}": (1, 0) for n in numbers}, counted
    row = lab.finish(process).json["ports"]["west"]["bgp"]
    assert (row["established"], row["flaps"], row["advertised"]) == (len(numbers), 0, 10 * len(numbers)), row


@pytest.mark.parametrize("router_id", ["1.0.0.1", "192.0.0.1"])
def test_of_two_connections_with_bird_one_stays(lab, router_id):
    need("bird", "birdc")
    folder, tester, ns = lab.folder(), lab.netns("tester"), lab.netns("device")
    # Each side connects before it sees the other's connection.
    join(lab, tester, ns, 300)
    ns.ip("address", "add", "10.0.0.1/16", "dev", "d0")
    numbers = range(1, 41)
    quick = "connect delay time 1; connect retry time 1; error wait time 1, 2; ipv4 { import all; export none; };"
    peers = "".join(f"protocol bgp p{n} {{ local 10.0.0.1 as 65000; neighbor 10.0.1.{n} as 65001; {quick} }}\n" for n in numbers)
    (folder / "bird.conf").write_text(f"router id 10.0.0.1;\nprotocol device {{}}\n{peers}")
    lab.start("bird", "-f", "-c", folder / "bird.conf", "-s", folder / "bird.ctl", ns=ns, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: (folder / "bird.ctl").exists(), "bird")
    hosts = [{"name": "edge", "count": len(numbers), "ip": "10.0.1.1/16"}]
    bgp = {"peers": [peer(host="edge", router_id=router_id, retry="3s", routes=[{"prefixes": "16.0.0.0/24", "count": 10}])]}
    west = {"device": "afpacket:veth0", "ip": "10.0.0.2/16", "bgp": bgp, "hosts": hosts}
    profile = lab.profile({"west": west, "east": {"device": "ring:b"}}, [], load={"duration": "2s", "drain": "0s"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=tester)
    shown = lambda: ns.run("birdc", "-s", folder / "bird.ctl", "show", "route", "count")
    wait_until(lambda: f"{10 * len(numbers)} of " in shown(), "the routes", 30)
    row = lab.finish(process).json["ports"]["west"]["bgp"]
    assert row["opens_received"] > len(numbers), "BIRD's connections never met the speakers'"
    assert (row["established"], row["flaps"], row["advertised"]) == (len(numbers), 0, 10 * len(numbers)), row


class Bird:
    """BIRD in a namespace, AS 65000 on 10.0.0.1, and a run with a session to it."""

    def __init__(self, lab, neighbor, options="", **west):
        need("bird", "birdc")
        self.lab, self.folder = lab, lab.folder()
        self.tester, self.ns = lab.netns("tester"), lab.netns("device")
        join(lab, self.tester, self.ns, 0)
        self.ns.ip("address", "add", "10.0.0.1/16", "dev", "d0")
        quick = "connect delay time 1; connect retry time 1; error wait time 1, 2; ipv4 { import all; export none; };"
        one = f"protocol bgp p {{ local 10.0.0.1 as 65000; neighbor 10.0.0.2 as {neighbor}; {quick} {options} }}\n"
        (self.folder / "bird.conf").write_text(f"router id 10.0.0.1;\nprotocol device {{}}\n{one}")
        self.capture = Capture(lab, self.ns, "d0", snap=9_000, rule="tcp port 179")
        command = ["bird", "-f", "-c", self.folder / "bird.conf", "-s", self.folder / "bird.ctl"]
        lab.start(*command, ns=self.ns, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(lambda: (self.folder / "bird.ctl").exists(), "bird")
        ports = {"west": {"device": "afpacket:veth0", "ip": "10.0.0.2/16", "bgp": {"peers": [peer(**west)], "settle": "0s"}}}
        profile = lab.profile({**ports, "east": {"device": "ring:b"}}, [], load={"duration": "20s", "drain": "0s"})
        self.process = lab.start_eagre("run", profile, "--json", "-", ns=self.tester)

    def birdc(self, *words):
        return self.ns.run("birdc", "-s", self.folder / "bird.ctl", *words)

    def finish(self):
        """What the result says of the session; an analyser finds nothing wrong with what the speaker sent in it."""
        self.process.terminate()
        row = self.lab.finish(self.process).json["ports"]["west"]["bgp"]
        assert self.capture.spoilt("bgp && ip.src == 10.0.0.2") == []
        kinds = {kind for (said,) in self.capture.fields("bgp && ip.src == 10.0.0.2", "bgp.type") for kind in said.split("|")}
        assert {"1", "2", "3", "4"} <= kinds, kinds
        return row


def test_a_peer_gets_its_routes_again(lab):
    """BIRD requests them (RFC 2918)."""
    bird = Bird(lab, 65_001, routes=[{"prefixes": "16.0.0.0/24", "count": 40}])
    counted = lambda: re.search(r"Import updates: +(\d+)", bird.birdc("show", "protocols", "all", "p"))
    received = lambda count: (found := counted()) and int(found[1]) == count
    wait_until(lambda: received(40), "the routes", 30)
    bird.birdc("reload", "in", "p")
    wait_until(lambda: received(80), "the routes again", 30)
    row = bird.finish()
    assert (row["refreshes_received"], row["advertised"], row["flaps"]) == (1, 80, 0), row


def test_numbers_of_four_bytes_pass_through_a_peer_with_two(lab):
    """BIRD without AS numbers of four bytes has the path as it was meant: AS_TRANS in AS_PATH, and AS4_PATH (RFC 6793)."""
    path = [4_200_000_002, 64_999, [4_200_000_003, 64_998]]
    bird = Bird(lab, 65_001, "enable as4 off;", routes=[{"prefixes": "16.0.0.0/24", "as_path": path}])
    wait_until(lambda: "16.0.0.0/24" in bird.birdc("show", "route"), "the route", 30)
    assert "BGP.as_path: 65001 4200000002 64999 {4200000003 64998}" in bird.birdc("show", "route", "all")
    own, speakers = bird.birdc("show", "protocols", "all", "p").split("Neighbor capabilities")
    assert "4-octet AS numbers" in speakers and "4-octet AS numbers" not in own
    assert bird.finish()["flaps"] == 0


@pytest.mark.unsteady("on a busy machine the device takes longer to learn routes")
def test_routes_of_a_file_reach_the_device_as_they_are(lab):
    """Each prefix of an MRT file is in FRR's table with its AS path, communities and MED, by way of the speaker."""
    v4 = {f"{20 + n % 7}.{n // 256}.{n % 256}.0/24": [64_900 + n % 9, 4_200_000_000 + n % 5] for n in range(3_000)}
    v4 |= {f"41.{n}.0.0/{17 + n % 3}": [64_800, 64_801] for n in range(20)} | {"42.0.0.0/7": [7], "43.1.2.3/32": [8, 8, 8, 9]}
    v6 = {f"2001:db8:{n:x}::/48": [64_700 + n % 3] for n in range(1, 300)}
    routes = [(prefix, mrt.attributes(path, med=path[0], communities=[(65_001, 7)])) for prefix, path in {**v6, **v4}.items()]
    routes.append(("44.0.0.0/8", mrt.attributes([10, 20], aggregated=[31, 32])))
    device = Device(lab, ONE, v6=True)
    west = peer(routes=[{"mrt": {"file": "rib.mrt"}}])
    profile = lab.profile(device.ports({"peers": [west]}), [], load={"duration": "4s", "drain": "0s"})
    (profile.parent / "rib.mrt").write_bytes(mrt.table(routes))
    process = lab.start_eagre("run", profile, "--json", "-", ns=device.tester)
    wait_until(lambda: (device.fib(), device.fib("-6")) == (len(v4) + 1, len(v6)), "the routes", 30)
    for family, hop, wanted in (("ipv4", "10.0.0.2", v4), ("ipv6", "2001:db8::2", v6)):
        there = device.ask(f"bgp {family} unicast")["routes"]
        told = {prefix: [(row["path"], row.get("metric"), row["nexthops"][0]["ip"]) for row in rows] for prefix, rows in there.items()}
        expected = {prefix: [(" ".join(map(str, [65_001, *path])), path[0], hop)] for prefix, path in wanted.items()}
        if family == "ipv4":
            expected["44.0.0.0/8"] = [("65001 10 20 {31,32}", None, hop)]
        assert told == expected
    said = device.ask("bgp ipv4 unicast 41.3.0.0/17")["paths"][0]
    assert said["community"]["list"] == ["65001:7"] and said["origin"] == "incomplete", said
    row = lab.finish(process).json["ports"]["west"]["bgp"]
    assert (row["advertised"], row["flaps"]) == (len(routes), 0), row
    # Routes with the same attributes share messages.
    assert row["updates_sent"] < 200, row
    wait_until(lambda: device.fib() == 0, "the end of the session", 30)


def test_routes_of_a_file_are_limited_and_withdrawn(lab):
    """Between two ports of the tester: the first routes of one family, which a command withdraws."""
    routes = [(f"20.0.{n}.0/24", mrt.attributes([n % 5 + 1])) for n in range(100)]
    routes += [(f"2001:db8:{n}::/48", mrt.attributes([1])) for n in range(100)]
    ports = both_ends()
    ports["west"]["bgp"]["peers"][0]["routes"] = [{"name": "rib", "mrt": {"file": "rib.mrt", "limit": 60, "family": "ipv4"}}]
    profile = lab.profile(ports, [], load={"duration": "2s", "drain": "0s"})
    (profile.parent / "rib.mrt").write_bytes(mrt.table(routes))
    done, _ = lab.controlled(profile, ["withdraw rib"], 0.3)
    west, east = (done.json["ports"][name]["bgp"] for name in ("west", "east"))
    assert (west["advertised"], west["withdrawn"]) == (60, 60), west
    assert (east["received_ipv4"], east["received_ipv6"], east["received_withdrawn"]) == (60, 0, 60), east


def test_of_several_tables_in_a_file_the_last_one_is_advertised(lab):
    """BIRD appends a whole table to its file each time: routes that have gone since are in the earlier ones alone."""
    first = mrt.table([(f"20.0.{n}.0/24", mrt.attributes([n + 1])) for n in range(30)])
    later = mrt.table([(f"20.0.{n}.0/24", mrt.attributes([n + 1])) for n in range(20)])
    ports = both_ends()
    ports["west"]["bgp"]["peers"][0]["routes"] = [{"mrt": {"file": "rib.mrt"}}]
    profile = lab.profile(ports, [], load={"duration": "500ms", "drain": "0s"})
    (profile.parent / "rib.mrt").write_bytes(first + first + later)
    done = lab.eagre("run", profile, "--json", "-").ok()
    assert done.json["ports"]["west"]["bgp"]["advertised"] == 20, done.json["ports"]["west"]
    assert "has several tables of a family" in done.err and "earlier ones left out: 2" in done.err, done.err


def test_files_that_are_no_tables_are_refused(lab):
    def refused(data, *texts, **keys):
        west = {"device": "ring:a", "ip": "10.0.0.2/24", "bgp": {"peers": [peer(routes=[{"mrt": {"file": "rib.mrt"}, **keys}])]}}
        profile = lab.profile({"west": west, "east": {"device": "ring:b"}}, [])
        if data is not None:
            (profile.parent / "rib.mrt").write_bytes(data)
        lab.eagre("run", profile).refused(2, *texts)

    good = mrt.table([("20.0.0.0/8", mrt.attributes([1]))])
    where = "ports.west.bgp.peers[0].routes[0].mrt.file"
    refused(None, where, "'rib.mrt': No such file")
    refused(b"\x1f\x8b\x08", where, "'rib.mrt' is compressed: unpack it first")
    refused(good[:-1], where, "is cut off, or no MRT file: the record at byte 46 ends behind it")
    refused(b"", where, "has no IPv4 or IPv6 unicast routes of type TABLE_DUMP_V2")
    refused(good, "routes[0].as_path", "goes with 'prefixes', not with 'mrt': the file has it", as_path=[5])
    refused(good, "routes[0].mrt", "can't be used with 'prefixes'", prefixes="16.0.0.0/8")
    refused(good, "routes[0].next_hop", "2001:db8::9 is an IPv6 address, and the file has no such routes", next_hop="2001:db8::9")
    six = mrt.table([("2001:db8:1::/48", mrt.attributes([1]))])
    refused(six, "needs 'next_hop': host 'west' has no IPv6 address for routes[0]")


RETURNS = "on a busy machine the session can be back before the device has said what it kept"


def restarted(lab, graceful):
    """A run whose session restarts: routes in the FIB meanwhile and afterwards, and the result. Half of them are not advertised again."""
    device = Device(lab, ONE)
    routes = [{"name": "kept", "prefixes": "16.0.0.0/24", "count": 50}, {"name": "left", "prefixes": "17.0.0.0/24", "count": 50}]
    west = peer(routes=routes, retry="15s", families=["ipv4"], **graceful)
    profile = lab.profile(device.ports({"peers": [west], "settle": "0s"}), [], load={"duration": "30s", "drain": "0s"})
    process = lab.start_eagre("run", profile, "--control", "--json", "-", ns=device.tester, stdin=subprocess.PIPE)
    wait_until(lambda: device.fib() == 100, "the routes", 30)
    time.sleep(1)
    process.stdin.write("restart 10.0.0.2\nwithdraw left\n")
    process.stdin.flush()
    state = lambda: device.ask("bgp neighbors 10.0.0.2")["10.0.0.2"]["bgpState"]
    wait_until(lambda: state() != "Established", "the end of the session", 5, every=0.1)
    time.sleep(2)
    assert state() != "Established"
    meanwhile = device.fib()
    assert state() != "Established", "the session is back before anyone has looked"
    wait_until(lambda: state() == "Established", "the next session", 20, every=0.1)
    wait_until(lambda: device.fib() == 50, "the routes of the next session", 10)
    done = lab.finish(process)
    return meanwhile, done.json["ports"]["west"]["bgp"]


@pytest.mark.unsteady(RETURNS)
def test_a_device_keeps_routes_while_a_session_restarts(lab):
    """With graceful restart FRR keeps them until End-of-RIB, which ends those that are not advertised again; without, none."""
    meanwhile, row = restarted(lab, {"graceful_restart": {"time": "60s"}})
    assert meanwhile == 100, "graceful restart is offered, and the routes are gone"
    assert (row["restarts"], row["flaps"], row["graceful_restart_peers"]) == (1, 0, 1), row
    assert row["advertised"] == 150, row
    # With this capability FRR reports when it has sent all.
    assert 1 <= row["received_end_of_rib_ipv4"] <= 2 and row["received_end_of_rib_ipv6"] == 0, row


@pytest.mark.unsteady(RETURNS)
def test_a_device_withdraws_routes_without_graceful_restart(lab):
    meanwhile, row = restarted(lab, {})
    assert meanwhile == 0, "graceful restart is not offered, and the routes stay"
    # FRR knows it, all the same.
    assert (row["restarts"], row["flaps"], row["graceful_restart_peers"]) == (1, 0, 1), row


def test_a_prefix_has_several_paths(lab):
    """FRR holds both paths of each prefix and passes both on, with its own identifiers, to a peer that accepts them."""
    two = "".join(f" neighbor {ip} remote-as {asn}\n" for ip, asn in (("10.0.0.2", 65001), ("10.0.0.3", 65002), ("10.0.0.4", 65003)))
    sends = "".join(f"  neighbor {ip} addpath-tx-all-paths\n" for ip in ("10.0.0.3", "10.0.0.4"))
    device = Device(lab, f"{two} address-family ipv4 unicast\n{sends} exit-address-family\n")
    routes = [{"prefixes": "16.0.0.0/24", "count": 40, "med": 5}, {"prefixes": "16.0.0.0/24", "count": 40, "as_path": [64999], "path_id": 70_000}]
    others = [{"host": "some", "as": 65002, "add_path": {"ways": "receive", "families": ["ipv4"]}}, {"host": "one", "as": 65003}]
    peers = [peer(add_path={}, routes=routes), *(peer(**other) for other in others)]
    hosts = [{"name": "some", "ip": "10.0.0.3/16"}, {"name": "one", "ip": "10.0.0.4/16"}]
    ports = device.ports({"peers": peers, "settle": "3s", "keep": 100}, hosts=hosts)
    profile = lab.profile({"west": ports["west"]}, [], load={"duration": "20s", "drain": "0s"})
    server = Server(lab, ns=device.tester)
    run = server.start(profile=profile.read_text())
    states = lambda: {row["host"]: row for row in server.ask("GET", f"/api/v1/runs/{run['id']}/protocols?routes=true").json()["bgp"]}
    wait_until(lambda: states()["some"]["kept"] == 80 and states()["one"]["kept"] == 40, "the routes", 40)
    paths = device.ask("bgp ipv4 unicast 16.0.7.0/24")["paths"]
    assert {(path["aspath"]["string"], path.get("metric")) for path in paths} == {("65001", 5), ("65001 64999", None)}, paths
    rows = states()
    assert [rows[host]["add_path"] for host in ("west", "some", "one")] == ["send", "receive", None], rows
    seen = [(route["address"], [part["numbers"] for part in route["as_path"]]) for route in rows["some"]["routes"]]
    for number in range(40):
        of_prefix = sorted(path for address, path in seen if address == f"16.0.{number}.0")
        assert of_prefix == [[[65000, 65001]], [[65000, 65001, 64999]]], seen
    assert len({route["path_id"] for route in rows["some"]["routes"] if route["address"] == "16.0.0.0"}) == 2
    assert {route["path_id"] for route in rows["one"]["routes"]} == {None}
    server.ask("POST", f"/api/v1/runs/{run['id']}/stop")
    server.ended(run)
    result = server.get(f"/api/v1/runs/{run['id']}/result")
    assert result["ports"]["west"]["bgp"]["add_path_sessions"] == 2, result


def test_a_peer_that_takes_one_path_is_named(lab):
    """FRR is configured not to accept several paths: it has the one that was sent last, and the result shows it."""
    device = Device(lab, ONE + " address-family ipv4 unicast\n  neighbor 10.0.0.2 disable-addpath-rx\n exit-address-family\n")
    routes = [{"prefixes": "16.0.0.0/24", "med": 5}, {"prefixes": "16.0.0.0/24", "med": 6}]
    done = device.run({"peers": [peer(add_path={"ways": "send"}, routes=routes, families=["ipv4"])], "settle": "0s"})
    assert done.exit == 1 and not done.json["verdict"]["valid"], done
    assert any("10.0.0.1 takes one path of each IPv4 prefix" in reason for reason in done.json["verdict"]["reasons"]), done
    assert done.json["ports"]["west"]["bgp"]["add_path_sessions"] == 0


def test_routes_come_and_go_while_traffic_runs(lab):
    device = Device(lab, ONE + " timers bgp 3 9\n")
    routes = [
        {"prefixes": "16.0.0.0/24", "count": 100, "advertise": "1s", "withdraw": "3s"},
        {"prefixes": "17.0.0.0/24", "count": 50, "flap": {"every": "2s", "down": "1s"}},
    ]
    process, _ = device.begin(device.ports({"peers": [peer(routes=routes)]}), [], 7)
    seen = set()
    while process.poll() is None:
        seen.add(device.fib())
        time.sleep(0.1)
    assert {50, 150, 0} <= seen, seen
    bgp = lab.finish(process).json["ports"]["west"]["bgp"]
    assert (bgp["advertised"], bgp["withdrawn"]) == (100 + 50 * 3, 100 + 50 * 3) or bgp["advertised"] == 300, bgp
    assert bgp["flaps"] == 0 and bgp["keepalives_received"] > 0, bgp


def test_what_goes_wrong_is_said(lab):
    device = Device(lab, ONE)
    quick = {"timeout": "8s", "settle": "0s"}
    wrong = device.run({"peers": [peer(peer_as=65_009)], **quick})
    wrong.refused(3, "port west: bgp: 1 of 1 BGP sessions could not be established: 10.0.0.1 (from 10.0.0.2) is AS 65000, but 'peer_as' is 65009")
    wrong = device.run({"peers": [peer(**{"as": 65_002})], **quick})
    wrong.refused(3, "10.0.0.1 (from 10.0.0.2)", "refuses the session with 'Bad Peer AS': it expects an AS other than 'as'")
    nobody = device.run({"peers": [peer(peer="10.0.9.9")], **quick})
    nobody.refused(3, "10.0.9.9 (from 10.0.0.2) does not reply to ARP or neighbour discovery")
    # Of two, one: traffic runs, and the result reports the missing one.
    ports = device.ports({"peers": [peer(), peer(host="stranger")], **quick}, hosts=[{"name": "stranger", "ip": "10.0.0.3/16"}])
    done = lab.eagre("run", lab.profile(ports, [], load={"duration": "500ms"}), "--json", "-", ns=device.tester)
    assert done.exit == 1 and not done.json["verdict"]["valid"], done
    (reason,) = [reason for reason in done.json["verdict"]["reasons"] if "BGP" in reason]
    assert "port west: 1 of 2 BGP sessions could not be established: 10.0.0.1 (from 10.0.0.3)" in reason, reason
    lacking = device.run({"peers": [peer(routes=[{"prefixes": "2001:db8:1::/48"}])], **quick})
    assert any("10.0.0.1 does not exchange IPv6 routes" in reason for reason in lacking.json["verdict"]["reasons"]), lacking


def test_a_device_that_dies_is_found_out_by_the_hold_time(lab):
    device = Device(lab, ONE)
    process, _ = device.begin(device.ports({"peers": [peer(hold_time="3s")]}), [], 8)
    # It is silent, and nothing announces that.
    device.ns.ip("link", "set", "d0", "down")
    done = lab.finish(process)
    bgp = done.json["ports"]["west"]["bgp"]
    assert (bgp["established"], bgp["established_at_end"], bgp["flaps"]) == (1, 0, 1), bgp
    said = "port west: 1 BGP sessions were lost: 10.0.0.1 (from 10.0.0.2) sent nothing for the hold time of 3s"
    assert said in done.json["verdict"]["notes"], done


def test_bad_profiles_are_refused(lab):
    def refused(bgp, *texts, **west):
        west = {"device": "ring:a", "ip": "10.0.0.2/24", "bgp": {"peers": bgp}, **west}
        profile = lab.profile({"west": west, "east": {"device": "ring:b"}}, [])
        lab.eagre("run", profile).refused(2, *texts)

    refused([peer(), peer()], "ports.west.bgp.peers[1].peer", "host 'west' already has a session with 10.0.0.1, from ports.west.bgp.peers[0]")
    refused([peer(host="nobody")], "ports.west.bgp.peers[0].host", "the port has no host 'nobody'")
    refused([peer(peer="10.0.0.2")], "is an address of the port's own hosts, not the device's")
    refused([peer(peer="10.5.0.1")], "10.5.0.1 is on no network of host 'west', which has no 'gateway'")
    refused([peer(peer="2001:db8::1")], "host 'west' has no IPv6 address")
    refused([peer(hold_time="2s")], "peers[0].hold_time", "3s to 65535s")
    refused([peer(graceful_restart={"time": "4096s"})], "peers[0].graceful_restart.time", "must be whole seconds from 0s to 4095s")
    routes = {"prefixes": "250.0.0.0/8", "count": 10}
    refused([peer(routes=[routes])], "routes[0].count", "10 prefixes of /8 with step 1 from 250.0.0.0 on exceed the address space")
    refused([peer(routes=[{"prefixes": "2001:db8::/48"}])], "needs 'next_hop': host 'west' has no IPv6 address for routes[0]")
    refused([peer(routes=[{"prefixes": "16.0.0.0/8", "communities": ["65536:1"]}])], "a community such as 65001:100")
    refused([peer(routes=[{"prefixes": "16.0.0.0/8", "withdraw": "0s"}])], "withdraw", "must be later than 'advertise'")
    refused([peer()], "ports.west.bgp", "control plane in a namespace", punt={})


LISTEN = " neighbor many peer-group\n neighbor many remote-as 65001\n bgp listen limit 5000\n bgp listen range 10.0.0.0/16 peer-group many\n"
QUIET = " address-family ipv4 unicast\n  neighbor many route-map none out\n exit-address-family\n"


def test_many_peers_with_routes_of_their_own(lab):
    """1,000 peers with 100 routes each are up in 30 s."""
    device = Device(lab, LISTEN + QUIET)
    hosts = [{"name": "edge", "count": PEERS, "ip": "10.0.16.1/16"}]
    bgp = {"peers": [peer(host="edge", routes=[{"prefixes": "16.0.0.0/24", "count": ROUTES_OF_A_PEER}])], "settle": "0s"}
    process, _ = device.begin(device.ports(bgp, hosts=hosts), [], 3)
    wait_until(lambda: device.fib() == PEERS * ROUTES_OF_A_PEER, "the FIB", 60)
    result = lab.finish(process).json
    row = result["ports"]["west"]["bgp"]
    # One lost among many comes back and advertises its routes again.
    assert row["established"] == PEERS and row["flaps"] <= 1, result["verdict"]["notes"]
    assert row["advertised"] == (PEERS + row["flaps"]) * ROUTES_OF_A_PEER, row
    assert row["announced_after_s"] < 30, row


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.skipif(not LONG, reason="needs minutes")
def test_100_000_prefixes_are_in_the_fib_in_time(lab):
    def measure():
        device = Device(lab, ONE)
        routes = [{"prefixes": "16.0.0.0/24", "count": 100_000}]
        profile = lab.profile(device.ports({"peers": [peer(routes=routes)]}), [], load={"duration": "20s"})
        begin = time.monotonic()
        process = lab.start_eagre("run", profile, "--json", "-", ns=device.tester)
        wait_until(lambda: device.fib() == 100_000, "the FIB", 60, every=0.2)
        took = time.monotonic() - begin
        process.terminate()
        process.communicate(timeout=30)
        return took

    settled(measure, lambda took: took <= 15)


def resident(lab, count):
    """Peak memory of a run that advertised this number of routes to its own peer, bytes."""
    there = {"peers": [{"peer": "10.0.0.2", "as": 65_000, "peer_as": 65_001}], "settle": "0s"}
    here = {"peers": [peer(routes=[{"prefixes": "16.0.0.0/28", "count": count}])], "settle": "0s"}
    west = {"device": "ring:a", "ip": "10.0.0.2/24", "bgp": here}
    east = {"device": "ring:b", "ip": "10.0.0.1/24", "bgp": there}
    profile = lab.profile({"west": west, "east": east}, [], load={"duration": "200ms", "drain": "0s"})
    path = profile.parent / "result.json"
    process = lab.start_eagre("run", profile, "--json", path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    most = peak_kb(process) * 1_024
    result = json.loads(path.read_text())
    assert process.returncode in (0, 1, 4), result["verdict"]
    sent, received = result["ports"]["west"]["bgp"], result["ports"]["east"]["bgp"]
    assert sent["advertised"] == received["received_ipv4"] == count, result
    return most


def test_a_million_routes_take_little_memory(lab):
    """Between two ports of the tester: what a million routes take more than ten is below 100 MB."""
    assert resident(lab, 1_000_000) - resident(lab, 10) < 100_000_000


def both_ends():
    """Two ports of the tester with a session between them, and routes of two names."""
    routes = [{"name": "a", "prefixes": "16.0.0.0/24", "count": 100}, {"name": "b", "prefixes": "2001:db8:1::/48", "count": 50, "next_hop": "2001:db8::2"}]
    here = {"peers": [peer(name="edge", routes=routes, graceful_restart={"time": "30s"})], "settle": "0s"}
    there = {"peers": [{"peer": "10.0.0.2", "as": 65_000, "retry": "1s", "families": ["ipv4", "ipv6"]}], "settle": "0s", "keep": 120}
    return {"west": {"device": "ring:a", "ip": "10.0.0.2/24", "bgp": here}, "east": {"device": "ring:b", "ip": "10.0.0.1/24", "bgp": there}}


def test_routes_and_peers_follow_commands(lab):
    profile = lab.profile(both_ends(), [], load={"duration": "4s", "drain": "0s"})
    lines = ["withdraw a", "advertise port=west peer=edge", "withdraw x", "down edge", "release", "up 10.0.0.2"]
    done, _ = lab.controlled(profile, lines, 0.3)
    west, east = (done.json["ports"][name]["bgp"] for name in ("west", "east"))
    assert (west["withdrawn"], east["received_withdrawn"], west["commands"], east["commands"]) == (100, 100, 4, 0), (west, east)
    # First, again, and in the session after; those that were not withdrawn once less.
    assert (west["flaps"], east["flaps"]) == (0, 1) and east["received_ipv4"] >= 200 and east["received_ipv6"] >= 50, (west, east)
    assert "there are no routes 'x'" in done.err and "no port has DHCP or PPPoE clients" in done.err, done.err


def test_the_api_shows_and_changes_sessions(lab):
    server = Server(lab)
    run = server.ask("POST", "/api/v1/runs", {"profile": {"ports": both_ends(), "load": {"duration": "60s"}}, "keep": False}).json()
    path = f"/api/v1/runs/{run['id']}/protocols"
    states = lambda query="": {row["port"]: row for row in server.ask("GET", path + query).json()["bgp"]}
    wait_until(lambda: states()["east"]["kept"] == 120, "the routes", 20)
    west, east = states("?routes=true")["west"], states("?routes=true")["east"]
    assert (west["name"], west["state"], west["local"], west["remote"], west["remote_as"]) == ("edge", "established", "10.0.0.2", "10.0.0.1", 65_000), west
    assert (west["advertised"], east["received"], east["left_out"], east["remote_as"]) == (150, 150, 30, 65_001), (west, east)
    assert (east["received_end_of_rib_ipv4"], east["received_end_of_rib_ipv6"]) == (1, 1), east
    route = east["routes"][0]
    assert (route["address"], route["prefix_len"], route["next_hop"], route["origin"]) == ("16.0.0.0", 24, "10.0.0.2", "igp"), route
    assert route["as_path"] == [{"kind": "sequence", "numbers": [65_001]}], route
    assert server.ask("POST", path, {"action": "withdraw", "routes": ["a"]}).json() == {"changed": 1}
    wait_until(lambda: states()["east"]["kept"] < 120, "the withdrawal", 10)
    assert server.ask("POST", path, {"action": "restart", "port": "west"}).json() == {"changed": 1}
    offered = {"restarted": True, "time_s": 30, "notification": False, "families": ["ipv4", "ipv6"], "forwarding": ["ipv4", "ipv6"]}
    wait_until(lambda: states()["east"]["graceful_restart"] == offered, "the next session", 10)
    assert (states()["west"]["restarts"], states()["west"]["graceful_restart"]) == (1, None), states()
    assert server.ask("POST", path, {"action": "down", "port": "west"}).json() == {"changed": 1}
    wait_until(lambda: states()["east"]["state"] != "established", "the end", 10)
    assert states()["west"]["is_down"] and "Administrative Shutdown" in states()["east"]["reason"], states()
    assert server.ask("POST", path, {"action": "up"}).json() == {"changed": 1}
    wait_until(lambda: states()["east"]["state"] == "established", "the session", 10)
    for change, said in (({"action": "up", "peers": ["nobody"]}, "there is no BGP peer 'nobody'"), ({"action": "up", "port": "x"}, "there is no port 'x'")):
        answer = server.ask("POST", path, change)
        assert answer.status == 409 and said in answer.detail, answer
    labels = f'run="{run["id"]}",port="west"'
    wanted = [f"eagre_bgp_sessions{{{labels}}} 1.0", f"eagre_bgp_withdrawn_routes_total{{{labels}}} 100"]
    # They are from the newest snapshot.
    wait_until(lambda: set(wanted) <= set(server.ask("GET", "/metrics").body.decode().splitlines()), f"{wanted} in /metrics", 10)
    server.ask("POST", f"/api/v1/runs/{run['id']}/stop")
