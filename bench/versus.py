#!/usr/bin/python3
"""Compares two builds of Eagre: windows in turn, and instructions for each packet by callgrind, which repeat where clocks do not.

Runs as root; `make bench-versus BASE=<commit>` does. The base is built in a work tree of its own below target/versus, which stays for
the next time. A figure never makes it fail.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

sys.dont_write_bytecode = True

import demo  # noqa: E402
import machine  # noqa: E402
import sessions  # noqa: E402
from cases import callgrind, changed  # noqa: E402
from generators import EAGRE, PROFILES, RUN, eagre  # noqa: E402
from machine import REPO  # noqa: E402


@dataclass
class Row:
    """A profile of bench/profiles with flags, and what it measures: packets, or what its sessions count under the name `counts`."""

    profile: str
    what: str
    flags: tuple = ()
    counts: str = ""
    changes: tuple = ()


def at_a_time(sessions):
    return (("concurrent: 64", f"concurrent: {sessions}"),)


SHORT = "TCP open, 64 B each way, reset"
ROWS = {
    "p1": Row("p1", "P1, one constant packet, `null`"),
    "p2": Row("p2", "P2, 1 counter field, `null`"),
    "p3": Row("p3", "P3, 4 varying fields, `null`"),
    "p4": Row("p4", "P4, P2 with the signature, `null`"),
    "p5-1": Row("p5-1", "P5, 1 stream, `max`"),
    "p5-10000": Row("p5-10000", "P5, 10,000 streams, `max`"),
    "p5-100000": Row("p5-100000", "P5, 100,000 streams, `max`"),
    "p5p-1": Row("p5p-1", "P5p, 1 stream, paced"),
    "p5p-10000": Row("p5p-10000", "P5p, 10,000 streams, paced"),
    "p5p-100000": Row("p5p-100000", "P5p, 100,000 streams, paced"),
    "p5-workers": Row("p5-1", "P5, 1 stream of two workers", ("--cores", "2")),
    "p5-random": Row("p5-random", "P5, 1,000 streams whose packets come in random order"),
    "p20": Row("p20", "P20, `integrity: full`, 128 B"),
    "p11": Row("p11", f"P11, {SHORT}, 64 at a time", counts="transactions"),
    "p11-10000": Row("p11", f"P11, {SHORT}, 10,000 at a time", counts="transactions", changes=at_a_time(10_000)),
    "p11-100000": Row("p11", f"P11, {SHORT}, 100,000 at a time", counts="transactions", changes=at_a_time(100_000)),
    "p11-fin": Row("p11-fin", "P11, timestamps, SACK, FINs, 64 B each way", counts="transactions"),
    "p13": Row("p13", "P13, HTTP GET/200, 256 B, new connection each", counts="transactions"),
    "p14-bulk": Row("p14-bulk", "P14, bulk TCP on `ring`, bytes", counts="tx_bytes_goodput"),
    "p15": Row("p15", "P15, full TLS 1.3 handshakes", counts="transactions"),
}


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


def run(program, row, seconds, **options):
    """A window of a row, in which its sessions did what they should."""
    window = eagre("versus", changed("versus", row.profile, *row.changes), *row.flags, seconds=seconds, program=program, **options)
    return sessions.counted(window, row.counts) if row.counts else window


def counted(program, row, seconds):
    """Of a run under callgrind: instructions of the worker, how often it looked for frames, and packets or what its sessions count."""
    with tempfile.TemporaryDirectory() as folder:
        window = run(program, row, seconds, inside=callgrind(folder), timeout=600)
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
    idle = replace(ROWS["p5-1"], flags=("--rate", "1pps"))
    (few, calls, _), (many, more, _) = (counted(program, idle, seconds) for seconds in (1, 3))
    return (many - few) / (more - calls)


def instructions(program, row, waiting):
    """Instructions for each packet: of a longer run without those of a shorter one, and without turns that found nothing to do. For what
    sessions count all turns are included: a worker with sessions always has something to do."""
    costs, packets = [], []
    for seconds in (1, 3):
        cost, calls, sent = counted(program, row, seconds)
        costs.append(cost if row.counts else cost - waiting * (calls - 2 * sent / BURST))
        packets.append(sent)
    return (costs[1] - costs[0]) / (packets[1] - packets[0])


def compared(base, name, rounds, seconds, waiting):
    """A line of the table."""
    row, figures = ROWS[name], []
    for _ in range(rounds):
        figures.append([run(program, row, seconds).per_cpu for program in (base, EAGRE)])
    ratios = sorted(new / old for old, new in figures)
    old, new = (statistics.median(one) for one in zip(*figures, strict=True))
    costs = [instructions(program, row, waiting.get(program, 0)) for program in (base, EAGRE)]
    return [
        row.what, f"{old:.3g}", f"{new:.3g}", f"{statistics.median(ratios):.2f}×", f"{ratios[0]:.2f}–{ratios[-1]:.2f}",
        *(f"{cost:.0f}" if cost >= 10 else f"{cost:.2f}" for cost in costs), f"{costs[0] / costs[1]:.2f}×",
    ]  # fmt: skip


# Streams of a run, and entries of a profile that are checked.
MANY, ENTRIES = 100_000, 40_000


def used(program, *words, out=subprocess.DEVNULL):
    """A command's most memory, MB, its processor time, and its time by the clock, s."""
    began = time.monotonic()
    process = machine.start([program, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL)
    try:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    finally:
        machine.stop(process)
    return usage.ru_maxrss * 1024 / 1e6, usage.ru_utime + usage.ru_stime, time.monotonic() - began


def growth(base, this, rounds):
    """Lines of what many streams take: memory, the result's length, processor time beside the workers', and how long a check takes."""
    entries, result = RUN / "entries.yaml", RUN / "many.json"
    head = "ports: {a: {device: 'ring:a', ip: 198.18.0.1/24}, b: {device: 'ring:b', ip: 198.18.0.2/24}}\nstreams:\n"
    streams = (f"  - {{name: s{n}, from: a, to: b, packet: [ipv4, udp], size: 64B, rate: 1kpps}}\n" for n in range(ENTRIES))
    entries.write_text(head + "".join(streams) + "load: {duration: 1s}\n")
    run = ("run", PROFILES / f"p5-{MANY}.yaml", "--rate", "1pps", "--duration", "5s", "--json", result)
    figures = []
    for _ in range(rounds):
        for program in (base, this):
            checked, (most, spent, _) = used(program, "check", entries), used(program, *run)
            document = json.loads(result.read_bytes())
            workers = sum(worker["cpu_s"] for worker in document["workers"])
            figures.append((most, result.stat().st_size / 1e6, spent - workers, checked[0], checked[2]))
    old, new = ([statistics.median(one) for one in zip(*figures[which::2], strict=True)] for which in (0, 1))
    names = (
        f"{MANY:,} streams: resident, MB", f"{MANY:,} streams: result, MB", f"{MANY:,} streams: processor time of 5 s beside the workers', s",
        f"`check` of {ENTRIES:,} entries: resident, MB", f"`check` of {ENTRIES:,} entries: time, s",
    )  # fmt: skip
    yield ["", "base", "this", "base ÷ this"]
    yield ["---"] * 4
    for name, before, after in zip(names, old, new, strict=True):
        yield [name, f"{before:.3g}", f"{after:.3g}", f"{before / after:.2f}×"]


# Rows with other figures, in a table each.
TABLES = {"growth": growth, "demo": demo.compared}


def main():
    chosen = arguments()
    if os.geteuid() != 0:
        sys.exit("bench: needs root, for priorities and huge pages")
    if not EAGRE.exists():
        sys.exit(f"bench: {EAGRE} is not there; run 'make build' first")
    base = built(chosen.base)
    RUN.mkdir(mode=0o755, exist_ok=True)
    rows = chosen.row or [*ROWS, *TABLES]
    if windows := [row for row in rows if row in ROWS]:
        heads = ["", "base", "this", "ratio", "of each pair", "base, instructions", "this, instructions", "ratio"]
        show(heads, ["---"] * len(heads))
        waiting = {}
        if any(not ROWS[row].counts for row in windows):
            waiting = {program: per_call(program) for program in (base, EAGRE)}
        for row in windows:
            show(compared(base, row, chosen.rounds, chosen.seconds, waiting))
        print(f"\nMillions per CPU-second of the workers; {chosen.rounds} windows of {chosen.seconds} s each, in turn; load {machine.load()}.")
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
