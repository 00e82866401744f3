"""`eagre demo` by an ordinary user: how soon packets leave, in how much memory, and how fast; of one program, or of two in turn."""

import contextlib
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from datetime import datetime

from generators import window
from machine import CouldNotRun

NOBODY = 65534


@dataclass
class Demo:
    """A run: start to traffic, total time besides sending, s; resident memory, MB; Mpps per CPU-second of the worker."""

    started_s: float
    around_s: float
    megabytes: float
    per_cpu: float


@contextlib.contextmanager
def copies(*programs):
    """Commands that run the programs as `demo`, from a folder that any user may read."""
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o755)
        yield [[shutil.copy(program, f"{home}/eagre{number}"), "demo", "--json", "-"] for number, program in enumerate(programs)]


def run(command):
    """One run to its end."""
    home = os.path.dirname(command[0])
    begin = time.time()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/",
        env={"PATH": os.environ["PATH"], "HOME": home},
    )  # fmt: skip
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    end = time.time()
    process.returncode = os.waitstatus_to_exitcode(status)
    process.stdout.close()
    # Older builds exit with 1 where the machine disturbs them.
    if not text.startswith(b"{"):
        raise CouldNotRun(f"eagre demo as an ordinary user: exit {process.returncode}")
    document = json.loads(text)
    started = datetime.fromisoformat(document["started"]).timestamp()
    return Demo(started - begin, end - begin - document["duration_s"], usage.ru_maxrss / 1024, window(document).per_cpu)


def compared(base, this, rounds):
    """Lines of a table: figures of two programs that took turns, each pair in the other order than the one before."""
    pairs = []
    with copies(base, this) as commands:
        for number in range(rounds):
            order = (0, 1) if number % 2 == 0 else (1, 0)
            done = {which: run(commands[which]) for which in order}
            pairs.append((done[0], done[1]))
    figures = [
        ("start to traffic, ms", lambda demo: demo.started_s * 1e3, 1),
        ("total time besides sending, ms", lambda demo: demo.around_s * 1e3, 1),
        ("resident memory, MB", lambda demo: demo.megabytes, 1),
        ("Mpps per CPU-second", lambda demo: demo.per_cpu, 2),
    ]
    heads = ["`eagre demo`", "base", "this", "ratio", "of each pair"]
    yield from (heads, ["---"] * len(heads))
    for name, figure, digits in figures:
        ratios = sorted(figure(new) / figure(old) for old, new in pairs)
        old, new = (statistics.median(figure(pair[which]) for pair in pairs) for which in (0, 1))
        yield [name, f"{old:.{digits}f}", f"{new:.{digits}f}", f"{statistics.median(ratios):.2f}×", f"{ratios[0]:.2f}–{ratios[-1]:.2f}"]
