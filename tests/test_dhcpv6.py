"""DHCPv6 clients behind a port before real servers: dnsmasq and Kea."""

import ipaddress
import json
import signal
import subprocess
import time

import pytest
from hosts import Capture
from lab import need, wait_until

# A kernel has room for 1,024 neighbours, in all namespaces together; a client is two: its address and its link-local one.
CLIENTS = 100
SERVER, FIRST, LAST = "2001:db8::1", "2001:db8::1:0", "2001:db8::1:ffff"


class Network:
    """A tester and a device with a DHCPv6 server, on a veth pair; east of the device a network that it routes to."""

    def __init__(self, lab):
        need("ip")
        self.lab, self.folder = lab, lab.folder()
        self.tester, self.device = lab.netns("tester"), lab.netns("device", forwarding=True)
        self.device.run("sysctl", "-qw", "net.ipv6.conf.all.forwarding=1")
        for end, inner, address in (("veth0", "d0", f"{SERVER}/64"), ("veth1", "d1", "2001:db8:9::1/64")):
            lab.veth(self.tester, end, self.device, inner)
            self.device.ip("address", "add", address, "dev", inner, "nodad")
        mac = self.tester.mac("veth1")
        self.device.ip("neigh", "add", "2001:db8:9::2", "lladdr", mac, "dev", "d1", "nud", "permanent")
        wait_until(lambda: "tentative" not in self.device.ip("-6", "address", "show", "dev", "d0"), "the address")

    def ports(self, clients=CLIENTS, **rest):
        west = {"device": "afpacket:veth0", "dhcpv6": {"clients": clients, "rate": "200/s", **rest}}
        east = {"device": "afpacket:veth1", "ip": "2001:db8:9::2/64", "gateway": "2001:db8:9::1"}
        return {"west": west, "east": east}

    def run(self, ports, streams=(), duration="1s", timeout=200, **rest):
        profile = self.lab.profile(ports, list(streams), load={"duration": duration, "drain": "500ms"}, **rest)
        return self.lab.eagre("run", profile, "--json", "-", ns=self.tester, timeout=timeout)

    def wait_for(self, port=":547 "):
        wait_until(lambda: port in self.device.run("ss", "-lun"), "the server")


class Dnsmasq:
    def __init__(self, network, seconds=3600):
        need("dnsmasq")
        self.leases_file = network.lab.folder(in_memory=True) / "dnsmasq.leases"
        command = ["dnsmasq", "--keep-in-foreground", "--port=0", "--interface=d0", "--bind-interfaces"]
        command += ["--user=root", "--conf-file=/dev/null", "--pid-file", f"--dhcp-leasefile={self.leases_file}"]
        command += ["--dhcp-lease-max=100000", f"--dhcp-range={FIRST},{LAST},64,{seconds}", "--enable-ra"]
        command += ["--dhcp-authoritative"]
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = network.lab.start(*command, ns=network.device, **silent)
        network.wait_for()

    def leases(self):
        """Whose each address is, by DUID."""
        rows = [line.split() for line in self.leases_file.read_text().splitlines()]
        return {row[2]: row[4] for row in rows if len(row) == 5 and ":" in row[2]}


class Kea:
    def __init__(self, network, seconds=3600, **subnet):
        need("kea-dhcp6")
        self.leases_file = network.folder / "kea.csv"
        subnet = {"subnet": "2001:db8::/64", "interface": "d0", "pools": [{"pool": f"{FIRST} - {LAST}"}], **subnet}
        pools = [{"prefix": "2001:db8:7000::", "prefix-len": 36, "delegated-len": 56}]
        config = {
            "interfaces-config": {"interfaces": ["d0"]},
            "lease-database": {"type": "memfile", "persist": True, "name": str(self.leases_file), "lfc-interval": 0},
            "valid-lifetime": seconds,
            "preferred-lifetime": seconds * 3 // 4,
            "subnet6": [{**subnet, "pd-pools": pools}],
            "server-id": {"type": "LLT", "persist": False},
            "multi-threading": {"enable-multi-threading": False},
            "option-data": [{"name": "preference", "data": "255", "always-send": True}],
            "loggers": [
                {
                    "name": "kea-dhcp6",
                    "severity": "WARN",
                    "output_options": [{"output": str(network.folder / "kea.log")}],
                }
            ],
        }
        path = network.folder / "kea.json"
        path.write_text(json.dumps({"Dhcp6": config}))
        folder = {"KEA_PIDFILE_DIR": str(network.folder), "KEA_LOCKFILE_DIR": str(network.folder)}
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = network.lab.start("kea-dhcp6", "-c", path, ns=network.device, env=folder, **silent)
        network.wait_for()
        wait_until(lambda: self.leases_file.exists(), "kea")

    def leases(self):
        """Whose each address and prefix is, by DUID."""
        leased = {}
        for line in self.leases_file.read_text().splitlines()[1:]:
            row = line.split(",")
            # The columns: address, DUID, valid lifetime, …, lease type, IAID, prefix length, …, state.
            if row[2] != "0" and row[13] == "0":
                leased[row[0]] = row[1]
            else:
                leased.pop(row[0], None)
        return leased


def all_bound(dhcp, clients=CLIENTS):
    assert dhcp["bound"] == dhcp["clients"] == clients and dhcp["failed"] == 0, dhcp
    assert dhcp["conflicts"] == dhcp["lost"] == dhcp["refused"] == 0, dhcp
    assert dhcp["bind_ns"]["samples"] == clients and dhcp["replies"] >= clients, dhcp


def up(count):
    packet = [{"ipv6": {"dst": "2001:db8:9::2"}}, {"udp": {"dst": 9}}]
    stream = {"name": "up", "from": "west", "from_host": "dhcp", "to": "east", "packet": packet}
    return {**stream, "rate": f"{count // 2}pps", "count": count}


@pytest.mark.parametrize("kind", [Dnsmasq, Kea])
def test_all_clients_are_bound_and_send_from_their_addresses(lab, kind):
    """As many leases in the server's own file as clients; a stream goes through the device from each: by the router that
    advertises itself (dnsmasq), or by the port's gateway (Kea)."""
    network = Network(lab)
    server = kind(network)
    ports = network.ports()
    if kind is Kea:
        ports["west"] |= {"ip": "2001:db8::2/64", "gateway": SERVER}
    profile = lab.profile(ports, [up(2 * CLIENTS)], load={"duration": "4s", "drain": "500ms"})
    lines = network.folder / "lines"
    process = lab.start_eagre(
        *("run", profile, "--json", "-", "--jsonl", lines, "--interval", "100ms"), ns=network.tester
    )
    started = lambda: process.poll() is not None or (lines.exists() and lines.read_text())  # noqa: E731
    wait_until(started, "traffic", 180, every=0.1)
    leases = server.leases()
    result = lab.finish(process, 120).result()
    dhcp = result["ports"]["west"]["dhcpv6"]
    print(json.dumps(dhcp))
    all_bound(dhcp)
    assert dhcp["releases"] >= CLIENTS and ("router" in dhcp) == (kind is Dnsmasq), dhcp
    assert len(leases) == CLIENTS and len(set(leases.values())) == CLIENTS, f"{len(leases)} leases"
    row = result["streams"]["up"]
    assert row["tx"] == row["rx"] == 2 * CLIENTS, row
    wait_until(lambda: not server.leases(), "the releases", 30, every=0.2)


@pytest.mark.long
def test_five_thousand_clients(lab):
    """Kea leases an address to each, no address twice, and nothing is repeated; `tools/blackbox` makes room for their neighbours."""
    network = Network(lab)
    kea = Kea(network)
    result = network.run(network.ports(5_000)).result()
    dhcp = result["ports"]["west"]["dhcpv6"]
    all_bound(dhcp, 5_000)
    history = kea.leases_file.read_text().splitlines()[1:]
    assert len({line.split(",")[0] for line in history}) == 5_000 and not kea.leases(), len(history)


def test_prefixes_are_delegated(lab):
    """An address and a prefix of the wanted length for each client; with rapid commit in two messages."""
    network = Network(lab)
    server = Kea(network, **{"rapid-commit": True})
    profile = lab.profile(network.ports(20, prefix=56, rapid_commit=True), [], load={"duration": "2s", "drain": "100ms"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=network.tester)
    wait_until(lambda: len(server.leases()) == 40 or process.poll() is not None, "all leases", 20, every=0.1)
    leases = server.leases()
    dhcp = lab.finish(process, 60).result()["ports"]["west"]["dhcpv6"]
    all_bound(dhcp, 20)
    assert (dhcp["requests"], dhcp["advertises"]) == (0, 0), dhcp
    prefixes = [ip for ip in leases if ipaddress.ip_address(ip) >= ipaddress.ip_address("2001:db8:7000::")]
    assert len(prefixes) == 20 and len(set(leases.values())) == 20, leases


def test_leases_of_seconds_are_renewed(lab):
    network = Network(lab)
    server = Kea(network, 12, **{"renew-timer": 2, "rebind-timer": 6})
    dhcp = network.run(network.ports(20), duration="5s").result()["ports"]["west"]["dhcpv6"]
    all_bound(dhcp, 20)
    assert dhcp["renewed"] >= 20 and dhcp["rebound"] == 0, dhcp
    assert server.process.poll() is None


def test_messages_are_well_formed(lab):
    """An analyser finds nothing wrong with what clients send, from SOLICIT to RELEASE."""
    network = Network(lab)
    Kea(network, 12, **{"renew-timer": 2, "rebind-timer": 6})
    capture = Capture(lab, network.device, "d0", snap=2_000, rule="udp port 547")
    dhcp = network.run(network.ports(5, prefix=56), duration="4s").result()["ports"]["west"]["dhcpv6"]
    all_bound(dhcp, 5)
    sent = "udp.dstport == 547"
    assert capture.spoilt(sent) == []
    kinds = [kind for (kind,) in capture.fields(sent, "dhcpv6.msgtype")]
    assert set(kinds) == {"1", "3", "5", "8"} and kinds.count("1") == kinds.count("3") == 5, kinds
    # To all servers, from link-local addresses.
    ends = set(capture.fields(sent, "ipv6.src", "ipv6.dst"))
    assert len(ends) == 5 and all(own.startswith("fe80::") and to == "ff02::1:2" for own, to in ends), ends


def test_what_a_neighbour_has_is_declined(lab):
    """The device itself has addresses out of Kea's pool: its kernel says so when clients ask their neighbours."""
    network = Network(lab)
    for number in range(3):
        network.device.ip("address", "add", f"2001:db8::1:{number:x}/64", "dev", "d0", "nodad")
    Kea(network)
    done = network.run(network.ports(10), duration="1s")
    dhcp = done.json["ports"]["west"]["dhcpv6"]
    assert dhcp["bound"] == 10 and dhcp["duplicates"] == dhcp["declines"] == 3, dhcp
    reason = "port west: the DHCPv6 server leased 3 addresses that neighbours have; they were declined"
    assert done.exit == 1 and reason in done.json["verdict"]["reasons"], done.json["verdict"]


def test_sessions_come_from_leased_addresses(lab):
    """Each client has its own address and hardware address, and the server here sees as many."""
    network = Network(lab)
    Dnsmasq(network)
    session = {
        "name": "web",
        "client": {"port": "west", "addresses": "dhcp"},
        "server": {"port": "east", "addresses": "2001:db8:9::2", "ports": 80},
        "app": {"http": {"response": "1KB"}},
        "open": "200/s",
        "count": 100,
    }
    done = network.run(network.ports(50), sessions=[session], duration="10s")
    result = done.result()
    all_bound(result["ports"]["west"]["dhcpv6"], 50)
    assert result["sessions"]["web"]["completed"] == 100, result["sessions"]


def test_leases_are_renewed_and_released_by_command(lab):
    network = Network(lab)
    server = Kea(network)
    profile = lab.profile(network.ports(20), [], load={"duration": "10s", "drain": "100ms"})
    lines = network.folder / "lines"
    arguments = ("--control", "--json", "-", "--jsonl", lines, "--interval", "100ms")
    process = lab.start_eagre("run", profile, *arguments, ns=network.tester, stdin=subprocess.PIPE)
    wait_until(lambda: process.poll() is not None or (lines.exists() and lines.read_text()), "traffic", 20, every=0.1)
    for word, leases in (("renew", 20), ("release", 0), ("renew port=west", 20)):
        process.stdin.write(word + "\n")
        process.stdin.flush()
        time.sleep(0.5)
        wait_until(lambda: len(server.leases()) == leases, word, 5, every=0.1)  # noqa: B023
    # Kea has given the last leases, and clients still check whether a neighbor has one of the addresses.
    process.send_signal(signal.SIGINT)
    process.stdin.close()
    process.stdin = None
    dhcp = lab.finish(process).told["ports"]["west"]["dhcpv6"]
    assert server.leases() == {} and dhcp["commands"] == 3 and dhcp["renewed"] == 20 and dhcp["releases"] == 40, dhcp
    assert dhcp["holding"] == 20 and dhcp["lost"] == 0 and dhcp["solicits"] == 40, dhcp


def test_without_a_server_the_run_says_so(lab):
    network = Network(lab)
    done = network.run(network.ports(3, timeout="2s"))
    done.refused(3, "port west: dhcpv6: no DHCPv6 server replied to", "of 3 clients within 2s")


def test_clients_that_ask_for_nothing_are_refused(lab):
    ports = {"a": {"device": "ring:a", "dhcpv6": {"clients": 2, "address": False}}}
    done = lab.eagre("check", lab.profile(ports, []))
    done.refused(2, "ports.a.dhcpv6: requests nothing")


class Advertiser:
    """A router that advertises a prefix and no server: dnsmasq without leases."""

    def __init__(self, network, *more):
        need("dnsmasq")
        command = ["dnsmasq", "--keep-in-foreground", "--port=0", "--interface=d0", "--bind-interfaces", "--user=root"]
        command += ["--conf-file=/dev/null", "--pid-file", "--enable-ra", "--ra-param=d0,5,60", *more]
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = network.lab.start(*command, ns=network.device, **silent)


def eui64(mac):
    """The interface identifier of a MAC address."""
    octets = bytes.fromhex(mac.replace(":", ""))
    return bytes([octets[0] ^ 2]) + octets[1:3] + b"\xff\xfe" + octets[3:]


def test_addresses_come_from_the_prefix_that_a_router_advertises(lab):
    """Each client makes one from its MAC address and checks it; a stream from all of them goes through the router, and the kernel's
    neighbours are these. One address is a neighbour's: its client has none, and the run says so."""
    network = Network(lab)
    first = "02:00:00:00:10:00"
    Advertiser(network, "--dhcp-range=2001:db8::,ra-only,64,3600")
    ports = network.ports(address="slaac", mac=first)
    streams = [up(2 * CLIENTS)]
    result = network.run(ports, streams, duration="4s").result()
    dhcp = result["ports"]["west"]["dhcpv6"]
    assert dhcp["bound"] == dhcp["holding"] == CLIENTS and dhcp["failed"] == 0, dhcp
    assert (dhcp["solicits"], dhcp["requests"], dhcp["releases"], dhcp["duplicates"]) == (0, 0, 0, 0), dhcp
    assert dhcp["bind_ns"]["min"] >= 990_000_000, dhcp["bind_ns"]
    assert ipaddress.ip_address(dhcp["router"]).is_link_local
    row = result["streams"]["up"]
    assert row["tx"] == row["rx"] == 2 * CLIENTS, row
    own = {str(ipaddress.ip_address(bytes.fromhex("20010db800000000") + eui64(f"02:00:00:00:10:{n:02x}"))) for n in range(CLIENTS)}
    known = {row["dst"] for row in json.loads(network.device.ip("-j", "-6", "neigh", "show", "dev", "d0"))}
    assert known - {address for address in known if address.startswith("fe80")} <= own, known - own
    network.device.ip("address", "add", f"{min(own)}/64", "dev", "d0", "nodad")
    done = network.run(network.ports(address="slaac", mac=first, timeout="30s"), streams, duration="4s", timeout=25)
    assert done.exit == 1, str(done)
    dhcp = done.json["ports"]["west"]["dhcpv6"]
    assert (dhcp["bound"], dhcp["failed"], dhcp["duplicates"]) == (CLIENTS - 1, 1, 1), dhcp
    assert "neighbours have the addresses that 1 of 100 clients made" in done.err, done.err


def test_without_a_prefix_for_addresses_the_run_says_so(lab):
    """A router that says that hosts are to ask a server, and gives no prefix for addresses of their own."""
    network = Network(lab)
    Advertiser(network, f"--dhcp-range={FIRST},{LAST},64,3600")
    done = network.run(network.ports(3, timeout="8s", address="slaac"))
    done.refused(3, "port west: dhcpv6: no router advertised a prefix for addresses of 3 clients within 8s")


@pytest.mark.parametrize("more", [{"prefix": 56}, {"rapid_commit": True}, {"options": [23]}])
def test_slaac_asks_no_server(lab, more):
    ports = {"a": {"device": "ring:a", "dhcpv6": {"clients": 2, "address": "slaac", **more}}}
    lab.eagre("check", lab.profile(ports, [])).refused(2, f"dhcpv6.{next(iter(more))}: can't be used with 'address: slaac'")
