#!/usr/bin/python3
"""Measures Eagre beside dpdk-testpmd in the same run: a table, and RESULTS.md.

Runs as root after `cargo build --release`; `make bench` does both. A figure never makes it fail: it ends with 1 only if
something could not run. EAGRE names another binary than target/release/eagre.
"""

import argparse
import os
import signal
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True

import cases  # noqa: E402
import machine  # noqa: E402
import report  # noqa: E402
import sessions  # noqa: E402
import stages  # noqa: E402
from cases import Bench  # noqa: E402
from generators import EAGRE, RUN, eagre  # noqa: E402
from machine import REPO, CouldNotRun  # noqa: E402

CASES = cases.CASES | sessions.CASES | {"stages": stages.stages}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("case", nargs="*", help=f"only these: {' '.join(CASES)}")
    parser.add_argument("--quick", action="store_true", help="short windows, few of them")
    parser.add_argument("--results", metavar="FILE", help="where to write the results; without it, a complete run writes bench/RESULTS.md")
    chosen = parser.parse_args()
    unknown = [case for case in chosen.case if case not in CASES]
    if unknown:
        parser.error(f"no such case: {', '.join(unknown)}; there are {' '.join(CASES)}")
    if chosen.results is None and not chosen.case and not chosen.quick:
        chosen.results = REPO / "bench/RESULTS.md"
    return chosen


def main():
    chosen = arguments()
    if os.geteuid() != 0:
        sys.exit("bench: needs root, for network namespaces, priorities and huge pages")
    if not EAGRE.exists():
        sys.exit(f"bench: {EAGRE} is not there; run 'cargo build --release' first")
    # An end by signal puts everything back as well.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    RUN.mkdir(mode=0o755, exist_ok=True)
    notes, rows, failures = [], [], []
    began, load, steal = time.time(), machine.load(), machine.steal_s()
    with machine.huge_pages() as huge:
        core, control = worker_core(), min(os.sched_getaffinity(0))
        rounds, seconds = (2, 1) if chosen.quick else (5, 3)
        bench = Bench(rounds, seconds, core, control, huge, notes.append)
        for name in chosen.case or CASES:
            print(f"bench: {name}", file=sys.stderr, flush=True)
            try:
                for row in CASES[name](bench):
                    rows.append(row)
                    print(report.line(row), flush=True)
            except CouldNotRun as error:
                failures.append(f"{name} could not run: {error}")
                print(f"bench: {failures[-1]}", file=sys.stderr, flush=True)
    facts = [
        *machine.facts(EAGRE),
        ("cores used", f"the generator's worker on {core}; sinks and control on {control}"),
        ("huge pages", "2 MiB pages for both" if huge else "none: both in ordinary pages"),
        ("load average", f"{load} before, {machine.load()} after; {machine.steal_s() - steal:.1f} s stolen by the hypervisor"),
        ("windows", f"{bench.rounds} for each figure, {bench.seconds} s each, Eagre and its peer in turn"),
        ("took", f"{time.time() - began:.0f} s"),
    ]
    print()
    print(report.table(rows))
    for note in notes:
        print(f"note: {note}")
    if chosen.results:
        # What was written by hand stays at the end.
        file = Path(chosen.results)
        _, mark, written = file.read_text().partition(report.BUILDS) if file.exists() else ("", "", "")
        file.write_text(report.document(rows, facts, notes, failures) + mark + written)
        print(f"bench: results are in {chosen.results}", file=sys.stderr)
    sys.exit(1 if failures else 0)


def worker_core():
    """The core Eagre takes for its worker, which its peer is to have too."""
    return eagre("all", "p9", seconds=0.1).document["workers"][0]["core"]


if __name__ == "__main__":
    main()
