#!/usr/bin/python3
"""Compares two builds of Eagre: windows in turn, and instructions for each packet by callgrind, which repeat where clocks do not.

Runs as root; `make bench-versus BASE=<commit>` does. The base is built in a work tree of its own below target/versus, which stays for
the next time. A figure never makes it fail.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

import demo  # noqa: E402
import machine  # noqa: E402
from cases import callgrind  # noqa: E402
from generators import EAGRE, RUN, eagre  # noqa: E402
from machine import REPO  # noqa: E402

# Profiles with flags, and what they measure.
ROWS = {
    "p1": (["p1"], "P1, one constant packet, `null`"),
    "p3": (["p3"], "P3, 4 varying fields, `null`"),
    "p5-1": (["p5-1"], "P5, 1 stream, `max`"),
    "p5-10000": (["p5-10000"], "P5, 10,000 streams, `max`"),
    "p5-100000": (["p5-100000"], "P5, 100,000 streams, `max`"),
    "p5p-1": (["p5p-1"], "P5p, 1 stream, paced"),
    "p5p-10000": (["p5p-10000"], "P5p, 10,000 streams, paced"),
    "p5p-100000": (["p5p-100000"], "P5p, 100,000 streams, paced"),
    "p5-workers": (["p5-1", "--cores", "2"], "P5, 1 stream of two workers"),
    "p5-random": (["p5-random"], "P5, 1,000 streams whose packets come in random order"),
    "p20": (["p20"], "P20, `integrity: full`, 128 B"),
}

# Rows with other figures, in a table each.
TABLES = {"demo": demo.compared}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("base", help="the commit to compare with, or the program itself")
    parser.add_argument("row", nargs="*", help=f"only these: {' '.join([*ROWS, *TABLES])}")
    parser.add_argument("--rounds", type=int, default=5, help="windows of each build")
    parser.add_argument("--seconds", type=float, default=1, help="length of a window")
    chosen = parser.parse_args()
    if unknown := [row for row in chosen.row if row not in ROWS | TABLES]:
        parser.error(f"no such row: {', '.join(unknown)}; there are {' '.join([*ROWS, *TABLES])}")
    return chosen


def built(commit):
    """The program of a commit."""
    if Path(commit).is_file():
        return Path(commit).resolve()
    tree = REPO / "target/versus"
    if not tree.exists():
        subprocess.run(["git", "-C", REPO, "worktree", "prune"], check=True)
        subprocess.run(["git", "-C", REPO, "worktree", "add", "--detach", tree, commit], check=True)
    subprocess.run(["git", "-C", tree, "checkout", "--quiet", "--detach", commit], check=True)
    subprocess.run(["make", "-C", tree, "build"], check=True, stdout=sys.stderr)
    return tree / "target/release/eagre"


# What a worker calls twice in each turn of a row on `ring`, which has two ports.
RECEIVING = "<port::ring::RingRx as port::RxQueue>::recv"
BURST = 64


def counted(program, profile, flags, seconds):
    """Of a run under callgrind: instructions of the worker, how often it looked for frames, and packets."""
    with tempfile.TemporaryDirectory() as folder:
        window = eagre("versus", profile, *flags, seconds=seconds, inside=callgrind(folder), timeout=600, program=program)
        threads = [thread(file.read_text()) for file in Path(folder).glob("callgrind-*-*")]
    return *max(threads, key=lambda one: one[::-1]), window.packets


def thread(text):
    """Instructions of a thread, and its calls of `RECEIVING`, from callgrind's format."""
    names = dict(re.findall(r"^c?fn=\((\d+)\) (.+)$", text, re.MULTILINE))
    numbers = [number for number, name in names.items() if name.startswith(RECEIVING)]
    calls = sum(int(calls) for number in numbers for calls in re.findall(rf"^cfn=\({number}\).*\ncalls=(\d+)", text, re.MULTILINE))
    return int(re.search(r"^totals: (\d+)", text, re.MULTILINE)[1]), calls


def per_call(program):
    """Instructions of a worker that waits, for each look for frames."""
    (few, calls, _), (many, more, _) = (counted(program, "p5-1", ("--rate", "1pps"), seconds) for seconds in (1, 3))
    return (many - few) / (more - calls)


def instructions(program, profile, flags, waiting):
    """Instructions for each packet: of a longer run without those of a shorter one, and without turns that found nothing to do."""
    costs, packets = [], []
    for seconds in (1, 3):
        cost, calls, sent = counted(program, profile, flags, seconds)
        costs.append(cost - waiting * (calls - 2 * sent / BURST))
        packets.append(sent)
    return (costs[1] - costs[0]) / (packets[1] - packets[0])


def compared(base, row, rounds, seconds, waiting):
    """A line of the table."""
    (profile, *flags), what = ROWS[row]
    figures = []
    for _ in range(rounds):
        figures.append([eagre("versus", profile, *flags, seconds=seconds, program=program).per_cpu for program in (base, EAGRE)])
    ratios = sorted(new / old for old, new in figures)
    old, new = (statistics.median(one) for one in zip(*figures, strict=True))
    costs = [instructions(program, profile, flags, waiting[program]) for program in (base, EAGRE)]
    return [
        what, f"{old:.3g}", f"{new:.3g}", f"{statistics.median(ratios):.2f}×", f"{ratios[0]:.2f}–{ratios[-1]:.2f}",
        *(f"{cost:.0f}" for cost in costs), f"{costs[0] / costs[1]:.2f}×",
    ]  # fmt: skip


def main():
    chosen = arguments()
    if os.geteuid() != 0:
        sys.exit("bench: needs root, for priorities and huge pages")
    if not EAGRE.exists():
        sys.exit(f"bench: {EAGRE} is not there; run 'make build' first")
    base = built(chosen.base)
    RUN.mkdir(mode=0o755, exist_ok=True)
    rows = chosen.row or [*ROWS, *TABLES]
    if packets := [row for row in rows if row in ROWS]:
        heads = ["", "base, Mpps", "this, Mpps", "ratio", "of each pair", "base, instructions", "this, instructions", "ratio"]
        show(heads, ["---"] * len(heads))
        waiting = {program: per_call(program) for program in (base, EAGRE)}
        for row in packets:
            show(compared(base, row, chosen.rounds, chosen.seconds, waiting))
        print(f"\nMpps are per CPU-second of the workers; {chosen.rounds} windows of {chosen.seconds} s each, in turn; load {machine.load()}.")
    for row in rows:
        if row in TABLES:
            print()
            show(*TABLES[row](base, EAGRE, chosen.rounds))
            print(f"\n{chosen.rounds} runs of each, in turn; load {machine.load()}.")


def show(*lines):
    """Lines of a table."""
    for cells in lines:
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
