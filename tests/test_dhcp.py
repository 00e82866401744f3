"""DHCP clients behind a port before real servers: dnsmasq, ISC dhcpd, Kea."""

import json
import re
import signal
import subprocess
import time

import pytest
from hosts import Capture
from lab import LONG, need, wait_until
from server import Server

CLIENTS = 10_000 if LONG else 200
RATE = 1_000 if LONG else 500
# Within which all have an address.
SECONDS = 60
SERVER, NETWORK = "10.0.0.1", "10.0.0.0/16"
FIRST, LAST = "10.0.16.0", "10.0.143.255"


class Network:
    """A tester and a device with a DHCP server, on a veth pair; east of the device a network that it routes to."""

    def __init__(self, lab):
        need("ip")
        self.lab = lab
        # dnsmasq tells the kernel of each client before it answers; without room there, the client gets no answer.
        lab.room_for_neighbours(CLIENTS + 500)
        self.tester, self.device = (
            lab.netns("tester"),
            lab.netns("device", forwarding=True),
        )
        for end, inner, address in (
            ("veth0", "d0", f"{SERVER}/16"),
            ("veth1", "d1", "10.9.0.1/24"),
        ):
            lab.veth(self.tester, end, self.device, inner)
            self.device.ip("address", "add", address, "dev", inner)
        # Not to be pushed out by the clients.
        self.device.ip("neigh", "add", "10.9.0.2", "lladdr", self.tester.mac("veth1"), "dev", "d1", "nud", "permanent")
        self.folder = lab.folder()

    def ports(self, clients=CLIENTS, kind="afpacket", **dhcp):
        west = {
            "device": f"{kind}:veth0",
            "dhcp": {"clients": clients, "rate": f"{RATE}/s", **dhcp},
        }
        return {
            "west": west,
            "east": {
                "device": f"{kind}:veth1",
                "ip": "10.9.0.2/24",
                "gateway": "10.9.0.1",
            },
        }

    def run(self, ports, streams=(), duration="1s", timeout=200, **rest):
        """A finished run."""
        load = {"duration": duration, "drain": "500ms"}
        profile = self.lab.profile(ports, list(streams), load=load, **rest)
        return self.lab.eagre("run", profile, "--json", "-", ns=self.tester, timeout=timeout)


class Dnsmasq:
    """It has no file of leases, which it would write anew, and whole, at each lease: its log tells of them."""

    def __init__(self, network, seconds=3600, *more, first=FIRST, last=LAST, authoritative=True, ping=False):
        need("dnsmasq")
        self.log = network.lab.folder(in_memory=True) / "dnsmasq.log"
        command = ["dnsmasq", "--keep-in-foreground", "--port=0", "--interface=d0", "--bind-interfaces"]
        command += ["--no-ping"] * (not ping)
        command += ["--user=root", "--conf-file=/dev/null", "--pid-file", "--leasefile-ro"]
        command += [f"--log-facility={self.log}", "--dhcp-lease-max=100000"]
        command += [f"--dhcp-range={first},{last},255.255.0.0,{seconds}", *more]
        command += ["--dhcp-authoritative"] * authoritative
        silent = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.process = network.lab.start(*command, ns=network.device, **silent)
        wait_until(lambda: ":67 " in network.device.run("ss", "-lun"), "dnsmasq")

    def leases(self):
        """Whose each address is, as its log tells."""
        leased = {}
        for what, ip, mac in re.findall(r" DHCP(ACK|RELEASE)\(d0\) (\S+) (\S+)", self.log.read_text()):
            if what == "ACK":
                leased[ip] = mac
            elif leased.get(ip) == mac:
                del leased[ip]
        return leased


def dnsmasq_for_many(network):
    """dnsmasq as it is set up for thousands of clients: it gives the next address.

    By default it begins at a hash of the client's hardware address, and takes the first that is free. Those of our
    clients follow each other, and their hashes are close together: it would try thousands of addresses for each client,
    and look through all leases for each address.
    """
    return Dnsmasq(network, 3600, "--dhcp-sequential-ip")


class Isc:
    def __init__(self, network, seconds=3600, last=LAST, ping=False):
        need("dhcpd")
        # It waits for the disk before it acknowledges.
        self.leases_file = network.lab.folder(in_memory=True) / "dhcpd.leases"
        self.leases_file.touch()
        config = network.folder / "dhcpd.conf"
        config.write_text(
            f"authoritative;\nping-check {str(ping).lower()};\ndefault-lease-time {seconds};\nmax-lease-time {seconds};\n"
            "min-lease-time 1;\n"
            f"subnet 10.0.0.0 netmask 255.255.0.0 {{\n  range {FIRST} {last};\n  option routers {SERVER};\n}}\n"
        )
        command = [
            "dhcpd",
            "-4",
            "-f",
            "-q",
            "-user",
            "root",
            "-group",
            "root",
            "-cf",
            config,
            "-lf",
            self.leases_file,
        ]
        command += ["-pf", network.folder / "dhcpd.pid", "d0"]
        self.process = network.lab.start(
            *command,
            ns=network.device,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # It listens with a packet socket, too.
        wait_until(lambda: ":67 " in network.device.run("ss", "-lun"), "dhcpd")
        time.sleep(0.5)

    def leases(self):
        """The newest state of each address: whose it is if it is leased."""
        leased = {}
        for address, body in re.findall(
            r"^lease (\S+) \{(.*?)^\}",
            self.leases_file.read_text(),
            re.MULTILINE | re.DOTALL,
        ):
            mac = re.search(r"hardware ethernet (\S+);", body)
            if "\n  binding state active;" in body and mac:
                leased[address] = mac[1]
            else:
                leased.pop(address, None)
        return leased


class Kea:
    def __init__(self, network, seconds=3600, last=LAST):
        need("kea-dhcp4")
        self.leases_file = network.folder / "kea.csv"
        subnet = {
            "subnet": NETWORK,
            "pools": [{"pool": f"{FIRST} - {last}"}],
            "option-data": [{"name": "routers", "data": SERVER}],
        }
        config = {
            "interfaces-config": {"interfaces": ["d0"], "dhcp-socket-type": "raw"},
            "lease-database": {
                "type": "memfile",
                "persist": True,
                "name": str(self.leases_file),
                "lfc-interval": 0,
            },
            "valid-lifetime": seconds,
            "subnet4": [subnet],
            "multi-threading": {"enable-multi-threading": False},
            "loggers": [
                {
                    "name": "kea-dhcp4",
                    "severity": "WARN",
                    "output_options": [{"output": str(network.folder / "kea.log")}],
                }
            ],
        }
        path = network.folder / "kea.json"
        path.write_text(json.dumps({"Dhcp4": config}))
        environment = {
            "KEA_PIDFILE_DIR": str(network.folder),
            "KEA_LOCKFILE_DIR": str(network.folder),
        }
        command = ["kea-dhcp4", "-c", path]
        self.process = network.lab.start(
            *command,
            ns=network.device,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(lambda: self.leases_file.exists(), "kea")
        time.sleep(0.5)

    def leases(self):
        leased = {}
        for line in self.leases_file.read_text().splitlines()[1:]:
            row = line.split(",")
            # The columns: address, hardware address, …, valid lifetime, …, state.
            if row[3] != "0" and row[9] == "0":
                leased[row[0]] = row[1]
            else:
                leased.pop(row[0], None)
        return leased


SERVERS = {"dnsmasq": dnsmasq_for_many, "isc": Isc, "kea": Kea}
# Clients that wait for an address at a time, so that none asks in vain. A server's socket holds some 200 messages;
# dnsmasq remembers no offers, so it offers clients that ask at a time the same address, and refuses all but one.
AT_A_TIME = {"dnsmasq": 1, "isc": 100, "kea": 100}


def test_what_a_neighbour_has_is_declined(lab):
    """The device itself has addresses out of the server's pool: its kernel says so when clients ask their neighbours."""
    network = Network(lab)
    for number in range(3):
        network.device.ip("address", "add", f"10.0.16.{number}/32", "dev", "d0")
    Kea(network, last="10.0.16.9")
    # Without the question nobody finds out.
    dhcp = network.run(network.ports(7, check=False)).result()["ports"]["west"]["dhcp"]
    assert (dhcp["bound"], dhcp["declines"], dhcp["duplicates"]) == (7, 0, 0), dhcp
    done = network.run(network.ports(7))
    dhcp = done.json["ports"]["west"]["dhcp"]
    assert dhcp["bound"] == 7 and dhcp["duplicates"] == dhcp["declines"] > 0 and dhcp["refused"] == 0, dhcp
    reason = f"port west: the DHCP server leased {dhcp['duplicates']} addresses that neighbours have; they were declined"
    assert done.exit == 1 and reason in done.json["verdict"]["reasons"], done.json["verdict"]


def all_bound(dhcp, clients=CLIENTS):
    assert dhcp["bound"] == dhcp["clients"] == clients and dhcp["failed"] == 0, dhcp
    assert dhcp["conflicts"] == 0 and dhcp["lost"] == 0, dhcp
    assert dhcp["bind_ns"]["samples"] == clients and dhcp["acks"] >= clients, dhcp


@pytest.mark.parametrize("kind", SERVERS)
def test_all_clients_are_bound_and_send_from_their_addresses(lab, kind):
    """As many leases in the server's own file as clients, no address twice; a stream goes through the device from each."""
    network = Network(lab)
    server = SERVERS[kind](network)
    packet = [{"ipv4": {"dst": "10.9.0.2"}}, {"udp": {"dst": 9}}]
    count = 2 * CLIENTS
    stream = {
        "name": "up",
        "from": "west",
        "from_host": "dhcp",
        "to": "east",
        "packet": packet,
        "rate": f"{count // 4}pps",
        "count": count,
    }
    ports = network.ports(timeout="170s", host_name="host-{n}", outstanding=AT_A_TIME[kind])
    profile = lab.profile(ports, [stream], load={"duration": "30s", "drain": "500ms"})
    process = lab.start_eagre(
        "run",
        profile,
        "--json",
        "-",
        "--jsonl",
        network.folder / "lines",
        "--interval",
        "100ms",
        ns=network.tester,
    )
    lines = network.folder / "lines"
    wait_until(
        lambda: process.poll() is not None or (lines.exists() and lines.read_text()),
        "traffic",
        180,
        every=0.1,
    )
    leases = server.leases()
    neighbours = network.device.ip("neigh", "show", "dev", "d0")
    done = lab.finish(process, 120)
    result = done.result()
    dhcp = result["ports"]["west"]["dhcp"]
    print(kind, json.dumps(dhcp))
    all_bound(dhcp)
    assert CLIENTS / dhcp["bound_per_s"] <= SECONDS, dhcp
    assert dhcp["releases"] == CLIENTS
    assert len(leases) == CLIENTS and len(set(leases.values())) == CLIENTS, f"{len(leases)} leases"
    row = result["streams"]["up"]
    assert row["tx"] == count and row["rx"] == count, row
    # The device knows each by its own hardware address: clients ask for their gateway.
    known = dict(re.findall(r"^(\S+) lladdr (\S+)", neighbours, re.MULTILINE))
    shared = known.keys() & leases.keys()
    assert shared and all(known[ip] == leases[ip] for ip in shared), "another hardware address"
    # Nobody acknowledges a release: those that dhcpd has no room for are lost.
    most = CLIENTS // 10 if kind == "isc" else 0
    wait_until(lambda: len(server.leases()) <= most, "the releases", 30, every=0.2)


def our_rate(lab, kind):
    """Leases per second that our clients get from a new server, as fast as it answers."""
    network = Network(lab)
    SERVERS[kind](network)
    ports = network.ports(rate="10000/s", outstanding=AT_A_TIME[kind], timeout=f"{2 * SECONDS}s")
    dhcp = network.run(ports).result()["ports"]["west"]["dhcp"]
    print(f"{kind}: ours: {dhcp['bound']} leases, {dhcp['bound_per_s']:.0f}/s", json.dumps(dhcp))
    all_bound(dhcp)
    return dhcp["bound_per_s"]


def perfdhcp_rate(lab, kind, rate):
    """Leases per second that as many clients of perfdhcp get from a new server, if so many begin in a second."""
    network = Network(lab)
    SERVERS[kind](network)
    network.tester.ip("address", "add", "10.0.0.2/16", "dev", "veth0")
    # Each has a hardware address of its own, but for a few: they are drawn.
    command = ["perfdhcp", "-4", "-l", "veth0", "-b", "mac=02:aa:00:00:00:00", "-R", 1_000_000]
    # It waits for answers to what it sent last; its rate is of that time, too.
    wait_s = 0.2
    command += ["-r", round(rate), "-n", CLIENTS, "-W", round(wait_s * 1e6)]
    said = network.tester.run(*command, check=False, timeout=CLIENTS / rate + 30)
    acks = re.search(r"REQUEST-ACK\*\*\*\nsent packets: \d+\nreceived packets: (\d+)", said)
    found = re.search(r"Rate: ([\d.]+) 4-way exchanges/second", said)
    assert found and acks and float(found[1]) > 0, said
    leases = int(acks[1])
    found = leases / (leases / float(found[1]) - wait_s)
    print(f"{kind}: perfdhcp: {leases} leases, {found:.0f}/s; {rate:.0f} asked for one in a second")
    return found


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.parametrize("kind", SERVERS)
def test_the_set_up_rate_is_that_of_perfdhcp(lab, kind):
    """Our clients get at least 90% of the leases per second that perfdhcp gets when it asks for more than ours got.

    perfdhcp does not wait for answers: beyond what a server can do it gets less, not more. So two rates are tried, the
    lower just above what would show that ours are too slow. Servers grow slower with each lease, so all have a new one.
    Other processes slow servers down: the best of up to three rounds counts, of either.
    """
    need("perfdhcp")
    ours = theirs = 0
    for _ in range(3):
        ours = max(ours, our_rate(lab, kind))
        theirs = max(theirs, *(perfdhcp_rate(lab, kind, share * ours) for share in (1.15, 1.4)))
        if ours >= 0.9 * theirs:
            break
    assert ours >= 0.9 * theirs, (kind, ours, theirs)


@pytest.mark.unsteady("on a busy machine dnsmasq starts late")
def test_sessions_come_from_leased_addresses(lab):
    """Each client has its own address and hardware address, and the server here sees as many."""
    network = Network(lab)
    Dnsmasq(network)
    session = {
        "name": "web",
        "client": {"port": "west", "addresses": "dhcp"},
        "server": {"port": "east", "ports": 80},
    }
    session |= {"app": {"http": {"response": "1KB"}}, "open": "200/s", "count": 100}
    done = network.run(network.ports(50), streams=[], sessions=[session], duration="10s")
    result = done.result()
    all_bound(result["ports"]["west"]["dhcp"], 50)
    assert result["sessions"]["web"]["completed"] == 100, result["sessions"]


def test_clients_ping_from_their_leases(lab):
    """By a server's run: each from the address it has got, to its own network and through its router; then without a lease."""
    network = Network(lab)
    Dnsmasq(network, 3600, "--dhcp-option=3,10.0.0.1")
    server = Server(lab, ns=network.tester)
    ports = network.ports(5, outstanding=1, check=False)
    packet = ["ipv4", {"udp": {"dst": 9}}]
    one = {"name": "up", "from": "west", "from_host": "dhcp", "to": "east", "packet": packet, "rate": "50pps"}
    run = server.start(profile={"ports": ports, "streams": [one], "load": {"duration": "60s"}})
    server.sends(run, 20)

    def ping(to, **rest):
        answer = server.ask("POST", f"/api/v1/runs/{run['id']}/pings", {"port": "west", "to": to, **rest}, timeout=60)
        assert answer.status == 200, answer
        return answer.json()

    found = [ping("10.0.0.1", host=f"dhcp[{n}]") for n in range(5)]
    assert all(one["answered"] and one["sent"] == 1 and one["via"] == "10.0.0.1" for one in found), found
    assert len({one["from"] for one in found}) == 5, found
    far = ping("10.9.0.1", host="dhcp[2]")
    assert far["answered"] and far["via"] == "10.0.0.1" and far["from"] == found[2]["from"], far
    assert ping("10.0.0.1", **{"from": found[4]["from"]})["from"] == found[4]["from"]
    assert server.ask("POST", f"/api/v1/runs/{run['id']}/protocols", {"action": "release"}).status == 200
    released = lambda: not (gone := ping("10.0.0.1", host="dhcp[2]"))["answered"] and gone
    gone = wait_until(released, "the release")
    assert "client 'dhcp[2]' of port 'west' has no IPv4 address" in gone["reason"], gone
    assert server.ask("POST", f"/api/v1/runs/{run['id']}/stop").status == 200


def test_leases_of_seconds_are_renewed(lab):
    """ISC dhcpd gives leases as short as it is told to: each is renewed several times within seconds."""
    network = Network(lab)
    server = Isc(network, 6)
    result = network.run(network.ports(20, rate="100/s"), duration="11s").result()
    dhcp = result["ports"]["west"]["dhcp"]
    all_bound(dhcp, 20)
    assert dhcp["renewed"] >= 40, dhcp
    assert server.process.poll() is None


def test_messages_are_well_formed(lab):
    """An analyser finds nothing wrong with what clients send, from DHCPDISCOVER to DHCPRELEASE, with all options they have."""
    network = Network(lab)
    Isc(network, 6)
    capture = Capture(lab, network.device, "d0", snap=2_000, rule="udp port 67")
    options = {"host_name": "n{n}", "vendor_class": "eagre", "client_id": "id-{n}", "circuit_id": "ge-0/0/{n}", "remote_id": "r{n}", "parameters": [6, 42]}
    dhcp = network.run(network.ports(5, rate="100/s", **options), duration="4s").result()["ports"]["west"]["dhcp"]
    all_bound(dhcp, 5)
    assert capture.spoilt("dhcp.type == 1") == []
    said = capture.fields("dhcp.type == 1", "dhcp.option.dhcp", "dhcp.ip.client")
    kinds = {kind: [address for other, address in said if other == kind] for kind, _ in said}
    assert set(kinds) == {"1", "3", "7"} and len(kinds["1"]) == len(kinds["7"]) == 5, said
    # RFC 2131 table 5: without an address until there is one.
    assert set(kinds["1"]) == {"0.0.0.0"} and "0.0.0.0" not in kinds["7"], said
    assert kinds["3"].count("0.0.0.0") == 5 and len(kinds["3"]) >= 10, said


def test_a_server_that_lost_its_leases_refuses_them(lab):
    """Clients that are refused begin anew, and the result tells of it."""
    network = Network(lab)
    # There is time to end one server and start another before leases are renewed; who misses that tries again a minute later.
    renew = "--dhcp-option=option:T1,8"
    server = Dnsmasq(network, 120, renew, authoritative=False)
    profile = lab.profile(network.ports(10, rate="100/s"), [], load={"duration": "16s", "drain": "100ms"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=network.tester)
    wait_until(lambda: len(server.leases()) == 10, "the leases", 30)
    server.process.kill()
    server.process.wait(10)
    Dnsmasq(network, 120, renew, first="10.0.140.0", authoritative=False)
    result = lab.finish(process).json
    dhcp = result["ports"]["west"]["dhcp"]
    assert dhcp["naks"] == dhcp["lost"] == 10 and dhcp["bound"] == 10, dhcp
    assert dhcp["bind_ns"]["samples"] == 10, "later leases are not of the set-up"
    assert any("10 DHCP leases ended" in note for note in result["verdict"]["notes"]), result["verdict"]


def test_too_few_addresses_make_the_result_invalid(lab):
    network = Network(lab)
    Dnsmasq(network, 3600, last="10.0.16.9")
    done = network.run(network.ports(25, timeout="3s"))
    assert done.exit == 1, done
    dhcp = done.json["ports"]["west"]["dhcp"]
    assert (dhcp["bound"], dhcp["failed"]) == (10, 15), dhcp
    reason = "port west: 10 of 25 DHCP clients got an address within 3s; traffic uses only these"
    assert reason in done.json["verdict"]["reasons"], done.json["verdict"]


def test_without_a_server_the_run_ends_with_a_sentence(lab):
    network = Network(lab)
    done = network.run(network.ports(10, timeout="2s", retry="500ms"))
    done.refused(
        3,
        "port west: dhcp: no DHCP server replied to",
        "DISCOVER messages of 10 clients within 2s",
    )


def test_a_run_that_is_stopped_while_it_waits_ends(lab):
    network = Network(lab)
    profile = lab.profile(network.ports(10, timeout="60s"), [], load={"duration": "1s"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=network.tester)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    lab.finish(process, 20)
    assert time.monotonic() - begin < 15


@pytest.mark.parametrize("kind", ["afxdp"])
def test_on_other_ports(lab, kind):
    network = Network(lab)
    Dnsmasq(network)
    result = network.run(network.ports(50, kind=kind)).result()
    all_bound(result["ports"]["west"]["dhcp"], 50)
