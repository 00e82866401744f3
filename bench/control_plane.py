"""What watching costs a run: metrics polled at 50 Hz and five dashboards, against nobody, and against work that has nothing
to do with the server, in windows of one run.

    bench/control_plane.py [--seconds 40] [--rate 200kpps] [--streams 4] [--router]

Windows of two seconds take turns: nobody watches, everybody watches, nobody watches and a process of its own computes
for as long as the watchers and the server took, at the same 50 Hz. What changes as much then is the machine's doing, not the
control plane's: its cores share caches. Compared are packets sent per second and the latency percentiles of all
packets, each as the median over the windows of its kind, so that what drifts on a shared machine drifts for all. Over the in-process link a latency is tens of nanoseconds, of which the worker's own cache
misses are a good part; with --router packets cross the kernel's router, as they would a device.
"""

import argparse
import json
import statistics
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import lab as labs
from server import Server, rings

WINDOW = 2.0
SETTLE = 0.3
HZ = 50
KINDS = ("quiet", "watched", "busy")
# Computes for the share of its time that standard input said last.
BURN = """
import select, sys, time
share = 0.0
while True:
    if select.select([sys.stdin], [], [], 0)[0]:
        line = sys.stdin.readline()
        if not line:
            break
        share = float(line)
    end = time.monotonic() + share / HZ
    while time.monotonic() < end:
        sum(range(200))
    time.sleep((1 - share) / HZ)
""".replace("HZ", str(HZ))


class Crowd:
    """Everybody who watches, when they may."""

    def __init__(self, server, run, pages, hz):
        self.server, self.run = server, run
        self.watching, self.over = threading.Event(), False
        self.polls, self.slowest = 0, 0.0
        self.threads = [threading.Thread(target=self.poll, args=(1 / hz,), daemon=True)]
        self.threads += [threading.Thread(target=self.page, daemon=True) for _ in range(pages)]
        [thread.start() for thread in self.threads]

    def poll(self, every):
        """Whoever asks for metrics: on one connection, as Prometheus does."""
        connection = self.server.connect()
        while not self.over:
            self.watching.wait()
            began = time.monotonic()
            connection.request("GET", "/metrics", headers=self.server.headers())
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200
            self.polls += 1
            self.slowest = max(self.slowest, time.monotonic() - began)
            time.sleep(max(0.0, began + every - time.monotonic()))

    def page(self):
        """A dashboard: the run's events, ten a second."""
        while not self.over:
            self.watching.wait()
            for _ in self.server.events(f"/api/v1/runs/{self.run['id']}/events"):
                if self.over or not self.watching.is_set():
                    break


class Burner:
    """Work that has nothing to do with the server."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", BURN], stdin=subprocess.PIPE, text=True)

    def burn(self, share):
        self.process.stdin.write(f"{share}\n")
        self.process.stdin.flush()

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)


def cpu_s(server):
    """Processor time of the server and of who watches it here."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / 100 + time.process_time()


def measure(server, run, seconds):
    """Looks of the windows of each kind, from a connection that is always there; the share of a core that watching took."""
    crowd, burner = Crowd(server, run, 5, HZ), Burner()
    looks, used = {kind: [] for kind in KINDS}, {kind: [] for kind in KINDS}
    began, turn, since, before = time.monotonic(), 0, time.monotonic(), cpu_s(server)
    window, share = [], 0.0
    for name, document in server.events(f"/api/v1/runs/{run['id']}/events", seconds + 30):
        now, kind = time.monotonic(), KINDS[turn % len(KINDS)]
        if name == "live" and now - since > SETTLE:
            window.append(document)
        if now - since > WINDOW:
            looks[kind].append(window)
            used[kind].append((cpu_s(server) - before) / (now - since))
            turn += 1
            kind = KINDS[turn % len(KINDS)]
            if used["watched"]:
                share = statistics.median(used["watched"]) - statistics.median(used["quiet"])
            crowd.watching.set() if kind == "watched" else crowd.watching.clear()
            burner.burn(max(0.0, share) if kind == "busy" else 0.0)
            window, since, before = [], now, cpu_s(server)
        if now - began > seconds:
            break
    crowd.over = True
    crowd.watching.set()
    burner.close()
    return looks, crowd, share


def figures(windows):
    """The median over windows of rate and percentiles."""
    rate = [statistics.mean(sum(look["streams"]["tx_pps"]) for look in window) for window in windows if window]
    latency = {
        key: statistics.median(statistics.median(look["latency"][key] for look in window) for window in windows if window)
        for key in ("p50_ns", "p99_ns")
    }
    return {"tx_pps": statistics.median(rate), **latency}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--rate", default="200kpps")
    parser.add_argument("--streams", type=int, default=4)
    parser.add_argument("--router", action="store_true")
    options = parser.parse_args()
    lab = labs.Lab()
    try:
        profile = rings(options.rate, f"{options.seconds + 10}s", options.streams)
        router = lab.router() if options.router else None
        if router:
            profile["ports"] = router.ports("afxdp", v6=False)
            for stream in profile["streams"]:
                stream["packet"] = [{"ipv4": {"dst": labs.EAST4}}, "udp"]
        server = Server(lab, ns=router.tester if router else None)
        run = server.start(profile=profile, keep=False)
        server.sends(run, 1000)
        looks, crowd, share = measure(server, run, options.seconds)
        server.ask("POST", f"/api/v1/runs/{run['id']}/stop")
        server.ended(run)
        result = server.get(f"/api/v1/runs/{run['id']}/result")
        found = {kind: figures(looks[kind]) for kind in KINDS}
        print(f"{len(looks['quiet'])} windows of {WINDOW:.0f} s of each kind; watching took {share:.0%} of a core;", end=" ")
        print(f"{crowd.polls} polls, the slowest {crowd.slowest * 1000:.1f} ms")
        for key, quiet in found["quiet"].items():
            changed = (f"{kind} {found[kind][key]:12.1f} ({found[kind][key] / quiet - 1:+.2%})" for kind in KINDS[1:])
            print(f"{key:>8}: quiet {quiet:12.1f}, {', '.join(changed)}")
        lost = sum(stream["lost"] for stream in result["streams"].values())
        print(f"    lost: {lost}; verdict {json.dumps(result['verdict'])}")
    finally:
        lab.close()


if __name__ == "__main__":
    main()
