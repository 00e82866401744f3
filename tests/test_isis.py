"""IS-IS routers among the tester's hosts before FRR's isisd: adjacencies, routes in the device's FIB, traffic to them, withdrawals, and what
goes wrong."""

import json
import signal
import subprocess
import time

import frr
import pytest
from frr import say, to
from lab import LONG, stream, wait_until
from server import Server

PREFIXES = 10_000 if LONG else 1_200
BUSY = "a busy machine keeps hellos and LSPs waiting for longer than the hold time of these tests"
POINT = " isis network point-to-point\n"
QUICK = " isis hello-interval 1\n isis hello-multiplier 4\n isis csnp-interval 1\n isis psnp-interval 1\n"
# Seconds after which an interval has begun and ended.
WHOLE_INTERVAL = 0.6
# How long FRR keeps hellos good that it was sent with `hello-multiplier 4`.
HOLD = 4


class Device(frr.Device):
    """FRR's isisd."""

    daemon, protocol = "isisd", "isis"

    def __init__(self, lab, interface=POINT + QUICK, net="49.0001.0000.0000.0009.00", level="level-2-only", lost=0, more=""):
        text = f"interface d0\n ip router isis x\n ipv6 router isis x\n isis metric 7\n{interface}exit\n"
        text += f"router isis x\n net {net}\n is-type {level}\n lsp-gen-interval 1\n spf-interval 1\n{more}exit\n"
        super().__init__(lab, text, lost)

    def prepare(self):
        self.ns.run("sysctl", "-qw", "net.ipv6.conf.all.forwarding=1", "net.ipv6.conf.d1.accept_dad=0", "net.ipv6.conf.d0.accept_dad=0")
        for inner, address in (("d0", "2001:db8:a::1/64"), ("d1", "2001:db8:9::1/64")):
            self.ns.ip("address", "add", address, "dev", inner, "nodad")

    def neighbors(self):
        """Adjacencies of FRR: the state of each, by host name."""
        lines = [line.split() for line in self.vtysh("-c", "show isis neighbor").splitlines()]
        return {row[0]: row[3] for row in lines if len(row) >= 5 and row[1].startswith("d0")}

    def lsps(self):
        """LSPs of its database, with their sequence numbers and lifetimes."""
        found = {}
        for line in self.vtysh("-c", "show isis database").splitlines():
            row = line.replace("*", " ").split()
            if len(row) >= 6 and row[2].startswith("0x"):
                found[row[0]] = (int(row[2], 16), row[4])
        return found

    def metric(self, prefix):
        """What a network costs, by zebra's table."""
        (route,) = self.show(f"ip route {prefix}").values()
        return route[0]["metric"]


def router(**keys):
    return {"system_id": "0000.0000.0001", "network": "point_to_point", "hello": "1s", "hold": "4s", "hostname": "edge", **keys}


def isis(*routers, **keys):
    return {"routers": list(routers), "settle": "3s", "timeout": "60s", **keys}


@pytest.mark.unsteady(BUSY)
@pytest.mark.parametrize(("kind", "network"), [("afpacket", "point_to_point"), ("afpacket", "broadcast"), ("afxdp", "point_to_point")])
def test_traffic_follows_the_routes(lab, kind, network):
    """All routes are in the FIB when traffic starts; of those that are withdrawn meanwhile everything is lost, of others nothing."""
    device = Device(lab, (POINT if network == "point_to_point" else "") + QUICK)
    half = PREFIXES // 2
    routes = [
        {"prefixes": "16.0.0.0/24", "count": half, "metric": 30},
        {"name": "other", "prefixes": "32.0.0.0/24", "count": half},
    ]
    streams = [to("kept", "16.0.0.1", half), to("withdrawn", "32.0.0.1", half)]
    process, lines = device.begin(device.ports(isis(router(network=network, routes=routes)), kind), streams)
    assert device.fib() == PREFIXES
    assert device.neighbors() == {"edge": "Up"}
    assert (device.metric("16.0.1.0/24"), device.metric("32.0.1.0/24")) == (37, 17)
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
    row = result["ports"]["west"]["isis"]
    assert (row["routers"], row["up"], row["up_at_end"], row["failed"], row["flaps"]) == (1, 1, 1, 0, 0), row
    assert (row["advertised"], row["withdrawn"]) == (PREFIXES, half), row
    assert 0 < row["first_withdrawal_ns"] < result["duration_s"] * 1e9 and row["up_ns"]["samples"] == 1, row
    assert 0 < row["announced_after_s"] < 60 and row["lsps_sent"]["level_2"] >= 1 + PREFIXES // 181, row
    assert row["database"] == {"level_1": 0, "level_2": 1 + (network == "broadcast")}, row
    assert (row["malformed"], row["mismatched"], row["left_out"]) == (0, 0, 0), row
    assert not any("IS-IS" in reason for reason in result["verdict"]["reasons"]), result["verdict"]
    # All is purged when the run ends, not only unreachable.
    wait_until(lambda: device.fib() == 0, "the end of the adjacency", 10)
    left = {name: said for name, said in device.lsps().items() if name.startswith("edge") and not said[1].startswith(("0", "("))}
    assert left == {}, device.vtysh("-c", "show isis database")


@pytest.mark.unsteady(BUSY)
@pytest.mark.parametrize("network", ["point_to_point", "broadcast"])
def test_ipv6_routes_carry_traffic(lab, network):
    device = Device(lab, (POINT if network == "point_to_point" else "") + QUICK)
    routes = [{"prefixes": "2001:db8:1000::/80", "count": 40, "type": "external"}, {"prefixes": "16.0.0.0/24", "count": 5}]
    ports = device.ports(isis(router(network=network, routes=routes)), hosts=[])
    ports["west"].update(ip=["10.0.0.2/24", "2001:db8:a::2/64"], gateway=["10.0.0.1", "2001:db8:a::1"])
    ports["east"].update(ip=["10.9.0.2/24", "2001:db8:9::2/64"], gateway=["10.9.0.1", "2001:db8:9::1"])
    first = "2001:db8:1000::1"
    varied = {"ipv6.dst": {"from": first, "step": 1 << 48, "count": 40}}
    packet = [{"ipv6": {"dst": first}}, {"udp": {"dst": 9}}]
    six = {**stream("six", "east", "west", rate="2kpps"), "packet": packet, "vary": varied}
    process, _ = device.begin(ports, [six, to("four", "16.0.0.1", 5)], 3)
    assert (device.fib("-6"), device.fib()) == (40, 5)
    done = lab.finish(process)
    assert all(one["lost"] == 0 < one["rx"] for one in done.json["streams"].values()), done


@pytest.mark.unsteady(BUSY)
def test_generated_routers_are_in_the_database_and_their_networks_cost_what_they_should(lab):
    """A grid of 3 by 4 behind the router: each network is as far away as the way there, and goes by command."""
    device = Device(lab)
    routes = [{"name": "inside", "prefixes": "20.0.0.0/24", "count": 24, "type": "topology", "metric": 3}, {"prefixes": "30.0.0.0/24", "count": 2}]
    topology = {"grid": {"rows": 3, "columns": 4}, "metric": 5, "system_id": "0000.0000.2001"}
    profile = lab.profile(device.ports(isis(router(routes=routes, topology=topology))), [], load={"duration": "40s", "drain": "0s"})
    process = lab.start_eagre("run", profile, "--control", "--json", "-", ns=device.tester, stdin=subprocess.PIPE)
    wait_until(lambda: device.fib() == 26, "the routes", 60)
    assert {f"edge-{n}.00-00" for n in range(12)} <= set(device.lsps()), device.lsps()
    for number in range(12):
        row, column = divmod(number, 4)
        for network in (2 * number, 2 * number + 1):
            # The device's link, the link to the grid, the way in it, and the network.
            assert device.metric(f"20.0.{network}.0/24") == 7 + 5 + 5 * (row + column) + 3, number
    say(process, "withdraw inside")
    wait_until(lambda: device.fib() == 2, "the withdrawal", 20)
    say(process, "advertise inside")
    wait_until(lambda: device.fib() == 26, "the routes again", 20)
    row = device.end(process).json["ports"]["west"]["isis"]
    assert (row["advertised"], row["withdrawn"], row["flaps"], row["commands"]) == (50, 24, 0, 2), row


@pytest.mark.unsteady(BUSY)
def test_routers_of_many_hosts_on_a_lan(lab):
    """Each has an adjacency with the device, which is the designated system, and routes of its own; at both levels."""
    device = Device(lab, QUICK, level="level-1-2")
    hosts = [{"name": "edge", "count": 8, "ip": "10.0.0.10/24"}]
    routers = router(host="edge", network="broadcast", level="1-2", routes=[{"prefixes": "17.0.0.0/24", "count": 20}])
    del routers["hostname"]
    process, _ = device.begin(device.ports(isis(routers), hosts=hosts), [to("all", "17.0.0.1", 160)], 3)
    assert device.fib() == 160
    neighbors = device.neighbors()
    assert len(neighbors) == 8 and set(neighbors.values()) == {"Up"}, neighbors
    assert "via 10.0.0.17" in device.ns.ip("-4", "route", "show", "17.0.159.0/24")
    done = lab.finish(process)
    row = done.json["ports"]["west"]["isis"]
    assert (row["up"], row["up_at_end"], row["advertised"], row["flaps"]) == (8, 8, 160, 0), row
    assert row["database"]["level_1"] >= 16 and row["database"]["level_2"] >= 16, row
    assert done.json["streams"]["all"]["lost"] == 0, done


@pytest.mark.unsteady(BUSY)
def test_a_link_that_loses_a_fifth_of_all_frames_is_no_obstacle(lab):
    """With FRR as designated system; test_adjacency.py has both ends of other links."""
    device = Device(lab, QUICK.replace("multiplier 4", "multiplier 20"), lost=20)
    routes = [{"prefixes": "16.0.0.0/24", "count": 600}, {"name": "other", "prefixes": "32.0.0.0/24", "count": 600}]
    row = device.lossy(device.ports(isis(router(network="broadcast", hold="20s", routes=routes), timeout="120s")), 1_200, 600)
    assert (row["up"], row["flaps"], row["withdrawn"]) == (1, 0, 600), row


@pytest.mark.unsteady(BUSY)
def test_a_device_that_dies_is_found_out_by_its_hold_time(lab):
    device = Device(lab)
    process, _ = device.begin(device.ports(isis(router())), [], 8)
    device.ns.ip("link", "set", "d0", "down")
    done = lab.finish(process)
    row = done.json["ports"]["west"]["isis"]
    assert (row["up"], row["up_at_end"], row["flaps"]) == (1, 0, 1), row
    said = f"port west: 1 IS-IS adjacencies were lost: 10.0.0.2: 10.0.0.1 (0000.0000.0009) sent no hello for its hold time of {HOLD} s"
    assert said in done.json["verdict"]["notes"], done


@pytest.mark.unsteady(BUSY)
def test_what_goes_wrong_is_said(lab):
    """Some of it; test_adjacency.py has the rest."""
    device = Device(lab, level="level-1")
    quick = {"timeout": "3s", "settle": "0s"}
    whom = "10.0.0.1 (0000.0000.0009)"

    def fails(reason, **keys):
        done = device.run(isis(router(**{"level": "1", **keys}), **quick))
        done.refused(3, f"port west: isis: 1 of 1 IS-IS routers lack an adjacency: 10.0.0.2: {reason}")

    fails(f"{whom} is in area 49.0001, but 'area' is 49.0002", area="49.0002")
    fails(f"{whom} has no level 2 on this link", level="1-2")
    fails(f"{whom} has a point-to-point network, but 'network' is broadcast", network="broadcast")
    # Hellos are right, and so there is an adjacency: traffic runs.
    done = device.run(isis(router(level="1", lsp_password="tide", digest=True), **quick))
    assert done.exit == 1 and f"{whom} has none as authentication of LSPs and SNPs, not HMAC-MD5" in done.json["verdict"]["reasons"][0], done
    device.configure("interface d0\nno ip router isis x\nno ipv6 router isis x")
    fails("no hello from an IS-IS router on its link")


@pytest.mark.unsteady(BUSY)
def test_a_router_that_would_be_designated_is_told(lab):
    device = Device(lab, QUICK + " isis priority 3\n")
    done = device.run(isis(router(network="broadcast", priority=100), timeout="10s", settle="0s"))
    done.refused(3, "10.0.0.1 (0000.0000.0009) sends hellos but is not the designated system (DIS): its priority is below the router's")


@pytest.mark.unsteady(BUSY)
def test_of_two_routers_one_is_not_heard(lab):
    """Traffic runs, and the result reports the missing adjacency."""
    device = Device(lab, QUICK, level="level-1")
    routers = (router(network="broadcast", level="1"), router(host="stranger", system_id="0000.0000.0007", network="broadcast", level="1", area="49.0009"))
    ports = device.ports(isis(*routers, timeout="12s"), hosts=[{"name": "stranger", "ip": "10.0.0.3/24"}])
    done = lab.eagre("run", lab.profile(ports, [], load={"duration": "500ms"}), "--json", "-", ns=device.tester)
    assert done.exit == 1 and not done.json["verdict"]["valid"], done
    (reason,) = [reason for reason in done.json["verdict"]["reasons"] if "IS-IS" in reason]
    wanted = "port west: 1 of 2 IS-IS routers lack an adjacency: 10.0.0.3: 10.0.0.1 (0000.0000.0009) is in area 49.0001, but 'area' is 49.0009"
    assert reason == wanted, reason


@pytest.mark.unsteady(BUSY)
@pytest.mark.parametrize("kind", ["clear", "md5"])
def test_passwords_let_in(lab, kind):
    device = Device(lab, POINT + QUICK + f" isis password {kind} tideless\n", more=f" domain-password {kind} deep authenticate snp validate\n")
    keys = {"password": "tideless", "lsp_password": "deep", "digest": kind == "md5"}
    process, _ = device.begin(device.ports(isis(router(**keys, routes=[{"prefixes": "16.0.0.0/24", "count": 300}]))), [], 1)
    assert device.fib() == 300
    lab.finish(process)
    other = device.run(isis(router(**{**keys, "password": "tide"}), timeout="4s"))
    other.refused(3, "10.0.0.1 (0000.0000.0009) has another password in hellos")


@pytest.mark.unsteady(BUSY)
@pytest.mark.parametrize("network", ["point_to_point", "broadcast"])
def test_what_a_run_before_has_left_is_taken_over_or_purged(lab, network):
    """A killed run purges nothing: the next one has newer LSPs of what it advertises, and ends those of what it does not."""
    device = Device(lab, (POINT if network == "point_to_point" else "") + QUICK)
    old = [{"prefixes": "16.0.0.0/24", "count": 600, "metric": 11}]
    process, _ = device.begin(device.ports(isis(router(network=network, routes=old))), [], 60)
    assert device.fib() == 600
    process.send_signal(signal.SIGKILL)
    process.communicate()
    new = [{"prefixes": "16.0.0.0/24", "count": 150, "metric": 12}]
    process, _ = device.begin(device.ports(isis(router(network=network, routes=new))), [], 20)
    wait_until(lambda: device.fib() == 150, "the purge", 15)
    wait_until(lambda: device.metric("16.0.9.0/24") == 7 + 12, "the new metric", 10)
    process.send_signal(signal.SIGINT)
    row = lab.finish(process).json["ports"]["west"]["isis"]
    assert row["outdated"] >= 4 and row["flaps"] == 0, row


def both_ends():
    """Two ports of the tester with an adjacency between them, and routes of two names."""
    routes = [{"name": "a", "prefixes": "16.0.0.0/24", "count": 100}, {"name": "b", "prefixes": "17.0.0.0/24", "count": 50}]
    here = isis(router(name="edge", routes=routes, topology={"tree": {"routers": 7}}), settle="0s")
    there = isis(router(system_id="0000.0000.0009"), settle="0s", keep=120)
    return {"west": {"device": "ring:a", "ip": "10.0.0.2/24", "isis": here}, "east": {"device": "ring:b", "ip": "10.0.0.1/24", "isis": there}}


@pytest.mark.unsteady(BUSY)
def test_routes_and_routers_follow_commands(lab):
    profile = lab.profile(both_ends(), [], load={"duration": "6s", "drain": "0s"})
    lines = ["withdraw a", "withdraw x", "down edge", "release", "restart", "up 10.0.0.2", "up nobody"]
    done, _ = lab.controlled(profile, lines, 0.5)
    west, east = (done.json["ports"][name]["isis"] for name in ("west", "east"))
    assert (west["withdrawn"], west["advertised"], west["commands"], east["commands"]) == (100, 200, 3, 0), (west, east)
    assert (west["flaps"], east["flaps"], west["up_at_end"]) == (0, 1, 1), (west, east)
    assert east["received_purged"] >= 1 and east["database"] == {"level_1": 0, "level_2": 9}, east
    for said in ("there are no routes 'x'", "no port has DHCP or PPPoE clients", "no port has BGP peers", "there is no IS-IS router 'nobody'"):
        assert said in done.err, done.err


@pytest.mark.unsteady(BUSY)
def test_the_api_shows_and_changes_adjacencies(lab):
    server = Server(lab)
    run = server.ask("POST", "/api/v1/runs", {"profile": {"ports": both_ends(), "load": {"duration": "600s"}}, "keep": False}).json()
    path = f"/api/v1/runs/{run['id']}/protocols"
    states = lambda query="": {row["port"]: row for row in server.ask("GET", path + query).json()["isis"]}
    wait_until(lambda: states().get("east", {}).get("database", {}).get("level_2") == 10, "the routes", 20)
    wait_until(lambda: states()["west"]["is_mutual"] and states()["east"]["is_mutual"], "both", 10)
    west, east = states("?routes=true")["west"], states("?routes=true")["east"]
    assert (west["name"], west["state"], west["local"], west["neighbour"], west["neighbour_id"]) == ("edge", "up", "10.0.0.2", "10.0.0.1", "0000.0000.0009"), west
    assert (west["advertised"], west["originated"], east["kept"], west["level"]) == (150, 10, 10, "2"), (west, east)
    assert west["network"] == "point_to_point" and west["designated"] is None and west["reason"] is None, west
    first = east["lsps"][0]
    assert (first["level"], first["id"], first["sequence"]) == (2, "0000.0000.0001.00-00", 1), first
    assert len(east["lsps"]) == 10 and states()["east"].get("lsps", []) == []
    counts = server.ask("GET", path).json()["counts"]
    assert (counts["isis_routers"], counts["isis_up"]) == (2, 2), counts
    assert server.ask("POST", path, {"action": "withdraw", "routes": ["a"]}).json() == {"changed": 1}
    wait_until(lambda: states()["east"]["database"]["level_2"] == 9, "the withdrawal", 10)
    assert server.ask("POST", path, {"action": "down", "port": "west"}).json() == {"changed": 1}
    wait_until(lambda: states()["east"]["state"] == "initializing", "the end", 30)
    assert states()["west"]["is_down"] and "list the router" in states()["east"]["reason"], states()
    assert server.ask("POST", path, {"action": "up"}).json() == {"changed": 1}
    wait_until(lambda: states()["east"]["state"] == "up", "the adjacency", 10)
    labels = f'run="{run["id"]}",port="west"'
    wanted = [f"eagre_isis_adjacencies{{{labels}}} 1.0", f"eagre_isis_withdrawn_routes_total{{{labels}}} 100"]
    wait_until(lambda: set(wanted) <= set(server.ask("GET", "/metrics").body.decode().splitlines()), f"{wanted} in /metrics", 10)
    server.ask("POST", f"/api/v1/runs/{run['id']}/stop")


def test_bad_profiles_are_refused(lab):
    def refused(routers, *texts, **west):
        west = {"device": "ring:a", "ip": "10.0.0.2/24", "isis": {"routers": routers}, **west}
        profile = lab.profile({"west": west, "east": {"device": "ring:b"}}, [])
        lab.eagre("run", profile).refused(2, *texts)

    def routes(text, *all_routes, key="routes[0]", **keys):
        refused([router(routes=list(all_routes), **keys)], f"ports.west.isis.routers[0].{key}", text)

    hosts = [{"name": "edge", "count": 2, "ip": "10.0.0.10/24"}]
    refused([router(), router()], "routers[1].host", "host 'west' is router 0000.0000.0001 already")
    refused([router(host="nobody")], "ports.west.isis.routers[0].host", "the port has no host 'nobody'")
    refused([router(host="edge")], "routers[0].network", "a point-to-point link has one router of the port", hosts=hosts)
    refused([router(system_id="1.2.3")], "routers[0].system_id", "a system identifier such as 0000.0000.0001")
    twins = [router(network="broadcast"), router(host="edge", network="broadcast")]
    refused(twins, "the system identifier 0000.0000.0001 is that of another router, by ports.west.isis.routers[0].system_id", hosts=hosts)
    refused([router(hello="1500ms")], "routers[0].hello", "must be whole seconds from 1s to 6553s")
    refused([router(hold="1s")], "routers[0].hold", "must be whole seconds up to 65535s, and longer than 'hello'")
    refused([router(area="zero")], "routers[0].area", "an area such as 49.0001")
    refused([router(digest=True)], "routers[0].digest", "needs 'password' or 'lsp_password'")
    refused([router(topology={})], "routers[0].topology", "needs one of 'grid', 'ring' and 'tree'")
    routes("10 prefixes of /8 with step 1 from 250.0.0.0 on exceed the address space", {"prefixes": "250.0.0.0/8", "count": 10}, key="routes[0].count")
    routes("give the router a 'topology'", {"prefixes": "20.0.0.0/24", "type": "topology"}, key="routes[0].type")
    routes("the routes fill 277 LSPs up to here; a router has at most 255", {"prefixes": "16.0.0.0/24", "count": 50_000}, key="routes[0].count")
    many = {"prefixes": "20.0.0.0/24", "count": 1000, "type": "topology"}
    routes("200 networks of each generated router; there is room for", many, key="routes[0].count", topology={"ring": 5})
    routes("must be 2s at least", {"prefixes": "16.0.0.0/24", "flap": {"every": "1s", "down": "500ms"}}, key="routes[0].flap.every")
    refused([router()], "ports.west.isis", "control plane in a namespace", punt={})
