"""One contract of every routing protocol, in virtual time: two routers of the tester back to back, over links that lose, copy and reorder
frames. The adjacency comes up and stays, the neighbour knows all routes and forgets those that are withdrawn, and what happened is counted.

A neighbour that designates itself, on broadcast networks, is a device's part: tests of OSPF and IS-IS have FRR and BIRD for it.
"""

import re
from dataclasses import dataclass

import pytest

KEPT, WITHDRAWN = 300, 300
# Clean, and one that does everything bad at once.
CLEAN = {"delay": "1ms"}
LOSSY = {"delay": "1ms", "loss": "20%"}
BAD = {"delay": "5ms", "loss": "10%", "duplicate": "10%", "reorder": "20%", "reorder_by": "20ms"}


@dataclass
class Protocol:
    """How a protocol calls what the contract is about."""

    key: str
    up: str
    addresses: tuple
    west: dict
    east: dict
    timers: tuple
    routers: str = "routers"
    # Seconds of silence after which a neighbour is lost. TCP repeats what is lost at ever longer intervals.
    hold_s: int = 20
    v6: bool = False

    def routes(self, **withdrawn):
        kept, other = ("2001:db8:16::/64", "2001:db8:32::/64") if self.v6 else ("16.0.0.0/24", "32.0.0.0/24")
        return [{"prefixes": kept, "count": KEPT}, {"prefixes": other, "count": WITHDRAWN, **withdrawn}]

    def port(self, ring, address, router, **keys):
        part = {self.routers: [{**router, **keys}], "settle": "0s", "timeout": "200s"}
        return {"device": f"ring:{ring}", "ip": address, self.key: part}

    def ports(self, hold_s=None, **withdrawn):
        """Both ends."""
        hello, hold = self.timers
        times = {**({hello: "1s"} if hello else {}), hold: f"{hold_s or self.hold_s}s"}
        west = self.port("a", self.addresses[0], self.west, routes=self.routes(**withdrawn), **times)
        return {"west": west, "east": self.port("b", self.addresses[1], self.east, **times)}

    def held(self, row):
        """What a neighbour holds at the end: networks, or for IS-IS the LSPs that have them."""
        if self.key == "bgp":
            return row["received_ipv4"] - row["received_withdrawn"]
        return row["database"]["level_2"] if self.key == "isis" else row["database"]["external"]


FOUR, SIX = ("10.0.0.2/24", "10.0.0.1/24"), ("2001:db8:a::2/64", "2001:db8:a::1/64")
POINT = {"network": "point_to_point"}
ONE, NINE = {"router_id": "1.1.1.1", **POINT}, {"router_id": "9.9.9.9", **POINT}
PROTOCOLS = {
    "ospfv2": Protocol("ospf", "full", FOUR, ONE, NINE, ("hello", "dead")),
    "ospfv3": Protocol("ospf", "full", SIX, {"version": 3, **ONE}, {"version": 3, **NINE}, ("hello", "dead"), v6=True),
    "isis": Protocol("isis", "up", FOUR, {"system_id": "0000.0000.0001", **POINT}, {"system_id": "0000.0000.0009", **POINT}, ("hello", "hold")),
    "bgp": Protocol(
        "bgp",
        "established",
        FOUR,
        {"peer": "10.0.0.1", "as": 65001, "peer_as": 65000, "retry": "1s"},
        {"peer": "10.0.0.2", "as": 65000, "peer_as": 65001, "passive": True},
        (None, "hold_time"),
        "peers",
        hold_s=90,
    ),
}
EVERY = pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)


def simulated(lab, protocol, link, seconds=90, seed=1, **keys):
    """Both ends' figures of a run, by port, and the result."""
    profile = lab.profile(protocol.ports(**keys), [], load={"duration": f"{seconds}s", "drain": "0s"}, sim={"link": link})
    result = lab.eagre("sim", profile, "--seed", seed, "--json", "-").result()
    return result["ports"]["west"][protocol.key], result["ports"]["east"][protocol.key], result


@EVERY
def test_all_routes_are_known_and_half_of_them_withdrawn(lab, protocol):
    west, east, result = simulated(lab, protocol, CLEAN, seconds=30, withdraw="10s")
    for row in (west, east):
        assert (row[protocol.up], row[f"{protocol.up}_at_end"], row["failed"], row["flaps"]) == (1, 1, 0, 0), row
    assert (west["advertised"], west["withdrawn"], west["first_withdrawal_ns"]) == (KEPT + WITHDRAWN, WITHDRAWN, 10_000_000_000), west
    assert 0 < west["announced_after_s"] < 5, west
    _, before, _ = simulated(lab, protocol, CLEAN, seconds=9, withdraw="10s")
    if protocol.key == "isis":
        # An LSP has room for about 180 networks; one more LSP is the neighbour's own.
        assert protocol.held(before) > protocol.held(east) > KEPT // 200, (before, east)
        assert east["received_purged"] >= 1, east
    else:
        assert (protocol.held(before), protocol.held(east)) == (KEPT + WITHDRAWN, KEPT), (before, east)
    assert result["verdict"]["valid"], result["verdict"]


@EVERY
@pytest.mark.parametrize("link", [LOSSY, BAD], ids=["lossy", "bad"])
def test_a_link_that_loses_frames_is_no_obstacle(lab, protocol, link):
    """In the end it is as if nothing had been lost, whatever was: five seeds. Frames that are only lost cost no adjacency."""
    _, clean, _ = simulated(lab, protocol, CLEAN, withdraw="30s")
    again = 0
    for seed in range(1, 6):
        west, east, result = simulated(lab, protocol, link, seed=seed, withdraw="30s")
        assert result["sim"]["lost_on_links"] > 0, result["sim"]
        for row in (west, east):
            assert (row[protocol.up], row[f"{protocol.up}_at_end"], row["failed"]) == (1, 1, 0), row
            # A hello that others have overtaken says that the neighbour has begun anew (RFC 5303 section 3.2).
            assert row["flaps"] == 0 or link is BAD and protocol.key == "isis", row
            assert row.get("malformed", 0) == row.get("mismatched", 0) == 0, row
            again += row.get("retransmitted", 0)
        assert (west["advertised"], west["withdrawn"]) == (KEPT + WITHDRAWN, WITHDRAWN), west
        assert protocol.held(east) == protocol.held(clean), (east, clean)
    assert again > 0 or protocol.key == "bgp", "TCP has counters of its own"


@EVERY
def test_routes_flap_as_configured(lab, protocol):
    """Up for 5 s and down for 5 s, three times; the neighbour holds them when they are up."""
    west, east, _ = simulated(lab, protocol, LOSSY, seconds=28, flap={"every": "10s", "down": "5s"})
    assert (west["advertised"], west["withdrawn"], west["flaps"], east["flaps"]) == (KEPT + 3 * WITHDRAWN, 2 * WITHDRAWN, 0, 0), west


@pytest.mark.parametrize("name", [name for name in PROTOCOLS if name != "bgp"])
def test_an_adjacency_that_is_lost_is_counted_and_comes_back(lab, name):
    """A third of all frames is lost, and the time of silence short. TCP carries BGP's keepalives through: core/bgp/tests/links.rs ends sessions."""
    protocol = PROTOCOLS[name]
    seen = [simulated(lab, protocol, {"delay": "1ms", "loss": "30%"}, seconds=120, hold_s=4, seed=seed) for seed in (1, 2, 3)]
    assert sum(west["flaps"] + east["flaps"] for west, east, _ in seen) > 0, seen
    for west, east, result in seen:
        lost = [note for note in result["verdict"].get("notes", []) if "adjacencies were lost" in note]
        assert len(lost) == (west["flaps"] > 0) + (east["flaps"] > 0), result["verdict"]
        assert west[protocol.up] == east[protocol.up] == 1, (west, east)


# What one end has that does not fit the other, and the reason that is given.
MISFITS = {
    "ospfv2": [
        ({"area": "1"}, "{} is in area 0.0.0.0, but 'area' is 0.0.0.1"),
        ({"hello": "2s"}, "{} has a hello interval of 1 s, but 'hello' is 2 s"),
        ({"dead": "5s"}, "{} has a dead interval of 4 s, but 'dead' is 5 s"),
        ({"mtu": 1400}, "{} has an MTU of 1500, not 1400: give the router this 'mtu'"),
        ({"mtu": 1600}, "{} has an MTU of 1500, not 1600: give the router this 'mtu'"),
        ({"router_id": "9.9.9.9"}, "{} has the same router identifier"),
        ({"password": "tide"}, "{} has none as authentication, not a simple password"),
        ({"network": "broadcast"}, "{} sends Hello packets but no router is designated"),
    ],
    "ospfv3": [
        ({"area": "1"}, "{} is in area 0.0.0.0, but 'area' is 0.0.0.1"),
        ({"instance": 5}, "{} has instance 0, but 'instance' is 5"),
        ({"hello": "2s"}, "{} has a hello interval of 1 s, but 'hello' is 2 s"),
        ({"dead": "5s"}, "{} has a dead interval of 4 s, but 'dead' is 5 s"),
        ({"mtu": 1400}, "{} has an MTU of 1500, not 1400: give the router this 'mtu'"),
        ({"mtu": 1600}, "{} has an MTU of 1500, not 1600: give the router this 'mtu'"),
        ({"router_id": "9.9.9.9"}, "{} has the same router identifier"),
        ({"network": "broadcast"}, "{} sends Hello packets but no router is designated"),
    ],
    "isis": [
        ({"level": "1", "area": "49.0002"}, "{} is in area 49.0001, but 'area' is 49.0002"),
        ({"level": "2"}, "{} has no level 2 on this link"),
        ({"level": "1-2"}, "{} has no level 2 on this link"),
        ({"system_id": "0000.0000.0009"}, "{} has the same system identifier"),
        ({"password": "tide"}, "{} has none as authentication of hellos, not a clear password"),
        ({"network": "broadcast"}, "{} has a point-to-point network, but 'network' is broadcast"),
    ],
}


@pytest.mark.parametrize(
    ("name", "keys", "reason"),
    [pytest.param(name, keys, reason, id=f"{name}-{'-'.join(map(str, keys.values()))}") for name, some in MISFITS.items() for keys, reason in some],
)
def test_what_does_not_fit_is_named(lab, name, keys, reason):
    """Before any traffic, with the values of both ends."""
    protocol = PROTOCOLS[name]
    ports = protocol.ports(hold_s=4)
    for port, more in (("west", keys), ("east", {})):
        part = ports[port][protocol.key]
        part["timeout"] = "5s"
        (router,) = part["routers"]
        router.update({"level": "1", "area": "49.0001", **more} if name == "isis" else more)
    done = lab.eagre("sim", lab.profile(ports, [], load={"duration": "1s"}))
    host, neighbour = (address.split("/")[0] for address in protocol.addresses)
    whom = {"ospfv2": re.escape(neighbour), "ospfv3": r"fe80::[0-9a-f:]+", "isis": re.escape(f"{neighbour} (0000.0000.0009)")}[name]
    done.refused(3, f"port west: {protocol.key}: 1 of 1 {'IS-IS' if name == 'isis' else 'OSPF'} routers")
    assert re.search(re.escape(f" {host}: {reason}").replace(r"\{\}", whom), done.err), done
