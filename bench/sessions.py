"""The cases of sessions, TCP and what goes over it: what is run for each, and how its figure is made.

Figures are per CPU-second of the worker, which has both ends of `ring` ports; on a veth pair it has the client's alone.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import cases
import machine
from cases import Row, changed
from generators import COMMANDS, RUN, SHARE_MIN, Testpmd, Window, eagre
from machine import REPO, CouldNotRun, ServedPair

# What others do per CPU-second with both ends on one core, measured once on a machine of this kind.
WARP17_RAW, WARP17_HTTP = 743e3, 435e3
TREX_FIN, TREX_HTTP = 390e3, (48e3, 64e3)
WARP17_BYTES, TREX_BYTES = 320, 1200


def attempts(bench):
    """Windows tried for each that is wanted; a quick run is to be quick on a machine with other things to do as well."""
    return 2 if bench.rounds < 3 else cases.ATTEMPTS


def alternate(bench, *kinds, share_min=SHARE_MIN):
    return cases.alternate(bench, *kinds, share_min=share_min, attempts=attempts(bench))


def of_sessions(window, key):
    """What the only entry of sessions counted."""
    (entry,) = window.document["sessions"].values()
    return entry[key]


def counted(window, key):
    """The window of a run, of what its sessions counted instead of packets. None may have failed."""
    failed = {reason: n for reason, n in of_sessions(window, "failed").items() if reason != "aborted"}
    if failed:
        raise CouldNotRun(f"sessions failed: {failed}")
    return replace(window, packets=of_sessions(window, key))


def sessions(case, profile, *changes, key="transactions"):
    """A kind of window: sessions of a profile that did what they should."""
    return lambda bench: counted(eagre(case, changed(case, profile, *changes), seconds=bench.seconds), key)


def thousands(per_s):
    return f"{per_s / 1e3:,.4g} k/s" if per_s < 1e6 else f"{per_s / 1e6:.4g} M/s"


def testpmd(bench, case):
    """A kind of window: how fast the machine is just now, by testpmd's constant packet."""

    def window():
        with Testpmd(case, "net_null0", bench.core, bench.control, bench.huge) as peer:
            return peer.window(bench.seconds)

    return window


def row(case, what, series, target=None, peer=None, name=None, beside=None):
    """A row of so many a CPU-second, beside a peer's figure from elsewhere. A target is of a machine where testpmd makes 93 Mpps; it
    is held against the figure scaled by what testpmd makes in the same run, `beside`."""
    rate = 1e6 * series.median()
    figure = f"{rate / peer:.2f} × {name}" if peer else thousands(rate)
    noise = f"{series.noise(lambda w: 1e3 * w.per_cpu)} (k/s)"
    scaled = rate
    if beside:
        scaled = rate * cases.TESTPMD_MPPS / beside.median()
        figure += f"; {thousands(scaled)} if testpmd made {cases.TESTPMD_MPPS} Mpps"
        noise += f"; testpmd beside {cases.mpps(beside.median())} Mpps"
    return Row(
        case, what, f"{thousands(rate)} per CPU-second", f"{thousands(peer)} ({name})" if peer else "", figure,
        f"≥ {thousands(target)}" if target else "", scaled >= target if target else None, noise,
    )  # fmt: skip


def raw(bench):
    """P11: open, request, response, close. By size, as WARP17 tells it; by how many at a time; and closed by FINs."""
    sizes = ("8B", "64B", "1024B", "8192B") if bench.rounds < 3 else ("8B", "64B", "512B", "1024B", "8192B")
    http_sizes = [size for size in sizes if int(size[:-1]) >= 128]
    many = ("10000", "100000")
    kinds = [
        *(sessions("P11", "p11", ("64B", size)) if size != "64B" else sessions("P11", "p11") for size in sizes),
        *(sessions("P11", "p11", ("concurrent: 64", f"concurrent: {n}")) for n in many),
        sessions("P11", "p11-fin"),
        *(sessions("P11", "p13", ("256B", size)) for size in http_sizes),
    ]
    beside, *series = alternate(bench, testpmd(bench, "P11"), *(lambda kind=kind: kind(bench) for kind in kinds))
    series = iter(series)
    what = "TCP open, request, response, close by reset, `ring`, both ends on one core, "
    for size in sizes:
        small = int(size[:-1]) <= 64
        yield row("P11", f"{what}{size} each way", next(series), *((1.5e6, WARP17_RAW, "WARP17") if small else ()), beside=beside)
    for n in many:
        target = 1.2e6 if n == "100000" else None
        yield row("P11", f"{what}64B each way, {int(n):,} at a time", next(series), target, WARP17_RAW, "WARP17", beside)
    fin = "TCP with timestamps and SACK, closed by FINs, 64B each way, both ends on one core"
    yield row("P11", fin, next(series), 1.1e6, TREX_FIN, "TRex, FIN", beside)
    for size in http_sizes:
        target = 600e3 if size == "8192B" else None
        yield row("P11", f"HTTP GET/200, new connection each, {size} each way", next(series), target, beside=beside)


def memory(bench):
    """P12: what established connections add to what the program takes without them."""
    connections, seconds = (1_000_000, 8) if bench.rounds < 3 else (10_000_000, 60)
    few = 1000
    (base, _), (most, window) = resident(few, 2), resident(connections, seconds)
    established = of_sessions(window, "active_max")
    if established != connections or of_sessions(window, "failed"):
        raise CouldNotRun(f"P12: {established} of {connections} connections established, failed: {of_sessions(window, 'failed')}")
    cost = (most - base) / (2 * (connections - few))
    yield Row(
        "P12", f"memory of an established TCP endpoint, {2 * connections / 1e6:.0f} M of them", f"{cost:.1f} B",
        f"{WARP17_BYTES} B (WARP17), {TREX_BYTES:,} B (TRex)", f"{cost:.1f} B", "≤ 140 B", cost <= 140,
        f"{most / 2**20:,.0f} MiB at most, {base / 2**20:.0f} MiB with {few:,} connections",
    )  # fmt: skip


def resident(connections, seconds):
    """The most memory a run with so many connections takes, bytes, huge pages too; and its window."""
    most = 0

    def watch(process):
        nonlocal most
        while process.poll() is None:
            try:
                status = Path(f"/proc/{process.pid}/status").read_text()
            except OSError:
                break
            sizes = dict(re.findall(r"^(VmHWM|HugetlbPages):\s+(\d+) kB$", status, re.MULTILINE))
            most = max(most, 1024 * sum(map(int, sizes.values())))
            time.sleep(0.05)

    profile = changed("P12", "p12", ("concurrent: 1000", f"concurrent: {connections}"))
    window = eagre("P12", profile, seconds=seconds, watch=watch)
    return most, window


def http(bench):
    """P13: GET and 200 over a new connection each."""
    changes = ((), (("concurrent: 64", "concurrent: 10000"),))
    kinds = (lambda c=c: sessions("P13", "p13", *c)(bench) for c in changes)
    beside, few, many = alternate(bench, testpmd(bench, "P13"), *kinds)
    what = "HTTP/1.1 GET/200, new connection each, 256B each way, `ring`, both ends on one core"
    yield row("P13", what, few, 1e6, WARP17_HTTP, "WARP17", beside)
    yield row("P13", what + ", 10,000 at a time", many, None, WARP17_HTTP, "WARP17", beside)


def goodput(bench):
    """P14: bulk, and TRex's HTTP."""
    beside, bulk, pages = alternate(
        bench, testpmd(bench, "P14"), lambda: counted(eagre("P14", "p14-bulk", seconds=bench.seconds), "tx_bytes_goodput"), lambda: sessions("P14", "p14-http")(bench)
    )  # fmt: skip
    gbps = lambda w: 8 * w.per_cpu / 1e3
    rate = bulk.median(gbps)
    scaled = rate * cases.TESTPMD_MPPS / beside.median()
    yield Row(
        "P14", "bulk TCP, 1460 B segments, `ring`, both ends on one core", f"{rate:.1f} Gb/s per CPU-second", "",
        f"{rate:.1f} Gb/s; {scaled:.1f} Gb/s if testpmd made {cases.TESTPMD_MPPS} Mpps", "≥ 80 Gb/s", scaled >= 80,
        f"{bulk.noise(gbps)}; testpmd beside {cases.mpps(beside.median())} Mpps",
    )  # fmt: skip
    what = "HTTP 100 B → 32 KB, new connection each, `ring`, both ends on one core"
    yield row("P14", what, pages, 200e3, TREX_HTTP[1], "TRex, zero-copy", beside)


# Requests on connections that stay open: name of the profile, what, target of a machine where testpmd makes 93 Mpps.
STREAMS = (
    ("p21-h2", "HTTP/2 in the clear, GET/200, 1 KB", 300e3),
    ("p21-h3", "HTTP/3 over QUIC, GET/200, 1 KB", 150e3),
    ("p21-grpc", "gRPC in the clear, unary calls, 64 B → 1 KB", None),
)


# Connections of QUIC: name of the profile, what is counted, and its target.
CONNECTIONS = (
    ("p21-quic-full", "full QUIC handshakes, X25519, ECDSA P-256, and one byte each way", 1200),
    ("p21-quic-resumed", "resumed QUIC handshakes, X25519, and one byte each way", 1800),
)


def streams(bench):
    """P21: a hundred requests at a time on each of eight connections, handshakes, packets of long responses; instructions of a request."""
    profiles = [profile for profile, _, _ in STREAMS + CONNECTIONS]
    kinds = [lambda profile=profile: sessions("P21", profile)(bench) for profile in profiles]

    def packets():
        window = eagre("P21", "p21-quic-bulk", seconds=bench.seconds)
        counted(window, "transactions")
        return window

    beside, *series, bulk = alternate(bench, testpmd(bench, "P21"), *kinds, packets)
    series = iter(series)
    for _, what, target in STREAMS:
        yield row("P21", f"{what}, 8 connections with 100 streams, `ring`, both ends on one core", next(series), target, beside=beside)
    for _, what, target in CONNECTIONS:
        yield row("P21", f"{what}, `ring`, both ends on one core", next(series), target, beside=beside)
    yield row("P21", "QUIC packets of responses of 1 MB by HTTP/3, sent and received, `ring`, both ends on one core", bulk, 1e6, beside=beside)
    if not shutil.which("valgrind"):
        bench.note("P21: no instructions: valgrind is not installed")
        return
    for profile, what, _ in STREAMS:
        costs = [instructions(profile) for _ in range(2)]
        yield Row(
            "P21", f"{what}: instructions for one request, both ends", f"{statistics.mean(costs):,.0f}", "", "", "", None,
            f"{min(costs):,.0f}–{max(costs):,.0f}",
        )  # fmt: skip


def instructions(profile):
    """Instructions for a request: the difference between a longer and a shorter run, which leaves out how they begin and end."""

    def count(seconds):
        with tempfile.TemporaryDirectory() as folder:
            window = eagre("P21", profile, seconds=seconds, inside=cases.callgrind(folder))
            # Of all threads: that which seeds the random numbers of TLS has more than the worker of a short run.
            spent = sum(sum(cases.by_object(file).values()) for file in Path(folder).glob("callgrind-*"))
            return spent, of_sessions(window, "transactions")

    (short, few), (long, many) = count(1), count(3)
    return (long - short) / (many - few)


def handshakes(bench):
    """P15: full TLS 1.3 handshakes in sessions beside rustls alone, which a benchmark of the crate measures, in turn."""
    command, seam, alone = handshakes_command(), [], []

    def run():
        if command and len(alone) < bench.rounds:
            for rates, rate in zip((seam, alone), handshakes_alone(bench, command), strict=True):
                rates.append(rate)
        return sessions("P15", "p15")(bench)

    (ours,) = alternate(bench, run)
    what = "full TLS 1.3 handshakes, X25519, ECDSA P-256, both ends on one core"
    in_sessions = what + ", in sessions over TCP on `ring`"
    if not alone:
        bench.note("P15: no figure of rustls alone: cargo is not installed")
        yield row("P15", in_sessions, ours)
        return
    peer, noise = statistics.median(alone), f"peer {min(alone):,.0f}–{max(alone):,.0f}"
    for text, value, target in ((in_sessions, 1e6 * ours.median(), 0.9), (what + ", the crate `tls` alone", statistics.median(seam), None)):
        yield Row(
            "P15", text, f"{value:,.0f}/s per CPU-second", f"{peer:,.0f}/s (rustls alone)", f"{value / peer:.2f}×",
            f"≥ {target}×" if target else "", value / peer >= target if target else None,
            f"{ours.noise(lambda w: 1e6 * w.per_cpu)}; {noise}" if target else f"{min(seam):,.0f}–{max(seam):,.0f}; {noise}",
        )  # fmt: skip


def handshakes_command():
    """What runs the benchmark of the crate `tls`, which is built; none without cargo."""
    cargo = shutil.which("cargo")
    if not cargo:
        return None
    command = [cargo, "bench", "--quiet", "-p", "tls", "--bench", "handshakes"]
    built = subprocess.run([*command, "--no-run"], cwd=REPO, capture_output=True, text=True, timeout=1800)
    if built.returncode != 0:
        raise CouldNotRun(f"cargo bench: {built.stderr.strip()[-500:]}")
    return [*command, "--", "full TLS"]


def handshakes_alone(bench, command):
    """Full handshakes a second of the crate `tls` and of rustls alone, on the worker's core: the medians of 15 rounds."""
    COMMANDS.note("P15", ["cargo", *command[1:-1], f"'{command[-1]}'"])
    process = machine.start(["taskset", "--cpu-list", bench.core, *command], cwd=REPO, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        out, err = process.communicate(timeout=300)
    except subprocess.TimeoutExpired:
        raise CouldNotRun("cargo bench did not end") from None
    finally:
        machine.stop(process)
    told = re.search(r"^full TLS 1\.3 handshakes\s+median seam\s+(\d+)/s, rustls alone\s+(\d+)/s", out, re.MULTILINE)
    if not told:
        raise CouldNotRun(f"cargo bench: {err.strip()[-500:]}")
    return float(told[1]), float(told[2])


def delivered(bench):
    """P19: sessions opened ÷ those asked for, below what the worker can do and beyond, and what the result says."""
    seconds = 0.5 if bench.rounds < 3 else 1

    def undisturbed(profile):
        for _ in range(attempts(bench)):
            window = eagre("P19-sessions", profile, seconds=seconds)
            if window.share >= SHARE_MIN:
                break
        return window

    def deliver(per_s):
        rate = round(per_s)
        window = undisturbed(changed("P19-sessions", "p19-sessions", ("1000/s", f"{rate}/s")))
        opened, unopened, failed = (of_sessions(window, key) for key in ("attempted", "unopened", "failed"))
        asked, wrong = rate * seconds, []
        if abs(opened + unopened - asked) > 1 + asked / 1e6:
            wrong.append(f"{asked:.0f} asked for, {opened} opened and {unopened} stated as unopened")
        if failed:
            wrong.append(f"failed: {failed}")
        return window, opened / asked, wrong

    fastest = changed("P19-sessions", "p19-sessions", ("open: 1000/s", "open: max\\n    concurrent: 1000"))
    limit = lambda: of_sessions(undisturbed(fastest), "attempted") / seconds
    what, peer = "sessions opened at 20 rates from 100/s to twice the limit", "0.71 at 58 % of its CPU, silently (TRex)"
    yield cases.all_delivered(bench, what, peer, 100, limit, deliver, thousands, attempts(bench))


# The kernel's threads for the network take the core from a client now and then, and work for it.
VETH_SHARE_MIN = 0.9

DEVICES = {
    "AF_XDP": (),
    "AF_PACKET": (("afxdp", "afpacket"),),
    "AF_PACKET with segmentation offload": (("afxdp:veth0", "afpacket:veth0,tso"),),
    "XDP live frames": (("afxdp", "xdp"),),
}


def on_veth(bench, pair, profile, device, key):
    """A kind of window: Eagre's client on the near end; CPU-seconds are those in which its worker had something to do."""
    path, told = changed("session-peers", profile, *DEVICES[device]), set()

    def run():
        window = counted(eagre("session-peers", path, seconds=bench.seconds, inside=pair.within(pair.near)), key)
        errors = window.document["ports"]["near"]["rx_errors"]
        for error in errors.keys() - told:
            bench.note(f"session-peers, {profile} on {device}: {errors[error]} frames received and dropped in a window: {error}")
        told.update(errors)
        (worker,) = window.document["workers"]
        return replace(window, cpu_s=window.cpu_s * worker["busy_ratio"])

    return run


def kernel_client(bench, pair, command, amount):
    """A kind of window: a client of the kernel's TCP on the near end; `amount` finds in what it prints what it did, and in how long."""

    def run():
        line = [*pair.within(pair.near), "taskset", "--cpu-list", bench.core, *command]
        COMMANDS.note("session-peers", line)
        process = machine.start(line, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        try:
            ran, waited = 1, 0
            end = time.monotonic() + 10 * bench.seconds + 10
            while os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT | os.WNOHANG) is None:
                if time.monotonic() > end:
                    raise CouldNotRun(f"{' '.join(map(str, line))}: does not end")
                ran, waited = scheduled(process.pid) or (ran, waited)
                time.sleep(0.02)
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            told = process.stdout.read()
        finally:
            machine.stop(process)
        if process.returncode != 0:
            raise CouldNotRun(f"{' '.join(map(str, line))}: {told.strip()[-500:]}")
        did, wall_s = amount(told)
        return Window(did, wall_s, usage.ru_utime + usage.ru_stime, ran / (ran + waited))

    return run


def scheduled(pid):
    """Time all threads of a process had a core, and time they waited for one, ns; None once it has ended."""
    try:
        both = [list(map(int, path.read_text().split()[:2])) for path in Path(f"/proc/{pid}/task").glob("*/schedstat")]
    except OSError:
        return None
    ran, waited = sum(one for one, _ in both), sum(one for _, one in both)
    return (ran, waited) if ran else None


def of_iperf3(told):
    total = json.loads(told)["end"]["sum_sent"]
    return total["bytes"], total["seconds"]


def of_wrk(told):
    found = re.search(r"(\d+) requests in ([\d.]+)(m?s),", told)
    if not found or "Non-2xx" in told:
        raise CouldNotRun(f"wrk: {told.strip()[-500:]}")
    return int(found[1]), float(found[2]) / (1000 if found[3] == "ms" else 1)


def of_h2load(seconds):
    def amount(told):
        found = re.search(r"(\d+) succeeded, 0 failed, 0 errored", told)
        if not found:
            raise CouldNotRun(f"h2load: {told.strip()[-500:]}")
        return int(found[1]), seconds

    return amount


NGINX = """daemon off; master_process off; pid {run}/nginx.pid; error_log stderr error; worker_rlimit_nofile 65536;
events {{ worker_connections 16384; }}
http {{
  access_log off; keepalive_requests 1000000000; keepalive_timeout 60s; client_body_temp_path {run}; proxy_temp_path {run};
  fastcgi_temp_path {run}; uwsgi_temp_path {run}; scgi_temp_path {run};
  server {{ listen 80 backlog=16384; location / {{ return 200 "{body}"; }} }}
}}
"""


def peers(bench):
    """Clients of the kernel's TCP beside Eagre's, against the same servers behind a veth pair: iperf3, wrk, h2load."""
    missing = [tool for tool in ("iperf3", "wrk", "h2load", "nginx", "ethtool") if not shutil.which(tool)]
    if missing:
        raise CouldNotRun(f"not installed: {' '.join(missing)}; see tools/setup bench")
    yield from bulk_peers(bench)
    yield from http_peers(bench)
    yield from http2_peers(bench)


def bulk_peers(bench):
    iperf3 = ["iperf3", "--client", "198.18.0.2", "--port", 5201, "--time", bench.seconds, "--json"]
    with ServedPair() as pair:
        servers = [["python3", Path(__file__).resolve().parent / "sink.py"], ["iperf3", "--server", "--port", 5201]]
        with pair.serving(bench.control, *servers):
            plain = kernel_client(bench, pair, iperf3, of_iperf3)

            def segmented():
                """With segments cut by the kernel's TCP instead of never."""
                with pair.without_offloads():
                    return plain()

            def bulk(device):
                """Live frames are taken by an interface with GRO only."""
                run = on_veth(bench, pair, "veth-bulk", device, "tx_bytes_goodput")
                return pair.gathering(run) if device == "XDP live frames" else run

            *ours, whole, cut = alternate(bench, *map(bulk, DEVICES), plain, segmented, share_min=VETH_SHARE_MIN)
    for name, ours in zip(DEVICES, ours, strict=True):
        for peer, theirs in (("iperf3, segments of 1448 B", cut), ("iperf3, 64 KB segments", whole)):
            yield from beside(f"bulk TCP to the kernel, {name} on veth against {peer}", ours, theirs, lambda value: f"{8 * value / 1e3:.3g} Gb/s")


def http_peers(bench):
    config = RUN / "nginx.conf"
    config.write_text(NGINX.format(run=RUN, body="x" * 1000))
    url = "http://198.18.0.2/"
    wrk = ["wrk", "--threads", 1, "--connections", 32, "--duration", f"{bench.seconds}s"]
    h2load = ["h2load", "--h1", "--threads", 1, "--clients", 32, "--duration", bench.seconds, url]
    with ServedPair() as pair, pair.serving(bench.control, ["nginx", "-c", config, "-p", RUN]):
        kept = lambda device: on_veth(bench, pair, "veth-http", device, "transactions")
        new = lambda device: on_veth(bench, pair, "veth-connections", device, "transactions")
        kept_xdp, kept_packet, kept_wrk, kept_h2load, new_xdp, new_packet, new_wrk = alternate(
            bench, kept("AF_XDP"), kept("AF_PACKET"), kernel_client(bench, pair, [*wrk, url], of_wrk),
            kernel_client(bench, pair, h2load, of_h2load(bench.seconds)), new("AF_XDP"), new("AF_PACKET"),
            kernel_client(bench, pair, [*wrk, "--header", "Connection: close", url], of_wrk),
            share_min=VETH_SHARE_MIN,
        )  # fmt: skip
    show = lambda value: thousands(1e6 * value)
    for name, ours in (("AF_XDP", kept_xdp), ("AF_PACKET", kept_packet)):
        for peer, theirs in (("wrk", kept_wrk), ("h2load", kept_h2load)):
            yield from beside(f"HTTP requests to nginx, 32 persistent connections, {name} on veth against {peer}", ours, theirs, show)
    for name, ours in (("AF_XDP", new_xdp), ("AF_PACKET", new_packet)):
        yield from beside(f"HTTP to nginx, new connection each, {name} on veth against wrk", ours, new_wrk, show)


def http2_peers(bench):
    """HTTP/2 in the clear, 8 connections with 100 streams, to nghttpd and to Caddy."""
    missing = [tool for tool in ("nghttpd", "caddy") if not shutil.which(tool)]
    if missing:
        raise CouldNotRun(f"not installed: {' '.join(missing)}; see tools/setup bench")
    pages = RUN / "pages"
    pages.mkdir(exist_ok=True)
    (pages / "object").write_text("x" * 1000)
    caddyfile = RUN / "Caddyfile"
    caddyfile.write_text(CADDY.format(pages=pages))
    url = "http://198.18.0.2/object"
    h2load = ["h2load", "--threads", 1, "--clients", 8, "--max-concurrent-streams", 100, "--duration", bench.seconds, url]
    servers = {"nghttpd": ["nghttpd", "--no-tls", "--htdocs", pages, 80], "Caddy": ["caddy", "run", "--config", caddyfile, "--adapter", "caddyfile"]}
    show = lambda value: thousands(1e6 * value)
    for server, command in servers.items():
        with ServedPair() as pair, pair.serving(bench.control, command):
            ours = on_veth(bench, pair, "veth-h2", "AF_XDP", "transactions")
            ours, theirs = alternate(bench, ours, kernel_client(bench, pair, h2load, of_h2load(bench.seconds)), share_min=VETH_SHARE_MIN)
        what = f"HTTP/2 requests to {server}, 8 connections with 100 streams, AF_XDP on veth against h2load"
        yield from beside(what, ours, theirs, show)


CADDY = """{{
  admin off
  auto_https off
  servers {{
    protocols h1 h2c
  }}
}}
:80 {{
  root * {pages}
  file_server
}}
"""


def beside(what, ours, theirs, show):
    """Two rows of Eagre beside a peer: by the time their clients worked, and by wall clock."""
    for text, of in ((", per CPU-second the client worked", lambda w: w.per_cpu), (", by wall clock", lambda w: w.wall)):
        ratio = ours.median(of) / theirs.median(of)
        noise = f"{ours.noise(of)}; peer {theirs.noise(of)} (M/s)"
        yield Row("session-peers", what + text, show(ours.median(of)), show(theirs.median(of)), f"{ratio:.2f}×", "", None, noise)


CASES = {
    "P11": raw,
    "P12": memory,
    "P13": http,
    "P14": goodput,
    "P15": handshakes,
    "P19-sessions": delivered,
    "P21": streams,
    "session-peers": peers,
}
