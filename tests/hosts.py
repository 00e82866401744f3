"""Peers for the tester's sessions: the Linux kernel's TCP at the other end of a link or behind a router."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest
from lab import (
    INTERRUPTED,
    EAST4,
    EAST6,
    EAST_ROUTER4,
    EAST_ROUTER6,
    REPO,
    WEST4,
    WEST6,
    WEST_ROUTER4,
    WEST_ROUTER6,
    call,
    making,
    need,
    wait_until,
)

TESTS = Path(__file__).resolve().parent
PYTHON = "/usr/bin/python3"
# AF_PACKET ports take no packet longer than the MTU.
SEGMENTATION = ["tso", "off", "gso", "off", "gro", "off"]

PING = """
import socket, sys
target = sys.argv[1]
v6 = ":" in target
ping = socket.socket(socket.AF_INET6 if v6 else socket.AF_INET, socket.SOCK_DGRAM, 58 if v6 else 1)
ping.settimeout(0.2)
for _ in range(5):
    try:
        ping.sendto(bytes([128 if v6 else 8, 0, 0, 0, 0, 0, 0, 1]), (target, 0))
        ping.recv(2048)
        sys.exit(0)
    except OSError:
        pass
sys.exit(1)
"""


def installed(name, *packages):
    """Folder of this name below target/ with packages, which pip installs: it is there once it has all of them."""
    folder = Path(os.environ.get("CARGO_TARGET_DIR", REPO / "target")).resolve() / "reference" / name
    folder.parent.mkdir(parents=True, exist_ok=True)
    with making(folder):
        if not folder.exists():
            part = folder.with_name(f"{name}.part")
            shutil.rmtree(part, ignore_errors=True)
            pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--target", str(part)]
            done = subprocess.run([*pip, *packages], check=False, capture_output=True, text=True, timeout=300)
            if done.returncode != 0:
                pytest.fail(f"{name} can't be installed with pip: {done.stderr.strip()}", pytrace=False)
            part.rename(folder)
    return folder


def end_to_end(namespace, interface, *addresses, offloads=False):
    """Makes an interface one of a host: with addresses. Checksums are left to a card, segmentation only with `offloads`."""
    if not offloads:
        call(*namespace.command("ethtool", "-K", interface, *SEGMENTATION))
    for address in addresses:
        namespace.ip("address", "add", address, "dev", interface)


class Host:
    """The kernel at the other end of the tester's link `veth0`."""

    v4, v6 = WEST_ROUTER4, WEST_ROUTER6

    def __init__(self, lab, mtu=1500, offloads=False):
        """With `offloads` kernels leave all to cards that they do by default; without, all but cutting into segments."""
        need("ip", "ethtool")
        self.offloads = offloads
        self.lab, self.tester, self.host = lab, lab.netns("tester"), lab.netns("host")
        self.host.sysctl({f"net.ipv6.conf.{which}.disable_ipv6": 0 for which in ("all", "default", "lo")})
        # A kernel says only so much of what can't be reached.
        limits = {"net.ipv4.icmp_ratelimit": 0, "net.ipv4.icmp_ratemask": 0, "net.ipv6.icmp.ratelimit": 0}
        self.host.sysctl({"net.ipv4.ping_group_range": "0 0", **limits})
        self.entries = 0
        self.join(mtu)

    def join(self, mtu):
        self.lab.veth(self.tester, "veth0", self.host, "h0", mtu=mtu)
        end_to_end(self.host, "h0", f"{self.v4}/24", f"{self.v6}/64", offloads=self.offloads)

    def address(self, v6=False):
        """The host's."""
        return self.v6 if v6 else self.v4

    @staticmethod
    def tester_address(v6=False):
        return WEST6 if v6 else WEST4

    def ports(self, kind="afpacket", **more):
        """The ports of a profile: one, on the tester's end."""
        gateways = [WEST_ROUTER4, WEST_ROUTER6]
        return {"west": {"device": f"{kind}:veth0", "ip": [f"{WEST4}/24", f"{WEST6}/64"], "gateway": gateways, **more}}

    def client(self, app, v6=False, server_port=None, name="s", client=None, server=None, **rest):
        """Sessions from the tester to the host; each entry with a name of its own has a client of its own."""
        at = {"ports": server_port} if server_port else {}
        self.entries += 1
        other = f"2001:2::{100 + self.entries}" if v6 else f"10.0.0.{100 + self.entries}"
        address = self.tester_address(v6) if name == "s" else other
        return {
            "name": name,
            "client": {"port": "west", "addresses": address, **(client or {})},
            "server": {"addresses": self.address(v6), **at, **(server or {})},
            "app": app,
            **rest,
        }

    def server(self, app, v6=False, name="s", server=None, **rest):
        """Servers on the tester for the host's clients."""
        at = {"port": "west", "addresses": self.tester_address(v6), **(server or {})}
        return {"name": name, "server": at, "app": app, **rest}

    def run(self, *sessions, kind="afpacket", duration="20s", arguments=(), timeout=60, ports=None, **rest):
        """A run of the program with such sessions."""
        profile = self.profile(*sessions, kind=kind, duration=duration, ports=ports, **rest)
        return self.lab.eagre("run", profile, "--json", "-", *arguments, ns=self.tester, timeout=timeout)

    def start(self, *sessions, kind="afpacket", duration="60s", ports=None, **rest):
        """A run that goes on while something else is done."""
        profile = self.profile(*sessions, kind=kind, duration=duration, ports=ports, **rest)
        return self.lab.start_eagre("run", profile, "--json", "-", ns=self.tester)

    def profile(self, *sessions, kind, duration, ports, **rest):
        load = {"duration": duration, "drain": "300ms"}
        return self.lab.profile(ports or self.ports(kind), None, sessions=list(sessions), load=load, **rest)

    def serving(self, *sessions, **options):
        """Starts servers on the tester; returns when they can be reached."""
        process = self.start(*sessions, **options)
        wait_until(lambda: process.poll() is not None or self.answers(WEST4), "an answer to a ping", 20)
        assert process.poll() is None, process.communicate()[1]
        return process

    def served(self, process):
        """Ends servers; returns the result."""
        process.send_signal(signal.SIGINT)
        done = self.lab.finish(process, 20)
        assert done.exit == INTERRUPTED, str(done)
        assert done.json["interrupted"] is True
        return done.json

    def answers(self, address):
        """Whether an address answers the host's pings."""
        return not subprocess.run(self.host.command(PYTHON, "-c", PING, address), timeout=10, check=False).returncode

    def kernel_server(self, script="kernel_server.py"):
        """Starts one of the servers beside this file."""
        return Served(self.lab, self.host, script)

    def kernel_client(self, mode, timeout=60, **arguments):
        """What a client of `kernel_client.py` said."""
        said = self.host.run(PYTHON, TESTS / "kernel_client.py", mode, json.dumps(arguments), timeout=timeout)
        return json.loads(said)

    def start_kernel_client(self, mode, **arguments):
        return self.lab.start(PYTHON, TESTS / "kernel_client.py", mode, json.dumps(arguments), ns=self.host)

    def kernel_counter(self, name):
        """One of the host's counters, by the name that `nstat` has for it."""
        return json.loads(self.host.run("nstat", "-a", "-s", "-z", "-j"))["kernel"][name]

    def sockets(self, *filters):
        """What the host's kernel tells of its connections, one text for each."""
        lines = self.host.run("ss", "-H", "-t", "-i", "-n", "-o", *filters).splitlines()
        joined = []
        for line in lines:
            if line[:1].isspace() and joined:
                joined[-1] += " " + line.strip()
            else:
                joined.append(line)
        return joined


class Routed(Host):
    """The kernel behind a router: tester `veth0` to `r0`, `r1` to the host's `h0`."""

    v4, v6 = EAST4, EAST6

    def join(self, mtu):
        self.router = self.lab.netns("router", forwarding=True)
        self.lab.veth(self.tester, "veth0", self.router, "r0", mtu=mtu)
        self.lab.veth(self.router, "r1", self.host, "h0", mtu=mtu)
        end_to_end(self.router, "r0", f"{WEST_ROUTER4}/24", f"{WEST_ROUTER6}/64", offloads=self.offloads)
        end_to_end(self.router, "r1", f"{EAST_ROUTER4}/24", f"{EAST_ROUTER6}/64", offloads=self.offloads)
        end_to_end(self.host, "h0", f"{EAST4}/24", f"{EAST6}/64", offloads=self.offloads)
        self.host.ip("route", "add", "default", "via", EAST_ROUTER4)
        self.host.ip("route", "add", "default", "via", EAST_ROUTER6)

    def lose(self, percent):
        """Makes the router drop so many of all TCP segments, in both directions, and count them."""
        rules(self.router, "forward", f"meta l4proto tcp numgen random mod 1000 < {percent * 10} counter name hit drop")

    def lost(self):
        return counted(self.router)["hit"]


def rules(namespace, hook, *lines, kind="filter", priority=0, name="test"):
    """Rules of nftables in one chain, with a counter `hit` they may use."""
    body = "\n".join(f"    {line}" for line in lines)
    text = f"""
table inet {name} {{
  counter hit {{ }}
  chain at_{hook} {{
    type {kind} hook {hook} priority {priority}
{body}
  }}
}}
"""
    need("nft")
    namespace.run("nft", "-f", "-", input=text)


def counted(namespace):
    """Packets counted by each counter of nftables with a name."""
    listed = json.loads(namespace.run("nft", "-j", "list", "counters"))["nftables"]
    return {entry["counter"]["name"]: entry["counter"]["packets"] for entry in listed if "counter" in entry}


class Delayed(Host):
    """The kernel behind a device in user space that holds every 700th segment of ours for 5 ms, and loses none."""

    def join(self, mtu):
        self.device = self.lab.netns("device")
        self.device.sysctl({"net.ipv6.conf.all.disable_ipv6": 1})
        self.lab.veth(self.tester, "veth0", self.device, "west", mtu=mtu)
        self.lab.veth(self.device, "east", self.host, "h0", mtu=mtu)
        end_to_end(self.host, "h0", f"{self.v4}/24", f"{self.v6}/64", offloads=self.offloads)
        # What goes through a program carries no word of a checksum that was left to a card.
        call(*self.host.command("ethtool", "-K", "h0", "tx", "off"))
        command = [PYTHON, TESTS / "delayer.py", "west", "east", "700", "5"]
        self.process = self.lab.start(*command, ns=self.device, stdin=subprocess.PIPE)
        assert self.process.stdout.readline().strip() == "ready"

    def held(self):
        """Ends the device; how many segments it held back."""
        out, _ = self.process.communicate("", timeout=20)
        return json.loads(out)["held"]


class Trunk:
    """The tester's one link, a switch that takes its VLANs apart, and the kernel's router with an interface in each."""

    VLANS = (0, 10, 20)

    def __init__(self, lab):
        need("ip", "ethtool", "ping")
        self.lab, self.tester, self.switch = lab, lab.netns("tester"), lab.netns("switch")
        self.router = lab.netns("router", forwarding=True)
        lab.veth(self.tester, "veth0", self.switch, "trunk")
        for vlan in self.VLANS:
            lab.veth(self.switch, f"s{vlan}", self.router, f"r{vlan}")
            # What goes through a program carries no word of a checksum that was left to a card.
            call(*self.router.command("ethtool", "-K", f"r{vlan}", "tx", "off"))
            self.router.ip("address", "add", f"10.0.{vlan}.1/24", "dev", f"r{vlan}")
            self.router.ip("address", "add", f"2001:2:0:{vlan}::1/64", "dev", f"r{vlan}")
        sides = [f"{vlan}=s{vlan}" for vlan in self.VLANS]
        command = [PYTHON, TESTS / "trunk.py", "trunk", *sides]
        self.process = lab.start(*command, ns=self.switch, stdin=subprocess.PIPE)
        assert self.process.stdout.readline().strip() == "ready"

    def seen(self):
        """Ends the switch; which hardware addresses it saw in each VLAN, by type, with the number of frames."""
        out, _ = self.process.communicate(timeout=20)
        found = {}
        for vlan, kind, mac, count in json.loads(out):
            found.setdefault((vlan, kind), {})[mac] = count
        return found

    def pings(self, address):
        said = self.router.run("ping", "-c", "1", "-W", "1", address, check=False)
        return "1 received" in said

    def known(self):
        """The router's neighbours: hardware address by address."""
        rows = json.loads(self.router.ip("-j", "neigh", "show"))
        return {row["dst"]: row["lladdr"] for row in rows if "lladdr" in row}


class Served:
    """A server in Python that says what it saw when it is ended."""

    def __init__(self, lab, namespace, script):
        self.process = lab.start(PYTHON, TESTS / script, ns=namespace, stderr=subprocess.DEVNULL)
        assert self.process.stdout.readline().strip() == "ready", f"{script} does not start"

    def seen(self):
        """Ends it; what it saw."""
        self.process.terminate()
        out, _ = self.process.communicate(timeout=20)
        return json.loads(out)


FORM = ["-E", "separator=/t", "-E", "aggregator=|"]


class Capture:
    """What passes an interface, while it is open, and what an analyser says of it."""

    def __init__(self, lab, namespace, interface, snap=160, rule="tcp"):
        need("tcpdump", "tshark")
        self.file = lab.folder() / "capture.pcap"
        options = ["-s", snap, "-B", 65536, "-Z", "root", "--immediate-mode"]
        command = ["tcpdump", "-i", interface, "-w", self.file, *options, rule]
        self.process = lab.start(*command, ns=namespace)
        self.said = self.process.stderr.readline()
        assert "listening on" in self.said, self.said

    def close(self):
        if self.process.poll() is None:
            # Packets that have passed are written before it is interrupted.
            time.sleep(0.2)
            self.process.send_signal(signal.SIGINT)
            _, said = self.process.communicate(timeout=20)
            captured, received, dropped = map(int, re.findall(r"^(\d+) packets? ", said, re.MULTILINE))
            # One that comes as it ends is received and not captured.
            assert received - captured <= 2 and dropped == 0, f"the capture is not whole: {said}"

    def fields(self, rule, *names):
        """Fields of the packets a display filter lets through, one tuple for each packet."""
        self.close()
        wanted = [argument for name in names for argument in ("-e", name)]
        out = call("tshark", "-r", self.file, "-Y", rule, "-T", "fields", *FORM, *wanted, timeout=120)
        return [tuple(line.split("\t")) for line in out.splitlines()]

    def spoilt(self, rule):
        """Packets that an analyser takes for malformed, or warns of, and why."""
        return self.fields(f"({rule}) && (_ws.malformed || _ws.expert.severity >= 0x600000)", "frame.number", "_ws.expert.message")

    def complaints(self, address):
        """What an analyser finds noteworthy, or worse, about segments from an address, how often each; and whether any segment was sent again."""
        field = "ipv6.src" if ":" in address else "ip.src"
        noted = "_ws.expert.severity >= 0x400000"
        rule = f"({field} == {address} && {noted}) || tcp.analysis.retransmission"
        found, again = {}, False
        for source, severities, messages, retransmission in self.fields(
            rule, field, "_ws.expert.severity", "_ws.expert.message", "tcp.analysis.retransmission"
        ):
            again = again or bool(retransmission)
            for severity, message in zip(severities.split("|"), messages.split("|"), strict=True):
                if address in source.split("|") and int(severity, 0) >= 0x400000 and "the connection closing" not in message:
                    found[message] = found.get(message, 0) + 1
        return found, again
