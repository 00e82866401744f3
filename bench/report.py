"""The table, for a terminal and for RESULTS.md."""

import time

from generators import COMMANDS, SHARE_MIN

HEADS = ["", "what", "Eagre", "peer", "figure", "target", "reached", "lowest–highest window"]

INTRODUCTION = f"""# What `make bench` found

Eagre beside dpdk-testpmd on the same machine, in turn, window by window. Rates are in Mpps per CPU-second of the worker
thread (packets divided by the thread's run time in `schedstat`) unless a row says otherwise; each is a median. A window
in which the thread had less than {100 * SHARE_MIN:.0f} % of its core is discarded and repeated. Targets are those the project set itself.
"""

EXPLANATIONS = """
- **P1, P6, P7**: both send one constant 64 B packet (60 B without FCS) in bursts of 64; testpmd in mode `txonly`, Eagre with
  `measure: false`. testpmd writes the headers of every packet, Eagre does not write what a buffer holds already.
- **P1** twice: through Eagre's `null`, and through `vdev:net_null0`, the driver that testpmd sends through: there, freeing the
  frames one by one takes most of Eagre's time.
- **P7** counts packets that came out of the far end of the veth pair, for both. The kernel's work on the far end is done by
  the sending thread and is in its CPU time.
- **P2, P3, P4**: the peer's packets stay constant, as in P1; Eagre's differ, and the bench checks IPv4 and UDP checksums of
  the first thousand itself before it measures.
- **peers**: one process each, on the worker's core, the same packet (hping3's through the kernel's IPv4); packets are counted
  where they come out of the pair. tcpreplay replays a capture of 1,000 such packets.
- **P8** is P3. The figure per CPU-second is per thread, times threads.
  Two workers leave no core for control and for everybody else on a machine with two.
- **P9** compares departures as Eagre stamps them with the schedule. 'Otherwise idle' is taken at its word: windows in which
  anything else had the core for more than a thousandth of the time are discarded.
- **P10**: packets go through pipes to a check with a bitmap of all addresses. The speed is what pipe and check let through.
- **P17** runs as user nobody. 'end − duration' is the time the whole program took beside sending: no first packet can be
  later than that.
- **P19**: 'requested' is the rate times the duration; what is not sent must be in `tx_unsent`, to the packet, and the verdict
  must say `generator_limited`.
- **instructions** are those of the worker thread under callgrind: they repeat where clocks do not.
"""


def reached(row):
    return {True: "yes", False: "**no**", None: ""}[row.reached]


def cells(row):
    return [row.case, row.what, row.ours, row.theirs, row.figure, row.target, reached(row), row.noise]


def line(row):
    """A row as soon as it is known."""
    peer = f", peer {row.theirs}" if row.theirs else ""
    verdict = {True: "reached", False: "NOT reached", None: "no target"}[row.reached]
    return f"  {row.case}: {row.what}: {row.ours}{peer}: {row.figure} (target {row.target or 'none'}: {verdict}) [{row.noise}]"


def table(rows):
    """All rows as a table in Markdown."""
    lines = [HEADS, ["---"] * len(HEADS), *map(cells, rows)]
    return "\n".join("| " + " | ".join(one) + " |" for one in lines)


def document(rows, facts, notes, failures):
    """RESULTS.md."""
    parts = [INTRODUCTION, time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()), ""]
    parts += ["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in facts), ""]
    parts += [table(rows), ""]
    parts += [f"- {text}" for text in (*failures, *notes)]
    parts += [EXPLANATIONS, "## Commands", ""]
    for case, commands in COMMANDS.seen.items():
        parts += [f"{case}:", "", "```", *commands, "```", ""]
    return "\n".join(parts)
