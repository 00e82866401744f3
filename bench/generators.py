"""The two generators that are compared, Eagre and dpdk-testpmd, and what each did in one window of time."""

import contextlib
import itertools
import json
import os
import re
import signal
import subprocess
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import machine
from machine import REPO, CouldNotRun

EAGRE = Path(os.environ.get("EAGRE", REPO / "target/release/eagre")).resolve()
PROFILES = Path(__file__).resolve().parent / "profiles"
RUN = Path("/run/eagre-bench")

# A worker that had less of its core than this says nothing about its speed.
SHARE_MIN = 0.95


@dataclass
class Window:
    """Packets one worker thread sent, or several together, and the time they took."""

    packets: int
    wall_s: float
    cpu_s: float
    share: float
    document: dict = field(default_factory=dict)

    @property
    def per_cpu(self):
        """Mpps per CPU-second of the worker threads."""
        return self.packets / self.cpu_s / 1e6

    @property
    def wall(self):
        """Mpps by wall clock."""
        return self.packets / self.wall_s / 1e6


class Commands:
    """Every command the bench ran, once."""

    def __init__(self):
        self.seen = {}

    def note(self, case, command):
        line = " ".join(str(c) for c in command).replace(f"{REPO}/", "")
        self.seen.setdefault(case, {}).setdefault(line)


COMMANDS = Commands()


def eagre(case, profile, *flags, seconds, inside=(), timeout=120, watch=None, program=EAGRE):
    """One run of a profile; the window is the time in which traffic was sent. `watch` sees the process while it runs."""
    command = [*inside, program, "run", PROFILES / f"{profile}.yaml", *flags, "--duration", f"{seconds}s", "--json", "-"]
    COMMANDS.note(case, command)
    process = machine.start(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if watch:
        threading.Thread(target=watch, args=(process,), daemon=True).start()
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise CouldNotRun(f"{' '.join(map(str, command))}: not done after {timeout} s") from None
    finally:
        machine.stop(process)
    if not out.startswith("{"):
        raise CouldNotRun(f"{' '.join(map(str, command))}: exit {process.returncode}\n{err.strip()}")
    return window(json.loads(out))


def window(document):
    """A worker never sleeps, so its processor and waiting time are its life; what is over the sending time is the
    drain, in which it only polls."""
    sent = sum(port["tx_packets"] for port in document["ports"].values())
    shares = [w["cpu_s"] / (w["cpu_s"] + w["waited_s"]) for w in document["workers"]]
    cpu_s = sum(document["duration_s"] * share for share in shares)
    return Window(sent, document["duration_s"], cpu_s, min(shares), document)


class Testpmd:
    """A running dpdk-testpmd with one port and one forwarding core."""

    numbers = itertools.count()

    def __init__(self, case, vdev, core, control, huge, mode="txonly", inside=(), more=()):
        memory = ["--in-memory", "-m", 256] if huge else ["--no-huge", "--no-shconf", "--iova-mode=va", "-m", 512]
        command = [
            *inside, "stdbuf", "-oL", "dpdk-testpmd", "--no-pci", "--no-telemetry", *memory, f"--lcores=0@{control},1@{core}",
            f"--file-prefix=eagre-bench-{os.getpid()}-{next(self.numbers)}", f"--vdev={vdev}", "--", "-i", "--nb-cores=1",
            f"--forward-mode={mode}", "--burst=64", "--txpkts=60", "--total-num-mbufs=16384", *more,
        ]  # fmt: skip
        COMMANDS.note(case, [re.sub(r"bench-\d+-\d+", "bench", str(c)) for c in command])
        self.process = machine.start(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=1)
        self.said = ""
        threading.Thread(target=self.listen, daemon=True).start()
        self.wait(lambda: "testpmd> " in self.said, "its prompt", 30)
        self.tell("start")
        self.schedstat = Path(f"/proc/{self.process.pid}/task/{self.forwarder()}/schedstat")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.tell("quit")
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                pass
        machine.stop(self.process)

    def listen(self):
        try:
            while character := self.process.stdout.read(1):
                self.said += character
        except ValueError:
            pass  # Closed on the way out.

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def wait(self, condition, what, timeout=10):
        def look():
            if self.process.poll() is not None:
                raise CouldNotRun(f"dpdk-testpmd ended:\n{self.said[-2000:]}")
            return condition()

        return machine.wait_until(look, f"dpdk-testpmd: {what}", timeout, every=0.001)

    def forwarder(self):
        """The thread of its forwarding core, by the names DPDK has had for it."""
        names = re.compile(r"(rte|dpdk|lcore)-(worker|slave)-?\d+")
        for task in Path(f"/proc/{self.process.pid}/task").iterdir():
            if names.match((task / "comm").read_text()):
                return task.name
        raise CouldNotRun("dpdk-testpmd has no forwarding thread")

    def count(self):
        """Packets its port has sent and received."""
        begin = len(self.said)
        self.tell("show port stats 0")
        pattern = re.compile(r"RX-packets: (\d+).*?TX-packets: (\d+) .*?\n  #{9}", re.DOTALL)
        rx, tx = self.wait(lambda: pattern.search(self.said, begin), "counters").groups()
        return int(tx), int(rx)

    def is_stopped(self):
        """Whether it has said what it forwarded in all."""
        return "Accumulated forward statistics" in self.said

    def used(self):
        """Time its forwarding thread had a core, and time it waited for one, s."""
        ran, waited, _ = self.schedstat.read_text().split()
        return int(ran) / 1e9, int(waited) / 1e9

    def window(self, seconds, arrived=None):
        """What it sends in so many seconds once it sends at all; with `arrived`, what that counts."""
        self.wait(lambda: self.count()[0] > 0, "first packet")
        time.sleep(min(0.3, seconds / 4))
        count = arrived or (lambda: self.count()[0])
        (cpu_a, waited_a), before, a = self.used(), count(), time.monotonic()
        time.sleep(seconds)
        (cpu_b, waited_b), after, b = self.used(), count(), time.monotonic()
        cpu, waited = cpu_b - cpu_a, waited_b - waited_a
        return Window(after - before, b - a, cpu, cpu / (cpu + waited))


class Flood:
    """Another generator, sending until it is ended; all processes of its session are its own."""

    # Less than that, and something other than the generator was in the way.
    PPS_MIN = 10_000

    def __init__(self, case, command):
        COMMANDS.note(case, command)
        self.command = command
        self.process = machine.start(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        machine.stop(self.process)

    def used(self):
        """Time its threads had a core, and time they waited for one, s."""
        ran = waited = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                if int(stat.read_text().rpartition(")")[2].split()[3]) != self.process.pid:
                    continue
                for schedstat in stat.parent.glob("task/*/schedstat"):
                    a, b, _ = map(int, schedstat.read_text().split())
                    ran, waited = ran + a, waited + b
        return ran / 1e9, waited / 1e9

    def window(self, seconds, arrived):
        """What of it arrives in so many seconds, once anything does."""

        def look():
            if self.process.poll() is not None:
                raise CouldNotRun(f"{' '.join(map(str, self.command))}: ended with {self.process.returncode}")
            return arrived() > begin

        begin = arrived()
        machine.wait_until(look, f"{self.command[-1]}: first packet")
        time.sleep(0.25)
        (cpu_a, waited_a), before, a = self.used(), arrived(), time.monotonic()
        time.sleep(seconds)
        (cpu_b, waited_b), after, b = self.used(), arrived(), time.monotonic()
        cpu, waited = cpu_b - cpu_a, waited_b - waited_a
        look()
        if after - before < self.PPS_MIN * (b - a):
            raise CouldNotRun(f"{' '.join(map(str, self.command))}: {after - before} packets in {b - a:.1f} s are no flood")
        return Window(after - before, b - a, cpu, cpu / (cpu + waited))
