"""Open Traffic Generator, control during a run, with unmodified snappi; the kernel's counters are the reference."""

import struct
import sys
import time

import otg
import pytest
from lab import EAST4, EAST6, EAST_ROUTER4, EAST_ROUTER6, WEST4, WEST6, WEST_ROUTER4, WEST_ROUTER6, wait_until
from server import Server

# Where a frame that ends in a signature and its check sequence has its number.
SEQUENCE = slice(-14, -10)


def hosts(config):
    """A host on each of the ports p and q: addresses p4, p6, q4 and q6."""
    sides = (("p", 1, WEST4, WEST6, WEST_ROUTER4, WEST_ROUTER6), ("q", 2, EAST4, EAST6, EAST_ROUTER4, EAST_ROUTER6))
    for port, last, ip4, ip6, router4, router6 in sides:
        ethernet = config.devices.add(name=f"d{port}").ethernets.add(name=f"e{port}", mac=f"02:00:00:00:00:0{last}")
        ethernet.connection.port_name = port
        ethernet.ipv4_addresses.add(name=f"{port}4", address=ip4, gateway=router4, prefix=24)
        ethernet.ipv6_addresses.add(name=f"{port}6", address=ip6, gateway=router6, prefix=64)


def echoes(namespace):
    """Echo requests a namespace's kernel has received: IPv4, IPv6."""
    head, numbers = (line.split() for line in namespace.run("grep", "^Icmp:", "/proc/net/snmp").splitlines())
    v6 = namespace.run("grep", "^Icmp6InEchos", "/proc/net/snmp6").split()[1]
    return int(dict(zip(head, numbers, strict=True))["InEchos"]), int(v6)


def pinged(client, family, *requests):
    """Sends pings; results in their order, and what is said of those that failed."""
    action = client.api.control_action()
    for source, target in requests:
        getattr(action.protocol, family).ping.requests.add(src_name=source, dst_ip=target)
    answer = client.call("set_control_action", action)
    rows = getattr(answer.response.protocol, family).ping.responses
    assert [(row.src_name, row.dst_ip) for row in rows] == list(requests)
    return [row.result for row in rows], list(answer.warnings or [])


GRPC_PING = """
import snappi
api = snappi.api(location="127.0.0.1:40054", transport="grpc")
action = api.control_action()
action.protocol.ipv6.ping.requests.add(src_name="p6", dst_ip="2001:2:0:2::2")
rows = api.set_control_action(action).response.protocol.ipv6.ping.responses
print([(row.src_name, row.dst_ip, row.result) for row in rows])
"""


@pytest.mark.unsteady("compares times taken by two programs")
def test_pings(lab):
    """Neighbours, a kernel behind a router, the tester's other port, nobody; without a run and while traffic is sent."""
    otg.install()
    router = lab.router()
    host = lab.netns("host", forwarding=True)
    lab.veth(router.router, "r2", host, "h0")
    for network, length in (("10.0.2.", 24), ("2001:2:0:2::", 64)):
        router.router.ip("address", "add", f"{network}1/{length}", "dev", "r2")
        host.ip("address", "add", f"{network}2/{length}", "dev", "h0")
        host.ip("route", "add", "default", "via", f"{network}1")
    server = Server(lab, "--grpc", "127.0.0.1:40054", ns=router.tester)
    client = otg.Client(server)
    config = client.config("afpacket:veth0", "afpacket:veth1")
    hosts(config)
    made, (_, ipv4, _) = otg.flow(config, "f", "ethernet", "ipv4", "udp", measure=True)
    made.tx_rx.device.tx_names, made.tx_rx.device.rx_names = ["p4"], ["q4"]
    ipv4.src.value, ipv4.dst.value = WEST4, EAST4
    made.duration.continuous.gap = 12
    client.set(config)

    begun = time.monotonic()
    results, why = pinged(
        client, "ipv4", ("p4", WEST_ROUTER4), ("p4", "10.0.2.2"), ("p4", "10.0.0.99"), ("q4", WEST4), ("q4", "10.77.0.1")
    )
    assert results == ["succeeded", "succeeded", "failed", "succeeded", "failed"], why
    assert time.monotonic() - begun < 15
    assert why[0] == "ping from 'p4' to 10.0.0.99: 10.0.0.99 did not reply to ARP within 3 s"
    assert why[1].startswith("ping from 'q4' to 10.77.0.1: no reply to 3 echo requests through 10.0.1.1"), why
    assert echoes(router.router)[0] >= 1 and echoes(host)[0] >= 1
    assert pinged(client, "ipv6", ("p6", WEST_ROUTER6), ("q6", "2001:2:0:2::2")) == (["succeeded"] * 2, [])
    assert echoes(router.router)[1] >= 1 and echoes(host)[1] >= 1
    runs = server.get("/api/v1/runs")
    assert [(run["name"], run["state"]) for run in runs] == [("otg listens", "stopped")] * 2

    before = echoes(host)
    client.transmit("start")
    wait_until(lambda: client.flows()["f"].frames_rx > 0, "traffic", 15, 0.1)
    assert pinged(client, "ipv4", ("p4", "10.0.2.2")) == (["succeeded"], [])
    said = router.tester.run("env", f"PYTHONPATH={otg.FOLDER}", sys.executable, "-c", GRPC_PING)
    assert said.strip() == "[('p6', '2001:2:0:2::2', 'succeeded')]", said
    answer = server.ask("POST", "/api/v1/runs/latest/pings", {"port": "port1", "to": "10.0.2.2"}).json()
    assert (answer["answered"], answer["from"], answer["via"]) == (True, EAST4, EAST_ROUTER4)
    assert 1_000 < answer["rtt_ns"] < 1_000_000_000 and answer["sent"] >= 1
    after = echoes(host)
    assert after[0] - before[0] >= 2 and after[1] - before[1] >= 1
    seen = client.flows()["f"].frames_tx
    wait_until(lambda: client.flows()["f"].frames_tx > seen, "traffic to go on", 10, 0.1)
    client.transmit("stop")
    row = client.flows()["f"]
    assert row.frames_rx == row.frames_tx, "pings are not in the way"


def test_pings_that_make_no_sense(lab):
    """Each is told with its place; the native API says the same in its own words."""
    otg.install()
    server = Server(lab)
    client = otg.Client(server)
    config = client.config("ring:a", "ring:b")
    hosts(config)
    client.set(config)
    with pytest.raises(Exception, match="requests\\[0\\].src_name: unknown ipv4 address"):
        pinged(client, "ipv4", ("p6", WEST4))
    profile = {"ports": {"west": {"device": "ring:a", "ip": "10.0.0.1/24"}}, "load": {"duration": "20s"}}
    profile["ports"]["east"] = {"device": "ring:b", "ip": "10.0.0.2/24"}
    packet = [{"ipv4": {"dst": "10.0.0.2"}}, "udp"]
    profile["streams"] = [{"name": "s", "from": "west", "to": "east", "packet": packet, "rate": "1kpps"}]
    client.set(client.api.config())
    run = server.start(profile=profile)

    def ask(**ping):
        return server.ask("POST", f"/api/v1/runs/{run['id']}/pings", {"port": "west", "to": "10.0.0.2"} | ping)

    assert ask().json()["answered"]
    for wrong, detail in (
        ({"port": "south"}, "port: no port 'south'"),
        ({"to": "nowhere"}, "to: 'nowhere' is not an IP address"),
        ({"from": "::1"}, "from: its IP version differs from that of 'to'"),
        ({"attempts": 0}, "attempts: expected 1 to 100"),
    ):
        answer = ask(**wrong)
        assert (answer.status, answer.detail) == (422, detail)
    for ping, reason in (
        ({"from": "10.0.0.7"}, "10.0.0.7 is no IPv4 address of port 'west'"),
        ({"to": "10.1.0.1"}, "10.1.0.1 is on no network of port 'west', which has no gateway"),
        ({"to": "::1"}, "port 'west' has no IPv6 address"),
    ):
        answer = ask(**ping).json()
        assert (answer["answered"], answer["reason"]) == (False, reason)
    server.ask("POST", f"/api/v1/runs/{run['id']}/stop")
    server.ended(run)
    assert ask().status == 409


@pytest.mark.unsteady("compares times taken by two programs")
def test_timestamps(lab):
    """Of the first and the last frame: as far apart as the flow says, on the clock of the native result."""
    otg.install()
    client = otg.Client(Server(lab))
    config = client.config("ring:a", "ring:b")
    for name, late_ms, timestamps in (("early", 0, True), ("late", 300, True), ("plain", 0, False)):
        made, _ = otg.flow(config, name, "ethernet", "ipv4", "udp", measure=True, pps=1000, packets=201)
        made.duration.fixed_packets.delay.microseconds = late_ms * 1000
        made.metrics.timestamps = timestamps
    client.set(config)
    client.transmit("start")
    client.over()
    rows = client.flows()
    assert rows["plain"].timestamps.first_timestamp_ns is None
    times = {}
    for name, late_ms in (("early", 0), ("late", 300)):
        told = rows[name].timestamps
        times[name] = told.first_timestamp_ns, told.last_timestamp_ns
        assert told.first_timestamp_ns >= late_ms * 1e6
        # 201 packets, a millisecond apart: due over 200 ms, never before they are due.
        assert told.last_timestamp_ns >= (late_ms + 200) * 1e6
    assert times["early"][0] < 300e6
    client.transmit("stop")
    run = client.server.ended(client.server.get("/api/v1/runs")[0])
    streams = client.server.get(f"/api/v1/runs/{run['id']}/result")["streams"]
    assert [(row["first_arrival_ns"], row["last_arrival_ns"]) for row in streams.values()][:2] == list(times.values())


def test_captures_begin_and_end_while_traffic_is_sent(lab):
    """Only what comes between start and stop is captured, and a second capture has nothing of the first."""
    otg.install()
    client = otg.Client(Server(lab))
    config = client.config("ring:a", "ring:b")
    made, _ = otg.flow(config, "f", "ethernet", "ipv4", "udp", pps=1000, measure=True)
    made.duration.continuous.gap = 12
    config.captures.add(name="c", port_names=["q"], format="pcap")
    client.set(config)

    def numbers():
        """Sequence numbers of the captured test packets."""
        request = client.api.capture_request()
        request.port_name = "q"
        data, at, found = client.call("get_capture", request).read(), 24, []
        while at < len(data):
            length = struct.unpack("<I", data[at + 8 : at + 12])[0]
            found.append(data[at + 16 : at + 16 + length])
            at += 16 + length
        return [int.from_bytes(frame[SEQUENCE], "little") for frame in found]

    def passed(packets):
        """Waits for so many packets more."""
        before = client.flows()["f"].frames_rx
        wait_until(lambda: client.flows()["f"].frames_rx >= before + packets, "packets", 15, 0.05)

    client.transmit("start")
    passed(100)
    assert client.ports()["q"].capture == "stopped" and numbers() == []
    parts = []
    for _ in range(2):
        client.capturing("start")
        assert client.ports()["q"].capture == "started"
        wait_until(lambda: len(numbers()) >= 100, "packets in the capture", 15, 0.05)
        client.capturing("stop")
        part = numbers()
        passed(100)
        assert numbers() == part, "nothing more comes"
        parts.append(part)
    client.transmit("stop")
    assert numbers() == parts[1]
    for part in parts:
        assert part == list(range(part[0], part[0] + len(part))), "without gaps"
    assert parts[0][0] > 0 and parts[1][0] > parts[0][-1] + 1
    assert client.flows()["f"].frames_rx > parts[1][-1], "one run from the first packet to the last"


def switch(client, state, *ports):
    """Sets links up or down."""
    control = client.api.control_state()
    control.port.link.state = state
    control.port.link.port_names = list(ports)
    client.call("set_control_state", control)


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
def test_links(lab, kind):
    """Down and up again while traffic is sent: it goes on, and what was not sent meanwhile is no mystery."""
    otg.install()
    tester = lab.netns("tester")
    lab.veth(tester, "v0", tester, "v1")
    client = otg.Client(Server(lab, ns=tester))
    config = client.config(f"{kind}:v0", f"{kind}:v1")
    made, _ = otg.flow(config, "f", "ethernet", "ipv4", "udp", measure=True)
    made.duration.continuous.gap = 12
    client.set(config)
    client.transmit("start")
    wait_until(lambda: client.flows()["f"].frames_rx > 100, "traffic", 15, 0.1)
    switch(client, "down", "p")
    assert "UP" not in tester.link("v0")["flags"]
    assert {port.name: port.link for port in client.ports().values()} == {"p": "down", "q": "down"}
    time.sleep(0.5)
    stood = client.flows()["f"].frames_rx
    time.sleep(0.5)
    assert client.flows()["f"].frames_rx - stood < 20
    switch(client, "up", "p")
    assert "UP" in tester.link("v0")["flags"]
    wait_until(lambda: client.flows()["f"].frames_rx > stood + 500, "traffic to go on", 15, 0.1)
    assert client.flows()["f"].transmit == "started"
    assert {port.name: port.link for port in client.ports().values()} == {"p": "up", "q": "up"}
    client.transmit("stop")
    run = client.server.ended(client.server.get("/api/v1/runs")[0])
    assert run["state"] == "stopped"
    result = client.server.get(f"/api/v1/runs/{run['id']}/result")
    errors = [port[side] for port in result["ports"].values() for side in ("tx_errors", "rx_errors")]
    assert result["streams"]["flow0-0"]["lost"] <= sum(sum(reasons.values()) for reasons in errors), result


def test_links_are_left_as_they_were_found(lab):
    """When the configuration is replaced, the lease ends, the server stops; and links that are not to be switched are not."""
    otg.install()
    tester = lab.netns("tester")
    lab.veth(tester, "v0", tester, "v1")
    client = otg.Client(Server(lab, "--otg-lease", "2s", ns=tester))

    def is_up():
        return "UP" in tester.link("v0")["flags"]

    def down():
        client.set(client.config("afpacket:v0", "ring:a"))
        switch(client, "down", "p")
        assert not is_up()

    down()
    client.set(client.config("afpacket:v0", "ring:a"))
    assert is_up()
    with pytest.raises(Exception, match=r"'ring:a'' is not an interface that the kernel sets\s+up\s+and\s+down"):
        switch(client, "down")
    assert is_up(), "none of them"
    tester.ip("route", "add", "default", "dev", "v0")
    with pytest.raises(Exception, match="v0 carries this machine''s default route"):
        switch(client, "down", "p")
    tester.ip("route", "del", "default")
    down()
    wait_until(is_up, "the lease's end", 15, 0.1)
    down()
    client.server.stop()
    assert is_up()
