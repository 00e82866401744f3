"""The table, for a terminal and for RESULTS.md."""

import time

from generators import COMMANDS, SHARE_MIN

HEADS = ["", "what", "Eagre", "peer", "figure", "target", "reached", "lowest–highest window"]

# Behind it in RESULTS.md is what `make bench-versus` found when something was made faster.
BUILDS = "\n# Two builds in turn\n"

INTRODUCTION = f"""# What `make bench` found

Eagre and dpdk-testpmd on the same machine, alternating window by window. Rates are in Mpps per CPU-second of the worker thread
(packets divided by the thread's run time in `schedstat`) unless a row says otherwise; each is a median. A window in which the
thread had less than {100 * SHARE_MIN:.0f} % of its core is discarded and repeated. The targets are the project's own.
"""

EXPLANATIONS = """
- **P1, P6, P7**: both send one constant 64 B packet (60 B without FCS) in bursts of 64: testpmd in mode `txonly`, Eagre with
  `measure: false`. testpmd writes the headers of every packet; Eagre does not rewrite what a buffer already holds.
- **P1 to P4** twice: through Eagre's `null`, which has no driver, and through `vdev:net_null0`, the driver that testpmd sends
  through. There, freeing the frames one by one takes much of Eagre's time.
- **P7, receiving**: a worker sends signed packets by XDP live frames into a veth, and does the kernel's work at its other end. The
  same worker receives them, or a second one; of the second's time that counts in which it had something to do. What sending costs,
  with a program at the other end that drops, is taken off.
- **P7** counts packets that leave the far end of the veth pair, for both tools. The sending thread does the kernel's work for the
  far end; it is part of its CPU time. Live frames and AF_XDP are both Eagre's, with P3's packets, into a far end that drops by XDP.
  (xdp-trafficgen needs a kernel with BTF of its tracepoints; the machines of RESULTS.md have none.)
- **P7o**: Eagre with `afxdp:veth0` and Eagre with `vdev:net_af_xdp0,iface=veth0`, which is DPDK's driver, in ordinary pages. Both ways: one
  worker sends at both ends as fast as it goes and receives what comes, so what is received counts. Start to traffic is from the start of
  the process to the result's `started`.
- **P2, P3, P4**: the peer's packets stay constant, as in P1. Eagre's packets vary, and the bench checks the IPv4 and UDP checksums
  of the first thousand itself before it measures.
- **peers**: one process each, on the worker's core, with the same packet (hping3's through the kernel's IPv4). Packets are counted
  at the far end of the pair. tcpreplay replays a capture of 1,000 such packets.
- **P8** is P3. The figure per CPU-second is per thread, times threads.
  Two workers leave no core for control and other programs on a machine with two cores.
- **P9** compares departures, as Eagre stamps them, with the schedule. Windows in which anything else had the core for more than a
  thousandth of the time are discarded. What the machine itself takes from a thread (interrupts, its hypervisor) is the last row: a
  program that does nothing but look at the clock, on the same core.
- **P10**: packets go through pipes to a checker with a bitmap of all addresses. The speed is that of pipe and checker.
- **P17** runs as user nobody. 'end − duration' is the program's total time besides sending: the first packet cannot be later.
- **P19**: 'requested' is the rate times the duration. Every packet not sent must be in `tx_unsent`, and the verdict must be
  `generator_limited`. The limit is measured before and after each rate near it, and a rate
  below it that falls short is tried again.
- **P20**: both are Eagre's, with the same packets. On `ring` a packet whose payload is not compared is not copied: all that the other
  case writes and reads is extra, and grows with the length.
- **P11–P15, P19 of sessions**: one worker has both ends, on `ring` ports; 'per CPU-second' refers to that worker. A session counts
  once for both ends, and only if it did what it should; a run with a failed session has no figure. The figures of WARP17 and TRex
  are not from this run: also both ends on one core, measured once on a machine of this kind. WARP17 closes by a reset after 8
  packets; Eagre needs 5, because acknowledgements travel with data. An HTTP request does not fit into fewer than some 60 bytes.
  Targets are those of a machine where testpmd makes 93 Mpps: beside each figure stands what it would be there, by the windows of
  testpmd that were measured in turn with it. On `ring` ports sessions compute no TCP and UDP checksums.
- **P12** is the peak resident memory, including huge pages, of a run with this many connections, less that of a run with 1,000,
  divided by the endpoints, two per connection. The connections are established and idle.
- **P15**: the peer is the crate's own benchmark (`edge/tls/benches/handshakes.rs`), on the worker's core and without a network:
  rustls as in its documentation, both ends, by wall clock. It runs before each window of sessions, which add TCP, one byte each way
  and a close; both figures are medians. Both verify the certificate against a root.
- **P21**: requests on connections that stay open, eight of them with a hundred requests at a time each; a request counts once for both
  ends. HTTP/3 is encrypted at both ends, the others are not. Its instructions are those of all threads under callgrind. A packet of QUIC
  counts once, although both ends are on the core: the long responses' packets, and those that acknowledge them. Handshakes are followed by
  one byte each way and a close; full ones verify the certificate against a root.
- **session-peers**: clients on the worker's core against the same server on the other core (a reader that discards; iperf3's own
  server; nginx with one process and an object of 1,000 bytes). Eagre polls, so its CPU time is the time that `busy_ratio` reports.
  Work that the kernel does for a client in its own threads is in nobody's CPU time; windows count from 90 % of the core. Against a
  server on one core, the wall clock says as much about the server. On a veth pair, iperf3 leaves segments of 64 KB whole, because
  nothing has to cut them. A generator makes packets, so the row beside it has the kernel cut and merge them.
- **instructions** are those of the worker thread under callgrind: they are repeatable, unlike clocks. Eagre's `null` has no driver;
  of testpmd's, those in `librte_net_null` are the driver's.
- **no driver**: all the time that a packet takes on `null`. Machines differ, so the figure beside it is scaled by testpmd's rate in
  the same rows.
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
