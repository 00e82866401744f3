"""Protocols of devices as an unmodified snappi script has them: BGP, IS-IS and OSPF with FRR, DHCP with Kea, LLDP with lldpd, LACP with Open vSwitch."""

import subprocess
import time

import otg
import pytest
from bond import UP
from lab import wait_until
from server import Server
from test_bgp import ONE, Device
from test_convergence import TwoPaths
from test_dhcp import SERVER, Kea, Network
from test_dhcpv6 import Kea as Kea6
from test_dhcpv6 import Network as Network6
from test_isis import Device as IsisDevice
from test_lacp import bonded, set_key
from test_lldp import Lldpd, value
from test_ospf import POINT, QUICK
from test_ospf import Device as OspfDevice
from test_ospf3 import POINT as POINT_3
from test_ospf3 import QUICK as QUICK_3
from test_ospf3 import Device as Ospf3Device

SIX = " neighbor 2001:db8::2 remote-as 65001\n"


@pytest.fixture(autouse=True)
def installed():
    otg.install()


class Script(otg.Client):
    """The calls of such a script."""

    def __init__(self, lab, namespace):
        namespace.ip("link", "set", "lo", "up")
        super().__init__(Server(lab, "--grpc", "127.0.0.1:40066", ns=namespace))

    def protocols(self, state):
        control = self.api.control_state()
        control.protocol.all.state = state
        return self.call("set_control_state", control).warnings

    def routes(self, state, *names):
        control = self.api.control_state()
        control.protocol.route.state = state
        control.protocol.route.names = list(names)
        self.call("set_control_state", control)

    def peers(self, state, *names):
        control = self.api.control_state()
        control.protocol.bgp.peers.state = state
        control.protocol.bgp.peers.peer_names = list(names)
        self.call("set_control_state", control)

    def routers(self, state, *names, protocol="isis"):
        control = self.api.control_state()
        routers = getattr(control.protocol, protocol).routers
        routers.state, routers.router_names = state, list(names)
        self.call("set_control_state", control)

    def metrics(self, kind, **columns):
        request = self.api.metrics_request()
        asked = getattr(request, kind)
        for column, value in (columns or {"column_names": []}).items():
            setattr(asked, column, value)
        return {row.name: row for row in getattr(self.call("get_metrics", request), kind.replace("v4_", "v4").replace("v6_", "v6") + "_metrics")}

    def states(self, kind, **filters):
        request = self.api.states_request()
        request.choice = kind
        for name, value in filters.items():
            setattr(getattr(request, kind), name, value)
        return getattr(self.call("get_states", request), kind)


def speakers(script):
    """A device with an IPv4 and an IPv6 peer on port p, and another device on port q."""
    config = script.config("afpacket:veth0", "afpacket:veth1")
    west = config.devices.add(name="west")
    ethernet = west.ethernets.add(name="west eth", mac="02:00:00:00:0a:01")
    ethernet.connection.port_name = "p"
    ethernet.ipv4_addresses.add(name="west v4", address="10.0.0.2", gateway="10.0.0.1", prefix=16)
    ethernet.ipv6_addresses.add(name="west v6", address="2001:db8::2", gateway="2001:db8::1", prefix=64)
    west.bgp.router_id = "10.0.0.2"
    peers = west.bgp.ipv4_interfaces.add(ipv4_name="west v4").peers
    four = peers.add(name="peer 4", peer_address="10.0.0.1", as_type="ebgp", as_number=65001)
    four.learned_information_filter.unicast_ipv4_prefix = True
    kept = four.v4_routes.add(name="kept routes")
    kept.addresses.add(address="16.0.0.0", prefix=24, count=50)
    kept.as_path.as_set_mode = "include_as_seq"
    kept.as_path.segments.add(type="as_seq", as_numbers=[64999, 64998])
    kept.communities.add(type="manual_as_number", as_number=65001, as_custom=7)
    kept.communities.add(type="no_export")
    kept.advanced.multi_exit_discriminator = 5
    kept.advanced.origin = "egp"
    four.v4_routes.add(name="other routes").addresses.add(address="32.0.0.0", prefix=24, count=20)
    peers = west.bgp.ipv6_interfaces.add(ipv6_name="west v6").peers
    six = peers.add(name="peer 6", peer_address="2001:db8::1", as_type="ebgp", as_number=65001)
    routes = six.v6_routes.add(name="six routes")
    routes.addresses.add(address="2001:db8:1000::", prefix=48, count=30)
    routes.as_path.as_set_mode = "include_as_set"
    routes.as_path.segments.add(type="as_seq", as_numbers=[64999])
    routes.as_path.segments.add(type="as_set", as_numbers=[64998, 64997])
    east = config.devices.add(name="east")
    ethernet = east.ethernets.add(name="east eth", mac="02:00:00:00:0b:01")
    ethernet.connection.port_name = "q"
    ethernet.ipv4_addresses.add(name="east v4", address="10.9.0.2", gateway="10.9.0.1", prefix=24)
    for name, routes in (("kept", "kept routes"), ("other", "other routes")):
        flow = config.flows.add(name=name)
        flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = ["east v4"], [routes]
        _, ip, _ = flow.packet.ethernet().ipv4().udp()
        ip.src.value = "10.9.0.2"
        flow.size.fixed, flow.rate.pps, flow.metrics.enable, flow.metrics.loss = 100, 500, True, True
    return config


def neighbor(device, address):
    return device.ask(f"bgp neighbors {address}")[address]


@pytest.mark.unsteady("on a busy machine FRR ends a session once that has just come up, and all is told again")
def test_bgp_as_frr_sees_it(lab):
    """Sessions, routes and their attributes, metrics and states, withdrawal and peers, and traffic that comes and goes meanwhile."""
    device = Device(lab, ONE + SIX, v6=True)
    device.vtysh(
        "-c", "configure terminal", "-c", "router bgp 65000", "-c", "address-family ipv4 unicast",
        "-c", "network 10.9.0.0/24", "-c", "no neighbor 2001:db8::2 activate",
        "-c", "exit-address-family", "-c", "address-family ipv6 unicast", "-c", "neighbor 2001:db8::2 activate",
    )  # fmt: skip
    script = Script(lab, device.tester)
    assert script.set(speakers(script)) == []
    (down,) = [row for row in script.metrics("bgpv4").values()]
    assert (down.name, down.session_state, down.fsm_state, down.routes_advertised) == ("peer 4", "down", "idle", 0)
    with pytest.raises(Exception, match="start them first"):
        script.transmit("start")
    script.protocols("start")
    up = lambda: all(row.session_state == "up" for kind in ("bgpv4", "bgpv6") for row in script.metrics(kind).values())
    wait_until(up, "the sessions", 30)
    wait_until(lambda: (device.fib(), device.fib("-6")) == (70, 30), "the routes", 30)

    # The advertised routes, with their attributes.
    (said,) = device.ask("bgp ipv4 unicast 16.0.49.0/24")["paths"]
    assert said["aspath"]["string"] == "65001 64999 64998" and said["metric"] == 5 and said["origin"] == "EGP", said
    assert sorted(said["community"]["list"]) == ["65001:7", "noExport"] and said["nexthops"][0]["ip"] == "10.0.0.2", said
    (said,) = device.ask("bgp ipv4 unicast 32.0.0.0/24")["paths"]
    assert said["aspath"]["string"] == "65001" and said["origin"] == "IGP" and "community" not in said, said
    (said,) = device.ask("bgp ipv6 unicast 2001:db8:1000::/48")["paths"]
    assert said["aspath"]["string"] == "{65001} 64999 {64997,64998}", said

    # The device's routes.
    wait_until(lambda: script.states("bgp_prefixes")[0].ipv4_unicast_prefixes, "its prefix", 10)
    rows = {row.bgp_peer_name: row for row in script.states("bgp_prefixes")}
    assert set(rows) == {"peer 4", "peer 6"} and len(rows["peer 6"].ipv6_unicast_prefixes) == 0
    theirs = device.ask("bgp ipv4 unicast neighbors 10.0.0.2 advertised-routes")["advertisedRoutes"]
    found = {f"{p.ipv4_address}/{p.prefix_length}": p for p in rows["peer 4"].ipv4_unicast_prefixes}
    # FRR also sends back routes that may be exported.
    assert "10.9.0.0/24" in found and set(found) == set(theirs) and len(theirs) == 21, (found, theirs)
    for name, prefix in found.items():
        path = [number for segment in prefix.as_path.segments for number in segment.as_numbers]
        assert path == [65000, *map(int, theirs[name]["path"].split())], (path, theirs[name])
        assert (prefix.origin, prefix.ipv4_next_hop) == ("igp", "10.0.0.1"), prefix
        assert [segment.type for segment in prefix.as_path.segments] == ["as_seq"]
    assert found["10.9.0.0/24"].multi_exit_discriminator == theirs["10.9.0.0/24"]["metric"] == 0
    assert script.states("bgp_prefixes", bgp_peer_names=["peer 6"])[0].bgp_peer_name == "peer 6"

    # Metrics, field by field.
    for kind, name, address, routes in (("bgpv4", "peer 4", "10.0.0.2", 70), ("bgpv6", "peer 6", "2001:db8::2", 30)):
        row, seen = script.metrics(kind)[name], neighbor(device, address)
        stats = seen["messageStats"]
        assert seen["bgpState"] == "Established" and (row.session_state, row.fsm_state) == ("up", "established"), row
        assert (row.routes_advertised, row.route_withdraws_sent, row.session_flap_count) == (routes, 0, 0), row
        ours = (row.opens_sent, row.opens_received, row.updates_sent, row.updates_received, row.notifications_sent)
        frrs = [stats[key] for key in ("opensRecv", "opensSent", "updatesRecv", "updatesSent", "notificationsRecv")]
        # Of two connections of a collision FRR counts the messages of the one that stayed.
        assert ours[0] >= frrs[0] and ours[2:4] == tuple(frrs[2:4]), (ours, frrs)
        assert row.keepalives_received >= 1 and 0 <= row.keepalives_sent - stats["keepalivesRecv"] <= 1, (row, stats)
        # FRR marks the end of its routes for peers that restart gracefully.
        assert row.end_of_rib_received == 0, row
    assert script.metrics("bgpv4", column_names=["session_state"])["peer 4"].routes_advertised is None

    # Traffic to all prefixes, and what is withdrawn.
    script.transmit("start")
    time.sleep(1.5)
    script.routes("withdraw", "other routes")
    wait_until(lambda: device.fib() == 50, "the withdrawal", 20)
    time.sleep(1)
    script.transmit("stop")
    time.sleep(0.7)
    flows, row = script.flows(), script.metrics("bgpv4")["peer 4"]
    assert flows["kept"].frames_tx > 500 and flows["kept"].frames_tx == flows["kept"].frames_rx, flows["kept"]
    assert 0 < flows["other"].frames_rx < flows["other"].frames_tx, flows["other"]
    assert (row.route_withdraws_sent, row.session_state, row.session_flap_count) == (20, "up", 0), row
    script.routes("advertise")
    wait_until(lambda: device.fib() == 70, "the routes", 20)

    # Without traffic the session stays; traffic resumes in the same run.
    before = script.flows("other")["other"]
    script.transmit("start", "other")
    time.sleep(1.5)
    script.transmit("stop", "other")
    time.sleep(0.7)
    after = script.flows("other")["other"]
    assert after.frames_tx > before.frames_tx and after.frames_tx - before.frames_tx == after.frames_rx - before.frames_rx
    assert neighbor(device, "10.0.0.2")["connectionsDropped"] == 0

    # A peer goes down and comes up again.
    script.peers("down", "peer 4")
    wait_until(lambda: (device.fib(), device.fib("-6")) == (0, 30), "the end of the session", 20)
    assert neighbor(device, "10.0.0.2")["lastResetDueTo"] == "BGP Notification received"
    assert script.metrics("bgpv4")["peer 4"].session_state == "down"
    script.peers("up", "peer 4")
    wait_until(lambda: device.fib() == 70, "the session", 30)
    assert not any("BGP" in warning for warning in script.protocols("stop"))
    wait_until(lambda: (device.fib(), device.fib("-6")) == (0, 0), "the end", 20)
    row = script.metrics("bgpv4")["peer 4"]
    assert (row.session_state, row.fsm_state, row.route_withdraws_sent) == ("down", "idle", 20), row
    with pytest.raises(Exception, match="not started"):
        script.routes("withdraw")


def test_paths_and_graceful_restart_as_frr_sees_them(lab):
    """Two paths of the same prefixes, those that FRR sends with their identifiers, and the time of a restart."""
    sends = " address-family ipv4 unicast\n  neighbor 10.0.0.2 addpath-tx-all-paths\n  network 10.9.0.0/24\n exit-address-family\n"
    device = Device(lab, ONE + SIX + sends, v6=True)
    script = Script(lab, device.tester)
    config = speakers(script)
    four = config.devices[0].bgp.ipv4_interfaces[0].peers[0]
    four.capability.ipv4_unicast_add_path = True
    four.graceful_restart.enable_gr, four.graceful_restart.restart_time = True, 33
    for number, routes in enumerate(four.v4_routes):
        routes.addresses[0].address, routes.addresses[0].count, routes.add_path.path_id = "16.0.0.0", 20, 500 + number
    assert script.set(config) == []
    script.protocols("start")
    wait_until(lambda: script.metrics("bgpv4")["peer 4"].session_state == "up", "the session", 30)
    wait_until(lambda: device.fib() == 20, "the routes", 30)
    paths = lambda: device.ask("bgp ipv4 unicast 16.0.19.0/24")["paths"]
    wait_until(lambda: {path["aspath"]["string"] for path in paths()} == {"65001 64999 64998", "65001"}, "both paths", 10)
    said = neighbor(device, "10.0.0.2")
    assert said["neighborCapabilities"]["addPath"]["ipv4Unicast"]["rxAdvertisedAndReceived"], said["neighborCapabilities"]
    assert said["gracefulRestartInfo"]["timers"]["receivedRestartTimer"] == 33, said["gracefulRestartInfo"]
    prefixes = lambda **filters: script.states("bgp_prefixes", **filters)[0].ipv4_unicast_prefixes
    wait_until(lambda: any(row.ipv4_address == "10.9.0.0" for row in prefixes()), "FRR's own prefix", 10)
    assert all(row.path_id > 0 for row in prefixes()), prefixes()
    script.routes("withdraw", "kept routes")
    wait_until(lambda: {path["aspath"]["string"] for path in paths()} == {"65001"}, "one path", 10)

    # FRR keeps the routes of a session that restarts, and knows it again afterwards.
    action = script.api.control_action()
    restart = action.protocol.bgp.initiate_graceful_restart
    restart.peer_names, restart.restart_delay = ["peer 4"], 5
    began = time.monotonic()
    script.call("set_control_action", action)
    up = lambda: script.metrics("bgpv4")["peer 4"].session_state == "up"
    wait_until(lambda: not up(), "the end of the session", 3)
    wait_until(up, "the session again", 20)
    assert time.monotonic() - began >= 5, "it came back too early"
    assert device.fib() == 20 and neighbor(device, "10.0.0.2")["gracefulRestartInfo"]["rBit"], neighbor(device, "10.0.0.2")
    assert script.metrics("bgpv4")["peer 4"].session_flap_count == 0
    restart.peer_names = ["nobody"]
    with pytest.raises(Exception, match="there is no ''nobody''"):
        script.call("set_control_action", action)
    restart.peer_names = []
    restart.notification.choice = "cease"
    with pytest.raises(Exception, match="notification: not supported"):
        script.call("set_control_action", action)
    script.protocols("stop")


def test_what_bgp_can_not_do_is_refused_with_its_place(lab):
    script = Script(lab, lab.netns("tester"))

    def refused(change, *wanted):
        config = speakers(script)
        config.ports[0].location, config.ports[1].location = "ring:a", "ring:b"
        change(config.devices[0].bgp.ipv4_interfaces[0].peers[0], config)
        errors = script.refused(config)
        assert all(any(text in error for error in errors) for text in wanted), errors

    at = "devices[0].bgp.ipv4_interfaces[0].peers[0]"
    refused(lambda peer, _: setattr(peer.advanced, "md5_key", "x"), f"{at}.advanced.md5_key: not supported")
    refused(lambda peer, _: setattr(peer.advanced, "time_to_live", 1), f"{at}.advanced.time_to_live: not supported: 255 is sent")
    refused(lambda peer, _: setattr(peer.capability, "evpn", True), f"{at}.capability.evpn: not supported")
    refused(lambda peer, _: setattr(peer, "as_number_width", "two"), f"{at}.as_number_width: not supported")
    refused(lambda peer, _: setattr(peer.graceful_restart, "enable_llgr", True), f"{at}.graceful_restart.enable_llgr: not supported")
    refused(lambda peer, _: setattr(peer.graceful_restart, "stale_time", 5), f"{at}.graceful_restart.stale_time: not supported")
    without = "not supported: a path identifier without add_path among the peer's capabilities"
    refused(lambda peer, _: setattr(peer.v4_routes[0].add_path, "path_id", 3), f"{at}.v4_routes[0].add_path: {without}")
    refused(lambda peer, _: setattr(peer.v4_routes[0].as_path, "as_set_mode", "include_as_confed_set"), "as_set_mode: not supported")
    refused(lambda peer, _: peer.v4_routes[0].as_path.segments.add(type="as_set", as_numbers=[0]), f"{at}: must be from 1 to 4294967295")
    refused(lambda peer, _: setattr(peer.v4_routes[1].advanced, "local_preference", 7), "local_preference: not supported")
    refused(lambda peer, _: setattr(peer, "peer_address", "10.0.0.2"), f"{at}: 10.0.0.2 is an address of the port's own hosts")
    refused(lambda _, config: setattr(config.devices[0].bgp.ipv4_interfaces[0], "ipv4_name", "x"), "unknown device or interface 'x'")


def add_router(config, name, port, number, ip, gateway, system, level="level_2", network="point_to_point"):
    """A device with an IS-IS router that has a range of routes of each family."""
    device = config.devices.add(name=name)
    ethernet = device.ethernets.add(name=f"{name} eth", mac=f"02:00:00:00:0a:{number:02x}")
    ethernet.connection.port_name = port
    ethernet.ipv4_addresses.add(name=f"{name} v4", address=ip, gateway=gateway, prefix=24)
    router = device.isis
    router.name, router.system_id = f"{name} isis", system
    router.basic.hostname, router.basic.ipv4_te_router_id, router.basic.learned_lsp_filter = f"{name}-router", ip, True
    router.advanced.area_addresses, router.advanced.lsp_refresh_rate, router.advanced.enable_attached_bit = ["490001"], 900, False
    link = router.interfaces.add(name=f"{name} link", eth_name=f"{name} eth", network_type=network, level_type=level, metric=12)
    for settings in (link.l1_settings, link.l2_settings):
        settings.hello_interval, settings.dead_interval = 1, 4
    four = router.v4_routes.add(name=f"{name} four", link_metric=30)
    four.addresses.add(address=f"16.{number}.0.0", prefix=24, count=40)
    six = router.v6_routes.add(name=f"{name} six", link_metric=5, origin_type="external")
    six.addresses.add(address=f"2001:db8:{number}000::", prefix=64, count=3)
    return router


@pytest.mark.unsteady("a busy machine keeps hellos and LSPs waiting for longer than the hold time of this test")
def test_isis_as_frr_sees_it(lab):
    """Adjacency, routes and their costs, metrics, FRR's view, withdrawal, a router that goes down, and traffic meanwhile."""
    device = IsisDevice(lab)
    device.configure("interface d0\n isis password clear hellos\nrouter isis x\n domain-password clear lsps authenticate snp validate")
    script = Script(lab, device.tester)
    config = script.config("afpacket:veth0", "afpacket:veth1")
    router = add_router(config, "west", "p", 1, "10.0.0.2", "10.0.0.1", "640000000001")
    router.v4_routes.add(name="other").addresses.add(address="32.0.0.0", prefix=24, count=20)
    authentication = router.interfaces[0].authentication
    authentication.auth_type, authentication.password = "password", "hellos"
    authentication = router.router_auth.domain_auth
    authentication.auth_type, authentication.password = "password", "lsps"
    east = config.devices.add(name="east").ethernets.add(name="east eth", mac="02:00:00:00:0b:01")
    east.connection.port_name = "q"
    east.ipv4_addresses.add(name="east v4", address="10.9.0.2", gateway="10.9.0.1", prefix=24)
    for name, routes in (("kept", "west four"), ("gone", "other")):
        flow = config.flows.add(name=name)
        flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = ["east v4"], [routes]
        _, ip, _ = flow.packet.ethernet().ipv4().udp()
        ip.src.value = "10.9.0.2"
        flow.size.fixed, flow.rate.pps, flow.metrics.enable = 100, 500, True
    assert script.set(config) == []
    row = script.metrics("isis")["west isis"]
    assert (row.l2_sessions_up, row.l2_lsp_sent, row.l2_database_size) == (0, 0, 0), row
    script.protocols("start")
    wait_until(lambda: script.metrics("isis")["west isis"].l2_sessions_up == 1, "the adjacency", 30)
    wait_until(lambda: (device.fib(), device.fib("-6")) == (60, 3), "the routes", 30)
    assert device.neighbors() == {"west-router": "Up"}
    assert (device.metric("16.1.7.0/24"), device.metric("32.0.7.0/24")) == (37, 7)
    (route,) = device.show("ipv6 route 2001:db8:1000::/64").values()
    assert route[0]["metric"] == 12, route
    said = device.vtysh("-c", "show isis database detail west-router.00-00")
    assert "Router ID: 10.0.0.2" in said or "TE Router ID: 10.0.0.2" in said, said

    # FRR's view, from its LSP and its hellos.
    wait_until(lambda: script.states("isis_lsps")[0].lsps, "its LSP", 20)
    (row,) = script.states("isis_lsps", isis_router_names=["west isis"])
    (theirs,) = [name for name in device.lsps() if not name.startswith("west-router")]
    lsp = row.lsps[0]
    assert (len(row.lsps), lsp.lsp_id, lsp.pdu_type, lsp.is_type) == (1, "000000000009-00-00", "level_2", 3), row
    # FRR may originate it once more between the two looks.
    assert 0 <= device.lsps()[theirs][0] - lsp.sequence_number <= 1 and 1000 < lsp.remaining_lifetime <= 1200, (lsp, device.lsps())
    assert lsp.pdu_length > 60 and not lsp.flags.overload and not lsp.flags.attached_default, lsp
    assert [name.hostname for name in lsp.tlvs.hostname_tlvs] == [theirs.removesuffix(".00-00")], lsp
    links = {link.system_id for tlv in lsp.tlvs.extended_is_reachability_tlvs for link in tlv.neighbors}
    prefixes = {(p.ipv4_address, p.prefix_length, p.metric) for tlv in lsp.tlvs.extended_ipv4_reachability_tlvs for p in tlv.prefixes}
    assert links == {"640000000001"} and ("10.0.0.0", 24, 7) in prefixes, lsp
    (row,) = script.states("isis_adjacencies")
    (adjacency,) = row.adjacency_states
    assert (adjacency.neighbor_system_id, adjacency.interface_name) == ("0000.0000.0009", "west link"), adjacency
    assert (adjacency.local_state.level_type, adjacency.local_state.hold_timer) == ("level_2", 4), adjacency
    assert adjacency.neighbor_state.level_type == "level_2" and adjacency.neighbor_state.hold_timer <= 4, adjacency

    # Metrics against FRR's own counts.
    row = script.metrics("isis")["west isis"]
    assert row.l2_point_to_point_hellos_sent >= 2 <= row.l2_point_to_point_hellos_received, row
    assert (row.l2_broadcast_hellos_sent, row.l1_point_to_point_hellos_sent, row.l1_sessions_up) == (0, 0, 0), row
    assert (row.l2_database_size, row.l2_session_flap, row.l1_lsp_received) == (1, 0, 0) and row.l2_lsp_received >= 1, row
    # The router's own LSP, and one for each range.
    assert row.l2_lsp_sent >= 4 and row.l2_psnp_received >= 1 and row.l2_csnp_received >= 1, row
    assert script.metrics("isis", column_names=["l2_sessions_up"])["west isis"].l2_lsp_sent is None

    # Traffic to all prefixes, and what is withdrawn.
    script.transmit("start")
    time.sleep(1.5)
    script.routes("withdraw", "other")
    wait_until(lambda: device.fib() == 40, "the withdrawal", 20)
    time.sleep(1)
    script.transmit("stop")
    time.sleep(0.7)
    flows = script.flows()
    assert flows["kept"].frames_tx > 500 and flows["kept"].frames_tx == flows["kept"].frames_rx, flows["kept"]
    assert 0 < flows["gone"].frames_rx < flows["gone"].frames_tx, flows["gone"]
    script.routes("advertise", "other")
    wait_until(lambda: device.fib() == 60, "the routes again", 20)

    # The router goes down and comes up again.
    script.routers("down", "west isis")
    wait_until(lambda: (device.fib(), device.fib("-6")) == (0, 0), "the end of the adjacency", 20)
    assert script.metrics("isis")["west isis"].l2_sessions_up == 0 and not len(script.states("isis_adjacencies")[0].adjacency_states)
    script.routers("up")
    wait_until(lambda: (device.fib(), device.fib("-6")) == (60, 3), "the adjacency again", 60)
    assert not any("IS-IS" in warning for warning in script.protocols("stop"))
    wait_until(lambda: device.fib() == 0, "the end", 20)
    row = script.metrics("isis")["west isis"]
    assert (row.l2_sessions_up, row.l2_session_flap) == (0, 0) and row.l2_lsp_sent >= 4, row
    with pytest.raises(Exception, match="not started"):
        script.routers("down")


def test_isis_routers_of_both_levels_back_to_back(lab):
    """Two ports of the tester: an adjacency at each level, each other's LSPs, and traffic between routes behind the routers."""
    script = Script(lab, lab.netns("tester"))
    config = script.config("ring:a", "ring:b")
    add_router(config, "west", "p", 1, "10.0.0.1", "10.0.0.2", "640000000001", "level_1_2")
    add_router(config, "east", "q", 2, "10.0.0.2", "10.0.0.1", "650000000001", "level_1_2")
    for source, target in (("west", "east"), ("east", "west")):
        flow = config.flows.add(name=source)
        flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = [f"{source} four"], [f"{target} four"]
        flow.packet.ethernet().ipv4().udp()
        flow.size.fixed, flow.rate.pps, flow.metrics.enable = 100, 1000, True
        flow.duration.fixed_packets.packets = 500
    assert script.set(config) == []
    script.protocols("start")
    up = lambda row: row.l1_sessions_up == row.l2_sessions_up == 1 and row.l1_database_size == row.l2_database_size == 3
    wait_until(lambda: all(up(row) for row in script.metrics("isis").values()), "adjacencies and LSPs", 30)
    found = {row.isis_router_name: sorted((lsp.lsp_id, lsp.pdu_type) for lsp in row.lsps) for row in script.states("isis_lsps")}
    for name, other in (("west isis", "650000000001"), ("east isis", "640000000001")):
        levels = ("level_1", "level_2")
        assert found[name] == sorted((f"{other}-00-{part:02x}", level) for part in range(3) for level in levels), found
    six = [
        (p.ipv6_address, p.prefix_length, p.metric, p.origin_type, p.redistribution_type)
        for lsp in script.states("isis_lsps", isis_router_names=["west isis"])[0].lsps
        for tlv in lsp.tlvs.ipv6_reachability_tlvs
        for p in tlv.prefixes
    ]
    assert sorted(six) == sorted(2 * [(f"2001:db8:2000:{n}::" if n else "2001:db8:2000::", 64, 5, "external", "up") for n in range(3)]), six
    script.transmit("start")
    done = lambda: all(flow.frames_tx == flow.frames_rx == 500 for flow in script.flows().values())
    wait_until(done, "all packets of both flows", 20)
    # Routers stay, long after the last packet.
    time.sleep(2.5)
    assert all(up(row) and row.l1_session_flap == 0 for row in script.metrics("isis").values()), script.metrics("isis")
    assert {flow.transmit for flow in script.flows().values()} == {"stopped"}
    # And the flows are sent once more.
    script.transmit("start")
    assert not done()
    wait_until(done, "all packets of both flows again", 20)
    assert all(up(row) and row.l1_session_flap == 0 for row in script.metrics("isis").values()), script.metrics("isis")
    script.protocols("stop")
    assert all(row.l1_sessions_up == row.l2_sessions_up == row.l1_session_flap == 0 for row in script.metrics("isis").values())


def test_a_capture_starts_no_protocols(lab):
    """Routers whose protocols were not started send nothing while their ports are captured, and do once they are started."""
    script = Script(lab, lab.netns("tester"))
    config = script.config("ring:a", "ring:b")
    add_router(config, "west", "p", 1, "10.0.0.1", "10.0.0.2", "640000000001", "level_1_2")
    add_ospf(config, "east", "q", 2, "10.0.0.2", "10.0.0.1")
    for port in ("p", "q"):
        config.captures.add(name=port, port_names=[port], format="pcap")
    script.set(config)

    def said():
        """Packets of OSPF and PDUs of IS-IS in both captures."""
        count = 0
        for port in ("p", "q"):
            request = script.api.capture_request()
            request.port_name = port
            data, at = script.call("get_capture", request).read(), 24
            while at < len(data):
                length = int.from_bytes(data[at + 8 : at + 12], "little")
                frame = data[at + 16 : at + 16 + length]
                count += frame[14:17] == b"\xfe\xfe\x83" or (frame[12:14] == b"\x08\x00" and frame[23] == 89)
                at += 16 + length
        return count

    script.capturing("start")
    # Hellos are due every second.
    time.sleep(3)
    script.capturing("stop")
    assert said() == 0
    script.protocols("start")
    script.capturing("start")
    wait_until(lambda: said() > 2, "hellos", 30)


def test_what_isis_can_not_do_is_refused_with_its_place(lab):
    script = Script(lab, lab.netns("tester"))

    def refused(change, *wanted):
        config = script.config("ring:a", "ring:b")
        change(add_router(config, "west", "p", 1, "10.0.0.1", "10.0.0.2", "640000000001", "level_1_2"))
        errors = script.refused(config)
        assert all(any(text in error for error in errors) for text in wanted), errors

    at = "devices[0].isis"
    refused(lambda router: router.interfaces.add(name="x", eth_name="west eth"), f"{at}.interfaces[1]: not supported: a router with several")
    refused(lambda router: setattr(router.interfaces[0], "eth_name", "x"), f"{at}.interfaces[0].eth_name: unknown device or interface 'x'")
    refused(lambda router: setattr(router, "system_id", "64"), f"{at}.system_id: must have 6 bytes")
    refused(lambda router: setattr(router.basic, "enable_wide_metric", False), f"{at}.basic.enable_wide_metric: not supported: metrics are wide")
    refused(lambda router: setattr(router.advanced, "area_addresses", ["49", "50"]), f"{at}.advanced.area_addresses: not supported: a router in several areas")
    refused(lambda router: setattr(router.advanced, "csnp_interval", 500), f"{at}.advanced.csnp_interval: not supported")
    refused(lambda router: setattr(router.advanced, "lsp_lifetime", 600), f"{at}: must be whole seconds from 1s on, and shorter than 'lifetime'")
    refused(lambda router: setattr(router.interfaces[0].l1_settings, "priority", 5), "l1_settings: not supported: settings of level 1 that")
    refused(lambda router: setattr(router.router_auth.area_auth, "auth_type", "md5"), f"{at}.router_auth: not supported: area_auth that is not domain_auth")
    refused(lambda router: setattr(router.segment_routing.router_capability, "s_bit", "flood"), f"{at}.segment_routing: not supported")
    refused(lambda router: setattr(router.v4_routes[0], "prefix_attr_enabled", True), f"{at}.v4_routes[0].prefix_attr_enabled: not supported")


def add_ospf(config, name, port, number, ip, gateway, network="point_to_point"):
    """A device with an OSPF router that has a range of routes, of another area."""
    device = config.devices.add(name=name)
    ethernet = device.ethernets.add(name=f"{name} eth", mac=f"02:00:00:00:0a:{number:02x}")
    ethernet.connection.port_name = port
    ethernet.ipv4_addresses.add(name=f"{name} v4", address=ip, gateway=gateway, prefix=24)
    router = device.ospfv2
    router.name, router.store_lsa = f"{name} ospf", True
    router.router_id.custom = f"1.1.1.{number}"
    link = router.interfaces.add(name=f"{name} link", ipv4_name=f"{name} v4")
    link.network_type.choice = network
    link.advanced.hello_interval, link.advanced.dead_interval, link.advanced.routing_metric = 1, 4, 12
    router.v4_routes.add(name=f"{name} inter", metric=30).addresses.add(address=f"16.{number}.0.0", prefix=24, count=40)
    return router


@pytest.mark.unsteady("a busy machine keeps hellos and LSAs waiting for longer than the dead interval of this test")
@pytest.mark.parametrize("network", ["point_to_point", "broadcast"])
def test_ospf_as_frr_sees_it(lab, network):
    """Adjacency, routes of all origins, metrics, FRR's LSAs, withdrawal, a router that goes down, and traffic meanwhile."""
    keys = " ip ospf authentication message-digest\n ip ospf message-digest-key 7 md5 secret\n"
    device = OspfDevice(lab, (POINT if network == "point_to_point" else "") + QUICK + keys, area="0.0.0.5", more=" redistribute kernel\n")
    device.ns.ip("route", "add", "77.0.0.0/24", "via", "10.9.0.77")
    script = Script(lab, device.tester)
    config = script.config("afpacket:veth0", "afpacket:veth1")
    router = add_ospf(config, "west", "p", 1, "10.0.0.2", "10.0.0.1", network)
    link = router.interfaces[0]
    link.area.id = 5
    link.authentication.md5s.add(key_id=7, key="secret")
    router.capabilities.e_bit = router.capabilities.lsa_b_bit = True
    origins = ("intra_area", "external_type_1", "external_type_2")
    for number, origin in enumerate(origins):
        routes = router.v4_routes.add(name=origin, metric=20)
        routes.route_origin.choice = origin
        routes.addresses.add(address=f"{30 + number}.0.0.0", prefix=24, count=10)
    east = config.devices.add(name="east").ethernets.add(name="east eth", mac="02:00:00:00:0b:01")
    east.connection.port_name = "q"
    east.ipv4_addresses.add(name="east v4", address="10.9.0.2", gateway="10.9.0.1", prefix=24)
    for name, routes in (("kept", "west inter"), ("gone", "external_type_2")):
        flow = config.flows.add(name=name)
        flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = ["east v4"], [routes]
        _, ip, _ = flow.packet.ethernet().ipv4().udp()
        ip.src.value = "10.9.0.2"
        flow.size.fixed, flow.rate.pps, flow.metrics.enable = 100, 500, True
    assert script.set(config) == []
    row = script.metrics("ospfv2")["west ospf"]
    assert (row.full_state_count, row.down_state_count, row.lsa_sent) == (0, 1, 0), row
    script.protocols("start")
    wait_until(lambda: script.metrics("ospfv2")["west ospf"].full_state_count == 1, "the adjacency", 60)
    wait_until(lambda: device.fib() == 70, "the routes", 30)
    said = device.routes()
    kinds = {name: (said[name]["routeType"], said[name]["cost"]) for name in ("16.1.7.0/24", "30.0.7.0/24", "31.0.7.0/24")}
    assert kinds == {"16.1.7.0/24": ("N IA", 37), "30.0.7.0/24": ("N", 27), "31.0.7.0/24": ("N E1", 27)}, kinds
    assert (said["32.0.7.0/24"]["routeType"], said["32.0.7.0/24"]["type2cost"]) == ("N E2", 20), said["32.0.7.0/24"]
    (neighbor,) = device.ask("neighbor")["neighbors"]["1.1.1.1"]
    assert neighbor["nbrState"].startswith("Full") and neighbor["address"] == "10.0.0.2", neighbor

    # FRR's view, from its LSAs and ours, with FRR's own counters.
    wait_until(lambda: script.states("ospfv2_lsas")[0].external_as_lsas, "its LSAs", 20)
    (row,) = script.states("ospfv2_lsas", router_names=["west ospf"])
    theirs = device.vtysh("-c", "show ip ospf database external 77.0.0.0 self-originate")
    (external,) = [lsa for lsa in row.external_as_lsas if lsa.header.advertising_router_id == "9.9.9.9"]
    assert (external.header.lsa_id, external.network_mask, external.metric, external.metric_type) == ("77.0.0.0", "255.255.255.0", 20, 2), external
    assert f"{external.header.sequence_number:08x}" in theirs and external.header.age < 60 and external.header.option_bits & 2, (external, theirs)
    (lsa,) = row.router_lsas
    links = {(link.type, link.id, link.data, link.metric) for link in lsa.links}
    if network == "point_to_point":
        wanted = {("point_to_point", "1.1.1.1", "10.0.0.1", 7), ("stub", "10.0.0.0", "255.255.255.0", 7)}
    else:
        wanted = {("transit", "10.0.0.1", "10.0.0.1", 7)}
        (network_lsa,) = row.network_lsas
        assert network_lsa.network_mask == "255.255.255.0" and set(network_lsa.neighbor_router_ids) == {"1.1.1.1", "9.9.9.9"}, network_lsa
    assert links == wanted and lsa.header.lsa_id == lsa.header.advertising_router_id == "9.9.9.9", lsa

    # Metrics.
    row = script.metrics("ospfv2")["west ospf"]
    assert row.hellos_sent >= 2 <= row.hellos_received and row.dbd_sent >= 2 <= row.dbd_received, row
    # One of the router itself, one for each route that is no link of it.
    assert (row.summary_lsa_sent >= 40, row.external_lsa_sent >= 20, row.router_lsa_sent >= 1) == (True, True, True), row
    assert row.lsa_sent >= 61 and row.lsa_ack_received >= 1 and row.external_lsa_received >= 1 and row.router_lsa_received >= 1, row
    assert (row.sessions_flap, row.nssa_lsa_received, row.opaque_area_sent) == (0, 0, 0), row
    assert script.metrics("ospfv2", column_names=["full_state_count"])["west ospf"].lsa_sent is None
    withdrawn_and_down(script, device, "ospfv2", 61)


def withdrawn_and_down(script, device, protocol, sent):
    """Traffic to all prefixes while some are withdrawn; then the router goes down, up, and ends, with at least `sent` LSAs."""
    script.transmit("start")
    time.sleep(1.5)
    script.routes("withdraw", "external_type_2")
    wait_until(lambda: device.fib() == 60, "the withdrawal", 20)
    time.sleep(1)
    script.transmit("stop")
    time.sleep(0.7)
    flows = script.flows()
    assert flows["kept"].frames_tx > 500 and flows["kept"].frames_tx == flows["kept"].frames_rx, flows["kept"]
    assert 0 < flows["gone"].frames_rx < flows["gone"].frames_tx, flows["gone"]
    script.routes("withdraw", "intra_area")
    wait_until(lambda: device.fib() == 50, "the withdrawal of the router's own networks", 20)
    script.routes("advertise")
    wait_until(lambda: device.fib() == 70, "the routes again", 20)

    # The router goes down and comes up again.
    script.routers("down", "west ospf", protocol=protocol)
    wait_until(lambda: device.fib() == 0, "the end of the adjacency", 20)
    assert script.metrics(protocol)["west ospf"].full_state_count == 0
    script.routers("up", protocol=protocol)
    wait_until(lambda: device.fib() == 70, "the adjacency again", 90)
    assert not any("OSPF" in warning for warning in script.protocols("stop"))
    wait_until(lambda: device.fib() == 0, "the end", 20)
    row = script.metrics(protocol)["west ospf"]
    assert (row.full_state_count, row.sessions_flap) == (0, 0) and row.lsa_sent >= sent, row
    with pytest.raises(Exception, match="not started"):
        script.routers("down", protocol=protocol)


def test_ospf_routers_back_to_back(lab):
    """Two ports of the tester: each other's LSAs, and traffic between routes behind the routers. To one of them the routes are on its own
    network: packets go to the gateway all the same."""
    script = Script(lab, lab.netns("tester"))
    config = script.config("ring:a", "ring:b")
    add_ospf(config, "west", "p", 1, "10.0.0.1", "10.0.0.2")
    add_ospf(config, "east", "q", 2, "10.0.0.2", "10.0.0.1")
    config.devices[1].ethernets[0].ipv4_addresses[0].prefix = 1
    for source, target in (("west", "east"), ("east", "west")):
        flow = config.flows.add(name=source)
        flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = [f"{source} inter"], [f"{target} inter"]
        flow.packet.ethernet().ipv4().udp()
        flow.size.fixed, flow.rate.pps, flow.metrics.enable = 100, 1000, True
        flow.duration.fixed_packets.packets = 500
    assert script.set(config) == []
    script.protocols("start")
    full = lambda row: row.full_state_count == 1 and row.summary_lsa_received >= 40
    wait_until(lambda: all(full(row) for row in script.metrics("ospfv2").values()), "adjacencies and LSAs", 30)
    for name, other in (("west ospf", 2), ("east ospf", 1)):
        (row,) = script.states("ospfv2_lsas", router_names=[name])
        found = sorted((lsa.header.lsa_id, lsa.network_mask, lsa.metric, lsa.header.advertising_router_id) for lsa in row.network_summary_lsas)
        assert found == sorted((f"16.{other}.{n}.0", "255.255.255.0", 30, f"1.1.1.{other}") for n in range(40)), found
    script.transmit("start")
    done = lambda: all(flow.frames_tx == flow.frames_rx == 500 for flow in script.flows().values())
    wait_until(done, "all packets of both flows", 20)
    script.protocols("stop")
    assert all(row.full_state_count == row.sessions_flap == 0 for row in script.metrics("ospfv2").values())


def test_what_ospf_can_not_do_is_refused_with_its_place(lab):
    script = Script(lab, lab.netns("tester"))

    def refused(change, *wanted):
        config = script.config("ring:a", "ring:b")
        change(add_ospf(config, "west", "p", 1, "10.0.0.1", "10.0.0.2"))
        errors = script.refused(config)
        assert all(any(text in error for error in errors) for text in wanted), errors

    at = "devices[0].ospfv2"
    refused(lambda router: router.interfaces.add(name="x", ipv4_name="west v4"), f"{at}.interfaces[1]: not supported: a router with several")
    refused(lambda router: setattr(router.interfaces[0], "ipv4_name", "x"), f"{at}.interfaces[0].ipv4_name: unknown device or interface 'x'")
    refused(lambda router: router.interfaces[0].network_type.point_to_multipoint.add(neighbor_ip="10.0.0.2"), "point_to_multipoint: not supported")
    refused(lambda router: setattr(router.interfaces[0].advanced, "priority", 5), "priority: not supported: a router that may be the designated one")
    refused(lambda router: setattr(router.capabilities, "np_bit", True), f"{at}.capabilities.np_bit: not supported")
    refused(lambda router: setattr(router.capabilities, "lsa_e_bit", True), f"{at}.capabilities.lsa_e_bit: not supported without external routes")
    refused(lambda router: setattr(router.graceful_restart, "helper_mode", True), f"{at}.graceful_restart.helper_mode: not supported")
    refused(lambda router: setattr(router.v4_routes[0].route_origin, "choice", "nssa_external"), f"{at}.v4_routes[0].route_origin.nssa_external: not supported")
    refused(lambda router: router.v4_routes[0].prefix_sids.add(), f"{at}.v4_routes[0].prefix_sids[0]: not supported")
    refused(lambda router: setattr(router, "lsa_refresh_time", 4000), f"{at}: must be whole seconds from 5s to 3599s")


def add_ospf3(config, name, port, number, ip, gateway, network="point_to_point"):
    """A device with an OSPFv3 router that has a range of routes, of another area."""
    device = config.devices.add(name=name)
    ethernet = device.ethernets.add(name=f"{name} eth", mac=f"02:00:00:00:0a:{number:02x}")
    ethernet.connection.port_name = port
    ethernet.ipv6_addresses.add(name=f"{name} v6", address=ip, gateway=gateway, prefix=64)
    device.ospfv3.router_id.custom = f"1.1.1.{number}"
    router = device.ospfv3.instances.add(name=f"{name} ospf", store_lsa=True)
    link = router.interfaces.add(name=f"{name} link", ipv6_name=f"{name} v6")
    link.network_type.choice = network
    link.advanced.hello_interval, link.advanced.dead_interval, link.advanced.link_metric = 1, 4, 12
    router.v6_routes.add(name=f"{name} inter", metric=30).addresses.add(address=f"2001:db8:{1000 + number}::", prefix=64, count=40)
    return router


@pytest.mark.unsteady("a busy machine keeps hellos and LSAs waiting for longer than the dead interval of this test")
@pytest.mark.parametrize("network", ["point_to_point", "broadcast"])
def test_ospfv3_as_frr_sees_it(lab, network):
    """Adjacency, routes of all origins, metrics, FRR's LSAs, withdrawal, a router that goes down, and traffic meanwhile."""
    device = Ospf3Device(lab, (POINT_3 if network == "point_to_point" else "") + QUICK_3, area="0.0.0.5", more=" redistribute kernel\n")
    device.ns.ip("-6", "route", "add", "2001:db8:77::/64", "via", "2001:db8:9::77")
    script = Script(lab, device.tester)
    config = script.config("afpacket:veth0", "afpacket:veth1")
    router = add_ospf3(config, "west", "p", 1, "2001:db8:a::2", "2001:db8:a::1", network)
    router.interfaces[0].area.id = 5
    router.capabilities.lsa_b_bit = router.capabilities.lsa_e_bit = True
    origins = ("intra_area", "external_type_1", "external_type_2")
    for number, origin in enumerate(origins):
        routes = router.v6_routes.add(name=origin, metric=20)
        routes.route_origin.choice = origin
        routes.addresses.add(address=f"2001:db8:{30 + number}::", prefix=64, count=10)
    east = config.devices.add(name="east").ethernets.add(name="east eth", mac="02:00:00:00:0b:01")
    east.connection.port_name = "q"
    east.ipv6_addresses.add(name="east v6", address="2001:db8:9::2", gateway="2001:db8:9::1", prefix=64)
    for name, routes in (("kept", "west inter"), ("gone", "external_type_2")):
        flow = config.flows.add(name=name)
        flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = ["east v6"], [routes]
        _, ip, _ = flow.packet.ethernet().ipv6().udp()
        ip.src.value = "2001:db8:9::2"
        flow.size.fixed, flow.rate.pps, flow.metrics.enable = 120, 500, True
    assert script.set(config) == []
    row = script.metrics("ospfv3")["west ospf"]
    assert (row.full_state_count, row.down_state_count, row.lsa_sent) == (0, 1, 0), row
    script.protocols("start")
    wait_until(lambda: script.metrics("ospfv3")["west ospf"].full_state_count == 1, "the adjacency", 60)
    wait_until(lambda: device.fib() == 70, "the routes", 30)
    said = device.routes()
    kinds = {name: (said[name]["pathType"], said[name]["metricCost"]) for name in ("2001:db8:1001:7::/64", "2001:db8:30:7::/64", "2001:db8:31:7::/64")}
    assert list(kinds.values()) == [("Inter-Area", 37), ("Intra-Area", 27), ("External-1", 27)], kinds
    assert (said["2001:db8:32:7::/64"]["pathType"], said["2001:db8:32:7::/64"]["metricCostE2"]) == ("External-2", 20), said["2001:db8:32:7::/64"]
    (neighbor,) = device.ask("neighbor")["neighbors"]
    assert (neighbor["neighborId"], neighbor["state"]) == ("1.1.1.1", "Full"), neighbor

    # FRR's view, from its LSAs, with FRR's own counters.
    def theirs(kind):
        database = device.ask(f"database {kind} adv-router 9.9.9.9")
        return [lsa for scope in database.values() for part in scope for lsa in part["lsa"]]

    wait_until(lambda: script.states("ospfv3_lsas")[0].external_as_lsas, "its LSAs", 20)
    (row,) = script.states("ospfv3_lsas", router_names=["west ospf"])
    (external,) = row.external_as_lsas
    (said,) = theirs("as-external")
    assert (external.address_prefix, external.prefix_length, external.metric, external.referenced_ls_type) == ("2001:db8:77:0:0:0:0:0", 64, 20, 0), external
    assert said["payload"] == "2001:db8:77::/64" and (external.header.lsa_id, external.header.sequence_number) == (said["lsId"], said["seqNum"]), (external, said)
    assert external.header.advertising_router_id == "9.9.9.9" and external.header.age < 60, external
    (lsa,) = row.router_lsas
    links = [(link.type, link.metric) for link in lsa.links]
    assert links == [("point_to_point" if network == "point_to_point" else "transit", 7)] and lsa.header.lsa_id == "0.0.0.0", lsa
    assert lsa.neighbor_router_id == ("1.1.1.1" if network == "point_to_point" else "9.9.9.9"), lsa
    assert lsa.header.sequence_number in [said["seqNum"] for said in theirs("router")], (lsa, theirs("router"))
    if network == "broadcast":
        (network_lsa,) = row.network_lsas
        assert set(network_lsa.attached_router_ids) == {"1.1.1.1", "9.9.9.9"}, network_lsa
    (link,) = row.link_lsas
    link_local = device.ns.ip("-6", "address", "show", "dev", "d0", "scope", "link").split("inet6 ")[1].split("/")[0]
    assert (link.link_local_address, link.address_prefix, link.prefix_length) == (link_local, "2001:db8:a:0:0:0:0:0", 64), link
    inside = {(lsa.address_prefix, lsa.prefix_length) for lsa in row.intra_area_prefix_lsas}
    assert inside == {("2001:db8:a:0:0:0:0:0", 64)}, row.intra_area_prefix_lsas

    # Metrics.
    row = script.metrics("ospfv3")["west ospf"]
    assert row.hellos_sent >= 1 <= row.hellos_received and row.dbd_sent >= 2 <= row.dbd_received, row
    assert (row.inter_area_prefix_lsa_sent >= 40, row.external_lsa_sent >= 20, row.router_lsa_sent >= 1, row.link_lsa_sent >= 1) == (True,) * 4, row
    assert row.lsa_sent >= 63 and row.intra_area_prefix_lsa_sent >= 1 and row.external_lsa_received >= 1 and row.link_lsa_received >= 1, row
    assert (row.sessions_flap, row.nssa_lsa_received, row.inter_area_router_lsa_sent) == (0, 0, 0), row
    assert script.metrics("ospfv3", column_names=["full_state_count"])["west ospf"].lsa_sent is None
    withdrawn_and_down(script, device, "ospfv3", 63)


def test_what_ospfv3_can_not_do_is_refused_with_its_place(lab):
    script = Script(lab, lab.netns("tester"))

    def refused(change, *wanted):
        config = script.config("ring:a", "ring:b")
        change(add_ospf3(config, "west", "p", 1, "2001:db8:a::1", "2001:db8:a::2"), config.devices[0].ospfv3)
        errors = script.refused(config)
        assert all(any(text in error for error in errors) for text in wanted), errors

    at = "devices[0].ospfv3.instances[0]"
    refused(lambda router, _: router.interfaces.add(name="x", ipv6_name="west v6"), f"{at}.interfaces[1]: not supported: a router with several")
    refused(lambda router, device: device.instances.add(name="x").interfaces.add(name="y", ipv6_name="west v6"), "devices[0].ospfv3.instances[1]: not supported: a device with several")
    refused(lambda router, device: setattr(device.router_id, "choice", "auto"), f"{at}: is missing")
    refused(lambda router, _: setattr(router.interfaces[0], "ipv6_name", "x"), f"{at}.interfaces[0].ipv6_name: unknown device or interface 'x'")
    refused(lambda router, _: setattr(router.interfaces[0].network_type.broadcast, "priority", 5), "priority: not supported: a router that may be")
    refused(lambda router, _: setattr(router.interfaces[0].options, "r_bit", False), "options.r_bit: not supported: it is always set here")
    refused(lambda router, _: setattr(router.interfaces[0].options, "n_bit", True), "options.n_bit: not supported: it is never set here")
    refused(lambda router, _: setattr(router.capabilities, "lsa_e_bit", True), f"{at}.capabilities.lsa_e_bit: not supported without external routes")
    refused(lambda router, _: setattr(router.graceful_restart, "helper_mode", True), f"{at}.graceful_restart.helper_mode: not supported")
    refused(lambda router, _: setattr(router.v6_routes[0].route_origin, "choice", "nssa_external"), f"{at}.v6_routes[0].route_origin.nssa_external: not supported")
    refused(lambda router, _: setattr(router, "lsa_refresh_time", 4000), f"{at}: must be whole seconds from 5s to 3599s")


def test_dhcp_as_kea_sees_it(lab):
    """Clients get their addresses, show them, and send from them."""
    network = Network(lab)
    kea = Kea(network)
    script = Script(lab, network.tester)
    config = script.config("afpacket:veth0", "afpacket:veth1")
    macs = [f"02:00:00:00:0c:{number:02x}" for number in range(1, 4)]
    for number, mac in enumerate(macs):
        ethernet = config.devices.add(name=f"subscriber {number}").ethernets.add(name=f"eth {number}", mac=mac)
        ethernet.connection.port_name = "p"
        ethernet.dhcpv4_interfaces.add(name=f"client {number}")
    east = config.devices.add(name="east").ethernets.add(name="east eth", mac="02:00:00:00:0d:01")
    network.device.ip("neigh", "replace", "10.9.0.2", "lladdr", "02:00:00:00:0d:01", "dev", "d1", "nud", "permanent")
    east.connection.port_name = "q"
    east.ipv4_addresses.add(name="east v4", address="10.9.0.2", gateway="10.9.0.1", prefix=24)
    flow = config.flows.add(name="up")
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = [f"client {n}" for n in range(3)], ["east v4"]
    _, ip, _ = flow.packet.ethernet().ipv4().udp()
    ip.src.auto.choice = "dhcp"
    ip.dst.value = "10.9.0.2"
    flow.size.fixed, flow.rate.pps, flow.metrics.enable = 100, 300, True
    script.set(config)
    assert all(row.discovers_sent == 0 for row in script.metrics("dhcpv4_client").values())
    script.protocols("start")
    bound = lambda: all(row.ipv4_address for row in script.states("dhcpv4_interfaces"))
    wait_until(bound, "the leases", 30)
    rows = {row.dhcp_client_name: row for row in script.states("dhcpv4_interfaces")}
    leased = kea.leases()
    assert {row.ipv4_address: mac for row, mac in zip(rows.values(), macs)} == leased, (rows, leased)
    for row in rows.values():
        assert (row.prefix_length, row.gateway_address, row.lease_time, row.renew_time) == (16, SERVER, 3600, 1800), row
    for row in script.metrics("dhcpv4_client").values():
        counted = (row.discovers_sent, row.offers_received, row.requests_sent, row.acks_received, row.nacks_received, row.declines_sent)
        assert counted == (1, 1, 1, 1, 0, 0), row
    script.transmit("start")
    wait_until(lambda: script.flows("up")["up"].frames_tx > 100, "traffic", 15, every=0.1)
    script.transmit("stop")
    time.sleep(0.7)
    up = script.flows("up")["up"]
    assert up.frames_tx > 100 and up.frames_rx == up.frames_tx, up
    assert bound()
    script.protocols("stop")
    wait_until(lambda: kea.leases() == {}, "the release", 10)
    assert all(row.ipv4_address is None for row in script.states("dhcpv4_interfaces"))


def test_dhcpv6_as_kea_sees_it(lab):
    """Clients get an address and a prefix each, show them, and send from their addresses."""
    network = Network6(lab)
    kea = Kea6(network)
    router = ["dnsmasq", "--keep-in-foreground", "--port=0", "--interface=d0", "--bind-interfaces", "--user=root"]
    router += ["--conf-file=/dev/null", "--pid-file", "--enable-ra", "--dhcp-range=2001:db8::,ra-only"]
    lab.start(*router, ns=network.device, stderr=subprocess.DEVNULL)
    script = Script(lab, network.tester)
    config = script.config("afpacket:veth0", "afpacket:veth1")
    for number in range(3):
        mac = f"02:00:00:00:0c:{number + 1:02x}"
        ethernet = config.devices.add(name=f"subscriber {number}").ethernets.add(name=f"eth {number}", mac=mac)
        ethernet.connection.port_name = "p"
        client = ethernet.dhcpv6_interfaces.add(name=f"client {number}")
        client.ia_type.choice = "ianapd"
        client.duid_type.choice = "ll"
    east = config.devices.add(name="east").ethernets.add(name="east eth", mac="02:00:00:00:0d:01")
    network.device.ip("neigh", "replace", "2001:db8:9::2", "lladdr", "02:00:00:00:0d:01", "dev", "d1", "nud", "permanent")
    east.connection.port_name = "q"
    east.ipv6_addresses.add(name="east v6", address="2001:db8:9::2", gateway="2001:db8:9::1", prefix=64)
    flow = config.flows.add(name="up")
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = [f"client {n}" for n in range(3)], ["east v6"]
    _, ip, _ = flow.packet.ethernet().ipv6().udp()
    ip.src.auto.choice = "dhcp"
    ip.dst.value = "2001:db8:9::2"
    flow.size.fixed, flow.rate.pps, flow.metrics.enable = 120, 300, True
    assert script.set(config) == []
    assert all(row.solicits_sent == 0 for row in script.metrics("dhcpv6_client").values())
    script.protocols("start")
    wait_until(lambda: all(row.ia_addresses for row in script.states("dhcpv6_interfaces")), "the leases", 30)
    rows = script.states("dhcpv6_interfaces")
    leased = kea.leases()
    addresses, prefixes = [row.ia_addresses[0] for row in rows], [row.iapd_addresses[0] for row in rows]
    assert [row.dhcp_client_name for row in rows] == [f"client {number}" for number in range(3)]
    assert {row.address for row in [*addresses, *prefixes]} == set(leased) and len(leased) == 6, (rows, leased)
    # The DUID is made from the MAC address (DUID-LL, Ethernet).
    for number, rows in enumerate(zip(addresses, prefixes)):
        assert {leased[row.address] for row in rows} == {f"00:03:00:01:02:00:00:00:0c:{number + 1:02x}"}, leased
    assert {row.lease_time for row in addresses} == {3600} and {row.prefix_length for row in prefixes} == {56}, rows
    for row in script.metrics("dhcpv6_client").values():
        counted = (row.solicits_sent, row.advertisements_received, row.requests_sent, row.replies_received, row.nacks_received)
        assert counted == (1, 1, 1, 1, 0), row
    script.transmit("start")
    wait_until(lambda: script.flows("up")["up"].frames_tx > 100, "traffic", 15, every=0.1)
    script.transmit("stop")
    time.sleep(0.7)
    up = script.flows("up")["up"]
    assert up.frames_tx > 100 and up.frames_rx == up.frames_tx, up
    script.protocols("stop")
    wait_until(lambda: kea.leases() == {}, "the release", 10)
    assert not any(row.ia_addresses for row in script.states("dhcpv6_interfaces"))


def agents(script, second="ring:b"):
    """LLDP on port p with all TLVs, and on port q without optional ones."""
    config = script.config("afpacket:veth0", second)
    west = config.lldp.add(name="west agent", hold_time=30, advertisement_interval=5)
    west.connection.port_name = "p"
    west.chassis_id.mac_address_subtype.value = "02:00:00:00:0e:01"
    west.port_id.interface_name_subtype.value = "ge-0/0/1"
    west.system_name.value = "tide"
    west.org_infos.add(oui="00A0B0", subtype=7).information.info = "00FF10"
    east = config.lldp.add(name="east agent")
    east.connection.port_name = "q"
    east.chassis_id.local_subtype = "rack-7"
    east.port_id.local_subtype = "slot-1"
    return config


CAPABILITIES = {"Bridge": "mac_bridge", "Router": "router", "Wlan": "wlan_access_point", "Station": "station_only", "Tel": "telephone"}


def test_lldp_as_lldpd_sees_it(lab):
    """Both advertise all fields; traffic starts and stops meanwhile; advertisements are withdrawn when protocols stop."""
    device = Lldpd(lab)
    script = Script(lab, device.tester)
    config = agents(script)
    config.flows.add(name="up").tx_rx.port.tx_name = "p"
    config.flows[0].tx_rx.port.rx_name = "q"
    config.flows[0].rate.pps = 100
    assert script.set(config) == []
    assert [row.frames_tx for row in script.metrics("lldp").values()] == [0, 0]
    assert len(script.states("lldp_neighbors")) == 0 and not device.neighbours()
    script.protocols("start")
    wait_until(lambda: device.neighbours() and len(script.states("lldp_neighbors")), "each other", 20, every=0.1)

    ((heard, chassis, port),) = device.neighbours()
    assert chassis["id"] == [{"type": "mac", "value": "02:00:00:00:0e:01"}], chassis
    assert port["id"] == [{"type": "ifname", "value": "ge-0/0/1"}] and value(port, "ttl") == "30", port
    assert value(chassis, "name") == "tide" and "mgmt-ip" not in chassis, chassis
    (custom,) = heard["unknown-tlvs"][0]["unknown-tlv"]
    assert {key: custom[key] for key in ("oui", "subtype", "value")} == {
        "oui": "00,A0,B0", "subtype": "7", "value": "00,FF,10",
    }, heard  # fmt: skip

    (row,) = script.states("lldp_neighbors")
    mac = device.device.mac("d0")
    ours = device.cli("show", "chassis", "details")["local-chassis"][0]["chassis"][0]
    assert row.lldp_name == "west agent" and (row.port_id, row.port_id_type) == (mac, "mac_address"), row
    assert (row.chassis_id, row.chassis_id_type) == (value(ours, "id"), "mac_address"), row
    assert row.neighbor_id == f"{row.chassis_id} {row.port_id}"
    assert (row.system_name, row.system_description) == (value(ours, "name"), value(ours, "descr")) == ("device", "the device")
    assert (row.port_description, row.ttl) == ("d0", 8), row
    assert row.last_update <= row.age <= 20, row
    # The first entry of lldpd's list; IPv4 is before IPv6.
    assert (row.management_address, row.management_address_type) == (value(ours, "mgmt-ip"), "ipv4"), row
    assert {cap.capability_name: cap.capability_enabled for cap in row.capabilities} == {
        CAPABILITIES[cap["type"]]: cap["enabled"] for cap in ours["capability"]
    }, row
    tlvs = {(tlv.custom_type, tlv.oui, tlv.oui_subtype): tlv.information for tlv in row.custom_tlvs}
    assert len(tlvs[127, "00120f", 1]) == 10, tlvs  # 802.3 MAC and PHY configuration.
    assert len(script.states("lldp_neighbors", lldp_names=["east agent"])) == 0
    assert len(script.states("lldp_neighbors", neighbor_id_filters=[row.neighbor_id])) == 1
    assert len(script.states("lldp_neighbors", neighbor_id_filters=["x"])) == 0
    with pytest.raises(Exception, match="unknown name"):
        script.states("lldp_neighbors", lldp_names=["x"])

    statistics = device.cli("show", "statistics")["lldp"][0]["interface"][0]
    counts, east = (script.metrics("lldp")[name] for name in ("west agent", "east agent"))
    theirs = {key: int(statistics[way][0][way]) for key, way in (("tx", "tx"), ("rx", "rx"))}
    assert 1 <= theirs["rx"] <= counts.frames_tx <= theirs["rx"] + 1, (counts, statistics)
    assert 1 <= counts.frames_rx and abs(counts.frames_rx - theirs["tx"]) <= 1, (counts, statistics)
    assert (counts.frames_error_rx, counts.frames_discard, counts.tlvs_discard, counts.tlvs_unknown) == (0, 0, 0, 0)
    assert east.frames_tx >= 1 and east.frames_rx == 0, east
    assert script.metrics("lldp", column_names=["frames_rx"])["west agent"].frames_tx is None

    # Protocols stop and start under traffic.
    script.transmit("start")
    script.protocols("stop")
    wait_until(lambda: not device.neighbours(), "lldpd to forget", 5, every=0.1)
    assert len(script.states("lldp_neighbors")) == 0
    script.protocols("start")
    wait_until(lambda: device.neighbours() and len(script.states("lldp_neighbors")), "each other again", 20, every=0.1)
    script.transmit("stop")
    script.protocols("stop")
    wait_until(lambda: not device.neighbours(), "lldpd to forget again", 5, every=0.1)
    assert len(script.states("lldp_neighbors")) == 0
    assert script.metrics("lldp")["west agent"].frames_tx > counts.frames_tx
    with pytest.raises(Exception, match="'rsvp'"):
        script.metrics("rsvp")


def test_what_lldp_can_not_do_is_refused_with_its_place(lab):
    script = Script(lab, lab.netns("tester"))

    def refused(change, *wanted):
        config = agents(script)
        config.ports[0].location = "ring:a"
        change(*config.lldp)
        errors = script.refused(config)
        assert all(any(text in error for error in errors) for text in wanted), errors

    refused(lambda west, east: setattr(west.connection, "port_name", "x"), "lldp[0].connection.port_name: unknown port 'x'")
    refused(lambda west, east: setattr(east.connection, "port_name", "p"), "lldp[1].connection.port_name: not supported: port 'p'")
    refused(lambda west, east: setattr(east, "name", "west agent"), "lldp[1].name: duplicate LLDP 'west agent'")
    refused(lambda west, east: setattr(east.chassis_id, "local_subtype", ""), "lldp[1].chassis_id.local_subtype: must not be empty")
    refused(lambda west, east: setattr(east.system_name, "value", "a{n}"), "lldp[1].system_name.value: not supported: '{n}'")
    refused(lambda west, east: setattr(east.port_id, "mac_address_subtype", "ge-0"), "lldp[1].port_id.mac_address_subtype: ")
    refused(lambda west, east: setattr(east.system_name, "value", "a" * 256), "lldp[1]: 256 bytes; a TLV has 255 at most")


def lag(script, *locations):
    """A lag of ports p and q, and a flow from each of them to port r."""
    config = script.config(*locations[:2])
    config.ports.add(name="r", location=locations[2])
    lag = config.lags.add(name="the lag", min_links=2)
    lag.protocol.lacp.actor_system_id = "02:00:00:00:00:77"
    lag.protocol.lacp.actor_system_priority = 3
    lag.protocol.lacp.actor_key = 7
    for number, port in enumerate("pq", 1):
        member = lag.ports.add(port_name=port)
        member.lacp.actor_port_number, member.lacp.actor_port_priority, member.lacp.lacpdu_timeout = 10 + number, 5, 3
        member.ethernet.name, member.ethernet.mac = f"{port} eth", f"02:00:00:00:0c:0{number}"
        flow = config.flows.add(name=port)
        flow.tx_rx.port.tx_name, flow.tx_rx.port.rx_name = port, "r"
        ethernet, _, _ = flow.packet.ethernet().ipv4().udp()
        ethernet.dst.value, ethernet.src.value = "02:00:00:00:00:99", member.ethernet.mac
        flow.rate.pps, flow.metrics.enable = 100, True
    return config


def lacp(script, **columns):
    """Rows of the metrics, by the name of the port."""
    request = script.api.metrics_request()
    for column, value in (columns or {"column_names": []}).items():
        setattr(request.lacp, column, value)
    return {row.lag_member_port_name: row for row in script.call("get_metrics", request).lacp_metrics}


@pytest.mark.unsteady("a busy machine sends LACPDUs late, and after 3 s without one a link is lost")
def test_lacp_as_open_vswitch_sees_it(lab):
    """Both ends of both links, field by field; traffic comes and goes meanwhile; the ports leave their lag when protocols stop."""
    tester, switch = bonded(lab)
    set_key(switch, 5)
    script = Script(lab, tester)
    config = lag(script, *(f"afpacket:v{number}" for number in range(3)))
    assert script.set(config) == []
    (row,) = script.metrics("lag").values()
    assert (row.name, row.oper_status, row.member_ports_up, row.frames_tx) == ("the lag", "down", 0, 0), row
    assert [(row.lacp_packets_tx, row.collecting) for row in lacp(script).values()] == [(0, None)] * 2
    script.protocols("start")
    ends = [(UP, "02:00:00:00:00:77", UP)] * 2
    wait_until(lambda: switch.links() == ends and script.metrics("lag")["the lag"].oper_status == "up", "the lag", 20, every=0.1)
    assert script.metrics("lag")["the lag"].member_ports_up == 2
    for member, row in zip(switch.members(), lacp(script).values()):
        assert row.lag_name == "the lag" and (row.activity, row.timeout, row.synchronization) == ("active", "short", "in_sync"), row
        assert row.aggregatable and row.collecting and row.distributing and row.lacp_rx_errors == 0, row
        assert row.lacp_packets_rx >= 3 and row.lacp_packets_tx >= 3, row
        ours = {"partner sys_id": row.system_id, "partner key": str(row.oper_key), "partner port_id": str(row.port_num)}
        theirs = {"actor sys_id": row.partner_id, "actor key": str(row.partner_key), "actor port_id": str(row.partner_port_num)}
        assert {key: member[key] for key in (*ours, *theirs)} == ours | theirs, (row, member)
        assert (member["partner sys_priority"], member["partner port_priority"]) == ("3", "5"), member
    assert [row.port_num for row in lacp(script).values()] == [11, 12]
    assert list(lacp(script, lag_member_port_names=["q"])) == ["q"] and list(lacp(script, lag_names=["the lag"])) == ["p", "q"]
    assert lacp(script, column_names=["collecting"])["p"].partner_key is None
    with pytest.raises(Exception, match="unknown name"):
        lacp(script, lag_member_port_names=["r"])

    time.sleep(1.5)  # The switch takes some time to enable a link.
    script.transmit("start")
    wait_until(lambda: all(row.frames_rx > 100 for row in script.flows().values()), "traffic", 10)
    script.transmit("stop")
    time.sleep(0.7)
    assert all(row.frames_rx == row.frames_tx for row in script.flows().values())
    # LACPDUs are frames of their ports as well.
    sent = sum(row.frames_tx for row in script.flows().values())
    assert script.metrics("lag")["the lag"].frames_tx >= sent, sent

    # One link is lost: the lag has fewer than it needs.
    switch.ns.ip("link", "set", "s1", "down")
    wait_until(lambda: script.metrics("lag")["the lag"].member_ports_up == 1, "the loss", 10)
    rows = lacp(script)
    assert rows["p"].distributing and not rows["q"].distributing and script.metrics("lag")["the lag"].oper_status == "down", rows
    switch.ns.ip("link", "set", "s1", "up")
    wait_until(lambda: script.metrics("lag")["the lag"].oper_status == "up", "the link", 15)

    # Protocols stop and start under traffic.
    script.transmit("start")
    script.protocols("stop")
    wait_until(lambda: all("distributing" not in end[2] for end in switch.links()), "the ports to leave", 5)
    assert script.metrics("lag")["the lag"].member_ports_up == 0
    script.protocols("start")
    wait_until(lambda: switch.links() == ends, "the lag again", 20, every=0.1)
    script.transmit("stop")
    script.protocols("stop")
    wait_until(lambda: all("distributing" not in end[2] for end in switch.links()), "the ports to leave again", 5)
    row = lacp(script)["p"]
    assert not row.distributing and row.partner_id is None and row.lacp_packets_tx > 10, row


@pytest.mark.unsteady("a busy machine keeps the switch from enabling a link in time")
def test_a_static_lag_before_open_vswitch(lab):
    """It needs no protocol: its ports are in it while their links are up, and traffic of each arrives."""
    tester, switch = bonded(lab, "off")
    script = Script(lab, tester)
    config = lag(script, *(f"afpacket:v{number}" for number in range(3)))
    config.lags[0].protocol.static.lag_id = 5
    assert script.set(config) == []
    of_lag = lambda: script.metrics("lag")["the lag"]
    assert (of_lag().oper_status, of_lag().member_ports_up, lacp(script)) == ("up", 2, {}), of_lag()
    script.transmit("start")
    wait_until(lambda: all(row.frames_rx > 100 for row in script.flows().values()), "traffic", 10)
    script.transmit("stop")
    time.sleep(0.7)
    assert all(row.frames_rx == row.frames_tx for row in script.flows().values())
    sent = sum(row.frames_tx for row in script.flows().values())
    assert of_lag().frames_tx >= sent, sent
    switch.ns.ip("link", "set", "s1", "down")
    wait_until(lambda: (of_lag().oper_status, of_lag().member_ports_up) == ("down", 1), "the loss", 10)
    switch.ns.ip("link", "set", "s1", "up")
    wait_until(lambda: of_lag().oper_status == "up", "the link", 10)


def test_what_lags_can_not_do_is_refused_with_its_place(lab):
    script = Script(lab, lab.netns("tester"))

    def refused(change, *wanted):
        config = lag(script, "ring:a", "ring:b", "ring:c")
        change(config)
        errors = script.refused(config)
        assert all(any(text in error for error in errors) for text in wanted), errors

    def of(place, **values):
        return lambda config: [setattr(place(config.lags[0]), name, value) for name, value in values.items()]

    def device(name):
        def add(config):
            ethernet = config.devices.add(name="d").ethernets.add(name="e", mac="02:00:00:00:00:01")
            ethernet.connection.lag_name = name

        return add

    refused(of(lambda lag: lag.ports[1], port_name="x"), "lags[0].ports[1].port_name: unknown port 'x'")
    refused(of(lambda lag: lag.ports[1], port_name="p"), "lags[0].ports[1].port_name: port 'p' is in a lag already")
    refused(lambda config: config.lags.add(name="the lag"), "lags[1].name: duplicate lag 'the lag'", "lags[1].ports: must not be empty")
    refused(of(lambda lag: lag.ports[0].lacp, lacpdu_timeout=10), "lags[0].ports[0].lacp.lacpdu_timeout: not supported: 10; use 3, 90, or 0 for 3")
    refused(of(lambda lag: lag.ports[0].lacp, lacpdu_periodic_time_interval=1), "lags[0].ports[0].lacp.lacpdu_periodic_time_interval: not supported")
    refused(of(lambda lag: lag.ports[1].lacp, actor_port_number=11), "lags[0].ports[1]: 11 is the number of port 'p' of the same system")
    refused(of(lambda lag: lag.protocol.lacp, actor_system_id="01:00:00:00:00:01"), "lags[0].ports[0]: must be the MAC address of one system")
    refused(lambda config: config.lags[0].ports[0].ethernet.vlans.add(name="v"), "lags[0].ports[0].ethernet.vlans: not supported: give VLANs to devices")
    refused(device("the lag"), "devices[0].ethernets[0].connection.lag_name: not supported: a device on a lag of several ports")
    refused(device("x"), "devices[0].ethernets[0].connection.lag_name: unknown lag 'x'")


@pytest.mark.unsteady("frames that a busy machine loses are outages, too")
def test_convergence_of_a_flow_whose_routes_are_withdrawn(lab):
    """FRR has two paths to the routes; the script withdraws the better one, and reads how long frames were lost, and since when."""
    device = TwoPaths(lab)
    script = Script(lab, device.tester)
    config = script.config("afpacket:veth0", "afpacket:veth1")
    config.ports.add(name="r", location="afpacket:veth2")
    source = config.devices.add(name="source")
    ethernet = source.ethernets.add(name="source eth", mac="02:00:00:00:0b:01")
    ethernet.connection.port_name = "q"
    ethernet.ipv4_addresses.add(name="source v4", address="10.9.0.2", gateway="10.9.0.1", prefix=24)
    for number, (name, port, net, asn) in enumerate((("first", "p", "10.0.0", 65001), ("second", "r", "10.1.0", 65002))):
        one = config.devices.add(name=name)
        ethernet = one.ethernets.add(name=f"{name} eth", mac=f"02:00:00:00:0a:0{number}")
        ethernet.connection.port_name = port
        ethernet.ipv4_addresses.add(name=f"{name} v4", address=f"{net}.2", gateway=f"{net}.1", prefix=16 if number == 0 else 24)
        one.bgp.router_id = f"{net}.2"
        peer = one.bgp.ipv4_interfaces.add(ipv4_name=f"{name} v4").peers.add(name=f"{name} peer")
        peer.peer_address, peer.as_type, peer.as_number = f"{net}.1", "ebgp", asn
        routes = peer.v4_routes.add(name=f"{name} routes")
        routes.addresses.add(address="16.0.0.0", prefix=24, count=4)
        if number == 1:
            routes.as_path.as_set_mode = "include_as_seq"
            routes.as_path.segments.add(type="as_seq", as_numbers=[64999])
    flow = config.flows.add(name="flow")
    flow.tx_rx.device.tx_names, flow.tx_rx.device.rx_names = ["source v4"], ["first routes", "second routes"]
    _, ip, _ = flow.packet.ethernet().ipv4().udp()
    ip.src.value = "10.9.0.2"
    flow.size.fixed, flow.rate.pps, flow.metrics.enable, flow.metrics.loss = 100, 4_000, True, True
    config.events.cp_events.enable = config.events.dp_events.enable = True
    config.events.dp_events.rx_rate_threshold = 90
    script.set(config)
    script.protocols("start")
    wait_until(lambda: all(row.session_state == "up" for row in script.metrics("bgpv4").values()), "sessions", 30)
    wait_until(lambda: len(device.ask("bgp ipv4 unicast").get("routes", {}).get("16.0.3.0/24", [])) == 2, "two paths", 20)
    time.sleep(1)
    script.transmit("start")
    time.sleep(1.5)
    (row,) = script.metrics("convergence", flow_names=[]).values()
    assert list(row.events) == [], row
    script.routes("withdraw", "first routes")

    def events(number):
        (row,) = script.metrics("convergence", flow_names=["flow"]).values()
        return row if len(row.events) >= number else None

    gone = wait_until(lambda: events(3), "an outage", 10)
    cause, below, above = gone.events
    assert [(event.type, event.source) for event in gone.events] == [
        ("route_withdraw", "first routes"),
        ("flow_rx_rate_below_threshold", "flow"),
        ("flow_rx_rate_above_threshold", "flow"),
    ], gone
    assert 1e9 < cause.begin_timestamp_ns <= cause.end_timestamp_ns < cause.begin_timestamp_ns + 1e9, gone
    # The first path is wrong from the withdrawal on, to a sampling interval of 20 packets.
    assert cause.begin_timestamp_ns - 5e6 < below.begin_timestamp_ns < cause.end_timestamp_ns + 5e6, gone
    assert below.begin_timestamp_ns < above.begin_timestamp_ns, gone
    plane = (above.begin_timestamp_ns - below.begin_timestamp_ns) / 1e3
    assert gone.data_plane_convergence_us == pytest.approx(plane, abs=1), gone
    whole = (above.begin_timestamp_ns - cause.begin_timestamp_ns) / 1e3
    assert gone.control_plane_data_plane_convergence_us == pytest.approx(whole, abs=1), gone
    assert 0 < plane < 1e6 and whole < 1e6, gone
    script.routes("advertise", "first routes")
    back = wait_until(lambda: events(4), "an advertisement", 10)
    assert (back.events[3].type, back.events[3].source) == ("route_advertise", "first routes"), back
    time.sleep(1)
    script.transmit("stop")
    run = script.server.get("/api/v1/runs")[0]["id"]
    time.sleep(1)
    snapshot = script.server.get(f"/api/v1/runs/{run}/snapshot")
    # A stream for each range, with half the rate.
    for stream in snapshot["total"]["streams"].values():
        first = stream["outages"]["last"][0]
        # The packets that did not take the second path agree with the time.
        assert first["until_ns"] - first["from_ns"] == pytest.approx(first["lost"] / 2_000 * 1e9, rel=0.1, abs=1e7), stream
        assert stream["lost"] < first["lost"] and stream["outages"]["interval_ns"] == 10_000_000, stream
        assert sum(path["rx"] for path in stream["paths"].values()) == stream["rx"], stream
    script.protocols("stop")


def test_what_convergence_can_not_say_is_refused(lab):
    script = Script(lab, lab.netns("tester"))
    config = script.config("ring:a", "ring:b")
    otg.flow(config, "f", "ethernet", "ipv4", "udp", measure=True)
    script.set(config)

    def refused(**columns):
        with pytest.raises(Exception) as raised:
            script.metrics("convergence", **columns)
        return script.api.from_exception(raised.value).errors

    assert refused(flow_names=[]) == ["convergence: the configuration has no events.dp_events that are enabled"]
    config.events.dp_events.enable = True
    script.set(config)
    assert refused(flow_names=["g"]) == ["convergence.flow_names[0]: unknown name 'g'"]
    (row,) = script.metrics("convergence", flow_names=[]).values()
    assert (row.name, list(row.events), row.data_plane_convergence_us) == ("f", [], None), row
    config.events.dp_events.rx_rate_threshold = 0
    assert script.refused(config) == ["events.dp_events.rx_rate_threshold: must be more than 0"]


@pytest.mark.unsteady("a busy machine sets a link down and up later than it was asked")
def test_convergence_of_a_flow_whose_link_goes_down(lab):
    """The device's bridge has one way to the receiver, whose link the script sets down and up."""
    tester, bridge = lab.netns("tester"), lab.netns("bridge")
    bridge.ip("link", "add", "name", "joint", "type", "bridge")
    bridge.ip("link", "set", "joint", "up")
    for name in "ab":
        lab.veth(tester, f"{name}0", bridge, f"{name}1")
        bridge.ip("link", "set", f"{name}1", "master", "joint")
    script = Script(lab, tester)
    config = script.config("afpacket:a0", "afpacket:b0")
    _, (ethernet, *_) = otg.flow(config, "f", "ethernet", "ipv4", "udp", packets=12_000, pps=2_000, measure=True)
    ethernet.src.value, ethernet.dst.value = "02:00:00:00:0a:01", "02:00:00:00:0b:01"
    config.events.cp_events.enable = config.events.dp_events.enable = True
    script.set(config)
    script.transmit("start")
    time.sleep(1)
    for state in ("down", "up"):
        control = script.api.control_state()
        control.port.link.state, control.port.link.port_names = state, ["q"]
        script.call("set_control_state", control)
        time.sleep(1)
    script.over()
    (row,) = script.metrics("convergence", flow_names=[]).values()
    kinds = [event.type for event in row.events]
    assert kinds[0] == "link_down" and kinds.count("link_up") == 1 and kinds[-1] == "flow_rx_rate_above_threshold", row
    assert {event.source for event in row.events if event.type.startswith("link")} == {"q"}, row
    lost = 12_000 - script.flows()["f"].frames_rx
    assert row.data_plane_convergence_us == pytest.approx(lost / 2_000 * 1e6, rel=0.1) and row.data_plane_convergence_us > 8e5, (lost, row)
