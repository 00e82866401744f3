"""What the bench runs on: cores, huge pages, network namespaces, and children that have their core.

Everything changed here is put back when the context it was changed in ends.
"""

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
LIBC, PR_SET_PDEATHSIG = ctypes.CDLL(None), 1

# Memory for both generators and a sink at once.
HUGE_BYTES = 1 << 30
HUGE_PAGES = Path("/sys/kernel/mm/hugepages/hugepages-2048kB")
HUGE_PAGE_BYTES = 2 << 20


class CouldNotRun(Exception):
    """Something the bench needs did not work; the figures are not at fault."""


def call(*command):
    """Runs a command to its end; returns what it printed."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise CouldNotRun(f"{' '.join(map(str, command))}: {(done.stderr or done.stdout).strip()}")
    return done.stdout


def start(command, **options):
    """Starts a process ahead of everything else on this machine, which ends when the bench does.

    A nice value counts only against the same session's processes where the kernel groups by session, so the process
    gets a session of its own, and that the priority.
    """
    process = subprocess.Popen(
        [str(c) for c in command], text=True, start_new_session=True, preexec_fn=before_exec, **options
    )
    with contextlib.suppress(OSError):
        Path(f"/proc/{process.pid}/autogroup").write_text("-20")
    return process


def before_exec():
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)


def stop(process):
    """Ends a process, however it feels about that."""
    if process.poll() is None:
        process.kill()
    process.wait(10)
    for stream in (process.stdin, process.stdout, process.stderr):
        with contextlib.suppress(OSError, AttributeError):
            stream.close()


def wait_until(condition, what, timeout=10.0, every=0.02):
    """The first true value of `condition`."""
    end = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > end:
            raise CouldNotRun(f"{what}: not within {timeout:.0f} s")
        time.sleep(every)
    return value


def number(path):
    return int(Path(path).read_text())


@contextlib.contextmanager
def huge_pages():
    """Sees to it that there are huge pages for both generators; yields whether there are."""
    try:
        before, free = number(HUGE_PAGES / "nr_hugepages"), number(HUGE_PAGES / "free_hugepages")
    except OSError:
        yield False
        return
    missing = max(HUGE_BYTES // HUGE_PAGE_BYTES - free, 0)
    try:
        if missing:
            with contextlib.suppress(OSError):
                (HUGE_PAGES / "nr_hugepages").write_text(str(before + missing))
        yield number(HUGE_PAGES / "free_hugepages") * HUGE_PAGE_BYTES >= HUGE_BYTES
    finally:
        if missing:
            (HUGE_PAGES / "nr_hugepages").write_text(str(before))


class VethPair:
    """veth0 in the namespace of the generator, and its peer in another whose kernel drops all that comes."""

    near, far = "eagre-bench-near", "eagre-bench-far"

    def __enter__(self):
        self.remove()
        for name in dict.fromkeys((self.near, self.far)):
            call("ip", "netns", "add", name)
            # No address, no router solicitation: the kernel says nothing on the link.
            call(*self.within(name), "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
        call("ip", "link", "add", "veth0", "netns", self.near, "type", "veth", "peer", "name", "veth1", "netns", self.far)
        call("ip", "-n", self.near, "link", "set", "veth0", "up")
        call("ip", "-n", self.far, "link", "set", "veth1", "up")
        return self

    def __exit__(self, *_):
        self.remove()

    def remove(self):
        existing = {line.split()[0] for line in call("ip", "netns", "list").splitlines() if line.strip()}
        for name in {self.near, self.far} & existing:
            call("ip", "netns", "delete", name)

    @staticmethod
    def within(name):
        return ["ip", "netns", "exec", name]

    @contextlib.contextmanager
    def dropping_by_xdp(self):
        """The far end drops before the kernel's stack sees a packet."""
        command = [*self.within(self.far), sys.executable, REPO / "tests/bpf.py", "veth1"]
        process = start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        try:
            if process.stdout.readline().strip() != "ready":
                raise CouldNotRun("the kernel takes no XDP program")
            yield
        finally:
            stop(process)

    def arrived(self):
        """Packets that came out of the far end."""
        stats = call("ip", "-n", self.far, "-s", "-j", "link", "show", "veth1")
        return int(re.search(r'"rx":\{"bytes":\d+,"packets":(\d+)', stats.replace(" ", ""))[1])


class OwnPair(VethPair):
    """A veth pair with both ends in the namespace of the generator."""

    far = VethPair.near


class ServedPair(VethPair):
    """A veth pair with the kernel's TCP at both ends: 198.18.0.1 near, 198.18.0.2 far, where servers are.

    Packets from the far end have their checksums and are no larger than the MTU, as on a wire. Addresses of the network
    that are not the near kernel's own are free for a generator.
    """

    network = {"near": "198.18.0.1/24", "far": "198.18.0.2/24"}

    def __enter__(self):
        super().__enter__()
        for name, device, address in ((self.near, "veth0", self.network["near"]), (self.far, "veth1", self.network["far"])):
            call("ip", "-n", name, "link", "set", "lo", "up")
            call("ip", "-n", name, "address", "add", address, "dev", device)
            call(*self.within(name), "sysctl", "-qw", "net.ipv4.ip_local_port_range=1024 65535", "net.core.somaxconn=16384")
        self.offloads(self.far, "veth1", "off")
        return self

    def offloads(self, name, device, state):
        call(*self.within(name), "ethtool", "-K", device, "tx", state, "tso", state, "gso", state)

    @contextlib.contextmanager
    def without_offloads(self):
        """The near kernel cuts its segments and makes their checksums itself."""
        self.offloads(self.near, "veth0", "off")
        try:
            yield
        finally:
            self.offloads(self.near, "veth0", "on")

    def gathering(self, run):
        """`run`, with GRO at the far end only while it runs."""

        def gathered():
            call(*self.within(self.far), "ethtool", "-K", "veth1", "gro", "on")
            try:
                return run()
            finally:
                call(*self.within(self.far), "ethtool", "-K", "veth1", "gro", "off")

        return gathered

    @contextlib.contextmanager
    def serving(self, core, *commands):
        """Servers in the far namespace, on a core."""
        processes = []
        try:
            for command in commands:
                line = [*self.within(self.far), "taskset", "--cpu-list", core, *command]
                processes.append(start(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
            listening = lambda: len(call(*self.within(self.far), "ss", "-Hltn").splitlines()) >= len(commands)
            wait_until(listening, "servers listening")
            yield
        finally:
            for process in processes:
                stop(process)


def steal_s():
    """Time the machine below had our cores, s, since it started."""
    fields = Path("/proc/stat").read_text().splitlines()[0].split()
    return int(fields[8]) / os.sysconf("SC_CLK_TCK")


def load():
    return Path("/proc/loadavg").read_text().split()[0]


def facts(eagre):
    """What a reader must know of the machine, as pairs of a name and a value."""
    cpu = Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*:\s*(.+)$", cpu, re.MULTILINE)
    virtual = " (virtual)" if " hypervisor" in cpu else ""
    dpdk = subprocess.run(["dpkg-query", "-W", "-f=${Version}", "dpdk"], capture_output=True, text=True).stdout
    tree = subprocess.run(["git", "-C", REPO, "describe", "--always", "--dirty"], capture_output=True, text=True).stdout
    return [
        ("CPU", f"{model[1] if model else 'unknown'}{virtual}, {len(os.sched_getaffinity(0))} cores"),
        ("kernel", os.uname().release),
        ("DPDK", dpdk or "unknown"),
        ("Eagre", f"{call(eagre, '--version').strip()}, {tree.strip() or 'no commit'}"),
    ]
