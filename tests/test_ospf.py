"""OSPF routers among the tester's hosts before FRR and BIRD: adjacencies, routes in the device's FIB, traffic to them, withdrawals, and what
goes wrong."""

import json
import signal
import subprocess
import time

import frr
import pytest
from frr import say, to
from lab import LONG, need, pair, settled, stream, wait_until
from server import Server

PREFIXES = 10_000 if LONG else 1_200
# Seconds after which an interval has begun and ended.
WHOLE_INTERVAL = 0.6
# Seconds an adjacency stays beside traffic: several dead intervals.
HELD = 30 if LONG else 9
QUICK = " ip ospf hello-interval 1\n ip ospf dead-interval 4\n"
POINT = " ip ospf network point-to-point\n"
BUSY = "a busy machine keeps Hello packets and LSAs waiting for longer than the dead interval of these tests"


class Device(frr.Device):
    """FRR's ospfd."""

    daemon, protocol = "ospfd", "ospf"

    def __init__(self, lab, interface=POINT + QUICK, area="0", lost=0, more=""):
        text = f"interface d0\n ip ospf area {area}\n ip ospf cost 7\n{interface}exit\nrouter ospf\n ospf router-id 9.9.9.9\n{more}exit\n"
        super().__init__(lab, text, lost)

    def ask(self, what):
        return self.show(f"ip ospf {what}")

    def routes(self):
        return {name: row for name, row in self.ask("route").items() if isinstance(row, dict) and "/" in name}

    def external(self):
        """External LSAs of its database that are not of the highest age: their identifiers. FRR shows those that are flushed for a while."""
        found, age = [], 0
        for line in self.vtysh("-c", "show ip ospf database external").splitlines():
            if "LS age:" in line:
                age = int(line.split()[2])
            elif "Link State ID" in line and age < 3600:
                found.append(line.split()[3])
        return found


def router(**keys):
    return {"router_id": "1.1.1.1", "network": "point_to_point", "hello": "1s", "dead": "4s", **keys}


def ospf(*routers, **keys):
    return {"routers": list(routers), "settle": "2s", "timeout": "60s", **keys}


@pytest.mark.unsteady(BUSY)
@pytest.mark.parametrize(("kind", "network"), [("afpacket", "point_to_point"), ("afpacket", "broadcast"), ("afxdp", "point_to_point")])
def test_traffic_follows_the_routes(lab, kind, network):
    """All routes are in the FIB when traffic starts; of those that are withdrawn meanwhile everything is lost, of others nothing."""
    device = Device(lab, (POINT if network == "point_to_point" else "") + QUICK)
    half = PREFIXES // 2
    routes = [
        {"prefixes": "16.0.0.0/24", "count": half, "type": "external_1", "metric": 30, "tag": 77},
        {"name": "other", "prefixes": "32.0.0.0/24", "count": half},
    ]
    streams = [to("kept", "16.0.0.1", half), to("withdrawn", "32.0.0.1", half)]
    process, lines = device.begin(device.ports(ospf(router(network=network, routes=routes)), kind), streams)
    assert device.fib() == PREFIXES
    (neighbor,) = device.ask("neighbor")["neighbors"]["1.1.1.1"]
    assert neighbor["nbrState"].startswith("Full") and neighbor["address"] == "10.0.0.2", neighbor
    said = device.routes()
    # Type 1 adds the way to the router, type 2 does not.
    one, two = said["16.0.1.0/24"], said["32.0.1.0/24"]
    assert (one["routeType"], one["cost"], one["tag"]) == ("N E1", 37, 77), one
    assert (two["routeType"], two["type2cost"]) == ("N E2", 20), two
    assert one["nexthops"][0]["ip"] == "10.0.0.2", one
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
    assert (row["malformed"], row["mismatched"], row["left_out"]) == (0, 0, 0), row
    assert not any("OSPF" in reason for reason in result["verdict"]["reasons"]), result["verdict"]
    # All is flushed when the run ends, not only unreachable.
    wait_until(lambda: device.fib() == 0, "the end of the adjacency", 5)
    # FRR shows them with the highest age until it removes them.
    left = [line.split() for line in device.vtysh("-c", "show ip ospf database").splitlines() if "1.1.1.1" in line]
    assert all("3600" in row for row in left), f"LSAs are left: {left}"


@pytest.mark.unsteady(BUSY)
def test_generated_routers_are_in_the_database_and_their_networks_cost_what_they_should(lab):
    """A grid of 3 by 4 behind the router: each network is as far away as the way there, and goes by command."""
    device = Device(lab)
    # Two networks for each router of the grid.
    routes = [{"name": "inside", "prefixes": "20.0.0.0/24", "count": 24, "type": "internal", "metric": 3}, {"prefixes": "30.0.0.0/24", "count": 2}]
    topology = {"grid": {"rows": 3, "columns": 4}, "cost": 5, "router_id": "2.0.0.1"}
    profile = lab.profile(device.ports(ospf(router(routes=routes, topology=topology))), [], load={"duration": "60s", "drain": "0s"})
    process = lab.start_eagre("run", profile, "--control", "--json", "-", ns=device.tester, stdin=subprocess.PIPE)
    wait_until(lambda: device.fib() == 26, "the routes", 60)
    database = device.vtysh("-c", "show ip ospf database router")
    assert {f"Link State ID: 2.0.0.{n}" for n in range(1, 13)} <= {line.strip() for line in database.splitlines()}, database
    said = device.routes()
    for number in range(12):
        row, column = divmod(number, 4)
        for network in (2 * number, 2 * number + 1):
            route = said[f"20.0.{network}.0/24"]
            # The device's link, the link to the grid, the way in it, and the network.
            assert route["cost"] == 7 + 5 + 5 * (row + column) + 3, (number, route)
    say(process, "withdraw inside")
    wait_until(lambda: device.fib() == 2, "the withdrawal", 20)
    say(process, "advertise inside")
    wait_until(lambda: device.fib() == 26, "the routes again", 20)
    row = device.end(process).json["ports"]["west"]["ospf"]
    assert (row["advertised"], row["withdrawn"], row["flaps"], row["commands"]) == (50, 24, 0, 2), row


@pytest.mark.unsteady(BUSY)
def test_routers_of_many_hosts_on_a_broadcast_network(lab):
    """Each has an adjacency with the device, which is the designated router, and its own routes."""
    device = Device(lab, QUICK)
    hosts = [{"name": "edge", "count": 8, "ip": "10.0.0.10/24"}]
    routers = router(host="edge", router_id="1.1.2.1", network="broadcast", routes=[{"prefixes": "17.0.0.0/24", "count": 20}])
    process, _ = device.begin(device.ports(ospf(routers), hosts=hosts), [to("all", "17.0.0.1", 160)], 3)
    assert device.fib() == 160
    neighbors = device.ask("neighbor")["neighbors"]
    assert {name: rows[0]["nbrState"] for name, rows in neighbors.items()} == {f"1.1.2.{n}": "Full/DROther" for n in range(1, 9)}, neighbors
    assert "via 10.0.0.17" in device.ns.ip("-4", "route", "show", "17.0.159.0/24")
    done = lab.finish(process)
    row = done.json["ports"]["west"]["ospf"]
    assert (row["full"], row["full_at_end"], row["advertised"], row["flaps"]) == (8, 8, 160, 0), row
    assert done.json["streams"]["all"]["lost"] == 0, done


@pytest.mark.unsteady(BUSY)
def test_a_link_that_loses_a_fifth_of_all_frames_is_no_obstacle(lab):
    """With FRR as designated router; test_adjacency.py has both ends of other links."""
    device = Device(lab, " ip ospf hello-interval 1\n ip ospf dead-interval 8\n", lost=20)
    routes = [{"prefixes": "16.0.0.0/24", "count": 150}, {"name": "other", "prefixes": "32.0.0.0/24", "count": 150}]
    row = device.lossy(device.ports(ospf(router(network="broadcast", dead="8s", routes=routes), timeout="120s")), 300, 150)
    assert (row["full"], row["flaps"], row["withdrawn"]) == (1, 0, 150), row


@pytest.mark.unsteady(BUSY)
def test_an_adjacency_stays_beside_traffic(lab):
    device = Device(lab)
    routes = [{"prefixes": "16.0.0.0/24", "count": 50}]
    eastward = {**stream("eastward", "west", "east", rate="5kpps"), "packet": [{"ipv4": {"dst": "10.9.0.2"}}, {"udp": {"dst": 9}}]}
    process, _ = device.begin(device.ports(ospf(router(routes=routes))), [to("westward", "16.0.0.1", 50, "5kpps"), eastward], HELD)
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
def test_a_device_that_dies_is_found_out_by_the_dead_interval(lab):
    device = Device(lab)
    process, _ = device.begin(device.ports(ospf(router())), [], 8)
    device.ns.ip("link", "set", "d0", "down")
    done = lab.finish(process)
    row = done.json["ports"]["west"]["ospf"]
    assert (row["full"], row["full_at_end"], row["flaps"]) == (1, 0, 1), row
    said = "port west: 1 OSPF adjacencies were lost: 10.0.0.2: 10.0.0.1 sent no Hello packet for the dead interval"
    assert said in done.json["verdict"]["notes"], done


@pytest.mark.unsteady(BUSY)
def test_what_goes_wrong_is_said(lab):
    """Some of it; test_adjacency.py has the rest."""
    device = Device(lab)

    def fails(reason, timeout="2s", **keys):
        done = device.run(ospf(router(**keys), timeout=timeout, settle="0s"))
        done.refused(3, f"port west: ospf: 1 of 1 OSPF routers have no full adjacency: 10.0.0.2: {reason}")

    fails("10.0.0.1 has a hello interval of 1 s, but 'hello' is 2 s", hello="2s")
    fails("10.0.0.1 has an MTU of 1500, not 1400: give the router this 'mtu'", "5s", mtu=1400)
    fails("10.0.0.1 has an MTU of 1500, not 1600: give the router this 'mtu'", "5s", mtu=1600)
    device.ns.ip("link", "set", "d0", "down")
    device.ns.ip("link", "set", "d0", "up")
    device.vtysh("-c", "configure terminal", "-c", "interface d0", "-c", "no ip ospf area 0")
    fails("no Hello packet from an OSPF router on its link")


@pytest.mark.unsteady(BUSY)
def test_of_two_routers_one_is_not_heard(lab):
    """Traffic runs, and the result reports the missing adjacency."""
    device = Device(lab, QUICK)
    routers = (router(network="broadcast"), router(host="stranger", router_id="1.1.1.9", network="broadcast", area="0.0.0.9"))
    ports = device.ports(ospf(*routers, timeout="12s"), hosts=[{"name": "stranger", "ip": "10.0.0.3/24"}])
    done = lab.eagre("run", lab.profile(ports, [], load={"duration": "500ms"}), "--json", "-", ns=device.tester)
    assert done.exit == 1 and not done.json["verdict"]["valid"], done
    (reason,) = [reason for reason in done.json["verdict"]["reasons"] if "OSPF" in reason]
    wanted = "port west: 1 of 2 OSPF routers have no full adjacency: 10.0.0.3: 10.0.0.1 is in area 0.0.0.0, but 'area' is 0.0.0.9"
    assert reason == wanted, reason


@pytest.mark.unsteady(BUSY)
def test_a_password_lets_in(lab):
    device = Device(lab, POINT + QUICK + " ip ospf authentication\n ip ospf authentication-key tideless\n")
    process, _ = device.begin(device.ports(ospf(router(password="tideless", routes=[{"prefixes": "16.0.0.0/24"}]))), [], 1)
    assert device.fib() == 1
    lab.finish(process)
    other = device.run(ospf(router(password="tide"), timeout="4s"))
    other.refused(3, "10.0.0.1 has another password")


@pytest.mark.unsteady(BUSY)
def test_a_digest_lets_in(lab):
    """Also after a run that was killed: the device still knows how far its digests had counted."""
    device = Device(lab, POINT + QUICK + " ip ospf authentication message-digest\n ip ospf message-digest-key 7 md5 sixteen-letters.\n")
    routes = [{"prefixes": "16.0.0.0/24", "count": 300}]
    md5 = {"id": 7, "key": "sixteen-letters."}
    process, _ = device.begin(device.ports(ospf(router(md5=md5, routes=routes))), [], 60)
    assert device.fib() == 300
    process.send_signal(signal.SIGKILL)
    process.communicate()
    process, _ = device.begin(device.ports(ospf(router(md5=md5, routes=routes))), [], 1)
    assert device.fib() == 300
    row = lab.finish(process).json["ports"]["west"]["ospf"]
    assert (row["malformed"], row["mismatched"], row["flaps"]) == (0, 0, 0), row
    fails = lambda reason, **keys: device.run(ospf(router(**keys), timeout="5s")).refused(3, f"10.0.0.2: 10.0.0.1 has {reason}")
    fails("another key", md5={"id": 7, "key": "fifteen-letters"})
    fails("another key", md5={"id": 8, "key": "sixteen-letters."})
    fails("a digest as authentication, not none")
    both = device.run(ospf(router(md5=md5, password="tide")))
    both.refused(2, "ports.west.ospf.routers[0].md5: packets have a password or a digest")


@pytest.mark.unsteady(BUSY)
def test_routes_of_other_areas_and_of_the_router_itself(lab):
    """Each costs what it should, and comes and goes with its times."""
    device = Device(lab)
    routes = [
        {"prefixes": "16.0.0.0/24", "count": 200, "type": "inter_area", "metric": 30},
        {"prefixes": "16.0.0.0/24", "count": 1, "type": "external_1", "metric": 2},
        {"prefixes": "20.0.0.0/24", "count": 100, "type": "internal", "metric": 3},
        {"prefixes": "40.0.0.0/24", "count": 50, "type": "inter_area", "withdraw": "3s"},
    ]
    streams = [to("kept", "16.0.0.1", 200), to("own", "20.0.0.1", 100), to("withdrawn", "40.0.0.1", 50)]
    process, _ = device.begin(device.ports(ospf(router(routes=routes))), streams, 8)
    assert device.fib() == 350
    said = device.routes()
    assert (said["16.0.0.0/24"]["routeType"], said["16.0.0.0/24"]["cost"]) == ("N IA", 37), said["16.0.0.0/24"]
    assert (said["20.0.99.0/24"]["routeType"], said["20.0.99.0/24"]["cost"]) == ("N", 10), said["20.0.99.0/24"]
    (border,) = [line for line in device.vtysh("-c", "show ip ospf route").splitlines() if "1.1.1.1" in line]
    assert "ABR, ASBR" in border, border
    wait_until(lambda: device.fib() == 300, "the withdrawal", 20)
    result = lab.finish(process).json
    lost = {name: row["lost"] for name, row in result["streams"].items()}
    assert lost["kept"] == lost["own"] == 0 < lost["withdrawn"], lost
    row = result["ports"]["west"]["ospf"]
    assert (row["lsas_sent"]["summary"] >= 250 + 50, row["advertised"], row["withdrawn"]) == (True, 351, 50), row


@pytest.mark.unsteady(BUSY)
def test_what_a_run_before_has_left_is_taken_over_or_flushed(lab):
    """A killed run flushes nothing: the next one has newer LSAs of its routes, and flushes the others."""
    device = Device(lab)
    old = [{"prefixes": "16.0.0.0/24", "count": 300, "metric": 11}, {"prefixes": "18.0.0.0/24", "count": 40}]
    process, _ = device.begin(device.ports(ospf(router(routes=old))), [], 60)
    assert len(device.external()) == 340
    process.send_signal(signal.SIGKILL)
    process.communicate()
    new = [{"prefixes": "16.0.0.0/24", "count": 200, "metric": 12}, {"prefixes": "18.0.0.0/24", "count": 9, "advertise": "1h"}]
    process, _ = device.begin(device.ports(ospf(router(routes=new))), [], 30)
    wait_until(lambda: len(device.external()) == 200, "the flush", 20)
    assert device.fib() == 200
    assert {row["type2cost"] for name, row in device.routes().items() if name.startswith("16.")} == {12}
    process.send_signal(signal.SIGINT)
    row = lab.finish(process).json["ports"]["west"]["ospf"]
    # FRR sends the ones that it keeps, and requests newer ones of others.
    assert row["outdated"] >= 100 and row["flaps"] == 0, row


@pytest.mark.unsteady(BUSY)
def test_routes_come_and_go_while_traffic_runs(lab):
    device = Device(lab)
    routes = [
        {"prefixes": "16.0.0.0/24", "count": 100, "advertise": "1s", "withdraw": "6s"},
        {"prefixes": "17.0.0.0/24", "count": 50, "flap": {"every": "10s", "down": "5s"}},
    ]
    process, _ = device.begin(device.ports(ospf(router(routes=routes))), [], 18)
    seen = set()
    while process.poll() is None:
        seen.add(device.fib())
        time.sleep(0.1)
    row = lab.finish(process).json["ports"]["west"]["ospf"]
    assert {50, 150, 0} <= seen, seen
    assert (row["advertised"], row["withdrawn"], row["flaps"]) == (200, 200, 0) or row["advertised"] == 200, row


BIRD = """
router id 9.9.9.9;
protocol device {{}}
protocol kernel {{ ipv4 {{ export all; import none; }}; }}
protocol ospf v2 test {{
  ipv4 {{ import all; export none; }};
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
    for inner, address in (("d0", "10.0.0.1/24"), ("d1", "10.9.0.1/24")):
        ns.ip("address", "add", address, "dev", inner)
    (folder / "bird.conf").write_text(BIRD.format(kind=kind))
    lab.start("bird", "-f", "-c", folder / "bird.conf", "-s", folder / "bird.ctl", ns=ns, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: (folder / "bird.ctl").exists(), "bird")
    routes = [
        {"prefixes": "16.0.0.0/24", "count": 600},
        {"prefixes": "20.0.0.0/24", "count": 10, "type": "internal", "metric": 1},
        {"prefixes": "32.0.0.0/24", "count": 600, "withdraw": "2s"},
    ]
    one = router(network=network, routes=routes, topology={"ring": 5})
    west = {"device": "afpacket:veth0", "ip": "10.0.0.2/24", "gateway": "10.0.0.1", "ospf": ospf(one)}
    east = {"device": "afpacket:veth1", "ip": "10.9.0.2/24", "gateway": "10.9.0.1"}
    streams = [to("kept", "16.0.0.1", 600), to("withdrawn", "32.0.0.1", 600)]
    profile = lab.profile({"west": west, "east": east}, streams, load={"duration": "6s", "drain": "500ms"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=tester)
    fib = lambda: len(ns.ip("-4", "route", "show", "proto", "bird").splitlines())
    wait_until(lambda: fib() >= 1_210, "the routes", 60)
    neighbors = ns.run("birdc", "-s", folder / "bird.ctl", "show", "ospf", "neighbors")
    assert "1.1.1.1" in neighbors and "Full" in neighbors, neighbors
    shown = ns.run("birdc", "-s", folder / "bird.ctl", "show", "route", "for", "20.0.9.1")
    # The device's link, the link to the ring, one link in it, and the network.
    assert f"({7 + 10 + 10 + 1})" in shown.split("I")[-1] or f"/{7 + 10 + 10 + 1})" in shown, shown
    wait_until(lambda: fib() <= 612, "the withdrawal", 30)
    done = lab.finish(process)
    kept, withdrawn = done.json["streams"]["kept"], done.json["streams"]["withdrawn"]
    assert kept["lost"] == 0 < kept["rx"] and withdrawn["lost"] > 0, done
    row = done.json["ports"]["west"]["ospf"]
    assert (row["full"], row["flaps"], row["malformed"]) == (1, 0, 0), row
    # The route of its own link stays.
    wait_until(lambda: fib() <= 1, "the end", 10)


def both_ends(**more):
    """Two ports of the tester with an adjacency between them, and routes of two names."""
    routes = [{"name": "a", "prefixes": "16.0.0.0/24", "count": 100}, {"name": "b", "prefixes": "17.0.0.0/24", "count": 50}]
    here = ospf(router(name="edge", routes=routes, topology={"tree": {"routers": 7}}), settle="0s")
    there = ospf(router(router_id="9.9.9.9"), settle="0s", keep=120)
    west, east = pair()
    return {"west": {"device": "ring:a", "ip": "10.0.0.2/24", "ospf": here}, "east": {"device": "ring:b", "ip": "10.0.0.1/24", "ospf": there}}


@pytest.mark.unsteady(BUSY)
def test_routes_and_routers_follow_commands(lab):
    profile = lab.profile(both_ends(), [], load={"duration": "6s", "drain": "0s"})
    lines = ["withdraw a", "withdraw x", "down edge", "release", "restart", "up 10.0.0.2", "up nobody"]
    done, _ = lab.controlled(profile, lines, 0.5)
    west, east = (done.json["ports"][name]["ospf"] for name in ("west", "east"))
    assert (west["withdrawn"], west["advertised"], west["commands"], east["commands"]) == (100, 200, 3, 0), (west, east)
    assert (west["flaps"], east["flaps"], west["full_at_end"]) == (0, 1, 1), (west, east)
    assert east["received_flushed"] >= 100 and east["database"]["external"] == 50 and east["database"]["router"] == 8, east
    for said in ("there are no routes 'x'", "no port has DHCP or PPPoE clients", "no port has BGP peers", "there is no OSPF router 'nobody'"):
        assert said in done.err, done.err


@pytest.mark.unsteady(BUSY)
def test_the_api_shows_and_changes_adjacencies(lab):
    server = Server(lab)
    run = server.ask("POST", "/api/v1/runs", {"profile": {"ports": both_ends(), "load": {"duration": "600s"}}, "keep": False}).json()
    path = f"/api/v1/runs/{run['id']}/protocols"
    states = lambda query="": {row["port"]: row for row in server.ask("GET", path + query).json()["ospf"]}
    wait_until(lambda: states().get("east", {}).get("database", {}).get("external") == 150, "the routes", 20)
    wait_until(lambda: states()["west"]["is_mutual"] and states()["east"]["is_mutual"], "both", 10)
    west, east = states("?routes=true")["west"], states("?routes=true")["east"]
    assert (west["name"], west["state"], west["local"], west["neighbour"], west["neighbour_id"]) == ("edge", "full", "10.0.0.2", "10.0.0.1", "9.9.9.9"), west
    assert (west["advertised"], west["originated_routers"], east["kept"], east["database"]["router"]) == (150, 8, 120, 8), (west, east)
    assert west["network"] == "point_to_point" and west["designated"] is None and west["reason"] is None, west
    first = east["lsas"][0]
    assert (first["kind"], first["id"], first["router_id"], first["sequence"]) == (1, "1.1.1.1", "1.1.1.1", 0x80000001), first
    assert len(east["lsas"]) == 120 and states()["east"].get("lsas", []) == []
    counts = server.ask("GET", path).json()["counts"]
    assert (counts["ospf_routers"], counts["ospf_full"]) == (2, 2), counts
    assert server.ask("POST", path, {"action": "withdraw", "routes": ["a"]}).json() == {"changed": 1}
    wait_until(lambda: states()["east"]["database"]["external"] == 50, "the withdrawal", 10)
    assert server.ask("POST", path, {"action": "down", "port": "west"}).json() == {"changed": 1}
    # The last Hello packet announces it; where it is lost, the dead interval does.
    ended = wait_until(lambda: (row := states()["east"])["state"] != "full" and row, "the end", 30)
    assert states()["west"]["is_down"] and ended["state"] in ("init", "down"), ended
    assert ended["state"] == "down" or "no longer lists" in ended["reason"] or "does not list" in ended["reason"], ended
    assert server.ask("POST", path, {"action": "up"}).json() == {"changed": 1}
    wait_until(lambda: states()["east"]["state"] == "full", "the adjacency", 10)
    labels = f'run="{run["id"]}",port="west"'
    wanted = [f"eagre_ospf_adjacencies{{{labels}}} 1.0", f"eagre_ospf_withdrawn_routes_total{{{labels}}} 100"]
    wait_until(lambda: set(wanted) <= set(server.ask("GET", "/metrics").body.decode().splitlines()), f"{wanted} in /metrics", 10)
    server.ask("POST", f"/api/v1/runs/{run['id']}/stop")


def test_bad_profiles_are_refused(lab):
    def refused(routers, *texts, **west):
        west = {"device": "ring:a", "ip": "10.0.0.2/24", "ospf": {"routers": routers}, **west}
        profile = lab.profile({"west": west, "east": {"device": "ring:b"}}, [])
        lab.eagre("run", profile).refused(2, *texts)

    def routes(text, *all_routes, key="routes[0]", **keys):
        refused([router(routes=list(all_routes), **keys)], f"ports.west.ospf.routers[0].{key}", text)

    hosts = [{"name": "edge", "count": 2, "ip": "10.0.0.10/24"}]
    refused([router(), router()], "routers[1].host", "host 'west' is router 1.1.1.1 already")
    refused([router(host="nobody")], "ports.west.ospf.routers[0].host", "the port has no host 'nobody'")
    refused([router(host="edge")], "routers[0].network", "a point-to-point link has one router of the port", hosts=hosts)
    refused([router(router_id="2001:db8::1")], "routers[0].router_id", "must look like an IPv4 address")
    twins = [router(network="broadcast"), router(host="edge", router_id="1.1.1.1", network="broadcast")]
    refused(twins, "the router identifier 1.1.1.1 is that of another router, by ports.west.ospf.routers[0].router_id", hosts=hosts)
    refused([router(hello="1500ms")], "routers[0].hello", "must be whole seconds from 1s to 65535s")
    refused([router(dead="1s")], "routers[0].dead", "must be whole seconds, and longer than 'hello'")
    refused([router(area="zero")], "routers[0].area", "an area such as 0 or 0.0.0.1")
    refused([router(topology={})], "routers[0].topology", "needs one of 'grid', 'ring' and 'tree'")
    refused([router(topology={"grid": {"rows": 200, "columns": 200}})], "40000 routers; there are 10000 behind a router at most")
    routes("10 prefixes of /8 with step 1 from 250.0.0.0 on exceed the address space", {"prefixes": "250.0.0.0/8", "count": 10}, key="routes[0].count")
    routes("must be an IPv4 network: OSPFv2 has no others", {"prefixes": "2001:db8::/48"}, key="routes[0].prefixes")
    own = {"prefixes": "20.0.0.0/24", "count": 114, "type": "internal"}
    routes("114 networks and 2 links of the router itself; there is room for 115 in all: give the router a 'topology'", own, key="routes")
    routes("only external routes have a tag", {"prefixes": "20.0.0.0/24", "type": "inter_area", "tag": 3}, key="routes[0].tag")
    refused([router(refresh="4s")], "routers[0].refresh", "must be whole seconds from 5s to 3599s")
    many = {"prefixes": "20.0.0.0/24", "count": 1000, "type": "internal"}
    routes("200 networks and 3 links of each generated router; there is room for 115", many, key="topology", topology={"ring": 5})
    twice = ({"prefixes": "16.0.0.0/24", "count": 9}, {"prefixes": "16.0.0.0/22", "count": 2})
    routes("16.0.0.0 is the address of a prefix of routes[0] as well", *twice, key="routes[1].prefixes")
    routes("must be 5s at least", {"prefixes": "16.0.0.0/24", "flap": {"every": "2s", "down": "1s"}}, key="routes[0].flap.every")
    routes("must be 1s at least", {"prefixes": "16.0.0.0/24", "flap": {"every": "9s", "down": "500ms"}}, key="routes[0].flap.down")
    refused([router()], "ports.west.ospf", "control plane in a namespace", punt={})


@pytest.mark.unsteady(BUSY)
@pytest.mark.long
@pytest.mark.alone
@pytest.mark.skipif(not LONG, reason="needs minutes")
def test_20_000_prefixes_are_in_the_fib_in_time(lab):
    def measure():
        device = Device(lab)
        routes = [{"prefixes": "16.0.0.0/24", "count": 20_000}]
        profile = lab.profile(device.ports(ospf(router(routes=routes))), [], load={"duration": "20s"})
        begin = time.monotonic()
        process = lab.start_eagre("run", profile, "--json", "-", ns=device.tester)
        wait_until(lambda: device.fib() == 20_000, "the FIB", 90, every=0.2)
        took = time.monotonic() - begin
        process.terminate()
        process.communicate(timeout=30)
        return took

    settled(measure, lambda took: took <= 30)
