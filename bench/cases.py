"""The cases: what is run for each, and how its figure is made."""

import contextlib
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import demo as demos
import machine
import packets
from generators import COMMANDS, EAGRE, PROFILES, RUN, SHARE_MIN, Flood, Testpmd, eagre
from machine import CouldNotRun, OwnPair, VethPair


@dataclass
class Row:
    """One line of the table. `reached` is None where there is no target."""

    case: str
    what: str
    ours: str
    theirs: str
    figure: str
    target: str
    reached: bool | None
    noise: str


@dataclass
class Bench:
    """How thoroughly to measure, and where."""

    rounds: int
    seconds: float
    core: int
    control: int
    huge: bool
    note: object


class Series:
    """Windows of one kind. Those in which the worker did not have its core are discarded; if there is no other, the
    one with most of it is kept, and the noise says so."""

    def __init__(self, share_min):
        self.share_min, self.good, self.bad = share_min, [], []

    def add(self, window):
        (self.good if window.share >= self.share_min else self.bad).append(window)

    @property
    def kept(self):
        return self.good or [max(self.bad, key=lambda window: window.share)]

    def values(self, of):
        return [of(window) for window in self.kept]

    def median(self, of=lambda w: w.per_cpu):
        return statistics.median(self.values(of))

    def noise(self, of=lambda w: w.per_cpu):
        values = self.values(of)
        spread = f"{min(values):.4g}–{max(values):.4g}"
        if not self.good:
            return f"{spread}, the best of {len(self.bad)}: it had {100 * self.kept[0].share:.2f} % of its core"
        return f"{spread}, {len(self.bad)} of {len(self.bad) + len(self.good)} discarded"


# Windows tried for each that is wanted, on a machine that has other things to do.
ATTEMPTS = 4


def alternate(bench, *kinds, share_min=SHARE_MIN, attempts=ATTEMPTS):
    """Runs each kind in turn until each has enough windows in which its worker had its core."""
    series = [Series(share_min) for _ in kinds]
    for _ in range(attempts * bench.rounds):
        for one, kind in zip(series, kinds, strict=True):
            if len(one.good) < bench.rounds:
                one.add(kind())
        if all(len(one.good) >= bench.rounds for one in series):
            break
    return series


def mpps(value):
    return f"{value:.4g}"


def changed(case, profile, *changes):
    """A profile in which texts are replaced, as pairs of old and new."""
    changes = [(old, new) for old, new in changes if old != new]
    if not changes:
        return profile
    path = RUN / f"{profile}-{'-'.join(re.sub(r'[^A-Za-z0-9]+', '', new) for _, new in changes)}.yaml"
    script = "; ".join(f"s|{old}|{new}|" for old, new in changes)
    COMMANDS.note(case, ["sed", f"'{script}'", PROFILES / f"{profile}.yaml", ">", path])
    path.write_text(machine.call("sed", script, PROFILES / f"{profile}.yaml"))
    return path.with_suffix("")


def against(case, what, target, ours, theirs, of=lambda w: w.per_cpu):
    """A row of Eagre beside its peer."""
    ratio = ours.median(of) / theirs.median(of)
    noise = f"{ours.noise(of)}; peer {theirs.noise(of)}"
    wanted, reached = (f"≥ {target}×", ratio >= target) if target else ("", None)
    return Row(case, what, mpps(ours.median(of)), mpps(theirs.median(of)), f"{ratio:.2f}×", wanted, reached, noise)


# Rates of a machine: on the fastest of its kind testpmd makes so many Mpps.
TESTPMD_MPPS = 93


def without_driver(case, what, most, ours, theirs):
    """A row of the time that a packet takes where there is no driver, and what it would be if testpmd made 93 Mpps here."""
    scaled = 1000 / ours.median() * theirs.median() / TESTPMD_MPPS
    return Row(
        case, f"{what}: time for a packet, no driver", f"{1000 / ours.median():.2f} ns", "",
        f"{scaled:.2f} ns if testpmd made {TESTPMD_MPPS} Mpps", f"≤ {most} ns", scaled <= most, "",
    )  # fmt: skip


# The driver that testpmd sends through, for Eagre to send through, too.
PEERS_DRIVER = ('"null"', '"vdev:net_null0,no-rx=1"')


def generated(case, what, target, most_ns):
    """P1 to P4: packets on no wire, and through the very driver that the peer uses; testpmd's packets are all the same."""

    def run(bench):
        profile = case.lower()
        if case != "P1":
            packets.checksums(case, profile)

        def theirs():
            with Testpmd(case, "net_null0", bench.core, bench.control, bench.huge) as peer:
                return peer.window(bench.seconds)

        run = lambda profile: lambda: eagre(case, profile, seconds=bench.seconds)
        ours, through_driver, peer = alternate(bench, run(profile), run(changed(case, profile, PEERS_DRIVER)), theirs)
        yield against(case, what, target, ours, peer)
        if most_ns:
            yield without_driver(case, what, most_ns, ours, peer)
        yield against(case, "the same through the peer's driver, `vdev:net_null0`", None, through_driver, peer)

    return run


def measured(bench):
    """P5: transmit and measure on one core, with one stream and with many."""
    kinds = [lambda n=n: eagre("P5", f"p5-{n}", seconds=bench.seconds) for n in (1, 1000, 10000, 100000)]
    one, thousand, ten_thousand, hundred_thousand = alternate(bench, *kinds)
    rate = one.median()
    what = "transmit and measure every packet, `ring`, "
    yield Row("P5", what + "1 stream", mpps(rate), "", mpps(rate), "≥ 25", rate >= 25, one.noise())
    for streams, series, target in (("1,000", thousand, None), ("10,000", ten_thousand, 0.7), ("100,000", hundred_thousand, None)):
        ratio = series.median() / rate
        reached = None if target is None else ratio >= target
        yield Row(
            "P5", what + f"{streams} streams", mpps(series.median()), "", f"{ratio:.2f} × 1 stream",
            f"≥ {target} × 1 stream" if target else "", reached, series.noise(),
        )  # fmt: skip


def paced(bench):
    """P5p: the same with a slot of its own for each packet, which is of another stream than the one before, where there are several."""
    counts = (1, 10000, 100000)
    for n, series in zip(counts, alternate(bench, *(lambda n=n: eagre("P5p", f"p5p-{n}", seconds=bench.seconds) for n in counts)), strict=True):
        what = f"transmit and measure every packet, `ring`, {n:,} stream{'s' * (n > 1)}, paced"
        yield Row("P5p", what, mpps(series.median()), "", mpps(series.median()), "", None, series.noise())


def memif(bench):
    """P6: memif to a testpmd that takes everything in."""
    socket = RUN / "sink.sock"

    @contextlib.contextmanager
    def sink():
        socket.unlink(missing_ok=True)
        vdev = f"net_memif0,role=server,id=0,socket={socket},socket-abstract=no,rsize=10"
        with Testpmd("P6", vdev, bench.control, bench.control, bench.huge, mode="rxonly") as running:
            yield running

    def ours():
        with sink():
            return eagre("P6", "p6", seconds=bench.seconds)

    def theirs():
        vdev = f"net_memif0,role=client,id=0,socket={socket},socket-abstract=no,rsize=10"
        with sink(), Testpmd("P6", vdev, bench.core, bench.control, bench.huge) as peer:
            return peer.window(bench.seconds)

    ours, theirs = alternate(bench, ours, theirs)
    yield against("P6", "constant packet, memif to a testpmd sink", 0.95, ours, theirs)


def veth(bench):
    """P7: the kernel's ports on a veth pair. Counted where packets come out of it: what a driver says it sent may never
    have left."""
    devices = [
        ("AF_XDP", "p7-afxdp", "net_af_xdp0,iface=veth0,queue_count=1", ["--rxd=2048", "--txd=2048"]),
        ("AF_PACKET", "p7-afpacket", "net_af_packet0,iface=veth0,qpairs=1,framesz=2048,blocksz=65536,framecnt=1024", []),
    ]
    for name, profile, vdev, more in devices:
        with VethPair() as pair:
            near = pair.within(pair.near)

            def ours():
                before = pair.arrived()
                window = eagre("P7", profile, seconds=bench.seconds, inside=near)
                arrived = pair.arrived() - before
                if abs(arrived - window.packets) > window.packets / 1000:
                    bench.note(f"P7 {name}: Eagre says {window.packets} sent, {arrived} arrived")
                window.packets = arrived
                return window

            def theirs():
                with Testpmd("P7", vdev, bench.core, bench.control, bench.huge, inside=near, more=more) as peer:
                    return peer.window(bench.seconds, pair.arrived)

            ours, theirs = alternate(bench, ours, theirs)
        what = f"constant packet, {name} on veth"
        yield against("P7", what, 0.95, ours, theirs)
        yield against("P7", what + ", by wall clock", 0.95, ours, theirs, lambda w: w.wall)
    yield from live_frames(bench)
    yield from recorded(bench)


def live_frames(bench):
    """P7: XDP live frames against AF_XDP, each Eagre's, into an interface that drops by XDP."""
    with VethPair() as pair, pair.dropping_by_xdp():
        near = pair.within(pair.near)

        def window(profile):
            before = pair.arrived()
            window = eagre("P7", profile, seconds=bench.seconds, inside=near)
            window.packets = pair.arrived() - before
            return window

        live, af_xdp = alternate(bench, lambda: window("p7-xdp-fields"), lambda: window("p7-afxdp-fields"))
    what = "4 varying fields (P3), XDP live frames against AF_XDP, both Eagre's, on veth"
    yield against("P7", what, 3, live, af_xdp)
    yield against("P7", what + ", by wall clock", None, live, af_xdp, lambda w: w.wall)


def recorded(bench):
    """P7: test packets that the kernel records against frames by AF_XDP, each Eagre's. A worker sends live frames into the veth and
    runs what the kernel does at its other end. The same one measures, so that nothing is lost, or a second one, so that as much is
    received as can be. Taken off is what the same frames cost if the other end drops them by XDP."""
    what = "receiving and measuring, recorded by the kernel against AF_XDP, both Eagre's, on veth"
    with OwnPair() as pair:
        near = pair.within(pair.near)

        def window(profile, *flags):
            with pair.dropping_by_xdp():
                dropped = eagre("P7", "p7-receive-dropped", seconds=bench.seconds, inside=near)
            window = eagre("P7", profile, *flags, seconds=bench.seconds, inside=near)
            workers = window.document["workers"]
            if len(workers) > 1:
                # The first never rests. Of the second's time only that counts in which there was something to receive.
                window.cpu_s = window.wall_s * window.share + workers[1]["cpu_s"] * workers[1]["busy_ratio"]
            window.cpu_s -= window.packets * dropped.cpu_s / dropped.packets
            window.packets = window.document["streams"]["signed"]["rx"]
            return window

        for flags, where in (((), "one core for both ends"), (("--cores", "2"), "a core for each end")):
            kinds = [lambda profile=profile: window(profile, *flags) for profile in ("p7-receive-xdp", "p7-receive-afxdp")]
            yield against("P7", f"{what}, {where}", 3, *alternate(bench, *kinds))


# DPDK's driver in the place of ours, for each end.
DPDKS_DRIVER = {f"veth{end}": (f'"afxdp:veth{end}"', f'"vdev:net_af_xdp{end},iface=veth{end}"') for end in (0, 1)}


def own_driver(bench):
    """P7o: our AF_XDP driver against DPDK's, each Eagre's, in turn on one veth pair: sending, receiving, both at once; how soon the first
    packet leaves, and in how much memory."""
    what = "our AF_XDP driver against DPDK's, both Eagre's, on veth"

    def kinds(profile, *ends):
        return profile, changed("P7o", profile, *(DPDKS_DRIVER[end] for end in ends))

    with VethPair() as pair:
        near = pair.within(pair.near)

        def sent(profile):
            before = pair.arrived()
            window = eagre("P7o", profile, seconds=bench.seconds, inside=near)
            window.packets = pair.arrived() - before
            return window

        both = alternate(bench, *(lambda profile=profile: sent(profile) for profile in kinds("p7-afxdp", "veth0")))
        yield against("P7o", f"{what}: sending", 1, *both)
        yield against("P7o", f"{what}: sending, by wall clock", 1, *both, lambda w: w.wall)
        yield from first_packet(bench, what, near, kinds("p7-afxdp", "veth0"))
    with OwnPair() as pair:
        near = pair.within(pair.near)

        def received(profile):
            window = eagre("P7o", profile, seconds=bench.seconds, inside=near)
            window.packets = sum(stream["rx"] for stream in window.document["streams"].values())
            return window

        cases = (("receiving what live frames send", "p7-receive-afxdp", ["veth1"]), ("both ways", "p7-both-afxdp", ["veth0", "veth1"]))
        for name, profile, ends in cases:
            both = alternate(bench, *(lambda profile=profile: received(profile) for profile in kinds(profile, *ends)))
            yield against("P7o", f"{what}: {name}", 1, *both)
            yield against("P7o", f"{what}: {name}, by wall clock", 1, *both, lambda w: w.wall)


def first_packet(bench, what, near, profiles):
    """From the start of the program to traffic, and the most memory that it had: of each driver, in turn."""
    soon, megabytes = ([], []), ([], [])
    for _ in range(2 * bench.rounds):
        for kind, profile in enumerate(profiles):
            command = [*near, EAGRE, "run", PROFILES / f"{profile}.yaml", "--duration", "200ms", "--json", "-"]
            COMMANDS.note("P7o", command)
            begin = time.time()
            process = subprocess.Popen([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            document = process.stdout.read()
            _, _, usage = os.wait4(process.pid, 0)
            process.returncode = 0
            process.stdout.close()
            soon[kind].append(datetime.fromisoformat(json.loads(document)["started"]).timestamp() - begin)
            megabytes[kind].append(usage.ru_maxrss / 1024)
    for name, unit, values, most, digits in (("start to traffic", "s", soon, 0.2, 3), ("resident memory", "MB", megabytes, None, 0)):
        ours, theirs = (statistics.median(one) for one in values)
        noise = "; peer ".join(f"{min(one):.{digits}f}–{max(one):.{digits}f}" for one in values)
        target, reached = (f"≤ {most}×", ours / theirs <= most) if most else ("", None)
        yield Row("P7o", f"{what}: {name}", f"{ours:.{digits}f} {unit}", f"{theirs:.{digits}f} {unit}", f"{ours / theirs:.2f}×", target, reached, noise)


def peers(bench):
    """Other generators' floods of the same packet into the same veth pair, each on the worker's core, beside Eagre's."""
    missing = [tool for tool in ("trafgen", "hping3", "tcpreplay") if not shutil.which(tool)]
    if missing:
        raise CouldNotRun(f"not installed: {' '.join(missing)}; see tools/setup bench")
    frame = packets.constant_udp()
    config, capture = RUN / "flood.cfg", RUN / "flood.pcap"
    config.write_text("{ " + ", ".join(f"0x{byte:02x}" for byte in frame) + " }\n")
    capture.write_bytes(packets.capture_of(frame, 1000))
    floods = {
        "trafgen": ["trafgen", "--dev", "veth0", "--conf", config, "--cpus", 1],
        "tcpreplay": ["tcpreplay", "-i", "veth0", "--topspeed", "--preload-pcap", "--no-flow-stats", "--loop", 0, capture],
        "hping3": ["hping3", "--flood", "-q", "-I", "veth0", "--udp", "-s", 9, "-k", "-p", 9, "-d", 18, "198.18.0.2"],
    }
    with VethPair() as pair:
        # hping3 sends through the kernel's IPv4, which needs a route and a neighbour.
        machine.call("ip", "-n", pair.near, "address", "add", "198.18.0.1/24", "dev", "veth0")
        near = pair.within(pair.near)

        def ours(profile):
            before = pair.arrived()
            window = eagre("peers", profile, seconds=bench.seconds, inside=near)
            window.packets = pair.arrived() - before
            return window

        def theirs(command):
            # Drivers take the interface down and up, and the kernel forgets its neighbours.
            neighbour = ["198.18.0.2", "lladdr", "02:00:00:00:00:00", "dev", "veth0", "nud", "permanent"]
            machine.call("ip", "-n", pair.near, "neighbour", "replace", *neighbour)
            with Flood("peers", [*near, "taskset", "--cpu-list", bench.core, *command]) as flood:
                return flood.window(bench.seconds, pair.arrived)

        af_packet, af_xdp, *others = alternate(
            bench, lambda: ours("p7-afpacket"), lambda: ours("p7-afxdp"), *(lambda c=command: theirs(c) for command in floods.values()),
        )  # fmt: skip
    for peer, series in zip(floods, others, strict=True):
        for name, window in (("AF_PACKET", af_packet), ("AF_XDP", af_xdp)):
            yield against("peers", f"constant packet, {name} on veth against {peer}, by wall clock", None, window, series, lambda w: w.wall)


def cores(bench):
    """P8: from one worker core to two."""
    if len(os.sched_getaffinity(0)) < 2:
        raise CouldNotRun("P8 needs two cores")
    run = lambda cores: eagre("P8", "p3", "--cores", cores, seconds=bench.seconds)
    one, two = alternate(bench, lambda: run(1), lambda: run(2))
    what = "4 varying fields (P3), `null`, 1 → 2 worker cores"
    for text, of in ((what, lambda w: w.packets / w.cpu_s * len(w.document["workers"]) / 1e6), (what + ", by wall clock", lambda w: w.wall)):
        ratio = two.median(of) / one.median(of)
        yield Row("P8", text, f"{mpps(one.median(of))} → {mpps(two.median(of))}", "", f"{ratio:.2f}×", "≥ 1.9×", ratio >= 1.9, f"{one.noise(of)}; two {two.noise(of)}")


# A core on which something else runs for more than a thousandth of the time is not otherwise idle.
IDLE_SHARE_MIN = 0.999


def pacing(bench):
    """P9: one million packets a second, evenly, on a core that is otherwise idle: short windows, the sooner one is so."""
    (series,) = alternate(bench, lambda: eagre("P9", "p9", seconds=1), share_min=IDLE_SHARE_MIN, attempts=3 * ATTEMPTS)
    pacing_ns = lambda key: lambda w: w.document["ports"]["west"]["pacing_ns"][key]
    rate_error = lambda w: abs(w.packets / w.wall_s / 1e6 - 1)
    measures = [
        ("gaps back to back", lambda w: 100 * pacing_ns("back_to_back_ratio")(w), 0.1, " %"),
        ("gap error, p99", pacing_ns("error_p99"), 1000, " ns"),
        ("mean rate error", lambda w: 100 * rate_error(w), 0.01, " %"),
    ]
    for what, of, most, unit in measures:
        value = series.median(of)
        yield Row("P9", f"1 Mpps on `ring`: {what}", f"{value:.3g}{unit}", "", f"{value:.3g}{unit}", f"≤ {most:g}{unit}", value <= most, series.noise(of))
    yield machine_pauses(bench)


def machine_pauses(bench):
    """Beside P9: instants, one each microsecond, that pass while a loop which only looks at the clock is kept from the same core."""
    shares, longest = [], []
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder) / "pauses"
        machine.call("cc", "-O2", "-o", program, Path(__file__).resolve().parent / "pauses.c")
        for _ in range(bench.rounds):
            instants, missed, most = map(int, machine.call(program, bench.core, 1).split())
            shares.append(100 * missed / instants)
            longest.append(most / 1e3)
    share = statistics.median(shares)
    return Row(
        "P9", "the machine itself: departures at 1 Mpps that a loop which only looks at the clock would miss", "", f"{share:.3g} %",
        f"{share:.3g} %; longest pause {statistics.median(longest):.0f} µs", "", None, f"{min(shares):.3g}–{max(shares):.3g}",
    )  # fmt: skip


# Addresses in the range of P10.
RANGE = 1 << 24


def distinct(bench):
    """P10: as many packets as a range has addresses have as many addresses, counted where a capture device writes them."""
    with tempfile.TemporaryDirectory() as folder:
        check = Path(folder) / "distinct"
        machine.call("cc", "-O2", "-o", check, Path(__file__).resolve().parent / "distinct.c")
        for workers in range(1, min(2, len(os.sched_getaffinity(0))) + 1):
            yield distinct_by(check, workers)


def distinct_by(check, workers):
    pipes = [RUN / f"p10-{queue}.pcap" for queue in range(workers)]
    for pipe in pipes:
        pipe.unlink(missing_ok=True)
        os.mkfifo(pipe)
    checker = machine.start([check, *pipes], stdout=subprocess.PIPE)
    try:
        window = eagre("P10", f"p10-{workers}", "--cores", workers, seconds=60)
        out, _ = checker.communicate(timeout=10)
    except subprocess.TimeoutExpired:
        raise CouldNotRun("P10: the check did not end") from None
    finally:
        machine.stop(checker)
        for pipe in pipes:
            pipe.unlink(missing_ok=True)
    if checker.returncode != 0:
        raise CouldNotRun("P10: what came was no capture")
    seen, different, others = map(int, out.split())
    used = sum(worker["busy_ratio"] > 0 for worker in window.document["workers"])
    return Row(
        "P10", f"2²⁴ packets over 2²⁴ addresses, `rate: max` into a capture device, {used} worker{'s' * (used > 1)}",
        f"{mpps(window.wall)} (by wall clock)", "", f"{different:,} distinct of {seen:,}, {others} outside the range",
        f"{RANGE:,} before the first repeat", seen == different == RANGE and used == workers, "",
    )  # fmt: skip


def histograms(bench):
    """P16: what keeping latency histograms costs."""
    run = lambda *flags: eagre("P16", "p5-1", *flags, seconds=bench.seconds)
    with_them, without = alternate(bench, run, lambda: run("--no-histograms"))
    cost = without.median() / with_them.median() - 1
    yield Row(
        "P16", "P5 with histograms against `--no-histograms`", mpps(with_them.median()), f"{mpps(without.median())} without",
        f"{100 * cost:.0f} % more time", "≤ 25 %", cost <= 0.25, f"{with_them.noise()}; without {without.noise()}",
    )  # fmt: skip


def integrity(bench):
    """P20: payloads that are compared against those that are not, where a device can be: there packets are copied. In memory nothing
    else looks at a payload; it has no target."""
    for size in ("128B", "imix", "1518B"):
        sized = ("128B", size)
        run = lambda *changes: lambda: eagre("P20", changed("P20", "p20", sized, *changes), seconds=bench.seconds)
        full, signature = alternate(bench, run(), run(("full", "signature")))
        yield against("P20", f"`integrity: full` against `signature`, `ring`, {size}", None, full, signature)
    with OwnPair() as pair:
        near = pair.within(pair.near)
        run = lambda *changes: lambda: eagre("P20", changed("P20", "p20-veth", *changes), seconds=bench.seconds, inside=near)
        full, signature = alternate(bench, run(), run(("full", "signature")))
    yield against("P20", "`integrity: full` against `signature`, AF_PACKET on veth, 1514B", 0.5, full, signature)


def demo(bench):
    """P17: `eagre demo` by an ordinary user: how soon, and in how much memory."""
    with demos.copies(EAGRE) as (command,):
        COMMANDS.note("P17", ["eagre", *command[1:]])
        runs = [demos.run(command) for _ in range(bench.rounds)]
    stated, at_most, megabytes = ([getattr(run, name) for run in runs] for name in ("started_s", "around_s", "megabytes"))
    spread = lambda values, digits: f"{min(values):.{digits}f}–{max(values):.{digits}f}"
    soon, memory = statistics.median(stated), statistics.median(megabytes)
    bound = statistics.median(at_most)
    yield Row(
        "P17", "`eagre demo`: start to traffic", f"{soon:.3f} s", "", f"{soon:.3f} s (end − duration: {bound:.3f} s)", "≤ 0.5 s",
        bound <= 0.5, f"{spread(stated, 3)} ({spread(at_most, 3)})",
    )  # fmt: skip
    yield Row("P17", "`eagre demo`: resident memory", f"{memory:.0f} MB", "1,200 MB (Pktgen-DPDK)", f"{memory:.0f} MB", "≤ 200 MB", memory <= 200, spread(megabytes, 0))


def delivered(bench):
    """P19: delivered ÷ requested from 1 kpps to twice what the worker can do, and what the result says beyond."""
    for streams in (1, 1000):
        yield delivered_by(bench, streams)


def delivered_by(bench, streams):
    seconds = min(bench.seconds, 1)

    def at(pps):
        """A run at a rate of all streams together, undisturbed if that can be had."""
        for _ in range(ATTEMPTS):
            window = eagre("P19", f"p5-{streams}", "--rate", f"{pps / streams:.6f}pps", seconds=seconds)
            if window.share >= SHARE_MIN:
                break
        return window

    def deliver(pps):
        window, asked = at(pps), pps * seconds
        due = window.packets + sum(port["tx_unsent"] for port in window.document["ports"].values())
        is_wrong = abs(due - asked) > streams + asked / 1e6
        return window, window.packets / due, [f"{asked:.0f} packets asked for, {due} sent or stated as unsent"] * is_wrong

    # Offered more than anybody could send, it sends what it can.
    limit = lambda: at(1e9).wall * 1e6
    what = f"20 rates from 1 kpps to twice the limit, {streams:,} stream{'s' * (streams > 1)}"
    return all_delivered(bench, what, "", 1000, limit, deliver, lambda pps: f"{pps / 1e6:.3g} Mpps")


# Shares of the limit: rates around it and to twice as much.
AROUND = [0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 1.1, 1.25, 1.5, 2]


def all_delivered(bench, what, peer, lowest, limit, deliver, said, attempts=ATTEMPTS):
    """The row of P19: what is delivered at ten rates in equal ratios from `lowest` to half of the limit, and at ten around it.

    `deliver` runs at a rate; it returns the window, the share that was delivered, and what the result does not say. What a worker
    can do changes on a machine that others use, too: the limit is measured before and after each rate near it, and a rate below it
    that falls short is tried again.
    """
    broken, disturbed, again, full, worst, short = [], 0, 0, 0.0, (1.0, 0.0), 0

    def run(rate, before, measured):
        """Runs at a rate between two measurements of the limit; returns the second."""
        nonlocal disturbed, again, full, worst, short
        for attempt in range(attempts):
            (window, ratio, wrong), after = deliver(rate), measured()
            broken.extend(f"{what}: {said(rate)}: {line}" for line in wrong)
            if ratio < 0.999 and not window.document["verdict"]["generator_limited"]:
                broken.append(f"{what}: {said(rate)}: {ratio:.4f} delivered and not called limited")
            share = rate / min(before, after)
            if ratio >= 0.999 or share >= 1:
                break
            before = after
        again += attempt
        disturbed += window.share < SHARE_MIN
        short += ratio < 0.999
        full = max(full, share) if ratio >= 0.999 else full
        # A worker without its core can do less than the limit; what it can't, it must still state.
        if share < 1 and window.share >= SHARE_MIN:
            worst = min(worst, (ratio, share))
        return after

    limits = [limit()]
    for i in range(10):
        run(lowest * (limits[0] / lowest / 2) ** (i / 9), limits[0], lambda: limits[0])
    for share in AROUND:
        limits.append(run(limits[-1] * share, limits[-1], limit))
    if disturbed == 20:
        raise CouldNotRun(f"P19, {what}: no worker had its core")
    for line in broken:
        bench.note(f"P19, {line}")
    where = f" (at {worst[1]:.2f} of it)" if worst[0] < 1 else ""
    stated = "NOT all stated" if broken else "each stated" if short else "none short"
    return Row(
        "P19", what, f"limit {said(statistics.median(limits))} (by wall clock)", peer,
        f"{worst[0]:.5f} at worst below the limit{where}; in full up to {full:.2f} of it; {short} fell short, {stated}",
        "≥ 0.999, shortfall stated", worst[0] >= 0.999 and not broken,
        f"limit {said(min(limits))}–{said(max(limits))}, the lower of before and after counts; {again} tried again; {disturbed} of 20 disturbed, and not in the first figure",
    )  # fmt: skip


def instructions(bench):
    """What clocks on a shared machine cannot say twice: instructions the worker spends on a packet.

    The difference between a longer and a shorter run, which leaves out how they begin and end.
    """
    if not shutil.which("valgrind"):
        raise CouldNotRun("valgrind is not installed")
    for profile, what in (("p1", "P1"), ("p2", "P2"), ("p3", "P3"), ("p4", "P4"), ("p5-1", "P5, 1 stream"), ("p5-10000", "P5, 10,000 streams"), ("p20", "P20, 128 B")):
        costs = []
        for _ in range(2):
            (short, packets_short), (long, packets_long) = count(profile, 1), count(profile, 3)
            costs.append((long - short) / (packets_long - packets_short))
        cost = statistics.mean(costs)
        yield Row("instructions", f"{what}: worker's instructions for one packet", f"{cost:.0f}", "", "", "", None, f"{min(costs):.1f}–{max(costs):.1f}")
    total, driver = of_testpmd(bench)
    yield Row("instructions", "P1 by testpmd: its forwarding thread's", "", f"{total:.0f}", f"{total - driver:.0f} outside the driver", "", None, "")


# EAL cannot reserve addresses for huge pages under valgrind.
WITHOUT_HUGE_PAGES = [
    "unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /sys/kernel/mm/hugepages && exec "$@"', "sh",
]  # fmt: skip


def callgrind(folder):
    """The command that counts a program's instructions, by thread, into files of a folder."""
    options = ["--fair-sched=yes", "--separate-threads=yes", "--trace-children=yes", f"--callgrind-out-file={folder}/callgrind-%p"]
    return [*WITHOUT_HUGE_PAGES, "valgrind", "--tool=callgrind", *options]


def counted(folder):
    """Instructions by object file of the thread that has most: no other one of the program works as much."""
    threads = [by_object(file) for file in Path(folder).glob("callgrind-*")]
    return max(threads, key=lambda thread: sum(thread.values()))


def by_object(file):
    """Instructions of a thread by the object file they are in, from callgrind's format."""
    costs, names, current, is_call = Counter(), {}, None, False
    for line in file.read_text().splitlines():
        if named := re.match(r"(c?)ob=\((\d+)\)(?: (.*))?", line):
            called, number, name = named.groups()
            names.setdefault(number, name)
            current = current if called else number
        elif line.startswith("calls="):
            # What the next line says belongs to the function that is called.
            is_call = True
        elif cost := re.match(r"[-+*\d]\S* (\d+)$", line):
            costs[names.get(current)] += 0 if is_call else int(cost[1])
            is_call = False
    return costs


def count(profile, seconds):
    """Instructions of the worker thread, and packets, of a run under callgrind."""
    with tempfile.TemporaryDirectory() as folder:
        window = eagre("instructions", profile, seconds=seconds, inside=callgrind(folder))
        return sum(counted(folder).values()), window.packets


def of_testpmd(bench):
    """Instructions of testpmd for a packet: of its forwarding thread, and of the driver in it."""
    with tempfile.TemporaryDirectory() as folder:
        with Testpmd("instructions", "net_null0", bench.core, bench.control, False, inside=callgrind(folder)) as peer:
            peer.window(3)
            peer.tell("stop")
            sent, _ = peer.wait(lambda: peer.is_stopped() and peer.count(), "its end", 30)
        costs = counted(folder)
        driver = sum(cost for name, cost in costs.items() if name and "librte_net_null" in name)
        return sum(costs.values()) / sent, driver / sent


CASES = {
    "P1": generated("P1", "one constant 64 B UDP packet, `null`", 2.5, 7),
    "P2": generated("P2", "1 counter field, checksums right, `null`", 2, 10),
    "P3": generated("P3", "4 varying fields, 2 of them random, checksums right, `null`", 1.2, 15),
    "P4": generated("P4", "P2 with the signature in every packet, `null`", 1.2, None),
    "P5": measured,
    "P5p": paced,
    "P6": memif,
    "P7": veth,
    "P7o": own_driver,
    "peers": peers,
    "P8": cores,
    "P9": pacing,
    "P10": distinct,
    "P16": histograms,
    "P17": demo,
    "P19": delivered,
    "P20": integrity,
    "instructions": instructions,
}
