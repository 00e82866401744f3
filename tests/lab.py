"""Common parts of the black-box tests: the program under test, namespaces, processes, and their removal.

The names of all that a lab makes contain the process number of the test run. So the next run can remove leftovers of a
killed run, and nothing else.
"""

import contextlib
import ctypes
import fcntl
import functools
import ipaddress
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import contention
import pytest
import yaml

# libyaml's parser takes a tenth of the time; files of tests read all examples when they are imported, in each process.
yaml.SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

REPO = Path(__file__).resolve().parent.parent
EAGRE = Path(os.environ.get("EAGRE", REPO / "target/release/eagre")).resolve()
PREFIX = f"eagre-t{os.getpid()}-"
OTHERS = re.compile(r"eagre-t(\d+)-")
# Whether there is time for tests of minutes.
LONG = os.environ.get("EAGRE_LONG") == "1"
# Most IPv4 neighbours that the kernel holds, of all namespaces together.
NEIGHBOURS = Path("/proc/sys/net/ipv4/neigh/default/gc_thresh3")
DIES_WITH_PARENT = ["setpriv", "--pdeathsig", "KILL"]
NOBODY = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups", "--no-new-privs", "--inh-caps=-all"]

# The addresses of examples/router-*.yaml, so that those run here as they are.
WEST4, WEST_ROUTER4, EAST4, EAST_ROUTER4 = "10.0.0.2", "10.0.0.1", "10.0.1.2", "10.0.1.1"
WEST6, WEST_ROUTER6, EAST6, EAST_ROUTER6 = "2001:2::2", "2001:2::1", "2001:2:0:1::2", "2001:2:0:1::1"


def missing(what):
    """Skips the test because this machine lacks something; in CI, fails it."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what}; in CI this is a failure", pytrace=False)
    pytest.skip(what)


def need(*tools):
    """Requires root and the named tools."""
    if os.geteuid() != 0:
        missing("needs root")
    absent = [tool for tool in tools if not shutil.which(tool)]
    if absent:
        missing(f"needs {', '.join(absent)}")


@contextlib.contextmanager
def making(folder):
    """No other process makes this folder meanwhile: who comes later finds it, instead of installing the same beside it."""
    with open(f"{folder}.lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def is_busy():
    """Whether processes of this machine have waited for its cores in the last seconds, or many of them in the last minute."""
    try:
        waited = float(contention.PRESSURE.read_text().split("avg10=")[1].split()[0])
    except (OSError, IndexError, ValueError):
        waited = 0.0
    return waited > 40 or os.getloadavg()[0] > 2 * os.cpu_count()


def peak_kb(process):
    """Waits for a process whose output goes to files; the most memory that it held, kB. `wait4` counts the memory of whoever started it, too."""
    most = 0
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status").read_text()
        most = max([most, *(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM"))])
        time.sleep(0.005)
    return most


def wait_until(condition, what, timeout=10.0, every=0.02):
    """Returns the first true value of `condition`; fails after `timeout` seconds, on a busy machine after three times as long.

    Many conditions start a program, such as vtysh, which takes a core for longer than `every`. So what is long in coming is looked for less often.
    """
    begin = time.monotonic()
    while True:
        # A process that stalled meanwhile looks once more.
        waited = time.monotonic() - begin
        value = condition()
        if value:
            return value
        assert waited < timeout or (waited < 3 * timeout and is_busy()), f"{what}: not within {timeout} s"
        time.sleep(max(every, min(waited / 20, 0.1)))


def call(*command, check=True, timeout=60, **options):
    """Runs a command other than the program under test; returns its standard output."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=timeout, **options)
    assert not check or done.returncode == 0, f"{' '.join(map(str, command))}: {done.stderr or done.stdout}"
    return done.stdout


# Exit codes, as docs/exit-codes.md has them.
FAILED, BAD_INPUT, REFUSED, CANNOT_JUDGE, NOTHING_FOUND, INTERRUPTED = 1, 2, 3, 4, 5, 130
# How summaries report packets and sessions that the tester did not send or open.
WITHHELD = re.compile("by the tester|The tester could ")
# How verdicts report a load that the tester did not reach, which leaves the figures valid.
SHORTFALL = re.compile("were not sent|were not opened|found no free address|was the limit")
# How they report a worker that was kept from its core.
DISTURBANCE = re.compile(r"worker \d+ (?:waited|stalled) |stream .* left back to back ")
TOLD = re.compile(rf'(?:^[ -]*|"|\((?:invalid|tester disturbed|generator limited): )((?:{DISTURBANCE.pattern})[^"\n]{{0,200}})', re.MULTILINE)
# Disturbances in verdicts of runs since the test began: evidence for a second run of it.
disturbances = []


def undisturbed(document):
    """A result as if nothing else had used the tester's cores; other documents unchanged.

    The figures stay as they are. Tests of disturbances look at the report.
    """
    verdict = document.get("verdict") if isinstance(document, dict) else None
    if not isinstance(verdict, dict) or not (verdict.get("disturbed") or "holds" in verdict):
        return document
    reasons = [reason for reason in verdict["reasons"] if SHORTFALL.search(reason) or not DISTURBANCE.match(reason)]
    valid = verdict["valid"] or all(map(SHORTFALL.search, reasons))
    verdict = {key: value for key, value in verdict.items() if key != "holds"}
    return {**document, "verdict": {**verdict, "valid": valid, "disturbed": False, "reasons": reasons}}


class Run:
    """A finished run of the program."""

    def __init__(self, command, exit_code, out, err, seconds):
        self.command, self.exit, self.out, self.err, self.seconds = command, exit_code, out, err, seconds
        disturbances.extend(TOLD.findall(out + "\n" + err))

    @property
    def told(self):
        """Standard output as JSON."""
        try:
            return json.loads(self.out)
        except ValueError:
            raise AssertionError(f"no JSON on standard output of {self}") from None

    @property
    def json(self):
        """Standard output as JSON; of a result, the verdict without what a busy machine did to the tester."""
        return undisturbed(self.told)

    def __str__(self):
        return f"{' '.join(self.command)}\nexit {self.exit}\n{self.out[-3000:]}\n{self.err[-3000:]}"

    def ok(self):
        """Requires exit code 0; returns this run. A busy machine that disturbed the tester is no failure."""
        assert self.exit == 0 or self.was_only_disturbed(), str(self)
        return self

    def was_only_disturbed(self):
        """Whether nothing but the machine kept this run from exit code 0."""
        if self.exit != CANNOT_JUDGE:
            return False
        if self.out.startswith("{") and "verdict" in self.told:
            verdict = self.told["verdict"]
            return not verdict.get("faults") and (verdict["disturbed"] or "holds" in verdict)
        said = self.out + self.err
        # A method reports it of its trials.
        return "can't be judged" in said or any(map(DISTURBANCE.match, re.findall(r"^    - (.*)", said, re.MULTILINE)))

    @property
    def ended(self):
        """Whether it ran to its end, with any outcome."""
        return self.exit in (0, FAILED, CANNOT_JUDGE, NOTHING_FOUND)

    def overload(self):
        """The result of a run whose load the tester cannot reach: most of it may be missing."""
        withheld = self.exit in (FAILED, CANNOT_JUDGE) and WITHHELD.search(self.told["achieved"]["summary"])
        return self.json if withheld else self.result()

    def result(self):
        """Requires exit code 0; returns the result document."""
        return self.ok().json

    def refused(self, exit_code, *texts):
        """Requires `exit_code` and an error message that contains all `texts`; returns this run."""
        assert self.exit == exit_code, str(self)
        for text in texts:
            assert text in self.err, f"'{text}' is missing in {self}"
        lines = self.err.splitlines()
        assert lines and all(
            line.startswith(("eagre: ", "error: ", "EAL: FATAL: ", "  ", "Usage: ", "For more")) or not line for line in lines
        ), str(self)
        for leak in ("panicked", "RUST_BACKTRACE", "backtrace", "Os {", "Error(", "unwrap"):
            assert leak not in self.err, str(self)
        return self


LIBC, PR_SET_PDEATHSIG = ctypes.CDLL(None), 1


def die_with_parent():
    """Makes the kernel kill a child when this process dies."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Namespace:
    """A network namespace."""

    def __init__(self, name, forwarding=False):
        self.name = name
        call("ip", "netns", "add", name)
        self.sysctl(
            {
                # Addresses work at once, and the kernel sends nothing unsolicited.
                "net.ipv6.conf.default.accept_dad": 0,
                "net.ipv6.conf.all.accept_dad": 0,
                "net.ipv6.conf.default.router_solicitations": 0,
                "net.ipv6.conf.default.accept_ra": 0,
                "net.ipv4.conf.all.rp_filter": 0,
                "net.ipv4.conf.default.rp_filter": 0,
                "net.ipv4.conf.all.forwarding": int(forwarding),
                "net.ipv6.conf.all.forwarding": int(forwarding),
                # A tester's kernel has no part in the traffic.
                "net.ipv6.conf.default.disable_ipv6": int(not forwarding),
            }
        )
        self.ip("link", "set", "lo", "up")

    def command(self, *command):
        return ["ip", "netns", "exec", self.name, *map(str, command)]

    def run(self, *command, **options):
        return call(*self.command(*command), **options)

    def ip(self, *arguments):
        return call("ip", "-n", self.name, *arguments)

    def sysctl(self, values):
        self.run("sysctl", "-q", "-w", *(f"{key}={value}" for key, value in values.items()))

    def link(self, interface):
        """An interface as iproute2 shows it."""
        return json.loads(self.ip("-s", "-d", "-j", "link", "show", interface))[0]

    def counters(self, interface):
        """Packets and drops of an interface, by direction."""
        stats = self.link(interface)["stats64"]
        return {
            "rx": stats["rx"]["packets"],
            "tx": stats["tx"]["packets"],
            "dropped": stats["rx"]["dropped"] + stats["tx"]["dropped"],
        }

    def mac(self, interface):
        return self.link(interface)["address"]

    def pids(self):
        return [int(pid) for pid in call("ip", "netns", "pids", self.name, check=False).split()]


class Router:
    """The Linux kernel as a router between two veth pairs; the tester has their other ends."""

    def __init__(self, lab):
        self.tester, self.router = lab.netns("tester"), lab.netns("router", forwarding=True)
        sides = [
            ("veth0", "r0", [f"{WEST_ROUTER4}/24", f"{WEST_ROUTER6}/64"]),
            ("veth1", "r1", [f"{EAST_ROUTER4}/24", f"{EAST_ROUTER6}/64"]),
        ]
        for end, inner, addresses in sides:
            lab.veth(self.tester, end, self.router, inner)
            for address in addresses:
                self.router.ip("address", "add", address, "dev", inner)

    def count(self, udp_ports):
        """Counts packets forwarded to each of `udp_ports`, and those the router itself sends and receives."""
        udp_ports = list(udp_ports)
        rules = "\n".join(f"    udp dport {port} counter name forwarded_{port}" for port in udp_ports)
        named = "\n".join(f"  counter forwarded_{port} {{ }}" for port in udp_ports)
        self.router.run(
            "nft",
            "-f",
            "-",
            input=f"""
table inet count {{
{named}
  counter said {{ }}
  counter heard {{ }}
  chain forward {{
    type filter hook forward priority 0
{rules}
  }}
  chain output {{
    type filter hook output priority 0
    oifname "r1" counter name said
  }}
  chain input {{
    type filter hook input priority 0
    iifname "r0" counter name heard
  }}
}}
table arp count {{
  counter said {{ }}
  counter heard {{ }}
  chain output {{
    type filter hook output priority 0
    oifname "r1" counter name said
  }}
  chain input {{
    type filter hook input priority 0
    iifname "r0" counter name heard
  }}
}}
""",
        )

    def counted(self):
        """Packets by counter of `count`."""
        listed = json.loads(self.router.run("nft", "-j", "list", "counters"))["nftables"]
        total = {}
        for counter in (entry["counter"] for entry in listed if "counter" in entry):
            total[counter["name"]] = total.get(counter["name"], 0) + counter["packets"]
        return total

    def ports(self, kind, v4=True, v6=True):
        """The ports of a profile, on devices of `kind`."""
        west = {"ip": [f"{WEST4}/24"] * v4 + [f"{WEST6}/64"] * v6, "gateway": [WEST_ROUTER4] * v4 + [WEST_ROUTER6] * v6}
        east = {"ip": [f"{EAST4}/24"] * v4 + [f"{EAST6}/64"] * v6, "gateway": [EAST_ROUTER4] * v4 + [EAST_ROUTER6] * v6}
        return {
            "west": {"device": f"{kind}:veth0", **west},
            "east": {"device": f"{kind}:veth1", **east},
        }


class Lab:
    """Makes namespaces, processes and folders for a test, and removes them."""

    # Leftovers of one test do not disturb the next.
    numbers = itertools.count()

    def __init__(self):
        self.namespaces, self.processes, self.folders, self.neighbours = [], [], [], None

    def room_for_neighbours(self, count):
        """Raises the kernel's limit of IPv4 neighbours to at least this number until the test ends: namespaces share one table."""
        before = NEIGHBOURS.read_text()
        if int(before) < count:
            try:
                NEIGHBOURS.write_text(str(count))
            except OSError:
                missing(f"needs room for {count:,} neighbours in the kernel")
            self.neighbours = self.neighbours or before

    def netns(self, label, forwarding=False):
        need("ip", "sysctl")
        namespace = Namespace(f"{PREFIX}{next(Lab.numbers)}{label}", forwarding)
        self.namespaces.append(namespace)
        return namespace

    def veth(self, a, end_a, b, end_b, mtu=1500):
        """Connects two namespaces with a veth pair, both ends up."""
        call(
            "ip",
            "link",
            "add",
            end_a,
            "mtu",
            mtu,
            "netns",
            a.name,
            "type",
            "veth",
            "peer",
            "name",
            end_b,
            "mtu",
            mtu,
            "netns",
            b.name,
        )
        a.ip("link", "set", end_a, "up")
        b.ip("link", "set", end_b, "up")
        wait_until(lambda: a.link(end_a)["operstate"] == "UP", f"{end_a} up")

    def router(self):
        need("ip", "nft", "tc")
        return Router(self)

    def folder(self, in_memory=False):
        """A folder that every user can write to."""
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir="/dev/shm" if in_memory else None))
        folder.chmod(0o777)
        self.folders.append(folder)
        return folder

    def profile(self, ports, streams, **rest):
        """Writes a profile (as JSON, which is YAML). A profile with sessions needs no streams."""
        path = self.folder() / "profile.yaml"
        streams = {} if streams is None else {"streams": streams}
        path.write_text(json.dumps({"ports": ports, **streams, **rest}, indent=1))
        path.chmod(0o644)
        return path

    def start(self, *command, ns=None, user=None, env=None, cwd=None, **options):
        """Starts a process; `close` ends it."""
        # To fork this process, with all its tests, takes ten times as long as to start a program that asks the kernel for it.
        mortal = [] if "preexec_fn" in options else DIES_WITH_PARENT
        command = [*mortal, *(ns.command() if ns else []), *(NOBODY if user else []), *map(str, command)]
        environment = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **(env or {})}
        if user:
            home = str(self.folder())
            environment |= {"HOME": home, "XDG_RUNTIME_DIR": home}
        process = subprocess.Popen(
            command,
            env=environment,
            cwd=cwd or "/",
            text=True,
            **{
                "stdin": subprocess.DEVNULL,
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                **options,
            },
        )
        self.processes.append(process)
        return process

    def start_eagre(self, *arguments, **options):
        """Starts the program."""
        return self.start(EAGRE, *arguments, **options)

    def begun(self, *arguments, intervals=2, every="50ms", **options):
        """Starts a run, and returns it after a number of intervals."""
        path = self.folder() / "lines.jsonl"
        process = self.start_eagre(*arguments, "--jsonl", path, "--interval", every, **options)
        over = lambda: path.exists() and path.read_text().count("\n") >= intervals
        wait_until(lambda: over() or process.poll() is not None, "intervals", 20)
        assert process.poll() is None, self.finish(process)
        return process

    def controlled(self, profile, lines, every, intervals=2, more=()):
        """A run that gets lines on standard input, one after the other, after a number of intervals; it and its intervals."""
        path = profile.parent / "lines.jsonl"
        arguments = ("--control", "--json", "-", "--jsonl", path, "--interval", "50ms", *more)
        process = self.start_eagre("run", profile, *arguments, stdin=subprocess.PIPE)
        wait_until(lambda: path.exists() and path.read_text().count("\n") >= intervals, "traffic")
        for line in lines:
            process.stdin.buffer.write((line if isinstance(line, bytes) else line.encode()) + b"\n")
            process.stdin.buffer.flush()
            time.sleep(every)
        process.stdin.close()
        process.stdin = None
        done = self.finish(process)
        return done, [json.loads(line) for line in path.read_text().splitlines()]

    def eagre(self, *arguments, ns=None, user=None, timeout=60, stdin=None, env=None, cwd=None, binary=None):
        """Runs the program until it ends."""
        options = {"stdin": subprocess.PIPE} if stdin is not None else {}
        process = self.start(binary or EAGRE, *arguments, ns=ns, user=user, env=env, cwd=cwd, **options)
        return self.finish(process, timeout, stdin)

    def whole(self, *arguments, attempts=5, **options):
        """A run that sent all packets that were due, with its result; up to `attempts` runs on a busy machine."""
        for _ in range(attempts):
            done = self.eagre(*arguments, "--json", "-", **options)
            if done.exit not in (0, FAILED, CANNOT_JUDGE) or not any(port["tx_unsent"] for port in done.json["ports"].values()):
                break
        return done

    def finish(self, process, timeout=60, stdin=None):
        """Waits until a run of the program ends."""
        begin = time.monotonic()
        try:
            try:
                out, err = process.communicate(stdin, timeout=timeout)
            except subprocess.TimeoutExpired:
                # On a busy machine it has three times as long, as with wait_until.
                out, err = process.communicate(timeout=2 * timeout if is_busy() else 0.1)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            pytest.fail(f"{' '.join(process.args)}: not done after {timeout} s\n{out[-2000:]}\n{err[-2000:]}")
        return Run([str(a) for a in process.args], process.returncode, out or "", err or "", time.monotonic() - begin)

    def close(self):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
        stuck = []
        for process in self.processes:
            try:
                # One that waits for a busy disk ends when the disk is done.
                process.wait(60)
            except subprocess.TimeoutExpired:
                stuck.append(process.args)
            for stream in (process.stdin, process.stdout, process.stderr):
                with contextlib.suppress(OSError, AttributeError):
                    stream.close()
        for namespace in self.namespaces:
            remove_namespace(namespace.name)
        if self.neighbours:
            NEIGHBOURS.write_text(self.neighbours)
        for folder in self.folders:
            shutil.rmtree(folder, ignore_errors=True)
        assert not stuck, f"killed, and not gone after a minute: {stuck}"


def remove_namespace(name):
    """Kills the processes in a namespace and removes it."""
    for pid in call("ip", "netns", "pids", name, check=False).split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    call("ip", "netns", "delete", name, check=False)


def remove_leftovers():
    """Removes what dead test runs left behind."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        return
    namespaces = [line.split()[0] for line in call("ip", "netns", "list", check=False).splitlines() if line.strip()]
    for name in filter(is_of_a_dead_run, namespaces):
        remove_namespace(name)
    for folder in Path(tempfile.gettempdir()).iterdir():
        if is_of_a_dead_run(folder.name):
            shutil.rmtree(folder, ignore_errors=True)
    for folder in Path("/var/run/dpdk").glob("eagre-t*"):
        if is_of_a_dead_run(folder.name):
            shutil.rmtree(folder, ignore_errors=True)


def is_of_a_dead_run(name):
    owner = OTHERS.match(name)
    return owner is not None and not Path(f"/proc/{owner[1]}").exists()


def stream(name, source, target, udp_port=9, v6=False, **rest):
    """A stream of UDP packets."""
    packet = ["ipv6" if v6 else "ipv4", {"udp": {"dst": udp_port}}]
    return {"name": name, "from": source, "to": target, "packet": packet, **rest}


@functools.cache
def parsed(path):
    """A file of YAML, read once; callers leave it as it is."""
    return yaml.safe_load(path.read_text())


def has_its_peers(example):
    """Whether the BGP peers of a profile, if it has some, are in a network of another port of it, and it needs no access concentrator."""
    ports = parsed(example)["ports"]
    network = lambda port: ipaddress.ip_interface(port["ip"]).network
    return not any("pppoe" in port for port in ports.values()) and all(
        any(ipaddress.ip_address(peer["peer"]) in network(other) for name, other in ports.items() if name != own)
        for own, port in ports.items()
        for peer in port.get("bgp", {}).get("peers", ())
    )


def pair(a="ring:a", b="ring:b"):
    """Two ports on one network."""
    return {"west": {"device": a, "ip": f"{WEST4}/24"}, "east": {"device": b, "ip": "10.0.0.3/24"}}


def sums(result, field):
    """The sum of a field over all streams."""
    return sum(stream.get(field, 0) for stream in result["streams"].values())


def judged(result):
    """The verdict without its notes, such as that a worker left a core which others use."""
    return {key: value for key, value in result["verdict"].items() if key != "notes"}


def stalled_ns(result):
    """The longest time a worker was off its core."""
    return max(worker["stall_max_ns"] for worker in result["workers"])


def core_share(result):
    """The smallest share of its core that a worker got."""
    had = [(w["cpu_s"] + w.get("slept_s", 0), w["waited_s"]) for w in result["workers"] if w.get("cpu_s")]
    return min((had / (had + waited) for had, waited in had), default=1.0)


# Every queue in front of the tester holds at least 256 frames: 12.8 ms at 20 kpps.
STALL_MAX_NS = 12_000_000
CORE_SHARE_MIN = 0.95


def was_disturbed(done):
    """Whether another process took the tester's core at times."""
    if done.exit > 1 or not done.out.startswith("{"):
        return False
    return stalled_ns(done.json) > STALL_MAX_NS or core_share(done.json) < CORE_SHARE_MIN


def settled(run, check, attempts=5):
    """Checks a run; repeats it if the check fails and another process took the tester's core.

    Such a tester loses packets and reports it, which has nothing to do with the property under test. `run` returns a Run, or a tuple
    of Runs and other findings; `check` gets that, and its result is returned.
    """
    for left in reversed(range(attempts)):
        done = run()
        all_done = done if isinstance(done, tuple) else (done,)
        try:
            return check(*all_done)
        except AssertionError:
            if not left or not any(was_disturbed(one) for one in all_done if isinstance(one, Run)):
                raise
            time.sleep(0.5)
