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
- **P11–P15, P19 of sessions**: one worker has both ends, on `ring` ports; 'per CPU-second' is of that worker. Sessions count once
  for both ends, and only those that did what they should; a run in which one failed has no figure. Figures of WARP17 and TRex
  are not of this run: both ends on one core too, measured once on a machine of this kind. WARP17 closes by a reset after 8 packets;
  Eagre needs 5, because acknowledgements go with data. A request of HTTP has no room in fewer than some 60 bytes.
- **P12** is the most resident memory, huge pages too, of a run with so many connections, less that of a run with 1,000,
  divided by the endpoints, two for each connection. They are established and say nothing.
- **P15**: the peer is the crate's own benchmark (`edge/tls/benches/handshakes.rs`), which has the worker's core and no network:
  rustls as its documentation shows it, both ends, the best of 15 rounds by the clock on the wall. Eagre's sessions are the median,
  and have TCP, a byte each way and an end besides. Both verify the certificate against a root.
- **session-peers**: clients on the worker's core against the same server on the other (a reader that throws away; iperf3's own
  server; nginx with one process and 1,000 bytes to say). Eagre polls, so its CPU time is what `busy_ratio` says it worked of it. What
  the kernel does for a client in threads of its own is in nobody's CPU time; windows count from 90 % of the core. Against
  a server on one core the clock on the wall says as much about the server. iperf3 leaves segments of 64 KB whole on a veth pair,
  where nothing need cut them; a generator makes packets, so the row beside it has them cut and summed up by the kernel.
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
