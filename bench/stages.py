"""Instructions that the worker spends on a session, by stage: repeatable, unlike clocks.

A stage is a set of source files. What is inlined from the standard library and other crates belongs to the file it is inlined in, and
what they do in functions of their own is a stage by itself.
"""

import re
import shutil
import statistics
import tempfile
from collections import Counter
from pathlib import Path

from cases import Row, callgrind
from generators import eagre
from machine import CouldNotRun

# The first that matches a file's path below the repository.
STAGES = (
    ("worker's turn: poll, receive, hand over", r"shell/engine/src/worker(/receive)?\.rs"),
    ("engine: when to open, results", r"shell/engine/src/(worker/flows|session)"),
    ("frames into bursts", r"shell/engine/src/worker/flow_sink"),
    ("worker: other", r"shell/engine"),
    ("ports: rings, bursts", r"edge/port"),
    ("clock", r"edge/os"),
    ("TCP: segments in", r"core/tcp/src/(stack/inward|segment|frame|endpoint/receive)"),
    ("TCP: segments out", r"core/tcp/src/(stack/outward|endpoint/transmit|template)"),
    ("TCP: timers", r"core/tcp/src/(wheel|endpoint/timers)"),
    ("TCP: flow table", r"core/tcp/src/(table|key)"),
    ("TCP: other", r"core/tcp"),
    ("application", r"core/session"),
)
OTHER_OWN, LIBRARIES = "other crates of Eagre", "libraries: memory, sorting, random numbers"
KINDS = (("p11", "P11"), ("p11-fin", "P11 with timestamps, SACK and FINs"), ("p13", "P13"))


def stage(path):
    """The stage of a source file; `None` if it is of a library."""
    own = re.search(r"/((core|edge|shell|dev)/[^/]+/src/.*)$", path)
    if not own:
        return None
    return next((name for name, pattern in STAGES if re.match(pattern, own[1])), OTHER_OWN)


def by_stage(file):
    """Instructions of a thread by stage, from callgrind's format."""
    costs, names = Counter(), {}
    current, in_function, is_call = None, None, False
    for line in file.read_text().splitlines():
        if named := re.match(r"(fl|fi|fe|cfi|cfl)=\((\d+)\)(?: (.*))?", line):
            kind, number, name = named.groups()
            names.setdefault(number, name)
            if kind in ("fl", "fi", "fe"):
                found = stage(names[number])
                # A function begins; what is inlined into it from libraries belongs to what was there before.
                in_function = found if kind == "fl" else found or in_function
                current = in_function or LIBRARIES
        elif line.startswith("calls="):
            # What the next line says belongs to the function that is called.
            is_call = True
        elif cost := re.match(r"[-+*\d]\S* (\d+)$", line):
            costs[current] += 0 if is_call else int(cost[1])
            is_call = False
    return costs


def count(profile, seconds):
    """Instructions of the worker thread by stage, and sessions, of a run under callgrind."""
    with tempfile.TemporaryDirectory() as folder:
        window = eagre("stages", profile, seconds=seconds, inside=callgrind(folder))
        threads = [by_stage(file) for file in Path(folder).glob("callgrind-*")]
        (entry,) = window.document["sessions"].values()
        return max(threads, key=lambda thread: sum(thread.values())), entry["completed"]


def stages(_):
    """The difference between a longer and a shorter run, which leaves out how they begin and end."""
    if not shutil.which("valgrind"):
        raise CouldNotRun("valgrind is not installed")
    for profile, what in KINDS:
        runs = []
        for _ in range(2):
            (short, few), (long, many) = count(profile, 1), count(profile, 4)
            runs.append({name: (long[name] - short[name]) / (many - few) for name in long})
        totals = [sum(run.values()) for run in runs]
        noise = f"{min(totals):,.0f}–{max(totals):,.0f}"
        total = f"{statistics.mean(totals):,.0f}"
        yield Row("stages", f"{what}: worker's instructions for one session, both ends", total, "", "", "", None, noise)
        mean = {name: statistics.mean(run.get(name, 0) for run in runs) for name in runs[0]}
        for name, cost in sorted(mean.items(), key=lambda one: -one[1]):
            share = cost / statistics.mean(totals)
            yield Row("stages", f"{what}: {name}", f"{cost:,.0f}", "", f"{100 * share:.1f} %", "", None, "")
