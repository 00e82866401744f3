"""OSPFv3 routers among the tester's hosts before FRR and BIRD: adjacencies, routes in the device's FIB, traffic to them, withdrawals, and what
goes wrong."""

import ipaddress
import json
import signal
import subprocess
import time

import frr
import pytest
from frr import say
from lab import LONG, need, stream, wait_until
from server import Server

PREFIXES = 10_000 if LONG else 600
# Seconds after which an interval has begun and ended.
WHOLE_INTERVAL = 0.6
# Seconds an adjacency stays beside traffic: several dead intervals.
HELD = 30 if LONG else 9
QUICK = " ipv6 ospf6 hello-interval 1\n ipv6 ospf6 dead-interval 4\n"
POINT = " ipv6 ospf6 network point-to-point\n"
BUSY = "a busy machine keeps Hello packets and LSAs waiting for longer than the dead interval of these tests"


class Device(frr.Device):
    """FRR's ospf6d."""

    daemon, protocol = "ospf6d", "ospf"

    def __init__(self, lab, interface=POINT + QUICK, area="0", lost=0, more=""):
        text = f"interface d0\n ipv6 ospf6 area {area}\n ipv6 ospf6 cost 7\n{interface}exit\nrouter ospf6\n ospf6 router-id 9.9.9.9\n{more}exit\n"
        super().__init__(lab, text, lost)

    def prepare(self):
        self.ns.run("sysctl", "-qw", "net.ipv6.conf.all.forwarding=1", "net.ipv6.conf.d1.accept_dad=0", "net.ipv6.conf.d0.accept_dad=0")
        for inner, address in (("d0", "2001:db8:a::1/64"), ("d1", "2001:db8:9::1/64")):
            self.ns.ip("address", "add", address, "dev", inner, "nodad")

    def ask(self, what):
        return self.show(f"ipv6 ospf6 {what}")

    def routes(self):
        """Its routes by prefix, without those that are to routers or of its own links."""
        return self.ask("route detail").get("routes", {})

    def fib(self, family="-6"):
        return super().fib(family)

    def ports(self, routers, kind="afpacket", **west):
        ports = super().ports(routers, kind)
        ports["west"].update(ip=["2001:db8:a::2/64"], gateway=["2001:db8:a::1"])
        ports["east"].update(ip=["2001:db8:9::2/64"], gateway=["2001:db8:9::1"])
        ports["west"].update(west)
        return ports


def router(**keys):
    return {"version": 3, "router_id": "1.1.1.1", "network": "point_to_point", "hello": "1s", "dead": "4s", **keys}


def ospf(*routers, **keys):
    return {"routers": list(routers), "settle": "2s", "timeout": "60s", **keys}


def to(name, first, count, rate="2kpps", step=64):
    """A stream to each network of a range."""
    varied = {"ipv6.dst": {"from": first, "step": str(ipaddress.IPv6Address(1 << step)), "count": count}}
    return {**stream(name, "east", "west", rate=rate), "packet": [{"ipv6": {"dst": first}}, {"udp": {"dst": 9}}], "vary": varied}


@pytest.mark.unsteady(BUSY)
@pytest.mark.parametrize(("kind", "network"), [("afpacket", "point_to_point"), ("afpacket", "broadcast"), ("afxdp", "point_to_point")])
def test_traffic_follows_the_routes(lab, kind, network):
    """All routes are in the FIB when traffic starts; of those that are withdrawn meanwhile everything is lost, of others nothing."""
    device = Device(lab, (POINT if network == "point_to_point" else "") + QUICK)
    half = PREFIXES // 2
    routes = [
        {"prefixes": "2001:db8:1000::/64", "count": half, "type": "external_1", "metric": 30, "tag": 77},
        {"name": "other", "prefixes": "2001:db8:2000::/64", "count": half},
    ]
    streams = [to("kept", "2001:db8:1000::1", half), to("withdrawn", "2001:db8:2000::1", half)]
    process, lines = device.begin(device.ports(ospf(router(network=network, routes=routes)), kind), streams)
    assert device.fib() == PREFIXES
    (neighbor,) = device.ask("neighbor")["neighbors"]
    assert (neighbor["neighborId"], neighbor["state"]) == ("1.1.1.1", "Full"), neighbor
    say(process, "withdraw other")
    wait_until(lambda: device.fib() == half, "the withdrawal", 30)
    time.sleep(WHOLE_INTERVAL)
    done = device.end(process)
    result = done.json
    kept, withdrawn = result["streams"]["kept"], result["streams"]["withdrawn"]
    assert kept["lost"] == 0 and kept["rx"] == kept["tx"] > 0, done
    assert 0 < withdrawn["rx"] < withdrawn["tx"], done
    last = [row for row in map(json.loads, lines.read_text().splitlines()) if not row["draining"]][-1]["streams"]["withdrawn"]
    assert last["tx"] > 0 and last["rx"] == 0, "what was withdrawn arrives still"
    row = result["ports"]["west"]["ospf"]
    assert (row["routers"], row["full"], row["full_at_end"], row["failed"], row["flaps"]) == (1, 1, 1, 0, 0), row
    assert (row["advertised"], row["withdrawn"]) == (PREFIXES, half), row
    assert 0 < row["first_withdrawal_ns"] < result["duration_s"] * 1e9 and row["full_ns"]["samples"] == 1, row
    assert 0 < row["announced_after_s"] < 60 and row["lsas_sent"]["external"] >= PREFIXES + half, row
    assert row["lsas_received"]["network"] == row["database"]["network"] == (network == "broadcast"), row
    assert row["database"]["link"] == 1 and row["lsas_sent"]["link"] >= 1, row
    assert (row["malformed"], row["mismatched"], row["left_out"]) == (0, 0, 0), row
    assert not any("OSPF" in reason for reason in result["verdict"]["reasons"]), result["verdict"]
    # All is flushed when the run ends, not only unreachable.
    wait_until(lambda: device.fib() == 0, "the end of the adjacency", 15)


@pytest.mark.unsteady(BUSY)
def test_routes_of_all_types_and_generated_routers(lab):
    """Each costs what it should, goes by command, and comes again."""
    device = Device(lab)
    routes = [
        {"name": "inside", "prefixes": "2001:db8:20::/64", "count": 24, "type": "internal", "metric": 3},
        {"name": "other", "prefixes": "2001:db8:30::/64", "count": 20, "type": "inter_area", "metric": 30},
        {"name": "one", "prefixes": "2001:db8:40::/64", "count": 10, "type": "external_1", "metric": 5, "tag": 9},
        {"name": "two", "prefixes": "2001:db8:50::/64", "count": 5},
        {"name": "all", "prefixes": "::/0", "metric": 1},
    ]
    topology = {"grid": {"rows": 3, "columns": 4}, "cost": 5, "router_id": "2.0.0.1"}
    ports = device.ports(ospf(router(routes=routes, topology=topology)))
    profile = lab.profile(ports, [to("inside", "2001:db8:20::1", 24)], load={"duration": "60s", "drain": "100ms"})
    process = lab.start_eagre("run", profile, "--control", "--json", "-", ns=device.tester, stdin=subprocess.PIPE)
    wait_until(lambda: device.fib() == 60, "the routes", 60)
    said = device.routes()
    kinds = {name: said[name]["pathType"] for name in ("2001:db8:20:3::/64", "2001:db8:30::/64", "2001:db8:40::/64", "2001:db8:50::/64", "::/0")}
    assert list(kinds.values()) == ["Intra-Area", "Inter-Area", "External-1", "External-2", "External-2"], kinds
    costs = [said[name]["metricCost"] for name in ("2001:db8:30::/64", "2001:db8:40::/64")]
    assert costs == [37, 12] and said["2001:db8:50::/64"]["metricCostE2"] == 20, (costs, said["2001:db8:50::/64"])
    for number in range(12):
        row, column = divmod(number, 4)
        for network in (2 * number, 2 * number + 1):
            route = said["2001:db8:20::/64" if network == 0 else f"2001:db8:20:{network:x}::/64"]
            # The device's link, the link to the grid, the way in it, and the network.
            assert route["metricCost"] == 7 + 5 + 5 * (row + column) + 3, (number, route)
    say(process, "withdraw")
    wait_until(lambda: device.fib() == 0, "the withdrawal", 20)
    say(process, "advertise")
    wait_until(lambda: device.fib() == 60, "the routes again", 20)
    row = device.end(process).json["ports"]["west"]["ospf"]
    assert (row["advertised"], row["withdrawn"], row["flaps"], row["commands"]) == (120, 60, 0, 2), row
    assert row["lsas_sent"]["router"] >= 13 and row["lsas_sent"]["intra_area_prefix"] >= 13 and row["lsas_sent"]["inter_area_prefix"] >= 40, row
    wait_until(lambda: device.fib() == 0, "the end of the adjacency", 15)


@pytest.mark.unsteady(BUSY)
def test_routers_of_many_hosts_on_a_broadcast_network(lab):
    """Each has an adjacency with the device, which is the designated router, and routes of its own."""
    device = Device(lab, QUICK)
    hosts = [{"name": "edge", "count": 8, "ip": "2001:db8:a::10/64"}]
    routers = router(host="edge", router_id="1.1.2.1", network="broadcast", routes=[{"prefixes": "2001:db8:17::/64", "count": 20}])
    process, _ = device.begin(device.ports(ospf(routers), hosts=hosts), [to("all", "2001:db8:17::1", 160)], 3)
    assert device.fib() == 160
    neighbors = device.ask("neighbor")["neighbors"]
    assert {row["neighborId"]: row["state"] for row in neighbors} == {f"1.1.2.{n}": "Full" for n in range(1, 9)}, neighbors
    done = lab.finish(process)
    row = done.json["ports"]["west"]["ospf"]
    assert (row["full"], row["full_at_end"], row["advertised"], row["flaps"]) == (8, 8, 160, 0), row
    assert done.json["streams"]["all"]["lost"] == 0, done


@pytest.mark.unsteady(BUSY)
def test_a_link_that_loses_a_fifth_of_all_frames_is_no_obstacle(lab):
    """With FRR as designated router; test_adjacency.py has both ends of other links."""
    device = Device(lab, " ipv6 ospf6 hello-interval 1\n ipv6 ospf6 dead-interval 8\n", lost=20)
    routes = [{"prefixes": "2001:db8:16::/64", "count": 150}, {"name": "other", "prefixes": "2001:db8:32::/64", "count": 150}]
    row = device.lossy(device.ports(ospf(router(network="broadcast", dead="8s", routes=routes), timeout="120s")), 300, 150)
    assert (row["full"], row["flaps"], row["withdrawn"]) == (1, 0, 150), row


@pytest.mark.unsteady(BUSY)
def test_an_adjacency_stays_beside_traffic(lab):
    device = Device(lab)
    routes = [{"prefixes": "2001:db8:16::/64", "count": 50}]
    eastward = {**stream("eastward", "west", "east", rate="5kpps"), "packet": [{"ipv6": {"dst": "2001:db8:9::2"}}, {"udp": {"dst": 9}}]}
    process, _ = device.begin(device.ports(ospf(router(routes=routes))), [to("westward", "2001:db8:16::1", 50, "5kpps"), eastward], HELD)
    seen = set()
    while process.poll() is None:
        seen.add(device.fib())
        time.sleep(0.3)
    done = lab.finish(process)
    assert seen <= {50, 0}, seen
    row = done.json["ports"]["west"]["ospf"]
    assert (row["flaps"], row["full_at_end"]) == (0, 1) and row["hellos_received"] >= HELD - 1, row
    assert all(one["lost"] == 0 for one in done.json["streams"].values()), done


@pytest.mark.unsteady(BUSY)
def test_a_device_that_dies_is_found_out_and_comes_back(lab):
    device = Device(lab)
    process, _ = device.begin(device.ports(ospf(router(routes=[{"prefixes": "2001:db8:16::/64", "count": 30}]))), [])
    assert device.fib() == 30
    device.restart()
    wait_until(lambda: device.fib() == 30, "the routes again", 20)
    done = device.end(process)
    row = done.json["ports"]["west"]["ospf"]
    assert (row["full"], row["full_at_end"], row["flaps"], row["advertised"]) == (1, 1, 1, 60), row
    (note,) = [note for note in done.json["verdict"]["notes"] if "OSPF" in note]
    assert note.startswith("port west: 1 OSPF adjacencies were lost: 2001:db8:a::2: fe80::"), note


@pytest.mark.unsteady(BUSY)
def test_what_goes_wrong_is_said(lab):
    """Some of it; test_adjacency.py has the rest."""
    device = Device(lab)
    link_local = device.ns.ip("-6", "address", "show", "dev", "d0", "scope", "link").split("inet6 ")[1].split("/")[0]

    def fails(reason, timeout="2s", **keys):
        done = device.run(ospf(router(**keys), timeout=timeout, settle="0s"))
        reason = reason.replace("DEVICE", link_local)
        done.refused(3, f"port west: ospf: 1 of 1 OSPF routers have no full adjacency: 2001:db8:a::2: {reason}")

    fails("DEVICE has instance 0, but 'instance' is 5", instance=5)
    fails("DEVICE has an MTU of 1500, not 1400: give the router this 'mtu'", "5s", mtu=1400)
    fails("DEVICE has an MTU of 1500, not 1600: give the router this 'mtu'", "5s", mtu=1600)
    device.configure("interface d0\nno ipv6 ospf6 area 0")
    fails("no Hello packet from an OSPF router on its link")


@pytest.mark.unsteady(BUSY)
def test_what_a_run_before_has_left_is_taken_over_or_flushed(lab):
    """A killed run flushes nothing: the next one has newer LSAs of what it advertises, and ends those of what it does not."""
    device = Device(lab)
    inside = {"prefixes": "2001:db8:99::/64", "count": 5, "type": "internal"}
    old = [{"prefixes": "2001:db8:16::/64", "count": 300, "metric": 11}, {"prefixes": "2001:db8:18::/64", "count": 40}, inside]
    process, _ = device.begin(device.ports(ospf(router(routes=old))), [], 60)
    assert device.fib() == 345
    process.send_signal(signal.SIGKILL)
    process.communicate()
    new = [{"prefixes": "2001:db8:16::/64", "count": 200, "metric": 12}, {"prefixes": "2001:db8:18::/64", "count": 9, "advertise": "1h"}]
    process, _ = device.begin(device.ports(ospf(router(routes=new))), [], 30)
    wait_until(lambda: device.fib() == 200, "the flush", 20)
    process.send_signal(signal.SIGINT)
    row = lab.finish(process).json["ports"]["west"]["ospf"]
    assert row["outdated"] >= 100 and row["flaps"] == 0, row


@pytest.mark.unsteady(BUSY)
def test_a_host_is_a_router_of_both_versions(lab):
    """Their adjacencies are of their own, and so are their routes; both may have one identifier."""
    here = ospf(
        router(name="six", routes=[{"prefixes": "2001:db8:16::/64", "count": 40}]),
        router(name="four", version=2, routes=[{"prefixes": "16.0.0.0/24", "count": 30}]),
        settle="0s",
    )
    there = ospf(router(router_id="9.9.9.9"), router(version=2, router_id="9.9.9.9"), settle="0s", keep=100)
    ports = {
        "west": {"device": "ring:a", "ip": ["10.0.0.2/24", "2001:db8:a::2/64"], "ospf": here},
        "east": {"device": "ring:b", "ip": ["10.0.0.1/24", "2001:db8:a::1/64"], "ospf": there},
    }
    done, _ = lab.controlled(lab.profile(ports, [], load={"duration": "4s", "drain": "0s"}), ["down six"], 0.5)
    west, east = (done.json["ports"][name]["ospf"] for name in ("west", "east"))
    assert (west["full"], west["full_at_end"], west["advertised"], east["flaps"]) == (2, 1, 70, 1), (west, east)
    # Those of the router that is still up are flushed at the end.
    assert east["lsas_received"]["external"] == 70 + 30 and east["lsas_received"]["link"] == 1, east


@pytest.mark.unsteady(BUSY)
def test_the_api_shows_and_changes_adjacencies(lab):
    server = Server(lab)
    routes = [{"name": "a", "prefixes": "2001:db8:16::/64", "count": 100}, {"name": "b", "prefixes": "2001:db8:17::/64", "count": 50}]
    here = ospf(router(name="edge", routes=routes, topology={"tree": {"routers": 7}}, instance=4), settle="0s")
    there = ospf(router(router_id="9.9.9.9", instance=4), settle="0s", keep=120)
    ports = {
        "west": {"device": "ring:a", "ip": "2001:db8:a::2/64", "ospf": here},
        "east": {"device": "ring:b", "ip": "2001:db8:a::1/64", "ospf": there},
    }
    run = server.ask("POST", "/api/v1/runs", {"profile": {"ports": ports, "load": {"duration": "60s"}}, "keep": False}).json()
    path = f"/api/v1/runs/{run['id']}/protocols"
    states = lambda query="": {row["port"]: row for row in server.ask("GET", path + query).json()["ospf"]}
    wait_until(lambda: states().get("east", {}).get("database", {}).get("external") == 150, "the routes", 20)
    wait_until(lambda: states()["west"]["is_mutual"] and states()["east"]["is_mutual"], "both", 10)
    west, east = states("?routes=true")["west"], states("?routes=true")["east"]
    assert (west["name"], west["version"], west["instance"], west["state"], west["neighbour_id"]) == ("edge", 3, 4, "full", "9.9.9.9"), west
    assert west["local"] == "2001:db8:a::2" and west["neighbour"].startswith("fe80::"), west
    assert (west["advertised"], west["originated_routers"], east["kept"], east["database"]["router"]) == (150, 8, 120, 8), (west, east)
    first = east["lsas"][0]
    assert (first["kind"], first["id"], first["router_id"], first["options"]) == (0x0008, "0.0.0.1", "1.1.1.1", 0), first
    assert server.ask("POST", path, {"action": "withdraw", "routes": ["a"]}).json() == {"changed": 1}
    wait_until(lambda: states()["east"]["database"]["external"] == 50, "the withdrawal", 10)
    assert server.ask("POST", path, {"action": "down", "peers": ["2001:db8:a::2"]}).json() == {"changed": 1}
    # The last Hello packet says so; where it is lost, the dead interval does.
    wait_until(lambda: states()["east"]["state"] in ("init", "down"), "the end", 10)
    assert server.ask("POST", path, {"action": "up"}).json() == {"changed": 1}
    wait_until(lambda: states()["east"]["state"] == "full", "the adjacency", 10)
    labels = f'run="{run["id"]}",port="west"'
    wanted = [f"eagre_ospf_adjacencies{{{labels}}} 1.0", f"eagre_ospf_withdrawn_routes_total{{{labels}}} 100"]
    wait_until(lambda: set(wanted) <= set(server.ask("GET", "/metrics").body.decode().splitlines()), f"{wanted} in /metrics", 10)
    server.ask("POST", f"/api/v1/runs/{run['id']}/stop")


def test_bad_profiles_are_refused(lab):
    def refused(routers, *texts, **west):
        west = {"device": "ring:a", "ip": "2001:db8:a::2/64", "ospf": {"routers": routers}, **west}
        profile = lab.profile({"west": west, "east": {"device": "ring:b"}}, [])
        lab.eagre("run", profile).refused(2, *texts)

    def routes(text, *all_routes, key="routes[0]", **keys):
        refused([router(routes=list(all_routes), **keys)], f"ports.west.ospf.routers[0].{key}", text)

    refused([router()], "routers[0].host", "host 'west' has no IPv6 address", ip="10.0.0.2/24")
    refused([router(router_id=None)], "routers[0].router_id", "is missing: host 'west' has no IPv4 address to take it from")
    refused([router(version=4)], "routers[0].version")
    refused([router(), router()], "routers[1].host", "host 'west' is router 1.1.1.1 already")
    refused([router(password="tide")], "routers[0].password", "OSPFv3 packets have neither passwords nor digests")
    refused([router(md5={"id": 1, "key": "tide"})], "routers[0].md5", "OSPFv3 packets have neither passwords nor digests")
    refused([router(mtu=1200)], "routers[0].mtu", "must be 1280 at least with version 3")
    refused([router(dead="70000s")], "routers[0].dead", "must be 65535s at most with version 3")
    refused([router(version=2, instance=1)], "routers[0].instance", "only OSPFv3 has instances", ip="10.0.0.2/24")
    routes("must be an IPv6 network: the router is one of OSPFv3", {"prefixes": "16.0.0.0/24"}, key="routes[0].prefixes")
    routes("exceed the address space", {"prefixes": "::/0", "count": 2}, key="routes[0].count")
    own = {"prefixes": "2001:db8::/64", "count": 70, "type": "internal"}
    routes("70 prefixes of the router itself; there is room for 69: give the router a 'topology'", own, key="routes")
    many = {"prefixes": "2001:db8::/64", "count": 1000, "type": "internal"}
    routes("200 prefixes of each generated router; there is room for 117", many, key="topology", topology={"ring": 5})
    wide = {"tree": {"routers": 500, "children": 100}}
    refused([router(topology=wide)], "routers[0].topology", "102 links of each generated router; there is room for 88")


BIRD = """
router id 9.9.9.9;
protocol device {{}}
protocol kernel {{ ipv6 {{ export all; import none; }}; }}
protocol ospf v3 test {{
  ipv6 {{ import all; export none; }};
  area 0 {{ interface "d0" {{ type {kind}; hello 1; dead 4; cost 7; wait 2; }}; }};
}}
"""


@pytest.mark.unsteady(BUSY)
@pytest.mark.parametrize(("network", "kind"), [("point_to_point", "ptp"), ("broadcast", "bcast")])
def test_bird_takes_the_routes(lab, network, kind):
    need("bird", "birdc")
    folder, tester, ns = lab.folder(), lab.netns("tester"), lab.netns("device", forwarding=True)
    lab.veth(tester, "veth0", ns, "d0")
    lab.veth(tester, "veth1", ns, "d1")
    for inner, address in (("d0", "2001:db8:a::1/64"), ("d1", "2001:db8:9::1/64")):
        ns.ip("address", "add", address, "dev", inner, "nodad")
    (folder / "bird.conf").write_text(BIRD.format(kind=kind))
    lab.start("bird", "-f", "-c", folder / "bird.conf", "-s", folder / "bird.ctl", ns=ns, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: (folder / "bird.ctl").exists(), "bird")
    routes = [
        {"prefixes": "2001:db8:16::/64", "count": 600},
        {"prefixes": "2001:db8:20::/64", "count": 10, "type": "internal", "metric": 1},
        {"prefixes": "2001:db8:30::/64", "count": 5, "type": "inter_area"},
        {"prefixes": "2001:db8:32::/64", "count": 600, "withdraw": "2s"},
    ]
    one = router(network=network, routes=routes, topology={"ring": 5})
    west = {"device": "afpacket:veth0", "ip": "2001:db8:a::2/64", "gateway": "2001:db8:a::1", "ospf": ospf(one)}
    east = {"device": "afpacket:veth1", "ip": "2001:db8:9::2/64", "gateway": "2001:db8:9::1"}
    streams = [to("kept", "2001:db8:16::1", 600), to("withdrawn", "2001:db8:32::1", 600)]
    profile = lab.profile({"west": west, "east": east}, streams, load={"duration": "6s", "drain": "500ms"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=tester)
    fib = lambda: len(ns.ip("-6", "route", "show", "proto", "bird").splitlines())
    wait_until(lambda: fib() >= 1_215, "the routes", 60)
    neighbors = ns.run("birdc", "-s", folder / "bird.ctl", "show", "ospf", "neighbors")
    assert "1.1.1.1" in neighbors and "Full" in neighbors, neighbors
    shown = ns.run("birdc", "-s", folder / "bird.ctl", "show", "route", "for", "2001:db8:20:9::1")
    # The device's link, the link to the ring, one link in it, and the network.
    assert f"/{7 + 10 + 10 + 1})" in shown, shown
    wait_until(lambda: fib() <= 617, "the withdrawal", 30)
    done = lab.finish(process)
    kept, withdrawn = done.json["streams"]["kept"], done.json["streams"]["withdrawn"]
    assert kept["lost"] == 0 < kept["rx"] and withdrawn["lost"] > 0, done
    row = done.json["ports"]["west"]["ospf"]
    assert (row["full"], row["flaps"], row["malformed"]) == (1, 0, 0), row
    # That of its own link stays.
    wait_until(lambda: fib() <= 1, "the end", 10)
