"""FRR as a device under test: its daemons in a namespace with two networks, 10.0.0.0/24 of the routers, and 10.9.0.0/24."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from lab import missing, need, stream, wait_until

TESTS = Path(__file__).parent
FRR = Path("/usr/lib/frr")


def launch(lab, ns, folder, name):
    """Starts a daemon without a configuration in a namespace; the folder has its files."""
    if not (FRR / name).exists():
        missing("needs frr")
    (folder / "empty.conf").touch()
    command = [FRR / name, "-u", "root", "-g", "frrvty", "-P", "0", "-f", folder / "empty.conf"]
    command += ["-i", folder / f"{name}.pid", "-z", folder / "zserv.api", "--vty_socket", folder]
    process = lab.start(*command, ns=ns, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_until(lambda: (folder / f"{name}.vty").exists(), name)
    return process


def launch_all(lab, ns, folder, names, text):
    """Starts zebra and these daemons, configured by a text; the processes by name."""
    daemons = {name: launch(lab, ns, folder, name) for name in ("zebra", *names)}
    (folder / "frr.conf").write_text(text)
    ns.run("vtysh", "--vty_socket", folder, "-f", folder / "frr.conf")
    return daemons


class Device:
    """FRR with one daemon beside zebra, configured by a text. The link of the routers loses so many percent of frames."""

    daemon = ""
    protocol = ""

    def __init__(self, lab, text, lost=0):
        need("ip", "vtysh")
        self.lab, self.folder = lab, lab.folder()
        self.tester, self.ns = lab.netns("tester"), lab.netns("device", forwarding=True)
        self.join(lost)
        lab.veth(self.tester, "veth1", self.ns, "d1")
        for inner, address in (("d0", "10.0.0.1/24"), ("d1", "10.9.0.1/24")):
            self.ns.ip("address", "add", address, "dev", inner)
        self.prepare()
        self.daemons = launch_all(lab, self.ns, self.folder, [self.daemon], text)

    def restart(self):
        """Kills the protocol's daemon, which can say nothing any more, and starts it again."""
        daemon = self.daemons[self.daemon]
        daemon.kill()
        daemon.wait()
        (self.folder / f"{self.daemon}.vty").unlink()
        (self.folder / f"{self.daemon}.pid").unlink(missing_ok=True)
        self.daemons[self.daemon] = launch(self.lab, self.ns, self.folder, self.daemon)
        self.vtysh("-f", self.folder / "frr.conf")

    def prepare(self):
        """What the namespace needs besides."""

    def join(self, lost):
        """A link from veth0 of the tester to d0, which loses so many percent of frames."""
        if not lost:
            return self.lab.veth(self.tester, "veth0", self.ns, "d0")
        between = self.lab.netns("between")
        self.lab.veth(self.tester, "veth0", between, "west")
        self.lab.veth(between, "east", self.ns, "d0")
        command = (sys.executable, TESTS / "distance.py", "west", "east", 1, lost)
        self.link = self.lab.start(*command, ns=between, stdin=subprocess.PIPE)
        assert self.link.stdout.readline() == "ready\n"

    def vtysh(self, *arguments):
        return self.ns.run("vtysh", "--vty_socket", self.folder, *arguments)

    def configure(self, text):
        """Changes the configuration by the lines of a text."""
        self.vtysh("-c", "configure terminal", *(f"-c{line.strip()}" for line in text.splitlines()))

    def show(self, what):
        return json.loads(self.vtysh("-c", f"show {what} json"))

    def fib(self, family="-4"):
        """Networks that are in the kernel by the protocol."""
        return len(self.ns.ip(family, "route", "show", "proto", self.protocol).splitlines())

    def ports(self, routers, kind="afpacket", **west):
        """The routers' port, and another one."""
        return {
            "west": {"device": f"{kind}:veth0", "ip": "10.0.0.2/24", "gateway": "10.0.0.1", self.protocol: routers, **west},
            "east": {"device": f"{kind}:veth1", "ip": "10.9.0.2/24", "gateway": "10.9.0.1"},
        }

    def begin(self, ports, streams, seconds=120, **rest):
        """A run whose traffic has begun, and the file of its intervals. `say` tells it commands, `end` ends it early."""
        profile = self.lab.profile(ports, streams, load={"duration": f"{seconds}s", "drain": "500ms"}, **rest)
        lines = profile.parent / "lines.jsonl"
        arguments = ("--control", "--json", "-", "--jsonl", lines, "--interval", "200ms")
        process = self.lab.start_eagre("run", profile, *arguments, ns=self.tester, stdin=subprocess.PIPE)
        begun = lambda: lines.exists() and lines.read_text().count("\n") > 1
        wait_until(lambda: begun() or process.poll() is not None, "traffic", 150)
        assert process.poll() is None, process.communicate()[1]
        return process, lines

    def end(self, process):
        """Ends a run; what came of it."""
        process.send_signal(signal.SIGINT)
        return self.lab.finish(process)

    def lossy(self, ports, every, kept):
        """Waits until the device has all networks, and again until it has only those that no command withdraws; the routers' figures."""
        process, _ = self.begin(ports, [])
        wait_until(lambda: self.fib() == every, "the routes", 60)
        say(process, "withdraw other")
        wait_until(lambda: self.fib() == kept, "the withdrawal", 60)
        row = self.end(process).json["ports"]["west"][self.protocol]
        lost, _ = self.link.communicate(timeout=10)
        assert int(lost) > 10, "the link loses nothing"
        return row

    def run(self, routers, seconds=1, timeout=120, **west):
        profile = self.lab.profile(self.ports(routers, **west), [], load={"duration": f"{seconds}s", "drain": "200ms"})
        return self.lab.eagre("run", profile, "--json", "-", ns=self.tester, timeout=timeout)


def say(process, line):
    """Tells a run a command."""
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


def to(name, first, count, rate="2kpps"):
    """A stream to each network of a range."""
    varied = {"ipv4.dst": {"from": first, "step": 256, "count": count}}
    return {**stream(name, "east", "west", rate=rate), "packet": [{"ipv4": {"dst": first}}, {"udp": {"dst": 9}}], "vary": varied}
