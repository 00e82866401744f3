"""Virtual routers by VRRP: back to back in virtual time, and with keepalived and FRR as the other router: either takes over from the other."""

import json
import os
import signal
import subprocess

import pytest
from frr import launch_all, say
from hosts import Capture
from lab import call, need, stream, wait_until

VRID = 7
BUSY = "a busy machine sends advertisements late, and after three intervals without one another router takes over"
# Of keepalived's versions and addresses: of the virtual router, of the tester, of the peer.
FOUR = (["10.0.0.1"], "10.0.0.2/24", "10.0.0.3/24")
SIX = (["fe80::1", "2001:db8::1"], "2001:db8::2/64", "2001:db8::3/64")


def router(**keys):
    return {"vrid": VRID, "addresses": ["10.0.0.1"], **keys}


def simulated(lab, west, east, seconds=12, streams=(), east_keys=None, command="sim"):
    """Rows of both ports' virtual routers, and the result."""
    ports = {
        "west": {"device": "ring:a", "ip": "10.0.0.2/24", "vrrp": {"routers": [router(**west)]}},
        "east": {"device": "ring:b", "ip": "10.0.0.3/24", **({"vrrp": {"routers": [router(**east)]}} if east is not None else {}), **(east_keys or {})},
    }
    profile = lab.profile(ports, list(streams), load={"duration": f"{seconds}s", "drain": "0s"}, sim={"link": {"delay": "0s", "speed": "200Mbps"}})
    result = lab.eagre(command, profile, "--json", "-").result()
    row = lambda name: result["ports"][name].get("vrrp", {}).get("virtual_routers", [None])[0]
    return row("west"), row("east"), result


def test_the_time_of_a_takeover_is_that_of_the_rfc(lab):
    """The Active router vanishes, and returns: three intervals and the skew later (RFC 9568 section 6.1), to the nanosecond on the wire."""
    west, east, result = simulated(lab, {"priority": 200, "resign": False, "leave": "3s", "rejoin": "9s"}, {"priority": 100, "interval": "1s"}, seconds=20)
    assert result["verdict"]["valid"], result["verdict"]
    assert (west["state"], east["state"]) == ("active", "backup"), (west, east)
    assert east["takeover_s"] == pytest.approx(3 + 156 / 256, abs=2e-3), east
    assert [change["reason"] for change in east["changes"]] == ["startup", "timeout", "preempted"], east["changes"]
    assert [change["reason"] for change in west["changes"]] == ["startup", "timeout", "left", "startup", "preempting"], west["changes"]
    assert west["changes"][0]["at_s"] < 0 < west["changes"][2]["at_s"], west["changes"]
    assert west["changes"][2]["at_s"] == pytest.approx(3, abs=2e-3), west["changes"]
    assert west["handover_s"] >= east["takeover_s"] - 2e-3, (west, east)
    assert (west["tx_priority_zero"], east["rx_priority_zero"]) == (0, 0), (west, east)
    note = f"virtual router {VRID} became Active at"
    assert any(note in line and "(timeout)" in line for line in result["verdict"]["notes"]), result["verdict"]


def test_a_router_that_leaves_in_order_is_replaced_after_the_skew(lab):
    west, east, result = simulated(lab, {"priority": 200, "leave": "3s"}, {"priority": 100, "interval": "1s"})
    assert (west["state"], east["state"]) == ("initialize", "active"), (west, east)
    assert east["takeover_s"] == pytest.approx(156 / 256, abs=2e-3), east
    assert west["handover_s"] == pytest.approx(156 / 256, abs=2e-3), west
    assert (west["tx_priority_zero"], east["rx_priority_zero"]) == (1, 1), (west, east)
    assert [change["reason"] for change in east["changes"]] == ["startup", "resigned"], east["changes"]
    row = result["ports"]["east"]["vrrp"]
    assert (row["routers"], row["active_at_end"], row["became_active"], row["takeover_max_s"]) == (1, 1, 1, east["takeover_s"]), row


def test_traffic_finds_the_virtual_router(lab):
    """The gateway of a stream is the virtual address: its frames have the virtual MAC address. A simulated run has a router of its own there."""
    flow = stream("s", "east", "west", rate="1kpps")
    flow["packet"][0] = {"ipv4": {"dst": "10.9.0.1"}}
    file = lab.folder() / "east.pcapng"
    keys = {"gateway": "10.0.0.1", "capture": {"file": str(file), "direction": "tx"}}
    west, _, result = simulated(lab, {"priority": 255}, None, seconds=2, streams=[flow], east_keys=keys, command="run")
    assert (west["state"], west["mac"], west["changes"][0]["reason"]) == ("active", f"00:00:5e:00:01:{VRID:02x}", "startup"), west
    assert result["streams"]["s"]["rx"] == result["streams"]["s"]["tx"] == 2_000, result["streams"]
    seen = set(call("tshark", "-r", file, "-Y", "udp.port == 9", "-T", "fields", "-e", "eth.dst").splitlines())
    assert seen == {west["mac"]}, seen


class Keepalived:
    """keepalived in a namespace beside the tester's, with the same virtual router."""

    def __init__(self, lab, addresses, interval="0.2", priority=100, version=3):
        need("ip", "keepalived", "tcpdump", "tshark")
        self.lab, self.virtual = lab, addresses[0]
        self.tester, self.ns = lab.netns("tester"), lab.netns("peer")
        lab.veth(self.tester, "veth0", self.ns, "peer0")
        self.ns.sysctl({"net.ipv6.conf.peer0.disable_ipv6": 0})
        self.ns.ip("address", "add", addresses[2], "dev", "peer0", *(["nodad"] if ":" in addresses[2] else []))
        self.folder = lab.folder()
        self.launch(interval, priority, version)
        wait_until(self.is_active, "the peer to be Active", 20)

    def launch(self, interval, priority, version):
        lines = "\n  ".join(self.virtual)
        config = self.folder / "keepalived.conf"
        config.write_text(f"""global_defs {{ vrrp_version {version} }}
vrrp_instance one {{
 state BACKUP
 interface peer0
 virtual_router_id {VRID}
 priority {priority}
 advert_int {interval}
 virtual_ipaddress {{
  {lines}
 }}
}}
""")
        pids = ("-p", self.folder / "pid", "-r", self.folder / "vrrp.pid", "-c", self.folder / "checkers.pid")
        command = ("keepalived", "--dont-fork", "--vrrp", "--log-console", "-f", config, *pids)
        self.daemon = self.lab.start(*command, ns=self.ns, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def is_active(self):
        rows = json.loads(self.ns.ip("-j", "address", "show", "dev", "peer0"))
        return any(one["local"] == self.virtual[-1] for row in rows if row for one in row["addr_info"])

    def await_active(self, active):
        wait_until(lambda: self.is_active() == active, f"the peer to be {'Active' if active else 'Backup'}", 20)

    def kill(self):
        """It dies, and can say nothing."""
        parent = self.daemon.pid
        for child in map(int, call("pgrep", "-P", parent, check=False).split()):
            # Its parent would start another one, and it would end in good order if its parent were gone.
            os.kill(parent, signal.SIGSTOP)
            os.kill(child, signal.SIGKILL)
        os.kill(parent, signal.SIGKILL)
        # Or the kernel replies for what it left.
        for ip in self.virtual:
            self.ns.ip("address", "del", ip, "dev", "peer0")

    def begin(self, addresses, **keys):
        one = router(addresses=addresses[0], name="one", **keys)
        west = {"device": "afpacket:veth0", "ip": addresses[1], "vrrp": {"routers": [one]}}
        profile = self.lab.profile({"west": west}, [], load={"duration": "60s", "drain": "0s"})
        path = profile.parent / "lines.jsonl"
        arguments = ("--control", "--json", "-", "--jsonl", path, "--interval", "100ms")
        process = self.lab.start_eagre("run", profile, *arguments, ns=self.tester, stdin=subprocess.PIPE)
        begun = lambda: path.exists() and path.read_text().count("\n") > 1
        wait_until(lambda: begun() or process.poll() is not None, "traffic", 30)
        assert process.poll() is None, process.communicate()[1]
        return process

    def end(self, process):
        say(process, "stop")
        result = self.lab.finish(process).json
        return result["ports"]["west"]["vrrp"]["virtual_routers"][0], result


@pytest.mark.unsteady(BUSY)
@pytest.mark.parametrize("addresses", [FOUR, SIX], ids=["4", "6"])
def test_either_takes_over_from_the_other(lab, addresses):
    """The tester watches, takes over with a higher priority, leaves, returns, gives way, and replaces the peer when it dies."""
    need("ping")
    peer = Keepalived(lab, addresses)
    six = addresses is SIX
    capture = Capture(lab, peer.ns, "peer0", rule="ip proto 112 or ip6 proto 112 or arp or icmp6")
    process = peer.begin(addresses, priority=50, interval="200ms")
    assert peer.is_active()
    say(process, "priority 200 one")
    peer.await_active(False)
    say(process, "down")
    peer.await_active(True)
    say(process, "up one")
    peer.await_active(False)
    peer.ns.run("ping", "-c", "2", "-i", "0.2", "-W", "2", *(["-6"] if six else []), addresses[0][-1])
    mac = f"00:00:5e:00:0{2 if six else 1}:{VRID:02x}"
    assert mac in peer.ns.ip("neigh", "show", addresses[0][-1])
    say(process, f"priority 50 {addresses[0][0]}")
    peer.await_active(True)
    peer.kill()
    wait_until(lambda: not missing_reply(peer, addresses[0][-1], six), "the tester's reply", 20)
    row, result = peer.end(process)
    reasons = [(change["state"], change["reason"]) for change in row["changes"]]
    assert reasons == [
        ("backup", "startup"),
        ("active", "preempting"),
        ("initialize", "left"),
        ("backup", "startup"),
        ("active", "preempting"),
        ("backup", "preempted"),
        ("active", "timeout"),
    ], row["changes"]
    assert (row["mac"], row["state"], row["became_active"], row["became_backup"]) == (mac, "active", 3, 1), row
    # Three intervals and 206/256 of one.
    assert row["takeover_s"] == pytest.approx(0.2 * (3 + 206 / 256), abs=0.05), row
    # keepalived waits for its skew: 156/256 of the interval, in hundredths of a second.
    assert 0.1 < row["handover_s"] < 0.25, row
    assert (row["tx_priority_zero"], row.get("rx_invalid", {}), row["rx_differing"]) == (1, {}, 0), row
    assert row["tx_replies"] >= 3, row
    assert result["ports"]["west"]["vrrp"]["commands"] == 4, result["ports"]["west"]["vrrp"]
    field = "ipv6" if six else "ip"
    names = ("eth.src", "vrrp.version", "vrrp.virt_rtr_id", "vrrp.addr_count", "vrrp.checksum.status", f"{field}.{'hlim' if six else 'ttl'}")
    ours = set(capture.fields(f"vrrp && eth.src == {mac}", *names))
    assert ours == {(mac, "3", str(VRID), str(len(addresses[0])), "1", "255")}, ours
    priorities = {int(one) for (one,) in capture.fields(f"vrrp && eth.src == {mac}", "vrrp.prio")}
    assert priorities == {0, 50, 200}, priorities
    assert capture.spoilt(f"eth.src == {mac}") == []
    if six:
        told = capture.fields(f"icmpv6.type == 136 && eth.src == {mac} && ipv6.dst == ff02::1", "icmpv6.nd.na.flag.r", "icmpv6.nd.na.flag.o")
        assert told and {tuple(one in ("1", "True") for one in row) for row in told} == {(True, True)}, told
    else:
        assert len(capture.fields(f"arp.isgratuitous && arp.src.hw_mac == {mac}", "arp.src.proto_ipv4")) == 3


def missing_reply(peer, ip, six):
    return subprocess.run(peer.ns.command("ping", *(["-6"] if six else []), "-c", "1", "-W", "1", ip), capture_output=True).returncode


@pytest.mark.unsteady(BUSY)
def test_version_2(lab):
    """That is keepalived's default. The interval is a second at least."""
    peer = Keepalived(lab, FOUR, interval="1", version=2)
    process = peer.begin(FOUR, priority=200, version=2)
    assert not peer.is_active(), "traffic waits for the tester to be Active"
    say(process, "down")
    peer.await_active(True)
    row, _ = peer.end(process)
    assert (row["version"], row["became_active"], row.get("rx_invalid", {})) == (2, 1, {}), row
    assert row["handover_s"] == pytest.approx(156 / 256, abs=0.1), row


@pytest.mark.unsteady(BUSY)
def test_frr_is_replaced_when_it_dies(lab):
    """FRR's virtual router has an interface with the virtual MAC address, which the operator makes."""
    tester, device = lab.netns("tester"), lab.netns("device")
    lab.veth(tester, "veth0", device, "d0")
    device.ip("address", "add", "10.0.0.3/24", "dev", "d0")
    folder = lab.folder()
    device.ip("link", "add", "v0", "link", "d0", "type", "macvlan", "mode", "bridge")
    device.ip("link", "set", "v0", "address", f"00:00:5e:00:01:{VRID:02x}")
    device.ip("address", "add", "10.0.0.1/24", "dev", "v0")
    device.ip("link", "set", "v0", "up")
    device.sysctl({"net.ipv4.conf.d0.arp_ignore": 1})
    config = f"interface d0\n vrrp {VRID} version 3\n vrrp {VRID} priority 150\n vrrp {VRID} advertisement-interval 200\n vrrp {VRID} ip 10.0.0.1\nexit\n"
    daemon = launch_all(lab, device, folder, ["vrrpd"], config)["vrrpd"]
    west = {"device": "afpacket:veth0", "ip": "10.0.0.2/24", "vrrp": {"routers": [router(priority=100, interval="200ms")]}}
    profile = lab.profile({"west": west}, [], load={"duration": "3s", "drain": "0s"})
    shown = lambda: device.run("vtysh", "--vty_socket", folder, "-c", f"show vrrp interface d0 {VRID} json")
    wait_until(lambda: "Master" in shown(), "FRR to be Active", 20)
    process = lab.begun("run", profile, "--json", "-", ns=tester)
    assert "Master" in shown()
    os.kill(daemon.pid, signal.SIGKILL)
    row = lab.finish(process).json["ports"]["west"]["vrrp"]["virtual_routers"][0]
    assert [(change["state"], change["reason"]) for change in row["changes"]] == [("backup", "startup"), ("active", "timeout")], row
    assert row["takeover_s"] == pytest.approx(0.2 * (3 + 156 / 256), abs=0.05), row
    assert (row.get("rx_invalid", {}), row["rx_differing"], row["peer"]) == ({}, 0, "10.0.0.3"), row


def test_a_run_without_other_routers_begins_as_active(lab):
    """Nobody is heard: after the Active_Down interval; in a campaign or by itself, the run is valid."""
    west, _, result = simulated(lab, {"interval": "100ms"}, None, seconds=1)
    assert (west["state"], west["became_active"]) == ("active", 1) and "takeover_s" not in west, west
    assert result["verdict"]["valid"], result["verdict"]


def test_reports_misconfiguration(lab):
    ports = {"west": {"device": "ring:a", "ip": "10.0.0.2/24", "vrrp": {"routers": [router(addresses=["10.0.0.2"])]}}, "east": {"device": "ring:b"}}
    done = lab.eagre("sim", lab.profile(ports, []))
    done.refused(2, "ports.west.vrrp.routers[0].addresses", "10.0.0.2 is an address of host 'west'")
