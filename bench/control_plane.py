"""What watching costs a run: metrics polled at 50 Hz and five dashboards, against nobody, in windows of one run.

    bench/control_plane.py [--seconds 40] [--rate 200kpps] [--streams 4] [--router]

Windows of two seconds take turns: nobody watches, everybody watches. Compared are packets sent per second and the
latency percentiles of all packets, each as the median over the windows of its kind, so that what drifts on a shared
machine drifts for both. Over the in-process link a latency is tens of nanoseconds, of which the worker's own cache
misses are a good part; with --router packets cross the kernel's router, as they would a device.
"""

import argparse
import json
import statistics
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
import lab as labs
from server import Server, rings

WINDOW = 2.0
SETTLE = 0.3


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


def measure(server, run, seconds):
    """Looks of quiet and of watched windows, from a connection that is always there."""
    crowd = Crowd(server, run, 5, 50)
    looks = {"quiet": [], "watched": []}
    began, kind, since = time.monotonic(), "quiet", time.monotonic()
    window = []
    for name, document in server.events(f"/api/v1/runs/{run['id']}/events", seconds + 30):
        now = time.monotonic()
        if name == "live" and now - since > SETTLE:
            window.append(document)
        if now - since > WINDOW:
            looks[kind].append(window)
            window, since = [], now
            kind = "quiet" if kind == "watched" else "watched"
            crowd.watching.set() if kind == "watched" else crowd.watching.clear()
        if now - began > seconds:
            break
    crowd.over = True
    crowd.watching.set()
    return looks, crowd


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
        looks, crowd = measure(server, run, options.seconds)
        server.ask("POST", f"/api/v1/runs/{run['id']}/stop")
        server.ended(run)
        result = server.get(f"/api/v1/runs/{run['id']}/result")
        quiet, watched = figures(looks["quiet"]), figures(looks["watched"])
        print(f"{len(looks['quiet'])} quiet and {len(looks['watched'])} watched windows of {WINDOW:.0f} s;", end=" ")
        print(f"{crowd.polls} polls, the slowest {crowd.slowest * 1000:.1f} ms")
        for key in quiet:
            print(f"{key:>8}: quiet {quiet[key]:12.1f}, watched {watched[key]:12.1f}: {watched[key] / quiet[key] - 1:+.2%}")
        lost = sum(stream["lost"] for stream in result["streams"].values())
        print(f"    lost: {lost}; verdict {json.dumps(result['verdict'])}")
    finally:
        lab.close()


if __name__ == "__main__":
    main()
