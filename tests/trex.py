"""An environment with the package eagre-trex and Scapy, and what its loader says."""

import functools
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from lab import EAGRE, PREFIX, REPO, making
from server import Server

CLIENT = REPO / "clients/trex"
SOURCE = CLIENT / "src"
PINS = CLIENT / "tests/requirements.txt"
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


def done(*command, exit=0, **options):
    """Runs a command; returns what it printed."""
    options.setdefault("cwd", "/")
    options["env"] = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **options.pop("env", {})}
    ended = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, **options)
    assert ended.returncode == exit, f"{' '.join(map(str, command))}\n{ended.stdout[-4000:]}\n{ended.stderr[-4000:]}"
    return ended.stdout


def install(folder, python, pins):
    """Makes an environment of a Python with some packages."""
    made = Path(tempfile.mkdtemp(prefix=f"eagre-t{os.getpid()}-"))
    try:
        # This Python's pip may not run on another, which has one of its own.
        own = python == sys.executable
        done(python, "-m", "venv", *(["--without-pip"] if own else []), made)
        (made / "pins").write_text(pins)
        pip = [*PIP, "--python", made / "bin/python"] if own else [made / "bin/python", *PIP[1:]]
        # Compiled once, Scapy is imported in half the time, some hundred times.
        done(*pip, "install", "--no-deps", "-r", made / "pins")
        made.rename(folder)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def interpreter(scapy=None, python=sys.executable, more=()):
    """The interpreter of a kept environment with the pinned packages; or of another Python, with another Scapy and more."""
    pins = PINS.read_text()
    if scapy or more:
        pins = "".join(f"{pin}\n" for pin in (*([f"scapy=={scapy}"] if scapy else pins.splitlines()[1:]), *more))
    version = done(python, "-c", "import sys; print(sys.version)") if python != sys.executable else sys.version
    folder = Path(tempfile.gettempdir()) / f"eagre-python-{hashlib.sha256(f'{version}{pins}'.encode()).hexdigest()[:12]}"
    with making(folder):
        if not folder.is_dir():
            install(folder, python, pins)
    return folder / "bin/python"


# Runs the loader in a child for each line, with files for its output: to import Scapy takes longer than to load a profile.
LOADER = """
import json, os, sys
import eagre_trex.load, trex.stl.trex_stl_streams
for line in sys.stdin:
    out, err, *words = json.loads(line)
    child = os.fork()
    if not child:
        for descriptor, path in enumerate((os.devnull, out, err)):
            os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), descriptor)
        os._exit(eagre_trex.load.main(words))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@functools.cache
def loader(python):
    """A process that loads profiles; it ends with this one."""
    env = {**os.environ, "PYTHONPATH": str(SOURCE)}
    pipe = subprocess.PIPE
    return subprocess.Popen([python, "-B", "-c", LOADER], stdin=pipe, stdout=pipe, text=True, env=env, cwd="/")


def load(python, profile, *options, exit=0):
    """The document that the loader prints of a profile."""
    process = loader(python)
    with tempfile.TemporaryDirectory(prefix=PREFIX) as folder:
        out, err = Path(folder, "out"), Path(folder, "err")
        process.stdin.write(json.dumps([str(word) for word in (out, err, *options, profile)]) + "\n")
        process.stdin.flush()
        code = process.stdout.readline().strip()
        assert code == str(exit), f"{profile}: exit {code}\n{err.read_text()[-4000:] if err.exists() else ''}"
        return json.loads(out.read_text())


class Routed:
    """`eagre serve` in a namespace whose interfaces v0, v1, … are ports, and the kernel as a router that connects them in pairs.

    What comes in from one port of a pair leaves to the other, whatever its addresses, so that scripts with any addresses
    reach the other port. The router knows its neighbours: no ARP is counted. `macs` are addresses of its interfaces.
    """

    def __init__(self, lab, pairs, python, speed, macs=()):
        self.lab, self.python, self.speed = lab, python, speed
        self.tester, self.router = lab.netns("tester"), lab.netns("router", forwarding=True)
        self.tester.ip("link", "set", "lo", "up")
        self.ends = [end for pair in pairs for end in pair]
        for number in self.ends:
            lab.veth(self.tester, f"v{number}", self.router, f"r{number}")
            if number in macs:
                self.router.ip("link", "set", f"r{number}", "address", macs[number])
            self.router.ip("address", "add", f"198.18.{number}.1/24", "dev", f"r{number}")
            mac = self.tester.mac(f"v{number}")
            self.router.ip("neighbour", "replace", f"198.18.{number}.2", "lladdr", mac, "dev", f"r{number}", "nud", "permanent")
            self.tester.sysctl({f"net.ipv6.conf.v{number}.disable_ipv6": 1})
            keys = {f"net.ipv4.conf.r{number}.{key}": 0 for key in ("rp_filter", "send_redirects")}
            self.router.sysctl({**keys, f"net.ipv6.conf.r{number}.disable_ipv6": 1, "net.ipv4.conf.all.rp_filter": 0})
        for one, other in [*pairs, *(pair[::-1] for pair in pairs)]:
            table = str(100 + one)
            self.router.ip("rule", "add", "iif", f"r{one}", "lookup", table)
            gateway = ("via", f"198.18.{other}.2", "dev", f"r{other}")
            self.router.ip("route", "add", "default", *gateway, "table", table)
        self._count()
        self.server = Server(lab, ns=self.tester)

    def _count(self):
        """Counts what passes the router's interfaces, but ARP, which the ports' hosts speak by themselves."""
        rules = [
            f"  counter {name}{end} {{ }}\n  chain {name}{end} {{ type filter hook {hook} device r{end} priority 0;"
            f" ether type != arp counter name {name}{end}; }}"
            for end in self.ends
            for name, hook in (("sent", "ingress"), ("received", "egress"))
        ]
        self.router.run("nft", "-f", "-", input="table netdev count {\n" + "\n".join(rules) + "\n}\n")

    def port(self, number):
        """A port as EAGRE_TREX_PORTS has it."""
        return f"v{number},ip=198.18.{number}.2/24,gateway=198.18.{number}.1"

    def run(self, *command, ports=None, exit=0, path=(), **options):
        """Runs a Python script's command beside the server; `ports` are TRex's ports 0, 1, …, all by default."""
        env = {
            "PYTHONPATH": ":".join(map(str, (SOURCE, *path))), "EAGRE_URL": self.server.url, "EAGRE_TREX_SPEED": self.speed, "EAGRE": str(EAGRE),
            "EAGRE_TREX_PORTS": " ".join(self.port(number) for number in ports or sorted(self.ends)),
            "EAGRE_PYTHON": str(self.python),
        }  # fmt: skip
        return done(*self.tester.command(), self.python, "-B", *command, exit=exit, env=env, **options)

    def counters(self):
        """Packets that each port has sent and received, as the router counts them."""
        listed = json.loads(self.router.run("nft", "-j", "list", "counters"))["nftables"]
        packets = {entry["counter"]["name"]: entry["counter"]["packets"] for entry in listed if "counter" in entry}
        return {end: (packets[f"sent{end}"], packets[f"received{end}"]) for end in self.ends}
